//! What holds for any input whatever. Part of the fuzzer and of the tests.

use std::sync::Arc;

use flakewise_junit::{IssueLevel, Limits, read, read_bytes, write};
use flakewise_model::{Run, RunId, TestIds, Timestamp, Variant};

/// Reads `data` in every way there is.
///
/// # Panics
///
/// If something does not hold.
pub(crate) fn check(data: &[u8]) {
    let run = Arc::new(Run {
        id: RunId::new("fuzz"),
        commit: None,
        dirty: false,
        branch: None,
        variant: Variant::default(),
        provider: None,
        url: None,
        started: Timestamp::UNIX_EPOCH,
        roots: None,
        packages: None,
    });
    let default = Limits::default();
    let (report, issues) = read_bytes(data, &run, &default, &mut TestIds::default());
    let invalid = issues.iter().any(|issue| issue.level == IssueLevel::Invalid);
    assert!(
        report.complete != invalid || issues.len() > default.issues,
        "only invalid parts make it incomplete"
    );
    assert!(
        issues.iter().all(|issue| issue.place.offset <= 3 * data.len() as u64),
        "issues are in the document"
    );

    // A stream is read alike, as long as its parts fit in the window.
    if data.len() < 4096 {
        let (streamed, _) = read(data, &run, &default, &mut TestIds::default());
        assert_eq!(streamed, report, "a stream is read like a slice");
    }

    // Whatever is read can be written and read again.
    let mut xml = Vec::new();
    write(&mut xml, &report.attempts).expect("writing to memory succeeds");
    let (again, issues) = read_bytes(&xml, &run, &default, &mut TestIds::default());
    assert_eq!(issues, [], "what we write has no issues");
    assert_eq!(again.attempts, report.attempts, "what we write is what we read");

    // No limit is passed.
    let tight = Limits {
        attempts: 20,
        depth: 8,
        attribute: 64,
        tag: 300,
        failure_text: 100,
        issues: 4,
        window: 4096,
    };
    let ids = &mut TestIds::default();
    for (report, issues) in [read_bytes(data, &run, &tight, ids), read(data, &run, &tight, ids)] {
        assert!(report.attempts.len() <= tight.attempts);
        assert!(issues.len() <= tight.issues + 1);
    }
}
