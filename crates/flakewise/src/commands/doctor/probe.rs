//! One test of our own, run as the project's tests are.
//!
//! It tells which Python and pytest a command finds, and whether the agent gets
//! there. Nothing of the project is imported or collected.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use serde::Deserialize;

const TEST: &str = r#"import json
import pathlib
import platform
import sys

import pytest


def test_probe():
    facts = {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "executable": sys.executable,
        "pytest": pytest.__version__,
    }
    pathlib.Path(__file__).with_name("facts.json").write_text(json.dumps(facts))
"#;
/// A longer file is not ours.
const MOST_BYTES: u64 = 10_000;

/// What the test found.
#[derive(Debug, Deserialize)]
pub(super) struct Facts {
    pub(super) python: String,
    pub(super) implementation: String,
    pub(super) executable: String,
    pub(super) pytest: String,
}

pub(super) enum Probe {
    /// The test ran, and perhaps the agent told us so.
    Ran {
        facts: Facts,
        is_observed: bool,
    },
    Failed {
        reason: String,
    },
}

/// The part of a command that starts pytest, without its options: `uv run pytest` of
/// `uv run pytest -q tests`. None if it does not name pytest, as `make test`.
pub(super) fn launcher(command: &[OsString]) -> Option<Vec<OsString>> {
    let is_pytest = |word: &OsString| {
        Path::new(word)
            .file_name()
            .is_some_and(|name| ["pytest", "py.test"].iter().any(|known| name == *known))
    };
    let last = command.iter().position(is_pytest)?;
    Some(command[..=last].to_vec())
}

/// Runs the test below a launcher with `flakewise run`.
pub(super) fn probe(launcher: &[OsString]) -> Probe {
    run(launcher).unwrap_or_else(|error| Probe::Failed { reason: error.to_string() })
}

fn run(launcher: &[OsString]) -> std::io::Result<Probe> {
    let folder = tempfile::Builder::new().prefix("flakewise-doctor-").tempdir()?;
    let (test, settings) = (folder.path().join("test_probe.py"), folder.path().join("pytest.ini"));
    std::fs::write(&test, TEST)?;
    std::fs::write(&settings, "[pytest]\n")?;
    let output = Command::new(std::env::current_exe()?)
        .args([
            "run",
            "--no-store",
            "--quiet",
            "--tolerate",
            "nothing",
            "--test-timeout",
            "1m",
            "--format",
            "json",
        ])
        .arg("--")
        .args(launcher)
        // The project's own settings may load plugins that measure or distribute.
        .args(["-q", "-p", "no:cacheprovider", "--noconftest", "-c"])
        .arg(&settings)
        .arg("--rootdir")
        .arg(folder.path())
        .arg(&test)
        // This is no run of the project's tests.
        .env_remove("GITHUB_ACTIONS")
        .env_remove("GITHUB_STEP_SUMMARY")
        .env_remove(crate::logging::VARIABLE)
        .stdin(Stdio::null())
        .output()?;
    let facts = std::fs::metadata(folder.path().join("facts.json"))
        .ok()
        .filter(|found| found.is_file() && found.len() <= MOST_BYTES)
        .and_then(|_| std::fs::read(folder.path().join("facts.json")).ok())
        .and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let Some(facts) = facts else {
        let said = String::from_utf8_lossy(&output.stderr);
        let line = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("it printed nothing");
        return Ok(Probe::Failed { reason: line.trim_start_matches("error: ").to_owned() });
    };
    // The report is printed only if the agent spoke.
    let is_observed = serde_json::from_slice::<serde_json::Value>(&output.stdout).is_ok();
    Ok(Probe::Ran { facts, is_observed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launcher_ends_with_pytest() {
        let of = |command: &str| {
            let words: Vec<OsString> = command.split(' ').map(OsString::from).collect();
            let words = launcher(&words)?;
            Some(words.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" "))
        };
        assert_eq!(of("pytest -q tests").as_deref(), Some("pytest"));
        assert_eq!(of("python -m pytest -q").as_deref(), Some("python -m pytest"));
        assert_eq!(of("uv run pytest").as_deref(), Some("uv run pytest"));
        assert_eq!(of(".venv/bin/pytest x").as_deref(), Some(".venv/bin/pytest"));
        assert_eq!(of("make test"), None);
    }
}
