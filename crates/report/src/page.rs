//! Pieces of the HTML page.

use std::fmt::Write;

use sharebench_analysis::{Analysis, Light, Section, Sentence, Standing, Tone, View};
use sharebench_model::RunOutcome;

use crate::escape::html as safe;
use crate::load_table::load_tables;
use crate::show;
use crate::study::study_table;
use crate::table::{Table, main_table, times_table};

/// Sentences as a list, each with the mark of its tone.
pub fn sentences<'a>(all: impl Iterator<Item = &'a Sentence>) -> String {
    listed(all, "")
}

/// The same without the `prefix` that the heading above says already.
fn listed<'a>(all: impl Iterator<Item = &'a Sentence>, prefix: &str) -> String {
    let mut out = String::from("<ul class=\"sentences\">");
    for sentence in all {
        let class = match sentence.tone {
            Tone::Alarm => "alarm",
            Tone::Difference => "difference",
            Tone::Same => "same",
            Tone::NotResolved => "not-resolved",
            Tone::Note => "note",
        };
        let text = sentence.text.strip_prefix(prefix).unwrap_or(&sentence.text);
        let _ = write!(out, "<li class=\"{class}\">{}</li>", safe(text));
    }
    out + "</ul>"
}

/// The strip of lights.
pub fn trust(analysis: &Analysis) -> String {
    let mut out = String::from("<ul class=\"trust\">");
    for line in &analysis.trust {
        let class = match line.light {
            Light::Green => "green",
            Light::Amber => "amber",
            Light::Red => "red",
        };
        let _ = write!(out, "<li class=\"{class}\"><b>{}</b>{}</li>", safe(&line.subject), safe(&line.text));
    }
    out + "</ul>\n" + &self_checks(analysis)
}

/// Every self-check with its counts and its arithmetic.
fn self_checks(analysis: &Analysis) -> String {
    if analysis.self_checks.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "<details><summary>Self-checks</summary><div class=\"scroll\" tabindex=\"0\"><table><thead><tr>\
         <th scope=\"col\">check</th><th scope=\"col\" class=\"left\">steps</th>\
         <th scope=\"col\" class=\"left\">such as</th></tr></thead><tbody>\n",
    );
    for check in &analysis.self_checks {
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\">{}</th><td class=\"wrap\">{}</td><td class=\"wrap\">{}</td></tr>",
            safe(&check.name),
            show::counts(check),
            safe(&check.example)
        );
    }
    out + "</tbody></table></div></details>\n"
}

/// One test or workload: findings, charts, and the tables behind them.
pub fn article(analysis: &Analysis, index: usize, section: &Section) -> String {
    let mut out = format!("<article class=\"card\"><h3>{}</h3>\n", safe(&section.title));
    let about: Vec<&Sentence> =
        analysis.findings.iter().filter(|found| found.section == Some(index)).collect();
    if !about.is_empty() {
        out.push_str(&listed(about.into_iter(), &format!("{}: ", section.title)));
    }
    out.push_str(&figures(index, section));
    out.push_str(&table("The numbers", &main_table(analysis, section), Some(index)));
    if let Some(study) = study_table(analysis, section, false) {
        out.push_str(&table("In the columns of the Windows 2000 study", &study, None));
    }
    out.push_str(&table("Response times and cost", &times_table(analysis, section), None));
    for parts in load_tables(analysis, section, false) {
        out.push_str(&table("A load taken apart", &parts, None));
    }
    out + "</article>\n"
}

/// Places for the charts of a section; the page's script draws them.
fn figures(index: usize, section: &Section) -> String {
    let mut out = String::from("<div class=\"charts\">");
    let curves = section.rows.iter().flat_map(|row| row.outcomes.iter().flatten()).any(|o| o.curve.is_some());
    let compared = section.rows.iter().any(|row| row.ratios.iter().any(Option::is_some));
    let wanted = match section.view {
        View::Sweep => [
            compared.then_some(("ratio", "Ratio of throughputs", "")),
            Some(("throughput", "Throughput", "")),
            curves.then_some(("tail", "Response time by percentile", "")),
        ],
        View::Load => [
            Some(("load", "Throughput and p95 against users", " tall")),
            curves.then_some(("tail", "Response time by percentile (service and lag dashed)", " tall")),
            None,
        ],
        View::Depth => [
            Some(("depth", "Throughput and client CPU against depth", " tall")),
            curves.then_some(("tail", "Response time by percentile", " tall")),
            None,
        ],
    };
    for (kind, what, height) in wanted.into_iter().flatten() {
        let _ = write!(
            out,
            "<figure data-section=\"{index}\" data-kind=\"{kind}\"><figcaption><span class=\"what\">{what}</span>\
             </figcaption><div class=\"plot{height}\"></div></figure>"
        );
    }
    out + "</div>\n"
}

/// A table behind its summary line; rows get ids where `section` is given.
fn table(summary: &str, table: &Table, section: Option<usize>) -> String {
    let mut out = format!(
        "<details><summary>{summary}</summary><div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"{summary}\">\
         <table><caption>{}</caption><thead><tr>",
        safe(&table.caption)
    );
    for name in &table.header {
        let _ = write!(out, "<th scope=\"col\">{}</th>", safe(name));
    }
    out.push_str("</tr></thead><tbody>\n");
    for (number, row) in table.rows.iter().enumerate() {
        match section {
            Some(section) => write!(out, "<tr id=\"r{section}-{number}\">"),
            None => write!(out, "<tr>"),
        }
        .unwrap_or_default();
        for (column, cell) in row.iter().enumerate() {
            let text = safe(&cell.text);
            let _ = match (column < table.keys, cell.standing) {
                (true, _) => write!(out, "<th scope=\"row\">{text}</th>"),
                (_, None) => write!(out, "<td>{text}</td>"),
                (_, Some(standing)) => {
                    let class = standing.word().replace(' ', "-");
                    write!(out, "<td class=\"{class}\">{text} {}</td>", mark(standing))
                }
            };
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>");
    for note in &table.notes {
        let _ = write!(out, "<p>{}</p>", safe(note));
    }
    out + "</details>\n"
}

fn mark(standing: Standing) -> &'static str {
    match standing {
        Standing::Faster => "▲",
        Standing::Slower => "▼",
        Standing::AboutTheSame => "=",
        Standing::NotResolved => "?",
    }
}

/// How to read the numbers, and how to make them again.
pub fn method(analysis: &Analysis) -> String {
    let mut out = format!("<div class=\"card\"><h3>How to read it</h3><p>{}</p></div>\n", reading(analysis));
    for method in &analysis.methods {
        let _ = write!(out, "<article class=\"card\"><h3>{}</h3><dl>", safe(&method.title));
        let ending = match &method.outcome {
            Some(RunOutcome::Complete) => "complete".to_owned(),
            Some(RunOutcome::Stopped) => "stopped by the user".to_owned(),
            Some(RunOutcome::TargetLost(reason)) => format!("target lost: {reason}"),
            Some(RunOutcome::HookFailed(reason)) => format!("the user's command failed: {reason}"),
            Some(RunOutcome::EngineFailed(reason)) => format!("engine failed: {reason}"),
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
