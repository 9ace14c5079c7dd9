//! New and changed tests that passed, run again before others depend on them.
//!
//! Each rerun of a test that fails with a rate p shows it with probability p, so after
//! n passes it would have shown with 1 − (1 − p)ⁿ. The time is limited: [`plan`] gives
//! it to the reruns that are most likely to show something. Reruns take place in forks
//! from before the first test, one for each core. A fork runs all these tests one after
//! another, a few times over: to start a process, and to import again what tests import,
//! costs more than most tests. A test that fails there, after and beside others, counts as
//! flaky only if it fails alone too.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::time::{Duration, Instant};

use flakewise_model::{Outcome, Phase, TestId, tries};
use flakewise_runner::{Execution, Forks, TestKey};

use crate::Progress;

/// Which tests that passed are rerun, and how often.
pub struct ReviewSettings<'a> {
    /// The time for all reruns, as a share of the suite's.
    pub share: f64,
    /// Tests that fail this often are to be found.
    pub rate: f64,
    /// How many processes run in parallel.
    pub jobs: usize,
    /// How likely a test is flaky that is new or changed; none for other tests.
    pub risk: &'a dyn Fn(&TestId) -> Option<f64>,
}

/// With this probability a test that fails with the given rate is found, if there is
/// time.
const FOUND: f64 = 0.999;
/// The most reruns of one test.
const MOST_RUNS: u32 = 1000;
/// A short suite must not keep us from looking at all.
pub(crate) const LEAST_TIME: Duration = Duration::from_secs(2);
/// What a fork costs besides its tests.
pub(crate) const FORK_SECONDS: f64 = 0.02;
/// Nothing is known so well that a test is not worth a look.
const LEAST_RISK: f64 = 0.01;
/// How often a fork runs each test.
const REPEATS: usize = 4;
/// The most runs in one fork.
const MOST_IN_FORK: usize = 500;
/// How many forks in a row may fail to run their tests.
const MOST_TROUBLE: u32 = 3;

/// How often a test must pass before it is unlikely to fail with a rate.
pub(crate) fn goal(rate: f64) -> u32 {
    tries(rate, 1.0 - FOUND).clamp(1, MOST_RUNS)
}

/// A test that may be rerun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    /// How likely it is flaky.
    pub(crate) risk: f64,
    /// What a rerun takes.
    pub(crate) seconds: f64,
}

impl Candidate {
    /// How likely one more rerun shows something, by the second. The bits of positive
    /// numbers are ordered as the numbers are.
    fn worth(&self, rate: f64, runs: u32) -> u64 {
        let misses = (1.0 - rate).powi(i32::try_from(runs).unwrap_or(i32::MAX));
        (self.risk.max(LEAST_RISK) * rate * misses / self.seconds.max(1e-6)).to_bits()
    }
}

/// How often to rerun each test: no more than the goal, and all together no longer than
/// these seconds.
pub(crate) fn plan(candidates: &[Candidate], rate: f64, goal: u32, seconds: f64) -> Vec<u32> {
    let mut runs = vec![0; candidates.len()];
    let mut left = seconds;
    let worth = |place: usize, runs: u32| (candidates[place].worth(rate, runs), std::cmp::Reverse(place));
    let mut open: BinaryHeap<_> = (0..candidates.len()).map(|place| worth(place, 0)).collect();
    while let Some((_, std::cmp::Reverse(place))) = open.pop() {
        // What is too long for what is left does not come back.
        if candidates[place].seconds <= left && runs[place] < goal {
            left -= candidates[place].seconds;
            runs[place] += 1;
            open.push(worth(place, runs[place]));
        }
    }
    runs
}

/// Reruns under way: a fork runs all tests that are to be rerun, a few times over.
pub(crate) struct Rounds<'a> {
    /// How often each test is still to be rerun.
    left: BTreeMap<TestKey, u32>,
    /// Sessions in turn.
    sessions: VecDeque<u32>,
    deadline: Instant,
    /// When forks under way began, the oldest first, and the longest that one took.
    begun: VecDeque<Instant>,
    longest: Duration,
    progress: &'a dyn Fn(Progress<'_>),
    of: u64,
    /// Forks in a row that ran nothing.
    troubles: u32,
    /// Why some reruns did not take place.
    pub(crate) trouble: Option<String>,
    /// All reruns that ended.
    pub(crate) executions: Vec<Execution>,
    /// Tests that failed.
    pub(crate) suspects: BTreeSet<TestKey>,
}

