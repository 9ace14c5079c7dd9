//! Which execution of its test an attempt is.
//!
//! Within a report, attempts of one test are numbered in the order in which
//! they stand. Three things are set right on the way:
//!
//! - Where a runner lists each test once, two tests of one name are two tests.
//!   The second is given the parameter `#2`; to take it for a retry would make
//!   them look flaky when one passes and one fails.
//! - pytest and unittest report a test whose body fails and whose tear-down
//!   breaks as two cases. That is one attempt. jest-junit lists a file that
//!   cannot be loaded twice.
//! - pytest-rerunfailures leaves a case that looks passed for every attempt
//!   that failed and was run again. pytest does not count those. If it counts
//!   fewer passes than the report shows, a case that is followed by another of
//!   the same test failed. Passes that are counted without being shown, those
//!   of sub-tests, can hide this, but never make a failure out of a pass.

use std::collections::HashMap;
use std::hash::BuildHasher as _;

use flakewise_model::{Attempt, Outcome, Phase, TestId};
use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};

use crate::Dialect;
use crate::dialect::Repetition;
use crate::identity::is_collection;

/// What a report says in numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// How many tests its suites declare.
    pub(crate) declared: Option<u64>,
    /// How many cases have nothing that says they did not pass.
    pub(crate) passed: u64,
    /// How many elements say that something did not pass.
    pub(crate) endings: u64,
}

/// What becomes of an attempt whose test was seen before.
enum Again {
    /// It is the next attempt.
    Attempt,
    /// It is of another test.
    Namesake,
    /// It is part of the attempt before.
    Double,
}

/// Numbers the attempts of a report.
pub(crate) fn number(mut attempts: Vec<Attempt>, dialect: Dialect, counts: Counts) -> Vec<Attempt> {
    if dialect == Dialect::Flakewise {
        return number_ours(attempts);
    }
    for attempt in attempts.iter_mut().filter(|attempt| attempt.number == 0) {
        // Of a report of our own that follows somebody else's.
        attempt.number = 1;
    }
    let mut doubles = Vec::new();
    let mut seen = Seen::with_capacity(attempts.len());
    let mut namesakes: HashMap<usize, u32> = HashMap::new();
    for index in 0..attempts.len() {
        while let Some(before) = seen.find_or_insert(&attempts, index) {
            match again(dialect, &attempts[before], &attempts[index]) {
                Again::Attempt => {
                    attempts[index].number = attempts[before].number.saturating_add(1);
                    attempts[index].phase = Phase::Retry;
                    seen.replace(&attempts, before, index);
                    break;
                }
                Again::Double => {
                    doubles.push(index);
                    break;
                }
                Again::Namesake => {
                    let count = namesakes.entry(before).or_insert(1);
                    *count += 1;
                    attempts[index].test = namesake(&attempts[index].test, *count);
                }
            }
        }
    }
    if dialect == Dialect::Pytest && passes_are_missing(&attempts, &doubles, counts) {
        mark_reruns(&mut attempts);
    }
    if !doubles.is_empty() {
        let mut doubles = doubles.into_iter().peekable();
        let mut index = 0;
        attempts.retain(|_| {
            let double = doubles.next_if_eq(&index).is_some();
            index += 1;
            !double
        });
    }
    attempts
}

/// By test, the index of its latest attempt.
struct Seen {
    hasher: DefaultHashBuilder,
    /// With half of the hash, so that other attempts need not be looked at.
    table: HashTable<(u32, u32)>,
}

impl Seen {
    fn with_capacity(capacity: usize) -> Self {
        Self { hasher: DefaultHashBuilder::default(), table: HashTable::with_capacity(capacity) }
    }

