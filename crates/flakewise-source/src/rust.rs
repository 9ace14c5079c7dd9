//! Tests in Rust: functions with `#[test]`, also of tokio, rstest and others,
//! and those within macros such as `proptest!`.

use std::collections::HashSet;

use flakewise_model::{TestId, TestIdBuilder};

use crate::kind::Kind;
use crate::limits::CLASS_DEPTH;
use crate::outline::{FILE, Function, Head, Outline, Scope, Stretch, Test};
use crate::tree::{At, Tree};
use crate::{Framework, Package, PieceKind};

const SCHEME: &str = "rust";

/// What a file declares.
pub(crate) fn outline<'a>(tree: &Tree<'a>, path: &str, package: Option<&Package>) -> Outline<'a> {
    let mut reader = Reader {
        tree,
        target: Target::of(path, package),
        outline: Outline::new(Framework::Rust),
        attributes: Vec::new(),
        known: HashSet::new(),
    };
    reader.read();
    let own = reader.target.package.replace('-', "_");
    for at in tree.subtree(Tree::ROOT).filter(|at| tree.kind(*at) == Kind::Import) {
        reader.import(at, &own);
    }
    reader.outline
}

/// The binary that a file is compiled into, as Cargo finds it automatically.
struct Target {
    package: String,
    /// As nextest names it.
    binary: String,
    /// The modules that the file's path stands for.
    modules: Vec<String>,
}

impl Target {
    fn of(path: &str, package: Option<&Package>) -> Self {
        let (name, within) = match package {
            Some(package) => (package.name.clone(), package.within(path)),
            None => guessed(path),
        };
        let parts: Vec<&str> = within.strip_suffix(".rs").unwrap_or(within).split('/').collect();
        let (kind, rest) = match parts.as_slice() {
            ["src", "main"] => return Self::new(&name, &format!("{name}::bin/{name}"), &[]),
            ["src", "bin", rest @ ..] => ("bin/", rest),
            ["tests", rest @ ..] => ("", rest),
            ["benches", rest @ ..] => ("bench/", rest),
            ["examples", rest @ ..] => ("example/", rest),
            ["src", rest @ ..] | rest => return Self::new(&name, &name, rest),
        };
        let (target, rest) = rest.split_first().unwrap_or((&"", &[]));
        Self::new(&name, &format!("{name}::{kind}{target}"), rest)
    }

    fn new(package: &str, binary: &str, modules: &[&str]) -> Self {
        let modules = match modules {
            [around @ .., "mod"] => around,
            ["lib" | "main"] => &[],
            modules => modules,
        };
        let modules = modules.iter().map(|&module| module.to_owned()).collect();
        Self { package: package.to_owned(), binary: binary.to_owned(), modules }
    }
}

/// Without a manifest the package is taken to be named like the folder that
/// its targets are in.
fn guessed(path: &str) -> (String, &str) {
    let mut start = 0;
    let mut folder = "";
    for part in path.split('/') {
        if matches!(part, "src" | "tests" | "benches" | "examples") && start + part.len() < path.len() {
            return (folder.to_owned(), &path[start..]);
        }
        folder = part;
        start += part.len() + 1;
    }
    (String::new(), path)
}

struct Reader<'t, 'a> {
    tree: &'t Tree<'a>,
    target: Target,
    outline: Outline<'a>,
    /// Those that stand before the next item.
    attributes: Vec<At>,
    known: HashSet<TestId>,
}

