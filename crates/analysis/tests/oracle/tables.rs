//! Cells from the tables that a page of text prints: a title, a rule, a header, and one line for each cell.

use std::collections::BTreeMap;

use super::cell::{At, Cell};
use super::claim::number;
use super::scope::value;

/// Every cell with a ratio of the tables of a page.
pub fn of_tables(page: &str) -> Vec<Cell> {
    let lines: Vec<&str> = page.lines().collect();
    let is_rule = |line: &str| line.len() > 3 && line.chars().all(|c| c == '-' || c == '─');
    let mut cells = Vec::new();
    for (at, _) in lines.iter().enumerate().filter(|(_, line)| is_rule(line)) {
        let Some((title, header)) = at.checked_sub(1).map(|at| lines[at]).zip(lines.get(at + 1)) else {
            continue;
        };
        let header = columns(header);
        let rows = lines[at + 2..].iter().take_while(|line| !line.trim().is_empty());
        cells.extend(rows.flat_map(|row| of_row(title, &header, &columns(row))));
    }
    cells
}

/// Columns are two spaces apart or more.
fn columns(line: &str) -> Vec<&str> {
    line.split("  ").map(str::trim).filter(|column| !column.is_empty()).collect()
}

fn of_row(title: &str, header: &[&str], row: &[&str]) -> Vec<Cell> {
    if header.len() != row.len() {
        return Vec::new();
    }
    let mut place = BTreeMap::new();
    let mut cells = Vec::new();
    for (name, text) in header.iter().zip(row) {
        let axis = match *name {
            "file" => "file_size",
            "record" => "record_size",
            "depth" => "queue_depth",
            other => other,
        };
        match (name.split_once('/'), ratio(text)) {
            (Some((a, b)), Some((ratio, interval))) => cells.push(Cell {
                pair: [a.to_owned(), b.to_owned()],
                test: title.to_owned(),
                view: if header.contains(&"users") { "load" } else { "sweep" }.to_owned(),
                place: place.clone(),
                value: ratio,
                interval,
                is_cached: false,
                rounding: rounding(text),
            }),
            _ if cells.is_empty() => {
                place.insert(axis.to_owned(), value(text).unwrap_or_else(|| At::Word((*text).to_owned())));
            }
            _ => {}
        }
    }
    cells
}

/// `0.59 [0.52, 0.60] <`, or `1.24` of single runs.
fn ratio(text: &str) -> Option<(f64, Option<[f64; 2]>)> {
    let (ratio, rest) = number(text)?;
    let Some(bounds) = rest.strip_prefix(" [") else {
        return (rest.is_empty() || rest.starts_with(" ?")).then_some((ratio, None));
    };
    let (low, high) = bounds.split_once(']')?.0.split_once(", ")?;
    Some((ratio, Some([low.parse().ok()?, high.parse().ok()?])))
}

/// Half of the last digit of a number, as a share of it.
fn rounding(text: &str) -> f64 {
    let Some((ratio, rest)) = number(text) else { return 0.0 };
    let digits = &text[..text.len() - rest.len()];
    let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    0.5 / 10f64.powf(decimals as f64) / ratio
}
