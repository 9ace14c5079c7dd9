//! URLs for people.

/// A URL for messages: user names, passwords and queries, which may hold tokens,
/// are replaced by `…`.
pub fn without_credentials(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let (rest, hidden) = match rest.find(['?', '#']) {
        Some(at) => (&rest[..at], "?…"),
        None => (rest, ""),
    };
    let authority = rest.find('/').unwrap_or(rest.len());
    match rest[..authority].rfind('@') {
        Some(at) => format!("{scheme}://…@{}{hidden}", &rest[at + 1..]),
        None => format!("{scheme}://{rest}{hidden}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_show_no_credentials() {
        for (text, shown) in [
            ("s3://bucket/history", "s3://bucket/history"),
            ("s3://key:secret@bucket/history", "s3://…@bucket/history"),
            ("az://account/container?sig=secret", "az://account/container?…"),
            ("s3://a@b:c@bucket/x@y#secret", "s3://…@bucket/x@y?…"),
            ("/data/history@home?", "/data/history@home?"),
        ] {
            assert_eq!(without_credentials(text), shown);
        }
    }
}
