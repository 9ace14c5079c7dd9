//! The page: what the template is filled with.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::NaiveDate;
use flakewise_model::{Conclusion, Probability, ProjectOverview, TestOverview, Timestamp};
use flakewise_report::{count, duration, number, reasons};
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde::Serialize;

use crate::charts::{Chart, Period, cost_chart, meter, periods, rate_chart};
use crate::data::{block, link_ids};
use crate::policy::content_security_policy;
use crate::words::{conclusion, excerpt, line, test_name};

const TEMPLATE: &str = include_str!("../templates/report.html");
const STYLE: &str = include_str!("../assets/report.css");
const SCRIPT: &str = include_str!("../assets/report.js");

/// Tests in the list of top offenders, and in the table for browsers without script.
const OFFENDERS: usize = 6;
const WITHOUT_SCRIPT: usize = 50;
/// Entries of the quarantine in the overview.
const QUARANTINED: usize = 6;
/// Rows of the table of owners.
const OWNERS: usize = 12;
/// Rows of the tables behind the charts.
const PERIODS: u64 = 13;

/// What a page says about itself.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// When it was made.
    pub generated_at: Timestamp,
    /// The version of Flakewise that made it.
    pub version: &'a str,
}

/// The overview as one self-contained HTML document.
pub fn report_html(overview: &ProjectOverview, page: &Page<'_>) -> String {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let template = environment.template_from_str(TEMPLATE).expect("the template is part of the build");
    template.render(Serde(View::new(overview, page))).expect("the template names fields that the view has")
}

#[derive(Serialize)]
struct View {
    policy: String,
    style: &'static str,
    script: &'static str,
    data: String,
    project: String,
    window: Option<String>,
    generated: String,
    version: String,
    scope: String,
    tiles: Vec<Tile>,
    rate: Option<Chart>,
    rate_caption: String,
    cost: Option<Chart>,
    cost_caption: String,
    periods: Vec<Period>,
    offenders: Vec<Offender>,
    kinds: Vec<Kind>,
    quarantine: Vec<Quarantined>,
    more_quarantined: usize,
    owners: Vec<Owner>,
    more_owners: usize,
    notes: Vec<String>,
    tests: usize,
    without_script: Vec<PlainRow>,
    left_off_without_script: usize,
}

impl View {
    fn new(overview: &ProjectOverview, page: &Page<'_>) -> Self {
        let ids = link_ids(overview);
        let today = page.generated_at.date_naive();
        let flaky: Vec<_> =
            overview.tests.iter().zip(&ids).filter(|(test, _)| test.verdict.conclusion.is_flaky()).collect();
        let mut quarantine: Vec<_> = overview
            .tests
            .iter()
            .zip(&ids)
            .filter_map(|(test, id)| Quarantined::new(test, id, today))
            .collect();
        // What has no end comes last.
        quarantine.sort_by_key(|entry| (entry.day.is_none(), entry.day));
        let tiles = tiles(overview, &flaky, &quarantine);
        let more_quarantined = quarantine.len().saturating_sub(QUARANTINED);
        quarantine.truncate(QUARANTINED);
        let mut owners = owners(overview, &flaky);
        let more_owners = owners.len().saturating_sub(OWNERS);
        owners.truncate(OWNERS);
        let window = overview.window.filter(|(first, last)| first <= last);
        let draw = |chart: fn((NaiveDate, NaiveDate), &[flakewise_model::DayTotals]) -> Chart| {
            window.filter(|_| overview.runs > 0).map(|window| chart(window, &overview.days))
        };
        Self {
            policy: content_security_policy(SCRIPT, STYLE),
            style: STYLE,
            script: SCRIPT,
            data: block(overview, &ids),
            project: line(&overview.project),
            window: window.map(|(first, last)| format!("{first} to {last}")),
            generated: page.generated_at.format("%Y-%m-%d %H:%M UTC").to_string(),
            version: page.version.to_owned(),
            scope: format!("{} in {}", count(overview.attempts, "attempt"), count(overview.runs, "run")),
            tiles,
            rate: draw(rate_chart),
            rate_caption: rate_caption(overview),
            cost: draw(cost_chart),
            cost_caption: cost_caption(overview),
            periods: window.map_or_else(Vec::new, |window| periods(window, &overview.days, PERIODS)),
            offenders: offenders(&flaky),
            kinds: kinds(&flaky),
            quarantine,
            more_quarantined,
            owners,
            more_owners,
            notes: notes(overview),
            tests: overview.tests.len(),
            without_script: overview.tests.iter().take(WITHOUT_SCRIPT).map(PlainRow::from).collect(),
            left_off_without_script: overview.tests.len().saturating_sub(WITHOUT_SCRIPT),
        }
    }
}

#[derive(Serialize)]
struct Tile {
    label: &'static str,
    value: String,
    note: String,
}

