//! `flakewise config`: what is in force, and from where.

use flakewise_config::{Config, KEYS, Key, KeyDefault};
use flakewise_model::{Foreign, without_credentials};
use serde::Serialize;

use crate::args::{ConfigArguments, SummaryFormat};
use crate::configuration::variable_of;
use crate::error::ExpectedError;
use crate::exit_code::ExitCode;
use crate::printer::Printer;

/// A value that is longer does not push all the others to the right.
const WIDEST: usize = 40;

/// One key, for machines.
#[derive(Debug, Serialize)]
struct Setting {
    key: &'static str,
    /// None if nothing sets it and no single value is its default.
    value: Option<serde_json::Value>,
    /// What holds if there is no value, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'static str>,
    from: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    variable: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
}

#[derive(Serialize)]
struct Document<'a> {
    format: u32,
    file: Option<String>,
    settings: &'a [Setting],
}

pub(crate) fn config(
    arguments: &ConfigArguments,
    config: &Config,
    printer: &Printer,
) -> Result<ExitCode, ExpectedError> {
    if arguments.schema {
        printer.data(&flakewise_config::schema())?;
        return Ok(ExitCode::Success);
    }
    let settings: Vec<Setting> = KEYS.iter().map(|key| setting(key, config)).collect();
    printer.data(&match arguments.format {
        SummaryFormat::Text => text(config, &settings),
        SummaryFormat::Json => {
            let file = config.path().map(|path| path.display().to_string());
            flakewise_report::json_document(&Document { format: 1, file, settings: &settings })
        }
    })?;
    Ok(ExitCode::Success)
}

fn setting(key: &'static Key, config: &Config) -> Setting {
    let default = Setting {
        key: key.name,
        value: None,
        description: None,
        from: "default",
        variable: None,
        file: None,
        line: None,
    };
    let set = variable_of(key).and_then(|name| Some((std::env::var_os(&name)?, name)));
    if let Some((value, name)) = set {
        let value = without_credentials(&value.to_string_lossy());
        return Setting { value: Some(value.into()), from: "environment", variable: Some(name), ..default };
    }
    if let Some(entry) = config.entry(key.name) {
        let file = Some(entry.position.path.display().to_string());
        let line = Some(entry.position.line);
        return Setting { value: Some(entry.value.json()), from: "file", file, line, ..default };
    }
    match key.default {
        KeyDefault::Value(value) => {
            let number = value.parse::<serde_json::Number>().ok();
            let value = number.map_or_else(|| value.into(), serde_json::Value::from);
            Setting { value: Some(value), ..default }
        }
        KeyDefault::Described(text) => Setting { description: Some(text), ..default },
    }
}

fn text(config: &Config, settings: &[Setting]) -> String {
    let mut text = match config.path() {
        Some(path) => format!("Configuration file: {}\n\n", Foreign::new(&path.display().to_string()).line()),
        None => "Configuration file: none (`flakewise init` writes one)\n\n".to_owned(),
    };
    let rows: Vec<_> =
        settings.iter().map(|setting| [setting.key.to_owned(), shown(setting), from(setting)]).collect();
    let width = |column: usize| {
        let widths = rows.iter().map(|row| row[column].chars().count()).filter(|width| *width <= WIDEST);
        widths.max().unwrap_or_default()
    };
    let (key_width, value_width) = (width(0), width(1));
    for [key, value, from] in &rows {
        text.push_str(&format!("{key:<key_width$}  {value:<value_width$}  {from}\n"));
    }
    text
}

fn shown(setting: &Setting) -> String {
    match (&setting.value, setting.description) {
        (Some(serde_json::Value::Array(words)), _) => {
            let words: Vec<_> = words.iter().map(ToString::to_string).collect();
            Foreign::new(&format!("[{}]", words.join(", "))).line()
        }
        (Some(value), _) => Foreign::new(&value.to_string()).line(),
        (None, description) => description.unwrap_or_default().replace('`', ""),
    }
}

fn from(setting: &Setting) -> String {
    match (&setting.variable, &setting.file, setting.line) {
        (Some(variable), _, _) => format!("environment variable {variable}"),
        (_, Some(file), Some(line)) => format!("{}:{line}", Foreign::new(file).line()),
        _ => "default".to_owned(),
    }
}
