//! What keys act on, by file.
//!
//! A key that is in no list has an effect that nobody knows.

use super::KeyEffect::{self, Environment, Metadata, Nothing, Tests, Unknown};

/// A kind of configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    Pyproject,
    SetupCfg,
    ToxIni,
    CoverageRc,
    PackageJson,
    /// `pytest.toml` and what `pytest -c` may name.
    OtherToml,
    /// `pytest.ini` and what `pytest -c` may name.
    OtherIni,
}

/// How a file is read; none for a file that is not known to configure anything.
pub(super) fn table(path: &str) -> Option<Table> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    Some(match (name, extension) {
        ("pyproject.toml", _) => Table::Pyproject,
        ("setup.cfg", _) => Table::SetupCfg,
        ("tox.ini", _) => Table::ToxIni,
        (".coveragerc", _) => Table::CoverageRc,
        ("package.json", _) => Table::PackageJson,
        (_, Some("toml")) => Table::OtherToml,
        (_, Some("ini" | "cfg")) => Table::OtherIni,
        _ => return None,
    })
}

/// Whether the keys of a file decide what of it is about the environment.
pub(crate) fn is_environment_by_key(path: &str) -> bool {
    matches!(table(path), Some(Table::Pyproject | Table::SetupCfg | Table::ToxIni))
}

/// What is reported about a package, and what is installed with it as
/// `METADATA`.
const DESCRIPTIONS: [&str; 20] = [
    "author",
    "author_email",
    "authors",
    "classifiers",
    "description",
    "documentation",
    "homepage",
    "keywords",
    "license",
    "license-files",
    "license_file",
    "license_files",
    "long_description",
    "maintainer",
    "maintainers",
    "name",
    "readme",
    "repository",
    "urls",
    "version",
];

/// Tools that look at code or publish it, and take no part in running tests.
/// A test that calls one reads the file by itself, and that is seen.
const ONLOOKERS: [&str; 50] = [
    "autoflake",
    "autopep8",
    "bandit",
    "basedpyright",
    "black",
    "bump2version",
    "bumpver",
    "bumpversion",
    "check-manifest",
    "check-wheel-contents",
    "codespell",
    "commitizen",
    "curlylint",
    "deptry",
    "djlint",
    "docformatter",
    "docstr_coverage",
    "doc8",
    "fixit",
    "flake8",
    "git-cliff",
    "importlinter",
    "interrogate",
    "isort",
    "mdformat",
    "mypy",
    "numpydoc_validation",
    "pycln",
    "pycodestyle",
    "pydocstyle",
    "pydoclint",
    "pylint",
    "pyre",
    "pyrefly",
    "pyright",
    "pyupgrade",
    "refurb",
    "repo-review",
    "ruff",
    "semantic_release",
    "slotscheck",
    "tbump",
    "towncrier",
    "ty",
    "typos",
    "validate-pyproject",
    "vulture",
    "yapf",
    "zest-releaser",
    "zest.releaser",
];

/// Tools that install, build or start something.
const BUILDERS: [&str; 26] = [
    "cibuildwheel",
    "conda-lock",
    "cython",
    "distutils",
    "flit",
    "hatch",
    "invoke",
    "jupyter-packaging",
    "maturin",
    "meson-python",
    "mise",
    "mypyc",
    "nox",
    "pdm",
    "pixi",
    "poe",
    "poetry",
    "rye",
    "scikit-build",
    "setuptools",
    "setuptools-scm",
    "setuptools_scm",
    "taskipy",
    "tox",
    "uv",
    "versioneer",
];

/// Sections of `setup.cfg` about how the package is built.
const BUILD_SECTIONS: [&str; 8] =
    ["bdist_wheel", "build", "build_ext", "develop", "egg_info", "install", "options", "sdist"];

/// Keys of `package.json` that nothing is built from.
const INERT_IN_PACKAGES: [&str; 19] = [
    "author",
    "browserslist",
    "bugs",
    "commitlint",
    "contributors",
    "description",
    "eslintConfig",
    "eslintIgnore",
    "funding",
    "homepage",
    "husky",
    "keywords",
    "license",
    "lint-staged",
    "prettier",
    "private",
    "repository",
    "stylelint",
    "version",
];

impl Table {
    /// Where the project's name may be.
    pub(super) fn project(self) -> &'static [&'static [&'static str]] {
        match self {
            Self::Pyproject => &[&["project", "name"], &["tool", "poetry", "name"]],
            Self::SetupCfg => &[&["metadata", "name"]],
            _ => &[],
        }
    }

