//! Reports that real runners wrote.

use std::fmt::Write as _;

use crate::support::{files, parse, reports, summary};

/// One snapshot for each runner, reviewed by hand against the suites that the
/// reports are made from.
#[test]
fn real_reports_are_understood() {
    let directory = reports();
    let mut runners: Vec<_> = std::fs::read_dir(&directory)
        .expect("the reports are there")
        .map(|entry| entry.expect("the entry can be read").path())
        .filter(|path| path.is_dir())
        .collect();
    runners.sort();
    for runner in runners {
        let mut text = String::new();
        for file in files(&runner).iter().filter(|file| file.extension().is_some_and(|end| end == "xml")) {
            let name = file.strip_prefix(&runner).expect("the file is below the runner's directory");
            let (report, issues) = parse(&std::fs::read(file).expect("the report can be read"));
            write!(text, "## {}\n{}\n", name.display(), summary(&report, &issues))
                .expect("writing to a String succeeds");
        }
        let name = runner.file_name().expect("it has a name").to_string_lossy();
        insta::assert_snapshot!(&*name, text);
    }
}
