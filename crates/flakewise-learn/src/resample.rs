//! Evens out classes of unequal size, in the part of a table that is trained on.
//!
//! Never resample what a model is measured on: copies of a row on both sides
//! give its class away. NaN is a missing value: it adds nothing to a distance,
//! and a new row takes it from the row it starts at.

use rayon::prelude::*;

use crate::DenseMatrix;
use crate::random::Random;

/// Invents rows until every class has as many as the largest (SMOTE, Chawla et
/// al. 2002). A new row lies between a row and one of its `neighbours` nearest
/// of the same class. The old rows come first. A class with a single row gets
/// copies of it.
pub fn smote(table: &DenseMatrix, labels: &[u32], neighbours: usize, seed: u64) -> (DenseMatrix, Vec<u32>) {
    assert_eq!(labels.len(), table.rows(), "every row has a label");
    let mut classes: Vec<Vec<usize>> = Vec::new();
    for (row, &label) in labels.iter().enumerate() {
        classes.resize_with(classes.len().max(label as usize + 1), Vec::new);
        classes[label as usize].push(row);
    }
    let most = classes.iter().map(Vec::len).max().unwrap_or(0);
    let (mut evened, mut evened_labels) = (table.clone(), labels.to_vec());
    for (class, rows) in (0_u32..).zip(&classes) {
        if rows.is_empty() || rows.len() == most {
            continue;
        }
        let members = table.select(rows);
        let nearest = nearest(&members, neighbours);
        let mut random = Random::new(seed, u64::from(class));
        for _ in rows.len()..most {
            let from = random.below(rows.len());
            let others = &nearest[from];
            let to = if others.is_empty() { from } else { others[random.below(others.len())] };
            #[expect(clippy::cast_possible_truncation, reason = "a step is as exact as the columns")]
            let step = random.unit() as f32;
            let pairs = members.row(from).iter().zip(members.row(to));
            let between =
                |(&from, &to): (&f32, &f32)| if to.is_nan() { from } else { from + step * (to - from) };
            let row: Vec<f32> = pairs.map(between).collect();
            evened.push(&row);
            evened_labels.push(class);
        }
    }
    (evened, evened_labels)
}

/// Which rows stay when both ends of every Tomek link go: two rows of different
/// classes that are each other's nearest.
pub fn without_tomek_links(table: &DenseMatrix, labels: &[u32]) -> Vec<usize> {
    assert_eq!(labels.len(), table.rows(), "every row has a label");
    let nearest = nearest(table, 1);
    let linked = |row: &usize| {
        nearest[*row].first().is_some_and(|&other| labels[other] != labels[*row] && nearest[other] == [*row])
    };
    (0..labels.len()).filter(|row| !linked(row)).collect()
}

/// Which rows stay when those go of which any of the `neighbours` nearest is of
/// another class (edited nearest neighbours, Wilson 1972).
pub fn edited_neighbours(table: &DenseMatrix, labels: &[u32], neighbours: usize) -> Vec<usize> {
    assert_eq!(labels.len(), table.rows(), "every row has a label");
    let nearest = nearest(table, neighbours);
    (0..labels.len()).filter(|&row| nearest[row].iter().all(|&other| labels[other] == labels[row])).collect()
}

/// The nearest other rows of each row, nearest first; of equals the earlier.
fn nearest(table: &DenseMatrix, count: usize) -> Vec<Vec<usize>> {
    (0..table.rows()).into_par_iter().map(|row| nearest_to(table, row, count)).collect()
}

fn nearest_to(table: &DenseMatrix, row: usize, count: usize) -> Vec<usize> {
    // The best so far, nearest first. `count` is small, so a list is enough.
    let mut best: Vec<(f32, usize)> = Vec::with_capacity(count + 1);
    if count == 0 {
        return Vec::new();
    }
    for other in (0..table.rows()).filter(|&other| other != row) {
        let worst = if best.len() < count { f32::INFINITY } else { best[count - 1].0 };
        let distance = squared_distance(table.row(row), table.row(other), worst);
        if distance < worst || best.len() < count {
            let place = best.partition_point(|entry| entry.0 <= distance);
            best.insert(place, (distance, other));
            best.truncate(count);
        }
    }
    best.into_iter().map(|entry| entry.1).collect()
}

