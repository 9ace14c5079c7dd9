//! The graph of a test, from its source.

use flakewise_source::{Framework, Language, SourceTest, SyntaxTree};

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

/// The graph of a test that has been read, with the helpers of its file. Lines
/// are those of the file. Empty if the language is not supported.
pub fn graph_of_source(test: &SourceTest) -> Graph {
    let helpers: Vec<&str> = test.helpers.iter().map(|helper| &*helper.text).collect();
    let helpers = helpers.join("\n\n");
    let (language, class_source) = match test.framework {
        Framework::Pytest | Framework::Unittest => (Language::Python, helpers),
        Framework::JUnit3 | Framework::JUnit4 | Framework::JUnit5 | Framework::TestNg => {
            (Language::Java, format!("class Helpers {{\n{helpers}\n}}"))
        }
        Framework::Rust | Framework::Go | Framework::Describe => return Graph::default(),
    };
    let mut graph = graph_of_fragment(language, &test.body.text, Some(&class_source), "Helpers", "");
    let before = test.body.line.saturating_sub(1);
    for node in &mut graph.nodes {
        node.line = node.line.saturating_add(before);
    }
    graph
}

#[cfg(test)]
mod tests {
    use flakewise_source::read_source;

    use super::*;

    #[test]
    fn a_test_that_was_read_has_the_paths_of_its_file() {
        let python = "import shop\n\n\ndef check(total):\n    assert total == 3\n\n\ndef test_sum():\n    \
                      total = shop.add(1, 2)\n    check(total)\n";
        let java = "class ShopTest {\n  void check(int total) {\n    assertEquals(3, total);\n  }\n\n  @Test\n  \
                    public void sum() {\n    int total = Shop.add(1, 2);\n    check(total);\n  }\n}\n";
        for (path, language, source, line) in
            [("test_shop.py", Language::Python, python, 9), ("ShopTest.java", Language::Java, java, 8)]
        {
            let file = read_source(path, language, source.as_bytes());
            let graph = graph_of_source(&file.tests[0]);
            let shown: Vec<String> = graph.paths().iter().map(|path| graph.show(path)).collect();
            let start = format!("1@{line} ");
            assert!(
                shown.iter().any(|path| path.starts_with(&start) && path.contains("total@")),
                "{shown:?}"
            );
            assert!(graph.assertions().all(|node| graph.nodes[node as usize].helper.is_some()), "{shown:?}");
        }
    }
}
