//! What changed.

use std::path::Path;

use flakewise_triage::{ChangeError, ChangedFile, KeyEffect, LineRange, Shape};

use crate::repository::{Repository, discover, discover_with, file, git, kinds, lines};

const CART: &str = "one = 1\ntwo = 2\nthree = 3\nfour = 4\nfive = 5\nsix = 6\n";

#[test]
fn without_a_repository_or_a_commit_there_is_no_change() {
    let folder = tempfile::tempdir().expect("made");
    assert_eq!(discover(folder.path(), None, &[]).expect("asked"), None);
    assert_eq!(Repository::empty().discover(None, &[]).expect("asked"), None);
    let bare = folder.path().join("bare.git");
    git(folder.path(), &["init", "--quiet", "--bare", "bare.git"]);
    assert_eq!(discover(&bare, None, &[]).expect("asked"), None);
}

#[test]
fn a_broken_repository_is_an_error_and_not_an_absence() {
    let repository = Repository::new();
    repository.write(".git/config", "[core\n");
    let error = repository.discover(None, &[]).expect_err("broken");
    assert!(matches!(&error, ChangeError::Git { .. }), "{error}");
}

#[test]
fn committed_staged_unstaged_and_untracked_work_is_the_change() {
    let repository = Repository::on_branch();
    let base = repository.head();
    repository.write("committed.py", "");
    repository.commit("second");
    repository.write("staged.py", "");
    repository.git(&["add", "staged.py"]);
    repository.write("src/shop/tax.py", "rate = 7\n");
    repository.write("untracked.py", "x\n");
    repository.write("build/ignored.py", "");
    repository.write(".flakewise/history/x", "");
    repository.write("src/shop/__pycache__/tax.cpython-311.pyc", "");
    let change = repository.change();
    assert_eq!(kinds(&change), ["A committed.py", "M src/shop/tax.py", "A staged.py", "A untracked.py"]);
    assert_eq!((change.base.as_str(), change.found.as_str()), (base.as_str(), "merge base with main"));
    assert!(change.uncommitted);
    assert_eq!(file(&change, "untracked.py").lines, [LineRange::ALL]);
    assert_eq!(change.summary().files, 4);
    assert_eq!(change.root, repository.root());
}

#[test]
fn a_folder_below_the_top_gives_the_whole_change() {
    let repository = Repository::on_branch();
    repository.write("new.py", "");
    repository.write("src/shop/tax.py", "");
    let change = discover(&repository.root().join("src/shop"), None, &[]).expect("asked").expect("there");
    assert_eq!(kinds(&change), ["A new.py", "M src/shop/tax.py"]);
}

#[test]
fn lines_are_those_of_the_new_version() {
    let repository = Repository::on_branch();
    repository
        .write("src/shop/cart.py", CART.replace("two = 2\n", "").replace("five = 5", "five = 6\nmore = 1"));
    let change = repository.change();
    assert_eq!(lines(&change, "src/shop/cart.py"), [(1, 2), (4, 5)]);
    let cart = file(&change, "src/shop/cart.py");
    let changed: Vec<_> = (0..8).filter(|line| cart.is_changed(*line)).collect();
    assert_eq!(changed, [1, 2, 4, 5]);
    assert!(cart.source && !cart.lossy && cart.shape == Shape::File);
}

#[test]
fn binary_files_and_permissions_have_no_lines() {
    let repository = Repository::on_branch();
    repository.write("data/prices.json", b"\0\x01\x02");
    repository.git(&["update-index", "--chmod=+x", "src/shop/tax.py"]);
    let change = repository.against("main");
    assert_eq!(lines(&change, "data/prices.json"), []);
    assert!(!file(&change, "data/prices.json").source);
}

const PYPROJECT: &str =
    "[project]\nname = 'shop'\nversion = '1.0'\n[tool.pytest.ini_options]\naddopts = '-q'\n";

