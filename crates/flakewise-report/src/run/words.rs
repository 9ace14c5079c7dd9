//! Verdicts about failures in words. Every form for people uses these.
//!
//! Literals stand in backticks, and what is inside them holds none, so that a
//! form with a better way to set off a literal can find them again.

use flakewise_model::{
    Attempt, BaseSource, Blame, ExitReason, Failure, FailureVerdict, FlakyKind, Foreign, OpenQuestion,
    Outcome, Phase, Probability, Proof, QuarantineStatus, Quarantined, Refusal, Reproduction, Review,
    RunReport, Tally, TestFailure, TestId, Touch, TouchedFile, shell_word,
};

use crate::finding::Kind;
use crate::lines::line_numbers;
use crate::words::{count, duration, failure_line, number, plural, short_commit, times};

/// Changed files named per reason.
const FILES: usize = 3;
/// Ranges of changed lines named per file.
const RANGES: usize = 3;
/// Other failures named per test.
const OTHERS: usize = 3;
/// The longest line about another failure.
const WIDTH: usize = 120;
/// The longest name of a test or a file, in characters.
const NAME: usize = 200;

/// ` (failed 1 of 1)`, if the command was run.
pub(super) fn tried(reproduction: &Reproduction) -> String {
    let tried = |tally: Tally| format!(" (failed {} of {})", number(tally.failed), number(tally.runs()));
    reproduction.tried.map(tried).unwrap_or_default()
}

/// A verdict in capitals.
pub(super) fn label(verdict: &FailureVerdict) -> &'static str {
    match verdict.blame {
        Blame::Flaky(_) if verdict.is_new_flake() => "NEW FLAKE",
        Blame::Flaky(_) => "FLAKY",
        Blame::Regression => "REGRESSION",
        Blame::BrokenBefore => "BROKEN BEFORE",
        Blame::Environment => "ENVIRONMENT",
        Blame::Infrastructure => "INFRASTRUCTURE",
        Blame::Undecided(_) => "UNDECIDED",
    }
}

/// A verdict in a few words, with the kind of flake.
pub(super) fn conclusion(verdict: &FailureVerdict) -> String {
    match verdict.blame {
        Blame::Flaky(kind) => {
            let flake = if verdict.is_new_flake() { "new flake" } else { "flaky" };
            if kind == FlakyKind::Undecided { flake.to_owned() } else { format!("{flake} ({})", kind.name()) }
        }
        Blame::Regression => "regression".to_owned(),
        Blame::BrokenBefore => "broken before".to_owned(),
        Blame::Environment => "environment".to_owned(),
        Blame::Infrastructure => "infrastructure".to_owned(),
        Blame::Undecided(_) => "undecided".to_owned(),
    }
}

/// What the verdicts on some failures say and how sure they are, in one line.
pub(super) fn verdict(verdicts: &[&FailureVerdict]) -> String {
    let Some(first) = verdicts.first() else { return String::new() };
    let certainty = certainty(verdicts);
    match first.blame {
        Blame::Flaky(kind) => {
            let new = if first.is_new_flake() { introduced(&first.proofs) } else { String::new() };
            let kind = match (kind, first.kind) {
                (FlakyKind::Undecided, _) => "kind undecided".to_owned(),
                (kind, Some(probability)) => format!("{} ({probability} sure)", kind.name()),
                (kind, None) => kind.name().to_owned(),
            };
            format!("{new}{certainty} flaky, {kind}: {}", meaning(&first.blame))
        }
        _ => format!("{}; {certainty}", meaning(&first.blame)),
    }
}

/// How sure a verdict is. Of several failures, the range.
pub(super) fn certainty(verdicts: &[&FailureVerdict]) -> String {
    let Some(first) = verdicts.first() else { return String::new() };
    if first.blame.is_proved_flaky() {
        return "proved".to_owned();
    }
    // The hypothesis that the verdict names; of an undecided one, all.
    match first.blame {
        Blame::Regression => range("regression", verdicts.iter().map(|verdict| verdict.regression)),
        Blame::Environment | Blame::BrokenBefore | Blame::Infrastructure => {
            range("not this change", verdicts.iter().map(|verdict| not_this_change(verdict)))
        }
        _ => {
            let regression = range("regression", verdicts.iter().map(|verdict| verdict.regression));
            let flaky = range("flaky", verdicts.iter().map(|verdict| verdict.flaky));
            let environment = range("environment", verdicts.iter().map(|verdict| verdict.environment));
            format!("{regression}, {flaky}, {environment}")
        }
    }
}

