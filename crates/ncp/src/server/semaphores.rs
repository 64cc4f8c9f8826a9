//! Semaphores: named counters that connections wait for and signal (docs/protocols/ncp.md 3.3).

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use super::mutex::lock;
use super::state_budget::{ENTRY_BYTES, StateBudget, StateCharge};
use super::volume::VolumeResult;
use super::waiting_requests::WaitingRequests;
use crate::wire::Completion;

/// The largest number of opens of a connection.
const MAX_OPENS: usize = 256;
/// The longest name of a semaphore.
const MAX_NAME: usize = 127;
/// The largest value of a semaphore.
const MAX_VALUE: u8 = 127;

/// A request in the queue of a semaphore.
#[derive(Debug)]
struct QueuedRequest {
    ticket: u64,
    /// True when a signal has given its unit to this request.
    granted: bool,
}

#[derive(Debug)]
struct Semaphore {
    name: Vec<u8>,
    value: u8,
    opens: u32,
    /// Requests in the order of their arrival. A signal goes to the first that has no unit yet, so that a request
    /// that arrives later cannot overtake it.
    queue: VecDeque<QueuedRequest>,
}

impl Semaphore {
    fn waiting(&self) -> usize {
        self.queue.iter().filter(|request| !request.granted).count()
    }

    /// Gives a unit to the first waiting request, or else adds it to the value.
    fn give(&mut self) -> VolumeResult<()> {
        if let Some(first) = self.queue.iter_mut().find(|request| !request.granted) {
            first.granted = true;
        } else if self.value < MAX_VALUE {
            self.value += 1;
        } else {
            return Err(Completion::OutOfDiskSpace);
        }
        Ok(())
    }
}

#[derive(Debug, Default)]
struct Semaphores {
    handles: HashMap<Vec<u8>, u32>,
    all: HashMap<u32, Semaphore>,
    last_handle: u32,
    last_ticket: u64,
}

impl Semaphores {
    fn get(&mut self, handle: u32) -> VolumeResult<&mut Semaphore> {
        self.all.get_mut(&handle).ok_or(Completion::Failure)
    }
}

/// The semaphores of a server.
///
/// A semaphore exists while a connection has it open. Its value never becomes negative here: requests that wait are
/// in its queue, and clients see their number as a negative value.
#[derive(Debug, Default)]
pub struct SemaphoreTable {
    semaphores: Mutex<Semaphores>,
    waiting: Arc<WaitingRequests>,
    budget: StateBudget,
}

fn byte(count: usize) -> u8 {
    u8::try_from(count).unwrap_or(u8::MAX)
}

impl SemaphoreTable {
    /// An empty table; `waiting` is notified of signals.
    pub fn new(waiting: Arc<WaitingRequests>, budget: StateBudget) -> Self {
        Self { waiting, budget, ..Self::default() }
    }

    fn open(&self, name: &[u8], value: u8) -> VolumeResult<(u32, u8)> {
        if name.is_empty() || name.len() > MAX_NAME {
            return Err(Completion::LockTimeout);
        }
        if value > MAX_VALUE {
            return Err(Completion::Failure);
        }
        let mut semaphores = lock(&self.semaphores);
        if let Some(handle) = semaphores.handles.get(name).copied() {
            let semaphore = semaphores.get(handle)?;
            semaphore.opens += 1;
            return Ok((handle, byte(semaphore.opens as usize)));
        }
        // Handles in use are skipped, which ends because the budget allows far fewer semaphores than there are handles.
        loop {
            semaphores.last_handle = semaphores.last_handle.wrapping_add(1).max(1);
            let handle = semaphores.last_handle;
            if !semaphores.all.contains_key(&handle) {
                let name = name.to_vec();
                semaphores.handles.insert(name.clone(), handle);
                let queue = VecDeque::new();
                semaphores.all.insert(handle, Semaphore { name, value, opens: 1, queue });
                return Ok((handle, 1));
            }
        }
    }

    /// Returns the number of opens that are left.
    fn close(&self, handle: u32) -> u8 {
        let mut semaphores = lock(&self.semaphores);
        let Ok(semaphore) = semaphores.get(handle) else { return 0 };
        semaphore.opens = semaphore.opens.saturating_sub(1);
        let left = semaphore.opens;
        if left == 0 {
            let name = std::mem::take(&mut semaphore.name);
            semaphores.all.remove(&handle);
            semaphores.handles.remove(&name);
        }
        byte(left as usize)
    }

