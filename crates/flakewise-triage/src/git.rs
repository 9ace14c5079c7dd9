//! Asking git.
//!
//! Git is queried in a language and a form that do not depend on the user's
//! settings, and never takes a lock that it could do without.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::ChangeError;

/// Variables with which git tells its hooks where the repository is. In a hook
/// they would win over the folder we name, down to the index that is written.
const LOCAL: [&str; 8] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_PREFIX",
    "GIT_NAMESPACE",
    "GIT_LITERAL_PATHSPECS",
    "GIT_DIFF_OPTS",
];

/// Runs git in one folder.
#[derive(Clone, Debug)]
pub struct Git {
    folder: PathBuf,
    settings: Vec<&'static str>,
}

impl Git {
    /// Git in this folder.
    pub fn at(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            settings: vec!["core.quotePath=false", "diff.autoRefreshIndex=true"],
        }
    }

    /// The same with more settings.
    pub(crate) fn with(mut self, settings: &[&'static str]) -> Self {
        self.settings.extend(settings);
        self
    }

    fn command<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Command {
        let mut command = Command::new("git");
        command.arg("-C").arg(&self.folder);
        for setting in &self.settings {
            command.args(["-c", setting]);
        }
        command.args(arguments);
        for variable in LOCAL {
            command.env_remove(variable);
        }
        command
            // `diff` would otherwise refresh the index of a repository that
            // somebody else may be working in.
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C")
            .stdin(Stdio::null());
        command
    }

    /// Runs a command, whatever comes of it.
    pub(crate) fn output<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Result<Output, ChangeError> {
        let words = || arguments.iter().map(AsRef::as_ref).collect::<Vec<&OsStr>>();
        let _span = tracing::debug_span!("git", arguments = ?words()).entered();
        self.command(arguments).output().map_err(|source| ChangeError::NoGit { source })
    }

    /// What a command prints; an error if it fails.
    pub(crate) fn bytes<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Result<Vec<u8>, ChangeError> {
        let output = self.output(arguments)?;
        if output.status.success() {
            Ok(output.stdout)
        } else {
            Err(failure(arguments, &String::from_utf8_lossy(&output.stderr)))
        }
    }

    /// The line a command prints; none if it fails, as a question may.
    pub fn line<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Result<Option<String>, ChangeError> {
        let output = self.output(arguments)?;
        let line = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok((output.status.success() && !line.is_empty()).then_some(line))
    }

    /// The commit a revision names; none if there is no such commit here.
    pub fn commit(&self, revision: &str) -> Result<Option<String>, ChangeError> {
        // No revision begins with a dash, but an option does.
        if revision.is_empty() || revision.starts_with('-') {
            return Ok(None);
        }
        self.line(&["rev-parse", "--verify", "--quiet", &format!("{revision}^{{commit}}")])
    }

    /// Whether a commit is an ancestor of another. A commit that a shallow clone does not have is
    /// nobody's ancestor.
    pub fn is_ancestor(&self, commit: &str, of: &str) -> Result<bool, ChangeError> {
        let (Some(commit), Some(of)) = (self.commit(commit)?, self.commit(of)?) else { return Ok(false) };
        Ok(self.output(&["merge-base", "--is-ancestor", &commit, &of])?.status.success())
    }

    /// What a command prints that reads `input`; none if it fails, takes too
    /// long or prints too much. It fetches nothing, not even objects that a
    /// partial clone has left with its remote.
    pub(crate) fn ask(&self, arguments: &[&str], input: &[u8], limit: Duration) -> Option<Vec<u8>> {
        const MOST: u64 = 64 << 20;
        // A file, as nobody is there to fill a pipe.
        let mut file = tempfile::tempfile().ok()?;
        file.write_all(input).and_then(|()| file.rewind()).ok()?;
        let mut child = self
            .command(arguments)
            .env("GIT_NO_LAZY_FETCH", "1")
            .stdin(file)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let stdout = child.stdout.take().expect("it is piped");
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut printed = Vec::new();
            let read = stdout.take(MOST + 1).read_to_end(&mut printed);
            // Nobody may wait for it any more.
            let _ = sender.send(read.is_ok().then_some(printed));
        });
        let printed = receiver.recv_timeout(limit).ok().flatten();
        let printed = printed.filter(|printed| printed.len() as u64 <= MOST);
        if printed.is_none() {
            let _ = child.kill();
        }
        let status = child.wait().ok()?;
        printed.filter(|_| status.success())
    }

    /// Reads what a command prints while it prints it.
    pub(crate) fn stream<A: AsRef<OsStr>, T>(
        &self,
        arguments: &[A],
        read: impl FnOnce(&mut dyn BufRead) -> std::io::Result<T>,
    ) -> Result<T, ChangeError> {
        let io = |source| ChangeError::Io { path: self.folder.clone(), source };
        // A file, as a pipe that nobody reads would block git.
        let mut complaints = tempfile::tempfile().map_err(io)?;
        let mut child = self
            .command(arguments)
            .stdout(Stdio::piped())
            .stderr(complaints.try_clone().map_err(io)?)
            .spawn()
            .map_err(|source| ChangeError::NoGit { source })?;
        let stdout = child.stdout.take().expect("it is piped");
        let result = read(&mut BufReader::with_capacity(1 << 16, stdout));
        if result.is_err() {
            // It may have ended by itself; there is nobody left to read anyway.
            let _ = child.kill();
        }
        let status = child.wait().map_err(io)?;
        let value = result.map_err(io)?;
        if status.success() {
            return Ok(value);
        }
        let mut text = Vec::new();
        complaints.rewind().map_err(io)?;
        complaints.take(4096).read_to_end(&mut text).map_err(io)?;
        Err(failure(arguments, &String::from_utf8_lossy(&text)))
    }
}

fn failure<A: AsRef<OsStr>>(arguments: &[A], stderr: &str) -> ChangeError {
    let is_word = |word: &&str| !word.starts_with('-');
    let command = arguments.iter().filter_map(|argument| argument.as_ref().to_str()).find(is_word);
    // Advice and warnings come before or after; the reason begins with a word
    // of its own.
    let reason =
        stderr.lines().find_map(|line| line.strip_prefix("fatal: ").or(line.strip_prefix("error: ")));
    let message = reason.or(stderr.lines().next()).unwrap_or("it gave no reason");
    ChangeError::Git { command: command.unwrap_or_default().to_owned(), message: message.trim().to_owned() }
}

/// A path as git prints it.
pub(crate) fn path_from(bytes: &[u8]) -> PathBuf {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt as _;
        PathBuf::from(OsStr::from_bytes(bytes))
    }
    #[cfg(not(unix))]
    {
        PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
    }
}

/// A path as git prints it on a line of its own.
pub(crate) fn path_line(bytes: &[u8]) -> PathBuf {
    path_from(bytes.strip_suffix(b"\n").unwrap_or(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_around_us_does_not_redirect_git_to_its_index() {
        let command = Git::at(Path::new("/r")).command(&["status"]);
        let removed: Vec<_> = command.get_envs().filter(|(_, value)| value.is_none()).collect();
        for variable in ["GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"] {
            assert!(removed.iter().any(|(name, _)| *name == variable), "{variable}");
        }
    }

    #[test]
    fn the_reason_is_found_among_advice() {
        let error = failure(&["-x", "diff", "HEAD"], "warning: x\nfatal: bad object\nhint: y\n");
        assert_eq!(error.to_string(), "`git diff` failed: bad object");
        assert_eq!(failure(&["diff"], "").to_string(), "`git diff` failed: it gave no reason");
    }
}
