//! The metadata cells of a sweep: every position of their axes that has a meaning.

use std::time::Duration;

use sharebench_model::units::ByteSize;

use super::Resolver;
use crate::plan::{MetadataAxes, Sweep};
use crate::resolved::{Cell, MetadataWork};
use crate::values::{DirectoryLayout, MAX_FILE, MAX_RECORD, MetadataGroup, MetadataTest};

/// Most entries of a directory.
pub(super) const MAX_ENTRIES: u64 = 10_000_000;
/// Most directories of a tree.
const MAX_LEAVES: u64 = 100_000;
/// Shortest name, which holds the number of an entry and fits DOS names; and the longest that file systems allow.
const NAME_LENGTHS: (u64, u64) = (8, 255);

impl MetadataAxes {
    /// True if nothing of it is given.
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// True if one of the tests belongs to the group.
    fn has_tests(&self, group: MetadataGroup) -> bool {
        self.tests.iter().flatten().any(|test| test.group() == group)
    }

    /// The axes with every default filled that one of the tests uses.
    fn complete(&self) -> Self {
        let mut axes = self.clone();
        if self.has_tests(MetadataGroup::ServerSide) {
            axes.copy_sizes.get_or_insert_with(|| MetadataWork::COPY_SIZES.map(ByteSize).to_vec());
        }
        if self.has_tests(MetadataGroup::Names) {
            axes.entries.get_or_insert_with(|| vec![MetadataWork::ENTRIES]);
            axes.layouts.get_or_insert_with(|| vec![DirectoryLayout::Own]);
            axes.name_lengths.get_or_insert_with(|| vec![MetadataWork::NAME_LENGTH]);
            axes.entry_sizes.get_or_insert_with(|| vec![ByteSize(MetadataWork::ENTRY_SIZE)]);
            axes.batch.get_or_insert(MetadataWork::BATCH);
            axes.tree_depth.get_or_insert(MetadataWork::TREE_DEPTH);
            axes.tree_fan_out.get_or_insert(MetadataWork::TREE_FAN_OUT);
        }
        axes
    }

    /// The cells of one test, those without a meaning included.
    fn works(&self, test: MetadataTest, jobs: Option<u32>, min_sample_time: Duration) -> Vec<MetadataWork> {
        let usual = MetadataWork { jobs, ..MetadataWork::new(test, min_sample_time) };
        let of_size = |size: &ByteSize| MetadataWork { entry_size: size.0, ..usual.clone() };
        match test.group() {
            MetadataGroup::Names => {}
            MetadataGroup::ServerSide => return self.copy_sizes.iter().flatten().map(of_size).collect(),
            MetadataGroup::Locks => {
                let jobs = jobs.unwrap_or(test.declaration().min_jobs);
                return vec![MetadataWork { jobs: Some(jobs), ..usual }];
            }
        }
        let layouts = self.layouts.as_deref().unwrap_or_default();
        let sizes = self.entry_sizes.as_deref().unwrap_or_default();
        let has_content = test.has_content() || self.filled == Some(true) && test.takes_filled();
        let sizes = if has_content { sizes } else { &[ByteSize(0)] };
        let mut works = Vec::new();
        for &layout in layouts {
            for &name_length in self.name_lengths.as_deref().unwrap_or_default() {
                for &entries in self.entries.as_deref().unwrap_or_default() {
                    works.extend(sizes.iter().map(|size| MetadataWork {
                        entries,
                        layout,
                        name_length,
                        batch: self.batch.unwrap_or(MetadataWork::BATCH),
                        tree_depth: self.tree_depth.unwrap_or(MetadataWork::TREE_DEPTH),
                        tree_fan_out: self.tree_fan_out.unwrap_or(MetadataWork::TREE_FAN_OUT),
                        ..of_size(size)
                    }));
                }
            }
        }
        works
    }
}

