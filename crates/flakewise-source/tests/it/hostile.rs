//! Source that means harm.

use flakewise_source::{Language, SourceFile, read_fragment, read_source};
use proptest::prelude::*;

use crate::support::{go, java, javascript, names, python, rust};

/// What must hold of any file.
fn check(file: &SourceFile) {
    for test in &file.tests {
        let helpers = test.helpers.iter().map(AsRef::as_ref);
        for piece in [&test.body].into_iter().chain(test.context.iter()).chain(helpers) {
            let mut end = 0;
            for token in &piece.tokens {
                assert!(token.span.start >= end && token.span.start < token.span.end);
                assert!(piece.text.get(token.span.start as usize..token.span.end as usize).is_some());
                end = token.span.end;
            }
        }
        assert!(test.line <= test.end_line);
        assert!((0.0..=100.0).contains(&test.metrics.maintainability));
        assert!(test.metrics.halstead_volume.is_finite());
    }
}

const FILES: [(&str, Language); 7] = [
    ("test_a.py", Language::Python),
    ("ATest.java", Language::Java),
    ("src/a.rs", Language::Rust),
    ("a_test.go", Language::Go),
    ("a.test.js", Language::JavaScript),
    ("a.test.ts", Language::TypeScript),
    ("a.test.tsx", Language::Tsx),
];

fn check_bytes((path, language): (&str, Language), bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    check(&read_source(path, language, bytes));
    read_fragment(language, &text, Some(&text), &text, &text);
}

const JAVA: &str =
    include_str!("../../../../testdata/suites/surefire/src/test/java/com/acme/orders/OrdersTest.java");
const PYTHON: &str = include_str!("../../../../testdata/suites/pytest/tests/test_orders.py");

const RUST: &str = include_str!("../../../../testdata/suites/nextest/tests/orders.rs");
const GO: &str = include_str!("../../../../testdata/suites/gotestsum/orders_test.go");
const SCRIPT: &str = include_str!("../../../../testdata/suites/vitest/tests/orders.test.js");

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read(
        file in prop::sample::select(FILES.to_vec()),
        mut bytes in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        bytes.extend_from_slice(b"\n@Test test] testing.T");
        check_bytes(file, &bytes);
    }

    #[test]
    fn mutated_files_are_read(
        at in 0..FILES.len(),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..3u8), 1..8),
    ) {
        let mut bytes = [PYTHON, JAVA, RUST, GO, SCRIPT, SCRIPT, SCRIPT][at].as_bytes().to_vec();
        for (from, to, what) in cuts {
            let from = from.index(bytes.len());
            let to = (from + to.index(40)).min(bytes.len());
            match what {
                0 => drop(bytes.drain(from..to)),
                1 => {
                    let copy = bytes[from..to].to_vec();
                    let at = bytes.len() / 2;
                    drop(bytes.splice(at..at, copy));
                }
                _ => bytes[from] ^= 0x28,
            }
        }
        bytes.extend_from_slice(b"\n// @Test test] testing.T");
        check_bytes(FILES[at], &bytes);
    }
}

#[test]
fn deep_nesting_overflows_no_stack() {
    let deep =
        |times: usize, open: &str, close: &str| format!("{}{}", open.repeat(times), close.repeat(times));
    let mut nests = vec![deep(10_000, "-", "1"), deep(10_000, "a.b().", ""), deep(10_000, "\"", "")];
    // Above a thousand brackets nothing is parsed.
    for times in [900, 10_000] {
        nests.push(deep(times, "(", ")"));
        nests.push(deep(times, "{", "}"));
        nests.push(deep(times, "[", "]"));
        nests.push(deep(times, "x.a(", ")"));
        nests.push(deep(times / 4, "new A() { void f() {", "}}"));
        nests.push(deep(times, "class A {", "}"));
        nests.push(deep(times, "a<", ""));
    }
    for nest in nests {
        check(&java(&format!("class ATest {{ @Test void one() {{ x = {nest}; }} @Test void two() {{}} }}")));
        check(&python(&format!("def test_one():\n    x = {nest}\n\ndef test_two():\n    pass\n")));
        check(&rust(&format!("#[test] fn one() {{ x = {nest}; }}\n#[test] fn two() {{}}\n")));
        check(&go(&format!(
            "func TestOne(t *testing.T) {{\n\tx = {nest}\n}}\nfunc TestTwo(t *testing.T) {{}}\n"
        )));
        let script = format!("it('one', () => {{ x = {nest}; }});\nit('two', () => {{}});\n");
        check(&read_source("a.test.tsx", Language::Tsx, script.as_bytes()));
    }
    let file = java(&format!("class ATest {{ @Test void one() {{ x = {}1; }} }}", "-".repeat(10_000)));
    assert_eq!(names(&file), ["ATest::one"]);
    let file = java(&format!("class ATest {{ @Test void one() {{ {} }} }}", deep(900, "if (a) {", "}")));
    assert_eq!(file.tests[0].metrics.ast_depth, 900);
    assert_eq!(file.tests[0].metrics.cyclomatic_complexity, 901);
    let indented: String = (0..1_000).map(|depth| format!("{}if x:\n", " ".repeat(depth))).collect();
    check(&python(&format!("def test_one(): pass\n{indented}{}pass\n", " ".repeat(1_000))));
}

