//! What holds for any input, and for any attempts.

use std::sync::LazyLock;
use std::time::Duration;

use flakewise_junit::{Dialect, Limits, read, read_bytes, write};
use flakewise_model::{Attempt, Failure, Fingerprint, Outcome, Phase, TestId, TestIds, Timestamp};
use proptest::prelude::*;

use crate::support::{files, parse, reports, run};

/// All real reports.
static REAL: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let mut found: Vec<_> =
        files(&reports()).iter().map(|file| std::fs::read(file).expect("the report can be read")).collect();
    found.retain(|bytes| !bytes.is_empty());
    found
});

/// Limits so tight that every one of them is met.
fn tight() -> Limits {
    Limits { attempts: 50, depth: 8, attribute: 100, tag: 600, failure_text: 200, issues: 5, window: 4096 }
}

/// Text with all that is awkward in XML.
fn awkward() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z0-9_./ -]{0,12}",
        "[<>&\"'\\]\\[{}\\\\u:#;xX]{0,12}",
        "[\\x00-\\x1f\\x7f-\\xa0\u{fffe}\u{ffff}\u{2028}\u{202e}\u{200b}a]{0,8}",
        "(\n::error::|##\\[group\\]|##vso\\[a\\]|a){0,4}",
        any::<String>().prop_map(|text| text.chars().take(20).collect()),
    ]
}

prop_compose! {
    fn test()(
        scheme in prop::sample::select(vec!["pytest", "junit", "odd:scheme"]),
        module in prop::sample::select(vec!["tests/a.py", "", "b::c"]),
        classes in prop::collection::vec(awkward(), 0..2),
        name in awkward(),
        parameters in prop::option::of(awkward()),
    ) -> TestId {
        let builder = classes.iter().fold(TestId::builder(scheme, module), |builder, class| builder.class(class));
        // An id without a name is none.
        builder.finish(if name.is_empty() { "x" } else { &name }, parameters.as_deref())
    }
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop::sample::select(Outcome::ALL.to_vec())
}

prop_compose! {
    fn failure()(
        kind in prop::option::of(awkward()),
        message in awkward(),
        fingerprint in prop::option::of("[0-9a-f]{16}"),
    ) -> Box<Failure> {
        Box::new(Failure { kind, message, fingerprint: fingerprint.map(|text| Fingerprint::from_text(&text)) })
    }
}

