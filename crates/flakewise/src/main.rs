//! The command line of Flakewise: parse, wire together, exit.

mod args;
mod commands;
mod context;
mod declarations;
mod delivery;
mod error;
mod exit_code;
mod find_reports;
mod identity;
mod interrupts;
mod logging;
mod own_folder;
mod printer;
mod repository;

use clap::Parser as _;

use crate::args::Arguments;
use crate::printer::Printer;

fn main() -> std::process::ExitCode {
    report_bugs();
    let arguments = Arguments::parse();
    // Progress bars would overwrite what is logged.
    let printer = Printer::new(arguments.color, arguments.quiet || arguments.verbose > 0);
    match logging::start(arguments.verbose).and_then(|()| commands::run(arguments.command, &printer)) {
        Ok(code) => code,
        Err(error) => {
            printer.error(&error);
            error.exit_code().into()
        }
    }
}

/// A panic is our bug: it says so and ends with the exit code for that, in
/// whichever thread it happens.
fn report_bugs() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        print(panic);
        Printer::new(clap::ColorChoice::Auto, true)
            .hint("this is a bug in flakewise, please report it with the lines above");
        #[expect(clippy::exit, reason = "nothing can be trusted to go on")]
        std::process::exit(i32::from(exit_code::ExitCode::Bug as u8));
    }));
}
