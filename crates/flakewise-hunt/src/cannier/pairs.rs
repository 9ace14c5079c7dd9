//! Which pairs of tests are worth running, say two models: one knows polluters,
//! the other victims (section 3.3 of the paper, CANNIER+PAIRWISE).

use super::{STEPS, nearest_to_utopia, pairwise_cost, threshold, undominated};
use crate::Pair;

/// A test, and what two models that do not know its labels say of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairSubject {
    /// That another test ends otherwise after it.
    pub polluter: f64,
    /// That it ends otherwise after another one.
    pub victim: f64,
    /// What one run of it costs.
    pub cost: f64,
}

/// What two thresholds leave of all pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairPoint {
    /// Tests from here on run first.
    pub polluter: f64,
    /// Tests from here on run second.
    pub victim: f64,
    /// The share of the true pairs that is left.
    pub kept: f64,
    /// What the pairs that are left cost by equation 8, with collecting what the
    /// models look at. All pairs cost 1.
    pub cost: f64,
    /// The share of all pairs that is left. As in equation 8, a test and itself
    /// count as a pair.
    pub asked: f64,
}

/// Every two thresholds in steps of a hundredth, given the true pairs. Those of
/// zero leave all pairs and do without the models and what their features cost.
pub fn sweep_pairs(subjects: &[PairSubject], pairs: &[Pair], features_cost: f64) -> Vec<PairPoint> {
    let reached = |probability: f64| (0..=STEPS).filter(|&step| probability >= threshold(step)).count();
    // How many true pairs reach exactly this many thresholds of both kinds, and
    // then at least this many.
    let mut left = vec![[0_u32; STEPS + 2]; STEPS + 2];
    for pair in pairs {
        left[reached(subjects[pair.first].polluter)][reached(subjects[pair.second].victim)] += 1;
    }
    for polluter in (0..=STEPS + 1).rev() {
        for victim in (0..=STEPS + 1).rev() {
            let above = |polluter: usize, victim: usize| {
                left.get(polluter).and_then(|row| row.get(victim)).copied().unwrap_or(0)
            };
            left[polluter][victim] +=
                above(polluter + 1, victim) + above(polluter, victim + 1) - above(polluter + 1, victim + 1);
        }
    }
    let costs = |probability: fn(&PairSubject) -> f64, step: usize| -> Vec<f64> {
        let reaching = subjects.iter().filter(|subject| probability(subject) >= threshold(step));
        reaching.map(|subject| subject.cost).collect()
    };
    let polluters: Vec<_> = (0..=STEPS).map(|step| costs(|subject| subject.polluter, step)).collect();
    let victims: Vec<_> = (0..=STEPS).map(|step| costs(|subject| subject.victim, step)).collect();
    let all = pairwise_cost(&polluters[0], &victims[0]).max(f64::MIN_POSITIVE);
    let count = (subjects.len() * subjects.len()).max(1);
    let mut points = Vec::with_capacity((STEPS + 1) * (STEPS + 1));
    for (polluter, first) in polluters.iter().enumerate() {
        for (victim, second) in victims.iter().enumerate() {
            let features = if polluter == 0 && victim == 0 { 0.0 } else { features_cost };
            points.push(PairPoint {
                polluter: threshold(polluter),
                victim: threshold(victim),
                // Those that reach the first threshold reach at least one.
                kept: f64::from(left[polluter + 1][victim + 1]) / pairs.len().max(1) as f64,
                cost: (pairwise_cost(first, second) + features) / all,
                asked: (first.len() * second.len()) as f64 / count as f64,
            });
        }
    }
    points
}

/// The points that no other beats in both, from cheap to dear.
pub fn pairs_front(points: &[PairPoint]) -> Vec<PairPoint> {
    undominated(points, |point| point.cost, |point| point.kept)
}

/// The point nearest to all true pairs at no cost.
pub fn pairs_knee(front: &[PairPoint]) -> Option<PairPoint> {
    nearest_to_utopia(front, |point| point.cost, |point| point.kept)
}

