//! Times in which next to nothing was done.

use super::TimedSample;
use super::typical::Typical;

/// A stop has less than this share of the typical rate ...
const SLOW: f64 = 0.4;
/// ... lies this number of standard deviations of its cell below it ...
const DEVIATIONS: f64 = 6.0;
/// ... of which more than this, of the logarithm, is no scatter but several levels ...
const MAX_SCATTER: f64 = 0.5;
/// ... and costs at least this, in seconds.
const MIN_STOP_S: f64 = 0.05;
/// A sample that lost at least this share of its lost time in one operation has a stop, whatever its rate.
const IN_ONE: f64 = 0.5;
/// Below this share of the typical rate, what was done lies at the edges of the stop.
const NOTHING: f64 = 0.1;
/// This number of samples of slow work have a level of their own.
const LEVEL: usize = 6;

/// Successive samples that are stops.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stop {
    pub(super) start_s: f64,
    pub(super) start_error_s: f64,
    pub(super) length_s: f64,
    /// Time in seconds that it cost.
    pub(super) cost_s: f64,
    /// Uncertainty of the cost in seconds: the scatter of the time that the work takes otherwise.
    pub(super) cost_error_s: f64,
    /// Share of the typical rate that was left.
    pub(super) speed: f64,
    /// True if it contains the last sample.
    pub(super) is_last: bool,
}

/// The stops in samples that are in the order of time, and which samples belong to them.
///
/// `levels` are the logarithms by which each sample is known to differ from the typical rate of its cell.
pub(super) fn stops(samples: &[&TimedSample], levels: &[f64], typical: &Typical) -> (Vec<Stop>, Vec<bool>) {
    // Work that a level explains is as if it had been more at the typical rate.
    let levelled =
        |(sample, level): (&&TimedSample, &f64)| TimedSample { work: sample.work / level.exp(), ..**sample };
    let levelled_samples = || samples.iter().zip(levels).map(levelled);
    let mut is_stop: Vec<bool> = levelled_samples().map(|sample| is_slow(&sample, typical)).collect();
    let mut found = Vec::new();
    let mut first = None;
    for index in 0..samples.len() {
        if is_stop[index] && first.is_none() {
            first = Some(index);
        }
        let ends = is_stop[index] && is_stop.get(index + 1) != Some(&true);
        if let (true, Some(from)) = (ends, first.take_if(|_| ends)) {
            let own: Vec<TimedSample> = levelled_samples().skip(from).take(index + 1 - from).collect();
            let mut stop = joined(&own, typical);
            stop.is_last = index + 1 == samples.len();
            if stop.speed > 0.0 && index + 1 - from >= LEVEL {
                // Slow work for a long time is a level.
                is_stop[from..=index].fill(false);
            } else {
                found.push(stop);
            }
        }
    }
    (found, is_stop)
}

fn is_slow(sample: &TimedSample, typical: &Typical) -> bool {
    let lost_s = sample.busy_s - typical.expected_s(sample);
    let beyond = -DEVIATIONS * typical.scatter(sample).min(MAX_SCATTER);
    let is_in_one = typical.longer_s(sample) >= MIN_STOP_S.max(IN_ONE * lost_s);
    let limit = if is_in_one { beyond } else { beyond.min(SLOW.ln()) };
    typical.is_known(sample) && typical.residual(sample) < limit && lost_s >= MIN_STOP_S
}

fn joined(samples: &[TimedSample], typical: &Typical) -> Stop {
    let expected = |sample: &TimedSample| typical.expected_s(sample);
    let busy_s: f64 = samples.iter().map(|sample| sample.busy_s).sum();
    let expected_s: f64 = samples.iter().map(expected).sum();
    let cost_s = busy_s - expected_s;
    let error = |sample: &TimedSample| expected(sample) * typical.scatter(sample);
    let share = expected_s / busy_s;
    let from = samples[0].start_s;
    let extent_s = samples.last().map_or(0.0, TimedSample::end_s) - from;
    // One sample does not show how its work was spread: the stop may lie anywhere within it.
    let whole = samples.len() == 1 || share < NOTHING;
    let slack_s =
        if whole { (samples[0].wall_s - samples[0].busy_s + expected(&samples[0])).max(0.0) } else { 0.0 };
    Stop {
        start_s: from + slack_s / 2.0,
        // A stop of several samples may begin within the first of them.
        start_error_s: if samples.len() > 1 { samples[0].wall_s } else { slack_s / 2.0 },
        length_s: if whole { cost_s } else { extent_s },
        cost_s,
        cost_error_s: samples.iter().map(error).sum(),
        speed: if whole { 0.0 } else { share },
        is_last: false,
    }
}
