//! Calls, the creation of objects, and references to functions.

use flakewise_source::Language;

use super::{Builder, Frame, Location, Step};
use crate::assertion::{CallName, assertion, is_exception_rule};
use crate::graph::{EdgeKind, Input};
use crate::limits::{HELPER_DEPTH, HELPERS_PER_TEST};
use crate::outline::simple_type;
use crate::resolve::CallSite;
use crate::scope::{FunctionRef, Receiver};
use crate::shape::Shape;
use crate::value::{PendingAssertion, PendingCall, Root, Value};
use crate::variables::{Flow, merge};

/// The arguments of a call, used.
struct Arguments {
    /// By argument.
    flows: Vec<Vec<Flow>>,
    types: Vec<String>,
    /// Variables that the call may change.
    roots: Vec<Root>,
}

impl<'a> Builder<'a> {
    /// What a call is made on, if that is an expression with a value.
    pub(super) fn receiver(&self, call: Location) -> Option<Location> {
        if self.tree(call).language() == Language::Java {
            return self.child(call, "object");
        }
        let function = self.child(call, "function")?;
        match self.shape(function) {
            Shape::Member => self.child(function, "object"),
            // A variable that is called, such as a fixture.
            Shape::Name => self.variable(function.frame, self.text(function)).map(|_| function),
            _ => Some(function),
        }
    }