    /// The attempt of the same test that was seen last; if there is none, this
    /// one is from now on.
    fn find_or_insert(&mut self, attempts: &[Attempt], index: usize) -> Option<usize> {
        let hash = self.hasher.hash_one(attempts[index].test.as_str());
        let half = upper_half(hash);
        let same =
            |other: &(u32, u32)| other.0 == half && attempts[other.1 as usize].test == attempts[index].test;
        let rehash = |other: &(u32, u32)| self.hasher.hash_one(attempts[other.1 as usize].test.as_str());
        match self.table.entry(hash, same, rehash) {
            Entry::Occupied(occupied) => Some(occupied.get().1 as usize),
            Entry::Vacant(vacant) => {
                vacant.insert((half, narrow(index)));
                None
            }
        }
    }

    /// Puts a later attempt of the same test in the place of one before.
    fn replace(&mut self, attempts: &[Attempt], before: usize, index: usize) {
        let hash = self.hasher.hash_one(attempts[index].test.as_str());
        let before = narrow(before);
        if let Some(latest) = self.table.find_mut(hash, |other| other.1 == before) {
            latest.1 = narrow(index);
        }
    }
}

fn upper_half(hash: u64) -> u32 {
    u32::try_from(hash >> 32).expect("half of 64 bits are 32")
}

fn narrow(index: usize) -> u32 {
    u32::try_from(index).expect("fewer attempts than this fit in memory")
}

fn again(dialect: Dialect, before: &Attempt, attempt: &Attempt) -> Again {
    let both_failed = before.outcome.is_failure() && attempt.outcome.is_failure();
    let double = match dialect {
        Dialect::Pytest => both_failed && broke_in_teardown(attempt),
        Dialect::Unittest => both_failed && attempt.outcome == Outcome::Errored,
        Dialect::Jest => both_failed && is_collection(&attempt.test),
        _ => false,
    };
    match dialect.repetition() {
        _ if double => Again::Double,
        Repetition::Attempt => Again::Attempt,
        Repetition::Namesake => Again::Namesake,
    }
}

fn broke_in_teardown(attempt: &Attempt) -> bool {
    let in_teardown = |message: &str| message.starts_with("failed on teardown");
    attempt.outcome == Outcome::Errored
        && attempt.failure.as_ref().is_some_and(|failure| in_teardown(&failure.message))
}

/// Another test of the same name.
fn namesake(test: &TestId, number: u32) -> TestId {
    let renamed = match test.as_str().strip_suffix(']') {
        Some(open) if test.parameters().is_some() => format!("{open}#{number}]"),
        _ => format!("{test}[#{number}]"),
    };
    renamed.parse().unwrap_or_else(|_| test.clone())
}

/// Whether pytest counts fewer passes than it shows.
fn passes_are_missing(attempts: &[Attempt], doubles: &[usize], counts: Counts) -> bool {
    // The body passed and is counted, the tear-down broke and is counted too.
    let counted_twice = attempts.iter().filter(|attempt| broke_in_teardown(attempt)).count() - doubles.len();
    let shown = counts.passed + counts.endings + counted_twice as u64;
    counts.declared.is_some_and(|declared| declared + (doubles.len() as u64) < shown)
}

/// Takes cases that look passed but were run again for what they were.
fn mark_reruns(attempts: &mut [Attempt]) {
    let mut last: HashMap<TestId, u32> = HashMap::new();
    for attempt in attempts.iter().filter(|attempt| attempt.number > 1) {
        let last = last.entry(attempt.test.clone()).or_default();
        *last = attempt.number.max(*last);
    }
    for attempt in attempts {
        let followed = last.get(&attempt.test).is_some_and(|last| attempt.number < *last);
        if followed && attempt.outcome == Outcome::Passed {
            attempt.outcome = Outcome::Failed;
        }
    }
}

/// Numbers attempts of our own report, unless a note has.
fn number_ours(mut attempts: Vec<Attempt>) -> Vec<Attempt> {
    let mut counts: HashMap<TestId, u32> = HashMap::new();
    for attempt in &mut attempts {
        let count = counts.entry(attempt.test.clone()).or_default();
        *count += 1;
        crate::note::number(attempt, *count);
    }
    attempts
}
