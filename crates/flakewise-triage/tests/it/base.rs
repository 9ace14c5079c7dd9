//! The code before the change, in a folder of its own.

use std::path::{Path, PathBuf};

use flakewise_triage::{BaseTree, Change, ChangeError};

use crate::repository::{Repository, discover, git};

fn worktrees(folder: &Path) -> usize {
    git(folder, &["worktree", "list", "--porcelain"])
        .lines()
        .filter(|line| line.starts_with("worktree "))
        .count()
}

#[test]
fn the_base_is_checked_out_and_leaves_nothing_behind() {
    let repository = Repository::on_branch();
    repository.write("src/shop/tax.py", "rate = 7\n");
    repository.commit("lower");
    repository.write("src/shop/tax.py", "rate = 0\n");
    repository.write("data/prices.json", "[]\n");
    repository.git(&["add", "data"]);
    repository.write("untracked.py", "");
    let index = std::fs::read(repository.root().join(".git/index")).expect("read");
    let status = repository.git(&["status", "--porcelain"]);

    let tree = BaseTree::create(&repository.against("main")).expect("made");
    let path = tree.path().to_owned();
    assert_eq!(path.file_name(), repository.root().file_name());
    assert_eq!(std::fs::read_to_string(path.join("src/shop/tax.py")).expect("read"), "rate = 19\n");
    assert!(!path.join("untracked.py").exists());
    assert_eq!(git(&path, &["status", "--porcelain"]), "");
    assert_eq!(worktrees(repository.root()), 2);
    // What tests leave in it goes as well.
    std::fs::write(path.join("left.txt"), "").expect("written");
    drop(tree);

    assert!(!path.parent().expect("it is in a folder").exists());
    assert_eq!(worktrees(repository.root()), 1);
    assert!(!repository.root().join(".git/worktrees").exists());
    assert_eq!(std::fs::read(repository.root().join(".git/index")).expect("read"), index);
    assert_eq!(repository.git(&["status", "--porcelain"]), status);
    assert_eq!(repository.git(&["branch", "--list"]), "main\n* work".trim());
}

#[cfg(unix)]
#[test]
fn nobody_else_can_look_into_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let repository = Repository::on_branch();
    let tree = BaseTree::create(&repository.against("main")).expect("made");
    let folder = tree.path().parent().expect("it is in a folder");
    assert_eq!(folder.metadata().expect("read").permissions().mode() & 0o777, 0o700);
}

#[cfg(unix)]
#[test]
fn it_goes_away_even_if_a_test_took_the_right_to_remove_files() {
    use std::os::unix::fs::PermissionsExt as _;
    let repository = Repository::on_branch();
    let tree = BaseTree::create(&repository.against("main")).expect("made");
    let path = tree.path().to_owned();
    std::fs::set_permissions(path.join("src/shop"), std::fs::Permissions::from_mode(0o500)).expect("set");
    drop(tree);
    assert!(!path.exists());
    assert_eq!(worktrees(repository.root()), 1);
}

#[cfg(unix)]
#[test]
fn hooks_do_not_run() {
    use std::os::unix::fs::PermissionsExt as _;
    let repository = Repository::on_branch();
    let ran = repository.beside("ran");
    let hook = repository.root().join(".git/hooks/post-checkout");
    repository.write(".git/hooks/post-checkout", format!("#!/bin/sh\ntouch '{}'\n", ran.display()));
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).expect("set");
    drop(BaseTree::create(&repository.against("main")).expect("made"));
    assert!(!ran.exists());
    repository.git(&["checkout", "--quiet", "main"]);
    assert!(ran.exists(), "the hook works for others");
}

#[test]
fn several_at_once_do_not_disturb_each_other() {
    let repository = Repository::on_branch();
    let change = repository.against("main");
    let (one, other) = (BaseTree::create(&change).expect("made"), BaseTree::create(&change).expect("made"));
    assert_eq!(worktrees(repository.root()), 3);
    drop(one);
    assert!(other.path().join("src/shop/tax.py").exists());
    assert_eq!(git(other.path(), &["rev-parse", "HEAD"]), change.base);
    drop(other);
    assert_eq!(worktrees(repository.root()), 1);
}

#[test]
fn work_trees_of_others_stay() {
    let repository = Repository::on_branch();
    let path = repository.beside("other");
    repository.git(&["worktree", "add", "--quiet", path.to_str().expect("UTF-8"), "main"]);
    std::fs::remove_dir_all(&path).expect("removed");
    drop(BaseTree::create(&repository.against("main")).expect("made"));
    // It is not ours to prune, though its folder is gone.
    assert_eq!(worktrees(repository.root()), 2);
}

