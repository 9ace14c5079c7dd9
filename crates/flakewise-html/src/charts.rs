//! Charts as inline SVG. Labels are HTML around them, so that text keeps its size
//! on every screen; the drawing stretches to the width it gets.

use std::fmt::Write as _;
use std::time::Duration;

use chrono::NaiveDate;
use flakewise_model::{DayTotals, Probability};
use flakewise_report::{count, duration};
use serde::Serialize;

/// More bars than this are merged.
const MOST_BARS: u64 = 100;
/// Width of a bar with its gap, and height of the drawing, in SVG units.
const STEP: usize = 10;
const HEIGHT: f64 = 100.0;

/// A chart over time, and the words around it.
#[derive(Serialize)]
pub(crate) struct Chart {
    pub(crate) svg: String,
    /// Labels of the vertical axis from top to bottom.
    pub(crate) scale: [String; 3],
    /// Labels of the horizontal axis.
    pub(crate) dates: Vec<String>,
}

/// What happened in some consecutive days.
#[derive(Clone, Serialize)]
pub(crate) struct Period {
    pub(crate) label: String,
    #[serde(skip)]
    pub(crate) runs: u64,
    #[serde(skip)]
    pub(crate) disturbed: u64,
    #[serde(skip)]
    pub(crate) lost: Duration,
    /// The same in words, for the table.
    pub(crate) runs_text: String,
    pub(crate) rate_text: String,
    pub(crate) lost_text: String,
}

impl Period {
    fn rate(&self) -> f64 {
        self.disturbed as f64 / self.runs.max(1) as f64
    }
}

/// The window in periods of equal length, all days of it included. At most
/// `most` of them.
pub(crate) fn periods(window: (NaiveDate, NaiveDate), days: &[DayTotals], most: u64) -> Vec<Period> {
    let (first, last) = window;
    let span = u64::try_from((last - first).num_days()).map_or(1, |days| days + 1);
    let length = span.div_ceil(most.max(1));
    let mut periods: Vec<Period> = (0..span.div_ceil(length))
        .map(|at| {
            let begin = first + chrono::Days::new(at * length);
            let end = (begin + chrono::Days::new(length - 1)).min(last);
            let label = if begin == end { begin.to_string() } else { format!("{begin} to {end}") };
            Period {
                label,
                runs: 0,
                disturbed: 0,
                lost: Duration::ZERO,
                runs_text: String::new(),
                rate_text: String::new(),
                lost_text: String::new(),
            }
        })
        .collect();
    for day in days {
        let Ok(at) = u64::try_from((day.day - first).num_days()) else { continue };
        let Some(period) = usize::try_from(at / length).ok().and_then(|at| periods.get_mut(at)) else {
            continue;
        };
        period.runs += day.runs;
        period.disturbed += day.runs_disturbed;
        period.lost += day.time_lost;
    }
    for period in &mut periods {
        period.runs_text = count(period.runs, "run");
        period.rate_text = Probability::clamped(period.rate()).to_string();
        period.lost_text = duration(period.lost);
    }
    periods
}

/// The share of runs that a flaky test disturbed.
pub(crate) fn rate_chart(window: (NaiveDate, NaiveDate), days: &[DayTotals]) -> Chart {
    let periods = periods(window, days, MOST_BARS);
    let top = ceiling(periods.iter().map(|period| period.rate() * 100.0).fold(0.0, f64::max)).min(100.0);
    let bars = periods.iter().map(|period| {
        let title = format!(
            "{}: {} of {} disturbed ({})",
            period.label, period.disturbed, period.runs_text, period.rate_text
        );
        (period.rate() * 100.0 / top, title)
    });
    Chart { svg: draw(bars), scale: scale(top, |value| format!("{value} %")), dates: dates(window) }
}

/// The time that flaky tests cost.
pub(crate) fn cost_chart(window: (NaiveDate, NaiveDate), days: &[DayTotals]) -> Chart {
    let periods = periods(window, days, MOST_BARS);
    let longest = periods.iter().map(|period| period.lost).max().unwrap_or_default().as_secs_f64();
    let (unit, seconds) = match longest {
        seconds if seconds < 120.0 => ("s", 1.0),
        seconds if seconds < 7200.0 => ("min", 60.0),
        _ => ("h", 3600.0),
    };
    let top = ceiling(longest / seconds);
    let bars = periods.iter().map(|period| {
        (period.lost.as_secs_f64() / seconds / top, format!("{}: {} lost", period.label, period.lost_text))
    });
    Chart { svg: draw(bars), scale: scale(top, |value| format!("{value} {unit}")), dates: dates(window) }
}

