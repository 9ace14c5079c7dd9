//! What happens, for bug reports: spans and events of `tracing` on stderr.
//!
//! Nothing is logged unless `--verbose` or `FLAKEWISE_LOG` asks for it; without a
//! subscriber a span costs one atomic read.

use std::fmt::{Debug, Write as _};
use std::io::Write as _;
use std::time::Instant;

use flakewise_model::Foreign;
use flakewise_report::duration;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;

use crate::error::ExpectedError;

/// The variable that says what to log.
pub(crate) const VARIABLE: &str = "FLAKEWISE_LOG";
/// What the names of all our crates begin with.
const OWN: &str = "flakewise";

/// Starts logging, if somebody wants it.
pub(crate) fn start(verbose: u8) -> Result<(), ExpectedError> {
    let directives = crate::context::variable(VARIABLE).unwrap_or_default();
    if verbose == 0 && directives.is_empty() {
        return Ok(());
    }
    let level = match verbose {
        0 => LevelFilter::OFF,
        1 => LevelFilter::INFO,
        2 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let targets = targets(level, &directives)?;
    let subscriber = tracing_subscriber::registry().with(targets).with(Log { began: Instant::now() });
    tracing::subscriber::set_global_default(subscriber).expect("logging starts once");
    Ok(())
}

/// The command line, without what follows the scheme of a URL: it may hold
/// credentials of a store.
pub(crate) fn arguments() -> Vec<String> {
    let shown = |word: std::ffi::OsString| {
        let word = word.to_string_lossy();
        word.split_once("://").map_or_else(|| word.to_string(), |(scheme, _)| format!("{scheme}://…"))
    };
    std::env::args_os().skip(1).map(shown).collect()
}

/// `debug` is for our own crates, `datafusion=debug` for others.
fn targets(level: LevelFilter, directives: &str) -> Result<Targets, ExpectedError> {
    let mut targets = Targets::new().with_target(OWN, level);
    for directive in directives.split(',').map(str::trim).filter(|directive| !directive.is_empty()) {
        let (target, level) = directive.rsplit_once('=').unwrap_or((OWN, directive));
        let wrong = |_| ExpectedError::LogDirective { directive: directive.to_owned() };
        targets = targets.with_target(target, level.parse::<LevelFilter>().map_err(wrong)?);
    }
    Ok(targets)
}

/// Prints a line when a span begins, when it ends and for each event.
struct Log {
    began: Instant,
}

impl Log {
    fn line(&self, metadata: &Metadata<'_>, text: &str) {
        let (level, seconds) = (metadata.level(), self.began.elapsed().as_secs_f64());
        let line = format!("[{seconds:9.3}] {level:5} {}: {text}", metadata.target());
        // Nobody is left to tell if stderr is gone.
        let _ = writeln!(std::io::stderr().lock(), "{}", Foreign::new(&line).line());
    }
}

/// A span that has not ended.
struct Open {
    since: Instant,
    fields: Fields,
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Log {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let metadata = attributes.metadata();
        self.line(metadata, &format!("begin {}{}", metadata.name(), fields.0));
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(Open { since: Instant::now(), fields });
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(open) = span.extensions_mut().get_mut::<Open>()
        {
            values.record(&mut open.fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        self.line(event.metadata(), fields.0.trim_start());
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let extensions = span.extensions();
        let Some(open) = extensions.get::<Open>() else { return };
        let took = duration(open.since.elapsed());
        self.line(span.metadata(), &format!("end {}{} took={took}", span.name(), open.fields.0));
    }
}

/// Fields as ` name=value`, the message without its name.
#[derive(Default)]
struct Fields(String);

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = match field.name() {
            "message" => write!(self.0, " {value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn directives_are_for_us_unless_they_name_others() {
        let targets = targets(LevelFilter::OFF, "debug, datafusion=info").expect("valid");
        assert!(targets.would_enable("flakewise_runner::jobs", &Level::DEBUG));
        assert!(!targets.would_enable("flakewise_runner::jobs", &Level::TRACE));
        assert!(targets.would_enable("datafusion::planner", &Level::INFO));
        assert!(!targets.would_enable("deltalake", &Level::ERROR));
    }

    #[test]
    fn a_directive_without_a_level_is_wrong() {
        assert!(targets(LevelFilter::OFF, "flakewise_runner").is_err());
        assert!(targets(LevelFilter::OFF, "info,a=loud").is_err());
    }
}