    /// True when there is no semaphore.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        let semaphores = lock(&self.semaphores);
        semaphores.all.is_empty() && semaphores.handles.is_empty()
    }
}

/// The place of a request in the queue of a semaphore. Dropping it leaves the queue; a unit that the request was given
/// and did not take goes to the next.
#[derive(Debug)]
pub struct SemaphoreTicket {
    table: Arc<SemaphoreTable>,
    handle: u32,
    ticket: u64,
}

impl SemaphoreTicket {
    /// Takes the unit that a signal has given to this request; false while there is none.
    pub fn take(&self) -> bool {
        let mut semaphores = lock(&self.table.semaphores);
        let Ok(semaphore) = semaphores.get(self.handle) else { return false };
        let own = |request: &QueuedRequest| request.ticket == self.ticket && request.granted;
        let Some(at) = semaphore.queue.iter().position(own) else { return false };
        semaphore.queue.remove(at);
        true
    }
}

impl Drop for SemaphoreTicket {
    fn drop(&mut self) {
        let mut semaphores = lock(&self.table.semaphores);
        let Ok(semaphore) = semaphores.get(self.handle) else { return };
        let Some(at) = semaphore.queue.iter().position(|request| request.ticket == self.ticket) else {
            return;
        };
        let left = semaphore.queue.remove(at);
        if left.is_some_and(|request| request.granted) {
            // The value was below the largest when the unit was given.
            let _ = semaphore.give();
            drop(semaphores);
            self.table.waiting.notify();
        }
    }
}

/// The semaphores that one connection has open, at most 256 opens. Dropping the connection closes all of
/// them, which signals none.
#[derive(Debug)]
pub struct SemaphoreHandles {
    table: Arc<SemaphoreTable>,
    /// Handle and task of each open, which is charged as if it had created the semaphore.
    open: Vec<(u32, u8, StateCharge)>,
}

impl SemaphoreHandles {
    /// No semaphores.
    pub const fn new(table: Arc<SemaphoreTable>) -> Self {
        Self { table, open: Vec::new() }
    }

    /// Opens a semaphore, which is created with a value if it does not exist; returns its handle and the number of
    /// opens.
    pub fn open(&mut self, name: &[u8], value: u8, task: u8) -> VolumeResult<(u32, u8)> {
        if self.open.len() >= MAX_OPENS {
            return Err(Completion::ServerOutOfMemory);
        }
        let bytes = size_of::<Semaphore>() + 4 * ENTRY_BYTES + 2 * name.len().min(MAX_NAME);
        let charge = self.table.budget.charge(bytes).ok_or(Completion::ServerOutOfMemory)?;
        let (handle, opens) = self.table.open(name, value)?;
        self.open.push((handle, task, charge));
        Ok((handle, opens))
    }

    /// Fails with [`Completion::Failure`] unless this connection has the semaphore open.
    fn check(&self, handle: u32) -> VolumeResult<()> {
        let known = self.open.iter().any(|(known, ..)| *known == handle);
        if known { Ok(()) } else { Err(Completion::Failure) }
    }

    /// The value of a semaphore, negative while requests wait, in two's complement, and the number of opens.
    pub fn examine(&self, handle: u32) -> VolumeResult<(u8, u8)> {
        self.check(handle)?;
        let mut semaphores = lock(&self.table.semaphores);
        let semaphore = semaphores.get(handle)?;
        let waiting = semaphore.waiting().min(128) as u8;
        Ok((semaphore.value.wrapping_sub(waiting), byte(semaphore.opens as usize)))
    }

    /// Decrements a semaphore; false when its value is 0.
    pub fn take(&self, handle: u32) -> VolumeResult<bool> {
        self.check(handle)?;
        let mut semaphores = lock(&self.table.semaphores);
        let semaphore = semaphores.get(handle)?;
        let taken = semaphore.value.checked_sub(1);
        semaphore.value = taken.unwrap_or(0);
        Ok(taken.is_some())
    }

    /// Enters the queue of a semaphore.
    pub fn enqueue(&self, handle: u32) -> VolumeResult<SemaphoreTicket> {
        self.check(handle)?;
        let mut semaphores = lock(&self.table.semaphores);
        semaphores.last_ticket += 1;
        let ticket = semaphores.last_ticket;
        semaphores.get(handle)?.queue.push_back(QueuedRequest { ticket, granted: false });
        Ok(SemaphoreTicket { table: Arc::clone(&self.table), handle, ticket })
    }

