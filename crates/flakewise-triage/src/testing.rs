//! Executions in one line, for tests.

use flakewise_model::{Failure, Outcome, Phase, Timestamp};
use flakewise_runner::{Execution, TestKey};

/// An execution in the process its phase runs in.
pub(crate) fn execution(number: u32, phase: Phase, outcome: Outcome) -> Execution {
    let worker = match phase {
        Phase::First | Phase::Retry | Phase::Rerun | Phase::Postpone => "main",
        Phase::Fork | Phase::Order => "fork-1",
        Phase::Fresh => "fresh-1",
        Phase::Base => "base-1",
    };
    Execution {
        test: TestKey { session: 0, number },
        phase,
        outcome,
        duration: None,
        started: Timestamp::default(),
        failure: outcome.is_failure().then(|| Failure::new(Some("AssertionError"), "assert 4 == 3", "")),
        place: None,
        worker: worker.to_owned(),
        position: 0,
        cost: None,
    }
}

/// The same in a process of this name.
pub(crate) fn on(worker: &str, execution: Execution) -> Execution {
    Execution { worker: worker.to_owned(), ..execution }
}

/// The same with an error of this kind.
pub(crate) fn of_kind(kind: &str, execution: Execution) -> Execution {
    let failure = execution.outcome.is_failure().then(|| Failure::new(Some(kind), "it broke", ""));
    Execution { failure, ..execution }
}
