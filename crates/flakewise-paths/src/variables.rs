//! Which definitions of a variable reach a use.
//!
//! Code is read once, from top to bottom. A definition in a branch does not
//! replace the one before it, and does not reach the other branches of the
//! same statement.

use std::collections::HashMap;
use std::ops::Range;

use crate::graph::NodeId;
use crate::limits::{BRANCHES_SCANNED, DEFINITIONS_SCANNED, INPUTS_PER_NODE, REACHING_DEFINITIONS};

/// A value on its way, with the operator it passed, if any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flow {
    pub(crate) node: NodeId,
    pub(crate) label: Option<String>,
}

impl Flow {
    pub(crate) fn new(node: NodeId) -> Self {
        Self { node, label: None }
    }
}

/// Adds flows that are not there yet, up to a limit.
pub(crate) fn merge(into: &mut Vec<Flow>, flows: impl IntoIterator<Item = Flow>) {
    for flow in flows {
        if into.len() >= INPUTS_PER_NODE {
            return;
        }
        if into.iter().all(|known| known.node != flow.node) {
            into.push(flow);
        }
    }
}

/// Variables are kept by the function they belong to, and its name.
type Key = (u32, String);

/// The function of the fields and free variables of a test.
pub(crate) const SHARED: u32 = u32::MAX;

#[derive(Default)]
pub(crate) struct Variables {
    definitions: HashMap<Key, Vec<Definition>>,
    types: HashMap<Key, String>,
    /// Whether each block is still open.
    open: Vec<bool>,
    /// The open ones, innermost last.
    stack: Vec<Branch>,
    count: u32,
}

struct Definition {
    flows: Vec<Flow>,
    block: u32,
    number: u32,
}

struct Branch {
    block: u32,
    /// Definitions in other branches of the same statement.
    hidden: Range<u32>,
}

impl Variables {
    /// A number that grows with each definition, to be given to the branches of
    /// one statement.
    pub(crate) fn mark(&self) -> u32 {
        self.count
    }

    /// Opens a block that may not run. Definitions since `mark` do not reach it.
    pub(crate) fn open(&mut self, mark: u32) {
        let block = u32::try_from(self.open.len()).unwrap_or(u32::MAX);
        self.open.push(true);
        self.stack.push(Branch { block, hidden: mark..self.count });
    }

    pub(crate) fn close(&mut self) {
        if let Some(branch) = self.stack.pop() {
            self.open[branch.block as usize] = false;
        }
    }

    pub(crate) fn define(&mut self, function: u32, name: &str, flows: Vec<Flow>) {
        let block = self.stack.last().map_or(u32::MAX, |branch| branch.block);
        let number = self.count;
        self.count += 1;
        let definitions = self.definitions.entry((function, name.to_owned())).or_default();
        definitions.push(Definition { flows, block, number });
    }

    pub(crate) fn is_defined(&self, function: u32, name: &str) -> bool {
        self.definitions.contains_key(&(function, name.to_owned()))
    }

    /// What a use of a variable may refer to, or nothing if it is not defined.
    pub(crate) fn reaching(&self, function: u32, name: &str) -> Option<Vec<Flow>> {
        let definitions = self.definitions.get(&(function, name.to_owned()))?;
        let mut flows = Vec::new();
        let mut reached = 0;
        for definition in definitions.iter().rev().take(DEFINITIONS_SCANNED) {
            let mut branches = self.stack.iter().rev().take(BRANCHES_SCANNED);
            if branches.any(|branch| branch.hidden.contains(&definition.number)) {
                continue;
            }
            merge(&mut flows, definition.flows.iter().cloned());
            reached += 1;
            // What was before it is replaced.
            let sure = definition.block == u32::MAX || self.open[definition.block as usize];
            if sure || reached == REACHING_DEFINITIONS {
                break;
            }
        }
        Some(flows)
    }

    pub(crate) fn set_type(&mut self, function: u32, name: &str, type_name: &str) {
        if !type_name.is_empty() {
            self.types.insert((function, name.to_owned()), type_name.to_owned());
        }
    }

    pub(crate) fn type_of(&self, function: u32, name: &str) -> &str {
        self.types.get(&(function, name.to_owned())).map_or("", String::as_str)
    }
}
