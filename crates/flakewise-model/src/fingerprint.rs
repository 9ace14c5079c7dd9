//! What failures of one cause have in common.
//!
//! # The rule
//!
//! A fingerprint is a hash over, in this order:
//!
//! 1. the exception type, as the runner gives it;
//! 2. up to three of the innermost *project frames* of the stack trace, each
//!    as file name and function, without line numbers (an edit elsewhere in the
//!    file must not make a new failure). Frames of the standard library, of
//!    test frameworks and of installed packages are not project frames;
//! 3. for Python, whose traces show it, the source line of the innermost of these
//!    frames and of those in the same file: two assertions of one test are two
//!    failures, and tests that call one function which fails share a failure;
//! 4. only if no project frame is found: the first line of the message with
//!    everything that changes from run to run replaced, see [`normalise`].
//!
//! Java, Python, JavaScript, Go, Rust, PHP, Ruby and C++ traces are understood.
//! The rule has a number that is part of the hash, so that a change of the rule
//! cannot make old and new fingerprints meet by accident.

use std::fmt;
use std::sync::LazyLock;

use regex::Regex;

use crate::TestId;

/// Part of every hash. The second rule has source lines; where there are none, the
/// first one holds, so that such failures keep their fingerprints.
const RULE: &str = "flakewise-fingerprint-1";
const RULE_WITH_SOURCE: &str = "flakewise-fingerprint-2";
const FRAMES: usize = 3;
/// A trace is searched for frames in this many bytes at most, from its start
/// and, for runners that print the innermost frame last, from its end.
const TRACE_LIMIT: usize = 64 * 1024;
/// A longer source line is not kept in [`TraceFrames`], in bytes.
const SOURCE_LIMIT: usize = 1024;

/// A short stable name for "the same failure": 16 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(Box<str>);

impl Fingerprint {
    /// The fingerprint of a failure.
    pub fn of(kind: Option<&str>, message: &str, trace: &str) -> Self {
        Self::with_frames(kind, message, trace, &project_frames(trace))
    }

    fn with_frames(kind: Option<&str>, message: &str, trace: &str, frames: &[Frame<'_>]) -> Self {
        let kind = kind.unwrap_or("");
        if frames.is_empty() {
            let text = if message.trim().is_empty() { trace } else { message };
            let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("");
            return Self::hash([RULE, kind, &normalise(line)]);
        }
        Self::of_frames(kind, frames.iter().map(|frame| (frame.place.as_str(), frame.source)))
    }

    /// The fingerprint of a failure with project frames: their places and source lines.
    fn of_frames<'a>(kind: &str, frames: impl Iterator<Item = (&'a str, Option<&'a str>)> + Clone) -> Self {
        let has_source = frames.clone().any(|(_, source)| source.is_some());
        let rule = if has_source { RULE_WITH_SOURCE } else { RULE };
        let frames = frames.flat_map(|(place, source)| std::iter::once(place).chain(source));
        Self::hash([rule, kind].into_iter().chain(frames))
    }

    fn hash<'a>(parts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(part.as_bytes());
            hasher.update(b"\0");
        }
        Self(hasher.finalize().to_hex()[..16].into())
    }

    /// Takes back a fingerprint that was written down.
    pub fn from_text(text: &str) -> Self {
        Self(text.into())
    }

    /// The text form.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The project frames that the fingerprint of a failure was computed from, where a trace shows
/// the source line of the innermost one: what it takes to recognise the failure of a test that
/// was renamed.
///
/// ```
/// use flakewise_model::{Failure, TestId};
///
/// let failing = |file, function| {
///     let trace = format!("  File \"/app/{file}\", line 3, in {function}\n    assert total() == 3\n");
///     Failure::with_frames(Some("AssertionError"), "assert 4 == 3", &trace)
/// };
/// let (before, _) = failing("test_cart.py", "test_total");
/// let (after, frames) = failing("test_basket.py", "test_sum");
/// let (former, test): (TestId, TestId) =
///     ("pytest:test_cart.py::test_total".parse()?, "pytest:test_basket.py::test_sum".parse()?);
/// assert_ne!(before.fingerprint, after.fingerprint);
/// let frames = frames.expect("the trace shows the source");
/// assert_eq!(frames.under_former_id(&test, &former), before.fingerprint);
/// # Ok::<(), flakewise_model::TestIdError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceFrames {
    kind: Box<str>,
    /// Place and source line, innermost first.
    frames: Box<[(String, Option<String>)]>,
}

