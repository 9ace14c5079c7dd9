//! A search for what a test depends on, for `culprit` and `reproduce`.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use flakewise_hunt::{Answers, CulpritContext, CulpritError, CulpritProgress, CulpritSettings};
use flakewise_model::TestId;
use flakewise_report::number;
use flakewise_runner::{RunnerCommand, RunnerError, Suite, SuiteOptions, Versions};
use flakewise_source::is_foreign_folder;
use indicatif::ProgressBar;

use super::run::hash_seed;
use super::side_by_side;
use crate::args::{ContextArguments, SearchArguments, SummaryFormat};
#[cfg(feature = "history")]
use crate::context::project;
use crate::context::{Ci, Context, Git, on_ci, tracked_files, variable};
use crate::error::ExpectedError;
use crate::own_folder::{keep_out_of_git, own_path};
use crate::printer::Printer;
use crate::repository::Repository;

/// Where searches under way are remembered.
const FOLDER: &str = "culprit";
/// Files that count as code although git does not track them.
const CODE: [&str; 4] = ["py", "toml", "ini", "cfg"];
/// Of more files than this, the first count.
const MOST_FILES: usize = 200_000;
/// Orders to begin with, if the history has some.
#[cfg(feature = "history")]
const KNOWN_ORDERS: usize = 3;