impl Resolver<'_> {
    /// Lays out the metadata cells of a sweep. Positions without a meaning are left out; a test that has none at all is a
    /// mistake.
    pub(crate) fn metadata_cells(&mut self, sweep: &Sweep, min_sample_time: Duration) -> Vec<Cell> {
        let Some(tests) = sweep.metadata.tests.clone() else {
            if !sweep.metadata.is_empty() {
                self.blame_axes_without_tests(&sweep.metadata);
            }
            return Vec::new();
        };
        let axes = sweep.metadata.complete();
        self.check_metadata_axes(&axes);
        let depths = sweep.depths.clone().unwrap_or_else(|| vec![1]);
        self.check_depths_of_names(&tests, &depths);
        let jobs: Vec<Option<u32>> = match &sweep.jobs {
            None => vec![None],
            Some(list) => list.iter().copied().map(Some).collect(),
        };
        let mut cells = Vec::new();
        for test in tests {
            let depths = if test.declaration().takes_depth { &depths[..] } else { &[1] };
            let at_depths = |work: MetadataWork| {
                depths.iter().map(move |&queue_depth| MetadataWork { queue_depth, ..work.clone() })
            };
            let of =
                |jobs: &Option<u32>| axes.works(test, *jobs, min_sample_time).into_iter().flat_map(at_depths);
            let (good, bad): (Vec<_>, Vec<_>) = jobs.iter().flat_map(of).partition(has_meaning);
            if let (true, Some(work)) = (good.is_empty(), bad.first()) {
                self.blame_jobs(work);
            }
            let has_own = axes.layouts.as_ref().is_none_or(|list| list.contains(&DirectoryLayout::Own));
            let distinct = good.into_iter().filter(|work| !has_own || is_distinct(work));
            cells.extend(distinct.map(MetadataWork::into_cell));
        }
        self.typed.sweep.get_or_insert_with(|| sweep.clone()).metadata = axes;
        cells
    }

    /// Tests whose operations cannot overlap are measured at depth 1, which has to be among the depths.
    fn check_depths_of_names(&mut self, tests: &[MetadataTest], depths: &[u32]) {
        let one_by_one: Vec<&str> =
            tests.iter().filter(|test| !test.declaration().takes_depth).map(|test| test.name()).collect();
        if !one_by_one.is_empty() && !depths.contains(&1) {
            let why = format!("no queue depth for {}: one operation at a time", one_by_one.join(", "));
            self.blame("sweep.depths", &why, "add depth 1, at which they are measured");
        }
    }

    /// Reports a test that has no meaning with any of the numbers of jobs; `work` is one of its cells.
    fn blame_jobs(&mut self, work: &MetadataWork) {
        let MetadataWork { test, entries, .. } = work;
        let jobs = work.jobs();
        let min_jobs = test.declaration().min_jobs;
        if jobs < min_jobs {
            let why = format!("{test} has no cell: it needs at least {min_jobs} jobs");
            return self.blame("sweep.jobs", &why, "use more jobs, or 'lock' for a single one");
        }
        if work.batch_per_directory() > 0 {
            let depth = work.queue_depth;
            let operations = work.operations_per_pass();
            let why =
                format!("{test} has no cell: depth {depth} is more than the {operations} entries of a pass");
            return self.blame("sweep.depths", &why, "use more entries, a larger batch or less depth");
        }
        let why =
            format!("{test} has no cell: {jobs} jobs cannot share the {entries} entries of a directory");
        self.blame("sweep.entries", &why, "use more entries or fewer jobs");
    }

    /// Checks the sizes of files of server-side tests, and that the axes of the other tests have a use.
    fn check_server_side_axes(&mut self, axes: &MetadataAxes) {
        let sizes = axes.copy_sizes.as_deref().unwrap_or_default();
        if axes.has_tests(MetadataGroup::ServerSide) {
            self.check_list("sweep.copy_sizes", sizes, MetadataWork::SERVER_SIDE_UNIT, MAX_FILE);
            for size in sizes {
                if !size.0.is_multiple_of(MetadataWork::SERVER_SIDE_UNIT) {
                    let unit = ByteSize(MetadataWork::SERVER_SIDE_UNIT);
                    let why = format!("{size} is not a multiple of {unit}");
                    self.blame("sweep.copy_sizes", &why, "servers clone whole clusters only");
                }
            }
        } else if axes.copy_sizes.is_some() {
            let hint = "add 'server-side' to the tests";
            self.blame("sweep.copy_sizes", "none of the tests has a use for it", hint);
        }
        if !axes.has_tests(MetadataGroup::Names) {
            self.blame_axes_without_tests(&MetadataAxes { copy_sizes: None, ..axes.clone() });
        }
    }

    fn check_metadata_axes(&mut self, axes: &MetadataAxes) {
        self.check_server_side_axes(axes);
        self.check_distinct("sweep.tests", axes.tests.as_deref().unwrap_or_default());
        if !axes.has_tests(MetadataGroup::Names) {
            return;
        }
        let counts = |list: &Option<Vec<u32>>| list.clone().unwrap_or_default();
        for (field, list, (least, most)) in [
            ("sweep.entries", counts(&axes.entries), (1, MAX_ENTRIES)),
            ("sweep.name_lengths", counts(&axes.name_lengths), NAME_LENGTHS),
        ] {
            self.check_counts(field, &list, most);
            for value in list {
                self.within(field, value.into(), least, most);
            }
        }
        let layouts = axes.layouts.as_deref().unwrap_or_default();
        if layouts.is_empty() {
            self.blame("sweep.layouts", "the list is empty", "name own, shared or tree");
        }
        self.check_distinct("sweep.layouts", layouts);
        let sizes = axes.entry_sizes.as_deref().unwrap_or_default();
        self.check_list("sweep.entry_sizes", sizes, 1, MAX_RECORD);
        self.within("sweep.batch", axes.batch.unwrap_or(1).into(), 1, MAX_ENTRIES);
        let depth = axes.tree_depth.unwrap_or(1);
        let fan_out = axes.tree_fan_out.unwrap_or(1);
        self.within("sweep.tree_depth", depth.into(), 1, 16);
        self.within("sweep.tree_fan_out", fan_out.into(), 1, 1024);
        let leaves = u64::from(fan_out).saturating_pow(depth);
        if layouts.contains(&DirectoryLayout::Tree) && leaves > MAX_LEAVES {
            let why = format!("{fan_out} directories in {depth} levels are {leaves}, more than {MAX_LEAVES}");
            self.blame("sweep.tree_depth", &why, "use fewer levels or a smaller fan-out");
        }
    }

    /// An axis that none of the selected tests uses is an error.
    fn blame_axes_without_tests(&mut self, axes: &MetadataAxes) {
        let given = [
            ("sweep.entries", axes.entries.is_some()),
            ("sweep.layouts", axes.layouts.is_some()),
            ("sweep.name_lengths", axes.name_lengths.is_some()),
            ("sweep.entry_sizes", axes.entry_sizes.is_some()),
            ("sweep.filled", axes.filled == Some(true)),
            ("sweep.batch", axes.batch.is_some()),
            ("sweep.tree_depth", axes.tree_depth.is_some()),
            ("sweep.tree_fan_out", axes.tree_fan_out.is_some()),
        ];
        for (field, _) in given.into_iter().filter(|(_, given)| *given) {
            self.blame(field, "none of the tests has a use for it", "add 'metadata' to the tests");
        }
        if axes.copy_sizes.is_some() {
            let hint = "add 'server-side' to the tests";
            self.blame("sweep.copy_sizes", "none of the tests has a use for it", hint);
        }
    }

    /// Reports what is given for records by a sweep whose tests are all of metadata.
    pub(crate) fn blame_axes_of_records(&mut self, sweep: &Sweep) {
        let policies = &sweep.policies;
        let given = [
            ("sweep.auto", sweep.auto.is_some()),
            ("sweep.file_sizes", sweep.file_sizes.is_some()),
            ("sweep.record_sizes", sweep.record_sizes.is_some()),
            ("sweep.shared_file", sweep.shared_file == Some(true)),
            ("sweep.align", sweep.align.is_some()),
            ("sweep.stride", sweep.stride.is_some()),
            ("sweep.read_percent", sweep.read_percent.is_some()),
            ("sweep.stream_buffer", sweep.stream_buffer.is_some()),
            ("sweep.cache", policies.cache.is_some()),
            ("sweep.sync", policies.sync.is_some()),
            ("sweep.server_cache", policies.server_cache.is_some()),
            ("sweep.displace", policies.displace.is_some()),
            ("sweep.include", policies.include.as_ref().is_some_and(|list| !list.is_empty())),
        ];
        for (field, _) in given.into_iter().filter(|(_, given)| *given) {
            self.blame(field, "metadata tests have no use for it", "add tests such as 'read' and 'write'");
        }
        if let Some(depths) = &sweep.depths {
            self.check_counts("sweep.depths", depths, 1024);
            let takes_depth =
                sweep.metadata.tests.iter().flatten().any(|test| test.declaration().takes_depth);
            if !takes_depth && depths.iter().any(|depth| *depth > 1) {
                let hint = "use jobs for more at once";
                self.blame("sweep.depths", "the operations of none of the tests overlap", hint);
            }
        }
        if let Some(jobs) = &sweep.jobs {
            self.check_counts("sweep.jobs", jobs, 1024);
        }
    }
}

