//! Tables of numbers, a row for each thing that is learnt from.

/// Rows of which most columns are zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SparseMatrix {
    columns: usize,
    starts: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f32>,
}

impl SparseMatrix {
    /// An empty table with so many columns.
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

impl SparseRow<'_> {
    /// Columns with their values.
    pub fn iter(&self) -> impl Iterator<Item = (u32, f32)> + '_ {
        self.indices.iter().copied().zip(self.values.iter().copied())
    }

    /// The length as a vector.
    pub fn norm(&self) -> f32 {
        self.values.iter().map(|value| value * value).sum::<f32>().sqrt()
    }
}

/// Rows of which every column is given. A missing value is NaN.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DenseMatrix {
    columns: usize,
    values: Vec<f32>,
}

impl DenseMatrix {
    /// An empty table with so many columns.
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
