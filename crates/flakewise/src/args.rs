//! The command line, as typed.

use std::path::PathBuf;

use clap::{Args, ColorChoice, Parser, Subcommand, ValueEnum};

/// Tells you whether a failing test is flaky, and why
#[derive(Debug, Parser)]
#[command(
    version,
    about = "Tells you whether a failing test is flaky, and why",
    long_about = "Tells you whether a failing test is flaky, and why.\n\n\
        Flakewise keeps a history of what your tests did, as an open table in a folder or a\n\
        bucket, and tells from it which tests are flaky, what they cost and what proves it.\n\
        Feed it the JUnit reports your runner already writes:\n\n  \
        flakewise ingest build/reports   take in what a run reported\n  \
        flakewise report                 the flaky tests, the costliest first\n  \
        flakewise show test_total        one test's past, and the evidence",
    after_help = "Every command explains itself: `flakewise help ingest`"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value_t = ColorChoice::Auto, hide_possible_values = false)]
    pub(crate) color: ColorChoice,

    /// Show no progress
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Ingest(IngestArguments),
    Report(ReportArguments),
    Show(ShowArguments),
    Sql(SqlArguments),
    Maintain(MaintainArguments),
}

/// Where the history is.
#[derive(Debug, Args)]
pub(crate) struct StoreArguments {
    /// Folder or bucket the history lives in
    #[arg(long, value_name = "URL", env = "FLAKEWISE_STORE", default_value = ".flakewise/history")]
    pub(crate) store: String,

    /// Whose history it is, such as `acme/shop`; found from CI or git by default
    #[arg(long, value_name = "NAME", env = "FLAKEWISE_PROJECT")]
    pub(crate) project: Option<String>,
}

#[derive(Debug, Args)]
#[command(
    about = "Take in test reports",
    long_about = "Take in test reports.\n\n\
        Reads the JUnit XML of pytest, Surefire, Gradle, nextest, gotestsum, Jest, Vitest,\n\
        Playwright, GoogleTest, PHPUnit, RSpec and others, with every retry in it. Commit,\n\
        branch and job are found from GitHub Actions, GitLab, CircleCI, Jenkins, Buildkite\n\
        or git. A report is taken in once: giving it again adds nothing.\n\n\
        If the store is out of reach, the reports are kept in a spool and sent by the next\n\
        ingest. On CI that is a warning and not a failure, so that a store never turns a\n\
        green build red; see `--strict`.",
    after_help = "Examples:\n  \
        flakewise ingest junit.xml\n  \
        flakewise ingest 'modules/*/target/surefire-reports/*.xml'\n  \
        flakewise ingest build --variant python=3.11 --store s3://acme-tests/history"
)]
pub(crate) struct IngestArguments {
    /// Files, folders or patterns; everything below this folder by default
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<String>,

    #[command(flatten)]
    pub(crate) store: StoreArguments,

    /// Commit that was tested
    #[arg(long, value_name = "SHA", help_heading = "Context")]
    pub(crate) commit: Option<String>,

    /// Branch that was tested
    #[arg(long, value_name = "NAME", help_heading = "Context")]
    pub(crate) branch: Option<String>,

    /// Name of this run, unique within the project
    #[arg(long, value_name = "ID", help_heading = "Context")]
    pub(crate) run: Option<String>,

    /// What may change outcomes, such as `python=3.11`; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value, help_heading = "Context")]
    pub(crate) variant: Vec<(String, String)>,

    /// Fail if the store is out of reach or a report is damaged
    #[arg(long)]
    pub(crate) strict: bool,

    /// Folder for reports that could not be sent
    #[arg(long, value_name = "DIR", env = "FLAKEWISE_SPOOL", default_value = ".flakewise/spool")]
    pub(crate) spool: PathBuf,

    /// How to print the summary
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: SummaryFormat,
}

