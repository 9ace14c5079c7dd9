//! `flakewise train`: learn from a project's own tests.

pub(super) mod join;
mod labels;
#[cfg(feature = "history")]
mod past;

use std::collections::BTreeMap;
use std::path::Path;

use flakewise_model::Foreign;
use flakewise_predict::{Embeddings, Example, FeatureGroups, Model, ModelError, ModelKind, TrainOptions};
use flakewise_report::{card_text, count};
use flakewise_source::{SourceTest, read_tree};
use rayon::prelude::*;

use self::join::Names;
use self::labels::{Label, Labels, read_labels};
use crate::args::{TrainArguments, TrainModel};
use crate::context::project;
use crate::declarations::{Around, Declarations};
use crate::error::ExpectedError;
use crate::exit_code::ExitCode;
use crate::printer::Printer;
use crate::repository::{MODEL, Repository, write_whole};

/// Fewer flaky tests, or fewer others, teach nothing that holds.
const FEWEST: usize = 10;

pub(crate) fn train(arguments: &TrainArguments, printer: &Printer) -> Result<ExitCode, ExpectedError> {
    let embeddings = embeddings(arguments)?;
    let root = match &arguments.source {
        Some(folder) => std::path::absolute(folder)
            .ok()
            .filter(|folder| folder.is_dir())
            .ok_or_else(|| ExpectedError::NoSuchSource { path: folder.display().to_string() })?,
        None => Repository::find(&[])?.root,
    };
    let project = project(arguments.store.project.as_deref());
    let (labels, trained_on) = match &arguments.labels {
        Some(path) => (from_file(path, printer)?, path.display().to_string()),
        None => (from_history(arguments, printer)?, format!("the history of {project}")),
    };
    // Only the blend looks around, and only at tests of the repository.
    let looks_around =
        arguments.model == TrainModel::Blend && labels.iter().any(|label| label.source.is_none());
    let declarations = looks_around.then(|| Declarations::read(&root, printer));
    let around = declarations.as_ref().map(|declarations| Around::new(&root, declarations));
    let spinner = printer.spinner("reading tests");
    let examples = examples(labels, &root, &project, around.as_ref(), printer);
    check(&examples)?;
    spinner.set_message(format!("training on {}", count(examples.len() as u64, "test")));
    let kind = match arguments.model {
        TrainModel::Blend => ModelKind::Blend,
        TrainModel::Flast => ModelKind::Flast,
        TrainModel::Paths => ModelKind::Paths,
    };
    let options = TrainOptions {
        trained_on,
        kind,
        embeddings,
        groups: groups(&examples),
        seed: arguments.seed,
        ..TrainOptions::default()
    };
    let span = tracing::info_span!("train", examples = examples.len()).entered();
    let model = Model::train(&examples, &options)
        .map_err(|source| ExpectedError::Train { source, fewest: FEWEST })?;
    drop(span);
    spinner.finish_and_clear();
    let out = arguments.out.clone().unwrap_or_else(|| root.join(MODEL));
    write_whole(&out, &model.to_bytes())?;
    printer.data(&card_text(model.card()))?;
    let shown = out.strip_prefix(&root).unwrap_or(&out);
    printer.data(&format!("Wrote the model to `{}`\n", Foreign::new(&shown.to_string_lossy()).line()))?;
    match &arguments.out {
        None => printer.hint("`flakewise predict` now uses this model"),
        Some(out) => {
            printer.hint(&format!("use this model with `flakewise predict --model {}`", out.display()));
        }
    }
    Ok(ExitCode::Success)
}

/// What to learn from beside a test and its file. Surroundings help most where
/// all tests have them; where some do not, a model would train on their absence.
fn groups(examples: &[Example]) -> FeatureGroups {
    if examples.iter().all(|example| example.surroundings.is_some()) {
        FeatureGroups { words_under_test: false, ..FeatureGroups::ALL }
    } else {
        FeatureGroups::NONE
    }
}

