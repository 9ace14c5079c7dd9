//! Known tests, and which of them look like a test at hand.

use flakewise_learn::{InvertedIndex, SparseMatrix, SparseRow};

use crate::Familiarity;
use crate::blend::Row;
use crate::codec::{Damage, Reader, Writer};
use crate::past::Keys;

/// What is walked for one test: the cost does not grow with the known tests.
const POSTINGS: usize = 10_000;
/// So many known tests are kept: all flaky ones first, then others evenly.
const MOST_KEPT: usize = 60_000;

/// Known tests that can be searched for the nearest of them.
#[derive(Clone, Debug)]
pub(crate) struct Neighbours {
    rows: SparseMatrix,
    index: InvertedIndex,
    known: Vec<Known>,
}

/// A known test.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Known {
    pub(crate) keys: Keys,
    pub(crate) flaky: bool,
    /// Its name and lines, if it is flaky: others are never shown.
    pub(crate) name: String,
    pub(crate) lines: Vec<u32>,
}

impl Neighbours {
    /// Keeps what has a vote; without votes only the flaky ones, to be shown.
    pub(crate) fn new(text: &SparseMatrix, rows: &[Row<'_>], votes: bool) -> Self {
        let others = rows.iter().filter(|row| !row.flaky).count();
        let room = if votes { MOST_KEPT.saturating_sub(rows.len() - others) } else { 0 };
        let mut seen = 0;
        let kept: Vec<usize> = (0..rows.len())
            .filter(|&row| {
                if rows[row].flaky {
                    return true;
                }
                seen += 1;
                // Evenly: the share that is kept so far never runs ahead.
                seen * room / others.max(1) > (seen - 1) * room / others.max(1) || room >= others
            })
            .collect();
        let known = kept.iter().map(|&row| Known::of(&rows[row])).collect();
        Self::from_parts(text.select(&kept), known)
    }

    fn from_parts(rows: SparseMatrix, known: Vec<Known>) -> Self {
        Self { index: InvertedIndex::new(&rows), rows, known }
    }

    /// The share of flaky ones among the nearest, nearer ones counting more; how
    /// near the nearest is; and how near the nearest flaky one is. The test itself
    /// has no vote.
    pub(crate) fn vote(
        &self,
        row: SparseRow<'_>,
        keys: &Keys,
        familiarity: Familiarity,
        votes: usize,
    ) -> [f32; 3] {
        // A test of a project never seen is not predicted by its neighbours.
        if familiarity == Familiarity::NewProject {
            return [0.0; 3];
        }
        let (mut flaky, mut all, mut nearest, mut nearest_flaky) = (0.0, 0.0, 0.0_f32, 0.0_f32);
        let near = self.near(row, votes + 1).filter(|(known, _)| known.keys.test != keys.test);
        for (known, similarity) in near.take(votes) {
            let weight = similarity.powi(4);
            all += weight;
            nearest = nearest.max(similarity);
            if known.flaky {
                flaky += weight;
                nearest_flaky = nearest_flaky.max(similarity);
            }
        }
        [if all > 0.0 { flaky / all } else { 0.0 }, nearest, nearest_flaky]
    }

    /// The nearest known flaky tests but the test itself, nearest first.
    pub(crate) fn look_alikes(
        &self,
        row: SparseRow<'_>,
        keys: &Keys,
        most: usize,
    ) -> impl Iterator<Item = (&Known, f32)> {
        const ASKED: usize = 60;
        let own = keys.test;
        self.near(row, ASKED).filter(move |(known, _)| known.flaky && known.keys.test != own).take(most)
    }

    fn near(&self, row: SparseRow<'_>, asked: usize) -> impl Iterator<Item = (&Known, f32)> {
        let near = self.index.nearest_bounded(row, asked, POSTINGS);
        near.into_iter().map(|neighbour| (&self.known[neighbour.row as usize], neighbour.similarity))
    }

    /// Values are kept in a byte each: votes need no more.
    pub(crate) fn write(&self, writer: &mut Writer) {
        writer.count(self.known.len());
        for (place, known) in self.known.iter().enumerate() {
            known.write(writer);
            let row = self.rows.row(place);
            writer.rising(row.indices.iter().map(|&column| u64::from(column)));
            let largest = row.values.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
            for value in row.values {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "between 1 and 255"
                )]
                writer.byte((value / largest * 255.0).round().clamp(1.0, 255.0) as u8);
            }
        }
    }

    pub(crate) fn read(reader: &mut Reader<'_>, columns: usize) -> Result<Self, Damage> {
        let count = reader.count(8)?;
        let mut rows = SparseMatrix::new(columns);
        let mut known = Vec::with_capacity(count);
        for _ in 0..count {
            known.push(Known::read(reader)?);
            let indices = reader.rising()?;
            if indices.last().is_some_and(|&last| last >= columns as u64) {
                return Err("a known test has words that are not in the model");
            }
            let mut row = Vec::with_capacity(indices.len());
            for index in indices {
                let column = u32::try_from(index).map_err(|_| "a word has too large a number")?;
                row.push((column, f32::from(reader.byte()?) / 255.0));
            }
            rows.push(row);
        }
        Ok(Self::from_parts(rows, known))
    }
}

impl Known {
    fn of(row: &Row<'_>) -> Self {
        let (name, lines) =
            if row.flaky { (row.name.to_owned(), row.features.lines.clone()) } else { Default::default() };
        Self { keys: row.keys, flaky: row.flaky, name, lines }
    }

    fn write(&self, writer: &mut Writer) {
        self.keys.write(writer);
        writer.byte(u8::from(self.flaky));
        if self.flaky {
            writer.text(&self.name);
            writer.rising(self.lines.iter().map(|&line| u64::from(line)));
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Damage> {
        let keys = Keys::read(reader)?;
        let flaky = reader.byte()? == 1;
        let (mut name, mut lines) = (String::new(), Vec::new());
        if flaky {
            name = reader.text()?;
            for line in reader.rising()? {
                lines.push(u32::try_from(line).map_err(|_| "a line has too large a hash")?);
            }
        }
        Ok(Self { keys, flaky, name, lines })
    }
}
