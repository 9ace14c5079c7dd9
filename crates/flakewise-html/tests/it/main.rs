//! Pages from made-up overviews.

mod hostile;
mod page;
mod synthetic;

use flakewise_html::{Page, report_html};
use flakewise_model::ProjectOverview;

fn html(overview: &ProjectOverview) -> String {
    report_html(overview, &Page { generated_at: synthetic::generated_at(), version: "0.1.0" })
}

/// What the page's script reads.
fn data(html: &str) -> serde_json::Value {
    let (_, rest) =
        html.split_once("<script type=\"application/json\" id=\"data\">").expect("a block of data");
    let (block, _) = rest.split_once("</script>").expect("its end");
    serde_json::from_str(block).expect("JSON")
}
