//! Overviews made from a seed: plausible ones to look at and measure, and hostile
//! ones.

use std::time::Duration;

use chrono::{Datelike as _, Days, NaiveDate, TimeDelta, Weekday};
use flakewise_model::{
    Commit, Conclusion, Cost, CulpritNote, DayTotals, Evidence, FailureGroup, Fingerprint, FlakeRate,
    Outcome, OutcomeStep, Probability, ProjectOverview, QuarantineNote, RateChange, Revision, RunId, Tally,
    TestDetails, TestId, TestOverview, Timestamp, Transitions, Variant, Verdict,
};
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

const AREAS: [&str; 12] = [
    "checkout",
    "cart",
    "catalog",
    "search",
    "payments",
    "shipping",
    "accounts",
    "inventory",
    "reports",
    "mailer",
    "webhooks",
    "pricing",
];
const LAYERS: [&str; 4] = ["unit", "api", "integration", "browser"];
const ACTIONS: [&str; 16] = [
    "creates",
    "updates",
    "rejects",
    "expires",
    "retries",
    "locks",
    "merges",
    "renders",
    "exports",
    "sorts",
    "refunds",
    "reserves",
    "notifies",
    "caches",
    "imports",
    "validates",
];
const THINGS: [&str; 14] = [
    "order",
    "basket",
    "invoice",
    "session",
    "voucher",
    "address",
    "shipment",
    "refund",
    "product",
    "queue",
    "token",
    "discount",
    "receipt",
    "subscription",
];
const ENDS: [&str; 10] = [
    "after_timeout",
    "twice",
    "when_offline",
    "in_order",
    "with_empty_cart",
    "under_load",
    "across_midnight",
    "for_guest",
    "in_parallel",
    "on_first_try",
];
const KINDS: [&str; 5] = ["transient", "state-dependent", "bursty", "hash-seed", "process-dependent"];
const OWNERS: [&str; 6] =
    ["@acme/payments", "@acme/storefront", "@acme/platform", "@acme/search", "@mira", "@jonas"];
const FAILURES: [(&str, &str); 6] = [
    (
        "TimeoutError",
        "page.click: Timeout 30000ms exceeded.\n  waiting for locator('#confirm')\n    at tests/browser/pages/checkout.py:41",
    ),
    (
        "AssertionError",
        "assert 3 == 4\n +  where 3 = len([<Event created>, <Event paid>, <Event sent>])\n\ntests/helpers/events.py:27: AssertionError",
    ),
    (
        "ConnectionError",
        "HTTPConnectionPool(host='127.0.0.1', port=40213): Max retries exceeded with url: /v1/quotes",
    ),
    ("OperationalError", "database is locked\n[SQL: INSERT INTO reservations (sku, amount) VALUES (?, ?)]"),
    (
        "AssertionError",
        "assert '2026-11-01T00:00:00' == '2026-10-31T23:00:00'\n  - 2026-10-31T23:00:00\n  + 2026-11-01T00:00:00",
    ),
    ("KeyError", "'currency'"),
];

/// The last day of every overview.
pub(crate) fn last_day() -> NaiveDate {
    NaiveDate::from_ymd_opt(2026, 11, 15).expect("a day")
}

/// When every page is made.
pub(crate) fn generated_at() -> Timestamp {
    at(last_day(), 20)
}

fn at(day: NaiveDate, hour: u32) -> Timestamp {
    day.and_hms_opt(hour % 24, 17, 0).expect("a time").and_utc()
}