#[test]
fn keys_of_configuration_files_are_compared_with_the_base() {
    let repository = Repository::new();
    for path in ["pyproject.toml", "tox.ini", "big.toml", "broken.toml", "gone.toml", "svc/pyproject.toml"] {
        repository.write(path, if path == "tox.ini" { "[pytest]\naddopts = -q\n" } else { PYPROJECT });
    }
    repository.commit("base");
    repository.git(&["checkout", "--quiet", "-b", "work"]);
    repository.write("pyproject.toml", PYPROJECT.replace("1.0", "1.1"));
    repository.commit("bumped");
    repository.write("tox.ini", "[pytest]\naddopts = -x\n[flake8]\nmax = 9\n");
    repository.git(&["add", "tox.ini"]);
    repository.write("svc/pyproject.toml", format!("# Nothing else\n{PYPROJECT}"));
    repository.write("big.toml", format!("{PYPROJECT}x = '{}'\n", "x".repeat(1 << 20)));
    repository.write("broken.toml", "[project");
    repository.write("new.toml", PYPROJECT);
    repository.remove("gone.toml");
    repository.write("data/prices.json", "{\"tea\": 2}\n");
    let change = repository.change();
    let keys = |path: &str| {
        let keys = file(&change, path).keys.as_ref()?;
        Some(keys.changed.iter().map(|key| (key.name.as_str(), key.effect)).collect::<Vec<_>>())
    };
    assert_eq!(keys("pyproject.toml"), Some(vec![("project.version", KeyEffect::Metadata)]));
    let tox = vec![("flake8.max", KeyEffect::Nothing), ("pytest.addopts", KeyEffect::Tests)];
    assert_eq!(keys("tox.ini"), Some(tox));
    assert_eq!(keys("svc/pyproject.toml"), Some(vec![]));
    for path in ["big.toml", "broken.toml", "new.toml", "gone.toml", "data/prices.json"] {
        assert_eq!(keys(path), None, "{path}");
    }
    // In the other direction, the large version is that of the base.
    repository.commit("all of it");
    repository.git(&["checkout", "--quiet", "-b", "back"]);
    repository.write("big.toml", PYPROJECT);
    assert_eq!(file(&repository.against("work"), "big.toml").keys, None);
}

#[test]
fn a_test_is_changed_with_its_file_or_its_lines() {
    let repository = Repository::on_branch();
    repository.write("src/shop/cart.py", CART.replace("three = 3", "three = 4"));
    repository.write("tests/test_new.py", "def test_a(): pass\n");
    repository.remove("src/shop/tax.py");
    let change = repository.change();
    let cart = Path::new("src/shop/cart.py");
    let changes = |lines| change.changes_test(cart, lines);
    assert!(changes(None) && changes(Some((1, 3))) && changes(Some((3, 9))) && changes(Some((3, 3))));
    assert!(!changes(Some((1, 2))) && !changes(Some((4, 9))));
    assert!(change.changes_test(&repository.root().join(cart), Some((3, 3))));
    assert!(change.changes_test(&repository.root().join("src/../src/shop/cart.py"), Some((3, 3))));
    for path in ["tests/test_new.py", "src/shop/tax.py"] {
        assert!(change.changes_test(Path::new(path), Some((40, 41))), "{path}");
    }
    for path in ["tests/test_cart.py", "elsewhere.py", "/src/shop/cart.py", ""] {
        assert!(!change.changes_test(Path::new(path), None), "{path}");
        assert_eq!(change.file(Path::new(path)), None::<&ChangedFile>, "{path}");
    }
}

#[test]
fn a_rename_is_a_removal_and_an_addition_with_the_folders_that_move() {
    let repository = Repository::on_branch();
    repository.git(&["mv", "data", "prices"]);
    repository.commit("moved");
    let change = repository.change();
    assert_eq!(kinds(&change), ["D data/prices.json", "A prices/prices.json"]);
    assert_eq!(file(&change, "data/prices.json").folder.as_deref(), Some("data"));
    assert_eq!(file(&change, "prices/prices.json").folder.as_deref(), Some("prices"));
    assert_eq!(lines(&change, "data/prices.json"), []);
}

