//! The nearest rows by cosine, exactly, without looking at most of them.
//!
//! Columns point to the rows that have them. A query walks the lists of its
//! columns, cheapest first, and adds up partial similarities. What the columns
//! not yet walked can still add is bounded by their share of the query's
//! length (Cauchy and Schwarz), so that after a few short lists almost every
//! row is out, the long lists need not be walked, and the rows that remain are
//! compared one by one.

use std::cell::RefCell;

use rayon::prelude::*;

use crate::matrix::{SparseMatrix, SparseRow};

/// A row near to what was asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbour {
    /// Its number.
    pub row: u32,
    /// The cosine of the angle between the two.
    pub similarity: f32,
}

/// Rows that can be asked for the nearest of them.
#[derive(Clone, Debug)]
pub struct InvertedIndex {
    /// Every row at length 1.
    rows: SparseMatrix,
    /// For every column the rows that have it, with their values.
    lists: SparseMatrix,
}

/// What a similarity added up in another order may be off by.
const ROUNDING: f64 = 1e-5;
/// Rows compared for a first lower bound, or after a bounded walk: so many for
/// each neighbour asked for.
const TRIALS: usize = 3;
/// Comparing a row costs about as much as walking so many postings for each of
/// its values.
const COMPARISON: usize = 2;
/// While fewer postings than this share of the rows were walked, the rows met
/// are remembered; after that all of them are looked through.
const SPARSE_SHARE: usize = 16;

impl InvertedIndex {
    /// Indexes the rows.
    pub fn new(rows: &SparseMatrix) -> Self {
        let rows = rows.clone().normalised();
        let lists = rows.transpose();
        Self { rows, lists }
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows.rows()
    }

    /// The nearest rows, nearest first, equals by number; fewer than `k` only
    /// if there are fewer rows. A row of zeros is at right angles to all.
    pub fn nearest(&self, row: SparseRow<'_>, k: usize) -> Vec<Neighbour> {
        self.with_query(row, |query, scratch| self.search(query, scratch, k))
    }

    /// The nearest rows to each of the given, on all threads.
    pub fn nearest_to_each(&self, rows: &SparseMatrix, k: usize) -> Vec<Vec<Neighbour>> {
        (0..rows.rows()).into_par_iter().with_min_len(16).map(|row| self.nearest(rows.row(row), k)).collect()
    }

    /// Rows that are near, at a cost that does not grow with the index: at most
    /// so many postings are walked, the most telling columns first. Similarities
    /// are exact; a nearer row may be missed, and fewer than `k` be found.
    pub fn nearest_bounded(&self, row: SparseRow<'_>, k: usize, postings: usize) -> Vec<Neighbour> {
        self.with_query(row, |query, scratch| {
            let mut left = postings;
            for list in &query.lists {
                let rows = self.lists.row(list.column as usize);
                let length = rows.indices.len().min(left);
                scratch.walk_and_note(
                    SparseRow { indices: &rows.indices[..length], values: &rows.values[..length] },
                    list.value,
                );
                left -= length;
            }
            let candidates = scratch.noted_best((8 * TRIALS * k).max(64));
            let mut found = self.compare(&candidates, scratch);
            keep_nearest(&mut found, k);
            found
        })
    }

    /// Prepares the query and this thread's working space, and clears both.
    fn with_query<R>(&self, row: SparseRow<'_>, search: impl FnOnce(&Query, &mut Scratch) -> R) -> R {
        thread_local! {
            static SCRATCH: RefCell<Scratch> = RefCell::default();
        }
        SCRATCH.with_borrow_mut(|scratch| {
            let query = Query::new(row, &self.lists);
            scratch.prepare(&query, self.rows(), self.lists.rows());
            let result = search(&query, scratch);
            scratch.clear(&query, self.rows());
            result
        })
    }

