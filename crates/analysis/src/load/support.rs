//! Whether the transactions of a load step support conclusions from its rate.

use sharebench_model::{Measure, StepResult};
use sharebench_stats::student_quantile;

use crate::types::{LoadOutcome, LoadSupport, Outcome, RateLimit, Ratio};

/// Fewest transactions of a step that support a conclusion, however evenly they arrive.
const MIN_TRANSACTIONS: u64 = 30;

/// Half-width of the 95 % interval of a rate up to which it supports a conclusion, as a share.
pub(crate) const MAX_HALF_WIDTH: f64 = 0.2;

/// Largest number of batches of a window. Fewer leave each batch longer, so that its neighbours depend on it less.
const MAX_BATCHES: u64 = 20;

/// Fewest batches whose scatter can be measured.
const MIN_BATCHES: u64 = 4;

/// From this share of the rate `N / Z` on, the think time determines the rate: an infinitely fast server would serve at
/// most 5 % more.
const BOUND_FROM: f64 = 0.95;

/// Standard error of a rate, as a share, and its degrees of freedom.
struct RateError {
    share: f64,
    degrees_of_freedom: u64,
}

/// The support of all repetitions of a load; none where no transactions are counted, as in imported tables.
pub(crate) fn load_support(steps: &[&StepResult], transactions: u64) -> Option<LoadSupport> {
    let window_ns = steps.iter().map(|step| step.measure.window_ns).sum::<u64>();
    if window_ns == 0 || steps.iter().all(|step| step.measure.load.transactions.is_empty()) {
        return None;
    }
    let errors: Option<Vec<RateError>> = steps.iter().map(|step| rate_error(&step.measure)).collect();
    // The scatter of fewer transactions is not known.
    let half_width = errors.filter(|_| transactions >= MIN_TRANSACTIONS).and_then(|errors| {
        let share = errors.iter().map(|error| error.share.powi(2)).sum::<f64>().sqrt() / errors.len() as f64;
        let freedom = errors.iter().map(|error| error.degrees_of_freedom).sum::<u64>();
        (share > 0.0).then(|| student_quantile(0.975, freedom as f64) * share)
    });
    // The interval narrows with the square root of the number of transactions.
    let for_width = half_width.map_or(0.0, |half| transactions as f64 * (half / MAX_HALF_WIDTH).powi(2));
    let needed = MIN_TRANSACTIONS.max(for_width.ceil() as u64);
    let repetitions = steps.len() as u64;
    Some(LoadSupport { transactions, needed, window_ns: window_ns / repetitions, half_width })
}

/// The error of the rate by batch means: the window is cut into batches of at least one cycle of a user, and the scatter
/// of their counts and bytes includes the dependence between transactions. Where users complete too few cycles for
/// batches, independent transactions are assumed. None without a timeline, or without a transaction.
fn rate_error(measure: &Measure) -> Option<RateError> {
    let timeline = &measure.load.timeline;
    let transactions = measure.transactions;
    let cycles = transactions / u64::from(measure.users_assigned.max(1));
    if timeline.each_ns == 0 || transactions == 0 {
        return None;
    }
    // The window's end may cut the last interval short.
    let whole = (measure.window_ns / timeline.each_ns).min(timeline.transactions.len() as u64) as usize;
    let batches = cycles.min(MAX_BATCHES).min(whole as u64);
    if batches < MIN_BATCHES {
        let share = 1.0 / (transactions as f64).sqrt();
        return Some(RateError { share, degrees_of_freedom: transactions.max(2) - 1 });
    }
    let series = [&timeline.transactions, &timeline.bytes];
    let shares = series.map(|series| {
        let counts: Vec<f64> = series.iter().take(whole).map(|count| *count as f64).collect();
        relative_error(&counts, batches as usize)
    });
    let share = shares.into_iter().flatten().fold(0.0, f64::max);
    Some(RateError { share, degrees_of_freedom: batches - 1 })
}

/// Standard error of the mean of a series as a share of it, from this number of batches.
pub(crate) fn relative_error(series: &[f64], batches: usize) -> Option<f64> {
    let sums: Vec<f64> = series
        .chunks_exact((series.len() / batches).max(1))
        .take(batches)
        .map(|batch| batch.iter().sum::<f64>())
        .collect();
    let n = sums.len() as f64;
    let mean = sums.iter().sum::<f64>() / n;
    let variance = sums.iter().map(|sum| (sum - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (n > 1.0 && mean > 0.0).then(|| (variance / n).sqrt() / mean)
}

/// True if the step completed enough transactions for a ratio, a stress point, a forecast or a verdict on an objective.
pub(crate) fn is_supported(outcome: &Outcome) -> bool {
    support(outcome).is_none_or(LoadSupport::is_enough)
}

fn support(outcome: &Outcome) -> Option<&LoadSupport> {
    outcome.load.as_ref()?.support.as_ref()
}

/// Half-width of the rate's interval by its transactions, as a share; zero where it is not known.
pub(crate) fn half_width(outcome: &Outcome) -> f64 {
    support(outcome).and_then(|support| support.half_width).unwrap_or(0.0)
}

/// Share of the rate `N / Z`, at which users would never wait for the server, that users reach; none without pauses.
fn share_of_bound(outcome: &Outcome, load: &LoadOutcome) -> Option<f64> {
    if load.think_ns == 0 || outcome.users_assigned == 0 || load.support.is_none() {
        return None;
    }
    let think_s = load.think_ns as f64 / 1e9;
    // A pace has its period as think time: a user who keeps it loses nothing by a slow response.
    let by_rate = outcome.transactions_per_s? * think_s / f64::from(outcome.users_assigned);
    let by_rate = if half_width(outcome) <= 1.0 - BOUND_FROM { by_rate.min(1.0) } else { 0.0 };
    let by_response = think_s / (think_s + outcome.response_mean_ns? / 1e9);
    Some(by_rate.max(by_response))
}

/// True if the think time determines the rate, whatever the server does.
pub(crate) fn is_bound_by_think_time(outcome: &Outcome) -> bool {
    let share = outcome.load.as_ref().and_then(|load| share_of_bound(outcome, load));
    is_supported(outcome) && share.is_some_and(|share| share >= BOUND_FROM)
}

/// Why the rates of two systems at one load are not compared; none if they are.
pub(crate) fn rate_limit(a: &Outcome, b: &Outcome) -> Option<RateLimit> {
    let both = [a, b];
    if !both.into_iter().all(is_supported) {
        return Some(RateLimit::TooFew);
    }
    both.into_iter().all(is_bound_by_think_time).then_some(RateLimit::ThinkTime)
}

/// A ratio of single steps differs only if it exceeds the scatter of their transactions as well.
pub(crate) fn judge_single_run(ratio: &mut Ratio, a: &Outcome, b: &Outcome) {
    let scatter = half_width(a).hypot(half_width(b));
    if let Some(single) = &mut ratio.single_run {
        single.resolved &= ratio.typical.value.ln().abs() > scatter.ln_1p();
    }
}
