//! PEELER's predictor: a network over the paths of values through a test.
//!
//! It follows "Learning to effectively predict flakiness without running tests"
//! (2022) with smaller layers, paths sampled for every batch, and early stopping
//! on held-out classes or projects of the training data. A model file is in the
//! safetensors format.

use std::collections::HashMap;

use flakewise_learn::{
    Bag, Epoch, Network, NetworkData, NetworkOptions, NetworkPart, NetworkShape, Platt,
    stratified_group_folds,
};
use flakewise_paths::{PathWords, word_hash};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};

use crate::Familiarity;
use crate::blend::HeldOut;
use crate::codec::Damage;
use crate::model::ModelError;
use crate::past::Keys;
use crate::words::HashTable;

/// A labelled test.
#[derive(Clone, Copy, Debug)]
pub struct PathRow<'a> {
    /// Its paths.
    pub words: &'a PathWords,
    /// What it belongs to.
    pub keys: Keys,
    /// Whether it is flaky.
    pub flaky: bool,
}

/// How a [`PathModel`] is trained.
#[derive(Clone, Debug)]
pub struct PathOptions {
    /// Which tests the model is for; decides what is held out.
    pub familiarity: Familiarity,
    /// Initial embeddings.
    pub embeddings: Option<Embeddings>,
    /// The network. Initial embeddings override its embedding size.
    pub network: NetworkOptions,
}

/// A trained network with the words it knows.
#[derive(Clone, Debug)]
pub struct PathModel {
    /// Rising; the place is the token.
    words: Vec<u64>,
    tokens: HashTable<u32>,
    network: Network,
    calibration: Platt,
}

/// The prediction for a test.
#[derive(Clone, Debug, PartialEq)]
pub struct PathJudgement {
    /// Not calibrated; orders tests.
    pub score: f64,
    /// The calibrated chance that it is flaky.
    pub risk: f64,
    /// The attention weight of each path; they sum to 1 if there are any.
    pub attention: Vec<f32>,
}

/// One in this many groups of the training data is held out for early stopping
/// and calibration.
const PARTS: usize = 6;
/// Words of fewer tests are ignored.
const LEAST_TESTS: u32 = 3;
/// The most frequent words are kept.
const MOST_WORDS: usize = 20_000;

impl PathModel {
    /// Trains a network; also returns its predictions for the held-out part of the
    /// training data. `None` if the data does not have enough groups of both labels.
    pub fn train(
        rows: &[PathRow<'_>],
        options: &PathOptions,
        progress: impl FnMut(usize, Epoch),
    ) -> Option<(Self, Vec<HeldOut>)> {
        let labels: Vec<bool> = rows.iter().map(|row| row.flaky).collect();
        let groups: Vec<u64> = rows.iter().map(|row| row.keys.group(options.familiarity)).collect();
        let fold =
            stratified_group_folds(&labels, &groups, PARTS, options.network.seed).into_iter().next()?;
        let both = |places: &[usize]| {
            let flaky = places.iter().filter(|&&place| labels[place]).count();
            flaky > 0 && flaky < places.len()
        };
        if !both(&fold.train) || !both(&fold.test) {
            return None;
        }
        let words = vocabulary(rows, &fold.train, options.familiarity);
        let tokens = numbered(&words);
        let bags: Vec<Bag> = rows.iter().map(|row| bag(&tokens, row.words)).collect();
        let mut network = options.network.clone();
        let mut embeddings = Vec::new();
        if let Some(given) = &options.embeddings {
            network.embedding = given.width;
            let known = given.vectors.iter();
            embeddings.extend(known.filter_map(|(word, vector)| Some((*tokens.get(word)?, vector.clone()))));
        }
        let data = NetworkData { bags: &bags, labels: &labels, train: &fold.train, validation: &fold.test };
        let network = Network::train(data, words.len(), &embeddings, &network, progress);
        let said = network.scores(fold.test.iter().map(|&row| &bags[row]));
        let scores: Vec<f64> = said.iter().map(|said| f64::from(said.score)).collect();
        let held_labels: Vec<bool> = fold.test.iter().map(|&row| labels[row]).collect();
        let calibration = Platt::fit(&scores, &held_labels, None);
        let held_out = scores.iter().zip(&held_labels).map(|(&score, &flaky)| HeldOut {
            familiarity: options.familiarity,
            score,
            risk: calibration.probability(score),
            flaky,
            weight: 1.0,
        });
        let held_out = held_out.collect();
        Some((Self { words, tokens, network, calibration }, held_out))
    }

    /// The calibrated log-odds at a score.
    pub(crate) fn odds(&self, score: f64) -> f64 {
        self.calibration.slope * score + self.calibration.intercept
    }

    /// Scores tests.
    pub fn judge<'a>(&self, tests: impl Iterator<Item = &'a PathWords>) -> Vec<PathJudgement> {
        let bags: Vec<Bag> = tests.map(|words| bag(&self.tokens, words)).collect();
        let said = self.network.scores(bags.iter());
        said.into_iter()
            .map(|said| {
                let score = f64::from(said.score);
                PathJudgement { score, risk: self.calibration.probability(score), attention: said.attention }
            })
            .collect()
    }

