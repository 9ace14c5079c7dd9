//! The tables of FLAST's paper on other data.
//!
//!     flast_tables DATA CATEGORISED FOLDER
//!
//! Each project of DATA with at least ten flaky tests is trained and evaluated
//! separately, in ten random folds, as in the paper. CATEGORISED has flaky tests
//! with their kind. Results go to the folder as tables, and box plots as
//! `flast.svg`. Random folds flatter: tests of one class are on both sides
//! (docs/src/concepts/evaluation.md).

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

use flakewise_eval::{Dataset, Record};
use flakewise_learn::{Confusion, stratified_folds};
use flakewise_predict::{
    Category, Example, Flast, FlastOptions, FlastTokens, Model, ModelKind, TrainOptions,
};
use flakewise_source::{Language, read_fragment};
use rayon::prelude::*;

const FOLDS: usize = 10;
/// With fewer flaky tests some folds would have none.
const LEAST_FLAKY: usize = 10;
const THRESHOLDS: [f64; 2] = [0.5, 0.95];
/// Draws of the training data for each size.
const DRAWS: u64 = 5;
const SEED: u64 = 1;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [data, categorised, folder] = &arguments[..] else {
        return Err("usage: flast_tables DATA CATEGORISED FOLDER".into());
    };
    let folder = Path::new(folder);
    std::fs::create_dir_all(folder)?;
    let dataset = Dataset::read(Path::new(data))?;
    let mut projects: BTreeMap<&str, Vec<&Record>> = BTreeMap::new();
    for record in &dataset.records {
        projects.entry(&record.project).or_default().push(record);
    }
    projects.retain(|_, records| records.iter().filter(|record| record.flaky).count() >= LEAST_FLAKY);
    let projects: Vec<(&str, Vec<&Record>)> = projects.into_iter().collect();
    std::fs::write(folder.join("projects.tsv"), by_project(&projects, folder)?)?;
    std::fs::write(folder.join("training-size.tsv"), by_size(&projects))?;
    std::fs::write(folder.join("categories.tsv"), by_category(&Dataset::read(Path::new(categorised))?))?;
    Ok(())
}

fn train(records: &[&Record], seed: u64) -> Flast {
    let sources: Vec<&str> = records.iter().map(|record| record.source.as_str()).collect();
    let labels: Vec<bool> = records.iter().map(|record| record.flaky).collect();
    let options = FlastOptions { tokens: FlastTokens::Words, seed, ..FlastOptions::default() };
    let categories = records.iter().map(|record| record.category).collect();
    Flast::train(&sources, &labels, options).with_categories(categories)
}

fn pick<'r>(records: &[&'r Record], rows: &[usize]) -> Vec<&'r Record> {
    rows.iter().map(|&row| records[row]).collect()
}

/// How FLAST does on records that it did not learn from, by threshold.
fn judge(flast: &Flast, records: &[&Record]) -> [Confusion; 2] {
    let mut confusions = [Confusion::default(); 2];
    for record in records {
        let score = flast.score(&record.source);
        for (confusion, threshold) in confusions.iter_mut().zip(THRESHOLDS) {
            confusion.count(score > threshold, record.flaky);
        }
    }
    confusions
}

fn labels(records: &[&Record]) -> Vec<bool> {
    records.iter().map(|record| record.flaky).collect()
}

