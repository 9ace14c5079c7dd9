//! Grows one tree of a booster: the leaf whose split gains most is split next.

use std::ops::Range;

use crate::bins::{BinnedColumn, Bins};
use crate::boosting::BoostingOptions;
use crate::histogram::{Histogram, Layout, Place, Scale, Sums};
use crate::tree::{Node, Tree};

/// A leaf needs this much of the second derivative, as in `LightGBM`.
const MIN_HESSIAN: f64 = 1e-3;

/// Gains below this are rounding.
const MIN_GAIN: f64 = 1e-10;

/// What a tree is grown from, and memory that is used again for the next one.
pub(crate) struct Grower<'a> {
    columns: &'a [BinnedColumn],
    options: &'a BoostingOptions,
    spare: Vec<Histogram>,
    /// The bins of one sparse column for all rows, while it is split.
    marks: Vec<u8>,
    moved: Vec<u32>,
    ordered: Vec<Sums>,
}

/// Rows of the table, those of one leaf next to each other. Those that were not
/// drawn for this tree go the same ways, and count for nothing.
#[derive(Clone)]
pub(crate) struct Sample {
    pub(crate) drawn: Vec<u32>,
    pub(crate) others: Vec<u32>,
}

/// A tree that has just been grown, with the rows of each leaf.
pub(crate) struct Grown {
    pub(crate) tree: Tree,
    leaves: Vec<Leaf>,
}

struct Leaf {
    node: usize,
    drawn: Range<usize>,
    others: Range<usize>,
    sums: Sums,
    histogram: Histogram,
    best: Option<Split>,
}

#[derive(Clone, Copy, Debug)]
struct Split {
    gain: f64,
    column: usize,
    bin: usize,
    missing_left: bool,
    left: Sums,
}

impl<'a> Grower<'a> {
    pub(crate) fn new(columns: &'a [BinnedColumn], options: &'a BoostingOptions, rows: usize) -> Self {
        let (spare, moved, ordered) = (Vec::new(), Vec::new(), Vec::new());
        Self { columns, options, spare, marks: vec![0; rows], moved, ordered }
    }

    /// Grows a tree. `derivatives` has those of every row of the table.
    pub(crate) fn grow(
        &mut self,
        layout: &Layout,
        sample: &mut Sample,
        scale: &Scale,
        derivatives: &[Sums],
        width: usize,
    ) -> Grown {
        let mut nodes = vec![Node::LEAF];
        let mut sums = Sums::default();
        sample.drawn.iter().for_each(|&row| sums += derivatives[row as usize]);
        let (mut covers, mut values) = (vec![cover(sums)], vec![self.value(sums, scale)]);
        let mut histogram = self.spare.pop().unwrap_or_default();
        self.sum(layout, &sample.drawn, derivatives, &mut histogram);
        let mut root = Leaf {
            node: 0,
            drawn: 0..sample.drawn.len(),
            others: 0..sample.others.len(),
            sums,
            histogram,
            best: None,
        };
        root.best = self.best_split(layout, &root, scale);
        let mut leaves = vec![root];
        while leaves.len() < self.options.leaves {
            let Some((index, split)) = next_split(&leaves) else { break };
            let parent = leaves.swap_remove(index);
            let column = &self.columns[split.column];
            let left = u32::try_from(nodes.len()).expect("a tree has few leaves");
            nodes[parent.node] = Node {
                feature: u32::try_from(split.column).expect("columns are counted in 32 bits"),
                threshold: column.threshold(split.bin),
                left,
                missing_left: split.missing_left,
            };
            let drawn = self.part(&mut sample.drawn, &parent.drawn, &split);
            let others = self.part(&mut sample.others, &parent.others, &split);
            let mut child = |drawn, others, sums| {
                nodes.push(Node::LEAF);
                covers.push(cover(sums));
                values.push(self.value(sums, scale));
                Leaf {
                    node: nodes.len() - 1,
                    drawn,
                    others,
                    sums,
                    histogram: Histogram::default(),
                    best: None,
                }
            };
            let mut pair = [
                child(parent.drawn.start..drawn, parent.others.start..others, split.left),
                child(drawn..parent.drawn.end, others..parent.others.end, parent.sums - split.left),
            ];
            // The last split of a tree needs no histograms.
            if leaves.len() + 2 < self.options.leaves {
                let small = usize::from(pair[1].drawn.len() < pair[0].drawn.len());
                let mut summed = self.spare.pop().unwrap_or_default();
                self.sum(layout, &sample.drawn[pair[small].drawn.clone()], derivatives, &mut summed);
                let mut rest = parent.histogram;
                rest.subtract(&summed);
                pair[small].histogram = summed;
                pair[1 - small].histogram = rest;
                for child in &mut pair {
                    child.best = self.best_split(layout, child, scale);
                }
            } else {
                self.spare.push(parent.histogram);
            }
            leaves.extend(pair);
        }
        for leaf in &mut leaves {
            self.spare.push(std::mem::take(&mut leaf.histogram));
        }
        // A tree that splits nothing would only say which rows were drawn.
        if nodes.len() == 1 {
            values[0] = 0.0;
        }
        let tree = Tree::from_nodes(width, nodes, covers, values).expect("children follow their parents");
        Grown { tree, leaves }
    }

