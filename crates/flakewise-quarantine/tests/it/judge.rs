use flakewise_model::{Failure, Fingerprint, QuarantineStatus, Renames, TestId, TraceFrames};
use flakewise_quarantine::{InForce, Limits, Quarantine, SeenFailure};

use crate::{FILE, day};

fn in_force(today: &str, limits: Limits) -> InForce {
    let quarantine = Quarantine::parse(FILE).expect("well-formed");
    InForce { quarantine, today: day(today), limits, renames: Renames::default() }
}

const LONG: Limits = Limits { max_entries: 20, max_days: 365 };
const KNOWN: &str = "0123456789abcdef";
const ALSO_KNOWN: &str = "fedcba9876543210";
const OTHER: &str = "aaaaaaaaaaaaaaaa";

/// A status, and whether it holds for any failure.
type Judged = Option<(QuarantineStatus, bool)>;

/// The status of a test that failed in these ways, and whether any failure will do.
fn status(today: &str, test: &str, failures: &[&str]) -> Judged {
    let test: TestId = test.parse().expect("an id");
    let fingerprints: Vec<Option<Fingerprint>> =
        failures.iter().map(|text| (text.len() == 16).then(|| Fingerprint::from_text(text))).collect();
    let seen: Vec<SeenFailure<'_>> = fingerprints
        .iter()
        .zip(failures)
        .map(|(fingerprint, text)| SeenFailure {
            fingerprint: fingerprint.as_ref(),
            frames: None,
            crashed: *text == "crash",
        })
        .collect();
    in_force(today, LONG).judge(&test, &seen).map(|(said, any)| (said.status, any))
}

#[test]
fn an_entry_follows_its_test_but_a_pattern_does_not() {
    let id = |text: &str| text.parse::<TestId>().expect("an id");
    let (card, page) =
        (id("pytest:tests/test_pay.py::test_card"), id("pytest:tests/browser/test_page.py::test_page"));
    let (paid, moved) =
        (id("pytest:tests/test_card.py::test_pay"), id("pytest:tests/web/test_page.py::test_page"));
    let known = Fingerprint::from_text(KNOWN);
    let failure = [SeenFailure { fingerprint: Some(&known), frames: None, crashed: false }];
    let mut in_force = in_force("2026-11-16", LONG);
    assert_eq!(in_force.judge(&paid, &failure), None);
    in_force.renames.add(&card, &paid);
    in_force.renames.add(&page, &moved);
    let (said, _) = in_force.judge(&paid, &failure).expect("it is quarantined");
    assert_eq!((said.status, said.entry.as_str()), (QuarantineStatus::Forgiven, card.as_str()));
    assert_eq!(in_force.judge(&moved, &failure), None);
}

#[test]
fn an_entry_recognises_the_known_failures_of_its_renamed_test() {
    use QuarantineStatus::{Expired, Forgiven, OtherFailure};
    let id = |text: &str| text.parse::<TestId>().expect("an id");
    let (card, paid) =
        (id("pytest:tests/test_pay.py::test_card"), id("pytest:tests/test_card.py::test_paid"));
    let failing = |kind: &str, file: &str, function: &str, statement: &str| {
        let trace = format!("  File \"/app/tests/{file}\", line 9, in {function}\n    {statement}\n");
        Failure::with_frames(Some(kind), "it failed", &trace)
    };
    let (known, _) = failing("E", "test_pay.py", "test_card", "pay()");
    let known = known.fingerprint.expect("a failure has one");
    let text = FILE.replace(KNOWN, known.as_str());
    let judged = |today: &str, failures: &[(Failure, Option<TraceFrames>)]| {
        let mut renames = Renames::default();
        renames.add(&card, &paid);
        let quarantine = Quarantine::parse(&text).expect("well-formed");
        let in_force = InForce { quarantine, today: day(today), limits: LONG, renames };
        let seen = failures.iter().map(|(failure, frames)| SeenFailure {
            fingerprint: failure.fingerprint.as_ref(),
            frames: frames.as_ref(),
            crashed: false,
        });
        in_force.judge(&paid, &seen.collect::<Vec<_>>()).expect("it is quarantined").0.status
    };
    let same = || failing("E", "test_card.py", "test_paid", "pay()");
    assert_ne!(same().0.fingerprint, Some(known), "the names are part of it");
    assert_eq!(judged("2026-11-16", &[same()]), Forgiven);
    assert_eq!(judged("2027-11-16", &[same()]), Expired);
    for other in [
        failing("F", "test_card.py", "test_paid", "pay()"),
        failing("E", "test_card.py", "test_paid", "refund()"),
        failing("E", "test_card.py", "set_up", "pay()"),
        failing("E", "conftest.py", "test_paid", "pay()"),
        (same().0, None),
    ] {
        assert_eq!(judged("2026-11-16", std::slice::from_ref(&other)), OtherFailure, "{other:?}");
        assert_eq!(judged("2026-11-16", &[same(), other]), OtherFailure, "one known failure is not enough");
    }
}

