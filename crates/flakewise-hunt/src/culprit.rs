//! Which other tests make a test have another outcome than alone.
//!
//! First a part of the others is looked for after which it does, small ones first;
//! then an order of all: the suite's own, reversed, shuffled. The tests before it
//! are reduced to those that are needed. All of that in forks of one process, and
//! what is found is confirmed in new ones. When the budget is exhausted the search
//! ends with what it knows.

mod ask;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use flakewise_model::{
    Culprit, CulpritAnswer, CulpritReport, FindingId, NamedTest, Notice, Probability, Run, Tally, TestId,
    tries,
};
use flakewise_runner::{RunnerError, Suite, TestKey, Versions};
use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_chacha::ChaCha12Rng;

use crate::answers::Answers;
use crate::decide::{LIKELY, SURE, chance, odds_of_difference};
use crate::hunt::Collect;
use crate::minimise::minimise;
use crate::name::file_of;
use crate::order::{arrange, orders};
use crate::shared::shared;

/// What to look for.
#[derive(Clone, Debug)]
pub struct CulpritSettings {
    /// The test: its runner's name for it, or the end of that.
    pub test: String,
    /// Whether to try every other test, and to look for cleaners.
    pub exhaustive: bool,
    /// How long to search, from when the tests are collected.
    pub budget: Duration,
    /// How many forks run in parallel.
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
    /// Out of this many tests before it, those that matter are looked for.
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
    /// Orders in which a test failed before: the tests that ran before it.
    pub failing_orders: &'a dyn Fn(&TestId) -> Vec<Vec<TestId>>,
    /// What an earlier search learned.
    pub answers: &'a mut Answers,
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
    #[error("no test matches `{name}`")]
    Unknown {
        /// The name requested.
        name: String,
    },
    /// Several have.
    #[error("`{name}` matches {} tests, e.g. `{}` and `{}`", .found.len(), .found[0], .found[1])]
    Ambiguous {
        /// The name requested.
        name: String,
        /// Tests it may be.
        found: Vec<String>,
    },
    /// Tests of this suite cannot be run in forks.
    #[error("tests of this suite cannot run in forks: threads were running before the first test")]
    NoForks,
}

/// Runs of the test alone: one that fails in half of its runs would hide with a
/// chance of one in a thousand.
const ALONE: usize = 10;
/// Tests that are run together before it at most, before whole orders are tried.
const LARGEST_PART: usize = 64;
/// Orders of all tests to try. In each but the first every other test runs before
/// this one, so that what works in 3 of 10 runs shows with a chance of 99.5 %.
const LEAST_ORDERS: usize = 16;
/// In a small suite more, for what another test cleans up after in half of them.
const MOST_ORDERS: usize = 64;
/// So many tests may run for that.
const ORDERED_TESTS: usize = 20_000;
/// A first find is repeated so often, to learn whether it is certain.
const REPEATS: usize = 3;
/// And so often if it is not, to learn how often it works.
const MORE_REPEATS: usize = 20;
/// What works now and then is tried until it would have shown but for this
/// chance.
const MISSED: f64 = 0.002;
/// But no more often than this.
const MOST_TRIES: usize = 60;
/// Runs of what was found, at a time.
const CONFIRMATIONS: usize = 10;
/// And at most.
const MOST_CONFIRMATIONS: usize = 60;

/// New processes that there must be time for at the end.
const FRESH_RESERVE: u32 = 3;
/// Tests named in a notice.
const NAMED: usize = 5;

/// Looks for the tests that a test depends on.
pub fn culprit(suite: &mut Suite, context: &mut CulpritContext<'_>) -> Result<CulpritReport, CulpritError> {
    search(suite, context, 1.0).map(|(report, _)| report)
}

/// What is left for those who continue after a search.
pub(crate) struct Rest {
    /// When the whole budget is over.
    pub(crate) end: Instant,
    /// What a new process takes.
    pub(crate) fresh_takes: Duration,
}

