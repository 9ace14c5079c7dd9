//! Builds the graph of a test.
//!
//! The syntax is walked once with a list of steps instead of a recursion, in
//! the order in which the code would run. Calls of helpers that assert
//! something are replaced by the helpers' bodies.

mod calls;
mod finish;
mod statements;
mod targets;

use std::collections::HashMap;

use flakewise_source::{Language, NodeIndex, SyntaxTree};

use crate::graph::{EdgeKind, Graph, Helper, Input, NodeId, NodeKind};
use crate::limits::{TEXT_BYTES, VISITS_PER_TEST};
use crate::outline::simple_type;
use crate::resolve::Resolve;
use crate::scope::{FunctionRef, Scope};
use crate::shape::{self, Shape, is_comparison};
use crate::value::{PendingCall, Root, Value};
use crate::variables::{Flow, SHARED, Variables, merge};

/// A node of the syntax in one of the functions that are walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Location {
    frame: u32,
    node: NodeIndex,
}

/// What is done next; the last one first.
enum Step {
    Visit(Location),
    /// All that is below has its value.
    Leave(Location),
    /// The value of an expression is not used any more.
    Discard(Location),
    /// A value becomes the condition of what follows.
    Condition(Location),
    /// Begins a statement with branches.
    BeginBranches,
    /// Begins one of its branches.
    OpenBranch,
    CloseBranch,
    /// Ends it. If it is exhaustive, one of them runs.
    EndBranches {
        is_exhaustive: bool,
    },
    EndCondition,
    /// Assigns a value to a pattern. The value stays for further patterns.
    Bind {
        pattern: Location,
        value: Location,
    },
    /// Defines the variable of a `catch` by what was called since.
    Caught {
        pattern: Location,
        effects: usize,
    },
    /// Ends a lambda or an anonymous class: its value is what it called since.
    LeaveClosure {
        at: Location,
        effects: usize,
    },
    /// Ends `with raises(…)`.
    LeaveRaises {
        at: Location,
        call: Location,
        alias: Option<Location>,
        effects: usize,
    },
    /// Ends a helper in place of its call.
    LeaveHelper {
        call: Location,
        frame: u32,
    },
}

/// A function that is walked: the test, or a helper for one of its calls.
struct Frame<'a> {
    tree: &'a SyntaxTree,
    /// The line of the call in the test.
    line: Option<u32>,
    name: String,
    function: Option<FunctionRef>,
    depth: u32,
    /// The frame of the call.
    caller: u32,
    returns: Vec<Flow>,
}

struct Builder<'a> {
    scope: &'a Scope<'a>,
    resolver: &'a dyn Resolve,
    graph: Graph,
    steps: Vec<Step>,
    values: HashMap<Location, Value>,
    frames: Vec<Frame<'a>>,
    variables: Variables,
    /// What statements changed or called, each with the number of its statement.
    effects: Vec<(NodeId, u32)>,
    statement: u32,
    /// Calls with no value that precede the next assertion.
    earlier: Vec<NodeId>,
    /// Conditions of the code at hand, each with the number of effects before it.
    conditions: Vec<(Vec<Flow>, usize)>,
    /// What a rule expects of the whole test.
    expected: Vec<finish::Expected>,
    literals: HashMap<(String, u32), NodeId>,
    helpers: u32,
    visits: usize,
}

/// Builds the graph of a function.
pub(crate) fn build<'a>(
    tree: &'a SyntaxTree,
    function: NodeIndex,
    scope: &'a Scope<'a>,
    resolver: &'a dyn Resolve,
) -> Graph {
    let frame = Frame {
        tree,
        line: None,
        name: String::new(),
        function: None,
        depth: 0,
        caller: 0,
        returns: Vec::new(),
    };
    let mut builder = Builder {
        scope,
        resolver,
        graph: Graph::default(),
        steps: Vec::new(),
        values: HashMap::new(),
        frames: vec![frame],
        variables: Variables::default(),
        effects: Vec::new(),
        statement: 0,
        earlier: Vec::new(),
        conditions: Vec::new(),
        expected: Vec::new(),
        literals: HashMap::new(),
        helpers: 0,
        visits: 0,
    };
    let at = Location { frame: 0, node: function };
    builder.expect_from_annotations(at);
    builder.define_parameters(at, &[]);
    let body = tree.child(function, "body");
    builder.steps.extend(body.map(|node| Step::Visit(Location { frame: 0, node })));
    builder.run();
    builder.finish(at);
    builder.graph
}

