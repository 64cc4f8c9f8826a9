//! The cells of a sweep: every position of its axes that has a meaning.

use std::time::Duration;

use sharebench_model::CachePolicy;
use sharebench_model::units::ByteSize;

use super::Resolver;
use crate::plan::{PlannedTarget, Sweep};
use crate::resolved::{Cell, RecordWork};
use crate::values::{Access, Auto, Direction, MAX_FILE, MAX_RECORD, Pattern, Policies, Test};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Which tests something concerns.
type Wanted = fn(Test) -> bool;

/// A sweep with every default filled.
struct Axes {
    files: Vec<ByteSize>,
    records: Vec<ByteSize>,
    tests: Vec<Test>,
    depths: Vec<u32>,
    jobs: Vec<Option<u32>>,
    shared_file: bool,
    align: Vec<ByteSize>,
    stride: Vec<u32>,
    read_percent: Vec<u32>,
    stream_buffer: ByteSize,
    policies: Policies,
}

impl Axes {
    fn new(sweep: &Sweep, targets: &[PlannedTarget]) -> Self {
        let sizes = |list: &[u64]| list.iter().copied().map(ByteSize).collect();
        let default_files = || sweep.auto.map_or_else(|| sizes(&[64 * KIB, MIB, 16 * MIB]), Auto::file_sizes);
        // A request of NCP carries less than 64 KiB.
        let small = targets.iter().any(|target| target.url.starts_with("ncp://"));
        let usual: &[u64] = if small { &[4 * KIB, 32 * KIB] } else { &[4 * KIB, 64 * KIB, MIB] };
        let default_records = || sweep.auto.map_or_else(|| sizes(usual), Auto::record_sizes);
        let default_tests = || sweep.auto.map_or_else(|| Test::USUAL.to_vec(), Auto::tests);
        Self {
            files: sweep.file_sizes.clone().unwrap_or_else(default_files),
            records: sweep.record_sizes.clone().unwrap_or_else(default_records),
            tests: sweep.tests.clone().unwrap_or_else(default_tests),
            depths: sweep.depths.clone().unwrap_or_else(|| vec![1]),
            jobs: sweep.jobs.as_ref().map_or(vec![None], |list| list.iter().copied().map(Some).collect()),
            shared_file: sweep.shared_file.unwrap_or(false),
            align: sweep.align.clone().unwrap_or_else(|| vec![ByteSize(0)]),
            stride: sweep.stride.clone().unwrap_or_else(|| vec![RecordWork::STRIDE]),
            read_percent: sweep.read_percent.clone().unwrap_or_else(|| vec![RecordWork::READ_PERCENT]),
            stream_buffer: sweep.stream_buffer.unwrap_or(ByteSize(u64::from(RecordWork::STREAM_BUFFER))),
            policies: sweep.policies.clone().complete(),
        }
    }

    /// The sweep as it is stored: complete, with what concerns none of its tests left out.
    fn typed(&self, sweep: &Sweep) -> Sweep {
        let any = |wanted: Wanted| self.tests.iter().any(|test| wanted(*test));
        Sweep {
            auto: sweep.auto,
            file_sizes: Some(self.files.clone()),
            record_sizes: Some(self.records.clone()),
            tests: Some(self.tests.clone()),
            depths: Some(self.depths.clone()),
            jobs: sweep.jobs.clone(),
            shared_file: sweep.shared_file,
            align: sweep.align.clone(),
            stride: any(strides).then(|| self.stride.clone()),
            read_percent: any(mixes).then(|| self.read_percent.clone()),
            stream_buffer: any(streams).then_some(self.stream_buffer),
            policies: self.policies.clone(),
            metadata: sweep.metadata.clone(),
        }
    }

