//! The shortest command that makes a test fail, and how often it does.

use std::time::{Duration, Instant};

use flakewise_model::{CulpritAnswer, NamedTest, Outcome, ReproduceReport, Tally, Way};
use flakewise_runner::{FreshOptions, RunnerError, Suite, TestKey};
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha12Rng;

use crate::culprit::{CulpritContext, CulpritError, CulpritProgress, Rest, find, search};

/// New processes to see how often something fails.
const FRESH: u64 = 10;
/// And at most, until it has failed a few times.
const MOST_FRESH: u64 = 30;
/// How often it should have failed.
const ENOUGH_FAILURES: u64 = 3;
/// Forks to see what fails rarely: what does in one of a hundred runs shows with
/// a chance of 95 %.
const PATIENT: u32 = 300;
/// Hash seeds to try where nothing else makes a difference.
const HASH_SEEDS: u32 = 16;

/// The part of the budget in which to look for what the test depends on. The rest
/// is for measuring how often it fails.
const SEARCH_SHARE: f64 = 0.6;

/// Looks for the shortest way to make a test fail with the highest chance, and
/// measures that chance in new processes.
pub fn reproduce(
    suite: &mut Suite,
    context: &mut CulpritContext<'_>,
) -> Result<ReproduceReport, CulpritError> {
    let (mut search, Rest { end, fresh_takes }) = search(suite, context, SEARCH_SHARE)?;
    let test = find(suite, &search.test.name)?;
    let random = ChaCha12Rng::seed_from_u64(context.settings.seed);
    let mut measure =
        Measure { suite, test, tell: context.progress, random, end, fresh_takes, is_spent: false };
    let mut hash_seeds = 0;
    let mut ways = match &search.answer {
        CulpritAnswer::Victim(culprits) => {
            let shortest = culprits.iter().min_by_key(|culprit| culprit.tests.len());
            let before = shortest.map_or(&[][..], |culprit| &culprit.tests);
            measure.ways(before, shortest.map_or(search.alone, |culprit| culprit.forks))?
        }
        CulpritAnswer::NoDifference { .. } | CulpritAnswer::Undecided { .. } if search.alone.failed == 0 => {
            let forks = measure.forks(PATIENT)?;
            if forks.failed > 0 {
                measure.ways(&[], forks)?
            } else {
                let (way, tried) = measure.hash_seeds()?;
                hash_seeds = tried;
                Vec::from_iter(way)
            }
        }
        _ => measure.ways(&[], search.alone)?,
    };
    if measure.is_spent {
        search.spent = Some(context.settings.budget);
        context.answers.keep();
    }
    // The surest, and of those the shortest.
    ways.sort_by(|left, right| {
        let length = |way: &Way| (way.before.len(), way.hash_seed.is_some());
        right.chance().get().total_cmp(&left.chance().get()).then(length(left).cmp(&length(right)))
    });
    Ok(ReproduceReport { search, ways, hash_seeds })
}

struct Measure<'a> {
    suite: &'a mut Suite,
    test: TestKey,
    tell: &'a dyn Fn(CulpritProgress),
    random: ChaCha12Rng,
    /// When nothing more is begun, and whether it came to that.
    end: Instant,
    is_spent: bool,
    /// What a new process takes.
    fresh_takes: Duration,
}

impl Measure<'_> {
    /// Ways to run the test after these: as anybody would, and with the hash seed
    /// of our forks, if it ends otherwise there.
    fn ways(&mut self, before: &[NamedTest], forks: Tally) -> Result<Vec<Way>, CulpritError> {
        let keys = before.iter().map(|test| find(self.suite, &test.name));
        let keys: Vec<TestKey> = keys.collect::<Result<_, _>>()?;
        let mut ways = vec![self.way(before, &keys, None, forks)?];
        if forks.passed == 0 && ways[0].fresh.passed > 0 {
            let seed = self.suite.hash_seed();
            ways.push(self.way(before, &keys, Some(seed), forks)?);
            // What forks of one process say holds for its hash seed only.
            ways[0].forks = Tally::default();
        }
        Ok(ways)
    }

    fn way(
        &mut self,
        before: &[NamedTest],
        keys: &[TestKey],
        hash_seed: Option<u32>,
        forks: Tally,
    ) -> Result<Way, RunnerError> {
        let (fresh, seconds) = self.fresh(keys, hash_seed)?;
        Ok(Way { before: before.to_vec(), hash_seed, forks, fresh, seconds })
    }

    /// How the test ends alone in forks, with nothing beside it.
    fn forks(&mut self, runs: u32) -> Result<Tally, RunnerError> {
        let mut tally = Tally::default();
        for done in 0..runs {
            if !self.has_time(Duration::ZERO) {
                break;
            }
            (self.tell)(CulpritProgress::Trying { done: done.into(), all: runs.into() });
            if let Ok(ended) = self.suite.fork(self.test)?
                && ended.outcome != Outcome::Skipped
            {
                tally.add(ended.outcome.is_failure());
            }
        }
        Ok(tally)
    }

    /// How the test ends after others in new processes, and what one takes.
    fn fresh(
        &mut self,
        before: &[TestKey],
        hash_seed: Option<u32>,
    ) -> Result<(Tally, Duration), RunnerError> {
        let mut tally = Tally::default();
        let began = Instant::now();
        (self.tell)(CulpritProgress::Confirming);
        while tally.runs() < FRESH || (tally.failed < ENOUGH_FAILURES && tally.runs() < MOST_FRESH) {
            // What was found is run once in any case.
            if tally.runs() > 0 && !self.has_time(self.fresh_takes) {
                break;
            }
            match self.once(before, hash_seed)? {
                Some(failed) => tally.add(failed),
                None => break,
            }
        }
        let runs = u32::try_from(tally.runs().max(1)).unwrap_or(u32::MAX);
        Ok((tally, began.elapsed() / runs))
    }

    /// Whether there is time for something that takes so long.
    fn has_time(&mut self, takes: Duration) -> bool {
        let has_time = Instant::now() + takes < self.end;
        self.is_spent |= !has_time;
        has_time
    }

    /// Whether the test fails after others in a new process, with any hash seed
    /// unless one is given; none if it does not come to that.
    fn once(&mut self, before: &[TestKey], hash_seed: Option<u32>) -> Result<Option<bool>, RunnerError> {
        let options = FreshOptions {
            hash_seed: hash_seed.unwrap_or_else(|| self.random.random_range(1..=u32::MAX)),
            before: before.to_vec(),
            ..FreshOptions::default()
        };
        let began = Instant::now();
        let ended = self.suite.fresh(self.test, &options)?.execution.ok();
        self.fresh_takes = began.elapsed();
        Ok(ended.filter(|ended| ended.outcome != Outcome::Skipped).map(|ended| ended.outcome.is_failure()))
    }

    /// A hash seed under which the test fails, and how many were tried.
    fn hash_seeds(&mut self) -> Result<(Option<Way>, u32), RunnerError> {
        for seed in 0..HASH_SEEDS {
            (self.tell)(CulpritProgress::Trying { done: u64::from(seed), all: u64::from(HASH_SEEDS) });
            if !self.has_time(self.fresh_takes) {
                return Ok((None, seed));
            }
            if self.once(&[], Some(seed))? == Some(true) {
                let way = self.way(&[], &[], Some(seed), Tally::default())?;
                return Ok((Some(way), seed + 1));
            }
        }
        Ok((None, HASH_SEEDS))
    }
}
