//! Which test runner and which CI system a folder uses, by its files.

use std::path::Path;

use crate::repository::read_file;

/// More of a file is not looked at.
const MOST_BYTES: u64 = 1_000_000;
/// More entries of a folder are not looked at.
const MOST_ENTRIES: usize = 10_000;

/// A test runner, or what starts one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Runner {
    Pytest,
    Tox,
    Nox,
    Make,
    Maven,
    Gradle,
    Playwright,
    Vitest,
    Jest,
    Go,
    Rust,
}

impl Runner {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Pytest => "pytest",
            Self::Tox => "tox",
            Self::Nox => "nox",
            Self::Make => "make test",
            Self::Maven => "Maven",
            Self::Gradle => "Gradle",
            Self::Playwright => "Playwright",
            Self::Vitest => "Vitest",
            Self::Jest => "Jest",
            Self::Go => "Go",
            Self::Rust => "Rust",
        }
    }

    /// Whether `flakewise run` runs it; the reports of others are ingested.
    pub(super) fn is_run(self) -> bool {
        matches!(self, Self::Pytest | Self::Tox | Self::Nox)
    }

    /// How it is made to write JUnit XML, and where that is; none if it is run.
    pub(super) fn reports(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Pytest | Self::Tox | Self::Nox | Self::Make => None,
            Self::Maven => Some(("mvn -B verify", "**/target/surefire-reports/*.xml")),
            Self::Gradle => Some(("./gradlew test", "**/build/test-results/**/*.xml")),
            Self::Playwright => Some((
                "PLAYWRIGHT_JUNIT_OUTPUT_NAME=report.xml npx playwright test --reporter=junit",
                "report.xml",
            )),
            Self::Vitest => Some(("npx vitest run --reporter=junit --outputFile=report.xml", "report.xml")),
            Self::Jest => {
                Some(("JEST_JUNIT_ADD_FILE_ATTRIBUTE=true npx jest --reporters=jest-junit", "junit.xml"))
            }
            Self::Go => Some(("gotestsum --junitfile=report.xml ./...", "report.xml")),
            Self::Rust => Some(("cargo nextest run --profile ci", "target/nextest/ci/junit.xml")),
        }
    }
}

/// A runner and what shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) runner: Runner,
    pub(super) evidence: String,
}

/// A CI system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CiSystem {
    Github,
    Gitlab,
    Jenkins,
    Buildkite,
    Azure,
    Circle,
}

impl CiSystem {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Github => "GitHub Actions",
            Self::Gitlab => "GitLab",
            Self::Jenkins => "Jenkins",
            Self::Buildkite => "Buildkite",
            Self::Azure => "Azure Pipelines",
            Self::Circle => "CircleCI",
        }
    }

    /// The file that a snippet belongs in.
    pub(super) fn target(self) -> &'static str {
        match self {
            Self::Github => ".github/workflows/flakewise.yml",
            Self::Gitlab => ".gitlab-ci.yml",
            Self::Jenkins => "Jenkinsfile",
            Self::Buildkite => ".buildkite/pipeline.yml",
            Self::Azure => "azure-pipelines.yml",
            Self::Circle => ".circleci/config.yml",
        }
    }
}

