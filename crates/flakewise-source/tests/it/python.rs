//! Tests in Python.

use flakewise_source::{Framework, PieceKind, TokenKind};

use crate::support::{context, find, helpers, names, python, words};

#[test]
fn pytest_goes_by_names() {
    let file = python(
        "import pytest\n\ndef test_one(): pass\nasync def test_two(): pass\ndef helper(): pass\n\
         @pytest.fixture\ndef test_fixture(): pass\n\
         class TestCart:\n    def test_three(self): pass\n    def check(self): pass\n    class TestInner:\n        \
         def test_four(self): pass\n    class Other:\n        def test_never(self): pass\n\
         class Cart:\n    def test_never(self): pass\n\
         class TestMade:\n    def __init__(self): pass\n    def test_never(self): pass\n\
         class TestNot:\n    __test__ = False\n    def test_never(self): pass\n\
         if True:\n    def test_five(): pass\n\
         def test_outer():\n    def test_within(): pass\n",
    );
    let expected = [
        "test_one",
        "test_two",
        "test_five",
        "test_outer",
        "TestCart::test_three",
        "TestCart::TestInner::test_four",
    ];
    assert_eq!(names(&file), expected);
    assert_eq!(
        find(&file, "test_four").id.as_str(),
        "pytest:tests/test_cart.py::TestCart::TestInner::test_four"
    );
    assert!(file.tests.iter().all(|test| test.framework == Framework::Pytest));
    assert!(file.issues.is_empty());
}

#[test]
fn unittest_classes_may_have_any_name() {
    let file = python(
        "import unittest\nfrom django.test import TestCase\nclass Base(unittest.TestCase):\n    \
         def test_base(self): pass\nclass Cart(Base):\n    def test_cart(self): pass\n    \
         class TestInner:\n        def test_never(self): pass\n\
         class Shop(TestCase): \n    def testShop(self): pass\n\
         class Lone(IsolatedAsyncioTestCase):\n    async def test_lone(self): pass\n\
         class Mixin:\n    def test_mixed(self): pass\nclass Mixed(Mixin, SomeTestCase): pass\n",
    );
    let expected = [
        "Base::test_base",
        "Cart::test_cart",
        "Cart::test_base",
        "Shop::testShop",
        "Lone::test_lone",
        "Mixed::test_mixed",
    ];
    assert_eq!(names(&file), expected);
    assert!(file.tests.iter().all(|test| test.framework == Framework::Unittest));
}

#[test]
fn the_last_definition_of_a_name_counts() {
    let file = python("def test_one(): first()\ndef test_one(): second()\n");
    assert_eq!(names(&file), ["test_one"]);
    assert!(file.tests[0].body.text.contains("second"));
}

#[test]
fn context_has_the_fixtures_that_are_asked_for() {
    let file = python(
        "import os\nfrom acme import cart\nLIMIT = 5\n\n@pytest.fixture\ndef base(): pass\n\
         @pytest.fixture(scope=\"module\", name='shop')\ndef make_shop(base): pass\n\
         @pytest.fixture()\ndef unused(): pass\n@pytest.fixture(autouse=True)\ndef always(): pass\n\
         @fixture\ndef marked(): pass\ndef setup_module(): pass\ndef setup_function(): pass\n\
         def test_one(shop): pass\ndef test_two(unused=1): pass\n\
         class TestCart:\n    size = 3\n    @pytest.fixture\n    def base(self): pass\n    \
         def setup_method(self): pass\n    def teardown_method(self): pass\n    \
         @pytest.mark.usefixtures(\"marked\")\n    def test_three(self, base: int): pass\n    \
         def test_four(self): pass\n    def test_five(self): pass\n",
    );
    let test = find(&file, "test_one");
    assert_eq!(context(test, PieceKind::Import), ["os", "acme"]);
    assert_eq!(context(test, PieceKind::Field), ["LIMIT"]);
    let set_up = |name| context(find(&file, name), PieceKind::SetUp);
    assert_eq!(set_up("test_one"), ["setup_module", "setup_function", "base", "make_shop", "always"]);
    assert_eq!(set_up("test_two"), ["setup_module", "setup_function", "always"]);
    assert_eq!(set_up("test_three"), ["setup_module", "setup_method", "always", "marked", "base"]);
    assert_eq!(set_up("test_four"), ["setup_module", "setup_method", "always"]);
    let test = find(&file, "test_four");
    assert_eq!(context(test, PieceKind::Class), ["TestCart"]);
    assert_eq!(context(test, PieceKind::Field), ["LIMIT", "size"]);
    assert_eq!(context(test, PieceKind::TearDown), ["teardown_method"]);
    assert!(std::sync::Arc::ptr_eq(&test.context, &find(&file, "test_five").context));
}

