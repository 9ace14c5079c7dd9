//! Paths as a network sees them: words of nodes and edges, by hash.

use std::collections::HashMap;

use crate::features::{each_word, literal_kind};
use crate::graph::{Edge, EdgeId, Graph, NodeId, NodeKind};

/// The paths of a test as words.
///
/// A step of a path is a node and the edge that leaves it. Steps are kept once,
/// as many paths share them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathWords {
    /// The words of the node and of the edge of each step.
    pub steps: Vec<[Vec<u64>; 2]>,
    /// The paths, from START to ASSERT, as indices of steps.
    pub paths: Vec<Vec<u32>>,
}

/// The words of all paths of a graph, in the order of [`Graph::paths`].
pub fn path_words(graph: &Graph) -> PathWords {
    let mut words = PathWords::default();
    let mut known: HashMap<(NodeId, Option<EdgeId>), u32> = HashMap::new();
    for path in graph.paths() {
        let leaving = path.edges.iter().copied().map(Some).chain([None]);
        let steps = path.nodes.iter().copied().zip(leaving).map(|(node, edge)| {
            *known.entry((node, edge)).or_insert_with(|| {
                let edge = edge.map(|edge| &graph.edges[edge as usize]);
                words.steps.push([node_words(graph, node), edge.map(edge_words).unwrap_or_default()]);
                u32::try_from(words.steps.len() - 1).expect("a test has few steps")
            })
        });
        words.paths.push(steps.collect());
    }
    words
}

/// The hash of a word in [`PathWords`]: FNV-1a.
pub fn word_hash(word: &str) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325;
    word.bytes().fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

fn node_words(graph: &Graph, id: NodeId) -> Vec<u64> {
    let node = &graph.nodes[id as usize];
    let mut words = Vec::new();
    let mut add = |word: &str| words.push(word_hash(word));
    match node.kind {
        // A space keeps what we say apart from words of the source.
        NodeKind::Literal => add(&format!("literal {}", literal_kind(&node.text, &node.type_name))),
        NodeKind::Assertion(kind) => {
            add(&format!("assertion {}", kind.name()));
            each_word(&node.text, &mut add);
        }
        NodeKind::Variable | NodeKind::Call => {
            each_word(&node.text, &mut add);
            each_word(&node.type_name, &mut add);
        }
    }
    words
}

fn edge_words(edge: &Edge) -> Vec<u64> {
    let mut words = Vec::new();
    each_word(&edge.label, |word| words.push(word_hash(word)));
    if words.is_empty() {
        words.push(word_hash(&edge.label));
    }
    if let Some(callee) = &edge.callee {
        each_word(&callee.name, |word| words.push(word_hash(word)));
    }
    words
}

#[cfg(test)]
mod tests {
    use flakewise_source::Language;

    use super::*;
    use crate::read::graph_of_fragment;

    fn words(source: &str) -> PathWords {
        path_words(&graph_of_fragment(Language::Java, source, None, "SomeTest", "test"))
    }

    #[test]
    fn a_step_has_the_words_of_its_node_and_of_the_edge_that_leaves_it() {
        let words = words(
            "@Test public void test() {\n  int portNumber = freePort();\n  assertTrue(portNumber > 0);\n}",
        );
        let hashes = |texts: &[&str]| texts.iter().copied().map(word_hash).collect::<Vec<_>>();
        let steps =
            |path: &[u32]| path.iter().map(|step| words.steps[*step as usize].clone()).collect::<Vec<_>>();
        let paths: Vec<_> = words.paths.iter().map(|path| steps(path)).collect();
        let number = hashes(&["port", "number", "int"]);
        assert!(
            paths.iter().any(|path| path.iter().any(|step| step[0] == number && step[1] == hashes(&[">"]))),
            "{paths:?}"
        );
        for path in &paths {
            assert_eq!(
                path.last().map(|step| (step[0][0], step[1].len())),
                Some((word_hash("assertion condition"), 0))
            );
        }
    }

    #[test]
    fn paths_share_steps() {
        let words = words(
            "@Test public void test() {\n  String a = one();\n  assertEquals(a, two(a, 3));\n  assertEquals(a, 4);\n}",
        );
        let all: usize = words.paths.iter().map(Vec::len).sum();
        assert!(words.paths.len() > 2 && words.steps.len() < all, "{words:?}");
    }
}
