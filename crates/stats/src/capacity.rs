//! docs/measure/measurement-rules.md R7: how many users a server carries, by the model with the best prediction of held-out
//! loads; or the reason why there is no forecast.

use std::fmt;

use sharebench_model::Random;
use sharebench_model::units::percent;

use crate::usl::{ErrorScale, LoadPoint, Usl};
use crate::{Estimate, Interval, normal_quantile, repairman_throughput, student_quantile};

/// No forecast beyond this multiple of the largest load measured.
const REACH: f64 = 2.0;
/// The curve counts as bent only if at some load each user got less than this share of what the first user got.
const BENT: f64 = 0.9;
/// Fewest different loads: the last ones are held out to choose a model, the rest are fitted.
const FEWEST: usize = 5;
const RESAMPLES: f64 = 200.0;
const LEVEL: f64 = 0.95;
const MAX_SERVERS: u32 = 64;

/// A curve of throughput against load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Capacity {
    /// Linear up to a knee, constant above.
    Hinge {
        /// Seconds per transaction of one user, think time included.
        cycle: f64,
        /// Throughput from the knee on.
        ceiling: f64,
    },
    /// One queue with several servers, and think time.
    Queue {
        /// Seconds of service per transaction.
        demand: f64,
        /// Servers.
        servers: u32,
        /// Seconds between a user's transactions.
        think: f64,
    },
    /// Contention and coherency.
    Usl(Usl),
}

/// Why there is no forecast.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ForecastError {
    /// Fewer than five different loads.
    TooFewSteps(usize),
    /// The requested load is more than twice the largest measured load, given here.
    TooFar(f64),
    /// Each user still got this share of what the first user got: the curve has not bent.
    NeverBent(f64),
    /// No model fits these numbers.
    NoFit,
}

impl fmt::Display for ForecastError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFewSteps(1) => {
                write!(f, "a single load is too few for a forecast; measure at least {FEWEST}")
            }
            Self::TooFewSteps(n) => {
                write!(f, "{n} different loads are too few for a forecast; measure at least {FEWEST}")
            }
            Self::TooFar(largest) => {
                write!(f, "the largest measured load is {largest}; forecasts end at {}", largest * REACH)
            }
            Self::NeverBent(share) => write!(
                f,
                "at the largest load each user still got {} of what the first user got: the curve has not bent yet",
                percent(*share, 0)
            ),
            Self::NoFit => f.write_str("no model fits these numbers"),
        }
    }
}

/// A forecast with the model it comes from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forecast {
    /// The model with the best prediction of the held-out loads.
    pub model: Capacity,
    /// Throughput, with an interval by resampling the residuals of all models that the points leave open.
    pub throughput: Estimate,
}

impl Capacity {
    /// Throughput at a load.
    pub fn throughput(&self, load: f64) -> f64 {
        match *self {
            Self::Hinge { cycle, ceiling } => (load / cycle).min(ceiling),
            Self::Queue { demand, servers, think } => {
                repairman_throughput(demand, servers, think, load.round().max(1.0) as u32)
            }
            Self::Usl(usl) => usl.throughput(load),
        }
    }

    /// The load from which additional users only wait, or get less; none if the model has no knee.
    pub fn knee(&self) -> Option<f64> {
        match *self {
            Self::Hinge { cycle, ceiling } => Some(cycle * ceiling),
            Self::Queue { demand, servers, think } => Some((think + demand) * f64::from(servers) / demand),
            Self::Usl(usl) => usl.peak().map(|(load, _)| load),
        }
    }

    /// How many numbers a fit chooses.
    fn parameters(&self) -> f64 {
        if matches!(self, Self::Usl(_)) { 3.0 } else { 2.0 }
    }

    /// Same kind of model, fitted to other points.
    fn refit(&self, points: &[LoadPoint]) -> Option<Self> {
        match *self {
            Self::Hinge { .. } => fit_hinge(points),
            Self::Queue { think, servers, .. } => Some(fit_demand(points, think, servers)),
            Self::Usl(_) => Usl::fit(points, ErrorScale::Relative).map(Self::Usl),
        }
    }
}

