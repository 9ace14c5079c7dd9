//! The backward pass.

use super::forward::{Activations, Layer};
use super::math::{Factor, add_scaled, dot, multiply};
use super::pack::Packed;
use super::parameters::{NetworkShape, Parameters, Part};

/// The gradients of all parameters.
struct Gradients {
    shape: NetworkShape,
    values: Vec<f32>,
}

impl Gradients {
    fn part(&mut self, part: Part) -> &mut [f32] {
        &mut self.values[Parameters::range(&self.shape, part)]
    }

    /// Adds the product of inputs and errors.
    fn add_product(&mut self, part: Part, inputs: &[f32], errors: &[f32]) {
        let [rows, columns] = part.size(&self.shape);
        let inputs = Factor::new(inputs, rows).transposed();
        multiply(inputs, Factor::new(errors, columns), true, self.part(part));
    }

    /// Adds the sum of `errors` over all rows.
    fn add_sum(&mut self, part: Part, errors: &[f32]) {
        let sum = self.part(part);
        for row in errors.chunks_exact(sum.len()) {
            add_scaled(sum, row, 1.0);
        }
    }
}

impl Activations {
    /// The gradients of all parameters, given the derivative of the loss by
    /// each score.
    pub(super) fn gradients(&self, parameters: &Parameters, packed: &Packed, errors: &[f32]) -> Vec<f32> {
        let shape = parameters.shape;
        let hidden = shape.hidden;
        let mut gradients = Gradients { shape, values: vec![0.0; parameters.values.len()] };

        let output = parameters.part(Part::OutputWeights);
        let mut heads = vec![0.0; self.heads.len()];
        for ((error, head), said) in
            errors.iter().zip(heads.chunks_exact_mut(hidden)).zip(self.heads.chunks_exact(hidden))
        {
            add_scaled(gradients.part(Part::OutputWeights), said, *error);
            gradients.part(Part::OutputBias)[0] += error;
            for ((head, said), weight) in head.iter_mut().zip(said).zip(output) {
                *head = error * weight * (1.0 - said * said);
            }
        }
        gradients.add_product(Part::HeadWeights, &self.bags, &heads);
        gradients.add_sum(Part::HeadBias, &heads);
        let mut bags = vec![0.0; self.bags.len()];
        let weights = Factor::new(parameters.part(Part::HeadWeights), hidden).transposed();
        multiply(Factor::new(&heads, hidden), weights, false, &mut bags);

        let states = self.attention_errors(parameters, packed, &bags, &mut gradients);
        let gates = self.second.errors(states, parameters.part(Part::SecondRecurrent), hidden, packed);
        gradients.add_product(Part::SecondInput, &self.first.hidden, &gates);
        gradients.add_sum(Part::SecondBias, &gates);
        self.second.recurrent_gradient(gradients.part(Part::SecondRecurrent), &gates, hidden, packed);
        let mut states = vec![0.0; self.first.hidden.len()];
        let weights = Factor::new(parameters.part(Part::SecondInput), 4 * hidden).transposed();
        multiply(Factor::new(&gates, 4 * hidden), weights, false, &mut states);
        let gates = self.first.errors(states, parameters.part(Part::FirstRecurrent), hidden, packed);
        self.first.recurrent_gradient(gradients.part(Part::FirstRecurrent), &gates, hidden, packed);

        // Sum over the rows of each item.
        let mut entering = vec![0.0; packed.halves.len() * 4 * hidden];
        for (&item, row) in packed.items.iter().zip(gates.chunks_exact(4 * hidden)) {
            add_scaled(&mut entering[item as usize * 4 * hidden..][..4 * hidden], row, 1.0);
        }
        gradients.add_product(Part::FirstInput, &self.items, &entering);
        gradients.add_sum(Part::FirstBias, &entering);
        let mut items = vec![0.0; self.items.len()];
        let weights = Factor::new(parameters.part(Part::FirstInput), 4 * hidden).transposed();
        multiply(Factor::new(&entering, 4 * hidden), weights, false, &mut items);
        self.item_gradients(parameters, packed, items, &mut gradients);
        gradients.values
    }

    /// The errors of the hidden states of the second layer.
    fn attention_errors(
        &self,
        parameters: &Parameters,
        packed: &Packed,
        bags: &[f32],
        gradients: &mut Gradients,
    ) -> Vec<f32> {
        let hidden = parameters.shape.hidden;
        let asks = parameters.part(Part::Attention);
        let mut states = vec![0.0; self.second.hidden.len()];
        for (sequences, error) in packed.bags.iter().zip(bags.chunks_exact(hidden)) {
            let shares: Vec<f32> = sequences
                .iter()
                .map(|&sequence| dot(self.sequence(packed, sequence, hidden), error))
                .collect();
            let mean: f32 = sequences
                .iter()
                .zip(&shares)
                .map(|(&sequence, share)| self.attention[sequence] * share)
                .sum();
            for (&sequence, share) in sequences.iter().zip(&shares) {
                let attention = self.attention[sequence];
                let asked = attention * (share - mean);
                let state = &mut states[packed.last[sequence] * hidden..][..hidden];
                add_scaled(state, error, attention);
                add_scaled(state, asks, asked);
                add_scaled(gradients.part(Part::Attention), self.sequence(packed, sequence, hidden), asked);
            }
        }
        states
    }

