//! Test ids from what each dialect says about a test.
//!
//! The table in the [crate documentation](crate) gives the parts by dialect.
//! Two rules hold for all of them:
//!
//! - An absolute path never enters an id, as it differs between machines. If
//!   the class name ends like the path, as `tests.test_cart` and
//!   `/builds/acme/tests/test_cart.py` do, that end is kept, else the last
//!   component alone. A root that the files of one report share would not do:
//!   it depends on which tests were run.
//! - A test without a name is called `(unnamed)`.

use std::borrow::Cow;

use flakewise_model::{TestId, TestIdBuilder, TestIds};

use crate::Dialect;

const UNNAMED: &str = "(unnamed)";
/// The name of what fails when a module cannot be loaded.
const COLLECTION: &str = "(collection)";

/// How a report names a test.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CaseNames<'a> {
    pub(crate) name: &'a str,
    pub(crate) classname: &'a str,
    /// `PHPUnit`'s class with its namespace.
    pub(crate) class: &'a str,
    pub(crate) file: &'a str,
}

/// How a report names a suite around a test.
#[derive(Debug, Default)]
pub(crate) struct SuiteNames {
    /// Tells suites of one report apart.
    pub(crate) serial: u64,
    pub(crate) name: String,
    pub(crate) file: String,
    pub(crate) hostname: String,
}

/// Makes ids, remembering the parts that a test shares with the one before.
#[derive(Debug, Default)]
pub(crate) struct Identities {
    cached: Option<Cached>,
}

#[derive(Debug)]
struct Cached {
    dialect: Dialect,
    serial: u64,
    classname: String,
    file: String,
    prefix: TestIdBuilder,
}

impl Identities {
    /// The id of a test in these suites, the outermost first.
    pub(crate) fn id(
        &mut self,
        dialect: Dialect,
        suites: &[SuiteNames],
        case: CaseNames<'_>,
        ids: &mut TestIds,
    ) -> TestId {
        if let Some(id) = not_a_test(dialect, suites, case) {
            return id;
        }
        // What the cache is keyed by must decide the prefix alone.
        let classname = match dialect {
            // By default the class name says the same as the name.
            Dialect::Jest if case.classname == case.name => "",
            Dialect::PhpUnit if !case.class.is_empty() => case.class,
            _ => case.classname,
        };
        let case = CaseNames { classname, ..case };
        let serial = suites.last().map_or(0, |suite| suite.serial);
        let hit = self.cached.as_ref().is_some_and(|cached| {
            cached.serial == serial
                && cached.dialect == dialect
                && same(&cached.classname, case.classname)
                && same(&cached.file, case.file)
        });
        if !hit {
            self.cached = Some(Cached {
                dialect,
                serial,
                classname: case.classname.to_owned(),
                file: case.file.to_owned(),
                prefix: prefix(dialect, suites, case),
            });
        }
        let prefix = &self.cached.as_ref().expect("it was filled above").prefix;
        let name = match dialect {
            Dialect::Jest => case.name.trim_start(),
            Dialect::Playwright => without_project(suites, case.name),
            _ => case.name,
        };
        finish(dialect, prefix, if name.is_empty() { UNNAMED } else { name }, ids)
    }
}

/// Whether two texts are the same. An empty one is not looked at: the C
/// library's comparison of no bytes at an address that is not mapped costs as
/// much as all else that is done for a test case.
fn same(left: &str, right: &str) -> bool {
    left.len() == right.len() && (left.is_empty() || left == right)
}

