//! A hunt in a terminal.

use std::fmt::Write as _;

use flakewise_model::{
    Decision, Foreign, FoundKind, FoundTest, Hidden, HuntEnd, HuntReport, Order, Probability, Surroundings,
    Tally, highest_rate, shell_word,
};

use crate::run::name_of;
use crate::style::{BOLD, DIM, GOOD, HINT, WARNING, notice_line, styled};
use crate::words::{count, duration, failure_line, number, plural, sureness, test_name, times};

/// Tests printed in full; what follows has a line each.
const FULL: usize = 30;
/// Names in a list.
const NAMES: usize = 5;
const WIDTH: usize = 100;
const INDENT: &str = "       ";

/// What this many clean runs do not rule out is not worth saying: more than half
/// of all runs would fail.
const LEAST_RUNS: u64 = 5;

/// What a hunt found: the flaky tests, what the others are cleared of, and what
/// is probably still hidden.
pub fn hunt_text(report: &HuntReport) -> String {
    let mut out = String::new();
    let _ = write_hunt(&mut out, report);
    out
}

fn write_hunt(out: &mut String, report: &HuntReport) -> std::fmt::Result {
    let found = match report.found.len() as u64 {
        0 => "no flaky test found".to_owned(),
        found => plural(found, "flaky test found", "flaky tests found"),
    };
    let style = if report.found.is_empty() { GOOD } else { BOLD };
    let runs = plural(report.executions, "run", "runs");
    let took = duration(report.duration);
    let jobs = if report.jobs > 1 { format!(", {} in parallel", report.jobs) } else { String::new() };
    writeln!(out, "{} in {runs} of {} ({took}{jobs})", styled(style, found), count(report.tests, "test"))?;
    if !report.only_beside.is_empty() {
        let is_known = |found: &&FoundTest| found.kind == FoundKind::Beside;
        let known = report.only_beside.iter().filter(is_known).count() as u64;
        let open = report.only_beside.len() as u64 - known;
        if known > 0 {
            let tests = plural(known, "test fails", "tests fail");
            writeln!(out, "{} only beside other tests", styled(BOLD, tests))?;
        }
        if open > 0 {
            let tests = plural(open, "test failed", "tests failed");
            writeln!(out, "{} beside other tests, which is not confirmed", styled(BOLD, tests))?;
        }
    }
    if report.orders > 0 {
        writeln!(out, "{} of all tests", plural(report.orders, "further order", "further orders"))?;
    }
    if let Some(shard) = report.shard {
        writeln!(out, "shard {} of {}", shard.number, shard.of)?;
    }
    if report.known > 0 {
        writeln!(out, "{} of this code from earlier hunts", plural(report.known, "run", "runs"))?;
    }
    for (place, found) in report.found.iter().chain(&report.only_beside).enumerate() {
        if place < FULL {
            write_found(out, report, found)?;
        } else {
            writeln!(out, "{}", title(found))?;
        }
    }
    writeln!(out)?;
    if !report.always_fail.is_empty() {
        let all = report.always_fail.len() as u64;
        writeln!(
            out,
            "{} {}",
            styled(BOLD, "broken:"),
            plural(all, "test never passed", "tests never passed")
        )?;
        for test in report.always_fail.iter().take(NAMES) {
            writeln!(out, "{INDENT}- {}", test_name(test))?;
        }
        if all > NAMES as u64 {
            writeln!(out, "{INDENT}- and {} more", number(all - NAMES as u64))?;
        }
    }
    write_cleared(out, report)?;
    if let Some(hidden) = report.hidden {
        writeln!(out, "{} {}", styled(BOLD, "hidden:"), hidden_words(hidden))?;
    }
    for notice in &report.notices {
        writeln!(out, "{}", notice_line(notice))?;
    }
    writeln!(out, "{}", end(report))
}

fn write_found(out: &mut String, report: &HuntReport, found: &FoundTest) -> std::fmt::Result {
    writeln!(out, "\n{}", title(found))?;
    if let Some(failure) = &found.failure {
        let place = found.place.as_ref();
        let place =
            place.map_or_else(String::new, |(file, line)| format!(" ({}:{line})", Foreign::new(file).line()));
        writeln!(out, "{INDENT}{}{place}", failure_line(failure.kind.as_deref(), &failure.message, WIDTH))?;
    }
    writeln!(out, "{INDENT}{}", how(found))?;
    if matches!(found.kind, FoundKind::FailsAlone | FoundKind::PassesAlone) {
        writeln!(out, "{INDENT}{} {}", styled(HINT, "next:"), culprit_command(report, found))?;
    }
    Ok(())
}

