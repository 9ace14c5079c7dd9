//! Names, kinds, messages, paths and notices come from outside. Whatever they are,
//! every format prints them as text.
//!
//! Values are built without `..`: a new field does not compile until it has a
//! hostile text here.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use flakewise_model::{
    Attempt, AttemptCost, BaseSource, Blame, BuildExit, ChangeSummary, Cleared, Commit, Conclusion, Cost,
    Counts, Culprit, CulpritAnswer, CulpritReport, Decision, Evidence, ExitReason, Failure, FailureGroup,
    FailureVerdict, FindingId, FindingKind, Fingerprint, FlakeRate, FlakyKind, FlakyTest, FoundKind,
    FoundTest, Hidden, HistoryReport, HuntEnd, HuntReport, Incident, NamedTest, Notice, Novelty,
    OpenQuestion, Order, Outcome, OutcomeStep, Phase, PlainCommand, Probability, Proof, QuarantineStatus,
    Quarantined, RateChange, Refusal, Rename, RenameAction, RenameDecision, Renames, ReproduceReport,
    Reproduction, Revision, Rows, Run, RunId, RunReport, Shard, SharedFailure, SharedState, StateChange,
    StateKind, Surroundings, Tally, TestFailure, TestHistory, TestId, Timestamp, Touch, TouchedFile, Value,
    Variant, Verdict, Way,
};
use flakewise_predict::{Category, CategoryGuess, Expectation, Familiarity, ModelCard};
use flakewise_quarantine::{Accepts, Entry, InForce, Limits, Mode, Quarantine, ReleaseEvidence, Target};
use flakewise_report::{
    Explanation, Findings, Kind, ModelOrigin, PathStep, Risk, RiskReason, RiskReport, RiskScope, Suggestions,
    Threshold, WeighedLine, card_text, culprit_json, culprit_text, explain_text, findings_github,
    findings_gitlab, findings_markdown, findings_sarif, found_renames_json, found_renames_text, history_json,
    history_text, hunt_json, hunt_text, quarantine_json, quarantine_text, renames_json, renames_text,
    report_json, report_markdown, report_text, reproduce_json, reproduce_text, risk_json, risk_text,
    rows_csv, rows_json, rows_text, run_markdown, run_text, suggestions_json, suggestions_text,
};
use proptest::prelude::*;

/// Pieces of markup, commands and formulas, with any characters between them.
fn text() -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        8 => proptest::sample::select(vec![
            "\u{1b}[2J", "\u{9b}2J", "\r", "\n", "\t", "\u{2028}", "\r\n::error::x", "::add-mask::", ":", " ",
            "##[group]x", "##vso[task.complete]", "#", "%0A::error::x", "<script>alert(1)</script>", "</details>",
            "</code>", "`|`", "**", "[a](http://b)", "=HYPERLINK(\"a\")", "@all", "\\", "'", "\"", ",",
            "\u{202e}\u{2066}", "\u{200e}\u{61c}", "\u{200b}\u{ad}\u{feff}", "\u{e0041}", "unset", "imported",
        ]).prop_map(str::to_owned),
        1 => any::<String>(),
    ];
    proptest::collection::vec(pieces, 1..6).prop_map(|pieces| pieces.concat())
}

/// Hostile texts, one after the other.
#[derive(Debug)]
struct Texts {
    texts: Vec<String>,
    used: Cell<usize>,
}

fn texts() -> impl Strategy<Value = Texts> {
    // No divisor of the number of fields, so that every field gets every text.
    proptest::collection::vec(text(), 7).prop_map(|texts| Texts { texts, used: Cell::new(0) })
}

impl Texts {
    fn next(&self) -> String {
        let used = self.used.get();
        self.used.set(used + 1);
        self.texts[used % self.texts.len()].clone()
    }

    fn list(&self) -> Vec<String> {
        vec![self.next(), self.next()]
    }

    fn place(&self) -> (String, u32) {
        (self.next(), 3)
    }

    fn test(&self) -> TestId {
        TestId::builder("pytest", &self.next()).class(&self.next()).finish(&self.next(), Some(&self.next()))
    }

    fn named(&self) -> NamedTest {
        NamedTest { test: self.test(), name: self.next(), argument: self.next() }
    }

    fn notices(&self) -> Vec<Notice> {
        [true, false].map(|warning| Notice { text: self.next(), warning }).to_vec()
    }

    fn variant(&self) -> Variant {
        Variant::default().with(&self.next(), &self.next())
    }

