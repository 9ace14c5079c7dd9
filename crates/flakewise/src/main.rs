//! The command line of Flakewise: parse, wire together, exit.

mod args;
mod commands;
mod context;
mod error;
mod exit_code;
mod find_reports;
mod printer;

use clap::Parser as _;

use crate::args::Arguments;
use crate::printer::Printer;

fn main() -> std::process::ExitCode {
    let arguments = Arguments::parse();
    let printer = Printer::new(arguments.color, arguments.quiet);
    match commands::run(arguments.command, &printer) {
        Ok(code) => code.into(),
        Err(error) => {
            printer.error(&error);
            error.exit_code().into()
        }
    }
}
