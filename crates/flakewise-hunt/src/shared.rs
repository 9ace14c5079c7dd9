//! Which state tests share: what the ones leave that makes the other end otherwise
//! than alone.
//!
//! Differences of state are only suspects. A suspect is proved if the test ends as
//! alone once it is undone; of several, the fewest that do it. That a test reads
//! something only says whom to suspect first.

use std::time::Instant;

use flakewise_model::{Failure, Outcome, SharedState, StateKind};
use flakewise_runner::{RunnerError, SeenChange, StateRun, Suite, TestKey};

use crate::culprit::named;
use crate::minimise::minimise;

/// Runs until a certain culprit has shown itself; one may be disturbed.
const LISTINGS: usize = 3;
/// What was found must work so often.
const CONFIRMATIONS: usize = 2;
/// Suspects that are tried one by one.
const SINGLES: usize = 40;
/// Suspects that are named without a proof.
const LIKELY: usize = 5;
/// No change has this key: a run in which nothing is undone or watched.
const NOTHING: &str = "-";

/// What culprits leave that makes a test have another outcome than alone, most certain
/// first; nothing if it could not be seen. `tries` is how many runs it takes until
/// the culprits surely act: 1 if they do each time. At a deadline it ends with what
/// is likely by then.
pub fn shared(
    suite: &mut Suite,
    culprits: &[TestKey],
    victim: TestKey,
    fails_alone: bool,
    tries: usize,
    deadline: Option<Instant>,
) -> Result<Vec<SharedState>, RunnerError> {
    let mut failure = None;
    if fails_alone {
        match suite.state(&[], victim, &[NOTHING.to_owned()])? {
            Ok(alone) => failure = alone.execution.failure,
            Err(_) => return Ok(Vec::new()),
        }
    }
    let found = explain(&Alone { fails: fails_alone, failure }, tries, |undo| {
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Ok(None);
        }
        Ok(suite.state(culprits, victim, undo)?.ok().filter(|run| run.execution.outcome != Outcome::Skipped))
    })?;
    let told = |(seen, is_proved): (SeenChange, bool)| SharedState {
        left_by: named(suite, seen.left_by),
        change: seen.change,
        is_read: seen.is_read,
        read_at: seen.read_at,
        is_proved,
    };
    Ok(found.into_iter().map(told).collect())
}

/// How a test ends alone.
struct Alone {
    fails: bool,
    failure: Option<Failure>,
}

impl Alone {
    /// Whether a run ended so. A test that fails alone must fail in the same way:
    /// taking things away may break it in others.
    fn is_like(&self, run: &StateRun) -> bool {
        let (one, other) = (self.failure.as_ref(), run.execution.failure.as_ref());
        let is_same = match one.zip(other) {
            Some((one, other)) => {
                one.fingerprint == other.fingerprint
                    || (one.kind == other.kind && one.message == other.message)
            }
            None => true,
        };
        run.execution.outcome.is_failure() == self.fails && (!self.fails || is_same)
    }

    fn differs(&self, run: &StateRun) -> bool {
        run.execution.outcome.is_failure() != self.fails
    }
}

