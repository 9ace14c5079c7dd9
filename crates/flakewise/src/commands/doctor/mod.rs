//! `flakewise doctor`: what works here, what does not, and what to do about it.

mod probe;

use std::path::Path;

use flakewise_config::{Config, ConfigError};
use flakewise_model::{Foreign, without_credentials};
use flakewise_report::{ERROR, HINT, WARNING, count, number};
use flakewise_spool::Spool;
use flakewise_triage::{Change, Git};
use serde::Serialize;

use self::probe::{Probe, probe};
use super::init::likely_command;
use crate::args::{DoctorArguments, SummaryFormat};
use crate::context::{Ci, variable};
use crate::error::ExpectedError;
use crate::exit_code::ExitCode;
use crate::printer::Printer;
use crate::quarantine::QuarantineFile;

/// What the agent runs in. The test matrix of `agents/pytest` has the same bounds.
const PYTHON: std::ops::RangeInclusive<(u32, u32)> = (3, 9)..=(3, 14);
const PYTEST: std::ops::RangeInclusive<u32> = 7..=9;

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Ok,
    /// Some of what Flakewise can do does not work.
    Warning,
    /// Something that is needed does not work.
    Error,
    /// Does not matter here, or could not be checked.
    Skipped,
}

#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    status: Status,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl Check {
    fn new(name: &'static str, status: Status, text: impl Into<String>) -> Self {
        Self { name, status, text: text.into(), hint: None }
    }

    fn ok(name: &'static str, text: impl Into<String>) -> Self {
        Self::new(name, Status::Ok, text)
    }

    fn hint(self, hint: impl Into<String>) -> Self {
        self.with(Some(hint.into()))
    }

    fn with(mut self, hint: Option<String>) -> Self {
        self.hint = hint;
        self
    }
}

#[derive(Serialize)]
struct Document<'a> {
    format: u32,
    checks: &'a [Check],
}

pub(crate) fn doctor(
    arguments: &DoctorArguments,
    config: &Result<Config, ConfigError>,
    printer: &Printer,
) -> Result<ExitCode, ExpectedError> {
    let spinner = printer.spinner("checking");
    let mut checks = vec![version(), system(), configuration(config)];
    checks.extend(git(config.as_ref().ok()));
    checks.extend(python(arguments, config.is_ok()));
    checks.extend([ci(), store(arguments), spool(arguments), quarantine(arguments)]);
    spinner.finish_and_clear();
    printer.data(&match arguments.format {
        SummaryFormat::Text => text(&checks),
        SummaryFormat::Json => flakewise_report::json_document(&Document { format: 1, checks: &checks }),
    })?;
    let failed = checks.iter().any(|check| check.status == Status::Error);
    Ok(if failed { ExitCode::Configuration } else { ExitCode::Success })
}

fn version() -> Check {
    let text = env!("CARGO_PKG_VERSION").to_owned();
    if cfg!(feature = "history") {
        return Check::ok("flakewise", text);
    }
    Check::new("flakewise", Status::Warning, format!("{text} (without the feature `history`)")).hint(
        "this build has no history engine: `report`, `show`, `sql` and `maintain` need the feature `history`",
    )
}

fn system() -> Check {
    let text = format!("{} {}", std::env::consts::OS, std::env::consts::ARCH);
    if cfg!(target_os = "linux") {
        return Check::ok("system", text);
    }
    Check::new("system", Status::Warning, text)
        .hint("`run`, `hunt`, `culprit` and `reproduce` need Linux; `ingest` and `predict` work everywhere")
}

fn configuration(config: &Result<Config, ConfigError>) -> Check {
    const NAME: &str = "configuration";
    match config {
        Ok(config) => match config.path() {
            Some(path) => Check::ok(NAME, path.display().to_string()),
            None => Check::new(NAME, Status::Skipped, "no file").hint("`flakewise init` writes one"),
        },
        Err(error) => Check::new(NAME, Status::Error, error.to_string()).with(error.hint()),
    }
}

fn git(config: Option<&Config>) -> Vec<Check> {
    let here = Path::new(".");
    let git = Git::at(here);
    let version = match git.line(&["--version"]) {
        Ok(version) => version.unwrap_or_else(|| "version unknown".to_owned()),
        Err(error) => {
            let check = Check::new("git", Status::Error, error.to_string());
            return vec![check.hint("install git, or add it to the PATH")];
        }
    };
    let mut checks = vec![Check::ok("git", version.trim_start_matches("git version "))];
    let answer = |arguments: &[&str]| git.line(arguments).ok().flatten();
    if answer(&["rev-parse", "--is-inside-work-tree"]).as_deref() != Some("true") {
        let check =
            Check::new("repository", Status::Warning, "the working directory is in no git repository");
        checks.push(check.hint("failures are compared with a change only in a git repository"));
        return checks;
    }
    let commits = answer(&["rev-list", "--count", "HEAD"]).and_then(|text| text.parse().ok()).unwrap_or(0);
    let is_shallow = answer(&["rev-parse", "--is-shallow-repository"]).as_deref() == Some("true");
    let depth = if is_shallow { "shallow clone" } else { "full clone" };
    checks.push(Check::ok("repository", format!("{depth}, {}", count(commits, "commit"))));
    let change = Change::discover(here, None, config.and_then(Config::base), variable);
    checks.push(match change {
        Ok(Some(change)) => {
            let base = change.base.get(..9).unwrap_or(&change.base);
            Check::ok("base", format!("changes are compared with {base} ({})", change.found))
        }
        Ok(None) => Check::new("base", Status::Skipped, "no commit yet"),
        Err(error) => Check::new("base", Status::Warning, error.to_string()).with(error.hint()),
    });
    checks
}

