//! Our own predictor, measured like the others.

use flakewise_learn::{Fold, NetworkOptions, best_threshold};
use flakewise_predict::{
    Blend, BlendOptions, FeatureGroups, Features, HeldOut, Keys, PathModel, PathOptions, PathRow, Row,
};

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
    let paths = FeatureGroups { paths: true, ..FeatureGroups::NONE };
    vec![
        model("Flakewise + paths", paths),
        model("Flakewise + both + paths", FeatureGroups { paths: true, ..both }),
        model("Flakewise + code under test", under),
        model("Flakewise + test tree", tree),
        model("Flakewise + both", both),
        model("Flakewise + both + words", FeatureGroups { words_under_test: true, ..both }),
    ]
}

fn model(name: &str, groups: FeatureGroups) -> Model {
    Model::new(name, move |corpus, fold, protocol| blend(corpus, fold, protocol, groups))
}

fn blend(corpus: &Corpus, fold: &Fold, protocol: Protocol, groups: FeatureGroups) -> FoldScores {
    let keys = |row: usize| corpus.keys(row);
    let features = if groups.paths { &corpus.paths().features } else { &corpus.features };
    let train: Vec<Row<'_>> = fold
        .train
        .iter()
        .map(|&row| Row {
            features: &features[row],
            keys: keys(row),
            flaky: corpus.labels[row],
            name: corpus.examples[row].test.id.as_str(),
            weight: 1.0,
        })
        .collect();
    let familiarity = protocol.familiarity();
    let clock = CpuClock::start();
    let options = BlendOptions { familiarities: &[familiarity], groups, seed: corpus.seed() };
    let (blend, held_out) = Blend::train(&train, &options);
    let train_seconds = clock.seconds();
    let threshold = threshold(&held_out);
    let clock = CpuClock::start();
    let tests: Vec<(&Features, Keys)> = fold.test.iter().map(|&row| (&features[row], keys(row))).collect();
    let probabilities = blend.judge(&tests).into_iter().map(|judgement| judgement.risk).collect();
    FoldScores { probabilities, threshold, train_seconds, predict_seconds: clock.seconds() }
}

/// PEELER's network over the paths of tests, with our training.
pub fn path_model() -> Model {
    Model::new("path network", network)
}

fn network(corpus: &Corpus, fold: &Fold, protocol: Protocol) -> FoldScores {
    let words = &corpus.paths().words;
    let rows: Vec<PathRow<'_>> = fold
        .train
        .iter()
        .map(|&row| PathRow { words: &words[row], keys: corpus.keys(row), flaky: corpus.labels[row] })
        .collect();
    let options = PathOptions {
        familiarity: protocol.familiarity(),
        embeddings: None,
        network: NetworkOptions { seed: corpus.seed(), ..NetworkOptions::default() },
    };
    let clock = CpuClock::start();
    let trained = PathModel::train(&rows, &options, |_, _| {});
    let train_seconds = clock.seconds();
    let Some((model, held_out)) = trained else {
        return FoldScores {
            probabilities: vec![0.0; fold.test.len()],
            threshold: 1.0,
            ..FoldScores::default()
        };
    };
    let clock = CpuClock::start();
    let probabilities =
        model.judge(fold.test.iter().map(|&row| &words[row])).into_iter().map(|said| said.risk).collect();
    FoldScores {
        probabilities,
        threshold: threshold(&held_out),
        train_seconds,
        predict_seconds: clock.seconds(),
    }
}

/// The threshold that was best on what was held out of the training data.
fn threshold(held_out: &[HeldOut]) -> f64 {
    let risks: Vec<f64> = held_out.iter().map(|test| test.risk).collect();
    let labels: Vec<bool> = held_out.iter().map(|test| test.flaky).collect();
    best_threshold(&risks, &labels).map_or(1.0, |(threshold, _)| threshold)
}
