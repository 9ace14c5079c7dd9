//! Files that act on a test without being read by it.
//!
//! They decide what is installed, compiled or set before the test's process
//! starts. No process shows that it depends on them, so a change of one leaves
//! the answer open.

use super::paths::{name, parent};

/// Exact names, in lower case.
const NAMES: [&str; 43] = [
    ".env",
    ".gitlab-ci.yml",
    ".python-version",
    ".tool-versions",
    ".travis.yml",
    "appveyor.yml",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    "build.rs",
    "buildkite.yml",
    "cargo.lock",
    "cargo.toml",
    "cmakelists.txt",
    "compose.yaml",
    "compose.yml",
    "conda-lock.yml",
    "environment.yaml",
    "environment.yml",
    "flake.lock",
    "flake.nix",
    "hatch.toml",
    "hatch_build.py",
    "jenkinsfile",
    "justfile",
    "makefile",
    "meson.build",
    "mise.toml",
    "noxfile.py",
    "pdm.lock",
    "pipfile",
    "pipfile.lock",
    "pixi.lock",
    "pixi.toml",
    "poetry.lock",
    "pylock.toml",
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
    "shell.nix",
    "sitecustomize.py",
    "tox.ini",
    "usercustomize.py",
    "uv.lock",
];

/// Folders in which everything is for CI systems.
const CI_FOLDERS: [&str; 4] = [".github/workflows", ".github/actions", ".circleci", ".buildkite"];

/// Ends of names in languages that are compiled into extensions.
const COMPILED: [&str; 24] = [
    "c", "cc", "cpp", "cu", "cuh", "cxx", "f", "f03", "f08", "f90", "f95", "go", "h", "hh", "hpp", "hxx",
    "i", "m", "mm", "pxd", "pxi", "pyx", "rs", "swift",
];

/// Whether a changed file may decide what a test runs in.
pub(super) fn shapes_environment(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let (folder, name) = (parent(&lower), name(&lower));
    let is_requirements = || {
        let is_list = has_extension(name, "txt") || has_extension(name, "in") || has_extension(name, "lock");
        let names = |text: &str| text.contains("requirements") || text.contains("constraints");
        is_list && (names(name) || names(super::paths::name(folder)))
    };
    NAMES.binary_search(&name).is_ok()
        || name.starts_with("dockerfile")
        || name.starts_with("docker-compose")
        || has_extension(name, "pth")
        || is_requirements()
        || CI_FOLDERS.iter().any(|known| lower.starts_with(&format!("{known}/")))
}

/// Whether a changed file may be compiled into something a test loads.
pub(super) fn is_compiled(path: &str) -> bool {
    let name = name(path);
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    extension.is_some_and(|extension| COMPILED.binary_search(&extension.as_str()).is_ok())
}

/// Whether a file is compiled code that does not come with Python itself.
pub(super) fn is_native(path: &str) -> bool {
    let name = name(path);
    let is_library = ["so", "pyd", "dll", "dylib"].iter().any(|known| has_extension(name, known));
    (is_library || name.contains(".so.")) && !path.contains("/lib-dynload/")
}

fn has_extension(name: &str, extension: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, found)| found.eq_ignore_ascii_case(extension))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_as_the_search_needs_it() {
        assert!(NAMES.is_sorted());
        assert!(COMPILED.is_sorted());
    }

    #[test]
    fn what_is_installed_or_built_is_told_by_name() {
        for path in [
            "uv.lock",
            "requirements-dev.txt",
            "requirements/dev.txt",
            "docker/Dockerfile.ci",
            ".github/workflows/test.yml",
            "Makefile",
        ] {
            assert!(shapes_environment(path), "{path}");
        }
        for path in ["README.md", "docs/requirements.md", "src/pkg/x.py", ".github/CODEOWNERS", "data/a.txt"]
        {
            assert!(!shapes_environment(path), "{path}");
        }
        assert!(is_compiled("src/fast.pyx") && is_compiled("src/lib.rs") && !is_compiled("src/x.py"));
        assert!(is_native("/r/pkg/fast.cpython-311-x86_64-linux-gnu.so") && is_native("/usr/lib/libz.so.1"));
        assert!(!is_native("/usr/lib/python3.11/lib-dynload/_json.so") && !is_native("/r/x.py"));
    }
}
