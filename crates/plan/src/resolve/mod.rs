//! From a plan as typed to a resolved plan: defaults, checks across fields, schedule.

mod cache_probes;
mod io500;
mod load;
mod metadata;
mod server_cache;
mod sweep;

use std::collections::BTreeSet;
use std::time::Duration;

use sharebench_model::units::ByteSize;

use crate::plan::{Depth, Plan, Verify};
use crate::resolved::{Cell, RecordWork, ResolvedPlan};
use crate::values::{
    Access, MAX_FILE, MAX_RECORD, Mistake, Mistakes, Policies, Precision, Repeat, Test, duration_text,
};

const KIB: u64 = 1 << 10;

/// Least busy time of a cell per repetition.
const SAMPLE: Duration = Duration::from_millis(200);

/// Least busy time of a cell per repetition where targets take turns in slices: six slices.
const SAMPLE_IN_SLICES: Duration = Duration::from_millis(60);

/// Least busy time of a slice. Long enough for the caches of a processor to forget that another target was served, and
/// short against most disturbances of a machine.
const SLICE_TIME: Duration = Duration::from_millis(10);

/// Maximum number of steps of a plan. A larger number is a typing error in a unit.
const MAX_STEPS: u64 = 1_000_000;

impl Plan {
    /// Fills defaults and checks everything; all mistakes at once.
    pub fn resolve(&self) -> Result<ResolvedPlan, Mistakes> {
        let mut resolver = Resolver { plan: self, typed: self.clone(), mistakes: Mistakes::default() };
        let resolved = resolver.run();
        if resolver.mistakes.0.is_empty() { Ok(resolved) } else { Err(resolver.mistakes) }
    }
}

pub(crate) struct Resolver<'a> {
    pub plan: &'a Plan,
    pub typed: Plan,
    mistakes: Mistakes,
}

