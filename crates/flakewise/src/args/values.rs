//! Parsers for values of options.

pub(super) use flakewise_config::value::{
    confidence, duration, duration_or_zero, positive, positive_or_zero,
};

pub(super) fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("expected KEY=VALUE, e.g. `python=3.11`".to_owned()),
    }
}

/// `2/4`: the second part of four.
pub(super) fn shard(text: &str) -> Result<flakewise_model::Shard, String> {
    let parts = text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
    match parts {
        Some((number, of)) if number >= 1 && number <= of => Ok(flakewise_model::Shard { number, of }),
        _ => Err("expected INDEX/COUNT, e.g. `2/4`".to_owned()),
    }
}

pub(super) fn share(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|value| (0.0..=1.0).contains(value))
        .ok_or_else(|| "must be between 0 and 1".to_owned())
}

/// How often something happens that neither never nor always does.
pub(super) fn rate(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|value| *value > 0.0 && *value < 1.0)
        .ok_or_else(|| "must be greater than 0 and less than 1".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_counted_from_one() {
        assert_eq!(shard("2/4"), Ok(flakewise_model::Shard { number: 2, of: 4 }));
        assert!(shard("0/4").is_err() && shard("5/4").is_err() && shard("2").is_err());
    }
}
