//! `flakewise predict`: which tests are likely flaky, by their source alone.

mod cache;
mod judged;
mod threshold;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use flakewise_config::Config;
use flakewise_model::TestId;
use flakewise_predict::Familiarity;
use flakewise_report::{
    Risk, RiskReport, RiskScope, Threshold, findings_github, findings_gitlab, findings_markdown,
    findings_sarif, risk_json, risk_text,
};
use flakewise_source::{
    Language, Package, SourceFile, SourcePath, is_foreign_folder, list_files, load_file, may_hold_tests,
    read_packaged,
};
use flakewise_triage::{Change, ChangeKind, LineRange, Shape};
use rayon::prelude::*;

use self::cache::{Cache, Key, Keys};
use self::judged::{JudgedFile, judge};
use self::threshold::{Audience, choose};
use crate::args::{FindingsFormat, PredictArguments};
use crate::context::{project, variable};
use crate::declarations::Around;
use crate::error::ExpectedError;
use crate::exit_code::ExitCode;
use crate::printer::Printer;
use crate::repository::{LoadedModel, Repository};

/// Reasons are found, and kept, for tests from this risk on. They cost more
/// than the risk itself, and hardly anybody asks about the rest.
const EXPLAIN_FROM: f64 = 0.1;
/// How many tests below that get reasons when they are shown after all.
const EXPLAINED: usize = 20;
/// How many tests are listed as most likely if none can be named.
const MOST_LIKELY: usize = 5;
/// Files judged between two looks at the clock.
const FILES_AT_ONCE: usize = 128;
/// Who waits longer is shown progress.
const PATIENCE: Duration = Duration::from_secs(2);

pub(crate) fn predict(
    arguments: &PredictArguments,
    config: &Config,
    printer: &Printer,
) -> Result<ExitCode, ExpectedError> {
    let repository = Repository::find(&arguments.paths)?;
    let (files, change) = files(arguments, config, &repository)?;
    let root = &repository.root;
    let loaded = LoadedModel::find(arguments.model.as_deref(), root)?;
    let declarations = loaded.declarations(root, printer);
    let around = declarations.as_ref().map(|declarations| Around::new(root, declarations));
    let oracle =
        Oracle { root, project: project(arguments.project.as_deref()), loaded, around: around.as_ref() };
    let judged = oracle.judge_all(&files, printer);
    let (asked, scope) = asked_about(&files, judged, change.as_ref());
    let naming = Naming {
        audience: if arguments.format == FindingsFormat::Json {
            Audience::Machines
        } else {
            Audience::People
        },
        threshold: arguments.threshold,
        all: arguments.all,
        fail_above: arguments.fail_above,
    };
    let mut report = report(&naming, asked, scope, &oracle.loaded);
    oracle.explain(&mut report);
    print(arguments.format, &report, printer)?;
    let rejects = |risk: &Risk| arguments.fail_above.is_some_and(|limit| risk.risk.get() > limit);
    Ok(if report.risks.iter().any(rejects) { ExitCode::Rejected } else { ExitCode::Success })
}

/// The tests that are asked about, and what was looked at for them.
fn asked_about(
    files: &[AskedFile],
    judged: Vec<JudgedFile>,
    change: Option<&Change>,
) -> (Vec<Risk>, RiskScope) {
    let mut scope = RiskScope {
        base: change.map(|change| (change.base.clone(), change.found.clone())),
        ..RiskScope::default()
    };
    let mut asked = Vec::new();
    for (file, judged) in files.iter().zip(judged) {
        scope.unclear += u64::from(judged.unclear);
        let before = asked.len();
        let tests = judged.tests.into_iter();
        let tests = tests.filter(|test| file.changed.as_ref().is_none_or(|lines| test.meets(lines)));
        asked.extend(tests.map(|test| test.risk));
        scope.files += u64::from(asked.len() > before);
    }
    scope.tests = asked.len() as u64;
    (asked, scope)
}

/// The risk of every new and changed test, by its id, and those that are named.
pub(crate) fn changed(
    change: &Change,
    project: String,
    loaded: LoadedModel,
    printer: &Printer,
) -> (HashMap<TestId, f64>, RiskReport) {
    let root = change.root.as_path();
    let files = changed_files(change, &[PathBuf::new()]);
    let declarations = loaded.declarations(root, printer);
    let around = declarations.as_ref().map(|declarations| Around::new(root, declarations));
    let oracle = Oracle { root, project, loaded, around: around.as_ref() };
    let judged = oracle.judge_all(&files, printer);
    let (asked, scope) = asked_about(&files, judged, Some(change));
    let risks = asked.iter().map(|risk| (risk.test.clone(), risk.risk.get())).collect();
    let naming = Naming { audience: Audience::People, threshold: None, all: false, fail_above: None };
    let mut report = report(&naming, asked, scope, &oracle.loaded);
    // They have passed or failed, which says more than a risk that names none.
    report.most_likely.clear();
    oracle.explain(&mut report);
    (risks, report)
}

