//! `flakewise debug`: looks inside, for benches and those who work on Flakewise.

use std::path::Path;
use std::time::Duration;

use flakewise_model::{Foreign, Touch};
use flakewise_report::{json_document, number};
use flakewise_runner::{NothingAgain, RunnerCommand, Suite, SuiteOptions};
use flakewise_triage::{Change, Meeting, Progress};

use super::side_by_side;
use crate::args::{MeetingsArguments, PairsArguments};
use crate::context::variable;
use crate::error::ExpectedError;
use crate::exit_code::ExitCode;
use crate::printer::Printer;

/// Says for every test how it meets the change.
pub(crate) fn meetings(arguments: &MeetingsArguments, printer: &Printer) -> Result<ExitCode, ExpectedError> {
    let command = RunnerCommand::new(&arguments.command)?;
    let change = Change::discover(Path::new("."), arguments.base.as_deref(), None, variable)?;
    let Some(change) = change else { return Ok(ExitCode::NothingFound) };
    let options = SuiteOptions {
        test_timeout: Duration::from_mins(1),
        hash_seed: 1,
        output_to_stderr: true,
        collect_only: true,
    };
    let bar = printer.spinner("watching");
    let mut suite = Suite::start(&command, options)?;
    suite.run(&mut NothingAgain)?;
    let found = flakewise_triage::meetings(&mut suite, &change, &|progress| {
        if let Progress::Separate { name, place, of, .. } = progress {
            bar.set_message(format!("{}/{of} {}", place + 1, Foreign::new(name).line()));
        }
    })?;
    drop(suite);
    bar.finish_and_clear();
    let tests: Vec<_> = found.iter().map(|(name, meeting)| described(name, meeting)).collect();
    let files: Vec<_> = change.files.iter().map(|file| file.path.as_str()).collect();
    let report = serde_json::json!({ "format": 1, "base": change.base, "changed": files, "tests": tests });
    printer.data(&json_document(&report))?;
    Ok(ExitCode::Success)
}

fn described(name: &str, meeting: &Meeting) -> serde_json::Value {
    match meeting {
        Meeting::Disjoint { dependencies } => {
            serde_json::json!({ "name": name, "meeting": "disjoint", "dependencies": dependencies })
        }
        Meeting::Unknown { reason } => {
            serde_json::json!({ "name": name, "meeting": "unknown", "reason": reason })
        }
        Meeting::Touches(files) => {
            let how = |touch: &Touch| match touch {
                Touch::Executed(_) => "executed",
                Touch::Loaded => "loaded",
                Touch::Opened => "opened",
                Touch::LookedFor => "looked-for",
                Touch::Configured(_) => "configured",
            };
            let files: Vec<_> = files
                .iter()
                .map(|file| serde_json::json!({ "path": file.path, "touch": how(&file.touch) }))
                .collect();
            serde_json::json!({ "name": name, "meeting": "touches", "files": files })
        }
    }
}

/// Runs every test before every other.
pub(crate) fn pairs(arguments: &PairsArguments, printer: &Printer) -> Result<ExitCode, ExpectedError> {
    let command = RunnerCommand::new(&arguments.command)?;
    let options = SuiteOptions {
        test_timeout: Duration::from_mins(1),
        hash_seed: 1,
        output_to_stderr: true,
        collect_only: false,
    };
    let bar = printer.spinner("pairs");
    let mut suite = Suite::start(&command, options)?;
    let tell = |done, all| {
        if done % 100 == 0 {
            bar.set_message(format!("{} of {}", number(done), number(all)));
        }
    };
    let found = flakewise_hunt::pairs(&mut suite, side_by_side(arguments.jobs), &tell)?;
    drop(suite);
    bar.finish_and_clear();
    let tests: Vec<_> = found
        .tests
        .iter()
        .map(|test| {
            serde_json::json!({
                "name": test.name,
                "passed_alone": test.alone.passed,
                "failed_alone": test.alone.failed,
                "seconds": test.seconds,
            })
        })
        .collect();
    let pairs: Vec<_> = found.pairs.iter().map(|pair| [pair.first, pair.second]).collect();
    let report = serde_json::json!({
        "format": 1,
        "tests": tests,
        "pairs": pairs,
        "asked": found.asked,
        "forks": found.forks,
        "seconds": found.duration.as_secs_f64(),
    });
    printer.data(&json_document(&report))?;
    Ok(ExitCode::Success)
}
