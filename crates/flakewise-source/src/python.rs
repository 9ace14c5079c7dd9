//! Tests in Python: what pytest collects by its default rules, with
//! `unittest.TestCase`.

mod fixtures;
mod imports;
mod outline;
mod standard;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use flakewise_model::{TestId, TestIdBuilder};

use crate::limits::{HELPERS_PER_TEST, TESTS_PER_FILE};
use crate::metrics::{count_modules, measure};
use crate::piece::Scissors;
use crate::tree::{At, Tree};
use crate::{Framework, Issue, Piece, PieceKind, SourceTest, TokenKind};
use fixtures::{Fixtures, is_fixture};
use outline::{Class, Function, MODULE, Outline};

const SCHEME: &str = "pytest";

/// Finds the tests of a file.
pub(crate) fn read(tree: &Tree<'_>, path: &str, issues: &mut Vec<Issue>) -> Vec<SourceTest> {
    let file = PythonFile::new(tree);
    let outline = &file.outline;
    let modules = imports::external_modules(tree, path);
    let mut scissors = Scissors::new();
    let mut pieces = HashMap::new();
    let mut tests: Vec<SourceTest> = Vec::new();
    for class in 0..outline.classes.len() {
        let found = file.tests(class);
        if scissors.spent() || tests.len() + found.len() > TESTS_PER_FILE {
            let line = tree.line(outline.classes[class].at);
            issues.push(Issue { line, text: "too many tests; the rest is skipped".into() });
            break;
        }
        let scopes = file.scopes(class);
        let prefix = file.prefix(path, class);
        let framework = if file.is_test_case(class) { Framework::Unittest } else { Framework::Pytest };
        // Tests that ask for the same fixtures share their context.
        let mut contexts: HashMap<Vec<usize>, Arc<[Piece]>> = HashMap::new();
        for function in found {
            let Function { at, name, .. } = outline.functions[function];
            let fixtures = file.fixtures.of(outline, &scopes, &outline.functions[function]);
            let context = contexts
                .entry(fixtures)
                .or_insert_with_key(|fixtures| file.context(class, &scopes, fixtures, &mut scissors).into());
            let body = scissors.piece(tree, PieceKind::Test, name, at);
            let helpers = file.helpers(&scopes, &body, name, &mut scissors, &mut pieces);
            let metrics = measure(tree, tree.subtree(at), &body, count_modules(&body, &modules));
            let line = tree.line(at);
            tests.push(SourceTest {
                id: prefix.test(name, None),
                framework,
                line,
                end_line: line + u32::try_from(tree.text(at).trim_end().matches('\n').count()).unwrap_or(0),
                body,
                context: Arc::clone(context),
                helpers,
                metrics,
            });
        }
    }
    tests
}

struct PythonFile<'t, 'a> {
    tree: &'t Tree<'a>,
    outline: Outline<'a>,
    fixtures: Fixtures<'a>,
    /// Functions by name.
    by_name: HashMap<&'a str, Vec<usize>>,
}

