//! Batches on their way to the history, by the spool if need be.

use std::path::Path;

use flakewise_model::Batch;
use flakewise_spool::Spool;

use crate::args::StoreArguments;
use crate::context::project;
use crate::error::ExpectedError;
use crate::printer::Printer;

/// What became of what was sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Delivery {
    pub(crate) reports_added: usize,
    pub(crate) reports_known: usize,
    pub(crate) reports_spooled: usize,
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
}

impl Sender {
    #[cfg_attr(
        not(feature = "history"),
        expect(clippy::unnecessary_wraps, reason = "the engine may refuse a store")
    )]
    pub(crate) fn new(arguments: &StoreArguments, spool: &Path) -> Result<Self, ExpectedError> {
        let project = project(arguments.project.as_deref());
        Ok(Self {
            #[cfg(feature = "history")]
            history: flakewise_history::History::new(
                flakewise_history::StoreUrl::parse(&arguments.store)?,
                &project,
            ),
            store: arguments.store.clone(),
            project,
            spool: Spool::new(spool),
        })
    }

    /// Sends what earlier ingests left behind.
    #[cfg(feature = "history")]
    pub(crate) fn send_waiting(
        &self,
        delivery: &mut Delivery,
        printer: &Printer,
    ) -> Result<(), ExpectedError> {
        self.spool.recover()?;
        for path in self.spool.waiting()? {
            let spooled = match self.spool.read(&path) {
                Ok(spooled) => spooled,
                Err(flakewise_spool::SpoolError::NotABatch { path, reason }) => {
                    let aside = self.spool.set_aside(&path)?;
                    printer.warning(&format!("`{}` is damaged and was set aside: {reason}", aside.display()));
                    continue;
                }
                // Another ingest may have sent it in the meantime.
                Err(flakewise_spool::SpoolError::Io { source, .. })
                    if source.kind() == std::io::ErrorKind::NotFound =>
                {
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            if spooled.project != self.project {
                continue;
            }
            match self.history.append(std::slice::from_ref(&spooled.batch)) {
                Ok(_) => {
                    delivery.reports_from_spool += spooled.batch.reports.len();
                    self.spool.remove(&path)?;
                }
                Err(error) if error.is_store_trouble() => {
                    delivery.store_trouble = Some(chain(&error));
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    #[cfg(feature = "history")]
    pub(crate) fn send(&self, batch: &Batch, delivery: &mut Delivery) -> Result<(), ExpectedError> {
        // Once the store has failed it is not tried again in this ingest: what
        // follows must not wait for it too.
        if delivery.store_trouble.is_none() {
            match self.history.append(std::slice::from_ref(batch)) {
                Ok(appended) => {
                    delivery.reports_added += appended.reports_added;
                    delivery.reports_known += appended.reports_known;
                    return Ok(());
                }
                Err(error) if error.is_store_trouble() => delivery.store_trouble = Some(chain(&error)),
                Err(error) => return Err(error.into()),
            }
        }
        self.keep(batch, delivery)
    }

    #[cfg(not(feature = "history"))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "same interface as with the engine")]
    pub(crate) fn send_waiting(
        &self,
        _delivery: &mut Delivery,
        _printer: &Printer,
    ) -> Result<(), ExpectedError> {
        Ok(())
    }

    #[cfg(not(feature = "history"))]
    pub(crate) fn send(&self, batch: &Batch, delivery: &mut Delivery) -> Result<(), ExpectedError> {
        delivery.no_engine = true;
        delivery.store_trouble = Some("this build has no history engine".to_owned());
        self.keep(batch, delivery)
    }

    fn keep(&self, batch: &Batch, delivery: &mut Delivery) -> Result<(), ExpectedError> {
        delivery.reports_spooled += batch.reports.len();
        self.spool.put(&self.project, batch)?;
        Ok(())
    }
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