/// The risk of every test in some files below a folder, by its id.
pub(crate) fn risks(
    root: &Path,
    files: &BTreeSet<String>,
    project: &str,
    loaded: LoadedModel,
    printer: &Printer,
) -> HashMap<TestId, f64> {
    let asked = files.iter().filter_map(|path| {
        let language = Language::of_path(path)?;
        Some(AskedFile { source: SourcePath { path: path.clone(), language }, changed: None })
    });
    let asked: Vec<AskedFile> = asked.collect();
    let declarations = loaded.declarations(root, printer);
    let around = declarations.as_ref().map(|declarations| Around::new(root, declarations));
    let oracle = Oracle { root, project: project.to_owned(), loaded, around: around.as_ref() };
    let judged = oracle.judge_all(&asked, printer).into_iter().flat_map(|file| file.tests);
    judged.map(|test| (test.risk.test, test.risk.risk.get())).collect()
}

/// The tests of one file with their risk and all reasons, in order.
pub(crate) fn judge_file(
    file: &SourceFile,
    loaded: &LoadedModel,
    project: &str,
    around: Option<&Around<'_>>,
) -> Vec<Risk> {
    judge(file, &loaded.model, project, around, 0.0).tests.into_iter().map(|test| test.risk).collect()
}

/// A file to judge.
struct AskedFile {
    source: SourcePath,
    /// The lines that changed, if only tests on them are asked about.
    changed: Option<Vec<LineRange>>,
}

/// What to look at. What changed is git's to say, so that files which did not
/// are not even opened.
fn files(
    arguments: &PredictArguments,
    config: &Config,
    repository: &Repository,
) -> Result<(Vec<AskedFile>, Option<Change>), ExpectedError> {
    if !arguments.changed {
        let files = list_files(&repository.root, &repository.paths).into_iter();
        return Ok((files.map(|source| AskedFile { source, changed: None }).collect(), None));
    }
    let change = Change::discover(&repository.root, arguments.base.as_deref(), config.base(), variable)?;
    let change = change.ok_or(ExpectedError::NoRepository { option: "--changed" })?;
    let files = changed_files(&change, &repository.paths);
    Ok((files, Some(change)))
}

/// Files below some paths that changed and may hold tests.
fn changed_files(change: &Change, paths: &[PathBuf]) -> Vec<AskedFile> {
    let files = change.files.iter().filter_map(|file| {
        let is_there = file.kind != ChangeKind::Deleted && file.shape == Shape::File && !file.lossy;
        let language =
            Language::of_path(&file.path).filter(|language| may_hold_tests(&file.path, *language))?;
        (is_there && is_asked(&file.path, paths)).then(|| AskedFile {
            source: SourcePath { path: file.path.clone(), language },
            changed: Some(file.lines.clone()),
        })
    });
    files.collect()
}

/// Whether a file lies below the requested paths, and where people keep
/// their own tests.
fn is_asked(file: &str, paths: &[PathBuf]) -> bool {
    paths.iter().any(|path| {
        Path::new(file)
            .strip_prefix(path)
            .is_ok_and(|below| !below.iter().filter_map(|part| part.to_str()).any(is_foreign_folder))
    })
}

/// All that answers depend on, but for the files.
struct Oracle<'a> {
    root: &'a Path,
    project: String,
    loaded: LoadedModel,
    around: Option<&'a Around<'a>>,
}

