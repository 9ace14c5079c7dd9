//! What a file imports: who runs it, and which modules of other projects.

use std::collections::HashMap;

use super::unquoted;
use crate::kind::Kind;
use crate::tree::{At, Tree};

/// Who reports the tests of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runner {
    Jest,
    Vitest,
    Playwright,
    Node,
}

impl Runner {
    /// By what the file imports; Jest's functions need no import.
    pub(super) fn of(tree: &Tree<'_>) -> Self {
        let named = imported(tree).find_map(|(_, from)| match from {
            "vitest" => Some(Self::Vitest),
            "@playwright/test" => Some(Self::Playwright),
            "node:test" => Some(Self::Node),
            "@jest/globals" => Some(Self::Jest),
            _ => None,
        });
        named.unwrap_or(Self::Jest)
    }

    pub(super) fn scheme(self) -> &'static str {
        match self {
            Self::Jest => "jest",
            Self::Vitest => "vitest",
            Self::Playwright => "playwright",
            Self::Node => "node",
        }
    }

    /// What stands between the titles in a report, unless each has its own
    /// place.
    pub(super) fn separator(self) -> Option<&'static str> {
        match self {
            Self::Jest => Some(" "),
            Self::Vitest => Some(" > "),
            Self::Playwright => Some(" › "),
            Self::Node => None,
        }
    }
}

/// The names that imports bring, and the packages they are of.
pub(super) fn external_modules<'a>(tree: &Tree<'a>) -> HashMap<&'a str, Vec<&'a str>> {
    let mut modules: HashMap<&str, Vec<&str>> = HashMap::new();
    for (names, from) in imported(tree) {
        let Some(package) = package(from) else { continue };
        for name in tree.subtree(names).filter(|at| tree.kind(*at) == Kind::Identifier) {
            let known = modules.entry(tree.text(name)).or_default();
            if !known.contains(&package) {
                known.push(package);
            }
        }
    }
    modules
}

/// What is imported: the node with the names, and from where.
fn imported<'a, 't>(tree: &'t Tree<'a>) -> impl Iterator<Item = (At, &'a str)> + 't {
    tree.subtree(Tree::ROOT).filter_map(|at| match tree.kind(at) {
        Kind::Import => Some((at, unquoted(tree.text(tree.child(at, Kind::Text)?)))),
        Kind::Assignment => Some((at + 1, required(tree, at)?)),
        _ => None,
    })
}

/// What a variable is given by `require`, also by a member of it.
pub(super) fn required<'a>(tree: &Tree<'a>, variable: At) -> Option<&'a str> {
    let mut value = tree.children(variable).last()?;
    if tree.kind(value) == Kind::Attribute {
        value = tree.children(value).next()?;
    }
    let function = tree.children(value).next().filter(|_| tree.kind(value) == Kind::Call)?;
    let arguments = tree.child(value, Kind::Arguments).filter(|_| tree.text(function) == "require")?;
    Some(unquoted(tree.text(tree.child(arguments, Kind::Text)?)))
}

/// The package of another project, by what an import is from.
fn package(from: &str) -> Option<&str> {
    let end = match from.find('/') {
        Some(slash) if from.starts_with('@') => {
            from[slash + 1..].find('/').map_or(from.len(), |next| slash + 1 + next)
        }
        Some(slash) => slash,
        None => from.len(),
    };
    let package = &from[..end];
    let own = package.is_empty() || package.starts_with(['.', '#', '~']) || from.starts_with("@/");
    let runs = matches!(package, "vitest" | "jest" | "@jest/globals" | "mocha" | "@playwright/test");
    (!own && !runs && !package.starts_with("node:") && !BUILT_IN.contains(&package)).then_some(package)
}

/// Node's own modules.
const BUILT_IN: [&str; 38] = [
    "assert",
    "async_hooks",
    "buffer",
    "child_process",
    "cluster",
    "console",
    "constants",
    "crypto",
    "dgram",
    "diagnostics_channel",
    "dns",
    "domain",
    "events",
    "fs",
    "http",
    "http2",
    "https",
    "inspector",
    "module",
    "net",
    "os",
    "path",
    "perf_hooks",
    "process",
    "punycode",
    "querystring",
    "readline",
    "repl",
    "stream",
    "string_decoder",
    "timers",
    "tls",
    "tty",
    "url",
    "util",
    "v8",
    "vm",
    "zlib",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_of_other_projects() {
        assert_eq!(package("lodash/fp"), Some("lodash"));
        assert_eq!(package("@acme/cart/sum"), Some("@acme/cart"));
        assert_eq!(package("@acme/cart"), Some("@acme/cart"));
        for own in [
            "./cart",
            "../cart",
            "@/cart",
            "~/cart",
            "#cart",
            "",
            "/cart",
            "fs",
            "fs/promises",
            "node:fs",
            "vitest",
        ] {
            assert_eq!(package(own), None, "{own}");
        }
    }
}
