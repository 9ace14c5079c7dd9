//! Weights of columns by how few rows have them, as scikit-learn's
//! `TfidfTransformer` with smoothing.

use crate::matrix::SparseMatrix;

/// How a count within a row is weighted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TermWeight {
    /// As it is.
    Count,
    /// `1 + ln(count)`: the tenth time says little more than the ninth.
    Sublinear,
}

impl TermWeight {
    /// What a count weighs.
    pub fn of(self, count: f32) -> f32 {
        match self {
            Self::Count => count,
            Self::Sublinear => 1.0 + count.ln(),
        }
    }
}

/// What the rows learned from say about each column: `ln((1 + n) / (1 + rows with it)) + 1`.
#[derive(Clone, Debug, PartialEq)]
pub struct Idf {
    weights: Vec<f32>,
}

impl Idf {
    /// Learns the weights from rows of counts.
    #[expect(clippy::cast_possible_truncation, reason = "values have single precision")]
    pub fn fit(counts: &SparseMatrix) -> Self {
        let mut rows_with = vec![0_u32; counts.columns()];
        for row in 0..counts.rows() {
            for &column in counts.row(row).indices {
                rows_with[column as usize] += 1;
            }
        }
        let rows = 1.0 + counts.rows() as f64;
        let weights =
            rows_with.iter().map(|&with| ((rows / (1.0 + f64::from(with))).ln() + 1.0) as f32).collect();
        Self { weights }
    }

    /// Takes weights that were learned before.
    pub fn from_weights(weights: Vec<f32>) -> Self {
        Self { weights }
    }

    /// The weights of the columns.
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// Rows of counts weighted, each at length 1.
    pub fn apply(&self, counts: &SparseMatrix, term_weight: TermWeight) -> SparseMatrix {
        let mut weighted = SparseMatrix::new(counts.columns());
        for row in 0..counts.rows() {
            let row = counts.row(row);
            let weigh = |(column, count)| (column, term_weight.of(count) * self.weights[column as usize]);
            weighted.push(row.iter().map(weigh));
        }
        weighted.normalised()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts() -> SparseMatrix {
        let mut counts = SparseMatrix::new(4);
        counts.push([(0, 1.0), (1, 3.0)]);
        counts.push([(0, 2.0), (2, 1.0)]);
        counts.push([]);
        counts
    }

    fn check(term_weight: TermWeight, expected: [&[f32]; 3]) {
        let weighted = Idf::fit(&counts()).apply(&counts(), term_weight);
        for (row, expected) in expected.into_iter().enumerate() {
            let values = weighted.row(row).values;
            assert_eq!(values.len(), expected.len());
            for (value, expected) in values.iter().zip(expected) {
                assert!((value - expected).abs() < 1e-6, "{value} is not {expected}");
            }
        }
    }

    #[test]
    fn weights_are_those_of_scikit_learn() {
        check(TermWeight::Count, [&[0.245_735_25, 0.969_337], &[0.835_591_55, 0.549_351_2], &[]]);
        check(TermWeight::Sublinear, [&[0.340_711_74, 0.940_167_8], &[0.789_806_9, 0.613_355_5], &[]]);
    }
}
