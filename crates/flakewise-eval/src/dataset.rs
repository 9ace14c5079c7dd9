//! Labelled tests from files.
//!
//! A file holds one test per line as JSON, plain or compressed by gzip or xz.
//! Which fields a line has decides how it is read: the public data sets name
//! the same things differently. Lines are somebody else's: what is broken is
//! left out and noted, and nothing grows beyond its limit.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flakewise_paths::Surroundings;
use flakewise_predict::Category;
use serde::Deserialize;
use serde_json::Value;

use crate::EvalError;
use crate::surroundings::SurroundingsLine;

/// Labelled tests.
#[derive(Clone, Debug, Default)]
pub struct Dataset {
    /// The name of the file, without its endings.
    pub name: String,
    /// The tests, in the order of the file.
    pub records: Vec<Record>,
    /// What was left out.
    pub issues: Vec<DatasetIssue>,
}

/// A labelled test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// What the data set calls it.
    pub id: String,
    /// The project it belongs to.
    pub project: String,
    /// Its class, with the package in front where that is known.
    pub class: String,
    /// The method.
    pub method: String,
    /// The source of the method.
    pub source: String,
    /// The source of its class, if there is one.
    pub class_source: Option<String>,
    /// Whether it is flaky.
    pub flaky: bool,
    /// In how many runs it failed, where that was counted.
    pub failing_runs: Option<u64>,
    /// In how many it passed.
    pub passing_runs: Option<u64>,
    /// Its kind of flakiness, if it has one of ours.
    pub category: Option<Category>,
    /// The group of projects it is held out with, if the data set says so.
    pub group: Option<String>,
    /// What surrounds it and lies under it, where that was derived.
    pub surroundings: Option<Box<Surroundings>>,
    /// What published tools said about it.
    pub published: Published,
}

/// What published tools said about a test, as their authors stored it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Published {
    /// Whether it is one of the tests that PEELER was measured on.
    pub in_peeler_subset: bool,
    /// Whether PEELER said that it is flaky.
    pub peeler: Option<bool>,
    /// Whether records of PEELER about it differ; the right one was taken.
    pub peeler_ambiguous: bool,
    /// Whether it is the only test of its row in PEELER's benchmark. PEELER's
    /// extractor gives all tests of a row the same features, and all of them have
    /// one label: only here its answers do not rest on a leak.
    pub alone_in_peeler_row: bool,
    /// Whether `FlakeFlagger` said that it is flaky.
    pub flakeflagger: Option<bool>,
}

impl Record {
    /// The package of its class.
    pub fn package(&self) -> &str {
        self.class.rsplit_once('.').map_or("", |(package, _)| package)
    }
}

/// A line that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatasetIssue {
    /// Its number, from one.
    pub line: usize,
    /// Why, for people.
    pub text: String,
}

/// A longer line is left out: no test is that long.
const LINE_BYTES: u64 = 8 << 20;
/// What follows after this many bytes is left out.
const FILE_BYTES: u64 = 4 << 30;
/// At most this many issues are kept.
const ISSUES: usize = 100;

impl Dataset {
    /// Reads a data set, the sources of classes from the file beside it whose
    /// name ends in `_classfiles` or `_classcontext`, and the surroundings of
    /// tests from the one whose name ends in `_cut`.
    pub fn read(path: &Path) -> Result<Self, EvalError> {
        let mut dataset = Self { name: stem(path), ..Self::default() };
        let mut issues = Vec::new();
        each_line(path, &mut issues, |line: Line| {
            dataset.records.push(line.record()?);
            Ok(())
        })?;
        for suffix in ["classfiles", "classcontext", "cut"] {
            for ending in ["jsonl.xz", "jsonl.gz", "jsonl"] {
                let beside = path.with_file_name(format!("{}_{suffix}.{ending}", dataset.name));
                if beside.is_file() && suffix == "cut" {
                    dataset.add_surroundings(&beside, &mut issues)?;
                } else if beside.is_file() {
                    dataset.add_classes(&beside, &mut issues)?;
                }
            }
        }
        dataset.issues = issues;
        Ok(dataset)
    }

    fn add_classes(&mut self, path: &Path, issues: &mut Vec<DatasetIssue>) -> Result<(), EvalError> {
        let mut classes = HashMap::new();
        each_line(path, issues, |line: ClassLine| {
            if !is_stub(&line.class_source) {
                classes.insert(text(&line.id), line.class_source);
            }
            Ok(())
        })?;
        for record in &mut self.records {
            if record.class_source.is_none() {
                record.class_source = classes.remove(&record.id);
            }
        }
        Ok(())
    }

