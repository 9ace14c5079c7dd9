//! Which failures may be tolerated, and how the build ends. Pure.
//!
//! A build turns green by mistake only here, so every reason to refuse is a rule of
//! its own, and what is not known counts as a reason.

use flakewise_model::{
    Blame, BuildExit, ExitReason, FailureVerdict, Novelty, OpenQuestion, Outcome, QuarantineStatus,
    Quarantined, Refusal, TestFailure,
};
use flakewise_runner::SuiteRun;

use crate::judge::Facts;

/// What pytest says if tests failed.
const TESTS_FAILED: u8 = 1;

/// Which failures leave the build green.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tolerance {
    /// None.
    #[default]
    Nothing,
    /// Flakes whose failure was seen without the change.
    Known,
    /// These, and flakes that depend on nothing that changed.
    Flaky,
}

/// Why a failure is not tolerated; none if it is.
pub(crate) fn refusal(policy: Tolerance, facts: &Facts<'_>, verdict: &FailureVerdict) -> Option<Refusal> {
    let known = verdict.novelty == Novelty::Known;
    let dies = |outcome: Outcome| matches!(outcome, Outcome::Crashed | Outcome::TimedOut);
    let several_ways = facts.fails_in_several_ways();
    if !matches!(verdict.blame, Blame::Flaky(_)) {
        Some(Refusal::NeverPassed)
    } else if verdict.is_new_flake() {
        Some(Refusal::NewFlake)
    } else if facts.executions.iter().any(|execution| dies(execution.outcome)) && (!known || several_ways) {
        Some(Refusal::UnknownCrash)
    } else if facts.fails_in_every_whole_run() {
        Some(Refusal::EveryWholeRun)
    } else if facts.fails_more_often().is_some() {
        Some(Refusal::MoreOften)
    } else if known && several_ways && !(policy == Tolerance::Flaky && facts.is_unrelated()) {
        Some(Refusal::AnotherFailure)
    } else {
        match (policy, verdict.novelty) {
            (Tolerance::Known | Tolerance::Flaky, Novelty::Known)
            | (Tolerance::Flaky, Novelty::Unrelated) => None,
            (Tolerance::Flaky, _) => Some(Refusal::MayTouchChange),
            _ => Some(Refusal::NotKnown),
        }
    }
}

/// What the quarantine says once the failure is judged. An entry that covers any failure
/// lists none, so what is known to be a regression, and what nothing is known of, stays red.
pub(crate) fn quarantined(said: Quarantined, any: bool, verdict: &FailureVerdict) -> Quarantined {
    let status = match verdict.blame {
        _ if !any || !said.is_forgiven() => said.status,
        Blame::Regression => QuarantineStatus::Regression,
        Blame::Undecided(OpenQuestion::TooManyFailures) => QuarantineStatus::TooManyFailures,
        _ => said.status,
    };
    Quarantined { status, ..said }
}

/// What the end of a build depends on besides its failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ending<'a> {
    pub(crate) suite: &'a SuiteRun,
    /// Whether every test was found and gave a result.
    pub(crate) complete: bool,
    pub(crate) policy: Tolerance,
    /// Whether a pytest that died had plug-ins whose objections are now unknown.
    pub(crate) unheard: bool,
}

/// How the build ends: as the command ended. Every pytest has corrected its own exit
/// code; only where the command was pytest itself and died is it corrected here. A
/// run that lost tests is never green.
pub(crate) fn exit(ending: &Ending<'_>, failures: &[TestFailure]) -> BuildExit {
    let Ending { suite, complete, policy, unheard } = *ending;
    let runner = suite.exit_code;
    let code = runner.and_then(|code| u8::try_from(code).ok()).unwrap_or(TESTS_FAILED);
    if !complete {
        return BuildExit { runner, code: code.max(TESTS_FAILED), reason: ExitReason::Lost };
    }
    let tolerated = |failure: &TestFailure| {
        failure.is_quarantined() || (policy != Tolerance::Nothing && failure.refusal.is_none())
    };
    let all_tolerated = !failures.is_empty() && failures.iter().all(tolerated);
    if code == 0 {
        if failures.iter().any(|failure| failure.passed_in_suite() && !tolerated(failure)) {
            return BuildExit { runner, code: TESTS_FAILED, reason: ExitReason::FoundFlaky };
        }
        // A process that a test ended may well have said that all is well.
        let unseen = failures.iter().any(|failure| is_unseen(failure) && !tolerated(failure));
        if unseen {
            return BuildExit { runner, code: TESTS_FAILED, reason: ExitReason::Runner };
        }
        let forgiven = suite.sessions.iter().any(|session| session.forgiven);
        let reason = if forgiven && all_tolerated { ExitReason::Tolerated } else { ExitReason::Runner };
        return BuildExit { runner, code, reason };
    }
    // A pytest that died is accounted for only if a test took it along.
    let died = suite.sessions.iter().any(|session| session.died) && failures.iter().any(took_pytest_along);
    if died && suite.direct && all_tolerated && !suite.broken && !unheard {
        return BuildExit { runner, code: 0, reason: ExitReason::Tolerated };
    }
    let quarantined = failures.iter().any(|failure| failure.quarantine.is_some());
    let refused = quarantined || (policy != Tolerance::Nothing && !failures.is_empty());
    let reason = if refused && !all_tolerated { ExitReason::NotTolerated } else { ExitReason::Runner };
    BuildExit { runner, code, reason }
}

