//! The stages of an analysis, one after the other.

use crate::align::align;
use crate::estimate::estimate;
use crate::judge::judge;
use crate::judge::time::time_findings;
use crate::text::stages::Stages;
use crate::text::write;
use crate::types::{Analysis, Method, Options, RunData};

/// Compares the systems of one or more finished runs.
///
/// The stages follow one another: steps are aligned by their coordinates, rates and ratios are estimated, differences
/// are judged, and sentences are written. Each stage takes the earlier ones by reference and returns a struct of its
/// own, so that it cannot use what is not computed yet. The result depends on the runs and the options alone;
/// resampling uses the seed of the options, so that the same runs always give the same report.
pub fn analyse(runs: &[RunData], options: &Options) -> Analysis {
    let aligned = align(runs, options);
    // Findings over time need no estimates. A run may have a million steps, so the two are not in memory together.
    let time = time_findings(&aligned, options);
    let estimated = estimate(&aligned, options);
    let judged = judge(&aligned, &estimated, time, options);
    let mut text = write(&Stages { aligned: &aligned, estimated: &estimated, judged: &judged, options });
    let mut comparisons = judged.comparisons;
    for (comparison, line) in comparisons.iter_mut().zip(text.verdicts.drain(..)) {
        comparison.verdict.text = line.claim.clone() + &line.support;
        comparison.verdict.claim = line.claim;
    }
    let mut unlike_conditions = judged.unlike_conditions;
    for (condition, line) in unlike_conditions.iter_mut().zip(text.unlike_conditions.drain(..)) {
        condition.text = line;
    }
    let mut mechanisms = judged.mechanisms;
    for (guess, line) in mechanisms.iter_mut().zip(text.mechanisms.drain(..)) {
        guess.text = line;
    }
    let mut time = judged.time;
    for (finding, line) in time.findings.iter_mut().zip(text.time_findings.drain(..)) {
        finding.text = line;
    }
    let first = text.reported.first();
    Analysis {
        title: title(runs),
        unlike_conditions,
        verdict: first.map(|comparison| comparisons[*comparison].verdict.clone()),
        reported: text.reported,
        answer: text.answer,
        trust: judged.trust,
        self_checks: judged.self_checks,
        systems: aligned.systems,
        comparisons,
        weighted: judged.weighted,
        sections: estimated.sections,
        findings: text.findings,
        cache_curves: judged.cache_curves,
        mechanisms,
        not_resolved: text.not_resolved,
        contradictions: judged.contradictions,
        left_out: aligned.left_out,
        unaligned: aligned.unaligned,
        unmatched: judged.unmatched,
        timelines: judged.timelines,
        time,
        ranks: estimated.ranks,
        methods: runs.iter().map(method).collect(),
        level: options.level,
        tolerance: options.tolerance,
    }
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
