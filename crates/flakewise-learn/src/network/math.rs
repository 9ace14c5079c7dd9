//! Matrix products and activation functions.

/// A matrix in row-major order, optionally transposed.
#[derive(Clone, Copy)]
pub(super) struct Factor<'a> {
    values: &'a [f32],
    rows: usize,
    columns: usize,
    transposed: bool,
}

impl<'a> Factor<'a> {
    pub(super) fn new(values: &'a [f32], columns: usize) -> Self {
        debug_assert_eq!(values.len() % columns, 0);
        Self { values, rows: values.len() / columns, columns, transposed: false }
    }

    pub(super) fn transposed(self) -> Self {
        Self { rows: self.columns, columns: self.rows, transposed: !self.transposed, ..self }
    }

    /// Row stride and column stride.
    #[expect(clippy::cast_possible_wrap, reason = "no slice is that long")]
    fn strides(&self) -> (isize, isize) {
        if self.transposed { (1, self.rows as isize) } else { (self.columns as isize, 1) }
    }
}

/// Sets `product` to `left` times `right`, or adds it if `add` says so.
#[expect(clippy::cast_possible_wrap, reason = "no slice is that long")]
pub(super) fn multiply(left: Factor<'_>, right: Factor<'_>, add: bool, product: &mut [f32]) {
    assert_eq!(left.columns, right.rows, "the factors fit");
    assert_eq!(product.len(), left.rows * right.columns, "the product fits");
    let ((left_row, left_column), (right_row, right_column)) = (left.strides(), right.strides());
    #[expect(unsafe_code, reason = "the crate takes pointers; lengths were checked above")]
    // SAFETY: each factor has `rows` times `columns` values by construction, and
    // its strides stay within them; so has the product, which nothing else
    // refers to.
    unsafe {
        matrixmultiply::sgemm(
            left.rows,
            left.columns,
            right.columns,
            1.0,
            left.values.as_ptr(),
            left_row,
            left_column,
            right.values.as_ptr(),
            right_row,
            right_column,
            if add { 1.0 } else { 0.0 },
            product.as_mut_ptr(),
            right.columns as isize,
            1,
        );
    }
}

/// The exponential function with a relative error below 1e-6. It has no branches,
/// so that loops over it vectorise.
#[inline]
fn exp(value: f32) -> f32 {
    // Adding and subtracting this number rounds to an integer.
    const ROUND: f32 = 12_582_912.0;
    let value = value.clamp(-87.0, 88.0);
    let power = (value * std::f32::consts::LOG2_E + ROUND) - ROUND;
    let rest = value - power * 0.693_359_4 + power * 2.121_944_4e-4;
    let series = [1.987_569_1e-4, 1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5];
    let sum = series.iter().fold(0.0, |sum, term| sum * rest + term);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 254")]
    let scale = f32::from_bits(((power as i32 + 127) as u32) << 23);
    (sum * rest * rest + rest + 1.0) * scale
}

/// The logistic function.
#[inline]
pub(super) fn sigmoid(value: f32) -> f32 {
    1.0 / (1.0 + exp(-value))
}

/// The hyperbolic tangent.
#[inline]
pub(super) fn tanh(value: f32) -> f32 {
    2.0 * sigmoid(2.0 * value) - 1.0
}

/// Softmax, in place.
pub(super) fn softmax(values: &mut [f32]) {
    let largest = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    for value in values.iter_mut() {
        *value = exp(*value - largest);
    }
    let sum: f32 = values.iter().sum();
    for value in values.iter_mut() {
        *value /= sum;
    }
}

/// The binary cross-entropy of a score in log-odds.
pub(super) fn cross_entropy(score: f32, label: bool) -> f64 {
    let against = f64::from(if label { -score } else { score });
    against.max(0.0) + (-against.abs()).exp().ln_1p()
}

pub(super) fn dot(left: &[f32], right: &[f32]) -> f32 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}

/// Adds `scale` times a vector.
pub(super) fn add_scaled(sum: &mut [f32], vector: &[f32], scale: f32) {
    sum.iter_mut().zip(vector).for_each(|(sum, value)| *sum += scale * value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_near_those_of_the_standard_library() {
        for step in -2000_i16..=2000 {
            let value = f32::from(step) / 50.0;
            assert!((exp(value) / value.exp() - 1.0).abs() < 1e-6, "exp({value})");
            assert!((tanh(value) - value.tanh()).abs() < 1e-6, "tanh({value})");
            let expected = 1.0 / (1.0 + (-f64::from(value)).exp());
            assert!((f64::from(sigmoid(value)) - expected).abs() < 1e-6, "sigmoid({value})");
        }
        assert!(exp(-1e9) >= 0.0 && exp(1e9).is_finite());
    }

    fn same(left: &[f32], right: &[f32]) {
        let near = left.iter().zip(right).all(|(left, right)| (left - right).abs() < 1e-6);
        assert!(near && left.len() == right.len(), "{left:?} and {right:?}");
    }

    #[test]
    fn products_of_matrices_either_way_round() {
        let (left, right) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, 0.0, 2.0, 1.0, 0.0, 3.0]);
        let mut product = [0.0; 4];
        multiply(Factor::new(&left, 3), Factor::new(&right, 2), false, &mut product);
        same(&product, &[5.0, 11.0, 14.0, 23.0]);
        multiply(Factor::new(&left, 3), Factor::new(&right, 3).transposed(), true, &mut product);
        same(&product, &[5.0 + 7.0, 11.0 + 10.0, 14.0 + 16.0, 23.0 + 22.0]);
        let mut product = [0.0; 9];
        multiply(Factor::new(&left, 3).transposed(), Factor::new(&right, 3), false, &mut product);
        same(&product, &[5.0, 0.0, 14.0, 7.0, 0.0, 19.0, 9.0, 0.0, 24.0]);
    }
}
