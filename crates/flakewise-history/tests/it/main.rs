//! The history as its users see it, on real tables in scratch folders.

mod aliases;
mod append;
mod expire;
mod faults;
mod formats;
mod maintain;
mod overview;
mod past;
mod renames;
mod report;
mod rollup;
mod show;
mod verdicts;

use flakewise_history::{History, StoreUrl};
use tempfile::TempDir;

/// An empty history in a folder of its own.
fn scratch() -> (TempDir, History) {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let history = open(&folder);
    (folder, history)
}

fn open(folder: &TempDir) -> History {
    let store = StoreUrl::parse(folder.path().to_str().expect("a UTF-8 path")).expect("a folder is a store");
    History::new(store, "acme/shop")
}

/// The answer to a query that gives one whole number.
fn count(history: &History, query: &str) -> i64 {
    use flakewise_model::Value;
    let rows = history.sql(query, 10).expect("the query is valid");
    match rows.rows.as_slice() {
        [row] => match row.as_slice() {
            [Value::Integer(number)] => *number,
            other => panic!("not one number: {other:?}"),
        },
        other => panic!("not one row: {other:?}"),
    }
}
