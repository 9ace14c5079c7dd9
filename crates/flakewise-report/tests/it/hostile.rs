//! Names, kinds and messages come from anywhere. Whatever they are, no form lets
//! them be more than text.

use flakewise_model::{
    Conclusion, Cost, Evidence, FailureGroup, Finding, FindingId, FindingKind, Fingerprint, FlakeRate,
    HistoryReport, Outcome, OutcomeStep, Probability, Revision, Rows, RunId, TestHistory, TestId, Timestamp,
    Value, Variant, Verdict,
};
use flakewise_report::{history_text, report_markdown, report_text, rows_csv, rows_text};
use proptest::prelude::*;

/// Text that means harm: pieces of markup, commands and formulas, with any
/// characters between them.
fn text() -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        Just("\u{1b}[2J".to_owned()),
        Just("\r\n::error::x".to_owned()),
        Just("::add-mask::".to_owned()),
        Just("<script>alert(1)</script>".to_owned()),
        Just("</details>".to_owned()),
        Just("`|`".to_owned()),
        Just("[a](http://b)".to_owned()),
        Just("=HYPERLINK(\"a\")".to_owned()),
        Just("\u{202e}\u{2066}".to_owned()),
        Just("@all".to_owned()),
        any::<String>(),
    ];
    proptest::collection::vec(pieces, 1..5).prop_map(|pieces| pieces.concat())
}

fn time() -> Timestamp {
    Timestamp::from_timestamp_micros(1_790_000_000_000_000).expect("a time")
}

#[derive(Debug)]
struct Texts {
    name: String,
    kind: String,
    message: String,
    commit: String,
    run: String,
    variant: String,
}

fn texts() -> impl Strategy<Value = Texts> {
    (text(), text(), text(), text(), text(), text()).prop_map(
        |(name, kind, message, commit, run, variant)| Texts { name, kind, message, commit, run, variant },
    )
}

fn verdict(texts: &Texts) -> Verdict {
    let mixed = |latest: Revision| Evidence::MixedOutcomes {
        revisions: 1,
        latest,
        variant: Variant::parse(&texts.variant),
        passed: 1,
        failed: 1,
        at: time(),
    };
    Verdict {
        conclusion: Conclusion::Flaky,
        probability: Probability::clamped(1.0),
        evidence: vec![
            mixed(Revision::Commit(texts.commit.clone())),
            mixed(Revision::Run(RunId::new(texts.run.clone()))),
        ],
    }
}

fn failures(texts: &Texts) -> Vec<FailureGroup> {
    vec![FailureGroup {
        fingerprint: Some(Fingerprint::from_text(&texts.message)),
        kind: Some(texts.kind.clone()),
        message: texts.message.clone(),
        count: 1,
        first_seen: time(),
        last_seen: time(),
    }]
}

fn report(texts: &Texts) -> HistoryReport {
    let test = TestId::builder("pytest", &texts.name).class(&texts.kind).finish(&texts.message, None);
    let rate = FlakeRate { failures: 1, attempts: 2 };
    HistoryReport {
        findings: vec![Finding {
            id: FindingId::of(&test),
            kind: FindingKind::FlakyByHistory,
            test,
            verdict: verdict(texts),
            rate,
            reruns: rate,
            cost: Cost::default(),
            since: time(),
            last_seen: time(),
            failures: failures(texts),
        }],
        others_failing: 0,
        broken: 0,
        runs: 1,
        outages: 0,
        incomplete_runs: 0,
        attempts: 2,
        window: None,
    }
}

fn history(texts: &Texts) -> TestHistory {
    let rate = FlakeRate { failures: 1, attempts: 2 };
    TestHistory {
        test: TestId::builder("pytest", &texts.name).finish(&texts.message, Some(&texts.kind)),
        verdict: verdict(texts),
        rate,
        reruns: rate,
        cost: Cost::default(),
        attempts: 2,
        first_seen: time(),
        steps: vec![OutcomeStep {
            at: time(),
            outcome: Outcome::Failed,
            outage: false,
            commit: Some(texts.commit.clone()),
            variant: texts.variant.clone(),
            run: RunId::new(texts.run.clone()),
        }],
        failures: failures(texts),
    }
}

/// What a terminal or a log may act on.
fn acts(character: char) -> bool {
    character.is_control() && character != '\n'
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Text for people without our own colours, which are all that may act.
fn check_text(styled: &str) {
    let plain = anstream::adapter::strip_str(styled).to_string();
    assert!(!plain.contains(acts), "{plain:?}");
    // A stripped escape that was not ours would leave the text shorter.
    let ours = styled.matches("\u{1b}[").count();
    assert_eq!(styled.matches('\u{1b}').count(), ours, "{styled:?}");
    assert!(!styled.contains("\u{1b}[2J"), "{styled:?}");
    assert!(plain.lines().all(|line| !line.trim_start().starts_with("::")), "{plain:?}");
}

proptest! {
    #[test]
    fn text_for_people_is_only_text(texts in texts()) {
        check_text(&report_text(&report(&texts), 10));
        check_text(&history_text(&history(&texts)));
    }

    #[test]
    fn markdown_has_no_markup_that_is_not_ours(texts in texts()) {
        let markdown = report_markdown(&report(&texts), 10);
        prop_assert!(!markdown.contains(acts), "{markdown:?}");
        prop_assert!(markdown.lines().all(|line| !line.trim_start().starts_with("::")), "{markdown:?}");
        let mut rest = markdown.clone();
        for tag in ["code", "details", "summary"] {
            let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
            prop_assert_eq!(markdown.matches(&open).count(), markdown.matches(&close).count());
            rest = rest.replace(&open, "").replace(&close, "");
        }
        prop_assert_eq!(markdown.matches("<details>").count(), 1);
        // The only backticks are around an id of ours.
        prop_assert_eq!(rest.matches('`').count(), 2);
        prop_assert!(!rest.contains(['<', '>', '[', '@', '\\']), "{rest:?}");
        let cells: Vec<usize> = rest.lines().map(|line| line.matches('|').count()).filter(|bars| *bars > 0).collect();
        prop_assert_eq!(cells, vec![9, 9, 9]);
    }

    #[test]
    fn rows_are_only_text(name in text(), value in text()) {
        let rows = Rows { columns: vec!["test".to_owned()], rows: vec![vec![Value::Text(name)], vec![Value::Text(value)]], truncated: false };
        check_text(&rows_text(&rows));
        // Only what stands at the beginning of a cell is a formula.
        let csv = rows_csv(&rows);
        let cells = csv.strip_prefix("test\r\n").expect("a header");
        for cell in cells.split("\r\n").map(|cell| cell.strip_prefix('"').unwrap_or(cell)).take(1) {
            prop_assert!(!cell.starts_with(['=', '+', '-', '@', '\t', '\r']), "{csv:?}");
        }
    }
}

#[test]
fn numbers_are_no_formulas() {
    let rows = Rows { columns: vec!["n".to_owned()], rows: vec![vec![Value::Integer(-5)]], truncated: false };
    assert_eq!(rows_csv(&rows), "n\r\n-5\r\n");
}
