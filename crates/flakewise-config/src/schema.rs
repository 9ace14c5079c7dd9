//! The JSON schema of the file, for editors.

use serde_json::{Map, Value, json};

use crate::key::{KEYS, Key, KeyDefault, Kind, SECTIONS};

/// The JSON schema of `flakewise.toml` as text.
pub fn schema() -> String {
    let mut properties = keys_of(None);
    for section in &SECTIONS {
        properties.insert(
            section.name.to_owned(),
            json!({
                "type": "object",
                "description": section.help,
                "properties": keys_of(Some(section.name)),
                "additionalProperties": false,
            }),
        );
    }
    let schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Configuration of Flakewise",
        "description": "`flakewise.toml`, or the table `[tool.flakewise]` of `pyproject.toml`",
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    });
    format!("{schema:#}\n")
}

fn keys_of(section: Option<&str>) -> Map<String, Value> {
    let keys = KEYS.iter().filter(|key| key.parts().0 == section);
    keys.map(|key| (key.parts().1.to_owned(), property(key))).collect()
}

fn property(key: &Key) -> Value {
    let mut property = of_kind(&key.kind);
    property["description"] = match key.default {
        KeyDefault::Value(_) => key.help.into(),
        KeyDefault::Described(default) => format!("{} [default: {default}]", key.help).into(),
    };
    if let KeyDefault::Value(value) = key.default {
        // What reads as a number is one, unless the key is a text.
        let number = value.parse::<u64>().ok().filter(|_| matches!(key.kind, Kind::Integer(_)));
        property["default"] = number.map_or_else(|| value.into(), Into::into);
    }
    property
}

fn of_kind(kind: &Kind) -> Value {
    match kind {
        Kind::Text | Kind::Path | Kind::Store => json!({ "type": "string", "minLength": 1 }),
        Kind::Command => json!({ "type": "array", "items": { "type": "string" }, "minItems": 1 }),
        Kind::Duration { .. } => {
            json!({ "type": "string", "minLength": 1, "examples": ["90s", "5m", "250ms"] })
        }
        Kind::Confidence => json!({ "type": "number", "minimum": 0.5, "exclusiveMaximum": 1 }),
        Kind::Positive => json!({ "type": "number", "exclusiveMinimum": 0 }),
        Kind::Integer(range) => {
            json!({ "type": "integer", "minimum": range.start(), "maximum": range.end() })
        }
        Kind::Choice(words) => json!({ "type": "string", "enum": words }),
    }
}
