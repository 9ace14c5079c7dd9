//! How the build ends.

use flakewise_model::{BuildExit, ExitReason, Outcome, TestFailure};
use flakewise_runner::SuiteRun;

/// What pytest says if tests failed.
const TESTS_FAILED: u8 = 1;

/// The runner's answer, unless proved flakes are tolerated. A run that lost
/// tests is never green.
pub(crate) fn exit(
    suite_run: &SuiteRun,
    failures: &[TestFailure],
    complete: bool,
    tolerate: bool,
) -> BuildExit {
    let runner = suite_run.exit_code;
    let code = runner.and_then(|code| u8::try_from(code).ok()).unwrap_or(TESTS_FAILED);
    if !complete && code == 0 {
        return BuildExit { runner, code: TESTS_FAILED, reason: ExitReason::Lost };
    }
    // A process that a test ended may well have said that all is well.
    let code = if code == 0 && failures.iter().any(is_unseen) { TESTS_FAILED } else { code };
    if !tolerate || code == 0 {
        return BuildExit { runner, code, reason: ExitReason::Runner };
    }
    let proved = failures.iter().all(|failure| failure.verdict.blame.is_proved_flaky());
    // Other codes of pytest say that something else went wrong: an internal
    // error, wrong usage. What a wrapper says is its own affair, and a process
    // that a test took along says nothing.
    let by_tests = code == TESTS_FAILED || runner.is_none() || !suite_run.direct;
    let flaky = proved && by_tests && !suite_run.broken;
    if !complete {
        BuildExit { runner, code, reason: ExitReason::Lost }
    } else if failures.is_empty() {
        // Something else went wrong: usage, no tests, an internal error.
        BuildExit { runner, code, reason: ExitReason::Runner }
    } else if flaky {
        BuildExit { runner, code: 0, reason: ExitReason::Tolerated }
    } else {
        BuildExit { runner, code, reason: ExitReason::NotFlaky }
    }
}

