//! A network for bags of sequences, as PEELER has for the paths of a test.
//!
//! A sequence is made of items, and an item has two halves of tokens. The means
//! of the embeddings of both halves go through a linear layer with layer
//! normalisation and tanh, then through two LSTM layers; the last hidden state
//! represents the sequence. Attention weights the sequences of a bag, and two
//! linear layers map their weighted mean to a score.
//!
//! The forward and backward passes are hand-written on top of one matrix product.
//! Sums have a fixed order, so a seed gives the same network on any number of
//! threads. A processor with other vector instructions may round differently.

mod backward;
mod forward;
mod math;
mod optimise;
mod pack;
mod parameters;

use rayon::prelude::*;

use crate::average_precision;
use crate::random::Random;
use forward::Activations;
use optimise::Adam;
use pack::Packed;
use parameters::Parameters;
pub use parameters::{NetworkShape, Part};

/// One input of the network: a set of sequences of items.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bag {
    /// The tokens of both halves of each item.
    pub items: Vec<[Vec<u32>; 2]>,
    /// Item indices. Sequences without items are ignored.
    pub sequences: Vec<Vec<u32>>,
}

/// A trained network.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    parameters: Parameters,
}

/// The output of the network for one bag.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NetworkScore {
    /// Log-odds, assuming classes of equal size.
    pub score: f32,
    /// The attention weight of each sequence; they sum to 1 if there are any.
    pub attention: Vec<f32>,
}

/// Hyperparameters of a network.
#[derive(Clone, Debug)]
pub struct NetworkOptions {
    /// Size of a token's embedding.
    pub embedding: usize,
    /// Size of an item's vector.
    pub item: usize,
    /// Size of the hidden state.
    pub hidden: usize,
    /// Bags per batch, half of each class.
    pub batch: usize,
    /// Maximum batches per epoch; small data sets use fewer.
    pub steps: usize,
    /// Maximum number of epochs.
    pub epochs: usize,
    /// Training stops after this many epochs without an improvement.
    pub patience: usize,
    /// Learning rate.
    pub learning_rate: f32,
    /// Sequences sampled from a bag in each batch.
    pub sequences: usize,
    /// Share of tokens dropped in each batch.
    pub token_dropout: f64,
    /// Random seed.
    pub seed: u64,
}

impl Default for NetworkOptions {
    fn default() -> Self {
        Self {
            embedding: 32,
            item: 48,
            hidden: 48,
            batch: 64,
            steps: 50,
            epochs: 20,
            patience: 4,
            learning_rate: 2e-3,
            sequences: 12,
            token_dropout: 0.2,
            seed: 0,
        }
    }
}

/// Training data of a network.
#[derive(Clone, Copy, Debug)]
pub struct NetworkData<'a> {
    /// The bags, by row.
    pub bags: &'a [Bag],
    /// The class of each.
    pub labels: &'a [bool],
    /// Rows to train on.
    pub train: &'a [usize],
    /// Rows for early stopping; never trained on.
    pub validation: &'a [usize],
}

/// One epoch of a training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Epoch {
    /// Mean training loss.
    pub loss: f64,
    /// Average precision on the validation rows afterwards.
    pub validation: f64,
}

/// Bags are processed in chunks of this size.
const PART: usize = 16;

impl Network {
    /// Trains a network on tokens below `vocabulary` and returns the weights of
    /// the epoch with the best average precision on the validation rows.
    /// `embeddings` has initial values for some tokens; their length must be
    /// `options.embedding`.
    pub fn train(
        data: NetworkData<'_>,
        vocabulary: usize,
        embeddings: &[(u32, Vec<f32>)],
        options: &NetworkOptions,
        mut progress: impl FnMut(usize, Epoch),
    ) -> Self {
        let shape = NetworkShape {
            vocabulary,
            embedding: options.embedding,
            item: options.item,
            hidden: options.hidden,
        };
        let mut network = Self { parameters: Parameters::random(shape, embeddings, options.seed) };
        let mut best = (f64::NEG_INFINITY, network.clone());
        let mut adam = Adam::new(network.parameters.values.len(), options.learning_rate);
        let mut draw = Draw::new(data, options);
        let steps = draw.steps(options.steps);
        let mut since_best = 0;
        for epoch in 0..options.epochs {
            let loss: f64 = (0..steps).map(|_| network.step(data, options, &mut adam, &mut draw)).sum();
            let scores = network.scores(data.validation.iter().map(|&row| &data.bags[row]));
            let scores: Vec<f64> = scores.iter().map(|said| f64::from(said.score)).collect();
            let labels: Vec<bool> = data.validation.iter().map(|&row| data.labels[row]).collect();
            let validation = average_precision(&scores, &labels);
            progress(epoch, Epoch { loss: loss / steps as f64, validation });
            if validation > best.0 {
                best = (validation, network.clone());
                since_best = 0;
            } else {
                since_best += 1;
                if since_best == options.patience {
                    break;
                }
            }
        }
        best.1
    }

