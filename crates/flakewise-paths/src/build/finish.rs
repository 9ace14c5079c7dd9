//! Assertions, expected exceptions, and tests with neither.

use super::{Builder, Location};
use crate::graph::{AssertionKind, EdgeKind, Helper, Input, NodeId, NodeKind};
use crate::outline::simple_type;
use crate::value::PendingAssertion;

/// What is expected of the rest of a test.
pub(super) struct Expected {
    text: String,
    line: u32,
    inputs: Vec<Input>,
    /// How many effects there were before.
    effects: usize,
}

/// Statements whose calls flow into an expected exception or an implicit
/// assertion: the last one.
const LAST_EFFECTS: usize = 8;

impl Builder<'_> {
    /// `@Test(expected = …)`, `@Test(expectedExceptions = …)` and nose's
    /// `@raises(…)`.
    pub(super) fn expect_from_annotations(&mut self, function: Location) {
        let tree = self.tree(function);
        let line = tree.line(function.node);
        let mut found = None;
        if let Some(modifiers) = tree.child_of_kind(function.node, "modifiers") {
            for node in modifiers..tree.after(modifiers) {
                if tree.kind(node) == "element_value_pair"
                    && tree
                        .child(node, "key")
                        .is_some_and(|key| matches!(tree.text(key), "expected" | "expectedExceptions"))
                {
                    found = tree.child(node, "value").map(|value| tree.text(value));
                }
            }
        }
        let around = tree.parent(function.node);
        if tree.kind(around) == "decorated_definition" {
            for decorator in tree.children(around).filter(|child| tree.kind(*child) == "decorator") {
                let text = tree.text(decorator).trim_start_matches('@').trim();
                found = text.strip_prefix("raises(").map(|rest| rest.trim_end_matches(')')).or(found);
            }
        }
        if let Some(class) = found {
            let class = class.trim_matches(['{', '}', ' ']).trim_end_matches(".class");
            let text = format!("expected {}", simple_type(class));
            self.expected.push(Expected { text, line, inputs: Vec::new(), effects: 0 });
        }
    }

    /// A rule that is told to expect an exception.
    pub(super) fn expect(&mut self, at: Location, inputs: Vec<Input>) {
        let text = format!("expected {}", self.called_name(at));
        let expected = Expected { text, line: self.line(at), inputs, effects: self.effects.len() };
        self.expected.push(expected);
    }

    /// Adds an assertion. Calls before it that nothing uses precede it.
    pub(super) fn assert(&mut self, pending: PendingAssertion) {
        let PendingAssertion { kind, first, last, line, frame, mut inputs } = pending;
        if kind == AssertionKind::Failure {
            let (conditions, effects) = self.conditions.last().cloned().unwrap_or_default();
            inputs.extend(self.last_effects(effects).into_iter().map(ordered));
            inputs.extend(conditions.into_iter().map(|flow| Input {
                from: flow.node,
                kind: EdgeKind::Operator,
                label: flow.label.unwrap_or_else(|| "if".into()),
                callee: None,
            }));
        }
        inputs.extend(std::mem::take(&mut self.earlier).into_iter().map(ordered));
        let text = last.map_or_else(|| first.clone(), |last| format!("{first}.{last}"));
        let frame = &self.frames[frame as usize];
        let helper = frame.line.map(|_| Helper { name: frame.name.clone(), line });
        let line = frame.line.unwrap_or(line);
        self.graph.add(NodeKind::Assertion(kind), text, String::new(), line, helper, inputs);
    }

    /// What the last statement changed or called, among the effects from a
    /// number on.
    pub(super) fn last_effects(&self, from: usize) -> Vec<NodeId> {
        let effects = self.effects.get(from..).unwrap_or_default();
        let Some((_, last)) = effects.last() else { return Vec::new() };
        let of_last = effects.iter().rev().take_while(|(_, statement)| statement == last);
        of_last.map(|(node, _)| *node).take(LAST_EFFECTS).collect()
    }

    /// Adds what is expected of the whole test, and an implicit assertion if
    /// there is no other.
    pub(super) fn finish(&mut self, function: Location) {
        for expected in std::mem::take(&mut self.expected) {
            let mut inputs = expected.inputs;
            let last = self.last_effects(expected.effects);
            self.earlier.retain(|node| !last.contains(node));
            inputs.extend(last.into_iter().map(|from| Input {
                from,
                kind: EdgeKind::Call,
                label: "throws".into(),
                callee: None,
            }));
            self.assert(PendingAssertion {
                kind: AssertionKind::Exception,
                first: expected.text,
                last: None,
                line: expected.line,
                frame: function.frame,
                inputs,
            });
        }
        if self.graph.assertions().next().is_some() || self.graph.nodes.is_empty() {
            return;
        }
        let mut last = self.last_effects(0);
        if last.is_empty() {
            // A test that only defines variables. A docstring is nothing that
            // could fail.
            let computed = |node: &crate::graph::Node| node.kind != NodeKind::Literal;
            last.extend(self.graph.nodes.iter().rposition(computed).and_then(|at| u32::try_from(at).ok()));
        }
        if last.is_empty() && self.earlier.is_empty() {
            return;
        }
        self.earlier.retain(|node| !last.contains(node));
        let inputs = last.into_iter().map(|from| Input {
            from,
            kind: EdgeKind::Call,
            label: "completes".into(),
            callee: None,
        });
        self.assert(PendingAssertion {
            kind: AssertionKind::Implicit,
            first: "completes".into(),
            last: None,
            line: self.tree(function).line(function.node),
            frame: function.frame,
            inputs: inputs.collect(),
        });
    }
}

fn ordered(from: NodeId) -> Input {
    Input { from, kind: EdgeKind::Order, label: "after".into(), callee: None }
}
