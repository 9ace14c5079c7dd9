//! Dependency paths of a data set, counted and timed: `paths DATASET`.
//!
//! With `--show ID` the paths of one test are printed instead, and with
//! `--without` the ids of the tests that have none. All is done on one thread,
//! so that what it takes is processor time.

#![expect(clippy::print_stdout, reason = "it reports what it measured")]

use std::path::PathBuf;

use flakewise_eval::{CpuClock, Dataset, Record};
use flakewise_paths::{AssertionKind, Graph, graph_of_fragment, path_features};
use flakewise_source::Language;

/// At least this share of tests must have a path.
const LEAST_SHARE: f64 = 0.95;
/// Extraction must take less processor time.
const MOST_SECONDS: f64 = 60.0;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().map(PathBuf::from).expect("a data set is named");
    let option = arguments.next();
    let dataset = Dataset::read(&path).expect("the data set can be read");
    if option.as_deref() == Some("--show") {
        let id = arguments.next().expect("a test is named");
        for record in dataset.records.iter().filter(|record| name(record).ends_with(&id)).take(3) {
            println!("{}\n{}", name(record), record.source);
            let graph = graph(record);
            for path in graph.paths() {
                println!("  {}", graph.show(&path));
            }
        }
        return;
    }
    let without = option.as_deref() == Some("--without");
    let clock = CpuClock::start();
    let (mut with_path, mut explicit, mut paths, mut nodes, mut in_helpers) = (0, 0, 0, 0, 0);
    let mut graphs = Vec::with_capacity(dataset.records.len());
    for record in &dataset.records {
        let graph = graph(record);
        let own = graph.paths();
        with_path += usize::from(!own.is_empty());
        let is_implicit = |node| graph.assertion(node) == Some(AssertionKind::Implicit);
        explicit += usize::from(!own.is_empty() && !graph.assertions().any(is_implicit));
        let helper = |node: u32| graph.nodes[node as usize].helper.is_some();
        in_helpers += usize::from(!own.is_empty() && graph.assertions().all(helper));
        paths += own.len();
        nodes += own.iter().map(|path| path.nodes.len()).sum::<usize>();
        if without && own.is_empty() {
            println!("{}", name(record));
        }
        graphs.push(graph);
    }
    let seconds = clock.seconds();
    let clock = CpuClock::start();
    let features: usize = graphs.iter().map(|graph| path_features(graph).len()).sum();
    let hashed = clock.seconds();
    let tests = dataset.records.len();
    let share = |count: usize| 100.0 * count as f64 / tests as f64;
    let amiss = |good: bool| if good { "" } else { " AMISS" };
    println!(
        "{tests} tests: {:.2} % have a path (bound {:.0} %){}, {:.2} % one to an assertion that is written, \
         {:.2} % only to assertions in helpers",
        share(with_path),
        100.0 * LEAST_SHARE,
        amiss(with_path as f64 >= LEAST_SHARE * tests as f64),
        share(explicit),
        share(in_helpers)
    );
    println!(
        "{paths} paths, {:.1} for each test, {:.1} nodes for each path",
        paths as f64 / tests as f64,
        nodes as f64 / paths.max(1) as f64
    );
    println!(
        "{:.1} features for each test, {:.3} ms to hash them",
        features as f64 / tests as f64,
        1e3 * hashed / tests as f64
    );
    println!("{seconds:.1} s of processor time (bound {MOST_SECONDS:.0} s){}", amiss(seconds < MOST_SECONDS));
}

fn name(record: &Record) -> String {
    format!("{}/{}#{}", record.project, record.class, record.method)
}

fn graph(record: &Record) -> Graph {
    let class_source = record.class_source.as_deref();
    graph_of_fragment(Language::Java, &record.source, class_source, &record.class, &record.method)
}
