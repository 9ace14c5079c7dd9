//! What speaks for a test being flaky.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use flakewise_learn::{SparseMatrix, SparseRow};
use flakewise_paths::{ApiFamily, Graph, Path, Surroundings, graph_of_source};
use flakewise_source::{SourceTest, Token};

use crate::blend::{Blend, Expert};
use crate::families::{FamilyHit, families};
use crate::features::{Features, Place, each_word, line_hash};
use crate::past::{Keys, Past};
use crate::{Category, Reason};

/// A test that is less alike is no example.
pub(crate) const LEAST_SIMILARITY: f32 = 0.5;
/// So many of each kind of reason are given.
pub(crate) const MOST: usize = 3;

/// The reasons, strongest kind first.
pub(crate) fn reasons(
    blend: &Blend,
    expert: &Expert,
    test: &SourceTest,
    features: &Features,
    keys: &Keys,
    hits: &[FamilyHit],
) -> Vec<Reason> {
    let mut text = SparseMatrix::new(blend.base.space.columns());
    text.push(blend.base.space.row(features));
    let row = text.row(0);
    let mut reasons = Vec::new();
    reasons.extend(siblings(&blend.base.past, keys));
    reasons.extend(look_alikes(blend, test, row, keys));
    let added = Added::of(blend, expert, test, row);
    reasons.extend(uses(test, hits, Category::guess(hits), &added));
    reasons.extend(path(test, &line_weights(blend, expert, test, features)));
    reasons.extend(added.strongest_words());
    reasons
}

/// What adds less says nothing.
const LEAST_AROUND: f64 = 0.1;

/// The families that the code around a test or under it uses, and that raise
/// its risk: without each, the test is judged again.
pub(crate) fn around(
    blend: &Blend,
    features: &Features,
    keys: &Keys,
    surroundings: &Surroundings,
) -> Vec<Reason> {
    let score = |features: &Features| {
        let risk = blend.judge(&[(features, *keys)])[0].risk.clamp(1e-6, 1.0 - 1e-6);
        (risk / (1.0 - risk)).ln()
    };
    let whole = score(features);
    let mut found: Vec<(f64, Reason)> = Vec::new();
    for family in ApiFamily::ALL {
        let in_tree = surroundings.tree.apis.get(family) > 0;
        let calls = if in_tree { 0 } else { surroundings.under.nearest.get(family) };
        let Some(text) = family.text().filter(|_| in_tree || calls > 0) else { continue };
        let weight = whole - score(&features.clone().with_surroundings(&surroundings.without(family)));
        if weight >= LEAST_AROUND {
            found.push((weight, Reason::Around { family: family.name(), text, calls, weight }));
        }
    }
    found.sort_by(|left, right| right.0.total_cmp(&left.0));
    found.into_iter().take(MOST).map(|(_, reason)| reason).collect()
}

/// The path whose lines raise the risk most, if any does.
fn path(test: &SourceTest, weights: &[(u32, f64)]) -> Option<Reason> {
    let graph = graph_of_source(test);
    let paths = graph.paths();
    let (path, weight) = heaviest_path(&graph, &paths, weights).filter(|(_, weight)| *weight > 0.0)?;
    path_reason(&graph, path, weight)
}

/// A path as a reason. One of a single step says no more than its line.
pub(crate) fn path_reason(graph: &Graph, path: &Path, weight: f64) -> Option<Reason> {
    let text = |node: &u32| graph.nodes[*node as usize].text.clone();
    (path.nodes.len() > 1).then(|| Reason::Path {
        steps: path.nodes.iter().map(text).collect(),
        lines: path_lines(graph, path).into_iter().collect(),
        weight,
    })
}

fn path_lines(graph: &Graph, path: &Path) -> BTreeSet<u32> {
    path.nodes.iter().map(|node| graph.nodes[*node as usize].line).collect()
}

/// The path whose lines raise the risk most, with how much they do; of equals
/// the longest. Weights are those of [`crate::Model::line_weights`].
pub fn heaviest_path<'p>(
    graph: &Graph,
    paths: &'p [Path],
    weights: &[(u32, f64)],
) -> Option<(&'p Path, f64)> {
    let weights: BTreeMap<u32, f64> = weights.iter().copied().collect();
    let weighed = paths.iter().map(|path| {
        let lines = path_lines(graph, path);
        (path, lines.iter().filter_map(|line| weights.get(line)).sum::<f64>())
    });
    // Of several that are equal in all, the first.
    weighed.rev().max_by(|(left, left_weight), (right, right_weight)| {
        left_weight.total_cmp(right_weight).then(left.nodes.len().cmp(&right.nodes.len()))
    })
}

/// How much the words on each line of a test add to its risk or take from it,
/// in log-odds, by line.
pub(crate) fn line_weights(
    blend: &Blend,
    expert: &Expert,
    test: &SourceTest,
    features: &Features,
) -> Vec<(u32, f64)> {
    let mut text = SparseMatrix::new(blend.base.space.columns());
    text.push(blend.base.space.row(features));
    let weights = &expert.text_model.linear.weights;
    let columns: HashMap<u32, f64> = text
        .row(0)
        .iter()
        .map(|(column, value)| (column, f64::from(value) * f64::from(weights[column as usize])))
        .collect();
    // A word adds its weight once, wherever it stands, so each of its
    // occurrences gets a part. In order, so that sums are the same each time.
    let mut occurrences: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    each_word(test, &mut |place, word, token| {
        let column = blend.base.space.column(place == Place::Body, word.hash());
        if let (Some(column), Some(token)) = (column, token) {
            occurrences.entry(column).or_default().push(token.span.start);
        }
    });
    let lines = LineStarts::new(test);
    let mut by_line: BTreeMap<u32, f64> = BTreeMap::new();
    for (column, starts) in occurrences {
        let weight = columns.get(&column).copied().unwrap_or(0.0) / starts.len() as f64;
        for start in starts {
            *by_line.entry(lines.line(start)).or_default() += weight;
        }
    }
    by_line.into_iter().collect()
}

