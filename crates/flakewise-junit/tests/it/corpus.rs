//! The fuzzer's corpus, replayed on every build.

use std::path::Path;

use crate::support::files;

#[path = "../../fuzz/check.rs"]
mod check;

#[test]
fn what_the_fuzzer_starts_from_and_found_holds() {
    let corpus = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/read"));
    assert!(corpus.len() > 20, "the corpus is there");
    let mut size = 0;
    for file in corpus {
        let bytes = std::fs::read(&file).expect("the file can be read");
        size += bytes.len();
        check::check(&bytes);
    }
    assert!(size < 300 * 1024, "the corpus stays small, but has {size} bytes");
}
