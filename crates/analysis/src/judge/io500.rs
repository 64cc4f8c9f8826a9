//! The score of IO500: geometric means over the phases of the preset io500.

use sharebench_model::{Io500Phase, axis};
use sharebench_stats::{Interval, io500_score};

use crate::estimate::Estimated;
use crate::types::{Io500Estimate, Io500Finding, Outcome, RateUnit};

/// Bytes of the unit of bandwidth, GiB.
const GIB: f64 = (1_u64 << 30) as f64;
/// Operations of the unit of metadata, kIOPS.
const KIOPS: f64 = 1000.0;

/// A phase that was measured, with its rate and the half-width of the interval of its logarithm.
struct Measured {
    phase: Io500Phase,
    rate: f64,
    half_width: Option<f64>,
}

/// The score of each system with a step of the preset.
pub(crate) fn scores(estimated: &Estimated, systems: usize) -> Vec<Io500Finding> {
    let of = |system| {
        let measured = measured(estimated, system)?;
        Some(Io500Finding { system, score: score(&measured) })
    };
    (0..systems).filter_map(of).collect()
}

/// The phases of a system; none if it has no step of the preset.
fn measured(estimated: &Estimated, system: usize) -> Option<Vec<Measured>> {
    let mut is_preset = false;
    let mut found = Vec::new();
    for section in &estimated.sections {
        for row in &section.rows {
            let name = row.coordinates.text(axis::PHASE);
            let Some(phase) = Io500Phase::ALL.into_iter().find(|phase| Some(phase.name()) == name) else {
                continue;
            };
            is_preset = true;
            let unit =
                if phase.is_bandwidth() { RateUnit::BytesPerSecond } else { RateUnit::OperationsPerSecond };
            if let Some(outcome) = row.outcomes[system].as_ref().filter(|_| section.unit == unit) {
                found.push(of_outcome(phase, outcome));
            }
        }
    }
    is_preset.then_some(found)
}

fn of_outcome(phase: Io500Phase, outcome: &Outcome) -> Measured {
    let unit = if phase.is_bandwidth() { GIB } else { KIOPS };
    let interval = outcome.rate.interval.filter(|interval| interval.low > 0.0);
    let half_width = interval.map(|interval| (interval.high / interval.low).ln() / 2.0);
    Measured {
        phase,
        rate: outcome.rate.value / unit,
        half_width: half_width.filter(|width| width.is_finite()),
    }
}

fn score(measured: &[Measured]) -> Result<Io500Estimate, Vec<Io500Phase>> {
    let usable = |phase: &Io500Phase| measured.iter().any(|one| one.phase == *phase && one.rate > 0.0);
    let missing: Vec<Io500Phase> = Io500Phase::ALL.into_iter().filter(|phase| !usable(phase)).collect();
    let (bandwidths, metadata): (Vec<&Measured>, Vec<&Measured>) =
        measured.iter().partition(|one| one.phase.is_bandwidth());
    let rates = |phases: &[&Measured]| phases.iter().map(|one| one.rate).collect::<Vec<_>>();
    let score = io500_score(&rates(&bandwidths), &rates(&metadata));
    let Some(score) = score.filter(|_| missing.is_empty()) else { return Err(missing) };
    // The logarithm of the total is the mean of those of bandwidth and metadata, which are means themselves.
    let mean = |phases: &[&Measured]| {
        let widths: Option<Vec<f64>> = phases.iter().map(|one| one.half_width).collect();
        widths.map(|widths| widths.iter().sum::<f64>() / phases.len().max(1) as f64)
    };
    let half_width = mean(&bandwidths).zip(mean(&metadata)).map(|(one, other)| f64::midpoint(one, other));
    let interval = half_width
        .map(|width| Interval { low: score.total * (-width).exp(), high: score.total * width.exp() });
    Ok(Io500Estimate { score, interval })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phases(half_width: Option<f64>) -> Vec<Measured> {
        let rate = |phase: Io500Phase| if phase.is_bandwidth() { 4.0 } else { 9.0 };
        Io500Phase::ALL.into_iter().map(|phase| Measured { phase, rate: rate(phase), half_width }).collect()
    }

    #[test]
    fn all_phases_have_a_score_whose_interval_is_as_wide_as_theirs() {
        let found = score(&phases(Some(0.1))).unwrap();
        assert!((found.score.total - 6.0).abs() < 1e-9, "{found:?}");
        let interval = found.interval.unwrap();
        assert!((interval.high / 6.0 - 0.1_f64.exp()).abs() < 1e-9, "{interval:?}");
        assert_eq!(score(&phases(None)).unwrap().interval, None);
    }

    #[test]
    fn a_missing_phase_is_named() {
        let mut measured = phases(None);
        measured.retain(|one| one.phase != Io500Phase::Find);
        assert_eq!(score(&measured).unwrap_err(), [Io500Phase::Find]);
    }
}
