//! What the files of a repository declare, and which function a call runs.
//!
//! The index is built on all cores. Declarations of a file are cached by its
//! content, so that only files that changed are parsed again. Links are not
//! followed, and nothing is read outside of the repository.

mod cache;
mod codec;
mod resolver;

use std::collections::HashMap;
use std::path::Path;
use std::sync::OnceLock;

use flakewise_source::{Language, SourcePath, list_sources, load_file};
use rayon::prelude::*;

use crate::limits::{FILES, OVERLOADS, SUPERCLASSES};
use crate::outline::{Class, Function, Outline};
use crate::scope::ParsedFile;
pub use resolver::FileResolver;

use cache::Cache;

/// The declarations of the files of a repository.
#[derive(Debug, Default)]
pub struct Index {
    /// Sorted by path.
    files: Vec<IndexedFile>,
    /// Classes by simple name, in the order of files.
    classes: HashMap<String, Vec<ClassRef>>,
    /// Python files by the last part of their module.
    modules: HashMap<String, Vec<u32>>,
    /// Java files by package.
    packages: HashMap<String, Vec<u32>>,
}

/// A file of the index.
#[derive(Debug)]
struct IndexedFile {
    path: String,
    language: Language,
    outline: Outline,
    /// By class, the functions in it; the last list has those in none.
    functions: Vec<Vec<u32>>,
    /// The same lists, sorted by name.
    by_name: Vec<Vec<u32>>,
    /// By class, filled on first use.
    lineages: Vec<OnceLock<Lineage>>,
    is_test: bool,
}

/// A class of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ClassRef {
    pub(crate) file: u32,
    pub(crate) class: u32,
}

/// A function of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FunctionRef {
    pub(crate) file: u32,
    pub(crate) function: u32,
}

/// A class and what it extends.
#[derive(Debug)]
struct Lineage {
    /// The class and its superclasses, nearest first.
    classes: Box<[ClassRef]>,
    /// The first superclass that is not in the repository, as it is written.
    library: Option<String>,
}

/// What a call runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Target {
    Function(FunctionRef),
    /// A class without a constructor that is written.
    Class(ClassRef),
}

impl Target {
    pub(crate) fn file(self) -> u32 {
        match self {
            Self::Function(at) => at.file,
            Self::Class(at) => at.file,
        }
    }
}

/// How an index was built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexSummary {
    /// Files in it.
    pub files: usize,
    /// Files that had to be parsed.
    pub parsed: usize,
    /// Of the paths and contents of all files.
    pub digest: [u8; 32],
}

impl Index {
    /// Reads the Java and Python files below a root. Declarations of files
    /// that did not change come from the cache at `cache`, which is then
    /// written again if anything changed. A cache that cannot be read or
    /// written is not missed.
    pub fn build(root: &Path, cache: Option<&Path>) -> (Self, IndexSummary) {
        let sources = list_sources(root, &[Language::Java, Language::Python], FILES);
        let mut known = cache.map(Cache::load).unwrap_or_default();
        let read: Vec<_> = sources
            .into_par_iter()
            .filter_map(|source| {
                let bytes = load_file(root, &source.path).ok()?;
                let key = cache::key(source.language, &bytes);
                let (outline, is_new) = match known.get(&key) {
                    Some(outline) => (outline, false),
                    None => (read_outline(source.language, &bytes), true),
                };
                Some((source, key, outline, is_new))
            })
            .collect();
        let parsed = read.iter().filter(|(.., is_new)| *is_new).count();
        let mut digest = blake3::Hasher::new();
        for (source, key, ..) in &read {
            digest
                .update(&(source.path.len() as u64).to_le_bytes())
                .update(source.path.as_bytes())
                .update(key);
        }
        let summary = IndexSummary { files: read.len(), parsed, digest: *digest.finalize().as_bytes() };
        if let Some(path) = cache
            && (parsed > 0 || known.len() != read.len())
        {
            known.replace(read.iter().map(|(_, key, outline, _)| (*key, outline)));
            // Without a cache, the next run takes longer.
            let _ = known.save(path);
        }
        (Self::new(read.into_iter().map(|(source, _, outline, _)| (source, outline))), summary)
    }

