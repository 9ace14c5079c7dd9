//! One decision tree as flat arrays, and how rows find their way through it.
//!
//! The two children of a node stand side by side and behind their parent. So a
//! step down is an addition, a walk always ends, and what a model file says can
//! be checked in one pass.

use std::fmt;

use crate::walk::{Block, Walk};

/// One place in a [`Tree`] where rows part, or end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Node {
    /// The column that is looked at.
    pub feature: u32,
    /// Values up to this go to the left.
    pub threshold: f32,
    /// The left child; the right one stands next to it. A leaf has 0.
    pub left: u32,
    /// Whether a missing value goes to the left.
    pub missing_left: bool,
}

impl Node {
    /// A node at which rows end.
    pub const LEAF: Self = Self { feature: 0, threshold: 0.0, left: 0, missing_left: true };

    /// Whether rows end here.
    pub fn is_leaf(&self) -> bool {
        self.left == 0
    }

    /// The child a value goes to. Not to be asked of a leaf.
    pub(crate) fn child(&self, value: f32) -> usize {
        let left = (value <= self.threshold) | (value.is_nan() & self.missing_left);
        self.left as usize + usize::from(!left)
    }
}

/// A decision tree that gives every row one or more numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    nodes: Vec<Node>,
    covers: Vec<f32>,
    values: Vec<f32>,
    walk: Walk,
}

/// Why numbers are not a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeError {
    /// There is no node, or not every node has one cover and equally many values.
    Lengths,
    /// This node's children are missing, before it, or another node's.
    Children(usize),
    /// This node looks at a column that the table does not have.
    Feature(usize),
    /// This node has a threshold, a cover or a value that is not a number.
    Number(usize),
}

impl fmt::Display for TreeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lengths => write!(formatter, "the parts of a tree differ in length"),
            Self::Children(node) => write!(formatter, "node {node} has wrong children"),
            Self::Feature(node) => write!(formatter, "node {node} looks at a column out of range"),
            Self::Number(node) => write!(formatter, "node {node} has something that is not a number"),
        }
    }
}

impl std::error::Error for TreeError {}

impl Tree {
    /// Puts a tree together, for tables with this many columns. `covers` has the
    /// weight of the rows that came to each node; `values` has equally many
    /// numbers for each node, inner ones too.
    pub fn from_nodes(
        columns: usize,
        nodes: Vec<Node>,
        covers: Vec<f32>,
        values: Vec<f32>,
    ) -> Result<Self, TreeError> {
        if nodes.is_empty()
            || covers.len() != nodes.len()
            || values.is_empty()
            || !values.len().is_multiple_of(nodes.len())
        {
            return Err(TreeError::Lengths);
        }
        let outputs = values.len() / nodes.len();
        let mut has_parent = vec![false; nodes.len()];
        for (index, node) in nodes.iter().enumerate() {
            let numbers = &values[index * outputs..][..outputs];
            if node.threshold.is_nan()
                || !covers[index].is_finite()
                || numbers.iter().any(|value| !value.is_finite())
            {
                return Err(TreeError::Number(index));
            }
            if node.is_leaf() {
                continue;
            }
            if node.feature as usize >= columns {
                return Err(TreeError::Feature(index));
            }
            let left = node.left as usize;
            if left <= index || left >= nodes.len() - 1 || has_parent[left] || has_parent[left + 1] {
                return Err(TreeError::Children(index));
            }
            has_parent[left] = true;
            has_parent[left + 1] = true;
        }
        // A node nobody leads to could hide anything; there is no reason for one.
        if let Some(orphan) = has_parent.iter().skip(1).position(|has| !has) {
            return Err(TreeError::Children(orphan + 1));
        }
        let walk = Walk::new(&nodes);
        Ok(Self { nodes, covers, values, walk })
    }

    /// The nodes; the first is the root.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The weight of the rows that came to each node.
    pub fn covers(&self) -> &[f32] {
        &self.covers
    }

    /// The numbers of all nodes, node after node.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// How many numbers a row gets.
    pub fn outputs(&self) -> usize {
        self.values.len() / self.nodes.len()
    }

    /// Whether the tree looks only at the first `columns` columns.
    pub(crate) fn fits(&self, columns: usize) -> bool {
        self.nodes.iter().all(|node| node.is_leaf() || (node.feature as usize) < columns)
    }

    /// The numbers a row gets.
    pub fn value(&self, row: &[f32]) -> &[f32] {
        let mut index = 0;
        while !self.nodes[index].is_leaf() {
            let node = &self.nodes[index];
            index = node.child(row[node.feature as usize]);
        }
        self.value_of(index)
    }