impl Oracle<'_> {
    /// Judges files, in their order, on all cores.
    fn judge_all(&self, files: &[AskedFile], printer: &Printer) -> Vec<JudgedFile> {
        let _span = tracing::info_span!("predict", files = files.len()).entered();
        let started = Instant::now();
        let mut bar = None;
        let indexed = self.around.map(|around| &around.digest);
        let keys = Keys::new(&self.loaded.checksum, &self.project, indexed, EXPLAIN_FROM);
        let mut cache = Cache::open(self.root);
        let mut all = Vec::with_capacity(files.len());
        for chunk in files.chunks(FILES_AT_ONCE) {
            let judged: Vec<_> =
                chunk.par_iter().map(|file| self.judge_or_recall(&file.source, &keys, &cache)).collect();
            for (key, file, is_new) in judged {
                match key {
                    Some(key) if is_new => cache.put(key, &file),
                    Some(key) => cache.touch(&key),
                    None => {}
                }
                all.push(file);
            }
            if bar.is_none() && started.elapsed() > PATIENCE {
                bar = Some(printer.progress(files.len() as u64, "reading tests"));
            }
            if let Some(bar) = &bar {
                bar.set_position(all.len() as u64);
            }
        }
        if let Some(bar) = bar {
            bar.finish_and_clear();
        }
        // Whoever cannot write here waits a little longer next time.
        let _ = cache.save();
        all
    }

    fn judge_or_recall(
        &self,
        source: &SourcePath,
        keys: &Keys,
        cache: &Cache,
    ) -> (Option<Key>, JudgedFile, bool) {
        let Ok(bytes) = load_file(self.root, &source.path) else {
            return (None, JudgedFile { tests: Vec::new(), unclear: true }, true);
        };
        let key = keys.of(&source.path, &bytes);
        if let Some(known) = cache.get(&key, &source.path) {
            return (Some(key), known, false);
        }
        let package = Package::find(self.root, &source.path, source.language);
        let file = read_packaged(&source.path, source.language, package.as_ref(), &bytes);
        let judged = judge(&file, &self.loaded.model, &self.project, self.around, EXPLAIN_FROM);
        (Some(key), judged, true)
    }

    /// Finds reasons for tests that are shown although their risk is small.
    fn explain(&self, report: &mut RiskReport) {
        let shown = report.risks.iter_mut().chain(&mut report.most_likely);
        let mut poor: BTreeMap<String, Vec<&mut Risk>> = BTreeMap::new();
        for risk in shown.filter(|risk| risk.risk.get() < EXPLAIN_FROM).take(EXPLAINED) {
            poor.entry(risk.path.clone()).or_default().push(risk);
        }
        for (path, risks) in poor {
            let (Some(language), Ok(bytes)) = (Language::of_path(&path), load_file(self.root, &path)) else {
                continue;
            };
            let package = Package::find(self.root, &path, language);
            let file = read_packaged(&path, language, package.as_ref(), &bytes);
            let judged = judge(&file, &self.loaded.model, &self.project, self.around, 0.0);
            for risk in risks {
                let same = |own: &Risk| own.test == risk.test && own.line == risk.line;
                if let Some(test) = judged.tests.iter().find(|test| same(&test.risk)) {
                    risk.reasons.clone_from(&test.risk.reasons);
                }
            }
        }
    }
}

/// From which risk tests are named, and for whom.
struct Naming {
    audience: Audience,
    threshold: Option<f64>,
    all: bool,
    fail_above: Option<f64>,
}

fn report(naming: &Naming, mut tests: Vec<Risk>, scope: RiskScope, loaded: &LoadedModel) -> RiskReport {
    let card = loaded.model.card().clone();
    let thresholds: Vec<(Familiarity, Threshold)> =
        [Familiarity::KnownClass, Familiarity::KnownProject, Familiarity::NewProject]
            .into_iter()
            .filter(|familiarity| tests.iter().any(|test| test.familiarity == *familiarity))
            .map(|familiarity| {
                let chosen = || choose(naming.audience, naming.threshold, &card, familiarity);
                (familiarity, if naming.all { Threshold::All } else { chosen() })
            })
            .collect();
    tests.sort_by(|left, right| {
        right
            .risk
            .get()
            .total_cmp(&left.risk.get())
            .then_with(|| (&left.test, left.line).cmp(&(&right.test, right.line)))
    });
    let is_named = |test: &Risk| {
        let own = thresholds.iter().find(|(familiarity, _)| *familiarity == test.familiarity);
        // What fails the build is told, whatever else is.
        naming.fail_above.is_some_and(|limit| test.risk.get() > limit)
            || own.is_some_and(|(_, threshold)| threshold.names(test.risk))
    };
    let (risks, others): (Vec<_>, Vec<_>) = tests.into_iter().partition(is_named);
    let lists_most_likely = risks.is_empty() && naming.audience == Audience::People;
    let most_likely = others.into_iter().take(if lists_most_likely { MOST_LIKELY } else { 0 }).collect();
    RiskReport { origin: loaded.origin.clone(), card, scope, thresholds, risks, most_likely }
}

fn print(format: FindingsFormat, report: &RiskReport, printer: &Printer) -> Result<(), ExpectedError> {
    printer.data(&match format {
        FindingsFormat::Text => risk_text(report),
        FindingsFormat::Json => risk_json(report),
        FindingsFormat::Markdown => findings_markdown(&report.into()),
        FindingsFormat::Sarif => findings_sarif(&report.into()),
        FindingsFormat::Github => findings_github(&report.into()),
        FindingsFormat::Gitlab => findings_gitlab(&report.into()),
    })?;
    if report.scope.tests == 0 && report.scope.base.is_none() && format == FindingsFormat::Text {
        printer.hint("supported languages are Python, Java, Rust, Go, JavaScript and TypeScript; pass the directories of the tests, or run from the repository root");
    }
    if format == FindingsFormat::Github
        && let Some(note) = report.how_little_to_expect()
    {
        printer.hint(&note);
    }
    Ok(())
}
