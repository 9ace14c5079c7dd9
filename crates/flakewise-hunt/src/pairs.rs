//! Every test before every other: who makes whom have another outcome than alone.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use flakewise_model::{Outcome, Tally};
use flakewise_runner::{Execution, Forks, RunnerError, Suite, TestKey};

use crate::hunt::Collect;

/// Runs of each test alone. One that does not end alike in all is left out.
const ALONE: u32 = 3;
/// Further runs of a pair that differs.
const CONFIRMATIONS: usize = 3;

/// A test, and how it ended alone.
#[derive(Clone, Debug, PartialEq)]
pub struct PairTest {
    /// Its runner's name for it.
    pub name: String,
    /// In processes of its own.
    pub alone: Tally,
    /// How long it takes.
    pub seconds: f64,
}

/// A test that ends otherwise right after another than alone, each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pair {
    /// The place of the one that runs first.
    pub first: usize,
    /// The place of the one that ends otherwise.
    pub second: usize,
}

/// All pairs of a suite.
#[derive(Clone, Debug, PartialEq)]
pub struct Pairs {
    /// The tests.
    pub tests: Vec<PairTest>,
    /// Pairs that differ.
    pub pairs: Vec<Pair>,
    /// Pairs that were run.
    pub asked: u64,
    /// Forks it took.
    pub forks: u64,
    /// Time for the pairs alone.
    pub duration: Duration,
}

/// Runs every test before every other. `tell` hears how many pairs of how many
/// were run.
pub fn pairs(suite: &mut Suite, jobs: usize, tell: &dyn Fn(u64, u64)) -> Result<Pairs, RunnerError> {
    suite.run(&mut Collect)?;
    suite.search();
    let keys = suite.tests();
    if keys.is_empty() {
        return Err(RunnerError::NoTests);
    }
    let test =
        |key: &TestKey| PairTest { name: suite.name(*key).to_owned(), alone: Tally::default(), seconds: 0.0 };
    let mut tests: Vec<PairTest> = keys.iter().map(test).collect();
    let places: HashMap<TestKey, usize> = keys.iter().enumerate().map(|(place, key)| (*key, place)).collect();
    let alone = keys.iter().flat_map(|key| std::iter::repeat_n(vec![*key], ALONE as usize));
    let mut asking = Asking::new(alone, |asked, execution| {
        let test = &mut tests[places[&asked[0]]];
        test.alone.add(execution.outcome.is_failure());
        test.seconds += execution.duration.unwrap_or_default().as_secs_f64() / f64::from(ALONE);
    });
    suite.fork_many(1, &mut asking)?;
    let began = Instant::now();
    let steady: Vec<TestKey> = keys
        .iter()
        .copied()
        .filter(|key| {
            let alone = tests[places[key]].alone;
            alone.runs() > 0 && !alone.is_mixed()
        })
        .collect();
    let all = steady.len() as u64 * (steady.len() as u64).saturating_sub(1);
    let others = |victim: TestKey| {
        let first = move |first: &TestKey| *first != victim && first.session == victim.session;
        steady.iter().copied().filter(first).map(move |first| vec![first, victim])
    };
    let pair_of = |asked: &[TestKey]| Pair { first: places[&asked[0]], second: places[&asked[1]] };
    let differs = |pair: Pair, execution: &Execution| {
        execution.outcome.is_failure() != (tests[pair.second].alone.failed > 0)
    };
    let mut suspects: Vec<Vec<TestKey>> = Vec::new();
    let mut done = 0;
    let lists = steady.iter().copied().flat_map(others);
    suite.fork_many(
        jobs,
        &mut Asking::new(lists, |asked, execution| {
            done += 1;
            tell(done, all);
            if differs(pair_of(asked), execution) {
                suspects.push(asked.to_vec());
            }
        }),
    )?;
    // With nothing beside them: two that meet by a file are not a pair.
    let mut shown: HashMap<Pair, usize> = HashMap::new();
    let again = suspects.into_iter().flat_map(|list| std::iter::repeat_n(list, CONFIRMATIONS));
    suite.fork_many(
        1,
        &mut Asking::new(again, |asked, execution| {
            let pair = pair_of(asked);
            if differs(pair, execution) {
                *shown.entry(pair).or_default() += 1;
            }
        }),
    )?;
    let always = shown.into_iter().filter(|(_, times)| *times == CONFIRMATIONS);
    let mut found: Vec<Pair> = always.map(|(pair, _)| pair).collect();
    found.sort_by_key(|pair| (pair.second, pair.first));
    Ok(Pairs { tests, pairs: found, asked: done, forks: suite.forks(), duration: began.elapsed() })
}

/// Runs lists of tests.
struct Asking<I, T> {
    lists: I,
    /// Told how the last of a list ended.
    take: T,
}

impl<I, T> Asking<I, T>
where
    I: Iterator<Item = Vec<TestKey>>,
    T: FnMut(&[TestKey], &Execution),
{
    fn new(lists: I, take: T) -> Self {
        Self { lists, take }
    }
}

impl<I, T> Forks for Asking<I, T>
where
    I: Iterator<Item = Vec<TestKey>>,
    T: FnMut(&[TestKey], &Execution),
{
    fn next(&mut self) -> Option<Vec<TestKey>> {
        self.lists.next()
    }

    fn ended(&mut self, tests: &[TestKey], result: Result<Execution, String>) {
        if let Ok(execution) = result
            && execution.outcome != Outcome::Skipped
        {
            (self.take)(tests, &execution);
        }
    }
}
