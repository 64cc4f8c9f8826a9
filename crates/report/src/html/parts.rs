//! Pieces of the HTML page: sentences, statuses, tables.

use std::io;

use maud::{Markup, html};
use sharebench_analysis::{Analysis, PartReference, RatioVerdict, Sentence, Status, Tone, TrustLine};
use sharebench_model::units::counted;

use super::document::{CONTENT, PageWriter};
use crate::charts::{part_id, part_number};
use crate::show;
use crate::tables::{Cell, Table};

/// Sentences as a list, each with the mark of its tone; those about a part of a map link to the sentence below its map.
pub fn sentences<'a>(all: impl Iterator<Item = &'a Sentence>) -> Markup {
    html! {
        ul.sentences {
            @for sentence in all {
                li class=(class(sentence.tone)) {
                    (sentence.text)
                    @if let Some(at) = &sentence.part {
                        @let number = part_number(at.part);
                        " "
                        a.part href=(link(at)) title=(format!("part {number} on its map")) { (number) }
                    }
                }
            }
        }
    }
}

/// Sentences below a heading that says `prefix` already; those about a part of a map have its number and id.
///
/// Without a map they keep their ids alone.
pub fn listed<'a>(all: impl Iterator<Item = &'a Sentence>, prefix: &str, map: bool) -> Markup {
    html! {
        ul.sentences {
            @for sentence in all {
                @let id = sentence.part.as_ref().map(|at| part_id(at.comparison, at.part));
                li class=(class(sentence.tone)) id=[id] {
                    // The number comes first, as on the map.
                    @if let Some(at) = sentence.part.as_ref().filter(|_| map) {
                        (badge(at)) " "
                    }
                    (sentence.text.strip_prefix(prefix).unwrap_or(&sentence.text))
                }
            }
        }
    }
}

fn badge(at: &PartReference) -> Markup {
    let number = part_number(at.part);
    html! {
        a.part href=(link(at)) data-comparison=(at.comparison)
            title=(format!("show part {number} on the map")) { (number) }
    }
}

fn link(at: &PartReference) -> String {
    format!("#{}", part_id(at.comparison, at.part))
}

pub fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Alarm => "alarm",
        Tone::Difference => "difference",
        Tone::Same => "same",
        Tone::NotResolved => "not-resolved",
        Tone::Note => "note",
    }
}

/// True for a finding that a test shows no difference, other than about a part of its map.
pub fn is_no_difference(found: &Sentence) -> bool {
    found.tone == Tone::Same && found.part.is_none() && found.section.is_some()
}

