//! Families of interfaces that speak for kinds of flakiness.
//!
//! A family is a set of patterns over the words of a test; what a pattern may
//! say is told in [`pattern`]. Words of texts and comments are not looked at:
//! what a test says about itself is no evidence.

mod pattern;
mod table;

#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use flakewise_source::Piece;

use crate::Category;
use pattern::Matcher;

/// A family of interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Family {
    /// The stable name, such as `sleep`.
    pub name: &'static str,
    /// The kind of flakiness it speaks for, if for one alone.
    pub category: Option<Category>,
    /// What a test does that uses it, for people: "waits for a fixed time".
    pub reason: &'static str,
    patterns: &'static [&'static str],
}

/// That a family is used in a piece of source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FamilyHit {
    /// Which, as an index of [`families`].
    pub family: usize,
    /// By how many words.
    pub count: u32,
    /// The first of them, as an index of the piece's tokens.
    pub first_token: usize,
}

/// All families, in an order that stays as it is: new ones are added at the end.
pub fn families() -> &'static [Family] {
    table::FAMILIES
}

/// The families used in a piece, by their index.
pub fn hits(piece: &Piece) -> Vec<FamilyHit> {
    let mut matches = MATCHER.matches(piece);
    matches.sort_unstable();
    // One word counts once, however many patterns of a family it fits.
    matches.dedup();
    let mut hits: Vec<FamilyHit> = Vec::new();
    for (family, token) in matches {
        match hits.last_mut() {
            Some(hit) if hit.family == family => hit.count += 1,
            _ => hits.push(FamilyHit { family, count: 1, first_token: token }),
        }
    }
    hits
}

static MATCHER: LazyLock<Matcher> =
    LazyLock::new(|| Matcher::new(table::FAMILIES.iter().map(|family| family.patterns)));
