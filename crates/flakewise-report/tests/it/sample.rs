//! Runs to be rendered.

use std::sync::Arc;
use std::time::Duration;

use flakewise_model::{
    Attempt, BaseSource, Blame, BuildExit, ChangeSummary, Counts, ExitReason, Failure, FailureVerdict,
    FindingId, Fingerprint, FlakyKind, Incident, Notice, Novelty, OpenQuestion, Outcome, Phase, Probability,
    Proof, Refusal, Reproduction, Run, RunId, RunReport, Tally, TestFailure, TestId, Timestamp, Touch,
    TouchedFile, Variant,
};

pub(crate) const BASE: &str = "4be1c2d3a5f60718293a4b5c6d7e8f9001122334";

pub(crate) const QUESTIONS: [OpenQuestion; 7] = [
    OpenQuestion::TooManyFailures,
    OpenQuestion::BaseUnknown,
    OpenQuestion::PassesAtBase,
    OpenQuestion::ChangeUnknown,
    OpenQuestion::DependenciesUnknown,
    OpenQuestion::NotExecuted,
    OpenQuestion::NotEnoughRuns,
];

fn run() -> Arc<Run> {
    Arc::new(Run {
        id: RunId::new("github-81-1"),
        commit: Some("9f8e7d6c5b4a39281706f5e4d3c2b1a098765432".into()),
        dirty: false,
        branch: Some("feature".into()),
        variant: Variant::default(),
        provider: Some("github".into()),
        url: None,
        started: Timestamp::from_timestamp(1_794_708_021, 0).expect("in range"),
        roots: None,
        packages: None,
    })
}

/// A run in which all is well.
pub(crate) fn green() -> RunReport {
    RunReport {
        run: run(),
        command: ["pytest", "-q", "tests"].map(str::to_owned).to_vec(),
        seed: 18_446_744_073_709_551_557,
        hash_seed: Some(17),
        counts: Counts { selected: 420, passed: 418, failed: 0, skipped: 2 },
        lost: Vec::new(),
        uncollected: Vec::new(),
        failures: Vec::new(),
        incidents: Vec::new(),
        change: Some(ChangeSummary {
            base: BASE.into(),
            found: "merge base with origin/main".into(),
            files: 3,
            uncommitted: false,
        }),
        review: None,
        notices: Vec::new(),
        exit: BuildExit { runner: Some(0), code: 0, reason: ExitReason::Runner },
        reruns: 0,
        suite_time: Duration::from_millis(41_230),
        triage_time: Duration::ZERO,
    }
}

fn failed(kind: &str, message: &str) -> Failure {
    let fingerprint = Some(Fingerprint::from_text("0123456789abcdef"));
    Failure { kind: Some(kind.into()), message: message.into(), fingerprint }
}

/// A verdict whose probabilities follow from one of them, and what else follows from
/// the reasons.
fn verdict(blame: Blame, flaky: f64, proofs: Vec<Proof>) -> FailureVerdict {
    let regression = match blame {
        Blame::Regression => 0.9,
        Blame::Undecided(_) => 0.5,
        _ => 0.05,
    } * (1.0 - flaky);
    let has = |is_one: fn(&Proof) -> bool| proofs.iter().any(is_one);
    let novelty = if has(|proof| matches!(proof, Proof::SeenWithoutChange { .. })) {
        Novelty::Known
    } else if has(|proof| matches!(proof, Proof::UntouchedByChange { .. } | Proof::NothingChanged { .. })) {
        Novelty::Unrelated
    } else if has(|proof| matches!(proof, Proof::TouchesChange { .. })) {
        Novelty::New
    } else {
        Novelty::Unknown
    };
    let is_named = matches!(blame, Blame::Flaky(kind) if kind != FlakyKind::Undecided);
    FailureVerdict {
        novelty,
        flaky: Probability::clamped(flaky),
        regression: Probability::clamped(regression),
        environment: Probability::clamped(1.0 - flaky - regression),
        kind: is_named.then(|| Probability::clamped(0.982)),
        blame,
        proofs,
    }
}