    /// Trains on one batch and returns its mean loss.
    fn step(
        &mut self,
        data: NetworkData<'_>,
        options: &NetworkOptions,
        adam: &mut Adam,
        draw: &mut Draw,
    ) -> f64 {
        let rows = draw.batch();
        // Each chunk has its own random source, so that chunks can run in parallel.
        let parts: Vec<(Vec<usize>, u64)> =
            rows.chunks(PART).map(|part| (part.to_vec(), draw.random.next())).collect();
        let scale = 1.0 / rows.len() as f32;
        let gradients: Vec<(Vec<f32>, f64)> = parts
            .into_par_iter()
            .map(|(rows, seed)| {
                let mut random = Random::new(seed, 0);
                let bags = rows.iter().map(|&row| &data.bags[row]);
                let packed = Packed::drawn(bags, options.sequences, options.token_dropout, &mut random);
                let activations = Activations::of(&self.parameters, &packed);
                let mut loss = 0.0;
                let errors: Vec<f32> = activations
                    .scores
                    .iter()
                    .zip(&rows)
                    .map(|(&score, &row)| {
                        let label = data.labels[row];
                        loss += math::cross_entropy(score, label);
                        (math::sigmoid(score) - f32::from(u8::from(label))) * scale
                    })
                    .collect();
                (activations.gradients(&self.parameters, &packed, &errors), loss)
            })
            .collect();
        let mut sum = vec![0.0_f32; self.parameters.values.len()];
        let mut loss = 0.0;
        for (gradient, part) in &gradients {
            sum.iter_mut().zip(gradient).for_each(|(sum, value)| *sum += value);
            loss += part;
        }
        adam.step(&mut self.parameters.values, &mut sum);
        loss / rows.len() as f64
    }

    /// Scores bags, on all cores.
    pub fn scores<'a>(&self, bags: impl Iterator<Item = &'a Bag>) -> Vec<NetworkScore> {
        let bags: Vec<&Bag> = bags.collect();
        bags.par_chunks(PART)
            .flat_map_iter(|bags| {
                let packed = Packed::whole(bags.iter().copied());
                Activations::of(&self.parameters, &packed).said(&packed, bags.iter().copied())
            })
            .collect()
    }

    /// Its dimensions.
    pub fn shape(&self) -> NetworkShape {
        self.parameters.shape
    }

    /// The values of a parameter, row by row.
    pub fn part(&self, part: Part) -> &[f32] {
        self.parameters.part(part)
    }

    /// Builds a network from its parameters. `None` if one of them has the wrong
    /// length or a value that is not finite.
    pub fn from_parts<'a>(shape: NetworkShape, values: impl Fn(Part) -> Option<&'a [f32]>) -> Option<Self> {
        let mut all = Vec::new();
        for part in Part::ALL {
            let values = values(part)?;
            if Some(values.len()) != part.length(&shape) || !values.iter().all(|value| value.is_finite()) {
                return None;
            }
            all.extend_from_slice(values);
        }
        Some(Self { parameters: Parameters { shape, values: all } })
    }
}

/// Samples balanced batches.
struct Draw {
    classes: [Vec<usize>; 2],
    next: [usize; 2],
    batch: usize,
    random: Random,
}

impl Draw {
    fn new(data: NetworkData<'_>, options: &NetworkOptions) -> Self {
        let of = |class: bool| data.train.iter().copied().filter(|&row| data.labels[row] == class).collect();
        let mut draw = Self {
            classes: [of(false), of(true)],
            next: [0; 2],
            batch: options.batch,
            random: Random::new(options.seed, 1),
        };
        (0..2).for_each(|class| draw.shuffle(class));
        draw
    }

    /// Batches per epoch: enough to sample each row of the rarer class three times.
    fn steps(&self, most: usize) -> usize {
        const FEWEST: usize = 10;
        let rarer = self.classes[0].len().min(self.classes[1].len());
        (3 * rarer).div_ceil((self.batch / 2).max(1)).max(FEWEST).min(most)
    }

    fn shuffle(&mut self, class: usize) {
        let rows = &mut self.classes[class];
        for place in (1..rows.len()).rev() {
            rows.swap(place, self.random.below(place + 1));
        }
        self.next[class] = 0;
    }

    /// The next rows. No row repeats before all rows of its class were sampled.
    fn batch(&mut self) -> Vec<usize> {
        let mut rows = Vec::with_capacity(self.batch);
        for place in 0..self.batch {
            let class = place % 2;
            if self.next[class] == self.classes[class].len() {
                self.shuffle(class);
            }
            if let Some(&row) = self.classes[class].get(self.next[class]) {
                rows.push(row);
                self.next[class] += 1;
            }
        }
        rows
    }
}

#[cfg(test)]
mod tests;
