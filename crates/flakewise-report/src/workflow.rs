//! Annotations of GitHub Actions.
//!
//! The form is that of [workflow commands]. Names and messages are not ours:
//! everything that could end a line, a property or the list of them is
//! escaped, so that none of it can become a command.
//!
//! [workflow commands]: https://docs.github.com/actions/reference/workflow-commands-for-github-actions

/// GitHub shows ten annotations of each level per step, and drops the rest.
pub(crate) const LIMIT: usize = 10;

/// One command on a line of its own.
pub(crate) fn command(level: &str, properties: &[(&str, String)], message: &str) -> String {
    let properties: Vec<_> =
        properties.iter().map(|(name, value)| format!("{name}={}", property(value))).collect();
    let space = if properties.is_empty() { "" } else { " " };
    format!("::{level}{space}{}::{}\n", properties.join(","), data(message))
}

/// Escapes as the toolkit of GitHub does.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
