//! What is known of tests that failed just now: questions of the one who has to
//! judge the failure.
//!
//! Both are asked for many tests at once. No history is an answer too: nothing
//! is known.

use std::collections::HashMap;

use flakewise_model::{Fingerprint, OutcomesAt, PastFailures, PastRuns, Tally, TestId, Variant};

use crate::report::{Columns, OUTAGES, Runs, list, literal, scope, texts};
use crate::session::FAILURES;
use crate::{History, HistoryError};

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
        let mut wanted: HashMap<&str, Vec<&Fingerprint>> = HashMap::new();
        for (test, fingerprint) in tests {
            wanted.entry(test.as_str()).or_default().extend(fingerprint);
        }
        let mut known = HashMap::new();
        let names = tests.iter().map(|(test, _)| test);
        self.ask_about(
            names,
            |from, scope, tests| {
                // A fingerprint has no spaces, so the pair of both is told apart
                // from all other pairs.
                let alike: Vec<_> = tests
                    .iter()
                    .flat_map(|test| wanted[*test].iter().map(move |alike| literal(&format!("{alike} {test}"))))
                    .collect();
                let alike = match alike.as_slice() {
                    [] => "false".to_owned(),
                    alike => format!("fingerprint || ' ' || test IN ({})", alike.join(", ")),
                };
                format!(
                    "SELECT test, sum(passed + failed) AS attempts, sum(failed) AS failures, sum(alike) AS alike,
                            count(DISTINCT revision) AS revisions,
                            count(DISTINCT CASE WHEN alike > 0 THEN revision END) AS alike_revisions,
                            count(DISTINCT CASE WHEN passed > 0 AND failed > 0 THEN revision END)
                              AS mixed_revisions,
                            max(last_seen) AS last_seen, max(last_failed) AS last_failed
                     FROM (SELECT test, variant,
                                  CASE WHEN dirty OR commit IS NULL THEN attempts.run ELSE commit END AS revision,
                                  sum(CASE WHEN outcome IN {FAILURES} THEN 0 ELSE 1 END) AS passed,
                                  sum(CASE WHEN outcome IN {FAILURES} THEN 1 ELSE 0 END) AS failed,
                                  sum(CASE WHEN outcome IN {FAILURES} AND {alike} THEN 1 ELSE 0 END) AS alike,
                                  max(started_at) AS last_seen,
                                  max(CASE WHEN outcome IN {FAILURES} THEN started_at END) AS last_failed
                           FROM {from} WHERE outcome <> 'skipped' {scope} {elsewhere}
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

    /// How these tests ended on a commit, in the order asked. Only unmodified
    /// work trees count, and only this variant if one is given.
    pub fn outcomes_at(
        &self,
        tests: &[TestId],
        commit: &str,
        variant: Option<&Variant>,
    ) -> Result<Vec<OutcomesAt>, HistoryError> {
        let variant = variant
            .map_or_else(String::new, |variant| format!("AND variant = {}", literal(&variant.to_string())));
        let here = format!("AND NOT dirty AND commit = {} {variant}", literal(commit));
        let mut known = HashMap::new();
        self.ask_about(
            tests.iter(),
            |from, scope, _| {
                format!(
                    "SELECT test, sum(CASE WHEN outcome IN {FAILURES} THEN 0 ELSE 1 END) AS passed,
                            sum(CASE WHEN outcome IN {FAILURES} THEN 1 ELSE 0 END) AS failed,
                            max(started_at) AS last_seen
                     FROM {from} WHERE outcome <> 'skipped' {scope} {here}
                     GROUP BY test"
                )
            },
            |columns| {
                let passed = columns.counts("passed")?;
                let failed = columns.counts("failed")?;
                let last_seen = columns.times_if_any("last_seen")?;
                for (row, test) in columns.texts("test")?.into_iter().enumerate() {
                    let Some(Ok(test)) = test.map(|test| test.parse::<TestId>()) else { continue };
                    let outcomes = OutcomesAt {
                        test: test.clone(),
                        passed: passed[row],
                        failed: failed[row],
                        last_seen: last_seen[row],
                    };
                    known.insert(test, outcomes);
                }
                Ok(())
            },
        )?;
        let outcomes =
            |test: &TestId| known.get(test).cloned().unwrap_or_else(|| OutcomesAt::none(test.clone()));
        Ok(tests.iter().map(outcomes).collect())
    }

    /// What runs of a commit showed of these tests, in the order asked. Only
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
        self.block_on(async {
            let session = match self.session().await {
                Err(HistoryError::NoHistory { .. }) => return Ok(()),
                session => session?,
            };
            let outages = texts(&session, OUTAGES, "run").await?;
            let (from, runs) = scope(None, &Runs::Except(&outages));
            for tests in tests.chunks(TESTS_AT_ONCE) {
                let (first, last) = (literal(tests[0]), literal(tests[tests.len() - 1]));
                let names = list("test", "IN", tests);
                let scope = format!("{runs} AND test BETWEEN {first} AND {last} {names}");
                let frame = session.sql(&query(&from, &scope, tests)).await.map_err(HistoryError::query)?;
                for batch in frame.collect().await.map_err(HistoryError::query)? {
                    take(&Columns(&batch))?;
                }
            }
            Ok(())
        })
    }
}