impl<'t, 'a> PythonFile<'t, 'a> {
    fn new(tree: &'t Tree<'a>) -> Self {
        let outline = Outline::read(tree);
        let fixtures = Fixtures::read(&outline);
        let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, function) in outline.functions.iter().enumerate() {
            by_name.entry(function.name).or_default().push(at);
        }
        Self { tree, outline, fixtures, by_name }
    }

    fn prefix(&self, path: &str, class: usize) -> TestIdBuilder {
        let path_of_class = self.outline.path(class);
        let classes = path_of_class.iter().map(|class| self.outline.classes[*class].name);
        classes.fold(TestId::builder(SCHEME, path), TestIdBuilder::class)
    }

    /// The tests that pytest reports under a class, its own and inherited.
    fn tests(&self, class: usize) -> Vec<usize> {
        let outline = &self.outline;
        if !self.is_collected(class) {
            return Vec::new();
        }
        let mut tests = Vec::new();
        let mut known: HashSet<&str> = HashSet::new();
        for class in outline.lineage(class) {
            let start = tests.len();
            // Of functions of one name the last is the one that counts.
            for function_at in outline.classes[class].functions.iter().rev() {
                let function = &outline.functions[*function_at];
                let collected = known.insert(function.name) && function.name.starts_with("test");
                if collected && !function.decorators.iter().any(|decorator| is_fixture(decorator)) {
                    tests.push(*function_at);
                }
            }
            tests[start..].reverse();
        }
        tests
    }

    /// Whether pytest looks for tests in a class.
    fn is_collected(&self, class: usize) -> bool {
        let outline = &self.outline;
        if class == MODULE {
            return true;
        }
        let path = outline.path(class);
        let (last, around) = path.split_last().expect("a class is on its own path");
        around.iter().all(|class| self.is_test_class(*class))
            && (self.is_test_class(*last) || self.is_test_case(*last))
            && !self.is_opted_out(*last)
    }

    /// A class by pytest's own rule.
    fn is_test_class(&self, class: usize) -> bool {
        let outline = &self.outline;
        let constructed = |class: &usize| {
            let functions = &outline.classes[*class].functions;
            functions
                .iter()
                .any(|function| matches!(outline.functions[*function].name, "__init__" | "__new__"))
        };
        outline.classes[class].name.starts_with("Test")
            && !self.is_test_case(class)
            && !outline.lineage(class).iter().any(constructed)
    }

    fn is_test_case(&self, class: usize) -> bool {
        let lineage = self.outline.lineage(class);
        lineage
            .iter()
            .flat_map(|class| &self.outline.classes[*class].bases)
            .any(|base| base.ends_with("TestCase"))
    }

    /// `__test__ = False`
    fn is_opted_out(&self, class: usize) -> bool {
        let told = |class: &usize| {
            let mut fields = self.outline.classes[*class].fields.iter().rev();
            fields.find_map(|at| self.tree.text(*at).strip_prefix("__test__"))
        };
        self.outline.lineage(class).iter().find_map(told).is_some_and(|value| value.contains("False"))
    }

    /// The classes whose functions a test of a class has, the nearest first.
    fn scopes(&self, class: usize) -> Vec<usize> {
        if class == MODULE { vec![MODULE] } else { self.outline.lineage(class) }
    }

    /// What stands around the tests of a class that ask for these fixtures.
    fn context(
        &self,
        class: usize,
        scopes: &[usize],
        asked: &[usize],
        scissors: &mut Scissors,
    ) -> Vec<Piece> {
        let (tree, outline) = (self.tree, &self.outline);
        let mut context = Vec::new();
        for import in &outline.imports {
            let text = tree.text(*import);
            let name = text.trim_start_matches("from").trim_start_matches("import").trim_start();
            let name = name.split(|character: char| character.is_whitespace()).next().unwrap_or(name);
            context.push(scissors.piece(tree, PieceKind::Import, name, *import));
        }
        let around = outline.path(class);
        let around = around.iter().copied().filter(|outer| !scopes.contains(outer));
        let mut classes = vec![MODULE];
        classes.extend(around);
        classes.extend(scopes.iter().rev().filter(|class| **class != MODULE));
        for class_at in classes {
            if scissors.spent() {
                return context;
            }
            let Class { at, body, name, ref functions, ref fields, .. } = outline.classes[class_at];
            if class_at != MODULE {
                let start = tree.span(at).start;
                let end =
                    if body < tree.after(Tree::ROOT) { tree.span(body).start } else { tree.span(at).end };
                context.push(scissors.stretch(tree, PieceKind::Class, name, at..body, start..end.max(start)));
            }
            for field in fields {
                let name = tree.text(field + 2);
                let name = if name.len() <= 80 { name } else { "" };
                context.push(scissors.piece(tree, PieceKind::Field, name, *field));
            }
            for function in functions.iter().map(|function| &outline.functions[*function]) {
                let kind = match role(function.name) {
                    Some(kind) if !(class != MODULE && function.name.ends_with("_function")) => kind,
                    _ => continue,
                };
                context.push(scissors.piece(tree, kind, function.name, function.at));
            }
        }
        for fixture in asked.iter().map(|fixture| &outline.functions[*fixture]) {
            context.push(scissors.piece(tree, PieceKind::SetUp, fixture.name, fixture.at));
        }
        context
    }

    /// Functions of the file that a test calls or hands on, directly or not.
    fn helpers(
        &self,
        scopes: &[usize],
        body: &Piece,
        test: &str,
        scissors: &mut Scissors,
        pieces: &mut HashMap<At, Arc<Piece>>,
    ) -> Vec<Arc<Piece>> {
        let mut helpers: Vec<Arc<Piece>> = Vec::new();
        let mut known: HashSet<usize> = HashSet::new();
        let mut queue: VecDeque<usize> = VecDeque::new();
        let mut follow = |piece: &Piece, queue: &mut VecDeque<usize>| {
            for function in self.mentioned(scopes, piece) {
                let Function { name, ref decorators, .. } = self.outline.functions[function];
                let apart =
                    name == test || role(name).is_some() || decorators.iter().any(|text| is_fixture(text));
                if !apart && known.len() < HELPERS_PER_TEST && known.insert(function) {
                    queue.push_back(function);
                }
            }
        };
        follow(body, &mut queue);
        while let Some(function) = queue.pop_front() {
            let Function { at, name, .. } = self.outline.functions[function];
            let piece = pieces
                .entry(at)
                .or_insert_with(|| Arc::new(scissors.piece(self.tree, PieceKind::Helper, name, at)));
            follow(piece, &mut queue);
            helpers.push(Arc::clone(piece));
        }
        helpers
    }

    /// The functions of the file that a piece names.
    fn mentioned(&self, scopes: &[usize], piece: &Piece) -> Vec<usize> {
        let outline = &self.outline;
        let text = |at: usize| piece.word(&piece.tokens[at]);
        let mut mentioned = Vec::new();
        for (at, token) in piece.tokens.iter().enumerate() {
            if token.kind != TokenKind::Identifier {
                continue;
            }
            let name = text(at);
            let member = at >= 2 && text(at - 1) == ".";
            if !member && let Some(class) = outline.class(name) {
                let run =
                    |function: &&usize| matches!(outline.functions[**function].name, "__init__" | "run");
                mentioned.extend(outline.classes[class].functions.iter().filter(run));
                continue;
            }
            let Some(candidates) = self.by_name.get(name) else { continue };
            // The lists of functions are in the order of the file.
            let within = |class: usize| {
                let functions = &outline.classes[class].functions;
                candidates.iter().rev().copied().find(|function| functions.binary_search(function).is_ok())
            };
            if !member {
                mentioned.extend(within(MODULE));
            } else if matches!(text(at - 2), "self" | "cls" | ")") && scopes != [MODULE] {
                mentioned.extend(scopes.iter().find_map(|class| within(*class)));
            } else if let Some(class) = outline.class(text(at - 2)) {
                mentioned.extend(outline.lineage(class).into_iter().find_map(within));
            } else {
                // On an object of a class that the tests are not in.
                let elsewhere = |function: &&usize| {
                    let inside =
                        |class: &usize| outline.classes[*class].functions.binary_search(function).is_ok();
                    !inside(&MODULE) && !scopes.iter().any(inside)
                };
                mentioned.extend(candidates.iter().filter(elsewhere).take(HELPERS_PER_TEST));
            }
        }
        mentioned
    }
}

/// When a function runs by its name.
fn role(name: &str) -> Option<PieceKind> {
    match name {
        "setUp" | "setUpClass" | "setUpModule" | "asyncSetUp" | "setup" | "setup_method" | "setup_class"
        | "setup_module" | "setup_function" | "setUpTestData" => Some(PieceKind::SetUp),
        "tearDown" | "tearDownClass" | "tearDownModule" | "asyncTearDown" | "teardown"
        | "teardown_method" | "teardown_class" | "teardown_module" | "teardown_function" => {
            Some(PieceKind::TearDown)
        }
        _ => None,
    }
}
