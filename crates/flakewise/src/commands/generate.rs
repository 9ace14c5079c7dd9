//! `flakewise completions` and `flakewise man`.

use clap::CommandFactory;
use flakewise_model::Foreign;
use flakewise_report::count;

use crate::args::{Arguments, CompletionsArguments, ManArguments};
use crate::error::ExpectedError;
use crate::exit_code::ExitCode;
use crate::printer::Printer;
use crate::repository::write_whole;

const NAME: &str = "flakewise";

pub(crate) fn completions(
    arguments: &CompletionsArguments,
    printer: &Printer,
) -> Result<ExitCode, ExpectedError> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), NAME, &mut script);
    printer.data(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::Success)
}

/// Writes a page for each command that the help lists, named like `git-log(1)`.
pub(crate) fn man(arguments: &ManArguments, printer: &Printer) -> Result<ExitCode, ExpectedError> {
    let mut command = Arguments::command();
    // Without this, subcommands have no global options and no full names.
    command.build();
    let mut pages = Vec::new();
    collect(command, &mut pages);
    for (name, page) in &pages {
        write_whole(&arguments.directory.join(format!("{name}.1")), page)?;
    }
    let written = count(pages.len() as u64, "man page");
    let directory = Foreign::new(&arguments.directory.to_string_lossy()).line();
    printer.data(&format!("wrote {written} to {directory}\n"))?;
    Ok(ExitCode::Success)
}

fn collect(command: clap::Command, pages: &mut Vec<(String, Vec<u8>)>) {
    let is_shown = |command: &&clap::Command| !command.is_hide_set() && command.get_name() != "help";
    for inner in command.get_subcommands().filter(is_shown) {
        collect(inner.clone(), pages);
    }
    // `flakewise-run`, which `build` has made.
    let name = command.get_display_name().unwrap_or(NAME).to_owned();
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page).expect("writing to memory never fails");
    pages.push((name, page));
}