impl<'a> Builder<'a> {
    fn run(&mut self) {
        while let Some(step) = self.steps.pop() {
            match step {
                Step::Visit(at) => {
                    self.visits += 1;
                    if self.visits > VISITS_PER_TEST {
                        self.steps.clear();
                        return;
                    }
                    self.visit(at);
                }
                Step::Leave(at) => self.leave(at),
                Step::Discard(at) => self.discard(at),
                Step::Condition(at) => {
                    let value = self.take(at);
                    let flows = self.consume(value, at);
                    self.conditions.push((flows, self.effects.len()));
                }
                Step::EndCondition => drop(self.conditions.pop()),
                Step::BeginBranches => self.variables.begin_branches(),
                Step::OpenBranch => self.variables.open_branch(),
                Step::CloseBranch => self.variables.close_branch(),
                Step::EndBranches { is_exhaustive } => self.variables.end_branches(is_exhaustive),
                Step::Bind { pattern, value } => {
                    let mut bound = self.take(value);
                    if bound.assertion.is_some() {
                        let flows = self.consume(bound, value);
                        bound = Value { flows, ..Value::default() };
                    }
                    self.values.insert(value, bound.clone());
                    self.bind(pattern, bound);
                }
                Step::Caught { pattern, effects } => self.caught(pattern, effects),
                Step::LeaveClosure { at, effects } => self.leave_closure(at, effects),
                Step::LeaveRaises { at, call, alias, effects } => self.leave_raises(at, call, alias, effects),
                Step::LeaveHelper { call, frame } => {
                    let flows = std::mem::take(&mut self.frames[frame as usize].returns);
                    self.values.insert(call, Value { flows, ..Value::default() });
                }
            }
        }
    }

