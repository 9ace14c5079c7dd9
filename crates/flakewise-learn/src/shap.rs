//! What each column adds to what trees say of a row: exact Shapley values.
//!
//! A column's value is what it changes when it becomes known, averaged over all
//! orders in which columns can become known. Where a tree asks for a column
//! that is not known, both ways are taken, weighted by the rows that went there
//! while learning. This is the path-dependent algorithm of Lundberg et al.,
//! *Consistent Individualized Feature Attribution for Tree Ensembles*.

use crate::tree::Tree;

/// Why trees say what they say of a row, in parts that add up to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// What is said without looking at the row.
    pub base: f64,
    /// What each column adds to that.
    pub values: Vec<f64>,
}

impl Explanation {
    pub(crate) fn new(base: f64, columns: usize) -> Self {
        Self { base, values: vec![0.0; columns] }
    }

    pub(crate) fn scale(&mut self, factor: f64) {
        self.base *= factor;
        for value in &mut self.values {
            *value *= factor;
        }
    }

    /// What is said of the row.
    pub fn total(&self) -> f64 {
        self.base + self.values.iter().sum::<f64>()
    }
}

/// Adds what a tree says of a row to one explanation for each of its numbers.
pub(crate) fn add_tree(tree: &Tree, row: &[f32], explanations: &mut [Explanation]) {
    // A chain of nodes may be long, so places to continue from are kept in a list.
    let mut open = vec![Open { node: 0, path: 0..0, share: 1.0, step: None }];
    let mut elements: Vec<Element> = Vec::new();
    while let Some(Open { node, path, share, step }) = open.pop() {
        let start = path.end;
        elements.truncate(start);
        elements.extend_from_within(path);
        extend(&mut elements, start, step.unwrap_or(Element::ROOT));
        let here = tree.nodes()[node];
        if here.is_leaf() {
            add_leaf(&elements[start..], share, tree.value_of(node), explanations);
            continue;
        }
        let column = here.feature as usize;
        let before = elements[start + 1..].iter().position(|element| element.column == column);
        let (mut unknown, mut known) = (1.0, 1.0);
        if let Some(place) = before {
            let element = unwind(&mut elements, start, place + 1);
            (unknown, known) = (element.unknown, element.known);
        }
        let taken = here.child(row[column]);
        let cover = |node: usize| f64::from(tree.covers()[node]);
        for child in [here.left as usize, here.left as usize + 1] {
            let part = if cover(node) > 0.0 { cover(child) / cover(node) } else { 0.0 };
            let known = if child == taken { known } else { 0.0 };
            // Where nobody comes, whatever is known, nothing is added.
            if unknown * part > 0.0 || known > 0.0 {
                let step = Element { column, unknown: unknown * part, known, weight: 0.0 };
                open.push(Open {
                    node: child,
                    path: start..elements.len(),
                    share: share * part,
                    step: Some(step),
                });
            }
        }
    }
}

/// A node to continue from.
struct Open {
    node: usize,
    /// The path to its parent.
    path: std::ops::Range<usize>,
    /// The share of all rows that came here.
    share: f64,
    /// The step from the parent; the root has none.
    step: Option<Element>,
}

/// A column on the way to a node.
#[derive(Clone, Copy, Debug)]
struct Element {
    column: usize,
    /// The share of rows that go this way when the column is not known.
    unknown: f64,
    /// One if the row at hand goes this way, else zero.
    known: f64,
    /// The weight of all sets of as many known columns as stand before this one.
    weight: f64,
}

impl Element {
    /// What stands before all columns.
    const ROOT: Self = Self { column: usize::MAX, unknown: 1.0, known: 1.0, weight: 1.0 };
}

