//! Every key, once.

use std::ops::RangeInclusive;

/// A key of the configuration file.
#[derive(Clone, Debug)]
pub struct Key {
    /// The name with its section: `run.tolerate`.
    pub name: &'static str,
    /// What its value is.
    pub kind: Kind,
    /// What holds if nothing sets it.
    pub default: KeyDefault,
    /// A value as it is written in the file.
    pub example: &'static str,
    /// What it does, in one line without a full stop.
    pub help: &'static str,
}

impl Key {
    /// The key of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.name == name)
    }

    /// The section, if it is in one, and the name within.
    pub fn parts(&self) -> (Option<&'static str>, &'static str) {
        self.name.split_once('.').map_or((None, self.name), |(section, name)| (Some(section), name))
    }
}

/// What the value of a key is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A text that is not empty.
    Text,
    /// A path, relative to the folder of the file.
    Path,
    /// A path, relative to the folder of the file, or a URL without credentials.
    Store,
    /// A program and its arguments.
    Command,
    /// A duration such as `"90s"`.
    Duration {
        /// Whether it may be `"0s"`.
        zero: bool,
    },
    /// A number from 0.5 to below 1.
    Confidence,
    /// A number above 0.
    Positive,
    /// A whole number within these bounds.
    Integer(RangeInclusive<u64>),
    /// One of these words.
    Choice(&'static [&'static str]),
}

/// What holds if nothing sets a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyDefault {
    /// This value, as an option of the command line takes it.
    Value(&'static str),
    /// Something that no single value says, in words.
    Described(&'static str),
}

/// A table of the file.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// Its name.
    pub name: &'static str,
    /// What it is for, in one line without a full stop.
    pub help: &'static str,
}

/// All sections, in the order of the reference.
pub static SECTIONS: [Section; 6] = [
    Section { name: "run", help: "Defaults of `flakewise run` and `flakewise check`" },
    Section { name: "check", help: "Defaults of `flakewise check` alone" },
    Section { name: "hunt", help: "Defaults of `flakewise hunt`" },
    Section { name: "report", help: "Defaults of `flakewise report`" },
    Section { name: "owners", help: "Who owns which tests" },
    Section { name: "quarantine", help: "Limits of the quarantine" },
];

const ANY_COUNT: Kind = Kind::Integer(0..=u32::MAX as u64);

/// All keys: those outside of sections first, then by section.
pub static KEYS: [Key; 22] = [
    Key {
        name: "command",
        kind: Kind::Command,
        default: KeyDefault::Described("none"),
        example: r#"["pytest", "-q"]"#,
        help: "Command that runs the tests, for `run`, `check`, `hunt`, `culprit` and `reproduce` without one",
    },
    Key {
        name: "store",
        kind: Kind::Store,
        default: KeyDefault::Described("`.flakewise/history` at the root of the repository"),
        example: r#""s3://acme-tests/history""#,
        help: "Folder, relative to this file, or bucket of the history",
    },
    Key {
        name: "project",
        kind: Kind::Text,
        default: KeyDefault::Described("from CI or git"),
        example: r#""acme/shop""#,
        help: "Name of the project in the history",
    },
    Key {
        name: "base",
        kind: Kind::Text,
        default: KeyDefault::Described("the default branch of the repository"),
        example: r#""develop""#,
        help: "Branch that changes are compared with, unless `--base` or the CI system names one",
    },
    Key {
        name: "test-timeout",
        kind: Kind::Duration { zero: false },
        default: KeyDefault::Described("`10m` in `run` and `check`, else `1m`"),
        example: r#""2m""#,
        help: "Stop a test that takes longer than this",
    },
    Key {
        name: "run.tolerate",
        kind: Kind::Choice(&["nothing", "known", "flaky"]),
        default: KeyDefault::Value("nothing"),
        example: r#""known""#,
        help: "Exit with 0 if all failures are of this kind",
    },
    Key {
        name: "run.rerun",
        kind: ANY_COUNT,
        default: KeyDefault::Value("1"),
        example: "2",
        help: "Number of immediate reruns in the same process",
    },
    Key {
        name: "run.postpone",
        kind: ANY_COUNT,
        default: KeyDefault::Value("1"),
        example: "2",
        help: "Number of reruns after the suite in the same process",
    },
    Key {
        name: "run.separate",
        kind: ANY_COUNT,
        default: KeyDefault::Value("2"),
        example: "3",
        help: "Number of reruns in separate processes",
    },
    Key {
        name: "run.confidence",
        kind: Kind::Confidence,
        default: KeyDefault::Described("none"),
        example: "0.99",
        help: "Keep rerunning until the verdict reaches this confidence",
    },
    Key {
        name: "run.max-failures",
        kind: Kind::Integer(0..=u32::MAX as u64),
        default: KeyDefault::Described("1 % of the tests, at least 10"),
        example: "25",
        help: "Skip reruns if more than this number of distinct failures occur",
    },
    Key {
        name: "run.reproduce-budget",
        kind: Kind::Duration { zero: true },
        default: KeyDefault::Value("10s"),
        example: r#""30s""#,
        help: "Time for checking `reproduce:` commands before they are printed; `\"0s\"` skips the check",
    },
    Key {
        name: "check.share",
        kind: Kind::Positive,
        default: KeyDefault::Value("0.25"),
        example: "0.5",
        help: "Time for reruns of new and changed tests, as a share of the suite's",
    },
    Key {
        name: "hunt.budget",
        kind: Kind::Duration { zero: false },
        default: KeyDefault::Value("10m"),
        example: r#""30m""#,
        help: "Stop after this time",
    },
    Key {
        name: "hunt.confidence",
        kind: Kind::Confidence,
        default: KeyDefault::Described("none"),
        example: "0.99",
        help: "Stop once every test is non-flaky with this confidence",
    },
    Key {
        name: "hunt.hidden",
        kind: Kind::Positive,
        default: KeyDefault::Described("none"),
        example: "0.5",
        help: "Stop once fewer than this number of flaky tests are expected to be hidden",
    },
    Key {
        name: "hunt.jobs",
        kind: Kind::Integer(1..=256),
        default: KeyDefault::Described("the number of cores"),
        example: "4",
        help: "Number of tests to run in parallel",
    },
    Key {
        name: "report.days",
        kind: Kind::Integer(1..=u32::MAX as u64),
        default: KeyDefault::Described("all days"),
        example: "30",
        help: "Only consider the last N days",
    },
    Key {
        name: "report.limit",
        kind: ANY_COUNT,
        default: KeyDefault::Value("20"),
        example: "50",
        help: "List at most this number of tests",
    },
    Key {
        name: "owners.file",
        kind: Kind::Path,
        default: KeyDefault::Described("the `CODEOWNERS` file of the repository"),
        example: r#"".github/CODEOWNERS""#,
        help: "CODEOWNERS file, relative to this file",
    },
    Key {
        name: "quarantine.max-entries",
        kind: ANY_COUNT,
        default: KeyDefault::Value("20"),
        example: "10",
        help: "Largest number of quarantined tests",
    },
    Key {
        name: "quarantine.max-days",
        kind: Kind::Integer(1..=3650),
        default: KeyDefault::Value("30"),
        example: "14",
        help: "Longest time a test may stay in quarantine, in days",
    },
];
