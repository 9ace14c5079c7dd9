//! Removing what is too old.
//!
//! *Attempts may go before their roll-ups*, which are a tenth of them. A roll-up holds as long as its
//! files are there (`rollup`), so one whose attempts have expired is listed in a property of `attempts`, by
//! the commit that removes them. It is all that is left of its days and must not be replaced any more.
//! As the two tables have a log each, this takes three rules:
//!
//! 1. To remove attempts, a process opens their table first. Then it writes to a property of `test_days` that
//!    their roll-ups are *sealed*, and checks that they are still there. Commits to `test_days` that other
//!    processes have begun fail then.
//! 2. The commit that removes the attempts has the id of merges. It fails if there was another one since
//!    the table was opened.
//! 3. To replace sealed roll-ups, a process opens `attempts`, then `test_days`, and makes an empty commit
//!    with that id. If that fails, the attempts may be gone, and the roll-ups stay. Each of its commits to
//!    `test_days` is based on what it opened or on its own last commit, and fails if there is a newer seal.
//!
//! Attempts that come to such days later are read beside the roll-up, for ever. They share neither files
//! nor roll-ups with other days, which can still expire.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::RangeInclusive;

use chrono::NaiveDate;
use deltalake::DeltaTable;
use deltalake::kernel::{Action, MetadataExt as _};
use deltalake::protocol::DeltaOperation;

use crate::append::is_lost_race;
use crate::columns::SEALING_FORMAT;
use crate::maintain::{
    LiveFile, MaintainOptions, SPANS, TRANSACTION, count_days, is_within, live_files, newest_day, overlap,
    remove, span,
};
use crate::rollup::{RollUp, covered, current, roll_ups};
use crate::table::{FORMAT_KEY, TableKind, configuration, set_properties};
use crate::{History, HistoryError};

/// Where `attempts` lists the roll-ups whose attempts have expired, by their sources.
const EXPIRED_KEY: &str = "flakewise.expired-attempts";
/// Where `test_days` lists the roll-ups whose attempts are about to expire, or have.
const SEALED_KEY: &str = "flakewise.sealed";

/// How long results are kept.
///
/// Days go in whole spans of 32, which share files and roll-ups, so that up to 31 more of them are
/// kept. They are counted back from today or from the newest day, whichever is earlier: neither a
/// clock nor a report that is ahead of its time removes what is recent.
#[derive(Clone, Copy, Debug)]
pub struct Expiry {
    /// How many days are kept, at least.
    pub days: u32,
    /// The date of today.
    pub today: NaiveDate,
}

impl Expiry {
    /// The first day that is kept.
    fn first_kept(self, newest: i32) -> i32 {
        let last = newest.min(self.today.to_epoch_days());
        let first = last.saturating_sub(i32::try_from(self.days).unwrap_or(i32::MAX));
        *span(first, SPANS[0]).start()
    }
}

/// Roll-ups by their sources, and the days they cover.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sources(BTreeMap<String, RangeInclusive<i32>>);

impl Sources {
    /// Those whose attempts have expired.
    pub(crate) fn expired(attempts: &DeltaTable) -> Result<Self, HistoryError> {
        Self::listed(attempts, EXPIRED_KEY)
    }

    /// Those whose attempts are about to expire, or have.
    pub(crate) fn sealed(test_days: &DeltaTable) -> Result<Self, HistoryError> {
        Self::listed(test_days, SEALED_KEY)
    }

