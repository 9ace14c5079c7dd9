//! Light features of paths: hashes of what lies on them, with counts.
//!
//! They need no network: a linear or boosted model can learn from them. Each
//! depends on one graph alone, so tests of one class share a feature only if
//! both have what it stands for.

use std::collections::{HashMap, HashSet};

use flakewise_source::sub_tokens;

use crate::graph::{Callee, Edge, EdgeKind, Graph, NodeId, NodeKind};
use crate::paths::Path;

/// What a feature stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FeatureKind {
    /// A part of the name of a variable, or of the text of a call.
    NodeWord,
    /// The type of a variable.
    Type,
    /// The kind of a literal.
    Literal,
    /// A part of the label of an edge.
    EdgeWord,
    /// A call or operator, whole.
    Label,
    /// Two calls, one after the other on a path.
    Pair,
    /// A call, and the kind of assertion that its value reaches.
    Reaches,
    /// Where a path begins, and the kind of assertion it ends at.
    Ends,
    /// A function of the code under test.
    Callee,
    /// The number of paths, their length, and whether they pass a helper.
    Shape,
}

/// Features of the paths of a test by hash, rising, with their counts. The
/// same source gives the same features on every machine.
pub fn path_features(graph: &Graph) -> Vec<(u64, f32)> {
    let mut counts: HashMap<u64, f32> = HashMap::new();
    each_feature(graph, &graph.paths(), |kind, first, second| {
        *counts.entry(feature_hash(kind, first, second)).or_default() += 1.0;
    });
    let mut features: Vec<(u64, f32)> = counts.into_iter().collect();
    features.sort_unstable_by_key(|(hash, _)| *hash);
    features
}

/// Calls `found` for each feature of some paths of a graph, with its texts;
/// the second is empty for all but pairs.
pub fn each_feature(graph: &Graph, paths: &[Path], mut found: impl FnMut(FeatureKind, &str, &str)) {
    let mut nodes: HashSet<NodeId> = HashSet::new();
    let mut edges: HashSet<u32> = HashSet::new();
    let mut pairs: HashSet<(u32, u32)> = HashSet::new();
    let mut reached: HashSet<(u32, NodeId)> = HashSet::new();
    let mut ends: HashSet<(NodeId, NodeId)> = HashSet::new();
    for path in paths {
        let (Some(&first), Some(&last)) = (path.nodes.first(), path.nodes.last()) else { continue };
        let kind = graph.assertion(last).map_or("", |kind| kind.name());
        for node in path.nodes.iter().filter(|node| nodes.insert(**node)) {
            node_features(graph, *node, &mut found);
        }
        if ends.insert((first, last)) {
            found(FeatureKind::Ends, &source_kind(graph, first), kind);
        }
        let mut before: Option<u32> = None;
        for &at in &path.edges {
            let edge = &graph.edges[at as usize];
            if edges.insert(at) {
                edge_features(edge, &mut found);
            }
            if !is_call(edge) {
                continue;
            }
            if reached.insert((at, last)) {
                found(FeatureKind::Reaches, &edge.label, kind);
            }
            if let Some(before) = before.filter(|before| pairs.insert((*before, at))) {
                found(FeatureKind::Pair, &graph.edges[before as usize].label, &edge.label);
            }
            before = Some(at);
        }
    }
    shape_features(graph, paths, &mut found);
}

/// The hash of a feature: FNV-1a, with a step between its parts.
pub fn feature_hash(kind: FeatureKind, first: &str, second: &str) -> u64 {
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let mut hash = (0xcbf2_9ce4_8422_2325 ^ (kind as u64 + 1)).wrapping_mul(PRIME);
    for part in [first, second] {
        for byte in part.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(PRIME);
        }
        hash = (hash ^ 0xff).wrapping_mul(PRIME);
    }
    hash
}

fn is_call(edge: &Edge) -> bool {
    edge.kind == EdgeKind::Call
}