fn add_leaf(path: &[Element], share: f64, values: &[f32], explanations: &mut [Explanation]) {
    for (explanation, &value) in explanations.iter_mut().zip(values) {
        explanation.base += share * f64::from(value);
    }
    // Most leaves of a forest are of one class alone.
    if values.iter().all(|&value| value == 0.0) {
        return;
    }
    for (place, element) in path.iter().enumerate().skip(1) {
        let change = unwound_weight(path, place) * (element.known - element.unknown);
        for (explanation, &value) in explanations.iter_mut().zip(values) {
            explanation.values[element.column] += change * f64::from(value);
        }
    }
}

/// Lengthens the path that begins at `start` by one column.
fn extend(elements: &mut Vec<Element>, start: usize, step: Element) {
    let last = elements.len() - start;
    elements.push(step);
    let path = &mut elements[start..];
    let size = (last + 1) as f64;
    for place in (0..last).rev() {
        path[place + 1].weight += step.known * path[place].weight * (place + 1) as f64 / size;
        path[place].weight *= step.unknown * (last - place) as f64 / size;
    }
}

/// Takes a column out of the path that begins at `start`, as if it had never
/// been there.
fn unwind(elements: &mut Vec<Element>, start: usize, place: usize) -> Element {
    let path = &mut elements[start..];
    let last = path.len() - 1;
    let removed = path[place];
    let size = (last + 1) as f64;
    let mut next = path[last].weight;
    for place in (0..last).rev() {
        if removed.known > 0.0 {
            let weight = path[place].weight;
            path[place].weight = next * size / ((place + 1) as f64 * removed.known);
            next = weight - path[place].weight * removed.unknown * (last - place) as f64 / size;
        } else {
            path[place].weight *= size / (removed.unknown * (last - place) as f64);
        }
    }
    // Columns move up, weights stay: they belong to sizes of sets.
    for place in place..last {
        path[place] = Element { weight: path[place].weight, ..path[place + 1] };
    }
    elements.pop();
    removed
}

