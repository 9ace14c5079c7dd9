//! Our side of `bench/flast`: FLAST on the folds that it writes for the other.
//!
//!     flast DATA FOLDER [--only FOLD] [--tokens words] [--seed SEED] [--projection-seed SEED]
//!
//! Writes `folds.json` and the projection of each fold into the folder, and
//! prints what `eval/flast_sklearn.py` prints. All is done on one thread.

use std::collections::HashMap;
use std::error::Error;
use std::io::Write as _;
use std::path::Path;

use flakewise_eval::{CpuClock, Dataset};
use flakewise_learn::{Confusion, Fold, Projection, johnson_lindenstrauss_dimension, stratified_folds};
use flakewise_predict::{Flast, FlastOptions, FlastTokens};
use serde_json::{Value, json};

const FOLDS: usize = 10;
const THRESHOLDS: [f64; 2] = [0.5, 0.95];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| {
        arguments.iter().position(|argument| argument == name).and_then(|place| arguments.get(place + 1))
    };
    let [data, folder, ..] = &arguments[..] else { return Err("usage: flast DATA FOLDER".into()) };
    let folder = Path::new(folder);
    let fold_seed: u64 = option("--seed").map_or(Ok(1), |seed| seed.parse())?;
    let seed: u64 = option("--projection-seed").map_or(Ok(fold_seed), |seed| seed.parse())?;
    let words = option("--tokens").is_some_and(|tokens| tokens == "words");
    let tokens = if words { FlastTokens::Words } else { FlastTokens::Whitespace };

    let dataset = Dataset::read(Path::new(data))?;
    let records = &dataset.records;
    let labels: Vec<bool> = records.iter().map(|record| record.flaky).collect();
    let mut folds = stratified_folds(&labels, FOLDS, fold_seed);
    let ids = |fold: &Fold| fold.test.iter().map(|&row| records[row].id.clone()).collect::<Vec<_>>();
    std::fs::write(
        folder.join("folds.json"),
        serde_json::to_string(&folds.iter().map(ids).collect::<Vec<_>>())?,
    )?;
    let only: Option<usize> = option("--only").map(|only| only.parse()).transpose()?;
    if let Some(only) = only {
        folds = vec![folds.swap_remove(only)];
    }

    let (mut train_seconds, mut predict_seconds, mut tests) = (0.0, 0.0, 0);
    let mut confusions = [Confusion::default(); THRESHOLDS.len()];
    let mut training_rows = 0;
    for (number, fold) in folds.iter().enumerate() {
        let sources: Vec<&str> = fold.train.iter().map(|&row| records[row].source.as_str()).collect();
        let known: Vec<bool> = fold.train.iter().map(|&row| labels[row]).collect();
        training_rows = sources.len();
        let start = CpuClock::start();
        let flast = Flast::train(&sources, &known, FlastOptions { tokens, seed, ..FlastOptions::default() });
        train_seconds += start.seconds();
        if tokens == FlastTokens::Whitespace {
            let path = folder.join(format!("projection-{}.json", only.unwrap_or(number)));
            std::fs::write(path, projection(&sources, seed).to_string())?;
        }
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

/// The projection FLAST draws for these sources: for every word its dimensions
/// with their signs. Words are numbered as they are met.
fn projection(sources: &[&str], seed: u64) -> Value {
    let mut columns: HashMap<&str, u32> = HashMap::new();
    for word in sources.iter().flat_map(|source| source.split_whitespace()) {
        let next = u32::try_from(columns.len()).expect("there are fewer words");
        columns.entry(word).or_insert(next);
    }
    let dimensions = johnson_lindenstrauss_dimension(sources.len(), FlastOptions::default().epsilon);
    let projection = Projection::new(columns.len(), dimensions, seed);
    let words: serde_json::Map<String, Value> = columns
        .into_iter()
        .map(|(word, column)| (word.to_owned(), json!(projection.column(column))))
        .collect();
    json!({ "dimensions": dimensions, "words": words })
}
