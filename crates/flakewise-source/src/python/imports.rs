//! Which modules of other projects a Python file imports.

use std::collections::HashMap;

use super::standard::is_standard;
use crate::kind::Kind;
use crate::tree::{At, Tree};

/// The names that imports bring, anywhere in the file, and the modules they
/// are of. Names that cannot be known are under the empty name.
pub(super) fn external_modules<'a>(tree: &Tree<'a>, path: &str) -> HashMap<&'a str, Vec<&'a str>> {
    let mut modules: HashMap<&str, Vec<&str>> = HashMap::new();
    let mut add = |name: &'a str, module: &'a str| {
        let own = path.split(['/', '\\']).any(|part| part.strip_suffix(".py").unwrap_or(part) == module);
        // What runs tests is not a module that a test uses.
        if !own && !is_standard(module) && !module.contains("pytest") && module != "conftest" {
            let known = modules.entry(name).or_default();
            if !known.contains(&module) {
                known.push(module);
            }
        }
    };
    for at in tree.subtree(Tree::ROOT) {
        match tree.kind(at) {
            Kind::Import => {
                for import in tree.named_children(at) {
                    let (path, alias) = aliased(tree, import);
                    let module = first_part(path);
                    add(alias.unwrap_or(module), module);
                }
            }
            Kind::ImportFrom => {
                let mut parts = tree.named_children(at);
                let Some(from) = parts.next().filter(|from| tree.kind(*from) == Kind::QualifiedName) else {
                    continue;
                };
                let module = first_part(tree.text(from));
                for import in parts {
                    let (name, alias) = aliased(tree, import);
                    let name = if tree.kind(import) == Kind::Asterisk { "" } else { alias.unwrap_or(name) };
                    add(name, module);
                }
            }
            _ => {}
        }
    }
    modules
}

/// `name` or `name as alias`.
fn aliased<'a>(tree: &Tree<'a>, at: At) -> (&'a str, Option<&'a str>) {
    if tree.kind(at) != Kind::AliasedImport {
        return (tree.text(at), None);
    }
    let mut parts = tree.named_children(at);
    let name = parts.next().map_or("", |name| tree.text(name));
    (name, parts.next().map(|alias| tree.text(alias)))
}

fn first_part(name: &str) -> &str {
    name.split('.').next().unwrap_or(name).trim()
}
