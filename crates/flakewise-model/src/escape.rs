//! The one escaping rule of every structured text form in this crate.
//!
//! A backslash takes the next character literally. Characters that mean
//! something in the form at hand, and the backslash itself, are written with
//! one in front; control characters are written `\u{…}` in hexadecimal so that
//! a text form is always one printable line.

use std::fmt::Write as _;

/// Bytes that are special in no form, which is nearly all there is in an id.
static ORDINARY: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        table[byte as usize] =
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/' | b' ');
        byte += 1;
    }
    table
};

/// Appends `text` to `out`, escaping `special` characters.
pub(crate) fn escape_into(out: &mut String, text: &str, special: &[u8]) {
    // Ids are built once per attempt read, so the common case, nothing to
    // escape, is one scan and one copy.
    let plain = |byte: u8| (0x20..0x7f).contains(&byte) && byte != b'\\' && !special.contains(&byte);
    if text.bytes().all(|byte| ORDINARY[usize::from(byte)] || plain(byte)) {
        out.push_str(text);
        return;
    }
    for character in text.chars() {
        if character.is_control() {
            write!(out, "\\u{{{:x}}}", u32::from(character)).expect("writing to a String succeeds");
        } else {
            if character == '\\' || (character.is_ascii() && special.contains(&(character as u8))) {
                out.push('\\');
            }
            out.push(character);
        }
    }
}

/// Takes the escapes out of one part. Lenient: a backslash at the end, or a
/// malformed `\u{…}`, stands for itself.
pub(crate) fn unescape(part: &str) -> String {
    let mut out = String::with_capacity(part.len());
    let mut rest = part;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some((character, after)) = unicode_escape(rest) {
            out.push(character);
            rest = after;
        } else if let Some(character) = rest.chars().next() {
            out.push(character);
            rest = &rest[character.len_utf8()..];
        } else {
            out.push('\\');
        }
    }
    out.push_str(rest);
    out
}

fn unicode_escape(text: &str) -> Option<(char, &str)> {
    let body = text.strip_prefix("u{")?;
    let end = body.find('}')?;
    let character = u32::from_str_radix(&body[..end], 16).ok().and_then(char::from_u32)?;
    Some((character, &body[end + 1..]))
}

/// Splits `text` at every unescaped occurrence of `separator` (ASCII).
pub(crate) fn split<'a>(text: &'a str, separator: &'a str) -> impl Iterator<Item = &'a str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let current = rest?;
        if let Some(at) = find(current, separator) {
            rest = Some(&current[at + separator.len()..]);
            Some(&current[..at])
        } else {
            rest = None;
            Some(current)
        }
    })
}

/// The first unescaped place of `needle` (ASCII) in `text`.
pub(crate) fn find(text: &str, needle: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'\\' {
            at += 2;
        } else if bytes[at..].starts_with(needle.as_bytes()) {
            return Some(at);
        } else {
            at += 1;
        }
    }
    None
}

/// A word of a command line, so that a shell takes it for one.
pub fn shell_word(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=,@%+".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn unescape_undoes_escape(text in ".*") {
            let mut escaped = String::new();
            escape_into(&mut escaped, &text, b":[]");
            prop_assert_eq!(unescape(&escaped), text);
            prop_assert!(!escaped.chars().any(char::is_control));
        }

        #[test]
        fn escaped_parts_survive_joining(parts in prop::collection::vec(".*", 1..5)) {
            let joined = parts
                .iter()
                .map(|part| {
                    let mut escaped = String::new();
                    escape_into(&mut escaped, part, b":[]");
                    escaped
                })
                .collect::<Vec<_>>()
                .join("::");
            let split: Vec<_> = split(&joined, "::").map(unescape).collect();
            prop_assert_eq!(split, parts);
        }

        #[test]
        fn any_text_can_be_taken_apart(text in ".*") {
            let _ = split(&text, "::").map(unescape).count();
        }
    }
}
