//! Whether two series of runs fail equally often.

use flakewise_model::Tally;

/// A difference with these odds is beyond doubt.
pub(crate) const SURE: f64 = 99.0;
/// And with these it is one, if that is all there will be.
pub(crate) const LIKELY: f64 = 19.0;

/// The odds that a test fails more often in some runs than in others, against
/// that it fails equally often in both: the Bayes factor of two rates against
/// one, where nothing is known of any rate before (Jeffreys' prior). It may be
/// looked at after each run, until it says enough. A test that both passes and
/// fails in both fails randomly; that it also depends on where it runs is not
/// likely beforehand.
pub(crate) fn odds_of_difference(more: Tally, less: Tally) -> f64 {
    let together = Tally { passed: more.passed + less.passed, failed: more.failed + less.failed };
    let share = |tally: Tally| tally.failed as f64 / tally.runs().max(1) as f64;
    if share(more) <= share(less) {
        return 0.0;
    }
    let before = if more.is_mixed() && less.is_mixed() { 1.0 / LIKELY } else { 1.0 };
    before * (evidence(more) + evidence(less) - evidence(together)).exp()
}

/// Of odds, the chance.
pub(crate) fn chance(odds: f64) -> f64 {
    if odds.is_finite() { odds / (1.0 + odds) } else { 1.0 }
}

/// The logarithm of the chance to see exactly these outcomes.
fn evidence(tally: Tally) -> f64 {
    let rising = |count: u64| (0..count).map(|place| (place as f64 + 0.5).ln()).sum::<f64>();
    let factorial = (1..=tally.runs()).map(|place| (place as f64).ln()).sum::<f64>();
    rising(tally.failed) + rising(tally.passed) - factorial
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{Rng as _, SeedableRng as _};

    use super::*;

    fn tally(failed: u64, passed: u64) -> Tally {
        Tally { passed, failed }
    }

    #[test]
    fn three_of_three_against_none_is_twenty_to_one() {
        assert!((odds_of_difference(tally(3, 0), tally(0, 3)) - 20.0).abs() < 1e-9);
        assert!((odds_of_difference(tally(5, 0), tally(0, 5)) - 252.0).abs() < 1e-9);
        assert!(odds_of_difference(tally(0, 5), tally(5, 0)) < 1e-9, "the other way round");
        assert!(odds_of_difference(tally(3, 3), tally(3, 3)) < 1.0);
        // A test that sometimes fails randomly, and always after a polluter.
        assert!(odds_of_difference(tally(20, 0), tally(1, 19)) > SURE);
        assert!(odds_of_difference(tally(10, 10), tally(4, 46)) < LIKELY);
        assert!((chance(19.0) - 0.95).abs() < 1e-12);
    }

    /// Looked at after each run, it must not find a difference where there is
    /// none more often than it says.
    #[test]
    fn no_difference_is_seldom_called_one_however_often_one_looks() {
        let mut random = StdRng::seed_from_u64(1);
        for rate in [0.02, 0.2, 0.5, 0.9] {
            let deceived = (0..2000)
                .filter(|_| {
                    let (mut one, mut other) = (Tally::default(), Tally::default());
                    (0..60).any(|_| {
                        one.add(random.random_bool(rate));
                        other.add(random.random_bool(rate));
                        odds_of_difference(one, other) >= 19.0
                    })
                })
                .count();
            assert!(deceived < 100, "{deceived} of 2000 at {rate}");
        }
    }

    #[test]
    fn three_in_ten_against_none_shows_within_sixty_runs() {
        let mut random = StdRng::seed_from_u64(1);
        let shown = (0..500).filter(|_| {
            let (mut one, mut other) = (Tally::default(), Tally::default());
            (0..60).any(|_| {
                one.add(random.random_bool(0.3));
                other.add(false);
                odds_of_difference(one, other) >= 19.0
            })
        });
        assert!(shown.count() >= 495);
    }
}
