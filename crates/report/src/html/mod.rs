//! The analysis as one self-contained HTML page, the dashboard, the list of runs, and the page that draws images.

mod articles;
mod dashboard_page;
mod document;
mod evidence;
mod first_screen;
mod images;
mod method;
mod parts;
mod runs_page;

use std::io::{self, Write};

use maud::{Markup, html};
use sharebench_analysis::{Analysis, Sentence, View};
use sharebench_model::units::counted;

use crate::charts::ChartData;
use crate::first_screen::mapped;
use crate::tables::{Table, rank_tables};
use articles::article;
use document::{Body, CONTENT, Document, PageWriter, document, document_text};
use evidence::{cost, tails, why};
use first_screen::{answer, header};
use method::method;
use parts::{is_no_difference, sentences, statements, table, trust};

pub use dashboard_page::dashboard_page;
pub use images::{IMAGES_BETWEEN, images_page};
pub use runs_page::{RunLine, runs_page};

const PAGE: &str = include_str!("../../assets/page.js");

/// The page runs its own inline style and script, and loads nothing.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

/// Renders the analysis as one HTML page.
///
/// The page is one file that needs no network, follows the light or dark theme, and prints. Its parts come in the order
/// in which a reader needs them: differing conditions in the header; the verdict with its bars, its trust and its map; then
/// every check, users, differences, queue depth, causes, tails, cost, what was not resolved, and how to repeat the run.
/// Tests and tables are closed until a reader opens them. The script draws the charts from JSON within the page; every
/// number is in a table as well, so that the page is complete without script. Text from users and servers is escaped.
///
/// The page is in memory as a whole; [`write_html`] writes one in pieces.
pub fn html(analysis: &Analysis) -> String {
    document_text(&frame(analysis), |out| page(out, analysis))
}

/// Writes the page of [`html`](fn@html) in pieces: that of a large run takes tens of megabytes.
pub fn write_html(out: &mut dyn Write, analysis: &Analysis) -> io::Result<()> {
    document(out, &frame(analysis), |out| page(out, analysis))
}

fn frame(analysis: &Analysis) -> Document<'_> {
    Document { title: title(analysis), policy: Some(POLICY) }
}

fn title(analysis: &Analysis) -> &str {
    if analysis.title.is_empty() { "sharebench report" } else { &analysis.title }
}

fn page(out: &mut PageWriter<'_>, analysis: &Analysis) -> io::Result<()> {
    let parts = parts(analysis);
    out.markup(&html! {
        (header(analysis, title(analysis)))
        nav aria-label="Parts of the report" {
            ul {
                @for part in &parts { li { a href=(format!("#{}", part.id)) { (part.name) } } }
            }
        }
        "\n"
    })?;
    let main = html! {
        main { (CONTENT) }
        "\n"
    };
    out.within(&main, |out| parts.into_iter().try_for_each(|part| write_part(out, part)))?;
    out.markup(&footer(analysis))?;
    out.data(&ChartData(analysis))?;
    out.library()?;
    out.charts(&[PAGE])
}

fn write_part(out: &mut PageWriter<'_>, part: Part<'_>) -> io::Result<()> {
    let heading = format!("{}-h", part.id);
    let frame = html! {
        section id=(part.id) aria-labelledby=(heading) {
            h2 id=(heading) { (part.title) }
            (CONTENT)
        }
        "\n"
    };
    out.within(&frame, part.body)
}

fn footer(analysis: &Analysis) -> Markup {
    let version = analysis.methods.first().map_or("", |method| method.version.as_str());
    html! {
        footer {
            "Made by sharebench " (version) ". Charts by Apache ECharts 6.1.0 (Apache-2.0). This page loads nothing from the network."
        }
        "\n"
    }
}

struct Part<'a> {
    id: &'static str,
    /// Name in the navigation, which has one line for all.
    name: &'static str,
    title: &'static str,
    body: Body<'a>,
}

/// A part that is short enough for one piece.
fn short<'a>(markup: Markup) -> Body<'a> {
    Box::new(move |out| out.markup(&markup))
}

/// The parts that have any content.
fn parts(analysis: &Analysis) -> Vec<Part<'_>> {
    let contradictions = html! { div.panel { (sentences(analysis.contradictions.iter())) } };
    let differ = if analysis.comparisons.is_empty() { "Each test" } else { "Where they differ" };
    let open = !analysis.not_resolved.is_empty() || !analysis.left_out.is_empty();
    let parts = [
        ("answer", "Answer", "Answer", Some(answer(analysis))),
        ("trust", "Trust", "Can I trust it?", Some(short(trust(analysis)))),
        (
            "contradictions",
            "Contradictions",
            "Contradictions",
            (!analysis.contradictions.is_empty()).then(|| short(contradictions)),
        ),
        ("users", "Users", "Users it carries", view_part(analysis, View::Load)),
        ("differ", "Tests", differ, view_part(analysis, View::Sweep)),
        ("depth", "Depth", "Queue depth", view_part(analysis, View::Depth)),
        ("why", "Causes", "Why: caches and settings", why(analysis)),
        ("tails", "Tails", "Tails", tails(analysis)),
        ("cost", "Cost", "What it costs", cost(analysis)),
        ("ranks", "Ranks", "The machines that measured", ranks(analysis)),
        ("open", "Open", "What was not resolved", open.then(|| short(not_resolved(analysis)))),
        ("method", "Method", "Method and raw data", Some(short(method(analysis)))),
    ];
    let with_content =
        parts.into_iter().filter_map(|(id, name, title, body)| Some(Part { id, name, title, body: body? }));
    with_content.collect()
}

