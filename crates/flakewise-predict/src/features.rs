//! A test as counted words and numbers.
//!
//! Words are kept as hashes: a model needs no dictionary, and what a word was
//! is known again from the test at hand when a reason is given.

use std::collections::HashMap;

use flakewise_paths::{Surroundings, graph_of_source, path_features};
use flakewise_source::{Piece, PieceKind, SourceTest, Token, TokenKind, sub_tokens};

use crate::surroundings::{FeatureGroups, SurroundingFeatures};

/// A test as a model sees it.
#[derive(Clone, Debug)]
pub struct Features {
    /// Words of the test itself, by hash, rising.
    pub body: Vec<(u64, f32)>,
    /// Words of what stands around it, by hash, rising.
    pub context: Vec<(u64, f32)>,
    /// Counts and measures, [`NUMBERS`] of them.
    pub numbers: Vec<f32>,
    /// The lines of the test that say something, by hash, rising.
    pub lines: Vec<u32>,
    /// The class or file the test is in, by hash.
    pub class: u64,
    /// The package or folder that is in, by hash.
    pub package: u64,
    pub(crate) surroundings: SurroundingFeatures,
    /// What lies on the paths of values through the test, by hash, rising.
    pub(crate) paths: Vec<(u64, f32)>,
}

impl Features {
    /// Reads a test.
    pub fn of(test: &SourceTest) -> Self {
        let mut body = HashMap::new();
        let mut context = HashMap::new();
        let mut count = |place: Place, word: Word<'_>| {
            let words = match place {
                Place::Body => &mut body,
                Place::Context => &mut context,
            };
            *words.entry(word.hash()).or_insert(0.0) += 1.0;
        };
        each_word(test, &mut |place, word, _| count(place, word));
        let module = test.id.module();
        let package = match module.rsplit_once('/') {
            Some((folder, _)) => folder,
            None => &module,
        };
        let mut class = hash(&[&module]);
        for part in test.id.class_path() {
            class = hash_from(class, &[&part]);
        }
        Self {
            body: sorted_words(body),
            context: sorted_words(context),
            numbers: numbers(test),
            lines: line_hashes(&test.body),
            class,
            package: hash(&[package]),
            surroundings: SurroundingFeatures::default(),
            paths: Vec::new(),
        }
    }

    /// A test with what a model looks at.
    pub(crate) fn with_groups(
        test: &SourceTest,
        surroundings: Option<&Surroundings>,
        groups: FeatureGroups,
    ) -> Self {
        let mut features = Self::of(test);
        if let Some(surroundings) = surroundings {
            features = features.with_surroundings(surroundings);
        }
        if groups.paths {
            features = features.with_paths(path_features(&graph_of_source(test)));
        }
        features
    }

    /// Adds what surrounds the test and lies under it.
    #[must_use]
    pub fn with_surroundings(mut self, surroundings: &Surroundings) -> Self {
        self.surroundings = SurroundingFeatures::of(surroundings);
        self
    }

    /// Adds what lies on the paths of values through the test: features by
    /// hash, rising, with their counts.
    #[must_use]
    pub fn with_paths(mut self, paths: Vec<(u64, f32)>) -> Self {
        self.paths = paths;
        self
    }
}

/// Where a word stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the test itself.
    Body,
    /// Around it.
    Context,
}

/// What kind of word it is. The numbers are part of the hash, and so of every
/// model file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WordKind {
    Identifier = 1,
    SubToken = 2,
    Pair = 3,
    Member = 4,
    Method = 5,
    Created = 6,
    Text = 7,
    ClassName = 8,
    Package = 9,
    Import = 10,
    ImportPrefix = 11,
    ImportName = 12,
    Head = 13,
    Around = 14,
    AroundSubToken = 15,
    AroundMember = 16,
    TreeSubToken = 17,
    Base = 18,
    UnderSubToken = 19,
    UnderClass = 20,
}

/// A word to count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word<'a> {
    pub(crate) kind: WordKind,
    pub(crate) text: &'a str,
    /// The second half of a pair.
    pub(crate) with: &'a str,
}

