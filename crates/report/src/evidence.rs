//! The parts of the page that explain: caches and settings, tails and the clock, cost.

use std::fmt::Write;

use sharebench_analysis::{Analysis, Sentence, View};

use crate::articles::Figure;
use crate::escape::html as safe;
use crate::evidence_table::{bands_table, timeline_table};
use crate::page::{sentences, table};
use crate::table::{cost_table, times_table};

/// Where bytes came from, and in which settings the systems are told to differ; nothing where neither is known.
pub fn why(analysis: &Analysis) -> String {
    let tables: Vec<(usize, String)> = analysis
        .sections
        .iter()
        .enumerate()
        .filter_map(|(index, section)| {
            let bands = bands_table(analysis, section)?;
            Some((index, table(&format!("bands{index}"), &section.title, &bands, None)))
        })
        .collect();
    let mut out = String::new();
    let general: Vec<&Sentence> = analysis.findings.iter().filter(|found| found.section.is_none()).collect();
    if !general.is_empty() {
        let _ = writeln!(out, "<div class=\"card\">{}</div>", sentences(general.into_iter()));
    }
    if let Some((first, _)) = tables.first() {
        let along = analysis.sections.iter().any(|section| section.view == View::Sweep);
        let figure = Figure {
            section: None,
            kind: "bands",
            what: if along { "Where bytes came from, along file size" } else { "Where bytes came from" },
            hint: "Shares of the bytes, with the throughput above them; hatched: server cache or storage, not told apart. The vertical mark is this machine's memory.",
            height: " tall",
            table: &format!("bands{first}"),
        };
        let _ = write!(
            out,
            "<article class=\"card\"><h3>Cache bands</h3><div class=\"charts\">{}</div>",
            figure.place()
        );
        for (_, table) in &tables {
            out.push_str(table);
        }
        out.push_str("</article>\n");
    }
    out + &settings(analysis)
}

fn settings(analysis: &Analysis) -> String {
    let mut out = String::new();
    for comparison in analysis.comparisons.iter().filter(|comparison| !comparison.settings.is_empty()) {
        let name = safe(&comparison.name);
        let _ = write!(out, "<details><summary>Settings told to differ: {name}</summary><ul>");
        for change in &comparison.settings {
            let _ = write!(out, "<li>{}</li>", safe(&change.words()));
        }
        out.push_str("</ul></details>\n");
    }
    if out.is_empty() { out } else { format!("<div class=\"card\">{out}</div>\n") }
}

/// Percentiles of every cell, and the run along the clock.
pub fn tails(analysis: &Analysis) -> String {
    let outcomes =
        || analysis.sections.iter().flat_map(|s| s.rows.iter()).flat_map(|row| row.outcomes.iter().flatten());
    let mut out = String::new();
    if outcomes().any(|outcome| outcome.p50.ns > 0) {
        out.push_str("<article class=\"card\"><h3>Response times</h3>");
        if outcomes().any(|outcome| outcome.curve.is_some()) {
            let figure = Figure {
                section: None,
                kind: "tail",
                what: "Response time by percentile",
                hint: "Each step to the right is another nine. Solid: response; dashed: service; dotted: lag. Thin where too few operations lie beyond; bars: intervals of p50, p95 and p99.",
                height: " tall",
                table: "times0",
            };
            let _ = write!(out, "<div class=\"charts\">{}</div>", figure.place());
        }
        for (index, section) in analysis.sections.iter().enumerate() {
            let times = times_table(analysis, section);
            out.push_str(&table(&format!("times{index}"), &section.title, &times, None));
        }
        out.push_str("</article>\n");
    }
    if !analysis.timelines.is_empty() {
        let figure = Figure {
            section: None,
            kind: "timeline",
            what: "The run along the clock",
            hint: "Each step's rate over the median rate of its cell: a level line is a steady run. Triangles: failed operations; hollow marks: steps with a warning or left out.",
            height: "",
            table: "timeline0",
        };
        let _ = write!(
            out,
            "<article class=\"card\"><h3>Stalls, errors and drift</h3><div class=\"charts\">{}</div>",
            figure.place()
        );
        for (index, timeline) in analysis.timelines.iter().enumerate() {
            let name = &analysis.systems[timeline.system].name;
            out.push_str(&table(
                &format!("timeline{index}"),
                name,
                &timeline_table(analysis, timeline),
                None,
            ));
        }
        out.push_str("</article>\n");
    }
    out
}

/// Client CPU, operations and bytes, and what durability takes.
pub fn cost(analysis: &Analysis) -> String {
    if analysis.sections.is_empty() {
        return String::new();
    }
    let rows = || analysis.sections.iter().flat_map(|section| &section.rows);
    let counted = rows().flat_map(|row| row.outcomes.iter().flatten());
    let counted =
        counted.map(|o| o.cpu_user_ns_per_operation + o.cpu_kernel_ns_per_operation).any(|ns| ns > 0.0);
    let mut out = String::from("<article class=\"card\"><h3>Client CPU, operations and bytes</h3>");
    if counted {
        let figure = Figure {
            section: None,
            kind: "cost",
            what: "Client CPU of one operation",
            hint: "Solid: in user mode and in the kernel; dashed: in user mode alone. Of the measuring process.",
            height: "",
            table: "cost0",
        };
        let _ = write!(out, "<div class=\"charts\">{}</div>", figure.place());
    }
    for (index, section) in analysis.sections.iter().enumerate() {
        let cost = cost_table(analysis, section);
        out.push_str(&table(&format!("cost{index}"), &section.title, &cost, None));
    }
    out + "</article>\n"
}
