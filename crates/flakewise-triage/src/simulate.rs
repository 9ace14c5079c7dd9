//! Failures whose cause is known, through ladder, kinds, judge and policy.
//!
//! Everything is drawn from one seed: what a failure is due to, how often its test
//! fails under which conditions, what it depends on, what the history holds. The
//! shares are assumptions, each a constant below; what is measured is how often a
//! regression turns a build green, how often a kind is wrong, and whether a stated
//! probability means what it says.

use std::collections::BTreeMap;

use flakewise_model::{
    BaseSource, Blame, Failure, FlakyKind, Outcome, Phase, Refusal, SeenOn, Timestamp, Touch, TouchedFile,
};
use flakewise_runner::{Director as _, Execution, TestKey};
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha12Rng;

use crate::judge::{BaseFacts, ChangeFacts, Facts, judge};
use crate::kind::{Condition, Trials};
use crate::ladder::Ladder;
use crate::policy::{Tolerance, refusal};
use crate::triage::MOST_TRIALS;
use crate::{Meeting, Past, TriageSettings};

/// What failures are due to: flakes from before the change, the change, neither.
const CAUSES: [f64; 3] = [0.45, 0.40, 0.15];
/// The share of regressions that fail every time. The others fail at any rate.
const ALWAYS: f64 = 0.7;
/// The kinds of old flakes, and of regressions that pass now and then.
const OLD_KINDS: [f64; 5] = [0.55, 0.20, 0.13, 0.06, 0.06];
const NEW_KINDS: [f64; 5] = [0.75, 0.12, 0.03, 0.07, 0.03];
/// What tests depend on, if the change broke them and if it did not: they execute
/// it, load it, are disjoint from it, or it is not known.
const BROKEN_TOUCHES: [f64; 4] = [0.93, 0.04, 0.01, 0.02];
const OTHER_TOUCHES: [f64; 4] = [0.33, 0.24, 0.38, 0.05];
/// The share of projects with a history.
const WITH_HISTORY: f64 = 0.6;
/// The share of regressions in tests that were flaky before, and how often their
/// failures look the same then.
const IN_OLD_FLAKE: f64 = 0.03;
const SAME_LOOK: f64 = 0.3;
/// The share of environments that were broken before the change already.
const BROKEN_FOR_LONG: f64 = 0.3;
/// The share of runs with `--verify-base`.
const VERIFIED: f64 = 0.2;
/// The share of failures that take the process along.
const CRASHES: f64 = 0.03;

/// What a failure is due to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// A flake from before the change.
    Flake(FlakyKind),
    /// The change, which makes it fail always.
    Regression,
    /// The change, which makes it fail now and then.
    NewFlake(FlakyKind),
    /// Neither.
    Environment,
}

/// How a made-up test fails.
#[derive(Clone, Copy, Debug)]
enum Behaviour {
    /// With one rate.
    Random(f64),
    /// In the suite's process, with a rate.
    InSuite(f64),
    /// For this many further runs.
    For(u32),
    /// With the suite's hash seed, and with this share of the others.
    Seed(f64),
    /// In the suite's process and its forks, with a rate.
    InProcess(f64),
}

impl Behaviour {
    fn draw(kind: FlakyKind, random: &mut ChaCha12Rng) -> Self {
        // What is known of tests that have just failed once: Beta(1.3, 3), as the
        // judge has it; by rejection.
        let mut rate = || loop {
            let rate: f64 = random.random_range(0.001..0.999);
            if random.random_bool((rate.powf(0.3) * (1.0 - rate).powi(2) / 0.45).min(1.0)) {
                break rate;
            }
        };
        match kind {
            FlakyKind::StateDependent => Self::InSuite(if rate() < 0.4 { 1.0 } else { rate().max(0.2) }),
            FlakyKind::Bursty => Self::For(1 + random.random_range(0..4)),
            FlakyKind::HashSeed => Self::Seed(random.random_range(0.0..0.9)),
            FlakyKind::ProcessDependent => Self::InProcess(if rate() < 0.4 { 1.0 } else { rate().max(0.2) }),
            _ => Self::Random(rate()),
        }
    }

    fn fails(self, condition: Condition, run: u32, random: &mut ChaCha12Rng) -> bool {
        match (self, condition) {
            (Self::Random(rate), _)
            | (Self::InSuite(rate), Condition::AtOnce | Condition::Later)
            | (Self::InProcess(rate), Condition::AtOnce | Condition::Later | Condition::Alone) => {
                random.random_bool(rate)
            }
            (Self::For(runs), _) => run < runs,
            (Self::Seed(share), Condition::OtherSeed) => random.random_bool(share),
            (Self::Seed(_), _) => true,
            (Self::InSuite(_) | Self::InProcess(_), _) => false,
        }
    }

