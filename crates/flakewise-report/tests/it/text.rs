use std::time::Duration;

use flakewise_model::{
    Blame, BuildExit, ExitReason, Failure, Notice, OpenQuestion, QuarantineStatus, Quarantined, Refusal,
    Review, RunReport,
};
use flakewise_report::run_text;

use crate::sample;

fn plain(report: &RunReport) -> String {
    anstream::adapter::strip_str(&run_text(report)).to_string()
}

#[test]
fn a_red_build_is_told_in_a_few_lines() {
    insta::assert_snapshot!(plain(&sample::usual()));
}

#[test]
fn every_verdict_and_every_reason_has_words() {
    insta::assert_snapshot!(plain(&sample::rich()));
}

#[test]
fn every_kind_of_flake_and_every_refusal_has_words() {
    insta::assert_snapshot!(plain(&sample::flakes()));
}

#[test]
fn every_answer_of_the_quarantine_has_words() {
    use QuarantineStatus::{Crashed, Expired, Forgiven, OtherFailure, Regression, TooManyFailures};
    let shown = |status: QuarantineStatus, is_pattern: bool| {
        let mut report = sample::usual();
        let failure = &mut report.failures[0];
        let pattern = "pytest:tests/browser/**".to_owned();
        failure.quarantine = Some(Quarantined {
            entry: if is_pattern { pattern } else { failure.test.to_string() },
            owner: "@acme/pay".to_owned(),
            reason: "the sandbox drops `connections`".to_owned(),
            issue: Some("https://example.org/7".to_owned()),
            until: "2026-11-30".parse().expect("a date"),
            status,
        });
        let text = plain(&report);
        let line = text.lines().find(|line| line.contains("@acme/pay")).unwrap_or_default().trim().to_owned();
        assert_eq!(text.contains(", 1 of them quarantined, "), status == Forgiven, "{text}");
        line
    };
    let lines: Vec<String> = [Forgiven, Expired, OtherFailure, Crashed, Regression, TooManyFailures]
        .into_iter()
        .map(|status| shown(status, status == Crashed))
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    quarantined: until 2026-11-30, owner `@acme/pay`: the sandbox drops 'connections' (`https://example.org/7`)
    not forgiven: the quarantine expired after 2026-11-30; owner `@acme/pay`
    not forgiven: quarantined until 2026-11-30, but it failed in a way that the entry does not list; owner `@acme/pay`
    not forgiven: quarantined until 2026-11-30 by `pytest:tests/browser/**`, but crashes and time-outs are never forgiven; owner `@acme/pay`
    not forgiven: quarantined until 2026-11-30 for any failure, but this one is a regression; owner `@acme/pay`
    not forgiven: quarantined until 2026-11-30 for any failure, but too many tests failed to judge this one; owner `@acme/pay`
    ");
}

#[test]
fn labels_have_colours() {
    let text = run_text(&sample::usual());
    assert!(text.contains("\u{1b}[1m\u{1b}[31mREGRESSION\u{1b}[0m"));
    assert!(text.contains("\u{1b}[1m\u{1b}[33mFLAKY\u{1b}[0m"));
}

#[test]
fn a_green_run_is_one_line() {
    let mut report = sample::green();
    assert_eq!(plain(&report), "418 passed, 2 skipped in 41.2s\n");
    report.notices.push(Notice { text: "the suite ran in one process".into(), warning: false });
    assert_eq!(plain(&report), "418 passed, 2 skipped in 41.2s\n");
    report.notices.push(Notice { text: "the store is out of reach".into(), warning: true });
    assert_eq!(plain(&report), "warning: the store is out of reach\n418 passed, 2 skipped in 41.2s\n");
}

