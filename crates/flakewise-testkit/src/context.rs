//! A place to run the real binary in.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

/// A scratch folder with a clean environment in which the real binary runs.
///
/// Nothing of the machine leaks in: CI variables, colours, home folder and git
/// configuration are the test's own.
pub struct TestContext {
    folder: tempfile::TempDir,
    binary: PathBuf,
}

/// What one call of the binary gave.
pub struct Output {
    /// Its exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// What it printed.
    pub stdout: String,
    /// What it printed for people.
    pub stderr: String,
}

impl Output {
    /// All three in one text, for snapshots.
    pub fn snapshot(&self) -> String {
        let code = self.code.map_or("a signal".to_owned(), |code| code.to_string());
        format!("exit code: {code}\n----- stdout -----\n{}----- stderr -----\n{}", self.stdout, self.stderr)
    }
}

impl TestContext {
    /// A fresh folder. `binary` is `env!("CARGO_BIN_EXE_flakewise")`.
    pub fn new(binary: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        Self { folder, binary: PathBuf::from(binary) }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file below the folder. One that exists gets another time, to the second: else
    /// Python would go on with what it compiled if the size is the same.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a file has a folder")).expect("folders can be made");
        let before = path.metadata().and_then(|metadata| metadata.modified()).ok();
        std::fs::write(&path, content).expect("files can be written");
        if let Some(before) = before {
            let later = SystemTime::now().max(before + Duration::from_secs(1));
            let file = std::fs::File::options().append(true).open(&path).expect("it was written");
            file.set_modified(later).expect("the time can be set");
        }
    }

    /// The binary, ready to be given arguments.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.binary);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path())
            .env("TMPDIR", std::env::temp_dir())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            // Folders above a scratch folder may be somebody's work tree.
            .env("GIT_CEILING_DIRECTORIES", self.path().parent().unwrap_or(self.path()))
            .env("NO_COLOR", "1")
            .current_dir(self.path())
            .stdin(Stdio::null());
        command
    }

    /// Runs the binary with these arguments.
    pub fn run<const N: usize>(&self, arguments: [&str; N]) -> Output {
        self.finish(self.command().args(arguments))
    }

    /// Runs a prepared command. The folder's path is shown as `[DIR]`.
    pub fn finish(&self, command: &mut Command) -> Output {
        let output = command.output().expect("the binary starts");
        let clean = |bytes: Vec<u8>| {
            String::from_utf8_lossy(&bytes).replace(&self.path().to_string_lossy().into_owned(), "[DIR]")
        };
        Output { code: output.status.code(), stdout: clean(output.stdout), stderr: clean(output.stderr) }
    }
}
