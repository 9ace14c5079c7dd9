//! The kinds of findings.

use flakewise_model::{Blame, Conclusion, FailureVerdict, FlakyKind, FoundKind};
use flakewise_predict::Category;

/// Where the book explains the kinds.
const BOOK: &str = "https://github.com/flakewise/flakewise/blob/main/docs/src/kinds";

/// A kind of finding. Its id is stable and has a page in the book.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// It passes and fails on the same code.
    Flaky,
    /// Its history says so, without a proof.
    ProbablyFlaky,
    /// Its source says so.
    FlakyRisk,
    /// The change introduced it.
    NewFlake,
    /// It fails at random.
    Transient,
    /// It failed for a while.
    Bursty,
    /// It fails after other tests, in this run.
    StateDependent,
    /// It fails with some hash seeds.
    HashSeed,
    /// It fails in the suite's process only.
    ProcessDependent,
    /// It fails while other tests run beside it.
    Parallel,
    /// It does not wait properly.
    AsyncWait,
    /// Its threads interleave.
    Concurrency,
    /// It depends on the clock.
    Time,
    /// It depends on an order that is not defined.
    UnorderedCollection,
    /// It depends on other tests.
    OrderDependent,
    /// The change broke it.
    Regression,
    /// It failed before the change.
    BrokenBefore,
    /// It never passed.
    AlwaysFails,
    /// Something outside the code broke it.
    Environment,
    /// The machine or a service failed.
    Infrastructure,
    /// There is not enough evidence.
    Undecided,
    /// A test gave no result.
    LostTest,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 22] = [
        Self::Flaky,
        Self::ProbablyFlaky,
        Self::FlakyRisk,
        Self::NewFlake,
        Self::Transient,
        Self::Bursty,
        Self::StateDependent,
        Self::HashSeed,
        Self::ProcessDependent,
        Self::Parallel,
        Self::AsyncWait,
        Self::Concurrency,
        Self::Time,
        Self::UnorderedCollection,
        Self::OrderDependent,
        Self::Regression,
        Self::BrokenBefore,
        Self::AlwaysFails,
        Self::Environment,
        Self::Infrastructure,
        Self::Undecided,
        Self::LostTest,
    ];

    /// The stable id.
    pub fn id(self) -> &'static str {
        match self {
            Self::Flaky => "flaky",
            Self::ProbablyFlaky => "probably-flaky",
            Self::FlakyRisk => "flaky-risk",
            Self::NewFlake => "new-flake",
            Self::Transient => FlakyKind::Transient.name(),
            Self::Bursty => FlakyKind::Bursty.name(),
            Self::StateDependent => FlakyKind::StateDependent.name(),
            Self::HashSeed => FlakyKind::HashSeed.name(),
            Self::ProcessDependent => FlakyKind::ProcessDependent.name(),
            Self::Parallel => "parallel",
            Self::AsyncWait => Category::AsyncWait.name(),
            Self::Concurrency => Category::Concurrency.name(),
            Self::Time => Category::Time.name(),
            Self::UnorderedCollection => Category::UnorderedCollection.name(),
            Self::OrderDependent => Category::OrderDependent.name(),
            Self::Regression => "regression",
            Self::BrokenBefore => "broken-before",
            Self::AlwaysFails => "always-fails",
            Self::Environment => "environment",
            Self::Infrastructure => "infrastructure",
            Self::Undecided => "undecided",
            Self::LostTest => "lost-test",
        }
    }

    /// The page in the book. Kinds with the same cause and the same fix share one.
    pub fn page(self) -> &'static str {
        match self {
            Self::ProbablyFlaky | Self::FlakyRisk => Self::Flaky.id(),
            Self::StateDependent => Self::OrderDependent.id(),
            Self::HashSeed => Self::UnorderedCollection.id(),
            Self::AlwaysFails => Self::BrokenBefore.id(),
            kind => kind.id(),
        }
    }

    /// The address of the page.
    pub fn url(self) -> String {
        format!("{BOOK}/{}.md", self.page())
    }

    /// What it means, as a sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Flaky => "A test passes and fails on the same code",
            Self::ProbablyFlaky => "The outcomes of a test change in a way that code changes explain badly",
            Self::FlakyRisk => "The source of a test is similar to that of flaky tests",
            Self::NewFlake => "A change introduces a flaky test, or makes one flaky",
            Self::Transient => "A test fails randomly",
            Self::Bursty => "A test failed for a while, then passed: the cause was temporary",
            Self::StateDependent => "A test fails because of what the tests before it left behind",
            Self::HashSeed => "A test fails with some hash seeds and passes with others",
            Self::ProcessDependent => "A test fails in the process of the suite and its forks only",
            Self::Parallel => "A test fails only while other tests run in parallel",
            Self::AsyncWait => "A test does not wait properly for something asynchronous",
            Self::Concurrency => "The threads of a test can interleave in more than one way",
            Self::Time => "A test depends on the clock or the calendar",
            Self::UnorderedCollection => "A test depends on the order of a collection that has none",
            Self::OrderDependent => "A test depends on which tests run before it",
            Self::Regression => "A change breaks a test",
            Self::BrokenBefore => "A test fails in the same way without the change",
            Self::AlwaysFails => "A test failed every time it ran",
            Self::Environment => "A test fails consistently, and not because of the change",
            Self::Infrastructure => "The machine or a service fails, not any one test",
            Self::Undecided => "A test failed, and the evidence does not tell why",
            Self::LostTest => "A selected test gave no result",
        }
    }

    /// What to do about it.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Flaky | Self::Transient => "look for timing, randomness or a service in the test",
            Self::ProbablyFlaky => "rerun it on one commit: a pass and a failure there prove it",
            Self::FlakyRisk => "run it many times before it is merged",
            Self::NewFlake => "fix the flake before the change is merged",
            Self::Bursty => "look for a temporary cause: a port, a lock, a service, a busy machine",
            Self::StateDependent | Self::OrderDependent => {
                "set up and clear all state that is shared with other tests"
            }
            Self::HashSeed | Self::UnorderedCollection => "compare as sets, or sort before comparing",
            Self::ProcessDependent => "look for state created at import or collection, before any test",
            Self::Parallel => "give each test its own files, ports and database names",
            Self::AsyncWait => "wait for the condition itself, with a time-out, instead of a fixed time",
            Self::Concurrency => "join or await what it starts before it asserts",
            Self::Time => "inject the clock so that the test controls it",
            Self::Regression => "fix the change",
            Self::BrokenBefore => "fix it where it broke, which is not in this change",
            Self::AlwaysFails => "fix the test or the code: it never passed",
            Self::Environment => {
                "look outside the code: an updated dependency, the date, a service, the machine"
            }
            Self::Infrastructure => "check the machine, its disk, network and services, then run again",
            Self::Undecided => "run again with more reruns, or with a base to compare with",
            Self::LostTest => "find out what ended the process before the test finished",
        }
    }
}

