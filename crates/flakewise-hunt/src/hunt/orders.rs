//! All tests in other orders than the suite's, and which of those that end
//! otherwise there depend on other tests.
//!
//! As iDFlakies does: what failed in an order is run again in that order up to
//! it, and in one where it passed. Not once, but until the two differ beyond
//! doubt or the test is seen to fail randomly. An order that is run again
//! answers for all tests in question at once.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Instant;

use flakewise_model::{Decision, FoundKind, Notice, Order, Outcome, Phase, Probability, Surroundings, Tally};
use flakewise_runner::{Execution, Forks, RunnerError, Suite, TestKey};

use super::{HuntProgress, Hunter, Orders};
use crate::decide::{LIKELY, SURE, chance, odds_of_difference};
use crate::name::file_of;
use crate::order::{arrange, orders};

/// Orders to try even if they take more than their share of the time.
const LEAST_ORDERS: u32 = 10;
/// But no longer than this part of what is left of the budget: the rest is for
/// repeating what they show, with nothing beside it.
const MOST_TIME: f64 = 0.6;
/// Runs alone of what is to be decided: most randomly failing tests show it there.
const ALONE: usize = 10;
/// Each surroundings are run at most this often.
const MOST_ROUNDS: u32 = 40;
/// Rounds after which a failure that did not occur again is given up: what occurs
/// in 3 of 10 would have shown with a probability of 99.9 %.
const ROUNDS_WITHOUT_FAILURE: u32 = 20;

/// All tests of a session in an order, and whether they failed there.
struct Tried {
    order: Order,
    tests: Vec<TestKey>,
    failed: HashMap<TestKey, bool>,
    /// Whether it ran to its end.
    is_whole: bool,
}

/// A test that ended differently in different surroundings, and how it ended
/// there with nothing beside it.
struct Suspect {
    place: usize,
    key: TestKey,
    /// Whether it failed only while other tests ran beside it.
    is_beside: bool,
    fails: (Surroundings, Tally),
    passes: (Surroundings, Tally),
}

/// Tests to run one after another: an order up to a test, or a test alone.
#[derive(Clone, PartialEq)]
struct Task {
    surroundings: Surroundings,
    tests: Vec<TestKey>,
}

impl Hunter<'_, '_> {
    /// Runs other orders and each test alone, and decides what is seen there.
    pub(super) fn run_orders(&mut self, suite: &mut Suite) -> Result<(), RunnerError> {
        let (count, until) = match self.context.settings.orders {
            Orders::None => return Ok(()),
            Orders::Count(count) => (count, None),
            Orders::Until(end) => (LEAST_ORDERS, Some(end)),
        };
        if !self.hunted.iter().all(|hunted| suite.can_fork(hunted.key.session)) {
            let text = "shuffled orders were skipped: tests of this suite cannot run in forks".to_owned();
            self.notices.push(Notice { text, warning: true });
            return Ok(());
        }
        self.is_solo = self.jobs == 1;
        let left = self.context.settings.deadline.saturating_duration_since(Instant::now());
        let limit = Instant::now() + left.mul_f64(MOST_TIME);
        let mut coming = std::iter::once(Order::Original).chain(orders(self.context.settings.seed));
        let mut tried = Vec::new();
        let mut wanted = count as usize + 1;
        while wanted > 0 {
            let new = coming.by_ref().take(wanted).flat_map(|order| self.arranged(order));
            let mut new: Vec<Tried> = new.collect();
            self.try_orders(suite, &mut new, limit)?;
            tried.extend(new);
            let goes_on = until.is_some_and(|end| Instant::now() < end.min(limit)) && self.goes_on();
            wanted = if goes_on { 4 * self.jobs } else { 0 };
        }
        let others = || tried.iter().filter(|tried| tried.order != Order::Original);
        self.orders = others().filter(|tried| tried.is_whole).count() as u64;
        let asked = others().count() as u64;
        if self.orders < asked && Instant::now() >= limit {
            let text =
                format!("{} of {asked} orders fit in the budget; pass a longer `--budget`", self.orders);
            self.notices.push(Notice { text, warning: true });
        }
        self.decide_all(suite, &tried)
    }

