//! The command line, as typed.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ColorChoice, Parser, Subcommand, ValueEnum};

use crate::own_folder::own_path;

/// Tells you whether a failing test is flaky, and why
#[derive(Debug, Parser)]
#[command(
    version,
    about = "Tells you whether a failing test is flaky, and why",
    long_about = "Tells you whether a failing test is flaky, and why.\n\n\
        Put it before the command that runs your tests, and every failure gets a verdict\n\
        with its evidence: flaky and of which kind, a regression, broken before. Or feed it\n\
        the JUnit reports your runner writes. Either way it keeps a history, as an open\n\
        table in a folder or a bucket, and tells from it which tests are flaky over time.\n\n  \
        flakewise run -- pytest          run tests, say what failures are due to\n  \
        flakewise hunt -- pytest         run single tests again until flaky ones show\n  \
        flakewise culprit TEST -- pytest which tests another one depends on\n  \
        flakewise ingest build/reports   take in what a run reported\n  \
        flakewise report                 the flaky tests, the costliest first\n  \
        flakewise show test_total        one test's past, and the evidence\n  \
        flakewise predict --changed      tests likely flaky by their source, before they run",
    after_help = "Every command explains itself: `flakewise help run`"
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

    /// Log to stderr what happens and how long it takes; twice for every process and git command
    #[arg(long, short, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(Box<RunArguments>),
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
    #[command(subcommand, hide = true)]
    Debug(DebugCommand),
}

/// Looks inside, for those who work on Flakewise.
#[derive(Debug, Subcommand)]
pub(crate) enum DebugCommand {
    Meetings(MeetingsArguments),
    Pairs(PairsArguments),
}

#[derive(Debug, Args)]
#[command(
    about = "Run every test before every other, and print who ends otherwise than alone, as JSON",
    long_about = "Run every test before every other, and print who ends otherwise than alone, as JSON.\n\n\
        That takes as many forks as there are pairs of tests.",
    after_help = "Examples:\n  flakewise debug pairs -- pytest tests"
)]
pub(crate) struct PairsArguments {
    /// The command that runs the tests, after `--`
    #[arg(value_name = "COMMAND", last = true, required = true)]
    pub(crate) command: Vec<std::ffi::OsString>,

    /// Forks to run side by side; as many as there are cores by default
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: Option<u16>,
}

#[derive(Debug, Args)]
#[command(
    about = "Say for every test how it meets the change, as JSON",
    long_about = "Say for every test how it meets the change, as JSON.",
    after_help = "Examples:\n  flakewise debug meetings --base HEAD^ -- pytest"
)]
pub(crate) struct MeetingsArguments {
    /// The command that runs the tests, after `--`
    #[arg(value_name = "COMMAND", last = true, required = true)]
    pub(crate) command: Vec<std::ffi::OsString>,

    /// Revision to compare with
    #[arg(long, value_name = "REF")]
    pub(crate) base: Option<String>,
}

/// Where the history is.
#[derive(Debug, Args)]
pub(crate) struct StoreArguments {
    /// Folder or bucket of the history [default: `.flakewise/history` at the root of the repository]
    #[arg(long, value_name = "URL", env = "FLAKEWISE_STORE")]
    store: Option<String>,

    /// Whose history it is, such as `acme/shop`; found from CI or git by default
    #[arg(long, value_name = "NAME", env = "FLAKEWISE_PROJECT")]
    pub(crate) project: Option<String>,
}

impl StoreArguments {
    /// The store to use.
    pub(crate) fn url(&self) -> String {
        self.store.clone().unwrap_or_else(|| own_path("history").to_string_lossy().into_owned())
    }
}

/// Where results wait for the history.
#[derive(Debug, Args)]
pub(crate) struct SpoolArguments {
    /// Folder for results that could not be sent [default: `.flakewise/spool` at the root of the repository]
    #[arg(long, value_name = "DIR", env = "FLAKEWISE_SPOOL")]
    spool: Option<PathBuf>,
}

impl SpoolArguments {
    /// The folder to use.
    pub(crate) fn folder(&self) -> PathBuf {
        self.spool.clone().unwrap_or_else(|| own_path("spool"))
    }
}

/// What is known of a run, where the environment does not say it.
#[derive(Debug, Default, Args)]
pub(crate) struct ContextArguments {
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
}

