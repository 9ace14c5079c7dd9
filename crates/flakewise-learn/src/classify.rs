//! Grows one tree of a forest until its leaves are pure.

use std::ops::Range;

use crate::DenseMatrix;
use crate::bins::between;
use crate::forest::{ForestOptions, Splits};
use crate::random::Random;
use crate::tree::{Node, Tree};

/// A table column by column, for all trees of a forest.
pub(crate) struct Columns {
    values: Vec<Vec<f32>>,
    /// For best splits: the place of each row's value among the different
    /// values of its column. Integers are quicker to sort than numbers.
    ranks: Vec<Vec<u32>>,
}

impl Columns {
    #[expect(clippy::cast_possible_truncation, reason = "rows are counted in 32 bits")]
    pub(crate) fn new(table: &DenseMatrix, splits: Splits) -> Self {
        assert!(u32::try_from(table.rows()).is_ok(), "rows are counted in 32 bits");
        let column = |column| (0..table.rows()).map(|row| table.row(row)[column]).collect::<Vec<f32>>();
        let values: Vec<Vec<f32>> = (0..table.columns()).map(column).collect();
        let rank = |values: &Vec<f32>| {
            let mut different: Vec<f32> = values.iter().copied().filter(|value| !value.is_nan()).collect();
            different.sort_unstable_by(f32::total_cmp);
            different.dedup();
            let rank = |&value: &f32| {
                if value.is_nan() {
                    MISSING
                } else {
                    different.partition_point(|&other| other < value) as u32
                }
            };
            values.iter().map(rank).collect()
        };
        let ranks = if splits == Splits::Best { values.iter().map(rank).collect() } else { Vec::new() };
        Self { values, ranks }
    }
}

/// The rank of a missing value: after all others.
const MISSING: u32 = u32::MAX;

/// A tree that is being grown.
pub(crate) struct Classify<'a> {
    columns: &'a Columns,
    labels: &'a [u32],
    weights: &'a [f32],
    outputs: usize,
    tried: usize,
    options: &'a ForestOptions,
    random: Random,
    /// The rows this tree sees, those of one node next to each other.
    rows: Vec<u32>,
    /// The columns in the order in which they were drawn last.
    order: Vec<u32>,
    keys: Vec<u64>,
    moved: Vec<u32>,
    nodes: Vec<Node>,
    covers: Vec<f32>,
    values: Vec<f32>,
}

#[derive(Clone, Copy, Debug)]
struct Split {
    score: f64,
    column: usize,
    threshold: f32,
    missing_left: bool,
}

/// The weights of each class on both sides of a split, and of their squares.
struct Sides {
    left: Vec<f64>,
    right: Vec<f64>,
    left_weight: f64,
    right_weight: f64,
    left_squares: f64,
    right_squares: f64,
}

impl Sides {
    /// All on the right side.
    fn new(classes: &[f64]) -> Self {
        Self {
            left: vec![0.0; classes.len()],
            right: classes.to_vec(),
            left_weight: 0.0,
            right_weight: classes.iter().sum(),
            left_squares: 0.0,
            right_squares: classes.iter().map(|weight| weight * weight).sum(),
        }
    }

    fn restart(&mut self, classes: &[f64]) {
        self.left.fill(0.0);
        self.right.copy_from_slice(classes);
        self.left_weight = 0.0;
        self.right_weight = classes.iter().sum();
        self.left_squares = 0.0;
        self.right_squares = classes.iter().map(|weight| weight * weight).sum();
    }

    /// Moves a row to the left side.
    fn move_left(&mut self, class: u32, weight: f32) {
        let (class, weight) = (class as usize, f64::from(weight));
        self.left_squares += weight * (2.0 * self.left[class] + weight);
        self.right_squares -= weight * (2.0 * self.right[class] - weight);
        self.left[class] += weight;
        self.right[class] -= weight;
        self.left_weight += weight;
        self.right_weight -= weight;
    }

    /// How pure the sides are: what is left of Gini's impurity when the parts
    /// that are the same for every split are left out. Greater is purer.
    fn score(&self) -> f64 {
        self.left_squares / self.left_weight + self.right_squares / self.right_weight
    }
}

