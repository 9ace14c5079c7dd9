//! Which commits do not contain a change.

use flakewise_triage::Change;

use crate::repository::{Repository, discover, git};

/// Which of these commits lack a change, when run on a branch.
fn lacks(change: &Change, branch: &str, commits: &[&str]) -> Vec<bool> {
    let commits: Vec<_> =
        commits.iter().map(|commit| ((*commit).to_owned(), Some(branch.to_owned()))).collect();
    change.lacks(&commits)
}

#[test]
fn the_base_and_what_was_before_it_lack_the_change() {
    let repository = Repository::new();
    let first = repository.head();
    repository.write("src/shop/tax.py", "rate = 20\n");
    let second = repository.commit("second");
    repository.git(&["checkout", "--quiet", "-b", "work"]);
    repository.write("src/shop/tax.py", "rate = 7\n");
    let third = repository.commit("third");
    repository.write("src/shop/cart.py", "");
    let fourth = repository.commit("fourth");
    repository.git(&["checkout", "--quiet", "main"]);
    repository.write("more.py", "");
    let ahead = repository.commit("on main, later");
    repository.git(&["merge", "--quiet", "--no-ff", "--message", "merge", "work"]);
    let merged = repository.head();
    repository.git(&["checkout", "--quiet", "work"]);

    let change = repository.against(&second);
    assert_eq!((change.base.as_str(), change.target.as_deref()), (second.as_str(), None));
    let all = [&*first, &*second, &*third, &*fourth, &*ahead, &*merged];
    for branch in ["main", "work"] {
        assert_eq!(lacks(&change, branch, &all), [true, true, false, false, false, false], "{branch}");
    }
    assert_eq!(change.lacks(&[(first.clone(), None), (fourth, None)]), [true, false]);
    assert!(change.lacks(&[]).is_empty());

    // What nobody knows, and what is no commit.
    let tree = repository.git(&["rev-parse", "HEAD^{tree}"]);
    let unknown = "0123456789".repeat(4);
    let odd = [&*unknown, &tree, "HEAD", "main", &first[..12], "", "--all", "^main", "a\nb"];
    assert_eq!(lacks(&change, "main", &odd), [false; 9]);
    assert_eq!(lacks(&change, "main", &[&unknown, &first, &first]), [false, true, true]);
}

#[test]
fn without_a_change_the_commit_itself_lacks_it() {
    let repository = Repository::new();
    let first = repository.head();
    let change = repository.against("HEAD");
    assert!(change.is_empty());
    assert_eq!(lacks(&change, "main", &[&first]), [true]);
    // Uncommitted work is not in the commit either.
    repository.write("src/shop/tax.py", "rate = 7\n");
    let change = repository.change();
    assert_eq!(change.base, first);
    assert_eq!(lacks(&change, "main", &[&first]), [true]);
}

#[test]
fn earlier_versions_of_a_rebased_branch_have_the_change() {
    let repository = Repository::on_branch();
    let first = repository.head();
    repository.write("src/shop/tax.py", "rate = 7\n");
    let early = repository.commit("early");
    repository.git(&["checkout", "--quiet", "main"]);
    repository.write("more.py", "");
    let second = repository.commit("second");
    repository.git(&["checkout", "--quiet", "work"]);
    repository.git(&["rebase", "--quiet", "main"]);
    let late = repository.head();
    assert_ne!(early, late);
    let change = repository.change();
    assert_eq!((change.base.as_str(), change.target.as_deref()), (second.as_str(), Some("main")));
    for branch in ["main", "work"] {
        assert_eq!(lacks(&change, branch, &[&first, &second, &early, &late]), [true, true, false, false]);
    }
    // Even once git has forgotten it: this clone is whole, so it was no commit
    // of the branch.
    repository.git(&["reflog", "expire", "--expire=now", "--all"]);
    repository.git(&["gc", "--quiet", "--prune=now"]);
    assert_eq!(lacks(&change, "main", &[&first, &early]), [true, false]);
}