impl Resolver<'_> {
    fn run(&mut self) -> ResolvedPlan {
        self.check_targets();
        let seed = *self.typed.seed.get_or_insert(0);
        let repeat = self.repeat();
        let slice_time = self.slice_time();
        let default_sample = self.default_sample(slice_time, repeat);
        let min_sample_time = *self.typed.min_sample_time.get_or_insert(default_sample);
        self.duration_within(
            "min_sample_time",
            min_sample_time,
            Duration::from_millis(1),
            Duration::from_secs(3600),
        );
        let verify = *self.typed.verify.get_or_insert(Verify::Stamps);
        let timeout = *self.typed.timeout.get_or_insert(Duration::from_secs(30));
        self.duration_within("timeout", timeout, Duration::from_millis(10), Duration::from_secs(86_400));
        let pre_step_cmd = self.typed.pre_step_cmd.clone();
        if pre_step_cmd.as_ref().is_some_and(|command| command.trim().is_empty()) {
            self.blame("pre_step_cmd", "the command is empty", "such as 'umount /mnt && mount /mnt'");
        }
        if !self.plan.has_cells() && self.plan.load.is_none() {
            self.blame("plan", "it measures nothing", "add a [sweep], [depth], [io500] or [load] section");
        }
        if self.plan.io500.is_some() && (self.plan.sweep.is_some() || self.plan.depth.is_some()) {
            let why = "its score is that of a run of its own";
            self.blame("io500", why, "remove the sections [sweep] and [depth]");
        }

        let mut cells =
            self.plan.sweep.as_ref().map_or(Vec::new(), |sweep| self.sweep_cells(sweep, min_sample_time));
        cells.extend(
            self.plan.depth.clone().map_or(Vec::new(), |depth| self.depth_cells(depth, min_sample_time)),
        );
        if let Some(io500) = &self.plan.io500 {
            cells.extend(self.io500_cells(io500, min_sample_time));
        }
        let (loads, search) =
            self.plan.load.clone().map_or_else(Default::default, |load| self.load_cells(load));
        let cache_probes = self.cache_probes();
        if self.plan.workload.is_some() && self.plan.load.is_none() {
            self.blame("workload", "no load uses it", "add a [load] section");
        }
        let title = self.typed.title.get_or_insert_with(|| "run".into()).clone();
        let typed = self.typed.clone();
        let link = typed.link;
        let targets = typed.targets.clone();
        let plan = ResolvedPlan {
            title,
            seed,
            verify,
            timeout,
            pre_step_cmd,
            link,
            targets,
            cells,
            loads,
            search,
            repeat,
            slice_time,
            cache_probes,
            typed,
        };
        let steps = plan.steps().most;
        if steps > MAX_STEPS {
            self.blame(
                "plan",
                &format!("{steps} steps are more than {MAX_STEPS}"),
                "use fewer sizes or repetitions",
            );
        }
        plan
    }

    /// The busy time of a slice; zero where there is nothing to take turns with.
    fn slice_time(&mut self) -> Duration {
        if self.plan.targets.len() < 2 || !self.plan.has_cells() {
            return Duration::ZERO;
        }
        let slice_time = *self.typed.slice_time.get_or_insert(SLICE_TIME);
        if slice_time > Duration::ZERO {
            self.duration_within("slice_time", slice_time, Duration::from_millis(1), Duration::from_secs(10));
        }
        slice_time
    }

    /// The sample of a cell where none is given. In slices, and where rounds continue until the interval is narrow, many
    /// short samples are as good as few long ones, and the run can end sooner (docs/design/cells.md).
    fn default_sample(&self, slice_time: Duration, repeat: Repeat) -> Duration {
        let jobs =
            self.plan.io500.is_some() || self.plan.sweep.as_ref().is_some_and(|sweep| sweep.jobs.is_some());
        let in_slices = slice_time > Duration::ZERO && !jobs;
        if in_slices && !repeat.is_fixed() { SAMPLE_IN_SLICES } else { SAMPLE }
    }

    /// When rounds over the cells end: a number, a precision, a budget, or the default precision.
    fn repeat(&mut self) -> Repeat {
        let repetitions = self.plan.repetitions;
        let precision = self.plan.precision;
        let budget = self.plan.budget;
        let cells = self.plan.has_cells();
        for (field, given) in [("precision", precision.is_some()), ("time_budget", budget.is_some())] {
            if given && !cells {
                self.blame(
                    field,
                    "no cell can be repeated",
                    "it needs a [sweep] or a [depth]; load steps are measured once",
                );
            }
            if given && repetitions.is_some() {
                self.blame(
                    field,
                    "does not go together with a fixed number of repetitions",
                    "leave one of the two out",
                );
            }
        }
        if let Some(precision) = precision
            && !(Precision::RANGE.0..=Precision::RANGE.1).contains(&precision)
        {
            let (least, most) = Precision::RANGE;
            self.blame("precision", &format!("{precision} is outside {least}..{most}"), "");
        }
        if let Some(budget) = budget {
            self.duration_within(
                "time_budget",
                budget,
                Duration::from_secs(1),
                Duration::from_secs(30 * 86_400),
            );
        }
        if let Some(repetitions) = repetitions {
            self.within("repetitions", u64::from(repetitions), 1, u64::from(Repeat::MAX_ASKED));
            return Repeat::times(repetitions);
        }
        if let Some(budget) = budget {
            return Repeat::within(budget, precision);
        }
        if !cells {
            return Repeat::times(1);
        }
        Repeat::until(*self.typed.precision.get_or_insert(Precision::DEFAULT))
    }

    fn check_targets(&mut self) {
        if self.plan.targets.is_empty() {
            self.blame(
                "target",
                "no target is named",
                "add a [[target]] with a url, or name targets on the command line",
            );
        }
        let mut names = BTreeSet::new();
        for (index, target) in self.plan.targets.iter().enumerate() {
            if target.url.is_empty() {
                self.blame(
                    &format!("target.{index}.url"),
                    "no url",
                    "such as smb://user@host/share, nfs://host/export or /path",
                );
            }
            if !names.insert(target.name.as_str()) {
                self.blame(
                    &format!("target.{index}.name"),
                    &format!("'{}' is used twice", target.name),
                    "give each target a name of its own",
                );
            }
        }
    }

    fn depth_cells(&mut self, depth: Depth, min_sample_time: Duration) -> Vec<Cell> {
        let file = depth.file_size.unwrap_or(ByteSize(64 << 20));
        let records =
            depth.record_sizes.unwrap_or_else(|| (1..=10).map(|power| ByteSize(KIB << power)).collect());
        let depths = depth.depths.unwrap_or_else(|| vec![1, 2, 4, 8]);
        let tests = depth
            .tests
            .unwrap_or_else(|| vec![Test::Read, Test::Rewrite, Test::RandomRead, Test::RandomWrite]);
        self.check_list("depth.file_size", &[file], 512, MAX_FILE);
        self.check_list("depth.record_sizes", &records, 512, MAX_RECORD);
        self.check_tests("depth.tests", &tests);
        self.check_counts("depth.depths", &depths, 1024);
        for test in tests.iter().filter(|test| test.access() != Access::Request) {
            let why =
                format!("{test} knows no queue depth: a stream or mapping is used one record at a time");
            self.blame("depth.tests", &why, "measure it by a sweep");
        }
        let mut policies = depth.policies.complete();
        self.complete_server_cache("depth", &mut policies, file);
        self.check_policies("depth", &policies);
        let mut cells = Vec::new();
        for &record in &records {
            if record > file {
                self.blame(
                    "depth.record_sizes",
                    &format!("{record} is larger than the file ({file})"),
                    "a record must fit into its file",
                );
                continue;
            }
            self.check_divides("depth.file_size", file, record);
            if tests.contains(&Test::StrideRead) && file.0 / record.0.max(1) <= u64::from(RecordWork::STRIDE)
            {
                let why =
                    format!("a {file} file of {record} records has no stride of {}", RecordWork::STRIDE);
                self.blame("depth.tests", &why, "use a larger file or leave stride-read out");
            }
            for &queue_depth in &depths {
                let works =
                    tests.iter().map(|&test| depth_work(test, file, record, queue_depth, min_sample_time));
                cells.extend(
                    works.flat_map(|work| work.with_each_policy(&policies)).map(RecordWork::into_cell),
                );
            }
        }
        self.typed.depth = Some(Depth {
            file_size: Some(file),
            record_sizes: Some(records),
            depths: Some(depths),
            tests: Some(tests),
            policies,
        });
        cells
    }

    pub(crate) fn check_list(&mut self, field: &str, list: &[ByteSize], least: u64, most: u64) {
        if list.is_empty() {
            self.blame(field, "the list is empty", "name at least one size");
        }
        for size in list {
            self.within(field, size.0, least, most);
        }
        self.check_distinct(field, list);
    }

    pub(crate) fn check_counts(&mut self, field: &str, list: &[u32], most: u64) {
        if list.is_empty() {
            self.blame(field, "the list is empty", "name at least one number");
        }
        for &count in list {
            self.within(field, u64::from(count), 1, most);
        }
        self.check_distinct(field, list);
    }

    pub(crate) fn check_tests(&mut self, field: &str, tests: &[Test]) {
        if tests.is_empty() {
            self.blame(field, "the list is empty", "name at least one test");
        }
        self.check_distinct(field, tests);
    }

    pub(crate) fn check_policies(&mut self, section: &str, policies: &Policies) {
        let cache = format!("{section}.cache");
        let sync = format!("{section}.sync");
        let caches = policies.cache.as_deref();
        let syncs = policies.sync.as_deref();
        for (field, empty) in
            [(&cache, caches.is_some_and(<[_]>::is_empty)), (&sync, syncs.is_some_and(<[_]>::is_empty))]
        {
            if empty {
                self.blame(field, "the list is empty", "name at least one policy");
            }
        }
        self.check_distinct(&cache, caches.unwrap_or(&[]));
        self.check_distinct(&sync, syncs.unwrap_or(&[]));
        self.check_distinct(&format!("{section}.include"), policies.include.as_deref().unwrap_or(&[]));
    }

    pub(crate) fn check_distinct<T: Ord + std::fmt::Display>(&mut self, field: &str, list: &[T]) {
        let mut seen = BTreeSet::new();
        if let Some(twice) = list.iter().find(|item| !seen.insert(*item)) {
            self.blame(
                field,
                &format!("{twice} is listed twice"),
                "name each value once; 'repetitions' repeats cells",
            );
        }
    }

    pub(crate) fn check_divides(&mut self, field: &str, file: ByteSize, record: ByteSize) {
        if record.0 > 0 && !file.0.is_multiple_of(record.0) {
            self.blame(
                field,
                &format!("{file} is not a multiple of the record size {record}"),
                "choose sizes that divide",
            );
        }
    }

    pub(crate) fn within(&mut self, field: &str, number: u64, least: u64, most: u64) {
        if !(least..=most).contains(&number) {
            let show = |n: u64| if least >= 512 { ByteSize(n).to_string() } else { n.to_string() };
            let number = show(number);
            let least = show(least);
            let most = show(most);
            self.blame(field, &format!("{number} is outside {least}..{most}"), "");
        }
    }

    fn duration_within(&mut self, field: &str, value: Duration, least: Duration, most: Duration) {
        if !(least..=most).contains(&value) {
            let [value, least, most] = [value, least, most].map(duration_text);
            self.blame(field, &format!("{value} is outside {least}..{most}"), "");
        }
    }

    pub(crate) fn blame(&mut self, field: &str, problem: &str, hint: &str) {
        let mistake = Mistake {
            field: field.into(),
            line: self.plan.lines.get(field).copied(),
            problem: problem.into(),
            hint: hint.into(),
        };
        if !self.mistakes.0.contains(&mistake) {
            self.mistakes.0.push(mistake);
        }
    }
}

/// A position of a depth study.
fn depth_work(
    test: Test,
    file: ByteSize,
    record: ByteSize,
    queue_depth: u32,
    min_sample_time: Duration,
) -> RecordWork {
    let record_size = record.0.min(MAX_RECORD) as u32;
    RecordWork { queue_depth, ..RecordWork::new(test, file.0, record_size, min_sample_time) }
}
