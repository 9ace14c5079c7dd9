//! Tests in JavaScript and TypeScript: `describe` and `it` of Jest, Vitest,
//! Mocha, Node and Playwright.

mod calls;
mod imports;
mod title;

use std::collections::HashMap;

use flakewise_model::{TestId, TestIdBuilder};

use crate::kind::Kind;
use crate::limits::CLASS_DEPTH;
use crate::outline::{FILE, Function, Head, Outline, Scope, Stretch, Test};
use crate::tree::{At, Tree};
use crate::{Framework, PieceKind};
use calls::{Role, called};
use imports::{Runner, external_modules, required};
use title::title;

/// What a file declares.
pub(crate) fn outline<'a>(tree: &Tree<'a>, path: &str) -> Outline<'a> {
    let mut outline = Outline::new(Framework::Describe);
    outline.modules = external_modules(tree);
    let runner = Runner::of(tree);
    let mut reader = Reader { tree, path, runner, outline, namesakes: HashMap::new() };
    reader.read();
    reader.outline
}

struct Reader<'t, 'a> {
    tree: &'t Tree<'a>,
    path: &'t str,
    runner: Runner,
    outline: Outline<'a>,
    /// How many tests have an id.
    namesakes: HashMap<TestId, u32>,
}

impl<'a> Reader<'_, 'a> {
    fn read(&mut self) {
        let tree = self.tree;
        let end = tree.after(Tree::ROOT);
        // The groups around, with the node after each.
        let mut open: Vec<(usize, At)> = vec![(FILE, end)];
        let mut at = Tree::ROOT + 1;
        while at < end {
            while open.last().is_some_and(|(_, after)| *after <= at) {
                open.pop();
            }
            let scope = open.last().map_or(FILE, |(scope, _)| *scope);
            match tree.kind(at) {
                Kind::Import => {
                    let from = tree.child(at, Kind::Text).map_or("", |from| unquoted(tree.text(from)));
                    self.part(scope, PieceKind::Import, from, at);
                }
                Kind::Field => self.variables(at, scope),
                Kind::Function => self.function(at, at, scope, false),
                Kind::Method => self.function(at, at, scope, true),
                Kind::Expression if self.is_set_up(at) => {
                    let name = called(tree, self.call_of(at)).map_or("", |call| call.name());
                    self.part(scope, PieceKind::SetUp, name, at);
                }
                Kind::Call => match self.call(at, scope, open.len() < CLASS_DEPTH) {
                    Step::Past => {}
                    Step::Within => {
                        at += 1;
                        continue;
                    }
                    Step::Group(body) => {
                        open.push((self.outline.scopes.len() - 1, tree.after(at)));
                        at = body;
                        continue;
                    }
                },
                // What can have tests or functions within.
                Kind::Expression
                | Kind::Class
                | Kind::Body
                | Kind::Block
                | Kind::If
                | Kind::Else
                | Kind::For
                | Kind::While
                | Kind::Try
                | Kind::Catch
                | Kind::OtherStatement
                | Kind::Attribute
                | Kind::Arguments
                | Kind::Lambda
                | Kind::Error
                | Kind::Other => {
                    at += 1;
                    continue;
                }
                _ => {}
            }
            at = tree.after(at);
        }
    }

    fn part(&mut self, scope: usize, kind: PieceKind, name: &'a str, at: At) {
        self.outline.scopes[scope].parts.push((kind, name, Stretch { first: at, last: at }));
    }

    /// `const a = …`: a variable, a function or an import.
    fn variables(&mut self, at: At, scope: usize) {
        let tree = self.tree;
        let mut first = None;
        for variable in tree.children(at).filter(|child| tree.kind(*child) == Kind::Assignment) {
            let value = tree.children(variable).last().filter(|value| tree.kind(*value) == Kind::Lambda);
            if value.is_some() {
                self.function(variable, at, scope, false);
            } else if first.is_none() {
                first = Some(variable);
            }
        }
        let Some(variable) = first else { return };
        if let Some(from) = required(tree, variable) {
            self.part(scope, PieceKind::Import, from, at);
        } else {
            let name = tree.text(variable + 1);
            self.part(scope, PieceKind::Field, if name.len() <= 80 { name } else { "" }, at);
        }
    }

    /// A function that is declared at one node and told by all of another.
    fn function(&mut self, declared: At, whole: At, scope: usize, method: bool) {
        let tree = self.tree;
        let Some(name) = tree.child(declared, Kind::Identifier).map(|name| tree.text(name)) else { return };
        let stretch = Stretch { first: whole, last: whole };
        self.outline.functions.push(Function { stretch, name, called: name, scope, method, fixture: false });
    }

    /// The call that a statement is, `await` or not.
    fn call_of(&self, statement: At) -> At {
        let inside = |at: At| self.tree.named_children(at).next().unwrap_or(at);
        let first = inside(statement);
        if self.tree.kind(first) == Kind::Other { inside(first) } else { first }
    }

    /// Whether a statement is a call that runs before the tests around it.
    fn is_set_up(&self, statement: At) -> bool {
        let tree = self.tree;
        let at = self.call_of(statement);
        if tree.kind(at) != Kind::Call {
            return false;
        }
        let Some(call) = called(tree, at) else { return false };
        if call.role() != Role::Other {
            return false;
        }
        // Within other functions there may be tests.
        call.is_mock() || !tree.subtree(at).any(|at| tree.kind(at) == Kind::Lambda)
    }

    fn call(&mut self, at: At, scope: usize, groups: bool) -> Step {
        let tree = self.tree;
        let Some(call) = called(tree, at) else { return Step::Within };
        let Some(arguments) = tree.child(at, Kind::Arguments) else { return Step::Within };
        let statement = statement(tree, at);
        let is_lambda = |at: &At| tree.kind(*at) == Kind::Lambda;
        let mut rest = tree.named_children(arguments);
        let Some(first) = rest.next() else { return Step::Within };
        match call.role() {
            Role::Group if groups => {
                let callback = rest.chain([first]).find(is_lambda);
                let Some(callback) = callback else { return Step::Within };
                let last = tree.children(callback).last().unwrap_or(callback);
                let body = tree.child(callback, Kind::Block).unwrap_or(last);
                let name = if is_lambda(&first) { String::new() } else { title(tree, first) };
                self.outline.scopes.push(Scope {
                    name,
                    outer: Some(scope),
                    head: Some(Head { first: statement, body }),
                    parts: Vec::new(),
                });
                Step::Group(body)
            }
            Role::Test if title::is_literal(tree, first) || rest.any(|at| is_lambda(&at)) => {
                self.test(title(tree, first), scope, Stretch { first: statement, last: statement });
                Step::Past
            }
            Role::SetUp | Role::TearDown
                if matches!(tree.kind(first), Kind::Identifier | Kind::Attribute)
                    || tree.subtree(arguments).any(|at| is_lambda(&at)) =>
            {
                let kind = if call.role() == Role::SetUp { PieceKind::SetUp } else { PieceKind::TearDown };
                self.part(scope, kind, call.name(), statement);
                Step::Past
            }
            _ => Step::Within,
        }
    }

    fn test(&mut self, name: String, scope: usize, stretch: Stretch) {
        let around = self.outline.around(scope);
        let titles: Vec<&str> = around
            .iter()
            .rev()
            .map(|scope| self.outline.scopes[*scope].name.as_str())
            .filter(|title| !title.is_empty())
            .collect();
        let (prefix, title) = self.runner.parts(self.path, &titles, &name);
        let title = if title.is_empty() { "(unnamed)" } else { &title };
        let id = prefix.test(title, None);
        let namesakes = self.namesakes.entry(id.clone()).or_default();
        *namesakes += 1;
        // As in reports that list each test once.
        let id = if *namesakes > 1 { prefix.test(title, Some(&format!("#{namesakes}"))) } else { id };
        self.outline.tests.push(Test { stretch, name, scope, id });
    }
}

