//! All that ranks do together, whatever carries their messages.

use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::agreement::{Card, Complaint, Discord};
use crate::clocks::{Aligned, align, start_lead_ns};
use crate::division::Division;
use crate::transport::{Lost, Patience, Transport};
use crate::tree;

/// One rank among the others.
///
/// Every method that tells or asks others is collective: all ranks call it, in the same order.
pub struct Ranks {
    transport: Box<dyn Transport>,
    /// By rank.
    hosts: Vec<String>,
    division: Division,
    clock: Mutex<Aligned>,
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
    /// Ranks whose machines have no names, sharing equally.
    pub fn unnamed(transport: Box<dyn Transport>) -> Self {
        let hosts = (0..transport.size()).map(|rank| format!("rank{rank}")).collect();
        let division = Division::equal(transport.size());
        Self { transport, hosts, division, clock: Mutex::default() }
    }

    /// Meets the others: their versions must be one. Gives the ranks, and on the leader the cards of all.
    pub fn join(transport: Box<dyn Transport>, card: &Card) -> Result<(Self, Vec<Card>), Discord> {
        // Plain bytes, which every version understands.
        let leading = transport.broadcast(card.version.as_bytes())?;
        let leading = String::from_utf8_lossy(&leading).into_owned();
        let own = transport.rank() as usize;
        let mut ranks = Self::unnamed(transport);
        ranks.hosts[own].clone_from(&card.host);
        let same = if leading == card.version {
            Ok(())
        } else {
            Err(format!(
                "this is version {}, rank 0 has {leading}: install one version everywhere",
                card.version
            ))
        };
        ranks.agree(same)?;
        let cards = ranks.gather(card)?;
        let hosts = cards.iter().map(|card| card.host.clone()).collect();
        ranks.hosts = ranks.broadcast(ranks.is_leader().then_some(&hosts))?;
        Ok((ranks, cards))
    }

    /// Divides users so from now on.
    pub fn divide_by(&mut self, division: Division) {
        self.division = division;
    }

    /// This one's number.
    pub fn rank(&self) -> u32 {
        self.transport.rank()
    }

    /// How many there are.
    pub fn size(&self) -> u32 {
        self.transport.size()
    }

    /// True on rank 0, which decides, shows and stores.
    pub fn is_leader(&self) -> bool {
        self.rank() == 0
    }

    /// Names of the ranks' machines.
    pub fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// The machine of this rank.
    pub fn host(&self) -> &str {
        self.hosts.get(self.rank() as usize).map_or("", String::as_str)
    }

    /// How users are divided.
    pub fn division(&self) -> &Division {
        &self.division
    }

    /// The users of this rank, ascending.
    pub fn users(&self, of: u32) -> Vec<u32> {
        self.division.users_of(self.rank(), of)
    }

    /// What carries the messages; for alerts, which are not collective.
    pub fn transport(&self) -> &dyn Transport {
        self.transport.as_ref()
    }

    /// Waits for all.
    pub fn barrier(&self) -> Result<(), Lost> {
        self.transport.barrier()
    }

    /// The leader's value everywhere; others give none.
    pub fn broadcast<T: Serialize + DeserializeOwned>(&self, value: Option<&T>) -> Result<T, Lost> {
        let bytes = value.map_or(Ok(Vec::new()), |value| self.encode(value))?;
        decode(0, &self.transport.broadcast(&bytes)?)
    }

    /// Every rank's value on the leader, by rank; nothing on the others.
    pub fn gather<T: Serialize + DeserializeOwned>(&self, value: &T) -> Result<Vec<T>, Lost> {
        let all = self.transport.gather(&self.encode(value)?)?;
        (0..).zip(all).map(|(rank, bytes)| decode(rank, &bytes)).collect()
    }

    /// All values merged along the tree, in the order of ranks within each branch; some on the leader alone.
    pub fn reduce<T: Serialize + DeserializeOwned>(
        &self,
        value: T,
        merge: impl Fn(&mut T, T),
    ) -> Result<Option<T>, Lost> {
        let mut value = value;
        let children: Vec<u32> = tree::children(self.rank(), self.size()).collect();
        // Those with the smallest subtrees are done first.
        for child in children.into_iter().rev() {
            let bytes = self.transport.receive(child, Patience::Nap)?;
            merge(&mut value, decode(child, &bytes)?);
        }
        match tree::parent(self.rank()) {
            Some(parent) => self.transport.send(parent, &self.encode(&value)?).map(|()| None),
            None => Ok(Some(value)),
        }
    }

    /// All values merged, on every rank.
    pub fn all<T: Serialize + DeserializeOwned>(
        &self,
        value: T,
        merge: impl Fn(&mut T, T),
    ) -> Result<T, Lost> {
        let merged = self.reduce(value, merge)?;
        self.broadcast(merged.as_ref())
    }

    /// Gives a value to one rank and takes that of another, where every rank does so and each is given to once.
    pub fn pass_on<T: Serialize + DeserializeOwned>(&self, to: u32, from: u32, value: &T) -> Result<T, Lost> {
        let bytes = self.encode(value)?;
        // A long message waits for its receiver: of every ring of ranks, one at least receives first.
        let theirs = if self.rank() < to {
            self.transport.send(to, &bytes)?;
            self.transport.receive(from, Patience::Nap)?
        } else {
            let theirs = self.transport.receive(from, Patience::Nap)?;
            self.transport.send(to, &bytes)?;
            theirs
        };
        decode(from, &theirs)
    }

