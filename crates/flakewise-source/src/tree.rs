//! A syntax tree as a flat list, in the order of the text.
//!
//! Trees of hostile source can be as deep as the source is long. Here no walk
//! is a recursion: what is below a node is a range of the list.

use std::cell::RefCell;
use std::ops::{ControlFlow, Range};

use tree_sitter::{ParseOptions, Parser, TreeCursor};

use crate::kind::{Grammar, Kind};
use crate::limits::{BYTES_PER_REPORT, REPORTS_AFTER_ERROR, REPORTS_PER_FILE};
use crate::nesting::is_too_deep;
use crate::{Language, TokenKind};

/// A node's place in the list.
pub(crate) type At = usize;

/// A parsed text. The first node is the whole of it.
pub(crate) struct Tree<'a> {
    pub(crate) text: &'a str,
    pub(crate) language: Language,
    nodes: Vec<Node>,
    /// Whether there is anything the parser could not place.
    pub(crate) broken: bool,
}

struct Node {
    kind: Kind,
    /// Whether the grammar spells it out.
    literal: bool,
    start: u32,
    end: u32,
    /// Counted from zero.
    line: u32,
    parent: u32,
    /// The node after all that is below this one.
    after: u32,
}

thread_local! {
    /// A parser keeps its memory from text to text.
    static PARSER: RefCell<Parser> = RefCell::new(Parser::new());
}

impl<'a> Tree<'a> {
    /// Parses a text, or nothing if it is nested too deeply or takes too many
    /// steps.
    pub(crate) fn parse(language: Language, text: &'a str) -> Option<Self> {
        Self::parse_with(language, text, &mut |_| {})
    }

    /// The same, with a look at each node of the parser as it is added. The
    /// root of a text that is parsed in parts is a node of no parser.
    pub(crate) fn parse_with(
        language: Language,
        text: &'a str,
        look: &mut impl FnMut(Option<&TreeCursor<'_>>),
    ) -> Option<Self> {
        let grammar = Grammar::of(language);
        let length = u32::try_from(text.len()).ok()?;
        if is_too_deep(language, text) {
            return None;
        }
        let tree = parse_steps(grammar, text)?;
        let broken = tree.root_node().has_error();
        let mut nodes = Vec::with_capacity(text.len() / 3);
        let parts = if broken && language == Language::Python { definitions(text) } else { Vec::new() };
        if parts.len() < 2 {
            flatten(grammar, &mut tree.walk(), Offset { byte: 0, line: 0 }, &mut nodes, look);
            return Some(Self { text, language, nodes, broken });
        }
        // An open bracket makes one statement of all that follows. Parsed one
        // by one, what follows is whole.
        look(None);
        nodes.push(Node {
            kind: Kind::Other,
            literal: false,
            start: 0,
            end: length,
            line: 0,
            parent: 0,
            after: 0,
        });
        let mut offset = Offset { byte: 0, line: 0 };
        for part in parts {
            let tree = parse_steps(grammar, part)?;
            flatten(grammar, &mut tree.walk(), offset, &mut nodes, look);
            offset.byte += part.len();
            offset.line += part.matches('\n').count();
        }
        nodes[Self::ROOT].after = u32::try_from(nodes.len()).ok()?;
        Some(Self { text, language, nodes, broken })
    }

    pub(crate) const ROOT: At = 0;

    /// Where each node begins and ends, its line counted from one, the node
    /// around it and the node after all that is below it.
    pub(crate) fn positions(&self) -> impl Iterator<Item = (Range<u32>, u32, u32, u32, bool)> + '_ {
        self.nodes
            .iter()
            .map(|node| (node.start..node.end, node.line + 1, node.parent, node.after, !node.literal))
    }

    pub(crate) fn kind(&self, at: At) -> Kind {
        self.nodes[at].kind
    }