fn tiles(
    overview: &ProjectOverview,
    flaky: &[(&TestOverview, &String)],
    quarantine: &[Quarantined],
) -> Vec<Tile> {
    let proved = flaky.iter().filter(|(test, _)| test.verdict.conclusion == Conclusion::Flaky).count() as u64;
    let all = flaky.len() as u64;
    let (runs, disturbed, lost) = totals(overview, None);
    let broken = overview.tests.iter().filter(|test| test.verdict.conclusion == Conclusion::Broken).count();
    let next = quarantine.iter().find(|entry| entry.day.is_some());
    vec![
        Tile {
            label: "Flaky tests",
            value: number(all),
            note: format!("{} proved, {} probable", number(proved), number(all - proved)),
        },
        Tile {
            label: "Runs disturbed",
            value: Probability::clamped(disturbed as f64 / runs.max(1) as f64).to_string(),
            note: format!("{} of {}", number(disturbed), count(runs, "run")),
        },
        Tile { label: "Time lost", value: duration(lost), note: "failed attempts and reruns".to_owned() },
        Tile { label: "Broken tests", value: number(broken as u64), note: "fail consistently".to_owned() },
        Tile {
            label: "Quarantined",
            value: number(quarantine.len() as u64),
            note: next.map_or_else(|| "none expires".to_owned(), |entry| entry.when.clone()),
        },
    ]
}

/// Runs, disturbed runs and time lost: of all days, or of those in a range.
fn totals(overview: &ProjectOverview, range: Option<(NaiveDate, NaiveDate)>) -> (u64, u64, Duration) {
    let days = || {
        overview
            .days
            .iter()
            .filter(|day| range.is_none_or(|(first, last)| first <= day.day && day.day <= last))
    };
    (
        days().map(|day| day.runs).sum(),
        days().map(|day| day.runs_disturbed).sum(),
        days().map(|day| day.time_lost).sum(),
    )
}

/// The last seven days and the seven before; none if the window is shorter.
fn week_ranges(overview: &ProjectOverview) -> Option<[(NaiveDate, NaiveDate); 2]> {
    let (first, last) = overview.window?;
    let back = |days| last - chrono::Days::new(days);
    (first <= back(13)).then(|| [(back(6), last), (back(13), back(7))])
}

/// The totals of these weeks.
fn weeks(overview: &ProjectOverview) -> Option<[(u64, u64, Duration); 2]> {
    Some(week_ranges(overview)?.map(|range| totals(overview, Some(range))))
}

fn rate_caption(overview: &ProjectOverview) -> String {
    let rate = |(runs, disturbed, _): (u64, u64, Duration)| {
        Probability::clamped(disturbed as f64 / runs.max(1) as f64)
    };
    let all = format!("{} overall", rate(totals(overview, None)));
    match weeks(overview) {
        Some([this, before]) => {
            format!("{all}, {} in the last 7 days, {} in the 7 days before", rate(this), rate(before))
        }
        None => all,
    }
}

fn cost_caption(overview: &ProjectOverview) -> String {
    let all = format!("{} overall", duration(totals(overview, None).2));
    match weeks(overview) {
        Some([this, before]) => {
            let (this, before) = (duration(this.2), duration(before.2));
            format!("{all}, {this} in the last 7 days, {before} in the 7 days before")
        }
        None => all,
    }
}

#[derive(Serialize)]
struct Offender {
    id: String,
    name: String,
    file: String,
    runs: String,
    lost: String,
    meter: String,
}

fn offenders(flaky: &[(&TestOverview, &String)]) -> Vec<Offender> {
    let most = flaky.iter().map(|(test, _)| test.cost.runs_disturbed).max().unwrap_or(0).max(1);
    flaky
        .iter()
        .take(OFFENDERS)
        .map(|(test, id)| Offender {
            id: (*id).clone(),
            name: test_name(&test.test),
            file: line(&test.test.module()),
            runs: count(test.cost.runs_disturbed, "run"),
            lost: duration(test.cost.time_lost),
            meter: meter(test.cost.runs_disturbed as f64 / most as f64),
        })
        .collect()
}

#[derive(Serialize)]
struct Kind {
    name: String,
    known: bool,
    tests: String,
    meter: String,
}

fn kinds(flaky: &[(&TestOverview, &String)]) -> Vec<Kind> {
    let mut counts: BTreeMap<Option<String>, u64> = BTreeMap::new();
    for (test, _) in flaky {
        *counts.entry(test.kind.as_deref().map(line)).or_default() += 1;
    }
    let most = counts.values().copied().max().unwrap_or(1);
    let mut kinds: Vec<_> = counts.into_iter().collect();
    // Tests of no known kind come last, however many they are.
    kinds.sort_by_key(|(kind, tests)| (kind.is_none(), std::cmp::Reverse(*tests)));
    kinds
        .into_iter()
        .map(|(kind, tests)| Kind {
            known: kind.is_some(),
            name: kind.unwrap_or_else(|| "not determined".to_owned()),
            tests: number(tests),
            meter: meter(tests as f64 / most as f64),
        })
        .collect()
}

