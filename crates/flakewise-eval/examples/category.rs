//! Says how well the kind of a flaky test is told, given a folder with
//! `flakylens.jsonl.gz` and `idoft.jsonl.gz`.

#![expect(clippy::print_stdout, reason = "an example prints what it found")]

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use flakewise_eval::{CategoryRecord, evaluate_categories};
use flakewise_predict::Category;
use flate2::read::GzDecoder;
use serde_json::Value;

fn main() {
    let folder = PathBuf::from(std::env::args().nth(1).expect("a folder of data sets"));
    let records = read(&folder.join("flakylens.jsonl.gz"), flakylens);
    let transfer = read(&folder.join("idoft.jsonl.gz"), idoft);
    let seeds: Vec<u64> = (0..10).collect();
    println!("{} tests of FlakyLens, {} of IDoFT", records.len(), transfer.len());
    print!("{}", evaluate_categories(&records, &transfer, &seeds));
}

fn read(path: &Path, kind: fn(&Value) -> Option<Category>) -> Vec<CategoryRecord> {
    let mut text = String::new();
    GzDecoder::new(File::open(path).expect("the data is there"))
        .read_to_string(&mut text)
        .expect("it is text");
    let rows = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("each line is JSON"));
    rows.filter_map(|row| {
        Some(CategoryRecord {
            category: kind(&row)?,
            project: row["project"].as_str()?.to_owned(),
            group: u32::try_from(row["group"].as_u64().unwrap_or(0)).ok()?,
            source: row["source"].as_str()?.to_owned(),
        })
    })
    .collect()
}

fn flakylens(row: &Value) -> Option<Category> {
    Category::ALL.get(usize::try_from(row["label"].as_u64()?).ok()?).copied()
}

/// `IDoFT`'s codes as far as they mean one kind.
fn idoft(row: &Value) -> Option<Category> {
    row["label"].as_u64().filter(|&label| label == 1)?;
    let codes: Vec<&str> = row["categories"].as_array()?.iter().filter_map(Value::as_str).collect();
    let has = |some: &[&str]| codes.iter().any(|code| some.contains(code));
    match (has(&["ID"]), has(&["OD", "OD-Vic", "OD-Brit"]), has(&["TD", "NOD", "NDOD"])) {
        (true, false, false) => Some(Category::UnorderedCollection),
        (false, true, false) => Some(Category::OrderDependent),
        (false, false, true) => Some(Category::AsyncWait),
        _ => None,
    }
}
