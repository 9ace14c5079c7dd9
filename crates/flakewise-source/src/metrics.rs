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
//! - complexity follows radon for Python, which takes an assertion for one
//!   branch, and `McCabe` with short-circuit operators for the others;
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
    let test = if is_script(tree.language) { Kind::Lambda } else { Kind::Function };
    let start = nodes.clone().find(|at| tree.kind(*at) == test).map_or(nodes.start, |at| at + 1);
    let mut open: Vec<At> = Vec::new();
    let mut deepest = 0;
    for at in start..nodes.end {
        while open.last().is_some_and(|end| *end <= at) {
            open.pop();
        }
        let kind = tree.kind(at);
        let parent = tree.kind(tree.parent(at));
        let part = match kind {
            Kind::If => parent == Kind::Else || parent == Kind::If && tree.text(at - 1) == "else",
            Kind::OtherStatement | Kind::Field => parent == Kind::For,
            // A decorated function is one statement.
            Kind::Function | Kind::Class => parent == Kind::Decorated,
            _ => false,
        };
        let statement = match tree.language {
            // Everything in a block is a statement, an expression too.
            Language::Rust | Language::Go => {
                parent == Kind::Block && tree.is_named(at) && kind != Kind::Comment
            }
            language => kind.is_statement() || is_script(language) && kind == Kind::Field,
        };
        if statement && !part {
            open.push(tree.after(at));
            deepest = deepest.max(open.len());
        }
    }
    u32::try_from(deepest).unwrap_or(u32::MAX)
}

fn is_script(language: Language) -> bool {
    matches!(language, Language::JavaScript | Language::TypeScript | Language::Tsx)
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
    match language {
        Language::Python => match name {
            "raises" | "warns" | "deprecated_call" => matches!(receiver, None | Some("pytest")),
            "fail" => matches!(receiver, None | Some("pytest" | "self")),
            _ => name.starts_with("fail") && receiver == Some("self"),
        },
        Language::Java if name.starts_with("verify") => match receiver {
            None | Some("Mockito" | "BDDMockito" | "EasyMock" | "PowerMock" | "PowerMockito") => true,
            Some(receiver) => receiver.to_ascii_lowercase().ends_with("order"),
        },
        Language::Java => {
            name.starts_with("fail") && matches!(receiver, None | Some("Assert" | "Assertions" | "TestCase"))
        }
        Language::Rust => {
            name.starts_with("debug_assert")
                || name.starts_with("prop_assert")
                || name == "panic" && receiver.is_none()
        }
        Language::Go => go_assertion(receiver.unwrap_or_default(), call),
        Language::JavaScript | Language::TypeScript | Language::Tsx => match receiver {
            None => matches!(name, "expect" | "fail"),
            Some("expect") => matches!(name, "soft" | "poll" | "fail" | "unreachable"),
            Some(receiver) => receiver == "assert" || receiver.starts_with("assert."),
        },
    }
}

