//! Which definitions of a variable reach a use.
//!
//! Code is read once, from top to bottom. A definition in a branch does not
//! replace the one before it, and does not reach the other branches of the
//! same statement.

use std::collections::{HashMap, HashSet};
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
    /// Statements with branches that are open, innermost last.
    groups: Vec<Group>,
    count: u32,
}

struct Definition {
    flows: Vec<Flow>,
    block: u32,
    number: u32,
    /// Definitions before this number are replaced by those since.
    replaced: Option<u32>,
}

struct Branch {
    block: u32,
    /// Definitions in other branches of the same statement.
    hidden: Range<u32>,
    /// What is defined in it for sure.
    defined: HashSet<Key>,
}

/// A statement with branches.
struct Group {
    /// The number of definitions before it.
    mark: u32,
    /// What every branch so far defines for sure.
    defined: Option<HashSet<Key>>,
}

impl Variables {
    /// Begins a statement with branches.
    pub(crate) fn begin_branches(&mut self) {
        self.groups.push(Group { mark: self.count, defined: None });
    }

    /// Opens a branch, which may not run. Definitions in earlier branches of
    /// the same statement do not reach it.
    pub(crate) fn open_branch(&mut self) {
        let block = u32::try_from(self.open.len()).unwrap_or(u32::MAX);
        self.open.push(true);
        let mark = self.groups.last().map_or(self.count, |group| group.mark);
        self.stack.push(Branch { block, hidden: mark..self.count, defined: HashSet::new() });
    }

    pub(crate) fn close_branch(&mut self) {
        let Some(branch) = self.stack.pop() else { return };
        self.open[branch.block as usize] = false;
        if let Some(group) = self.groups.last_mut() {
            group.defined = Some(match group.defined.take() {
                Some(defined) => defined.into_iter().filter(|key| branch.defined.contains(key)).collect(),
                None => branch.defined,
            });
        }
    }

    /// Ends a statement with branches. If one of them runs for sure, what all
    /// of them define is defined.
    pub(crate) fn end_branches(&mut self, is_exhaustive: bool) {
        let Some(Group { mark, defined }) = self.groups.pop() else { return };
        for (function, name) in defined.filter(|_| is_exhaustive).into_iter().flatten() {
            self.push(function, &name, Vec::new(), Some(mark));
        }
    }

    pub(crate) fn define(&mut self, function: u32, name: &str, flows: Vec<Flow>) {
        self.push(function, name, flows, None);
    }

    fn push(&mut self, function: u32, name: &str, flows: Vec<Flow>, replaced: Option<u32>) {
        let key = (function, name.to_owned());
        let number = self.count;
        self.count += 1;
        let mut block = u32::MAX;
        if let Some(branch) = self.stack.last_mut() {
            block = branch.block;
            branch.defined.insert(key.clone());
        }
        self.definitions.entry(key).or_default().push(Definition { flows, block, number, replaced });
    }

    pub(crate) fn is_defined(&self, function: u32, name: &str) -> bool {
        self.definitions.contains_key(&(function, name.to_owned()))
    }

    /// What a use of a variable may refer to, or nothing if it is not defined.
    pub(crate) fn reaching(&self, function: u32, name: &str) -> Option<Vec<Flow>> {
        let definitions = self.definitions.get(&(function, name.to_owned()))?;
        let mut flows = Vec::new();
        let mut reached = 0;
        let mut floor = 0;
        for definition in definitions.iter().rev().take(DEFINITIONS_SCANNED) {
            let mut branches = self.stack.iter().rev().take(BRANCHES_SCANNED);
            if branches.any(|branch| branch.hidden.contains(&definition.number)) {
                continue;
            }
            if definition.number < floor {
                break;
            }
            // What was before it is replaced.
            let sure = definition.block == u32::MAX || self.open[definition.block as usize];
            if let Some(replaced) = definition.replaced {
                floor = floor.max(if sure { replaced } else { 0 });
                continue;
            }
            merge(&mut flows, definition.flows.iter().cloned());
            reached += 1;
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
