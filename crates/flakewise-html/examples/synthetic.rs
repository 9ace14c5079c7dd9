//! Writes a page with made-up data, for `bench/html` and to look at.
//!
//!     synthetic OUT.html TESTS DAYS SEED
//!     synthetic OUT.html hostile SEED EXPECTED.json
//!
//! The second form has hostile text in every field, and writes down what names and
//! messages a browser must show.

use std::error::Error;

use flakewise_html::{Page, report_html};
use flakewise_model::Foreign;

#[path = "../tests/it/synthetic.rs"]
mod synthetic;

/// Tests with details, as `flakewise report --html` has them.
const DETAILED: usize = 200;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let page = Page { generated_at: synthetic::generated_at(), version: env!("CARGO_PKG_VERSION") };
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [out, "hostile", seed, expected] => {
            let overview = synthetic::hostile(seed.parse()?);
            std::fs::write(out, report_html(&overview, &page))?;
            let tests = overview.tests.iter().map(|test| {
                let parameters = test.test.parameters().unwrap_or_default();
                let name = format!("{}::{}[{parameters}]", test.test.class_path().join("::"), test.test.name());
                serde_json::json!({ "name": Foreign::new(&name).cut(400), "file": Foreign::new(&test.test.module()).cut(400) })
            });
            std::fs::write(expected, serde_json::to_string(&tests.collect::<Vec<_>>())?)?;
        }
        [out, tests, days, seed] => {
            let overview = synthetic::overview(tests.parse()?, days.parse()?, DETAILED, seed.parse()?);
            std::fs::write(out, report_html(&overview, &page))?;
        }
        _ => {
            return Err(
                "usage: synthetic OUT.html TESTS DAYS SEED | OUT.html hostile SEED EXPECTED.json".into()
            );
        }
    }
    Ok(())
}
