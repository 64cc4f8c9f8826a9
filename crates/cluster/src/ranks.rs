//! The collective operations of ranks, over any transport.

use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::agreement::{AgreementError, Mismatch, RankInfo};
use crate::clocks::{ClockAlignment, align, start_lead_ns};
use crate::division::Division;
use crate::transport::{Lost, Transport, WaitMode};
use crate::tree;

/// One rank of a group of processes that run one test together.
///
/// It owns the transport to the other ranks, the names of all machines, the division of users, and the last clock
/// alignment. A process creates it with [`Ranks::join`] and keeps it for the whole run; dropping it ends the
/// connection to the others, which then get [`Lost`].
///
/// Methods that exchange messages are collective: all ranks call them in the same order, otherwise the ranks
/// wait for each other forever. After [`Lost`] no further collective call succeeds, because the ranks no longer
/// agree on the next message. Alerts of [`Ranks::transport`] are the exception: they need no counterpart.
pub struct Ranks {
    transport: Box<dyn Transport>,
    /// By rank.
    hosts: Vec<String>,
    division: Division,
    clock: Mutex<ClockAlignment>,
}

impl std::fmt::Debug for Ranks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ranks")
            .field("rank", &self.rank())
            .field("hosts", &self.hosts)
            .finish_non_exhaustive()
    }
}

impl Ranks {
    /// Creates ranks without names of machines, with an equal division of users.
    pub fn unnamed(transport: Box<dyn Transport>) -> Self {
        let hosts = (0..transport.size()).map(|rank| format!("rank{rank}")).collect();
        let division = Division::equal(transport.size());
        Self { transport, hosts, division, clock: Mutex::default() }
    }

    /// Joins the group. All ranks must have the same version. Returns the ranks, and on the leader the description
    /// of every rank.
    pub fn join(
        transport: Box<dyn Transport>,
        info: &RankInfo,
    ) -> Result<(Self, Vec<RankInfo>), AgreementError> {
        // The version travels as plain bytes, which every version can read.
        let leading = transport.broadcast(info.version.as_bytes())?;
        let leading = String::from_utf8_lossy(&leading).into_owned();
        let own = transport.rank() as usize;
        let mut ranks = Self::unnamed(transport);
        ranks.hosts[own].clone_from(&info.host);
        let same = if leading == info.version {
            Ok(())
        } else {
            Err(format!(
                "this is version {}, rank 0 has {leading}: install one version everywhere",
                info.version
            ))
        };
        // Agreed upon before anything else is exchanged: other versions may encode their messages differently.
        ranks.agree(same)?;
        let infos = ranks.gather(info)?;
        let hosts = infos.iter().map(|info| info.host.clone()).collect();
        ranks.hosts = ranks.broadcast(ranks.is_leader().then_some(&hosts))?;
        Ok((ranks, infos))
    }

    /// Sets the division of users.
    pub fn divide_by(&mut self, division: Division) {
        self.division = division;
    }

    /// Returns the number of this rank.
    pub fn rank(&self) -> u32 {
        self.transport.rank()
    }

    /// Returns the number of ranks.
    pub fn size(&self) -> u32 {
        self.transport.size()
    }

    /// Returns true on rank 0, which decides, shows and stores.
    pub fn is_leader(&self) -> bool {
        self.rank() == 0
    }

    /// Returns the names of the machines, by rank.
    pub fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// Returns the name of this machine.
    pub fn host(&self) -> &str {
        self.hosts.get(self.rank() as usize).map_or("", String::as_str)
    }

    /// Returns the division of users.
    pub fn division(&self) -> &Division {
        &self.division
    }

    /// Returns the users of this rank, ascending.
    pub fn users(&self, of: u32) -> Vec<u32> {
        self.division.users_of(self.rank(), of)
    }

    /// Returns the transport, for alerts, which are not collective.
    pub fn transport(&self) -> &dyn Transport {
        self.transport.as_ref()
    }

    /// Waits for all ranks.
    pub fn barrier(&self) -> Result<(), Lost> {
        self.transport.barrier()
    }

    /// Sends the leader's value to all ranks; the others pass `None`.
    pub fn broadcast<T: Serialize + DeserializeOwned>(&self, value: Option<&T>) -> Result<T, Lost> {
        let bytes = value.map_or(Ok(Vec::new()), |value| self.encode(value))?;
        decode(0, &self.transport.broadcast(&bytes)?)
    }

