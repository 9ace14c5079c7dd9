//! What was wrong with a report.

use std::cell::Cell;
use std::fmt;

/// Something in a report that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// How bad it is.
    pub level: IssueLevel,
    /// Where it is.
    pub place: Place,
    /// What it is.
    pub kind: IssueKind,
}

impl Place {
    pub(crate) const START: Self = Self { line: 1, offset: 0 };
}

impl fmt::Display for Issue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}: {}", self.place.line, self.kind)
    }
}

/// How bad an issue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IssueLevel {
    /// Everything could be understood, or only a detail is missing.
    Suboptimal,
    /// Tests may have been lost: the report does not count as complete.
    Invalid,
}

/// A place in a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The line, from 1.
    pub line: u64,
    /// The byte, from 0, of the text in UTF-8 without a byte order mark. It is
    /// the byte of the file unless the file is in another encoding.
    pub offset: u64,
}

/// What an issue is about.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IssueKind {
    /// The source failed before its end.
    Io {
        /// What the operating system says.
        message: String,
    },
    /// The document ends before its last element is closed.
    CutOff {
        /// What was still open.
        inside: String,
    },
    /// Nothing in the document looks like a test suite.
    NoSuite,
    /// An end tag that closes nothing.
    StrayEnd {
        /// Its name.
        name: String,
    },
    /// An element that is not closed by a tag of its own.
    MissingEnd {
        /// Its name.
        name: String,
    },
    /// A tag that is not closed.
    UnclosedTag,
    /// A tag that cannot be taken apart.
    BrokenTag {
        /// Its beginning.
        tag: String,
    },
    /// A quoted value that seems to have swallowed elements.
    SwallowedMarkup {
        /// The attribute.
        attribute: String,
    },
    /// Elements nested deeper than the limit.
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// More attempts than the limit.
    TooManyAttempts {
        /// The limit.
        limit: usize,
    },
    /// A tag that is longer than the limit.
    LongTag {
        /// The limit in bytes.
        limit: usize,
    },
    /// An attribute value that is longer than the limit.
    LongAttribute {
        /// The limit in bytes.
        limit: usize,
    },
    /// An unescaped `<` or `&`.
    Unescaped {
        /// The character.
        character: char,
    },
    /// An entity other than XML's own five.
    UnknownEntity {
        /// Its name.
        name: String,
    },
    /// A document type declaration, which is not looked at.
    DocumentType,
    /// Bytes that are not text in the document's encoding.
    NotText {
        /// The encoding.
        encoding: &'static str,
    },
    /// An encoding that is not known.
    UnknownEncoding {
        /// Its name.
        name: String,
    },
    /// Text outside the root element.
    TextOutsideRoot,
    /// A second root element.
    AnotherDocument,
    /// A test case without a name.
    Nameless,
    /// A time that is not a number.
    TimeNotANumber {
        /// The text.
        text: String,
    },
    /// A time below 0, or of many years.
    TimeOutOfRange {
        /// The text.
        text: String,
    },
    /// A time stamp in no known form.
    UnknownTimestamp {
        /// The text.
        text: String,
    },
    /// A note of our own that cannot be read back.
    BrokenNote {
        /// The name of the property.
        name: String,
    },
    /// More issues than the limit.
    More,
}

impl IssueKind {
    /// How bad an issue of this kind is.
    pub fn level(&self) -> IssueLevel {
        match self {
            Self::Io { .. }
            | Self::CutOff { .. }
            | Self::NoSuite
            | Self::StrayEnd { .. }
            | Self::MissingEnd { .. }
            | Self::UnclosedTag
            | Self::BrokenTag { .. }
            | Self::SwallowedMarkup { .. }
            | Self::TooDeep { .. }
            | Self::TooManyAttempts { .. }
            | Self::UnknownEncoding { .. } => IssueLevel::Invalid,
            Self::LongTag { .. }
            | Self::LongAttribute { .. }
            | Self::Unescaped { .. }
            | Self::UnknownEntity { .. }
            | Self::DocumentType
            | Self::NotText { .. }
            | Self::TextOutsideRoot
            | Self::AnotherDocument
            | Self::Nameless
            | Self::TimeNotANumber { .. }
            | Self::TimeOutOfRange { .. }
            | Self::UnknownTimestamp { .. }
            | Self::BrokenNote { .. }
            | Self::More => IssueLevel::Suboptimal,
        }
    }
}