#[test]
fn the_exit_code_is_explained_where_it_is_not_the_runners() {
    let check = |runner, code, reason| {
        let report = RunReport { exit: BuildExit { runner, code, reason }, ..sample::usual() };
        plain(&report).lines().last().expect("there is text").to_owned()
    };
    let summary = "2 flaky, 1 regression, 418 passed, 2 skipped in 41.2s (16 reruns, 2.3s after the suite)";
    assert_eq!(check(Some(1), 1, ExitReason::Runner), summary);
    assert_eq!(check(Some(1), 1, ExitReason::NotTolerated), summary);
    assert_eq!(check(Some(0), 0, ExitReason::Tolerated), "exit code 0: all failures are tolerated");
    assert_eq!(
        check(None, 0, ExitReason::Tolerated),
        "exit code 0: a signal ended the command; all failures are tolerated"
    );
    assert_eq!(
        check(None, 1, ExitReason::NotTolerated),
        "exit code 1: a signal ended the command; some failures are not tolerated"
    );
    assert_eq!(
        check(Some(0), 1, ExitReason::Runner),
        "exit code 1: the command exited with 0, but a failing test had ended its process"
    );
}

#[test]
fn a_runner_that_fails_without_a_failing_test_is_not_green() {
    let exit = BuildExit { runner: Some(5), code: 5, reason: ExitReason::Runner };
    let report = RunReport { exit, ..sample::green() };
    insta::assert_snapshot!(plain(&report), @r"
    418 passed, 2 skipped in 41.2s
    exit code 5, from the command, though no test failed
    ");
}

#[test]
fn a_run_that_lost_tests_is_not_green() {
    let exit = BuildExit { runner: Some(0), code: 1, reason: ExitReason::Lost };
    let report = RunReport { lost: vec!["tests/test_a.py::test_b".into()], exit, ..sample::green() };
    insta::assert_snapshot!(plain(&report), @r"
    1 lost, 418 passed, 2 skipped in 41.2s
    lost: 1 test gave no result, so this run is not green
           - tests/test_a.py::test_b
    exit code 1: the command exited with 0; the run is not complete, so it cannot be green
    ");
}

#[test]
fn a_run_that_could_not_collect_everything_is_not_green() {
    let exit = BuildExit { runner: Some(2), code: 2, reason: ExitReason::Runner };
    let report = RunReport { uncollected: vec!["tests/test_a.py".into()], exit, ..sample::green() };
    insta::assert_snapshot!(plain(&report), @r"
    1 file not collected, 418 passed, 2 skipped in 41.2s
    exit code 2, from the command, though no test failed
    ");
    assert!(crate::github(&report).contains("title=1 file could not be collected::"));
}

#[test]
fn a_test_that_fails_in_another_way_when_it_is_rerun_says_how() {
    let mut report = sample::usual();
    assert!(!plain(&report).contains("in another way"));
    for attempt in &mut report.failures[0].attempts[1..3] {
        let failure = attempt.failure.as_mut().expect("it failed");
        **failure = Failure::new(Some("KeyError"), "'cake'", "KeyError: 'cake'");
    }
    let text = plain(&report);
    assert!(text.contains("       - failed in another way twice: `KeyError: 'cake'`\n"), "{text}");
}

#[test]
fn every_block_fits_a_screen_and_every_question_says_what_decides_it() {
    let text = plain(&sample::rich());
    for block in text.split("\n\n").chain(plain(&sample::flakes()).split("\n\n")) {
        assert!(block.lines().count() <= 16, "{block}");
    }
    for question in sample::QUESTIONS {
        let option = match question {
            OpenQuestion::TooManyFailures => "`--max-failures`",
            OpenQuestion::PassesAtBase => "a clean checkout",
            OpenQuestion::BaseUnknown | OpenQuestion::DependenciesUnknown | OpenQuestion::NotExecuted => {
                "`--verify-base`"
            }
            OpenQuestion::ChangeUnknown => "`--base REF`",
            OpenQuestion::NotEnoughRuns => "`--confidence 0.99`",
        };
        let name = format!("test_{}_0", question.name().replace('-', "_"));
        let block = text.split("\n\n").find(|block| block.contains(&name)).expect("it has a block");
        assert!(block.contains(option), "{block}");
    }
}

#[test]
fn a_new_flake_names_the_changed_lines_and_not_the_test() {
    let text = plain(&sample::flakes());
    let block = text.split("\n\n").find(|block| block.starts_with("NEW FLAKE")).expect("it has a block");
    assert!(block.contains("introduced by this change: executes line 12 of `shop/cart.py`"), "{block}");
    assert!(
        block.contains("next: fix the flake that this change introduces, beginning at `shop/cart.py:12`")
    );
    assert!(!block.contains("randomness"), "{block}");
}

#[test]
fn the_search_for_what_interferes_is_a_command_to_copy() {
    let mut report = sample::usual();
    let next = |report: &RunReport| {
        let text = plain(report);
        text.lines().find(|line| line.contains("interferes")).expect("it is said").trim().to_owned()
    };
    assert_eq!(
        next(&report),
        "next: find the test that interferes with it: \
         `flakewise culprit tests/test_login.py::test_time_zone -- pytest -q tests`"
    );
    report.failures[1].name = "tests/t.py::test[a b$c]".into();
    assert!(next(&report).ends_with("`flakewise culprit 'tests/t.py::test[a b$c]' -- pytest -q tests`"));
    report.failures[1].name = "tests/t.py::test[`]".into();
    assert!(next(&report).ends_with("`flakewise culprit TEST -- COMMAND`"));
}

#[test]
fn failures_that_are_tolerated_and_those_that_are_not_are_apart() {
    let mut report = sample::rich();
    let members: Vec<usize> =
        report.incidents.iter().find(|one| one.failures.len() == 7).expect("one").failures.clone();
    assert!(plain(&report).contains("INFRASTRUCTURE  7 tests"));
    report.failures[members[0]].refusal = Some(Refusal::NeverPassed);
    assert!(plain(&report).contains("INFRASTRUCTURE  6 tests"));
}

#[test]
fn single_failures_take_twelve_lines_at_most() {
    let text = plain(&sample::usual());
    for block in text.split("\n\n").filter(|block| block.contains("reproduce:")) {
        assert!(block.lines().count() <= 12, "{block}");
    }
}

#[test]
fn many_different_failures_have_a_line_each_after_the_first() {
    let mut report = sample::huge();
    for failure in &mut report.failures {
        failure.name = "t".into();
    }
    assert_eq!(plain(&report).matches("UNDECIDED  t").count(), report.failures.len());
    assert_eq!(plain(&report).matches("reproduce:").count(), 20);
    for failure in &mut report.failures {
        failure.verdict.blame = Blame::Undecided(OpenQuestion::TooManyFailures);
    }
    assert_eq!(plain(&report).matches("reproduce:").count(), 1);
}

#[test]
fn nothing_of_others_moves_the_cursor_or_begins_a_line() {
    let text = run_text(&sample::hostile());
    let plain = anstream::adapter::strip_str(&text).to_string();
    assert!(!plain.contains(|character: char| character.is_control() && character != '\n'));
    assert!(!text.contains("\u{1b}[2J"));
    assert!(!text.contains('\u{202e}'));
    for line in plain.lines() {
        assert!(!line.trim_start().starts_with("::"), "{line}");
    }
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    assert_eq!(run_text(&sample::rich()), run_text(&sample::rich()));
}

#[test]
fn reruns_of_new_and_changed_tests_are_told_in_a_line() {
    let said = |review: Review| {
        let report = RunReport { review: Some(review), ..sample::green() };
        let text = run_text(&report);
        text.lines().next().unwrap_or_default().to_owned()
    };
    let all = Review {
        tests: 20,
        flaky: 0,
        runs: 1320,
        each: (66, 66),
        goal: 66,
        rate: 0.1,
        time: Duration::from_millis(2100),
        budget: Duration::from_millis(10_300),
    };
    assert_eq!(
        said(all.clone()),
        "reran 20 new or changed tests 66 times in 2.1s: no flaky test found; for one that fails randomly in 10 % of \
         runs, P(found) > 99.9 %"
    );
    assert_eq!(
        said(Review { flaky: 2, each: (3, 66), runs: 800, ..all.clone() }),
        "reran 20 new or changed tests 3 to 66 times in 2.1s: 2 of them are flaky; for one that fails randomly \
         in 10 % of runs, P(found) = 27 %; the time limit was 10.3s, see `--share`"
    );
    let only = Review { tests: 1, flaky: 1, runs: 7, each: (0, 0), ..all.clone() };
    assert_eq!(said(only), "reran 1 new or changed test 7 times in 2.1s: it is flaky");
    let nothing = Review { tests: 0, runs: 0, each: (0, 0), ..all.clone() };
    assert_eq!(said(nothing), "no new or changed tests to rerun");
    assert_eq!(said(Review { runs: 0, ..all }), "20 new or changed tests not rerun");
}
