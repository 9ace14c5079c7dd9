//! The forward pass.

use super::math::{Factor, add_scaled, dot, multiply, sigmoid, softmax, tanh};
use super::pack::Packed;
use super::parameters::{Parameters, Part};
use super::{Bag, NetworkScore};

/// All intermediate values; the backward pass needs them.
pub(super) struct Activations {
    /// The mean embeddings of both halves of each item.
    pub(super) means: Vec<f32>,
    /// The items after normalisation.
    pub(super) normal: Vec<f32>,
    /// One over the standard deviation of each item before normalisation.
    pub(super) spreads: Vec<f32>,
    /// The item vectors: input of the first LSTM layer.
    pub(super) items: Vec<f32>,
    pub(super) first: Layer,
    pub(super) second: Layer,
    /// The attention weight of each sequence in its bag.
    pub(super) attention: Vec<f32>,
    /// The weighted mean of the sequences of each bag.
    pub(super) bags: Vec<f32>,
    /// The output of the first linear layer for each bag.
    pub(super) heads: Vec<f32>,
    /// The scores.
    pub(super) scores: Vec<f32>,
}

/// An LSTM layer: a row for each row of the pack.
pub(super) struct Layer {
    /// The activated input, forget, cell and output gates.
    pub(super) gates: Vec<f32>,
    /// Cell states.
    pub(super) cells: Vec<f32>,
    /// Their hyperbolic tangent.
    pub(super) bounded: Vec<f32>,
    /// Hidden states.
    pub(super) hidden: Vec<f32>,
}

/// Avoids a division by zero for items whose values are all equal.
const EPSILON: f32 = 1e-5;

impl Activations {
    pub(super) fn of(parameters: &Parameters, packed: &Packed) -> Self {
        let shape = parameters.shape;
        let (item, hidden) = (shape.item, shape.hidden);
        let means = means(parameters, packed);
        let mut items = repeated(parameters.part(Part::ItemBias), packed.halves.len());
        let weights = Factor::new(parameters.part(Part::ItemWeights), item);
        multiply(Factor::new(&means, 2 * shape.embedding), weights, true, &mut items);
        let spreads: Vec<f32> = items.chunks_exact_mut(item).map(normalise).collect();
        let normal = items.clone();
        let (scale, shift) = (parameters.part(Part::NormScale), parameters.part(Part::NormShift));
        for row in items.chunks_exact_mut(item) {
            for ((value, scale), shift) in row.iter_mut().zip(scale).zip(shift) {
                *value = tanh(*value * scale + shift);
            }
        }
        // The input product is computed once per item, not once per row.
        let gates = 4 * hidden;
        let mut entering = repeated(parameters.part(Part::FirstBias), packed.halves.len());
        let weights = Factor::new(parameters.part(Part::FirstInput), gates);
        multiply(Factor::new(&items, item), weights, true, &mut entering);
        let mut rows = Vec::with_capacity(packed.items.len() * gates);
        for &item in &packed.items {
            rows.extend_from_slice(&entering[item as usize * gates..][..gates]);
        }
        let first = Layer::of(rows, parameters.part(Part::FirstRecurrent), hidden, packed);
        let mut rows = repeated(parameters.part(Part::SecondBias), packed.items.len());
        let weights = Factor::new(parameters.part(Part::SecondInput), gates);
        multiply(Factor::new(&first.hidden, hidden), weights, true, &mut rows);
        let second = Layer::of(rows, parameters.part(Part::SecondRecurrent), hidden, packed);
        let mut activations = Self {
            means,
            normal,
            spreads,
            items,
            first,
            second,
            attention: vec![0.0; packed.last.len()],
            bags: vec![0.0; packed.bags.len() * hidden],
            heads: Vec::new(),
            scores: Vec::new(),
        };
        activations.attend(parameters, packed);
        activations.judge(parameters);
        activations
    }

    /// The last hidden state of a sequence.
    pub(super) fn sequence(&self, packed: &Packed, sequence: usize, hidden: usize) -> &[f32] {
        &self.second.hidden[packed.last[sequence] * hidden..][..hidden]
    }

    fn attend(&mut self, parameters: &Parameters, packed: &Packed) {
        let hidden = parameters.shape.hidden;
        let asks = parameters.part(Part::Attention);
        for (bag, sequences) in packed.bags.iter().enumerate() {
            let mut shares: Vec<f32> = sequences
                .iter()
                .map(|&sequence| dot(self.sequence(packed, sequence, hidden), asks))
                .collect();
            softmax(&mut shares);
            for (&sequence, &share) in sequences.iter().zip(&shares) {
                self.attention[sequence] = share;
                let state = &self.second.hidden[packed.last[sequence] * hidden..][..hidden];
                add_scaled(&mut self.bags[bag * hidden..][..hidden], state, share);
            }
        }
    }

