//! The files of a data set that all users share: which they are, and what they hold.

use sharebench_plan::{DataFile, Owner, Workload};

use crate::data::stamp::Content;

/// File id of the shared data set's file `index`.
pub(crate) const fn set_file_id(index: usize) -> u32 {
    0x8000_0000 | index as u32
}

/// The content of file `index` of the shared data set.
pub(crate) fn set_content(index: usize, file: &DataFile) -> Content {
    Content { file: set_file_id(index), generation: 1, kind: kind_of(file) }
}

/// The type of data that a file holds; none for plain random data.
pub(crate) fn kind_of(file: &DataFile) -> Option<sharebench_plan::DataKind> {
    (!file.data.compressed).then_some(file.data.kind)
}

/// (offset, length) of the blocks of a copy; the last may be short.
pub(crate) fn blocks(bytes: u64, block: u32) -> impl Iterator<Item = (u64, u32)> {
    let step = u64::from(block);
    (0..bytes.div_ceil(step)).map(move |n| (n * step, (bytes - n * step).min(step) as u32))
}

/// The files that all users read and that must therefore exist before the load, with their indexes.
pub(crate) fn shared(workload: &Workload) -> impl Iterator<Item = (usize, &DataFile)> {
    let files = workload.set.files.iter().enumerate();
    files.filter(|(index, file)| file.owner == Owner::Shared && workload.needs(*index))
}

#[cfg(test)]
mod tests {
    use super::blocks;

    #[test]
    fn blocks_cover_a_file_exactly() {
        let list: Vec<_> = blocks(250, 100).collect();
        assert_eq!(list, [(0, 100), (100, 100), (200, 50)]);
    }
}