#[test]
fn a_file_that_is_no_longer_tracked_but_still_there_is_modified() {
    let repository = Repository::on_branch();
    repository.git(&["rm", "--quiet", "--cached", "src/shop/tax.py"]);
    let change = repository.change();
    assert_eq!(kinds(&change), ["M src/shop/tax.py"]);
    assert_eq!(file(&change, "src/shop/tax.py").lines, [LineRange::ALL]);
}

#[test]
fn what_was_staged_and_taken_back_in_the_work_tree_is_no_change() {
    let repository = Repository::on_branch();
    repository.write("src/shop/tax.py", "rate = 7\n");
    repository.git(&["add", "--all"]);
    repository.write("src/shop/tax.py", "rate = 19\n");
    let change = repository.against("main");
    assert_eq!(kinds(&change), Vec::<String>::new());
    assert!(change.is_empty());
}

#[cfg(unix)]
#[test]
fn hostile_names_are_read_as_they_are() {
    use std::os::unix::ffi::OsStrExt as _;
    let names = [
        "-rf.py",
        "a\nb.py",
        "with \"quotes\".py",
        "back\\slash.py",
        "blank at end ",
        "tab\t.py",
        "é.py",
        ":(top)x",
    ];
    for name in names {
        let repository = Repository::on_branch();
        repository.write(name, "one\n");
        repository.git(&["add", "--all"]);
        repository.commit("base");
        repository.git(&["branch", "--force", "main"]);
        repository.write(name, "one\ntwo\n");
        repository.commit("more");
        let change = repository.against("main");
        assert_eq!(kinds(&change), [format!("M {name}")]);
        assert_eq!(lines(&change, name), [(2, 2)], "{name:?}");
        repository.write(&format!("untracked {name}"), "");
        assert_eq!(repository.against("main").files.len(), 2);
    }
    let repository = Repository::on_branch();
    std::fs::write(repository.root().join(std::ffi::OsStr::from_bytes(b"\xff.py")), "x\n").expect("written");
    let change = repository.against("main");
    assert_eq!(kinds(&change), ["A \u{fffd}.py"]);
    assert_eq!(change.lossy_names(), 1);
    repository.commit("with a strange name");
    assert_eq!(repository.change().lossy_names(), 1);
    assert_eq!(lines(&repository.change(), "\u{fffd}.py"), [(1, 1)]);
}

#[test]
fn settings_of_the_user_do_not_change_the_answer() {
    let repository = Repository::on_branch();
    for (name, value) in [
        ("diff.noprefix", "true"),
        ("diff.mnemonicPrefix", "true"),
        ("diff.external", "false"),
        ("diff.context", "9"),
        ("diff.interHunkContext", "50"),
        ("diff.renames", "copies"),
        ("diff.relative", "true"),
        ("diff.submodule", "log"),
        ("diff.autoRefreshIndex", "false"),
        ("color.ui", "always"),
        ("core.quotePath", "true"),
        ("core.pager", "false"),
        ("diff.py.textconv", "false"),
    ] {
        repository.git(&["config", name, value]);
    }
    repository.write(".gitattributes", "*.py diff=py\n");
    repository.write("src/shop/cart.py", CART.replace("two = 2", "two = 3").replace("five = 5", "five = 6"));
    repository.git(&["mv", "src/shop/tax.py", "src/shop/täx.py"]);
    let change = discover(&repository.root().join("src"), None, &[]).expect("asked").expect("there");
    assert_eq!(
        kinds(&change),
        ["A .gitattributes", "M src/shop/cart.py", "D src/shop/tax.py", "A src/shop/täx.py"]
    );
    assert_eq!(lines(&change, "src/shop/cart.py"), [(2, 2), (5, 5)]);
}

#[cfg(unix)]
#[test]
fn symbolic_links_are_told_from_files() {
    let repository = Repository::on_branch();
    repository.remove("data/prices.json");
    std::fs::create_dir_all(repository.root().join("data")).expect("made");
    std::os::unix::fs::symlink("../src", repository.root().join("data/prices.json")).expect("made");
    std::os::unix::fs::symlink("src", repository.root().join("link")).expect("made");
    let change = repository.change();
    assert_eq!(kinds(&change), ["T data/prices.json", "A link"]);
    assert!(change.files.iter().all(|file| file.shape == Shape::Symlink));
}

