//! Which code was tested, where, and by whom: from flags, the CI system or git.

mod ci;
mod git;

pub(crate) use ci::Ci;
use flakewise_model::{Run, RunId, Timestamp, Variant, packages_text};
use flakewise_runner::Versions;
#[cfg(feature = "history")]
pub(crate) use git::files;
pub(crate) use git::{Git, top_folder, tracked_files};

use crate::args::ContextArguments;

/// What is known of a run before its reports are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Context {
    pub(crate) commit: Option<String>,
    pub(crate) dirty: bool,
    pub(crate) branch: Option<String>,
    pub(crate) variant: Variant,
    /// The run's name, where flags or the CI system give one.
    pub(crate) run: Option<String>,
    pub(crate) provider: Option<&'static str>,
    pub(crate) url: Option<String>,
    /// Whether a CI system runs us, so that store trouble must not fail it.
    pub(crate) on_ci: bool,
}

impl Context {
    /// Puts together what flags say, then CI, then git.
    pub(crate) fn new(arguments: &ContextArguments, ci: Option<&Ci>, git: &Git, on_ci: bool) -> Self {
        let mut variant = Variant::default().with("os", std::env::consts::OS);
        if let Some(job) = ci.and_then(|ci| ci.job.as_deref()) {
            variant = variant.with("job", job);
        }
        for (key, value) in &arguments.variant {
            variant = variant.with(key, value);
        }
        let given = arguments.commit.clone();
        let from_ci = ci.and_then(|ci| ci.commit.clone());
        // A CI system checks out what it names; build steps that touch tracked
        // files are its own business. Elsewhere a modified work tree means that
        // the commit does not say which code ran.
        let dirty = given.is_none() && from_ci.is_none() && git.dirty;
        Self {
            commit: given.or(from_ci).or_else(|| git.commit.clone()),
            dirty,
            branch: arguments
                .branch
                .clone()
                .or_else(|| ci.and_then(|ci| ci.branch.clone()))
                .or_else(|| git.branch.clone()),
            variant,
            run: arguments.run.clone().or_else(|| ci.map(|ci| ci_run(ci, arguments))),
            provider: ci.map(|ci| ci.provider),
            url: ci.and_then(|ci| ci.url.clone()),
            on_ci: on_ci || ci.is_some(),
        }
    }
}

impl Context {
    /// The run of these tests. Versions of the language are variants: what fails
    /// on one may pass on another.
    pub(crate) fn tested(&self, name: &str, started: Timestamp, versions: Option<Versions<'_>>) -> Run {
        let python = versions.filter(|versions| versions.runner == "pytest");
        // What the user says wins.
        let variant = match python.filter(|_| self.variant.get("python").is_none()) {
            Some(versions) => {
                let short: Vec<&str> = versions.language_version.split('.').take(2).collect();
                self.variant.clone().with("python", &short.join("."))
            }
            None => self.variant.clone(),
        };
        Run {
            id: RunId::new(name),
            commit: self.commit.clone(),
            dirty: self.dirty,
            branch: self.branch.clone(),
            variant,
            provider: self.provider.map(str::to_owned),
            url: self.url.clone(),
            started,
            roots: versions.map(|versions| versions.roots.clone()).filter(|roots| !roots.is_empty()),
            packages: versions.and_then(|versions| {
                packages_text(versions.packages.iter().filter_map(|package| package.split_once("==")))
            }),
        }
    }
}

/// The CI system's name for the run. Jobs of a matrix may share one; what the
/// user says of the variant tells them apart.
fn ci_run(ci: &Ci, arguments: &ContextArguments) -> String {
    let variant: Vec<_> = arguments.variant.iter().map(|(key, value)| format!("{key}={value}")).collect();
    if variant.is_empty() { ci.run.clone() } else { format!("{}[{}]", ci.run, variant.join(";")) }
}

/// An environment variable that is set to something.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Whether some CI system runs us.
pub(crate) fn on_ci() -> bool {
    variable("CI").is_some_and(|value| value != "false" && value != "0")
}

/// The project's name: from the flag, the CI system, git's remote or, last, the
/// folder.
pub(crate) fn project(given: Option<&str>) -> String {
    given
        .map(str::to_owned)
        .or_else(|| Ci::detect(&variable).and_then(|ci| ci.project))
        .or_else(Git::project)
        .unwrap_or_else(|| "project".to_owned())
}
