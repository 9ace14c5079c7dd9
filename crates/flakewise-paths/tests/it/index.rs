//! Resolution across the files of a repository.

use std::fs;
use std::path::Path;

use flakewise_paths::{Graph, Index, IndexSummary, Scope, graph_of_test, parse_files};

const CART: &str = "package acme;\nimport acme.util.Clock;\npublic class Cart extends Basket {\n  Clock clock;\n  \
                    static final Clock DEFAULT = null;\n  public Cart(Clock clock) {}\n  public int total() { return 1; }\n  \
                    public int add(String name) { return 1; }\n  public int add(int id) { return 2; }\n  \
                    public static Cart of(int n, Clock clock) { return null; }\n  public class Item { int price() { return 1; } }\n}\n";
const BASKET: &str = "package acme;\nclass Basket {\n  Item first() { return null; }\n  boolean isEmpty() { return true; }\n}\n";
const CLOCK: &str = "package acme.util;\npublic class Clock {\n  public static long now() { return 0; }\n  void tick() {}\n}\n";
const BASE_TEST: &str = "package acme;\nimport acme.util.Clock;\npublic abstract class BaseTest {\n  Clock clock;\n  \
                         void check(Cart cart) { assertTrue(cart.isEmpty()); }\n}\n";

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("it has a folder")).expect("folders");
    fs::write(path, text).expect("a file");
}

fn shop() -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a folder");
    write(root.path(), "src/main/java/acme/Cart.java", CART);
    write(root.path(), "src/main/java/acme/Basket.java", BASKET);
    write(root.path(), "src/main/java/acme/util/Clock.java", CLOCK);
    write(root.path(), "src/test/java/acme/BaseTest.java", BASE_TEST);
    root
}

fn graph(root: &Path, path: &str, class: &str, test: &str) -> Graph {
    let (index, _) = Index::build(root, None);
    let files = parse_files(root, &index, path, class);
    let scope = Scope::new(files.iter().collect(), class);
    let resolver = index.resolver(path).expect("it is indexed");
    graph_of_test(&files[0], &scope, test, 0, &resolver)
}

/// The functions under test that a test calls on its paths, each with its line.
fn callees(graph: &Graph) -> Vec<String> {
    let mut callees: Vec<String> = graph
        .edges
        .iter()
        .filter_map(|edge| edge.callee.as_ref())
        .chain(graph.nodes.iter().filter_map(|node| node.callee.as_ref()))
        .map(|callee| {
            format!("{}:{} {}", callee.path.rsplit('/').next().unwrap_or_default(), callee.line, callee.name)
        })
        .collect();
    callees.sort();
    callees.dedup();
    callees
}

fn java(body: &str) -> Vec<String> {
    let root = shop();
    let test = format!(
        "package acme;\nimport acme.util.*;\nimport static acme.util.Clock.now;\nimport java.util.List;\n\
         public class CartTest extends BaseTest {{\n  @Test public void t() {{\n{body}\n  }}\n}}\n"
    );
    write(root.path(), "src/test/java/acme/CartTest.java", &test);
    callees(&graph(root.path(), "src/test/java/acme/CartTest.java", "CartTest", "t"))
}

#[test]
fn calls_are_resolved_by_declared_types() {
    assert_eq!(
        java("Cart cart = new Cart(clock);\nassertEquals(1, cart.total());"),
        ["Cart.java:6 Cart.Cart", "Cart.java:7 Cart.total"]
    );
}

#[test]
fn overloads_go_by_the_types_of_arguments() {
    assert_eq!(java("Cart cart = null;\nassertEquals(1, cart.add(\"a\"));"), ["Cart.java:8 Cart.add"]);
    assert_eq!(java("Cart cart = null;\nassertEquals(1, cart.add(5));"), ["Cart.java:9 Cart.add"]);
}

