//! What holds for every test, and for any text.

use flakewise_paths::{EdgeKind, Graph, MAX_PATH_NODES, MAX_PATHS, graph_of_fragment};
use flakewise_source::Language;
use proptest::prelude::*;

const LANGUAGES: [Language; 2] = [Language::Java, Language::Python];

/// Checks a graph and its paths, and returns how many paths there are.
fn check(graph: &Graph) -> usize {
    for edge in &graph.edges {
        assert!(edge.from < edge.to);
        assert!(graph.nodes[edge.from as usize].line <= graph.nodes[edge.to as usize].line);
        assert!(graph.assertion(edge.from).is_none(), "nothing flows out of an assertion");
    }
    let paths = graph.paths();
    assert!(paths.len() <= MAX_PATHS);
    for path in &paths {
        assert!(path.nodes.len() <= MAX_PATH_NODES);
        assert_eq!(path.edges.len() + 1, path.nodes.len());
        assert!(graph.is_start(path.nodes[0]), "{}", graph.show(path));
        assert!(graph.assertion(path.nodes[path.nodes.len() - 1]).is_some(), "{}", graph.show(path));
        let lines: Vec<u32> = path.nodes.iter().map(|node| graph.nodes[*node as usize].line).collect();
        assert!(lines.is_sorted(), "{}", graph.show(path));
        for (edge, ends) in path.edges.iter().zip(path.nodes.windows(2)) {
            let edge = &graph.edges[*edge as usize];
            assert_eq!([edge.from, edge.to], [ends[0], ends[1]]);
        }
    }
    let mut shown: Vec<&[u32]> = paths.iter().map(|path| path.edges.as_slice()).collect();
    shown.sort_unstable();
    shown.dedup();
    let alone = paths.iter().filter(|path| path.edges.is_empty()).count();
    assert!(shown.len() + alone >= paths.len(), "no path is found twice");
    assert_eq!(paths.is_empty(), graph.assertions().next().is_none(), "every assertion has a path");
    paths.len()
}

fn graph(language: Language, source: &str) -> Graph {
    graph_of_fragment(language, source, Some(source), "a.T", "t")
}