/// Failures one by one, and how their tests ran.
pub(crate) struct Builder {
    report: RunReport,
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self { report: green() }
    }

    /// A failure with an incident of its own.
    pub(crate) fn failure(
        self,
        name: &str,
        (kind, message): (&str, &str),
        blame: Blame,
        flaky: f64,
        proofs: Vec<Proof>,
        rungs: &[(Phase, Outcome)],
    ) -> Self {
        let failures = Vec::new();
        let mut this = self;
        this.report.incidents.push(Incident { kind: Some(kind.into()), message: message.into(), failures });
        this.member(name, (kind, message), blame, flaky, proofs, rungs)
    }

    /// A failure of the latest incident.
    pub(crate) fn member(
        mut self,
        name: &str,
        (kind, message): (&str, &str),
        blame: Blame,
        flaky: f64,
        proofs: Vec<Proof>,
        rungs: &[(Phase, Outcome)],
    ) -> Self {
        let report = &mut self.report;
        let (module, function) = name.split_once("::").unwrap_or(("", name));
        let test = TestId::builder("pytest", module).finish(function, None);
        let attempts = (1..).zip(rungs).map(|(number, (phase, outcome))| Attempt {
            test: test.clone(),
            run: Arc::clone(&report.run),
            phase: *phase,
            number,
            outcome: *outcome,
            duration: Some(Duration::from_millis(12)),
            started: None,
            worker: (*phase == Phase::First).then(|| "gw0".into()),
            position: None,
            failure: outcome.is_failure().then(|| Box::new(failed(kind, message))),
        });
        let attempts: Vec<_> = attempts.collect();
        let incident = report.incidents.len() - 1;
        report.incidents[incident].failures.push(report.failures.len());
        report.counts.selected += 1;
        report.counts.failed += 1;
        report.reruns += attempts.len() as u64 - 1;
        report.triage_time += Duration::from_millis(120 * attempts.len() as u64);
        report.exit = BuildExit { runner: Some(1), code: 1, reason: ExitReason::Runner };
        report.failures.push(TestFailure {
            id: FindingId::of(&test),
            reproduce: Reproduction {
                command: format!("flakewise reproduce {}", FindingId::of(&test)),
                tried: (blame == Blame::Regression).then_some(Tally { passed: 0, failed: 1 }),
            },
            test,
            name: name.to_owned(),
            place: (!module.is_empty()).then(|| (module.to_owned(), 17)),
            verdict: verdict(blame, flaky, proofs),
            attempts,
            costs: Vec::new(),
            incident,
            refusal: None,
            quarantine: None,
        });
        self
    }

    /// The latest failure is not tolerated.
    pub(crate) fn refused(mut self, refusal: Refusal) -> Self {
        self.report.failures.last_mut().expect("there is one").refusal = Some(refusal);
        self
    }

    pub(crate) fn build(self) -> RunReport {
        self.report
    }
}

const ALWAYS: [(Phase, Outcome); 5] = [
    (Phase::First, Outcome::Failed),
    (Phase::Rerun, Outcome::Failed),
    (Phase::Postpone, Outcome::Failed),
    (Phase::Fork, Outcome::Failed),
    (Phase::Fresh, Outcome::Failed),
];
const ONCE: [(Phase, Outcome); 1] = [(Phase::First, Outcome::Failed)];

fn always() -> Proof {
    Proof::AlwaysFailed { attempts: 5, processes: 3 }
}

fn passed(phase: Phase, failures_before: u32) -> Proof {
    Proof::PassedAgain { phase, failures_before }
}