#[test]
fn repositories_inside_are_one_entry() {
    let other = Repository::new();
    let repository = Repository::new();
    let address = other.root().to_str().expect("UTF-8");
    repository.git(&["submodule", "--quiet", "add", address, "vendor/other"]);
    repository.commit("with a submodule");
    repository.git(&["checkout", "--quiet", "-b", "work"]);
    repository.write("vendor/other/src/shop/tax.py", "rate = 0\n");
    repository.git(&["clone", "--quiet", address, "nested"]);
    let change = repository.change();
    assert_eq!(kinds(&change), ["A nested", "M vendor/other"]);
    assert!(change.files.iter().all(|file| file.shape == Shape::Folder && !file.source));
}

#[test]
fn an_unresolved_conflict_is_a_change_with_its_marks() {
    let repository = Repository::on_branch();
    repository.write("src/shop/tax.py", "rate = 7\n");
    repository.commit("lower");
    repository.git(&["checkout", "--quiet", "-b", "other", "main"]);
    repository.write("src/shop/tax.py", "rate = 25\n");
    repository.commit("higher");
    // It exits with a failure, as it conflicts.
    let status = std::process::Command::new("git")
        .current_dir(repository.root())
        .args(["-c", "user.name=a", "-c", "user.email=a@example.org", "merge", "--quiet", "work"])
        .output()
        .map(|output| output.status);
    assert!(!status.expect("git is installed").success());
    let change = repository.change();
    assert_eq!(kinds(&change), ["M src/shop/tax.py"]);
    assert_eq!(lines(&change, "src/shop/tax.py"), [(1, 5)]);
}

#[test]
fn a_named_base_is_compared_from_where_the_histories_part() {
    let repository = Repository::on_branch();
    let fork = repository.head();
    repository.write("new.py", "");
    repository.commit("on the branch");
    repository.git(&["checkout", "--quiet", "main"]);
    repository.write("elsewhere.py", "");
    repository.commit("on main");
    repository.git(&["checkout", "--quiet", "work"]);
    let change = repository.against("main");
    assert_eq!((change.base.as_str(), kinds(&change)), (fork.as_str(), vec!["A new.py".to_owned()]));
    let same = repository.against("HEAD");
    assert!(same.is_empty() && !same.uncommitted);
}

#[test]
fn a_named_base_without_common_history_is_taken_as_it_is() {
    let repository = Repository::new();
    repository.git(&["checkout", "--quiet", "--orphan", "island"]);
    repository.write("only.py", "");
    let island = repository.commit("alone");
    repository.git(&["checkout", "--quiet", "main"]);
    let change = repository.against("island");
    assert_eq!(change.base, island);
    assert_eq!(change.found, "island, which shares no history with HEAD");
    assert_eq!(kinds(&change), ["D only.py"]);
}

#[test]
fn a_base_that_does_not_exist_is_an_error() {
    let repository = Repository::new();
    for base in ["nowhere", "--output=/tmp/x", "", "HEAD:data", "a b"] {
        let error = repository.discover(Some(base), &[]).expect_err("unknown");
        assert!(matches!(&error, ChangeError::UnknownBase { base: named } if named == base), "{error}");
        assert!(error.hint().is_some());
    }
}

/// A clone of a repository whose branch `work` is one commit ahead of `main`
/// and of `release`, which parted earlier.
fn cloned(arguments: &[&str]) -> (Repository, std::path::PathBuf, [String; 2]) {
    let repository = Repository::new();
    let first = repository.head();
    repository.git(&["branch", "release"]);
    repository.write("second.py", "");
    let second = repository.commit("second");
    repository.git(&["checkout", "--quiet", "-b", "work"]);
    repository.write("third.py", "");
    repository.commit("third");
    let clone = repository.beside("clone");
    let address = format!("file://{}", repository.root().display());
    let target = clone.to_str().expect("UTF-8").to_owned();
    let command = [&["clone", "--quiet", "--branch=work"], arguments, &[&address, &target]].concat();
    repository.git(&command);
    (repository, clone, [first, second])
}