    /// An order of all tests, session by session.
    fn arranged(&self, order: Order) -> Vec<Tried> {
        let keys: Vec<TestKey> =
            self.hunted.iter().filter(|hunted| !hunted.skipped).map(|hunted| hunted.key).collect();
        let module = |key: &TestKey| file_of(&self.hunted[self.places[key]].name);
        let sessions = keys.chunk_by(|left, right| left.session == right.session);
        let arranged = |session| arrange(order, session, module);
        sessions
            .map(|session| Tried { order, tests: arranged(session), failed: HashMap::new(), is_whole: false })
            .collect()
    }

    /// Runs orders in parallel, and every test alone that has not been.
    fn try_orders(
        &mut self,
        suite: &mut Suite,
        tried: &mut [Tried],
        limit: Instant,
    ) -> Result<(), RunnerError> {
        let is_known = |tried: &Tried| {
            let known = |key| self.hunted[self.places[key]].solo.suite.runs() > 0;
            tried.order == Order::Original && tried.tests.iter().all(known)
        };
        let open = tried.iter().filter(|tried| !is_known(tried));
        let mut tasks: VecDeque<Task> = open.map(|tried| tried.up_to(tried.tests.len())).collect();
        let alone = self.hunted.iter().filter(|hunted| !hunted.skipped && hunted.alone().runs() == 0);
        tasks.extend(alone.map(|hunted| Task { surroundings: Surroundings::Alone, tests: vec![hunted.key] }));
        let mut take = |test: TestKey, surroundings: Surroundings, failed: bool| {
            let is_it = |tried: &&mut Tried| {
                surroundings == Surroundings::After(tried.order) && tried.tests[0].session == test.session
            };
            if let Some(tried) = tried.iter_mut().find(is_it) {
                tried.failed.insert(test, failed);
            }
        };
        let jobs = self.jobs;
        let mut tasks = Tasks::new(self, tasks, limit, &mut take);
        suite.fork_many(jobs, &mut tasks)?;
        let done = tasks.done;
        for tried in tried {
            tried.is_whole = done.contains(&(Surroundings::After(tried.order), tried.tests[0].session));
        }
        Ok(())
    }

    /// Finds out of every test that both passed and failed whether it depends on
    /// others.
    fn decide_all(&mut self, suite: &mut Suite, tried: &[Tried]) -> Result<(), RunnerError> {
        self.is_solo = true;
        let deadline = self.context.settings.deadline;
        let surprising = (0..self.hunted.len()).filter(|place| self.hunted[*place].is_open());
        let mut suspects: Vec<Suspect> = surprising.filter_map(|place| self.suspect(place, tried)).collect();
        for round in 0..=MOST_ROUNDS {
            if suspects.is_empty() || !self.goes_on() {
                break;
            }
            // Runs alone are the cheapest, and come first.
            let tasks = if round == 0 { alone(&suspects) } else { tasks_for(&suspects, tried) };
            let mut take = |test: TestKey, surroundings: Surroundings, failed: bool| {
                for suspect in suspects.iter_mut().filter(|suspect| suspect.key == test) {
                    for (place, tally) in [&mut suspect.fails, &mut suspect.passes] {
                        if *place == surroundings {
                            tally.add(failed);
                        }
                    }
                }
            };
            let mut tasks = Tasks::new(self, tasks, deadline, &mut take);
            suite.fork_many(1, &mut tasks)?;
            suspects.retain(|suspect| !self.decide(suspect, round));
        }
        for suspect in suspects {
            self.hunted[suspect.place].kind_by_orders = Some(FoundKind::Undecided);
        }
        Ok(())
    }