#[test]
fn a_change_that_was_reverted_and_comes_back_is_in_its_own_past() {
    let repository = Repository::new();
    let first = repository.head();
    repository.write("src/shop/tax.py", "rate = 7\n");
    let landed = repository.commit("lower");
    repository.write("unrelated.py", "");
    let beside = repository.commit("with it");
    repository.git(&["revert", "--no-edit", &landed]);
    let reverted = repository.head();
    repository.git(&["checkout", "--quiet", "-b", "work"]);
    repository.write("src/shop/tax.py", "rate = 7\n");
    repository.write("tests/test_cart.py", "from shop import tax\n");
    repository.commit("lower again, and test it");
    let all = [&*first, &*landed, &*beside, &*reverted];
    assert_eq!(lacks(&repository.change(), "main", &all), [true, false, false, true]);
    // The same while it is not committed.
    repository.git(&["reset", "--quiet", "--soft", "main"]);
    assert_eq!(lacks(&repository.change(), "main", &all), [true, false, false, true]);

    // And for a file that is removed again.
    let repository = Repository::new();
    let first = repository.head();
    repository.remove("src/shop/tax.py");
    let removed = repository.commit("no taxes");
    repository.git(&["revert", "--no-edit", &removed]);
    let reverted = repository.head();
    repository.git(&["checkout", "--quiet", "-b", "work"]);
    repository.remove("src/shop/tax.py");
    repository.commit("no taxes, again");
    assert_eq!(lacks(&repository.change(), "main", &[&first, &removed, &reverted]), [true, false, true]);
}

#[test]
fn in_a_shallow_clone_what_was_not_fetched_is_old_on_the_target_branch_only() {
    let repository = Repository::new();
    let first = repository.head();
    repository.write("second.py", "");
    let second = repository.commit("second");
    repository.write("third.py", "");
    let third = repository.commit("third");
    repository.git(&["checkout", "--quiet", "-b", "work"]);
    repository.write("fourth.py", "");
    let fourth = repository.commit("fourth");
    let clone = repository.beside("clone");
    let address = format!("file://{}", repository.root().display());
    let target = clone.to_str().expect("UTF-8").to_owned();
    repository.git(&[
        "clone",
        "--quiet",
        "--depth=2",
        "--no-single-branch",
        "--branch=work",
        &address,
        &target,
    ]);
    let change = discover(&clone, None, &[("GITHUB_BASE_REF", "main")]).expect("asked").expect("there");
    assert_eq!((change.base.as_str(), change.target.as_deref()), (third.as_str(), Some("main")));
    let fetched = git(&clone, &["rev-list", "--all"]);
    assert!(!fetched.contains(&first) && fetched.contains(&second), "the clone is cut");
    let all = [&*first, &*second, &*third, &*fourth];
    assert_eq!(lacks(&change, "main", &all), [true, true, true, false]);
    assert_eq!(lacks(&change, "work", &all), [false, true, true, false], "it may be an earlier version");
    assert_eq!(change.lacks(&[(first.clone(), None)]), [false]);

    // On the target branch itself, a commit that is not there may be newer.
    git(&clone, &["checkout", "--quiet", "-b", "main2", "origin/main"]);
    let same = Change { target: Some("main2".to_owned()), ..change.clone() };
    assert_eq!(lacks(&same, "main2", &[&first]), [false]);
    let none = Change { target: None, ..change };
    assert_eq!(lacks(&none, "main", &[&first, &third]), [false, true]);
}

#[test]
fn targets_are_branches_without_their_remote() {
    let repository = Repository::on_branch();
    let first = repository.head();
    repository.git(&["tag", "v1"]);
    repository.write("new.py", "");
    repository.commit("second");
    let target = |base: &str| repository.against(base).target;
    assert_eq!(target("main").as_deref(), Some("main"));
    assert_eq!([target("v1"), target(&first), target("HEAD~1"), target("HEAD")], [const { None }; 4]);
    let clone = repository.beside("clone");
    let address = format!("file://{}", repository.root().display());
    repository.git(&["clone", "--quiet", "--branch=work", &address, clone.to_str().expect("UTF-8")]);
    git(&clone, &["remote", "set-head", "origin", "main"]);
    let change = |base| discover(&clone, base, &[]).expect("asked").expect("there");
    for base in [Some("origin/main"), Some("main"), None] {
        assert_eq!(change(base).target.as_deref(), Some("main"), "{base:?}");
    }
}
