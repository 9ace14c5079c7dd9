//! Tests that were renamed or moved, by two versions of the repository.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use flakewise_model::{Rename, TestId};
use flakewise_source::{Language, SourceFile, find_renames, may_hold_tests, read_source};
use flakewise_triage::{Change, ChangeError, Sides};
use rayon::prelude::*;

/// What a comparison found.
pub(crate) struct Compared {
    pub(crate) renames: Vec<Rename>,
    /// The tests that are new.
    #[cfg_attr(not(feature = "history"), expect(dead_code, reason = "only a history asks"))]
    pub(crate) appeared: HashSet<TestId>,
}

/// Compares the tests of two commits, or of a commit and the work tree.
pub(crate) fn compare(root: &Path, from: &str, to: Option<&str>) -> Result<Compared, ChangeError> {
    let _span = tracing::info_span!("compare tests", from, to).entered();
    let sides = Sides::read(root, from, to, has_named_tests)?;
    let (before, after) = (read(&sides.before), read(&sides.after));
    let ids = |files: &[SourceFile]| -> HashSet<TestId> {
        files.iter().flat_map(|file| file.tests.iter().map(|test| test.id.clone())).collect()
    };
    let known = ids(&before);
    let appeared = ids(&after).into_iter().filter(|test| !known.contains(test)).collect();
    Ok(Compared { renames: find_renames(&before, &after, &sides.moved), appeared })
}

/// The tests that a change renames; none if that cannot be determined.
pub(crate) fn in_change(change: &Change) -> Vec<Rename> {
    match compare(&change.root, &change.base, None) {
        Ok(compared) => compared.renames,
        Err(error) => {
            tracing::info!(%error, "tests are not compared");
            Vec::new()
        }
    }
}

/// Whether a file may hold tests whose ids follow from the file alone. Rust and Go name tests
/// after a manifest as well.
fn has_named_tests(path: &str) -> bool {
    Language::of_path(path).is_some_and(|language| {
        !matches!(language, Language::Rust | Language::Go) && may_hold_tests(path, language)
    })
}

fn read(files: &BTreeMap<String, Vec<u8>>) -> Vec<SourceFile> {
    let files: Vec<_> = files.iter().collect();
    let read = |(path, bytes): &(&String, &Vec<u8>)| {
        Language::of_path(path).map(|language| read_source(path, language, bytes))
    };
    files.par_iter().filter_map(read).collect()
}

#[cfg(feature = "history")]
pub(crate) use recording::record;

#[cfg(feature = "history")]
mod recording {
    use flakewise_history::{History, HistoryError};
    use flakewise_model::{RenameAction, RenameDecision, Renames, Run};
    use flakewise_report::count;
    use flakewise_triage::{Git, main_branch};

    use super::{Compared, Path, Rename, compare};
    use crate::context::variable;
    use crate::own_folder::{keep_out_of_git, own_path};
    use crate::printer::Printer;

    /// Up to which commit tests were compared, for which store.
    const COMPARED: &str = "cache/renames";

    /// Records the tests that were renamed since the last commit of the main branch that there
    /// are runs of, if this run is of a later one. What a branch renames is not recorded: it may
    /// never be merged. `base` is the main branch that the user named.
    ///
    /// Nothing that fails here fails a run.
    pub(crate) fn record(history: &History, run: &Run, root: &Path, base: Option<&str>, printer: &Printer) {
        let _span = tracing::info_span!("renames").entered();
        match decide(history, run, root, base) {
            Ok(0) => {}
            Ok(renamed) => printer.hint(&format!(
                "the history follows {}: `flakewise renames list`",
                count(renamed as u64, "renamed test")
            )),
            Err(error) => tracing::info!(%error, "tests are not compared"),
        }
    }

    fn decide(
        history: &History,
        run: &Run,
        root: &Path,
        base: Option<&str>,
    ) -> Result<usize, Box<dyn std::error::Error>> {
        let (Some(commit), Some(branch), false) = (&run.commit, &run.branch, run.dirty) else { return Ok(0) };
        // First, as it costs least and is the common case of who runs tests again and again.
        let stamp = format!("{} {} {commit}\n", history.store(), history.project());
        let compared = own_path(COMPARED);
        if std::fs::read_to_string(&compared).is_ok_and(|text| text == stamp) {
            return Ok(0);
        }
        if main_branch(root, base, variable)?.as_ref() != Some(branch) {
            return Ok(0);
        }
        // A report may be of another commit than the one that is checked out.
        let git = Git::at(root);
        let Some(commit) = git.commit(commit)? else { return Ok(0) };
        let mut previous = None;
        for known in history.commits(branch)? {
            if known != commit && git.is_ancestor(&known, &commit)? {
                previous = Some(known);
                break;
            }
        }
        let renamed = match previous {
            Some(previous) => store(history, compare(root, &previous, Some(&commit))?, &commit)?,
            None => 0,
        };
        // Who cannot write it compares again the next time.
        let _ = std::fs::create_dir_all(own_path("cache"));
        let _ = std::fs::write(&compared, stamp);
        keep_out_of_git(&compared);
        Ok(renamed)
    }

    /// Stores what a comparison found, and returns how many tests were renamed.
    fn store(history: &History, compared: Compared, commit: &str) -> Result<usize, HistoryError> {
        if compared.appeared.is_empty() {
            return Ok(0);
        }
        let decided = chrono::Utc::now();
        let decision = |rename: Rename, action| RenameDecision {
            rename,
            action,
            commit: Some(commit.to_owned()),
            decided,
        };
        // A new test under a former id is not the test that had it.
        let renames = Renames::new(&history.renames()?);
        let taken = compared.appeared.iter().filter_map(|test| {
            let current = renames.next(test)?;
            let is_current = compared.renames.iter().any(|rename| rename.current == *test);
            let rename = Rename { former: test.clone(), current, similarity: None };
            (!is_current).then(|| decision(rename, RenameAction::Undone))
        });
        let mut decisions: Vec<RenameDecision> = taken.collect();
        let taken = decisions.len();
        decisions.extend(compared.renames.into_iter().map(|rename| decision(rename, RenameAction::Found)));
        Ok(history.decide_renames(&decisions)?.saturating_sub(taken))
    }
}
