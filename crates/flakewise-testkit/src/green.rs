//! What may turn green: small projects, each with a change and a command, and
//! the only right exit code and headlines under each policy of `flakewise run`.
//!
//! [`scenarios`] is the table. `zoo/green/README.md` says how a scenario is
//! stated. Nothing here is random: a flake is scripted by counting its attempts
//! in a folder outside of the repository, see `zoo/green/scripted.py`.

mod around;
mod claims;
mod commands;
mod repository;
mod tolerated;

use std::fmt;

pub use repository::Repository;

/// Every scenario, grouped as in the source.
pub fn scenarios() -> Vec<Scenario> {
    [tolerated::scenarios(), commands::scenarios(), around::scenarios(), claims::scenarios()].concat()
}

/// Which failures leave a build green.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// No option: the exit code is that of the command.
    None,
    /// `--tolerate known`.
    Known,
    /// `--tolerate flaky`.
    Flaky,
}

impl Policy {
    /// All of them, in the order of [`Scenario::codes`].
    pub const ALL: [Self; 3] = [Self::None, Self::Known, Self::Flaky];
    /// Those that may turn a red build green.
    pub const TOLERANT: [Self; 2] = [Self::Known, Self::Flaky];

    /// The options of `flakewise run` that ask for it.
    pub fn options(self) -> &'static [&'static str] {
        match self {
            Self::None => &[],
            Self::Known => &["--tolerate", "known"],
            Self::Flaky => &["--tolerate", "flaky"],
        }
    }

    /// Its name: `none`, `known`, `flaky`.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Known => "known",
            Self::Flaky => "flaky",
        }
    }
}

/// What the first line about a failure says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Headline {
    /// The change broke it.
    Regression,
    /// It could not be decided.
    Undecided,
    /// It passes and fails, and that is new with this change.
    NewFlake,
    /// What the tests run on broke.
    Infrastructure,
    /// It fails consistently, not because of this change.
    Environment,
    /// It fails at the base too.
    BrokenBefore,
    /// It passes and fails, and nothing says that this is new.
    Flaky,
}

impl Headline {
    /// As `verdict.headline` of the JSON has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Regression => "regression",
            Self::Undecided => "undecided",
            Self::NewFlake => "new-flake",
            Self::Infrastructure => "infrastructure",
            Self::Environment => "environment",
            Self::BrokenBefore => "broken-before",
            Self::Flaky => "flaky",
        }
    }

    /// As the text begins a failure.
    pub fn label(self) -> &'static str {
        match self {
            Self::Regression => "REGRESSION",
            Self::Undecided => "UNDECIDED",
            Self::NewFlake => "NEW FLAKE",
            Self::Infrastructure => "INFRASTRUCTURE",
            Self::Environment => "ENVIRONMENT",
            Self::BrokenBefore => "BROKEN BEFORE",
            Self::Flaky => "FLAKY",
        }
    }
}

/// What the change does to a file.
#[derive(Clone, Debug)]
pub(crate) struct Edit {
    path: String,
    /// None if it is removed.
    content: Option<String>,
}

/// Where an earlier run took place, before the one that is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Past {
    /// The commit before the base, on main.
    Earlier,
    /// The base, on main.
    Base,
    /// The commit that is judged: an earlier build of the same change.
    Change,
    /// A commit on top of the change: another branch that is stacked on it.
    Stacked,
    /// The base with the change as uncommitted work.
    Uncommitted,
}

/// An earlier run.
#[derive(Clone, Debug)]
pub struct EarlierRun {
    /// Where.
    pub at: Past,
    /// The folder of the project it ran in.
    pub folder: &'static str,
    /// Whether no scripted flake failed in it.
    pub calm: bool,
}

/// How the change lies in the repository of the run that is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checkout {
    /// A commit on a branch off main.
    Branch,
    /// Uncommitted work on main.
    Uncommitted,
    /// The base itself, with `--base HEAD`: nothing changed.
    Unchanged,
    /// The same as a branch, cloned with a depth of one commit.
    Shallow,
    /// The files, without git.
    NoGit,
}

/// What must be installed beside pytest: tox, nox, uv, pytest-cov. The harness
/// has a Python with all of them, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tools {
    /// pytest alone.
    Pytest,
    /// All of them.
    All,
}

