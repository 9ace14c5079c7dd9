//! What can go wrong between us and git.

use std::path::PathBuf;

/// Why a change, or the code before it, is not known.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// There is no git, or it cannot be started.
    #[error("failed to start `git`")]
    NoGit {
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A git command failed.
    #[error("`git {command}` failed: {message}")]
    Git {
        /// The command, without options.
        command: String,
        /// What git said.
        message: String,
    },
    /// What was given as the base is not a revision of this repository.
    #[error("there is no revision `{base}`")]
    UnknownBase {
        /// The base as given.
        base: String,
    },
    /// The CI system names a branch that was not fetched.
    #[error("the target branch `{branch}` of this change was not fetched")]
    TargetNotFetched {
        /// The branch.
        branch: String,
    },
    /// The clone ends before the commit that is needed.
    #[error("the clone is too shallow to find the {wanted}")]
    Shallow {
        /// What was looked for: `merge base with origin/main`.
        wanted: String,
    },
    /// There is no earlier commit.
    #[error("`{commit}` is the first commit, with nothing before it to compare with")]
    NoParent {
        /// The commit.
        commit: String,
    },
    /// A file or folder cannot be used.
    #[error("failed to use `{}`", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

impl ChangeError {
    /// What a person can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoGit { .. } => Some("install git, or put it on the PATH".to_owned()),
            Self::UnknownBase { .. } => {
                Some("pass a fetched branch, tag or commit, e.g. `origin/main`".to_owned())
            }
            Self::TargetNotFetched { branch } => Some(format!(
                "fetch it first, with `fetch-depth: 0` on GitHub or `git fetch origin {branch}`, or pass the base with `--base`"
            )),
            Self::Shallow { .. } => Some(
                "fetch the whole history, with `fetch-depth: 0` on GitHub, `GIT_DEPTH: 0` on GitLab or `git fetch --unshallow`"
                    .to_owned(),
            ),
            Self::Git { .. } | Self::NoParent { .. } | Self::Io { .. } => None,
        }
    }
}