    fn tree(&self, at: Location) -> &'a SyntaxTree {
        self.frames[at.frame as usize].tree
    }

    fn shape(&self, at: Location) -> Shape {
        let tree = self.tree(at);
        match tree.language() {
            Language::Python => shape::python(tree.kind(at.node)),
            _ => shape::java(tree.kind(at.node)),
        }
    }

    fn text(&self, at: Location) -> &'a str {
        self.tree(at).text(at.node)
    }

    fn child(&self, at: Location, field: &str) -> Option<Location> {
        self.tree(at).child(at.node, field).map(|node| Location { node, ..at })
    }

    fn children(&self, at: Location) -> Vec<Location> {
        self.tree(at).children(at.node).map(|node| Location { node, ..at }).collect()
    }

    /// The line in the test.
    fn line(&self, at: Location) -> u32 {
        self.frames[at.frame as usize].line.unwrap_or_else(|| self.tree(at).line(at.node))
    }

    fn helper(&self, at: Location) -> Option<Helper> {
        let frame = &self.frames[at.frame as usize];
        frame.line.map(|_| Helper { name: frame.name.clone(), line: self.tree(at).line(at.node) })
    }

    /// Adds steps that are done in the order given, before all others.
    fn then(&mut self, steps: impl IntoIterator<Item = Step>) {
        let start = self.steps.len();
        self.steps.extend(steps);
        self.steps[start..].reverse();
    }

    /// Visits nodes in order and then leaves the one around them.
    fn descend(&mut self, at: Location, below: impl IntoIterator<Item = Location>) {
        let steps: Vec<Step> = below.into_iter().map(Step::Visit).chain([Step::Leave(at)]).collect();
        self.then(steps);
    }

    fn visit(&mut self, at: Location) {
        match self.shape(at) {
            Shape::Skip => {}
            Shape::Name => {
                let value = self.name(at);
                self.values.insert(at, value);
            }
            Shape::Own => {
                self.values.insert(at, Value { is_own: true, ..Value::default() });
            }
            Shape::Literal => {
                let value = self.literal(at);
                self.values.insert(at, value);
            }
            Shape::Text => {
                let parts: Vec<Location> = self
                    .children(at)
                    .into_iter()
                    .filter(|part| self.tree(at).kind(part.node) == "interpolation")
                    .filter_map(|part| self.child(part, "expression"))
                    .collect();
                if parts.is_empty() {
                    let value = self.literal(at);
                    self.values.insert(at, value);
                } else {
                    self.descend(at, parts);
                }
            }
            Shape::Call => self.visit_call(at),
            Shape::Creation => {
                let mut below = self.arguments(at);
                let tree = self.tree(at);
                below.extend(tree.child_of_kind(at.node, "class_body").map(|node| Location { node, ..at }));
                self.descend(at, below);
            }
            Shape::FunctionReference | Shape::Assert => {
                // Of an assertion the condition, not the message.
                let first = self.children(at).into_iter().next();
                self.descend(at, first);
            }
            Shape::Member => {
                let object = self.child(at, "object").or_else(|| self.child(at, "scope"));
                self.descend(at, object);
            }
            Shape::Assignment => self.visit_assignment(at),
            Shape::Augmented => {
                let right = self.child(at, "right");
                self.descend(at, right);
            }
            Shape::Declaration => match self.child(at, "value") {
                Some(value) => self.descend(at, [value]),
                None => self.leave_declaration(at),
            },
            Shape::NamedExpression | Shape::KeywordArgument => {
                let value = self.child(at, "value");
                self.descend(at, value);
            }
            Shape::InstanceOf => {
                let left = self.child(at, "left");
                self.descend(at, left);
            }
            Shape::Index
            | Shape::Comparison
            | Shape::Operator
            | Shape::Collection
            | Shape::Return
            | Shape::Raise
            | Shape::Group
            | Shape::Wrapper => {
                let tree = self.tree(at);
                let below = self.children(at).into_iter().filter(|below| tree.field(below.node) != "type");
                let below: Vec<Location> = below.collect();
                self.descend(at, below);
            }
            _ => self.visit_statement(at),
        }
    }

    /// All that is below a node has its value: now it gets its own.
    fn leave(&mut self, at: Location) {
        let value = match self.shape(at) {
            Shape::Call => return self.leave_call(at),
            Shape::Creation => self.leave_creation(at),
            Shape::FunctionReference => self.leave_reference(at),
            Shape::Member => self.leave_member(at),
            Shape::Index => self.leave_index(at),
            Shape::Comparison | Shape::Operator => self.leave_operator(at),
            Shape::Assignment | Shape::Augmented | Shape::NamedExpression => self.leave_assignment(at),
            Shape::Declaration => return self.leave_declaration(at),
            Shape::InstanceOf => self.leave_instance_of(at),
            Shape::Wrapper | Shape::KeywordArgument => {
                let below = self.children(at);
                let mut value = Value::default();
                for below in below {
                    value = self.values.remove(&below).unwrap_or(value);
                }
                if let Some(cast) = self.child(at, "type") {
                    simple_type(self.text(cast)).clone_into(&mut value.type_name);
                }
                value
            }
            Shape::Text => {
                let parts = self.children(at).into_iter().filter_map(|part| self.child(part, "expression"));
                let parts: Vec<Location> = parts.collect();
                let flows = self.union(&parts, "format");
                Value { flows, type_name: "str".into(), ..Value::default() }
            }
            Shape::Collection => {
                let below = self.children(at);
                let flows = self.union(&below, "");
                if flows.is_empty() { self.literal(at) } else { Value { flows, ..Value::default() } }
            }
            Shape::Comprehension => {
                let body = self.child(at, "body");
                let flows = self.union(&body.into_iter().collect::<Vec<_>>(), "for");
                Value { flows, ..Value::default() }
            }
            Shape::Assert => return self.leave_assert(at),
            Shape::Return => {
                let below = self.children(at);
                let flows = self.union(&below, "return");
                let frame = &mut self.frames[at.frame as usize];
                merge(&mut frame.returns, flows);
                return;
            }
            Shape::Raise => return self.leave_raise(at),
            Shape::NestedFunction => Value::default(),
            _ => {
                let below = self.children(at);
                let flows = self.union(&below, "");
                Value { flows, ..Value::default() }
            }
        };
        self.values.insert(at, value);
    }

    fn take(&mut self, at: Location) -> Value {
        self.values.remove(&at).unwrap_or_default()
    }

    /// What flows out of several values. What has no label gets this one,
    /// unless it is empty.
    fn union(&mut self, below: &[Location], label: &str) -> Vec<Flow> {
        let mut flows = Vec::new();
        for at in below {
            if let Some(value) = self.values.remove(at) {
                merge(&mut flows, self.consume(value, *at));
            }
        }
        for flow in &mut flows {
            if flow.label.is_none() && !label.is_empty() {
                flow.label = Some(label.to_owned());
            }
        }
        flows
    }

    /// What flows out of a value that something else uses. A call gets its
    /// node now.
    fn consume(&mut self, value: Value, at: Location) -> Vec<Flow> {
        if let Some(assertion) = value.assertion {
            // An assertion ends all paths into it; its result, such as the
            // exception that was thrown, comes from the same values.
            let flows = assertion.inputs.iter().map(|input| Flow::new(input.from)).collect();
            self.assert(assertion);
            return flows;
        }
        if let Some(call) = value.call {
            return vec![Flow::new(self.call_node(&call, &value.flows, value.type_name))];
        }
        if value.flows.is_empty() && !value.static_name.is_empty() {
            let line = self.line(at);
            let key = (value.static_name, line);
            let known = self.literals.get(&key).copied();
            let node = known.unwrap_or_else(|| {
                let text = key.0.clone();
                let helper = self.helper(at);
                self.graph.add(NodeKind::Variable, text, String::new(), line, helper, Vec::new())
            });
            self.literals.insert(key, node);
            return vec![Flow::new(node)];
        }
        value.flows
    }

    fn call_node(&mut self, call: &PendingCall, flows: &[Flow], type_name: String) -> NodeId {
        let inputs = call_inputs(call, flows);
        let frame = &self.frames[call.frame as usize];
        let line = frame.line.unwrap_or(call.line);
        let helper = frame.line.map(|_| Helper { name: frame.name.clone(), line: call.line });
        let node = self.graph.add(NodeKind::Call, call.text.clone(), type_name, line, helper, inputs);
        self.graph.nodes[node as usize].callee.clone_from(&call.callee);
        node
    }

    fn literal(&mut self, at: Location) -> Value {
        let text = self.short(at, "…");
        let line = self.line(at);
        let tree = self.tree(at);
        let type_name = match tree.kind(at.node) {
            "string_literal" => "String",
            "string" => "str",
            "true" | "false" => "boolean",
            "class_literal" => "Class",
            "decimal_integer_literal" | "integer" => "int",
            "float" => "float",
            "decimal_floating_point_literal" => "double",
            "character_literal" => "char",
            _ => "",
        };
        let key = (text, line);
        let known = self.literals.get(&key).copied();
        let node = known.unwrap_or_else(|| {
            let helper = self.helper(at);
            self.graph.add(NodeKind::Literal, key.0.clone(), type_name.into(), line, helper, Vec::new())
        });
        self.literals.insert(key, node);
        Value { flows: vec![Flow::new(node)], type_name: type_name.into(), ..Value::default() }
    }

    /// The source of a node if it is short and on one line.
    fn short(&self, at: Location, instead: &str) -> String {
        let text = self.text(at);
        if text.len() <= TEXT_BYTES && !text.contains('\n') {
            return text.to_owned();
        }
        let line = text.lines().next().unwrap_or_default();
        let head = &line[..line.floor_char_boundary(TEXT_BYTES / 2)];
        format!("{head}{instead}")
    }

    /// A variable, or a class, function or module.
    fn name(&mut self, at: Location) -> Value {
        let name = self.text(at);
        if matches!(name, "self" | "cls") && self.tree(at).language() == Language::Python {
            return Value { is_own: true, ..Value::default() };
        }
        if let Some(value) = self.variable(at.frame, name) {
            return value;
        }
        let field =
            (self.tree(at).language() == Language::Java).then(|| self.scope.field_type(name)).flatten();
        if field.is_none() && self.is_static_name(at, name) {
            return Value { static_name: name.to_owned(), ..Value::default() };
        }
        self.shared(at, name, name, field.unwrap_or_default())
    }

    /// A variable of a function, or a shared one, if it is defined here.
    fn variable(&self, frame: u32, name: &str) -> Option<Value> {
        [frame, SHARED].into_iter().find_map(|function| {
            let flows = self.variables.reaching(function, name).filter(|flows| !flows.is_empty())?;
            Some(Value {
                flows,
                root: Some(Root { function, name: name.to_owned() }),
                type_name: self.variables.type_of(function, name).to_owned(),
                ..Value::default()
            })
        })
    }

    /// A field or a variable from outside of the test: a START node.
    fn shared(&mut self, at: Location, name: &str, text: &str, type_name: &str) -> Value {
        if let Some(value) = self.variable(SHARED, name) {
            return value;
        }
        let (line, helper) = (self.line(at), self.helper(at));
        let node = self.graph.add(
            NodeKind::Variable,
            text.to_owned(),
            type_name.to_owned(),
            line,
            helper,
            Vec::new(),
        );
        self.variables.define(SHARED, name, vec![Flow::new(node)]);
        self.variables.set_type(SHARED, name, type_name);
        Value {
            flows: vec![Flow::new(node)],
            root: Some(Root { function: SHARED, name: name.to_owned() }),
            type_name: type_name.to_owned(),
            ..Value::default()
        }
    }

    fn is_static_name(&self, at: Location, name: &str) -> bool {
        if self.scope.is_known_name(name) {
            return true;
        }
        match self.tree(at).language() {
            Language::Java => {
                let constant = name.len() > 1 && !name.contains(char::is_lowercase);
                name.starts_with(char::is_uppercase) && !constant
            }
            _ => {
                is_builtin(name) || name.starts_with(char::is_uppercase) && name.contains(char::is_lowercase)
            }
        }
    }

    fn leave_member(&mut self, at: Location) -> Value {
        let object = self.child(at, "object").or_else(|| self.child(at, "scope"));
        let member = ["field", "attribute", "name"].iter().find_map(|field| self.child(at, field));
        let name = member.map(|member| self.text(member)).unwrap_or_default();
        let Some(object_at) = object else { return Value::default() };
        let mut object = self.take(object_at);
        if object.is_own {
            let type_name = self.scope.field_type(name).unwrap_or_default();
            return self.shared(at, name, self.text(at), type_name);
        }
        if !object.static_name.is_empty() && object.flows.is_empty() {
            let static_name = format!("{}.{name}", object.static_name);
            return Value { static_name, ..Value::default() };
        }
        let root = object.root.take();
        let mut flows = self.consume(object, object_at);
        for flow in &mut flows {
            flow.label.get_or_insert_with(|| format!(".{name}"));
        }
        Value { flows, root, ..Value::default() }
    }

    fn leave_index(&mut self, at: Location) -> Value {
        let mut below = self.children(at).into_iter();
        let Some(object_at) = below.next() else { return Value::default() };
        let mut object = self.take(object_at);
        let root = object.root.take();
        let mut flows = self.consume(object, object_at);
        for index in below {
            // A literal index says where a value is, not what it is.
            let mut index_flows = self.union(&[index], "");
            index_flows.retain(|flow| self.graph.nodes[flow.node as usize].kind != NodeKind::Literal);
            merge(&mut flows, index_flows);
        }
        for flow in &mut flows {
            flow.label.get_or_insert_with(|| "[]".into());
        }
        Value { flows, root, ..Value::default() }
    }

    fn leave_operator(&mut self, at: Location) -> Value {
        let tree = self.tree(at);
        let operator = tree
            .all_children(at.node)
            .find(|child| matches!(tree.field(*child), "operator" | "operators") || !tree.is_named(*child));
        let operator = operator.map(|operator| tree.text(operator)).unwrap_or_default();
        let below = self.children(at);
        let mut flows = self.union(&below, operator);
        if is_comparison(operator) {
            for flow in &mut flows {
                flow.label = Some(operator.to_owned());
            }
        }
        let type_name = if is_comparison(operator) { "boolean".to_owned() } else { String::new() };
        Value { flows, type_name, ..Value::default() }
    }
}