/// The command that finds which test interferes.
pub(super) fn culprit_command(report: &HuntReport, found: &FoundTest) -> String {
    let command: Vec<String> =
        report.command.iter().map(|word| shell_word(&Foreign::new(word).line())).collect();
    let name = shell_word(&Foreign::new(&found.name).line());
    format!("flakewise culprit {name} -- {}", command.join(" "))
}

/// `FLAKY  tests/test_cart.py::test_total  7f3a91c2`.
fn title(found: &FoundTest) -> String {
    let label = match found.kind {
        FoundKind::Beside => "BESIDE OTHERS",
        FoundKind::Unconfirmed => "UNCONFIRMED",
        _ => "FLAKY",
    };
    let label = styled(WARNING, label);
    format!("{label}  {}  {}", styled(BOLD, name_of(&found.name)), styled(DIM, &found.id))
}

/// How it showed, in one line.
pub(super) fn how(found: &FoundTest) -> String {
    let runs = found.alone.attempts;
    let failures = found.alone.failures;
    if let FoundKind::Beside | FoundKind::Unconfirmed = found.kind {
        return only_beside(found);
    }
    if let Some(decision) = &found.decision {
        return decided(found.kind, decision);
    }
    match found.kind {
        FoundKind::Undecided => {
            "passed and failed in different orders of the tests; budget exhausted before the cause was found"
                .to_owned()
        }
        FoundKind::Alone | FoundKind::Together if runs == 0 => {
            "passed and failed in earlier runs of this code".to_owned()
        }
        FoundKind::Alone | FoundKind::Together | FoundKind::Beside | FoundKind::Unconfirmed => {
            let interval = found.alone.interval();
            format!(
                "failed {} of {} runs alone: {} (between {} and {})",
                number(failures),
                number(runs),
                percent(found.alone.rate()),
                percent(interval.low),
                percent(interval.high)
            )
        }
        FoundKind::FailsAlone => format!(
            "passes with the others, failed {} it ran alone: it needs what another test leaves behind",
            all(runs)
        ),
        FoundKind::PassesAlone => format!(
            "failed with the others, passed {} it ran alone: another test interferes with it, or it fails \
             rarely",
            all(runs)
        ),
    }
}

/// What failed while other tests ran beside it, and not with nothing beside it.
fn only_beside(found: &FoundTest) -> String {
    let FoundTest { solo, beside, .. } = found;
    let failed =
        format!("failed {} of {} beside others", number(beside.failed), plural(beside.runs(), "run", "runs"));
    let passed = format!("passed all {} with nothing beside it", plural(solo.runs(), "run", "runs"));
    if found.kind == FoundKind::Beside {
        format!("only beside other tests: shares a port, file or service ({failed}, {passed})")
    } else {
        format!("{failed}, {passed}: too few runs to decide whether it needs them")
    }
}

/// What other orders of the tests have shown.
fn decided(kind: FoundKind, decision: &Decision) -> String {
    let seen = |(place, tally): &(Surroundings, Tally)| {
        let how = match (tally.failed, tally.passed) {
            (failed, 0) => format!("failed {}", all(failed)),
            (0, passed) => format!("passed {}", all(passed)),
            (failed, _) => format!("failed {} of {} times", number(failed), number(tally.runs())),
        };
        format!("{how} {}", surroundings(*place))
    };
    let seen = format!("{}, {}", seen(&decision.fails), seen(&decision.passes));
    let sure = sureness(decision.confidence);
    match kind {
        FoundKind::FailsAlone => format!("{seen}: it needs what another test leaves behind ({sure})"),
        FoundKind::PassesAlone => format!("{seen}: another test interferes with it ({sure})"),
        _ => format!("{seen}: randomly, regardless of the order"),
    }
}

