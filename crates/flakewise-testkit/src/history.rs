//! Batches in one line.

use std::sync::Arc;
use std::time::Duration;

use flakewise_model::{
    Attempt, Batch, Failure, Outcome, Phase, ReportBatch, ReportId, Run, RunId, TestId, Timestamp, Variant,
};

/// A point in time: midnight of 1 November 2026 plus so many hours.
pub fn at(hours: i64) -> Timestamp {
    Timestamp::from_timestamp(1_793_491_200 + 3600 * hours, 0).expect("the year 2026 exists")
}

/// Builds a batch with one report.
pub struct BatchBuilder {
    run: Run,
    attempts: Vec<(TestId, Outcome, Option<Failure>)>,
}

impl BatchBuilder {
    /// A run of this name on this commit of `main`, so many hours in.
    pub fn new(run: &str, commit: &str, hours: i64) -> Self {
        let run = Run {
            id: RunId::new(run),
            commit: Some(commit.to_owned()),
            dirty: false,
            branch: Some("main".to_owned()),
            variant: Variant::default().with("os", "linux"),
            provider: None,
            url: None,
            started: at(hours),
        };
        Self { run, attempts: Vec::new() }
    }

    /// Changes what is known of the run.
    #[must_use]
    pub fn run(mut self, change: impl FnOnce(&mut Run)) -> Self {
        change(&mut self.run);
        self
    }

    /// Adds an attempt of `test`; a further one of the same test is a retry.
    #[must_use]
    pub fn attempt(mut self, test: &str, outcome: Outcome) -> Self {
        let failure = outcome.is_failure().then(|| {
            Failure::new(
                Some("AssertionError"),
                &format!("{test} broke"),
                "tests/test_it.py:3: AssertionError",
            )
        });
        self.attempts.push((
            TestId::builder("pytest", "tests/test_it.py").finish(test, None),
            outcome,
            failure,
        ));
        self
    }

    /// Adds so many passing tests, so that a few failures are not an outage.
    #[must_use]
    pub fn bystanders(mut self, count: usize) -> Self {
        for number in 0..count {
            self = self.attempt(&format!("test_bystander_{number:03}"), Outcome::Passed);
        }
        self
    }

    /// The batch.
    pub fn build(self) -> Batch {
        let run = Arc::new(self.run);
        let mut attempts: Vec<Attempt> = Vec::new();
        for (position, (test, outcome, failure)) in self.attempts.into_iter().enumerate() {
            let earlier = attempts.iter().filter(|attempt| attempt.test == test).count();
            attempts.push(Attempt {
                test,
                run: Arc::clone(&run),
                phase: if earlier == 0 { Phase::First } else { Phase::Retry },
                number: u32::try_from(earlier).expect("few attempts") + 1,
                outcome,
                duration: Some(Duration::from_millis(250)),
                started: None,
                worker: None,
                position: u32::try_from(position).ok(),
                failure: failure.map(Box::new),
            });
        }
        let content: Vec<_> =
            attempts.iter().map(|attempt| format!("{} {}", attempt.test, attempt.outcome)).collect();
        let id = ReportId::of(Some(&run.id), content.join("\n").as_bytes());
        let report = ReportBatch { id, source: "report.xml".to_owned(), complete: true, attempts };
        Batch { run, reports: vec![report] }
    }
}
