//! What a history says for and against quarantining a test.

use std::collections::HashSet;

use flakewise_model::{Conclusion, FlakeRate, FlakyTest, HistoryReport, Outcome, TestHistory};
use statrs::function::beta::inv_beta_reg;

use crate::InForce;

/// The probability of a wrong release that is accepted, and of overrating the old rate.
const DOUBT: f64 = 0.05;

/// How many clean runs in a row speak for a fix: as many as a test that still fails at
/// its old rate would survive with a probability of 5 % at most. None if the test was
/// never seen to fail.
///
/// The old rate is uncertain itself, and a rate that is taken for too high would ask for
/// too few runs. So its lower 95 % credible bound is used, with Jeffreys' prior Beta(½, ½).
///
/// ```
/// use flakewise_model::FlakeRate;
/// use flakewise_quarantine::clean_runs_needed;
///
/// let needed = |failures, attempts| clean_runs_needed(FlakeRate { failures, attempts });
/// assert_eq!(needed(10, 20), Some(8));
/// assert_eq!(needed(5, 50), Some(63));
/// assert_eq!(needed(1, 100), Some(1699));
/// assert_eq!(needed(0, 100), None);
/// ```
pub fn clean_runs_needed(before: FlakeRate) -> Option<u64> {
    if before.failures == 0 {
        return None;
    }
    let passes = before.attempts.saturating_sub(before.failures);
    let rate = inv_beta_reg(before.failures as f64 + 0.5, passes as f64 + 0.5, DOUBT);
    let runs = (DOUBT.ln() / (-rate).ln_1p()).ceil();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be in range")]
    (1.0..1e15).contains(&runs).then_some(runs as u64)
}

/// How a quarantined test did lately, and what would be enough to release it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReleaseEvidence {
    /// How often its first attempt failed up to its last failure.
    pub before: FlakeRate,
    /// Runs since then in which it passed and never failed.
    pub clean_runs: u64,
    /// How many are needed; none if its rate is not known.
    pub needed: Option<u64>,
}

impl ReleaseEvidence {
    /// What a test's history says.
    pub fn of(history: &TestHistory) -> Self {
        let is_failure = |step: &flakewise_model::OutcomeStep| step.outcome.is_failure() && !step.outage;
        let last = history.steps.iter().rposition(is_failure);
        let failing = last.map(|place| &history.steps[place].run);
        let since = &history.steps[last.map_or(0, |place| place + 1)..];
        let passed = since.iter().filter(|step| step.outcome == Outcome::Passed).map(|step| &step.run);
        let clean: HashSet<_> = passed.filter(|run| Some(*run) != failing).collect();
        let clean_runs = clean.len() as u64;
        let FlakeRate { failures, attempts } = history.rate;
        // The clean runs are what the rate is compared with, not a part of it.
        let before = FlakeRate { failures, attempts: attempts.saturating_sub(clean_runs).max(failures) };
        Self { before, clean_runs, needed: clean_runs_needed(before) }
    }

    /// Whether the test can be released.
    pub fn is_enough(&self) -> bool {
        self.needed.is_some_and(|needed| self.clean_runs >= needed)
    }
}

/// Tests that are proved flaky and not quarantined, the costliest first, as many as the
/// cap has room for.
pub fn additions<'a>(report: &'a HistoryReport, in_force: &InForce) -> Vec<&'a FlakyTest> {
    let room = in_force.limits.max_entries.saturating_sub(in_force.quarantine.entries.len());
    let is_open = |finding: &&FlakyTest| {
        finding.verdict.conclusion == Conclusion::Flaky
            && finding.failures.iter().any(|group| group.fingerprint.is_some())
            && in_force.covering(&finding.test).next().is_none()
    };
    report.findings.iter().filter(is_open).take(room).collect()
}

#[cfg(test)]
mod tests {
    use flakewise_model::{OutcomeStep, Probability, RunId, TestId, Timestamp, Verdict};
    use proptest::prelude::*;
    use statrs::function::beta::beta_reg;

    use super::*;

    proptest! {
        #[test]
        fn fewer_runs_would_not_be_enough(attempts in 1_u64..5_000, share in 0.0_f64..=1.0) {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range")]
            let failures = ((attempts as f64 * share) as u64).clamp(1, attempts);
            let before = FlakeRate { failures, attempts };
            let needed = clean_runs_needed(before).expect("it failed");
            // The rate at which this many clean runs are just 5 % likely.
            let rate = |runs: u64| 1.0 - 0.05_f64.powf(1.0 / runs as f64);
            let below = |rate: f64| beta_reg(failures as f64 + 0.5, (attempts - failures) as f64 + 0.5, rate);
            prop_assert!(below(rate(needed)) <= 0.0501, "the old rate is higher with 95 %");
            prop_assert!(needed == 1 || below(rate(needed - 1)) >= 0.0499, "one run fewer is too few");
        }

        #[test]
        fn a_rarer_flake_needs_more_clean_runs(attempts in 10_u64..1_000, failures in 1_u64..9) {
            let needed = |failures, attempts| clean_runs_needed(FlakeRate { failures, attempts });
            prop_assert!(needed(failures, attempts + 1) >= needed(failures, attempts));
            prop_assert!(needed(failures, attempts) >= needed(failures + 1, attempts));
        }
    }

    /// `.` passes, `F` fails, `s` is skipped, `O` fails in an outage, `|` begins the next run.
    fn history(steps: &str, failures: u64, attempts: u64) -> TestHistory {
        let mut run = 0;
        let mut listed = Vec::new();
        for step in steps.chars() {
            let outcome = match step {
                '|' => {
                    run += 1;
                    continue;
                }
                '.' => Outcome::Passed,
                's' => Outcome::Skipped,
                _ => Outcome::Failed,
            };
            listed.push(OutcomeStep {
                at: Timestamp::default(),
                outcome,
                outage: step == 'O',
                commit: None,
                variant: String::new(),
                run: RunId::new(format!("r{run}")),
            });
        }
        TestHistory {
            test: TestId::builder("pytest", "test_a.py").finish("test_a", None),
            verdict: Verdict {
                conclusion: Conclusion::Flaky,
                probability: Probability::ONE,
                evidence: vec![],
            },
            rate: FlakeRate { failures, attempts },
            reruns: FlakeRate::default(),
            cost: flakewise_model::Cost::default(),
            attempts,
            first_seen: Timestamp::default(),
            steps: listed,
            failures: vec![],
            changes: vec![],
        }
    }

    #[test]
    fn clean_runs_are_counted_from_the_last_failure() {
        let evidence = |steps, failures, attempts| ReleaseEvidence::of(&history(steps, failures, attempts));
        // The pass of a rerun in the failing run proves nothing.
        assert_eq!(evidence("F|F.|.|.|s|O|..|.", 2, 6).clean_runs, 4);
        assert_eq!(evidence("F|F.|.|.|s|O|..|.", 2, 6).before, FlakeRate { failures: 2, attempts: 2 });
        assert!(!evidence("F|F.|.|.|s|O|..|.", 2, 6).is_enough());
        assert!(evidence("F|F.|.|.|s|O|..|.|.|.", 2, 8).is_enough(), "it failed every time, and passes now");
        assert_eq!(evidence(".|.|F", 1, 3).clean_runs, 0);
        assert!(!evidence(".|.|F|.|.|.", 1, 6).is_enough());
        assert!(!evidence(".|.|.", 0, 3).is_enough(), "nothing is known of its rate");
    }
}