/// What the flaky tests of one owner cost.
#[derive(Serialize)]
struct Owner {
    name: String,
    tests: String,
    lost: String,
    /// Failures in the last seven days, and in the seven before.
    weeks: Option<[String; 2]>,
}

/// All owners of flaky tests, the one whose tests cost the most time first; none if no test has one.
fn owners(overview: &ProjectOverview, flaky: &[(&TestOverview, &String)]) -> Vec<Owner> {
    #[derive(Default)]
    struct Sum {
        tests: u64,
        lost: Duration,
        weeks: [u64; 2],
    }
    let mut sums: BTreeMap<Option<String>, Sum> = BTreeMap::new();
    let ranges = week_ranges(overview);
    for (test, _) in flaky {
        let sum = sums.entry(test.owner.as_deref().map(line)).or_default();
        sum.tests += 1;
        sum.lost += test.cost.time_lost;
        for (week, (first, last)) in sum.weeks.iter_mut().zip(ranges.into_iter().flatten()) {
            let days = test.days.iter().filter(|(day, _)| first <= *day && *day <= last);
            *week += days.map(|(_, tally)| tally.failed).sum::<u64>();
        }
    }
    if sums.keys().all(Option::is_none) {
        return Vec::new();
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|(owner, sum)| (owner.is_none(), std::cmp::Reverse(sum.lost)));
    let owner = |(name, sum): (Option<String>, Sum)| Owner {
        name: name.unwrap_or_else(|| "no owner".to_owned()),
        tests: number(sum.tests),
        lost: duration(sum.lost),
        weeks: ranges.map(|_| sum.weeks.map(number)),
    };
    sums.into_iter().map(owner).collect()
}

#[derive(Serialize)]
struct Quarantined {
    id: String,
    name: String,
    owner: String,
    when: String,
    soon: bool,
    #[serde(skip)]
    day: Option<NaiveDate>,
}

impl Quarantined {
    fn new(test: &TestOverview, id: &str, today: NaiveDate) -> Option<Self> {
        let note = test.quarantine.as_ref()?;
        let left = note.expires.map(|day| (day - today).num_days());
        Some(Self {
            id: id.to_owned(),
            name: test_name(&test.test),
            owner: line(note.owner.as_deref().or(test.owner.as_deref()).unwrap_or("no owner")),
            when: match (note.expires, left) {
                (Some(day), Some(..0)) => format!("expired on {day}"),
                (Some(_), Some(0)) => "expires today".to_owned(),
                (Some(_), Some(1)) => "expires tomorrow".to_owned(),
                (Some(_), Some(left @ 2..=14)) => format!("expires in {left} days"),
                (Some(day), _) => format!("expires on {day}"),
                (None, _) => "does not expire".to_owned(),
            },
            soon: left.is_some_and(|left| left <= 7),
            day: note.expires,
        })
    }
}

fn notes(overview: &ProjectOverview) -> Vec<String> {
    let mut notes = Vec::new();
    if overview.tests_left_off > 0 {
        notes.push(format!("{} that failed least are not listed", count(overview.tests_left_off, "test")));
    }
    if overview.outages > 0 {
        let runs = count(overview.outages, "run");
        notes.push(format!("{runs} set aside as outages: more than half of the tests failed"));
    }
    if overview.incomplete_runs > 0 {
        let runs = count(overview.incomplete_runs, "run");
        notes.push(format!("{runs} with a truncated report: some of their tests may be missing"));
    }
    if overview.lost_days > 0 {
        let days = count(overview.lost_days, "day");
        notes.push(format!(
            "{days} lost: their attempts have expired, and the roll-ups of `test_days` are gone"
        ));
    }
    notes
}

#[derive(Serialize)]
struct PlainRow {
    name: String,
    file: String,
    verdict: &'static str,
    rate: String,
    runs: String,
    lost: String,
    last: String,
    evidence: Option<String>,
    message: Option<String>,
}

impl From<&TestOverview> for PlainRow {
    fn from(test: &TestOverview) -> Self {
        let details = test.details.as_ref();
        Self {
            name: test_name(&test.test),
            file: line(&test.test.module()),
            verdict: conclusion(test.verdict.conclusion),
            rate: test.rate.rate().to_string(),
            runs: number(test.cost.runs_disturbed),
            lost: duration(test.cost.time_lost),
            last: test.last_failed.map(|at| at.format("%Y-%m-%d").to_string()).unwrap_or_default(),
            evidence: reasons(&test.verdict).first().map(|reason| line(reason)),
            message: details
                .and_then(|details| details.failures.first())
                .map(|group| excerpt(&group.message)),
        }
    }
}