    fn sum(&mut self, layout: &Layout, rows: &[u32], derivatives: &[Sums], histogram: &mut Histogram) {
        self.ordered.clear();
        self.ordered.extend(rows.iter().map(|&row| derivatives[row as usize]));
        layout.sum(rows, &self.ordered, histogram);
    }

    fn value(&self, sums: Sums, scale: &Scale) -> f32 {
        let hessian = sums.hessian(scale) + self.options.lambda;
        let step = if hessian > 0.0 { -sums.gradient(scale) / hessian } else { 0.0 };
        #[expect(clippy::cast_possible_truncation, reason = "a leaf's value does not need more")]
        let value = (self.options.learning_rate * step) as f32;
        if value.is_finite() { value } else { 0.0 }
    }

    fn best_split(&self, layout: &Layout, leaf: &Leaf, scale: &Scale) -> Option<Split> {
        let rows = i64::try_from(leaf.drawn.len()).expect("rows are counted in few bits");
        let least = i64::try_from(self.options.min_leaf_rows.max(1)).expect("rows are counted in few bits");
        if rows < 2 * least {
            return None;
        }
        let mut search = Search {
            total: leaf.sums,
            gradient: leaf.sums.gradient(scale),
            hessian: leaf.sums.hessian(scale),
            scale: *scale,
            lambda: self.options.lambda,
            least,
            best: (leaf.sums.gradient(scale).powi(2), leaf.sums.hessian(scale) + self.options.lambda),
            split: None,
        };
        let parent = search.best.0 / search.best.1;
        search.best.0 += MIN_GAIN * search.best.1;
        for place in &layout.places {
            search.column(place, &self.columns[place.column], &leaf.histogram);
        }
        let gain = search.best.0 / search.best.1 - parent;
        search.split.map(|split| Split { gain, ..split })
    }

    /// Moves the rows that go left to the front, each side in its old order,
    /// and gives where the right ones begin.
    fn part(&mut self, rows: &mut [u32], span: &Range<usize>, split: &Split) -> usize {
        let column = &self.columns[split.column];
        let mut left = [false; 256];
        left[..=split.bin].fill(true);
        if column.has_missing() {
            left[column.value_bins()] = split.missing_left;
        }
        let bins = match &column.bins {
            Bins::Dense(bins) => bins,
            Bins::Sparse { default, entries } => {
                self.marks.fill(*default);
                for &(row, bin) in entries {
                    self.marks[row as usize] = bin;
                }
                &self.marks
            }
        };
        let rows = &mut rows[span.clone()];
        self.moved.clear();
        self.moved.resize(rows.len(), 0);
        let (mut lefts, mut rights) = (0, 0);
        for index in 0..rows.len() {
            let row = rows[index];
            let goes_left = left[usize::from(bins[row as usize])];
            rows[lefts] = row;
            self.moved[rights] = row;
            lefts += usize::from(goes_left);
            rights += usize::from(!goes_left);
        }
        rows[lefts..].copy_from_slice(&self.moved[..rights]);
        span.start + lefts
    }
}

