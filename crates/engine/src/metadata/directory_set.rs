//! The directories of metadata cells: which there are, who works in them, and in what state they are.

use sharebench_model::{EntryState, MetaOp, MetadataGroup, StepError};
use sharebench_plan::{DirectoryLayout, MetadataWork};

use crate::metadata::connected::Connected;
use crate::metadata::entry_names::{EntryKind, entry_name};
use crate::metadata::server_side;

/// The batches of a set of directories, as the last cell left them. All jobs of a cell perform the same passes, so that
/// one state describes all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BatchState {
    pub entries: EntryState,
    /// Bytes of each entry that has content.
    pub size: u64,
    /// The entries have their other names.
    pub renamed: bool,
    /// The entries are in the other directory.
    pub moved: bool,
    /// The time of modification that was set, seconds since 1970.
    pub modified: Option<u32>,
}

impl BatchState {
    /// Nothing exists.
    pub const ABSENT: Self =
        Self { entries: EntryState::Absent, size: 0, renamed: false, moved: false, modified: None };

    /// The kind of names that the entries have.
    pub fn kind(&self) -> EntryKind {
        if self.renamed { EntryKind::Renamed } else { EntryKind::Batch }
    }
}

/// A directory with entries, and the directory into which entries are moved from there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EntryDirectory {
    pub path: String,
    pub across: String,
}

/// The directories of a cell: what its work says of them, and where they are.
#[derive(Debug, Clone)]
pub(crate) struct DirectorySet {
    top: String,
    /// Every directory with entries, in the order of their numbers.
    pub directories: Vec<EntryDirectory>,
    /// Directories above them, each after the one that it is in.
    above: Vec<String>,
}

impl DirectorySet {
    /// The directories of `work` below the directory of the run.
    pub fn new(work: &MetadataWork, run: &str) -> Self {
        let MetadataWork { layout, entries, name_length, .. } = work;
        let jobs = work.jobs();
        let top = match work.test.group() {
            MetadataGroup::Names => format!("{run}/{layout}-{entries}-{name_length}-{jobs}"),
            // These names fit DOS names.
            MetadataGroup::ServerSide => format!("{run}/srv{jobs}"),
            MetadataGroup::Locks => format!("{run}/lck{jobs}"),
        };
        let mut above = vec![top.clone()];
        let paths = match layout {
            DirectoryLayout::Own => (0..work.jobs()).map(|job| format!("{top}/d{job}")).collect(),
            DirectoryLayout::Shared => vec![format!("{top}/d0")],
            DirectoryLayout::Tree => {
                let mut level = vec![format!("{top}/t")];
                for _ in 0..work.tree_depth {
                    above.extend(level.iter().cloned());
                    let below = |parent: &String| {
                        let parent = parent.clone();
                        (0..work.tree_fan_out).map(move |number| format!("{parent}/{number}"))
                    };
                    level = level.iter().flat_map(below).collect();
                }
                level
            }
        };
        let directory = |(number, path)| EntryDirectory { path, across: format!("{top}/x{number}") };
        let directories = paths.into_iter().enumerate().map(directory).collect();
        Self { top, directories, above }
    }

    /// Where a walk of a job begins.
    pub fn walk_root(&self, work: &MetadataWork, job: u32) -> String {
        match work.layout {
            DirectoryLayout::Tree => format!("{}/t", self.top),
            DirectoryLayout::Own | DirectoryLayout::Shared => {
                self.of_job(work, job).first().map_or_else(|| self.top.clone(), |one| one.path.clone())
            }
        }
    }

    /// The directories that a job works in.
    pub fn of_job(&self, work: &MetadataWork, job: u32) -> &[EntryDirectory] {
        match work.layout {
            DirectoryLayout::Own => {
                let job = job as usize;
                self.directories.get(job..=job).unwrap_or_default()
            }
            DirectoryLayout::Shared | DirectoryLayout::Tree => &self.directories,
        }
    }

    /// The directories that a job verifies for all that work in them.
    pub fn verified_by(&self, work: &MetadataWork, job: u32) -> &[EntryDirectory] {
        if work.layout == DirectoryLayout::Own || job == 0 { self.of_job(work, job) } else { &[] }
    }

    /// The file to which links are made, which is copied, or which all jobs lock.
    pub fn source(&self, work: &MetadataWork) -> String {
        if work.test.copies() {
            return format!("{}/s{:x}", self.top, work.entry_size / MetadataWork::SERVER_SIDE_UNIT);
        }
        format!("{}/source", self.top)
    }

    /// Makes the file that the test copies.
    pub async fn create_source(
        &self,
        work: &MetadataWork,
        at: &mut Connected<'_, '_>,
    ) -> Result<(), StepError> {
        let size = work.entry_size;
        let path = self.source(work);
        server_side::create(&path, server_side::SOURCE, size, size..size, at).await?;
        Ok(())
    }

    /// Makes the directories and fills them with their residents.
    pub async fn fill(&self, work: &MetadataWork, at: &mut Connected<'_, '_>) -> Result<(), StepError> {
        let entered = self.directories.iter().flat_map(|one| [&one.path, &one.across]);
        for path in self.above.iter().chain(entered) {
            at.call(MetaOp::MakeDir { path: path.clone() }).await?;
        }
        at.create_empty(format!("{}/source", self.top)).await?;
        let of = u64::from(work.residents()) * self.directories.len() as u64;
        let mut done = 0;
        for directory in &self.directories {
            for number in 0..work.residents() {
                at.context.check_stop()?;
                let name = entry_name(EntryKind::Resident, number, work.name_length);
                at.create_empty(format!("{}/{name}", directory.path)).await?;
                done += 1;
                at.context.report_filled(done, of);
            }
        }
        Ok(())
    }
}
