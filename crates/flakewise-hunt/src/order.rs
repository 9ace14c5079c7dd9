//! Orders of tests.

use flakewise_model::Order;
use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_chacha::ChaCha12Rng;

/// The orders to try, one after another without end. What comes first is cheap
/// and shows most of what depends on order; a pair of tests shows in half of the
/// others.
pub(crate) fn orders(seed: u64) -> impl Iterator<Item = Order> {
    (0_u64..).map(move |place| match place {
        0 => Order::Reversed,
        1..10 if place % 2 == 0 => Order::ModulesShuffled { seed: seed.wrapping_add(place) },
        _ => Order::Shuffled { seed: seed.wrapping_add(place) },
    })
}

/// Puts things, given as the runner has them, in order. `module` tells which
/// belong together.
pub(crate) fn arrange<T: Copy, M: PartialEq>(order: Order, things: &[T], module: impl Fn(&T) -> M) -> Vec<T> {
    let mut arranged = things.to_vec();
    match order {
        Order::Original => {}
        Order::Reversed => arranged.reverse(),
        Order::Shuffled { seed } => arranged.shuffle(&mut ChaCha12Rng::seed_from_u64(seed)),
        Order::ModulesShuffled { seed } => {
            let mut random = ChaCha12Rng::seed_from_u64(seed);
            let parts = arranged.chunk_by(|left, right| module(left) == module(right));
            let mut modules: Vec<Vec<T>> = parts.map(<[T]>::to_vec).collect();
            modules.shuffle(&mut random);
            for module in &mut modules {
                module.shuffle(&mut random);
            }
            arranged = modules.concat();
        }
    }
    arranged
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_order_has_all_tests_and_modules_stay_together(count in 1..40_usize, seed in any::<u64>()) {
            let things: Vec<usize> = (0..count).collect();
            for order in orders(seed).take(12) {
                let arranged = arrange(order, &things, |thing| thing / 5);
                prop_assert_eq!(&arranged, &arrange(order, &things, |thing| thing / 5), "the same again");
                let mut sorted = arranged.clone();
                sorted.sort_unstable();
                prop_assert_eq!(&sorted, &things);
                if matches!(order, Order::ModulesShuffled { .. }) {
                    let changes = arranged.windows(2).filter(|pair| pair[0] / 5 != pair[1] / 5).count();
                    prop_assert_eq!(changes + 1, count.div_ceil(5));
                }
            }
        }
    }

    #[test]
    fn the_orders_begin_with_the_reverse_and_differ() {
        let all: Vec<Order> = orders(7).take(12).collect();
        assert_eq!(all[0], Order::Reversed);
        assert!(all.iter().enumerate().all(|(place, order)| !all[..place].contains(order)));
        assert_eq!(arrange(Order::Reversed, &[1, 2, 3], |_| ()), [3, 2, 1]);
    }
}
