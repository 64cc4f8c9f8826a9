//! What it costs to be many: broadcast, barrier, clocks, reduction and gathering, measured and modelled.

use std::time::Instant;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::ranks::Ranks;
use crate::transport::{Lost, Transport};
use crate::tree;

/// How often each is measured; the median stands.
const TIMES: usize = 11;
/// Exchanges of clocks, as before a run.
const EXCHANGES: u32 = 32;

/// What is sent while costs are measured.
#[derive(Debug, Clone)]
pub struct Load<T> {
    /// A plan.
    pub plan: String,
    /// What one rank counted in a step.
    pub counts: T,
    /// What is kept of one rank.
    pub share: T,
}

/// What so many ranks cost, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Costs {
    /// How many ranks.
    pub ranks: u32,
    /// The plan from rank 0 to all.
    pub broadcast_ns: u64,
    /// Waiting until all are there.
    pub barrier_ns: u64,
    /// Comparing all clocks.
    pub clocks_ns: u64,
    /// Merging what all counted.
    pub reduction_ns: u64,
    /// Every rank's share to rank 0.
    pub gather_ns: u64,
}

/// Measures 2, 4, 8, .. and all ranks; the leader gets the rows. Collective.
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
        if let Some(part) = transport.first(few) {
            rows.push(measure_one(&Ranks::unnamed(part), load, merge)?);
        }
        // Those that are not among the first wait, without taking their processors.
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
        let told: String = ranks.broadcast(leading.then_some(&load.plan))?;
        drop(told);
        // Rank 0 is done when it has sent: what counts is when all have it.
        ranks.barrier()
    };
    let barrier_ns = median(ranks, || ranks.barrier())?;
    Ok(Costs {
        ranks: ranks.size(),
        barrier_ns,
        broadcast_ns: median(ranks, broadcast)?.saturating_sub(barrier_ns),
        clocks_ns: median(ranks, || ranks.align(EXCHANGES, &now).map(drop))?,
        reduction_ns: median(ranks, || ranks.reduce(load.counts.clone(), merge).map(drop))?,
        gather_ns: median(ranks, || ranks.gather(&load.share).map(drop))?,
    })
}

fn median(ranks: &Ranks, act: impl Fn() -> Result<(), Lost>) -> Result<u64, Lost> {
    let mut times = Vec::with_capacity(TIMES);
    for _ in 0..TIMES {
        ranks.barrier()?;
        let begin = Instant::now();
        act()?;
        times.push(begin.elapsed().as_nanos() as u64);
    }
    times.sort_unstable();
    Ok(times[TIMES / 2])
}

/// What `ranks` would cost with a machine for each: the steps of a tree cost what the one step between two ranks
/// does, and rank 0 takes as long over each share as it did with the most ranks measured. None without a measured
/// row of two ranks.
pub fn modelled(measured: &[Costs], ranks: u32) -> Option<Costs> {
    let pair = measured.iter().find(|row| row.ranks == 2)?;
    let most = measured.iter().max_by_key(|row| row.ranks)?;
    let steps = u64::from(tree::depth(ranks));
    let each = most.gather_ns / u64::from(most.ranks.max(2) - 1);
    Some(Costs {
        ranks,
        broadcast_ns: pair.broadcast_ns * steps,
        barrier_ns: pair.barrier_ns * steps,
        // A parent measures its children one after the other; the longest way has 1 + 2 + .. of them at most.
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
    fn every_size_is_measured_and_larger_ones_are_modelled_by_steps_of_the_tree() {
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
        let pair =
            Costs { ranks: 2, barrier_ns: 10, clocks_ns: 5, reduction_ns: 7, gather_ns: 4, broadcast_ns: 3 };
        let far = modelled(&[pair], 10_000).unwrap();
        assert_eq!((far.barrier_ns, far.reduction_ns, far.broadcast_ns), (140, 98, 42));
        assert_eq!((far.clocks_ns, far.gather_ns), (5 * 105, 4 * 9_999));
        assert_eq!(modelled(&[], 8), None);
    }
}
