//! What one prediction costs when 10 thousand, 100 thousand and 1 million tests
//! are known: the tests of a data set, repeated with mutations.
//!
//! `scale DATASET [SIZE…]`

#![expect(clippy::print_stdout, reason = "it prints a table")]

use std::path::PathBuf;

use flakewise_eval::{Corpus, CpuClock, Dataset};
use flakewise_model::TestId;
use flakewise_predict::{Familiarity, Features, Keys, Model, Row, TrainOptions};
use flakewise_source::SourceTest;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;

/// Tests that are predicted for each size.
const ASKED: usize = 2000;
/// The share of words that a repetition has to itself.
const MUTATED: f64 = 0.15;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = PathBuf::from(arguments.next().expect("a data set is named"));
    let mut sizes: Vec<usize> = arguments.map(|size| size.parse().expect("a size is a number")).collect();
    if sizes.is_empty() {
        sizes = vec![10_000, 100_000, 1_000_000];
    }
    let corpus = Corpus::new(Dataset::read(&path).expect("the data set can be read"), 1);
    let step = (corpus.examples.len() / ASKED).max(1);
    let asked: Vec<SourceTest> =
        corpus.examples.iter().step_by(step).map(|example| example.test.clone()).collect();
    println!("seed 1, {:.0} % of the words of a repetition are its own", MUTATED * 100.0);
    println!("{:>9} {:>10} {:>12} {:>10}", "known", "train s", "µs per test", "file MB");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool of one thread");
    let mut first = None;
    for size in sizes {
        // On one thread, whose time is what is measured.
        let (seconds, micros, megabytes) = pool.install(|| measure(&corpus, &asked, size));
        let ratio = micros / *first.get_or_insert(micros);
        println!("{size:>9} {seconds:>10.1} {micros:>12.1} {megabytes:>10.1}   {ratio:.2} times the first");
    }
}

/// Processor time of training, of one prediction, and the size of the file.
fn measure(corpus: &Corpus, asked: &[SourceTest], size: usize) -> (f64, f64, f64) {
    let mut random = ChaCha12Rng::seed_from_u64(1);
    let known: Vec<(Features, TestId, usize)> = (0..size)
        .map(|number| {
            let row = number % corpus.features.len();
            let copy = (number / corpus.features.len()) as u64;
            let features = mutated(&corpus.features[row], copy, &mut random);
            let id = TestId::builder("copy", &copy.to_string())
                .finish(corpus.examples[row].test.id.as_str(), None);
            (features, id, row)
        })
        .collect();
    let rows: Vec<Row<'_>> = known
        .iter()
        .map(|(features, id, row)| Row {
            features,
            keys: Keys::new(&corpus.examples[*row].project, id, features),
            flaky: corpus.labels[*row],
            name: id.as_str(),
            weight: 1.0,
        })
        .collect();
    let options = TrainOptions { familiarities: vec![Familiarity::KnownProject], ..TrainOptions::default() };
    let clock = CpuClock::start();
    let model = Model::learn(&rows, &options).expect("there is enough to learn from");
    let seconds = clock.seconds();
    let bytes = model.to_bytes().len();
    // Once to warm up, and once to measure.
    model.predict("asked", asked, 2.0);
    let clock = CpuClock::start();
    model.predict("asked", asked, 2.0);
    (seconds, clock.seconds() * 1e6 / asked.len() as f64, bytes as f64 / 1e6)
}

fn mutated(features: &Features, copy: u64, random: &mut ChaCha12Rng) -> Features {
    let mut features = features.clone();
    if copy > 0 {
        for words in [&mut features.body, &mut features.context] {
            for (hash, _) in words.iter_mut() {
                if random.random_bool(MUTATED) {
                    *hash = hash.wrapping_mul(2 * copy + 1);
                }
            }
            words.sort_unstable_by_key(|(hash, _)| *hash);
            words.dedup_by_key(|(hash, _)| *hash);
        }
        features.class = features.class.wrapping_add(copy);
        features.package = features.package.wrapping_add(copy);
    }
    features
}