impl<'a> Rounds<'a> {
    pub(crate) fn new(
        left: BTreeMap<TestKey, u32>,
        deadline: Instant,
        progress: &'a dyn Fn(Progress<'_>),
    ) -> Self {
        let mut sessions: Vec<u32> = left.keys().map(|test| test.session).collect();
        sessions.dedup();
        Self {
            of: left.values().copied().map(u64::from).sum(),
            left,
            sessions: sessions.into(),
            deadline,
            begun: VecDeque::new(),
            longest: Duration::ZERO,
            progress,
            troubles: 0,
            trouble: None,
            executions: Vec::new(),
            suspects: BTreeSet::new(),
        }
    }

    fn heard(&mut self, mut execution: Execution) {
        let test = execution.test;
        // It is not alone.
        execution.phase = Phase::Order;
        if execution.outcome != Outcome::Passed {
            self.left.remove(&test);
        }
        if execution.outcome.is_failure() {
            self.suspects.insert(test);
        }
        self.executions.push(execution);
        self.troubles = 0;
        (self.progress)(Progress::Review { done: self.executions.len() as u64, of: self.of });
    }

    /// Every test of a session that is to be rerun, once.
    fn once(&mut self, session: u32) -> Vec<TestKey> {
        let wanted = self.left.iter_mut().filter(|(test, left)| test.session == session && **left > 0);
        wanted
            .map(|(test, left)| {
                *left -= 1;
                *test
            })
            .collect()
    }
}

