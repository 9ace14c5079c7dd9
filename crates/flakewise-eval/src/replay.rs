//! Hunts on recorded runs: how soon would the flaky tests have been found?
//!
//! Of a test it is known how often it failed in many runs. A *world* puts its
//! failures at random places among them. One run of each test is given; then
//! policies choose what to run, and a test is found when both outcomes have been
//! seen. Tests are taken as independent and as equally dear: what real tests
//! share, and what they take, is not recorded. Budgets are counted in suites: as
//! many runs as there are tests.

use flakewise_hunt::cannier::{self, Point, Subject};
use flakewise_hunt::{Candidate, Known, Planner, Prior};
use flakewise_model::Hidden;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;
use rayon::prelude::*;

/// A test of which runs were recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReplayTest {
    /// Its project.
    pub project: u32,
    /// How likely it is flaky, and what happened.
    pub known: Known,
}

/// Recorded tests, and what was learned for each project from all the others.
pub struct Replay {
    tests: Vec<ReplayTest>,
    /// The tests of each project.
    projects: Vec<Vec<usize>>,
    priors: Vec<Prior>,
    flaky: usize,
}

/// What hunts found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplayResult {
    /// For every flaky test, from the first to the last that was wanted: after how
    /// many suites RERUN of everything has found this many, in the mean.
    pub uniform: Vec<f64>,
    /// Likewise CANNIER's choice of tests; shorter if some are never found.
    pub cannier: Vec<f64>,
    /// Likewise the planner.
    pub planner: Vec<f64>,
    /// For each stop, in suites: how often the interval for the hidden tests of a
    /// project held the truth, and how often there was one.
    pub coverage: Vec<(f64, u32, u32)>,
    /// Likewise of those that fail in one of a hundred runs or more.
    pub coverage_of_often: Vec<(f64, u32, u32)>,
    /// Likewise for all projects together.
    pub coverage_of_all: Vec<(f64, u32, u32)>,
}

/// Where the number of hidden tests is looked at, in suites.
const STOPS: [f64; 7] = [0.5, 2.0, 5.0, 20.0, 50.0, 100.0, 200.0];
const DRAWS: usize = 300;

/// What a world decides about a test.
#[derive(Clone, Copy)]
struct Fate {
    /// The outcome of the run that is given.
    fails: bool,
    /// The rerun that shows the other outcome, from 1, if there is one.
    reveals: Option<u32>,
    /// Its place within each round of reruns, from 0 to 1.
    place: f64,
}

impl Replay {
    /// Learns for each project from the others.
    pub fn new(tests: Vec<ReplayTest>) -> Self {
        let count = tests.iter().map(|test| test.project as usize + 1).max().unwrap_or(0);
        let mut projects = vec![Vec::new(); count];
        for (place, test) in tests.iter().enumerate() {
            projects[test.project as usize].push(place);
        }
        let known: Vec<Vec<Known>> =
            projects.iter().map(|rows| rows.iter().map(|&row| tests[row].known).collect()).collect();
        let priors = (0..count)
            .into_par_iter()
            .map(|out| {
                let others: Vec<&[Known]> =
                    (0..count).filter(|&project| project != out).map(|project| &known[project][..]).collect();
                Prior::fit(&others)
            })
            .collect();
        Self::with_priors(tests, projects, priors)
    }

    fn with_priors(tests: Vec<ReplayTest>, projects: Vec<Vec<usize>>, priors: Vec<Prior>) -> Self {
        let flaky = tests.iter().filter(|test| is_flaky(&test.known)).count();
        Self { tests, projects, priors, flaky }
    }

    /// Replaces the fitted share of projects without flaky tests.
    pub fn suppose_clean(&mut self, share: f64) {
        for prior in &mut self.priors {
            prior.clean = share;
        }
    }

    /// What was learned for each project.
    pub fn priors(&self) -> &[Prior] {
        &self.priors
    }

    /// How likely a project shows nothing when each test runs so often, though two
    /// or more are flaky that fail at least at this rate: the mean of all projects.
    pub fn quiet(&self, runs: u32, least: f64) -> f64 {
        let chance = |rows: &Vec<usize>| {
            let known = rows.iter().map(|&row| self.tests[row].known).filter(is_flaky);
            let rates: Vec<f64> =
                known.map(|known| f64::from(known.failed) / f64::from(known.passed + known.failed)).collect();
            if rates.iter().filter(|rate| **rate >= least).count() < 2 {
                return 0.0;
            }
            rates.iter().map(|rate| (1.0 - rate).powf(runs.into())).product::<f64>()
        };
        self.projects.iter().map(chance).sum::<f64>() / self.projects.len().max(1) as f64
    }

