//! Judges made-up failures and prints what becomes of them: `simulate [COUNT] [SEED]`.

use std::collections::BTreeMap;

use flakewise_model::{Blame, FlakyKind};
use flakewise_triage::simulate::{Assumptions, Cause, Judged, simulate};

fn is_broken(one: &Judged) -> bool {
    matches!(one.cause, Cause::Regression | Cause::NewFlake(_))
}

#[expect(clippy::print_stdout, reason = "an example prints")]
fn main() {
    let mut arguments = std::env::args().skip(1);
    let count = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(100_000);
    let seed = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(20_261_116);
    let assumed = Assumptions::default();
    let judged = simulate(count, seed, assumed);
    println!("failures\t{count}\nseed\t{seed}");
    let (broken, always): (Vec<_>, Vec<_>) = (
        judged.iter().filter(|one| is_broken(one)).collect(),
        judged.iter().filter(|one| one.cause == Cause::Regression).collect(),
    );
    println!("regressions\t{}\t{} of them always fail", broken.len(), always.len());
    for (policy, name) in ["known", "flaky"].iter().enumerate() {
        let green: Vec<_> = broken.iter().filter(|one| one.refusals[policy].is_none()).collect();
        println!(
            "green regressions, {name}\t{}\t1 in {:.0}",
            green.len(),
            broken.len() as f64 / green.len() as f64
        );
        let flakes =
            judged.iter().filter(|one| matches!(one.cause, Cause::Flake(_)) && one.blame.is_proved_flaky());
        let with: Vec<_> = flakes.filter(|one| one.has_history).collect();
        let red = with.iter().filter(|one| one.refusals[policy].is_some()).count();
        println!(
            "old flakes with history that stay red, {name}\t{red} of {}\t{:.1} %",
            with.len(),
            100.0 * red as f64 / with.len() as f64
        );
        let mut why: BTreeMap<&str, usize> = BTreeMap::new();
        for refusal in with.iter().filter_map(|one| one.refusals[policy]) {
            *why.entry(refusal.name()).or_default() += 1;
        }
        println!("  because\t{why:?}");
    }
    // Which assumption drives the green regressions.
    for (name, assumed) in [
        ("no regression looks like an old flake", Assumptions { same_look: 0.0, ..assumed }),
        ("every regression is seen to depend on the change", Assumptions { unseen: 0.0, ..assumed }),
        ("both", Assumptions { same_look: 0.0, unseen: 0.0 }),
    ] {
        let judged = simulate(count, seed, assumed);
        let green = |policy: usize| {
            judged.iter().filter(|one| is_broken(one) && one.refusals[policy].is_none()).count()
        };
        println!("green regressions if {name}\tknown {}\tflaky {}", green(0), green(1));
    }
    let flakes = judged.iter().filter_map(|one| match (one.cause, &one.blame) {
        (Cause::Flake(truth) | Cause::NewFlake(truth), Blame::Flaky(said)) => Some((truth, *said, one)),
        _ => None,
    });
    let flakes: Vec<_> = flakes.collect();
    let named: Vec<_> = flakes.iter().filter(|(_, said, _)| *said != FlakyKind::Undecided).collect();
    let wrong = named.iter().filter(|(truth, said, _)| truth != said).count();
    println!("kinds named\t{} of {} proved flakes", named.len(), flakes.len());
    println!("kinds wrong\t{wrong}\t{:.2} %", 100.0 * wrong as f64 / named.len() as f64);
    let mut confusion: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (truth, said, _) in &flakes {
        *confusion.entry((truth.name(), said.name())).or_default() += 1;
    }
    for ((truth, said), count) in confusion {
        println!("  {truth}\t{said}\t{count}");
    }
    let runs: u64 = judged.iter().map(|one| u64::from(one.runs)).sum();
    println!("reruns for each failure\t{:.1}", runs as f64 / f64::from(count));
    let decided: Vec<_> = judged.iter().filter(|one| !one.blame.is_proved_flaky()).collect();
    let truths: [fn(&Judged) -> bool; 3] = [
        |one| matches!(one.cause, Cause::Flake(_)),
        |one| matches!(one.cause, Cause::Regression | Cause::NewFlake(_)),
        |one| one.cause == Cause::Environment,
    ];
    for (place, name) in ["flaky", "regression", "environment"].iter().enumerate() {
        let pairs = decided.iter().map(|one| (one.stated[place], truths[place](one)));
        calibration(&format!("P({name})"), pairs);
    }
    let kinds = named.iter().map(|(truth, said, one)| (one.kind.unwrap_or_default(), truth == said));
    calibration("P(kind)", kinds);
}

#[expect(clippy::print_stdout, reason = "an example prints")]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of ten bins")]
fn calibration(name: &str, pairs: impl Iterator<Item = (f64, bool)>) {
    let mut bins = [(0_u64, 0.0, 0_u64); 10];
    for (stated, holds) in pairs {
        let bin = &mut bins[((stated * 10.0) as usize).min(9)];
        *bin = (bin.0 + 1, bin.1 + stated, bin.2 + u64::from(holds));
    }
    println!("calibration\t{name}\tstated\tobserved\tfailures");
    for (count, stated, holds) in bins.into_iter().filter(|(count, ..)| *count >= 50) {
        let (stated, observed) = (stated / count as f64, holds as f64 / count as f64);
        println!("  {name}\t{stated:.3}\t{observed:.3}\t{count}");
    }
}
