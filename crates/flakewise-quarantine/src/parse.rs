//! Reading the file, with the exact location of every mistake.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use chrono::NaiveDate;
use flakewise_model::{Fingerprint, Foreign, TestId};
use toml_edit::{Document, Item, Table, Value};

use crate::{Accepts, Entry, Mode, Pattern, Target};

/// The longest file that is read, in bytes.
pub const MAX_BYTES: usize = 1 << 20;
/// The most entries of a file, whatever the configured cap.
pub const MAX_ENTRIES: usize = 1_000;
/// The most problems that are reported at once.
const MAX_PROBLEMS: usize = 20;
/// The longest text of a key, in bytes.
const MAX_TEXT: usize = 1_000;
/// How much of a foreign text a message quotes, in characters.
const QUOTED: usize = 80;
/// The name of the array of entries.
pub(crate) const ENTRIES: &str = "quarantine";
pub(crate) const KEYS: [&str; 10] =
    ["test", "pattern", "fingerprints", "any-failure", "reason", "owner", "issue", "since", "until", "mode"];

/// The entries of a file, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quarantine {
    /// All entries.
    pub entries: Vec<Entry>,
}

/// A mistake in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// What is wrong, and what was expected.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}", self.line, self.column, self.message)
    }
}

/// A file that cannot be used: everything that is wrong with it, in its order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct Malformed {
    /// At least one problem.
    pub problems: Vec<Problem>,
}

impl Quarantine {
    /// Reads the bytes of a quarantine file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Malformed> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::parse(text),
            Err(error) => {
                let good = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
                let mut reader = Reader { text: &good, problems: Vec::new() };
                reader.problem(good.len(), "the file is not UTF-8".to_owned());
                Err(reader.malformed())
            }
        }
    }

    /// Reads the text of a quarantine file. One mistake anywhere refuses all of it.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        let mut reader = Reader { text, problems: Vec::new() };
        if text.len() > MAX_BYTES {
            reader.problem(0, format!("the file is longer than {MAX_BYTES} bytes"));
            return Err(reader.malformed());
        }
        let document = match Document::parse(text) {
            Ok(document) => document,
            Err(error) => {
                let at = error.span().map_or(0, |span| span.start);
                reader.problem(at, Foreign::new(error.message()).cut(4 * QUOTED));
                return Err(reader.malformed());
            }
        };
        let entries = reader.entries(document.as_table());
        if reader.problems.is_empty() { Ok(Self { entries }) } else { Err(reader.malformed()) }
    }

    /// Entries that are about none of these tests.
    pub fn unknown<'a>(&'a self, tests: &'a [TestId]) -> impl Iterator<Item = &'a Entry> {
        self.entries.iter().filter(|entry| !tests.iter().any(|test| entry.covers(test)))
    }
}

