//! What the history says of tests: which are flaky and which are not.

use std::collections::{HashMap, HashSet};

use flakewise_history::{History, ReportOptions};
use flakewise_model::{Conclusion, Renames, TestId, Value};
use flakewise_predict::Category;

use super::labels::Label;
use crate::error::ExpectedError;

/// A test that never failed counts as not flaky after this many attempts. Most
/// flaky tests fail less than once in a hundred, so that this proves little of
/// one test; but of a thousand such tests hardly forty are flaky anyway, and
/// with a higher bar a young history would teach nothing.
const ENOUGH_ATTEMPTS: u64 = 20;
/// More tests are not learned from.
const MOST_TESTS: usize = 10_000_000;

/// Labels by the verdicts of the history. Proved flakes are flaky; tests that
/// ran often and never failed are not; nothing is said of the rest.
pub(super) fn labels(history: &History) -> Result<Vec<Label>, ExpectedError> {
    let report = history.report(&ReportOptions::default())?;
    let proved = report.findings.iter().filter(|finding| finding.verdict.conclusion == Conclusion::Flaky);
    let flaky: HashSet<TestId> = proved.map(|finding| finding.test.without_parameters()).collect();
    let renames = Renames::new(&history.renames()?);
    let order_dependent: HashSet<TestId> = tests(
        history,
        &renames,
        "SELECT DISTINCT test FROM verdicts WHERE conclusion = 'flaky' AND detail = 'state-dependent'",
    )?
    .into_iter()
    .map(|(test, ..)| test)
    .collect();
    let mut known: HashMap<TestId, (u64, u64)> = HashMap::new();
    let counted = tests(
        history,
        &renames,
        "SELECT test, count(*) AS attempts, count(*) FILTER (WHERE failed) AS failures FROM outcomes GROUP BY test",
    )?;
    for (test, attempts, failures) in counted {
        let sums = known.entry(test).or_default();
        *sums = (sums.0 + attempts, sums.1 + failures);
    }
    let mut labels: Vec<Label> = known
        .into_iter()
        .filter_map(|(test, (attempts, failures))| {
            let is_flaky = flaky.contains(&test);
            let category = (is_flaky && order_dependent.contains(&test)).then_some(Category::OrderDependent);
            (is_flaky || failures == 0 && attempts >= ENOUGH_ATTEMPTS).then(|| Label {
                name: test.to_string(),
                flaky: is_flaky,
                category,
                project: None,
                source: None,
            })
        })
        .collect();
    labels.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(labels)
}

/// Tests by their present ids, without parameters, and up to two numbers beside each.
fn tests(
    history: &History,
    renames: &Renames,
    query: &str,
) -> Result<Vec<(TestId, u64, u64)>, ExpectedError> {
    let rows = history.sql(query, MOST_TESTS)?;
    let count = |value: Option<&Value>| match value {
        Some(Value::Integer(count)) => u64::try_from(*count).unwrap_or_default(),
        _ => 0,
    };
    let test = |row: &Vec<Value>| match row.first() {
        Some(Value::Text(id)) => {
            let id = renames.current(id).parse::<TestId>().ok()?.without_parameters();
            Some((id, count(row.get(1)), count(row.get(2))))
        }
        _ => None,
    };
    Ok(rows.rows.iter().filter_map(test).collect())
}
