//! The nearest rows by cosine, exactly, without comparing most of them.
//!
//! Columns that many rows have are kept apart: they are *dense*, and tell
//! little for what they cost. For the others, lists lead from a column to the
//! rows that have it. A query walks the lists of its columns and adds up
//! partial similarities. What the dense columns can still add to a row is at
//! most the product of the two lengths over them (Cauchy and Schwarz), and
//! that rules out most rows before their dense columns are looked at.

use std::cell::RefCell;

use rayon::prelude::*;

use crate::matrix::{SparseMatrix, SparseRow};

/// A row near to what was requested.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbour {
    /// Its number.
    pub row: u32,
    /// The cosine of the angle between the two.
    pub similarity: f32,
}

/// Rows that can be searched for the nearest of them.
#[derive(Clone, Debug)]
pub struct InvertedIndex {
    /// Every row at length 1.
    rows: SparseMatrix,
    /// For every column the rows that have it, with their values.
    lists: SparseMatrix,
    /// Which columns are dense, rising.
    dense_columns: Vec<u32>,
    /// The values of the dense columns, row by row, filled up to whole lanes.
    dense_values: Vec<f32>,
    /// The length of every row over the dense columns.
    dense_lengths: Vec<f32>,
}

/// A column is dense if a row in this many has it.
const DENSE_SHARE: usize = 8;
/// Values multiplied in one go.
const LANES: usize = 8;
/// What a similarity added up in another order may be off by.
const ROUNDING: f32 = 1e-5;
/// Rows compared for a first lower bound: this many for each neighbour requested.
const TRIALS: usize = 4;
/// Rows compared after a bounded walk: this many for each neighbour requested.
const BOUNDED_TRIALS: usize = 4;
/// If fewer postings than this share of the rows are walked, the rows met are
/// remembered; otherwise all rows are looked through.
const SPARSE_SHARE: usize = 16;
/// So many rows are looked through in one go.
const PAGE: usize = 32;

impl InvertedIndex {
    /// Indexes the rows.
    pub fn new(rows: &SparseMatrix) -> Self {
        let rows = rows.clone().normalised();
        let lists = rows.transpose();
        let dense_columns: Vec<u32> = (0..lists.rows())
            .filter(|&column| lists.row(column).indices.len() > rows.rows() / DENSE_SHARE)
            .map(number)
            .collect();
        let width = dense_columns.len().next_multiple_of(LANES);
        let mut dense_values = vec![0.0; width * rows.rows()];
        for (place, &column) in dense_columns.iter().enumerate() {
            for (row, value) in lists.row(column as usize).iter() {
                dense_values[row as usize * width + place] = value;
            }
        }
        let dense_lengths = if width == 0 {
            vec![0.0; rows.rows()]
        } else {
            dense_values.chunks_exact(width).map(|values| product(values, values).sqrt()).collect()
        };
        Self { rows, lists, dense_columns, dense_values, dense_lengths }
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
    /// this many postings are walked, the most telling columns first. Similarities
    /// are exact; a nearer row may be missed, and fewer than `k` be found.
    pub fn nearest_bounded(&self, row: SparseRow<'_>, k: usize, postings: usize) -> Vec<Neighbour> {
        self.with_query(row, |query, scratch| {
            let cost = |list: &List| list.length as f32 / (list.value * list.value);
            let order = |left: &&List, right: &&List| {
                cost(left).total_cmp(&cost(right)).then(left.column.cmp(&right.column))
            };
            let mut sparse: Vec<&List> = query.sparse.iter().collect();
            sparse.sort_by(order);
            let mut left = postings;
            for list in sparse {
                left -=
                    scratch.walk_and_remember(self.lists.row(list.column as usize).first(left), list.value);
            }
            // Dense columns are looked at below; here they only lead to rows,
            // and only if the others did not lead to enough.
            let mut dense: Vec<&List> = query.dense.iter().collect();
            dense.sort_by(order);
            for list in dense {
                if scratch.met.len() < k {
                    left -= scratch.walk_and_remember(self.lists.row(list.column as usize).first(left), 0.0);
                }
            }
            let mut best = Best::new(BOUNDED_TRIALS * k.max(1));
            for &row in &scratch.met {
                let most =
                    scratch.partial[row as usize] + query.dense_length * self.dense_lengths[row as usize];
                if most + ROUNDING < best.least {
                    continue;
                }
                let dense = product(self.dense_values(row as usize), &query.dense_values);
                best.offer(row, scratch.partial[row as usize] + dense);
            }
            let mut found: Vec<Neighbour> = best.rows().map(|row| self.compare(row, scratch)).collect();
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
            let query = Query::new(row, self);
            scratch.prepare(&query, self.rows(), self.lists.rows());
            let result = search(&query, scratch);
            scratch.clear(&query, self.rows());
            result
        })
    }

    fn search(&self, query: &Query, scratch: &mut Scratch, k: usize) -> Vec<Neighbour> {
        if k == 0 {
            return Vec::new();
        }
        let rows = self.rows();
        let postings: usize = query.sparse.iter().map(|list| list.length).sum();
        scratch.remembers = postings < rows / SPARSE_SHARE;
        for list in &query.sparse {
            let postings = self.lists.row(list.column as usize);
            if scratch.remembers {
                scratch.walk_and_remember(postings, list.value);
            } else {
                scratch.walk(postings, list.value);
            }
        }
        let mut search =
            Search { index: self, query, scratch, k, reached: f32::NEG_INFINITY, found: Vec::new() };
        if search.scratch.remembers {
            search.try_met();
            // A row that was not met has its dense columns only.
            if search.reached > query.dense_length + ROUNDING {
                search.look_through_met();
                return search.finish();
            }
        } else {
            search.try_all();
        }
        search.look_through_all();
        search.finish()
    }

    /// The exact similarity, always added up in the order of columns.
    fn compare(&self, row: u32, scratch: &Scratch) -> Neighbour {
        let values = self.rows.row(row as usize);
        let similarity =
            values.iter().fold(0.0, |sum, (column, value)| sum + value * scratch.query[column as usize]);
        Neighbour { row, similarity }
    }

    fn dense_values(&self, row: usize) -> &[f32] {
        let width = self.dense_columns.len().next_multiple_of(LANES);
        &self.dense_values[row * width..][..width]
    }
}

/// The second half of a search: partial similarities are there.
struct Search<'a> {
    index: &'a InvertedIndex,
    query: &'a Query,
    scratch: &'a mut Scratch,
    k: usize,
    /// At least as many as requested are this near.
    reached: f32,
    found: Vec<Neighbour>,
}