/// When the first polluter of a victim comes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FirstCulprit {
    /// The place of the victim.
    pub victim: usize,
    /// The pair's number among all pairs, if those likely to be true go first.
    pub rank: f64,
    /// The number to expect if they are in a random order.
    pub by_chance: f64,
    /// Its number among the pairs with this victim.
    pub own_rank: f64,
    /// The number to expect of that in a random order.
    pub own_by_chance: f64,
}

/// When the first polluter of each victim comes if pairs are run by how likely
/// they are: the product of what the models say. Pairs that are as likely are
/// in a random order: what is given then is the mean.
pub fn first_culprits(subjects: &[PairSubject], pairs: &[Pair]) -> Vec<FirstCulprit> {
    let score = |first: usize, second: usize| subjects[first].polluter * subjects[second].victim;
    let others = |victim: usize| (0..subjects.len()).filter(move |&first| first != victim);
    let mut all: Vec<f64> = (0..subjects.len())
        .flat_map(|second| others(second).map(move |first| score(first, second)))
        .collect();
    all.sort_by(|one, other| other.total_cmp(one));
    let mut victims: Vec<usize> = pairs.iter().map(|pair| pair.second).collect();
    victims.sort_unstable();
    victims.dedup();
    let culprit = |victim: usize| {
        let culprits: Vec<f64> =
            pairs.iter().filter(|pair| pair.second == victim).map(|pair| score(pair.first, victim)).collect();
        let mut own: Vec<f64> = others(victim).map(|first| score(first, victim)).collect();
        own.sort_by(|one, other| other.total_cmp(one));
        let by_chance = |count: usize| (count + 1) as f64 / (culprits.len() + 1) as f64;
        FirstCulprit {
            victim,
            rank: first_rank(&all, &culprits),
            by_chance: by_chance(all.len()),
            own_rank: first_rank(&own, &culprits),
            own_by_chance: by_chance(own.len()),
        }
    };
    victims.into_iter().map(culprit).collect()
}

