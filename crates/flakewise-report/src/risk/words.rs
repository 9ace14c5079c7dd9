//! Risks in words, for all formats.

use flakewise_model::{Foreign, Probability};
use flakewise_predict::{Category, Expectation, Familiarity, ModelCard};

use super::report::{ModelOrigin, RiskReason, RiskReport, RiskScope, Threshold};
use crate::lines::line_numbers;
use crate::words::{count, number, plural, short_commit};

/// Shared lines that are listed one by one.
const LINES: usize = 6;
/// Characters of a name or a word that is not ours.
const NAME: usize = 120;

/// A number from 0 to 1 as a percentage.
pub(super) fn percent(value: f64) -> String {
    Probability::clamped(value).to_string()
}

/// A reason in one line.
pub(super) fn reason(reason: &RiskReason) -> String {
    match reason {
        RiskReason::LooksLike { test, similarity, lines } => {
            let shared =
                if lines.is_empty() { String::new() } else { format!(": {}", line_numbers(lines, LINES)) };
            format!("looks like `{}`, which is flaky (similarity {similarity:.2}){shared}", name(test))
        }
        RiskReason::Uses { text, line, .. } => format!("line {line}: {}", name(text)),
        RiskReason::Word { text, line: Some(line), .. } => {
            format!("line {line}: `{}` is common in flaky tests", name(text))
        }
        RiskReason::Word { text, line: None, .. } => {
            format!("around it, `{}` is common in flaky tests", name(text))
        }
        RiskReason::Path { steps, lines, .. } => format!("{}: {}", line_numbers(lines, LINES), path(steps)),
        RiskReason::Around { text, calls: 0, .. } => {
            format!("its set-up, superclasses or helpers: {}", name(text))
        }
        RiskReason::Around { text, calls, .. } => {
            format!("code under test, {} away: {}", count(u64::from(*calls), "call"), name(text))
        }
        RiskReason::Siblings { flaky, known } => {
            let flaky = plural(u64::from(*flaky), "is flaky", "are flaky");
            format!("of {} around it, {flaky}", count(u64::from(*known), "known test"))
        }
    }
}

/// Characters of a step of a path.
const STEP: usize = 40;

/// path `0` → `port` → … → `answer` → `assertEquals`. Not every edge is a flow of
/// data: a sleep only precedes its assertion, so no verb is used.
fn path(steps: &[String]) -> String {
    let shown = |step: &String| format!("`{}`", Foreign::new(step).cut(STEP));
    let texts: Vec<String> = match steps {
        [first, second, .., before, last] if steps.len() > STEPS => {
            vec![shown(first), shown(second), "…".to_owned(), shown(before), shown(last)]
        }
        _ => steps.iter().map(shown).collect(),
    };
    format!("path {}", texts.join(" → "))
}

/// Longer paths are shown with their first two and last two steps.
const STEPS: usize = 5;

/// Text that is not ours, in one line of bearable length.
pub(super) fn name(text: &str) -> String {
    Foreign::new(text).cut(NAME)
}

/// What a kind of flakiness is.
pub(super) fn category(category: Category) -> &'static str {
    match category {
        Category::AsyncWait => "it does not wait properly for something asynchronous",
        Category::Concurrency => "its threads can interleave in more than one way",
        Category::Time => "it depends on the clock or the calendar",
        Category::UnorderedCollection => "it depends on the order of a collection that has none",
        Category::OrderDependent => "it depends on what other tests left behind",
    }
}

/// How much a model knows of a test's surroundings.
pub(super) fn familiarity(familiarity: Familiarity) -> &'static str {
    match familiarity {
        Familiarity::NewProject => "of projects it was not trained on",
        Familiarity::KnownProject => "in classes and files it was not trained on",
        Familiarity::KnownClass => "in classes and files it was trained on",
    }
}

/// The stable name of a familiarity.
pub(super) fn familiarity_name(familiarity: Familiarity) -> &'static str {
    match familiarity {
        Familiarity::NewProject => "new-project",
        Familiarity::KnownProject => "known-project",
        Familiarity::KnownClass => "known-class",
    }
}

/// Whose model it is.
pub(super) fn origin(origin: &ModelOrigin) -> String {
    match origin {
        ModelOrigin::File(path) => format!("the model `{}`", name(path)),
        ModelOrigin::Own(path) => format!("this project's own model, `{}`", name(path)),
        ModelOrigin::Pretrained => "the pretrained model".to_owned(),
    }
}

/// What a model learned from.
pub(super) fn training(card: &ModelCard) -> String {
    let projects =
        if card.projects > 1 { format!(" of {}", count(card.projects, "project")) } else { String::new() };
    format!("{}{projects}, {} of them flaky", count(card.tests, "test"), number(card.flaky))
}

/// `12 tests in 3 files`, and what they were chosen by.
pub(super) fn scope(scope: &RiskScope) -> String {
    let tests = match &scope.base {
        Some(_) => count(scope.tests, "changed test"),
        None => count(scope.tests, "test"),
    };
    let since = scope.base.as_ref().map_or_else(String::new, |(commit, found)| {
        format!(", compared with `{}` ({})", short_commit(commit), name(found))
    });
    format!("{tests} in {}{since}", count(scope.files, "file"))
}

/// How good a model was measured to be at a threshold.
pub(super) fn expectation(expectation: &Expectation) -> String {
    format!(
        "at a threshold of {:.2}, {} precision and {} recall",
        expectation.threshold,
        percent(expectation.precision),
        percent(expectation.recall),
    )
}

/// How little to expect of the pretrained model, in one line.
pub(super) fn honesty(report: &RiskReport) -> Option<String> {
    if report.origin != ModelOrigin::Pretrained {
        return None;
    }
    let measured = report.card.expectations.iter();
    let measured = measured.filter(|expectation| expectation.familiarity == Familiarity::NewProject);
    Some(match measured.max_by(|left, right| left.precision.total_cmp(&right.precision)) {
        Some(measured) => format!(
            "the pretrained model was not trained on this project; its best result on such projects: {}",
            expectation(measured)
        ),
        None => {
            "the pretrained model was not trained on this project, and its accuracy on such projects was \
                 not measured"
                .to_owned()
        }
    })
}

/// What was measured nearest to a threshold.
pub(super) fn nearest(card: &ModelCard, familiarity: Familiarity, threshold: f64) -> Option<&Expectation> {
    let distance = |expectation: &&Expectation| (expectation.threshold - threshold).abs();
    card.expectations
        .iter()
        .filter(|expectation| expectation.familiarity == familiarity)
        .min_by(|left, right| distance(left).total_cmp(&distance(right)))
}

/// Why tests are named from this risk on; none if the user said so.
pub(super) fn threshold(familiarity_of: Familiarity, threshold: Threshold) -> Option<String> {
    let place = familiarity(familiarity_of);
    match threshold {
        Threshold::Given(_) | Threshold::All => None,
        Threshold::Usual(value) => Some(format!("tests are listed from a risk of {}", percent(value))),
        Threshold::Measured(measured) => Some(format!(
            "tests {place} are listed from a risk of {}, which had {} precision",
            percent(measured.threshold),
            percent(measured.precision),
        )),
        Threshold::Imprecise(Some(best)) => Some(format!(
            "for tests {place}, no threshold reached 95 % precision; the best had {}",
            percent(best.precision),
        )),
        Threshold::Imprecise(None) => Some(format!("for tests {place}, no threshold reached 95 % precision")),
    }
}