impl Search<'_> {
    /// Compares the most promising of the rows met, for a lower bound.
    fn try_met(&mut self) {
        let mut best = Best::new(TRIALS * self.k);
        for &row in &self.scratch.met {
            best.offer(row, self.most(row as usize));
        }
        self.learn_from(best);
    }

    fn try_all(&mut self) {
        let mut best = Best::new(TRIALS * self.k);
        let all = self.scratch.partial[..self.index.rows()].chunks(PAGE);
        for (page, (partials, lengths)) in all.zip(self.index.dense_lengths.chunks(PAGE)).enumerate() {
            if self.any(partials, lengths, best.least) {
                for place in 0..partials.len() {
                    let row = page * PAGE + place;
                    best.offer(number(row), self.most(row));
                }
            }
        }
        self.learn_from(best);
    }

    fn learn_from(&mut self, best: Best) {
        let mut compared: Vec<Neighbour> =
            best.rows().map(|row| self.index.compare(row, self.scratch)).collect();
        keep_nearest(&mut compared, self.k);
        if let Some(last) = compared.get(self.k - 1) {
            self.reached = last.similarity;
        }
    }

    fn look_through_met(&mut self) {
        for place in 0..self.scratch.met.len() {
            self.look_at(self.scratch.met[place] as usize);
        }
    }

    fn look_through_all(&mut self) {
        let rows = self.index.rows();
        for start in (0..rows).step_by(PAGE) {
            let page = start..rows.min(start + PAGE);
            let needed = self.reached - ROUNDING;
            if self.any(&self.scratch.partial[page.clone()], &self.index.dense_lengths[page.clone()], needed)
            {
                for row in page {
                    self.look_at(row);
                }
            }
        }
    }

    fn look_at(&mut self, row: usize) {
        let needed = self.reached - ROUNDING;
        if self.most(row) < needed {
            return;
        }
        let dense = product(self.index.dense_values(row), &self.query.dense_values);
        if self.scratch.partial[row] + dense < needed {
            return;
        }
        self.found.push(self.index.compare(number(row), self.scratch));
        if self.found.len() >= 4 * self.k {
            keep_nearest(&mut self.found, self.k);
            self.reached = self.reached.max(self.found[self.k - 1].similarity);
        }
    }

    /// The most a row's similarity can come to.
    fn most(&self, row: usize) -> f32 {
        self.scratch.partial[row] + self.query.dense_length * self.index.dense_lengths[row]
    }

    /// Whether any of these rows can come to more. Counting them all, rather
    /// than stopping at the first, goes by many at a time.
    fn any(&self, partials: &[f32], dense_lengths: &[f32], than: f32) -> bool {
        let dense_length = self.query.dense_length;
        let more = |(&partial, &length): (&f32, &f32)| u32::from(partial + dense_length * length >= than);
        partials.iter().zip(dense_lengths).map(more).sum::<u32>() > 0
    }

    fn finish(mut self) -> Vec<Neighbour> {
        keep_nearest(&mut self.found, self.k);
        self.found
    }
}

/// The sum of products, in lanes. Lengths are whole lanes.
fn product(left: &[f32], right: &[f32]) -> f32 {
    let mut sums = [0.0; LANES];
    for (left, right) in left.as_chunks::<LANES>().0.iter().zip(right.as_chunks::<LANES>().0) {
        for lane in 0..LANES {
            sums[lane] += left[lane] * right[lane];
        }
    }
    sums.iter().sum()
}

