//! The whole way of a data set, timed: `pipeline DATASET`.
//!
//! Reads every test, learns from all of them, and judges all of them, as
//! `flakewise train` and `flakewise predict` do. All is done on one thread, so
//! that what it takes is processor time.

#![expect(clippy::print_stdout, reason = "it tells what came out")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use flakewise_eval::{Corpus, CpuClock, Dataset};
use flakewise_predict::{Flast, FlastOptions, Model, TrainOptions};
use flakewise_source::SourceTest;

/// Everything together must take less.
const SECONDS: f64 = 60.0;

fn main() {
    let path = std::env::args().nth(1).map(PathBuf::from).expect("a data set is named");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread can be started");
    pool.install(|| run(&path));
}

fn run(path: &Path) {
    let clock = CpuClock::start();
    let dataset = Dataset::read(path).expect("the data set can be read");
    let read = clock.seconds();
    let clock = CpuClock::start();
    let corpus = Corpus::new(dataset, 1);
    let parsed = read + clock.seconds();

    let clock = CpuClock::start();
    let model =
        Model::train(&corpus.examples, &TrainOptions::default()).expect("there is enough to learn from");
    let trained = clock.seconds();
    let mut projects: BTreeMap<&str, Vec<SourceTest>> = BTreeMap::new();
    for example in &corpus.examples {
        projects.entry(&example.project).or_default().push(example.test.clone());
    }
    let clock = CpuClock::start();
    let judged: usize =
        projects.iter().map(|(project, tests)| model.predict(project, tests, 0.5).len()).sum();
    report("blend", [parsed, trained, clock.seconds()], judged);

    let sources: Vec<&str> = corpus.records.iter().map(|record| record.source.as_str()).collect();
    let clock = CpuClock::start();
    let flast = Flast::train(&sources, &corpus.labels, FlastOptions::default());
    let trained = clock.seconds();
    let clock = CpuClock::start();
    let judged = flast.score_all(&sources).len();
    report("flast", [read, trained, clock.seconds()], judged);
}

fn report(name: &str, [parsed, trained, judged]: [f64; 3], tests: usize) {
    let all = parsed + trained + judged;
    let amiss = if all > SECONDS { " AMISS" } else { "" };
    println!(
        "{name}: {tests} tests, read {parsed:.2} s, train {trained:.2} s, predict {judged:.2} s, \
         all {all:.2} s of processor time (bound {SECONDS:.0} s){amiss}"
    );
}