/// Looks for the tests that a test depends on, in a share of the budget.
pub(crate) fn search(
    suite: &mut Suite,
    context: &mut CulpritContext<'_>,
    share: f64,
) -> Result<(CulpritReport, Rest), CulpritError> {
    let began = Instant::now();
    suite.run(&mut Collect)?;
    suite.search();
    let collected = began.elapsed();
    let budget = context.settings.budget;
    let deadline = Instant::now() + budget;
    let whole = budget.mul_f64(share);
    let reserve = (FRESH_RESERVE * collected).min(whole / 3);
    let end = Instant::now() + whole;
    let forks_end = Instant::now() + whole.saturating_sub(reserve);
    let victim = find(suite, &context.settings.test)?;
    if !suite.can_fork(victim.session) {
        return Err(CulpritError::NoForks);
    }
    let run = Arc::new((context.run)(suite.versions()));
    let mut search = Search {
        suite,
        context,
        victim,
        alone: Tally::default(),
        fails_alone: false,
        tries: 1,
        began,
        end,
        forks_end,
        fresh_takes: collected,
        is_spent: false,
        pairs: None,
        first_proof: None,
        notices: Vec::new(),
    };
    let (answer, cleaners) = search.answer()?;
    let Search { suite, context, alone, notices, first_proof, pairs, is_spent, fresh_takes, .. } = search;
    if is_spent {
        context.answers.keep();
    }
    let report = CulpritReport {
        run,
        plain: suite.plain_command(victim.session, &context.command),
        command: context.command.clone(),
        seed: context.settings.seed,
        test: named(suite, victim),
        alone,
        answer,
        cleaners,
        exhaustive: context.settings.exhaustive,
        forks: suite.forks(),
        known: context.answers.used(),
        pairs,
        first_proof,
        spent: is_spent.then_some(budget),
        duration: began.elapsed(),
        notices,
    };
    Ok((report, Rest { end: deadline, fresh_takes }))
}

