//! Tests in Java.

use flakewise_source::{Framework, PieceKind, TokenKind};

use crate::support::{call, context, find, helpers, java, names, words};

#[test]
fn junit_4_tests_have_the_annotation() {
    let file = java(
        "package org.acme;\nimport org.junit.*;\npublic class CartTest {\n  @Test public void adds() {}\n  \
         @org.junit.Test(timeout = 5) public void removes() {}\n  public void testNothing() {}\n  \
         @Test private void hidden() {}\n}\n",
    );
    assert_eq!(names(&file), ["CartTest::adds", "CartTest::removes"]);
    assert_eq!(file.tests[0].id.as_str(), "junit:org.acme::CartTest::adds");
    assert!(file.tests.iter().all(|test| test.framework == Framework::JUnit4));
    assert_eq!((file.tests[1].line, file.tests[1].end_line), (5, 5));
    assert!(file.issues.is_empty());
}

#[test]
fn junit_3_tests_go_by_name() {
    let file = java(
        "import junit.framework.TestCase;\nabstract class Base extends TestCase { public void testBase() {} }\n\
         class CartTest extends Base {\n  public void testAdds() {}\n  void testHidden() {}\n  \
         public int testNumber() { return 1; }\n  public void testGiven(int x) {}\n  public void adds() {}\n}\n",
    );
    assert_eq!(names(&file), ["CartTest::testAdds", "CartTest::testBase"]);
    assert!(file.tests.iter().all(|test| test.framework == Framework::JUnit3));
    let file = java("class CartTest extends LuceneTestCase { public void testAdds() {} }");
    assert_eq!(names(&file), ["CartTest::testAdds"]);
}

#[test]
fn junit_5_has_many_annotations_and_nested_classes() {
    let file = java(
        "package a;\nimport org.junit.jupiter.api.*;\nclass CartTest {\n  @Test void one() {}\n  \
         @ParameterizedTest @ValueSource(ints = {1}) void two(int x) {}\n  @RepeatedTest(2) void three() {}\n  \
         @TestFactory Stream<DynamicTest> four() { return null; }\n  @TestTemplate void five() {}\n  \
         @Test void one(int overload) {}\n  \
         @Nested class Empty { @Test void six() {} @Nested class Closed { @Test void seven() {} } }\n  \
         class Inner { @Test void never() {} }\n  static class Static { @Test void eight() {} }\n}\n",
    );
    let expected = [
        "CartTest::one",
        "CartTest::two",
        "CartTest::three",
        "CartTest::four",
        "CartTest::five",
        "CartTest::Empty::six",
        "CartTest::Empty::Closed::seven",
        "CartTest::Static::eight",
    ];
    assert_eq!(names(&file), expected);
    assert!(file.tests.iter().all(|test| test.framework == Framework::JUnit5));
}

#[test]
fn testng_takes_a_whole_class() {
    let file = java(
        "import org.testng.annotations.*;\n@Test(groups = \"a\")\npublic class CartTest {\n  \
         public void adds() {}\n  void hidden() {}\n  public int number() { return 1; }\n  \
         @BeforeMethod public void prepare() {}\n  @Test void removes() {}\n}\n",
    );
    assert_eq!(names(&file), ["CartTest::adds", "CartTest::removes"]);
    assert!(file.tests.iter().all(|test| test.framework == Framework::TestNg));
    assert_eq!(context(&file.tests[0], PieceKind::SetUp), ["prepare"]);
    // JUnit's annotation says nothing about a class.
    assert!(java("import org.junit.Test; @Test public class A { public void adds() {} }").tests.is_empty());
}

#[test]
fn heirs_have_the_tests_of_their_base() {
    let file = java(
        "import org.junit.Test;\nabstract class Base { @Test public void shared() {} @Test public void own() {} }\n\
         interface Checks { @Test default void checks() {} }\n\
         class One extends Base implements Checks { @Test public void own() { one(); } }\n\
         class Two extends Base { public void own() {} }\n",
    );
    assert_eq!(names(&file), ["One::own", "One::shared", "One::checks", "Two::shared"]);
    assert!(file.tests[0].body.text.contains("one()"));
}

