//! Which shapes explain the rates over time, one after the other, and what each costs.

use super::noise::{inflation, standard_normal, variance};
use super::segment;
use super::shape::{Centred, Shape};
use super::square_wave;
use super::typical::Typical;
use super::{SAME_PERIOD, TimeOptions, TimePattern, TimePatternKind, TimedSample};
use crate::{Estimate, Interval, normal_cdf, normal_quantile};

/// Most shapes.
const MOST: usize = 4;
/// A slow part of a wave that takes less than this share of the period is a stall.
const STALL: f64 = 0.3;
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
    samples: &[TimedSample],
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
    let found = shapes.iter().zip(&factors).zip(&columns).map(|((shape, factor), column)| {
        let error = half * (variance * inflation / data.product(column, column).max(1e-12)).sqrt();
        // The values without the other shapes.
        let own: Vec<f64> = left.iter().zip(column).map(|(left, value)| left + factor * value).collect();
        described(&data, &own, *shape, *factor, error, busy_s)
    });
    let patterns = found.flatten().collect();
    let (first_s, last_s) = (data.first_s, data.last_s);
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

/// The slow part of a shape: when, how slow, at what cost. None for a shape that is faster for a time only.
fn described(
    data: &Centred<'_>,
    own: &[f64],
    shape: Shape,
    factor: f64,
    error: f64,
    busy_s: f64,
) -> Option<TimePattern> {
    let n = data.samples.len();
    let (first, last) = (data.first_s, data.last_s);
    let spacing = data.samples.iter().map(|sample| sample.wall_s).sum::<f64>() / n as f64;
    let pattern = |kind, start_s: f64, length_s: f64, speed: f64| TimePattern {
        kind,
        start_s,
        start_error_s: spacing,
        start_bytes: 0.0,
        length_s,
        period_s: None,
        occurrences: 1,
        is_open: false,
        speed,
        cost: Estimate { value: 0.0, interval: None, n },
    };
    // Share of the time that is lost in a part of shape x with this factor.
    let lost = |factor: f64, x: &dyn Fn(&TimedSample) -> f64| {
        let sum: f64 = data.samples.iter().map(|sample| sample.busy_s * -(factor * x(sample)).exp_m1()).sum();
        sum / busy_s
    };
    let over = |sample: &TimedSample| shape.over(sample, first, last);
    match shape {
        Shape::Line => {
            // Measured from the faster end.
            let from_faster =
                |sample: &TimedSample| if factor < 0.0 { over(sample) } else { 1.0 - over(sample) };
            let found = pattern(TimePatternKind::Drift, first, last - first, factor.exp());
            let cost = |factor: f64| lost(-factor.abs(), &from_faster);
            Some(TimePattern { is_open: true, cost: between(&cost, factor, error, n), ..found })
        }
        Shape::Segment { from_s, to_s } => {
            let (is_start, is_end) = (from_s < first, to_s > last);
            let slow = if factor < 0.0 {
                shape
            } else if is_start {
                Shape::Segment { from_s: to_s, to_s: f64::INFINITY }
            } else if is_end {
                Shape::Segment { from_s: f64::NEG_INFINITY, to_s: from_s }
            } else {
                return None;
            };
            let Shape::Segment { from_s, to_s } = slow else { return None };
            let (start, end) = (from_s.max(first), to_s.min(last));
            let found = pattern(TimePatternKind::LevelChange, start, end - start, (-factor.abs()).exp());
            let within = |sample: &TimedSample| slow.over(sample, first, last);
            let simple = |factor: f64| lost(-factor.abs(), &within);
            let ratio = per_cell(data, own, slow, -factor.abs()) / busy_s / simple(factor).max(1e-12);
            let cost = |factor: f64| ratio * simple(factor);
            Some(TimePattern { is_open: to_s > last, cost: between(&cost, factor, error, n), ..found })
        }
        Shape::Wave { period_s, phase_s, duty } => {
            let slow = factor < 0.0;
            let share = if slow { duty } else { 1.0 - duty };
            let phase = if slow { phase_s } else { phase_s + duty * period_s };
            let kind = if share < STALL {
                TimePatternKind::PeriodicStall
            } else {
                TimePatternKind::AlternatingSpeed
            };
            let before = ((phase - first) / period_s).floor();
            let found = pattern(kind, phase - before * period_s, share * period_s, (-factor.abs()).exp());
            let within = |sample: &TimedSample| if slow { over(sample) } else { 1.0 - over(sample) };
            let cost = |factor: f64| lost(-factor.abs(), &within);
            Some(TimePattern {
                period_s: Some(period_s),
                occurrences: ((last - found.start_s) / period_s).ceil().max(1.0) as usize,
                is_open: true,
                cost: between(&cost, factor, error, n),
                ..found
            })
        }
    }
}

/// The cost at a factor, and at both ends of its interval.
fn between(cost: &dyn Fn(f64) -> f64, factor: f64, error: f64, n: usize) -> Estimate {
    let size = factor.abs();
    let interval = Interval::new(cost((size - error).max(0.0)), cost(size + error));
    Estimate { value: cost(size), interval: Some(interval), n }
}

/// Seconds that a slow segment cost. A limit may concern some cells and not others, so each cell with enough samples on
/// both sides has a factor of its own.
fn per_cell(data: &Centred<'_>, own: &[f64], slow: Shape, factor: f64) -> f64 {
    const FEWEST: usize = 3;
    let cells = data.samples.iter().map(|sample| sample.cell + 1).max().unwrap_or(0);
    let mut sides = vec![[(0.0, 0), (0.0, 0)]; cells];
    let within = |sample: &TimedSample| slow.over(sample, data.first_s, data.last_s) > 0.5;
    for (sample, value) in data.samples.iter().zip(own) {
        let (sum, count) = &mut sides[sample.cell][usize::from(within(sample))];
        *sum += value;
        *count += 1;
    }
    let of_cell = |cell: usize| {
        let [(out, outside), (inner, inside)] = sides[cell];
        let enough = outside >= FEWEST && inside >= FEWEST;
        if enough { inner / inside as f64 - out / outside as f64 } else { factor }
    };
    data.samples
        .iter()
        .filter(|sample| within(sample))
        .map(|sample| sample.busy_s * -of_cell(sample.cell).exp_m1())
        .sum()
}