    fn listed(table: &DeltaTable, key: &str) -> Result<Self, HistoryError> {
        let listed = configuration(table)?.get(key).map_or("", String::as_str);
        // What says no days covers none.
        let sources =
            listed.split_whitespace().filter_map(|source| Some((source.to_owned(), covered(source)?)));
        Ok(Self(sources.collect()))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn has(&self, one: &RollUp) -> bool {
        self.0.contains_key(&one.source)
    }

    pub(crate) fn extend(&mut self, roll_ups: &[RollUp]) {
        self.0.extend(roll_ups.iter().map(|one| (one.source.clone(), one.days.clone())));
    }

    /// Whether one of them covers one of these days.
    pub(crate) fn overlap(&self, days: &RangeInclusive<i32>) -> bool {
        self.0.values().any(|covered| overlap(covered, days))
    }

    /// Whether some of these days are those of one of them, and others are not.
    pub(crate) fn divide(&self, days: &RangeInclusive<i32>) -> bool {
        self.0.values().any(|covered| overlap(covered, days) && !is_within(days, covered))
    }

    /// The days of those that are not among these roll-ups.
    pub(crate) fn missing(&self, among: &[RollUp]) -> BTreeSet<i32> {
        let is_there = |source: &str| among.iter().any(|one| one.source == source);
        let missing = self.0.iter().filter(|(source, _)| !is_there(source));
        missing.flat_map(|(_, days)| days.clone()).collect()
    }

    fn text(&self) -> String {
        self.0.keys().map(String::as_str).collect::<Vec<_>>().join(" ")
    }
}

impl History {
    /// Removes the days that are too old from the tables, and returns how many for each. Those of
    /// roll-ups are only counted: without attempts they do not hold, and `roll_up` removes them.
    pub(crate) async fn expire(
        &self,
        options: &MaintainOptions,
    ) -> Result<HashMap<&'static str, usize>, HistoryError> {
        let mut expired = HashMap::new();
        let Some(expiry) = options.expire else { return Ok(expired) };
        let mut first_kept = None;
        // Attempts never exist without what is known of their run.
        for kind in [TableKind::Attempts, TableKind::Verdicts, TableKind::Runs] {
            let Some(mut table) = self.open(kind).await? else { continue };
            let mut files = live_files(&table)?;
            let newest = newest_day(&files);
            let first_kept = *first_kept.get_or_insert(newest.map_or(i32::MIN, |day| expiry.first_kept(day)));
            files.retain(|file| file.days.as_ref().is_some_and(|days| *days.end() < first_kept));
            // Roll-ups that are no longer listed do not hold.
            let listed = Sources::expired(&table)?;
            let mut kept = listed.clone();
            kept.0.retain(|_, days| *days.end() >= first_kept);
            if files.is_empty() && kept == listed {
                continue;
            }
            if !options.dry_run {
                self.check_single_writer(configuration(&table)?)?;
                if !self.remove_files(kind, &mut table, &files, (kept != listed).then_some(&kept)).await? {
                    // Another process replaces files: they are left for the next time.
                    continue;
                }
            }
            expired.insert(kind.name(), count_days(&files));
            if kind == TableKind::Attempts
                && let Some(test_days) = self.open(TableKind::TestDays).await?
            {
                let old = roll_ups(&test_days)?.into_iter().map(|one| one.days);
                let old: BTreeSet<i32> = old.filter(|days| *days.end() < first_kept).flatten().collect();
                expired.insert(TableKind::TestDays.name(), old.len());
            }
        }
        Ok(expired)
    }

    /// Removes the attempts of days that are too old, as far as they are rolled up, and returns how
    /// many days these are. The roll-ups stay.
    pub(crate) async fn expire_attempts(&self, options: &MaintainOptions) -> Result<usize, HistoryError> {
        let Some(mut expiring) = self.expiring(options).await? else { return Ok(0) };
        if options.dry_run {
            return Ok(count_days(&expiring.files));
        }
        // If another process was faster, the next `maintain` removes what is left.
        let done = self.seal(&expiring).await? && self.remove_attempts(&mut expiring).await?;
        Ok(if done { count_days(&expiring.files) } else { 0 })
    }

    /// What is too old, and what was rolled up of it.
    async fn expiring(&self, options: &MaintainOptions) -> Result<Option<Expiring>, HistoryError> {
        let Some(expiry) = options.expire_attempts else { return Ok(None) };
        let Some(attempts) = self.open(TableKind::Attempts).await? else { return Ok(None) };
        let expired = Sources::expired(&attempts)?;
        let files = live_files(&attempts)?;
        let newest = newest_day(&files);
        let first_of = |expiry: Expiry| newest.map_or(i32::MIN, |day| expiry.first_kept(day));
        // What is older goes with its roll-ups.
        let old_days = options.expire.map_or(i32::MIN, first_of)..first_of(expiry);
        // What came late to days that have expired is all there is of it.
        let is_old = |days: &RangeInclusive<i32>| old_days.contains(days.end()) && !expired.overlap(days);
        let mut rolled = match self.open(TableKind::TestDays).await? {
            Some(test_days) => current(&files, roll_ups(&test_days)?, &expired),
            None => Vec::new(),
        };
        rolled.retain(|one| is_old(&one.days));
        // Before it begins, `maintain` rolls up all days.
        let is_rolled = |days: &RangeInclusive<i32>| {
            options.dry_run || rolled.iter().any(|one| is_within(days, &one.days))
        };
        let is_expiring =
            |file: &LiveFile| file.days.as_ref().is_some_and(|days| is_old(days) && is_rolled(days));
        let files: Vec<_> = files.into_iter().filter(is_expiring).collect();
        Ok((!files.is_empty()).then_some(Expiring { attempts, expired, rolled, files }))
    }