    /// Collects the values of all ranks on the leader, by rank; returns nothing on the others.
    pub fn gather<T: Serialize + DeserializeOwned>(&self, value: &T) -> Result<Vec<T>, Lost> {
        let all = self.transport.gather(&self.encode(value)?)?;
        (0..).zip(all).map(|(rank, bytes)| decode(rank, &bytes)).collect()
    }

    /// Merges all values along the tree, in the order of ranks within each branch; returns the result on the leader.
    pub fn reduce<T: Serialize + DeserializeOwned>(
        &self,
        value: T,
        merge: impl Fn(&mut T, T),
    ) -> Result<Option<T>, Lost> {
        let mut value = value;
        let children: Vec<u32> = tree::children(self.rank(), self.size()).collect();
        // Children with the smallest subtrees finish first.
        for child in children.into_iter().rev() {
            let bytes = self.transport.receive(child, WaitMode::Sleep)?;
            merge(&mut value, decode(child, &bytes)?);
        }
        match tree::parent(self.rank()) {
            Some(parent) => self.transport.send(parent, &self.encode(&value)?).map(|()| None),
            None => Ok(Some(value)),
        }
    }

    /// Merges all values and returns the result on every rank.
    pub fn all_reduce<T: Serialize + DeserializeOwned>(
        &self,
        value: T,
        merge: impl Fn(&mut T, T),
    ) -> Result<T, Lost> {
        let merged = self.reduce(value, merge)?;
        self.broadcast(merged.as_ref())
    }

    /// Sends a value to one rank and receives that of another. Each rank must be the receiver of exactly one.
    pub fn exchange<T: Serialize + DeserializeOwned>(
        &self,
        to: u32,
        from: u32,
        value: &T,
    ) -> Result<T, Lost> {
        let bytes = self.encode(value)?;
        // Sending a long message waits for the receiver, so at least one rank of every ring must receive first.
        let theirs = if self.rank() < to {
            self.transport.send(to, &bytes)?;
            self.transport.receive(from, WaitMode::Sleep)?
        } else {
            let theirs = self.transport.receive(from, WaitMode::Sleep)?;
            self.transport.send(to, &bytes)?;
            theirs
        };
        decode(from, &theirs)
    }

    /// Succeeds only if no rank passes an error; otherwise every rank gets the errors of all.
    pub fn agree(&self, mine: Result<(), String>) -> Result<(), AgreementError> {
        let rank = self.rank();
        let host = self.host().to_owned();
        let own: Vec<Mismatch> =
            mine.err().into_iter().map(|reason| Mismatch { rank, host: host.clone(), reason }).collect();
        let mut complaints = self.all_reduce(own, |all, mut more| all.append(&mut more))?;
        complaints.sort_by_key(|complaint| complaint.rank);
        if complaints.is_empty() { Ok(()) } else { Err(AgreementError::Mismatches(complaints)) }
    }

    /// Aligns the clocks of all ranks, and returns and keeps the offset of this one. `now` reads the clock in ns.
    pub fn align(&self, exchanges: u32, now: &dyn Fn() -> u64) -> Result<ClockAlignment, Lost> {
        let own = align(self.transport(), exchanges, now)?;
        let round_trip_ns =
            self.all_reduce(own.round_trip_ns, |longest, other| *longest = other.max(*longest))?;
        let known = ClockAlignment { round_trip_ns, ..own };
        *self.clock.lock().unwrap_or_else(PoisonError::into_inner) = known;
        Ok(known)
    }