    /// Marks the tests that are alone in their row of PEELER's benchmark: a file
    /// with an id a line, and comments after `#`.
    pub fn mark_peeler_rows_of_one(&mut self, path: &Path) -> Result<(), EvalError> {
        let read = std::fs::read_to_string(path);
        let text = read.map_err(|source| EvalError::Read { path: path.to_owned(), source })?;
        let ids: HashSet<&str> = text.lines().filter(|line| !line.starts_with("# ")).collect();
        for record in &mut self.records {
            record.published.alone_in_peeler_row = ids.contains(record.id.as_str());
        }
        Ok(())
    }

    fn add_surroundings(&mut self, path: &Path, issues: &mut Vec<DatasetIssue>) -> Result<(), EvalError> {
        let mut found = HashMap::new();
        each_line(path, issues, |line: SurroundingsLine| {
            let id = line.id.clone();
            if let Some(surroundings) = line.surroundings() {
                found.insert(id, Box::new(surroundings));
            }
            Ok(())
        })?;
        for record in &mut self.records {
            record.surroundings = found.remove(&record.id);
        }
        Ok(())
    }
}

/// Whether the source of a class was made up for a test whose class was not
/// found. 2,419 files of `FlakeFlagger`'s classes are: they have these imports
/// and nothing but the test. A model can learn that, since many of their tests
/// are flaky.
fn is_stub(class_source: &str) -> bool {
    const INVENTED: [&str; 6] = [
        "import java.io.File;",
        "import java.lang.Thread;",
        "import java.lang.Runnable;",
        "import java.util.concurrent.*;",
        "import java.sql.*;",
        "import java.net.*;",
    ];
    let mut imports = class_source.lines().map(str::trim).skip_while(|line| *line != INVENTED[0]);
    INVENTED.iter().all(|invented| imports.next() == Some(invented))
}

#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    id: Value,
    #[serde(default)]
    project: Option<String>,
    #[serde(default)]
    class: Option<String>,
    #[serde(default)]
    method: Option<String>,
    /// `class.method`, where those are not apart.
    #[serde(default, alias = "test_name")]
    test: Option<String>,
    source: Option<String>,
    #[serde(default)]
    class_source: Option<String>,
    label: Value,
    #[serde(default)]
    failing_runs: Option<u64>,
    #[serde(default)]
    passing_runs: Option<u64>,
    #[serde(default)]
    category: Option<String>,
    #[serde(default)]
    categories: Option<Vec<String>>,
    #[serde(default)]
    group: Value,
    #[serde(default)]
    in_peeler_subset: Option<bool>,
    #[serde(default)]
    peeler_outcome: Option<String>,
    #[serde(default)]
    peeler_ambiguous: Option<bool>,
    #[serde(default)]
    flakeflagger_outcome: Option<String>,
}

#[derive(Deserialize)]
struct ClassLine {
    id: Value,
    #[serde(alias = "class_context")]
    class_source: String,
}

impl Line {
    fn record(self) -> Result<Record, &'static str> {
        let test = self.test.unwrap_or_default();
        let (class, method) = test.rsplit_once('.').unwrap_or(("", &test));
        let flaky = match (&self.category, &self.label) {
            // FlakyLens numbers its categories; which of them is none has a name.
            (Some(category), Value::Number(_)) => category != "non-flaky",
            (_, Value::Number(number)) => match number.as_u64() {
                Some(0) => false,
                Some(1) => true,
                _ => return Err("a label is 0 or 1"),
            },
            (_, Value::Bool(flaky)) => *flaky,
            _ => return Err("there is no label"),
        };
        let category = self
            .category
            .iter()
            .chain(self.categories.iter().flatten())
            .find_map(|name| category(name))
            .filter(|_| flaky);
        Ok(Record {
            id: text(&self.id),
            project: self.project.unwrap_or_default(),
            class: self.class.unwrap_or_else(|| class.to_owned()),
            method: self.method.unwrap_or_else(|| method.to_owned()),
            source: self.source.unwrap_or_default(),
            class_source: self.class_source,
            flaky,
            failing_runs: self.failing_runs,
            passing_runs: self.passing_runs,
            category,
            group: Some(text(&self.group)).filter(|group| !group.is_empty()),
            surroundings: None,
            published: Published {
                in_peeler_subset: self.in_peeler_subset.unwrap_or_default(),
                peeler: said(self.peeler_outcome.as_deref()),
                peeler_ambiguous: self.peeler_ambiguous.unwrap_or_default(),
                alone_in_peeler_row: false,
                flakeflagger: said(self.flakeflagger_outcome.as_deref()),
            },
        })
    }
}

