//! The analysis as Markdown, for tickets and wikis.

use std::fmt::Write;

use sharebench_analysis::{Analysis, Sentence, Status, Tone};
use sharebench_model::without_secrets;

use crate::escape::{lines, markdown as safe, terminal};
use crate::show::{compared_systems, counts};
use crate::tables::{
    Table, bands_table, cost_table, load_tables, main_table, rank_tables, study_table, times_table,
};

/// Renders the analysis as Markdown: differing conditions, the verdict, the answer, the statuses, findings, tables, and how to repeat the run.
pub fn markdown(analysis: &Analysis) -> String {
    let title = if analysis.title.is_empty() { "sharebench report" } else { &analysis.title };
    let mut out = format!("# {}\n", safe(title));
    if !analysis.unlike_conditions.is_empty() {
        out.push('\n');
    }
    for unlike in &analysis.unlike_conditions {
        let _ = writeln!(out, "- {}", safe(&unlike.text));
    }
    for verdict in analysis.verdicts() {
        let _ = write!(out, "\n**Verdict:** {}\n", safe(&verdict.text));
    }
    let compared = compared_systems(analysis);
    if !compared.is_empty() {
        out.push('\n');
    }
    for system in compared {
        let _ = writeln!(out, "- {}: {}", safe(&system.name), safe(&without_secrets(&system.url)));
    }
    sentences(&mut out, "Answer", &analysis.answer);
    out.push_str("\n## Can I trust it?\n\n");
    for line in &analysis.trust {
        let light = match line.status {
            Status::Ok => "ok",
            Status::Warning => "**warn**",
            Status::Failed => "**FAIL**",
        };
        let _ = writeln!(out, "- {light}: {}: {}", safe(&line.subject), safe(&line.text));
    }
    sentences(&mut out, "Contradictions", &analysis.contradictions);
    sentences(&mut out, "Findings", &analysis.findings);
    sentences(&mut out, "Not resolved", &analysis.not_resolved);
    if !analysis.unmatched.is_empty() {
        out.push_str("\n## Not aligned\n\n");
        for unmatched in &analysis.unmatched {
            let _ = writeln!(out, "- {}", safe(&unmatched.words(analysis)));
        }
    }
    if !analysis.self_checks.is_empty() {
        out.push_str("\n## Self-checks\n\n| check | steps | such as |\n| --- | --- | --- |\n");
        for check in &analysis.self_checks {
            let name = safe(&check.name);
            let example = safe(&check.example);
            let _ = writeln!(out, "| {name} | {} | {example} |", counts(check));
        }
    }
    out.push_str("\n## Numbers\n");
    for section in &analysis.sections {
        let _ = write!(out, "\n### {}\n", safe(&section.title));
        table(&mut out, &main_table(analysis, section));
        if let Some(study) = study_table(analysis, section, false) {
            table(&mut out, &study);
        }
        table(&mut out, &times_table(analysis, section));
        table(&mut out, &cost_table(analysis, section));
        if let Some(bands) = bands_table(analysis, section) {
            table(&mut out, &bands);
        }
        for parts in load_tables(analysis, section, false) {
            table(&mut out, &parts);
        }
    }
    for (title, ranks) in rank_tables(analysis, None) {
        let _ = write!(out, "\n## {}\n", safe(&title));
        table(&mut out, &ranks);
    }
    if !analysis.left_out.is_empty() {
        out.push_str("\n## Left out\n\n");
        for step in &analysis.left_out {
            let system = safe(&analysis.systems[step.system].name);
            let at = safe(&step.coordinates.to_string());
            let _ =
                writeln!(out, "- {system}, {at}, repetition {}: {}", step.repetition + 1, safe(&step.reason));
        }
    }
    out.push_str("\n## Again\n");
    for method in &analysis.methods {
        let _ = write!(out, "\n{}\n\n{}\n", safe(&method.title), code(&terminal(&method.command)));
        if !method.plan.is_empty() {
            let _ = write!(out, "\n{}\n", code(&method.plan));
        }
    }
    out
}

/// A code block whose fence is longer than any run of backticks inside.
fn code(text: &str) -> String {
    let text = lines(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{}\n{fence}", text.trim_end())
}

fn sentences(out: &mut String, title: &str, sentences: &[Sentence]) {
    if sentences.is_empty() {
        return;
    }
    let _ = write!(out, "\n## {title}\n\n");
    for sentence in sentences {
        let alarm = if sentence.tone == Tone::Alarm { "**Alarm:** " } else { "" };
        let _ = writeln!(out, "- {alarm}{}", safe(&sentence.text));
    }
}

fn table(out: &mut String, table: &Table) {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let _ = write!(out, "\n{}\n\n", safe(&table.caption));
    out.push_str(&line(table.header.iter().map(|text| safe(text)).collect()));
    out.push_str(&line(table.header.iter().map(|_| "---:".to_owned()).collect()));
    for row in &table.rows {
        out.push_str(&line(row.iter().map(|cell| safe(&cell.text)).collect()));
    }
    for note in &table.notes {
        let _ = write!(out, "\n{}\n", safe(note));
    }
}
