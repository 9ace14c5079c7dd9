//! The title of a test, as far as its source tells it.

use crate::TokenKind;
use crate::kind::Kind;
use crate::tree::{At, Tree};

/// The value of a literal title; of any other, what is written.
pub(super) fn title(tree: &Tree<'_>, at: At) -> String {
    if let Some(pieces) = pieces(tree, at) {
        return pieces.into_iter().map(|at| unescaped(tree.text(at))).collect();
    }
    let text = tree.text(at);
    // A class or function stands for its name in both ways.
    let text = text.strip_suffix(".name").unwrap_or(text);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(super) fn is_literal(tree: &Tree<'_>, at: At) -> bool {
    pieces(tree, at).is_some()
}

/// The texts that a title is put together from, if it is of nothing else.
fn pieces(tree: &Tree<'_>, at: At) -> Option<Vec<At>> {
    let mut pieces = Vec::new();
    let mut next = at;
    while next < tree.after(at) {
        match tree.token(next) {
            Some(TokenKind::Text) if tree.kind(next) == Kind::Text && !tree.text(next).starts_with('/') => {
                pieces.push(next);
            }
            Some(_) if tree.text(next) == "+" => {}
            None => {
                next += 1;
                continue;
            }
            Some(_) => return None,
        }
        next = tree.after(next);
    }
    (!pieces.is_empty()).then_some(pieces)
}

/// A text without its quotes, with what its escapes stand for. What a template
/// takes in from elsewhere stays as written.
fn unescaped(quoted: &str) -> String {
    let mut characters = quoted.chars();
    characters.next();
    characters.next_back();
    let mut text = String::with_capacity(quoted.len());
    while let Some(character) = characters.next() {
        if character != '\\' {
            text.push(character);
            continue;
        }
        match characters.next() {
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('r') => text.push('\r'),
            Some('b') => text.push('\u{8}'),
            Some('f') => text.push('\u{c}'),
            Some('v') => text.push('\u{b}'),
            Some('0') => text.push('\0'),
            Some('x') => text.extend(hexadecimal(&mut characters, 2)),
            Some('u') => text.extend(unicode(&mut characters)),
            // A joined line.
            Some('\n') | None => {}
            Some(other) => text.push(other),
        }
    }
    text
}

/// `u00e9`, `u{1f980}` or a pair of `ud83e` and `udd80`.
fn unicode(characters: &mut std::str::Chars<'_>) -> Option<char> {
    if characters.as_str().starts_with('{') {
        let rest = &characters.as_str()[1..];
        let (digits, after) = rest.split_once('}')?;
        *characters = after.chars();
        return u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
    }
    let first = code(characters, 4)?;
    if !(0xd800..0xdc00).contains(&first) {
        return char::from_u32(first);
    }
    *characters = characters.as_str().strip_prefix("\\u")?.chars();
    let second = code(characters, 4)?.checked_sub(0xdc00)?;
    char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + second)
}

fn hexadecimal(characters: &mut std::str::Chars<'_>, digits: usize) -> Option<char> {
    code(characters, digits).and_then(char::from_u32)
}

fn code(characters: &mut std::str::Chars<'_>, digits: usize) -> Option<u32> {
    let digits = characters.as_str().get(..digits)?;
    let code = u32::from_str_radix(digits, 16).ok()?;
    *characters = characters.as_str()[digits.len()..].chars();
    Some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_what_they_stand_for() {
        for (quoted, text) in [
            (r#""a \"b\" 'c'""#, "a \"b\" 'c'"),
            (r"'a\n\t\\b'", "a\n\t\\b"),
            (r"`\x41\u00e9\u{1f980}\ud83e\udd80 ${b}`", "Aé🦀🦀 ${b}"),
            // What is broken is left out.
            (r"'\u{zz}\ud83e\x4'", "4"),
            ("'\\\nb'", "b"),
            ("'", ""),
            ("é", ""),
        ] {
            assert_eq!(unescaped(quoted), text, "{quoted}");
        }
    }
}
