//! Output formats of each kind of document.

use clap::ValueEnum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SummaryFormat {
    /// Text for the terminal
    Text,
    /// JSON, documented and versioned
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunFormat {
    /// Text for the terminal
    Text,
    /// JSON, documented and versioned
    Json,
    /// Markdown for pull requests and job summaries
    Markdown,
    /// JUnit XML with every attempt
    Junit,
    /// SARIF 2.1.0, for code hosts and editors
    Sarif,
    /// Annotations for GitHub Actions
    Github,
    /// Code quality report for GitLab
    Gitlab,
}

/// The formats of findings that do not come from one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FindingsFormat {
    /// Text for the terminal
    Text,
    /// JSON, documented and versioned
    Json,
    /// Markdown for pull requests and job summaries
    Markdown,
    /// SARIF 2.1.0, for code hosts and editors
    Sarif,
    /// Annotations for GitHub Actions
    Github,
    /// Code quality report for GitLab
    Gitlab,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RowsFormat {
    /// Aligned table
    Text,
    /// Comma-separated values
    Csv,
    /// One JSON object per line
    Json,
}