/// Whether the runner cannot know of a failure: its process ended in the midst
/// of the test, or before it.
fn is_unseen(failure: &TestFailure) -> bool {
    failure.first().is_none_or(|first| {
        matches!(first.outcome, Outcome::Crashed | Outcome::TimedOut)
            || first.worker.as_deref() != Some("main")
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use flakewise_model::{
        Attempt, Blame, FailureVerdict, FindingId, FlakyKind, OpenQuestion, Phase, Probability, Run, RunId,
        TestId, Timestamp, Variant,
    };
    use proptest::prelude::*;

    use super::*;

    fn failure(blame: Blame, outcome: Outcome, worker: &str) -> TestFailure {
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
            roots: None,
            packages: None,
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
            verdict: FailureVerdict { blame, flaky: Probability::ONE, proofs: Vec::new() },
            attempts: vec![attempt],
            costs: Vec::new(),
            incident: 0,
            reproduce: String::new(),
        }
    }

    fn ended(exit_code: Option<i32>) -> SuiteRun {
        SuiteRun { exit_code, ..SuiteRun::default() }
    }

    fn failures(blames: &[Blame]) -> Vec<TestFailure> {
        blames.iter().map(|blame| failure(blame.clone(), Outcome::Failed, "main")).collect()
    }

    const PROVED: Blame = Blame::Flaky(FlakyKind::Transient);
    const UNTOUCHED: Blame = Blame::Flaky(FlakyKind::Untouched);

    /// What the runner said, whether all tests gave a result, whether flakes
    /// are tolerated, what failed; and the answer.
    type Line<'a> = (Option<i32>, bool, bool, &'a [Blame], u8, ExitReason);

    #[test]
    fn the_table_of_answers() {
        use ExitReason::{Lost, NotFlaky, Runner, Tolerated};
        let both = [PROVED, Blame::Regression];
        let table: [Line<'_>; 19] = [
            (Some(0), true, false, &[], 0, Runner),
            (Some(0), true, true, &[], 0, Runner),
            (Some(0), false, false, &[], 1, Lost),
            (Some(0), false, true, &[PROVED], 1, Lost),
            (Some(1), true, false, &[PROVED], 1, Runner),
            (Some(1), true, true, &[PROVED], 0, Tolerated),
            (Some(1), true, true, &both, 1, NotFlaky),
            (Some(1), true, true, &[UNTOUCHED], 1, NotFlaky),
            (Some(1), true, true, &[Blame::BrokenBefore], 1, NotFlaky),
            (Some(1), true, true, &[Blame::Infrastructure], 1, NotFlaky),
            (Some(1), true, true, &[Blame::Undecided(OpenQuestion::NotEnoughRuns)], 1, NotFlaky),
            (Some(1), false, true, &[PROVED], 1, Lost),
            (Some(1), true, true, &[], 1, Runner),
            (Some(2), false, false, &[], 2, Runner),
            (Some(2), false, true, &[PROVED], 2, Lost),
            (Some(5), true, true, &[], 5, Runner),
            // `make` says 2 if a test failed.
            (Some(2), true, true, &[PROVED], 0, Tolerated),
            // A signal ended it.
            (None, true, false, &[], 1, Runner),
            (None, true, true, &[PROVED], 0, Tolerated),
        ];
        for (runner, complete, tolerate, blames, code, reason) in table {
            let answer = exit(&ended(runner), &failures(blames), complete, tolerate);
            let line = format!("{runner:?}, complete: {complete}, tolerate: {tolerate}, {blames:?}");
            assert_eq!(answer, BuildExit { runner, code, reason }, "{line}");
        }
    }

    #[test]
    fn flakes_are_not_tolerated_beside_something_broken_that_is_no_test() {
        let suite_run = SuiteRun { broken: true, ..ended(Some(1)) };
        let answer = exit(&suite_run, &failures(&[PROVED]), true, true);
        assert_eq!((answer.code, answer.reason), (1, ExitReason::NotFlaky));
    }

    #[test]
    fn flakes_are_not_tolerated_beside_an_internal_error_of_pytest() {
        let answer = |direct| exit(&SuiteRun { direct, ..ended(Some(3)) }, &failures(&[PROVED]), true, true);
        assert_eq!((answer(true).code, answer(true).reason), (3, ExitReason::NotFlaky));
        assert_eq!(answer(false).code, 0);
    }

    #[test]
    fn a_wrapper_that_forgives_failures_is_believed() {
        assert_eq!(exit(&ended(Some(0)), &failures(&[Blame::Regression]), true, false).code, 0);
    }

    #[test]
    fn a_process_that_a_test_ended_with_nought_is_not_believed() {
        for (outcome, worker) in
            [(Outcome::Crashed, "main"), (Outcome::TimedOut, "main"), (Outcome::Failed, "continued-1")]
        {
            let unseen = [failure(Blame::Regression, outcome, worker)];
            assert_eq!(exit(&ended(Some(0)), &unseen, true, false).code, 1);
        }
    }

    fn blame() -> impl Strategy<Value = Blame> {
        proptest::sample::select(vec![
            PROVED,
            UNTOUCHED,
            Blame::Flaky(FlakyKind::HashSeed),
            Blame::Regression,
            Blame::BrokenBefore,
            Blame::Infrastructure,
            Blame::Undecided(OpenQuestion::ChangeUnknown),
        ])
    }

    proptest! {
        #[test]
        fn only_lost_tests_and_tolerated_flakes_change_the_answer(
            runner in proptest::option::of(0_i32..=255),
            complete: bool,
            tolerate: bool,
            blames in proptest::collection::vec(blame(), 0..4),
        ) {
            let answer = exit(&ended(runner), &failures(&blames), complete, tolerate);
            let said = runner.unwrap_or(1);
            let forgiven = tolerate && complete && !blames.is_empty()
                && blames.iter().all(Blame::is_proved_flaky);
            let expected = if !complete { said.max(1) } else if forgiven { 0 } else { said };
            prop_assert_eq!(i32::from(answer.code), expected);
            prop_assert_eq!(answer.reason == ExitReason::Tolerated, forgiven && said != 0);
            prop_assert!(complete || answer.code != 0);
        }
    }
}
