//! One test for each thing that nextest's JUnit report can express.

#[test]
fn passes() {
    // Nothing to see: the plain green case, with no output.
    assert_eq!(2 + 2, 4);
}

#[test]
fn fails_with_awkward_message() {
    // Everything an XML writer must escape, over more than one line.
    println!("to stdout: \x1b[31mred\x1b[0m <tag> & \"quotes\" café 日本語");
    println!("a control char: [\x01] and ]]> the end of a CDATA section");
    eprintln!("to stderr: \x1b[1;33mwarning\x1b[0m");
    panic!(
        "expected <total> & \"tax\" to be 'équal': 3 ≠ 4\n\
         second line: \x1b[32mnaïve\x1b[0m café 日本語 🦀\n\
         \tthird line with a control char [\x01]"
    );
}

#[test]
fn returns_an_error() -> Result<(), String> {
    // Fails without a panic.
    Err("no such order: <42>".to_owned())
}

#[test]
fn aborts() {
    // Ends the process with a signal.
    std::process::abort();
}

#[test]
fn exits() {
    // Ends the process with a status of its own.
    std::process::exit(3);
}

#[test]
fn times_out() {
    // Takes longer than the profile allows, and is ended.
    std::thread::sleep(std::time::Duration::from_secs(60));
}

#[test]
#[should_panic(expected = "as foretold")]
fn panics_as_foretold() {
    // A panic that is a pass.
    panic!("as foretold");
}

#[test]
#[ignore = "not on <this> platform & \"never\" — é"]
fn is_ignored() {
    // Ignored with a reason.
    panic!("must not run");
}

/// One case of several fails. Rust has no parameters of its own; the crates
/// that bring them make functions like these.
mod parametrised {
    fn check(text: &str) {
        assert_ne!(text, "a::b[0]");
    }

    #[test]
    fn case_1_plain() {
        check("plain");
    }

    #[test]
    fn case_2_ünï_日本() {
        check("a::b[0]");
    }
}

#[test]
fn writes_output() {
    // A green test which writes to both streams.
    println!("hello from stdout");
    eprintln!("hello from stderr");
}

#[test]
fn flaky_by_round() {
    // Fails in round 1 only, so that two runs of one commit differ.
    let round = std::env::var("FLAKEWISE_ROUND").unwrap_or_default();
    assert_ne!(round, "1", "failed in round 1");
}
