//! From which risk a test is named.

use flakewise_predict::{Expectation, Familiarity, ModelCard};
use flakewise_report::Threshold;

/// How often a person must find that we were right.
const PRECISION: f64 = 0.95;
/// From which risk tests are named to people, where nothing was measured.
const PEOPLE: f64 = 0.95;
/// From which risk tests are named to machines, which weigh them themselves.
const MACHINES: f64 = 0.5;

/// Who reads the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Audience {
    People,
    Machines,
}

/// Chooses the threshold for tests of one familiarity.
///
/// What the user says wins. Machines get everything that is more likely flaky
/// than not. People get the lowest threshold that was measured to be right
/// often enough on such tests.
pub(super) fn choose(
    audience: Audience,
    given: Option<f64>,
    card: &ModelCard,
    familiarity: Familiarity,
) -> Threshold {
    if let Some(given) = given {
        return Threshold::Given(given);
    }
    if audience == Audience::Machines {
        return Threshold::Usual(MACHINES);
    }
    let measured: Vec<&Expectation> =
        card.expectations.iter().filter(|expectation| expectation.familiarity == familiarity).collect();
    if measured.is_empty() {
        return Threshold::Usual(PEOPLE);
    }
    // A threshold that named nothing was right about nothing.
    let found = measured.into_iter().filter(|expectation| expectation.recall > 0.0);
    let precise = found.clone().filter(|expectation| expectation.precision >= PRECISION);
    match precise.min_by(|left, right| left.threshold.total_cmp(&right.threshold)) {
        Some(lowest) => Threshold::Measured(*lowest),
        None => Threshold::Imprecise(
            found.max_by(|left, right| left.precision.total_cmp(&right.precision)).copied(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(rows: &[(Familiarity, f64, f64, f64)]) -> ModelCard {
        let expectation = |&(familiarity, threshold, precision, recall): &(Familiarity, f64, f64, f64)| {
            Expectation { familiarity, threshold, precision, recall }
        };
        ModelCard { expectations: rows.iter().map(expectation).collect(), ..ModelCard::default() }
    }

    fn people(card: &ModelCard) -> Threshold {
        choose(Audience::People, None, card, Familiarity::KnownClass)
    }

    const KNOWN: Familiarity = Familiarity::KnownClass;

    #[test]
    fn the_lowest_threshold_that_is_precise_is_chosen() {
        let card = card(&[
            (KNOWN, 0.99, 1.0, 0.1),
            (KNOWN, 0.5, 0.8, 0.7),
            (KNOWN, 0.7, 0.95, 0.6),
            (KNOWN, 0.9, 0.97, 0.4),
        ]);
        let Threshold::Measured(chosen) = people(&card) else { panic!("{:?}", people(&card)) };
        assert!((chosen.threshold - 0.7).abs() < 1e-9 && (chosen.recall - 0.6).abs() < 1e-9);
    }

    #[test]
    fn without_a_precise_one_the_best_is_told() {
        let card = card(&[(KNOWN, 0.5, 0.3, 0.5), (KNOWN, 0.95, 0.6, 0.1)]);
        let Threshold::Imprecise(Some(best)) = people(&card) else { panic!("{:?}", people(&card)) };
        assert!((best.precision - 0.6).abs() < 1e-9);
    }

    #[test]
    fn a_threshold_that_finds_nothing_is_not_precise() {
        assert_eq!(people(&card(&[(KNOWN, 0.99, 1.0, 0.0)])), Threshold::Imprecise(None));
        assert_eq!(people(&card(&[(KNOWN, 0.99, f64::NAN, f64::NAN)])), Threshold::Imprecise(None));
    }

    #[test]
    fn other_familiarities_do_not_speak() {
        assert_eq!(people(&card(&[(Familiarity::NewProject, 0.5, 1.0, 1.0)])), Threshold::Usual(0.95));
        assert_eq!(people(&ModelCard::default()), Threshold::Usual(0.95));
    }

    #[test]
    fn machines_get_the_usual_and_users_what_they_say() {
        let card = card(&[(KNOWN, 0.7, 0.99, 0.6)]);
        assert_eq!(choose(Audience::Machines, None, &card, KNOWN), Threshold::Usual(0.5));
        assert_eq!(choose(Audience::People, Some(0.2), &card, KNOWN), Threshold::Given(0.2));
        assert_eq!(choose(Audience::Machines, Some(0.2), &card, KNOWN), Threshold::Given(0.2));
    }
}
