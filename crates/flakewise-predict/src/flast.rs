//! FLAST: a test is as flaky as the known tests that look like it.
//!
//! After Verdecchia and others, "Know Your Neighbor: Fast Static Prediction of
//! Test Flakiness" (2021): counts of the source's words, a sparse random
//! projection, and the seven nearest by cosine, each weighed by its closeness.
//! Nothing is added to it; it is what others are measured against.

use flakewise_learn::{ProjectedIndex, Projection, SparseMatrix, johnson_lindenstrauss_dimension};
use hashbrown::HashMap;
use rayon::prelude::*;

use crate::Category;

/// The paper's predictor.
#[derive(Clone, Debug)]
pub struct Flast {
    options: FlastOptions,
    columns: HashMap<Box<str>, u32>,
    index: ProjectedIndex,
    labels: Vec<bool>,
    categories: Vec<Option<Category>>,
}

/// The parameters of the paper.
#[derive(Clone, Debug, PartialEq)]
pub struct FlastOptions {
    /// What a word is.
    pub tokens: FlastTokens,
    /// By how much the projection may change squared distances.
    pub epsilon: f64,
    /// How many neighbours are asked.
    pub neighbours: usize,
    /// What the projection depends on.
    pub seed: u64,
}

impl Default for FlastOptions {
    fn default() -> Self {
        Self { tokens: FlastTokens::Whitespace, epsilon: 0.33, neighbours: 7, seed: 1 }
    }
}

/// What a word of the source is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlastTokens {
    /// What stands between white space, as the paper says.
    Whitespace,
    /// Two or more letters, digits and underscores, in lower case, as the
    /// paper's program has it.
    Words,
}

/// What the neighbours of a test say.
#[derive(Clone, Debug, PartialEq)]
pub struct FlastPrediction {
    /// The share of the closeness that flaky neighbours bring.
    pub score: f64,
    /// The category of most of the flaky neighbours, if they have any.
    pub category: Option<Category>,
    /// The neighbours, nearest first: they are the explanation.
    pub neighbours: Vec<FlastNeighbour>,
}

/// A known test near another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlastNeighbour {
    /// Its number among those learned from.
    pub example: usize,
    /// 1 less the cosine of the two.
    pub distance: f64,
}

/// Below this a distance is rounding: the neighbour is a copy.
const COPY: f64 = 1e-6;

impl Flast {
    /// Learns from sources of which is known whether they are flaky.
    pub fn train(sources: &[&str], labels: &[bool], options: FlastOptions) -> Self {
        assert_eq!(sources.len(), labels.len(), "a label for each source");
        let (columns, counts) = Self::count(sources, options.tokens);
        Self::new(columns, &counts, labels.to_vec(), options)
    }

    /// The words of sources as columns, and how often each source has them.
    pub(crate) fn count(sources: &[&str], tokens: FlastTokens) -> (HashMap<Box<str>, u32>, SparseMatrix) {
        let mut columns: HashMap<Box<str>, u32> = HashMap::new();
        // One list for all rows: they are many and most are short.
        let (mut met, mut ends) = (Vec::new(), Vec::with_capacity(sources.len()));
        for source in sources {
            words(source, tokens, |word| {
                let next = u32::try_from(columns.len()).expect("there are fewer words");
                met.push(*columns.entry_ref(word).or_insert(next));
            });
            ends.push(met.len());
        }
        let mut counts = SparseMatrix::new(columns.len());
        let mut start = 0;
        for end in ends {
            counts.push(count(&mut met[start..end]));
            start = end;
        }
        (columns, counts)
    }

    /// From counted sources.
    pub(crate) fn new(
        columns: HashMap<Box<str>, u32>,
        counts: &SparseMatrix,
        labels: Vec<bool>,
        options: FlastOptions,
    ) -> Self {
        let dimensions = johnson_lindenstrauss_dimension(labels.len().max(2), options.epsilon);
        let projection = Projection::new(columns.len(), dimensions, options.seed);
        let index = ProjectedIndex::new(counts, projection);
        Self { options, columns, index, labels, categories: Vec::new() }
    }

    /// Says of which kind each of the sources learned from is.
    #[must_use]
    pub fn with_categories(mut self, categories: Vec<Option<Category>>) -> Self {
        assert_eq!(categories.len(), self.labels.len(), "a category, or none, for each source");
        self.categories = categories;
        self
    }

    /// What the neighbours of a source say.
    pub fn predict(&self, source: &str) -> FlastPrediction {
        self.predict_without(source, None)
    }

    /// The prediction for a source that is part of the training data: it is not
    /// its own neighbour.
    pub(crate) fn predict_without(&self, source: &str, own: Option<usize>) -> FlastPrediction {
        let mut row = Vec::new();
        // Words that were never seen say nothing.
        words(source, self.options.tokens, |word| row.extend(self.columns.get(word)));
        let mut counts = SparseMatrix::new(self.columns.len());
        counts.push(count(&mut row));
        let neighbours: Vec<FlastNeighbour> = self
            .index
            .nearest(counts.row(0), self.options.neighbours + usize::from(own.is_some()))
            .into_iter()
            .filter(|near| own != Some(near.row as usize))
            .take(self.options.neighbours)
            .map(|near| FlastNeighbour {
                example: near.row as usize,
                distance: (1.0 - f64::from(near.similarity)).max(0.0),
            })
            .collect();
        FlastPrediction {
            score: share(&neighbours, &self.labels),
            category: self.majority(&neighbours),
            neighbours,
        }
    }

