//! What goes to stdout and stderr. stdout is data, stderr is for people.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use clap::ColorChoice;
use flakewise_model::Foreign;
use flakewise_report::{ERROR, HINT, WARNING};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::error::ExpectedError;

/// The only place that prints.
pub(crate) struct Printer {
    choice: anstream::ColorChoice,
    quiet: bool,
}

impl Printer {
    pub(crate) fn new(color: ColorChoice, quiet: bool) -> Self {
        let choice = match color {
            ColorChoice::Auto => anstream::ColorChoice::Auto,
            ColorChoice::Always => anstream::ColorChoice::Always,
            ColorChoice::Never => anstream::ColorChoice::Never,
        };
        Self { choice, quiet }
    }

    /// Prints the answer. A reader that has gone away is no failure.
    pub(crate) fn data(&self, text: &str) -> Result<(), ExpectedError> {
        self.data_from(|out| out.write_all(text.as_bytes()))
    }

    /// Prints an answer that is too large to be held as a whole.
    pub(crate) fn data_from(
        &self,
        write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
    ) -> Result<(), ExpectedError> {
        let mut out = io::BufWriter::new(anstream::AutoStream::new(io::stdout().lock(), self.choice));
        match write(&mut out).and_then(|()| out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => other.map_err(ExpectedError::Output),
        }
    }

    /// Prints a warning.
    pub(crate) fn warning(&self, text: &str) {
        self.line(&format!("{WARNING}warning:{WARNING:#} "), text);
    }

    /// Prints a hint.
    pub(crate) fn hint(&self, text: &str) {
        self.line(&format!("{HINT}hint:{HINT:#} "), text);
    }

    pub(crate) fn error(&self, error: &ExpectedError) {
        self.line(&format!("{ERROR}error:{ERROR:#} "), &error.to_string());
        for cause in error.causes() {
            self.line("  caused by: ", cause.lines().next().unwrap_or_default());
        }
        if let Some(hint) = error.hint() {
            self.hint(&hint);
        }
    }

    /// Says what failed before a command could begin.
    pub(crate) fn failure(&self, text: &str, hint: Option<&str>) {
        self.line(&format!("{ERROR}error:{ERROR:#} "), text);
        if let Some(hint) = hint {
            self.hint(hint);
        }
    }

    /// A label, and a text that may hold names from outside. Its further lines are
    /// indented.
    fn line(&self, label: &str, text: &str) {
        let mut out = anstream::AutoStream::new(io::stderr().lock(), self.choice);
        let lines = std::iter::once(label).chain(std::iter::repeat("  ")).zip(text.split('\n'));
        for (label, line) in lines {
            // Nobody is left to tell if stderr is gone.
            let _ = writeln!(out, "{label}{}", Foreign::new(line.trim()).line());
        }
    }

    /// A progress bar that appears only in a terminal.
    pub(crate) fn progress(&self, length: u64, what: &'static str) -> ProgressBar {
        let hidden = self.quiet || !io::stderr().is_terminal();
        let target = if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let style = ProgressStyle::with_template("{prefix} {wide_bar} {pos}/{len} {msg} {eta}")
            .expect("the template is valid");
        let bar = ProgressBar::with_draw_target(Some(length), target).with_style(style).with_prefix(what);
        bar.enable_steady_tick(Duration::from_millis(200));
        bar
    }

    /// A spinner for work of unknown length.
    pub(crate) fn spinner(&self, what: &'static str) -> ProgressBar {
        let bar = self.progress(0, what);
        bar.set_style(ProgressStyle::with_template("{spinner} {prefix} {msg} {elapsed}").expect("valid"));
        bar
    }
}
