//! Acknowledged results are on disk: `strace` shows the order of system calls.

use std::path::Path;
use std::process::Command;

use flakewise_testkit::TestContext;

use crate::{context, pytest_report};

/// What a process did to a path.
#[derive(Debug, PartialEq)]
enum Event {
    Synced(String),
    /// It was given its name: by a link, or by renaming it.
    Named(String),
}

/// The events of a trace that `strace -y` wrote, in order.
fn events(trace: &str) -> Vec<Event> {
    trace.lines().filter_map(event).collect()
}

fn event(line: &str) -> Option<Event> {
    let call = line.split_whitespace().nth(1)?;
    let name = call.split('(').next()?;
    match name {
        "fsync" | "fdatasync" => {
            // fsync(7</folder/file>)
            let path = line.split_once('<')?.1.split_once('>')?.0;
            Some(Event::Synced(path.to_owned()))
        }
        "link" | "linkat" | "rename" | "renameat" | "renameat2" => {
            // rename("/folder/file#1", "/folder/file")
            Some(Event::Named(line.split('"').nth(3)?.to_owned()))
        }
        _ => None,
    }
}

#[test]
fn data_is_synced_before_the_log_names_it_and_the_log_before_the_answer() {
    let context = context();
    let store = context.path().join("deep/store");
    for round in 0..2_u32 {
        context.write("junit.xml", pytest_report(round + 1, &[("test_a", '.'), ("test_b", 'F')]));
        let events = traced(&context, &["ingest", "junit.xml"], &store);
        for table in ["runs", "attempts"] {
            check(&events, &store.join("acme~shop").join(table), round);
        }
        // Folders that name a table, from the first one that had to be made.
        for folder in [&store.join("acme~shop"), &store, &context.path().join("deep")] {
            synced_after(&events, 0, &folder.to_string_lossy());
        }
    }
}

/// Readers prefer a checkpoint to the entries that it replaces.
#[test]
fn a_checkpoint_is_synced() {
    let context = context();
    let store = context.path().join("store");
    for round in 1..=2 {
        context.write("junit.xml", pytest_report(round, &[("test_a", '.')]));
        traced(&context, &["ingest", "junit.xml"], &store);
    }
    let events = traced(&context, &["maintain"], &store);
    for table in ["runs", "attempts", "test_days"] {
        let log = store.join("acme~shop").join(table).join("_delta_log");
        let is_checkpoint = |event: &Event| match event {
            Event::Named(path) => path.ends_with(".checkpoint.parquet") && Path::new(path).starts_with(&log),
            Event::Synced(_) => false,
        };
        let place = events.iter().position(is_checkpoint).expect("there is a checkpoint");
        let Event::Named(checkpoint) = &events[place] else { unreachable!("it was looked for") };
        synced_after(&events, place, checkpoint);
    }
}

/// What remains of attempts that expire is on disk before they go.
#[test]
fn roll_ups_are_sealed_before_their_attempts_expire() {
    let context = context();
    let store = context.path().join("store");
    for (run, day) in [("old", "2026-01-02"), ("new", "2026-10-02")] {
        let report = pytest_report(1, &[("test_a", '.')]).replace("2026-11-01", day);
        context.write("junit.xml", report);
        traced(&context, &["ingest", "junit.xml", "--run", run], &store);
    }
    let events = traced(&context, &["maintain", "--expire-attempts", "30"], &store);
    let entry = |table: &str, text: &str| {
        let log = store.join("acme~shop").join(table).join("_delta_log");
        let is_entry = |event: &Event| match event {
            Event::Named(path) => {
                let is_in_log = Path::new(path).starts_with(&log);
                is_in_log && std::fs::read_to_string(path).is_ok_and(|entry| entry.contains(text))
            }
            Event::Synced(_) => false,
        };
        events.iter().rposition(is_entry).expect("there is a commit")
    };
    let (sealed, removed) =
        (entry("test_days", "flakewise.sealed"), entry("attempts", "flakewise.expired-attempts"));
    let Event::Named(seal) = &events[sealed] else { unreachable!("it was looked for") };
    let synced = events[sealed..].iter().position(|event| *event == Event::Synced(seal.clone()));
    assert!(synced.is_some_and(|synced| sealed + synced < removed), "{events:#?}");
    let store = store.to_str().expect("UTF-8");
    let shown = context.run(["show", "test_a", "--project", "acme/shop", "--store", store]);
    assert!(shown.stdout.contains("since 2026-01-02, 2 attempts"), "{}", shown.stdout);
}

/// What a command did to files.
fn traced(context: &TestContext, command: &[&str], store: &Path) -> Vec<Event> {
    let trace = context.path().join("trace");
    let plain = context.command();
    let output = Command::new("strace")
        .args(["-f", "-y", "-e", "trace=fsync,fdatasync,link,linkat,rename,renameat,renameat2", "-o"])
        .arg(&trace)
        .arg(env!("CARGO_BIN_EXE_flakewise"))
        .args(command)
        .args(["--project", "acme/shop", "--store"])
        .arg(store)
        .env_clear()
        .envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .current_dir(context.path())
        .output()
        .expect("strace is installed (`apt-get install strace`)");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    events(&std::fs::read_to_string(&trace).expect("a trace is written"))
}

/// The last commit of a table.
fn check(events: &[Event], table: &Path, round: u32) {
    let log = table.join("_delta_log");
    let is_entry = |event: &Event| match event {
        Event::Named(path) => {
            let path = Path::new(path);
            path.starts_with(&log) && path.extension().is_some_and(|extension| extension == "json")
        }
        Event::Synced(_) => false,
    };
    let commit = events.iter().rposition(is_entry).expect("there is a commit");
    let Event::Named(entry) = &events[commit] else { unreachable!("it was looked for") };
    let text = std::fs::read_to_string(entry).expect("it is there");
    let names: Vec<String> = text
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter_map(|action| Some(action["add"]["path"].as_str()?.to_owned()))
        .collect();
    assert_eq!(names.len(), 1, "round {round}: {text}");
    for name in names {
        let path = table.join(name).to_string_lossy().into_owned();
        let synced = events.iter().position(|event| *event == Event::Synced(path.clone()));
        assert!(synced.is_some_and(|synced| synced < commit), "{path} is synced before {entry}: {events:#?}");
    }
    synced_after(events, commit, entry);
    synced_after(events, commit, &log.to_string_lossy());
    // The entry that made the table.
    if round == 0 {
        synced_after(events, 0, &log.join(format!("{:020}.json", 0)).to_string_lossy());
    }
}

fn synced_after(events: &[Event], place: usize, path: &str) {
    let synced = events[place..].iter().any(|event| *event == Event::Synced(path.to_owned()));
    assert!(synced, "{path} is synced: {:#?}", &events[place..]);
}
