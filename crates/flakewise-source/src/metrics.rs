//! Counts of a test's own source.
//!
//! The features are those of table 1 of Parry and others, "Empirically
//! evaluating flaky test detection techniques combining test case rerunning and
//! machine learning models" (2023). Where the table leaves room:
//!
//! - the statements of the test's body are at depth 1, and an `else if` is as
//!   deep as its `if`;
//! - Halstead's operators are keywords and signs, a pair of brackets being one,
//!   and operands are names, numbers and texts;
//! - complexity follows radon for Python, which counts assertions as branches,
//!   and `McCabe` with short-circuit operators for Java;
//! - lines hold at least one word; those of a docstring do not count;
//! - maintainability is radon's formula on these numbers.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::kind::Kind;
use crate::tree::{At, Tree};
use crate::{Call, Language, Metrics, Piece, TokenKind};

/// Measures a test: its piece and the nodes it was cut from.
pub(crate) fn measure(tree: &Tree<'_>, nodes: Range<At>, piece: &Piece, external_modules: u32) -> Metrics {
    let docstring = docstring(tree, nodes.clone());
    let (lines, comments) = lines(tree, nodes.clone(), docstring);
    let halstead_volume = halstead_volume(tree, nodes.clone(), docstring);
    let cyclomatic_complexity = cyclomatic_complexity(tree, nodes.clone());
    Metrics {
        ast_depth: depth(tree, nodes.clone()),
        assertions: assertions(tree, nodes, &piece.calls),
        external_modules,
        halstead_volume,
        cyclomatic_complexity,
        lines,
        maintainability: maintainability(halstead_volume, cyclomatic_complexity, lines, comments),
    }
}

/// The greatest depth of nested statements.
fn depth(tree: &Tree<'_>, nodes: Range<At>) -> u32 {
    // The test itself is not a statement of the test.
    let start = nodes.clone().find(|at| tree.kind(*at) == Kind::Function).map_or(nodes.start, |at| at + 1);
    let mut open: Vec<At> = Vec::new();
    let mut deepest = 0;
    for at in start..nodes.end {
        while open.last().is_some_and(|end| *end <= at) {
            open.pop();
        }
        let kind = tree.kind(at);
        let parent = tree.kind(tree.parent(at));
        let part = match kind {
            Kind::If => parent == Kind::If && tree.text(at - 1) == "else",
            Kind::OtherStatement => parent == Kind::For,
            // A decorated function is one statement.
            Kind::Function | Kind::Class => parent == Kind::Decorated,
            _ => false,
        };
        if kind.is_statement() && !part {
            open.push(tree.after(at));
            deepest = deepest.max(open.len());
        }
    }
    u32::try_from(deepest).unwrap_or(u32::MAX)
}

fn assertions(tree: &Tree<'_>, nodes: Range<At>, calls: &[Call]) -> u32 {
    let statements = nodes.filter(|at| tree.kind(*at) == Kind::Assert).count();
    let calls = calls.iter().filter(|call| is_assertion(tree.language, call)).count();
    u32::try_from(statements + calls).unwrap_or(u32::MAX)
}

/// Whether a call fails the test if something does not hold.
fn is_assertion(language: Language, call: &Call) -> bool {
    let receiver = call.receiver.as_deref();
    let name = call.name.as_str();
    if name.starts_with("assert") {
        return true;
    }
    if language == Language::Python {
        return match name {
            "raises" | "warns" | "deprecated_call" => matches!(receiver, None | Some("pytest")),
            "fail" => matches!(receiver, None | Some("pytest" | "self")),
            _ => name.starts_with("fail") && receiver == Some("self"),
        };
    }
    if name.starts_with("verify") {
        return match receiver {
            None | Some("Mockito" | "BDDMockito" | "EasyMock" | "PowerMock" | "PowerMockito") => true,
            Some(receiver) => receiver.to_ascii_lowercase().ends_with("order"),
        };
    }
    name.starts_with("fail") && matches!(receiver, None | Some("Assert" | "Assertions" | "TestCase"))
}

/// The docstring of the first function.
fn docstring(tree: &Tree<'_>, nodes: Range<At>) -> Option<At> {
    if tree.language != Language::Python {
        return None;
    }
    let function = nodes.clone().find(|at| tree.kind(*at) == Kind::Function)?;
    let block = tree.child(function, Kind::Block)?;
    let first = tree.named_children(block).next()?;
    let text = tree.children(first).next()?;
    let alone = tree.kind(first) == Kind::Expression && tree.after(text) == tree.after(first);
    (alone && tree.kind(text) == Kind::Text).then_some(text)
}

