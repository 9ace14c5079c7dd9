//! The runs of a history: which code each of them ran, and when.

use std::hash::BuildHasher as _;
use std::sync::Arc;

use deltalake::arrow::array::AsArray as _;
use deltalake::arrow::datatypes::DataType;
use deltalake::datafusion::prelude::SessionContext;
use flakewise_model::Timestamp;
use hashbrown::{DefaultHashBuilder, HashMap, HashSet, HashTable};

use crate::HistoryError;
use crate::flaky::MINIMUM_OUTAGE_TESTS;
use crate::report::{Columns, collect};

/// One run on one revision of the code, in one variant and on one branch. Mostly that is
/// the whole run.
pub(crate) struct Context {
    pub(crate) run: Arc<str>,
    pub(crate) variant: Arc<str>,
    pub(crate) branch: Option<Arc<str>>,
    commit: Option<Arc<str>>,
    dirty: bool,
    /// When its first attempt began.
    pub(crate) started: Timestamp,
    /// Contexts of one revision, variant and branch have the same number.
    pub(crate) revision: u32,
    /// Runs that prove nothing.
    pub(crate) is_outage: bool,
}

impl Context {
    fn row(&self) -> RunRow<'_> {
        RunRow {
            run: &self.run,
            variant: &self.variant,
            commit: self.commit.as_deref(),
            dirty: self.dirty,
            branch: self.branch.as_deref(),
        }
    }

    /// The commit, if it says which code ran.
    pub(crate) fn revision_commit(&self) -> Option<&Arc<str>> {
        self.commit.as_ref().filter(|_| !self.dirty)
    }

    /// The run, where the commit does not say which code ran.
    pub(crate) fn revision_run(&self) -> Option<&Arc<str>> {
        (self.dirty || self.commit.is_none()).then_some(&self.run)
    }
}

/// All runs of a history.
#[derive(Default)]
pub(crate) struct Contexts {
    all: Vec<Context>,
    /// Their places in `all`, by what rows say of them.
    places: HashTable<u32>,
    hasher: DefaultHashBuilder,
    revisions: HashMap<[usize; 4], u32>,
    outages: HashSet<Arc<str>>,
    labels: Labels,
}

impl Contexts {
    /// Reads them from the small table, the oldest first, so that what is sorted by number hardly
    /// needs sorting by time.
    pub(crate) async fn load(session: &SessionContext) -> Result<Self, HistoryError> {
        let query = "SELECT run, variant, commit, dirty, branch, min(started_at) AS started,
                            sum(tests) AS tests, sum(tests_failed) AS failed
                     FROM reports GROUP BY run, variant, commit, dirty, branch ORDER BY started";
        let mut contexts = Self::default();
        let mut totals: HashMap<Arc<str>, (u64, u64)> = HashMap::new();
        for batch in collect(session, query).await? {
            let columns = Columns(&batch);
            let places = RunColumns::new(&columns)?;
            let (tests, failed) = (columns.counts("tests")?, columns.counts("failed")?);
            for (row, started) in columns.times("started")?.into_iter().enumerate() {
                let place = contexts.add(&places.at(row), started);
                let total = totals.entry(Arc::clone(&contexts.all[place as usize].run)).or_default();
                total.0 += tests[row];
                total.1 += failed[row];
            }
        }
        // As in the view `runs`.
        let is_outage = |(tests, failed): (u64, u64)| tests >= MINIMUM_OUTAGE_TESTS && 2 * failed > tests;
        contexts.outages =
            totals.into_iter().filter(|(_, total)| is_outage(*total)).map(|(run, _)| run).collect();
        for context in &mut contexts.all {
            context.is_outage = contexts.outages.contains(&context.run);
        }
        Ok(contexts)
    }

    /// The runs that prove nothing.
    pub(crate) fn outages(&self) -> Vec<&str> {
        let mut outages: Vec<&str> = self.outages.iter().map(AsRef::as_ref).collect();
        outages.sort_unstable();
        outages
    }

