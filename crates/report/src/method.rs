//! The last part of the page: how to read it, and how to make it again.

use std::fmt::Write;

use sharebench_analysis::Analysis;
use sharebench_model::{RunOutcome, StepError};

use crate::escape::html as safe;
use crate::show;

/// How to read the numbers, and how to make them again.
pub fn method(analysis: &Analysis) -> String {
    let mut out = format!("<div class=\"card\"><h3>How to read it</h3><p>{}</p></div>\n", reading(analysis));
    for method in &analysis.methods {
        let _ = write!(out, "<article class=\"card\"><h3>{}</h3><dl>", safe(&method.title));
        let ending = match &method.outcome {
            Some(RunOutcome::Complete) => "complete".to_owned(),
            Some(RunOutcome::Incomplete(StepError::Stopped)) => "stopped by the user".to_owned(),
            Some(RunOutcome::Incomplete(StepError::TargetLost { reason, .. })) => {
                format!("target lost: {reason}")
            }
            Some(RunOutcome::Incomplete(StepError::PreStepCommandFailed(reason))) => {
                format!("the user's command failed: {reason}")
            }
            Some(RunOutcome::Incomplete(StepError::EngineFailed(reason))) => {
                format!("engine failed: {reason}")
            }
            None => "not recorded".to_owned(),
        };
        let facts = [
            ("run", method.label.clone()),
            ("started", show::instant(method.started_unix_ms)),
            ("ended", ending),
            ("steps", format!("{} of {}", method.steps.0, method.steps.1)),
            ("seed", method.seed.to_string()),
            ("version", format!("sharebench {}", method.version)),
        ];
        let told = |(name, _): &&(&str, String)| !(method.imported && *name == "seed");
        for (name, value) in facts
            .iter()
            .filter(told)
            .map(|(n, v)| (*n, v))
            .chain(method.environment.iter().map(|(n, v)| (n.as_str(), v)))
        {
            let _ = write!(out, "<dt>{}</dt><dd>{}</dd>", safe(name), safe(value));
        }
        let again = if method.imported { "This imported it" } else { "This repeats the run" };
        let _ = write!(
            out,
            "</dl><p>{again}:</p><pre tabindex=\"0\"><code>{}</code></pre>",
            safe(&method.command)
        );
        if !method.plan.is_empty() {
            let plan = safe(&method.plan);
            let _ = write!(
                out,
                "<details><summary>The plan</summary><pre tabindex=\"0\"><code>{plan}</code></pre></details>"
            );
        }
        out.push_str("</article>\n");
    }
    for system in &analysis.systems {
        let _ = write!(
            out,
            "<article class=\"card\"><h3>{}</h3><dl><dt>URL</dt><dd>{}</dd>",
            safe(&system.name),
            safe(&system.url)
        );
        for (name, value) in &system.facts {
            let _ = write!(out, "<dt>{}</dt><dd>{}</dd>", safe(name), safe(value));
        }
        out.push_str("</dl></article>\n");
    }
    out
}

fn reading(analysis: &Analysis) -> String {
    let (level, tolerance) = (analysis.level * 100.0, analysis.tolerance * 100.0);
    format!(
        "Intervals in brackets hold the truth in {level:.0} of 100 cases, each on its own. <b>Faster</b> is said only when \
         the whole interval lies beyond {tolerance:.0} %, <b>about the same</b> only when it lies within {tolerance:.0} %; \
         everything else is <b>not resolved</b>. Ratios of interleaved repetitions are Hodges-Lehmann estimates of paired log \
         ratios with exact signed-rank intervals; a summary is the geometric mean over cells, whole repetitions being the \
         replicates. Of many cells judged alone some will look different by chance: trust the summaries and the regions first; the intervals \
         of regions hold for all regions of all tests together (a sign-flip scan at a family-wise error of 5 %). Throughputs \
         are medians. A percentile is that of the typical repetition, or of all together where repetitions are few; its interval counts \
         requests that queue as the fewer independent ones they are worth, and a percentile marked &gt;= has fewer than ten of \
         those beyond it: the truth may be larger."
    )
}
