use std::fmt::Write as _;

use flakewise_paths::{Graph, graph_of_fragment};
use flakewise_source::Language;

/// A test and the paths it must have, one on each line.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) source: &'static str,
    pub(crate) paths: &'static str,
}

/// Compares the paths of all cases, and shows all that differ.
pub(crate) fn check(cases: &[Case], graph_of: impl Fn(&str) -> Graph) {
    let mut wrong = String::new();
    for case in cases {
        let graph = graph_of(case.source);
        let paths: Vec<String> = graph.paths().iter().map(|path| graph.show(path)).collect();
        let expected: Vec<&str> = case.paths.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        if paths != expected {
            write!(wrong, "== {}\n{}\n-- has\n{}\n", case.name, case.source, paths.join("\n"))
                .expect("written");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// The graph of a method or function in the class or module around it.
pub(crate) fn graph(language: Language, source: &str, class_source: Option<&str>) -> Graph {
    graph_of_fragment(language, source, class_source, "acme.CartTest", "t")
}
