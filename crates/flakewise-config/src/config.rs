//! What a configuration file says.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::de::{DeInteger, DeTable, DeValue};

use crate::discover::TABLE;
use crate::error::{ConfigError, Position};
use crate::key::{Key, Kind, SECTIONS};
use crate::suggest::suggest;
use crate::value::{self, Value};

/// What a configuration file says; without a file, nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    path: Option<PathBuf>,
    entries: BTreeMap<&'static str, Entry>,
}

/// One key of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its value.
    pub value: Value,
    /// Where it is.
    pub position: Position,
}

impl Config {
    /// Reads the text of a `flakewise.toml`. `path` is what people are shown.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ConfigError> {
        let text = without_mark(text);
        let root = parse_toml(path, text)?;
        Reader { path, text }.config(&root)
    }

    /// Reads `[tool.flakewise]` of a `pyproject.toml`; none if there is no such table.
    pub fn parse_pyproject(path: &Path, text: &str) -> Result<Option<Self>, ConfigError> {
        let text = without_mark(text);
        // What never names us is somebody else's to check.
        if !text.contains(TABLE) {
            return Ok(None);
        }
        let root = parse_toml(path, text)?;
        let tool = root.get("tool").and_then(|tool| as_table(tool.get_ref()));
        let Some((name, own)) = tool.and_then(|tool| tool.get_key_value(TABLE)) else { return Ok(None) };
        let reader = Reader { path, text };
        match as_table(own.get_ref()) {
            Some(own) => reader.config(own).map(Some),
            None => {
                Err(reader.invalid("tool.flakewise", name.span(), must_be("a table", own.get_ref()), None))
            }
        }
    }

    /// The file, as people are shown it.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// What the file says about a key.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.get(key)
    }

    /// Everything the file says.
    pub fn entries(&self) -> impl Iterator<Item = (&'static Key, &Entry)> {
        self.entries.iter().filter_map(|(name, entry)| Some((Key::find(name)?, entry)))
    }

    /// The command that runs the tests.
    pub fn command(&self) -> Option<&[String]> {
        match &self.entry("command")?.value {
            Value::Words(words) => Some(words),
            _ => None,
        }
    }

    /// The branch that changes are compared with.
    pub fn base(&self) -> Option<&str> {
        self.text("base")
    }

    /// A path of the file from the working directory. A URL stays as it is.
    pub fn resolve(&self, path: &str) -> PathBuf {
        let folder = self.path.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
        if value::is_url(path) { PathBuf::from(path) } else { folder.join(path) }
    }

    fn text(&self, key: &str) -> Option<&str> {
        match &self.entry(key)?.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

fn parse_toml<'a>(path: &Path, text: &'a str) -> Result<DeTable<'a>, ConfigError> {
    DeTable::parse(text).map(toml::Spanned::into_inner).map_err(|error| ConfigError::Syntax {
        position: position(path, text, error.span().map_or(0, |span| span.start)),
        message: error.message().to_owned(),
    })
}

fn position(path: &Path, text: &str, offset: usize) -> Position {
    let before = &text[..text.floor_char_boundary(offset)];
    let last_line = before.rsplit('\n').next().unwrap_or_default();
    Position {
        path: path.to_owned(),
        line: 1 + before.matches('\n').count(),
        column: 1 + last_line.chars().count(),
    }
}

fn as_table<'a, 'i>(value: &'a DeValue<'i>) -> Option<&'a DeTable<'i>> {
    match value {
        DeValue::Table(table) => Some(table),
        _ => None,
    }
}

/// One file on its way to a [`Config`].
struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
}

