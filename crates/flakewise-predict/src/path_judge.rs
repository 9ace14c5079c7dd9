//! The network over paths as a model of its own: with reasons and a file.

use flakewise_learn::NetworkOptions;
use flakewise_model::Probability;
use flakewise_paths::{Graph, PathWords, graph_of_source, path_words};
use flakewise_source::SourceTest;
use rayon::prelude::*;

use crate::blend::{HeldOut, Row};
use crate::category::CategoryJudge;
use crate::codec::{Damage, Reader, Writer};
use crate::features::Features;
use crate::file::{
    familiarity_number, read_card, read_categories, read_familiarity, write_card, write_categories,
};
use crate::model::{ModelCard, ModelError, TrainOptions};
use crate::past::{Keys, Past};
use crate::path_model::{PathJudgement, PathModel, PathOptions, PathRow};
use crate::reasons::{path_reason, siblings};
use crate::{Example, Familiarity, Prediction, Reason};

/// The network with what it needs to judge tests of a repository.
#[derive(Clone, Debug)]
pub(crate) struct PathJudge {
    model: PathModel,
    past: Past,
    /// The tests that it was calibrated on.
    familiarity: Familiarity,
}

impl PathJudge {
    /// Trains; also returns predictions for held-out tests. `None` if there are too
    /// few tests.
    pub(crate) fn train(
        examples: &[Example],
        rows: &[Row<'_>],
        train: &TrainOptions,
    ) -> Option<(Self, Vec<HeldOut>)> {
        let words: Vec<PathWords> =
            examples.par_iter().map(|example| path_words(&graph_of_source(&example.test))).collect();
        let path_rows: Vec<PathRow<'_>> = rows
            .iter()
            .zip(&words)
            .map(|(row, words)| PathRow { words, keys: row.keys, flaky: row.flaky })
            .collect();
        let network = NetworkOptions { seed: train.seed, ..NetworkOptions::default() };
        // With too few classes that have flaky tests, hold out single tests.
        [Familiarity::KnownProject, Familiarity::KnownClass].into_iter().find_map(|familiarity| {
            let options =
                PathOptions { familiarity, embeddings: train.embeddings.clone(), network: network.clone() };
            let (model, held_out) = PathModel::train(&path_rows, &options, |_, _| {})?;
            let past = Past::count(rows.iter().map(|row| (row.keys, row.flaky)));
            Some((Self { model, past, familiarity }, held_out))
        })
    }

    pub(crate) fn predict(
        &self,
        tests: &[SourceTest],
        pairs: &[(&Features, Keys)],
        explain_from: f64,
    ) -> Vec<Prediction> {
        let graphs: Vec<Graph> = tests.par_iter().map(graph_of_source).collect();
        let words: Vec<PathWords> = graphs.par_iter().map(path_words).collect();
        let said = self.model.judge(words.iter());
        let base = self.past.total();
        let usual = f64::from(base.flaky) / f64::from(base.known.max(1));
        (0..tests.len())
            .into_par_iter()
            .map(|place| {
                let keys = &pairs[place].1;
                // Without a path there is only the base rate.
                let has_path = !words[place].paths.is_empty();
                let risk = if has_path { said[place].risk } else { usual };
                let mut reasons = Vec::new();
                if risk >= explain_from {
                    reasons.extend(siblings(&self.past, keys));
                    reasons.extend(self.path(&graphs[place], &words[place], &said[place]));
                }
                Prediction {
                    risk: Probability::clamped(risk),
                    familiarity: self.past.familiarity(keys).min(self.familiarity),
                    category: None,
                    reasons,
                }
            })
            .collect()
    }

    /// The path with the highest attention, if the score drops without it.
    fn path(&self, graph: &Graph, words: &PathWords, said: &PathJudgement) -> Option<Reason> {
        let most =
            said.attention.iter().copied().enumerate().max_by(|left, right| left.1.total_cmp(&right.1));
        let (place, _) = most?;
        let mut without = words.clone();
        without.paths.remove(place);
        let other = self.model.judge(std::iter::once(&without)).pop()?;
        let weight = self.model.odds(said.score) - self.model.odds(other.score);
        let path = graph.paths().into_iter().nth(place)?;
        path_reason(graph, &path, weight).filter(|_| weight > 0.0)
    }

    /// The model file.
    pub(crate) fn write(&self, card: &ModelCard, categories: Option<&CategoryJudge>) -> Vec<u8> {
        let mut writer = Writer::default();
        write_card(card, &mut writer);
        self.past.write(&mut writer);
        writer.byte(familiarity_number(self.familiarity));
        write_categories(categories, &mut writer);
        self.model.write(&writer.finish())
    }

    /// Reads a model file.
    pub(crate) fn read(bytes: &[u8]) -> Result<(ModelCard, Self, Option<CategoryJudge>), ModelError> {
        let (model, about) = PathModel::open(bytes)?;
        let read = || -> Result<_, Damage> {
            let mut reader = Reader::new(&about);
            let card = read_card(&mut reader)?;
            let (past, familiarity) = (Past::read(&mut reader)?, read_familiarity(&mut reader)?);
            let categories = read_categories(&mut reader)?;
            reader.end()?;
            Ok((card, past, familiarity, categories))
        };
        let (card, past, familiarity, categories) = read().map_err(ModelError::Damaged)?;
        Ok((card, Self { model, past, familiarity }, categories))
    }
}