    /// How many tests are flaky.
    pub fn flaky(&self) -> usize {
        self.flaky
    }

    /// The front of CANNIER's thresholds on RERUN, in runs, and its knee, as the
    /// paper has it: what is run again is found.
    pub fn cannier(&self, most: u32) -> (Vec<Point>, Option<Point>) {
        let front = cannier_front(&self.tests, most, |_| 1.0);
        let knee = cannier::knee(&front);
        (front, knee)
    }

    /// Hunts in as many worlds as there are seeds until this share is found, on
    /// all cores.
    pub fn run(&self, seeds: u64, share: f64) -> ReplayResult {
        let wanted = share_of(self.flaky, share);
        // The threshold is placed with hindsight, as the paper does.
        let lower = self.cannier(MOST_RUNS).1.map_or(0.0, |knee| knee.thresholds.lower);
        let runs: Vec<ReplayResult> = (0..seeds)
            .into_par_iter()
            .map(|seed| {
                let fates = self.world(seed);
                let (planner, [coverage, coverage_of_often, coverage_of_all]) =
                    self.hunt(&fates, seed, wanted);
                ReplayResult {
                    uniform: self.rounds(&fates, 0.0),
                    cannier: self.rounds(&fates, lower),
                    planner,
                    coverage,
                    coverage_of_often,
                    coverage_of_all,
                }
            })
            .collect();
        let mean = |curve: fn(&ReplayResult) -> &Vec<f64>| -> Vec<f64> {
            let length = runs.iter().map(|run| curve(run).len()).min().unwrap_or(0);
            let at = |place: usize| runs.iter().map(|run| curve(run)[place]).sum::<f64>() / seeds as f64;
            (0..length).map(at).collect()
        };
        let sum = |covered: fn(&ReplayResult) -> &Vec<(f64, u32, u32)>| {
            STOPS
                .iter()
                .map(|&stop| {
                    let here =
                        runs.iter().flat_map(covered).filter(|covered| covered.0.total_cmp(&stop).is_eq());
                    here.fold((stop, 0, 0), |sum, one| (stop, sum.1 + one.1, sum.2 + one.2))
                })
                .filter(|sum| sum.2 > 0)
                .collect()
        };
        ReplayResult {
            uniform: mean(|run| &run.uniform),
            cannier: mean(|run| &run.cannier),
            planner: mean(|run| &run.planner),
            coverage: sum(|run| &run.coverage),
            coverage_of_often: sum(|run| &run.coverage_of_often),
            coverage_of_all: sum(|run| &run.coverage_of_all),
        }
    }

    fn world(&self, seed: u64) -> Vec<Fate> {
        let mut random = ChaCha12Rng::seed_from_u64(seed);
        let mut fate = |test: &ReplayTest| {
            let Known { passed, failed, .. } = test.known;
            let place = random.random();
            if !is_flaky(&test.known) {
                return Fate { fails: passed == 0 && failed > 0, reveals: None, place };
            }
            let fails = random.random_range(0..passed + failed) < failed;
            let (mut same, other) = if fails { (failed - 1, passed) } else { (passed - 1, failed) };
            let mut rerun = 1;
            while random.random_range(0..same + other) >= other {
                same -= 1;
                rerun += 1;
            }
            Fate { fails, reveals: Some(rerun), place }
        };
        self.tests.iter().map(&mut fate).collect()
    }

    /// Round after round over all tests of at least this risk but those found.
    fn rounds(&self, fates: &[Fate], risk: f64) -> Vec<f64> {
        let chosen: Vec<Fate> = fates
            .iter()
            .zip(&self.tests)
            .filter(|(_, test)| test.known.risk >= risk)
            .map(|(fate, _)| *fate)
            .collect();
        let mut found: Vec<(u32, f64)> =
            chosen.iter().filter_map(|fate| Some((fate.reveals?, fate.place))).collect();
        found.sort_by(|one, other| one.partial_cmp(other).expect("places are numbers"));
        let (mut left, mut spent, mut round, mut begun) = (chosen.len() as f64, 0.0, 1, chosen.len() as f64);
        found
            .iter()
            .map(|&(reveals, place)| {
                if reveals > round {
                    // The rest of that round, and all those between.
                    spent += begun + f64::from(reveals - round - 1) * left;
                    (round, begun) = (reveals, left);
                }
                left -= 1.0;
                (spent + begun * place) / self.tests.len() as f64
            })
            .collect()
    }

