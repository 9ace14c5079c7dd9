//! How an attempt ended and why, from what each dialect says.

use std::sync::Arc;

use flakewise_model::{Failure, Outcome};

use crate::Dialect;
use crate::element::Element;

/// The longest type of a failure that is kept, in bytes.
const KIND_LIMIT: usize = 512;

/// What an element such as `<failure>` says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Said<'a> {
    pub(crate) element: Element,
    pub(crate) kind: &'a str,
    pub(crate) message: &'a str,
    /// The text inside.
    pub(crate) text: &'a str,
}

/// What it comes to.
#[derive(Debug, PartialEq)]
pub(crate) struct Ending {
    pub(crate) outcome: Outcome,
    pub(crate) failure: Option<Box<Failure>>,
    /// The worker that died.
    pub(crate) worker: Option<Arc<str>>,
}

/// Makes sense of what an element says.
pub(crate) fn ending(dialect: Dialect, said: Said<'_>) -> Ending {
    if said.element == Element::Skipped {
        let reason = match (dialect, said.message) {
            (_, "") => said.text.trim(),
            (Dialect::Go, message) => go_message(message).unwrap_or(message),
            (Dialect::GoogleTest, message) => without_place(message).trim(),
            (_, message) => message,
        };
        let failure = (!reason.is_empty()).then(|| Box::new(Failure::skip(reason)));
        return Ending { outcome: Outcome::Skipped, failure, worker: None };
    }
    let outcome = outcome(dialect, said);
    let kind = kind(dialect, said).map(|kind| &kind[..kind.floor_char_boundary(KIND_LIMIT)]);
    let message = message(dialect, said);
    let nothing = kind.is_none() && message.trim().is_empty() && said.text.trim().is_empty();
    Ending {
        outcome,
        failure: (!nothing).then(|| Box::new(Failure::new(kind, message, said.text))),
        worker: dead_worker(said.message).filter(|_| dialect == Dialect::Pytest).map(Into::into),
    }
}

/// Tells time-outs and crashes from other failures.
fn outcome(dialect: Dialect, said: Said<'_>) -> Outcome {
    let Said { element, kind, message, text } = said;
    let (timed_out, crashed) = match dialect {
        // `Failed: Timeout (>1.0s) from pytest-timeout.` and, from a worker of
        // pytest-xdist that died, `worker 'gw0' crashed while running …`.
        Dialect::Pytest => (message.starts_with("Failed: Timeout"), dead_worker(message).is_some()),
        Dialect::Surefire | Dialect::Gradle | Dialect::Java => (
            kind == "org.junit.runners.model.TestTimedOutException"
                || (kind == "java.util.concurrent.TimeoutException" && message.contains("timed out after")),
            kind.ends_with("SurefireBooterForkException")
                || message.contains("The forked VM terminated")
                || message.contains("Crashed tests:"),
        ),
        // A panic ends the process, and the tests after it are lost.
        Dialect::Go => {
            let timed_out = text.contains("panic: test timed out after");
            let died =
                || text.lines().any(|line| line.starts_with("panic: ") || line.starts_with("fatal error: "));
            (timed_out, !timed_out && died())
        }
        Dialect::Nextest => (kind.ends_with(" timeout"), kind.contains(" abort")),
        Dialect::Vitest => (message.starts_with("Test timed out in "), false),
        Dialect::Jest => (text.contains("Exceeded timeout of "), false),
        Dialect::Playwright => (is_playwright_timeout(message), false),
        Dialect::Node => (kind == "testTimeoutFailure", false),
        Dialect::CTest => (
            message == "Timeout",
            matches!(message, "SEGFAULT" | "ILLEGAL" | "NUMERICAL" | "OTHER_FAULT" | "INTERRUPT")
                || message.starts_with("Subprocess aborted")
                || message.starts_with("Exception:"),
        ),
        Dialect::PhpUnit => (text.contains("This test was aborted after "), false),
        _ => (false, false),
    };
    match element {
        _ if timed_out => Outcome::TimedOut,
        _ if crashed => Outcome::Crashed,
        Element::Error | Element::FlakyError | Element::RerunError => Outcome::Errored,
        _ => Outcome::Failed,
    }
}

/// `Test timeout of 30000ms exceeded.`
fn is_playwright_timeout(message: &str) -> bool {
    message.starts_with("Test timeout of ") || message.starts_with("Worker teardown timeout of ")
}

/// The worker in `worker 'gw0' crashed while running 'tests/…'`.
fn dead_worker(message: &str) -> Option<&str> {
    let (worker, rest) = message.strip_prefix("worker '")?.split_once('\'')?;
    rest.starts_with(" crashed").then_some(worker)
}

