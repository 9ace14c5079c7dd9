//! Graphs as pictures: DOT text for Graphviz, and SVG that stands alone.
//!
//! Only nodes on paths are drawn. Names come from source and are escaped.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::graph::{EdgeId, EdgeKind, Graph, Node, NodeId, NodeKind};
use crate::paths::Path;

/// Nodes beyond these are left out of a picture; nobody can read more.
const NODES: usize = 200;
const LABEL: usize = 34;
const WIDTH: u32 = 250;
const HEIGHT: u32 = 44;
const GAP: u32 = 30;
const LAYER: u32 = 96;

/// What is drawn of a graph.
struct Picture<'g> {
    graph: &'g Graph,
    nodes: BTreeSet<NodeId>,
    edges: BTreeSet<EdgeId>,
    marked_nodes: BTreeSet<NodeId>,
    marked_edges: BTreeSet<EdgeId>,
}

impl<'g> Picture<'g> {
    /// The nodes and edges of the paths, the marked path first.
    fn new(graph: &'g Graph, paths: &[Path], marked: Option<&Path>) -> Self {
        let mut nodes = BTreeSet::new();
        let mut edges = BTreeSet::new();
        for path in marked.into_iter().chain(paths) {
            let new = path.nodes.iter().filter(|node| !nodes.contains(*node)).count();
            if nodes.len() + new <= NODES {
                nodes.extend(&path.nodes);
                edges.extend(&path.edges);
            }
        }
        let of_marked = |list: fn(&Path) -> &Vec<u32>| marked.into_iter().flat_map(list).copied().collect();
        Self {
            graph,
            nodes,
            edges,
            marked_nodes: of_marked(|path| &path.nodes),
            marked_edges: of_marked(|path| &path.edges),
        }
    }

    fn node(&self, id: NodeId) -> &'g Node {
        &self.graph.nodes[id as usize]
    }

    /// How far each node is from the farthest START above it.
    fn layers(&self) -> BTreeMap<NodeId, u32> {
        let mut layers: BTreeMap<NodeId, u32> = self.nodes.iter().map(|node| (*node, 0)).collect();
        // Edges lead to greater nodes and stand in their order.
        for edge in self.edges.iter().map(|edge| &self.graph.edges[*edge as usize]) {
            let above = layers.get(&edge.from).copied().unwrap_or(0);
            if let Some(layer) = layers.get_mut(&edge.to) {
                *layer = (*layer).max(above + 1);
            }
        }
        layers
    }
}

/// The paths of a graph in the language of Graphviz, with one path marked.
pub fn graph_dot(graph: &Graph, paths: &[Path], marked: Option<&Path>) -> String {
    let picture = Picture::new(graph, paths, marked);
    let mut out = String::from("digraph test {\n  node [shape=box, fontname=\"sans-serif\"];\n");
    for &id in &picture.nodes {
        let node = picture.node(id);
        let mut style = match node.kind {
            NodeKind::Assertion(_) => "shape=octagon",
            _ if graph.is_start(id) => "shape=ellipse",
            _ => "shape=box",
        }
        .to_owned();
        if picture.marked_nodes.contains(&id) {
            style += ", color=red, penwidth=2";
        }
        let label = format!("{}\\nline {}", quoted(&shorten(&node.text)), node.line);
        let _ = writeln!(out, "  n{id} [label=\"{label}\", {style}];");
    }
    for &at in &picture.edges {
        let edge = &graph.edges[at as usize];
        let mut style = match edge.kind {
            EdgeKind::Order | EdgeKind::Elided => ", style=dashed",
            _ => "",
        }
        .to_owned();
        if picture.marked_edges.contains(&at) {
            style += ", color=red, penwidth=2";
        }
        let label = quoted(&shorten(&edge.label));
        let _ = writeln!(out, "  n{} -> n{} [label=\"{label}\"{style}];", edge.from, edge.to);
    }
    out + "}\n"
}

