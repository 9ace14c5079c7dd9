//! The techniques of CANNIER (Parry et al., 2023): a model decides where reruns
//! are worth their cost.
//!
//! Tests below a lower threshold are called not flaky and those from an upper
//! one on flaky; only what lies between is run again. Costs are those of the
//! paper's equations 6 to 8, labels those of its table 2. Nothing runs here.

mod pairs;

pub use pairs::{FirstCulprit, PairPoint, PairSubject, first_culprits, pairs_front, pairs_knee, sweep_pairs};

/// What two kinds of runs showed of a test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Runs in the original order.
    pub baseline_runs: u32,
    /// Those in which it failed.
    pub baseline_failures: u32,
    /// Runs in shuffled orders.
    pub shuffled_runs: u32,
    /// Those in which it failed.
    pub shuffled_failures: u32,
    /// Whether another test had another outcome right after this one than alone.
    pub pollutes: bool,
}

/// What a model tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// Flaky in the original order, or not.
    NodVersusRest,
    /// Of tests that failed in a shuffled order and not always in the original
    /// one: flaky in the original order, or victims.
    NodVersusVictim,
    /// Victims of other tests, or not.
    VictimVersusRest,
    /// Tests that have victims, or not.
    PolluterVersusRest,
}

impl Problem {
    /// The label of a test; none if the problem is not about it.
    pub fn label(self, counts: &Counts) -> Option<bool> {
        let always_passed = counts.baseline_failures == 0;
        let always_failed = counts.baseline_failures == counts.baseline_runs;
        let flaky = !always_passed && !always_failed;
        match self {
            Self::NodVersusRest => Some(flaky),
            Self::NodVersusVictim => (!always_failed && counts.shuffled_failures > 0).then_some(flaky),
            Self::VictimVersusRest => Some(
                always_passed && counts.shuffled_failures > 0
                    || always_failed && counts.shuffled_failures < counts.shuffled_runs,
            ),
            Self::PolluterVersusRest => Some(counts.pollutes),
        }
    }
}

/// Between what a model is not believed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// A test below is called not flaky.
    pub lower: f64,
    /// A test from here on is called flaky.
    pub upper: f64,
}

impl Thresholds {
    /// What a test is called without a run; none if it is to be run.
    pub fn call(self, probability: f64) -> Option<bool> {
        if probability < self.lower {
            Some(false)
        } else if probability >= self.upper {
            Some(true)
        } else {
            None
        }
    }
}

/// A test whose label is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Subject {
    /// That its label is positive, says a model that does not know it.
    pub probability: f64,
    /// Its label.
    pub positive: bool,
    /// What rerunning it until it is decided costs.
    pub cost: f64,
    /// How likely reruns are to show that it is positive, if it is. The paper
    /// takes what RERUN says for the label: 1.
    pub shown: f64,
}

/// How often RERUN is expected to run a test that fails at a rate: until both
/// outcomes are seen, but `most` times at most (equation 6).
pub fn expected_runs(rate: f64, most: u32) -> f64 {
    // The sum over all runs of the chance that the ones before were alike.
    let alike = |same: f64| {
        if same >= 1.0 {
            f64::from(most) - 1.0
        } else {
            same * (1.0 - same.powf(f64::from(most) - 1.0)) / (1.0 - same)
        }
    };
    if most < 2 { f64::from(most) } else { 1.0 + alike(rate) + alike(1.0 - rate) }
}

/// How likely RERUN is to see both outcomes of a test that fails at a rate.
pub fn chance_of_both(rate: f64, most: u32) -> f64 {
    if most < 2 { 0.0 } else { 1.0 - rate.powf(f64::from(most)) - (1.0 - rate).powf(f64::from(most)) }
}

/// How often iDFlakies is expected to classify a test that failed so often in
/// shuffled orders, if this share of further failures is looked at again. Each
/// time costs a run of the whole suite (equation 7).
pub fn expected_classifications(shuffled_failures: u32, recheck: f64) -> f64 {
    if shuffled_failures == 0 { 0.0 } else { 1.0 + recheck * (f64::from(shuffled_failures) - 1.0) }
}

/// What it costs to run each of some tests before each of some others, given
/// what one run of each costs (equation 8).
pub fn pairwise_cost(polluters: &[f64], victims: &[f64]) -> f64 {
    polluters.len() as f64 * victims.iter().sum::<f64>()
        + victims.len() as f64 * polluters.iter().sum::<f64>()
}

