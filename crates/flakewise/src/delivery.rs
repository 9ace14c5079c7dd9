//! Batches on their way to the history, by the spool if need be.

use std::time::{Duration, SystemTime};

use flakewise_model::Batch;
use flakewise_report::{count, number};
use flakewise_spool::{Bounds, Spool};

use crate::args::{LandingArguments, RecordArguments, SpoolArguments, StoreArguments};
use crate::context::project;
use crate::error::ExpectedError;
use crate::own_folder::keep_out_of_git;
use crate::printer::Printer;

/// What may wait for a store.
const BOUNDS: Bounds = Bounds { bytes: 1_000_000_000, age: Duration::from_hours(30 * 24) };

/// What became of what was sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Delivery {
    pub(crate) reports_added: usize,
    pub(crate) reports_known: usize,
    pub(crate) reports_spooled: usize,
    /// Left in the store for another process to commit.
    pub(crate) reports_landed: usize,
    pub(crate) reports_from_spool: usize,
    /// Why the store could not be used.
    pub(crate) store_trouble: Option<String>,
    /// Whether that is because this build has no engine.
    pub(crate) no_engine: bool,
}

/// Hands batches to the history, or to the spool while that fails.
pub(crate) struct Sender {
    #[cfg(feature = "history")]
    pub(crate) history: flakewise_history::History,
    pub(crate) store: String,
    pub(crate) project: String,
    pub(crate) spool: Spool,
    #[cfg_attr(not(feature = "history"), expect(dead_code, reason = "nothing but the spool is used"))]
    land: bool,
}

impl Sender {
    /// The sender of a run; none if it is not to be recorded.
    pub(crate) fn recording(arguments: &RecordArguments) -> Result<Option<Self>, ExpectedError> {
        if arguments.no_store {
            return Ok(None);
        }
        Self::new(&arguments.store, &arguments.spool, &arguments.landing).map(Some)
    }

