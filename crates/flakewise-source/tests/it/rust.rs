//! Tests in Rust.

use flakewise_source::{Framework, Language, Package, PieceKind, TokenKind, read_packaged};

use crate::support::{call, context, find, helpers, names, rust, words};

#[test]
fn tests_have_an_attribute() {
    let file = rust(
        "#[test]\nfn one() {}\n/// Why.\n#[tokio::test(flavor = \"multi_thread\")]\n// So.\n#[ignore]\nasync fn two() {}\n\
         #[rstest]\n#[case(1)]\nfn three(#[case] x: u8) {}\n#[test_case(1)]\nfn four(x: u8) {}\n\
         #[cfg(test)]\nfn helper() {}\n#[inline]\nfn other() {}\n\
         #[cfg(unix)]\n#[test]\nfn five() {}\n#[cfg(windows)]\n#[test]\nfn five() {}\n",
    );
    assert_eq!(names(&file), ["one", "two", "three", "four", "five"]);
    assert!(file.tests.iter().all(|test| test.framework == Framework::Rust));
    let two = find(&file, "two");
    assert_eq!((two.line, two.end_line), (4, 7));
    assert!(two.body.text.starts_with("#[tokio::test"));
    assert!(file.issues.is_empty());
}

#[test]
fn ids_have_binary_and_modules() {
    let source = "#[cfg(test)]\nmod tests {\n  use super::*;\n  mod inner { #[test] fn one() {} }\n  #[test] fn two() {}\n}\n";
    let id = |path: &str, package: Option<&Package>| {
        let file = read_packaged(path, Language::Rust, package, source.as_bytes());
        file.tests.iter().map(|test| test.id.to_string()).collect::<Vec<_>>()
    };
    let package = Package { folder: "crates/cart".into(), name: "acme-cart".into() };
    let ids = id("crates/cart/src/sum/deep.rs", Some(&package));
    assert_eq!(
        ids,
        ["rust:acme-cart::sum::deep::tests::inner::one", "rust:acme-cart::sum::deep::tests::two"]
    );
    assert_eq!(id("crates/cart/tests/it.rs", None)[1], r"rust:cart\:\:it::tests::two");
}

#[test]
fn tests_in_macros_are_found() {
    let file = rust(
        "proptest! {\n  #![proptest_config(x)]\n  /// Why.\n  #[test]\n  fn one(a in 0..5, b in any::<u8>()) { prop_assert!(check(a)); }\n  \
         fn not(a in 0..5) {}\n  #[test]\n  #[ignore]\n  fn two(a in 0..5) {}\n}\nfn check(a: u8) -> bool { true }\n\
         lazy_static! { static ref A: u8 = 1; }\n",
    );
    assert_eq!(names(&file), ["one", "two"]);
    let one = find(&file, "one");
    assert_eq!(one.metrics.assertions, 1);
    assert_eq!(helpers(one), ["check"]);
    assert!(one.body.text.ends_with("prop_assert!(check(a)); }"));
    assert_eq!(context(one, PieceKind::Field), ["lazy_static"]);
}

#[test]
fn context_and_helpers_are_of_the_file() {
    let file = rust(
        "use std::fs;\nstatic PORT: u16 = 80;\nfn start() { outer() }\nfn outer() {}\nstruct Server;\n\
         impl Server { const X: u8 = 1; fn new() -> Self { Server } fn send(&self) { deeper() } fn idle(&self) {} }\n\
         fn deeper() {}\n#[fixture]\nfn database() -> u8 { connect() }\nfn connect() -> u8 { 1 }\nfn unused() {}\n\
         #[cfg(test)]\nmod tests {\n  use super::*;\n  const LIMIT: u8 = 1;\n  fn start() { prepare!(3) }\n  \
         #[test]\n  fn one() { start(); let s = Server::new(); s.send(); }\n  #[test]\n  fn two() { s.idle; }\n  \
         #[rstest]\n  fn three(database: u8) {}\n}\n",
    );
    let one = find(&file, "one");
    assert_eq!(helpers(one), ["start", "new", "send", "deeper"]);
    assert!(one.helpers[0].text.contains("prepare"));
    assert_eq!(context(one, PieceKind::Import), ["std::fs", "super::*"]);
    assert_eq!(context(one, PieceKind::Field), ["PORT", "LIMIT"]);
    assert_eq!(context(one, PieceKind::Class), ["tests"]);
    assert!(context(one, PieceKind::SetUp).is_empty());
    let three = find(&file, "three");
    assert_eq!(context(three, PieceKind::SetUp), ["database"]);
    assert_eq!(helpers(three), ["connect"]);
    let head = one.context.iter().find(|piece| piece.kind == PieceKind::Class).expect("a head");
    assert_eq!(head.text.trim_end(), "#[cfg(test)]\nmod tests");
}

