//! Random numbers that are the same in every release.
//!
//! A model is named by its data and its seed, so the numbers must not change
//! with the version of a library. This is `SplitMix64`: small, quick, and good
//! enough to choose rows and columns.

/// A source of random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// The source with this seed. `stream` tells the trees of one model apart.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        let mut random = Self(seed);
        random.0 = random.next() ^ stream.wrapping_mul(0xd134_2543_de82_ef95);
        random.0 = random.next();
        random
    }

    /// 64 random bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number below `bound`.
    #[expect(clippy::cast_possible_truncation, reason = "the high half of a product is below the bound")]
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    /// A number from 0 up to, but not including, 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// So many different numbers below `bound`, rising.
    pub(crate) fn choose(&mut self, count: usize, bound: usize) -> Vec<usize> {
        let mut chosen = Vec::with_capacity(count);
        for candidate in 0..bound {
            let wanted = count - chosen.len();
            if self.below(bound - candidate) < wanted {
                chosen.push(candidate);
            }
        }
        chosen
    }
}

#[cfg(test)]
mod tests {
    use rand::seq::SliceRandom as _;
    use rand::{Rng as _, SeedableRng as _};
    use rand_chacha::ChaCha12Rng;

    use super::*;

    /// Trained models and committed figures depend on these values. `ChaCha12Rng`
    /// is portable, but a new version of `rand` may derive other numbers, ranges
    /// and shuffles from the same bits.
    #[test]
    fn draws_are_the_same_in_every_release() {
        let seeded = || ChaCha12Rng::seed_from_u64(20_261_115);
        assert_eq!(seeded().random::<[u64; 2]>(), [1_792_850_957_747_995_322, 8_796_801_939_829_323_243]);
        assert_eq!(
            seeded().random::<(f64, bool, f64)>(),
            (0.097_190_645_166_654_65, true, 0.765_337_324_346_619_5)
        );
        let mut random = seeded();
        assert_eq!([7_u32, 100, 1 << 20].map(|bound| random.random_range(0..bound)), [3, 9, 782_311]);
        let mut order: Vec<usize> = (0..12).collect();
        order.shuffle(&mut seeded());
        assert_eq!(order, [0, 4, 6, 3, 2, 11, 10, 9, 1, 7, 5, 8]);

        let mut random = Random::new(20_261_115, 1);
        assert_eq!([random.next(), random.next()], [14_906_651_071_454_932_258, 10_881_547_375_949_040_973]);
        assert_eq!([7, 100, 1 << 20].map(|bound| random.below(bound)), [6, 43, 292_674]);
        assert_eq!(random.choose(4, 20), [1, 12, 13, 19]);
    }
}
