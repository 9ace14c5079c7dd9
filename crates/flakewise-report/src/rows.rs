//! The answer to a query, as a table, CSV or JSON lines.

use flakewise_model::{Foreign, Rows, Value};
use unicode_width::UnicodeWidthStr as _;

use crate::style::{BOLD, styled};

/// What a formula begins with, also in its full width.
const FORMULA: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];

/// Columns are aligned, numbers to the right.
pub fn rows_text(rows: &Rows) -> String {
    let columns: Vec<String> = rows.columns.iter().map(|name| Foreign::new(name).line()).collect();
    let cells: Vec<Vec<String>> = rows.rows.iter().map(|row| row.iter().map(text).collect()).collect();
    let widths: Vec<usize> = (0..rows.columns.len())
        .map(|place| {
            let widest = cells.iter().map(|row| row[place].width()).max().unwrap_or(0);
            widest.max(columns[place].width())
        })
        .collect();
    let numeric: Vec<bool> = (0..rows.columns.len())
        .map(|place| {
            rows.rows
                .iter()
                .all(|row| matches!(row[place], Value::Integer(_) | Value::Float(_) | Value::Null))
        })
        .collect();
    let line = |cells: &[String], style: bool| {
        let mut out = String::new();
        for (place, cell) in cells.iter().enumerate() {
            let padding = " ".repeat(widths[place] - cell.width());
            let shown = if style { styled(BOLD, cell) } else { cell.clone() };
            let last = place + 1 == cells.len();
            match (numeric[place], last) {
                (true, _) => out.push_str(&format!("{padding}{shown}")),
                (false, true) => out.push_str(&shown),
                (false, false) => out.push_str(&format!("{shown}{padding}")),
            }
            if !last {
                out.push_str("  ");
            }
        }
        out.push('\n');
        out
    };
    let mut out = line(&columns, true);
    for row in &cells {
        out.push_str(&line(row, false));
    }
    out
}

/// RFC 4180, with a header line and one line per row: a line end in a text is
/// written `\n`. Texts that a spreadsheet would take for a formula begin with an
/// apostrophe.
pub fn rows_csv(rows: &Rows) -> String {
    let cell = |value: &Value| match value {
        Value::Text(name) if name.starts_with(FORMULA) => format!("'{}", text(value)),
        _ => text(value),
    };
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    let mut write = |cells: Vec<String>| writer.write_record(cells).expect("rows are as long as the header");
    write(rows.columns.iter().map(|name| cell(&Value::Text(name.clone()))).collect());
    for row in &rows.rows {
        write(row.iter().map(cell).collect());
    }
    String::from_utf8(writer.into_inner().expect("memory is written to")).expect("cells are UTF-8")
}

/// One JSON object per line.
pub fn rows_json(rows: &Rows) -> String {
    let mut out = String::new();
    for row in &rows.rows {
        let object: serde_json::Map<String, serde_json::Value> =
            rows.columns.iter().cloned().zip(row.iter().map(json)).collect();
        out.push_str(&Foreign::new(&serde_json::Value::Object(object).to_string()).json());
        out.push('\n');
    }
    out
}

fn json(value: &Value) -> serde_json::Value {
    match value {
        Value::Null => serde_json::Value::Null,
        Value::Boolean(value) => (*value).into(),
        Value::Integer(value) => (*value).into(),
        Value::Float(value) => (*value).into(),
        Value::Text(value) => value.as_str().into(),
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Boolean(value) => value.to_string(),
        Value::Integer(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        Value::Text(value) => Foreign::new(value).line(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Rows {
        Rows {
            columns: vec!["test".into(), "n".into(), "note".into()],
            rows: vec![
                vec![Value::Text("a\nb".into()), Value::Integer(7), Value::Null],
                vec![Value::Text("ä,\"x\"".into()), Value::Integer(1234), Value::Boolean(true)],
            ],
            truncated: false,
        }
    }

    #[test]
    fn tables_are_aligned() {
        let plain = rows_text(&rows()).replace("\u{1b}[1m", "").replace("\u{1b}[0m", "");
        insta::assert_snapshot!(plain, @r#"
        test      n  note
        a\nb      7  
        ä,"x"  1234  true
        "#);
    }

    #[test]
    fn csv_quotes_what_needs_it() {
        assert_eq!(rows_csv(&rows()), "test,n,note\r\na\\nb,7,\r\n\"ä,\"\"x\"\"\",1234,true\r\n");
    }

    #[test]
    fn json_has_an_object_per_line() {
        let line = rows_json(&rows()).lines().nth(1).unwrap_or_default().to_owned();
        assert_eq!(line, r#"{"n":1234,"note":true,"test":"ä,\"x\""}"#);
    }
}
