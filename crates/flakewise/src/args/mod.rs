//! The command line, one module per command.

mod check;
mod config;
mod culprit;
mod debug;
mod doctor;
mod eval;
mod explain;
mod formats;
mod generate;
mod hunt;
mod ingest;
mod init;
mod maintain;
mod predict;
mod quarantine;
mod renames;
mod report;
mod reproduce;
mod run;
mod search;
mod shared;
mod show;
mod sql;
mod train;
mod values;

use clap::{ColorChoice, Parser, Subcommand};

pub(crate) use check::CheckArguments;
pub(crate) use config::ConfigArguments;
pub(crate) use culprit::CulpritArguments;
pub(crate) use debug::{DebugCommand, MeetingsArguments, PairsArguments};
pub(crate) use doctor::DoctorArguments;
pub(crate) use eval::{EvalArguments, EvalProtocol};
pub(crate) use explain::ExplainArguments;
#[cfg(feature = "history")]
pub(crate) use formats::RowsFormat;
pub(crate) use formats::{FindingsFormat, RunFormat, SummaryFormat};
pub(crate) use generate::{CompletionsArguments, ManArguments};
pub(crate) use hunt::HuntArguments;
pub(crate) use ingest::IngestArguments;
pub(crate) use init::InitArguments;
pub(crate) use maintain::MaintainArguments;
pub(crate) use predict::PredictArguments;
#[cfg(feature = "history")]
pub(crate) use quarantine::QuarantineSuggestArguments;
pub(crate) use quarantine::{
    OwnersArguments, QuarantineAddArguments, QuarantineArguments, QuarantineCheckArguments,
    QuarantineCommand, QuarantineFileArguments, QuarantineListArguments, QuarantineMode,
    QuarantineReleaseArguments,
};
pub(crate) use renames::RenamesArguments;
#[cfg(feature = "history")]
pub(crate) use renames::{
    RenamesAddArguments, RenamesCommand, RenamesFindArguments, RenamesListArguments, RenamesUndoArguments,
};
pub(crate) use report::ReportArguments;
pub(crate) use reproduce::ReproduceArguments;
pub(crate) use run::{RunArguments, SuiteArguments, Tolerated};
pub(crate) use search::SearchArguments;
pub(crate) use shared::{
    ContextArguments, LandingArguments, RecordArguments, SpoolArguments, StoreArguments,
};
pub(crate) use show::ShowArguments;
pub(crate) use sql::SqlArguments;
pub(crate) use train::{TrainArguments, TrainModel};

/// Tells you whether a failing test is flaky, and why
#[derive(Debug, Parser)]
#[command(
    version,
    about = "Tells you whether a failing test is flaky, and why",
    long_about = "Tells you whether a failing test is flaky, and why.\n\n\
        Put it before the command that runs your tests, and every failure gets a verdict with\n\
        evidence: flaky and of which kind, a regression, broken before. Or ingest the JUnit\n\
        reports that your runner writes. Both record a history, an open table in a directory\n\
        or bucket, which shows the tests that are flaky over time.\n\n  \
        flakewise init                    set up a repository\n  \
        flakewise run -- pytest           run tests and explain every failure\n  \
        flakewise check -- pytest         check a pull request for new flaky tests\n  \
        flakewise hunt -- pytest          rerun single tests to find flaky ones\n  \
        flakewise culprit TEST -- pytest  find the tests that another test depends on\n  \
        flakewise ingest build/reports    add test reports to the history\n  \
        flakewise report                  list flaky tests by cost\n  \
        flakewise show test_total         show the history of one test and the evidence\n  \
        flakewise predict --changed       predict flaky tests from their source\n  \
        flakewise quarantine add TEST     forgive known failures of a test until a last day",
    after_help = "Run `flakewise help COMMAND` for the details of a command"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value_t = ColorChoice::Auto, hide_possible_values = false)]
    pub(crate) color: ColorChoice,

    /// Hide progress
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,

    /// Log steps and their durations to stderr; repeat to log every process and git command
    #[arg(long, short, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(Box<RunArguments>),
    Check(Box<CheckArguments>),
    Hunt(Box<HuntArguments>),
    Culprit(CulpritArguments),
    Reproduce(ReproduceArguments),
    Ingest(IngestArguments),
    Predict(PredictArguments),
    Explain(ExplainArguments),
    Train(TrainArguments),
    Eval(EvalArguments),
    Report(ReportArguments),
    Show(ShowArguments),
    Sql(SqlArguments),
    Maintain(MaintainArguments),
    Renames(RenamesArguments),
    Quarantine(QuarantineArguments),
    Init(InitArguments),
    Config(ConfigArguments),
    Doctor(DoctorArguments),
    Completions(CompletionsArguments),
    Man(ManArguments),
    #[command(subcommand, hide = true)]
    Debug(DebugCommand),
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    /// Every argument is explained by one line that begins with a capital and
    /// has no full stop; every command has a long text and an example.
    #[test]
    fn help_teaches() {
        let mut command = Arguments::command();
        command.build();
        let is_taught = |command: &&clap::Command| !["help", "debug"].contains(&command.get_name());
        let commands =
            command.get_subcommands().filter(is_taught).map(|one| (one.get_name().to_owned(), one));
        let nested = command.get_subcommands().filter(is_taught).flat_map(|above| {
            let name = |one: &clap::Command| format!("{} {}", above.get_name(), one.get_name());
            above.get_subcommands().filter(is_taught).map(move |one| (name(one), one))
        });
        for (name, subcommand) in commands.chain(nested) {
            let name = name.as_str();
            let about = subcommand.get_about().map(ToString::to_string).unwrap_or_default();
            check_line(&about, name);
            assert!(subcommand.get_long_about().is_some(), "`{name}` has no long help");
            let examples = subcommand.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(examples.contains(&format!("flakewise {name}")), "`{name}` has no example");
            for argument in subcommand.get_arguments() {
                let place = format!("{name} {}", argument.get_id());
                check_line(&argument.get_help().map(ToString::to_string).unwrap_or_default(), &place);
            }
        }
    }

    fn check_line(help: &str, place: &str) {
        assert!(!help.is_empty(), "`{place}` is not explained");
        assert!(help.starts_with(char::is_uppercase), "`{place}`: `{help}` does not begin with a capital");
        assert!(!help.ends_with('.'), "`{place}`: `{help}` ends with a full stop");
    }
}
