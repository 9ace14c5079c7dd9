//! The files of a repository.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use walkdir::{DirEntry, WalkDir};

use crate::file::too_long;
use crate::limits::FILE_BYTES;
use crate::{Issue, Language, Package, SourceFile, may_hold_tests, read_packaged};

/// A file that may hold tests.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourcePath {
    /// From the root that was searched, with forward slashes.
    pub path: String,
    /// What it is written in.
    pub language: Language,
}

/// Reads all tests below `paths`, or below the whole root if there are none,
/// on all cores and in the order of the paths.
///
/// This is [`list_files`], [`load_file`], [`Package::find`] and [`read_packaged`]
/// together; who
/// keeps results from one time to the next calls them one by one.
pub fn read_tree(root: &Path, paths: &[PathBuf]) -> Vec<SourceFile> {
    let read = |SourcePath { path, language }: &SourcePath| match load_file(root, path) {
        Ok(bytes) => {
            let package = Package::find(root, path, *language);
            read_packaged(path, *language, package.as_ref(), &bytes)
        }
        Err(issue) => {
            SourceFile { path: path.clone(), language: *language, tests: Vec::new(), issues: vec![issue] }
        }
    };
    list_files(root, paths).par_iter().map(read).collect()
}

/// The files below `paths`, or below the whole root if there are none, that
/// may hold tests, sorted. Paths are from the root; those outside of it are
/// passed over, since a test there has no id.
///
/// Links are not followed. Hidden folders, virtual environments, installed
/// packages and folders that a build writes are passed over.
pub fn list_files(root: &Path, paths: &[PathBuf]) -> Vec<SourcePath> {
    let mut files: Vec<SourcePath> =
        walk(root, paths).filter(|file| may_hold_tests(&file.path, file.language)).collect();
    files.sort();
    files.dedup();
    files
}

/// All files below the root in some languages, tests or not, sorted. No more
/// than `most` are listed. What [`list_files`] passes over is passed over here.
pub fn list_sources(root: &Path, languages: &[Language], most: usize) -> Vec<SourcePath> {
    let mut files: Vec<SourcePath> =
        walk(root, &[]).filter(|file| languages.contains(&file.language)).take(most).collect();
    files.sort();
    files
}

fn walk<'a>(root: &'a Path, paths: &[PathBuf]) -> impl Iterator<Item = SourcePath> + use<'a> {
    let whole = [PathBuf::new()];
    let paths = if paths.is_empty() { &whole[..] } else { paths };
    let starts: Vec<PathBuf> = paths.iter().map(|path| root.join(path)).collect();
    starts
        .into_iter()
        .flat_map(|start| WalkDir::new(start).sort_by_file_name().into_iter().filter_entry(is_entered))
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_file())
        .filter_map(move |entry| {
            let path = entry.path().strip_prefix(root).ok()?;
            let parts: Option<Vec<&str>> = path
                .components()
                .filter(|part| !matches!(part, std::path::Component::CurDir))
                .map(|part| part.as_os_str().to_str().filter(|part| *part != ".."))
                .collect();
            let path = parts?.join("/");
            let language = Language::of_path(&path)?;
            Some(SourcePath { path, language })
        })
}

/// The bytes of a file, unless it cannot be read or is too long.
pub fn load_file(root: &Path, path: &str) -> Result<Vec<u8>, Issue> {
    let unreadable = |error: std::io::Error| Issue { line: 0, text: format!("it cannot be read: {error}") };
    let file = File::open(root.join(path)).map_err(unreadable)?;
    let length = file.metadata().map_err(unreadable)?.len();
    if length > FILE_BYTES as u64 {
        return Err(too_long(length));
    }
    let mut bytes = Vec::new();
    // It may grow while it is read.
    file.take(FILE_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(bytes)
}

/// Whether a folder of this name never holds the project's own source.
pub fn is_foreign_folder(name: &str) -> bool {
    name.starts_with('.') || matches!(name, "node_modules" | "__pycache__" | "site-packages")
}

fn is_entered(entry: &DirEntry) -> bool {
    if entry.depth() == 0 || !entry.file_type().is_dir() {
        return true;
    }
    match entry.file_name().to_str() {
        Some(name) if is_foreign_folder(name) => false,
        // A package may have this name too.
        Some("target" | "build" | "out" | "dist") => !entry.path().parent().is_some_and(is_built),
        _ => !entry.path().join("pyvenv.cfg").exists(),
    }
}

/// Whether a folder has what tells a build.
fn is_built(folder: &Path) -> bool {
    const FILES: [&str; 10] = [
        "pom.xml",
        "build.gradle",
        "build.gradle.kts",
        "build.xml",
        "build.sbt",
        "Cargo.toml",
        "Makefile",
        "package.json",
        "pyproject.toml",
        "setup.py",
    ];
    FILES.iter().any(|file| folder.join(file).exists())
}
