//! Nonlinear least squares for a handful of parameters.
//!
//! Source: Marquardt, SIAM J. Appl. Math. 11 (1963) 431, with parameters kept at or above their bounds.

/// A fitted model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fit<const P: usize> {
    pub parameters: [f64; P],
    /// Standard errors; none for parameters at their bound, and none at all without degrees of freedom.
    pub errors: [Option<f64>; P],
    /// Residual standard error: root of the squared error per degree of freedom.
    pub residual: f64,
}

const ITERATIONS: usize = 500;

/// Minimises the squared residuals from `start`, parameters at or above `least`. None when residuals are
/// not finite at the start.
pub(crate) fn least_squares<const P: usize>(
    start: [f64; P],
    least: [f64; P],
    residuals: impl Fn(&[f64; P]) -> Vec<f64>,
) -> Option<Fit<P>> {
    let scale = start.map(f64::abs);
    let mut at = start;
    let mut current = residuals(&at);
    let mut error = squares(&current);
    if !error.is_finite() {
        return None;
    }
    let mut damping = 1e-3;
    for _ in 0..ITERATIONS {
        let (matrix, gradient) = normal_equations(&at, &scale, &current, &residuals);
        // A parameter at its bound stays there unless the error falls inwards.
        let free = std::array::from_fn(|i| at[i] > least[i] || gradient[i] < 0.0);
        let Some(step) = solve(damped(matrix, damping), gradient, free) else { break };
        let next: [f64; P] = std::array::from_fn(|i| (at[i] - step[i]).max(least[i]));
        let there = residuals(&next);
        let reached = squares(&there);
        if reached <= error {
            let moved = (0..P).any(|i| (next[i] - at[i]).abs() > 1e-12 * (scale[i] + at[i].abs()));
            (at, current, error) = (next, there, reached);
            // Success: the next step is closer to Gauss-Newton, which converges fast near the minimum.
            damping = (damping / 10.0).max(1e-12);
            if !moved {
                break;
            }
        } else {
            // Failure: the next step is closer to a short step down the gradient.
            damping *= 10.0;
            if damping > 1e12 {
                break;
            }
        }
    }
    let (matrix, _) = normal_equations(&at, &scale, &current, &residuals);
    let degrees_of_freedom = current.len().saturating_sub(P);
    let variance = if degrees_of_freedom == 0 { f64::NAN } else { error / degrees_of_freedom as f64 };
    let free: [bool; P] = std::array::from_fn(|i| at[i] > least[i]);
    let errors = std::array::from_fn(|i| {
        let unit: [f64; P] = std::array::from_fn(|j| f64::from(u8::from(i == j)));
        let inverse = solve(matrix, unit, free).filter(|_| free[i])?;
        Some((inverse[i] * variance).sqrt()).filter(|error| error.is_finite())
    });
    Some(Fit { parameters: at, errors, residual: variance.max(0.0).sqrt() })
}

fn squares(residuals: &[f64]) -> f64 {
    residuals.iter().map(|r| r * r).sum()
}

type Matrix<const P: usize> = [[f64; P]; P];

/// J'J and J'r by central differences, one-sided at zero.
fn normal_equations<const P: usize>(
    at: &[f64; P],
    scale: &[f64; P],
    current: &[f64],
    residuals: &impl Fn(&[f64; P]) -> Vec<f64>,
) -> (Matrix<P>, [f64; P]) {
    let columns: [Vec<f64>; P] = std::array::from_fn(|i| {
        let width = 1e-5 * at[i].abs().max(1e-3 * scale[i]);
        let mut above = *at;
        let mut below = *at;
        above[i] += width;
        below[i] -= if at[i] > width { width } else { 0.0 };
        let span = above[i] - below[i];
        residuals(&above).iter().zip(residuals(&below)).map(|(high, low)| (high - low) / span).collect()
    });
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    (
        std::array::from_fn(|i| std::array::from_fn(|j| dot(&columns[i], &columns[j]))),
        std::array::from_fn(|i| dot(&columns[i], current)),
    )
}

fn damped<const P: usize>(mut matrix: Matrix<P>, damping: f64) -> Matrix<P> {
    for (i, row) in matrix.iter_mut().enumerate() {
        row[i] *= 1.0 + damping;
    }
    matrix
}

/// Gauss-Jordan with pivoting over the free parameters; the others get 0. None when singular.
fn solve<const P: usize>(mut matrix: Matrix<P>, mut right: [f64; P], free: [bool; P]) -> Option<[f64; P]> {
    for i in (0..P).filter(|i| !free[*i]) {
        for row in &mut matrix {
            row[i] = 0.0;
        }
        matrix[i] = [0.0; P];
        (matrix[i][i], right[i]) = (1.0, 0.0);
    }
    for column in 0..P {
        let pivot =
            (column..P).max_by(|a, b| matrix[*a][column].abs().total_cmp(&matrix[*b][column].abs()))?;
        matrix.swap(column, pivot);
        right.swap(column, pivot);
        let head = matrix[column][column];
        // Singular: two parameters have the same effect on these points.
        if head == 0.0 || !head.is_finite() {
            return None;
        }
        for row in (0..P).filter(|row| *row != column) {
            let factor = matrix[row][column] / head;
            let pivoted = matrix[column];
            matrix[row].iter_mut().zip(pivoted).for_each(|(x, y)| *x -= factor * y);
            right[row] -= factor * right[column];
        }
    }
    Some(std::array::from_fn(|i| right[i] / matrix[i][i]))
}
