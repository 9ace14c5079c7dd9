//! What a model says of tests, in every format.

use flakewise_model::{Probability, TestId};
use flakewise_predict::{Category, CategoryGuess, Expectation, Familiarity, ModelCard};
use flakewise_report::{
    Findings, Kind, ModelOrigin, Risk, RiskReason, RiskReport, RiskScope, Threshold, card_text,
    findings_markdown, risk_json, risk_text,
};

fn expectation(familiarity: Familiarity, threshold: f64, precision: f64, recall: f64) -> Expectation {
    Expectation { familiarity, threshold, precision, recall }
}

fn card() -> ModelCard {
    ModelCard {
        trained_on: "FlakeFlagger".into(),
        tests: 21_802,
        flaky: 809,
        projects: 24,
        expectations: vec![
            expectation(Familiarity::NewProject, 0.5, 0.31, 0.18),
            expectation(Familiarity::NewProject, 0.95, 0.42, 0.03),
            expectation(Familiarity::KnownClass, 0.5, 0.86, 0.75),
            expectation(Familiarity::KnownClass, 0.8, 0.96, 0.61),
        ],
    }
}

fn risk(name: &str, line: u32, risk: f64) -> Risk {
    Risk {
        test: TestId::builder("pytest", "tests/test_cart.py").class("TestCart").finish(name, None),
        path: "tests/test_cart.py".into(),
        line,
        end_line: line + 6,
        risk: Probability::clamped(risk),
        familiarity: Familiarity::KnownClass,
        category: None,
        reasons: Vec::new(),
    }
}

fn waiting() -> Risk {
    Risk {
        category: Some(CategoryGuess {
            category: Category::AsyncWait,
            probability: Probability::clamped(0.71),
        }),
        reasons: vec![
            RiskReason::LooksLike {
                test: "junit:org.acme::QueueTest::drains".into(),
                similarity: 0.914,
                lines: vec![12, 13, 14, 17],
            },
            RiskReason::Uses {
                family: "sleep".into(),
                text: "waits for a fixed time, which may be too short".into(),
                line: 14,
                weight: 1.25,
            },
            RiskReason::Path {
                steps: ["500", "Thread.sleep(500)", "assertTrue"].map(str::to_owned).to_vec(),
                lines: vec![14, 16],
                weight: 1.5,
            },
            RiskReason::Path {
                steps: ["0", "port", "url", "client", "answer", "assertEquals"].map(str::to_owned).to_vec(),
                lines: vec![12],
                weight: 0.25,
            },
            RiskReason::Word { text: "latch".into(), line: Some(15), weight: 0.5 },
            RiskReason::Around {
                family: "net".into(),
                text: "uses the network".into(),
                calls: 0,
                weight: 0.4,
            },
            RiskReason::Around {
                family: "sleep".into(),
                text: "waits or has a timeout".into(),
                calls: 2,
                weight: 0.3,
            },
            RiskReason::Siblings { flaky: 2, known: 5 },
            RiskReason::Word { text: "executor".into(), line: None, weight: 0.25 },
        ],
        ..risk("test_delivered", 11, 0.97)
    }
}

/// Names are somebody else's.
fn hostile() -> Risk {
    Risk {
        path: "tests/a,b:c%\n::error::x.py".into(),
        reasons: vec![RiskReason::Word {
            text: "\u{1b}[31m\n::error::pwned".into(),
            line: None,
            weight: 1.0,
        }],
        ..risk("test_\u{1b}]0;x\u{7}\n::error::y", 1, 0.96)
    }
}

fn report(risks: Vec<Risk>) -> RiskReport {
    RiskReport {
        origin: ModelOrigin::Own(".flakewise/model".into()),
        card: card(),
        scope: RiskScope { files: 3, tests: 41, base: None, unclear: 1 },
        thresholds: vec![(
            Familiarity::KnownClass,
            Threshold::Measured(expectation(Familiarity::KnownClass, 0.8, 0.96, 0.61)),
        )],
        risks,
        most_likely: Vec::new(),
    }
}

/// The first day: no label, no history, and not much to say.
fn first_day() -> RiskReport {
    let familiarity = Familiarity::NewProject;
    RiskReport {
        origin: ModelOrigin::Pretrained,
        scope: RiskScope {
            base: Some(("2c94d2def0123".repeat(3), "merge base with main".into())),
            ..RiskScope { files: 1, tests: 2, base: None, unclear: 0 }
        },
        thresholds: vec![(
            familiarity,
            Threshold::Imprecise(Some(expectation(familiarity, 0.95, 0.42, 0.03))),
        )],
        most_likely: vec![Risk { familiarity, ..risk("test_total", 3, 0.22) }],
        ..report(Vec::new())
    }
}

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[test]
fn risks_are_told_with_reasons() {
    insta::assert_snapshot!(plain(&risk_text(&report(vec![waiting(), risk("test_total", 30, 0.81)]))));
}