fn surroundings(place: Surroundings) -> String {
    match place {
        Surroundings::Alone => "alone".to_owned(),
        Surroundings::After(Order::Original) => "in the suite's own order".to_owned(),
        Surroundings::After(Order::Reversed) => "in reverse order".to_owned(),
        Surroundings::After(Order::Shuffled { seed }) => format!("in shuffled order {seed}"),
        Surroundings::After(Order::ModulesShuffled { seed }) => {
            format!("in shuffled order {seed} of modules")
        }
    }
}

fn all(runs: u64) -> String {
    match runs {
        1 => "the one time".to_owned(),
        _ => format!("all {}", times(runs).replace("twice", "2 times")),
    }
}

fn write_cleared(out: &mut String, report: &HuntReport) -> std::fmt::Result {
    let cleared = report.cleared;
    if cleared.tests == 0 {
        return Ok(());
    }
    let tests = plural(cleared.tests, "test behaved consistently", "tests behaved consistently");
    let runs = plural(cleared.runs, "run", "runs");
    write!(out, "{} {tests} in {runs}", styled(BOLD, "cleared:"))?;
    let median = cleared.median_runs;
    if median >= LEAST_RUNS {
        let rate = percent(highest_rate(median));
        writeln!(
            out,
            "; half of them ran {} or more, which excludes failures in {rate} of runs or more (95 % sure)",
            times(median)
        )
    } else {
        writeln!(out, "; half of them ran {} at most, too few to clear a single test", times(median))
    }
}

fn hidden_words(hidden: Hidden) -> String {
    let expected = hidden.expected;
    let rate = format!("{:.0} %", 100.0 * Hidden::LEAST_RATE);
    match (hidden.low, hidden.high) {
        (_, 0) => {
            format!(
                "probably no further test that fails in {rate} of runs or more, {expected:.1} expected (90 % sure)"
            )
        }
        (low, high) => {
            let tests = plural(u64::from(high), "more test that fails", "more tests that fail");
            let tests = if low == high { tests } else { format!("{low} to {tests}") };
            format!("probably {tests} in {rate} of runs or more, {expected:.1} expected (90 % sure)")
        }
    }
}

fn end(report: &HuntReport) -> String {
    let why = match report.end {
        HuntEnd::Budget => "budget exhausted",
        HuntEnd::Confidence => "every test reached the requested confidence",
        HuntEnd::Hidden => "expected number of hidden flaky tests is below `--hidden`",
        HuntEnd::Exhausted => "nothing is left to run",
        HuntEnd::Interrupted { .. } => "interrupted",
    };
    let next = if report.run.dirty {
        "commit, so that the next hunt can continue from here"
    } else {
        "the next hunt on this commit continues from here"
    };
    format!("stopped: {why}; {next}")
}

