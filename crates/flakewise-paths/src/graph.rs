//! The test dependency graph.
//!
//! Nodes are variables, literals, calls and assertions; an edge says that a
//! value flows from one to another, and through which call or operator. Every
//! edge leads to a node that was added later, so the graph has no cycles, and
//! to a line that is not above the line it comes from.

use crate::limits::{INPUTS_PER_NODE, MAX_PATH_NODES};

/// The index of a node in [`Graph::nodes`].
pub type NodeId = u32;
/// The index of an edge in [`Graph::edges`].
pub type EdgeId = u32;

/// How values flow through one test.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// In the order of execution, as far as the text tells.
    pub nodes: Vec<Node>,
    /// Edges into one node stand together.
    pub edges: Vec<Edge>,
}

/// A variable, a literal, a call or an assertion.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it is.
    pub kind: NodeKind,
    /// The name of a variable, a literal or call as written if it is short, or
    /// the name of an assertion.
    pub text: String,
    /// The declared or evident type of a variable, or an empty text.
    pub type_name: String,
    /// The line in the test, counted from one. Of several lines it is the one
    /// that its last input stands on; of code in a helper, the line of the call.
    pub line: u32,
    /// The helper it stands in, and the line there.
    pub helper: Option<Helper>,
    /// The function of the code under test that a call runs, if it is known.
    pub callee: Option<Callee>,
    /// The edges into it, as a range of [`Graph::edges`].
    first_input: EdgeId,
    last_input: EdgeId,
    /// The fewest nodes from a START to here, both counted.
    distance: u32,
    /// The START of that shortest way.
    start: NodeId,
}

/// Where a node of an inlined helper stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Helper {
    /// The name of the helper.
    pub name: String,
    /// The line in the file of the helper.
    pub line: u32,
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeKind {
    /// A definition of a variable, or a change of what it refers to.
    Variable,
    /// A constant in the source.
    Literal,
    /// A call whose value is used, or that has an effect.
    Call,
    /// What fails the test: the ASSERT nodes.
    Assertion(AssertionKind),
}

/// What an assertion checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AssertionKind {
    /// Two values are equal.
    Equality,
    /// A condition holds.
    Condition,
    /// A value is absent or present.
    Null,
    /// Two references are the same object.
    Identity,
    /// A matcher or fluent check holds.
    Matcher,
    /// An exception or warning is raised.
    Exception,
    /// A mock was called.
    Interaction,
    /// Reaching this line fails the test.
    Failure,
    /// Something happens within a time limit.
    Wait,
    /// Any other assertion.
    Other,
    /// The test has no assertion: its last statement must not throw.
    Implicit,
}

impl AssertionKind {
    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Equality => "equality",
            Self::Condition => "condition",
            Self::Null => "null",
            Self::Identity => "identity",
            Self::Matcher => "matcher",
            Self::Exception => "exception",
            Self::Interaction => "interaction",
            Self::Failure => "failure",
            Self::Wait => "wait",
            Self::Other => "other",
            Self::Implicit => "implicit",
        }
    }
}

/// A flow of data from one node to another.
#[derive(Clone, Debug)]
pub struct Edge {
    /// Where the value comes from.
    pub from: NodeId,
    /// Where it goes; always greater than `from`.
    pub to: NodeId,
    /// How.
    pub kind: EdgeKind,
    /// The call, such as `Tool.load`, or the operator.
    pub label: String,
    /// The function of the code under test that is called, if it is known.
    pub callee: Option<Callee>,
}

/// How a value flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EdgeKind {
    /// As an argument or the receiver of a call.
    Call,
    /// Through an operator, an assignment or a member.
    Operator,
    /// Not at all: the call precedes the assertion, and returns nothing that
    /// anything uses, such as a sleep.
    Order,
    /// Through more steps than a path can have, which are left out.
    Elided,
}

/// A function that a call resolves to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Callee {
    /// The file, from the root of the repository.
    pub path: String,
    /// The class and the function, such as `Tool.load`.
    pub name: String,
    /// How many parameters it declares.
    pub parameters: u32,
    /// The line it is declared on.
    pub line: u32,
}

/// A value on its way to a node.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    pub(crate) from: NodeId,
    pub(crate) kind: EdgeKind,
    pub(crate) label: String,
    pub(crate) callee: Option<Callee>,
}

impl Graph {
    /// Adds a node with all that flows into it. The line may move down to that
    /// of the last input.
    pub(crate) fn add(
        &mut self,
        kind: NodeKind,
        text: String,
        type_name: String,
        line: u32,
        helper: Option<Helper>,
        inputs: Vec<Input>,
    ) -> NodeId {
        let id = index(self.nodes.len());
        let first_input = index(self.edges.len());
        let mut node = Node {
            kind,
            text,
            type_name,
            line,
            helper,
            callee: None,
            first_input,
            last_input: first_input,
            distance: 1,
            start: id,
        };
        let mut nearest: Option<(u32, NodeId)> = None;
        for Input { from, kind, label, callee } in inputs.into_iter().take(INPUTS_PER_NODE) {
            debug_assert!(from < id, "values flow forward");
            let known = &self.edges[first_input as usize..];
            if known.iter().any(|edge| edge.from == from && edge.label == label) {
                continue;
            }
            let source = &self.nodes[from as usize];
            node.line = node.line.max(source.line);
            let way = (source.distance, source.start);
            if nearest.is_none_or(|nearest| way < nearest) {
                nearest = Some(way);
            }
            self.edges.push(Edge { from, to: id, kind, label, callee });
        }
        if let Some((distance, start)) = nearest {
            node.distance = distance + 1;
            node.start = start;
            if node.distance as usize > MAX_PATH_NODES {
                let label = self.edges[first_input as usize].label.clone();
                self.edges.push(Edge { from: start, to: id, kind: EdgeKind::Elided, label, callee: None });
                node.distance = 2;
            }
        }
        node.last_input = index(self.edges.len());
        self.nodes.push(node);
        id
    }

    /// The edges into a node, in the order of the source.
    pub fn inputs(&self, node: NodeId) -> impl DoubleEndedIterator<Item = EdgeId> + use<> {
        let node = &self.nodes[node as usize];
        node.first_input..node.last_input
    }

    /// Whether nothing flows into a node: a literal, a variable whose origin
    /// lies outside of the test, or a call without inputs.
    pub fn is_start(&self, node: NodeId) -> bool {
        let node = &self.nodes[node as usize];
        node.first_input == node.last_input
    }

    /// What a node asserts, if it is an ASSERT node.
    pub fn assertion(&self, node: NodeId) -> Option<AssertionKind> {
        match self.nodes[node as usize].kind {
            NodeKind::Assertion(kind) => Some(kind),
            _ => None,
        }
    }

    /// The ASSERT nodes, in order.
    pub fn assertions(&self) -> impl Iterator<Item = NodeId> + '_ {
        (0..index(self.nodes.len())).filter(|node| self.assertion(*node).is_some())
    }

    /// The fewest nodes from a START to this one, both counted.
    pub(crate) fn distance(&self, node: NodeId) -> usize {
        self.nodes[node as usize].distance as usize
    }
}

fn index(length: usize) -> u32 {
    u32::try_from(length).expect("a test has fewer nodes than visits are allowed")
}