/// One project with a change and a command, and what must come of it.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its name, unique.
    pub name: &'static str,
    /// What happens and why the answer is the right one.
    pub about: &'static str,
    pub(crate) base: Vec<(String, String)>,
    pub(crate) change: Vec<Edit>,
    /// Files that git ignores, in the work tree of every run.
    pub(crate) ignored: Vec<(&'static str, &'static str)>,
    /// Runs before the one that is judged, with the same command and store.
    pub history: Vec<EarlierRun>,
    /// How the change lies in the repository.
    pub checkout: Checkout,
    /// The folder of the project in which the command runs.
    pub folder: &'static str,
    /// Options of `flakewise run` beside the policy.
    pub options: Vec<&'static str>,
    /// The command; the word `$PY` stands for the Python.
    pub command: Vec<String>,
    /// What must be installed.
    pub tools: Tools,
    /// The only right exit codes, for each of [`Policy::ALL`].
    pub codes: [i32; 3],
    /// The policies it is run under: all, unless it takes long.
    pub(crate) policies: Vec<Policy>,
    /// The only right headlines; any of several if the evidence allows more.
    pub(crate) headlines: Vec<(Vec<Policy>, String, Vec<Headline>)>,
    /// Whether headlines are left open, where it depends on timing which tests
    /// get to run.
    pub open: bool,
    /// Why ours is red where the right code is 0.
    pub needless_red: Option<&'static str>,
}

/// The project that every scenario starts from.
const PROJECT: [(&str, &str); 5] = [
    ("scripted.py", include_str!("../../../zoo/green/scripted.py")),
    ("pytest.ini", "[pytest]\naddopts = -p no:cacheprovider\npythonpath = .\n"),
    ("shop/__init__.py", ""),
    ("shop/prices.py", "def total(prices):\n    return sum(prices)\n"),
    (
        "tests/test_prices.py",
        "from shop.prices import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n",
    ),
];

/// A change of `shop/prices.py` that breaks nothing.
const HARMLESS: &str = "def total(prices):\n    return sum(prices, start=0)\n";
/// A change of `shop/prices.py` that breaks [`TOTAL`].
const BROKEN: &str = "def total(prices):\n    return sum(prices) - 1\n";
/// The test of `shop/prices.py`.
const TOTAL: &str = "tests/test_prices.py::test_total";

/// A test that fails at the first attempt of every run, and touches nothing
/// that changes.
const MIRROR_TEST: &str = r#"from scripted import steady


def test_mirror():
    assert steady("mirror"), "the mirror did not answer"
"#;
/// Where it is.
const MIRROR_FILE: &str = "tests/test_mirror.py";
/// Its name.
const MIRROR: &str = "tests/test_mirror.py::test_mirror";

impl Scenario {
    /// A scenario with the project as it is, no failure, and a harmless change
    /// on a branch; pytest is started directly.
    fn new(name: &'static str, about: &'static str) -> Self {
        Self {
            name,
            about,
            base: PROJECT.iter().map(|(path, content)| ((*path).to_owned(), (*content).to_owned())).collect(),
            change: Vec::new(),
            ignored: Vec::new(),
            history: Vec::new(),
            checkout: Checkout::Branch,
            folder: ".",
            options: Vec::new(),
            command: words(&["$PY", "-m", "pytest"]),
            tools: Tools::Pytest,
            codes: [0, 0, 0],
            policies: Policy::ALL.to_vec(),
            headlines: Vec::new(),
            open: false,
            needless_red: None,
        }
    }

    /// Adds a file to the base, or replaces it.
    fn file(mut self, path: &str, content: impl Into<String>) -> Self {
        self.base.retain(|(other, _)| other != path);
        self.base.push((path.to_owned(), content.into()));
        self
    }

    /// Adds the test that fails at the first attempt of every run.
    fn mirror(self) -> Self {
        self.file(MIRROR_FILE, MIRROR_TEST)
    }

    /// The change writes a file.
    fn change(mut self, path: &str, content: impl Into<String>) -> Self {
        self.change.push(Edit { path: path.to_owned(), content: Some(content.into()) });
        self
    }

    /// The change removes a file.
    fn delete(mut self, path: &str) -> Self {
        self.change.push(Edit { path: path.to_owned(), content: None });
        self
    }

    fn ignored(mut self, path: &'static str, content: &'static str) -> Self {
        self.ignored.push((path, content));
        self
    }

    /// The suite ran twice without the change: once in which flakes failed as
    /// they are scripted to, and once in which they passed.
    fn known(self) -> Self {
        self.past(Past::Base).calm(Past::Base)
    }

    /// The suite ran before, and flakes failed as they are scripted to.
    fn past(mut self, at: Past) -> Self {
        self.history.push(EarlierRun { at, folder: self.folder, calm: false });
        self
    }

    /// The suite ran before, and no flake failed.
    fn calm(mut self, at: Past) -> Self {
        self.history.push(EarlierRun { at, folder: self.folder, calm: true });
        self
    }

    /// The suite of this folder ran before.
    fn past_in(mut self, at: Past, folder: &'static str) -> Self {
        self.history.push(EarlierRun { at, folder, calm: false });
        self
    }

    fn checkout(mut self, checkout: Checkout) -> Self {
        self.checkout = checkout;
        self
    }

    fn folder(mut self, folder: &'static str) -> Self {
        self.folder = folder;
        self
    }

