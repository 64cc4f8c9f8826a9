//! Which shapes explain the rates over time, one after the other, and what each costs.

use super::fitted::Fitted;
use super::noise::{inflation, standard_normal, variance};
use super::segment;
use super::shape::{Centred, Shape};
use super::square_wave;
use super::typical::Typical;
use super::{SAME_PERIOD, TimeOptions, TimePattern, TimedSample};
use crate::{normal_cdf, normal_quantile};

/// Most shapes.
const MOST: usize = 4;
/// Levels whose logarithms differ by more than this are far from each other.
const FAR: f64 = 0.3;
/// Kinds of shapes, each of which has its part of the error.
const KINDS: f64 = 3.0;

/// A shape that might explain what is left.
struct Candidate {
    shape: Shape,
    /// Weighted sum of squares that it explains, less the price of its parameters.
    worth: f64,
    /// Probability of as much by chance.
    chance: f64,
}

/// Shapes that explain the rates over time.
pub(super) struct Explanation {
    pub(super) patterns: Vec<TimePattern>,
    shapes: Vec<(Shape, f64)>,
    first_s: f64,
    last_s: f64,
}

impl Explanation {
    /// True if a level is far from the others: stops have to be looked for again, from their own level.
    pub(super) fn has_levels(&self) -> bool {
        self.shapes.iter().any(|(shape, factor)| matches!(shape, Shape::Segment { .. }) && factor.abs() > FAR)
    }

    /// Logarithm of the rate of a sample, as the shapes explain it, relative to the typical rate of its cell.
    pub(super) fn level(&self, sample: &TimedSample) -> f64 {
        self.shapes.iter().map(|(shape, factor)| factor * shape.over(sample, self.first_s, self.last_s)).sum()
    }
}

/// The patterns in samples that move something. `periods` are those of stops, around which work may be slow as well.
pub(super) fn explain(
    samples: &[&TimedSample],
    typical: &Typical,
    busy_s: f64,
    periods: &[f64],
    options: TimeOptions,
) -> Explanation {
    let data = Centred::new(samples, typical);
    let mut shapes: Vec<Shape> = Vec::new();
    let mut columns: Vec<Vec<f64>> = Vec::new();
    while shapes.len() < MOST {
        let left = data.winsorised(&data.fit(&columns).1);
        let Some(next) = best(&data, &left, &shapes, periods) else { break };
        if next.chance > options.error / KINDS {
            break;
        }
        columns.push(data.column(next.shape));
        shapes.push(next.shape);
    }
    let (factors, left) = data.fit(&columns);
    let variance = variance(&data, &left, shapes.len());
    let inflation = inflation(&data, &left, variance);
    let half = normal_quantile(f64::midpoint(1.0, options.level));
    let fitted = shapes.iter().zip(&factors).zip(&columns).map(|((shape, factor), column)| Fitted {
        data: &data,
        shape: *shape,
        factor: *factor,
        error: half * (variance * inflation / data.product(column, column).max(1e-12)).sqrt(),
        variance: variance * inflation,
        own: left.iter().zip(column).map(|(left, value)| left + factor * value).collect(),
        busy_s,
    });
    let patterns = fitted.filter_map(|fitted| fitted.pattern()).collect();
    let first_s = data.first_s;
    let last_s = data.last_s;
    Explanation { patterns, shapes: shapes.into_iter().zip(factors).collect(), first_s, last_s }
}

fn best(data: &Centred<'_>, left: &[f64], shapes: &[Shape], periods: &[f64]) -> Option<Candidate> {
    let known = shapes.len();
    let taken: Vec<f64> = shapes
        .iter()
        .filter_map(|shape| match shape {
            Shape::Wave { period_s, .. } => Some(*period_s),
            Shape::Line | Shape::Segment { .. } => None,
        })
        .collect();
    let n = left.len() as f64;
    let weighed = |shape: Shape, parameters: f64| {
        let column = data.column(shape);
        let size = data.product(&column, &column);
        let factor = if size > 1e-12 { data.product(&column, left) / size } else { 0.0 };
        let after: Vec<f64> = left.iter().zip(&column).map(|(left, value)| left - factor * value).collect();
        let variance = variance(data, &after, known + 1);
        let gain = factor * factor * size;
        let z = standard_normal(gain / variance / inflation(data, &after, variance));
        (gain - parameters * n.ln() * variance, z)
    };
    let normal = |z: f64, tries: f64| (2.0 * normal_cdf(-z) * tries).min(1.0);
    let mut candidates = Vec::new();
    let (worth, z) = weighed(Shape::Line, 1.0);
    candidates.push(Candidate { shape: Shape::Line, worth, chance: normal(z, 1.0) });
    for (shape, parameters, tries) in segment::best(data, left) {
        let (worth, z) = weighed(shape, parameters);
        candidates.push(Candidate { shape, worth, chance: normal(z, tries) });
    }
    if let Some(wave) = square_wave::best(data, left, variance(data, left, known), &taken) {
        let (worth, z) = weighed(wave.shape, 4.0);
        let of_power = (wave.tries * (-wave.power).exp()).min(1.0);
        candidates.push(Candidate { shape: wave.shape, worth, chance: normal(z, wave.tries).max(of_power) });
    }
    for period in periods
        .iter()
        .filter(|period| !taken.iter().any(|taken| (*period / taken - 1.0).abs() <= SAME_PERIOD))
    {
        if let Some(shape) = square_wave::with_period(data, left, *period) {
            let (worth, z) = weighed(shape, 4.0);
            candidates.push(Candidate { shape, worth, chance: normal(z, square_wave::PHASES) });
        }
    }
    candidates.into_iter().max_by(|a, b| a.worth.total_cmp(&b.worth))
}
