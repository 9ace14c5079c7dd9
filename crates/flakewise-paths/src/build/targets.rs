//! What is assigned to.

use flakewise_source::{Language, NodeIndex, SyntaxTree};

use super::{Builder, Location, call_inputs};
use crate::graph::{EdgeKind, Input, NodeId, NodeKind};
use crate::outline::simple_type;
use crate::shape::Shape;
use crate::value::{Root, Value};
use crate::variables::{Flow, SHARED};

impl Builder<'_> {
    /// Defines the parameters of a function: by the values given, or as START
    /// nodes.
    pub(super) fn define_parameters(&mut self, function: Location, values: &[Vec<Flow>]) {
        let tree = self.tree(function);
        let Some(list) = tree.child(function.node, "parameters") else { return };
        let mut position = 0;
        for parameter in tree.children(list) {
            let Some((name, type_name)) = parameter_of(tree, parameter) else { continue };
            if position == 0 && matches!(name, "self" | "cls") && tree.language() == Language::Python {
                continue;
            }
            let given = values.get(position).filter(|flows| !flows.is_empty()).cloned();
            position += 1;
            let at = Location { node: parameter, ..function };
            let flows = given.unwrap_or_else(|| {
                let (line, helper) = (self.line(at), self.helper(at));
                let (text, type_name) = (name.to_owned(), type_name.to_owned());
                vec![Flow::new(self.graph.add(NodeKind::Variable, text, type_name, line, helper, Vec::new()))]
            });
            self.variables.define(function.frame, name, flows);
            self.variables.set_type(function.frame, name, type_name);
        }
    }

    /// Assigns a value to a variable, a member, an element or several of them.
    pub(super) fn bind(&mut self, pattern: Location, value: Value) {
        let tree = self.tree(pattern);
        let mut targets = Vec::new();
        let mut node = pattern.node;
        while node < tree.after(pattern.node) {
            let at = Location { node, ..pattern };
            match self.shape(at) {
                Shape::Name | Shape::Member | Shape::Index => {
                    targets.push(at);
                    node = tree.after(node);
                }
                _ => node += 1,
            }
        }
        let has_call = value.call.is_some();
        let type_name = if targets.len() == 1 { value.type_name.clone() } else { String::new() };
        let inputs = self.inputs_of(value, pattern, "=");
        for target in targets {
            let node = self.assign(target, inputs.clone(), &type_name);
            if let Some(node) = node.filter(|_| has_call) {
                self.effects.push((node, self.statement));
            }
        }
    }

    /// How a value flows into what it is assigned to: a call labels the edges,
    /// and needs no node if anything flows into it.
    pub(super) fn inputs_of(&mut self, value: Value, at: Location, label: &str) -> Vec<Input> {
        if let Some(call) = value.call.as_ref().filter(|_| !value.flows.is_empty()) {
            return call_inputs(call, &value.flows);
        }
        let flows = self.consume(value, at).into_iter();
        flows
            .map(|flow| Input {
                from: flow.node,
                kind: EdgeKind::Operator,
                label: flow.label.unwrap_or_else(|| label.to_owned()),
                callee: None,
            })
            .collect()
    }

    /// Assigns to one target.
    fn assign(&mut self, target: Location, mut inputs: Vec<Input>, type_name: &str) -> Option<NodeId> {
        let tree = self.tree(target);
        let text = self.text(target);
        if self.shape(target) == Shape::Name {
            let shared = !self.variables.is_defined(target.frame, text)
                && tree.language() == Language::Java
                && self.scope.field_type(text).is_some()
                && tree.field(target.node) == "left";
            let function = if shared { SHARED } else { target.frame };
            return Some(self.define(
                target,
                &Root { function, name: text.to_owned() },
                text,
                inputs,
                type_name,
            ));
        }
        let (label, object) = match self.shape(target) {
            Shape::Member => {
                let member =
                    ["field", "attribute", "name"].iter().find_map(|field| tree.child(target.node, field));
                let member = member.map(|member| tree.text(member)).unwrap_or_default();
                let object = self.child(target, "object").or_else(|| self.child(target, "scope"))?;
                let own = self.shape(object) == Shape::Own || matches!(self.text(object), "self" | "cls");
                if own {
                    let root = Root { function: SHARED, name: member.to_owned() };
                    return Some(self.define(target, &root, text, inputs, type_name));
                }
                (format!(".{member}"), object)
            }
            _ => ("[]".to_owned(), self.children(target).into_iter().next()?),
        };
        let root = self.root_of(object)?;
        let before = self.variables.reaching(root.function, &root.name).unwrap_or_default();
        for input in &mut inputs {
            if input.label == "=" {
                input.label.clone_from(&label);
            }
        }
        inputs.splice(
            0..0,
            before.into_iter().map(|flow| Input {
                from: flow.node,
                kind: EdgeKind::Operator,
                label: label.clone(),
                callee: None,
            }),
        );
        Some(self.define(target, &root, &root.name, inputs, ""))
    }

    /// The variable that an expression belongs to.
    fn root_of(&mut self, expression: Location) -> Option<Root> {
        let mut at = expression;
        loop {
            match self.shape(at) {
                Shape::Name => return self.name(at).root,
                Shape::Member => {
                    let object = self.child(at, "object").or_else(|| self.child(at, "scope"))?;
                    let own = self.shape(object) == Shape::Own || matches!(self.text(object), "self" | "cls");
                    if own {
                        let member = ["field", "attribute"].iter().find_map(|field| self.child(at, field))?;
                        let (name, text) = (self.text(member), self.text(at));
                        let type_name = self.scope.field_type(name).unwrap_or_default();
                        return self.shared(at, name, text, type_name).root;
                    }
                    at = object;
                }
                Shape::Index | Shape::Wrapper => at = self.children(at).into_iter().next()?,
                Shape::Call => at = self.receiver(at)?,
                _ => return None,
            }
        }
    }

    /// Adds a definition of a variable.
    pub(super) fn define(
        &mut self,
        at: Location,
        root: &Root,
        text: &str,
        inputs: Vec<Input>,
        type_name: &str,
    ) -> NodeId {
        let known = self.variables.type_of(root.function, &root.name);
        let type_name = if type_name.is_empty() { known.to_owned() } else { type_name.to_owned() };
        let (line, helper) = (self.line(at), self.helper(at));
        let node =
            self.graph.add(NodeKind::Variable, text.to_owned(), type_name.clone(), line, helper, inputs);
        self.variables.define(root.function, &root.name, vec![Flow::new(node)]);
        self.variables.set_type(root.function, &root.name, &type_name);
        node
    }

    pub(super) fn visit_assignment(&mut self, at: Location) {
        if let Some(right) = self.child(at, "right") {
            self.descend(at, [right]);
        } else {
            let value = self.leave_assignment(at);
            self.values.insert(at, value);
        }
    }

    /// `target = value`, `target += value`, `target := value`.
    pub(super) fn leave_assignment(&mut self, at: Location) -> Value {
        let Some(target) = self.child(at, "left").or_else(|| self.child(at, "name")) else {
            return Value::default();
        };
        let value_at = self.child(at, "right").or_else(|| self.child(at, "value"));
        let mut value = value_at.map(|value| self.take(value)).unwrap_or_default();
        let operator = self.child(at, "operator").map_or("=", |operator| self.text(operator));
        if !matches!(operator, "=" | ":=") {
            let mut before =
                if self.shape(target) == Shape::Name { self.name(target).flows } else { Vec::new() };
            let right = self.consume(value, at);
            crate::variables::merge(&mut before, right);
            for flow in &mut before {
                flow.label = Some(operator.to_owned());
            }
            value = Value { flows: before, ..Value::default() };
        }
        if let Some(annotation) = self.child(at, "type") {
            simple_type(self.text(annotation)).clone_into(&mut value.type_name);
        }
        let single = matches!(self.shape(target), Shape::Name);
        self.bind(target, value);
        if single { self.name(target) } else { Value::default() }
    }

    /// A declarator or a resource of Java.
    pub(super) fn leave_declaration(&mut self, at: Location) {
        let value = self.child(at, "value").map(|value| self.take(value)).unwrap_or_default();
        let Some(name) = self.child(at, "name") else { return };
        let tree = self.tree(at);
        let declared = tree.child(at.node, "type").or_else(|| tree.child(tree.parent(at.node), "type"));
        let declared = declared.map(|at| simple_type(tree.text(at))).filter(|name| *name != "var");
        let type_name = declared.map_or_else(|| value.type_name.clone(), str::to_owned);
        let has_call = value.call.is_some();
        let inputs = self.inputs_of(value, at, "=");
        let text = self.text(name);
        let root = Root { function: at.frame, name: text.to_owned() };
        let node = self.define(name, &root, text, inputs, &type_name);
        if has_call {
            self.effects.push((node, self.statement));
        }
    }

    /// `value instanceof Type name`
    pub(super) fn leave_instance_of(&mut self, at: Location) -> Value {
        let flows: Vec<Location> = self.child(at, "left").into_iter().collect();
        let mut flows = self.union(&flows, "");
        if let Some(name) = self.child(at, "name") {
            let type_name = self.child(at, "right").map(|at| simple_type(self.text(at))).unwrap_or_default();
            self.bind(
                name,
                Value { flows: flows.clone(), type_name: type_name.to_owned(), ..Value::default() },
            );
        }
        for flow in &mut flows {
            flow.label = Some("instanceof".into());
        }
        Value { flows, type_name: "boolean".into(), ..Value::default() }
    }
}

/// The name and type of a parameter.
fn parameter_of(tree: &SyntaxTree, parameter: NodeIndex) -> Option<(&str, &str)> {
    let type_name = tree.child(parameter, "type").map(|at| simple_type(tree.text(at))).unwrap_or_default();
    let name = match tree.kind(parameter) {
        "identifier" => parameter,
        "formal_parameter" | "default_parameter" | "typed_default_parameter" => {
            tree.child(parameter, "name")?
        }
        "spread_parameter" => {
            let declarator = tree.child_of_kind(parameter, "variable_declarator")?;
            tree.child(declarator, "name")?
        }
        "typed_parameter" | "list_splat_pattern" | "dictionary_splat_pattern" => {
            (parameter + 1..tree.after(parameter)).find(|at| tree.kind(*at) == "identifier")?
        }
        _ => return None,
    };
    Some((tree.text(name), type_name))
}
