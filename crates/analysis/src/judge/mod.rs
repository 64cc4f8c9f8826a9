//! Third stage: what the numbers mean. Comparisons, differences, contradictions and trust.

pub(crate) mod best;
pub(crate) mod cache_cliffs;
mod conditions;
mod connection_limit;
mod contradictions;
pub(crate) mod curves;
mod directories;
mod disk_rates;
pub(crate) mod effects;
mod equal_lines;
mod family;
mod grids;
mod headline;
mod io500;
mod littles_law;
mod mechanisms;
mod name_caches;
mod outliers;
pub(crate) mod parts;
mod self_checks;
mod single_runs;
mod step_extents;
mod tables;
pub(crate) mod time;
pub(crate) mod time_budgets;
pub(crate) mod time_differences;
mod time_samples;
mod timelines;
mod trust;
mod unmatched;
mod unmeasured_outages;
mod verdict;
mod workload_weights;

use std::cell::LazyCell;
use std::collections::HashMap;

use sharebench_model::Coordinates;

use crate::align::Aligned;
use crate::align::compared::ComparedSystems;
use crate::align::settings::changes;
use crate::estimate::Estimated;
use crate::estimate::pairing::Pairs;
use crate::estimate::summary::summary;
use crate::judge::cache_cliffs::cache_curves;
use crate::judge::conditions::unlike_conditions;
use crate::judge::directories::directories;
use crate::judge::family::Family;
use crate::judge::mechanisms::mechanisms;
use crate::judge::name_caches::name_caches;
use crate::judge::parts::{CellBounds, DividedMap, divide};
use crate::judge::self_checks::{summaries, thinned};
use crate::judge::single_runs::add_single_runs;
use crate::judge::time_budgets::{TimeBudgets, time_budgets};
use crate::judge::timelines::timelines;
use crate::judge::unmatched::unmatched;
use crate::judge::verdict::{Evidence, verdict};
use crate::judge::workload_weights::weighed;
use crate::types::{
    CacheCurve, CheckSummary, Comparison, DirectoryFinding, Io500Finding, MechanismGuess, Options, Overall,
    RatioVerdict, Row, Sentence, Summary, SystemTimeline, TimeFindings, TrustLine, UnlikeCondition,
    Unmatched, View, WeightedComparison,
};

/// What the numbers mean.
///
/// A verdict here is data: which word a ratio gets, where two systems differ, which numbers contradict each other and
/// which must not be trusted. The next stage turns it into sentences and decides nothing.
pub(crate) struct Judged {
    /// Conditions that differ between compared systems.
    pub unlike_conditions: Vec<UnlikeCondition>,
    /// In the order of [`Aligned::compared`].
    pub comparisons: Vec<Comparison>,
    /// The same comparisons weighted by a workload; empty without weights.
    pub weighted: Vec<WeightedComparison>,
    /// Positions without counterpart, in groups.
    pub unmatched: Vec<Unmatched>,
    /// Numbers that cannot be what they are said to be.
    pub contradictions: Vec<Sentence>,
    /// Systems that are equal although their stated settings differ.
    pub settings_without_effect: Vec<Sentence>,
    /// Systems whose settings show no effect: they take no part in the effects of settings.
    pub suspects: Vec<usize>,
    /// Curves of reads that show a server's cache.
    pub cache_curves: Vec<CacheCurve>,
    /// What metadata tests show of directories.
    pub directories: Vec<DirectoryFinding>,
    /// The IO500 score of each system with steps of that preset.
    pub io500: Vec<Io500Finding>,
    /// Guesses at what limits a system.
    pub mechanisms: Vec<MechanismGuess>,
    /// Round trips, client CPU and what the kernel knows of connections, as reasons of differences.
    pub time_budgets: TimeBudgets,
    /// Each system over time.
    pub timelines: Vec<SystemTimeline>,
    /// What changed over time.
    pub time: TimeFindings,
    /// Every self-check over all steps.
    pub self_checks: Vec<CheckSummary>,
    /// One status each for what could invalidate the numbers.
    pub trust: Vec<TrustLine>,
}

/// Judges what was estimated; what changed over time is judged before.
pub(crate) fn judge(
    aligned: &Aligned<'_>,
    estimated: &Estimated,
    time: TimeFindings,
    options: &Options,
) -> Judged {
    let contradictions = contradictions::find(aligned, estimated, options);
    let all = 0..aligned.compared.len();
    let comparisons: Vec<Comparison> =
        all.map(|index| compare(aligned, estimated, index, contradictions.len(), options)).collect();
    let self_checks = summaries(aligned.runs.iter().flat_map(|run| &run.steps));
    let unlike_conditions = unlike_conditions(aligned);
    let family = Family::new(estimated, options);
    Judged {
        mechanisms: mechanisms(aligned, estimated, &unlike_conditions, &family),
        unlike_conditions,
        weighted: options
            .weights
            .as_ref()
            .map_or_else(Vec::new, |w| weighed(estimated, &comparisons, w, options)),
        unmatched: if aligned.systems.len() > 1 { unmatched(aligned, estimated) } else { Vec::new() },
        settings_without_effect: contradictions::settings_without_effect(aligned, estimated),
        suspects: contradictions::suspects(aligned, estimated),
        cache_curves: cache_curves(aligned, estimated),
        directories: [directories(estimated, aligned.systems.len()), name_caches(aligned, estimated)]
            .concat(),
        io500: io500::scores(estimated, aligned.systems.len()),
        time_budgets: time_budgets(aligned, estimated, &family),
        timelines: timelines(aligned, estimated),
        time,
        trust: trust::lines(aligned, estimated, &comparisons, &self_checks, contradictions.len(), options),
        comparisons,
        contradictions,
        self_checks,
    }
}

