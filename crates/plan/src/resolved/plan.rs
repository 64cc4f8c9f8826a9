//! A resolved plan: valid, complete, in the order in which it will run.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use sharebench_model::units::BitRate;
use sharebench_model::{Coordinates, IoPolicy};

use super::{CacheProbePlan, MetadataWork, RecordWork};
use crate::plan::{Plan, PlannedTarget, Verify};
use crate::values::{Access, Pace, Repeat, Search, Test};
use crate::workload::Workload;

/// What is measured on every target: its coordinates and its work.
pub type Cell = (Coordinates, Work);

/// Users that perform transactions at a pace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionWork {
    /// What they perform.
    pub workload: Arc<Workload>,
    /// How many users.
    pub users: u32,
    /// How many of them share a session; 1 where each has its own.
    pub users_per_session: u32,
    /// Who decides when a transaction starts.
    pub pace: Pace,
    /// Time over which users start, one after another, within the warm-up; none where they start within one think time.
    pub ramp: Option<Duration>,
    /// Unmeasured start.
    pub warm_up: Duration,
    /// Measured part.
    pub measure: Duration,
    /// Maximum number of extensions while the step has not reached steady state; each doubles the window.
    pub max_extensions: u32,
}

impl TransactionWork {
    /// Most that [`Self::extend`] may be: eight times the window, and fifteen times its time.
    pub const MAX_EXTENDED: u32 = 3;
    /// Shortest window that can be judged steady (docs/measure/measurement-rules.md R5: six blocks of five seconds).
    pub const SHORTEST_JUDGED: Duration = Duration::from_secs(30);

    /// The measured window after N extensions.
    pub fn window(&self, extensions: u32) -> Duration {
        self.measure * (1 << extensions.min(Self::MAX_EXTENDED))
    }

    /// Time of a step from its first start to the end of its window, with all extensions.
    pub fn longest(&self) -> Duration {
        (0..=self.max_extensions).map(|extensions| self.warm_up + self.window(extensions)).sum()
    }
}

/// What a step does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// A cell of a sweep or of a depth study.
    Records(RecordWork),
    /// A metadata cell of a sweep.
    Metadata(MetadataWork),
    /// A step of a user load.
    Transactions(TransactionWork),
}

/// One step of the [`crate::StepOrder`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepPlan {
    /// Position in the schedule.
    pub index: u32,
    /// Index into [`ResolvedPlan::targets`].
    pub target: u32,
    /// Which repetition.
    pub repetition: u32,
    /// Index into [`ResolvedPlan::cells`], or into [`ResolvedPlan::loads`] for steps of users.
    pub cell: usize,
    /// Its coordinates.
    pub coordinates: Coordinates,
    /// What it does.
    pub work: Work,
}

/// A valid plan. The same plan text gives the same [`crate::StepOrder`] everywhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedPlan {
    /// What the run is called.
    pub title: String,
    /// Seed of every random choice.
    pub seed: u64,
    /// How reads are checked.
    pub verify: Verify,
    /// Deadline of one operation, and of connecting.
    pub timeout: Duration,
    /// The user's command that runs on this machine before each step is measured.
    pub pre_step_cmd: Option<String>,
    /// Rate of the link to the targets, where the user knows it.
    pub link: Option<BitRate>,
    /// Systems under test.
    pub targets: Vec<PlannedTarget>,
    /// Cells of sweeps and depth studies, repeated according to [`Self::repeat`].
    pub cells: Vec<Cell>,
    /// Steps of users, measured after the cells, [`Self::load_repetitions`] times.
    pub loads: Vec<Cell>,
    /// How the load continues after [`Self::loads`].
    pub search: Option<Search>,
    /// How often the cells are measured.
    pub repeat: Repeat,
    /// Least busy time of a slice of a cell, of which each target has one after the other; zero where each target is
    /// measured to the end of its sample.
    pub slice_time: Duration,
    /// How cache probes distinguish server cache and storage; none without cache probes.
    pub cache_probes: Option<CacheProbePlan>,
    /// The plan with all defaults filled; parsing and resolving it gives this again.
    pub typed: Plan,
}

impl ResolvedPlan {
    /// The plan as several processes measure it: a cell that names no number of jobs gets `jobs` of them,
    /// and lists them in its coordinates.
    #[must_use]
    pub fn on_ranks(mut self, jobs: u32) -> Self {
        let are_named =
            self.typed.io500.is_some() || self.typed.sweep.as_ref().is_some_and(|sweep| sweep.jobs.is_some());
        for cell in &mut self.cells {
            match &cell.1 {
                Work::Records(work) if work.jobs.is_none() => {
                    *cell = RecordWork { jobs: Some(jobs), ..work.clone() }.into_cell();
                }
                Work::Metadata(work) if work.jobs.is_none() || !are_named => {
                    let jobs = Some(jobs.max(work.test.declaration().min_jobs));
                    *cell = MetadataWork { jobs, ..work.clone() }.into_cell();
                }
                _ => {}
            }
        }
        self
    }

