//! The parts of the page that explain: caches and settings, tails and the run over time, cost.
//!
//! Each part is none where the analysis has nothing to show in it.

use std::io;

use maud::{Markup, html};
use sharebench_analysis::{Analysis, CacheShares, Comparison, Outcome, Section, Sentence, View};
use sharebench_model::units::{counted, percent};

use super::articles::Figure;
use super::document::{Body, PageWriter};
use super::parts::{folded, grouped, sentences, table};
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
    let uniform = uniform_bands(analysis);
    let body = html! {
        @if uniform.is_none() { div.charts { (figure.place()) } }
        (grouped(tables.len(), &format!("Cache bands of {}", counted(tables.len(), "test"))))
    };
    let frame = folded("Cache bands", &uniform.unwrap_or_default(), false, &body);
    Some(Box::new(move |out| {
        out.within(&frame, |out| {
            tables.iter().try_for_each(|(index, section, bands)| {
                table(out, &format!("bands{index}"), &section.title, bands, None)
            })
        })
    }))
}

/// What served the bytes of all cells alike, in words; none if the cells differ, so that a chart shows something.
fn uniform_bands(analysis: &Analysis) -> Option<String> {
    let middles =
        |shares: &CacheShares| [&shares.client, &shares.server, &shares.storage].map(|share| share.middle());
    let known: Vec<[f64; 3]> =
        outcomes(analysis).filter_map(|outcome| outcome.cache_shares.as_deref().map(middles)).collect();
    let first = known.first()?;
    let is_like_first = |shares: &[f64; 3]| {
        shares.iter().zip(first).all(|(share, other)| (share - other).abs() < MAX_UNIFORM_DIFFERENCE)
    };
    let shown = ["client cache", "server cache", "storage"].into_iter().zip(first);
    let shown: Vec<String> = shown
        .filter(|(_, share)| **share >= MAX_UNIFORM_DIFFERENCE)
        .map(|(name, share)| format!("{name} {}", percent(*share, 0)))
        .collect();
    known.iter().all(is_like_first).then(|| format!("in every cell: {}", shown.join(", ")))
}

/// Shares that differ by less look alike in a chart.
const MAX_UNIFORM_DIFFERENCE: f64 = 0.02;

fn settings(analysis: &Analysis) -> Option<Markup> {
    let differing: Vec<&Comparison> =
        analysis.comparisons.iter().filter(|comparison| !comparison.settings.is_empty()).collect();
    if differing.is_empty() {
        return None;
    }
    let body = html! {
        @for comparison in &differing {
            h4 { (comparison.name) }
            ul {
                @for change in &comparison.settings { li { (change.words()) } }
            }
        }
    };
    let gist = "stated settings that differ, or that only one system states";
    Some(folded("Settings", gist, false, &body))
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
    let body = html! {
        @if outcomes(analysis).any(|outcome| outcome.curve.is_some()) {
            div.charts { (figure.place()) }
        }
        (grouped(analysis.sections.len(), &format!("Response times of {}", counted(analysis.sections.len(), "test"))))
    };
    let frame = folded("Response times", "percentiles of every cell", false, &body);
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
    let body = html! {
        div.charts { (figure.place()) }
        (grouped(analysis.timelines.len(), &format!("Steps of {}", counted(analysis.timelines.len(), "system"))))
    };
    let frame = folded("Stalls, errors and drift", "the run over time", false, &body);
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
    let has_cpu = outcomes(analysis).any(|outcome| outcome.cpu_ns_per_operation().is_some());
    let body = html! {
        @if has_cpu { div.charts { (figure.place()) } }
        (grouped(analysis.sections.len(), &format!("Cost of {}", counted(analysis.sections.len(), "test"))))
    };
    let frame = folded("Client CPU, operations and bytes", "per operation and per megabyte", false, &body);
    Some(Box::new(move |out| {
        out.within(&frame, |out| {
            analysis.sections.iter().enumerate().try_for_each(|(index, section)| {
                let cost = cost_table(analysis, section);
                table(out, &format!("cost{index}"), &section.title, &cost, None)
            })
        })
    }))
}