    fn search(&self, query: &Query, scratch: &mut Scratch, k: usize) -> Vec<Neighbour> {
        let rows = self.rows();
        let values_per_row = self.rows.stored() / rows.max(1) + 1;
        let mut postings_left: usize = query.lists.iter().map(|list| list.length).sum();
        let mut walked_energy = 0.0_f64;
        let mut left_energy: f64 = query.lists.iter().map(List::energy).sum();
        // The first look is worth its cost once half the length is walked.
        let mut look_below = left_energy / 2.0;
        let mut reached = 0.0_f64;
        for (place, list) in query.lists.iter().enumerate() {
            let postings = self.lists.row(list.column as usize);
            if scratch.remembers && scratch.walked + list.length < rows / SPARSE_SHARE {
                scratch.walk_and_note(postings, list.value);
            } else {
                scratch.remembers = false;
                scratch.walk(postings, list.value);
            }
            postings_left -= list.length;
            walked_energy += list.energy();
            left_energy = if place + 1 == query.lists.len() { 0.0 } else { left_energy - list.energy() };
            if left_energy > look_below {
                continue;
            }
            look_below = left_energy / 2.0;
            let trials = scratch.best(rows, TRIALS * k);
            let mut compared = self.compare(&trials, scratch);
            keep_nearest(&mut compared, k);
            if let Some(last) = compared.get(k.wrapping_sub(1)) {
                reached = reached.max(f64::from(last.similarity));
            }
            let needed = least_partial(reached, walked_energy.sqrt(), left_energy.max(0.0).sqrt());
            if needed <= 0.0 {
                continue;
            }
            #[expect(clippy::cast_possible_truncation, reason = "rounding is allowed for")]
            let needed = needed as f32;
            let affordable = if place + 1 == query.lists.len() {
                usize::MAX
            } else {
                postings_left / (values_per_row * COMPARISON)
            };
            if let Some(candidates) = scratch.at_least(rows, needed, affordable) {
                let mut found = self.compare(&candidates, scratch);
                keep_nearest(&mut found, k);
                return found;
            }
        }
        // Too few rows have anything in common with the query: rows at right
        // angles are among the nearest.
        let all: Vec<u32> = (0..u32::try_from(rows).expect("rows are numbered by 32 bits")).collect();
        let mut found = self.compare(&all, scratch);
        keep_nearest(&mut found, k);
        found
    }

    /// Exact similarities, always added up in the order of columns.
    fn compare(&self, candidates: &[u32], scratch: &Scratch) -> Vec<Neighbour> {
        candidates
            .iter()
            .map(|&row| {
                let values = self.rows.row(row as usize);
                let similarity =
                    values.iter().map(|(column, value)| value * scratch.query[column as usize]).sum();
                Neighbour { row, similarity }
            })
            .collect()
    }
}

/// The least partial similarity with which a row of length 1 can reach a
/// similarity, when the query's length is `walked` over the columns added up so
/// far and `left` over the others.
///
/// A partial similarity `a` shows that the row's own length over the walked
/// columns is at least `a / walked`; what is left of it can add at most
/// `left · √(1 − (a / walked)²)`. The sum is the cosine of a difference of
/// angles, which is solved for `a` here.
fn least_partial(reached: f64, walked: f64, left: f64) -> f64 {
    let whole = walked.hypot(left);
    let reached = reached - ROUNDING;
    if reached <= 0.0 || whole <= 0.0 {
        return 0.0;
    }
    let cosine = (reached / whole).min(1.0);
    let sine = (1.0 - cosine * cosine).sqrt();
    walked * (walked / whole * cosine - left / whole * sine) - ROUNDING
}

/// Sorted, nearest first, equals by number, and cut.
fn keep_nearest(found: &mut Vec<Neighbour>, k: usize) {
    let order = |left: &Neighbour, right: &Neighbour| {
        right.similarity.partial_cmp(&left.similarity).expect("numbers").then(left.row.cmp(&right.row))
    };
    if found.len() > k && k > 0 {
        found.select_nth_unstable_by(k - 1, order);
    }
    found.truncate(k);
    found.sort_unstable_by(order);
}

/// One column of a query.
struct List {
    column: u32,
    value: f32,
    length: usize,
}

impl List {
    fn energy(&self) -> f64 {
        f64::from(self.value) * f64::from(self.value)
    }
}

/// A query at length 1, the columns that tell most for their cost first.
struct Query {
    lists: Vec<List>,
}

impl Query {
    fn new(row: SparseRow<'_>, lists: &SparseMatrix) -> Self {
        let norm = row.norm();
        let mut lists: Vec<List> = row
            .iter()
            .filter(|&(column, value)| value != 0.0 && (column as usize) < lists.rows())
            .map(|(column, value)| List {
                column,
                value: value / norm,
                length: lists.row(column as usize).indices.len(),
            })
            .filter(|list| list.length > 0)
            .collect();
        let cost = |list: &List| list.length as f64 / list.energy();
        lists.sort_by(|left, right| cost(left).total_cmp(&cost(right)).then(left.column.cmp(&right.column)));
        Self { lists }
    }
}