/// The id of what some runners put in the place of a test: a file that could
/// not be loaded, or the set-up of a class.
fn not_a_test(dialect: Dialect, suites: &[SuiteNames], case: CaseNames<'_>) -> Option<TestId> {
    let scheme = dialect.scheme();
    let file = |path: &str| Some(TestId::builder(scheme, &portable_path(path, "")).finish(COLLECTION, None));
    let module = |name: &str| Some(python_prefix(scheme, name, "").finish(COLLECTION, None));
    match dialect {
        Dialect::Pytest if case.classname.is_empty() && !case.name.is_empty() => module(case.name),
        Dialect::Unittest if case.classname.ends_with("loader._FailedTest") => module(case.name),
        // `setUpClass (test_cart.CartTest)`
        Dialect::Unittest if case.classname.is_empty() => {
            let (name, class) = case.name.strip_suffix(')')?.split_once(" (")?;
            Some(python_prefix(scheme, class, "").finish(name, None))
        }
        Dialect::Jest if case.classname == "Test suite failed to run" => file(case.name),
        Dialect::Vitest if suites.last().is_some_and(|suite| suite.name == case.name) => file(case.name),
        Dialect::Node if suites.is_empty() && is_absolute(case.name) => file(case.name),
        _ => None,
    }
}

/// Whether an id is that of a file that could not be loaded.
pub(crate) fn is_collection(test: &TestId) -> bool {
    test.as_str().strip_suffix(COLLECTION).is_some_and(|before| before.ends_with("::"))
}

/// Everything before the name.
fn prefix(dialect: Dialect, suites: &[SuiteNames], case: CaseNames<'_>) -> TestIdBuilder {
    let scheme = dialect.scheme();
    let none = SuiteNames::default();
    let suite = suites.last().unwrap_or(&none);
    let file = if case.file.is_empty() { &suite.file } else { case.file };
    let class_or_suite = if case.classname.is_empty() { &suite.name } else { case.classname };
    match dialect {
        Dialect::Pytest | Dialect::Unittest => python_prefix(scheme, case.classname, case.file),
        Dialect::Surefire | Dialect::Gradle | Dialect::Java => java_prefix(scheme, class_or_suite),
        Dialect::Go => {
            // gotestsum can be told to shorten either of the two.
            let shortened =
                suite.name.strip_suffix(case.classname).is_some_and(|before| before.ends_with('/'));
            let longer = case.classname.is_empty() || shortened;
            TestId::builder(scheme, if longer { &suite.name } else { case.classname })
        }
        Dialect::Nextest => TestId::builder(scheme, case.classname),
        Dialect::Vitest => TestId::builder(scheme, &portable_path(&suite.name, "")),
        Dialect::Playwright => {
            let builder = TestId::builder(scheme, &portable_path(&suite.name, ""));
            // The project, such as a browser, stands where others have a host.
            if suite.hostname.is_empty() { builder } else { builder.class(&suite.hostname) }
        }
        Dialect::Jest => {
            // Tests outside of `describe` have a suite of this name.
            let suite = if suite.name == "undefined" { "" } else { &suite.name };
            let module = portable_path(if file.is_empty() { suite } else { file }, "");
            let builder = TestId::builder(scheme, &module);
            let speaks = !case.classname.is_empty() && case.classname != module;
            if speaks { builder.class(case.classname) } else { builder }
        }
        Dialect::GoogleTest => TestId::builder(scheme, &portable_path(file, "")).class(class_or_suite),
        Dialect::CTest => TestId::builder(scheme, ""),
        Dialect::Catch2 => {
            // `binary.Fixture`, or `binary.global` where there is none.
            let builder = TestId::builder(scheme, &suite.name);
            let class =
                case.classname.strip_prefix(suite.name.as_str()).and_then(|rest| rest.strip_prefix('.'));
            match class.unwrap_or(case.classname) {
                "" | "global" => builder,
                class => builder.class(class),
            }
        }
        Dialect::PhpUnit => match class_or_suite.rsplit_once(['\\', '.']) {
            Some((namespace, class)) => TestId::builder(scheme, &namespace.replace('.', "\\")).class(class),
            None => TestId::builder(scheme, "").class(class_or_suite),
        },
        // Every suite is a `describe`, and the class name is always `test`.
        Dialect::Node => {
            suites.iter().fold(TestId::builder(scheme, &portable_path(file, "")), |builder, suite| {
                builder.class(&suite.name)
            })
        }
        Dialect::RSpec if file.is_empty() => {
            TestId::builder(scheme, &format!("{}.rb", case.classname.replace('.', "/")))
        }
        Dialect::RSpec => TestId::builder(scheme, &portable_path(file, case.classname)),
        Dialect::Flakewise | Dialect::Unknown => {
            let module = if file.is_empty() { without_date(&suite.name) } else { file };
            let builder = TestId::builder(scheme, &portable_path(module, case.classname));
            if case.classname.is_empty() { builder } else { builder.class(case.classname) }
        }
    }
}

