//! Which test of the work tree a name means.

use std::collections::HashMap;

use flakewise_model::TestId;
use flakewise_source::SourceTest;

/// Tests by all names that mean only one of them.
pub(crate) struct Names {
    /// None where a name means several.
    places: HashMap<String, Option<usize>>,
}

impl Names {
    pub(crate) fn new<'a>(tests: impl Iterator<Item = &'a SourceTest>) -> Self {
        let mut places: HashMap<String, Option<usize>> = HashMap::new();
        for (place, test) in tests.enumerate() {
            let mut names = names(&test.id);
            names.sort_unstable();
            names.dedup();
            for name in names {
                places.entry(name).and_modify(|known| *known = None).or_insert(Some(place));
            }
        }
        Self { places }
    }

    /// The place of the test that is meant, if it is clear.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        let name = name.trim();
        let exact = self.places.get(name).copied().flatten();
        // Source knows no parameters: all cases are one test.
        exact
            .or_else(|| {
                let plain = name.parse::<TestId>().ok().map(|id| id.without_parameters());
                plain.and_then(|id| self.places.get(id.as_str()).copied().flatten())
            })
            .or_else(|| self.places.get(name.split_once('[')?.0).copied().flatten())
    }
}

fn names(id: &TestId) -> Vec<String> {
    let (module, name) = (id.module(), id.name());
    let classes = id.class_path();
    let mut names = vec![id.to_string(), id.without_scheme().to_owned(), name.clone()];
    for nested in [".", "$", "::"] {
        let class = classes.join(nested);
        for mark in ["#", ".", "::"] {
            names.push(format!("{class}{mark}{name}"));
            for between in [".", "::"] {
                names.push(format!("{module}{between}{class}{mark}{name}"));
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use flakewise_source::{Language, read_source};

    fn tests() -> Vec<SourceTest> {
        let java = "package org.acme; class CartTest { @org.junit.Test public void adds() { assert true; } \
                    @org.junit.Test public void sums() { assert true; } }";
        let python =
            "class TestCart:\n    def test_total(self):\n        pass\n\ndef test_sums():\n    pass\n";
        let mut all = read_source("src/test/java/CartTest.java", Language::Java, java.as_bytes()).tests;
        all.extend(read_source("tests/test_cart.py", Language::Python, python.as_bytes()).tests);
        all.extend(read_source("tests/test_more.py", Language::Python, python.as_bytes()).tests);
        all
    }

    #[test]
    fn a_name_means_a_test_if_it_means_only_one() {
        let tests = tests();
        let names = Names::new(tests.iter());
        let found = |name: &str| names.find(name).map(|place| tests[place].id.to_string());
        let adds = Some("junit:org.acme::CartTest::adds".to_owned());
        for name in [
            "adds",
            "CartTest#adds",
            "org.acme.CartTest#adds",
            "org.acme.CartTest.adds",
            "junit:org.acme::CartTest::adds",
        ] {
            assert_eq!(found(name), adds, "{name}");
        }
        let total = Some("pytest:tests/test_cart.py::TestCart::test_total".to_owned());
        assert_eq!(found("tests/test_cart.py::TestCart::test_total"), total);
        assert_eq!(found("tests/test_cart.py::TestCart::test_total[3-4]"), total);
        assert_eq!(found("pytest:tests/test_cart.py::TestCart::test_total[3-4]"), total);
        assert_eq!(found("TestCart::test_total"), None, "there are two");
        assert_eq!(found("subtracts"), None);
    }
}
