//! What a file declares, for languages whose tests are functions or calls in
//! scopes: Rust, Go and JavaScript.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use flakewise_model::TestId;

use crate::limits::{HELPERS_PER_TEST, TESTS_PER_FILE};
use crate::metrics::{count_modules, measure};
use crate::piece::Scissors;
use crate::tree::{At, Tree};
use crate::{Framework, Issue, Piece, PieceKind, SourceTest, TokenKind};

/// What a file declares.
pub(crate) struct Outline<'a> {
    pub(crate) framework: Framework,
    /// The first is the file itself. A scope stands after the one around it.
    pub(crate) scopes: Vec<Scope<'a>>,
    pub(crate) functions: Vec<Function<'a>>,
    pub(crate) tests: Vec<Test>,
    /// Which name each import of another project brings, and from which module.
    pub(crate) modules: HashMap<&'a str, Vec<&'a str>>,
}

/// The file among the scopes.
pub(crate) const FILE: usize = 0;

/// The file, a module of Rust or a `describe`.
#[derive(Default)]
pub(crate) struct Scope<'a> {
    pub(crate) name: String,
    pub(crate) outer: Option<usize>,
    pub(crate) head: Option<Head>,
    /// Imports, variables, set-up and tear-down, in the order of the file.
    pub(crate) parts: Vec<(PieceKind, &'a str, Stretch)>,
}

/// What stands before the body of a scope.
pub(crate) struct Head {
    pub(crate) first: At,
    pub(crate) body: At,
}

/// Neighbouring nodes, both included.
#[derive(Clone, Copy)]
pub(crate) struct Stretch {
    pub(crate) first: At,
    pub(crate) last: At,
}

impl Stretch {
    fn nodes(self, tree: &Tree<'_>) -> Range<At> {
        self.first..tree.after(self.last)
    }

    fn bytes(self, tree: &Tree<'_>) -> Range<u32> {
        tree.span(self.first).start..tree.span(self.last).end
    }
}

pub(crate) struct Function<'a> {
    pub(crate) stretch: Stretch,
    pub(crate) name: &'a str,
    pub(crate) scope: usize,
    /// The name by which others run it: its own, or that of what it belongs to.
    pub(crate) called: &'a str,
    /// Whether it is called on something.
    pub(crate) method: bool,
    /// Whether it is run for any test that requests it by name, as rstest's fixtures.
    pub(crate) fixture: bool,
}

pub(crate) struct Test {
    pub(crate) stretch: Stretch,
    pub(crate) name: String,
    pub(crate) scope: usize,
    pub(crate) id: TestId,
}

impl Outline<'_> {
    pub(crate) fn new(framework: Framework) -> Self {
        Self {
            framework,
            scopes: vec![Scope::default()],
            functions: Vec::new(),
            tests: Vec::new(),
            modules: HashMap::new(),
        }
    }

    /// A scope and those around it, the nearest first.
    pub(crate) fn around(&self, scope: usize) -> Vec<usize> {
        std::iter::successors(Some(scope), |scope| self.scopes[*scope].outer).collect()
    }

    /// Cuts the tests out of the file.
    pub(crate) fn cut(&self, tree: &Tree<'_>, issues: &mut Vec<Issue>) -> Vec<SourceTest> {
        let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, function) in self.functions.iter().enumerate() {
            let namesakes = by_name.entry(function.called).or_default();
            if namesakes.len() < NAMESAKES {
                namesakes.push(at);
            }
        }
        let scissors = Scissors::new();
        let mut cutter = Cutter {
            outline: self,
            tree,
            by_name,
            scissors,
            pieces: HashMap::new(),
            mentions: HashMap::new(),
        };
        // Tests of one scope that ask for the same fixtures share their context.
        let mut contexts: HashMap<(usize, Vec<usize>), Arc<[Piece]>> = HashMap::new();
        let mut tests = Vec::new();
        for test in &self.tests {
            let line = tree.line(test.stretch.first);
            if cutter.scissors.spent() || tests.len() == TESTS_PER_FILE {
                issues.push(Issue { line, text: "too many tests; the rest is skipped".into() });
                break;
            }
            let body = cutter.piece(PieceKind::Test, &test.name, test.stretch);
            let (fixtures, helpers): (Vec<usize>, Vec<usize>) = cutter
                .followed(test, &body)
                .into_iter()
                .partition(|function| self.functions[*function].fixture);
            let context = contexts
                .entry((test.scope, fixtures))
                .or_insert_with_key(|(scope, fixtures)| cutter.context(*scope, fixtures).into());
            let bytes = test.stretch.bytes(tree);
            let text = tree.text.get(bytes.start as usize..bytes.end as usize).unwrap_or_default();
            let modules = count_modules(&body, &self.modules);
            tests.push(SourceTest {
                id: test.id.clone(),
                framework: self.framework,
                line,
                end_line: line + u32::try_from(text.trim_end().matches('\n').count()).unwrap_or(0),
                metrics: measure(tree, test.stretch.nodes(tree), &body, modules),
                body,
                context: Arc::clone(context),
                helpers: helpers.iter().map(|function| Arc::clone(&cutter.pieces[function])).collect(),
            });
        }
        tests
    }
}

