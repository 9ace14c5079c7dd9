//! Our side of `bench/pairs`: how many true pairs of polluter and victim two
//! models keep, and at what cost.
//!
//!     pairs [--seeds SEEDS] NAME PAIRS FEATURES [NAME PAIRS FEATURES]...
//!
//! PAIRS is what `flakewise debug pairs` prints of a suite, FEATURES what
//! `flakewise hunt --features` writes of it. A test's probabilities come from
//! tests of the other folds of its suite, as in the paper, and from the other
//! suites alone. Also asks without models, learning from the answers. Prints JSON.

mod hubs;

use std::collections::{HashMap, HashSet};
use std::error::Error;
use std::io::Write as _;

use flakewise_hunt::Pair;
use flakewise_hunt::cannier::{
    PairPoint, PairSubject, first_culprits, pairs_front, pairs_knee, pairwise_cost, sweep_pairs,
};
use flakewise_learn::{DenseMatrix, Forest, ForestOptions, roc_auc, smote, stratified_folds};
use hubs::PairPlanner;
use serde_json::{Value, json};

const FOLDS: usize = 10;
const NEIGHBOURS: usize = 5;
/// A run in which everything is measured, in plain runs (`bench/features`).
const MEASURED_RUN: f64 = 2.0;
/// The knee of the paper's thirty projects: thresholds, true pairs kept and cost.
const PAPER_POLLUTER: f64 = 0.09;
const PAPER_VICTIM: f64 = 0.06;
const PAPER_KEPT: f64 = 0.94;
const PAPER_COST: f64 = 0.08;
/// Pairs between two looks at what was found.
const ASKED_AT_ONCE: usize = 40;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut seeds = 5;
    if arguments.first().is_some_and(|argument| argument == "--seeds") {
        seeds = arguments.get(1).ok_or("--seeds wants a number")?.parse()?;
        arguments.drain(..2);
    }
    if arguments.is_empty() || !arguments.len().is_multiple_of(3) {
        return Err("usage: pairs [--seeds SEEDS] NAME PAIRS FEATURES [NAME PAIRS FEATURES]...".into());
    }
    let suites = arguments
        .chunks(3)
        .map(|words| Suite::read(&words[0], &words[1], &words[2]))
        .collect::<Result<Vec<_>, _>>()?;
    let mut told = Vec::new();
    for (place, suite) in suites.iter().enumerate() {
        let within = [&suite.pollutes, &suite.is_victim].map(|labels| held_out(&suite.table, labels, seeds));
        let mut ways = vec![suite.judged("other folds", &within)];
        let others: Vec<&Suite> =
            suites.iter().enumerate().filter(|(other, _)| *other != place).map(|(_, other)| other).collect();
        if !others.is_empty() {
            let across = [true, false].map(|polluters| from_others(&others, suite, polluters, seeds));
            ways.push(suite.judged("other suites", &across));
        }
        told.push(suite.told(&ways, seeds));
    }
    writeln!(std::io::stdout(), "{}", json!({ "suites": told }))?;
    Ok(())
}

/// A suite of which all pairs were run. Tests that did not end alike whenever they
/// ran alone are in no pair, and left out.
struct Suite {
    name: String,
    table: DenseMatrix,
    seconds: Vec<f64>,
    pairs: Vec<Pair>,
    pollutes: Vec<bool>,
    is_victim: Vec<bool>,
}

