//! Many rows on their way down one tree.
//!
//! A single row mostly waits: which node is next is known only when the last one
//! has been looked at. So several rows walk in parallel, and one that has
//! arrived makes place for the next at once; nobody waits for the row whose way
//! is longest.

use crate::tree::Node;

/// Rows that walk in parallel. More do not fit into the registers.
const LANES: usize = 8;

/// Steps before it is looked at who has arrived.
const STRIDE: usize = 4;

/// Rows that all trees pass over before the next ones: they stay in the cache.
/// With fewer of them, the trees would be fetched too often.
pub(crate) const BLOCK: usize = 1024;

/// The key of a missing value: above all others.
const MISSING: u32 = u32::MAX;

/// An integer that is ordered as the numbers are. Integers are quicker to
/// compare, and what comes of it can be added without a detour.
fn key(value: f32) -> u32 {
    if value.is_nan() {
        return MISSING;
    }
    // This makes the two zeros one.
    let bits = (value + 0.0).to_bits();
    if bits >> 31 == 0 { bits | (1 << 31) } else { !bits }
}

/// Some rows, one after the other, as [`key`]s.
pub(crate) struct Block {
    /// Behind the rows there are empty ones, for lanes that find no other.
    keys: Vec<u32>,
    columns: usize,
    has_missing: bool,
    /// Memory for the leaf of each row.
    leaves: Vec<u32>,
}

impl Block {
    pub(crate) fn new(values: &[f32], columns: usize) -> Self {
        let mut keys: Vec<u32> = values.iter().map(|&value| key(value)).collect();
        // Nearly all tables are whole, and a walk through one is quicker.
        let has_missing = keys.contains(&MISSING);
        keys.resize(keys.len() + LANES * columns, 0);
        let leaves = vec![0; values.len().checked_div(columns).unwrap_or(0) + LANES];
        Self { keys, columns, has_missing, leaves }
    }
}

/// The nodes of a tree as rows meet them, those of nearly all trees in half the
/// memory.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Walk {
    Narrow(Vec<Step<u16>>),
    Wide(Vec<Step<u32>>),
}

/// One node. A leaf leads to itself, so that rows that have arrived can keep
/// walking with those that have not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Step<Index> {
    threshold: u32,
    column: Index,
    left: Index,
}

impl Walk {
    pub(crate) fn new(nodes: &[Node]) -> Self {
        let narrow = steps(nodes, |number| u16::try_from(number).ok()).map(Self::Narrow);
        let wide = || steps(nodes, Some).map(Self::Wide).expect("every number fits itself");
        narrow.unwrap_or_else(wide)
    }

    /// The leaf of each row of the block.
    pub(crate) fn leaves<'a>(&self, nodes: &[Node], block: &'a mut Block) -> &'a [u32] {
        match (self, block.has_missing) {
            (Self::Narrow(steps), false) => find::<_, false>(steps, nodes, block),
            (Self::Narrow(steps), true) => find::<_, true>(steps, nodes, block),
            (Self::Wide(steps), false) => find::<_, false>(steps, nodes, block),
            (Self::Wide(steps), true) => find::<_, true>(steps, nodes, block),
        }
        &block.leaves[..block.leaves.len() - LANES]
    }
}

fn steps<Index>(nodes: &[Node], index: impl Fn(u32) -> Option<Index>) -> Option<Vec<Step<Index>>> {
    let step = |(node, own): (&Node, u32)| {
        let (threshold, column, left) =
            if node.is_leaf() { (MISSING, 0, own) } else { (key(node.threshold), node.feature, node.left) };
        Some(Step { threshold, column: index(column)?, left: index(left)? })
    };
    nodes.iter().zip(0..).map(step).collect()
}

fn find<Index: Copy + Into<u32>, const SOME_MISSING: bool>(
    steps: &[Step<Index>],
    nodes: &[Node],
    block: &mut Block,
) {
    let Block { keys, columns, leaves, .. } = block;
    let (keys, columns, rows) = (keys.as_slice(), *columns, leaves.len() - LANES);
    let step = |place: u32, start: usize| -> u32 {
        let step = &steps[place as usize];
        let value = keys[start + step.column.into() as usize];
        let mut right = value > step.threshold;
        if SOME_MISSING {
            right &= !(value == MISSING && nodes[place as usize].missing_left);
        }
        step.left.into() + u32::from(right)
    };
    let mut places = [0; LANES];
    let mut walking: [usize; LANES] = std::array::from_fn(|lane| lane);
    let mut starts = walking.map(|row| row * columns);
    let mut next = LANES;
    while next < rows {
        for _ in 1..STRIDE {
            for lane in 0..LANES {
                places[lane] = step(places[lane], starts[lane]);
            }
        }
        for lane in 0..LANES {
            let place = step(places[lane], starts[lane]);
            // No branches here: nobody could foresee when a row arrives.
            let arrived = place == places[lane];
            leaves[walking[lane]] = place;
            walking[lane] = if arrived { next } else { walking[lane] };
            places[lane] = if arrived { 0 } else { place };
            starts[lane] = walking[lane] * columns;
            next += usize::from(arrived);
        }
    }
    for lane in 0..LANES {
        let mut place = step(places[lane], starts[lane]);
        while place != places[lane] {
            places[lane] = place;
            place = step(place, starts[lane]);
        }
        leaves[walking[lane]] = place;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn wide_and_narrow_steps_lead_to_the_same_leaves() {
        let mut random = Random::new(3, 0);
        #[expect(clippy::cast_possible_truncation, reason = "any number will do")]
        let mut number = || random.unit() as f32;
        // Every node but the last ones has two children.
        let nodes: Vec<Node> = (0..201)
            .map(|index| {
                let left = if index < 100 { 2 * index + 1 } else { 0 };
                Node { feature: index % 3, threshold: number(), left, missing_left: index % 2 == 0 }
            })
            .collect();
        for missing in [0.0, 0.2] {
            let rows: Vec<f32> =
                (0..3 * 77).map(|_| if number() < missing { f32::NAN } else { number() }).collect();
            let mut block = Block::new(&rows, 3);
            let narrow = Walk::new(&nodes);
            assert!(matches!(narrow, Walk::Narrow(_)));
            let narrow = narrow.leaves(&nodes, &mut block).to_vec();
            let wide = Walk::Wide(steps(&nodes, Some).expect("every number fits itself"));
            assert_eq!(wide.leaves(&nodes, &mut block), narrow);
            assert!(narrow.iter().all(|&leaf| nodes[leaf as usize].is_leaf()) && narrow.len() == 77);
        }
        let far = Node { feature: 70_000, ..nodes[0] };
        assert!(matches!(Walk::new(&[far]), Walk::Wide(_)));
    }
}
