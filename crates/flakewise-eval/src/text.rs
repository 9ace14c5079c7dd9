//! Results as files that are committed, and as a summary.
//!
//! What is committed holds no times and three decimals: a change of a model
//! shows as a difference, a slow machine does not.

use std::path::{Path, PathBuf};

use flakewise_model::Foreign;

use crate::{EvalError, Evaluation, Measures, ProtocolMeasures};

impl Evaluation {
    /// Writes the results into a folder: a table for each protocol, one by
    /// project, one of what was found, one of reliability, and a page with plots.
    pub fn write(&self, folder: &Path) -> Result<(), EvalError> {
        let failed = |path: PathBuf| move |source| EvalError::Write { path, source };
        std::fs::create_dir_all(folder).map_err(failed(folder.to_owned()))?;
        let mut files: Vec<(String, String)> = self
            .protocols
            .iter()
            .map(|measured| (format!("{}.tsv", measured.protocol.name()), self.table(measured)))
            .collect();
        files.push(("slices.tsv".to_owned(), self.slices_table()));
        files.push(("projects.tsv".to_owned(), self.projects_table()));
        files.push(("errors.tsv".to_owned(), self.found_table()));
        files.push(("reliability.tsv".to_owned(), self.reliability_table()));
        files.push(("index.html".to_owned(), self.page()));
        for (name, text) in files {
            let path = folder.join(name);
            std::fs::write(&path, text).map_err(failed(path.clone()))?;
        }
        Ok(())
    }

    /// The results for people, with what they took.
    pub fn summary(&self) -> String {
        let mut text = format!(
            "{}: {} tests of {} projects, {} flaky; seed {}; read in {:.1} s\n",
            Foreign::new(&self.dataset).line(),
            self.tests,
            self.projects,
            self.flaky,
            self.seed,
            self.read_seconds
        );
        if !self.issues.is_empty() {
            text += &format!("{} lines were left out\n", self.issues.len());
        }
        for measured in &self.protocols {
            text += &format!(
                "\n{} ({} folds)\n{:24} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>9} {:>9}\n",
                measured.protocol.title(),
                measured.folds,
                "",
                "P",
                "R",
                "F1",
                "MCC",
                "AUC-PR",
                "ROC",
                "Brier",
                "s/fold",
                "ms/test"
            );
            for model in &measured.models {
                let [precision, recall, f1, mcc] = ratios(model);
                text += &format!(
                    "{:24} {precision:6.3} {recall:6.3} {f1:6.3} {mcc:6.3} {:6.3} {:>6} {:6.3} {:9.3} {:9.4}\n",
                    model.model,
                    model.average_precision,
                    optional(model.within_projects),
                    model.brier,
                    model.train_seconds,
                    model.predict_milliseconds
                );
            }
        }
        text
    }

    pub(crate) fn head(&self) -> String {
        format!(
            "# {}: {} tests of {} projects, {} flaky; seed {}\n",
            self.dataset, self.tests, self.projects, self.flaky, self.seed
        )
    }

    fn table(&self, measured: &ProtocolMeasures) -> String {
        let mut text = self.head();
        text += &format!(
            "# {}, {} folds, {:016x}\n",
            measured.protocol.title(),
            measured.folds,
            measured.folds_hash
        );
        text += "model\tprecision\trecall\tf1\tmcc\tauc_pr\troc_auc_within_projects\tbrier\ttp\tfp\tfn\ttn\n";
        for model in &measured.models {
            let [precision, recall, f1, mcc] = ratios(model);
            let counts = &model.confusion;
            text += &format!(
                "{}\t{precision:.3}\t{recall:.3}\t{f1:.3}\t{mcc:.3}\t{:.3}\t{}\t{:.3}\t{}\t{}\t{}\t{}\n",
                model.model,
                model.average_precision,
                optional(model.within_projects),
                model.brier,
                counts.true_positives,
                counts.false_positives,
                counts.false_negatives,
                counts.true_negatives
            );
        }
        text
    }

    fn projects_table(&self) -> String {
        let mut text = self.head();
        text += "protocol\tmodel\tproject\ttests\tflaky\tprecision\trecall\tf1\tauc_pr\troc_auc\n";
        for measured in &self.protocols {
            for model in &measured.models {
                for project in &model.projects {
                    let counts = &project.confusion;
                    let flaky = counts.true_positives + counts.false_negatives;
                    // Without a flaky test there is nothing to find, only to get wrong.
                    if flaky == 0 && counts.false_positives == 0 {
                        continue;
                    }
                    text += &format!(
                        "{}\t{}\t{}\t{}\t{flaky}\t{:.3}\t{:.3}\t{:.3}\t{}\t{}\n",
                        measured.protocol.name(),
                        model.model,
                        project.project,
                        flaky + counts.false_positives + counts.true_negatives,
                        counts.precision(),
                        counts.recall(),
                        counts.f1(),
                        optional(project.average_precision),
                        optional(project.roc_auc)
                    );
                }
            }
        }
        text
    }

    fn reliability_table(&self) -> String {
        let mut text = self.head();
        text += "protocol\tmodel\ttests\tclasses\tmean_probability\tshare_flaky\tlow\thigh\n";
        for measured in &self.protocols {
            for model in &measured.models {
                for bin in &model.reliability {
                    text += &format!(
                        "{}\t{}\t{}\t{}\t{:.3}\t{:.3}\t{:.3}\t{:.3}\n",
                        measured.protocol.name(),
                        model.model,
                        bin.count,
                        bin.groups,
                        bin.mean_probability,
                        bin.share_positive,
                        bin.interval.0,
                        bin.interval.1
                    );
                }
            }
        }
        text
    }
}

pub(crate) fn ratios(measures: &Measures) -> [f64; 4] {
    let confusion = &measures.confusion;
    [confusion.precision(), confusion.recall(), confusion.f1(), confusion.mcc()]
}

pub(crate) fn optional(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"))
}