impl Suite {
    fn read(name: &str, pairs: &str, features: &str) -> Result<Self, Box<dyn Error>> {
        let measured = measured(features)?;
        let said: Value = serde_json::from_slice(&std::fs::read(pairs)?)?;
        let tests = said["tests"].as_array().ok_or("no tests")?;
        let (mut rows, mut seconds, mut places) = (Vec::new(), Vec::new(), HashMap::new());
        for (place, test) in tests.iter().enumerate() {
            if test["passed_alone"] != 0 && test["failed_alone"] != 0 {
                continue;
            }
            places.insert(place, rows.len());
            let test_name = test["name"].as_str().ok_or("a test without a name")?;
            let row = measured.get(test_name).ok_or_else(|| format!("{test_name} was not measured"))?;
            rows.push(&row[..]);
            seconds.push(test["seconds"].as_f64().ok_or("a test without a time")?);
        }
        let mut table = DenseMatrix::new(rows.first().map_or(0, |row| row.len()));
        for row in &rows {
            table.push(row);
        }
        let said: Vec<(usize, usize)> = serde_json::from_value(said["pairs"].clone())?;
        let pairs: Vec<Pair> = said
            .into_iter()
            .map(|(first, second)| Pair { first: places[&first], second: places[&second] })
            .collect();
        let (mut pollutes, mut is_victim) = (vec![false; rows.len()], vec![false; rows.len()]);
        for pair in &pairs {
            pollutes[pair.first] = true;
            is_victim[pair.second] = true;
        }
        Ok(Self { name: name.to_owned(), table, seconds, pairs, pollutes, is_victim })
    }

    /// What the probabilities that tests are polluters and victims are worth.
    fn judged(&self, way: &str, [polluters, victims]: &[Vec<f64>; 2]) -> Value {
        let subjects: Vec<PairSubject> = (0..self.seconds.len())
            .map(|test| PairSubject {
                polluter: polluters[test],
                victim: victims[test],
                cost: self.seconds[test],
            })
            .collect();
        let points = sweep_pairs(&subjects, &self.pairs, self.features_cost());
        let front = pairs_front(&points);
        let near = |one: f64, other: f64| (one - other).abs() < 1e-9;
        let first = first_culprits(&subjects, &self.pairs);
        let ranks = |rank: fn(&flakewise_hunt::cannier::FirstCulprit) -> f64| {
            median(first.iter().map(rank).collect())
        };
        json!({
            "way": way,
            "auc_polluters": roc_auc(polluters, &self.pollutes),
            "auc_victims": roc_auc(victims, &self.is_victim),
            "knee": pairs_knee(&front).map(told_point),
            "paper": points.iter().copied()
                .find(|point| near(point.polluter, PAPER_POLLUTER) && near(point.victim, PAPER_VICTIM))
                .map(told_point),
            "most_at_cost": front.iter().copied().rfind(|point| point.cost <= PAPER_COST).map(told_point),
            "least_for_kept": front.iter().copied().find(|point| point.kept >= PAPER_KEPT).map(told_point),
            "first": { "median_rank": ranks(|first| first.rank), "by_chance": ranks(|first| first.by_chance),
                "own_median_rank": ranks(|first| first.own_rank), "own_by_chance": ranks(|first| first.own_by_chance) },
        })
    }

    fn told(&self, ways: &[Value], seeds: u64) -> Value {
        let count = |labels: &[bool]| labels.iter().filter(|&&label| label).count();
        let costs = |labels: &[bool]| -> Vec<f64> {
            self.seconds
                .iter()
                .zip(labels)
                .filter(|(_, label)| **label)
                .map(|(seconds, _)| *seconds)
                .collect()
        };
        // What models that make no mistake leave.
        let left = pairwise_cost(&costs(&self.pollutes), &costs(&self.is_victim)) + self.features_cost();
        json!({
            "name": self.name, "tests": self.seconds.len(), "pairs": self.pairs.len(),
            "polluters": count(&self.pollutes), "victims": count(&self.is_victim),
            "perfect_cost": left / pairwise_cost(&self.seconds, &self.seconds).max(f64::MIN_POSITIVE),
            "ways": ways, "learnt": self.learnt(seeds),
        })
    }