/// False for a cell whose jobs are too few for its test, or too many for its entries, and for one whose job has fewer entries than
/// operations in flight.
fn has_meaning(work: &MetadataWork) -> bool {
    let has_entries = work.batch_per_directory() > 0;
    work.jobs() >= work.test.declaration().min_jobs
        && has_entries
        && work.operations_per_pass() >= work.queue_depth.into()
}

/// False for a position that means the same as one with own directories: a single job has its directory for itself.
fn is_distinct(work: &MetadataWork) -> bool {
    work.layout != DirectoryLayout::Shared || work.jobs() > 1
}

#[cfg(test)]
mod tests {
    use crate::plan::{MetadataAxes, PlannedTarget, Sweep};
    use crate::{
        EntryState, MetadataGroup, MetadataPreset, MetadataTest, MetadataWork, Plan, ResolvedPlan, Work,
    };

    fn resolve(sweep: &str) -> Result<ResolvedPlan, String> {
        let text = format!("repetitions = 1\n[[target]]\nurl = '/tmp'\n[sweep]\n{sweep}\n");
        Plan::parse(&text).map_err(|e| e.to_string())?.resolve().map_err(|e| e.to_string())
    }

    #[test]
    fn the_group_lays_out_every_test_at_every_position() {
        let plan =
            resolve("tests = ['metadata']\nentries = ['1..100 x10']\nentry_sizes = ['3901B', '64KiB']")
                .unwrap();
        let tests = MetadataTest::of_group(MetadataGroup::Names);
        let with_content = tests.iter().filter(|test| test.has_content()).count();
        assert_eq!(plan.cells.len(), (tests.len() + with_content) * 3);
        assert!(plan.cells.iter().all(|(_, work)| matches!(work, Work::Metadata(_))));
        assert_eq!(plan.max_record(), 64 << 10, "a small file is written in one request");
    }

