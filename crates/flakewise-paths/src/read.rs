//! The graph of a test, from its source.

use flakewise_source::{Language, SyntaxTree};

use crate::build::build;
use crate::graph::Graph;
use crate::resolve::{Resolve, Unresolved};
use crate::scope::{ParsedFile, Scope};

/// The graph of a test in the first file of a scope, found by its name and, if
/// there are several of that name, by its line. Empty if it is not there, or
/// if the language is not supported.
pub fn graph_of_test<'a>(
    file: &'a ParsedFile,
    scope: &'a Scope<'a>,
    name: &str,
    line: u32,
    resolver: &'a dyn Resolve,
) -> Graph {
    if !matches!(file.tree.language(), Language::Java | Language::Python) {
        return Graph::default();
    }
    scope.test(name, line).map(|function| build(&file.tree, function, scope, resolver)).unwrap_or_default()
}

/// The graph of a test that comes without its repository: the source of its
/// method, and the file of its class if there is one. Lines are those of the
/// method's source. A method without source is looked for in the file.
pub fn graph_of_fragment(
    language: Language,
    method_source: &str,
    class_source: Option<&str>,
    class: &str,
    method: &str,
) -> Graph {
    if !matches!(language, Language::Java | Language::Python) {
        return Graph::default();
    }
    let class_file = class_source.and_then(|source| ParsedFile::parse(language, source));
    let simple = class.rsplit(['.', '$', ':']).next().unwrap_or(class);
    let scope = Scope::new(class_file.iter().collect(), simple);
    if let Some(tree) = SyntaxTree::parse(language, method_source) {
        let end = tree.after(SyntaxTree::ROOT);
        let function = (SyntaxTree::ROOT..end).find(|node| {
            matches!(
                tree.kind(*node),
                "method_declaration" | "function_definition" | "constructor_declaration"
            )
        });
        if let Some(function) = function {
            return build(&tree, function, &scope, &Unresolved);
        }
    }
    class_file.as_ref().map(|file| graph_of_test(file, &scope, method, 0, &Unresolved)).unwrap_or_default()
}
