//! Numbers and times as runners write them.

use std::time::Duration;

use chrono::{DateTime, Datelike as _, NaiveDate, NaiveDateTime, Utc};
use flakewise_model::Timestamp;

use crate::issue::{IssueKind, quote};

/// Longer than any test runs: ten years.
const LONGEST: u64 = 10 * 366 * 24 * 3600;

/// Reads a duration in seconds.
///
/// `0.012`, `1e-05` and `12` are plain. `1,234.5` and `1.234,5` have a
/// thousands separator. A lone comma is a decimal comma, as in `0,003`: runners
/// that write locale-dependent numbers write three decimals. `0.5s` and `7ms`
/// carry a unit.
pub(crate) fn duration(text: &str) -> Result<Duration, IssueKind> {
    if let Some(duration) = plain_decimal(text.as_bytes()) {
        return in_range(duration, text);
    }
    let not_a_number = || IssueKind::TimeNotANumber { text: quote(text) };
    let trimmed = text.trim();
    let (number, milliseconds) = match trimmed.strip_suffix("ms") {
        Some(number) => (number, true),
        None => (trimmed.strip_suffix('s').unwrap_or(trimmed), false),
    };
    let number = number.trim_end().replace(['\u{a0}', '\u{202f}', '\''], "");
    let number = match (number.rfind(','), number.rfind('.')) {
        (Some(comma), Some(point)) if comma < point => number.replace(',', ""),
        (Some(_), Some(_)) => number.replace('.', "").replace(',', "."),
        (Some(first), None) if number.find(',') == Some(first) => number.replace(',', "."),
        (Some(_), None) => number.replace(',', ""),
        (None, Some(last)) if number.find('.') != Some(last) => number.replace('.', ""),
        (None, _) => number,
    };
    if !milliseconds && let Some(duration) = plain_decimal(number.as_bytes()) {
        return in_range(duration, text);
    }
    let seconds: f64 = number.parse().map_err(|_| not_a_number())?;
    if seconds.is_nan() {
        return Err(not_a_number());
    }
    let seconds = if milliseconds { seconds / 1000.0 } else { seconds };
    let duration =
        Duration::try_from_secs_f64(seconds).map_err(|_| IssueKind::TimeOutOfRange { text: quote(text) })?;
    in_range(duration, text)
}

fn in_range(duration: Duration, text: &str) -> Result<Duration, IssueKind> {
    if duration.as_secs() < LONGEST {
        Ok(duration)
    } else {
        Err(IssueKind::TimeOutOfRange { text: quote(text) })
    }
}

/// Digits with at most one point among them, exact to the nanosecond.
fn plain_decimal(bytes: &[u8]) -> Option<Duration> {
    let mut seconds: u64 = 0;
    let mut at = 0;
    while let Some(digit) = digit_at(bytes, at) {
        seconds = seconds.checked_mul(10)?.checked_add(digit.into())?;
        at += 1;
    }
    let whole = at;
    let mut nanos: u32 = 0;
    if bytes.get(at) == Some(&b'.') {
        at += 1;
        let mut unit = 100_000_000;
        while let Some(digit) = digit_at(bytes, at) {
            nanos += digit * unit;
            unit /= 10;
            at += 1;
        }
    }
    let digits = whole > 0 || at > 1;
    (digits && at == bytes.len()).then(|| Duration::new(seconds, nanos))
}

fn digit_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at).filter(|byte| byte.is_ascii_digit()).map(|byte| u32::from(byte - b'0'))
}

