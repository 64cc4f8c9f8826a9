//! The last part of the page: how to read it, and how to repeat the runs.

use maud::{Markup, html};
use sharebench_analysis::{Analysis, Method, System};
use sharebench_model::{RunOutcome, StepError};

use crate::show;

/// How to read the numbers, and how to repeat the runs.
pub fn method(analysis: &Analysis) -> Markup {
    html! {
        div.panel {
            h3 { "How to read it" }
            p { (reading(analysis)) }
        }
        "\n"
        @for method in &analysis.methods { (run(method)) "\n" }
        @for system in &analysis.systems { (target(system)) "\n" }
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
            p { @if method.imported { "This command imported it:" } @else { "This command repeats the run:" } }
            pre tabindex="0" { code { (method.command) } }
            @if !method.plan.is_empty() {
                details {
                    summary { "The plan" }
                    pre tabindex="0" { code { (method.plan) } }
                }
            }
        }
    }
}

fn target(system: &System) -> Markup {
    html! {
        article.panel {
            h3 { (system.name) }
            dl {
                dt { "URL" } dd { (system.url) }
                @for (name, value) in &system.facts {
                    dt { (name) } dd { (value) }
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
        geometric mean over cells, with whole repetitions as replicates. Of many cells judged alone some look different by \
        chance: trust the summaries and the regions first; the intervals of regions hold for all regions of all tests \
        together (a sign-flip scan at a family-wise error of 5 %). Throughputs are medians. A percentile is that of the \
        typical repetition, or of all together where repetitions are few. Requests that queue depend on each other, and \
        the interval of a percentile counts them by their effective sample size. A percentile marked >= has fewer than ten \
        such requests beyond it: the true value may be larger."
    }
}
