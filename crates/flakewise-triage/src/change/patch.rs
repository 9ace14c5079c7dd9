//! The lines that changed, from the patch that git prints.
//!
//! A patch is read as a stream: neither its length nor the length of a line
//! matters for memory. Content is distinguished from headers by counting the lines that
//! each hunk announces, as content may look like any header.

use std::io::{self, BufRead};

use super::LineRange;

/// No header is longer: names have at most 4096 bytes, each written as four
/// characters at worst.
const LONGEST_HEADER: usize = 1 << 15;

/// With more ranges than this in one file, the last one grows to hold the rest.
pub(super) const MOST_RANGES: usize = 4096;

/// Reads a patch without context and hands over each range with its file's
/// path in the new version, and whether it was only inserted.
pub(super) fn read(input: &mut dyn BufRead, mut found: impl FnMut(&[u8], LineRange, bool)) -> io::Result<()> {
    let mut line = Vec::new();
    let mut path = None;
    let (mut removed, mut added) = (0_u64, 0_u64);
    while read_line(input, &mut line)? {
        if line.starts_with(b"diff --git ") {
            path = None;
            (removed, added) = (0, 0);
        } else if removed > 0 || added > 0 {
            match line.first() {
                Some(b'-') => removed = removed.saturating_sub(1),
                Some(b'+') => added = added.saturating_sub(1),
                Some(b'\\') => {}
                // Context, which was not requested.
                _ => (removed, added) = (removed.saturating_sub(1), added.saturating_sub(1)),
            }
        } else if let Some(name) = line.strip_prefix(b"+++ ") {
            path = self::path(name, b"b/");
        } else if let Some(hunk) = hunk(&line) {
            (removed, added) = (hunk.removed, hunk.added);
            if let Some(path) = &path {
                found(path, hunk.lines(), hunk.removed == 0 && hunk.added > 0);
            }
        }
    }
    Ok(())
}

/// Adds a range to those of a file.
pub(super) fn push(ranges: &mut Vec<LineRange>, range: LineRange) {
    let count = ranges.len();
    match ranges.last_mut() {
        Some(last) if range.first <= last.last.saturating_add(1) || count >= MOST_RANGES => {
            last.first = last.first.min(range.first);
            last.last = last.last.max(range.last);
        }
        _ => ranges.push(range),
    }
}

/// The next line without its end, cut where no header can be so long.
pub(crate) fn read_line(input: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let mut any = false;
    loop {
        let buffer = input.fill_buf()?;
        if buffer.is_empty() {
            return Ok(any);
        }
        any = true;
        let end = buffer.iter().position(|&byte| byte == b'\n');
        let part = &buffer[..end.unwrap_or(buffer.len())];
        line.extend(&part[..part.len().min(LONGEST_HEADER - line.len())]);
        let used = part.len() + usize::from(end.is_some());
        input.consume(used);
        if end.is_some() {
            return Ok(true);
        }
    }
}

/// What a hunk says of itself. Where there are no lines, the line before is named.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hunk {
    pub(crate) old_start: u64,
    pub(crate) removed: u64,
    pub(crate) start: u64,
    pub(crate) added: u64,
}

impl Hunk {
    fn lines(&self) -> LineRange {
        let (first, last) = match self.added {
            // Lines were removed after `start`.
            0 => (self.start, self.start + 1),
            count => (self.start, self.start.saturating_add(count - 1)),
        };
        let number = |line: u64| u32::try_from(line.max(1)).unwrap_or(u32::MAX);
        LineRange { first: number(first), last: number(last) }
    }
}

/// `@@ -5,2 +4,0 @@ def something`
pub(crate) fn hunk(line: &[u8]) -> Option<Hunk> {
    let numbers = line.strip_prefix(b"@@ -")?;
    let end = numbers.windows(3).position(|window| window == b" @@")?;
    let (old, new) = std::str::from_utf8(&numbers[..end]).ok()?.split_once(" +")?;
    let pair = |text: &str| -> Option<(u64, u64)> {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        // Counts of four thousand million lines are not git's.
        Some((start.parse::<u32>().ok()?.into(), count.parse::<u32>().ok()?.into()))
    };
    let ((old_start, removed), (start, added)) = (pair(old)?, pair(new)?);
    Some(Hunk { old_start, removed, start, added })
}

/// The path in `b/some/path`; none for a removed file.
pub(crate) fn path(text: &[u8], prefix: &[u8]) -> Option<Vec<u8>> {
    name(text)?.strip_prefix(prefix).map(<[u8]>::to_vec)
}

/// A name, which may be quoted.
pub(crate) fn name(text: &[u8]) -> Option<Vec<u8>> {
    if let Some(quoted) = text.strip_prefix(b"\"") {
        return unquote(quoted);
    }
    // A tab follows where the name has blanks.
    Some(text.strip_suffix(b"\t").unwrap_or(text).to_vec())
}

