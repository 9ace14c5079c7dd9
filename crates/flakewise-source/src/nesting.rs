//! Whether a text is worth giving to the parser.
//!
//! The parser follows all ways to read a text at once. What it keeps for open
//! brackets grows with their square, so that a few kilobytes of `a<a<a<…`
//! would take all memory there is.

use crate::Language;
use crate::limits::{OPEN_ANGLES, OPEN_BRACKETS};

/// Whether more brackets are open at some place than anybody writes.
pub(crate) fn is_too_deep(language: Language, text: &str) -> bool {
    let bytes = text.as_bytes();
    let hashes = language == Language::Python;
    let types = !matches!(language, Language::Python | Language::Go);
    let (mut open, mut angles) = (0_usize, 0_usize);
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            // A lifetime has no end.
            b'\'' if language == Language::Rust && !is_character(&bytes[at + 1..]) => {}
            b'"' | b'\'' => {
                at = after_text(bytes, at);
                continue;
            }
            b'`' if language == Language::Go => at = find(bytes, at + 1, b"`"),
            b'#' if hashes => at = find(bytes, at, b"\n"),
            b'/' if !hashes && bytes[at..].starts_with(b"//") => at = find(bytes, at, b"\n"),
            b'/' if !hashes && bytes[at..].starts_with(b"/*") => at = find(bytes, at + 2, b"*/"),
            b'(' | b'[' => open += 1,
            b')' | b']' => open = open.saturating_sub(1),
            b'{' => {
                open += 1;
                angles = 0;
            }
            b'}' => {
                open = open.saturating_sub(1);
                angles = 0;
            }
            b';' => angles = 0,
            b'<' if types => angles += 1,
            b'>' => angles = angles.saturating_sub(1),
            _ => {}
        }
        if open > OPEN_BRACKETS || angles > OPEN_ANGLES {
            return true;
        }
        at += 1;
    }
    false
}

/// Whether what follows a quote of Rust is a character.
fn is_character(after: &[u8]) -> bool {
    match after.first() {
        Some(b'\\') => true,
        Some(_) => after.iter().take(5).skip(1).find(|byte| byte.is_ascii()) == Some(&b'\''),
        None => false,
    }
}

/// The place after a text in quotes. Those of one sign end with the line at
/// the latest.
fn after_text(bytes: &[u8], start: usize) -> usize {
    let quote = bytes[start];
    let long = bytes[start..].starts_with(&[quote; 3]);
    let mut at = start + if long { 3 } else { 1 };
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'\n' if !long => return at,
            byte if byte == quote && !long => return at + 1,
            byte if byte == quote && bytes[at..].starts_with(&[quote; 3]) => return at + 3,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

fn find(bytes: &[u8], from: usize, what: &[u8]) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    memchr::memmem::find(rest, what).map_or(bytes.len(), |found| from + found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_that_are_not_closed_are_counted() {
        let java = |text: &str| is_too_deep(Language::Java, text);
        assert!(java(&"(".repeat(1_001)));
        assert!(!java(&"()".repeat(5_000)));
        assert!(java(&"a<".repeat(300)));
        assert!(!java(&"if (a < b) {}".repeat(5_000)));
        assert!(!java(&"Map<A, B> x;".repeat(5_000)));
        assert!(!is_too_deep(Language::Python, &"a<".repeat(5_000)));
    }

    #[test]
    fn texts_and_comments_are_passed_over() {
        for java in ["\"(\\\"(\"\n", "'('", "// (\n", "/* ( */", "\"\"\"\n(\n\"\"\"", "\"(\n"] {
            assert!(!is_too_deep(Language::Java, &java.repeat(2_000)), "{java:?}");
        }
        for python in ["\"(\"", "'('", "# (\n", "'''\n(\n'''", "'('\n"] {
            assert!(!is_too_deep(Language::Python, &python.repeat(2_000)), "{python:?}");
        }
        for rust in ["fn f<'a>(x: &'a str) {}", "'('", "'\\''", "b'é'"] {
            assert!(!is_too_deep(Language::Rust, &rust.repeat(2_000)), "{rust:?}");
        }
        assert!(is_too_deep(Language::Rust, &format!("'a {}", "(".repeat(2_000))));
        assert!(!is_too_deep(Language::Go, &"`\n(\n`".repeat(2_000)));
    }
}
