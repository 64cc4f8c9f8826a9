//! The smallest limit of a gate that a machine can hold.

use sharebench_stats::{Interval, chi_squared_quantile};

use crate::series::common_lines;
use crate::text::gate::calibration_words;
use crate::types::{GateCalibration, GateOptions, RunData, SeriesError};

/// Level of the interval of a limit.
const LEVEL: f64 = 0.95;

/// The smallest limit that runs like these allow: that of the test that scatters most between them. Its interval is that
/// of the standard deviation of normal values (by chi-squared).
pub fn gate_calibration(runs: &[RunData]) -> Result<GateCalibration, SeriesError> {
    let degrees_of_freedom = runs.len() as f64 - 1.0;
    let scatters =
        common_lines(runs)?.into_iter().filter_map(|found| Some((found.series.deviation()?, found.line)));
    let widest = scatters.max_by(|x, y| x.0.total_cmp(&y.0));
    let (scatter, line) = widest.ok_or(SeriesError::NothingInCommon)?;
    let bound = |share: f64| {
        let factor = (degrees_of_freedom / chi_squared_quantile(share, degrees_of_freedom)).sqrt();
        GateOptions::limit_for(factor * scatter)
    };
    let tail = f64::midpoint(1.0, -LEVEL);
    let mut calibration = GateCalibration {
        limit: GateOptions::limit_for(scatter),
        interval: Interval::new(bound(1.0 - tail), bound(tail)),
        scatter: scatter.exp_m1(),
        runs: runs.len(),
        target: line.target,
        test: line.test,
        text: String::new(),
    };
    calibration.text = calibration_words(&calibration);
    Ok(calibration)
}
