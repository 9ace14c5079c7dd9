//! What speaks for and against one test, as people ask for it.

use flakewise_testkit::TestContext;

use crate::context;

fn shop() -> TestContext {
    let context = context();
    context.write("shop/__init__.py", "");
    context.write(
        "shop/cart.py",
        "class Cart:\n    def __init__(self, owner):\n        self.owner = owner\n\n    def total(self):\n        return 3\n",
    );
    context.write(
        "tests/test_cart.py",
        "import time\n\nfrom shop.cart import Cart\n\n\ndef check(cart, wanted):\n    assert cart.total() == wanted\n\n\n\
         def test_total():\n    cart = Cart('me')\n    time.sleep(0.5)\n    check(cart, 3)\n\n\ndef test_other():\n    pass\n",
    );
    context.write("web/cart.test.js", "test('adds', () => { expect(add(1)).toBe(2) })\n");
    context
}

#[test]
fn the_heaviest_path_is_shown_with_lines_and_code_under_test() {
    let context = shop();
    let output = context.finish(context.command().args(["explain", "test_total"]));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let out = &output.stdout;
    assert!(out.starts_with("pytest:tests/test_cart.py::test_total\n  risk "), "{out}");
    for part in [
        "tests/test_cart.py:10",
        "for flakiness",
        "against flakiness",
        "heaviest path",
        "line 13: ",
        "in check, line 7",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    assert_eq!(context.finish(context.command().args(["explain", "test_total"])).stdout, *out);
}

#[test]
fn a_test_may_be_named_from_the_folder_one_is_in() {
    let context = shop();
    let init =
        std::process::Command::new("git").args(["init", "--quiet"]).current_dir(context.path()).status();
    assert!(init.expect("git starts").success());
    context.write("other/tests/test_cart.py", "def test_total():\n    assert 1\n");
    let mut command = context.command();
    command.args(["explain", "test_cart.py::test_total"]).current_dir(context.path().join("tests"));
    let output = context.finish(&mut command);
    assert!(output.stdout.starts_with("pytest:tests/test_cart.py::test_total\n"), "{}", output.stderr);
}

#[test]
fn a_graph_is_drawn_by_the_name_of_its_file() {
    let context = shop();
    for (file, begin) in [("total.svg", "<svg "), ("total.dot", "digraph ")] {
        let name = "tests/test_cart.py::test_total";
        let output = context.finish(context.command().args(["explain", name, "--graph", file]));
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        let drawn = std::fs::read_to_string(context.path().join(file)).expect("it is drawn");
        assert!(drawn.starts_with(begin) && drawn.contains("total"), "{drawn}");
    }
    let output = context.finish(context.command().args(["explain", "test_total", "--graph", "total.png"]));
    assert_ne!(output.code, Some(0));
    assert!(
        output.stderr.contains("hint: use a file name that ends with `.svg` or `.dot`"),
        "{}",
        output.stderr
    );
}

#[test]
fn other_languages_have_reasons_but_no_paths() {
    let context = shop();
    let output = context.finish(context.command().args(["explain", "adds"]));
    assert!(output.stdout.contains("no paths: supported for Java and Python only"), "{}", output.stdout);
}

#[test]
fn a_test_with_nothing_in_it_has_no_path() {
    let context = shop();
    let output = context.finish(context.command().args(["explain", "test_other"]));
    assert!(output.stdout.contains("no paths: the test has no assertion"), "{}", output.stdout);
}

#[test]
fn an_unknown_test_is_named_with_advice() {
    let context = shop();
    let output = context.finish(context.command().args(["explain", "test_nothing"]));
    assert_eq!(output.code, Some(12));
    assert!(
        output.stderr.contains("`test_nothing` does not match exactly one test in the source"),
        "{}",
        output.stderr
    );
    assert!(output.stderr.contains("hint: use its name in your runner"), "{}", output.stderr);
}