prop_compose! {
    fn attempt()(
        test in prop_oneof![
            // Few tests, so that there are retries.
            3 => prop::sample::select(vec!["a:b::c", "a:b::d[1]", "a:e::c"]).prop_map(|text| text.parse().expect("an id")),
            1 => test(),
        ],
        phase in prop::sample::select(Phase::ALL.to_vec()),
        number in 1u32..5,
        outcome in outcome(),
        duration in prop::option::of((0u64..100_000, 0u32..1_000_000_000).prop_map(|(seconds, nanos)| Duration::new(seconds, nanos))),
        started in prop::option::of((0i64..4_000_000_000, 0u32..1_000_000_000)),
        worker in prop::option::of(awkward()),
        position in prop::option::of(any::<u32>()),
        failure in prop::option::of(failure()),
    ) -> Attempt {
        let started = started.map(|(seconds, nanos)| Timestamp::from_timestamp(seconds, nanos).expect("in range"));
        let worker = worker.map(Into::into);
        Attempt { test, run: run(), phase, number, outcome, duration, started, worker, position, failure }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let (report, issues) = parse(&bytes);
        prop_assert!(report.complete || !issues.is_empty());
    }

    #[test]
    fn anything_like_xml_is_read_within_its_limits(
        pieces in prop::collection::vec(prop_oneof![
            Just("<testsuites name='pytest tests'>".to_owned()),
            Just("<testsuite name='pytest' tests='3'>".to_owned()),
            Just("</testsuite>".to_owned()),
            Just("<testcase name='a' classname='b'>".to_owned()),
            Just("<testcase name='a' classname='b' time='1'/>".to_owned()),
            Just("</testcase>".to_owned()),
            Just("<failure message='m'>".to_owned()),
            Just("<rerunFailure/><flakyError time='1'/>".to_owned()),
            Just("</failure>".to_owned()),
            Just("<system-out>".to_owned()),
            Just("</system-out>".to_owned()),
            Just("<![CDATA[".to_owned()),
            Just("]]>".to_owned()),
            Just("<!--".to_owned()),
            Just("-->".to_owned()),
            Just("<!DOCTYPE a [<!ENTITY b 'c'>]>".to_owned()),
            Just("&amp;&#x41;&b;&".to_owned()),
            Just("<x a=\"".to_owned()),
            Just("'".to_owned()),
            "[ -~é]{0,10}",
            "x{300}",
        ], 0..60),
    ) {
        let text = pieces.concat();
        let limits = tight();
        let (report, issues) = read_bytes(text.as_bytes(), &run(), &limits, &mut TestIds::default());
        prop_assert!(report.attempts.len() <= limits.attempts);
        prop_assert!(issues.len() <= limits.issues + 1);
        prop_assert_eq!(read(text.as_bytes(), &run(), &limits, &mut TestIds::default()), (report, issues));
    }

    #[test]
    fn attempts_survive_being_written_and_read(attempts in prop::collection::vec(attempt(), 0..12)) {
        let mut xml = Vec::new();
        write(&mut xml, &attempts).expect("writing to memory succeeds");
        // In a log, nothing of it is a command or moves the cursor.
        let text = String::from_utf8_lossy(&xml);
        let acts = |character: char| {
            (character.is_control() && character != '\n') || "\u{2028}\u{202e}\u{200b}".contains(character)
        };
        prop_assert!(!text.contains(acts));
        prop_assert!(!text.contains("##[") && !text.contains("##vso["));
        prop_assert!(text.lines().all(|line| line.trim_start().starts_with('<')));
        let (report, issues) = parse(&xml);
        prop_assert_eq!(issues, []);
        prop_assert!(report.complete);
        prop_assert_eq!(report.dialect, Dialect::Flakewise);
        prop_assert_eq!(report.attempts, attempts);
    }

    #[test]
    fn damaged_reports_give_no_more_than_they_had(
        index in any::<prop::sample::Index>(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let original = &REAL[index.index(REAL.len())];
        let whole = parse(original).0.attempts.len();
        let mut bytes = original.clone();
        for (at, byte) in &flips {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let (report, issues) = parse(&bytes);
        // A tag that is broken in two may leave another; parts of one attempt
        // may no longer be known for it.
        prop_assert!(report.attempts.len() <= whole + 2 * flips.len() + 2);
        if cut.is_some() && report.complete {
            prop_assert!(report.attempts.len() <= whole);
        }
        let small = Limits { window: 4096, ..Limits::default() };
        let (streamed, _) = read(&bytes[..], &run(), &small, &mut TestIds::default());
        prop_assert!(streamed.attempts.len() <= whole + 2 * flips.len() + 2);
        prop_assert!(report.complete || !issues.is_empty());
    }
}

#[test]
fn streams_are_read_like_slices_whatever_the_window() {
    for bytes in REAL.iter() {
        let whole = parse(bytes);
        for window in [4096, 5000] {
            let limits = Limits { window, ..Limits::default() };
            for step in [13, 4096] {
                let source = std::io::BufReader::with_capacity(step, &bytes[..]);
                assert_eq!(read(source, &run(), &limits, &mut TestIds::default()), whole);
            }
        }
    }
}

#[test]
fn cut_reports_never_look_complete() {
    for bytes in REAL.iter() {
        let end = bytes.iter().rposition(|byte| *byte == b'<').expect("there is a last tag");
        for part in 1..5 {
            let (report, _) = parse(&bytes[..end * part / 5]);
            assert!(!report.complete);
        }
    }
}

#[test]
fn reports_with_the_same_tests_share_their_ids() {
    let report = |dialect: &str, names: [&str; 2]| {
        let cases = names.map(|name| format!("<testcase classname=\"tests.test_a.A\" name=\"{name}\"/>"));
        format!("<testsuites><testsuite name=\"{dialect}\">{}</testsuite></testsuites>", cases.concat())
    };
    for dialect in ["pytest", "unknown"] {
        let mut ids = TestIds::default();
        let mut read = |names| {
            let text = report(dialect, names);
            read_bytes(text.as_bytes(), &run(), &Limits::default(), &mut ids).0.attempts
        };
        let (before, after) = (read(["test_a", "test_b[1]"]), read(["test_b[1]", "test_c"]));
        assert_eq!(before[1].test, after[0].test);
        assert!(std::ptr::eq(before[1].test.as_str(), after[0].test.as_str()), "one text in memory");
        assert_ne!(before[0].test, after[1].test);
    }
}

#[test]
fn real_attempts_survive_being_written_and_read() {
    for bytes in REAL.iter() {
        let attempts = parse(bytes).0.attempts;
        let mut xml = Vec::new();
        write(&mut xml, &attempts).expect("writing to memory succeeds");
        let (report, issues) = parse(&xml);
        assert_eq!(issues, []);
        assert_eq!(report.attempts, attempts);
    }
}

#[test]
fn the_written_form_is_what_others_expect() {
    let test: TestId = "pytest:tests/test_cart.py::TestCart::test_total[3-4]".parse().expect("an id");
    let attempt = |number: u32, outcome, failure: Option<Failure>| Attempt {
        test: test.clone(),
        run: run(),
        phase: if number == 1 { Phase::First } else { Phase::Retry },
        number,
        outcome,
        duration: Some(Duration::from_micros(12_500 * u64::from(number))),
        started: Timestamp::from_timestamp(1_794_708_021, 500_000_000),
        worker: Some("gw0".into()),
        position: (number == 1).then_some(7),
        failure: failure.map(Box::new),
    };
    let timeout = Failure {
        kind: Some("Failed".into()),
        message: "Timeout > 1s\n\u{1b}".into(),
        fingerprint: Some(Fingerprint::from_text("0123456789abcdef")),
    };
    let attempts = [attempt(1, Outcome::TimedOut, Some(timeout)), attempt(2, Outcome::Passed, None)];
    let mut xml = Vec::new();
    write(&mut xml, &attempts).expect("writing to memory succeeds");
    insta::assert_snapshot!("written", String::from_utf8(xml).expect("it is text"));
}

/// A test that was run on every rung of the ladder, and how it ended there.
fn climbed(rungs: &[(Phase, Outcome)]) -> Vec<Attempt> {
    let attempt = |(number, (phase, outcome)): (u32, &(Phase, Outcome))| Attempt {
        test: "pytest:tests/test_cart.py::test_total".parse().expect("an id"),
        run: run(),
        phase: *phase,
        number,
        outcome: *outcome,
        duration: Some(Duration::from_millis(2)),
        started: None,
        worker: None,
        position: None,
        failure: outcome
            .is_failure()
            .then(|| Box::new(Failure::new(Some("AssertionError"), "assert 41 == 42", ""))),
    };
    (1..).zip(rungs).map(attempt).collect()
}

#[test]
fn every_rung_of_the_ladder_survives_and_others_see_retries() {
    let attempts = climbed(&[
        (Phase::First, Outcome::Failed),
        (Phase::Rerun, Outcome::Failed),
        (Phase::Postpone, Outcome::Errored),
        (Phase::Fork, Outcome::Crashed),
        (Phase::Fresh, Outcome::Passed),
    ]);
    let mut xml = Vec::new();
    write(&mut xml, &attempts).expect("writing to memory succeeds");
    assert_eq!(parse(&xml).0.attempts, attempts);
    insta::assert_snapshot!("climbed", String::from_utf8(xml).expect("it is text"));
}

#[test]
fn a_pass_at_the_base_does_not_make_a_regression_look_flaky_to_others() {
    let attempts = climbed(&[
        (Phase::First, Outcome::Failed),
        (Phase::Fresh, Outcome::Failed),
        (Phase::Base, Outcome::Passed),
        (Phase::Base, Outcome::Failed),
    ]);
    let mut xml = Vec::new();
    write(&mut xml, &attempts).expect("writing to memory succeeds");
    assert_eq!(parse(&xml).0.attempts, attempts);
    insta::assert_snapshot!("at_base", String::from_utf8(xml).expect("it is text"));
}