#[derive(Debug, Args)]
#[command(
    about = "Run tests, and say what every failure is due to",
    long_about = "Run tests, and say what every failure is due to.\n\n\
        Runs your own command, which may be pytest or anything that starts it. When a test\n\
        fails, it climbs a ladder until it passes:\n\n  \
        again at once            transient: timing, randomness\n  \
        again after the suite    bursty: something was in the way and has gone\n  \
        alone, in a fork         state-dependent: earlier tests left something behind\n  \
        alone, in a new process  hash seed, imports\n\n\
        A test that never passes is compared with the change: what it depends on is watched\n\
        and intersected with what differs from the base revision, uncommitted work included.\n\n\
        The exit code stays that of your command, unless flakes are tolerated. Nothing is\n\
        installed in your environment. Every attempt goes to the history.",
    after_help = "Examples:\n  \
        flakewise run -- pytest\n  \
        flakewise run --verify-base -- python -m pytest tests -q\n  \
        flakewise run --tolerate flaky --write junit=report.xml -- make test"
)]
pub(crate) struct RunArguments {
    /// The command that runs the tests, best after `--`
    #[arg(value_name = "COMMAND", trailing_var_arg = true, required = true)]
    pub(crate) command: Vec<std::ffi::OsString>,

    /// Revision to compare with; the merge base with the main branch by default
    #[arg(long, value_name = "REF", help_heading = "Change")]
    pub(crate) base: Option<String>,

    /// Run failing tests on the base revision too, in a scratch work tree
    #[arg(long, help_heading = "Change")]
    pub(crate) verify_base: bool,

    /// Exit with 0 if all failures are of this kind; pytest waits for the verdicts and corrects its own exit code
    #[arg(long, value_name = "KIND")]
    pub(crate) tolerate: Option<Tolerated>,

    /// Stop a test that takes longer than this, such as `90s` or `5m`
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = duration, help_heading = "Ladder")]
    pub(crate) test_timeout: Duration,

    /// Runs at once, in the same process
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Ladder")]
    pub(crate) rerun: u32,

    /// Runs after the suite, in the same process
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Ladder")]
    pub(crate) postpone: u32,

    /// Runs in processes of their own: forks, and last a new one
    #[arg(long, value_name = "N", default_value_t = 2, help_heading = "Ladder")]
    pub(crate) separate: u32,

    /// Go on until a failure is so surely no flake, such as 0.99
    #[arg(long, value_name = "P", value_parser = confidence, help_heading = "Ladder")]
    pub(crate) confidence: Option<f64>,

    /// Run nothing again if more things fail than this; 1 % of the tests by default, at least 10
    #[arg(long, value_name = "N", help_heading = "Ladder")]
    pub(crate) max_failures: Option<u64>,

    /// Where randomness comes from; a new one each time by default
    #[arg(long, value_name = "N", help_heading = "Ladder")]
    pub(crate) seed: Option<u64>,

    #[command(flatten)]
    pub(crate) store: StoreArguments,

    /// Keep nothing of this run
    #[arg(long)]
    pub(crate) no_store: bool,

    #[command(flatten)]
    pub(crate) context: ContextArguments,

    #[command(flatten)]
    pub(crate) spool: SpoolArguments,

    /// Write another form to a file, such as `junit=report.xml`; may be repeated
    #[arg(long, value_name = "FORMAT=FILE", value_parser = written, help_heading = "Output")]
    pub(crate) write: Vec<(RunFormat, PathBuf)>,

    /// How to print the verdicts; unless as text, your command prints to stderr
    #[arg(long, value_name = "FORMAT", default_value = "text", help_heading = "Output")]
    pub(crate) format: RunFormat,

    /// Spend at most this time on running `reproduce:` commands before they are printed; 0 for never
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration_or_zero,
        help_heading = "Output")]
    pub(crate) reproduce_budget: Duration,
}

