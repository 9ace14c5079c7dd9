//! What a search costs and finds as the index grows: exact, and bounded.
//!
//! Rows are drawn like tokens of tests: a few columns that most rows have, and
//! many that few have (Zipf's law), in families of near-copies.

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::time::{Duration, Instant};

use flakewise_learn::{Idf, InvertedIndex, SparseMatrix, TermWeight};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

const COLUMNS: u32 = 200_000;
const QUERIES: usize = 200;
const NEIGHBOURS: usize = 7;

fn main() {
    println!("{:>9} {:>10} {:>12} {:>7}", "rows", "postings", "microseconds", "recall");
    for rows in [10_000, 100_000, 1_000_000] {
        let counts = draw(rows + QUERIES, 1);
        let learnt: Vec<usize> = (0..rows).collect();
        let asked: Vec<usize> = (rows..rows + QUERIES).collect();
        let idf = Idf::fit(&counts.select(&learnt));
        let index = InvertedIndex::new(&idf.apply(&counts.select(&learnt), TermWeight::Sublinear));
        let queries = idf.apply(&counts.select(&asked), TermWeight::Sublinear);
        let (exact, time) = timed(|query| index.nearest(queries.row(query), NEIGHBOURS));
        println!("{rows:>9} {:>10} {:>12} {:>7}", "all", time.as_micros(), 1);
        for postings in [1_000, 4_000, 16_000] {
            let (found, time) =
                timed(|query| index.nearest_bounded(queries.row(query), NEIGHBOURS, postings));
            let near = exact.iter().zip(&found).map(|(exact, found)| {
                let furthest = exact[NEIGHBOURS - 1].similarity;
                found.iter().filter(|neighbour| neighbour.similarity >= furthest).count()
            });
            let recall = near.sum::<usize>() as f64 / (QUERIES * NEIGHBOURS) as f64;
            println!("{rows:>9} {postings:>10} {:>12} {recall:>7.3}", time.as_micros());
        }
    }
}

/// The results of all queries, and the median time of one.
fn timed<R>(ask: impl Fn(usize) -> R) -> (Vec<R>, Duration) {
    let (results, mut times): (Vec<R>, Vec<Duration>) = (0..QUERIES)
        .map(|query| {
            let start = Instant::now();
            (ask(query), start.elapsed())
        })
        .unzip();
    times.sort_unstable();
    (results, times[QUERIES / 2])
}

fn draw(rows: usize, seed: u64) -> SparseMatrix {
    let mut random = StdRng::seed_from_u64(seed);
    // Exponentials of uniform numbers: the n-th column in about a share 1/n of the draws.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a column")]
    let column = |random: &mut StdRng| (f64::from(COLUMNS).powf(random.random()) as u32).min(COLUMNS - 1);
    let families: Vec<Vec<u32>> = (0..rows / 8)
        .map(|_| (0..random.random_range(10..40)).map(|_| column(&mut random)).collect())
        .collect();
    let mut counts = SparseMatrix::new(COLUMNS as usize);
    for _ in 0..rows {
        let mut columns = families[random.random_range(0..families.len())].clone();
        for place in &mut columns {
            if random.random_bool(0.3) {
                *place = column(&mut random);
            }
        }
        columns.sort_unstable();
        counts.push(columns.chunk_by(u32::eq).map(|alike| (alike[0], alike.len() as f32)));
    }
    counts
}
