//! Ratios in words.

use sharebench_model::units::{counted, percent, three_digits};
use sharebench_stats::{Estimate, Interval};

use crate::types::{MeanRatio, Pairing, RatioVerdict, Summary, Tone};

/// A ratio as signed percent, such as `+12 %` or `-3.4 %`.
pub fn show_percent(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    if percent.abs() < 9.95 { format!("{percent:+.1} %") } else { format!("{percent:+.0} %") }
}

/// How far above one, in percent, with its bounds; as many decimals as the value deserves.
fn percents(ratio: &Estimate) -> (String, String) {
    let digits = usize::from(ratio.value < 1.2);
    let percent = |ratio: f64| format!("{:.digits$}", (ratio - 1.0) * 100.0);
    let bounds = ratio.interval.map(|i| format!(" [{}, {}]", percent(i.low), percent(i.high)));
    (percent(ratio.value), bounds.unwrap_or_default())
}

/// The same ratio seen from the other side.
pub(crate) fn inverse(ratio: &Estimate) -> Estimate {
    Estimate { value: 1.0 / ratio.value, interval: ratio.interval.map(inverse_interval), n: ratio.n }
}

/// The same interval seen from the other side.
pub(crate) fn inverse_interval(interval: Interval) -> Interval {
    Interval::new(1.0 / interval.high, 1.0 / interval.low)
}

/// From this ratio on sentences use a factor, below it percent.
const FACTOR_FROM: f64 = 2.0;

/// A ratio above 1 without its subject, and its interval: `35 % faster` and ` [33, 38]`, or `2.40 times as fast` and
/// ` [2.31, 2.48]`.
pub(crate) fn part_claim(ratio: &Estimate) -> (String, String) {
    if ratio.value >= FACTOR_FROM {
        let bounds = ratio.interval.map_or(String::new(), |i| format!(" [{:.2}, {:.2}]", i.low, i.high));
        return (format!("{:.2} times as fast", ratio.value), bounds);
    }
    let (percent, bounds) = percents(ratio);
    (format!("{percent} % faster"), bounds)
}

/// Lowest and highest ratio of cells without their subject: `5.0 to 43 % faster`, `up to 43 % faster`, `1.30 to 2.60 times as
/// fast`. A lower end below 1 lies within the tolerance and is not stated.
pub(crate) fn range_claim(range: Interval) -> String {
    let percent = |ratio: f64| {
        let percent = (ratio - 1.0) * 100.0;
        if percent < 9.95 { format!("{percent:.1}") } else { format!("{percent:.0}") }
    };
    match (range.low, range.high) {
        (low, high) if high >= FACTOR_FROM && low <= 1.0 => format!("up to {high:.2} times as fast"),
        (low, high) if high >= FACTOR_FROM => format!("{low:.2} to {high:.2} times as fast"),
        (low, high) if low <= 1.0 => format!("up to {} % faster", percent(high)),
        (low, high) => format!("{} to {} % faster", percent(low), percent(high)),
    }
}

/// A difference as a share: `6 %`, `4.1 %`, or `2.4 times` from a factor of two on.
pub(crate) fn factor_or_percent(share: f64) -> String {
    match share {
        share if share + 1.0 >= FACTOR_FROM => format!("{} times", three_digits(share + 1.0)),
        share => percent(share, usize::from(share < 0.0995)),
    }
}

/// `nfs is 12 % faster than smb [9.1, 15]`, the faster one first; `2.4 times as fast` from a factor of two on.
pub(crate) fn claim(ratio: &Estimate, verdict: RatioVerdict, a: &str, b: &str) -> String {
    let (claim, bounds) = claim_and_bounds(ratio, verdict, a, b);
    claim + &bounds
}

/// A claim without its interval, and the interval: `nfs is 12 % faster than smb` and ` [9.1, 15]`.
pub(crate) fn claim_and_bounds(
    ratio: &Estimate,
    verdict: RatioVerdict,
    a: &str,
    b: &str,
) -> (String, String) {
    let about_the_ratio = |claim: String| {
        let (value, bounds) = ratio_and_bounds(ratio);
        (format!("{claim}: ratio {value}"), bounds)
    };
    match verdict {
        RatioVerdict::Faster => faster(ratio, a, b),
        RatioVerdict::Slower => faster(&inverse(ratio), b, a),
        RatioVerdict::AboutTheSame => about_the_ratio(format!("{a} and {b} are about the same")),
        RatioVerdict::NotResolved => about_the_ratio(format!("{a} against {b} is not resolved")),
    }
}

