//! Shorter ways to say what a file holds.

use flakewise_source::{Call, Language, Piece, PieceKind, SourceFile, SourceTest, TokenKind, read_source};

pub(crate) fn java(source: &str) -> SourceFile {
    read_source("src/test/java/org/acme/CartTest.java", Language::Java, source.as_bytes())
}

pub(crate) fn python(source: &str) -> SourceFile {
    read_source("tests/test_cart.py", Language::Python, source.as_bytes())
}

pub(crate) fn rust(source: &str) -> SourceFile {
    read_source("cart/src/lib.rs", Language::Rust, source.as_bytes())
}

pub(crate) fn go(source: &str) -> SourceFile {
    read_source("shop/cart/cart_test.go", Language::Go, source.as_bytes())
}

pub(crate) fn javascript(source: &str) -> SourceFile {
    read_source("src/cart.test.js", Language::JavaScript, source.as_bytes())
}

/// The classes and names of a file's tests.
pub(crate) fn names(file: &SourceFile) -> Vec<String> {
    let name = |test: &SourceTest| {
        let mut parts = test.id.class_path();
        parts.push(test.id.name());
        parts.join("::")
    };
    file.tests.iter().map(name).collect()
}

pub(crate) fn find<'a>(file: &'a SourceFile, name: &str) -> &'a SourceTest {
    file.tests.iter().find(|test| test.id.name() == name).expect("a test of this name")
}

/// The names of what stands around a test.
pub(crate) fn context(test: &SourceTest, kind: PieceKind) -> Vec<&str> {
    test.context.iter().filter(|piece| piece.kind == kind).map(|piece| piece.name.as_str()).collect()
}

pub(crate) fn helpers(test: &SourceTest) -> Vec<&str> {
    test.helpers.iter().map(|piece| piece.name.as_str()).collect()
}

/// The words of a piece, with what they are.
pub(crate) fn words(piece: &Piece) -> Vec<(TokenKind, &str)> {
    piece.tokens.iter().map(|token| (token.kind, piece.word(token))).collect()
}

pub(crate) fn call(receiver: Option<&str>, name: &str, arguments: u32, line: u32) -> Call {
    Call { receiver: receiver.map(str::to_owned), name: name.to_owned(), arguments, line }
}
