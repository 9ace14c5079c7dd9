//! What a session reported about itself, for those who describe it to people.

use std::collections::BTreeMap;
use std::path::PathBuf;

use flakewise_model::PlainCommand;

use crate::execution::TestKey;
use crate::plain::OrderPlugins;
use crate::suite::Suite;

/// How one pytest was started.
#[derive(Clone, Copy, Debug)]
pub struct SessionFacts<'a> {
    /// The interpreter.
    pub executable: &'a str,
    /// The whole command line of the process.
    pub argv: &'a [String],
    /// Its working directory.
    pub folder: &'a str,
    /// The folder that names of tests are relative to.
    pub root: &'a str,
    /// The files, folders and tests that its command line names.
    pub named: &'a [String],
    /// The names of its tests.
    pub names: &'a [String],
    /// Its environment, as the tests see it.
    pub variables: &'a BTreeMap<String, String>,
    /// What its plug-ins drew or were told, by option.
    pub seeds: &'a BTreeMap<String, String>,
    /// Where it looks for modules.
    pub modules: &'a [String],
    /// The hash seed that the command was started with.
    pub hash_seed: u32,
}

/// The user's side: what was typed, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Typed {
    /// The command.
    pub words: Vec<String>,
    /// The current directory of the shell.
    pub folder: PathBuf,
    /// The environment of the shell.
    pub variables: BTreeMap<String, String>,
}

impl Typed {
    /// A command that was typed in the shell we were started from.
    pub fn here(words: &[String]) -> Self {
        let text = |value: std::ffi::OsString| value.to_string_lossy().into_owned();
        Self {
            words: words.to_vec(),
            folder: std::env::current_dir().unwrap_or_default(),
            variables: std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect(),
        }
    }
}

impl Suite {
    /// How a session was started.
    pub fn session_facts(&self, session: u32) -> SessionFacts<'_> {
        static NO_SEEDS: BTreeMap<String, String> = BTreeMap::new();
        let session = &self.supervisor.sessions[session as usize];
        let ready = session.ready.as_ref();
        SessionFacts {
            executable: &session.hello.executable,
            argv: &session.hello.argv,
            folder: &session.hello.cwd,
            root: session.root(),
            named: ready.map_or(&[], |ready| &ready.named),
            names: &session.names,
            variables: &session.hello.env,
            seeds: ready.map_or(&NO_SEEDS, |ready| &ready.seeds),
            modules: &session.hello.path,
            hash_seed: self.hash_seed(),
        }
    }

    /// How long one execution of a test may take.
    pub fn test_timeout(&self) -> std::time::Duration {
        self.options.test_timeout
    }

    /// The command as somebody would type it to run tests of their own choice, in
    /// the order they are named.
    pub fn plain_command(&self, session: u32, given: &[String]) -> PlainCommand {
        let (facts, typed) = (self.session_facts(session), Typed::here(given));
        let plain = facts.plain_command(&typed, OrderPlugins::Off);
        let mut plain = plain.unwrap_or_else(|| facts.whole_command(&typed, OrderPlugins::Off));
        // Whether the hash seed matters, a search finds out.
        plain.variables.retain(|(name, _)| name != "PYTHONHASHSEED");
        plain
    }

    /// A test as it is named on the command line, in the folder it was given in.
    pub fn argument(&self, test: TestKey) -> String {
        self.session_facts(test.session).argument(self.name(test))
    }
}
