//! A file that says of tests whether they are flaky.
//!
//! JSON lines, packed with gzip or not. Ours have `test` or `id` and `flaky`;
//! the public data sets have `source` and `label` and are read as they are.
//! Lines that cannot be understood are counted and passed over.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use flakewise_predict::Category;
use flakewise_source::{Language, SourceTest, read_fragment};
use serde::Deserialize;
use serde_json::Value;

/// A longer line is not understood. The longest of the public data has 200 kB.
const LINE_BYTES: u64 = 8 << 20;
/// All of it, unpacked.
const ALL_BYTES: u64 = 4 << 30;

/// What is said of one test.
#[derive(Clone, Debug)]
pub(super) struct Label {
    /// Its id, or a name that is hopefully clear.
    pub(super) name: String,
    pub(super) flaky: bool,
    pub(super) category: Option<Category>,
    pub(super) project: Option<String>,
    /// Its source, if it comes with it.
    pub(super) source: Option<SourceTest>,
}

/// All that a file says.
#[derive(Clone, Debug, Default)]
pub(super) struct Labels {
    pub(super) all: Vec<Label>,
    pub(super) lines: u64,
    /// The first line that could not be understood, why, and how many there are.
    pub(super) trouble: Option<(u64, String)>,
    pub(super) not_understood: u64,
}

pub(super) fn read_labels(path: &Path) -> std::io::Result<Labels> {
    let mut file = BufReader::new(File::open(path)?);
    let packed = file.fill_buf()?.starts_with(&[0x1f, 0x8b]);
    let unpacked: Box<dyn Read> =
        if packed { Box::new(flate2::bufread::MultiGzDecoder::new(file)) } else { Box::new(file) };
    read_lines(&mut BufReader::with_capacity(1 << 16, unpacked.take(ALL_BYTES)))
}

fn read_lines(input: &mut dyn BufRead) -> std::io::Result<Labels> {
    let mut labels = Labels::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.take(LINE_BYTES).read_until(b'\n', &mut line)? == 0 {
            return Ok(labels);
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        labels.lines += 1;
        match serde_json::from_slice::<Row>(&line)
            .map_err(|error| error.to_string())
            .and_then(Row::into_label)
        {
            Ok(label) => labels.all.push(label),
            Err(reason) => {
                labels.not_understood += 1;
                labels.trouble.get_or_insert((labels.lines, reason));
            }
        }
    }
}

#[derive(Deserialize)]
struct Row {
    id: Option<Value>,
    test: Option<String>,
    test_name: Option<String>,
    flaky: Option<bool>,
    label: Option<Value>,
    category: Option<String>,
    categories: Option<Vec<String>>,
    project: Option<String>,
    class: Option<String>,
    method: Option<String>,
    source: Option<String>,
    class_source: Option<String>,
    language: Option<String>,
}

impl Row {
    fn into_label(self) -> Result<Label, String> {
        let kinds = self.category.iter().chain(self.categories.iter().flatten());
        let kinds: Vec<Kind> = kinds.filter_map(|name| kind(name)).collect();
        let flaky = match (self.flaky, &self.label) {
            (Some(flaky), _) => flaky,
            // A data set of categories numbers those in `label`.
            (None, _) if self.category.is_some() && !kinds.is_empty() => kinds[0] != Kind::None,
            (None, Some(Value::Bool(label))) => *label,
            (None, Some(Value::Number(label))) if label.as_u64().is_some_and(|label| label <= 1) => {
                label.as_u64() == Some(1)
            }
            _ => return Err("missing `flaky`, or `label` with the value 0 or 1".to_owned()),
        };
        let category = kinds.iter().find_map(|kind| match kind {
            Kind::Category(category) if flaky => Some(*category),
            _ => None,
        });
        let id = self.id.as_ref().and_then(Value::as_str).map(str::to_owned);
        let joined =
            self.class.as_ref().zip(self.method.as_ref()).map(|(class, method)| format!("{class}#{method}"));
        let name = self.test.or(joined).or(self.test_name).or(id);
        let name = name.ok_or("missing `test` or `id`")?;
        let source = match self.source {
            None => None,
            Some(source) => {
                let (class, method) = match (self.class, self.method) {
                    (Some(class), Some(method)) => (class, method),
                    _ => split(&name),
                };
                let language = language(self.language.as_deref())?;
                Some(read_fragment(language, &source, self.class_source.as_deref(), &class, &method))
            }
        };
        Ok(Label { name, flaky, category, project: self.project, source })
    }
}

/// Class and method of a name in any of the usual forms.
fn split(name: &str) -> (String, String) {
    // All cases of a test are one.
    let name = name.split_once('[').map_or(name, |(plain, _)| plain);
    let found = ["#", "::", "."].iter().find_map(|mark| name.rsplit_once(mark));
    let (class, method) = found.unwrap_or(("", name));
    (class.to_owned(), method.to_owned())
}