#[derive(Debug, Args)]
#[command(
    about = "Find the flaky tests of a suite on a budget",
    long_about = "Find the flaky tests of a suite on a budget.\n\n\
        Runs the suite once, and then single tests again and again, each in a process of its\n\
        own: next is always the test that is most likely to show both outcomes, per second of\n\
        its run time. What is likely comes from the tests' source, from the history and from\n\
        what other tests of the class have shown.\n\n\
        It ends when its time is over, or when enough is known, and says which tests passed\n\
        and failed on the same code, how often the others ran without a surprise, and how\n\
        many flaky tests are probably still hidden.\n\n\
        Every run goes to the history: the next hunt on the same commit goes on from there.\n\
        Machines that share a history share a hunt with `--shard`.",
    after_help = "Examples:\n  \
        flakewise hunt -- pytest\n  \
        flakewise hunt --budget 30m --hidden 0.5 -- python -m pytest tests\n  \
        flakewise hunt --shard 2/4 --store s3://acme-tests/history -- pytest"
)]
pub(crate) struct HuntArguments {
    /// The command that runs the tests, best after `--`
    #[arg(value_name = "COMMAND", trailing_var_arg = true, required = true)]
    pub(crate) command: Vec<std::ffi::OsString>,

    /// Stop after this time, such as `90s` or `30m`
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = duration, help_heading = "End")]
    pub(crate) budget: Duration,

    /// Stop when every test is so surely not flaky, such as 0.99
    #[arg(long, value_name = "P", value_parser = confidence, help_heading = "End")]
    pub(crate) confidence: Option<f64>,

    /// Stop when fewer flaky tests than this are expected to be hidden
    #[arg(long, value_name = "N", value_parser = positive, help_heading = "End")]
    pub(crate) hidden: Option<f64>,

    /// Run all tests in other orders first: so many, or what a third of the time allows
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "0",
        conflicts_with = "shard")]
    pub(crate) orders: Option<u32>,

    /// Tests to run side by side; as many as there are cores by default
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: Option<u16>,

    /// Hunt only this part of the tests, such as `2/4`
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub(crate) shard: Option<flakewise_model::Shard>,

    /// Measure how each test behaves first, and write that with its outcomes to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) features: Option<PathBuf>,

    /// Measured runs of each test for `--features`
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) measured_runs: u32,

    /// Stop a test that takes longer than this
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = duration)]
    pub(crate) test_timeout: Duration,

    /// Model to judge tests by before they run; the project's own or the one that ships by default
    #[arg(long, value_name = "FILE")]
    pub(crate) model: Option<PathBuf>,

    /// Where randomness comes from; a new one each time by default
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    #[command(flatten)]
    pub(crate) store: StoreArguments,

    /// Keep nothing of this hunt
    #[arg(long)]
    pub(crate) no_store: bool,

    #[command(flatten)]
    pub(crate) context: ContextArguments,

    #[command(flatten)]
    pub(crate) spool: SpoolArguments,

    /// How to print what was found; unless as text, your command prints to stderr
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: SummaryFormat,
}

#[derive(Debug, Args)]
#[command(
    about = "Find the tests that another test depends on",
    long_about = "Find the tests that another test depends on.\n\n\
        For a test that fails in the suite and passes alone, or the other way round. Runs it\n\
        alone, looks for an order in which it ends otherwise, and reduces the tests before it\n\
        to those that are needed: polluters that make it fail, or state-setters it needs to\n\
        pass. That takes forks of one process, which cost milliseconds; what is found is\n\
        confirmed in new processes, and told with a plain command that shows it.\n\n\
        Orders in which it failed before are taken from the history. If it is interrupted, the\n\
        same command continues, as long as no tracked file and no code changed.",
    after_help = "Examples:\n  \
        flakewise culprit test_total -- pytest\n  \
        flakewise culprit --all tests/test_cart.py::test_total -- python -m pytest tests"
)]
pub(crate) struct CulpritArguments {
    #[command(flatten)]
    pub(crate) search: SearchArguments,

    /// Try every other test, and look for tests that clean up in between
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
#[command(
    about = "Find the shortest command that makes a test fail",
    long_about = "Find the shortest command that makes a test fail.\n\n\
        Takes a finding of `run`, `hunt` or `report` by its id, or a test. Looks for what it\n\
        takes to fail: nothing, other tests before it, or a hash seed. What works is run in\n\
        new processes to see how often, and told as a plain command, or as a loop around one\n\
        that almost surely fails once.",
    after_help = "Examples:\n  \
        flakewise reproduce 7f3a91c2 -- pytest\n  \
        flakewise reproduce test_total -- python -m pytest tests"
)]
pub(crate) struct ReproduceArguments {
    #[command(flatten)]
    pub(crate) search: SearchArguments,
}

