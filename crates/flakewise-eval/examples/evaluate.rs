//! Measures all models on a data set, and writes the results.
//!
//!     evaluate DATA [FOLDER] [--protocol NAME] [--model TEXT]

use std::error::Error;
use std::io::Write as _;
use std::path::Path;

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
        options.models.retain(|model| model.names.iter().any(|name| name.contains(text)));
    }
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
