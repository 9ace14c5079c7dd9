//! What the functions of a file use and call.

use std::collections::HashMap;

use flakewise_source::{Language, NodeIndex, SyntaxTree, sub_tokens};

use super::calls::CallReader;
use super::names::families;
use super::{ApiCounts, ApiFamily, Calls};
use crate::index::Target;
use crate::outline::{Function, Outline, evident_type, simple_type, without_brackets};

/// The bodies of the functions of one file.
#[derive(Debug, Default)]
pub(super) struct FileBodies {
    /// By function of the outline.
    pub(super) functions: Vec<Body>,
    /// By class: the values of its fields and its static blocks.
    pub(super) initialisers: Vec<Body>,
    /// The words of all bodies.
    pub(super) words: Vec<Box<str>>,
}

/// A function, or what a class does when it is created.
#[derive(Debug, Default)]
pub(super) struct Body {
    pub(super) lines: u32,
    pub(super) apis: ApiCounts,
    /// Places in [`FileBodies::words`], with counts.
    pub(super) words: Vec<(u32, u32)>,
    pub(super) calls: Calls,
    /// What it calls in the repository, each once.
    pub(super) targets: Vec<Target>,
    /// Whether a runner calls it before or after a test.
    pub(super) is_set_up: bool,
    pub(super) is_abstract: bool,
}

/// A local variable or a field.
#[expect(clippy::struct_excessive_bools, reason = "each is a modifier of its own")]
#[derive(Clone, Debug, Default)]
pub(super) struct Declared {
    /// Its type without type arguments, or an empty text.
    pub(super) type_name: String,
    pub(super) is_mock: bool,
    is_static: bool,
    is_final: bool,
    is_volatile: bool,
}

impl Declared {
    fn simple_type(&self) -> &str {
        simple_type(&self.type_name)
    }
}

pub(super) type Declarations<'t> = HashMap<&'t str, Declared>;

impl FileBodies {
    /// Reads the bodies of a file. `calls` resolves what they call.
    pub(super) fn read(tree: &SyntaxTree, outline: &Outline, calls: &CallReader<'_, '_>) -> Self {
        let mut reader =
            Reader { tree, calls, fields: fields(tree, outline), words: HashMap::new(), names: Vec::new() };
        let functions = outline.functions.iter().map(|function| reader.function(function)).collect();
        let mut initialisers: Vec<Body> = outline.classes.iter().map(|_| Body::default()).collect();
        for (class, node) in initialiser_nodes(tree, outline) {
            reader.add(&mut initialisers[class as usize], node, Some(class), &Declarations::new());
        }
        Self { functions, initialisers, words: reader.names }
    }
}

struct Reader<'t, 'i> {
    tree: &'t SyntaxTree,
    calls: &'t CallReader<'t, 'i>,
    fields: Declarations<'t>,
    words: HashMap<Box<str>, u32>,
    names: Vec<Box<str>>,
}

