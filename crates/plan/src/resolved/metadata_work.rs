//! A metadata cell: one test on the entries of directories of one size.

use std::ops::Range;
use std::time::Duration;

use sharebench_model::{Coordinates, Value, axis};

use super::plan::{Cell, Work};
use crate::values::{DirectoryLayout, EntryState, MAX_RECORD, MetadataGroup, MetadataTest};

/// One test on directories with a number of entries (docs/design/metadata.md).
///
/// A directory holds `entries` names. The test works on a part of them, the *batch* of each job; the others, the
/// *residents*, only fill the directory, so that the cost of a pass does not grow with the directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetadataWork {
    /// What to do.
    pub test: MetadataTest,
    /// Entries of each directory, those of the batches included.
    pub entries: u32,
    /// Which directories there are.
    pub layout: DirectoryLayout,
    /// Characters of each name.
    pub name_length: u32,
    /// Bytes of each file that has content; 0 where the test works on empty files.
    pub entry_size: u64,
    /// Most entries that a job works on in a pass.
    pub batch: u32,
    /// Operations that a job has in flight; 1 for tests that cannot have more ([`sharebench_model::Declaration::takes_depth`]).
    pub queue_depth: u32,
    /// Levels of a tree below its top.
    pub tree_depth: u32,
    /// Directories in each directory of a tree.
    pub tree_fan_out: u32,
    /// Jobs at work at once; none where the cell names no number, which means one.
    pub jobs: Option<u32>,
    /// Least measured time; whole passes are repeated until it is reached.
    pub min_sample_time: Duration,
}

/// What two cells with the same directories have in common: layout, entries, length of names, jobs, and the group of their
/// tests.
pub type DirectoryKey = (DirectoryLayout, u32, u32, u32, MetadataGroup);

impl MetadataWork {
    /// Entries per directory.
    pub const ENTRIES: u32 = 1000;
    /// Most entries that a job works on in a pass.
    pub const BATCH: u32 = 1000;
    /// Characters of a name.
    pub const NAME_LENGTH: u32 = 16;
    /// Bytes of a small file, as in the hard phase of IO500.
    pub const ENTRY_SIZE: u64 = 3901;
    /// Files that a job works on in a pass of a server-side test, few because they are large.
    pub const SERVER_SIDE_FILES: u32 = 8;
    /// Characters of the names of files in server-side tests and in those of locks, which fit DOS names.
    pub const SHORT_NAME_LENGTH: u32 = 8;
    /// Bytes of the range that a job locks.
    pub const LOCK_BYTES: u64 = 4096;
    /// Operations of a pass of a test of locks: of each job, or of all jobs together where they hand over one lock.
    pub const LOCKS_PER_PASS: u32 = 100;
    /// What sizes of files in server-side tests are multiples of: the largest clusters of file systems that clone.
    pub const SERVER_SIDE_UNIT: u64 = 64 << 10;
    /// Bytes of the files of server-side tests.
    pub const COPY_SIZES: [u64; 2] = [1 << 20, 16 << 20];
    /// Largest request that writes and reads files of server-side tests.
    const SERVER_SIDE_REQUEST: u64 = 1 << 20;
    /// Largest data before and after the hole of a sparse file.
    const SPARSE_EDGE: u64 = 64 << 10;
    /// Levels of a tree.
    pub const TREE_DEPTH: u32 = 2;
    /// Directories in each directory of a tree.
    pub const TREE_FAN_OUT: u32 = 4;

    /// A cell of a test with every axis at its default. In tests of locks each job has a directory with one empty file, and all
    /// jobs share the file next to these directories.
    pub fn new(test: MetadataTest, min_sample_time: Duration) -> Self {
        let (entries, name_length) = match test.group() {
            MetadataGroup::Names => (Self::ENTRIES, Self::NAME_LENGTH),
            MetadataGroup::ServerSide => (Self::SERVER_SIDE_FILES, Self::SHORT_NAME_LENGTH),
            MetadataGroup::Locks => (1, Self::SHORT_NAME_LENGTH),
        };
        Self {
            test,
            entries,
            layout: DirectoryLayout::Own,
            name_length,
            entry_size: 0,
            batch: Self::BATCH,
            queue_depth: 1,
            tree_depth: Self::TREE_DEPTH,
            tree_fan_out: Self::TREE_FAN_OUT,
            jobs: None,
            min_sample_time,
        }
    }

