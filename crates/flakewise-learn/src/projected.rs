//! The nearest rows after a sparse random projection, looking at all of them.
//!
//! Projected counts are whole numbers times one scale, so that products are
//! added up exactly in sixteen bits: sums may wrap on the way, as long as the
//! result fits. The few columns that most rows have would make most lists of
//! the projection long. They are kept apart instead. With a row's common part
//! `c` and its rare part `r`, and `R` the projection, the product of a query
//! and a row is
//!
//! `R(c + r) · R(c' + r') = c · RᵀR(c' + r') + RᵀRr · c' + Rr · Rr'`
//!
//! The first two sums go over the common columns, without gaps and so quickly;
//! only the last one goes over lists.

use std::cell::RefCell;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use rayon::prelude::*;

use crate::matrix::{SparseMatrix, SparseRow};
use crate::neighbours::{Neighbour, keep_nearest};
use crate::projection::Projection;

/// Rows of counts that can be searched for the nearest of them after a projection.
#[derive(Clone, Debug)]
pub struct ProjectedIndex {
    projection: Projection,
    /// Columns that most rows have, rising.
    common: Vec<u32>,
    /// Rows that are not alike, by length, cut where sixteen bits end.
    blocks: Vec<Block>,
    /// For every row the next one that is like it, if there is one.
    next_alike: Vec<Option<u32>>,
}

/// A column is common if a row in this many has it.
const COMMON_SHARE: usize = 8;
/// At most this many columns are common.
const MOST_COMMON: usize = 16;
/// A place within a block has sixteen bits.
const BLOCK: usize = 1 << 16;
/// So many rows are looked through in one go.
const PAGE: usize = 32;

impl ProjectedIndex {
    /// Indexes rows of counts, which must be whole numbers.
    pub fn new(counts: &SparseMatrix, projection: Projection) -> Self {
        let common = common_columns(counts);
        let mut sums = Sums::new(projection.dimensions());
        let mut next_alike = vec![None; counts.rows()];
        let mut last_alike: HashMap<Vec<(u32, i32)>, usize> = HashMap::new();
        let mut rows = Vec::new();
        for (row, next) in (0..counts.rows()).zip(0..) {
            match last_alike.entry(whole(counts.row(row))) {
                Entry::Occupied(mut last) => next_alike[last.insert(row)] = Some(next),
                Entry::Vacant(entry) => {
                    rows.push((next, Split::new(entry.key(), &common, &projection, &mut sums)));
                    entry.insert(row);
                }
            }
        }
        // Rows are large: only their keys are sorted.
        rows.sort_by_cached_key(|(first, split)| (split.square, *first));
        let mut blocks = Vec::new();
        while !rows.is_empty() {
            let later = rows.split_off(rows.len().min(BLOCK));
            blocks.push(Block::new(std::mem::replace(&mut rows, later), projection.dimensions()));
        }
        Self { projection, common, blocks, next_alike }
    }

    /// The nearest rows, nearest first, equals by number; fewer than `k` only
    /// if there are fewer rows. A row that becomes nothing is at right angles
    /// to all. A copy has a similarity of exactly 1.
    pub fn nearest(&self, counts: SparseRow<'_>, k: usize) -> Vec<Neighbour> {
        thread_local! {
            static SCRATCH: RefCell<Option<Scratch>> = const { RefCell::new(None) };
        }
        if k == 0 {
            return Vec::new();
        }
        SCRATCH.with_borrow_mut(|scratch| {
            let scratch = scratch.get_or_insert_with(Scratch::new);
            scratch.sums.grow(self.projection.dimensions());
            let query = Split::new(&whole(counts), &self.common, &self.projection, &mut scratch.sums);
            let mut found = Found::new(k);
            for block in &self.blocks {
                block.look_through(&query, scratch, &mut found);
            }
            self.with_copies(found)
        })
    }

    /// Every row found stands for those that are like it.
    fn with_copies(&self, mut found: Found) -> Vec<Neighbour> {
        found.cut();
        let mut all = Vec::with_capacity(found.nearest.len());
        for Neighbour { row, similarity } in found.nearest {
            let copies = std::iter::successors(Some(row), |&row| self.next_alike[row as usize]);
            all.extend(copies.take(found.k).map(|row| Neighbour { row, similarity }));
        }
        keep_nearest(&mut all, found.k);
        all
    }

