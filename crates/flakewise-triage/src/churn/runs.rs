//! The lines of a file with the commits that changed them.

use crate::change::patch::Hunk;

/// Which commits changed each line of a file, one bit each. Lines that follow each
/// other and have the same commits are one run. Nobody says how long a file is: the
/// last run continues without end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Runs(Vec<Run>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    first: u64,
    commits: u128,
}

impl Runs {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// How often lines changed, summed over the lines.
    pub(super) fn changes(&self, first: u32, last: u32) -> u64 {
        let (mut sum, end) = (0_u64, u64::from(last) + 1);
        self.within(u64::from(first), end, |from, to, commits| {
            sum = sum.saturating_add((to - from) * u64::from(commits.count_ones()));
        });
        sum
    }

    /// The runs of the file after a commit. A line of a hunk was changed by it and
    /// by whatever changed any line that the hunk replaces.
    pub(super) fn after(&self, hunks: &[Hunk], commit: u128) -> Self {
        let mut new = Self::default();
        // Where we are, before and after; lines between hunks only move.
        let (mut before, mut after) = (1, 1);
        for hunk in hunks {
            // Without lines of its own, a hunk names the line before it.
            let place = hunk.old_start + u64::from(hunk.removed == 0);
            if place < before {
                continue;
            }
            self.within(before, place, |from, _, commits| new.push(after + (from - before), commits));
            after += place - before;
            before = place + hunk.removed;
            if hunk.added > 0 {
                let mut commits = commit;
                self.within(place, before, |_, _, replaced| commits |= replaced);
                new.push(after, commits);
                after += hunk.added;
            }
        }
        self.within(before, u64::MAX, |from, _, commits| new.push(after + (from - before), commits));
        new
    }

    /// The parts of runs between two lines, the second excluded.
    fn within(&self, first: u64, end: u64, mut found: impl FnMut(u64, u64, u128)) {
        let mut place = self.0.partition_point(|run| run.first <= first);
        let mut commits = place.checked_sub(1).map_or(0, |before| self.0[before].commits);
        let mut from = first;
        while from < end {
            let next = self.0.get(place);
            let to = next.map_or(end, |run| run.first.min(end));
            found(from, to, commits);
            commits = next.map_or(0, |run| run.commits);
            (from, place) = (to, place + 1);
        }
    }

    fn push(&mut self, first: u64, commits: u128) {
        let last = self.0.last().map_or(0, |run| run.commits);
        if last != commits {
            self.0.push(Run { first, commits });
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A hunk as it is drawn: lines kept before it, removed and added ones.
    type Edit = (usize, usize, usize);

    /// The obvious way: a vector with one entry per line.
    fn by_hand(lines: &[u128], edits: &[Edit], commit: u128) -> (Vec<u128>, Vec<Hunk>) {
        let (mut new, mut hunks, mut at) = (Vec::new(), Vec::new(), 0);
        for &(kept, removed, added) in edits {
            let place = at + kept;
            let end = place + removed;
            if end > lines.len() || (removed == 0 && added == 0) || (kept == 0 && at > 0) {
                continue;
            }
            new.extend(&lines[at..place]);
            let replaced = lines[place..end].iter().fold(commit, |all, one| all | one);
            new.extend(std::iter::repeat_n(replaced, added));
            hunks.push(Hunk {
                old_start: (place + usize::from(removed > 0)) as u64,
                removed: removed as u64,
                start: 0,
                added: added as u64,
            });
            at = end;
        }
        new.extend(&lines[at..]);
        (new, hunks)
    }

    proptest! {
        #[test]
        fn runs_equal_one_entry_per_line(
            length in 0_usize..30,
            commits in prop::collection::vec(prop::collection::vec((0_usize..6, 0_usize..4, 0_usize..4), 0..5), 1..20),
        ) {
            let (mut lines, mut runs) = (vec![0_u128; length], Runs::default());
            for (number, edits) in commits.iter().enumerate() {
                let commit = 1 << number;
                let (new, hunks) = by_hand(&lines, edits, commit);
                runs = runs.after(&hunks, commit);
                lines = new;
                for (line, commits) in (1_u32..).zip(&lines) {
                    prop_assert_eq!(runs.changes(line, line), u64::from(commits.count_ones()));
                }
                let all: u64 = lines.iter().map(|commits| u64::from(commits.count_ones())).sum();
                prop_assert_eq!(runs.changes(1, u32::try_from(lines.len()).expect("short")), all);
                prop_assert_eq!(runs.changes(1, u32::MAX), all, "nothing changed after the last line");
                prop_assert!(runs.0.windows(2).all(|pair| pair[0].first < pair[1].first));
            }
        }
    }
}