#[test]
fn context_is_what_stands_around() {
    let file = java(
        "package a;\nimport java.util.List;\nimport static org.junit.Assert.*;\nclass Outer {\n  int port = 80;\n  \
         @BeforeEach void start() {}\n  @Nested @Tag(\"x\") class CartTest extends Base<String> {\n    \
         private final List<String> items = make(), more;\n    static { load(); }\n    CartTest() {}\n    \
         @BeforeAll static void all() {}\n    public void setUp() {}\n    @AfterEach void stop() {}\n    \
         @Test void adds() {}\n    @Test void removes() {}\n  }\n}\n",
    );
    let test = find(&file, "adds");
    assert_eq!(context(test, PieceKind::Import), ["java.util.List", "org.junit.Assert"]);
    assert_eq!(context(test, PieceKind::Class), ["Outer", "CartTest"]);
    assert_eq!(context(test, PieceKind::Field), ["port", "items"]);
    assert_eq!(context(test, PieceKind::SetUp), ["start", "CartTest", "CartTest", "all", "setUp"]);
    assert_eq!(context(test, PieceKind::TearDown), ["stop"]);
    let head = test.context.iter().rfind(|piece| piece.kind == PieceKind::Class).expect("a class");
    assert_eq!(head.text.trim_end(), "@Nested @Tag(\"x\") class CartTest extends Base<String>");
    assert!(std::sync::Arc::ptr_eq(&test.context, &find(&file, "removes").context));
}

#[test]
fn helpers_are_followed() {
    let file = java(
        "class CartTest {\n  @Test void adds() { prepare(1); this.check(); Util.twice(2); worker.work(); \
         new Job(3); run(this::later); other.adds(); }\n  \
         void prepare(int x) { deeper(); }\n  void prepare() { unused(); }\n  void deeper() { prepare(1); }\n  \
         void check() {}\n  void unused() {}\n  void later() {}\n  @Before void setUp() {}\n  \
         static class Util { static int twice(int x) { return x; } }\n  class Worker { void work() {} }\n  \
         class Job implements Runnable { Job(int x) {} public void run() {} void idle() {} }\n}\n",
    );
    let expected = ["prepare", "check", "twice", "work", "Job", "run", "later", "deeper"];
    assert_eq!(helpers(find(&file, "adds")), expected);
}

#[test]
fn words_and_calls_of_a_body() {
    let file = java(
        "class CartTest {\n  @Test\n  void adds() throws Exception {\n    // A comment (ignored).\n    \
         List<String> x = new ArrayList<>(5);\n    Thread.sleep(100L);\n    x.get(0).add(\"a \\\" b\", 'c');\n  }\n}\n",
    );
    let body = &find(&file, "adds").body;
    let words = words(body);
    assert!(words.contains(&(TokenKind::Text, "\"a \\\" b\"")));
    assert!(words.contains(&(TokenKind::Text, "'c'")));
    assert!(words.contains(&(TokenKind::Number, "100L")));
    assert!(words.contains(&(TokenKind::Type, "List")));
    assert!(words.contains(&(TokenKind::Keyword, "void")));
    assert!(words.contains(&(TokenKind::Identifier, "Thread")));
    assert!(words.iter().all(|(_, word)| !word.contains("comment")));
    let expected = [
        call(None, "ArrayList", 1, 5),
        call(Some("Thread"), "sleep", 1, 6),
        call(Some("x"), "get", 1, 7),
        call(Some("x.get(0)"), "add", 2, 7),
    ];
    assert_eq!(body.calls, expected);
}

#[test]
fn a_broken_method_leaves_the_others() {
    let good = |name: &str| format!("  @Test public void {name}() {{ check(1); }}\n");
    for broken in [
        "  @Test public void broken() { int x = ; if ( }\n",
        "  @Test public void broken() { call(1, ; \n",
        "  @Test public void broken() { } }\n",
        "  @Test public void broken( {{ foo(]; }\n",
        "  ??? %% @ \n",
    ] {
        let source =
            format!("class CartTest {{\n{}{broken}{}{}}}\n", good("one"), good("two"), good("three"));
        let file = java(&source);
        let names = names(&file);
        for name in ["CartTest::one", "CartTest::two", "CartTest::three"] {
            assert!(names.contains(&name.to_owned()), "{name} is lost after {broken:?}: {names:?}");
        }
        assert!(!file.issues.is_empty());
    }
}
