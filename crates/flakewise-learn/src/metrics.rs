//! How good scores are. Every definition is scikit-learn's, ties included.

use std::collections::BTreeMap;

/// What came of saying yes or no: counts of the four cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Confusion {
    /// Said yes, and it was.
    pub true_positives: u64,
    /// Said yes, and it was not.
    pub false_positives: u64,
    /// Said no, and it was.
    pub false_negatives: u64,
    /// Said no, and it was not.
    pub true_negatives: u64,
}

impl Confusion {
    /// Counts with yes said wherever a score reaches the threshold.
    pub fn at(scores: &[f64], labels: &[bool], threshold: f64) -> Self {
        let mut confusion = Self::default();
        for (&score, &label) in same_length(scores, labels) {
            confusion.count(score >= threshold, label);
        }
        confusion
    }

    /// Counts one more answer.
    pub fn count(&mut self, said: bool, label: bool) {
        *match (said, label) {
            (true, true) => &mut self.true_positives,
            (true, false) => &mut self.false_positives,
            (false, true) => &mut self.false_negatives,
            (false, false) => &mut self.true_negatives,
        } += 1;
    }

    /// Adds the counts of another part of the same evaluation.
    pub fn add(&mut self, other: Self) {
        self.true_positives += other.true_positives;
        self.false_positives += other.false_positives;
        self.false_negatives += other.false_negatives;
        self.true_negatives += other.true_negatives;
    }

    /// The share of yes that was right; 0 if yes was never said.
    pub fn precision(&self) -> f64 {
        ratio(self.true_positives, self.true_positives + self.false_positives)
    }

    /// The share of the positives that was found; 0 if there are none.
    pub fn recall(&self) -> f64 {
        ratio(self.true_positives, self.true_positives + self.false_negatives)
    }

    /// The harmonic mean of precision and recall.
    pub fn f1(&self) -> f64 {
        let twice = 2 * self.true_positives;
        ratio(twice, twice + self.false_positives + self.false_negatives)
    }

    /// Matthews' correlation of what was said with what was; 0 if either never varies.
    pub fn mcc(&self) -> f64 {
        let [tp, fp, fnn, tn] =
            [self.true_positives, self.false_positives, self.false_negatives, self.true_negatives]
                .map(|count| count as f64);
        let scale = ((tp + fp) * (tp + fnn) * (tn + fp) * (tn + fnn)).sqrt();
        if scale == 0.0 { 0.0 } else { (tp * tn - fp * fnn) / scale }
    }
}

/// The area under precision over recall, as steps; 0 without positives.
pub fn average_precision(scores: &[f64], labels: &[bool]) -> f64 {
    let positives = labels.iter().filter(|&&label| label).count() as u64;
    let mut sum = 0.0;
    let mut before = 0;
    for (_, confusion) in thresholds(scores, labels) {
        sum += (confusion.true_positives - before) as f64 * confusion.precision();
        before = confusion.true_positives;
    }
    if positives == 0 { 0.0 } else { sum / positives as f64 }
}

/// The chance that a positive scores above a negative, a tie counting half.
/// None if one of the classes is missing.
pub fn roc_auc(scores: &[f64], labels: &[bool]) -> Option<f64> {
    let mut area = 0.0;
    let mut before = Confusion::default();
    for (_, confusion) in thresholds(scores, labels) {
        let width = (confusion.false_positives - before.false_positives) as f64;
        area += width * (confusion.true_positives + before.true_positives) as f64 / 2.0;
        before = confusion;
    }
    let pairs = before.true_positives as f64 * before.false_positives as f64;
    (pairs > 0.0).then(|| area / pairs)
}

/// The mean squared distance of probabilities from what happened.
pub fn brier(probabilities: &[f64], labels: &[bool]) -> f64 {
    mean(same_length(probabilities, labels).map(|(&probability, &label)| {
        let distance = probability - f64::from(u8::from(label));
        distance * distance
    }))
}

/// The mean surprise, in nats, at what happened. A certainty that was wrong
/// costs as much as a probability of the smallest step above 0.
pub fn log_loss(probabilities: &[f64], labels: &[bool]) -> f64 {
    mean(same_length(probabilities, labels).map(|(&probability, &label)| {
        let given = if label { probability } else { 1.0 - probability };
        -given.max(f64::EPSILON).ln()
    }))
}

/// The threshold whose yes has the best F1, and its counts: the highest of
/// several that are equal. None without scores.
pub fn best_threshold(scores: &[f64], labels: &[bool]) -> Option<(f64, Confusion)> {
    let mut best: Option<(f64, Confusion)> = None;
    for candidate in thresholds(scores, labels) {
        if best.is_none_or(|(_, best)| candidate.1.f1() > best.f1()) {
            best = Some(candidate);
        }
    }
    best
}

/// Probabilities of about the same size, and how often it happened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReliabilityBin {
    /// How many probabilities fell into it.
    pub count: usize,
    /// Their mean.
    pub mean_probability: f64,
    /// The share of them where it happened.
    pub share_positive: f64,
    /// How many groups they are of.
    pub groups: usize,
    /// A 95 % interval of the share, with groups as its unit.
    pub interval: (f64, f64),
}

