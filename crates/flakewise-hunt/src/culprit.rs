//! Which other tests make a test end otherwise than alone.
//!
//! First an order is looked for in which it does: the suite's own, reversed,
//! shuffled. Then the tests before it are reduced to those that are needed.
//! All of that in forks of one process, and what is found is confirmed in new
//! ones.

mod ask;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use flakewise_model::{
    Culprit, CulpritAnswer, CulpritReport, FindingId, FindingKind, NamedTest, Notice, Probability, Run,
    Tally, TestId,
};
use flakewise_runner::{RunnerError, Suite, TestKey, Versions};

use crate::answers::Answers;
use crate::decide::{chance, odds_of_difference};
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
    /// Orders in which a test failed before: the tests that ran before it.
    pub failing_orders: &'a dyn Fn(&TestId) -> Vec<Vec<TestId>>,
    /// What an earlier search learnt.
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
/// Orders of all tests to try. In each but the first every other test runs before
/// this one, so that what works in 3 of 10 runs shows with a chance of 99.5 %.
const ORDERS: u32 = 16;
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
/// A difference with these odds is beyond doubt.
const SURE: f64 = 99.0;
/// And with these it is one, if that is all there will be.
const LIKELY: f64 = 19.0;

/// Looks for the tests that a test depends on.
pub fn culprit(suite: &mut Suite, context: &mut CulpritContext<'_>) -> Result<CulpritReport, CulpritError> {
    let began = Instant::now();
    suite.run(&mut Collect)?;
    suite.tidy();
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
        first_proof: None,
        forks: 0,
        notices: Vec::new(),
    };
    let (answer, cleaners) = search.answer()?;
    let Search { suite, context, alone, forks, notices, first_proof, .. } = search;
    Ok(CulpritReport {
        run,
        plain: suite.plain_command(victim.session, &context.command),
        command: context.command.clone(),
        seed: context.settings.seed,
        test: named(suite, victim),
        alone,
        answer,
        cleaners,
        exhaustive: context.settings.exhaustive,
        forks,
        known: context.answers.used(),
        first_proof,
        duration: began.elapsed(),
        notices,
    })
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
    let is_it = |id: &TestId| {
        id.as_str() == name || FindingKind::ALL.iter().any(|kind| FindingId::of(*kind, id).as_str() == name)
    };
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

fn named(suite: &Suite, test: TestKey) -> NamedTest {
    NamedTest { test: suite.test_id(test), name: suite.name(test).to_owned() }
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
    first_proof: Option<Duration>,
    forks: u64,
    notices: Vec<Notice>,
}

impl Search<'_, '_> {
    fn answer(&mut self) -> Result<(CulpritAnswer, Vec<NamedTest>), RunnerError> {
        (self.context.progress)(CulpritProgress::Alone);
        self.alone = self.tally(&[], ALONE)?;
        if self.alone.is_mixed() || self.alone.runs() == 0 {
            return Ok((CulpritAnswer::FlakyAlone, Vec::new()));
        }
        self.fails_alone = self.alone.failed > 0;
        let Some((before, orders)) = self.order_that_differs()? else {
            return Ok((CulpritAnswer::NoDifference { orders: ORDERS }, Vec::new()));
        };
        self.tries = self.tries_for(&before)?;
        let needed = self.minimised(&before)?;
        let first = self.confirm(&needed)?;
        if first.confidence.get() < chance(LIKELY) {
            let more = self.tally(&[], MOST_CONFIRMATIONS)?;
            self.alone += more;
            if self.alone.is_mixed() {
                return Ok((CulpritAnswer::FlakyAlone, Vec::new()));
            }
            let names: Vec<&str> = first.tests.iter().map(|test| test.name.as_str()).collect();
            let text = format!(
                "it ended otherwise after `{}`, but not often enough again to be sure",
                names.join("`, `")
            );
            self.notices.push(Notice { text, warning: true });
            return Ok((CulpritAnswer::NoDifference { orders }, Vec::new()));
        }
        let mut culprits = vec![first];
        culprits[0].shared = shared(self.suite, &needed, self.victim, self.fails_alone, self.tries)?;
        let mut cleaners = Vec::new();
        if self.context.settings.exhaustive {
            for test in self.all_that_differ(&needed)? {
                let culprit = self.confirm(&[test])?;
                if culprit.confidence.get() >= chance(LIKELY) {
                    culprits.push(culprit);
                }
            }
            if !self.fails_alone {
                cleaners = self.cleaners(&needed, culprits[0].forks)?;
            }
        }
        let answer =
            if self.fails_alone { CulpritAnswer::Brittle(culprits) } else { CulpritAnswer::Victim(culprits) };
        Ok((answer, cleaners))
    }

