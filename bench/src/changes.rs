//! Changes of a failure rate: whether the commits that are named contain the one
//! that changed it, and how often a change is found that is none.

use std::collections::BTreeMap;

use flakewise_history::{RevisionTally, rate_changes};
use flakewise_model::{FlakeRate, RateChange, Timestamp};
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};

use crate::measure::header;
use crate::{Options, Outcome};

/// Commits with runs on a branch, by day and by year.
const COMMITS_PER_DAY: usize = 10;
const YEAR: usize = 365 * COMMITS_PER_DAY;
/// How often a year of results is looked at while it grows.
const LOOKS: usize = 12;

pub(crate) fn run(options: &Options) -> Outcome<()> {
    print!("{}", header("changes", options));
    let tests = if options.short { 60 } else { 1_000 };
    let mut random = SmallRng::seed_from_u64(options.seed);
    let commits: Vec<String> = (0..YEAR).map(|commit| format!("c{commit}")).collect();
    let found = planted(tests, &commits, &mut random);
    let alarms = constant(tests, &commits, &mut random);
    if found * 100 < tests * 95 {
        return Err("the commits that are named contain the planted one in less than 95 %".into());
    }
    if alarms * 1_000 > tests {
        return Err("more than one false alarm in 1,000 test-years".into());
    }
    Ok(())
}

/// What became of tests with one kind of change.
#[derive(Default)]
struct Row {
    tests: usize,
    found: usize,
    named: usize,
    others: usize,
    commits: Vec<u64>,
}

/// Tests whose rate changes once. Returns for how many the commits that are named
/// contain the one that changed it.
fn planted(tests: usize, commits: &[String], random: &mut SmallRng) -> usize {
    const BEFORE: [f64; 4] = [0.0, 0.0, 0.002, 0.01];
    const AFTER: [f64; 4] = [0.1, 0.2, 0.5, 1.0];
    println!("\na planted change, 300 commits before it and 300 after, 1 to 3 first attempts on each");
    println!("rates               tests   found   named with it   others found   commits named (median)");
    let mut rows: BTreeMap<(usize, bool), Row> = BTreeMap::new();
    for test in 0..tests {
        let place = 300 + random.random_range(0..10);
        let (low, high) = (BEFORE[test % 4], AFTER[test / 4 % 4]);
        let falls = test % 5 == 0;
        let rate = |commit: usize| if (commit < place) == falls { high } else { low };
        let changes = rate_changes(&history(&commits[..place + 300], rate, random));
        let row = rows.entry((test / 4 % 4, falls)).or_default();
        let contains =
            |change: &&RateChange| number(&change.good.id) < place && place <= number(&change.last.id);
        row.tests += 1;
        row.found += usize::from(!changes.is_empty());
        row.named += usize::from(changes.iter().any(|change| contains(&change)));
        row.others += changes.iter().filter(|change| !contains(change)).count();
        row.commits.extend(changes.iter().find(contains).map(|change| change.commits));
    }
    let mut right = 0;
    for ((after, falls), Row { tests, found, named, others, mut commits }) in rows {
        commits.sort_unstable();
        let rates = if falls {
            format!("{:.0} % to 0-1 %", 100.0 * AFTER[after])
        } else {
            format!("0-1 % to {:.0} %", 100.0 * AFTER[after])
        };
        let median = commits.get(commits.len() / 2).copied().unwrap_or(0);
        println!("{rates:<18} {tests:>6}  {found:>6}   {named:>13}   {others:>12}   {median:>22}");
        right += named;
    }
    println!("named with it in {right} of {tests}, {:.1} %", 100.0 * right as f64 / tests as f64);
    right
}

/// Tests whose rate never changes, looked at every month for a year. Returns in how
/// many of the years a change was found.
fn constant(tests: usize, commits: &[String], random: &mut SmallRng) -> usize {
    println!("\nno change, {COMMITS_PER_DAY} commits a day for a year, looked at {LOOKS} times");
    println!("rate             test-years   false alarms");
    let mut rows: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for _ in 0..tests {
        // From 0.1 % to 46 %, each power of ten alike.
        let exponent = random.random_range(-3.0..-0.34);
        let rate = 10.0_f64.powf(exponent);
        let year = history(commits, |_| rate, random);
        let looks = (1..=LOOKS).map(|look| &year[..YEAR * look / LOOKS]);
        let alarm = looks.into_iter().any(|seen| !rate_changes(seen).is_empty());
        let row = rows.entry(usize::from(rate >= 0.01) + usize::from(rate >= 0.1)).or_default();
        row.0 += 1;
        row.1 += usize::from(alarm);
    }
    for (place, name) in ["0.1 % to 1 %", "1 % to 10 %", "10 % to 46 %"].iter().enumerate() {
        let (years, alarms) = rows.get(&place).copied().unwrap_or_default();
        println!("{name:<16} {years:>10}   {alarms:>12}");
    }
    let alarms = rows.values().map(|(_, alarms)| alarms).sum();
    println!("{alarms} in {tests} test-years");
    alarms
}

fn history<'a>(
    commits: &'a [String],
    rate: impl Fn(usize) -> f64,
    random: &mut SmallRng,
) -> Vec<RevisionTally<'a>> {
    commits
        .iter()
        .enumerate()
        .map(|(place, commit)| {
            let attempts = random.random_range(1..=3);
            let failures = (0..attempts).filter(|_| random.random_bool(rate(place))).count() as u64;
            let seconds = i64::try_from(86_400 / COMMITS_PER_DAY * place).unwrap_or(0);
            let at = Timestamp::from_timestamp(1_700_000_000 + seconds, 0).unwrap_or_default();
            RevisionTally {
                variant: "",
                branch: Some("main"),
                commit: Some(commit),
                run: None,
                passed: attempts - failures,
                failed: [(None, failures)].into(),
                first_attempts: FlakeRate { failures, attempts },
                first: at,
                last: at,
                as_base: false,
            }
        })
        .collect()
}

fn number(commit: &str) -> usize {
    commit.trim_start_matches('c').parse().unwrap_or(usize::MAX)
}
