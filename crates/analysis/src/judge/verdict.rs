//! The verdict of a comparison, and what lowers the confidence in it (docs/measure/measurement-rules.md R12).

use sharebench_model::{ErrorClass, RunOutcome, StepError, Verdict};

use crate::align::Aligned;
use crate::align::compared::ComparedSystems;
use crate::estimate::Estimated;
use crate::judge::headline::NamedParts;
use crate::judge::parts::CellBounds;
use crate::types::{
    ComparisonOutcome, ComparisonVerdict, Confidence, Differences, FULL_REPETITIONS, InconclusiveReason,
    Objection, ObjectionKind, Obstacle, Options, Overall, Pairing, RatioVerdict, Row, RunData, RunScatter,
    Summary, View,
};

/// What a verdict rests on.
pub(crate) struct Evidence<'a> {
    pub aligned: &'a Aligned<'a>,
    pub estimated: &'a Estimated,
    /// Index of the comparison.
    pub index: usize,
    /// The mean that the verdict reports, with the view of its sections; none without a common cell.
    pub mean: Option<(View, &'a Overall)>,
    /// The parts of its map.
    pub differences: &'a Differences,
    /// The cells of its map.
    pub cells: &'a [CellBounds],
    /// Number of contradictions in the runs.
    pub contradictions: usize,
}

/// Judges one comparison; the text is empty until the next stage writes it.
pub(crate) fn verdict(evidence: &Evidence<'_>, options: &Options) -> ComparisonVerdict {
    let summary = evidence.mean.map(|(_, overall)| &overall.summary);
    let refusal = evidence.refusal();
    let view = evidence.mean.map(|(view, _)| view);
    let named = if refusal.is_none() { evidence.named_parts(view) } else { NamedParts::default() };
    let by_parts = named.outcome(summary);
    let reason = if by_parts.is_some() { None } else { refusal.or_else(|| summary.and_then(open)) };
    let by_mean = match (reason, summary.map(|summary| summary.verdict)) {
        (None, Some(RatioVerdict::Faster)) => ComparisonOutcome::Faster,
        (None, Some(RatioVerdict::Slower)) => ComparisonOutcome::Slower,
        (None, Some(RatioVerdict::AboutTheSame)) => ComparisonOutcome::Equal,
        _ => ComparisonOutcome::Inconclusive,
    };
    let outcome = by_parts.unwrap_or(by_mean);
    let sharpness = summary.and_then(|summary| {
        let interval = summary.typical.interval?.map(f64::ln);
        Some(interval.half_width().exp_m1() + options.tolerance)
    });
    let conclusive = outcome != ComparisonOutcome::Inconclusive;
    let objections = summary
        .filter(|_| conclusive)
        .map_or_else(Vec::new, |summary| evidence.objections(summary, sharpness, options.run_scatter));
    let lowest = objections.iter().map(|objection| objection.confidence).min();
    ComparisonVerdict {
        comparison: evidence.index,
        outcome,
        ratio: summary.map(|summary| summary.typical),
        differs: summary.is_some_and(|summary| summary.differs),
        pairing: summary.map(|summary| summary.pairing),
        cells: summary.map_or(0, |summary| summary.cells),
        of_cells: evidence.rows().count(),
        sharpness,
        tests: evidence.mean.map_or(0, |(_, overall)| overall.tests),
        varies: summary.is_some_and(|summary| summary.varies),
        parts: named.named,
        more_parts: named.more,
        differing_cells: named.cells,
        largest_hidden: named.largest_hidden,
        largest_opposite: named.largest_opposite,
        repetitions_needed: summary
            .filter(|_| matches!(reason, Some(InconclusiveReason::Repetitions)))
            .and_then(|summary| summary.repetitions_needed),
        longer: summary
            .filter(|_| reason == Some(InconclusiveReason::Clock))
            .and_then(|summary| longer(summary, options.tolerance)),
        confidence: conclusive.then_some(lowest.unwrap_or(Confidence::High)),
        reason,
        objections,
        claim: String::new(),
        text: String::new(),
    }
}

/// What leaves a mean open; none if it is resolved.
fn open(summary: &Summary) -> Option<InconclusiveReason> {
    if summary.pairing == Pairing::SingleRun {
        return Some(InconclusiveReason::SingleRuns);
    }
    Some(match summary.obstacle? {
        Obstacle::Repetitions => InconclusiveReason::Repetitions,
        Obstacle::Noise => InconclusiveReason::Noise,
        Obstacle::Clock => InconclusiveReason::Clock,
        Obstacle::Edge => InconclusiveReason::Edge,
        Obstacle::Stalls => InconclusiveReason::Stalls,
    })
}

/// How many times longer to measure until what the clock leaves open is narrower than the distance to the tolerance.
fn longer(summary: &Summary, tolerance: f64) -> Option<f64> {
    let log = summary.typical.map(f64::ln);
    let edge = tolerance.ln_1p();
    let distance = (log.value.abs() - edge).abs().max(edge / 2.0);
    Some((log.interval?.half_width() / distance).ceil().max(2.0))
}

/// Sharpness, shares of cells with stalls, with warnings, and missing, from which the confidence is moderate, and low.
const MODERATE_ABOVE: f64 = 0.1;
const LOW_ABOVE: f64 = 0.5;

/// The confidence that a share allows.
fn graded(share: f64) -> Option<Confidence> {
    match share {
        share if share > LOW_ABOVE => Some(Confidence::Low),
        share if share > MODERATE_ABOVE => Some(Confidence::Moderate),
        _ => None,
    }
}