/// Where the lines of a test begin.
struct LineStarts {
    first: u32,
    starts: Vec<usize>,
}

impl LineStarts {
    fn new(test: &SourceTest) -> Self {
        let starts = test.body.text.match_indices('\n').map(|(at, _)| at + 1).collect();
        Self { first: test.body.line, starts }
    }

    fn line(&self, start: u32) -> u32 {
        let before = self.starts.partition_point(|line| *line <= start as usize);
        self.first + u32::try_from(before).unwrap_or(0)
    }
}

/// Whether other tests of the class are known to be flaky.
pub(crate) fn siblings(past: &Past, keys: &Keys) -> Option<Reason> {
    let (class, own) = (past.tally(keys.class), past.tally(keys.test));
    let (flaky, known) = (class.flaky.saturating_sub(own.flaky), class.known.saturating_sub(own.known));
    (flaky > 0).then_some(Reason::Siblings { flaky, known })
}

fn look_alikes(blend: &Blend, test: &SourceTest, row: SparseRow<'_>, keys: &Keys) -> Vec<Reason> {
    let alike = blend.base.neighbours.look_alikes(row, keys, MOST);
    alike
        .filter(|(_, similarity)| *similarity >= LEAST_SIMILARITY)
        .map(|(known, similarity)| {
            let shared =
                |line: &str| line_hash(line).is_some_and(|hash| known.lines.binary_search(&hash).is_ok());
            let lines = (test.body.line..).zip(test.body.text.lines());
            Reason::LooksLike {
                test: known.name.clone(),
                similarity: f64::from(similarity.min(1.0)),
                lines: lines.filter(|(_, line)| shared(line)).map(|(number, _)| number).collect(),
            }
        })
        .collect()
}

/// What each word of a test adds to what the words say.
struct Added {
    /// By the word, for people: how much, and on which line it stands.
    words: HashMap<String, (f64, Option<u32>)>,
    /// By where the word stands in the test.
    tokens: HashMap<u32, f64>,
}

impl Added {
    fn of(blend: &Blend, expert: &Expert, test: &SourceTest, row: SparseRow<'_>) -> Self {
        let weights = &expert.text_model.linear.weights;
        let columns: HashMap<u32, f64> = row
            .iter()
            .map(|(column, value)| (column, f64::from(value) * f64::from(weights[column as usize])))
            .collect();
        let mut added = Self { words: HashMap::new(), tokens: HashMap::new() };
        each_word(test, &mut |place, word, token| {
            let column = blend.base.space.column(place == Place::Body, word.hash());
            let weight = column.and_then(|column| columns.get(&column)).copied().unwrap_or(0.0);
            if weight <= 0.0 {
                return;
            }
            if let Some(token) = token {
                *added.tokens.entry(token.span.start).or_default() += weight;
            }
            let line = token.map(|token| line_of(test, token));
            // The same word in two forms, such as a name and its part, is one reason.
            let known = added.words.entry(word.show()).or_insert((weight, line));
            if weight > known.0 {
                *known = (weight, line.or(known.1));
            }
        });
        added
    }

    fn strongest_words(self) -> impl Iterator<Item = Reason> {
        // A letter or two tell people nothing.
        let mut words: Vec<_> = self.words.into_iter().filter(|(word, _)| word.len() > 2).collect();
        words.sort_by(|left, right| right.1.0.total_cmp(&left.1.0).then_with(|| left.0.cmp(&right.0)));
        words.into_iter().take(MOST).map(|(text, (weight, line))| Reason::Word { text, line, weight })
    }
}

/// The interfaces that speak for the likely kind of flakiness, or for any.
fn uses(test: &SourceTest, hits: &[FamilyHit], category: Option<Category>, added: &Added) -> Vec<Reason> {
    let mut uses: Vec<(f64, Reason)> = hits
        .iter()
        .map(|hit| (hit, &families()[hit.family]))
        .filter(|(_, family)| family.category.is_none() || family.category == category)
        .map(|(hit, family)| {
            let token = &test.body.tokens[hit.first_token];
            let weight = added.tokens.get(&token.span.start).copied().unwrap_or(0.0);
            let (family, text, line) = (family.name, family.reason, line_of(test, token));
            (weight, Reason::Uses { family, text, line, weight })
        })
        .collect();
    uses.sort_by(|left, right| right.0.total_cmp(&left.0));
    uses.truncate(MOST);
    uses.into_iter().map(|(_, reason)| reason).collect()
}

fn line_of(test: &SourceTest, token: &Token) -> u32 {
    let before = test.body.text.get(..token.span.start as usize).unwrap_or_default();
    test.body.line + u32::try_from(before.matches('\n').count()).unwrap_or(0)
}
