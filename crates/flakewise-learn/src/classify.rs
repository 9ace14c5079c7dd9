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
        let mut values: Vec<Vec<f32>> = (0..table.columns()).map(column).collect();
        let rank = |values: &mut Vec<f32>| {
            let mut different: Vec<f32> = values.iter().copied().filter(|value| !value.is_nan()).collect();
            different.sort_unstable_by(f32::total_cmp);
            different.dedup_by(|next, kept| *next <= *kept + SAME);
            let rank = |value: &mut f32| {
                if value.is_nan() {
                    return MISSING;
                }
                let rank = different.partition_point(|&other| other <= *value) - 1;
                *value = different[rank];
                rank as u32
            };
            values.iter_mut().map(rank).collect()
        };
        let ranks = if splits == Splits::Best { values.iter_mut().map(rank).collect() } else { Vec::new() };
        Self { values, ranks }
    }
}

/// Values that are nearer to each other than this are the same, as in
/// scikit-learn: what is left of rounding must not part rows.
const SAME: f32 = 1e-7;

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
    /// For each column the last span in which all its values were the same. A
    /// node's descendants come before all others, so one is enough.
    constant: Vec<Range<usize>>,
    members: Members,
    /// Whether rows of two classes can be counted instead of weighed, which is
    /// quicker and comes to the same.
    counts: bool,
    /// One column of the node at hand: values, or ranks with places.
    gathered: Vec<f32>,
    keys: Vec<u64>,
    moved: Vec<u32>,
    nodes: Vec<Node>,
    covers: Vec<f32>,
    values: Vec<f32>,
}

/// The class and the weight of each row of the node at hand. There are no
/// weights where rows are counted.
#[derive(Default)]
struct Members {
    classes: Vec<u32>,
    weights: Vec<f32>,
}

/// A node that may be split.
struct Open {
    node: usize,
    span: Range<usize>,
    depth: usize,
}

