//! When a test began to fail more or less often, and which commits may have
//! brought it.
//!
//! Pure: no I/O, no clock. The commits of one branch are a sequence, each with
//! the first attempts of the test on it and how many of them failed. The
//! sequence is cut into stretches of one failure rate each, `p ~ Beta(½, ½)`, so
//! that the product of their marginal likelihoods is largest:
//!
//! `B(½ + failures, ½ + passes) / B(½, ½)`
//!
//! Every cut must make that product larger by a factor of 1,000 times the number
//! of commits. Of a sequence without a change, the expected factor at any
//! one place is 1, so by Markov's inequality at most one such sequence in 1,000
//! is cut anywhere. `bench/changes` counts how many are.
//!
//! *Where.* Between its neighbours, a change has a posterior probability of being
//! at each commit; the commits named are those between its 1 % and 99 % points.
//!
//! *Few commits prove nothing.* Attempts on one commit are not independent: a
//! broken commit fails them all. So the stretch that fails more often must have
//! failures on at least [`FAILING_COMMITS`] commits.

use std::sync::LazyLock;

use flakewise_model::{Commit, FlakeRate, RateChange, Timestamp};
use hashbrown::HashMap;
use libm::lgamma;

use crate::flaky::RevisionTally;

/// What a cut must gain for each commit, as a logarithm: ln 1000.
const FACTOR: f64 = 6.907_755_278_982_137;
/// The stretch that fails more often has failures on this many commits.
const FAILING_COMMITS: usize = 3;
/// How much of the posterior is left out on either side.
const TAIL: f64 = 0.01;
/// The newest commits of a branch; what was before is not looked at.
const MOST_COMMITS: usize = 5_000;
/// Places at which a cut is tried. Finding the best cuts takes the square of it.
const MOST_PLACES: usize = 600;

/// The test on one commit.
struct Step<'a> {
    commit: &'a str,
    first: Timestamp,
    rate: FlakeRate,
}

/// The test on the commits of one branch.
#[derive(Default)]
struct Branch<'a> {
    name: Option<&'a str>,
    steps: Vec<Step<'a>>,
    /// Their places in `steps`.
    commits: HashMap<&'a str, usize>,
}

impl<'a> Branch<'a> {
    fn add(&mut self, commit: &'a str, tally: &RevisionTally<'_>) {
        let place = *self.commits.entry(commit).or_insert(self.steps.len());
        if place == self.steps.len() {
            self.steps.push(Step { commit, first: tally.first, rate: FlakeRate::default() });
        }
        let step = &mut self.steps[place];
        step.first = step.first.min(tally.first);
        step.rate.failures += tally.first_attempts.failures;
        step.rate.attempts += tally.first_attempts.attempts;
    }
}

/// The changes of a test's failure rate, the oldest first, on the branch with the
/// most commits. Attempts whose commit does not say which code ran do not count.
pub fn rate_changes(tallies: &[RevisionTally<'_>]) -> Vec<RateChange> {
    let Some((branch, steps)) = longest_branch(tallies) else { return Vec::new() };
    let sums = Sums::new(&steps);
    let cuts = sums.supported(sums.best_cuts(&places(&steps)));
    let edges: Vec<usize> = [0].into_iter().chain(cuts).chain([steps.len()]).collect();
    let change = |window: &[usize]| {
        let (start, end) = (window[0], window[2]);
        let (low, cut, high) = sums.locate(start, end);
        let commit = |place: usize| Commit { id: steps[place].commit.to_owned(), at: steps[place].first };
        RateChange {
            before: sums.rate(start, cut),
            after: sums.rate(cut, end),
            branch: branch.map(str::to_owned),
            good: commit(low - 1),
            last: commit(high),
            commits: (high - low + 1) as u64,
        }
    };
    edges.windows(3).map(change).collect()
}

/// The commits of the branch that has the most, in the order of their first attempts.
fn longest_branch<'a>(tallies: &[RevisionTally<'a>]) -> Option<(Option<&'a str>, Vec<Step<'a>>)> {
    let mut branches: Vec<Branch<'_>> = Vec::new();
    let mut places = HashMap::new();
    let mut latest = 0;
    for tally in tallies.iter().filter(|tally| !tally.as_base && tally.first_attempts.attempts > 0) {
        let Some(commit) = tally.commit else { continue };
        // Mostly that of the tally before.
        if branches.get(latest).is_none_or(|branch| branch.name != tally.branch) {
            latest = *places.entry(tally.branch).or_insert_with(|| {
                branches.push(Branch { name: tally.branch, ..Branch::default() });
                branches.len() - 1
            });
        }
        branches[latest].add(commit, tally);
    }
    // Of branches of one length the last by name, whatever the order of the tallies.
    let branch = branches.into_iter().max_by_key(|branch| (branch.steps.len(), branch.name))?;
    let (branch, mut steps) = (branch.name, branch.steps);
    steps.sort_by_key(|step| (step.first, step.commit));
    steps.drain(..steps.len().saturating_sub(MOST_COMMITS));
    Some((branch, steps))
}

