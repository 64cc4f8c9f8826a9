//! The parts of the page that explain: caches and settings, tails and the run over time, cost.
//!
//! Each part is none where the analysis has nothing to show in it.

use std::io;

use maud::{Markup, html};
use sharebench_analysis::{Analysis, Outcome, Section, Sentence, View};

use super::articles::Figure;
use super::document::{Body, CONTENT, PageWriter};
use super::parts::{sentences, table};
use crate::tables::{Table, bands_table, cost_table, timeline_table, times_table};

/// Which cache served the bytes, and the settings in which the systems differ.
pub fn why(analysis: &Analysis) -> Option<Body<'_>> {
    let general: Vec<&Sentence> = analysis.findings.iter().filter(|found| found.section.is_none()).collect();
    let bands = cache_bands(analysis);
    let settings = settings(analysis);
    if general.is_empty() && bands.is_none() && settings.is_none() {
        return None;
    }
    Some(Box::new(move |out| {
        if !general.is_empty() {
            out.markup(&html! {
                div.panel { (sentences(general.into_iter())) }
                "\n"
            })?;
        }
        if let Some(bands) = bands {
            bands(out)?;
        }
        settings.map_or(Ok(()), |settings| out.markup(&settings))
    }))
}

fn cache_bands(analysis: &Analysis) -> Option<Body<'_>> {
    let tables: Vec<(usize, &Section, Table)> = analysis
        .sections
        .iter()
        .enumerate()
        .filter_map(|(index, section)| Some((index, section, bands_table(analysis, section)?)))
        .collect();
    let (first, ..) = tables.first()?;
    let sweep = analysis.sections.iter().any(|section| section.view == View::Sweep);
    let figure = Figure {
        section: None,
        kind: "bands",
        title: if sweep { "Where bytes came from, along file size" } else { "Where bytes came from" },
        hint: "Shares of the bytes, with the throughput above them; hatched: server cache or storage, not distinguished. The vertical mark is the memory of this machine.",
        height: "tall",
        table: &format!("bands{first}"),
    };
    let frame = html! {
        article.panel {
            h3 { "Cache bands" }
            div.charts { (figure.place()) }
            (CONTENT)
        }
        "\n"
    };
    Some(Box::new(move |out| {
        out.within(&frame, |out| {
            tables.iter().try_for_each(|(index, section, bands)| {
                table(out, &format!("bands{index}"), &section.title, bands, None)
            })
        })
    }))
}

fn settings(analysis: &Analysis) -> Option<Markup> {
    let differing = || analysis.comparisons.iter().filter(|comparison| !comparison.settings.is_empty());
    differing().next()?;
    Some(html! {
        div.panel {
            @for comparison in differing() {
                details {
                    summary { "Stated settings that differ, or that only one system states: " (comparison.name) }
                    ul {
                        @for change in &comparison.settings { li { (change.words()) } }
                    }
                }
            }
        }
        "\n"
    })
}

fn outcomes(analysis: &Analysis) -> impl Iterator<Item = &Outcome> {
    let rows = analysis.sections.iter().flat_map(|section| section.rows.iter());
    rows.flat_map(|row| row.outcomes.iter().flatten())
}

/// Percentiles of every cell, and the run over time.
pub fn tails(analysis: &Analysis) -> Option<Body<'_>> {
    let timed = outcomes(analysis).any(|outcome| outcome.p50.is_some());
    if !timed && analysis.timelines.is_empty() {
        return None;
    }
    Some(Box::new(move |out| {
        if timed {
            response_times(out, analysis)?;
        }
        if analysis.timelines.is_empty() { Ok(()) } else { timelines(out, analysis) }
    }))
}

fn response_times(out: &mut PageWriter<'_>, analysis: &Analysis) -> io::Result<()> {
    let figure = Figure {
        section: None,
        kind: "tail",
        title: "Response time by percentile",
        hint: "Each step to the right is another nine. Solid: response; dashed: service; dotted: lag. Thin where too few operations lie beyond; bars: intervals of p50, p95 and p99.",
        height: "tall",
        table: "times0",
    };
    let frame = html! {
        article.panel {
            h3 { "Response times" }
            @if outcomes(analysis).any(|outcome| outcome.curve.is_some()) {
                div.charts { (figure.place()) }
            }
            (CONTENT)
        }
        "\n"
    };
    out.within(&frame, |out| {
        analysis.sections.iter().enumerate().try_for_each(|(index, section)| {
            let times = times_table(analysis, section);
            table(out, &format!("times{index}"), &section.title, &times, None)
        })
    })
}

fn timelines(out: &mut PageWriter<'_>, analysis: &Analysis) -> io::Result<()> {
    let figure = Figure {
        section: None,
        kind: "timeline",
        title: "The run over time",
        hint: "Rate of each step over the median rate of its cell: a level line is a steady run. Triangles: failed operations; hollow marks: steps with a warning, and steps that were left out.",
        height: "",
        table: "timeline0",
    };
    let frame = html! {
        article.panel {
            h3 { "Stalls, errors and drift" }
            div.charts { (figure.place()) }
            (CONTENT)
        }
        "\n"
    };
    out.within(&frame, |out| {
        analysis.timelines.iter().enumerate().try_for_each(|(index, timeline)| {
            let name = &analysis.systems[timeline.system].name;
            table(out, &format!("timeline{index}"), name, &timeline_table(analysis, timeline), None)
        })
    })
}

/// Client CPU, operations and bytes, and the cost of durability.
pub fn cost(analysis: &Analysis) -> Option<Body<'_>> {
    if analysis.sections.is_empty() {
        return None;
    }
    let figure = Figure {
        section: None,
        kind: "cost",
        title: "Client CPU of one operation",
        hint: "Solid: in user mode and in the kernel; dashed: in user mode alone. Of the measuring process.",
        height: "",
        table: "cost0",
    };
    let counted = outcomes(analysis).any(|outcome| outcome.cpu_ns_per_operation().is_some());
    let frame = html! {
        article.panel {
            h3 { "Client CPU, operations and bytes" }
            @if counted { div.charts { (figure.place()) } }
            (CONTENT)
        }
        "\n"
    };
    Some(Box::new(move |out| {
        out.within(&frame, |out| {
            analysis.sections.iter().enumerate().try_for_each(|(index, section)| {
                let cost = cost_table(analysis, section);
                table(out, &format!("cost{index}"), &section.title, &cost, None)
            })
        })
    }))
}
