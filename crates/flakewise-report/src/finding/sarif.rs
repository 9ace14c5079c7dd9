//! Findings as [SARIF 2.1.0], which code hosts and editors show beside the code.
//!
//! One rule per kind, one result per test. The fingerprint of a result is that of
//! its test, so that a host recognises it when lines move or the kind changes.
//!
//! [SARIF 2.1.0]: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html

use serde_json::{Value, json};

use super::{Finding, Findings, Kind, Level, Place, Subject};
use crate::json::render;

const BOOK: &str = "https://github.com/flakewise/flakewise/blob/main/docs/src/introduction.md";

/// The findings as a SARIF log: the 5,000 most important at most.
pub fn findings_sarif(findings: &Findings) -> String {
    let (results, left_out) = findings.results();
    let results: Vec<Value> = results.map(|(finding, subject)| result(finding, subject)).collect();
    let mut notes = findings.notes.clone();
    if left_out > 0 {
        notes.push(format!("{left_out} less important results were left out"));
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
                "rules": Kind::ALL.map(rule),
            }},
            "columnKind": "unicodeCodePoints",
            "originalUriBaseIds": { "SRCROOT": { "description": { "text": "The root of the repository" } } },
            "invocations": [{ "executionSuccessful": true, "toolExecutionNotifications": notes }],
            "results": results,
        }],
    }))
}

fn rule(kind: Kind) -> Value {
    json!({
        "id": kind.id(),
        "shortDescription": { "text": kind.meaning() },
        "help": { "text": format!("What to do: {}", kind.advice()) },
        "helpUri": kind.url(),
        "defaultConfiguration": { "level": "warning" },
    })
}

fn result(finding: &Finding, subject: &Subject) -> Value {
    let level = match finding.level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Note => "note",
    };
    let title = subject.title(&finding.conclusion);
    let lines: Vec<String> =
        std::iter::once(title).chain(subject.failure.clone()).chain(finding.lines(usize::MAX)).collect();
    let mut location = json!({
        "logicalLocations": [{ "fullyQualifiedName": subject.test, "kind": "function" }],
    });
    if let Some(place) = &subject.place {
        location["physicalLocation"] = physical(place);
    }
    let mut result = json!({
        "ruleId": finding.kind.id(),
        "ruleIndex": Kind::ALL.iter().position(|kind| *kind == finding.kind),
        "level": level,
        "message": { "text": lines.join("\n") },
        "locations": [location],
        "partialFingerprints": { "flakewiseFinding/v1": subject.id.as_str() },
    });
    if let Some(text) = &finding.quarantine {
        result["suppressions"] = json!([{ "kind": "external", "justification": text }]);
    }
    if let Some(risk) = subject.risk {
        result["rank"] = json!(risk.get() * 100.0);
    }
    result
}

fn physical(place: &Place) -> Value {
    json!({
        "artifactLocation": { "uri": uri(&place.path), "uriBaseId": "SRCROOT" },
        "region": { "startLine": place.line, "endLine": place.end_line },
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
}
