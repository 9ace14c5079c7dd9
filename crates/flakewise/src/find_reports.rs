//! From what the user named to the reports that are there.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::error::ExpectedError;

/// Folders nobody keeps reports in. Other hidden folders may hold some.
const SKIPPED: [&str; 4] = [".git", ".flakewise", "node_modules", ".venv"];
/// A report names its root element within this many bytes.
const SNIFFED: usize = 8 * 1024;

/// The reports named by files, folders and patterns, sorted, each once.
///
/// A file that is named is taken as it is. Files found in folders or by
/// patterns are looked into: only JUnit XML is taken.
pub(crate) fn find_reports(inputs: &[String]) -> Result<Vec<PathBuf>, ExpectedError> {
    let everywhere = [".".to_owned()];
    let inputs = if inputs.is_empty() { &everywhere } else { inputs };
    let mut found = BTreeSet::new();
    for input in inputs {
        let path = Path::new(input);
        if path.is_file() {
            found.insert(path.to_owned());
        } else if path.is_dir() {
            found.extend(below(path));
        } else if input.contains(['*', '?', '[', '{']) {
            found.extend(matching(input)?);
        } else {
            return Err(ExpectedError::NoSuchPath { path: input.clone() });
        }
    }
    if found.is_empty() {
        return Err(ExpectedError::NoReports { searched: inputs.to_vec() });
    }
    Ok(found.into_iter().collect())
}

/// Files that match a pattern. `*` stays within a folder, `**` crosses them.
fn matching(pattern: &str) -> Result<Vec<PathBuf>, ExpectedError> {
    let options = glob::MatchOptions { require_literal_separator: true, ..glob::MatchOptions::new() };
    let paths = glob::glob_with(pattern, options)
        .map_err(|source| ExpectedError::Pattern { pattern: pattern.to_owned(), source })?;
    Ok(reports_among(paths.filter_map(Result::ok).filter(|path| path.is_file())))
}

/// The reports below a folder.
fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = walkdir::WalkDir::new(folder).into_iter().filter_entry(|entry| {
        entry.depth() == 0 || !SKIPPED.iter().any(|name| entry.file_name().to_string_lossy() == *name)
    });
    let files = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_file())
        .map(walkdir::DirEntry::into_path)
        .filter(|path| path.extension().is_some_and(|end| end.eq_ignore_ascii_case("xml")));
    reports_among(files)
}

/// Looks into files on all cores.
fn reports_among(paths: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let paths: Vec<_> = paths.collect();
    paths
        .into_par_iter()
        .filter(|path| is_report(path))
        .map(|path| path.strip_prefix("./").map(Path::to_owned).unwrap_or(path))
        .collect()
}

fn is_report(path: &Path) -> bool {
    let mut start = Vec::with_capacity(SNIFFED);
    let Ok(file) = std::fs::File::open(path) else { return false };
    if file.take(SNIFFED as u64).read_to_end(&mut start).is_err() {
        return false;
    }
    // Two bytes per character where a runner on Windows wrote UTF-16.
    start.retain(|byte| *byte != 0);
    start.windows(10).any(|window| window == b"<testsuite")
}