/// Adds the name, taken apart as the dialect has it.
fn finish(dialect: Dialect, prefix: &TestIdBuilder, name: &str, ids: &mut TestIds) -> TestId {
    match dialect {
        Dialect::Pytest => match bracketed(name) {
            Some((name, parameters)) => ids.test(prefix, name, Some(parameters)),
            None => ids.test(prefix, name, None),
        },
        Dialect::Surefire | Dialect::Gradle | Dialect::Java => {
            let (name, parameters) = java_name(name);
            ids.test(prefix, name, parameters)
        }
        Dialect::Unittest => match name.split_once(' ') {
            Some((name, case)) => ids.test(prefix, name, Some(case)),
            None => ids.test(prefix, name, None),
        },
        Dialect::Go | Dialect::GoogleTest | Dialect::Catch2 => match name.split_once('/') {
            Some((name, case)) if !name.is_empty() => ids.test(prefix, name, Some(case)),
            _ => ids.test(prefix, name, None),
        },
        Dialect::Nextest => nested(prefix, name, "::", ids),
        Dialect::Vitest => nested(prefix, name, " > ", ids),
        Dialect::Playwright => nested(prefix, name, " › ", ids),
        Dialect::PhpUnit => match name.split_once(" with data set ") {
            Some((name, set)) => ids.test(prefix, name, Some(data_set(set))),
            None => ids.test(prefix, name, None),
        },
        Dialect::Flakewise
        | Dialect::Jest
        | Dialect::CTest
        | Dialect::RSpec
        | Dialect::Node
        | Dialect::Unknown => ids.test(prefix, name, None),
    }
}

/// A name whose last part is the test and whose others are around it.
fn nested(prefix: &TestIdBuilder, name: &str, separator: &str, ids: &mut TestIds) -> TestId {
    match name.rsplit_once(separator) {
        Some((around, name)) if !name.is_empty() => {
            let prefix = around.split(separator).fold(prefix.clone(), TestIdBuilder::class);
            ids.test(&prefix, name, None)
        }
        _ => ids.test(prefix, name, None),
    }
}

/// Drops the project that Playwright can be told to put before each name.
fn without_project<'a>(suites: &[SuiteNames], name: &'a str) -> &'a str {
    let project = suites.last().map_or("", |suite| &suite.hostname);
    let rest = name.strip_prefix('[').and_then(|rest| rest.strip_prefix(project)?.strip_prefix("] "));
    rest.filter(|_| !project.is_empty()).unwrap_or(name)
}

/// Splits `name[inside]` at the first bracket.
fn bracketed(name: &str) -> Option<(&str, &str)> {
    let open = name.strip_suffix(']')?;
    let at = memchr::memchr(b'[', open.as_bytes()).filter(|at| *at > 0)?;
    Some((&open[..at], &open[at + 1..]))
}

/// The module path and the classes of a test in Python.
///
/// pytest writes `tests.test_cart.TestCart` for `tests/test_cart.py::TestCart`.
/// Where the older report format gives the file, the file decides. Else the
/// last component like `test_*` or `*_test` is the module; failing that,
/// components with a capital at the end are classes.
fn python_prefix(scheme: &str, classname: &str, file: &str) -> TestIdBuilder {
    let parts: Vec<&str> = classname.split('.').collect();
    if !file.is_empty() {
        let module = portable_path(file, classname);
        let dotted = module.strip_suffix(".py").unwrap_or(&module).replace('/', ".");
        let classes = match classname.strip_prefix(&dotted) {
            Some("") => &[],
            Some(rest) if rest.starts_with('.') => {
                let count = rest.matches('.').count();
                &parts[parts.len() - count..]
            }
            _ => &parts[capitals_at_the_end(&parts)..],
        };
        return with_classes(TestId::builder(scheme, &module), classes);
    }
    let is_module = |part: &&str| part.starts_with("test_") || part.ends_with("_test") || *part == "conftest";
    let end = match parts.iter().rposition(is_module) {
        Some(at) => at + 1,
        None => capitals_at_the_end(&parts),
    };
    let module = format!("{}.py", parts[..end].join("/"));
    with_classes(TestId::builder(scheme, &module), &parts[end..])
}

