//! Our side of `bench/replay`: hunts on the recorded runs of a data set.
//!
//!     replay DATA [--risks FILE] [--seeds COUNT] [--plot FILE] [--protocol NAME] [--clean SHARE] [--short] [--front]
//!
//! Risks are those of our blend for tests that were held out, by class and by
//! project. They take long: `--risks` keeps them in a file and takes them from
//! there. `--front` hunts nothing: it only tries CANNIER's thresholds, and plots
//! what there is to pick from. `--clean` hunts with another share of projects without flaky tests
//! than that of the data, in which all have some. `--short` holds nothing to the goals but that the planner never needs
//! more runs than RERUN of everything.

use std::collections::HashMap;
use std::error::Error;
use std::io::Write as _;
use std::path::Path;

use flakewise_eval::{
    Corpus, Dataset, Front, Protocol, Replay, ReplayResult, ReplayTest, blend_model, found_over_budget,
    fronts_over_cost, share_of,
};
use flakewise_hunt::Known;
use rayon::prelude::*;

const SHARES: [f64; 4] = [0.5, 0.8, 0.9, 0.95];
const PROTOCOLS: [(Protocol, &str, [f64; 4]); 2] = [
    (Protocol::Project, "the project was never seen", [1.0, 8.0, 1.0, 4.0]),
    (Protocol::Class, "other classes of the project are known", [1.0, 12.0, 1.0, 7.0]),
];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| {
        arguments.iter().position(|argument| argument == name).and_then(|place| arguments.get(place + 1))
    };
    let short = arguments.iter().any(|argument| argument == "--short");
    let data = Path::new(arguments.first().ok_or("usage: replay DATA")?);
    let seeds: u64 = option("--seeds").map_or(Ok(20), |seeds| seeds.parse())?;
    let risks = risks(data, option("--risks").map(Path::new))?;
    let dataset = Dataset::read(data)?;
    let mut out = std::io::stdout().lock();
    if arguments.iter().any(|argument| argument == "--front") {
        return front(&mut out, &dataset, &risks, option("--plot").map(Path::new));
    }
    let mut curves: Vec<(String, Vec<f64>)> = Vec::new();
    let (mut amiss, mut flaky) = (0, 0);
    for (number, (protocol, title, goals)) in PROTOCOLS.into_iter().enumerate() {
        if option("--protocol").is_some_and(|name| name != protocol.name()) {
            continue;
        }
        let tests = tests(&dataset, &risks[number]);
        let mut replay = Replay::new(tests);
        if let Some(clean) = option("--clean") {
            replay.suppose_clean(clean.parse()?);
        }
        flaky = replay.flaky();
        writeln!(out, "\nrisks where {title}: {} tests, {flaky} flaky, {seeds} worlds", risks[number].len())?;
        let result = replay.run(seeds, SHARES[3]);
        amiss += table(&mut out, &result, flaky, goals, short)?;
        writeln!(
            out,
            "nothing shows in 20 runs of each test though two or more are flaky: {:.1} % of projects, {:.1} % if \
             only those count that fail in 1 % of runs or more",
            100.0 * replay.quiet(20, 0.0),
            100.0 * replay.quiet(20, 0.01)
        )?;
        for most in [2_500, 10_000] {
            let (front, knee) = replay.cannier(most);
            if let (Some(knee), Some(whole)) = (knee, front.last()) {
                writeln!(
                    out,
                    "CANNIER's knee of {most} runs: thresholds {:.2} and {:.2}, {:.1} % of RERUN's cost saved, MCC {:.3}",
                    knee.thresholds.lower,
                    knee.thresholds.upper,
                    100.0 * (1.0 - knee.cost / whole.cost),
                    knee.correlation
                )?;
            }
        }
        writeln!(out, "prior for the first project: {:.3?}", replay.priors()[0])?;
        if curves.is_empty() {
            curves.push(("RERUN of everything".to_owned(), result.uniform));
        }
        curves.push((format!("CANNIER, {}", protocol.name()), result.cannier));
        curves.push((format!("planner, {}", protocol.name()), result.planner));
        out.flush()?;
    }
    if let Some(file) = option("--plot") {
        let lines: Vec<(&str, &[f64])> = curves.iter().map(|(name, curve)| (&name[..], &curve[..])).collect();
        std::fs::write(file, found_over_budget(&lines, flaky))?;
    }
    if amiss > 0 { Err(format!("{amiss} amiss").into()) } else { Ok(()) }
}

fn front(
    out: &mut impl std::io::Write,
    dataset: &Dataset,
    risks: &[Vec<f64>],
    plot: Option<&Path>,
) -> Result<(), Box<dyn Error>> {
    let mut fronts = Vec::new();
    for ((_, title, _), risks) in PROTOCOLS.into_iter().zip(risks) {
        let front = Front::new(&tests(dataset, risks)).ok_or("there is no test")?;
        writeln!(out, "\nrisks where {title}: {} choices, some of them\n{front}", front.choices.len())?;
        fronts.push((format!("Risks where {title}"), front));
    }
    if let Some(plot) = plot {
        let panels: Vec<(&str, &Front)> = fronts.iter().map(|(title, front)| (&title[..], front)).collect();
        std::fs::write(plot, fronts_over_cost(&panels))?;
    }
    Ok(())
}

