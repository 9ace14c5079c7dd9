//! A project's history as a whole, for a page to look at.
//!
//! The queries of a report, and a fixed number of others, however many tests there are: two
//! for the days of the project, one for the latest attempts of the costliest tests,
//! one for the kinds that runs named, and one for culprits.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use chrono::{Days, NaiveDate};
use deltalake::datafusion::prelude::SessionContext;
use flakewise_model::{
    Conclusion, Cost, CulpritNote, DayTotals, Outcome, OutcomeStep, ProjectOverview, RunId, TestDetails,
    TestId, TestOverview,
};
use serde::Deserialize;

use crate::aliases::Aliases;
use crate::contexts::Contexts;
use crate::flaky::judge;
use crate::gather::{Gathered, Record};
use crate::rate_changes::rate_changes;
use crate::report::{Columns, collect, list, rate, reruns};
use crate::rollup::DailySession;
use crate::session::Reading;
use crate::table::TableKind;
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
            let daily = self.daily_session().await?;
            let session = &daily.session;
            self.add_table(session, TableKind::Verdicts, Reading::Most).await?;
            let totals = self.totals(session, options).await?;
            let mut overview = ProjectOverview {
                project: self.project.clone(),
                window: totals.window,
                runs: totals.runs,
                outages: totals.outages,
                incomplete_runs: totals.incomplete_runs,
                lost_days: daily.lost_days,
                attempts: totals.attempts,
                ..ProjectOverview::default()
            };
            let Some((first, last)) = totals.window else { return Ok(overview) };
            let since = options.days.map(|_| first);
            let mut gathered = self.gather(&daily, since).await?;
            let shown_since = first.max(last.checked_sub_days(Days::new(TEST_DAYS - 1)).unwrap_or(first));
            let mut tests = listed(&mut gathered, &daily, shown_since).await?;
            overview.tests_left_off =
                u64::try_from(tests.len().saturating_sub(MOST_TESTS)).unwrap_or(u64::MAX);
            tests.truncate(MOST_TESTS);

            let index = index(&tests);
            add_steps(session, &mut tests, &index, &gathered, since).await?;
            add_kinds(session, &mut tests, &index, &gathered.aliases).await?;
            add_culprits(session, &mut tests, &index, &gathered.aliases).await?;
            (overview.days, overview.largest_run) = project_days(session, &tests, &gathered, since).await?;
            overview.tests = tests.into_iter().map(|(_, test)| test).collect();
            Ok(overview)
        })
    }
}

/// A test, and the id its rows are found by.
type Listed = (String, TestOverview);