    /// What a key acts on.
    pub(super) fn effect(self, path: &[&str]) -> KeyEffect {
        match self {
            Self::Pyproject => pyproject(path),
            Self::OtherToml => match path {
                ["pytest", ..] | ["tool", "pytest", ..] => Tests,
                _ => Unknown,
            },
            Self::SetupCfg => match path {
                ["metadata", ..] => Metadata,
                [section, ..] if BUILD_SECTIONS.contains(section) => Environment,
                [section, ..] if section.starts_with("options.") => Environment,
                path => section(path),
            },
            Self::ToxIni => match path {
                ["testenv" | "tox", "description"] => Nothing,
                [section, "description"] if section.starts_with("testenv:") => Nothing,
                ["tox" | "testenv" | "gh" | "gh-actions" | "testenv_build", ..] => Environment,
                [section, ..]
                    if ["testenv:", "tox:", "gh-actions:"].iter().any(|known| section.starts_with(known)) =>
                {
                    Environment
                }
                path => section(path),
            },
            Self::CoverageRc => match path {
                [part, ..] => coverage(part),
                [] => Unknown,
            },
            Self::OtherIni => section(path),
            Self::PackageJson => match path {
                [key, ..] if INERT_IN_PACKAGES.contains(key) => Nothing,
                _ => Environment,
            },
        }
    }
}

fn pyproject(path: &[&str]) -> KeyEffect {
    match path {
        ["project", key, ..] if DESCRIPTIONS.contains(key) => Metadata,
        ["project" | "build-system" | "dependency-groups", ..] => Environment,
        ["tool", "pytest" | "pytest_env", ..] => Tests,
        ["tool", tool, ..] if tool.starts_with("pytest-") || tool.starts_with("pytest_") => Tests,
        ["tool", "coverage", part, ..] => coverage(part),
        ["tool", "poetry", key, ..] if DESCRIPTIONS.contains(key) => Metadata,
        ["tool", tool, ..] if ONLOOKERS.contains(tool) => Nothing,
        ["tool", tool, ..] if BUILDERS.contains(tool) => Environment,
        _ => Unknown,
    }
}

/// Sections that several INI files share.
fn section(path: &[&str]) -> KeyEffect {
    let Some(section) = path.first() else { return Unknown };
    if let Some(part) = section.strip_prefix("coverage:") {
        return coverage(part);
    }
    // `mypy-numpy.*`, `bumpversion:file:x`, `pylint.master`.
    let tool = section.split([':', '.']).next().unwrap_or(section);
    let is_onlooker = |name: &str| ONLOOKERS.contains(&name);
    match *section {
        "pytest" | "tool:pytest" => Tests,
        "tool:isort" => Nothing,
        _ if is_onlooker(tool) || is_onlooker(section) || section.starts_with("mypy-") => Nothing,
        _ => Unknown,
    }
}

/// What is measured may change what happens: coverage traces, patches and
/// loads plugins. How the result is shown does not.
fn coverage(part: &str) -> KeyEffect {
    match part {
        "report" | "html" | "xml" | "json" | "lcov" => Nothing,
        "run" | "paths" => Tests,
        _ => Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_act_on_what_their_tools_do() {
        let effect = |file: &str, key: &str| {
            let path: Vec<&str> = key.split('/').collect();
            table(file).expect("it is known").effect(&path)
        };
        for (file, key, expected) in [
            ("pyproject.toml", "project/version", Metadata),
            ("pyproject.toml", "project/urls/Home", Metadata),
            ("pyproject.toml", "project/requires-python", Environment),
            ("pyproject.toml", "project/entry-points/pytest11/x", Environment),
            ("pyproject.toml", "build-system/requires", Environment),
            ("pyproject.toml", "dependency-groups/dev", Environment),
            ("pyproject.toml", "tool/ruff/lint/select", Nothing),
            ("pyproject.toml", "tool/coverage/html/directory", Nothing),
            ("pyproject.toml", "tool/coverage/run/branch", Tests),
            ("pyproject.toml", "tool/pytest/ini_options/env", Tests),
            ("pyproject.toml", "tool/pytest-env/X", Tests),
            ("pyproject.toml", "tool/poetry/version", Metadata),
            ("pyproject.toml", "tool/poetry/dependencies/x", Environment),
            ("pyproject.toml", "tool/uv/sources/x", Environment),
            ("pyproject.toml", "tool/shop/currency", Unknown),
            ("pyproject.toml", "shop", Unknown),
            ("setup.cfg", "metadata/version", Metadata),
            ("setup.cfg", "options.extras_require/test", Environment),
            ("setup.cfg", "tool:pytest/testpaths", Tests),
            ("setup.cfg", "coverage:run/source", Tests),
            ("setup.cfg", "bumpversion:file:x.py/search", Nothing),
            ("setup.cfg", "shop/currency", Unknown),
            ("tox.ini", "testenv:py312/setenv", Environment),
            ("tox.ini", "testenv/description", Nothing),
            ("tox.ini", "pytest/addopts", Tests),
            ("mypy.ini", "mypy-numpy.*/x", Nothing),
            ("config/app.ini", "database/url", Unknown),
            (".coveragerc", "report/fail_under", Nothing),
            (".coveragerc", "run/concurrency", Tests),
            ("pytest.toml", "pytest/addopts", Tests),
            ("ruff.toml", "line-length", Unknown),
            ("package.json", "version", Nothing),
            ("package.json", "dependencies/react", Environment),
        ] {
            assert_eq!(effect(file, key), expected, "{file} {key}");
        }
    }
}