impl Grown {
    /// Adds each row's value to its score.
    pub(crate) fn add_to(&self, sample: &Sample, scores: &mut [f64], stride: usize) {
        for leaf in &self.leaves {
            let value = f64::from(self.tree.values()[leaf.node]);
            let rows = sample.drawn[leaf.drawn.clone()].iter().chain(&sample.others[leaf.others.clone()]);
            rows.for_each(|&row| scores[row as usize * stride] += value);
        }
    }
}

/// Looks for the best place to split a leaf.
struct Search {
    total: Sums,
    gradient: f64,
    hessian: f64,
    scale: Scale,
    lambda: f64,
    least: i64,
    /// The best score so far as a fraction: multiplying is quicker than dividing.
    best: (f64, f64),
    split: Option<Split>,
}

impl Search {
    fn column(&mut self, place: &Place, column: &BinnedColumn, histogram: &Histogram) {
        let bins = histogram.bins(place);
        // Most sparse columns are the same in all rows of a small leaf.
        if place.default.is_some_and(|default| bins[default].count() == self.total.count()) {
            return;
        }
        let (values, missing) = bins.split_at(column.value_bins());
        match missing.first() {
            Some(&missing) if missing.count() > 0 => {
                self.scan(place.column, values, Sums::default(), Some(false));
                self.scan(place.column, values, missing, Some(true));
            }
            _ => self.scan(place.column, values, Sums::default(), None),
        }
    }

    /// Tries every bin as the last of the left side, to which `left` belongs
    /// anyway. Where no value is missing, later ones go where most rows go.
    fn scan(&mut self, column: usize, values: &[Sums], mut left: Sums, missing_left: Option<bool>) {
        let most = self.total.count() - self.least;
        for (bin, &sums) in values.iter().enumerate() {
            if sums.count() == 0 {
                continue;
            }
            left += sums;
            let count = left.count();
            if count < self.least {
                continue;
            }
            if count > most {
                break;
            }
            let (gradient, hessian) = (left.gradient(&self.scale), left.hessian(&self.scale));
            let (other_gradient, other_hessian) = (self.gradient - gradient, self.hessian - hessian);
            if hessian < MIN_HESSIAN || other_hessian < MIN_HESSIAN {
                continue;
            }
            let (hessian, other_hessian) = (hessian + self.lambda, other_hessian + self.lambda);
            let above = gradient * gradient * other_hessian + other_gradient * other_gradient * hessian;
            let below = hessian * other_hessian;
            if above * self.best.1 > self.best.0 * below {
                self.best = (above, below);
                let missing_left = missing_left.unwrap_or(2 * count > self.total.count());
                self.split = Some(Split { gain: 0.0, column, bin, missing_left, left });
            }
        }
    }
}

/// The leaf whose split gains most; of equals the one that came first.
fn next_split(leaves: &[Leaf]) -> Option<(usize, Split)> {
    let splits = leaves.iter().enumerate().filter_map(|(index, leaf)| Some((index, leaf.node, leaf.best?)));
    splits
        .max_by(|a, b| a.2.gain.total_cmp(&b.2.gain).then(b.1.cmp(&a.1)))
        .map(|(index, _, split)| (index, split))
}

#[expect(clippy::cast_possible_truncation, reason = "a cover does not need more")]
fn cover(sums: Sums) -> f32 {
    sums.count() as f64 as f32
}
