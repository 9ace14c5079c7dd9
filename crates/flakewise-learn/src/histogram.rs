//! Sums of gradients for every bin of every column.
//!
//! The sums are integers. So they do not depend on the order of the rows or on
//! the number of threads, and the histogram of one child is exactly that of its
//! parent less that of its sibling.

use std::ops::{AddAssign, Sub, SubAssign};

use rayon::prelude::*;

use crate::bins::{BinnedColumn, Bins};

/// Columns that are summed together. Their bins fit into the fastest memory,
/// and a row's bytes and gradients are read once for all of them.
const GROUP: usize = 8;

/// Places a column of bytes has in a histogram.
const SLOTS: usize = 256;

/// The low bits of [`Sums::rest`] that hold the second derivative.
const HESSIAN_BITS: u32 = 40;

/// Sums with fewer additions than this are not worth another thread.
const PARALLEL_WORK: usize = 1 << 17;

/// Sums over some rows: of gradients, of second derivatives, and their number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    gradient: i64,
    rest: i64,
}

impl Sums {
    pub(crate) fn gradient(self, scale: &Scale) -> f64 {
        self.gradient as f64 * scale.gradient
    }

    pub(crate) fn hessian(self, scale: &Scale) -> f64 {
        (self.rest & ((1 << HESSIAN_BITS) - 1)) as f64 * scale.hessian
    }

    pub(crate) fn count(self) -> i64 {
        self.rest >> HESSIAN_BITS
    }
}

impl AddAssign for Sums {
    fn add_assign(&mut self, other: Self) {
        self.gradient += other.gradient;
        self.rest += other.rest;
    }
}

impl SubAssign for Sums {
    fn sub_assign(&mut self, other: Self) {
        self.gradient -= other.gradient;
        self.rest -= other.rest;
    }
}

impl Sub for Sums {
    type Output = Self;

    fn sub(mut self, other: Self) -> Self {
        self -= other;
        self
    }
}

/// What one unit of the integers in [`Sums`] stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    gradient: f64,
    hessian: f64,
}

impl Scale {
    /// Turns derivatives into integers, as fine as their sums allow.
    #[expect(clippy::cast_possible_truncation, reason = "the scale keeps the numbers within 52 bits")]
    pub(crate) fn quantize(derivatives: &[(f64, f64)]) -> (Self, Vec<Sums>) {
        assert!(derivatives.len() < 1 << (62 - HESSIAN_BITS), "rows are counted in the bits that are left");
        let mut sums = (0.0, 0.0);
        for derivative in derivatives {
            sums.0 += derivative.0.abs();
            sums.1 += derivative.1;
        }
        let unit = |sum: f64, bits: u32| if sum > 0.0 { sum / (1_u64 << bits) as f64 } else { 1.0 };
        let scale = Self { gradient: unit(sums.0, 52), hessian: unit(sums.1, HESSIAN_BITS - 1) };
        let (gradient, hessian) = (1.0 / scale.gradient, 1.0 / scale.hessian);
        let quantized = derivatives.iter().map(|derivative| Sums {
            gradient: (derivative.0 * gradient) as i64,
            rest: (1 << HESSIAN_BITS) + (derivative.1 * hessian) as i64,
        });
        (scale, quantized.collect())
    }
}

/// The columns a tree may use, laid out for summing.
#[derive(Debug)]
pub(crate) struct Layout {
    /// For each used column where its bins are in a histogram.
    pub(crate) places: Vec<Place>,
    /// Bytes of [`GROUP`] columns for each row, group after group.
    groups: Vec<Vec<[u8; GROUP]>>,
    /// The slots each row adds to for the sparse columns.
    starts: Vec<u32>,
    slots: Vec<u32>,
    sparse_slots: usize,
}

/// Where a column's bins are in a histogram.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) column: usize,
    start: usize,
    bins: usize,
    /// The bin that is not summed up row by row: it has what the others leave.
    pub(crate) default: Option<usize>,
}

/// Sums for every bin.
#[derive(Debug, Default)]
pub(crate) struct Histogram(Vec<Sums>);