/// The sum of the weights that [`unwind`] would leave.
fn unwound_weight(path: &[Element], place: usize) -> f64 {
    let last = path.len() - 1;
    let removed = path[place];
    let size = (last + 1) as f64;
    let mut next = path[last].weight;
    let mut total = 0.0;
    for place in (0..last).rev() {
        if removed.known > 0.0 {
            let weight = next * size / ((place + 1) as f64 * removed.known);
            total += weight;
            next = path[place].weight - weight * removed.unknown * (last - place) as f64 / size;
        } else {
            total += path[place].weight * size / (removed.unknown * (last - place) as f64);
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::random::Random;
    use crate::{Booster, BoostingOptions, DenseMatrix, Forest, ForestOptions, Node};

    /// What a tree says when only some columns are known, by the definition.
    fn expected(tree: &Tree, row: &[f32], known: usize, node: usize) -> f64 {
        let here = tree.nodes()[node];
        if here.is_leaf() {
            return f64::from(tree.values()[node]);
        }
        if known >> here.feature & 1 == 1 {
            return expected(tree, row, known, here.child(row[here.feature as usize]));
        }
        let children = [here.left as usize, here.left as usize + 1];
        let part = |child: usize| f64::from(tree.covers()[child]) / f64::from(tree.covers()[node]);
        children.iter().map(|&child| part(child) * expected(tree, row, known, child)).sum()
    }

    /// Shapley's values over all sets of columns.
    fn brute_force(tree: &Tree, row: &[f32]) -> Vec<f64> {
        let columns = row.len();
        let factorial = |number: usize| (1..=number).product::<usize>() as f64;
        let value = |column: usize| {
            let without = (0..1_usize << columns).filter(|known| known >> column & 1 == 0);
            without
                .map(|known| {
                    let size = known.count_ones() as usize;
                    let weight = factorial(size) * factorial(columns - size - 1) / factorial(columns);
                    weight * (expected(tree, row, known | 1 << column, 0) - expected(tree, row, known, 0))
                })
                .sum()
        };
        (0..columns).map(value).collect()
    }

    fn example(rows: usize, columns: usize, seed: u64) -> (DenseMatrix, Vec<bool>) {
        let mut random = Random::new(seed, 0);
        let mut table = DenseMatrix::new(columns);
        let mut labels = Vec::new();
        for _ in 0..rows {
            // Some values are missing.
            let row: Vec<f32> = (0..columns)
                .map(|_| random.below(12))
                .map(|value| {
                    if value == 11 { f32::NAN } else { f32::from(u8::try_from(value).expect("it is small")) }
                })
                .collect();
            labels.push(row[0] + row[1] > 9.0 || random.below(10) == 0);
            table.push(&row);
        }
        (table, labels)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn values_are_those_of_all_subsets(seed: u64, columns in 2_usize..6, random: bool, asked in 0_usize..60) {
            let (table, labels) = example(60, columns, seed);
            let options = if random { ForestOptions::extra_trees() } else { ForestOptions::random_forest() };
            let forest = Forest::fit(&table, &labels, None, &ForestOptions { trees: 2, seed, ..options });
            let row = table.row(asked);
            let said = &forest.explain(row)[0];
            let trees: Vec<Vec<f64>> = forest.trees().iter().map(|tree| brute_force(tree, row)).collect();
            for (column, value) in said.values.iter().enumerate() {
                let right = trees.iter().map(|tree| tree[column]).sum::<f64>() / 2.0;
                prop_assert!((value - right).abs() < 1e-9, "{value} is not {right}");
            }
            let base = forest.trees().iter().map(|tree| expected(tree, row, 0, 0)).sum::<f64>() / 2.0;
            prop_assert!((said.base - base).abs() < 1e-9);
        }

        #[test]
        fn parts_add_up_to_the_prediction(seed: u64, asked in 0_usize..300) {
            let (table, labels) = example(300, 12, seed);
            let row = table.row(asked);
            let forest = Forest::fit(&table, &labels, None, &ForestOptions { trees: 20, seed, ..ForestOptions::extra_trees() });
            let mean = forest.trees().iter().map(|tree| f64::from(tree.value(row)[0])).sum::<f64>() / 20.0;
            prop_assert!((forest.explain(row)[0].total() - mean).abs() < 1e-9);

            let classes: Vec<u32> = labels.iter().zip(0..).map(|(&label, row)| if label { row % 2 } else { 2 }).collect();
            let forest = Forest::fit_classes(&table, &classes, 3, None, &ForestOptions { trees: 5, ..ForestOptions::random_forest() });
            let booster = Booster::fit_classes(&table, &classes, 3, None, &BoostingOptions { rounds: 5, ..BoostingOptions::default() });
            for (explained, said) in [(forest.explain(row), forest.probabilities(row)), (booster.explain(row), booster.scores(row))] {
                prop_assert_eq!(explained.len(), 3);
                for (explained, said) in explained.iter().zip(said) {
                    prop_assert!((explained.total() - f64::from(said)).abs() < 1e-5);
                }
            }
        }
    }

    #[test]
    fn a_long_chain_and_nodes_without_rows_are_explained() {
        let length = 20_000_u32;
        // Every step leads to the next one by its right child.
        let step =
            |step: u32| Node { feature: step % 3, threshold: 0.5, left: 2 * step + 1, missing_left: true };
        let mut chain = vec![step(0)];
        for number in 1..length {
            chain.extend([Node::LEAF, step(number)]);
        }
        chain.extend([Node::LEAF, Node::LEAF]);
        let covers = (0..chain.len()).map(|node| if node < 3 { 1.0 } else { 0.0 }).collect();
        let values = (0..chain.len()).map(|node| if node + 1 == chain.len() { 1.0 } else { 0.0 }).collect();
        let tree = Tree::from_nodes(3, chain, covers, values).expect("this is a tree");
        let mut explanations = [Explanation::new(0.0, 3)];
        add_tree(&tree, &[1.0, 1.0, 1.0], &mut explanations);
        assert!((explanations[0].total() - 1.0).abs() < 1e-9, "{explanations:?}");
    }
}
