//! The square wave that explains most: its period by Lomb and Scargle's periodogram, its edges by box least squares.

use super::shape::{Centred, Shape};

/// Frequencies per 1/span.
const OVERSAMPLED: f64 = 3.0;
/// Most frequencies, and most bins of time, that are examined.
const MAX_FREQUENCIES: usize = 4000;
const MAX_BINS: usize = 8192;
/// Fewest periods within the span.
const FEWEST_PERIODS: f64 = 4.0;
/// The shortest period has at least this number of samples.
const SAMPLES_PER_PERIOD: f64 = 4.0;
/// Bins of a folded period, and the share of them that the slow part may take.
const FOLDED: usize = 60;
const DUTY: (usize, usize) = (3, 57);

/// Number of square waves with one period.
pub(super) const PHASES: f64 = (FOLDED * FOLDED) as f64;

/// A square wave with the power of its fundamental, and the number of frequencies among which it was chosen.
pub(super) struct Wave {
    pub(super) shape: Shape,
    /// Power in units of the variance: exponential with mean 1 for independent noise.
    pub(super) power: f64,
    pub(super) tries: f64,
}

/// The best square wave in `left`, whose residuals of weight 1 have this variance; none in a span of few periods. What is
/// left of a wave that is `taken` (its period) is at its overtones, and no further wave.
pub(super) fn best(data: &Centred<'_>, left: &[f64], variance: f64, taken: &[f64]) -> Option<Wave> {
    let span = data.last_s - data.first_s;
    let n = left.len();
    let spacing = span / n as f64;
    let lowest = FEWEST_PERIODS / span;
    let highest =
        (1.0 / (SAMPLES_PER_PERIOD * spacing)).min(lowest + MAX_FREQUENCIES as f64 / (OVERSAMPLED * span));
    let count = ((highest - lowest) * OVERSAMPLED * span) as usize;
    if count < 2 {
        return None;
    }
    let mut powers = periodogram(data, left, lowest, count, variance);
    let floor = floor(&powers);
    let frequency = |at: usize| lowest + at as f64 / (OVERSAMPLED * span);
    for (at, power) in powers.iter_mut().enumerate() {
        if taken.iter().any(|period| is_related(frequency(at) * period, period / span)) {
            *power = 0.0;
        }
    }
    let (peak, power) = powers
        .iter()
        .enumerate()
        .map(|(at, power)| (at, power / floor[at]))
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    let frequency = frequency(peak);
    // The fundamental of a short slow part is hardly larger than its overtones: the longer periods are tried too.
    let periods = [1.0, 2.0, 3.0].map(|factor| factor / frequency);
    let fitted = periods.into_iter().filter(|period| period * FEWEST_PERIODS <= span * 1.01);
    let mut shapes: Vec<(Shape, f64)> =
        fitted.filter_map(|period| folded(data, left, period, span)).collect();
    // A multiple of the period fits as well: the shortest one that explains nearly as much is taken.
    let most = shapes.iter().map(|(_, gain)| *gain).fold(0.0, f64::max);
    shapes.retain(|(_, gain)| *gain >= 0.9 * most);
    let (shape, _) = shapes.into_iter().next()?;
    let tries = ((highest - lowest) * span).max(1.0) * 2.0;
    Some(Wave { shape, power, tries })
}

/// The best square wave with this period.
pub(super) fn with_period(data: &Centred<'_>, left: &[f64], period: f64) -> Option<Shape> {
    let (shape, _) = folded(data, left, period, data.last_s - data.first_s)?;
    Some(shape)
}

/// True if a number of periods is a small integer or one over it, within the width of a line of the periodogram.
fn is_related(multiple: f64, width: f64) -> bool {
    const OVERTONES: f64 = 12.0;
    let near = |value: f64, width: f64| (value - value.round()).abs() <= 2.0 * width && value.round() >= 1.0;
    let inverse = 1.0 / multiple;
    multiple <= OVERTONES && near(multiple, width)
        || inverse <= 4.0 && near(inverse, width * inverse * inverse)
}

/// The power at `count` frequencies from `lowest` on.
fn periodogram(data: &Centred<'_>, left: &[f64], lowest: f64, count: usize, variance: f64) -> Vec<f64> {
    let span = data.last_s - data.first_s;
    let (times, sums) = binned(data, left);
    let total: f64 = data.weights.iter().sum();
    let mut powers = vec![(0.0, 0.0); count];
    for (time, sum) in times.iter().zip(&sums) {
        let turn = |frequency: f64| (std::f64::consts::TAU * frequency * time).sin_cos();
        let (mut sine, mut cosine) = turn(lowest);
        let (step_sine, step_cosine) = turn(1.0 / (OVERSAMPLED * span));
        for power in &mut powers {
            power.0 += sum * cosine;
            power.1 += sum * sine;
            (sine, cosine) =
                (sine * step_cosine + cosine * step_sine, cosine * step_cosine - sine * step_sine);
        }
    }
    powers.into_iter().map(|(a, b)| (a * a + b * b) / (total * variance)).collect()
}

