//! The words that names are made of.

/// The lower-case parts of a name: `parse`, `http` and `header` in
/// `parseHTTPHeader` and in `parse_http_header`.
pub fn sub_tokens(name: &str, mut found: impl FnMut(&str)) {
    let bytes = name.as_bytes();
    let mut start = 0;
    let mut cut = |from: usize, to: usize| {
        if from < to {
            lower(&name[from..to], &mut found);
        }
    };
    for at in 0..bytes.len() {
        let this = bytes[at];
        if !this.is_ascii_alphanumeric() && this.is_ascii() {
            cut(start, at);
            start = at + 1;
            continue;
        }
        if at == start {
            continue;
        }
        let last = bytes[at - 1];
        let begins = (this.is_ascii_uppercase() && last.is_ascii_lowercase())
            || (this.is_ascii_digit() != last.is_ascii_digit() && this.is_ascii() && last.is_ascii());
        if begins {
            cut(start, at);
            start = at;
        } else if this.is_ascii_lowercase() && last.is_ascii_uppercase() && at - 1 > start {
            // The last capital of a run belongs to the word that follows.
            cut(start, at - 1);
            start = at - 1;
        }
    }
    cut(start, bytes.len());
}

fn lower(text: &str, mut found: impl FnMut(&str)) {
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        found(&text.to_ascii_lowercase());
    } else {
        found(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fall_apart_at_humps_underscores_and_digits() {
        let parts = |name| {
            let mut parts = Vec::new();
            sub_tokens(name, |part| parts.push(part.to_owned()));
            parts.join(" ")
        };
        assert_eq!(parts("parseHTTPHeader"), "parse http header");
        assert_eq!(parts("parse_http_header"), "parse http header");
        assert_eq!(parts("testUTF8Decoder2"), "test utf 8 decoder 2");
        assert_eq!(parts("TIMEOUT"), "timeout");
        assert_eq!(parts("__x__"), "x");
        assert_eq!(parts(""), "");
        assert_eq!(parts("größeÄndern"), "größeÄndern");
    }
}
