//! Arguments of `flakewise ingest`.

use clap::Args;

use super::formats::SummaryFormat;
use super::shared::{ContextArguments, LandingArguments, SpoolArguments, StoreArguments};

#[derive(Debug, Args)]
#[command(
    about = "Add test reports to the history",
    long_about = "Add test reports to the history.\n\n\
        Reads JUnit XML from pytest, Surefire, Gradle, nextest, gotestsum, Jest, Vitest,\n\
        Playwright, GoogleTest, PHPUnit, RSpec and others, including every retry. Commit,\n\
        branch and job are detected from GitHub Actions, GitLab, CircleCI, Jenkins, Buildkite\n\
        or git. Ingesting the same report again adds nothing.\n\n\
        If the store is unreachable, the reports are kept in a spool and sent by the next\n\
        ingest. On CI this is a warning rather than a failure, so that a store never turns a\n\
        green build red; see `--strict`.",
    after_help = "Examples:\n  \
        flakewise ingest junit.xml\n  \
        flakewise ingest 'modules/*/target/surefire-reports/*.xml'\n  \
        flakewise ingest build --variant python=3.11 --store s3://acme-tests/history"
)]
pub(crate) struct IngestArguments {
    /// Files, directories or patterns [default: working directory]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<String>,

    #[command(flatten)]
    pub(crate) store: StoreArguments,

    #[command(flatten)]
    pub(crate) landing: LandingArguments,

    #[command(flatten)]
    pub(crate) context: ContextArguments,

    /// Fail if the store is unreachable or a report is damaged
    #[arg(long)]
    pub(crate) strict: bool,

    #[command(flatten)]
    pub(crate) spool: SpoolArguments,

    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: SummaryFormat,
}
