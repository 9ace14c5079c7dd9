//! Tables of numbers, a row for each thing that is trained on.

use std::collections::HashMap;
use std::ops::Range;

/// Rows of which most columns are zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SparseMatrix {
    columns: usize,
    starts: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f32>,
}

impl SparseMatrix {
    /// An empty table with this many columns.
    pub fn new(columns: usize) -> Self {
        Self { columns, starts: vec![0], indices: Vec::new(), values: Vec::new() }
    }

    /// Adds a row. Columns must rise and be within the table.
    pub fn push(&mut self, row: impl IntoIterator<Item = (u32, f32)>) {
        let start = self.indices.len();
        for (column, value) in row {
            assert!((column as usize) < self.columns, "a column is within the table");
            assert!(self.indices[start..].last().is_none_or(|&last| last < column), "columns rise");
            self.indices.push(column);
            self.values.push(value);
        }
        self.starts.push(self.indices.len());
    }

    /// Adds all rows of another table with as many columns.
    pub fn append(&mut self, other: &Self) {
        assert_eq!(self.columns, other.columns, "columns are the same");
        let before = self.indices.len();
        self.indices.extend_from_slice(&other.indices);
        self.values.extend_from_slice(&other.values);
        self.starts.extend(other.starts[1..].iter().map(|start| before + start));
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// How many columns there are.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// One row.
    pub fn row(&self, row: usize) -> SparseRow<'_> {
        let span = self.starts[row]..self.starts[row + 1];
        SparseRow { indices: &self.indices[span.clone()], values: &self.values[span] }
    }

    /// How many values are not zero.
    pub fn stored(&self) -> usize {
        self.indices.len()
    }

    /// Rows and columns exchanged.
    #[must_use]
    pub fn transpose(&self) -> Self {
        let mut starts = vec![0; self.columns + 1];
        for &column in &self.indices {
            starts[column as usize + 1] += 1;
        }
        for column in 0..self.columns {
            starts[column + 1] += starts[column];
        }
        let mut next = starts.clone();
        let mut indices = vec![0; self.indices.len()];
        let mut values = vec![0.0; self.values.len()];
        for row in 0..self.rows() {
            let number = u32::try_from(row).expect("rows are numbered by 32 bits");
            for (column, value) in self.row(row).iter() {
                let place = &mut next[column as usize];
                indices[*place] = number;
                values[*place] = value;
                *place += 1;
            }
        }
        Self { columns: self.rows(), starts, indices, values }
    }

    /// Every row divided by its length; a row of zeros stays as it is.
    #[must_use]
    pub fn normalised(mut self) -> Self {
        for span in self.starts.windows(2) {
            let values = &mut self.values[span[0]..span[1]];
            let norm = norm(values);
            if norm > 0.0 {
                for value in values {
                    *value /= norm;
                }
            }
        }
        self
    }

    /// The same table with zeros in some columns.
    #[must_use]
    pub fn without(&self, columns: Range<u32>) -> Self {
        let mut without = Self::new(self.columns);
        for row in 0..self.rows() {
            let row = self.row(row);
            let start = row.indices.partition_point(|&column| column < columns.start);
            let end = row.indices.partition_point(|&column| column < columns.end);
            without.indices.extend(row.indices[..start].iter().chain(&row.indices[end..]));
            without.values.extend(row.values[..start].iter().chain(&row.values[end..]));
            without.starts.push(without.indices.len());
        }
        without
    }

    /// The given rows, in that order.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        let mut selected = Self::new(self.columns);
        for &row in rows {
            let row = self.row(row);
            selected.indices.extend_from_slice(row.indices);
            selected.values.extend_from_slice(row.values);
            selected.starts.push(selected.indices.len());
        }
        selected
    }
}

/// One row of a [`SparseMatrix`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SparseRow<'a> {
    /// The columns that are not zero, rising.
    pub indices: &'a [u32],
    /// Their values.
    pub values: &'a [f32],
}

impl<'a> SparseRow<'a> {
    /// The first columns of it, at most this many.
    #[must_use]
    pub fn first(self, columns: usize) -> SparseRow<'a> {
        let columns = columns.min(self.indices.len());
        SparseRow { indices: &self.indices[..columns], values: &self.values[..columns] }
    }

    /// Columns with their values.
    pub fn iter(self) -> impl Iterator<Item = (u32, f32)> + use<'a> {
        self.indices.iter().copied().zip(self.values.iter().copied())
    }

    /// The length as a vector.
    pub fn norm(&self) -> f32 {
        norm(self.values)
    }
}

/// Summed in double precision: long rows would lose digits otherwise.
#[expect(clippy::cast_possible_truncation, reason = "values have single precision")]
fn norm(values: &[f32]) -> f32 {
    values.iter().map(|&value| f64::from(value) * f64::from(value)).sum::<f64>().sqrt() as f32
}

/// Rows of which every column is given. A missing value is NaN.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DenseMatrix {
    columns: usize,
    values: Vec<f32>,
}

impl DenseMatrix {
    /// An empty table with this many columns.
    pub fn new(columns: usize) -> Self {
        Self { columns, values: Vec::new() }
    }

    /// Adds a row.
    pub fn push(&mut self, row: &[f32]) {
        assert_eq!(row.len(), self.columns, "a row fills the table");
        self.values.extend_from_slice(row);
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.values.len().checked_div(self.columns).unwrap_or(0)
    }

    /// How many columns there are.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// One row.
    pub fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.columns..][..self.columns]
    }

    /// So many rows from `start` on, row after row.
    pub(crate) fn block(&self, start: usize, rows: usize) -> &[f32] {
        &self.values[start * self.columns..][..rows * self.columns]
    }

    /// The first of all rows that are the same to the bit, and for each row its
    /// place among those.
    pub(crate) fn distinct_rows(&self) -> (Vec<usize>, Vec<usize>) {
        let bits: Vec<u32> = self.values.iter().map(|value| value.to_bits()).collect();
        let mut places = HashMap::with_capacity(self.rows());
        let mut first = Vec::new();
        let place = |(row, bits)| {
            *places.entry(bits).or_insert_with(|| {
                first.push(row);
                first.len() - 1
            })
        };
        let alike = bits.chunks_exact(self.columns.max(1)).enumerate().map(place).collect();
        (first, alike)
    }

    /// The given rows, in that order.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        let mut selected = Self::new(self.columns);
        for &row in rows {
            selected.push(self.row(row));
        }
        selected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_cleared_and_the_others_stay() {
        let mut table = SparseMatrix::new(5);
        table.push([(0, 1.0), (2, 2.0), (4, 3.0)]);
        table.push([(1, 4.0), (2, 5.0)]);
        table.push([]);
        let without = table.without(1..3);
        let mut expected = SparseMatrix::new(5);
        expected.push([(0, 1.0), (4, 3.0)]);
        expected.push([]);
        expected.push([]);
        assert_eq!(without, expected);
        assert_eq!(table.without(0..0), table);
    }
}