    /// Tests to run before it so that it ends otherwise than alone, and how many
    /// orders were tried until one was found.
    fn order_that_differs(&mut self) -> Result<Option<(Vec<TestKey>, u32)>, RunnerError> {
        let mut others = self.others();
        others.sort_unstable();
        let prior: Vec<TestKey> = others.iter().copied().filter(|test| *test < self.victim).collect();
        let module = |test: &TestKey| file_of(self.suite.name(*test));
        let mut tried = self.known_orders(&others);
        tried.push(prior);
        tried.push(others.clone());
        let seed = self.context.settings.seed;
        let more = orders(seed).take(ORDERS as usize - 2);
        tried.extend(more.map(|order| arrange(order, &others, module)));
        tried.retain(|order| !order.is_empty());
        let found = self.first_that_differs(&tried, 1, |search, done| {
            let tried = u32::try_from(done).unwrap_or(u32::MAX);
            (search.context.progress)(CulpritProgress::Orders { tried });
        })?;
        Ok(found.map(|place| (tried.swap_remove(place), u32::try_from(place + 1).unwrap_or(u32::MAX))))
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
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the limits")]
        let tries = (MISSED.ln() / (-share).ln_1p()).ceil() as usize;
        Ok(tries.clamp(1, MOST_TRIES))
    }

    /// Of tests after which it ends otherwise, those that are needed.
    fn minimised(&mut self, before: &[TestKey]) -> Result<Vec<TestKey>, RunnerError> {
        let tries = self.tries;
        let mut left = before.len();
        minimise(before, |parts| {
            let found = self.first_that_differs(parts, tries, |search, _| {
                (search.context.progress)(CulpritProgress::Reducing { left });
            })?;
            left = found.map_or(left, |place| parts[place].len());
            Ok(found)
        })
    }

    /// Runs what was found again and again until it is beyond doubt, and in new
    /// processes.
    fn confirm(&mut self, needed: &[TestKey]) -> Result<Culprit, RunnerError> {
        let mut forks = self.tally(needed, CONFIRMATIONS)?;
        while self.odds(forks) < SURE && self.differing(forks) > 0 && forks.runs() < MOST_CONFIRMATIONS as u64
        {
            let alone = self.tally(&[], CONFIRMATIONS)?;
            self.alone += alone;
            let before = forks.runs();
            forks += self.tally(needed, CONFIRMATIONS)?;
            if forks.runs() == before {
                break;
            }
        }
        let confidence = Probability::clamped(chance(self.odds(forks)));
        let is_certain = self.differing(forks) == forks.runs();
        let mut fresh = Tally::default();
        if confidence.get() >= chance(LIKELY) {
            (self.context.progress)(CulpritProgress::Confirming);
            let most = if is_certain { 2 } else { self.tries.max(CONFIRMATIONS) };
            fresh = self.fresh(needed, most, !is_certain)?;
            if self.differing(fresh) > 0 {
                self.first_proof.get_or_insert_with(|| self.began.elapsed());
            }
        }
        let tests = needed.iter().map(|test| named(self.suite, *test)).collect();
        Ok(Culprit { tests, forks, fresh, confidence, shared: Vec::new() })
    }

    /// Every other test that does it by itself, apart from one that is known.
    fn all_that_differ(&mut self, known: &[TestKey]) -> Result<Vec<TestKey>, RunnerError> {
        let others = self.others();
        let mut open: Vec<TestKey> = others.into_iter().filter(|test| known != [*test]).collect();
        let mut found = Vec::new();
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
        // often as it takes by chance; the odds must bear that.
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

    /// Runs that ended otherwise than alone.
    fn differing(&self, tally: Tally) -> u64 {
        if self.fails_alone { tally.passed } else { tally.failed }
    }

    /// The odds that it ends otherwise than alone after some tests.
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
        let file = |test: TestKey| file_of(self.suite.name(test));
        others.sort_by_key(|test| file(*test) != file(victim));
        others
    }
}
