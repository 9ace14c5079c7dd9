use crate::{github, sample};

#[test]
fn failures_become_annotations() {
    insta::assert_snapshot!(github(&sample::usual()));
}

#[test]
fn lost_tests_are_an_error() {
    let text = github(&sample::rich());
    assert!(text.starts_with("::error file=tests/test_lost.py,line=1,title=7 tests gave no result::"));
}

#[test]
fn a_green_run_has_none() {
    assert_eq!(github(&sample::green()), "");
}

#[test]
fn nothing_of_others_becomes_a_command() {
    let text = github(&sample::hostile());
    let levels: Vec<_> = text.lines().map(|line| line.split([' ', ':']).nth(2)).collect();
    assert_eq!(levels, [Some("error"), Some("error"), Some("warning")]);
    assert!(!text.contains('\r'));
    for line in text.lines() {
        let properties = line[2..].split("::").next().expect("there is a first part");
        let names: Vec<_> = properties.split([' ', ',']).filter_map(|part| part.split_once('=')).collect();
        assert!(names.iter().any(|(name, _)| *name == "title"), "{properties}");
        assert!(!properties.contains(':'), "{properties}");
    }
    // What was escaped before is not taken for an escape of ours.
    assert!(!text.contains("b%0A::add-mask"));
}

#[test]
fn there_are_no_more_than_github_shows() {
    let text = github(&sample::huge());
    assert_eq!(text.lines().filter(|line| line.starts_with("::error ")).count(), 10);
    assert!(
        text.ends_with("::notice::1,491 more tests have findings; GitHub shows 10 annotations of a level\n")
    );
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    assert_eq!(github(&sample::rich()), github(&sample::rich()));
}
