//! What source may cost. Source is somebody else's: whatever it holds, time
//! and memory stay in proportion to its size.

/// A longer file is not read. Hand-written tests are far below it.
pub(crate) const FILE_BYTES: usize = 2 << 20;
/// More tests of one file than this are left out.
pub(crate) const TESTS_PER_FILE: usize = 10_000;
/// Classes within classes are looked into to this depth.
pub(crate) const CLASS_DEPTH: usize = 32;
/// Base classes are followed this far.
pub(crate) const BASE_CLASSES: usize = 16;
/// What a test calls, directly or not, is followed to this many functions.
pub(crate) const HELPERS_PER_TEST: usize = 32;
/// Longer pieces are cut.
pub(crate) const PIECE_BYTES: usize = 64 << 10;
/// Words of all pieces of a file together. A context is repeated for each
/// class and an inherited test for each heir, so this can exceed what the file
/// holds, and it must not exceed it without end.
pub(crate) const TOKENS_PER_FILE: usize = 4_000_000;
/// Pieces of all contexts of a file together, for the same reason.
pub(crate) const PIECES_PER_FILE: usize = 100_000;
/// What a call is made on is kept as written up to this length.
pub(crate) const RECEIVER_BYTES: usize = 80;
/// Issues of one file; what comes after them is not reported.
pub(crate) const ISSUES_PER_FILE: usize = 20;
/// Brackets that are open at one place. With more, a file is not parsed.
pub(crate) const OPEN_BRACKETS: usize = 1_000;
/// Signs that may open the arguments of a type, since the last statement.
pub(crate) const OPEN_ANGLES: usize = 256;
/// The parser reports back after every hundred steps. Of 21,660 real classes
/// none needs more than one report for 30 bytes.
pub(crate) const REPORTS_PER_FILE: usize = 1_000;
/// See [`REPORTS_PER_FILE`].
pub(crate) const BYTES_PER_REPORT: usize = 16;
/// Reports after the first error. Steps are slow from there on: this is what
/// some hundred kilobytes need.
pub(crate) const REPORTS_AFTER_ERROR: usize = 5_000;
