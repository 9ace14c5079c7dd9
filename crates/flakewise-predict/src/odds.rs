//! How much more often flaky tests have a word than others.

use flakewise_learn::{SparseMatrix, SparseRow};

use crate::codec::{Damage, Reader, Writer};

/// How many numbers sum up the words of one part of a test.
pub(crate) const SUMMARY: usize = 3;
/// So many of the strongest words are looked at in each direction.
const STRONGEST: usize = 10;
/// How many tests without any word of theirs a word starts with.
const PRIOR: f32 = 2.0;

/// The logarithm of each word's odds against those of all tests.
#[derive(Clone, Debug)]
pub(crate) struct WordOdds {
    odds: Vec<f32>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    flaky: f32,
    all: f32,
}

impl Seen {
    fn add(&mut self, weight: f32, flaky: bool) {
        self.all += weight;
        if flaky {
            self.flaky += weight;
        }
    }

    fn odds(self, rate: f32) -> f32 {
        let flaky = self.flaky + PRIOR * rate;
        let other = self.all - self.flaky + PRIOR * (1.0 - rate);
        (flaky / other.max(f32::MIN_POSITIVE)).ln() - (rate / (1.0 - rate)).ln()
    }
}

impl WordOdds {
    /// Learns the odds from weighted tests.
    pub(crate) fn fit(text: &SparseMatrix, labels: &[bool], weights: &[f32]) -> Self {
        let mut seen = vec![Seen::default(); text.columns()];
        let mut total = Seen::default();
        for row in 0..text.rows() {
            total.add(weights[row], labels[row]);
            for &column in text.row(row).indices {
                seen[column as usize].add(weights[row], labels[row]);
            }
        }
        let rate = (total.flaky / total.all).clamp(1e-4, 0.9);
        Self { odds: seen.into_iter().map(|seen| seen.odds(rate)).collect() }
    }

    /// Sums up the words of a test: [`SUMMARY`] numbers for each of its parts,
    /// whose columns end where `ends` says.
    pub(crate) fn summary(&self, row: SparseRow<'_>, ends: impl Iterator<Item = u32>) -> Vec<f32> {
        let mut start = 0;
        let mut summary = Vec::new();
        for end in ends {
            let next = row.indices.partition_point(|&column| column < end);
            let odds = row.indices[start..next].iter().map(|&column| self.odds[column as usize]);
            summary.extend(summarise(odds.collect()));
            start = next;
        }
        summary
    }

    pub(crate) fn write(&self, writer: &mut Writer) {
        writer.coarse(&self.odds);
    }

    pub(crate) fn read(reader: &mut Reader<'_>, columns: usize) -> Result<Self, Damage> {
        let odds = reader.coarse()?;
        if odds.len() == columns { Ok(Self { odds }) } else { Err("words and their odds differ in number") }
    }
}

/// The mean of the words that speak most for flakiness, of those that speak most
/// against it, and of all.
fn summarise(mut odds: Vec<f32>) -> [f32; SUMMARY] {
    if odds.is_empty() {
        return [0.0; SUMMARY];
    }
    odds.sort_unstable_by(f32::total_cmp);
    let mean = |odds: &[f32]| odds.iter().sum::<f32>() / odds.len() as f32;
    let few = STRONGEST.min(odds.len());
    [mean(&odds[odds.len() - few..]), mean(&odds[..few]), mean(&odds)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_flaky_tests_speak_for_flakiness() {
        let mut text = SparseMatrix::new(3);
        for row in [[(0, 1.0), (2, 1.0)], [(0, 1.0), (2, 1.0)], [(1, 1.0), (2, 1.0)], [(1, 1.0), (2, 1.0)]] {
            text.push(row);
        }
        let odds = WordOdds::fit(&text, &[true, true, false, false], &[1.0; 4]);
        let summary = odds.summary(text.row(0), [2, 3].into_iter());
        let [most, least, mean, around, ..] = summary[..] else { panic!("two parts") };
        assert!(most > 0.5 && (most - least).abs() < 1e-6 && (most - mean).abs() < 1e-6);
        assert!(around.abs() < 1e-6, "all tests have that word");
        assert!(odds.summary(text.row(2), [2, 3].into_iter())[2] < -0.5);
        assert_eq!(summary.len(), 2 * SUMMARY);
    }
}