/// What thresholds give.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The thresholds.
    pub thresholds: Thresholds,
    /// The correlation of what is said with the labels (MCC).
    pub correlation: f64,
    /// The share of the positives that is called so.
    pub found: f64,
    /// What the reruns cost, with collecting what the model looks at.
    pub cost: f64,
}

const STEPS: usize = 100;

/// Every pair of thresholds, in steps of a hundredth. The last upper threshold
/// is above everything, so that the first pair with it is RERUN alone, which
/// does without the model and what its features cost.
pub fn sweep(subjects: &[Subject], features_cost: f64) -> Vec<Point> {
    // By how many thresholds a test reaches; sums over those that reach fewer.
    let mut sums = [(0.0, 0.0, 0.0, 0.0); STEPS + 3];
    for subject in subjects {
        let reached = (0..=STEPS).filter(|&step| subject.probability >= threshold(step)).count();
        let sum = &mut sums[reached + 1];
        let positive = f64::from(u8::from(subject.positive));
        let shown = positive * subject.shown;
        *sum = (sum.0 + positive, sum.1 + 1.0 - positive, sum.2 + subject.cost, sum.3 + shown);
    }
    for step in 1..sums.len() {
        let (before, own) = (sums[step - 1], sums[step]);
        sums[step] = (own.0 + before.0, own.1 + before.1, own.2 + before.2, own.3 + before.3);
    }
    let all = sums[STEPS + 2];
    let mut points = Vec::new();
    for lower in 0..=STEPS {
        for upper in lower..=STEPS + 1 {
            // Those that reach no more than the threshold before are below it.
            let (below, under) = (sums[lower + 1], sums[upper + 1]);
            let hits = all.0 - under.0 + (under.3 - below.3);
            let confusion = [hits, all.1 - under.1, all.0 - hits, under.1];
            let alone = lower == 0 && upper == STEPS + 1;
            points.push(Point {
                thresholds: Thresholds { lower: threshold(lower), upper: threshold(upper) },
                correlation: correlation(confusion),
                found: if all.0 > 0.0 { hits / all.0 } else { 0.0 },
                cost: under.2 - below.2 + if alone { 0.0 } else { features_cost },
            });
        }
    }
    points
}

fn threshold(step: usize) -> f64 {
    step as f64 / STEPS as f64
}

/// Of true and false positives, and false and true negatives.
fn correlation([hits, alarms, misses, rest]: [f64; 4]) -> f64 {
    let scale = ((hits + alarms) * (hits + misses) * (rest + alarms) * (rest + misses)).sqrt();
    if scale > 0.0 { (hits * rest - alarms * misses) / scale } else { 0.0 }
}

/// The points that no other beats in both, from cheap to dear.
pub fn pareto(points: &[Point]) -> Vec<Point> {
    undominated(points, |point| point.cost, |point| point.correlation)
}

/// The point nearest to a correlation of 1 at no cost, the dearest costing 1.
pub fn knee(front: &[Point]) -> Option<Point> {
    let dearest = front.iter().map(|point| point.cost).fold(f64::MIN_POSITIVE, f64::max);
    nearest_to_utopia(front, |point| point.cost / dearest, |point| point.correlation)
}

fn undominated<P: Copy>(points: &[P], cost: impl Fn(&P) -> f64, worth: impl Fn(&P) -> f64) -> Vec<P> {
    let mut sorted = points.to_vec();
    sorted.sort_by(|one, other| cost(one).total_cmp(&cost(other)).then(worth(other).total_cmp(&worth(one))));
    let mut front: Vec<P> = Vec::new();
    for point in sorted {
        if front.last().is_none_or(|last| worth(&point) > worth(last)) {
            front.push(point);
        }
    }
    front
}