    /// Where a test failed and where it passed. None if that was in the same
    /// surroundings, so that there is nothing to decide.
    fn suspect(&self, place: usize, tried: &[Tried]) -> Option<Suspect> {
        let hunted = &self.hunted[place];
        let alone = hunted.alone();
        let mut together = hunted.solo.suite;
        together += hunted.beside.suite;
        let in_orders = |failed: bool| {
            let found = tried.iter().find(|tried| tried.failed.get(&hunted.key) == Some(&failed));
            found.map(|tried| Surroundings::After(tried.order))
        };
        let original = Surroundings::After(Order::Original);
        let seen = |count: u64, surroundings| (count > 0).then_some(surroundings);
        let fails = seen(alone.failed, Surroundings::Alone)
            .or_else(|| seen(together.failed, original))
            .or_else(|| in_orders(true))?;
        let passes = seen(together.passed, original)
            .or_else(|| seen(alone.passed, Surroundings::Alone))
            .or_else(|| in_orders(false))?;
        let nothing = Tally::default();
        (fails != passes).then_some(Suspect {
            place,
            key: hunted.key,
            is_beside: hunted.solo.all().failed == 0,
            fails: (fails, nothing),
            passes: (passes, nothing),
        })
    }

    /// Whether it is known by now what a test depends on; tells so.
    fn decide(&mut self, suspect: &Suspect, round: u32) -> bool {
        let (fails, passes) = (suspect.fails.1, suspect.passes.1);
        let odds = odds_of_difference(fails, passes);
        if suspect.is_beside && suspect.fails.0 == Surroundings::Alone && fails.failed == 0 {
            // Orders do not matter to one that failed alone: it is repeated alone.
            return true;
        }
        let is_last = round == MOST_ROUNDS || (round >= ROUNDS_WITHOUT_FAILURE && fails.failed == 0);
        let hunted = &mut self.hunted[suspect.place];
        let kind = if hunted.solo.alone.is_mixed() {
            FoundKind::Alone
        } else if odds >= SURE || (is_last && odds >= LIKELY) {
            // Surroundings that differ are what it depends on; whether it is
            // itself the one that needs something shows alone.
            let alone = hunted.solo.alone;
            if suspect.fails.0 == Surroundings::Alone || alone.failed > alone.passed {
                FoundKind::FailsAlone
            } else {
                FoundKind::PassesAlone
            }
        } else if passes.is_mixed() || is_last {
            FoundKind::Together
        } else {
            return false;
        };
        // One that never failed with nothing beside it is of another kind,
        // whatever is decided here.
        hunted.kind_by_orders = Some(kind);
        hunted.decision = Some(Decision {
            fails: suspect.fails,
            passes: suspect.passes,
            confidence: Probability::clamped(chance(odds)),
        });
        true
    }
}

/// What to run so that every suspect runs once where it failed and once where it
/// passed.
fn tasks_for(suspects: &[Suspect], tried: &[Tried]) -> VecDeque<Task> {
    let mut tasks = VecDeque::new();
    let is_in =
        |suspect: &Suspect, surroundings| suspect.fails.0 == surroundings || suspect.passes.0 == surroundings;
    for tried in tried {
        let asked = suspects.iter().filter(|suspect| is_in(suspect, Surroundings::After(tried.order)));
        let asked: HashSet<TestKey> = asked.map(|suspect| suspect.key).collect();
        if let Some(last) = tried.tests.iter().rposition(|key| asked.contains(key)) {
            tasks.push_back(tried.up_to(last + 1));
        }
    }
    let alone = suspects.iter().filter(|suspect| is_in(suspect, Surroundings::Alone));
    tasks.extend(alone.map(|suspect| Task { surroundings: Surroundings::Alone, tests: vec![suspect.key] }));
    tasks
}

/// What to run so that every suspect runs alone some times.
fn alone(suspects: &[Suspect]) -> VecDeque<Task> {
    let task = |suspect: &Suspect| Task { surroundings: Surroundings::Alone, tests: vec![suspect.key] };
    suspects.iter().flat_map(|suspect| std::iter::repeat_with(|| task(suspect)).take(ALONE)).collect()
}