/// Sorted, nearest first, equals by number, and cut.
pub(crate) fn keep_nearest(found: &mut Vec<Neighbour>, k: usize) {
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

/// A query at length 1.
struct Query {
    sparse: Vec<List>,
    dense: Vec<List>,
    /// Its values in the dense columns.
    dense_values: Vec<f32>,
    /// Its length over them.
    dense_length: f32,
}

impl Query {
    fn new(row: SparseRow<'_>, index: &InvertedIndex) -> Self {
        let norm = row.norm();
        let (mut sparse, mut dense) = (Vec::new(), Vec::new());
        let mut dense_values = vec![0.0; index.dense_columns.len().next_multiple_of(LANES)];
        for (column, value) in row.iter() {
            if value == 0.0 || column as usize >= index.lists.rows() {
                continue;
            }
            let length = index.lists.row(column as usize).indices.len();
            let list = List { column, value: value / norm, length };
            if let Ok(place) = index.dense_columns.binary_search(&column) {
                dense_values[place] = list.value;
                dense.push(list);
            } else {
                sparse.push(list);
            }
        }
        let dense_length = product(&dense_values, &dense_values).sqrt();
        Self { sparse, dense, dense_values, dense_length }
    }
}

/// Working space of one thread. All zeros between queries.
#[derive(Default)]
struct Scratch {
    /// The query's value in every column.
    query: Vec<f32>,
    /// What has been added up for every row.
    partial: Vec<f32>,
    /// Rows met, if they are remembered.
    met: Vec<u32>,
    remembers: bool,
}

impl Scratch {
    fn prepare(&mut self, query: &Query, rows: usize, columns: usize) {
        self.query.resize(self.query.len().max(columns), 0.0);
        self.partial.resize(self.partial.len().max(rows), 0.0);
        self.remembers = true;
        for list in query.sparse.iter().chain(&query.dense) {
            self.query[list.column as usize] = list.value;
        }
    }

    fn clear(&mut self, query: &Query, rows: usize) {
        for list in query.sparse.iter().chain(&query.dense) {
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
        let partial = &mut self.partial[..];
        for (row, own) in postings.iter() {
            partial[row as usize] += own * value;
        }
    }

    /// Also says how many postings there were.
    fn walk_and_remember(&mut self, postings: SparseRow<'_>, value: f32) -> usize {
        for (row, own) in postings.iter() {
            let partial = &mut self.partial[row as usize];
            if *partial == 0.0 {
                self.met.push(row);
            }
            *partial += own * value;
            // Nothing would look as if the row had not been met.
            if *partial == 0.0 {
                *partial = f32::MIN_POSITIVE;
            }
        }
        postings.indices.len()
    }
}

/// The rows that promise most.
struct Best {
    count: usize,
    /// Nothing below this is among them.
    least: f32,
    offered: Vec<(f32, u32)>,
}

impl Best {
    fn new(count: usize) -> Self {
        Self { count, least: f32::NEG_INFINITY, offered: Vec::with_capacity(4 * count) }
    }

    fn offer(&mut self, row: u32, promise: f32) {
        if promise > self.least {
            self.offered.push((promise, row));
            if self.offered.len() >= 4 * self.count {
                self.cut();
            }
        }
    }

    fn cut(&mut self) {
        if self.offered.len() > self.count {
            let order =
                |left: &(f32, u32), right: &(f32, u32)| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1));
            let (_, last, _) = self.offered.select_nth_unstable_by(self.count - 1, order);
            self.least = last.0;
            self.offered.truncate(self.count);
        }
    }

    fn rows(mut self) -> impl Iterator<Item = u32> {
        self.cut();
        self.offered.into_iter().map(|(_, row)| row)
    }
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
        #![proptest_config(ProptestConfig::with_cases(96))]
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
        fn enough_postings_find_all_that_share_a_sparse_column(rows in rows(60, false), k in 1..12_usize) {
            let rows = matrix(60, &rows);
            let index = InvertedIndex::new(&rows);
            let query = rows.row(0);
            let telling = |row: u32| {
                let columns = rows.row(row as usize).iter().filter(|cell| cell.1 != 0.0).map(|cell| cell.0);
                let mut shared = columns.filter(|&column| query.iter().any(|cell| cell.0 == column && cell.1 != 0.0));
                shared.any(|column| !index.dense_columns.contains(&column))
            };
            let all = by_brute_force(&rows, query, rows.rows());
            let found = index.nearest_bounded(query, k, usize::MAX);
            prop_assert!(found.iter().all(|neighbour| all.contains(neighbour)));
            let expected: Vec<_> = all.iter().filter(|neighbour| telling(neighbour.row)).take(k).collect();
            prop_assert!(found.len() >= expected.len());
            for (found, expected) in found.iter().zip(expected) {
                prop_assert!(found.similarity >= expected.similarity);
            }
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
