//! A test that comes without its repository.

use std::sync::Arc;

use flakewise_model::{TestId, TestIdBuilder};

use crate::limits::FILE_BYTES;
use crate::metrics::measure;
use crate::piece::Scissors;
use crate::tree::Tree;
use crate::{Framework, Language, Metrics, Piece, PieceKind, SourceTest, java, read_source};

/// Reads one test from the source of its method, and its surroundings from the
/// file of its class if there is one.
///
/// `class` has its package in front; in languages other than Java it is the
/// path of the file, and the classes or modules within it after `::`. A method
/// without source is looked for in the file; whatever is broken or missing
/// leaves its part of the test empty.
pub fn read_fragment(
    language: Language,
    method_source: &str,
    class_source: Option<&str>,
    class: &str,
    method: &str,
) -> SourceTest {
    let class_source = class_source.map(bounded);
    let source = bounded(method_source);
    if language == Language::Java {
        read_java(source, class_source, class, method)
    } else {
        read_other(language, source, class_source, class, method)
    }
}

fn read_java(source: &str, class_source: Option<&str>, class: &str, method: &str) -> SourceTest {
    let id = java::id(class, method);
    let class_tree = class_source.and_then(|source| Tree::parse(Language::Java, source));
    let mut source = source;
    if source.trim().is_empty()
        && let Some(tree) = &class_tree
    {
        source = java::method_source(tree, method).unwrap_or_default();
    }
    let (body, mut metrics) = read_body(Language::Java, source, method);
    let surroundings = class_tree.as_ref().and_then(|tree| java::surroundings(tree, &id, &body));
    let (framework, context, helpers) = match surroundings {
        Some(surroundings) => {
            metrics.external_modules = surroundings.external_modules;
            (surroundings.framework, surroundings.context, surroundings.helpers)
        }
        None => (Framework::JUnit4, Arc::from([]), Vec::new()),
    };
    let end_line = last_line(&body, source);
    SourceTest { id, framework, line: body.line, end_line, body, context, helpers, metrics }
}

/// Finds the test in its file, as if the file were read for all its tests.
fn read_other(
    language: Language,
    source: &str,
    class_source: Option<&str>,
    class: &str,
    method: &str,
) -> SourceTest {
    let mut classes = class.split("::");
    let path = classes.next().unwrap_or_default();
    let classes: Vec<&str> = classes.collect();
    let mut tests =
        class_source.map_or_else(Vec::new, |source| read_source(path, language, source.as_bytes()).tests);
    tests.retain(|test| test.id.name() == method);
    let within = tests.iter().position(|test| test.id.class_path() == classes);
    let found = (!tests.is_empty()).then(|| tests.swap_remove(within.unwrap_or(0)));
    let (scheme, framework) = match language {
        Language::Python => ("pytest", Framework::Pytest),
        Language::Rust => ("rust", Framework::Rust),
        Language::Go => ("go", Framework::Go),
        _ => ("jest", Framework::Describe),
    };
    let builder = TestId::builder(scheme, path);
    let id = classes.into_iter().fold(builder, TestIdBuilder::class).finish(method, None);
    match found {
        Some(test) if source.trim().is_empty() => test,
        Some(test) => {
            let (body, metrics) = read_body(language, source, method);
            let metrics = Metrics { external_modules: test.metrics.external_modules, ..metrics };
            SourceTest { line: body.line, end_line: last_line(&body, source), body, metrics, ..test }
        }
        None => {
            let (body, metrics) = read_body(language, source, method);
            let end_line = last_line(&body, source);
            let (context, helpers) = (Arc::from([]), Vec::new());
            SourceTest { id, framework, line: body.line, end_line, body, context, helpers, metrics }
        }
    }
}

fn last_line(body: &Piece, source: &str) -> u32 {
    body.line + u32::try_from(source.matches('\n').count()).unwrap_or(0)
}

fn read_body(language: Language, source: &str, name: &str) -> (Piece, Metrics) {
    let Some(tree) = Tree::parse(language, source) else {
        let text = Arc::from(source);
        let name = name.to_owned();
        let body =
            Piece { kind: PieceKind::Test, name, text, line: 1, tokens: Vec::new(), calls: Vec::new() };
        return (body, Metrics::default());
    };
    let nodes = tree.subtree(Tree::ROOT);
    let bytes = 0..u32::try_from(source.len()).expect("longer texts are cut");
    let mut body = Scissors::new().stretch(&tree, PieceKind::Test, name, nodes.clone(), bytes);
    body.line = 1;
    let metrics = measure(&tree, nodes, &body, 0);
    (body, metrics)
}

fn bounded(source: &str) -> &str {
    &source[..source.floor_char_boundary(FILE_BYTES)]
}
