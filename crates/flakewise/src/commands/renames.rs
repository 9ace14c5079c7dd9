//! `flakewise renames`: tests whose history follows them.

use std::path::Path;

use flakewise_model::{Rename, RenameAction, RenameDecision, Renames, TestId};
use flakewise_report::{found_renames_json, found_renames_text, renames_json, renames_text};
use flakewise_runner::{pytest_id, repository_root};
use flakewise_triage::Git;

use crate::args::{
    RenamesAddArguments, RenamesArguments, RenamesCommand, RenamesFindArguments, RenamesListArguments,
    RenamesUndoArguments, StoreArguments, SummaryFormat,
};
use crate::error::ExpectedError;
use crate::exit_code::ExitCode;
use crate::identity::whole_id;
use crate::own_folder::keep_out_of_git;
use crate::printer::Printer;
use crate::renames::compare;

pub(crate) fn renames(arguments: &RenamesArguments, printer: &Printer) -> Result<ExitCode, ExpectedError> {
    match &arguments.command {
        RenamesCommand::List(arguments) => list(arguments, printer),
        RenamesCommand::Find(arguments) => find(arguments, printer),
        RenamesCommand::Add(arguments) => add(arguments, printer),
        RenamesCommand::Undo(arguments) => undo(arguments, printer),
    }
}

fn list(arguments: &RenamesListArguments, printer: &Printer) -> Result<ExitCode, ExpectedError> {
    let decisions = super::history(&arguments.store)?.renames()?;
    printer.data(&match arguments.format {
        SummaryFormat::Text => renames_text(&decisions),
        SummaryFormat::Json => renames_json(&decisions),
    })?;
    Ok(ExitCode::Success)
}

fn find(arguments: &RenamesFindArguments, printer: &Printer) -> Result<ExitCode, ExpectedError> {
    let no_repository = ExpectedError::NoRepository { option: "renames find" };
    let root = repository_root(Path::new(".")).ok_or(no_repository)?;
    let commit = |revision: &str| {
        Git::at(&root)
            .commit(revision)?
            .ok_or_else(|| ExpectedError::NoSuchCommit { name: revision.to_owned() })
    };
    let (from, to) = (commit(&arguments.from)?, commit(&arguments.to)?);
    let spinner = printer.spinner("comparing tests");
    let found = compare(&root, &from, Some(&to))?;
    spinner.finish_and_clear();
    printer.data(&match arguments.format {
        SummaryFormat::Text => found_renames_text(&found.renames),
        SummaryFormat::Json => found_renames_json(&found.renames),
    })?;
    if arguments.dry_run || found.renames.is_empty() {
        return Ok(ExitCode::Success);
    }
    let all = found.renames.len();
    let decided = chrono::Utc::now();
    let decision =
        |rename| RenameDecision { rename, action: RenameAction::Found, commit: Some(to.clone()), decided };
    let new = record(&arguments.store, &found.renames.into_iter().map(decision).collect::<Vec<_>>())?;
    if new < all {
        printer.hint(&format!("{} of them decided before; see `flakewise renames list`", all - new));
    }
    Ok(ExitCode::Success)
}

fn add(arguments: &RenamesAddArguments, printer: &Printer) -> Result<ExitCode, ExpectedError> {
    let (former, current) = (id(&arguments.former)?, id(&arguments.test)?);
    if former == current {
        return Err(ExpectedError::SameId { test: current.to_string() });
    }
    decide(&arguments.store, RenameAction::Added, &former, &current)?;
    printer.data(&format!("the history of {former} is now that of {current}\n"))?;
    Ok(ExitCode::Success)
}

fn undo(arguments: &RenamesUndoArguments, printer: &Printer) -> Result<ExitCode, ExpectedError> {
    let former = id(&arguments.former)?;
    let history = super::history(&arguments.store)?;
    let renames = Renames::new(&history.renames()?);
    let Some(current) = renames.next(&former) else {
        return Err(ExpectedError::NoRename { test: former.to_string() });
    };
    decide(&arguments.store, RenameAction::Undone, &former, &current)?;
    printer.data(&format!("{former} is a test of its own again\n"))?;
    Ok(ExitCode::Success)
}

fn decide(
    store: &StoreArguments,
    action: RenameAction,
    former: &TestId,
    current: &TestId,
) -> Result<(), ExpectedError> {
    let rename = Rename { former: former.clone(), current: current.clone(), similarity: None };
    let decision = RenameDecision { rename, action, commit: None, decided: chrono::Utc::now() };
    record(store, &[decision]).map(drop)
}

/// Stores decisions, and returns how many are new.
fn record(store: &StoreArguments, decisions: &[RenameDecision]) -> Result<usize, ExpectedError> {
    let history = super::history(store)?;
    let new = history.decide_renames(decisions)?;
    keep_out_of_git(Path::new(&history.store().to_string()));
    Ok(new)
}

/// The test that somebody named, by its id or as pytest names it. It may no longer exist.
fn id(name: &str) -> Result<TestId, ExpectedError> {
    let id = whole_id(name).or_else(|| name.contains("::").then(|| pytest_id(name)));
    let id = id.ok_or_else(|| ExpectedError::NotATest { name: name.to_owned() })?;
    Ok(id.without_parameters())
}
