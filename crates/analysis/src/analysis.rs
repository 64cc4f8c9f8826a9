//! The whole analysis: what a report shows, in its order.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sharebench_model::{Coordinates, Facts, RunOutcome, StepResult, Verdict};
use sharebench_stats::adjust_p_values;

use crate::alignment::{Unmatched, unmatched};
use crate::bands::bands_of;
use crate::clocks::Clock;
use crate::comparison::comparisons;
use crate::load::{capacities, stress_points};
use crate::load_lines::{load_lines, response_limits};
use crate::outcome::{outcome, rate};
use crate::pairing::{Pairs, Side, pair, usable};
use crate::parallel::in_parallel;
use crate::ranks::RankTable;
use crate::ratio::ratio;
use crate::regions::differences;
use crate::section::{Layout, layouts};
use crate::self_checks::{summaries, thinned};
use crate::settings::changes;
use crate::summary::summary;
use crate::system::systems;
use crate::timeline::{Timeline, timelines};
use crate::weigh::weigh;
use crate::{
    Buffering, CheckSummary, Comparison, Options, Outcome, Overall, Row, RunData, Section, Sentence, System,
    TrustLine, View, Weighed,
};
use crate::{contradictions, findings, ranks, trust};

/// Fewest pairs from which single cells may be claimed after adjustment for their number.
pub(crate) const CELL_CLAIMS_FROM: usize = 12;

/// A step that took no part in any number, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Index into [`Analysis::systems`].
    pub system: usize,
    /// Where it stood.
    pub coordinates: Coordinates,
    /// Which repetition.
    pub repetition: u32,
    /// The failed checks, or the errors.
    pub reason: String,
}

/// A position that not every system has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unaligned {
    /// Where it stands.
    pub coordinates: Coordinates,
    /// Systems that have no usable step there.
    pub missing: Vec<usize>,
}

/// How one run was made, and how to make it again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Method {
    /// What tells the run from others.
    pub label: String,
    /// What the user calls it.
    pub title: String,
    /// Repeats it.
    pub command: String,
    /// The resolved plan.
    pub plan: String,
    /// Seed of every random choice.
    pub seed: u64,
    /// Version of sharebench.
    pub version: String,
    /// Start, milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// True when another program measured it.
    pub imported: bool,
    /// How it ended.
    pub outcome: Option<RunOutcome>,
    /// Steps measured and steps planned.
    pub steps: (usize, u32),
    /// Machine, kernel, CPU, clock.
    pub environment: Facts,
}

/// Everything a report shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Analysis {
    /// What the runs are called.
    pub title: String,
    /// The answer, alarms first.
    pub answer: Vec<Sentence>,
    /// Why to believe it, or not.
    pub trust: Vec<TrustLine>,
    /// Every self-check over all steps.
    #[serde(default)]
    pub self_checks: Vec<CheckSummary>,
    /// Systems under comparison.
    pub systems: Vec<System>,
    /// Which were compared, and how they stand.
    pub comparisons: Vec<Comparison>,
    /// The same comparisons weighed by what the user does; empty where nobody asked.
    #[serde(default)]
    pub weighed: Vec<Weighed>,
    /// Tests and workloads with their numbers.
    pub sections: Vec<Section>,
    /// What was found, per section.
    pub findings: Vec<Sentence>,
    /// What was not, and what it would take.
    pub not_resolved: Vec<Sentence>,
    /// What contradicts itself, or something else that is told.
    #[serde(default)]
    pub contradictions: Vec<Sentence>,
    /// Steps that took no part.
    pub left_out: Vec<LeftOut>,
    /// Positions that not every system has.
    pub unaligned: Vec<Unaligned>,
    /// The same in groups, with the reasons.
    #[serde(default)]
    pub unmatched: Vec<Unmatched>,
    /// Each system along the clock.
    #[serde(default)]
    pub timelines: Vec<Timeline>,
    /// What each rank did, of runs that several processes measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<RankTable>,
    /// How each run was made.
    pub methods: Vec<Method>,
    /// Level of every interval, such as 0.95.
    pub level: f64,
    /// Differences up to this share count as none.
    pub tolerance: f64,
}

/// Steps by position, then by system.
type Table<'a> = BTreeMap<&'a Coordinates, Vec<Vec<&'a StepResult>>>;

