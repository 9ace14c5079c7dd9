//! Reading a report.

use std::io::BufRead;
use std::sync::Arc;

use flakewise_model::{Attempt, Run, TestIds};

use crate::collector::Collector;
use crate::issue::{Here, IssueKind, Place};
use crate::lexer::{Oversized, lex};
use crate::window::{Window, detect};
use crate::{Dialect, Issue, Limits};

/// What was understood of a report.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// Who wrote it; of a file with several reports, who wrote the first.
    pub dialect: Dialect,
    /// What was executed, in the order of the report; attempts of one test are
    /// in the order of their execution.
    pub attempts: Vec<Attempt>,
    /// How many tests the report says there are. Runners count differently, so
    /// this need not be the number of attempts or of tests among them.
    pub declared_tests: Option<u64>,
    /// Whether all of it was understood. If not, tests may be missing.
    pub complete: bool,
}

/// Reads a report from a stream, in bounded memory.
///
/// This never fails: it returns what it understood, and issues about what it
/// did not. Every attempt is given `run`. Ids come from `ids`, so that reports with the same
/// tests share them.
pub fn read(
    source: impl BufRead,
    run: &Arc<Run>,
    limits: &Limits,
    ids: &mut TestIds,
) -> (Report, Vec<Issue>) {
    let mut collector = Collector::new(run, limits, ids);
    let (mut window, unknown_encoding) = Window::open(source, limits.window);
    if let Some(name) = unknown_encoding {
        collector.issue(&Here::new("", Place::START), IssueKind::UnknownEncoding { name });
    }
    let mut oversized: Option<Oversized> = None;
    // The last window is looked at until nothing is left of it.
    while !(window.at_end() && window.text().is_empty() || collector.stopped()) {
        window.fill();
        let (text, place, last) = (window.text(), window.place(), window.at_end());
        if let Some(encoding) = window.not_text() {
            collector.issue_once(&Here::new("", place), IssueKind::NotText { encoding });
        }
        let read = if let Some(mut construct) = oversized.take() {
            let (read, ended) = construct.resume(text, place, last, limits, &mut collector);
            oversized = Some(construct).filter(|_| !ended);
            read
        } else {
            let read = lex(text, place, last, &mut collector);
            if read == 0 && !last && window.full() {
                let (construct, read) = Oversized::begin(text, place, &mut collector);
                oversized = Some(construct);
                read
            } else {
                read
            }
        };
        window.consume(read);
    }
    if let Some(error) = window.take_error() {
        let here = Here::new("", window.place());
        collector.issue(&here, IssueKind::Io { message: error.to_string() });
    }
    let place = window.place();
    collector.finish(&Here::new("", place))
}

/// Reads a report that is in memory. The same as [`read`], but faster.
pub fn read_bytes(bytes: &[u8], run: &Arc<Run>, limits: &Limits, ids: &mut TestIds) -> (Report, Vec<Issue>) {
    let detected = detect(bytes);
    let plain = detected.encoding == encoding_rs::UTF_8 && detected.unknown.is_none();
    let text = str::from_utf8(&bytes[detected.mark..]).ok().filter(|_| plain);
    let Some(text) = text else {
        return read(bytes, run, limits, ids);
    };
    let mut collector = Collector::new(run, limits, ids);
    collector.expect(text.len());
    lex(text, Place::START, true, &mut collector);
    let mut here = Here::new(text, Place::START);
    here.move_to(text.len());
    collector.finish(&here)
}
