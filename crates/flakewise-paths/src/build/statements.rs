//! Statements, branches and closures.

use super::{Builder, Location, Step, call_inputs};
use crate::assertion::{CallName, assertion};
use crate::graph::{AssertionKind, EdgeKind, Input};
use crate::shape::Shape;
use crate::value::{PendingAssertion, Root, Value};
use crate::variables::{Flow, merge};

/// Calls of a closure or a `try` that flow on.
const EFFECTS_KEPT: usize = 16;

impl Builder<'_> {
    pub(super) fn visit_statement(&mut self, at: Location) {
        let steps = match self.shape(at) {
            Shape::Statement => {
                self.statement += 1;
                let below = self.children(at).into_iter();
                if self.is_switch_value(at) {
                    return self.descend(at, below);
                }
                below.flat_map(|below| [Step::Visit(below), Step::Discard(below)]).collect()
            }
            Shape::Update => return self.update(at),
            Shape::Closure => {
                let mut steps = vec![Step::BeginBranches, Step::OpenBranch];
                steps.extend(self.children(at).into_iter().map(Step::Visit));
                let end = Step::LeaveClosure { at, effects: self.effects.len() };
                steps.extend([Step::CloseBranch, Step::EndBranches { is_exhaustive: false }, end]);
                steps
            }
            Shape::Lambda => self.lambda(at),
            Shape::NestedFunction => {
                self.define_parameters(at, &[]);
                let body = self.child(at, "body").map(Step::Visit);
                branch(body.into_iter().collect())
            }
            Shape::If => self.if_statement(at),
            Shape::ForEach => self.for_each(at),
            Shape::Loop => self.repeat(at),
            Shape::Match => self.match_statement(at),
            Shape::Case => {
                let below = self.children(at);
                return self.descend(at, below);
            }
            Shape::Try => self.try_statement(at),
            Shape::With => self.with_statement(at),
            Shape::Comprehension => self.comprehension(at),
            _ => return,
        };
        self.then(steps);
    }

    /// Whether an expression is the value of a switch: `case 1 -> 5;`.
    fn is_switch_value(&self, statement: Location) -> bool {
        let tree = self.tree(statement);
        let rule = tree.parent(statement.node);
        let switch = tree.parent(tree.parent(rule));
        tree.kind(rule) == "switch_rule" && tree.kind(tree.parent(switch)) != "expression_statement"
    }

    /// The value of a statement: it may assert, or change what it is called on.
    pub(super) fn discard(&mut self, at: Location) {
        let value = self.take(at);
        if let Some(assertion) = value.assertion {
            self.assert(assertion);
            return;
        }
        let Some(call) = value.call else { return };
        if let Some(root) = value.root.filter(|_| call.on_variable) {
            let inputs = call_inputs(&call, &value.flows);
            let text = self.display_name(&root);
            let node = self.define(at, &root, &text, inputs, "");
            self.effects.push((node, self.statement));
            return;
        }
        let node = self.call_node(&call, &value.flows, value.type_name);
        self.effects.push((node, self.statement));
        if call.arguments.is_empty() {
            self.earlier.push(node);
        }
        for Root { function, name } in call.arguments {
            self.variables.define(function, &name, vec![Flow::new(node)]);
        }
    }

    /// How a variable was written where it was defined: `self.name` for a field.
    fn display_name(&self, root: &Root) -> String {
        let flows = self.variables.reaching(root.function, &root.name).unwrap_or_default();
        let nodes = flows.iter().map(|flow| &self.graph.nodes[flow.node as usize].text);
        let mut fields = nodes.filter(|text| text.rsplit('.').next() == Some(&root.name));
        fields.next().cloned().unwrap_or_else(|| root.name.clone())
    }

    /// `x++`
    fn update(&mut self, at: Location) {
        let Some(operand) = self.children(at).into_iter().next() else { return };
        if self.shape(operand) != Shape::Name {
            self.descend(at, [operand]);
            return;
        }
        let operator = self.text(at).trim_matches(|character| !matches!(character, '+' | '-'));
        let mut value = self.name(operand);
        for flow in &mut value.flows {
            flow.label = Some(operator.to_owned());
        }
        self.bind(operand, value);
        let value = self.name(operand);
        self.values.insert(at, value);
    }

    /// Parameters of a lambda come from what the call is made on, as in
    /// `list.forEach(item -> …)`.
    fn lambda(&mut self, at: Location) -> Vec<Step> {
        let tree = self.tree(at);
        let list = tree.parent(at.node);
        let call = Location { node: tree.parent(list), ..at };
        let mut flows = Vec::new();
        if self.shape(call) == Shape::Call
            && let Some(receiver) = self.receiver(call)
        {
            let value = self.take(receiver);
            if value.assertion.is_some() {
                let assertion = value.assertion.as_ref();
                let inputs = assertion.into_iter().flat_map(|assertion| &assertion.inputs);
                flows = inputs.map(|input| Flow::new(input.from)).collect();
                self.values.insert(receiver, value);
            } else {
                let (root, type_name) = (value.root.clone(), value.type_name.clone());
                let (static_name, is_own) = (value.static_name.clone(), value.is_own);
                if static_name.is_empty() {
                    flows = self.consume(value, receiver);
                }
                let flows = flows.clone();
                self.values.insert(
                    receiver,
                    Value { flows, root, type_name, static_name, is_own, ..Value::default() },
                );
            }
        }
        let parameters = self.child(at, "parameters");
        if let Some(parameters) = parameters {
            let value = Value { flows, ..Value::default() };
            self.bind_parameters(parameters, &value);
        }
        let mut steps = vec![Step::BeginBranches, Step::OpenBranch];
        steps.extend(self.child(at, "body").map(Step::Visit));
        let end = Step::LeaveClosure { at, effects: self.effects.len() };
        steps.extend([Step::CloseBranch, Step::EndBranches { is_exhaustive: false }, end]);
        steps
    }

    fn bind_parameters(&mut self, parameters: Location, value: &Value) {
        if self.shape(parameters) == Shape::Name {
            self.bind(parameters, value.clone());
            return;
        }
        for parameter in self.children(parameters) {
            let name = self.child(parameter, "name").unwrap_or(parameter);
            if self.shape(name) == Shape::Name {
                self.bind(name, value.clone());
            }
        }
    }

    pub(super) fn leave_closure(&mut self, at: Location, effects: usize) {
        let mut flows = Vec::new();
        if let Some(body) = self.child(at, "body")
            && let Some(value) = self.values.remove(&body)
        {
            merge(&mut flows, self.consume(value, body));
        }
        let called = self.effects.get(effects..).unwrap_or_default().iter().rev().take(EFFECTS_KEPT);
        let called: Vec<Flow> = called.map(|(node, _)| Flow::new(*node)).collect();
        merge(&mut flows, called);
        // Calls within it run when it is called, not here.
        self.earlier.retain(|node| flows.iter().all(|flow| flow.node != *node));
        self.values.insert(at, Value { flows, ..Value::default() });
    }

    fn if_statement(&mut self, at: Location) -> Vec<Step> {
        let Some(condition) = self.child(at, "condition") else { return Vec::new() };
        let mut steps = vec![Step::Visit(condition), Step::Condition(condition), Step::BeginBranches];
        let tree = self.tree(at);
        let mut is_exhaustive = false;
        for below in self.children(at) {
            let field = tree.field(below.node);
            is_exhaustive |= field == "alternative" && tree.kind(below.node) != "elif_clause";
            if matches!(field, "consequence" | "alternative") {
                steps.extend([Step::OpenBranch, Step::Visit(below), Step::CloseBranch]);
            }
        }
        steps.extend([Step::EndBranches { is_exhaustive }, Step::EndCondition]);
        steps
    }

    fn for_each(&mut self, at: Location) -> Vec<Step> {
        let value = self.child(at, "value").or_else(|| self.child(at, "right"));
        let name = self.child(at, "name").or_else(|| self.child(at, "left"));
        let (Some(value), Some(name)) = (value, name) else { return Vec::new() };
        let tree = self.tree(at);
        if let Some(declared) = self.child(at, "type").map(|at| self.text(at)).filter(|text| *text != "var") {
            let name = tree.text(name.node);
            self.variables.set_type(at.frame, name, crate::outline::simple_type(declared));
        }
        let mut inside = vec![Step::Bind { pattern: name, value }];
        inside.extend(self.child(at, "body").map(Step::Visit));
        let mut steps = vec![Step::Visit(value)];
        steps.extend(branch(inside));
        steps.extend(self.child(at, "alternative").map(Step::Visit));
        steps
    }

    /// `for (…; …; …)` and `while`.
    fn repeat(&mut self, at: Location) -> Vec<Step> {
        let tree = self.tree(at);
        let of = |field: &str| -> Vec<Location> {
            let below = tree
                .all_children(at.node)
                .filter(|below| tree.field(*below) == field && tree.is_named(*below));
            below.map(|node| Location { node, ..at }).collect()
        };
        let visited = |below: Vec<Location>| {
            below.into_iter().flat_map(|below| [Step::Visit(below), Step::Discard(below)])
        };
        let mut steps: Vec<Step> = visited(of("init")).collect();
        let condition = self.child(at, "condition");
        steps.extend(condition.into_iter().flat_map(|at| [Step::Visit(at), Step::Condition(at)]));
        let mut inside: Vec<Step> = self.child(at, "body").map(Step::Visit).into_iter().collect();
        inside.extend(visited(of("update")));
        steps.extend(branch(inside));
        steps.extend(condition.map(|_| Step::EndCondition));
        steps.extend(self.child(at, "alternative").map(Step::Visit));
        steps
    }

    fn match_statement(&mut self, at: Location) -> Vec<Step> {
        let subject = self.child(at, "condition").or_else(|| self.child(at, "subject"));
        let mut steps: Vec<Step> = subject.map(Step::Visit).into_iter().collect();
        steps.push(Step::BeginBranches);
        let body = self.child(at, "body");
        let mut is_exhaustive = false;
        for case in body.map(|body| self.children(body)).unwrap_or_default() {
            let text = self.text(case);
            is_exhaustive |= text.starts_with("default") || text.starts_with("case _:");
            steps.push(Step::OpenBranch);
            let patterns = self.children(case).into_iter();
            let patterns = patterns.filter(|below| self.tree(at).kind(below.node) == "case_pattern");
            if let Some(value) = subject {
                steps.extend(patterns.map(|pattern| Step::Bind { pattern, value }));
            }
            steps.extend([Step::Visit(case), Step::CloseBranch]);
        }
        steps.push(Step::EndBranches { is_exhaustive });
        steps.extend(body.map(Step::Leave));
        steps.push(Step::Leave(at));
        steps
    }

    fn try_statement(&mut self, at: Location) -> Vec<Step> {
        let tree = self.tree(at);
        let effects = self.effects.len();
        let mut steps = Vec::new();
        for below in self.children(at) {
            if !matches!(tree.kind(below.node), "catch_clause" | "except_clause" | "except_group_clause") {
                steps.push(Step::Visit(below));
                continue;
            }
            let mut inside = Vec::new();
            for part in self.children(below) {
                match tree.kind(part.node) {
                    "catch_formal_parameter" => {
                        let name = self.child(part, "name");
                        inside.extend(name.map(|pattern| Step::Caught { pattern, effects }));
                    }
                    "as_pattern" => {
                        let alias = self.child(part, "alias");
                        inside.extend(alias.map(|pattern| Step::Caught { pattern, effects }));
                    }
                    "identifier" if tree.field(part.node) == "alias" => {
                        inside.push(Step::Caught { pattern: part, effects });
                    }
                    "block" => inside.push(Step::Visit(part)),
                    _ => {}
                }
            }
            steps.extend(branch(inside));
        }
        steps
    }

    pub(super) fn caught(&mut self, pattern: Location, effects: usize) {
        let called = self.effects.get(effects..).unwrap_or_default().iter().rev().take(EFFECTS_KEPT);
        let flows = called.map(|(node, _)| Flow { node: *node, label: Some("catch".into()) }).collect();
        self.bind(pattern, Value { flows, ..Value::default() });
    }

    /// Context managers. `with raises(…)` is an assertion about its body.
    fn with_statement(&mut self, at: Location) -> Vec<Step> {
        let tree = self.tree(at);
        let mut steps = Vec::new();
        let mut ends = Vec::new();
        let clause = tree.child_of_kind(at.node, "with_clause").map(|node| Location { node, ..at });
        let mut items = Vec::new();
        for item in clause.map(|clause| self.children(clause)).unwrap_or_default() {
            let value = self.child(item, "value");
            // `with (a as b, c as d):` is a tuple to some versions of the grammar.
            match value.filter(|value| tree.kind(value.node) == "tuple") {
                Some(tuple) => items.extend(self.children(tuple)),
                None => items.extend(value),
            }
        }
        for item in items {
            let (value, alias) = if tree.kind(item.node) == "as_pattern" {
                (self.children(item).into_iter().next(), self.child(item, "alias"))
            } else {
                (Some(item), None)
            };
            let Some(value) = value else { continue };
            if self.raises(value) {
                steps.extend(self.arguments(value).into_iter().map(Step::Visit));
                ends.push(Step::LeaveRaises { at, call: value, alias, effects: self.effects.len() });
                continue;
            }
            steps.push(Step::Visit(value));
            steps.push(match alias {
                Some(pattern) => Step::Bind { pattern, value },
                None => Step::Discard(value),
            });
        }
        steps.extend(self.child(at, "body").map(Step::Visit));
        ends.reverse();
        steps.extend(ends);
        steps
    }

    /// Whether a context manager expects an exception or a warning.
    fn raises(&self, value: Location) -> bool {
        if self.shape(value) != Shape::Call {
            return false;
        }
        let name = self.called_name(value);
        let function = self.child(value, "function");
        let receiver = function.and_then(|function| self.child(function, "object"));
        let called = CallName {
            language: self.tree(value).language(),
            receiver: self.receiver_name(receiver),
            receiver_type: "",
            name,
            has_receiver: receiver.is_some(),
        };
        assertion(&called) == Some(AssertionKind::Exception)
    }

    pub(super) fn leave_raises(
        &mut self,
        at: Location,
        call: Location,
        alias: Option<Location>,
        effects: usize,
    ) {
        let name = self.called_name(call);
        let arguments = self.arguments(call);
        let expected = self.union(&arguments, "");
        let called = self.effects.get(effects..).unwrap_or_default().iter().rev().take(EFFECTS_KEPT);
        let called: Vec<Flow> = called.map(|(node, _)| Flow::new(*node)).collect();
        self.earlier.retain(|node| called.iter().all(|flow| flow.node != *node));
        let input = |flow: &Flow| Input {
            from: flow.node,
            kind: EdgeKind::Call,
            label: name.to_owned(),
            callee: None,
        };
        let inputs = expected.iter().chain(&called).map(input).collect();
        self.assert(PendingAssertion {
            kind: AssertionKind::Exception,
            first: name.to_owned(),
            last: None,
            line: self.tree(at).line(at.node),
            frame: at.frame,
            inputs,
        });
        if let Some(alias) = alias {
            let flows =
                called.into_iter().map(|flow| Flow { label: Some(name.to_owned()), ..flow }).collect();
            self.bind(alias, Value { flows, ..Value::default() });
        }
    }

    fn comprehension(&mut self, at: Location) -> Vec<Step> {
        let tree = self.tree(at);
        let mut steps = Vec::new();
        for clause in self.children(at) {
            match tree.kind(clause.node) {
                "for_in_clause" => {
                    let (left, right) = (self.child(clause, "left"), self.child(clause, "right"));
                    let (Some(pattern), Some(value)) = (left, right) else { continue };
                    steps.extend([Step::Visit(value), Step::Bind { pattern, value }]);
                }
                "if_clause" => steps.push(Step::Visit(clause)),
                _ => {}
            }
        }
        steps.extend(self.child(at, "body").map(Step::Visit));
        steps.push(Step::Leave(at));
        steps
    }

    pub(super) fn leave_assert(&mut self, at: Location) {
        let condition = self.children(at).into_iter().next();
        let flows = condition.map(|condition| self.union(&[condition], "")).unwrap_or_default();
        self.statement += 1;
        self.assert(PendingAssertion {
            kind: AssertionKind::Condition,
            first: "assert".into(),
            last: None,
            line: self.tree(at).line(at.node),
            frame: at.frame,
            inputs: super::calls::inputs(flows, "assert"),
        });
    }

    /// Raising an assertion error fails the test.
    pub(super) fn leave_raise(&mut self, at: Location) {
        let below = self.children(at);
        let flows = self.union(&below, "");
        let text = self.text(at);
        let class = text
            .split(|character: char| !character.is_alphanumeric())
            .find(|word| !matches!(*word, "" | "throw" | "new" | "raise"));
        if class.is_some_and(|class| class.starts_with("Assertion") || class == "ComparisonFailure") {
            self.assert(PendingAssertion {
                kind: AssertionKind::Failure,
                first: class.unwrap_or_default().to_owned(),
                last: None,
                line: self.tree(at).line(at.node),
                frame: at.frame,
                inputs: super::calls::inputs(flows, "raise"),
            });
        }
    }
}

/// Steps that may not be done.
fn branch(inside: Vec<Step>) -> Vec<Step> {
    let mut steps = vec![Step::BeginBranches, Step::OpenBranch];
    steps.extend(inside);
    steps.extend([Step::CloseBranch, Step::EndBranches { is_exhaustive: false }]);
    steps
}
