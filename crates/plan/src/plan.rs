//! A plan as typed: every field is optional, and no field has been checked against another.

use std::collections::BTreeMap;
use std::time::Duration;

use sharebench_model::units::{BitRate, ByteSize};

use crate::values::{
    Arrivals, Auto, CacheProbes, DirectoryLayout, MetadataPreset, MetadataTest, Policies, Precision, Scale,
    Slo, Test, Think,
};
use crate::workload::TypedWorkload;

/// How thoroughly reads are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Verify {
    /// The stamp of every 512 bytes.
    #[default]
    Stamps,
    /// Every byte.
    Full,
    /// Nothing.
    Off,
}

impl Verify {
    /// Every choice with its name in plans.
    pub const NAMES: [(&'static str, Self); 3] =
        [("stamps", Self::Stamps), ("full", Self::Full), ("off", Self::Off)];

    /// The name in plans.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, verify)| *verify == self).map_or("", |(name, _)| name)
    }
}

/// A system under test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedTarget {
    /// Short name, unique in the plan.
    pub name: String,
    /// URL without password.
    pub url: String,
}

/// File sizes x record sizes x tests, and further axes where they are named.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sweep {
    /// One of IOzone's matrices; lists below replace its own, its rules stay.
    pub auto: Option<Auto>,
    /// Bytes per file.
    pub file_sizes: Option<Vec<ByteSize>>,
    /// Bytes per operation.
    pub record_sizes: Option<Vec<ByteSize>>,
    /// What to do.
    pub tests: Option<Vec<Test>>,
    /// Operations in flight per job.
    pub depths: Option<Vec<u32>>,
    /// Throughput mode: jobs at work at once, over one common window.
    pub jobs: Option<Vec<u32>>,
    /// The jobs share one file, each working on a part of its own, instead of having a file each.
    pub shared_file: Option<bool>,
    /// What offsets are multiples of, in bytes; 0 for the record size.
    pub align: Option<Vec<ByteSize>>,
    /// Distance of the records of a strided read, in records.
    pub stride: Option<Vec<u32>>,
    /// Percent of the records that a random mix reads.
    pub read_percent: Option<Vec<u32>>,
    /// Buffer of the buffered streams, in bytes.
    pub stream_buffer: Option<ByteSize>,
    /// With which caches and which durability.
    pub policies: Policies,
    /// Tests of names and attributes, with axes of their own.
    pub metadata: MetadataAxes,
}

/// Metadata tests x entries per directory x layouts of directories, and further axes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MetadataAxes {
    /// What to do.
    pub tests: Option<Vec<MetadataTest>>,
    /// Entries per directory.
    pub entries: Option<Vec<u32>>,
    /// Which directories the jobs work in.
    pub layouts: Option<Vec<DirectoryLayout>>,
    /// Characters of each name.
    pub name_lengths: Option<Vec<u32>>,
    /// Bytes of each file that has content.
    pub entry_sizes: Option<Vec<ByteSize>>,
    /// Tests whose files would be empty work on files with content.
    pub filled: Option<bool>,
    /// Bytes of each file of the server-side tests.
    pub copy_sizes: Option<Vec<ByteSize>>,
    /// Most entries that a job works on in a pass.
    pub batch: Option<u32>,
    /// Levels of a tree.
    pub tree_depth: Option<u32>,
    /// Directories in each directory of a tree.
    pub tree_fan_out: Option<u32>,
}

impl MetadataAxes {
    /// The axes with those of a preset where they are not given. Each test works on all entries of its directories, as
    /// mdtest does.
    #[must_use]
    pub fn with_preset(mut self, preset: MetadataPreset) -> Self {
        self.tests.get_or_insert_with(|| preset.tests());
        self.layouts.get_or_insert_with(|| vec![preset.layout()]);
        self.filled = self.filled.or(preset.has_filled_entries().then_some(true));
        let entries = self.entries.get_or_insert_with(|| vec![MetadataPreset::ENTRIES]);
        let most = entries.iter().copied().max();
        self.batch = self.batch.or(most);
        self
    }
}