/// Python, pytest and the agent, as the command of the tests finds them.
fn python(arguments: &DoctorArguments, is_configured: bool) -> Vec<Check> {
    let skipped = |text: &str| vec![Check::new("pytest", Status::Skipped, text)];
    if !cfg!(target_os = "linux") {
        return skipped("not checked on this system");
    }
    if !is_configured {
        return skipped("not checked: the configuration is not valid");
    }
    let mut command = arguments.command.clone();
    if command.is_empty() {
        let Some(likely) = likely_command(Path::new(".")) else {
            return skipped("no pytest project found; `flakewise ingest` reads the reports of other runners");
        };
        command = likely.into_iter().map(Into::into).collect();
    }
    let launcher = probe::launcher(&command);
    let is_guessed = launcher.is_none();
    let launcher = launcher.unwrap_or_else(|| vec!["python3".into(), "-m".into(), "pytest".into()]);
    let shown: Vec<_> = launcher.iter().map(|word| word.to_string_lossy()).collect();
    let mut shown = format!("`{}`", shown.join(" "));
    if is_guessed {
        shown.push_str("; the command does not name pytest");
    }
    // A guess that is wrong says little about the command.
    let status = if is_guessed { Status::Warning } else { Status::Error };
    match probe(&launcher) {
        Probe::Ran { facts, is_observed } => {
            let python = is_within(&facts.python, |version| PYTHON.contains(&version));
            let pytest = is_within(&facts.pytest, |(major, _)| PYTEST.contains(&major));
            let is_cpython = facts.implementation == "CPython";
            vec![
                supported(
                    "python",
                    format!("{} {} ({})", facts.implementation, facts.python, facts.executable),
                    python && is_cpython,
                    "supported: CPython 3.9 to 3.14",
                ),
                supported("pytest", format!("{} (by {shown})", facts.pytest), pytest, "supported: pytest 7 to 9"),
                if is_observed {
                    Check::ok("agent", "loads and observes tests")
                } else {
                    Check::new("agent", Status::Error, "pytest ran without the agent").hint(
                        "the command must pass PYTHONPATH, PYTEST_ADDOPTS and FLAKEWISE_* on to pytest; \
                         `python -E` and `-I` do not",
                    )
                },
            ]
        }
        Probe::Failed { reason } => vec![
            Check::new("pytest", status, format!("{shown} could not run a test: {reason}"))
                .hint("activate the environment that has pytest, or give the command: `flakewise doctor -- COMMAND`"),
        ],
    }
}

fn supported(name: &'static str, text: String, is_supported: bool, hint: &str) -> Check {
    if is_supported { Check::ok(name, text) } else { Check::new(name, Status::Warning, text).hint(hint) }
}

fn is_within(version: &str, is_supported: impl Fn((u32, u32)) -> bool) -> bool {
    let mut parts = version.split(|character: char| !character.is_ascii_digit());
    let mut next = || parts.next().and_then(|part| part.parse().ok());
    next().zip(next()).is_some_and(is_supported)
}

fn ci() -> Check {
    match Ci::detect(&variable) {
        Some(ci) => Check::ok("ci", ci.provider),
        None if crate::context::on_ci() => Check::ok("ci", "unknown system (`CI` is set)"),
        None => Check::new("ci", Status::Skipped, "none detected"),
    }
}

fn store(arguments: &DoctorArguments) -> Check {
    let url = arguments.store.url();
    let shown = without_credentials(&url);
    let path = url.strip_prefix("file://").unwrap_or(&url);
    if path.contains("://") { bucket(arguments, &shown) } else { folder("store", Path::new(path), &shown) }
}

