//! What is known of tests that failed just now: questions of the one who has to
//! judge the failure.
//!
//! All are queried for many tests at once. No history is an answer too: nothing
//! is known.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use flakewise_model::{
    Fingerprint, OutcomesAt, PassedRun, PastFailures, PastRuns, RunId, SeenOn, Tally, TestId, Timestamp,
    Variant,
};

use crate::gather::LISTED;
use crate::report::{Columns, OUTAGES, list, literal, texts};
use crate::session::{FAILURES, PROVING_FAILURES, Reading};
use crate::{History, HistoryError};

/// What to select from, and a condition, so that these runs are left out.
fn without(outages: &[String]) -> (String, String) {
    if outages.len() <= LISTED {
        return ("attempts".to_owned(), list("attempts.run", "NOT IN", outages));
    }
    let join = format!("attempts LEFT ANTI JOIN ({OUTAGES}) AS outages ON attempts.run = outages.run");
    (join, String::new())
}

/// How many tests a query names. Files are sorted by test. Up to twenty names
/// the engine compares with the bounds of every page, and reads only pages that
/// may hold one of them. Of more it knows the least and the greatest: between
/// those it reads all ids, and of other columns the pages it needs. That is
/// quicker than many queries of twenty.
const TESTS_AT_ONCE: usize = 512;

impl History {
    /// What is known of these tests from other code than that of `commit`, in
    /// the order asked; of all code if no commit is given. A fingerprint says
    /// which failures are alike.
    ///
    /// Modified work trees of the commit are left out as well: that is the
    /// change in the making, which fails again and again for its own reasons.
    pub fn failures_elsewhere(
        &self,
        tests: &[(TestId, Option<Fingerprint>)],
        commit: Option<&str>,
    ) -> Result<Vec<PastFailures>, HistoryError> {
        let elsewhere = commit.map_or_else(String::new, |commit| {
            format!("AND (commit IS NULL OR commit <> {})", literal(commit))
        });
        let wanted = Wanted::new(tests);
        let failed = format!("outcome IN {FAILURES}");
        let mut known = HashMap::new();
        let names = tests.iter().map(|(test, _)| test);
        self.ask_about(
            names,
            |from, scope, tests| {
                let alike = wanted.alike(tests);
                format!(
                    "SELECT test, sum(passed + failed) AS attempts, sum(failed) AS failures, sum(alike) AS alike,
                            count(DISTINCT revision) AS revisions,
                            count(DISTINCT CASE WHEN alike > 0 THEN revision END) AS alike_revisions,
                            count(DISTINCT CASE WHEN passed > 0 AND proving > 0 THEN revision END)
                              AS mixed_revisions,
                            max(last_seen) AS last_seen, max(last_failed) AS last_failed
                     FROM (SELECT test, variant, revision, sum(passes) AS passed,
                                  sum(own_failures + base_failures) AS failed,
                                  sum({PROVING_FAILURES}) AS proving, sum(alike) AS alike,
                                  max(last_seen) AS last_seen, max(last_failed) AS last_failed
                           FROM (SELECT test, variant,
                                        CASE WHEN dirty OR commit IS NULL THEN attempts.run ELSE commit END
                                          AS revision,
                                        CASE WHEN {failed} THEN fingerprint END AS looks,
                                        sum(CASE WHEN {failed} THEN 0 ELSE 1 END) AS passes,
                                        sum(CASE WHEN {failed} AND phase <> 'base' THEN 1 ELSE 0 END)
                                          AS own_failures,
                                        sum(CASE WHEN {failed} AND phase = 'base' THEN 1 ELSE 0 END)
                                          AS base_failures,
                                        sum(CASE WHEN {failed} AND {alike} THEN 1 ELSE 0 END) AS alike,
                                        max(started_at) AS last_seen,
                                        max(CASE WHEN {failed} THEN started_at END) AS last_failed
                                 FROM {from} WHERE outcome <> 'skipped' {scope} {elsewhere}
                                 GROUP BY 1, 2, 3, 4)
                           GROUP BY 1, 2, 3)
                     GROUP BY test"
                )
            },
            |columns| {
                let attempts = columns.counts("attempts")?;
                let failures = columns.counts("failures")?;
                let alike = columns.counts("alike")?;
                let revisions = columns.counts("revisions")?;
                let alike_revisions = columns.counts("alike_revisions")?;
                let mixed_revisions = columns.counts("mixed_revisions")?;
                let last_seen = columns.times_if_any("last_seen")?;
                let last_failed = columns.times_if_any("last_failed")?;
                for (row, test) in columns.texts("test")?.into_iter().enumerate() {
                    let Some(Ok(test)) = test.map(|test| test.parse::<TestId>()) else { continue };
                    let past = PastFailures {
                        test: test.clone(),
                        attempts: attempts[row],
                        failures: failures[row],
                        alike: alike[row],
                        revisions: revisions[row],
                        alike_revisions: alike_revisions[row],
                        mixed_revisions: mixed_revisions[row],
                        last_seen: last_seen[row],
                        last_failed: last_failed[row],
                    };
                    known.insert(test, past);
                }
                Ok(())
            },
        )?;
        let past =
            |test: &TestId| known.get(test).cloned().unwrap_or_else(|| PastFailures::none(test.clone()));
        Ok(tests.iter().map(|(test, _)| past(test)).collect())
    }