/// How the range of probabilities is cut into bins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bins {
    /// So many of the same width between 0 and 1.
    EqualWidth(usize),
    /// So many with about as many probabilities in each; equal ones stay together.
    EqualCount(usize),
}

/// Whether a probability of `p` happens in a share `p` of the cases. Empty
/// bins are left out. Rows of one group, such as the tests of a class, tend to
/// be alike, so intervals are of groups, not of rows.
pub fn reliability(
    probabilities: &[f64],
    labels: &[bool],
    groups: &[u32],
    bins: Bins,
) -> Vec<ReliabilityBin> {
    let inner_edges: Vec<f64> = match bins {
        Bins::EqualWidth(bins) => (1..bins).map(|edge| edge as f64 / bins as f64).collect(),
        Bins::EqualCount(bins) => {
            let mut sorted = probabilities.to_vec();
            sorted.sort_by(f64::total_cmp);
            if sorted.is_empty() {
                Vec::new()
            } else {
                (1..bins).map(|edge| quantile(&sorted, edge, bins)).collect()
            }
        }
    };
    let mut sums = vec![(0.0, BTreeMap::<u32, (f64, f64)>::new()); inner_edges.len() + 1];
    for ((&probability, &label), &group) in same_length(probabilities, labels).zip(groups) {
        let sum = &mut sums[inner_edges.partition_point(|&edge| edge < probability)];
        sum.0 += probability;
        let of_group = sum.1.entry(group).or_default();
        of_group.0 += 1.0;
        of_group.1 += f64::from(u8::from(label));
    }
    sums.into_iter()
        .filter(|(_, groups)| !groups.is_empty())
        .map(|(probability, groups)| {
            let all: f64 = groups.values().map(|(all, _)| all).sum();
            let share = groups.values().map(|(_, positive)| positive).sum::<f64>() / all;
            ReliabilityBin {
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a sum of ones")]
                count: all as usize,
                mean_probability: probability / all,
                share_positive: share,
                groups: groups.len(),
                interval: interval(share, all, groups.values()),
            }
        })
        .collect()
}

/// A 95 % interval of a share, from how far the groups are from it: the usual
/// one for a ratio of sums over clusters. One group alone says nothing.
fn interval<'a>(share: f64, all: f64, groups: impl ExactSizeIterator<Item = &'a (f64, f64)>) -> (f64, f64) {
    let count = groups.len() as f64;
    if count < 2.0 {
        return (0.0, 1.0);
    }
    let squares: f64 = groups.map(|(rows, positive)| (positive - share * rows).powi(2)).sum();
    let error = (count / (count - 1.0) * squares).sqrt() / all;
    ((share - 1.96 * error).max(0.0), (share + 1.96 * error).min(1.0))
}

/// Every threshold that changes an answer, falling, with the counts at it.
fn thresholds<'a>(scores: &'a [f64], labels: &'a [bool]) -> impl Iterator<Item = (f64, Confusion)> + 'a {
    assert_eq!(scores.len(), labels.len(), "a label for each score");
    assert!(!scores.iter().any(|score| score.is_nan()), "a score can be ranked");
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&left, &right| scores[right].total_cmp(&scores[left]));
    let positives = labels.iter().filter(|&&label| label).count() as u64;
    let mut confusion = Confusion {
        false_negatives: positives,
        true_negatives: labels.len() as u64 - positives,
        ..Confusion::default()
    };
    let mut next = 0;
    std::iter::from_fn(move || {
        let score = scores[*order.get(next)?];
        // Not the order of bits: 0 and -0 are a tie.
        while let Some(&row) = order.get(next)
            && scores[row] >= score
        {
            if labels[row] {
                confusion.true_positives += 1;
                confusion.false_negatives -= 1;
            } else {
                confusion.false_positives += 1;
                confusion.true_negatives -= 1;
            }
            next += 1;
        }
        Some((score, confusion))
    })
}

/// The value below which `part` of `parts` lie, interpolated.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in the slice")]
fn quantile(sorted: &[f64], part: usize, parts: usize) -> f64 {
    let place = part as f64 / parts as f64 * (sorted.len() - 1) as f64;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    sorted[below] + (sorted[above] - sorted[below]) * place.fract()
}

