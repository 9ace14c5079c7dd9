//! Sparse random projection: fewer columns that keep distances, nearly.
//!
//! After Johnson and Lindenstrauss, with the very sparse signs of Li, Hastie
//! and Church, as `SparseRandomProjection` of scikit-learn has them.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;
use rayon::prelude::*;

use crate::matrix::{SparseMatrix, SparseRow};

/// How many dimensions keep squared distances between this many rows within
/// `1 ± epsilon`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small positive number")]
pub fn johnson_lindenstrauss_dimension(rows: usize, epsilon: f64) -> usize {
    let denominator = epsilon * epsilon / 2.0 - epsilon * epsilon * epsilon / 3.0;
    // Cut off, not rounded up, as scikit-learn does.
    ((4.0 * (rows as f64).ln() / denominator) as usize).max(1)
}

/// Signs at random places: most columns go to few dimensions.
#[derive(Clone, Debug)]
pub struct Projection {
    dimensions: usize,
    /// For every column where its dimensions start.
    starts: Vec<u32>,
    places: Vec<(u32, f32)>,
    scale: f32,
}

impl Projection {
    /// Draws a projection from this many columns to this many dimensions. Each
    /// dimension takes a share of `1/√columns` of the columns.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of dimensions")]
    pub fn new(columns: usize, dimensions: usize, seed: u64) -> Self {
        let density = 1.0 / (columns.max(1) as f64).sqrt();
        let mut random = ChaCha12Rng::seed_from_u64(seed);
        let mut starts = vec![0];
        let mut places = Vec::new();
        for _ in 0..columns {
            let mut dimension = 0;
            loop {
                // How many dimensions are passed over before the next one is
                // taken: one draw for it, where a draw for each would be slow.
                let draw: f64 = random.random();
                dimension +=
                    if density < 1.0 { ((1.0 - draw).ln() / (1.0 - density).ln()) as usize } else { 0 };
                if dimension >= dimensions {
                    break;
                }
                places.push((number(dimension), if random.random() { 1.0 } else { -1.0 }));
                dimension += 1;
            }
            starts.push(number(places.len()));
        }
        Self { dimensions, starts, places, scale: (1.0 / (density * dimensions as f64)).sqrt() as f32 }
    }

    /// How many dimensions there are after it.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Rows with the columns it was drawn for, projected.
    pub fn project(&self, rows: &SparseMatrix) -> SparseMatrix {
        let parts: Vec<SparseMatrix> = (0..rows.rows())
            .collect::<Vec<_>>()
            .par_chunks(1024)
            .map(|part| {
                let mut sums = Sums::new(self.dimensions);
                let mut projected = SparseMatrix::new(self.dimensions);
                for &row in part {
                    self.add_up(rows.row(row), &mut sums);
                    sums.move_into(&mut projected, self.scale);
                }
                projected
            })
            .collect();
        let mut projected = SparseMatrix::new(self.dimensions);
        for part in &parts {
            projected.append(part);
        }
        projected
    }

    /// The dimensions a column goes to, each with its sign.
    pub fn column(&self, column: u32) -> &[(u32, f32)] {
        let column = column as usize;
        &self.places[self.starts[column] as usize..self.starts[column + 1] as usize]
    }

    fn add_up(&self, row: SparseRow<'_>, sums: &mut Sums) {
        for (column, value) in row.iter() {
            for &(dimension, sign) in self.column(column) {
                sums.values[dimension as usize] += sign * value;
                sums.met[dimension as usize / 64] |= 1 << (dimension % 64);
            }
        }
    }
}

/// One row while it is added up. A bit for each dimension met gives them back
/// in order.
struct Sums {
    values: Vec<f32>,
    met: Vec<u64>,
}

impl Sums {
    fn new(dimensions: usize) -> Self {
        Self { values: vec![0.0; dimensions], met: vec![0; dimensions.div_ceil(64)] }
    }

    fn move_into(&mut self, projected: &mut SparseMatrix, scale: f32) {
        let Self { values, met } = self;
        projected.push(met.iter_mut().enumerate().flat_map(|(word, bits)| {
            let mut bits = std::mem::take(bits);
            std::iter::from_fn(move || {
                let bit = (bits != 0).then(|| bits.trailing_zeros())?;
                bits &= bits - 1;
                Some(number(word * 64) + bit)
            })
            .filter_map(|dimension| {
                let value = std::mem::take(&mut values[dimension as usize]);
                (value != 0.0).then_some((dimension, value * scale))
            })
            .collect::<Vec<_>>()
        }));
    }
}

fn number(number: usize) -> u32 {
    u32::try_from(number).expect("dimensions are numbered by 32 bits")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_are_those_of_scikit_learn() {
        assert_eq!(johnson_lindenstrauss_dimension(19_621, 0.33), 930);
        assert_eq!(johnson_lindenstrauss_dimension(1_000_000, 0.1), 11_841);
        assert_eq!(johnson_lindenstrauss_dimension(1, 0.33), 1);
    }

    /// Rows of thirty values, some shared by neighbouring rows.
    fn rows() -> SparseMatrix {
        let mut rows = SparseMatrix::new(4000);
        for row in 0..60_u32 {
            rows.push((0..30).map(|place| (place * 130 + row * 2 % 130, 1.0 + (place % 3) as f32)));
        }
        rows
    }

    #[test]
    fn lengths_are_kept_within_epsilon() {
        let rows = rows();
        let projection = Projection::new(rows.columns(), johnson_lindenstrauss_dimension(60, 0.33), 3);
        let projected = projection.project(&rows);
        for row in 0..rows.rows() {
            let change = (projected.row(row).norm() / rows.row(row).norm()).powi(2);
            assert!((0.67..1.33).contains(&change), "row {row} by {change}");
        }
    }

    #[test]
    fn projecting_is_linear() {
        let rows = rows();
        let mut sum = SparseMatrix::new(4000);
        let mut dense = vec![0.0; 4000];
        for row in [0, 1] {
            for (column, value) in rows.row(row).iter() {
                dense[column as usize] += value;
            }
        }
        sum.push((0..4000).map(|column| (column, dense[column as usize])).filter(|&(_, value)| value != 0.0));
        let projection = Projection::new(4000, 200, 5);
        let (parts, whole) = (projection.project(&rows), projection.project(&sum));
        let value = |matrix: &SparseMatrix, row: usize, column| {
            matrix.row(row).iter().find(|&(other, _)| other == column).map_or(0.0, |(_, value)| value)
        };
        for column in 0..200 {
            let both = value(&parts, 0, column) + value(&parts, 1, column);
            assert!((both - value(&whole, 0, column)).abs() < 1e-4);
        }
    }

    #[test]
    fn a_seed_gives_one_projection_with_the_density_asked_for() {
        let projection = Projection::new(4000, 500, 9);
        assert_eq!(projection.places, Projection::new(4000, 500, 9).places);
        assert_ne!(projection.places, Projection::new(4000, 500, 10).places);
        let density = projection.places.len() as f64 / (4000.0 * 500.0);
        assert!((density * 4000_f64.sqrt() - 1.0).abs() < 0.02, "{density}");
        let plus = projection.places.iter().filter(|&&(_, sign)| sign > 0.0).count() as f64;
        assert!((plus / projection.places.len() as f64 - 0.5).abs() < 0.01);
    }
}