/// A red build as there are many.
pub(crate) fn usual() -> RunReport {
    let files = vec![
        TouchedFile { path: "src/cart.py".into(), touch: Touch::Executed(vec![12, 13, 14, 40]) },
        TouchedFile { path: "src/tax.py".into(), touch: Touch::Loaded },
    ];
    let mut report = Builder::new()
        .failure(
            "tests/test_cart.py::test_total",
            ("AssertionError", "assert 41 == 42"),
            Blame::Regression,
            0.002,
            vec![
                always(),
                Proof::TouchesChange { files, changed: 3 },
                Proof::AtBase { commit: BASE.into(), passed: 2, failed: 0, source: BaseSource::Run },
            ],
            &[&ALWAYS[..], &[(Phase::Base, Outcome::Passed), (Phase::Base, Outcome::Passed)]].concat(),
        )
        .failure(
            "tests/test_login.py::test_time_zone",
            ("AssertionError", "assert 'UTC' == 'Europe/Berlin'\n  - Europe/Berlin\n  + UTC"),
            Blame::Flaky(FlakyKind::StateDependent),
            1.0,
            vec![passed(Phase::Fork, 3)],
            &[&ALWAYS[..3], &[(Phase::Fork, Outcome::Passed); 6], &ALWAYS[2..3]].concat(),
        )
        .failure(
            "tests/test_api.py::test_timeout[3-4]",
            ("ReadTimeout", "timed out after 1s"),
            Blame::Flaky(FlakyKind::Transient),
            1.0,
            vec![passed(Phase::Rerun, 1), Proof::KnownFlaky { failures: 12, revisions: 5 }],
            &[(Phase::First, Outcome::TimedOut), (Phase::Rerun, Outcome::Passed)],
        )
        .build();
    report.notices = vec![
        Notice { text: "the suite ran with `PYTHONHASHSEED=17`".into(), warning: false },
        Notice {
            text: "the history is out of reach, so it is not known what failed before".into(),
            warning: true,
        },
    ];
    report
}

/// A changed file, and how a test depends on it.
fn touch(path: &str, touch: Touch) -> TouchedFile {
    TouchedFile { path: path.into(), touch }
}

