//! Patterns over words, and how all of them are found in one pass.
//!
//! A pattern is a row of places with spaces between them, each for one word of
//! the source. `a|b` is either. Within a word `*` is anything, or nothing, and
//! `+` is something: after a letter it begins a new part of the name, as in
//! `onClick` for `on+`. A small letter after one of these stands for both, so
//! `*timeout*` is in `readTimeoutMillis` too. `<text>`, `<number>`, `<word>`,
//! `<Type>` and `<name>` are kinds of words, the last two distinguished by their
//! first letter. `!a` is any word but that. `..;` and `..}` are some words without that one among them.

use std::collections::HashMap;

use flakewise_source::{Piece, Token, TokenKind};

/// How many words `..;` may stand for, about a line.
const STATEMENT: usize = 25;
/// How many words `..}` may stand for, a few lines.
const BLOCK: usize = 80;

/// All patterns of all families, ready to be found.
pub(super) struct Matcher {
    sequences: Vec<Sequence>,
    /// Sequences by a word that they need.
    exact: HashMap<&'static str, Vec<usize>>,
    /// Parts of words by how they begin, as [`bucket`] tells.
    parts: Vec<Vec<Part>>,
}

/// A part of a word, and what a word that has it must satisfy.
struct Part {
    text: String,
    wildcard: Wildcard,
    sequence: usize,
}

/// A pattern around its most telling place.
struct Sequence {
    family: usize,
    before: Vec<Place>,
    after: Vec<Place>,
}

