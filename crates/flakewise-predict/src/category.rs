//! The kinds of flakiness.

/// A kind of flakiness, by what causes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// It does not wait properly for something that happens by itself.
    AsyncWait,
    /// Threads meet in more than one way.
    Concurrency,
    /// It depends on the clock or the calendar.
    Time,
    /// It depends on the order of a collection that has none.
    UnorderedCollection,
    /// It depends on what other tests left behind.
    OrderDependent,
}

impl Category {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::AsyncWait, Self::Concurrency, Self::Time, Self::UnorderedCollection, Self::OrderDependent];

    /// The name in machine formats, and in "allow async-wait".
    pub fn name(self) -> &'static str {
        match self {
            Self::AsyncWait => "async-wait",
            Self::Concurrency => "concurrency",
            Self::Time => "time",
            Self::UnorderedCollection => "unordered-collection",
            Self::OrderDependent => "order-dependent",
        }
    }
}
