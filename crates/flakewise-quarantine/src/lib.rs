//! The quarantine: tests whose known failures do not fail the build.
//!
//! It is a file in git, `.flakewise/quarantine.toml`. Each entry names a test or a
//! pattern of tests, the failures it forgives, a reason, an owner and a last day.
//! [`Quarantine::parse`] reads it, [`InForce::judge`] says whether a failure is forgiven,
//! [`add`] and [`remove`] edit the text and keep comments and order, [`CodeOwners`] finds
//! owners, and [`ReleaseEvidence`] says whether a test has been fixed.
//!
//! Nothing here reads files or the clock: text and dates are parameters. A file that is
//! not understood in full is refused as a whole, so that a mistake in it never forgives
//! a failure.

mod edit;
mod entry;
mod evidence;
mod judge;
mod limits;
mod owners;
mod parse;
mod pattern;

pub use edit::{add, remove};
pub use entry::{Accepts, Entry, Mode, Target};
pub use evidence::{ReleaseEvidence, additions, clean_runs_needed};
pub use judge::{InForce, SeenFailure};
pub use limits::{Limits, Violation};
pub use owners::CodeOwners;
pub use parse::{MAX_BYTES, MAX_ENTRIES, Malformed, Problem, Quarantine};
pub use pattern::{Pattern, PatternError};
