//! JUnit XML in every dialect, read and written.
//!
//! [`read()`] and [`read_bytes`] never fail on messy input: they return what they
//! understood, as attempts, and [issues](Issue) about the rest. A report that
//! may have lost tests does not count as [complete](Report::complete). Memory
//! stays within [`Limits`] whatever the input, and no entity is ever expanded.
//! [`write()`] is the way back, without loss.
//!
//! The crate knows nothing of files and processes, and draws no conclusions.
//!
//! # Dialects
//!
//! | dialect | recognised by | module | class path | name | parameters |
//! |---|---|---|---|---|---|
//! | [pytest](Dialect::Pytest) | root `pytest tests`, suite `pytest` | file | classes | function | in `[…]` |
//! | [Surefire](Dialect::Surefire) | its schema | package | classes, split at `$` | method | number in `[…]`, or what follows `(…)` |
//! | [Gradle](Dialect::Gradle), [Ant and others](Dialect::Java) | order of attributes, `java.version` | as Surefire | | | |
//! | [gotestsum](Dialect::Go) | property `go.version` | import path | | test | sub-test, after the first `/` |
//! | [nextest](Dialect::Nextest) | root `nextest-run`, `uuid` | binary id | modules | function | |
//! | [jest-junit](Dialect::Jest) | root `jest tests` | file, else suite | class name, if it says more than the name | title | |
//! | [Vitest](Dialect::Vitest) | root `vitest tests` | file | `describe` titles, split at ` > ` | title | |
//! | [Playwright](Dialect::Playwright) | order of attributes | file | project, then titles, split at ` › ` | title | |
//! | [GoogleTest](Dialect::GoogleTest) | root `AllTests`, `result` | file | suite | test | after `/` |
//! | [`CTest`](Dialect::CTest) | order of attributes, `status` | | | test | |
//! | [Catch2](Dialect::Catch2) | order of attributes | binary | fixture | test | sections, after `/` |
//! | [PHPUnit](Dialect::PhpUnit) | order of attributes, `class` | namespace | class | method | data set |
//! | [RSpec](Dialect::RSpec) | suite `rspec` | file | | description | |
//! | [Node](Dialect::Node) | order of attributes, class name `test` | file, if given | suites | title | |
//! | [unittest](Dialect::Unittest) | order of attributes | file | classes | method | sub-test, after a space |
//! | [ours](Dialect::Flakewise) | root `flakewise` | in a property | | | |
//! | [unknown](Dialect::Unknown) | | file, else suite | class name, as one | name | |
//!
//! Where the table says "order of attributes", the order in which a runner
//! writes those of a suite is taken for its signature. Most others are recognised by
//! it when the first sign is missing, as it is when a user renames the report.
//! A dialect is decided at the first test case; later suites of a merged file
//! change it only by a sign that leaves no doubt.
//!
//! # Retries
//!
//! Attempts of one test are in the order of their execution and numbered from
//! 1; the first is [`Phase::First`](flakewise_model::Phase::First).
//!
//! - `flakyFailure` and `flakyError` are attempts before the one that the test
//!   case itself stands for, `rerunFailure` and `rerunError` attempts after it:
//!   Surefire, nextest and Playwright. The `<failure>` beside a `rerunFailure`
//!   is the first attempt for all three. nextest's `flaky failure` is none: that
//!   attempt passed.
//! - Test cases of one id are attempts in the order of the report: gotestsum,
//!   which lists failures before passes, nextest's stress runs, Gradle,
//!   pytest-rerunfailures. The last leaves failed attempts that look passed;
//!   they are recognised by pytest's own counts.
//! - jest-junit, Vitest, RSpec, Node and Catch2 list each test once. There, two
//!   cases of one id are two tests of one name, and the second is given the
//!   parameter `#2`. Attempts before the last are not in their reports at all.
//!
//! # Times and places
//!
//! - An attempt began at the `timestamp` of its element or test case; where
//!   there is none, at that of its suite, which all tests of the suite then
//!   share. Nothing is added up. A time without a zone is in UTC.
//! - Its position is the index of its test case in the report, as nearly all
//!   runners report in the order of execution. gotestsum does not and gives
//!   none. Retries inside a test case have none either.
//! - Its worker is the suite's `hostname`, except where that is something else,
//!   or the dead worker that pytest-xdist names.
//!
//! # Outcomes
//!
//! `failure`, `error` and `skipped` are what they say; time-outs and crashes are
//! distinguished from failures by each runner's way to say so. A test that is both
//! skipped and failed was allowed to fail: skipped. Of several failures of one
//! attempt the first counts.

mod attributes;
mod case;
mod collector;
mod dialect;
mod element;
mod identity;
mod issue;
mod lexer;
mod limits;
mod note;
mod number;
mod outcome;
mod read;
mod value;
mod window;
mod write;

pub use dialect::Dialect;
pub use issue::{Issue, IssueKind, IssueLevel, Place};
pub use limits::Limits;
pub use read::{Report, read, read_bytes};
pub use write::{write, write_with_quarantine};
