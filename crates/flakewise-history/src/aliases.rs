//! Ids that tests had before: under another name or in another file
//! ([`flakewise_model::Renames`]), and without the path of the rootdir in front.
//!
//! pytest names tests from its rootdir. Ids begin at the root of the repository
//! instead, so that services of one repository never share a test; earlier
//! versions took pytest's names as they are. A run says from which folders its
//! ids were told (`roots` in the table `runs`); where it does not, they may
//! begin anywhere.
//!
//! A test continues under its present id if that is unambiguous: exactly one
//! known test has had the former id. Where there are two, as with
//! `svc-a/tests/test_v.py` and `svc-b/tests/test_v.py`, nobody can tell whose
//! rows the former ones are, and they stay a test of their own.
//!
//! Nothing in a table is changed for it: ids are translated when they are read.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use deltalake::datafusion::prelude::SessionContext;
use flakewise_model::{Renames, TestId};

use crate::report::{Columns, list, literal};
use crate::{History, HistoryError};

/// How the root itself is written in a list of roots.
const TOP: &str = ".";

/// The column `roots` of a run: one folder per line.
pub(crate) fn roots_text(roots: &BTreeSet<String>) -> String {
    let folder = |root: &String| if root.is_empty() { TOP.to_owned() } else { root.replace('\n', " ") };
    roots.iter().map(folder).collect::<Vec<_>>().join("\n")
}

fn parse_roots(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(|root| if root == TOP { "" } else { root })
}

/// Which former ids stand for which present ones.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Aliases {
    current: HashMap<String, String>,
    former: HashMap<String, Vec<String>>,
    renames: Renames,
}

impl Aliases {
    /// The id under which a test of this id is known today.
    pub(crate) fn current<'a>(&'a self, test: &'a str) -> Cow<'a, str> {
        self.renames.current(self.current.get(test).map_or(test, String::as_str))
    }

    /// The ids the test had before.
    fn former(&self, test: &str) -> BTreeSet<String> {
        let renamed = self.renames.formers(test);
        let names = renamed.iter().map(String::as_str).chain([test]);
        let without_path = names.filter_map(|name| self.former.get(name)).flatten();
        without_path.chain(&renamed).cloned().collect()
    }

    /// These tests, by every id they are known by, sorted.
    pub(crate) fn all_names<'a>(&'a self, tests: impl IntoIterator<Item = &'a str>) -> Vec<String> {
        let mut names = BTreeSet::new();
        for test in tests {
            let current = self.current(test).into_owned();
            names.extend(self.former(&current));
            names.insert(current);
        }
        names.into_iter().collect()
    }

    /// `attempts` with these tests alone and their former ids translated, as
    /// SQL; none if they had no others.
    pub(crate) fn translated(&self, tests: &[&str]) -> Option<String> {
        let pairs: Vec<_> = tests
            .iter()
            .flat_map(|test| self.former(test).into_iter().map(move |former| (former, test)))
            .map(|(former, test)| format!("WHEN {} THEN {}", literal(&former), literal(test)))
            .collect();
        if pairs.is_empty() {
            return None;
        }
        let names = self.all_names(tests.iter().copied());
        let others: Vec<_> = crate::columns::ATTEMPTS
            .iter()
            .filter(|column| column.name != "test")
            .map(|column| format!("\"{}\"", column.name))
            .collect();
        Some(format!(
            "(SELECT {}, CASE test {} ELSE test END AS test FROM attempts
              WHERE test BETWEEN {} AND {} {}) AS attempts",
            others.join(", "),
            pairs.join(" "),
            literal(names.first()?),
            literal(names.last()?),
            list("test", "IN", &names)
        ))
    }

    /// Takes what stands for exactly one test. `claims` are former ids and the
    /// present ids that may have had them.
    fn from_claims(claims: BTreeMap<String, BTreeSet<String>>, renames: Renames) -> Self {
        let mut aliases = Self { renames, ..Self::default() };
        for (former, claimants) in claims {
            let mut claimants = claimants.into_iter();
            let (Some(test), None) = (claimants.next(), claimants.next()) else { continue };
            if test != former {
                aliases.former.entry(test.clone()).or_default().push(former.clone());
                aliases.current.insert(former, test);
            }
        }
        aliases
    }
}

impl History {
    /// Says that these tests had those ids in histories written by earlier
    /// versions: present ids, each with its former one. The caller knows that
    /// no other test of the repository had it. What the history says of other
    /// tests can still make a former id ambiguous.
    pub fn assume_former(&self, tests: impl IntoIterator<Item = (TestId, TestId)>) {
        let mut assumed = self.assumed.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        assumed.extend(tests.into_iter().map(|(test, former)| (test.to_string(), former.to_string())));
    }

