//! `flakewise quarantine`: the tests whose known failures do not fail the build.

#[cfg(feature = "history")]
mod suggest;

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use flakewise_model::{FindingId, Fingerprint, Renames, TestId};
use flakewise_quarantine::{
    Accepts, Entry, InForce, Mode, Pattern, Quarantine, Target, Violation, add, remove,
};
use flakewise_report::{count, plural, quarantine_json, quarantine_text};
use flakewise_runner::{NothingAgain, RunnerCommand, Suite, SuiteOptions};
use flakewise_triage::{Change, Git};

use crate::args::{
    QuarantineAddArguments, QuarantineArguments, QuarantineCheckArguments, QuarantineCommand,
    QuarantineListArguments, QuarantineMode, QuarantineReleaseArguments, SummaryFormat,
};
use crate::context::variable;
use crate::error::ExpectedError;
use crate::exit_code::ExitCode;
use crate::own_folder::keep_out_of_git;
use crate::printer::Printer;
use crate::quarantine::{Owners, QuarantineFile, located, named};
use crate::renames::in_change;
use crate::repository::write_whole;

/// How long a test is quarantined if nobody says how long.
const DAYS: u32 = 14;

pub(crate) fn quarantine(
    arguments: &QuarantineArguments,
    printer: &Printer,
) -> Result<ExitCode, ExpectedError> {
    match &arguments.command {
        QuarantineCommand::Add(arguments) => add_entry(arguments, printer),
        QuarantineCommand::List(arguments) => list(arguments, printer),
        QuarantineCommand::Check(arguments) => check(arguments, printer),
        QuarantineCommand::Release(arguments) => release(arguments, printer),
        #[cfg(feature = "history")]
        QuarantineCommand::Suggest(arguments) => suggest::suggest(arguments, printer),
        #[cfg(not(feature = "history"))]
        QuarantineCommand::Suggest(_) => Err(ExpectedError::NoEngine),
    }
}

/// Whether a command starts the user's tests, if only to collect them.
pub(crate) fn collects(arguments: &QuarantineArguments) -> bool {
    matches!(&arguments.command, QuarantineCommand::Check(check) if !check.command.is_empty())
}

fn add_entry(arguments: &QuarantineAddArguments, printer: &Printer) -> Result<ExitCode, ExpectedError> {
    let file = QuarantineFile::open_or_empty(&arguments.file)?;
    let InForce { today, limits, .. } = file.in_force;
    let target = target(arguments)?;
    let days = arguments.days.unwrap_or_else(|| DAYS.min(limits.max_days));
    let until = arguments.until.unwrap_or_else(|| {
        today.checked_add_days(chrono::Days::new(days.into())).unwrap_or(chrono::NaiveDate::MAX)
    });
    let owner = match &arguments.owner {
        Some(owner) => Some(owner.clone()),
        None => Owners::read(&arguments.owners)?.of_target(&target),
    };
    let entry = Entry {
        accepts: accepts(arguments, &target)?,
        reason: arguments.reason.clone(),
        owner: owner.ok_or_else(|| ExpectedError::NoOwner { test: target.to_string() })?,
        issue: arguments.issue.clone(),
        since: today,
        until,
        mode: match arguments.mode {
            QuarantineMode::Run => Mode::Run,
            QuarantineMode::Skip => Mode::Skip,
        },
        target,
        line: 0,
    };
    let refused = |error| ExpectedError::QuarantineEntry { error };
    let text = add(&file.text, &entry).map_err(refused)?;
    let quarantine = Quarantine::parse(&text).map_err(refused)?;
    let after = InForce { quarantine, today, limits, renames: Renames::default() };
    let is_new = |violation: &&Violation<'_>| match violation {
        Violation::Expired(broken, _) | Violation::TooLong(broken, _) | Violation::NotYet(broken) => {
            broken.target == entry.target
        }
        Violation::TooMany { .. } => true,
    };
    if let Some(violation) = after.violations().iter().find(is_new) {
        return Err(ExpectedError::QuarantineLimit { violation: violation.to_string() });
    }
    write_whole(&file.path, text.as_bytes())?;
    keep_out_of_git(&file.path);
    let target = &entry.target;
    printer.data(&format!(
        "quarantined {} until {until}, owner {}\n",
        shown(target.as_str()),
        shown(&entry.owner)
    ))?;
    if is_ignored(&file.path) {
        printer
            .warning(&format!("git ignores `{}`, so the quarantine applies here only", file.path.display()));
        printer.hint("add `!quarantine.toml` to `.flakewise/.gitignore`");
    } else {
        printer.hint(&format!("commit `{}`", file.path.display()));
    }
    Ok(ExitCode::Success)
}

