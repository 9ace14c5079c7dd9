//! The optimiser.

/// Adam (Kingma and Ba, 2015) with gradient clipping.
pub(super) struct Adam {
    rate: f32,
    means: Vec<f32>,
    squares: Vec<f32>,
    steps: i32,
}

const MEAN_DECAY: f32 = 0.9;
const SQUARE_DECAY: f32 = 0.999;
const EPSILON: f32 = 1e-8;
/// Gradients are clipped to this norm.
const MOST_LENGTH: f32 = 1.0;

impl Adam {
    pub(super) fn new(values: usize, rate: f32) -> Self {
        Self { rate, means: vec![0.0; values], squares: vec![0.0; values], steps: 0 }
    }

    pub(super) fn step(&mut self, values: &mut [f32], gradient: &mut [f32]) {
        self.steps += 1;
        let length = gradient.iter().map(|value| value * value).sum::<f32>().sqrt();
        if length > MOST_LENGTH {
            for value in gradient.iter_mut() {
                *value *= MOST_LENGTH / length;
            }
        }
        let rate =
            self.rate * (1.0 - SQUARE_DECAY.powi(self.steps)).sqrt() / (1.0 - MEAN_DECAY.powi(self.steps));
        let moments = self.means.iter_mut().zip(&mut self.squares);
        for ((value, gradient), (mean, square)) in values.iter_mut().zip(gradient).zip(moments) {
            *mean += (1.0 - MEAN_DECAY) * (*gradient - *mean);
            *square += (1.0 - SQUARE_DECAY) * (*gradient * *gradient - *square);
            *value -= rate * *mean / (square.sqrt() + EPSILON);
        }
    }
}