impl TraceFrames {
    /// The fingerprint of a failure and its frames.
    pub(crate) fn read(kind: Option<&str>, message: &str, trace: &str) -> (Fingerprint, Option<Self>) {
        let frames = project_frames(trace);
        let fingerprint = Fingerprint::with_frames(kind, message, trace, &frames);
        let is_short = |frame: &Frame<'_>| frame.source.is_none_or(|source| source.len() <= SOURCE_LIMIT);
        let shows_source = frames.first().is_some_and(|innermost| innermost.source.is_some());
        if !shows_source || !frames.iter().all(is_short) {
            return (fingerprint, None);
        }
        let owned = |Frame { place, source }: Frame<'_>| (place, source.map(str::to_owned));
        let frames = frames.into_iter().map(owned).collect();
        (fingerprint, Some(Self { kind: kind.unwrap_or("").into(), frames }))
    }

    /// The fingerprint that this failure of a test would have had under a former id of the test:
    /// with the former names of the test's file and function, and all else the same.
    ///
    /// Only the failure itself has it. None if a frame has one of the former names already: a
    /// failure there and one in the renamed test would become the same.
    pub fn under_former_id(&self, test: &TestId, former: &TestId) -> Option<Fingerprint> {
        let names = |id: &TestId| {
            let module = id.module();
            (module.rsplit('/').next().unwrap_or_default().to_owned(), digits_replaced(&id.name()))
        };
        let ((file, function), (former_file, former_function)) = (names(test), names(former));
        let mut renamed = Vec::with_capacity(self.frames.len());
        for (place, source) in &self.frames {
            if former_file != file && function_in(place, &former_file).is_some() {
                return None;
            }
            let place = match function_in(place, &file) {
                Some(own) if own == function => format!("{former_file} {former_function}"),
                Some(own) if own == former_function => return None,
                Some(other) => format!("{former_file} {other}"),
                None => place.clone(),
            };
            renamed.push((place, source.as_deref()));
        }
        let renamed = renamed.iter().map(|(place, source)| (place.as_str(), *source));
        Some(Fingerprint::of_frames(&self.kind, renamed))
    }
}

/// The function of a frame if it is in a file of this name.
fn function_in<'a>(place: &'a str, file: &str) -> Option<&'a str> {
    place.strip_prefix(file)?.strip_prefix(' ')
}

/// Replaces what changes from run to run: times, UUIDs, addresses, hexadecimal
/// ids, paths (their last component stays) and numbers. White space is folded.
///
/// ```
/// use flakewise_model::normalise;
///
/// assert_eq!(
///     normalise("connect to 127.0.0.1:38211 failed after 5.003s at 0x7f3a12 (/tmp/pytest-9/x.sock)"),
///     normalise("connect to 127.0.0.1:40117 failed after 4.998s at 0x7ffe00 (/tmp/pytest-11/x.sock)"),
/// );
/// ```
pub fn normalise(text: &str) -> String {
    static VOLATILE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"(?x)
              (?P<time>  \d{4}-\d{2}-\d{2} ([T\x20]\d{2}:\d{2}(:\d{2}([.,]\d+)?)?\x20?(Z|[+-]\d{2}:?\d{2})?)?
                       | \d{1,2}:\d{2}:\d{2}([.,]\d+)? )
            | (?P<uuid>  [0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12} )
            | (?P<addr>  0[xX][0-9a-fA-F]+ | @[0-9a-f]{5,16}\b )
            | (?P<path>  ([A-Za-z]:)? ([\\/][A-Za-z0-9_.+@~\#-]+){2,} )
            | (?P<id>    \b[0-9a-fA-F]{7,}\b )
            | (?P<number>[0-9]+([.,][0-9]+)* )
            | (?P<space> \s+ )",
        )
        .expect("the pattern is valid")
    });
    let replaced = VOLATILE.replace_all(text.trim(), |captures: &regex::Captures<'_>| -> String {
        let is = |name| captures.name(name).is_some();
        if is("time") {
            "<time>".into()
        } else if is("uuid") {
            "<uuid>".into()
        } else if is("addr") {
            "<addr>".into()
        } else if is("path") {
            let path = &captures[0];
            let last = path.rsplit(['/', '\\']).next().unwrap_or("");
            format!("<path>{}", digits_replaced(last))
        } else if is("id") {
            // Words such as `defaced` are spelled in hexadecimal digits too.
            let id = &captures[0];
            if id.bytes().any(|byte| byte.is_ascii_digit()) { "<id>".into() } else { id.to_owned() }
        } else if is("number") {
            "<n>".into()
        } else {
            " ".into()
        }
    });
    replaced.into_owned()
}

