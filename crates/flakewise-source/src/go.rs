//! Tests in Go: what `go test` runs of a file, which are tests, fuzz tests and
//! examples with an output. Sub-tests are part of their test.

use std::collections::HashSet;

use flakewise_model::TestId;

use crate::kind::Kind;
use crate::outline::{FILE, Function, Outline, Stretch, Test};
use crate::tree::{At, Tree};
use crate::{Framework, Package, PieceKind};

const SCHEME: &str = "go";

/// What a file declares.
pub(crate) fn outline<'a>(tree: &Tree<'a>, path: &str, package: Option<&Package>) -> Outline<'a> {
    let mut outline = Outline::new(Framework::Go);
    let import_path = import_path(path, package);
    let mut known: HashSet<&str> = HashSet::new();
    let end = tree.after(Tree::ROOT);
    let mut at = Tree::ROOT + 1;
    while at < end {
        let stretch = Stretch { first: at, last: at };
        let mut part = |kind, name| outline.scopes[FILE].parts.push((kind, name, stretch));
        match tree.kind(at) {
            Kind::Function => {
                let name = tree.child(at, Kind::Identifier).map_or("", |name| tree.text(name));
                match role(tree, at, name) {
                    Role::Test if known.insert(name) => {
                        let id = TestId::builder(SCHEME, &import_path).finish(name, None);
                        outline.tests.push(Test { stretch, name: name.to_owned(), scope: FILE, id });
                    }
                    Role::Test => {}
                    Role::SetUp => part(PieceKind::SetUp, name),
                    Role::Other => outline.functions.push(function(stretch, name, name, false)),
                }
            }
            Kind::Method => {
                let receiver = tree
                    .child(at, Kind::Parameters)
                    .and_then(|list| tree.subtree(list).find(|at| tree.kind(*at) == Kind::TypeIdentifier));
                let name = tree.child(at, Kind::Identifier).map_or("", |name| tree.text(name));
                let receiver = receiver.map_or("", |receiver| tree.text(receiver));
                outline.functions.push(function(stretch, name, name, true));
                // A suite hands its methods to a runner, by its type alone.
                if is_suite_method(name) {
                    outline.functions.push(function(stretch, name, receiver, false));
                }
            }
            Kind::Import => {
                let (path, name) = import(tree, at);
                part(PieceKind::Import, path);
                let own = package.is_some_and(|package| path.starts_with(package.name.as_str()));
                // Only the standard library has no dot in the first part.
                if !own && path.split('/').next().is_some_and(|host| host.contains('.')) && name != "_" {
                    outline.modules.entry(if name == "." { "" } else { name }).or_default().push(path);
                }
            }
            Kind::Field => {
                let name = tree.subtree(at).find(|at| tree.kind(*at) == Kind::Identifier);
                part(PieceKind::Field, name.map_or("", |name| tree.text(name)));
            }
            // The imports are within their declaration.
            Kind::Other | Kind::Error => {
                at += 1;
                continue;
            }
            _ => {}
        }
        at = tree.after(at);
    }
    outline
}

fn function<'a>(stretch: Stretch, name: &'a str, called: &'a str, method: bool) -> Function<'a> {
    Function { stretch, name, called, scope: FILE, method, fixture: false }
}

/// The import path of the package that a file is of.
fn import_path(path: &str, package: Option<&Package>) -> String {
    let within = package.map_or(path, |package| package.within(path));
    let folder = within.rsplit_once('/').map_or("", |(folder, _)| folder);
    match package {
        Some(package) if folder.is_empty() => package.name.clone(),
        Some(package) => format!("{}/{folder}", package.name),
        None => folder.to_owned(),
    }
}

enum Role {
    Test,
    SetUp,
    Other,
}

fn role(tree: &Tree<'_>, function: At, name: &str) -> Role {
    let takes = |what: &str| {
        let Some(list) = tree.child(function, Kind::Parameters) else { return false };
        let mut parameters = tree.named_children(list);
        let first = parameters.next().filter(|_| parameters.next().is_none());
        first.is_some_and(|first| tree.text(first).trim_end().ends_with(what))
    };
    if name == "TestMain" && takes("testing.M") || name == "init" {
        Role::SetUp
    } else if follows(name, "Test") && takes("testing.T")
        || follows(name, "Fuzz") && takes("testing.F")
        || follows(name, "Example") && has_output(tree, function)
    {
        Role::Test
    } else {
        Role::Other
    }
}

/// Whether a name is the word, or the word and a name that is not small.
fn follows(name: &str, word: &str) -> bool {
    name.strip_prefix(word).is_some_and(|rest| !rest.starts_with(char::is_lowercase))
}

/// Other examples are compiled and not run.
fn has_output(tree: &Tree<'_>, function: At) -> bool {
    tree.subtree(function).filter(|at| tree.kind(*at) == Kind::Comment).any(|comment| {
        let text = tree.text(comment).trim_start_matches(['/', '*', ' ', '\t']).to_ascii_lowercase();
        text.starts_with("output:") || text.starts_with("unordered output:")
    })
}

/// What testify runs of a suite.
fn is_suite_method(name: &str) -> bool {
    follows(name, "Test") || ["Setup", "SetUp", "TearDown"].iter().any(|word| follows(name, word))
}

/// The path of an import and the name it brings.
fn import<'a>(tree: &Tree<'a>, at: At) -> (&'a str, &'a str) {
    let path = tree.child(at, Kind::Text).map_or("", |path| tree.text(path).trim_matches(['"', '`']));
    let alias = tree.children(at).next().filter(|alias| tree.kind(*alias) != Kind::Text);
    if let Some(alias) = alias {
        return (path, tree.text(alias));
    }
    let is_version = |part: &str| {
        part.strip_prefix('v')
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let name = path.rsplit('/').find(|part| !is_version(part)).unwrap_or(path);
    // `gopkg.in/yaml.v3` and `github.com/acme/go-cart`, by custom.
    let name = name.split_once(".v").map_or(name, |(name, _)| name);
    (path, name.strip_prefix("go-").unwrap_or(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn import_paths_begin_with_the_module() {
        let package = Package { folder: "shop".into(), name: "example.com/acme".into() };
        assert_eq!(import_path("shop/cart/sum/sum_test.go", Some(&package)), "example.com/acme/cart/sum");
        assert_eq!(import_path("shop/shop_test.go", Some(&package)), "example.com/acme");
        assert_eq!(import_path("shop/cart/cart_test.go", None), "shop/cart");
        assert_eq!(import_path("cart_test.go", None), "");
    }

    #[test]
    fn names_follow_with_a_capital_or_a_sign() {
        for name in ["Test", "TestA", "Test_a", "Test1", "TestÄ"] {
            assert!(follows(name, "Test"), "{name}");
        }
        for name in ["Testing", "test", "Testä", "ATest"] {
            assert!(!follows(name, "Test"), "{name}");
        }
    }
}