/// The weighted residuals summed over short bins of time; each sample alone if they are few.
fn binned(data: &Centred<'_>, left: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let middle =
        |index: usize| f64::midpoint(data.samples[index].start_s, data.samples[index].end_s()) - data.first_s;
    let weighted = |index: usize| left[index] * data.weights[index];
    let n = left.len();
    if n <= MAX_BINS {
        return ((0..n).map(middle).collect(), (0..n).map(weighted).collect());
    }
    let span = (data.last_s - data.first_s).max(1e-9);
    let mut sums = vec![0.0; MAX_BINS];
    for index in 0..n {
        let bin = (middle(index) / span * MAX_BINS as f64) as usize;
        sums[bin.min(MAX_BINS - 1)] += weighted(index);
    }
    ((0..MAX_BINS).map(|bin| (bin as f64 + 0.5) / MAX_BINS as f64 * span).collect(), sums)
}

/// The power of the noise around each frequency, in units of independent noise; at least 1.
fn floor(powers: &[f64]) -> Vec<f64> {
    const AROUND: usize = 12;
    let mut floors = Vec::with_capacity(powers.len());
    for from in (0..powers.len()).step_by(AROUND) {
        let near = &powers[from.saturating_sub(AROUND)..(from + 2 * AROUND).min(powers.len())];
        let level = (crate::median_or_zero(near) / std::f64::consts::LN_2).max(1.0);
        floors.extend(std::iter::repeat_n(level, AROUND.min(powers.len() - from)));
    }
    floors
}

/// The best square wave with about this period, and how much of the weighted sum of squares it explains.
fn folded(data: &Centred<'_>, left: &[f64], about: f64, span: f64) -> Option<(Shape, f64)> {
    // A period that is off by this changes the phase by a bin from the first sample to the last.
    let step = about * about / span / 10.0;
    let mut best: Option<(Shape, f64)> = None;
    for offset in -10_i32..=10 {
        let period = about + f64::from(offset) * step;
        let (from, to, gain) = boxed(data, left, period);
        if best.is_none_or(|(_, known)| gain > known) {
            let width = period / FOLDED as f64;
            let shape = Shape::Wave {
                period_s: period,
                phase_s: data.first_s + from as f64 * width,
                duty: (to - from) as f64 / FOLDED as f64,
            };
            best = Some((shape, gain));
        }
    }
    best.map(|(shape, _)| refined(data, left, shape))
}

/// The slow part of the folded period: its first bin, the bin after its last (which may lie in the next period), its gain.
fn boxed(data: &Centred<'_>, left: &[f64], period: f64) -> (usize, usize, f64) {
    let mut bins = vec![(0.0, 0.0); FOLDED];
    for ((sample, value), weight) in data.samples.iter().zip(left).zip(&data.weights) {
        let cycles = (f64::midpoint(sample.start_s, sample.end_s()) - data.first_s) / period;
        let bin = ((cycles - cycles.floor()) * FOLDED as f64) as usize;
        let (sum, weights) = &mut bins[bin.min(FOLDED - 1)];
        *sum += value * weight;
        *weights += weight;
    }
    let total: f64 = bins.iter().map(|bin| bin.1).sum();
    let mut best = (0, DUTY.0, 0.0);
    for from in 0..FOLDED {
        let mut sum = 0.0;
        let mut weights = 0.0;
        for to in from + 1..=from + DUTY.1 {
            let bin = bins[(to - 1) % FOLDED];
            (sum, weights) = (sum + bin.0, weights + bin.1);
            let rest = total - weights;
            if to >= from + DUTY.0 && sum < 0.0 && weights > 0.0 && rest > 0.0 {
                let gain = sum * sum * total / (weights * rest);
                if gain > best.2 {
                    best = (from, to, gain);
                }
            }
        }
    }
    best
}

/// The wave with phase, duty and period adjusted by fractions of a bin, the samples at its edges counting in part.
fn refined(data: &Centred<'_>, left: &[f64], shape: Shape) -> (Shape, f64) {
    let gain = |shape: Shape| {
        let column = data.column(shape);
        let across = data.product(&column, left);
        across * across / data.product(&column, &column).max(1e-12)
    };
    let span = data.last_s - data.first_s;
    let mut best = (shape, gain(shape));
    for fraction in [0.5, 0.25, 0.125] {
        let Shape::Wave { period_s, phase_s, duty } = best.0 else { return best };
        let bin = fraction / FOLDED as f64;
        for (phase, width, period) in [
            (-1.0, 1.0, 0.0),
            (1.0, -1.0, 0.0),
            (0.0, 1.0, 0.0),
            (0.0, -1.0, 0.0),
            (1.0, 0.0, 0.0),
            (-1.0, 0.0, 0.0),
            (0.0, 0.0, 1.0),
            (0.0, 0.0, -1.0),
        ] {
            let tried = Shape::Wave {
                period_s: period_s * (1.0 + period * bin * period_s / span),
                phase_s: phase_s + phase * bin * period_s,
                duty: (duty + width * bin).clamp(0.02, 0.98),
            };
            let value = gain(tried);
            if value > best.1 {
                best = (tried, value);
            }
        }
    }
    best
}