    /// The model file.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.write(&[])
    }

    /// The model file, with additional bytes.
    pub(crate) fn write(&self, about: &[u8]) -> Vec<u8> {
        let shape = self.network.shape();
        let single =
            |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
        let mut data: Vec<(&str, Dtype, Vec<usize>, Vec<u8>)> = NetworkPart::ALL
            .into_iter()
            .map(|part| {
                (part.name(), Dtype::F32, part.size(&shape).to_vec(), single(self.network.part(part)))
            })
            .collect();
        let words = self.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        data.push((WORDS, Dtype::U64, vec![self.words.len()], words));
        let Platt { slope, intercept } = self.calibration;
        let calibration = [slope, intercept].iter().flat_map(|value| value.to_le_bytes()).collect();
        data.push((CALIBRATION, Dtype::F64, vec![2], calibration));
        data.push((ABOUT, Dtype::U8, vec![about.len()], about.to_vec()));
        let views = data.iter().map(|(name, dtype, size, bytes)| {
            (*name, TensorView::new(*dtype, size.clone(), bytes).expect("each part has the size it says"))
        });
        let format = HashMap::from([("format".to_owned(), FORMAT.to_owned())]);
        safetensors::serialize(views, &Some(format)).expect("names differ and sizes are right")
    }

    /// Reads a model file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ModelError> {
        Self::open(bytes).map(|(model, _)| model)
    }

    /// The model and the additional bytes of its file.
    pub(crate) fn open(bytes: &[u8]) -> Result<(Self, Vec<u8>), ModelError> {
        let (_, about) = SafeTensors::read_metadata(bytes).map_err(|_| ModelError::NotAModel)?;
        let format = about.metadata().as_ref().and_then(|about| about.get("format"));
        if format.map(String::as_str) != Some(FORMAT) {
            return Err(ModelError::NotAModel);
        }
        Self::read(bytes).map_err(ModelError::Damaged)
    }

    fn read(bytes: &[u8]) -> Result<(Self, Vec<u8>), Damage> {
        let tensors = SafeTensors::deserialize(bytes).map_err(|_| "its tensors are inconsistent")?;
        let tensor = |name: &str, dtype: Dtype| {
            let tensor = tensors.tensor(name).ok().filter(|tensor| tensor.dtype() == dtype);
            tensor.ok_or("it lacks a tensor")
        };
        let words = wide(tensor(WORDS, Dtype::U64)?.data()).map(u64::from_le_bytes).collect::<Vec<_>>();
        if !words.is_sorted_by(|left, right| left < right) || u32::try_from(words.len()).is_err() {
            return Err("its words are not ascending");
        }
        let calibration: Vec<f64> =
            wide(tensor(CALIBRATION, Dtype::F64)?.data()).map(f64::from_le_bytes).collect();
        let &[slope, intercept] = &calibration[..] else { return Err("its calibration has another length") };
        if !(slope.is_finite() && intercept.is_finite()) {
            return Err("its calibration is not finite");
        }
        let parts = NetworkPart::ALL.map(|part| {
            let tensor = tensor(part.name(), Dtype::F32)?;
            let values = tensor.data().chunks_exact(4);
            let values: Vec<f32> =
                values.map(|bytes| f32::from_le_bytes(bytes.try_into().expect("they are four"))).collect();
            Ok::<_, Damage>((part, tensor.shape().to_vec(), values))
        });
        let parts: Vec<_> = parts.into_iter().collect::<Result<_, _>>()?;
        let columns = |part: NetworkPart| {
            let found = parts.iter().find(|(other, ..)| *other == part);
            found.and_then(|(_, size, _)| size.get(1).copied()).ok_or("a tensor is not a matrix")
        };
        let shape = NetworkShape {
            vocabulary: words.len(),
            embedding: columns(NetworkPart::Embeddings)?,
            item: columns(NetworkPart::ItemBias)?,
            hidden: columns(NetworkPart::HeadBias)?,
        };
        let sizes_are_right = parts.iter().all(|(part, size, _)| part.size(&shape)[..] == size[..]);
        let values = |part| parts.iter().find(|(other, ..)| *other == part).map(|(_, _, values)| &values[..]);
        let network = Network::from_parts(shape, values).filter(|_| sizes_are_right);
        let network = network.ok_or("its tensors are inconsistent")?;
        let calibration = Platt { slope, intercept };
        let about = tensor(ABOUT, Dtype::U8)?.data().to_vec();
        Ok((Self { tokens: numbered(&words), words, network, calibration }, about))
    }
}

const FORMAT: &str = "flakewise path network 1";
const WORDS: &str = "words";
const CALIBRATION: &str = "calibration";
/// Additional bytes: the model card and known labels.
const ABOUT: &str = "flakewise";