/// Statements that refer to each other's variables.
fn statement() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["a", "b", "c", "list", "service"]);
    let line = prop::sample::select(vec![
        "$ = $ + 1;",
        "$ = load($, \"x\");",
        "$.add($);",
        "assertEquals($, $.size());",
        "check($);",
        "if ($ > 3) { $ = 2; } else { $ = $; }",
        "for (int i : $) { $ += i; }",
        "run(() -> $.call($));",
        "assertThat($).isEqualTo($);",
        "try { $.go(); fail(); } catch (E e) { assertNotNull(e); }",
        "$++;",
        "while ($) { $.next(); }",
        "new T($).run();",
        "Thread.sleep($);",
        "return;",
        "}",
        "{",
        "switch ($) {",
    ]);
    (line, prop::collection::vec(name, 4)).prop_map(|(line, names)| {
        let mut names = names.into_iter().cycle();
        let parts: Vec<&str> = line.split('$').collect();
        let mut text = parts[0].to_owned();
        for part in &parts[1..] {
            text += names.next().expect("it has no end");
            text += part;
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn paths_lead_from_start_to_assertion_within_limits(statements in prop::collection::vec(statement(), 0..60)) {
        let body = statements.join("\n");
        let source = format!("class T {{ @Test void t() {{\n{body}\n}}\nvoid check(int n) {{ assertTrue(n > 0); }}\n}}");
        check(&graph(Language::Java, &source));
        let python: String = statements.iter().map(|line| format!("    {}\n", line.trim_end_matches(';'))).collect();
        check(&graph(Language::Python, &format!("def t(a, b):\n{python}")));
    }

    #[test]
    fn any_text_is_survived(text in "\\PC*") {
        for language in LANGUAGES {
            check(&graph(language, &text));
        }
    }

    #[test]
    fn any_words_are_survived(words in prop::collection::vec(prop::sample::select(vec![
        "def t():", "\n", "    ", "(", ")", "[", "]", "{", "}", "assert ", "x", "=", "+", ".", ",", ":", "with ",
        "raises", " as ", "lambda ", "for ", " in ", "if ", "else:", "void t()", "@Test", "class T", "->", "new ",
        ";", "\"", "'", "f\"{", "try", "catch", "except ", "return ", "self.", "switch", "case ", "match ", "await ",
    ]), 0..120)) {
        let text = words.concat();
        for language in LANGUAGES {
            check(&graph(language, &text));
            check(&graph(language, &format!("@Test void t() {{ {text} }}")));
        }
    }

    #[test]
    fn the_same_source_gives_the_same_paths(statements in prop::collection::vec(statement(), 0..30)) {
        let source = format!("@Test void t() {{\n{}\n}}", statements.join("\n"));
        let shown = || {
            let graph = graph(Language::Java, &source);
            graph.paths().iter().map(|path| graph.show(path)).collect::<Vec<_>>()
        };
        prop_assert_eq!(shown(), shown());
    }
}

fn java(body: &str) -> Graph {
    graph(
        Language::Java,
        &format!(
            "class T {{\n@Test void t() {{\n{body}\n}}\nvoid check(A a) {{ assertTrue(a.ok()); check(a); }}\n}}"
        ),
    )
}

#[test]
fn long_chains_keep_their_start() {
    let graph = java(&format!("S s = open();\n{}assertTrue(s.done());", "s.next();\n".repeat(200)));
    assert!(check(&graph) > 0);
    assert!(graph.edges.iter().any(|edge| edge.kind == EdgeKind::Elided));
}

#[test]
fn many_paths_are_shared_out_among_assertions() {
    let mix = "a.use(b); b.use(a);\n".repeat(12);
    let graph = java(&format!("{mix}assertTrue(a.one());\nassertTrue(b.two());\nassertTrue(third);"));
    assert_eq!(check(&graph), MAX_PATHS);
    let ends: std::collections::HashSet<u32> =
        graph.paths().iter().map(|path| path.nodes[path.nodes.len() - 1]).collect();
    assert_eq!(ends.len(), 3);
}

#[test]
fn hostile_source_is_survived() {
    let many = 20_000;
    for (language, source) in [
        (Language::Java, format!("@Test void t() {{ x = {}1; }}", "a + ".repeat(many))),
        (Language::Java, format!("@Test void t() {{ f({}1); assertTrue(x); }}", "a, ".repeat(many))),
        (Language::Java, format!("@Test void t() {{ {} }}", "x = x + x;\n".repeat(many))),
        (Language::Java, format!("@Test void t() {{ {} }}", "assertTrue(x);\n".repeat(many))),
        (Language::Java, format!("@Test void t() {{ x{}; }}", ".a()".repeat(900))),
        (
            Language::Java,
            format!("@Test void t() {{ {}{} }}", "if (a) { x = 1;".repeat(900), "}".repeat(900)),
        ),
        (Language::Java, format!("@Test void t() {{ {}1{}; }}", "f(".repeat(900), ")".repeat(900))),
        (Language::Python, format!("def t():\n    x = {}1\n", "not ".repeat(many))),
        (Language::Python, format!("def t():\n    assert {}1\n", "a and ".repeat(many))),
        (Language::Python, format!("def t():\n{}", "    with raises(E) as e: f(e)\n".repeat(many / 4))),
        (Language::Python, format!("def t():\n    x{} = 1\n", ".a".repeat(many))),
        (Language::Python, (0..200).map(|depth| format!("{}if a{depth}:\n", " ".repeat(depth))).collect()),
    ] {
        check(&graph(language, &source));
    }
}

#[test]
fn a_class_with_ten_thousand_methods_is_survived() {
    let methods: String = (0..10_000).map(|n| format!("void m{n}(int a) {{ m{}(a); }}\n", n + 1)).collect();
    let graph = graph(
        Language::Java,
        &format!(
            "class T {{\n@Test void t() {{ m0(1); }}\n{methods}void m10000(int a) {{ assertTrue(a > 0); }}\n}}"
        ),
    );
    check(&graph);
    let same: String = "void check(int a) { check(a); assertTrue(a); }\n".repeat(10_000);
    check(&self::graph(Language::Java, &format!("class T {{\n@Test void t() {{ check(1); }}\n{same}}}")));
}
