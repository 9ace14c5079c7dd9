//! A project's history as a whole, for a page to look at.
//!
//! A fixed number of queries, however many tests there are: those of a report, one
//! for the days of tests, two for the days of the project, one for the latest
//! attempts of the costliest tests, one for the kinds that runs named, and one for
//! culprits.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use chrono::{Days, NaiveDate};
use deltalake::datafusion::prelude::SessionContext;
use flakewise_model::{
    Conclusion, CulpritNote, DayTotals, Outcome, OutcomeStep, ProjectOverview, RunId, Tally, TestDetails,
    TestId, TestOverview,
};

use serde::Deserialize;

use crate::aliases::Aliases;
use crate::flaky::judge;
use crate::rate_changes::rate_changes;
use crate::report::{Columns, Gathered, Queries, Runs, Tests, collect, list, rate, reruns, scope};
use crate::session::{FAILURES, Reading};
use crate::{History, HistoryError, ReportOptions};

/// More tests are counted, not listed.
const MOST_TESTS: usize = 10_000;
/// How many of the costliest tests have details, and with how many attempts each.
const DETAILED: usize = 200;
const STEPS: usize = 60;
/// Days of each test that are listed, from the newest.
const TEST_DAYS: u64 = 90;

impl History {
    /// What the history says of the project as a whole: all tests that failed, the
    /// costliest first, and what happened day by day. Owners and
    /// quarantine are not in a history; the caller adds what it knows.
    pub fn overview(&self, options: &ReportOptions) -> Result<ProjectOverview, HistoryError> {
        self.block_on("overview", async {
            let session = self.full_session(Reading::Most).await?;
            let totals = self.totals(&session, options).await?;
            let mut overview = ProjectOverview {
                project: self.project.clone(),
                window: totals.window,
                runs: totals.runs,
                outages: totals.outages,
                incomplete_runs: totals.incomplete_runs,
                attempts: totals.attempts,
                ..ProjectOverview::default()
            };
            let Some((first, last)) = totals.window else { return Ok(overview) };
            let since = options.days.map(|_| first);
            let mut gathered = self.gather(&session, since).await?;
            let mut tests = judged(&mut gathered);
            overview.tests_left_off =
                u64::try_from(tests.len().saturating_sub(MOST_TESTS)).unwrap_or(u64::MAX);
            tests.truncate(MOST_TESTS);

            let shown_since = first.max(last.checked_sub_days(Days::new(TEST_DAYS - 1)).unwrap_or(first));
            let index = index(&tests);
            add_days(&session, &mut tests, &index, &gathered, since, shown_since).await?;
            add_steps(&session, &mut tests, &index, &gathered, since).await?;
            add_kinds(&session, &mut tests, &index, &gathered.aliases).await?;
            add_culprits(&session, &mut tests, &index, &gathered.aliases).await?;
            (overview.days, overview.largest_run) = project_days(&session, &tests, &gathered, since).await?;
            overview.tests = tests.into_iter().map(|(_, test)| test).collect();
            Ok(overview)
        })
    }
}

/// A test, and the id its rows are found by.
type Listed = (String, TestOverview);

fn judged(gathered: &mut Gathered) -> Vec<Listed> {
    let mut tests = Vec::new();
    for (name, tallies) in &gathered.tallies {
        let verdict = judge(tallies, 0);
        // Tests that failed only in outages did not fail.
        if verdict.conclusion == Conclusion::NotSeenFailing {
            continue;
        }
        // Ids in a table are somebody else's bytes, see `History::report`.
        let Ok(test) = name.parse::<TestId>() else { continue };
        let failures = gathered.failures.get(name).map_or(&[][..], Vec::as_slice);
        let overview = TestOverview {
            test,
            verdict,
            kind: None,
            rate: rate(tallies),
            reruns: reruns(tallies),
            cost: gathered.costs.get(name).copied().unwrap_or_default(),
            since: failures.iter().map(|group| group.first_seen).min(),
            last_failed: failures.iter().map(|group| group.last_seen).max(),
            owner: None,
            quarantine: None,
            days: Vec::new(),
            details: None,
        };
        tests.push((name.clone(), overview));
    }
    tests
        .sort_by(|(_, left), (_, right)| right.cost.cmp(&left.cost).then_with(|| left.test.cmp(&right.test)));
    for (name, test) in tests.iter_mut().take(DETAILED) {
        let failures = gathered.failures.remove(name).unwrap_or_default();
        let changes = gathered.tallies.get(name).map(|tallies| rate_changes(tallies)).unwrap_or_default();
        test.details = Some(TestDetails { failures, changes, ..TestDetails::default() });
    }
    tests
}

