//! Reads input that is meant to do harm and says what it took.
//!
//! Run with `cargo run --release -p flakewise-junit --example hostile`; the
//! size of each input in megabytes may follow. Inputs are made as they are read
//! and never held. Each is read in a process of its own, whose peak memory is
//! the operating system's word.

#![expect(clippy::print_stdout, reason = "its output is for the terminal")]

use std::cell::Cell;
use std::io::{BufReader, Cursor, Read};
use std::process::Command;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use flakewise_junit::{Limits, read};
use flakewise_model::{Run, RunId, TestIds, Timestamp, Variant};

/// A name, what comes first, what is repeated, and what comes last.
const CASES: [(&str, &str, &[u8], &str); 12] = [
    ("nothing, for comparison", "<testsuite>", b" ", "</testsuite>"),
    (
        "billion laughs",
        "<!DOCTYPE lolz [<!ENTITY lol \"lol\">",
        b"<!ENTITY lol2 \"&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;\">",
        "]><testsuite><testcase name=\"&lol2;\"/></testsuite>",
    ),
    ("nested elements", "<testsuite>", b"<a>", ""),
    ("nested suites", "", b"<testsuite name=\"a\">", ""),
    ("one attribute", "<testsuite><testcase name=\"", b"a", "\"/></testsuite>"),
    ("many attributes", "<testsuite><testcase name=\"a\"", b" b=\"c\"", "/></testsuite>"),
    ("one text", "<testsuite><testcase name=\"a\"><failure>", b"text ", "</failure></testcase></testsuite>"),
    (
        "entities in a text",
        "<testsuite><testcase name=\"a\"><failure>",
        b"&lt;",
        "</failure></testcase></testsuite>",
    ),
    ("one comment", "<testsuite><!--", b"- ", "--><testcase name=\"a\"/></testsuite>"),
    (
        "one CDATA section",
        "<testsuite><system-out><![CDATA[",
        b"]] >",
        "]]></system-out><testcase name=\"a\"/></testsuite>",
    ),
    (
        "bytes that are not UTF-8",
        "<testsuite><testcase name=\"a\"><failure>",
        b"\xff\xfe\xc3(",
        "</failure></testcase></testsuite>",
    ),
    ("cases without times", "<testsuite>", b"<testcase name=\"a\"/>", "</testsuite>"),
];

fn main() {
    let mut arguments = std::env::args().skip(1);
    let megabytes: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1024);
    match arguments.next().and_then(|text| text.parse().ok()) {
        Some(case) => one(case, megabytes),
        None => all(megabytes),
    }
}

/// Reads each input in a process of its own.
fn all(megabytes: u64) {
    println!(
        "{:<26} {:>11} {:>9} {:>7} {:>9} {:>7}",
        "input", "bytes", "attempts", "issues", "peak KiB", "time"
    );
    let program = std::env::current_exe().expect("a program knows where it is");
    for (case, (name, ..)) in CASES.iter().enumerate() {
        let output = Command::new(&program)
            .args([megabytes.to_string(), case.to_string()])
            .output()
            .expect("this program can be run again");
        assert!(output.status.success(), "{name} failed");
        print!("{}", String::from_utf8_lossy(&output.stdout));
    }
}

fn one(case: usize, megabytes: u64) {
    let (name, before, filler, after) = CASES[case];
    let run = Arc::new(Run {
        id: RunId::new("hostile"),
        commit: None,
        dirty: false,
        branch: None,
        variant: Variant::default(),
        provider: None,
        url: None,
        started: Timestamp::UNIX_EPOCH,
        roots: None,
        packages: None,
    });
    let block = filler.repeat(64 * 1024 / filler.len());
    let length = megabytes * 1024 * 1024 / block.len() as u64 * block.len() as u64;
    let filling = Repeat { block, at: 0 }.take(length);
    let count = Rc::new(Cell::new(0));
    let source = Cursor::new(before).chain(filling).chain(Cursor::new(after));
    let start = Instant::now();
    let counted = Counted { source, count: Rc::clone(&count) };
    let (report, issues) = read(BufReader::new(counted), &run, &Limits::default(), &mut TestIds::default());
    let time = start.elapsed().as_secs_f64();
    println!(
        "{name:<26} {:>11} {:>9} {:>7} {:>9} {time:>6.1}s{}",
        count.get(),
        report.attempts.len(),
        issues.len(),
        peak(),
        if report.complete { "" } else { "  incomplete" },
    );
    for issue in issues {
        println!("    {issue}");
    }
}

/// The most memory this process had, in KiB; 0 where nobody says.
fn peak() -> u64 {
    std::fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|status| {
            let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
            line.trim().strip_suffix(" kB")?.parse().ok()
        })
        .unwrap_or(0)
}

struct Repeat {
    block: Vec<u8>,
    at: usize,
}

impl Read for Repeat {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = buffer.len().min(self.block.len() - self.at);
        buffer[..count].copy_from_slice(&self.block[self.at..self.at + count]);
        self.at = (self.at + count) % self.block.len();
        Ok(count)
    }
}

struct Counted<R> {
    source: R,
    count: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.count.set(self.count.get() + count as u64);
        Ok(count)
    }
}