/// Reads a point in time, or `None` for one that stands for "unknown".
///
/// ISO 8601 with `T` or a space, with and without fractions and zone; without a
/// zone it is taken as UTC, as there is nothing better to go by. Seconds and
/// milliseconds since 1970, RFC 2822 and the forms of `date` and Java are
/// understood too. Years before 1990 are what runners write for tests that
/// never started.
pub(crate) fn timestamp(text: &str) -> Result<Option<Timestamp>, IssueKind> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let timestamp = exact_timestamp(text)
        .or_else(|| since_epoch(text))
        .or_else(|| DateTime::parse_from_rfc2822(text).ok().map(|parsed| parsed.to_utc()))
        .or_else(|| spelled_out(text))
        .ok_or_else(|| IssueKind::UnknownTimestamp { text: quote(text) })?;
    Ok(Some(timestamp).filter(|timestamp| *timestamp >= EARLIEST && timestamp.year() <= 9999))
}

const EARLIEST: Timestamp = match DateTime::from_timestamp(631_152_000, 0) {
    Some(timestamp) => timestamp,
    None => DateTime::UNIX_EPOCH,
};

/// ISO 8601, whatever the year of four digits.
pub(crate) fn exact_timestamp(text: &str) -> Option<Timestamp> {
    let bytes = text.as_bytes();
    let number = |from: usize, to: usize| -> Option<u32> {
        bytes
            .get(from..to)?
            .iter()
            .try_fold(0, |number, byte| byte.is_ascii_digit().then(|| number * 10 + u32::from(byte - b'0')))
    };
    let separator = |at: usize, wanted: &[u8]| bytes.get(at).is_some_and(|byte| wanted.contains(byte));
    if !(separator(4, b"-") && separator(7, b"-") && separator(10, b"Tt ") && separator(13, b":")) {
        return None;
    }
    let year = i32::try_from(number(0, 4)?).ok()?;
    let date = NaiveDate::from_ymd_opt(year, number(5, 7)?, number(8, 10)?)?;
    let (hour, minute) = (number(11, 13)?, number(14, 16)?);
    let (second, mut at) = if separator(16, b":") { (number(17, 19)?, 19) } else { (0, 16) };
    let mut nanos = 0;
    if separator(at, b".,") {
        at += 1;
        let mut unit = 100_000_000;
        while let Some(digit) = digit_at(bytes, at) {
            nanos += digit * unit;
            unit /= 10;
            at += 1;
        }
    }
    // A leap second is counted to the second before it.
    let local = date.and_hms_nano_opt(hour, minute, second.min(59), nanos)?;
    let offset = zone(text.get(at..)?.trim())?;
    let timestamp = local.and_utc().checked_sub_signed(chrono::TimeDelta::minutes(offset))?;
    (0..=9999).contains(&timestamp.year()).then_some(timestamp)
}

/// The offset from UTC in minutes.
fn zone(text: &str) -> Option<i64> {
    if matches!(text, "" | "Z" | "z" | "UTC" | "GMT") {
        return Some(0);
    }
    let (sign, digits) = match text.as_bytes().first()? {
        b'+' => (1, &text[1..]),
        b'-' => (-1, &text[1..]),
        _ => return None,
    };
    let digits: String = digits.chars().filter(|character| *character != ':').collect();
    if !matches!(digits.len(), 2 | 4) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let hours: i64 = digits[..2].parse().ok()?;
    let minutes: i64 = if digits.len() == 4 { digits[2..].parse().ok()? } else { 0 };
    Some(sign * (hours * 60 + minutes))
}

/// Seconds or milliseconds since 1970, distinguished by their size.
fn since_epoch(text: &str) -> Option<Timestamp> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if !whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    match whole.len() {
        9 | 10 => {
            let nanos = plain_decimal(format!("0.{fraction}").as_bytes())?.subsec_nanos();
            DateTime::from_timestamp(whole.parse().ok()?, nanos)
        }
        12 | 13 => DateTime::from_timestamp_millis(whole.parse().ok()?),
        _ => None,
    }
}