/// The paths of a graph as a picture, in layers from START nodes at the top to
/// assertions at the bottom, with one path marked.
pub fn graph_svg(graph: &Graph, paths: &[Path], marked: Option<&Path>) -> String {
    let picture = Picture::new(graph, paths, marked);
    let layers = picture.layers();
    let mut rows: BTreeMap<u32, u32> = BTreeMap::new();
    let mut positions: BTreeMap<NodeId, (u32, u32)> = BTreeMap::new();
    // Marked nodes stand at the left, so that their path is a column.
    let mut order: Vec<(&NodeId, &u32)> = layers.iter().collect();
    order.sort_by_key(|(node, layer)| (**layer, !picture.marked_nodes.contains(node), **node));
    for (node, layer) in order {
        let column = rows.entry(*layer).or_default();
        positions.insert(*node, (GAP + *column * (WIDTH + GAP), GAP + layer * LAYER));
        *column += 1;
    }
    let columns = rows.values().copied().max().unwrap_or(0);
    let last = rows.keys().copied().max().unwrap_or(0);
    let (width, height) = (GAP + columns.max(1) * (WIDTH + GAP), 2 * GAP + last * LAYER + HEIGHT);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <defs><marker id=\"a\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">\
         <path d=\"M0 0L8 4L0 8z\" fill=\"context-stroke\"/></marker></defs>\n"
    );
    for &at in &picture.edges {
        let edge = &graph.edges[at as usize];
        let (Some(&(x1, y1)), Some(&(x2, y2))) = (positions.get(&edge.from), positions.get(&edge.to)) else {
            continue;
        };
        let marked = picture.marked_edges.contains(&at);
        let (color, thick) = if marked { ("#c62828", 2) } else { ("#888888", 1) };
        let dashes = match edge.kind {
            EdgeKind::Order | EdgeKind::Elided => " stroke-dasharray=\"4 3\"",
            _ => "",
        };
        let (x1, y1, x2) = (x1 + WIDTH / 2, y1 + HEIGHT, x2 + WIDTH / 2);
        let middle = u32::midpoint(y1, y2);
        let _ = writeln!(
            out,
            "<path d=\"M{x1} {y1}C{x1} {middle} {x2} {middle} {x2} {y2}\" fill=\"none\" stroke=\"{color}\" \
             stroke-width=\"{thick}\"{dashes} marker-end=\"url(#a)\"/>\n\
             <text x=\"{}\" y=\"{middle}\" text-anchor=\"middle\" fill=\"{color}\">{}</text>",
            u32::midpoint(x1, x2),
            escaped(&shorten(&edge.label)),
        );
    }
    for (&id, &(x, y)) in &positions {
        let node = picture.node(id);
        let (fill, round) = match node.kind {
            NodeKind::Assertion(_) => ("#fff3e0", 2),
            _ if graph.is_start(id) => ("#e3f2fd", 22),
            _ => ("#f5f5f5", 6),
        };
        let (color, thick) = if picture.marked_nodes.contains(&id) { ("#c62828", 2) } else { ("#888888", 1) };
        let helper = node.helper.as_ref().map(|helper| format!(", in {}:{}", helper.name, helper.line));
        let _ = writeln!(
            out,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"{round}\" fill=\"{fill}\" \
             stroke=\"{color}\" stroke-width=\"{thick}\"/>\n\
             <text x=\"{tx}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n\
             <text x=\"{tx}\" y=\"{}\" text-anchor=\"middle\" fill=\"#666666\" font-size=\"10\">line {}{}</text>",
            y + 19,
            escaped(&shorten(&node.text)),
            y + 35,
            node.line,
            escaped(&shorten(&helper.unwrap_or_default())),
            tx = x + WIDTH / 2,
        );
    }
    out + "</svg>\n"
}

/// Text of bearable length without control characters.
fn shorten(text: &str) -> String {
    let visible = text.chars().filter(|character| !character.is_control());
    let mut short: String = visible.clone().take(LABEL).collect();
    if visible.count() > LABEL {
        short.push('…');
    }
    short
}

/// Text between quotes of DOT.
fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// Text in XML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use flakewise_source::Language;

    use super::*;
    use crate::read::graph_of_fragment;

    fn graph(body: &str) -> Graph {
        graph_of_fragment(Language::Java, &format!("@Test void t() {{\n{body}\n}}"), None, "a.T", "t")
    }

    #[test]
    fn dot_has_the_nodes_of_paths_and_marks_one() {
        let graph = graph("int n = load(\"a\\\"<b>\");\nint unused = 5;\nassertEquals(1, n);");
        let paths = graph.paths();
        let marked = paths.iter().max_by_key(|path| path.nodes.len());
        assert_eq!(
            graph_dot(&graph, &paths, marked),
            "digraph test {\n  node [shape=box, fontname=\"sans-serif\"];\n  \
             n0 [label=\"\\\"a\\\\\\\"<b>\\\"\\nline 2\", shape=ellipse, color=red, penwidth=2];\n  \
             n1 [label=\"n\\nline 2\", shape=box, color=red, penwidth=2];\n  \
             n4 [label=\"1\\nline 4\", shape=ellipse];\n  \
             n5 [label=\"assertEquals\\nline 4\", shape=octagon, color=red, penwidth=2];\n  \
             n0 -> n1 [label=\"load\", color=red, penwidth=2];\n  \
             n4 -> n5 [label=\"assertEquals\"];\n  \
             n1 -> n5 [label=\"assertEquals\", color=red, penwidth=2];\n}\n"
        );
    }

    #[test]
    fn svg_escapes_what_source_says() {
        let graph = graph("String s = load(\"</svg><script>&\");\nassertNotNull(s);");
        let paths = graph.paths();
        let svg = graph_svg(&graph, &paths, paths.first());
        assert!(svg.contains("&lt;/svg&gt;&lt;script&gt;&amp;") && !svg.contains("<script"), "{svg}");
        assert_eq!(svg.matches("</svg>").count(), 1);
    }

    #[test]
    fn large_graphs_are_drawn_in_part() {
        let calls: String = (0..2_000).map(|n| format!("assertEquals({n}, f{n}());\n")).collect();
        let graph = graph(&calls);
        let svg = graph_svg(&graph, &graph.paths(), None);
        assert!(svg.matches("<rect").count() <= NODES + 1);
        assert!(graph_svg(&Graph::default(), &[], None).ends_with("</svg>\n"));
    }
}