/// A part of a whole as a bar.
pub(crate) fn meter(share: f64) -> String {
    let width = share.clamp(0.0, 1.0) * 100.0;
    format!(
        "<svg class=\"meter\" viewBox=\"0 0 100 1\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
         <rect class=\"track\" width=\"100\" height=\"1\"/><rect class=\"bar\" width=\"{width:.1}\" height=\"1\"/></svg>"
    )
}

fn draw(bars: impl ExactSizeIterator<Item = (f64, String)>) -> String {
    let width = bars.len() * STEP;
    let mut svg = format!(
        "<svg class=\"chart\" viewBox=\"0 0 {width} {HEIGHT}\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
    );
    for y in [0.0, HEIGHT / 2.0, HEIGHT] {
        let _ = write!(svg, "<line class=\"grid\" x1=\"0\" x2=\"{width}\" y1=\"{y}\" y2=\"{y}\"/>");
    }
    for (at, (share, title)) in bars.enumerate() {
        let x = at * STEP;
        let height = share.clamp(0.0, 1.0) * HEIGHT;
        // The whole column answers to the pointer, however low its bar is.
        let _ = write!(
            svg,
            "<g><rect class=\"column\" x=\"{x}\" y=\"0\" width=\"{STEP}\" height=\"{HEIGHT}\"/>\
             <rect class=\"bar\" x=\"{}\" y=\"{:.1}\" width=\"{}\" height=\"{height:.1}\"/><title>{title}</title></g>",
            x + 1,
            HEIGHT - height,
            STEP - 2,
        );
    }
    svg.push_str("</svg>");
    svg
}

fn scale(top: f64, text: impl Fn(f64) -> String) -> [String; 3] {
    [text(top), text(top / 2.0), text(0.0)]
}

fn dates((first, last): (NaiveDate, NaiveDate)) -> Vec<String> {
    let middle = first + chrono::Days::new(u64::try_from((last - first).num_days() / 2).unwrap_or(0));
    let mut dates = vec![first, middle, last];
    dates.dedup();
    dates.iter().map(|date| date.format("%-d %b %Y").to_string()).collect()
}

/// The next of 1, 2, 4, 5, 10, 20, 40, 50, … that is not below a value.
fn ceiling(value: f64) -> f64 {
    let mut unit = 1.0;
    loop {
        for step in [1.0, 2.0, 4.0, 5.0] {
            if value <= step * unit || unit > 1e12 {
                return step * unit;
            }
        }
        unit *= 10.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(day: u32) -> NaiveDate {
        NaiveDate::from_ymd_opt(2026, 1, 1).expect("a day") + chrono::Days::new(u64::from(day))
    }

    fn totals(day: u32, runs: u64, runs_disturbed: u64) -> DayTotals {
        DayTotals {
            day: date(day),
            runs,
            attempts: 10 * runs,
            runs_disturbed,
            flaky_failures: runs_disturbed,
            time_lost: Duration::from_secs(60 * runs_disturbed),
        }
    }

    #[test]
    fn every_day_is_in_one_period() {
        let days = [totals(0, 4, 1), totals(6, 2, 0), totals(7, 2, 2), totals(16, 1, 0)];
        let periods = periods((date(0), date(16)), &days, 3);
        let runs: Vec<_> = periods.iter().map(|period| (period.label.as_str(), period.runs)).collect();
        assert_eq!(
            runs,
            [
                ("2026-01-01 to 2026-01-06", 4),
                ("2026-01-07 to 2026-01-12", 4),
                ("2026-01-13 to 2026-01-17", 1)
            ]
        );
    }

    #[test]
    fn days_outside_the_window_are_left_out() {
        let periods = periods((date(1), date(2)), &[totals(0, 9, 9), totals(2, 1, 0), totals(3, 9, 9)], 10);
        assert_eq!(periods.iter().map(|period| period.runs).collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn axes_end_at_round_numbers() {
        let ceilings = [0.0, 0.3, 1.0, 3.1, 4.2, 7.0, 99.0].map(|value| ceiling(value).to_string());
        assert_eq!(ceilings, ["1", "1", "1", "4", "5", "10", "100"]);
        let chart = rate_chart((date(0), date(2)), &[totals(0, 8, 1), totals(2, 8, 4)]);
        assert_eq!(chart.scale, ["50 %", "25 %", "0 %"]);
        assert_eq!(chart.svg.matches("<title>").count(), 3);
        assert!(chart.svg.contains("2026-01-01: 1 of 8 runs disturbed (12 %)"), "{}", chart.svg);
    }

    #[test]
    fn the_unit_of_costs_fits_them() {
        let chart = |runs| cost_chart((date(0), date(0)), &[totals(0, runs, runs)]).scale[0].clone();
        assert_eq!([chart(1), chart(5), chart(500)], ["100 s", "5 min", "10 h"]);
    }
}