/// Every verdict on tests that always fail, and every reason for them.
pub(crate) fn rich() -> RunReport {
    let refused = ("ConnectionError", "connection to db:5432 refused");
    let shared = |representative: Option<&str>| {
        vec![always(), Proof::SharedFailure { tests: 7, representative: representative.map(str::to_owned) }]
    };
    let files = vec![
        touch("src/a.py", Touch::Executed(vec![4])),
        touch("src/b.py", Touch::Loaded),
        touch("data/c.csv", Touch::Opened),
        touch("src/d.py", Touch::LookedFor),
    ];
    let failed = ("AssertionError", "assert False");
    let mut builder = Builder::new()
        .failure(
            "tests/test_a.py::test_regression",
            failed,
            Blame::Regression,
            0.0004,
            vec![always(), Proof::TouchesChange { files, changed: 9 }],
            &ALWAYS,
        )
        .failure(
            "tests/test_db.py::test_0",
            refused,
            Blame::Infrastructure,
            0.3,
            shared(Some("tests/test_db.py::test_3")),
            &ONCE,
        );
    for place in 1..7 {
        let name = format!("tests/test_db.py::test_{place}");
        let (proofs, rungs) = match place {
            3 => (shared(None), &ALWAYS[..]),
            _ => (shared(Some("tests/test_db.py::test_3")), &ONCE[..]),
        };
        builder = builder.member(
            &name,
            refused,
            Blame::Infrastructure,
            0.3 + f64::from(place) / 100.0,
            proofs,
            rungs,
        );
    }
    for question in QUESTIONS {
        let proofs = match question {
            OpenQuestion::TooManyFailures => vec![Proof::TooManyFailures { failed: 112, ran: 530 }],
            OpenQuestion::BaseUnknown => {
                let keys = vec!["project.version".to_owned()];
                let files = vec![touch("pyproject.toml", Touch::Configured(keys))];
                vec![always(), Proof::TouchesChange { files, changed: 1 }]
            }
            OpenQuestion::PassesAtBase => vec![
                always(),
                Proof::AtBase { commit: BASE.into(), passed: 2, failed: 0, source: BaseSource::Run },
                Proof::UntouchedByChange { changed: 3, dependencies: 41 },
            ],
            OpenQuestion::ChangeUnknown => vec![always()],
            OpenQuestion::DependenciesUnknown => {
                vec![
                    always(),
                    Proof::DependenciesUnknown { reason: "it starts `node`, which is not watched".into() },
                ]
            }
            OpenQuestion::NotExecuted => {
                let files = vec![touch("src/b.py", Touch::Loaded)];
                vec![always(), Proof::TouchesChange { files, changed: 9 }]
            }
            OpenQuestion::NotEnoughRuns => vec![Proof::AlwaysFailed { attempts: 2, processes: 1 }],
        };
        let (rungs, often) = match question {
            OpenQuestion::TooManyFailures => (&ONCE[..], 2),
            OpenQuestion::NotEnoughRuns => (&ALWAYS[..2], 1),
            _ => (&ALWAYS[..], 1),
        };
        for place in 0..often {
            let name = format!("tests/test_open.py::test_{}_{place}", question.name().replace('-', "_"));
            let error = format!("KeyError: 'x{place}'");
            builder = builder.failure(
                &name,
                ("KeyError", &error),
                Blame::Undecided(question),
                0.4,
                proofs.clone(),
                rungs,
            );
        }
    }
    let at_base = |passed, failed, source| Proof::AtBase { commit: BASE.into(), passed, failed, source };
    let mut report = builder
        .failure(
            "tests/test_b.py::test_broken_before",
            failed,
            Blame::BrokenBefore,
            0.01,
            vec![at_base(0, 3, BaseSource::History), always()],
            &ALWAYS,
        )
        .failure(
            "tests/test_b.py::test_nothing_changed",
            failed,
            Blame::BrokenBefore,
            0.05,
            vec![Proof::NothingChanged { commit: BASE.into() }],
            &ONCE,
        )
        .failure(
            "tests/test_b.py::test_fails_otherwise_before",
            failed,
            Blame::Regression,
            0.01,
            vec![
                always(),
                Proof::OtherFailureAtBase { commit: BASE.into(), kind: Some("ImportError".into()) },
                Proof::TouchesChange { files: vec![touch("src/a.py", Touch::Executed(vec![4]))], changed: 1 },
            ],
            &ALWAYS,
        )
        .refused(Refusal::NeverPassed)
        .failure(
            "tests/test_e.py::test_environment",
            failed,
            Blame::Environment,
            0.1,
            vec![always(), Proof::UntouchedByChange { changed: 1, dependencies: 41 }],
            &ALWAYS,
        )
        .failure(
            "tests/test_e.py::test_environment_that_changed",
            failed,
            Blame::Environment,
            0.06,
            vec![
                always(),
                Proof::UntouchedByChange { changed: 1, dependencies: 41 },
                Proof::InstalledDiffers {
                    packages: [
                        "anyio 4.2.0 → 4.9.0",
                        "httpcore 1.0.2 → 1.0.9",
                        "idna 3.6 → 3.10",
                        "sniffio 1.3.0 → 1.3.1",
                    ]
                    .map(str::to_owned)
                    .to_vec(),
                },
            ],
            &ALWAYS,
        )
        .build();
    report.lost = (0..7).map(|place| format!("tests/test_lost.py::test_{place}")).collect();
    report.exit = BuildExit { runner: Some(0), code: 1, reason: ExitReason::Lost };
    report
}

