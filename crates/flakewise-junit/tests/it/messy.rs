//! Input as it should not be: what is understood of it, and what is said about
//! it.

use flakewise_junit::{Dialect, Limits, read, read_bytes};
use flakewise_model::TestIds;

use crate::support::{parse, run, summary};

/// Reads `input` both ways and compares what comes of it.
#[track_caller]
fn check(input: &str, expected: &str) {
    check_bytes(input.as_bytes(), expected);
}

#[track_caller]
fn check_bytes(input: &[u8], expected: &str) {
    let (report, issues) = parse(input);
    let lines = |text: &str| text.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>().join("\n");
    assert_eq!(lines(&summary(&report, &issues)).trim(), lines(expected).trim());
    assert_eq!(
        read(input, &run(), &Limits::default(), &mut TestIds::default()),
        (report, issues),
        "a stream is read alike"
    );
}

#[test]
fn nothing_is_not_a_report() {
    check("", "unknown, incomplete, no tests declared\ninvalid at line 1: no test suite found");
    check(" \n\n ", "unknown, incomplete, no tests declared\ninvalid at line 3: no test suite found");
    check(
        "<html><body>502 Bad Gateway</body></html>",
        "unknown, incomplete, no tests declared\ninvalid at line 1: no test suite found",
    );
    check(
        "Internal error",
        "unknown, incomplete, no tests declared
         suboptimal at line 1: text outside the root element
         invalid at line 1: no test suite found",
    );
}

#[test]
fn an_empty_suite_is_a_report() {
    check("<testsuites/>", "unknown, no tests declared");
    check("<testsuite tests='0'></testsuite>", "unknown, 0 tests declared");
}

#[test]
fn documents_that_are_cut_off_give_what_is_certain() {
    check(
        "<testsuite><testcase name='a'/><testcase name='b'><failure message='no'>trace",
        "unknown, incomplete, no tests declared
         passed    1 junit-xml:::a
         failed    1 junit-xml:::b — no
         invalid at line 1: the document is cut off inside `failure`",
    );
    // Whether `b` would have failed cannot be said.
    check(
        "<testsuite>\n<testcase name='a'/>\n<testcase name='b'>\n",
        "unknown, incomplete, no tests declared
         passed    1 junit-xml:::a
         invalid at line 4: the document is cut off inside `testcase`",
    );
    check(
        "<testsuite><testcase name='a'/><testcase name='b",
        "unknown, incomplete, no tests declared
         passed    1 junit-xml:::a
         invalid at line 1: a tag is not closed
         invalid at line 1: the document is cut off inside `testsuite`",
    );
    check(
        "<testsuite><testcase name='a'><error><![CDATA[trace of",
        "unknown, incomplete, no tests declared
         errored   1 junit-xml:::a — trace of
         invalid at line 1: a tag is not closed
         invalid at line 1: the document is cut off inside `error`",
    );
    check(
        "<testsuite><testcase name='a'/></testsuite><!-- and",
        "unknown, incomplete, no tests declared
         passed    1 junit-xml:::a
         invalid at line 1: a tag is not closed",
    );
}

#[test]
fn end_tags_close_what_is_inside() {
    check(
        "<testsuite>\n<testcase name='a'><failure message='no'>\n</testcase>\n<testcase name='b'/></testsuite>",
        "unknown, incomplete, no tests declared
         failed    1 junit-xml:::a — no
         passed    1 junit-xml:::b
         invalid at line 3: `<failure>` is not closed",
    );
    check(
        "<testsuite><testcase name='a'><testcase name='b'></testcase></testsuite>",
        "unknown, incomplete, no tests declared
         passed    1 junit-xml:::a
         passed    1 junit-xml:::b
         invalid at line 1: `<testcase>` is not closed",
    );
    check(
        "<testsuite></testcase><testcase name='a'/></suite></testsuite>",
        "unknown, incomplete, no tests declared
         passed    1 junit-xml:::a
         invalid at line 1: `</testcase>` closes nothing
         invalid at line 1: `</suite>` closes nothing",
    );
}

#[test]
fn unescaped_characters_stand_for_themselves() {
    check(
        "<testsuite><testcase name='a & b < c'/><testcase name='&nbsp;&copy'/></testsuite>",
        "unknown, no tests declared
         passed    1 junit-xml:::a & b < c
         passed    1 junit-xml:::&nbsp;&copy
         suboptimal at line 1: unescaped `<`
         suboptimal at line 1: unescaped `&`
         suboptimal at line 1: unknown entity `&nbsp;`",
    );
    check(
        "<testsuite><testcase name='a'><failure>1 < 2 && List<String> x = &y; <![CDATA[<z>]]></failure></testcase></testsuite>",
        "unknown, no tests declared
         failed    1 junit-xml:::a — 1 < 2 && List x = &y; <z>
         suboptimal at line 1: unescaped `<`
         suboptimal at line 1: unescaped `&`
         suboptimal at line 1: unknown entity `&y;`",
    );
    check(
        "<testsuite><testcase name='a'><system-out><p>not </b> closed <testcase name='x'/></system-out></testcase></testsuite>",
        "unknown, no tests declared
         passed    1 junit-xml:::a
         suboptimal at line 1: unescaped `<`",
    );
}