/// The model that best predicts the last quarter of the loads from the others, fitted to all of them. `think` is the
/// think time between transactions in seconds.
pub fn fit_capacity(points: &[LoadPoint], think: f64) -> Result<Capacity, ForecastError> {
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| a.load.total_cmp(&b.load));
    let loads = distinct(&sorted);
    if loads.len() < FEWEST {
        return Err(ForecastError::TooFewSteps(loads.len()));
    }
    // The last loads, not random ones: a forecast extrapolates, so the models compete in that
    // (docs/measure/measurement-rules.md 1.8).
    let from = loads[loads.len() - (loads.len() / 4).max(1)];
    let (known, left_out): (Vec<LoadPoint>, Vec<LoadPoint>) = sorted.iter().partition(|p| p.load < from);
    let candidates = models(&known, think);
    let best = candidates
        .into_iter()
        .min_by(|a, b| squares(a, &left_out).total_cmp(&squares(b, &left_out)))
        .ok_or(ForecastError::NoFit)?;
    match best {
        Capacity::Queue { think, .. } => Ok(fit_queue(&sorted, think)),
        other => other.refit(&sorted).ok_or(ForecastError::NoFit),
    }
}

/// Throughput at `load`, or the reason why there is no forecast.
pub fn forecast(points: &[LoadPoint], think: f64, load: f64, seed: u64) -> Result<Forecast, ForecastError> {
    let model = fit_capacity(points, think)?;
    // Refits expect loads in ascending order, as the fit does.
    let mut points = points.to_vec();
    points.sort_by(|a, b| a.load.total_cmp(&b.load));
    let points = points.as_slice();
    let by_load = |a: &&LoadPoint, b: &&LoadPoint| a.load.total_cmp(&b.load);
    let (Some(first), Some(last)) = (points.iter().min_by(by_load), points.iter().max_by(by_load)) else {
        return Err(ForecastError::TooFewSteps(0));
    };
    // Beyond twice the largest load the error of the USL is tens of percent (docs/measure/measurement-rules.md
    // 1.8).
    if load > last.load * REACH {
        return Err(ForecastError::TooFar(last.load));
    }
    let share = |p: &LoadPoint| p.throughput / p.load / (first.throughput / first.load);
    let least = points.iter().map(share).fold(f64::INFINITY, f64::min);
    if least >= BENT {
        return Err(ForecastError::NeverBent(least));
    }
    let value = model.throughput(load);
    let interval = resampled(&plausible(&model, points, think), &model, points, load, seed);
    Ok(Forecast { model, throughput: Estimate { value, interval, n: points.len() } })
}

/// The models that these points leave open, each with the share in which it is the true one, by Akaike's weights (Burnham,
/// Anderson: Model Selection and Multimodel Inference, 2.9). The one that predicts best counts at least as much as any other.
fn plausible(chosen: &Capacity, points: &[LoadPoint], think: f64) -> Vec<(Capacity, f64)> {
    let all = models(points, think);
    let n = points.len() as f64;
    let variance = all
        .iter()
        .map(|model| squares(model, points) / (n - model.parameters()))
        .fold(f64::INFINITY, f64::min);
    let price = |model: &Capacity| {
        squares(model, points) / variance.max(f64::MIN_POSITIVE) + 2.0 * model.parameters()
    };
    let least = all.iter().map(price).fold(f64::INFINITY, f64::min);
    let weight = |model: Capacity| {
        let is_chosen = std::mem::discriminant(&model) == std::mem::discriminant(chosen);
        (model, if is_chosen { 1.0 } else { ((least - price(&model)) / 2.0).exp() })
    };
    let weighted: Vec<(Capacity, f64)> = all.into_iter().map(weight).collect();
    let sum: f64 = weighted.iter().map(|(_, weight)| weight).sum();
    weighted.into_iter().map(|(model, weight)| (model, weight / sum)).collect()
}

