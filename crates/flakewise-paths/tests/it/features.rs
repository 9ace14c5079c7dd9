//! Features belong to one test.

use std::collections::HashSet;

use flakewise_paths::{
    FeatureKind, Graph, ParsedFile, Scope, Unresolved, each_feature, feature_hash, graph_of_test,
    path_features,
};
use flakewise_source::Language;
use proptest::prelude::*;
use rayon::prelude::*;

const TESTS: usize = 12;

/// Names that no two tests share, with letters only, so that they are words.
fn word(test: usize, number: usize) -> String {
    let letter = |number: usize| char::from(b'a' + u8::try_from(number % 26).expect("it is small"));
    format!("q{}{}z", letter(test), letter(number))
}

/// A test of its own words.
fn body(test: usize, lines: &[usize]) -> String {
    let w = |number| word(test, number);
    let mut body = format!("    {} {} = {}.{}();\n", w(0).to_uppercase(), w(1), w(2), w(3));
    for line in lines {
        body += &match line % 5 {
            0 => format!("    {}.{}({});\n", w(1), w(4), w(5)),
            1 => format!("    {} {} = {}({});\n", w(6).to_uppercase(), w(6), w(7), w(1)),
            2 => format!("    if ({}.{}()) {{ {}.{}(); }}\n", w(1), w(8), w(1), w(9)),
            3 => format!(
                "    for (int {} : {}.{}()) {{ {}.{}({}); }}\n",
                w(10),
                w(1),
                w(11),
                w(1),
                w(12),
                w(10)
            ),
            _ => format!("    check({}.{}());\n", w(1), w(13)),
        };
    }
    body + &format!("    assertTrue({}.{}());\n", w(1), w(14))
}

fn class(bodies: &[String]) -> String {
    let tests: String = bodies
        .iter()
        .enumerate()
        .map(|(at, body)| format!("  @Test public void t{at}() {{\n{body}  }}\n"))
        .collect();
    format!("class CartTest {{\n{tests}  void check(boolean ok) {{ assertTrue(ok); }}\n}}\n")
}

fn graphs(source: &str, tests: usize) -> Vec<Graph> {
    let file = ParsedFile::parse(Language::Java, source).expect("it is parsed");
    let scope = Scope::new(vec![&file], "CartTest");
    let graph = |at| graph_of_test(&file, &scope, &format!("t{at}"), 0, &Unresolved);
    (0..tests).map(graph).collect()
}

fn hashes(graph: &Graph) -> HashSet<u64> {
    path_features(graph).into_iter().map(|(hash, _)| hash).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The published extractor gave all tests that were read together the
    /// features of the last one.
    #[test]
    fn tests_of_one_class_share_no_feature_by_accident(
        lines in prop::collection::vec(prop::collection::vec(0_usize..5, 0..8), TESTS)
    ) {
        let bodies: Vec<String> = lines.iter().enumerate().map(|(test, lines)| body(test, lines)).collect();
        let together = graphs(&class(&bodies), TESTS);
        // What all may share: the words of no test.
        let mut common: HashSet<u64> = HashSet::new();
        for graph in &together {
            each_feature(graph, &graph.paths(), |kind, first, second| {
                let own = |text: &str| text.to_lowercase().contains('q');
                if !own(first) && !own(second) {
                    common.insert(feature_hash(kind, first, second));
                }
            });
        }
        for (at, graph) in together.iter().enumerate() {
            let own = hashes(graph);
            prop_assert!(own.contains(&feature_hash(FeatureKind::NodeWord, &word(at, 1), "")));
            for other in &together[at + 1..] {
                let shared: HashSet<u64> = own.intersection(&hashes(other)).copied().collect();
                prop_assert!(shared.is_subset(&common));
                prop_assert_ne!(&own, &hashes(other));
            }
        }
    }

    #[test]
    fn features_do_not_depend_on_what_else_is_read(
        lines in prop::collection::vec(prop::collection::vec(0_usize..5, 0..8), TESTS)
    ) {
        let bodies: Vec<String> = lines.iter().enumerate().map(|(test, lines)| body(test, lines)).collect();
        let together: Vec<_> = graphs(&class(&bodies), TESTS).iter().map(path_features).collect();
        let at_once: Vec<_> = {
            let source = class(&bodies);
            let file = ParsedFile::parse(Language::Java, &source).expect("it is parsed");
            let scope = Scope::new(vec![&file], "CartTest");
            let features = |at| path_features(&graph_of_test(&file, &scope, &format!("t{at}"), 0, &Unresolved));
            (0..TESTS).into_par_iter().rev().map(features).rev().collect()
        };
        prop_assert_eq!(&together, &at_once);
        for (at, body) in bodies.iter().enumerate() {
            let alone = graphs(&class(std::slice::from_ref(body)), 1);
            prop_assert_eq!(&path_features(&alone[0]), &together[at]);
        }
    }
}

#[test]
fn features_name_calls_pairs_and_ends() {
    let source = "class CartTest {\n  @Test void t0() {\n    long start = System.currentTimeMillis();\n    \
                  Cart cart = Cart.of(start);\n    assertEquals(5, cart.total());\n  }\n}";
    let graph = &graphs(source, 1)[0];
    let features = hashes(graph);
    for (kind, first, second) in [
        (FeatureKind::NodeWord, "cart", ""),
        (FeatureKind::Type, "Cart", ""),
        (FeatureKind::Literal, "digit", ""),
        (FeatureKind::EdgeWord, "total", ""),
        (FeatureKind::Label, "Cart.of", ""),
        (FeatureKind::Pair, "Cart.of", "Cart.total"),
        (FeatureKind::Reaches, "Cart.of", "equality"),
        (FeatureKind::Ends, "call System.currentTimeMillis", "equality"),
        (FeatureKind::Shape, "paths", "2"),
    ] {
        assert!(features.contains(&feature_hash(kind, first, second)), "{kind:?} {first} {second}");
    }
    assert!(path_features(graph).is_sorted_by_key(|(hash, _)| *hash));
}

#[test]
fn features_stay_as_they_are() {
    // Models are trained on these hashes.
    assert_eq!(feature_hash(FeatureKind::NodeWord, "", ""), 0xd2db_0e18_6909_4082);
}
