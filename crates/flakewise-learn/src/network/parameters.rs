//! All parameters of a network in one vector.

use std::ops::Range;

use crate::random::Random;

/// The dimensions of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkShape {
    /// Number of tokens.
    pub vocabulary: usize,
    /// Size of a token's embedding.
    pub embedding: usize,
    /// Size of an item's vector.
    pub item: usize,
    /// Size of the hidden state.
    pub hidden: usize,
}

/// A parameter tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "`name` says what each is")]
pub enum Part {
    Embeddings,
    ItemWeights,
    ItemBias,
    NormScale,
    NormShift,
    FirstInput,
    FirstRecurrent,
    FirstBias,
    SecondInput,
    SecondRecurrent,
    SecondBias,
    Attention,
    HeadWeights,
    HeadBias,
    OutputWeights,
    OutputBias,
}

impl Part {
    /// All of them, in the order of storage.
    pub const ALL: [Self; 16] = [
        Self::Embeddings,
        Self::ItemWeights,
        Self::ItemBias,
        Self::NormScale,
        Self::NormShift,
        Self::FirstInput,
        Self::FirstRecurrent,
        Self::FirstBias,
        Self::SecondInput,
        Self::SecondRecurrent,
        Self::SecondBias,
        Self::Attention,
        Self::HeadWeights,
        Self::HeadBias,
        Self::OutputWeights,
        Self::OutputBias,
    ];

    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Embeddings => "embeddings",
            Self::ItemWeights => "item.weight",
            Self::ItemBias => "item.bias",
            Self::NormScale => "norm.weight",
            Self::NormShift => "norm.bias",
            Self::FirstInput => "lstm.0.input",
            Self::FirstRecurrent => "lstm.0.recurrent",
            Self::FirstBias => "lstm.0.bias",
            Self::SecondInput => "lstm.1.input",
            Self::SecondRecurrent => "lstm.1.recurrent",
            Self::SecondBias => "lstm.1.bias",
            Self::Attention => "attention",
            Self::HeadWeights => "head.weight",
            Self::HeadBias => "head.bias",
            Self::OutputWeights => "output.weight",
            Self::OutputBias => "output.bias",
        }
    }

    /// Rows and columns.
    pub fn size(self, shape: &NetworkShape) -> [usize; 2] {
        let NetworkShape { vocabulary, embedding, item, hidden } = *shape;
        // There are four gates. A shape from a file may have any values.
        let (gates, pair) = (hidden.saturating_mul(4), embedding.saturating_mul(2));
        match self {
            Self::Embeddings => [vocabulary, embedding],
            Self::ItemWeights => [pair, item],
            Self::ItemBias | Self::NormScale | Self::NormShift => [1, item],
            Self::FirstInput => [item, gates],
            Self::FirstRecurrent | Self::SecondInput | Self::SecondRecurrent => [hidden, gates],
            Self::FirstBias | Self::SecondBias => [1, gates],
            Self::HeadWeights => [hidden, hidden],
            Self::Attention | Self::HeadBias | Self::OutputWeights => [1, hidden],
            Self::OutputBias => [1, 1],
        }
    }

    /// Number of values; `None` on overflow.
    pub(super) fn length(self, shape: &NetworkShape) -> Option<usize> {
        let [rows, columns] = self.size(shape);
        rows.checked_mul(columns)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Parameters {
    pub(super) shape: NetworkShape,
    pub(super) values: Vec<f32>,
}

impl Parameters {
    /// Random initial values, scaled by fan-in. Forget gates start open.
    pub(super) fn random(shape: NetworkShape, embeddings: &[(u32, Vec<f32>)], seed: u64) -> Self {
        let mut random = Random::new(seed, 2);
        let mut values = Vec::new();
        for part in Part::ALL {
            let [rows, columns] = part.size(&shape);
            #[expect(clippy::cast_possible_truncation, reason = "values have single precision")]
            let mut uniform = |reach: f64| ((2.0 * random.unit() - 1.0) * reach) as f32;
            for place in 0..rows * columns {
                values.push(match part {
                    Part::Embeddings => uniform(0.25),
                    Part::NormScale => 1.0,
                    Part::ItemBias | Part::NormShift | Part::HeadBias | Part::OutputBias => 0.0,
                    Part::FirstBias | Part::SecondBias => f32::from(u8::from(place / shape.hidden == 1)),
                    Part::Attention | Part::OutputWeights => uniform(1.0 / (columns as f64).sqrt()),
                    _ => uniform(1.0 / (rows as f64).sqrt()),
                });
            }
        }
        for (token, vector) in embeddings {
            let at = *token as usize * shape.embedding;
            values[at..at + shape.embedding].copy_from_slice(vector);
        }
        Self { shape, values }
    }

    pub(super) fn range(shape: &NetworkShape, part: Part) -> Range<usize> {
        let mut start = 0;
        for each in Part::ALL {
            let length = each.length(shape).expect("the values are in memory");
            if each == part {
                return start..start + length;
            }
            start += length;
        }
        unreachable!("every part is one of all")
    }

    pub(super) fn part(&self, part: Part) -> &[f32] {
        &self.values[Self::range(&self.shape, part)]
    }
}
