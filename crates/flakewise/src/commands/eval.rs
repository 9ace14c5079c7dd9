//! `flakewise eval`: how good prediction is, on labelled data.

use std::sync::Mutex;

use flakewise_eval::{EvalOptions, Progress, Protocol, evaluate};
use flakewise_report::count;

use crate::args::{EvalArguments, EvalProtocol};
use crate::error::ExpectedError;
use crate::exit_code::ExitCode;
use crate::printer::Printer;

pub(crate) fn eval(arguments: &EvalArguments, printer: &Printer) -> Result<ExitCode, ExpectedError> {
    let mut options = EvalOptions { seed: arguments.seed, ..EvalOptions::default() };
    if !arguments.protocol.is_empty() {
        options
            .protocols
            .retain(|protocol| arguments.protocol.iter().any(|asked| is_same(*asked, *protocol)));
    }
    let bar = Mutex::new(printer.spinner("reading"));
    let evaluation = evaluate(&arguments.dataset, &options, &|progress| {
        let mut bar = bar.lock().expect("nobody panics with it");
        match progress {
            Progress::Read { tests } => {
                bar.finish_and_clear();
                *bar = printer.progress(0, "measuring");
                bar.set_message(count(tests as u64, "test"));
            }
            Progress::Done { protocol, model, done, all } => {
                bar.set_length(all as u64);
                bar.set_position(done as u64);
                bar.set_message(format!("{} {model}", protocol.name()));
            }
        }
    });
    bar.into_inner().expect("nobody panicked with it").finish_and_clear();
    let evaluation = evaluation?;
    if let Some(issue) = evaluation.issues.first() {
        printer.warning(&format!(
            "skipped {}; the first is line {}: {}",
            count(evaluation.issues.len() as u64, "line"),
            issue.line,
            issue.text
        ));
    }
    printer.data(&evaluation.summary())?;
    if let Some(folder) = &arguments.out {
        evaluation.write(folder)?;
        printer.hint(&format!("results and plots were written to `{}`", folder.display()));
    }
    Ok(ExitCode::Success)
}

fn is_same(asked: EvalProtocol, protocol: Protocol) -> bool {
    let named = match asked {
        EvalProtocol::Random => Protocol::Random,
        EvalProtocol::Class => Protocol::Class,
        EvalProtocol::Project => Protocol::Project,
    };
    named == protocol
}