fn nearest_to_utopia<P: Copy>(front: &[P], cost: impl Fn(&P) -> f64, worth: impl Fn(&P) -> f64) -> Option<P> {
    let far = |point: &P| (1.0 - worth(point)).hypot(cost(point));
    front.iter().copied().min_by(|one, other| far(one).total_cmp(&far(other)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn counts(baseline_failures: u32, shuffled_failures: u32) -> Counts {
        Counts { baseline_runs: 10, baseline_failures, shuffled_runs: 10, shuffled_failures, pollutes: false }
    }

    #[test]
    fn labels_are_those_of_the_paper() {
        let label = |problem: Problem, baseline, shuffled| problem.label(&counts(baseline, shuffled));
        assert_eq!(label(Problem::NodVersusRest, 3, 0), Some(true));
        assert_eq!(label(Problem::NodVersusRest, 0, 3), Some(false));
        assert_eq!(label(Problem::NodVersusRest, 10, 10), Some(false));
        assert_eq!(label(Problem::NodVersusVictim, 3, 3), Some(true));
        assert_eq!(label(Problem::NodVersusVictim, 0, 3), Some(false));
        assert_eq!(label(Problem::NodVersusVictim, 3, 0), None);
        assert_eq!(label(Problem::NodVersusVictim, 10, 3), None);
        assert_eq!(label(Problem::VictimVersusRest, 0, 3), Some(true));
        assert_eq!(label(Problem::VictimVersusRest, 10, 3), Some(true));
        assert_eq!(label(Problem::VictimVersusRest, 10, 10), Some(false));
        assert_eq!(label(Problem::VictimVersusRest, 3, 5), Some(false));
        let polluter = Counts { pollutes: true, ..counts(0, 0) };
        assert_eq!(Problem::PolluterVersusRest.label(&polluter), Some(true));
    }

    #[test]
    fn a_classification_costs_more_the_more_is_looked_at_again() {
        for (failures, expected) in [(0, 0.0), (1, 1.0), (11, 3.0)] {
            assert!((expected_classifications(failures, 0.2) - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn a_pair_costs_both_of_its_tests() {
        assert!((pairwise_cost(&[1.0, 2.0], &[10.0]) - (2.0 * 10.0 + 3.0)).abs() < 1e-12);
    }

    #[test]
    fn the_knee_is_nearest_to_perfect() {
        let point = |correlation, cost| Point {
            thresholds: Thresholds { lower: 0.0, upper: 1.0 },
            correlation,
            found: 1.0,
            cost,
        };
        let points = [point(1.0, 100.0), point(0.9, 12.0), point(0.5, 1.0), point(0.8, 20.0)];
        let front = pareto(&points);
        assert_eq!(front, [points[2], points[1], points[0]]);
        assert_eq!(knee(&front), Some(points[1]));
        assert_eq!(knee(&[]), None);
    }

    proptest! {
        #[test]
        fn expected_runs_are_the_paper_s_sum(rate in 0.0..=1.0f64, most in 2..60u32) {
            let exact = |run: u32| {
                let before = f64::from(run) - 1.0;
                rate.powf(before) * (1.0 - rate) + (1.0 - rate).powf(before) * rate
            };
            let decided: f64 = (2..=most).map(exact).sum();
            let sum: f64 = (2..=most).map(|run| f64::from(run) * exact(run)).sum();
            let sum = sum + f64::from(most) * (1.0 - decided);
            prop_assert!((expected_runs(rate, most) - sum).abs() < 1e-6);
            prop_assert!((chance_of_both(rate, most) - decided).abs() < 1e-9);
        }

        #[test]
        fn a_sweep_equals_calling_every_test(
            subjects in proptest::collection::vec((0.0..=1.0f64, any::<bool>(), 1.0..9.0f64, 0.0..=1.0f64), 1..20),
        ) {
            let subjects: Vec<Subject> = subjects
                .into_iter()
                .map(|(probability, positive, cost, shown)| Subject {
                    probability: (probability * 50.0).round() / 50.0,
                    positive,
                    cost,
                    shown,
                })
                .collect();
            let points = sweep(&subjects, 2.5);
            prop_assert_eq!(points.len(), 101 * 102 / 2 + 101);
            for point in points.iter().step_by(37) {
                let (mut confusion, mut cost) = ([0.0; 4], 2.5);
                for subject in &subjects {
                    let called = point.thresholds.call(subject.probability);
                    cost += if called.is_none() { subject.cost } else { 0.0 };
                    let said = called.map_or(subject.shown, |flaky| f64::from(u8::from(flaky)));
                    match (subject.positive, called) {
                        (true, _) => {
                            confusion[0] += said;
                            confusion[2] += 1.0 - said;
                        }
                        (false, Some(true)) => confusion[1] += 1.0,
                        (false, _) => confusion[3] += 1.0,
                    }
                }
                if point.thresholds.lower > 0.0 || point.thresholds.upper <= 1.0 {
                    prop_assert!((point.cost - cost).abs() < 1e-9);
                }
                prop_assert!((point.correlation - correlation(confusion)).abs() < 1e-9);
                let positives = confusion[0] + confusion[2];
                prop_assert!((point.found * positives - confusion[0]).abs() < 1e-9);
            }
        }
    }
}
