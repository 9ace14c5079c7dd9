//! A test as numbers, for telling kinds of flakiness apart.

use flakewise_source::{Piece, SourceTest, Token, TokenKind};

use crate::families::{families, hits};

/// How many numbers there are besides those of the families.
const GENERAL: usize = 29;

/// How many numbers a test has.
pub(super) fn width() -> usize {
    families().len() + GENERAL
}

/// How often each family is used, and what a test is made of. Counts are
/// logarithms: the tenth sleep says little more than the ninth.
pub(super) fn numbers(test: &SourceTest) -> Vec<f32> {
    let mut counts = vec![0; families().len()];
    let mut used = [0_u32; 5];
    for hit in hits(&test.body) {
        counts[hit.family] = hit.count as usize;
        if let Some(category) = families()[hit.family].category {
            used[category as usize] += 1;
        }
    }
    let mut numbers: Vec<f32> = counts.into_iter().map(logarithm).collect();
    numbers.extend(made_of(own_tokens(&test.body), &test.body));
    let all: u32 = used.iter().sum();
    numbers.push(yes(used[..4] == [0; 4]));
    numbers.extend(used.iter().map(|&count| logarithm(count as usize)));
    numbers.extend(used.iter().map(|&count| count as f32 / all.max(1) as f32));
    numbers
}

/// Sub-words of names and the words that steer, for a bag of words. Those of
/// the test's own name are kept apart.
pub(super) fn words(test: &SourceTest) -> Vec<String> {
    let tokens = own_tokens(&test.body);
    let text = |token: &Token| test.body.word(token);
    let name = tokens.iter().find(|token| token.kind == TokenKind::Identifier);
    let mut words = Vec::new();
    if let Some(name) = name {
        sub_words(text(name), |word| words.push(format!("n:{}", word.to_ascii_lowercase())));
    }
    for token in tokens {
        match token.kind {
            TokenKind::Identifier | TokenKind::Type => {
                sub_words(text(token), |word| words.push(word.to_ascii_lowercase()));
            }
            TokenKind::Keyword | TokenKind::Operator if STEERING.contains(&text(token)) => {
                words.push(format!("k:{}", text(token)));
            }
            _ => {}
        }
    }
    words
}

const STEERING: [&str; 9] =
    ["for", "while", "try", "catch", "except", "->", "synchronized", "throws", "with"];

fn made_of(tokens: &[Token], piece: &Piece) -> Vec<f32> {
    let text = |token: &Token| piece.word(token);
    let count = |word: &str| tokens.iter().filter(|token| text(token) == word).count();
    let follows = |index: usize, word: &str| tokens.get(index + 1).is_some_and(|token| text(token) == word);
    let texts: Vec<&str> = tokens
        .iter()
        .filter(|token| token.kind == TokenKind::Text)
        .map(|token| text(token).trim_matches('"'))
        .collect();
    let mut names: Vec<&str> = tokens
        .iter()
        .filter(|token| matches!(token.kind, TokenKind::Identifier | TokenKind::Type | TokenKind::Keyword))
        .map(text)
        .collect();
    names.sort_unstable();
    names.dedup();
    let asserts = (0..tokens.len())
        .filter(|&index| {
            let word = text(&tokens[index]);
            let says = ["assert", "verify", "expect"].iter().any(|start| word.starts_with(start));
            word == "assert" || (says || word == "fail") && follows(index, "(")
        })
        .count();
    let statements = count(";");
    let separated = |text: &&&str| text.matches([':', '=']).count() >= 2 || text.matches(',').count() >= 2;
    let nested = |text: &&&str| text.contains(['{', '[']) || text.contains("\\\"");
    let anonymous = (0..tokens.len()).filter(|&index| {
        // The bracket comes after the name, the body after the arguments. Neither
        // is looked for far away: source may be hostile.
        let near = &tokens[..tokens.len().min(index + 60)];
        text(&tokens[index]) == "new"
            && (index..near.len())
                .find(|&at| text(&near[at]) == "(")
                .is_some_and(|open| follows(after_bracket(piece, near, open) - 1, "{"))
    });
    let declared: Vec<&str> = tokens
        .iter()
        .map(text)
        .skip_while(|word| *word != "throws")
        .take_while(|word| *word != "{")
        .collect();
    let big = |token: &&Token| {
        token.kind == TokenKind::Number && text(token).bytes().filter(u8::is_ascii_digit).count() >= 3
    };
    vec![
        logarithm(tokens.len()),
        logarithm(statements),
        logarithm(asserts),
        asserts as f32 / (1 + statements) as f32,
        logarithm(names.len()),
        logarithm(texts.len()),
        logarithm(texts.iter().map(|text| text.len()).max().unwrap_or(0)),
        logarithm(texts.iter().filter(separated).count()),
        logarithm(texts.iter().filter(nested).count()),
        logarithm(count("for") + count("while")),
        logarithm(count("->") + count("lambda")),
        logarithm(count("new")),
        logarithm(anonymous.count()),
        logarithm(count("try")),
        yes(declared.contains(&"InterruptedException")),
        yes(declared.iter().any(|word| matches!(*word, "Exception" | "IOException"))),
        yes(declared.is_empty()),
        logarithm(tokens.iter().filter(big).count()),
    ]
}

