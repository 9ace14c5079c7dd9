//! Runs every model on the same folds.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use flakewise_learn::Fold;

use crate::model::Answers;
use crate::resume::Kept;
use crate::slice;
use crate::{
    Corpus, Dataset, DatasetIssue, EvalError, FoldScores, Found, Measures, Model, Protocol, SliceMeasures,
    blend_model, blend_models, path_model, simple_models,
};

/// How to evaluate.
pub struct EvalOptions {
    /// Where everything random begins.
    pub seed: u64,
    /// How many folds there are where their number is free.
    pub folds: usize,
    /// Which tests are held out together.
    pub protocols: Vec<Protocol>,
    /// What is measured, in the order of the results.
    pub models: Vec<Model>,
    /// Only tests that PEELER was measured on are used for training and scored.
    pub only_peeler_subset: bool,
    /// Where answers of folds are kept, so that a stopped evaluation continues. To
    /// be deleted after a change of a model.
    pub resume: Option<PathBuf>,
    /// The tests that are alone in their row of PEELER's benchmark, an id a line.
    pub peeler_rows_of_one: Option<PathBuf>,
}

impl Default for EvalOptions {
    fn default() -> Self {
        let mut models = simple_models();
        models.push(blend_model());
        models.extend(blend_models());
        models.push(path_model());
        Self {
            seed: 1,
            folds: 10,
            protocols: Protocol::ALL.to_vec(),
            models,
            only_peeler_subset: false,
            peeler_rows_of_one: None,
            resume: None,
        }
    }
}

/// How far an evaluation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress<'a> {
    /// The sources have been read.
    Read {
        /// How many tests there are.
        tests: usize,
    },
    /// A model has done a fold.
    Done {
        /// Under which protocol.
        protocol: Protocol,
        /// Which model.
        model: &'a str,
        /// Steps that are done.
        done: usize,
        /// Out of this many.
        all: usize,
    },
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// The name of the data set.
    pub dataset: String,
    /// Its tests.
    pub tests: usize,
    /// Those of them that are flaky.
    pub flaky: usize,
    /// Its projects.
    pub projects: usize,
    /// Lines of it that were left out.
    pub issues: Vec<DatasetIssue>,
    /// Where everything random began.
    pub seed: u64,
    /// What reading took, in seconds that passed.
    pub read_seconds: f64,
    /// The results, in the requested order.
    pub protocols: Vec<ProtocolMeasures>,
}

/// What was measured under one protocol.
#[derive(Clone, Debug)]
pub struct ProtocolMeasures {
    /// Which.
    pub protocol: Protocol,
    /// How many folds there were.
    pub folds: usize,
    /// A hash of which test was in which fold: equal means comparable.
    pub folds_hash: u64,
    /// A result for each model.
    pub models: Vec<Measures>,
    /// The same on parts of the tests.
    pub slices: Vec<SliceMeasures>,
}

