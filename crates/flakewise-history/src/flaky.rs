//! Flaky by history: what the recorded outcomes of one test prove or suggest.
//!
//! Pure: no I/O, no clock. The decision has two parts.
//!
//! **Proof.** The test passed and failed on the same code in the same variant.
//! That is the definition of flaky, so one such revision is enough. A failure in
//! an attempt on the base of a change counts only if the same failure was also
//! seen on that revision otherwise: the base's work tree may lack what the test
//! needs, and then it fails there for a reason of its own.
//!
//! **Posterior.** Without proof, two explanations of the sequence of outcomes
//! over consecutive revisions compete. A revision counts as failed if all its
//! attempts failed. Sequences are taken per variant and branch, each given its
//! first outcome.
//!
//! - *Regressions only*: the outcome is a function of the code. It is a chain
//!   that goes from passing to failing with a break rate β ~ Beta(1, 199) and
//!   back with a fix rate φ ~ Beta(1, 1).
//! - *Flaky*: the code is fine and every revision fails with the same chance
//!   θ ~ Beta(0.3, 3), whatever came before.
//!
//! Both likelihoods have closed forms (ratios of Beta functions), so
//! `P(flaky) = π·F / (π·F + (1 − π)·R)` with the prior π = 0.04.
//!
//! The rate of failure alone decides nothing: ten failures in a row and ten
//! scattered ones have the same rate and opposite posteriors.
//!
//! *Where the numbers come from.* π is the share of flaky tests in the
//! `FlakeFlagger` data (809 of 21,802 tests). θ's prior has a mean of 9 % and
//! most of its mass near zero, as there (median failure rate 0.7 %). One
//! break in two hundred revisions is our choice, on the high side, so that a
//! test that has just begun to fail is not called flaky. Compare Meta's
//! *probabilistic flakiness score*, which also asks how likely a failure is
//! while the code is good; it fits a model to each test's retries, where ours
//! needs none.
//!
//! **Outages.** A run in which most tests failed says nothing about any one of
//! them; callers leave those runs out before they come here.

use flakewise_model::{
    Conclusion, Evidence, FlakeRate, Probability, Revision, RunId, Timestamp, Transitions, Variant, Verdict,
};
use hashbrown::{HashMap, HashSet};
use libm::lgamma;
use std::collections::{BTreeMap, BTreeSet};

/// A run is an outage if at least this many tests ran and more than half of
/// them never passed. In a smaller run that is an ordinary bad day.
pub const MINIMUM_OUTAGE_TESTS: u64 = 10;

/// The share of tests that are flaky, before anything is known.
const PRIOR: f64 = 0.04;
/// Beta parameters: failure rate of a flaky test, break rate, fix rate.
const FLAKY_RATE: (f64, f64) = (0.3, 3.0);
const BREAK_RATE: (f64, f64) = (1.0, 199.0);
const FIX_RATE: (f64, f64) = (1.0, 1.0);
/// From here on we tell people.
const PROBABLE: f64 = 0.8;
/// Below this, a test that fails now is called broken.
const IMPROBABLE: f64 = 0.5;
/// The same for a test that has recovered before. A pass between failures is
/// evidence against a break, so more is asked of the other side.
const VERY_IMPROBABLE: f64 = 0.05;

/// All outcomes of one test on one revision of the code, in one variant and on
/// one branch. There are millions of these in a report, so texts are borrowed.
#[derive(Clone, Debug, PartialEq)]
pub struct RevisionTally<'a> {
    /// Where it ran.
    pub variant: &'a str,
    /// The branch; revisions are consecutive only on one branch.
    pub branch: Option<&'a str>,
    /// The commit, unless it does not say which code ran.
    pub commit: Option<&'a str>,
    /// The run, where the commit does not say which code ran.
    pub run: Option<&'a str>,
    /// Attempts that passed.
    pub passed: u64,
    /// Attempts that failed, by fingerprint.
    pub failed: BTreeMap<Option<&'a str>, u64>,
    /// Of all these, the attempts that the suite itself made first.
    pub first_attempts: FlakeRate,
    /// The first attempt.
    pub first: Timestamp,
    /// The last attempt.
    pub last: Timestamp,
    /// Whether this is about attempts on the base of a later change. They come
    /// when it is no longer the code at hand, so their time does not say where
    /// the revision belongs. Their failures need to be seen otherwise too.
    pub as_base: bool,
}

impl RevisionTally<'_> {
    /// How many attempts failed.
    pub fn failures(&self) -> u64 {
        self.failed.values().sum()
    }

    /// Takes in what else is known of the same revision.
    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        for (fingerprint, count) in other.failed {
            *self.failed.entry(fingerprint).or_default() += count;
        }
        self.first_attempts.failures += other.first_attempts.failures;
        self.first_attempts.attempts += other.first_attempts.attempts;
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
    }
}