/// A test to look into, and how.
#[derive(Debug, Args)]
pub(crate) struct SearchArguments {
    /// The test: the id of a finding, your runner's name for it, or the end of that name
    #[arg(value_name = "TEST")]
    pub(crate) test: String,

    /// The command that runs the tests, after `--`
    #[arg(value_name = "COMMAND", last = true, required = true)]
    pub(crate) command: Vec<std::ffi::OsString>,

    /// Stop after this time, counted from when the tests are collected
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = duration)]
    pub(crate) budget: Duration,

    /// Forks to run side by side; as many as there are cores by default
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: Option<u16>,

    /// Stop a test that takes longer than this
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = duration)]
    pub(crate) test_timeout: Duration,

    /// Where randomness comes from; a new one each time by default
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    #[command(flatten)]
    pub(crate) store: StoreArguments,

    /// How to print what was found; unless as text, your command prints to stderr
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: SummaryFormat,
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

    #[command(flatten)]
    pub(crate) context: ContextArguments,

    /// Fail if the store is out of reach or a report is damaged
    #[arg(long)]
    pub(crate) strict: bool,

    #[command(flatten)]
    pub(crate) spool: SpoolArguments,

    /// How to print the summary
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: SummaryFormat,
}

#[derive(Debug, Args)]
#[command(
    about = "Say which tests are likely flaky, before they run",
    long_about = "Say which tests are likely flaky, before they run.\n\n\
        Reads the source of tests and runs nothing. Every test named has\n\
        its risk, the likely kind of flakiness, and the reasons: known flaky tests it looks\n\
        like, what it uses, how the tests around it fare.\n\n\
        Uses the model of this project if `flakewise train` has made one, else a pretrained\n\
        one, and says what was measured to be expected of it. People are told of tests from\n\
        the risk at which 95 of 100 were flaky when it was measured; if there is none, the\n\
        most likely few are told with their chance. Machines get all from a risk of 0.5.\n\n\
        What is found ends with 0; see `--fail-above`. Files that have not changed since the\n\
        last time are not judged again.",
    after_help = "Examples:\n  \
        flakewise predict\n  \
        flakewise predict --changed\n  \
        flakewise predict tests/api --threshold 0.3\n  \
        flakewise predict --format sarif > flaky.sarif\n  \
        flakewise predict --changed --format github --fail-above 0.95"
)]
pub(crate) struct PredictArguments {
    /// Files or folders; everything below this folder by default
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    /// Only tests whose lines changed, or lines they stand on in their file
    #[arg(long, help_heading = "Change")]
    pub(crate) changed: bool,

    /// Revision to compare with; the merge base with the main branch by default
    #[arg(long, value_name = "REF", requires = "changed", help_heading = "Change")]
    pub(crate) base: Option<String>,

    /// Model to use; `.flakewise/model` by default, or the pretrained one
    #[arg(long, value_name = "FILE")]
    pub(crate) model: Option<PathBuf>,

    /// Whose tests they are, such as `acme/shop`; found from CI or git by default
    #[arg(long, value_name = "NAME", env = "FLAKEWISE_PROJECT")]
    pub(crate) project: Option<String>,

    /// Name tests from this risk on, such as 0.8; found by itself by default
    #[arg(long, value_name = "P", value_parser = share, conflicts_with = "all")]
    pub(crate) threshold: Option<f64>,

    /// Name all tests, whatever their risk
    #[arg(long)]
    pub(crate) all: bool,

    /// End with exit code 11 if a test has a higher risk than this
    #[arg(long, value_name = "P", value_parser = share)]
    pub(crate) fail_above: Option<f64>,

    /// How to print it
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: PredictFormat,
}

