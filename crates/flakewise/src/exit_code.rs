//! Every exit code, once. A test compares them with `docs/src/reference/exit-codes.md`.

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum ExitCode {
    /// All is well, or there was nothing to do.
    Success = 0,
    /// A bug of ours.
    Bug = 1,
    /// A wrong command line, which the argument parser reports, or environment
    /// variable.
    Usage = 2,
    /// Tests are as flaky as the user does not want them.
    Rejected = 11,
    /// No report, no test of that name, or too little to learn from was found.
    NothingFound = 12,
    /// The tests could not be run at all.
    Runner = 20,
    /// The configuration or the quarantine file is malformed, or `doctor` found a problem.
    Configuration = 21,
    /// The store cannot be read or written.
    Store = 22,
    /// A report could not be understood.
    Report = 23,
    /// A query is wrong.
    #[cfg(feature = "history")]
    Query = 24,
    /// Somebody pressed ctrl-C.
    Interrupted = 130,
    /// The system asked us to end.
    Terminated = 143,
}

impl ExitCode {
    /// How we end if a signal made us.
    pub(crate) fn of_signal(signal: i32) -> Self {
        // SIGINT has this number everywhere.
        if signal == 2 { Self::Interrupted } else { Self::Terminated }
    }
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> Self {
        Self::from(code as u8)
    }
}

#[cfg(test)]
mod tests {
    /// The page has one row for each code of this file.
    #[test]
    fn the_docs_list_every_exit_code() {
        let page = include_str!("../../../docs/src/reference/exit-codes.md");
        let listed: Vec<(u8, String)> = page
            .lines()
            .take_while(|line| !line.starts_with("## "))
            .filter_map(|line| {
                let mut cells = line.split(" | ");
                let code = cells.next()?.trim_start_matches("| ").parse().ok()?;
                Some((code, cells.next()?.replace(' ', "")))
            })
            .collect();
        let expected: Vec<(u8, String)> = include_str!("exit_code.rs")
            .lines()
            .filter_map(|line| line.trim().strip_suffix(',')?.split_once(" = "))
            .filter_map(|(name, code)| Some((code.parse().ok()?, name.to_lowercase())))
            .collect();
        assert_eq!(listed, expected);
    }
}