/// What may stand in a place.
enum Place {
    OneOf(Vec<WordPattern>),
    Text,
    Number,
    Word,
    Type,
    Name,
    Not(&'static str),
    Without { word: &'static str, at_most: usize },
}

/// A word, or the kinds of words that share parts.
enum WordPattern {
    Exact(&'static str),
    Parts { forms: Vec<String>, wildcard: Wildcard },
}

/// What stands around a part of a word.
#[derive(Clone, Copy)]
struct Wildcard {
    before: Around,
    /// A second part, after anything.
    ending: &'static str,
    after: Around,
}

#[derive(Clone, Copy, PartialEq)]
enum Around {
    Nothing,
    Anything,
    Something,
}

impl Matcher {
    pub(super) fn new(families: impl Iterator<Item = &'static [&'static str]>) -> Self {
        let mut sequences = Vec::new();
        let mut exact: HashMap<&'static str, Vec<usize>> = HashMap::new();
        let mut parts: Vec<Vec<Part>> = (0..BUCKETS).map(|_| Vec::new()).collect();
        for (family, patterns) in families.enumerate() {
            for pattern in patterns {
                let mut places: Vec<Place> = pattern.split(' ').map(Place::parse).collect();
                let gap = places.iter().position(|place| matches!(place, Place::Without { .. }));
                let lengths = pattern.split(' ').map(str::len).take(gap.unwrap_or(places.len()));
                let (key, _) = lengths
                    .enumerate()
                    .filter(|&(place, _)| matches!(places[place], Place::OneOf(_)))
                    .max_by_key(|&(_, length)| length)
                    .expect("a pattern names a word before its first gap");
                let after = places.split_off(key + 1);
                let Some(Place::OneOf(words)) = places.pop() else { unreachable!("the key names words") };
                for word in words {
                    match word {
                        WordPattern::Exact(word) => exact.entry(word).or_default().push(sequences.len()),
                        WordPattern::Parts { forms, wildcard } => {
                            for text in forms {
                                let bytes = text.as_bytes();
                                let sequence = sequences.len();
                                parts[bucket(bytes[0], bytes[1])].push(Part { text, wildcard, sequence });
                            }
                        }
                    }
                }
                sequences.push(Sequence { family, before: places, after });
            }
        }
        Self { sequences, exact, parts }
    }

    /// Gives every match as a family and the word that told it, in any order
    /// and perhaps several times.
    pub(super) fn matches(&self, piece: &Piece) -> Vec<(usize, usize)> {
        let words = Words { piece };
        let mut matches = Vec::new();
        for (index, token) in piece.tokens.iter().enumerate() {
            if token.kind == TokenKind::Text {
                continue;
            }
            let word = words.text(token);
            let mut try_sequence = |sequence: usize| {
                let sequence = &self.sequences[sequence];
                if sequence.matches(&words, index) {
                    matches.push((sequence.family, index));
                }
            };
            self.exact.get(word).into_iter().flatten().copied().for_each(&mut try_sequence);
            if matches!(token.kind, TokenKind::Operator | TokenKind::Number) {
                continue;
            }
            for (start, pair) in word.as_bytes().windows(2).enumerate() {
                for part in &self.parts[bucket(pair[0], pair[1])] {
                    if let Some(rest) = word.as_bytes()[start..].strip_prefix(part.text.as_bytes())
                        && part.wildcard.matches(&word[..start], &word[word.len() - rest.len()..])
                    {
                        try_sequence(part.sequence);
                    }
                }
            }
        }
        matches
    }
}

/// How many beginnings are distinguished.
const BUCKETS: usize = 1 << 12;

/// Beginnings that share a bucket are rare, and parts are compared anyway.
fn bucket(first: u8, second: u8) -> usize {
    usize::from(first & 63) << 6 | usize::from(second & 63)
}

impl Sequence {
    fn matches(&self, words: &Words<'_>, key: usize) -> bool {
        let Some(first) = key.checked_sub(self.before.len()) else { return false };
        self.before.iter().enumerate().all(|(place, pattern)| pattern.matches(words, first + place))
            && follow(&self.after, words, key + 1)
    }
}

/// Whether the places fit the words from `next` on.
fn follow(places: &[Place], words: &Words<'_>, next: usize) -> bool {
    let Some((place, rest)) = places.split_first() else { return true };
    let Place::Without { word, at_most } = place else {
        return place.matches(words, next) && follow(rest, words, next + 1);
    };
    for start in next..=next + at_most {
        if follow(rest, words, start) {
            return true;
        }
        if words.get(start).is_none_or(|(_, text)| text == *word) {
            return false;
        }
    }
    false
}

impl Place {
    fn parse(place: &'static str) -> Self {
        match place {
            "<text>" => Self::Text,
            "<number>" => Self::Number,
            "<word>" => Self::Word,
            "<Type>" => Self::Type,
            "<name>" => Self::Name,
            "..;" => Self::Without { word: ";", at_most: STATEMENT },
            "..}" => Self::Without { word: "}", at_most: BLOCK },
            _ if place.starts_with('!') => Self::Not(&place[1..]),
            _ => Self::OneOf(place.split('|').map(WordPattern::parse).collect()),
        }
    }

    fn matches(&self, words: &Words<'_>, index: usize) -> bool {
        let Some((kind, text)) = words.get(index) else { return false };
        let is_word = matches!(kind, TokenKind::Identifier | TokenKind::Type | TokenKind::Keyword);
        let capital = text.starts_with(|first: char| first.is_ascii_uppercase());
        match self {
            Self::OneOf(patterns) => kind != TokenKind::Text && patterns.iter().any(|one| one.matches(text)),
            Self::Text => kind == TokenKind::Text,
            Self::Number => kind == TokenKind::Number,
            Self::Word => is_word,
            Self::Type => is_word && capital,
            Self::Name => is_word && !capital,
            Self::Not(word) => text != *word,
            Self::Without { .. } => unreachable!("it stands for many words"),
        }
    }
}

impl WordPattern {
    fn parse(word: &'static str) -> Self {
        // Operators such as `+` stand for themselves.
        if !word.contains(char::is_alphanumeric) || !word.contains(['*', '+']) {
            return Self::Exact(word);
        }
        let (before, word) = match word.as_bytes()[0] {
            b'*' => (Around::Anything, &word[1..]),
            b'+' => (Around::Something, &word[1..]),
            _ => (Around::Nothing, word),
        };
        let (after, word) = if let Some(word) = word.strip_suffix('*') {
            (Around::Anything, word)
        } else if let Some(word) = word.strip_suffix('+') {
            (Around::Something, word)
        } else {
            (Around::Nothing, word)
        };
        let (part, ending) = word.split_once('*').unwrap_or((word, ""));
        let mut forms = vec![part.to_owned()];
        let first = part.chars().next().expect("a part has letters");
        if before != Around::Nothing && first.is_ascii_lowercase() {
            forms.push(format!("{}{}", first.to_ascii_uppercase(), &part[1..]));
        }
        let after = if ending.is_empty() && word.contains('*') { Around::Anything } else { after };
        Self::Parts { forms, wildcard: Wildcard { before, ending, after } }
    }

    fn matches(&self, text: &str) -> bool {
        match self {
            Self::Exact(word) => text == *word,
            Self::Parts { forms, wildcard } => forms.iter().any(|form| {
                text.match_indices(form.as_str())
                    .any(|(start, _)| wildcard.matches(&text[..start], &text[start + form.len()..]))
            }),
        }
    }
}

impl Wildcard {
    fn matches(self, before: &str, after: &str) -> bool {
        let before_fits = match self.before {
            Around::Nothing => before.is_empty(),
            Around::Anything => true,
            Around::Something => !before.is_empty(),
        };
        let after_fits = match self.after {
            Around::Nothing => after.ends_with(self.ending) && (!self.ending.is_empty() || after.is_empty()),
            Around::Anything => after.contains(self.ending),
            Around::Something => after.starts_with(|next: char| next.is_ascii_uppercase() || next == '_'),
        };
        before_fits && after_fits
    }
}

/// The words of a piece.
struct Words<'a> {
    piece: &'a Piece,
}

impl<'a> Words<'a> {
    fn get(&self, index: usize) -> Option<(TokenKind, &'a str)> {
        self.piece.tokens.get(index).map(|token| (token.kind, self.text(token)))
    }

