//! Names and messages are somebody else's: nothing they hold becomes markup.

use flakewise_model::{Foreign, ProjectOverview, TestId};
use proptest::prelude::*;

use crate::{data, html, synthetic};

/// The tags of a page, without what is inside of quotes.
fn tags(page: &str) -> Vec<String> {
    let mut tags = Vec::new();
    let mut rest = page;
    while let Some((_, tag)) = rest.split_once('<') {
        let name: String = tag
            .chars()
            .take_while(|letter| letter.is_ascii_alphanumeric() || "/!-".contains(*letter))
            .collect();
        rest = tag;
        // Script and style are ours, and the page's policy names their hashes.
        for raw in ["script", "style"] {
            if name == raw {
                rest = tag.split_once(&format!("</{raw}")).expect("an end").1;
            }
        }
        tags.push(name);
    }
    tags
}

/// A page whose texts are all plain, with the same numbers.
fn plain(overview: &ProjectOverview) -> ProjectOverview {
    let mut overview = overview.clone();
    "x".clone_into(&mut overview.project);
    for (index, test) in overview.tests.iter_mut().enumerate() {
        test.test = TestId::builder("pytest", "x").class("x").finish("x", Some(&index.to_string()));
        // Kinds are counted, so they stay as many as they were.
        test.kind = test.kind.as_deref().map(|kind| {
            let hash: u32 = Foreign::new(kind)
                .cut(400)
                .bytes()
                .fold(7, |hash, byte| hash.wrapping_mul(31) ^ u32::from(byte));
            format!("k{hash}")
        });
        for group in test.details.iter_mut().flat_map(|details| &mut details.failures) {
            "x".clone_into(&mut group.message);
        }
    }
    overview
}

#[test]
fn hostile_text_adds_no_tag() {
    let overview = synthetic::hostile(7);
    let page = html(&overview);
    let mut expected = tags(&html(&plain(&overview)));
    let mut found = tags(&page);
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
    assert!(page.len() < 2_000_000, "1 MB texts are cut: {} bytes", page.len());
    // Nothing that reorders or hides text is in the document at all.
    assert!(!page.contains(|letter: char| matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\0' | '\u{1b}')));
}

#[test]
fn names_are_shown_as_they_are_but_for_what_acts() {
    let overview = synthetic::hostile(7);
    let data = data(&html(&overview));
    for (test, row) in overview.tests.iter().zip(data["tests"].as_array().expect("tests")) {
        let file = data["files"][usize::try_from(row[2].as_u64().expect("a file")).expect("small")].as_str();
        assert_eq!(file, Some(Foreign::new(&test.test.module()).cut(400).as_str()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_text_is_only_text(text in "(<|/|script|>|\"|'|&|\\\\|-|!|[a-z]|\\PC|.){0,60}") {
        let mut overview = synthetic::overview(1, 3, 1, 1);
        let test = &mut overview.tests[0];
        test.test = TestId::builder("pytest", "a.py").finish(&format!("t{text}"), None);
        test.owner = Some(text.clone());
        test.kind = Some(text.clone());
        for group in test.details.iter_mut().flat_map(|details| &mut details.failures) {
            group.message.clone_from(&text);
        }
        let page = html(&overview);
        prop_assert_eq!(page.matches("<script").count(), 2);
        let data = data(&page);
        let shown = data["owners"][0].as_str().expect("text").to_owned();
        prop_assert_eq!(shown, Foreign::new(&text).cut(400));
    }
}
