//! Regions and breaks of cells that were measured once per system. What is known of a single cell is its distance from
//! one, and what clocks, runs declared equal and its neighbours leave open.

use std::collections::BTreeSet;

use sharebench_model::Value;
use sharebench_stats::{SingleCell, SingleSurface, single_run_breaks, single_run_regions};

use crate::estimate::pairing::Pairs;
use crate::types::span::spans_of;
use crate::types::{Differences, Pairing, Row, Section, SingleRunBreak, SingleRunRegion, View};

/// Adds the regions and breaks of all sections whose cells were measured once.
pub(crate) fn add_single_runs(
    differences: &mut Differences,
    sections: &[Section],
    pairs: &[&Vec<Option<Pairs>>],
    comparison: usize,
) {
    for (index, (section, pairs)) in sections.iter().zip(pairs).enumerate() {
        let cells = || pairs.iter().flatten();
        if section.view == View::Load || cells().any(|cell| cell.pairing != Pairing::SingleRun) {
            continue;
        }
        // A test that a client's cache served as a whole is a finding about that cache.
        let felt = cells().all(Pairs::is_client_cached);
        let wanted = |pairs: &Option<Pairs>| pairs.as_ref().is_some_and(|p| felt || !p.is_client_cached());
        let rows = section.rows.iter().enumerate().zip(pairs.iter());
        let rows = rows.filter(|(_, pairs)| wanted(pairs)).map(|((at, row), _)| (at, row));
        let grid = SingleGrid::new(index, section, &rows.collect::<Vec<_>>(), comparison);
        differences.single_run_regions.extend(grid.regions());
        differences.single_run_breaks.extend(grid.breaks());
    }
}

/// The cells of one section on its one or two axes.
struct SingleGrid<'a> {
    index: usize,
    section: &'a Section,
    rows: Vec<Option<Value>>,
    columns: Vec<Option<Value>>,
    /// Row of the section per place.
    places: Vec<Option<usize>>,
    surface: SingleSurface,
}

fn position(row: &Row, axis: usize) -> Option<&Value> {
    row.position.get(axis)?.as_ref()
}

impl<'a> SingleGrid<'a> {
    fn new(index: usize, section: &'a Section, cells: &[(usize, &Row)], comparison: usize) -> Self {
        let values = |axis: usize| -> Vec<Option<Value>> {
            let all: BTreeSet<Option<&Value>> = cells.iter().map(|(_, row)| position(row, axis)).collect();
            all.into_iter().map(Option::<&Value>::cloned).collect()
        };
        let rows = values(0);
        let columns = values(1);
        let mut places = vec![None; rows.len() * columns.len()];
        let mut known = vec![None; places.len()];
        for (at, row) in cells {
            let find = |values: &[Option<Value>], axis: usize| {
                values.binary_search_by(|value| value.as_ref().cmp(&position(row, axis))).ok()
            };
            let (Some(i), Some(j)) = (find(&rows, 0), find(&columns, 1)) else { continue };
            let Some(ratio) = row.ratios[comparison].as_ref() else { continue };
            let Some(single) = ratio.single_run else { continue };
            let known_shares = [single.equal_share, single.spread_share];
            let spread = known_shares.into_iter().flatten().fold(0.0, f64::max);
            let place = i * columns.len() + j;
            places[place] = Some(*at);
            known[place] = Some(SingleCell {
                log_ratio: ratio.typical.value.ln(),
                // A share is the distance of the ratio, or of its inverse, from one.
                margin: (-(-single.clock_share.unwrap_or(0.0).min(1.0)).ln_1p()).max(spread),
            });
        }
        let surface = SingleSurface { rows: rows.len(), columns: columns.len(), cells: known };
        Self { index, section, rows, columns, places, surface }
    }

    fn regions(&self) -> Vec<SingleRunRegion> {
        let all = self.places.iter().flatten().count();
        let found = single_run_regions(&self.surface).into_iter();
        // A region of every cell repeats the section's own sentence.
        let parts = found.filter(|region| region.cells < all);
        parts
            .map(|region| {
                let rows = region.place.rows;
                let columns = region.place.columns;
                let inside = (rows.0..rows.1).flat_map(|row| {
                    (columns.0..columns.1).map(move |column| row * self.columns.len() + column)
                });
                SingleRunRegion {
                    section: self.index,
                    place: spans_of(
                        &self.section.axes,
                        [(self.rows.as_slice(), rows), (self.columns.as_slice(), columns)],
                    ),
                    rows: inside.filter_map(|place| self.places[place]).collect(),
                    ratio: region.log_ratio.exp(),
                    range: (region.range.0.exp(), region.range.1.exp()),
                }
            })
            .collect()
    }

    fn breaks(&self) -> Vec<SingleRunBreak> {
        let axes = self.section.axes.iter().zip([(&self.rows, true), (&self.columns, false)]);
        axes.flat_map(|(axis, (values, along_rows))| {
            single_run_breaks(&self.surface, along_rows).into_iter().map(move |found| SingleRunBreak {
                section: self.index,
                axis: axis.clone(),
                at: values[found.at].clone(),
                before: found.before.exp(),
                after: found.after.exp(),
                lines: found.lines,
            })
        })
        .collect()
    }
}
