//! What reading a report costs beside a bare pass of `quick-xml` over it.
//!
//! Run with `cargo run --release -p flakewise-junit --example parse_cost`; the
//! number of test cases may follow.

#![expect(clippy::print_stdout, reason = "its output is for the terminal")]

use std::fmt::Write as _;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use flakewise_junit::{Limits, read, read_bytes};
use flakewise_model::{Failure, Run, RunId, TestIds, Timestamp, Variant};
use quick_xml::events::Event;
use quick_xml::{Reader, XmlVersion};

const ROUNDS: usize = 5;

fn main() {
    let cases: usize = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(100_000);
    println!(
        "{cases} test cases with known ids, 2 % of them failures with a trace of 1.5 KB; the best of {ROUNDS}\n"
    );
    for failures in [true, false] {
        let report = report(cases, failures);
        measure(&report, cases, failures);
    }
}

fn measure(report: &str, cases: usize, failures: bool) {
    let run = Arc::new(Run {
        id: RunId::new("cost"),
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
    let limits = Limits::default();
    let bare = best(|| bare(report));
    let ids = &mut TestIds::default();
    let slice = best(|| read_bytes(report.as_bytes(), &run, &limits, ids));
    let stream = best(|| read(report.as_bytes(), &run, &limits, ids));
    println!("{} bytes, {}", report.len(), if failures { "with failures" } else { "passes only" });
    let line = |name: &str, time: Duration| {
        let each = time.as_nanos() as f64 / cases as f64;
        println!("{name:<28} {each:>7.0} ns/case  {:.2}", time.as_secs_f64() / bare.as_secs_f64());
    };
    line("bare quick-xml", bare);
    line("read_bytes", slice);
    line("read", stream);
    if failures {
        let trace = trace().replace("&gt;", ">");
        let message = "AssertionError: assert 4 == 3";
        let fingerprints = best(|| {
            (0..cases / 50)
                .map(|_| Failure::new(Some("AssertionError"), message, black_box(&trace)).message.len())
                .sum::<usize>()
        });
        line("of that, fingerprints", fingerprints);
    }
    println!();
}

fn best<T>(mut work: impl FnMut() -> T) -> Duration {
    (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            let result = black_box(work());
            let elapsed = start.elapsed();
            drop(result);
            elapsed
        })
        .min()
        .expect("there is more than one round")
}

/// All events, and the values of all attributes.
fn bare(report: &str) -> usize {
    let mut reader = Reader::from_reader(report.as_bytes());
    let mut bytes = 0;
    loop {
        match reader.read_event().expect("the report is well-formed") {
            Event::Eof => return bytes,
            Event::Start(tag) | Event::Empty(tag) => {
                for attribute in tag.attributes() {
                    let attribute = attribute.expect("the attributes are well-formed");
                    let value = attribute.normalized_value(XmlVersion::Implicit1_0);
                    bytes += value.expect("the values are well-formed").len();
                }
            }
            _ => {}
        }
    }
}

/// A report as pytest writes it.
fn report(cases: usize, failures: bool) -> String {
    let trace = trace();
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?><testsuites name=\"pytest tests\"><testsuite name=\"pytest\" \
         errors=\"0\" failures=\"{}\" skipped=\"0\" tests=\"{cases}\" time=\"61.204\" \
         timestamp=\"2026-11-15T02:00:21.604498+00:00\" hostname=\"ci-host\">",
        cases / 50
    );
    for case in 0..cases {
        write!(
            out,
            "<testcase classname=\"tests.unit.test_module_{}.TestCase{}\" name=\"test_number_{}[{}-{case}]\" time=\"0.{:03}\"",
            case / 50,
            case % 50 / 10,
            case % 10,
            case % 3,
            case % 1000
        )
        .expect("writing to a String succeeds");
        if failures && case % 50 == 7 {
            write!(
                out,
                "><failure message=\"AssertionError: assert {case} == 3&#10; +  where {case} = total()\">{trace}</failure></testcase>"
            )
            .expect("writing to a String succeeds");
        } else {
            out.push_str(" />");
        }
    }
    out.push_str("</testsuite></testsuites>");
    out
}

/// A trace of pytest of about 1.5 KB, escaped.
fn trace() -> String {
    let mut trace = String::new();
    for depth in 0..7 {
        write!(
            trace,
            "    def helper_{depth}(value, expected):\n        total = sum(item.price for item in value)\n\
             &gt;       assert total == expected, \"the total is wrong\"\nE       AssertionError: the total is wrong\n\
             E       assert {depth} == 3\n\ntests/unit/helpers_{depth}.py:{}: AssertionError\n",
            depth * 7 + 3
        )
        .expect("writing to a String succeeds");
    }
    trace
}