#[derive(Debug, Args)]
#[command(
    about = "Show what speaks for and against a test being flaky, line by line",
    long_about = "Show what speaks for and against a test being flaky, line by line.\n\n\
        Reads source and runs nothing. Prints the risk of the test, the reasons, the lines\n\
        that raise or lower the risk, and the path that speaks most for flakiness: how a value\n\
        gets from where it begins, through which calls, to what the test asserts. Calls into\n\
        the code under test are resolved across files and shown with file and line.\n\n\
        Helpers of the class and its superclasses are followed. Expected exceptions, `verify`,\n\
        `fail` and matchers count as assertions. A test with no assertion has an implicit one,\n\
        `completes`: its last statement must not throw.\n\n\
        Paths are found in Java and Python; tests in other languages get reasons and lines.",
    after_help = "Examples:\n  \
        flakewise explain tests/test_cart.py::test_total\n  \
        flakewise explain org.acme.CartTest#adds\n  \
        flakewise explain test_total --graph total.svg\n  \
        flakewise explain test_total --graph total.dot"
)]
pub(crate) struct ExplainArguments {
    /// The test, named as your runner does or by any part that names only one
    #[arg(value_name = "TEST")]
    pub(crate) test: String,

    /// Draw the dependency graph to an `.svg` or `.dot` file, with the heaviest path marked
    #[arg(long, value_name = "FILE")]
    pub(crate) graph: Option<PathBuf>,

    /// Model to use [default: `.flakewise/model`, else the pretrained model]
    #[arg(long, value_name = "FILE")]
    pub(crate) model: Option<PathBuf>,

    /// Project name, such as `acme/shop` [default: from CI or git]
    #[arg(long, value_name = "NAME", env = "FLAKEWISE_PROJECT")]
    pub(crate) project: Option<String>,
}

#[derive(Debug, Args)]
#[command(
    about = "Learn from this project which tests are flaky",
    long_about = "Learn from this project which tests are flaky.\n\n\
        Without `--labels`, learns from the history: tests that were proved flaky, and tests\n\
        that ran often and never failed. The source is that of the work tree.\n\n\
        With `--labels`, learns from a file of JSON lines, which may be packed with gzip:\n\n  \
        {\"test\": \"tests/test_cart.py::test_total\", \"flaky\": true, \"category\": \"async-wait\"}\n\n\
        `category` is optional; with 20 or more, a category model is trained too. With\n\
        `source`, and `language` unless it is Java, a line brings the test's source along.\n\
        Public data sets with `source`, `label`, `project`, `class` and `method` are read\n\
        as they are.\n\n\
        Prints what to expect of the model, measured on tests that were held out.",
    after_help = "Examples:\n  \
        flakewise train\n  \
        flakewise train --labels flaky.jsonl\n  \
        flakewise train --model paths --out paths.model\n  \
        flakewise train --labels flakeflagger.jsonl.gz --out public.model"
)]
pub(crate) struct TrainArguments {
    /// File that says which tests are flaky; the history says it by default
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,

    /// Folder that ids of tests are told from; the root of the repository by default
    #[arg(long, value_name = "DIR")]
    pub(crate) source: Option<PathBuf>,

    /// Technique that the model uses
    #[arg(long, value_name = "NAME", value_enum, default_value_t = TrainModel::Blend)]
    pub(crate) model: TrainModel,

    /// Embeddings of words to start with, in the text format of code2vec and word2vec; needs
    /// `--model paths`
    #[arg(long, value_name = "FILE")]
    pub(crate) embeddings: Option<PathBuf>,

    /// Where to write the model; `.flakewise/model` by default
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,

    /// Where randomness comes from
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,

    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

#[derive(Debug, Args)]
#[command(
    about = "Measure how good prediction is, on labelled tests",
    long_about = "Measure how good prediction is, on labelled tests.\n\n\
        Every model is measured on the same folds, under three protocols:\n\n  \
        random    tests are held out at random, as papers do it\n  \
        class     whole classes are held out: what is said of new classes\n  \
        project   whole projects are held out: what is said on the first day\n\n\
        The data is JSON lines with `source`, `label`, `project`, `class` and `method`, plain\n\
        or packed with gzip or xz, as the public data sets are.",
    after_help = "Examples:\n  \
        flakewise eval flakeflagger.jsonl.gz\n  \
        flakewise eval flakeflagger.jsonl.gz --protocol class --out eval/flakeflagger"
)]
pub(crate) struct EvalArguments {
    /// File of labelled tests
    #[arg(value_name = "DATASET")]
    pub(crate) dataset: PathBuf,