/// Finds the changes that matter, and whether that is proved. `ask` runs the test
/// after the culprits with some changes undone.
fn explain<E>(
    alone: &Alone,
    tries: usize,
    mut ask: impl FnMut(&[String]) -> Result<Option<StateRun>, E>,
) -> Result<Vec<(SeenChange, bool)>, E> {
    let Some(mut suspects) = listed(alone, tries, &mut ask)? else { return Ok(Vec::new()) };
    // Reimported modules disturb most, so they are the last to be suspected.
    suspects.sort_by_key(|seen| (!seen.is_read, seen.change.kind == StateKind::Module));
    let curable: Vec<SeenChange> = suspects.iter().filter(|seen| seen.change.can_undo).cloned().collect();
    let mut helps = |changes: &[SeenChange], runs: usize| {
        let keys: Vec<String> = changes.iter().map(|seen| seen.change.key.clone()).collect();
        for _ in 0..runs {
            match ask(&keys)? {
                Some(run) if alone.is_like(&run) => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    };
    let Some(enough) = enough(&curable, |part| helps(part, tries))? else {
        return Ok(likely(suspects));
    };
    let proved = minimise(&enough, |parts| {
        for (place, part) in parts.iter().enumerate() {
            if helps(part, tries)? {
                return Ok(Some(place));
            }
        }
        Ok(None)
    })?;
    if !helps(&proved, CONFIRMATIONS)? {
        return Ok(likely(suspects));
    }
    let mut found = proved;
    // Things that only do it together can each be the cure.
    let others: Vec<SeenChange> =
        curable.into_iter().filter(|seen| seen.is_read && !found.contains(seen)).collect();
    for seen in others.into_iter().take(SINGLES) {
        if helps(std::slice::from_ref(&seen), tries)? {
            found.push(seen);
        }
    }
    Ok(found.into_iter().map(|seen| (seen, true)).collect())
}

/// All changes in a run in which the test has another outcome than alone.
fn listed<E>(
    alone: &Alone,
    tries: usize,
    mut ask: impl FnMut(&[String]) -> Result<Option<StateRun>, E>,
) -> Result<Option<Vec<SeenChange>>, E> {
    for attempt in 0..tries.max(LISTINGS) {
        // Watching may disturb a test; the last attempt goes without.
        let nothing = [NOTHING.to_owned()];
        let is_last = attempt + 1 == tries.max(LISTINGS);
        match ask(if is_last { &nothing } else { &[] })? {
            Some(run) if alone.differs(&run) => return Ok(Some(run.changes)),
            Some(_) => {}
            None => return Ok(None),
        }
    }
    Ok(None)
}

/// Suspects that are enough to undo, if there are any.
fn enough<E>(
    suspects: &[SeenChange],
    mut helps: impl FnMut(&[SeenChange]) -> Result<bool, E>,
) -> Result<Option<Vec<SeenChange>>, E> {
    let are = |is: &dyn Fn(&SeenChange) -> bool| {
        suspects.iter().filter(|seen| is(seen)).cloned().collect::<Vec<_>>()
    };
    let mut tried: Vec<Vec<SeenChange>> = Vec::new();
    let groups =
        [are(&|seen| seen.is_read), suspects.to_vec(), are(&|seen| seen.change.kind != StateKind::Module)];
    // Undoing much can break a test where undoing one thing would not.
    let singles = suspects.iter().take(SINGLES).map(|seen| vec![seen.clone()]);
    for group in groups.into_iter().chain(singles) {
        if group.is_empty() || tried.contains(&group) {
            continue;
        }
        if helps(&group)? {
            return Ok(Some(group));
        }
        tried.push(group);
    }
    Ok(None)
}

/// Without a proof: what is read; first of all what could not be undone, since the
/// rest did not help.
fn likely(suspects: Vec<SeenChange>) -> Vec<(SeenChange, bool)> {
    let read: Vec<SeenChange> = suspects.into_iter().filter(|seen| seen.is_read).collect();
    let (curable, rest): (Vec<_>, Vec<_>) = read.into_iter().partition(|seen| seen.change.can_undo);
    let named = if rest.is_empty() { curable } else { rest };
    named.into_iter().take(LIKELY).map(|seen| (seen, false)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::convert::Infallible;

    use flakewise_model::{Phase, StateChange};
    use flakewise_runner::Execution;
    use proptest::prelude::*;

    use super::*;

    const TEST: TestKey = TestKey { session: 0, number: 1 };

    fn seen(number: u32, is_read: bool, can_undo: bool) -> SeenChange {
        SeenChange {
            change: StateChange {
                key: format!("env:{number:02}"),
                kind: StateKind::Variable,
                name: String::new(),
                before: String::new(),
                after: String::new(),
                can_undo,
            },
            left_by: TEST,
            is_read,
            read_at: None,
        }
    }

    fn run(failed: bool, message: &str, changes: Vec<SeenChange>) -> StateRun {
        let outcome = if failed { Outcome::Failed } else { Outcome::Passed };
        let execution = Execution {
            test: TEST,
            phase: Phase::Fork,
            outcome,
            duration: None,
            started: flakewise_model::Timestamp::UNIX_EPOCH,
            failure: failed.then(|| Failure::new(Some("E"), message, message)),
            frames: None,
            place: None,
            worker: String::new(),
            position: 0,
            cost: None,
        };
        StateRun { execution, changes }
    }

    /// What is found where a rule says which keys, undone, let a victim pass.
    fn found(changes: &[SeenChange], passes: impl Fn(&BTreeSet<String>) -> bool) -> Vec<(String, bool)> {
        let alone = Alone { fails: false, failure: None };
        let found = explain(&alone, 1, |undo| {
            let undone: BTreeSet<String> = undo.iter().cloned().collect();
            Ok::<_, Infallible>(Some(run(!passes(&undone), "", changes.to_vec())))
        });
        let found = found.unwrap_or_else(|never| match never {});
        found.into_iter().map(|(seen, is_proved)| (seen.change.key, is_proved)).collect()
    }

    proptest! {
        #[test]
        fn exactly_what_must_be_undone_is_found(
            reads in prop::collection::vec(any::<bool>(), 1..30),
            needed in prop::collection::btree_set(0..30_usize, 1..4),
        ) {
            let changes: Vec<SeenChange> =
                (0_u32..).zip(&reads).map(|(number, is_read)| seen(number, *is_read, true)).collect();
            let needed: BTreeSet<String> =
                needed.into_iter().map(|place| changes[place % changes.len()].change.key.clone()).collect();
            let mut found = found(&changes, |undone| needed.is_subset(undone));
            found.sort();
            prop_assert_eq!(found, needed.into_iter().map(|key| (key, true)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn one_is_found_where_undoing_all_breaks_the_test() {
        let changes: Vec<SeenChange> = (0..10).map(|number| seen(number, false, true)).collect();
        let found = found(&changes, |undone| undone.contains("env:07") && !undone.contains("env:03"));
        assert_eq!(found, [("env:07".to_owned(), true)]);
    }

    #[test]
    fn two_that_act_only_together_are_both_found() {
        let changes: Vec<SeenChange> = (0..4).map(|number| seen(number, number < 2, true)).collect();
        let found = found(&changes, |undone| undone.contains("env:00") || undone.contains("env:01"));
        assert_eq!(found, [("env:00".to_owned(), true), ("env:01".to_owned(), true)]);
    }

    #[test]
    fn what_cannot_be_undone_is_only_likely_and_must_be_read() {
        let changes = [seen(0, true, true), seen(1, true, false), seen(2, false, false)];
        assert_eq!(found(&changes, |_| false), [("env:01".to_owned(), false)]);
        assert_eq!(found(&changes[2..], |_| false), []);
        assert_eq!(found(&changes[..1], |_| false), [("env:00".to_owned(), false)]);
    }

    #[test]
    fn nothing_is_said_of_tests_that_end_as_alone() {
        assert_eq!(found(&[seen(0, true, true)], |_| true), []);
    }

    #[test]
    fn a_test_that_needs_something_must_fail_as_it_does_alone() {
        let alone = Alone { fails: true, failure: Some(Failure::new(Some("E"), "no basket", "no basket")) };
        let changes = vec![seen(0, true, true), seen(1, true, true)];
        let found = explain(&alone, 1, |undo| {
            let has = |key: &str| undo.iter().any(|undone| undone == key);
            let message = if has("env:00") { "broken" } else { "no basket" };
            Ok::<_, Infallible>(Some(run(has("env:00") || has("env:01"), message, changes.clone())))
        });
        let found = found.unwrap_or_else(|never| match never {});
        assert_eq!(found, [(changes[1].clone(), true)]);
    }

    #[test]
    fn a_culprit_that_acts_now_and_then_is_asked_again() {
        let alone = Alone { fails: false, failure: None };
        let changes = vec![seen(0, false, true), seen(1, false, true)];
        let mut asked = 0;
        let found = explain(&alone, 14, |undo| {
            asked += 1;
            let acts = asked % 3 == 0 && !undo.contains(&"env:01".to_owned());
            Ok::<_, Infallible>(Some(run(
                acts,
                "",
                if asked % 3 == 0 { changes.clone() } else { Vec::new() },
            )))
        });
        let found = found.unwrap_or_else(|never| match never {});
        assert_eq!(found, [(changes[1].clone(), true)]);
    }
}