/// How each test did day by day.
async fn add_days(
    session: &SessionContext,
    tests: &mut [Listed],
    index: &HashMap<String, usize>,
    gathered: &Gathered,
    since: Option<NaiveDate>,
    shown_since: NaiveDate,
) -> Result<(), HistoryError> {
    let names = gathered.aliases.all_names(tests.iter().map(|(name, _)| name.as_str()));
    let named = if gathered.aliases.is_empty() { Tests::These(&names) } else { Tests::ExactlyThese(&names) };
    let runs = Runs::Except(&gathered.outages);
    let (from, scope) = scope(Some(shown_since), &runs);
    let among = Queries::among(since, &runs, &named);
    let query = format!(
        "SELECT test, day, sum(CASE WHEN outcome IN {FAILURES} THEN 0 ELSE 1 END) AS passed,
                sum(CASE WHEN outcome IN {FAILURES} THEN 1 ELSE 0 END) AS failed
         FROM {from} WHERE outcome <> 'skipped' AND phase <> 'base' {scope} {among}
         GROUP BY test, day"
    );
    let mut days: Vec<BTreeMap<NaiveDate, Tally>> = vec![BTreeMap::new(); tests.len()];
    for batch in collect(session, &query).await? {
        let columns = Columns(&batch);
        let (names, dates) = (columns.texts("test")?, columns.days("day")?);
        let (passed, failed) = (columns.counts("passed")?, columns.counts("failed")?);
        for row in 0..batch.num_rows() {
            let (Some(name), Some(day)) = (&names[row], dates[row]) else { continue };
            let Some(at) = index.get(gathered.aliases.current(name).as_ref()) else { continue };
            *days[*at].entry(day).or_default() += Tally { passed: passed[row], failed: failed[row] };
        }
    }
    for ((_, test), days) in tests.iter_mut().zip(days) {
        test.days = days.into_iter().collect();
    }
    Ok(())
}

/// The latest attempts of tests with details, those in outages included.
async fn add_steps(
    session: &SessionContext,
    tests: &mut [Listed],
    index: &HashMap<String, usize>,
    gathered: &Gathered,
    since: Option<NaiveDate>,
) -> Result<(), HistoryError> {
    let detailed = tests.iter().take(DETAILED).map(|(name, _)| name.as_str());
    let among = list("test", "IN", &gathered.aliases.all_names(detailed));
    let window = since.map_or_else(String::new, |day| format!("AND day >= DATE '{day}'"));
    let query = format!(
        "SELECT test, started_at, outcome, run, commit, variant
         FROM (SELECT test, started_at, outcome, run, commit, variant,
                      row_number() OVER (PARTITION BY test ORDER BY started_at DESC, run DESC) AS place
               FROM attempts WHERE true {window} {among}) AS latest
         WHERE place <= {STEPS}"
    );
    let outages: HashSet<&str> = gathered.outages.iter().map(String::as_str).collect();
    for batch in collect(session, &query).await? {
        let columns = Columns(&batch);
        let names = columns.texts("test")?;
        let times = columns.times("started_at")?;
        let outcomes = columns.texts("outcome")?;
        let runs = columns.texts("run")?;
        let commits = columns.texts("commit")?;
        let variants = columns.texts("variant")?;
        for row in 0..batch.num_rows() {
            let Some(name) = &names[row] else { continue };
            // Outcomes a later version invented are not ours to judge.
            let Some(Ok(outcome)) = outcomes[row].as_deref().map(str::parse::<Outcome>) else { continue };
            let Some(at) = index.get(gathered.aliases.current(name).as_ref()) else { continue };
            let Some(details) = &mut tests[*at].1.details else { continue };
            let run = runs[row].clone().unwrap_or_default();
            details.steps.push(OutcomeStep {
                at: times[row],
                outcome,
                outage: outages.contains(run.as_str()),
                commit: commits[row].clone(),
                variant: variants[row].clone().unwrap_or_default(),
                run: RunId::new(run),
            });
        }
    }
    for details in tests.iter_mut().filter_map(|(_, test)| test.details.as_mut()) {
        details.steps.sort_by(|left, right| (left.at, &left.run).cmp(&(right.at, &right.run)));
        let surplus = details.steps.len().saturating_sub(STEPS);
        details.steps.drain(..surplus);
    }
    Ok(())
}

/// The kinds that runs have named last. No verdict rests on them.
async fn add_kinds(
    session: &SessionContext,
    tests: &mut [Listed],
    index: &HashMap<String, usize>,
    aliases: &Aliases,
) -> Result<(), HistoryError> {
    let query = "SELECT test, last_value(detail ORDER BY started_at) AS kind, max(started_at) AS latest
                 FROM verdicts
                 WHERE conclusion = 'flaky' AND detail IS NOT NULL AND detail <> 'undecided-kind'
                 GROUP BY test";
    let mut latest = HashMap::new();
    for batch in collect(session, query).await? {
        let columns = Columns(&batch);
        let (names, kinds, times) =
            (columns.texts("test")?, columns.texts("kind")?, columns.times("latest")?);
        for ((name, kind), time) in names.into_iter().zip(kinds).zip(times) {
            let (Some(name), Some(kind)) = (name, kind) else { continue };
            let Some(at) = index.get(aliases.current(&name).as_ref()).copied() else { continue };
            if latest.get(&at).is_none_or(|known| *known < time) {
                latest.insert(at, time);
                tests[at].1.kind = Some(kind);
            }
        }
    }
    Ok(())
}

