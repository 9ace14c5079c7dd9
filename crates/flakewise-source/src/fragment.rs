//! A test that comes without its repository.

use std::sync::Arc;

use crate::limits::FILE_BYTES;
use crate::metrics::measure;
use crate::piece::Scissors;
use crate::tree::Tree;
use crate::{Framework, Language, Metrics, Piece, PieceKind, SourceTest, java, python};

/// Reads one test from the source of its method, and its surroundings from the
/// file of its class if there is one.
///
/// `class` has its package in front. A method without source is looked for in
/// the file; whatever is broken or missing leaves its part of the test empty.
pub fn read_fragment(
    language: Language,
    method_source: &str,
    class_source: Option<&str>,
    class: &str,
    method: &str,
) -> SourceTest {
    let id = if language == Language::Python { python::id(class, method) } else { java::id(class, method) };
    let class_source = class_source.map(bounded);
    let class_tree = class_source.and_then(|source| Tree::parse(language, source));
    let mut source = bounded(method_source);
    if source.trim().is_empty()
        && let Some(tree) = &class_tree
    {
        source = java::method_source(tree, method).unwrap_or_default();
    }
    let (body, mut metrics) = read_body(language, source, method);
    let surroundings = class_tree.as_ref().and_then(|tree| match language {
        Language::Java => java::surroundings(tree, &id, &body),
        _ => None,
    });
    let end_line = body.line + u32::try_from(source.matches('\n').count()).unwrap_or(0);
    let (framework, context, helpers) = match surroundings {
        Some(surroundings) => {
            metrics.external_modules = surroundings.external_modules;
            (surroundings.framework, surroundings.context, surroundings.helpers)
        }
        None => (Framework::JUnit4, Arc::from([]), Vec::new()),
    };
    SourceTest { id, framework, line: body.line, end_line, body, context, helpers, metrics }
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
