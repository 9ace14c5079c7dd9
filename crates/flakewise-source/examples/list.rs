//! Lists the tests of a repository, and says on the last line what it took.

#![expect(clippy::print_stdout, reason = "an example prints what it found")]

use std::path::Path;
use std::time::Instant;

use flakewise_source::{list_files, load_file, read_tree};

fn main() {
    let root = std::env::args().nth(1).expect("a folder");
    let root = Path::new(&root);
    let files = list_files(root, &[]);
    let bytes: usize =
        files.iter().filter_map(|file| load_file(root, &file.path).ok()).map(|bytes| bytes.len()).sum();
    let start = Instant::now();
    let read = read_tree(root, &[]);
    let seconds = start.elapsed().as_secs_f64();
    for file in &read {
        for test in &file.tests {
            println!("{}", test.id);
        }
        for issue in &file.issues {
            println!("# {}:{}: {}", file.path, issue.line, issue.text);
        }
    }
    let tests: usize = read.iter().map(|file| file.tests.len()).sum();
    println!("# {tests} tests in {} files, {:.1} MB in {seconds:.2} s", read.len(), bytes as f64 / 1e6);
}