fn same_length<'a>(scores: &'a [f64], labels: &'a [bool]) -> impl Iterator<Item = (&'a f64, &'a bool)> {
    assert_eq!(scores.len(), labels.len(), "a label for each score");
    scores.iter().zip(labels)
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (count, sum) = values.fold((0_usize, 0.0), |(count, sum), value| (count + 1, sum + value));
    if count == 0 { 0.0 } else { sum / count as f64 }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sixty scores with ties, eighteen positive: what scikit-learn 1.9 was given.
    fn example() -> (Vec<f64>, Vec<bool>) {
        let mut state = 12345_u64;
        let mut draw = |below: u64| {
            state = (state * 1_103_515_245 + 12345) % (1 << 31);
            (state >> 16) % below
        };
        (0..60)
            .map(|_| {
                let (score, chance) = (draw(41) as f64, draw(40) as f64);
                (score / 40.0, chance < score * 0.6 + 2.0)
            })
            .unzip()
    }

    fn close(left: f64, right: f64) {
        assert!((left - right).abs() < 1e-12, "{left} is not {right}");
    }

    #[test]
    fn measures_are_those_of_scikit_learn() {
        let (scores, labels) = example();
        close(average_precision(&scores, &labels), 0.529_433_255_833_948_7);
        close(roc_auc(&scores, &labels).unwrap(), 0.764_550_264_550_264_5);
        close(brier(&scores, &labels), 0.223_812_5);
        close(log_loss(&scores, &labels), 0.687_417_870_947_323_3);
        let confusion = Confusion::at(&scores, &labels, 0.6);
        let expected =
            Confusion { true_positives: 14, false_positives: 12, false_negatives: 4, true_negatives: 30 };
        assert_eq!(confusion, expected);
        close(confusion.precision(), 0.538_461_538_461_538_4);
        close(confusion.recall(), 0.777_777_777_777_777_8);
        close(confusion.f1(), 0.636_363_636_363_636_4);
        close(confusion.mcc(), 0.455_046_637_567_579_4);
    }

    #[test]
    fn best_threshold_is_the_best_of_all() {
        let (scores, labels) = example();
        let (threshold, confusion) = best_threshold(&scores, &labels).unwrap();
        close(threshold, 0.65);
        close(confusion.f1(), 0.651_162_790_697_674_5);
        assert_eq!(confusion, Confusion::at(&scores, &labels, threshold));
        assert_eq!(best_threshold(&[], &[]), None);
    }

    #[test]
    fn intervals_of_reliability_are_of_groups() {
        // Two hundred rows at 0.9, of which nine in ten are positive.
        let scores = vec![0.9; 200];
        let bin = |group: &dyn Fn(usize) -> usize, positive: &dyn Fn(usize) -> bool| {
            let groups: Vec<u32> = (0..200).map(|row| u32::try_from(group(row)).unwrap()).collect();
            let labels: Vec<bool> = (0..200).map(positive).collect();
            reliability(&scores, &labels, &groups, Bins::EqualWidth(10))[0]
        };
        // Each row on its own: the interval of a share of 200.
        let alone = bin(&|row| row, &|row| row % 10 > 0);
        close(alone.share_positive, 0.9);
        assert!((alone.interval.1 - alone.interval.0 - 2.0 * 1.96 * (0.09_f64 / 199.0).sqrt()).abs() < 1e-9);
        // Ten groups that are alike within: as little as ten rows would say.
        let together = bin(&|row| row / 20, &|row| row >= 20);
        close(together.share_positive, 0.9);
        assert_eq!((alone.groups, together.groups), (200, 10));
        assert!((together.interval.0 - (0.9 - 1.96 * 0.1)).abs() < 1e-9 && together.interval.1 >= 1.0);
        assert_eq!(bin(&|_| 0, &|row| row % 10 > 0).interval, (0.0, 1.0));
    }

    #[test]
    fn reliability_is_that_of_scikit_learn() {
        let (scores, labels) = example();
        let check = |bins, shares: [f64; 5], means: [f64; 5]| {
            let rows: Vec<u32> = (0..).take(scores.len()).collect();
            let curve = reliability(&scores, &labels, &rows, bins);
            assert_eq!(curve.iter().map(|bin| bin.count).sum::<usize>(), scores.len());
            assert_eq!(curve.len(), 5);
            for (bin, (share, mean)) in curve.iter().zip(shares.into_iter().zip(means)) {
                close(bin.share_positive, share);
                close(bin.mean_probability, mean);
            }
        };
        check(
            Bins::EqualWidth(5),
            [1.0 / 6.0, 0.0, 2.0 / 9.0, 9.0 / 17.0, 5.0 / 9.0],
            [
                0.114_583_333_333_333_33,
                0.317_307_692_307_692_3,
                0.497_222_222_222_222_2,
                0.722_058_823_529_411_9,
                0.9,
            ],
        );
        check(
            Bins::EqualCount(5),
            [1.0 / 6.0, 0.0, 3.0 / 13.0, 7.0 / 12.0, 6.0 / 11.0],
            [
                0.114_583_333_333_333_33,
                0.310_416_666_666_666_7,
                0.523_076_923_076_923_1,
                0.729_166_666_666_666_9,
                0.881_818_181_818_181_6,
            ],
        );
    }

    #[test]
    fn one_class_alone_has_no_ranking() {
        assert_eq!(roc_auc(&[0.1, 0.2], &[true, true]), None);
        close(average_precision(&[0.1, 0.2], &[false, false]), 0.0);
        close(Confusion::default().mcc(), 0.0);
    }

    #[test]
    fn equal_scores_rank_nothing() {
        let labels = [true, false, false, true, false];
        close(roc_auc(&[0.3; 5], &labels).unwrap(), 0.5);
        close(average_precision(&[0.3; 5], &labels), 0.4);
    }
}