/// An overview of this many tests over this many days; the first `detailed` of
/// them have details.
pub(crate) fn overview(tests: usize, days: u64, detailed: usize, seed: u64) -> ProjectOverview {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let first = last_day() - Days::new(days.max(1) - 1);
    let window: Vec<_> = first.iter_days().take(usize::try_from(days).expect("few days")).collect();
    let mut tests: Vec<_> = (0..tests).map(|index| test(&mut random, index, &window)).collect();
    tests.sort_by(|left, right| right.cost.cmp(&left.cost).then_with(|| left.test.cmp(&right.test)));
    for (place, test) in tests.iter_mut().enumerate() {
        if place < detailed {
            test.details = Some(details(&mut random, test));
        }
        if place < 40 && place % 7 == 3 {
            test.quarantine = Some(QuarantineNote {
                owner: test.owner.clone().or_else(|| Some("@acme/platform".to_owned())),
                reason: Some("Waits for the rewrite of the event queue, SHOP-1182".to_owned()),
                expires: last_day().checked_add_days(Days::new(place as u64 + 1)),
            });
        }
    }
    let totals: Vec<_> = window
        .iter()
        .enumerate()
        .map(|(index, day)| {
            let runs = if is_weekend(*day) { random.random_range(3..9) } else { random.random_range(34..58) };
            // Flakiness that grows, then is worked on.
            let phase = index as f64 / window.len() as f64;
            let share =
                (0.05 + 0.16 * (-((phase - 0.55) / 0.2).powi(2)).exp()) * random.random_range(0.5..1.5);
            let runs_disturbed = round(runs as f64 * share);
            DayTotals {
                day: *day,
                runs,
                attempts: runs * 10_214,
                runs_disturbed,
                flaky_failures: runs_disturbed * 2,
                time_lost: Duration::from_secs(runs_disturbed * random.random_range(40..260)),
            }
        })
        .collect();
    ProjectOverview {
        project: "acme/shop".to_owned(),
        window: Some((first, last_day())),
        runs: totals.iter().map(|day| day.runs).sum::<u64>() + 2,
        outages: 2,
        incomplete_runs: 1,
        lost_days: 0,
        attempts: totals.iter().map(|day| day.attempts).sum(),
        largest_run: 10_214,
        days: totals,
        tests,
        tests_left_off: 0,
    }
}

