//! One test or workload on the page: findings, charts, and the tables that the charts draw.

use std::collections::BTreeSet;
use std::io;

use maud::{Markup, html};
use sharebench_analysis::{Analysis, Section, Sentence, View};

use super::document::{CONTENT, PageWriter};
use super::parts::{class, is_no_difference, listed, mark, table};
use crate::first_screen::mapped;
use crate::tables::{load_tables, main_table, study_table, test_cell};

/// A place for a chart; the page's script draws it.
pub struct Figure<'a> {
    /// Index of the section; none for charts that choose one.
    pub section: Option<usize>,
    /// Kind of the chart, as the script names it.
    pub kind: &'a str,
    /// Title of the chart.
    pub title: &'a str,
    /// How to read it.
    pub hint: &'a str,
    /// Class of the plot's height, such as `tall`; empty for the usual one.
    pub height: &'a str,
    /// Id of the table with the same numbers.
    pub table: &'a str,
}

impl Figure<'_> {
    /// The place.
    pub fn place(&self) -> Markup {
        let plot = if self.height.is_empty() { "plot".to_owned() } else { format!("plot {}", self.height) };
        html! {
            figure data-section=[self.section] data-kind=(self.kind) data-table=(self.table) {
                figcaption { span.what { (self.title) } }
                div class=(plot) role="img" aria-label=(self.title) {}
                p.hint { (self.hint) }
            }
        }
    }
}

/// Writes findings, charts and tables of one section, which a reader opens from its heading unless it `is_open` from the
/// beginning.
pub fn article(
    out: &mut PageWriter<'_>,
    analysis: &Analysis,
    index: usize,
    section: &Section,
    is_open: bool,
) -> io::Result<()> {
    let findings = || analysis.findings.iter().filter(move |found| found.section == Some(index));
    let about: Vec<&Sentence> = findings().filter(|found| !is_no_difference(found)).collect();
    let not_resolved = analysis.not_resolved.iter().filter(|found| found.section == Some(index));
    let tones: BTreeSet<&str> = findings().chain(not_resolved).map(|found| class(found.tone)).collect();
    let tones: Vec<&str> = tones.into_iter().collect();
    let numbers = format!("t{index}");
    let frame = html! {
        article.panel.folded id=(format!("s{index}")) data-tones=(tones.join(" ")) {
            details open[is_open] {
                summary { h3 { (section.title) } (gist(analysis, index)) }
                @if !about.is_empty() {
                    (listed(about.into_iter(), &format!("{}: ", section.title), section.view != View::Load))
                }
                div.charts {
                    @for figure in figures(analysis, index, section, &numbers) { (figure.place()) }
                }
                (CONTENT)
            }
        }
        "\n"
    };
    out.within(&frame, |out| {
        let title = format!("Numbers of {}", section.title);
        table(out, &numbers, &title, &main_table(analysis, section), Some(index))?;
        if let Some(study) = study_table(analysis, section, false) {
            let title = "In the columns of the Windows 2000 study";
            table(out, &format!("study{index}"), title, &study, None)?;
        }
        for (part, parts) in load_tables(analysis, section, false).iter().enumerate() {
            table(out, &format!("parts{index}-{part}"), "By transaction and operation", parts, None)?;
        }
        Ok(())
    })
}

/// The ratio of each pair that the answer reports.
fn gist(analysis: &Analysis, section: usize) -> Markup {
    html! {
        @for comparison in &analysis.reported {
            @let cell = test_cell(analysis, *comparison, section);
            @if let Some(standing) = cell.standing {
                span.gist {
                    (analysis.comparisons[*comparison].name) " "
                    b class=(standing.word().replace(' ', "-")) { (cell.text) " " (mark(standing)) }
                }
            }
        }
    }
}

fn figures<'a>(analysis: &Analysis, index: usize, section: &Section, numbers: &'a str) -> Vec<Figure<'a>> {
    let has_ratio = section.rows.iter().any(|row| row.ratios.iter().any(Option::is_some));
    // The map of a single test is on the first screen.
    let compared = has_ratio && mapped(analysis) != [index];
    let figure = |kind, title, hint, height| Figure {
        section: Some(index),
        kind,
        title,
        hint,
        height,
        table: numbers,
    };
    let ratio = || {
        figure(
            "ratio",
            "Ratio of throughputs",
            "Colour: which system is faster and by how much; paler with a wider interval; dashed: not resolved; single runs are pale. A frame is a part in which one system is faster: the later one in a solid frame (▲), the earlier one in a dashed frame (▼). A dashed line marks where reads of a system fall with the size of the file. Click a cell for its numbers.",
            "",
        )
    };
    let mut figures = Vec::new();
    match section.view {
        View::Load => figures.push(figure(
            "load",
            "Throughput, response and participation against users",
            "Response: p50 thin, p95 with its interval, p99 dotted. Dotted straight line: users who never wait for each other. Dashed: stress point, knee, objective.",
            "highest",
        )),
        View::Sweep => {
            figures.extend(compared.then(ratio));
            // Without a ratio, the map of a system shows where its reads fall.
            figures.extend((!has_ratio && has_area(section)).then(|| {
                figure(
                    "level",
                    "Map of the throughput",
                    "Stronger: nearer to the highest throughput of this system in this test. A dashed line marks where its reads fall with the size of the file. Click a cell for its numbers.",
                    "",
                )
            }));
            figures.push(figure(
                "throughput",
                "Throughput",
                "Median of the repetitions with its interval, by record size.",
                "",
            ));
        }
        View::Depth => {
            figures.push(figure(
                "depth",
                "Throughput and client CPU against depth",
                "Median with its interval; below, client CPU of one operation.",
                "tall",
            ));
            figures.push(figure(
                "level",
                "Request size against depth",
                "Stronger: nearer to the highest throughput of this system in this test. Click a cell for its numbers.",
                "",
            ));
            figures.extend(compared.then(ratio));
        }
    }
    figures
}

/// True when both axes have two sizes or more; with fewer there is no map.
fn has_area(section: &Section) -> bool {
    let several = |axis: usize| {
        let mut values = section.rows.iter().map(|row| row.position.get(axis));
        let first = values.next().flatten();
        first.is_some() && values.any(|value| value.is_some() && value != first)
    };
    several(0) && several(1)
}