/// Working space of one thread. All zeros between queries.
#[derive(Default)]
struct Scratch {
    /// The query's value in every column.
    query: Vec<f32>,
    /// What has been added up for every row.
    partial: Vec<f32>,
    /// Rows met, as long as they are remembered. One may be there twice.
    met: Vec<u32>,
    remembers: bool,
    walked: usize,
}

impl Scratch {
    fn prepare(&mut self, query: &Query, rows: usize, columns: usize) {
        self.query.resize(self.query.len().max(columns), 0.0);
        self.partial.resize(self.partial.len().max(rows), 0.0);
        self.remembers = true;
        self.walked = 0;
        for list in &query.lists {
            self.query[list.column as usize] = list.value;
        }
    }

    fn clear(&mut self, query: &Query, rows: usize) {
        for list in &query.lists {
            self.query[list.column as usize] = 0.0;
        }
        if self.remembers {
            for &row in &self.met {
                self.partial[row as usize] = 0.0;
            }
        } else {
            self.partial[..rows].fill(0.0);
        }
        self.met.clear();
    }

    fn walk(&mut self, postings: SparseRow<'_>, value: f32) {
        self.walked += postings.indices.len();
        let partial = &mut self.partial[..];
        for (row, own) in postings.iter() {
            partial[row as usize] += own * value;
        }
    }

    fn walk_and_note(&mut self, postings: SparseRow<'_>, value: f32) {
        self.walked += postings.indices.len();
        for (row, own) in postings.iter() {
            let partial = &mut self.partial[row as usize];
            if *partial == 0.0 {
                self.met.push(row);
            }
            *partial += own * value;
        }
    }

    /// The rows with the largest partial similarities above zero.
    fn best(&mut self, rows: usize, count: usize) -> Vec<u32> {
        if self.remembers {
            return self.noted_best(count);
        }
        let mut best = Best::new(count);
        for (page, partials) in self.partial[..rows].chunks(PAGE).enumerate() {
            if how_many(partials, |partial| partial > best.least) > 0 {
                for (place, &partial) in partials.iter().enumerate() {
                    best.offer(page * PAGE + place, partial);
                }
            }
        }
        best.rows()
    }

    fn noted_best(&mut self, count: usize) -> Vec<u32> {
        self.forget_repetitions();
        let mut best = Best::new(count);
        for &row in &self.met {
            best.offer(row as usize, self.partial[row as usize]);
        }
        best.rows()
    }

    /// The rows with at least this partial similarity, unless there are too many.
    fn at_least(&mut self, rows: usize, needed: f32, affordable: usize) -> Option<Vec<u32>> {
        let mut found = Vec::new();
        if self.remembers {
            self.forget_repetitions();
            found.extend(self.met.iter().filter(|&&row| self.partial[row as usize] >= needed));
            return (found.len() <= affordable).then_some(found);
        }
        for (page, partials) in self.partial[..rows].chunks(PAGE).enumerate() {
            if how_many(partials, |partial| partial >= needed) > 0 {
                for (place, &partial) in partials.iter().enumerate() {
                    if partial >= needed {
                        found.push(number(page * PAGE + place));
                    }
                }
                if found.len() > affordable {
                    return None;
                }
            }
        }
        Some(found)
    }

    /// A row is met again when what was added up for it came to nothing.
    fn forget_repetitions(&mut self) {
        self.met.sort_unstable();
        self.met.dedup();
    }
}

/// So many partial similarities are looked at in one go.
const PAGE: usize = 32;

/// The largest of the partial similarities offered.
struct Best {
    count: usize,
    /// Nothing at or below this is among them.
    least: f32,
    offered: Vec<(f32, u32)>,
}

impl Best {
    fn new(count: usize) -> Self {
        Self { count: count.max(1), least: 0.0, offered: Vec::with_capacity(4 * count.max(1)) }
    }

    fn offer(&mut self, row: usize, partial: f32) {
        if partial > self.least {
            self.offered.push((partial, number(row)));
            if self.offered.len() >= 4 * self.count {
                self.cut();
                self.least = self.offered.last().expect("not empty").0;
            }
        }
    }

    fn cut(&mut self) {
        if self.offered.len() > self.count {
            self.offered.select_nth_unstable_by(self.count - 1, |left, right| {
                right.0.total_cmp(&left.0).then(left.1.cmp(&right.1))
            });
            self.offered.truncate(self.count);
        }
    }

