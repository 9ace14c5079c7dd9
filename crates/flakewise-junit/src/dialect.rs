//! Who wrote a report.
//!
//! There is no standard for JUnit XML, only runners that each write it in their
//! own way. The way is recognised by signs in the document, never by the name of the
//! file: names that generators give themselves, their properties, and the order
//! of the attributes of a suite, which is as good as a signature.

/// The runner whose way of writing a report follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// Written by [`write`](crate::write()).
    Flakewise,
    /// pytest.
    Pytest,
    /// Maven Surefire or Failsafe.
    Surefire,
    /// Gradle.
    Gradle,
    /// Ant and others who report on Java classes.
    Java,
    /// gotestsum or go-junit-report.
    Go,
    /// cargo-nextest.
    Nextest,
    /// jest-junit.
    Jest,
    /// Vitest.
    Vitest,
    /// Playwright.
    Playwright,
    /// GoogleTest.
    GoogleTest,
    /// `CTest`.
    CTest,
    /// Catch2.
    Catch2,
    /// `PHPUnit`.
    PhpUnit,
    /// `RSpec`, by `rspec_junit_formatter`.
    RSpec,
    /// Node's own test runner.
    Node,
    /// Python's unittest, by unittest-xml-reporting.
    Unittest,
    /// Nobody we know.
    #[default]
    Unknown,
}

/// What one test id occurring twice in a report means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repetition {
    /// The test was executed again.
    Attempt,
    /// Two tests have one name: the runner lists each test once.
    Namesake,
}

impl Dialect {
    /// The name used in text and machine formats.
    pub fn name(self) -> &'static str {
        match self {
            Self::Flakewise => "flakewise",
            Self::Pytest => "pytest",
            Self::Surefire => "surefire",
            Self::Gradle => "gradle",
            Self::Java => "java",
            Self::Go => "go",
            Self::Nextest => "nextest",
            Self::Jest => "jest",
            Self::Vitest => "vitest",
            Self::Playwright => "playwright",
            Self::GoogleTest => "googletest",
            Self::CTest => "ctest",
            Self::Catch2 => "catch2",
            Self::PhpUnit => "phpunit",
            Self::RSpec => "rspec",
            Self::Node => "node",
            Self::Unittest => "unittest",
            Self::Unknown => "unknown",
        }
    }

    /// The scheme of the ids of its tests.
    pub(crate) fn scheme(self) -> &'static str {
        match self {
            Self::Surefire | Self::Gradle | Self::Java => "junit",
            Self::Nextest => "rust",
            Self::Flakewise | Self::Unknown => "junit-xml",
            other => other.name(),
        }
    }

    pub(crate) fn repetition(self) -> Repetition {
        match self {
            Self::Jest | Self::Vitest | Self::RSpec | Self::Node | Self::Catch2 => Repetition::Namesake,
            _ => Repetition::Attempt,
        }
    }

    /// Whether test cases stand in the order in which they were executed, as
    /// far as can be determined. Go's reports list failures first.
    pub(crate) fn in_execution_order(self) -> bool {
        !matches!(self, Self::Go | Self::Flakewise)
    }

    /// Whether `hostname` names a host. Playwright has a project there, Catch2
    /// the letters `tbd`.
    pub(crate) fn hostname_is_a_host(self) -> bool {
        !matches!(self, Self::Playwright | Self::Catch2)
    }
}

impl std::fmt::Display for Dialect {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name())
    }
}

/// The signs seen before the first test case.
#[derive(Debug, Default)]
pub(crate) struct Signs {
    /// A sign at the root that leaves no doubt.
    root: Option<Dialect>,
    /// One at the outermost suite at hand, or its properties.
    outermost: Option<Dialect>,
    /// The order of attributes of the innermost suite.
    suite: Signature,
    suite_name: String,
}

impl Signs {
    /// Looks at the root, where it holds several suites.
    pub(crate) fn root(&mut self, attribute: &str, value: &str) {
        let found = match (attribute, value) {
            ("name", crate::write::ROOT_NAME) => Some(Dialect::Flakewise),
            ("name", "pytest tests") => Some(Dialect::Pytest),
            ("name", "vitest tests") => Some(Dialect::Vitest),
            ("name", "jest tests") => Some(Dialect::Jest),
            ("name", "nextest-run") | ("uuid", _) => Some(Dialect::Nextest),
            ("name", "AllTests") => Some(Dialect::GoogleTest),
            _ => None,
        };
        self.root = self.root.or(found);
    }

    /// Whether the report is our own.
    pub(crate) fn are_ours(&self) -> bool {
        self.root == Some(Dialect::Flakewise)
    }

    /// Forgets the suite before.
    pub(crate) fn begin_suite(&mut self, outermost: bool) {
        self.suite = Signature::default();
        self.suite_name.clear();
        if outermost {
            self.outermost = None;
        }
    }

    /// Looks at a suite, attribute by attribute in their order.
    pub(crate) fn suite(&mut self, attribute: &str, value: &str) {
        self.suite.add(attribute);
        let found = match attribute {
            "name" => {
                self.suite_name.push_str(value);
                match value {
                    "pytest" => Some(Dialect::Pytest),
                    "rspec" => Some(Dialect::RSpec),
                    _ => None,
                }
            }
            // `…/maven-surefire-plugin/xsd/surefire-test-report.xsd`
            "xsi:noNamespaceSchemaLocation" | "xsi:schemaLocation" if value.contains("surefire") => {
                Some(Dialect::Surefire)
            }
            _ => None,
        };
        self.outermost = self.outermost.or(found);
    }