#[test]
fn control_characters_are_text() {
    check(
        "<testsuite><testcase name='a'><failure message='\u{1b}[31mred\u{1b}[0m \u{1}&#27;[1m&#0;'/></testcase></testsuite>",
        "unknown, no tests declared\nfailed    1 junit-xml:::a — red",
    );
}

#[test]
fn quotes_that_are_missing_do_not_hide_the_loss() {
    check(
        "<testsuite><testcase name=\"a>\n<testcase name=\"b\"/>\n<testcase name=\"c\"/></testsuite>",
        "unknown, incomplete, no tests declared
         passed    1 junit-xml:::b
         passed    1 junit-xml:::c
         invalid at line 1: a tag is not closed",
    );
    check(
        "<testsuite><testcase name=\"a>\n<testcase name=\"b/>\n<testcase name=\"c\"/></testsuite>",
        "unknown, incomplete, no tests declared
         passed    1 junit-xml:::a>\\u{a}<testcase name=
         passed    1 junit-xml:::c
         suboptimal at line 1: unescaped `<`
         invalid at line 1: the value of `name` has no closing quote
         invalid at line 1: `<testcase …>` is not a valid tag",
    );
    check(
        "<testsuite><testcase name='a' time=\"1/>\n<testcase name='b'/></testsuite>",
        "unknown, incomplete, no tests declared
         passed    1 junit-xml:::b
         invalid at line 1: a tag is not closed",
    );
    check(
        "<testsuite><testcase name=a time='1'/><testcase name/></testsuite>",
        "unknown, incomplete, no tests declared
         passed    1 1s junit-xml:::a
         passed    1 junit-xml:::(unnamed)
         invalid at line 1: `<testcase …>` is not a valid tag
         invalid at line 1: `<testcase …>` is not a valid tag
         suboptimal at line 1: test case without a name",
    );
}

#[test]
fn several_documents_in_one_file_are_all_read() {
    check(
        "<?xml version='1.0'?>\n<testsuite><testcase name='a'/></testsuite>\n\
         <?xml version='1.0'?>\n<testsuite name='pytest'><testcase classname='test_x' name='b'/></testsuite>\nDone.",
        "unknown, no tests declared
         passed    1 junit-xml:::a
         passed    1 pytest:test_x.py::b
         suboptimal at line 4: another document follows in the same file
         suboptimal at line 4: text outside the root element",
    );
}

#[test]
fn merged_reports_keep_their_dialects() {
    check(
        "<testsuites><testsuite name='pytest'><testcase classname='test_x' name='a[1]'/></testsuite>\
         <testsuite name='x/y'><properties><property name='go.version' value='1'/></properties>\
         <testcase classname='x/y' name='TestB/c'/></testsuite></testsuites>",
        "pytest, no tests declared
         passed    1 pytest:test_x.py::a[1]
         passed    1 go:x/y::TestB[c]",
    );
}

#[test]
fn entities_are_never_expanded() {
    check(
        "<!DOCTYPE lolz [<!ENTITY lol 'lol'><!ENTITY lol2 '&lol;&lol;'>]>\n\
         <testsuite><testcase name='&lol2;'><failure>&lol2;</failure></testcase></testsuite>",
        "unknown, no tests declared
         failed    1 junit-xml:::&lol2; — &lol2;
         suboptimal at line 1: document type declaration ignored
         suboptimal at line 2: unknown entity `&lol2;`",
    );
}

#[test]
fn odd_times_are_left_out() {
    check(
        "<testsuite timestamp='long ago'><testcase name='a' time='1,234.5s'/><testcase name='b' time='soon'/>\n\
         <testcase name='c' time='-1'/><testcase name='d' time=''/><testcase name='e'/></testsuite>",
        "unknown, no tests declared
         passed    1 1234.5s junit-xml:::a
         passed    1 junit-xml:::b
         passed    1 junit-xml:::c
         passed    1 junit-xml:::d
         passed    1 junit-xml:::e
         suboptimal at line 1: timestamp `long ago` has an unknown format
         suboptimal at line 1: time `soon` is not a number
         suboptimal at line 2: time `-1` is out of range",
    );
}