/// `Sun Nov 15 02:00:21 UTC 2026` and the like.
fn spelled_out(text: &str) -> Option<Timestamp> {
    ["%a %b %e %H:%M:%S UTC %Y", "%a %b %e %H:%M:%S GMT %Y", "%a %b %e %H:%M:%S %Y", "%Y/%m/%d %H:%M:%S"]
        .into_iter()
        .find_map(|form| NaiveDateTime::parse_from_str(text, form).ok())
        .map(|local| DateTime::<Utc>::from_naive_utc_and_offset(local, Utc))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_in_many_spellings() {
        let nanos = |text: &str| duration(text).map(|duration| duration.as_nanos());
        for (text, expected) in [
            ("0", 0),
            ("12", 12_000_000_000),
            ("0.012", 12_000_000),
            (".5", 500_000_000),
            ("3.", 3_000_000_000),
            ("0.043896406", 43_896_406),
            ("0.0438964061239", 43_896_406),
            ("1e-05", 10_000),
            ("1.5E+1", 15_000_000_000),
            ("1,234.5", 1_234_500_000_000),
            ("1.234,5", 1_234_500_000_000),
            ("1,234,567", 1_234_567_000_000_000),
            ("1.234.567", 1_234_567_000_000_000),
            ("0,003", 3_000_000),
            ("1 234.5".replace(' ', "\u{a0}").as_str(), 1_234_500_000_000),
            (" 0.5s ", 500_000_000),
            ("0.5 s", 500_000_000),
            ("7ms", 7_000_000),
        ] {
            assert_eq!(nanos(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn nonsense_durations_are_refused() {
        let refusal = |text: &str| duration(text).expect_err("not a duration").to_string();
        for text in ["", "soon", "NaN", "1.2.3,4,5x", "--1", "."] {
            assert_eq!(refusal(text), format!("time `{text}` is not a number"));
        }
        for text in ["-0.5", "inf", "99999999999", "1e30", "99999999999999999999999"] {
            assert_eq!(refusal(text), format!("time `{text}` is out of range"));
        }
    }

    #[test]
    fn timestamps_in_many_spellings() {
        let text = |text: &str| timestamp(text).map(|parsed| parsed.map(|parsed| parsed.to_rfc3339()));
        for (input, expected) in [
            ("2026-11-15T02:00:21", "2026-11-15T02:00:21+00:00"),
            ("2026-11-15T02:00:21Z", "2026-11-15T02:00:21+00:00"),
            ("2026-11-15 02:00:21 UTC", "2026-11-15T02:00:21+00:00"),
            ("2026-11-15T02:00:21.604498+02:00", "2026-11-15T00:00:21.604498+00:00"),
            ("2026-11-15T02:00:21,604-0130", "2026-11-15T03:30:21.604+00:00"),
            ("2026-11-15T02:00+02", "2026-11-15T00:00:00+00:00"),
            ("2026-11-15T23:59:60Z", "2026-11-15T23:59:59+00:00"),
            ("1794708021", "2026-11-15T02:00:21+00:00"),
            ("1794708021.5", "2026-11-15T02:00:21.500+00:00"),
            ("1794708021604", "2026-11-15T02:00:21.604+00:00"),
            ("Sun, 15 Nov 2026 02:00:21 +0000", "2026-11-15T02:00:21+00:00"),
            ("Sun Nov 15 02:00:21 UTC 2026", "2026-11-15T02:00:21+00:00"),
            ("2026/11/15 02:00:21", "2026-11-15T02:00:21+00:00"),
        ] {
            assert_eq!(text(input), Ok(Some(expected.to_owned())), "{input}");
        }
        for input in ["", "0001-01-01T00:00:00Z", "1970-01-01T00:00:00.000"] {
            assert_eq!(text(input), Ok(None), "{input}");
        }
        for input in [
            "yesterday",
            "2026-13-01T00:00:00",
            "2026-11-15T25:00:00",
            "2026-11-15T02:00:21+2:0x",
            "15/11/2026",
        ] {
            assert!(text(input).is_err(), "{input}");
        }
    }
}