fn language(name: Option<&str>) -> Result<Language, String> {
    match name.map(str::to_ascii_lowercase).as_deref() {
        // That of the public data.
        None | Some("java") => Ok(Language::Java),
        Some("python" | "py") => Ok(Language::Python),
        Some(other) => Err(format!("language `{other}` is not supported")),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Category(Category),
    /// It says that the test is not flaky.
    None,
}

/// A kind by our name, or by those of the public data.
fn kind(name: &str) -> Option<Kind> {
    let name = name.trim().to_ascii_lowercase().replace([' ', '_'], "-");
    Some(Kind::Category(match name.as_str() {
        "async-wait" => Category::AsyncWait,
        "concurrency" => Category::Concurrency,
        "time" | "td" => Category::Time,
        "unordered-collection" | "unordered-collections" | "id" => Category::UnorderedCollection,
        "order-dependent" | "test-order-dependency" | "order-dependency" | "od" | "od-vic" | "od-brit" => {
            Category::OrderDependent
        }
        "non-flaky" | "not-flaky" | "none" => return Some(Kind::None),
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Label {
        let labels = read_lines(&mut text.as_bytes()).expect("memory can be read");
        assert_eq!(labels.trouble, None);
        labels.all.into_iter().next().expect("a label")
    }

    #[test]
    fn our_own_form_is_short() {
        let label =
            one(r#"{"test": "tests/test_cart.py::test_total", "flaky": true, "category": "async-wait"}"#);
        assert_eq!(label.name, "tests/test_cart.py::test_total");
        assert!(label.flaky && label.source.is_none());
        assert_eq!(label.category, Some(Category::AsyncWait));
        assert!(!one(r#"{"id": "pytest:a.py::test_b", "flaky": false, "category": "time"}"#).flaky);
    }

    #[test]
    fn public_data_is_read_as_it_is() {
        let label = one(
            r#"{"id": "p/org.acme.CartTest#adds", "project": "p", "class": "org.acme.CartTest", "method": "adds",
                "source": "@Test public void adds() { assertEquals(2, 1 + 1); }", "label": 1}"#
                .replace('\n', " ")
                .as_str(),
        );
        assert!(label.flaky);
        assert_eq!(label.project.as_deref(), Some("p"));
        let source = label.source.expect("it comes with its source");
        assert_eq!(source.id.as_str(), "junit:org.acme::CartTest::adds");
    }

    #[test]
    fn a_category_says_what_a_numbered_label_does_not() {
        let row = |category: &str, label: u32| {
            one(&format!(
                r#"{{"id": 7, "test_name": "A.b", "category": "{category}", "label": {label}, "source": "void b() {{}}"}}"#
            ))
        };
        // In that data, 0 is the first category and 5 is none.
        assert!(row("async wait", 0).flaky);
        assert_eq!(row("test order dependency", 4).category, Some(Category::OrderDependent));
        assert!(!row("non-flaky", 5).flaky);
    }

    #[test]
    fn lists_of_codes_give_the_first_known_kind() {
        let label = one(r#"{"test": "a", "label": 1, "categories": ["NIO", "OD-Vic"]}"#);
        assert_eq!(label.category, Some(Category::OrderDependent));
    }

    #[test]
    fn what_is_not_understood_is_counted_and_told() {
        let text = "{\"test\": \"a\", \"flaky\": true}\n\nnonsense\n{\"flaky\": true}\n{\"test\": \"b\"}\n";
        let labels = read_lines(&mut text.as_bytes()).expect("memory can be read");
        assert_eq!((labels.all.len(), labels.lines, labels.not_understood), (1, 4, 3));
        assert_eq!(labels.trouble.expect("told").0, 2);
    }

    #[test]
    fn packed_files_are_unpacked() {
        let folder = tempfile::tempdir().expect("made");
        let path = folder.path().join("labels.jsonl.gz");
        let mut packer =
            flate2::write::GzEncoder::new(File::create(&path).expect("made"), flate2::Compression::fast());
        std::io::Write::write_all(&mut packer, b"{\"test\": \"a\", \"flaky\": true}\n").expect("written");
        packer.finish().expect("written");
        assert_eq!(read_labels(&path).expect("read").all.len(), 1);
    }

    #[test]
    fn names_are_split_in_every_form() {
        let check = |name, class: &str, method: &str| assert_eq!(split(name), (class.into(), method.into()));
        check("p.A#b", "p.A", "b");
        check("p.A.b", "p.A", "b");
        check("t/a.py::T::b[1.5]", "t/a.py::T", "b");
        check("b", "", "b");
    }
}
