//! Our side of `bench/forests`: forests on resampled rows, on the folds that it
//! writes for the other.
//!
//!     forests DATA FOLDER [--seeds SEEDS] [--others SEEDS]
//!
//! Writes `table.bin` and `table.json` into the folder, and in `shap.json` trees
//! with what we say why some rows get their probabilities. Prints what
//! `eval/forests_sklearn.py` prints. Extra trees with SMOTE are measured with
//! so many seeds, everything else with so many others.

use std::error::Error;
use std::io::Write as _;
use std::path::Path;

use flakewise_eval::{Corpus, CpuClock, Dataset};
use flakewise_learn::{
    Confusion, DenseMatrix, Forest, ForestOptions, Tree, edited_neighbours, smote, stratified_folds,
    without_tomek_links,
};
use serde_json::{Value, json};

const FOLDS: usize = 10;
const NEIGHBOURS: usize = 5;
const EDITED_NEIGHBOURS: usize = 3;
const EXPLAINED_TREES: usize = 10;
const EXPLAINED_ROWS: usize = 100;
const RESAMPLINGS: [&str; 3] = ["SMOTE", "SMOTE+Tomek", "SMOTE+ENN"];
const MODELS: [&str; 2] = ["extra trees", "random forest"];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| {
        arguments.iter().position(|argument| argument == name).and_then(|place| arguments.get(place + 1))
    };
    let [data, folder, ..] = &arguments[..] else { return Err("usage: forests DATA FOLDER".into()) };
    let folder = Path::new(folder);
    let seeds: u64 = option("--seeds").map_or(Ok(1), |seeds| seeds.parse())?;
    let others: u64 = option("--others").map_or(Ok(1), |seeds| seeds.parse())?;

    // Everything on this thread, whose clock is read.
    rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global()?;
    let corpus = Corpus::new(Dataset::read(Path::new(data))?, 0);
    let table = table(&corpus);
    let labels: Vec<u32> = corpus.labels.iter().map(|&flaky| u32::from(flaky)).collect();
    let folds: Vec<_> = (0..seeds.max(others)).map(|seed| stratified_folds(&labels, FOLDS, seed)).collect();
    let held_out: Vec<Vec<_>> =
        folds.iter().map(|folds| folds.iter().map(|fold| &fold.test).collect()).collect();
    let bytes: Vec<u8> =
        (0..table.rows()).flat_map(|row| table.row(row)).flat_map(|value| value.to_le_bytes()).collect();
    std::fs::write(folder.join("table.bin"), bytes)?;
    let about = json!({ "columns": table.columns(), "labels": labels, "folds": held_out });
    std::fs::write(folder.join("table.json"), about.to_string())?;

    std::fs::write(folder.join("shap.json"), explained(&table, &corpus.labels).to_string())?;
    let mut results = Vec::new();
    for (seed, folds) in (0..).zip(&folds) {
        for resampling in RESAMPLINGS {
            let models = MODELS.iter().filter(|&&model| {
                seed < if (model, resampling) == (MODELS[0], RESAMPLINGS[0]) { seeds } else { others }
            });
            let mut measured: Vec<Measured> = models.map(|model| Measured::new(model)).collect();
            if measured.is_empty() {
                continue;
            }
            let mut rows = 0;
            for (number, fold) in (0..).zip(folds) {
                let known: Vec<u32> = fold.train.iter().map(|&row| labels[row]).collect();
                let (train, known) =
                    resample(&table.select(&fold.train), &known, resampling, seed * 100 + number);
                rows += train.rows();
                for model in &mut measured {
                    model.fold(&train, &known, &table, &labels, &fold.test, seed * 100 + number);
                }
            }
            results.extend(measured.iter().map(|model| model.result(resampling, seed, rows / FOLDS)));
        }
    }
    writeln!(std::io::stdout(), "{}", json!({ "results": results }))?;
    Ok(())
}

/// What the source says of each test. How often it ran would give labels away:
/// tests with an unusual number of runs are more often flaky.
fn table(corpus: &Corpus) -> DenseMatrix {
    let mut table = DenseMatrix::new(corpus.features[0].numbers.len());
    corpus.features.iter().for_each(|features| table.push(&features.numbers));
    table
}

fn resample(table: &DenseMatrix, labels: &[u32], how: &str, seed: u64) -> (DenseMatrix, Vec<u32>) {
    let (table, labels) = smote(table, labels, NEIGHBOURS, seed);
    let kept = match how {
        "SMOTE+Tomek" => without_tomek_links(&table, &labels),
        "SMOTE+ENN" => edited_neighbours(&table, &labels, EDITED_NEIGHBOURS),
        _ => return (table, labels),
    };
    (table.select(&kept), kept.iter().map(|&row| labels[row]).collect())
}

/// One kind of forest, measured on the folds of one seed.
struct Measured {
    model: &'static str,
    confusion: Confusion,
    fit_seconds: f64,
    predict_seconds: f64,
}

impl Measured {
    fn new(model: &'static str) -> Self {
        Self { model, confusion: Confusion::default(), fit_seconds: 0.0, predict_seconds: 0.0 }
    }

    fn fold(
        &mut self,
        train: &DenseMatrix,
        known: &[u32],
        table: &DenseMatrix,
        labels: &[u32],
        test: &[usize],
        seed: u64,
    ) {
        let kind = if self.model == MODELS[0] {
            ForestOptions::extra_trees()
        } else {
            ForestOptions::random_forest()
        };
        let known: Vec<bool> = known.iter().map(|&label| label == 1).collect();
        let clock = CpuClock::start();
        let forest = Forest::fit(train, &known, None, &ForestOptions { seed, ..kind });
        self.fit_seconds += clock.seconds();
        let clock = CpuClock::start();
        let said = forest.probability_all(table);
        self.predict_seconds += clock.seconds();
        for &row in test {
            self.confusion.count(said[row] > 0.5, labels[row] == 1);
        }
    }

    fn result(&self, resampling: &str, seed: u64, rows: usize) -> Value {
        json!({
            "model": self.model, "resampling": resampling, "seed": seed, "rows": rows, "mcc": self.confusion.mcc(),
            "fit_seconds": self.fit_seconds / FOLDS as f64,
            "predict_seconds": self.predict_seconds / FOLDS as f64,
        })
    }
}

/// A few trees of each kind, and for some rows what adds up to what they say.
fn explained(table: &DenseMatrix, labels: &[bool]) -> Value {
    let forest = |options: ForestOptions| {
        let forest = Forest::fit(table, labels, None, &ForestOptions { trees: EXPLAINED_TREES, ..options });
        let tree = |tree: &Tree| {
            let nodes = tree.nodes();
            json!({
                "left": nodes.iter().map(|node| node.left).collect::<Vec<_>>(),
                "feature": nodes.iter().map(|node| node.feature).collect::<Vec<_>>(),
                "threshold": nodes.iter().map(|node| node.threshold).collect::<Vec<_>>(),
                "value": tree.values(), "cover": tree.covers(),
            })
        };
        let step = table.rows().div_ceil(EXPLAINED_ROWS);
        let explain = |row: usize| {
            let explanation = &forest.explain(table.row(row))[0];
            json!({ "row": row, "base": explanation.base, "values": explanation.values })
        };
        json!({
            "trees": forest.trees().iter().map(tree).collect::<Vec<_>>(),
            "rows": (0..table.rows()).step_by(step).map(explain).collect::<Vec<_>>(),
        })
    };
    json!([forest(ForestOptions::extra_trees()), forest(ForestOptions::random_forest())])
}