#[derive(Debug, Args)]
#[command(
    about = "List the flaky tests, the costliest first",
    long_about = "List the flaky tests, the costliest first.\n\n\
        A test that passed and failed on the same commit in the same environment is flaky:\n\
        that is proof. Without proof, a test is listed as probably flaky if changes of the\n\
        code explain its ups and downs badly; the rate of failure alone decides nothing.\n\
        Runs in which most tests failed are outages and prove nothing.",
    after_help = "Examples:\n  flakewise report\n  flakewise report --days 14 --format markdown >> \"$GITHUB_STEP_SUMMARY\""
)]
pub(crate) struct ReportArguments {
    #[command(flatten)]
    pub(crate) store: StoreArguments,

    /// Look back so many days from the newest attempt; all of them by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) days: Option<u32>,

    /// List at most so many tests
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,

    /// How to print it
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: ReportFormat,
}

#[derive(Debug, Args)]
#[command(
    about = "Show one test's past and the evidence",
    long_about = "Show one test's past and the evidence.\n\n\
        A strip of its latest outcomes, its failures grouped by what they have in common,\n\
        and everything that speaks for calling it flaky or not.",
    after_help = "Examples:\n  flakewise show test_total\n  flakewise show 'tests/test_cart.py::test_total[3-4]'\n  flakewise show 7f3a12bc"
)]
pub(crate) struct ShowArguments {
    /// The test: its id, any part that names only one, or a finding's id
    #[arg(value_name = "TEST")]
    pub(crate) test: String,

    #[command(flatten)]
    pub(crate) store: StoreArguments,

    /// List so many of the latest attempts
    #[arg(long, value_name = "N", default_value_t = 160)]
    pub(crate) steps: usize,

    /// How to print it
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: SummaryFormat,
}

#[derive(Debug, Args)]
#[command(
    about = "Ask the open tables anything, in SQL",
    long_about = "Ask the open tables anything, in SQL.\n\n\
        attempts   one row per execution of a test\n\
        reports    one row per report taken in\n\
        runs       one row per run, with `outage` where most tests failed\n\
        outcomes   attempts without skips and outages, with `failed` and `revision`\n\
        mixed      where a test both passed and failed on one revision\n\n\
        Queries only read. The tables are Delta Lake: any engine that reads Delta can read\n\
        them too.",
    after_help = "Examples:\n  \
        flakewise sql \"SELECT test, count(*) AS n FROM attempts GROUP BY test ORDER BY n DESC LIMIT 5\"\n  \
        flakewise sql \"SELECT day, avg(duration_us) / 1e6 AS seconds FROM attempts GROUP BY day\" --format csv\n  \
        flakewise sql \"DESCRIBE attempts\""
)]
pub(crate) struct SqlArguments {
    /// The query
    #[arg(value_name = "QUERY")]
    pub(crate) query: String,

    #[command(flatten)]
    pub(crate) store: StoreArguments,

    /// Print at most so many rows
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) limit: usize,

    /// How to print it
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: RowsFormat,
}

#[derive(Debug, Args)]
#[command(
    about = "Keep the history quick: merge small files, remove dead ones",
    long_about = "Keep the history quick: merge small files, remove dead ones.\n\n\
        Every ingest leaves small files. This merges those of each day into one, sorted by\n\
        test, and removes files nothing refers to once they are old enough that no reader\n\
        needs them. Safe to run at any time, beside ingests and beside itself.",
    after_help = "Examples:\n  flakewise maintain --dry-run\n  flakewise maintain"
)]
pub(crate) struct MaintainArguments {
    #[command(flatten)]
    pub(crate) store: StoreArguments,

    /// Say what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Keep files nothing refers to so many hours, for readers and writers under way
    #[arg(long, value_name = "HOURS", default_value_t = 168, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) keep: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SummaryFormat {
    /// For people
    Text,
    /// For machines
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people
    Text,
    /// For machines
    Json,
    /// For merge requests and job summaries
    Markdown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RowsFormat {
    /// An aligned table
    Text,
    /// Comma-separated values
    Csv,
    /// One JSON object per line
    Json,
}

fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("it must look like `python=3.11`".to_owned()),
    }
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
        for subcommand in command.get_subcommands().filter(|subcommand| subcommand.get_name() != "help") {
            let name = subcommand.get_name();
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