impl Layout {
    /// Lays out the given columns.
    #[expect(clippy::cast_possible_truncation, reason = "entries and slots are counted in 32 bits")]
    pub(crate) fn new(columns: &[BinnedColumn], used: &[usize], rows: usize) -> Self {
        let mut dense: Vec<(usize, &[u8])> = Vec::new();
        let mut sparse = Vec::new();
        for &column in used {
            match &columns[column].bins {
                _ if columns[column].bins() < 2 => {}
                Bins::Dense(bins) => dense.push((column, bins)),
                Bins::Sparse { default, entries } => sparse.push((column, *default, entries.as_slice())),
            }
        }
        let mut places = Vec::with_capacity(dense.len() + sparse.len());
        let mut groups = Vec::with_capacity(dense.len().div_ceil(GROUP));
        for group in dense.chunks(GROUP) {
            let mut bytes = vec![[0; GROUP]; rows];
            for (lane, (column, bins)) in group.iter().enumerate() {
                let start = groups.len() * GROUP * SLOTS + lane * SLOTS;
                places.push(Place { column: *column, start, bins: columns[*column].bins(), default: None });
                bytes.iter_mut().zip(*bins).for_each(|(bytes, &bin)| bytes[lane] = bin);
            }
            groups.push(bytes);
        }
        let first = groups.len() * GROUP * SLOTS;
        let mut starts = vec![0_u32; rows + 1];
        let mut sparse_slots = 0;
        for (column, default, entries) in &sparse {
            let (start, bins) = (first + sparse_slots, columns[*column].bins());
            places.push(Place { column: *column, start, bins, default: Some(usize::from(*default)) });
            sparse_slots += bins;
            entries.iter().for_each(|entry| starts[entry.0 as usize + 1] += 1);
        }
        for row in 0..rows {
            starts[row + 1] =
                starts[row + 1].checked_add(starts[row]).expect("entries are counted in 32 bits");
        }
        let mut next = starts.clone();
        let mut slots = vec![0; starts[rows] as usize];
        for (place, (_, _, entries)) in places[dense.len()..].iter().zip(&sparse) {
            for (row, bin) in *entries {
                let next = &mut next[*row as usize];
                slots[*next as usize] = (place.start - first) as u32 + u32::from(*bin);
                *next += 1;
            }
        }
        Self { places, groups, starts, slots, sparse_slots }
    }

    /// Sums up the given rows. `sums` has theirs, in the same order.
    pub(crate) fn sum(&self, rows: &[u32], sums: &[Sums], histogram: &mut Histogram) {
        let dense = self.groups.len() * GROUP * SLOTS;
        histogram.0.clear();
        histogram.0.resize(dense + self.sparse_slots, Sums::default());
        let (dense, sparse) = histogram.0.split_at_mut(dense);
        let sum_group = |(bytes, slots): (&Vec<[u8; GROUP]>, &mut [Sums])| {
            let (columns, _) = slots.as_chunks_mut::<SLOTS>();
            let columns: &mut [[Sums; SLOTS]; GROUP] = columns.try_into().expect("a group is whole");
            for (&row, &sums) in rows.iter().zip(sums) {
                for (column, bin) in columns.iter_mut().zip(bytes[row as usize]) {
                    column[usize::from(bin)] += sums;
                }
            }
        };
        let work = rows.len() * self.groups.len() * GROUP;
        if work > PARALLEL_WORK && rayon::current_num_threads() > 1 {
            self.groups.par_iter().zip(dense.par_chunks_mut(GROUP * SLOTS)).for_each(sum_group);
        } else {
            self.groups.iter().zip(dense.chunks_mut(GROUP * SLOTS)).for_each(sum_group);
        }
        if self.sparse_slots == 0 {
            return;
        }
        let mut total = Sums::default();
        for (&row, &sums) in rows.iter().zip(sums) {
            total += sums;
            let span = self.starts[row as usize] as usize..self.starts[row as usize + 1] as usize;
            self.slots[span].iter().for_each(|&slot| sparse[slot as usize] += sums);
        }
        for place in &self.places {
            if let Some(default) = place.default {
                let mut rest = total;
                histogram.bins(place).iter().for_each(|&sums| rest -= sums);
                histogram.0[place.start + default] = rest;
            }
        }
    }
}

impl Histogram {
    /// The bins of a column.
    pub(crate) fn bins(&self, place: &Place) -> &[Sums] {
        &self.0[place.start..][..place.bins]
    }

    /// Takes away the rows of another histogram.
    pub(crate) fn subtract(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(sums, other)| *sums -= *other);
    }
}