    fn judge(&mut self, parameters: &Parameters) {
        let hidden = parameters.shape.hidden;
        let count = self.bags.len() / hidden;
        let mut heads = repeated(parameters.part(Part::HeadBias), count);
        let weights = Factor::new(parameters.part(Part::HeadWeights), hidden);
        multiply(Factor::new(&self.bags, hidden), weights, true, &mut heads);
        for value in &mut heads {
            *value = tanh(*value);
        }
        let (weights, bias) = (parameters.part(Part::OutputWeights), parameters.part(Part::OutputBias)[0]);
        self.scores = heads.chunks_exact(hidden).map(|head| dot(head, weights) + bias).collect();
        self.heads = heads;
    }

    /// The scores and attention weights of all bags.
    pub(super) fn said<'a>(&self, packed: &Packed, bags: impl Iterator<Item = &'a Bag>) -> Vec<NetworkScore> {
        let each = bags.zip(&packed.bags).zip(&self.scores).enumerate();
        each.map(|(number, ((bag, sequences), &score))| {
            let mut attention = vec![0.0; bag.sequences.len()];
            for (&taken, &sequence) in packed.taken(number).iter().zip(sequences) {
                attention[taken] = self.attention[sequence];
            }
            NetworkScore { score, attention }
        })
        .collect()
    }
}

impl Layer {
    /// `gates` contains the input product and the bias.
    fn of(mut gates: Vec<f32>, recurrent: &[f32], hidden: usize, packed: &Packed) -> Self {
        let rows = packed.items.len();
        let mut layer = Self {
            gates: Vec::new(),
            cells: vec![0.0; rows * hidden],
            bounded: vec![0.0; rows * hidden],
            hidden: vec![0.0; rows * hidden],
        };
        let recurrent = Factor::new(recurrent, 4 * hidden);
        for (place, range) in packed.places.iter().enumerate() {
            let before = place.checked_sub(1).map(|before| packed.places[before].start);
            if let Some(before) = before {
                let states = &layer.hidden[before * hidden..][..range.len() * hidden];
                let entering = &mut gates[range.start * 4 * hidden..range.end * 4 * hidden];
                multiply(Factor::new(states, hidden), recurrent, true, entering);
            }
            for row in range.clone() {
                let gates = &mut gates[row * 4 * hidden..][..4 * hidden];
                let (smooth, rest) = gates.split_at_mut(2 * hidden);
                let (cell, output) = rest.split_at_mut(hidden);
                smooth.iter_mut().chain(output).for_each(|gate| *gate = sigmoid(*gate));
                for gate in cell.iter_mut() {
                    *gate = tanh(*gate);
                }
                let (earlier, now) = layer.cells.split_at_mut(row * hidden);
                let cells = &mut now[..hidden];
                let gate = |number: usize| &gates[number * hidden..][..hidden];
                match before {
                    Some(before) => {
                        let earlier = &earlier[(before + row - range.start) * hidden..][..hidden];
                        for place in 0..hidden {
                            cells[place] = gate(1)[place] * earlier[place] + gate(0)[place] * gate(2)[place];
                        }
                    }
                    None => (0..hidden).for_each(|place| cells[place] = gate(0)[place] * gate(2)[place]),
                }
                let bounded = &mut layer.bounded[row * hidden..][..hidden];
                bounded.iter_mut().zip(&*cells).for_each(|(bounded, &cell)| *bounded = tanh(cell));
                let states = &mut layer.hidden[row * hidden..][..hidden];
                for ((state, bounded), output) in states.iter_mut().zip(&*bounded).zip(gate(3)) {
                    *state = bounded * output;
                }
            }
        }
        layer.gates = gates;
        layer
    }
}

/// The mean embeddings of both halves of each item; zero for a half without tokens.
fn means(parameters: &Parameters, packed: &Packed) -> Vec<f32> {
    let width = parameters.shape.embedding;
    let embeddings = parameters.part(Part::Embeddings);
    let mut means = vec![0.0; packed.halves.len() * 2 * width];
    for (half, mean) in packed.halves.iter().flatten().zip(means.chunks_exact_mut(width)) {
        let tokens = &packed.tokens[half.clone()];
        for &token in tokens {
            add_scaled(mean, &embeddings[token as usize * width..][..width], 1.0 / tokens.len() as f32);
        }
    }
    means
}

/// Scales to mean 0 and variance 1; returns one over the standard deviation.
fn normalise(row: &mut [f32]) -> f32 {
    let count = row.len() as f32;
    let mean = row.iter().sum::<f32>() / count;
    let variance = row.iter().map(|value| (value - mean) * (value - mean)).sum::<f32>() / count;
    let scale = 1.0 / (variance + EPSILON).sqrt();
    for value in row.iter_mut() {
        *value = (*value - mean) * scale;
    }
    scale
}

fn repeated(row: &[f32], times: usize) -> Vec<f32> {
    row.iter().copied().cycle().take(row.len() * times).collect()
}
