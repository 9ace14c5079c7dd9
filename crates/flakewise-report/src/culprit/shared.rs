//! What tests share, in words, and what to do about it in pytest's terms.

use flakewise_model::{CulpritAnswer, CulpritReport, Foreign, SharedState, StateKind};

/// Values are shown so long at most.
const VALUE: usize = 80;

/// `` `test_login` leaves `os.environ['TZ']` set to 'Asia/Tokyo' (was unset);
/// `test_total` reads it at shop/cart.py:12 ``
pub(super) fn sentence(report: &CulpritReport, state: &SharedState) -> String {
    let (culprit, victim) = names(report, state);
    let left = left(state);
    match (&state.read_at, state.is_read) {
        (Some((file, line)), _) => {
            format!("`{culprit}` {left}; `{victim}` reads it at {}:{line}", Foreign::new(file).line())
        }
        (None, true) => format!("`{culprit}` {left}; `{victim}` reads it"),
        (None, false) => format!("`{culprit}` {left}"),
    }
}

/// What keeps a test from leaving that; or, if the other one needs it, from needing
/// others.
pub(super) fn remedy(report: &CulpritReport, state: &SharedState) -> String {
    let (culprit, victim) = names(report, state);
    let means = means(state);
    if matches!(report.answer, CulpritAnswer::Brittle(_)) {
        return format!(
            "a fixture of `{victim}` that does this itself, instead of `{culprit}`: {}",
            means.does
        );
    }
    format!("in `{culprit}`, {}", means.undoes)
}

/// Both tests by their last names, unless these are the same.
fn names(report: &CulpritReport, state: &SharedState) -> (String, String) {
    let (culprit, victim) = (state.left_by.name.as_str(), report.test.name.as_str());
    let (short, other) = (last(culprit), last(victim));
    if short == other {
        (Foreign::new(culprit).line(), Foreign::new(victim).line())
    } else {
        (Foreign::new(short).line(), Foreign::new(other).line())
    }
}

fn last(name: &str) -> &str {
    let plain = name.find('[').map_or(name, |bracket| &name[..bracket]);
    let begin = plain.rfind("::").map_or(0, |at| at + 2);
    &name[begin..]
}

fn shown(text: &str) -> String {
    Foreign::new(text).cut(VALUE)
}

/// What a test leaves, after its name.
fn left(state: &SharedState) -> String {
    let change = &state.change;
    let (name, before, after) = (shown(&change.name), shown(&change.before), shown(&change.after));
    match change.kind {
        _ if after == "unset" => format!("leaves `{name}` unset (was {before})"),
        StateKind::Variable => format!("leaves `{name}` set to {after} (was {before})"),
        StateKind::Global | StateKind::Class if before == after => {
            format!("leaves `{name}` with changed contents")
        }
        StateKind::Global | StateKind::Class => format!("leaves `{name}` as {after} (was {before})"),
        StateKind::Patch => format!("leaves `{name}` replaced by {after} (was {before})"),
        StateKind::Cache => format!("leaves results in the cache of `{name}`"),
        StateKind::Module if after == "removed" => format!("removes `{name}`"),
        StateKind::Module if after.starts_with("imported") => {
            format!("leaves the module `{}` {after} (was {before})", subject(&change.key))
        }
        StateKind::Module => format!("leaves `{name}` replaced by {after}"),
        StateKind::Path => format!("leaves `{name}` {after} (was {before})"),
        StateKind::Open => format!("leaves `{name}` {after}"),
        StateKind::Thread => format!("leaves {name} running"),
        StateKind::File => match after.as_str() {
            "made" => format!("leaves the file `{name}` behind"),
            "gone" => format!("removes the file `{name}`"),
            _ => format!("leaves the file `{name}` changed"),
        },
        StateKind::Random if after == "numbers were drawn" => format!("draws numbers from {name}"),
        StateKind::Random => format!("leaves {name} {after}"),
        StateKind::Timer => "leaves an alarm set".to_owned(),
        _ => format!("leaves {name} at {after} (was {before})"),
    }
}

/// The part of a key after its kind.
fn subject(key: &str) -> String {
    Foreign::new(key.split_once(':').map_or(key, |(_, rest)| rest)).line()
}

