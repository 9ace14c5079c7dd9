//! What speaks for a test being flaky.

use std::collections::HashMap;

use flakewise_learn::{SparseMatrix, SparseRow};
use flakewise_source::SourceTest;

use crate::Reason;
use crate::blend::{Blend, Expert};
use crate::features::{Features, Place, each_word, line_hash};
use crate::past::Keys;

/// A test that is less alike is no example.
const LEAST_SIMILARITY: f32 = 0.5;
/// So many of each kind of reason are given.
const MOST: usize = 3;

/// The reasons, strongest kind first.
pub(crate) fn reasons(
    blend: &Blend,
    expert: &Expert,
    test: &SourceTest,
    features: &Features,
    keys: &Keys,
) -> Vec<Reason> {
    let mut text = SparseMatrix::new(blend.base.space.columns());
    text.push(blend.base.space.row(features));
    let row = text.row(0);
    let mut reasons = Vec::new();
    reasons.extend(siblings(blend, keys));
    reasons.extend(look_alikes(blend, test, row, keys));
    reasons.extend(words(blend, expert, test, row));
    reasons
}

fn siblings(blend: &Blend, keys: &Keys) -> Option<Reason> {
    let class = blend.base.past.tally(keys.class);
    let own = blend.base.past.tally(keys.test);
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

/// The words that add most to what the words say.
fn words(blend: &Blend, expert: &Expert, test: &SourceTest, row: SparseRow<'_>) -> Vec<Reason> {
    let added: HashMap<u32, f64> = row
        .iter()
        .map(|(column, value)| {
            (column, f64::from(value) * f64::from(expert.speech.linear.weights[column as usize]))
        })
        .collect();
    let mut found: HashMap<String, (f64, Option<u32>)> = HashMap::new();
    each_word(test, &mut |place, word, token| {
        let in_body = place == Place::Body;
        let added = blend.base.space.column(in_body, word.hash()).and_then(|column| added.get(&column));
        let Some(&weight) = added.filter(|&&weight| weight > 0.0) else { return };
        let line = token.map(|token| {
            let before = test.body.text.get(..token.span.start as usize).unwrap_or_default();
            test.body.line + u32::try_from(before.matches('\n').count()).unwrap_or(0)
        });
        // The same word in two forms, such as a name and its part, is one reason.
        let known = found.entry(word.show()).or_insert((weight, line));
        if weight > known.0 {
            *known = (weight, line.or(known.1));
        }
    });
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_by(|left, right| right.1.0.total_cmp(&left.1.0).then_with(|| left.0.cmp(&right.0)));
    found.truncate(MOST);
    found.into_iter().map(|(text, (weight, line))| Reason::Word { text, line, weight }).collect()
}
