//! A file whose tests were judged, and its form in the cache.

use flakewise_model::{Probability, TestId};
use flakewise_paths::Surroundings;
use flakewise_predict::{Category, CategoryGuess, Familiarity, Model, Prediction};
use flakewise_report::{Risk, RiskReason};
use flakewise_source::{PieceKind, SourceFile, SourceTest};
use flakewise_triage::LineRange;
use serde::{Deserialize, Serialize};

use crate::declarations::Around;

/// What is known of a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct JudgedFile {
    pub(super) tests: Vec<JudgedTest>,
    /// Whether not all of it could be understood.
    pub(super) unclear: bool,
}

/// A test of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct JudgedTest {
    pub(super) risk: Risk,
    /// The lines of the test and of what it stands on in the same file: what
    /// it calls, fields, set-up and the head of its class.
    pub(super) lines: Vec<LineRange>,
}

impl JudgedTest {
    /// Whether any of these lines, in order, is a line of the test.
    pub(super) fn meets(&self, changed: &[LineRange]) -> bool {
        self.lines.iter().any(|own| {
            let after = changed.partition_point(|range| range.first <= own.last);
            after > 0 && changed[after - 1].last >= own.first
        })
    }
}

/// Judges all tests of a file: those of one class speak for each other.
/// What surrounds them is looked at, too, where that is given.
pub(super) fn judge(
    file: &SourceFile,
    model: &Model,
    project: &str,
    around: Option<&Around<'_>>,
    explain_from: f64,
) -> JudgedFile {
    let surroundings: Vec<Option<Surroundings>> =
        file.tests.iter().map(|test| around?.surroundings(&file.path, test)).collect();
    let predictions = model.predict_within(project, &file.tests, &surroundings, explain_from);
    let tests = file.tests.iter().zip(predictions).map(|(test, prediction)| JudgedTest {
        lines: lines(test),
        risk: risk(&file.path, test, prediction),
    });
    JudgedFile { tests: tests.collect(), unclear: !file.issues.is_empty() }
}

fn risk(path: &str, test: &SourceTest, prediction: Prediction) -> Risk {
    Risk {
        test: test.id.clone(),
        path: path.to_owned(),
        line: test.line,
        end_line: test.end_line,
        risk: prediction.risk,
        familiarity: prediction.familiarity,
        category: prediction.category,
        reasons: prediction.reasons.into_iter().map(RiskReason::from).collect(),
    }
}

fn lines(test: &SourceTest) -> Vec<LineRange> {
    // An import that another test needed changes nothing here.
    let context = test.context.iter().filter(|piece| piece.kind != PieceKind::Import);
    let pieces = context.chain(test.helpers.iter().map(AsRef::as_ref));
    let range = |first: u32, text: &str| {
        let more = u32::try_from(text.matches('\n').count()).unwrap_or(u32::MAX);
        LineRange { first, last: first.saturating_add(more) }
    };
    let mut all: Vec<LineRange> = pieces.map(|piece| range(piece.line, &piece.text)).collect();
    all.push(LineRange { first: test.line, last: test.end_line });
    all.sort_unstable();
    let mut merged: Vec<LineRange> = Vec::new();
    for range in all {
        match merged.last_mut() {
            Some(last) if range.first <= last.last.saturating_add(1) => last.last = last.last.max(range.last),
            _ => merged.push(range),
        }
    }
    merged
}

impl JudgedFile {
    /// The form in the cache: one line.
    pub(super) fn to_text(&self) -> String {
        let record =
            FileRecord { tests: self.tests.iter().map(TestRecord::from).collect(), unclear: self.unclear };
        serde_json::to_string(&record).expect("records have string keys")
    }

    /// Takes the form in the cache back. What stands there may be anybody's:
    /// whatever is not as we write it makes the whole unusable.
    pub(super) fn from_text(text: &str, path: &str) -> Option<Self> {
        let record: FileRecord = serde_json::from_str(text).ok()?;
        let tests = record.tests.into_iter().map(|test| test.into_test(path)).collect::<Option<_>>()?;
        Some(Self { tests, unclear: record.unclear })
    }
}