impl From<Category> for Kind {
    fn from(category: Category) -> Self {
        match category {
            Category::AsyncWait => Self::AsyncWait,
            Category::Concurrency => Self::Concurrency,
            Category::Time => Self::Time,
            Category::UnorderedCollection => Self::UnorderedCollection,
            Category::OrderDependent => Self::OrderDependent,
        }
    }
}

impl From<&FailureVerdict> for Kind {
    fn from(verdict: &FailureVerdict) -> Self {
        match verdict.blame {
            Blame::Flaky(_) if verdict.is_new_flake() => Self::NewFlake,
            Blame::Flaky(FlakyKind::Transient) => Self::Transient,
            Blame::Flaky(FlakyKind::Bursty) => Self::Bursty,
            Blame::Flaky(FlakyKind::StateDependent) => Self::StateDependent,
            Blame::Flaky(FlakyKind::HashSeed) => Self::HashSeed,
            Blame::Flaky(FlakyKind::ProcessDependent) => Self::ProcessDependent,
            Blame::Flaky(FlakyKind::Undecided) => Self::Flaky,
            Blame::Regression => Self::Regression,
            Blame::BrokenBefore => Self::BrokenBefore,
            Blame::Environment => Self::Environment,
            Blame::Infrastructure => Self::Infrastructure,
            Blame::Undecided(_) => Self::Undecided,
        }
    }
}

impl From<Conclusion> for Kind {
    fn from(conclusion: Conclusion) -> Self {
        match conclusion {
            Conclusion::Flaky => Self::Flaky,
            Conclusion::ProbablyFlaky => Self::ProbablyFlaky,
            Conclusion::Broken => Self::AlwaysFails,
            Conclusion::Undecided | Conclusion::NotSeenFailing => Self::Undecided,
        }
    }
}

impl From<FoundKind> for Kind {
    fn from(kind: FoundKind) -> Self {
        match kind {
            FoundKind::Alone | FoundKind::Together | FoundKind::Undecided => Self::Flaky,
            FoundKind::Beside => Self::Parallel,
            FoundKind::Unconfirmed => Self::Undecided,
            FoundKind::FailsAlone | FoundKind::PassesAlone => Self::OrderDependent,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_are_unique_and_every_page_is_in_the_book() {
        let ids: HashSet<_> = Kind::ALL.into_iter().map(Kind::id).collect();
        assert_eq!(ids.len(), Kind::ALL.len());
        let book = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src");
        let contents = std::fs::read_to_string(format!("{book}/SUMMARY.md")).expect("a table of contents");
        for kind in Kind::ALL {
            let page = format!("kinds/{}.md", kind.page());
            assert!(contents.contains(&format!("({page})")), "{page} is not in the table of contents");
            let text = std::fs::read_to_string(format!("{book}/{page}")).expect("a page");
            assert!(text.contains(&format!("`{}`", kind.id())), "{page} does not name {}", kind.id());
        }
    }
}
