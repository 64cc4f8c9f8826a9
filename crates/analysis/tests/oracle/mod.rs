//! An oracle over the pages of the program: no sentence may contradict a cell of its own page.
//!
//! A page has cells and sentences. The cells are the ratios of the JSON, or of the tables that the page prints; the judge is
//! the interval of each cell. A cell contradicts a sentence if its whole interval does. What a sentence is about is read from
//! its words alone, so a sentence whose words cannot be read is a fault of its own.
#![allow(dead_code, reason = "each test program uses its own part")]

mod cell;
mod claim;
mod judge;
mod lines;
mod scope;
mod tables;

use serde_json::Value;

pub use cell::{Cell, of_json};
pub use tables::of_tables;

/// Every sentence of an analysis, as JSON, that a cell contradicts, with the cell.
pub fn contradictions(analysis: &Value) -> Vec<String> {
    let mut sentences = Vec::new();
    for part in ["answer", "findings", "not_resolved"] {
        let texts = analysis[part].as_array().into_iter().flatten().filter_map(|s| s["text"].as_str());
        sentences.extend(texts.map(str::to_owned));
    }
    let verdicts = analysis["comparisons"].as_array().into_iter().flatten();
    sentences.extend(verdicts.filter_map(|c| c["verdict"]["text"].as_str()).map(str::to_owned));
    judge::all(&of_json(analysis), &sentences)
}

/// Every sentence of a page of text, Markdown or HTML that one of these cells contradicts.
pub fn contradictions_of_page(cells: &[Cell], page: &str) -> Vec<String> {
    judge::all(cells, &lines::sentences(page))
}

/// Number of statements about cells that a page makes: a page without any proves nothing.
pub fn statements(cells: &[Cell], page: &str) -> usize {
    let names = judge::names(cells);
    lines::sentences(page).iter().map(|text| claim::claims(text, &names).len()).sum()
}
