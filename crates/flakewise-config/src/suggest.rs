//! What an unknown key may be meant to be.

use crate::key::{KEYS, SECTIONS};

/// How alike two names must be for one to be suggested for the other; 1 is equal.
const ALIKE: f64 = 0.75;
/// A longer name is no slip of a known one.
const MOST_CHARACTERS: usize = 64;

/// The known key that a name was most likely meant to be.
pub(crate) fn suggest(name: &str) -> Option<&'static str> {
    if name.chars().take(MOST_CHARACTERS + 1).count() > MOST_CHARACTERS {
        return None;
    }
    let name = name.replace('_', "-").to_lowercase();
    let leaf = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let names = || KEYS.iter().map(|key| key.name).chain(SECTIONS.iter().map(|section| section.name));
    // Right, but in another section.
    if let Some(known) = names().find(|known| leaf(known) == leaf(&name)) {
        return Some(known);
    }
    let likeness = |known: &str| strsim::normalized_damerau_levenshtein(known, &name);
    let nearest = names().max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    (likeness(nearest) >= ALIKE).then_some(nearest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised() {
        for (name, meant) in [
            ("stor", Some("store")),
            ("comand", Some("command")),
            ("run.tolerat", Some("run.tolerate")),
            ("tolerate", Some("run.tolerate")),
            ("test_timeout", Some("test-timeout")),
            ("run.max_failures", Some("run.max-failures")),
            ("quarantine.max-day", Some("quarantine.max-days")),
            ("quarantin", Some("quarantine")),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(suggest(name), meant, "{name}");
        }
        assert_eq!(suggest(&"store".repeat(1000)), None);
    }
}
