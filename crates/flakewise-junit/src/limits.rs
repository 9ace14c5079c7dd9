//! How much of a report is read and kept.

/// How much of a report is read and kept.
///
/// Whatever the input, memory stays below a bound that follows from these
/// numbers. What is over a limit is dropped with an issue; the defaults are far
/// above anything an honest runner writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Attempts kept. Reading stops there.
    pub attempts: usize,
    /// Nested elements followed. What lies deeper is not looked at.
    pub depth: usize,
    /// Bytes kept of one attribute's value; the rest of the value is dropped.
    pub attribute: usize,
    /// Bytes kept of one tag; further attributes are dropped.
    pub tag: usize,
    /// Bytes of text kept of one failure; only its fingerprint stays in the
    /// end.
    pub failure_text: usize,
    /// Issues kept. One more says that there were more.
    pub issues: usize,
    /// Bytes of the document held at a time when reading from a stream.
    pub window: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            attempts: 2_000_000,
            depth: 256,
            attribute: 64 * 1024,
            tag: 1024 * 1024,
            failure_text: 64 * 1024,
            issues: 100,
            window: 256 * 1024,
        }
    }
}