#[derive(Serialize, Deserialize)]
struct FileRecord {
    tests: Vec<TestRecord>,
    unclear: bool,
}

#[derive(Serialize, Deserialize)]
struct TestRecord {
    id: String,
    place: (u32, u32),
    lines: Vec<(u32, u32)>,
    risk: Bits,
    familiarity: u8,
    category: Option<(String, Bits)>,
    reasons: Vec<ReasonRecord>,
}

/// A number as its bits: readers of JSON may round it.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Bits(u64);

impl From<f64> for Bits {
    fn from(value: f64) -> Self {
        Self(value.to_bits())
    }
}

impl Bits {
    fn number(self) -> Option<f64> {
        Some(f64::from_bits(self.0)).filter(|value| value.is_finite())
    }

    fn probability(self) -> Option<Probability> {
        self.number().filter(|value| (0.0..=1.0).contains(value)).map(Probability::clamped)
    }
}

#[derive(Serialize, Deserialize)]
enum ReasonRecord {
    LooksLike(String, Bits, Vec<u32>),
    Uses(String, String, u32, Bits),
    Word(String, Option<u32>, Bits),
    Path(Vec<String>, Vec<u32>, Bits),
    Around(String, String, u32, Bits),
    Siblings(u32, u32),
}

const FAMILIARITIES: [Familiarity; 3] =
    [Familiarity::NewProject, Familiarity::KnownProject, Familiarity::KnownClass];

impl From<&JudgedTest> for TestRecord {
    fn from(test: &JudgedTest) -> Self {
        let risk = &test.risk;
        let familiarity = FAMILIARITIES.iter().position(|known| *known == risk.familiarity);
        Self {
            id: risk.test.to_string(),
            place: (risk.line, risk.end_line),
            lines: test.lines.iter().map(|range| (range.first, range.last)).collect(),
            risk: risk.risk.get().into(),
            familiarity: familiarity.and_then(|place| u8::try_from(place).ok()).unwrap_or_default(),
            category: risk
                .category
                .map(|guess| (guess.category.name().to_owned(), guess.probability.get().into())),
            reasons: risk.reasons.iter().map(ReasonRecord::from).collect(),
        }
    }
}

impl TestRecord {
    fn into_test(self, path: &str) -> Option<JudgedTest> {
        let category = match self.category {
            Some((name, probability)) => Some(CategoryGuess {
                category: Category::ALL.into_iter().find(|category| category.name() == name)?,
                probability: probability.probability()?,
            }),
            None => None,
        };
        let risk = Risk {
            test: self.id.parse::<TestId>().ok()?,
            path: path.to_owned(),
            line: self.place.0,
            end_line: self.place.1,
            risk: self.risk.probability()?,
            familiarity: *FAMILIARITIES.get(usize::from(self.familiarity))?,
            category,
            reasons: self.reasons.into_iter().map(ReasonRecord::into_reason).collect::<Option<_>>()?,
        };
        let lines = self.lines.into_iter().map(|(first, last)| LineRange { first, last }).collect();
        Some(JudgedTest { risk, lines })
    }
}

impl From<&RiskReason> for ReasonRecord {
    fn from(reason: &RiskReason) -> Self {
        match reason.clone() {
            RiskReason::LooksLike { test, similarity, lines } => {
                Self::LooksLike(test, similarity.into(), lines)
            }
            RiskReason::Uses { family, text, line, weight } => Self::Uses(family, text, line, weight.into()),
            RiskReason::Word { text, line, weight } => Self::Word(text, line, weight.into()),
            RiskReason::Path { steps, lines, weight } => Self::Path(steps, lines, weight.into()),
            RiskReason::Around { family, text, calls, weight } => {
                Self::Around(family, text, calls, weight.into())
            }
            RiskReason::Siblings { flaky, known } => Self::Siblings(flaky, known),
        }
    }
}

