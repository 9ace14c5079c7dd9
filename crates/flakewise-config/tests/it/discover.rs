//! Which file is read.

use std::path::{Path, PathBuf};

use flakewise_config::{Config, ConfigError, discover};

struct Tree(tempfile::TempDir);

impl Tree {
    fn new(files: &[(&str, &str)]) -> Self {
        let tree = Self(tempfile::tempdir().expect("made"));
        for (name, text) in files {
            let path = tree.path(name);
            std::fs::create_dir_all(path.parent().expect("in a folder")).expect("made");
            std::fs::write(path, text).expect("written");
        }
        tree
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().expect("there").join(name)
    }

    fn discover(&self, folder: &str, root: Option<&str>) -> Result<Config, ConfigError> {
        std::fs::create_dir_all(self.path(folder)).expect("made");
        discover(&self.path(folder), root.map(|root| self.path(root)).as_deref())
    }
}

const OWN: &str = "store = \"own\"\n";
const TABLE: &str = "[tool.flakewise]\nstore = \"table\"\n";

#[test]
fn the_nearest_file_counts() {
    let tree = Tree::new(&[
        ("flakewise.toml", OWN),
        ("a/pyproject.toml", TABLE),
        ("a/b/pyproject.toml", "[tool.ruff]"),
    ]);
    let found = |folder| tree.discover(folder, Some("")).expect("read").path().map(Path::to_owned);
    assert_eq!(found(""), Some(PathBuf::from("flakewise.toml")));
    assert_eq!(found("x/y"), Some(PathBuf::from("../../flakewise.toml")));
    assert_eq!(found("a"), Some(PathBuf::from("pyproject.toml")));
    assert_eq!(found("a/b"), Some(PathBuf::from("../pyproject.toml")));
}

#[test]
fn nothing_above_the_root_is_read() {
    let tree = Tree::new(&[("flakewise.toml", OWN)]);
    assert_eq!(tree.discover("a/b", Some("a")).expect("read"), Config::default());
    assert_eq!(tree.discover("a/b", None).expect("read"), Config::default());
    assert!(tree.discover("", None).expect("read").path().is_some());
}

#[test]
fn paths_are_relative_to_the_file() {
    let tree = Tree::new(&[("flakewise.toml", "store = \"data/history\"\n[owners]\nfile = \"OWNERS\"\n")]);
    let config = tree.discover("a/b", Some("")).expect("read");
    assert_eq!(config.resolve("data/history"), Path::new("../../data/history"));
    assert_eq!(config.resolve("OWNERS"), Path::new("../../OWNERS"));
    assert_eq!(config.resolve("/data"), Path::new("/data"));
    assert_eq!(config.resolve("s3://bucket/x"), Path::new("s3://bucket/x"));
}

#[test]
fn two_files_of_one_folder_are_an_error() {
    let tree = Tree::new(&[("flakewise.toml", OWN), ("pyproject.toml", TABLE)]);
    let error = tree.discover("", None).expect_err("two files");
    assert_eq!(
        error.to_string(),
        "both `flakewise.toml` and `[tool.flakewise]` in `pyproject.toml` configure flakewise"
    );
    assert!(error.hint().expect("advice").contains("remove `[tool.flakewise]`"));
}

#[test]
fn files_that_cannot_be_configuration_are_refused() {
    let large = "# comment\n".repeat(100_001);
    let error = Tree::new(&[("flakewise.toml", &large)]).discover("", None).expect_err("too large");
    assert!(matches!(error, ConfigError::TooLarge { .. }), "{error}");
    let tree = Tree::new(&[]);
    std::fs::write(tree.path("flakewise.toml"), b"store = \"\xff\"").expect("written");
    let error = tree.discover("", None).expect_err("not text");
    assert!(matches!(error, ConfigError::NotText { .. }), "{error}");
}

#[test]
fn a_folder_of_that_name_is_no_file() {
    let tree = Tree::new(&[("flakewise.toml/x", "")]);
    assert_eq!(tree.discover("", None).expect("read"), Config::default());
}

#[test]
fn other_peoples_mistakes_are_not_ours() {
    let tree = Tree::new(&[("pyproject.toml", "[tool.ruff\n")]);
    assert_eq!(tree.discover("", None).expect("read"), Config::default());
    let tree = Tree::new(&[("pyproject.toml", "[tool.ruff\nflakewise"), ("flakewise.toml", OWN)]);
    assert!(tree.discover("", None).expect("read").path().is_some());
    let tree = Tree::new(&[("pyproject.toml", "dependencies = [\"flakewise\"]\n")]);
    assert_eq!(tree.discover("", None).expect("read"), Config::default());
}
