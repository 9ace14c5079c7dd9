//! Sequences of different lengths as matrices without padding.

use std::ops::Range;

use super::Bag;
use crate::random::Random;

/// Bags in time-major order. Sequences are sorted by length, longest first; the
/// rows of all first items come first, then those of all second items, and so on.
#[derive(Debug, Default)]
pub(super) struct Packed {
    /// The tokens of all halves of items.
    pub(super) tokens: Vec<u32>,
    /// The range of `tokens` of each half of each item.
    pub(super) halves: Vec<[Range<usize>; 2]>,
    /// The item of each row.
    pub(super) items: Vec<u32>,
    /// The rows of each time step.
    pub(super) places: Vec<Range<usize>>,
    /// The last row of each sequence.
    pub(super) last: Vec<usize>,
    /// The sequences of each bag, in the order of the bag.
    pub(super) bags: Vec<Vec<usize>>,
    /// Which sequences of each bag were sampled.
    sequences: Vec<Vec<usize>>,
}

impl Packed {
    /// All sequences of the bags.
    pub(super) fn whole<'a>(bags: impl Iterator<Item = &'a Bag>) -> Self {
        let all = |bag: &Bag| (0..bag.sequences.len()).collect();
        Self::new(bags.map(|bag| (bag, all(bag))), |_| true)
    }

    /// A random sample of the sequences and tokens of each bag.
    pub(super) fn drawn<'a>(
        bags: impl Iterator<Item = &'a Bag>,
        sequences: usize,
        dropout: f64,
        random: &mut Random,
    ) -> Self {
        let chosen: Vec<(&Bag, Vec<usize>)> = bags
            .map(|bag| (bag, random.choose(sequences.min(bag.sequences.len()), bag.sequences.len())))
            .collect();
        Self::new(chosen.into_iter(), |_| random.unit() >= dropout)
    }

    fn new<'a>(bags: impl Iterator<Item = (&'a Bag, Vec<usize>)>, mut keep: impl FnMut(u32) -> bool) -> Self {
        let mut packed = Self::default();
        // Each sequence as items of this pack, with its bag and its index there.
        let mut sequences: Vec<(Vec<u32>, usize, usize)> = Vec::new();
        for (number, (bag, chosen)) in bags.enumerate() {
            let mut item_of: Vec<Option<u32>> = vec![None; bag.items.len()];
            let mut taken = Vec::new();
            for sequence in chosen {
                let items: Vec<u32> = bag.sequences[sequence]
                    .iter()
                    .map(|&item| {
                        *item_of[item as usize]
                            .get_or_insert_with(|| packed.add(&bag.items[item as usize], &mut keep))
                    })
                    .collect();
                if !items.is_empty() {
                    taken.push(sequence);
                    sequences.push((items, number, taken.len() - 1));
                }
            }
            packed.bags.push(vec![0; taken.len()]);
            packed.sequences.push(taken);
        }
        sequences.sort_by_key(|(items, ..)| std::cmp::Reverse(items.len()));
        packed.last = vec![0; sequences.len()];
        for place in 0..sequences.first().map_or(0, |(items, ..)| items.len()) {
            let start = packed.items.len();
            for (at, (items, ..)) in
                sequences.iter().enumerate().take_while(|(_, (items, ..))| items.len() > place)
            {
                packed.last[at] = packed.items.len();
                packed.items.push(items[place]);
            }
            packed.places.push(start..packed.items.len());
        }
        for (at, (_, bag, place)) in sequences.iter().enumerate() {
            packed.bags[*bag][*place] = at;
        }
        packed
    }

    fn add(&mut self, halves: &[Vec<u32>; 2], keep: &mut impl FnMut(u32) -> bool) -> u32 {
        let ranges = halves.each_ref().map(|tokens| {
            let start = self.tokens.len();
            self.tokens.extend(tokens.iter().copied().filter(|&token| keep(token)));
            start..self.tokens.len()
        });
        self.halves.push(ranges);
        u32::try_from(self.halves.len() - 1).expect("a part of a batch has few items")
    }

    /// The indices of the sampled sequences of a bag.
    pub(super) fn taken(&self, bag: usize) -> &[usize] {
        &self.sequences[bag]
    }
}
