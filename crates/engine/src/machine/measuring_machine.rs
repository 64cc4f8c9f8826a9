//! The measuring machine, for the self-checks of a run: read once per run, once per kind of cell, and once per step.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use sharebench_model::FileData;
use sharebench_plan::{ResolvedPlan, StepPlan, Work};
use sharebench_target::Target;

use crate::machine::clock_facts::ClockFacts;
use crate::machine::generator_ceiling::{CeilingKind, generator_ceiling};
use crate::machine::health::HealthMeter;
use crate::machine::link::Link;
use crate::machine::machinery::MachineReadings;
use crate::record::tally::Tally;
use crate::time::clock::Clock;

/// Below this the kernel's ticks are too coarse to distinguish user and kernel time.
const MIN_CPU_NS: u64 = 50_000_000;

/// Bytes of the request that stands for an operation on a name.
const MIN_REQUEST: u32 = 512;

/// The measuring machine during a run. It owns the hiccup meter, the facts of the clock, the link to each target and
/// the generator's ceiling for each kind of cell. It is made when a run starts, after its targets are prepared, and
/// ends with the run; in virtual time there is none.
pub(crate) struct Machine {
    meter: Option<HealthMeter>,
    clock: ClockFacts,
    /// Per target of the plan.
    links: Vec<Link>,
    ceilings: BTreeMap<CeilingKind, Option<f64>>,
}

impl Machine {
    /// Measures the clock and starts the hiccup meter.
    pub fn start(clock: &Clock, plan: &ResolvedPlan, targets: &[Arc<dyn Target>]) -> Self {
        let meter = HealthMeter::start(clock);
        if let Err(error) = &meter {
            tracing::debug!(%error, "no hiccup meter");
        }
        let links = targets.iter().map(|target| Link::to(&target.url(), plan.link)).collect();
        Self { meter: meter.ok(), clock: ClockFacts::measure(clock), links, ceilings: BTreeMap::new() }
    }

    /// Measures the generator's ceiling for a step's kind of operations, unless it is known already.
    pub async fn calibrate(&mut self, clock: &Clock, plan: &ResolvedPlan, work: &Work) {
        let kind = kind(work);
        if let Entry::Vacant(unknown) = self.ceilings.entry(kind) {
            unknown.insert(generator_ceiling(clock, kind, plan.verify).await);
        }
    }

    /// The readings of the machine over the span of a step.
    pub fn during(&self, step: &StepPlan, blocking: bool, tally: &Tally) -> MachineReadings<'_> {
        let work = &step.work;
        let users = match work {
            Work::Records(work) => work.jobs.unwrap_or(1),
            Work::Metadata(work) => work.jobs(),
            Work::Transactions(work) => work.users,
        };
        let threads = f64::from(crate::threads::count::threads(users, blocking));
        let ceiling = self.ceilings.get(&kind(work)).copied().flatten();
        MachineReadings {
            health: self.meter.as_ref().zip(tally.span).map(|(meter, (from, to))| meter.read(from, to)),
            clock: self.clock,
            link: &self.links[step.target as usize],
            // The ceiling was measured on one thread; the step uses several.
            ceiling: ceiling.map(|rate| rate * threads),
            busiest: busiest(work, blocking, tally),
            blocking,
        }
    }
}

fn kind(work: &Work) -> CeilingKind {
    match work {
        Work::Records(work) => {
            CeilingKind { record_size: work.record_size, depth: work.queue_depth, writes: work.test.writes() }
        }
        // A small request is what the generator does for an operation on a name.
        Work::Metadata(work) => CeilingKind {
            record_size: work.request_size().max(MIN_REQUEST),
            depth: 1,
            writes: work.test.declaration().file_data == FileData::Written,
        },
        Work::Transactions(work) => CeilingKind {
            record_size: work.workload.largest_request(),
            depth: 1,
            writes: work.workload.writes(),
        },
    }
}

/// Where the target's own work is the caller's kernel time, only user time is the generator's.
fn busiest(work: &Work, blocking: bool, tally: &Tally) -> Option<f64> {
    let (cpu, nanos) = match work {
        Work::Records(work) if work.jobs.is_none() => (tally.operations_cpu(), tally.busy_ns),
        // Many users: filling and verifying belong to the window, and to the thread.
        _ => (tally.busiest, tally.window_ns),
    };
    let used = if blocking { cpu.user_ns } else { cpu.total_ns() };
    (nanos >= MIN_CPU_NS).then(|| used as f64 / nanos as f64)
}