/// Concludes what can be concluded from one test's history.
pub fn judge(tallies: &[RevisionTally<'_>], outage_failures: u64) -> Verdict {
    let mut evidence = Vec::new();
    let mixed = mixed_outcomes(tallies);
    let proved = mixed.is_some();
    evidence.extend(mixed);
    let (transitions, fails_now) = transitions(tallies);
    let probability = if proved { 1.0 } else { posterior(transitions) };
    if (Transitions { stayed_passing: 0, ..transitions }) != Transitions::default() {
        evidence.push(Evidence::Transitions(transitions));
    }
    if outage_failures > 0 {
        evidence.push(Evidence::OutagesIgnored { failures: outage_failures });
    }
    let broken_below = if transitions.recovered == 0 { IMPROBABLE } else { VERY_IMPROBABLE };
    let failed = tallies.iter().any(|tally| !tally.as_base && tally.failures() > 0);
    let conclusion = if proved {
        Conclusion::Flaky
    } else if !failed {
        Conclusion::NotSeenFailing
    } else if probability >= PROBABLE {
        Conclusion::ProbablyFlaky
    } else if fails_now && probability < broken_below {
        Conclusion::Broken
    } else {
        Conclusion::Undecided
    };
    Verdict { conclusion, probability: Probability::clamped(probability), evidence }
}

/// Revisions that both passed and failed, whatever the branch: the strongest
/// evidence there is.
fn mixed_outcomes(tallies: &[RevisionTally<'_>]) -> Option<Evidence> {
    fn key<'a>(tally: &RevisionTally<'a>) -> (&'a str, Option<&'a str>, Option<&'a str>) {
        (tally.variant, tally.commit, tally.run)
    }
    let own = tallies.iter().filter(|tally| !tally.as_base);
    let seen: BTreeSet<_> = own
        .flat_map(|tally| tally.failed.keys().flatten().map(move |fingerprint| (key(tally), *fingerprint)))
        .collect();
    // Most revisions of most tests have no failure. Whether a revision has one is looked up by its
    // code first, which is quicker than by all of its key.
    let failing: BTreeSet<_> = tallies.iter().filter(|tally| !tally.failed.is_empty()).map(key).collect();
    let codes: HashSet<Option<&str>> = failing.iter().map(|(_, commit, run)| commit.or(*run)).collect();
    let fails = |tally: &&RevisionTally<'_>| {
        let key = key(tally);
        codes.contains(&key.1.or(key.2)) && failing.contains(&key)
    };
    let mut revisions: BTreeMap<_, (u64, u64, Timestamp)> = BTreeMap::new();
    for tally in tallies.iter().filter(fails) {
        let proves = |fingerprint: Option<&str>| {
            let seen_otherwise = |fingerprint| seen.contains(&(key(tally), fingerprint));
            !tally.as_base || fingerprint.is_some_and(seen_otherwise)
        };
        let failures = tally.failed.iter().filter(|(fingerprint, _)| proves(**fingerprint));
        let sums = revisions.entry(key(tally)).or_insert((0, 0, tally.last));
        sums.0 += tally.passed;
        sums.1 += failures.map(|(_, count)| count).sum::<u64>();
        sums.2 = sums.2.max(tally.last);
    }
    revisions.retain(|_, (passed, failed, _)| *passed > 0 && *failed > 0);
    let count = u64::try_from(revisions.len()).unwrap_or(u64::MAX);
    let ((variant, commit, run), (passed, failed, at)) =
        revisions.into_iter().max_by_key(|(_, (.., at))| *at)?;
    let latest = match (commit, run) {
        (Some(commit), _) => Revision::Commit(commit.to_owned()),
        (None, run) => Revision::Run(RunId::new(run.unwrap_or_default())),
    };
    Some(Evidence::MixedOutcomes {
        revisions: count,
        latest,
        variant: Variant::parse(variant),
        passed,
        failed,
        at,
    })
}

