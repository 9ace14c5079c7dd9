//! What may turn green: every scenario of `flakewise_testkit::green` under every
//! policy, with the real binary.
//!
//! Some scenarios need tox, nox, uv and pytest-cov. `.ci/run` installs them and
//! names their Python in `FLAKEWISE_GREEN_PYTHON`; without it, those scenarios are
//! skipped, but never on CI. `FLAKEWISE_GREEN=make` runs only scenarios with
//! `make` in their names. Scenarios that end alike under all policies run under
//! `flaky` only, and under all with `FLAKEWISE_GREEN_POLICIES=all`, as on CI.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use flakewise_testkit::TestContext;
use flakewise_testkit::green::{Headline, Policy, Repository, Scenario, Tools, scenarios};
use serde_json::Value;

/// The share of scenarios that may be red without need.
const NEEDLESS: f64 = 0.05;
/// Text of the binary shown for a wrong answer.
const EXCERPT: usize = 1500;

#[test]
fn every_scenario_ends_with_the_only_right_exit_code_and_headlines() {
    let python = Python::find();
    let wanted = std::env::var("FLAKEWISE_GREEN").unwrap_or_default();
    let (ready, skipped): (Vec<_>, Vec<_>) = scenarios()
        .into_iter()
        .filter(|scenario| scenario.name.contains(&wanted))
        .partition(|scenario| scenario.tools == Tools::Pytest || python.has_tools);
    let next = AtomicUsize::new(0);
    let began = Instant::now();
    let times = Mutex::new(Vec::new());
    let answers = Mutex::new(Vec::new());
    // Two at a time: no run may know of another.
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(scenario) = ready.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let started = Instant::now();
                    let checked = check(scenario, &python);
                    for answer in checked.iter().filter(|answer| answer.is_wrong()) {
                        show(&format!("{}\n", answer.table()));
                    }
                    times.lock().expect("no thread panicked").push((started.elapsed(), scenario.name));
                    answers.lock().expect("no thread panicked").extend(checked);
                }
            });
        }
    });
    let answers = answers.into_inner().expect("no thread panicked");
    let of = |kind: Kind| answers.iter().filter(move |answer| answer.kind == kind);
    let mut text = format!(
        "{} scenarios in {:.0?}, {} answers: {} wrong greens, {} needless reds, {} wrong otherwise",
        ready.len(),
        began.elapsed(),
        answers.len(),
        of(Kind::WrongGreen).count(),
        of(Kind::NeedlessRed).count(),
        of(Kind::Wrong).count(),
    );
    let mut times = times.into_inner().expect("no thread panicked");
    times.sort_unstable();
    let slowest = times.iter().rev().take(5).map(|(time, name)| format!("{name} {time:.1?}"));
    text += &format!("\nslowest: {}", slowest.collect::<Vec<_>>().join(", "));
    if !skipped.is_empty() {
        let names: Vec<_> = skipped.iter().map(|scenario| scenario.name).collect();
        text += &format!(
            "\nskipped without FLAKEWISE_GREEN_PYTHON, a Python with pytest-cov, tox, nox and uv: {}",
            names.join(", ")
        );
    }
    let mut needless = BTreeMap::new();
    for answer in of(Kind::NeedlessRed) {
        needless.insert(answer.scenario.name, answer.scenario.needless_red.unwrap_or("no reason is stated"));
    }
    for (name, reason) in &needless {
        text += &format!("\nneedless red: {name}: {reason}");
    }
    show(&text);
    let wrong: Vec<_> = answers.iter().filter(|answer| answer.is_wrong()).map(Answer::line).collect();
    assert!(wrong.is_empty(), "{text}\n\n{}", wrong.join("\n"));
    assert!(wanted.is_empty() && !ready.is_empty() || !wanted.is_empty(), "there are scenarios");
    let share = needless.len() as f64 / ready.len().max(1) as f64;
    assert!(!wanted.is_empty() || share <= NEEDLESS, "{text}");
}

/// Tells people what was done, also if all is well (`--nocapture`).
#[expect(clippy::print_stdout, reason = "the harness shows or hides it")]
fn show(text: &str) {
    println!("{text}");
}

/// What runs the tests of scenarios.
struct Python {
    path: PathBuf,
    has_tools: bool,
    all_policies: bool,
}

