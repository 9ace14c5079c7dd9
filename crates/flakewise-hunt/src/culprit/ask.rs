//! Questions of a search: how does the test end after these?

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use flakewise_model::{Notice, Outcome, Tally};
use flakewise_runner::{Execution, Forks, FreshOptions, RunnerError, TestKey};

use super::Search;
use crate::answers::Answers;

impl Search<'_, '_> {
    /// How the test ends after these.
    pub(super) fn tally(&mut self, before: &[TestKey], runs: usize) -> Result<Tally, RunnerError> {
        let mut tally = Tally::default();
        let jobs = if self.leaves_files(before) { 1 } else { self.context.settings.jobs };
        self.ask_beside(jobs, vec![before.to_vec(); runs], |_, failed| {
            tally.add(failed);
            false
        })?;
        Ok(tally)
    }

    /// The first of some lists of tests after which the test has another outcome than
    /// alone in one of some tries, and how many tries were made.
    pub(super) fn first_that_differs(
        &mut self,
        lists: &[Vec<TestKey>],
        tries: usize,
        tell: impl Fn(&Self, usize),
    ) -> Result<(Option<usize>, usize), RunnerError> {
        let questions: Vec<Vec<TestKey>> =
            lists.iter().flat_map(|list| std::iter::repeat_n(list.clone(), tries)).collect();
        let fails_alone = self.fails_alone;
        let mut found: Option<usize> = None;
        let mut done = 0;
        tell(self, 1);
        // Whatever comes before one that does has been begun before it, and is
        // waited for.
        self.ask(questions, |place, failed| {
            done += 1;
            if failed != fails_alone {
                let list = place / tries;
                found = Some(found.map_or(list, |found| found.min(list)));
            }
            found.is_some()
        })?;
        tell(self, done);
        Ok((found, done))
    }

    /// How the test ends after these in new processes: in some, or until it ends
    /// otherwise than alone.
    pub(super) fn fresh(
        &mut self,
        before: &[TestKey],
        most: usize,
        until_shown: bool,
    ) -> Result<Tally, RunnerError> {
        let question = self.fresh_question(before);
        let options = FreshOptions {
            hash_seed: self.suite.hash_seed(),
            before: before.to_vec(),
            ..FreshOptions::default()
        };
        let mut tally = Tally::default();
        for _ in 0..most {
            let failed = if let Some(failed) = self.context.answers.known(&question) {
                failed
            } else {
                if !self.has_time() {
                    break;
                }
                let began = Instant::now();
                let result = self.suite.fresh(self.victim, &options)?.execution;
                self.fresh_takes = self.fresh_takes.max(began.elapsed());
                let Some(failed) = self.learnt(&question, result) else { break };
                failed
            };
            tally.add(failed);
            if failed != self.fails_alone {
                self.first_proof.get_or_insert_with(|| self.began.elapsed());
                if until_shown {
                    break;
                }
            }
        }
        Ok(tally)
    }

    /// Whether the test fails after each of these in a new process, in parallel.
    pub(super) fn fresh_once_each(
        &mut self,
        tests: &[TestKey],
    ) -> Result<HashMap<TestKey, bool>, RunnerError> {
        let mut ended = HashMap::new();
        let mut open = Vec::new();
        for &test in tests {
            match self.context.answers.known(&self.fresh_question(&[test])) {
                Some(failed) => drop(ended.insert(test, failed)),
                None => open.push(vec![test, self.victim]),
            }
        }
        let (apart, beside): (Vec<_>, Vec<_>) =
            open.into_iter().partition(|list| self.leaves_files(&list[..1]));
        for lists in apart.chunks(1).chain(beside.chunks(self.context.settings.jobs)) {
            if !self.has_time() {
                break;
            }
            let results = self.suite.fresh_together(lists, self.suite.hash_seed())?;
            for (list, result) in lists.iter().zip(results) {
                if let Some(failed) = self.learnt(&self.fresh_question(&list[..1]), result) {
                    ended.insert(list[0], failed);
                }
            }
        }
        Ok(ended)
    }

    /// Whether the test failed in a new process, written down; none if it did not
    /// come to that.
    fn learnt(&mut self, question: &str, result: Result<Execution, String>) -> Option<bool> {
        match result {
            Ok(execution) if execution.outcome == Outcome::Skipped => None,
            Ok(execution) => {
                let failed = execution.outcome.is_failure();
                self.context.answers.learn(question, failed);
                Some(failed)
            }
            Err(trouble) => {
                self.warn(format!("the result could not be confirmed in a new process: {trouble}"));
                None
            }
        }
    }

