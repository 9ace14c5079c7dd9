use super::*;

fn shape() -> NetworkShape {
    NetworkShape { vocabulary: 7, embedding: 3, item: 5, hidden: 4 }
}

/// Bags with sequences of all lengths up to five, one with none.
fn bags() -> Vec<Bag> {
    let items = |offset: u32| -> Vec<[Vec<u32>; 2]> {
        (0..5)
            .map(|item| [vec![(item + offset) % 7, (2 * item + 1) % 7], vec![(3 * item + offset) % 7]])
            .collect()
    };
    vec![
        Bag { items: items(0), sequences: vec![vec![0, 1, 2], vec![3], vec![4, 2, 1, 0, 3]] },
        Bag { items: items(2), sequences: vec![vec![4, 4], vec![0, 1]] },
        Bag::default(),
        Bag { items: vec![[vec![], vec![6]]], sequences: vec![vec![0, 0, 0]] },
    ]
}

const LABELS: [bool; 4] = [true, false, true, false];

fn loss(parameters: &Parameters, bags: &[Bag]) -> f64 {
    let scores = Activations::of(parameters, &Packed::whole(bags.iter())).scores;
    scores.iter().zip(LABELS).map(|(&score, label)| math::cross_entropy(score, label)).sum()
}

#[test]
fn gradients_are_those_of_the_loss() {
    const STEP: f32 = 4e-3;
    let mut parameters = Parameters::random(shape(), &[], 3);
    // Larger than training begins with, so that every gradient can be seen.
    parameters.values.iter_mut().for_each(|value| *value *= 2.5);
    let bags = bags();
    let packed = Packed::whole(bags.iter());
    let activations = Activations::of(&parameters, &packed);
    let errors: Vec<f32> = activations
        .scores
        .iter()
        .zip(LABELS)
        .map(|(&score, label)| math::sigmoid(score) - f32::from(u8::from(label)))
        .collect();
    let gradients = activations.gradients(&parameters, &packed, &errors);
    for part in Part::ALL {
        let range = Parameters::range(&shape(), part);
        let mut any = false;
        for place in range {
            let value = parameters.values[place];
            parameters.values[place] = value + STEP;
            let above = loss(&parameters, &bags);
            parameters.values[place] = value - STEP;
            let below = loss(&parameters, &bags);
            parameters.values[place] = value;
            let expected = (above - below) / f64::from(2.0 * STEP);
            let found = f64::from(gradients[place]);
            assert!(
                (expected - found).abs() < 1e-3 + 0.02 * expected.abs(),
                "{} at {place}: {found} instead of {expected}",
                part.name()
            );
            any |= found.abs() > 1e-3;
        }
        assert!(any, "{} has no gradient", part.name());
    }
}

#[test]
fn a_bag_is_judged_the_same_alone_and_beside_others() {
    let network = Network { parameters: Parameters::random(shape(), &[], 1) };
    let bags = bags();
    let together = network.scores(bags.iter());
    for (bag, said) in bags.iter().zip(&together) {
        let alone = &network.scores(std::iter::once(bag))[0];
        assert!((alone.score - said.score).abs() < 1e-5);
        assert_eq!(said.attention.len(), bag.sequences.len());
        let sum: f32 = said.attention.iter().sum();
        assert!(bag.sequences.is_empty() || (sum - 1.0).abs() < 1e-5);
    }
}

#[test]
fn the_order_of_items_is_learned() {
    // A bag is positive if one of its sequences has token 1 before token 2.
    // A bag of words cannot tell them apart: all bags have the same tokens.
    let mut random = Random::new(5, 0);
    let item = |token: u32| [vec![token], vec![]];
    let items: Vec<[Vec<u32>; 2]> = (0..7).map(item).collect();
    let mut labels = Vec::new();
    let bags: Vec<Bag> = (0..400)
        .map(|number| {
            let label = number % 2 == 0;
            labels.push(label);
            let told = if label { vec![1, 3, 2] } else { vec![2, 3, 1] };
            let mut sequences = vec![vec![3, 4], vec![5, 6, 4], vec![6]];
            sequences.insert(random.below(4), told);
            Bag { items: items.clone(), sequences }
        })
        .collect();
    let train: Vec<usize> = (0..300).collect();
    let validation: Vec<usize> = (300..400).collect();
    let options = NetworkOptions {
        embedding: 8,
        item: 8,
        hidden: 8,
        steps: 40,
        epochs: 12,
        learning_rate: 1e-2,
        token_dropout: 0.0,
        ..NetworkOptions::default()
    };
    let data = NetworkData { bags: &bags, labels: &labels, train: &train, validation: &validation };
    let mut epochs = Vec::new();
    let network = Network::train(data, 7, &[], &options, |_, epoch| epochs.push(epoch));
    assert!(epochs.iter().any(|epoch| epoch.validation > 0.99), "{epochs:?}");
    for &row in &validation {
        let said = &network.scores(std::iter::once(&bags[row]))[0];
        assert_eq!(said.score > 0.0, labels[row]);
    }
    // The same seed gives the same network, on one thread too.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let short = NetworkOptions { epochs: 2, steps: 5, ..options };
    let train = || Network::train(data, 7, &[], &short, |_, _| {});
    assert_eq!(pool.install(train), train());
}

#[test]
fn parts_make_the_network_again_and_wrong_ones_are_refused() {
    let network = Network { parameters: Parameters::random(shape(), &[(2, vec![0.5, 0.25, 0.125])], 1) };
    assert_eq!(network.part(Part::Embeddings)[6..9], [0.5, 0.25, 0.125]);
    let again = Network::from_parts(shape(), |part| Some(network.part(part)));
    assert_eq!(again, Some(network.clone()));
    assert_eq!(
        Network::from_parts(NetworkShape { hidden: 5, ..shape() }, |part| Some(network.part(part))),
        None
    );
    let not_finite = |part| Some(if part == Part::OutputBias { &[f32::NAN][..] } else { network.part(part) });
    assert_eq!(Network::from_parts(shape(), not_finite), None);
    let huge =
        NetworkShape { vocabulary: usize::MAX, embedding: usize::MAX, item: usize::MAX, hidden: usize::MAX };
    assert_eq!(Network::from_parts(huge, |part| Some(network.part(part))), None);
}
