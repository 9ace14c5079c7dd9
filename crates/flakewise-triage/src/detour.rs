//! Ways to a changed file that a run which passed did not take.
//!
//! A flaky test is mostly watched while it passes. Code that runs only when it
//! fails, a fallback for one, may be imported or opened there and nowhere else. So
//! a test is not cleared of a change that a file it loads names, by an `import`
//! anywhere in it or by the name of a data file, nor of one that such an import
//! leads to. This is text, not resolution: it errs towards "may load".

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};

use crate::Change;
use crate::git::Git;

/// Larger files are data.
const MOST_BYTES: u64 = 1 << 20;
/// No more files than this are read for one test.
const MOST_FILES: usize = 4_000;

/// Why a run that passed does not clear a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Detour {
    /// A file names a changed one.
    Names { by: String, changed: String },
    /// There are too many files to look at.
    TooManyFiles,
}

impl fmt::Display for Detour {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Names { by, changed } => {
                write!(formatter, "`{by}` imports or names `{changed}`, which changed")?;
            }
            Self::TooManyFiles => write!(formatter, "it loads more than {MOST_FILES} files")?,
        }
        formatter.write_str("; no failing run was observed")
    }
}

/// The files of a repository by the names under which others name them.
pub(crate) struct Detours {
    root: PathBuf,
    changed: HashSet<String>,
    /// Python files by the names of their modules, with the package they are in.
    modules: HashMap<String, Vec<(String, String)>>,
    /// Changed files that are no Python, by their names.
    data: Vec<(String, String)>,
    /// What was read already.
    named: HashMap<String, Vec<String>>,
}

impl Detours {
    pub(crate) fn new(change: &Change) -> Self {
        let list = Git::at(&change.root).bytes(&["ls-files", "-z", "--", "*.py"]).unwrap_or_default();
        let tracked = list.split(|byte| *byte == 0).filter_map(|path| std::str::from_utf8(path).ok());
        Self::among(&change.root, tracked, change.files.iter().map(|file| file.path.clone()).collect())
    }

    fn among<'a>(root: &Path, tracked: impl Iterator<Item = &'a str>, changed: HashSet<String>) -> Self {
        let mut modules: HashMap<String, Vec<(String, String)>> = HashMap::new();
        let paths: BTreeSet<String> = tracked.map(str::to_owned).chain(changed.iter().cloned()).collect();
        let is_package = |folder: &str| paths.contains(&format!("{folder}/__init__.py"));
        for path in &paths {
            if let Some((folder, module)) = module(path) {
                let package =
                    if is_package(folder) { folder.rsplit('/').next().unwrap_or(folder) } else { "" };
                modules.entry(module.to_owned()).or_default().push((package.to_owned(), path.clone()));
            }
        }
        let is_data = |path: &&String| module(path).is_none();
        let name = |path: &String| path.rsplit('/').next().unwrap_or(path).to_owned();
        let data = changed.iter().filter(is_data).map(|path| (name(path), path.clone())).collect();
        Self { root: root.to_owned(), changed, modules, data, named: HashMap::new() }
    }

    /// How these files may lead to a changed one.
    pub(crate) fn find<'a>(&mut self, loaded: impl Iterator<Item = &'a str>) -> Option<Detour> {
        let below = |path: &str| Some(path.strip_prefix(self.root.to_str()?)?.strip_prefix('/')?.to_owned());
        let mut open: Vec<String> = loaded.filter(|path| module(path).is_some()).filter_map(below).collect();
        let mut seen: HashSet<String> = open.iter().cloned().collect();
        let mut read = 0;
        while let Some(path) = open.pop() {
            read += 1;
            if read > MOST_FILES {
                return Some(Detour::TooManyFiles);
            }
            for named in self.named_in(&path) {
                if self.changed.contains(&named) && !seen.contains(&named) {
                    return Some(Detour::Names { by: path, changed: named });
                }
                if seen.insert(named.clone()) {
                    open.push(named);
                }
            }
        }
        None
    }

    fn named_in(&mut self, path: &str) -> Vec<String> {
        if let Some(known) = self.named.get(path) {
            return known.clone();
        }
        let file = self.root.join(path);
        let is_small = file.metadata().is_ok_and(|data| data.is_file() && data.len() <= MOST_BYTES);
        let text = is_small.then(|| std::fs::read(&file).ok()).flatten().unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let mut named: BTreeSet<String> = BTreeSet::new();
        for statement in imports(&text) {
            let is_relative = statement.contains("from .");
            let words: HashSet<&str> = words(statement).collect();
            for word in &words {
                for (package, other) in self.modules.get(*word).into_iter().flatten() {
                    if package.is_empty() || is_relative || words.contains(package.as_str()) {
                        named.insert(other.clone());
                    }
                }
            }
        }
        named.extend(self.data.iter().filter(|(name, _)| text.contains(name)).map(|(_, path)| path.clone()));
        let named: Vec<String> = named.into_iter().filter(|other| other != path).collect();
        self.named.insert(path.to_owned(), named.clone());
        named
    }
}