/// Sentences about tests as a table that opens from its summary line.
pub fn statements(summary: &str, analysis: &Analysis, all: &[&Sentence]) -> Markup {
    html! {
        details {
            summary { (summary) }
            div.scroll tabindex="0" role="group" aria-label=(summary) {
                table {
                    thead { tr { th scope="col" { "test" } th.left scope="col" { "finding" } } }
                    tbody {
                        @for sentence in all {
                            @let title = sentence.section.map(|index| analysis.sections[index].title.as_str());
                            @let prefix = title.map_or_else(String::new, |title| format!("{title}: "));
                            tr {
                                th scope="row" { (title.unwrap_or("all tests")) }
                                td.wrap { (sentence.text.strip_prefix(&prefix).unwrap_or(&sentence.text)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn status_class(status: Status) -> &'static str {
    match status {
        Status::Ok => "ok",
        Status::Warning => "warning",
        Status::Failed => "failed",
    }
}

fn status_list(lines: &[&TrustLine]) -> Markup {
    let same_subject = |a: &&TrustLine, b: &&TrustLine| a.subject == b.subject && a.status == b.status;
    html! {
        ul.trust {
            @for group in lines.chunk_by(same_subject) {
                li class=(status_class(group[0].status)) {
                    b { (group[0].subject) }
                    div { @for line in group { p { (line.text) } } }
                }
            }
        }
    }
}

/// The warnings, the checks that passed, and every self-check with its counts and its arithmetic.
pub fn trust(analysis: &Analysis) -> Markup {
    let (passed, others): (Vec<&TrustLine>, Vec<&TrustLine>) =
        analysis.trust.iter().partition(|line| line.status == Status::Ok);
    html! {
        div.panel {
        @if !others.is_empty() { (status_list(&others)) }
        @if !passed.is_empty() {
            details open[others.is_empty()] {
                summary { "Passed: " (counted(passed.len(), "check")) }
                (status_list(&passed))
            }
        }
        @if !analysis.self_checks.is_empty() {
            details {
                summary { "Self-checks of all steps: " (counted(analysis.self_checks.len(), "check")) }
                div.scroll tabindex="0" {
                    table {
                        thead {
                            tr {
                                th scope="col" { "check" }
                                th.left scope="col" { "steps" }
                                th.left scope="col" { "such as" }
                            }
                        }
                        tbody {
                            @for check in &analysis.self_checks {
                                tr {
                                    th scope="row" { (check.name) }
                                    td.wrap { (show::counts(check)) }
                                    td.wrap { (check.example) }
                                }
                            }
                        }
                    }
                }
            }
        }
        }
    }
}

/// Writes a table that opens from its summary line; with `section`, each row has an id and links to its cell.
pub fn table(
    out: &mut PageWriter<'_>,
    id: &str,
    summary: &str,
    table: &Table,
    section: Option<usize>,
) -> io::Result<()> {
    let frame = html! {
        details id=(id) {
            summary { (summary) }
            div.scroll tabindex="0" role="group" aria-label=(summary) {
                table {
                    caption { (table.caption) }
                    thead {
                        tr {
                            @for name in &table.header { th scope="col" { (name) } }
                        }
                    }
                    tbody { (CONTENT) }
                }
            }
            @for note in &table.notes { p { (note) } }
        }
    };
    let rows = table.rows.iter().enumerate();
    out.within(&frame, |out| {
        for (number, cells) in rows {
            out.markup(&row(cells, table.keys, section, number))?;
        }
        Ok(())
    })
}

/// A row, whose first `keys` cells name it.
fn row(cells: &[Cell], keys: usize, section: Option<usize>, number: usize) -> Markup {
    html! {
        tr id=[section.map(|section| format!("r{section}-{number}"))] {
            @for (column, cell) in cells.iter().enumerate() {
                @if column < keys {
                    (key(cell, section.filter(|_| column == 0), number))
                } @else {
                    (value(cell))
                }
            }
        }
        "\n"
    }
}

/// A cell that names its row.
fn key(cell: &Cell, section: Option<usize>, row: usize) -> Markup {
    html! {
        th scope="row" {
            @if let Some(section) = section {
                a href=(format!("#cell-{section}-{row}")) { (cell.text) }
            } @else {
                (cell.text)
            }
        }
    }
}

fn value(cell: &Cell) -> Markup {
    html! {
        @if let Some(standing) = cell.standing {
            td class=(standing.word().replace(' ', "-")) { (cell.text) " " (mark(standing)) }
        } @else {
            td { (cell.text) }
        }
    }
}

pub fn mark(standing: RatioVerdict) -> &'static str {
    match standing {
        RatioVerdict::Faster => "▲",
        RatioVerdict::Slower => "▼",
        RatioVerdict::AboutTheSame => "=",
        RatioVerdict::NotResolved => "?",
    }
}

/// A panel that opens from its heading.
pub fn folded(heading: &str, gist: &str, open: bool, body: &Markup) -> Markup {
    html! {
        article.panel.folded {
            details open[open] {
                summary { h3 { (heading) } @if !gist.is_empty() { span.gist { (gist) } } }
                (body)
            }
        }
        "\n"
    }
}

/// The place of tables of several tests under one summary line; one table alone has its own.
pub fn grouped(tables: usize, summary: &str) -> Markup {
    html! {
        @if tables == 1 {
            (CONTENT)
        } @else {
            details.group {
                summary { (summary) }
                (CONTENT)
            }
        }
    }
}
