//! What speaks for and against one test being flaky, as terminal text.

use std::fmt::Write as _;

use flakewise_model::Foreign;

use crate::risk::{Risk, reason_text};
use crate::style::{BOLD, DIM, GOOD, WARNING, styled};
use crate::words::count;

/// Characters of a line of source that are shown.
const SOURCE: usize = 100;

/// What speaks for and against one test being flaky.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The test with its risk and the reasons.
    pub risk: Risk,
    /// Lines that raise the risk, heaviest first.
    pub raising: Vec<WeighedLine>,
    /// Lines that lower it, heaviest first.
    pub lowering: Vec<WeighedLine>,
    /// How many paths lead to an assertion.
    pub paths: u64,
    /// The heaviest path, from where it begins to the assertion.
    pub heaviest: Vec<PathStep>,
    /// Whether the language has paths at all.
    pub has_paths: bool,
}

/// A line of a test, with what it adds to the risk or takes from it.
#[derive(Clone, Debug, PartialEq)]
pub struct WeighedLine {
    /// In the file.
    pub line: u32,
    /// As written.
    pub text: String,
    /// In log-odds.
    pub weight: f64,
}

/// A node of a path, and how the value before it gets there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathStep {
    /// In the file of the test.
    pub line: u32,
    /// The call or operator; empty for the first node.
    pub through: String,
    /// The variable, literal, call or assertion.
    pub text: String,
    /// The function under test that is called, with its file and line.
    pub callee: Option<String>,
    /// The helper it stands in, and the line there.
    pub helper: Option<String>,
}

/// An explanation for the terminal.
pub fn explain_text(explanation: &Explanation) -> String {
    let Explanation { risk, raising, lowering, paths, heaviest, has_paths } = explanation;
    let mut out = String::new();
    let location = format!("{}:{}", Foreign::new(&risk.path).line(), risk.line);
    let name = styled(BOLD, Foreign::new(risk.test.as_str()).line());
    let _ = writeln!(out, "{name}\n  risk {}, {location}", risk.risk);
    let _ = writeln!(out, "\n{}", styled(WARNING, "for flakiness"));
    for reason in &risk.reasons {
        let _ = writeln!(out, "  {}", reason_text(reason));
    }
    lines(&mut out, raising);
    if risk.reasons.is_empty() && raising.is_empty() {
        let _ = writeln!(out, "  nothing");
    }
    let _ = writeln!(out, "\n{}", styled(GOOD, "against flakiness"));
    lines(&mut out, lowering);
    if lowering.is_empty() {
        let _ = writeln!(out, "  nothing");
    }
    if !has_paths {
        let _ = writeln!(out, "\nno paths: supported for Java and Python only");
        return out;
    }
    if heaviest.is_empty() {
        let _ = writeln!(out, "\nno paths: the test has no assertion and calls nothing");
        return out;
    }
    let _ = writeln!(out, "\n{} of {}", styled(BOLD, "heaviest path"), count(*paths, "path"));
    for PathStep { line, through, text, callee, helper } in heaviest {
        let arrow =
            if through.is_empty() { String::new() } else { format!("-{}-> ", Foreign::new(through).line()) };
        let mut notes = String::new();
        for (what, note) in [("calls", callee), ("in", helper)] {
            if let Some(note) = note {
                let _ = write!(notes, "  {}", styled(DIM, format!("{what} {}", Foreign::new(note).line())));
            }
        }
        let _ = writeln!(out, "  line {line}: {arrow}{}{notes}", Foreign::new(text).cut(SOURCE));
    }
    out
}

fn lines(out: &mut String, lines: &[WeighedLine]) {
    for WeighedLine { line, text, weight } in lines {
        let text = Foreign::new(text.trim()).cut(SOURCE);
        let _ = writeln!(out, "  line {line}: {weight:+.2}  {}", styled(DIM, text));
    }
}
