//! Which other tests make a test end otherwise than alone.
//!
//! First an order is looked for in which it does: the suite's own, reversed,
//! shuffled. Then the tests before it are reduced to those that are needed.
//! All of that in forks of one process, and what is found is confirmed in new
//! ones.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use flakewise_model::{Culprit, CulpritAnswer, CulpritReport, NamedTest, Notice, Outcome, Run, Tally};
use flakewise_runner::{Execution, Forks, FreshOptions, RunnerError, Suite, TestKey, Versions};
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;

use crate::hunt::Collect;
use crate::minimise::minimise;
use crate::name::file_of;

/// What to look for.
#[derive(Clone, Debug)]
pub struct CulpritSettings {
    /// The test: its runner's name for it, or the end of that.
    pub test: String,
    /// Whether to try every other test, and to look for cleaners.
    pub exhaustive: bool,
    /// How many forks run side by side.
    pub jobs: usize,
    /// Where randomness comes from.
    pub seed: u64,
}

/// How far a search is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CulpritProgress {
    /// The test runs alone.
    Alone,
    /// Orders of all tests are tried.
    Orders {
        /// How many were.
        tried: u32,
    },
    /// Of so many tests before it, those that matter are looked for.
    Reducing {
        /// How many are left.
        left: usize,
    },
    /// Tests are tried one by one.
    Trying {
        /// How many were.
        done: u64,
        /// Of how many.
        all: u64,
    },
    /// What was found is run in new processes.
    Confirming,
}

