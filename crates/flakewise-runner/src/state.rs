//! What tests leave behind for another one, and whether that is what matters.
//!
//! Some tests and then one more run in a fork. Before the first and before the last
//! the agent looks at all state it knows of; what is otherwise it can undo before
//! the last one runs. Files are left as they were found, so that the next fork finds
//! the same.

use std::collections::HashMap;

use flakewise_model::{Phase, StateChange, StateKind};
use flakewise_protocol::{AgentPhase, Job, StateChangeMessage, StateOrder};

use crate::RunnerError;
use crate::execution::{Execution, TestKey};
use crate::suite::{NothingAgain, Suite};

/// An agent says what it likes; so much of it is taken.
const CHANGES: usize = 300;
const KEY: usize = 500;
const TEXT: usize = 300;
const PATH: usize = 4096;

/// A test after others, and what these left for it.
#[derive(Clone, Debug, PartialEq)]
pub struct StateRun {
    /// How the last test ended.
    pub execution: Execution,
    /// What was otherwise before it than before the first, but for what was undone
    /// then.
    pub changes: Vec<SeenChange>,
}

/// A change of state, and who has to do with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenChange {
    /// What is otherwise.
    pub change: StateChange,
    /// The test after which it was so.
    pub left_by: TestKey,
    /// Whether the last test was seen to read it.
    pub is_read: bool,
    /// Where it does.
    pub read_at: Option<(String, u32)>,
}

/// What an agent said of state.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) changes: Vec<StateChangeMessage>,
    pub(crate) reads: Vec<(String, Option<String>, Option<u32>)>,
}

impl Suite {
    /// Runs a test after others in a fork, and says what these left. Changes of the
    /// given keys are undone before it; if there are none, what it reads is watched.
    /// The inner error says why it could not be run.
    pub fn state(
        &mut self,
        before: &[TestKey],
        test: TestKey,
        undo: &[String],
    ) -> Result<Result<StateRun, String>, RunnerError> {
        let session = test.session as usize;
        if !self.can_fork(test.session) {
            return Ok(Err("tests of this session cannot run in forks".to_owned()));
        }
        let worker = self.worker(session, "state");
        let order = Job {
            tests: before.iter().chain([&test]).map(|test| test.number).collect(),
            phase: Some(AgentPhase::Fork),
            state: Some(StateOrder { undo: undo.to_vec(), reads: undo.is_empty() }),
            ..Job::default()
        };
        let job = self.start_job(session, worker, order);
        self.finish_job(job, &mut NothingAgain)?;
        let mut state = self.take_job(job);
        let seen = state.seen.take().unwrap_or_default();
        Ok(state
            .outcome_of(test, Phase::Fork)
            .map(|execution| StateRun { execution, changes: taken(seen, before) }))
    }
}

/// What was said, as far as it makes sense.
fn taken(seen: Seen, before: &[TestKey]) -> Vec<SeenChange> {
    let mut reads = HashMap::new();
    for (key, file, line) in seen.reads.into_iter().take(CHANGES) {
        let place = file.zip(line).filter(|(file, line)| file.len() <= PATH && *line > 0);
        reads.entry(key).or_insert(place);
    }
    let is_short = |change: &StateChangeMessage| {
        change.key.len() <= KEY
            && [&change.name, &change.before, &change.after].iter().all(|text| text.len() <= TEXT * 4)
    };
    let changes = seen.changes.into_iter().take(CHANGES).filter(is_short);
    changes
        .filter_map(|change| {
            let left_by = before.iter().copied().find(|test| test.number == change.left_by)?;
            let read = reads.get(&change.key);
            Some(SeenChange {
                left_by,
                is_read: read.is_some(),
                read_at: read.cloned().flatten(),
                change: StateChange {
                    kind: StateKind::from_name(&change.kind),
                    key: change.key,
                    name: cut(change.name),
                    before: cut(change.before),
                    after: cut(change.after),
                    can_undo: change.can_undo,
                },
            })
        })
        .collect()
}

fn cut(text: String) -> String {
    if text.chars().count() <= TEXT { text } else { text.chars().take(TEXT).chain(['…']).collect() }
}

#[cfg(test)]
mod tests {
    use flakewise_protocol::ToHost;

    use super::*;

    fn heard(changes: &str, reads: &str) -> Seen {
        let changes = match serde_json::from_str(&format!(
            r#"{{"t":"state","complete":true,"changes":[{changes}]}}"#
        )) {
            Ok(ToHost::State { changes, .. }) => changes,
            other => panic!("{other:?}"),
        };
        let reads = match serde_json::from_str(&format!(r#"{{"t":"state_read","reads":[{reads}]}}"#)) {
            Ok(ToHost::StateRead { reads }) => reads,
            other => panic!("{other:?}"),
        };
        Seen { changes, reads }
    }

    fn change(key: &str, name: &str, left_by: u32) -> String {
        format!(
            r#"{{"key":"{key}","kind":"env","name":"{name}","before":"unset","after":"'a'","can_undo":true,"left_by":{left_by}}}"#
        )
    }

    const BEFORE: [TestKey; 2] = [TestKey { session: 0, number: 3 }, TestKey { session: 0, number: 5 }];

    #[test]
    fn changes_know_who_left_them_and_where_they_are_read() {
        let said = [change("env:A", "A", 3), change("env:B", "B", 5), change("env:C", "C", 5)].join(",");
        let found = taken(
            heard(&said, r#"["env:B","shop/cart.py",12],["env:C",null,null],["env:D","x",1]"#),
            &BEFORE,
        );
        assert_eq!(found.iter().map(|seen| seen.left_by.number).collect::<Vec<_>>(), [3, 5, 5]);
        assert_eq!(found.iter().map(|seen| seen.is_read).collect::<Vec<_>>(), [false, true, true]);
        assert_eq!(found[1].read_at, Some(("shop/cart.py".to_owned(), 12)));
        assert_eq!((found[2].read_at.as_ref(), found[0].change.kind), (None, StateKind::Variable));
    }

    #[test]
    fn what_an_agent_says_is_bounded() {
        let long = "é".repeat(400);
        let said =
            [change("env:A", &long, 3), change(&"k".repeat(501), "B", 3), change("env:C", "C", 4)].join(",");
        let found = taken(heard(&said, r#"["env:A","shop.py",0]"#), &BEFORE);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].change.name.chars().count(), TEXT + 1);
        assert_eq!((found[0].is_read, found[0].read_at.as_ref()), (true, None));
        let many: Vec<String> = (0..1000).map(|number| change(&format!("env:{number}"), "A", 3)).collect();
        assert_eq!(taken(heard(&many.join(","), ""), &BEFORE).len(), CHANGES);
    }
}