impl fmt::Display for IssueKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { message } => write!(formatter, "failed to read further: {message}"),
            Self::CutOff { inside } => write!(formatter, "the document is cut off inside `{inside}`"),
            Self::NoSuite => formatter.write_str("no test suite found"),
            Self::StrayEnd { name } => write!(formatter, "`</{name}>` closes nothing"),
            Self::MissingEnd { name } => write!(formatter, "`<{name}>` is not closed"),
            Self::UnclosedTag => formatter.write_str("a tag is not closed"),
            Self::BrokenTag { tag } => write!(formatter, "`{tag}` is not a valid tag"),
            Self::SwallowedMarkup { attribute } => {
                write!(formatter, "the value of `{attribute}` has no closing quote")
            }
            Self::TooDeep { limit } => write!(formatter, "elements are nested more than {limit} deep"),
            Self::TooManyAttempts { limit } => write!(formatter, "more than {limit} attempts"),
            Self::LongTag { limit } => write!(formatter, "a tag of more than {limit} bytes"),
            Self::LongAttribute { limit } => write!(formatter, "an attribute of more than {limit} bytes"),
            Self::Unescaped { character } => write!(formatter, "unescaped `{character}`"),
            Self::UnknownEntity { name } => write!(formatter, "unknown entity `&{name};`"),
            Self::DocumentType => formatter.write_str("document type declaration ignored"),
            Self::NotText { encoding } => write!(formatter, "bytes that are not {encoding}"),
            Self::UnknownEncoding { name } => write!(formatter, "unknown encoding `{name}`"),
            Self::TextOutsideRoot => formatter.write_str("text outside the root element"),
            Self::AnotherDocument => formatter.write_str("another document follows in the same file"),
            Self::Nameless => formatter.write_str("test case without a name"),
            Self::TimeNotANumber { text } => write!(formatter, "time `{text}` is not a number"),
            Self::TimeOutOfRange { text } => write!(formatter, "time `{text}` is out of range"),
            Self::UnknownTimestamp { text } => write!(formatter, "timestamp `{text}` has an unknown format"),
            Self::BrokenNote { name } => write!(formatter, "property `{name}` is not valid"),
            Self::More => formatter.write_str("more issues, not listed"),
        }
    }
}

/// The beginning of a text from a report, fit for one line of an issue.
pub(crate) fn quote(text: &str) -> String {
    const LENGTH: usize = 60;
    let mut out: String = text
        .chars()
        .take(LENGTH)
        .map(|character| if character.is_control() { ' ' } else { character })
        .collect();
    if text.chars().nth(LENGTH).is_some() {
        out.push('…');
    }
    out
}

/// The issues found so far, bounded in number.
#[derive(Debug)]
pub(crate) struct Issues {
    list: Vec<Issue>,
    limit: usize,
    invalid: bool,
}

impl Issues {
    pub(crate) fn new(limit: usize) -> Self {
        Self { list: Vec::new(), limit, invalid: false }
    }

    pub(crate) fn add(&mut self, here: &Here<'_>, kind: IssueKind) {
        self.invalid |= kind.level() == IssueLevel::Invalid;
        // What is wrong once is often wrong everywhere; a place is only
        // looked up for issues that are kept.
        match self.list.len().cmp(&self.limit) {
            std::cmp::Ordering::Less => {
                self.list.push(Issue { level: kind.level(), place: here.place(), kind });
            }
            std::cmp::Ordering::Equal => {
                let kind = IssueKind::More;
                self.list.push(Issue { level: kind.level(), place: here.place(), kind });
            }
            std::cmp::Ordering::Greater => {}
        }
    }

    /// Adds an issue of which one per document says enough.
    pub(crate) fn add_once(&mut self, here: &Here<'_>, kind: IssueKind) {
        let same = |issue: &Issue| match (&issue.kind, &kind) {
            (IssueKind::Unescaped { character: left }, IssueKind::Unescaped { character: right }) => {
                left == right
            }
            (left, right) => std::mem::discriminant(left) == std::mem::discriminant(right),
        };
        if !self.list.iter().any(same) {
            self.add(here, kind);
        }
    }

    /// Whether tests may have been lost, counting issues that were not kept.
    pub(crate) fn any_invalid(&self) -> bool {
        self.invalid
    }

    pub(crate) fn into_list(self) -> Vec<Issue> {
        self.list
    }
}

/// Where reading stands: a place in the part of the document at hand.
///
/// Lines are counted when somebody asks, from the last place requested, so
/// that a report without issues is never searched for line ends twice.
#[derive(Debug)]
pub(crate) struct Here<'w> {
    window: &'w str,
    base: Place,
    counted: Cell<(usize, u64)>,
    at: usize,
}

impl<'w> Here<'w> {
    /// Stands at the beginning of `window`, which begins at `base`.
    pub(crate) fn new(window: &'w str, base: Place) -> Self {
        Self { window, base, counted: Cell::new((0, base.line)), at: 0 }
    }

    pub(crate) fn move_to(&mut self, at: usize) {
        self.at = at;
    }

    pub(crate) fn place(&self) -> Place {
        let (counted, line) = self.counted.get();
        let (from, line) = if counted <= self.at { (counted, line) } else { (0, self.base.line) };
        let line = line + count_lines(&self.window.as_bytes()[from..self.at]);
        self.counted.set((self.at, line));
        Place { line, offset: self.base.offset + self.at as u64 }
    }
}

pub(crate) fn count_lines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}