#[test]
fn what_a_killed_process_left_is_cleared_up_by_the_next() {
    let repository = Repository::on_branch();
    let change = repository.against("main");
    let abandoned = |name: &str| -> PathBuf {
        let folder = repository.beside(name);
        std::fs::create_dir(&folder).expect("made");
        std::fs::write(folder.join("lock"), "").expect("written");
        let path = folder.join("shop");
        repository.git(&["worktree", "add", "--quiet", "--detach", path.to_str().expect("UTF-8")]);
        folder
    };
    let (left, gone) = (abandoned("flakewise-base-left"), abandoned("flakewise-base-gone"));
    std::fs::remove_dir_all(&gone).expect("removed");
    let used = BaseTree::create(&change).expect("made");
    assert!(!left.exists());
    assert_eq!(worktrees(repository.root()), 2);
    drop(BaseTree::create(&change).expect("made"));
    assert!(used.path().exists(), "what is in use stays");
}

#[test]
fn linked_work_trees_and_bare_repositories_around_them_work() {
    let repository = Repository::on_branch();
    let bare = repository.beside("bare.git");
    let linked = repository.beside("linked");
    let text = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    repository.git(&["clone", "--quiet", "--bare", ".", &text(&bare)]);
    git(&bare, &["worktree", "add", "--quiet", &text(&linked), "work"]);
    std::fs::write(linked.join("src/shop/tax.py"), "rate = 7\n").expect("written");
    let change = discover(&linked, None, &[]).expect("asked").expect("there");
    let tree = BaseTree::create(&change).expect("made");
    assert_eq!(std::fs::read_to_string(tree.path().join("src/shop/tax.py")).expect("read"), "rate = 19\n");
    drop(tree);
    assert_eq!(worktrees(&bare), 2);
    assert_eq!(git(&linked, &["status", "--porcelain"]), "M src/shop/tax.py");
}

#[test]
fn submodules_are_empty_and_reported_and_a_submodule_has_a_base_of_its_own() {
    let other = Repository::new();
    other.write("more.py", "");
    other.commit("second");
    let repository = Repository::new();
    repository.git(&["submodule", "--quiet", "add", other.root().to_str().expect("UTF-8"), "vendor/other"]);
    repository.commit("with a submodule");
    repository.git(&["checkout", "--quiet", "-b", "work"]);
    let tree = BaseTree::create(&repository.against("main")).expect("made");
    assert_eq!(tree.submodules(), ["vendor/other"]);
    assert!(!tree.path().join("vendor/other/more.py").exists());

    let inner = repository.root().join("vendor/other");
    let change = discover(&inner, Some("HEAD^"), &[]).expect("asked").expect("there");
    let tree = BaseTree::create(&change).expect("made");
    assert!(tree.path().join("src/shop/tax.py").exists() && !tree.path().join("more.py").exists());
    assert!(inner.join("more.py").exists());
    drop(tree);
    assert_eq!((worktrees(&inner), git(&inner, &["status", "--porcelain"])), (1, String::new()));
}

#[test]
fn paths_of_the_work_tree_lead_to_the_base_and_others_stay() {
    let repository = Repository::on_branch();
    repository.write("build/lib/x.so", "");
    repository.write("new/module.py", "");
    repository.write("env/pyvenv.cfg", "");
    repository.write("env/lib/site-packages/x.py", "");
    let tree = BaseTree::create(&repository.against("main")).expect("made");
    let (root, base) = (repository.root(), tree.path());
    assert_eq!(tree.map(root), base);
    assert_eq!(tree.map(&root.join("src/../src/shop")), base.join("src/shop"));
    // A folder that is part of the change is not there at the base.
    assert_eq!(tree.map(&root.join("new")), base.join("new"));
    assert_eq!(tree.map(Path::new("/usr/lib/python3")), Path::new("/usr/lib/python3"));
    assert_eq!(tree.map(&root.join("build/lib")), root.join("build/lib"));
    assert_eq!(tree.map(&root.join("env/lib/site-packages")), root.join("env/lib/site-packages"));
    assert_eq!(tree.map(&root.join("../shop-2/x")), root.join("../shop-2/x"));
    #[cfg(unix)]
    {
        let link = repository.beside("link");
        std::os::unix::fs::symlink(root, &link).expect("made");
        assert_eq!(tree.map(&link.join("src")), base.join("src"));
    }
}

#[test]
fn a_base_that_cannot_be_checked_out_is_an_error_and_leaves_nothing_behind() {
    let repository = Repository::on_branch();
    let change = Change { base: "0".repeat(40), ..repository.against("main") };
    let error = BaseTree::create(&change).expect_err("no such commit");
    assert!(matches!(&error, ChangeError::Git { command, .. } if command == "worktree"), "{error}");
    assert_eq!(worktrees(repository.root()), 1);
}

#[test]
fn it_goes_away_after_the_repository_has_gone() {
    let repository = Repository::on_branch();
    let tree = BaseTree::create(&repository.against("main")).expect("made");
    let path = tree.path().to_owned();
    drop(repository);
    drop(tree);
    assert!(!path.exists());
}
