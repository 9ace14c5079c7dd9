//! What is known of a test from its source.

use std::ops::Range;
use std::sync::Arc;

use flakewise_model::{BehaviourFeatures, TestId};

/// A language whose tests can be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Language {
    /// Python.
    Python,
    /// Java.
    Java,
    /// Rust.
    Rust,
    /// Go.
    Go,
    /// JavaScript, with JSX.
    JavaScript,
    /// TypeScript.
    TypeScript,
    /// TypeScript with JSX.
    Tsx,
}

/// What runs a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Framework {
    /// pytest's functions and classes.
    Pytest,
    /// `unittest.TestCase`.
    Unittest,
    /// `JUnit` 3: methods by name.
    JUnit3,
    /// `JUnit` 4.
    JUnit4,
    /// `JUnit` Jupiter.
    JUnit5,
    /// `TestNG`.
    TestNg,
    /// Rust's `#[test]`.
    Rust,
    /// Go's `testing`.
    Go,
    /// Jest, Vitest, Mocha and others with `describe` and `it`.
    Describe,
}

/// A file and the tests in it.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// From the root that was searched, with forward slashes.
    pub path: String,
    /// What it is written in.
    pub language: Language,
    /// In the order of the file.
    pub tests: Vec<SourceTest>,
    /// What could not be understood.
    pub issues: Vec<Issue>,
}

/// A test as its source tells it.
#[derive(Clone, Debug)]
pub struct SourceTest {
    /// The id a runner reports, without parameters.
    pub id: TestId,
    /// What runs it.
    pub framework: Framework,
    /// The first line, counted from one, decorators and annotations included.
    pub line: u32,
    /// The last line.
    pub end_line: u32,
    /// The test itself, with decorators and annotations.
    pub body: Piece,
    /// What stands around it: shared by the tests of one class.
    pub context: Arc<[Piece]>,
    /// Functions of the same file that it calls, directly or not, in the order
    /// they are met.
    pub helpers: Vec<Arc<Piece>>,
    /// Counts of the test's own body.
    pub metrics: Metrics,
}

/// A stretch of source.
#[derive(Clone, Debug)]
pub struct Piece {
    /// What it is.
    pub kind: PieceKind,
    /// The name of what it declares, or an empty text.
    pub name: String,
    /// As written.
    pub text: Arc<str>,
    /// The line it starts on, counted from one.
    pub line: u32,
    /// Its words, in order. Comments are not among them.
    pub tokens: Vec<Token>,
    /// The calls in it, in order.
    pub calls: Vec<Call>,
}

impl Piece {
    /// A word as it is written.
    pub fn word(&self, token: &Token) -> &str {
        self.text.get(token.span.start as usize..token.span.end as usize).unwrap_or_default()
    }
}

/// What a piece of source is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PieceKind {
    /// A test.
    Test,
    /// A function that is called.
    Helper,
    /// Runs before a test: `setUp`, `@BeforeEach`, a fixture.
    SetUp,
    /// Runs after it.
    TearDown,
    /// A field of the class, or a variable of the module.
    Field,
    /// The head of a class: name, annotations and what it extends.
    Class,
    /// An import.
    Import,
}

/// A word of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Where it stands in the text of its piece, in bytes.
    pub span: Range<u32>,
}

/// What a word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TokenKind {
    /// A name.
    Identifier,
    /// A name in the place of a type.
    Type,
    /// A word of the language.
    Keyword,
    /// A text or a character, with its quotes.
    Text,
    /// A number.
    Number,
    /// Everything else.
    Operator,
}

/// A call, or the creation of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// What it is called on, as written if short: `Thread` in `Thread.sleep(5)`.
    pub receiver: Option<String>,
    /// The function, method or class.
    pub name: String,
    /// How many arguments it has.
    pub arguments: u32,
    /// The line in the file, counted from one.
    pub line: u32,
}

/// The static features of a test, as in CANNIER's table 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Metrics {
    /// The greatest depth of nested statements.
    pub ast_depth: u32,
    /// Assertions.
    pub assertions: u32,
    /// Modules of other projects that the test uses.
    pub external_modules: u32,
    /// Halstead's volume.
    pub halstead_volume: f64,
    /// `McCabe`'s cyclomatic complexity.
    pub cyclomatic_complexity: u32,
    /// Lines that hold code.
    pub lines: u32,
    /// The maintainability index, from 0 to 100.
    pub maintainability: f64,
}

impl Metrics {
    /// As features; those of how the test behaves are missing.
    pub fn features(&self) -> BehaviourFeatures {
        BehaviourFeatures {
            ast_depth: Some(self.ast_depth.into()),
            assertions: Some(self.assertions.into()),
            external_modules: Some(self.external_modules.into()),
            halstead_volume: Some(self.halstead_volume),
            cyclomatic_complexity: Some(self.cyclomatic_complexity.into()),
            test_lines_of_code: Some(self.lines.into()),
            maintainability: Some(self.maintainability),
            ..BehaviourFeatures::default()
        }
    }
}

/// Something that could not be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// The line, counted from one, or 0 for the whole file.
    pub line: u32,
    /// What it is, for people.
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_fill_the_seven_features_of_source_and_no_other() {
        let metrics = Metrics { lines: 7, maintainability: 50.0, ..Metrics::default() };
        let features = metrics.features();
        assert_eq!((features.test_lines_of_code, features.maintainability), (Some(7.0), Some(50.0)));
        let known: Vec<bool> = features.values().iter().map(Option::is_some).collect();
        assert_eq!(known, [[false; 11].as_slice(), &[true; 7]].concat());
    }
}
