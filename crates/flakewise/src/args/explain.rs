//! Arguments of `flakewise explain`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(
    about = "Explain line by line why a test is likely or unlikely to be flaky",
    long_about = "Explain line by line why a test is likely or unlikely to be flaky.\n\n\
        Reads source code and runs nothing. Prints the risk of the test, the reasons, the\n\
        lines that raise or lower the risk, and the path with the strongest evidence of\n\
        flakiness: where a value originates and through which calls it reaches an assertion.\n\
        Calls into the code under test are resolved across files and shown with file and line.\n\n\
        Helpers of the class and its superclasses are followed. Expected exceptions, `verify`,\n\
        `fail` and matchers count as assertions. A test without an assertion has an implicit\n\
        one, `completes`: its last statement must not throw.\n\n\
        Paths are available for Java and Python; other languages have reasons and lines.",
    after_help = "Examples:\n  \
        flakewise explain tests/test_cart.py::test_total\n  \
        flakewise explain org.acme.CartTest#adds\n  \
        flakewise explain test_total --graph total.svg\n  \
        flakewise explain test_total --graph total.dot"
)]
pub(crate) struct ExplainArguments {
    /// Test to explain: its name in your runner, or any unique part of it
    #[arg(value_name = "TEST")]
    pub(crate) test: String,

    /// Write the dependency graph to an `.svg` or `.dot` file, with the strongest path highlighted
    #[arg(long, value_name = "FILE")]
    pub(crate) graph: Option<PathBuf>,

    /// Model to use [default: `.flakewise/model` or the pretrained model]
    #[arg(long, value_name = "FILE")]
    pub(crate) model: Option<PathBuf>,

    /// Project name, e.g. `acme/shop` [default: from CI or git]
    #[arg(long, value_name = "NAME", env = "FLAKEWISE_PROJECT")]
    pub(crate) project: Option<String>,
}