    /// What is known of these tests from clean commits, in the requested order: how
    /// often first attempts passed and failed, and how often the test failed with
    /// the fingerprint given. Commits come newest first, see [`SeenOn::RECENT`]
    /// and [`SeenOn::MOST_ALIKE`] for how many.
    ///
    /// Which of them have the change at hand is for the caller to say.
    pub fn seen_on(&self, tests: &[(TestId, Option<Fingerprint>)]) -> Result<Vec<Vec<SeenOn>>, HistoryError> {
        let (recent, most_alike) = (SeenOn::RECENT, SeenOn::MOST_ALIKE);
        // Two failures of one test may be asked about.
        let mut answers = Vec::with_capacity(tests.len());
        let mut rounds: Vec<Vec<usize>> = Vec::new();
        let mut asked: HashMap<&TestId, usize> = HashMap::new();
        for (place, (test, _)) in tests.iter().enumerate() {
            answers.push(Vec::new());
            let round = asked.entry(test).or_default();
            if rounds.len() == *round {
                rounds.push(Vec::new());
            }
            rounds[*round].push(place);
            *round += 1;
        }
        for round in rounds {
            let tests: Vec<_> = round.iter().map(|place| tests[*place].clone()).collect();
            let wanted = Wanted::new(&tests);
            let mut known: HashMap<String, Vec<SeenOn>> = HashMap::new();
            self.ask_about(
                tests.iter().map(|(test, _)| test),
                |from, scope, tests| {
                    let alike = wanted.alike(tests);
                    let sum = |condition: &str| format!("sum(CASE WHEN {condition} THEN 1 ELSE 0 END)");
                    format!(
                        "SELECT * FROM (
                           SELECT *, row_number() OVER (PARTITION BY test ORDER BY last_seen DESC, revision)
                                       AS place,
                                  row_number() OVER (PARTITION BY test, alike > 0
                                                     ORDER BY last_seen DESC, revision) AS place_alike
                           FROM (SELECT test, commit AS revision,
                                        array_to_string(array_agg(DISTINCT branch), chr(10)) AS branches,
                                        {} AS alike, {} AS first_passed, {} AS first_failed,
                                        max(started_at) AS last_seen
                                 FROM {from}
                                 WHERE outcome <> 'skipped' AND NOT dirty AND commit IS NOT NULL {scope}
                                 GROUP BY test, commit))
                         WHERE place <= {recent} OR (alike > 0 AND place_alike <= {most_alike})
                         ORDER BY test, last_seen DESC, revision",
                        sum(&format!("outcome IN {FAILURES} AND {alike}")),
                        sum(&format!("phase = 'first' AND outcome NOT IN {FAILURES}")),
                        sum(&format!("phase = 'first' AND outcome IN {FAILURES}")),
                    )
                },
                |columns| {
                    let commits = columns.texts("revision")?;
                    let branches = columns.texts("branches")?;
                    let alike = columns.counts("alike")?;
                    let first_passed = columns.counts("first_passed")?;
                    let first_failed = columns.counts("first_failed")?;
                    let last_seen = columns.times("last_seen")?;
                    for (row, test) in columns.texts("test")?.into_iter().enumerate() {
                        let (Some(test), Some(commit)) = (test, &commits[row]) else { continue };
                        let branches = branches[row].as_deref().unwrap_or_default().lines();
                        let mut branches: Vec<_> =
                            branches.filter(|branch| !branch.is_empty()).map(str::to_owned).collect();
                        branches.sort_unstable();
                        known.entry(test).or_default().push(SeenOn {
                            commit: commit.clone(),
                            branches,
                            alike: alike[row],
                            first_passed: first_passed[row],
                            first_failed: first_failed[row],
                            last_seen: last_seen[row],
                        });
                    }
                    Ok(())
                },
            )?;
            for (place, (test, _)) in round.into_iter().zip(&tests) {
                answers[place] = known.remove(test.as_str()).unwrap_or_default();
            }
        }
        Ok(answers)
    }

    /// The latest runs of clean commits in which each of these tests passed and
    /// that say what was installed: newest first, at most `most` for each test, in
    /// the order asked. Attempts on the base of a change are left out: they ran
    /// with what is installed now.
    pub fn passed_runs(
        &self,
        tests: &[TestId],
        variant: Option<&Variant>,
        most: usize,
    ) -> Result<Vec<Vec<PassedRun>>, HistoryError> {
        let variant = variant
            .map_or_else(String::new, |variant| format!("AND variant = {}", literal(&variant.to_string())));
        let mut found: Vec<(String, RunId, String, Variant, Timestamp)> = Vec::new();
        self.ask_about(
            tests.iter(),
            |from, scope, _| {
                format!(
                    "SELECT * FROM (
                       SELECT *, row_number() OVER (PARTITION BY test ORDER BY at DESC, run) AS place
                       FROM (SELECT test, attempts.run AS run, max(commit) AS revision,
                                    max(variant) AS variant, max(started_at) AS at
                             FROM {from}
                             WHERE outcome = 'passed' AND NOT dirty AND commit IS NOT NULL
                                   AND phase <> 'base' {variant} {scope}
                                   AND attempts.run IN (SELECT run FROM reports WHERE packages IS NOT NULL)
                             GROUP BY test, attempts.run))
                     WHERE place <= {most} ORDER BY test, at DESC, run"
                )
            },
            |columns| {
                let runs = columns.texts("run")?;
                let commits = columns.texts("revision")?;
                let variants = columns.texts("variant")?;
                let at = columns.times("at")?;
                for (row, test) in columns.texts("test")?.into_iter().enumerate() {
                    let (Some(test), Some(run), Some(commit)) = (test, &runs[row], &commits[row]) else {
                        continue;
                    };
                    let variant = Variant::parse(variants[row].as_deref().unwrap_or_default());
                    found.push((test, RunId::new(run.as_str()), commit.clone(), variant, at[row]));
                }
                Ok(())
            },
        )?;
        let runs: BTreeSet<_> = found.iter().map(|(_, run, ..)| run.to_string()).collect();
        let packages = self.packages_of(&runs.into_iter().collect::<Vec<_>>())?;
        let mut known: HashMap<String, Vec<PassedRun>> = HashMap::new();
        for (test, run, commit, variant, at) in found {
            let Some(packages) = packages.get(run.as_str()).cloned() else { continue };
            known.entry(test).or_default().push(PassedRun { run, commit, variant, at, packages });
        }
        Ok(tests.iter().map(|test| known.get(test.as_str()).cloned().unwrap_or_default()).collect())
    }

    /// What was installed in the latest run of this clean commit, in this variant
    /// if one is given; none if no run says so.
    pub fn packages_at(
        &self,
        commit: &str,
        variant: Option<&Variant>,
    ) -> Result<Option<Arc<str>>, HistoryError> {
        let variant = variant
            .map_or_else(String::new, |variant| format!("AND variant = {}", literal(&variant.to_string())));
        let query = format!(
            "SELECT packages FROM reports
             WHERE packages IS NOT NULL AND NOT dirty AND commit = {} {variant}
             ORDER BY started_at DESC, run LIMIT 1",
            literal(commit)
        );
        self.block_on("packages at a commit", async {
            let session = match self.session(Reading::Few).await {
                Err(HistoryError::NoHistory { .. }) => return Ok(None),
                session => session?,
            };
            Ok(texts(&session, &query, "packages").await?.pop().map(Arc::from))
        })
    }

    /// What was installed in these runs.
    fn packages_of(&self, runs: &[String]) -> Result<HashMap<String, Arc<str>>, HistoryError> {
        if runs.is_empty() {
            return Ok(HashMap::new());
        }
        let query = format!(
            "SELECT run, max(packages) AS packages FROM reports WHERE true {} GROUP BY run",
            list("run", "IN", runs)
        );
        self.block_on("packages of runs", async {
            let session = self.session(Reading::Few).await?;
            let frame = session.sql(&query).await.map_err(HistoryError::query)?;
            let mut known = HashMap::new();
            for batch in frame.collect().await.map_err(HistoryError::query)? {
                let columns = Columns(&batch);
                let (runs, packages) = (columns.texts("run")?, columns.texts("packages")?);
                let pairs = runs.into_iter().zip(packages);
                known.extend(pairs.filter_map(|(run, packages)| Some((run?, Arc::from(packages?)))));
            }
            Ok(known)
        })
    }

    /// How these tests ended on a commit, and how many of their failures have the
    /// given fingerprints, in the requested order. Only unmodified work trees count, and
    /// only this variant if one is given.
    pub fn outcomes_at(
        &self,
        tests: &[(TestId, Option<Fingerprint>)],
        commit: &str,
        variant: Option<&Variant>,
    ) -> Result<Vec<OutcomesAt>, HistoryError> {
        let variant = variant
            .map_or_else(String::new, |variant| format!("AND variant = {}", literal(&variant.to_string())));
        let here = format!("AND NOT dirty AND commit = {} {variant}", literal(commit));
        let wanted = Wanted::new(tests);
        let mut known = HashMap::new();
        self.ask_about(
            tests.iter().map(|(test, _)| test),
            |from, scope, some| {
                let alike = wanted.alike(some);
                format!(
                    "SELECT test, sum(CASE WHEN outcome IN {FAILURES} THEN 0 ELSE 1 END) AS passed,
                            sum(CASE WHEN outcome IN {FAILURES} THEN 1 ELSE 0 END) AS failed,
                            sum(CASE WHEN outcome IN {FAILURES} AND {alike} THEN 1 ELSE 0 END) AS alike,
                            max(started_at) AS last_seen
                     FROM {from} WHERE outcome <> 'skipped' {scope} {here}
                     GROUP BY test"
                )
            },
            |columns| {
                let passed = columns.counts("passed")?;
                let failed = columns.counts("failed")?;
                let alike = columns.counts("alike")?;
                let last_seen = columns.times_if_any("last_seen")?;
                for (row, test) in columns.texts("test")?.into_iter().enumerate() {
                    let Some(Ok(test)) = test.map(|test| test.parse::<TestId>()) else { continue };
                    let outcomes = OutcomesAt {
                        test: test.clone(),
                        passed: passed[row],
                        failed: failed[row],
                        alike: alike[row],
                        last_seen: last_seen[row],
                    };
                    known.insert(test, outcomes);
                }
                Ok(())
            },
        )?;
        let outcomes =
            |test: &TestId| known.get(test).cloned().unwrap_or_else(|| OutcomesAt::none(test.clone()));
        Ok(tests.iter().map(|(test, _)| outcomes(test)).collect())
    }

    /// What runs of a commit showed of these tests, in the requested order. Only
    /// unmodified work trees count, and only this variant.
    pub fn runs_at(
        &self,
        tests: &[TestId],
        commit: &str,
        variant: &Variant,
    ) -> Result<Vec<PastRuns>, HistoryError> {
        let here = format!(
            "AND NOT dirty AND commit = {} AND variant = {}",
            literal(commit),
            literal(&variant.to_string())
        );
        let mut known = HashMap::new();
        self.ask_about(
            tests.iter(),
            |from, scope, _| {
                let sum = |phase: &str, failed: &str, name: &str| {
                    format!(
                        "sum(CASE WHEN phase {phase} AND outcome {failed} {FAILURES}
                             THEN 1 ELSE 0 END) AS {name}"
                    )
                };
                let (alone, ordered) = ("IN ('fork', 'fresh')", "= 'order'");
                let together = "NOT IN ('fork', 'fresh', 'order')";
                format!(
                    "SELECT test, {}, {}, {}, {}, {}, {},
                            coalesce(CAST(avg(duration_us) AS BIGINT), 0) AS duration_us
                     FROM {from} WHERE outcome <> 'skipped' {scope} {here}
                     GROUP BY test",
                    sum(alone, "NOT IN", "alone_passed"),
                    sum(alone, "IN", "alone_failed"),
                    sum(ordered, "NOT IN", "ordered_passed"),
                    sum(ordered, "IN", "ordered_failed"),
                    sum(together, "NOT IN", "together_passed"),
                    sum(together, "IN", "together_failed"),
                )
            },
            |columns| {
                let alone = (columns.counts("alone_passed")?, columns.counts("alone_failed")?);
                let ordered = (columns.counts("ordered_passed")?, columns.counts("ordered_failed")?);
                let together = (columns.counts("together_passed")?, columns.counts("together_failed")?);
                let durations = columns.counts("duration_us")?;
                for (row, test) in columns.texts("test")?.into_iter().enumerate() {
                    let Some(Ok(test)) = test.map(|test| test.parse::<TestId>()) else { continue };
                    let tally = |of: &(Vec<u64>, Vec<u64>)| Tally { passed: of.0[row], failed: of.1[row] };
                    let seconds = Some(durations[row] as f64 / 1e6).filter(|seconds| *seconds > 0.0);
                    let runs = PastRuns {
                        together: tally(&together),
                        ordered: tally(&ordered),
                        alone: tally(&alone),
                        seconds,
                    };
                    known.insert(test, runs);
                }
                Ok(())
            },
        )?;
        Ok(tests.iter().map(|test| known.get(test).copied().unwrap_or_default()).collect())
    }

    /// Puts a question about tests, some at a time. `query` is given what to
    /// select from, conditions on runs and tests, and those tests.
    fn ask_about<'a>(
        &self,
        tests: impl Iterator<Item = &'a TestId>,
        query: impl Fn(&str, &str, &[&str]) -> String,
        mut take: impl FnMut(&Columns<'_>) -> Result<(), HistoryError>,
    ) -> Result<(), HistoryError> {
        let mut tests: Vec<_> = tests.map(TestId::as_str).collect();
        // Neighbours share pages.
        tests.sort_unstable();
        tests.dedup();
        if tests.is_empty() {
            return Ok(());
        }
        self.block_on("tests", async {
            let session = match self.session(Reading::Few).await {
                Err(HistoryError::NoHistory { .. }) => return Ok(()),
                session => session?,
            };
            let outages = texts(&session, OUTAGES, "run").await?;
            let (from, runs) = without(&outages);
            for tests in tests.chunks(TESTS_AT_ONCE) {
                let aliases = self.aliases(&session, Some(tests)).await?;
                let (first, last) = (literal(tests[0]), literal(tests[tests.len() - 1]));
                let names = list("test", "IN", tests);
                let scope = format!("{runs} AND test BETWEEN {first} AND {last} {names}");
                let from = match aliases.translated(tests) {
                    Some(translated) => from.replacen("attempts", &translated, 1),
                    None => from.clone(),
                };
                let frame = session.sql(&query(&from, &scope, tests)).await.map_err(HistoryError::query)?;
                for batch in frame.collect().await.map_err(HistoryError::query)? {
                    take(&Columns(&batch))?;
                }
            }
            Ok(())
        })
    }
}

/// Which failures are alike, by test.
struct Wanted<'a>(HashMap<&'a str, Vec<&'a Fingerprint>>);

impl<'a> Wanted<'a> {
    fn new(tests: &'a [(TestId, Option<Fingerprint>)]) -> Self {
        let mut wanted: HashMap<_, Vec<_>> = HashMap::new();
        for (test, fingerprint) in tests {
            wanted.entry(test.as_str()).or_default().extend(fingerprint);
        }
        Self(wanted)
    }

    /// Whether an attempt of one of these tests has a fingerprint that is asked
    /// for, as SQL.
    fn alike(&self, tests: &[&str]) -> String {
        // A fingerprint has no spaces, so the pair of both is distinguished from all
        // other pairs.
        let alike: Vec<_> = tests
            .iter()
            .flat_map(|test| self.0[*test].iter().map(move |alike| literal(&format!("{alike} {test}"))))
            .collect();
        match alike.as_slice() {
            [] => "false".to_owned(),
            alike => format!("fingerprint || ' ' || test IN ({})", alike.join(", ")),
        }
    }
}