impl<'t> Reader<'t, '_> {
    fn function(&mut self, function: &Function) -> Body {
        let tree = self.tree;
        let declared = locals(tree, function);
        let mut body = Body {
            is_set_up: is_set_up(tree, function),
            is_abstract: tree.language() == Language::Java && tree.child(function.node, "body").is_none(),
            ..Body::default()
        };
        self.add(&mut body, function.node, function.class, &declared);
        body
    }

    /// Adds what stands below a node.
    fn add(&mut self, body: &mut Body, node: NodeIndex, class: Option<u32>, locals: &Declarations<'t>) {
        let tree = self.tree;
        body.lines += tree.end_line(node).saturating_sub(tree.line(node)) + 1;
        self.calls.read(tree, node, class, locals, &self.fields, body);
        let mut counts: HashMap<u32, u32> = body.words.drain(..).collect();
        let name = tree.child(node, "name");
        for at in node..tree.after(node) {
            match tree.kind(at) {
                "identifier" | "type_identifier" => {
                    if Some(at) == name {
                        continue;
                    }
                    let text = tree.text(at);
                    self.count_name(&mut body.apis, at, text, locals);
                    sub_tokens(text, |part| *counts.entry(self.word(part)).or_default() += 1);
                }
                kind => {
                    if let Some(family) = self.construct(at, kind, locals) {
                        body.apis.0[family as usize] += 1;
                    }
                    if matches!(kind, "string_literal" | "string") && names_this_machine(tree.text(at)) {
                        body.apis.0[ApiFamily::Localhost as usize] += 1;
                    }
                }
            }
        }
        body.words = counts.into_iter().collect();
        body.words.sort_unstable();
    }

    fn word(&mut self, text: &str) -> u32 {
        if let Some(known) = self.words.get(text) {
            return *known;
        }
        let number = u32::try_from(self.names.len()).expect("a file has fewer words than bytes");
        self.names.push(text.into());
        self.words.insert(text.into(), number);
        number
    }

    fn count_name(&self, apis: &mut ApiCounts, at: NodeIndex, text: &str, locals: &Declarations<'t>) {
        let tree = self.tree;
        let mut count = |family: ApiFamily| apis.0[family as usize] += 1;
        families(tree.language(), text).iter().copied().for_each(&mut count);
        let Some(field) = self.fields.get(text).filter(|_| !locals.contains_key(text)) else { return };
        // The type of a field says what the field is used for.
        families(tree.language(), field.simple_type()).iter().copied().for_each(&mut count);
        if field.is_volatile {
            count(ApiFamily::Volatile);
        }
        if field.is_static && !field.is_final {
            count(if is_written(tree, at) { ApiFamily::StaticWrite } else { ApiFamily::StaticRead });
        } else if field.is_static && is_mutable(field.simple_type()) {
            count(ApiFamily::StaticCollection);
        }
    }

    /// A construct that counts as a family.
    fn construct(&self, at: NodeIndex, kind: &str, locals: &Declarations<'t>) -> Option<ApiFamily> {
        let tree = self.tree;
        Some(match kind {
            // The word, before a block or a method.
            "synchronized" => ApiFamily::Synchronized,
            "catch_clause" | "except_clause" => ApiFamily::Catch,
            "enhanced_for_statement" if self.is_over_hash(at, "value", locals) => ApiFamily::HashIteration,
            "for_statement" if self.is_over_hash(at, "right", locals) => ApiFamily::HashIteration,
            "for_statement"
            | "enhanced_for_statement"
            | "while_statement"
            | "do_statement"
            | "for_in_clause" => ApiFamily::Loop,
            "lambda_expression" => ApiFamily::Lambda,
            "lambda" if tree.is_named(at) => ApiFamily::Lambda,
            "class_body" if tree.kind(tree.parent(at)) == "object_creation_expression" => {
                ApiFamily::AnonymousClass
            }
            "string_literal" | "string" => ApiFamily::StringLiteral,
            _ => return None,
        })
    }

    /// Whether a loop goes over a collection without an order.
    fn is_over_hash(&self, at: NodeIndex, field: &str, locals: &Declarations<'t>) -> bool {
        let tree = self.tree;
        let Some(mut over) = tree.child(at, field) else { return false };
        // `map.keySet()` goes over the map.
        while let Some(object) = tree.child(over, "object") {
            over = object;
        }
        let name = tree.text(over);
        let declared = locals.get(name).or_else(|| self.fields.get(name));
        declared.is_some_and(|declared| {
            matches!(
                declared.simple_type(),
                "HashMap"
                    | "HashSet"
                    | "Hashtable"
                    | "ConcurrentHashMap"
                    | "IdentityHashMap"
                    | "Map"
                    | "Set"
                    | "Properties"
                    | "set"
                    | "frozenset"
            )
        })
    }
}

fn names_this_machine(text: &str) -> bool {
    text.contains("localhost") || text.contains("127.0.0.1")
}

/// Whether an identifier stands on the left of an assignment.
fn is_written(tree: &SyntaxTree, at: NodeIndex) -> bool {
    let mut node = at;
    // `this.field` and `Class.field`.
    while matches!(tree.kind(tree.parent(node)), "field_access" | "attribute") {
        node = tree.parent(node);
    }
    let parent = tree.parent(node);
    match tree.kind(parent) {
        "assignment_expression" | "assignment" | "augmented_assignment" => tree.field(node) == "left",
        "update_expression" | "global_statement" => true,
        _ => false,
    }
}

fn is_mutable(type_name: &str) -> bool {
    type_name.ends_with("Map")
        || type_name.ends_with("List")
        || type_name.ends_with("Set")
        || type_name.ends_with("Queue")
        || type_name.starts_with("Atomic")
        || matches!(type_name, "Collection" | "Properties" | "Deque" | "ThreadLocal" | "Vector")
}