struct Reader<'a> {
    text: &'a str,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn entries(&mut self, root: &Table) -> Vec<Entry> {
        for (key, item) in root {
            let at = start(root.key(key).and_then(toml_edit::Key::span)).max(start(item.span()));
            if key != ENTRIES {
                self.unknown_key(at, key, &[ENTRIES]);
            }
        }
        let Some(item) = root.get(ENTRIES) else { return Vec::new() };
        let Some(tables) = item.as_array_of_tables() else {
            self.problem(start(item.span()), "expected entries that begin with `[[quarantine]]`".to_owned());
            return Vec::new();
        };
        if tables.len() > MAX_ENTRIES {
            let message = format!("{} entries; at most {MAX_ENTRIES} can be read", tables.len());
            self.problem(start(tables.get(MAX_ENTRIES).and_then(Table::span)), message);
            return Vec::new();
        }
        let mut lines: HashMap<String, u32> = HashMap::new();
        let mut entries = Vec::new();
        for table in tables {
            let Some(entry) = self.entry(table) else { continue };
            if let Some(line) = lines.insert(entry.target.to_string(), entry.line) {
                let message =
                    format!("{} is already quarantined on line {line}", quoted(entry.target.as_str()));
                self.problem(start(table.span()), message);
            }
            entries.push(entry);
        }
        entries
    }

    /// One entry; none if something is wrong with it, which is then a problem.
    fn entry(&mut self, table: &Table) -> Option<Entry> {
        let at = start(table.span());
        for (key, item) in table {
            if !KEYS.contains(&key) {
                let at = table.key(key).and_then(toml_edit::Key::span).or_else(|| item.span());
                self.unknown_key(start(at), key, &KEYS);
            }
        }
        let target = self.target(table, at);
        let accepts = self.accepts(table, at);
        let reason = self.required_text(table, at, "reason", "why the test is quarantined");
        let owner =
            self.required_text(table, at, "owner", "who is to fix the test, such as `@acme/payments`");
        let issue = self.issue(table);
        let since = self.date(table, at, "since");
        let until = self.date(table, at, "until");
        if let (Some(since), Some(until)) = (since, until)
            && until < since
        {
            self.problem(
                start(table.get("until").and_then(Item::span)),
                format!("`until` ({until}) is before `since` ({since})"),
            );
        }
        let mode = self.mode(table);
        let (line, _) = self.location(at);
        Some(Entry {
            target: target?,
            accepts: accepts?,
            reason: reason?,
            owner: owner?,
            issue: issue?,
            since: since?,
            until: until?,
            mode: mode?,
            line,
        })
    }

    fn target(&mut self, table: &Table, at: usize) -> Option<Target> {
        match (table.get("test"), table.get("pattern")) {
            (Some(item), None) => {
                let text = self.text_of(item, "test")?;
                match text.parse::<TestId>() {
                    Ok(test) if is_scheme(test.scheme()) => Some(Target::Test(test)),
                    _ => {
                        let expected = "a test id such as `pytest:tests/test_cart.py::test_total`";
                        let message = format!("{} is not a test id; expected {expected}", quoted(&text));
                        self.problem(start(item.span()), message);
                        None
                    }
                }
            }
            (None, Some(item)) => {
                let text = self.text_of(item, "pattern")?;
                let pattern = Pattern::new(&text);
                pattern
                    .map_err(|error| self.problem(start(item.span()), error.to_string()))
                    .ok()
                    .map(Target::Pattern)
            }
            (None, None) => {
                self.problem(at, "the entry has neither `test` nor `pattern`".to_owned());
                None
            }
            (Some(_), Some(item)) => {
                let message = "the entry has both `test` and `pattern`; keep one of them".to_owned();
                self.problem(start(item.span()), message);
                None
            }
        }
    }

    fn accepts(&mut self, table: &Table, at: usize) -> Option<Accepts> {
        let item = table.get("any-failure");
        let Some(any) = item.map_or(Some(false), Item::as_bool) else {
            self.problem(
                start(item.and_then(Item::span)),
                "`any-failure` is wrong; expected `true` or `false`".to_owned(),
            );
            return None;
        };
        match (any, table.get("fingerprints")) {
            (true, None) => Some(Accepts::AnyFailure),
            (false, Some(item)) => self.fingerprints(item).map(Accepts::Fingerprints),
            (true, Some(item)) => {
                let message =
                    "the entry has both `fingerprints` and `any-failure`; keep one of them".to_owned();
                self.problem(start(item.span()), message);
                None
            }
            (false, None) => {
                let message = "the entry does not say which failures it forgives: list their `fingerprints`, or \
                               set `any-failure = true`";
                self.problem(at, message.to_owned());
                None
            }
        }
    }

    fn fingerprints(&mut self, item: &Item) -> Option<Vec<Fingerprint>> {
        let expected = "a list of fingerprints of 16 hexadecimal digits, such as [\"0123456789abcdef\"]";
        let Some(array) = item.as_array().filter(|array| !array.is_empty()) else {
            self.wrong_type(item, "fingerprints", expected);
            return None;
        };
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let mut fingerprints = Vec::new();
        for value in array {
            match value.as_str() {
                Some(text) if text.len() == 16 && text.bytes().all(is_digit) => {
                    fingerprints.push(Fingerprint::from_text(text));
                }
                _ => {
                    self.problem(start(value.span()), format!("expected {expected}"));
                    return None;
                }
            }
        }
        Some(fingerprints)
    }

    fn required_text(&mut self, table: &Table, at: usize, key: &str, what: &str) -> Option<String> {
        let Some(item) = table.get(key) else {
            self.problem(at, format!("the entry has no `{key}`; expected {what}"));
            return None;
        };
        self.text_of(item, key)
    }

    /// The issue; none if it is wrong, and no issue if there is none.
    #[expect(clippy::option_option, reason = "wrong and missing are different")]
    fn issue(&mut self, table: &Table) -> Option<Option<String>> {
        let Some(item) = table.get("issue") else { return Some(None) };
        let text = self.text_of(item, "issue")?;
        if text.starts_with("https://") || text.starts_with("http://") {
            return Some(Some(text));
        }
        let message = format!("{} is not a link; expected one that begins with `https://`", quoted(&text));
        self.problem(start(item.span()), message);
        None
    }

    fn date(&mut self, table: &Table, at: usize, key: &str) -> Option<NaiveDate> {
        let expected = "a date such as 2026-12-31, without quotes";
        let Some(item) = table.get(key) else {
            self.problem(at, format!("the entry has no `{key}`; expected {expected}"));
            return None;
        };
        let date = item.as_datetime().filter(|value| value.time.is_none() && value.offset.is_none());
        let date = date
            .and_then(|value| value.date)
            .and_then(|date| NaiveDate::from_ymd_opt(date.year.into(), date.month.into(), date.day.into()));
        if date.is_none() {
            self.wrong_type(item, key, expected);
        }
        date
    }

    fn mode(&mut self, table: &Table) -> Option<Mode> {
        let Some(item) = table.get("mode") else { return Some(Mode::default()) };
        match item.as_str() {
            Some("run") => Some(Mode::Run),
            Some("skip") => Some(Mode::Skip),
            _ => {
                self.wrong_type(item, "mode", "\"run\" or \"skip\"");
                None
            }
        }
    }

    /// The text of a key: one line that is not empty.
    fn text_of(&mut self, item: &Item, key: &str) -> Option<String> {
        let text = item.as_value().and_then(Value::as_str);
        let is_good = |text: &&str| {
            !text.trim().is_empty() && text.len() <= MAX_TEXT && !text.chars().any(char::is_control)
        };
        let good = text.filter(is_good).map(str::to_owned);
        if good.is_none() {
            self.wrong_type(item, key, &format!("one line of text in quotes, of at most {MAX_TEXT} bytes"));
        }
        good
    }

    fn wrong_type(&mut self, item: &Item, key: &str, expected: &str) {
        self.problem(start(item.span()), format!("`{key}` is wrong; expected {expected}"));
    }

    fn unknown_key(&mut self, at: usize, key: &str, known: &[&str]) {
        let similarity = |name: &&&str| strsim::jaro_winkler(key, name);
        let nearest = known.iter().max_by(|left, right| similarity(left).total_cmp(&similarity(right)));
        let suggestion = nearest.filter(|name| similarity(name) > 0.7);
        let advice = match suggestion {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!(
                "expected {}",
                known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
            ),
        };
        self.problem(at, format!("unknown key {}; {advice}", quoted(key)));
    }

    fn problem(&mut self, at: usize, message: String) {
        let (line, column) = self.location(at);
        self.problems.push(Problem { line, column, message });
    }

    /// Line and column of a byte of the text.
    fn location(&self, at: usize) -> (u32, u32) {
        let before = &self.text[..self.text.floor_char_boundary(at)];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        (u32::try_from(line).unwrap_or(u32::MAX), u32::try_from(column).unwrap_or(u32::MAX))
    }

    fn malformed(mut self) -> Malformed {
        self.problems.sort_by_key(|problem| (problem.line, problem.column));
        self.problems.truncate(MAX_PROBLEMS);
        Malformed { problems: self.problems }
    }
}

fn start(span: Option<Range<usize>>) -> usize {
    span.map_or(0, |span| span.start)
}

/// Schemes are words, so that a runner's own name of a test is not taken for an id.
fn is_scheme(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

fn quoted(text: &str) -> String {
    format!("`{}`", Foreign::new(text).cut(QUOTED).replace('`', "'"))
}
