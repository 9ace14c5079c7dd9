//! Batches in one line.

use std::sync::Arc;
use std::time::Duration;

use flakewise_model::{
    Attempt, Batch, Failure, FindingId, Outcome, Phase, Probability, ReportBatch, ReportId, Run, RunId,
    StoredVerdict, TestId, Timestamp, Variant,
};

/// A point in time: midnight of 1 November 2026 plus this many hours.
pub fn at(hours: i64) -> Timestamp {
    Timestamp::from_timestamp(1_793_491_200 + 3600 * hours, 0).expect("the year 2026 exists")
}

/// The id of a test of this name, as [`BatchBuilder`] makes it.
pub fn test_id(name: &str) -> TestId {
    TestId::builder("pytest", "tests/test_it.py").finish(name, None)
}

/// The id of a test of this name in a folder of the repository, as
/// [`BatchBuilder::rootdir`] makes it.
pub fn test_id_in(folder: &str, name: &str) -> TestId {
    test_id(name).inside(folder)
}

/// Builds a batch with one report.
pub struct BatchBuilder {
    run: Run,
    rootdir: String,
    attempts: Vec<(TestId, Option<Phase>, Outcome, Option<Failure>)>,
    verdicts: Vec<StoredVerdict>,
}

impl BatchBuilder {
    /// A run of this name on this commit of `main`, this many hours in.
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
            roots: None,
            packages: None,
        };
        Self { run, rootdir: String::new(), attempts: Vec::new(), verdicts: Vec::new() }
    }

    /// Changes what is known of the run.
    #[must_use]
    pub fn run(mut self, change: impl FnOnce(&mut Run)) -> Self {
        change(&mut self.run);
        self
    }

    /// Tests added from here on are relative to this folder of the repository.
    #[must_use]
    pub fn rootdir(mut self, folder: &str) -> Self {
        folder.clone_into(&mut self.rootdir);
        self.run.roots.get_or_insert_default().insert(folder.to_owned());
        self
    }

    /// Adds an attempt of `test`; a further one of the same test is a retry.
    #[must_use]
    pub fn attempt(self, test: &str, outcome: Outcome) -> Self {
        self.add(test, None, outcome)
    }

    /// Adds an attempt of `test` that was made for this reason.
    #[must_use]
    pub fn phase(self, phase: Phase, test: &str, outcome: Outcome) -> Self {
        self.add(test, Some(phase), outcome)
    }

    fn add(mut self, test: &str, phase: Option<Phase>, outcome: Outcome) -> Self {
        let failure = outcome.is_failure().then(|| {
            Failure::new(
                Some("AssertionError"),
                &format!("{test} broke"),
                "tests/test_it.py:3: AssertionError",
            )
        });
        self.attempts.push((test_id_in(&self.rootdir, test), phase, outcome, failure));
        self
    }

    /// Adds a verdict about `test`, with an empty object for evidence.
    #[must_use]
    pub fn verdict(mut self, test: &str, conclusion: &str, detail: Option<&str>, probability: f64) -> Self {
        let test = test_id(test);
        self.verdicts.push(StoredVerdict {
            finding: FindingId::of(&test),
            test,
            conclusion: conclusion.to_owned(),
            detail: detail.map(str::to_owned),
            probability: Probability::clamped(probability),
            evidence: "{}".to_owned(),
        });
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
        for (position, (test, phase, outcome, failure)) in self.attempts.into_iter().enumerate() {
            let earlier = attempts.iter().filter(|attempt| attempt.test == test).count();
            attempts.push(Attempt {
                test,
                run: Arc::clone(&run),
                phase: phase.unwrap_or(if earlier == 0 { Phase::First } else { Phase::Retry }),
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
        let source = "report.xml".to_owned();
        let report = ReportBatch { id, source, complete: true, attempts, verdicts: self.verdicts };
        Batch { run, reports: vec![report] }
    }
}
