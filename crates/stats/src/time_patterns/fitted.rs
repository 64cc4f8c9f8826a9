//! Shapes as patterns: when the slow part is, how slow, and what it costs.

use super::shape::{Centred, Shape};
use super::{TimePattern, TimePatternKind, TimedSample};
use crate::{Estimate, Interval};

/// A slow part of a wave that takes less than this share of the period is a stall.
const STALL: f64 = 0.3;

/// An edge of a segment may lie where the likelihood ratio (twice its logarithm) to the best edge is at most this: 95 % of
/// change points (Hansen, Econometrica 68 (2000) 575).
const EDGE_RATIO: f64 = 7.35;

/// A shape with the factor that the logarithm of the rate has in it.
pub(super) struct Fitted<'a> {
    pub(super) data: &'a Centred<'a>,
    pub(super) shape: Shape,
    pub(super) factor: f64,
    /// Half of the interval of the factor.
    pub(super) error: f64,
    /// Variance of the values, correlation over time included.
    pub(super) variance: f64,
    /// What the samples show of this shape: their values without the other shapes.
    pub(super) own: Vec<f64>,
    /// Busy time of all samples in seconds.
    pub(super) busy_s: f64,
}

impl Fitted<'_> {
    /// The slow part as a pattern; none for a shape that is faster for a time only.
    pub(super) fn pattern(&self) -> Option<TimePattern> {
        match self.shape {
            Shape::Line => Some(self.line()),
            Shape::Segment { from_s, to_s } => self.segment(from_s, to_s),
            Shape::Wave { period_s, phase_s, duty } => Some(self.wave(period_s, phase_s, duty)),
        }
    }

    fn line(&self) -> TimePattern {
        let first = self.data.first_s;
        let last = self.data.last_s;
        // Measured from the faster end.
        let from_faster = |sample: &TimedSample| {
            let over = self.shape.over(sample, first, last);
            if self.factor < 0.0 { over } else { 1.0 - over }
        };
        let cost = self.between(&|size| self.lost(size, &from_faster));
        TimePattern {
            is_open: true,
            cost,
            speed: self.factor.exp(),
            ..self.slow_part(TimePatternKind::Drift, first, last - first)
        }
    }

    fn segment(&self, from_s: f64, to_s: f64) -> Option<TimePattern> {
        let first = self.data.first_s;
        let last = self.data.last_s;
        let (from_s, to_s) = match (self.factor < 0.0, from_s < first, to_s > last) {
            (true, ..) => (from_s, to_s),
            (false, true, _) => (to_s, f64::INFINITY),
            (false, false, true) => (f64::NEG_INFINITY, from_s),
            (false, false, false) => return None,
        };
        let slow = Shape::Segment { from_s, to_s };
        let within = |sample: &TimedSample| slow.over(sample, first, last);
        let ratio = self.per_cell(&within) / self.busy_s / self.lost(self.factor.abs(), &within).max(1e-12);
        let cost = self.between(&|size| ratio * self.lost(size, &within));
        let (start, error) = if from_s > first { self.edge(from_s) } else { (first, 0.0) };
        let found = self.slow_part(TimePatternKind::LevelChange, start, to_s.min(last) - start);
        Some(TimePattern { is_open: to_s > last, cost, start_error_s: error, ..found })
    }

    /// The instant of the edge of a slow segment that begins with the sample at `from_s`, and half of the time in which it
    /// may lie: from the start of the last sample before it to the end of the first one after it, the time between them
    /// included, for every sample that may be the first.
    fn edge(&self, from_s: f64) -> (f64, f64) {
        let samples = self.data.samples;
        let column = self.data.column(self.shape);
        let size = -self.factor.abs();
        let first_slow = samples.partition_point(|sample| sample.start_s < from_s);
        // By how much the fit is worse if a sample is on the other side of the edge.
        let worse = |at: usize, other_side: f64| {
            let left = self.own[at] - self.factor * column[at];
            self.data.weights[at] * (2.0 * left * other_side + other_side * other_side) / self.variance
        };
        let reach = |sides: &mut dyn Iterator<Item = (usize, f64)>| {
            let mut ratio = 0.0;
            let mut reached = None;
            for (at, other_side) in sides {
                ratio += worse(at, other_side);
                if ratio <= EDGE_RATIO {
                    reached = Some(at);
                }
            }
            reached
        };
        let earliest = reach(&mut (0..first_slow).rev().map(|at| (at, -size))).unwrap_or(first_slow);
        let latest =
            reach(&mut (first_slow..samples.len()).map(|at| (at, size))).map_or(first_slow, |at| at + 1);
        let from = samples[earliest.saturating_sub(1)].start_s;
        let to = samples[latest.min(samples.len() - 1)].end_s();
        (f64::midpoint(from, to), (to - from) / 2.0)
    }

    fn wave(&self, period_s: f64, phase_s: f64, duty: f64) -> TimePattern {
        let first = self.data.first_s;
        let last = self.data.last_s;
        let is_slow = self.factor < 0.0;
        let share = if is_slow { duty } else { 1.0 - duty };
        let phase = if is_slow { phase_s } else { phase_s + duty * period_s };
        let kind =
            if share < STALL { TimePatternKind::PeriodicStall } else { TimePatternKind::AlternatingSpeed };
        let start = phase - ((phase - first) / period_s).floor() * period_s;
        let within = |sample: &TimedSample| {
            let over = self.shape.over(sample, first, last);
            if is_slow { over } else { 1.0 - over }
        };
        TimePattern {
            period_s: Some(period_s),
            occurrences: ((last - start) / period_s).ceil().max(1.0) as usize,
            is_open: true,
            cost: self.between(&|size| self.lost(size, &within)),
            ..self.slow_part(kind, start, share * period_s)
        }
    }

    /// A pattern without its cost.
    fn slow_part(&self, kind: TimePatternKind, start_s: f64, length_s: f64) -> TimePattern {
        let n = self.data.samples.len();
        TimePattern {
            kind,
            start_s,
            start_error_s: self.data.samples.iter().map(|sample| sample.wall_s).sum::<f64>() / n as f64,
            start_bytes: 0.0,
            length_s,
            period_s: None,
            occurrences: 1,
            is_open: false,
            speed: (-self.factor.abs()).exp(),
            cost: Estimate { value: 0.0, interval: None, n },
        }
    }

    /// Share of the busy time that is lost if the logarithm of the rate is lower by `size` where `within` is 1.
    fn lost(&self, size: f64, within: &dyn Fn(&TimedSample) -> f64) -> f64 {
        let lost = |sample: &&TimedSample| sample.busy_s * -(-size * within(sample)).exp_m1();
        self.data.samples.iter().map(lost).sum::<f64>() / self.busy_s
    }

    /// The cost at the size of the factor, and at both ends of its interval.
    fn between(&self, cost: &dyn Fn(f64) -> f64) -> Estimate {
        let size = self.factor.abs();
        let interval = Interval::new(cost((size - self.error).max(0.0)), cost(size + self.error));
        Estimate { value: cost(size), interval: Some(interval), n: self.data.samples.len() }
    }

    /// Seconds that a slow segment cost. A limit may concern some cells and not others, so each cell with enough samples
    /// on both sides has a factor of its own.
    fn per_cell(&self, within: &dyn Fn(&TimedSample) -> f64) -> f64 {
        const FEWEST: usize = 3;
        let samples = self.data.samples;
        let cells = samples.iter().map(|sample| sample.cell + 1).max().unwrap_or(0);
        let mut sides = vec![[(0.0, 0), (0.0, 0)]; cells];
        let is_inside = |sample: &TimedSample| within(sample) > 0.5;
        for (sample, value) in samples.iter().zip(&self.own) {
            let (sum, count) = &mut sides[sample.cell][usize::from(is_inside(sample))];
            *sum += value;
            *count += 1;
        }
        let factor = |cell: usize| {
            let [(out, outside), (inner, inside)] = sides[cell];
            let enough = outside >= FEWEST && inside >= FEWEST;
            if enough { inner / inside as f64 - out / outside as f64 } else { -self.factor.abs() }
        };
        samples
            .iter()
            .filter(|sample| is_inside(sample))
            .map(|sample| sample.busy_s * -f64::exp_m1(factor(sample.cell)))
            .sum()
    }
}
