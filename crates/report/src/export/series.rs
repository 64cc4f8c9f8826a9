//! Runs of one plan in a row: as text, Markdown, CSV and JSON.

use std::fmt::Write as _;

use sharebench_analysis::{Series, SeriesLine, Tone};
use sharebench_model::units::show_rate;

use super::json::Document;
use crate::escape;

/// Identifier of docs/schemas/series-1.json.
const SERIES_SCHEMA: &str = "urn:sharebench:schema:series:1";

/// Renders a series for the terminal: what changed, then every test with its runs; an arrow marks the start of a new level.
pub fn series_text(series: &Series) -> String {
    let mut out = String::from("CHANGES\n");
    for sentence in &series.sentences {
        let mark = match sentence.tone {
            Tone::Alarm => "!",
            Tone::Difference => ">",
            Tone::Same => "=",
            Tone::NotResolved => "?",
            Tone::Note => "-",
        };
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{mark} {}", escape::terminal(&sentence.text));
    }
    for (number, line) in series.lines.iter().enumerate() {
        let _ = writeln!(out, "\n{}", escape::terminal(&title(line)));
        for (index, (run, rate)) in series.runs.iter().zip(&line.rates).enumerate() {
            let label = escape::terminal(&run.label);
            let mark = mark(series, number, index);
            let _ = writeln!(out, "{mark:>1} {:>12}  {label}", show_rate(*rate));
        }
    }
    out
}

/// Such as `smb read (12 cells)`.
fn title(line: &SeriesLine) -> String {
    format!("{} {} ({} cell{})", line.target, line.test, line.cells, if line.cells == 1 { "" } else { "s" })
}

/// An arrow where a new level of the line begins.
fn mark(series: &Series, line: usize, run: usize) -> &'static str {
    let mut here = series.changes.iter().filter(|change| change.at == run).flat_map(|change| &change.lines);
    match here.find(|change| change.line == line).map(|change| change.ratio.value) {
        Some(ratio) if ratio < 1.0 => "v",
        Some(_) => "^",
        None => "",
    }
}

/// Renders a series as a Markdown section.
pub fn series_markdown(series: &Series) -> String {
    let mut out = String::from("## Changes\n\n");
    for sentence in &series.sentences {
        let _ = writeln!(out, "- {}", escape::markdown(&sentence.text));
    }
    let names: Vec<String> = series.lines.iter().map(|line| escape::markdown(&title(line))).collect();
    let _ = writeln!(out, "\n| run | {} |\n|---|{}", names.join(" | "), "---:|".repeat(names.len()));
    for (index, run) in series.runs.iter().enumerate() {
        let lines = series.lines.iter().enumerate();
        let cell = |(number, line): (usize, &SeriesLine)| {
            format!("{} {}", show_rate(line.rates[index]), mark(series, number, index))
        };
        let cells: Vec<String> = lines.map(cell).collect();
        let _ = writeln!(out, "| {} | {} |", escape::markdown(&run.label), cells.join(" | "));
    }
    out
}

/// Renders a series as CSV: one line per test and run.
pub fn series_csv(series: &Series) -> String {
    let header = ["run", "started_unix_ms", "target", "test", "rate_per_s", "cells", "change"];
    let row = |(number, line): (usize, &SeriesLine), index: usize| {
        let run = &series.runs[index];
        let started = run.started_unix_ms.to_string();
        let rate = line.rates[index].to_string();
        let change = mark(series, number, index).to_owned();
        let cells = line.cells.to_string();
        vec![run.label.clone(), started, line.target.clone(), line.test.clone(), rate, cells, change]
    };
    let lines = series.lines.iter().enumerate();
    let rows = lines.flat_map(|line| {
        let runs = series.runs.len().min(line.1.rates.len());
        (0..runs).map(move |index| row(line, index))
    });
    escape::csv(std::iter::once(header.map(str::to_owned).to_vec()).chain(rows))
}

/// Renders a series as JSON.
///
/// # Errors
/// Never in practice: strings, numbers and lists always have a JSON form.
pub fn series_json(series: &Series) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(&Document { schema: SERIES_SCHEMA, document: series })
}