    fn text(&self, token: &Token) -> &'a str {
        self.piece.word(token)
    }
}

#[cfg(test)]
mod tests {
    use flakewise_source::{Language, read_fragment};

    use super::*;

    fn check(pattern: &'static str, fits: &[&str], fits_not: &[&str]) {
        let patterns: &'static [&'static str] = Vec::leak(vec![pattern]);
        let matcher = Matcher::new(std::iter::once(patterns));
        for (sources, expected) in [(fits, true), (fits_not, false)] {
            for source in sources {
                let source = format!("void m() {{ {source}; }}");
                let test = read_fragment(Language::Java, &source, None, "C", "m");
                assert_eq!(!matcher.matches(&test.body).is_empty(), expected, "`{pattern}` in `{source}`");
            }
        }
    }

    #[test]
    fn stars_and_pluses_are_parts_of_words() {
        check("ab", &["ab"], &["abc", "xab", "aB", "\"ab\""]);
        check("ab*", &["ab", "abc"], &["xab", "Ab"]);
        check("*ab", &["ab", "xab", "xAb"], &["abc", "XAB"]);
        check("*ab*", &["ab", "xabc", "xAbc"], &["axb", "aB"]);
        check("ab+", &["abC", "ab_c"], &["ab", "abc", "xabC"]);
        check("+ab", &["xab", "xAb"], &["ab", "Ab", "xabc"]);
        check("ab*c", &["abc", "abxc"], &["abxcd", "xabc"]);
        check("ab*c*", &["abc", "abxcd"], &["cab", "xabc"]);
        check("ab|cd", &["ab", "cd"], &["abcd"]);
    }

    #[test]
    fn places_follow_each_other() {
        check("Ab . cd (", &["Ab.cd()"], &["Ab.cd", "ab.cd()", "x(Ab)"]);
        check("<text> + <text>", &["x = \"\" + \"\""], &["x = \"\" + 1"]);
        check("ab ( <number> )", &["ab(1)"], &["ab(x)", "ab(\"1\")"]);
        check("<Type> . ab", &["X.ab"], &["x.ab"]);
        check("Ab <name>", &["Ab x"], &["Ab X", "Ab.x()"]);
        check("!. ab", &["ab()"], &["x.ab()"]);
        check("ab ..; cd", &["ab(x, y, cd)", "ab(cd)"], &["ab(x); cd()", "cd(ab)"]);
        check("if ..} cd", &["if (x) { y(); cd(); }"], &["if (x) { } cd()"]);
    }
}