#[test]
fn only_known_failures_are_forgiven() {
    use QuarantineStatus::{Crashed, Expired, Forgiven, OtherFailure};
    const CARD: &str = "pytest:tests/test_pay.py::test_card";
    const PAGE: &str = "pytest:tests/browser/test_page.py::test_page";
    let table: [(&str, &str, &[&str], Judged); 18] = [
        ("2026-10-31", CARD, &[KNOWN], None),
        ("2026-11-16", CARD, &[KNOWN], Some((Forgiven, false))),
        ("2026-11-16", CARD, &[KNOWN, ALSO_KNOWN, KNOWN], Some((Forgiven, false))),
        ("2026-11-16", CARD, &[OTHER], Some((OtherFailure, false))),
        ("2026-11-16", CARD, &[KNOWN, OTHER], Some((OtherFailure, false))),
        ("2026-11-16", CARD, &["unknown"], Some((OtherFailure, false))),
        ("2026-11-16", CARD, &["crash"], Some((Crashed, false))),
        ("2026-11-16", CARD, &[KNOWN, "crash"], Some((Crashed, false))),
        ("2026-11-16", CARD, &[], Some((Crashed, false))),
        ("2026-11-16", "pytest:tests/test_pay.py::test_card[1]", &[KNOWN], None),
        ("2026-11-16", "junit:tests/test_pay.py::test_card", &[KNOWN], None),
        ("2026-11-20", CARD, &[KNOWN], Some((Forgiven, false))),
        ("2026-11-21", CARD, &[KNOWN], Some((Expired, false))),
        ("2026-11-21", CARD, &[OTHER], Some((Expired, false))),
        ("2026-11-21", CARD, &["crash"], Some((Expired, false))),
        ("2026-11-21", PAGE, &[OTHER, "unknown"], Some((Forgiven, true))),
        ("2026-11-21", PAGE, &["crash"], Some((Crashed, false))),
        ("2026-12-01", PAGE, &[OTHER], Some((Expired, false))),
    ];
    for (today, test, failures, expected) in table {
        assert_eq!(status(today, test, failures), expected, "{test} on {today} with {failures:?}");
    }
}

#[test]
fn no_entry_outlasts_the_longest_term() {
    let limits = Limits { max_entries: 20, max_days: 7 };
    let test: TestId = "pytest:tests/test_pay.py::test_card".parse().expect("an id");
    let known = Fingerprint::from_text(KNOWN);
    let seen = [SeenFailure { fingerprint: Some(&known), frames: None, crashed: false }];
    let judged = |today| in_force(today, limits).judge(&test, &seen).expect("there is an entry").0;
    assert!(judged("2026-11-08").is_forgiven());
    let said = judged("2026-11-09");
    assert_eq!((said.status, said.until), (QuarantineStatus::Expired, day("2026-11-08")));
    assert_eq!(said.owner, "@acme/payments");
}

#[test]
fn violations_name_the_owner() {
    let shown = |today, limits| -> Vec<String> {
        in_force(today, limits).violations().iter().map(ToString::to_string).collect()
    };
    assert_eq!(shown("2026-11-16", LONG), [""; 0]);
    let late = shown("2026-11-25", Limits { max_entries: 1, max_days: 20 });
    let early = shown("2026-11-05", Limits { max_entries: 2, max_days: 10 });
    insta::assert_snapshot!([late, early].concat().join("\n"));
}

#[test]
fn entries_for_no_test_are_found() {
    let quarantine = Quarantine::parse(FILE).expect("well-formed");
    let tests: Vec<TestId> = vec!["pytest:tests/browser/test_a.py::test_a".parse().expect("an id")];
    let unknown: Vec<_> = quarantine.unknown(&tests).map(|entry| entry.target.as_str()).collect();
    assert_eq!(unknown, ["pytest:tests/test_pay.py::test_card"]);
}