/// Functions of one name beyond these are not distinguished.
const NAMESAKES: usize = 256;

/// What is cut already, and what is left to cut with.
struct Cutter<'o, 't, 'a> {
    outline: &'o Outline<'a>,
    tree: &'t Tree<'a>,
    by_name: HashMap<&'o str, Vec<usize>>,
    scissors: Scissors,
    /// By function.
    pieces: HashMap<usize, Arc<Piece>>,
    /// The functions that a function names.
    mentions: HashMap<usize, Vec<usize>>,
}

impl Cutter<'_, '_, '_> {
    fn piece(&mut self, kind: PieceKind, name: &str, stretch: Stretch) -> Piece {
        self.scissors.stretch(self.tree, kind, name, stretch.nodes(self.tree), stretch.bytes(self.tree))
    }

    /// What stands around the tests of a scope that ask for these fixtures.
    fn context(&mut self, scope: usize, fixtures: &[usize]) -> Vec<Piece> {
        let (tree, outline) = (self.tree, self.outline);
        let mut context = Vec::new();
        for scope in outline.around(scope).into_iter().rev().map(|scope| &outline.scopes[scope]) {
            if self.scissors.spent() {
                return context;
            }
            if let Some(Head { first, body }) = scope.head {
                let start = tree.span(first).start;
                let bytes = start..tree.span(body).start.max(start);
                let head = self.scissors.stretch(tree, PieceKind::Class, &scope.name, first..body, bytes);
                context.push(head);
            }
            for (kind, name, stretch) in &scope.parts {
                context.push(self.piece(*kind, name, *stretch));
            }
        }
        for fixture in fixtures.iter().map(|fixture| &outline.functions[*fixture]) {
            context.push(self.piece(PieceKind::SetUp, fixture.name, fixture.stretch));
        }
        context
    }

    /// Functions of the file that a test names, directly or not. Their pieces
    /// are cut on the way.
    fn followed(&mut self, test: &Test, body: &Piece) -> Vec<usize> {
        let outline = self.outline;
        let mut followed: Vec<usize> = Vec::new();
        let mut known: HashSet<usize> = HashSet::new();
        let mut mentioned = self.mentioned(test.scope, body);
        let mut next = 0;
        loop {
            for &function in &mentioned {
                if followed.len() < HELPERS_PER_TEST && known.insert(function) {
                    followed.push(function);
                }
            }
            let Some(&function) = followed.get(next) else { return followed };
            next += 1;
            let Function { stretch, name, scope, .. } = outline.functions[function];
            if !self.pieces.contains_key(&function) {
                let piece = self.piece(PieceKind::Helper, name, stretch);
                self.mentions.insert(function, self.mentioned(scope, &piece));
                self.pieces.insert(function, Arc::new(piece));
            }
            mentioned.clone_from(&self.mentions[&function]);
        }
    }

    /// The functions of the file that a piece names, seen from a scope.
    fn mentioned(&self, scope: usize, piece: &Piece) -> Vec<usize> {
        let text = |at: usize| piece.word(&piece.tokens[at]);
        let around = self.outline.around(scope);
        let mut known: HashSet<(&str, &str)> = HashSet::new();
        let mut mentioned = Vec::new();
        for (at, token) in piece.tokens.iter().enumerate() {
            if !matches!(token.kind, TokenKind::Identifier | TokenKind::Type) {
                continue;
            }
            let Some(candidates) = self.by_name.get(text(at)) else { continue };
            let before = if at == 0 { "" } else { text(at - 1) };
            let before = if matches!(before, "." | "?." | "::") { before } else { "" };
            if !known.insert((text(at), before)) {
                continue;
            }
            let function = |at: usize| &self.outline.functions[at];
            let fits = |at: &usize| match before {
                "" => !function(*at).method,
                "::" => true,
                _ => function(*at).method,
            };
            let fitting: Vec<usize> = candidates.iter().copied().filter(fits).collect();
            let near = around.iter().find(|scope| fitting.iter().any(|at| function(*at).scope == **scope));
            // A path can lead into a scope beside the test's own.
            let found = fitting.into_iter().filter(|at| near.is_none_or(|near| function(*at).scope == *near));
            mentioned.extend(found.take(HELPERS_PER_TEST));
        }
        mentioned
    }
}
