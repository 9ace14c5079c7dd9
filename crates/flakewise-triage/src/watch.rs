//! INTERSECT: how to watch a test, and how what was seen meets the change.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use flakewise_model::Phase;
use flakewise_runner::{FreshOptions, NothingAgain, Observation, RunnerError, Suite, TestKey};

use crate::{BaseTree, Change, Dependencies, Meeting, Progress, intersect};

/// More changed files than this are not watched one by one.
const MOST_WATCHED: usize = 4096;

/// The files whose opening the kernel shall tell: what changed, and the byte
/// code that stands for changed sources.
fn watched(change: &Change) -> Vec<PathBuf> {
    if change.files.len() > MOST_WATCHED {
        return Vec::new();
    }
    let mut files = Vec::new();
    for file in &change.files {
        let path = change.root.join(&file.path);
        if let (true, Some(stem), Some(folder)) = (file.source, path.file_stem(), path.parent()) {
            let prefix = format!("{}.", stem.to_string_lossy());
            let cached = std::fs::read_dir(folder.join("__pycache__")).into_iter().flatten().flatten();
            files.extend(
                cached
                    .filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
                    .map(|entry| entry.path()),
            );
        }
        files.push(path);
    }
    files
}

/// How to watch a test so that it can be compared with a change.
pub(crate) fn watching(change: &Change, hash_seed: u32) -> FreshOptions<'static> {
    let sources = change.files.iter().filter(|file| file.source);
    let absolute = |path: &str| change.root.join(path);
    FreshOptions {
        before: Vec::new(),
        hash_seed,
        observe: true,
        changed: sources
            .map(|file| {
                let inserted = file.inserted.iter().map(|range| (range.first, range.last)).collect();
                (absolute(&file.path).to_string_lossy().into_owned(), inserted)
            })
            .collect(),
        watch: watched(change),
        elsewhere: None,
    }
}

/// Says for every test how it meets a change, without judging anything.
pub fn meetings(
    suite: &mut Suite,
    change: &Change,
    progress: &dyn Fn(Progress<'_>),
) -> Result<Vec<(String, Meeting)>, RunnerError> {
    let mut files: BTreeMap<(u32, String), Vec<TestKey>> = BTreeMap::new();
    for test in suite.tests() {
        let file = suite.name(test).split("::").next().unwrap_or_default().to_owned();
        files.entry((test.session, file)).or_default().push(test);
    }
    let mut found = Vec::new();
    let (options, of) = (watching(change, suite.hash_seed()), files.len());
    for (place, ((_, file), tests)) in files.iter().enumerate() {
        progress(Progress::Separate { phase: Phase::Fresh, name: file, place, of });
        // What they do not depend on together, none of them depends on.
        let path = suite.test_file(tests[0]).map(|file| file.to_string_lossy().into_owned());
        let together = suite.observe_together(tests, &options)?;
        let joint = meeting(change, together, path.clone());
        if matches!(joint, Meeting::Disjoint { .. }) {
            found.extend(tests.iter().map(|test| (suite.name(*test).to_owned(), joint.clone())));
            continue;
        }
        for (test, seen) in suite.observe_each(tests, &options, &mut NothingAgain)? {
            found.push((suite.name(test).to_owned(), meeting(change, seen, path.clone())));
        }
    }
    Ok(found)
}

/// INTERSECT, for what was seen.
pub(crate) fn meeting(change: &Change, seen: Observation, test: Option<String>) -> Meeting {
    let complete = seen.complete;
    let meeting = intersect(change, &dependencies(change, seen, test));
    // What was touched before a process died was touched.
    if complete || matches!(meeting, Meeting::Touches(_)) {
        meeting
    } else {
        Meeting::Unknown { reason: "its process ended before it reported all dependencies".to_owned() }
    }
}

/// What a process was seen to depend on, in the words of [`intersect`].
fn dependencies(change: &Change, seen: Observation, test: Option<String>) -> Dependencies {
    let mut opened = seen.opened;
    let mut hidden: Vec<String> = seen.hidden.into_iter().collect();
    let started = hidden.clone();
    if let Some(watched) = seen.watched {
        // That a file was opened which the runner reads says nothing new. If
        // other processes ran, they may have read it as well.
        let is_of_runner = |file: &String| seen.configured.contains(file);
        let read_by_runner = watched.iter().any(is_of_runner);
        opened.extend(watched.into_iter().filter(|file| !is_of_runner(file)));
        // The kernel saw every file that exists and was opened, by any process.
        // It did not see who looked for files that came or went.
        let came_or_went = |kind| !matches!(kind, crate::ChangeKind::Modified);
        let all_watched = change.files.len() <= MOST_WATCHED;
        if all_watched && !read_by_runner && !change.files.iter().any(|file| came_or_went(file.kind)) {
            hidden.clear();
        }
    }
    Dependencies {
        test,
        opened,
        loaded: seen.loaded,
        listed: seen.listed,
        looked_for: seen.looked_for,
        imports: seen.imports,
        executed: seen.executed,
        config: seen.configured,
        hidden,
        started,
        connected: seen.connected.into_iter().collect(),
    }
}

/// A file of the work tree's code that a process at the base has loaded. What
/// is no part of the code, such as an environment, is the same for both.
pub(crate) fn loaded_from(seen: &Observation, change: &Change, tree: &BaseTree) -> Option<String> {
    let own = seen.loaded.iter().map(Path::new).filter(|file| file.starts_with(&change.root));
    let code = own.filter(|file| tree.map(file) != *file);
    code.filter_map(|file| file.strip_prefix(&change.root).ok())
        .map(|file| file.to_string_lossy().into_owned())
        .next()
}
