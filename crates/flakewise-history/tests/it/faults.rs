//! A store that applies a commit and then says that it failed.
//!
//! `FLAKEWISE_FAULT_ROUNDS` sets the rounds of each test; `bench/faults` runs a
//! thousand.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use chrono::NaiveDate;
use deltalake::DeltaResult;
use deltalake::logstore::object_store::memory::InMemory;
use deltalake::logstore::object_store::path::Path;
use deltalake::logstore::object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, PutMode,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use deltalake::logstore::{
    LogStore, LogStoreFactory, ObjectStoreFactory, ObjectStoreRef, StorageConfig, default_logstore,
    logstore_factories, object_store_factories,
};
use flakewise_history::{Expiry, History, MaintainOptions, Matches, StoreUrl};
use flakewise_model::Outcome::Passed;
use flakewise_model::Value;
use flakewise_testkit::BatchBuilder;
use futures::stream::BoxStream;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use url::Url;

/// What happens to a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// Applied; the answer is lost, the client tries again and gets a conflict.
    AppliedThenConflict,
    /// Applied, then answered with 503.
    AppliedThenUnavailable,
    /// Applied, then the connection is closed.
    AppliedThenReset,
    /// Applied, and no answer in time.
    AppliedThenTimeout,
    /// Not applied.
    Refused,
}

const FAULTS: [Fault; 5] = [
    Fault::AppliedThenConflict,
    Fault::AppliedThenUnavailable,
    Fault::AppliedThenReset,
    Fault::AppliedThenTimeout,
    Fault::Refused,
];

/// Which commits go wrong.
#[derive(Debug)]
struct Plan {
    /// The next ones do so.
    next: Vec<Fault>,
    /// The share of those after them that does.
    share: f64,
    random: StdRng,
}

/// A store in memory with faults.
#[derive(Debug)]
struct FaultyStore {
    inner: InMemory,
    plan: Mutex<Plan>,
    /// How many of each there were.
    seen: Mutex<HashMap<&'static str, u32>>,
    /// What was deleted.
    deleted: Mutex<BTreeSet<String>>,
    /// The name of a table, and what happens after the next commit to it, before it is answered.
    then: Mutex<Option<(&'static str, Meanwhile)>>,
}

struct Meanwhile(Box<dyn FnOnce() + Send>);

impl fmt::Debug for Meanwhile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a function")
    }
}

impl FaultyStore {
    fn fault(&self) -> Option<Fault> {
        let Plan { next, share, random } = &mut *self.plan.lock().expect("nobody panicked");
        let by_chance =
            || (random.random::<f64>() < *share).then(|| FAULTS[random.random_range(0..FAULTS.len())]);
        next.pop().or_else(by_chance)
    }

    fn set_share(&self, share: f64) {
        self.plan.lock().expect("nobody panicked").share = share;
    }

    /// Does something after the next commit to this table, before it is answered.
    fn after_commit(&self, table: &'static str, then: impl FnOnce() + Send + 'static) {
        *self.then.lock().expect("nobody panicked") = Some((table, Meanwhile(Box::new(then))));
    }

    fn committed(&self, location: &Path) {
        let then = self
            .then
            .lock()
            .expect("nobody panicked")
            .take_if(|(table, _)| location.parts().any(|part| part.as_ref() == *table));
        if let Some((_, Meanwhile(then))) = then {
            std::thread::scope(|scope| scope.spawn(then).join().expect("no panic"));
        }
    }

    /// Nothing may have been deleted. Adds up the faults.
    fn check(&self, seen: &mut BTreeMap<&'static str, u32>) {
        assert_eq!(*self.deleted.lock().expect("nobody panicked"), BTreeSet::new());
        for (name, count) in self.seen.lock().expect("nobody panicked").drain() {
            *seen.entry(name).or_default() += count;
        }
    }
}

impl fmt::Display for FaultyStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a store with faults")
    }
}

fn failed(text: &'static str) -> Error {
    Error::Generic { store: "faulty", source: text.into() }
}