    #[cfg_attr(
        not(feature = "history"),
        expect(clippy::unnecessary_wraps, reason = "the engine may refuse a store")
    )]
    pub(crate) fn new(
        arguments: &StoreArguments,
        spool: &SpoolArguments,
        landing: &LandingArguments,
    ) -> Result<Self, ExpectedError> {
        let project = project(arguments.project.as_deref());
        #[cfg(feature = "history")]
        let history =
            flakewise_history::History::new(flakewise_history::StoreUrl::parse(&arguments.url())?, &project);
        Ok(Self {
            // Shown to people, so without credentials.
            #[cfg(feature = "history")]
            store: history.store().to_string(),
            #[cfg(not(feature = "history"))]
            store: flakewise_model::without_credentials(&arguments.url()),
            #[cfg(feature = "history")]
            history,
            project,
            spool: Spool::new(spool.folder()),
            land: landing.land,
        })
    }

    /// Sends what earlier ingests left behind. What cannot be sent stays in the
    /// spool, with a warning, and does not block the rest.
    #[cfg(feature = "history")]
    pub(crate) fn send_waiting(&self, delivery: &mut Delivery, printer: &Printer) {
        use flakewise_spool::SpoolError;

        let told = |error: &dyn std::error::Error| printer.warning(&chain(error));
        if let Err(error) = self.spool.recover() {
            told(&error);
        }
        let waiting = self.spool.waiting().unwrap_or_else(|error| {
            told(&error);
            Vec::new()
        });
        for path in waiting {
            let _span = tracing::info_span!("send from spool", path = %path.display()).entered();
            let spooled = match self.spool.read(&path) {
                Ok(spooled) => spooled,
                Err(SpoolError::NotABatch { path, reason }) => {
                    match self.spool.set_aside(&path) {
                        Ok(aside) => printer.warning(&format!(
                            "`{}` is damaged and was moved aside: {reason}",
                            aside.display()
                        )),
                        Err(error) => told(&error),
                    }
                    continue;
                }
                // Another ingest may have sent it in the meantime.
                Err(SpoolError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                    continue;
                }
                Err(error) => {
                    printer.warning(&format!("{}; the results stay in the spool", chain(&error)));
                    continue;
                }
            };
            if spooled.project != self.project {
                continue;
            }
            match self.hand_over(&spooled.batch) {
                Ok(_) => {
                    delivery.reports_from_spool += spooled.batch.reports.len();
                    // If it stays, it is sent again and found to be known.
                    if let Err(error) = self.spool.remove(&path) {
                        told(&error);
                    }
                }
                Err(error) if error.is_store_trouble() => {
                    delivery.store_trouble = Some(chain(&error));
                    break;
                }
                Err(error) => {
                    printer.warning(&format!("failed to send `{}`: {}", path.display(), chain(&error)));
                }
            }
        }
        self.bound_spool(SystemTime::now(), printer);
    }

    /// Commits a batch, or leaves it in the store.
    #[cfg(feature = "history")]
    fn hand_over(
        &self,
        batch: &Batch,
    ) -> Result<flakewise_history::Appended, flakewise_history::HistoryError> {
        if self.land {
            crate::landing::land(&self.history, &self.project, batch)?;
            return Ok(flakewise_history::Appended::default());
        }
        self.history.append(std::slice::from_ref(batch))
    }

    #[cfg(feature = "history")]
    pub(crate) fn send(&self, batch: &Batch, delivery: &mut Delivery) -> Result<(), ExpectedError> {
        // Once the store has failed it is not tried again in this ingest: what
        // follows must not wait for it too.
        if delivery.store_trouble.is_none() {
            match self.hand_over(batch) {
                Ok(appended) => {
                    keep_out_of_git(std::path::Path::new(&self.store));
                    delivery.reports_added += appended.reports_added;
                    delivery.reports_known += appended.reports_known;
                    delivery.reports_landed += if self.land { batch.reports.len() } else { 0 };
                    return Ok(());
                }
                Err(error) if error.is_store_trouble() => delivery.store_trouble = Some(chain(&error)),
                Err(error) => return Err(error.into()),
            }
        }
        self.keep(batch, delivery)
    }

    #[cfg(not(feature = "history"))]
    pub(crate) fn send_waiting(&self, _delivery: &mut Delivery, printer: &Printer) {
        self.bound_spool(SystemTime::now(), printer);
    }

    #[cfg(not(feature = "history"))]
    pub(crate) fn send(&self, batch: &Batch, delivery: &mut Delivery) -> Result<(), ExpectedError> {
        delivery.no_engine = true;
        delivery.store_trouble = Some("this build has no history engine".to_owned());
        self.keep(batch, delivery)
    }

    fn keep(&self, batch: &Batch, delivery: &mut Delivery) -> Result<(), ExpectedError> {
        let folder = self.spool.folder().display();
        let _span = tracing::info_span!("spool", %folder, reports = batch.reports.len()).entered();
        delivery.reports_spooled += batch.reports.len();
        self.spool.put(&self.project, batch)?;
        keep_out_of_git(self.spool.folder());
        Ok(())
    }

    /// Keeps the spool within its bounds, and warns long before it drops anything.
    fn bound_spool(&self, now: SystemTime, printer: &Printer) {
        let trimmed = self.spool.trim(&BOUNDS, now);
        let (dropped, usage) = match trimmed.and_then(|dropped| Ok((dropped, self.spool.usage()?))) {
            Ok(known) => known,
            Err(error) => return printer.warning(&error.to_string()),
        };
        let folder = self.spool.folder().display();
        let bounds = format!("{} or {}", megabytes(BOUNDS.bytes), days(BOUNDS.age));
        if dropped > 0 {
            let dropped = count(dropped as u64, "file");
            printer.warning(&format!(
                "dropped {dropped} from `{folder}`: the spool is limited to {bounds} of results"
            ));
        }
        let age = usage.oldest.and_then(|oldest| now.duration_since(oldest).ok()).unwrap_or_default();
        if usage.bytes > BOUNDS.bytes / 2 || age > BOUNDS.age / 2 {
            printer.warning(&format!(
                "`{folder}` holds {} of unsent results, the oldest {} old; beyond {bounds} the oldest are dropped",
                megabytes(usage.bytes),
                days(age),
            ));
        }
    }
}

fn megabytes(bytes: u64) -> String {
    format!("{} MB", number(bytes.div_ceil(1_000_000)))
}

fn days(duration: Duration) -> String {
    count(duration.as_secs() / (24 * 60 * 60), "day")
}

/// An error and its causes in one line.
#[cfg(feature = "history")]
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let line = cause.to_string();
        let line = line.lines().next().unwrap_or_default();
        if !text.ends_with(line) {
            text.push_str(": ");
            text.push_str(line);
        }
        source = cause.source();
    }
    text
}