#[test]
fn what_takes_too_many_steps_is_given_up() {
    let file = java(&format!("class ATest {{ @Test void one() {{ {} }} }}", "%% ?? ".repeat(100_000)));
    assert!(file.tests.is_empty());
    assert!(file.issues[0].text.contains("too many steps"));
}

#[test]
fn deep_classes_are_looked_into_so_far() {
    let file = java(&format!(
        "{}@Test void deep() {{}}{}",
        "class A { @Test void one() {} @Nested ".repeat(500),
        "}".repeat(500)
    ));
    assert_eq!(file.tests.len(), 32);
}

#[test]
fn many_tests_and_many_heirs_are_bounded() {
    let methods: String =
        (0..3_000).map(|at| format!("@Test public void t{at}() {{ f({at}); }}\n")).collect();
    let heirs: String = (0..3_000).map(|at| format!("class H{at} extends Base {{}}\n")).collect();
    let file = java(&format!("abstract class Base {{ {methods} }}\n{heirs}"));
    check(&file);
    assert_eq!(file.tests.len(), 9_000);
    assert!(file.issues[0].text.contains("too many tests"));
    // Each class has the whole context, which so grows with the square.
    let imports = "import a.b.C;\n".repeat(2_000);
    let classes: String = (0..2_000).map(|at| format!("class T{at} {{ @Test void x() {{}} }}\n")).collect();
    let file = java(&format!("{imports}{classes}"));
    let pieces: usize = file.tests.iter().map(|test| test.context.len()).sum();
    assert!(pieces <= 110_000, "{pieces}");
}

#[test]
fn circles_of_classes_and_calls_end() {
    let file = java(
        "class A extends B { @Test void one() { f(); } void f() { g(); } } class B extends A { void g() { f(); } }",
    );
    assert_eq!(names(&file), ["A::one", "B::one"]);
    let file = python("class TestA(TestB):\n  def test_a(self): self.test_a()\nclass TestB(TestA): pass\n");
    assert_eq!(names(&file), ["TestA::test_a", "TestB::test_a"]);
    let file = python("@fixture\ndef a(b): pass\n@fixture\ndef b(a): pass\ndef test_one(a): pass\n");
    assert_eq!(file.tests[0].context.len(), 2);
}

#[test]
fn long_pieces_are_cut() {
    let file = java(&format!("class A {{ @Test void one() {{ {} }} }}", "é();".repeat(100_000)));
    let body = &file.tests[0].body;
    assert!(body.text.len() <= 64 << 10);
    check(&file);
}

#[test]
fn a_file_that_is_not_utf_8_is_read() {
    let file = read_source("test_a.py", Language::Python, b"def test_one():\n    x = '\xff'\n");
    assert_eq!(names(&file), ["test_one"]);
    assert_eq!(file.issues.len(), 1);
}

#[test]
fn deep_groups_and_many_namesakes_are_bounded() {
    let file = javascript(&format!(
        "{}{}",
        "describe('a', () => { it('one', () => {}); ".repeat(400),
        "});".repeat(400)
    ));
    check(&file);
    let deepest = file.tests.iter().map(|test| test.id.class_path().concat().len()).max();
    assert_eq!(deepest, Some(2 * 31 - 1));
    let file = rust(&format!("mod a {{ #[test] fn one() {{}} {}", "mod a { #[test] fn one() {}".repeat(400)));
    check(&file);
    // Each names all others.
    let functions = "fn f() { f(); f(); f() }\n".repeat(5_000);
    let file = rust(&format!("{functions}{}", "#[test] fn one() { f() }\n".repeat(2_000)));
    assert_eq!(names(&file), ["one"]);
    assert_eq!(file.tests[0].helpers.len(), 32);
    let tests: String = (0..12_000).map(|at| format!("func Test{at}(t *testing.T) {{ f() }}\n")).collect();
    let file = go(&format!("{tests}func f() {{ f() }}\n"));
    assert_eq!(file.tests.len(), 10_000);
    assert!(file.issues[0].text.contains("too many tests"));
}