#[async_trait]
impl ObjectStore for FaultyStore {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        let fault = if options.mode == PutMode::Create { self.fault() } else { None };
        let Some(fault) = fault else {
            let is_commit = options.mode == PutMode::Create;
            let put = self.inner.put_opts(location, payload, options).await?;
            if is_commit {
                self.committed(location);
            }
            return Ok(put);
        };
        if fault == Fault::Refused {
            *self.seen.lock().expect("nobody panicked").entry("refused").or_default() += 1;
            return Err(failed("503 Slow Down"));
        }
        // A race that was really lost stays lost.
        self.inner.put_opts(location, payload, options).await?;
        let name = if fault == Fault::AppliedThenConflict { "conflict" } else { "applied" };
        *self.seen.lock().expect("nobody panicked").entry(name).or_default() += 1;
        Err(match fault {
            Fault::AppliedThenConflict => {
                Error::AlreadyExists { path: location.to_string(), source: "412 Precondition Failed".into() }
            }
            Fault::AppliedThenUnavailable => failed("503 Service Unavailable"),
            Fault::AppliedThenReset => failed("connection reset by peer"),
            Fault::AppliedThenTimeout | Fault::Refused => failed("operation timed out"),
        })
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.inner.get_opts(location, options).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        use futures::{StreamExt as _, TryStreamExt as _};
        let locations: Vec<Result<Path>> = futures::executor::block_on(locations.collect());
        let named = locations.iter().flatten().map(ToString::to_string);
        self.deleted.lock().expect("nobody panicked").extend(named);
        self.inner.delete_stream(futures::stream::iter(locations).into_stream().boxed())
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

/// All stores, by the host of their URL.
static STORES: LazyLock<Mutex<HashMap<String, Arc<FaultyStore>>>> = LazyLock::new(Mutex::default);

struct Factory;

impl ObjectStoreFactory for Factory {
    fn parse_url_opts(&self, url: &Url, _: &StorageConfig) -> DeltaResult<(ObjectStoreRef, Path)> {
        let stores = STORES.lock().expect("nobody panicked");
        let store = Arc::clone(&stores[url.host_str().expect("it has a host")]);
        Ok((store, Path::parse(url.path())?))
    }
}

impl LogStoreFactory for Factory {
    fn with_options(
        &self,
        prefixed: ObjectStoreRef,
        root: ObjectStoreRef,
        location: &Url,
        options: &StorageConfig,
    ) -> DeltaResult<Arc<dyn LogStore>> {
        Ok(default_logstore(prefixed, root, location, options))
    }
}

/// A history in a store of that name.
fn faulty(name: &str, seed: u64) -> (Arc<FaultyStore>, History) {
    let scheme = Url::parse("faulty://").expect("a URL");
    object_store_factories().insert(scheme.clone(), Arc::new(Factory));
    logstore_factories().insert(scheme, Arc::new(Factory));
    let store = Arc::new(FaultyStore {
        inner: InMemory::new(),
        plan: Mutex::new(Plan { next: Vec::new(), share: 0.0, random: StdRng::seed_from_u64(seed) }),
        seen: Mutex::default(),
        deleted: Mutex::default(),
        then: Mutex::default(),
    });
    STORES.lock().expect("nobody panicked").insert(name.to_owned(), Arc::clone(&store));
    (store, open(name))
}

/// The history in a store that is there.
fn open(name: &str) -> History {
    let url = Url::parse(&format!("faulty://{name}/")).expect("a URL");
    History::new(StoreUrl::of_engine(url), "acme/shop")
}

/// The options of `maintain` if attempts of the last ten days are kept, or all.
fn maintenance(is_expiring: bool) -> MaintainOptions {
    let today = NaiveDate::from_ymd_opt(2290, 1, 1).expect("a date");
    let expire_attempts = is_expiring.then_some(Expiry { days: 10, today });
    MaintainOptions { dry_run: false, keep: Duration::from_hours(1), expire: None, expire_attempts }
}

/// How many attempts a history of one test knows.
fn attempts(history: &History) -> u64 {
    let Ok(Matches::One(shown)) = history.show("test_a", 1) else { panic!("there is one test") };
    shown.attempts
}

fn append_days(history: &History, name: &str, days: &[u32]) {
    for day in days {
        let batch = BatchBuilder::new(&format!("{name}-{day}"), "c", 24 * i64::from(*day));
        history.append(&[batch.attempt("test_a", Passed).build()]).expect("no fault");
    }
}

/// The most rounds with one store: each adds to a log that the next one reads.
const ROUNDS_PER_STORE: u32 = 50;

/// How many rounds to run with each of how many stores.
fn stores() -> Vec<u32> {
    let rounds =
        std::env::var("FLAKEWISE_FAULT_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(30);
    (0..rounds).step_by(ROUNDS_PER_STORE as usize).map(|done| (rounds - done).min(ROUNDS_PER_STORE)).collect()
}

/// The reports of all attempts. It reads every file that the log names, and so
/// fails if one is missing.
fn reports(history: &History) -> Vec<String> {
    let rows = history.sql("SELECT report, failure_message FROM attempts ORDER BY report", usize::MAX);
    let rows = rows.expect("every file that the log names is there");
    let text = |row: &Vec<Value>| match &row[0] {
        Value::Text(text) => text.clone(),
        other => panic!("not a text: {other:?}"),
    };
    rows.rows.iter().map(text).collect()
}

/// Prints what `bench/faults` shows.
#[expect(clippy::print_stdout, reason = "bench/faults reads it")]
fn say(text: &str) {
    println!("{text}");
}

fn batch(number: u32) -> flakewise_model::Batch {
    BatchBuilder::new(&format!("r{number:06}"), "c", 0).attempt("test_a", Passed).build()
}

#[test]
fn an_append_whose_commit_was_applied_unseen_is_there_once() {
    let mut seen = BTreeMap::new();
    for (number, rounds) in stores().into_iter().enumerate() {
        let (store, history) = faulty(&format!("append{number}"), 1700 + number as u64);
        history.append(&[batch(0)]).expect("no fault yet");
        store.set_share(0.5);
        let (mut acknowledged, mut waiting) = (1, Vec::new());
        for round in 1..=rounds {
            // What was not acknowledged is sent again, with what is new.
            waiting.push(batch(round));
            if let Ok(appended) = history.append(&waiting) {
                assert_eq!(appended.reports_added + appended.reports_known, waiting.len());
                acknowledged += waiting.len();
                waiting.clear();
            }
            if round % 25 == 0 || round == rounds {
                let found = reports(&history);
                let distinct: BTreeSet<&String> = found.iter().collect();
                let place = format!("in store {number} after round {round}");
                assert_eq!(found.len(), distinct.len(), "nothing is there twice {place}");
                assert!(distinct.len() >= acknowledged, "nothing acknowledged is lost {place}");
            }
        }
        store.set_share(0.0);
        history.append(&waiting).expect("no fault any more");
        assert_eq!(reports(&history).len(), rounds as usize + 1);
        store.check(&mut seen);
    }
    assert!(seen["conflict"] > 0 && seen["applied"] > 0 && seen["refused"] > 0, "{seen:?}");
    say(&format!("append: faults {seen:?}"));
}

#[test]
fn a_merge_whose_commit_was_applied_unseen_loses_nothing() {
    let mut seen = BTreeMap::new();
    for (number, rounds) in stores().into_iter().enumerate() {
        let (store, history) = faulty(&format!("maintain{number}"), 1800 + number as u64);
        let options = maintenance(false);
        let mut next = 0;
        for round in 1..=rounds {
            store.set_share(0.0);
            history.append(&[batch(next)]).expect("no fault");
            history.append(&[batch(next + 1)]).expect("no fault");
            next += 2;
            store.set_share(0.5);
            // It may fail; then it is done another time.
            let _ = history.maintain(&options, &|_, _, _| {});
            if round % 10 == 0 || round == rounds {
                store.set_share(0.0);
                let found = reports(&history);
                let distinct: BTreeSet<&String> = found.iter().collect();
                let place = format!("in store {number} after round {round}");
                assert_eq!((found.len(), distinct.len()), (next as usize, next as usize), "{place}");
            }
        }
        store.check(&mut seen);
    }
    assert!(seen["conflict"] > 0 && seen["applied"] > 0, "{seen:?}");
    say(&format!("maintain: faults {seen:?}"));
}

#[test]
fn attempts_whose_expiry_was_applied_unseen_are_still_counted() {
    let mut seen = BTreeMap::new();
    for (number, rounds) in stores().into_iter().enumerate() {
        let (store, history) = faulty(&format!("expire{number}"), 1900 + number as u64);
        let options = maintenance(true);
        for round in 1..=rounds {
            store.set_share(0.0);
            // One comes to a new span of days, one late.
            append_days(&history, "new", &[33 * round]);
            append_days(&history, "late", &[7 * round]);
            store.set_share(0.5);
            // It may fail; then it is done another time.
            let _ = history.maintain(&options, &|_, _, _| {});
            store.set_share(0.0);
            assert_eq!(attempts(&history), 2 * u64::from(round), "in store {number} after round {round}");
        }
        history.maintain(&options, &|_, _, _| {}).expect("no fault any more");
        assert_eq!(attempts(&history), 2 * u64::from(rounds));
        let left = reports(&history).len() as u64;
        // What came late to days that had expired, and what is recent.
        assert!(left <= u64::from(rounds) + 2, "{left} of {} attempts are left", 2 * rounds);
        store.check(&mut seen);
    }
    assert!(seen["conflict"] > 0 && seen["applied"] > 0, "{seen:?}");
    say(&format!("expire: faults {seen:?}"));
}

/// Days of four spans that share a roll-up.
const SPANS: [u32; 4] = [5, 40, 70, 200];

#[test]
fn what_expires_between_two_roll_ups_is_counted_once() {
    let (store, history) = faulty("between", 21);
    append_days(&history, "first", &SPANS);
    history.maintain(&maintenance(false), &|_, _, _| {}).expect("no fault");
    append_days(&history, "late", &SPANS);
    // Another process makes all roll-ups and expires attempts, when this one has made the first.
    store.after_commit("test_days", || {
        open("between").maintain(&maintenance(true), &|_, _, _| {}).expect("no fault");
    });
    let summaries = history.maintain(&maintenance(false), &|_, _, _| {}).expect("no fault");
    assert_eq!(attempts(&history), 8);
    assert!(summaries.iter().any(|summary| summary.days_left_to_others > 0), "{summaries:?}");
    assert_eq!(reports(&history).len(), 2, "the newest day is left");
}

#[test]
fn all_roll_ups_that_were_sealed_in_vain_are_made_at_once() {
    let (store, history) = faulty("sealed", 22);
    append_days(&history, "first", &SPANS);
    history.maintain(&maintenance(false), &|_, _, _| {}).expect("no fault");
    // Roll-ups are sealed. Then the attempts are merged elsewhere, so that they do not expire.
    store.after_commit("test_days", || {
        append_days(&open("sealed"), "new", &[200]);
        open("sealed").maintain(&maintenance(false), &|_, _, _| {}).expect("no fault");
    });
    history.maintain(&maintenance(true), &|_, _, _| {}).expect("no fault");
    assert_eq!(reports(&history).len(), 5, "nothing has expired");
    append_days(&history, "late", &SPANS[..3]);
    let summaries = history.maintain(&maintenance(true), &|_, _, _| {}).expect("no fault");
    assert!(summaries.iter().all(|summary| summary.days_left_to_others == 0), "{summaries:?}");
    assert_eq!((attempts(&history), reports(&history).len()), (8, 2));
}

#[test]
fn reports_that_a_lost_answer_hides_count_as_added() {
    let (store, history) = faulty("counted", 19);
    history.append(&[batch(0)]).expect("no fault yet");
    // In `runs`, then in `attempts`.
    store.plan.lock().expect("nobody panicked").next = vec![Fault::AppliedThenConflict; 2];
    let appended = history.append(&[batch(1)]).expect("a conflict with oneself is none");
    assert_eq!((appended.reports_added, appended.reports_known), (1, 0));
    assert_eq!(store.seen.lock().expect("nobody panicked")["conflict"], 2);
    assert_eq!(reports(&history).len(), 2);
}