/// `introduced by this change: executes line 12 of `shop/cart.py`; `.
fn introduced(proofs: &[Proof]) -> String {
    let files = proofs.iter().find_map(|proof| match proof {
        Proof::TouchesChange { files, .. } => files.split_first(),
        _ => None,
    });
    match files {
        Some((first, [])) => format!("introduced by this change: {}; ", touched(first)),
        Some((first, others)) => {
            let more = plural(others.len() as u64, "more changed file", "more changed files");
            format!("introduced by this change: {} (and {more}); ", touched(first))
        }
        None => "introduced by this change; ".to_owned(),
    }
}

fn not_this_change(verdict: &FailureVerdict) -> Probability {
    Probability::clamped(1.0 - verdict.regression.get())
}

/// `P(flaky) = 20 % to 40 %`.
fn range(name: &str, values: impl Iterator<Item = Probability> + Clone) -> String {
    let least = values.clone().reduce(|left, right| if right < left { right } else { left });
    let most = values.reduce(|left, right| if right > left { right } else { left });
    let (least, most) = (least.unwrap_or(Probability::ZERO), most.unwrap_or(Probability::ZERO));
    let (low, high) = (least.to_string(), most.to_string());
    match low.as_bytes() {
        _ if low != high => format!("P({name}) = {low} to {high}"),
        [b'<' | b'>', ..] => format!("P({name}) {low}"),
        _ => format!("P({name}) = {low}"),
    }
}

fn meaning(blame: &Blame) -> &'static str {
    match blame {
        Blame::Flaky(FlakyKind::Transient) => "it fails randomly",
        Blame::Flaky(FlakyKind::Bursty) => "it failed for a while; the cause was temporary",
        Blame::Flaky(FlakyKind::StateDependent) => "tests before it left something behind",
        Blame::Flaky(FlakyKind::HashSeed) => "it fails with the hash seed of this run",
        Blame::Flaky(FlakyKind::ProcessDependent) => "it fails in the suite's process and its forks only",
        Blame::Flaky(FlakyKind::Undecided) => "it passes and fails on the same code",
        Blame::Regression => "caused by this change",
        Blame::BrokenBefore => "it fails in the same way without this change",
        Blame::Environment => "fails consistently, not because of this change",
        Blame::Infrastructure => "caused by the machine or a service, not by any one test",
        Blame::Undecided(OpenQuestion::TooManyFailures) => "too many tests failed to rerun them",
        Blame::Undecided(OpenQuestion::BaseUnknown) => {
            "fails consistently; of the change it depends on configuration only"
        }
        Blame::Undecided(OpenQuestion::PassesAtBase) => {
            "fails here and passes at the base, but depends on nothing that changed"
        }
        Blame::Undecided(OpenQuestion::ChangeUnknown) => {
            "fails consistently; there is no base revision to compare with"
        }
        Blame::Undecided(OpenQuestion::DependenciesUnknown) => {
            "fails consistently; not all of its dependencies could be observed"
        }
        Blame::Undecided(OpenQuestion::NotExecuted) => {
            "fails consistently; it loads changed files but executes none of the changed lines"
        }
        Blame::Undecided(OpenQuestion::NotEnoughRuns) => "not run often enough to decide",
    }
}

