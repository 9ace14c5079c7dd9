use flakewise_model::{Fingerprint, TestId};
use flakewise_quarantine::{Accepts, Entry, Mode, Quarantine, Target, add, remove};
use proptest::prelude::*;

use crate::{FILE, day};

fn entry(test: &str) -> Entry {
    Entry {
        target: Target::Test(test.parse().expect("an id")),
        accepts: Accepts::Fingerprints(vec![Fingerprint::from_text("0123456789abcdef")]),
        reason: "it waits for a clock".to_owned(),
        owner: "@acme/clocks".to_owned(),
        issue: Some("https://example.org/8".to_owned()),
        since: day("2026-11-16"),
        until: day("2026-11-30"),
        mode: Mode::Run,
        line: 0,
    }
}

#[test]
fn a_new_file_explains_itself() {
    insta::assert_snapshot!(add("", &entry("pytest:a.py::test_a")).expect("added"));
}

#[test]
fn adding_keeps_what_is_there() {
    let added = add(FILE, &entry("pytest:a.py::test_a")).expect("added");
    assert!(added.starts_with(FILE.trim_end()), "{added}");
    assert_eq!(Quarantine::parse(&added).expect("well-formed").entries.len(), 3);
    let twice = add(&added, &entry("pytest:a.py::test_a")).expect_err("it is there already");
    assert!(twice.to_string().contains("is already quarantined on line 24"), "{twice}");
    let wrong = Entry { issue: Some("8".to_owned()), ..entry("pytest:b.py::test_b") };
    assert!(add(FILE, &wrong).is_err());
    assert!(add("[[quarantine]\n", &entry("pytest:a.py::test_a")).is_err(), "a malformed file is left alone");
}

#[test]
fn removing_keeps_comments_of_others() {
    let (removed, entry) =
        remove(FILE, "pytest:tests/test_pay.py::test_card").expect("well-formed").expect("there");
    assert_eq!(entry.owner, "@acme/payments");
    let (empty, _) = remove(&removed, "pytest:tests/browser/**").expect("well-formed").expect("there");
    insta::assert_snapshot!(format!("{removed}-----\n{empty}"));
    assert_eq!(remove(FILE, "pytest:a.py::test_a"), Ok(None));
}

proptest! {
    #[test]
    fn what_was_added_is_read_and_removed(name in "[^\\p{C}]{1,30}", reason in "[^\\p{C}]{0,20}x") {
        let test = TestId::builder("pytest", "tests/test_a.py").finish(&name, Some("[x]"));
        let new = Entry { reason: reason.clone(), ..entry(test.as_str()) };
        let added = add(FILE, &new).expect("added");
        let entries = Quarantine::parse(&added).expect("well-formed").entries;
        prop_assert_eq!(&Entry { line: 0, ..entries[2].clone() }, &new);
        let (removed, _) = remove(&added, test.as_str()).expect("well-formed").expect("there");
        prop_assert_eq!(Quarantine::parse(&removed).expect("well-formed").entries, entries[..2].to_vec());
    }
}
