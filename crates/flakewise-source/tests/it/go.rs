//! Tests in Go.

use flakewise_source::{Framework, PieceKind, TokenKind};

use crate::support::{call, context, find, go, helpers, names, words};

#[test]
fn tests_go_by_name_and_parameter() {
    let file = go(
        "package cart\nimport \"testing\"\nfunc TestOne(t *testing.T) {}\nfunc Test_two(tt *testing.T) {}\n\
         func TestMain(m *testing.M) { m.Run() }\nfunc Testing(t *testing.T) {}\nfunc TestHelper(t *testing.T, x int) {}\n\
         func TestNothing() {}\nfunc (s *Suite) TestMethod() {}\nfunc FuzzThree(f *testing.F) {}\n\
         func BenchmarkNot(b *testing.B) {}\nfunc ExampleFour() {\n\tfmt.Println(4)\n\t// Output: 4\n}\n\
         func ExampleNot() {}\nfunc TestSub(t *testing.T) {\n\tt.Run(\"a\", func(t *testing.T) {})\n}\n",
    );
    assert_eq!(names(&file), ["TestOne", "Test_two", "FuzzThree", "ExampleFour", "TestSub"]);
    assert!(file.tests.iter().all(|test| test.framework == Framework::Go));
    assert_eq!(file.tests[0].id.as_str(), "go:shop/cart::TestOne");
    let sub = find(&file, "TestSub");
    assert_eq!(sub.end_line - sub.line, 2);
    assert!(file.issues.is_empty());
}

#[test]
fn context_and_helpers_are_of_the_file() {
    let file = go("package cart\nimport (\n\t\"os\"\n\tre \"github.com/stretchr/testify/require\"\n)\n\
         var port, host = 80, \"\"\nconst limit = 5\nfunc init() {}\nfunc TestMain(m *testing.M) {}\n\
         type Server struct{}\nfunc (s *Server) Send() { deeper() }\nfunc deeper() { start(nil) }\n\
         func start(t *testing.T) {}\nfunc unused() {}\n\
         func TestOne(t *testing.T) {\n\tstart(t)\n\tnew(Server).Send()\n}\n\
         type CartSuite struct{ suite.Suite }\nfunc (s *CartSuite) SetupTest() {}\nfunc (s *CartSuite) TestAdds() { deeper() }\n\
         func TestSuite(t *testing.T) { suite.Run(t, new(CartSuite)) }\n");
    let one = find(&file, "TestOne");
    assert_eq!(helpers(one), ["start", "Send", "deeper"]);
    assert_eq!(context(one, PieceKind::Import), ["os", "github.com/stretchr/testify/require"]);
    assert_eq!(context(one, PieceKind::Field), ["port", "limit"]);
    assert_eq!(context(one, PieceKind::SetUp), ["init", "TestMain"]);
    let suite = find(&file, "TestSuite");
    assert_eq!(helpers(suite), ["SetupTest", "TestAdds", "deeper", "start"]);
    assert!(std::sync::Arc::ptr_eq(&one.context, &suite.context));
}

#[test]
fn words_and_calls_of_a_body() {
    let file =
        go("package cart\nfunc TestOne(t *testing.T) {\n\t// No word.\n\ttime.Sleep(5 * time.Second)\n\t\
         x := map[string]int{\"a\": 1}\n\tt.Run(`b`, func(t *testing.T) { load(x, 'c') })\n}\n");
    let body = &find(&file, "TestOne").body;
    let words = words(body);
    assert!(words.contains(&(TokenKind::Text, "\"a\"")));
    assert!(words.contains(&(TokenKind::Text, "`b`")));
    assert!(words.contains(&(TokenKind::Text, "'c'")));
    assert!(words.contains(&(TokenKind::Number, "5")));
    assert!(words.contains(&(TokenKind::Keyword, "func")));
    assert!(words.contains(&(TokenKind::Type, "T")));
    assert!(words.contains(&(TokenKind::Identifier, "Sleep")));
    assert!(words.iter().all(|(_, word)| !word.contains("word")));
    let expected =
        [call(Some("time"), "Sleep", 1, 4), call(Some("t"), "Run", 2, 6), call(None, "load", 2, 6)];
    assert_eq!(body.calls, expected);
}

#[test]
fn metrics_are_of_the_body() {
    let file = go(
        "package cart\nimport (\n\t\"os\"\n\t\"github.com/acme/go-tool/v2\"\n\t\"gopkg.in/yaml.v3\"\n)\n\
         func TestOne(t *testing.T) {\n\tfor i := 0; i < 5 && a; i++ {\n\t\tif err := tool.Do(); err != nil {\n\t\t\t\
         t.Fatal(err.Error())\n\t\t} else if b {\n\t\t\tt.Errorf(\"x\")\n\t\t}\n\t}\n\tswitch c {\n\tcase 1:\n\t\td()\n\t\
         default:\n\t}\n\tassert.Equal(t, 1, 2)\n\trequire.NoError(t, os.Remove(\"\"))\n\tlog.Error(\"no\")\n}\n",
    );
    let metrics = find(&file, "TestOne").metrics;
    assert_eq!(metrics.assertions, 4);
    assert_eq!(metrics.ast_depth, 3);
    // for, &&, if, else if, one case
    assert_eq!(metrics.cyclomatic_complexity, 6);
    assert_eq!(metrics.lines, 17);
    assert_eq!(metrics.external_modules, 1);
}

#[test]
fn a_broken_test_leaves_the_others() {
    let good = |name: &str| format!("func Test{name}(t *testing.T) {{\n\tcheck(1)\n}}\n");
    for broken in [
        "func TestBroken(t *testing.T) {\n\tx := ; if ( \n}\n",
        "func TestBroken(t *testing.T) {\n\tcall(1, ;\n}\n",
        "??? %% @ \n",
    ] {
        let file = go(&format!("package cart\n{}{broken}{}{}", good("One"), good("Two"), good("Three")));
        let names = names(&file);
        for name in ["TestOne", "TestTwo", "TestThree"] {
            assert!(names.iter().any(|found| found == name), "{name} is lost after {broken:?}: {names:?}");
        }
        assert!(!file.issues.is_empty());
    }
}