fn digits_replaced(text: &str) -> String {
    static DIGITS: LazyLock<Regex> = LazyLock::new(|| Regex::new("[0-9]+").expect("the pattern is valid"));
    DIGITS.replace_all(text, "<n>").into_owned()
}

/// A project frame.
#[derive(Debug, PartialEq, Eq)]
struct Frame<'a> {
    /// `file function`.
    place: String,
    source: Option<&'a str>,
}

/// The innermost project frames, innermost first.
fn project_frames(trace: &str) -> Vec<Frame<'_>> {
    static FRAME: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r#"(?xm)
              # Java, Kotlin, Scala: at org.acme.Cart.total(Cart.java:12)
              ^\s*at\s(?P<java>[\w$.<>/@-]+)\((?P<java_file>[\w$.-]+\.(?:java|kt|scala|groovy))(?::\d+)?\)
              # JavaScript: at total (/src/cart.ts:12:3), at file:///src/cart.ts:12:3
            | ^\s*(?:at|❯)\s(?:(?:async\s)?(?P<js>[^\s(][^(\n]{0,200}?)\s)?\(?(?:file://)?(?P<js_file>[^\s():]+\.(?:[cm]?[jt]sx?|vue|svelte)):\d+(?::\d+)?\)?
              # Python's own traceback: File "cart.py", line 12, in total
            | ^\s*File\s"(?P<py_file>[^"\n]+)",\sline\s\d+(?:,\sin\s(?P<py>[\w<>.]+))?
              # Rust: panicked at src/cart.rs:12:3
            | panicked\sat\s(?:'[^'\n]*',\s)?(?P<rs_file>[^\s:]+\.rs):\d+
              # PHP, Ruby, Go, C++ and pytest's short form: path:12 at the start of a line
            | ^\s*(?:\#\s?|from\s)?(?P<file>[\w./\\@+-]+\.(?:py|php|rb|go|cc|cpp|cxx|c|h|hpp)):\d+(?::\d+)?(?::in\s[`'](?P<rb>[^`'\n]+)')?
            "#,
        )
        .expect("the pattern is valid")
    });
    let start = &trace[..trace.floor_char_boundary(TRACE_LIMIT)];
    let end = &trace[trace.ceil_char_boundary(trace.len().saturating_sub(TRACE_LIMIT))..];
    // Python prints the innermost frame last, everybody else first.
    let innermost_last = |captures: &regex::Captures<'_>| {
        captures.name("py_file").is_some()
            || captures.name("file").and_then(|file| file.as_str().rsplit('.').next()) == Some("py")
    };
    // A trace is mostly source and messages: only lines with a place in them
    // are looked at, and no more of them than are requested.
    let frame_in = |line: &str, python: bool| {
        let captures = FRAME.captures(line).filter(|captures| innermost_last(captures) == python)?;
        frame(&captures)
    };
    let lines = |text| str::lines(text).filter(|line| has_place(line));
    let all: Vec<&str> = end.lines().collect();
    let places = (0..all.len()).rev().filter(|&place| has_place(all[place]));
    let python = places.filter_map(|place| Some((frame_in(all[place], true)?, place))).take(FRAMES);
    let python: Vec<(String, usize)> = python.collect();
    if let Some((innermost, _)) = python.first() {
        let file = |place: &str| place.split(' ').next().unwrap_or_default().to_owned();
        let innermost = file(innermost);
        let with_source = |(place, line): (String, usize)| {
            let source = statement(&all, line).filter(|_| file(&place) == innermost);
            Frame { place, source }
        };
        return python.into_iter().map(with_source).collect();
    }
    let others = lines(start).filter_map(|line| frame_in(line, false)).take(FRAMES);
    others.map(|place| Frame { place, source: None }).collect()
}

