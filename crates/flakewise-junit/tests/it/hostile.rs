//! Input that is meant to do harm, in sizes fit for a test. `examples/hostile`
//! has the large ones.

use std::io::{BufReader, Read};

use flakewise_junit::{Limits, read};
use flakewise_model::TestIds;

use crate::support::run;

const LARGE: u64 = 32 * 1024 * 1024;
/// For what is many elements rather than one long one, which takes its time
/// without optimisation.
const MANY: u64 = 4 * 1024 * 1024;

/// `before`, then `filler` again and again up to a size, then `after`.
fn source(size: u64, [before, filler, after]: [&str; 3]) -> impl Read {
    let block = filler.repeat(64 * 1024 / filler.len()).into_bytes();
    let length = size / block.len() as u64 * block.len() as u64;
    let filling = Repeat { block, at: 0 }.take(length);
    let owned = |text: &str| std::io::Cursor::new(text.as_bytes().to_vec());
    owned(before).chain(filling).chain(owned(after))
}

struct Repeat {
    block: Vec<u8>,
    at: usize,
}

impl Read for Repeat {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = buffer.len().min(self.block.len() - self.at);
        buffer[..count].copy_from_slice(&self.block[self.at..self.at + count]);
        self.at = (self.at + count) % self.block.len();
        Ok(count)
    }
}

#[track_caller]
fn check(size: u64, pieces: [&str; 3], attempts: usize, complete: bool, expected: &[&str]) {
    let (report, issues) =
        read(BufReader::new(source(size, pieces)), &run(), &Limits::default(), &mut TestIds::default());
    let issues: Vec<_> = issues.iter().map(|issue| issue.kind.to_string()).collect();
    assert_eq!(issues, expected);
    assert_eq!(report.attempts.len(), attempts);
    assert_eq!(report.complete, complete);
}

/// Puts the pieces between two test cases that must not be lost.
#[track_caller]
fn check_between([start, filler, end]: [&str; 3], attempts: usize, complete: bool, expected: &[&str]) {
    let before = format!("<testsuite><testcase name='a'/>{start}");
    let after = format!("{end}<testcase name='b'/></testsuite>");
    check(LARGE, [&before, filler, &after], attempts, complete, expected);
}

#[test]
fn long_texts_are_passed_over() {
    check_between(["<system-out>", "output ", "</system-out>"], 2, true, &[]);
    check_between(["<system-out><![CDATA[", "a]] >", "]]></system-out>"], 2, true, &[]);
    check_between(["<!--", "a- -", "-->"], 2, true, &[]);
    check_between(["<?pi ", "a?", "?>"], 2, true, &[]);
    check_between(["<testcase name='c'><failure>", "a trace\n", "</failure></testcase>"], 3, true, &[]);
}

#[test]
fn long_tags_lose_their_ends_only() {
    check_between(
        ["<testcase name='c'><failure message='", "long", "' type='T'/></testcase>"],
        3,
        true,
        &["an attribute of more than 65536 bytes"],
    );
    let long_tag = "a tag of more than 1048576 bytes";
    check_between(["<testcase name='c'", " a='b'", " time='1'/>"], 3, true, &[long_tag]);
    check_between(["<", "long", "/>"], 2, true, &[long_tag]);
    check_between(
        ["<testcase name='", "<x/>", "'/>"],
        3,
        false,
        &["the value of `…` has no closing quote", "an attribute of more than 65536 bytes", "unescaped `<`"],
    );
}

#[test]
fn laughs_are_not_laughed() {
    check(
        LARGE,
        [
            "<!DOCTYPE lolz [<!ENTITY lol 'lol'>",
            "<!ENTITY lol2 '&lol;&lol;&lol;'>",
            "]><testsuite><testcase name='&lol2;'/></testsuite>",
        ],
        1,
        true,
        &["document type declaration ignored", "unknown entity `&lol2;`"],
    );
}

#[test]
fn nesting_without_end_is_bounded() {
    check(
        MANY,
        ["<testsuite>", "<a>", ""],
        0,
        false,
        &["elements are nested more than 256 deep", "the document is cut off inside `testsuite`"],
    );
}

#[test]
fn what_never_closes_costs_no_more_than_its_length() {
    let cut_off = "the document is cut off inside `testsuite`";
    check(MANY, ["<testsuite>", "<a \"' ", ""], 0, false, &["a tag is not closed", cut_off]);
    check(MANY, ["<testsuite>", "< & <! ", ""], 0, false, &["unescaped `<`", "unescaped `&`", cut_off]);
}