/// What to do about a failure of a run.
pub(super) fn next(failure: &TestFailure, report: &RunReport) -> String {
    let verdict = &failure.verdict;
    let proofs = &verdict.proofs;
    if verdict.is_new_flake() {
        return format!("fix the flake that this change introduces{}", first_place(proofs));
    }
    if proofs.iter().any(|proof| matches!(proof, Proof::MoreOften { .. })) {
        return format!("find out why it fails more often with this change{}", first_place(proofs));
    }
    let advice = match &verdict.blame {
        Blame::Flaky(FlakyKind::StateDependent) => {
            return format!("find the test that interferes with it: {}", culprit(failure, report));
        }
        Blame::Flaky(FlakyKind::HashSeed) => "look for an order taken from a set or a hash, and sort it",
        Blame::Regression => return format!("fix the change{}", first_place(proofs)),
        Blame::Environment if installed_differs(proofs) => {
            "check the packages that were updated since it last passed"
        }
        Blame::Flaky(_) | Blame::BrokenBefore | Blame::Environment | Blame::Infrastructure => {
            Kind::from(verdict).advice()
        }
        Blame::Undecided(OpenQuestion::TooManyFailures) => {
            "look for a common cause, or rerun more of them with `--max-failures`"
        }
        Blame::Undecided(OpenQuestion::BaseUnknown) => {
            "run again with `--verify-base`; whether it passes at the base decides"
        }
        Blame::Undecided(OpenQuestion::PassesAtBase) => {
            "compare this work tree with a clean checkout: untracked files, build output, caches"
        }
        Blame::Undecided(OpenQuestion::ChangeUnknown) => {
            "run again with `--base REF`; what changed since then decides"
        }
        Blame::Undecided(OpenQuestion::DependenciesUnknown | OpenQuestion::NotExecuted)
            if passed_at_base(proofs) =>
        {
            "check the change first, since it passes at the base; then look outside the code"
        }
        Blame::Undecided(OpenQuestion::DependenciesUnknown | OpenQuestion::NotExecuted) => {
            "run again with `--verify-base`; if it fails there too, the change is not to blame"
        }
        Blame::Undecided(OpenQuestion::NotEnoughRuns) if !other_failures(&failure.attempts).is_empty() => {
            "look at the other failure first: this change may be its cause"
        }
        Blame::Undecided(OpenQuestion::NotEnoughRuns) => {
            "run again with `--confidence 0.99` to rerun it more often"
        }
    };
    advice.to_owned()
}

/// The command that finds what interferes with a test, if it fits a line.
fn culprit(failure: &TestFailure, report: &RunReport) -> String {
    let words = report.command.iter().map(|word| shell_word(word));
    let command: Vec<String> =
        [shell_word(&failure.name), "--".to_owned()].into_iter().chain(words).collect();
    let command = format!("flakewise culprit {}", command.join(" "));
    // A command that is cut or cleaned is not the command any more.
    if command == Foreign::new(&command).line()
        && !command.contains('`')
        && command.chars().nth(NAME).is_none()
    {
        literal(&command)
    } else {
        "`flakewise culprit TEST -- COMMAND`".to_owned()
    }
}

fn installed_differs(proofs: &[Proof]) -> bool {
    proofs.iter().any(|proof| matches!(proof, Proof::InstalledDiffers { .. }))
}

fn passed_at_base(proofs: &[Proof]) -> bool {
    proofs.iter().any(|proof| matches!(proof, Proof::AtBase { passed, .. } if *passed > 0))
}

/// Where the change is that a regression comes from.
fn first_place(proofs: &[Proof]) -> String {
    let file = proofs.iter().find_map(|proof| match proof {
        Proof::TouchesChange { files, .. } => files.first(),
        _ => None,
    });
    match file {
        Some(TouchedFile { path, touch: Touch::Executed(lines) }) if !lines.is_empty() => {
            format!(", beginning at {}", literal(&format!("{path}:{}", lines[0])))
        }
        Some(file) => format!(", beginning at {}", literal(&file.path)),
        None => String::new(),
    }
}

