//! Ranks that are threads of one process: the double of MPI, for tests and for rehearsals.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::transport::{Alert, Lost, Patience, Transport};

/// One rank of [`threads`]; when it is dropped it is lost to the others.
#[derive(Debug)]
pub struct ThreadRank {
    rank: u32,
    size: u32,
    hall: Arc<Hall>,
    /// False for a view of the first few ranks, whose end is not the rank's.
    whole: bool,
}

/// Where all messages lie.
#[derive(Debug)]
struct Hall {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    /// By sender and receiver.
    mail: BTreeMap<(u32, u32), VecDeque<Vec<u8>>>,
    alerts: Vec<Vec<(u32, Alert)>>,
    gone: Vec<bool>,
}

/// So many ranks, to be handed to one thread each.
pub fn threads(size: u32) -> Vec<ThreadRank> {
    let count = size as usize;
    let state = State { mail: BTreeMap::new(), alerts: vec![Vec::new(); count], gone: vec![false; count] };
    let hall = Arc::new(Hall { state: Mutex::new(state), changed: Condvar::new() });
    (0..size).map(|rank| ThreadRank { rank, size, hall: Arc::clone(&hall), whole: true }).collect()
}

impl ThreadRank {
    fn state(&self) -> MutexGuard<'_, State> {
        self.hall.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn ended(rank: u32) -> Lost {
    Lost { rank, why: "it has ended".into() }
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
            return Err(ended(to));
        }
        state.mail.entry((self.rank, to)).or_default().push_back(bytes.to_vec());
        self.hall.changed.notify_all();
        Ok(())
    }

    fn receive(&self, from: u32, _: Patience) -> Result<Vec<u8>, Lost> {
        let mut state = self.state();
        loop {
            let message = state.mail.get_mut(&(from, self.rank)).and_then(VecDeque::pop_front);
            if let Some(message) = message {
                return Ok(message);
            }
            if state.gone[from as usize] {
                return Err(ended(from));
            }
            state = self.hall.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn alert(&self, to: u32, alert: Alert) {
        let rank = self.rank;
        self.state().alerts[to as usize].push((rank, alert));
    }

    fn alerts(&self) -> Vec<(u32, Alert)> {
        std::mem::take(&mut self.state().alerts[self.rank as usize])
    }

    /// The same mailboxes: while the first ranks use them, the others send nothing.
    fn first(&self, size: u32) -> Option<Box<dyn Transport>> {
        let view = || Self { rank: self.rank, size, hall: Arc::clone(&self.hall), whole: false };
        (self.rank < size && size <= self.size).then(|| Box::new(view()) as Box<dyn Transport>)
    }
}

impl Drop for ThreadRank {
    fn drop(&mut self) {
        if self.whole {
            let rank = self.rank as usize;
            self.state().gone[rank] = true;
            self.hall.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs `act` on every rank at once; what each gave.
    fn on_each<T: Send>(size: u32, act: impl Fn(&ThreadRank) -> T + Sync) -> Vec<T> {
        std::thread::scope(|scope| {
            let act = &act;
            let started: Vec<_> =
                threads(size).into_iter().map(|rank| scope.spawn(move || act(&rank))).collect();
            started.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    #[test]
    fn everybody_hears_the_leader_and_the_leader_hears_everybody() {
        for size in [1, 2, 3, 6, 17] {
            let heard = on_each(size, |rank| {
                let told = rank.broadcast(format!("from {}", rank.rank()).as_bytes()).unwrap();
                rank.barrier().unwrap();
                let all = rank.gather(&rank.rank().to_le_bytes()).unwrap();
                (told, all)
            });
            for (rank, (told, all)) in heard.into_iter().enumerate() {
                assert_eq!(told, b"from 0");
                let wanted: Vec<Vec<u8>> = (0..size).map(|rank| rank.to_le_bytes().to_vec()).collect();
                assert_eq!(all, if rank == 0 { wanted } else { Vec::new() });
            }
        }
    }

    #[test]
    fn a_rank_that_ended_is_told_and_waits_for_nobody() {
        let found = on_each(3, |rank| match rank.rank() {
            1 => Ok(()),
            _ => rank.barrier(),
        });
        assert_eq!(found[0], Err(ended(1)));
    }

    #[test]
    fn alerts_pass_by_messages() {
        let mut ranks = threads(2);
        let (one, zero) = (ranks.pop().unwrap(), ranks.pop().unwrap());
        zero.send(1, b"later").unwrap();
        zero.alert(1, Alert::Stop);
        assert_eq!(one.alerts(), [(0, Alert::Stop)]);
        assert_eq!((one.alerts(), one.receive(0, Patience::Nap)), (vec![], Ok(b"later".to_vec())));
    }
}