/// Where to continue after a call.
enum Step {
    Past,
    Within,
    /// Into the body of a group, which is the last of the scopes.
    Group(At),
}

impl Runner {
    /// Everything before the name, and the name.
    fn parts(self, path: &str, titles: &[&str], name: &str) -> (TestIdBuilder, String) {
        let builder = TestId::builder(self.scheme(), path);
        let Some(separator) = self.separator() else {
            return (titles.iter().fold(builder, |builder, title| builder.class(title)), name.to_owned());
        };
        if self == Self::Jest {
            let class = titles.join(separator);
            let builder = if class.is_empty() { builder } else { builder.class(&class) };
            return (builder, name.trim_start().to_owned());
        }
        // A title that holds the separator looks like two in a report.
        let full = titles.iter().copied().chain([name]).collect::<Vec<_>>().join(separator);
        match full.rsplit_once(separator) {
            Some((around, name)) if !name.is_empty() => {
                (around.split(separator).fold(builder, TestIdBuilder::class), name.to_owned())
            }
            _ => (builder, full),
        }
    }
}

/// The statement that a call is the whole of, or the call.
fn statement(tree: &Tree<'_>, call: At) -> At {
    let parent = tree.parent(call);
    let around = tree.parent(parent);
    match tree.kind(parent) {
        Kind::Expression => parent,
        Kind::Other if tree.kind(around) == Kind::Expression => around,
        _ => call,
    }
}

fn unquoted(text: &str) -> &str {
    text.trim_matches(['"', '\'', '`'])
}
