//! When a test began to fail more or less often.

use crate::{FlakeRate, Timestamp};

/// A change of how often a test fails, and the commits that may have brought it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateChange {
    /// First attempts before the change, back to the one before it.
    pub before: FlakeRate,
    /// First attempts after it, up to the next one.
    pub after: FlakeRate,
    /// The branch that the commits are on, where known.
    pub branch: Option<String>,
    /// The last commit with a run that is not among them.
    pub good: Commit,
    /// The last of them.
    pub last: Commit,
    /// How many of them have runs.
    pub commits: u64,
}

/// A commit that there are runs of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its id.
    pub id: String,
    /// When the test first ran on it.
    pub at: Timestamp,
}

impl RateChange {
    /// Whether the test fails more often since.
    pub fn is_rise(&self) -> bool {
        // As products, as nobody divides by zero then.
        let scaled =
            |rate: FlakeRate, other: FlakeRate| u128::from(rate.failures) * u128::from(other.attempts);
        scaled(self.after, self.before) > scaled(self.before, self.after)
    }

    /// Whether one commit may have brought both changes.
    pub fn may_share_a_commit(&self, other: &Self) -> bool {
        self.branch == other.branch && self.good.at < other.last.at && other.good.at < self.last.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(good: i64, last: i64) -> RateChange {
        let commit =
            |at: i64| Commit { id: at.to_string(), at: Timestamp::from_timestamp(at, 0).expect("a time") };
        RateChange {
            before: FlakeRate { failures: 0, attempts: 100 },
            after: FlakeRate { failures: 9, attempts: 50 },
            branch: None,
            good: commit(good),
            last: commit(last),
            commits: 1,
        }
    }

    #[test]
    fn ranges_that_meet_at_a_commit_share_none() {
        assert!(change(1, 5).may_share_a_commit(&change(4, 9)));
        assert!(change(1, 5).may_share_a_commit(&change(2, 3)));
        assert!(!change(1, 5).may_share_a_commit(&change(5, 9)));
        let elsewhere = RateChange { branch: Some("other".to_owned()), ..change(1, 5) };
        assert!(!change(1, 5).may_share_a_commit(&elsewhere));
    }

    #[test]
    fn a_change_goes_up_or_down() {
        let rise = change(1, 2);
        assert!(rise.is_rise());
        let fall = RateChange { before: rise.after, after: rise.before, ..rise };
        assert!(!fall.is_rise());
    }
}
