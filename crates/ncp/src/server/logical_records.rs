//! Logical records: names that connections lock by agreement (docs/protocols/ncp.md 3.3).

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::lock;
use super::lock_tables::WaitingRequests;
use super::open_files::OwnerId;
use super::state_budget::{ENTRY_BYTES, StateBudget, StateCharge};
use super::volume::VolumeResult;
use crate::wire::Completion;

/// The largest number of logged names of a connection.
const MAX_LOGGED: usize = 256;
/// The longest name of a logical record.
const MAX_NAME: usize = 127;

/// The lock of one connection on a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Holder {
    owner: OwnerId,
    shared: bool,
}

/// The locked logical records of a server.
///
/// It has every locked name with the connections that hold it: one of them, or several that share it. A name exists
/// only while it is locked. The names mean nothing to the server: a lock denies no access to any file.
#[derive(Debug, Default)]
pub struct LogicalRecordTable {
    names: Mutex<HashMap<Vec<u8>, Vec<Holder>>>,
    waiting: Arc<WaitingRequests>,
    budget: StateBudget,
}

impl LogicalRecordTable {
    /// An empty table; `waiting` is notified of released locks.
    pub fn new(waiting: Arc<WaitingRequests>, budget: StateBudget) -> Self {
        Self { waiting, budget, ..Self::default() }
    }

    /// Locks all names or none; returns false when another connection holds a conflicting lock.
    fn lock(&self, wanted: &[&[u8]], holder: Holder) -> bool {
        let mut names = lock(&self.names);
        let bars = |other: &Holder| other.owner != holder.owner && !(other.shared && holder.shared);
        if wanted.iter().any(|name| names.get(*name).is_some_and(|holders| holders.iter().any(bars))) {
            return false;
        }
        for name in wanted {
            let holders = names.entry(name.to_vec()).or_default();
            match holders.iter_mut().find(|known| known.owner == holder.owner) {
                Some(known) => *known = holder,
                None => holders.push(holder),
            }
        }
        drop(names);
        // An exclusive lock may have become a shared one.
        if holder.shared {
            self.waiting.notify();
        }
        true
    }

    fn unlock(&self, name: &[u8], owner: OwnerId) {
        let mut names = lock(&self.names);
        if let Some(holders) = names.get_mut(name) {
            holders.retain(|holder| holder.owner != owner);
            if holders.is_empty() {
                names.remove(name);
            }
        }
        drop(names);
        self.waiting.notify();
    }

    /// True when no name is locked.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        lock(&self.names).is_empty()
    }
}

/// The logical records that a request locks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogicalTarget {
    /// One name, logged by a task.
    Name(Vec<u8>, u8),
    /// All names that a task has logged.
    Set(u8),
}

#[derive(Debug)]
struct LoggedName {
    name: Vec<u8>,
    task: u8,
    /// Whether the lock on it is shared, if it is locked.
    held: Option<bool>,
    /// That of the name here and in the table of locked names.
    _charge: StateCharge,
}

/// The logical records that one connection has logged, at most 256, and the locks that it holds on them. Dropping
/// the connection releases all of them.
#[derive(Debug)]
pub struct LogicalRecordLog {
    table: Arc<LogicalRecordTable>,
    owner: OwnerId,
    logged: Vec<LoggedName>,
}

impl LogicalRecordLog {
    /// An empty log of a new connection.
    pub const fn new(table: Arc<LogicalRecordTable>, owner: OwnerId) -> Self {
        Self { table, owner, logged: Vec::new() }
    }

    /// Logs a name.
    pub fn log(&mut self, name: &[u8], task: u8) -> VolumeResult<()> {
        if name.is_empty() || name.len() > MAX_NAME {
            return Err(Completion::Failure);
        }
        if self.find(name).is_some() {
            return Ok(());
        }
        if self.logged.len() >= MAX_LOGGED {
            return Err(Completion::ServerOutOfMemory);
        }
        let bytes = size_of::<LoggedName>() + 3 * ENTRY_BYTES + 2 * name.len();
        let charge = self.table.budget.charge(bytes).ok_or(Completion::ServerOutOfMemory)?;
        self.logged.push(LoggedName { name: name.to_vec(), task, held: None, _charge: charge });
        Ok(())
    }

    fn find(&self, name: &[u8]) -> Option<usize> {
        self.logged.iter().position(|known| known.name == name)
    }