/// Every kind of flake, every reason for it, and every reason not to tolerate it.
pub(crate) fn flakes() -> RunReport {
    let failed = ("AssertionError", "assert False");
    let flaky = Blame::Flaky;
    let mut report = Builder::new()
        .failure(
            "tests/test_n.py::test_new_flake",
            failed,
            flaky(FlakyKind::Transient),
            1.0,
            vec![
                passed(Phase::Rerun, 1),
                Proof::TouchesChange {
                    files: vec![touch("shop/cart.py", Touch::Executed(vec![12]))],
                    changed: 1,
                },
            ],
            &[&ALWAYS[..1], &[(Phase::Rerun, Outcome::Passed)], &[(Phase::Fork, Outcome::Passed); 7]]
                .concat(),
        )
        .refused(Refusal::NewFlake)
        .failure(
            "tests/test_n.py::test_new_flake_of_a_large_change",
            failed,
            flaky(FlakyKind::Undecided),
            1.0,
            vec![
                passed(Phase::Fork, 3),
                Proof::TouchesChange {
                    files: vec![
                        touch("shop/cart.py", Touch::Executed(vec![12, 13, 14])),
                        touch("shop/tax.py", Touch::Executed(vec![3])),
                        touch("shop/shop.py", Touch::Loaded),
                    ],
                    changed: 9,
                },
            ],
            &[&ALWAYS[..3], &[(Phase::Fork, Outcome::Passed)]].concat(),
        )
        .refused(Refusal::NewFlake)
        .failure(
            "tests/test_k.py::test_known",
            failed,
            flaky(FlakyKind::Transient),
            1.0,
            vec![
                passed(Phase::Rerun, 1),
                Proof::SeenWithoutChange { failures: 4, commits: 3 },
                Proof::AtBase { commit: BASE.into(), passed: 3, failed: 1, source: BaseSource::Run },
            ],
            &[&ALWAYS[..1], &[(Phase::Rerun, Outcome::Passed)], &[(Phase::Fork, Outcome::Passed); 7]]
                .concat(),
        )
        .failure(
            "tests/test_k.py::test_known_in_another_way",
            failed,
            flaky(FlakyKind::Transient),
            1.0,
            vec![passed(Phase::Postpone, 2), Proof::SeenWithoutChange { failures: 1, commits: 1 }],
            &[&ALWAYS[..2], &[(Phase::Postpone, Outcome::Passed); 7]].concat(),
        )
        .refused(Refusal::AnotherFailure)
        .failure(
            "tests/test_k.py::test_more_often",
            failed,
            flaky(FlakyKind::Transient),
            1.0,
            vec![
                passed(Phase::Fork, 4),
                Proof::SeenWithoutChange { failures: 1, commits: 1 },
                Proof::MoreOften { here: (18, 20), before: (1, 100) },
            ],
            &[&ALWAYS[..3], &[(Phase::Fork, Outcome::Passed); 2], &[(Phase::Fork, Outcome::Failed); 15]]
                .concat(),
        )
        .refused(Refusal::MoreOften)
        .failure(
            "tests/test_k.py::test_crash",
            ("", "the process was killed by SIGSEGV while the test ran"),
            flaky(FlakyKind::Undecided),
            1.0,
            vec![passed(Phase::Fork, 1), Proof::UntouchedByChange { changed: 1, dependencies: 41 }],
            &[(Phase::First, Outcome::Crashed), (Phase::Fork, Outcome::Passed)],
        )
        .refused(Refusal::UnknownCrash)
        .failure(
            "tests/test_k.py::test_unknown",
            failed,
            flaky(FlakyKind::Undecided),
            1.0,
            vec![
                passed(Phase::Fork, 3),
                Proof::DependenciesUnknown { reason: "it starts `node`, which is not watched".into() },
            ],
            &[&ALWAYS[..3], &[(Phase::Fork, Outcome::Passed)]].concat(),
        )
        .refused(Refusal::MayTouchChange)
        .failure(
            "tests/test_k.py::test_unrelated",
            failed,
            flaky(FlakyKind::Transient),
            1.0,
            vec![
                passed(Phase::Rerun, 1),
                Proof::UntouchedByChange { changed: 1, dependencies: 41 },
                Proof::KnownFlaky { failures: 1, revisions: 1 },
            ],
            &[&ALWAYS[..1], &[(Phase::Rerun, Outcome::Passed)], &[(Phase::Fork, Outcome::Passed); 7]]
                .concat(),
        )
        .refused(Refusal::NotKnown)
        .failure(
            "tests/test_f.py::test_hash_seed",
            failed,
            flaky(FlakyKind::HashSeed),
            1.0,
            vec![Proof::HashSeed { failing: 17, passing: 23 }, passed(Phase::Fresh, 5)],
            &[&ALWAYS[..], &[(Phase::Fresh, Outcome::Passed)]].concat(),
        )
        .failure(
            "tests/test_f.py::test_process",
            failed,
            flaky(FlakyKind::ProcessDependent),
            1.0,
            vec![passed(Phase::Fresh, 4)],
            &[&ALWAYS[..4], &[(Phase::Fresh, Outcome::Passed)]].concat(),
        )
        .failure(
            "tests/test_f.py::test_state",
            failed,
            flaky(FlakyKind::StateDependent),
            1.0,
            vec![passed(Phase::Fork, 3), Proof::EveryWholeRun { runs: 1 }],
            &[
                (Phase::First, Outcome::Crashed),
                (Phase::Postpone, Outcome::Errored),
                (Phase::Fork, Outcome::Passed),
            ],
        )
        .refused(Refusal::EveryWholeRun)
        .failure(
            "tests/test_f.py::test_state_for_a_long_time",
            failed,
            flaky(FlakyKind::StateDependent),
            1.0,
            vec![
                passed(Phase::Fork, 3),
                Proof::SeenWithoutChange { failures: 6, commits: 6 },
                Proof::EveryWholeRun { runs: 7 },
            ],
            &[&ALWAYS[..3], &[(Phase::Fork, Outcome::Passed); 6], &ALWAYS[2..3]].concat(),
        )
        .refused(Refusal::EveryWholeRun)
        .failure(
            "tests/test_f.py::test_bursty",
            failed,
            flaky(FlakyKind::Bursty),
            1.0,
            vec![passed(Phase::Postpone, 2)],
            &[&ALWAYS[..2], &[(Phase::Postpone, Outcome::Passed)]].concat(),
        )
        .failure(
            "tests/test_f.py::test_transient",
            failed,
            flaky(FlakyKind::Transient),
            1.0,
            vec![passed(Phase::Retry, 1)],
            &[(Phase::First, Outcome::Failed), (Phase::Retry, Outcome::Passed)],
        )
        .build();
    report.exit.reason = ExitReason::NotTolerated;
    report
}

