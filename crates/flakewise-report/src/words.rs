//! Numbers, plurals, times and names in words.

use std::time::Duration;

use flakewise_model::{Foreign, Probability, Revision, TestId, Timestamp};

/// `1 test`, `2 tests`, `12,345 tests`.
pub fn count(count: u64, noun: &str) -> String {
    let end = if count == 1 { "" } else { "s" };
    format!("{} {noun}{end}", number(count))
}

/// A whole number with commas between groups of three digits.
pub fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 test fails`, `2 tests fail`.
pub fn plural(value: u64, one: &str, many: &str) -> String {
    format!("{} {}", number(value), if value == 1 { one } else { many })
}

/// `once`, `twice`, `3 times`.
pub(crate) fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        _ => format!("{} times", number(count)),
    }
}

/// A length of time in its two largest units: `41.2s`, `6m 02s`, `3h 20m`.
pub fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0 if duration.as_millis() < 1 => "0s".to_owned(),
        0 => format!("{}ms", duration.as_millis()),
        1..60 => format!("{:.1}s", duration.as_secs_f64()),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{}h {:02}m", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{}d {:02}h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

/// The day of a point in time.
pub(crate) fn day(at: Timestamp) -> String {
    at.format("%Y-%m-%d").to_string()
}

/// Day and minute of a point in time.
pub(crate) fn minute(at: Timestamp) -> String {
    at.format("%Y-%m-%d %H:%M").to_string()
}

/// A commit as people write it. One that is no hash comes from outside.
pub fn short_commit(commit: &str) -> String {
    let is_hash = commit.len() >= 12 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hash { commit[..9].to_owned() } else { Foreign::new(commit).line() }
}

pub(crate) fn revision(revision: &Revision) -> String {
    match revision {
        Revision::Commit(commit) => format!("commit {}", short_commit(commit)),
        Revision::Run(run) => format!("the code of run {}", Foreign::new(run.as_str()).line()),
    }
}

/// A test's id without its scheme, for printing: what people know from their
/// runner.
pub(crate) fn test_name(test: &TestId) -> String {
    Foreign::new(test.without_scheme()).line()
}

/// The first line of a message, cut to a width.
pub(crate) fn headline(message: &str, width: usize) -> String {
    use unicode_width::UnicodeWidthChar as _;
    let line = message.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("");
    let mut out = String::new();
    let mut used = 0;
    for character in line.chars() {
        used += character.width().unwrap_or(0);
        if used > width.saturating_sub(1) && out.len() + character.len_utf8() < line.len() {
            out.push('…');
            break;
        }
        out.push(character);
    }
    out
}

/// What went wrong in one line: the type, and the message if it adds anything.
pub(crate) fn failure_line(kind: Option<&str>, message: &str, width: usize) -> String {
    let kind = kind.map(str::trim).filter(|kind| !kind.is_empty()).unwrap_or("failure");
    let message = headline(message, width.saturating_sub(kind.len()));
    let line = if message.is_empty() {
        kind.to_owned()
    } else if message.starts_with(kind) {
        message
    } else {
        format!("{kind}: {message}")
    };
    Foreign::new(&line).cut(2 * width)
}

/// `99.2 % sure`, and never more than 99.9.
pub(crate) fn sureness(chance: Probability) -> String {
    let percent = (chance.get() * 1000.0).floor() / 10.0;
    format!("{} % sure", if percent >= 99.9 { "99.9".to_owned() } else { format!("{percent}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_agree_with_their_nouns() {
        assert_eq!(count(0, "test"), "0 tests");
        assert_eq!(count(1, "test"), "1 test");
        assert_eq!(count(1_234_567, "run"), "1,234,567 runs");
    }

    #[test]
    fn durations_have_two_units() {
        let text = |millis| duration(Duration::from_millis(millis));
        assert_eq!(text(0), "0s");
        assert_eq!(text(250), "250ms");
        assert_eq!(text(41_230), "41.2s");
        assert_eq!(text(362_000), "6m 02s");
        assert_eq!(text(12_000_000), "3h 20m");
        assert_eq!(text(200_000_000), "2d 07h");
    }

    #[test]
    fn failures_are_one_line() {
        assert_eq!(failure_line(Some("::error"), "x\ny", 80), "\\u{3a}:error: x");
        assert_eq!(failure_line(Some(" "), "boom", 80), "failure: boom");
        assert_eq!(failure_line(None, "", 80), "failure");
    }

    #[test]
    fn headlines_fit() {
        assert_eq!(headline("\n  one two three\nfour", 8), "one two…");
        assert_eq!(headline("short", 8), "short");
        assert_eq!(headline("", 8), "");
    }
}
