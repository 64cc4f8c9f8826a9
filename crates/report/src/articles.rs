//! One test or workload on the page: what was found, its charts, and the tables behind them.

use std::fmt::Write;

use sharebench_analysis::{Analysis, Section, Sentence, View};

use crate::escape::html as safe;
use crate::load_table::load_tables;
use crate::page::{listed, table};
use crate::study::study_table;
use crate::table::main_table;

/// A place for a chart; the page's script draws it.
pub struct Figure<'a> {
    /// Index of the section; none for charts that choose one.
    pub section: Option<usize>,
    /// What to draw.
    pub kind: &'a str,
    /// What it shows.
    pub what: &'a str,
    /// How to read it.
    pub hint: &'a str,
    /// Further classes of the plot, such as ` tall`.
    pub height: &'a str,
    /// Id of the table behind it.
    pub table: &'a str,
}

impl Figure<'_> {
    /// The place.
    pub fn place(&self) -> String {
        let section = self.section.map_or_else(String::new, |section| format!(" data-section=\"{section}\""));
        let Self { kind, what, hint, height, table, .. } = self;
        let (what, hint) = (safe(what), safe(hint));
        format!(
            "<figure{section} data-kind=\"{kind}\" data-table=\"{table}\"><figcaption><span class=\"what\">{what}</span>\
             </figcaption><div class=\"plot{height}\" role=\"img\" aria-label=\"{what}\"></div><p class=\"hint\">{hint}</p></figure>"
        )
    }
}

/// Findings, charts and tables of one section; with `surfaces` a sweep's surface too.
pub fn article(analysis: &Analysis, index: usize, section: &Section, surfaces: bool) -> String {
    let about: Vec<&Sentence> =
        analysis.findings.iter().filter(|found| found.section == Some(index)).collect();
    let mut out = format!("<article class=\"card\" id=\"s{index}\"><h3>{}</h3>\n", safe(&section.title));
    if !about.is_empty() {
        out.push_str(&listed(about.into_iter(), &format!("{}: ", section.title), section.view != View::Load));
    }
    out.push_str("<div class=\"charts\">");
    let numbers = format!("t{index}");
    for figure in figures(index, section, &numbers, surfaces) {
        out.push_str(&figure.place());
    }
    out.push_str("</div>\n");
    out.push_str(&table(&numbers, "The numbers", &main_table(analysis, section), Some(index)));
    if let Some(study) = study_table(analysis, section, false) {
        let id = format!("study{index}");
        out.push_str(&table(&id, "In the columns of the Windows 2000 study", &study, None));
    }
    for (part, parts) in load_tables(analysis, section, false).iter().enumerate() {
        let _ = write!(out, "{}", table(&format!("parts{index}-{part}"), "A load taken apart", parts, None));
    }
    out + "</article>\n"
}

fn figures<'a>(index: usize, section: &Section, numbers: &'a str, surfaces: bool) -> Vec<Figure<'a>> {
    let compared = section.rows.iter().any(|row| row.ratios.iter().any(Option::is_some));
    let figure =
        |kind, what, hint, height| Figure { section: Some(index), kind, what, hint, height, table: numbers };
    let ratio = || {
        figure(
            "ratio",
            "Ratio of throughputs",
            "Colour: which is faster and by how much; paler with a wider interval; dashed: not resolved; single runs are pale. A frame is a region. Click a cell for its numbers.",
            "",
        )
    };
    let mut figures = Vec::new();
    match section.view {
        View::Load => figures.push(figure(
            "load",
            "Throughput, response and participation against users",
            "Response: p50 thin, p95 with its interval, p99 dotted. Dotted straight line: users who never wait for each other. Dashed: stress point, knee, objective.",
            " highest",
        )),
        View::Sweep => {
            figures.extend(compared.then(ratio));
            if surfaces && has_area(section) {
                figures.push(figure(
                    "surface",
                    "Surface",
                    "Height and colour: throughput, the same scale for all systems; or the difference of a pair in percent. Drag to turn it. The map is the reference: a slope hides what lies behind it.",
                    " tall",
                ));
            }
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
                " tall",
            ));
            figures.push(figure(
                "level",
                "Request size against depth",
                "Stronger: nearer to the most that this system gave in this test. Click a cell for its numbers.",
                "",
            ));
            figures.extend(compared.then(ratio));
        }
    }
    figures
}

/// True when there are two sizes at least on either axis, without which there is no surface.
fn has_area(section: &Section) -> bool {
    let several = |axis: usize| {
        let mut values = section.rows.iter().map(|row| row.position.get(axis));
        let first = values.next().flatten();
        first.is_some() && values.any(|value| value.is_some() && value != first)
    };
    several(0) && several(1)
}
