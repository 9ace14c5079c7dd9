//! What `retries` is for.

use std::path::Path;

/// True the first time that it is asked about `name` in this run.
fn first_time(name: &str) -> bool {
    let markers = std::env::var("FLAKEWISE_MARKERS").expect("FLAKEWISE_MARKERS");
    std::fs::File::create_new(Path::new(&markers).join(name)).is_ok()
}

#[test]
fn passes_on_retry() {
    // Fails on the first attempt and passes on the second.
    let first = first_time("passes_on_retry");
    println!("first attempt: {first}");
    assert!(!first, "failed on the first attempt");
}

#[test]
fn fails_on_every_attempt() {
    // No number of retries helps.
    println!("one more attempt");
    panic!("fails on every attempt");
}

#[test]
fn fails_differently_each_time() {
    // First a panic, and from then on a signal.
    assert!(!first_time("fails_differently_each_time"), "first a panic");
    std::process::abort();
}
