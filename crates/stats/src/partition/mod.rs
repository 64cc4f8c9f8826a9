//! A map of cells as a few sentences: the mean, an interval of every cell that holds for all together, and the parts in
//! which one system is faster (docs/measure/measurement-rules.md R3).

mod answer;
mod cover;
mod family;
mod flips;
mod map;
mod mean;
mod series;
mod sheet;

pub use map::{
    CellInterval, CellSeries, Direction, Evidence, Headline, Map, MapAnswer, MapOptions, Part,
    PartitionedMap, TestGrid,
};

use family::Family;
use mean::CellMean;
use series::PreparedMap;

use crate::Estimate;

/// Fewest repetitions of a cell that counts: five never exclude zero at 95 %, because 2/2^5 is 6.3 %.
const FEWEST_IN_MEANS: usize = 6;
/// Fewest repetitions of a cell that may be named alone.
const FEWEST_ALONE: usize = 8;

/// Divides a map. None without a cell of six repetitions.
pub fn partition_map(map: &Map, options: &MapOptions) -> Option<PartitionedMap> {
    let prepared = PreparedMap::new(map);
    let equal = 1.0 / prepared.cells.len() as f64;
    let mean = CellMean::new(&prepared, &vec![equal; prepared.cells.len()])?;
    let family = Family::new(map, &prepared, mean.serial(), options);
    let parts = cover::parts(map, &prepared, &family, options.tolerance);
    Some(answer::assemble(map, &prepared, &family, &mean, parts, options))
}

/// The mean over all cells of a map alone, at each of these levels: [`PartitionedMap::mean`] without the division. None without a
/// cell of six repetitions.
pub fn map_mean(map: &Map, levels: [f64; 2]) -> Option<[Estimate; 2]> {
    let prepared = PreparedMap::new(map);
    let equal = 1.0 / prepared.cells.len() as f64;
    let mean = CellMean::new(&prepared, &vec![equal; prepared.cells.len()])?;
    Some(levels.map(|level| mean.estimate(level)))
}
