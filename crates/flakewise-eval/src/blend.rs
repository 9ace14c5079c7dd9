//! Our own predictor, measured like the others.

use flakewise_learn::{Fold, best_threshold};
use flakewise_predict::{Blend, Familiarity, Features, Keys, Row};

use crate::{Corpus, CpuClock, FoldScores, Model, Protocol};

/// The blend, with the expert for what a protocol holds out.
pub fn blend_model() -> Model {
    Model::new("Flakewise", blend)
}

fn blend(corpus: &Corpus, fold: &Fold, protocol: Protocol) -> FoldScores {
    let keys = |row: usize| {
        let example = &corpus.examples[row];
        Keys::new(&example.project, &example.test.id, &corpus.features[row])
    };
    let train: Vec<Row<'_>> = fold
        .train
        .iter()
        .map(|&row| Row {
            features: &corpus.features[row],
            keys: keys(row),
            flaky: corpus.labels[row],
            name: corpus.examples[row].test.id.as_str(),
            weight: 1.0,
        })
        .collect();
    let familiarity = match protocol {
        Protocol::Random => Familiarity::KnownClass,
        Protocol::Class => Familiarity::KnownProject,
        Protocol::Project => Familiarity::NewProject,
    };
    let clock = CpuClock::start();
    let (blend, held_out) = Blend::train(&train, &[familiarity], corpus.seed());
    let train_seconds = clock.seconds();
    let risks: Vec<f64> = held_out.iter().map(|test| test.risk).collect();
    let labels: Vec<bool> = held_out.iter().map(|test| test.flaky).collect();
    let threshold = best_threshold(&risks, &labels).map_or(1.0, |(threshold, _)| threshold);
    let clock = CpuClock::start();
    let tests: Vec<(&Features, Keys)> =
        fold.test.iter().map(|&row| (&corpus.features[row], keys(row))).collect();
    let probabilities = blend.judge(&tests).into_iter().map(|judgement| judgement.risk).collect();
    FoldScores { probabilities, threshold, train_seconds, predict_seconds: clock.seconds() }
}
