//! What is said about one model under one protocol.

use std::collections::BTreeMap;

use flakewise_learn::{Bins, Confusion, ReliabilityBin, average_precision, brier, reliability, roc_auc};

use crate::protocol::numbered;
use crate::{FoldScores, Found, Record};

/// How good a model is under one protocol, over all tests that were held out.
#[derive(Clone, Debug, PartialEq)]
pub struct Measures {
    /// The name of the model.
    pub model: String,
    /// What it said and what was so, at the threshold of each fold.
    pub confusion: Confusion,
    /// The area under precision over recall.
    pub average_precision: f64,
    /// The mean area under the ROC curve within projects that have at least
    /// three flaky tests, and one other.
    pub within_projects: Option<f64>,
    /// The mean squared error of probabilities.
    pub brier: f64,
    /// Whether probabilities hold what they say.
    pub reliability: Vec<ReliabilityBin>,
    /// The same by project.
    pub projects: Vec<ProjectMeasures>,
    /// The flaky tests that were found and missed, by project and kind.
    pub found: Vec<Found>,
    /// Points of precision over recall, for plots: recall rises.
    pub curve: Vec<(f64, f64)>,
    /// Learning, in seconds of processor time, for each fold.
    pub train_seconds: f64,
    /// Judging, in milliseconds of processor time, for each test.
    pub predict_milliseconds: f64,
}

/// How good a model is on one project.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectMeasures {
    /// Its name.
    pub project: String,
    /// What was said and what was so.
    pub confusion: Confusion,
    /// The area under precision over recall, if there is a flaky test.
    pub average_precision: Option<f64>,
    /// The area under the ROC curve, if there are tests of both kinds.
    pub roc_auc: Option<f64>,
}

/// A project with fewer flaky tests says little about how they are ranked.
const LEAST_FLAKY: u64 = 3;
/// Bins of the reliability curve, of equal width.
pub(crate) const BINS: usize = 10;

/// A test that was held out.
#[derive(Clone, Copy, Debug)]
struct Judged {
    probability: f64,
    said: bool,
}

impl Measures {
    /// Measures what was said about the rows of each fold.
    pub(crate) fn new(model: &str, records: &[Record], folds: &[(&[usize], &FoldScores)]) -> Self {
        let mut judged: BTreeMap<usize, Judged> = BTreeMap::new();
        for (rows, scores) in folds {
            assert_eq!(rows.len(), scores.probabilities.len(), "`{model}` says something about each test");
            for (&row, &probability) in rows.iter().zip(&scores.probabilities) {
                judged.insert(row, Judged { probability, said: probability >= scores.threshold });
            }
        }
        let rows: Vec<(&Record, Judged)> =
            judged.iter().map(|(&row, &judged)| (&records[row], judged)).collect();
        let (probabilities, labels) = columns(&rows);
        let classes = numbered(rows.iter().map(|(record, _)| (&record.project, &record.class)));
        let mut by_project: BTreeMap<&str, Vec<(&Record, Judged)>> = BTreeMap::new();
        for &row in &rows {
            by_project.entry(&row.0.project).or_default().push(row);
        }
        let projects: Vec<ProjectMeasures> = by_project
            .into_iter()
            .map(|(project, rows)| {
                let (probabilities, labels) = columns(&rows);
                let flaky = labels.contains(&true);
                ProjectMeasures {
                    project: project.to_owned(),
                    confusion: confusion(&rows),
                    average_precision: flaky.then(|| average_precision(&probabilities, &labels)),
                    roc_auc: roc_auc(&probabilities, &labels),
                }
            })
            .collect();
        let ranked: Vec<f64> = projects
            .iter()
            .filter(|project| {
                project.confusion.true_positives + project.confusion.false_negatives >= LEAST_FLAKY
            })
            .filter_map(|project| project.roc_auc)
            .collect();
        Self {
            model: model.to_owned(),
            confusion: confusion(&rows),
            average_precision: average_precision(&probabilities, &labels),
            within_projects: (!ranked.is_empty()).then(|| ranked.iter().sum::<f64>() / ranked.len() as f64),
            brier: brier(&probabilities, &labels),
            reliability: reliability(&probabilities, &labels, &classes, Bins::EqualWidth(BINS)),
            projects,
            found: Vec::new(),
            curve: curve(&probabilities, &labels),
            train_seconds: folds.iter().map(|(_, scores)| scores.train_seconds).sum::<f64>()
                / folds.len().max(1) as f64,
            predict_milliseconds: 1000.0
                * folds.iter().map(|(_, scores)| scores.predict_seconds).sum::<f64>()
                / rows.len().max(1) as f64,
        }
    }
}

