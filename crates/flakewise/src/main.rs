//! The command line of Flakewise: parse, wire together, exit.

mod args;
mod commands;
mod configuration;
mod context;
mod declarations;
mod delivery;
mod error;
mod exit_code;
mod find_reports;
mod identity;
mod interrupts;
#[cfg(feature = "history")]
mod landing;
mod logging;
mod own_folder;
mod printer;
mod quarantine;
mod renames;
mod repository;

use crate::printer::Printer;

/// Reports and histories are many small texts, read by several threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    report_bugs();
    let config = configuration::load();
    let arguments = match configuration::parse(&config) {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    // Progress bars would overwrite what is logged.
    let printer = Printer::new(arguments.color, arguments.quiet || arguments.verbose > 0);
    match logging::start(arguments.verbose).and_then(|()| commands::run(arguments.command, config, &printer))
    {
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
            .hint("this is a bug in Flakewise; please report it with the lines above");
        #[expect(clippy::exit, reason = "no state can be trusted after a panic")]
        std::process::exit(i32::from(exit_code::ExitCode::Bug as u8));
    }));
}