    /// The former ids of tests: of these, or of all.
    pub(crate) async fn aliases(
        &self,
        session: &SessionContext,
        wanted: Option<&[&str]>,
    ) -> Result<Aliases, HistoryError> {
        let renames = self.current_renames().await?;
        let (roots, any_former) = roots(session).await?;
        let assumed = self.assumed.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        // The common cases: nobody has a rootdir of its own, or no run is from
        // before there were roots.
        if !any_former || (assumed.is_empty() && roots.iter().all(String::is_empty)) {
            return Ok(Aliases { renames, ..Aliases::default() });
        }
        // A test may have been renamed before ids had the path in front.
        let wanted: Option<Vec<String>> = wanted.map(|wanted| {
            let known = Aliases { renames: renames.clone(), ..Aliases::default() };
            known.all_names(wanted.iter().copied())
        });
        let among = match &wanted {
            Some(wanted) => {
                let names = related(wanted, &roots, &assumed);
                let (Some(first), Some(last)) = (names.first(), names.last()) else {
                    return Ok(Aliases { renames, ..Aliases::default() });
                };
                let (first, last) = (literal(first), literal(last));
                format!("AND test BETWEEN {first} AND {last} {}", list("test", "IN", &names))
            }
            None => String::new(),
        };
        let query = format!(
            "SELECT DISTINCT attempts.test AS test, told.roots AS roots
             FROM attempts JOIN (SELECT run, report, roots FROM reports WHERE roots IS NOT NULL) AS told
               ON attempts.run = told.run AND attempts.report = told.report
             WHERE true {among}"
        );
        let mut claims: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let frame = session.sql(&query).await.map_err(HistoryError::query)?;
        for batch in frame.collect().await.map_err(HistoryError::query)? {
            let columns = Columns(&batch);
            let (tests, roots) = (columns.texts("test")?, columns.texts("roots")?);
            for (test, roots) in tests.into_iter().zip(roots) {
                let (Some(test), Some(roots)) = (test, roots) else { continue };
                if let Some(former) = former_id(&test, &roots) {
                    claims.entry(former).or_default().insert(test);
                }
            }
        }
        let is_wanted = |test: &String| wanted.as_ref().is_none_or(|wanted| wanted.contains(test));
        for (test, former) in assumed.into_iter().filter(|(test, _)| is_wanted(test)) {
            claims.entry(former).or_default().insert(test);
        }
        Ok(Aliases::from_claims(claims, renames))
    }
}

/// All roots that runs tell ids from, and whether some runs do not say so.
async fn roots(session: &SessionContext) -> Result<(BTreeSet<String>, bool), HistoryError> {
    let query = "SELECT roots, count(*) AS reports FROM reports GROUP BY roots";
    let mut roots = BTreeSet::new();
    let mut any_former = false;
    let frame = session.sql(query).await.map_err(HistoryError::query)?;
    for batch in frame.collect().await.map_err(HistoryError::query)? {
        for text in Columns(&batch).texts("roots")? {
            any_former |= text.is_none();
            roots.extend(text.iter().flat_map(|text| parse_roots(text)).map(str::to_owned));
        }
    }
    Ok((roots, any_former))
}

/// The id a test had before ids began at the root of the repository: from the
/// innermost of its run's roots that it is in.
fn former_id(test: &str, roots: &str) -> Option<String> {
    let id: TestId = test.parse().ok()?;
    let within = parse_roots(roots).filter_map(|root| Some((root.len(), id.outside(root)?)));
    within.max_by_key(|(length, _)| *length).map(|(_, former)| former.to_string())
}

/// Every id that has a say in which former ids stand for these tests, sorted.
fn related(tests: &[String], roots: &BTreeSet<String>, assumed: &HashMap<String, String>) -> Vec<String> {
    let mut formers: HashSet<TestId> = HashSet::new();
    for test in tests {
        let Ok(id) = test.parse::<TestId>() else { continue };
        formers.extend(roots.iter().filter_map(|root| id.outside(root)));
        formers.extend(assumed.get(test).and_then(|former| former.parse().ok()));
        // Somebody may ask by a former id.
        formers.insert(id);
    }
    let mut names = BTreeSet::new();
    for former in &formers {
        names.insert(former.to_string());
        names.extend(roots.iter().map(|root| former.inside(root).to_string()));
    }
    names.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims(pairs: &[(&str, &str)]) -> Aliases {
        let mut claims: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (test, roots) in pairs {
            if let Some(former) = former_id(test, roots) {
                claims.entry(former).or_default().insert((*test).to_owned());
            }
        }
        Aliases::from_claims(claims, Renames::default())
    }

    #[test]
    fn a_former_id_stands_for_the_only_test_that_had_it() {
        let aliases = claims(&[("pytest:svc-a/test_a.py::test", "svc-a"), ("pytest:test_b.py::test", ".")]);
        assert_eq!(aliases.current("pytest:test_a.py::test"), "pytest:svc-a/test_a.py::test");
        assert_eq!(aliases.current("pytest:test_b.py::test"), "pytest:test_b.py::test");
        let former = aliases.former("pytest:svc-a/test_a.py::test");
        assert_eq!(former.into_iter().collect::<Vec<_>>(), ["pytest:test_a.py::test"]);
    }

    #[test]
    fn nobody_guesses_between_two_tests() {
        let services = [("pytest:svc-a/test.py::test", "svc-a"), ("pytest:svc-b/test.py::test", "svc-b")];
        assert_eq!(claims(&services), Aliases::default());
        let top = [("pytest:svc-a/test.py::test", "svc-a"), ("pytest:test.py::test", ".")];
        assert_eq!(claims(&top), Aliases::default(), "the test at the top may have had it too");
    }

    #[test]
    fn of_several_roots_the_innermost_counts() {
        let id = "pytest:svc/a/test.py::test";
        assert_eq!(former_id(id, "svc\nsvc/a"), Some("pytest:test.py::test".to_owned()));
        assert_eq!(former_id(id, ".\nother"), Some(id.to_owned()));
        assert_eq!(former_id(id, "other"), None);
    }

    #[test]
    fn roots_survive_the_text_form() {
        let roots: BTreeSet<String> = ["", "svc-a", "svc-b/x"].map(str::to_owned).into();
        assert_eq!(roots_text(&roots), ".\nsvc-a\nsvc-b/x");
        assert_eq!(parse_roots(&roots_text(&roots)).map(str::to_owned).collect::<BTreeSet<_>>(), roots);
    }
}
