//! From XML to a committed table, against a bare pass over the same XML.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use quick_xml::events::Event;
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};

use crate::measure::{header, least, ratio, run as measured};
use crate::{Options, Outcome};

pub(crate) fn run(options: &Options) -> Outcome<()> {
    print!("{}", header("ingest", options));
    let (files, cases, repetitions) = if options.short { (8, 500, 1) } else { (100, 5_000, 5) };
    let scratch = tempfile::tempdir()?;
    let reports = scratch.path().join("reports");
    std::fs::create_dir(&reports)?;
    let mut random = SmallRng::seed_from_u64(options.seed);
    let mut bytes = 0;
    for number in 0..files {
        let report = report(number, cases, &mut random);
        bytes += report.len();
        std::fs::write(reports.join(format!("junit-{number:04}.xml")), report)?;
    }
    let total = files * cases;
    println!("reports  {files} files, {total} results, {:.1} MB", bytes as f64 / 1e6);
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for number in 0..repetitions {
        let own = std::env::current_exe()?;
        bare.push(measured(Command::new(own).arg("bare-xml").arg(&reports))?.0);
        let store = scratch.path().join(format!("store-{number}"));
        let mut command = Command::new(&options.flakewise);
        command.arg("ingest").arg(&reports).args([
            "--project",
            "bench",
            "--run",
            "r",
            "--commit",
            "c",
            "--strict",
        ]);
        command.arg("--store").arg(&store).arg("--spool").arg(scratch.path().join("spool")).env_remove("CI");
        ours.push(measured(&mut command)?.0);
        std::fs::remove_dir_all(store)?;
    }
    let (ours, bare) = (least(&ours), least(&bare));
    println!("\n                        CPU s   wall s   results/s (wall)");
    for (name, cost) in [("bare quick-xml pass", bare), ("flakewise ingest", ours)] {
        println!(
            "{name:<20}    {:6.2}   {:6.2}   {:>9.0}",
            cost.cpu.as_secs_f64(),
            cost.wall.as_secs_f64(),
            total as f64 / cost.wall.as_secs_f64()
        );
    }
    println!(
        "ratio                   {:6.2}   {:6.2}   (bound 3; Chromium's mean is 32,000 results/s)",
        ratio(ours.cpu, bare.cpu),
        ratio(ours.wall, bare.wall)
    );
    Ok(())
}

/// Every event of every report, attributes unescaped, and nothing kept.
pub(crate) fn bare(folder: &Path) -> Outcome<()> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Outcome<_>>()?;
    paths.sort();
    let (mut events, mut text) = (0_u64, 0_usize);
    for path in paths {
        let content = std::fs::read_to_string(path)?;
        let mut reader = quick_xml::Reader::from_str(&content);
        loop {
            match reader.read_event()? {
                Event::Eof => break,
                Event::Start(element) | Event::Empty(element) => {
                    for attribute in element.attributes() {
                        text += attribute?.normalized_value(quick_xml::XmlVersion::Implicit1_0)?.len();
                    }
                }
                Event::Text(content) => text += content.len(),
                _ => {}
            }
            events += 1;
        }
    }
    println!("{events} events, {text} bytes of text");
    Ok(())
}

/// A report as pytest writes it: 2 % of the tests fail, with a traceback.
fn report(number: usize, cases: usize, random: &mut SmallRng) -> String {
    let mut out = String::with_capacity(cases * 150);
    let _ = write!(
        out,
        "<?xml version=\"1.0\" encoding=\"utf-8\"?><testsuites name=\"pytest tests\"><testsuite name=\"pytest\" \
         errors=\"0\" failures=\"{}\" skipped=\"0\" tests=\"{cases}\" time=\"81.5\" \
         timestamp=\"2026-11-{:02}T10:00:00.000000+00:00\" hostname=\"ci-{number}\">",
        cases / 50,
        1 + number % 5
    );
    for case in 0..cases {
        let module = case / 40;
        let name = format!("test_case_number_{case:05}_handles_something");
        let time = random.random_range(0.0002..0.9);
        let class = format!(
            "services.module_{:03}.tests.test_{module:04}.TestSuite{:02}",
            module % 60,
            case / 20 % 2
        );
        let _ = write!(out, "<testcase classname=\"{class}\" name=\"{name}\" time=\"{time:.3}\"");
        if random.random::<f64>() < 0.02 {
            let _ = write!(
                out,
                "><failure message=\"AssertionError: assert {} == 3&#10; +  where {} = total(&lt;Cart at 0x7f{:08x}&gt;)\">",
                case,
                case,
                random.random::<u32>()
            );
            for line in 0..24 {
                let _ = writeln!(out, "    step_{line} = prepare(cart, {line})  # &quot;x&quot; &lt; y");
            }
            let _ = write!(
                out,
                "services/module_{:03}/tests/test_{module:04}.py:{case}: AssertionError</failure></testcase>",
                module % 60
            );
        } else {
            out.push_str(" />");
        }
    }
    out.push_str("</testsuite></testsuites>");
    out
}