/// Where the components with a capital at the end of a dotted name begin; the
/// first component is never one of them.
fn capitals_at_the_end(parts: &[&str]) -> usize {
    let small = |part: &&str| !part.starts_with(|first: char| first.is_uppercase());
    parts.iter().rposition(small).map_or(1, |at| at + 1).min(parts.len())
}

fn with_classes(mut builder: TestIdBuilder, classes: &[&str]) -> TestIdBuilder {
    for class in classes {
        builder = builder.class(class);
    }
    builder
}

/// `org.acme.CartTest$WhenEmpty` as package and nested classes.
fn java_prefix(scheme: &str, classname: &str) -> TestIdBuilder {
    if classname.contains(' ') {
        // A display name.
        return TestId::builder(scheme, "").class(classname);
    }
    let (package, class) = classname.rsplit_once('.').unwrap_or(("", classname));
    let builder = TestId::builder(scheme, package);
    if class.split('$').all(str::is_empty) {
        return builder.class(class);
    }
    class.split('$').filter(|part| !part.is_empty()).fold(builder, TestIdBuilder::class)
}

/// The method and the case of a parameterised test.
///
/// | as reported | name | parameters |
/// |---|---|---|
/// | `adds`, `adds()`, `adds(TestInfo)` | `adds` | |
/// | `adds(int, int)[2]`, `adds(int, int)[2] 2 plus 2` | `adds` | `2` |
/// | `adds[2]`, `adds[2: a=1]` | `adds` | `2`, `2: a=1` |
/// | `adds(int, int) 2 plus 2` | `adds` | `2 plus 2` |
/// | `a phrase (of words) [and signs]` | all of it | |
fn java_name(name: &str) -> (&str, Option<&str>) {
    let end = name.find(|character: char| !is_java_identifier(character)).unwrap_or(name.len());
    let (method, rest) = name.split_at(end);
    if method.is_empty() || rest.is_empty() {
        return (name, None);
    }
    if let Some((method, parameters)) = bracketed(name).filter(|_| rest.starts_with('[')) {
        return (method, Some(parameters));
    }
    let Some(case) = rest.strip_prefix('(').and_then(|types| types.split_once(')')).map(|(_, case)| case)
    else {
        // Kotlin's methods may have spaces in their names.
        return (name.strip_suffix("()").unwrap_or(name), None);
    };
    if case.is_empty() {
        return (method, None);
    }
    // The text after the number changes with the values, the number does not.
    let number = case.strip_prefix('[').and_then(|case| case.split_once(']')).map(|(number, _)| number);
    let number =
        number.filter(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()));
    (method, Some(number.unwrap_or(case.trim())))
}

fn is_java_identifier(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '$')
}

/// The name of a data set, without the data that some versions put after it.
fn data_set(set: &str) -> &str {
    let end = match set.strip_prefix('"') {
        Some(quoted) => quoted.find("\" (").map(|end| end + 2),
        None => set.find(" ("),
    };
    set[..end.unwrap_or(set.len())].trim_matches('"')
}

/// Drops the date that some runners put at the end of a suite's name, as in
/// `tests.CartTest-20261115020021`.
fn without_date(suite: &str) -> &str {
    match suite.rsplit_once('-') {
        Some((name, date)) if date.len() == 14 && date.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => suite,
    }
}