impl Python {
    fn find() -> Self {
        let variable = std::env::var_os("FLAKEWISE_GREEN_PYTHON");
        let on_ci = std::env::var("CI").is_ok_and(|value| value == "true");
        assert!(
            variable.is_some() || !on_ci,
            "FLAKEWISE_GREEN_PYTHON must name a Python with pytest, pytest-cov, tox, nox and uv; `.ci/run` installs one"
        );
        let has_tools = variable.is_some();
        let path = variable.map_or_else(|| crate::python().into(), PathBuf::from);
        if has_tools {
            let folder = path.parent().expect("a program is in a folder");
            for tool in ["pytest", "tox", "nox", "uv"] {
                assert!(folder.join(tool).exists(), "{tool} is not installed beside {}", path.display());
            }
        }
        let all_policies = std::env::var("FLAKEWISE_GREEN_POLICIES").is_ok_and(|value| value == "all");
        Self { path, has_tools, all_policies }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Right,
    WrongGreen,
    NeedlessRed,
    Wrong,
}

/// What came of a scenario under a policy.
struct Answer<'a> {
    scenario: &'a Scenario,
    policy: Policy,
    kind: Kind,
    code: Option<i32>,
    /// What is not as it must be, one line each.
    differences: Vec<String>,
    shown: String,
}

impl Answer<'_> {
    /// Whether the test fails: a needless red with a reason may be.
    fn is_wrong(&self) -> bool {
        let excused = self.kind == Kind::NeedlessRed && self.scenario.needless_red.is_some();
        (self.kind != Kind::Right && !excused) || !self.differences.is_empty()
    }

    /// What is wrong, in a line.
    fn line(&self) -> String {
        let code = self.code.map_or("a signal".to_owned(), |code| code.to_string());
        let expected = self.scenario.code(self.policy);
        let differences: String = self.differences.iter().map(|line| format!("; {line}")).collect();
        let (name, policy) = (self.scenario.name, self.policy.name());
        format!("{:?}: {name} under {policy}: exit code {code}, expected {expected}{differences}", self.kind)
    }

    /// The same with what the binary said.
    fn table(&self) -> String {
        format!("{}\n  {}\n{}", self.line(), self.scenario.about, self.shown)
    }
}

/// Runs a scenario under every policy.
fn check<'a>(scenario: &'a Scenario, python: &Python) -> Vec<Answer<'a>> {
    let context = TestContext::new(env!("CARGO_BIN_EXE_flakewise"));
    let repository = Repository::create(scenario, &context.path().join("repository"));
    let place = Place { context: &context, scenario, python };
    let store = context.path().join("store");
    for (number, earlier) in scenario.history.iter().enumerate() {
        let work = context.path().join(format!("past-{number}"));
        repository.past(earlier.at, &work);
        let run = if earlier.calm { "calm" } else { "history" };
        let output = place.run(&work, earlier.folder, Some(&store), run, &[]);
        if !store.exists() {
            let mut answer = judge(scenario, Policy::None, &output, "");
            answer.kind = Kind::Wrong;
            answer.differences = vec!["an earlier run left no history".to_owned()];
            return vec![answer];
        }
    }
    let policies = scenario.policies(python.all_policies).iter().map(|&policy| {
        let name = policy.name();
        let work = context.path().join(format!("work-{name}"));
        repository.judged(&work);
        // No policy may learn from the run of another.
        let own = (!scenario.history.is_empty()).then(|| context.path().join(format!("store-{name}")));
        if let Some(own) = &own {
            copy(&store, own);
        }
        let text = context.path().join(format!("{name}.txt"));
        let write = format!("text={}", text.display());
        let mut options = policy.options().to_vec();
        options.extend(["--write", &write]);
        let output = place.run(&work, scenario.folder, own.as_deref(), "change", &options);
        let text = std::fs::read_to_string(text).unwrap_or_default();
        judge(scenario, policy, &output, &text)
    });
    policies.collect()
}

struct Place<'a> {
    context: &'a TestContext,
    scenario: &'a Scenario,
    python: &'a Python,
}

impl Place<'_> {
    /// Runs the scenario's command in a work tree.
    fn run(
        &self,
        work: &Path,
        folder: &str,
        store: Option<&Path>,
        run: &str,
        options: &[&str],
    ) -> flakewise_testkit::Output {
        let state = tempfile(self.context, "state");
        let mut command = self.context.command();
        command.args(["run", "--format", "json", "--project", "green"]).args(&self.scenario.options);
        // What reproduces a failure is of no interest here, and checking it takes a Python for each.
        command.args(["--reproduce-budget", "0"]);
        match store {
            Some(store) => command.arg("--store").arg(store).arg("--spool").arg(work.with_extension("spool")),
            None => command.arg("--no-store"),
        };
        let python = &self.python.path;
        let programs = python.parent().unwrap_or(Path::new(""));
        let path = std::env::var("PATH").unwrap_or_default();
        command
            .args(options)
            .arg("--")
            .current_dir(work.join(folder))
            .env("PATH", format!("{}:{path}", programs.display()))
            .env("VIRTUAL_ENV", programs.parent().unwrap_or(Path::new("")))
            .env("PY", python)
            .env("STATE", &state)
            .env("RUN", run);
        for word in &self.scenario.command {
            match word.as_str() {
                "$PY" => command.arg(python),
                word => command.arg(word),
            };
        }
        self.context.finish(&mut command)
    }
}