impl<'a> Reader<'_, 'a> {
    fn read(&mut self) {
        let tree = self.tree;
        let end = tree.after(Tree::ROOT);
        // The modules around, with the node after each.
        let mut open: Vec<(usize, At)> = vec![(FILE, end)];
        // The node after the methods that are looked at.
        let mut after_methods = 0;
        let mut at = Tree::ROOT + 1;
        while at < end {
            while open.last().is_some_and(|(_, after)| *after <= at) {
                open.pop();
            }
            let scope = open.last().map_or(FILE, |(scope, _)| *scope);
            let method = at < after_methods;
            let kind = tree.kind(at);
            let first = self.attributes.first().copied().unwrap_or(at);
            let stretch = Stretch { first, last: at };
            match kind {
                Kind::Annotation => self.attributes.push(at),
                Kind::Package => {
                    let body = tree.child(at, Kind::Body);
                    if let Some(body) = body.filter(|_| open.len() < CLASS_DEPTH) {
                        let name = tree.child(at, Kind::Identifier).map_or("", |name| tree.text(name));
                        open.push((self.outline.scopes.len(), tree.after(at)));
                        self.outline.scopes.push(Scope {
                            name: name.to_owned(),
                            outer: Some(scope),
                            head: Some(Head { first, body }),
                            parts: Vec::new(),
                        });
                        self.attributes.clear();
                        at = body + 1;
                        continue;
                    }
                }
                Kind::Class => {
                    after_methods = tree.after(at);
                    self.attributes.clear();
                    at = tree.child(at, Kind::Body).unwrap_or(at) + 1;
                    continue;
                }
                Kind::Function => self.function(at, scope, method, stretch),
                Kind::Import => {
                    let name = tree.text(at).trim_end_matches(';').rsplit("use ").next().unwrap_or_default();
                    let name = if name.len() <= 80 { name.trim() } else { "" };
                    self.part(scope, PieceKind::Import, name, stretch);
                }
                Kind::Field if !method => {
                    let name = tree.child(at, Kind::Identifier).map_or("", |name| tree.text(name));
                    self.part(scope, PieceKind::Field, name, stretch);
                }
                Kind::Macro if !self.within_macro(at, scope) => {
                    self.part(scope, PieceKind::Field, tree.text(at + 1), stretch);
                }
                // An attribute stays with what it stands before.
                Kind::Expression | Kind::Error => {
                    at += 1;
                    continue;
                }
                _ => {}
            }
            if !matches!(kind, Kind::Comment | Kind::Annotation) {
                self.attributes.clear();
            }
            at = tree.after(at);
        }
    }

    fn part(&mut self, scope: usize, kind: PieceKind, name: &'a str, stretch: Stretch) {
        self.outline.scopes[scope].parts.push((kind, name, stretch));
    }

    fn function(&mut self, at: At, scope: usize, method: bool, stretch: Stretch) {
        let tree = self.tree;
        let Some(name) = tree.child(at, Kind::Identifier).map(|name| tree.text(name)) else { return };
        let attributes: Vec<&str> = self.attributes.iter().map(|at| attribute_name(tree.text(*at))).collect();
        if !method && attributes.iter().any(|name| is_test(name)) {
            self.test(name, scope, stretch);
            return;
        }
        let fixture = attributes.contains(&"fixture");
        self.outline.functions.push(Function { stretch, name, called: name, scope, method, fixture });
    }

    fn test(&mut self, name: &str, scope: usize, stretch: Stretch) {
        let builder = TestId::builder(SCHEME, &self.target.binary);
        let builder = self.target.modules.iter().fold(builder, |builder, module| builder.class(module));
        let around = self.outline.around(scope);
        let inline = around.iter().rev().filter(|scope| **scope != FILE);
        let builder = inline
            .fold(builder, |builder: TestIdBuilder, scope| builder.class(&self.outline.scopes[*scope].name));
        let id = builder.finish(name, None);
        // Of several with one name, one is compiled.
        if self.known.insert(id.clone()) {
            self.outline.tests.push(Test { stretch, name: name.to_owned(), scope, id });
        }
    }

    /// Tests that are handed to a macro: attributes, `fn`, a name and a body,
    /// which are not parsed. Whether there are any.
    fn within_macro(&mut self, at: At, scope: usize) -> bool {
        let tree = self.tree;
        let Some(tokens) = tree.child(at, Kind::TokenTree) else { return false };
        let before = self.outline.tests.len();
        let (mut first, mut test, mut name): (Option<At>, bool, Option<&str>) = (None, false, None);
        let mut last = "";
        for token in tree.children(tokens) {
            let text = tree.text(token);
            match tree.kind(token) {
                Kind::TokenTree if last == "#" => {
                    test |= is_test(attribute_name(text));
                }
                Kind::TokenTree if text.starts_with('{') => {
                    if let (Some(first), Some(name)) = (first.filter(|_| test), name) {
                        self.test(name, scope, Stretch { first, last: token });
                    }
                    (first, test, name) = (None, false, None);
                }
                Kind::Identifier if last == "fn" => name = Some(text),
                _ if text == "#" => first = first.or(Some(token)),
                _ => {}
            }
            last = text;
        }
        self.outline.tests.len() > before
    }

    /// The names that an import brings from another package.
    fn import(&mut self, at: At, own: &str) {
        let tree = self.tree;
        let mut names = tree.subtree(at).filter(|at| {
            matches!(tree.kind(*at), Kind::Identifier | Kind::TypeIdentifier | Kind::Keyword | Kind::Asterisk)
                && !matches!(tree.text(*at), "use" | "pub" | "as")
        });
        let Some(module) = names.next().map(|module| match tree.kind(module) {
            // `use prelude::*` is one node around its path.
            Kind::Asterisk => tree.text(module).split("::").next().unwrap_or_default().trim(),
            _ => tree.text(module),
        }) else {
            return;
        };
        if matches!(module, "std" | "core" | "alloc" | "crate" | "self" | "super") || module == own {
            return;
        }
        let modules = &mut self.outline.modules;
        let mut add = |name: &'a str| {
            let known = modules.entry(name).or_default();
            if !known.contains(&module) {
                known.push(module);
            }
        };
        add(module);
        if tree.text(at).contains('*') {
            add("");
        }
        for name in names.filter(|name| tree.kind(*name) != Kind::Asterisk) {
            add(tree.text(name));
        }
    }
}