    #[test]
    fn tests_of_both_kinds_go_together_and_are_stored() {
        let plan =
            resolve("tests = ['read', 'stat', 'create']\nfile_sizes = ['64KiB']\nrecord_sizes = ['4KiB']")
                .unwrap();
        assert_eq!(plan.cells.len(), 3);
        let again = Plan::parse(&plan.typed.to_toml()).unwrap().resolve().unwrap();
        assert_eq!((again.cells, again.typed.sweep), (plan.cells, plan.typed.sweep));
    }

    #[test]
    fn server_side_tests_have_sizes_of_their_own_and_are_stored() {
        let plan = resolve("tests = ['server-side', 'stat']\nentries = [10, 20]").unwrap();
        assert_eq!(plan.cells.len(), 4 * 2 + 2);
        let (at, work) = &plan.cells[0];
        assert_eq!(at.to_string(), "entries=8 file_size=1MiB test=server-copy");
        let Work::Metadata(work) = work else { panic!("{work:?}") };
        assert_eq!((work.residents(), work.bytes_on_target()), (0, 9 << 20));
        assert_eq!(plan.max_record(), 1 << 20, "large files are written in pieces");
        for sweep in
            ["tests = ['clone']\ncopy_sizes = ['64KiB']\njobs = [1, 2]", "tests = ['server-side', 'stat']"]
        {
            let plan = resolve(sweep).unwrap();
            let again = Plan::parse(&plan.typed.to_toml()).unwrap().resolve().unwrap();
            assert_eq!((again.cells, again.typed.sweep), (plan.cells, plan.typed.sweep));
        }
    }

    #[test]
    fn tests_of_locks_have_jobs_as_their_only_axis() {
        let shown = |plan: &ResolvedPlan| plan.cells.iter().map(|(at, _)| at.to_string()).collect::<Vec<_>>();
        let plan = resolve("tests = ['locks']").unwrap();
        let wanted = [
            "entries=1 jobs=1 test=lock",
            "entries=1 jobs=2 test=lock-neighbours",
            "entries=1 jobs=2 test=lock-contended",
            "entries=1 jobs=1 test=share-conflict",
            "entries=1 jobs=1 test=notify",
            "entries=1 jobs=1 test=lease-grant",
            "entries=1 jobs=1 test=lease-break",
            "entries=1 jobs=1 test=delegation-grant",
            "entries=1 jobs=1 test=delegation-recall",
            "entries=1 jobs=2 test=semaphore",
        ];
        assert_eq!(shown(&plan), wanted);
        let several = resolve("tests = ['lock', 'lock-contended']\njobs = [1, 2, 4]").unwrap();
        assert_eq!(several.cells.len(), 3 + 2, "one job has nobody to hand over to");
        for plan in [plan, several] {
            let again = Plan::parse(&plan.typed.to_toml()).unwrap().resolve().unwrap();
            assert_eq!((again.cells, again.typed.sweep), (plan.cells, plan.typed.sweep));
        }
        let ranked = resolve("tests = ['lock']").unwrap().on_ranks(3);
        assert_eq!(shown(&ranked), ["entries=1 jobs=3 test=lock"]);
        let named = resolve("tests = ['lock']\njobs = [2]").unwrap().on_ranks(3);
        assert_eq!(shown(&named), ["entries=1 jobs=2 test=lock"]);
    }

