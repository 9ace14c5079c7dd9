use flakewise_quarantine::{Accepts, MAX_BYTES, MAX_ENTRIES, Mode, Quarantine};
use proptest::prelude::*;

use crate::{FILE, day};

/// The problems of a text, each on a line.
fn problems(text: &str) -> String {
    Quarantine::parse(text).expect_err("it is malformed").to_string()
}

/// An entry with other lines instead of those that begin with their keys.
fn entry(changes: &[&str]) -> String {
    let mut lines = vec![
        "test = \"pytest:a.py::test_a\"",
        "any-failure = true",
        "reason = \"r\"",
        "owner = \"o\"",
        "since = 2026-11-01",
        "until = 2026-11-02",
    ];
    let key = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
    for change in changes {
        lines.retain(|line| key(line) != key(change));
        if change.contains('=') {
            lines.push(change);
        }
    }
    format!("[[quarantine]]\n{}\n", lines.join("\n"))
}

#[test]
fn entries_are_read() {
    let quarantine = Quarantine::parse(FILE).expect("well-formed");
    let [first, second] = &quarantine.entries[..] else { panic!("two entries") };
    assert_eq!(first.target.as_str(), "pytest:tests/test_pay.py::test_card");
    assert!(matches!(&first.accepts, Accepts::Fingerprints(two) if two.len() == 2));
    assert_eq!(
        (first.reason.as_str(), first.owner.as_str()),
        ("the sandbox drops connections", "@acme/payments")
    );
    assert_eq!(first.issue.as_deref(), Some("https://example.org/issues/7"));
    assert_eq!((first.since, first.until, first.mode), (day("2026-11-01"), day("2026-11-20"), Mode::Run));
    assert_eq!((first.line, second.line), (4, 13));
    assert_eq!((&second.accepts, second.mode), (&Accepts::AnyFailure, Mode::Skip));
    assert_eq!(Quarantine::parse("").expect("an empty file").entries, []);
    assert_eq!(Quarantine::parse(&entry(&[])).expect("well-formed").entries.len(), 1);
}

#[test]
fn mistakes_are_located_and_corrected() {
    let texts = [
        "[[quarantine]\n".to_owned(),
        "[[quarantined]]\n".to_owned(),
        "quarantine = 3\n".to_owned(),
        "[[quarantine]]\n".to_owned(),
        entry(&["resaon = \"r\"", "reason"]),
        entry(&["expiry = 2026-11-02"]),
        entry(&["test = \"tests/a.py::TestA::test_a\""]),
        entry(&["test", "pattern = \"pytest:**\""]),
        entry(&["pattern = \"pytest:db/**\""]),
        entry(&["any-failure = false"]),
        entry(&["fingerprints = [\"0123456789abcdef\"]"]),
        entry(&["any-failure", "fingerprints = [\"0123456789abcdef\", \"x\"]"]),
        entry(&["any-failure", "fingerprints = []"]),
        entry(&["until = \"2026-11-02\""]),
        entry(&["until = 2026-11-02T10:00:00Z"]),
        entry(&["until = 2026-10-02"]),
        entry(&["owner = \" \""]),
        entry(&["issue = \"7\""]),
        entry(&["mode = \"off\""]),
        format!("{}{}", entry(&[]), entry(&[])),
    ];
    let shown: Vec<String> = texts.iter().map(|text| format!("{text}=> {}\n", problems(text))).collect();
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn hostile_files_are_refused() {
    assert!(problems(&"#".repeat(MAX_BYTES + 1)).contains("longer than"));
    let many: String =
        (0..=MAX_ENTRIES).map(|at| entry(&[&format!("test = \"pytest:a.py::t{at}\"")])).collect();
    assert!(problems(&many).contains("1001 entries; at most 1000"));
    let broken = Quarantine::from_bytes(b"# a\n# \xff\n").expect_err("it is not UTF-8");
    assert_eq!(broken.to_string(), "2:3: the file is not UTF-8");
    let deep = format!("a = {}", "[".repeat(10_000));
    assert!(Quarantine::parse(&deep).is_err());
    let escaped = problems(&entry(&["\"a\\u001b[31m\\nb\" = 1"]));
    assert!(!escaped.contains('\u{1b}') && !escaped.contains('\n'), "{escaped}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn arbitrary_text_is_refused_or_has_no_entry(text in "(?s).{0,200}") {
        if let Ok(quarantine) = Quarantine::parse(&text) {
            prop_assert_eq!(quarantine.entries, vec![]);
        }
    }

    /// A file that is damaged anywhere never yields an entry that is not in it.
    #[test]
    fn a_damaged_file_yields_nothing_new(
        at in 0..FILE.len(),
        removed in 0_usize..40,
        inserted in "[a-z\"=#\\[\\]\n 0-9-]{0,6}",
    ) {
        let end = (at + removed).min(FILE.len());
        let text = format!("{}{inserted}{}", &FILE[..at], &FILE[end..]);
        let Ok(quarantine) = Quarantine::parse(&text) else { return Ok(()) };
        prop_assert!(quarantine.entries.len() <= 2);
        for entry in quarantine.entries {
            let line = text.lines().nth(entry.line as usize - 1).unwrap_or_default();
            prop_assert!(line.contains("[[quarantine]]") || line.contains("[[ quarantine"), "{}", line);
            for part in [entry.target.as_str(), &entry.reason, &entry.owner] {
                // An id may have been written without escapes.
                let plain = part.replace('\\', "");
                prop_assert!(text.contains(part) || text.contains(&plain), "{part} is not in {text}");
            }
            prop_assert!(text.contains(&entry.until.to_string()), "{text}");
            match &entry.accepts {
                Accepts::AnyFailure => prop_assert!(text.contains("any-failure")),
                Accepts::Fingerprints(all) => prop_assert!(all.iter().all(|one| text.contains(one.as_str()))),
            }
        }
    }
}