/// Compares the systems of one or more finished runs.
pub fn analyse(runs: &[RunData], options: &Options) -> Analysis {
    let systems = systems(runs);
    let identities: Vec<(usize, String)> =
        systems.iter().map(|s| (s.run, runs[s.run].header.targets[s.target as usize].name.clone())).collect();
    let layouts = layouts(runs.iter().flat_map(|run| &run.steps), options);
    let clocks: Vec<Clock> = runs.iter().map(Clock::of).collect();
    let table = table(runs, &systems);
    let mut analysis = Analysis {
        title: title(runs),
        answer: Vec::new(),
        trust: Vec::new(),
        self_checks: summaries(runs.iter().flat_map(|run| &run.steps)),
        comparisons: comparisons(&systems, &identities),
        weighed: Vec::new(),
        sections: Vec::new(),
        findings: Vec::new(),
        not_resolved: Vec::new(),
        contradictions: Vec::new(),
        left_out: Vec::new(),
        unmatched: Vec::new(),
        unaligned: Vec::new(),
        timelines: Vec::new(),
        ranks: ranks::tables(runs),
        methods: runs.iter().map(method).collect(),
        level: options.level,
        tolerance: options.tolerance,
        systems,
    };
    let kept: usize = table.values().flatten().filter(|steps| !steps.is_empty()).count();
    let mut pairs = Vec::new();
    for layout in &layouts {
        let curve = kept <= options.curves || layout.view != View::Sweep;
        let (section, section_pairs) = section(&analysis, layout, &table, &clocks, options, curve);
        note_absences(&mut analysis, layout, &table);
        analysis.sections.push(section);
        pairs.push(section_pairs);
    }
    compare(&mut analysis, &pairs, options);
    if let Some(weights) = &options.weights {
        analysis.weighed = weigh(&analysis, &pairs, weights, options);
    }
    if analysis.systems.len() > 1 {
        analysis.unmatched = unmatched(&analysis);
    }
    analysis.contradictions = contradictions::find(&analysis, runs, &clocks, options);
    analysis.timelines = timelines(&analysis, runs);
    analysis.trust = trust::lines(&analysis, runs, &clocks);
    findings::write(&mut analysis, runs, &clocks);
    analysis
}

fn title(runs: &[RunData]) -> String {
    let mut titles: Vec<&str> = runs.iter().map(|run| run.header.title.as_str()).collect();
    titles.dedup();
    titles.join(" against ")
}

fn method(run: &RunData) -> Method {
    Method {
        label: run.label.clone(),
        title: run.header.title.clone(),
        command: run.command.clone(),
        plan: run.header.plan.clone(),
        seed: run.header.seed,
        version: run.header.version.clone(),
        started_unix_ms: run.header.started_unix_ms,
        imported: run.header.is_imported(),
        outcome: run.outcome.clone(),
        steps: (run.steps.len(), run.header.steps_planned),
        environment: run.header.environment.clone(),
    }
}

fn table<'a>(runs: &'a [RunData], systems: &[System]) -> Table<'a> {
    let mut table = Table::new();
    for (run, data) in runs.iter().enumerate() {
        for step in &data.steps {
            if let Some(system) = systems.iter().position(|system| system.owns(run, step)) {
                let row = table.entry(&step.coordinates).or_insert_with(|| vec![Vec::new(); systems.len()]);
                row[system].push(step);
            }
        }
    }
    for steps in table.values_mut().flatten() {
        steps.sort_by_key(|step| (step.repetition, step.index));
    }
    table
}

/// The pairs behind each comparison's rows, for the summaries.
pub(crate) type SectionPairs = Vec<Vec<Option<Pairs>>>;

fn section(
    analysis: &Analysis,
    layout: &Layout,
    table: &Table<'_>,
    clocks: &[Clock],
    options: &Options,
    curve: bool,
) -> (Section, SectionPairs) {
    let row = |coordinates: &Coordinates| {
        let steps = &table[coordinates];
        let side = |system: usize| {
            let run = analysis.systems[system].run;
            Side { run, steps: &steps[system], clock_ns: clocks[run].resolution_ns }
        };
        let outcomes = steps.iter().zip(&analysis.systems).map(|(steps, system)| {
            let good: Vec<&StepResult> = steps.iter().copied().filter(|s| usable(s, layout.unit)).collect();
            let buffering = Buffering::of(system.access, &system.facts, coordinates);
            let link = options.link.filter(|_| system.is_behind_link());
            let outcome = outcome(&good, layout.unit, options, curve)?;
            let bands = bands_of(&good, outcome.rate.value, link);
            Some(Outcome { buffering, bands, ..outcome })
        });
        let outcomes = outcomes.collect();
        let pair_of = |comparison: &Comparison| pair(&side(comparison.a), &side(comparison.b), layout.unit);
        let pairs: Vec<Option<Pairs>> = analysis.comparisons.iter().map(pair_of).collect();
        let ratios = pairs.iter().map(|pairs| ratio(pairs.as_ref()?, options)).collect();
        let position = layout.position(coordinates);
        (Row { coordinates: coordinates.clone(), position, outcomes, ratios }, pairs)
    };
    let mut rows = Vec::new();
    let mut pairs: SectionPairs = analysis.comparisons.iter().map(|_| Vec::new()).collect();
    for (row, row_pairs) in in_parallel(&layout.positions, row) {
        rows.push(row);
        pairs.iter_mut().zip(row_pairs).for_each(|(pairs, found)| pairs.push(found));
    }
    let (stress, capacity) = if layout.view == View::Load {
        (stress_points(&rows, analysis.systems.len()), capacities(&rows, analysis.systems.len()))
    } else {
        (Vec::new(), Vec::new())
    };
    let (lines, limits) = (load_lines(&rows, &capacity, analysis.systems.len()), response_limits(&rows));
    let section = Section {
        title: layout.title.clone(),
        view: layout.view,
        unit: layout.unit,
        axes: layout.axes.iter().map(ToString::to_string).collect(),
        rows,
        stress,
        capacity,
        lines,
        limits,
    };
    (section, pairs)
}

