//! Attributes and entities, read with forgiveness.
//!
//! `quick-xml` finds the tags; what is inside them is taken apart here, because
//! its own iterator stops at the first mistake and checks for doubles in time
//! that grows with the square of their number.

use std::borrow::Cow;

use memchr::{memchr, memchr2};

use crate::issue::{IssueKind, quote};

/// The longest name of an entity that is looked for after an `&`.
const ENTITY_LENGTH: usize = 32;

/// One attribute, its value as it stands in the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attribute<'a> {
    pub(crate) name: &'a str,
    pub(crate) raw: &'a str,
}

impl<'a> Attribute<'a> {
    /// The value, cut at `limit` bytes, with entities replaced. White space
    /// stays as it is: XML would turn raw line ends into spaces, but runners
    /// that write them mean them.
    pub(crate) fn value(self, limit: usize, report: &mut dyn FnMut(IssueKind)) -> Cow<'a, str> {
        let mut raw = self.raw;
        if raw.len() > limit {
            report(IssueKind::LongAttribute { limit });
            raw = &raw[..raw.floor_char_boundary(limit)];
        }
        if memchr2(b'&', b'<', raw.as_bytes()).is_none() {
            return Cow::Borrowed(raw);
        }
        if raw.contains('<') {
            report(IssueKind::Unescaped { character: '<' });
            if raw.contains("<testcase") || raw.contains("<testsuite") || raw.contains("</") {
                report(IssueKind::SwallowedMarkup { attribute: quote(self.name) });
            }
        }
        Cow::Owned(unescape(raw, report))
    }
}

/// Takes the inside of a tag, after its name, apart.
#[derive(Clone, Debug)]
pub(crate) struct Attributes<'a> {
    rest: &'a str,
    broken: bool,
}

impl<'a> Attributes<'a> {
    pub(crate) fn new(rest: &'a str) -> Self {
        Self { rest, broken: false }
    }

    /// Whether something was seen that is not `name="value"`.
    pub(crate) fn broken(&self) -> bool {
        self.broken
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = Attribute<'a>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let start = self.rest.bytes().position(|byte| !is_space(byte) && byte != b'/')?;
        let rest = &self.rest[start..];
        let end = rest.bytes().position(|byte| byte == b'=' || is_space(byte)).unwrap_or(rest.len());
        let name = &rest[..end];
        // Nearly everybody writes `name="value"` without a space in between.
        let value = if rest.as_bytes().get(end..end + 2) == Some(b"=\"") {
            &rest[end + 1..]
        } else {
            let after = without_spaces(&rest[end..]);
            let Some(value) = after.strip_prefix('=') else {
                // No value at all. It may be the rest of a value with a quote
                // inside, so the tag is not to be trusted.
                self.broken = true;
                self.rest = after;
                return Some(Attribute { name, raw: "" });
            };
            without_spaces(value)
        };
        let raw = if let Some(&mark @ (b'"' | b'\'')) = value.as_bytes().first() {
            let inside = &value[1..];
            let end = memchr(mark, inside.as_bytes());
            self.broken |= end.is_none();
            self.rest = end.map_or("", |end| &inside[end + 1..]);
            &inside[..end.unwrap_or(inside.len())]
        } else {
            self.broken = true;
            let end = value.bytes().position(is_space).unwrap_or(value.len());
            self.rest = &value[end..];
            &value[..end]
        };
        Some(Attribute { name, raw })
    }
}

fn without_spaces(text: &str) -> &str {
    let start = text.bytes().position(|byte| !is_space(byte)).unwrap_or(text.len());
    &text[start..]
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// Replaces XML's own five entities and character references. Others, and an
/// `&` that begins none, stand for themselves.
fn unescape(raw: &str, report: &mut dyn FnMut(IssueKind)) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = memchr(b'&', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let window = &rest.as_bytes()[..rest.len().min(ENTITY_LENGTH)];
        let name = memchr(b';', window).map(|end| &rest[..end]).filter(|name| is_entity_name(name));
        match name.map(|name| (name, entity(name))) {
            Some((name, Some(character))) => {
                out.push(character);
                rest = &rest[name.len() + 1..];
            }
            Some((name, None)) => {
                report(IssueKind::UnknownEntity { name: quote(name) });
                out.push('&');
            }
            None => {
                report(IssueKind::Unescaped { character: '&' });
                out.push('&');
            }
        }
    }
    out.push_str(rest);
    out
}

/// Whether this could be the name of an entity, between `&` and `;`.
pub(crate) fn is_entity_name(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'#' | b'_' | b'-' | b'.'))
}

/// The character that an entity of XML's own, or a character reference, stands
/// for. No other entity is ever expanded.
pub(crate) fn entity(name: &str) -> Option<char> {
    match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => number.parse(),
            };
            // Half of a surrogate pair, or beyond Unicode.
            Some(char::from_u32(code.ok()?).unwrap_or(char::REPLACEMENT_CHARACTER))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(tag: &str, expected: &[(&str, &str)], broken: bool) {
        let mut attributes = Attributes::new(tag);
        let found: Vec<_> = attributes.by_ref().map(|attribute| (attribute.name, attribute.raw)).collect();
        assert_eq!(found, expected, "{tag}");
        assert_eq!(attributes.broken(), broken, "{tag}");
    }

    #[test]
    fn attributes_are_taken_apart() {
        check(r#" name="a" time = '1' "#, &[("name", "a"), ("time", "1")], false);
        check("\n\tname=\"a > b\"\n\t/", &[("name", "a > b")], false);
        check("", &[], false);
    }

    #[test]
    fn mistakes_do_not_stop_it() {
        check(r#" a=1 b="2""#, &[("a", "1"), ("b", "2")], true);
        check(r#" alone b="2""#, &[("alone", ""), ("b", "2")], true);
        check(r#" a="x"y"z" b="2""#, &[("a", "x"), ("y\"z\"", ""), ("b", "2")], true);
        check(r#" a="never closed"#, &[("a", "never closed")], true);
        check(" a=", &[("a", "")], true);
    }

    #[test]
    fn only_the_five_entities_and_characters_are_replaced() {
        let value = |raw: &str| {
            let mut issues = Vec::new();
            let value = Attribute { name: "a", raw }
                .value(100, &mut |kind| issues.push(kind.to_string()))
                .into_owned();
            (value, issues.join("; "))
        };
        let fine = |text: &str| (text.to_owned(), String::new());
        assert_eq!(value("&lt;a&gt; &amp;&quot;&apos;"), fine("<a> &\"'"));
        assert_eq!(value("&#10;&#x1B;&#x1f980;"), fine("\n\u{1b}🦀"));
        assert_eq!(value("&#xD83D;"), fine("\u{fffd}"));
        assert_eq!(value("a & b"), ("a & b".into(), "unescaped `&`".into()));
        assert_eq!(value("&lol9;"), ("&lol9;".into(), "unknown entity `&lol9;`".into()));
        assert_eq!(value("1 < 2"), ("1 < 2".into(), "unescaped `<`".into()));
        assert_eq!(value(&"é".repeat(60)).0.len(), 100);
    }
}
