//! Which pairs of tests to run next, learnt from those that were run.
//!
//! Most true pairs have one of a few tests in common: one that spoils nearly
//! everybody, or one that nearly everybody spoils. A pair that is true says that
//! its first test may be the one or its second the other, and then the rest of
//! that row or column is worth running.

use flakewise_hunt::Pair;
use rand::{Rng as _, SeedableRng};
use rand_chacha::ChaCha12Rng;

/// Chooses pairs.
#[derive(Clone, Debug)]
pub(crate) struct PairPlanner {
    asked: Vec<Vec<bool>>,
    /// How many pairs with each test as first, and as second, were asked.
    asked_first: Vec<u32>,
    asked_second: Vec<u32>,
    true_pairs: Vec<Pair>,
    random: ChaCha12Rng,
}

/// Runs of a test that what is believed of all of them counts as.
const WEIGHT: f64 = 2.0;
/// The rate of true pairs before any was asked, and pairs that it counts as.
const RATE: f64 = 0.01;
const RATE_WEIGHT: f64 = 100.0;
/// How often a true pair is shared out between its tests anew.
const ROUNDS: usize = 3;

impl PairPlanner {
    /// Of a suite with so many tests. Those as likely are in a random order.
    pub(crate) fn new(tests: usize, seed: u64) -> Self {
        let itself = |test: usize| (0..tests).map(|other| other == test).collect();
        Self {
            asked: (0..tests).map(itself).collect(),
            asked_first: vec![0; tests],
            asked_second: vec![0; tests],
            true_pairs: Vec::new(),
            random: ChaCha12Rng::seed_from_u64(seed),
        }
    }

    /// The most promising pairs that were not asked for before, so many or fewer.
    pub(crate) fn next(&mut self, count: usize) -> Vec<Pair> {
        let (first, second) = self.rates();
        let mut pairs: Vec<(f64, u32, Pair)> = Vec::new();
        for (one, asked) in self.asked.iter().enumerate() {
            for other in (0..asked.len()).filter(|&other| !asked[other]) {
                let either = 1.0 - (1.0 - first[one]) * (1.0 - second[other]);
                pairs.push((either, self.random.random(), Pair { first: one, second: other }));
            }
        }
        let falling = |one: &(f64, u32, Pair), other: &(f64, u32, Pair)| {
            other.0.total_cmp(&one.0).then(one.1.cmp(&other.1))
        };
        if count < pairs.len() {
            pairs.select_nth_unstable_by(count, falling);
            pairs.truncate(count);
        }
        for &(_, _, pair) in &pairs {
            self.asked[pair.first][pair.second] = true;
            self.asked_first[pair.first] += 1;
            self.asked_second[pair.second] += 1;
        }
        pairs.into_iter().map(|(_, _, pair)| pair).collect()
    }

    /// A pair that was asked for is true.
    pub(crate) fn is_true(&mut self, pair: Pair) {
        self.true_pairs.push(pair);
    }

    /// How often each test is to blame as the first, and as the second, at most.
    fn rates(&self) -> (Vec<f64>, Vec<f64>) {
        let asked: f64 = self.asked_first.iter().copied().map(f64::from).sum();
        let mean = (RATE * RATE_WEIGHT + self.true_pairs.len() as f64) / (RATE_WEIGHT + asked);
        let blamed = |asked: &[u32], shares: &[f64]| -> Vec<f64> {
            let rate =
                |(&asked, share): (&u32, &f64)| (share + WEIGHT * mean / 2.0) / (f64::from(asked) + WEIGHT);
            asked.iter().zip(shares).map(rate).collect()
        };
        let tests = self.asked.len();
        let (mut first, mut second) = (vec![mean / 2.0; tests], vec![mean / 2.0; tests]);
        for _ in 0..ROUNDS {
            // A true pair is the work of the one that has more of them.
            let (mut firsts, mut seconds) = (vec![0.0; tests], vec![0.0; tests]);
            for pair in &self.true_pairs {
                let share = first[pair.first] / (first[pair.first] + second[pair.second]);
                firsts[pair.first] += share;
                seconds[pair.second] += 1.0 - share;
            }
            first = blamed(&self.asked_first, &firsts);
            second = blamed(&self.asked_second, &seconds);
        }
        // Who was asked little may be worse than it looks.
        let hoped = |rates: Vec<f64>, asked: &[u32]| -> Vec<f64> {
            let rate = |(rate, &asked): (f64, &u32)| (rate + mean / (1.0 + f64::from(asked)).sqrt()).min(1.0);
            rates.into_iter().zip(asked).map(rate).collect()
        };
        (hoped(first, &self.asked_first), hoped(second, &self.asked_second))
    }
}
