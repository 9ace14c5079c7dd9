//! FLAST as a model of its own: with calibrated risks, reasons and a file.

use flakewise_learn::{Platt, SparseMatrix};
use flakewise_model::Probability;
use flakewise_source::SourceTest;
use hashbrown::HashMap;
use rayon::prelude::*;

use crate::blend::{HeldOut, Row, usable_folds};
use crate::codec::{Damage, Reader, Writer};
use crate::features::Features;
use crate::file::{familiarity_number, read_familiarity};
use crate::model::TrainOptions;
use crate::past::{Keys, Past};
use crate::reasons::{LEAST_SIMILARITY, MOST, siblings};
use crate::words::HashTable;
use crate::{Example, Familiarity, Flast, FlastOptions, FlastTokens, Prediction, Reason};

/// FLAST with what it needs to judge tests of a repository.
#[derive(Clone, Debug)]
pub(crate) struct FlastJudge {
    known: Known,
    past: Past,
    calibrations: Vec<(Familiarity, Platt)>,
    flast: Flast,
    /// The place of each known test, by its key.
    places: HashTable<usize>,
}

/// The labelled tests.
#[derive(Clone, Debug)]
struct Known {
    /// By column.
    words: Vec<Box<str>>,
    /// How often each test has each word.
    counts: SparseMatrix,
    keys: Vec<u64>,
    labels: Vec<bool>,
    names: Vec<String>,
    seed: u64,
}

/// Words find more than what stands between spaces, see `eval/flakeflagger`.
fn options(seed: u64) -> FlastOptions {
    FlastOptions { tokens: FlastTokens::Words, seed, ..FlastOptions::default() }
}