impl Word<'_> {
    pub(crate) fn hash(&self) -> u64 {
        let start = hash_from(OFFSET, &[]) ^ self.kind as u64;
        let parts = [self.text, self.with];
        hash_from(start, &parts[..if self.with.is_empty() { 1 } else { 2 }])
    }

    /// For people.
    pub(crate) fn show(&self) -> String {
        match self.kind {
            WordKind::Member | WordKind::AroundMember => format!("{}.{}", self.text, self.with),
            WordKind::Pair => format!("{} {}", self.text, self.with),
            WordKind::Created => format!("new {}", self.text),
            WordKind::Method => format!("{}()", self.text),
            WordKind::ImportPrefix if !self.with.is_empty() => format!("package {}", self.with),
            WordKind::Import | WordKind::ImportPrefix => format!("import {}", self.text),
            _ => self.text.to_owned(),
        }
    }
}

/// Calls back for every word of a test, with its token's place in the body.
pub(crate) fn each_word(test: &SourceTest, found: &mut impl FnMut(Place, Word<'_>, Option<&Token>)) {
    body_words(&test.body, found);
    let mut around = |word: Word<'_>| found(Place::Context, word, None);
    let module = test.id.module();
    let mut end = 0;
    for part in module.split(['.', '/']) {
        end += part.len();
        around(Word { kind: WordKind::Package, text: part, with: "" });
        around(Word { kind: WordKind::ImportPrefix, text: "package", with: &module[..end] });
        end += 1;
    }
    for class in test.id.class_path() {
        sub_tokens(&class, |text| around(Word { kind: WordKind::ClassName, text, with: "" }));
    }
    for piece in test.context.iter().chain(test.helpers.iter().map(|helper| &**helper)) {
        match piece.kind {
            PieceKind::Import => import_words(piece, &mut around),
            PieceKind::Class => head_words(piece, &mut around),
            _ => around_words(piece, &mut around),
        }
    }
}

fn body_words(piece: &Piece, found: &mut impl FnMut(Place, Word<'_>, Option<&Token>)) {
    let text = |token: &Token| piece.word(token);
    let mut last_name: Option<&str> = None;
    for (place, token) in piece.tokens.iter().enumerate() {
        let mut count = |kind, text: &str, with: &str| {
            found(Place::Body, Word { kind, text, with }, Some(token));
        };
        let word = text(token);
        match token.kind {
            TokenKind::Identifier | TokenKind::Type | TokenKind::Keyword => {
                count(WordKind::Identifier, word, "");
                sub_tokens(word, |part| count(WordKind::SubToken, part, ""));
                if let Some(last) = last_name {
                    count(WordKind::Pair, last, word);
                }
                last_name = Some(word);
                let previous = |back: usize| place.checked_sub(back).map(|at| text(&piece.tokens[at]));
                let following = piece.tokens.get(place + 1).map(text);
                if previous(1) == Some(".") {
                    if let Some(receiver) = previous(2).filter(|receiver| is_name(receiver)) {
                        count(WordKind::Member, receiver, word);
                    }
                    if following == Some("(") {
                        count(WordKind::Method, word, "");
                    }
                }
                if previous(1) == Some("new") {
                    count(WordKind::Created, word, "");
                }
            }
            TokenKind::Text => {
                for part in word.split(|c: char| !c.is_ascii_alphabetic()).filter(|part| part.len() > 1) {
                    lower(part, |part| count(WordKind::Text, part, ""));
                }
            }
            TokenKind::Number | TokenKind::Operator => {}
        }
    }
}

fn import_words(piece: &Piece, count: &mut impl FnMut(Word<'_>)) {
    let text = piece.text.trim().trim_end_matches(';');
    let name = text.rsplit(char::is_whitespace).next().unwrap_or(text);
    count(Word { kind: WordKind::Import, text: name, with: "" });
    let dots: Vec<usize> = name.match_indices('.').map(|(at, _)| at).collect();
    for &dot in dots.iter().skip(1) {
        count(Word { kind: WordKind::ImportPrefix, text: &name[..dot], with: "" });
    }
    let last = dots.last().map_or(name, |dot| &name[dot + 1..]);
    sub_tokens(last, |text| count(Word { kind: WordKind::ImportName, text, with: "" }));
}

fn head_words(piece: &Piece, count: &mut impl FnMut(Word<'_>)) {
    for token in &piece.tokens {
        if matches!(token.kind, TokenKind::Identifier | TokenKind::Type | TokenKind::Keyword) {
            count(Word { kind: WordKind::Head, text: piece.word(token), with: "" });
        }
    }
}

fn around_words(piece: &Piece, count: &mut impl FnMut(Word<'_>)) {
    let text = |token: &Token| piece.word(token);
    for (place, token) in piece.tokens.iter().enumerate() {
        if !matches!(token.kind, TokenKind::Identifier | TokenKind::Type | TokenKind::Keyword) {
            continue;
        }
        let word = text(token);
        count(Word { kind: WordKind::Around, text: word, with: "" });
        sub_tokens(word, |part| count(Word { kind: WordKind::AroundSubToken, text: part, with: "" }));
        if place > 1 && text(&piece.tokens[place - 1]) == "." {
            let receiver = text(&piece.tokens[place - 2]);
            if is_name(receiver) {
                count(Word { kind: WordKind::AroundMember, text: receiver, with: word });
            }
        }
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '$')
}

fn lower(text: &str, mut found: impl FnMut(&str)) {
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        found(&text.to_ascii_lowercase());
    } else {
        found(text);
    }
}

/// How many numbers a test has.
pub const NUMBERS: usize = 20;

fn numbers(test: &SourceTest) -> Vec<f32> {
    let mut kinds = [0_u32; 6];
    let mut names = std::collections::HashSet::new();
    for token in &test.body.tokens {
        kinds[token.kind as usize] += 1;
        if token.kind == TokenKind::Identifier {
            names.insert(test.body.word(token));
        }
    }
    let metrics = &test.metrics;
    let of_kind = |kind| test.context.iter().filter(|piece| piece.kind == kind).count();
    let tokens_of = |kind: PieceKind| {
        let pieces = test.context.iter().filter(|piece| piece.kind == kind);
        pieces.map(|piece| piece.tokens.len()).sum::<usize>()
    };
    #[expect(clippy::cast_possible_truncation, reason = "counts are small")]
    let numbers = [
        f64::from(metrics.ast_depth),
        f64::from(metrics.assertions),
        f64::from(metrics.external_modules),
        metrics.halstead_volume,
        f64::from(metrics.cyclomatic_complexity),
        f64::from(metrics.lines),
        metrics.maintainability,
        test.body.tokens.len() as f64,
        names.len() as f64,
        test.body.calls.len() as f64,
        f64::from(kinds[TokenKind::Keyword as usize]),
        f64::from(kinds[TokenKind::Text as usize]),
        f64::from(kinds[TokenKind::Number as usize]),
        test.helpers.len() as f64,
        test.helpers.iter().map(|helper| helper.tokens.len()).sum::<usize>() as f64,
        of_kind(PieceKind::Import) as f64,
        of_kind(PieceKind::Field) as f64,
        tokens_of(PieceKind::SetUp) as f64,
        tokens_of(PieceKind::TearDown) as f64,
        tokens_of(PieceKind::Class) as f64,
    ]
    .map(|value| value as f32);
    numbers.to_vec()
}

fn line_hashes(piece: &Piece) -> Vec<u32> {
    let mut lines: Vec<u32> = piece.text.lines().filter_map(line_hash).collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}

/// A line without its spaces, as a hash; nothing if it is too short to say
/// anything.
#[expect(clippy::cast_possible_truncation, reason = "half of a hash is one too")]
pub(crate) fn line_hash(line: &str) -> Option<u32> {
    const LEAST: usize = 12;
    let line: String = line.split_whitespace().collect();
    (line.len() >= LEAST && !line.starts_with('@')).then(|| hash(&[&line]) as u32)
}

pub(crate) fn sorted_words(words: HashMap<u64, f32>) -> Vec<(u64, f32)> {
    let mut words: Vec<_> = words.into_iter().collect();
    words.sort_unstable_by_key(|&(hash, _)| hash);
    words
}

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a, with a step between parts. It is part of every model file.
pub(crate) fn hash(parts: &[&str]) -> u64 {
    hash_from(OFFSET, parts)
}

/// A hash of hashes.
pub(crate) fn hash_numbers(parts: &[u64]) -> u64 {
    parts.iter().fold(OFFSET, |hash, part| (hash ^ part).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29))
}

fn hash_from(start: u64, parts: &[&str]) -> u64 {
    let mut hash = start;
    for part in parts {
        for &byte in part.as_bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        hash = (hash ^ 0xff).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash
}
