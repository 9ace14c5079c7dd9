//! State that one test leaves for another.

use crate::NamedTest;

/// What tests share: something a test leaves behind and another one meets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedState {
    /// What is otherwise.
    pub change: StateChange,
    /// Who left it so.
    pub left_by: NamedTest,
    /// Whether the test was seen to read it.
    pub is_read: bool,
    /// Where it reads it: a file, relative to the project, and a line.
    pub read_at: Option<(String, u32)>,
    /// Whether undoing this made the test end as alone, by itself or with others
    /// that are proved. Otherwise it is only likely, since the test reads it.
    pub is_proved: bool,
}

/// Something that is otherwise after a test than before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateChange {
    /// A name that is the same in every process: `env:TZ`.
    pub key: String,
    /// What it is.
    pub kind: StateKind,
    /// For people: `os.environ['TZ']`.
    pub name: String,
    /// What it was, in few words.
    pub before: String,
    /// What it became.
    pub after: String,
    /// Whether it can be undone.
    pub can_undo: bool,
}

macro_rules! kinds {
    ($($(#[doc = $doc:literal])* $variant:ident = $name:literal,)*) => {
        /// The kinds of state.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum StateKind { $($(#[doc = $doc])* $variant,)* }

        impl StateKind {
            /// All kinds.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name used in machine formats.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

kinds! {
    /// A global of a module, bound again or changed in place.
    Global = "global",
    /// An attribute of a class.
    Class = "class",
    /// A function, method or class in whose place another was put; or anything of
    /// the standard library.
    Patch = "patch",
    /// What a function with a cache has kept.
    Cache = "cache",
    /// An environment variable.
    Variable = "env",
    /// The working folder.
    Folder = "cwd",
    /// A module that was imported, removed or replaced.
    Module = "module",
    /// Where modules are looked for.
    Path = "path",
    /// The locale.
    Locale = "locale",
    /// The time zone.
    Zone = "timezone",
    /// A signal's handler.
    Signal = "signal",
    /// An alarm that was set.
    Timer = "timer",
    /// Which rights new files do not get.
    Mask = "umask",
    /// An open file, socket or pipe.
    Open = "open",
    /// A running thread.
    Thread = "thread",
    /// A file on disk.
    File = "file",
    /// A level, handler or switch of logging.
    Logging = "logging",
    /// The filters of warnings.
    Warnings = "warnings",
    /// A generator of random numbers.
    Random = "random",
    /// The decimal context.
    Decimal = "decimal",
    /// A context variable.
    Context = "context",
    /// The current event loop.
    Loop = "loop",
    /// A setting of the interpreter.
    Interpreter = "interpreter",
    /// Something else.
    Other = "other",
}

impl StateKind {
    /// The kind of this name; something else if there is none.
    pub fn from_name(name: &str) -> Self {
        Self::ALL.iter().copied().find(|kind| kind.name() == name).unwrap_or(Self::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_kinds() {
        for kind in StateKind::ALL {
            assert_eq!(StateKind::from_name(kind.name()), *kind);
        }
        assert_eq!(StateKind::from_name("weather"), StateKind::Other);
    }
}