#[test]
fn words_and_calls_of_a_body() {
    let file = rust(
        "#[test]\nfn one() {\n    // No word.\n    let x: Vec<u8> = Vec::with_capacity(5);\n    \
         std::thread::sleep(Duration::from_millis(5));\n    x.iter().collect::<Vec<_>>();\n    \
         assert_eq!(load(1, 2), x.len(), \"b (\");\n}\n",
    );
    let body = &find(&file, "one").body;
    let words = words(body);
    assert!(words.contains(&(TokenKind::Text, "\"b (\"")));
    assert!(words.contains(&(TokenKind::Type, "Vec")));
    assert!(words.contains(&(TokenKind::Number, "5")));
    assert!(words.contains(&(TokenKind::Keyword, "let")));
    assert!(words.contains(&(TokenKind::Identifier, "assert_eq")));
    assert!(words.iter().all(|(_, word)| !word.contains("word")));
    let expected = [
        call(Some("Vec"), "with_capacity", 1, 4),
        call(Some("std::thread"), "sleep", 1, 5),
        call(Some("Duration"), "from_millis", 1, 5),
        call(Some("x"), "iter", 0, 6),
        call(Some("x.iter()"), "collect", 0, 6),
        call(None, "assert_eq", 3, 7),
        call(None, "load", 2, 7),
        call(Some("x"), "len", 0, 7),
    ];
    assert_eq!(body.calls, expected);
}

#[test]
fn metrics_are_of_the_body() {
    let source = "use serde_json::{Value, json as make};\nuse std::fs;\nuse tokio::sync::*;\n\
                  #[test]\nfn one() {\n    for a in b {\n        if a && c {\n            d();\n        } else if e {\n            \
                  assert!(f);\n        }\n    }\n    match g {\n        1 => h(),\n        _ => panic!(\"{}\", make()),\n    }\n    \
                  let closure = || fs::read(i);\n    assert_ne!(j, Value::Null)\n}\n";
    let metrics = find(&rust(source), "one").metrics;
    assert_eq!(metrics.assertions, 3);
    assert_eq!(metrics.ast_depth, 3);
    // for, if, &&, else if, one arm
    assert_eq!(metrics.cyclomatic_complexity, 6);
    assert_eq!(metrics.lines, 16);
    assert_eq!(metrics.external_modules, 2);
}

#[test]
fn a_broken_test_leaves_the_others() {
    let good = |name: &str| format!("  #[test]\n  fn {name}() {{ check(1); }}\n");
    for broken in [
        "  #[test]\n  fn broken() { let x = ; if ( }\n",
        "  #[test]\n  fn broken() { call(1, ; }\n",
        "  ??? %% @ \n",
    ] {
        let source = format!("mod tests {{\n{}{broken}{}{}}}\n", good("one"), good("two"), good("three"));
        let file = rust(&source);
        let found: Vec<String> = file.tests.iter().map(|test| test.id.name()).collect();
        for name in ["one", "two", "three"] {
            assert!(found.iter().any(|found| found == name), "{name} is lost after {broken:?}: {found:?}");
        }
        assert!(!file.issues.is_empty());
    }
}