/// Lists what could not be used and what has no counterpart.
fn note_absences(analysis: &mut Analysis, layout: &Layout, table: &Table<'_>) {
    for coordinates in &layout.positions {
        let steps = &table[coordinates];
        let mut missing = Vec::new();
        for (system, steps) in steps.iter().enumerate() {
            if !steps.iter().any(|step| usable(step, layout.unit)) {
                missing.push(system);
            }
            for step in steps.iter().filter(|step| !usable(step, layout.unit)) {
                let reason = reason(step);
                let coordinates = coordinates.clone();
                analysis.left_out.push(LeftOut { system, coordinates, repetition: step.repetition, reason });
            }
        }
        if !missing.is_empty() {
            analysis.unaligned.push(Unaligned { coordinates: coordinates.clone(), missing });
        }
    }
}

fn reason(step: &StepResult) -> String {
    let failed = step.checks.iter().filter(|check| check.verdict == Verdict::Invalid);
    let mut reasons: Vec<String> = failed.map(|check| format!("{}: {}", check.name, check.detail)).collect();
    if reasons.is_empty() {
        let errors = step.measure.errors.iter().map(|(class, count)| format!("{count} {class}"));
        reasons.extend(errors);
        reasons.insert(0, "nothing was moved".to_owned());
    }
    reasons.join("; ")
}

/// Fills the summaries of every comparison, and the adjusted p-values of its cells.
fn compare(analysis: &mut Analysis, pairs: &[SectionPairs], options: &Options) {
    let Analysis { comparisons, sections, left_out, systems, .. } = analysis;
    for (index, comparison) in comparisons.iter_mut().enumerate() {
        comparison.settings = changes(&systems[comparison.a], &systems[comparison.b]);
        let own: Vec<&Vec<Option<Pairs>>> = pairs.iter().map(|pairs| &pairs[index]).collect();
        comparison.differences = differences(sections, &own, options);
        let rows: BTreeMap<&Coordinates, &Row> =
            sections.iter().flat_map(|section| &section.rows).map(|row| (&row.coordinates, row)).collect();
        let compared = |at: &Coordinates| rows.get(at).is_some_and(|row| row.ratios[index].is_some());
        comparison.thinned = thinned(comparison, left_out, compared);
        for (section, pairs) in sections.iter().zip(pairs) {
            let cells: Vec<&Pairs> = pairs[index].iter().flatten().collect();
            let ratios = section.rows.iter().filter_map(|row| row.ratios[index].as_ref());
            comparison.sections.push(summary(&cells, ratios, options));
        }
        let sweeps = || sections.iter().enumerate().filter(|(_, section)| section.view == View::Sweep);
        let cells: Vec<&Pairs> = sweeps().flat_map(|(s, _)| pairs[s][index].iter().flatten()).collect();
        let ratios = sweeps().flat_map(|(_, s)| &s.rows).filter_map(|row| row.ratios[index].as_ref());
        let overall = summary(&cells, ratios, options);
        // Tests whose every cell is left out do not stand behind the mean.
        let split =
            overall.as_ref().is_some_and(|all| all.cached.is_some_and(|cached| cached.as_felt.is_some()));
        let counts = |cell: &Pairs| !(split && cell.is_cached());
        let tests = sweeps().filter(|(s, _)| pairs[*s][index].iter().flatten().any(counts)).count();
        comparison.overall = overall.map(|summary| Overall { summary, tests });
        adjust(sections, index);
    }
}

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

/// Failures of every step of a run, also of those that were left out.
pub(crate) fn error_count(run: &RunData) -> u64 {
    run.steps.iter().map(|step| step.measure.error_count()).sum()
}

/// True when the step has a rate of any kind.
pub(crate) fn has_rate(step: &StepResult) -> bool {
    [crate::RateUnit::BytesPerSecond, crate::RateUnit::OperationsPerSecond]
        .into_iter()
        .any(|unit| rate(&step.measure, unit).is_some())
}