/// All runners of a folder, those that `flakewise run` runs first.
pub(super) fn find_runners(folder: &Path) -> Vec<Found> {
    let read = |name: &str| text(&folder.join(name));
    let exists = |name: &str| folder.join(name).is_file();
    let first = |names: &[&'static str]| names.iter().copied().find(|name| exists(name)).map(str::to_owned);
    let package = read("package.json").unwrap_or_default();
    let needs =
        |name: &str| package.contains(&format!("\"{name}\"")).then(|| format!("package.json: {name}"));
    let pyproject = read("pyproject.toml").unwrap_or_default();
    let found = [
        (Runner::Pytest, pytest(folder, &pyproject)),
        (
            Runner::Tox,
            first(&["tox.ini", "tox.toml"]).or_else(|| {
                has_line(&pyproject, "[tool.tox").then(|| "pyproject.toml: [tool.tox]".to_owned())
            }),
        ),
        (Runner::Nox, first(&["noxfile.py"])),
        (
            Runner::Make,
            first(&["Makefile", "makefile", "GNUmakefile"])
                .filter(|name| has_line(&read(name).unwrap_or_default(), "test:"))
                .map(|name| format!("{name}: test")),
        ),
        (Runner::Maven, first(&["pom.xml"])),
        (
            Runner::Gradle,
            first(&["build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"]),
        ),
        (Runner::Playwright, needs("@playwright/test")),
        (Runner::Vitest, needs("vitest")),
        (Runner::Jest, needs("jest")),
        (Runner::Go, first(&["go.mod"])),
        (Runner::Rust, first(&["Cargo.toml"])),
    ];
    found.into_iter().filter_map(|(runner, evidence)| Some(Found { runner, evidence: evidence? })).collect()
}

/// What shows that a folder's tests are pytest's.
fn pytest(folder: &Path, pyproject: &str) -> Option<String> {
    let holds = |name: &str, line: &str| {
        let text = text(&folder.join(name)).unwrap_or_default();
        has_line(&text, line).then(|| format!("{name}: {line}"))
    };
    if has_line(pyproject, "[tool.pytest") {
        return Some("pyproject.toml: [tool.pytest.ini_options]".to_owned());
    }
    let by_name =
        ["pytest.ini", ".pytest.ini", "pytest.toml", "conftest.py", "tests/conftest.py", "test/conftest.py"]
            .into_iter()
            .find(|name| folder.join(name).is_file())
            .map(str::to_owned);
    by_name
        .or_else(|| holds("tox.ini", "[pytest]"))
        .or_else(|| holds("setup.cfg", "[tool:pytest]"))
        .or_else(|| pyproject.contains("pytest").then(|| "pyproject.toml: pytest".to_owned()))
        .or_else(|| {
            ["requirements.txt", "requirements-dev.txt", "requirements-test.txt", "dev-requirements.txt"]
                .into_iter()
                .find(|name| text(&folder.join(name)).is_some_and(|text| has_line(&text, "pytest")))
                .map(|name| format!("{name}: pytest"))
        })
        .or_else(|| {
            ["tests", "test", "."].into_iter().find_map(|name| {
                let file = test_file(&folder.join(name))?;
                Some(if name == "." { file } else { format!("{name}/{file}") })
            })
        })
}

/// The first file of a folder, by name, that pytest would collect.
fn test_file(folder: &Path) -> Option<String> {
    let entries = std::fs::read_dir(folder).ok()?.take(MOST_ENTRIES).flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let is_test = |name: &String| {
        name.strip_suffix(".py").is_some_and(|stem| stem.starts_with("test_") || stem.ends_with("_test"))
    };
    names.filter(is_test).min()
}

/// The command that runs the tests, if `flakewise run` can observe them.
pub(super) fn command(folder: &Path, runners: &[Found]) -> Option<Vec<&'static str>> {
    let has = |runner| runners.iter().any(|found| found.runner == runner);
    let exists = |name: &str| folder.join(name).is_file();
    if has(Runner::Pytest) {
        return Some(match () {
            () if exists("uv.lock") => vec!["uv", "run", "pytest"],
            () if exists("poetry.lock") => vec!["poetry", "run", "pytest"],
            () if exists("pdm.lock") => vec!["pdm", "run", "pytest"],
            () if exists("Pipfile.lock") => vec!["pipenv", "run", "pytest"],
            () => vec!["pytest"],
        });
    }
    if has(Runner::Tox) {
        return Some(vec!["tox"]);
    }
    has(Runner::Nox).then(|| vec!["nox"])
}

/// The command that installs a project with its tests; none if only its people know.
pub(super) fn install(folder: &Path, runners: &[Found]) -> Option<&'static str> {
    let has = |runner| runners.iter().any(|found| found.runner == runner);
    let exists = |name: &str| folder.join(name).is_file();
    if !has(Runner::Pytest) {
        return if has(Runner::Tox) {
            Some("pip install tox")
        } else {
            has(Runner::Nox).then_some("pip install nox")
        };
    }
    let by_file = [
        ("uv.lock", "pip install uv"),
        ("poetry.lock", "pip install poetry && poetry install"),
        ("pdm.lock", "pip install pdm && pdm install"),
        ("Pipfile.lock", "pip install pipenv && pipenv sync --dev"),
        ("requirements-dev.txt", "pip install -r requirements-dev.txt"),
        ("requirements.txt", "pip install -r requirements.txt"),
        ("pyproject.toml", "pip install . pytest"),
        ("setup.py", "pip install . pytest"),
    ];
    let found = by_file.into_iter().find(|(name, _)| exists(name));
    Some(found.map_or("pip install pytest", |(_, command)| command))
}

/// All CI systems of a repository, with the files that show them.
pub(super) fn find_ci(root: &Path) -> Vec<(CiSystem, String)> {
    let is_file = |name: &'static str| root.join(name).is_file().then(|| name.to_owned());
    let found = [
        (CiSystem::Github, workflow(&root.join(".github/workflows"))),
        (CiSystem::Gitlab, is_file(".gitlab-ci.yml")),
        (CiSystem::Jenkins, is_file("Jenkinsfile")),
        (
            CiSystem::Buildkite,
            is_file(".buildkite/pipeline.yml").or_else(|| is_file(".buildkite/pipeline.yaml")),
        ),
        (CiSystem::Azure, is_file("azure-pipelines.yml")),
        (CiSystem::Circle, is_file(".circleci/config.yml")),
    ];
    found.into_iter().filter_map(|(system, evidence)| Some((system, evidence?))).collect()
}

/// The first workflow by name.
fn workflow(folder: &Path) -> Option<String> {
    let entries = std::fs::read_dir(folder).ok()?.take(MOST_ENTRIES).flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let is_workflow = |name: &String| {
        Path::new(name).extension().is_some_and(|extension| extension == "yml" || extension == "yaml")
    };
    let name = names.filter(is_workflow).min()?;
    Some(format!(".github/workflows/{name}"))
}

