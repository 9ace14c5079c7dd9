//! Runs a project's tests: lists, executes, isolates and time-limits them.
//!
//! So far [`pytest`](Suite) only. It starts the
//! user's own command with an agent injected through the environment, so the
//! project need not know of us. The agent is embedded in this crate, speaks
//! `flakewise-protocol`, and decides nothing.
//!
//! Nothing here judges a failure. Whether a test runs again is decided by a
//! [`Director`].
//!
//! # Processes
//!
//! We run other people's tests, so nothing they start may outlive us: see
//! `processes`. Time is limited for each test, memory of ours does not depend
//! on what tests print, and what an agent says is hostile input.

mod agent;
mod command;
mod error;
mod execution;
mod facts;
mod fresh;
mod guard;
mod hub;
mod jobs;
mod measure;
mod plain;
mod processes;
mod repository;
mod shell;
mod signals;
mod state;
mod suite;
mod supervisor;
mod sys;
mod trail;
mod watch;

pub use command::{RunnerCommand, Unobserved};
pub use error::RunnerError;
pub use execution::{
    CollectError, Execution, Observation, Place, ProcessCost, SessionEnd, SuiteRun, TestKey, Versions,
    pytest_id,
};
pub use facts::{SessionFacts, Typed};
pub use fresh::{Elsewhere, FreshOptions, FreshRun};
pub use guard::{end_now, guard};
pub use jobs::Forks;
pub use measure::{CoveredFile, Measured};
pub use plain::OrderPlugins;
pub use repository::{path_in_repository, repository_root};
pub use shell::{LineEnd, run_line, scratch_folder};
pub use signals::SignalListener;
pub use state::{SeenChange, StateRun};
pub use suite::{Director, NothingAgain, Step, Suite, SuiteOptions};