    /// Locks a name or a set; false when another connection holds a conflicting lock. Existing locks then stay, and a
    /// name that was not logged before is not logged.
    pub fn lock(&mut self, target: &LogicalTarget, shared: bool) -> VolumeResult<bool> {
        let before = self.logged.len();
        if let LogicalTarget::Name(name, task) = target {
            self.log(name, *task)?;
        }
        let wants = |logged: &LoggedName| match target {
            LogicalTarget::Name(name, _) => logged.name == *name,
            LogicalTarget::Set(task) => logged.task == *task,
        };
        let wanted: Vec<&[u8]> =
            self.logged.iter().filter(|logged| wants(logged)).map(|logged| logged.name.as_slice()).collect();
        if !self.table.lock(&wanted, Holder { owner: self.owner, shared }) {
            // A name that could not be locked must not stay logged, or a later request for the set would lock it.
            self.logged.truncate(before);
            return Ok(false);
        }
        for logged in self.logged.iter_mut().filter(|logged| wants(logged)) {
            logged.held = Some(shared);
        }
        Ok(true)
    }

    /// Unlocks a name; `forget` also removes it from the log. Fails with [`Completion::Failure`] if it is not logged.
    pub fn release(&mut self, name: &[u8], forget: bool) -> VolumeResult<()> {
        self.find(name).ok_or(Completion::Failure)?;
        self.release_those(|logged| logged.name == name, forget);
        Ok(())
    }

    /// Unlocks all names of a task; `forget` also removes them from the log.
    pub fn release_set(&mut self, task: u8, forget: bool) {
        self.release_those(|logged| logged.task == task, forget);
    }

    /// Releases all names.
    pub fn clear(&mut self) {
        self.release_those(|_| true, true);
    }

    fn release_those(&mut self, those: impl Fn(&LoggedName) -> bool, forget: bool) {
        for logged in self.logged.iter_mut().filter(|logged| those(logged)) {
            if logged.held.take().is_some() {
                self.table.unlock(&logged.name, self.owner);
            }
        }
        if forget {
            self.logged.retain(|logged| !those(logged));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> LogicalTarget {
        LogicalTarget::Name(text.into(), 1)
    }

    #[test]
    fn locks_on_names_exclude_others_and_sets_are_atomic() {
        let table = Arc::new(LogicalRecordTable::default());
        let mut one = LogicalRecordLog::new(Arc::clone(&table), 1);
        let mut other = LogicalRecordLog::new(Arc::clone(&table), 2);
        assert_eq!(one.lock(&name("A"), false), Ok(true));
        assert_eq!(one.lock(&name("A"), false), Ok(true), "its own");
        assert_eq!((other.lock(&name("A"), true), other.logged.len()), (Ok(false), 0));
        assert_eq!(other.lock(&name("a"), false), Ok(true), "case matters");
        assert_eq!(one.lock(&name("A"), true), Ok(true), "made shared");
        assert_eq!(other.lock(&name("A"), true), Ok(true));
        one.log(b"B", 1).unwrap();
        assert_eq!(one.lock(&LogicalTarget::Set(1), false), Ok(false));
        assert_eq!(other.lock(&name("B"), false), Ok(true), "the set locked nothing");
        other.clear();
        assert_eq!(one.lock(&LogicalTarget::Set(1), false), Ok(true));
        assert_eq!(other.lock(&name("B"), false), Ok(false));
        one.release_set(2, true);
        assert_eq!(other.lock(&name("B"), false), Ok(false), "another task");
        one.release(b"B", false).unwrap();
        assert_eq!(other.lock(&name("B"), false), Ok(true));
        assert_eq!(one.release(b"C", true), Err(Completion::Failure));
        one.clear();
        other.clear();
        assert!(table.is_empty());
    }

    #[test]
    fn names_are_bounded() {
        let table = Arc::new(LogicalRecordTable::default());
        let mut one = LogicalRecordLog::new(Arc::clone(&table), 1);
        for invalid in [&b""[..], &[b'A'; MAX_NAME + 1]] {
            assert_eq!(one.log(invalid, 1), Err(Completion::Failure));
        }
        for number in 0..MAX_LOGGED {
            one.log(format!("{number}").as_bytes(), 1).unwrap();
        }
        assert_eq!(one.lock(&name("more"), false), Err(Completion::ServerOutOfMemory));
        assert_eq!(one.lock(&name("7"), false), Ok(true));
        one.clear();
        assert_eq!(table.budget.used(), 0);
        let small = LogicalRecordTable::new(Arc::default(), StateBudget::new(1000, || {}));
        let mut other = LogicalRecordLog::new(Arc::new(small), 2);
        assert_eq!(other.log(b"A", 1), Ok(()));
        assert!((0..10u8).any(|name| other.log(&[name], 1) == Err(Completion::ServerOutOfMemory)));
    }
}