    /// The curve, and coverages: of projects, of what fails often in them, and of
    /// all projects together.
    #[expect(clippy::type_complexity, reason = "a curve and three lists of counts")]
    fn hunt(&self, fates: &[Fate], seed: u64, wanted: usize) -> (Vec<f64>, [Vec<(f64, u32, u32)>; 3]) {
        let mut planners: Vec<Planner> = self
            .projects
            .iter()
            .zip(&self.priors)
            .map(|(rows, prior)| {
                let candidate = |&row: &usize| {
                    let (Known { risk, class, module, .. }, fails) =
                        (self.tests[row].known, fates[row].fails);
                    Candidate {
                        risk,
                        class,
                        module,
                        seconds: 1.0,
                        passed: u32::from(!fails),
                        failed: u32::from(fails),
                    }
                };
                Planner::with_prior(&rows.iter().map(candidate).collect::<Vec<_>>(), prior, seed)
            })
            .collect();
        let mut best: Vec<Option<(usize, f64)>> = planners.iter_mut().map(Planner::best).collect();
        let is_left = |row: &&usize| fates[**row].reveals.is_some();
        let mut left: Vec<u32> = self
            .projects
            .iter()
            .map(|rows| u32::try_from(rows.iter().filter(is_left).count()).expect("few"))
            .collect();
        let is_often = |row: usize| {
            let Known { passed, failed, .. } = self.tests[row].known;
            f64::from(failed) >= Hidden::LEAST_RATE * f64::from(passed + failed)
        };
        let often = |rows: &Vec<usize>| rows.iter().filter(is_left).filter(|row| is_often(**row)).count();
        let mut left_often: Vec<u32> =
            self.projects.iter().map(|rows| u32::try_from(often(rows)).expect("few")).collect();
        let mut reruns = vec![0; self.tests.len()];
        let suite = self.tests.len() as f64;
        let (mut spent, mut curve, mut stops) = (0u64, Vec::new(), STOPS.iter().peekable());
        let [mut coverage, mut coverage_of_often, mut coverage_of_all] = [const { Vec::new() }; 3];
        while curve.len() < wanted {
            let rate = |project: &usize| best[*project].map_or(-1.0, |(_, rate)| rate);
            let project = (0..planners.len())
                .max_by(|one, other| rate(one).total_cmp(&rate(other)))
                .expect("there are projects");
            let (test, _) = best[project].expect("a flaky test is left");
            let row = self.projects[project][test];
            // Several at once, where one more changes little.
            let batch = (reruns[row] / 4).max(1);
            let Fate { fails, reveals, .. } = fates[row];
            let shows = reveals.filter(|&reveals| reruns[row] + batch >= reveals);
            let ran = shows.map_or(batch, |reveals| reveals - reruns[row]);
            reruns[row] += ran;
            spent += u64::from(ran);
            let other = u32::from(shows.is_some());
            let (passed, failed) = if fails { (other, ran - other) } else { (ran - other, other) };
            planners[project].record_many(test, passed, failed);
            best[project] = planners[project].best();
            let suites = spent as f64 / suite;
            if shows.is_some() {
                curve.push(suites);
                left[project] -= 1;
                left_often[project] -= u32::from(is_often(row));
            }
            if let Some(&stop) = stops.next_if(|&&stop| suites >= stop) {
                let mut all = vec![0; DRAWS];
                let (mut covered, mut covered_often) = ((stop, 0, 0), (stop, 0, 0));
                for ((planner, &left), &left_often) in planners.iter().zip(&left).zip(&left_often) {
                    let mut draws = planner.hidden_draws(DRAWS, true);
                    all.iter_mut().zip(&draws).for_each(|(sum, draw)| *sum += draw);
                    covered.1 += u32::from(holds(&mut draws, left));
                    covered.2 += 1;
                    covered_often.1 += u32::from(holds(&mut planner.hidden_draws(DRAWS, false), left_often));
                    covered_often.2 += 1;
                }
                coverage.push(covered);
                coverage_of_often.push(covered_often);
                coverage_of_all.push((stop, u32::from(holds(&mut all, left.iter().sum())), 1));
            }
        }
        (curve, [coverage, coverage_of_often, coverage_of_all])
    }
}