#[test]
fn static_calls_imports_and_returned_types_are_followed() {
    assert_eq!(
        java("assertEquals(1, Cart.of(now(), clock).total());"),
        ["Cart.java:10 Cart.of", "Cart.java:7 Cart.total", "Clock.java:3 Clock.now"]
    );
    assert_eq!(java("long n = now();\nassertTrue(n > 0);"), ["Clock.java:3 Clock.now"]);
    assert_eq!(java("assertTrue(Clock.now() > 0);"), ["Clock.java:3 Clock.now"]);
    assert_eq!(
        java("var clock = Cart.DEFAULT;\nCart.DEFAULT.tick(5);\nassertTrue(true);"),
        ["Clock.java:4 Clock.tick"]
    );
}

#[test]
fn methods_of_superclasses_are_found() {
    assert_eq!(java("Cart cart = null;\nassertTrue(cart.isEmpty());"), ["Basket.java:4 Basket.isEmpty"]);
}

#[test]
fn helpers_of_superclasses_in_other_files_are_followed() {
    assert_eq!(java("check(new Cart(clock));"), ["Basket.java:4 Basket.isEmpty", "Cart.java:6 Cart.Cart"]);
}

#[test]
fn libraries_and_tests_are_not_under_test() {
    assert_eq!(java("List<String> list = make();\nlist.add(\"a\");\nassertEquals(1, list.size());"), [""; 0]);
    assert_eq!(java("BaseTest other = null;\nother.check(null);\nassertNotNull(other);"), [""; 0]);
}

fn python(test: &str) -> Vec<String> {
    let root = tempfile::tempdir().expect("a folder");
    write(root.path(), "src/shop/__init__.py", "from .cart import Cart as Cart\nfrom . import prices\n");
    write(
        root.path(),
        "src/shop/cart.py",
        "from .base import Base\n\nclass Cart(Base):\n    def __init__(self, owner=None):\n        self.items = []\n\n    \
         def total(self) -> int:\n        return 1\n\ndef load(path) -> Cart:\n    return Cart()\n",
    );
    write(root.path(), "src/shop/base.py", "class Base:\n    def is_empty(self):\n        return True\n");
    write(root.path(), "src/shop/prices.py", "def price(name):\n    return 1\n");
    write(root.path(), "tests/test_cart.py", test);
    callees(&graph(root.path(), "tests/test_cart.py", "", "test_t"))
}

#[test]
fn python_names_are_followed_through_imports() {
    assert_eq!(
        python(
            "from shop import Cart\n\ndef test_t():\n    cart = Cart(3)\n    assert cart.total() == 1 and cart.is_empty()\n"
        ),
        ["base.py:2 Base.is_empty", "cart.py:4 Cart.__init__", "cart.py:7 Cart.total"]
    );
    assert_eq!(
        python(
            "import shop.cart as c\nfrom shop import prices\n\ndef test_t():\n    assert c.load('a').total() == prices.price('x')\n"
        ),
        ["cart.py:10 load", "cart.py:7 Cart.total", "prices.py:1 price"]
    );
    assert_eq!(
        python(
            "import shop.cart\nimport json\n\ndef test_t():\n    assert shop.cart.load(json.loads('a'))\n"
        ),
        ["cart.py:10 load"]
    );
}

#[test]
fn only_files_that_changed_are_parsed_again() {
    let root = shop();
    let cache = root.path().join(".flakewise/cache/declarations");
    let build = || Index::build(root.path(), Some(&cache)).1;
    let counts = || {
        let IndexSummary { files, parsed, .. } = build();
        (files, parsed)
    };
    assert_eq!(counts(), (4, 4));
    let before = build();
    assert_eq!((before.files, before.parsed), (4, 0));
    write(root.path(), "src/main/java/acme/Basket.java", &format!("{BASKET}// more\n"));
    assert_eq!(counts(), (4, 1));
    assert_ne!(build().digest, before.digest);
    // Moving a file changes nothing that is declared.
    write(root.path(), "src/main/java/other/Basket.java", BASKET);
    fs::remove_file(root.path().join("src/main/java/acme/Basket.java")).expect("removed");
    assert_eq!(counts(), (4, 1));
    let whole = fs::read(&cache).expect("it is written");
    for cut in [0, 10, 60, whole.len() / 2, whole.len() - 1] {
        fs::write(&cache, &whole[..cut]).expect("written");
        assert_eq!(build().parsed, 4, "cut at {cut}");
        assert_eq!(fs::read(&cache).expect("it is written"), whole);
    }
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 4;
    fs::write(&cache, &flipped).expect("written");
    assert_eq!(build().parsed, 4);
}