/// Precision and recall within each project, with the size of its model.
fn by_project(projects: &[(&str, Vec<&Record>)], folder: &Path) -> Result<String, Box<dyn Error>> {
    let rows: Vec<(Vec<f64>, usize)> = projects
        .par_iter()
        .map(|(_, records)| {
            let mut sums = [Confusion::default(); 2];
            for fold in stratified_folds(&labels(records), FOLDS, SEED) {
                let flast = train(&pick(records, &fold.train), SEED);
                for (sum, part) in sums.iter_mut().zip(judge(&flast, &pick(records, &fold.test))) {
                    sum.true_positives += part.true_positives;
                    sum.false_positives += part.false_positives;
                    sum.false_negatives += part.false_negatives;
                    sum.true_negatives += part.true_negatives;
                }
            }
            (sums.iter().flat_map(|sum| [sum.precision(), sum.recall()]).collect(), storage(records))
        })
        .collect();
    let mut table = format!("# within each project, {FOLDS} random folds, seed {SEED}\n");
    table += "project\ttests\tflaky\tprecision 0.5\trecall 0.5\tprecision 0.95\trecall 0.95\tmodel KB\n";
    for ((name, records), (values, bytes)) in projects.iter().zip(&rows) {
        let flaky = records.iter().filter(|record| record.flaky).count();
        write!(table, "{name}\t{}\t{flaky}", records.len())?;
        values.iter().try_for_each(|value| write!(table, "\t{value:.3}"))?;
        writeln!(table, "\t{}", bytes.div_ceil(1024))?;
    }
    let columns: Vec<Vec<f64>> =
        (0..4).map(|column| sorted(rows.iter().map(|(values, _)| values[column]))).collect();
    let sizes = sorted(rows.iter().map(|(_, bytes)| *bytes as f64 / 1024.0));
    let all = columns.iter().chain([&sizes]);
    let mean = |values: &Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    for (name, value) in [
        ("mean", all.clone().map(mean).collect::<Vec<_>>()),
        ("median", all.map(|values| quartile(values, 2)).collect()),
    ] {
        write!(table, "{name}\t\t")?;
        value[..4].iter().try_for_each(|value| write!(table, "\t{value:.3}"))?;
        writeln!(table, "\t{:.0}", value[4])?;
    }
    let names = ["precision 0.5", "recall 0.5", "precision 0.95", "recall 0.95"];
    std::fs::write(folder.join("flast.svg"), boxes(&names, &columns))?;
    Ok(table)
}

/// The bytes of the model file of all tests.
fn storage(records: &[&Record]) -> usize {
    let examples: Vec<Example> = records
        .iter()
        .map(|record| Example {
            test: read_fragment(Language::Java, &record.source, None, &record.class, &record.method),
            project: record.project.clone(),
            flaky: record.flaky,
            category: None,
            surroundings: None,
        })
        .collect();
    let options = TrainOptions { kind: ModelKind::Flast, seed: SEED, ..TrainOptions::default() };
    Model::train(&examples, &options).expect("both labels occur").to_bytes().len()
}

/// Precision and recall with 10 to 90 % of each project as training data: means over
/// projects and draws. Where nothing was named, precision is left out.
fn by_size(projects: &[(&str, Vec<&Record>)]) -> String {
    let mut table = format!("# within each project, {DRAWS} draws, means over projects\n");
    table += "training data\tprecision 0.5\trecall 0.5\tprecision 0.95\trecall 0.95\n";
    for tenths in 1..10 {
        let drawn: Vec<[Confusion; 2]> = projects
            .par_iter()
            .flat_map_iter(|(_, records)| (0..DRAWS).map(move |draw| (records, SEED + draw)))
            .map(|(records, seed)| {
                let folds = stratified_folds(&labels(records), FOLDS, seed);
                let rows = |folds: &[flakewise_learn::Fold]| {
                    folds.iter().flat_map(|fold| fold.test.iter().copied()).collect::<Vec<usize>>()
                };
                let flast = train(&pick(records, &rows(&folds[..tenths])), seed);
                judge(&flast, &pick(records, &rows(&folds[tenths..])))
            })
            .collect();
        write!(table, "{} %", tenths * 10).expect("a text can be written");
        for place in 0..THRESHOLDS.len() {
            let named = drawn.iter().map(|drawn| &drawn[place]);
            let precise = named.clone().filter(|one| one.true_positives + one.false_positives > 0);
            let precisions: Vec<f64> = precise.map(Confusion::precision).collect();
            let precision = precisions.iter().sum::<f64>() / precisions.len().max(1) as f64;
            let recall = named.map(Confusion::recall).sum::<f64>() / drawn.len() as f64;
            write!(table, "\t{precision:.3}\t{recall:.3}").expect("a text can be written");
        }
        table.push('\n');
    }
    table
}