/// The test of this name: its runner's name, its id or the id of a finding about
/// it; else the only one whose name ends so.
pub(crate) fn find(suite: &Suite, name: &str) -> Result<TestKey, CulpritError> {
    let tests = suite.tests();
    if tests.is_empty() {
        return Err(RunnerError::NoTests.into());
    }
    if let Some(test) = tests.iter().find(|test| suite.name(**test) == name) {
        return Ok(*test);
    }
    // `report` and `show` leave the scheme out.
    let shown = |id: &TestId| id.without_scheme() == name;
    let finding = FindingId::from_text(name);
    let is_it = |id: &TestId| id.as_str() == name || shown(id) || finding.names(id);
    if let Some(test) = tests.iter().find(|test| is_it(&suite.test_id(**test))) {
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

pub(crate) fn named(suite: &Suite, test: TestKey) -> NamedTest {
    NamedTest { test: suite.test_id(test), name: suite.name(test).to_owned(), argument: suite.argument(test) }
}

/// `a`, `b` and 3 more tests.
fn few(tests: &[NamedTest]) -> String {
    let names: Vec<String> = tests.iter().take(NAMED).map(|test| format!("`{}`", test.name)).collect();
    let names = names.join(", ");
    match tests.len().saturating_sub(NAMED) {
        0 => names,
        more => format!("{names} and {more} more tests"),
    }
}

struct Search<'a, 'b> {
    suite: &'a mut Suite,
    context: &'a mut CulpritContext<'b>,
    victim: TestKey,
    /// How the test ends in processes of its own.
    alone: Tally,
    fails_alone: bool,
    /// How often something is tried before it is said to do nothing.
    tries: usize,
    began: Instant,
    /// When the search ends.
    end: Instant,
    /// When its forks do, so that there is time to confirm what they show.
    forks_end: Instant,
    /// What a new process takes.
    fresh_takes: Duration,
    /// Whether something was not tried because there was no time.
    is_spent: bool,
    pairs: Option<(u64, Duration)>,
    first_proof: Option<Duration>,
    notices: Vec<Notice>,
}

impl Search<'_, '_> {
    fn answer(&mut self) -> Result<(CulpritAnswer, Vec<NamedTest>), RunnerError> {
        (self.context.progress)(CulpritProgress::Alone);
        self.run_alone(ALONE)?;
        if self.alone.is_mixed() || (self.alone.runs() == 0 && !self.is_spent) {
            return Ok((CulpritAnswer::FlakyAlone, Vec::new()));
        }
        self.fails_alone = self.alone.failed > 0;
        let mut found = match self.part_that_differs()? {
            Some(before) => self.reduced(&before)?,
            None => None,
        };
        let mut orders = 0;
        if found.is_none() && !self.alone.is_mixed() {
            let (differs, tried) = self.order_that_differs()?;
            orders = tried;
            if let Some(before) = differs {
                found = self.reduced(&before)?;
            }
        }
        let Some((needed, first)) = found else {
            if self.alone.runs() < MOST_CONFIRMATIONS as u64 {
                // It may be one that seldom fails, alone as after others.
                self.run_alone(MOST_CONFIRMATIONS)?;
            }
            let answer = if self.alone.is_mixed() {
                CulpritAnswer::FlakyAlone
            } else if self.is_spent {
                CulpritAnswer::Undecided { orders }
            } else {
                CulpritAnswer::NoDifference { orders }
            };
            return Ok((answer, Vec::new()));
        };
        let mut culprits = vec![first];
        let found = shared(self.suite, &needed, self.victim, self.fails_alone, self.tries, Some(self.end))?;
        culprits[0].shared = found;
        self.is_spent |= Instant::now() >= self.end;
        let mut cleaners = Vec::new();
        if self.context.settings.exhaustive {
            let found = self.all_that_differ(&needed)?;
            culprits.extend(self.confirm_all(&found)?);
            if !self.fails_alone {
                cleaners = self.cleaners(&needed, culprits[0].forks)?;
            }
        }
        let answer =
            if self.fails_alone { CulpritAnswer::Brittle(culprits) } else { CulpritAnswer::Victim(culprits) };
        Ok((answer, cleaners))
    }

    /// Runs the test alone some more.
    fn run_alone(&mut self, runs: usize) -> Result<(), RunnerError> {
        let more = self.tally(&[], runs)?;
        self.alone += more;
        Ok(())
    }

    /// Of tests after which it ended otherwise, those that are needed, if that is
    /// beyond doubt. If not, it may be the test itself: it runs alone some more.
    fn reduced(&mut self, before: &[TestKey]) -> Result<Option<(Vec<TestKey>, Culprit)>, RunnerError> {
        let before = self.halved(before)?;
        self.tries = self.tries_for(&before)?;
        let mut needed = self.minimised(&before)?;
        let mut forks = self.tally_until_sure(&needed, CONFIRMATIONS)?;
        if self.tries == 1 && self.differing(forks) < forks.runs() {
            // It seemed to show each time, and does not.
            self.tries = self.tries_for(&needed)?;
            needed = self.minimised(&needed)?;
            forks = self.tally_until_sure(&needed, CONFIRMATIONS)?;
        }
        let found = self.confirm(&needed, forks)?;
        if found.confidence.get() >= chance(LIKELY) {
            return Ok(Some((needed, found)));
        }
        self.run_alone(MOST_CONFIRMATIONS)?;
        if !self.alone.is_mixed() {
            let verb = if self.fails_alone { "passed" } else { "failed" };
            let text = if self.is_spent {
                format!(
                    "it {verb} after {}; budget exhausted before the necessary tests were found",
                    few(&found.tests)
                )
            } else {
                format!("it {verb} after {}, but too rarely in reruns to be certain", few(&found.tests))
            };
            self.notices.push(Notice { text, warning: true });
        }
        Ok(None)
    }

    /// A part of the other tests after which it has another outcome than alone. Small
    /// parts come first and grow, so that what is common is found at once, and no
    /// test runs twice. Who works only with others that are far, or is cleaned up
    /// after, is left to whole orders.
    fn part_that_differs(&mut self) -> Result<Option<Vec<TestKey>>, RunnerError> {
        let mut rest = self.others();
        let near = rest.partition_point(|test| self.is_near(*test));
        rest[near..].shuffle(&mut ChaCha12Rng::seed_from_u64(self.context.settings.seed));
        let mut parts: Vec<Vec<TestKey>> = Vec::new();
        let mut size = 1;
        while !rest.is_empty() {
            let mut part: Vec<TestKey> = rest.drain(..size.min(rest.len())).collect();
            // In the suite's own order, as far as that goes.
            part.sort_unstable();
            parts.push(part);
            size = (size + size.div_ceil(2)).min(LARGEST_PART);
        }
        let (found, _) = self.first_that_differs(&parts, 1, |search, done| {
            let (done, all) = (done as u64, parts.len() as u64);
            (search.context.progress)(CulpritProgress::Trying { done, all });
        })?;
        Ok(found.map(|place| parts.swap_remove(place)))
    }

    /// Tests to run before it so that it has another outcome than alone, if any do, and
    /// how many orders were tried.
    fn order_that_differs(&mut self) -> Result<(Option<Vec<TestKey>>, u32), RunnerError> {
        let mut others = self.others();
        others.sort_unstable();
        let prior: Vec<TestKey> = others.iter().copied().filter(|test| *test < self.victim).collect();
        let module = |test: &TestKey| file_of(self.suite.name(*test));
        let mut tried = self.known_orders(&others);
        tried.push(prior);
        tried.push(others.clone());
        let seed = self.context.settings.seed;
        let most = (ORDERED_TESTS / others.len().max(1)).clamp(LEAST_ORDERS, MOST_ORDERS);
        let more = orders(seed).take(most - 2);
        tried.extend(more.map(|order| arrange(order, &others, module)));
        tried.retain(|order| !order.is_empty());
        let (found, asked) = self.first_that_differs(&tried, 1, |search, done| {
            let tried = u32::try_from(done).unwrap_or(u32::MAX);
            (search.context.progress)(CulpritProgress::Orders { tried });
        })?;
        let count = u32::try_from(found.map_or(asked, |place| place + 1)).unwrap_or(u32::MAX);
        Ok((found.map(|place| tried.swap_remove(place)), count))
    }

    /// Orders in which it failed before, of the tests that are there now.
    fn known_orders(&self, others: &[TestKey]) -> Vec<Vec<TestKey>> {
        if self.fails_alone {
            return Vec::new();
        }
        let keys: HashMap<TestId, TestKey> =
            others.iter().map(|test| (self.suite.test_id(*test), *test)).collect();
        let known = (self.context.failing_orders)(&self.suite.test_id(self.victim));
        known.iter().map(|order| order.iter().filter_map(|test| keys.get(test).copied()).collect()).collect()
    }

    /// Of tests after which it ended otherwise, half and half again as long as one
    /// half is seen to do it, too. Culprits that always work are found by this
    /// alone, before it takes patience.
    fn halved(&mut self, before: &[TestKey]) -> Result<Vec<TestKey>, RunnerError> {
        let mut left = before.to_vec();
        while left.len() > 1 {
            let mut halves: Vec<Vec<TestKey>> =
                left.chunks(left.len().div_ceil(2)).map(<[TestKey]>::to_vec).collect();
            let (found, _) = self.first_that_differs(&halves, 1, |search, _| {
                (search.context.progress)(CulpritProgress::Reducing { left: left.len() });
            })?;
            let Some(place) = found else { break };
            left = halves.swap_remove(place);
        }
        Ok(left)
    }

    /// How often to try something until it shows, going by what shows after all
    /// of these tests.
    fn tries_for(&mut self, before: &[TestKey]) -> Result<usize, RunnerError> {
        let again = self.tally(before, REPEATS)?;
        if self.differing(again) == REPEATS as u64 {
            return Ok(1);
        }
        let more = self.tally(before, MORE_REPEATS)?;
        let shown = (self.differing(again) + self.differing(more)) as f64;
        // It has shown once before, or we would not be here; rather too patient.
        let share = 0.7 * (shown + 0.5) / ((again.runs() + more.runs()) as f64 + 1.0);
        Ok((tries(share, MISSED) as usize).clamp(1, MOST_TRIES))
    }

    /// Of tests after which it ends otherwise, those that are needed.
    fn minimised(&mut self, before: &[TestKey]) -> Result<Vec<TestKey>, RunnerError> {
        let tries = self.tries;
        let mut left = before.len();
        minimise(before, |parts| {
            let (found, _) = self.first_that_differs(parts, tries, |search, _| {
                (search.context.progress)(CulpritProgress::Reducing { left });
            })?;
            left = found.map_or(left, |place| parts[place].len());
            Ok(found)
        })
    }

    /// Runs what was found in new processes, if forks leave little doubt.
    fn confirm(&mut self, needed: &[TestKey], forks: Tally) -> Result<Culprit, RunnerError> {
        let mut found = self.unproved(needed, forks);
        if found.confidence.get() >= chance(LIKELY) {
            (self.context.progress)(CulpritProgress::Confirming);
            let is_certain = self.differing(forks) == forks.runs();
            let most = if is_certain { 2 } else { self.tries.max(CONFIRMATIONS) };
            found.fresh = self.fresh(needed, most, !is_certain)?;
        }
        Ok(found)
    }

    /// The same for many tests that each do it alone: new processes are what
    /// takes time, so they run in parallel.
    fn confirm_all(&mut self, tests: &[TestKey]) -> Result<Vec<Culprit>, RunnerError> {
        let mut found: Vec<(TestKey, Culprit)> = Vec::new();
        for &test in tests {
            let forks = self.tally_until_sure(&[test], CONFIRMATIONS / 2)?;
            let culprit = self.unproved(&[test], forks);
            if culprit.confidence.get() >= chance(LIKELY) {
                found.push((test, culprit));
            }
        }
        (self.context.progress)(CulpritProgress::Confirming);
        for _ in 0..self.tries {
            let is_open = |culprit: &Culprit| self.differing(culprit.fresh) == 0;
            let open = found.iter().filter(|(_, culprit)| is_open(culprit));
            let open: Vec<TestKey> = open.map(|(test, _)| *test).collect();
            let ended = self.fresh_once_each(&open)?;
            for (test, culprit) in &mut found {
                if let Some(failed) = ended.get(test) {
                    culprit.fresh.add(*failed);
                }
            }
        }
        Ok(found.into_iter().map(|(_, culprit)| culprit).collect())
    }

    /// How the test ends after these: a first count, and more of both this and of
    /// it alone until the two differ beyond doubt, or are not likely to.
    fn tally_until_sure(&mut self, before: &[TestKey], first: usize) -> Result<Tally, RunnerError> {
        // What works now and then may not show at once.
        let mut forks = self.tally(before, first.max(self.tries))?;
        while self.odds(forks) < SURE && self.differing(forks) > 0 && forks.runs() < MOST_CONFIRMATIONS as u64
        {
            self.run_alone(CONFIRMATIONS)?;
            let more = self.tally(before, CONFIRMATIONS)?;
            if more.runs() == 0 {
                break;
            }
            forks += more;
        }
        Ok(forks)
    }

    fn unproved(&self, needed: &[TestKey], forks: Tally) -> Culprit {
        Culprit {
            tests: needed.iter().map(|test| named(self.suite, *test)).collect(),
            forks,
            fresh: Tally::default(),
            confidence: Probability::clamped(chance(self.odds(forks))),
            shared: Vec::new(),
        }
    }

    /// Every other test that does it by itself, apart from one that is known.
    fn all_that_differ(&mut self, known: &[TestKey]) -> Result<Vec<TestKey>, RunnerError> {
        let others = self.others();
        let mut open: Vec<TestKey> = others.into_iter().filter(|test| known != [*test]).collect();
        let mut found = Vec::new();
        let began = Instant::now();
        let all = (open.len() * self.tries) as u64;
        let mut done = 0;
        for _ in 0..self.tries {
            let progress = self.context.progress;
            let (asked, fails_alone) = (open.clone(), self.fails_alone);
            self.ask(asked.iter().map(|test| vec![*test]).collect(), |place, failed| {
                done += 1;
                progress(CulpritProgress::Trying { done, all });
                if failed != fails_alone {
                    found.push(asked[place]);
                }
                false
            })?;
            open.retain(|test| !found.contains(test));
        }
        self.pairs = Some((done, began.elapsed()));
        found.sort_unstable();
        Ok(found)
    }

    /// Tests that let it pass when they run between the culprit and it, each
    /// time, and beyond doubt.
    fn cleaners(&mut self, culprit: &[TestKey], without: Tally) -> Result<Vec<NamedTest>, RunnerError> {
        let wanted: Vec<TestKey> = self.others().into_iter().filter(|test| !culprit.contains(test)).collect();
        let order = |test: &TestKey| culprit.iter().copied().chain([*test]).collect::<Vec<_>>();
        let (mut done, all) = (0, wanted.len() as u64);
        let progress = self.context.progress;
        let mut passed = vec![false; wanted.len()];
        self.ask(wanted.iter().map(order).collect(), |place, failed| {
            passed[place] = !failed;
            done += 1;
            progress(CulpritProgress::Trying { done, all });
            false
        })?;
        // So many tests are asked about that one of them is likely to pass as
        // often as needed just randomly; the odds must account for that.
        let enough = LIKELY * wanted.len() as f64;
        let mut without = without;
        let mut cleaners = Vec::new();
        for (test, _) in wanted.iter().zip(passed).filter(|(_, passed)| *passed) {
            let mut with = Tally::default();
            while with.failed == 0 && with.runs() < 2 * MOST_CONFIRMATIONS as u64 {
                let before = with.runs();
                with += self.tally(&order(test), CONFIRMATIONS)?;
                if with.runs() == before || odds_of_difference(without, with) >= enough {
                    break;
                }
                if with.failed == 0 && without.runs() < with.runs() {
                    without += self.tally(culprit, CONFIRMATIONS)?;
                }
            }
            if with.failed == 0 && odds_of_difference(without, with) >= enough {
                cleaners.push(named(self.suite, *test));
            }
        }
        Ok(cleaners)
    }

    /// Runs that had another outcome than alone.
    fn differing(&self, tally: Tally) -> u64 {
        if self.fails_alone { tally.passed } else { tally.failed }
    }

    /// The odds that it has another outcome than alone after some tests.
    fn odds(&self, after: Tally) -> f64 {
        if self.fails_alone {
            odds_of_difference(self.alone, after)
        } else {
            odds_of_difference(after, self.alone)
        }
    }

    /// All other tests, those of the same file first: culprits are often near.
    fn others(&self) -> Vec<TestKey> {
        let victim = self.victim;
        let all = self.suite.tests().into_iter();
        let mut others: Vec<TestKey> =
            all.filter(|test| test.session == victim.session && *test != victim).collect();
        others.sort_by_key(|test| !self.is_near(*test));
        others
    }

    /// Whether there is time for one more new process.
    fn has_time(&mut self) -> bool {
        let has_time = Instant::now() + self.fresh_takes < self.end;
        self.is_spent |= !has_time;
        has_time
    }

    fn is_near(&self, test: TestKey) -> bool {
        file_of(self.suite.name(test)) == file_of(self.suite.name(self.victim))
    }
}
