//! Tests in the library itself, in modules within modules.

#[cfg(test)]
mod tests {
    #[test]
    fn passes() {
        // Nothing to see: the plain green case, with no output.
        assert_eq!(2 + 2, 4);
    }

    mod inner {
        #[test]
        fn passes_in_nested_module() {
            // One level down.
        }

        #[test]
        fn fails_in_nested_module() {
            // One level down, failing.
            assert_eq!("left", "right", "the sides differ: <{}> & co", 42);
        }
    }
}