    /// An index of declarations that are at hand.
    pub fn new(outlines: impl IntoIterator<Item = (SourcePath, Outline)>) -> Self {
        let mut index = Self::default();
        for (SourcePath { path, language }, outline) in outlines {
            let mut functions = vec![Vec::new(); outline.classes.len() + 1];
            for (at, function) in (0..).zip(&outline.functions) {
                let class = function.class.map_or(outline.classes.len(), |class| class as usize);
                functions[class].push(at);
            }
            let mut by_name = functions.clone();
            for list in &mut by_name {
                list.sort_by_key(|at| outline.functions[*at as usize].name.as_str());
            }
            let lineages = outline.classes.iter().map(|_| OnceLock::new()).collect();
            let is_test = is_test_path(&path);
            index.files.push(IndexedFile { path, language, outline, functions, by_name, lineages, is_test });
        }
        index.files.sort_by(|left, right| left.path.cmp(&right.path));
        for (at, file) in (0..).zip(&index.files) {
            for (class_at, class) in (0..).zip(&file.outline.classes) {
                let named = index.classes.entry(class.name.clone()).or_default();
                if named.len() < OVERLOADS {
                    named.push(ClassRef { file: at, class: class_at });
                }
            }
            if file.language == Language::Python {
                let module = module_of(&file.path);
                let last = module.rsplit('.').next().unwrap_or_default().to_owned();
                index.modules.entry(last).or_default().push(at);
            } else {
                index.packages.entry(file.outline.package.clone()).or_default().push(at);
            }
        }
        index
    }

    /// Resolves the calls of a file. A file that is not in the index has no
    /// resolver.
    pub fn resolver(&self, path: &str) -> Option<FileResolver<'_>> {
        Some(FileResolver::new(self, self.file(path)?))
    }

    /// The files that hold the superclasses of a class of a file, nearest
    /// first, without the file itself.
    pub fn superclass_files(&self, path: &str, class: &str) -> Vec<&str> {
        let Some(resolver) = self.resolver(path) else { return Vec::new() };
        let Some(start) = resolver.own_class(class) else { return Vec::new() };
        let mut paths: Vec<&str> = Vec::new();
        for found in self.lineage(start) {
            let file = self.files[found.file as usize].path.as_str();
            if file != path && !paths.contains(&file) {
                paths.push(file);
            }
        }
        paths
    }

    /// A class and its superclasses, nearest first. Cycles end it.
    pub(crate) fn lineage(&self, start: ClassRef) -> &[ClassRef] {
        &self.whole_lineage(start).classes
    }

    /// The first superclass of a class that is not in the repository, as it is
    /// written.
    pub(crate) fn library_base(&self, class: ClassRef) -> Option<&str> {
        self.whole_lineage(class).library.as_deref()
    }

    fn whole_lineage(&self, start: ClassRef) -> &Lineage {
        let lineage = &self.files[start.file as usize].lineages[start.class as usize];
        lineage.get_or_init(|| self.find_lineage(start))
    }

    fn find_lineage(&self, start: ClassRef) -> Lineage {
        let mut classes = vec![start];
        let mut library = None;
        let mut next = 0;
        while let Some(class) = classes.get(next).copied() {
            next += 1;
            let resolver = FileResolver::new(self, class.file);
            for base in &self.class(class).bases {
                let found = resolver.class(base);
                if found.is_none() && library.is_none() {
                    library = Some(base.clone());
                }
                let found = found.filter(|found| classes.len() < SUPERCLASSES && !classes.contains(found));
                classes.extend(found);
            }
        }
        Lineage { classes: classes.into_boxed_slice(), library }
    }

    /// How many files there are.
    pub(crate) fn len(&self) -> u32 {
        u32::try_from(self.files.len()).expect("the number of files is limited")
    }

    pub(crate) fn file(&self, path: &str) -> Option<u32> {
        let at = self.files.binary_search_by(|file| file.path.as_str().cmp(path)).ok()?;
        u32::try_from(at).ok()
    }

    pub(crate) fn path(&self, file: u32) -> &str {
        &self.files[file as usize].path
    }

    pub(crate) fn language(&self, file: u32) -> Language {
        self.files[file as usize].language
    }

    pub(crate) fn outline(&self, file: u32) -> &Outline {
        &self.files[file as usize].outline
    }

    pub(crate) fn function(&self, at: FunctionRef) -> &Function {
        &self.files[at.file as usize].outline.functions[at.function as usize]
    }

    fn class(&self, at: ClassRef) -> &Class {
        &self.files[at.file as usize].outline.classes[at.class as usize]
    }

    pub(crate) fn class_name(&self, at: ClassRef) -> &str {
        &self.class(at).name
    }

    /// The class of a method, or the class itself.
    pub(crate) fn class_of(&self, target: Target) -> Option<ClassRef> {
        match target {
            Target::Function(at) => self.function(at).class.map(|class| ClassRef { file: at.file, class }),
            Target::Class(class) => Some(class),
        }
    }

    /// The functions of a class.
    pub(crate) fn functions(&self, at: ClassRef) -> impl Iterator<Item = u32> + '_ {
        self.files[at.file as usize].functions[at.class as usize].iter().copied()
    }

    /// The functions of a file that are in no class.
    pub(crate) fn module_functions(&self, file: u32) -> impl Iterator<Item = u32> + '_ {
        self.files[file as usize].functions.iter().next_back().into_iter().flatten().copied()
    }

    /// Whether a file holds tests or what they need, rather than code under test.
    pub(crate) fn is_test_file(&self, file: u32) -> bool {
        self.files[file as usize].is_test
    }

    pub(crate) fn is_test(&self, target: Target) -> bool {
        self.is_test_file(target.file())
    }
}

