//! Results that jobs leave in the store, and `maintain` commits.

use std::process::{Child, Stdio};

use flakewise_testkit::TestContext;

use crate::{context, pytest_report};

/// Leaves the report of a run of this number, and says what it printed.
fn land(context: &TestContext, number: u32) -> String {
    context.write("junit.xml", pytest_report(number + 1, &[("test_a", '.'), ("test_b", 'F')]));
    let run = format!("run-{number}");
    let output = context.run(["ingest", "junit.xml", "--land", "--run", &run, "--project", "acme/shop"]);
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    output.stdout
}

fn maintain(context: &TestContext) -> String {
    let output = context.run(["maintain", "--project", "acme/shop"]);
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    output.stdout + &output.stderr
}

/// How many runs and attempts are in the history; nothing if there is none.
fn counted(context: &TestContext) -> String {
    let query = "SELECT count(DISTINCT run) AS runs, count(*) AS attempts FROM attempts";
    context.run(["sql", query, "--format", "csv", "--project", "acme/shop"]).stdout.replace("\r\n", "\n")
}

fn waiting(context: &TestContext) -> Vec<String> {
    let entries = context.path().join(".flakewise/history/acme~shop/landing").read_dir();
    let names = entries.into_iter().flatten().map(|entry| entry.expect("it can be listed").file_name());
    let mut names: Vec<_> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn what_lands_is_committed_once_by_maintain() {
    let context = context();
    for number in 0..3 {
        let printed = land(&context, number);
        assert!(printed.contains("1 left for `flakewise maintain`"), "{printed}");
    }
    // A job that is repeated leaves the same file.
    land(&context, 2);
    assert_eq!(waiting(&context).len(), 3);
    assert_eq!(counted(&context), "", "nothing is committed yet");
    let landed: Vec<_> =
        waiting(&context).into_iter().map(|name| (name.clone(), read(&context, &name))).collect();

    let printed = maintain(&context);
    assert!(printed.contains("landing   committed 3 files with 3 new reports\n"), "{printed}");
    assert_eq!(counted(&context), "runs,attempts\n3,6\n");
    assert_eq!(waiting(&context), [] as [String; 0]);
    let log = context.path().join(".flakewise/history/acme~shop/attempts/_delta_log");
    assert!(log.join("00000000000000000001.json").exists(), "one commit after that of the empty table");
    assert!(!log.join("00000000000000000003.json").exists(), "one for all results, and one for merged files");

    // As if the process had been killed before it removed them.
    for (name, bytes) in landed {
        context.write(&format!(".flakewise/history/acme~shop/landing/{name}"), bytes);
    }
    let printed = maintain(&context);
    assert!(printed.contains("committed 3 files with 0 new reports, 3 known before"), "{printed}");
    assert_eq!(counted(&context), "runs,attempts\n3,6\n");
    assert_eq!(waiting(&context), [] as [String; 0]);
}

fn read(context: &TestContext, name: &str) -> Vec<u8> {
    std::fs::read(context.path().join(".flakewise/history/acme~shop/landing").join(name)).expect("it waits")
}

#[test]
fn a_damaged_file_does_not_block_the_others() {
    let context = context();
    land(&context, 1);
    let folder = ".flakewise/history/acme~shop/landing";
    context.write(&format!("{folder}/0000.batch.jsonl.gz"), "not compressed");
    let whole = read(&context, &waiting(&context)[1]);
    context.write(&format!("{folder}/1111.batch.jsonl.gz"), &whole[..whole.len() / 2]);
    let printed = maintain(&context);
    let reason = "`0000.batch.jsonl.gz` is not a spooled batch: invalid gzip header; it is now";
    assert!(printed.contains(&format!("{reason} `0000.batch.jsonl.gz.bad`")), "{printed}");
    assert!(printed.contains("it is now `1111.batch.jsonl.gz.bad`"), "{printed}");
    assert_eq!(counted(&context), "runs,attempts\n1,2\n");
    assert_eq!(waiting(&context), ["0000.batch.jsonl.gz.bad", "1111.batch.jsonl.gz.bad"]);
    assert!(!maintain(&context).contains("landing"), "they are not tried again");
}

/// A process that ends when nobody holds it any more.
struct Follower(Child);

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn followers_commit_what_lands_while_they_run() {
    let context = context();
    let follower = || {
        let mut command = context.command();
        command.args(["maintain", "--follow", "--interval", "1", "--project", "acme/shop"]);
        Follower(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts"))
    };
    let mut followers = [follower(), follower()];
    for number in 0..6 {
        land(&context, number);
        if number == 3 {
            // One is killed in the midst of it, and another one takes its place.
            followers[0] = follower();
        }
    }
    while !waiting(&context).is_empty() {
        for follower in &mut followers {
            assert!(follower.0.try_wait().expect("it can be asked").is_none(), "it goes on");
        }
        std::thread::yield_now();
    }
    assert_eq!(counted(&context), "runs,attempts\n6,12\n");
}

#[test]
fn a_dry_run_says_what_waits() {
    let context = context();
    let dry_run = || {
        let output = context.run(["maintain", "--dry-run", "--project", "acme/shop"]);
        assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
        assert_eq!(waiting(&context).len(), 1);
        output.stdout
    };
    land(&context, 1);
    assert_eq!(dry_run(), "landing   would commit 1 file\n", "no history yet");
    maintain(&context);
    land(&context, 2);
    let printed = dry_run();
    assert!(printed.starts_with("landing   would commit 1 file\nruns "), "{printed}");
}

#[test]
fn reports_of_one_file_are_counted_one_by_one() {
    let context = context();
    context.write("reports/a.xml", pytest_report(1, &[("test_a", '.')]));
    context.write("reports/b.xml", pytest_report(1, &[("test_b", '.')]));
    for expected in ["committed 1 file with 2 new reports\n", "with 0 new reports, 2 known before\n"] {
        context.run(["ingest", "reports", "--land", "--run", "run-1", "--project", "acme/shop"]);
        let printed = maintain(&context);
        assert!(printed.contains(expected), "{printed}");
    }
}