/// One reason in one line.
pub(super) fn reason(proof: &Proof) -> String {
    match proof {
        Proof::PassedAgain { phase, failures_before } => {
            let after = match failures_before {
                0 => String::new(),
                failures => format!(", after {}", count((*failures).into(), "failure")),
            };
            format!("passed {}{after}", when(*phase))
        }
        Proof::FailedAgain { failed, runs } => {
            format!(
                "passed in the suite, then failed {} of {}",
                number((*failed).into()),
                count((*runs).into(), "rerun")
            )
        }
        Proof::AlwaysFailed { attempts, processes } => {
            let often = match attempts {
                0 | 1 => return "failed the only time it ran".to_owned(),
                2 => "both times".to_owned(),
                _ => format!("all {}", times((*attempts).into())),
            };
            let processes = match processes {
                0 => String::new(),
                1 => ", in one process".to_owned(),
                _ => format!(", in {}", plural((*processes).into(), "process", "processes")),
            };
            format!("failed {often} it ran{processes}")
        }
        Proof::HashSeed { failing, passing } => {
            format!("fails with the hash seed {failing} and passes with {passing}")
        }
        Proof::TouchesChange { files, changed } => {
            let mut named: Vec<_> = files.iter().take(FILES).map(touched).collect();
            let more = files.len().saturating_sub(FILES) as u64;
            if more > 0 {
                named.push(format!("and {more} more"));
            }
            let all = plural((*changed).into(), "changed file", "changed files");
            format!("depends on {} of {all}: {}", number(files.len() as u64), named.join(", "))
        }
        Proof::UntouchedByChange { changed, dependencies } => {
            let changed = match changed {
                1 => "not on the one that changed".to_owned(),
                _ => format!("on none of the {} that changed", number((*changed).into())),
            };
            format!("depends on {}, {changed}", count((*dependencies).into(), "file"))
        }
        Proof::DependenciesUnknown { reason } => {
            format!("not all of its dependencies could be observed: {}", foreign(reason))
        }
        Proof::AtBase { commit, passed, failed, source } => {
            let source = match source {
                BaseSource::Run => "run now",
                BaseSource::History => "from history",
            };
            let outcomes = match (passed, failed) {
                (passed, 0) => format!("passed {}", times((*passed).into())),
                (0, failed) => format!("failed {}", times((*failed).into())),
                (passed, failed) => {
                    format!("passed {} and failed {}", times((*passed).into()), times((*failed).into()))
                }
            };
            format!("{outcomes} at the base {} ({source})", commit_literal(commit))
        }
        Proof::NothingChanged { commit } => {
            format!("nothing changed since the base {}", commit_literal(commit))
        }
        Proof::OtherFailureAtBase { commit, kind } => {
            let kind = kind.as_ref().map_or_else(String::new, |kind| format!(" ({})", literal(kind)));
            format!(
                "fails with another error at the base {}{kind}, which decides nothing",
                commit_literal(commit)
            )
        }
        Proof::SeenWithoutChange { failures, commits } => {
            format!(
                "failed like this {} without this change, on {}",
                times(*failures),
                count(*commits, "commit")
            )
        }
        Proof::EveryWholeRun { runs } => match runs {
            1 => "passed only alone, never in the suite's process".to_owned(),
            runs => format!("failed in every whole run of the suite: {} of {}", number(*runs), number(*runs)),
        },
        Proof::MoreOften { here, before } => format!(
            "fails more often than without this change: {} of {} reruns here, {} of {} runs before",
            number(here.0),
            number(here.1),
            number(before.0),
            number(before.1)
        ),
        Proof::InstalledDiffers { packages } => {
            let mut named: Vec<String> =
                packages.iter().take(FILES).map(|package| foreign(package)).collect();
            let more = packages.len().saturating_sub(FILES) as u64;
            if more > 0 {
                named.push(format!("and {more} more"));
            }
            format!("installed since it last passed: {}", named.join(", "))
        }
        Proof::KnownFlaky { failures: 0, .. } => {
            "both passed and failed on other revisions, but never failed like this".to_owned()
        }
        Proof::KnownFlaky { failures, revisions } => {
            format!(
                "failed like this {} on {}, which may already contain this change",
                times(*failures),
                count(*revisions, "other revision")
            )
        }
        Proof::SharedFailure { tests, representative } => {
            let runner = representative
                .as_ref()
                .map_or_else(String::new, |name| format!("; {} was rerun for all of them", literal(name)));
            format!("{} failed in the same way at the same time{runner}", count((*tests).into(), "test"))
        }
        Proof::TooManyFailures { failed, ran } => {
            format!("{} of {} failed", number(*failed), count(*ran, "test"))
        }
    }
}

fn when(phase: Phase) -> &'static str {
    match phase {
        Phase::First => "in the suite",
        Phase::Retry => "when the runner tried again",
        Phase::Rerun => "when run again at once, in the same process",
        Phase::Postpone => "when run again after the suite, in the same process",
        Phase::Fork => "alone, in a fork from before the first test",
        Phase::Fresh => "alone, in a new process",
        Phase::Order => "in another order of the tests",
        Phase::Base => "on the base revision",
    }
}

fn touched(file: &TouchedFile) -> String {
    let path = literal(&file.path);
    match &file.touch {
        Touch::Executed(lines) if lines.is_empty() => format!("executes {path}"),
        Touch::Executed(lines) => format!("executes {} of {path}", line_numbers(lines, RANGES)),
        Touch::Loaded => format!("loads {path}"),
        Touch::Opened => format!("opens {path}"),
        Touch::LookedFor => format!("looks for {path}"),
        Touch::Configured(keys) => match keys.as_slice() {
            [] => format!("is configured by {path}"),
            [key] => format!("is configured by {} in {path}", literal(key)),
            [key, rest @ ..] => {
                let keys = plural(rest.len() as u64, "other key", "other keys");
                format!("is configured by {} and {keys} in {path}", literal(key))
            }
        },
    }
}