    /// Goes on only if no rank has anything against it; everybody hears every complaint.
    pub fn agree(&self, mine: Result<(), String>) -> Result<(), Discord> {
        let (rank, host) = (self.rank(), self.host().to_owned());
        let own: Vec<Complaint> =
            mine.err().into_iter().map(|what| Complaint { rank, host: host.clone(), what }).collect();
        let mut complaints = self.all(own, |all, mut more| all.append(&mut more))?;
        complaints.sort_by_key(|complaint| complaint.rank);
        if complaints.is_empty() { Ok(()) } else { Err(Discord::Complaints(complaints)) }
    }

    /// Compares the clocks of all ranks; what is known from then on of this one's. `now` reads it, in nanoseconds.
    pub fn align(&self, exchanges: u32, now: &dyn Fn() -> u64) -> Result<Aligned, Lost> {
        let own = align(self.transport(), exchanges, now)?;
        let round_trip_ns = self.all(own.round_trip_ns, |longest, other| *longest = other.max(*longest))?;
        let known = Aligned { round_trip_ns, ..own };
        *self.clock.lock().unwrap_or_else(PoisonError::into_inner) = known;
        Ok(known)
    }

    /// What the last comparison of clocks said of this rank's; its round trip is the longest of all ranks'.
    pub fn aligned(&self) -> Aligned {
        *self.clock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An instant soon, the same for all, by this rank's clock: at least `least_ns` away for the leader.
    pub fn common_instant(&self, now: u64, least_ns: u64) -> Result<u64, Lost> {
        let known = self.aligned();
        let instant = now + start_lead_ns(known.round_trip_ns, least_ns);
        let instant = self.broadcast(self.is_leader().then_some(&instant))?;
        Ok(self.own_instant(instant))
    }

    /// An instant of the leader's clock by this rank's.
    pub fn own_instant(&self, leaders: u64) -> u64 {
        leaders.saturating_add_signed(self.aligned().offset_ns)
    }

    /// An instant of this rank's clock by the leader's.
    pub fn common(&self, own: u64) -> u64 {
        own.saturating_add_signed(self.aligned().offset_ns.saturating_neg())
    }

    fn encode<T: Serialize>(&self, value: &T) -> Result<Vec<u8>, Lost> {
        serde_json::to_vec(value)
            .map_err(|error| Lost { rank: self.rank(), why: format!("it cannot say what it has: {error}") })
    }
}

fn decode<T: DeserializeOwned>(from: u32, bytes: &[u8]) -> Result<T, Lost> {
    serde_json::from_slice(bytes)
        .map_err(|error| Lost { rank: from, why: format!("it sent what cannot be read: {error}") })
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
    fn a_reduction_holds_every_rank_once() {
        for size in [1, 2, 5, 6, 32, 33] {
            let found = on_each(size, |ranks| ranks.all(vec![ranks.rank()], Extend::extend).unwrap());
            for mut all in found {
                all.sort_unstable();
                assert!(all.iter().copied().eq(0..size), "{all:?}");
            }
        }
    }

    #[test]
    fn values_go_round() {
        for shift in 1..5 {
            let found = on_each(5, |ranks| {
                ranks
                    .pass_on((ranks.rank() + shift) % 5, (ranks.rank() + 5 - shift) % 5, &ranks.rank())
                    .unwrap()
            });
            assert!((0..5).all(|rank| found[rank as usize] == (rank + 5 - shift) % 5), "{found:?}");
        }
    }

    #[test]
    fn one_complaint_stops_all_and_everybody_hears_it() {
        let found = on_each(5, |ranks| {
            let mine = if ranks.rank() == 3 { Err("no password".to_owned()) } else { Ok(()) };
            ranks.agree(mine).unwrap_err().to_string()
        });
        assert_eq!(found, vec!["rank 3 (rank3): no password".to_owned(); 5]);
        assert!(on_each(3, |ranks| ranks.agree(Ok(()))).iter().all(Result::is_ok));
    }

    #[test]
    fn another_version_is_told_on_every_rank() {
        let found: Vec<String> = std::thread::scope(|scope| {
            let join = |rank: crate::ThreadRank| {
                let version = if rank.rank() == 2 { "0.9" } else { "1.0" }.to_owned();
                let host = format!("c{}", rank.rank());
                let card = Card { host, version, facts: std::collections::BTreeMap::new() };
                Ranks::join(Box::new(rank), &card).unwrap_err().to_string()
            };
            let started: Vec<_> =
                threads(4).into_iter().map(|rank| scope.spawn(move || join(rank))).collect();
            started.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let wanted = "rank 2 (c2): this is version 0.9, rank 0 has 1.0: install one version everywhere";
        assert_eq!(found, vec![wanted.to_owned(); 4]);
    }

    #[test]
    fn an_instant_is_the_same_for_all() {
        let origin = std::time::Instant::now();
        let found = on_each(4, |ranks| {
            let ahead = 1_000_000_000 * u64::from(ranks.rank());
            let now = || ahead + origin.elapsed().as_nanos() as u64;
            let known = ranks.align(16, &now).unwrap();
            let instant = ranks.common_instant(now(), 1_000_000).unwrap();
            assert_eq!(ranks.own_instant(ranks.common(instant)), instant);
            (instant - ahead, known.error_ns)
        });
        for (instant, error) in &found {
            assert!(instant.abs_diff(found[0].0) <= *error, "{found:?}");
        }
    }
}