    pub(crate) fn text(&self, at: At) -> &'a str {
        let node = &self.nodes[at];
        // The parser ends nodes where characters end, but nothing promises it.
        self.text.get(node.start as usize..node.end as usize).unwrap_or_default()
    }

    pub(crate) fn span(&self, at: At) -> Range<u32> {
        self.nodes[at].start..self.nodes[at].end
    }

    /// The line, counted from one.
    pub(crate) fn line(&self, at: At) -> u32 {
        self.nodes[at].line + 1
    }

    pub(crate) fn parent(&self, at: At) -> At {
        self.nodes[at].parent as At
    }

    /// A node and all that is below it.
    pub(crate) fn subtree(&self, at: At) -> Range<At> {
        at..self.after(at)
    }

    /// The node after all that is below this one.
    pub(crate) fn after(&self, at: At) -> At {
        self.nodes[at].after as At
    }

    pub(crate) fn children(&self, at: At) -> impl Iterator<Item = At> + '_ {
        let end = self.after(at);
        let mut next = at + 1;
        std::iter::from_fn(move || {
            let child = next;
            (child < end).then(|| next = self.after(child))?;
            Some(child)
        })
    }

    /// Whether it is more than a word that the grammar spells out.
    pub(crate) fn is_named(&self, at: At) -> bool {
        !self.nodes[at].literal
    }

    /// Children that the grammar does not spell out, without comments.
    pub(crate) fn named_children(&self, at: At) -> impl Iterator<Item = At> + '_ {
        self.children(at).filter(|child| self.is_named(*child) && self.kind(*child) != Kind::Comment)
    }

    pub(crate) fn child(&self, at: At, kind: Kind) -> Option<At> {
        self.children(at).find(|child| self.kind(*child) == kind)
    }

    /// What sort of word a node is, if it is one.
    pub(crate) fn token(&self, at: At) -> Option<TokenKind> {
        let node = &self.nodes[at];
        if node.kind == Kind::Text {
            return Some(TokenKind::Text);
        }
        // Also passes over what the parser made up, which has no length.
        if node.after as At != at + 1 || node.start == node.end {
            return None;
        }
        match node.kind {
            Kind::Comment => None,
            Kind::Identifier => match self.kind(self.parent(at)) {
                Kind::TypePlace | Kind::GenericType => Some(TokenKind::Type),
                _ => Some(TokenKind::Identifier),
            },
            Kind::TypeIdentifier => Some(TokenKind::Type),
            Kind::Keyword | Kind::Default | Kind::VoidType => Some(TokenKind::Keyword),
            Kind::Number => Some(TokenKind::Number),
            Kind::Junction if self.text(at).as_bytes()[0].is_ascii_alphabetic() => Some(TokenKind::Keyword),
            // The parser leaves what it cannot place without words in it.
            Kind::Error if self.text(at).trim().is_empty() => None,
            // A text that is empty or broken shows its quotes.
            _ => Some(TokenKind::Operator),
        }
    }

    /// The line of the first thing that the parser could not place.
    pub(crate) fn first_error(&self) -> u32 {
        let error = self.nodes.iter().find(|node| node.kind == Kind::Error);
        error.map_or(0, |node| node.line + 1)
    }
}

/// Where a text begins within another.
#[derive(Clone, Copy)]
struct Offset {
    byte: usize,
    line: usize,
}

/// Parses a text, or gives up after a number of steps that grows with it.
fn parse_steps(grammar: &Grammar, text: &str) -> Option<tree_sitter::Tree> {
    let bytes = text.as_bytes();
    let mut reports = REPORTS_PER_FILE + bytes.len() / BYTES_PER_REPORT;
    let mut progress = |state: &tree_sitter::ParseState| {
        if state.has_error() {
            reports = reports.min(REPORTS_AFTER_ERROR);
        }
        reports -= 1;
        if reports == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    PARSER.with_borrow_mut(|parser| {
        parser.set_language(&grammar.language).ok()?;
        // Whatever an abandoned text left behind.
        parser.reset();
        parser.parse_with_options(
            &mut |at, _| bytes.get(at..).unwrap_or_default(),
            None,
            Some(ParseOptions::new().progress_callback(&mut progress)),
        )
    })
}

/// Splits a Python file before each definition that is not indented.
fn definitions(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut at = 0;
    let mut decorated = false;
    for line in text.split_inclusive('\n') {
        let decorator = line.starts_with('@');
        let definition = ["def ", "class ", "async def "].iter().any(|word| line.starts_with(word));
        if (decorator || definition) && !decorated && at > start {
            parts.push(&text[start..at]);
            start = at;
        }
        decorated = decorator;
        at += line.len();
    }
    parts.push(&text[start..]);
    parts
}

fn flatten(
    grammar: &Grammar,
    cursor: &mut TreeCursor<'_>,
    offset: Offset,
    nodes: &mut Vec<Node>,
    look: &mut impl FnMut(Option<&TreeCursor<'_>>),
) {
    let position = |byte: usize| u32::try_from(byte).expect("longer texts are not parsed");
    let mut parent = 0;
    loop {
        let at = nodes.len();
        let node = cursor.node();
        look(Some(cursor));
        nodes.push(Node {
            kind: if node.is_error() { Kind::Error } else { grammar.kind(node.kind_id()) },
            literal: !node.is_named(),
            start: position(offset.byte + node.start_byte()),
            end: position(offset.byte + node.end_byte()),
            line: position(offset.line + node.start_position().row),
            parent,
            after: position(at + 1),
        });
        if cursor.goto_first_child() {
            parent = position(at);
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
            nodes[parent as At].after = position(nodes.len());
            parent = nodes[parent as At].parent;
        }
    }
}