/// Failures besides the first one, by what they have in common: `failed in another way
/// twice: …`. A flaky test can hide a regression like this.
pub(super) fn other_failures(attempts: &[Attempt]) -> Vec<String> {
    let failures =
        attempts.iter().filter(|attempt| attempt.outcome.is_failure() && attempt.phase != Phase::Base);
    let mut groups: Vec<(&Failure, u64)> = Vec::new();
    for failure in failures.filter_map(|attempt| attempt.failure.as_deref()) {
        match groups.iter_mut().find(|(known, _)| known.fingerprint == failure.fingerprint) {
            Some((_, count)) => *count += 1,
            None => groups.push((failure, 1)),
        }
    }
    let others = groups.into_iter().skip(1).take(OTHERS);
    let said = |(failure, count): (&Failure, u64)| {
        let line = failure_line(failure.kind.as_deref(), &failure.message, WIDTH);
        format!("failed in another way {}: {}", times(count), literal(&line))
    };
    others.map(said).collect()
}

/// All attempts by outcome: `failed: first, rerun   passed: alone in a fork`,
/// with a separator that shows. Nothing if there was but one.
pub(super) fn attempts(attempts: &[Attempt], separator: &str) -> Option<String> {
    if attempts.len() < 2 {
        return None;
    }
    let mut outcomes: Vec<Outcome> = Vec::new();
    for attempt in attempts {
        if !outcomes.contains(&attempt.outcome) {
            outcomes.push(attempt.outcome);
        }
    }
    // What speaks for the test comes last, where the eye ends up.
    outcomes.sort_by_key(|outcome| *outcome == Outcome::Passed);
    let mut groups = Vec::new();
    for outcome in outcomes {
        let rungs: Vec<_> = Phase::ALL
            .into_iter()
            .filter_map(|phase| {
                let same = |attempt: &&Attempt| attempt.phase == phase && attempt.outcome == outcome;
                match attempts.iter().filter(same).count() {
                    0 => None,
                    1 => Some(rung(phase).to_owned()),
                    times => Some(format!("{} ×{times}", rung(phase))),
                }
            })
            .collect();
        if !rungs.is_empty() {
            groups.push(format!("{}: {}", outcome.name().replace('-', " "), rungs.join(", ")));
        }
    }
    Some(groups.join(separator))
}

fn rung(phase: Phase) -> &'static str {
    match phase {
        Phase::First => "first",
        Phase::Retry => "retry",
        Phase::Rerun => "rerun",
        Phase::Postpone => "postponed",
        Phase::Fork => "alone in a fork",
        Phase::Fresh => "alone in a new process",
        Phase::Order => "in another order",
        Phase::Base => "at the base",
    }
}

/// How the tests ended, in one line, without times.
pub(super) fn totals(report: &RunReport) -> String {
    let of = |name: &str| {
        report.failures.iter().filter(|failure| failure.verdict.headline() == name).count() as u64
    };
    let told = report.failures.len() as u64;
    let mut parts = Vec::new();
    let mut add = |value: u64, one: &str, many: &str| {
        if value > 0 {
            parts.push(plural(value, one, many));
        }
    };
    add(of("new-flake"), "new flake", "new flakes");
    add(of("flaky"), "flaky", "flaky");
    add(of("regression"), "regression", "regressions");
    add(of("broken-before"), "broken before", "broken before");
    add(of("environment"), "environment failure", "environment failures");
    add(of("infrastructure"), "infrastructure failure", "infrastructure failures");
    add(of("undecided"), "undecided", "undecided");
    add(report.counts.failed.saturating_sub(told), "other failure", "other failures");
    let quarantined = report.failures.iter().filter(|failure| failure.is_quarantined()).count();
    add(quarantined as u64, "of them quarantined", "of them quarantined");
    add(report.lost.len() as u64, "lost", "lost");
    add(report.uncollected.len() as u64, "file not collected", "files not collected");
    let found = report.failures.iter().filter(|failure| failure.passed_in_suite()).count();
    parts.push(format!("{} passed", number(report.counts.passed.saturating_sub(found as u64))));
    if report.counts.skipped > 0 {
        parts.push(format!("{} skipped", number(report.counts.skipped)));
    }
    parts.join(", ")
}

