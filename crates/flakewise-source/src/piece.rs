//! Words and calls of a stretch of source.

use std::ops::Range;
use std::sync::Arc;

use crate::kind::Kind;
use crate::limits::{PIECE_BYTES, PIECES_PER_FILE, RECEIVER_BYTES, TOKENS_PER_FILE};
use crate::tree::{At, Tree};
use crate::{Call, Piece, PieceKind, Token, TokenKind};

/// Cuts pieces out of a file until their limits are reached.
pub(crate) struct Scissors {
    tokens_left: usize,
    pieces_left: usize,
}

impl Scissors {
    pub(crate) fn new() -> Self {
        Self { tokens_left: TOKENS_PER_FILE, pieces_left: PIECES_PER_FILE }
    }

    /// Whether a limit was reached, so that what follows is left out.
    pub(crate) fn spent(&self) -> bool {
        self.tokens_left == 0 || self.pieces_left == 0
    }

    /// A piece of a declaration or statement.
    pub(crate) fn piece(&mut self, tree: &Tree<'_>, kind: PieceKind, name: &str, at: At) -> Piece {
        self.stretch(tree, kind, name, tree.subtree(at), tree.span(at))
    }

    /// A piece of neighbouring nodes that hold these bytes.
    pub(crate) fn stretch(
        &mut self,
        tree: &Tree<'_>,
        kind: PieceKind,
        name: &str,
        nodes: Range<At>,
        bytes: Range<u32>,
    ) -> Piece {
        let whole = tree.text.get(bytes.start as usize..bytes.end as usize).unwrap_or_default();
        let text = &whole[..whole.floor_char_boundary(PIECE_BYTES)];
        let end = bytes.start + u32::try_from(text.len()).expect("no longer than the bytes asked for");
        let tokens = self.tokens(tree, nodes.clone(), bytes.start, end);
        self.tokens_left -= tokens.len();
        self.pieces_left = self.pieces_left.saturating_sub(1);
        Piece {
            kind,
            name: name.to_owned(),
            text: Arc::from(text),
            line: tree.line(nodes.start),
            tokens,
            calls: calls(tree, nodes, end),
        }
    }

    fn tokens(&self, tree: &Tree<'_>, nodes: Range<At>, start: u32, end: u32) -> Vec<Token> {
        let mut tokens = Vec::new();
        let mut next = nodes.start;
        while next < nodes.end && tokens.len() < self.tokens_left {
            let span = tree.span(next);
            if span.start >= end {
                break;
            }
            let Some(kind) = tree.token(next) else {
                next += 1;
                continue;
            };
            if span.end <= end {
                tokens.push(Token { kind, span: span.start - start..span.end - start });
            }
            // What is inside of a text is part of it.
            next = tree.after(next);
        }
        tokens
    }
}

/// The calls among these nodes that begin before `end`, by where their names
/// stand.
pub(crate) fn calls(tree: &Tree<'_>, nodes: Range<At>, end: u32) -> Vec<Call> {
    let mut calls: Vec<(At, Call)> = nodes
        .filter(|at| tree.span(*at).start < end)
        .filter_map(|at| match tree.kind(at) {
            Kind::Invocation | Kind::ConstructorCall => invocation(tree, at),
            Kind::Creation => creation(tree, at),
            Kind::Call => call(tree, at),
            Kind::Macro => macro_call(tree, at),
            Kind::Identifier if tree.kind(tree.parent(at)) == Kind::TokenTree => call_in_macro(tree, at),
            _ => None,
        })
        .collect();
    calls.sort_unstable_by_key(|(at, _)| *at);
    calls.into_iter().map(|(_, call)| call).collect()
}

/// `receiver.name(arguments)` in Java, also `super(arguments)`.
fn invocation(tree: &Tree<'_>, at: At) -> Option<(At, Call)> {
    let mut name = None;
    let mut dot = None;
    for child in tree.children(at) {
        match tree.kind(child) {
            Kind::Arguments => {
                let name = name?;
                let receiver = dot.map(|dot| receiver(tree, at, dot));
                return Some((name, new_call(tree, name, receiver, count(tree, child))));
            }
            Kind::Identifier | Kind::Keyword => name = Some(child),
            Kind::Operator if tree.text(child) == "." => dot = Some(child),
            _ => {}
        }
    }
    None
}