/// The mean number of the first of some scores among all, which fall. Of `ties`
/// places those that `hits` are put on at random begin at (ties + 1) / (hits + 1).
fn first_rank(falling: &[f64], wanted: &[f64]) -> f64 {
    let best = wanted.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let before = falling.partition_point(|&score| score > best);
    let ties = falling.partition_point(|&score| score >= best) - before;
    let hits = wanted.iter().filter(|&&score| score >= best).count();
    before as f64 + (ties + 1) as f64 / (hits + 1) as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn subject(polluter: f64, victim: f64, cost: f64) -> PairSubject {
        PairSubject { polluter, victim, cost }
    }

    /// Some tests, and for each two of them whether they are a true pair.
    fn suites() -> impl Strategy<Value = (Vec<PairSubject>, Vec<Pair>)> {
        (2..9_usize).prop_flat_map(|count| {
            let hundredths = || (0..=50_u32).prop_map(|step| f64::from(step) / 50.0);
            let tests = (hundredths(), hundredths(), 1.0..9.0f64)
                .prop_map(|(polluter, victim, cost)| subject(polluter, victim, cost));
            let truth = proptest::collection::vec(any::<bool>(), count * count);
            (proptest::collection::vec(tests, count), truth).prop_map(move |(tests, truth)| {
                let places =
                    (0..count * count).map(|place| Pair { first: place / count, second: place % count });
                let pairs = places.zip(truth).filter(|(pair, is)| *is && pair.first != pair.second);
                (tests, pairs.map(|(pair, _)| pair).collect())
            })
        })
    }

    #[test]
    fn the_knee_is_nearest_to_all_pairs_at_no_cost() {
        let point = |kept, cost| PairPoint { polluter: 0.0, victim: 0.0, kept, cost, asked: cost };
        let points = [point(1.0, 1.0), point(0.95, 0.1), point(0.4, 0.02), point(0.9, 0.3)];
        let front = pairs_front(&points);
        assert_eq!(front, [points[2], points[1], points[0]]);
        assert_eq!(pairs_knee(&front), Some(points[1]));
    }

    #[test]
    fn likely_pairs_come_first() {
        let subjects = [subject(0.9, 0.1, 1.0), subject(0.2, 0.8, 1.0), subject(0.1, 0.1, 1.0)];
        // The best of six, and the best of two.
        let [first] = first_culprits(&subjects, &[Pair { first: 0, second: 1 }])[..] else {
            panic!("one victim")
        };
        assert_eq!((first.victim, first.rank, first.by_chance), (1, 1.0, 3.5));
        assert_eq!((first.own_rank, first.own_by_chance), (1.0, 1.5));
    }

    #[test]
    fn models_that_say_nothing_are_as_good_as_chance() {
        let subjects = [subject(0.5, 0.5, 1.0); 5];
        let pairs = [(0, 1), (2, 1), (3, 4)].map(|(first, second)| Pair { first, second });
        for first in first_culprits(&subjects, &pairs) {
            assert!((first.own_rank - first.own_by_chance).abs() < 1e-12);
            assert!((first.rank - first.by_chance).abs() < 1e-12);
        }
    }

    proptest! {
        #[test]
        fn a_sweep_equals_looking_at_every_pair((subjects, pairs) in suites()) {
            let points = sweep_pairs(&subjects, &pairs, 2.5);
            prop_assert_eq!(points.len(), 101 * 101);
            let count = subjects.len();
            let whole: f64 = subjects.iter().map(|subject| 2.0 * count as f64 * subject.cost).sum();
            for point in points.iter().step_by(173) {
                let is_left = |first: usize, second: usize| {
                    subjects[first].polluter >= point.polluter && subjects[second].victim >= point.victim
                };
                let (mut asked, mut cost) = (0, if point.polluter + point.victim > 0.0 { 2.5 } else { 0.0 });
                for first in 0..count {
                    for second in (0..count).filter(|&second| is_left(first, second)) {
                        asked += 1;
                        cost += subjects[first].cost + subjects[second].cost;
                    }
                }
                let kept = pairs.iter().filter(|pair| is_left(pair.first, pair.second)).count();
                prop_assert!((point.kept * pairs.len() as f64 - kept as f64).abs() < 1e-9);
                prop_assert!((point.cost - cost / whole).abs() < 1e-9);
                prop_assert!((point.asked * (count * count) as f64 - f64::from(asked)).abs() < 1e-9);
            }
        }

        #[test]
        fn nothing_beats_a_point_of_the_front((subjects, pairs) in suites()) {
            let points = sweep_pairs(&subjects, &pairs, 0.5);
            let front = pairs_front(&points);
            for point in &front {
                let beaten = points.iter().any(|other| {
                    other.kept >= point.kept && other.cost < point.cost
                        || other.kept > point.kept && other.cost <= point.cost
                });
                prop_assert!(!beaten);
            }
            let far = |point: &PairPoint| (1.0 - point.kept).hypot(point.cost);
            let least = points.iter().map(far).fold(f64::INFINITY, f64::min);
            prop_assert!((far(&pairs_knee(&front).expect("no front is empty")) - least).abs() < 1e-12);
        }

        #[test]
        fn the_first_culprit_comes_after_all_likelier_pairs((subjects, pairs) in suites()) {
            for first in first_culprits(&subjects, &pairs) {
                let score = |one: usize, other: usize| subjects[one].polluter * subjects[other].victim;
                let is_other = |&(one, other): &(usize, usize)| one != other;
                let best = pairs.iter().filter(|pair| pair.second == first.victim)
                    .map(|pair| score(pair.first, pair.second)).fold(0.0, f64::max);
                let places = (0..subjects.len()).flat_map(|one| (0..subjects.len()).map(move |other| (one, other)));
                let (likelier, as_likely) = places.filter(is_other).fold((0, 0), |(more, same), (one, other)| {
                    let score = score(one, other);
                    (more + u32::from(score > best), same + u32::from(score >= best))
                });
                prop_assert!(first.rank > f64::from(likelier) && first.rank <= f64::from(as_likely));
                prop_assert!(first.own_rank >= 1.0 && first.own_rank <= subjects.len() as f64 - 1.0);
            }
        }
    }
}