/// What a search is done with.
pub struct CulpritContext<'a> {
    /// What to look for.
    pub settings: &'a CulpritSettings,
    /// Makes the run, once the versions of the runner are known.
    pub run: &'a dyn Fn(Option<Versions<'_>>) -> Run,
    /// The command, for people.
    pub command: Vec<String>,
    /// Told how far we are.
    pub progress: &'a dyn Fn(CulpritProgress),
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum CulpritError {
    /// The tests could not be run.
    #[error(transparent)]
    Runner(#[from] RunnerError),
    /// No test has this name.
    #[error("no test is called `{name}`")]
    Unknown {
        /// The name asked for.
        name: String,
    },
    /// Several have.
    #[error("`{name}` may be any of {} tests, such as `{}` and `{}`", .found.len(), .found[0], .found[1])]
    Ambiguous {
        /// The name asked for.
        name: String,
        /// Tests it may be.
        found: Vec<String>,
    },
    /// Tests of this suite cannot be run in forks.
    #[error("tests of this suite cannot be run in forks: threads were running before the first of them")]
    NoForks,
}

/// Runs of the test alone: one that fails in half of its runs would hide with a
/// chance of one in a thousand.
const ALONE: usize = 10;
/// Orders of all tests to try.
const ORDERS: u32 = 10;
/// A first find is repeated so often, to learn whether it is certain.
const REPEATS: usize = 3;
/// Tests that do something now and then are tried so often before they are let
/// go: what works in 3 of 10 runs shows with a chance of 99 %.
const PATIENCE: usize = 14;
/// Runs of what was found.
const CONFIRMATIONS: usize = 10;
/// New processes for what works each time.
const FRESH: usize = 2;

/// Looks for the tests that a test depends on.
pub fn culprit(suite: &mut Suite, context: &mut CulpritContext<'_>) -> Result<CulpritReport, CulpritError> {
    let began = Instant::now();
    suite.run(&mut Collect)?;
    let victim = find(suite, &context.settings.test)?;
    if !suite.can_fork(victim.session) {
        return Err(CulpritError::NoForks);
    }
    let run = Arc::new((context.run)(suite.versions()));
    let mut search = Search { suite, context, run, victim, forks: 0, notices: Vec::new() };
    let (alone, answer, cleaners) = search.answer()?;
    let Search { suite, context, run, forks, notices, .. } = search;
    Ok(CulpritReport {
        run,
        command: context.command.clone(),
        seed: context.settings.seed,
        test: named(suite, victim),
        alone,
        answer,
        cleaners,
        exhaustive: context.settings.exhaustive,
        forks,
        duration: began.elapsed(),
        notices,
    })
}

/// The test of this name: exactly, or the only one whose name ends so.
fn find(suite: &Suite, name: &str) -> Result<TestKey, CulpritError> {
    let tests = suite.tests();
    if tests.is_empty() {
        return Err(RunnerError::NoTests.into());
    }
    if let Some(test) = tests.iter().find(|test| suite.name(**test) == name) {
        return Ok(*test);
    }
    let ends = |test: &&TestKey| {
        let rest = suite.name(**test).strip_suffix(name);
        rest.is_some_and(|rest| rest.ends_with("::") || rest.ends_with('/'))
    };
    let found: Vec<TestKey> = tests.iter().filter(ends).copied().collect();
    match found[..] {
        [] => Err(CulpritError::Unknown { name: name.to_owned() }),
        [test] => Ok(test),
        _ => {
            let found = found.iter().map(|test| suite.name(*test).to_owned()).collect();
            Err(CulpritError::Ambiguous { name: name.to_owned(), found })
        }
    }
}

fn named(suite: &Suite, test: TestKey) -> NamedTest {
    NamedTest { test: suite.test_id(test), name: suite.name(test).to_owned() }
}

struct Search<'a, 'b> {
    suite: &'a mut Suite,
    context: &'a mut CulpritContext<'b>,
    run: Arc<Run>,
    victim: TestKey,
    forks: u64,
    notices: Vec<Notice>,
}

type Answer = (Tally, CulpritAnswer, Vec<NamedTest>);

impl Search<'_, '_> {
    fn answer(&mut self) -> Result<Answer, RunnerError> {
        (self.context.progress)(CulpritProgress::Alone);
        let alone = self.tally(&[], ALONE)?;
        if alone.is_mixed() || alone.runs() == 0 {
            return Ok((alone, CulpritAnswer::FlakyAlone, Vec::new()));
        }
        let fails_alone = alone.failed > 0;
        let Some((before, orders)) = self.order_that_differs(fails_alone)? else {
            return Ok((alone, CulpritAnswer::NoDifference { orders: ORDERS }, Vec::new()));
        };
        let again = self.tally(&before, REPEATS)?;
        let differs = if fails_alone { again.passed } else { again.failed };
        let tries = if differs == REPEATS as u64 { 1 } else { PATIENCE };
        let mut left = before.len();
        let needed = minimise(&before, |part| {
            let does = self.differs(part, fails_alone, tries)?;
            if does {
                left = part.len();
            }
            (self.context.progress)(CulpritProgress::Reducing { left });
            Ok::<_, RunnerError>(does)
        })?;
        let mut culprits = vec![self.confirm(&needed, fails_alone)?];
        let first = &culprits[0].forks;
        if (if fails_alone { first.passed } else { first.failed }) == 0 {
            return Ok((alone, CulpritAnswer::NoDifference { orders }, Vec::new()));
        }
        let mut cleaners = Vec::new();
        if self.context.settings.exhaustive {
            for test in self.all_that_differ(fails_alone, tries, &needed)? {
                culprits.push(self.confirm(&[test], fails_alone)?);
            }
            if !fails_alone {
                cleaners = self.cleaners(&needed)?;
            }
        }
        let answer =
            if fails_alone { CulpritAnswer::Brittle(culprits) } else { CulpritAnswer::Victim(culprits) };
        Ok((alone, answer, cleaners))
    }

    /// Tests to run before it so that it ends otherwise than alone, and how many
    /// orders were tried until one was found.
    fn order_that_differs(&mut self, fails_alone: bool) -> Result<Option<(Vec<TestKey>, u32)>, RunnerError> {
        let victim = self.victim;
        let mut others = self.others();
        others.sort_unstable();
        let prior: Vec<TestKey> = others.iter().copied().filter(|test| *test < victim).collect();
        let mut random = StdRng::seed_from_u64(self.context.settings.seed);
        for tried in 1..=ORDERS {
            let order = match tried {
                1 => prior.clone(),
                2 => others.clone(),
                3 => others.iter().rev().copied().collect(),
                _ => {
                    others.shuffle(&mut random);
                    others.clone()
                }
            };
            (self.context.progress)(CulpritProgress::Orders { tried });
            if !order.is_empty() && self.differs(&order, fails_alone, 1)? {
                return Ok(Some((order, tried)));
            }
        }
        Ok(None)
    }

    /// Whether the test ends otherwise than alone after these, in one of some
    /// tries.
    fn differs(&mut self, before: &[TestKey], fails_alone: bool, tries: usize) -> Result<bool, RunnerError> {
        let orders = vec![before.to_vec(); tries];
        let mut found = false;
        self.ask(orders, |_, failed| {
            found |= failed != fails_alone;
            found
        })?;
        Ok(found)
    }

    /// How the test ends after these.
    fn tally(&mut self, before: &[TestKey], runs: usize) -> Result<Tally, RunnerError> {
        let mut tally = Tally::default();
        self.ask(vec![before.to_vec(); runs], |_, failed| {
            tally.add(failed);
            false
        })?;
        Ok(tally)
    }

    /// Runs the test after each of some lists of tests, side by side, until
    /// `take` has had enough of places and outcomes.
    fn ask(
        &mut self,
        orders: Vec<Vec<TestKey>>,
        mut take: impl FnMut(usize, bool) -> bool,
    ) -> Result<(), RunnerError> {
        let mut questions = Questions {
            victim: self.victim,
            open: orders.into_iter().enumerate().collect(),
            under_way: Vec::new(),
            take: &mut take,
            has_enough: false,
            forks: 0,
            trouble: None,
        };
        self.suite.fork_many(self.context.settings.jobs, &mut questions)?;
        let Questions { forks, trouble, .. } = questions;
        self.forks += forks;
        if let Some(trouble) = trouble {
            let text = format!("some forks told nothing: {trouble}");
            if self.notices.iter().all(|notice| notice.text != text) {
                self.notices.push(Notice { text, warning: true });
            }
        }
        Ok(())
    }

    /// Runs what was found again and again, and in new processes.
    fn confirm(&mut self, needed: &[TestKey], fails_alone: bool) -> Result<Culprit, RunnerError> {
        let forks = self.tally(needed, CONFIRMATIONS)?;
        (self.context.progress)(CulpritProgress::Confirming);
        let differing = |tally: &Tally| if fails_alone { tally.passed } else { tally.failed };
        let is_certain = differing(&forks) == forks.runs();
        let mut fresh = Tally::default();
        let options = FreshOptions {
            hash_seed: self.suite.hash_seed(),
            before: needed.to_vec(),
            ..FreshOptions::default()
        };
        for _ in 0..if is_certain { FRESH } else { PATIENCE } {
            match self.suite.fresh(self.victim, &options)?.execution {
                Ok(execution) if execution.outcome == Outcome::Skipped => break,
                Ok(execution) => fresh.add(execution.outcome.is_failure()),
                Err(trouble) => {
                    let text = format!("what was found could not be run in a new process: {trouble}");
                    self.notices.push(Notice { text, warning: true });
                    break;
                }
            }
            if !is_certain && differing(&fresh) > 0 {
                break;
            }
        }
        let tests = needed.iter().map(|test| named(self.suite, *test)).collect();
        Ok(Culprit { tests, forks, fresh })
    }

    /// Every other test that does it by itself, apart from one that is known.
    fn all_that_differ(
        &mut self,
        fails_alone: bool,
        tries: usize,
        known: &[TestKey],
    ) -> Result<Vec<TestKey>, RunnerError> {
        let others = self.others();
        let wanted: Vec<TestKey> = others.into_iter().filter(|test| known != [*test]).collect();
        let orders: Vec<Vec<TestKey>> =
            wanted.iter().flat_map(|test| std::iter::repeat_n(vec![*test], tries)).collect();
        let (mut done, all) = (0, orders.len() as u64);
        let progress = self.context.progress;
        let mut found = vec![false; wanted.len()];
        self.ask(orders, |place, failed| {
            found[place / tries] |= failed != fails_alone;
            done += 1;
            progress(CulpritProgress::Trying { done, all });
            false
        })?;
        Ok(wanted.into_iter().zip(found).filter(|(_, found)| *found).map(|(test, _)| test).collect())
    }

    /// Tests that let it pass when they run between the culprit and it, each
    /// time.
    fn cleaners(&mut self, culprit: &[TestKey]) -> Result<Vec<NamedTest>, RunnerError> {
        let wanted: Vec<TestKey> = self.others().into_iter().filter(|test| !culprit.contains(test)).collect();
        let order = |test: &TestKey| culprit.iter().copied().chain([*test]).collect();
        let orders: Vec<Vec<TestKey>> = wanted.iter().map(order).collect();
        let (mut done, all) = (0, orders.len() as u64);
        let progress = self.context.progress;
        let mut passed = vec![false; wanted.len()];
        self.ask(orders, |place, failed| {
            passed[place] = !failed;
            done += 1;
            progress(CulpritProgress::Trying { done, all });
            false
        })?;
        let mut cleaners = Vec::new();
        for (test, _) in wanted.into_iter().zip(passed).filter(|(_, passed)| *passed) {
            let before: Vec<TestKey> = culprit.iter().copied().chain([test]).collect();
            let again = self.tally(&before, PATIENCE)?;
            if again.failed == 0 {
                cleaners.push(named(self.suite, test));
            }
        }
        Ok(cleaners)
    }

    /// All other tests, those of the same file first: culprits are often near.
    fn others(&self) -> Vec<TestKey> {
        let victim = self.victim;
        let all = self.suite.tests().into_iter();
        let mut others: Vec<TestKey> =
            all.filter(|test| test.session == victim.session && *test != victim).collect();
        let file = |test: TestKey| file_of(self.suite.name(test));
        others.sort_by_key(|test| file(*test) != file(victim));
        others
    }
}

/// Lists of tests to run before one, and what becomes of it.
struct Questions<'a> {
    victim: TestKey,
    open: VecDeque<(usize, Vec<TestKey>)>,
    under_way: Vec<(usize, Vec<TestKey>)>,
    /// Given places and outcomes; whether that is enough.
    take: &'a mut dyn FnMut(usize, bool) -> bool,
    has_enough: bool,
    forks: u64,
    trouble: Option<String>,
}

impl Forks for Questions<'_> {
    fn next(&mut self) -> Option<Vec<TestKey>> {
        if self.has_enough {
            return None;
        }
        let (place, mut tests) = self.open.pop_front()?;
        tests.push(self.victim);
        self.under_way.push((place, tests.clone()));
        Some(tests)
    }

    fn ended(&mut self, tests: &[TestKey], result: Result<Execution, String>) {
        self.forks += 1;
        // Equal questions have equal answers, whichever is taken.
        let Some(known) = self.under_way.iter().position(|(_, asked)| asked == tests) else { return };
        let (place, _) = self.under_way.remove(known);
        match result {
            Ok(execution) if execution.outcome == Outcome::Skipped => {}
            Ok(execution) => self.has_enough |= (self.take)(place, execution.outcome.is_failure()),
            Err(trouble) => self.trouble = Some(trouble),
        }
    }
}