impl<'a> Classify<'a> {
    #[expect(clippy::cast_possible_truncation, reason = "rows and columns are counted in 32 bits")]
    pub(crate) fn new(
        columns: &'a Columns,
        labels: &'a [u32],
        weights: &'a [f32],
        outputs: usize,
        tried: usize,
        options: &'a ForestOptions,
        random: Random,
    ) -> Self {
        let rows = (0..labels.len()).filter(|&row| weights[row] > 0.0).map(|row| row as u32).collect();
        Self {
            columns,
            labels,
            weights,
            outputs,
            tried,
            options,
            random,
            rows,
            order: (0..columns.values.len() as u32).collect(),
            keys: Vec::new(),
            moved: Vec::new(),
            nodes: Vec::new(),
            covers: Vec::new(),
            values: Vec::new(),
        }
    }

    pub(crate) fn grow(mut self) -> Tree {
        let mut open = vec![(self.add_node(&(0..self.rows.len())), 0..self.rows.len(), 0)];
        while let Some((node, span, depth)) = open.pop() {
            let classes = self.classes(&span);
            let pure = classes.iter().filter(|&&weight| weight > 0.0).count() < 2;
            let deep = self.options.max_depth.is_some_and(|most| depth >= most);
            if pure || deep || span.len() < 2 * self.options.min_leaf_rows.max(1) {
                continue;
            }
            let Some(split) = self.choose(&span, &classes) else { continue };
            let middle = self.part(&span, &split);
            let (left, right) = (span.start..middle, middle..span.end);
            let first = self.add_node(&left);
            let second = self.add_node(&right);
            self.nodes[node] = Node {
                feature: u32::try_from(split.column).expect("columns are counted in 32 bits"),
                threshold: split.threshold,
                left: u32::try_from(first).expect("a tree has fewer nodes than a table twice its rows"),
                missing_left: split.missing_left,
            };
            open.push((second, right, depth + 1));
            open.push((first, left, depth + 1));
        }
        Tree::from_nodes(self.columns.values.len(), self.nodes, self.covers, self.values)
            .expect("children follow their parents")
    }

    fn classes(&self, span: &Range<usize>) -> Vec<f64> {
        let mut classes = vec![0.0; self.outputs.max(2)];
        for &row in &self.rows[span.clone()] {
            classes[self.labels[row as usize] as usize] += f64::from(self.weights[row as usize]);
        }
        classes
    }

    #[expect(clippy::cast_possible_truncation, reason = "shares and covers do not need more")]
    fn add_node(&mut self, span: &Range<usize>) -> usize {
        let classes = self.classes(span);
        let total: f64 = classes.iter().sum();
        let shares = classes.iter().map(|weight| if total > 0.0 { (weight / total) as f32 } else { 0.0 });
        self.values.extend(shares.skip(usize::from(self.outputs == 1)));
        self.covers.push(total as f32);
        self.nodes.push(Node::LEAF);
        self.nodes.len() - 1
    }

    /// The best split of some columns drawn at random. More are drawn as long
    /// as none of them can be split.
    fn choose(&mut self, span: &Range<usize>, classes: &[f64]) -> Option<Split> {
        let mut best = None;
        let mut sides = Sides::new(classes);
        for drawn in 0..self.order.len() {
            if drawn >= self.tried && best.is_some() {
                break;
            }
            let other = drawn + self.random.below(self.order.len() - drawn);
            self.order.swap(drawn, other);
            let column = self.order[drawn] as usize;
            match self.options.splits {
                Splits::Best => self.best_split(span, column, classes, &mut sides, &mut best),
                Splits::Random => self.random_split(span, column, &mut sides, &mut best),
            }
        }
        best
    }

    fn best_split(
        &mut self,
        span: &Range<usize>,
        column: usize,
        classes: &[f64],
        sides: &mut Sides,
        best: &mut Option<Split>,
    ) {
        let ranks = &self.columns.ranks[column];
        self.keys.clear();
        self.keys.extend(
            self.rows[span.clone()]
                .iter()
                .map(|&row| (u64::from(ranks[row as usize]) << 32) | u64::from(row)),
        );
        let first = self.keys[0] >> 32;
        if self.keys.iter().all(|key| key >> 32 == first) {
            return;
        }
        self.keys.sort_unstable();
        let present = self.keys.partition_point(|key| key >> 32 < u64::from(MISSING));
        sides.restart(classes);
        self.scan(present, column, 0, (present < self.keys.len()).then_some(false), sides, best);
        if present < self.keys.len() {
            sides.restart(classes);
            for key in &self.keys[present..] {
                let row = row_of(*key);
                sides.move_left(self.labels[row], self.weights[row]);
            }
            self.scan(present, column, self.keys.len() - present, Some(true), sides, best);
        }
    }

