//! Which files are looked into.

use memchr::memmem;

use crate::Language;

impl Language {
    /// The language of a file, by its name.
    pub fn of_path(path: &str) -> Option<Self> {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        let (stem, extension) = name.rsplit_once('.')?;
        if stem.is_empty() {
            return None;
        }
        match extension {
            "py" => Some(Self::Python),
            "java" => Some(Self::Java),
            "rs" => Some(Self::Rust),
            "go" => Some(Self::Go),
            "js" | "jsx" | "mjs" | "cjs" => Some(Self::JavaScript),
            "ts" | "mts" | "cts" => Some(Self::TypeScript),
            "tsx" => Some(Self::Tsx),
            _ => None,
        }
    }
}

/// Whether a file of this name can hold tests that are found: pytest, Go and
/// what runs JavaScript go by the name, Java and Rust by what is inside.
pub fn may_hold_tests(path: &str, language: Language) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    match language {
        Language::Python => {
            name.strip_suffix(".py").is_some_and(|stem| stem.starts_with("test_") || stem.ends_with("_test"))
        }
        Language::Java | Language::Rust => true,
        Language::Go => name.ends_with("_test.go"),
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            let mut words = name.split(['.', '-', '_']);
            // `test` is where Mocha and Node look.
            words.any(|word| matches!(word, "test" | "spec"))
                || path.split(['/', '\\']).any(|folder| matches!(folder, "__tests__" | "test"))
        }
    }
}

/// Whether a file can hold tests, by a look at its bytes that is far cheaper
/// than parsing it.
pub(crate) fn mentions_tests(language: Language, bytes: &[u8]) -> bool {
    match language {
        Language::Python => memmem::find(bytes, b"test").is_some(),
        Language::Java => {
            let test = memmem::find_iter(bytes, b"Test").any(|at| {
                let after = &bytes[at + 4..];
                let word = after.first().is_none_or(|next| !next.is_ascii_alphanumeric());
                word || after.starts_with(b"Case")
                    || after.starts_with(b"Factory")
                    || after.starts_with(b"Template")
            });
            test || memmem::find(bytes, b"@Theory").is_some()
        }
        Language::Rust => memmem::find_iter(bytes, b"test").any(|at| {
            let after = &bytes[at + 4..];
            matches!(after.first(), Some(b']' | b'(' | b' ')) || after.starts_with(b"_case")
        }),
        Language::Go => ["testing.T", "testing.F", "func Example"]
            .iter()
            .any(|word| memmem::find(bytes, word.as_bytes()).is_some()),
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            ["it", "test", "specify"].iter().any(|word| memmem::find(bytes, word.as_bytes()).is_some())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_go_by_the_last_extension() {
        assert_eq!(Language::of_path("src/test/java/CartTest.java"), Some(Language::Java));
        assert_eq!(Language::of_path("tests\\test_cart.py"), Some(Language::Python));
        assert_eq!(Language::of_path("a.py/cart.test.tsx"), Some(Language::Tsx));
        assert_eq!(Language::of_path("a.py/cart"), None);
        assert_eq!(Language::of_path(".py"), None);
    }

    #[test]
    fn tests_of_go_and_javascript_go_by_the_name() {
        assert!(may_hold_tests("cart/sum_test.go", Language::Go));
        assert!(!may_hold_tests("cart/test.go", Language::Go));
        let script = |path| may_hold_tests(path, Language::TypeScript);
        for path in
            ["src/cart.test.ts", "cart.spec.mts", "a/__tests__/cart.ts", "test/cart.ts", "cart-test.ts"]
        {
            assert!(script(path), "{path}");
        }
        for path in ["src/cart.ts", "src/latest.ts", "contest/cart.ts"] {
            assert!(!script(path), "{path}");
        }
        let rust = |text: &str| mentions_tests(Language::Rust, text.as_bytes());
        assert!(rust("#[test]") && rust("#[tokio::test(a)]") && rust("#[rstest]") && rust("#[test_case(1)]"));
        assert!(!rust("#[cfg(test)] mod tests;"));
    }

    #[test]
    fn python_tests_go_by_the_name_and_java_tests_by_the_text() {
        let python = |path| may_hold_tests(path, Language::Python);
        assert!(python("tests/test_cart.py"));
        assert!(python("cart_test.py"));
        assert!(!python("tests/conftest.py"));
        assert!(!python("testcart.py"));
        let java = |text: &str| mentions_tests(Language::Java, text.as_bytes());
        assert!(java("@Test void a() {}"));
        assert!(java("class A extends LuceneTestCase {}"));
        assert!(java("@ParameterizedTest(name = \"\")"));
        assert!(java("@org.junit.Test"));
        assert!(!java("@VisibleForTesting int a; Testable b;"));
    }
}
