//! Where and how a test ran, as far as it may change the outcome.

use std::collections::BTreeMap;
use std::fmt;

use crate::escape::{escape_into, find, split, unescape};

/// The environment of a run: operating system, runtime, job and the like.
///
/// A test that passes on Linux and fails on Windows is not flaky, so outcomes
/// are only ever compared within one variant. The text form lists the parts by
/// key: `job=unit;os=linux;runtime=python-3.11`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Variant {
    parts: BTreeMap<String, String>,
}

impl Variant {
    /// Adds or replaces one part.
    #[must_use]
    pub fn with(mut self, key: &str, value: &str) -> Self {
        self.parts.insert(key.to_owned(), value.to_owned());
        self
    }

    /// One part.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.parts.get(key).map(String::as_str)
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Reads the text form. Parts without `=` are keys with an empty value.
    pub fn parse(text: &str) -> Self {
        let parts = split(text, ";")
            .filter(|part| !part.is_empty())
            .map(|part| match find(part, "=") {
                Some(at) => (unescape(&part[..at]), unescape(&part[at + 1..])),
                None => (unescape(part), String::new()),
            })
            .collect();
        Self { parts }
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        for (key, value) in &self.parts {
            if !text.is_empty() {
                text.push(';');
            }
            escape_into(&mut text, key, b"=;");
            text.push('=');
            escape_into(&mut text, value, b"=;");
        }
        formatter.write_str(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn text_form_round_trips(parts in prop::collection::btree_map(".{1,8}", ".{0,8}", 0..4)) {
            let variant = Variant { parts };
            prop_assert_eq!(Variant::parse(&variant.to_string()), variant);
        }
    }

    #[test]
    fn text_form_is_sorted_by_key() {
        let variant = Variant::default().with("os", "linux").with("job", "unit");
        assert_eq!(variant.to_string(), "job=unit;os=linux");
    }
}