/// How the tests ended and how long that took, in one line.
pub(super) fn summary(report: &RunReport) -> String {
    format!("{} in {}", totals(report), took(report))
}

/// How long the suite took, and what came after it.
pub(super) fn took(report: &RunReport) -> String {
    let reruns = match report.reruns {
        0 => String::new(),
        reruns => {
            format!(" ({}, {} after the suite)", count(reruns, "rerun"), duration(report.triage_time))
        }
    };
    format!("{}{reruns}", duration(report.suite_time))
}

/// What reruns of new and changed tests showed.
pub(super) fn review(review: &Review) -> String {
    let tests = plural(review.tests, "new or changed test", "new or changed tests");
    if review.tests == 0 {
        return "no new or changed tests to rerun".to_owned();
    }
    if review.runs == 0 {
        return format!("{tests} not rerun");
    }
    let found = match (review.flaky, review.tests) {
        (0, _) => "no flaky test found".to_owned(),
        (1, 1) => "it is flaky".to_owned(),
        (1, _) => "1 of them is flaky".to_owned(),
        (flaky, _) => format!("{} of them are flaky", number(flaky)),
    };
    let took = duration(review.time);
    let (fewest, most) = review.each;
    if review.flaky == review.tests {
        return format!("reran {tests} {} in {took}: {found}", times(review.runs));
    }
    let often =
        if fewest == most { times(fewest.into()) } else { format!("{fewest} to {}", times(most.into())) };
    let limit = if fewest < review.goal {
        format!("; the time limit was {}, see `--share`", duration(review.budget))
    } else {
        String::new()
    };
    let rate = Probability::clamped(review.rate);
    let shows = range("found", std::iter::once(review.shows()));
    format!(
        "reran {tests} {often} in {took}: {found}; for one that fails randomly in {rate} of runs, {shows}{limit}"
    )
}

/// What the run was compared with.
pub(super) fn change(report: &RunReport) -> String {
    let Some(change) = &report.change else {
        return "not compared: no base revision is known".to_owned();
    };
    let uncommitted = if change.uncommitted { ", uncommitted work included" } else { "" };
    format!(
        "compared with {} ({}): {} changed{uncommitted}",
        commit_literal(&change.base),
        foreign(&change.found),
        count(change.files.into(), "file"),
    )
}

/// How the build ends, where that is not what the runner said, or where no
/// test explains what the runner said.
pub(super) fn exit(report: &RunReport) -> Option<String> {
    let exit = report.exit;
    let same = exit.runner == Some(exit.code.into());
    let unexplained = report.failures.is_empty() && report.counts.failed == 0 && report.lost.is_empty();
    if exit.reason == ExitReason::Tolerated && same {
        return Some(format!("exit code {}: all failures are {}", exit.code, forgiven(report)));
    }
    if same && exit.code != 0 && unexplained {
        return Some(format!("exit code {}, from the command, though no test failed", exit.code));
    }
    if same {
        return None;
    }
    let runner = match exit.runner {
        Some(code) => format!("the command exited with {code}"),
        None => "a signal ended the command".to_owned(),
    };
    let reason = match exit.reason {
        ExitReason::Runner if exit.runner == Some(0) => ", but a failing test had ended its process",
        ExitReason::Runner => "",
        ExitReason::Tolerated => {
            return Some(format!("exit code {}: {runner}; all failures are {}", exit.code, forgiven(report)));
        }
        ExitReason::NotTolerated => "; some failures are not tolerated",
        ExitReason::Lost => "; the run is not complete, so it cannot be green",
        ExitReason::FoundFlaky => "; a new or changed test is flaky",
    };
    Some(format!("exit code {}: {runner}{reason}", exit.code))
}

/// Why no failure of a green build counts.
fn forgiven(report: &RunReport) -> &'static str {
    match report.failures.iter().filter(|failure| failure.is_quarantined()).count() {
        0 => "tolerated",
        some if some == report.failures.len() => "quarantined",
        _ => "quarantined or tolerated",
    }
}