fn wide(bytes: &[u8]) -> impl Iterator<Item = [u8; 8]> + '_ {
    bytes.chunks_exact(8).map(|bytes| bytes.try_into().expect("they are eight"))
}

/// The words of enough tests, rising. For tests of projects never seen, only
/// those of more than one project.
fn vocabulary(rows: &[PathRow<'_>], train: &[usize], familiarity: Familiarity) -> Vec<u64> {
    let mut seen: HashTable<(u32, u64)> = HashTable::default();
    let mut own: Vec<u64> = Vec::new();
    for &row in train {
        own.clear();
        own.extend(rows[row].words.steps.iter().flatten().flatten());
        own.sort_unstable();
        own.dedup();
        for &word in &own {
            let entry = seen.entry(word).or_default();
            entry.0 += 1;
            entry.1 |= 1 << (rows[row].keys.project % 64);
        }
    }
    let least_projects = if familiarity == Familiarity::NewProject { 2 } else { 1 };
    let mut kept: Vec<(u32, u64)> = seen
        .into_iter()
        .filter(|(_, (tests, projects))| *tests >= LEAST_TESTS && projects.count_ones() >= least_projects)
        .map(|(word, (tests, _))| (tests, word))
        .collect();
    kept.sort_unstable_by_key(|&(tests, word)| (std::cmp::Reverse(tests), word));
    kept.truncate(MOST_WORDS);
    let mut words: Vec<u64> = kept.into_iter().map(|(_, word)| word).collect();
    words.sort_unstable();
    words
}

fn numbered(words: &[u64]) -> HashTable<u32> {
    words.iter().copied().zip(0..).collect()
}

/// A test as tokens. Unknown words are dropped.
fn bag(tokens: &HashTable<u32>, words: &PathWords) -> Bag {
    let known = |words: &Vec<u64>| words.iter().filter_map(|word| tokens.get(word).copied()).collect();
    Bag {
        items: words.steps.iter().map(|halves| halves.each_ref().map(known)).collect(),
        sequences: words.paths.clone(),
    }
}

/// Pretrained vectors of words.
#[derive(Clone, Debug, Default)]
pub struct Embeddings {
    width: usize,
    vectors: HashMap<u64, Vec<f32>>,
}

/// Why an embeddings file cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmbeddingsError {
    /// The first line is not two numbers.
    #[error("line 1 must have the number of words and the number of values per word, e.g. `1000 128`")]
    Head,
    /// A vector would be too long.
    #[error("a word has {0} values; at most {MOST_WIDTH} are possible")]
    TooWide(usize),
    /// A line is not a word and its values.
    #[error("line {line} must have a word and {width} finite values")]
    Line {
        /// Counted from one.
        line: usize,
        /// How many values it must have.
        width: usize,
    },
}

/// Limits memory.
const MOST_WIDTH: usize = 1024;

impl Embeddings {
    /// Reads the text format of word2vec and code2vec: a line with the number
    /// of words and of values, then a line for each word with its values.
    pub fn parse(text: &str) -> Result<Self, EmbeddingsError> {
        let mut lines = text.lines().enumerate();
        let head: Option<Vec<usize>> = lines
            .next()
            .and_then(|(_, line)| line.split_whitespace().map(|number| number.parse().ok()).collect());
        let Some(&[_, width]) = head.as_deref() else { return Err(EmbeddingsError::Head) };
        if width == 0 || width > MOST_WIDTH {
            return Err(EmbeddingsError::TooWide(width));
        }
        let mut vectors = HashMap::new();
        for (number, line) in lines {
            let mut parts = line.split_whitespace();
            let Some(word) = parts.next() else { continue };
            let values: Option<Vec<f32>> =
                parts.map(|value| value.parse().ok().filter(|value: &f32| value.is_finite())).collect();
            let values = values.filter(|values| values.len() == width);
            let values = values.ok_or(EmbeddingsError::Line { line: number + 1, width })?;
            vectors.insert(word_hash(&word.to_lowercase()), values);
        }
        Ok(Self { width, vectors })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embeddings_are_read_and_bad_lines_are_named() {
        let read = Embeddings::parse("2 3\nPort 1 2 3\nsleep -1e-1 0 4\n\n").unwrap();
        assert_eq!(read.vectors[&word_hash("port")], [1.0, 2.0, 3.0]);
        assert_eq!((read.width, read.vectors.len()), (3, 2));
        let error = |text: &str| Embeddings::parse(text).unwrap_err();
        assert_eq!(error(""), EmbeddingsError::Head);
        assert_eq!(error("port 1 2 3\n"), EmbeddingsError::Head);
        assert_eq!(error("2 9999999\n"), EmbeddingsError::TooWide(9_999_999));
        assert_eq!(error("1 2\nport 1\n"), EmbeddingsError::Line { line: 2, width: 2 });
        assert_eq!(error("1 2\nport 1 NaN\n"), EmbeddingsError::Line { line: 2, width: 2 });
    }
}