    /// How often it fails when the whole suite runs: at another moment, with another
    /// hash seed, and with the tests before it in another order or on other machines.
    fn whole_run_rate(self, random: &mut ChaCha12Rng) -> f64 {
        match self {
            Self::Random(rate) => rate,
            Self::InSuite(rate) | Self::InProcess(rate) => rate * random.random_range(0.02..1.0),
            Self::For(_) => 0.05,
            Self::Seed(share) => share,
        }
    }
}

/// What is said of one made-up failure.
#[derive(Clone, Debug)]
pub struct Judged {
    /// What it is due to.
    pub cause: Cause,
    /// What we conclude.
    pub blame: Blame,
    /// The probability of the kind, if one is named.
    pub kind: Option<f64>,
    /// Stated probabilities: flaky, regression, environment.
    pub stated: [f64; 3],
    /// Why it is not tolerated under `known` and under `flaky`.
    pub refusals: [Option<Refusal>; 2],
    /// Whether the history has seen the test.
    pub has_history: bool,
    /// How often it was run again.
    pub runs: u32,
}

/// The two assumptions by which regressions come to look like old flakes. Without
/// either, none turns a build green.
#[derive(Clone, Copy, Debug)]
pub struct Assumptions {
    /// How often a regression in a test that was flaky before looks like its flake.
    pub same_look: f64,
    /// The share of regressions in tests that are said to be disjoint from the change.
    pub unseen: f64,
}

impl Default for Assumptions {
    fn default() -> Self {
        Self { same_look: SAME_LOOK, unseen: BROKEN_TOUCHES[2] }
    }
}

/// Judges this many made-up failures.
pub fn simulate(count: u32, seed: u64, assumptions: Assumptions) -> Vec<Judged> {
    let mut random = ChaCha12Rng::seed_from_u64(seed);
    (0..count).map(|_| one(assumptions, &mut random)).collect()
}

/// One of several, by their shares.
fn draw<T: Copy>(choices: &[T], shares: &[f64], random: &mut ChaCha12Rng) -> T {
    let mut rest: f64 = random.random_range(0.0..shares.iter().sum());
    for (choice, share) in choices.iter().zip(shares) {
        rest -= share;
        if rest < 0.0 {
            return *choice;
        }
    }
    choices[choices.len() - 1]
}

fn one(assumptions: Assumptions, random: &mut ChaCha12Rng) -> Judged {
    const KINDS: [FlakyKind; 5] = [
        FlakyKind::Transient,
        FlakyKind::StateDependent,
        FlakyKind::Bursty,
        FlakyKind::HashSeed,
        FlakyKind::ProcessDependent,
    ];
    let (cause, behaviour) = match draw(&[0, 1, 2], &CAUSES, random) {
        0 => {
            let kind = draw(&KINDS, &OLD_KINDS, random);
            (Cause::Flake(kind), Behaviour::draw(kind, random))
        }
        1 if random.random_bool(ALWAYS) => (Cause::Regression, Behaviour::Random(1.0)),
        1 => {
            let kind = draw(&KINDS, &NEW_KINDS, random);
            (Cause::NewFlake(kind), Behaviour::draw(kind, random))
        }
        _ => (Cause::Environment, Behaviour::Random(1.0)),
    };
    let is_broken = matches!(cause, Cause::Regression | Cause::NewFlake(_));
    let meeting = meeting(is_broken, assumptions.unseen, random);
    let past = past(cause, behaviour, assumptions.same_look, random);
    let has_history = past.is_some();
    let crashes = random.random_bool(CRASHES);
    let has_predecessors = matches!(behaviour, Behaviour::InSuite(_)) || random.random_bool(0.95);
    let ladder_run = run_ladder(behaviour, crashes, has_predecessors, random);
    let base = base(cause, behaviour, ladder_run.has_passed(), &ladder_run.executions[0], random);
    let lines_seen = true;
    let facts = Facts {
        executions: &ladder_run.executions,
        trials: &ladder_run.trials,
        meeting: Some(&meeting),
        lines_seen,
        change: Some(ChangeFacts { base: "base", files: 3 }),
        base: base.as_ref(),
        hash_seed: None,
        alike: (1, None),
        gate: None,
        past: past.as_ref(),
    };
    let verdict = judge(&facts);
    Judged {
        cause,
        kind: verdict.kind.map(flakewise_model::Probability::get),
        stated: [verdict.flaky.get(), verdict.regression.get(), verdict.environment.get()],
        refusals: [Tolerance::Known, Tolerance::Flaky].map(|policy| refusal(policy, &facts, &verdict)),
        blame: verdict.blame,
        has_history,
        runs: u32::try_from(ladder_run.executions.len()).unwrap_or(u32::MAX) - 1,
    }
}

