//! One execution of a suite.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use crate::{Timestamp, Variant};

/// Names one execution of a suite within a project.
///
/// On CI it is made of what the CI system calls the run, so that every report
/// of one job belongs together; elsewhere it is derived from the reports.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(String);

impl RunId {
    /// Wraps a name that is already unique.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text form.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Names one report: the unit that is taken in exactly once.
///
/// Two reports are the same when their bytes are the same and they come from
/// the same CI run; outside CI the bytes alone decide.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReportId(String);

impl ReportId {
    /// The id of a report with this content, seen in this CI run.
    pub fn of(ci_run: Option<&RunId>, content: &[u8]) -> Self {
        Self::of_reader(ci_run, content).expect("reading from memory does not fail")
    }

    /// The same, for content that is too large to hold.
    pub fn of_reader(ci_run: Option<&RunId>, content: impl std::io::Read) -> std::io::Result<Self> {
        let mut hasher = blake3::Hasher::new();
        hasher.update(ci_run.map_or("", RunId::as_str).as_bytes());
        hasher.update(b"\0");
        hasher.update_reader(content)?;
        Ok(Self(hasher.finalize().to_hex()[..32].to_owned()))
    }

    /// Takes back an id that was written down.
    pub fn from_text(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text form: 32 hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ReportId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// What is known of one execution of a suite as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Its name.
    pub id: RunId,
    /// The commit that was tested.
    pub commit: Option<String>,
    /// Whether the work tree had changes of its own, so that `commit` does not
    /// say which code ran.
    pub dirty: bool,
    /// The branch or merge request.
    pub branch: Option<String>,
    /// Where and how it ran.
    pub variant: Variant,
    /// The CI system, such as `github`.
    pub provider: Option<String>,
    /// A page about the run.
    pub url: Option<String>,
    /// When it began; attempts that carry no time of their own are given this.
    pub started: Timestamp,
    /// The folders that its runners told tests from, below the root of the
    /// repository; the root itself is the empty text. Paths in ids begin with
    /// them. None if that is not known: ids may then begin anywhere.
    pub roots: Option<BTreeSet<String>>,
    /// The packages that were installed, as [`crate::packages_text`] has it.
    pub packages: Option<Arc<str>>,
}
