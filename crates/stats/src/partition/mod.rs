//! A map of cells as a few sentences: the mean, an interval of every cell that holds for all together, and the parts in
//! which one system is faster (docs/measurement-rules.md R3).

mod map;

pub use map::{
    CellInterval, CellSeries, Direction, Evidence, Headline, Map, MapAnswer, MapOptions, Part,
    PartitionedMap, TestGrid, partition_map,
};
