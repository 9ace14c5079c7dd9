//! Risks as [SARIF 2.1.0], which code hosts and editors show beside the code.
//!
//! One rule for each kind of flakiness and one for none. A result's
//! fingerprint is made of the rule-independent id of the finding, so that a
//! host knows it again when lines move or the likely kind changes.
//!
//! [SARIF 2.1.0]: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html

use flakewise_model::FindingKind;
use flakewise_predict::Category;
use serde::Serialize;
use serde_json::{Value, json};

use super::report::{Risk, RiskReport};
use super::words;
use crate::json::render;
use crate::words::test_name;

/// Code hosts refuse more results of one run.
const RESULTS: usize = 5000;
const BOOK: &str = "https://github.com/flakewise/flakewise/blob/main/docs/src/guide/prediction.md";

/// What is predicted, as a SARIF log.
pub fn risk_sarif(report: &RiskReport) -> String {
    let named = report.risks.iter().map(|risk| result("warning", risk));
    let likely = report.most_likely.iter().map(|risk| result("note", risk));
    let results: Vec<Value> = named.chain(likely).take(RESULTS).collect();
    let left_out = (report.risks.len() + report.most_likely.len()).saturating_sub(RESULTS);
    let mut notes: Vec<String> = words::honesty(report).into_iter().collect();
    if left_out > 0 {
        notes.push(format!("{left_out} results with less risk were left out"));
    }
    let notes: Vec<Value> =
        notes.iter().map(|note| json!({ "level": "note", "message": { "text": note } })).collect();
    render(&json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "flakewise",
                "version": env!("CARGO_PKG_VERSION"),
                "informationUri": BOOK,
                "rules": rules(),
            }},
            "columnKind": "unicodeCodePoints",
            "originalUriBaseIds": { "SRCROOT": { "description": { "text": "The root of the repository" } } },
            "invocations": [{ "executionSuccessful": true, "toolExecutionNotifications": notes }],
            "results": results,
        }],
    }))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    id: &'static str,
    name: &'static str,
    short_description: Value,
    help: Value,
    help_uri: &'static str,
    default_configuration: Value,
}

/// The place of a rule in the list is part of each result.
fn rules() -> Vec<Rule> {
    let rule = |id, name, text: String, advice: &str| Rule {
        id,
        name,
        short_description: json!({ "text": text }),
        help: json!({ "text": format!("What to do: {advice}") }),
        help_uri: BOOK,
        default_configuration: json!({ "level": "warning" }),
    };
    let general = rule(
        FindingKind::FlakyRisk.name(),
        "FlakyRisk",
        "A test is likely flaky".to_owned(),
        words::advice(None),
    );
    let kinds = Category::ALL.into_iter().map(|category| {
        let text = format!("A test is likely flaky: {}", words::category(category));
        rule(category.name(), pascal(category), text, words::advice(Some(category)))
    });
    std::iter::once(general).chain(kinds).collect()
}

fn pascal(category: Category) -> &'static str {
    match category {
        Category::AsyncWait => "AsyncWait",
        Category::Concurrency => "Concurrency",
        Category::Time => "Time",
        Category::UnorderedCollection => "UnorderedCollection",
        Category::OrderDependent => "OrderDependent",
    }
}

fn result(level: &str, risk: &Risk) -> Value {
    let rule = risk.rule();
    let place = Category::ALL.iter().position(|category| category.name() == rule).map_or(0, |at| at + 1);
    let mut lines =
        vec![format!("`{}` is flaky with a chance of {}", words::name(&test_name(&risk.test)), risk.risk)];
    if let Some(guess) = risk.category {
        lines.push(format!("if so, {} ({})", words::category(guess.category), guess.probability));
    }
    lines.extend(risk.reasons.iter().map(|reason| format!("- {}", words::reason(reason))));
    json!({
        "ruleId": rule,
        "ruleIndex": place,
        "level": level,
        "rank": risk.risk.get() * 100.0,
        "message": { "text": lines.join("\n") },
        "locations": [{
            "physicalLocation": {
                "artifactLocation": { "uri": uri(&risk.path), "uriBaseId": "SRCROOT" },
                "region": { "startLine": risk.line.max(1), "endLine": risk.end_line.max(risk.line).max(1) },
            },
            "logicalLocations": [{ "fullyQualifiedName": risk.test.as_str(), "kind": "function" }],
        }],
        "partialFingerprints": { "flakewiseFinding/v1": risk.id().as_str() },
        "properties": { "risk": risk.risk.get(), "familiarity": words::familiarity_name(risk.familiarity) },
    })
}

/// A path as a relative reference: what is neither unreserved nor a slash is
/// written in percent.
fn uri(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_references() {
        assert_eq!(uri("src/a b/Tést#1.java"), "src/a%20b/T%C3%A9st%231.java");
    }

    #[test]
    fn every_kind_has_a_rule_and_rules_stand_where_results_look() {
        let ids: Vec<_> = rules().iter().map(|rule| rule.id).collect();
        assert_eq!(ids[0], "flaky-risk");
        for (place, category) in Category::ALL.into_iter().enumerate() {
            assert_eq!(ids[place + 1], category.name());
        }
    }
}
