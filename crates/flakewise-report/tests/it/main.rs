//! What is said about a run, in every form.

mod culprit;
mod github;
mod gitlab;
mod hostile;
mod json;
mod markdown;
mod risk;
mod sample;
mod text;

use flakewise_report::{Findings, findings_github, findings_gitlab, findings_sarif};

fn github<'a, R>(report: &'a R) -> String
where
    Findings: From<&'a R>,
{
    findings_github(&Findings::from(report))
}

fn gitlab<'a, R>(report: &'a R) -> String
where
    Findings: From<&'a R>,
{
    findings_gitlab(&Findings::from(report))
}

fn sarif<'a, R>(report: &'a R) -> String
where
    Findings: From<&'a R>,
{
    findings_sarif(&Findings::from(report))
}
