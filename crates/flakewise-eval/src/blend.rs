//! Our own predictor, measured like the others.

use flakewise_learn::{Fold, best_threshold};
use flakewise_predict::{Blend, BlendOptions, Familiarity, FeatureGroups, Features, Keys, Row};

use crate::{Corpus, CpuClock, FoldScores, Model, Protocol};

/// The blend by the test and its file, with the expert for what a protocol
/// holds out.
pub fn blend_model() -> Model {
    model("Flakewise", FeatureGroups::NONE)
}

/// The blend with more and more of a test's surroundings, for data sets that
/// have them.
pub fn blend_models() -> Vec<Model> {
    let tree = FeatureGroups { test_tree: true, ..FeatureGroups::NONE };
    let under = FeatureGroups { code_under_test: true, ..FeatureGroups::NONE };
    let both = FeatureGroups { test_tree: true, ..under };
    vec![
        model("Flakewise + code under test", under),
        model("Flakewise + test tree", tree),
        model("Flakewise + both", both),
        model("Flakewise + both + words", FeatureGroups::ALL),
    ]
}

fn model(name: &str, groups: FeatureGroups) -> Model {
    Model::new(name, move |corpus, fold, protocol| blend(corpus, fold, protocol, groups))
}

fn blend(corpus: &Corpus, fold: &Fold, protocol: Protocol, groups: FeatureGroups) -> FoldScores {
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
    let options = BlendOptions { familiarities: &[familiarity], groups, seed: corpus.seed() };
    let (blend, held_out) = Blend::train(&train, &options);
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