/// The parameters and local variables of a function.
fn locals<'t>(tree: &'t SyntaxTree, function: &Function) -> Declarations<'t> {
    let mut declared = Declarations::new();
    for at in function.node + 1..tree.after(function.node) {
        let text = |field| tree.child(at, field).map(|at| tree.text(at));
        match tree.kind(at) {
            "formal_parameter" | "enhanced_for_statement" | "catch_formal_parameter" | "resource" => {
                if let Some(name) = text("name") {
                    let type_name = without_brackets(text("type").unwrap_or_default()).to_owned();
                    declared.insert(name, Declared { type_name, ..Declared::default() });
                }
            }
            "local_variable_declaration" => {
                let type_name = without_brackets(text("type").unwrap_or_default());
                declared.extend(declarators(tree, at, type_name));
            }
            "assignment" => {
                let left = tree.child(at, "left").filter(|left| tree.kind(*left) == "identifier");
                if let Some(left) = left {
                    let is_mock = tree.child(at, "right").is_some_and(|value| is_mock(tree, value));
                    let type_name = python_type(tree, at);
                    declared.insert(tree.text(left), Declared { type_name, is_mock, ..Declared::default() });
                }
            }
            "typed_parameter" | "typed_default_parameter" => {
                let name = tree.child(at, "name").or_else(|| tree.children(at).next());
                if let Some(name) = name {
                    let type_name = simple_type(text("type").unwrap_or_default()).to_owned();
                    declared.insert(tree.text(name), Declared { type_name, ..Declared::default() });
                }
            }
            "identifier" if tree.kind(tree.parent(at)) == "parameters" => {
                let name = tree.text(at);
                let is_mock = name.starts_with("mock") || name.ends_with("_mock");
                declared.insert(name, Declared { is_mock, ..Declared::default() });
            }
            _ => {}
        }
    }
    declared
}

