//! The index of a repository, timed: `index FOLDER`.
//!
//! Builds it without a cache, with one, and after ten files changed by a line
//! at their end; they are put back as they were. The cache is a temporary
//! file. All is done on one thread, so that what it takes is processor time.

#![expect(clippy::print_stdout, reason = "it reports what it measured")]

use std::path::{Path, PathBuf};

use flakewise_eval::CpuClock;
use flakewise_paths::Index;
use flakewise_source::{Language, list_sources};

/// What ten thousand files may take the first time, in seconds.
const FIRST_SECONDS: f64 = 20.0;
/// And after ten of them changed.
const CHANGED_SECONDS: f64 = 1.0;

fn main() {
    let root = std::env::args().nth(1).map(PathBuf::from).expect("a folder is named");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread can be started");
    pool.install(|| run(&root));
}

fn run(root: &Path) {
    let folder = std::env::temp_dir().join(format!("flakewise-index-{}", std::process::id()));
    let cache = folder.join("declarations");
    let build = |what: &str, bound: Option<f64>| {
        let clock = CpuClock::start();
        let (_, summary) = Index::build(root, Some(&cache));
        let seconds = clock.seconds();
        let scaled = bound.map(|bound| bound * summary.files as f64 / 10_000.0);
        let amiss = if scaled.is_some_and(|bound| seconds > bound) { " AMISS" } else { "" };
        let bound = scaled.map(|bound| format!(" (bound {bound:.1} s)")).unwrap_or_default();
        println!(
            "{what}: {} files, {} parsed, {seconds:.2} s of processor time{bound}{amiss}",
            summary.files, summary.parsed
        );
    };
    build("first", Some(FIRST_SECONDS));
    build("unchanged", None);
    let sources = list_sources(root, &[Language::Java], usize::MAX);
    let changed: Vec<(PathBuf, Vec<u8>)> = sources
        .iter()
        .step_by((sources.len() / 10).max(1))
        .take(10)
        .map(|source| {
            let path = root.join(&source.path);
            let bytes = std::fs::read(&path).expect("it can be read");
            std::fs::write(&path, [&bytes[..], b"\n// changed\n"].concat()).expect("it can be written");
            (path, bytes)
        })
        .collect();
    build("ten changed", Some(CHANGED_SECONDS));
    for (path, bytes) in changed {
        std::fs::write(path, bytes).expect("it can be written");
    }
    std::fs::remove_dir_all(folder).expect("it can be removed");
}