/// The type of the failure.
fn kind(dialect: Dialect, said: Said<'_>) -> Option<&str> {
    let given = Some(said.kind.trim()).filter(|kind| !kind.is_empty());
    match dialect {
        // pytest writes no type, but ends each trace with it.
        Dialect::Pytest if given.is_none() => pytest_kind(said.text).or_else(|| leading_type(said.message)),
        _ => given,
    }
}

/// The type in the last line of a trace, `tests/test_cart.py:20: ValueError`.
fn pytest_kind(text: &str) -> Option<&str> {
    let (place, kind) = text.trim_end().rsplit('\n').next()?.rsplit_once(": ")?;
    let (_, line) = place.rsplit_once(':')?;
    let is_line = !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit());
    Some(kind).filter(|kind| is_line && is_dotted_name(kind))
}

/// The type in `ValueError: no such order`.
fn leading_type(message: &str) -> Option<&str> {
    let (kind, _) = message.split_once(": ")?;
    let last = kind.rsplit('.').next()?;
    Some(kind).filter(|kind| is_dotted_name(kind) && last.starts_with(|first: char| first.is_uppercase()))
}

fn is_dotted_name(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|character| character.is_alphanumeric() || matches!(character, '_' | '.'))
}

/// The message, where the given one says little.
fn message(dialect: Dialect, said: Said<'_>) -> &str {
    let Said { message, text, .. } = said;
    match dialect {
        Dialect::Go if matches!(message, "" | "Failed") => go_message(text).unwrap_or(message),
        Dialect::GoogleTest => without_place(message),
        Dialect::Nextest => panic_message(text).unwrap_or(message),
        // The first line repeats the name of the test.
        Dialect::PhpUnit if message.is_empty() => {
            text.trim_start().split_once('\n').map_or(text, |(_, rest)| rest)
        }
        Dialect::Catch2 if message.is_empty() => {
            let text = text.trim_start();
            text.strip_prefix("FAILED:").unwrap_or(text)
        }
        Dialect::CTest if message.is_empty() => telling_part(text).unwrap_or(message),
        _ => message,
    }
}

