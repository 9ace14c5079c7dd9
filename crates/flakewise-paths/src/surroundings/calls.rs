//! Where the calls of a function go.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use flakewise_source::{Language, NodeIndex, SyntaxTree};

use super::bodies::{Body, Declarations, Declared, creates_mock};
use crate::index::{ClassRef, FileResolver, FunctionRef, Index, Target};
use crate::limits::ARGUMENTS;
use crate::outline::{Outline, without_brackets};
use crate::resolve::CallSite;

/// Resolves the calls of one file.
pub(super) struct CallReader<'a, 'i> {
    pub(super) index: &'i Index,
    pub(super) file: u32,
    pub(super) resolvers: &'a Resolvers<'i>,
    /// The methods of the code under test by name.
    pub(super) by_name: &'a HashMap<&'i str, Vec<FunctionRef>>,
}

/// The resolvers of files, created on first use.
#[derive(Debug)]
pub(super) struct Resolvers<'i> {
    index: &'i Index,
    files: Vec<OnceLock<FileResolver<'i>>>,
}

impl<'i> Resolvers<'i> {
    pub(super) fn new(index: &'i Index) -> Self {
        Self { index, files: (0..index.len()).map(|_| OnceLock::new()).collect() }
    }

    pub(super) fn file(&self, file: u32) -> &FileResolver<'i> {
        self.files[file as usize].get_or_init(|| FileResolver::new(self.index, file))
    }
}

/// What a call is made on, or what it returns.
#[derive(Clone, Debug)]
enum Value {
    /// There is no receiver.
    None,
    /// The object at hand.
    Own,
    /// An object of a class of the repository.
    Object(ClassRef),
    /// An object of a type that is not in the repository.
    Foreign(String),
    /// A class or a module.
    Name(String),
    Library,
    Mock,
    Unknown,
}

/// Where a call goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Destination {
    Repository(Target),
    /// The only method of that name and number of parameters.
    UniqueName(Target),
    Library,
    Mock,
    Unresolved,
}

/// The surroundings of a call.
#[derive(Clone, Copy)]
struct Place<'a> {
    tree: &'a SyntaxTree,
    class: Option<u32>,
    locals: &'a Declarations<'a>,
    fields: &'a Declarations<'a>,
}