    /// The first rule. False if a roll-up was replaced.
    async fn seal(&self, expiring: &Expiring) -> Result<bool, HistoryError> {
        let table = self.open_or_create(TableKind::TestDays).await?;
        let there = roll_ups(&table)?;
        let mut sealed = Sources::sealed(&table)?;
        sealed.0.retain(|source, _| there.iter().any(|one| one.source == *source));
        sealed.extend(&expiring.rolled);
        let properties = HashMap::from([
            (SEALED_KEY, sealed.text()),
            // Earlier versions would remove these roll-ups.
            (FORMAT_KEY, SEALING_FORMAT.to_string()),
        ]);
        match set_properties(&table, properties).await {
            Ok(_) => {}
            Err(error) if is_lost_race(&error) => return Ok(false),
            Err(error) => return Err(self.unwritable(error)),
        }
        let Some(table) = self.open(TableKind::TestDays).await? else { return Ok(false) };
        if let Some(version) = table.version() {
            self.sync_log(TableKind::TestDays, version)?;
        }
        let there: BTreeSet<String> = roll_ups(&table)?.into_iter().map(|one| one.path).collect();
        Ok(expiring.rolled.iter().all(|one| there.contains(&one.path)))
    }

    /// The second rule. False if another process replaces attempts.
    async fn remove_attempts(&self, expiring: &mut Expiring) -> Result<bool, HistoryError> {
        let mut expired = expiring.expired.clone();
        expired.extend(&expiring.rolled);
        self.remove_files(TableKind::Attempts, &mut expiring.attempts, &expiring.files, Some(&expired)).await
    }

    /// The third rule: whether roll-ups may be replaced that were sealed when `test_days` was opened, which
    /// was after `attempts`.
    pub(crate) async fn break_seals(&self, attempts: &mut DeltaTable) -> Result<bool, HistoryError> {
        self.remove_files(TableKind::Attempts, attempts, &[], None).await
    }

    /// Commits that files are gone and, if given, which roll-ups hold without theirs. False if another
    /// process replaces files.
    async fn remove_files(
        &self,
        kind: TableKind,
        table: &mut DeltaTable,
        files: &[LiveFile],
        expired: Option<&Sources>,
    ) -> Result<bool, HistoryError> {
        let mut actions: Vec<_> = files.iter().map(|file| remove(&file.path, file.size, true)).collect();
        if let Some(expired) = expired {
            let metadata = table.snapshot().map_err(HistoryError::query)?.metadata().clone();
            let metadata = metadata.add_config_key(EXPIRED_KEY.to_owned(), expired.text());
            actions.push(Action::Metadata(metadata.map_err(|error| self.unwritable(error))?));
        }
        self.replace(kind, table, actions, TRANSACTION, DeltaOperation::Delete { predicate: None }).await
    }
}

/// Attempts that are about to expire.
struct Expiring {
    /// Their table, as it was opened before their roll-ups were sealed.
    attempts: DeltaTable,
    /// What has expired before.
    expired: Sources,
    rolled: Vec<RollUp>,
    files: Vec<LiveFile>,
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use flakewise_model::Outcome::{Failed, Passed};
    use flakewise_testkit::BatchBuilder;
    use tempfile::TempDir;

    use super::*;
    use crate::{ReportOptions, StoreUrl};

    const DAYS: i64 = 70;

    fn open(folder: &TempDir) -> History {
        History::new(StoreUrl::parse(folder.path().to_str().expect("UTF-8")).expect("a path"), "acme/shop")
    }

    /// A history whose days are rolled up.
    fn rolled_up() -> (TempDir, History) {
        let folder = tempfile::tempdir().expect("made");
        let history = open(&folder);
        let run = |day: i64| {
            let outcome = if day % 9 == 4 { Failed } else { Passed };
            BatchBuilder::new(&format!("run-{day}"), "c", 24 * day).attempt("test_a", outcome).build()
        };
        history.append(&(0..DAYS).map(run).collect::<Vec<_>>()).expect("written");
        maintain(&history, None);
        (folder, history)
    }

    fn options(kept_attempts: Option<u32>) -> MaintainOptions {
        let today = NaiveDate::from_ymd_opt(2090, 1, 1).expect("a date");
        let expire_attempts = kept_attempts.map(|days| Expiry { days, today });
        MaintainOptions { dry_run: false, keep: Duration::from_hours(1), expire: None, expire_attempts }
    }