/// The variables of a declaration in Java.
fn declarators<'t>(
    tree: &'t SyntaxTree,
    declaration: NodeIndex,
    type_name: &'t str,
) -> impl Iterator<Item = (&'t str, Declared)> + 't {
    let names = tree.children(declaration).filter(|child| tree.field(*child) == "declarator");
    names.filter_map(move |declarator| {
        let value = tree.child(declarator, "value");
        let created =
            value.and_then(|value| tree.child(value, "type")).map(|at| without_brackets(tree.text(at)));
        // The class that is created says more than `var`, and whether a `Map` has an order.
        let is_vague = matches!(type_name, "var" | "Map" | "Set");
        let type_name = if is_vague { created.unwrap_or(type_name) } else { type_name };
        let type_name = if type_name == "var" { String::new() } else { type_name.to_owned() };
        let is_mock = value.is_some_and(|value| is_mock(tree, value));
        Some((
            tree.text(tree.child(declarator, "name")?),
            Declared { type_name, is_mock, ..Declared::default() },
        ))
    })
}

/// The type of an assignment in Python, or an empty text.
fn python_type(tree: &SyntaxTree, assignment: NodeIndex) -> String {
    let found = evident_type(tree, assignment);
    if !found.is_empty() {
        return found;
    }
    let right = tree.child(assignment, "right");
    match right.map(|right| (tree.kind(right), right)) {
        Some(("set" | "set_comprehension", _)) => "set".to_owned(),
        Some(("call", call)) => {
            let called = tree.child(call, "function").map(|at| tree.text(at)).unwrap_or_default();
            if matches!(called, "set" | "frozenset") { called.to_owned() } else { String::new() }
        }
        _ => String::new(),
    }
}

/// Whether a value is a mock.
fn is_mock(tree: &SyntaxTree, value: NodeIndex) -> bool {
    let called = tree.child(value, "name").or_else(|| tree.child(value, "function"));
    let name = called.map(|at| tree.text(at)).unwrap_or_default();
    creates_mock(name.rsplit('.').next().unwrap_or(name))
}

pub(super) fn creates_mock(name: &str) -> bool {
    matches!(
        name,
        "mock"
            | "createMock"
            | "createNiceMock"
            | "createStrictMock"
            | "mockConstruction"
            | "Mock"
            | "MagicMock"
            | "AsyncMock"
            | "NonCallableMock"
            | "PropertyMock"
            | "create_autospec"
            | "patch"
            | "stub"
    )
}

/// The fields of the classes of a file, and the variables of a Python module.
fn fields<'t>(tree: &'t SyntaxTree, outline: &'t Outline) -> Declarations<'t> {
    let mut declared = Declarations::new();
    if tree.language() == Language::Python {
        for class in &outline.classes {
            for field in &class.fields {
                let type_name = field.type_name.clone();
                let is_mock = creates_mock(&type_name);
                declared.insert(&field.name, Declared { type_name, is_mock, ..Declared::default() });
            }
        }
        for name in &outline.variables {
            // By convention a constant.
            let is_final = !name.bytes().any(|byte| byte.is_ascii_lowercase());
            declared.insert(name, Declared { is_static: true, is_final, ..Declared::default() });
        }
        return declared;
    }
    for at in nodes(tree).filter(|at| tree.kind(*at) == "field_declaration") {
        let modifiers = tree.child_of_kind(at, "modifiers").map(|at| tree.text(at)).unwrap_or_default();
        let has = |word: &str| modifiers.split_ascii_whitespace().any(|modifier| modifier == word);
        let type_name = tree.child(at, "type").map(|at| without_brackets(tree.text(at))).unwrap_or_default();
        for (name, mut field) in declarators(tree, at, type_name) {
            field.is_mock |= modifiers.contains("@Mock");
            field.is_static = has("static");
            field.is_final = has("final");
            field.is_volatile = has("volatile");
            declared.insert(name, field);
        }
    }
    declared
}

/// The values of fields and the blocks of classes in Java, each with its class.
fn initialiser_nodes(tree: &SyntaxTree, outline: &Outline) -> Vec<(u32, NodeIndex)> {
    if tree.language() != Language::Java {
        return Vec::new();
    }
    let in_functions = |at: NodeIndex| {
        // Functions stand in the order of the file.
        let next = outline.functions.partition_point(|function| function.node <= at);
        next > 0 && at < tree.after(outline.functions[next - 1].node)
    };
    let found = nodes(tree).filter_map(|at| {
        let member = match tree.kind(at) {
            "static_initializer" => at,
            "block" if tree.kind(tree.parent(at)) == "class_body" => at,
            // The value of a field.
            _ if tree.field(at) == "value"
                && tree.kind(tree.parent(tree.parent(at))) == "field_declaration" =>
            {
                tree.parent(tree.parent(at))
            }
            _ => return None,
        };
        let class = tree.parent(tree.parent(member));
        let (name, line) = (tree.text(tree.child(class, "name")?), tree.line(class));
        let class =
            (0..).zip(&outline.classes).find(|(_, known)| known.line == line && known.name == name)?;
        (!in_functions(at)).then_some((class.0, at))
    });
    found.collect()
}

fn nodes(tree: &SyntaxTree) -> impl Iterator<Item = NodeIndex> {
    SyntaxTree::ROOT..tree.after(SyntaxTree::ROOT)
}

/// Whether a runner calls a function before or after tests.
fn is_set_up(tree: &SyntaxTree, function: &Function) -> bool {
    if tree.language() == Language::Java {
        let modifiers = tree.child_of_kind(function.node, "modifiers").map(|at| tree.text(at));
        let modifiers = modifiers.unwrap_or_default();
        return ["@Before", "@After"].iter().any(|annotation| modifiers.contains(annotation))
            || matches!(function.name.as_str(), "setUp" | "tearDown");
    }
    let around = tree.parent(function.node);
    let is_automatic = || {
        let decorators = tree.children(around).filter(|at| tree.kind(*at) == "decorator");
        decorators
            .map(|at| tree.text(at))
            .any(|text| text.contains("fixture") && text.contains("autouse=True"))
    };
    matches!(
        function.name.as_str(),
        "setUp"
            | "tearDown"
            | "setUpClass"
            | "tearDownClass"
            | "setUpTestData"
            | "asyncSetUp"
            | "asyncTearDown"
            | "setup"
            | "teardown"
            | "setup_method"
            | "teardown_method"
            | "setup_class"
            | "teardown_class"
            | "setup_function"
            | "teardown_function"
            | "setup_module"
            | "teardown_module"
            | "setUpModule"
            | "tearDownModule"
    ) || tree.kind(around) == "decorated_definition" && is_automatic()
}
