//! A table with every value replaced by the number of its bin.
//!
//! Trees are grown on bins: a byte instead of a number, and as many places to
//! split as there are bins instead of rows. A column with few different values
//! has one bin for each and loses nothing.

use rayon::prelude::*;

use crate::{DenseMatrix, SparseMatrix};

/// Bins for values of one column. One more byte is left for missing values.
const MAX_BINS: usize = 255;

/// A column of which less than this share is outside its most frequent bin is
/// kept as a list of the rows that are.
const SPARSE_SHARE: f64 = 0.25;

/// A table to learn from.
#[derive(Clone, Copy, Debug)]
pub enum Table<'a> {
    /// Every value is given.
    Dense(&'a DenseMatrix),
    /// Most values are zero.
    Sparse(&'a SparseMatrix),
}

impl<'a> From<&'a DenseMatrix> for Table<'a> {
    fn from(matrix: &'a DenseMatrix) -> Self {
        Self::Dense(matrix)
    }
}

impl<'a> From<&'a SparseMatrix> for Table<'a> {
    fn from(matrix: &'a SparseMatrix) -> Self {
        Self::Sparse(matrix)
    }
}

impl Table<'_> {
    /// How many rows there are.
    pub fn rows(&self) -> usize {
        match self {
            Self::Dense(matrix) => matrix.rows(),
            Self::Sparse(matrix) => matrix.rows(),
        }
    }

    /// How many columns there are.
    pub fn columns(&self) -> usize {
        match self {
            Self::Dense(matrix) => matrix.columns(),
            Self::Sparse(matrix) => matrix.columns(),
        }
    }
}

/// One column as bins.
#[derive(Debug)]
pub(crate) struct BinnedColumn {
    /// Bin `b` has the values up to `cuts[b]` that no earlier bin has; the last
    /// bin has the rest.
    cuts: Vec<f32>,
    /// Whether values are missing. Their bin comes after the others.
    has_missing: bool,
    pub(crate) bins: Bins,
}

/// Which bin each row is in.
#[derive(Debug)]
pub(crate) enum Bins {
    Dense(Vec<u8>),
    /// Rows not listed, in rising order, are in the bin `default`.
    Sparse {
        default: u8,
        entries: Vec<(u32, u8)>,
    },
}

impl BinnedColumn {
    /// How many bins have values.
    pub(crate) fn value_bins(&self) -> usize {
        self.cuts.len() + 1
    }

    /// How many bins there are, with the one for missing values.
    pub(crate) fn bins(&self) -> usize {
        self.value_bins() + usize::from(self.has_missing)
    }

    pub(crate) fn has_missing(&self) -> bool {
        self.has_missing
    }

    /// The threshold that parts the bins up to `bin` from those behind. That
    /// after the last bin parts values from missing ones.
    pub(crate) fn threshold(&self, bin: usize) -> f32 {
        self.cuts.get(bin).copied().unwrap_or(f32::INFINITY)
    }

    /// `entries` has the values of the rows in rising order; the others are 0.
    #[expect(clippy::cast_possible_truncation, reason = "bins are bytes")]
    fn new(entries: &[(u32, f32)], rows: usize) -> Self {
        let mut values: Vec<f32> =
            entries.iter().map(|entry| entry.1).filter(|value| !value.is_nan()).collect();
        let has_missing = values.len() < entries.len();
        values.sort_unstable_by(f32::total_cmp);
        let cuts = cuts(&distinct(&values, rows - entries.len()));
        let missing = (cuts.len() + 1) as u8;
        let bin = |value: f32| {
            if value.is_nan() { missing } else { cuts.partition_point(|&cut| cut < value) as u8 }
        };
        let zero = bin(0.0);
        let binned: Vec<u8> = entries.iter().map(|entry| bin(entry.1)).collect();
        let mut counts = [0_usize; 256];
        counts[usize::from(zero)] = rows - entries.len();
        for &bin in &binned {
            counts[usize::from(bin)] += 1;
        }
        let default = (0..=255_u8).rev().max_by_key(|&bin| counts[usize::from(bin)]).unwrap_or(0);
        let others = rows - counts[usize::from(default)];
        // The rows that are not listed must be the default ones.
        let sparse = default == zero || entries.len() == rows;
        let bins = if sparse && (others as f64) < SPARSE_SHARE * rows as f64 {
            let rows = entries.iter().map(|entry| entry.0).zip(binned);
            Bins::Sparse { default, entries: rows.filter(|entry| entry.1 != default).collect() }
        } else {
            let mut dense = vec![zero; rows];
            entries.iter().zip(binned).for_each(|(entry, bin)| dense[entry.0 as usize] = bin);
            Bins::Dense(dense)
        };
        Self { cuts, has_missing, bins }
    }
}

/// All columns as bins.
#[expect(clippy::cast_possible_truncation, reason = "rows are counted in 32 bits")]
pub(crate) fn bin_columns(table: Table<'_>) -> Vec<BinnedColumn> {
    let rows = table.rows();
    assert!(u32::try_from(rows).is_ok(), "rows are counted in 32 bits");
    match table {
        Table::Dense(matrix) => (0..matrix.columns())
            .into_par_iter()
            .map(|column| {
                let entries: Vec<_> = (0..rows).map(|row| (row as u32, matrix.row(row)[column])).collect();
                BinnedColumn::new(&entries, rows)
            })
            .collect(),
        Table::Sparse(matrix) => {
            let mut columns = vec![Vec::new(); matrix.columns()];
            for row in 0..rows {
                for (column, value) in matrix.row(row).iter() {
                    columns[column as usize].push((row as u32, value));
                }
            }
            columns.par_iter().map(|entries| BinnedColumn::new(entries, rows)).collect()
        }
    }
}

/// The different values with how often each occurs, rising, when this many zeros
/// come to the sorted ones.
fn distinct(sorted: &[f32], zeros: usize) -> Vec<(f32, usize)> {
    let mut counts: Vec<(f32, usize)> = Vec::new();
    for &value in sorted {
        match counts.last_mut() {
            #[expect(clippy::float_cmp, reason = "these are copies of one number")]
            Some(last) if last.0 == value => last.1 += 1,
            _ => counts.push((value, 1)),
        }
    }
    if zeros > 0 {
        let place = counts.partition_point(|entry| entry.0 < 0.0);
        match counts.get_mut(place) {
            Some(entry) if entry.0 == 0.0 => entry.1 += zeros,
            _ => counts.insert(place, (0.0, zeros)),
        }
    }
    counts
}

/// Where one bin ends and the next begins: between any two values when there
/// are few, else so that bins hold equally many rows as far as possible.
fn cuts(values: &[(f32, usize)]) -> Vec<f32> {
    let mut rest: usize = values.iter().map(|value| value.1).sum();
    let mut bins = MAX_BINS;
    let mut cuts = Vec::new();
    let mut held = 0;
    for (index, pair) in values.windows(2).enumerate() {
        held += pair[0].1;
        let next = pair[1].1;
        let share = rest / bins;
        // A value that fills a bin by itself does not share one, and a bin that
        // is nearer to its share without the next value ends here.
        let full = held >= share || held + next / 2 > share;
        let few = values.len() - index <= bins;
        if bins > 1 && (few || full) {
            cuts.push(between(pair[0].0, pair[1].0));
            rest -= held;
            held = 0;
            bins -= 1;
        }
    }
    cuts
}

/// A number from `low` up to, but not including, `high`.
pub(crate) fn between(low: f32, high: f32) -> f32 {
    let middle = low / 2.0 + high / 2.0;
    if low <= middle && middle < high { middle } else { low }
}