/// Whether a folder can be written to. Nothing stays there.
fn folder(name: &'static str, path: &Path, shown: &str) -> Check {
    let there = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let Some(existing) = there.ancestors().find(|folder| folder.exists()) else {
        return Check::new(name, Status::Error, format!("{shown} does not exist"));
    };
    match tempfile::tempfile_in(existing) {
        Ok(_) if existing == there => Check::ok(name, format!("{shown} is writable")),
        Ok(_) => Check::ok(name, format!("{shown} does not exist yet and can be created")),
        Err(error) => Check::new(name, Status::Error, format!("{shown} is not writable: {error}"))
            .hint("give a folder that can be written to with `--store`, `FLAKEWISE_STORE` or `store` in `flakewise.toml`"),
    }
}

#[cfg(not(feature = "history"))]
fn bucket(_: &DoctorArguments, shown: &str) -> Check {
    Check::new("store", Status::Skipped, format!("{shown} was not checked: this build has no history engine"))
}

/// Whether a bucket can be read and written, and what it guarantees to several writers.
#[cfg(feature = "history")]
fn bucket(arguments: &DoctorArguments, shown: &str) -> Check {
    use flakewise_history::{Guarantee, HistoryError};

    let probed = super::history(&arguments.store).and_then(|history| {
        let known = match history.sql("SELECT 1 FROM reports LIMIT 1", 1) {
            Ok(_) => "",
            Err(HistoryError::NoHistory { .. }) => "; it has no history of this project yet",
            Err(error) => return Err(error.into()),
        };
        Ok((history.probe()?, known))
    });
    match probed {
        Ok((Guarantee::OneWins, known)) => Check::ok("store", format!("{shown} is writable{known}")),
        Ok((guarantee, known)) => {
            Check::new("store", Status::Error, format!("{shown} {guarantee}{known}"))
                .hint("two jobs that record at the same time lose results there: use another store, or let one job at a time record and set FLAKEWISE_SINGLE_WRITER=1")
        }
        Err(error) => {
            Check::new("store", Status::Error, format!("{shown}: {}", error.with_causes()))
                .hint("credentials are read from the environment of the provider, such as AWS_REGION and AWS_ACCESS_KEY_ID")
        }
    }
}

fn spool(arguments: &DoctorArguments) -> Check {
    let folder = arguments.spool.folder();
    let spool = Spool::new(&folder);
    match spool.waiting().and_then(|waiting| Ok((waiting.len() as u64, spool.usage()?.bytes))) {
        Ok((0, _)) => Check::ok("spool", "empty"),
        Ok((waiting, bytes)) => Check::new(
            "spool",
            Status::Warning,
            format!(
                "{} with {} kB in {}",
                count(waiting, "file"),
                number(bytes.div_ceil(1000)),
                folder.display()
            ),
        )
        .hint("the next `run` or `ingest` sends them once the store can be reached"),
        Err(error) => Check::new("spool", Status::Error, error.to_string()),
    }
}

fn quarantine(arguments: &DoctorArguments) -> Check {
    const NAME: &str = "quarantine";
    match QuarantineFile::open(&arguments.quarantine) {
        Ok(Some(file)) => Check::ok(NAME, file.path.display().to_string()),
        Ok(None) => {
            let path = QuarantineFile::path_of(&arguments.quarantine);
            Check::new(NAME, Status::Skipped, format!("no {}", path.display()))
        }
        Err(error) => {
            let lines: Vec<_> = error.to_string().lines().map(|line| line.trim().to_owned()).collect();
            Check::new(NAME, Status::Error, lines.join(" ")).with(error.hint())
        }
    }
}

fn text(checks: &[Check]) -> String {
    let mut text = String::new();
    for check in checks {
        let mark = match check.status {
            Status::Ok => format!("{HINT}✓{HINT:#}"),
            Status::Warning => format!("{WARNING}!{WARNING:#}"),
            Status::Error => format!("{ERROR}✗{ERROR:#}"),
            Status::Skipped => "-".to_owned(),
        };
        let line = Foreign::new(&check.text).line();
        text.push_str(&format!("{mark} {:<14} {line}\n", check.name));
        if let Some(hint) = &check.hint {
            text.push_str(&format!("  {HINT}hint:{HINT:#} {}\n", Foreign::new(hint).line()));
        }
    }
    let number_of = |status| checks.iter().filter(|check| check.status == status).count() as u64;
    let (errors, warnings) = (number_of(Status::Error), number_of(Status::Warning));
    let problems: Vec<_> = [(errors, "problem"), (warnings, "warning")]
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, noun)| count(number, noun))
        .collect();
    text.push('\n');
    text.push_str(&if problems.is_empty() { "No problems found".to_owned() } else { problems.join(", ") });
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        let python = |version| is_within(version, |version| PYTHON.contains(&version));
        assert!(python("3.9.1") && python("3.14.0rc1"));
        assert!(!python("3.8.20") && !python("3.15.0") && !python("2.7") && !python("x") && !python(""));
        let pytest = |version| is_within(version, |(major, _)| PYTEST.contains(&major));
        assert!(pytest("7.0") && pytest("9.2.0") && !pytest("6.2.5") && !pytest("10.0"));
    }
}