    #[test]
    fn a_shared_directory_needs_jobs_to_differ_from_an_own_one() {
        let plan = resolve("tests = ['stat']\nlayouts = ['own', 'shared']\njobs = [1, 4]").unwrap();
        assert_eq!(plan.cells.len(), 3);
        let crowded =
            resolve("tests = ['stat']\nlayouts = ['shared']\njobs = [4]\nentries = [3]").unwrap_err();
        assert!(crowded.contains("4 jobs cannot share the 3 entries"), "{crowded}");
    }

    #[test]
    fn depths_apply_to_tests_whose_operations_can_overlap() {
        let plan = resolve("tests = ['stat', 'readdir']\ndepths = [1, 32]").unwrap();
        let at: Vec<String> = plan.cells.iter().map(|(at, _)| at.to_string()).collect();
        let deep = "entries=1000 queue_depth=32 test=stat";
        assert_eq!(at, ["entries=1000 test=stat", deep, "entries=1000 test=readdir"]);
        let again = Plan::parse(&plan.typed.to_toml()).unwrap().resolve().unwrap();
        assert_eq!(again.cells, plan.cells);
        assert_eq!(plan.max_depth(), 1, "jobs have sessions of their own");
    }

    #[test]
    fn a_preset_works_on_whole_directories() {
        let axes = MetadataAxes::default().with_preset(MetadataPreset::MdtestHard);
        let sweep = Sweep { metadata: axes, ..Sweep::default() };
        let targets = vec![PlannedTarget { name: "a".into(), url: "/a".into() }];
        let plan = Plan { sweep: Some(sweep), targets, ..Plan::default() }.resolve().unwrap();
        let names: Vec<_> = plan.cells.iter().map(|(at, _)| at.text("test").unwrap()).collect();
        assert_eq!(names, ["create-write", "stat", "open-read-close", "unlink"]);
        for (_, work) in &plan.cells {
            let Work::Metadata(work) = work else { panic!("{work:?}") };
            assert_eq!((work.residents(), work.batch_per_directory()), (0, 10_000));
            assert_eq!(work.entry_size, MetadataWork::ENTRY_SIZE, "{}", work.test);
            assert_ne!(work.entries_before(), EntryState::Empty, "{}", work.test);
        }
    }

    #[test]
    fn axes_without_a_use_are_mistakes() {
        for (sweep, part) in [
            ("tests = ['stat']\nfile_sizes = ['1MiB']", "sweep.file_sizes"),
            ("tests = ['stat', 'readdir']\ndepths = [4]", "no queue depth for readdir"),
            ("tests = ['readdir']\ndepths = [1, 4]", "the operations of none of the tests overlap"),
            ("tests = ['stat']\ndepths = [0]", "sweep.depths"),
            ("tests = ['stat']\ndepths = [8]\nentries = [4]", "depth 8 is more than the 4 entries"),
            ("tests = ['stat']\nsync = ['write-through']", "sweep.sync"),
            ("tests = ['read']\nentries = [10]", "add 'metadata'"),
            ("tests = ['stat']\nname_lengths = [300]", "300 is outside 8..255"),
            ("tests = ['stat']\nentries = [0]", "sweep.entries"),
            ("tests = ['stat']\nlayouts = ['tree']\ntree_depth = 9\ntree_fan_out = 9", "sweep.tree_depth"),
            ("tests = ['stat', 'stat']", "stat is listed twice"),
            ("tests = ['clone', 'clone']", "clone is listed twice"),
            ("tests = ['clone']\nentries = [10]", "sweep.entries"),
            ("tests = ['clone']\ncopy_sizes = ['100KiB']", "sweep.copy_sizes"),
            ("tests = ['clone']\ncopy_sizes = ['4KiB']", "sweep.copy_sizes"),
            ("tests = ['stat']\ncopy_sizes = ['1MiB']", "add 'server-side'"),
            ("tests = ['read']\ncopy_sizes = ['1MiB']", "add 'server-side'"),
            ("tests = ['lock']\nentries = [10]", "sweep.entries"),
            (
                "tests = ['lock-contended']\njobs = [1]",
                "lock-contended has no cell: it needs at least 2 jobs",
            ),
        ] {
            let mistake = resolve(sweep).unwrap_err();
            assert!(mistake.contains(part), "{sweep}: {mistake}");
        }
    }
}