fn target(arguments: &QuarantineAddArguments) -> Result<Target, ExpectedError> {
    if arguments.pattern {
        let pattern = Pattern::new(&arguments.test);
        let refused = |error: flakewise_quarantine::PatternError| ExpectedError::QuarantineLimit {
            violation: error.to_string(),
        };
        return pattern.map(Target::Pattern).map_err(refused);
    }
    let test = named(&arguments.test);
    #[cfg(feature = "history")]
    let test = test.or_else(|error| suggest::known(arguments).ok_or(error));
    test.map(Target::Test)
}

/// Which failures to forgive: those that were named, else those that are known.
fn accepts(arguments: &QuarantineAddArguments, target: &Target) -> Result<Accepts, ExpectedError> {
    if arguments.any_failure {
        return Ok(Accepts::AnyFailure);
    }
    let named = arguments.fingerprints.iter().map(|text| Fingerprint::from_text(text));
    #[cfg_attr(not(feature = "history"), expect(unused_mut, reason = "only a history adds to it"))]
    let mut fingerprints: Vec<Fingerprint> = named.collect();
    #[cfg(feature = "history")]
    if fingerprints.is_empty()
        && let Target::Test(test) = target
    {
        fingerprints = suggest::fingerprints(arguments, test)?;
    }
    if fingerprints.is_empty() {
        return Err(ExpectedError::NoFingerprint { test: target.to_string() });
    }
    Ok(Accepts::Fingerprints(fingerprints))
}

fn list(arguments: &QuarantineListArguments, printer: &Printer) -> Result<ExitCode, ExpectedError> {
    let file = QuarantineFile::open_or_empty(&arguments.file)?;
    printer.data(&match arguments.format {
        SummaryFormat::Text => quarantine_text(&file.in_force),
        SummaryFormat::Json => quarantine_json(&file.in_force),
    })?;
    Ok(ExitCode::Success)
}

fn check(arguments: &QuarantineCheckArguments, printer: &Printer) -> Result<ExitCode, ExpectedError> {
    let Some(mut file) = QuarantineFile::open(&arguments.file)? else {
        printer.data("nothing is quarantined\n")?;
        return Ok(ExitCode::Success);
    };
    file.follow(|| {
        let mut renames = Renames::default();
        if let Ok(Some(change)) = Change::discover(Path::new("."), None, None, variable) {
            renames.add_all(&in_change(&change));
        }
        renames
    });
    let entries = &file.in_force.quarantine.entries;
    let mut problems: Vec<String> =
        file.in_force.violations().iter().map(|violation| located(&file, violation)).collect();
    let is_collected = !entries.is_empty() && !arguments.command.is_empty();
    let collected = if is_collected { collect(arguments, printer)? } else { None };
    let no_such_test = |entry: &Entry| {
        let problem = file.no_such_test(entry, &BTreeSet::new());
        format!("{} is quarantined, but {problem}", file.located(entry))
    };
    if let Some(tests) = &collected {
        // Tests of other runners are not among those of pytest.
        let unknown = file.in_force.quarantine.unknown(tests);
        let unknown = unknown.filter(|entry| entry.target.as_str().starts_with("pytest:"));
        problems.extend(unknown.map(no_such_test));
        let is_all = |entry: &&Entry| tests.len() > 1 && tests.iter().all(|test| entry.covers(test));
        let too_broad = entries.iter().filter(is_all);
        problems.extend(too_broad.map(|entry| format!("{} matches every test", file.located(entry))));
    } else {
        problems.extend(file.missing(&HashSet::new()).into_iter().map(no_such_test));
    }
    if problems.is_empty() {
        printer.data(&format!(
            "{}: {}, no problems\n",
            shown(&file.path.display().to_string()),
            plural(entries.len() as u64, "entry", "entries")
        ))?;
        return Ok(ExitCode::Success);
    }
    let lines: String = problems.iter().map(|problem| shown(problem) + "\n").collect();
    printer.data(&format!("{lines}{}\n", count(problems.len() as u64, "problem")))?;
    Ok(ExitCode::Rejected)
}