/// Counts how the outcome moved between consecutive revisions, and whether the
/// latest revision anywhere fails.
fn transitions(tallies: &[RevisionTally<'_>]) -> (Transitions, bool) {
    let mut sequences: Vec<(_, Vec<&RevisionTally<'_>>)> = Vec::new();
    let mut places = HashMap::new();
    let mut latest_place = 0;
    for tally in tallies.iter().filter(|tally| tally.passed + tally.failures() > 0 && !tally.as_base) {
        let key = (tally.variant, tally.branch);
        // Mostly that of the tally before.
        if sequences.get(latest_place).is_none_or(|(known, _)| *known != key) {
            latest_place = *places.entry(key).or_insert_with(|| {
                sequences.push((key, Vec::new()));
                sequences.len() - 1
            });
        }
        sequences[latest_place].1.push(tally);
    }
    sequences.sort_unstable_by_key(|(key, _)| *key);
    let mut total = Transitions::default();
    let mut latest: Option<&RevisionTally<'_>> = None;
    for (_, sequence) in &mut sequences {
        sequence.sort_by(|left, right| {
            (left.first, left.last)
                .cmp(&(right.first, right.last))
                .then_with(|| (left.commit, left.run).cmp(&(right.commit, right.run)))
        });
        let fails = |tally: &RevisionTally<'_>| tally.passed == 0;
        for pair in sequence.windows(2) {
            let count = match (fails(pair[0]), fails(pair[1])) {
                (false, false) => &mut total.stayed_passing,
                (false, true) => &mut total.began_failing,
                (true, true) => &mut total.stayed_failing,
                (true, false) => &mut total.recovered,
            };
            *count += 1;
        }
        let last = sequence.last().copied();
        if last.map(|tally| tally.last) > latest.map(|tally| tally.last) {
            latest = last;
        }
    }
    (total, latest.is_some_and(|tally| tally.passed == 0))
}

/// The posterior probability of "flaky" against "regressions only".
fn posterior(transitions: Transitions) -> f64 {
    let Transitions { stayed_passing, began_failing, stayed_failing, recovered } = transitions;
    let failed = began_failing + stayed_failing;
    let passed = stayed_passing + recovered;
    if failed + recovered == 0 {
        // It never failed, or the record begins with its only failures: the
        // sequence says nothing, so the prior stands.
        return PRIOR;
    }
    let flaky = log_beta_binomial(FLAKY_RATE, failed, passed);
    let regressions = log_beta_binomial(BREAK_RATE, began_failing, stayed_passing)
        + log_beta_binomial(FIX_RATE, recovered, stayed_failing);
    let log_odds = (PRIOR / (1.0 - PRIOR)).ln() + flaky - regressions;
    1.0 / (1.0 + (-log_odds).exp())
}

/// The logarithm of E[xˢ·(1 − x)ᶠ] for x ~ Beta(a, b).
fn log_beta_binomial((a, b): (f64, f64), successes: u64, failures: u64) -> f64 {
    log_beta(a + successes as f64, b + failures as f64) - log_beta(a, b)
}

fn log_beta(a: f64, b: f64) -> f64 {
    lgamma(a) + lgamma(b) - lgamma(a + b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn failures(any: bool, fingerprint: &str) -> BTreeMap<Option<&str>, u64> {
        if any { [(Some(fingerprint), 1)].into() } else { BTreeMap::new() }
    }

    /// A history on one branch: `.` passes, `F` fails, `M` both.
    fn history(outcomes: &str) -> Vec<RevisionTally<'static>> {
        outcomes
            .chars()
            .enumerate()
            .map(|(place, outcome)| {
                let at =
                    Timestamp::from_timestamp(1_700_000_000 + 3600 * i64::try_from(place).unwrap_or(0), 0)
                        .unwrap_or_default();
                RevisionTally {
                    variant: "",
                    branch: Some("main"),
                    commit: Some(format!("c{place}").leak()),
                    run: None,
                    passed: u64::from(outcome != 'F'),
                    failed: failures(outcome != '.', "alike"),
                    first_attempts: FlakeRate::default(),
                    first: at,
                    last: at,
                    as_base: false,
                }
            })
            .collect()
    }

    fn check(outcomes: &str, expected: Conclusion) {
        let verdict = judge(&history(outcomes), 0);
        assert_eq!(verdict.conclusion, expected, "{outcomes}: {verdict:?}");
    }

    #[test]
    fn one_revision_with_both_outcomes_is_proof() {
        check("......M", Conclusion::Flaky);
        check("M", Conclusion::Flaky);
    }

    #[test]
    fn scattered_failures_are_probably_flaky_and_a_block_of_them_is_not() {
        check("....F.....F......F......F....", Conclusion::ProbablyFlaky);
        check("..........FFFF...............", Conclusion::Undecided);
        check("..........FFFFFFFFFFFFFFFFFFF", Conclusion::Broken);
        check("..FF", Conclusion::Broken);
        check("...........F.................", Conclusion::Undecided);
        check(".............................", Conclusion::NotSeenFailing);
    }

    #[test]
    fn rate_alone_decides_nothing() {
        let scattered = judge(&history(&"....F".repeat(10)), 0).probability;
        let block = judge(&history(&format!("{}{}", ".".repeat(40), "F".repeat(10))), 0).probability;
        assert!(scattered.get() > 0.99, "{scattered}");
        assert!(block.get() < 0.01, "{block}");
    }

    #[test]
    fn a_test_broken_on_one_branch_is_not_flaky() {
        let mut tallies = history(".F.F.F.F.F.F");
        for tally in tallies.iter_mut().filter(|tally| tally.failures() > 0) {
            tally.branch = Some("feature");
        }
        assert_ne!(judge(&tallies, 0).conclusion, Conclusion::ProbablyFlaky);
    }

    #[test]
    fn a_try_at_the_base_proves_what_it_shows_and_has_no_place_in_the_sequence() {
        // A change broke the test; each time, the base was tried afterwards.
        let mut tallies = history(".F.F.F.F.F");
        for tally in &mut tallies {
            tally.as_base = tally.failures() == 0;
        }
        assert_eq!(judge(&tallies, 0).conclusion, Conclusion::Broken);
        tallies[1].commit = Some("c0");
        assert_eq!(judge(&tallies, 0).conclusion, Conclusion::Flaky);
    }

    #[test]
    fn a_failure_at_the_base_needs_to_be_seen_there_otherwise_too() {
        let mut tallies = history(".F");
        tallies[1].commit = Some("c0");
        tallies[1].as_base = true;
        assert_eq!(judge(&tallies, 0).conclusion, Conclusion::NotSeenFailing);
        // Another failure on that commit proves by itself, and adds nothing to this one.
        let mut other = tallies[0].clone();
        (other.passed, other.failed) = (0, failures(true, "other"));
        tallies.push(other);
        let failed = |tallies: &[RevisionTally<'_>]| match judge(tallies, 0).evidence.first() {
            Some(Evidence::MixedOutcomes { failed, .. }) => *failed,
            other => panic!("not proved: {other:?}"),
        };
        assert_eq!(failed(&tallies), 1);
        tallies[2].failed = failures(true, "alike");
        assert_eq!(failed(&tallies), 2);
        // What nobody could describe is like nothing else.
        tallies[1].failed = [(None, 1)].into();
        tallies[2].failed = [(None, 1)].into();
        assert_eq!(failed(&tallies), 1);
    }

    #[test]
    fn a_test_that_mostly_fails_and_passes_in_between_is_not_called_broken() {
        check("FFFF.FFFFFFFF.FFFFFFFFF.FFFFF", Conclusion::ProbablyFlaky);
        check("FFFFFFFFF.FFFFFFFFF.FFFFFFFFF", Conclusion::ProbablyFlaky);
        check("FFFFF.FFFF", Conclusion::Undecided);
        // A block that was fixed and another one later are two breaks.
        check("....FFFFFF..............FFFFFF", Conclusion::Broken);
    }

    #[test]
    fn different_outcomes_in_different_variants_are_no_proof() {
        let mut tallies = history(".F");
        tallies[1].commit = Some("c0");
        assert_eq!(judge(&tallies, 0).conclusion, Conclusion::Flaky);
        tallies[1].variant = "os=windows";
        assert_ne!(judge(&tallies, 0).conclusion, Conclusion::Flaky);
    }

    proptest! {
        /// The closed form against numerical integration of the same model.
        #[test]
        fn marginal_likelihood_equals_the_integral(a in 0.5f64..4.0, b in 0.5f64..50.0, successes in 0u64..8, failures in 0u64..20) {
            let steps = 20_000;
            let density = |x: f64, s: f64, f: f64| x.powf(a - 1.0 + s) * (1.0 - x).powf(b - 1.0 + f);
            let (mut with, mut without) = (0.0, 0.0);
            for step in 0..steps {
                // A substitution that tames the ends: x = u²(3 − 2u).
                let u = (f64::from(step) + 0.5) / f64::from(steps);
                let x = u * u * (3.0 - 2.0 * u);
                let weight = 6.0 * u * (1.0 - u);
                with += density(x, successes as f64, failures as f64) * weight;
                without += density(x, 0.0, 0.0) * weight;
            }
            let exact = log_beta_binomial((a, b), successes, failures);
            prop_assert!((exact - (with / without).ln()).abs() < 1e-3);
        }

        #[test]
        fn the_posterior_is_a_probability(outcomes in "[.F]{0,200}") {
            let probability = judge(&history(&outcomes), 0).probability.get();
            prop_assert!((0.0..=1.0).contains(&probability));
        }

        #[test]
        fn the_order_of_rows_does_not_matter(outcomes in "[.FM]{1,40}", seed: u64) {
            let tallies = history(&outcomes);
            let mut shuffled = tallies.clone();
            shuffled.sort_by_key(|tally| (tally.first.timestamp().unsigned_abs().wrapping_mul(seed | 1)).rotate_left(17));
            prop_assert_eq!(judge(&tallies, 0), judge(&shuffled, 0));
        }
    }
}
