//! The same answers measured on parts of the tests.
//!
//! Two projects have a third of all flaky tests of `FlakeFlagger`'s data, and
//! published tools were measured on a part of it. So every figure is also given
//! for those parts. Nothing is retrained: a slice only selects what is scored.

use flakewise_learn::Confusion;

use crate::model::Answers;
use crate::text::{optional, ratios};
use crate::{Corpus, Evaluation, FoldScores, Measures, Protocol, Record};

/// A part of the tests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slice {
    name: &'static str,
    keep: fn(&Record) -> bool,
}

/// The projects that carry most of what is found under the grouped protocols.
const LARGEST: [&str; 2] = ["Alluxio-alluxio", "apache-hbase"];

fn is_small(record: &Record) -> bool {
    !LARGEST.contains(&record.project.as_str())
}

/// All of them, in the order of the results.
const SLICES: [Slice; 5] = [
    Slice { name: "all", keep: |_| true },
    Slice { name: "without Alluxio and hbase", keep: is_small },
    Slice { name: "PEELER subset", keep: |record| record.published.in_peeler_subset },
    Slice {
        name: "PEELER subset without Alluxio and hbase",
        keep: |record| record.published.in_peeler_subset && is_small(record),
    },
    Slice { name: "PEELER rows of one test", keep: |record| record.published.alone_in_peeler_row },
];

/// What came out on one slice.
#[derive(Clone, Debug)]
pub struct SliceMeasures {
    /// The name of the slice.
    pub slice: &'static str,
    /// How many tests it has.
    pub tests: usize,
    /// How many of them are flaky.
    pub flaky: usize,
    /// A result for each model.
    pub models: Vec<Measures>,
    /// What published tools are worth by their stored answers, which were given
    /// for randomly drawn folds.
    pub published: Vec<(&'static str, Confusion)>,
}

/// Measures the answers of models on every slice that the data set has.
pub(crate) fn measure(
    corpus: &Corpus,
    protocol: Protocol,
    answers: &[(&str, Answers<'_>)],
) -> Vec<SliceMeasures> {
    let mut measured: Vec<SliceMeasures> = Vec::new();
    for slice in SLICES {
        let records: Vec<&Record> = corpus.records.iter().filter(|record| (slice.keep)(record)).collect();
        let flaky = records.iter().filter(|record| record.flaky).count();
        // Slices lie within each other: as many tests are the same tests.
        let again = measured.iter().any(|slice| slice.tests == records.len());
        if flaky == 0 || flaky == records.len() || again {
            continue;
        }
        let models = answers.iter().map(|(name, folds)| {
            let folds: Vec<(Vec<usize>, FoldScores)> =
                folds.iter().map(|(rows, scores)| select(corpus, slice, rows, scores)).collect();
            let folds: Answers<'_> = folds.iter().map(|(rows, scores)| (&rows[..], scores)).collect();
            Measures::new(name, &corpus.records, &folds)
        });
        measured.push(SliceMeasures {
            slice: slice.name,
            tests: records.len(),
            flaky,
            models: models.collect(),
            published: if protocol == Protocol::Random { published(&records) } else { Vec::new() },
        });
    }
    measured
}

fn select(corpus: &Corpus, slice: Slice, rows: &[usize], scores: &FoldScores) -> (Vec<usize>, FoldScores) {
    let kept = rows.iter().zip(&scores.probabilities).filter(|(row, _)| (slice.keep)(&corpus.records[**row]));
    let (rows, probabilities) = kept.map(|(&row, &probability)| (row, probability)).unzip();
    (rows, FoldScores { probabilities, ..scores.clone() })
}

/// What a published tool said about a test.
type Said = fn(&Record) -> Option<bool>;

fn published(records: &[&Record]) -> Vec<(&'static str, Confusion)> {
    let tools: [(&str, Said); 2] = [
        ("PEELER, stored answers", |record| record.published.peeler),
        ("FlakeFlagger, stored answers", |record| record.published.flakeflagger),
    ];
    let confusion = |said: Said| {
        let mut confusion = Confusion::default();
        for record in records {
            if let Some(said) = said(record) {
                confusion.count(said, record.flaky);
            }
        }
        confusion
    };
    let counted = tools.into_iter().map(|(name, said)| (name, confusion(said)));
    counted.filter(|(_, confusion)| confusion.true_positives > 0).collect()
}

impl Evaluation {
    /// A table of every protocol, slice and model.
    pub(crate) fn slices_table(&self) -> String {
        let mut text = self.head();
        text += "protocol\tslice\ttests\tflaky\tmodel\tprecision\trecall\tf1\tmcc\tauc_pr\troc_auc_within_projects\n";
        for measured in &self.protocols {
            for slice in &measured.slices {
                let head = format!(
                    "{}\t{}\t{}\t{}",
                    measured.protocol.name(),
                    slice.slice,
                    slice.tests,
                    slice.flaky
                );
                for model in &slice.models {
                    let [precision, recall, f1, mcc] = ratios(model);
                    text += &format!(
                        "{head}\t{}\t{precision:.3}\t{recall:.3}\t{f1:.3}\t{mcc:.3}\t{:.3}\t{}\n",
                        model.model,
                        model.average_precision,
                        optional(model.within_projects)
                    );
                }
                for (name, counts) in &slice.published {
                    text += &format!(
                        "{head}\t{name}\t{:.3}\t{:.3}\t{:.3}\t{:.3}\t-\t-\n",
                        counts.precision(),
                        counts.recall(),
                        counts.f1(),
                        counts.mcc()
                    );
                }
            }
        }
        text
    }
}
