//! Patterns of test ids.

use std::fmt;

use flakewise_model::TestId;
use regex::Regex;

/// The longest pattern, in bytes.
const LONGEST: usize = 500;
/// Words that nearly every test id contains: a pattern of these alone says nothing.
const COMMON: [&str; 8] = ["test", "tests", "src", "py", "spec", "unit", "js", "ts"];

/// A pattern that a whole test id must match.
///
/// `*` stands for any characters but `/` and `:`, so it stays within one folder, file,
/// class or test; `**` stands for any characters. Everything else, brackets included,
/// stands for itself.
///
/// ```
/// use flakewise_quarantine::Pattern;
///
/// let matches = |pattern: &str, id: &str| {
///     Pattern::new(pattern).is_ok_and(|pattern| id.parse().is_ok_and(|id| pattern.matches(&id)))
/// };
/// assert!(matches("pytest:tests/db/*.py::test_*", "pytest:tests/db/test_cart.py::test_total"));
/// assert!(!matches("pytest:tests/db/*.py::test_*", "pytest:tests/db/old/test_cart.py::test_total"));
/// assert!(matches("pytest:tests/db/**", "pytest:tests/db/old/test_cart.py::Cart::test_total[3]"));
/// assert!(matches("pytest:a.py::test_url[**]", r"pytest:a.py::test_url[http\://x]"));
/// assert!(Pattern::new("pytest:tests/**").is_err(), "it matches nearly everything");
/// ```
#[derive(Clone)]
pub struct Pattern {
    text: Box<str>,
    regex: Regex,
}

/// Why a text is not a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// It is too long.
    #[error("the pattern is longer than {LONGEST} bytes")]
    TooLong,
    /// It does not begin with the kind of runner.
    #[error("the pattern must begin with the kind of runner, such as `pytest:`")]
    NoScheme,
    /// It has no wildcard.
    #[error("the pattern has no `*`; name a single test with `test`")]
    NoWildcard,
    /// It matches everything, or nearly so.
    #[error("the pattern matches nearly every test; name a folder, file, class or test in it")]
    TooBroad,
}

impl Pattern {
    /// Takes a pattern that names something.
    pub fn new(text: &str) -> Result<Self, PatternError> {
        if text.len() > LONGEST {
            return Err(PatternError::TooLong);
        }
        let (scheme, rest) = text.split_once(':').ok_or(PatternError::NoScheme)?;
        let is_scheme = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
        if scheme.is_empty() || !scheme.chars().all(is_scheme) {
            return Err(PatternError::NoScheme);
        }
        if !rest.contains('*') {
            return Err(PatternError::NoWildcard);
        }
        let mut words = rest.split(|character: char| !character.is_alphanumeric());
        if !words.any(|word| word.chars().count() > 1 && !COMMON.contains(&word.to_lowercase().as_str())) {
            return Err(PatternError::TooBroad);
        }
        let whole: Vec<String> = text
            .split("**")
            .map(|part| part.split('*').map(regex::escape).collect::<Vec<_>>().join("[^/:]*"))
            .collect();
        let regex =
            Regex::new(&format!(r"(?s)\A{}\z", whole.join(".*"))).map_err(|_| PatternError::TooLong)?;
        Ok(Self { text: text.into(), regex })
    }

    /// Whether a test's id matches.
    pub fn matches(&self, test: &TestId) -> bool {
        self.regex.is_match(test.as_str())
    }

    /// The pattern as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Pattern {}

impl fmt::Debug for Pattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Pattern({})", self.text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn broad_and_plain_patterns_are_refused() {
        let error = |text: &str| Pattern::new(text).err();
        for broad in ["pytest:**", "pytest:*", "pytest:tests/**", "pytest:**/test_*.py::**", "junit:**::**"] {
            assert_eq!(error(broad), Some(PatternError::TooBroad), "{broad}");
        }
        assert_eq!(error("**"), Some(PatternError::NoScheme));
        assert_eq!(error("*:tests/db/**"), Some(PatternError::NoScheme));
        assert_eq!(error("pytest:tests/db.py::test_a"), Some(PatternError::NoWildcard));
        assert_eq!(error(&format!("pytest:{}*", "x".repeat(600))), Some(PatternError::TooLong));
        assert_eq!(error("pytest:tests/integration/**"), None);
    }

    /// The same by trying every split: slow and obvious.
    fn matches_slowly(pattern: &[u8], id: &[u8]) -> bool {
        match pattern {
            [] => id.is_empty(),
            [b'*', b'*', rest @ ..] => (0..=id.len()).any(|taken| matches_slowly(rest, &id[taken..])),
            [b'*', rest @ ..] => {
                let within = id.iter().take_while(|byte| !b"/:".contains(byte)).count();
                (0..=within).any(|taken| matches_slowly(rest, &id[taken..]))
            }
            [byte, rest @ ..] => id.first() == Some(byte) && matches_slowly(rest, &id[1..]),
        }
    }

    proptest! {
        #[test]
        fn patterns_match_as_defined(pattern in "pytest:db/[ab*/:.]{0,8}\\*", rest in "[ab/.]{1,6}::[ab]{1,3}") {
            let id: TestId = format!("pytest:db/{rest}").parse().expect("an id");
            let pattern = Pattern::new(&pattern).expect("it names a folder");
            let slowly = matches_slowly(pattern.as_str().as_bytes(), id.as_str().as_bytes());
            prop_assert_eq!(pattern.matches(&id), slowly);
        }

        #[test]
        fn any_text_is_a_pattern_or_refused(text in ".{0,60}") {
            let _ = Pattern::new(&text);
        }
    }
}
