//! The smallest difference that this machine shows: a comparison of two equal embedded servers.

use std::sync::Arc;
use std::time::Duration;

use sharebench_model::StepResult;
use sharebench_model::units::percent;
use sharebench_plan::Plan;
use sharebench_server::MemoryVolume;
use sharebench_stats::hodges_lehmann;
use sharebench_target::Target;

use crate::finding::{Finding, Status};
use crate::prove::{Protocol, ProveError, ServedVolume, run};

/// Name of the finding.
const NAME: &str = "equal servers";
const INVALIDATES: &str = "small differences: repetitions help against noise; another machine for servers, and a quieter one for \
                           sharebench, help more";
/// Measured time per server and pair.
const SAMPLE: Duration = Duration::from_millis(50);
/// Pairs of samples.
const PAIRS: u32 = 24;
/// A comparison counts differences up to this share as none.
const TOLERANCE: f64 = 0.02;
/// From this difference on, the finding warns.
const COARSE: f64 = 0.1;
/// Bytes of each server's volume.
const MEMORY: u64 = 16 << 20;

/// Compares two equal servers on loopback, in pairs of samples. The smallest difference that such a comparison detects
/// is half the width of its 95 % interval, and the tolerance; none if it could not be measured. It includes the noise of
/// two servers on this machine, so that a comparison of servers elsewhere can be better.
pub(crate) fn compare_equal_servers() -> (Finding, Option<f64>) {
    match logarithmic_ratios().map(|ratios| smallest_difference(&ratios)) {
        Ok(Some(difference)) => {
            let measured =
                format!("differences above {} after {PAIRS} pairs of {SAMPLE:?}", percent(difference, 1));
            let status = if difference <= COARSE { Status::Pass } else { Status::Warn };
            (Finding { name: NAME, status, measured, invalidates: INVALIDATES }, Some(difference))
        }
        Ok(None) => (Finding::unknown(NAME, "too few samples", INVALIDATES), None),
        Err(error) => (Finding::unknown(NAME, error.to_string(), INVALIDATES), None),
    }
}

/// Half the width of the interval of the typical ratio, and the tolerance.
fn smallest_difference(ratios: &[f64]) -> Option<f64> {
    let interval = hodges_lehmann(ratios, 0.95)?.interval?;
    Some(interval.half_width().exp_m1() + TOLERANCE)
}

/// The logarithm of the ratio of both rates, of each pair.
fn logarithmic_ratios() -> Result<Vec<f64>, ProveError> {
    let server = || ServedVolume::start(Protocol::Nfs, Arc::new(MemoryVolume::new(MEMORY)), None);
    let servers = [server()?, server()?];
    let sweep = "[sweep]\nfile_sizes = ['1MiB']\nrecord_sizes = ['4KiB']\ntests = ['random-read']\nserver_cache = ['as-is']";
    let plan = Plan::parse(&format!("min_sample_time = '{SAMPLE:?}'\nrepetitions = {PAIRS}\n{sweep}"))?;
    let targets: Vec<Arc<dyn Target>> = servers.iter().map(ServedVolume::target).collect();
    let steps = run(plan, &targets)?;
    let rate = |target: u32, repetition: u32| {
        let is_it = |step: &&StepResult| step.target == target && step.repetition == repetition;
        steps.iter().find(is_it)?.measure.operation_rate()
    };
    let ratio = |repetition| Some((rate(1, repetition)? / rate(0, repetition)?).ln());
    Ok((0..PAIRS).filter_map(ratio).collect())
}

#[cfg(test)]
mod tests {
    use super::smallest_difference;

    #[test]
    fn smallest_difference_is_half_the_interval_and_the_tolerance() {
        let equal = [0.0; 24];
        assert!((smallest_difference(&equal).unwrap() - 0.02).abs() < 1e-12);
        let noisy: Vec<f64> = (-12..12).map(|n| f64::from(n) * 0.005).collect();
        let difference = smallest_difference(&noisy).unwrap();
        assert!(difference > 0.03 && difference < 0.08, "{difference}");
        assert_eq!(smallest_difference(&[0.0; 3]), None, "too few for an interval");
    }
}
