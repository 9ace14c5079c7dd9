//! Tests that were renamed or moved.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::escape::find;
use crate::{TestId, Timestamp};

/// A test that has another id than before. Ids have no parameters: all cases of
/// a parameterised test follow it.
#[derive(Clone, Debug, PartialEq)]
pub struct Rename {
    /// The id it had.
    pub former: TestId,
    /// The id it has.
    pub current: TestId,
    /// How much of its source is the same, from 0 to 1; none if a person said so.
    pub similarity: Option<f64>,
}

/// What was decided about a rename.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RenameAction {
    /// It was found by comparing two commits.
    Found,
    /// A person said so.
    Added,
    /// It no longer holds.
    Undone,
}

impl RenameAction {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Found, Self::Added, Self::Undone];

    /// As it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Found => "found",
            Self::Added => "added",
            Self::Undone => "undone",
        }
    }
}

/// A decision about a rename.
#[derive(Clone, Debug, PartialEq)]
pub struct RenameDecision {
    /// The rename.
    pub rename: Rename,
    /// What was decided.
    pub action: RenameAction,
    /// The commit in which it was found.
    pub commit: Option<String>,
    /// When.
    pub decided: Timestamp,
}

/// The renames that hold: which former ids stand for which present ones.
///
/// ```
/// use flakewise_model::{Renames, TestId};
///
/// let id = |text: &str| text.parse::<TestId>().expect("an id");
/// let mut renames = Renames::default();
/// renames.add(&id("pytest:test_a.py::test_old"), &id("pytest:test_a.py::test_new"));
/// renames.add(&id("pytest:test_a.py::test_new"), &id("pytest:test_b.py::test_new"));
/// assert_eq!(renames.current("pytest:test_a.py::test_old[1]"), "pytest:test_b.py::test_new[1]");
/// assert_eq!(
///     renames.formers("pytest:test_b.py::test_new"),
///     ["pytest:test_a.py::test_new", "pytest:test_a.py::test_old"]
/// );
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Renames {
    /// What each former id became. Following it always ends: a test gets an id
    /// that is nobody's former one.
    next: BTreeMap<String, String>,
    /// The same, from the other end.
    previous: BTreeMap<String, BTreeSet<String>>,
}

impl Renames {
    /// What holds after these decisions, in the order of time.
    pub fn new(decisions: &[RenameDecision]) -> Self {
        let mut renames = Self::default();
        for RenameDecision { rename, action, .. } in decisions {
            match action {
                RenameAction::Found | RenameAction::Added => renames.add(&rename.former, &rename.current),
                RenameAction::Undone => renames.undo(&rename.former),
            }
        }
        renames
    }

    /// Whether no test was renamed.
    pub fn is_empty(&self) -> bool {
        self.next.is_empty()
    }

    /// A test has another id from now on. If the id was a former one of some
    /// test, it no longer is.
    pub fn add(&mut self, former: &TestId, current: &TestId) {
        if former == current {
            return;
        }
        self.undo(current);
        self.undo(former);
        self.next.insert(former.to_string(), current.to_string());
        self.previous.entry(current.to_string()).or_default().insert(former.to_string());
    }

    /// Adds several.
    pub fn add_all(&mut self, renames: &[Rename]) {
        for rename in renames {
            self.add(&rename.former, &rename.current);
        }
    }

    /// A former id stands for itself again.
    pub fn undo(&mut self, former: &TestId) {
        let Some(current) = self.next.remove(former.as_str()) else { return };
        if let Some(others) = self.previous.get_mut(&current) {
            others.remove(former.as_str());
            if others.is_empty() {
                self.previous.remove(&current);
            }
        }
    }

    /// What a former id became, in one step.
    pub fn next(&self, former: &TestId) -> Option<TestId> {
        self.next.get(former.as_str())?.parse().ok()
    }

    /// The id that a test has today.
    pub fn current<'a>(&self, test: &'a str) -> Cow<'a, str> {
        if self.next.is_empty() {
            return test.into();
        }
        let (id, parameters) = split(test);
        let Some(mut current) = self.next.get(id) else { return test.into() };
        while let Some(next) = self.next.get(current) {
            current = next;
        }
        format!("{current}{parameters}").into()
    }

    /// The ids that a test had, sorted.
    pub fn formers(&self, test: &str) -> Vec<String> {
        let (id, parameters) = split(test);
        let mut formers = BTreeSet::new();
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            for former in self.previous.get(id).into_iter().flatten() {
                if formers.insert(format!("{former}{parameters}")) {
                    open.push(former);
                }
            }
        }
        formers.into_iter().collect()
    }
}

/// The id of the test and the text of its parameters, brackets included.
fn split(test: &str) -> (&str, &str) {
    test.split_at(find(test, "[").unwrap_or(test.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> TestId {
        TestId::builder("pytest", "t.py").finish(name, None)
    }

    fn current(renames: &Renames, name: &str) -> String {
        renames.current(id(name).as_str()).rsplit("::").next().unwrap_or_default().to_owned()
    }

    #[test]
    fn a_test_that_is_renamed_back_has_one_id() {
        let mut renames = Renames::default();
        renames.add(&id("a"), &id("b"));
        renames.add(&id("b"), &id("a"));
        assert_eq!(current(&renames, "a"), "a");
        assert_eq!(current(&renames, "b"), "a");
        assert_eq!(renames.formers(id("a").as_str()), [id("b").to_string()]);
        renames.undo(&id("b"));
        assert!(renames.is_empty());
        assert_eq!(renames.formers(id("a").as_str()), [] as [String; 0]);
    }

    #[test]
    fn an_id_that_a_new_test_gets_leaves_its_former_one() {
        let mut renames = Renames::default();
        renames.add(&id("a"), &id("b"));
        renames.add(&id("x"), &id("a"));
        assert_eq!(current(&renames, "a"), "a", "it is the id of another test now");
        assert_eq!(current(&renames, "x"), "a");
        assert_eq!(renames.formers(id("b").as_str()), [] as [String; 0]);
    }

    #[test]
    fn parameters_stay_whatever_is_in_them() {
        let mut renames = Renames::default();
        renames.add(&id("a"), &id("b"));
        let case = TestId::builder("pytest", "t.py").finish("a", Some("x[1]::a"));
        let expected = TestId::builder("pytest", "t.py").finish("b", Some("x[1]::a"));
        assert_eq!(renames.current(case.as_str()), expected.as_str());
        assert_eq!(renames.formers(expected.as_str()), [case.to_string()]);
    }

    proptest::proptest! {
        /// Whatever is decided, following a test ends, and both directions agree.
        #[test]
        fn both_directions_agree(steps in proptest::collection::vec((0..6_u8, 0..6_u8, 0..4_u8), 0..40)) {
            let name = |number: u8| id(&format!("t{number}"));
            let mut renames = Renames::default();
            for (from, to, undo) in steps {
                if undo == 0 { renames.undo(&name(from)) } else { renames.add(&name(from), &name(to)) }
            }
            for number in 0..6 {
                let test = name(number);
                let current = renames.current(test.as_str()).into_owned();
                proptest::prop_assert_eq!(renames.current(&current), current.as_str());
                let is_former = renames.formers(&current).contains(&test.to_string());
                proptest::prop_assert_eq!(is_former, current != test.as_str());
            }
        }
    }
}