/// `new name(arguments)`.
fn creation(tree: &Tree<'_>, at: At) -> Option<(At, Call)> {
    let mut class = None;
    for child in tree.children(at) {
        match tree.kind(child) {
            Kind::Arguments => {
                let class = class?;
                let mut call = new_call(tree, class, None, count(tree, child));
                simple_type(tree, class).clone_into(&mut call.name);
                return Some((class, call));
            }
            Kind::TypeIdentifier
            | Kind::ScopedType
            | Kind::GenericType
            | Kind::Identifier
            | Kind::Attribute => class = Some(child),
            _ => {}
        }
    }
    None
}

/// `receiver.name(arguments)` in languages where any expression can be called.
fn call(tree: &Tree<'_>, at: At) -> Option<(At, Call)> {
    let mut children = tree.children(at);
    let mut function = children.next()?;
    let arguments = children.find(|child| {
        matches!(tree.kind(*child), Kind::Arguments | Kind::GeneratorExpression | Kind::Text)
    })?;
    let count = if tree.kind(arguments) == Kind::Arguments { count(tree, arguments) } else { 1 };
    if tree.kind(function) == Kind::GenericFunction {
        function = tree.children(function).next()?;
    }
    named_call(tree, function, count)
}

/// A call of a name, a member or a path.
fn named_call(tree: &Tree<'_>, function: At, count: u32) -> Option<(At, Call)> {
    match tree.kind(function) {
        Kind::Identifier => Some((function, new_call(tree, function, None, count))),
        Kind::Attribute => {
            let mut parts = tree.children(function);
            let dot = parts.find(|part| tree.kind(*part) == Kind::Operator)?;
            let name = parts.find(|part| tree.kind(*part) == Kind::Identifier)?;
            Some((name, new_call(tree, name, Some(receiver(tree, function, dot)), count)))
        }
        _ => None,
    }
}

/// `name!(arguments)`
fn macro_call(tree: &Tree<'_>, at: At) -> Option<(At, Call)> {
    let tokens = tree.child(at, Kind::TokenTree)?;
    named_call(tree, at + 1, count_tokens(tree, tokens))
}

/// `name(arguments)` or `name!(arguments)` among the words of a macro, which
/// the parser leaves as they are.
fn call_in_macro(tree: &Tree<'_>, at: At) -> Option<(At, Call)> {
    let end = tree.after(tree.parent(at));
    let mut next = tree.after(at);
    let sign = next < end && tree.text(next) == "!";
    next += usize::from(sign);
    let called =
        next < end && tree.kind(next) == Kind::TokenTree && (sign || tree.text(next).starts_with('('));
    if !called {
        return None;
    }
    let member = matches!(tree.text(at - 1), "." | "::");
    let receiver = member.then(|| {
        let known = matches!(tree.token(at - 2), Some(TokenKind::Identifier | TokenKind::Keyword));
        if known { tree.text(at - 2).to_owned() } else { String::new() }
    });
    Some((at, new_call(tree, at, receiver, count_tokens(tree, next))))
}

/// How many arguments the words of a macro are.
fn count_tokens(tree: &Tree<'_>, tokens: At) -> u32 {
    let mut arguments = 0;
    let mut empty = true;
    for token in tree.children(tokens).skip(1) {
        match tree.text(token) {
            "," => empty = true,
            ")" | "]" | "}" => {}
            _ if empty && tree.kind(token) != Kind::Comment => {
                arguments += 1;
                empty = false;
            }
            _ => {}
        }
    }
    arguments
}

fn new_call(tree: &Tree<'_>, name: At, receiver: Option<String>, arguments: u32) -> Call {
    Call { receiver, name: tree.text(name).to_owned(), arguments, line: tree.line(name) }
}

fn count(tree: &Tree<'_>, arguments: At) -> u32 {
    u32::try_from(tree.named_children(arguments).count()).unwrap_or(u32::MAX)
}

/// What stands before a dot. Of a long chain only the first name is kept.
fn receiver(tree: &Tree<'_>, at: At, dot: At) -> String {
    let bytes = tree.span(at).start as usize..tree.span(dot).start as usize;
    let text = tree.text.get(bytes).unwrap_or_default().trim_end();
    if text.len() <= RECEIVER_BYTES {
        return text.to_owned();
    }
    let head = &text[..text.floor_char_boundary(RECEIVER_BYTES)];
    let name = head.find(|character: char| !(character.is_alphanumeric() || character == '_'));
    format!("{}…", &head[..name.unwrap_or(head.len())])
}

/// A type without its package and its arguments.
pub(crate) fn simple_type<'a>(tree: &Tree<'a>, at: At) -> &'a str {
    let text = tree.text(at);
    let text = text.split('<').next().unwrap_or(text);
    text.rsplit(['.', ' ']).find(|part| !part.is_empty()).unwrap_or_default().trim()
}
