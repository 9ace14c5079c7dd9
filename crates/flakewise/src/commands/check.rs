//! `flakewise check`: what `run` does, and whether new and changed tests are flaky.

use std::collections::HashMap;

use flakewise_config::Config;
use flakewise_model::TestId;
use flakewise_report::RiskReport;
use flakewise_triage::Change;

use super::{predict, run};
use crate::args::CheckArguments;
use crate::context::project;
use crate::error::ExpectedError;
use crate::printer::Printer;
use crate::repository::LoadedModel;

pub(crate) fn check(
    arguments: &CheckArguments,
    config: &Config,
    printer: &Printer,
) -> Result<u8, ExpectedError> {
    run::run(&arguments.suite, Some(arguments), config, printer)
}

/// What is known of new and changed tests before anything runs.
pub(super) struct Predicted {
    /// How likely each of them is flaky, by its id without parameters.
    pub(super) risks: HashMap<TestId, f64>,
    /// Those that are named, with reasons.
    pub(super) report: RiskReport,
}

impl Predicted {
    pub(super) fn new(
        arguments: &CheckArguments,
        change: &Change,
        printer: &Printer,
    ) -> Result<Self, ExpectedError> {
        let root = change.root.as_path();
        let model = LoadedModel::find(arguments.model.as_deref(), root)?;
        let project = project(arguments.suite.record.store.project.as_deref());
        let (risks, report) = predict::changed(change, project, model, printer);
        Ok(Self { risks, report })
    }

    /// The risk of a new or changed test; none for any other.
    pub(super) fn risk(&self, test: &TestId) -> Option<f64> {
        self.risks.get(&test.without_parameters()).copied()
    }
}