/// What flows into a call.
fn call_inputs(call: &PendingCall, flows: &[Flow]) -> Vec<Input> {
    flows
        .iter()
        .map(|flow| Input {
            from: flow.node,
            kind: EdgeKind::Call,
            label: call.label.clone(),
            callee: call.callee.clone(),
        })
        .collect()
}

/// Names that are functions or modules of Python rather than variables, where
/// no import tells.
fn is_builtin(name: &str) -> bool {
    const FUNCTIONS: &[&str] = &[
        "abs",
        "all",
        "any",
        "ascii",
        "bin",
        "bool",
        "bytearray",
        "bytes",
        "callable",
        "chr",
        "delattr",
        "dict",
        "dir",
        "divmod",
        "enumerate",
        "filter",
        "float",
        "format",
        "frozenset",
        "getattr",
        "hasattr",
        "hash",
        "hex",
        "id",
        "input",
        "int",
        "isinstance",
        "issubclass",
        "iter",
        "len",
        "list",
        "map",
        "max",
        "min",
        "next",
        "object",
        "open",
        "ord",
        "pow",
        "print",
        "range",
        "repr",
        "reversed",
        "round",
        "set",
        "setattr",
        "slice",
        "sorted",
        "str",
        "sum",
        "super",
        "tuple",
        "type",
        "vars",
        "zip",
    ];
    const MODULES: &[&str] = &[
        "asyncio",
        "datetime",
        "json",
        "logging",
        "math",
        "mock",
        "np",
        "os",
        "pd",
        "pytest",
        "random",
        "re",
        "requests",
        "shutil",
        "socket",
        "subprocess",
        "sys",
        "tempfile",
        "threading",
        "time",
        "unittest",
        "uuid",
    ];
    FUNCTIONS.binary_search(&name).is_ok() || MODULES.binary_search(&name).is_ok()
}