/// Embeddings to start with, if any are requested.
fn embeddings(arguments: &TrainArguments) -> Result<Option<Embeddings>, ExpectedError> {
    let Some(path) = &arguments.embeddings else { return Ok(None) };
    if arguments.model != TrainModel::Paths {
        return Err(ExpectedError::EmbeddingsUnused);
    }
    let text =
        std::fs::read_to_string(path).map_err(|source| ExpectedError::Read { path: path.clone(), source })?;
    let read = Embeddings::parse(&text);
    read.map(Some).map_err(|source| ExpectedError::Embeddings { path: path.clone(), source })
}

fn from_file(path: &Path, printer: &Printer) -> Result<Vec<Label>, ExpectedError> {
    let read = read_labels(path).map_err(|source| ExpectedError::Read { path: path.to_owned(), source })?;
    let Labels { all, lines, trouble, not_understood } = read;
    if let Some((line, reason)) = trouble {
        printer.warning(&format!(
            "skipped {not_understood} of {}; the first is line {line}: {reason}",
            count(lines, "line"),
        ));
    }
    Ok(all)
}

#[cfg(feature = "history")]
fn from_history(arguments: &TrainArguments, printer: &Printer) -> Result<Vec<Label>, ExpectedError> {
    let history = super::history(&arguments.store)?;
    let spinner = printer.spinner("reading the history");
    let labels = past::labels(&history);
    spinner.finish_and_clear();
    labels
}

#[cfg(not(feature = "history"))]
fn from_history(_: &TrainArguments, _: &Printer) -> Result<Vec<Label>, ExpectedError> {
    Err(ExpectedError::NoEngine)
}

/// Puts labels and source together.
fn examples(
    labels: Vec<Label>,
    root: &Path,
    project: &str,
    around: Option<&Around<'_>>,
    printer: &Printer,
) -> Vec<Example> {
    let (with_source, named): (Vec<_>, Vec<_>) = labels.into_iter().partition(|label| label.source.is_some());
    let mut examples: Vec<Example> = with_source
        .into_iter()
        .filter_map(|label| {
            let project = label.project.unwrap_or_else(|| project.to_owned());
            let Label { flaky, category, source, .. } = label;
            Some(Example { test: source?, project, flaky, category, surroundings: None })
        })
        .collect();
    if named.is_empty() {
        return examples;
    }
    let files = read_tree(root, &[]);
    let tests: Vec<(&str, &SourceTest)> =
        files.iter().flat_map(|file| file.tests.iter().map(|test| (file.path.as_str(), test))).collect();
    let names = Names::new(tests.iter().map(|(_, test)| *test));
    let mut known: BTreeMap<usize, Label> = BTreeMap::new();
    let mut unknown = Vec::new();
    let total = named.len();
    for label in named {
        match names.find(&label.name) {
            // One case that is flaky makes the test flaky.
            Some(place) => match known.get_mut(&place) {
                Some(known) if known.flaky && (known.category.is_some() || !label.flaky) => {}
                _ => {
                    known.insert(place, label);
                }
            },
            None => unknown.push(label.name),
        }
    }
    if let Some(example) = unknown.first() {
        printer.warning(&format!(
            "{} of {} do not match exactly one of the {} in `{}`, e.g. `{example}`",
            unknown.len(),
            count(total as u64, "labelled test"),
            count(tests.len() as u64, "test"),
            root.display(),
        ));
    }
    let known: Vec<(usize, Label)> = known.into_iter().collect();
    examples.par_extend(known.into_par_iter().map(|(place, label)| {
        let (path, test) = tests[place];
        Example {
            test: test.clone(),
            project: label.project.unwrap_or_else(|| project.to_owned()),
            flaky: label.flaky,
            category: label.category,
            surroundings: around.and_then(|around| around.surroundings(path, test)).map(Box::new),
        }
    }));
    examples
}

fn check(examples: &[Example]) -> Result<(), ExpectedError> {
    let flaky = examples.iter().filter(|example| example.flaky).count();
    let other = examples.len() - flaky;
    if flaky.min(other) >= FEWEST {
        return Ok(());
    }
    Err(ExpectedError::Train { source: ModelError::TooFewExamples { flaky, other }, fewest: FEWEST })
}