    fn rows(mut self) -> Vec<u32> {
        self.cut();
        self.offered.into_iter().map(|(_, row)| row).collect()
    }
}

/// Counting them all, rather than stopping at the first, goes by many at a time.
fn how_many(partials: &[f32], fits: impl Fn(f32) -> bool) -> u32 {
    partials.iter().map(|&partial| u32::from(fits(partial))).sum()
}

fn number(row: usize) -> u32 {
    u32::try_from(row).expect("rows are numbered by 32 bits")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn by_brute_force(rows: &SparseMatrix, query: SparseRow<'_>, k: usize) -> Vec<Neighbour> {
        let rows = rows.clone().normalised();
        let norm = query.norm();
        let mut all: Vec<Neighbour> = (0..rows.rows())
            .map(|row| {
                let similarity = rows
                    .row(row)
                    .iter()
                    .map(|(column, value)| {
                        let other =
                            query.iter().find(|&(other, _)| other == column).map_or(0.0, |(_, value)| value);
                        if other == 0.0 { 0.0 } else { value * (other / norm) }
                    })
                    .fold(0.0, |sum, part| sum + part);
                Neighbour { row: number(row), similarity }
            })
            .collect();
        all.sort_by(|left, right| {
            right.similarity.total_cmp(&left.similarity).then(left.row.cmp(&right.row))
        });
        all.truncate(k);
        all
    }

    /// Rows with a few common columns and many rare ones, some of them copies.
    fn rows(columns: u32, negative: bool) -> impl Strategy<Value = Vec<Vec<(u32, f32)>>> {
        let value = if negative { -4_i8..5 } else { 0..6 };
        let cell = (prop_oneof![0..4_u32, 0..columns], value.prop_map(f32::from));
        let row = prop::collection::vec(cell, 0..12).prop_map(|mut row| {
            row.sort_by_key(|&(column, _)| column);
            row.dedup_by_key(|&mut (column, _)| column);
            row
        });
        prop::collection::vec((row, 1..3_usize), 1..120)
            .prop_map(|rows| rows.into_iter().flat_map(|(row, copies)| vec![row; copies]).collect())
    }

    fn matrix(columns: usize, rows: &[Vec<(u32, f32)>]) -> SparseMatrix {
        let mut matrix = SparseMatrix::new(columns);
        for row in rows {
            matrix.push(row.iter().copied());
        }
        matrix
    }

    proptest! {
        #[test]
        fn nearest_equals_brute_force(rows in any::<bool>().prop_flat_map(|negative| rows(60, negative)), k in 1..12_usize) {
            let rows = matrix(60, &rows);
            let index = InvertedIndex::new(&rows);
            let all = index.nearest_to_each(&rows, k);
            for (row, found) in all.iter().enumerate().step_by(7) {
                prop_assert_eq!(found, &by_brute_force(&rows, rows.row(row), k));
            }
        }

        #[test]
        fn without_a_bound_to_feel_bounded_is_exact(rows in rows(60, false), k in 1..4_usize) {
            let rows = matrix(60, &rows);
            let index = InvertedIndex::new(&rows);
            let query = rows.row(0);
            let mut expected = by_brute_force(&rows, query, k);
            expected.retain(|neighbour| neighbour.similarity > 0.0);
            prop_assert_eq!(index.nearest_bounded(query, k, usize::MAX), expected);
        }

        #[test]
        fn no_row_can_reach_with_less(own in 0.0..1.0_f64, angle in 0.0..1.5_f64, walked in 0.1..1.0_f64) {
            // A row with `own` of its length over the walked columns, at some
            // angle there, and along the query over the others.
            let left = (1.0 - walked * walked).sqrt();
            let partial = walked * own * angle.cos();
            let whole = partial + left * (1.0 - own * own).sqrt();
            prop_assert!(partial >= least_partial(whole, walked, left));
        }
    }

    #[test]
    fn a_bound_is_kept_and_finds_the_rare_column() {
        // Every row has the first column; two share the last.
        let mut rows = SparseMatrix::new(1002);
        for row in 0..1000 {
            rows.push(if row % 500 == 3 {
                vec![(0, 1.0), (row + 1, 1.0), (1001, 1.0)]
            } else {
                vec![(0, 1.0), (row + 1, 1.0)]
            });
        }
        let index = InvertedIndex::new(&rows);
        let found = index.nearest_bounded(rows.row(503), 2, 10);
        assert_eq!(found.iter().map(|neighbour| neighbour.row).collect::<Vec<_>>(), [503, 3]);
    }
}