#[test]
fn without_precision_the_most_likely_are_told_with_how_little_that_means() {
    insta::assert_snapshot!(plain(&risk_text(&first_day())));
}

#[test]
fn nothing_at_risk_and_nothing_found_are_different_answers() {
    let quiet = plain(&risk_text(&report(Vec::new())));
    assert!(quiet.starts_with("no test is likely flaky: 41 tests in 3 files\n"), "{quiet}");
    let empty = RiskReport { scope: RiskScope::default(), ..report(Vec::new()) };
    assert_eq!(plain(&risk_text(&empty)), "no test found: 0 tests in 0 files\n");
}

#[test]
fn markdown_claims_no_more_than_the_terminal() {
    let mut everything = report(vec![waiting()]);
    everything.thresholds = vec![(Familiarity::KnownClass, Threshold::All)];
    for report in [everything, report(vec![waiting()]), report(Vec::new()), first_day()] {
        let text = plain(&risk_text(&report));
        let headline = text.lines().next().and_then(|line| line.split(':').next()).expect("a headline");
        let markdown = findings_markdown(&Findings::from(&report));
        assert!(markdown.starts_with(&format!("## {headline}: ")), "{headline}\n{markdown}");
    }
}

#[test]
fn machines_get_a_stable_form() {
    insta::assert_snapshot!(risk_json(&report(vec![waiting()])));
}

#[test]
fn annotations_are_limited_and_escaped() {
    let risks = std::iter::once(hostile())
        .chain([waiting()])
        .chain((0..10).map(|place| risk(&format!("test_{place}"), 50 + place, 0.9)));
    let text = crate::github(&report(risks.collect()));
    assert_eq!(text.lines().filter(|line| line.starts_with("::warning ")).count(), 10);
    assert!(
        text.lines().all(|line| line.starts_with("::warning ") || line.starts_with("::notice")),
        "{text}"
    );
    assert!(!text.contains('\u{1b}'));
    insta::assert_snapshot!(text.lines().take(2).chain(text.lines().last()).collect::<Vec<_>>().join("\n"));
    assert!(crate::github(&first_day()).starts_with("::notice file=tests/test_cart.py,line=3,"));
}

#[test]
fn terminals_are_safe_from_names() {
    let text = plain(&risk_text(&report(vec![hostile()])));
    assert!(!text.contains('\u{1b}') && !text.contains('\u{7}') && !text.contains("\n::error"), "{text}");
}

#[test]
fn sarif_has_what_its_schema_asks_for() {
    let log: serde_json::Value =
        serde_json::from_str(&crate::sarif(&report(vec![waiting(), hostile()]))).expect("it is JSON");
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().expect("rules");
    assert_eq!(rules.len(), Kind::ALL.len());
    let results = run["results"].as_array().expect("results");
    assert_eq!(results.len(), 2);
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().expect("an index")).expect("small");
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert!(["none", "note", "warning", "error"].contains(&result["level"].as_str().expect("a level")));
        assert!(result["message"]["text"].as_str().is_some_and(|text| !text.is_empty()));
        let rank = result["rank"].as_f64().expect("a rank");
        assert!((0.0..=100.0).contains(&rank));
        let place = &result["locations"][0]["physicalLocation"];
        let uri = place["artifactLocation"]["uri"].as_str().expect("a place");
        assert!(uri.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~/%".contains(&byte)), "{uri}");
        let (first, last) = (place["region"]["startLine"].as_u64(), place["region"]["endLine"].as_u64());
        assert!(Some(1) <= first && first <= last);
        assert_eq!(result["partialFingerprints"]["flakewiseFinding/v1"].as_str().map(str::len), Some(8));
    }
    insta::assert_snapshot!(crate::sarif(&report(vec![waiting()])));
}

#[test]
fn a_fingerprint_stays_when_lines_and_kinds_change() {
    let moved = Risk { line: 90, category: None, ..waiting() };
    assert_eq!(moved.id(), waiting().id());
}

#[test]
fn the_card_says_what_to_expect() {
    insta::assert_snapshot!(plain(&card_text(&card())));
    let unmeasured = plain(&card_text(&ModelCard { expectations: Vec::new(), ..card() }));
    assert!(unmeasured.contains("was not measured"), "{unmeasured}");
}