impl FlastJudge {
    /// Trains; also returns predictions for held-out tests.
    pub(crate) fn train(
        examples: &[Example],
        rows: &[Row<'_>],
        train: &TrainOptions,
    ) -> (Self, Vec<HeldOut>) {
        let sources: Vec<&str> = examples.iter().map(|example| &*example.test.body.text).collect();
        let labels: Vec<bool> = rows.iter().map(|row| row.flaky).collect();
        let mut calibrations = Vec::new();
        let mut held_out = Vec::new();
        for &familiarity in &train.familiarities {
            let groups: Vec<u64> = rows.iter().map(|row| row.keys.group(familiarity)).collect();
            let Some(folds) = usable_folds(&labels, &groups, train.seed) else { continue };
            let mut scores = vec![0.0; rows.len()];
            for fold in folds {
                let pick = |places: &[usize]| places.iter().map(|&row| sources[row]).collect::<Vec<_>>();
                let known: Vec<bool> = fold.train.iter().map(|&row| labels[row]).collect();
                let flast = Flast::train(&pick(&fold.train), &known, options(train.seed));
                for (&row, score) in fold.test.iter().zip(flast.score_all(&pick(&fold.test))) {
                    scores[row] = score;
                }
            }
            let calibration = Platt::fit(&scores, &labels, None);
            calibrations.push((familiarity, calibration));
            held_out.extend(scores.iter().zip(&labels).map(|(&score, &flaky)| HeldOut {
                familiarity,
                score,
                risk: calibration.probability(score),
                flaky,
                weight: 1.0,
            }));
        }
        let (columns, counts) = Flast::count(&sources, options(train.seed).tokens);
        let mut words: Vec<(u32, Box<str>)> =
            columns.into_iter().map(|(word, column)| (column, word)).collect();
        words.sort_unstable();
        let known = Known {
            words: words.into_iter().map(|(_, word)| word).collect(),
            counts,
            keys: rows.iter().map(|row| row.keys.test).collect(),
            labels,
            names: rows.iter().map(|row| row.name.to_owned()).collect(),
            seed: train.seed,
        };
        let past = Past::count(rows.iter().map(|row| (row.keys, row.flaky)));
        (Self::new(known, past, calibrations), held_out)
    }

    fn new(known: Known, past: Past, calibrations: Vec<(Familiarity, Platt)>) -> Self {
        let columns: HashMap<Box<str>, u32> = known.words.iter().cloned().zip(0..).collect();
        let flast = Flast::new(columns, &known.counts, known.labels.clone(), options(known.seed));
        let places = known.keys.iter().copied().zip(0..).collect();
        Self { known, past, calibrations, flast, places }
    }

    pub(crate) fn predict(
        &self,
        tests: &[SourceTest],
        pairs: &[(&Features, Keys)],
        explain_from: f64,
    ) -> Vec<Prediction> {
        tests.par_iter().zip(pairs).map(|(test, (_, keys))| self.judge(test, keys, explain_from)).collect()
    }

    fn judge(&self, test: &SourceTest, keys: &Keys, explain_from: f64) -> Prediction {
        let said = self.flast.predict_without(&test.body.text, self.places.get(&keys.test).copied());
        let familiarity = self.past.familiarity(keys);
        let place = familiarity.nearest(self.calibrations.iter().map(|(known, _)| *known));
        // Too little data to calibrate: use the raw score.
        let risk = place.map_or(said.score, |place| self.calibrations[place].1.probability(said.score));
        let mut reasons = Vec::new();
        if risk >= explain_from {
            reasons.extend(siblings(&self.past, keys));
            let flaky = said.neighbours.iter().filter(|near| self.known.labels[near.example]);
            let alike = flaky.filter(|near| 1.0 - near.distance >= f64::from(LEAST_SIMILARITY));
            reasons.extend(alike.take(MOST).map(|near| Reason::LooksLike {
                test: self.known.names[near.example].clone(),
                similarity: 1.0 - near.distance,
                lines: Vec::new(),
            }));
        }
        Prediction { risk: Probability::clamped(risk), familiarity, category: None, reasons }
    }

    pub(crate) fn write(&self, writer: &mut Writer) {
        let Known { words, counts, keys, labels, names, seed } = &self.known;
        writer.fixed(*seed);
        writer.count(words.len());
        for word in words {
            writer.text(word);
        }
        writer.count(labels.len());
        for place in 0..labels.len() {
            writer.fixed(keys[place]);
            writer.byte(u8::from(labels[place]));
            writer.text(&names[place]);
            let row = counts.row(place);
            writer.rising(row.indices.iter().map(|&column| u64::from(column)));
            row.iter().for_each(|(_, count)| writer.single(count));
        }
        self.past.write(writer);
        writer.count(self.calibrations.len());
        for (familiarity, calibration) in &self.calibrations {
            writer.byte(familiarity_number(*familiarity));
            writer.double(calibration.slope);
            writer.double(calibration.intercept);
        }
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, Damage> {
        let seed = reader.fixed()?;
        let words: Vec<Box<str>> = (0..reader.count(1)?)
            .map(|_| Ok::<_, Damage>(reader.text()?.into()))
            .collect::<Result<_, _>>()?;
        let width = u32::try_from(words.len()).map_err(|_| "it has too many words")?;
        let mut known = Known {
            counts: SparseMatrix::new(words.len()),
            words,
            keys: Vec::new(),
            labels: Vec::new(),
            names: Vec::new(),
            seed,
        };
        for _ in 0..reader.count(11)? {
            known.keys.push(reader.fixed()?);
            known.labels.push(match reader.byte()? {
                0 => false,
                1 => true,
                _ => return Err("a label is neither 0 nor 1"),
            });
            known.names.push(reader.text()?);
            let columns = reader.rising()?;
            let columns =
                columns.into_iter().map(|column| u32::try_from(column).ok().filter(|&column| column < width));
            let columns: Option<Vec<u32>> = columns.collect();
            let columns = columns.ok_or("a test has an unknown word")?;
            let counts: Vec<f32> = columns.iter().map(|_| reader.finite()).collect::<Result<_, _>>()?;
            if !columns.is_sorted_by(|left, right| left < right) {
                return Err("the words of a test are not ascending");
            }
            known.counts.push(columns.into_iter().zip(counts));
        }
        let past = Past::read(reader)?;
        let mut calibrations = Vec::new();
        for _ in 0..reader.count(17)? {
            let familiarity = read_familiarity(reader)?;
            calibrations.push((familiarity, Platt { slope: reader.double()?, intercept: reader.double()? }));
        }
        Ok(Self::new(known, past, calibrations))
    }
}
