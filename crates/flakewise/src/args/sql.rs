//! Arguments of `flakewise sql`.

use clap::Args;

use super::formats::RowsFormat;
use super::shared::StoreArguments;

#[derive(Debug, Args)]
#[command(
    about = "Query the history with SQL",
    long_about = "Query the history with SQL.\n\n\
        attempts   one row per execution of a test\n\
        reports    one row per ingested report\n\
        verdicts   one row per failing test of a run, with the evidence\n\
        runs       one row per run, with `outage` where most tests failed\n\
        outcomes   attempts without skips and outages, with `failed` and `revision`\n\
        mixed      revisions on which a test both passed and failed\n\n\
        Queries are read-only. The tables are in the Delta Lake format: any engine that reads\n\
        Delta Lake can read them.",
    after_help = "Examples:\n  \
        flakewise sql \"SELECT test, count(*) AS n FROM attempts GROUP BY test ORDER BY n DESC LIMIT 5\"\n  \
        flakewise sql \"SELECT day, avg(duration_us) / 1e6 AS seconds FROM attempts GROUP BY day\" --format csv\n  \
        flakewise sql \"DESCRIBE attempts\""
)]
pub(crate) struct SqlArguments {
    /// SQL query
    #[arg(value_name = "QUERY")]
    pub(crate) query: String,

    #[command(flatten)]
    pub(crate) store: StoreArguments,

    /// Maximum number of rows to print
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) limit: usize,

    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: RowsFormat,
}