/// `2 %`, `0.3 %`.
fn percent(share: Probability) -> String {
    let percent = share.get() * 100.0;
    if percent >= 9.95 { format!("{percent:.0} %") } else { format!("{percent:.1} %") }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use flakewise_model::{
        Cleared, Failure, FindingId, FlakeRate, Notice, Run, RunId, Shard, TestId, Timestamp, Variant,
    };

    use super::*;

    fn found(name: &str, kind: FoundKind, failures: u64, attempts: u64) -> FoundTest {
        let test = TestId::builder("pytest", "tests/test_cart.py").finish(name, None);
        FoundTest {
            id: FindingId::of(&test),
            test,
            name: format!("tests/test_cart.py::{name}"),
            kind,
            alone: FlakeRate { failures, attempts },
            solo: Tally { passed: attempts - failures, failed: failures },
            beside: Tally::default(),
            decision: None,
            failure: Some(Failure::new(Some("AssertionError"), "assert 3 == 4\n\u{1b}[2J", "")),
            place: Some(("tests/test_cart.py".to_owned(), 12)),
            risk: Probability::clamped(0.2),
            after: attempts,
        }
    }

    fn report() -> HuntReport {
        let run = Run {
            id: RunId::new("local/1"),
            commit: Some("c1".to_owned()),
            dirty: false,
            branch: None,
            variant: Variant::default(),
            provider: None,
            url: None,
            started: Timestamp::from_timestamp_micros(0).expect("a time"),
            roots: None,
            packages: None,
        };
        HuntReport {
            run: Arc::new(run),
            command: vec!["pytest".to_owned()],
            seed: 7,
            shard: None,
            tests: 120,
            skipped: 2,
            orders: 0,
            executions: 12_345,
            known: 0,
            duration: Duration::from_secs(62),
            jobs: 2,
            end: HuntEnd::Budget,
            found: Vec::new(),
            only_beside: Vec::new(),
            always_fail: Vec::new(),
            cleared: Cleared { tests: 119, runs: 12_000, fewest_runs: 40, median_runs: 100 },
            hidden: Some(Hidden { expected: 0.84, low: 0, high: 3 }),
            notices: Vec::new(),
        }
    }

    fn shown(report: &HuntReport) -> String {
        anstream::adapter::strip_str(&hunt_text(report)).to_string()
    }

    #[test]
    fn every_kind_of_finding_says_what_was_seen() {
        let report = HuntReport {
            found: vec![
                found("test_chance", FoundKind::Alone, 7, 312),
                found("test_brittle", FoundKind::FailsAlone, 10, 10),
                found("test_victim", FoundKind::PassesAlone, 0, 10),
                found("test_before", FoundKind::Together, 0, 0),
            ],
            only_beside: vec![
                FoundTest {
                    solo: Tally { passed: 59, failed: 0 },
                    beside: Tally { passed: 58, failed: 3 },
                    ..found("test_port", FoundKind::Beside, 3, 120)
                },
                FoundTest {
                    solo: Tally { passed: 31, failed: 0 },
                    beside: Tally { passed: 0, failed: 1 },
                    failure: None,
                    ..found("test_late", FoundKind::Unconfirmed, 1, 1)
                },
            ],
            always_fail: vec![TestId::builder("pytest", "tests/test_cart.py").finish("test_broken", None)],
            shard: Some(Shard { number: 2, of: 4 }),
            known: 900,
            notices: vec![Notice { text: "something is wrong".to_owned(), warning: true }],
            ..report()
        };
        insta::assert_snapshot!(shown(&report), @"
        4 flaky tests found in 12,345 runs of 120 tests (1m 02s, 2 in parallel)
        1 test fails only beside other tests
        1 test failed beside other tests, which is not confirmed
        shard 2 of 4
        900 runs of this code from earlier hunts

        FLAKY  tests/test_cart.py::test_chance  ff37b627
               AssertionError: assert 3 == 4 (tests/test_cart.py:12)
               failed 7 of 312 runs alone: 2.2 % (between 1.1 % and 4.6 %)

        FLAKY  tests/test_cart.py::test_brittle  c6e70b0c
               AssertionError: assert 3 == 4 (tests/test_cart.py:12)
               passes with the others, failed all 10 times it ran alone: it needs what another test leaves behind
               next: flakewise culprit tests/test_cart.py::test_brittle -- pytest

        FLAKY  tests/test_cart.py::test_victim  33913e64
               AssertionError: assert 3 == 4 (tests/test_cart.py:12)
               failed with the others, passed all 10 times it ran alone: another test interferes with it, or it fails rarely
               next: flakewise culprit tests/test_cart.py::test_victim -- pytest

        FLAKY  tests/test_cart.py::test_before  5bea6575
               AssertionError: assert 3 == 4 (tests/test_cart.py:12)
               passed and failed in earlier runs of this code

        BESIDE OTHERS  tests/test_cart.py::test_port  b7db0ba9
               AssertionError: assert 3 == 4 (tests/test_cart.py:12)
               only beside other tests: shares a port, file or service (failed 3 of 61 runs beside others, passed all 59 runs with nothing beside it)

        UNCONFIRMED  tests/test_cart.py::test_late  680e6d24
               failed 1 of 1 run beside others, passed all 31 runs with nothing beside it: too few runs to decide whether it needs them

        broken: 1 test never passed
               - tests/test_cart.py::test_broken
        cleared: 119 tests behaved consistently in 12,000 runs; half of them ran 100 times or more, which excludes failures in 3.0 % of runs or more (95 % sure)
        hidden: probably 0 to 3 more tests that fail in 1 % of runs or more, 0.8 expected (90 % sure)
        warning: something is wrong
        stopped: budget exhausted; the next hunt on this commit continues from here
        ");
    }

    #[test]
    fn what_orders_have_told_is_said_with_its_counts() {
        let tally = |failed, passed| Tally { passed, failed };
        let original = Surroundings::After(Order::Original);
        let shuffled = Surroundings::After(Order::Shuffled { seed: 12 });
        let decided = |name, kind, fails, passes, confidence| FoundTest {
            failure: None,
            decision: Some(Decision { fails, passes, confidence: Probability::clamped(confidence) }),
            ..found(name, kind, 0, 1)
        };
        let report = HuntReport {
            orders: 10,
            found: vec![
                decided(
                    "test_victim",
                    FoundKind::PassesAlone,
                    (shuffled, tally(5, 0)),
                    (original, tally(0, 5)),
                    0.996,
                ),
                decided(
                    "test_brittle",
                    FoundKind::FailsAlone,
                    (Surroundings::Alone, tally(6, 0)),
                    (original, tally(0, 6)),
                    0.999_99,
                ),
                decided(
                    "test_chance",
                    FoundKind::Together,
                    (Surroundings::After(Order::Reversed), tally(0, 3)),
                    (original, tally(1, 2)),
                    0.3,
                ),
                FoundTest { failure: None, ..found("test_open", FoundKind::Undecided, 0, 1) },
            ],
            ..report()
        };
        insta::assert_snapshot!(shown(&report), @"
        4 flaky tests found in 12,345 runs of 120 tests (1m 02s, 2 in parallel)
        10 further orders of all tests

        FLAKY  tests/test_cart.py::test_victim  33913e64
               failed all 5 times in shuffled order 12, passed all 5 times in the suite's own order: another test interferes with it (99.6 % sure)
               next: flakewise culprit tests/test_cart.py::test_victim -- pytest

        FLAKY  tests/test_cart.py::test_brittle  c6e70b0c
               failed all 6 times alone, passed all 6 times in the suite's own order: it needs what another test leaves behind (99.9 % sure)
               next: flakewise culprit tests/test_cart.py::test_brittle -- pytest

        FLAKY  tests/test_cart.py::test_chance  ff37b627
               passed all 3 times in reverse order, failed 1 of 3 times in the suite's own order: randomly, regardless of the order

        FLAKY  tests/test_cart.py::test_open  ab49f542
               passed and failed in different orders of the tests; budget exhausted before the cause was found

        cleared: 119 tests behaved consistently in 12,000 runs; half of them ran 100 times or more, which excludes failures in 3.0 % of runs or more (95 % sure)
        hidden: probably 0 to 3 more tests that fail in 1 % of runs or more, 0.8 expected (90 % sure)
        stopped: budget exhausted; the next hunt on this commit continues from here
        ");
    }

    #[test]
    fn nothing_found_is_told_with_what_it_is_worth() {
        insta::assert_snapshot!(shown(&report()), @"
        no flaky test found in 12,345 runs of 120 tests (1m 02s, 2 in parallel)

        cleared: 119 tests behaved consistently in 12,000 runs; half of them ran 100 times or more, which excludes failures in 3.0 % of runs or more (95 % sure)
        hidden: probably 0 to 3 more tests that fail in 1 % of runs or more, 0.8 expected (90 % sure)
        stopped: budget exhausted; the next hunt on this commit continues from here
        ");
    }

    #[test]
    fn a_bound_that_says_nothing_is_not_said() {
        let report = HuntReport {
            cleared: Cleared { tests: 2_434, runs: 2_434, fewest_runs: 1, median_runs: 1 },
            hidden: Some(Hidden { expected: 0.04, low: 0, high: 0 }),
            ..report()
        };
        insta::assert_snapshot!(shown(&report), @"
        no flaky test found in 12,345 runs of 120 tests (1m 02s, 2 in parallel)

        cleared: 2,434 tests behaved consistently in 2,434 runs; half of them ran once at most, too few to clear a single test
        hidden: probably no further test that fails in 1 % of runs or more, 0.0 expected (90 % sure)
        stopped: budget exhausted; the next hunt on this commit continues from here
        ");
    }

    #[test]
    fn work_in_progress_cannot_be_gone_on_with() {
        let mut report = HuntReport { end: HuntEnd::Interrupted { signal: 2 }, hidden: None, ..report() };
        Arc::make_mut(&mut report.run).dirty = true;
        let text = shown(&report);
        assert!(
            text.ends_with("stopped: interrupted; commit, so that the next hunt can continue from here\n")
        );
        assert!(!text.contains("hidden:"));
    }
}