    fn run(&self) -> Arc<Run> {
        Arc::new(Run {
            id: RunId::new(self.next()),
            commit: Some(self.next()),
            dirty: true,
            branch: Some(self.next()),
            variant: self.variant(),
            provider: Some(self.next()),
            url: Some(self.next()),
            started: time(),
            roots: Some(BTreeSet::from([self.next()])),
            packages: Some(self.next().into()),
        })
    }

    fn failure(&self) -> Failure {
        let fingerprint = Some(Fingerprint::from_text(&self.next()));
        Failure { kind: Some(self.next()), message: self.next(), fingerprint }
    }

    fn plain(&self) -> PlainCommand {
        PlainCommand {
            folder: Some(self.next()),
            variables: vec![(self.next(), self.next())],
            words: self.list(),
            after: self.list(),
        }
    }
}

fn time() -> Timestamp {
    Timestamp::from_timestamp_micros(1_790_000_000_000_000).expect("a time")
}

fn some_chance() -> Probability {
    Probability::clamped(0.4)
}

const MIXED: Tally = Tally { passed: 2, failed: 3 };

/// `report` and `show`.
fn verdict(texts: &Texts) -> Verdict {
    let mixed = |latest: Revision| Evidence::MixedOutcomes {
        revisions: 1,
        latest,
        variant: texts.variant(),
        passed: 1,
        failed: 1,
        at: time(),
    };
    Verdict {
        conclusion: Conclusion::Flaky,
        probability: Probability::clamped(1.0),
        evidence: vec![mixed(Revision::Commit(texts.next())), mixed(Revision::Run(RunId::new(texts.next())))],
    }
}

fn groups(texts: &Texts) -> Vec<FailureGroup> {
    vec![FailureGroup {
        fingerprint: Some(Fingerprint::from_text(&texts.next())),
        kind: Some(texts.next()),
        message: texts.next(),
        count: 1,
        first_seen: time(),
        last_seen: time(),
    }]
}

fn changes(texts: &Texts) -> Vec<RateChange> {
    let commit = || Commit { id: texts.next(), at: time() };
    vec![RateChange {
        before: FlakeRate { failures: 0, attempts: 40 },
        after: FlakeRate { failures: 9, attempts: 40 },
        branch: Some(texts.next()),
        good: commit(),
        last: commit(),
        commits: 1,
    }]
}

fn report(texts: &Texts) -> HistoryReport {
    let test = texts.test();
    let rate = FlakeRate { failures: 1, attempts: 2 };
    HistoryReport {
        findings: vec![FlakyTest {
            id: FindingId::of(&test),
            kind: FindingKind::FlakyByHistory,
            test,
            verdict: verdict(texts),
            rate,
            reruns: rate,
            cost: Cost::default(),
            since: time(),
            last_seen: time(),
            changes: changes(texts),
            failures: groups(texts),
        }],
        shared_failures: groups(texts)
            .into_iter()
            .map(|failure| SharedFailure { tests: vec![texts.test(), texts.test()], failure })
            .collect(),
        others_failing: 0,
        broken: 0,
        runs: 1,
        outages: 0,
        incomplete_runs: 0,
        lost_days: 0,
        attempts: 2,
        window: None,
    }
}

fn history(texts: &Texts) -> TestHistory {
    let rate = FlakeRate { failures: 1, attempts: 2 };
    TestHistory {
        test: texts.test(),
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
            commit: Some(texts.next()),
            variant: texts.next(),
            run: RunId::new(texts.next()),
        }],
        failures: groups(texts),
        changes: changes(texts),
    }
}

/// `run`.
fn proofs(texts: &Texts) -> Vec<Proof> {
    let touched = |touch| TouchedFile { path: texts.next(), touch };
    vec![
        Proof::TouchesChange {
            files: vec![
                touched(Touch::Executed(vec![1])),
                touched(Touch::Configured(vec![texts.next()])),
                touched(Touch::Configured(texts.list())),
            ],
            changed: 3,
        },
        Proof::DependenciesUnknown { reason: texts.next() },
        Proof::AtBase { commit: texts.next(), passed: 1, failed: 0, source: BaseSource::Run },
        Proof::NothingChanged { commit: texts.next() },
        Proof::OtherFailureAtBase { commit: texts.next(), kind: Some(texts.next()) },
        Proof::InstalledDiffers { packages: texts.list() },
        Proof::SharedFailure { tests: 2, representative: Some(texts.next()) },
    ]
}

