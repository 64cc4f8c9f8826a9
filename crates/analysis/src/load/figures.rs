//! Two systems compared by response times, by users at the objective and by capacity.

use std::collections::BTreeMap;

use sharebench_model::StepResult;
use sharebench_stats::{Estimate, hodges_lehmann};

use crate::align::Aligned;
use crate::align::layout::Layout;
use crate::load::levels::{SeriesFigure, level, series_figures};
use crate::load::log_ratio::{ByRepetition, log_ratio, simultaneous_log_ratios};
use crate::load::series::LoadSeries;
use crate::types::{
    LoadComparison, LoadFigure, LoadLevel, LoadStepRatio, Options, Pairing, RatioVerdict, ResponseLimit, Row,
};

/// The 95th percentile.
const P95: f64 = 0.95;

/// Figures of the systems of a load and their comparisons; nothing of a load that was measured once.
pub(crate) fn load_figures(
    aligned: &Aligned<'_>,
    layout: &Layout,
    rows: &[Row],
    limits: &[ResponseLimit],
    options: &Options,
) -> (Vec<LoadLevel>, Vec<LoadComparison>) {
    let series = LoadSeries::new(aligned, layout, rows);
    let figures = series_figures(&series, layout.unit, limits);
    let levels = figures.iter().map(|(system, figure, found)| level(*system, *figure, found, options.level));
    let mut comparisons = Vec::new();
    for (index, both) in aligned.compared.iter().enumerate() {
        let pairing = series.pairing(both.a, both.b);
        if pairing == Pairing::SingleRun {
            continue;
        }
        let pair = Pair { series: &series, comparison: index, systems: [both.a, both.b], pairing };
        comparisons.extend(pair.response(LoadFigure::MeanResponse, options));
        comparisons.extend(pair.response(LoadFigure::P95Response, options));
        comparisons.extend(pair.of_series(&figures, LoadFigure::UsersAtObjective, options));
        comparisons.extend(pair.of_series(&figures, LoadFigure::Capacity, options));
    }
    (levels.collect(), comparisons)
}

/// Two systems of a load that were both repeated.
struct Pair<'a> {
    series: &'a LoadSeries<'a>,
    comparison: usize,
    systems: [usize; 2],
    pairing: Pairing,
}

impl Pair<'_> {
    /// Their response times, step by step and over all common steps.
    fn response(&self, figure: LoadFigure, options: &Options) -> Option<LoadComparison> {
        let time = |step: &StepResult| {
            let measure = &step.measure;
            match figure {
                _ if measure.response.is_empty() => None,
                LoadFigure::P95Response => Some(measure.response.quantile(P95) as f64),
                _ => measure.mean_response_ns(),
            }
        };
        let [a, b] = self.systems.map(|system| self.series.systems[system].figures(time));
        let common: Vec<(u64, (&ByRepetition, &ByRepetition))> =
            a.iter().filter_map(|(load, a)| Some((*load, (a, b.get(load)?)))).collect();
        let of_steps: Vec<(&ByRepetition, &ByRepetition)> = common.iter().map(|(_, both)| *both).collect();
        let logs = simultaneous_log_ratios(&of_steps, self.pairing, options.level);
        let steps = common.iter().zip(logs).filter_map(|((load, _), log)| {
            let log = log?;
            let verdict = better(figure, &log, options);
            Some(LoadStepRatio { load: *load, ratio: log.map(f64::exp), verdict })
        });
        let steps: Vec<LoadStepRatio> = steps.collect();
        let mean = self.mean(&of_steps, options.level)?;
        Some(self.compared(figure, Some(mean), steps, options))
    }

    /// The mean over the steps of ln(a/b), from the repetitions that have all of them.
    fn mean(&self, steps: &[(&ByRepetition, &ByRepetition)], level: f64) -> Option<Estimate> {
        let geometric = |side: fn(&(&ByRepetition, &ByRepetition)) -> ByRepetition| -> ByRepetition {
            let mut sums: BTreeMap<u32, (f64, usize)> = BTreeMap::new();
            for (repetition, value) in steps.iter().flat_map(side) {
                let sum = sums.entry(repetition).or_default();
                *sum = (sum.0 + value.ln(), sum.1 + 1);
            }
            let whole = sums.into_iter().filter(|(_, (_, count))| *count == steps.len());
            whole.map(|(repetition, (sum, count))| (repetition, (sum / count as f64).exp())).collect()
        };
        log_ratio(&geometric(|both| both.0.clone()), &geometric(|both| both.1.clone()), self.pairing, level)
    }

    /// A figure of their whole series.
    fn of_series(
        &self,
        figures: &[(usize, LoadFigure, SeriesFigure)],
        figure: LoadFigure,
        options: &Options,
    ) -> Option<LoadComparison> {
        let of = |system: usize| {
            figures.iter().find(|(of, kind, _)| (*of, *kind) == (system, figure)).map(|(.., f)| f)
        };
        let [a, b] = self.systems.map(of);
        let a = a?;
        let b = b?;
        let known = a.refused.is_none() && b.refused.is_none();
        let ratio =
            log_ratio(&a.by_repetition, &b.by_repetition, self.pairing, options.level).filter(|_| known);
        Some(self.compared(figure, ratio, Vec::new(), options))
    }

    fn compared(
        &self,
        figure: LoadFigure,
        log: Option<Estimate>,
        steps: Vec<LoadStepRatio>,
        options: &Options,
    ) -> LoadComparison {
        LoadComparison {
            comparison: self.comparison,
            figure,
            pairing: self.pairing,
            verdict: log.map_or(RatioVerdict::NotResolved, |log| better(figure, &log, options)),
            ratio: log.map(|log| log.map(f64::exp)),
            steps,
            by_rate: self.series.by_rate,
        }
    }
}

/// Whether the first system is better: less time, or more of anything else.
fn better(figure: LoadFigure, log: &Estimate, options: &Options) -> RatioVerdict {
    match RatioVerdict::new(log, options.tolerance) {
        RatioVerdict::Faster if figure.is_time() => RatioVerdict::Slower,
        RatioVerdict::Slower if figure.is_time() => RatioVerdict::Faster,
        verdict => verdict,
    }
}

/// The rate of the repetitions of a load step: Hodges-Lehmann estimate with its signed-rank interval. The interval of a
/// median of few repetitions is wider than its level requires (99.2 % with 8).
pub(crate) fn repeated_rate(rates: &[f64], level: f64) -> Option<Estimate> {
    let logs: Vec<f64> = rates.iter().map(|rate| rate.ln()).collect();
    hodges_lehmann(&logs, level).map(|log| log.map(f64::exp))
}