fn meeting(is_broken: bool, unseen: f64, random: &mut ChaCha12Rng) -> Meeting {
    let touches =
        |touch: Touch| Meeting::Touches(vec![TouchedFile { path: "shop/cart.py".to_owned(), touch }]);
    let [executes, loads, _, unknown] = BROKEN_TOUCHES;
    let shares = if is_broken { [executes, loads, unseen, unknown] } else { OTHER_TOUCHES };
    match draw(&[0, 1, 2, 3], &shares, random) {
        0 => touches(Touch::Executed(vec![7])),
        1 => touches(Touch::Loaded),
        2 => Meeting::Disjoint { dependencies: 40 },
        _ => Meeting::Unknown { reason: "it starts a process".to_owned() },
    }
}

/// What clean commits without the change showed.
fn past(cause: Cause, behaviour: Behaviour, same_look: f64, random: &mut ChaCha12Rng) -> Option<Past> {
    if !random.random_bool(WITH_HISTORY) {
        return None;
    }
    let (rate, same) = match cause {
        Cause::Flake(_) => (behaviour.whole_run_rate(random), true),
        Cause::Environment if random.random_bool(BROKEN_FOR_LONG) => (1.0, true),
        Cause::Regression | Cause::NewFlake(_) if random.random_bool(IN_OLD_FLAKE) => {
            (random.random_range(0.01..0.5), random.random_bool(same_look))
        }
        Cause::Environment | Cause::Regression | Cause::NewFlake(_) => (0.0, false),
    };
    let commits = random.random_range(2..60);
    let mut past = Past::default();
    for number in 0..commits {
        let runs = random.random_range(1..4_u64);
        let failed = (0..runs).filter(|_| random.random_bool(rate)).count() as u64;
        let seen = SeenOn {
            commit: format!("commit {number}"),
            branches: Vec::new(),
            alike: if same { failed } else { 0 },
            first_passed: runs - failed,
            first_failed: failed,
            last_seen: Timestamp::default(),
        };
        past.mixed += u64::from(seen.first_passed > 0 && seen.first_failed > 0);
        past.failures += seen.alike;
        past.revisions += u64::from(seen.alike > 0);
        past.seen.push(seen);
    }
    Some(past)
}

/// What runs at the base show.
fn base(
    cause: Cause,
    behaviour: Behaviour,
    has_passed: bool,
    first: &Execution,
    random: &mut ChaCha12Rng,
) -> Option<BaseFacts> {
    if !random.random_bool(VERIFIED) || first.outcome != Outcome::Failed {
        return None;
    }
    let fails = |random: &mut ChaCha12Rng| match cause {
        Cause::Regression | Cause::NewFlake(_) => false,
        Cause::Flake(_) => behaviour.fails(Condition::NewProcess, u32::MAX, random),
        Cause::Environment => true,
    };
    let mut facts = BaseFacts { passed: 0, failed: 0, otherwise: None, source: BaseSource::Run };
    for _ in 0..if has_passed { 4 } else { 2 } {
        if fails(random) {
            facts.failed += 1;
        } else {
            facts.passed += 1;
        }
        if if has_passed { facts.failed > 0 } else { facts.passed > 0 } {
            break;
        }
    }
    Some(facts)
}

/// What running a test again showed.
struct LadderRun {
    executions: Vec<Execution>,
    trials: Trials,
}

impl LadderRun {
    fn has_passed(&self) -> bool {
        self.executions.iter().any(|one| one.outcome == Outcome::Passed)
    }
}