/// Whether an outcome was a claim that the test is flaky.
fn said(outcome: Option<&str>) -> Option<bool> {
    match outcome? {
        "TP" | "FP" => Some(true),
        "TN" | "FN" => Some(false),
        _ => None,
    }
}

/// The category behind a name of `FlakyLens` or a code of `IDoFT`. Codes that
/// say less than a category are none.
fn category(name: &str) -> Option<Category> {
    match name {
        "async wait" => Some(Category::AsyncWait),
        "concurrency" => Some(Category::Concurrency),
        "time" | "TD" => Some(Category::Time),
        "unordered collections" | "ID" => Some(Category::UnorderedCollection),
        "test order dependency" | "OD" | "OD-Vic" | "OD-Brit" => Some(Category::OrderDependent),
        _ => Category::ALL.into_iter().find(|category| category.name() == name),
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    }
}

fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split('.').next().unwrap_or_default().to_owned()
}

/// Calls back for every line that can be read; notes the others.
fn each_line<L: for<'a> Deserialize<'a>>(
    path: &Path,
    issues: &mut Vec<DatasetIssue>,
    mut take: impl FnMut(L) -> Result<(), &'static str>,
) -> Result<(), EvalError> {
    let unreadable = |source| EvalError::Read { path: PathBuf::from(path), source };
    let mut reader = open(path).map_err(unreadable)?;
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let mut bounded = reader.by_ref().take(LINE_BYTES);
        if bounded.read_until(b'\n', &mut line).map_err(unreadable)? == 0 {
            break;
        }
        let mut issue = |text: String| {
            if issues.len() < ISSUES {
                issues.push(DatasetIssue { line: number, text });
            }
        };
        if line.last() != Some(&b'\n') && line.len() as u64 == LINE_BYTES {
            issue("the line is too long".to_owned());
            skip_line(&mut reader).map_err(unreadable)?;
            continue;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice::<L>(&line) {
            Ok(read) => {
                if let Err(text) = take(read) {
                    issue(text.to_owned());
                }
            }
            Err(error) => issue(error.to_string()),
        }
    }
    Ok(())
}

