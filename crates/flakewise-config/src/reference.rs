//! The reference page of the book.

use crate::key::{KEYS, Key, KeyDefault, Kind, SECTIONS};

/// The tables of all keys in Markdown, one for each section.
pub fn reference() -> String {
    let mut page = String::from("## Top level\n\n");
    page.push_str(&table(None));
    for section in &SECTIONS {
        page.push_str(&format!("\n## `[{}]`\n\n{}.\n\n", section.name, section.help));
        page.push_str(&table(Some(section.name)));
    }
    page
}

fn table(section: Option<&str>) -> String {
    let rows = KEYS.iter().filter(|key| key.parts().0 == section).map(row);
    format!("| key | value | default | what it does |\n|---|---|---|---|\n{}", rows.collect::<String>())
}

fn row(key: &Key) -> String {
    let (_, name) = key.parts();
    let default = match key.default {
        KeyDefault::Value(value) => format!("`{value}`"),
        KeyDefault::Described(text) => text.to_owned(),
    };
    let (kind, example) = (kind(&key.kind), key.example);
    format!("| `{name}` | {kind}, such as `{example}` | {default} | {} |\n", key.help)
}

fn kind(kind: &Kind) -> String {
    match kind {
        Kind::Text => "string".to_owned(),
        Kind::Path => "path".to_owned(),
        Kind::Store => "path or URL".to_owned(),
        Kind::Command => "array of strings".to_owned(),
        Kind::Duration { .. } => "duration".to_owned(),
        Kind::Confidence => "number from 0.5 to below 1".to_owned(),
        Kind::Positive => "number above 0".to_owned(),
        Kind::Integer(range) if *range.end() == u64::from(u32::MAX) => {
            format!("whole number from {}", range.start())
        }
        Kind::Integer(range) => format!("whole number from {} to {}", range.start(), range.end()),
        Kind::Choice(words) => {
            words.iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(", ")
        }
    }
}
