//! Classes and what they inherit from.

use crate::limits::BASE_CLASSES;

/// A class and those of its bases that are in the file, nearest first. A class
/// that is its own base ends there.
pub(crate) fn lineage<Bases: Iterator<Item = usize>>(
    class: usize,
    bases: impl Fn(usize) -> Bases,
) -> Vec<usize> {
    let mut lineage = vec![class];
    let mut next = 0;
    while next < lineage.len() {
        for base in bases(lineage[next]) {
            if lineage.len() < BASE_CLASSES && !lineage.contains(&base) {
                lineage.push(base);
            }
        }
        next += 1;
    }
    lineage
}