/// What the quarantine says about a failure: a label, and the rest.
pub(super) fn quarantine(said: &Quarantined, test: &TestId) -> (&'static str, String) {
    let owner = literal(&said.owner);
    let until = said.until;
    let is_own = said.entry == test.as_str();
    let pattern = if is_own { String::new() } else { format!(" by {}", literal(&said.entry)) };
    let text = match said.status {
        QuarantineStatus::Forgiven => {
            let issue =
                said.issue.as_deref().map_or_else(String::new, |issue| format!(" ({})", literal(issue)));
            let reason = foreign(&said.reason).replace('`', "'");
            return ("quarantined", format!("until {until}{pattern}, owner {owner}: {reason}{issue}"));
        }
        QuarantineStatus::Expired => format!("the quarantine{pattern} expired after {until}; owner {owner}"),
        QuarantineStatus::OtherFailure => format!(
            "quarantined until {until}{pattern}, but it failed in a way that the entry does not list; owner {owner}"
        ),
        QuarantineStatus::Crashed => format!(
            "quarantined until {until}{pattern}, but crashes and time-outs are never forgiven; owner {owner}"
        ),
        QuarantineStatus::Regression => format!(
            "quarantined until {until}{pattern} for any failure, but this one is a regression; owner {owner}"
        ),
        QuarantineStatus::TooManyFailures => format!(
            "quarantined until {until}{pattern} for any failure, but too many tests failed to judge this one; \
             owner {owner}"
        ),
    };
    ("not forgiven", text)
}

/// Why a failure is not tolerated.
pub(super) fn refusal(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::NeverPassed => "it never passed on this code",
        Refusal::NewFlake => "this change introduced it",
        Refusal::NotKnown => "the same failure was never seen without this change",
        Refusal::MayTouchChange => {
            "it, or a test before it, may depend on this change; the same failure was never seen without it"
        }
        Refusal::UnknownCrash => "it crashed or timed out, which was never seen without this change",
        Refusal::EveryWholeRun => "it fails whenever the whole suite runs",
        Refusal::MoreOften => "it fails more often than without this change",
        Refusal::AnotherFailure => "it also failed in a way that was never seen without this change",
        Refusal::QuarantineExpired => "its quarantine has expired",
    }
}

/// The test as its runner names it.
pub(super) fn name(failure: &TestFailure) -> String {
    test(&failure.name)
}

/// A test by the name its runner has for it.
pub(crate) fn test(name: &str) -> String {
    Foreign::new(name).cut(NAME)
}

/// Where a test failed.
pub(super) fn place(failure: &TestFailure) -> Option<String> {
    failure.place.as_ref().map(|(file, line)| format!("{}:{line}", Foreign::new(file).cut(NAME)))
}

/// Text of others inside a sentence of ours.
pub(super) fn foreign(text: &str) -> String {
    Foreign::new(text.trim()).cut(NAME)
}

fn commit_literal(commit: &str) -> String {
    literal(&short_commit(commit))
}

fn literal(text: &str) -> String {
    format!("`{}`", Foreign::new(text).cut(NAME).replace('`', "'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_agree_with_their_numbers() {
        let always = |attempts, processes| reason(&Proof::AlwaysFailed { attempts, processes });
        assert_eq!(always(1, 1), "failed the only time it ran");
        assert_eq!(always(2, 1), "failed both times it ran, in one process");
        assert_eq!(always(5, 3), "failed all 5 times it ran, in 3 processes");
        let untouched = |changed| reason(&Proof::UntouchedByChange { changed, dependencies: 41 });
        assert_eq!(untouched(3), "depends on 41 files, on none of the 3 that changed");
        assert_eq!(untouched(1), "depends on 41 files, not on the one that changed");
        let known = |failures| reason(&Proof::KnownFlaky { failures, revisions: failures });
        assert_eq!(
            known(1),
            "failed like this once on 1 other revision, which may already contain this change"
        );
        assert_eq!(known(0), "both passed and failed on other revisions, but never failed like this");
    }

    #[test]
    fn several_probabilities_are_a_range() {
        let of = |values: &[f64]| range("flaky", values.iter().map(|value| Probability::clamped(*value)));
        assert_eq!(of(&[0.2]), "P(flaky) = 20 %");
        assert_eq!(of(&[0.0001]), "P(flaky) < 0.1 %");
        assert_eq!(of(&[0.2, 0.4, 0.3]), "P(flaky) = 20 % to 40 %");
    }
}