/// Names and messages that try to be something else.
pub(crate) fn hostile() -> RunReport {
    let attack = "x\r\n::error file=a::b\n::set-output name=a::b%0A::add-mask::c|d\\|e`f</code></details><script>g</script>\u{1b}[2J\u{202e}@all #1,h:i";
    let mut report = Builder::new()
        .failure(
            &format!("tests/t.py::test[{attack}]"),
            ("::error", attack),
            Blame::Flaky(FlakyKind::Transient),
            1.0,
            vec![
                Proof::DependenciesUnknown { reason: attack.into() },
                Proof::SharedFailure { tests: 2, representative: Some(attack.into()) },
                Proof::AtBase { commit: attack.into(), passed: 1, failed: 0, source: BaseSource::Run },
            ],
            &ALWAYS,
        )
        .failure(
            attack,
            ("", attack),
            Blame::Regression,
            0.0,
            vec![Proof::NothingChanged { commit: attack.into() }],
            &ONCE,
        )
        .build();
    for failure in &mut report.failures {
        failure.place = Some((attack.into(), 0));
        failure.reproduce.command = attack.into();
    }
    report.lost = vec![attack.into()];
    report.notices =
        vec![Notice { text: attack.into(), warning: true }, Notice { text: attack.into(), warning: false }];
    report.change =
        Some(ChangeSummary { base: attack.into(), found: attack.into(), files: 1, uncommitted: true });
    report
}

/// So many failures that no form can hold them, each as long as can be.
pub(crate) fn huge() -> RunReport {
    let long = "|é`".repeat(150);
    let mut builder = Builder::new();
    for place in 0..1_500 {
        builder = builder.failure(
            &format!("tests/t.py::test_{place}[{long}]"),
            ("Error", &long),
            Blame::Undecided(OpenQuestion::NotEnoughRuns),
            0.5,
            vec![Proof::DependenciesUnknown { reason: long.clone() }],
            &ONCE,
        );
    }
    let mut report = builder.build();
    for failure in &mut report.failures {
        failure.reproduce.command.push_str(&long);
    }
    report.lost = vec![long.clone(); 1_000];
    report.notices = vec![Notice { text: long, warning: true }; 1_000];
    report
}

/// A run as a JSON document.
pub(crate) fn run_json(report: &RunReport) -> String {
    let mut text = Vec::new();
    flakewise_report::run_json(report, &mut text).expect("memory is written to");
    String::from_utf8(text).expect("JSON is UTF-8")
}