#[test]
fn other_encodings_are_understood() {
    let xml = "<testsuite><testcase name='naïve'/></testsuite>";
    let utf16: Vec<u8> = "\u{feff}"
        .chars()
        .chain(xml.chars())
        .collect::<String>()
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let plain = "unknown, no tests declared\npassed    1 junit-xml:::naïve";
    check(&format!("\u{feff}{xml}"), plain);
    check_bytes(&utf16, plain);
    check_bytes(
        b"<?xml version='1.0' encoding='latin1'?><testsuite><testcase name='na\xefve'/></testsuite>",
        plain,
    );
    check_bytes(
        b"<testsuite><testcase name='na\xefve'/></testsuite>",
        "unknown, no tests declared
         passed    1 junit-xml:::na\u{fffd}ve
         suboptimal at line 1: bytes that are not UTF-8",
    );
    check(
        "<?xml version='1.0' encoding='klingon'?><testsuite><testcase name='a'/></testsuite>",
        "unknown, incomplete, no tests declared
         passed    1 junit-xml:::a
         invalid at line 1: unknown encoding `klingon`",
    );
}

#[test]
fn issues_are_bounded() {
    let xml = format!("<testsuite>{}</testsuite>", "<testcase name='a' time='x'/>\n".repeat(500));
    let (report, issues) = parse(xml.as_bytes());
    assert_eq!(report.attempts.len(), 500);
    assert_eq!(issues.len(), 101);
    assert_eq!(issues[100].to_string(), "line 101: more issues, not listed");
    // An issue that is not listed counts all the same.
    let (report, _) = parse(xml.replace("</testsuite>", "").as_bytes());
    assert!(!report.complete);
}

#[test]
fn attempts_are_bounded() {
    let limits = Limits { attempts: 3, ..Limits::default() };
    let xml = format!("<testsuite>{}</testsuite>", "<testcase name='a'/>".repeat(5));
    let (report, issues) = read_bytes(xml.as_bytes(), &run(), &limits, &mut TestIds::default());
    assert_eq!(report.attempts.len(), 3);
    assert!(!report.complete);
    assert_eq!(issues[0].to_string(), "line 1: more than 3 attempts");
    let reruns = "<rerunFailure/>".repeat(9);
    let xml = format!("<testsuite><testcase name='a'><failure/>{reruns}</testcase></testsuite>");
    let (report, _) = read_bytes(xml.as_bytes(), &run(), &limits, &mut TestIds::default());
    assert!(report.attempts.len() <= 3 && !report.complete);
}

#[test]
fn depth_is_bounded() {
    let deep = format!("{}<testcase name='x'/>{}", "<a>".repeat(300), "</a>".repeat(300));
    let (report, issues) = parse(format!("<testsuite>{deep}<testcase name='y'/></testsuite>").as_bytes());
    assert_eq!(report.attempts.len(), 1);
    assert!(!report.complete);
    assert_eq!(issues[0].to_string(), "line 1: elements are nested more than 256 deep");
}

#[test]
fn a_source_that_fails_gives_what_it_gave() {
    struct Failing<'a>(&'a [u8]);
    impl std::io::Read for Failing<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            if self.0.is_empty() {
                Err(std::io::Error::other("the disk is gone"))
            } else {
                self.0.read(buffer)
            }
        }
    }
    let source = std::io::BufReader::new(Failing(b"<testsuite><testcase name='a'/><testcase"));
    let (report, issues) = read(source, &run(), &Limits::default(), &mut TestIds::default());
    assert_eq!(report.attempts.len(), 1);
    assert!(!report.complete);
    assert!(
        issues.iter().any(|issue| issue.to_string().ends_with("failed to read further: the disk is gone"))
    );
}

#[test]
fn skipped_wins_over_failed_and_the_first_failure_counts() {
    check(
        "<testsuite><testcase name='a'><skipped message='may fail'/><failure message='no'/></testcase>\
         <testcase name='b'><failure message='one'/><error message='two'/></testcase>\
         <testcase name='c'><failure message='no'/><skipped/></testcase></testsuite>",
        "unknown, no tests declared
         skipped   1 junit-xml:::a — may fail
         failed    1 junit-xml:::b — one
         skipped   1 junit-xml:::c",
    );
}

#[test]
fn workers_positions_and_starts_are_taken_from_the_suite() {
    let xml = "<testsuite name='pytest' hostname='ci-7' timestamp='2026-11-15T02:00:21+02:00'>\
               <testcase classname='test_a' name='a'/>\
               <testcase classname='test_a' name='b'><failure message=\"worker 'gw3' crashed while running 'x'\"/></testcase>\
               </testsuite>";
    let (report, _) = parse(xml.as_bytes());
    let [first, second] = &report.attempts[..] else { panic!("two attempts") };
    assert_eq!(report.dialect, Dialect::Pytest);
    assert_eq!((first.worker.as_deref(), first.position), (Some("ci-7"), Some(0)));
    assert_eq!((second.worker.as_deref(), second.position), (Some("gw3"), Some(1)));
    assert_eq!(first.started.expect("the suite says when").to_rfc3339(), "2026-11-15T00:00:21+00:00");
    assert_eq!(second.outcome, flakewise_model::Outcome::Crashed);
}