impl Reader<'_> {
    fn config(&self, table: &DeTable<'_>) -> Result<Config, ConfigError> {
        let mut config = Config { path: Some(self.path.to_owned()), ..Config::default() };
        self.table(None, table, &mut config)?;
        Ok(config)
    }

    fn table(
        &self,
        section: Option<&str>,
        table: &DeTable<'_>,
        config: &mut Config,
    ) -> Result<(), ConfigError> {
        // The first problem of the file is the one that is reported.
        let mut keys: Vec<_> = table.iter().collect();
        keys.sort_by_key(|(key, _)| key.span().start);
        for (key, value) in keys {
            let name = match section {
                Some(section) => format!("{section}.{}", key.get_ref()),
                None => key.get_ref().to_string(),
            };
            let is_section = section.is_none() && SECTIONS.iter().any(|section| section.name == name);
            if is_section {
                let table = as_table(value.get_ref()).ok_or_else(|| {
                    self.invalid(&name, key.span(), must_be("a table", value.get_ref()), None)
                })?;
                self.table(Some(&name), table, config)?;
                continue;
            }
            let Some(known) = Key::find(&name).filter(|known| known.parts().0 == section) else {
                let position = position(self.path, self.text, key.span().start);
                return Err(ConfigError::UnknownKey { position, suggestion: suggest(&name), key: name });
            };
            let value = check(&known.kind, value.get_ref())
                .map_err(|reason| self.invalid(&name, value.span(), reason, Some(known.example)))?;
            let position = position(self.path, self.text, key.span().start);
            config.entries.insert(known.name, Entry { value, position });
        }
        Ok(())
    }

    fn invalid(
        &self,
        key: &str,
        span: Range<usize>,
        reason: String,
        example: Option<&'static str>,
    ) -> ConfigError {
        let position = position(self.path, self.text, span.start);
        ConfigError::InvalidValue { position, key: key.to_owned(), reason, example }
    }
}

/// The value of a key, or what is wrong with it.
fn check(kind: &Kind, value: &DeValue<'_>) -> Result<Value, String> {
    let text = || match value {
        DeValue::String(text) if text.is_empty() => Err("must not be empty".to_owned()),
        // Neither a program, a path nor a revision can hold one.
        DeValue::String(text) if text.contains('\0') => Err("must not hold a NUL character".to_owned()),
        DeValue::String(text) => Ok(text.to_string()),
        other => Err(must_be("a string", other)),
    };
    let number = || match value {
        DeValue::Integer(integer) => Ok(decimal(integer).map_or("nan".to_owned(), |value| value.to_string())),
        DeValue::Float(float) => Ok(float.as_str().to_owned()),
        other => Err(must_be("a number", other)),
    };
    match kind {
        Kind::Text | Kind::Path => text().map(Value::Text),
        Kind::Store => {
            let store = text()?;
            value::store(&store)?;
            Ok(Value::Text(store))
        }
        Kind::Command => words(value).map(Value::Words),
        Kind::Duration { zero } => {
            let text = text()?;
            if *zero { value::duration_or_zero(&text) } else { value::duration(&text) }?;
            Ok(Value::Text(text))
        }
        Kind::Confidence => value::confidence(&number()?).map(Value::Number),
        Kind::Positive => value::positive(&number()?).map(Value::Number),
        Kind::Integer(range) => {
            let DeValue::Integer(integer) = value else { return Err(must_be("a whole number", value)) };
            let number = decimal(integer).and_then(|number| u64::try_from(number).ok());
            match number.filter(|number| range.contains(number)) {
                Some(number) => Ok(Value::Integer(number)),
                None => Err(format!("must be from {} to {}", range.start(), range.end())),
            }
        }
        Kind::Choice(words) => {
            let text = text()?;
            if words.contains(&text.as_str()) {
                return Ok(Value::Text(text));
            }
            let words: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
            Err(format!("must be one of {}", words.join(", ")))
        }
    }
}

fn words(value: &DeValue<'_>) -> Result<Vec<String>, String> {
    let DeValue::Array(array) = value else { return Err(must_be("an array of strings", value)) };
    let word = |word: &DeValue<'_>| match word {
        DeValue::String(word) if !word.contains('\0') => Ok(word.to_string()),
        DeValue::String(_) => Err("must not hold a NUL character".to_owned()),
        other => Err(must_be("an array of strings", other)),
    };
    let words = array.iter().map(|item| word(item.get_ref())).collect::<Result<Vec<_>, _>>()?;
    if words.first().is_none_or(String::is_empty) {
        return Err("must name a program".to_owned());
    }
    Ok(words)
}

fn decimal(integer: &DeInteger<'_>) -> Option<i128> {
    i128::from_str_radix(integer.as_str(), integer.radix()).ok()
}

fn must_be(what: &str, found: &DeValue<'_>) -> String {
    let found = match found {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    };
    format!("must be {what}, not {found}")
}