    /// The score of a source.
    pub fn score(&self, source: &str) -> f64 {
        self.predict(source).score
    }

    /// The scores of many sources, on all threads.
    pub fn score_all(&self, sources: &[&str]) -> Vec<f64> {
        sources.par_iter().with_min_len(16).map(|source| self.score(source)).collect()
    }

    /// The category that most of the flaky neighbours have, the nearest one's
    /// if there are several.
    fn majority(&self, neighbours: &[FlastNeighbour]) -> Option<Category> {
        let categories: Vec<Category> = neighbours
            .iter()
            .filter(|near| self.labels[near.example])
            .filter_map(|near| *self.categories.get(near.example)?)
            .collect();
        let votes = |category| categories.iter().filter(|&&other| other == category).count();
        categories.iter().copied().rev().max_by_key(|&category| votes(category))
    }
}

/// The share of the closeness that flaky neighbours bring. Copies decide alone.
fn share(neighbours: &[FlastNeighbour], labels: &[bool]) -> f64 {
    let copies = neighbours.iter().any(|near| near.distance < COPY);
    let (mut flaky, mut all) = (0.0, 0.0);
    for near in neighbours {
        let closeness = match (copies, near.distance < COPY) {
            (true, true) => 1.0,
            (true, false) => 0.0,
            (false, _) => 1.0 / near.distance,
        };
        all += closeness;
        if labels[near.example] {
            flaky += closeness;
        }
    }
    if all > 0.0 { flaky / all } else { 0.0 }
}

fn words(source: &str, tokens: FlastTokens, mut take: impl FnMut(&str)) {
    match tokens {
        FlastTokens::Whitespace => source.split_whitespace().for_each(take),
        FlastTokens::Words => {
            let lower = source.to_lowercase();
            lower
                .split(|letter: char| !(letter.is_alphanumeric() || letter == '_'))
                .filter(|word| word.chars().nth(1).is_some())
                .for_each(&mut take);
        }
    }
}

/// Columns with how often each was met.
fn count(columns: &mut [u32]) -> impl Iterator<Item = (u32, f32)> {
    columns.sort_unstable();
    columns.chunk_by(|left, right| left == right).map(|same| (same[0], same.len() as f32))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCES: [&str; 5] = [
        "void a() { Thread.sleep(10); check(x); }",
        "void b() { Thread.sleep(10); check(y); }",
        "void c() { assertEquals(1, one()); }",
        "void d() { assertEquals(2, two()); }",
        "void e() { assertEquals(3, three()); }",
    ];
    const LABELS: [bool; 5] = [true, true, false, false, false];

    fn flast(neighbours: usize) -> Flast {
        let options = FlastOptions { neighbours, ..FlastOptions::default() };
        Flast::train(&SOURCES, &LABELS, options)
    }

    #[test]
    fn a_copy_decides_alone() {
        let flast = flast(5);
        for (source, label) in SOURCES.iter().zip(LABELS) {
            // White space between words says nothing.
            let prediction = flast.predict(&source.replace(' ', "\n\t"));
            assert!((prediction.score - f64::from(u8::from(label))).abs() < 1e-12);
            assert_eq!(prediction.neighbours.len(), 5);
        }
    }

    #[test]
    fn copies_that_disagree_share_the_say() {
        let sources = ["same words", "same words", "same words", "other text"];
        let flast = Flast::train(&sources, &[true, false, false, false], FlastOptions::default());
        assert!((flast.score("words same") - 1.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn nearer_neighbours_say_more() {
        let near = |example, distance| FlastNeighbour { example, distance };
        // 1/0.1 against 1/0.4 and 1/0.5
        let score = share(&[near(0, 0.1), near(1, 0.4), near(2, 0.5)], &[true, false, false]);
        assert!((score - 10.0 / 14.5).abs() < 1e-12);
        assert!(share(&[], &[]).abs() < 1e-12);
    }

    #[test]
    fn the_category_is_that_of_most_flaky_neighbours() {
        let sources = ["a b c d", "a b c e", "a b c f", "a b c g", "a b x y"];
        let labels = [true, true, true, false, true];
        let categories =
            [Category::Time, Category::AsyncWait, Category::AsyncWait, Category::Time, Category::Time];
        let flast =
            Flast::train(&sources, &labels, FlastOptions { neighbours: 4, ..FlastOptions::default() })
                .with_categories(categories.map(Some).to_vec());
        assert_eq!(flast.predict("a b c h").category, Some(Category::AsyncWait));
    }

    #[test]
    fn words_are_those_of_count_vectorizer() {
        let mut found = Vec::new();
        words("getX(a, snake_case, Ünï); 42 7", FlastTokens::Words, |word| found.push(word.to_owned()));
        assert_eq!(found, ["getx", "snake_case", "ünï", "42"]);
    }

    #[test]
    fn nothing_known_and_nothing_asked_give_a_score() {
        assert!(Flast::train(&[], &[], FlastOptions::default()).score("a b").abs() < 1e-12);
        assert!(flast(7).score("").is_finite());
        assert!(flast(7).score("never seen words").is_finite());
    }
}