impl ReasonRecord {
    fn into_reason(self) -> Option<RiskReason> {
        Some(match self {
            Self::LooksLike(test, similarity, lines) => {
                RiskReason::LooksLike { test, similarity: similarity.number()?, lines }
            }
            Self::Uses(family, text, line, weight) => {
                RiskReason::Uses { family, text, line, weight: weight.number()? }
            }
            Self::Word(text, line, weight) => RiskReason::Word { text, line, weight: weight.number()? },
            Self::Path(steps, lines, weight) => RiskReason::Path { steps, lines, weight: weight.number()? },
            Self::Around(family, text, calls, weight) => {
                RiskReason::Around { family, text, calls, weight: weight.number()? }
            }
            Self::Siblings(flaky, known) => RiskReason::Siblings { flaky, known },
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn file(path: &str) -> JudgedFile {
        let risk = Risk {
            test: TestId::builder("pytest", path).finish("test_a", None),
            path: path.to_owned(),
            line: 3,
            end_line: 9,
            risk: Probability::clamped(0.1 + 0.2),
            familiarity: Familiarity::KnownProject,
            category: Some(CategoryGuess {
                category: Category::Time,
                probability: Probability::clamped(1.0 / 3.0),
            }),
            reasons: vec![
                RiskReason::LooksLike { test: "é\n".into(), similarity: 0.7, lines: vec![4, 5] },
                RiskReason::Uses { family: "sleep".into(), text: "waits".into(), line: 4, weight: -0.0 },
                RiskReason::Word { text: "now".into(), line: None, weight: 0.3 },
                RiskReason::Path { steps: vec!["\n".into()], lines: vec![4, 6], weight: 0.1 },
                RiskReason::Around { family: "net".into(), text: "\u{7f}".into(), calls: 2, weight: 0.1 },
                RiskReason::Siblings { flaky: 1, known: 2 },
            ],
        };
        let lines = vec![LineRange { first: 1, last: 1 }, LineRange { first: 3, last: 9 }];
        JudgedFile { tests: vec![JudgedTest { risk, lines }], unclear: true }
    }

    #[test]
    fn a_file_comes_back_to_the_last_bit() {
        let text = file("a.py").to_text();
        assert!(!text.contains('\n'));
        assert_eq!(JudgedFile::from_text(&text, "a.py"), Some(file("a.py")));
    }

    #[test]
    fn nonsense_is_not_taken_back() {
        let text = file("a.py").to_text();
        for (right, wrong) in [
            ("\"familiarity\":1", "\"familiarity\":3"),
            ("\"time\"", "\"tide\""),
            ("pytest:a.py", "pytest"),
            ("\"risk\":", "\"risk\":9"),
        ] {
            let wrong = text.replace(right, wrong);
            assert!(wrong != text, "{right}");
            assert_eq!(JudgedFile::from_text(&wrong, "a.py"), None, "{wrong}");
        }
    }

    #[test]
    fn a_test_changes_with_its_own_lines_and_those_it_stands_on() {
        let file = file("a.py");
        let meets = |first, last| file.tests[0].meets(&[LineRange { first, last }]);
        assert!(meets(1, 1) && meets(9, 20) && meets(5, 6) && meets(1, u32::MAX));
        assert!(!meets(2, 2) && !meets(10, 11) && !file.tests[0].meets(&[]));
        let around = [LineRange { first: 2, last: 2 }, LineRange { first: 10, last: 10 }];
        assert!(!file.tests[0].meets(&around));
    }

    #[test]
    fn the_lines_of_a_test_hold_set_up_and_helpers_but_no_imports() {
        let source = "import time\nimport shop\n\n\ndef helper():\n    return 1\n\n\ndef other():\n    return 2\n\n\n\
                      def test_a():\n    assert helper() == 1\n";
        let file =
            flakewise_source::read_source("test_a.py", flakewise_source::Language::Python, source.as_bytes());
        let lines = lines(&file.tests[0]);
        let holds = |line| lines.iter().any(|range| range.first <= line && line <= range.last);
        assert!(holds(5) && holds(13) && holds(14), "{lines:?}");
        assert!(!holds(1) && !holds(9), "{lines:?}");
    }
}
