//! What is known of the labels around a test.

use flakewise_model::TestId;

use crate::Familiarity;
use crate::codec::{Damage, Reader, Writer};
use crate::features::{Features, hash, hash_numbers};
use crate::words::HashTable;

/// The test and what it belongs to, by hash. Packages and classes of one name
/// in two projects are two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keys {
    pub(crate) test: u64,
    pub(crate) class: u64,
    pub(crate) package: u64,
    pub(crate) project: u64,
}

impl Keys {
    /// The keys of a test of a project.
    pub fn new(project: &str, id: &TestId, features: &Features) -> Self {
        Self {
            test: hash(&[project, id.as_str()]),
            class: hash_numbers(&[hash(&["class", project]), features.class]),
            package: hash_numbers(&[hash(&["package", project]), features.package]),
            project: hash(&["project", project]),
        }
    }

    pub(crate) fn write(&self, writer: &mut Writer) {
        for key in [self.test, self.class, self.package, self.project] {
            writer.fixed(key);
        }
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, Damage> {
        Ok(Self {
            test: reader.fixed()?,
            class: reader.fixed()?,
            package: reader.fixed()?,
            project: reader.fixed()?,
        })
    }

    /// What has to be left out together to see how good a model is on tests
    /// that are this familiar.
    pub(crate) fn group(&self, familiarity: Familiarity) -> u64 {
        match familiarity {
            Familiarity::KnownClass => self.test,
            Familiarity::KnownProject => self.class,
            Familiarity::NewProject => self.project,
        }
    }
}

/// So many tests whose label is known, and how many of them are flaky.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) known: u32,
    pub(crate) flaky: u32,
}

/// Labels counted by test, class, package and project.
#[derive(Clone, Debug, Default)]
pub(crate) struct Past {
    tallies: HashTable<Tally>,
    total: Tally,
}

impl Past {
    pub(crate) fn count(labels: impl Iterator<Item = (Keys, bool)>) -> Self {
        let mut past = Self::default();
        for (keys, flaky) in labels {
            for key in [keys.test, keys.class, keys.package, keys.project] {
                add(past.tallies.entry(key).or_default(), flaky);
            }
            add(&mut past.total, flaky);
        }
        past
    }

    pub(crate) fn tally(&self, key: u64) -> Tally {
        self.tallies.get(&key).copied().unwrap_or_default()
    }

    pub(crate) fn total(&self) -> Tally {
        self.total
    }

    /// How familiar a test is.
    pub(crate) fn familiarity(&self, keys: &Keys) -> Familiarity {
        let own = self.tally(keys.test).known;
        if self.tally(keys.class).known > own {
            Familiarity::KnownClass
        } else if self.tally(keys.project).known > own {
            Familiarity::KnownProject
        } else {
            Familiarity::NewProject
        }
    }

    /// For each of what the test belongs to, the logarithm of the odds of being
    /// flaky there and of how many are known, itself not counted.
    pub(crate) fn odds(&self, keys: &Keys, familiarity: Familiarity) -> Vec<f32> {
        let own = self.tally(keys.test);
        let places: &[u64] = match familiarity {
            Familiarity::KnownClass => &[keys.class, keys.package, keys.project],
            Familiarity::KnownProject => &[keys.package, keys.project],
            Familiarity::NewProject => &[],
        };
        places.iter().flat_map(|&key| self.odds_without(self.tally(key), own)).collect()
    }

    /// The rate of all tests counts as much as three tests of the place.
    #[expect(clippy::cast_possible_truncation, reason = "columns have single precision")]
    fn odds_without(&self, all: Tally, own: Tally) -> [f32; 2] {
        const PRIOR: f64 = 3.0;
        let rate = f64::from(self.total.flaky.max(1)) / f64::from(self.total.known.max(2));
        let known = f64::from(all.known.saturating_sub(own.known));
        let flaky = f64::from(all.flaky.saturating_sub(own.flaky));
        let share = ((flaky + PRIOR * rate) / (known + PRIOR)).min(1.0 - f64::EPSILON);
        [(share / (1.0 - share)).ln() as f32, known.ln_1p() as f32]
    }

    pub(crate) fn write(&self, writer: &mut Writer) {
        let mut keys: Vec<_> = self.tallies.iter().collect();
        keys.sort_unstable_by_key(|(key, _)| **key);
        writer.rising(keys.iter().map(|(key, _)| **key));
        for (_, tally) in keys {
            writer.number(u64::from(tally.known));
            writer.number(u64::from(tally.flaky));
        }
        writer.number(u64::from(self.total.known));
        writer.number(u64::from(self.total.flaky));
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, Damage> {
        let keys = reader.rising()?;
        let mut past = Self::default();
        for key in keys {
            past.tallies.insert(key, read_tally(reader)?);
        }
        past.total = read_tally(reader)?;
        Ok(past)
    }
}

fn add(tally: &mut Tally, flaky: bool) {
    tally.known += 1;
    tally.flaky += u32::from(flaky);
}

fn read_tally(reader: &mut Reader<'_>) -> Result<Tally, Damage> {
    let tally = Tally { known: reader.small()?, flaky: reader.small()? };
    if tally.flaky > tally.known { Err("more are flaky than known") } else { Ok(tally) }
}
