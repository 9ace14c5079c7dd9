//! Text that Flakewise did not write.

use std::fmt::Write as _;

/// Text from a test, a report, a repository, a store or a CI system: the name of
/// a test or a file, the message of a failure, a git reference.
///
/// It has no `Display`: every way to print it replaces what a terminal, a log
/// viewer or a CI system would act on by an escape. That is
///
/// - control characters, which move a cursor, set colours or end a line;
/// - characters that are invisible or change the direction of reading;
/// - commands to a CI system: GitHub, Azure and others take `##[group]` and
///   `##vso[…]` anywhere in a line, and GitHub `::error::` where a line begins,
///   after spaces.
///
/// A renderer with a syntax of its own, such as Markdown, escapes that as well.
#[derive(Clone, Copy)]
pub struct Foreign<'a>(&'a str);

impl<'a> Foreign<'a> {
    /// Text from outside.
    pub fn new(text: &'a str) -> Self {
        Self(text)
    }

    /// As one line, or a part of one. Applying it twice changes nothing more.
    pub fn line(self) -> String {
        let colon = self.0.len() - self.0.trim_start().len();
        self.escaped(|out, at, character| {
            if acts(character) || (at == colon && character == ':') || begins_command(&self.0[at..]) {
                let _ = write!(out, "{}", escape(character));
            } else {
                out.push(character);
            }
        })
    }

    /// As one line of at most this many characters.
    pub fn cut(self, characters: usize) -> String {
        let mut line = self.line();
        if let Some((end, _)) = line.char_indices().nth(characters) {
            let last = line[..end].char_indices().next_back().map_or(0, |(at, _)| at);
            line.truncate(last);
            line.push('…');
        }
        line
    }

    /// A JSON document that holds text from outside. Its strings keep their
    /// values. Line ends outside of strings are layout and stay.
    pub fn json(self) -> String {
        self.escaped(|out, at, character| {
            if (acts(character) && character != '\n') || begins_command(&self.0[at..]) {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            } else {
                out.push(character);
            }
        })
    }

    /// As the text or an attribute of an XML element. Characters that XML does not
    /// allow must not be in it.
    pub fn xml(self) -> String {
        self.escaped(|out, at, character| match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            _ if acts(character) || begins_command(&self.0[at..]) => {
                let _ = write!(out, "&#{};", u32::from(character));
            }
            _ => out.push(character),
        })
    }

    fn escaped(self, write: impl Fn(&mut String, usize, char)) -> String {
        let mut out = String::with_capacity(self.0.len());
        for (at, character) in self.0.char_indices() {
            write(&mut out, at, character);
        }
        out
    }
}

/// `\n`, `\u{1b}`, and `\u{23}` for characters that Rust would not escape.
fn escape(character: char) -> String {
    if character.is_ascii_punctuation() {
        character.escape_unicode().to_string()
    } else {
        character.escape_default().to_string()
    }
}

/// Whether a terminal or a log viewer acts on a character instead of showing it:
/// control characters, ends of lines and paragraphs, and what Unicode calls
/// default-ignorable, except the selectors that emoji are written with.
fn acts(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether text begins with `##[`, `##vso[` or the like.
fn begins_command(text: &str) -> bool {
    text.strip_prefix("##").is_some_and(|rest| {
        rest.trim_start_matches(|letter: char| letter.is_ascii_alphabetic()).starts_with('[')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> String {
        Foreign::new(text).line()
    }

    #[test]
    fn nothing_acts_on_a_terminal() {
        assert_eq!(line("a\u{1b}[31m\r\nb\u{9b}2J é ❤\u{fe0f}"), "a\\u{1b}[31m\\r\\nb\\u{9b}2J é ❤\u{fe0f}");
        assert_eq!(
            line("\u{202e}\u{2066}\u{61c}\u{200b}\u{2029}"),
            "\\u{202e}\\u{2066}\\u{61c}\\u{200b}\\u{2029}"
        );
    }

    #[test]
    fn nothing_is_a_command_to_a_ci_system() {
        assert_eq!(line("a ##[error]b"), "a \\u{23}#[error]b");
        assert_eq!(line("###vso[task.setvariable]"), "#\\u{23}#vso[task.setvariable]");
        assert_eq!(line("  ::add-mask::a"), "  \\u{3a}:add-mask::a");
        assert_eq!(line("tests/a.py::test_b ## c [1]"), "tests/a.py::test_b ## c [1]");
    }

    #[test]
    fn cuts_are_marked() {
        assert_eq!(Foreign::new("äöü").cut(3), "äöü");
        assert_eq!(Foreign::new("äöüß").cut(3), "äö…");
    }

    #[test]
    fn documents_keep_their_values() {
        assert_eq!(
            Foreign::new("[\n\"##[a]\u{202e}\u{e0001}\"]").json(),
            "[\n\"\\u0023#[a]\\u202e\\udb40\\udc01\"]"
        );
        assert_eq!(Foreign::new("<\n\u{85}##[a]").xml(), "&lt;&#10;&#133;&#35;#[a]");
    }
}