fn view_part(analysis: &Analysis, view: View) -> Option<Body<'_>> {
    let sections: Vec<_> =
        analysis.sections.iter().enumerate().filter(|(_, section)| section.view == view).collect();
    if sections.is_empty() {
        return None;
    }
    Some(Box::new(move |out| {
        if sections.len() >= FILTERED_FROM {
            out.markup(&filter())?;
        }
        // Without a map above, the only test is the first chart.
        let is_open = sections.len() == 1 && mapped(analysis).is_empty();
        for (index, section) in sections {
            article(out, analysis, index, section, is_open)?;
        }
        out.markup(&without_difference(analysis, view))
    }))
}

/// The tests of a view that found no difference, in one table.
fn without_difference(analysis: &Analysis, view: View) -> Markup {
    let of_view = |found: &&Sentence| {
        is_no_difference(found) && found.section.is_some_and(|index| analysis.sections[index].view == view)
    };
    let found: Vec<&Sentence> = analysis.findings.iter().filter(of_view).collect();
    let title = format!("No difference: {}", counted(found.len(), "finding"));
    html! {
        @if !found.is_empty() { div.panel { (statements(&title, analysis, &found)) } }
    }
}

/// Number of tests from which a filter helps.
const FILTERED_FROM: usize = 3;

/// Hides tests; the script fills in how many are left. Without script the filter stays hidden.
fn filter() -> Markup {
    html! {
        form.filter hidden {
            label { "Tests " input type="search" placeholder="part of a name"; }
            " "
            label {
                "Show "
                select {
                    option value="" { "all" }
                    option value="difference" { "with a difference" }
                    option value="same" { "about the same" }
                    option value="not-resolved" { "not resolved" }
                }
            }
            " "
            output {}
        }
        "\n"
    }
}

/// Each rank's part of runs of several; ranks that differ from the others are named above the table.
fn ranks(analysis: &Analysis) -> Option<Body<'_>> {
    let tables = rank_tables(analysis, None);
    if tables.is_empty() {
        return None;
    }
    Some(Box::new(move |out| {
        for (index, (title, ranks)) in tables.into_iter().enumerate() {
            let frame = html! {
                article.panel {
                    h3 { (title) }
                    @for note in &ranks.notes { p { (note) } }
                    (CONTENT)
                }
                "\n"
            };
            let ranks = Table { notes: Vec::new(), ..ranks };
            out.within(&frame, |out| table(out, &format!("ranks{index}"), "Each rank", &ranks, None))?;
        }
        Ok(())
    }))
}

fn not_resolved(analysis: &Analysis) -> Markup {
    let open: Vec<&Sentence> = analysis.not_resolved.iter().collect();
    html! {
        div.panel {
            @if open.len() <= MAX_OPEN_SENTENCES {
                (sentences(open.into_iter()))
            } @else {
                (statements(&format!("Not resolved: {}", counted(open.len(), "finding")), analysis, &open))
            }
            @if !analysis.left_out.is_empty() { (left_out(analysis)) }
            @if !analysis.unmatched.is_empty() {
                details {
                    summary { "Positions without counterpart: " (counted(analysis.unmatched.len(), "group")) }
                    ul {
                        @for unmatched in &analysis.unmatched { li { (unmatched.words(analysis)) } }
                    }
                }
            }
        }
        "\n"
    }
}

/// Most sentences about what is not resolved that are shown as a list; more are a table.
const MAX_OPEN_SENTENCES: usize = 4;

fn left_out(analysis: &Analysis) -> Markup {
    html! {
        details {
            summary { "Steps left out: " (counted(analysis.left_out.len(), "step")) }
            div.scroll tabindex="0" {
                table {
                    thead {
                        tr {
                            th scope="col" { "system" }
                            th.left scope="col" { "where" }
                            th scope="col" { "repetition" }
                            th.left scope="col" { "why" }
                        }
                    }
                    tbody {
                        @for step in &analysis.left_out {
                            tr {
                                th scope="row" { (analysis.systems[step.system].name) }
                                td.wrap { (step.coordinates) }
                                td { (step.repetition + 1) }
                                td.wrap { (step.reason) }
                            }
                        }
                    }
                }
            }
        }
    }
}
