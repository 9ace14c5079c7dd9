//! A syntax tree with the grammar's own names, for crates that read more out
//! of source than its tests.
//!
//! The tree is a flat list in the order of the text, parsed within the same
//! bounds as everything else here, so that a walk needs no recursion.

use std::sync::Arc;

use crate::Language;
use crate::kind::Grammar;
use crate::limits::FILE_BYTES;
use crate::tree::Tree;

/// The index of a node in a [`SyntaxTree`].
pub type NodeIndex = u32;

/// A parsed text. Node 0 is the whole of it.
#[derive(Clone, Debug)]
pub struct SyntaxTree {
    text: Arc<str>,
    language: Language,
    nodes: Vec<SyntaxNode>,
}

#[derive(Clone, Copy, Debug)]
struct SyntaxNode {
    kind: &'static str,
    field: &'static str,
    named: bool,
    start: u32,
    end: u32,
    line: u32,
    parent: NodeIndex,
    after: NodeIndex,
}

impl SyntaxTree {
    /// The whole text.
    pub const ROOT: NodeIndex = 0;

    /// Parses a text. `None` if it is too long, nested too deeply or takes too
    /// many steps.
    pub fn parse(language: Language, text: &str) -> Option<Self> {
        if text.len() > FILE_BYTES {
            return None;
        }
        let grammar = Grammar::of(language);
        let mut names = Vec::with_capacity(text.len() / 3);
        let tree = Tree::parse_with(language, text, &mut |cursor| {
            names.push(cursor.map_or(("module", ""), |cursor| {
                let node = cursor.node();
                let kind = if node.is_error() { "ERROR" } else { grammar.name(node.kind_id()) };
                let field = cursor.field_id().map_or("", |field| grammar.field(field.get()));
                (kind, field)
            }));
        })?;
        let nodes =
            tree.positions().zip(names).map(|((bytes, line, parent, after, named), (kind, field))| {
                SyntaxNode { kind, field, named, start: bytes.start, end: bytes.end, line, parent, after }
            });
        let nodes = nodes.collect();
        Some(Self { text: Arc::from(text), language, nodes })
    }

    /// What it is written in.
    pub fn language(&self) -> Language {
        self.language
    }

    /// How many nodes there are; at least one.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Never true: the text itself is a node.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// What the grammar calls a node, such as `method_declaration`.
    pub fn kind(&self, at: NodeIndex) -> &'static str {
        self.nodes[at as usize].kind
    }

    /// The field of its parent that a node is, such as `name`, or an empty text.
    pub fn field(&self, at: NodeIndex) -> &'static str {
        self.nodes[at as usize].field
    }

    /// Whether it is more than a word that the grammar spells out. Comments
    /// are not.
    pub fn is_named(&self, at: NodeIndex) -> bool {
        let node = &self.nodes[at as usize];
        node.named && !matches!(node.kind, "comment" | "line_comment" | "block_comment" | "line_continuation")
    }

    /// The source of a node.
    pub fn text(&self, at: NodeIndex) -> &str {
        let node = &self.nodes[at as usize];
        self.text.get(node.start as usize..node.end as usize).unwrap_or_default()
    }

    /// The line it begins on, counted from one.
    pub fn line(&self, at: NodeIndex) -> u32 {
        self.nodes[at as usize].line
    }

    /// The line it ends on.
    pub fn end_line(&self, at: NodeIndex) -> u32 {
        let breaks = self.text(at).trim_end().bytes().filter(|byte| *byte == b'\n').count();
        self.line(at).saturating_add(u32::try_from(breaks).unwrap_or(u32::MAX))
    }

    /// The node around it; the root is its own.
    pub fn parent(&self, at: NodeIndex) -> NodeIndex {
        self.nodes[at as usize].parent
    }

    /// The node after all that is below this one.
    pub fn after(&self, at: NodeIndex) -> NodeIndex {
        self.nodes[at as usize].after
    }

    /// The nodes directly below, words of the grammar included.
    pub fn all_children(&self, at: NodeIndex) -> impl Iterator<Item = NodeIndex> + '_ {
        let end = self.after(at);
        let mut next = at + 1;
        std::iter::from_fn(move || {
            let child = next;
            (child < end).then(|| next = self.after(child))?;
            Some(child)
        })
    }

    /// The named nodes directly below, without comments.
    pub fn children(&self, at: NodeIndex) -> impl Iterator<Item = NodeIndex> + '_ {
        self.all_children(at).filter(|child| self.is_named(*child))
    }

    /// The first child that is a field.
    pub fn child(&self, at: NodeIndex, field: &str) -> Option<NodeIndex> {
        self.all_children(at).find(|child| self.field(*child) == field)
    }

    /// The first child of a kind.
    pub fn child_of_kind(&self, at: NodeIndex, kind: &str) -> Option<NodeIndex> {
        self.all_children(at).find(|child| self.kind(*child) == kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_have_the_names_and_fields_of_the_grammar() {
        let tree = SyntaxTree::parse(Language::Java, "class A {\n  int f(int a) { return a + 1; }\n}\n")
            .expect("it is parsed");
        let method = (0..u32::try_from(tree.len()).expect("it is short"))
            .find(|at| tree.kind(*at) == "method_declaration")
            .expect("there is a method");
        let name = tree.child(method, "name").expect("it has a name");
        assert_eq!((tree.text(name), tree.line(name)), ("f", 2));
        let parameters = tree.child(method, "parameters").expect("it has parameters");
        let parameter = tree.children(parameters).next().expect("there is one");
        assert_eq!(tree.child(parameter, "type").map(|at| tree.text(at)), Some("int"));
        assert_eq!(tree.end_line(SyntaxTree::ROOT), 3);
    }

    #[test]
    fn a_text_that_is_nested_too_deeply_is_not_parsed() {
        assert!(SyntaxTree::parse(Language::Java, &"(".repeat(5_000)).is_none());
        let broken = "def f():\n    (\ndef g():\n    pass\n";
        assert!(SyntaxTree::parse(Language::Python, broken).is_some());
    }
}