fn columns(rows: &[(&Record, Judged)]) -> (Vec<f64>, Vec<bool>) {
    rows.iter().map(|(record, judged)| (judged.probability, record.flaky)).unzip()
}

fn confusion(rows: &[(&Record, Judged)]) -> Confusion {
    let mut confusion = Confusion::default();
    for (record, judged) in rows {
        confusion.count(judged.said, record.flaky);
    }
    confusion
}

/// At most this many points of a curve are kept.
const POINTS: usize = 120;

/// Precision wherever a flaky test more is found, thinned out.
fn curve(probabilities: &[f64], labels: &[bool]) -> Vec<(f64, f64)> {
    let mut order: Vec<usize> = (0..labels.len()).collect();
    order.sort_by(|&left, &right| probabilities[right].total_cmp(&probabilities[left]));
    let positives = labels.iter().filter(|&&label| label).count().max(1) as f64;
    let mut points = Vec::new();
    let mut found = 0.0;
    for (place, &row) in order.iter().enumerate() {
        found += f64::from(u8::from(labels[row]));
        let tied = order.get(place + 1).is_some_and(|&next| probabilities[next] >= probabilities[row]);
        let recall = found / positives;
        if !tied && points.last().is_none_or(|&(last, _)| recall > last) {
            points.push((recall, found / (place + 1) as f64));
        }
    }
    let step = points.len().div_ceil(POINTS).max(1);
    let last = points.len().saturating_sub(1);
    points
        .into_iter()
        .enumerate()
        .filter(|(place, _)| place % step == 0 || *place == last)
        .map(|(_, point)| point)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(left: f64, right: f64) {
        assert!((left - right).abs() < 1e-12, "{left} is not {right}");
    }

    #[test]
    fn folds_are_pooled_each_at_its_own_threshold() {
        let records: Vec<Record> =
            [("p", true), ("p", false), ("p", true), ("q", false), ("p", true), ("q", false)]
                .into_iter()
                .map(|(project, flaky)| Record { project: project.to_owned(), flaky, ..Record::default() })
                .collect();
        let first = FoldScores {
            probabilities: vec![0.9, 0.2, 0.3],
            threshold: 0.3,
            train_seconds: 1.0,
            predict_seconds: 0.6,
        };
        let second = FoldScores {
            probabilities: vec![0.4, 0.8, 0.1],
            threshold: 0.5,
            train_seconds: 3.0,
            predict_seconds: 0.6,
        };
        let measures = Measures::new("some", &records, &[(&[0, 1, 2], &first), (&[3, 4, 5], &second)]);
        let expected =
            Confusion { true_positives: 3, false_positives: 0, false_negatives: 0, true_negatives: 3 };
        assert_eq!(measures.confusion, expected);
        // 0.9 yes, 0.8 yes, 0.4 no, 0.3 yes
        close(measures.average_precision, (1.0 + 1.0 + 0.75) / 3.0);
        close(measures.within_projects.unwrap(), 1.0);
        close(measures.brier, (0.01 + 0.04 + 0.49 + 0.16 + 0.04 + 0.01) / 6.0);
        close(measures.train_seconds, 2.0);
        close(measures.predict_milliseconds, 200.0);
        assert_eq!(measures.curve.len(), 3);
        let projects: Vec<&str> = measures.projects.iter().map(|project| project.project.as_str()).collect();
        assert_eq!(projects, ["p", "q"]);
        assert_eq!(measures.projects[1].roc_auc, None);
    }
}