    /// Adds the numbers of every row to `sums`, in which the numbers of two rows
    /// are `stride` apart.
    pub(crate) fn add_values(&self, block: &mut Block, sums: &mut [f32], stride: usize) {
        let outputs = self.outputs();
        let leaves = self.walk.leaves(&self.nodes, block);
        if outputs == 1 && stride == 1 {
            leaves.iter().zip(sums).for_each(|(&leaf, sum)| *sum += self.values[leaf as usize]);
            return;
        }
        for (&leaf, sums) in leaves.iter().zip(sums.chunks_mut(stride)) {
            let values = &self.values[leaf as usize * outputs..][..outputs];
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
    }

    /// The numbers of a node.
    pub(crate) fn value_of(&self, node: usize) -> &[f32] {
        let outputs = self.outputs();
        &self.values[node * outputs..][..outputs]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split(feature: u32, left: u32) -> Node {
        Node { feature, threshold: 0.5, left, missing_left: false }
    }

    fn build(nodes: &[Node]) -> Result<Tree, TreeError> {
        let values = (0_u8..).map(f32::from).take(nodes.len()).collect();
        Tree::from_nodes(2, nodes.to_vec(), vec![1.0; nodes.len()], values)
    }

    #[test]
    fn rows_go_where_their_values_say() {
        let tree =
            build(&[split(1, 1), Node::LEAF, split(0, 3), Node::LEAF, Node::LEAF]).expect("this is a tree");
        assert_eq!(tree.value(&[0.0, 0.5]), [1.0]);
        assert_eq!(tree.value(&[0.5, 0.6]), [3.0]);
        assert_eq!(tree.value(&[0.6, f32::NAN]), [4.0]);
    }

    #[test]
    fn what_is_not_a_tree_is_refused() {
        let leaf = Node::LEAF;
        assert_eq!(build(&[]), Err(TreeError::Lengths));
        assert_eq!(Tree::from_nodes(2, vec![leaf], vec![], vec![0.0]), Err(TreeError::Lengths));
        assert_eq!(Tree::from_nodes(2, vec![leaf], vec![1.0], vec![]), Err(TreeError::Lengths));
        assert_eq!(
            Tree::from_nodes(2, vec![split(0, 1), leaf, leaf], vec![1.0; 3], vec![0.0; 4]),
            Err(TreeError::Lengths)
        );
        assert_eq!(build(&[split(2, 1), leaf, leaf]), Err(TreeError::Feature(0)));
        assert_eq!(build(&[split(0, 2), leaf, leaf]), Err(TreeError::Children(0)));
        assert_eq!(build(&[split(0, u32::MAX), leaf, leaf]), Err(TreeError::Children(0)));
        assert_eq!(build(&[split(0, 1), split(0, 1), leaf]), Err(TreeError::Children(1)), "a loop");
        assert_eq!(
            build(&[split(0, 1), split(0, 2), leaf, leaf]),
            Err(TreeError::Children(1)),
            "a shared child"
        );
        assert_eq!(build(&[split(0, 1), leaf, leaf, leaf]), Err(TreeError::Children(3)), "an orphan");
        let broken = Node { threshold: f32::NAN, ..split(0, 1) };
        assert_eq!(build(&[broken, leaf, leaf]), Err(TreeError::Number(0)));
        assert_eq!(
            Tree::from_nodes(2, vec![leaf], vec![1.0], vec![f32::INFINITY]),
            Err(TreeError::Number(0))
        );
    }

    proptest! {
        #[test]
        fn whatever_is_accepted_answers_and_many_rows_get_what_each_gets(
            nodes in prop::collection::vec((0_u32..3, -1.0_f32..1.0, 0_u32..9, any::<bool>()), 1..9),
            rows in prop::collection::vec(prop::option::weighted(0.8, -1.0_f32..1.0), 2..50),
        ) {
            // A child is often the next one that is free, so that trees are not rare.
            let mut free = 1;
            let nodes: Vec<Node> = nodes.into_iter().map(|(feature, threshold, left, missing_left)| {
                let left = if left < 3 { left } else if left < 6 { 0 } else { free };
                free += if left == free { 2 } else { 0 };
                Node { feature, threshold, left, missing_left }
            }).collect();
            let rows: Vec<f32> = rows.chunks_exact(2).flatten().map(|value| value.unwrap_or(f32::NAN)).collect();
            if let Ok(tree) = build(&nodes) {
                let mut sums = vec![0.0; rows.len() / 2];
                tree.add_values(&mut Block::new(&rows, 2), &mut sums, 1);
                let each: Vec<f32> = rows.chunks_exact(2).map(|row| tree.value(row)[0]).collect();
                prop_assert_eq!(sums, each);
            }
        }
    }
}