fn skip_line(reader: &mut impl BufRead) -> std::io::Result<()> {
    loop {
        let buffer = reader.fill_buf()?;
        let (length, found) = match buffer.iter().position(|&byte| byte == b'\n') {
            Some(place) => (place + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        reader.consume(length);
        if found {
            return Ok(());
        }
    }
}

/// Opens a file by its first bytes, whatever it is called.
fn open(path: &Path) -> std::io::Result<BufReader<Box<dyn Read>>> {
    let mut file = BufReader::new(File::open(path)?);
    let start = file.fill_buf()?;
    let plain: Box<dyn Read> = if start.starts_with(&[0x1f, 0x8b]) {
        Box::new(flate2::bufread::MultiGzDecoder::new(file))
    } else if start.starts_with(b"\xfd7zXZ") {
        Box::new(liblzma::bufread::XzDecoder::new_multi_decoder(file))
    } else {
        Box::new(file)
    };
    Ok(BufReader::with_capacity(1 << 16, Box::new(plain.take(FILE_BYTES))))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn read(lines: &str) -> Dataset {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("some.jsonl");
        std::fs::write(&path, lines).unwrap();
        Dataset::read(&path).unwrap()
    }

    #[test]
    fn data_sets_are_told_by_their_fields() {
        let dataset = read(concat!(
            r#"{"id":"p/a.B#c","project":"p","class":"a.B","method":"c","source":"x","label":1,"failing_runs":3,"passing_runs":7}"#,
            "\n",
            r#"{"id":5,"project":"q","test_name":"B.c","source":"y","category":"async wait","label":0,"group":2}"#,
            "\n",
            r#"{"id":6,"project":"q","test_name":"B.d","source":"y","category":"non-flaky","label":5,"group":2}"#,
            "\n",
            r#"{"id":"F:a.b.C.d","test":"a.b.C.d","project":null,"source":"z","label":0}"#,
            "\n",
            r#"{"id":"s","project":"r","class":"C","method":"m","source":"z","label":1,"categories":["NIO","OD-Vic"]}"#,
            "\n",
        ));
        assert_eq!(dataset.issues, []);
        assert_eq!(dataset.name, "some");
        let [flagger, lens, other, vocabulary, idoft] = &dataset.records[..] else { panic!("five") };
        assert_eq!((flagger.flaky, flagger.failing_runs, flagger.package()), (true, Some(3), "a"));
        assert_eq!((lens.flaky, lens.category), (true, Some(Category::AsyncWait)));
        assert_eq!((lens.class.as_str(), lens.method.as_str()), ("B", "c"));
        assert_eq!((lens.id.as_str(), lens.group.as_deref()), ("5", Some("2")));
        assert_eq!((other.flaky, other.category), (false, None));
        assert_eq!((vocabulary.class.as_str(), vocabulary.project.as_str()), ("a.b.C", ""));
        assert_eq!(idoft.category, Some(Category::OrderDependent));
    }

    #[test]
    fn stored_answers_of_published_tools_are_read() {
        let mut dataset = read(concat!(
            r#"{"id":"a","source":"x","label":1,"in_peeler_subset":true,"peeler_outcome":"TP","peeler_ambiguous":true,"flakeflagger_outcome":"FN"}"#,
            "\n",
            r#"{"id":"b","source":"x","label":0,"in_peeler_subset":false,"peeler_outcome":null,"flakeflagger_outcome":"FP"}"#,
            "\n",
        ));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.txt");
        std::fs::write(&path, "# made by hand\na\n").unwrap();
        dataset.mark_peeler_rows_of_one(&path).unwrap();
        let expected = Published {
            in_peeler_subset: true,
            peeler: Some(true),
            peeler_ambiguous: true,
            alone_in_peeler_row: true,
            flakeflagger: Some(false),
        };
        assert_eq!(dataset.records[0].published, expected);
        let expected = Published { flakeflagger: Some(true), ..Published::default() };
        assert_eq!(dataset.records[1].published, expected);
    }

    #[test]
    fn classes_that_were_made_up_are_left_out() {
        let stub = "package a;\nimport java.io.File;\nimport java.lang.Thread;\nimport java.lang.Runnable;\n\
                    import java.util.concurrent.*;\nimport java.sql.*;\nimport java.net.*;\n\nclass B {\n}\n";
        assert!(is_stub(stub));
        assert!(!is_stub(&stub.replace("import java.sql.*;\n", "")));
        assert!(!is_stub(""));
    }

    #[test]
    fn surroundings_are_read_from_the_file_beside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("some.jsonl");
        let lines = [r#"{"id":"a","source":"x","label":1}"#, r#"{"id":"b","source":"x","label":0}"#];
        std::fs::write(&path, lines.join("\n")).unwrap();
        let beside = [r#"{"id":"a","found":2,"tree":[1,0,2,3,44,0]}"#, r#"{"id":"b","found":0}"#];
        std::fs::write(folder.path().join("some_cut.jsonl"), beside.join("\n")).unwrap();
        let dataset = Dataset::read(&path).unwrap();
        assert_eq!(dataset.issues, []);
        assert_eq!(dataset.records[0].surroundings.as_ref().unwrap().tree.lines, 44);
        assert_eq!(dataset.records[1].surroundings, None);
    }

    #[test]
    fn broken_lines_are_left_out_and_noted() {
        let long = "x".repeat(usize::try_from(LINE_BYTES).unwrap() + 10);
        let good = r#"{"id":"a","source":"x","label":1}"#;
        let dataset =
            read(&format!("nonsense\n{long}\n\n{good}\n{{\"id\":1,\"source\":\"\",\"label\":7}}\n{good}"));
        assert_eq!(dataset.records.len(), 2);
        assert_eq!(dataset.issues.iter().map(|issue| issue.line).collect::<Vec<_>>(), [1, 2, 5]);
    }

    #[test]
    fn compressed_files_and_classes_beside_them_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("some.jsonl.gz");
        let mut gzip =
            flate2::write::GzEncoder::new(File::create(&path).unwrap(), flate2::Compression::fast());
        gzip.write_all(br#"{"id":"a","source":"x","label":true}"#).unwrap();
        gzip.finish().unwrap();
        let beside = File::create(folder.path().join("some_classfiles.jsonl.xz")).unwrap();
        let mut xz = liblzma::write::XzEncoder::new(beside, 1);
        xz.write_all(br#"{"id":"a","class_source":"class A {}"}"#).unwrap();
        xz.finish().unwrap();
        let dataset = Dataset::read(&path).unwrap();
        assert_eq!(dataset.records[0].class_source.as_deref(), Some("class A {}"));
        assert!(Dataset::read(&folder.path().join("none")).is_err());
    }
}
