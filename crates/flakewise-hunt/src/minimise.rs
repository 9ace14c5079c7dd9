//! The fewest things that still do it.

/// Delta debugging (Zeller and Hildebrandt): of things in order that together do
/// something, those that do it such that none of them can be left out. `first` is
/// given parts of them, in order, never none or all; it says which of these parts
/// is the first that does it, and so may try several at once.
pub(crate) fn minimise<T: Clone, E>(
    things: &[T],
    mut first: impl FnMut(&[Vec<T>]) -> Result<Option<usize>, E>,
) -> Result<Vec<T>, E> {
    let mut kept = things.to_vec();
    let mut parts = 2;
    while kept.len() > 1 {
        let size = kept.len().div_ceil(parts);
        // A part alone is the largest step, so it comes first.
        let mut tried: Vec<Vec<T>> = kept.chunks(size).map(<[T]>::to_vec).collect();
        let alone = tried.len();
        if parts > 2 {
            let rest = |place: usize| {
                let (from, to) = (place * size, ((place + 1) * size).min(kept.len()));
                kept[..from].iter().chain(&kept[to..]).cloned().collect()
            };
            tried.extend((0..alone).map(rest));
        }
        match first(&tried)? {
            Some(place) => {
                parts = if place < alone { 2 } else { (parts - 1).max(2) };
                kept = tried.swap_remove(place);
            }
            None if parts < kept.len() => parts = (2 * parts).min(kept.len()),
            None => break,
        }
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;

    fn smallest(all: u32, needed: &BTreeSet<u32>) -> (Vec<u32>, usize) {
        let things: Vec<u32> = (0..all).collect();
        let mut asked = 0;
        let found = minimise(&things, |parts| {
            let does = |part: &Vec<u32>| {
                asked += 1;
                assert!(!part.is_empty() && part.len() < things.len());
                assert!(part.is_sorted(), "in order");
                needed.iter().all(|thing| part.contains(thing))
            };
            Ok::<_, Infallible>(parts.iter().position(does))
        });
        (found.unwrap_or_else(|never| match never {}), asked)
    }

    #[test]
    fn one_of_many_is_found_in_about_as_many_questions_as_halvings() {
        let (found, asked) = smallest(4096, &[1234].into());
        assert_eq!(found, [1234]);
        assert!(asked <= 24, "{asked} questions");
    }

    proptest! {
        #[test]
        fn what_is_needed_is_kept_and_nothing_else(
            all in 1..60_u32,
            needed in prop::collection::btree_set(0..60_u32, 1..5),
        ) {
            let needed: BTreeSet<u32> = needed.into_iter().map(|thing| thing % all).collect();
            let (found, _) = smallest(all, &needed);
            prop_assert_eq!(found, needed.into_iter().collect::<Vec<_>>());
        }

        /// Things may undo each other, so that a whole does what a part does not.
        #[test]
        fn nothing_can_be_left_out_whatever_the_rule(seed in any::<u64>(), all in 1..14_u32) {
            let things: Vec<u32> = (0..all).collect();
            let does = |part: &[u32]| {
                part.len() == things.len() || {
                    let mixed = part.iter().fold(seed, |sum, thing| {
                        (sum ^ u64::from(*thing)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17)
                    });
                    mixed % 3 == 0
                }
            };
            let found = minimise(&things, |parts| Ok::<_, Infallible>(parts.iter().position(|part| does(part))));
            let found = found.unwrap_or_else(|never| match never {});
            prop_assert!(does(&found));
            if found.len() > 1 {
                for place in 0..found.len() {
                    let mut rest = found.clone();
                    rest.remove(place);
                    prop_assert!(!does(&rest), "{found:?} without place {place}");
                }
            }
        }
    }
}