    /// Increments a semaphore, or lets the first waiting request continue.
    pub fn signal(&self, handle: u32) -> VolumeResult<()> {
        self.check(handle)?;
        lock(&self.table.semaphores).get(handle)?.give()?;
        self.table.waiting.notify();
        Ok(())
    }

    /// Closes a semaphore once. Returns the number of opens that are left.
    pub fn close(&mut self, handle: u32) -> VolumeResult<u8> {
        let at = self.open.iter().position(|(known, ..)| *known == handle).ok_or(Completion::Failure)?;
        self.open.remove(at);
        Ok(self.table.close(handle))
    }

    /// Closes the semaphores that a task has opened.
    pub fn end_task(&mut self, task: u8) {
        self.close_those(|opener| opener == task);
    }

    /// Closes all semaphores.
    pub fn clear(&mut self) {
        self.close_those(|_| true);
    }

    fn close_those(&mut self, those: impl Fn(u8) -> bool) {
        let table = &self.table;
        self.open.retain(|(handle, task, _)| {
            if those(*task) {
                table.close(*handle);
            }
            !those(*task)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn semaphore_exists_while_it_is_open_and_its_value_is_bounded() {
        let table = Arc::new(SemaphoreTable::default());
        let mut one = SemaphoreHandles::new(Arc::clone(&table));
        let mut other = SemaphoreHandles::new(Arc::clone(&table));
        let (handle, opens) = one.open(b"S", 1, 1).unwrap();
        assert_eq!((opens, other.open(b"S", 9, 1)), (1, Ok((handle, 2))));
        assert_eq!(one.examine(handle), Ok((1, 2)), "the value of the first open");
        assert_eq!((one.take(handle), other.take(handle)), (Ok(true), Ok(false)));
        assert_eq!(other.signal(handle), Ok(()));
        assert_eq!(one.close(handle), Ok(1));
        assert_eq!(
            (one.examine(handle), one.close(handle)),
            (Err(Completion::Failure), Err(Completion::Failure))
        );
        other.end_task(2);
        assert_eq!(other.examine(handle), Ok((1, 1)));
        other.end_task(1);
        assert!(table.is_empty());
        let (handle, _) = one.open(b"S", MAX_VALUE, 1).unwrap();
        assert_eq!(one.signal(handle), Err(Completion::OutOfDiskSpace));
        assert_eq!(one.open(b"T", MAX_VALUE + 1, 1), Err(Completion::Failure));
        assert_eq!(one.open(&[b'A'; MAX_NAME + 1], 0, 1), Err(Completion::LockTimeout));
        for _ in 1..MAX_OPENS {
            one.open(b"S", 0, 1).unwrap();
        }
        assert_eq!(one.examine(handle), Ok((127, 255)));
        assert_eq!(one.open(b"S", 0, 1), Err(Completion::ServerOutOfMemory));
        one.clear();
        assert!(table.is_empty());
    }

    #[test]
    fn signals_go_to_waiting_requests_in_order_and_a_ticket_that_is_dropped_passes_its_unit_on() {
        let table = Arc::new(SemaphoreTable::default());
        let mut one = SemaphoreHandles::new(Arc::clone(&table));
        let (handle, _) = one.open(b"S", 0, 1).unwrap();
        let first = one.enqueue(handle).unwrap();
        let second = one.enqueue(handle).unwrap();
        let third = one.enqueue(handle).unwrap();
        assert_eq!(one.examine(handle), Ok((0_u8.wrapping_sub(3), 1)));
        one.signal(handle).unwrap();
        assert_eq!((one.examine(handle), one.take(handle)), (Ok((0_u8.wrapping_sub(2), 1)), Ok(false)));
        assert!(!second.take() && first.take() && !first.take());
        drop(first);
        one.signal(handle).unwrap();
        drop(second);
        assert!(third.take());
        drop(third);
        assert_eq!(one.examine(handle), Ok((0, 1)));
        let last = one.enqueue(handle).unwrap();
        one.signal(handle).unwrap();
        drop(last);
        assert_eq!(one.examine(handle), Ok((1, 1)), "nobody waits");
    }
}