/// Of flaky tests that are named, how many are named with their kind.
fn by_category(dataset: &Dataset) -> String {
    let records: Vec<&Record> = dataset.records.iter().collect();
    let kinds: Vec<Option<&str>> = records.iter().map(|record| record.category.map(Category::name)).collect();
    let mut counts: BTreeMap<(usize, &str), [u32; 2]> = BTreeMap::new();
    for fold in stratified_folds(&kinds, FOLDS, SEED) {
        let flast = train(&pick(&records, &fold.train), SEED);
        for &row in &fold.test {
            let said = flast.predict(&records[row].source);
            for (place, threshold) in THRESHOLDS.into_iter().enumerate() {
                if let (Some(known), Some(guess), true) = (kinds[row], said.category, said.score > threshold)
                {
                    let [right, all] = counts.entry((place, known)).or_default();
                    *right += u32::from(guess.name() == known);
                    *all += 1;
                }
            }
        }
    }
    let mut table =
        format!("# {}: {} tests, {FOLDS} random folds by kind, seed {SEED}\n", dataset.name, records.len());
    table += "threshold\tkind\tflaky and named\tright\tshare\n";
    for ((place, kind), [right, all]) in &counts {
        let share = f64::from(*right) / f64::from(*all);
        writeln!(table, "{}\t{kind}\t{all}\t{right}\t{share:.3}", THRESHOLDS[*place])
            .expect("a text can be written");
    }
    for (place, threshold) in THRESHOLDS.into_iter().enumerate() {
        let own = counts.iter().filter(|((at, _), _)| *at == place).map(|(_, counts)| counts);
        let (right, all) = own.fold((0, 0), |sum, counts| (sum.0 + counts[0], sum.1 + counts[1]));
        let share = f64::from(right) / f64::from(all);
        writeln!(table, "{threshold}\tall\t{all}\t{right}\t{share:.3}").expect("a text can be written");
    }
    table
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

/// A quartile; between two values, in proportion.
fn quartile(sorted: &[f64], quarters: usize) -> f64 {
    let place = quarters * (sorted.len() - 1);
    let (below, above) = (sorted[place / 4], sorted[place.div_ceil(4)]);
    below + (above - below) * (place % 4) as f64 / 4.0
}

/// Box plots from 0 to 1: quartiles, the median, and the ends of all values.
fn boxes(names: &[&str], columns: &[Vec<f64>]) -> String {
    const HEIGHT: f64 = 240.0;
    const STEP: f64 = 110.0;
    let y = |value: f64| 12.0 + (1.0 - value) * HEIGHT;
    let width = 50.0 + STEP * columns.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {0:.0}\" width=\"{width:.0}\" \
         height=\"{0:.0}\" font-family=\"sans-serif\" font-size=\"11\" role=\"img\">\
         <title>FLAST within projects: precision and recall at two thresholds</title>\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>",
        HEIGHT + 44.0
    );
    for step in 0..=5 {
        let value = f64::from(step) / 5.0;
        svg += &format!(
            "<path stroke=\"#ddd\" d=\"M40 {0:.1}H{width:.0}\"/><text x=\"34\" y=\"{1:.1}\" text-anchor=\"end\">{value:.1}</text>",
            y(value),
            y(value) + 3.5
        );
    }
    for (place, (name, values)) in names.iter().zip(columns).enumerate() {
        let middle = 50.0 + STEP * (place as f64 + 0.5);
        let [least, low, median, high, most] = [0, 1, 2, 3, 4].map(|quarters| y(quartile(values, quarters)));
        let (left, right) = (middle - 26.0, middle + 26.0);
        svg += &format!(
            "<g stroke=\"#1f5fa8\" fill=\"none\" stroke-width=\"1.6\"><path d=\"M{middle:.1} {least:.1}V{low:.1}M{middle:.1} {high:.1}V{most:.1}\"/>\
             <rect x=\"{left:.1}\" y=\"{high:.1}\" width=\"52\" height=\"{:.1}\" fill=\"#dbe8f6\"/>\
             <path stroke-width=\"2.4\" d=\"M{left:.1} {median:.1}H{right:.1}\"/></g>\
             <text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{name}</text>",
            low - high,
            HEIGHT + 34.0
        );
    }
    svg + "</svg>\n"
}