fn is_weekend(day: NaiveDate) -> bool {
    matches!(day.weekday(), Weekday::Sat | Weekday::Sun)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small and not negative")]
fn round(value: f64) -> u64 {
    value.max(0.0).round() as u64
}

fn test(random: &mut ChaCha8Rng, index: usize, window: &[NaiveDate]) -> TestOverview {
    let area = AREAS.choose(random).expect("some");
    let layer = LAYERS.choose(random).expect("some");
    let mut pick = |words: &[&'static str]| *words.choose(random).expect("some");
    let (action, thing, end) = (pick(&ACTIONS), pick(&THINGS), pick(&ENDS));
    let module = format!("tests/{layer}/{area}/test_{thing}.py");
    let builder = TestId::builder("pytest", &module);
    let builder =
        if index.is_multiple_of(3) { builder.class(&format!("Test{}", capital(thing))) } else { builder };
    // The number keeps names apart in large overviews.
    let parameters = (index % 4 == 1 || index > 500).then(|| format!("case-{index}"));
    let id = builder.finish(&format!("test_{action}_{thing}_{end}"), parameters.as_deref());
    let chance = random.random_range(0.0..1.0_f64);
    let (conclusion, kind) = match chance {
        ..0.42 => (Conclusion::Flaky, random.random_bool(0.8)),
        ..0.55 => (Conclusion::ProbablyFlaky, false),
        ..0.565 => (Conclusion::Broken, false),
        _ => (Conclusion::Undecided, false),
    };
    let kind = kind
        .then(|| KINDS[round(random.random_range(0.0..1.0_f64).powi(2) * 4.4).min(4) as usize].to_owned());
    let highest = if conclusion == Conclusion::Flaky { 0.11 } else { 0.02 };
    let rate = 0.001 + highest * random.random_range(0.0..1.0_f64).powi(8);
    let broken_since = (conclusion == Conclusion::Broken).then(|| random.random_range(2..9));
    let mut days = Vec::new();
    for (at, day) in window.iter().enumerate() {
        let runs = if is_weekend(*day) { random.random_range(0..3) } else { random.random_range(5..12) };
        if runs == 0 {
            continue;
        }
        let is_broken = broken_since.is_some_and(|since| at + since >= window.len());
        let failed =
            if is_broken { runs } else { (0..runs).filter(|_| random.random_bool(rate)).count() as u64 };
        days.push((*day, Tally { passed: runs - failed, failed }));
    }
    // Every test of an overview has failed.
    if days.iter().all(|(_, tally)| tally.failed == 0) {
        let at = random.random_range(0..days.len());
        days[at].1.failed = 1;
    }
    let failures: u64 = days.iter().map(|(_, tally)| tally.failed).sum();
    let attempts: u64 = days.iter().map(|(_, tally)| tally.runs()).sum();
    let failing = || days.iter().filter(|(_, tally)| tally.failed > 0).map(|(day, _)| *day);
    let (since, last) = (failing().next(), failing().next_back());
    let seconds = random.random_range(1..48) * failures;
    TestOverview {
        test: id,
        verdict: verdict(random, conclusion, last.unwrap_or_else(last_day), failures),
        kind,
        rate: FlakeRate { failures, attempts },
        reruns: FlakeRate { failures, attempts: failures * 4 },
        cost: Cost { runs_disturbed: failures, time_lost: Duration::from_millis(1000 * seconds + 371) },
        since: since.map(|day| at(day, 9)),
        last_failed: last.map(|day| at(day, 15)),
        owner: random.random_bool(0.8).then(|| (*OWNERS.choose(random).expect("some")).to_owned()),
        quarantine: None,
        days,
        details: None,
    }
}

fn capital(word: &str) -> String {
    word[..1].to_uppercase() + &word[1..]
}

fn commit(random: &mut ChaCha8Rng) -> String {
    (0..5).map(|_| format!("{:08x}", random.random::<u32>())).collect()
}

fn variant(random: &mut ChaCha8Rng) -> Variant {
    let python = ["3.11", "3.12", "3.13"].choose(random).expect("some");
    Variant::default().with("os", "linux").with("python", python)
}

fn verdict(random: &mut ChaCha8Rng, conclusion: Conclusion, last: NaiveDate, failures: u64) -> Verdict {
    let transitions = Evidence::Transitions(Transitions {
        stayed_passing: random.random_range(200..900),
        began_failing: failures.min(14),
        stayed_failing: failures / 20,
        recovered: failures.min(14).saturating_sub(u64::from(conclusion == Conclusion::Broken)),
    });
    let mixed = Evidence::MixedOutcomes {
        revisions: failures.div_ceil(3),
        latest: Revision::Commit(commit(random)),
        variant: variant(random),
        passed: random.random_range(1..6),
        failed: random.random_range(1..3),
        at: at(last, 15),
    };
    let (probability, evidence) = match conclusion {
        Conclusion::Flaky => (1.0, vec![mixed, transitions]),
        Conclusion::ProbablyFlaky => (random.random_range(0.8..0.99), vec![transitions]),
        _ => (random.random_range(0.02..0.5), vec![transitions]),
    };
    Verdict { conclusion, probability: Probability::clamped(probability), evidence }
}

fn details(random: &mut ChaCha8Rng, test: &TestOverview) -> TestDetails {
    let mut steps = Vec::new();
    let share = (test.rate.rate().get() * 2.0).clamp(0.06, 0.6);
    let mut time = test.last_failed.unwrap_or_else(generated_at) - TimeDelta::hours(90);
    while steps.len() < 60 {
        let commit = commit(random);
        let variant = variant(random).to_string();
        // Only a proved flake passes and fails on one commit.
        let is_proved = test.verdict.conclusion == Conclusion::Flaky;
        let mut outcome = Outcome::Passed;
        for number in 0..random.random_range(1..4) {
            if is_proved || number == 0 {
                outcome = match random.random_range(0.0..1.0) {
                    chance if chance < share => Outcome::Failed,
                    chance if chance > 0.97 => Outcome::Skipped,
                    _ => Outcome::Passed,
                };
            }
            let step = OutcomeStep {
                at: time,
                outcome,
                outage: false,
                commit: Some(commit.clone()),
                variant: variant.clone(),
                run: RunId::new(format!("ci/{}", steps.len())),
            };
            time += TimeDelta::minutes(40);
            let rerun = OutcomeStep { outcome: Outcome::Passed, at: time, ..step.clone() };
            steps.push(step);
            if is_proved && outcome.is_failure() {
                steps.push(rerun);
            }
        }
    }
    let mut left = test.rate.failures;
    let mut failures = Vec::new();
    for (kind, message) in FAILURES.choose_multiple(random, 3) {
        let count = if failures.len() == 2 { left } else { left.div_ceil(2) };
        if count == 0 {
            break;
        }
        left -= count;
        failures.push(FailureGroup {
            fingerprint: Some(Fingerprint::from_text(&format!("{:016x}", random.random::<u64>()))),
            kind: Some((*kind).to_owned()),
            message: (*message).to_owned(),
            count,
            first_seen: test.since.unwrap_or_else(generated_at),
            last_seen: test.last_failed.unwrap_or_else(generated_at),
        });
    }
    let changes = random.random_bool(0.3).then(|| {
        let mut at = |hours| Commit { id: commit(random), at: generated_at() - TimeDelta::hours(hours) };
        RateChange {
            before: FlakeRate { failures: 2, attempts: 812 },
            after: test.rate,
            branch: Some("main".to_owned()),
            good: at(400),
            last: at(370),
            commits: 7,
        }
    });
    let changes = changes.into_iter().collect();
    let culprits = (test.kind.as_deref() == Some("state-dependent")).then(|| CulpritNote {
        tests: vec![TestId::builder("pytest", "tests/unit/pricing/test_discount.py").finish("test_sets_currency", None)],
        shared: vec![
            "`test_sets_currency` leaves `shop.settings.CURRENCY` at 'USD' (was 'EUR'), read at shop/prices.py:31".to_owned(),
        ],
    });
    TestDetails { steps, failures, changes, culprits: culprits.into_iter().collect(), reproduce: None }
}

/// Text that does harm wherever it is not taken for text. `harm` is what a script
/// would do.
pub(crate) fn hostile_texts() -> Vec<String> {
    let harm = "window.harm=1;alert(1)";
    let mut texts = vec![
        format!("</script><script>{harm}</script>"),
        format!("<script>{harm}</script>"),
        format!("<img src=x onerror='{harm}'>"),
        format!("\"><svg onload=\"{harm}\">"),
        format!("' onmouseover='{harm}' x='"),
        format!("</style><style>body{{display:none}}</style><script>{harm}</script>"),
        format!("<!--<script>{harm}//"),
        format!("--><script>{harm}</script>"),
        format!("]]><script>{harm}</script>"),
        format!("</noscript></template></title><script>{harm}</script>"),
        format!("javascript:{harm}"),
        "{{ 7 * 7 }}{% raw %}${7*7}#{7*7}".to_owned(),
        "\u{202e}txt.exe\u{2066}\u{2069}\u{200f}".to_owned(),
        "a\u{2028}b\u{2029}c\u{0}d\u{1b}[31me\u{feff}".to_owned(),
        "&lt;b&gt;&amp;&#60;i&#62;".to_owned(),
        "<meta http-equiv=refresh content='0;url=https://harm.invalid/'>".to_owned(),
        "<base href=https://harm.invalid/><link rel=stylesheet href=//harm.invalid/x.css>".to_owned(),
        "__proto__".to_owned(),
        "constructor".to_owned(),
    ];
    texts.push("x".repeat(1 << 20));
    texts.push(format!("<b>{}", "\u{202e}\n".repeat(1 << 18)));
    texts
}

/// The plausible overview with hostile text in every field that holds text.
pub(crate) fn hostile(seed: u64) -> ProjectOverview {
    let texts = hostile_texts();
    let mut overview = overview(3 * texts.len(), 30, 3 * texts.len(), seed);
    overview.project.clone_from(&texts[0]);
    for (index, test) in overview.tests.iter_mut().enumerate() {
        let text = |offset: usize| texts[(index + offset) % texts.len()].clone();
        test.test = TestId::builder(if index.is_multiple_of(2) { "pytest" } else { "<b>" }, &text(1))
            .class(&text(2))
            .finish(&text(0), Some(&format!("{}{index}", text(3))));
        test.kind = Some(text(4));
        test.owner = Some(text(5));
        test.quarantine =
            Some(QuarantineNote { owner: Some(text(6)), reason: Some(text(7)), expires: Some(last_day()) });
        test.verdict.evidence = vec![Evidence::MixedOutcomes {
            revisions: 1,
            latest: Revision::Commit(text(8)),
            variant: Variant::default().with(&text(9), &text(10)),
            passed: 1,
            failed: 1,
            at: generated_at(),
        }];
        if let Some(details) = &mut test.details {
            // A few are enough: some texts are large.
            details.steps.truncate(3);
            for step in &mut details.steps {
                step.commit = Some(text(11));
                step.variant = text(12);
            }
            for group in &mut details.failures {
                group.kind = Some(text(13));
                group.message = text(14);
                group.fingerprint = Some(Fingerprint::from_text(&text(15)));
            }
            details.reproduce = Some(text(16));
            details.culprits = vec![CulpritNote { tests: vec![test.test.clone()], shared: vec![text(17)] }];
        }
    }
    overview
}
