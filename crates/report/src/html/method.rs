//! The last part of the page: how to read it, and how to repeat the runs.

use std::collections::BTreeSet;

use maud::{Markup, html};
use sharebench_analysis::{Analysis, Method, System};
use sharebench_model::{Fact, FactClass, RunOutcome, StepError, without_secrets};

use super::parts::folded;
use crate::show;

/// How to read the numbers, and how to repeat the runs.
pub fn method(analysis: &Analysis) -> Markup {
    html! {
        @for method in &analysis.methods { (run(method)) "\n" }
        (folded("Targets", "addresses, and what was negotiated", false, &targets(analysis)))
        (folded("How to read the numbers", "intervals, words and marks", false, &html! { p { (reading(analysis)) } }))
    }
}

fn run(method: &Method) -> Markup {
    let state = match &method.outcome {
        Some(RunOutcome::Complete) => "complete".to_owned(),
        Some(RunOutcome::Incomplete(StepError::Stopped)) => "stopped by the user".to_owned(),
        Some(RunOutcome::Incomplete(StepError::TargetLost { reason, .. })) => {
            format!("target lost: {reason}")
        }
        Some(RunOutcome::Incomplete(StepError::PreStepCommandFailed(reason))) => {
            format!("the user's command failed: {reason}")
        }
        Some(RunOutcome::Incomplete(StepError::EngineFailed(reason))) => format!("engine failed: {reason}"),
        None => "not recorded".to_owned(),
    };
    let facts = [
        ("run", method.label.clone()),
        ("started", show::instant(method.started_unix_ms)),
        ("ended", state),
        ("steps", format!("{} of {}", method.steps.0, method.steps.1)),
        ("seed", method.seed.to_string()),
        ("version", format!("sharebench {}", method.version)),
    ];
    html! {
        article.panel {
            h3 { (method.title) }
            p { @if method.imported { "This command imported it:" } @else { "This command repeats the run:" } }
            pre tabindex="0" { code { (method.command) } }
            details {
                summary { "Run and machine" }
                dl {
                    @for (name, value) in &facts {
                        // An imported run has no seed.
                        @if !(method.imported && *name == "seed") {
                            dt { (name) } dd { (value) }
                        }
                    }
                    @for (name, value) in &method.environment {
                        dt { (name) } dd { (value) }
                    }
                }
            }
            @if !method.plan.is_empty() {
                details {
                    summary { "Plan of the run" }
                    pre tabindex="0" { code { (method.plan) } }
                }
            }
        }
    }
}

/// What is known of each target: one column per target, so that they compare.
fn targets(analysis: &Analysis) -> Markup {
    let systems = &analysis.systems;
    // Settings first, then the conditions, what the run counted, and what identifies the target.
    let stated = systems.iter().flat_map(|system| system.facts.keys());
    let names: BTreeSet<(FactClass, String)> =
        stated.map(|name| (FactClass::of_stored(name), Fact::words_for(name))).collect();
    let value = |system: &System, words: &str| {
        let fact = system.facts.iter().find(|(name, _)| Fact::words_for(name) == words);
        fact.map_or(show::NOTHING, |(_, value)| value).to_owned()
    };
    html! {
        div.scroll tabindex="0" role="group" aria-label="targets" {
            table.facts {
                thead {
                    tr {
                        td {}
                        @for system in systems { th.left scope="col" { (system.name) } }
                    }
                }
                tbody {
                    tr { th scope="row" { "URL" } @for system in systems { td.wrap { (without_secrets(&system.url)) } } }
                    @for (_, words) in &names {
                        tr {
                            th scope="row" { (words) }
                            @for system in systems {
                                td.wrap { (value(system, words)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn reading(analysis: &Analysis) -> Markup {
    let level = format!("{:.0}", analysis.level * 100.0);
    let tolerance = format!("{:.0}", analysis.tolerance * 100.0);
    html! {
        "An interval in brackets contains the true value in " (level) " of 100 cases, each cell on its own. "
        b { "Faster" } " means that the whole interval lies beyond " (tolerance) " %, " b { "about the same" }
        " that it lies within " (tolerance) " %; everything else is " b { "not resolved" } ". Ratios of interleaved \
        repetitions are Hodges-Lehmann estimates of paired log ratios with exact signed-rank intervals; a summary is the \
        geometric mean over cells, with repetitions as replicates. Of many cells judged alone some look different by \
        chance: trust the summaries and the parts of the map first; the intervals of parts hold for all cells and parts of \
        all tests together (sign flips of repetitions at a family-wise error of 5 %). A part is named as faster only if \
        the interval of each of its cells excludes the opposite. Throughputs are medians. A percentile is that of the \
        typical repetition, or of all together where repetitions are few. Requests that queue depend on each other, and \
        the interval of a percentile counts them by their effective sample size. A percentile marked >= has fewer than ten \
        such requests beyond it: the true value may be larger."
    }
}
