//! Tests in Java: `JUnit` 3, 4 and 5, and `TestNG`.

mod imports;
mod outline;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use flakewise_model::{TestId, TestIdBuilder};

use crate::kind::Kind;
use crate::limits::{HELPERS_PER_TEST, TESTS_PER_FILE};
use crate::metrics::{count_modules, measure};
use crate::piece::Scissors;
use crate::tree::{At, Tree};
use crate::{Call, Framework, Issue, Piece, PieceKind, SourceTest, TokenKind};
use outline::{Class, Method, Outline, declared_name};

const SCHEME: &str = "junit";

/// Finds the tests of a file.
pub(crate) fn read(tree: &Tree<'_>, issues: &mut Vec<Issue>) -> Vec<SourceTest> {
    let file = JavaFile::new(tree);
    let mut scissors = Scissors::new();
    let mut pieces = HashMap::new();
    let modules = imports::external_modules(&file.outline, file.outline.package);
    let mut tests: Vec<SourceTest> = Vec::new();
    for class in 0..file.outline.classes.len() {
        let found = file.tests(class);
        if found.is_empty() {
            continue;
        }
        if scissors.spent() || tests.len() + found.len() > TESTS_PER_FILE {
            let line = tree.line(file.outline.classes[class].at);
            issues.push(Issue { line, text: "too many tests; the rest is skipped".into() });
            break;
        }
        let context: Arc<[Piece]> = file.context(class, &mut scissors).into();
        let prefix = file.prefix(class);
        for (method, framework) in found {
            let Method { at, after, name, .. } = file.outline.methods[method];
            let bytes = tree.span(at).start..tree.span(after - 1).end;
            let text = tree.text.get(bytes.start as usize..bytes.end as usize).unwrap_or_default();
            let body = scissors.stretch(tree, PieceKind::Test, name, at..after, bytes);
            let helpers = file.helpers(class, &body, name, &mut scissors, &mut pieces);
            let metrics = measure(tree, at..after, &body, count_modules(&body, &modules));
            let line = tree.line(at);
            tests.push(SourceTest {
                id: prefix.test(name, None),
                framework,
                line,
                end_line: line + u32::try_from(text.matches('\n').count()).unwrap_or(0),
                body,
                context: Arc::clone(&context),
                helpers,
                metrics,
            });
        }
    }
    tests
}

/// What a class file says about a test whose own source is elsewhere.
pub(crate) struct Surroundings {
    pub(crate) framework: Framework,
    pub(crate) context: Arc<[Piece]>,
    pub(crate) helpers: Vec<Arc<Piece>>,
    pub(crate) external_modules: u32,
}

/// Looks for the surroundings of a test in the file of its class.
pub(crate) fn surroundings(tree: &Tree<'_>, id: &TestId, body: &Piece) -> Option<Surroundings> {
    let file = JavaFile::new(tree);
    let outline = &file.outline;
    let classes = id.class_path();
    let name = id.name();
    let by_name = classes.iter().rev().find_map(|class| outline.class(class));
    // An odd name is no reason to know nothing of a file with one class.
    let class = by_name.or_else(|| (!outline.classes.is_empty()).then_some(0))?;
    let mut scissors = Scissors::new();
    let context = file.context(class, &mut scissors).into();
    let helpers = file.helpers(class, body, &name, &mut scissors, &mut HashMap::new());
    let modules = imports::external_modules(outline, &id.module());
    let found = file.tests(class).into_iter().find(|(method, _)| outline.methods[*method].name == name);
    Some(Surroundings {
        framework: found.map_or_else(|| file.framework(class), |(_, framework)| framework),
        context,
        helpers,
        external_modules: count_modules(body, &modules),
    })
}

/// The source of a method by its name, from the file of its class.
pub(crate) fn method_source<'a>(tree: &Tree<'a>, name: &str) -> Option<&'a str> {
    let outline = Outline::read(tree);
    outline.methods.iter().find(|method| method.name == name).map(|method| tree.text(method.at))
}

