//! Our own notes in a report: what JUnit XML has no place for.
//!
//! [`write`](crate::write()) puts them into the properties of a test case,
//! where other readers pass over them. See there for their names.

use flakewise_model::{Attempt, Failure, Fingerprint, Outcome, Phase};

use crate::element::Element;
use crate::issue::{IssueKind, quote};
use crate::outcome::{Ending, Said};

/// The property that holds the test's id.
pub(crate) const TEST: &str = "flakewise.test";
/// What the names of properties about one attempt begin with; its number
/// within the case and the field follow.
pub(crate) const ATTEMPT: &str = "flakewise.attempt.";

/// The property that holds what the quarantine says about the test. It is about the run,
/// not about an attempt, so it is not read back.
pub(crate) const QUARANTINE: &str = "flakewise.quarantine";

/// How many times the limit for a tag the notes of one case may take.
const TAGS: usize = 16;

/// The notes of a test case.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    list: Vec<(Box<str>, Box<str>)>,
    bytes: usize,
}

impl Notes {
    pub(crate) fn add(&mut self, name: &str, value: &str, limit: usize) {
        self.bytes += name.len() + value.len();
        if self.bytes <= limit.saturating_mul(TAGS) {
            self.list.push((name.into(), value.into()));
        }
    }

    /// Puts what they say into the attempts of the case.
    pub(crate) fn apply(&self, attempts: &mut [Attempt], report: &mut dyn FnMut(IssueKind)) {
        for (name, value) in &self.list {
            let understood = if &**name == QUARANTINE {
                Some(())
            } else if &**name == TEST {
                value.parse().ok().map(|test| {
                    for attempt in &mut *attempts {
                        attempt.test = flakewise_model::TestId::clone(&test);
                    }
                })
            } else {
                name.strip_prefix(ATTEMPT).and_then(|rest| {
                    let (number, field) = rest.split_once('.')?;
                    let index = number.parse::<usize>().ok()?.checked_sub(1)?;
                    set(attempts.get_mut(index)?, field, value)
                })
            };
            if understood.is_none() {
                report(IssueKind::BrokenNote { name: quote(name) });
            }
        }
    }
}

fn set(attempt: &mut Attempt, field: &str, value: &str) -> Option<()> {
    let failure = |attempt: &mut Attempt, change: &dyn Fn(&mut Failure)| {
        let empty = || Box::new(Failure { kind: None, message: String::new(), fingerprint: None });
        change(attempt.failure.get_or_insert_with(empty));
    };
    match field {
        "number" => {
            attempt.number = value.parse().ok()?;
            attempt.phase = default_phase(attempt.number);
        }
        "phase" => attempt.phase = value.parse().ok()?,
        "outcome" => attempt.outcome = value.parse().ok()?,
        "worker" => attempt.worker = Some(unescape(value).into()),
        "position" => attempt.position = Some(value.parse().ok()?),
        "fingerprint" => {
            let fingerprint = Fingerprint::from_text(&unescape(value));
            failure(attempt, &|failure| failure.fingerprint = Some(fingerprint.clone()));
        }
        "kind" => failure(attempt, &|failure| failure.kind = Some(unescape(value))),
        "message" => failure(attempt, &|failure| failure.message = unescape(value)),
        _ => return None,
    }
    Some(())
}

/// The phase of an attempt of this number, where nothing else is said.
pub(crate) fn default_phase(number: u32) -> Phase {
    if number == 1 { Phase::First } else { Phase::Retry }
}

/// Gives an attempt its number, unless a note has.
pub(crate) fn number(attempt: &mut Attempt, number: u32) {
    if attempt.number == 0 {
        attempt.number = number;
        attempt.phase = default_phase(number);
    }
}

/// What an element of our own says: exactly what it is made of.
pub(crate) fn ending(said: Said<'_>, has_kind: bool, has_message: bool) -> Ending {
    let outcome = match said.element {
        Element::Skipped => Outcome::Skipped,
        Element::Error | Element::FlakyError | Element::RerunError => Outcome::Errored,
        _ => Outcome::Failed,
    };
    let failure = has_message.then(|| {
        Box::new(Failure {
            kind: has_kind.then(|| unescape(said.kind)),
            message: unescape(said.message),
            fingerprint: None,
        })
    });
    Ending { outcome, failure, worker: None }
}

/// Writes what XML 1.0 has no way to write as `\u{…}`, and a backslash that
/// could be taken for the beginning of that as `\u{5c}`.
pub(crate) fn escape(text: &str) -> std::borrow::Cow<'_, str> {
    use std::fmt::Write as _;

    let illegal = |character: char| matches!(character, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}');
    if !text.contains(illegal) && !text.contains("\\u{") {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 8);
    for (at, character) in text.char_indices() {
        if illegal(character) || text[at..].starts_with("\\u{") {
            write!(out, "\\u{{{:x}}}", u32::from(character)).expect("writing to a String succeeds");
        } else {
            out.push(character);
        }
    }
    out.into()
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\\u{") {
        out.push_str(&rest[..at]);
        let body = &rest[at + 3..];
        let character = body.split_once('}').and_then(|(digits, after)| {
            Some((u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)?, after))
        });
        if let Some((character, after)) = character {
            out.push(character);
            rest = after;
        } else {
            out.push_str("\\u{");
            rest = body;
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn unescape_undoes_escape(text in any::<String>()) {
            let escaped = escape(&text);
            prop_assert!(!escaped.contains(|character: char| character < ' ' && !"\n\r\t".contains(character)));
            prop_assert_eq!(unescape(&escaped), text);
        }

        #[test]
        fn awkward_backslashes_survive(text in r"[\\u{}5c\x01]{0,12}") {
            prop_assert_eq!(unescape(&escape(&text)), text);
        }
    }
}
