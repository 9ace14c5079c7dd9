//! Contextual paths: how a value gets from a START node to an assertion.
//!
//! This is Algorithm 1 of "Learning to effectively predict flakiness without
//! running tests" (PEELER, 2022): paths grow backwards from each edge into an
//! ASSERT node until nothing flows in. Two things differ. Where a test has
//! more paths than [`MAX_PATHS`], every edge into an assertion gets its turn,
//! so that the first assertion does not take them all. And a path only grows
//! in a direction from which a START is still within [`MAX_PATH_NODES`], so
//! that no path is cut.

use crate::graph::{EdgeId, Graph, NodeId};
use crate::limits::{MAX_PATH_NODES, MAX_PATHS};

/// A way from a START node to an ASSERT node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// From START to ASSERT. A single node is both.
    pub nodes: Vec<NodeId>,
    /// Between them: one fewer.
    pub edges: Vec<EdgeId>,
}

impl Graph {
    /// The contextual paths, at most [`MAX_PATHS`] of at most
    /// [`MAX_PATH_NODES`] nodes.
    pub fn paths(&self) -> Vec<Path> {
        let mut paths = Vec::new();
        let mut growths = Vec::new();
        for assertion in self.assertions() {
            if self.is_start(assertion) {
                paths.push(Path { nodes: vec![assertion], edges: Vec::new() });
            }
            growths.extend(self.inputs(assertion).map(|edge| Growth::new(self, edge)));
        }
        paths.truncate(MAX_PATHS);
        // Later lines first, as the paper sorts them.
        growths.sort_by_key(|growth| {
            let assertion = self.edges[growth.links[0].edge as usize].to;
            std::cmp::Reverse((self.nodes[assertion as usize].line, assertion))
        });
        while paths.len() < MAX_PATHS && !growths.is_empty() {
            growths.retain_mut(|growth| {
                if paths.len() == MAX_PATHS {
                    return false;
                }
                let path = growth.next(self);
                let more = path.is_some();
                paths.extend(path);
                more
            });
        }
        paths
    }

    /// A path as text, with lines: `"a"@3 -load-> tool@3 -==-> assert@4`.
    pub fn show(&self, path: &Path) -> String {
        let node = |id: &NodeId| {
            let node = &self.nodes[*id as usize];
            format!("{}@{}", node.text, node.line)
        };
        let mut text = path.nodes.first().map(node).unwrap_or_default();
        for (edge, to) in path.edges.iter().zip(path.nodes.iter().skip(1)) {
            text += &format!(" -{}-> {}", self.edges[*edge as usize].label, node(to));
        }
        text
    }
}

/// The paths that end with one edge.
struct Growth {
    /// Edges of unfinished paths. Each knows the edge after it, so that paths
    /// share their ends.
    links: Vec<Link>,
    /// Ends of paths that can still grow.
    open: Vec<u32>,
}

struct Link {
    edge: EdgeId,
    after: Option<u32>,
    /// Nodes from the edge's source to the assertion.
    length: usize,
}

impl Growth {
    fn new(graph: &Graph, edge: EdgeId) -> Self {
        // The assertion is a node too.
        let fits = graph.distance(graph.edges[edge as usize].from) < MAX_PATH_NODES;
        let open = if fits { vec![0] } else { Vec::new() };
        Self { links: vec![Link { edge, after: None, length: 2 }], open }
    }

    fn next(&mut self, graph: &Graph) -> Option<Path> {
        loop {
            let link = self.open.pop()?;
            let Link { edge, length, .. } = self.links[link as usize];
            let from = graph.edges[edge as usize].from;
            if graph.is_start(from) {
                return Some(self.path(graph, link));
            }
            for edge in graph.inputs(from) {
                let before = graph.edges[edge as usize].from;
                if length + graph.distance(before) <= MAX_PATH_NODES {
                    self.open.push(u32::try_from(self.links.len()).unwrap_or(u32::MAX));
                    self.links.push(Link { edge, after: Some(link), length: length + 1 });
                }
            }
        }
    }

    fn path(&self, graph: &Graph, link: u32) -> Path {
        let mut edges = Vec::new();
        let mut next = Some(link);
        while let Some(link) = next {
            edges.push(self.links[link as usize].edge);
            next = self.links[link as usize].after;
        }
        let mut nodes = vec![graph.edges[edges[0] as usize].from];
        nodes.extend(edges.iter().map(|edge| graph.edges[*edge as usize].to));
        Path { nodes, edges }
    }
}