    /// How often the series of load steps is measured on each target.
    pub fn load_repetitions(&self) -> u32 {
        self.typed.repetitions.unwrap_or(1)
    }

    /// True if the users of a load stay logged on from one step to the next (docs/design/load-steps.md).
    pub fn keeps_users(&self) -> bool {
        self.typed.load.as_ref().and_then(|load| load.keep_users).unwrap_or(false)
    }

    /// Most operations in flight of any record step; at least 1.
    pub fn max_depth(&self) -> u32 {
        self.record_works().map(|work| work.queue_depth).max().unwrap_or(1)
    }

    /// Largest request of any cell, in bytes; at least 512. It is one request, or the cell is not measured.
    pub fn max_record(&self) -> u32 {
        let small_files = self.metadata_works().map(MetadataWork::request_size).max().unwrap_or(0);
        self.record_works().map(RecordWork::request_size).max().unwrap_or(512).max(512).max(small_files)
    }

    /// Most sessions of any step of users that the plan names; none without users.
    pub fn max_sessions(&self) -> Option<u32> {
        let users = self.loads.iter().map(|(_, work)| match work {
            Work::Records(_) | Work::Metadata(_) => 0,
            Work::Transactions(work) => work.users.div_ceil(work.users_per_session),
        });
        users.max()
    }

    /// Largest block of any step of users, in bytes; 0 without users. It may take several requests.
    pub fn max_block(&self) -> u32 {
        let blocks = self.works().map(|work| match work {
            Work::Records(_) | Work::Metadata(_) => 0,
            Work::Transactions(work) => work.workload.largest_request(),
        });
        blocks.max().unwrap_or(0)
    }

    /// Every policy of the plan with what its requests must fit, by name and in bytes, each once.
    pub fn policies(&self) -> BTreeSet<(IoPolicy, &'static str, u64)> {
        let pairs = self
            .record_works()
            .flat_map(|work| work.boundaries().map(|(name, bytes)| (work.policy, name, bytes)));
        pairs.collect()
    }

    /// A test that maps its file into memory, if there is one.
    pub fn first_mapping(&self) -> Option<Test> {
        self.record_works().map(|work| work.test).find(|test| test.access() == Access::Mapping)
    }

    /// Bytes of free space that each target needs.
    pub fn bytes_needed(&self) -> u64 {
        let mut files: Vec<(u64, u64)> =
            self.record_works().map(|work| (work.file_size, work.files_at_once())).collect();
        let of = |(size, count): &(u64, u64)| size.saturating_mul(*count);
        let largest = files.iter().map(of).max().unwrap_or(0);
        files.sort_unstable();
        files.dedup();
        // The data files of each size, the new files of a write test next to them, then the users' copies.
        let records = files.iter().map(of).fold(largest, u64::saturating_add);
        let probe_files = self.cache_probes.as_ref().map_or(0, |probes| {
            let needed = |work: &RecordWork| probes.bytes_needed(work.record_size);
            self.record_works().filter(|work| CacheProbePlan::covers(work)).map(needed).max().unwrap_or(0)
        });
        let displaced = self.record_works().map(|work| work.displaced).max().unwrap_or(0);
        let loads = self.works().map(|work| match work {
            Work::Records(_) => 0,
            Work::Metadata(work) => work.bytes_on_target(),
            Work::Transactions(work) => work.workload.bytes_on_target(work.users),
        });
        records.saturating_add(probe_files).saturating_add(displaced).max(loads.max().unwrap_or(0))
    }

    /// What every cell and every step of users does, each once.
    pub fn works(&self) -> impl Iterator<Item = &Work> {
        self.cells.iter().chain(&self.loads).map(|(_, work)| work)
    }

    fn record_works(&self) -> impl Iterator<Item = &RecordWork> {
        self.works().filter_map(|work| match work {
            Work::Records(work) => Some(work),
            Work::Metadata(_) | Work::Transactions(_) => None,
        })
    }

    fn metadata_works(&self) -> impl Iterator<Item = &MetadataWork> {
        self.works().filter_map(|work| match work {
            Work::Metadata(work) => Some(work),
            Work::Records(_) | Work::Transactions(_) => None,
        })
    }
}
