//! Files that act on a test without being read by it.
//!
//! They decide what is installed, compiled or set before the test's process
//! starts. No process shows that it depends on them, so a change of one leaves
//! the answer open.

use super::paths::{name, parent};

/// Exact names, in lower case.
const NAMES: [&str; 40] = [
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
    "setup.py",
    "shell.nix",
    "sitecustomize.py",
    "usercustomize.py",
    "uv.lock",
];

/// Folders in which everything is for CI systems.
const CI_FOLDERS: [&str; 4] = [".github/workflows", ".github/actions", ".circleci", ".buildkite"];

/// Ends of names of files that are used by opening them, and in no other way:
/// Python, which is loaded, documents and data.
const OPENED: [&str; 68] = [
    "adoc", "asc", "avif", "bib", "bmp", "cff", "cfg", "conf", "css", "csv", "dat", "diff", "doc", "docx",
    "eot", "eps", "gif", "gz", "htm", "html", "ico", "ini", "ipynb", "j2", "jinja", "jinja2", "jpeg", "jpg",
    "json", "json5", "jsonl", "key", "log", "markdown", "md", "mdx", "mo", "mp3", "mp4", "ndjson", "ods",
    "otf", "parquet", "patch", "pdf", "pem", "png", "po", "pot", "ps", "py", "pyi", "pyw", "rst", "svg",
    "tex", "tiff", "toml", "tsv", "ttf", "txt", "wav", "webp", "woff", "woff2", "xml", "yaml", "yml",
];

/// The same for whole names, in lower case and without an extension.
const OPENED_NAMES: [&str; 21] = [
    ".editorconfig",
    ".flake8",
    ".git-blame-ignore-revs",
    ".gitattributes",
    ".gitignore",
    ".gitkeep",
    ".mailmap",
    ".prettierignore",
    ".prettierrc",
    ".pylintrc",
    "authors",
    "changelog",
    "changes",
    "codeowners",
    "contributors",
    "copying",
    "licence",
    "license",
    "notice",
    "py.typed",
    "readme",
];

/// Scripts: running one opens it.
const SCRIPTS: [&str; 16] = [
    "awk", "bash", "bat", "cmd", "fish", "lua", "php", "pl", "pm", "ps1", "r", "rb", "sed", "sh", "tcl",
    "zsh",
];

/// Names of files that decide how code in other languages is built, though
/// they end like data.
const BUILDS: [&str; 16] = [
    "angular.json",
    "bun.lock",
    "composer.json",
    "composer.lock",
    "deno.json",
    "gemfile.lock",
    "go.mod",
    "go.sum",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "package.json",
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    "pom.xml",
    "tsconfig.json",
    "yarn.lock",
];

/// How a changed file can act on a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// By being opened.
    Opened,
    /// By being opened, or by being run in a service that was started before.
    Script,
    /// By what is built from it, or in a way nobody knows.
    Built,
}

/// How a changed file can act on a test, by its name. What is not known counts
/// as the source of something.
pub(super) fn kind(path: &str) -> Kind {
    let name = name(path).to_ascii_lowercase();
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    let is_in = |list: &[&str]| extension.is_some_and(|extension| list.binary_search(&extension).is_ok());
    if BUILDS.binary_search(&name.as_str()).is_ok() {
        Kind::Built
    } else if OPENED_NAMES.binary_search(&name.as_str()).is_ok() || is_in(&OPENED) {
        Kind::Opened
    } else if is_in(&SCRIPTS) {
        Kind::Script
    } else {
        Kind::Built
    }
}

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

/// The package whose description a file is, if it is one: `shop` for
/// `site-packages/shop-1.2.dist-info/METADATA`.
pub(super) fn metadata_of(path: &str) -> Option<String> {
    let (folder, file) = path.rsplit_once('/')?;
    if !["METADATA", "PKG-INFO"].contains(&file) {
        return None;
    }
    let folder = name(folder);
    let stem = folder.strip_suffix(".dist-info").or_else(|| folder.strip_suffix(".egg-info"))?;
    Some(distribution(stem.split('-').next().unwrap_or(stem)))
}

/// The name of a package, written as one of several that mean the same.
pub(super) fn distribution(name: &str) -> String {
    name.to_ascii_lowercase().replace(['-', '.'], "_")
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
        for list in [&OPENED[..], &OPENED_NAMES, &SCRIPTS, &BUILDS] {
            assert!(list.is_sorted(), "{list:?}");
        }
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
        assert!(is_native("/r/pkg/fast.cpython-311-x86_64-linux-gnu.so") && is_native("/usr/lib/libz.so.1"));
        assert!(!is_native("/usr/lib/python3.11/lib-dynload/_json.so") && !is_native("/r/x.py"));
    }

    #[test]
    fn what_is_not_known_to_be_opened_may_be_built() {
        for path in
            ["README.md", "LICENSE", "docs/a.RST", "data/a.csv", "a.png", "a.py", "x.yml", ".gitignore"]
        {
            assert_eq!(kind(path), Kind::Opened, "{path}");
        }
        for path in ["bin/release.sh", "web/index.php"] {
            assert_eq!(kind(path), Kind::Script, "{path}");
        }
        for path in [
            "src/App.java",
            "a.kt",
            "main.go",
            "web/app.ts",
            "lib.so",
            "lib.so.1",
            "src/lib.rs",
            "fast.pyx",
            "bin/tool",
            "blob.bin",
            "schema.sql",
            "api.proto",
            "web/package.json",
            "pom.xml",
            "build.gradle.kts",
        ] {
            assert_eq!(kind(path), Kind::Built, "{path}");
        }
    }

    #[test]
    fn descriptions_of_packages_are_told_by_their_folders() {
        let of = |path: &str| metadata_of(path);
        assert_eq!(of("/v/site-packages/my_shop-1.2.dist-info/METADATA").as_deref(), Some("my_shop"));
        assert_eq!(of("/r/src/My.Shop.egg-info/PKG-INFO").as_deref(), Some("my_shop"));
        assert_eq!(distribution("My-Shop"), "my_shop");
        assert_eq!(of("/v/site-packages/my_shop-1.2.dist-info/entry_points.txt"), None);
        assert_eq!(of("/r/METADATA"), None);
    }
}
