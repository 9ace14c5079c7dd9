//! The history of test attempts: Delta Lake tables, queried with DataFusion.
//!
//! This is the only crate that names Delta or DataFusion, and none of their
//! types leave it but for [`engine`], by which a cluster runs its statements: callers hand in batches and get back findings, histories,
//! summaries or plain rows. The interface blocks; the asynchronous engine is an
//! inner matter.
//!
//! A store is a folder or a bucket. Each project has these tables in it:
//!
//! - `<project>/attempts`: one row per attempt. No Delta partition columns:
//!   every data file holds few days and is sorted by test, so that file and page
//!   statistics find one test's rows, and any engine can read the plain files.
//! - `<project>/runs`: one row per report taken in, with what is known of its
//!   run.
//! - `<project>/verdicts`: one row per failure that was judged in its run, laid
//!   out like `attempts`. It is made when the first verdict comes.
//! - `<project>/renames`: one row per decision about a test that was renamed or
//!   moved. Nothing else is changed for it: ids are translated when they are read.
//! - `<project>/test_days`: what each test did on each day, made from `attempts` by
//!   `maintain`. It may be deleted at any time, unless attempts have expired before it.
//!
//! Results that wait to be committed are files in `<project>/landing`.
//!
//! What the crate guarantees:
//!
//! - **Exactly once.** A report is taken in once, regardless of who sends it and how often,
//!   see [`History::append`].
//! - **Acknowledged means durable.** When `append` returns, the data files, the
//!   log entries and their folders have been synced (on local disks; object
//!   stores do so by themselves).
//! - **A report is never half there.** Its row in `runs` comes first, its
//!   attempts come in one atomic commit, its verdicts last.
//!
//! It never judges a failure by anything but history, and renders nothing.

mod aliases;
mod append;
#[doc(hidden)]
pub mod bare;
mod bucket;
mod cached;
mod columns;
mod contexts;
pub mod engine;
mod error;
mod expire;
mod files;
mod flaky;
mod gather;
mod landing;
mod local;
mod log;
mod maintain;
mod orders;
mod overview;
mod past;
mod rate_changes;
mod renames;
mod report;
mod rollup;
mod session;
mod show;
mod show_rolled;
mod sql;
mod store;
mod table;
mod verdicts;

pub use append::Appended;
pub use bucket::Guarantee;
pub use error::HistoryError;
pub use expire::Expiry;
pub use flaky::{MINIMUM_OUTAGE_TESTS, RevisionTally, judge};
pub use landing::Landed;
pub use maintain::{MaintainOptions, MaintainSummary};
pub use rate_changes::rate_changes;
pub use report::ReportOptions;
pub use show::Matches;
pub use store::{History, Interrupt, StoreUrl};