    /// Whether the test or one of these before it leaves files. Where it counts how
    /// often the test fails, they must not run beside themselves.
    fn leaves_files(&self, before: &[TestKey]) -> bool {
        before.iter().chain([&self.victim]).any(|test| self.suite.leaves_files(*test))
    }

    fn fresh_question(&self, before: &[TestKey]) -> String {
        format!("fresh-{}", self.question(before))
    }

    /// Runs the test after each of some lists of tests, in parallel and begun in
    /// their order, until `take` has had enough of places and outcomes.
    pub(super) fn ask(
        &mut self,
        lists: Vec<Vec<TestKey>>,
        take: impl FnMut(usize, bool) -> bool,
    ) -> Result<(), RunnerError> {
        self.ask_beside(self.context.settings.jobs, lists, take)
    }

    fn ask_beside(
        &mut self,
        jobs: usize,
        lists: Vec<Vec<TestKey>>,
        mut take: impl FnMut(usize, bool) -> bool,
    ) -> Result<(), RunnerError> {
        let mut open = VecDeque::new();
        for (place, list) in lists.into_iter().enumerate() {
            let question = self.question(&list);
            match self.context.answers.known(&question) {
                // What comes before it had been begun.
                Some(failed) if take(place, failed) => break,
                Some(_) => {}
                None => open.push_back(Question { place, name: question, list }),
            }
        }
        let mut questions = Questions {
            victim: self.victim,
            open,
            under_way: Vec::new(),
            take: &mut take,
            has_enough: false,
            end: self.forks_end,
            is_spent: false,
            trouble: None,
            answers: self.context.answers,
        };
        self.suite.fork_many(jobs, &mut questions)?;
        self.is_spent |= questions.is_spent;
        if let Some(trouble) = questions.trouble {
            self.warn(format!("some forks returned no result: {trouble}"));
        }
        Ok(())
    }

    fn warn(&mut self, text: String) {
        if self.notices.iter().all(|notice| notice.text != text) {
            self.notices.push(Notice { text, warning: true });
        }
    }

    /// A name for the question how the test ends after these.
    fn question(&self, before: &[TestKey]) -> String {
        let mut hasher = blake3::Hasher::new();
        for test in before.iter().chain([&self.victim]) {
            hasher.update(self.suite.name(*test).as_bytes());
            hasher.update(b"\0");
        }
        hasher.finalize().to_hex()[..24].to_owned()
    }
}

/// A list of tests to run before the one in question.
struct Question {
    place: usize,
    name: String,
    list: Vec<TestKey>,
}

/// Asks questions, and hears what becomes of the test.
struct Questions<'a> {
    victim: TestKey,
    open: VecDeque<Question>,
    under_way: Vec<Question>,
    /// Given places and outcomes; whether that is enough.
    take: &'a mut dyn FnMut(usize, bool) -> bool,
    has_enough: bool,
    /// When nothing is asked any more, and whether it came to that.
    end: Instant,
    is_spent: bool,
    trouble: Option<String>,
    answers: &'a mut Answers,
}

impl Forks for Questions<'_> {
    fn next(&mut self) -> Option<Vec<TestKey>> {
        if self.has_enough {
            return None;
        }
        if Instant::now() >= self.end {
            self.is_spent |= !self.open.is_empty();
            return None;
        }
        let question = self.open.pop_front()?;
        let tests = question.list.iter().copied().chain([self.victim]).collect();
        self.under_way.push(question);
        Some(tests)
    }

    fn ended(&mut self, tests: &[TestKey], result: Result<Execution, String>) {
        // Equal questions have equal answers, whichever is taken.
        let list = &tests[..tests.len() - 1];
        let Some(asked) = self.under_way.iter().position(|question| question.list == list) else { return };
        let Question { place, name, .. } = self.under_way.remove(asked);
        match result {
            Ok(execution) if execution.outcome == Outcome::Skipped => {}
            Ok(execution) => {
                let failed = execution.outcome.is_failure();
                self.answers.learn(&name, failed);
                self.has_enough |= (self.take)(place, failed);
            }
            Err(trouble) => self.trouble = Some(trouble),
        }
    }

    fn deadline(&self) -> Option<Instant> {
        Some(self.end)
    }

    fn cut_short(&mut self, _: &[TestKey]) {
        self.is_spent = true;
    }
}