#[test]
fn helpers_are_followed() {
    let file = python(
        "def load(): deeper()\ndef deeper(): load()\ndef unused(): pass\ndef work(): pass\n\
         class Job:\n    def __init__(self): pass\n    def run(self): pass\n    def stop(self): pass\n    \
         def idle(self): pass\nclass TestBase:\n    def check(self): pass\n\
         class TestCart(TestBase):\n    def setup_method(self): pass\n    def test_one(self):\n        \
         load()\n        self.check()\n        job = Job()\n        Thread(target=work)\n        job.stop()\n        \
         self.setup_method()\n",
    );
    let expected = ["load", "check", "__init__", "run", "work", "stop", "deeper"];
    assert_eq!(helpers(find(&file, "test_one")), expected);
}

#[test]
fn words_and_calls_of_a_body() {
    let file = python(
        "@pytest.mark.slow\ndef test_one(tmp_path: Path) -> None:\n    # a comment\n    \
         x = f\"{load(1)} text\"\n    time.sleep(0.5)\n    a.b().c(*args, key=1)\n    sum(i for i in y)\n",
    );
    let test = find(&file, "test_one");
    assert_eq!((test.line, test.end_line), (1, 7));
    let body = &test.body;
    assert!(body.text.starts_with("@pytest.mark.slow"));
    let words = words(body);
    assert!(words.contains(&(TokenKind::Text, "f\"{load(1)} text\"")));
    assert!(words.contains(&(TokenKind::Type, "Path")));
    assert!(words.contains(&(TokenKind::Keyword, "def")));
    assert!(words.iter().all(|(_, word)| !word.contains("comment")));
    let calls: Vec<_> = body
        .calls
        .iter()
        .map(|call| (call.receiver.as_deref(), call.name.as_str(), call.arguments, call.line))
        .collect();
    let expected = [
        (None, "load", 1, 4),
        (Some("time"), "sleep", 1, 5),
        (Some("a"), "b", 0, 6),
        (Some("a.b()"), "c", 2, 6),
        (None, "sum", 1, 7),
    ];
    assert_eq!(calls, expected);
}

#[test]
fn a_broken_function_leaves_the_others() {
    for broken in
        ["def test_broken(:\n    x = = 3\n", "def test_broken():\n    foo(1, [2\n", "%% ??\n", "class (:\n"]
    {
        let file = python(&format!(
            "def test_one():\n    assert 1\n\n{broken}\ndef test_two():\n    assert 2\n\n\
             class TestCart:\n    def test_three(self):\n        assert 3\n"
        ));
        let names = names(&file);
        for name in ["test_one", "test_two", "TestCart::test_three"] {
            assert!(names.contains(&name.to_owned()), "{name} is lost after {broken:?}: {names:?}");
        }
        let line = file.tests.iter().find(|test| test.id.name() == "test_two").map(|test| test.line);
        let expected = 5 + broken.matches('\n').count();
        assert_eq!(line, u32::try_from(expected).ok());
        assert!(!file.issues.is_empty());
    }
}