    fn maintain(history: &History, kept_attempts: Option<u32>) {
        history.maintain(&options(kept_attempts), &|_, _, _| {}).expect("maintained");
    }

    /// Rolls up without merging before, which would keep attempts from being removed. How many days
    /// were left to others.
    fn roll_up(history: &History, progress: &dyn Fn(&str, usize, usize)) -> usize {
        let summary = history.block_on("test", history.roll_up(&options(None), progress));
        summary.expect("rolled up").expect("there are attempts").days_left_to_others
    }

    fn expiring(history: &History) -> Expiring {
        let expiring = history.block_on("test", history.expiring(&options(Some(10))));
        expiring.expect("readable").expect("old attempts")
    }

    fn seal(history: &History, expiring: &Expiring) -> bool {
        history.block_on("test", history.seal(expiring)).expect("written")
    }

    fn remove(history: &History, expiring: &mut Expiring) -> bool {
        history.block_on("test", history.remove_attempts(expiring)).expect("written")
    }

    /// How often the test failed, and how many attempts have no row any more.
    fn failures(history: &History) -> (u64, u64) {
        let report = history.report(&ReportOptions::default()).expect("readable");
        let rows = history.sql("SELECT run FROM attempts", 1000).expect("readable").rows.len() as u64;
        (report.findings[0].rate.failures, report.attempts - rows)
    }

    /// A history some of whose attempts are about to expire, of which the roll-up is sealed if it is
    /// meant to be, when a late report comes to one of their days.
    fn late_report(is_sealed: bool) -> (TempDir, History, Expiring) {
        let (folder, history) = rolled_up();
        let expiring = expiring(&history);
        if is_sealed {
            assert!(seal(&history, &expiring));
        }
        let late = BatchBuilder::new("late", "late", 29).attempt("test_a", Failed).build();
        history.append(&[late]).expect("written");
        (folder, history, expiring)
    }

    #[test]
    fn attempts_stay_if_their_roll_up_was_replaced() {
        for is_sealed_first in [true, false] {
            let (folder, history, mut expiring) = late_report(is_sealed_first);
            roll_up(&open(&folder), &|_, _, _| {});
            if is_sealed_first {
                assert!(!remove(&history, &mut expiring), "the seal was broken");
            } else {
                assert!(!seal(&history, &expiring), "the roll-up is gone");
            }
            assert_eq!(failures(&history), (9, 0));
            maintain(&history, Some(10));
            let (failed, expired) = failures(&history);
            assert_eq!((failed, expired > 32), (9, true));
        }
    }

    #[test]
    fn a_roll_up_stays_if_its_attempts_were_removed() {
        // When another process has decided to replace the roll-up, it is sealed.
        for is_sealed_before in [false, true] {
            let (folder, history, expiring) = late_report(is_sealed_before);
            let (expiring, is_removed) = (Mutex::new(Some(expiring)), AtomicBool::new(false));
            let then = |what: &str, _, _| {
                let mut expiring = expiring.lock().expect("nobody panicked");
                if let Some(mut expiring) = expiring.take_if(|_| what.starts_with("test_days")) {
                    let remove = || seal(&open(&folder), &expiring) && remove(&open(&folder), &mut expiring);
                    let removed = std::thread::scope(|scope| scope.spawn(remove).join().expect("no panic"));
                    is_removed.store(removed, Ordering::Relaxed);
                }
            };
            let days_left_to_others = roll_up(&open(&folder), &then);
            assert!(is_removed.load(Ordering::Relaxed));
            assert!(days_left_to_others > 0);
            let (failed, expired) = failures(&history);
            assert_eq!((failed, expired > 32), (9, true));
            maintain(&history, None);
            assert_eq!(failures(&history), (9, expired));
        }
    }

    #[test]
    fn what_was_sealed_in_vain_expires_the_next_time() {
        let (_folder, history) = rolled_up();
        let expiring = expiring(&history);
        assert!(seal(&history, &expiring));
        maintain(&history, None);
        assert_eq!(failures(&history), (8, 0));
        maintain(&history, Some(10));
        assert!(failures(&history).1 > 32);
        assert_eq!(failures(&history).0, 8);
    }

    #[test]
    fn earlier_versions_do_not_touch_sealed_roll_ups() {
        let (_folder, history) = rolled_up();
        let format = |history: &History| {
            let table = history.block_on("test", history.open(TableKind::TestDays));
            let table = table.expect("readable").expect("there");
            configuration(&table).expect("readable")[FORMAT_KEY].clone()
        };
        assert_eq!(format(&history), "1");
        maintain(&history, Some(10));
        assert_eq!(format(&history), "2");
    }
}