    /// Jobs at work at once.
    pub fn jobs(&self) -> u32 {
        self.jobs.unwrap_or(1)
    }

    /// Directories with entries that one job works in.
    pub fn directories_per_job(&self) -> u32 {
        match self.layout {
            DirectoryLayout::Own | DirectoryLayout::Shared => 1,
            DirectoryLayout::Tree => self.tree_fan_out.saturating_pow(self.tree_depth).max(1),
        }
    }

    /// Directories with entries.
    pub fn directories(&self) -> u32 {
        match self.layout {
            DirectoryLayout::Own => self.jobs(),
            DirectoryLayout::Shared | DirectoryLayout::Tree => self.directories_per_job(),
        }
    }

    /// Jobs that work in each directory.
    pub fn jobs_per_directory(&self) -> u32 {
        if self.layout == DirectoryLayout::Own { 1 } else { self.jobs() }
    }

    /// Entries of each directory that one job works on: at least one, if there are enough for all jobs.
    pub fn batch_per_directory(&self) -> u32 {
        let share = self.entries / self.jobs_per_directory().max(1);
        share.min((self.batch / self.directories_per_job()).max(1))
    }

    /// Entries of each directory that no job works on.
    pub fn residents(&self) -> u32 {
        self.entries - self.batch_per_directory() * self.jobs_per_directory()
    }

    /// Entries of all directories.
    pub fn total_entries(&self) -> u64 {
        u64::from(self.entries) * u64::from(self.directories())
    }

    /// Operations of a pass of one job.
    pub fn operations_per_pass(&self) -> u64 {
        let entries = match self.test.group() {
            MetadataGroup::Locks => return Self::LOCKS_PER_PASS.into(),
            _ if self.test.declaration().lists => self.entries,
            MetadataGroup::Names | MetadataGroup::ServerSide => self.batch_per_directory(),
        };
        u64::from(entries) * u64::from(self.directories_per_job())
    }

    /// Bytes of the largest request that the cell makes. Small files are one request; those of server-side tests are written
    /// and read in pieces.
    pub fn request_size(&self) -> u32 {
        let most = if self.test.group() == MetadataGroup::ServerSide {
            Self::SERVER_SIDE_REQUEST
        } else {
            MAX_RECORD
        };
        self.entry_size.min(most) as u32
    }

    /// The entries before a pass. Tests of empty files find files with content where the cell has a size of entries.
    pub fn entries_before(&self) -> EntryState {
        self.with_content(self.test.declaration().before)
    }

    /// The entries after a pass.
    pub fn entries_after(&self) -> EntryState {
        self.with_content(self.test.declaration().after)
    }

    fn with_content(&self, entries: EntryState) -> EntryState {
        let has_size = self.entry_size > 0 && !self.test.has_content();
        if has_size && entries == EntryState::Empty { EntryState::Filled } else { entries }
    }

    /// The hole of a file of [`EntryState::Sparse`]: all but its edges, in multiples of 4 KiB.
    pub fn hole(&self) -> Range<u64> {
        let quarter = self.entry_size / 4 / 4096 * 4096;
        let edge = quarter.min(Self::SPARSE_EDGE);
        edge..self.entry_size - edge
    }

    /// Bytes of all files that have content at the same time.
    pub fn bytes_on_target(&self) -> u64 {
        let files = u64::from(self.batch_per_directory())
            * u64::from(self.jobs_per_directory())
            * u64::from(self.directories());
        let files = files + u64::from(self.test.copies());
        files.saturating_mul(self.entry_size)
    }

    /// What the directories of the cell have in common with those of other cells, which use them again.
    pub fn directory_key(&self) -> DirectoryKey {
        (self.layout, self.entries, self.name_length, self.jobs(), self.test.group())
    }

    /// The cell with its coordinates.
    pub(crate) fn into_cell(self) -> Cell {
        (self.coordinates(), Work::Metadata(self))
    }

