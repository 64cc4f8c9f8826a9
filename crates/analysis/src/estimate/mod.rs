//! Second stage: outcomes and ratios with their intervals, position by position.

mod cell_mean;
pub(crate) mod outcome;
pub(crate) mod pairing;
mod parallel;
pub(crate) mod percentile;
pub(crate) mod precision;
pub(crate) mod ranks;
pub(crate) mod ratio;
pub(crate) mod summary;

use sharebench_model::{Coordinates, StepResult};
use sharebench_stats::adjust_p_values;

use crate::align::Aligned;
use crate::align::compared::ComparedSystems;
use crate::align::layout::Layout;
use crate::align::rates::usable;
use crate::cache::shares::cache_shares_of;
use crate::estimate::outcome::outcome;
use crate::estimate::pairing::{Pairs, SectionPairs, Side, pair};
use crate::estimate::parallel::in_parallel;
use crate::estimate::ratio::ratio;
use crate::load::capacity::capacities;
use crate::load::figures::load_figures;
use crate::load::lines::{load_lines, response_limits};
use crate::load::stress::stress_points;
use crate::load::support::{judge_single_run, rate_limit};
use crate::types::{Buffering, Options, Outcome, RankTable, Row, Section, View};

/// Rows that are in memory twice, as a thread made them and in their section. A table may have 100,000 rows.
const POSITIONS_AT_A_TIME: usize = 1024;

/// Fewest pairs from which single cells may be claimed after adjustment for their number.
const CELL_CLAIMS_FROM: usize = 12;

/// What was measured, with intervals.
///
/// Each position has one outcome per system and one ratio per comparison. The pairs of repetitions from which a ratio
/// was computed are kept, because summaries over cells need the repetitions themselves.
pub(crate) struct Estimated {
    /// In the order of [`Aligned::layouts`].
    pub sections: Vec<Section>,
    /// Per section, then per comparison, then per row.
    pub pairs: Vec<SectionPairs>,
    /// One table per run of several ranks.
    pub ranks: Vec<RankTable>,
}

/// Estimates outcomes and ratios at every position.
pub(crate) fn estimate(aligned: &Aligned<'_>, options: &Options) -> Estimated {
    let outcomes = aligned.steps.outcomes();
    let mut sections = Vec::new();
    let mut pairs = Vec::new();
    for layout in &aligned.layouts {
        let curve = outcomes <= options.curves || layout.view != View::Sweep;
        let (section, section_pairs) = section(aligned, layout, options, curve);
        sections.push(section);
        pairs.push(section_pairs);
    }
    for comparison in 0..aligned.compared.len() {
        adjust(&mut sections, comparison);
    }
    Estimated { sections, pairs, ranks: ranks::tables(aligned.runs) }
}

fn section(
    aligned: &Aligned<'_>,
    layout: &Layout,
    options: &Options,
    curve: bool,
) -> (Section, SectionPairs) {
    let mut rows = Vec::with_capacity(layout.positions.len());
    let mut pairs: SectionPairs = aligned.compared.iter().map(|_| Vec::new()).collect();
    for positions in layout.positions.chunks(POSITIONS_AT_A_TIME) {
        let found = in_parallel(positions, |coordinates| row(aligned, layout, coordinates, options, curve));
        for (row, row_pairs) in found {
            rows.push(row);
            pairs.iter_mut().zip(row_pairs).for_each(|(pairs, found)| pairs.push(found));
        }
    }
    let systems = aligned.systems.len();
    let is_load = layout.view == View::Load;
    let capacity = if is_load { capacities(&rows, systems) } else { Vec::new() };
    let limits = response_limits(&rows);
    let (load_levels, load_comparisons) =
        if is_load { load_figures(aligned, layout, &rows, &limits, options) } else { Default::default() };
    let section = Section {
        title: layout.title.clone(),
        view: layout.view,
        unit: layout.unit,
        axes: layout.axes.clone(),
        stress: if is_load { stress_points(&rows, systems) } else { Vec::new() },
        lines: load_lines(&rows, &capacity, systems),
        limits,
        capacity,
        load_levels,
        load_comparisons,
        rows,
    };
    (section, pairs)
}

fn row(
    aligned: &Aligned<'_>,
    layout: &Layout,
    coordinates: &Coordinates,
    options: &Options,
    curve: bool,
) -> (Row, Vec<Option<Pairs>>) {
    let steps: Vec<&[&StepResult]> = aligned.steps.at(coordinates).collect();
    let outcomes = steps.iter().zip(&aligned.systems).map(|(steps, system)| {
        let good: Vec<&StepResult> = steps.iter().copied().filter(|s| usable(s, layout.unit)).collect();
        let buffering = Buffering::new(system.access, &system.facts, coordinates);
        let link = options.link.filter(|_| system.uses_link());
        let outcome = outcome(&good, layout.unit, options, curve)?;
        let lowest_rate = aligned.clocks[system.run].lowest_rate(outcome.rate.value, outcome.measured_ns);
        let cache_shares = cache_shares_of(&good, lowest_rate, link).map(Box::new);
        Some(Outcome { buffering, cache_shares, ..outcome })
    });
    let outcomes: Vec<Option<Outcome>> = outcomes.collect();
    let side = |system: usize| {
        let run = aligned.systems[system].run;
        let clock_ns = aligned.clocks[run].resolution_ns;
        Side { run, steps: steps[system], outcome: outcomes[system].as_ref(), clock_ns }
    };
    let comparable = |both: &ComparedSystems| {
        let outcome_a = outcomes[both.a].as_ref()?;
        let outcome_b = outcomes[both.b].as_ref()?;
        rate_limit(outcome_a, outcome_b).is_none().then_some((outcome_a, outcome_b))
    };
    let mut pairs: Vec<Option<Pairs>> = aligned
        .compared
        .iter()
        .map(|both| comparable(both).and_then(|_| pair(&side(both.a), &side(both.b), layout.unit)))
        .collect();
    let ratios = pairs.iter().zip(&aligned.compared).map(|(pairs, both)| {
        let mut ratio = ratio(pairs.as_ref()?, options)?;
        if let Some((outcome_a, outcome_b)) = comparable(both) {
            judge_single_run(&mut ratio, outcome_a, outcome_b);
        }
        Some(ratio)
    });
    let ratios = ratios.collect();
    for pairs in pairs.iter_mut().flatten() {
        pairs.work = Vec::new();
    }
    let position = layout.position(coordinates);
    (Row { coordinates: coordinates.clone(), position, outcomes, ratios }, pairs)
}

/// Adjusts the p-values of a comparison's cells for their number.
fn adjust(sections: &mut [Section], comparison: usize) {
    let mut ratios: Vec<_> = sections
        .iter_mut()
        .flat_map(|section| &mut section.rows)
        .filter_map(|row| row.ratios[comparison].as_mut())
        .filter(|ratio| ratio.p_value.is_some() && ratio.typical.n >= CELL_CLAIMS_FROM)
        .collect();
    let p_values: Vec<f64> = ratios.iter().filter_map(|ratio| ratio.p_value).collect();
    for (ratio, q) in ratios.iter_mut().zip(adjust_p_values(&p_values)) {
        ratio.q_value = Some(q);
    }
}
