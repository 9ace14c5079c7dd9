//! Measures all models on a data set, and writes the results.
//!
//!     evaluate DATA [FOLDER] [--protocol NAME] [--model TEXT,…] [--resume FOLDER]
//!              [--peeler-rows FILE] [--only-peeler-subset]
//!
//! `--model` takes models whose name contains one of the texts, or is the text
//! after `=`. `--resume` keeps the answers of every fold in a folder and reads
//! them from there; delete it after a change of a model.

use std::error::Error;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use flakewise_eval::{EvalOptions, Progress, Protocol, evaluate};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| {
        arguments.iter().position(|argument| argument == name).and_then(|place| arguments.get(place + 1))
    };
    let data = arguments.first().ok_or("usage: evaluate DATA [FOLDER]")?;
    let mut options = EvalOptions::default();
    if let Some(name) = option("--protocol") {
        options.protocols = Protocol::ALL.into_iter().filter(|protocol| protocol.name() == name).collect();
    }
    if let Some(text) = option("--model") {
        let chosen: Vec<&str> = text.split(',').collect();
        options.models.retain(|model| {
            model.names.iter().any(|name| {
                chosen
                    .iter()
                    .any(|part| part.strip_prefix('=').map_or(name.contains(part), |whole| name == whole))
            })
        });
    }
    options.only_peeler_subset = arguments.iter().any(|argument| argument == "--only-peeler-subset");
    options.resume = option("--resume").map(PathBuf::from);
    options.peeler_rows_of_one = option("--peeler-rows").map(PathBuf::from);
    let evaluation = evaluate(Path::new(data), &options, &|progress| {
        let text = match progress {
            Progress::Read { tests } => format!("{tests} tests"),
            Progress::Done { protocol, model, done, all } => {
                format!("{done} of {all}: {} {model}", protocol.name())
            }
        };
        // Whoever reads the results does not want to lose them over progress.
        let _ = writeln!(std::io::stderr(), "{text}");
    })?;
    write!(std::io::stdout(), "{}", evaluation.summary())?;
    if let Some(folder) = arguments.get(1).filter(|argument| !argument.starts_with("--")) {
        evaluation.write(Path::new(folder))?;
    }
    Ok(())
}