    /// The coordinates of the cell: test and entries always, further axes where they are not at their default.
    pub fn coordinates(&self) -> Coordinates {
        let count = |value: u32, usual: u32| (value != usual).then(|| Value::Count(u64::from(value)));
        let tree = self.layout == DirectoryLayout::Tree;
        let named = self.test.group() == MetadataGroup::Names;
        let further = [
            (axis::JOBS, self.jobs.map(|jobs| Value::Count(u64::from(jobs)))),
            (axis::LAYOUT, (self.layout != DirectoryLayout::Own).then(|| Value::text(self.layout.name()))),
            (axis::NAME_LENGTH, count(self.name_length, Self::NAME_LENGTH).filter(|_| named)),
            (axis::FILE_SIZE, (self.entry_size > 0).then_some(Value::Bytes(self.entry_size))),
            (axis::BATCH, count(self.batch, Self::BATCH)),
            (axis::QUEUE_DEPTH, count(self.queue_depth, 1)),
            (axis::TREE_DEPTH, count(self.tree_depth, Self::TREE_DEPTH).filter(|_| tree)),
            (axis::TREE_FAN_OUT, count(self.tree_fan_out, Self::TREE_FAN_OUT).filter(|_| tree)),
        ];
        let coordinates = Coordinates::new()
            .with(axis::TEST, Value::text(self.test.name()))
            .with(axis::ENTRIES, Value::Count(u64::from(self.entries)));
        let given = further.into_iter().filter_map(|(axis, value)| Some((axis, value?)));
        given.fold(coordinates, |coordinates, (axis, value)| coordinates.with(axis, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(entries: u32, layout: DirectoryLayout, jobs: u32) -> MetadataWork {
        let usual = MetadataWork::new(MetadataTest::Create, Duration::ZERO);
        MetadataWork { entries, layout, jobs: Some(jobs), ..usual }
    }

    #[test]
    fn a_directory_holds_its_entries_whatever_the_layout() {
        for layout in [DirectoryLayout::Own, DirectoryLayout::Shared, DirectoryLayout::Tree] {
            for (entries, jobs) in [(4, 4), (7, 3), (1000, 1), (100_000, 4)] {
                let work = work(entries, layout, jobs);
                let batches = work.batch_per_directory() * work.jobs_per_directory();
                assert_eq!(work.residents() + batches, entries);
                assert!(work.batch_per_directory() >= 1 && work.operations_per_pass() <= 1000);
            }
        }
    }

    #[test]
    fn small_directories_are_created_whole() {
        assert_eq!(work(1, DirectoryLayout::Own, 8).residents(), 0);
        assert_eq!(work(1000, DirectoryLayout::Own, 8).residents(), 0);
        assert_eq!(work(10_000, DirectoryLayout::Own, 8).residents(), 9000);
        assert_eq!(work(10_000, DirectoryLayout::Shared, 8).residents(), 2000);
        assert_eq!(work(1000, DirectoryLayout::Tree, 1).directories(), 16);
    }

    #[test]
    fn a_hole_is_within_its_file_and_leaves_data_at_both_ends() {
        for entry_size in [64 << 10, 128 << 10, 1 << 20, 16 << 20] {
            let test = MetadataTest::SparseRead;
            let work = MetadataWork { test, entry_size, ..work(8, DirectoryLayout::Own, 1) };
            let hole = work.hole();
            assert!(hole.start > 0 && hole.end < entry_size && hole.start < hole.end, "{hole:?}");
            assert!(hole.start.is_multiple_of(4096) && hole.end.is_multiple_of(4096), "{hole:?}");
            assert_eq!(hole.start, entry_size - hole.end);
        }
    }

    #[test]
    fn only_unusual_positions_are_named() {
        let usual = MetadataWork { jobs: None, ..work(1000, DirectoryLayout::Own, 1) };
        assert_eq!(usual.coordinates().to_string(), "entries=1000 test=create");
        let far =
            MetadataWork { name_length: 8, batch: 5, queue_depth: 4, ..work(9, DirectoryLayout::Shared, 2) };
        assert_eq!(
            far.coordinates().to_string(),
            "batch=5 entries=9 jobs=2 layout=shared name_length=8 queue_depth=4 test=create"
        );
    }
}
