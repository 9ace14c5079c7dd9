//! Text from outside, cleaned and cut; rates and names as the page shows them.

use flakewise_model::{Conclusion, Foreign, TestId};

/// The longest name of a test or a file, in characters.
const NAME: usize = 400;
/// How much of a message is shown: lines, and characters of each.
const MESSAGE_LINES: usize = 24;
const MESSAGE_LINE: usize = 400;

/// One line of text from outside.
pub(crate) fn line(text: &str) -> String {
    Foreign::new(head(text, NAME)).cut(NAME)
}

/// At least this many characters of a text, if it has them: what is far beyond a
/// cut need not be cleaned. A character is at most four bytes.
pub(crate) fn head(text: &str, characters: usize) -> &str {
    &text[..text.floor_char_boundary(text.len().min(4 * (characters + 1)))]
}

/// The beginning of a message from outside, with its line ends.
pub(crate) fn excerpt(text: &str) -> String {
    let mut lines = text.lines();
    let mut shown: Vec<_> = lines
        .by_ref()
        .take(MESSAGE_LINES)
        .map(|line| Foreign::new(head(line, MESSAGE_LINE)).cut(MESSAGE_LINE))
        .collect();
    if lines.next().is_some() {
        shown.push("…".to_owned());
    }
    shown.join("\n")
}

/// The test as people know it, without its file.
pub(crate) fn test_name(test: &TestId) -> String {
    let mut parts = test.class_path();
    let parameters = test.parameters().map_or_else(String::new, |parameters| format!("[{parameters}]"));
    parts.push(test.name() + &parameters);
    line(&parts.join("::"))
}

/// A conclusion in words.
pub(crate) fn conclusion(conclusion: Conclusion) -> &'static str {
    match conclusion {
        Conclusion::Flaky => "flaky",
        Conclusion::ProbablyFlaky => "probably flaky",
        Conclusion::Broken => "broken",
        Conclusion::Undecided => "undecided",
        Conclusion::NotSeenFailing => "not seen failing",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_keep_their_lines_and_nothing_else() {
        assert_eq!(excerpt("a\n\u{202e}b\u{1b}[0m\r\n\tc"), "a\n\\u{202e}b\\u{1b}[0m\n\\tc");
        let long = excerpt(&"x".repeat(1 << 20));
        assert_eq!(long.chars().count(), MESSAGE_LINE);
        assert!(long.ends_with('…'));
        assert_eq!(excerpt(&"x\n".repeat(1 << 20)).lines().count(), MESSAGE_LINES + 1);
    }

    #[test]
    fn names_have_classes_and_parameters() {
        let test = TestId::builder("pytest", "a.py").class("TestCart").finish("test_total", Some("3-4"));
        assert_eq!(test_name(&test), "TestCart::test_total[3-4]");
    }
}