impl Forks for Rounds<'_> {
    fn next(&mut self) -> Option<Vec<TestKey>> {
        // What would not end in time is not begun.
        if Instant::now() + self.longest >= self.deadline || self.troubles >= MOST_TROUBLE {
            return None;
        }
        for _ in 0..self.sessions.len() {
            self.sessions.rotate_left(1);
            let session = *self.sessions.back()?;
            let mut round = self.once(session);
            for _ in 1..REPEATS {
                let again = self.left.iter().filter(|(test, left)| test.session == session && **left > 0);
                // Fixtures of a test that follows itself would not be torn down.
                if again.count() < 2 || 2 * round.len() > MOST_IN_FORK {
                    break;
                }
                round.extend(self.once(session));
            }
            if !round.is_empty() {
                self.begun.push_back(Instant::now());
                return Some(round);
            }
        }
        None
    }

    fn on_the_way(&mut self, _: &[TestKey], executions: Vec<Execution>) {
        for execution in executions {
            self.heard(execution);
        }
    }

    fn ended(&mut self, _: &[TestKey], result: Result<Execution, String>) {
        // They take about as long as each other, so it does not matter which one it was.
        let took = self.begun.pop_front().map_or(Duration::ZERO, |begun| begun.elapsed());
        self.longest = self.longest.max(took);
        match result {
            Ok(execution) => self.heard(execution),
            Err(trouble) => {
                self.troubles += 1;
                self.trouble = Some(trouble);
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        Some(self.deadline)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::execution;

    #[test]
    fn the_goal_shows_what_it_promises() {
        assert_eq!(goal(0.1), 66);
        assert!((1.0 - 0.9_f64.powi(66)) >= FOUND && (1.0 - 0.9_f64.powi(65)) < FOUND);
        assert_eq!(goal(0.000_001), 1000);
        assert_eq!(goal(0.999_999), 1);
    }

    fn candidate() -> impl Strategy<Value = Candidate> {
        (0.0_f64..1.0, 0.001_f64..10.0).prop_map(|(risk, seconds)| Candidate { risk, seconds })
    }

    proptest! {
        #[test]
        fn a_plan_keeps_its_limits(
            candidates in proptest::collection::vec(candidate(), 0..20),
            seconds in 0.0_f64..60.0,
        ) {
            let runs = plan(&candidates, 0.1, 66, seconds);
            let taken: f64 = runs.iter().zip(&candidates).map(|(runs, one)| f64::from(*runs) * one.seconds).sum();
            prop_assert!(taken <= seconds + 1e-9);
            prop_assert!(runs.iter().all(|runs| *runs <= 66));
            let left = seconds - taken;
            let could_run = runs.iter().zip(&candidates).any(|(runs, one)| *runs < 66 && one.seconds <= left - 1e-9);
            prop_assert!(!could_run, "{left} s are left over: {runs:?} of {candidates:?}");
        }

        #[test]
        fn what_is_likelier_or_quicker_is_never_rerun_less(
            one in candidate(),
            others in proptest::collection::vec(candidate(), 0..10),
            seconds in 0.0_f64..60.0,
        ) {
            let better = Candidate { risk: one.risk + 0.1, seconds: one.seconds };
            let mut candidates = vec![better, one];
            candidates.extend(others);
            let runs = plan(&candidates, 0.1, 66, seconds);
            prop_assert!(runs[0] >= runs[1]);
        }
    }

    #[test]
    fn without_time_for_all_every_test_runs_once_before_any_runs_twice() {
        let same = vec![Candidate { risk: 0.1, seconds: 1.0 }; 4];
        assert_eq!(plan(&same, 0.1, 66, 6.0), [2, 2, 1, 1]);
        assert_eq!(plan(&same, 0.1, 66, 3.0), [1, 1, 1, 0]);
        assert_eq!(plan(&same, 0.1, 2, 600.0), [2, 2, 2, 2]);
    }

    fn key(session: u32, number: u32) -> TestKey {
        TestKey { session, number }
    }

    fn rounds(left: &[(TestKey, u32)]) -> Rounds<'static> {
        let deadline = Instant::now() + Duration::from_hours(1);
        Rounds::new(left.iter().copied().collect(), deadline, &|_| {})
    }

    #[test]
    fn a_fork_has_the_tests_of_one_session_a_few_times_over() {
        let mut rounds = rounds(&[(key(0, 1), 6), (key(0, 4), 5), (key(1, 0), 1)]);
        let forks: Vec<Vec<TestKey>> = std::iter::from_fn(|| rounds.next()).collect();
        let both = [key(0, 1), key(0, 4)];
        assert_eq!(forks[0], [both, both, both, both].concat());
        assert_eq!(forks[1], [key(1, 0)]);
        // Nothing follows itself.
        assert_eq!(forks[2..], [both.to_vec(), vec![key(0, 1)]]);
    }

    #[test]
    fn a_test_that_failed_is_not_rerun() {
        let mut rounds = rounds(&[(key(0, 1), 9), (key(0, 4), 9)]);
        let round = rounds.next().expect("there is one");
        let passed = execution(1, Phase::Fork, Outcome::Passed);
        rounds.on_the_way(&round, vec![passed.clone(), execution(4, Phase::Fork, Outcome::Failed), passed]);
        rounds.ended(&round, Ok(execution(4, Phase::Fork, Outcome::Passed)));
        assert_eq!(rounds.next(), Some(vec![key(0, 1)]));
        assert_eq!(rounds.suspects, [key(0, 4)].into());
        assert!(rounds.executions.iter().all(|one| one.phase == Phase::Order), "none was alone");
        assert_eq!(rounds.executions.len(), 4);
    }

    #[test]
    fn forks_that_run_nothing_end_the_reruns() {
        let mut rounds = rounds(&[(key(0, 1), 100)]);
        for _ in 0..MOST_TROUBLE {
            let round = rounds.next().expect("there is one");
            rounds.ended(&round, Err("no memory".to_owned()));
        }
        assert_eq!(rounds.next(), None);
        assert_eq!(rounds.trouble.as_deref(), Some("no memory"));
    }

    #[test]
    fn nothing_begins_after_the_deadline() {
        let mut rounds = Rounds::new([(key(0, 1), 5)].into(), Instant::now(), &|_| {});
        assert_eq!(rounds.next(), None);
    }
}
