//! The quarantine file, read, judged and edited.

mod edit;
mod judge;
mod parse;

use chrono::NaiveDate;

fn day(text: &str) -> NaiveDate {
    text.parse().expect("a date")
}

/// A file with one entry, and one of a pattern.
const FILE: &str = r#"# Known flakes.

# The sandbox drops connections.
[[quarantine]]
test = "pytest:tests/test_pay.py::test_card"
fingerprints = ["0123456789abcdef", "fedcba9876543210"]
reason = "the sandbox drops connections"
owner = "@acme/payments"
issue = "https://example.org/issues/7"
since = 2026-11-01
until = 2026-11-20 # two weeks and a bit

[[quarantine]]
pattern = "pytest:tests/browser/**"
any-failure = true
reason = "new browser"
owner = "ann@example.org"
since = 2026-11-10
until = 2026-11-30
mode = "skip"

# The end.
"#;