/// The id of a method of a class, given with its package; nesting is written
/// with `$` or with a dot.
pub(crate) fn id(class: &str, method: &str) -> TestId {
    let parts: Vec<&str> = class.split(['.', '$']).filter(|part| !part.is_empty()).collect();
    let dollar = class.find('$').map(|at| class[..at].matches('.').count());
    // Packages are small and classes are capital letters, by custom.
    let capital = parts.iter().position(|part| part.starts_with(char::is_uppercase));
    let last = parts.len().saturating_sub(1);
    let first = capital.unwrap_or(last).min(dollar.unwrap_or(last)).min(last);
    let builder = TestId::builder(SCHEME, &parts[..first].join("."));
    parts[first..].iter().fold(builder, |builder, class| builder.class(class)).finish(method, None)
}

struct JavaFile<'t, 'a> {
    tree: &'t Tree<'a>,
    outline: Outline<'a>,
    /// Methods by name, for calls on objects whose class is not known.
    by_name: HashMap<&'a str, Vec<usize>>,
}

impl<'t, 'a> JavaFile<'t, 'a> {
    fn new(tree: &'t Tree<'a>) -> Self {
        let outline = Outline::read(tree);
        let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, method) in outline.methods.iter().enumerate() {
            by_name.entry(method.name).or_default().push(at);
        }
        Self { tree, outline, by_name }
    }

    fn prefix(&self, class: usize) -> TestIdBuilder {
        let builder = TestId::builder(SCHEME, self.outline.package);
        let path = self.outline.path(class);
        path.iter().fold(builder, |builder, class| builder.class(self.outline.classes[*class].name))
    }

    /// The tests that a runner reports under a class, its own and inherited.
    fn tests(&self, class: usize) -> Vec<(usize, Framework)> {
        let outline = &self.outline;
        let Class { interface, ref modifiers, outer, .. } = outline.classes[class];
        let runs_inside = outer.is_none_or(|outer| {
            modifiers.is("static")
                || outline.classes[outer].interface
                || modifiers.simple_annotations().any(|name| name == "Nested")
        });
        if interface || modifiers.is("abstract") || !runs_inside {
            return Vec::new();
        }
        let lineage = outline.lineage(class);
        let by_name = self.is_test_case(&lineage);
        let whole_class = self.is_whole_class(&lineage);
        let mut tests = Vec::new();
        let mut overridden: HashSet<(&str, u32)> = HashSet::new();
        let mut known: HashSet<&str> = HashSet::new();
        for method_at in lineage.iter().flat_map(|class| &outline.classes[*class].methods) {
            let method = &outline.methods[*method_at];
            if !overridden.insert((method.name, method.parameters)) {
                continue;
            }
            // Overloads have one id.
            if let Some(framework) = self.framework_of(method, by_name, whole_class)
                && known.insert(method.name)
            {
                tests.push((*method_at, framework));
            }
        }
        tests
    }

    fn framework_of(&self, method: &Method<'_>, by_name: bool, whole_class: bool) -> Option<Framework> {
        let modifiers = &method.modifiers;
        if modifiers.is("static") || modifiers.is("private") || modifiers.is("abstract") {
            return None;
        }
        for annotation in &modifiers.annotations {
            match annotation.rsplit('.').next().unwrap_or(annotation).trim() {
                "Test" => return Some(self.test_annotation(annotation)),
                "ParameterizedTest" | "RepeatedTest" | "TestFactory" | "TestTemplate" => {
                    return Some(Framework::JUnit5);
                }
                "Theory" => return Some(Framework::JUnit4),
                _ => {}
            }
        }
        let public = modifiers.is("public") && method.returns_nothing;
        if by_name && public && method.parameters == 0 && method.name.starts_with("test") {
            return Some(Framework::JUnit3);
        }
        (whole_class && public && role(method) == Role::Other).then_some(Framework::TestNg)
    }

    /// Whose `@Test` it is.
    fn test_annotation(&self, written: &str) -> Framework {
        let of = |name: &str| {
            if name.starts_with("org.testng") {
                Some(Framework::TestNg)
            } else if name.starts_with("org.junit.jupiter") {
                Some(Framework::JUnit5)
            } else if name.starts_with("org.junit") {
                Some(Framework::JUnit4)
            } else {
                None
            }
        };
        let imports = || self.outline.imports.iter().filter(|import| !import.is_static);
        of(written)
            .or_else(|| {
                imports().filter(|import| import.name.ends_with(".Test")).find_map(|import| of(import.name))
            })
            .or_else(|| imports().filter(|import| import.wildcard).find_map(|import| of(import.name)))
            .or_else(|| imports().find_map(|import| of(import.name)))
            .unwrap_or(Framework::JUnit4)
    }

    /// What most likely runs the tests of a class, if no test tells.
    fn framework(&self, class: usize) -> Framework {
        if self.is_test_case(&self.outline.lineage(class)) {
            Framework::JUnit3
        } else {
            self.test_annotation("Test")
        }
    }

    fn is_test_case(&self, lineage: &[usize]) -> bool {
        lineage
            .iter()
            .flat_map(|class| &self.outline.classes[*class].bases)
            .any(|base| base.ends_with("TestCase"))
    }

    /// `TestNG`'s `@Test` before a class makes its public methods tests.
    fn is_whole_class(&self, lineage: &[usize]) -> bool {
        lineage.iter().any(|class| {
            let annotations = &self.outline.classes[*class].modifiers.annotations;
            annotations.iter().any(|annotation| {
                annotation.rsplit('.').next() == Some("Test")
                    && self.test_annotation(annotation) == Framework::TestNg
            })
        })
    }

    /// What stands around the tests of a class.
    fn context(&self, class: usize, scissors: &mut Scissors) -> Vec<Piece> {
        let (tree, outline) = (self.tree, &self.outline);
        let mut context = Vec::new();
        for import in &outline.imports {
            context.push(scissors.piece(tree, PieceKind::Import, import.name, import.at));
        }
        // The instance of an inner class has one of the class around it.
        let mut with_instance = true;
        let mut scopes: Vec<(usize, bool)> = Vec::new();
        for class in outline.path(class).into_iter().rev() {
            scopes.push((class, with_instance));
            with_instance &= !outline.classes[class].modifiers.is("static");
        }
        scopes.reverse();
        for (scope, with_instance) in scopes {
            for class in outline.lineage(scope).into_iter().rev() {
                if scissors.spent() {
                    return context;
                }
                self.class_context(class, with_instance, scissors, &mut context);
            }
        }
        context
    }

    fn class_context(&self, class: usize, set_up: bool, scissors: &mut Scissors, context: &mut Vec<Piece>) {
        let tree = self.tree;
        let Class { at, body, name, ref fields, ref initializers, ref methods, .. } =
            self.outline.classes[class];
        let start = tree.span(at).start;
        let end = if body < tree.after(Tree::ROOT) { tree.span(body).start } else { tree.span(at).end };
        context.push(scissors.stretch(tree, PieceKind::Class, name, at..body, start..end.max(start)));
        for field in fields {
            let name = declared_name(tree, *field);
            context.push(scissors.piece(tree, PieceKind::Field, name, *field));
        }
        if !set_up {
            return;
        }
        for at in initializers {
            context.push(scissors.piece(tree, PieceKind::SetUp, name, *at));
        }
        for method in methods.iter().map(|method| &self.outline.methods[*method]) {
            let kind = match role(method) {
                Role::SetUp => PieceKind::SetUp,
                Role::TearDown => PieceKind::TearDown,
                Role::Other => continue,
            };
            context.push(scissors.piece(tree, kind, method.name, method.at));
        }
    }

    /// Methods of the file that a test calls, directly or not.
    fn helpers(
        &self,
        class: usize,
        body: &Piece,
        test: &str,
        scissors: &mut Scissors,
        pieces: &mut HashMap<At, Arc<Piece>>,
    ) -> Vec<Arc<Piece>> {
        let mut helpers: Vec<Arc<Piece>> = Vec::new();
        let mut known: HashSet<At> = HashSet::new();
        let mut queue: VecDeque<(At, &str)> = VecDeque::new();
        let mut follow = |piece: &Piece, queue: &mut VecDeque<(At, &'a str)>| {
            for called in self.called(class, piece) {
                if called.1 != test && known.len() < HELPERS_PER_TEST && known.insert(called.0) {
                    queue.push_back(called);
                }
            }
        };
        follow(body, &mut queue);
        while let Some((at, name)) = queue.pop_front() {
            let piece = pieces
                .entry(at)
                .or_insert_with(|| Arc::new(scissors.piece(self.tree, PieceKind::Helper, name, at)));
            follow(piece, &mut queue);
            helpers.push(Arc::clone(piece));
        }
        helpers
    }

    /// The methods and constructors of the file that a piece calls.
    fn called(&self, class: usize, piece: &Piece) -> Vec<(At, &'a str)> {
        let mut called = Vec::new();
        let scopes: Vec<usize> = self
            .outline
            .path(class)
            .into_iter()
            .rev()
            .flat_map(|class| self.outline.lineage(class))
            .collect();
        for call in &piece.calls {
            self.resolve(&scopes, call, &mut called);
        }
        // `this::check`
        for pair in piece.tokens.windows(2) {
            let text = |at: usize| piece.word(&pair[at]);
            if pair[1].kind == TokenKind::Identifier && text(0) == "::" {
                let call =
                    Call { receiver: None, name: text(1).to_owned(), arguments: u32::MAX, line: piece.line };
                self.resolve(&scopes, &call, &mut called);
            }
        }
        called
    }

    fn resolve(&self, scopes: &[usize], call: &Call, called: &mut Vec<(At, &'a str)>) {
        let outline = &self.outline;
        let Some(candidates) = self.by_name.get(call.name.as_str()) else {
            if let Some(class) = outline.class(&call.name).filter(|_| call.receiver.is_none()) {
                self.created(class, called);
            }
            return;
        };
        let within = |classes: &[usize]| -> Vec<usize> {
            let of = |class: &usize| -> Vec<usize> {
                let methods = &outline.classes[*class].methods;
                // Both lists are in the order of the file.
                candidates.iter().copied().filter(|method| methods.binary_search(method).is_ok()).collect()
            };
            classes.iter().map(of).find(|found| !found.is_empty()).unwrap_or_default()
        };
        let receiver = call.receiver.as_deref();
        let found = match receiver {
            None | Some("this" | "super") => within(scopes),
            Some(receiver) => {
                if let Some(class) = outline.class(receiver.rsplit('.').next().unwrap_or(receiver)) {
                    within(&outline.lineage(class))
                } else {
                    // On an object of a class that the tests are not in.
                    let of = |class: &usize, method: &usize| {
                        outline.classes[*class].methods.binary_search(method).is_ok()
                    };
                    let elsewhere = |method: &usize| !scopes.iter().any(|class| of(class, method));
                    candidates.iter().copied().filter(elsewhere).collect()
                }
            }
        };
        let fits = |method: &usize| outline.methods[*method].parameters == call.arguments;
        let exact = found.iter().any(fits);
        for method in found.iter().filter(|method| !exact || fits(method)).take(HELPERS_PER_TEST) {
            let Method { at, name, .. } = outline.methods[*method];
            if role(&outline.methods[*method]) == Role::Other {
                called.push((at, name));
            }
        }
    }

    /// What runs when an object of a class is created, and what a thread runs
    /// of it.
    fn created(&self, class: usize, called: &mut Vec<(At, &'a str)>) {
        let Class { name, ref initializers, ref methods, .. } = self.outline.classes[class];
        let constructors = initializers.iter().filter(|at| self.tree.kind(**at) == Kind::Constructor);
        called.extend(constructors.map(|at| (*at, name)).take(HELPERS_PER_TEST));
        for method in methods.iter().map(|method| &self.outline.methods[*method]) {
            if matches!(method.name, "run" | "call") && method.parameters == 0 {
                called.push((method.at, method.name));
            }
        }
    }
}

/// When a method runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    SetUp,
    TearDown,
    Other,
}

fn role(method: &Method<'_>) -> Role {
    for annotation in method.modifiers.simple_annotations() {
        match annotation {
            "Before" | "BeforeClass" | "BeforeEach" | "BeforeAll" | "BeforeMethod" | "BeforeTest"
            | "BeforeSuite" | "BeforeGroups" | "Parameters" | "DataProvider" => return Role::SetUp,
            "After" | "AfterClass" | "AfterEach" | "AfterAll" | "AfterMethod" | "AfterTest"
            | "AfterSuite" | "AfterGroups" => return Role::TearDown,
            _ => {}
        }
    }
    match method.name {
        "setUp" | "setUpBeforeClass" if method.parameters == 0 => Role::SetUp,
        "tearDown" | "tearDownAfterClass" if method.parameters == 0 => Role::TearDown,
        _ => Role::Other,
    }
}
