//! What is held out, and what is trained on.

use std::collections::BTreeMap;

use flakewise_learn::{Fold, leave_one_group_out, stratified_folds, stratified_group_folds};
use flakewise_predict::Familiarity;

use crate::Record;

/// A way to hold tests out. Each says what a model is worth to somebody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// Tests at random, as papers do it: near-copies and other tests of the
    /// same class are trained on.
    Random,
    /// Whole classes: what a model says about a new class of a known project.
    Class,
    /// Whole projects: what a model says on the first day.
    Project,
}

impl Protocol {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Random, Self::Class, Self::Project];

    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Class => "class",
            Self::Project => "project",
        }
    }

    /// How familiar a held-out test is to a model.
    pub(crate) fn familiarity(self) -> Familiarity {
        match self {
            Self::Random => Familiarity::KnownClass,
            Self::Class => Familiarity::KnownProject,
            Self::Project => Familiarity::NewProject,
        }
    }

    /// What it is, for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::Random => "random stratified folds",
            Self::Class => "folds grouped by class",
            Self::Project => "one project left out",
        }
    }
}

/// By what tests are held out together.
#[derive(Clone, Debug)]
pub(crate) struct Groups {
    labels: Vec<bool>,
    classes: Vec<u32>,
    projects: Vec<u32>,
    /// The groups of projects the data set gives, or the projects.
    held_out: Vec<u32>,
}

impl Groups {
    pub(crate) fn new(records: &[Record]) -> Self {
        Self {
            labels: records.iter().map(|record| record.flaky).collect(),
            classes: numbered(records.iter().map(|record| (&record.project, &record.class))),
            projects: numbered(records.iter().map(|record| &record.project)),
            held_out: numbered(records.iter().map(|record| match &record.group {
                Some(group) => (true, group),
                None => (false, &record.project),
            })),
        }
    }

    /// The class of every test, as a number.
    pub(crate) fn classes(&self) -> &[u32] {
        &self.classes
    }

    /// The project of every test, as a number.
    pub(crate) fn projects(&self) -> &[u32] {
        &self.projects
    }

    /// The folds of a protocol, the same for every model. None are given if
    /// there is nothing to tell apart.
    pub(crate) fn folds(&self, protocol: Protocol, folds: usize, seed: u64) -> Vec<Fold> {
        let folds = match protocol {
            Protocol::Random => stratified_folds(&self.labels, folds, seed),
            Protocol::Class => stratified_group_folds(&self.labels, &self.classes, folds, seed),
            Protocol::Project => leave_one_group_out(&self.held_out),
        };
        let usable = |fold: &Fold| !fold.test.is_empty() && fold.train.iter().any(|&row| self.labels[row]);
        if folds.len() < 2 { Vec::new() } else { folds.into_iter().filter(usable).collect() }
    }

    /// Folds within the rows to learn from, held out in the same way. There
    /// thresholds are chosen and probabilities calibrated.
    pub(crate) fn inner_folds(
        &self,
        rows: &[usize],
        protocol: Protocol,
        folds: usize,
        seed: u64,
    ) -> Vec<Fold> {
        let labels: Vec<bool> = rows.iter().map(|&row| self.labels[row]).collect();
        let of = |groups: &[u32]| rows.iter().map(|&row| groups[row]).collect::<Vec<u32>>();
        let inner = match protocol {
            Protocol::Random => stratified_folds(&labels, folds, seed),
            Protocol::Class => stratified_group_folds(&labels, &of(&self.classes), folds, seed),
            Protocol::Project => stratified_group_folds(&labels, &of(&self.held_out), folds, seed),
        };
        let outer = |inner: &[usize]| inner.iter().map(|&place| rows[place]).collect();
        inner
            .iter()
            .map(|fold| Fold { train: outer(&fold.train), test: outer(&fold.test) })
            .filter(|fold| !fold.test.is_empty())
            .collect()
    }
}

/// Keys as numbers, the same for the same.
pub(crate) fn numbered<K: Ord>(keys: impl Iterator<Item = K> + Clone) -> Vec<u32> {
    let mut numbers: BTreeMap<K, u32> = keys.clone().map(|key| (key, 0)).collect();
    for (next, number) in (0..).zip(numbers.values_mut()) {
        *number = next;
    }
    keys.map(|key| numbers[&key]).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn groups() -> Groups {
        let records: Vec<Record> = (0..240)
            .map(|row| Record {
                project: format!("p{}", row % 6),
                class: format!("C{}", row / 6 % 10),
                flaky: row % 7 == 0,
                ..Record::default()
            })
            .collect();
        Groups::new(&records)
    }

    #[test]
    fn what_is_held_out_together_is_never_learnt_from() {
        let groups = groups();
        for protocol in Protocol::ALL {
            let folds = groups.folds(protocol, 5, 1);
            assert_eq!(folds.len(), if protocol == Protocol::Project { 6 } else { 5 });
            let mut held_out: Vec<usize> = folds.iter().flat_map(|fold| fold.test.clone()).collect();
            held_out.sort_unstable();
            assert_eq!(held_out, (0..240).collect::<Vec<_>>());
            let key = match protocol {
                Protocol::Random => continue,
                Protocol::Class => &groups.classes,
                Protocol::Project => &groups.projects,
            };
            for fold in &folds {
                let of = |rows: &[usize]| rows.iter().map(|&row| key[row]).collect::<BTreeSet<_>>();
                assert!(of(&fold.train).is_disjoint(&of(&fold.test)));
                for inner in groups.inner_folds(&fold.train, protocol, 3, 1) {
                    assert!(of(&inner.train).is_disjoint(&of(&inner.test)));
                    assert!(inner.train.iter().chain(&inner.test).all(|row| fold.train.contains(row)));
                }
            }
        }
    }

    #[test]
    fn one_project_alone_cannot_be_left_out() {
        let records = vec![Record { flaky: true, ..Record::default() }, Record::default()];
        assert_eq!(Groups::new(&records).folds(Protocol::Project, 5, 1), []);
    }
}
