//! Assertions in helpers, fields, and superclasses in other files.

use flakewise_paths::{AssertionKind, Graph, ParsedFile, Scope, Unresolved, graph_of_test};
use flakewise_source::Language;

use crate::support::graph;

fn shown(graph: &Graph) -> Vec<String> {
    graph.paths().iter().map(|path| graph.show(path)).collect()
}

fn in_file(language: Language, source: &str, class: &str, name: &str) -> Graph {
    let file = ParsedFile::parse(language, source).expect("it is parsed");
    let scope = Scope::new(vec![&file], class);
    graph_of_test(&file, &scope, name, 0, &Unresolved)
}

#[test]
fn a_helper_is_followed_on_the_line_of_its_call() {
    let class = "class CartTest {\n  void check(int wanted, Cart cart) {\n    assertEquals(wanted, cart.total());\n  }\n}";
    let graph = graph(
        Language::Java,
        "@Test void t() {\n  Cart cart = new Cart();\n  check(5, cart);\n}",
        Some(class),
    );
    assert_eq!(
        shown(&graph),
        [
            "5@3 -assertEquals-> assertEquals@3",
            "new Cart()@2 -=-> cart@2 -Cart.total-> cart.total()@3 -assertEquals-> assertEquals@3",
        ]
    );
    let assertion = graph.assertions().next().expect("there is one");
    let helper = graph.nodes[assertion as usize].helper.as_ref().expect("it stands in a helper");
    assert_eq!((helper.name.as_str(), helper.line), ("check", 3));
}

#[test]
fn helpers_call_helpers_and_may_recur() {
    let class =
        "class CartTest {\n  void a(int n) { b(n); }\n  void b(int n) { a(n); assertTrue(n > 0); }\n}";
    let graph = graph(Language::Java, "@Test void t() { a(1); }", Some(class));
    // The second call of `a` is not followed.
    let recursion = "1@1 -a-> a(n)@1 -after-> assertTrue@1";
    assert_eq!(shown(&graph), ["1@1 ->-> assertTrue@1", "0@1 ->-> assertTrue@1", recursion]);
}

#[test]
fn a_helper_of_a_superclass_in_another_file_is_followed() {
    let test = "class CartTest extends Base {\n  @Test void t() {\n    check(load(\"a\"));\n  }\n}";
    let base = "class Base extends CartTest {\n  String kind;\n  void check(String text) { assertNotNull(text); }\n}";
    let (test, base) = (
        ParsedFile::parse(Language::Java, test).expect("it is parsed"),
        ParsedFile::parse(Language::Java, base).expect("it is parsed"),
    );
    let scope = Scope::new(vec![&test, &base], "CartTest");
    let graph = graph_of_test(&test, &scope, "t", 0, &Unresolved);
    assert_eq!(shown(&graph), ["\"a\"@3 -load-> load(\"a\")@3 -assertNotNull-> assertNotNull@3"]);
}

#[test]
fn what_a_helper_returns_flows_on() {
    let class = "class CartTest {\n  int checked(int n) { assertTrue(n > 0); return n + 1; }\n}";
    let graph = graph(
        Language::Java,
        "@Test void t() {\n  int m = checked(4);\n  assertEquals(5, m);\n}",
        Some(class),
    );
    assert!(
        shown(&graph).contains(&"4@2 -+-> m@2 -assertEquals-> assertEquals@3".to_owned()),
        "{:?}",
        shown(&graph)
    );
}

#[test]
fn fields_have_their_declared_types() {
    let class = "class CartTest {\n  private CountDownLatch latch;\n}";
    let source = "@Test void t() {\n  latch.countDown();\n  assertTrue(latch.await(1, SECONDS));\n}";
    let graph = graph(Language::Java, source, Some(class));
    assert!(
        shown(&graph).contains(
            &"latch@2 -CountDownLatch.countDown-> latch@2 -CountDownLatch.await-> \
              latch.await(1, SECONDS)@3 -assertTrue-> assertTrue@3"
                .to_owned()
        ),
        "{:?}",
        shown(&graph)
    );
}

#[test]
fn overloads_go_by_the_number_of_arguments() {
    let class = "class CartTest {\n  void check(int a) { assertTrue(a > 0); }\n  \
                 void check(int a, int b) { assertEquals(a, b); }\n}";
    let graph = graph(Language::Java, "@Test void t() { check(1, 2); }", Some(class));
    assert_eq!(shown(&graph), ["1@1 -assertEquals-> assertEquals@1", "2@1 -assertEquals-> assertEquals@1"]);
}

#[test]
fn python_helpers_are_functions_and_methods() {
    let source = "import time\n\nLIMIT = 3\n\ndef check(value):\n    assert value < LIMIT\n\nclass TestCart:\n    \
                  def verify_all(self, items):\n        for item in items:\n            check(item)\n\n    \
                  def test_a(self, cart):\n        time.sleep(1)\n        self.verify_all(cart.items())\n";
    let graph = in_file(Language::Python, source, "TestCart", "test_a");
    assert_eq!(
        shown(&graph),
        [
            "cart@13 -items-> cart.items()@15 -=-> item@15 -<-> assert@15",
            "LIMIT@15 -<-> assert@15",
            "1@14 -time.sleep-> time.sleep(1)@14 -after-> assert@15",
        ]
    );
}

#[test]
fn a_method_without_source_is_found_in_its_class() {
    let class = "class CartTest {\n  @Test void t() { assertTrue(ok()); }\n}";
    let graph = graph(Language::Java, "", Some(class));
    assert_eq!(shown(&graph), ["ok()@2 -assertTrue-> assertTrue@2"]);
}

#[test]
fn a_test_without_assertions_is_labelled_so() {
    let graph = graph(Language::Java, "@Test void t() { service.start(); }", None);
    let kinds: Vec<_> = graph.assertions().map(|node| graph.assertion(node)).collect();
    assert_eq!(kinds, [Some(AssertionKind::Implicit)]);
}