/// Lines with words, and lines with comments or in the docstring.
fn lines(tree: &Tree<'_>, nodes: Range<At>, docstring: Option<At>) -> (u32, u32) {
    let mut lines = 0;
    let mut last = 0;
    let mut comments = 0;
    let mut next = nodes.start;
    while next < nodes.end {
        let first = tree.line(next);
        let height = || u32::try_from(tree.text(next).matches('\n').count()).unwrap_or(u32::MAX - 1);
        if tree.token(next).is_none() {
            if tree.kind(next) == Kind::Comment {
                comments += height() + 1;
            }
            next += 1;
            continue;
        }
        if docstring == Some(next) {
            comments += height() + 1;
        } else {
            let end = first + if tree.kind(next) == Kind::Text { height() } else { 0 };
            lines += end.saturating_sub(last.max(first - 1));
            last = last.max(end);
        }
        next = tree.after(next);
    }
    (lines, comments)
}

/// `N log2 n`, of all and of distinct words.
fn halstead_volume(tree: &Tree<'_>, nodes: Range<At>, docstring: Option<At>) -> f64 {
    let mut distinct: HashSet<(bool, &str)> = HashSet::new();
    let mut length = 0_u32;
    let mut next = nodes.start;
    while next < nodes.end {
        let Some(kind) = tree.token(next) else {
            next += 1;
            continue;
        };
        let text = tree.text(next);
        // The opening bracket stands for the pair.
        if !matches!(text, ")" | "]" | "}") && docstring != Some(next) {
            length += 1;
            distinct.insert((matches!(kind, TokenKind::Operator | TokenKind::Keyword), text));
        }
        next = tree.after(next);
    }
    if length == 0 { 0.0 } else { f64::from(length) * (distinct.len() as f64).log2() }
}

fn cyclomatic_complexity(tree: &Tree<'_>, nodes: Range<At>) -> u32 {
    let python = tree.language == Language::Python;
    let has = |at: At, kind: Kind| tree.child(at, kind).is_some();
    let mut test = true;
    let mut complexity = 1;
    for at in nodes {
        complexity += match tree.kind(at) {
            Kind::If
            | Kind::Elif
            | Kind::Ternary
            | Kind::Do
            | Kind::Catch
            | Kind::Junction
            | Kind::ForClause
            | Kind::IfClause => 1,
            // An `else` of a loop or of a `try` is a branch of its own.
            Kind::For | Kind::While => 1 + u32::from(python && has(at, Kind::Else)),
            Kind::Try => u32::from(python && has(at, Kind::Else)),
            Kind::SwitchLabel => u32::from(!has(at, Kind::Default)),
            Kind::Case => u32::from(!matches_anything(tree, at)),
            Kind::Assert | Kind::Lambda => u32::from(python),
            // A function within the test adds its own.
            Kind::Function => u32::from(python && !std::mem::take(&mut test)),
            _ => 0,
        };
    }
    complexity
}

/// `case _:`
fn matches_anything(tree: &Tree<'_>, case: At) -> bool {
    tree.named_children(case).next().is_some_and(|pattern| tree.text(pattern) == "_")
        && !tree.children(case).any(|child| tree.kind(child) == Kind::IfClause)
}

/// radon's maintainability index.
fn maintainability(volume: f64, complexity: u32, lines: u32, comments: u32) -> f64 {
    if volume <= 0.0 || lines == 0 {
        return 100.0;
    }
    let share = f64::from(comments) / f64::from(lines) * 100.0;
    let index = 171.0 - 5.2 * volume.ln() - 0.23 * f64::from(complexity) - 16.2 * f64::from(lines).ln()
        + 50.0 * (2.46 * share.to_radians()).sqrt().sin();
    (index * 100.0 / 171.0).clamp(0.0, 100.0)
}

/// How many modules a piece uses, given which name each import brings and from
/// which module. Imports of everything have no name and count as used.
pub(crate) fn count_modules(piece: &Piece, imports: &HashMap<&str, Vec<&str>>) -> u32 {
    if imports.is_empty() {
        return 0;
    }
    let mut modules: HashSet<&str> = imports.get("").into_iter().flatten().copied().collect();
    for token in &piece.tokens {
        if matches!(token.kind, TokenKind::Identifier | TokenKind::Type) {
            let name = &piece.text[token.span.start as usize..token.span.end as usize];
            modules.extend(imports.get(name).into_iter().flatten());
        }
    }
    u32::try_from(modules.len()).unwrap_or(u32::MAX)
}