    /// What is found of the true pairs if what was found says what to ask next.
    fn learnt(&self, seeds: u64) -> Value {
        let tests = self.seconds.len();
        let truth: HashSet<(usize, usize)> =
            self.pairs.iter().map(|pair| (pair.first, pair.second)).collect();
        let all = (tests * tests.saturating_sub(1)).max(1) as f64;
        let (mut found_at_cost, mut cost_of_kept) = (Vec::new(), Vec::new());
        for seed in 0..seeds {
            let mut planner = PairPlanner::new(tests, seed);
            let (mut asked, mut found, mut at_cost, mut of_kept) = (0, 0, 0.0, 1.0);
            loop {
                let pairs = planner.next(ASKED_AT_ONCE);
                if pairs.is_empty() {
                    break;
                }
                asked += pairs.len();
                for pair in pairs {
                    if truth.contains(&(pair.first, pair.second)) {
                        planner.is_true(pair);
                        found += 1;
                    }
                }
                let share = f64::from(found) / self.pairs.len().max(1) as f64;
                if asked as f64 / all <= PAPER_COST {
                    at_cost = share;
                }
                if share >= PAPER_KEPT {
                    of_kept = asked as f64 / all;
                    break;
                }
            }
            found_at_cost.push(at_cost);
            cost_of_kept.push(of_kept);
        }
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        json!({ "found_at_cost": mean(&found_at_cost), "cost_of_kept": mean(&cost_of_kept) })
    }

    fn features_cost(&self) -> f64 {
        MEASURED_RUN * self.seconds.iter().sum::<f64>()
    }
}

fn told_point(point: PairPoint) -> Value {
    json!({ "polluter": point.polluter, "victim": point.victim, "kept": point.kept, "cost": point.cost, "asked": point.asked })
}

/// The features of each test, by the name its runner has for it.
#[expect(clippy::cast_possible_truncation, reason = "trees do not need more")]
fn measured(path: &str) -> Result<HashMap<String, Vec<f32>>, Box<dyn Error>> {
    let mut tests = HashMap::new();
    for line in std::fs::read_to_string(path)?.lines() {
        let said: Value = serde_json::from_str(line)?;
        let test = said["test"].as_str().ok_or("features without a test")?;
        let name = test.split_once(':').map_or(test, |(_, name)| name);
        let values = said["features"].as_object().ok_or("a test without features")?.values();
        tests.insert(
            name.to_owned(),
            values.map(|value| value.as_f64().map_or(f32::NAN, |value| value as f32)).collect(),
        );
    }
    Ok(tests)
}

/// Of each test, by models that were taught the other folds.
fn held_out(table: &DenseMatrix, labels: &[bool], seeds: u64) -> Vec<f64> {
    let mut sums = vec![0.0; labels.len()];
    for seed in 0..seeds {
        for (number, fold) in (0..).zip(stratified_folds(labels, FOLDS, seed)) {
            let known: Vec<bool> = fold.train.iter().map(|&row| labels[row]).collect();
            let said =
                taught(&table.select(&fold.train), &known, &table.select(&fold.test), seed * 100 + number);
            fold.test.iter().zip(said).for_each(|(&row, said)| sums[row] += said / seeds as f64);
        }
    }
    sums
}

/// Of each test, by models that were taught other suites.
fn from_others(others: &[&Suite], suite: &Suite, polluters: bool, seeds: u64) -> Vec<f64> {
    let mut table = DenseMatrix::new(suite.table.columns());
    let mut labels = Vec::new();
    for other in others {
        (0..other.table.rows()).for_each(|row| table.push(other.table.row(row)));
        labels.extend(if polluters { &other.pollutes } else { &other.is_victim });
    }
    let mut sums = vec![0.0; suite.table.rows()];
    for seed in 0..seeds {
        let said = taught(&table, &labels, &suite.table, seed);
        sums.iter_mut().zip(said).for_each(|(sum, said)| *sum += said / seeds as f64);
    }
    sums
}

/// What extra trees say of some rows, taught others that SMOTE evened out. It
/// takes fewer neighbours where there are fewer, and copies a single row.
fn taught(table: &DenseMatrix, labels: &[bool], asked: &DenseMatrix, seed: u64) -> Vec<f64> {
    let labels: Vec<u32> = labels.iter().map(|&label| u32::from(label)).collect();
    let (table, labels) = smote(table, &labels, NEIGHBOURS, seed);
    let labels: Vec<bool> = labels.iter().map(|&label| label == 1).collect();
    let forest = Forest::fit(&table, &labels, None, &ForestOptions { seed, ..ForestOptions::extra_trees() });
    forest.probability_all(asked).into_iter().map(f64::from).collect()
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