/// The interval that holds the predictions of all plausible models, each refitted to its own values with residuals drawn from
/// those seen, as often as its share says.
fn resampled(
    models: &[(Capacity, f64)],
    chosen: &Capacity,
    points: &[LoadPoint],
    load: f64,
    seed: u64,
) -> Option<Interval> {
    let mut random = Random::new(seed, 7);
    let mut drawn: Vec<f64> = Vec::new();
    for (model, share) in models {
        // Residuals of a fit are smaller than the noise, by the number of fitted parameters.
        let inflate = (points.len() as f64 / (points.len() as f64 - model.parameters())).sqrt();
        let residual = |p: &LoadPoint| (p.throughput / model.throughput(p.load)).ln() * inflate;
        let residuals: Vec<f64> = points.iter().map(residual).collect();
        for _ in 0..(RESAMPLES * share).round() as u64 {
            let mut again = |p: &LoadPoint| {
                let noise = residuals[random.below(residuals.len() as u64) as usize];
                LoadPoint { throughput: model.throughput(p.load) * noise.exp(), ..*p }
            };
            let points: Vec<LoadPoint> = points.iter().map(&mut again).collect();
            drawn.extend(model.refit(&points).map(|model| model.throughput(load)));
        }
    }
    drawn.sort_unstable_by(f64::total_cmp);
    // The k-th smallest of n is at the share k/(n+1).
    let at = |share: f64| drawn.get(((drawn.len() as f64 + 1.0) * share).round() as usize - 1).copied();
    // The residuals of few loads hold little information about the noise: wider by as much as Student's quantile exceeds the normal one.
    let tail = f64::midpoint(1.0, LEVEL);
    let wider = student_quantile(tail, points.len() as f64 - chosen.parameters()) / normal_quantile(tail);
    let value = chosen.throughput(load);
    let moved = |bound: f64| value * (bound / value).powf(wider);
    Some(Interval::new(moved(at(1.0 - tail)?.min(value)), moved(at(tail)?.max(value))))
}

fn distinct(sorted: &[LoadPoint]) -> Vec<f64> {
    let mut loads: Vec<f64> = sorted.iter().map(|point| point.load).collect();
    loads.dedup();
    loads
}

fn models(points: &[LoadPoint], think: f64) -> Vec<Capacity> {
    let usl = Usl::fit(points, ErrorScale::Relative).map(Capacity::Usl);
    let queue = (!points.is_empty()).then(|| fit_queue(points, think));
    fit_hinge(points).into_iter().chain(queue).chain(usl).collect()
}

/// Weighted squared error of ln X.
fn squares(model: &Capacity, points: &[LoadPoint]) -> f64 {
    // Logarithms, because the noise of a rate is proportional to the rate.
    points.iter().map(|p| p.weight * (model.throughput(p.load) / p.throughput).ln().powi(2)).sum()
}

/// Every split of the loads into a rising and a level part; the best of them. Points ascend by load.
fn fit_hinge(points: &[LoadPoint]) -> Option<Capacity> {
    let mean = |part: &[LoadPoint], of: fn(&LoadPoint) -> f64| {
        let weight: f64 = part.iter().map(|p| p.weight).sum();
        part.iter().map(|p| p.weight * of(p).ln()).sum::<f64>() / weight
    };
    let hinge = |at: usize| {
        let cycle = mean(&points[..at], |p| p.load / p.throughput).exp();
        let ceiling =
            if at < points.len() { mean(&points[at..], |p| p.throughput).exp() } else { f64::INFINITY };
        Capacity::Hinge { cycle, ceiling }
    };
    (1..=points.len()).map(hinge).min_by(|a, b| squares(a, points).total_cmp(&squares(b, points)))
}

fn fit_queue(points: &[LoadPoint], think: f64) -> Capacity {
    let most = points.iter().map(|p| p.load as u32).max().unwrap_or(1).clamp(1, MAX_SERVERS);
    let better = |a: Capacity, b: Capacity| if squares(&b, points) < squares(&a, points) { b } else { a };
    (2..=most).map(|servers| fit_demand(points, think, servers)).fold(fit_demand(points, think, 1), better)
}

/// The service demand of a queue with `servers` servers, by golden section over its logarithm.
fn fit_demand(points: &[LoadPoint], think: f64, servers: u32) -> Capacity {
    let queue = |log: f64| Capacity::Queue { demand: log.exp(), servers, think };
    // Lower bound: every server is busy at the largest throughput. Upper bound: no user waits.
    let fastest = points.iter().map(|p| p.throughput).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let slowest = points.iter().map(|p| p.load / p.throughput).fold(0.0, f64::max);
    let mut low = (0.1 / fastest).ln();
    let mut high = (slowest * f64::from(servers) * 2.0).max(1.0 / fastest).ln();
    let golden = (5f64.sqrt() - 1.0) / 2.0;
    // Golden section needs no derivative of the throughput.
    while high - low > 1e-9 {
        let left = high - golden * (high - low);
        let right = low + golden * (high - low);
        if squares(&queue(left), points) < squares(&queue(right), points) {
            high = right;
        } else {
            low = left;
        }
    }
    queue(f64::midpoint(low, high))
}
