//! What the names that pytest has for tests say of where they are.

/// The class of a test; its file, if it is in none.
pub(crate) fn class_of(name: &str) -> &str {
    let plain = name.split('[').next().unwrap_or(name);
    plain.rsplit_once("::").map_or(plain, |(class, _)| class)
}

/// The file of a test.
pub(crate) fn file_of(name: &str) -> &str {
    name.split("::").next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_no_part_of_a_place() {
        assert_eq!(class_of("a/test_b.py::TestC::test_d[x::y]"), "a/test_b.py::TestC");
        assert_eq!(class_of("a/test_b.py::test_d"), "a/test_b.py");
        assert_eq!(file_of("a/test_b.py::TestC::test_d[x::y]"), "a/test_b.py");
    }
}