    pub(crate) fn is_outage(&self, run: &str) -> bool {
        self.outages.contains(run)
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn get(&self, place: u32) -> &Context {
        &self.all[place as usize]
    }

    pub(crate) fn label(&mut self, text: &str) -> Arc<str> {
        self.labels.one(text)
    }

    /// The context of a row.
    pub(crate) fn find(&mut self, row: &RunRow<'_>) -> u32 {
        let known =
            self.places.find(self.hasher.hash_one(row), |place| self.all[*place as usize].row() == *row);
        // Writers say which runs there are before they add attempts; others may not.
        known.copied().unwrap_or_else(|| self.add(row, Timestamp::default()))
    }

    fn add(&mut self, row: &RunRow<'_>, started: Timestamp) -> u32 {
        let place = u32::try_from(self.all.len()).expect("a history has fewer than 2^32 runs");
        let mut context = Context {
            run: self.labels.one(row.run),
            variant: self.labels.one(row.variant),
            branch: row.branch.map(|text| self.labels.one(text)),
            commit: row.commit.map(|text| self.labels.one(text)),
            dirty: row.dirty,
            started,
            revision: 0,
            is_outage: self.outages.contains(row.run),
        };
        // Equal labels are the same label.
        let address = |text: Option<&Arc<str>>| text.map_or(0, |text| text.as_ptr().addr());
        let key = [
            address(Some(&context.variant)),
            address(context.branch.as_ref()),
            address(context.revision_commit()),
            address(context.revision_run()),
        ];
        let next = u32::try_from(self.revisions.len()).expect("no more than there are runs");
        context.revision = *self.revisions.entry(key).or_insert(next);
        self.all.push(context);
        let hash_of = |place: &u32| self.hasher.hash_one(self.all[*place as usize].row());
        self.places.insert_unique(hash_of(&place), place, hash_of);
        place
    }
}

/// What a row says of its run.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct RunRow<'a> {
    pub(crate) run: &'a str,
    pub(crate) variant: &'a str,
    pub(crate) commit: Option<&'a str>,
    pub(crate) dirty: bool,
    pub(crate) branch: Option<&'a str>,
}

/// The columns that say so.
pub(crate) struct RunColumns {
    run: TextColumn,
    variant: TextColumn,
    commit: TextColumn,
    dirty: Vec<bool>,
    branch: TextColumn,
}

impl RunColumns {
    pub(crate) fn new(columns: &Columns<'_>) -> Result<Self, HistoryError> {
        Ok(Self {
            run: TextColumn::new(columns, "run")?,
            variant: TextColumn::new(columns, "variant")?,
            commit: TextColumn::new(columns, "commit")?,
            dirty: columns.flags("dirty")?,
            branch: TextColumn::new(columns, "branch")?,
        })
    }

    pub(crate) fn at(&self, row: usize) -> RunRow<'_> {
        RunRow {
            run: self.run.at(row).unwrap_or_default(),
            variant: self.variant.at(row).unwrap_or_default(),
            commit: self.commit.at(row),
            dirty: self.dirty[row],
            branch: self.branch.at(row),
        }
    }
}

/// A column of texts. The engine's columns mostly are views, of which none is copied.
pub(crate) struct TextColumn(deltalake::arrow::array::ArrayRef);

impl TextColumn {
    pub(crate) fn new(columns: &Columns<'_>, name: &str) -> Result<Self, HistoryError> {
        Ok(Self(columns.get(name, &DataType::Utf8View)?))
    }

    pub(crate) fn at(&self, row: usize) -> Option<&str> {
        self.0.is_valid(row).then(|| self.0.as_string_view().value(row))
    }
}

/// Texts that many rows share, each kept once.
#[derive(Default)]
struct Labels(HashSet<Arc<str>>);

impl Labels {
    fn one(&mut self, text: &str) -> Arc<str> {
        Arc::clone(self.0.get_or_insert_with(text, |text| Arc::from(text)))
    }
}