/// The line of a Go test's output that says most: one from the test itself,
/// `    cart_test.go:41: bad total`, or of a panic, or else the first that is not
/// about the test's progress.
fn go_message(text: &str) -> Option<&str> {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let from_test = |line: &&str| {
        let place = line.split_once(": ").and_then(|(place, _)| place.split_once(".go:"));
        place
            .is_some_and(|(file, line)| !file.contains(' ') && line.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let begins = |line: &&str, prefixes: &[&str]| prefixes.iter().any(|prefix| line.starts_with(prefix));
    lines()
        .find(from_test)
        .or_else(|| lines().find(|line| begins(line, &["panic: ", "fatal error: "])))
        .or_else(|| lines().find(|line| !begins(line, &["=== ", "--- ", "FAIL", "exit status"])))
        .or_else(|| lines().find(|line| !begins(line, &["=== ", "--- "])))
}

/// What a Rust test panicked with. nextest's own message is the line before,
/// `thread 'adds' panicked at src/cart.rs:9:5`.
fn panic_message(text: &str) -> Option<&str> {
    let (place, message) = text.trim_start().split_once('\n')?;
    let message = message.split("\nnote: run with `RUST_BACKTRACE").next().unwrap_or(message);
    (place.starts_with("thread ") && place.contains(" panicked at ")).then_some(message)
}

/// A message of GoogleTest without the place in front, a line of its own.
fn without_place(message: &str) -> &str {
    let Some((place, rest)) = message.split_once('\n') else {
        return message;
    };
    let is_line = |(_, line): (&str, &str)| line.bytes().all(|byte| byte.is_ascii_digit());
    if place != "unknown file" && !place.rsplit_once(':').is_some_and(is_line) {
        return message;
    }
    rest.strip_prefix("Failed\n").unwrap_or(rest)
}

/// The part of a program's output that speaks of something going wrong.
fn telling_part(text: &str) -> Option<&str> {
    // GoogleTest's `cart_test.cc:41: Failure`, with the message below.
    let mut rest = text;
    while let Some((line, after)) = rest.split_once('\n') {
        if line.ends_with(": Failure") {
            return Some(after.strip_prefix("Failed\n").unwrap_or(after));
        }
        rest = after;
    }
    let words = ["fail", "error", "assert", "exception", "panic", "abort"];
    text.lines().map(str::trim).find(|line| {
        let line = line.to_ascii_lowercase();
        words.iter().any(|word| line.contains(word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(dialect: Dialect, element: Element, kind: &str, message: &str, text: &str, expected: &str) {
        let ending = ending(dialect, Said { element, kind, message, text });
        let failure = ending.failure.map_or("-".into(), |failure| {
            format!(
                "{}: {}",
                failure.kind.as_deref().unwrap_or("?"),
                failure.message.lines().next().unwrap_or("")
            )
        });
        assert_eq!(format!("{} {failure}", ending.outcome), expected);
    }

    #[test]
    fn timeouts_and_crashes_are_told_from_failures() {
        use Element::{Error, Failure, RerunFailure};
        check(
            Dialect::Pytest,
            Failure,
            "",
            "Failed: Timeout (>1.0s) from pytest-timeout.",
            "",
            "timed-out Failed: Failed: Timeout (>1.0s) from pytest-timeout.",
        );
        check(
            Dialect::Pytest,
            Failure,
            "",
            "worker 'gw1' crashed while running 'x'",
            "",
            "crashed ?: worker 'gw1' crashed while running 'x'",
        );
        check(
            Dialect::Surefire,
            Error,
            "java.util.concurrent.TimeoutException",
            "slow() timed out after 1 second",
            "",
            "timed-out java.util.concurrent.TimeoutException: slow() timed out after 1 second",
        );
        check(
            Dialect::Surefire,
            Error,
            "java.util.concurrent.TimeoutException",
            "no answer",
            "",
            "errored java.util.concurrent.TimeoutException: no answer",
        );
        check(
            Dialect::Go,
            Failure,
            "",
            "Failed",
            "=== RUN TestX\npanic: test timed out after 1s\n",
            "timed-out ?: panic: test timed out after 1s",
        );
        check(
            Dialect::Go,
            Failure,
            "",
            "Failed",
            "=== RUN TestX\n--- FAIL: TestX\npanic: boom\n",
            "crashed ?: panic: boom",
        );
        check(Dialect::Nextest, RerunFailure, "test timeout", "", "", "timed-out test timeout: ");
        check(
            Dialect::Nextest,
            Failure,
            "test abort (leaked handles)",
            "",
            "",
            "crashed test abort (leaked handles): ",
        );
        check(
            Dialect::Nextest,
            Failure,
            "test failure with exit code 101",
            "m",
            "",
            "failed test failure with exit code 101: m",
        );
        check(Dialect::CTest, Failure, "", "Timeout", "", "timed-out ?: Timeout");
        check(Dialect::CTest, Failure, "", "SEGFAULT", "", "crashed ?: SEGFAULT");
        check(
            Dialect::Unknown,
            Failure,
            "",
            "Test timed out in 5 ms",
            "",
            "failed ?: Test timed out in 5 ms",
        );
    }

    #[test]
    fn what_runners_leave_out_is_found_in_the_text() {
        use Element::{Error, Failure, Skipped};
        check(
            Dialect::Pytest,
            Failure,
            "",
            "assert 1 == 2",
            "E assert\n\ntests/test_a.py:3: AssertionError",
            "failed AssertionError: assert 1 == 2",
        );
        check(
            Dialect::Pytest,
            Failure,
            "",
            "acme.CartError: no",
            "",
            "failed acme.CartError: acme.CartError: no",
        );
        check(Dialect::GoogleTest, Failure, "", "/b/x.cc:17\nFailed\nno order", "", "failed ?: no order");
        check(
            Dialect::PhpUnit,
            Error,
            "E",
            "",
            "Acme\\T::testX\nE: boom\n\n/b/x.php:3",
            "errored E: E: boom",
        );
        check(Dialect::CTest, Failure, "", "", "Note: filter\nx.cc:3: Failure\nFailed\nno\n", "failed ?: no");
        check(
            Dialect::Nextest,
            Failure,
            "k",
            "thread 'x' panicked at src/a.rs:1:2",
            "thread 'x' (7) panicked at src/a.rs:1:2:\nboom\nnote: run with `RUST_BACKTRACE=1`",
            "failed k: boom",
        );
        check(Dialect::Catch2, Failure, "FAIL", "", "\nFAILED:\nno order", "failed FAIL: no order");
        check(
            Dialect::Go,
            Failure,
            "",
            "Failed",
            "=== RUN TestX\nhello\n    x_test.go:3: no\n--- FAIL",
            "failed ?: x_test.go:3: no",
        );
        check(
            Dialect::Go,
            Failure,
            "",
            "Failed",
            "=== RUN TestX\n--- FAIL: TestX (0.00s)\n",
            "failed ?: Failed",
        );
        check(
            Dialect::Go,
            Failure,
            "",
            "Failed",
            "FAIL\tx/y [build failed]\n",
            "failed ?: FAILx/y [build failed]",
        );
        check(Dialect::GoogleTest, Skipped, "", "/b/x.cc:17\nnot here", "", "skipped ?: not here");
        check(Dialect::Unknown, Failure, "", "", " ", "failed -");
        check(Dialect::Unknown, Skipped, "", "", "not today\n", "skipped ?: not today");
        check(Dialect::Unknown, Skipped, "", "", "", "skipped -");
    }
}
