//! Cost of coordination: broadcast, barrier, clock alignment, reduction and gathering, measured and modelled.

use std::time::Instant;

use serde::Serialize;
use serde::de::DeserializeOwned;
use sharebench_stats::upper_median;

use crate::ranks::Ranks;
use crate::transport::{Lost, Transport};
use crate::tree;

/// Measurements of each operation; the result is the median.
const REPETITIONS: usize = 11;
/// Exchanges per clock alignment, as many as before a run.
const EXCHANGES: u32 = 32;

/// Messages of the size that a run sends.
#[derive(Debug, Clone)]
pub struct Load<T> {
    /// The plan, which is broadcast.
    pub plan: String,
    /// The counts of one rank in a step, which are reduced.
    pub counts: T,
    /// The stored record of one rank, which is gathered.
    pub share: T,
}

/// Costs of the operations for a number of ranks, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Costs {
    /// Number of ranks.
    pub ranks: u32,
    /// Broadcast of the plan from rank 0; none where it took no longer than the barrier that it is measured with.
    pub broadcast_ns: Option<u64>,
    /// Barrier over all ranks.
    pub barrier_ns: u64,
    /// Alignment of all clocks.
    pub clocks_ns: u64,
    /// Reduction of the counts of all ranks.
    pub reduction_ns: u64,
    /// Transfer of every rank's record to rank 0.
    pub gather_ns: u64,
}

/// Measures 2, 4, 8, .. and all ranks. Returns the rows on the leader, and nothing on the others. Collective.
pub fn measure<T: Clone + Serialize + DeserializeOwned>(
    transport: &dyn Transport,
    load: &Load<T>,
    merge: impl Fn(&mut T, T) + Copy,
) -> Result<Vec<Costs>, Lost> {
    let size = transport.size();
    let doubled = std::iter::successors(Some(2_u32), |size| size.checked_mul(2));
    let mut sizes: Vec<u32> = doubled.take_while(|few| *few < size).collect();
    sizes.push(size);
    let mut rows = Vec::new();
    for few in sizes {
        if let Some(part) = transport.subgroup(few) {
            rows.push(measure_one(&Ranks::unnamed(part), load, merge)?);
        }
        // The other ranks wait here without using the CPU that the measured ranks need.
        transport.barrier()?;
    }
    Ok(if transport.rank() == 0 { rows } else { Vec::new() })
}

fn measure_one<T: Clone + Serialize + DeserializeOwned>(
    ranks: &Ranks,
    load: &Load<T>,
    merge: impl Fn(&mut T, T) + Copy,
) -> Result<Costs, Lost> {
    let origin = Instant::now();
    let now = || origin.elapsed().as_nanos() as u64;
    let leading = ranks.is_leader();
    let broadcast = || {
        let received: String = ranks.broadcast(leading.then_some(&load.plan))?;
        drop(received);
        // Rank 0 returns when it has sent; the barrier measures when all have received.
        ranks.barrier()
    };
    let barrier_ns = median_ns(ranks, || ranks.barrier())?;
    Ok(Costs {
        ranks: ranks.size(),
        barrier_ns,
        // The barrier inside `broadcast` belongs to the measurement, not to the operation.
        broadcast_ns: median_ns(ranks, broadcast)?.checked_sub(barrier_ns).filter(|nanos| *nanos > 0),
        clocks_ns: median_ns(ranks, || ranks.align(EXCHANGES, &now).map(drop))?,
        reduction_ns: median_ns(ranks, || ranks.reduce(load.counts.clone(), merge).map(drop))?,
        gather_ns: median_ns(ranks, || ranks.gather(&load.share).map(drop))?,
    })
}

fn median_ns(ranks: &Ranks, act: impl Fn() -> Result<(), Lost>) -> Result<u64, Lost> {
    let mut times = Vec::with_capacity(REPETITIONS);
    for _ in 0..REPETITIONS {
        ranks.barrier()?;
        let begin = Instant::now();
        act()?;
        times.push(begin.elapsed().as_nanos() as u64);
    }
    Ok(upper_median(&mut times).unwrap_or(0))
}

/// Models the costs of `ranks` ranks with one machine each, or returns `None` without a measured row of two ranks.
///
/// Each step along the tree costs as much as the step between two ranks, and rank 0 takes as long for each record as
/// it did with the largest measured number of ranks.
pub fn modelled(measured: &[Costs], ranks: u32) -> Option<Costs> {
    let pair = measured.iter().find(|row| row.ranks == 2)?;
    let most = measured.iter().max_by_key(|row| row.ranks)?;
    let steps = u64::from(tree::depth(ranks));
    let each = most.gather_ns / u64::from(most.ranks.max(2) - 1);
    Some(Costs {
        ranks,
        broadcast_ns: pair.broadcast_ns.map(|nanos| nanos * steps),
        barrier_ns: pair.barrier_ns * steps,
        // A parent measures its children one after the other; the longest path has at most 1 + 2 + .. of them.
        clocks_ns: pair.clocks_ns * steps * (steps + 1) / 2,
        reduction_ns: pair.reduction_ns * steps,
        gather_ns: each * u64::from(ranks.saturating_sub(1)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads;

    #[test]
    fn every_size_is_measured_and_larger_sizes_are_modelled() {
        let load = Load { plan: "plan".repeat(100), counts: vec![1_u64; 100], share: vec![1_u64; 10] };
        let rows: Vec<Vec<Costs>> = std::thread::scope(|scope| {
            let load = &load;
            let measure = |rank: crate::ThreadRank| {
                measure(&rank, load, |sum, more| {
                    sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
                })
            };
            let started: Vec<_> =
                threads(6).into_iter().map(|rank| scope.spawn(move || measure(rank).unwrap())).collect();
            started.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let sizes: Vec<u32> = rows[0].iter().map(|row| row.ranks).collect();
        assert_eq!(sizes, [2, 4, 6]);
        assert!(rows[1..].iter().all(Vec::is_empty));
        let pair = Costs {
            ranks: 2,
            barrier_ns: 10,
            clocks_ns: 5,
            reduction_ns: 7,
            gather_ns: 4,
            broadcast_ns: Some(3),
        };
        let far = modelled(&[pair], 10_000).unwrap();
        assert_eq!((far.barrier_ns, far.reduction_ns, far.broadcast_ns), (140, 98, Some(42)));
        let unresolved = modelled(&[Costs { broadcast_ns: None, ..pair }], 10_000).unwrap();
        assert_eq!(unresolved.broadcast_ns, None, "a model of what was not measured");
        assert_eq!((far.clocks_ns, far.gather_ns), (5 * 105, 4 * 9_999));
        assert_eq!(modelled(&[], 8), None);
    }
}