/// Climbs the ladder as [`crate::triage()`] does, with a test that is made up.
fn run_ladder(
    behaviour: Behaviour,
    crashes: bool,
    has_predecessors: bool,
    random: &mut ChaCha12Rng,
) -> LadderRun {
    let settings = TriageSettings {
        immediate: 1,
        postponed: 1,
        separate: 2,
        max_failure_ratio: 0.01,
        max_failures: None,
        confidence: None,
        most_processes: 50,
        verify_base: false,
        tolerance: Tolerance::Flaky,
        contrast: 3,
        kind_time: std::time::Duration::from_secs(10),
        base_time: std::time::Duration::ZERO,
        seed: 1,
    };
    let mut ladder = Ladder::new(&settings, &|_| {});
    ladder.collected(0, &["test_a.py::test_a".to_owned()]);
    let key = TestKey { session: 0, number: 0 };
    let mut ladder_run = LadderRun { executions: Vec::new(), trials: Trials::new(has_predecessors) };
    let mut run = 0;
    let mut attempt =
        |ladder_run: &mut LadderRun, phase: Phase, condition: Condition, random: &mut ChaCha12Rng| {
            let failed = phase == Phase::First || behaviour.fails(condition, run, random);
            if phase != Phase::First {
                run += 1;
                ladder_run.trials.add(condition, failed);
            }
            let outcome = match failed {
                true if crashes => Outcome::Crashed,
                true => Outcome::Failed,
                false => Outcome::Passed,
            };
            let execution = execution(key, phase, outcome);
            ladder_run.executions.push(execution.clone());
            execution
        };
    let first = attempt(&mut ladder_run, Phase::First, Condition::AtOnce, random);
    let mut again = !crashes && ladder.again(&first);
    ladder.ended(&first);
    while again {
        let next = attempt(&mut ladder_run, Phase::Rerun, Condition::AtOnce, random);
        again = next.outcome.is_failure() && ladder.again(&next);
        ladder.ended(&next);
    }
    while !ladder.postpone(0, "main").is_empty() {
        let next = attempt(&mut ladder_run, Phase::Postpone, Condition::Later, random);
        ladder.ended(&next);
    }
    if !ladder_run.has_passed() {
        attempt(&mut ladder_run, Phase::Fork, Condition::Alone, random);
    }
    let costs: BTreeMap<Condition, f64> = [
        (Condition::Later, 0.505),
        (Condition::Alone, 0.02),
        (Condition::NewProcess, 0.8),
        (Condition::OtherSeed, 0.8),
    ]
    .into();
    let mut contrast = |ladder_run: &mut LadderRun, conditions: &[Condition], random: &mut ChaCha12Rng| {
        let available: Vec<_> = conditions
            .iter()
            .filter(|condition| !(crashes && **condition == Condition::Later))
            .map(|condition| (*condition, costs[condition]))
            .collect();
        let mut seconds = 0.0;
        while ladder_run.trials.len() < MOST_TRIALS && seconds < 10.0 && !ladder_run.trials.is_sure() {
            let Some(condition) = ladder_run.trials.next(&available) else { break };
            seconds += costs[&condition];
            let phase = match condition {
                Condition::AtOnce | Condition::Later => Phase::Postpone,
                Condition::Alone => Phase::Fork,
                Condition::NewProcess | Condition::OtherSeed => Phase::Fresh,
            };
            attempt(ladder_run, phase, condition, random);
        }
    };
    if ladder_run.has_passed() {
        contrast(&mut ladder_run, &[Condition::Later, Condition::Alone], random);
    }
    let condition = if ladder_run.has_passed() { Condition::NewProcess } else { Condition::OtherSeed };
    // INTERSECT.
    {
        let failed = behaviour.fails(condition, u32::MAX, random);
        ladder_run.trials.add(condition, failed);
        let outcome = if failed { Outcome::Failed } else { Outcome::Passed };
        ladder_run.executions.push(execution(key, Phase::Fresh, outcome));
    }
    if ladder_run.has_passed() {
        contrast(&mut ladder_run, &[Condition::Alone, Condition::NewProcess, Condition::OtherSeed], random);
    }
    ladder_run
}

fn execution(test: TestKey, phase: Phase, outcome: Outcome) -> Execution {
    Execution {
        test,
        phase,
        outcome,
        duration: None,
        started: Timestamp::default(),
        failure: outcome.is_failure().then(|| Failure::new(Some("AssertionError"), "assert 1 == 2", "")),
        frames: None,
        place: None,
        worker: if phase == Phase::Fork || phase == Phase::Fresh { "alone" } else { "main" }.to_owned(),
        position: 1,
        cost: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_thousand_failures_turn_no_more_builds_green_than_promised() {
        let judged = simulate(3000, 20_261_116, Assumptions::default());
        let broken = |one: &&Judged| matches!(one.cause, Cause::Regression | Cause::NewFlake(_));
        let regressions = judged.iter().filter(broken).count();
        let green =
            |policy: usize| judged.iter().filter(broken).filter(|one| one.refusals[policy].is_none()).count();
        // The rates themselves are measured by `bench/verdicts`.
        assert!(green(0) * 200 <= regressions, "{} of {regressions} under known", green(0));
        assert!(green(1) * 100 <= regressions, "{} of {regressions} under flaky", green(1));
        let named: Vec<_> = judged
            .iter()
            .filter_map(|one| match (one.cause, &one.blame) {
                (Cause::Flake(truth) | Cause::NewFlake(truth), Blame::Flaky(said))
                    if *said != FlakyKind::Undecided =>
                {
                    Some(truth == *said)
                }
                _ => None,
            })
            .collect();
        let wrong = named.iter().filter(|right| !**right).count();
        assert!(wrong * 20 <= named.len(), "{wrong} of {} kinds are wrong", named.len());
    }
}