/// A path that is the same on every machine, with forward slashes.
fn portable_path<'a>(path: &'a str, classname: &str) -> Cow<'a, str> {
    let path = path.strip_prefix("file://").unwrap_or(path);
    let mut path: Cow<'_, str> =
        if path.contains('\\') { path.replace('\\', "/").into() } else { Cow::Borrowed(path) };
    while let Some(rest) = path.strip_prefix("./") {
        path = rest.to_owned().into();
    }
    if !is_absolute(&path) {
        return path;
    }
    let stem_end = path.rfind('.').filter(|dot| path.rfind('/') < Some(*dot)).unwrap_or(path.len());
    let stem = &path[..stem_end];
    // The longest beginning of the class name that is the end of the path.
    let parts: Vec<&str> = classname.split(['.', '/', '\\']).filter(|part| !part.is_empty()).collect();
    for count in (1..=parts.len()).rev() {
        let candidate = parts[..count].join("/");
        if stem.strip_suffix(&candidate).is_some_and(|before| before.ends_with('/')) {
            return format!("{candidate}{}", &path[stem_end..]).into();
        }
    }
    path.rsplit('/').next().unwrap_or_default().to_owned().into()
}

fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || matches!(path.as_bytes().get(1..3), Some(b":/" | b":\\"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(dialect: Dialect, classname: &str, file: &str, name: &str, expected: &str) {
        let suite = |name: &str| SuiteNames {
            serial: 0,
            name: name.into(),
            file: String::new(),
            hostname: "project".into(),
        };
        let suites = [suite("outer"), suite("suite")];
        let case = CaseNames { name, classname, class: "", file };
        assert_eq!(
            Identities::default().id(dialect, &suites, case, &mut TestIds::default()).as_str(),
            expected
        );
    }

    #[test]
    fn pytest_ids_are_node_ids() {
        let id = |classname, file, name, expected| check(Dialect::Pytest, classname, file, name, expected);
        id(
            "tests.test_cart.TestCart",
            "",
            "test_total[3-4]",
            "pytest:tests/test_cart.py::TestCart::test_total[3-4]",
        );
        id("tests.test_cart", "", "test_total", "pytest:tests/test_cart.py::test_total");
        id("cart_test.Suite.Inner", "", "test", "pytest:cart_test.py::Suite::Inner::test");
        id("shop.tests.Cart", "", "test", "pytest:shop/tests.py::Cart::test");
        id("tests.unit.helpers.TestX", "", "test", "pytest:tests/unit/helpers.py::TestX::test");
        id("TestOnly", "", "test", "pytest:TestOnly.py::test");
        id(
            "tests.test_cart.TestCart",
            "tests/test_cart.py",
            "test",
            "pytest:tests/test_cart.py::TestCart::test",
        );
        id("tests.test_cart", "/builds/acme/tests/test_cart.py", "test", "pytest:tests/test_cart.py::test");
        id("tests.odd.lower_class", "tests\\odd.py", "test", "pytest:tests/odd.py::lower_class::test");
        id("", "", "broken.test_import", "pytest:broken/test_import.py::(collection)");
        id("test_a", "", "test[]", "pytest:test_a.py::test[]");
        id("test_a", "", "test[a[0]]", r"pytest:test_a.py::test[a\[0\]]");
        id("test_a", "", "", "pytest:test_a.py::(unnamed)");
    }

    #[test]
    fn java_names_are_methods_and_cases() {
        let id = |name, expected| check(Dialect::Surefire, "org.acme.CartTest$WhenEmpty", "", name, expected);
        id("adds", "junit:org.acme::CartTest::WhenEmpty::adds");
        id("adds()", "junit:org.acme::CartTest::WhenEmpty::adds");
        id("adds(TestInfo)", "junit:org.acme::CartTest::WhenEmpty::adds");
        id("adds(int, int)[2]", "junit:org.acme::CartTest::WhenEmpty::adds[2]");
        id("adds(int, int)[2] 2 plus 2", "junit:org.acme::CartTest::WhenEmpty::adds[2]");
        id("adds(int, int) 2 plus 2", "junit:org.acme::CartTest::WhenEmpty::adds[2 plus 2]");
        id("adds[2]", "junit:org.acme::CartTest::WhenEmpty::adds[2]");
        id("adds[2: a=[1]]", r"junit:org.acme::CartTest::WhenEmpty::adds[2\: a=\[1\]]");
        id("adds two numbers()", "junit:org.acme::CartTest::WhenEmpty::adds two numbers");
        id("[1] a, b", r"junit:org.acme::CartTest::WhenEmpty::\[1\] a, b");
        check(Dialect::Gradle, "CartTest", "", "adds", "junit:::CartTest::adds");
        check(Dialect::Java, "Shopping carts", "", "adds", "junit:::Shopping carts::adds");
        check(Dialect::Java, "", "", "adds", "junit:::suite::adds");
        check(Dialect::Java, "org.acme.$", "", "adds", "junit:org.acme::$::adds");
    }

    #[test]
    fn other_dialects_have_their_own_parts() {
        use Dialect::{GoogleTest, Jest, Nextest, PhpUnit, Playwright, RSpec, Unknown, Vitest};
        check(Dialect::Go, "example.com/cart", "", "TestX/a/b", "go:example.com/cart::TestX[a/b]");
        check(Dialect::Go, "", "", "TestMain", "go:suite::TestMain");
        check(Nextest, "acme::cart", "", "sum::tests::adds", r"rust:acme\:\:cart::sum::tests::adds");
        check(Vitest, "suite", "", "outer > inner > adds", "vitest:suite::outer::inner::adds");
        check(Playwright, "suite", "", "outer › adds", "playwright:suite::project::outer::adds");
        check(Playwright, "suite", "", "[project] adds", "playwright:suite::project::adds");
        check(Dialect::Node, "test", "", "adds", "node:::outer::suite::adds");
        check(Dialect::Catch2, "suite.global", "", "adds/up", "catch2:suite::adds[up]");
        check(Dialect::Catch2, "suite.Fixture", "", "adds", "catch2:suite::Fixture::adds");
        check(
            Dialect::Unittest,
            "test_a.A",
            "test_a.py",
            "test [x] (y=1)",
            r"unittest:test_a.py::A::test[\[x\] (y=1)]",
        );
        check(Dialect::Unittest, "", "/x.py", "setUpClass (a.B)", "unittest:a.py::B::setUpClass");
        check(
            Dialect::Unittest,
            "unittest.loader._FailedTest",
            "/x.py",
            "test_a",
            "unittest:test_a.py::(collection)",
        );
        check(Vitest, "suite", "", "suite", "vitest:suite::(collection)");
        check(Jest, "Test suite failed to run", "", "/b/a.test.js", "jest:a.test.js::(collection)");
        check(Jest, "cart adds", "", "cart adds", "jest:suite::cart adds");
        check(Jest, "cart", "src/cart.test.js", "adds", "jest:src/cart.test.js::cart::adds");
        check(GoogleTest, "Carts", "/b/cart_test.cc", "Adds/0", "googletest:cart_test.cc::Carts::Adds[0]");
        check(GoogleTest, "Carts", "src/cart_test.cc", "Adds", "googletest:src/cart_test.cc::Carts::Adds");
        check(
            PhpUnit,
            "App.Tests.CartTest",
            "",
            "testAdds with data set #0 (1, 2)",
            r"phpunit:App\\Tests::CartTest::testAdds[#0]",
        );
        check(PhpUnit, "CartTest", "", "testAdds with data set \"a b\"", "phpunit:::CartTest::testAdds[a b]");
        check(
            RSpec,
            "spec.cart_spec",
            "./spec/cart_spec.rb",
            "Cart adds",
            "rspec:spec/cart_spec.rb::Cart adds",
        );
        check(RSpec, "spec.cart_spec", "", "Cart adds", "rspec:spec/cart_spec.rb::Cart adds");
        check(Unknown, "Some class", "", "does it", "junit-xml:suite::Some class::does it");
        check(Unknown, "", "C:\\ci\\x\\Cart.cs", "does it", "junit-xml:Cart.cs::does it");
    }

    #[test]
    fn dates_in_suite_names_are_dropped() {
        assert_eq!(without_date("tests.CartTest-20261115020021"), "tests.CartTest");
        assert_eq!(without_date("cart-2"), "cart-2");
    }
}