    pub(super) fn called_name(&self, call: Location) -> &'a str {
        if self.tree(call).language() == Language::Java {
            return self.child(call, "name").map(|name| self.text(name)).unwrap_or_default();
        }
        let Some(function) = self.child(call, "function") else { return "" };
        match self.shape(function) {
            Shape::Member => {
                self.child(function, "attribute").map(|name| self.text(name)).unwrap_or_default()
            }
            Shape::Name => self.text(function),
            _ => "",
        }
    }

    pub(super) fn arguments(&self, call: Location) -> Vec<Location> {
        let Some(list) = self.child(call, "arguments") else { return Vec::new() };
        if self.shape(list) == Shape::Comprehension { vec![list] } else { self.children(list) }
    }

    pub(super) fn visit_call(&mut self, at: Location) {
        let mut below: Vec<Location> = self.receiver(at).into_iter().collect();
        below.extend(self.arguments(at));
        self.descend(at, below);
    }

    fn take_arguments(&mut self, call: Location) -> Arguments {
        let mut taken = Arguments { flows: Vec::new(), types: Vec::new(), roots: Vec::new() };
        for at in self.arguments(call) {
            let value = self.take(at);
            let changes = !is_immutable(&value.type_name) && value.call.is_none();
            let plain = matches!(self.shape(at), Shape::Name | Shape::Member | Shape::KeywordArgument);
            taken.roots.extend(value.root.clone().filter(|_| changes && plain));
            taken.types.push(value.type_name.clone());
            let flows = self.consume(value, at);
            taken.flows.push(flows);
        }
        taken
    }

    /// How the receiver of a call is named, if it has a short name: that of a
    /// variable, a class, a module, or of the call before it.
    pub(super) fn receiver_name(&self, receiver: Option<Location>) -> &'a str {
        let Some(at) = receiver else { return "" };
        match self.shape(at) {
            Shape::Name | Shape::Own | Shape::Member => self.text(at),
            Shape::Call => self.called_name(at),
            _ => "",
        }
    }

    pub(super) fn leave_call(&mut self, at: Location) {
        let receiver_at = self.receiver(at);
        let mut receiver = receiver_at.map(|receiver| self.take(receiver));
        let name = self.called_name(at);
        let receiver_name = self.receiver_name(receiver_at);
        let language = self.tree(at).language();
        let receiver_type = receiver.as_ref().map(|value| value.type_name.clone()).unwrap_or_default();
        let is_own = receiver.as_ref().is_some_and(|value| value.is_own);

        // `assertThat(a).isEqualTo(b)`: one assertion.
        if let Some(mut pending) = receiver.as_mut().and_then(|value| value.assertion.take()) {
            let arguments = self.take_arguments(at);
            pending.inputs.extend(inputs(arguments.flows.into_iter().flatten(), name));
            pending.last = Some(name.to_owned());
            self.values.insert(at, Value { assertion: Some(pending), ..Value::default() });
            return;
        }
        if is_exception_rule(receiver_name, &receiver_type, name) && language == Language::Java {
            let arguments = self.take_arguments(at);
            self.expect(at, inputs(arguments.flows.into_iter().flatten(), name));
            return;
        }
        let static_receiver = receiver.as_ref().map(|value| value.static_name.clone()).unwrap_or_default();
        let helper = match (&receiver, language) {
            (None, _) => Some(Receiver::None),
            _ if is_own => Some(Receiver::Own),
            _ if !static_receiver.is_empty() => Some(Receiver::Class(&static_receiver)),
            _ => None,
        };
        let helper = helper.and_then(|helper| self.scope.callee(helper, name, self.arguments(at).len()));
        if let Some(function) = helper.filter(|function| self.may_inline(at.frame, *function)) {
            let arguments = self.take_arguments(at);
            self.inline(at, function, &arguments.flows, &arguments.types);
            return;
        }
        let called = CallName {
            language,
            receiver: receiver_name,
            receiver_type: &receiver_type,
            name,
            has_receiver: receiver.is_some() && !(is_own && language == Language::Java),
        };
        let asserted = assertion(&called);
        let qualifier =
            if static_receiver.is_empty() { simple_type(&receiver_type) } else { &static_receiver };
        let label = if qualifier.is_empty() { name.to_owned() } else { format!("{qualifier}.{name}") };
        let root = receiver.as_ref().and_then(|value| value.root.clone());
        let mut flows = match (receiver, receiver_at) {
            (Some(value), Some(at)) if value.static_name.is_empty() || !value.flows.is_empty() => {
                self.consume(value, at)
            }
            _ => Vec::new(),
        };
        let arguments = self.take_arguments(at);
        if let Some(kind) = asserted {
            let mut inputs = inputs(flows, name);
            inputs.extend(self::inputs(arguments.flows.into_iter().flatten(), name));
            let pending = PendingAssertion {
                kind,
                first: name.to_owned(),
                last: None,
                line: self.tree(at).line(at.node),
                frame: at.frame,
                inputs,
            };
            self.values.insert(at, Value { assertion: Some(pending), ..Value::default() });
            return;
        }
        let is_creation =
            language == Language::Python && name.starts_with(char::is_uppercase) && helper.is_none();
        let resolution = self.resolver.resolve(&CallSite {
            receiver: &static_receiver,
            receiver_type: &receiver_type,
            name,
            arguments: &arguments.types,
            is_creation,
        });
        let resolution = if helper.is_some() { None } else { resolution }.unwrap_or_default();
        let returns = match helper {
            Some(helper) => self.scope.function(helper).returns.clone(),
            None if is_creation && resolution.returns.is_empty() => name.to_owned(),
            None => resolution.returns,
        };
        merge(&mut flows, arguments.flows.into_iter().flatten());
        let call = PendingCall {
            text: self.short(at, "…"),
            line: self.tree(at).line(at.node),
            frame: at.frame,
            label,
            callee: resolution.callee,
            arguments: arguments.roots,
            on_variable: root.is_some(),
        };
        self.values
            .insert(at, Value { flows, call: Some(call), root, type_name: returns, ..Value::default() });
    }

    fn may_inline(&self, frame: u32, function: FunctionRef) -> bool {
        let depth = self.frames[frame as usize].depth;
        if !self.scope.asserts(function) || depth >= HELPER_DEPTH || self.helpers >= HELPERS_PER_TEST {
            return false;
        }
        let mut around = frame;
        for _ in 0..=depth {
            let frame = &self.frames[around as usize];
            if frame.function == Some(function) {
                return false;
            }
            around = frame.caller;
        }
        true
    }

    /// Walks a helper in place of its call.
    fn inline(&mut self, call: Location, function: FunctionRef, arguments: &[Vec<Flow>], types: &[String]) {
        self.helpers += 1;
        let frame = u32::try_from(self.frames.len()).unwrap_or(u32::MAX);
        let tree = &self.scope.file(function.file).tree;
        let declared = self.scope.function(function);
        self.frames.push(Frame {
            tree,
            line: Some(self.line(call)),
            name: declared.name.clone(),
            function: Some(function),
            depth: self.frames[call.frame as usize].depth + 1,
            caller: call.frame,
            returns: Vec::new(),
        });
        let at = Location { frame, node: declared.node };
        self.define_parameters(at, arguments);
        for (parameter, type_name) in declared.parameters.iter().zip(types) {
            if parameter.type_name.is_empty() {
                self.variables.set_type(frame, &parameter.name, type_name);
            }
        }
        let body = self.child(at, "body").map(Step::Visit);
        let steps: Vec<Step> = body.into_iter().chain([Step::LeaveHelper { call, frame }]).collect();
        self.then(steps);
    }

    pub(super) fn leave_creation(&mut self, at: Location) -> Value {
        let type_at = self.child(at, "type");
        let type_name = type_at.map(|at| simple_type(self.text(at))).unwrap_or_default();
        let arguments = self.take_arguments(at);
        let mut flows: Vec<Flow> = Vec::new();
        merge(&mut flows, arguments.flows.into_iter().flatten());
        let tree = self.tree(at);
        if let Some(node) = tree.child_of_kind(at.node, "class_body") {
            let body = Location { node, ..at };
            let value = self.take(body);
            merge(&mut flows, value.flows);
        }
        let resolution = self.resolver.resolve(&CallSite {
            name: type_name,
            arguments: &arguments.types,
            is_creation: true,
            ..CallSite::default()
        });
        let call = PendingCall {
            text: self.short(at, "…"),
            line: tree.line(at.node),
            frame: at.frame,
            label: format!("new {type_name}"),
            callee: resolution.and_then(|resolution| resolution.callee),
            arguments: Vec::new(),
            on_variable: false,
        };
        Value { flows, call: Some(call), type_name: type_name.to_owned(), ..Value::default() }
    }

    /// `object::function`
    pub(super) fn leave_reference(&mut self, at: Location) -> Value {
        let object_at = self.children(at).into_iter().next();
        let Some(object_at) = object_at else { return Value::default() };
        let object = self.take(object_at);
        let text = self.short(at, "…");
        let name = text.rsplit("::").next().unwrap_or_default();
        if object.static_name.is_empty() && !object.is_own {
            let flows = self.consume(object, object_at);
            if !flows.is_empty() {
                let call = PendingCall {
                    label: format!("::{name}"),
                    text,
                    line: self.tree(at).line(at.node),
                    frame: at.frame,
                    callee: None,
                    arguments: Vec::new(),
                    on_variable: false,
                };
                return Value { flows, call: Some(call), ..Value::default() };
            }
        }
        Value { static_name: text, ..Value::default() }
    }
}

/// What flows into an assertion: through an operator, or as an argument.
pub(super) fn inputs(flows: impl IntoIterator<Item = Flow>, name: &str) -> Vec<Input> {
    flows
        .into_iter()
        .map(|flow| Input {
            from: flow.node,
            kind: if flow.label.is_some() { EdgeKind::Operator } else { EdgeKind::Call },
            label: flow.label.unwrap_or_else(|| name.to_owned()),
            callee: None,
        })
        .collect()
}

/// Whether no call can change a value of a type.
fn is_immutable(type_name: &str) -> bool {
    matches!(
        type_name,
        "String"
            | "int"
            | "long"
            | "boolean"
            | "double"
            | "float"
            | "char"
            | "byte"
            | "short"
            | "Integer"
            | "Long"
            | "Boolean"
            | "Class"
            | "str"
            | "bool"
            | "bytes"
            | "Duration"
            | "Instant"
    )
}