/// The tests that failed, those that cost most first, with their days since this one.
async fn listed(
    gathered: &mut Gathered,
    daily: &DailySession,
    since: NaiveDate,
) -> Result<Vec<Listed>, HistoryError> {
    // Ids in a table are somebody else's bytes, see `History::report`.
    let ranked = gathered.tests.iter().filter(|(_, record)| record.has_failures());
    let ranked = ranked.map(|(name, record)| Some((record.cost(&gathered.contexts), name.parse().ok()?)));
    let mut ranked: Vec<(Cost, TestId)> = ranked.flatten().collect();
    ranked.sort_by(|left, right| right.0.cmp(&left.0).then_with(|| left.1.cmp(&right.1)));
    let detailed: HashSet<TestId> = ranked.into_iter().take(DETAILED).map(|(_, test)| test).collect();

    let say = |name: &str, record: &Record, contexts: &Contexts| {
        let tallies = record.tallies(contexts);
        let verdict = judge(&tallies, 0);
        // Tests that failed only in outages did not fail.
        if verdict.conclusion == Conclusion::NotSeenFailing {
            return None;
        }
        let test = name.parse::<TestId>().ok()?;
        let failures = record.failures();
        let details = detailed.contains(&test).then(|| TestDetails {
            failures: failures.clone(),
            changes: rate_changes(&tallies),
            ..TestDetails::default()
        });
        Some(TestOverview {
            test,
            verdict,
            kind: None,
            rate: rate(&tallies),
            reruns: reruns(&tallies),
            cost: record.cost(contexts),
            since: failures.iter().map(|group| group.first_seen).min(),
            last_failed: failures.iter().map(|group| group.last_seen).max(),
            owner: None,
            quarantine: None,
            days: record.days().into_iter().filter(|(day, _)| *day >= since).collect(),
            details,
        })
    };
    let said = gathered.of_each(daily, say).await?;
    let mut tests: Vec<Listed> = said.into_iter().filter_map(|(name, test)| Some((name, test?))).collect();
    tests
        .sort_by(|(_, left), (_, right)| right.cost.cmp(&left.cost).then_with(|| left.test.cmp(&right.test)));
    Ok(tests)
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
        "SELECT test, started_at, outcome, run, commit, variant, report, ordinal
         FROM (SELECT test, started_at, outcome, run, commit, variant, report, ordinal,
                      row_number() OVER (PARTITION BY test
                                         ORDER BY started_at DESC, run DESC, report DESC, ordinal DESC)
                        AS place
               FROM attempts WHERE true {window} {among}) AS latest
         WHERE place <= {STEPS}"
    );
    let mut steps: HashMap<usize, Vec<(Option<String>, u64, OutcomeStep)>> = HashMap::new();
    for batch in collect(session, &query).await? {
        let columns = Columns(&batch);
        let names = columns.texts("test")?;
        let times = columns.times("started_at")?;
        let outcomes = columns.texts("outcome")?;
        let runs = columns.texts("run")?;
        let commits = columns.texts("commit")?;
        let variants = columns.texts("variant")?;
        let (reports, ordinals) = (columns.texts("report")?, columns.counts("ordinal")?);
        for row in 0..batch.num_rows() {
            let Some(name) = &names[row] else { continue };
            // Outcomes a later version invented are not ours to judge.
            let Some(Ok(outcome)) = outcomes[row].as_deref().map(str::parse::<Outcome>) else { continue };
            let Some(at) = index.get(gathered.aliases.current(name).as_ref()) else { continue };
            if tests[*at].1.details.is_none() {
                continue;
            }
            let run = runs[row].clone().unwrap_or_default();
            let step = OutcomeStep {
                at: times[row],
                outcome,
                outage: gathered.contexts.is_outage(&run),
                commit: commits[row].clone(),
                variant: variants[row].clone().unwrap_or_default(),
                run: RunId::new(run),
            };
            steps.entry(*at).or_default().push((reports[row].clone(), ordinals[row], step));
        }
    }
    for (at, mut steps) in steps {
        // Attempts that began at the same time come in the order of their report.
        steps.sort_by(|left, right| {
            (left.2.at, &left.2.run, &left.0, left.1).cmp(&(right.2.at, &right.2.run, &right.0, right.1))
        });
        let surplus = steps.len().saturating_sub(STEPS);
        if let Some(details) = &mut tests[at].1.details {
            details.steps = steps.drain(surplus..).map(|(.., step)| step).collect();
        }
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

    // A run counts on the day of its first attempt, as in `runs`, and once.
    let mut losses: HashMap<&str, (u64, Duration)> = HashMap::new();
    for (name, _) in tests.iter().filter(|(_, test)| test.verdict.conclusion.is_flaky()) {
        for (context, failures, spent) in gathered.tests[name].losses() {
            let loss = losses.entry(gathered.contexts.get(context).run.as_ref()).or_default();
            loss.0 += failures;
            loss.1 += spent;
        }
    }
    for batch in collect(session, "SELECT run, day FROM runs").await? {
        let columns = Columns(&batch);
        for (run, day) in columns.texts("run")?.into_iter().zip(columns.days("day")?) {
            let loss = run.and_then(|run| losses.get(run.as_str()).copied());
            let (Some((failures, spent)), Some(totals)) = (loss, day.and_then(|day| days.get_mut(&day)))
            else {
                continue;
            };
            totals.runs_disturbed += u64::from(failures > 0);
            totals.flaky_failures += failures;
            totals.time_lost += spent;
        }
    }
    Ok((days.into_values().collect(), largest_run))
}

/// Where each test is listed.
fn index(tests: &[Listed]) -> HashMap<String, usize> {
    tests.iter().enumerate().map(|(at, (name, _))| (name.clone(), at)).collect()
}