impl<'i> CallReader<'_, 'i> {
    /// Counts the calls below a node, and adds what they run.
    pub(super) fn read(
        &self,
        tree: &SyntaxTree,
        node: NodeIndex,
        class: Option<u32>,
        locals: &Declarations<'_>,
        fields: &Declarations<'_>,
        body: &mut Body,
    ) {
        let place = Place { tree, class, locals, fields };
        let mut values: HashMap<NodeIndex, Value> = HashMap::new();
        let mut targets = Vec::new();
        // Backwards, so that a receiver comes before the call on it.
        for at in (node..tree.after(node)).rev() {
            let Some((receiver, name, is_creation)) = self.call(place, at, &values) else { continue };
            let arguments = arguments(place, at);
            let destination = self.destination(place, &receiver, &name, &arguments, is_creation);
            values.insert(at, self.returned(destination, &name, is_creation));
            body.calls.all += 1;
            let target = match destination {
                Destination::Repository(target) => target,
                Destination::UniqueName(target) => {
                    body.calls.by_unique_name += 1;
                    target
                }
                Destination::Library => {
                    body.calls.library += 1;
                    continue;
                }
                Destination::Mock => {
                    body.calls.mocks += 1;
                    continue;
                }
                Destination::Unresolved => {
                    body.calls.unresolved += 1;
                    continue;
                }
            };
            if self.index.is_test(target) {
                body.calls.test_tree += 1;
            } else {
                body.calls.production += 1;
            }
            targets.push(target);
        }
        let mut known: HashSet<Target> = body.targets.iter().copied().collect();
        body.targets.extend(targets.into_iter().rev().filter(|target| known.insert(*target)));
    }

    /// The receiver and the name of a call, and whether it creates an object.
    fn call(
        &self,
        place: Place<'_>,
        at: NodeIndex,
        values: &HashMap<NodeIndex, Value>,
    ) -> Option<(Value, String, bool)> {
        let tree = place.tree;
        Some(match tree.kind(at) {
            "method_invocation" => {
                let name = tree.text(tree.child(at, "name")?).to_owned();
                let object = tree.child(at, "object");
                (object.map_or(Value::None, |object| self.value(place, object, values)), name, false)
            }
            "object_creation_expression" => {
                let name = tree.text(tree.child(at, "type")?);
                (Value::None, name.split('<').next().unwrap_or(name).trim().to_owned(), true)
            }
            "explicit_constructor_invocation" => {
                let class = place.class?;
                let own = &self.outline().classes[class as usize];
                let is_super = tree.child(at, "constructor").is_some_and(|at| tree.kind(at) == "super");
                let name = if is_super { own.bases.first()? } else { &own.name };
                (Value::None, name.clone(), true)
            }
            "call" => {
                let called = tree.child(at, "function")?;
                match tree.kind(called) {
                    "identifier" => (Value::None, tree.text(called).to_owned(), false),
                    "attribute" => {
                        let name = tree.text(tree.child(called, "attribute")?).to_owned();
                        (self.value(place, tree.child(called, "object")?, values), name, false)
                    }
                    _ => return None,
                }
            }
            _ => return None,
        })
    }

    /// What an expression stands for.
    fn value(&self, place: Place<'_>, mut at: NodeIndex, values: &HashMap<NodeIndex, Value>) -> Value {
        let tree = place.tree;
        loop {
            return match tree.kind(at) {
                "this" | "super" => Value::Own,
                "parenthesized_expression" => match tree.children(at).next() {
                    Some(inner) => {
                        at = inner;
                        continue;
                    }
                    None => Value::Unknown,
                },
                "cast_expression" => tree
                    .child(at, "type")
                    .map_or(Value::Unknown, |at| self.object(self.file, without_brackets(tree.text(at)))),
                "array_access" | "subscript" => {
                    match tree.child(at, "array").filter(|_| tree.language() == Language::Java) {
                        Some(array) => {
                            at = array;
                            continue;
                        }
                        None => Value::Unknown,
                    }
                }
                "method_invocation" | "object_creation_expression" | "call" => {
                    values.get(&at).cloned().unwrap_or(Value::Unknown)
                }
                "identifier" => self.variable(place, tree.text(at)),
                "field_access" | "attribute" => self.member(place, at),
                "string_literal"
                | "string"
                | "class_literal"
                | "array_creation_expression"
                | "list"
                | "dictionary"
                | "set"
                | "tuple"
                | "integer"
                | "float"
                | "concatenated_string" => Value::Library,
                _ => Value::Unknown,
            };
        }
    }

    fn variable(&self, place: Place<'_>, name: &str) -> Value {
        if matches!(name, "self" | "cls") && place.tree.language() == Language::Python {
            return Value::Own;
        }
        if let Some(declared) = place.locals.get(name) {
            return self.declared(declared);
        }
        // A class or a module hides no local variable, but a field hides it.
        let is_python = place.tree.language() == Language::Python;
        if !is_python && let Some(field) = self.field(place, name) {
            return field;
        }
        if is_python && self.resolver().imports(name) || name.starts_with(char::is_uppercase) {
            return Value::Name(name.to_owned());
        }
        Value::Unknown
    }

    fn field(&self, place: Place<'_>, name: &str) -> Option<Value> {
        if let Some(declared) =
            place.fields.get(name).filter(|field| !field.type_name.is_empty() || field.is_mock)
        {
            return Some(self.declared(declared));
        }
        let class = ClassRef { file: self.file, class: place.class? };
        let (file, type_name) = self.index.inherited_field_type(class, name)?;
        Some(self.object(file, type_name))
    }

    /// `this.cart`, `Shop.CART` or `shop.cart`.
    fn member(&self, place: Place<'_>, at: NodeIndex) -> Value {
        let tree = place.tree;
        let name = tree.child(at, "field").or_else(|| tree.child(at, "attribute"));
        let (Some(object), Some(name)) = (tree.child(at, "object"), name) else { return Value::Unknown };
        let text = tree.text(object);
        if matches!(text, "this" | "self" | "cls") {
            return self.field(place, tree.text(name)).unwrap_or(Value::Unknown);
        }
        let first = text.split('.').next().unwrap_or(text);
        if place.locals.contains_key(first) {
            return Value::Unknown;
        }
        if first.starts_with(char::is_uppercase) || self.resolver().imports(first) {
            return Value::Name(tree.text(at).to_owned());
        }
        Value::Unknown
    }

    fn destination(
        &self,
        place: Place<'_>,
        receiver: &Value,
        name: &str,
        arguments: &[String],
        is_creation: bool,
    ) -> Destination {
        let site = CallSite { name, arguments, is_creation, ..CallSite::default() };
        let resolved = |site: &CallSite<'_>| self.resolver().target(site).map(Destination::Repository);
        match receiver {
            _ if is_creation => resolved(&site).unwrap_or(Destination::Library),
            Value::None | Value::Own => {
                let is_python = place.tree.language() == Language::Python;
                let own = || {
                    let class = place.class.filter(|_| !is_python || matches!(receiver, Value::Own))?;
                    self.outline().around(class).find_map(|class| {
                        let class = ClassRef { file: self.file, class };
                        self.index.method(class, name, arguments).map(Target::Function)
                    })
                };
                if let Some(target) = own() {
                    return Destination::Repository(target);
                }
                if matches!(receiver, Value::Own) {
                    return if self.has_library_base(place.class) {
                        Destination::Library
                    } else {
                        Destination::Unresolved
                    };
                }
                if let Some(found) = resolved(&site) {
                    return found;
                }
                let is_local = place.locals.contains_key(name);
                // In Python what is neither local nor of the file is imported or built in.
                let is_library = is_python && !is_local
                    || self.resolver().imports_function(name)
                    || self.has_library_base(place.class);
                if is_library { Destination::Library } else { Destination::Unresolved }
            }
            Value::Object(class) => match self.index.method(*class, name, arguments) {
                Some(method) => Destination::Repository(Target::Function(method)),
                None => Destination::Library,
            },
            Value::Foreign(type_name) if type_name.len() <= 2 => {
                // A type parameter says nothing.
                self.by_unique_name(name, arguments.len())
            }
            Value::Name(holder) => {
                resolved(&CallSite { receiver: holder, ..site }).unwrap_or(Destination::Library)
            }
            Value::Foreign(_) | Value::Library => Destination::Library,
            Value::Mock => Destination::Mock,
            Value::Unknown => self.by_unique_name(name, arguments.len()),
        }
    }

    fn by_unique_name(&self, name: &str, arguments: usize) -> Destination {
        let functions = &self.by_name.get(name).map(Vec::as_slice).unwrap_or_default();
        let mut fitting = functions.iter().filter(|at| self.index.function(**at).accepts(arguments));
        let is_python = self.index.language(self.file) == Language::Python;
        match (fitting.next(), fitting.next()) {
            (Some(only), None) if !(is_python && is_built_in(name)) => {
                Destination::UniqueName(Target::Function(*only))
            }
            _ => Destination::Unresolved,
        }
    }

    /// What a call returns.
    fn returned(&self, destination: Destination, name: &str, is_creation: bool) -> Value {
        if creates_mock(name) || is_about_mocks(name) {
            return Value::Mock;
        }
        match destination {
            Destination::Repository(Target::Class(class)) | Destination::UniqueName(Target::Class(class)) => {
                Value::Object(class)
            }
            Destination::Repository(Target::Function(at)) | Destination::UniqueName(Target::Function(at)) => {
                let function = self.index.function(at);
                let constructs = is_creation || function.name == "__init__";
                match function.class {
                    Some(class) if constructs => Value::Object(ClassRef { file: at.file, class }),
                    _ => self.object(at.file, &function.returns),
                }
            }
            Destination::Library if is_creation => Value::Foreign(name.to_owned()),
            Destination::Library => Value::Library,
            Destination::Mock => Value::Mock,
            Destination::Unresolved => Value::Unknown,
        }
    }

    /// An object of a type as a file names it.
    fn object(&self, file: u32, type_name: &str) -> Value {
        if type_name.is_empty() {
            return Value::Unknown;
        }
        match self.resolvers.file(file).class_of_type(type_name) {
            Some(class) => Value::Object(class),
            None => Value::Foreign(type_name.to_owned()),
        }
    }

    fn declared(&self, declared: &Declared) -> Value {
        if declared.is_mock { Value::Mock } else { self.object(self.file, &declared.type_name) }
    }

    fn resolver(&self) -> &FileResolver<'i> {
        self.resolvers.file(self.file)
    }

    fn outline(&self) -> &Outline {
        self.index.outline(self.file)
    }

    /// Whether a class, or one of those it extends, extends one of a library.
    fn has_library_base(&self, class: Option<u32>) -> bool {
        class.is_some_and(|class| self.index.library_base(ClassRef { file: self.file, class }).is_some())
    }
}