    /// The nearest rows to each of the given, on all threads.
    pub fn nearest_to_each(&self, counts: &SparseMatrix, k: usize) -> Vec<Vec<Neighbour>> {
        let rows = (0..counts.rows()).into_par_iter().with_min_len(16);
        rows.map(|row| self.nearest(counts.row(row), k)).collect()
    }
}

fn common_columns(counts: &SparseMatrix) -> Vec<u32> {
    let mut rows_with = vec![0_usize; counts.columns()];
    for row in 0..counts.rows() {
        for &column in counts.row(row).indices {
            rows_with[column as usize] += 1;
        }
    }
    let mut common: Vec<u32> = (0..number(counts.columns()))
        .filter(|&column| rows_with[column as usize] > counts.rows() / COMMON_SHARE)
        .collect();
    common.sort_by_key(|&column| std::cmp::Reverse(rows_with[column as usize]));
    common.truncate(MOST_COMMON);
    common.sort_unstable();
    common
}

#[expect(clippy::cast_possible_truncation, reason = "checked to be whole and small")]
fn whole(counts: SparseRow<'_>) -> Vec<(u32, i32)> {
    let whole = |(column, count): (u32, f32)| {
        assert!(count.fract() == 0.0 && count.abs() < 1e6, "counts are whole numbers");
        (column, count as i32)
    };
    counts.iter().filter(|&(_, count)| count != 0.0).map(whole).collect()
}

/// A row of counts, projected, its common columns apart.
struct Split {
    /// The counts of the common columns.
    common: Vec<i32>,
    /// The products of the common columns, projected, with the whole row, projected.
    common_products: Vec<i32>,
    /// The same with the rare part of the row only.
    rare_products: Vec<i32>,
    /// The rare part, projected.
    rare: Vec<(u16, i32)>,
    /// The whole row, projected.
    whole: Vec<(u16, i32)>,
    /// The square of its length.
    square: i64,
}

impl Split {
    fn new(counts: &[(u32, i32)], common_columns: &[u32], projection: &Projection, sums: &mut Sums) -> Self {
        let mut common = vec![0; common_columns.len()];
        for &(column, count) in counts {
            if let Ok(place) = common_columns.binary_search(&column) {
                common[place] = count;
            } else {
                sums.add(projection, column, count);
            }
        }
        let rare = sums.list();
        let products =
            |sums: &Sums| common_columns.iter().map(|&column| sums.product(projection, column)).collect();
        let rare_products = products(sums);
        for (&column, &count) in common_columns.iter().zip(&common) {
            sums.add(projection, column, count);
        }
        let common_products = products(sums);
        let whole = sums.list();
        sums.clear();
        let square = whole.iter().map(|&(_, value)| i64::from(value) * i64::from(value)).sum();
        Self { common, common_products, rare_products, rare, whole, square }
    }
}

impl Split {
    /// What a query multiplies the counts, and the products, of rows by, for
    /// every common column.
    fn multipliers(&self) -> impl Iterator<Item = [i16; 2]> + '_ {
        self.rare_products.iter().zip(&self.common).map(|(&rare, &common)| [wrap(rare), wrap(common)])
    }
}

/// A projected row while it is added up. A bit for each dimension met gives
/// them back in order.
struct Sums {
    values: Vec<i32>,
    met: Vec<u64>,
}

impl Sums {
    fn new(dimensions: usize) -> Self {
        assert!(dimensions <= 1 << 16, "dimensions are numbered by 16 bits");
        Self { values: vec![0; dimensions], met: vec![0; dimensions.div_ceil(64)] }
    }

    fn grow(&mut self, dimensions: usize) {
        if self.values.len() < dimensions {
            *self = Self::new(dimensions);
        }
    }

    fn add(&mut self, projection: &Projection, column: u32, count: i32) {
        for &(dimension, sign) in projection.column(column) {
            let dimension = dimension as usize;
            self.values[dimension] += if sign > 0.0 { count } else { -count };
            self.met[dimension / 64] |= 1 << (dimension % 64);
        }
    }

    fn product(&self, projection: &Projection, column: u32) -> i32 {
        let part = |&(dimension, sign): &(u32, f32)| {
            let value = self.values[dimension as usize];
            if sign > 0.0 { value } else { -value }
        };
        projection.column(column).iter().map(part).sum()
    }

