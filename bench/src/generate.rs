//! A history that looks real.
//!
//! Attempts are drawn by Zipf's law over the tests. 3.7 % of the tests are
//! flaky, with failure rates spread log-uniformly from 0.01 % to 90 % (both as
//! in the `FlakeFlagger` data, where the median is 0.7 %). Every commit breaks
//! a test or two for a few commits, and one run in a hundred is an outage.

use std::sync::Arc;
use std::time::Duration;

use flakewise_model::{
    Attempt, Batch, Failure, Outcome, Phase, ReportBatch, ReportId, Run, RunId, TestId, Timestamp, Variant,
};
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};

/// How much to make.
pub(crate) struct Scale {
    pub(crate) tests: usize,
    pub(crate) commits: usize,
    pub(crate) runs_per_commit: usize,
    /// None if each test runs once.
    pub(crate) attempts_per_run: Option<usize>,
    pub(crate) commits_per_day: usize,
}

pub(crate) struct Generator {
    scale: Scale,
    cumulative: Vec<f64>,
    tests: Vec<TestId>,
    rates: Vec<f64>,
    /// Tests that are broken, and until which commit.
    broken: Vec<(usize, usize)>,
    random: SmallRng,
}

impl Generator {
    pub(crate) fn new(scale: Scale, seed: u64) -> Self {
        let mut random = SmallRng::seed_from_u64(seed);
        let mut sum = 0.0;
        let mut cumulative: Vec<f64> = (0..scale.tests)
            .map(|rank| {
                sum += 1.0 / (rank as f64 + 1.0).powf(0.9);
                sum
            })
            .collect();
        for value in &mut cumulative {
            *value /= sum;
        }
        let tests = (0..scale.tests).map(test).collect();
        let rates = (0..scale.tests)
            .map(|_| {
                if random.random::<f64>() < 0.037 {
                    (1e-4_f64.ln() + random.random::<f64>() * (0.9_f64 / 1e-4).ln()).exp()
                } else {
                    0.0
                }
            })
            .collect();
        Self { scale, cumulative, tests, rates, broken: Vec::new(), random }
    }

    /// The test of this popularity, from 0.
    pub(crate) fn test(&self, rank: usize) -> &TestId {
        &self.tests[rank]
    }

    /// All runs of one commit.
    pub(crate) fn commit(&mut self, number: usize) -> Vec<Batch> {
        self.broken.retain(|(_, until)| *until > number);
        for _ in 0..self.random.random_range(0..3) {
            let test = self.random.random_range(0..self.scale.tests);
            self.broken.push((test, number + self.random.random_range(1..6)));
        }
        let sha =
            format!("{:016x}{:016x}{:08x}", self.random.random::<u64>(), self.random.random::<u64>(), number);
        (0..self.scale.runs_per_commit).map(|run| self.run(number, run, &sha)).collect()
    }

    fn run(&mut self, commit: usize, number: usize, sha: &str) -> Batch {
        let day = i64::try_from(commit / self.scale.commits_per_day).unwrap_or(0);
        let second = 86_000 * (commit % self.scale.commits_per_day * self.scale.runs_per_commit + number)
            / (self.scale.commits_per_day * self.scale.runs_per_commit);
        // From 1 October 2026.
        let start = 1_790_812_800 + day * 86_400 + i64::try_from(second).unwrap_or(0);
        let outage = self.random.random::<f64>() < 0.01;
        let run = Arc::new(Run {
            id: RunId::new(format!(
                "github/{}.1/unit",
                9_000_000 + commit * self.scale.runs_per_commit + number
            )),
            commit: Some(sha.to_owned()),
            dirty: false,
            branch: Some("main".to_owned()),
            variant: Variant::default().with("job", "unit").with("os", "linux"),
            provider: Some("github".to_owned()),
            url: None,
            started: Timestamp::from_timestamp(start, 0).unwrap_or_default(),
            roots: None,
            packages: None,
        });
        let attempts = match self.scale.attempts_per_run {
            Some(attempts) => (0..attempts)
                .map(|place| {
                    let draw = self.random.random::<f64>();
                    let test = self.cumulative.partition_point(|value| *value < draw);
                    self.attempt(&run, test.min(self.scale.tests - 1), place, outage)
                })
                .collect(),
            None => (0..self.scale.tests).map(|test| self.attempt(&run, test, test, outage)).collect(),
        };
        let id = ReportId::of(Some(&run.id), b"");
        let source = "junit.xml".to_owned();
        let report = ReportBatch { id, source, complete: true, attempts, verdicts: Vec::new() };
        Batch { run, reports: vec![report] }
    }

    fn attempt(&mut self, run: &Arc<Run>, test: usize, place: usize, outage: bool) -> Attempt {
        let chance = if outage {
            0.8
        } else if self.broken.iter().any(|(broken, _)| *broken == test) {
            1.0
        } else {
            self.rates[test]
        };
        let failed = self.random.random::<f64>() < chance;
        let skipped = !failed && self.random.random::<f64>() < 0.01;
        let failure = failed.then(|| {
            let kind = self.random.random_range(0..3);
            let types = ["AssertionError", "TimeoutError", "ConnectionRefusedError"];
            let message = format!("expected {} items, got {place} after waiting for the service", test % 17);
            let trace = format!(
                "tests/test_{:03}.py:{place}: {}\nsrc/service_{kind}.py:1: x",
                test % 60,
                types[kind]
            );
            Box::new(Failure::new(Some(types[kind]), &message, &trace))
        });
        Attempt {
            test: self.tests[test].clone(),
            run: Arc::clone(run),
            phase: Phase::First,
            number: 1,
            outcome: match (failed, skipped) {
                (true, _) => Outcome::Failed,
                (_, true) => Outcome::Skipped,
                _ => Outcome::Passed,
            },
            duration: Some(Duration::from_micros(self.random.random_range(200..2_000_000))),
            started: None,
            worker: None,
            position: u32::try_from(place).ok(),
            failure,
        }
    }
}

fn test(rank: usize) -> TestId {
    TestId::builder("pytest", &format!("services/module_{:03}/tests/test_{:04}.py", rank % 60, rank / 12))
        .class(&format!("TestSuite{:03}", rank % 97))
        .finish(&format!("test_case_number_{rank:05}_handles_something"), None)
}
