//! What is on a page.

use std::time::Duration;

use chrono::{Days, NaiveDate};
use flakewise_model::{Conclusion, ProjectOverview, QuarantineNote, Tally};

use crate::{data, html, synthetic};

#[test]
fn the_same_overview_gives_the_same_bytes() {
    let page = || html(&synthetic::overview(50, 90, 10, 1));
    assert_eq!(page(), page());
}

#[test]
fn ten_thousand_tests_over_ninety_days_fit_in_five_megabytes() {
    let page = html(&synthetic::overview(10_000, 90, 200, 1));
    assert_eq!(data(&page)["tests"].as_array().expect("tests").len(), 10_000);
    assert!(page.len() < 5_000_000, "{} bytes", page.len());
}

#[test]
fn the_page_fetches_nothing() {
    let page = html(&synthetic::overview(50, 90, 10, 1));
    let (markup, _) = page.split_once("<script>").expect("a script");
    let markup = markup.replace("http://www.w3.org/2000/svg", "");
    for address in ["http:", "https:", "src=", "@import", "url("] {
        assert!(!markup.contains(address), "{address}");
    }
    assert!(page.contains("default-src &#x27;none&#x27;"));
    // The policy forbids inline styles and handlers, so none may be needed.
    assert!(!markup.contains(" style=") && !markup.contains(" onclick="));
}

#[test]
fn an_empty_history_gives_a_page_too() {
    let page = html(&ProjectOverview::default());
    assert!(page.contains("No flaky test found"));
    assert!(page.contains("0 attempts in 0 runs"));
    assert!(!page.contains("<figure"));
}

#[test]
fn totals_are_those_of_the_days() {
    let mut overview = synthetic::overview(20, 20, 5, 3);
    for (index, day) in overview.days.iter_mut().enumerate() {
        day.runs = 10;
        // One of ten in the last week, three of ten before.
        day.runs_disturbed = if index >= 13 { 1 } else { 3 };
        day.time_lost = Duration::from_secs(60 * day.runs_disturbed);
    }
    let page = html(&overview);
    assert!(page.contains("23 % overall, 10 % in the last 7 days, 30 % in the 7 days before"));
    assert!(page.contains("46m 00s overall, 7m 00s in the last 7 days, 21m 00s in the 7 days before"));
    assert!(page.contains("46 of 200 runs"));
}

#[test]
fn what_expires_next_comes_first() {
    let mut overview = synthetic::overview(5, 20, 5, 3);
    let today = synthetic::last_day();
    let days: [Option<NaiveDate>; 5] = [
        None,
        Some(today + Days::new(40)),
        Some(today - Days::new(1)),
        Some(today),
        Some(today + Days::new(3)),
    ];
    for (test, expires) in overview.tests.iter_mut().zip(days) {
        test.quarantine = Some(QuarantineNote { owner: None, reason: None, expires });
    }
    let page = html(&overview);
    let order = [
        "expired on 2026-11-14",
        "expires today",
        "expires in 3 days",
        "expires on 2026-12-25",
        "does not expire",
    ];
    let (_, list) = page.split_once("id=\"quarantine\"").expect("the quarantine");
    let places = order.map(|text| list.find(text).expect(text));
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn owners_are_listed_by_what_their_flaky_tests_cost() {
    let mut overview = synthetic::overview(4, 20, 4, 3);
    let today = synthetic::last_day();
    let owners = [Some("@acme/cart"), Some("@acme/pay"), None, Some("@acme/cart")];
    for ((test, owner), minutes) in overview.tests.iter_mut().zip(owners).zip([1, 5, 60, 2]) {
        test.verdict.conclusion = Conclusion::Flaky;
        test.owner = owner.map(str::to_owned);
        test.cost.time_lost = Duration::from_secs(60 * minutes);
        // Three failures this week, one the week before, four earlier.
        let failed = |days, failed| (today - Days::new(days), Tally { passed: 5, failed });
        test.days = vec![failed(15, 4), failed(8, 1), failed(6, 2), failed(0, 1)];
    }
    let rows = |page: &str| -> Vec<String> {
        let (_, section) = page.split_once("id=\"owners\"").expect("the owners");
        let (section, _) = section.split_once("</section>").expect("its end");
        let cells = section.split("<tr>").skip(2).map(|row| {
            let texts = row.split('<').filter_map(|part| part.split_once('>')).map(|(_, text)| text.trim());
            texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" | ")
        });
        cells.collect()
    };
    assert_eq!(
        rows(&html(&overview)),
        [
            "@acme&#x2f;pay | 1 | 5m 00s | 3 | 1",
            "@acme&#x2f;cart | 2 | 3m 00s | 6 | 2",
            "no owner | 1 | 1h 00m | 3 | 1"
        ]
    );
    for test in &mut overview.tests {
        test.owner = None;
    }
    assert!(!html(&overview).contains("id=\"owners\""), "nobody has one");
}

#[test]
fn every_test_is_linked_once() {
    let mut overview = synthetic::overview(8, 20, 5, 3);
    let twin = overview.tests[0].clone();
    overview.tests.push(twin);
    let page = data(&html(&overview));
    let ids: std::collections::BTreeSet<_> =
        page["tests"].as_array().expect("tests").iter().map(|row| row[0].to_string()).collect();
    assert_eq!(ids.len(), 9);
}

#[test]
fn details_have_evidence_failures_and_a_command() {
    let overview = synthetic::overview(30, 30, 30, 5);
    let page = data(&html(&overview));
    let at =
        overview.tests.iter().position(|test| test.verdict.conclusion == Conclusion::Flaky).expect("one");
    let id = page["tests"][at][0].as_str().expect("an id");
    let details = &page["details"][id];
    assert!(details["evidence"][0].as_str().expect("evidence").starts_with("passed and failed on"));
    assert!(!details["steps"].as_array().expect("steps").is_empty());
    assert!(!details["failures"].as_array().expect("failures").is_empty());
    assert!(details["reproduce"].as_str().expect("a command").starts_with("flakewise reproduce "));
}