    fn list(&self) -> Vec<(u16, i32)> {
        let mut list = Vec::with_capacity(64);
        self.each(|dimension| {
            let value = self.values[dimension];
            if value != 0 {
                list.push((u16::try_from(dimension).expect("checked when made"), value));
            }
        });
        list
    }

    fn each(&self, mut visit: impl FnMut(usize)) {
        for (word, &bits) in self.met.iter().enumerate() {
            let mut bits = bits;
            while bits != 0 {
                visit(word * 64 + bits.trailing_zeros() as usize);
                bits &= bits - 1;
            }
        }
    }

    fn clear(&mut self) {
        self.values.fill(0);
        self.met.fill(0);
    }
}

/// Rows that are not alike, in the order of their lengths.
#[derive(Clone, Debug)]
struct Block {
    lengths: Vec<f32>,
    squares: Vec<i64>,
    /// The first row that is like it.
    firsts: Vec<u32>,
    /// For every common column the counts, and the products, of all rows.
    common: Vec<[Vec<[i16; PAGE]>; 2]>,
    /// For every dimension, and once more at the end, where its lists start:
    /// rows with 1 there in the rare part, with -1, where these end, and rows
    /// with other values.
    starts: Vec<[u32; 4]>,
    ones: Vec<u16>,
    others: Vec<(u16, i16)>,
    /// The rows, projected: for those whose products do not fit.
    whole: Vec<Vec<(u16, i32)>>,
}

impl Block {
    fn new(rows: Vec<(u32, Split)>, dimensions: usize) -> Self {
        let (starts, ones, others) = lists(&rows, dimensions);
        let pages = |values: &dyn Fn(&Split) -> i32| {
            let page = |page: &[(u32, Split)]| {
                let mut filled = [0; PAGE];
                for (place, (_, row)) in filled.iter_mut().zip(page) {
                    *place = wrap(values(row));
                }
                filled
            };
            rows.chunks(PAGE).map(page).collect()
        };
        let common = (0..rows.first().map_or(0, |(_, row)| row.common.len()))
            .map(|column| [pages(&|row| row.common[column]), pages(&|row| row.common_products[column])])
            .collect();
        Self {
            lengths: rows.iter().map(|(_, row)| root(row.square)).collect(),
            squares: rows.iter().map(|(_, row)| row.square).collect(),
            firsts: rows.iter().map(|&(first, _)| first).collect(),
            common,
            starts,
            ones,
            others,
            whole: rows.into_iter().map(|(_, row)| row.whole).collect(),
        }
    }

    fn look_through(&self, query: &Split, scratch: &mut Scratch, found: &mut Found) {
        self.add_up(query, &mut scratch.products);
        let length = root(query.square);
        let offer = |found: &mut Found, row: usize, product: i64| {
            let similarity = similarity(product, query.square, self.squares[row]);
            found.offer(Neighbour { row: self.firsts[row], similarity });
        };
        // Products with longer rows might not fit into sixteen bits.
        let longest = f32::from(i16::MAX) / length.max(1.0);
        let fitting = self.lengths.partition_point(|&length| length < longest);
        // Rows of about the same length first: the nearest are mostly there.
        let pages = fitting.div_ceil(PAGE);
        let alike = self.lengths.partition_point(|&own| own < length * 0.9).min(fitting) / PAGE;
        for page in (alike..pages).chain((0..alike).rev()) {
            let start = page * PAGE;
            let products = &scratch.products[start..fitting.min(start + PAGE)];
            // The first of a page is the shortest.
            let needed = found.needed(length * self.lengths[start]);
            // Counting them all, rather than stopping at the first, goes by many at a time.
            if products.iter().map(|&product| u16::from(product >= needed)).sum::<u16>() > 0 {
                for (row, &product) in (start..).zip(products) {
                    if product >= needed && product >= found.needed(length * self.lengths[row]) {
                        offer(found, row, i64::from(product));
                    }
                }
            }
        }
        if fitting < self.lengths.len() {
            for &(dimension, value) in &query.whole {
                scratch.query[usize::from(dimension)] = i64::from(value);
            }
            for row in fitting..self.lengths.len() {
                let parts = self.whole[row].iter();
                let part = |&(dimension, value): &(u16, i32)| {
                    i64::from(value) * scratch.query[usize::from(dimension)]
                };
                offer(found, row, parts.map(part).sum());
            }
            for &(dimension, _) in &query.whole {
                scratch.query[usize::from(dimension)] = 0;
            }
        }
    }

