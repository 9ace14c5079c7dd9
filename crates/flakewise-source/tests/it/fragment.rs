//! Tests that come without their repository.

use flakewise_source::{Framework, Language, PieceKind, read_fragment};

use crate::support::{context, helpers};

const CLASS: &str = "package org.acme;\nimport org.junit.Test;\nimport org.mockito.Mockito;\n\
    import org.acme.util.Tool;\npublic class CartTest {\n  private int port;\n  @Before public void before() {}\n  \
    @Test public void adds(){load();Mockito.mock(Tool.class);}\n  private void load() {}\n}\n";

#[test]
fn the_body_is_the_method_and_the_rest_is_of_the_class() {
    let source = "@Test public void adds(){\n  load();\n  Mockito.mock(Tool.class);\n}\n";
    let test = read_fragment(Language::Java, source, Some(CLASS), "org.acme.CartTest", "adds");
    assert_eq!(test.id.as_str(), "junit:org.acme::CartTest::adds");
    assert_eq!(test.framework, Framework::JUnit4);
    assert_eq!(&*test.body.text, source);
    assert_eq!(context(&test, PieceKind::Field), ["port"]);
    assert_eq!(context(&test, PieceKind::SetUp), ["before"]);
    assert_eq!(helpers(&test), ["load"]);
    assert_eq!(test.metrics.external_modules, 1);
    assert_eq!(test.metrics.lines, 4);
}

#[test]
fn a_method_without_source_is_looked_for_in_the_class() {
    let test = read_fragment(Language::Java, " \n", Some(CLASS), "org.acme.CartTest", "adds");
    assert_eq!(&*test.body.text, "@Test public void adds(){load();Mockito.mock(Tool.class);}");
    let test = read_fragment(Language::Java, "", None, "org.acme.CartTest", "adds");
    assert!(test.body.tokens.is_empty());
    assert_eq!(test.metrics.lines, 0);
}

#[test]
fn classes_are_nested_with_either_sign() {
    let id = |class| read_fragment(Language::Java, "", None, class, "adds").id.to_string();
    assert_eq!(id("org.acme.CartTest$Empty"), "junit:org.acme::CartTest::Empty::adds");
    assert_eq!(id("org.acme.CartTest.Empty"), "junit:org.acme::CartTest::Empty::adds");
    assert_eq!(id("CartTest"), "junit:::CartTest::adds");
    assert_eq!(id("org.acme.cartTest"), "junit:org.acme::cartTest::adds");
    assert_eq!(id(""), "junit:::adds");
    assert_eq!(id("$.$"), "junit:::adds");
}

#[test]
fn broken_fragments_give_what_is_there() {
    for source in ["@Test public void adds() { int x = ", "}}}", "\u{0}", "void adds() { \"unclosed }"] {
        let test = read_fragment(Language::Java, source, Some("class {{{"), "a.B", "adds");
        assert_eq!(&*test.body.text, source);
    }
    let test = read_fragment(Language::Java, "@Test void adds() { sleep(5); int x = ", None, "a.B", "adds");
    assert_eq!(test.body.calls.len(), 1);
}

#[test]
fn other_languages_are_looked_up_in_their_file() {
    let file = "import os\nport = 1\nclass TestCart:\n    def setup_method(self): pass\n    def test_a(self):\n        load()\n\
                def load(): pass\ndef test_a(): pass\n";
    let test = read_fragment(
        Language::Python,
        "def test_a(self):\n    load()\n",
        Some(file),
        "tests/test_a.py::TestCart",
        "test_a",
    );
    assert_eq!(test.id.as_str(), "pytest:tests/test_a.py::TestCart::test_a");
    assert_eq!(test.framework, Framework::Pytest);
    assert_eq!(context(&test, PieceKind::SetUp), ["setup_method"]);
    assert_eq!(helpers(&test), ["load"]);
    assert_eq!((test.line, test.metrics.lines), (1, 2));
    let file = "const A: u8 = 1;\nmod tests {\n    #[test]\n    fn adds() { load() }\n    fn load() {}\n}\n";
    let test = read_fragment(Language::Rust, "", Some(file), "cart/src/lib.rs::tests", "adds");
    assert_eq!(test.id.as_str(), "rust:cart::tests::adds");
    assert_eq!(context(&test, PieceKind::Field), ["A"]);
    assert_eq!(&*test.body.text, "#[test]\n    fn adds() { load() }");
    let test = read_fragment(Language::Go, "func TestA(t *testing.T) { t.Fatal(1) }", None, "cart", "TestA");
    assert_eq!((test.id.as_str(), test.framework), ("go:cart::TestA", Framework::Go));
    assert_eq!(test.metrics.assertions, 1);
}
