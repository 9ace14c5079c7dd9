//! Makes the model that ships: `pretrain DATASET FILE`.
//!
//! It is trained by the text of test methods and the names of classes alone,
//! and for projects never seen.

#![expect(clippy::print_stdout, reason = "it tells what came out")]

use std::path::PathBuf;

use flakewise_eval::Dataset;
use flakewise_predict::{Example, Familiarity, Model, TrainOptions};
use flakewise_source::{Language, read_fragment};

fn main() {
    let mut arguments = std::env::args().skip(1).map(PathBuf::from);
    let (dataset, file) = arguments.next().zip(arguments.next()).expect("a data set and a file are named");
    let dataset = Dataset::read(&dataset).expect("the data set can be read");
    let examples: Vec<Example> = dataset
        .records
        .into_iter()
        .map(|record| Example {
            // Class files have no licence that lets a model of them ship.
            test: read_fragment(Language::Java, &record.source, None, &record.class, &record.method),
            project: record.project,
            flaky: record.flaky,
            category: None,
            surroundings: None,
        })
        .collect();
    let options = TrainOptions {
        trained_on: "FlakeFlagger's data, 24 projects in Java".to_owned(),
        familiarities: vec![Familiarity::NewProject],
        seed: 1,
        ..TrainOptions::default()
    };
    let model = Model::train(&examples, &options).expect("there is enough to learn from");
    let bytes = model.to_bytes();
    std::fs::write(&file, &bytes).expect("the file can be written");
    println!("{} bytes, {:#?}", bytes.len(), model.card());
}