/// Request sizes x queue depths x tests on one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Depth {
    /// Bytes of the file.
    pub file_size: Option<ByteSize>,
    /// Bytes per operation.
    pub record_sizes: Option<Vec<ByteSize>>,
    /// Operations in flight.
    pub depths: Option<Vec<u32>>,
    /// What to do.
    pub tests: Option<Vec<Test>>,
    /// With which caches and which durability.
    pub policies: Policies,
}

/// The phases of IO500, whose tests and records are fixed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Io500 {
    /// Jobs at work at once.
    pub jobs: Option<u32>,
    /// Bytes of the file of each job in ior-easy; ior-hard has as many for each job in its one file.
    pub file_size: Option<ByteSize>,
    /// Files of each job in mdtest-easy and mdtest-hard.
    pub entries: Option<u32>,
}

/// Users in steps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Load {
    /// Name of a built-in workload, or of the one that the plan defines.
    pub workload: Option<String>,
    /// Users per step.
    pub users: Option<Vec<u32>>,
    /// Who decides when the next transaction starts.
    pub arrivals: Option<Arrivals>,
    /// Intended starts per second of an open load, per step.
    pub rates: Option<Vec<u32>>,
    /// Users that share a session.
    pub users_per_session: Option<u32>,
    /// Pause between transactions of a closed load.
    pub think: Option<Think>,
    /// Transactions of a visit on average.
    pub visit: Option<u32>,
    /// Time over which the users of a closed step begin, one after another.
    pub ramp: Option<Duration>,
    /// Unmeasured start of a step.
    pub warm_up: Option<Duration>,
    /// Measured part of a step.
    pub measure: Option<Duration>,
    /// Maximum number of extensions of a step that has not reached steady state; each doubles the window.
    pub max_extensions: Option<u32>,
    /// Size of the data set.
    pub scale: Option<Scale>,
    /// Bytes per operation where the workload does not set them.
    pub block: Option<ByteSize>,
    /// Steps are added until throughput falls.
    pub until_stress: Option<bool>,
    /// What to search for.
    pub find_knee: Option<bool>,
    /// What a step must keep.
    pub slo: Option<Slo>,
    /// The shared data set stays on the target, and is used again where it is found unchanged.
    pub keep_data: Option<bool>,
    /// Users stay logged on from one step to the next.
    pub keep_users: Option<bool>,
}

/// A plan as typed in a file or by flags.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// What the user calls the run.
    pub title: Option<String>,
    /// Seed of every random choice; drawn when missing.
    pub seed: Option<u64>,
    /// How often every cell, and the series of load steps, is measured on every target; missing means that cells are
    /// measured until `precision` is reached, and loads once.
    pub repetitions: Option<u32>,
    /// Cells are repeated until their interval is this narrow.
    pub precision: Option<Precision>,
    /// Time for all cells, spent where the intervals are widest.
    pub budget: Option<Duration>,
    /// Least time a cell is measured per repetition.
    pub min_sample_time: Option<Duration>,
    /// Least busy time of a slice: several targets are interleaved, one slice of each after the other. Zero
    /// measures each of them to the end of its sample before the next.
    pub slice_time: Option<Duration>,
    /// How reads are checked.
    pub verify: Option<Verify>,
    /// Deadline of one operation, and of connecting.
    pub timeout: Option<Duration>,
    /// Rate of the link to the targets, where the user knows it.
    pub link: Option<BitRate>,
    /// A command of the user's own that runs on this machine before each step is measured, by `sh -c`.
    pub pre_step_cmd: Option<String>,
    /// Systems under test.
    pub targets: Vec<PlannedTarget>,
    /// Cells of file and record sizes.
    pub sweep: Option<Sweep>,
    /// Cells of request sizes and queue depths.
    pub depth: Option<Depth>,
    /// The phases of IO500.
    pub io500: Option<Io500>,
    /// Steps of users.
    pub load: Option<Load>,
    /// How cache probes distinguish server cache and storage.
    pub cache_probes: Option<CacheProbes>,
    /// A workload of the plan's own.
    pub workload: Option<TypedWorkload>,
    /// Line of each field in the plan file, for mistakes found later; empty for plans made from flags.
    pub lines: BTreeMap<String, usize>,
}

impl Plan {
    /// True if the plan has a section with cells.
    pub(crate) fn has_cells(&self) -> bool {
        self.sweep.is_some() || self.depth.is_some() || self.io500.is_some()
    }
}