    /// Every position of one test with this file and record, those without a meaning included.
    fn positions(
        &self,
        test: Test,
        file: ByteSize,
        record: ByteSize,
        min_sample_time: Duration,
    ) -> Vec<RecordWork> {
        let record_size = record.0.min(MAX_RECORD) as u32;
        let mut works = vec![RecordWork {
            shared_file: self.shared_file,
            stream_buffer: self.stream_buffer.0.min(MAX_RECORD) as u32,
            ..RecordWork::new(test, file.0, record_size, min_sample_time)
        }];
        // Streams and mappings are served one record after the other, a stream's from its start.
        let depths = if test.access() == Access::Request { &self.depths[..] } else { &[1] };
        let align = if streams(test) { &[ByteSize(0)][..] } else { &self.align };
        vary(&mut works, depths, |work, depth| work.queue_depth = *depth);
        vary(&mut works, &self.jobs, |work, jobs| work.jobs = *jobs);
        vary(&mut works, align, |work, align| {
            work.align = if align.0 == 0 { u64::from(record_size) } else { align.0 };
        });
        if strides(test) {
            vary(&mut works, &self.stride, |work, stride| work.stride = *stride);
        }
        if mixes(test) {
            vary(&mut works, &self.read_percent, |work, share| work.read_percent = *share);
        }
        works.iter().flat_map(|work| work.with_each_policy(&self.policies)).collect()
    }
}

/// Every work at every position of one more axis.
fn vary<T>(works: &mut Vec<RecordWork>, positions: &[T], set: impl Fn(&mut RecordWork, &T)) {
    let all = works.iter().flat_map(|work| {
        positions.iter().map(|position| {
            let mut work = work.clone();
            set(&mut work, position);
            work
        })
    });
    *works = all.collect();
}

fn strides(test: Test) -> bool {
    test.pattern() == Pattern::Stride
}

fn mixes(test: Test) -> bool {
    test.direction() == Direction::Mix
}

fn streams(test: Test) -> bool {
    test.access() == Access::Stream
}

/// Why a position has no meaning: the field at fault, the reason and the remedy.
fn meaningless(work: &RecordWork) -> Option<(&'static str, String, &'static str)> {
    let records = work.grid().records;
    let file = ByteSize(work.file_size);
    let record = ByteSize(u64::from(work.record_size));
    let jobs = work.jobs.unwrap_or(1);
    if records == 0 {
        let why = format!(
            "no record of {record} fits into a file of {file} at multiples of {}",
            ByteSize(work.align)
        );
        return Some(("sweep.align", why, "use larger files, or 0 for the record size"));
    }
    let parts = if work.shared_file { u64::from(jobs) } else { 1 };
    if strides(work.test) && records / parts.max(1) <= u64::from(work.stride) {
        let why = format!("{file} files of {record} records hold {records}: no stride of {}", work.stride);
        return Some(("sweep.stride", why, "use larger files, smaller records or a smaller stride"));
    }
    if work.shared_file && records < u64::from(jobs) {
        let why = format!("{jobs} jobs cannot share {records} records of {record} in {file}");
        return Some(("sweep.jobs", why, "use larger files, smaller records or fewer jobs"));
    }
    if work.test.access() == Access::Mapping && work.policy.cache != CachePolicy::Normal {
        let why = format!("a mapping is the client's cache itself, which {} passes", work.policy.cache);
        return Some(("sweep.cache", why, "add normal, or leave the mmap tests out"));
    }
    if work.test.access() == Access::Mapping && work.policy.writes_through() {
        let why = "what is stored into a mapping is never written through".to_owned();
        return Some((
            "sweep.sync",
            why,
            "add normal (and include = ['flush']), or leave the mmap tests out",
        ));
    }
    None
}