    /// Looks at a property of a suite.
    pub(crate) fn property(&mut self, name: &str) {
        let found = match name {
            "go.version" => Some(Dialect::Go),
            "surefire.test.class.path" | "surefire.real.class.path" => Some(Dialect::Surefire),
            "java.version" | "java.vm.name" => Some(Dialect::Java),
            _ => None,
        };
        self.outermost = self.outermost.or(found);
    }

    /// Decides, with the attributes of the first test case of an outermost
    /// suite. Only a certain sign can make it differ from the suite `before`:
    /// files that were merged have suites by several, but no runner changes its
    /// way in the middle.
    pub(crate) fn decide(&self, before: Option<Dialect>, case: &CaseSigns<'_>) -> Dialect {
        if let Some(dialect) = self.root.or(self.outermost).or(before) {
            return dialect;
        }
        if let Some(dialect) = self.suite.dialect() {
            return dialect;
        }
        if self.suite.is_empty() && case.classname == "test" && case.file.is_empty() {
            // A test outside of every suite, which nobody else writes.
            Dialect::Node
        } else if case.has_result && case.has_status {
            Dialect::GoogleTest
        } else if !case.class.is_empty() && case.has_assertions {
            Dialect::PhpUnit
        } else if has_extension(case.file, "py") {
            Dialect::Pytest
        } else if case.file.ends_with("_spec.rb") {
            Dialect::RSpec
        } else if case.has_status && case.classname == case.name && self.suite.has("disabled") {
            Dialect::CTest
        } else if case.classname == self.suite_name && is_java_class(case.classname) {
            Dialect::Java
        } else {
            Dialect::Unknown
        }
    }
}

fn has_extension(path: &str, extension: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, found)| found.eq_ignore_ascii_case(extension))
}

/// What of a test case tells who wrote it.
#[derive(Debug, Default)]
pub(crate) struct CaseSigns<'a> {
    pub(crate) name: &'a str,
    pub(crate) classname: &'a str,
    pub(crate) file: &'a str,
    pub(crate) class: &'a str,
    pub(crate) has_status: bool,
    pub(crate) has_result: bool,
    pub(crate) has_assertions: bool,
}

/// Whether a name looks like `org.acme.CartTest`.
fn is_java_class(name: &str) -> bool {
    name.rsplit('.').next().is_some_and(|class| class.starts_with(|first: char| first.is_uppercase()))
        && name.contains('.')
        && name.chars().all(|character| character.is_alphanumeric() || matches!(character, '.' | '_' | '$'))
}

/// The order of attributes of a suite, one letter for each.
#[derive(Debug, Default)]
struct Signature {
    letters: [u8; Self::LENGTH],
    length: usize,
}

impl Signature {
    const LENGTH: usize = 12;
    const LETTERS: [(&'static str, u8); 12] = [
        ("name", b'n'),
        ("tests", b't'),
        ("failures", b'f'),
        ("errors", b'e'),
        ("skipped", b's'),
        ("disabled", b'd'),
        ("assertions", b'a'),
        ("time", b'T'),
        ("timestamp", b'S'),
        ("hostname", b'h'),
        ("file", b'F'),
        ("warnings", b'w'),
    ];

    fn add(&mut self, attribute: &str) {
        if self.length < Self::LENGTH {
            let known = Self::LETTERS.iter().find(|(name, _)| *name == attribute);
            self.letters[self.length] = known.map_or(b'?', |(_, letter)| *letter);
            self.length += 1;
        }
    }

    fn has(&self, attribute: &str) -> bool {
        let letter = Self::LETTERS.iter().find(|(name, _)| *name == attribute).map(|(_, letter)| letter);
        letter.is_some_and(|letter| self.letters[..self.length].contains(letter))
    }

    fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Whose order it is. Playwright and Vitest differ by one place only.
    fn dialect(&self) -> Option<Dialect> {
        match &self.letters[..self.length] {
            b"nefstTSh" => Some(Dialect::Pytest),
            b"nShtfesT" => Some(Dialect::Vitest),
            b"nShtfsTe" => Some(Dialect::Playwright),
            b"ntsfeShT" => Some(Dialect::Gradle),
            b"nefsSTt" | b"nefsSTtF" => Some(Dialect::Jest),
            b"tfTnS" | b"tfsTnS" => Some(Dialect::Go),
            b"ntsfeTSh" => Some(Dialect::RSpec),
            b"ntaefsT" | b"nFtaefsT" | b"ntaewfsT" | b"nFtaewfsT" => Some(Dialect::PhpUnit),
            b"ntfdeTS" | b"ntfdseTS" => Some(Dialect::GoogleTest),
            b"ntfdshTS" => Some(Dialect::CTest),
            b"nefthTS" | b"nefsthTS" | b"nefthTSs" => Some(Dialect::Catch2),
            b"nTdetfsh" => Some(Dialect::Node),
            b"ntFTSfes" => Some(Dialect::Unittest),
            // JUnit's own console launcher.
            b"ntsfeThS" => Some(Dialect::Java),
            _ => None,
        }
    }
}
