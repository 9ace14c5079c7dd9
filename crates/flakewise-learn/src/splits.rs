//! What is trained on and what is held out.

use std::collections::BTreeMap;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha12Rng;

/// Rows to learn from and rows to be judged by, both rising.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fold {
    /// The rows to learn from.
    pub train: Vec<usize>,
    /// The rows held out.
    pub test: Vec<usize>,
}

/// So many folds, each with its share of every label.
pub fn stratified_folds<L: Ord>(labels: &[L], folds: usize, seed: u64) -> Vec<Fold> {
    let mut random = ChaCha12Rng::seed_from_u64(seed);
    let mut assigned = vec![0; labels.len()];
    // Dealing continues where the label before stopped, so that folds differ by
    // one row at most.
    let mut next = 0;
    for mut rows in rows_by(labels).into_values() {
        rows.shuffle(&mut random);
        for row in rows {
            assigned[row] = next % folds;
            next += 1;
        }
    }
    from_assignment(&assigned, folds)
}

/// So many folds with no group in two of them, each with about its share of
/// every label. Groups that weigh most go first, each to the fold that leaves
/// the labels most even.
pub fn stratified_group_folds<L: Ord, G: Ord>(
    labels: &[L],
    groups: &[G],
    folds: usize,
    seed: u64,
) -> Vec<Fold> {
    assert_eq!(labels.len(), groups.len(), "a group for each label");
    let classes = rows_by(labels);
    let mut class_of = vec![0; labels.len()];
    for (class, rows) in classes.values().enumerate() {
        for &row in rows {
            class_of[row] = class;
        }
    }
    // As shares of the label's rows: a rare label counts as much as a common one.
    let weights: Vec<f64> = classes.values().map(|rows| 1.0 / rows.len() as f64).collect();
    let mut members: Vec<(Vec<usize>, Vec<f64>)> = rows_by(groups)
        .into_values()
        .map(|rows| {
            let mut shares = vec![0.0; weights.len()];
            for &row in &rows {
                shares[class_of[row]] += weights[class_of[row]];
            }
            (rows, shares)
        })
        .collect();
    members.shuffle(&mut ChaCha12Rng::seed_from_u64(seed));
    members.sort_by(|(_, left), (_, right)| heaviest(right).total_cmp(&heaviest(left)));

    let mut assigned = vec![0; labels.len()];
    let mut held = vec![vec![0.0; weights.len()]; folds];
    let mut sizes = vec![0; folds];
    for (rows, shares) in members {
        // Adding shares s to a fold that holds h raises the sum of squares
        // over the folds by s(2h + s); the sums are fixed, so the least rise
        // leaves the least spread.
        let rise = |fold: usize| -> f64 {
            shares.iter().zip(&held[fold]).map(|(share, held)| share * (2.0 * held + share)).sum()
        };
        let chosen = (0..folds)
            .min_by(|&left, &right| rise(left).total_cmp(&rise(right)).then(sizes[left].cmp(&sizes[right])))
            .expect("there are folds");
        for (held, share) in held[chosen].iter_mut().zip(&shares) {
            *held += share;
        }
        sizes[chosen] += rows.len();
        for row in rows {
            assigned[row] = chosen;
        }
    }
    from_assignment(&assigned, folds)
}

/// For every group, in order, the fold that holds it out alone.
pub fn leave_one_group_out<G: Ord>(groups: &[G]) -> Vec<Fold> {
    let members = rows_by(groups);
    let mut assigned = vec![0; groups.len()];
    for (group, rows) in members.values().enumerate() {
        for &row in rows {
            assigned[row] = group;
        }
    }
    from_assignment(&assigned, members.len())
}

fn heaviest(shares: &[f64]) -> f64 {
    shares.iter().copied().fold(0.0, f64::max)
}

fn rows_by<K: Ord>(keys: &[K]) -> BTreeMap<&K, Vec<usize>> {
    let mut rows: BTreeMap<&K, Vec<usize>> = BTreeMap::new();
    for (row, key) in keys.iter().enumerate() {
        rows.entry(key).or_default().push(row);
    }
    rows
}

fn from_assignment(assigned: &[usize], folds: usize) -> Vec<Fold> {
    (0..folds)
        .map(|fold| {
            let (test, train) = (0..assigned.len()).partition(|&row| assigned[row] == fold);
            Fold { train, test }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn every_row_is_held_out_once(folds: &[Fold], rows: usize) {
        let mut held_out: Vec<usize> = folds.iter().flat_map(|fold| fold.test.clone()).collect();
        held_out.sort_unstable();
        assert_eq!(held_out, (0..rows).collect::<Vec<_>>());
        for fold in folds {
            let both: BTreeSet<usize> = fold.train.iter().chain(&fold.test).copied().collect();
            assert_eq!((both.len(), fold.train.len() + fold.test.len()), (rows, rows));
        }
    }

    proptest! {
        #[test]
        fn strata_differ_by_one_row(labels in prop::collection::vec(any::<bool>(), 0..200), count in 2_usize..8, seed: u64) {
            let folds = stratified_folds(&labels, count, seed);
            every_row_is_held_out_once(&folds, labels.len());
            for label in [false, true] {
                let counts: Vec<usize> =
                    folds.iter().map(|fold| fold.test.iter().filter(|&&row| labels[row] == label).count()).collect();
                prop_assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1);
            }
            let sizes = folds.iter().map(|fold| fold.test.len());
            prop_assert!(sizes.clone().max().unwrap() - sizes.min().unwrap() <= 1);
        }

        #[test]
        fn no_group_is_in_two_folds(
            rows in prop::collection::vec((any::<bool>(), 0_u8..30), 0..200), count in 2_usize..8, seed: u64,
        ) {
            let (labels, groups): (Vec<bool>, Vec<u8>) = rows.into_iter().unzip();
            let folds = stratified_group_folds(&labels, &groups, count, seed);
            every_row_is_held_out_once(&folds, labels.len());
            for fold in &folds {
                let of = |rows: &[usize]| rows.iter().map(|&row| groups[row]).collect::<BTreeSet<_>>();
                prop_assert!(of(&fold.train).is_disjoint(&of(&fold.test)));
            }
        }
    }

    #[test]
    fn groups_of_one_label_are_spread_evenly() {
        // Forty groups of one to four rows; every tenth group is all positive.
        let groups: Vec<usize> = (0..40).flat_map(|group| vec![group; 1 + group % 4]).collect();
        let labels: Vec<bool> = groups.iter().map(|group| group % 10 == 0).collect();
        let folds = stratified_group_folds(&labels, &groups, 4, 7);
        for fold in folds {
            assert!((23..=27).contains(&fold.test.len()), "{}", fold.test.len());
            let positives: BTreeSet<usize> =
                fold.test.iter().filter(|&&row| labels[row]).map(|&row| groups[row]).collect();
            assert_eq!(positives.len(), 1);
        }
    }

    #[test]
    fn every_group_is_left_out_alone() {
        let folds = leave_one_group_out(&["b", "a", "b", "c"]);
        assert_eq!(
            folds.iter().map(|fold| fold.test.clone()).collect::<Vec<_>>(),
            [vec![1], vec![0, 2], vec![3]]
        );
        every_row_is_held_out_once(&folds, 4);
    }

    #[test]
    fn another_seed_deals_other_folds() {
        let labels: Vec<bool> = (0..100).map(|row| row % 5 == 0).collect();
        assert_eq!(stratified_folds(&labels, 5, 1), stratified_folds(&labels, 5, 1));
        assert_ne!(stratified_folds(&labels, 5, 1), stratified_folds(&labels, 5, 2));
    }
}