fn test_failure(texts: &Texts, run: &Arc<Run>, blame: Blame, incident: usize) -> TestFailure {
    let test = texts.test();
    let attempt = |number, phase| Attempt {
        test: test.clone(),
        run: Arc::clone(run),
        phase,
        number,
        outcome: Outcome::Failed,
        duration: Some(Duration::from_millis(12)),
        started: Some(time()),
        worker: Some(texts.next().into()),
        position: Some(1),
        failure: Some(Box::new(texts.failure())),
    };
    TestFailure {
        id: FindingId::of(&test),
        name: texts.next(),
        place: Some(texts.place()),
        verdict: FailureVerdict {
            blame,
            novelty: Novelty::New,
            flaky: some_chance(),
            regression: some_chance(),
            environment: some_chance(),
            kind: Some(some_chance()),
            proofs: proofs(texts),
        },
        attempts: vec![attempt(1, Phase::First), attempt(2, Phase::Fork)],
        costs: vec![AttemptCost { number: 2, wall: Duration::ZERO, cpu: Duration::ZERO }],
        incident,
        reproduce: Reproduction { command: texts.next(), tried: Some(MIXED) },
        refusal: Some(Refusal::NewFlake),
        // The last two are told in one block.
        quarantine: (incident < 4).then(|| Quarantined {
            entry: texts.next(),
            owner: texts.next(),
            reason: texts.next(),
            issue: Some(texts.next()),
            until: time().date_naive(),
            status: [QuarantineStatus::Forgiven, QuarantineStatus::OtherFailure][incident % 2],
        }),
        test,
    }
}

fn run_report(texts: &Texts) -> RunReport {
    let run = texts.run();
    let blames = [
        Blame::Regression,
        Blame::Flaky(FlakyKind::StateDependent),
        Blame::Environment,
        Blame::Undecided(OpenQuestion::DependenciesUnknown),
        Blame::Infrastructure,
        Blame::Infrastructure,
    ];
    let places = (0..).map(|place: usize| place.min(4));
    let mut failures: Vec<_> =
        places.zip(blames).map(|(incident, blame)| test_failure(texts, &run, blame, incident)).collect();
    // One that is not new, for what is said of those.
    failures[1].verdict.novelty = Novelty::Known;
    let incident =
        |failures: Vec<usize>| Incident { kind: Some(texts.next()), message: texts.next(), failures };
    RunReport {
        command: texts.list(),
        seed: 7,
        hash_seed: Some(1),
        counts: Counts { selected: 9, passed: 3, failed: 6, skipped: 0 },
        lost: texts.list(),
        uncollected: texts.list(),
        failures,
        incidents: vec![
            incident(vec![0]),
            incident(vec![1]),
            incident(vec![2]),
            incident(vec![3]),
            incident(vec![4, 5]),
        ],
        change: Some(ChangeSummary { base: texts.next(), found: texts.next(), files: 3, uncommitted: true }),
        review: None,
        notices: texts.notices(),
        exit: BuildExit { runner: Some(1), code: 1, reason: ExitReason::NotTolerated },
        reruns: 6,
        suite_time: Duration::from_secs(1),
        triage_time: Duration::from_secs(1),
        run,
    }
}

/// `hunt`.
fn hunt_report(texts: &Texts) -> HuntReport {
    let found = |kind: FoundKind, decision: Option<Decision>| {
        let test = texts.test();
        FoundTest {
            id: FindingId::of(&test),
            test,
            name: texts.next(),
            kind,
            alone: FlakeRate { failures: 1, attempts: 9 },
            solo: MIXED,
            beside: MIXED,
            decision,
            failure: Some(texts.failure()),
            place: Some(texts.place()),
            risk: some_chance(),
            after: 3,
        }
    };
    let decision = Decision {
        fails: (Surroundings::After(Order::Shuffled { seed: 3 }), MIXED),
        passes: (Surroundings::Alone, MIXED),
        confidence: some_chance(),
    };
    HuntReport {
        run: texts.run(),
        command: texts.list(),
        seed: 7,
        shard: Some(Shard { number: 1, of: 2 }),
        tests: 9,
        skipped: 1,
        orders: 2,
        executions: 90,
        known: 3,
        duration: Duration::from_secs(9),
        jobs: 2,
        end: HuntEnd::Budget,
        found: vec![
            found(FoundKind::Alone, None),
            found(FoundKind::FailsAlone, None),
            found(FoundKind::PassesAlone, Some(decision)),
        ],
        only_beside: vec![found(FoundKind::Beside, None), found(FoundKind::Unconfirmed, None)],
        always_fail: vec![texts.test()],
        cleared: Cleared { tests: 4, runs: 40, fewest_runs: 3, median_runs: 10 },
        hidden: Some(Hidden { expected: 0.5, low: 0, high: 2 }),
        notices: texts.notices(),
    }
}

