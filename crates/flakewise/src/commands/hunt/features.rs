//! How tests behave, as a table that models learn from.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Write as _;
use std::path::Path;

use flakewise_model::{Attempt, BehaviourFeatures, Outcome, Phase, Tally, TestId};
use flakewise_runner::Measured;
use flakewise_source::{Language, Package, load_file, read_packaged};
use flakewise_triage::Churn;
use serde_json::{Map, Value, json};

/// A line for each test.
#[derive(Default)]
pub(super) struct FeatureTable {
    rows: BTreeMap<TestId, Row>,
    churn: Option<Churn>,
}

#[derive(Default)]
struct Row {
    features: BehaviourFeatures,
    runs: usize,
    together: Tally,
    ordered: Tally,
    alone: Tally,
}

impl FeatureTable {
    /// Reads what source and version control say. What cannot be read is
    /// missing.
    pub(super) fn prepare(&mut self, tests: &[TestId], root: &Path, files: &BTreeSet<String>) {
        let mut by_source: HashMap<TestId, BehaviourFeatures> = HashMap::new();
        for path in files {
            let (Some(language), Ok(bytes)) = (Language::of_path(path), load_file(root, path)) else {
                continue;
            };
            let package = Package::find(root, path, language);
            let file = read_packaged(path, language, package.as_ref(), &bytes);
            by_source.extend(file.tests.into_iter().map(|test| (test.id, test.metrics.features())));
        }
        for test in tests {
            let features = by_source.get(&test.without_parameters()).copied().unwrap_or_default();
            self.rows.insert(test.clone(), Row { features, ..Row::default() });
        }
        self.churn = Churn::discover(root).ok().flatten();
    }

    /// Takes in how a test behaved.
    pub(super) fn measured(&mut self, test: &TestId, runs: &[Measured]) {
        let features: Vec<BehaviourFeatures> = runs
            .iter()
            .map(|run| {
                let changes = self.churn.as_ref().and_then(|churn| churn.covered_changes(run));
                #[expect(clippy::cast_precision_loss, reason = "a model does not mind")]
                let covered_changes = changes.map(|changes| changes as f64);
                BehaviourFeatures { covered_changes, ..run.features() }
            })
            .collect();
        if let Some(row) = self.rows.get_mut(test) {
            row.features = BehaviourFeatures::average(&features).or(&row.features);
            row.runs = runs.len();
        }
    }

    /// Counts an outcome.
    pub(super) fn count(&mut self, attempt: &Attempt) {
        let Some(row) = self.rows.get_mut(&attempt.test) else { return };
        if attempt.outcome == Outcome::Skipped {
            return;
        }
        let tally = match attempt.phase {
            Phase::Fork | Phase::Fresh => &mut row.alone,
            Phase::Order => &mut row.ordered,
            _ => &mut row.together,
        };
        tally.add(attempt.outcome.is_failure());
    }

    /// Writes a line of JSON for each test.
    pub(super) fn write(&self, path: &Path) -> std::io::Result<()> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut out = std::io::BufWriter::new(std::fs::File::create(path)?);
        for (test, row) in &self.rows {
            let features: Map<String, Value> = BehaviourFeatures::NAMES
                .iter()
                .zip(row.features.values())
                .map(|(name, value)| ((*name).to_owned(), json!(value)))
                .collect();
            let line = json!({
                "test": test.as_str(),
                "measured_runs": row.runs,
                "features": features,
                "together": {"passed": row.together.passed, "failed": row.together.failed},
                "ordered": {"passed": row.ordered.passed, "failed": row.ordered.failed},
                "alone": {"passed": row.alone.passed, "failed": row.alone.failed},
            });
            writeln!(out, "{line}")?;
        }
        out.flush()
    }
}