#[test]
fn a_cached_index_resolves_as_a_new_one() {
    let root = shop();
    let path = "src/test/java/acme/CartTest.java";
    write(
        root.path(),
        path,
        "package acme;\nclass CartTest {\n  @Test void t() { assertEquals(1, new Cart(null).total()); }\n}\n",
    );
    let cache = root.path().join(".flakewise/cache/declarations");
    let shown = || {
        let (index, _) = Index::build(root.path(), Some(&cache));
        let files = parse_files(root.path(), &index, path, "CartTest");
        let scope = Scope::new(files.iter().collect(), "CartTest");
        callees(&graph_of_test(&files[0], &scope, "t", 0, &index.resolver(path).expect("it is indexed")))
    };
    let first = shown();
    assert_eq!(first, ["Cart.java:6 Cart.Cart", "Cart.java:7 Cart.total"]);
    assert_eq!(shown(), first);
}

#[test]
fn cycles_of_inheritance_and_imports_end() {
    let root = tempfile::tempdir().expect("a folder");
    for n in 0..40 {
        let text = format!("package a;\nclass C{n} extends C{} {{ void m{n}() {{ }} }}\n", (n + 1) % 40);
        write(root.path(), &format!("a/C{n}.java"), &text);
    }
    write(
        root.path(),
        "a/T.java",
        "package a;\nclass T extends T { @Test void t() { C0 c = x(); c.nothing(); assertTrue(c); } }\n",
    );
    callees(&graph(root.path(), "a/T.java", "T", "t"));
    write(root.path(), "p/__init__.py", "from .q import name\nfrom p import p\n");
    write(root.path(), "p/q.py", "from . import name\nfrom .q import other\n");
    write(
        root.path(),
        "test_p.py",
        "from p import name, p\nfrom test_p import test_t\n\ndef test_t():\n    assert name(p.p())\n",
    );
    callees(&graph(root.path(), "test_p.py", "", "test_t"));
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    let root = shop();
    let outside = tempfile::tempdir().expect("a folder");
    write(outside.path(), "Secret.java", "class Secret {}\n");
    std::os::unix::fs::symlink(outside.path(), root.path().join("linked")).expect("a link");
    std::os::unix::fs::symlink(root.path(), root.path().join("src/loop")).expect("a link");
    std::os::unix::fs::symlink(outside.path().join("Secret.java"), root.path().join("Secret.java"))
        .expect("a link");
    assert_eq!(Index::build(root.path(), None).1.files, 4);
}

#[test]
fn a_class_with_ten_thousand_methods_is_indexed() {
    let root = tempfile::tempdir().expect("a folder");
    let methods: String =
        (0..10_000).map(|n| format!("  void m(int a{n}) {{ }}\n  void n{n}() {{ }}\n")).collect();
    write(root.path(), "Big.java", &format!("class Big {{\n{methods}}}\n"));
    let calls = "big.m(1);\nbig.n9999();\n".repeat(500);
    write(
        root.path(),
        "BigTest.java",
        &format!(
            "class BigTest {{\n  @Test void t() {{\nBig big = new Big();\n{calls}assertNotNull(big);\n}}\n}}\n"
        ),
    );
    let graph = graph(root.path(), "BigTest.java", "BigTest", "t");
    assert!(callees(&graph).iter().any(|callee| callee.ends_with("Big.n9999")));
}