/// Whether the runner cannot know of a failure: its process ended in the midst
/// of the test, or before it.
fn is_unseen(failure: &TestFailure) -> bool {
    failure.first().is_none_or(|first| {
        matches!(first.outcome, Outcome::Crashed | Outcome::TimedOut)
            || first.worker.as_deref() != Some("main")
    })
}

/// Whether a failure ended the process of pytest itself.
fn took_pytest_along(failure: &TestFailure) -> bool {
    failure.attempts.iter().any(|attempt| {
        matches!(attempt.outcome, Outcome::Crashed | Outcome::TimedOut)
            && attempt.worker.as_deref() == Some("main")
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use flakewise_model::{
        Attempt, FindingId, FlakyKind, Phase, Probability, Run, RunId, SeenOn, TestId, Timestamp, Touch,
        Variant,
    };
    use flakewise_runner::SessionEnd;
    use proptest::prelude::*;

    use super::*;
    use crate::judge::BaseFacts;
    use crate::testing::{Case, case, execution, of_kind, seen_on, touches, unknown};
    use crate::{Meeting, Past};

    fn refused(policy: Tolerance, case: &Case) -> Option<Refusal> {
        let verdict = case.judge();
        case.with(|facts| refusal(policy, facts, &verdict))
    }

    fn past(seen: Vec<SeenOn>) -> Past {
        Past { seen, ..Past::default() }
    }

    /// The same failure once in ten whole runs on another commit.
    fn seen() -> Past {
        past(vec![seen_on("c1", 1, 9, 1)])
    }

    fn executed() -> Meeting {
        touches(Touch::Executed(vec![3]))
    }

    #[test]
    fn the_table_of_refusals() {
        use Outcome::{Crashed, Failed, Passed, TimedOut};
        use Phase::{First, Fork, Fresh, Postpone, Rerun};
        use Refusal::{
            AnotherFailure, EveryWholeRun, MayTouchChange, MoreOften, NeverPassed, NewFlake, NotKnown,
            UnknownCrash,
        };
        let flaky = Case::flaky_transient();
        let leaking = || Case::new(&[(First, Failed), (Rerun, Failed), (Postpone, Failed), (Fork, Passed)]);
        let dying = |outcome| Case::new(&[(First, outcome), (Fork, Passed), (Fork, Passed), (Fresh, Passed)]);
        let often = (0..20).fold(flaky.clone(), |case, _| case.and(Fork, Failed));
        let in_two_ways = Case {
            executions: vec![
                execution(0, First, Failed),
                of_kind("KeyError", execution(0, Rerun, Failed)),
                execution(0, Postpone, Passed),
                execution(0, Postpone, Passed),
                execution(0, Postpone, Passed),
                execution(0, Fork, Passed),
                execution(0, Fork, Passed),
            ],
            ..flaky.clone()
        };
        let crashed_again = vec![
            execution(0, First, Failed),
            of_kind("Crash", execution(0, Rerun, Crashed)),
            execution(0, Fork, Passed),
        ];
        // What happened, and why it is refused under `known` and under `flaky`.
        let table = [
            ("known", Case { past: Some(seen()), ..flaky.clone() }, None, None),
            (
                "known, executes the change",
                Case { past: Some(seen()), meeting: Some(executed()), ..flaky.clone() },
                None,
                None,
            ),
            (
                "known from the base",
                Case { base: BaseFacts::ran(3, 1), meeting: Some(executed()), ..flaky.clone() },
                None,
                None,
            ),
            ("unrelated", flaky.clone(), Some(NotKnown), None),
            (
                "nothing changed",
                Case { changed: Some(0), meeting: None, ..flaky.clone() },
                Some(NotKnown),
                None,
            ),
            ("new", Case { meeting: Some(executed()), ..flaky.clone() }, Some(NewFlake), Some(NewFlake)),
            (
                "new, and passed at the base",
                Case { base: BaseFacts::ran(6, 0), meeting: Some(executed()), ..flaky.clone() },
                Some(NewFlake),
                Some(NewFlake),
            ),
            (
                "dependencies unknown",
                Case { meeting: Some(unknown()), ..flaky.clone() },
                Some(NotKnown),
                Some(MayTouchChange),
            ),
            (
                "only loads the change",
                Case { meeting: Some(touches(Touch::Loaded)), ..flaky.clone() },
                Some(NotKnown),
                Some(MayTouchChange),
            ),
            (
                "outside version control",
                Case { changed: None, meeting: None, ..flaky.clone() },
                Some(NotKnown),
                Some(MayTouchChange),
            ),
            ("never passed", Case::failed_throughout(), Some(NeverPassed), Some(NeverPassed)),
            (
                "never passed, known",
                Case { past: Some(seen()), ..Case::failed_throughout() },
                Some(NeverPassed),
                Some(NeverPassed),
            ),
            (
                "broken before",
                Case { base: BaseFacts::ran(0, 2), ..Case::failed_throughout() },
                Some(NeverPassed),
                Some(NeverPassed),
            ),
            ("crashed", dying(Crashed), Some(UnknownCrash), Some(UnknownCrash)),
            ("timed out", dying(TimedOut), Some(UnknownCrash), Some(UnknownCrash)),
            ("crashed, known", Case { past: Some(seen()), ..dying(Crashed) }, None, None),
            (
                "known, crashed when run again",
                Case { past: Some(seen()), executions: crashed_again, ..flaky.clone() },
                Some(UnknownCrash),
                Some(UnknownCrash),
            ),
            ("passes alone only", leaking(), Some(EveryWholeRun), Some(EveryWholeRun)),
            (
                "passes alone only, and passed before",
                Case { past: Some(past(vec![seen_on("c1", 0, 40, 0)])), ..leaking() },
                Some(EveryWholeRun),
                Some(EveryWholeRun),
            ),
            (
                "passes alone only, as on every commit before",
                Case { past: Some(past(vec![seen_on("c1", 3, 0, 3)])), ..leaking() },
                Some(EveryWholeRun),
                Some(EveryWholeRun),
            ),
            (
                "passes alone only, and sometimes passed before",
                Case { past: Some(seen()), ..leaking() },
                None,
                None,
            ),
            (
                "fails alone too, and passed before",
                Case {
                    past: Some(past(vec![seen_on("c1", 0, 3, 0)])),
                    ..Case::new(&[(First, Failed), (Rerun, Failed), (Fork, Failed), (Fork, Passed)])
                        .and(Fork, Failed)
                        .and(Fresh, Failed)
                        .and(Fork, Passed)
                },
                Some(NotKnown),
                None,
            ),
            (
                "at random, and by chance three times in the suite's process",
                (0..9).fold(leaking().and(Fork, Failed), |case, place| {
                    let phase = if place % 3 == 0 { Fresh } else { Fork };
                    case.and(phase, if place % 2 == 0 { Passed } else { Failed })
                }),
                Some(NotKnown),
                None,
            ),
            (
                "more often than before",
                Case { past: Some(past(vec![seen_on("c1", 1, 99, 1)])), ..often.clone() },
                Some(MoreOften),
                Some(MoreOften),
            ),
            (
                "more often than at the base",
                Case { base: BaseFacts::ran(30, 1), meeting: Some(executed()), ..often },
                Some(MoreOften),
                Some(MoreOften),
            ),
            (
                "in another way too",
                Case { past: Some(seen()), meeting: Some(executed()), ..in_two_ways.clone() },
                Some(AnotherFailure),
                Some(AnotherFailure),
            ),
            (
                "in another way too, unrelated",
                Case { past: Some(seen()), ..in_two_ways },
                Some(AnotherFailure),
                None,
            ),
            (
                "fails among other tests only",
                Case::flaky_state_dependent(),
                Some(NotKnown),
                Some(MayTouchChange),
            ),
        ];
        let mut all: Vec<Refusal> = Vec::new();
        for (what, case, known, flaky) in table {
            assert_eq!(refused(Tolerance::Known, &case), known, "{what}, under `known`");
            assert_eq!(refused(Tolerance::Flaky, &case), flaky, "{what}, under `flaky`");
            all.extend(known.into_iter().chain(flaky));
        }
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 8, "every reason is in the table: {all:?}");
    }

    /// One rule per line: the first line whose conditions hold is the answer.
    fn refusal_by_rules(policy: Tolerance, case: &Case) -> Option<Refusal> {
        let verdict = case.judge();
        let known = verdict.novelty == Novelty::Known;
        let is_flaky_policy = policy == Tolerance::Flaky;
        let unrelated = Case { base: None, past: None, ..case.clone() }.judge().novelty == Novelty::Unrelated;
        let (_, first_passed, first_failed) = case.seen_before();
        let ended = |phases: &[Phase], failed: bool| {
            let is_one = |one: &&flakewise_runner::Execution| phases.contains(&one.phase);
            case.executions
                .iter()
                .filter(is_one)
                .any(|one| if failed { one.outcome.is_failure() } else { one.outcome == Outcome::Passed })
        };
        let passes_in_suite = ended(&[Phase::First, Phase::Rerun, Phase::Postpone], false);
        let fails_alone = ended(&[Phase::Fork, Phase::Fresh], true);
        let dies =
            case.executions.iter().any(|one| matches!(one.outcome, Outcome::Crashed | Outcome::TimedOut));
        let failures: Vec<_> = case.executions.iter().filter_map(|one| one.failure.as_ref()).collect();
        let another = failures.iter().any(|failure| failure.fingerprint != failures[0].fingerprint);
        let transient = verdict.blame == Blame::Flaky(FlakyKind::Transient);
        let more_often = case.with(|facts| facts.fails_more_often().is_some());
        let rules = [
            (!case.has_passed(), Some(Refusal::NeverPassed)),
            (verdict.novelty == Novelty::New, Some(Refusal::NewFlake)),
            (dies && !known, Some(Refusal::UnknownCrash)),
            (dies && another, Some(Refusal::UnknownCrash)),
            (first_failed > 0 && first_passed == 0, Some(Refusal::EveryWholeRun)),
            (first_failed == 0 && !passes_in_suite && !fails_alone, Some(Refusal::EveryWholeRun)),
            (
                first_failed + first_passed == 0 && !passes_in_suite && !transient,
                Some(Refusal::EveryWholeRun),
            ),
            (more_often, Some(Refusal::MoreOften)),
            (is_flaky_policy && unrelated, None),
            (known && another, Some(Refusal::AnotherFailure)),
            (known, None),
            (is_flaky_policy, Some(Refusal::MayTouchChange)),
            (true, Some(Refusal::NotKnown)),
        ];
        rules.into_iter().find(|(holds, _)| *holds).map(|(_, refusal)| refusal).expect("the last rule holds")
    }

    fn policy() -> impl Strategy<Value = Tolerance> {
        proptest::sample::select(vec![Tolerance::Known, Tolerance::Flaky])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn refusals_follow_the_rules(case in case(), policy in policy()) {
            prop_assert_eq!(refused(policy, &case), refusal_by_rules(policy, &case));
        }

        #[test]
        fn what_is_tolerated_passed_and_is_known_or_unrelated(case in case(), policy in policy()) {
            if refused(policy, &case).is_none() {
                let verdict = case.judge();
                prop_assert!(case.has_passed() && verdict.blame.is_proved_flaky());
                prop_assert!(!verdict.is_new_flake());
                let dies = |one: &flakewise_runner::Execution| {
                    matches!(one.outcome, Outcome::Crashed | Outcome::TimedOut)
                };
                let known = verdict.novelty == Novelty::Known;
                prop_assert!(known || !case.executions.iter().any(dies));
                prop_assert!(known || (policy == Tolerance::Flaky && verdict.novelty == Novelty::Unrelated));
            }
        }

        #[test]
        fn whatever_known_tolerates_flaky_tolerates_too(case in case()) {
            if refused(Tolerance::Known, &case).is_none() {
                prop_assert_eq!(refused(Tolerance::Flaky, &case), None);
            }
        }

        #[test]
        fn one_more_failure_alone_never_makes_a_red_build_green_under_known(case in case()) {
            if refused(Tolerance::Known, &case).is_some_and(|why| why != Refusal::EveryWholeRun) {
                prop_assert!(refused(Tolerance::Known, &case.clone().and(Phase::Fork, Outcome::Failed)).is_some());
            }
        }
    }

    /// A failing test of a run: why it is not tolerated, and how and where its first
    /// attempt ended.
    fn failure(refusal: Option<Refusal>, outcome: Outcome, worker: &str) -> TestFailure {
        let test = TestId::builder("pytest", "test_a.py").finish("test_a", None);
        let run = Arc::new(Run {
            id: RunId::new("r"),
            commit: None,
            dirty: false,
            branch: None,
            variant: Variant::default(),
            provider: None,
            url: None,
            started: Timestamp::default(),
            packages: None,
            roots: None,
        });
        let attempt = Attempt {
            test: test.clone(),
            run,
            phase: Phase::First,
            number: 1,
            outcome,
            duration: None,
            started: None,
            worker: Some(worker.into()),
            position: None,
            failure: None,
        };
        TestFailure {
            id: FindingId::of(&test),
            test,
            name: "test_a.py::test_a".to_owned(),
            place: None,
            verdict: FailureVerdict {
                blame: Blame::Flaky(FlakyKind::Transient),
                novelty: Novelty::Known,
                flaky: Probability::ONE,
                regression: Probability::ZERO,
                environment: Probability::ZERO,
                kind: None,
                proofs: Vec::new(),
            },
            attempts: vec![attempt],
            costs: Vec::new(),
            incident: 0,
            reproduce: String::new().into(),
            refusal,
            quarantine: None,
        }
    }

    fn quarantined_as(status: QuarantineStatus, failure: TestFailure) -> TestFailure {
        let quarantine = Quarantined {
            entry: failure.test.to_string(),
            owner: "@acme/all".to_owned(),
            reason: "flaky".to_owned(),
            issue: None,
            until: chrono::NaiveDate::MAX,
            status,
        };
        TestFailure { quarantine: Some(quarantine), ..failure }
    }

    /// A failure that the quarantine forgives, whatever its verdict.
    fn forgiven() -> TestFailure {
        quarantined_as(QuarantineStatus::Forgiven, failure(None, Outcome::Failed, "main"))
    }

    /// A failure of a quarantined test that the quarantine does not forgive.
    fn not_forgiven() -> TestFailure {
        quarantined_as(QuarantineStatus::OtherFailure, failure(None, Outcome::Failed, "main"))
    }

    fn expired() -> TestFailure {
        quarantined_as(
            QuarantineStatus::Expired,
            failure(Some(Refusal::QuarantineExpired), Outcome::Failed, "main"),
        )
    }

    fn tolerated() -> TestFailure {
        failure(None, Outcome::Failed, "main")
    }

    fn not_tolerated() -> TestFailure {
        failure(Some(Refusal::NotKnown), Outcome::Failed, "main")
    }

    /// A crash that took pytest along, and is known.
    fn crashed() -> TestFailure {
        failure(None, Outcome::Crashed, "main")
    }

    /// How a build went, apart from its failures.
    #[derive(Clone, Copy, Debug)]
    #[expect(clippy::struct_excessive_bools, reason = "independent facts, in any combination")]
    struct Went {
        code: Option<i32>,
        complete: bool,
        policy: Tolerance,
        unheard: bool,
        direct: bool,
        broken: bool,
        died: bool,
        forgiven: bool,
    }

    /// `flakewise run --tolerate known -- pytest`.
    const DIRECT: Went = Went {
        code: Some(1),
        complete: true,
        policy: Tolerance::Known,
        unheard: false,
        direct: true,
        broken: false,
        died: false,
        forgiven: false,
    };
    /// `flakewise run --tolerate known -- make test`.
    const WRAPPED: Went = Went { code: Some(2), direct: false, ..DIRECT };

    impl Went {
        fn exit(self, failures: &[TestFailure]) -> BuildExit {
            let mut session = SessionEnd::default();
            (session.died, session.forgiven) = (self.died, self.forgiven);
            let suite = SuiteRun {
                exit_code: self.code,
                direct: self.direct,
                broken: self.broken,
                sessions: vec![SessionEnd::default(), session],
                ..SuiteRun::default()
            };
            let ending =
                Ending { suite: &suite, complete: self.complete, policy: self.policy, unheard: self.unheard };
            exit(&ending, failures)
        }
    }

    #[test]
    fn the_table_of_exit_codes() {
        use ExitReason::{Lost, NotTolerated, Runner, Tolerated};
        let nothing = |went: Went| Went { policy: Tolerance::Nothing, ..went };
        let said = |code: i32, went: Went| Went { code: Some(code), ..went };
        let forgiven = |went: Went| Went { forgiven: true, ..said(0, went) };
        let incomplete = |went: Went| Went { complete: false, ..went };
        let dead = |went: Went| Went { died: true, code: None, ..went };
        let table: [(&str, Went, Vec<TestFailure>, u8, ExitReason); 28] = [
            ("green", said(0, DIRECT), vec![], 0, Runner),
            ("green without --tolerate", nothing(said(0, DIRECT)), vec![], 0, Runner),
            ("red without --tolerate", nothing(DIRECT), vec![tolerated()], 1, Runner),
            ("pytest corrected itself", forgiven(DIRECT), vec![tolerated()], 0, Tolerated),
            ("pytest corrected itself below make", forgiven(WRAPPED), vec![tolerated()], 0, Tolerated),
            ("not tolerated", DIRECT, vec![tolerated(), not_tolerated()], 1, NotTolerated),
            ("not tolerated below make", WRAPPED, vec![not_tolerated()], 2, NotTolerated),
            // `make` stopped with 2 for another reason: a linter, a pytest that never
            // spoke to us.
            ("tolerated, and make says 2", WRAPPED, vec![tolerated()], 2, Runner),
            ("forgiven, and make says 2", Went { forgiven: true, ..WRAPPED }, vec![tolerated()], 2, Runner),
            ("a wrapper that forgives is believed", said(0, WRAPPED), vec![not_tolerated()], 0, Runner),
            // `pytest a; pytest b || true`: only the first was corrected.
            (
                "forgiven beside one that is not",
                forgiven(WRAPPED),
                vec![tolerated(), not_tolerated()],
                0,
                Runner,
            ),
            ("usage error", said(4, DIRECT), vec![], 4, Runner),
            ("no tests", said(5, DIRECT), vec![], 5, Runner),
            ("internal error beside a flake", said(3, DIRECT), vec![tolerated()], 3, Runner),
            ("lost tests", incomplete(said(0, DIRECT)), vec![], 1, Lost),
            ("lost tests beside a flake", incomplete(forgiven(DIRECT)), vec![tolerated()], 1, Lost),
            ("lost tests, and make says 2", incomplete(WRAPPED), vec![tolerated()], 2, Lost),
            ("killed", Went { code: None, ..nothing(DIRECT) }, vec![], 1, Runner),
            ("known crash", dead(DIRECT), vec![crashed()], 0, Tolerated),
            (
                "known crash, exit code 134",
                said(134, dead(DIRECT)),
                vec![crashed(), tolerated()],
                0,
                Tolerated,
            ),
            ("known crash below make", said(2, dead(WRAPPED)), vec![crashed()], 2, Runner),
            (
                "known crash, and something broke",
                Went { broken: true, ..dead(DIRECT) },
                vec![crashed()],
                1,
                Runner,
            ),
            (
                "known crash, and a plug-in was not heard",
                Went { unheard: true, ..dead(DIRECT) },
                vec![crashed()],
                1,
                Runner,
            ),
            ("known crash, tests lost", incomplete(dead(DIRECT)), vec![crashed()], 1, Lost),
            ("known crash beside another", dead(DIRECT), vec![crashed(), not_tolerated()], 1, NotTolerated),
            ("known crash without --tolerate", nothing(dead(DIRECT)), vec![crashed()], 1, Runner),
            ("pytest died after its tests", dead(DIRECT), vec![tolerated()], 1, Runner),
            ("something broke", Went { broken: true, ..DIRECT }, vec![tolerated()], 1, Runner),
        ];
        for (what, went, failures, code, reason) in table {
            let answer = went.exit(&failures);
            assert_eq!(answer, BuildExit { runner: went.code, code, reason }, "{what}");
        }
    }

    #[test]
    fn the_table_of_exit_codes_with_a_quarantine() {
        use ExitReason::{Lost, NotTolerated, Runner, Tolerated};
        let nothing = |went: Went| Went { policy: Tolerance::Nothing, ..went };
        let corrected = |went: Went| Went { code: Some(0), forgiven: true, ..went };
        let table: [(&str, Went, Vec<TestFailure>, u8, ExitReason); 12] = [
            ("forgiven", nothing(corrected(DIRECT)), vec![forgiven()], 0, Tolerated),
            ("forgiven below make", nothing(corrected(WRAPPED)), vec![forgiven()], 0, Tolerated),
            (
                "forgiven beside a tolerated one",
                corrected(DIRECT),
                vec![forgiven(), tolerated()],
                0,
                Tolerated,
            ),
            ("forgiven beside a failure", nothing(DIRECT), vec![forgiven(), tolerated()], 1, NotTolerated),
            ("another failure", nothing(DIRECT), vec![not_forgiven()], 1, NotTolerated),
            ("another failure that is known", corrected(DIRECT), vec![not_forgiven()], 0, Tolerated),
            ("expired", nothing(DIRECT), vec![expired()], 1, NotTolerated),
            ("expired, though known", DIRECT, vec![expired(), tolerated()], 1, NotTolerated),
            ("make says 2", nothing(WRAPPED), vec![forgiven()], 2, Runner),
            (
                "tests were lost",
                Went { complete: false, ..nothing(corrected(DIRECT)) },
                vec![forgiven()],
                1,
                Lost,
            ),
            ("something broke", Went { broken: true, ..nothing(DIRECT) }, vec![forgiven()], 1, Runner),
            ("pytest died", Went { died: true, code: None, ..nothing(DIRECT) }, vec![forgiven()], 1, Runner),
        ];
        for (what, went, failures, code, reason) in table {
            assert_eq!(went.exit(&failures), BuildExit { runner: went.code, code, reason }, "{what}");
        }
    }

    /// A test that passed in the suite and failed when it was rerun.
    fn found(failure: TestFailure) -> TestFailure {
        let mut first = failure.attempts[0].clone();
        first.outcome = Outcome::Passed;
        let mut again = failure.attempts[0].clone();
        (again.phase, again.number) = (Phase::Fork, 2);
        TestFailure { attempts: vec![first, again], ..failure }
    }

    #[test]
    fn the_table_of_exit_codes_with_a_flaky_test_that_passed_in_the_suite() {
        use ExitReason::{FoundFlaky, Lost, NotTolerated, Runner};
        let nothing = |went: Went| Went { policy: Tolerance::Nothing, ..went };
        let zero = |went: Went| Went { code: Some(0), ..went };
        let table: [(&str, Went, Vec<TestFailure>, u8, ExitReason); 7] = [
            ("found", nothing(zero(DIRECT)), vec![found(tolerated())], 1, FoundFlaky),
            ("found below make", nothing(zero(WRAPPED)), vec![found(tolerated())], 1, FoundFlaky),
            ("found, and known", zero(DIRECT), vec![found(tolerated())], 0, Runner),
            ("found, and quarantined", nothing(zero(DIRECT)), vec![found(forgiven())], 0, Runner),
            (
                "found beside a forgiven one",
                Went { forgiven: true, ..zero(DIRECT) },
                vec![tolerated(), found(not_tolerated())],
                1,
                FoundFlaky,
            ),
            ("found beside a failure", DIRECT, vec![not_tolerated(), found(tolerated())], 1, NotTolerated),
            (
                "found, and tests were lost",
                Went { complete: false, ..zero(DIRECT) },
                vec![found(tolerated())],
                1,
                Lost,
            ),
        ];
        for (what, went, failures, code, reason) in table {
            assert_eq!(went.exit(&failures), BuildExit { runner: went.code, code, reason }, "{what}");
        }
    }

    #[test]
    fn any_failure_is_no_regression() {
        let verdict = |blame| FailureVerdict { blame, ..tolerated().verdict };
        let said = forgiven().quarantine.expect("it is quarantined");
        let status = |any, blame| quarantined(said.clone(), any, &verdict(blame)).status;
        let gated = || Blame::Undecided(OpenQuestion::TooManyFailures);
        assert_eq!(status(true, Blame::Regression), QuarantineStatus::Regression);
        assert_eq!(status(true, gated()), QuarantineStatus::TooManyFailures);
        assert_eq!(status(true, Blame::Flaky(FlakyKind::Transient)), QuarantineStatus::Forgiven);
        // A failure that is listed is known, whatever it is due to.
        assert_eq!(status(false, Blame::Regression), QuarantineStatus::Forgiven);
        assert_eq!(status(false, gated()), QuarantineStatus::Forgiven);
        let expired = expired().quarantine.expect("it is quarantined");
        let still = quarantined(expired, true, &verdict(Blame::Regression));
        assert_eq!(still.status, QuarantineStatus::Expired);
    }

    #[test]
    fn a_process_that_a_test_ended_with_zero_is_not_believed() {
        let unseen = |refusal| {
            [(Outcome::Crashed, "main"), (Outcome::TimedOut, "main"), (Outcome::Failed, "continued-1")]
                .map(|(outcome, worker)| failure(refusal, outcome, worker))
        };
        let zero = Went { code: Some(0), ..DIRECT };
        for failure in unseen(Some(Refusal::UnknownCrash)) {
            assert_eq!(zero.exit(std::slice::from_ref(&failure)).code, 1);
            assert_eq!(Went { policy: Tolerance::Nothing, ..zero }.exit(&[failure]).code, 1);
        }
        for failure in unseen(None) {
            assert_eq!(zero.exit(std::slice::from_ref(&failure)).code, 0, "it is known");
            assert_eq!(Went { policy: Tolerance::Nothing, ..zero }.exit(&[failure]).code, 1);
        }
    }

    fn went() -> impl Strategy<Value = Went> {
        let code = prop_oneof![Just(None), Just(Some(0)), (0_i32..=255).prop_map(Some)];
        let policy = proptest::sample::select(vec![Tolerance::Nothing, Tolerance::Known, Tolerance::Flaky]);
        let [complete, unheard, direct] = [0.8, 0.2, 0.5].map(proptest::bool::weighted);
        let [broken, died, forgiven] = [0.2, 0.5, 0.5].map(proptest::bool::weighted);
        (code, policy, (complete, unheard, direct), (broken, died, forgiven)).prop_map(
            |(code, policy, (complete, unheard, direct), (broken, died, forgiven))| Went {
                code,
                complete,
                policy,
                unheard,
                direct,
                broken,
                died,
                forgiven,
            },
        )
    }

    fn any_failure() -> impl Strategy<Value = TestFailure> {
        proptest::sample::select(vec![
            tolerated(),
            crashed(),
            not_tolerated(),
            failure(Some(Refusal::UnknownCrash), Outcome::Crashed, "main"),
            failure(None, Outcome::Failed, "continued-1"),
            found(tolerated()),
            found(not_tolerated()),
            forgiven(),
            not_forgiven(),
            expired(),
        ])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn green_is_what_the_command_said_or_a_known_crash_of_pytest_itself(
            went in went(),
            failures in proptest::collection::vec(any_failure(), 0..4),
        ) {
            let answer = went.exit(&failures);
            let all_tolerated = failures.iter().all(|failure| {
                failure.is_quarantined()
                    || (went.policy != Tolerance::Nothing && failure.refusal.is_none())
            });
            let known_crash = went.direct
                && went.died
                && !went.broken
                && !went.unheard
                && all_tolerated
                && failures.iter().any(took_pytest_along);
            if answer.code == 0 {
                prop_assert!(went.complete);
                prop_assert!(went.code == Some(0) || known_crash);
            }
            // Otherwise the command's own code is kept, and zero only turns into one.
            let said = went.code.unwrap_or(1);
            if answer.code != 0 && said != 0 {
                prop_assert_eq!(i32::from(answer.code), said);
            }
            if said == 0 {
                prop_assert!(answer.code <= 1);
            }
            if answer.reason == ExitReason::Tolerated {
                prop_assert!(answer.code == 0 && all_tolerated && (went.forgiven || known_crash));
            }
            if answer.reason == ExitReason::NotTolerated {
                prop_assert!(answer.code != 0 && !all_tolerated);
            }
            prop_assert_eq!(answer.runner, went.code);
            prop_assert_eq!(answer.reason == ExitReason::Lost, !went.complete);
        }
    }
}