    /// Returns the last alignment of this rank; its round trip is the longest of all ranks.
    pub fn aligned(&self) -> ClockAlignment {
        *self.clock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Agrees on an instant, at least `min_ns` ahead for the leader, and returns it on this rank's clock.
    pub fn common_instant(&self, now: u64, min_ns: u64) -> Result<u64, Lost> {
        let known = self.aligned();
        let instant = now + start_lead_ns(known.round_trip_ns, min_ns);
        // One instant of the leader's clock for all; each rank converts it with its own offset.
        let instant = self.broadcast(self.is_leader().then_some(&instant))?;
        Ok(self.to_own_clock(instant))
    }

    /// Converts an instant of the leader's clock to this rank's clock.
    pub fn to_own_clock(&self, leaders: u64) -> u64 {
        leaders.saturating_add_signed(self.aligned().offset_ns)
    }

    /// Converts an instant of this rank's clock to the leader's clock.
    pub fn to_leader_clock(&self, own: u64) -> u64 {
        own.saturating_add_signed(self.aligned().offset_ns.saturating_neg())
    }

    fn encode<T: Serialize>(&self, value: &T) -> Result<Vec<u8>, Lost> {
        serde_json::to_vec(value).map_err(|error| Lost {
            rank: self.rank(),
            why: format!("it cannot encode its message: {error}"),
        })
    }
}

fn decode<T: DeserializeOwned>(from: u32, bytes: &[u8]) -> Result<T, Lost> {
    serde_json::from_slice(bytes)
        .map_err(|error| Lost { rank: from, why: format!("it sent an unreadable message: {error}") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads;

    fn on_each<T: Send>(size: u32, act: impl Fn(Ranks) -> T + Sync) -> Vec<T> {
        std::thread::scope(|scope| {
            let act = &act;
            let started: Vec<_> = threads(size)
                .into_iter()
                .map(|rank| scope.spawn(move || act(Ranks::unnamed(Box::new(rank)))))
                .collect();
            started.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    #[test]
    fn reduction_contains_every_rank_once() {
        for size in [1, 2, 5, 6, 32, 33] {
            let found = on_each(size, |ranks| ranks.all_reduce(vec![ranks.rank()], Extend::extend).unwrap());
            for mut all in found {
                all.sort_unstable();
                assert!(all.iter().copied().eq(0..size), "{all:?}");
            }
        }
    }

    #[test]
    fn values_travel_around_the_ring() {
        for shift in 1..5 {
            let found = on_each(5, |ranks| {
                ranks
                    .exchange((ranks.rank() + shift) % 5, (ranks.rank() + 5 - shift) % 5, &ranks.rank())
                    .unwrap()
            });
            assert!((0..5).all(|rank| found[rank as usize] == (rank + 5 - shift) % 5), "{found:?}");
        }
    }

    #[test]
    fn error_of_one_rank_stops_all_ranks() {
        let found = on_each(5, |ranks| {
            let mine = if ranks.rank() == 3 { Err("no password".to_owned()) } else { Ok(()) };
            ranks.agree(mine).unwrap_err().to_string()
        });
        assert_eq!(found, vec!["rank 3 (rank3): no password".to_owned(); 5]);
        assert!(on_each(3, |ranks| ranks.agree(Ok(()))).iter().all(Result::is_ok));
    }

    #[test]
    fn different_version_is_an_error_on_every_rank() {
        let found: Vec<String> = std::thread::scope(|scope| {
            let join = |rank: crate::ThreadRank| {
                let version = if rank.rank() == 2 { "0.9" } else { "1.0" }.to_owned();
                let host = format!("c{}", rank.rank());
                let info = RankInfo { host, version, facts: std::collections::BTreeMap::new() };
                Ranks::join(Box::new(rank), &info).unwrap_err().to_string()
            };
            let started: Vec<_> =
                threads(4).into_iter().map(|rank| scope.spawn(move || join(rank))).collect();
            started.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let wanted = "rank 2 (c2): this is version 0.9, rank 0 has 1.0: install one version everywhere";
        assert_eq!(found, vec![wanted.to_owned(); 4]);
    }

    #[test]
    fn common_instant_is_equal_on_all_ranks() {
        let origin = std::time::Instant::now();
        let found = on_each(4, |ranks| {
            let ahead = 1_000_000_000 * u64::from(ranks.rank());
            let now = || ahead + origin.elapsed().as_nanos() as u64;
            let known = ranks.align(16, &now).unwrap();
            let instant = ranks.common_instant(now(), 1_000_000).unwrap();
            assert_eq!(ranks.to_own_clock(ranks.to_leader_clock(instant)), instant);
            (instant - ahead, known.error_ns)
        });
        for (instant, error) in &found {
            assert!(instant.abs_diff(found[0].0) <= *error, "{found:?}");
        }
    }
}