    fn options(mut self, options: &[&'static str]) -> Self {
        self.options.extend(options);
        self
    }

    /// Starts pytest directly, with these arguments.
    fn pytest(mut self, arguments: &[&str]) -> Self {
        self.command = words(&["$PY", "-m", "pytest"]);
        self.command.extend(words(arguments));
        self
    }

    fn command(mut self, command: &[&str]) -> Self {
        self.command = words(command);
        self
    }

    /// Runs a line of shell; `$PY` is Python.
    fn shell(self, line: &str) -> Self {
        self.command(&["sh", "-c", line])
    }

    /// Runs make with these arguments; the recipe may use `$(PY)`.
    fn make(self, makefile: &str, arguments: &[&str]) -> Self {
        let mut command = vec!["make"];
        command.extend(arguments);
        self.file("Makefile", makefile).command(&command)
    }

    fn tools(mut self) -> Self {
        self.tools = Tools::All;
        self
    }

    /// The only right exit codes, with no policy, `known` and `flaky`.
    fn exits(mut self, codes: [i32; 3]) -> Self {
        self.codes = codes;
        self
    }

    /// A test fails with this headline, whatever the policy.
    fn says(self, test: &str, headline: Headline) -> Self {
        self.says_under(&Policy::ALL, test, headline)
    }

    /// A test fails with this headline under these policies, and does not run
    /// or fail under others.
    fn says_under(mut self, policies: &[Policy], test: &str, headline: Headline) -> Self {
        self.headlines.push((policies.to_vec(), test.to_owned(), vec![headline]));
        self
    }

    /// A test fails, and the evidence allows any of these headlines.
    fn says_any(mut self, test: &str, headlines: &[Headline]) -> Self {
        self.headlines.push((Policy::ALL.to_vec(), test.to_owned(), headlines.to_vec()));
        self
    }

    /// It takes long and is run under one policy.
    fn only(mut self, policy: Policy) -> Self {
        self.policies = vec![policy];
        self
    }

    /// Headlines are left open.
    fn open(mut self) -> Self {
        self.open = true;
        self
    }

    fn needlessly_red(mut self, reason: &'static str) -> Self {
        self.needless_red = Some(reason);
        self
    }

    /// What the change does: by default it is harmless.
    fn edits(&self) -> Vec<Edit> {
        if self.change.is_empty() {
            return vec![Edit { path: "shop/prices.py".to_owned(), content: Some(HARMLESS.to_owned()) }];
        }
        self.change.clone()
    }

    /// The policies to run it under. Where all of them end alike, the most
    /// tolerant one is enough for a quick look.
    pub fn policies(&self, all: bool) -> &[Policy] {
        let alike = self.codes.iter().all(|code| *code == self.codes[0]);
        if alike && !all { &self.policies[self.policies.len() - 1..] } else { &self.policies }
    }

    /// The right exit code under a policy.
    pub fn code(&self, policy: Policy) -> i32 {
        self.codes[policy as usize]
    }

    /// The tests that fail under a policy, with the headlines that are right. A
    /// name that ends with `*` stands for those that begin so.
    pub fn headlines(&self, policy: Policy) -> impl Iterator<Item = (&str, &[Headline])> {
        let under = self.headlines.iter().filter(move |(policies, ..)| policies.contains(&policy));
        under.map(|(_, test, headlines)| (test.as_str(), headlines.as_slice()))
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.name, self.about)
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn there_are_enough_scenarios_with_names_of_their_own() {
        let scenarios = scenarios();
        assert!(scenarios.len() >= 60, "{}", scenarios.len());
        let names: HashSet<_> = scenarios.iter().map(|scenario| scenario.name).collect();
        assert_eq!(names.len(), scenarios.len());
    }

    #[test]
    fn what_is_green_without_a_policy_is_green_with_one() {
        for scenario in scenarios() {
            let [none, known, flaky] = scenario.codes;
            assert!(none != 0 || (known == 0 && flaky == 0), "{}", scenario.name);
            assert!(known != 0 || flaky == 0, "{}: whatever is known is tolerated by `flaky`", scenario.name);
        }
    }

    #[test]
    fn needless_reds_are_at_most_one_in_twenty_and_would_be_green() {
        let scenarios = scenarios();
        let needless: Vec<_> = scenarios.iter().filter(|one| one.needless_red.is_some()).collect();
        assert!(needless.len() * 20 <= scenarios.len());
        assert!(needless.iter().all(|one| one.codes.contains(&0)));
    }

    #[test]
    fn new_flakes_regressions_and_breaks_are_never_green_unless_the_command_forgives_them() {
        for scenario in scenarios() {
            for policy in Policy::ALL.into_iter().filter(|policy| scenario.code(*policy) == 0) {
                let only_flakes = scenario.headlines(policy).all(|(_, any)| any == [Headline::Flaky]);
                assert!(only_flakes || scenario.codes == [0; 3], "{}", scenario.name);
            }
        }
    }
}
