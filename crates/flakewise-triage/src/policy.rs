//! Which failures may be tolerated, and how the build ends. Pure.
//!
//! A build turns green by mistake only here, so every reason to refuse is a rule of
//! its own, and what is not known counts as a reason.

use flakewise_model::{Blame, BuildExit, ExitReason, FailureVerdict, Novelty, Outcome, Refusal, TestFailure};
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
    if !matches!(verdict.blame, Blame::Flaky(_)) {
        Some(Refusal::NeverPassed)
    } else if verdict.is_new_flake() {
        Some(Refusal::NewFlake)
    } else if !known && facts.executions.iter().any(|execution| dies(execution.outcome)) {
        Some(Refusal::UnknownCrash)
    } else if facts.fails_in_every_whole_run() {
        Some(Refusal::EveryWholeRun)
    } else if facts.fails_more_often().is_some() {
        Some(Refusal::MoreOften)
    } else {
        match (policy, verdict.novelty) {
            (Tolerance::Known | Tolerance::Flaky, Novelty::Known)
            | (Tolerance::Flaky, Novelty::Unrelated) => None,
            (Tolerance::Flaky, _) => Some(Refusal::MayTouchChange),
            _ => Some(Refusal::NotKnown),
        }
    }
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
    let tolerated = |failure: &TestFailure| policy != Tolerance::Nothing && failure.refusal.is_none();
    let all_tolerated = !failures.is_empty() && failures.iter().all(tolerated);
    if code == 0 {
        // A process that a test ended may well have said that all is well.
        let unseen = failures.iter().any(|failure| is_unseen(failure) && !tolerated(failure));
        if unseen {
            return BuildExit { runner, code: TESTS_FAILED, reason: ExitReason::Runner };
        }
        let forgiven = suite.sessions.iter().any(|session| session.forgiven);
        let reason = if forgiven { ExitReason::Tolerated } else { ExitReason::Runner };
        return BuildExit { runner, code, reason };
    }
    let died = suite.sessions.iter().any(|session| session.died);
    if died && suite.direct && all_tolerated && !suite.broken && !unheard {
        return BuildExit { runner, code: 0, reason: ExitReason::Tolerated };
    }
    let refused = policy != Tolerance::Nothing && !failures.is_empty();
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