/// The words of a test without the annotations, decorators and modifiers in
/// front, which tell how a file was printed more than what a test does.
fn own_tokens(piece: &Piece) -> &[Token] {
    let text = |index: usize| piece.tokens.get(index).map_or("", |token| piece.word(token));
    let mut next = 0;
    loop {
        match text(next) {
            "@" => {
                next += 2;
                while text(next) == "." {
                    next += 2;
                }
                if text(next) == "(" {
                    next = after_bracket(piece, &piece.tokens, next);
                }
            }
            "public" | "protected" | "private" | "static" | "final" | "void" | "synchronized" | "async"
            | "def" => {
                next += 1;
            }
            _ => return piece.tokens.get(next..).unwrap_or_default(),
        }
    }
}

fn after_bracket(piece: &Piece, tokens: &[Token], open: usize) -> usize {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        match piece.word(token) {
            "(" => depth += 1,
            ")" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return index + 1;
        }
    }
    tokens.len()
}

/// `HTTPServer2` is `HTTP`, `Server` and `2`.
fn sub_words(name: &str, mut give: impl FnMut(&str)) {
    let bytes = name.as_bytes();
    let kind = |at: usize| match bytes.get(at) {
        Some(byte) if byte.is_ascii_lowercase() => 'a',
        Some(byte) if byte.is_ascii_uppercase() => 'A',
        Some(byte) if byte.is_ascii_digit() => '0',
        _ => ' ',
    };
    let mut start = 0;
    for at in 1..=bytes.len() {
        let capital_begins = kind(at) == 'A' && (kind(at - 1) == 'a' || kind(at + 1) == 'a');
        let goes_on = kind(at) == kind(at - 1) || (kind(at - 1) == 'A' && kind(at) == 'a');
        if capital_begins || !goes_on {
            if kind(start) != ' ' {
                give(&name[start..at]);
            }
            start = at;
        }
    }
}

fn logarithm(count: usize) -> f32 {
    (count as f32).ln_1p()
}

fn yes(is: bool) -> f32 {
    f32::from(u8::from(is))
}

#[cfg(test)]
mod tests {
    use flakewise_source::{Language, read_fragment};

    use super::*;

    #[test]
    fn every_test_has_as_many_numbers() {
        for source in
            ["", "void m() { }", "@Test(timeout = 5) public void m() throws Exception { sleep(1); }"]
        {
            assert_eq!(numbers(&read_fragment(Language::Java, source, None, "C", "m")).len(), width());
        }
    }

    #[test]
    fn names_fall_into_their_words() {
        let check = |name: &str, expected: &str| {
            let mut words = Vec::new();
            sub_words(name, |word| words.push(word.to_owned()));
            assert_eq!(words.join(" "), expected);
        };
        check("waitForHTTPServer2", "wait For HTTP Server 2");
        check("snake_case_ID", "snake case ID");
        check("größe", "gr e");
        check("_", "");
    }

    #[test]
    fn annotations_and_modifiers_are_not_looked_at() {
        let source = "@Test(expected = A.class) @org.junit.Ignore public final void runsTwice() { }";
        let test = read_fragment(Language::Java, source, None, "C", "runsTwice");
        assert_eq!(words(&test), ["n:runs", "n:twice", "runs", "twice"]);
    }
}
