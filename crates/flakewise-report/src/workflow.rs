//! Annotations of GitHub Actions.
//!
//! The form is that of [workflow commands]. Names and messages come from outside:
//! everything that could end a line, a property or the list of them is
//! escaped, so that none of it can become a command.
//!
//! [workflow commands]: https://docs.github.com/actions/reference/workflow-commands-for-github-actions

use flakewise_model::Foreign;

/// GitHub shows ten annotations of each level per step, and drops the rest.
pub(crate) const LIMIT: usize = 10;

/// One command on a line of its own, with a message of several lines.
pub(crate) fn command(level: &str, properties: &[(&str, String)], message: &[String]) -> String {
    let property = |(name, value): &(&str, String)| {
        format!("{name}={}", escaped(value).replace(':', "%3A").replace(',', "%2C"))
    };
    let properties: Vec<_> = properties.iter().map(property).collect();
    let space = if properties.is_empty() { "" } else { " " };
    let message: Vec<_> = message.iter().map(|line| escaped(line)).collect();
    format!("::{level}{space}{}::{}\n", properties.join(","), message.join("%0A"))
}

/// One line, in which `%0A` would be a line end.
fn escaped(line: &str) -> String {
    Foreign::new(line).line().replace('%', "%25")
}
