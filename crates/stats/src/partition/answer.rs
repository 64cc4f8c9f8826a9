//! What a map shows: the headline that follows from its parts, and how large a difference may still be hidden.

use super::FEWEST_ALONE;
use super::family::Family;
use super::map::{
    CellInterval, Direction, Evidence, Headline, Map, MapAnswer, MapOptions, Part, PartitionedMap,
};
use super::mean::CellMean;
use super::series::PreparedMap;
use crate::Interval;

/// Parts that a headline names.
const MAX_NAMED: usize = 3;

pub(super) fn assemble(
    map: &Map,
    prepared: &PreparedMap,
    family: &Family,
    mean: &CellMean,
    parts: Vec<Part>,
    options: &MapOptions,
) -> PartitionedMap {
    let mut cells: Vec<Vec<Option<CellInterval>>> =
        map.tests.iter().map(|grid| vec![None; grid.cells.len()]).collect();
    for (cell, rectangle) in prepared.cells.iter().zip(&family.cells) {
        cells[cell.test][cell.index] = Some(CellInterval {
            value: cell.value,
            interval: family.interval(*rectangle),
            n: cell.n(),
            only_in_means: cell.n() < FEWEST_ALONE,
        });
    }
    let headline = headline(&parts);
    let hidden = largest_hidden(&cells, &parts);
    let opposite = match headline.answer {
        MapAnswer::OneDirection(direction) => largest_towards(&cells, direction.opposite()),
        MapAnswer::Depends | MapAnswer::Mean => hidden,
    };
    PartitionedMap {
        mean: mean.estimate(options.level),
        mean_wider: mean.estimate(options.wider_level),
        cells,
        excluded: prepared.excluded.clone(),
        parts,
        headline,
        largest_hidden: hidden,
        largest_opposite: opposite,
        drift: mean.serial().correlation,
    }
}

/// The three heaviest parts, or the two heaviest and the heaviest of the direction that these lack.
fn headline(parts: &[Part]) -> Headline {
    let mut named: Vec<usize> = (0..parts.len().min(MAX_NAMED)).collect();
    let Some(first) = parts.first() else { return Headline { answer: MapAnswer::Mean, parts: named } };
    let Some(other) = parts.iter().position(|part| part.direction != first.direction) else {
        return Headline { answer: MapAnswer::OneDirection(first.direction), parts: named };
    };
    if other >= MAX_NAMED {
        named[MAX_NAMED - 1] = other;
    }
    Headline { answer: MapAnswer::Depends, parts: named }
}

/// Over the cells of which no part states the direction one by one.
fn largest_hidden(cells: &[Vec<Option<CellInterval>>], parts: &[Part]) -> f64 {
    let mut open: Vec<Vec<Option<Interval>>> =
        cells.iter().map(|test| test.iter().map(|cell| cell.map(|cell| cell.interval)).collect()).collect();
    for (test, index) in
        parts.iter().filter(|part| part.evidence == Evidence::EachCell).flat_map(|part| &part.cells)
    {
        open[*test][*index] = None;
    }
    open.iter().flatten().flatten().map(|cell| cell.high.max(-cell.low)).fold(0.0, f64::max)
}

/// The largest difference in this direction that some cell may have.
fn largest_towards(cells: &[Vec<Option<CellInterval>>], direction: Direction) -> f64 {
    let bound = |cell: &CellInterval| -direction.opposite().excess(cell.interval);
    cells.iter().flatten().flatten().map(bound).fold(0.0, f64::max)
}
