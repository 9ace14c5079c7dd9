use flakewise_model::{Notice, RunReport};
use flakewise_report::{check_markdown, run_markdown};

use crate::sample;

#[test]
fn a_red_build_has_a_table_and_evidence() {
    insta::assert_snapshot!(run_markdown(&sample::usual()));
}

#[test]
fn every_verdict_has_its_place() {
    insta::assert_snapshot!(run_markdown(&sample::rich()));
}

#[test]
fn every_flake_has_its_place() {
    insta::assert_snapshot!(run_markdown(&sample::flakes()));
}

#[test]
fn a_green_run_is_a_headline() {
    assert_eq!(run_markdown(&sample::green()), "## 418 passed, 2 skipped\n\nIn 41.2s\n");
}

#[test]
fn nothing_of_others_becomes_markup() {
    let text = run_markdown(&sample::hostile());
    for forbidden in ["<script", "::set-output name=a::b\n", "`", "@all", "\u{1b}", "\u{202e}", "\r"] {
        assert!(!text.contains(forbidden), "{forbidden} is left in {text}");
    }
    assert_eq!(text.matches("<details>").count(), 2);
    assert_eq!(text.matches("</details>").count(), 2);
    assert_eq!(text.matches("<code>").count(), text.matches("</code>").count());
    for row in text.lines().filter(|line| line.starts_with("| **")) {
        assert_eq!(row.matches('|').count(), 4, "{row}");
    }
}

#[test]
fn a_page_is_never_too_long_and_says_what_it_leaves_out() {
    let text = run_markdown(&sample::huge());
    assert!(text.len() <= 900_000, "{}", text.len());
    assert!(text.contains(" not listed, as this page would be too long\n"));
    assert!(text.contains("The evidence for "));
    assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    assert_eq!(run_markdown(&sample::rich()), run_markdown(&sample::rich()));
}

#[test]
fn a_comment_has_a_marker_and_fits() {
    let text = check_markdown(&sample::usual(), None);
    assert_eq!(
        text.strip_prefix("<!-- flakewise check -->\n"),
        Some(run_markdown(&sample::usual()).as_str())
    );
    // Every character of these needs five.
    let notice = || Notice { text: "<".repeat(1000), warning: true };
    let notices = std::iter::repeat_with(notice).take(100).collect();
    let report = RunReport { notices, ..sample::huge() };
    let text = check_markdown(&report, None);
    assert!(text.len() < 65_536, "{}", text.len());
    assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
    assert!(text.contains(" not listed, as this page would be too long\n"));
}