fn table(
    out: &mut impl std::io::Write,
    result: &ReplayResult,
    flaky: usize,
    goals: [f64; 4],
    short: bool,
) -> Result<usize, Box<dyn Error>> {
    let mut amiss = 0;
    writeln!(out, "{:8} {:>10} {:>10} {:>10} {:>8}", "found", "RERUN", "CANNIER", "planner", "fewer")?;
    for (share, goal) in SHARES.into_iter().zip(goals) {
        let place = share_of(flaky, share).max(1) - 1;
        let text = |curve: &[f64]| curve.get(place).map_or("-".to_owned(), |suites| format!("{suites:.1}"));
        let fewer = result.uniform[place] / result.planner[place];
        let wrong = !short && fewer < goal;
        amiss += usize::from(wrong);
        writeln!(
            out,
            "{:6.0} % {:>10} {:>10} {:>10} {fewer:7.1}x{}",
            100.0 * share,
            text(&result.uniform),
            text(&result.cannier),
            text(&result.planner),
            if wrong { format!(" (goal {goal}) AMISS") } else { String::new() }
        )?;
    }
    let ratios = result.uniform.iter().zip(&result.planner).map(|(uniform, planner)| uniform / planner);
    let least = ratios.fold(f64::INFINITY, f64::min);
    let wrong = least < 1.0;
    amiss += usize::from(wrong);
    writeln!(
        out,
        "anywhere on the curve at least {least:.2}x fewer{}",
        if wrong { " (goal 1) AMISS" } else { "" }
    )?;
    for (name, covered) in [
        ("projects", &result.coverage),
        ("projects, of tests that fail in 1 % of runs or more", &result.coverage_of_often),
        ("all together", &result.coverage_of_all),
    ] {
        let (held, asked) = covered.iter().fold((0, 0), |sum, one| (sum.0 + one.1, sum.1 + one.2));
        let share = f64::from(held) / f64::from(asked.max(1));
        let wrong = !short && name == "projects" && !(0.85..=0.95).contains(&share);
        amiss += usize::from(wrong);
        write!(out, "hidden count of {name}: within its interval in {:.1} %", 100.0 * share)?;
        for (stop, held, asked) in covered {
            write!(out, ", {:.0} at {stop}", 100.0 * f64::from(*held) / f64::from(*asked))?;
        }
        writeln!(out, "{}", if wrong { " (goal 90 ± 5) AMISS" } else { "" })?;
    }
    Ok(amiss)
}

/// Risks by protocol, in the order of the data.
fn risks(data: &Path, kept: Option<&Path>) -> Result<Vec<Vec<f64>>, Box<dyn Error>> {
    if let Some(kept) = kept.filter(|kept| kept.is_file()) {
        return Ok(serde_json::from_str(&std::fs::read_to_string(kept)?)?);
    }
    let corpus = Corpus::new(Dataset::read(data)?, 1);
    let model = blend_model();
    let all: Vec<Vec<f64>> = PROTOCOLS
        .iter()
        .map(|&(protocol, ..)| {
            let parts: Vec<Vec<(usize, f64)>> = corpus
                .folds(protocol, 10)
                .par_iter()
                .map(|fold| {
                    let said = (model.run)(&corpus, fold, protocol).swap_remove(0);
                    fold.test.iter().copied().zip(said.probabilities).collect()
                })
                .collect();
            let mut risks = vec![0.0; corpus.labels.len()];
            for (row, risk) in parts.into_iter().flatten() {
                risks[row] = risk;
            }
            risks
        })
        .collect();
    if let Some(kept) = kept {
        std::fs::write(kept, serde_json::to_string(&all)?)?;
    }
    Ok(all)
}

fn tests(dataset: &Dataset, risks: &[f64]) -> Vec<ReplayTest> {
    let mut numbers: HashMap<String, u32> = HashMap::new();
    let mut projects: HashMap<&str, u32> = HashMap::new();
    let mut number = |name: String| {
        let next = u32::try_from(numbers.len()).expect("few names");
        *numbers.entry(name).or_insert(next)
    };
    let count = |runs: Option<u64>| runs.and_then(|runs| u32::try_from(runs).ok()).unwrap_or(0);
    dataset
        .records
        .iter()
        .zip(risks)
        .map(|(record, &risk)| {
            let next = u32::try_from(projects.len()).expect("few projects");
            ReplayTest {
                project: *projects.entry(&record.project).or_insert(next),
                known: Known {
                    risk,
                    class: number(format!("{}/{}", record.project, record.class)),
                    module: number(format!("{}/{}/", record.project, record.package())),
                    passed: count(record.passing_runs),
                    failed: count(record.failing_runs),
                },
            }
        })
        .collect()
}
