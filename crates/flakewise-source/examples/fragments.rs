//! Reads labelled tests as JSON lines with `source`, `class`, `method` and
//! perhaps `class_source`, and says what it took and what was found.

#![expect(clippy::print_stdout, reason = "an example prints what it found")]

use std::time::Instant;

use flakewise_source::{Language, read_fragment};
use serde_json::Value;

fn main() {
    let path = std::env::args().nth(1).expect("a file of JSON lines");
    let text = std::fs::read_to_string(path).expect("it can be read");
    let rows: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect();
    let field = |row: &'_ Value, name: &str| row[name].as_str().map(str::to_owned);
    let rows: Vec<_> = rows
        .iter()
        .map(|row| {
            (
                field(row, "source").unwrap_or_default(),
                field(row, "class_source"),
                field(row, "class").unwrap_or_default(),
                field(row, "method").unwrap_or_default(),
            )
        })
        .collect();
    let bytes: usize = rows.iter().map(|row| row.0.len() + row.1.as_ref().map_or(0, String::len)).sum();
    let start = Instant::now();
    let (mut tokens, mut context, mut helpers, mut bare, mut assertions) = (0, 0, 0, 0, 0);
    for (source, class_source, class, method) in &rows {
        let test = read_fragment(Language::Java, source, class_source.as_deref(), class, method);
        tokens += test.body.tokens.len();
        context += test.context.len();
        helpers += test.helpers.len();
        assertions += test.metrics.assertions;
        bare += usize::from(test.context.is_empty());
    }
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{} tests, {:.1} MB in {seconds:.2} s: {:.1} MB/s",
        rows.len(),
        bytes as f64 / 1e6,
        bytes as f64 / 1e6 / seconds
    );
    println!(
        "{tokens} words, {assertions} assertions, {context} pieces of context, {helpers} helpers, \
         {bare} without context"
    );
}
