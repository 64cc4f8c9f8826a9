//! What a connection of SMB1 has: users, trees, open files and searches by their 16-bit numbers, and signatures.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sharebench_smb::nt1::session::capability;
use sharebench_smb::{NtStatus, NtlmAcceptor};

use super::signatures::Signatures;
use crate::NodeId;
use crate::front_ends::state_budget::{ENTRY_BYTES, StateBudget, StateCharge};
use crate::smb::files::open_file::OpenFile;
use crate::smb::names::listing_state::ListingState;
use crate::smb::session::established::{Session, Tree};
use crate::smb::state::ServerState;
use crate::smb::status::Outcome;

/// Maximum numbers of users, with those that are logging in, of trees, of open files and of searches of a connection.
const MAX_USERS: usize = 1024;
const MAX_TREES: usize = 1024;
const MAX_FILES: usize = 0xF000;
const MAX_SEARCHES: usize = 1024;
/// The smallest message that every client accepts, in bytes (MS-CIFS 2.2.4.53.1).
const MIN_BUFFER: u32 = 1024;

/// A user of a connection.
pub(super) enum User {
    /// A login that has received its challenge.
    Login(Box<PendingLogin>),
    /// With the login that renews the session, after its challenge.
    Session(Arc<Session>, Option<Box<PendingLogin>>),
}

/// A login that has begun.
pub(super) struct PendingLogin {
    pub(super) acceptor: NtlmAcceptor,
    pub(super) _charge: StateCharge,
}

/// A file that a client has opened.
#[derive(Clone)]
pub(super) struct OpenedFile {
    pub(super) open: Arc<OpenFile>,
    /// First byte of the last range that was not granted, which decides on the status of the next one (MS-CIFS 3.3.5.30).
    pub(super) refused: Arc<Mutex<Option<u64>>>,
    pub(super) uid: u16,
    pub(super) tid: u16,
    /// The process of the client that has opened it.
    pub(super) process: u16,
}

/// A search: a listing of a directory in progress.
pub(super) struct Search {
    pub(super) uid: u16,
    pub(super) tid: u16,
    pub(super) directory: NodeId,
    pub(super) pattern: String,
    /// Entries with one of these attributes are left out.
    pub(super) excluded: u32,
    pub(super) progress: Mutex<SearchProgress>,
    pub(super) _charge: StateCharge,
}

/// How far a search has come.
#[derive(Debug, Default)]
pub(super) struct SearchProgress {
    pub(super) listing: ListingState,
    /// The last name that the client has received.
    pub(super) last_name: String,
}

/// Things by 16-bit numbers. Neither 0 nor 0xFFFF is one.
pub(super) struct Numbered<T> {
    last: u16,
    all: HashMap<u16, T>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self { last: 0, all: HashMap::new() }
    }
}

impl<T> Numbered<T> {
    /// Adds a thing under a free number, up to a limit.
    pub(super) fn add(&mut self, thing: T, max: usize) -> Outcome<u16> {
        if self.all.len() >= max {
            return Err(NtStatus::INSUFFICIENT_RESOURCES);
        }
        loop {
            self.last = self.last % (u16::MAX - 1) + 1;
            if !self.all.contains_key(&self.last) {
                self.all.insert(self.last, thing);
                return Ok(self.last);
            }
        }
    }

    pub(super) fn get(&self, number: u16) -> Option<&T> {
        self.all.get(&number)
    }

    pub(super) fn remove(&mut self, number: u16) -> Option<T> {
        self.all.remove(&number)
    }

    /// Replaces what has a number, or gives the number to it.
    pub(super) fn set(&mut self, number: u16, thing: T) {
        self.all.insert(number, thing);
    }

    fn take_if(&mut self, wanted: impl Fn(&T) -> bool) -> Vec<T> {
        self.all.extract_if(|_, thing| wanted(thing)).map(|(_, thing)| thing).collect()
    }
}

#[derive(Default)]
pub(super) struct Table {
    closed: bool,
    pub(super) users: Numbered<User>,
    /// The kind of each tree. A tree belongs to the connection, so that all of its users may use it (MS-CIFS 3.3.1.6).
    pub(super) trees: Numbered<(Tree, StateCharge)>,
    pub(super) files: Numbered<OpenedFile>,
    pub(super) searches: Numbered<Arc<Search>>,
}

