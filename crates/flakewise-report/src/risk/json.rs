//! Risks for machines. `docs/src/reference/predict-json.md` describes it.

use flakewise_predict::{Expectation, Familiarity};
use serde::Serialize;

use super::report::{ModelOrigin, Risk, RiskReason, RiskReport, Threshold};
use super::words::familiarity_name;
use crate::json::{FORMAT, render};

/// What is predicted, as a JSON document.
pub fn risk_json(report: &RiskReport) -> String {
    let (source, path) = match &report.origin {
        ModelOrigin::File(path) => ("file", Some(path.as_str())),
        ModelOrigin::Own(path) => ("own", Some(path.as_str())),
        ModelOrigin::Pretrained => ("pretrained", None),
    };
    let card = &report.card;
    render(&ReportSummary {
        format: FORMAT,
        model: ModelSummary {
            source,
            path,
            trained_on: &card.trained_on,
            tests: card.tests,
            flaky: card.flaky,
            projects: card.projects,
            expectations: card.expectations.iter().map(ExpectationSummary::from).collect(),
        },
        files: report.scope.files,
        tests: report.scope.tests,
        unclear_files: report.scope.unclear,
        base: report.scope.base.as_ref().map(|(commit, _)| commit.as_str()),
        thresholds: report.thresholds.iter().map(ThresholdSummary::from).collect(),
        risks: report.risks.iter().map(RiskSummary::from).collect(),
        most_likely: report.most_likely.iter().map(RiskSummary::from).collect(),
    })
}

#[derive(Serialize)]
struct ReportSummary<'a> {
    format: u32,
    model: ModelSummary<'a>,
    files: u64,
    tests: u64,
    unclear_files: u64,
    base: Option<&'a str>,
    thresholds: Vec<ThresholdSummary>,
    risks: Vec<RiskSummary<'a>>,
    most_likely: Vec<RiskSummary<'a>>,
}

#[derive(Serialize)]
struct ModelSummary<'a> {
    source: &'static str,
    path: Option<&'a str>,
    trained_on: &'a str,
    tests: u64,
    flaky: u64,
    projects: u64,
    expectations: Vec<ExpectationSummary>,
}

#[derive(Serialize)]
struct ExpectationSummary {
    familiarity: &'static str,
    threshold: f64,
    precision: f64,
    recall: f64,
}

impl From<&Expectation> for ExpectationSummary {
    fn from(expectation: &Expectation) -> Self {
        Self {
            familiarity: familiarity_name(expectation.familiarity),
            threshold: expectation.threshold,
            precision: expectation.precision,
            recall: expectation.recall,
        }
    }
}

#[derive(Serialize)]
struct ThresholdSummary {
    familiarity: &'static str,
    /// None if no test of this familiarity is named.
    threshold: Option<f64>,
    reason: &'static str,
}

impl From<&(Familiarity, Threshold)> for ThresholdSummary {
    fn from((familiarity, threshold): &(Familiarity, Threshold)) -> Self {
        let (threshold, reason) = match threshold {
            Threshold::Given(threshold) => (Some(*threshold), "given"),
            Threshold::Usual(threshold) => (Some(*threshold), "usual"),
            Threshold::Measured(measured) => (Some(measured.threshold), "measured"),
            Threshold::Imprecise(_) => (None, "imprecise"),
            Threshold::All => (Some(0.0), "all"),
        };
        Self { familiarity: familiarity_name(*familiarity), threshold, reason }
    }
}

#[derive(Serialize)]
struct RiskSummary<'a> {
    id: String,
    test: &'a str,
    path: &'a str,
    line: u32,
    end_line: u32,
    risk: f64,
    familiarity: &'static str,
    category: Option<CategorySummary>,
    reasons: Vec<ReasonSummary<'a>>,
}

#[derive(Serialize)]
struct CategorySummary {
    name: &'static str,
    probability: f64,
}

impl<'a> From<&'a Risk> for RiskSummary<'a> {
    fn from(risk: &'a Risk) -> Self {
        Self {
            id: risk.id().to_string(),
            test: risk.test.as_str(),
            path: &risk.path,
            line: risk.line,
            end_line: risk.end_line,
            risk: risk.risk.get(),
            familiarity: familiarity_name(risk.familiarity),
            category: risk.category.map(|guess| CategorySummary {
                name: guess.category.name(),
                probability: guess.probability.get(),
            }),
            reasons: risk.reasons.iter().map(ReasonSummary::from).collect(),
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum ReasonSummary<'a> {
    LooksLike { test: &'a str, similarity: f64, lines: &'a [u32] },
    Uses { family: &'a str, text: &'a str, line: u32, weight: f64 },
    Word { text: &'a str, line: Option<u32>, weight: f64 },
    Path { steps: &'a [String], lines: &'a [u32], weight: f64 },
    Around { family: &'a str, text: &'a str, calls: u32, weight: f64 },
    Siblings { flaky: u32, known: u32 },
}

impl<'a> From<&'a RiskReason> for ReasonSummary<'a> {
    fn from(reason: &'a RiskReason) -> Self {
        match reason {
            RiskReason::LooksLike { test, similarity, lines } => {
                Self::LooksLike { test, similarity: *similarity, lines }
            }
            RiskReason::Uses { family, text, line, weight } => {
                Self::Uses { family, text, line: *line, weight: *weight }
            }
            RiskReason::Word { text, line, weight } => Self::Word { text, line: *line, weight: *weight },
            RiskReason::Path { steps, lines, weight } => Self::Path { steps, lines, weight: *weight },
            RiskReason::Around { family, text, calls, weight } => {
                Self::Around { family, text, calls: *calls, weight: *weight }
            }
            RiskReason::Siblings { flaky, known } => Self::Siblings { flaky: *flaky, known: *known },
        }
    }
}