/// The claim of single runs: a ratio, and how many cells exceed the uncertainty of clocks and equal runs.
pub(crate) fn single_run_claim(summary: &Summary, a: &str, b: &str, scope: &str) -> String {
    let (cells, resolved) = summary.single_runs;
    let spread = if summary.spread_known { " or the spread of repetitions" } else { "" };
    let equal = summary.equal_share;
    let equal =
        equal.map_or(String::new(), |share| format!(" or runs declared equal ({})", percent(share, 1)));
    let differ = match (resolved, cells) {
        (1, 1) => "it differs".to_owned(),
        (resolved, cells) if resolved == cells => "every cell differs".to_owned(),
        (resolved, cells) => format!("{resolved} of {} differ", counted(cells, "cell")),
    };
    format!(
        "{} {scope} (single run; {differ} by more than the uncertainty of clocks{spread}{equal})",
        rate_of(&summary.typical, a, b)
    )
}

/// `nfs shows 1.41 times the rate of smb`, the one with the higher rate first: a ratio without an interval.
pub(crate) fn rate_of(ratio: &Estimate, a: &str, b: &str) -> String {
    let (ratio, more, less) = if ratio.value < 1.0 { (1.0 / ratio.value, b, a) } else { (ratio.value, a, b) };
    format!("{more} shows {} times the rate of {less}", three_digits(ratio))
}

/// The claim of a mean over some of the cells; of single runs the ratio alone.
pub(crate) fn mean_claim(mean: &MeanRatio, a: &str, b: &str) -> String {
    match mean.typical.interval {
        Some(_) => claim(&mean.typical, mean.verdict, a, b),
        None => rate_of(&mean.typical, a, b),
    }
}

/// The caveat of all ratios of single runs; reported once.
pub(crate) fn single_run_caveat(again: bool) -> String {
    let remedy = if again { "; 6 interleaved repetitions give an interval" } else { "" };
    format!("One run each: chance cannot be ruled out{remedy}.")
}

fn faster(ratio: &Estimate, fast: &str, slow: &str) -> (String, String) {
    let (faster, bounds) = part_claim(ratio);
    let joint = if ratio.value >= FACTOR_FROM { "as" } else { "than" };
    (format!("{fast} is {faster} {joint} {slow}"), bounds)
}

/// `1.12 [1.09, 1.15]`, three decimals where it is close to one; `0.00400 [0.00391, 0.00412]`, three digits below 0.1.
pub fn show_ratio(ratio: &Estimate) -> String {
    let (value, bounds) = ratio_and_bounds(ratio);
    value + &bounds
}

/// `1.12` and ` [1.09, 1.15]`.
fn ratio_and_bounds(ratio: &Estimate) -> (String, String) {
    let close = (ratio.value - 1.0).abs() < 0.095;
    let show = |ratio: f64| if close { format!("{ratio:.3}") } else { show_factor(ratio) };
    match ratio.interval {
        Some(i) => (show(ratio.value), format!(" [{}, {}]", show(i.low), show(i.high))),
        None => (show(ratio.value), " [no interval]".to_owned()),
    }
}

/// A ratio with two decimals, or with three digits where two decimals would show fewer than one digit of it.
pub fn show_factor(ratio: f64) -> String {
    if !(f64::MIN_POSITIVE..0.095).contains(&ratio) {
        return format!("{ratio:.2}");
    }
    let decimals = (2.0 - ratio.log10().floor()) as usize;
    format!("{ratio:.decimals$}")
}

/// `10 interleaved repetitions`, or the number of repetitions with the caveat.
pub(crate) fn basis(pairing: Pairing, n: usize) -> String {
    match pairing {
        Pairing::Interleaved => counted(n, "interleaved repetition"),
        other => format!("{}, {}", counted(n, "repetition"), other.caveat()),
    }
}

/// The same of cells with different numbers of repetitions: `10 to 60 interleaved repetitions`.
pub(crate) fn basis_of(pairing: Pairing, fewest: usize, most: usize) -> String {
    if fewest < most { format!("{fewest} to {}", basis(pairing, most)) } else { basis(pairing, most) }
}

pub(crate) fn tone(verdict: RatioVerdict) -> Tone {
    match verdict {
        RatioVerdict::Faster | RatioVerdict::Slower => Tone::Difference,
        RatioVerdict::AboutTheSame => Tone::Same,
        RatioVerdict::NotResolved => Tone::NotResolved,
    }
}