impl Table {
    pub(super) fn add_user(&mut self, user: User) -> Outcome<u16> {
        self.users.add(user, MAX_USERS)
    }

    pub(super) fn add_tree(&mut self, tree: Tree, budget: &StateBudget) -> Outcome<u16> {
        let charge = budget.charge(2 * ENTRY_BYTES).ok_or(NtStatus::INSUFFICIENT_RESOURCES)?;
        self.trees.add((tree, charge), MAX_TREES)
    }

    /// Adds an open file, unless the connection has ended or its user or tree is gone.
    pub(super) fn add_file(&mut self, file: OpenedFile) -> Outcome<u16> {
        let belongs =
            matches!(self.users.get(file.uid), Some(User::Session(..))) && self.trees.get(file.tid).is_some();
        if self.closed || !belongs {
            return Err(NtStatus::SMB_TOO_MANY_UIDS_OR_BAD_UID);
        }
        self.files.add(file, MAX_FILES)
    }

    pub(super) fn add_search(&mut self, search: Arc<Search>) -> Outcome<u16> {
        self.searches.add(search, MAX_SEARCHES)
    }

    /// Removes a user with its searches, and returns its open files.
    pub(super) fn remove_user(&mut self, uid: u16) -> Vec<OpenedFile> {
        self.users.remove(uid);
        drop(self.searches.take_if(|search| search.uid == uid));
        self.files.take_if(|file| file.uid == uid)
    }

    /// Removes what a process of a user has open, and returns it.
    pub(super) fn remove_process(&mut self, uid: u16, process: u16) -> Vec<OpenedFile> {
        self.files.take_if(|file| (file.uid, file.process) == (uid, process))
    }

    /// The open files of a user.
    pub(super) fn files_of(&self, uid: u16) -> Vec<OpenedFile> {
        self.files.all.values().filter(|file| file.uid == uid).cloned().collect()
    }

    /// Removes a tree with its searches, and returns its open files.
    pub(super) fn remove_tree(&mut self, tid: u16) -> Outcome<Vec<OpenedFile>> {
        self.trees.remove(tid).ok_or(NtStatus::SMB_BAD_TID)?;
        drop(self.searches.take_if(|search| search.tid == tid));
        Ok(self.files.take_if(|file| file.tid == tid))
    }
}

/// What a connection of SMB1 has from NEGOTIATE to its end.
///
/// Several messages of a connection may be processed at the same time; the lock is held for lookups only.
#[derive(Default)]
pub(in crate::smb) struct Smb1State {
    table: Mutex<Table>,
    pub(in crate::smb) signatures: Arc<Signatures>,
    /// The largest message that the client accepts, in bytes.
    max_buffer: AtomicU32,
    /// See [`capability`], of the client.
    capabilities: AtomicU32,
}

impl Smb1State {
    pub(super) fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what a client states of itself when it logs in.
    pub(super) fn note_client(&self, max_buffer: u16, capabilities: u32) {
        self.max_buffer.store(u32::from(max_buffer), Ordering::Relaxed);
        self.capabilities.store(capabilities, Ordering::Relaxed);
    }

    /// True if the client knows oplocks of level II.
    pub(super) fn knows_level_2(&self) -> bool {
        self.capabilities.load(Ordering::Relaxed) & capability::LEVEL_II_OPLOCKS != 0
    }

    /// The largest message that the client accepts, in bytes.
    pub(super) fn max_buffer(&self) -> usize {
        self.max_buffer.load(Ordering::Relaxed).max(MIN_BUFFER) as usize
    }

    /// Closes everything that the client has open.
    pub(in crate::smb) fn close(&self, server: &ServerState) {
        let files = {
            let mut table = self.table();
            table.closed = true;
            drop(table.users.take_if(|_| true));
            drop(table.searches.take_if(|_| true));
            table.files.take_if(|_| true)
        };
        close_files(server, files);
    }
}

/// Closes files that a client has left open.
pub(super) fn close_files(server: &ServerState, files: Vec<OpenedFile>) {
    for file in files {
        file.open.end_writes(server.volume.as_ref());
        server.files.close(&file.open, server.volume.as_ref());
    }
}