fn node_features(graph: &Graph, id: NodeId, found: &mut impl FnMut(FeatureKind, &str, &str)) {
    let node = &graph.nodes[id as usize];
    match node.kind {
        NodeKind::Literal => found(FeatureKind::Literal, literal_kind(&node.text, &node.type_name), ""),
        _ => each_word(&node.text, |word| found(FeatureKind::NodeWord, word, "")),
    }
    // A call that nothing flows into has no edge that names what it runs.
    if let Some(callee) = node.callee.as_ref().filter(|_| graph.is_start(id)) {
        callee_features(callee, found);
    }
    if !node.type_name.is_empty() {
        found(FeatureKind::Type, &node.type_name, "");
    }
}

fn edge_features(edge: &Edge, found: &mut impl FnMut(FeatureKind, &str, &str)) {
    found(FeatureKind::Label, &edge.label, "");
    each_word(&edge.label, |word| found(FeatureKind::EdgeWord, word, ""));
    if let Some(callee) = &edge.callee {
        callee_features(callee, found);
    }
}

fn callee_features(callee: &Callee, found: &mut impl FnMut(FeatureKind, &str, &str)) {
    found(FeatureKind::Callee, &callee.name, "");
    each_word(&callee.name, |word| found(FeatureKind::Callee, word, ""));
}

fn shape_features(graph: &Graph, paths: &[Path], found: &mut impl FnMut(FeatureKind, &str, &str)) {
    found(FeatureKind::Shape, "paths", bucket(paths.len()));
    let longest = paths.iter().map(|path| path.nodes.len()).max().unwrap_or(0);
    found(FeatureKind::Shape, "longest", bucket(longest));
    found(FeatureKind::Shape, "assertions", bucket(graph.assertions().count()));
    let called = graph.edges.iter().filter(|edge| edge.callee.is_some()).count();
    found(FeatureKind::Shape, "code under test", bucket(called));
    let in_helpers = graph.assertions().any(|node| graph.nodes[node as usize].helper.is_some());
    if in_helpers {
        found(FeatureKind::Shape, "helper", "");
    }
}

/// Where a path begins: a kind of literal, a type, or a call.
fn source_kind(graph: &Graph, node: NodeId) -> String {
    let start = &graph.nodes[node as usize];
    match start.kind {
        NodeKind::Literal => format!("literal {}", literal_kind(&start.text, &start.type_name)),
        NodeKind::Call => {
            // Without what is in the brackets.
            format!("call {}", start.text.split('(').next().unwrap_or_default().trim())
        }
        NodeKind::Assertion(kind) => format!("assertion {}", kind.name()),
        NodeKind::Variable if start.type_name.is_empty() => "variable".to_owned(),
        NodeKind::Variable => format!("variable {}", start.type_name),
    }
}

pub(crate) fn literal_kind(text: &str, type_name: &str) -> &'static str {
    match type_name {
        "String" | "str" if text.len() <= 2 => "empty text",
        "String" | "str" => "text",
        "int" => match text.len() {
            0 | 1 => "digit",
            2 | 3 => "number",
            _ => "large number",
        },
        "double" | "float" => "fraction",
        "boolean" => "truth value",
        "Class" => "class",
        _ => "other",
    }
}

fn bucket(count: usize) -> &'static str {
    match count {
        0 => "0",
        1 => "1",
        2 => "2",
        3..=4 => "3 to 4",
        5..=9 => "5 to 9",
        10..=19 => "10 to 19",
        20..=49 => "20 to 49",
        50..=99 => "50 to 99",
        _ => "100 or more",
    }
}

/// The words of all names in a text.
pub(crate) fn each_word(text: &str, mut found: impl FnMut(&str)) {
    let names = text.split(|character: char| !(character.is_alphanumeric() || character == '_'));
    for name in names.filter(|name| name.starts_with(|first: char| first.is_alphabetic() || first == '_')) {
        sub_tokens(name, |word| {
            if !word.starts_with(|first: char| first.is_ascii_digit()) {
                found(word);
            }
        });
    }
}
