//! A new repository is set up.

use crate::{context, shown};

#[test]
fn a_pytest_project_gets_a_file_and_a_workflow_to_add() {
    let context = context();
    context.write("tests/test_cart.py", "def test_total():\n    pass\n");
    context.write(".gitlab-ci.yml", "");
    insta::assert_snapshot!(shown(&context.run(["init"])), @r##"
    exit code: 0
    ----- stdout -----
    Found:
      ✓ pytest           tests/test_cart.py
      ✓ GitLab           .gitlab-ci.yml

    Wrote `flakewise.toml`: `flakewise run` now runs `pytest`

    For GitLab, add this to `.gitlab-ci.yml`:

        flakewise:
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
            - pip install pytest
            - cargo install --locked --git https://github.com/flakewise/flakewise flakewise
            - flakewise run

    Next:
      flakewise doctor   check this machine
      flakewise run      run the tests and explain every failure
      flakewise report   list the flaky tests, the most expensive first
    ----- stderr -----
    "##);
    let written = std::fs::read_to_string(context.path().join("flakewise.toml")).expect("written");
    insta::assert_snapshot!(written, @r##"
    #:schema https://raw.githubusercontent.com/flakewise/flakewise/main/docs/flakewise.schema.json
    # Configuration of Flakewise. Lines with `#` show defaults and examples: remove the `#` to set them.
    # `flakewise config` prints what is in force. Flags and environment variables override this file.

    # Command that runs the tests: `flakewise run` is `flakewise run -- pytest`
    command = ["pytest"]

    # Folder, relative to this file, or bucket of the history [default: .flakewise/history at the root of the repository]
    # store = "s3://acme-tests/history"

    # Branch that changes are compared with, unless `--base` or the CI system names one [default: the default branch of the repository]
    # base = "develop"

    # Stop a test that takes longer than this [default: 10m in run and check, else 1m]
    # test-timeout = "2m"

    [run]
    # Exit with 0 if all failures are of this kind [default: nothing]
    # tolerate = "known"
    # Keep rerunning until the verdict reaches this confidence [default: none]
    # confidence = 0.99

    [hunt]
    # Stop after this time [default: 10m]
    # budget = "30m"

    [report]
    # Only consider the last N days [default: all days]
    # days = 30

    [quarantine]
    # Largest number of quarantined tests [default: 20]
    # max-entries = 10
    # Longest time a test may stay in quarantine, in days [default: 30]
    # max-days = 14
    "##);
    assert_eq!(context.run(["config"]).code, Some(0));
}

#[test]
fn nothing_is_overwritten_without_force() {
    let context = context();
    context.write("pytest.ini", "");
    context.write("flakewise.toml", "# mine\n");
    let output = context.run(["init"]);
    assert_eq!(output.code, Some(0));
    assert!(output.stdout.contains("Kept `flakewise.toml` as it is"), "{}", output.stdout);
    let text = || std::fs::read_to_string(context.path().join("flakewise.toml")).expect("there");
    assert_eq!(text(), "# mine\n");
    let output = context.run(["init", "--force"]);
    assert!(output.stdout.contains("Wrote `flakewise.toml`"), "{}", output.stdout);
    assert!(text().contains("command = [\"pytest\"]"));
}

#[test]
fn a_table_in_pyproject_is_enough() {
    let context = context();
    context.write("pyproject.toml", "[tool.flakewise]\ncommand = [\"pytest\"]\n");
    let output = context.run(["init", "--force"]);
    assert!(output.stdout.contains("`[tool.flakewise]` in `pyproject.toml`"), "{}", output.stdout);
    assert!(!context.path().join("flakewise.toml").exists());
}

#[test]
fn a_dry_run_writes_nothing() {
    let context = context();
    context.write("pom.xml", "<project/>");
    let output = context.run(["init", "--dry-run", "--write-ci"]);
    assert_eq!(output.code, Some(0));
    assert!(output.stdout.contains("Would write `flakewise.toml`"), "{}", output.stdout);
    assert!(output.stdout.contains("Would write `.github/workflows/flakewise.yml`"), "{}", output.stdout);
    assert!(
        output.stdout.contains("flakewise ingest '**/target/surefire-reports/*.xml'"),
        "{}",
        output.stdout
    );
    let files: Vec<_> = std::fs::read_dir(context.path()).expect("there").collect();
    assert_eq!(files.len(), 1);
}

#[test]
fn a_workflow_is_created_once() {
    let context = context();
    context.write("pytest.ini", "");
    context.write(".github/workflows/ci.yml", "");
    let path = context.path().join(".github/workflows/flakewise.yml");
    assert!(context.run(["init", "--write-ci"]).stdout.contains("Wrote `.github/workflows/flakewise.yml`"));
    insta::assert_snapshot!(std::fs::read_to_string(&path).expect("written"), @r##"
    name: flakewise
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
          - run: pip install pytest
          - run: cargo install --locked --git https://github.com/flakewise/flakewise flakewise
          # Keeps the history between jobs. With a bucket as `store` in `flakewise.toml`, remove both cache steps.
          - uses: actions/cache/restore@v4
            with:
              path: |
                .flakewise/history
                .flakewise/spool
              key: flakewise-${{ github.run_id }}-${{ github.run_attempt }}
              restore-keys: flakewise-
          - run: flakewise run
          - uses: actions/cache/save@v4
            if: always()
            with:
              path: |
                .flakewise/history
                .flakewise/spool
              key: flakewise-${{ github.run_id }}-${{ github.run_attempt }}
    "##);
    std::fs::write(&path, "# mine\n").expect("written");
    let output = context.run(["init", "--write-ci", "--force"]);
    assert!(output.stdout.contains("Kept `.github/workflows/flakewise.yml`"), "{}", output.stdout);
    assert_eq!(std::fs::read_to_string(&path).expect("there"), "# mine\n");
}

#[test]
fn an_empty_folder_gets_a_file_to_fill_in() {
    let context = context();
    let output = context.run(["init"]);
    assert!(output.stdout.contains("  - no test runner\n  - no CI system\n"), "{}", output.stdout);
    assert!(context.path().join("flakewise.toml").exists());
}

#[test]
fn a_broken_file_does_not_keep_init_from_writing_a_better_one() {
    let context = context();
    context.write("flakewise.toml", "colour = 1\n");
    assert_eq!(context.run(["init", "--force"]).code, Some(0));
    assert_eq!(context.run(["config"]).code, Some(0));
}