/// Where the best cuts can be. Moving a cut through commits that all pass makes it
/// better towards one of their ends, so it is next to a commit with a failure.
fn places(steps: &[Step<'_>]) -> Vec<usize> {
    let fails = |place: usize| steps[place].rate.failures > 0;
    let mut places: Vec<usize> = (1..steps.len()).filter(|place| fails(place - 1) || fails(*place)).collect();
    // Of too many, every second or third and so on: `locate` looks at all of them again.
    let every = places.len().div_ceil(MOST_PLACES).max(1);
    places = places.into_iter().step_by(every).collect();
    places.insert(0, 0);
    places.push(steps.len());
    places
}

/// Failures, attempts and failing commits up to each place.
struct Sums {
    failures: Vec<u64>,
    attempts: Vec<u64>,
    failing: Vec<usize>,
}

impl Sums {
    fn new(steps: &[Step<'_>]) -> Self {
        let mut sums = Self { failures: vec![0], attempts: vec![0], failing: vec![0] };
        for (place, step) in steps.iter().enumerate() {
            sums.failures.push(sums.failures[place] + step.rate.failures);
            sums.attempts.push(sums.attempts[place] + step.rate.attempts);
            sums.failing.push(sums.failing[place] + usize::from(step.rate.failures > 0));
        }
        sums
    }

    fn rate(&self, start: usize, end: usize) -> FlakeRate {
        FlakeRate {
            failures: self.failures[end] - self.failures[start],
            attempts: self.attempts[end] - self.attempts[start],
        }
    }

    /// The logarithm of the marginal likelihood of a stretch.
    fn likelihood(&self, start: usize, end: usize) -> f64 {
        let FlakeRate { failures, attempts } = self.rate(start, end);
        // B(½, ½) = π.
        log_gamma_half(failures) + log_gamma_half(attempts - failures)
            - log_gamma_whole(attempts)
            - std::f64::consts::PI.ln()
    }

    /// The cuts that make the sequence most likely, among places that include both ends.
    fn best_cuts(&self, places: &[usize]) -> Vec<usize> {
        let price = FACTOR + (self.failing.len() as f64).ln();
        // For each place, the best value of all before it and the place of the last cut.
        let mut best: Vec<(f64, usize)> = vec![(0.0, 0)];
        for end in 1..places.len() {
            let value = |start: usize| {
                let price = if start == 0 { 0.0 } else { price };
                best[start].0 + self.likelihood(places[start], places[end]) - price
            };
            let all = (0..end).map(|start| (value(start), start));
            best.push(all.max_by(|left, right| left.0.total_cmp(&right.0)).unwrap_or((0.0, 0)));
        }
        let mut cuts = Vec::new();
        let mut place = best[places.len() - 1].1;
        while place > 0 {
            cuts.push(places[place]);
            place = best[place].1;
        }
        cuts.reverse();
        cuts
    }

    /// Without cuts next to a stretch that fails on too few commits to stand out.
    fn supported(&self, mut cuts: Vec<usize>) -> Vec<usize> {
        let end = self.failing.len() - 1;
        loop {
            let edges: Vec<usize> = [0].into_iter().chain(cuts.iter().copied()).chain([end]).collect();
            let weak = edges.windows(3).position(|edges| {
                let share = |start, end| {
                    let FlakeRate { failures, attempts } = self.rate(start, end);
                    failures as f64 / attempts.max(1) as f64
                };
                let after = share(edges[1], edges[2]) > share(edges[0], edges[1]);
                let (start, end) = if after { (edges[1], edges[2]) } else { (edges[0], edges[1]) };
                self.failing[end] - self.failing[start] < FAILING_COMMITS
            });
            let Some(weak) = weak else { return cuts };
            cuts.remove(weak);
        }
    }

    /// Where between two places the change is: the first commit after it, as the least, the
    /// most probable and the greatest that the posterior allows.
    fn locate(&self, start: usize, end: usize) -> (usize, usize, usize) {
        let weights: Vec<f64> =
            (start + 1..end).map(|cut| self.likelihood(start, cut) + self.likelihood(cut, end)).collect();
        let most = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = weights.into_iter().map(|weight| (weight - most).exp()).collect();
        let total: f64 = weights.iter().sum();
        let mut below = 0.0;
        let (mut low, mut best, mut high) = (None, 0, weights.len() - 1);
        for (place, weight) in weights.iter().enumerate() {
            below += weight / total;
            if low.is_none() && below > TAIL {
                low = Some(place);
            }
            if *weight > weights[best] {
                best = place;
            }
            if below >= 1.0 - TAIL {
                high = place;
                break;
            }
        }
        let first = start + 1;
        (first + low.unwrap_or(0), first + best, first + high)
    }
}

/// Reports take logarithms of the gamma function millions of times, of these arguments mostly.
const TABULATED: u32 = 1 << 15;
/// Of n + ½, and of n + 1.
static HALVES: LazyLock<Vec<f64>> =
    LazyLock::new(|| (0..TABULATED).map(|n| log_gamma(f64::from(n) + 0.5)).collect());
static WHOLES: LazyLock<Vec<f64>> =
    LazyLock::new(|| (0..TABULATED).map(|n| log_gamma(f64::from(n) + 1.0)).collect());

/// The logarithm of Γ(n + ½).
fn log_gamma_half(n: u64) -> f64 {
    let known = usize::try_from(n).ok().and_then(|n| HALVES.get(n));
    known.copied().unwrap_or_else(|| log_gamma(n as f64 + 0.5))
}

/// The logarithm of Γ(n + 1).
fn log_gamma_whole(n: u64) -> f64 {
    let known = usize::try_from(n).ok().and_then(|n| WHOLES.get(n));
    known.copied().unwrap_or_else(|| log_gamma(n as f64 + 1.0))
}

/// The logarithm of the gamma function, by Stirling's series where that is exact to ten
/// digits.
fn log_gamma(x: f64) -> f64 {
    const HALF_LOG_TAU: f64 = 0.918_938_533_204_672_7;
    if x < 16.0 {
        return lgamma(x);
    }
    let inverse = 1.0 / x;
    let square = inverse * inverse;
    (x - 0.5) * x.ln() - x
        + HALF_LOG_TAU
        + inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Commits on one branch: how many of four first attempts failed on each.
    fn history(failures: &[u64]) -> Vec<RevisionTally<'static>> {
        let at = |place: usize| {
            let seconds = i64::try_from(60 * place).unwrap_or(0);
            Timestamp::from_timestamp(1_700_000_000 + seconds, 0).unwrap_or_default()
        };
        let tally = |(place, failed): (usize, &u64)| RevisionTally {
            variant: "",
            branch: Some("main"),
            commit: Some(format!("c{place}").leak()),
            run: None,
            passed: 4 - failed,
            failed: [(None, *failed)].into(),
            first_attempts: FlakeRate { failures: *failed, attempts: 4 },
            first: at(place),
            last: at(place),
            as_base: false,
        };
        failures.iter().enumerate().map(tally).collect()
    }

    fn repeated(parts: &[(&[u64], usize)]) -> Vec<u64> {
        parts.iter().flat_map(|(part, times)| part.repeat(*times)).collect()
    }

    #[test]
    fn a_rise_is_found_with_the_commits_around_it() {
        let changes = rate_changes(&history(&repeated(&[(&[0], 100), (&[1, 0, 2], 10)])));
        let [change] = changes.as_slice() else { panic!("one change: {changes:?}") };
        assert!(change.is_rise());
        assert_eq!(change.before, FlakeRate { failures: 0, attempts: 400 });
        assert_eq!(change.after, FlakeRate { failures: 30, attempts: 120 });
        let place = |commit: &Commit| commit.id[1..].parse::<usize>().expect("a number");
        assert!((place(&change.good) + 1..=place(&change.last)).contains(&100), "{change:?}");
        assert!(change.commits < 20, "{change:?}");
    }

    #[test]
    fn a_block_of_failures_is_a_rise_and_a_fall() {
        let changes = rate_changes(&history(&repeated(&[(&[0], 60), (&[4], 5), (&[0], 60)])));
        assert_eq!(changes.iter().map(RateChange::is_rise).collect::<Vec<_>>(), [true, false]);
        assert_eq!((changes[0].good.id.as_str(), changes[0].last.id.as_str()), ("c59", "c60"));
        assert_eq!((changes[1].good.id.as_str(), changes[1].last.id.as_str()), ("c64", "c65"));
    }

    #[test]
    fn two_broken_commits_are_no_change_of_the_rate() {
        let changes = rate_changes(&history(&repeated(&[(&[0], 200), (&[4], 2), (&[0], 200)])));
        assert_eq!(changes, []);
    }

    #[test]
    fn a_constant_rate_has_no_change() {
        assert_eq!(rate_changes(&history(&repeated(&[(&[0, 0, 1, 0, 0, 0, 0, 1], 50)]))), []);
        assert_eq!(rate_changes(&history(&[])), []);
        assert_eq!(rate_changes(&history(&[4])), []);
    }

    #[test]
    fn other_branches_and_bases_do_not_count() {
        let mut tallies = history(&repeated(&[(&[0], 60), (&[4], 20)]));
        for tally in &mut tallies[60..] {
            tally.branch = Some("feature");
        }
        assert_eq!(rate_changes(&tallies), []);
        for tally in &mut tallies[60..] {
            (tally.branch, tally.as_base) = (Some("main"), true);
        }
        assert_eq!(rate_changes(&tallies), []);
    }

    proptest! {
        #[test]
        fn stirlings_series_is_exact_enough(x in 0.5_f64..1e7) {
            let exact = lgamma(x);
            prop_assert!((log_gamma(x) - exact).abs() <= 1e-10 * exact.abs().max(1.0));
        }

        /// Fewer places give no other answer than all of them.
        #[test]
        fn cuts_are_next_to_failures(parts in prop::collection::vec((0_u64..5, 1_usize..30), 1..6)) {
            let failures: Vec<u64> = parts.iter().flat_map(|(rate, length)| {
                (0..*length as u64).map(move |place| (rate * (place + 1) / 3).saturating_sub(rate * place / 3).min(4))
            }).collect();
            let tallies = history(&failures);
            let (_, steps) = longest_branch(&tallies).expect("commits");
            let sums = Sums::new(&steps);
            let all: Vec<usize> = (0..=steps.len()).collect();
            let value = |cuts: &[usize]| {
                let edges: Vec<usize> = [0].into_iter().chain(cuts.iter().copied()).chain([steps.len()]).collect();
                edges.windows(2).map(|edges| sums.likelihood(edges[0], edges[1])).sum::<f64>()
            };
            let (few, all) = (sums.best_cuts(&places(&steps)), sums.best_cuts(&all));
            prop_assert_eq!(few.len(), all.len());
            prop_assert!((value(&few) - value(&all)).abs() < 1e-6);
        }

        #[test]
        fn the_order_of_rows_does_not_matter(failures in prop::collection::vec(0_u64..5, 0..80), seed: u64) {
            let tallies = history(&failures);
            let mut shuffled = tallies.clone();
            shuffled.sort_by_key(|tally| (tally.first.timestamp().unsigned_abs().wrapping_mul(seed | 1)).rotate_left(17));
            prop_assert_eq!(rate_changes(&tallies), rate_changes(&shuffled));
        }
    }
}