/// Summarises one comparison: over all sweeps, per section, by regions.
fn compare(
    aligned: &Aligned<'_>,
    estimated: &Estimated,
    index: usize,
    contradictions: usize,
    options: &Options,
) -> Comparison {
    let ComparedSystems { name, a, b } = aligned.compared[index].clone();
    let sections = &estimated.sections;
    let own: Vec<&Vec<Option<Pairs>>> = estimated.pairs.iter().map(|pairs| &pairs[index]).collect();
    // Few comparisons lose steps.
    let rows: LazyCell<HashMap<&Coordinates, &Row>, _> = LazyCell::new(|| {
        sections.iter().flat_map(|section| &section.rows).map(|row| (&row.coordinates, row)).collect()
    });
    let compared = |at: &Coordinates| rows.get(at).is_some_and(|row| row.ratios[index].is_some());
    let summaries = sections.iter().zip(&own).map(|(section, pairs)| {
        let cells: Vec<&Pairs> = pairs.iter().flatten().collect();
        summary(&cells, section.rows.iter().filter_map(|row| row.ratios[index].as_ref()), options)
    });
    let mut summaries: Vec<_> = summaries.collect();
    let DividedMap { mut differences, cells } = divide(sections, &own, index, options);
    add_single_runs(&mut differences, sections, &own, index);
    let of_view = |view: View| Some((view, mean_over(estimated, index, view, options)?));
    let mut mean = [View::Sweep, View::Depth, View::Load].into_iter().find_map(of_view);
    for (section, summary) in summaries.iter_mut().enumerate() {
        if let Some(summary) = summary {
            summary.varies = varies(summary, cells.iter().filter(|cell| cell.section == section));
        }
    }
    if let Some((view, overall)) = &mut mean {
        // The mean has an interval of its own cells alone. A part of all cells says no more than it.
        let mean = &overall.summary;
        differences.parts.retain(|part| part.cells() < mean.cells || part.direction == mean.verdict);
        let of_view = cells.iter().filter(|cell| sections[cell.section].view == *view);
        overall.summary.varies = varies(&overall.summary, of_view);
    }
    let evidence = Evidence {
        aligned,
        estimated,
        index,
        mean: mean.as_ref().map(|(view, overall)| (*view, overall)),
        differences: &differences,
        cells: &cells,
        contradictions,
    };
    Comparison {
        verdict: verdict(&evidence, options),
        sections: summaries,
        overall: mean.filter(|(view, _)| *view == View::Sweep).map(|(_, overall)| overall),
        thinned: thinned([a, b], &aligned.left_out, compared),
        differences,
        settings: changes(&aligned.systems[a], &aligned.systems[b]),
        name,
        a,
        b,
    }
}

/// True if one of these cells is known to differ from the mean, or if the table of the cells marks one that contradicts it: by
/// its own interval, which does not hold for all cells together.
fn varies<'a>(summary: &Summary, mut cells: impl Iterator<Item = &'a CellBounds>) -> bool {
    let mean = summary.typical.value.ln();
    let contradicting = match summary.verdict {
        RatioVerdict::Faster => summary.counts.slower,
        RatioVerdict::Slower => summary.counts.faster,
        RatioVerdict::AboutTheSame => summary.counts.slower + summary.counts.faster,
        RatioVerdict::NotResolved => 0,
    };
    contradicting > 0 || cells.any(|cell| !cell.interval.contains(mean))
}

/// The mean over the cells of all sections of a view; none without such cells.
fn mean_over(estimated: &Estimated, comparison: usize, view: View, options: &Options) -> Option<Overall> {
    let of_view = || {
        let sections = estimated.sections.iter().zip(&estimated.pairs);
        sections.filter(|(section, _)| section.view == view)
    };
    let cells: Vec<&Pairs> = of_view().flat_map(|(_, pairs)| pairs[comparison].iter().flatten()).collect();
    let ratios =
        of_view().flat_map(|(section, _)| &section.rows).filter_map(|row| row.ratios[comparison].as_ref());
    let summary = summary(&cells, ratios, options)?;
    // A test whose every cell is left out is not part of the mean.
    let split = summary.cached.is_some_and(|cached| cached.all_cells.is_some());
    let counts = |cell: &Pairs| !(split && cell.is_client_cached());
    let tests = of_view().filter(|(_, pairs)| pairs[comparison].iter().flatten().any(counts)).count();
    Some(Overall { summary, tests })
}
