//! The elements of a report that mean something to us.

/// An element, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    TestSuites,
    TestSuite,
    TestCase,
    Failure,
    Error,
    Skipped,
    /// An earlier attempt of a test that passed in the end.
    FlakyFailure,
    FlakyError,
    /// A later attempt of a test that never passed.
    RerunFailure,
    RerunError,
    Property,
    Output,
    /// Anything else; the number tells names apart.
    Other(u32),
}

impl Element {
    #[inline]
    pub(crate) fn of(name: &str) -> Self {
        match Self::known(name) {
            Some(element) => element,
            None => Self::of_prefixed(name),
        }
    }

    #[inline]
    fn known(name: &str) -> Option<Self> {
        Some(match name {
            "testcase" => Self::TestCase,
            "testsuite" => Self::TestSuite,
            "testsuites" => Self::TestSuites,
            "failure" => Self::Failure,
            "error" => Self::Error,
            "skipped" | "disabled" | "ignored" => Self::Skipped,
            "flakyFailure" => Self::FlakyFailure,
            "flakyError" => Self::FlakyError,
            "rerunFailure" => Self::RerunFailure,
            "rerunError" => Self::RerunError,
            "property" => Self::Property,
            "system-out" | "system-err" => Self::Output,
            _ => return None,
        })
    }

    /// A prefix says whose element it is, and all are JUnit's here.
    fn of_prefixed(name: &str) -> Self {
        let local = name.rsplit_once(':').map_or(name, |(_, local)| local);
        Self::known(local).unwrap_or_else(|| {
            Self::Other(
                local
                    .bytes()
                    .take(64)
                    .fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)),
            )
        })
    }

    /// The name for people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::TestSuites => "testsuites",
            Self::TestSuite => "testsuite",
            Self::TestCase => "testcase",
            Self::Failure => "failure",
            Self::Error => "error",
            Self::Skipped => "skipped",
            Self::FlakyFailure => "flakyFailure",
            Self::FlakyError => "flakyError",
            Self::RerunFailure => "rerunFailure",
            Self::RerunError => "rerunError",
            Self::Property => "property",
            Self::Output => "system-out",
            Self::Other(_) => "element",
        }
    }

    /// Whether it says how an attempt ended.
    pub(crate) fn is_ending(self) -> bool {
        self.is_rerun() || matches!(self, Self::Failure | Self::Error | Self::Skipped)
    }

    /// Whether it stands for an attempt of its own.
    pub(crate) fn is_rerun(self) -> bool {
        self.is_flaky() || matches!(self, Self::RerunFailure | Self::RerunError)
    }

    pub(crate) fn is_flaky(self) -> bool {
        matches!(self, Self::FlakyFailure | Self::FlakyError)
    }
}
