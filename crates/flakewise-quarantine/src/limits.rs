//! What a quarantine may not exceed.

use std::fmt;

use chrono::{Days, NaiveDate};

use crate::{Entry, InForce};

/// The configured limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most entries.
    pub max_entries: usize,
    /// The longest term of an entry, in days after its first.
    pub max_days: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_entries: 20, max_days: 30 }
    }
}

impl Limits {
    /// The latest last day of an entry with this first day.
    pub fn last_day(&self, since: NaiveDate) -> NaiveDate {
        since.checked_add_days(Days::new(self.max_days.into())).unwrap_or(NaiveDate::MAX)
    }
}

/// A rule that a quarantine breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation<'a> {
    /// An entry has expired.
    Expired(&'a Entry, NaiveDate),
    /// An entry lasts longer than allowed.
    TooLong(&'a Entry, u32),
    /// An entry begins in the future, which would lengthen its term.
    NotYet(&'a Entry),
    /// There are too many entries.
    TooMany {
        /// How many there are.
        entries: usize,
        /// How many are allowed.
        limit: usize,
    },
}

impl Violation<'_> {
    /// The line of the file it is about.
    pub fn line(&self) -> Option<u32> {
        match self {
            Self::Expired(entry, _) | Self::TooLong(entry, _) | Self::NotYet(entry) => Some(entry.line),
            Self::TooMany { .. } => None,
        }
    }
}

impl fmt::Display for Violation<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expired(entry, last) => {
                write!(formatter, "`{}` expired on {last}; owner {}", entry.target, entry.owner)
            }
            Self::TooLong(entry, days) => {
                write!(
                    formatter,
                    "`{}` is quarantined until {}, longer than the {days} days allowed after {}; owner {}",
                    entry.target, entry.until, entry.since, entry.owner
                )
            }
            Self::NotYet(entry) => {
                write!(
                    formatter,
                    "`{}` begins in the future, on {}; owner {}",
                    entry.target, entry.since, entry.owner
                )
            }
            Self::TooMany { entries, limit } => {
                write!(formatter, "{entries} entries, more than the {limit} allowed")
            }
        }
    }
}

impl InForce {
    /// Every rule that is broken, in the order of the file.
    pub fn violations(&self) -> Vec<Violation<'_>> {
        let entries = &self.quarantine.entries;
        let limit = self.limits.max_entries;
        let too_many =
            (entries.len() > limit).then_some(Violation::TooMany { entries: entries.len(), limit });
        let of_entry = |entry| {
            let expired = self.is_expired(entry).then(|| Violation::Expired(entry, self.last_day(entry)));
            let too_long = (entry.until > self.limits.last_day(entry.since))
                .then_some(Violation::TooLong(entry, self.limits.max_days));
            let not_yet = (entry.since > self.today).then_some(Violation::NotYet(entry));
            [expired, too_long, not_yet].into_iter().flatten()
        };
        too_many.into_iter().chain(entries.iter().flat_map(of_entry)).collect()
    }
}
