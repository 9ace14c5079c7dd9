//! The agents, as they are embedded and handed to a runner.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::{RunnerError, guard, sys};

/// The pytest agent's files.
const PYTEST: [(&str, &str); 16] = [
    ("__init__.py", include_str!("../../../agents/pytest/flakewise_agent/__init__.py")),
    ("chance.py", include_str!("../../../agents/pytest/flakewise_agent/chance.py")),
    ("errors.py", include_str!("../../../agents/pytest/flakewise_agent/errors.py")),
    ("files.py", include_str!("../../../agents/pytest/flakewise_agent/files.py")),
    ("heap.py", include_str!("../../../agents/pytest/flakewise_agent/heap.py")),
    ("loader.py", include_str!("../../../agents/pytest/flakewise_agent/loader.py")),
    ("measure.py", include_str!("../../../agents/pytest/flakewise_agent/measure.py")),
    ("observe.py", include_str!("../../../agents/pytest/flakewise_agent/observe.py")),
    ("plugin.py", include_str!("../../../agents/pytest/flakewise_agent/plugin.py")),
    ("reads.py", include_str!("../../../agents/pytest/flakewise_agent/reads.py")),
    ("start.py", include_str!("../../../agents/pytest/flakewise_agent/start.py")),
    ("state.py", include_str!("../../../agents/pytest/flakewise_agent/state.py")),
    ("surroundings.py", include_str!("../../../agents/pytest/flakewise_agent/surroundings.py")),
    ("temporary.py", include_str!("../../../agents/pytest/flakewise_agent/temporary.py")),
    ("values.py", include_str!("../../../agents/pytest/flakewise_agent/values.py")),
    ("wire.py", include_str!("../../../agents/pytest/flakewise_agent/wire.py")),
];

/// The longest path that a socket can have, on every system.
const SOCKET_PATH: usize = 103;

/// The socket in the folder.
const SOCKET: &str = "socket";

/// A folder that is this user's alone from the beginning.
fn private_folder(parent: PathBuf) -> Result<TempDir, RunnerError> {
    let prefix = guard::folder_prefix();
    let mut builder = tempfile::Builder::new();
    sys::for_this_user_alone(builder.prefix(&prefix));
    builder.tempdir_in(&parent).map_err(|source| RunnerError::Temporary { folder: parent, source })
}

/// A private folder with the agent and the socket in it; it goes when dropped.
#[derive(Debug)]
pub(crate) struct AgentFolder {
    folder: TempDir,
    token: String,
}

impl AgentFolder {
    pub(crate) fn create() -> Result<Self, RunnerError> {
        let folder = private_folder(std::env::temp_dir())?;
        let folder = if folder.path().join(SOCKET).as_os_str().len() > SOCKET_PATH {
            private_folder(PathBuf::from("/tmp"))?
        } else {
            folder
        };
        let write = |package: &Path| -> std::io::Result<()> {
            std::fs::create_dir_all(package)?;
            PYTEST.iter().try_for_each(|(name, text)| std::fs::write(package.join(name), text))
        };
        write(&folder.path().join("agent").join("flakewise_agent"))
            .map_err(|source| RunnerError::Temporary { folder: folder.path().to_owned(), source })?;
        Ok(Self { folder, token: uuid::Uuid::new_v4().simple().to_string() })
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join(SOCKET)
    }

    /// Where a process leaves its trail. There is one at a time.
    pub(crate) fn trail(&self) -> PathBuf {
        self.folder.path().join("trail")
    }

    /// Where coverage in new processes has its data: `coverage run` begins by
    /// erasing that of the run before.
    pub(crate) fn coverage_file(&self) -> PathBuf {
        self.folder.path().join("coverage")
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// The variables that bring the agent into any pytest that is started with
    /// them, given what they were before.
    pub(crate) fn variables(
        &self,
        role: &str,
        job: u32,
        options: &str,
        old: impl Fn(&str) -> Option<OsString>,
    ) -> Vec<(OsString, OsString)> {
        let mut variables: Vec<(OsString, OsString)> = vec![
            ("FLAKEWISE_SOCKET".into(), self.socket().into()),
            ("FLAKEWISE_TOKEN".into(), self.token.clone().into()),
            ("FLAKEWISE_AGENT_ROLE".into(), role.into()),
            ("FLAKEWISE_AGENT_JOB".into(), job.to_string().into()),
        ];
        let mut set = |name: &str, value: OsString, separator: Option<&str>| {
            let mut joined = value;
            if let Some(old) = old(name) {
                if let Some(separator) = separator {
                    joined.push(separator);
                    joined.push(&old);
                }
                variables.push((format!("FLAKEWISE_AGENT_OLD_{name}").into(), old));
            }
            variables.push((name.into(), joined));
        };
        set("PYTHONPATH", self.folder.path().join("agent").into(), Some(":"));
        set("PYTEST_ADDOPTS", format!("-p flakewise_agent{options}").into(), Some(" "));
        if role == "fresh" {
            set("COVERAGE_FILE", self.coverage_file().into(), None);
        }
        variables
    }
}
