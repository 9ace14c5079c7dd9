//! Values, and the parsers that the configuration file and the command line share.

use std::fmt;
use std::time::Duration;

/// The value of a key, checked.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A text, path, duration or choice.
    Text(String),
    /// A command.
    Words(Vec<String>),
    /// A whole number.
    Integer(u64),
    /// Any number.
    Number(f64),
}

impl Value {
    /// The value as words of a command line.
    pub fn words(&self) -> Vec<String> {
        match self {
            Self::Text(text) => vec![text.clone()],
            Self::Words(words) => words.clone(),
            Self::Integer(number) => vec![number.to_string()],
            Self::Number(number) => vec![number.to_string()],
        }
    }

    /// The value in JSON.
    pub fn json(&self) -> serde_json::Value {
        match self {
            Self::Text(text) => text.as_str().into(),
            Self::Words(words) => words.as_slice().into(),
            Self::Integer(number) => (*number).into(),
            Self::Number(number) => (*number).into(),
        }
    }
}

/// As it could be written in the file.
impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A JSON string is a TOML string, and a JSON array of them a TOML array.
        match self {
            Self::Words(words) => {
                let words: Vec<_> = words.iter().map(|word| serde_json::Value::from(word.as_str())).collect();
                let words: Vec<_> = words.iter().map(ToString::to_string).collect();
                write!(formatter, "[{}]", words.join(", "))
            }
            other => write!(formatter, "{}", other.json()),
        }
    }
}

/// Whether a store is a URL; else it is a path.
pub(crate) fn is_url(text: &str) -> bool {
    // A single letter in front of a colon is a drive, not a scheme.
    text.split_once("://").is_some_and(|(scheme, _)| scheme.len() > 1)
}

/// Refuses secrets: the file is read by everybody who can read the repository.
pub(crate) fn store(text: &str) -> Result<(), String> {
    let Some((_, rest)) = text.split_once("://").filter(|_| is_url(text)) else { return Ok(()) };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // Of Azure's `container@account`, neither is secret.
    let has_password = authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'));
    if has_password || rest.contains(['?', '#']) {
        return Err("must not hold credentials; set them in the environment".to_owned());
    }
    Ok(())
}

/// `90s`, `5m`, `1h 30m`, `250ms`; a bare number is seconds.
pub fn duration(text: &str) -> Result<Duration, String> {
    let is_bare = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let parsed = humantime::parse_duration(&if is_bare { format!("{text}s") } else { text.to_owned() });
    let wrong = |_| "must look like `90s`, `5m` or `250ms`".to_owned();
    match parsed.map_err(wrong)? {
        duration if !duration.is_zero() && duration < Duration::from_hours(24 * 7) => Ok(duration),
        _ => Err("must be greater than zero and less than one week".to_owned()),
    }
}

/// A duration, or 0 for none at all.
pub fn duration_or_zero(text: &str) -> Result<Duration, String> {
    if matches!(text, "0" | "0s") { Ok(Duration::ZERO) } else { duration(text) }
}

/// A number from 0.5 to below 1.
pub fn confidence(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|value| (0.5..1.0).contains(value))
        .ok_or_else(|| "must be at least 0.5 and less than 1".to_owned())
}

/// A number from 0.
pub fn positive_or_zero(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|value: &f64| value.is_finite() && *value >= 0.0)
        .ok_or_else(|| "must be 0 or greater".to_owned())
}

/// A number above 0.
pub fn positive(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|value: &f64| value.is_finite() && *value > 0.0)
        .ok_or_else(|| "must be a number greater than 0".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1.5"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("1m 30s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("2h"), Ok(Duration::from_hours(2)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        for wrong in
            ["", "s", "0s", "-1s", "5 weeks", "5 lightyears", "1e300h", "99999999999999999999s", "1h30"]
        {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
        assert_eq!(duration_or_zero("0s"), Ok(Duration::ZERO));
    }

    #[test]
    fn stores_hold_no_secrets() {
        for right in
            ["history", "../x?y", "s3://bucket/history", "abfss://box@acme.dfs.core.windows.net/x", "C://x"]
        {
            assert_eq!(store(right), Ok(()), "{right}");
        }
        for wrong in
            ["s3://key:secret@bucket/x", "az://account/box?sig=secret", "gs://a:b@c:d@box", "s3://b#x"]
        {
            assert!(store(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_have_bounds() {
        assert_eq!(confidence("0.5"), Ok(0.5));
        assert_eq!(positive("0.001"), Ok(0.001));
        for wrong in ["", "0.49", "1", "nan", "inf", "-1", "x"] {
            assert!(confidence(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "0", "-1", "nan", "inf", "x"] {
            assert!(positive(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn values_are_shown_as_toml() {
        let words = Value::Words(vec!["pytest".to_owned(), "-k \"a\"".to_owned()]);
        assert_eq!(words.to_string(), r#"["pytest", "-k \"a\""]"#);
        assert_eq!(Value::Text("90s".to_owned()).to_string(), "\"90s\"");
        assert_eq!(Value::Number(0.5).to_string(), "0.5");
        assert_eq!(Value::Integer(3).to_string(), "3");
    }
}
