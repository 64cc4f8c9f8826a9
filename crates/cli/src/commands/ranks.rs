//! `sharebench ranks`: the cost of coordinating ranks, measured on this network and modelled for larger numbers.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use sharebench_cluster::{Costs, Load, Transport, launched, measure_costs, modelled, threads};
use sharebench_model::units::show_nanos;
use sharebench_model::{
    Coordinates, Facts, Histogram, Measure, RankShare, RunHeader, StepResult, TargetIdentity,
};
use sharebench_results::Store;

use crate::exit::Failure;
use crate::output::print_out;
use crate::run::ranks::mpi_world::MpiWorld;

/// Histograms that one rank of a load of eight transactions sends: three of each kind of transaction and operation.
const HISTOGRAMS: usize = 3 * (8 + 13);
/// Largest number of ranks of which a step is stored; the time of more is proportional. A step is stored as one row, so
/// that 100,000 ranks would need gigabytes.
const MAX_STORED: u32 = 2048;
/// Samples per histogram, spread over three decades as response times are.
const SAMPLES: u64 = 2_000;

pub const RANKS_HELP: &str = "Examples:
  mpirun -np 64 --oversubscribe sharebench ranks
  sharebench ranks --threads 16 --to 10000      # threads of this process as ranks";

#[derive(Debug, Args)]
pub struct CostArgs {
    /// Without a launcher: use N threads of this process as ranks.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(2..=256))]
    pub threads: u32,
    /// Model up to N ranks.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    pub to: u32,
}

/// Measures, and prints a table on rank 0.
pub fn run(args: &CostArgs) -> Result<ExitCode, Failure> {
    let rows = match launched(|name| std::env::var(name).ok()) {
        Some(launched) => {
            let world = MpiWorld::start(&launched)?;
            let rows = measured(world.transport().as_ref());
            world.end();
            rows?
        }
        None => measured_on_threads(args.threads)?,
    };
    if rows.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    print(&rows, args.to)?;
    Ok(ExitCode::SUCCESS)
}

fn measured(transport: &dyn Transport) -> Result<Vec<Costs>, Failure> {
    let load = Load { plan: "x".repeat(4096), counts: counts(), share: vec![share(0).response] };
    let merge = |all: &mut Vec<Histogram>, more: Vec<Histogram>| {
        all.iter_mut().zip(more).for_each(|(all, more)| all.merge(&more));
    };
    measure_costs(transport, &load, merge).map_err(|lost| Failure::Internal(anyhow::Error::new(lost)))
}

fn measured_on_threads(size: u32) -> Result<Vec<Costs>, Failure> {
    std::thread::scope(|scope| {
        let started: Vec<_> =
            threads(size).into_iter().map(|rank| scope.spawn(move || measured(&rank))).collect();
        let joined = started.into_iter().map(|thread| {
            thread.join().unwrap_or_else(|_| Err(Failure::Internal(anyhow::anyhow!("a rank panicked"))))
        });
        let mut rows = joined.collect::<Result<Vec<_>, _>>()?;
        Ok(rows.swap_remove(0))
    })
}

fn times(seed: u64) -> Histogram {
    let mut histogram = Histogram::new();
    for number in 0..SAMPLES {
        histogram.record(20_000 + (number * number * (seed + 7)) % 20_000_000);
    }
    histogram
}

fn counts() -> Vec<Histogram> {
    (0..HISTOGRAMS).map(|number| times(number as u64)).collect()
}

fn share(rank: u32) -> RankShare {
    // As received: a histogram that can count takes 50 times as much memory.
    let received = Histogram::from_v2(&times(u64::from(rank % 97)).to_v2());
    RankShare {
        rank,
        host: format!("client{rank}"),
        response: received.unwrap_or_default(),
        ..RankShare::default()
    }
}

/// Time to store a step of this number of ranks, at most [`MAX_STORED`].
fn stored(ranks: u32) -> Result<u64, Failure> {
    let directory = std::env::temp_dir().join(format!("sharebench-ranks-{}-{ranks}", std::process::id()));
    std::fs::create_dir(&directory)?;
    let taken = store_in(&directory.join("cost.db"), ranks);
    std::fs::remove_dir_all(&directory)?;
    taken
}

fn store_in(path: &std::path::Path, ranks: u32) -> Result<u64, Failure> {
    let mut store = Store::open(path)?;
    let header = RunHeader {
        title: "cost".into(),
        started_unix_ms: 0,
        version: env!("CARGO_PKG_VERSION").into(),
        plan: String::new(),
        seed: 0,
        steps_planned: 1,
        repeat: None,
        environment: Facts::new(),
        targets: vec![TargetIdentity { name: "none".into(), url: "null://".into() }],
    };
    let run = store.begin_run(&header)?;
    let measure = Measure { ranks: (0..ranks).map(share).collect(), ..Measure::default() };
    let step = StepResult {
        index: 0,
        target: 0,
        repetition: 0,
        coordinates: Coordinates::new(),
        started_unix_ms: 0,
        unmeasured_ms: 0,
        measure,
        checks: Vec::new().into(),
    };
    let begin = Instant::now();
    store.record_step(run, &step)?;
    Ok(begin.elapsed().as_nanos() as u64)
}

fn shown(nanos: u64) -> String {
    show_nanos(nanos as f64)
}

fn print(rows: &[Costs], to: u32) -> Result<(), Failure> {
    let bytes = |value: &Vec<Histogram>| value.iter().map(|times| times.to_v2().len()).sum::<usize>();
    let mut out = format!(
        "a plan of 4096 bytes; each rank sends {HISTOGRAMS} histograms ({} KiB) and {} KiB to store\n\
         ranks   how        broadcast    barrier      clocks       reduction    gathering    store\n",
        bytes(&counts()) / 1024,
        bytes(&vec![share(0).response]) / 1024
    );
    let most = rows.iter().map(|row| row.ranks).max().unwrap_or(0);
    let further =
        std::iter::successors(Some(most.next_power_of_two().max(2) * 2), |ranks| ranks.checked_mul(4));
    let further = further.take_while(|ranks| *ranks < to).chain((to > most).then_some(to));
    let models = further.filter_map(|ranks| modelled(rows, ranks)).map(|row| ("modelled", row));
    let mut largest_stored = 0;
    for (how, row) in rows.iter().map(|row| ("measured", *row)).chain(models) {
        let store_ns = if row.ranks <= MAX_STORED {
            stored(row.ranks)?
        } else {
            if largest_stored == 0 {
                largest_stored = stored(MAX_STORED)?;
            }
            (u128::from(largest_stored) * u128::from(row.ranks) / u128::from(MAX_STORED)) as u64
        };
        let of_operations = [row.barrier_ns, row.clocks_ns, row.reduction_ns, row.gather_ns, store_ns];
        let broadcast = row.broadcast_ns.map_or_else(|| "unresolved".to_owned(), shown);
        let columns = std::iter::once(broadcast).chain(of_operations.map(shown));
        let columns: Vec<String> = columns.map(|text| format!("{text:<11}")).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{:<6}  {how:<9}  {}", row.ranks, columns.join("  ").trim_end());
    }
    let _ = writeln!(
        out,
        "modelled: log2(n) tree steps, each as long as between two ranks; the store is measured up to {MAX_STORED} ranks, \
         and proportional to their number above"
    );
    if rows.iter().any(|row| row.broadcast_ns.is_none()) {
        out.push_str("unresolved: a broadcast took no longer than the barrier that it is measured with\n");
    }
    print_out(&out).map(drop)
}