    /// Tries every place between two different values. So many rows are on the
    /// left side already.
    fn scan(
        &self,
        present: usize,
        column: usize,
        already: usize,
        missing_left: Option<bool>,
        sides: &mut Sides,
        best: &mut Option<Split>,
    ) {
        let (all, least) = (self.keys.len(), self.options.min_leaf_rows.max(1));
        for index in 0..present {
            let row = row_of(self.keys[index]);
            sides.move_left(self.labels[row], self.weights[row]);
            let left = already + index + 1;
            if left < least || all - left < least {
                continue;
            }
            let next = self.keys.get(index + 1).filter(|_| index + 1 < present);
            if next.is_some_and(|next| next >> 32 == self.keys[index] >> 32) {
                continue;
            }
            let score = sides.score();
            if best.is_none_or(|best| score > best.score) {
                let values = &self.columns.values[column];
                let threshold =
                    next.map_or(f32::INFINITY, |&next| between(values[row], values[row_of(next)]));
                let missing_left = missing_left.unwrap_or(2 * left > all);
                *best = Some(Split { score, column, threshold, missing_left });
            }
        }
    }

    fn random_split(
        &mut self,
        span: &Range<usize>,
        column: usize,
        sides: &mut Sides,
        best: &mut Option<Split>,
    ) {
        let values = &self.columns.values[column];
        let rows = &self.rows[span.clone()];
        let (mut low, mut high, mut missing) = (f32::INFINITY, f32::NEG_INFINITY, 0);
        for &row in rows {
            let value = values[row as usize];
            low = if value < low { value } else { low };
            high = if value > high { value } else { high };
            missing += usize::from(value.is_nan());
        }
        if (low >= high && missing == 0) || missing == rows.len() {
            return;
        }
        #[expect(clippy::cast_possible_truncation, reason = "a threshold is one of the column's kind")]
        let threshold = if low < high {
            let drawn = (f64::from(low) + self.random.unit() * (f64::from(high) - f64::from(low))) as f32;
            if drawn >= low && drawn < high { drawn } else { low }
        } else {
            low
        };
        // Where all values are the same, the missing ones are parted from them.
        let goes_left = missing > 0 && low < high && self.random.below(2) == 0;
        sides.left.fill(0.0);
        sides.right.fill(0.0);
        let mut lefts = 0;
        for &row in rows {
            let value = values[row as usize];
            let left = (value <= threshold) | (value.is_nan() & goes_left);
            let weight = f64::from(self.weights[row as usize]);
            let left_weight = if left { weight } else { 0.0 };
            let class = self.labels[row as usize] as usize;
            sides.left[class] += left_weight;
            sides.right[class] += weight - left_weight;
            lefts += usize::from(left);
        }
        let least = self.options.min_leaf_rows.max(1);
        if lefts < least || rows.len() - lefts < least {
            return;
        }
        sides.left_weight = sides.left.iter().sum();
        sides.right_weight = sides.right.iter().sum();
        sides.left_squares = sides.left.iter().map(|weight| weight * weight).sum();
        sides.right_squares = sides.right.iter().map(|weight| weight * weight).sum();
        let score = sides.score();
        if best.is_none_or(|best| score > best.score) {
            let missing_left = if missing > 0 { goes_left } else { 2 * lefts > rows.len() };
            *best = Some(Split { score, column, threshold, missing_left });
        }
    }

    /// Moves the rows that go left to the front and gives where the others begin.
    fn part(&mut self, span: &Range<usize>, split: &Split) -> usize {
        let values = &self.columns.values[split.column];
        let rows = &mut self.rows[span.clone()];
        self.moved.clear();
        self.moved.resize(rows.len(), 0);
        let (mut lefts, mut rights) = (0, 0);
        for index in 0..rows.len() {
            let row = rows[index];
            let value = values[row as usize];
            let left = (value <= split.threshold) | (value.is_nan() & split.missing_left);
            rows[lefts] = row;
            self.moved[rights] = row;
            lefts += usize::from(left);
            rights += usize::from(!left);
        }
        rows[lefts..].copy_from_slice(&self.moved[..rights]);
        span.start + lefts
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the low half is the row")]
fn row_of(key: u64) -> usize {
    key as u32 as usize
}