/// So many of all that the share is reached.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a count is none other"
)]
pub fn share_of(all: usize, share: f64) -> usize {
    ((all as f64 * share).ceil() as usize).min(all)
}

/// RERUN gives up after this many.
pub(crate) const MOST_RUNS: u32 = 10_000;

fn holds(draws: &mut [u32], truth: u32) -> bool {
    let Hidden { low, high, .. } = Hidden::of(draws);
    (low..=high).contains(&truth)
}

/// The front of CANNIER's thresholds, in runs. What is run again and fails at a
/// rate is shown to be flaky with the given chance.
pub(crate) fn cannier_front(tests: &[ReplayTest], most: u32, shown: impl Fn(f64) -> f64) -> Vec<Point> {
    let subject = |test: &ReplayTest| {
        let Known { risk, passed, failed, .. } = test.known;
        let positive = is_flaky(&test.known);
        let rate = f64::from(failed) / f64::from(failed + passed);
        let cost = if positive { cannier::expected_runs(rate, most) } else { f64::from(most) };
        Subject { probability: risk, positive, cost, shown: shown(rate) }
    };
    let subjects: Vec<Subject> = tests.iter().map(subject).collect();
    cannier::pareto(&cannier::sweep(&subjects, tests.len() as f64))
}

fn is_flaky(known: &Known) -> bool {
    known.passed > 0 && known.failed > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two projects; in one a class has flaky tests.
    fn replay() -> Replay {
        let test = |place: u32| {
            let flaky = place % 40 < 6;
            let failed = if flaky { 20 + place } else { 0 };
            let risk = if flaky || place.is_multiple_of(9) { 0.3 } else { 0.02 };
            let known = Known { risk, class: place / 8, module: place / 40, passed: 1000 - failed, failed };
            ReplayTest { project: place / 80, known }
        };
        let tests: Vec<ReplayTest> = (0..160).map(test).collect();
        let projects = vec![(0..80).collect(), (80..160).collect()];
        // Projects compete for runs: one that is held to be clean would wait.
        Replay::with_priors(tests, projects, vec![Prior { clean: 0.0, ..Prior::default() }; 2])
    }

    #[test]
    fn rounds_equal_running_test_after_test() {
        let replay = replay();
        let fates = replay.world(3);
        let mut order: Vec<usize> = (0..fates.len()).collect();
        order.sort_by(|&one, &other| fates[one].place.total_cmp(&fates[other].place));
        let (mut runs, mut slow) = (0.0, Vec::new());
        for round in 1..=1000 {
            order.retain(|&test| fates[test].reveals.is_none_or(|reveals| reveals >= round));
            for &test in &order {
                runs += 1.0;
                if fates[test].reveals == Some(round) {
                    slow.push(runs / fates.len() as f64);
                }
            }
        }
        let quick = replay.rounds(&fates, 0.0);
        assert_eq!(quick.len(), slow.len());
        // A place within a round is taken as spread evenly.
        assert!(quick.iter().zip(&slow).all(|(quick, slow)| (quick - slow).abs() < 0.2));
    }

    #[test]
    fn a_replay_is_the_same_each_time_and_beats_running_everything() {
        let replay = replay();
        let result = replay.run(3, 0.9);
        assert_eq!(result, replay.run(3, 0.9));
        assert_eq!(result.uniform.len(), replay.flaky());
        assert!(result.planner.iter().zip(&result.uniform).all(|(planner, uniform)| planner < uniform));
    }

    #[test]
    fn every_failure_is_somewhere_among_the_runs() {
        let replay = replay();
        for (fate, test) in replay.world(5).iter().zip(&replay.tests) {
            let Known { passed, failed, .. } = test.known;
            assert_eq!(fate.reveals.is_some(), is_flaky(&test.known));
            let same = if fate.fails { failed } else { passed };
            assert!(fate.reveals.is_none_or(|reveals| reveals <= same));
        }
    }
}