/// The squared distance, or anything from `enough` up if it is not below that.
fn squared_distance(a: &[f32], b: &[f32], enough: f32) -> f32 {
    let mut total = 0.0;
    for (a, b) in a.chunks(16).zip(b.chunks(16)) {
        let mut sums = [0.0_f32; 16];
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            let apart = a - b;
            *sum = if apart.is_nan() { 0.0 } else { apart * apart };
        }
        total += sums.iter().sum::<f32>();
        if total >= enough {
            break;
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn table(rows: &[[f32; 2]]) -> DenseMatrix {
        let mut table = DenseMatrix::new(2);
        for row in rows {
            table.push(row);
        }
        table
    }

    #[test]
    fn invented_rows_lie_between_rows_of_their_class() {
        let rows = [[0.0, 0.0], [4.0, 0.0], [9.0, 9.0], [9.0, 8.0], [8.0, 9.0], [8.0, 8.0], [7.0, 9.0]];
        let labels = [1, 1, 0, 0, 0, 0, 0];
        let (evened, evened_labels) = smote(&table(&rows), &labels, 5, 7);
        assert_eq!(evened_labels, [1, 1, 0, 0, 0, 0, 0, 1, 1, 1]);
        assert_eq!(evened.select(&[0, 1, 2, 3, 4, 5, 6]), table(&rows));
        let invented: Vec<&[f32]> = (7..10).map(|row| evened.row(row)).collect();
        assert!(invented.iter().all(|row| (0.0..=4.0).contains(&row[0]) && row[1] == 0.0), "{invented:?}");
        assert_ne!(invented[0], invented[1]);
        assert_eq!(smote(&table(&rows), &labels, 5, 7).0, evened);
    }

    #[test]
    fn missing_values_are_no_distance_and_stay_missing() {
        let missing = f32::NAN;
        let rows =
            [[0.0, missing], [1.0, missing], [50.0, 0.0], [9.0, 9.0], [9.0, 8.0], [8.0, 9.0], [8.0, 8.0]];
        let (evened, _) = smote(&table(&rows), &[1, 1, 1, 0, 0, 0, 0], 1, 7);
        assert_eq!(nearest(&table(&rows[..3]), 1), [[1], [0], [1]]);
        let invented = evened.row(7);
        assert!(invented[0].is_finite(), "{invented:?}");
        assert_eq!(invented[1].is_nan(), invented[0] <= 1.0, "{invented:?}");
    }

    #[test]
    fn a_single_row_is_copied() {
        let (evened, labels) = smote(&table(&[[1.0, 2.0], [5.0, 5.0], [6.0, 6.0]]), &[1, 0, 0], 5, 0);
        assert_eq!((evened.row(3), labels), ([1.0, 2.0].as_slice(), vec![1, 0, 0, 1]));
    }

    #[test]
    fn rows_that_are_each_others_nearest_across_classes_go() {
        let rows = table(&[[0.0, 0.0], [1.0, 0.0], [1.2, 0.0], [5.0, 0.0], [6.0, 0.0]]);
        assert_eq!(without_tomek_links(&rows, &[0, 0, 1, 1, 1]), [0, 3, 4]);
        assert_eq!(edited_neighbours(&rows, &[0, 0, 1, 1, 1], 1), [0, 3, 4]);
        assert_eq!(edited_neighbours(&rows, &[0, 0, 1, 1, 1], 2), [3, 4]);
    }

    proptest! {
        #[test]
        fn nearest_equals_sorting_all(values in prop::collection::vec(0_u8..6, 3..90), count in 1_usize..6) {
            let mut table = DenseMatrix::new(3);
            values.chunks_exact(3).for_each(|row| table.push(&[row[0].into(), row[1].into(), row[2].into()]));
            for row in 0..table.rows() {
                let distance = |other: &usize| -> f32 {
                    table.row(row).iter().zip(table.row(*other)).map(|(a, b)| (a - b) * (a - b)).sum()
                };
                let mut others: Vec<usize> = (0..table.rows()).filter(|&other| other != row).collect();
                others.sort_by(|a, b| distance(a).total_cmp(&distance(b)));
                others.truncate(count);
                prop_assert_eq!(nearest_to(&table, row, count), others);
            }
        }
    }
}