/// How a change is made in a way that ends with the test.
struct Means {
    /// For who leaves it.
    undoes: String,
    /// For who needs it.
    does: String,
}

fn means(state: &SharedState) -> Means {
    let change = &state.change;
    let subject = subject(&change.key);
    let dotted = subject.replace(':', ".");
    let both = |text: String| Means {
        does: text.clone(),
        undoes: format!("{text}, which pytest undoes after the test"),
    };
    let fixture = |before: &str, after: &str| Means {
        undoes: format!("a fixture with `yield` that {after}"),
        does: before.to_owned(),
    };
    match change.kind {
        StateKind::Variable if change.after == "unset" => both(format!("`monkeypatch.delenv(\"{subject}\")`")),
        StateKind::Variable => both(format!("`monkeypatch.setenv(\"{subject}\", …)`")),
        StateKind::Global | StateKind::Class | StateKind::Other => {
            if change.before.starts_with('{') && change.name.ends_with(&dotted) {
                both(format!("`monkeypatch.setitem({dotted}, …)`"))
            } else {
                both(format!("`monkeypatch.setattr(\"{dotted}\", …)`"))
            }
        }
        StateKind::Patch => Means {
            undoes: format!(
                "`monkeypatch.setattr(\"{dotted}\", …)`, or `mock.patch` as a context manager; both restore it"
            ),
            does: format!("`monkeypatch.setattr(\"{dotted}\", …)`"),
        },
        StateKind::Cache => fixture(
            &format!("call `{dotted}(…)` first"),
            &format!("calls `{dotted}.cache_clear()` after it"),
        ),
        StateKind::Folder => both("`monkeypatch.chdir(…)`".to_owned()),
        StateKind::Path => both("`monkeypatch.syspath_prepend(…)`".to_owned()),
        StateKind::Module if change.after == "imported" => Means {
            undoes: format!("`monkeypatch.delitem(sys.modules, \"{subject}\")` after the import; or import it at the top of the file"),
            does: format!("`import {subject}`"),
        },
        StateKind::Module => Means {
            undoes: format!("`monkeypatch.setitem(sys.modules, \"{subject}\", …)` or `monkeypatch.delitem`, which pytest undoes after the test"),
            does: format!("`monkeypatch.setitem(sys.modules, \"{subject}\", …)`"),
        },
        StateKind::Locale => fixture("call `locale.setlocale(…)`", "restores it with `locale.setlocale`"),
        StateKind::Zone => fixture(
            "`monkeypatch.setenv(\"TZ\", …)` and `time.tzset()`",
            "restores `TZ` and calls `time.tzset()` after it",
        ),
        StateKind::Signal => fixture("call `signal.signal(…)`", "restores the handler with `signal.signal`"),
        StateKind::Timer => fixture("set the alarm", "calls `signal.alarm(0)` after it"),
        StateKind::Mask => fixture("call `os.umask(…)`", "restores it with `os.umask`"),
        StateKind::Open => Means {
            undoes: "`with open(…)`, or a fixture with `yield` that closes it".to_owned(),
            does: "open it".to_owned(),
        },
        StateKind::Thread => fixture("start it", "stops the thread and joins it"),
        StateKind::File => Means {
            undoes: "write below `tmp_path` instead".to_owned(),
            does: "write what it needs below `tmp_path`".to_owned(),
        },
        StateKind::Logging if change.key.rsplit('.').next() == Some("level") => both("`caplog.set_level(…)`".to_owned()),
        StateKind::Logging | StateKind::Interpreter => fixture("set it", "restores it"),
        StateKind::Warnings => both("`with warnings.catch_warnings():`".to_owned()).plainly(),
        StateKind::Random => Means {
            undoes: "`random.Random(seed)` of its own, or a fixture with `yield` that restores the state with `random.setstate`".to_owned(),
            does: "`random.seed(…)`".to_owned(),
        },
        StateKind::Decimal => both("`with decimal.localcontext():`".to_owned()).plainly(),
        StateKind::Context => fixture("set it", "calls `reset` with the token from `set`"),
        StateKind::Loop => fixture("make a loop and set it", "sets a new event loop, or `asyncio.Runner()`"),
    }
}

impl Means {
    /// Without saying who takes it back.
    fn plainly(self) -> Self {
        Self { undoes: self.does.clone(), does: self.does }
    }
}
