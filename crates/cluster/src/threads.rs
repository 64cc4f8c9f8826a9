//! Ranks as threads of one process: replaces MPI in tests and in dry runs.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::transport::{Alert, Lost, Transport, WaitMode};

/// One rank of [`threads`]; dropping it makes it lost to the others.
#[derive(Debug)]
pub struct ThreadRank {
    rank: u32,
    size: u32,
    mailboxes: Arc<Mailboxes>,
    /// False for a subgroup, whose drop does not end the rank.
    whole: bool,
}

/// The messages of all ranks in transit.
#[derive(Debug)]
struct Mailboxes {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    /// By sender and receiver.
    messages: BTreeMap<(u32, u32), VecDeque<Vec<u8>>>,
    alerts: Vec<Vec<(u32, Alert)>>,
    gone: Vec<bool>,
}

/// Creates `size` ranks, one for each thread.
pub fn threads(size: u32) -> Vec<ThreadRank> {
    let count = size as usize;
    let state =
        State { messages: BTreeMap::new(), alerts: vec![Vec::new(); count], gone: vec![false; count] };
    let mailboxes = Arc::new(Mailboxes { state: Mutex::new(state), changed: Condvar::new() });
    (0..size).map(|rank| ThreadRank { rank, size, mailboxes: Arc::clone(&mailboxes), whole: true }).collect()
}

impl ThreadRank {
    fn state(&self) -> MutexGuard<'_, State> {
        self.mailboxes.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn exited(rank: u32) -> Lost {
    Lost { rank, why: "it has exited".into() }
}

impl Transport for ThreadRank {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn send(&self, to: u32, bytes: &[u8]) -> Result<(), Lost> {
        let mut state = self.state();
        if state.gone[to as usize] {
            return Err(exited(to));
        }
        state.messages.entry((self.rank, to)).or_default().push_back(bytes.to_vec());
        self.mailboxes.changed.notify_all();
        Ok(())
    }

    fn receive(&self, from: u32, _: WaitMode) -> Result<Vec<u8>, Lost> {
        let mut state = self.state();
        loop {
            let message = state.messages.get_mut(&(from, self.rank)).and_then(VecDeque::pop_front);
            if let Some(message) = message {
                return Ok(message);
            }
            if state.gone[from as usize] {
                return Err(exited(from));
            }
            state = self.mailboxes.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn alert(&self, to: u32, alert: Alert) {
        let rank = self.rank;
        self.state().alerts[to as usize].push((rank, alert));
    }

    fn alerts(&self) -> Vec<(u32, Alert)> {
        std::mem::take(&mut self.state().alerts[self.rank as usize])
    }

    /// Shares the mailboxes: while the subgroup uses them, the other ranks send nothing.
    fn subgroup(&self, size: u32) -> Option<Box<dyn Transport>> {
        let view = || Self { rank: self.rank, size, mailboxes: Arc::clone(&self.mailboxes), whole: false };
        (self.rank < size && size <= self.size).then(|| Box::new(view()) as Box<dyn Transport>)
    }
}

impl Drop for ThreadRank {
    fn drop(&mut self) {
        if self.whole {
            let rank = self.rank as usize;
            self.state().gone[rank] = true;
            self.mailboxes.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs `act` on every rank concurrently and returns the results.
    fn on_each<T: Send>(size: u32, act: impl Fn(&ThreadRank) -> T + Sync) -> Vec<T> {
        std::thread::scope(|scope| {
            let act = &act;
            let started: Vec<_> =
                threads(size).into_iter().map(|rank| scope.spawn(move || act(&rank))).collect();
            started.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    #[test]
    fn broadcast_and_gather_reach_every_rank() {
        for size in [1, 2, 3, 6, 17] {
            let results = on_each(size, |rank| {
                let received = rank.broadcast(format!("from {}", rank.rank()).as_bytes()).unwrap();
                rank.barrier().unwrap();
                let all = rank.gather(&rank.rank().to_le_bytes()).unwrap();
                (received, all)
            });
            for (rank, (received, all)) in results.into_iter().enumerate() {
                assert_eq!(received, b"from 0");
                let wanted: Vec<Vec<u8>> = (0..size).map(|rank| rank.to_le_bytes().to_vec()).collect();
                assert_eq!(all, if rank == 0 { wanted } else { Vec::new() });
            }
        }
    }

    #[test]
    fn barrier_reports_a_rank_that_exited() {
        let found = on_each(3, |rank| match rank.rank() {
            1 => Ok(()),
            _ => rank.barrier(),
        });
        assert_eq!(found[0], Err(exited(1)));
    }

    #[test]
    fn alerts_overtake_messages() {
        let mut ranks = threads(2);
        let one = ranks.pop().unwrap();
        let zero = ranks.pop().unwrap();
        zero.send(1, b"later").unwrap();
        zero.alert(1, Alert::Stop);
        assert_eq!(one.alerts(), [(0, Alert::Stop)]);
        assert_eq!((one.alerts(), one.receive(0, WaitMode::Sleep)), (vec![], Ok(b"later".to_vec())));
    }
}