/// The source line that a trace of Python shows for the frame in one of its lines:
/// after it, or, as pytest shows functions, before it and marked.
fn statement<'a>(lines: &[&'a str], place: usize) -> Option<&'a str> {
    let after = lines[place].contains("\", line ") || lines[place].contains(": in ");
    let source = if after {
        lines.get(place + 1).copied().filter(|line| line.starts_with("    ") && !has_place(line))
    } else {
        let mut before = lines[..place].iter().rev().take_while(|line| !is_end_of_function(line));
        before.find_map(|line| line.strip_prefix('>'))
    };
    source.map(str::trim).filter(|source| !source.is_empty())
}

/// Whether pytest has shown a function up to this line.
fn is_end_of_function(line: &str) -> bool {
    line.starts_with("_ _ ") || (has_place(line) && !line.starts_with(['>', ' ', 'E']))
}

/// Whether a line may be a frame: it has a `:12`, a `", line 12`, or a
/// `Cart.java)`.
fn has_place(line: &str) -> bool {
    let bytes = line.as_bytes();
    bytes.windows(2).any(|pair| pair[0] == b':' && pair[1].is_ascii_digit())
        || line.contains("\", line ")
        || (line.contains("at ") && line.contains(')'))
}

/// One frame as `file function`, unless it belongs to somebody else's code.
fn frame(captures: &regex::Captures<'_>) -> Option<String> {
    let get = |name| captures.name(name).map(|found: regex::Match<'_>| found.as_str());
    if let Some(method) = get("java") {
        // `java.base/java.util.…` and `app//org.acme.…` carry a module in front.
        let method = method.rsplit('/').next().unwrap_or(method);
        let foreign = [
            "java.",
            "javax.",
            "jdk.",
            "sun.",
            "com.sun.",
            "kotlin.",
            "scala.",
            "groovy.lang.",
            "org.codehaus.groovy.",
            "org.junit.",
            "junit.",
            "org.testng.",
            "org.hamcrest.",
            "org.assertj.",
            "org.mockito.",
            "org.opentest4j.",
            "org.apache.maven.surefire.",
            "org.gradle.",
            "worker.org.gradle.",
        ];
        if foreign.iter().any(|prefix| method.starts_with(prefix)) {
            return None;
        }
        return Some(format!("{} {}", get("java_file")?, digits_replaced(method)));
    }
    let (file, function) = [("js_file", "js"), ("py_file", "py"), ("rs_file", ""), ("file", "rb")]
        .into_iter()
        .find_map(|(file, function)| Some((get(file)?, get(function).unwrap_or(""))))?;
    let file = file.replace('\\', "/");
    let foreign = [
        "site-packages/",
        "dist-packages/",
        "/lib/python",
        "/_pytest/",
        "node_modules/",
        "node:",
        "internal/",
        "/usr/",
        "/rustc/",
        "/.cargo/registry/",
        "/go/src/",
        "/vendor/",
        "/gems/",
    ];
    if foreign.iter().any(|part| file.contains(part)) || file.starts_with('<') {
        return None;
    }
    let name = file.rsplit('/').next().unwrap_or(&file);
    Some(format!("{} {}", name, digits_replaced(function.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const JAVA: &str = "java.net.ConnectException: refused\n\
        \tat java.base/sun.nio.ch.Net.connect0(Native Method)\n\
        \tat java.base/sun.nio.ch.Net.connect(Net.java:579)\n\
        \tat org.acme.cart.Client.open(Client.java:LINE)\n\
        \tat app//org.acme.cart.ClientTest.opens(ClientTest.java:20)\n\
        \tat org.junit.platform.commons.util.ReflectionUtils.invokeMethod(ReflectionUtils.java:727)\n";
    const PYTEST: &str = "    def test_total():\n>       assert total() == 3\nE       assert 4 == 3\n\n\
        tests/test_cart.py:LINE: \n_ _ _ _\n    def total():\n\nsrc/cart.py:7: AssertionError";

    /// The frames as text.
    fn frames(trace: &str) -> Vec<String> {
        let text = |frame: Frame<'_>| match frame.source {
            Some(source) => format!("{}: {source}", frame.place),
            None => frame.place,
        };
        project_frames(trace).into_iter().map(text).collect()
    }

    #[test]
    fn java_frames_leave_out_the_library_and_the_framework() {
        assert_eq!(
            frames(&JAVA.replace("LINE", "12")),
            ["Client.java org.acme.cart.Client.open", "ClientTest.java org.acme.cart.ClientTest.opens"]
        );
    }

    #[test]
    fn python_frames_come_innermost_first() {
        assert_eq!(frames(&PYTEST.replace("LINE", "12")), ["cart.py ", "test_cart.py "]);
        let native = "Traceback (most recent call last):\n  File \"/app/tests/t.py\", line 3, in test_x\n    f()\n  \
            File \"/app/src/c.py\", line 9, in f\n    g()\n  File \"/usr/lib/python3.11/json/x.py\", line 1, in loads\n";
        assert_eq!(frames(native), ["c.py f: g()", "t.py test_x"]);
    }

    #[test]
    fn two_assertions_of_one_test_are_two_failures_in_every_style_of_pytest() {
        let long = "    def test_total():\n        check(1)\n>       check(2)\n\ntests/test_cart.py:LINE: \n\
            _ _ _ _ _ _ _\n\nx = 2\n\n    def check(x):\n>       assert x == 3\nE       assert 2 == 3\n\n\
            tests/test_cart.py:7: AssertionError";
        let short = "tests/test_cart.py:LINE: in test_total\n    check(2)\ntests/test_cart.py:7: in check\n    \
            assert x == 3\nE   assert 2 == 3";
        let native = "Traceback (most recent call last):\n  File \"/app/tests/test_cart.py\", line LINE, in test_total\n    \
            check(2)\n    ~~~~~^^^\n  File \"/app/tests/test_cart.py\", line 7, in check\n    assert x == 3\n";
        for trace in [long, short, native] {
            let of = |trace: &str| Fingerprint::of(Some("AssertionError"), "assert 2 == 3", trace);
            let other_line = trace.replace("LINE", "4");
            let trace = &trace.replace("LINE", "3");
            let frames = frames(trace);
            assert!(frames[0].ends_with("assert x == 3") && frames[1].ends_with("check(2)"), "{frames:?}");
            assert_eq!(of(trace), of(&other_line));
            assert_ne!(of(trace), of(&trace.replace("check(2)", "check(1)")));
            assert_ne!(of(trace), of(&trace.replace("assert x == 3", "assert x < 4")));
        }
        // What fails in a function of another file is one failure, from any caller.
        let elsewhere = short.replace("LINE", "3").replace("test_cart.py:7", "helpers.py:7");
        let of = |trace: &str| Fingerprint::of(Some("AssertionError"), "", trace);
        assert_eq!(of(&elsewhere), of(&elsewhere.replace("check(2)", "check(1)")));
    }

    /// A failure of a test in its own file, in each style of pytest that shows source, with
    /// `FILE` and `TEST` for the names, and a helper of the same file.
    const STYLES: [&str; 3] = [
        "    def TEST():\n>       check(2)\n\ntests/FILE:3: \n_ _ _ _ _ _ _\n\nx = 2\n\n    def check(x):\n\
            >       assert x == 3\nE       assert 2 == 3\n\ntests/FILE:7: AssertionError",
        "tests/FILE:3: in TEST\n    check(2)\ntests/FILE:7: in check\n    assert x == 3\nE   assert 2 == 3",
        "Traceback (most recent call last):\n  File \"/app/tests/FILE\", line 3, in TEST\n    check(2)\n    \
            ~~~~~^^^\n  File \"/app/tests/FILE\", line 7, in check\n    assert x == 3\n",
    ];
    const FORMER: &str = "pytest:tests/test_cart.py::test_total[1]";

    /// A trace with these names of file and function.
    fn named(trace: &str, file: &str, function: &str) -> String {
        trace.replace("FILE", file).replace("TEST", function)
    }

    /// The fingerprint of a failure under its former id.
    fn formerly(test: &str, kind: &str, trace: &str) -> Option<Fingerprint> {
        let id = |text: &str| text.parse::<TestId>().expect("an id");
        TraceFrames::read(Some(kind), "", trace).1?.under_former_id(&id(test), &id(FORMER))
    }

    #[test]
    fn the_failure_of_a_renamed_test_is_recognised_in_every_style_that_shows_source() {
        for style in STYLES {
            let before = Fingerprint::of(Some("E"), "", &named(style, "test_cart.py", "test_total"));
            for (test, file, function) in [
                ("pytest:tests/test_basket.py::test_total[1]", "test_basket.py", "test_total"),
                ("pytest:tests/test_cart.py::TestCart::test_sum[1]", "test_cart.py", "test_sum"),
                ("pytest:unit/test_basket.py::test_sum[1]", "test_basket.py", "test_sum"),
            ] {
                let after = named(style, file, function);
                assert_eq!(formerly(test, "E", &after), Some(before.clone()), "{after}");
                // Another failure of the same test stays another one.
                for (from, to) in [("assert x == 3", "assert x < 4"), ("check(2)", "check(1)")] {
                    let other = formerly(test, "E", &after.replace(from, to));
                    assert!(other.is_some() && other != Some(before.clone()), "{after}");
                }
                assert_ne!(formerly(test, "F", &after), Some(before.clone()), "{after}");
                let elsewhere = after.replacen(file, "helpers.py", 1);
                assert_ne!(formerly(test, "E", &elsewhere), Some(before.clone()), "{elsewhere}");
            }
        }
    }

    #[test]
    fn a_failure_with_a_former_name_in_its_trace_is_not_translated() {
        const TEST: &str = "pytest:tests/test_basket.py::test_sum";
        let native = STYLES[2];
        // A helper that stayed in the former file, and one that took the former name.
        let stayed =
            named(native, "test_basket.py", "test_sum").replacen("test_basket.py", "test_cart.py", 1);
        let taken = named(native, "test_basket.py", "test_sum").replace("in check", "in test_total");
        for trace in [&stayed, &taken] {
            assert_eq!(formerly(TEST, "E", trace), None, "{trace}");
        }
        // The former file is that of another test of the same name.
        let cart = named(native, "test_cart.py", "test_total");
        assert_eq!(formerly(TEST, "E", &cart), None);
    }

    #[test]
    fn a_failure_without_source_or_frames_is_not_translated() {
        const TEST: &str = "pytest:tests/test_basket.py::test_total";
        assert_eq!(formerly(TEST, "E", "/app/tests/test_basket.py:3: AssertionError: assert 2 == 3"), None);
        assert_eq!(formerly(TEST, "E", "the server was not ready"), None);
        let long =
            named(STYLES[1], "test_basket.py", "test_total").replace("x == 3", &"x".repeat(SOURCE_LIMIT));
        assert_eq!(formerly(TEST, "E", &long), None);
    }

    #[test]
    fn other_languages_are_understood() {
        let first = |trace: &str| frames(trace).into_iter().next().unwrap_or_default();
        assert_eq!(first("    at total (/app/src/cart.ts:12:3)\n"), "cart.ts total");
        assert_eq!(
            first("    at async Object.<anonymous> (src/cart.test.js:1:2)"),
            "cart.test.js Object.<anonymous>"
        );
        assert_eq!(first("    at /app/e2e/cart.spec.ts:8:20"), "cart.spec.ts ");
        assert_eq!(first(" ❯ src/cart.test.ts:7:21"), "cart.test.ts ");
        assert_eq!(first("thread 'cart' panicked at src/cart.rs:9:5:\nboom"), "cart.rs ");
        assert_eq!(first("    cart_test.go:9: want 3"), "cart_test.go ");
        assert_eq!(first("/builds/acme/tests/CartTest.php:12\n"), "CartTest.php ");
        assert_eq!(
            first("./spec/cart_spec.rb:5:in `block (2 levels) in <top (required)>'"),
            "cart_spec.rb block (<n> levels) in <top (required)>"
        );
        assert_eq!(first("/builds/acme/cart_test.cc:31\nExpected equality"), "cart_test.cc ");
    }

    #[test]
    fn numbers_addresses_ids_paths_and_times_do_not_matter() {
        assert_eq!(
            normalise(
                "took 12 ms at 2026-11-15T10:00:00Z, id 3f2a9c1b77, obj@1a2b3c4d, /tmp/a/b7.txt,  7b0e5a52-0f0c-4f0e-8d3c-0123456789ab"
            ),
            "took <n> ms at <time>, id <id>, obj<addr>, <path>b<n>.txt, <uuid>"
        );
        assert_eq!(normalise("a facade defaced"), "a facade defaced");
    }

    #[test]
    fn type_and_place_tell_failures_apart() {
        let java = JAVA.replace("LINE", "12");
        let base = Fingerprint::of(Some("E"), "m", &java);
        assert_ne!(base, Fingerprint::of(Some("F"), "m", &java));
        assert_ne!(base, Fingerprint::of(Some("E"), "m", &java.replace("Client.open", "Client.close")));
        assert_ne!(Fingerprint::of(None, "left", ""), Fingerprint::of(None, "right", ""));
    }

    proptest! {
        #[test]
        fn line_numbers_do_not_matter(left in 1u32..9999, right in 1u32..9999) {
            for trace in [JAVA, PYTEST] {
                prop_assert_eq!(
                    Fingerprint::of(Some("E"), "m", &trace.replace("LINE", &left.to_string())),
                    Fingerprint::of(Some("E"), "m", &trace.replace("LINE", &right.to_string()))
                );
            }
        }

        #[test]
        fn numbers_in_messages_do_not_matter(left: u64, right: u64, address: u32, other: u32) {
            let message = |number: u64, address: u32| format!("expected {number} items at 0x{address:x}, port :{}", number % 65_536);
            prop_assert_eq!(
                Fingerprint::of(None, &message(left, address), ""),
                Fingerprint::of(None, &message(right, other), "")
            );
        }

        #[test]
        fn normalising_twice_changes_nothing(text in "[a-f0-9xX:/.@ \\-\\w]{0,60}") {
            let once = normalise(&text);
            prop_assert_eq!(normalise(&once), once);
        }

        /// Two failures that differ are two failures under a former id too.
        #[test]
        fn renaming_never_joins_failures(
            left in "[abc]\\.py,[fg],x{1,2}(;[abc]\\.py,[fg],x{1,2}){0,2}",
            right in "[abc]\\.py,[fg],x{1,2}(;[abc]\\.py,[fg],x{1,2}){0,2}",
        ) {
            let id = |text: &str| text.parse::<TestId>().expect("an id");
            let read = |text: &str| {
                let frames = text.split(';').map(|frame| {
                    let parts: Vec<&str> = frame.split(',').collect();
                    format!("  File \"/app/{}\", line 1, in {}\n    {}\n", parts[0], parts[1], parts[2])
                });
                TraceFrames::read(Some("E"), "", &frames.collect::<String>())
            };
            let ((left, left_frames), (right, right_frames)) = (read(&left), read(&right));
            let under = |frames: Option<TraceFrames>| {
                frames.and_then(|frames| frames.under_former_id(&id("pytest:b.py::g"), &id("pytest:a.py::f")))
            };
            if let (Some(left_former), Some(right_former)) = (under(left_frames), under(right_frames)) {
                prop_assert_eq!(left_former == right_former, left == right);
            }
        }

        #[test]
        fn any_text_has_a_fingerprint(kind in prop::option::of(".*"), message in ".*", trace in "(?s).*") {
            let fingerprint = Fingerprint::of(kind.as_deref(), &message, &trace);
            prop_assert_eq!(fingerprint.as_str().len(), 16);
        }
    }
}