impl Resolver<'_> {
    /// Lays out a sweep. Positions without a meaning are left out; a test that has none at all is a mistake.
    pub(crate) fn sweep_cells(&mut self, sweep: &Sweep, min_sample_time: Duration) -> Vec<Cell> {
        let of_metadata_only = sweep.tests.is_none() && sweep.metadata.tests.is_some();
        let mut cells = if of_metadata_only {
            self.blame_axes_of_records(sweep);
            Vec::new()
        } else {
            self.record_cells(sweep, min_sample_time)
        };
        cells.extend(self.metadata_cells(sweep, min_sample_time));
        cells
    }

    fn record_cells(&mut self, sweep: &Sweep, min_sample_time: Duration) -> Vec<Cell> {
        let mut axes = Axes::new(sweep, &self.typed.targets);
        let largest = axes.files.iter().max().copied().unwrap_or_default();
        self.complete_server_cache("sweep", &mut axes.policies, largest);
        self.check_axes(&axes, sweep);
        let mut pairs = Vec::new();
        for file in &axes.files {
            let fits = |record: &&ByteSize| {
                *record <= file && sweep.auto.is_none_or(|auto| auto.holds(*file, **record))
            };
            let fitting: Vec<_> = axes.records.iter().filter(fits).copied().collect();
            if sweep.auto.is_none() && fitting.is_empty() && !axes.records.is_empty() {
                let smallest = axes.records.iter().min().copied().unwrap_or_default();
                self.blame(
                    "sweep.record_sizes",
                    &format!(
                        "every record size is larger than the file size {file} (smallest is {smallest})"
                    ),
                    "a record must fit into its file",
                );
            }
            for record in fitting {
                self.check_divides("sweep.file_sizes", *file, record);
                // A record without a byte is blamed already, and lies nowhere in a file.
                if record.0 > 0 {
                    pairs.push((*file, record));
                }
            }
        }
        if let (Some(auto), true) = (sweep.auto, pairs.is_empty()) {
            let why = format!("the matrix {auto} has no cell of these file and record sizes");
            self.blame("sweep.auto", &why, "use larger records, or name the sizes without a matrix");
        }
        let mut cells: Vec<Cell> = Vec::new();
        for &test in &axes.tests {
            let positions =
                pairs.iter().flat_map(|(file, record)| axes.positions(test, *file, *record, min_sample_time));
            let (good, bad): (Vec<_>, Vec<_>) = positions.partition(|work| meaningless(work).is_none());
            if let (true, Some((field, why, hint))) = (good.is_empty(), bad.first().and_then(meaningless)) {
                self.blame(field, &format!("{test} has no cell: {why}"), hint);
            }
            // Two alignments may mean the same offsets for one record size.
            let mut seen = std::collections::BTreeSet::new();
            let named = good.into_iter().map(RecordWork::into_cell);
            cells.extend(named.filter(|(coordinates, _)| seen.insert(coordinates.clone())));
        }
        self.typed.sweep = Some(axes.typed(sweep));
        cells
    }

    fn check_axes(&mut self, axes: &Axes, sweep: &Sweep) {
        self.check_list("sweep.file_sizes", &axes.files, 512, MAX_FILE);
        self.check_list("sweep.record_sizes", &axes.records, 512, MAX_RECORD);
        self.check_tests("sweep.tests", &axes.tests);
        self.check_counts("sweep.depths", &axes.depths, 1024);
        if let Some(jobs) = &sweep.jobs {
            self.check_counts("sweep.jobs", jobs, 1024);
        }
        self.check_counts("sweep.stride", &axes.stride, 1 << 20);
        self.check_distinct("sweep.read_percent", &axes.read_percent);
        for share in &axes.read_percent {
            self.within("sweep.read_percent", u64::from(*share), 0, 100);
        }
        self.check_distinct("sweep.align", &axes.align);
        for align in axes.align.iter().filter(|align| align.0 != 0) {
            self.within("sweep.align", align.0, 512, MAX_FILE);
        }
        self.check_policies("sweep", &axes.policies);
        self.within("sweep.stream_buffer", axes.stream_buffer.0, 512, MAX_RECORD);
        self.check_needless(axes, sweep);
    }

    /// An axis that none of the selected tests uses is an error, and so is a test that cannot follow an axis.
    fn check_needless(&mut self, axes: &Axes, sweep: &Sweep) {
        let any = |wanted: Wanted| axes.tests.iter().any(|test| wanted(*test));
        let needs: [(&str, bool, Wanted, &str); 3] = [
            ("sweep.stride", sweep.stride.is_some(), strides, "stride-read"),
            ("sweep.read_percent", sweep.read_percent.is_some(), mixes, "random-mix"),
            (
                "sweep.stream_buffer",
                sweep.stream_buffer.is_some(),
                streams,
                "fwrite, frewrite, fread or freread",
            ),
        ];
        for (field, given, wanted, names) in needs {
            if given && !any(wanted) {
                self.blame(field, "none of the tests has a use for it", &format!("add {names} to the tests"));
            }
        }
        if axes.shared_file && sweep.jobs.is_none() {
            self.blame("sweep.shared_file", "no jobs are set to share it", "set jobs, such as [4]");
        }
        let named = |wanted: &dyn Fn(Test) -> bool| {
            let tests = axes.tests.iter().filter(|test| wanted(**test));
            tests.map(|test| test.name()).collect::<Vec<_>>().join(", ")
        };
        let one_by_one = named(&|test| test.access() != Access::Request);
        if !one_by_one.is_empty() && !axes.depths.contains(&1) {
            let why =
                format!("no queue depth for {one_by_one}: streams and mappings take one record at a time");
            self.blame("sweep.depths", &why, "add depth 1, at which they are measured");
        }
        let streaming = named(&streams);
        if !streaming.is_empty() && axes.shared_file {
            let why = format!("no part of a file for {streaming}: a stream starts at the start of its file");
            self.blame("sweep.shared_file", &why, "leave these tests out");
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Plan, ResolvedPlan, Work};
    use std::collections::BTreeSet;

    fn resolve(sweep: &str) -> Result<ResolvedPlan, String> {
        let text = format!("repetitions = 1\n[[target]]\nurl = '/tmp'\n[sweep]\n{sweep}\n");
        Plan::parse(&text).map_err(|e| e.to_string())?.resolve().map_err(|e| e.to_string())
    }

    fn pairs(plan: &ResolvedPlan) -> BTreeSet<(u64, u32)> {
        let works = plan.cells.iter().filter_map(|(_, work)| match work {
            Work::Records(work) => Some((work.file_size, work.record_size)),
            Work::Metadata(_) | Work::Transactions(_) => None,
        });
        works.collect()
    }

    #[test]
    fn the_full_matrix_has_iozones_126_cells() {
        let plan = resolve("auto = 'full'").unwrap();
        let pairs = pairs(&plan);
        assert_eq!(pairs.len(), 126);
        assert!(pairs.iter().all(|(file, record)| u64::from(*record) <= *file));
        let small = |(file, record): &&(u64, u32)| *file >= 32 << 20 && *record < 64 << 10;
        assert_eq!(pairs.iter().filter(small).count(), 0);
        assert!(pairs.contains(&(64 << 10, 4 << 10)) && pairs.contains(&(512 << 20, 16 << 20)));
        // Thirteen tests, of which the strided read needs more than 17 records.
        let strided: Vec<_> =
            plan.cells.iter().filter(|cell| cell.0.text("test") == Some("stride-read")).collect();
        assert!(plan.cells.len() == 12 * 126 + strided.len() && !strided.is_empty(), "{}", plan.cells.len());
    }

    #[test]
    fn the_old_matrix_is_written_and_read() {
        let plan = resolve("auto = '1993'").unwrap();
        assert_eq!((pairs(&plan).len(), plan.cells.len()), (25, 50));
        let subset = resolve(
            "auto = 'full'\nfile_sizes = ['16MiB..64MiB']\nrecord_sizes = ['32KiB..64KiB']\ntests = ['read']",
        );
        assert_eq!(pairs(&subset.unwrap()).len(), 2 + 1 + 1, "the matrix keeps its rules over other lists");
    }

    #[test]
    fn axes_multiply_only_where_they_mean_something() {
        let plan = resolve(
            "file_sizes = ['1MiB']\nrecord_sizes = ['4KiB', '8KiB']\ntests = ['read', 'stride-read', 'fread', 'random-mix']
depths = [1, 4]\njobs = [1, 2]\nalign = [0, '4KiB', '512']\nstride = [3, 17]\nread_percent = [0, 50, 100]",
        )
        .unwrap();
        let count = |test| plan.cells.iter().filter(|cell| cell.0.text("test") == Some(test)).count();
        // Alignment 4 KiB is the record size of one of the two: 2 + 3 positions there.
        assert_eq!((count("read"), count("stride-read")), (2 * 2 * 5, 2 * 2 * 5 * 2));
        assert_eq!((count("fread"), count("random-mix")), (2 * 2, 2 * 2 * 5 * 3));
        let again = Plan::parse(&plan.typed.to_toml()).unwrap().resolve().unwrap();
        assert_eq!((again.cells, again.typed.to_toml()), (plan.cells.clone(), plan.typed.to_toml()));
    }

    #[test]
    fn what_has_no_meaning_is_a_mistake_that_names_its_field() {
        for (sweep, words) in [
            ("stride = [3]", ["sweep.stride", "stride-read"]),
            ("read_percent = [101]\ntests = ['random-mix']", ["sweep.read_percent", "0..100"]),
            ("read_percent = [30]", ["sweep.read_percent", "random-mix"]),
            ("shared_file = true", ["sweep.shared_file", "jobs"]),
            ("shared_file = true\njobs = [2]\ntests = ['fread']", ["sweep.shared_file", "fread"]),
            ("tests = ['mmap-read']\ndepths = [4]", ["sweep.depths", "mmap-read"]),
            ("align = ['100']", ["sweep.align", "512"]),
            ("record_sizes = [0]", ["sweep.record_sizes", "512"]),
            (
                "file_sizes = ['64KiB']\nrecord_sizes = ['64KiB']\nalign = ['4KiB']",
                ["sweep.align", "no cell"],
            ),
            (
                "file_sizes = ['64KiB']\nrecord_sizes = ['4KiB']\ntests = ['stride-read']",
                ["sweep.stride", "no cell"],
            ),
            (
                "file_sizes = ['8KiB']\nrecord_sizes = ['4KiB']\njobs = [4]\nshared_file = true",
                ["sweep.jobs", "share"],
            ),
            ("file_sizes = ['16MiB..4KiB']", ["line 5", "below its start"]),
            ("auto = 'everything'", ["sweep.auto", "1993"]),
        ] {
            let shown = resolve(sweep).unwrap_err();
            assert!(words.iter().all(|word| shown.contains(word)), "{sweep}: {shown}");
        }
    }

    #[test]
    fn a_zero_is_a_mistake_in_every_field() {
        for field in ["file_sizes", "record_sizes", "depths", "jobs", "stride"] {
            let shown =
                resolve(&format!("{field} = [0]\ntests = ['read', 'stride-read', 'fread']")).unwrap_err();
            assert!(shown.contains(&format!("sweep.{field}: 0")), "{field}: {shown}");
        }
        let shown = resolve("stream_buffer = 0\ntests = ['fread']").unwrap_err();
        assert!(shown.contains("sweep.stream_buffer: 0"), "{shown}");
        let shown = resolve("record_sizes = [0, '4KiB']\nalign = ['12KiB']").unwrap_err();
        assert!(shown.contains("the plan has 1 mistake"), "{shown}");
    }

    #[test]
    fn ranges_stand_where_lists_stand() {
        let plan = resolve(
            "file_sizes = '1MiB..4MiB x2'\nrecord_sizes = ['4KiB', '64KiB..1MiB x4']\ntests = 'streams'",
        )
        .unwrap();
        assert_eq!(pairs(&plan).len(), 3 * 4);
        assert_eq!(plan.cells.len(), 3 * 4 * 4);
    }
}
