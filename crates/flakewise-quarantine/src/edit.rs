//! Editing the file. Comments, order and format of what is there stay.

use chrono::{Datelike as _, NaiveDate};
use toml_edit::{Array, ArrayOfTables, DocumentMut, Item, Table, Value, value};

use crate::parse::ENTRIES;
use crate::{Accepts, Entry, Malformed, Mode, Quarantine, Target};

/// What a new file begins with.
const HEADER: &str = "\
# Tests whose known failures do not fail the build, each until a last day.
# Written by `flakewise quarantine`; edit it by hand as you like, then run
# `flakewise quarantine check`.
";

/// The text of a file with one more entry, at its end. The result is read again: an
/// entry that is wrong, or whose test is quarantined already, is refused.
pub fn add(text: &str, entry: &Entry) -> Result<String, Malformed> {
    Quarantine::parse(text)?;
    let mut document = document(text);
    let mut table = Table::new();
    match &entry.target {
        Target::Test(test) => table.insert("test", value(test.as_str())),
        Target::Pattern(pattern) => table.insert("pattern", value(pattern.as_str())),
    };
    match &entry.accepts {
        Accepts::Fingerprints(fingerprints) => {
            let fingerprints: Array = fingerprints.iter().map(flakewise_model::Fingerprint::as_str).collect();
            table.insert("fingerprints", value(fingerprints));
        }
        Accepts::AnyFailure => {
            table.insert("any-failure", value(true));
        }
    }
    table.insert("reason", value(&entry.reason));
    table.insert("owner", value(&entry.owner));
    if let Some(issue) = &entry.issue {
        table.insert("issue", value(issue));
    }
    table.insert("since", date(entry.since));
    table.insert("until", date(entry.until));
    if entry.mode != Mode::default() {
        table.insert("mode", value(entry.mode.name()));
    }
    // Comments at the end of the file stay in front of what is added.
    let trailing = document.trailing().as_str().unwrap_or_default();
    let before = if text.trim().is_empty() { HEADER.to_owned() } else { trailing.to_owned() };
    document.set_trailing("");
    table.decor_mut().set_prefix(format!("{before}\n"));
    let entries = document.entry(ENTRIES).or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
    if let Some(entries) = entries.as_array_of_tables_mut() {
        entries.push(table);
    }
    let added = document.to_string();
    Quarantine::parse(&added)?;
    Ok(added)
}

/// The text of a file without the entry of a test id or pattern, and that entry; none if
/// there is no such entry.
pub fn remove(text: &str, target: &str) -> Result<Option<(String, Entry)>, Malformed> {
    let quarantine = Quarantine::parse(text)?;
    let Some(place) = quarantine.entries.iter().position(|entry| entry.target.as_str() == target) else {
        return Ok(None);
    };
    let mut document = document(text);
    if let Some(entries) = document.get_mut(ENTRIES).and_then(Item::as_array_of_tables_mut) {
        // What stands above the first entry, with a blank line between, belongs to the file.
        let above = entries.get(place).filter(|_| place == 0);
        let above = above.and_then(|table| table.decor().prefix()?.as_str());
        let kept = above.and_then(|above| above.rfind("\n\n").map(|end| above[..end].to_owned()));
        entries.remove(place);
        match (kept, entries.get_mut(0)) {
            (Some(kept), Some(first)) => {
                let own = first.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default();
                let joined = format!("{}{}", kept.trim_end_matches('\n'), with_break(own));
                first.decor_mut().set_prefix(joined);
            }
            (Some(kept), None) => {
                let after = document.trailing().as_str().unwrap_or_default();
                let joined = format!("{}\n{after}", kept.trim_end_matches('\n'));
                document.set_trailing(joined);
            }
            (None, _) => {}
        }
    }
    let removed = document.to_string();
    Quarantine::parse(&removed)?;
    Ok(Some((removed, quarantine.entries[place].clone())))
}

/// A comment above an entry, after a blank line.
fn with_break(prefix: &str) -> String {
    format!("\n\n{}", prefix.trim_start_matches('\n'))
}

/// The document of a text that was parsed before.
fn document(text: &str) -> DocumentMut {
    text.parse().expect("the text was parsed before")
}

fn date(date: NaiveDate) -> Item {
    let part = |number: u32| u8::try_from(number).unwrap_or_default();
    let date = toml_edit::Date {
        year: u16::try_from(date.year()).unwrap_or_default(),
        month: part(date.month()),
        day: part(date.day()),
    };
    Item::Value(Value::from(date))
}