/// A new folder of this kind.
fn tempfile(context: &TestContext, kind: &str) -> PathBuf {
    let path = (0..u32::MAX)
        .map(|number| context.path().join(format!("{kind}-{number}")))
        .find(|path| !path.exists())
        .expect("there are numbers left");
    std::fs::create_dir(&path).expect("a folder can be made");
    path
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder can be made");
    for entry in std::fs::read_dir(from).expect("a store is a folder") {
        let entry = entry.expect("folders can be listed");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("files can be copied");
        }
    }
}

/// Compares what was said with what is right.
fn judge<'a>(
    scenario: &'a Scenario,
    policy: Policy,
    output: &flakewise_testkit::Output,
    text: &str,
) -> Answer<'a> {
    let right = scenario.code(policy);
    // A reason to be red without need must be true.
    let excused = right == 0 && scenario.needless_red.is_some();
    let kind = match output.code {
        Some(code) if code == right && !excused => Kind::Right,
        Some(0) => Kind::WrongGreen,
        _ if right == 0 => Kind::NeedlessRed,
        _ => Kind::Wrong,
    };
    let mut differences = Vec::new();
    match serde_json::from_str::<Value>(&output.stdout) {
        Ok(report) => {
            if report["exit"]["code"].as_i64().map(|code| code.to_string())
                != output.code.map(|code| code.to_string())
            {
                differences.push(format!("the report says exit code {}", report["exit"]["code"]));
            }
            if !scenario.open {
                differences.extend(headlines(scenario, policy, &report, text));
            }
        }
        Err(error) => differences.push(format!("the report is not JSON: {error}")),
    }
    let shown = if kind == Kind::Right && differences.is_empty() {
        String::new()
    } else {
        let last = |text: &str| {
            let from = text.char_indices().rev().nth(EXCERPT).map_or(0, |(place, _)| place);
            text[from..].to_owned()
        };
        format!("{}\n{}", last(text), last(&output.stderr))
    };
    Answer { scenario, policy, kind, code: output.code, differences, shown }
}

/// Headlines that are not right, in the JSON and in the text.
fn headlines(scenario: &Scenario, policy: Policy, report: &Value, text: &str) -> Vec<String> {
    let failures = report["failures"].as_array().into_iter().flatten();
    let mut said: Vec<(&str, &str)> = failures
        .map(|failure| {
            let verdict = &failure["verdict"];
            (failure["name"].as_str().unwrap_or_default(), verdict["headline"].as_str().unwrap_or("none"))
        })
        .collect();
    let mut wrong = Vec::new();
    for (test, right) in scenario.headlines(policy) {
        let place = said.iter().position(|(name, _)| is_named(name, test));
        let Some((name, headline)) = place.map(|place| said.swap_remove(place)) else {
            wrong.push(format!("{test} did not fail"));
            continue;
        };
        let Some(found) = right.iter().find(|right| right.name() == headline) else {
            let right: Vec<_> = right.iter().map(|right| right.name()).collect();
            wrong.push(format!("{test} is called {headline}, expected {}", right.join(" or ")));
            continue;
        };
        if !is_in_text(*found, name, text) {
            wrong.push(format!("the text has no line `{}  {test}`", found.label()));
        }
    }
    wrong.extend(said.iter().map(|(name, headline)| format!("{} failed: {headline}", shortened(name))));
    wrong
}

/// Whether a test has a name of the table, which may be shortened with `*`.
fn is_named(name: &str, wanted: &str) -> bool {
    let begins = |name: &str| match wanted.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == wanted,
    };
    // Ids may carry the folder of the suite.
    begins(name) || name.match_indices('/').any(|(place, _)| begins(&name[place + 1..]))
}

/// Whether the text says so: in a line of its own, or for several tests alike.
fn is_in_text(headline: Headline, name: &str, text: &str) -> bool {
    let beginning = format!("{}  ", headline.label());
    let rest = text.lines().filter_map(|line| line.strip_prefix(&beginning));
    // Long names are shortened.
    let start: String = name.chars().take(40).collect();
    rest.into_iter().any(|rest| {
        let alike = rest.split(' ').nth(1) == Some("tests");
        rest.starts_with(&start) || alike
    })
}

fn shortened(name: &str) -> String {
    name.chars().take(80).collect()
}
