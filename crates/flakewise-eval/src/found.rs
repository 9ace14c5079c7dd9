//! Which flaky tests are found and which are missed, by project and kind.

use std::collections::BTreeMap;

use flakewise_predict::{Category, hits};

use crate::{Corpus, Evaluation, FoldScores};

/// How many flaky tests of one kind in one project were found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The project.
    pub project: String,
    /// The kind that the data set tells, or else our rule; none if neither
    /// knows.
    pub category: Option<Category>,
    /// Those that were found.
    pub found: u64,
    /// Those that were missed.
    pub missed: u64,
}

impl Found {
    /// Counts what was said about the rows of each fold.
    pub(crate) fn count(corpus: &Corpus, folds: &[(&[usize], &FoldScores)]) -> Vec<Self> {
        let mut counts: BTreeMap<(&str, Option<Category>), [u64; 2]> = BTreeMap::new();
        for (rows, scores) in folds {
            for (&row, &probability) in rows.iter().zip(&scores.probabilities) {
                let record = &corpus.records[row];
                if record.flaky {
                    let guess = || Category::guess(&hits(&corpus.examples[row].test.body));
                    let counted =
                        counts.entry((&record.project, record.category.or_else(guess))).or_default();
                    counted[usize::from(probability < scores.threshold)] += 1;
                }
            }
        }
        let named = |((project, category), [found, missed]): ((&str, _), [u64; 2])| Self {
            project: project.to_owned(),
            category,
            found,
            missed,
        };
        counts.into_iter().map(named).collect()
    }
}

impl Evaluation {
    pub(crate) fn found_table(&self) -> String {
        let mut text = self.head();
        text += "protocol\tmodel\tproject\tcategory\tfound\tmissed\n";
        for measured in &self.protocols {
            for model in &measured.models {
                for part in &model.found {
                    text += &format!(
                        "{}\t{}\t{}\t{}\t{}\t{}\n",
                        measured.protocol.name(),
                        model.model,
                        part.project,
                        part.category.map_or("-", Category::name),
                        part.found,
                        part.missed
                    );
                }
            }
        }
        text
    }
}