impl Tried {
    fn up_to(&self, end: usize) -> Task {
        Task { surroundings: Surroundings::After(self.order), tests: self.tests[..end].to_vec() }
    }
}

/// Runs tasks, and remembers what became of every test in them.
struct Tasks<'t, 'a, 'b> {
    hunter: &'t mut Hunter<'a, 'b>,
    open: VecDeque<Task>,
    under_way: Vec<Task>,
    /// What ran to its end, and in which session.
    done: Vec<(Surroundings, u32)>,
    /// What still runs then is cut short.
    limit: Instant,
    /// Told of every test where it ran, and whether it failed.
    take: &'t mut dyn FnMut(TestKey, Surroundings, bool),
}

impl<'t, 'a, 'b> Tasks<'t, 'a, 'b> {
    fn new(
        hunter: &'t mut Hunter<'a, 'b>,
        open: VecDeque<Task>,
        limit: Instant,
        take: &'t mut dyn FnMut(TestKey, Surroundings, bool),
    ) -> Self {
        Self { hunter, open, under_way: Vec::new(), done: Vec::new(), limit, take }
    }

    fn record(&mut self, surroundings: Surroundings, execution: Execution) {
        let hunter = &mut *self.hunter;
        let Some(&place) = hunter.places.get(&execution.test) else { return };
        let phase = match surroundings {
            Surroundings::Alone => Phase::Fork,
            Surroundings::After(Order::Original) => Phase::First,
            Surroundings::After(_) => Phase::Order,
        };
        let execution = Execution { phase, ..execution };
        hunter.remember(place, &execution);
        if execution.outcome == Outcome::Skipped {
            return;
        }
        let failed = execution.outcome.is_failure();
        hunter.count(place, surroundings, failed);
        if execution.outcome == Outcome::TimedOut && !hunter.is_solo {
            hunter.one_at_a_time();
        }
        (self.take)(execution.test, surroundings, failed);
    }
}

impl Forks for Tasks<'_, '_, '_> {
    fn next(&mut self) -> Option<Vec<TestKey>> {
        if Instant::now() >= self.limit || !self.hunter.goes_on() {
            return None;
        }
        if self.hunter.jobs == 1 && !self.hunter.is_solo {
            if !self.under_way.is_empty() {
                return None;
            }
            self.hunter.is_solo = true;
        }
        let task = self.open.pop_front()?;
        let tests = task.tests.clone();
        self.under_way.push(task);
        Some(tests)
    }

    fn on_the_way(&mut self, tests: &[TestKey], executions: Vec<Execution>) {
        let Some(task) = self.under_way.iter().find(|task| task.tests == tests) else { return };
        let surroundings = task.surroundings;
        for execution in executions {
            self.record(surroundings, execution);
        }
    }

    fn ended(&mut self, tests: &[TestKey], result: Result<Execution, String>) {
        let Some(place) = self.under_way.iter().position(|task| task.tests == tests) else { return };
        let Task { surroundings, .. } = self.under_way.swap_remove(place);
        if surroundings != Surroundings::Alone {
            self.done.push((surroundings, tests[0].session));
        }
        match result {
            Ok(execution) => self.record(surroundings, execution),
            Err(trouble) => {
                let text = format!("an order of the tests stopped early: {trouble}");
                if self.hunter.notices.iter().all(|notice| notice.text != text) {
                    self.hunter.notices.push(Notice { text, warning: true });
                }
            }
        }
        let hunter = &mut *self.hunter;
        let found = hunter.hunted.iter().filter(|hunted| hunted.is_found()).count() as u64;
        (hunter.context.progress)(HuntProgress::Orders { executions: hunter.executions, found });
    }

    fn deadline(&self) -> Option<Instant> {
        Some(self.limit)
    }

    fn cut_short(&mut self, tests: &[TestKey]) {
        self.under_way.retain(|task| task.tests != tests);
    }
}