/// Measures all models on a data set, under all protocols, on all cores. Each
/// fold of a model keeps to one thread, so that its processor time is known.
pub fn evaluate(
    dataset: &Path,
    options: &EvalOptions,
    progress: &(dyn Fn(Progress<'_>) + Sync),
) -> Result<Evaluation, EvalError> {
    let start = Instant::now();
    let mut read = Dataset::read(dataset)?;
    if let Some(path) = &options.peeler_rows_of_one {
        read.mark_peeler_rows_of_one(path)?;
    }
    if options.only_peeler_subset {
        read.records.retain(|record| record.published.in_peeler_subset);
        read.name += ", PEELER subset";
    }
    let (name, issues) = (read.name.clone(), read.issues.clone());
    let flaky = read.records.iter().filter(|record| record.flaky).count();
    let other = read.records.len() - flaky;
    if flaky < options.folds || other < options.folds {
        return Err(EvalError::TooFewTests { path: dataset.to_owned(), flaky, other });
    }
    let kept =
        options.resume.as_deref().map(Kept::new).transpose().map_err(|source| EvalError::Write {
            path: options.resume.clone().unwrap_or_default(),
            source,
        })?;
    let corpus = Corpus::new(read, options.seed);
    progress(Progress::Read { tests: corpus.labels.len() });
    let read_seconds = start.elapsed().as_secs_f64();

    let plans: Vec<(Protocol, Vec<Fold>)> = options
        .protocols
        .iter()
        .map(|&protocol| (protocol, corpus.folds(protocol, options.folds)))
        .filter(|(_, folds)| !folds.is_empty())
        .collect();
    let scores = run(&corpus, &plans, &options.models, kept.as_ref(), progress);
    let protocols = plans
        .iter()
        .enumerate()
        .map(|(plan, (protocol, folds))| {
            let names = options.models.iter().enumerate().flat_map(|(model, Model { names, .. })| {
                names.iter().enumerate().map(move |(answer, name)| (model, answer, name.as_str()))
            });
            let answers: Vec<(&str, Answers<'_>)> = names
                .map(|(model, answer, name)| {
                    let judged = folds
                        .iter()
                        .enumerate()
                        .map(|(fold, rows)| (&rows.test[..], &scores[&(plan, fold, model)][answer]));
                    (name, judged.collect())
                })
                .collect();
            ProtocolMeasures {
                protocol: *protocol,
                folds: folds.len(),
                folds_hash: hash(folds),
                models: answers
                    .iter()
                    .map(|(name, judged)| Measures {
                        found: Found::count(&corpus, judged),
                        ..Measures::new(name, &corpus.records, judged)
                    })
                    .collect(),
                slices: slice::measure(&corpus, *protocol, &answers),
            }
        })
        .collect();
    Ok(Evaluation {
        dataset: name,
        tests: corpus.labels.len(),
        flaky,
        projects: corpus.groups.projects().iter().max().map_or(0, |&last| last as usize + 1),
        issues,
        seed: options.seed,
        read_seconds,
        protocols,
    })
}

/// What each model says, by protocol, fold and model.
type Scores = BTreeMap<(usize, usize, usize), Vec<FoldScores>>;

fn run(
    corpus: &Corpus,
    plans: &[(Protocol, Vec<Fold>)],
    models: &[Model],
    kept: Option<&Kept>,
    progress: &(dyn Fn(Progress<'_>) + Sync),
) -> Scores {
    let jobs: Vec<(usize, usize, usize)> = plans
        .iter()
        .enumerate()
        .flat_map(|(plan, (_, folds))| (0..folds.len()).map(move |fold| (plan, fold)))
        .flat_map(|(plan, fold)| (0..models.len()).map(move |model| (plan, fold, model)))
        .collect();
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let scores = Mutex::new(Scores::new());
    let work = || {
        while let Some(&(plan, fold, model)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (protocol, folds) = &plans[plan];
            let hash = hash(folds);
            let before = kept.and_then(|kept| kept.read(*protocol, hash, fold, &models[model]));
            let is_new = before.is_none();
            let said = before.unwrap_or_else(|| (models[model].run)(corpus, &folds[fold], *protocol));
            if let Some(kept) = kept.filter(|_| is_new) {
                // What cannot be kept is computed again next time.
                let _ = kept.write(*protocol, hash, fold, &models[model], &said);
            }
            assert_eq!(said.len(), models[model].names.len(), "an answer for each name");
            scores.lock().expect("nobody panics with it").insert((plan, fold, model), said);
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            let model = &models[model].names[0];
            progress(Progress::Done { protocol: *protocol, model, done, all: jobs.len() });
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..rayon::current_num_threads() {
            // A pool of one thread: what a model does in parallel stays on it.
            let pool =
                rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("threads can be started");
            scope.spawn(move || pool.install(work));
        }
    });
    scores.into_inner().expect("nobody panicked with it")
}

/// FNV-1a over the rows of each fold.
fn hash(folds: &[Fold]) -> u64 {
    let numbers = folds.iter().flat_map(|fold| fold.test.iter().map(|&row| row as u64).chain([u64::MAX]));
    numbers.fold(0xcbf2_9ce4_8422_2325, |hash, number| (hash ^ number).wrapping_mul(0x0000_0100_0000_01b3))
}