    /// Folder to write results to, with a page of plots
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Measure under this protocol only; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) protocol: Vec<EvalProtocol>,

    /// Where randomness comes from
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
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
        verdicts   one row per failing test of a run, with the evidence\n\
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

/// What may fail without turning the build red.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Tolerated {
    /// Flaky tests whose failure was seen without this change, in the history or at the base (recommended)
    Known,
    /// The same, and flaky tests that depend on nothing that changed
    Flaky,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunFormat {
    /// For people
    Text,
    /// For machines
    Json,
    /// For merge requests and job summaries
    Markdown,
    /// JUnit XML with every attempt
    Junit,
    /// Annotations of GitHub Actions
    Github,
    /// A code quality report of GitLab
    Gitlab,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PredictFormat {
    /// For people
    Text,
    /// For machines
    Json,
    /// SARIF 2.1.0, for code hosts and editors
    Sarif,
    /// Annotations of GitHub Actions
    Github,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TrainModel {
    /// Words, similar tests and counts in boosted trees; the most accurate
    Blend,
    /// FLAST: known tests that look alike
    Flast,
    /// PEELER: a network over the paths of values to assertions, for Java and Python
    Paths,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EvalProtocol {
    /// Tests are held out at random
    Random,
    /// Whole classes are held out
    Class,
    /// Whole projects are held out
    Project,
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

/// A duration, or 0 for none at all.
fn duration_or_zero(text: &str) -> Result<Duration, String> {
    if matches!(text, "0" | "0s") { Ok(Duration::ZERO) } else { duration(text) }
}

/// `90s`, `5m`, `1h 30m`, `250ms`; a bare number is seconds.
fn duration(text: &str) -> Result<Duration, String> {
    let is_bare = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let parsed = humantime::parse_duration(&if is_bare { format!("{text}s") } else { text.to_owned() });
    let wrong = |_| "it must look like `90s`, `5m` or `250ms`".to_owned();
    match parsed.map_err(wrong)? {
        duration if !duration.is_zero() && duration < Duration::from_hours(24 * 7) => Ok(duration),
        _ => Err("it must be more than nothing and less than a week".to_owned()),
    }
}

fn confidence(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|value| (0.5..1.0).contains(value))
        .ok_or_else(|| "it must be from 0.5 to below 1".to_owned())
}

fn positive(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|value: &f64| value.is_finite() && *value > 0.0)
        .ok_or_else(|| "it must be a number above 0".to_owned())
}

/// `2/4`: the second part of four.
fn shard(text: &str) -> Result<flakewise_model::Shard, String> {
    let parts = text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
    match parts {
        Some((number, of)) if number >= 1 && number <= of => Ok(flakewise_model::Shard { number, of }),
        _ => Err("it must look like `2/4`, from 1/4 to 4/4".to_owned()),
    }
}

fn share(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|value| (0.0..=1.0).contains(value))
        .ok_or_else(|| "it must be from 0 to 1".to_owned())
}

fn written(text: &str) -> Result<(RunFormat, PathBuf), String> {
    let (format, file) =
        text.split_once('=').ok_or_else(|| "it must look like `junit=report.xml`".to_owned())?;
    Ok((RunFormat::from_str(format, true)?, PathBuf::from(file)))
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
        let is_taught = |name: &str| !["help", "debug"].contains(&name);
        for subcommand in command.get_subcommands().filter(|subcommand| is_taught(subcommand.get_name())) {
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

    #[test]
    fn times_have_units() {
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1.5"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("1m 30s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("2h"), Ok(Duration::from_hours(2)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        for wrong in
            ["", "s", "0s", "-1s", "5 weeks", "5 lightyears", "1e300h", "99999999999999999999s", "1h30"]
        {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn parts_are_counted_from_one() {
        assert_eq!(shard("2/4"), Ok(flakewise_model::Shard { number: 2, of: 4 }));
        assert!(shard("0/4").is_err() && shard("5/4").is_err() && shard("2").is_err());
    }

    fn check_line(help: &str, place: &str) {
        assert!(!help.is_empty(), "`{place}` is not explained");
        assert!(help.starts_with(char::is_uppercase), "`{place}`: `{help}` does not begin with a capital");
        assert!(!help.ends_with('.'), "`{place}`: `{help}` ends with a full stop");
    }
}