/// The begin of an ordinary file; none if there is no such file.
pub(super) fn text(path: &Path) -> Option<String> {
    let bytes = read_file(path, MOST_BYTES).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Whether a line begins so.
fn has_line(text: &str, begin: &str) -> bool {
    text.lines().any(|line| line.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("made");
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("in a folder")).expect("made");
            std::fs::write(path, text).expect("written");
        }
        folder
    }

    fn runners(files: &[(&str, &str)]) -> Vec<(Runner, String)> {
        find_runners(tree(files).path()).into_iter().map(|found| (found.runner, found.evidence)).collect()
    }

    #[test]
    fn pytest_is_found_by_any_of_its_traces() {
        for (name, text, evidence) in [
            ("pyproject.toml", "[tool.pytest.ini_options]\n", "pyproject.toml: [tool.pytest.ini_options]"),
            ("pyproject.toml", "[dependency-groups]\ndev = ['pytest']\n", "pyproject.toml: pytest"),
            ("pytest.ini", "", "pytest.ini"),
            ("setup.cfg", "[tool:pytest]\n", "setup.cfg: [tool:pytest]"),
            ("tests/conftest.py", "", "tests/conftest.py"),
            ("requirements-dev.txt", "requests\npytest>=8\n", "requirements-dev.txt: pytest"),
            ("tests/test_cart.py", "", "tests/test_cart.py"),
            ("cart_test.py", "", "cart_test.py"),
        ] {
            assert_eq!(runners(&[(name, text)]), [(Runner::Pytest, evidence.to_owned())], "{name}");
        }
        let tox = runners(&[("tox.ini", "[tox]\n[pytest]\n")]);
        assert_eq!(tox.iter().map(|(runner, _)| *runner).collect::<Vec<_>>(), [Runner::Pytest, Runner::Tox]);
    }

    #[test]
    fn other_runners_are_found() {
        for (name, text, runner) in [
            ("noxfile.py", "", Runner::Nox),
            ("Makefile", "all:\n\ntest: all\n\tgo\n", Runner::Make),
            ("pom.xml", "", Runner::Maven),
            ("build.gradle.kts", "", Runner::Gradle),
            ("package.json", "{\"devDependencies\": {\"vitest\": \"3\"}}", Runner::Vitest),
            ("package.json", "{\"devDependencies\": {\"jest\": \"30\"}}", Runner::Jest),
            ("package.json", "{\"devDependencies\": {\"@playwright/test\": \"1\"}}", Runner::Playwright),
            ("go.mod", "", Runner::Go),
            ("Cargo.toml", "", Runner::Rust),
        ] {
            assert_eq!(runners(&[(name, text)])[0].0, runner, "{name}");
        }
        assert!(
            runners(&[("Makefile", "tests:\n"), ("package.json", "{}"), ("README.md", "pytest")]).is_empty()
        );
    }

    #[test]
    fn the_command_uses_the_tool_that_locks_the_environment() {
        let command = |files| {
            let folder = tree(files);
            command(folder.path(), &find_runners(folder.path())).map(|words| words.join(" "))
        };
        assert_eq!(command(&[("pytest.ini", "")]).as_deref(), Some("pytest"));
        assert_eq!(command(&[("pytest.ini", ""), ("uv.lock", "")]).as_deref(), Some("uv run pytest"));
        assert_eq!(command(&[("tox.toml", "")]).as_deref(), Some("tox"));
        assert_eq!(command(&[("pom.xml", "")]), None);
    }

    #[test]
    fn what_a_project_needs_is_installed() {
        let install = |files| {
            let folder = tree(files);
            install(folder.path(), &find_runners(folder.path()))
        };
        assert_eq!(install(&[("pytest.ini", "")]), Some("pip install pytest"));
        assert_eq!(
            install(&[("pytest.ini", ""), ("requirements.txt", "")]),
            Some("pip install -r requirements.txt")
        );
        assert_eq!(
            install(&[("pytest.ini", ""), ("uv.lock", ""), ("pyproject.toml", "")]),
            Some("pip install uv")
        );
        assert_eq!(install(&[("noxfile.py", "")]), Some("pip install nox"));
        assert_eq!(install(&[("pom.xml", "")]), None);
    }

    #[test]
    fn ci_systems_are_found() {
        for (name, system) in [
            (".github/workflows/a.yaml", CiSystem::Github),
            (".gitlab-ci.yml", CiSystem::Gitlab),
            ("Jenkinsfile", CiSystem::Jenkins),
            (".buildkite/pipeline.yml", CiSystem::Buildkite),
            ("azure-pipelines.yml", CiSystem::Azure),
            (".circleci/config.yml", CiSystem::Circle),
        ] {
            assert_eq!(find_ci(tree(&[(name, "")]).path()), [(system, name.to_owned())]);
        }
        assert_eq!(find_ci(tree(&[(".github/CODEOWNERS", "")]).path()), []);
    }
}
