//! `flakewise explain`: what speaks for and against a test being flaky.

use std::path::Path as FilePath;

use flakewise_paths::{
    Callee, Graph, Index, NodeId, Path, Scope, graph_dot, graph_of_test, graph_svg, parse_files,
};
use flakewise_predict::heaviest_path;
use flakewise_report::{Explanation, PathStep, WeighedLine, explain_text};
use flakewise_source::{Language, Package, SourceFile, SourceTest, list_files, load_file, read_packaged};
use rayon::prelude::*;

use super::predict::judge_file;
use super::train::join::Names;
use crate::args::ExplainArguments;
use crate::context::project;
use crate::declarations::{Around, Declarations};
use crate::error::ExpectedError;
use crate::exit_code::ExitCode;
use crate::printer::Printer;
use crate::repository::{LoadedModel, Repository, write_whole};

/// Lines that are shown for and against.
const LINES: usize = 5;
/// Lines that weigh less say nothing.
const LEAST_WEIGHT: f64 = 0.005;

pub(crate) fn explain(arguments: &ExplainArguments, printer: &Printer) -> Result<ExitCode, ExpectedError> {
    let draw = arguments.graph.as_deref().map(drawing).transpose()?;
    let repository = Repository::find(&[])?;
    let root = &repository.root;
    let files = files_with(root, &arguments.test);
    let tests: Vec<(&SourceFile, usize)> =
        files.iter().flat_map(|file| (0..file.tests.len()).map(move |at| (file, at))).collect();
    let names = Names::new(tests.iter().map(|(file, at)| &file.tests[*at]));
    let found = names.find(&arguments.test).or_else(|| names.find(&from_here(root, &arguments.test)?));
    let found = found.ok_or_else(|| ExpectedError::NotInSource { name: arguments.test.clone() })?;
    let (file, at) = tests[found];
    let test = &file.tests[at];

    let loaded = LoadedModel::find(arguments.model.as_deref(), root)?;
    let project = project(arguments.project.as_deref());
    let declarations = has_paths(file.language).then(|| Declarations::read(root, printer));
    let around = declarations.as_ref().filter(|_| loaded.model.groups().needs_surroundings());
    let around = around.map(|declarations| Around::new(root, declarations));
    let risk = judge_file(file, &loaded, &project, around.as_ref()).swap_remove(at);
    let weights = loaded.model.line_weights(&project, test);
    let graph = declarations.map(|read| graph(root, file, test, &read.index)).unwrap_or_default();
    let paths = graph.paths();
    let heaviest = heaviest_path(&graph, &paths, &weights).map(|(path, _)| path);
    let explanation = Explanation {
        raising: weighed(test, &weights, 1.0),
        lowering: weighed(test, &weights, -1.0),
        paths: paths.len() as u64,
        heaviest: heaviest.map(|path| steps(&graph, path)).unwrap_or_default(),
        has_paths: has_paths(file.language),
        risk,
    };
    if let (Some(draw), Some(path)) = (draw, &arguments.graph) {
        write_whole(path, draw(&graph, &paths, heaviest).as_bytes())?;
    }
    printer.data(&explain_text(&explanation))?;
    Ok(ExitCode::Success)
}

/// The name of a test as it is from the root, where a runner in this folder names it
/// from here.
fn from_here(root: &FilePath, name: &str) -> Option<String> {
    let here = std::env::current_dir().ok()?;
    let below = here.strip_prefix(root).ok()?.to_str()?.to_owned();
    (!below.is_empty()).then(|| format!("{below}/{name}"))
}

type Drawing = fn(&Graph, &[Path], Option<&Path>) -> String;

/// How to draw, by the name of the file.
fn drawing(path: &FilePath) -> Result<Drawing, ExpectedError> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("svg") => Ok(graph_svg),
        Some("dot") => Ok(graph_dot),
        _ => Err(ExpectedError::GraphFormat { path: path.to_owned() }),
    }
}

/// The files that can hold a test of this name.
fn files_with(root: &FilePath, name: &str) -> Vec<SourceFile> {
    let plain = name.split('[').next().unwrap_or(name);
    let mut words = plain.split(|character: char| !(character.is_alphanumeric() || character == '_'));
    let last = words.rfind(|word| !word.is_empty()).unwrap_or(plain);
    let read = |source: &flakewise_source::SourcePath| {
        let bytes = load_file(root, &source.path).ok()?;
        if !String::from_utf8_lossy(&bytes).contains(last) {
            return None;
        }
        let package = Package::find(root, &source.path, source.language);
        Some(read_packaged(&source.path, source.language, package.as_ref(), &bytes))
    };
    list_files(root, &[]).par_iter().filter_map(read).collect()
}

fn has_paths(language: Language) -> bool {
    matches!(language, Language::Java | Language::Python)
}

fn graph(root: &FilePath, file: &SourceFile, test: &SourceTest, index: &Index) -> Graph {
    let class = test.id.class_path().pop().unwrap_or_default();
    let files = parse_files(root, index, &file.path, &class);
    let (Some(own), Some(resolver)) = (files.first(), index.resolver(&file.path)) else {
        return Graph::default();
    };
    let scope = Scope::new(files.iter().collect(), &class);
    graph_of_test(own, &scope, &test.id.name(), test.line, &resolver)
}

/// The lines that weigh most in one direction.
fn weighed(test: &SourceTest, weights: &[(u32, f64)], sign: f64) -> Vec<WeighedLine> {
    let mut lines: Vec<(u32, f64)> =
        weights.iter().copied().filter(|(_, weight)| weight * sign >= LEAST_WEIGHT).collect();
    lines.sort_by(|left, right| (right.1 * sign).total_cmp(&(left.1 * sign)).then(left.0.cmp(&right.0)));
    lines.truncate(LINES);
    let text = |line: u32| {
        let at = usize::try_from(line.saturating_sub(test.body.line)).ok()?;
        test.body.text.lines().nth(at)
    };
    let shown = |(line, weight): (u32, f64)| WeighedLine {
        line,
        text: text(line).unwrap_or_default().to_owned(),
        weight,
    };
    lines.into_iter().map(shown).collect()
}

fn steps(graph: &Graph, path: &Path) -> Vec<PathStep> {
    let edges = std::iter::once(None).chain(path.edges.iter().map(|edge| Some(&graph.edges[*edge as usize])));
    let step = |(id, edge): (&NodeId, Option<&flakewise_paths::Edge>)| {
        let node = &graph.nodes[*id as usize];
        let callee = edge.and_then(|edge| edge.callee.as_ref()).or(node.callee.as_ref());
        PathStep {
            line: node.line,
            through: edge.map(|edge| edge.label.clone()).unwrap_or_default(),
            text: node.text.clone(),
            callee: callee.map(|Callee { path, name, line, .. }| format!("{name} at {path}:{line}")),
            helper: node.helper.as_ref().map(|helper| format!("{}, line {}", helper.name, helper.line)),
        }
    };
    path.nodes.iter().zip(edges).map(step).collect()
}