    /// The product of the query with every row, but for multiples of 2¹⁶.
    fn add_up(&self, query: &Split, products: &mut [i16; BLOCK]) {
        let columns = self.common.iter().zip(query.multipliers());
        let columns: Vec<(&[[i16; PAGE]], i16)> = columns
            .flat_map(|([counts, products], [by_counts, by_products])| {
                [(counts, by_counts), (products, by_products)]
            })
            .filter(|&(_, times)| times != 0)
            .map(|(column, times)| (column.as_slice(), times))
            .collect();
        for (page, products) in
            products.as_chunks_mut::<PAGE>().0[..self.lengths.len().div_ceil(PAGE)].iter_mut().enumerate()
        {
            let mut sums = [0_i16; PAGE];
            for (column, times) in &columns {
                for (sum, value) in sums.iter_mut().zip(&column[page]) {
                    *sum = sum.wrapping_add(value.wrapping_mul(*times));
                }
            }
            *products = sums;
        }
        for &(dimension, value) in &query.rare {
            let [start, middle, end, others] =
                self.starts[usize::from(dimension)].map(|start| start as usize);
            let value = wrap(value);
            add_at(&self.ones[start..middle], value, products);
            add_at(&self.ones[middle..end], value.wrapping_neg(), products);
            let others_end = self.starts[usize::from(dimension) + 1][3] as usize;
            for &(row, own) in &self.others[others..others_end] {
                let product = &mut products[usize::from(row)];
                *product = product.wrapping_add(own.wrapping_mul(value));
            }
        }
    }
}

type Lists = (Vec<[u32; 4]>, Vec<u16>, Vec<(u16, i16)>);

/// The lists of all dimensions, one after the other.
fn lists(rows: &[(u32, Split)], dimensions: usize) -> Lists {
    // Counted first, so that every list is written where it belongs.
    let kind = |value: i32| match value {
        1 => 0,
        -1 => 1,
        _ => 2,
    };
    let mut counts = vec![[0_u32; 3]; dimensions];
    for &(dimension, value) in rows.iter().flat_map(|(_, row)| &row.rare) {
        counts[usize::from(dimension)][kind(value)] += 1;
    }
    let (mut starts, mut ones, mut others) = (Vec::with_capacity(dimensions + 1), 0, 0);
    for [plus, minus, other] in counts {
        starts.push([ones, ones + plus, ones + plus + minus, others]);
        ones += plus + minus;
        others += other;
    }
    starts.push([ones, ones, ones, others]);
    let mut next: Vec<[u32; 3]> =
        starts.iter().map(|&[plus, minus, _, other]| [plus, minus, other]).collect();
    let mut ones = vec![0; ones as usize];
    let mut others = vec![(0, 0); others as usize];
    for (place, (_, row)) in (0..).zip(rows) {
        for &(dimension, value) in &row.rare {
            let kind = kind(value);
            let at = &mut next[usize::from(dimension)][kind];
            if kind == 2 {
                others[*at as usize] = (place, wrap(value));
            } else {
                ones[*at as usize] = place;
            }
            *at += 1;
        }
    }
    (starts, ones, others)
}

/// Adds a value at the given places. Eight places in one go: the loop itself
/// would cost as much as the additions.
fn add_at(places: &[u16], value: i16, products: &mut [i16; BLOCK]) {
    let (eights, rest) = places.as_chunks::<8>();
    for eight in eights {
        for &place in eight {
            let product = &mut products[usize::from(place)];
            *product = product.wrapping_add(value);
        }
    }
    for &place in rest {
        let product = &mut products[usize::from(place)];
        *product = product.wrapping_add(value);
    }
}

/// The nearest rows so far.
struct Found {
    k: usize,
    nearest: Vec<Neighbour>,
    /// At least as many as requested are this near.
    least: f32,
}

impl Found {
    fn new(k: usize) -> Self {
        Self { k, nearest: Vec::with_capacity(2 * k), least: f32::NEG_INFINITY }
    }

    /// The least product that matters, if the lengths multiply to this or more.
    #[expect(clippy::cast_possible_truncation, reason = "saturates, and errs on the safe side")]
    fn needed(&self, lengths: f32) -> i16 {
        if self.least > 0.0 { (self.least * 0.9999 * lengths) as i16 } else { i16::MIN }
    }