/// `culprit` and `reproduce`.
fn culprit_report(texts: &Texts, kind: StateKind, brittle: bool) -> CulpritReport {
    let shared = |read_at| SharedState {
        change: StateChange {
            key: texts.next(),
            kind,
            name: texts.next(),
            before: texts.next(),
            after: texts.next(),
            can_undo: true,
        },
        left_by: texts.named(),
        is_read: true,
        read_at,
        is_proved: true,
    };
    let culprits = vec![Culprit {
        tests: vec![texts.named(), texts.named()],
        forks: MIXED,
        fresh: MIXED,
        confidence: some_chance(),
        shared: vec![shared(Some(texts.place())), shared(None)],
    }];
    CulpritReport {
        run: texts.run(),
        command: texts.list(),
        plain: texts.plain(),
        seed: 7,
        test: texts.named(),
        alone: MIXED,
        answer: if brittle { CulpritAnswer::Brittle(culprits) } else { CulpritAnswer::Victim(culprits) },
        cleaners: vec![texts.named()],
        exhaustive: false,
        forks: 40,
        known: 0,
        pairs: Some((4, Duration::from_secs(1))),
        first_proof: Some(Duration::from_secs(1)),
        spent: Some(Duration::from_secs(3)),
        duration: Duration::from_secs(3),
        notices: texts.notices(),
    }
}

fn reproduce_report(search: CulpritReport, texts: &Texts) -> ReproduceReport {
    let way = Way {
        before: vec![texts.named()],
        hash_seed: Some(3),
        forks: MIXED,
        fresh: MIXED,
        seconds: Duration::from_secs(1),
    };
    ReproduceReport { search, ways: vec![way], hash_seeds: 2 }
}

/// `predict` and `explain`.
fn risk(texts: &Texts) -> Risk {
    Risk {
        test: texts.test(),
        path: texts.next(),
        line: 3,
        end_line: 9,
        risk: some_chance(),
        familiarity: Familiarity::NewProject,
        category: Some(CategoryGuess { category: Category::Time, probability: some_chance() }),
        reasons: vec![
            RiskReason::LooksLike { test: texts.next(), similarity: 0.9, lines: vec![3] },
            RiskReason::Uses { family: texts.next(), text: texts.next(), line: 4, weight: 1.0 },
            RiskReason::Word { text: texts.next(), line: Some(5), weight: 1.0 },
            RiskReason::Path { steps: texts.list(), lines: vec![4, 5], weight: 1.0 },
            RiskReason::Around { family: texts.next(), text: texts.next(), calls: 1, weight: 1.0 },
            RiskReason::Siblings { flaky: 1, known: 2 },
        ],
    }
}

fn card(texts: &Texts) -> ModelCard {
    let expectation =
        Expectation { familiarity: Familiarity::NewProject, threshold: 0.5, precision: 0.3, recall: 0.2 };
    ModelCard { trained_on: texts.next(), tests: 9, flaky: 2, projects: 2, expectations: vec![expectation] }
}

fn risk_report(texts: &Texts) -> RiskReport {
    RiskReport {
        origin: ModelOrigin::Own(texts.next()),
        card: card(texts),
        scope: RiskScope { files: 2, tests: 5, base: Some((texts.next(), texts.next())), unclear: 1 },
        thresholds: vec![(Familiarity::NewProject, Threshold::Usual(0.5))],
        risks: vec![risk(texts), risk(texts)],
        most_likely: vec![risk(texts)],
    }
}

fn explanation(texts: &Texts) -> Explanation {
    let line = |weight| WeighedLine { line: 3, text: texts.next(), weight };
    let step = || PathStep {
        line: 3,
        through: texts.next(),
        text: texts.next(),
        callee: Some(texts.next()),
        helper: Some(texts.next()),
    };
    Explanation {
        risk: risk(texts),
        raising: vec![line(1.0)],
        lowering: vec![line(-1.0)],
        paths: 1,
        heaviest: vec![step(), step()],
        has_paths: true,
    }
}

