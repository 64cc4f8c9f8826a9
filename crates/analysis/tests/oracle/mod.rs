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
#[allow(unused_imports, reason = "each test program uses its own part")]
pub use tables::of_tables;

/// The sentences of an analysis, as JSON.
fn sentences_of(analysis: &Value) -> Vec<String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let parts = ["answer", "findings", "not_resolved"].into_iter().flat_map(|part| list(&analysis[part]));
    let texts = parts.map(|sentence| sentence["text"].clone());
    let verdicts = list(&analysis["comparisons"]).into_iter().map(|c| c["verdict"]["text"].clone());
    texts.chain(verdicts).filter_map(|text| text.as_str().map(str::to_owned)).collect()
}

/// Every sentence of an analysis, as JSON, that a cell contradicts, with the cell.
pub fn contradictions(analysis: &Value) -> Vec<String> {
    judge::all(&of_json(analysis), &sentences_of(analysis))
}

/// Every claim of an HTML page that is no sentence of its analysis, nor the rest of one below the heading of its test.
pub fn foreign_claims(analysis: &Value, page: &str) -> Vec<String> {
    let known: Vec<String> = sentences_of(analysis).iter().map(|text| without_confidence(text)).collect();
    let names = judge::names(&of_json(analysis));
    let is_known = |line: &String| {
        let line = without_confidence(line);
        known.iter().any(|text| text.contains(&line) || line.contains(text))
    };
    let claiming = lines::sentences(page).into_iter().filter(|line| !claim::claims(line, &names).is_empty());
    claiming.filter(|line| !is_known(line)).collect()
}

/// A verdict without its confidence, which HTML shows as a mark of its own and names in the remedy.
fn without_confidence(text: &str) -> String {
    let text = text.replace("; to raise it,", "; to raise the confidence,");
    ["low", "moderate", "high"].iter().fold(text, |text, confidence| {
        let said = format!(" confidence: {confidence}");
        text.replace(&format!(",{said}"), "").replace(&said, "")
    })
}

/// Every sentence of a page of text or Markdown that one of these cells contradicts.
pub fn contradictions_of_page(cells: &[Cell], page: &str) -> Vec<String> {
    judge::all(cells, &lines::sentences(page))
}

/// Number of statements about cells that a page makes: a page without any proves nothing.
pub fn statements(cells: &[Cell], page: &str) -> usize {
    let names = judge::names(cells);
    lines::sentences(page).iter().map(|text| claim::claims(text, &names).len()).sum()
}