/// `t.Fatal` and its like, testify, gomega and others with short names for
/// what they check with.
fn go_assertion(receiver: &str, call: &Call) -> bool {
    let short = receiver.len() <= 2 || receiver == "tb" || receiver.ends_with(".T()");
    match call.name.as_str() {
        // The error's text takes no arguments.
        "Error" | "Errorf" | "Fatal" | "Fatalf" => short && !receiver.is_empty() && call.arguments > 0,
        "Fail" | "FailNow" | "Assert" | "Check" if short && !receiver.is_empty() => true,
        "Expect" | "Eventually" | "Consistently" => receiver.len() <= 2,
        _ => {
            matches!(receiver, "require" | "assert")
                || receiver.ends_with(".Require()")
                || receiver.ends_with(".Assert()")
        }
    }
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
    let mut complexity = 1;
    let mut next = nodes.start;
    while next < nodes.end {
        let at = next;
        next += 1;
        complexity += match tree.kind(at) {
            Kind::If
            | Kind::Elif
            | Kind::Ternary
            | Kind::Do
            | Kind::Catch
            | Kind::Junction
            | Kind::ForClause => 1,
            // A condition of a case is part of it.
            Kind::IfClause => u32::from(tree.kind(tree.parent(at)) != Kind::Case),
            // An `else` of a loop or of a `try` is a branch of its own.
            Kind::For | Kind::While => 1 + u32::from(python && has(at, Kind::Else)),
            Kind::Try => u32::from(python && has(at, Kind::Else)),
            Kind::SwitchLabel => u32::from(!has(at, Kind::Default)),
            Kind::Case => u32::from(!matches_anything(tree, at)),
            // One branch, whatever is in it.
            Kind::Assert if python => {
                next = tree.after(at);
                1
            }
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
            modules.extend(imports.get(piece.word(token)).into_iter().flatten());
        }
    }
    u32::try_from(modules.len()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{read_fragment, read_source};

    fn python(body: &str) -> Metrics {
        let file = read_source("tests/test_a.py", Language::Python, body.as_bytes());
        file.tests[0].metrics
    }

    fn java(method: &str) -> Metrics {
        read_fragment(Language::Java, method, None, "a.B", "t").metrics
    }

    #[test]
    fn halstead_volume_counts_a_pair_of_brackets_once() {
        // Operators: @ void ( { ( ; ( ;  Operands: Test t f 1 f 1
        let distinct = ["@", "void", "(", "{", ";", "Test", "t", "f", "1"].len() as f64;
        let volume = java("@Test void t() { f(1); f(1); }").halstead_volume;
        assert!((volume - 14.0 * distinct.log2()).abs() < 1e-9, "{volume}");
        let volume = python("def test_a():\n    \"\"\"Why.\"\"\"\n    a = b[0]\n").halstead_volume;
        // def test_a ( : a = b [ 0
        assert!((volume - 9.0 * 9_f64.log2()).abs() < 1e-9, "{volume}");
    }

    #[test]
    fn maintainability_is_radons() {
        // As `mi_compute` of radon 6.0.1 has it.
        assert!((maintainability(100.0, 5, 10, 2) - 86.890_189_678_155_27).abs() < 1e-9);
        assert!((maintainability(8.0, 1, 3, 0) - 83.134_143_220_375_12).abs() < 1e-9);
        assert!((maintainability(1e9, 500, 5_000, 0) - 0.0).abs() < 1e-9);
        assert!((maintainability(0.0, 1, 3, 0) - 100.0).abs() < 1e-9);
    }

    #[test]
    fn python_complexity_is_radons() {
        // As `mi_parameters` of radon 6.0.1 says of the bodies.
        for (body, expected) in [
            ("a()", 1),
            ("assert a and b or c\n    assert d", 3),
            ("if a:\n        b()\n    elif c:\n        d()\n    else:\n        e()", 3),
            ("for a in b:\n        c()\n    else:\n        d()\n    while e:\n        f()", 4),
            (
                "try:\n        a()\n    except B:\n        c()\n    except D:\n        e()\n    else:\n        \
                 f()\n    finally:\n        g()",
                4,
            ),
            ("a = [b for b in c if d if e]\n    f = {g: h for g in i for h in j}\n    k = l if m else n", 7),
            ("a = lambda: 1\n    with b as c:\n        d()", 1),
            ("def b():\n        if c:\n            d()\n    b()", 2),
            (
                "match a:\n        case 1:\n            b()\n        case 2 if c:\n            d()\n        \
                 case _:\n            e()",
                3,
            ),
            ("async for a in b:\n        pass\n    async with c:\n        return sum(d for d in e)", 3),
        ] {
            let source = format!("async def test_a():\n    {body}\n");
            assert_eq!(python(&source).cyclomatic_complexity, expected, "{source}");
        }
    }

    #[test]
    fn java_complexity_counts_branches() {
        assert_eq!(java("void t() { a(); }").cyclomatic_complexity, 1);
        assert_eq!(java("void t() { if (a && b || c) {} else if (d) {} else {} }").cyclomatic_complexity, 5);
        let switch = "void t() { switch (a) { case 1: case 2: b(); break; default: c(); } }";
        assert_eq!(java(switch).cyclomatic_complexity, 3);
        let loops = "void t() { for (;;) {} for (A a : b) {} while (c) {} do {} while (d); }";
        assert_eq!(java(loops).cyclomatic_complexity, 5);
        let tries = "void t() { try { a = b ? c : d; } catch (A e) {} catch (B | C e) {} finally {} }";
        assert_eq!(java(tries).cyclomatic_complexity, 4);
    }

    #[test]
    fn statements_of_the_body_are_at_depth_one() {
        assert_eq!(java("@Test void t() {}").ast_depth, 0);
        assert_eq!(java("@Test void t() { a(); }").ast_depth, 1);
        assert_eq!(java("@Test void t() { for (int i = 0; i < 5; i++) { if (a) { b(); } } }").ast_depth, 3);
        assert_eq!(
            java("@Test void t() { if (a) { b(); } else if (c) { d(); } else { e(); } }").ast_depth,
            2
        );
        assert_eq!(java("@Test void t() { run(() -> { try { a(); } finally { b(); } }); }").ast_depth, 3);
        assert_eq!(python("def test_a(): pass\n").ast_depth, 1);
        let nested = "@mark\ndef test_a():\n    with a:\n        if b:\n            c()\n        \
                      elif d:\n            e()\n";
        assert_eq!(python(nested).ast_depth, 3);
        assert_eq!(python("def test_a():\n    @b\n    def c():\n        d()\n").ast_depth, 2);
    }

    #[test]
    fn assertions_are_told_from_other_calls() {
        let body = "@Test void t() { assertEquals(1, a); Assert.assertTrue(b);\n\
                    assertThat(c).isEqualTo(1).isNotNull(); verify(mock).run(); inOrder.verify(mock);\n\
                    signature.verify(key); fail(); service.fail(); assert d; Assertions.fail(\"e\");\n\
                    verifyNoMoreInteractions(mock); }";
        assert_eq!(java(body).assertions, 9);
        let body = "def test_a(self):\n    assert a\n    self.assertEqual(1, 2)\n    \
                    with pytest.raises(E):\n        b()\n    mock.assert_called_once()\n    self.fail()\n    \
                    job.fail()\n    c.raises()\n";
        assert_eq!(python(body).assertions, 5);
    }

    #[test]
    fn lines_hold_words() {
        assert_eq!(java("@Test\nvoid t() {\n\n  // a\n  /* b\n */ a(); b();\n}\n").lines, 4);
        assert_eq!(java("@Test void t() { a = \"\"\"\n x\n\n y\"\"\"; }").lines, 4);
        let source = "def test_a():\n    \"\"\"Says\n    why.\"\"\"\n    a(\n        1,\n    )\n    # b\n\n    \
                      b = '''\n\n'''\n";
        assert_eq!(python(source).lines, 7);
    }

    #[test]
    fn external_modules_are_of_other_projects() {
        let source = "import os\nimport numpy as np, requests.sessions\nfrom flask import Flask as F, abort\n\
                      from . import near\nfrom tests import own\nimport pytest\nimport unused\n\
                      def test_a():\n    np.sum(os, near, own)\n    requests.get(F, abort)\n    \
                      pytest.fail()\n    from redis import x\n";
        assert_eq!(python(source).external_modules, 4);
        let class = "package org.acme.cart;\nimport java.util.List;\nimport org.acme.shop.Shop;\n\
                     import org.mockito.Mockito;\nimport org.mockito.stubbing.Answer;\n\
                     import org.junit.Test;\nimport com.google.common.collect.Lists;\n\
                     import org.apache.hadoop.fs.Path;\nclass B {}\n";
        let method = "@Test void t() { Mockito.mock(Shop.class, (Answer) null); List a = Lists.of(); }";
        let test = read_fragment(Language::Java, method, Some(class), "org.acme.cart.B", "t");
        assert_eq!(test.metrics.external_modules, 2);
    }
}
