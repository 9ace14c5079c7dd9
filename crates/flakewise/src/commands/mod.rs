//! One module per command: call the crates that know, print what they say.

mod check;
mod config;
mod culprit;
mod debug;
mod doctor;
mod eval;
mod explain;
mod generate;
mod hunt;
mod ingest;
mod init;
#[cfg(feature = "history")]
mod maintain;
mod predict;
mod quarantine;
#[cfg(feature = "history")]
mod renames;
#[cfg(feature = "history")]
mod report;
mod reproduce;
mod run;
mod search;
#[cfg(feature = "history")]
mod show;
#[cfg(feature = "history")]
mod sql;
mod train;

use flakewise_config::{Config, ConfigError};

use crate::args::{Command, DebugCommand};
use crate::error::ExpectedError;
use crate::exit_code::ExitCode;
use crate::printer::Printer;

/// Runs one command.
pub(crate) fn run(
    command: Command,
    config: Result<Config, ConfigError>,
    printer: &Printer,
) -> Result<std::process::ExitCode, ExpectedError> {
    // Whoever runs other people's tests must not leave them behind.
    let runs_tests = match &command {
        Command::Run(_)
        | Command::Check(_)
        | Command::Hunt(_)
        | Command::Culprit(_)
        | Command::Reproduce(_) => true,
        Command::Quarantine(arguments) => quarantine::collects(arguments),
        _ => false,
    };
    if runs_tests && let Some(code) = flakewise_runner::guard() {
        return Ok(code);
    }
    let span = tracing::info_span!(
        "flakewise",
        version = env!("CARGO_PKG_VERSION"),
        arguments = ?crate::logging::arguments(),
        exit = tracing::field::Empty
    )
    .entered();
    let code = dispatch(command, config, printer);
    span.record("exit", code.as_ref().map_or_else(|error| error.exit_code() as u8, |code| *code));
    code.map(Into::into)
}

/// The exit code of one command.
fn dispatch(
    command: Command,
    config: Result<Config, ConfigError>,
    printer: &Printer,
) -> Result<u8, ExpectedError> {
    // These two help with a broken file.
    let command = match command {
        Command::Doctor(arguments) => return Ok(doctor::doctor(&arguments, &config, printer)? as u8),
        Command::Init(arguments) => return Ok(init::init(&arguments, printer)? as u8),
        command => command,
    };
    let config = config?;
    let code: Result<ExitCode, ExpectedError> = match command {
        Command::Run(arguments) => return run::run(&arguments.suite, None, &config, printer),
        Command::Check(arguments) => return check::check(&arguments, &config, printer),
        Command::Hunt(arguments) => hunt::hunt(&arguments, printer),
        Command::Culprit(arguments) => culprit::culprit(&arguments, printer),
        Command::Reproduce(arguments) => reproduce::reproduce(&arguments, printer),
        Command::Debug(DebugCommand::Meetings(arguments)) => debug::meetings(&arguments, printer),
        Command::Debug(DebugCommand::Pairs(arguments)) => debug::pairs(&arguments, printer),
        Command::Completions(arguments) => generate::completions(&arguments, printer),
        Command::Man(arguments) => generate::man(&arguments, printer),
        Command::Quarantine(arguments) => quarantine::quarantine(&arguments, printer),
        Command::Ingest(arguments) => ingest::ingest(&arguments, &config, printer),
        Command::Predict(arguments) => predict::predict(&arguments, &config, printer),
        Command::Explain(arguments) => explain::explain(&arguments, printer),
        Command::Train(arguments) => train::train(&arguments, printer),
        Command::Config(arguments) => config::config(&arguments, &config, printer),
        Command::Doctor(_) | Command::Init(_) => unreachable!("handled above"),
        Command::Eval(arguments) => eval::eval(&arguments, printer),
        #[cfg(feature = "history")]
        Command::Report(arguments) => report::report(&arguments, printer),
        #[cfg(feature = "history")]
        Command::Show(arguments) => show::show(&arguments, printer),
        #[cfg(feature = "history")]
        Command::Sql(arguments) => sql::sql(&arguments, printer),
        #[cfg(feature = "history")]
        Command::Maintain(arguments) => maintain::maintain(&arguments, printer),
        #[cfg(feature = "history")]
        Command::Renames(arguments) => renames::renames(&arguments, printer),
        #[cfg(not(feature = "history"))]
        _ => Err(ExpectedError::NoEngine),
    };
    code.map(|code| code as u8)
}

/// How many processes of tests run in parallel: as many as requested, or as
/// there are cores.
fn side_by_side(jobs: Option<u16>) -> usize {
    jobs.map_or_else(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get), usize::from)
}

/// The history the user means.
#[cfg(feature = "history")]
fn history(arguments: &crate::args::StoreArguments) -> Result<flakewise_history::History, ExpectedError> {
    let store = flakewise_history::StoreUrl::parse(&arguments.url())?;
    Ok(flakewise_history::History::new(store, &crate::context::project(arguments.project.as_deref())))
}
