//! `flakewise init`: what is here, a configuration file for it, and what to add to CI.
//!
//! It reads files and runs nothing.

mod detect;
mod file;
mod workflow;

use std::path::Path;

use flakewise_config::{Config, FILE};
use flakewise_model::Foreign;
use flakewise_report::HINT;
use flakewise_runner::repository_root;

use self::detect::{CiSystem, Found, find_ci, find_runners};
use crate::args::InitArguments;
use crate::error::ExpectedError;
use crate::exit_code::ExitCode;
use crate::printer::Printer;
use crate::repository::write_whole;

/// What became of a file.
enum Outcome {
    Written,
    /// It would be written.
    Planned,
    Kept(&'static str),
}

pub(crate) fn init(arguments: &InitArguments, printer: &Printer) -> Result<ExitCode, ExpectedError> {
    let here = Path::new(".");
    let root = repository_root(here).unwrap_or_else(|| here.to_owned());
    let runners = find_runners(here);
    let ci = find_ci(&root);
    let command = detect::command(here, &runners);
    let mut text = found_text(&runners, &ci);

    let content = file::content(command.as_deref(), &runners);
    let outcome = write_file(arguments, &content)?;
    text.push_str(&file_text(&outcome, command.as_deref()));
    if matches!(outcome, Outcome::Planned) {
        text.push_str(&indented(&content));
    }

    let system = ci.first().map_or(CiSystem::Github, |(system, _)| *system);
    let snippet = workflow::snippet(system, &runners, detect::install(here, &runners));
    text.push_str(&workflow_text(arguments, system, ci.is_empty(), &snippet, &root)?);
    text.push_str(&next_text(&runners));
    printer.data(&text)?;
    Ok(ExitCode::Success)
}

/// The command that `init` would configure; none if `flakewise run` runs nothing here.
pub(super) fn likely_command(folder: &Path) -> Option<Vec<&'static str>> {
    detect::command(folder, &find_runners(folder))
}

fn write_file(arguments: &InitArguments, content: &str) -> Result<Outcome, ExpectedError> {
    let pyproject = Path::new(flakewise_config::PYPROJECT);
    let has_table = detect::text(pyproject)
        .is_some_and(|text| !matches!(Config::parse_pyproject(pyproject, &text), Ok(None)));
    if has_table {
        return Ok(Outcome::Kept("`[tool.flakewise]` in `pyproject.toml` configures Flakewise already"));
    }
    if Path::new(FILE).symlink_metadata().is_ok() && !arguments.force {
        return Ok(Outcome::Kept("it exists; `flakewise init --force` overwrites it"));
    }
    if arguments.dry_run {
        return Ok(Outcome::Planned);
    }
    write_whole(Path::new(FILE), content.as_bytes())?;
    Ok(Outcome::Written)
}

fn found_text(runners: &[Found], ci: &[(CiSystem, String)]) -> String {
    let mut text = String::from("Found:\n");
    for found in runners {
        let evidence = Foreign::new(&found.evidence).line();
        text.push_str(&format!("  {HINT}✓{HINT:#} {:<16} {evidence}\n", found.runner.name()));
    }
    for (system, evidence) in ci {
        let evidence = Foreign::new(evidence).line();
        text.push_str(&format!("  {HINT}✓{HINT:#} {:<16} {evidence}\n", system.name()));
    }
    if runners.is_empty() {
        text.push_str("  - no test runner\n");
    }
    if ci.is_empty() {
        text.push_str("  - no CI system\n");
    }
    text.push('\n');
    text
}

fn file_text(outcome: &Outcome, command: Option<&[&str]>) -> String {
    match outcome {
        Outcome::Kept(why) => format!("Kept `{FILE}` as it is: {why}\n\n"),
        Outcome::Planned => format!("Would write `{FILE}`:\n\n"),
        Outcome::Written => match command {
            Some(command) => format!("Wrote `{FILE}`: `flakewise run` now runs `{}`\n\n", command.join(" ")),
            None => format!("Wrote `{FILE}`\n\n"),
        },
    }
}

/// What is to be added to CI, or was.
fn workflow_text(
    arguments: &InitArguments,
    system: CiSystem,
    is_guessed: bool,
    snippet: &str,
    root: &Path,
) -> Result<String, ExpectedError> {
    let target = system.target();
    let place = if is_guessed {
        format!("No CI system was found. For {}, add this to `{target}`", system.name())
    } else {
        format!("For {}, add this to `{target}`", system.name())
    };
    if !arguments.write_ci {
        let option = if system == CiSystem::Github { ", or run `flakewise init --write-ci`" } else { "" };
        return Ok(format!("{place}{option}:\n\n{}", indented(snippet)));
    }
    if system != CiSystem::Github {
        return Ok(format!(
            "`--write-ci` creates workflows for GitHub Actions only. {place}:\n\n{}",
            indented(snippet)
        ));
    }
    let path = root.join(target);
    if path.symlink_metadata().is_ok() {
        return Ok(format!("Kept `{target}` as it is: it exists\n\n"));
    }
    if arguments.dry_run {
        return Ok(format!("Would write `{target}`:\n\n{}", indented(snippet)));
    }
    write_whole(&path, snippet.as_bytes())?;
    Ok(format!("Wrote `{target}`\n\n"))
}

fn next_text(runners: &[Found]) -> String {
    let runs_here = runners.iter().any(|found| found.runner.is_run());
    let mut steps = vec![("flakewise doctor", "check this machine".to_owned())];
    if runs_here {
        steps.push(("flakewise run", "run the tests and explain every failure".to_owned()));
    } else {
        steps.push(("flakewise ingest", "add the JUnit reports of a test run to the history".to_owned()));
    }
    steps.push(("flakewise report", "list the flaky tests, the most expensive first".to_owned()));
    let steps: String = steps.iter().map(|(command, why)| format!("  {command:<18} {why}\n")).collect();
    format!("Next:\n{steps}")
}

/// As a block of its own, easy to tell from what is said about it.
fn indented(text: &str) -> String {
    let lines =
        text.lines().map(|line| if line.is_empty() { "\n".to_owned() } else { format!("    {line}\n") });
    format!("{}\n", lines.collect::<String>())
}