/// The folder of a Python file and the name of its module; a package has the name
/// of its folder.
fn module(path: &str) -> Option<(&str, &str)> {
    let stem = path.strip_suffix(".py")?;
    let stem = stem.strip_suffix("/__init__").unwrap_or(stem);
    Some(stem.rsplit_once('/').unwrap_or(("", stem)))
}

/// The lines of a text that import something, with what is in parentheses after.
fn imports(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let place = rest.find("import")?;
        let start = rest[..place].rfind('\n').map_or(0, |end| end + 1);
        let line = rest[place..].find('\n').map_or(rest.len(), |length| place + length);
        let end = match rest[place..line].find('(') {
            Some(_) => rest[place..].find(')').map_or(line, |length| (place + length).max(line)),
            None => line,
        };
        let statement = &rest[start..end];
        rest = &rest[end..];
        Some(statement)
    })
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_found_wherever_they_stand() {
        let text = "import os\n\ndef f():\n    from shop import (\n        cart,\n        fallback,\n    )\n    \
                    g(1)\n\nx = importlib.import_module(\"shop.late\")\n";
        let found: Vec<Vec<&str>> = imports(text).map(|statement| words(statement).collect()).collect();
        assert_eq!(
            found,
            [
                vec!["import", "os"],
                vec!["from", "shop", "import", "cart", "fallback"],
                vec!["x", "importlib", "import_module", "shop", "late"]
            ]
        );
    }

    #[test]
    fn what_a_loaded_file_may_load_is_found_through_others() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("it is there");
        let files = [
            ("tests/test_a.py", "def test_a():\n    from shop import late\n"),
            ("tests/test_b.py", "import shop\n\nOTHER = 'fallback.py', 'fallback'\n"),
            ("tests/test_c.py", "LIMIT = open('shop/limit.txt').read()\n"),
            ("shop/__init__.py", ""),
            ("shop/late.py", "from .fallback import answer\n"),
            ("shop/fallback.py", ""),
            ("tools/fallback.py", "import shop\n"),
        ];
        for (path, text) in files {
            std::fs::create_dir_all(root.join(path).parent().expect("a folder")).expect("it can be made");
            std::fs::write(root.join(path), text).expect("it can be written");
        }
        let changed = ["shop/fallback.py", "shop/limit.txt"].map(str::to_owned).into();
        let mut detours = Detours::among(&root, files.iter().map(|(path, _)| *path), changed);
        let mut from = |path: &str| {
            let path = root.join(path);
            detours.find([path.to_str().expect("text"), "/usr/lib/python3/os.py"].into_iter())
        };
        let found =
            |changed: &str, by: &str| Some(Detour::Names { by: by.to_owned(), changed: changed.to_owned() });
        assert_eq!(from("tests/test_a.py"), found("shop/fallback.py", "shop/late.py"));
        assert_eq!(from("tests/test_b.py"), None);
        assert_eq!(from("tests/test_c.py"), found("shop/limit.txt", "tests/test_c.py"));
        assert_eq!(from("shop/fallback.py"), None, "it is loaded, and not what changed in another way");
    }

    #[test]
    fn modules_are_named_by_file_and_folder() {
        assert_eq!(module("src/shop/cart.py"), Some(("src/shop", "cart")));
        assert_eq!(module("src/shop/__init__.py"), Some(("src", "shop")));
        assert_eq!(module("setup.py"), Some(("", "setup")));
        assert_eq!(module("shop/limit.txt"), None);
    }
}
