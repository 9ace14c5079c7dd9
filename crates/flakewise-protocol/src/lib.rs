//! The messages between us and the agents inside test runners.
//!
//! One JSON object per line over a stream socket. Every process of a runner has
//! a connection of its own, so lines never mix, processes can run in parallel,
//! and the end of a stream without [`ToHost::Bye`] says which process died.
//!
//! # Versions
//!
//! [`Hello::proto`] is `[major, minor]`. Another major number is refused. Unknown
//! fields are ignored, and so are unknown messages ([`ToHost::Unknown`]).
//!
//! # A run of a suite
//!
//! ```text
//! main                              host
//! hello{role: main}             ->
//!                               <-  job{ask: true}
//! tests{ids}, ready             ->
//!                               <-  go
//! start{i}, end{i, passed}      ->
//! start{i}, ask{i, failure}     ->
//!                               <-  again | next
//! end{i, failed}                ->
//! suite_end                     ->
//!                               <-  run{tests, phase: postpone}
//! start{i}, end{i}, ran         ->
//!                               <-  hold
//! held                          ->
//!                               <-  finish{forgive: true}
//! finished{status: 0}, bye      ->
//! ```
//!
//! `hold` is sent only if a test failed: while main waits, its failures are judged,
//! and main exits with the code that the verdicts ask for. The names of the tests
//! go out in as many messages as they need, and `ready` says how many there are.
//!
//! Beside it lives a *zygote*, forked from main before the first test. It takes
//! `job`s, forks a *child* for each, and says when a child ended. A *fresh*
//! process is a new interpreter that runs the one job it is given.
//!
//! What is never sent, because a dead process cannot: that a test crashed, was
//! stopped by a time limit or never ran. The host sees that for itself.
//!
//! This crate decides nothing.

mod frame;
mod message;

pub use frame::{FrameError, FrameReader, LINE_LIMIT, write_message};
pub use message::{
    AgentPhase, CoveredFileMessage, Hello, Job, Measure, MeasuredMessage, ReadyMessage, Role,
    StateChangeMessage, StateOrder, TestEnding, TestFailureMessage, ToAgent, ToHost, TrailEntry,
};

/// The version we speak.
pub const VERSION: [u32; 2] = [1, 0];
