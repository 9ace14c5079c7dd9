//! What is measured.

use flakewise_learn::{Fold, Platt, best_threshold};

use crate::{Corpus, CpuClock, Protocol};

/// Something that learns from a part of the tests and judges the others.
pub struct Model {
    /// One name, or several for one that gives several answers.
    pub names: Vec<String>,
    /// Learns and judges; an answer for each name.
    pub run: Box<Run>,
}

/// Learns from one part of a fold and judges the other.
pub type Run = dyn Fn(&Corpus, &Fold, Protocol) -> Vec<FoldScores> + Sync + Send;

/// What a model says about the tests that were held out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FoldScores {
    /// For each test how likely it is flaky, from 0 to 1.
    pub probabilities: Vec<f64>,
    /// From where on it is called flaky; chosen on the training data.
    pub threshold: f64,
    /// What learning took, in seconds of processor time.
    pub train_seconds: f64,
    /// What judging took.
    pub predict_seconds: f64,
}

/// The rows of every fold that were held out, and what was said about them.
pub(crate) type Answers<'a> = Vec<(&'a [usize], &'a FoldScores)>;

impl Model {
    /// A model with one name.
    pub fn new(
        name: &str,
        run: impl Fn(&Corpus, &Fold, Protocol) -> FoldScores + Sync + Send + 'static,
    ) -> Self {
        Self {
            names: vec![name.to_owned()],
            run: Box::new(move |corpus, fold, protocol| vec![run(corpus, fold, protocol)]),
        }
    }
}

/// Raw scores of rows that were held out, and of each row to learn from when
/// it was held out within them.
pub(crate) struct RawScores {
    pub(crate) inner: Vec<f64>,
    pub(crate) test: Vec<f64>,
    train_seconds: f64,
    inner_seconds: f64,
    predict_seconds: f64,
}

/// A fitted model: scores for rows.
pub(crate) type Fitted<'a> = Box<dyn Fn(&[usize]) -> Vec<f64> + 'a>;

impl RawScores {
    /// Learns as many times as there are inner folds, and then from all.
    pub(crate) fn new<'a>(
        corpus: &'a Corpus,
        fold: &Fold,
        inner_folds: &[Fold],
        fit: impl Fn(&'a Corpus, &[usize]) -> Fitted<'a>,
    ) -> Self {
        let clock = CpuClock::start();
        let mut scores = vec![0.0; corpus.labels.len()];
        for inner in inner_folds {
            let fitted = fit(corpus, &inner.train);
            for (&row, score) in inner.test.iter().zip(fitted(&inner.test)) {
                scores[row] = score;
            }
        }
        let inner_seconds = clock.seconds();
        let clock = CpuClock::start();
        let fitted = fit(corpus, &fold.train);
        let train_seconds = clock.seconds();
        let clock = CpuClock::start();
        let test = fitted(&fold.test);
        Self {
            inner: fold.train.iter().map(|&row| scores[row]).collect(),
            test,
            train_seconds,
            inner_seconds,
            predict_seconds: clock.seconds(),
        }
    }

    /// As probabilities, with the threshold that was best on the inner folds.
    pub(crate) fn calibrated(&self, labels: &[bool]) -> FoldScores {
        let platt = Platt::fit(&self.inner, labels, None);
        let calibrate =
            |scores: &[f64]| scores.iter().map(|&score| platt.probability(score)).collect::<Vec<f64>>();
        let best = best_threshold(&calibrate(&self.inner), labels);
        FoldScores {
            probabilities: calibrate(&self.test),
            threshold: best.map_or(1.0, |(threshold, _)| threshold),
            train_seconds: self.train_seconds + self.inner_seconds,
            predict_seconds: self.predict_seconds,
        }
    }

    pub(crate) fn train_seconds(&self) -> f64 {
        self.train_seconds + self.inner_seconds
    }

    pub(crate) fn predict_seconds(&self) -> f64 {
        self.predict_seconds
    }
}