    /// Gradients of normalisation, the first linear layer and the embeddings.
    fn item_gradients(
        &self,
        parameters: &Parameters,
        packed: &Packed,
        mut errors: Vec<f32>,
        gradients: &mut Gradients,
    ) {
        let NetworkShape { item, embedding, .. } = parameters.shape;
        let scale = parameters.part(Part::NormScale);
        let rows = self.items.chunks_exact(item).zip(self.normal.chunks_exact(item)).zip(&self.spreads);
        for (error, ((said, normal), spread)) in errors.chunks_exact_mut(item).zip(rows) {
            error.iter_mut().zip(said).for_each(|(error, said)| *error *= 1.0 - said * said);
            add_scaled(gradients.part(Part::NormShift), error, 1.0);
            for ((sum, error), normal) in gradients.part(Part::NormScale).iter_mut().zip(&*error).zip(normal)
            {
                *sum += error * normal;
            }
            error.iter_mut().zip(scale).for_each(|(error, scale)| *error *= scale);
            let count = item as f32;
            let mean = error.iter().sum::<f32>() / count;
            let along = dot(error, normal) / count;
            for (error, normal) in error.iter_mut().zip(normal) {
                *error = spread * (*error - mean - normal * along);
            }
        }
        gradients.add_product(Part::ItemWeights, &self.means, &errors);
        gradients.add_sum(Part::ItemBias, &errors);
        let mut means = vec![0.0; self.means.len()];
        let weights = Factor::new(parameters.part(Part::ItemWeights), item).transposed();
        multiply(Factor::new(&errors, item), weights, false, &mut means);
        let embeddings = gradients.part(Part::Embeddings);
        for (half, error) in packed.halves.iter().flatten().zip(means.chunks_exact(embedding)) {
            let tokens = &packed.tokens[half.clone()];
            for &token in tokens {
                let row = &mut embeddings[token as usize * embedding..][..embedding];
                add_scaled(row, error, 1.0 / tokens.len() as f32);
            }
        }
    }
}

impl Layer {
    /// The gradients of the gate inputs, given those of the hidden states.
    fn errors(&self, mut states: Vec<f32>, recurrent: &[f32], hidden: usize, packed: &Packed) -> Vec<f32> {
        let mut gates = vec![0.0; self.gates.len()];
        let mut cells = vec![0.0; self.cells.len()];
        let recurrent = Factor::new(recurrent, 4 * hidden).transposed();
        for (place, range) in packed.places.iter().enumerate().rev() {
            let before = place.checked_sub(1).map(|before| packed.places[before].start);
            for row in range.clone() {
                let earlier = before.map(|before| (before + row - range.start) * hidden);
                let at = row * hidden;
                let errors = &mut gates[4 * at..][..4 * hidden];
                for place in 0..hidden {
                    let gate = |number: usize| self.gates[4 * at + number * hidden + place];
                    let (input, forget, cell, output) = (gate(0), gate(1), gate(2), gate(3));
                    let (state, bounded) = (states[at + place], self.bounded[at + place]);
                    let through = cells[at + place] + state * output * (1.0 - bounded * bounded);
                    errors[place] = through * cell * input * (1.0 - input);
                    errors[2 * hidden + place] = through * input * (1.0 - cell * cell);
                    errors[3 * hidden + place] = state * bounded * output * (1.0 - output);
                    if let Some(earlier) = earlier {
                        errors[hidden + place] =
                            through * self.cells[earlier + place] * forget * (1.0 - forget);
                        cells[earlier + place] = through * forget;
                    }
                }
            }
            if let Some(before) = before {
                let errors =
                    Factor::new(&gates[range.start * 4 * hidden..range.end * 4 * hidden], 4 * hidden);
                multiply(errors, recurrent, true, &mut states[before * hidden..][..range.len() * hidden]);
            }
        }
        gates
    }

    fn recurrent_gradient(&self, gradient: &mut [f32], gates: &[f32], hidden: usize, packed: &Packed) {
        for pair in packed.places.windows(2) {
            let (before, range) = (pair[0].start, &pair[1]);
            let states = Factor::new(&self.hidden[before * hidden..][..range.len() * hidden], hidden);
            let errors = Factor::new(&gates[range.start * 4 * hidden..range.end * 4 * hidden], 4 * hidden);
            multiply(states.transposed(), errors, true, gradient);
        }
    }
}