fn read_outline(language: Language, bytes: &[u8]) -> Outline {
    let text = String::from_utf8_lossy(bytes);
    flakewise_source::SyntaxTree::parse(language, &text).map(|tree| Outline::read(&tree)).unwrap_or_default()
}

/// Parses the file of a class and those of its superclasses, for a scope.
pub fn parse_files(root: &Path, index: &Index, path: &str, class: &str) -> Vec<ParsedFile> {
    let paths = std::iter::once(path).chain(index.superclass_files(path, class));
    paths
        .filter_map(|path| {
            let language = Language::of_path(path)?;
            let bytes = load_file(root, path).ok()?;
            ParsedFile::parse(language, &String::from_utf8_lossy(&bytes))
        })
        .collect()
}

/// The module of a Python file, from the root: `shop.cart` of `shop/cart.py`
/// and `shop` of `shop/__init__.py`.
fn module_of(path: &str) -> String {
    let stem = path.strip_suffix(".py").unwrap_or(path);
    let stem = stem.strip_suffix("/__init__").unwrap_or(stem);
    stem.replace('/', ".")
}

/// Whether a file holds tests or what they need, rather than code under test.
fn is_test_path(path: &str) -> bool {
    let folders = path.rsplit_once('/').map_or("", |(folders, _)| folders);
    let in_tests = folders.split('/').any(|folder| {
        matches!(
            folder,
            "test" | "tests" | "testing" | "androidTest" | "integrationTest" | "it" | "testFixtures"
        )
    });
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    in_tests
        || ["Test", "Tests", "TestCase", "IT", "_test"].iter().any(|end| stem.ends_with(end))
        || stem.starts_with("test_")
        || stem == "conftest"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_told_by_their_paths() {
        for path in ["src/test/java/a/Util.java", "tests/helper.py", "shop/CartTest.java", "conftest.py"] {
            assert!(is_test_path(path), "{path}");
        }
        for path in ["src/main/java/a/Util.java", "shop/latest.py", "contest/cart.py"] {
            assert!(!is_test_path(path), "{path}");
        }
        assert_eq!(module_of("src/shop/__init__.py"), "src.shop");
    }
}