/// The culprits that the latest search proved.
async fn add_culprits(
    session: &SessionContext,
    tests: &mut [Listed],
    index: &HashMap<String, usize>,
    aliases: &Aliases,
) -> Result<(), HistoryError> {
    #[derive(Deserialize)]
    struct Found {
        tests: Vec<String>,
        shared: Vec<String>,
    }
    let query = "SELECT test, last_value(evidence ORDER BY started_at) AS evidence
                 FROM verdicts WHERE evidence LIKE '[{\"kind\":\"culprits\",%' GROUP BY test";
    for batch in collect(session, query).await? {
        let columns = Columns(&batch);
        for (name, evidence) in columns.texts("test")?.into_iter().zip(columns.texts("evidence")?) {
            let (Some(name), Some(evidence)) = (name, evidence) else { continue };
            let Some(at) = index.get(aliases.current(&name).as_ref()).copied() else { continue };
            let Some(details) = &mut tests[at].1.details else { continue };
            // Tables are somebody else's bytes: what is no evidence of ours names nobody.
            let found: Vec<Found> = serde_json::from_str(&evidence).unwrap_or_default();
            let note = |found: Found| CulpritNote {
                tests: found.tests.iter().filter_map(|test| test.parse().ok()).collect(),
                shared: found.shared,
            };
            details.culprits = found.into_iter().map(note).collect();
        }
    }
    Ok(())
}

/// What happened day by day, and how many tests the largest run had.
async fn project_days(
    session: &SessionContext,
    tests: &[Listed],
    gathered: &Gathered,
    since: Option<NaiveDate>,
) -> Result<(Vec<DayTotals>, u64), HistoryError> {
    let window = since.map_or_else(String::new, |day| format!("AND day >= DATE '{day}'"));
    let query = format!(
        "SELECT day, count(*) AS runs, coalesce(sum(attempts), 0) AS attempts, max(tests) AS largest
         FROM runs WHERE NOT outage {window} GROUP BY day"
    );
    let mut days: BTreeMap<NaiveDate, DayTotals> = BTreeMap::new();
    let mut largest_run = 0;
    for batch in collect(session, &query).await? {
        let columns = Columns(&batch);
        let (runs, attempts) = (columns.counts("runs")?, columns.counts("attempts")?);
        largest_run = columns.counts("largest")?.into_iter().fold(largest_run, u64::max);
        for (row, day) in columns.days("day")?.into_iter().enumerate() {
            let Some(day) = day else { continue };
            let totals = DayTotals {
                day,
                runs: runs[row],
                attempts: attempts[row],
                runs_disturbed: 0,
                flaky_failures: 0,
                time_lost: Duration::ZERO,
            };
            days.insert(day, totals);
        }
    }

    let is_flaky = |test: &TestOverview| test.verdict.conclusion.is_flaky();
    let flaky = tests.iter().filter(|(_, test)| is_flaky(test)).map(|(name, _)| name.as_str());
    let among = list("test", "IN", &gathered.aliases.all_names(flaky));
    let (from, scope) = scope(since, &Runs::Except(&gathered.outages));
    let failed = format!("outcome IN {FAILURES} AND phase <> 'base'");
    // A run counts on the day of its first attempt, as in `runs`, and once.
    let query = format!(
        "SELECT began.day AS day, count(DISTINCT CASE WHEN lost.failures > 0 THEN lost.run END) AS disturbed,
                sum(lost.failures) AS failures, sum(lost.spent) AS spent
         FROM (SELECT attempts.run AS run, sum(CASE WHEN {failed} THEN 1 ELSE 0 END) AS failures,
                      coalesce(sum(duration_us), 0) AS spent
               FROM {from} WHERE (outcome IN {FAILURES} OR phase <> 'first') {scope} {among}
               GROUP BY attempts.run) AS lost
         JOIN (SELECT run, day FROM runs) AS began ON lost.run = began.run
         GROUP BY began.day"
    );
    for batch in collect(session, &query).await? {
        let columns = Columns(&batch);
        let (disturbed, failures) = (columns.counts("disturbed")?, columns.counts("failures")?);
        let spent = columns.counts("spent")?;
        for (row, day) in columns.days("day")?.into_iter().enumerate() {
            let Some(totals) = day.and_then(|day| days.get_mut(&day)) else { continue };
            totals.runs_disturbed = disturbed[row];
            totals.flaky_failures = failures[row];
            totals.time_lost = Duration::from_micros(spent[row]);
        }
    }
    Ok((days.into_values().collect(), largest_run))
}

/// Where each test is listed.
fn index(tests: &[Listed]) -> HashMap<String, usize> {
    tests.iter().enumerate().map(|(at, (name, _))| (name.clone(), at)).collect()
}
