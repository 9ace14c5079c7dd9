//! What to add to CI.

use super::detect::{CiSystem, Found};

/// How to install us.
const INSTALL: &str = concat!("cargo install --locked --git ", env!("CARGO_PKG_REPOSITORY"), " flakewise");

/// A job that runs the tests, in the language of a CI system.
pub(super) fn snippet(system: CiSystem, runners: &[Found], install: Option<&'static str>) -> String {
    let job = Job::new(runners, install);
    match system {
        CiSystem::Github => job.github(),
        CiSystem::Gitlab => job.gitlab(),
        CiSystem::Jenkins => job.jenkins(),
        CiSystem::Buildkite => job.buildkite(),
        CiSystem::Azure => job.azure(),
        CiSystem::Circle => job.circle(),
    }
}

/// What a job does.
struct Job {
    /// Installs the project; none if there is nothing to install, or only its people
    /// know how.
    install: Option<&'static str>,
    /// Runs the tests.
    test: &'static str,
    /// Runs afterwards, also if the tests failed; none if `flakewise run` does it all.
    ingest: Option<String>,
}

impl Job {
    fn new(runners: &[Found], install: Option<&'static str>) -> Self {
        let reports = runners.iter().find_map(|found| found.runner.reports());
        let is_run = runners.iter().any(|found| found.runner.is_run());
        match reports.filter(|_| !is_run) {
            Some((test, pattern)) => {
                Self { install, test, ingest: Some(format!("flakewise ingest '{pattern}'")) }
            }
            None => Self { install, test: "flakewise run", ingest: None },
        }
    }

    fn github(&self) -> String {
        let install = self.install_line(|command| format!("      - run: {command}\n"));
        let ingest = self.ingest.as_ref().map_or_else(String::new, |command| {
            format!(
                "      - name: Add the reports to the history\n        if: always()\n        run: {command}\n"
            )
        });
        format!(
            r#"name: flakewise
on:
  push:
    branches: [main, master]
  pull_request:
permissions:
  contents: read
jobs:
  tests:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
        with:
          # Failures are compared with the merge base.
          fetch-depth: 0
      - uses: actions/setup-python@v5
        with:
          python-version: "3.x"
{install}      - run: {INSTALL}
      # Keeps the history between jobs. With a bucket as `store` in `flakewise.toml`, remove both cache steps.
      - uses: actions/cache/restore@v4
        with:
          path: |
            .flakewise/history
            .flakewise/spool
          key: flakewise-${{{{ github.run_id }}}}-${{{{ github.run_attempt }}}}
          restore-keys: flakewise-
      - run: {test}
{ingest}      - uses: actions/cache/save@v4
        if: always()
        with:
          path: |
            .flakewise/history
            .flakewise/spool
          key: flakewise-${{{{ github.run_id }}}}-${{{{ github.run_attempt }}}}
"#,
            test = self.test
        )
    }

    fn gitlab(&self) -> String {
        let install = self.install_line(|command| format!("    - {command}\n"));
        let after = self
            .ingest
            .as_ref()
            .map_or_else(String::new, |command| format!("  after_script:\n    - {command}\n"));
        format!(
            r"flakewise:
  image: python:3
  variables:
    # Failures are compared with the merge base.
    GIT_DEPTH: 0
  cache:
    # Keeps the history between jobs. With a bucket as `store` in `flakewise.toml`, remove it.
    key: flakewise
    paths: [.flakewise/history, .flakewise/spool]
    when: always
  script:
{install}    - {INSTALL}
    - {test}
{after}",
            test = self.test
        )
    }

    fn jenkins(&self) -> String {
        let install = self.install_line(|command| format!("        sh '{command}'\n"));
        let post = self.ingest.as_ref().map_or_else(String::new, |command| {
            format!("    post {{\n        always {{\n            sh \"{command}\"\n        }}\n    }}\n")
        });
        format!(
            r"stage('flakewise') {{
    steps {{
{install}        sh '{INSTALL}'
        sh '{test}'
    }}
{post}}}
",
            test = self.test
        )
    }

    fn buildkite(&self) -> String {
        let install = self.install_line(|command| format!("      {command}\n"));
        let test = match &self.ingest {
            // The exit code is that of the tests.
            Some(ingest) => format!(
                "      status=0\n      {} || status=$$?\n      {ingest}\n      exit $$status\n",
                self.test
            ),
            None => format!("      {}\n", self.test),
        };
        format!(
            r#"steps:
  - label: "flakewise"
    key: flakewise
    command: |
{install}      {INSTALL}
{test}"#
        )
    }

    fn azure(&self) -> String {
        let install = self.install_line(|command| format!("  - script: {command}\n"));
        let ingest = self.ingest.as_ref().map_or_else(String::new, |command| {
            format!("  - script: {command}\n    displayName: Add the reports to the history\n    condition: always()\n")
        });
        format!(
            r"steps:
  - checkout: self
    # Failures are compared with the merge base.
    fetchDepth: 0
{install}  - script: {INSTALL}
  - script: {test}
{ingest}",
            test = self.test
        )
    }

    fn circle(&self) -> String {
        let install = self.install_line(|command| format!("      - run: {command}\n"));
        let ingest = self.ingest.as_ref().map_or_else(String::new, |command| {
            format!("      - run:\n          name: Add the reports to the history\n          when: always\n          command: {command}\n")
        });
        format!(
            r"jobs:
  flakewise:
    docker:
      - image: cimg/python:3.12
    steps:
      - checkout
{install}      - run: {INSTALL}
      - run: {test}
{ingest}",
            test = self.test
        )
    }

    fn install_line(&self, line: impl Fn(&str) -> String) -> String {
        self.install.map(line).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::detect::Runner;
    use super::*;

    const SYSTEMS: [CiSystem; 6] = [
        CiSystem::Github,
        CiSystem::Gitlab,
        CiSystem::Jenkins,
        CiSystem::Buildkite,
        CiSystem::Azure,
        CiSystem::Circle,
    ];

    fn found(runner: Runner) -> Vec<Found> {
        vec![Found { runner, evidence: String::new() }]
    }

    #[test]
    fn every_system_runs_the_tests_or_ingests_their_reports() {
        for system in SYSTEMS {
            let text = snippet(system, &found(Runner::Pytest), Some("pip install pytest"));
            assert!(text.contains("flakewise run") && text.contains("pip install pytest"), "{text}");
            assert!(!text.contains("flakewise ingest"), "{text}");
            let text = snippet(system, &found(Runner::Maven), None);
            assert!(text.contains("mvn -B verify"), "{text}");
            assert!(text.contains("flakewise ingest '**/target/surefire-reports/*.xml'"), "{text}");
            assert!(!text.contains('\t') && text.lines().all(|line| line == line.trim_end()), "{text}");
        }
    }
}