/// What a terminal or a log viewer may act on.
fn acts(character: char) -> bool {
    character.is_control() && character != '\n'
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// Nothing acts on a log, and no line is a command to a CI system.
fn check_log(text: &str) {
    assert!(!text.contains(acts), "{text:?}");
    for line in text.lines() {
        assert!(!line.trim_start().starts_with("::"), "{line:?}");
        assert!(!line.contains("##[") && !line.contains("##vso["), "{line:?}");
    }
}

/// Text for people without our own styles, which are all that may act.
fn check_text(styled: &str) {
    check_log(&anstream::adapter::strip_str(styled).to_string());
    for (at, _) in styled.match_indices('\u{1b}') {
        let codes = styled[at + 1..].strip_prefix('[').and_then(|rest| rest.split_once('m'));
        let is_style =
            codes.is_some_and(|(codes, _)| codes.chars().all(|code| code.is_ascii_digit() || code == ';'));
        assert!(is_style, "{styled:?}");
    }
}

fn check_json(text: &str) -> serde_json::Value {
    check_log(text);
    serde_json::from_str(text).expect("a document")
}

/// Every line is a command of ours, with properties of ours.
fn check_commands(text: &str) {
    assert!(!text.contains(acts), "{text:?}");
    for line in text.lines() {
        assert!(!line.contains("##[") && !line.contains("##vso["), "{line:?}");
        let (level, rest) = line[2..].split_once([' ', ':']).expect("a level");
        assert!(line.starts_with("::") && ["error", "warning", "notice"].contains(&level), "{line:?}");
        let (properties, _) = rest.split_once("::").expect("a message");
        for property in properties.split(',') {
            let (name, value) = property.split_once('=').expect("a property");
            assert!(["file", "line", "endLine", "title"].contains(&name), "{line:?}");
            assert!(!value.contains(':'), "{line:?}");
        }
    }
}

/// Findings in the formats of hosts; `count` of them, each one annotation.
fn check_findings(findings: &Findings, count: usize) {
    assert_eq!(findings.findings.len(), count);
    let commands = findings_github(findings);
    check_commands(&commands);
    assert_eq!(commands.lines().count(), count);
    let tests: usize = findings.findings.iter().map(|finding| finding.subjects.len()).sum();
    assert_eq!(check_json(&findings_gitlab(findings)).as_array().map(Vec::len), Some(tests));
    let log = check_json(&findings_sarif(findings));
    assert_eq!(log["runs"][0]["results"].as_array().map(Vec::len), Some(tests));
    let mut markdown = findings_markdown(findings);
    for kind in Kind::ALL {
        markdown = markdown.replace(&format!("[{}]({})", kind.id(), kind.url()), "");
    }
    check_markdown(&markdown, 0, 0);
    assert_eq!(markdown.matches("<details>").count(), count);
}

/// No markup but ours: these tags, `backticks` backticks, and rows of `bars` bars.
fn check_markdown(markdown: &str, backticks: usize, bars: usize) {
    check_log(markdown);
    let mut rest = markdown.to_owned();
    for tag in ["b", "code", "details", "summary"] {
        let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
        assert_eq!(markdown.matches(&open).count(), markdown.matches(&close).count());
        rest = rest.replace(&open, "").replace(&close, "");
    }
    assert_eq!(rest.matches('`').count(), backticks, "{rest:?}");
    assert!(!rest.contains(['<', '>', '[', '@', '\\']), "{rest:?}");
    for line in rest.lines().filter(|line| line.contains('|')) {
        assert_eq!(line.matches('|').count(), bars, "{line:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn report_and_show_print_text(texts in texts()) {
        let report = report(&texts);
        check_text(&report_text(&report, 10));
        check_json(&report_json(&report));
        let markdown = report_markdown(&report, 10);
        // The backticks are around an id.
        check_markdown(&markdown, 2, 9);
        prop_assert_eq!(markdown.matches("<details>").count(), 1);
        check_findings(&Findings::from(&report), 1);
        let history = history(&texts);
        check_text(&history_text(&history));
        check_json(&history_json(&history));
    }

    #[test]
    fn run_prints_text(texts in texts()) {
        let report = run_report(&texts);
        check_text(&run_text(&report));
        let document = check_json(&crate::sample::run_json(&report));
        prop_assert_eq!(document["failures"][0]["name"].as_str(), Some(report.failures[0].name.as_str()));
        // One for each of five blocks, the lost tests and the files not collected.
        check_findings(&Findings::from(&report), 7);
        check_markdown(&run_markdown(&report), 0, 4);
        let comment = flakewise_report::check_markdown(&report, None);
        let comment = comment.strip_prefix("<!-- flakewise check -->\n").expect("the marker is first");
        check_markdown(comment, 0, 4);
    }

    #[test]
    fn quarantine_prints_text(texts in texts()) {
        let today = time().date_naive();
        let entry = Entry {
            target: Target::Test(texts.test()),
            accepts: Accepts::Fingerprints(vec![Fingerprint::from_text("0123456789abcdef")]),
            reason: texts.next(),
            owner: texts.next(),
            issue: Some(texts.next()),
            since: today,
            until: today,
            mode: Mode::Skip,
            line: 1,
        };
        let quarantine = Quarantine { entries: vec![entry] };
        let in_force = InForce { quarantine, today, limits: Limits::default(), renames: Renames::default() };
        check_text(&quarantine_text(&in_force));
        check_json(&quarantine_json(&in_force));
        let report = report(&texts);
        let evidence = ReleaseEvidence { before: FlakeRate::default(), clean_runs: 9, needed: Some(3) };
        let suggestions = Suggestions {
            additions: report.findings.iter().map(|finding| (finding, Some(texts.next()))).collect(),
            quarantined: vec![(&in_force.quarantine.entries[0], evidence)],
        };
        check_text(&suggestions_text(&suggestions));
        check_json(&suggestions_json(&suggestions));
    }

    #[test]
    fn renames_print_text(texts in texts()) {
        let rename = Rename { former: texts.test(), current: texts.test(), similarity: Some(0.9) };
        check_text(&found_renames_text(std::slice::from_ref(&rename)));
        check_json(&found_renames_json(std::slice::from_ref(&rename)));
        let action = RenameAction::Found;
        let decision = RenameDecision { rename, action, commit: Some(texts.next()), decided: time() };
        check_text(&renames_text(std::slice::from_ref(&decision)));
        check_json(&renames_json(std::slice::from_ref(&decision)));
    }

    #[test]
    fn hunt_prints_text(texts in texts()) {
        let report = hunt_report(&texts);
        check_text(&hunt_text(&report));
        check_json(&hunt_json(&report));
        check_findings(&Findings::from(&report), 6);
    }

    #[test]
    fn culprit_and_reproduce_print_text(
        texts in texts(),
        kind in proptest::sample::select(StateKind::ALL),
        brittle: bool,
    ) {
        let report = culprit_report(&texts, kind, brittle);
        check_text(&culprit_text(&report));
        check_json(&culprit_json(&report));
        let report = reproduce_report(report, &texts);
        check_text(&reproduce_text(&report));
        check_json(&reproduce_json(&report));
        check_text(&reproduce_text(&ReproduceReport { ways: Vec::new(), ..report }));
    }

    #[test]
    fn predict_and_explain_print_text(texts in texts()) {
        let report = risk_report(&texts);
        check_text(&risk_text(&report));
        check_json(&risk_json(&report));
        check_findings(&Findings::from(&report), 3);
        let unsure = RiskReport { risks: Vec::new(), ..report };
        check_text(&risk_text(&unsure));
        check_findings(&Findings::from(&unsure), 1);
        check_text(&card_text(&card(&texts)));
        check_text(&explain_text(&explanation(&texts)));
    }

    #[test]
    fn rows_print_text(texts in texts()) {
        let row = || texts.list().into_iter().map(Value::Text).collect();
        let rows = Rows { columns: texts.list(), rows: vec![row(), row()], truncated: false };
        check_text(&rows_text(&rows));
        for line in rows_json(&rows).lines() {
            check_json(line);
        }
        let csv = rows_csv(&rows);
        check_log(&csv.replace("\r\n", "\n"));
        prop_assert_eq!(csv.lines().count(), 3);
        // Only what stands at the beginning of a cell is a formula.
        for line in csv.lines() {
            let first = line.strip_prefix('"').unwrap_or(line);
            prop_assert!(!first.starts_with(['=', '+', '-', '@']), "{csv:?}");
        }
    }
}

#[test]
fn numbers_are_no_formulas() {
    let rows = Rows { columns: vec!["n".to_owned()], rows: vec![vec![Value::Integer(-5)]], truncated: false };
    assert_eq!(rows_csv(&rows), "n\r\n-5\r\n");
}
