//! Our side of `bench/flast`: FLAST on the folds that it writes for the other.
//!
//!     flast DATA FOLDS.json [--only FOLD] [--tokens words] [--seed SEED]
//!
//! Prints what `eval/flast_sklearn.py` prints. All is done on one thread.

use std::error::Error;
use std::io::Write as _;
use std::path::Path;

use flakewise_eval::{CpuClock, Dataset};
use flakewise_learn::{Confusion, Fold, johnson_lindenstrauss_dimension, stratified_folds};
use flakewise_predict::{Flast, FlastOptions, FlastTokens};
use serde_json::json;

const FOLDS: usize = 10;
const THRESHOLDS: [f64; 2] = [0.5, 0.95];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| {
        arguments.iter().position(|argument| argument == name).and_then(|place| arguments.get(place + 1))
    };
    let [data, folds_file, ..] = &arguments[..] else { return Err("usage: flast DATA FOLDS.json".into()) };
    let seed: u64 = option("--seed").map_or(Ok(1), |seed| seed.parse())?;
    let words = option("--tokens").is_some_and(|tokens| tokens == "words");
    let tokens = if words { FlastTokens::Words } else { FlastTokens::Whitespace };

    let dataset = Dataset::read(Path::new(data))?;
    let records = &dataset.records;
    let labels: Vec<bool> = records.iter().map(|record| record.flaky).collect();
    let mut folds = stratified_folds(&labels, FOLDS, seed);
    let ids = |fold: &Fold| fold.test.iter().map(|&row| records[row].id.clone()).collect::<Vec<_>>();
    std::fs::write(folds_file, serde_json::to_string(&folds.iter().map(ids).collect::<Vec<_>>())?)?;
    if let Some(only) = option("--only") {
        folds = vec![folds.swap_remove(only.parse()?)];
    }

    let (mut train_seconds, mut predict_seconds, mut tests) = (0.0, 0.0, 0);
    let mut confusions = [Confusion::default(); THRESHOLDS.len()];
    let mut training_rows = 0;
    for fold in &folds {
        let sources: Vec<&str> = fold.train.iter().map(|&row| records[row].source.as_str()).collect();
        let known: Vec<bool> = fold.train.iter().map(|&row| labels[row]).collect();
        training_rows = sources.len();
        let start = CpuClock::start();
        let flast = Flast::train(&sources, &known, FlastOptions { tokens, seed, ..FlastOptions::default() });
        train_seconds += start.seconds();
        let start = CpuClock::start();
        let scores: Vec<f64> = fold.test.iter().map(|&row| flast.score(&records[row].source)).collect();
        predict_seconds += start.seconds();
        tests += scores.len();
        for (confusion, threshold) in confusions.iter_mut().zip(THRESHOLDS) {
            for (&score, &row) in scores.iter().zip(&fold.test) {
                confusion.count(score > threshold, labels[row]);
            }
        }
    }
    let quality = |(confusion, threshold): (&Confusion, f64)| {
        json!({
            "threshold": threshold, "precision": confusion.precision(), "recall": confusion.recall(),
            "f1": confusion.f1(), "tp": confusion.true_positives, "fp": confusion.false_positives,
            "fn": confusion.false_negatives,
        })
    };
    let result = json!({
        "training_rows": training_rows,
        "dimensions": johnson_lindenstrauss_dimension(training_rows, FlastOptions::default().epsilon),
        "train_seconds": train_seconds / folds.len() as f64,
        "predict_milliseconds_per_test": 1000.0 * predict_seconds / f64::from(u32::try_from(tests)?),
        "quality": confusions.iter().zip(THRESHOLDS).map(quality).collect::<Vec<_>>(),
    });
    writeln!(std::io::stdout(), "{result:#}")?;
    Ok(())
}
