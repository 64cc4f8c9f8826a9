//! What the analysis reads: finished runs, and options.

use sharebench_model::units::BitRate;
use sharebench_model::{Facts, RunHeader, RunOutcome, StepResult};

use crate::types::Weights;

/// Name of the environment fact with the resolution of the engine's clock, a whole number of nanoseconds.
pub const CLOCK_RESOLUTION_FACT: &str = "clock_resolution_ns";

/// A finished run as the analysis takes it, from the results database or from an import.
#[derive(Debug, Clone)]
pub struct RunData {
    /// Label that distinguishes this run from others, such as its number in the store.
    pub label: String,
    /// The command that repeats it, as the user would type it.
    pub command: String,
    /// First event.
    pub header: RunHeader,
    /// What each target negotiated, in the order of [`RunHeader::targets`].
    pub facts: Vec<Facts>,
    /// Measured steps, in any order.
    pub steps: Vec<StepResult>,
    /// How it ended; none when its end was never recorded.
    pub outcome: Option<RunOutcome>,
}

impl RunData {
    /// Resolution of the clock in nanoseconds; 1 if the environment does not state it.
    pub fn clock_resolution_ns(&self) -> f64 {
        self.clock_reported_ns().unwrap_or(1.0)
    }

    /// Resolution of the clock in nanoseconds; none for imported results that do not state it.
    pub fn clock_reported_ns(&self) -> Option<f64> {
        let fact = self.header.environment.get(CLOCK_RESOLUTION_FACT);
        let reported =
            fact.and_then(|text| text.trim().parse().ok()).filter(|q: &f64| q.is_finite() && *q >= 0.0);
        reported.or_else(|| (!self.header.is_imported()).then_some(1.0))
    }

    /// The same run with these targets only, in this order: later ones are compared with earlier ones. What each step's place
    /// in the schedule says about turns stays as it was. Names that the run does not have are ignored.
    #[must_use]
    pub fn with_targets(mut self, names: &[String]) -> Self {
        let targets = &self.header.targets;
        let kept: Vec<usize> =
            names.iter().filter_map(|name| targets.iter().position(|target| target.name == *name)).collect();
        let place = |target: u32| kept.iter().position(|kept| *kept == target as usize);
        self.steps.retain_mut(|step| {
            let place = place(step.target);
            step.target = place.unwrap_or(0) as u32;
            place.is_some()
        });
        self.facts = kept.iter().map(|target| self.facts.get(*target).cloned().unwrap_or_default()).collect();
        self.header.targets = kept.iter().map(|target| targets[*target].clone()).collect();
        self
    }
}

/// Settings of an analysis.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Level of every interval.
    pub level: f64,
    /// Differences up to this share count as none: 0.02 is 2 %.
    pub tolerance: f64,
    /// Resamples of the total-work bootstrap.
    pub resamples: usize,
    /// Seed of the bootstrap.
    pub seed: u64,
    /// Percentile curves are kept while there are at most this many results.
    pub curves: usize,
    /// Robust standard deviation of the log ratios of results that are declared to be equal; none where none are.
    pub equal_spread: Option<f64>,
    /// Rate of the link between clients and servers: what is faster did not cross it.
    pub link: Option<BitRate>,
    /// Workload by which the answer is weighted; none for equal weights.
    pub weights: Option<Weights>,
    /// The two axes that tests are laid out and scanned on; empty for the usual ones.
    pub axes: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            level: 0.95,
            tolerance: 0.02,
            resamples: 2000,
            seed: 1,
            curves: 400,
            equal_spread: None,
            link: None,
            weights: None,
            axes: Vec::new(),
        }
    }
}
