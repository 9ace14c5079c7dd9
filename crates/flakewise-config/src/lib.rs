//! The configuration file: `flakewise.toml`, or `[tool.flakewise]` in
//! `pyproject.toml`.
//!
//! [`KEYS`] is the one list of what may be in it. Reading, the JSON schema and the
//! reference page all follow from that list. A value is checked where it is read, by
//! the parsers that command-line options use too, so that a file and a flag accept
//! the same.
//!
//! This crate runs nothing, reads no environment variable, and opens no file but the
//! two named above. What a key does is up to the commands.

mod config;
mod discover;
mod error;
mod key;
mod reference;
mod schema;
mod suggest;
pub mod value;

pub use config::{Config, Entry};
pub use discover::{FILE, PYPROJECT, TABLE, discover, read};
pub use error::{ConfigError, Position};
pub use key::{KEYS, Key, KeyDefault, Kind, SECTIONS, Section};
pub use reference::reference;
pub use schema::schema;
pub use value::Value;