/// Undoes quoting as in C, up to the closing quote.
fn unquote(quoted: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = quoted.iter().copied();
    let mut text = Vec::new();
    loop {
        match bytes.next()? {
            b'"' => return Some(text),
            b'\\' => text.push(match bytes.next()? {
                b'a' => 7,
                b'b' => 8,
                b't' => b'\t',
                b'n' => b'\n',
                b'v' => 11,
                b'f' => 12,
                b'r' => b'\r',
                first @ b'0'..=b'3' => {
                    let mut digit = || bytes.next().filter(|byte| (b'0'..=b'7').contains(byte));
                    ((first - b'0') << 6) + ((digit()? - b'0') << 3) + (digit()? - b'0')
                }
                other => other,
            }),
            other => text.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(patch: &str) -> Vec<(String, u32, u32)> {
        let mut all = Vec::new();
        read(&mut patch.as_bytes(), |path, range, _| {
            all.push((String::from_utf8_lossy(path).into_owned(), range.first, range.last));
        })
        .expect("memory can be read");
        all
    }

    fn patch(name: &str, hunks: &str) -> String {
        format!("diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ {name}\n{hunks}")
    }

    #[test]
    fn hunks_name_the_lines_of_the_new_version() {
        let found = ranges(&patch("b/x", "@@ -1 +1,2 @@ def f():\n-a\n+b\n+c\n@@ -9,0 +11 @@\n+d\n"));
        assert_eq!(found, [("x".into(), 1, 2), ("x".into(), 11, 11)]);
    }

    #[test]
    fn removed_lines_count_as_the_lines_around() {
        assert_eq!(ranges(&patch("b/x", "@@ -5,2 +4,0 @@\n-a\n-b\n")), [("x".into(), 4, 5)]);
        assert_eq!(ranges(&patch("b/x", "@@ -1,2 +0,0 @@\n-a\n-b\n")), [("x".into(), 1, 1)]);
    }

    #[test]
    fn content_that_looks_like_a_header_is_content() {
        let hunks = "@@ -1,2 +1,3 @@\n--- a/z\n-@@ -1 +1 @@\n+++ b/y\n+@@ -7 +7 @@\n+diff --git a/q b/q\n\\ No newline at end of file\n@@ -20 +21 @@\n-a\n+b\n";
        assert_eq!(ranges(&patch("b/x", hunks)), [("x".into(), 1, 3), ("x".into(), 21, 21)]);
    }

    #[test]
    fn names_are_read_with_quotes_blanks_and_line_ends() {
        let hunk = "@@ -1 +1 @@\n-a\n+b\n";
        assert_eq!(ranges(&patch("b/with blank\t", hunk))[0].0, "with blank");
        assert_eq!(ranges(&patch(r#""b/a\n\"b\"\\\t\303\251""#, hunk))[0].0, "a\n\"b\"\\\té");
        assert_eq!(ranges(&patch("b/-x", hunk))[0].0, "-x");
    }

    #[test]
    fn removed_files_and_nonsense_give_no_lines() {
        assert_eq!(ranges(&patch("/dev/null", "@@ -1 +0,0 @@\n-a\n")), []);
        assert_eq!(ranges("Binary files a/x and b/x differ\n* Unmerged path y\n@@ -1 +1 @@\n"), []);
        assert_eq!(ranges(&patch("b/x", "@@ -a,b +c @@\n@@ -1,99999999999 +1 @@\n@@ -1\n")), []);
        assert_eq!(ranges(&patch("\"b/never closed\\", "@@ -1 +1 @@\n")), []);
    }

    #[test]
    fn a_line_of_any_length_takes_little_memory() {
        let long = "x".repeat(10 * LONGEST_HEADER);
        let found = ranges(&patch("b/x", &format!("@@ -1 +1 @@\n-{long}\n+{long}\n@@ -3 +3 @@\n-a\n+b\n")));
        assert_eq!(found, [("x".into(), 1, 1), ("x".into(), 3, 3)]);
        let mut line = Vec::new();
        assert!(read_line(&mut long.as_bytes(), &mut line).expect("memory can be read"));
        assert_eq!(line.len(), LONGEST_HEADER);
    }

    #[test]
    fn beyond_the_limit_the_last_range_holds_all_that_follow() {
        let mut ranges = Vec::new();
        for line in (1..30_000).step_by(3) {
            push(&mut ranges, LineRange { first: line, last: line });
        }
        assert_eq!(ranges.len(), MOST_RANGES);
        assert_eq!(ranges.last().map(|range| range.last), Some(29_998));
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_stop_the_reader(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..400)) {
            let patch = [b"diff --git a/x b/x\n+++ b/x\n@@ -1,3 +1,2 @@\n".as_slice(), &bytes].concat();
            read(&mut patch.as_slice(), |_, range, _| assert!(1 <= range.first && range.first <= range.last))
                .expect("memory can be read");
        }
    }
}