/// Starts the suite and searches it with `search`.
pub(super) fn search<T>(
    arguments: &SearchArguments,
    exhaustive: bool,
    printer: &Printer,
    search: impl FnOnce(&mut Suite, &mut CulpritContext<'_>) -> Result<T, CulpritError>,
) -> Result<T, ExpectedError> {
    let command = RunnerCommand::new(&arguments.command)?;
    let ci = Ci::detect(&variable);
    let context = Context::new(&ContextArguments::default(), ci.as_ref(), &Git::discover(), on_ci());
    let path = own_path(FOLDER).join(search_name(arguments, exhaustive, &Repository::find(&[])?.root));
    let (mut answers, seed) = Answers::open(&path, arguments.seed).unwrap_or_else(|error| {
        printer.warning(&format!("cannot save progress; an interrupted search will start over: {error}"));
        (Answers::none(), arguments.seed.unwrap_or_else(rand::random))
    });
    let settings = CulpritSettings {
        test: arguments.test.clone(),
        exhaustive,
        budget: arguments.budget,
        jobs: side_by_side(arguments.jobs),
        seed,
    };
    let started = chrono::Utc::now();
    let name = format!("local/culprit-{}", uuid::Uuid::new_v4().simple());
    let make_run = |versions: Option<Versions<'_>>| context.tested(&name, started, versions);
    let options = SuiteOptions {
        test_timeout: arguments.test_timeout,
        hash_seed: hash_seed(seed),
        output_to_stderr: arguments.format != SummaryFormat::Text,
        collect_only: false,
    };
    let bar = RefCell::new(None);
    let progress = |progress: CulpritProgress| show_progress(&bar, progress, printer);
    let mut suite = Suite::start(&command, options)?;
    let found = search(
        &mut suite,
        &mut CulpritContext {
            settings: &settings,
            run: &make_run,
            command: command.words(),
            failing_orders: &|test| failing_orders(arguments, test, printer),
            answers: &mut answers,
            progress: &progress,
        },
    );
    if let Some(text) = suite.internal_errors() {
        printer.warning(&text);
    }
    drop(suite);
    if let Some(bar) = bar.take() {
        bar.finish_and_clear();
    }
    if let Err(CulpritError::Runner(RunnerError::Interrupted { .. })) = found {
        keep_out_of_git(&path);
        printer.hint("progress is saved: run the same command to resume");
    }
    let found = found?;
    if let Err(error) = answers.forget() {
        printer.warning(&format!("failed to remove the saved progress of this search: {error}"));
    }
    Ok(found)
}

/// A name for this search: the same for the same question about the same code.
fn search_name(arguments: &SearchArguments, exhaustive: bool, root: &Path) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut add = |bytes: &[u8]| {
        hasher.update(bytes);
        hasher.update(b"\0");
    };
    add(arguments.test.as_bytes());
    add(&[u8::from(exhaustive)]);
    for word in &arguments.command {
        add(word.as_encoded_bytes());
    }
    // Changed files are recognised by their size and modification time.
    for path in code_files(root) {
        if let Ok(metadata) = root.join(&path).metadata() {
            add(path.as_os_str().as_encoded_bytes());
            let written = metadata.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
            add(&written.unwrap_or_default().as_nanos().to_le_bytes());
            add(&metadata.len().to_le_bytes());
        }
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

/// The files that tests may depend on, relative to the root: all that git
/// tracks, and untracked code. Other untracked files may be written by the tests.
fn code_files(root: &Path) -> BTreeSet<PathBuf> {
    let is_wanted = |entry: &walkdir::DirEntry| {
        entry.depth() == 0 || !entry.file_name().to_str().is_some_and(is_foreign_folder)
    };
    let is_code =
        |path: &Path| path.extension().is_some_and(|extension| CODE.iter().any(|code| extension == *code));
    let walked = walkdir::WalkDir::new(root).sort_by_file_name().into_iter().filter_entry(is_wanted);
    let code = walked
        .filter_map(Result::ok)
        .take(MOST_FILES)
        .filter(|entry| is_code(entry.path()))
        .filter_map(|entry| entry.path().strip_prefix(root).map(Path::to_owned).ok());
    let tracked = tracked_files(root).unwrap_or_default().into_iter().take(MOST_FILES).map(PathBuf::from);
    code.chain(tracked).collect()
}

/// Orders in which the test failed before.
#[cfg(feature = "history")]
fn failing_orders(arguments: &SearchArguments, test: &TestId, printer: &Printer) -> Vec<Vec<TestId>> {
    let project = project(arguments.store.project.as_deref());
    let orders = flakewise_history::StoreUrl::parse(&arguments.store.url()).and_then(|store| {
        let history = flakewise_history::History::new(store, &project);
        // The suite ends at the signal, too.
        let interrupt = history.interrupt();
        let _listener = flakewise_runner::SignalListener::new(move |_| interrupt.raise());
        history.failing_orders(test, KNOWN_ORDERS)
    });
    orders.unwrap_or_else(|error| {
        printer.warning(&format!("failed to read earlier failing orders from the history: {error}"));
        Vec::new()
    })
}

#[cfg(not(feature = "history"))]
fn failing_orders(_: &SearchArguments, _: &TestId, _: &Printer) -> Vec<Vec<TestId>> {
    Vec::new()
}

fn show_progress(bar: &RefCell<Option<ProgressBar>>, progress: CulpritProgress, printer: &Printer) {
    tracing::debug!(?progress, "search");
    let mut bar = bar.borrow_mut();
    let bar = bar.get_or_insert_with(|| printer.spinner("searching"));
    bar.set_message(match progress {
        CulpritProgress::Alone => "running the test alone".to_owned(),
        CulpritProgress::Orders { tried } => format!("running order {tried}"),
        CulpritProgress::Reducing { left } => format!("reducing: {} candidates left", number(left as u64)),
        CulpritProgress::Trying { done, all } => {
            format!("{} of {} candidates tried", number(done), number(all))
        }
        CulpritProgress::Confirming => "confirming in new processes".to_owned(),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracked_files_of_any_kind_and_untracked_code_name_a_search() {
        let root = tempfile::tempdir().expect("a folder");
        let write = |path: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, "x").expect("a file");
        };
        for path in ["data/prices.csv", ".config/app.yaml", "test_a.py"] {
            write(path);
        }
        let git = |arguments: &[&str]| {
            let status = std::process::Command::new("git").args(arguments).current_dir(root.path()).status();
            assert!(status.expect("git starts").success());
        };
        git(&["init", "--quiet"]);
        git(&["add", "."]);
        for path in ["test_b.py", "report.xml", ".venv/lib/x.py", "node_modules/y.py"] {
            write(path);
        }
        let files: Vec<_> = code_files(root.path()).into_iter().collect();
        assert_eq!(
            files,
            [".config/app.yaml", "data/prices.csv", "test_a.py", "test_b.py"].map(PathBuf::from)
        );
    }
}