/// All tests that the command runs; none if some could not be collected.
fn collect(
    arguments: &QuarantineCheckArguments,
    printer: &Printer,
) -> Result<Option<Vec<TestId>>, ExpectedError> {
    let command = RunnerCommand::new(&arguments.command)?;
    let options = SuiteOptions {
        test_timeout: Duration::from_mins(10),
        hash_seed: 1,
        output_to_stderr: true,
        collect_only: true,
    };
    let mut suite = Suite::start(&command, options)?;
    let run = suite.run(&mut NothingAgain)?;
    if !run.collect_errors.is_empty() || !run.incomplete.is_empty() {
        printer.warning("not all tests could be collected, so tests are looked for in their files");
        return Ok(None);
    }
    Ok(Some(suite.tests().into_iter().map(|test| suite.test_id(test)).collect()))
}

fn release(arguments: &QuarantineReleaseArguments, printer: &Printer) -> Result<ExitCode, ExpectedError> {
    let file = QuarantineFile::open_or_empty(&arguments.file)?;
    let target = released(&file, &arguments.test)?;
    let malformed = |error| ExpectedError::Quarantine { path: file.path.clone(), error };
    let removed = remove(&file.text, &target).map_err(malformed)?;
    let (text, entry) = removed.ok_or_else(|| ExpectedError::NotQuarantined { name: target.clone() })?;
    write_whole(&file.path, text.as_bytes())?;
    printer.data(&format!("released {}, owner {}\n", shown(&target), shown(&entry.owner)))?;
    Ok(ExitCode::Success)
}

/// The entry that somebody named: exactly, as pytest does, by the id of its finding, or by
/// a part that no other entry has.
fn released(file: &QuarantineFile, name: &str) -> Result<String, ExpectedError> {
    let targets: Vec<&Target> = file.in_force.quarantine.entries.iter().map(|entry| &entry.target).collect();
    let test = named(name).ok();
    let is_exact = |target: &&&Target| match target {
        Target::Test(own) => {
            own.as_str() == name || Some(own) == test.as_ref() || FindingId::of(own).as_str() == name
        }
        Target::Pattern(pattern) => pattern.as_str() == name,
    };
    if let Some(target) = targets.iter().find(is_exact) {
        return Ok(target.to_string());
    }
    let parts: Vec<String> =
        targets.iter().filter(|target| target.as_str().contains(name)).map(ToString::to_string).collect();
    match &parts[..] {
        [] => Err(ExpectedError::NotQuarantined { name: name.to_owned() }),
        [target] => Ok(target.clone()),
        _ => Err(ExpectedError::SeveralQuarantined { name: name.to_owned(), candidates: parts }),
    }
}

/// Whether git would not commit a file.
fn is_ignored(path: &Path) -> bool {
    let arguments = [OsStr::new("check-ignore"), path.as_os_str()];
    Git::at(Path::new(".")).line(&arguments).is_ok_and(|line| line.is_some())
}

fn shown(text: &str) -> String {
    flakewise_model::Foreign::new(text).line()
}