/// The last part of an attribute's path: `test` of `#[tokio::test(…)]`.
fn attribute_name(attribute: &str) -> &str {
    let path = attribute.trim_start_matches(['#', '[', ' ']);
    let end = path.find(['(', '=', ']', '[', '{']).unwrap_or(path.len());
    path[..end].rsplit("::").next().unwrap_or_default().trim()
}

fn is_test(attribute: &str) -> bool {
    matches!(attribute, "test" | "rstest" | "test_case")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binaries_are_named_as_nextest_does() {
        let package = Package { folder: "crates/a".into(), name: "acme".into() };
        for (path, binary, modules) in [
            ("src/lib.rs", "acme", ""),
            ("src/main.rs", "acme::bin/acme", ""),
            ("src/a/b.rs", "acme", "a b"),
            ("src/a/mod.rs", "acme", "a"),
            ("src/bin/tool.rs", "acme::bin/tool", ""),
            ("src/bin/tool/main.rs", "acme::bin/tool", ""),
            ("src/bin/tool/part.rs", "acme::bin/tool", "part"),
            ("tests/it.rs", "acme::it", ""),
            ("tests/it/main.rs", "acme::it", ""),
            ("tests/it/cart.rs", "acme::it", "cart"),
            ("benches/fast.rs", "acme::bench/fast", ""),
            ("examples/show.rs", "acme::example/show", ""),
        ] {
            let target = Target::of(&format!("crates/a/{path}"), Some(&package));
            assert_eq!(
                (target.binary.as_str(), target.modules.join(" ").as_str()),
                (binary, modules),
                "{path}"
            );
        }
        assert_eq!(Target::of("crates/a/tests/it.rs", None).binary, "a::it");
        assert_eq!(Target::of("src/cart.rs", None).binary, "");
        assert_eq!(Target::of("odd.rs", None).modules, ["odd"]);
    }

    #[test]
    fn attributes_go_by_the_last_part() {
        for attribute in
            ["#[test]", "#[tokio::test(flavor = \"x\")]", "# [ rstest ]", "[test]", "#[test_case(1)]"]
        {
            assert!(is_test(attribute_name(attribute)), "{attribute}");
        }
        for attribute in ["#[cfg(test)]", "#[ignore = \"test\"]", "#[test::other]", "#[]"] {
            assert!(!is_test(attribute_name(attribute)), "{attribute}");
        }
    }
}