    fn offer(&mut self, neighbour: Neighbour) {
        if neighbour.similarity >= self.least {
            self.nearest.push(neighbour);
            if self.nearest.len() >= 2 * self.k {
                self.cut();
            }
        }
    }

    fn cut(&mut self) {
        keep_nearest(&mut self.nearest, self.k);
        if let Some(last) = self.nearest.get(self.k - 1) {
            self.least = last.similarity;
        }
    }
}

/// The cosine; exactly 1 for a row that is the same.
#[expect(clippy::cast_possible_truncation, reason = "similarities have single precision")]
fn similarity(product: i64, left: i64, right: i64) -> f32 {
    if left == 0 || right == 0 { 0.0 } else { (product as f64 / (left as f64 * right as f64).sqrt()) as f32 }
}

/// Working space of one thread. Sums and query are all zeros between queries.
struct Scratch {
    sums: Sums,
    query: Vec<i64>,
    products: Box<[i16; BLOCK]>,
}

impl Scratch {
    fn new() -> Self {
        let products = vec![0; BLOCK].into_boxed_slice().try_into().expect("as long as a block");
        Self { sums: Sums::new(0), query: vec![0; 1 << 16], products }
    }
}

/// The last sixteen bits.
#[expect(clippy::cast_possible_truncation, reason = "sums may wrap")]
fn wrap(value: i32) -> i16 {
    value as i16
}

#[expect(clippy::cast_possible_truncation, reason = "lengths have single precision")]
fn root(square: i64) -> f32 {
    (square as f64).sqrt() as f32
}

fn number(number: usize) -> u32 {
    u32::try_from(number).expect("rows are numbered by 32 bits")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[expect(clippy::cast_possible_truncation, reason = "counts are whole numbers")]
    fn integer(count: f32) -> i32 {
        count as i32
    }

    /// Cosines of projected rows, one by one.
    fn by_brute_force(
        counts: &SparseMatrix,
        projection: &Projection,
        query: usize,
        k: usize,
    ) -> Vec<Neighbour> {
        let mut projected: Vec<Vec<i64>> = Vec::new();
        for row in 0..counts.rows() {
            let mut sums = vec![0; projection.dimensions()];
            for (column, count) in counts.row(row).iter() {
                for &(dimension, sign) in projection.column(column) {
                    sums[dimension as usize] += i64::from(integer(count * sign));
                }
            }
            projected.push(sums);
        }
        let product = |left: usize, right: usize| -> i64 {
            projected[left].iter().zip(&projected[right]).map(|(left, right)| left * right).sum()
        };
        let mut all: Vec<Neighbour> = (0..counts.rows())
            .map(|row| Neighbour {
                row: number(row),
                similarity: similarity(product(query, row), product(query, query), product(row, row)),
            })
            .collect();
        all.sort_by(|left, right| {
            right.similarity.partial_cmp(&left.similarity).unwrap().then(left.row.cmp(&right.row))
        });
        all.truncate(k);
        all
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn nearest_equals_brute_force(
            rows in prop::collection::vec((prop::collection::btree_map(prop_oneof![0..4_u32, 0..300_u32], prop_oneof![20 => 1..4_u16, 1 => 1..2000_u16], 0..12), 1..3_usize), 1..150),
            k in 1..12_usize, dimensions in 8..40_usize, seed: u64,
        ) {
            let mut counts = SparseMatrix::new(300);
            for (row, copies) in &rows {
                for _ in 0..*copies {
                    counts.push(row.iter().map(|(&column, &count)| (column, f32::from(count))));
                }
            }
            let projection = Projection::new(300, dimensions, seed);
            let index = ProjectedIndex::new(&counts, projection.clone());
            let all = index.nearest_to_each(&counts, k);
            for (row, found) in all.iter().enumerate().step_by(11) {
                prop_assert_eq!(found, &by_brute_force(&counts, &projection, row, k));
            }
        }
    }

    #[test]
    fn a_copy_is_exactly_as_near_as_can_be() {
        let mut counts = SparseMatrix::new(100);
        for row in 0..50_u32 {
            counts.push([(row, 3.0), (row + 1, 7.0), (99, 2.0)]);
        }
        let index = ProjectedIndex::new(&counts, Projection::new(100, 60, 1));
        for (row, found) in index.nearest_to_each(&counts, 1).iter().enumerate() {
            assert_eq!(found, &[Neighbour { row: number(row), similarity: 1.0 }]);
        }
    }
}