#[derive(Clone, Copy, Debug)]
struct Split {
    score: f64,
    column: usize,
    threshold: f32,
    missing_left: bool,
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
        let counts = options.splits == Splits::Random
            && outputs <= 2
            && weights.iter().all(|weight| weight.to_bits() == 1.0_f32.to_bits());
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
            constant: vec![0..0; columns.values.len()],
            members: Members::default(),
            counts,
            gathered: Vec::new(),
            keys: Vec::new(),
            moved: Vec::new(),
            nodes: Vec::new(),
            covers: Vec::new(),
            values: Vec::new(),
        }
    }

    pub(crate) fn grow(mut self) -> Tree {
        let mut open = vec![self.add_node(0..self.rows.len(), 0)];
        while let Some(parent) = open.pop() {
            let classes = self.visit(&parent);
            let pure = classes.iter().filter(|&&weight| weight > 0.0).count() < 2;
            let deep = self.options.max_depth.is_some_and(|most| parent.depth >= most);
            if pure || deep || parent.span.len() < 2 * self.least() {
                continue;
            }
            let split = match <[f64; 2]>::try_from(classes.as_slice()) {
                Ok(classes) => self.choose(&parent.span, &Two::new(classes)),
                Err(_) => self.choose(&parent.span, &Many::new(&classes)),
            };
            let Some(split) = split else { continue };
            let middle = self.part(&parent.span, &split);
            let left = self.add_node(parent.span.start..middle, parent.depth + 1);
            let right = self.add_node(middle..parent.span.end, parent.depth + 1);
            self.nodes[parent.node] = Node {
                feature: u32::try_from(split.column).expect("columns are counted in 32 bits"),
                threshold: split.threshold,
                left: u32::try_from(left.node).expect("a tree has fewer nodes than twice the rows"),
                missing_left: split.missing_left,
            };
            open.extend([right, left]);
        }
        Tree::from_nodes(self.columns.values.len(), self.nodes, self.covers, self.values)
            .expect("children follow their parents")
    }

    fn add_node(&mut self, span: Range<usize>, depth: usize) -> Open {
        self.nodes.push(Node::LEAF);
        self.covers.push(0.0);
        self.values.resize(self.nodes.len() * self.outputs, 0.0);
        Open { node: self.nodes.len() - 1, span, depth }
    }

    /// Collects the rows of a node, notes what they say, and gives the weight
    /// of each class.
    #[expect(clippy::cast_possible_truncation, reason = "shares and covers do not need more")]
    fn visit(&mut self, open: &Open) -> Vec<f64> {
        let rows = &self.rows[open.span.clone()];
        self.members.classes.clear();
        self.members.classes.extend(rows.iter().map(|&row| self.labels[row as usize]));
        self.members.weights.clear();
        if !self.counts {
            self.members.weights.extend(rows.iter().map(|&row| self.weights[row as usize]));
        }
        let mut classes = vec![0.0; self.outputs.max(2)];
        if let [first, second] = &mut classes[..] {
            let (all, part) = if self.counts {
                (rows.len() as f64, f64::from(self.members.classes.iter().sum::<u32>()))
            } else {
                sum(&self.members.weights, &self.members.classes)
            };
            // Exactly nothing is left of the first class where there is none of it.
            let pure = self.members.classes.iter().all(|&class| class == 1);
            (*first, *second) = (if pure { 0.0 } else { all - part }, part);
        } else {
            for (&class, &weight) in self.members.classes.iter().zip(&self.members.weights) {
                classes[class as usize] += f64::from(weight);
            }
        }
        let total: f64 = classes.iter().sum();
        let shares = classes.iter().map(|weight| if total > 0.0 { (weight / total) as f32 } else { 0.0 });
        let values = &mut self.values[open.node * self.outputs..][..self.outputs];
        values
            .iter_mut()
            .zip(shares.skip(usize::from(self.outputs == 1)))
            .for_each(|(value, share)| *value = share);
        self.covers[open.node] = total as f32;
        classes
    }

    /// The fewest rows of a leaf.
    fn least(&self) -> usize {
        self.options.min_leaf_rows.max(1)
    }

    /// The best split of some columns drawn at random. More are drawn as long
    /// as none of them can be split.
    fn choose<S: Side>(&mut self, span: &Range<usize>, empty: &S) -> Option<Split> {
        let mut best = None;
        for drawn in 0..self.order.len() {
            if drawn >= self.tried && best.is_some() {
                break;
            }
            let other = drawn + self.random.below(self.order.len() - drawn);
            self.order.swap(drawn, other);
            let column = self.order[drawn] as usize;
            let constant = &self.constant[column];
            if constant.start <= span.start && span.end <= constant.end {
                continue;
            }
            match self.options.splits {
                Splits::Best => self.best_split(span, column, empty, &mut best),
                Splits::Random => self.random_split(span, column, empty, &mut best),
            }
        }
        best
    }

    fn best_split<S: Side>(
        &mut self,
        span: &Range<usize>,
        column: usize,
        empty: &S,
        best: &mut Option<Split>,
    ) {
        let ranks = &self.columns.ranks[column];
        self.keys.clear();
        let rows = self.rows[span.clone()].iter().zip(0_u64..);
        self.keys.extend(rows.map(|(&row, place)| (u64::from(ranks[row as usize]) << 32) | place));
        let first = self.keys[0] >> 32;
        if self.keys.iter().all(|key| key >> 32 == first) {
            self.constant[column] = span.clone();
            return;
        }
        self.keys.sort_unstable();
        let present = self.keys.partition_point(|key| key >> 32 < u64::from(MISSING));
        let missing = self.keys.len() - present;
        self.scan(span, column, present, (missing > 0).then_some(false), empty.clone(), best);
        if missing > 0 {
            let mut side = empty.clone();
            for &key in &self.keys[present..] {
                side.add(self.members.classes[place_of(key)], self.members.weights[place_of(key)]);
            }
            self.scan(span, column, present, Some(true), side, best);
        }
    }

    /// Tries every place between two different values. `side` has what is on
    /// the left anyway. Where no value is missing, later ones go where most go.
    fn scan<S: Side>(
        &self,
        span: &Range<usize>,
        column: usize,
        present: usize,
        missing_left: Option<bool>,
        mut side: S,
        best: &mut Option<Split>,
    ) {
        let all = self.keys.len();
        let already = if missing_left == Some(true) { all - present } else { 0 };
        for index in 0..present {
            let key = self.keys[index];
            side.add(self.members.classes[place_of(key)], self.members.weights[place_of(key)]);
            let left = already + index + 1;
            let next = self.keys[..present].get(index + 1).copied();
            let same = next.is_some_and(|next| next >> 32 == key >> 32);
            if same || left < self.least() || all - left < self.least() {
                continue;
            }
            let score = side.score();
            if score > best.map_or(f64::NEG_INFINITY, |best| best.score) {
                let value = |key| self.columns.values[column][self.rows[span.start + place_of(key)] as usize];
                let threshold = next.map_or(f32::INFINITY, |next| between(value(key), value(next)));
                let missing_left = missing_left.unwrap_or(2 * left > all);
                *best = Some(Split { score, column, threshold, missing_left });
            }
        }
    }

    fn random_split<S: Side>(
        &mut self,
        span: &Range<usize>,
        column: usize,
        empty: &S,
        best: &mut Option<Split>,
    ) {
        let values = &self.columns.values[column];
        self.gathered.clear();
        self.gathered.extend(self.rows[span.clone()].iter().map(|&row| values[row as usize]));
        let (low, high, missing) = range(&self.gathered);
        // Nothing can be parted where nothing but missing values is left, nor
        // where all values are the same and none is missing.
        if low > high || (low + SAME >= high && !missing) {
            self.constant[column] = span.clone();
            return;
        }
        #[expect(clippy::cast_possible_truncation, reason = "a threshold is one of the column's kind")]
        let drawn = (f64::from(low) + self.random.unit() * (f64::from(high) - f64::from(low))) as f32;
        let threshold = if drawn >= low && drawn < high { drawn } else { low };
        // Where all values are the same, the missing ones are parted from them.
        let goes_left = missing && low < high && self.random.below(2) == 0;
        let mut side = empty.clone();
        let left = if goes_left {
            side.add_left(&self.gathered, &self.members, |value| (value <= threshold) | value.is_nan())
        } else {
            side.add_left(&self.gathered, &self.members, |value| value <= threshold)
        };
        let all = self.gathered.len();
        if left < self.least() || all - left < self.least() {
            return;
        }
        let score = side.score();
        if score > best.map_or(f64::NEG_INFINITY, |best| best.score) {
            let missing_left = if missing { goes_left } else { 2 * left > all };
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

#[expect(clippy::cast_possible_truncation, reason = "the low half is the place")]
fn place_of(key: u64) -> usize {
    key as u32 as usize
}

/// Values that are worked on at a time, which the compiler turns into wide
/// instructions.
const WIDTH: usize = 4;

/// The least and the greatest value, and whether any is missing.
fn range(values: &[f32]) -> (f32, f32, bool) {
    let mut lows = [f32::INFINITY; WIDTH];
    let mut highs = [f32::NEG_INFINITY; WIDTH];
    let mut missing = [false; WIDTH];
    let (chunks, rest) = values.as_chunks::<WIDTH>();
    let mut add = |lane: usize, value: f32| {
        lows[lane] = if value < lows[lane] { value } else { lows[lane] };
        highs[lane] = if value > highs[lane] { value } else { highs[lane] };
        missing[lane] |= value.is_nan();
    };
    for chunk in chunks {
        (0..WIDTH).for_each(|lane| add(lane, chunk[lane]));
    }
    rest.iter().enumerate().for_each(|(lane, &value)| add(lane, value));
    let low = lows.into_iter().fold(f32::INFINITY, f32::min);
    (low, highs.into_iter().fold(f32::NEG_INFINITY, f32::max), missing.contains(&true))
}

/// The weight of all rows, and that of the second of two classes.
fn sum(weights: &[f32], classes: &[u32]) -> (f64, f64) {
    let mut sums = Sums::default();
    let (weight_chunks, weight_rest) = weights.as_chunks::<WIDTH>();
    let (class_chunks, class_rest) = classes.as_chunks::<WIDTH>();
    for (weights, classes) in weight_chunks.iter().zip(class_chunks) {
        (0..WIDTH).for_each(|lane| sums.add(lane, weights[lane], classes[lane], 1));
    }
    weight_rest
        .iter()
        .zip(class_rest)
        .enumerate()
        .for_each(|(lane, (&weight, &class))| sums.add(lane, weight, class, 1));
    sums.total()
}

/// How many rows go left, and how many of those are of the second of two classes.
fn count(values: &[f32], classes: &[u32], goes: impl Fn(f32) -> bool) -> (u32, u32) {
    values.iter().zip(classes).fold((0, 0), |(all, second), (&value, &class)| {
        let goes = u32::from(goes(value));
        (all + goes, second + (goes & class))
    })
}

/// Sums of weights: of all rows, and of those of the second of two classes.
#[derive(Default)]
struct Sums {
    all: [f64; WIDTH],
    second: [f64; WIDTH],
}

impl Sums {
    /// Adds a row to a lane if `counts` is one, and nothing if it is zero. Bits
    /// are masked, because a branch here is a coin toss.
    fn add(&mut self, lane: usize, weight: f32, class: u32, counts: u32) {
        let bits = weight.to_bits() & counts.wrapping_neg();
        self.all[lane] += f64::from(f32::from_bits(bits));
        self.second[lane] += f64::from(f32::from_bits(bits & class.wrapping_neg()));
    }

    fn total(&self) -> (f64, f64) {
        (self.all.iter().sum(), self.second.iter().sum())
    }
}

/// The rows on the left side of a split.
trait Side: Clone {
    /// Puts a row there.
    fn add(&mut self, class: u32, weight: f32);

    /// Puts there the rows whose values go left, and gives their number.
    fn add_left(&mut self, values: &[f32], members: &Members, goes: impl Fn(f32) -> bool) -> usize {
        let mut left = 0;
        for ((&value, &class), &weight) in values.iter().zip(&members.classes).zip(&members.weights) {
            if goes(value) {
                self.add(class, weight);
                left += 1;
            }
        }
        left
    }

    /// How pure both sides are: Gini's impurity without the parts that are the
    /// same for every split. Greater is purer.
    fn score(&self) -> f64;
}

/// Two classes: their weights stay in registers.
#[derive(Clone)]
struct Two {
    classes: [f64; 2],
    left: f64,
    left_second: f64,
}

impl Two {
    fn new(classes: [f64; 2]) -> Self {
        Self { classes, left: 0.0, left_second: 0.0 }
    }
}

impl Side for Two {
    fn add(&mut self, class: u32, weight: f32) {
        let weight = f64::from(weight);
        self.left += weight;
        self.left_second += if class == 1 { weight } else { 0.0 };
    }

    fn add_left(&mut self, values: &[f32], members: &Members, goes: impl Fn(f32) -> bool) -> usize {
        if members.weights.is_empty() {
            let (all, second) = count(values, &members.classes, goes);
            self.left += f64::from(all);
            self.left_second += f64::from(second);
            return all as usize;
        }
        let mut sums = Sums::default();
        let mut lefts = [0_u32; WIDTH];
        let mut add = |lane: usize, value: f32, weight: f32, class: u32| {
            let goes = u32::from(goes(value));
            sums.add(lane, weight, class, goes);
            lefts[lane] += goes;
        };
        let (value_chunks, value_rest) = values.as_chunks::<WIDTH>();
        let (weight_chunks, weight_rest) = members.weights.as_chunks::<WIDTH>();
        let (class_chunks, class_rest) = members.classes.as_chunks::<WIDTH>();
        for ((values, weights), classes) in value_chunks.iter().zip(weight_chunks).zip(class_chunks) {
            (0..WIDTH).for_each(|lane| add(lane, values[lane], weights[lane], classes[lane]));
        }
        for (lane, &value) in value_rest.iter().enumerate() {
            add(lane, value, weight_rest[lane], class_rest[lane]);
        }
        let (all, second) = sums.total();
        self.left += all;
        self.left_second += second;
        lefts.iter().sum::<u32>() as usize
    }

    fn score(&self) -> f64 {
        let purity = |second: f64, all: f64| (second * second + (all - second) * (all - second)) / all;
        let [first, second] = self.classes;
        purity(self.left_second, self.left) + purity(second - self.left_second, first + second - self.left)
    }
}

/// Any number of classes.
#[derive(Clone)]
struct Many<'a> {
    classes: &'a [f64],
    left: Vec<f64>,
}

impl<'a> Many<'a> {
    fn new(classes: &'a [f64]) -> Self {
        Self { classes, left: vec![0.0; classes.len()] }
    }
}

impl Side for Many<'_> {
    fn add(&mut self, class: u32, weight: f32) {
        self.left[class as usize] += f64::from(weight);
    }

    fn score(&self) -> f64 {
        let (mut left, mut right, mut left_squares, mut right_squares) = (0.0, 0.0, 0.0, 0.0);
        for (class, part) in self.classes.iter().zip(&self.left) {
            let rest = class - part;
            left += part;
            right += rest;
            left_squares += part * part;
            right_squares += rest * rest;
        }
        left_squares / left + right_squares / right
    }
}
