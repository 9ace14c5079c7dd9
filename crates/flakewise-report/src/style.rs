//! The few styles of the terminal: red is bad, yellow is doubtful, green is
//! good, cyan is advice.

use anstyle::{AnsiColor, Style};
use flakewise_model::{Foreign, Notice};

/// For the word that says something failed.
pub const ERROR: Style = AnsiColor::Red.on_default().bold();
/// For the word that says something is doubtful.
pub const WARNING: Style = AnsiColor::Yellow.on_default().bold();
/// For advice.
pub const HINT: Style = AnsiColor::Cyan.on_default();

pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();

/// `text` in a style.
pub(crate) fn styled(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

/// What a person should know about how something was done, as a line.
pub(crate) fn notice_line(notice: &Notice) -> String {
    let label = if notice.warning { styled(WARNING, "warning:") } else { styled(HINT, "note:") };
    format!("{label} {}", Foreign::new(&notice.text).line())
}