/// The types of the arguments, as far as they are evident.
fn arguments(place: Place<'_>, call: NodeIndex) -> Vec<String> {
    let tree = place.tree;
    let Some(list) = tree.child(call, "arguments") else { return Vec::new() };
    let type_of = |at: NodeIndex| match tree.kind(at) {
        "string_literal" => "String".to_owned(),
        "identifier" => {
            let declared = place.locals.get(tree.text(at)).or_else(|| place.fields.get(tree.text(at)));
            declared.map(|declared| declared.type_name.clone()).unwrap_or_default()
        }
        _ => String::new(),
    };
    tree.children(list).take(ARGUMENTS).map(type_of).collect()
}

/// Functions that say how a mock behaves, or ask it what was called.
fn is_about_mocks(name: &str) -> bool {
    matches!(
        name,
        "verify"
            | "when"
            | "given"
            | "doReturn"
            | "doThrow"
            | "doAnswer"
            | "doNothing"
            | "expect"
            | "willReturn"
    )
}

/// Methods of built-in types: a function of the repository that has the name is
/// hardly what runs.
fn is_built_in(name: &str) -> bool {
    matches!(
        name,
        "add"
            | "append"
            | "clear"
            | "close"
            | "copy"
            | "count"
            | "decode"
            | "encode"
            | "endswith"
            | "extend"
            | "find"
            | "flush"
            | "format"
            | "get"
            | "index"
            | "insert"
            | "items"
            | "join"
            | "keys"
            | "lower"
            | "pop"
            | "read"
            | "readline"
            | "remove"
            | "replace"
            | "reverse"
            | "seek"
            | "setdefault"
            | "sort"
            | "split"
            | "startswith"
            | "strip"
            | "title"
            | "update"
            | "upper"
            | "values"
            | "write"
    )
}