impl Evidence<'_> {
    fn compared(&self) -> &ComparedSystems {
        &self.aligned.compared[self.index]
    }

    /// The runs of the two systems.
    fn runs(&self) -> [&RunData; 2] {
        let ComparedSystems { a, b, .. } = self.compared();
        [*a, *b].map(|system| &self.aligned.runs[self.aligned.systems[system].run])
    }

    /// True if two runs measured the systems.
    fn is_two_runs(&self) -> bool {
        let ComparedSystems { a, b, .. } = self.compared();
        self.aligned.systems[*a].run != self.aligned.systems[*b].run
    }

    /// Positions of the mean's sections that were measured on one of the systems at least.
    fn rows(&self) -> impl Iterator<Item = &Row> {
        let ComparedSystems { a, b, .. } = self.compared();
        let view = self.mean.map(|(view, _)| view);
        let sections = self.estimated.sections.iter();
        let rows = sections.filter(move |section| view.is_none_or(|view| section.view == view));
        rows.flat_map(|section| &section.rows).filter(move |row| {
            let has_steps =
                |system: usize| !self.aligned.steps.at_system(&row.coordinates, system).is_empty();
            has_steps(*a) || has_steps(*b)
        })
    }

    /// Why the numbers support no verdict, whatever their interval.
    fn refusal(&self) -> Option<InconclusiveReason> {
        let ComparedSystems { a, b, .. } = self.compared();
        let has_wrong_data = |system: &usize| {
            let system = &self.aligned.systems[*system];
            let steps = self.aligned.runs[system.run].steps.iter();
            steps.filter(|step| step.target == system.target).any(|step| {
                step.measure.errors.get(&ErrorClass::DataMismatch).is_some_and(|wrong| *wrong > 0)
            })
        };
        let engine_failed =
            |run: &&RunData| matches!(run.outcome, Some(RunOutcome::Incomplete(StepError::EngineFailed(_))));
        if [a, b].into_iter().any(has_wrong_data) {
            Some(InconclusiveReason::WrongData)
        } else if self.runs().iter().any(engine_failed) {
            Some(InconclusiveReason::EngineFailed)
        } else if self.mean.is_none() {
            Some(InconclusiveReason::NoCells)
        } else {
            None
        }
    }

    /// What lowers the confidence in a conclusive verdict.
    fn objections(
        &self,
        summary: &Summary,
        sharpness: Option<f64>,
        run_scatter: Option<RunScatter>,
    ) -> Vec<Objection> {
        let mut found = Vec::new();
        let mut object = |kind, value, confidence: Option<Confidence>| {
            found.extend(confidence.map(|confidence| Objection { kind, value, confidence }));
        };
        let moderate = |holds: bool| holds.then_some(Confidence::Moderate);
        let repetitions = summary.typical.n;
        let not_interleaved = summary.pairing != Pairing::Interleaved;
        if not_interleaved && self.is_two_runs() {
            let runs = run_scatter.map_or(0, |scatter| scatter.runs);
            let allowed = if runs < RunScatter::FEWEST { Confidence::Low } else { Confidence::Moderate };
            object(ObjectionKind::TwoRuns, Some(runs as f64), Some(allowed));
        } else {
            object(ObjectionKind::NotInterleaved, None, moderate(not_interleaved));
        }
        let few = repetitions < FULL_REPETITIONS;
        object(ObjectionKind::FewRepetitions, Some(repetitions as f64), moderate(few));
        let sharpness = sharpness.unwrap_or(f64::INFINITY);
        object(ObjectionKind::Sharpness, Some(sharpness), graded(sharpness));
        let warnings = self.warnings();
        object(ObjectionKind::Warnings, Some(warnings), graded(warnings));
        let of_all = |cells: usize| cells as f64 / self.rows().count().max(1) as f64;
        let share = of_all(summary.cells);
        let only_cached = summary.cached.is_some_and(|cached| cached.all_cells.is_none());
        let left_to_caches = of_all(summary.cached.map_or(0, |cached| cached.cells));
        // The remedy is that of the greater part of the cells that take no part.
        let (kind, value) = if !only_cached && left_to_caches > (1.0 - share) / 2.0 {
            (ObjectionKind::ClientCache, left_to_caches)
        } else {
            (ObjectionKind::MissingCells, share)
        };
        object(kind, Some(value), graded(1.0 - share));
        object(ObjectionKind::ClientCache, None, moderate(only_cached));
        let stalled = summary.stalled.map_or(0, |stalled| stalled.cells) as f64 / summary.cells.max(1) as f64;
        object(ObjectionKind::Stalls, Some(stalled), graded(stalled));
        let contradicted = (self.contradictions > 0).then_some(Confidence::Low);
        object(ObjectionKind::Contradictions, Some(self.contradictions as f64), contradicted);
        let imported = self.runs().iter().any(|run| run.header.is_imported());
        let complete = |run: &&RunData| run.outcome == Some(RunOutcome::Complete);
        let incomplete = !imported && !self.runs().iter().all(complete);
        object(ObjectionKind::IncompleteRun, None, moderate(incomplete));
        object(ObjectionKind::Imported, None, moderate(imported));
        found
    }

    /// Share of the cells in which a self-check has a warning on either side.
    fn warnings(&self) -> f64 {
        let ComparedSystems { a, b, .. } = self.compared();
        let warned = |row: &&Row| {
            let of = |system: usize| row.outcomes[system].as_ref().map(|outcome| outcome.verdict);
            [of(*a), of(*b)].contains(&Some(Verdict::Warning))
        };
        self.rows().filter(warned).count() as f64 / self.rows().count().max(1) as f64
    }
}