type Variables<'a> = &'a [(&'a str, &'a str)];

#[test]
fn the_main_branch_of_the_project_counts_where_ci_names_no_target() {
    let (repository, clone, [first, second]) = cloned(&[]);
    let found = |base, main, variables: Variables<'_>| {
        let change = discover_with(&clone, base, Some(main), variables).expect("asked").expect("there");
        (change.base, change.found)
    };
    let release = (first, "merge base with origin/release".to_owned());
    let main = (second, "merge base with origin/main".to_owned());
    assert_eq!(found(None, "release", &[]), release);
    assert_eq!(found(None, "origin/release", &[]), release);
    assert_eq!(found(None, "release", &[("CI_DEFAULT_BRANCH", "main")]), release);
    assert_eq!(found(None, "release", &[("GITHUB_BASE_REF", "main")]), main);
    assert_eq!(found(Some("origin/main"), "release", &[]), main);
    // On that branch itself it is as ever.
    assert_eq!(found(None, "work", &[]).1, "parent of HEAD");
    let error = discover_with(&clone, None, Some("nowhere"), &[]).expect_err("unknown");
    assert!(matches!(error, ChangeError::UnknownBase { .. }), "{error}");
    drop(repository);
}

#[test]
fn the_target_branch_of_the_ci_system_is_the_base() {
    let (_repository, clone, [first, second]) = cloned(&[]);
    let cases: [(Variables<'_>, &str, &str); 9] = [
        (&[("GITHUB_BASE_REF", "release")], &first, "merge base with origin/release"),
        (&[("GITHUB_BASE_REF", "")], &second, "merge base with origin/main"),
        (&[("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "release")], &first, "merge base with origin/release"),
        (&[("CHANGE_TARGET", "release")], &first, "merge base with origin/release"),
        (&[("BUILDKITE_PULL_REQUEST_BASE_BRANCH", "release")], &first, "merge base with origin/release"),
        (
            &[("SYSTEM_PULLREQUEST_TARGETBRANCH", "refs/heads/release")],
            &first,
            "merge base with origin/release",
        ),
        (
            &[("TRAVIS_BRANCH", "release"), ("TRAVIS_PULL_REQUEST", "false")],
            &second,
            "merge base with origin/main",
        ),
        (
            &[("CI_MERGE_REQUEST_DIFF_BASE_SHA", &first), ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main")],
            &first,
            &format!("merge base with {}", &first[..12]),
        ),
        (&[("CI_DEFAULT_BRANCH", "release")], &first, "merge base with origin/release"),
    ];
    for (variables, base, found) in cases {
        git(&clone, &["remote", "set-head", "origin", "--delete"]);
        let change = discover(&clone, None, variables).expect("asked").expect("there");
        assert_eq!((change.base.as_str(), change.found.as_str()), (base, found), "{variables:?}");
    }
    let named =
        discover(&clone, Some("release"), &[("GITHUB_BASE_REF", "main")]).expect("asked").expect("there");
    assert_eq!((named.base, named.found.as_str()), (first, "merge base with origin/release"));
    let error = discover(&clone, None, &[("GITHUB_BASE_REF", "gone")]).expect_err("not fetched");
    assert!(matches!(&error, ChangeError::TargetNotFetched { branch } if branch == "gone"), "{error}");
}

#[test]
fn a_shallow_clone_is_an_error_that_says_how_to_fetch_more() {
    let (_repository, clone, _) = cloned(&["--depth=1", "--no-single-branch"]);
    for variables in [&[("GITHUB_BASE_REF", "release")][..], &[("GITHUB_BASE_REF", "gone")], &[]] {
        let error = discover(&clone, None, variables).expect_err("too shallow");
        assert!(matches!(error, ChangeError::Shallow { .. }), "{error}");
        assert!(error.hint().expect("there is something to do").contains("fetch-depth: 0"));
    }
    let error = discover(&clone, Some("origin/release"), &[]).expect_err("too shallow");
    assert_eq!(error.to_string(), "the clone is too shallow to find the merge base with origin/release");
}

#[test]
fn the_merge_that_github_checks_out_is_compared_with_what_it_merges_into() {
    let (repository, clone, [_, second]) = cloned(&["--depth=1"]);
    repository.git(&["checkout", "--quiet", "main"]);
    repository.git(&["merge", "--quiet", "--no-ff", "--message", "merge", "work"]);
    repository.git(&["update-ref", "refs/pull/7/merge", "HEAD"]);
    let merge = repository.head();
    git(&clone, &["fetch", "--quiet", "--depth=2", "origin", "refs/pull/7/merge"]);
    git(&clone, &["checkout", "--quiet", "FETCH_HEAD"]);
    let variables =
        [("GITHUB_BASE_REF", "main"), ("GITHUB_REF", "refs/pull/7/merge"), ("GITHUB_SHA", merge.as_str())];
    let change = discover(&clone, None, &variables).expect("asked").expect("there");
    assert_eq!((change.base, change.found.as_str()), (second, "target of the pull request, main"));
    assert_eq!(change.files.len(), 1);
}

#[test]
fn on_the_main_branch_uncommitted_work_is_the_change_or_else_the_last_commit() {
    let repository = Repository::new();
    let first = repository.head();
    let error = repository.discover(None, &[]).expect_err("nothing before");
    assert!(matches!(&error, ChangeError::NoParent { commit } if *commit == first), "{error}");
    repository.write("second.py", "");
    assert_eq!(
        (repository.change().base, kinds(&repository.change())),
        (first.clone(), vec!["A second.py".to_owned()])
    );
    repository.write("second.py", "");
    let second = repository.commit("second");
    let clean = repository.change();
    assert_eq!((clean.base.as_str(), clean.found.as_str()), (first.as_str(), "parent of HEAD"));
    assert!(!clean.uncommitted);

    repository.write("untracked.py", "");
    let untracked = repository.change();
    assert_eq!((untracked.base.as_str(), untracked.uncommitted), (first.as_str(), true));
    assert_eq!(kinds(&untracked), ["A second.py", "A untracked.py"]);

    repository.write("second.py", "x\n");
    let dirty = repository.change();
    assert_eq!(
        (dirty.base.as_str(), dirty.found.as_str()),
        (second.as_str(), "HEAD, for uncommitted work only")
    );
    assert_eq!(kinds(&dirty), ["M second.py", "A untracked.py"]);

    // Nobody works on a CI machine: the build itself modified something.
    let ci = repository.discover(None, &[("CI", "true")]).expect("asked").expect("there");
    assert_eq!(ci.base, first);
}

#[test]
fn asking_leaves_the_repository_as_it_was() {
    let repository = Repository::on_branch();
    repository.write("src/shop/tax.py", "rate = 7\n");
    repository.write("untracked.py", "");
    let index = std::fs::read(repository.root().join(".git/index")).expect("read");
    repository.change();
    assert_eq!(std::fs::read(repository.root().join(".git/index")).expect("read"), index);
}

#[test]
fn a_huge_change_is_read_in_little_memory() {
    let repository = Repository::on_branch();
    let lines_of = |mark: &str| -> String {
        (0..60_000)
            .map(|line| if line % 3 == 0 { format!("{line}{mark}\n") } else { format!("{line}\n") })
            .collect()
    };
    repository.write("big.py", lines_of(""));
    repository.write("wide.json", "x".repeat(1 << 22));
    repository.commit("base");
    repository.git(&["branch", "--force", "main"]);
    repository.write("big.py", lines_of(" changed"));
    repository.write("wide.json", "y".repeat(1 << 22));
    let change = repository.against("main");
    let big = file(&change, "big.py");
    assert_eq!(big.lines.len(), 4096);
    assert!((1..=60_000).step_by(3).all(|line| big.is_changed(line)));
    assert_eq!(lines(&change, "wide.json"), [(1, 1)]);
}
