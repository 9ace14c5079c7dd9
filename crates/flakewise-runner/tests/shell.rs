//! One test only: trying a line ends every process below this one.

use std::time::Duration;

use flakewise_runner::{LineEnd, run_line};

#[test]
fn a_line_is_ended_with_all_that_it_started() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("pid");
    let variables = [("FILE", file.clone().into_os_string())];
    let end = |line: &str, limit| run_line(line, &variables, limit);
    let code = |end| match end {
        LineEnd::Ended(status) => status.code(),
        other => panic!("{other:?}"),
    };
    let long = Duration::from_mins(10);
    assert_eq!(code(end("test -n \"$FILE\" && cat && exit 3", long)), Some(3));

    // One that leaves the group, and outlives its parent.
    let escape = "setsid sh -c 'echo $$ > \"$FILE.new\"; mv \"$FILE.new\" \"$FILE\"; exec sleep 1000' &";
    let wait = "while ! test -e \"$FILE\"; do sleep 0.01; done";
    let is_gone = || {
        let pid = std::fs::read_to_string(&file).expect("it told");
        std::fs::remove_file(&file).expect("it is there");
        !std::path::Path::new(&format!("/proc/{}", pid.trim())).exists()
    };
    assert_eq!(code(end(&format!("{escape} {wait}"), long)), Some(0));
    assert!(is_gone());

    // It is there once the limit is over, whenever that is.
    let mut limit = Duration::from_millis(200);
    while !file.exists() {
        assert_eq!(end(&format!("{escape} {wait}; sleep 1000"), limit), LineEnd::TimedOut);
        limit *= 2;
    }
    assert!(is_gone());
}
