//! The state of one connection on the server: login, handles, open files, searches and the last reply.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::connection_table::ConnectionSlot;
use super::lock_tables::LockTables;
use super::peer::LoginSource;
use super::pending_lock::PendingLock;
use super::record_log::RecordLog;
use super::semaphores::SemaphoreHandles;
use super::server_burst::ServerBurst;
use super::state_budget::{ENTRY_BYTES, StateCharge};
use super::volume::VolumeNode;
use super::waiting_requests::WaitingRequests;
use crate::security::signature::Signer;
use crate::wire::dos::access;
use crate::wire::negotiate::Security;
use crate::wire::server_info::DateAndTime;
use crate::wire::{Completion, ShortHandle};

/// The largest number of open files of a connection.
const MAX_FILES: usize = 1024;
/// The largest number of search positions that a connection can resume; a new one replaces the oldest.
const MAX_POSITIONS: usize = 256;
/// The largest number of classic searches of a connection; a new one replaces the oldest.
const MAX_SEARCHES: usize = 64;
/// Bytes of a connection without tables, with what the server has of it.
const CONNECTION_BYTES: usize = size_of::<ConnectionSlot>() + 4 * ENTRY_BYTES;
/// Bytes of an open file, with what is kept of its node.
const FILE_BYTES: usize = size_of::<OpenFile>() + 256;
/// Data bytes per call before negotiation (docs/protocols/ncp.md 2.2).
const DEFAULT_BUFFER: u16 = 512;

/// An open file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFile {
    /// The file.
    pub place: VolumeNode,
    /// Access bits of the open: see [`access`].
    pub access: u16,
    /// Task that opened it.
    pub task: u8,
}

impl OpenFile {
    /// True when all of these access bits are set.
    pub const fn has(self, bits: u16) -> bool {
        self.access & bits == bits
    }

    /// True when written data must be on disk before the reply.
    pub const fn is_through(self) -> bool {
        self.has(access::WRITE_THROUGH)
    }
}

/// A connection.
///
/// It owns everything that a client has opened or negotiated: login, signature chain, burst connection, handles,
/// files, searches and locks. Dropping it releases its share modes and locks, however the connection ends. Every
/// table is bounded, because clients determine what goes into it.
///
/// `last` and `last_answer` are the duplicate memory: a request with the sequence number of the last one is answered
/// from it and not executed again (docs/protocols/ncp.md 1.4).
#[derive(Debug)]
pub struct Connection {
    /// Connection number.
    pub number: u16,
    /// The machine of the client.
    pub source: LoginSource,
    /// Sequence number of the last executed request.
    pub last: Option<u8>,
    /// The last reply, on datagrams.
    pub last_answer: Vec<u8>,
    /// Data bytes per call.
    pub buffer: u16,
    /// Features that 0x61 enabled.
    pub security: Security,
    /// Key of a login that has begun.
    pub key: Option<[u8; 8]>,
    /// Index of the logged-in user.
    pub user: Option<usize>,
    /// Time of the last login.
    pub login_time: DateAndTime,
    /// Packet burst, if negotiated.
    pub burst: Option<ServerBurst>,
    /// True when packets must have IPX checksums.
    pub checks: bool,
    /// True when the client has destroyed the connection.
    pub ended: bool,
    /// Signature chain, from the first request after the login on.
    pub signer: Option<Signer>,
    /// The lock that the last request waits for.
    pub wait: Option<PendingLock>,
    /// Logged and locked byte ranges of open files, and whole files.
    pub records: RecordLog,
    /// Open semaphores.
    pub semaphores: SemaphoreHandles,
    /// The waiting requests of all connections.
    pub waiting: Arc<WaitingRequests>,
    files: BTreeMap<u32, OpenFile>,
    next_file: u32,
    handles: BTreeMap<u8, (VolumeNode, Option<u8>)>,
    searches: Vec<VolumeNode>,
    next_search: usize,
    positions: VecDeque<(u16, SearchPosition)>,
    next_position: u16,
    charge: StateCharge,
}

/// The position of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchPosition {
    /// The directory.
    pub directory: VolumeNode,
    /// Cookie of the volume.
    pub cookie: u64,
}

impl Connection {
    /// Creates a connection that nobody has logged in to; none if there is no memory for it.
    pub fn new(number: u16, source: LoginSource, locks: &LockTables) -> Option<Self> {
        let charge = locks.budget.charge(CONNECTION_BYTES)?;
        let records = RecordLog::new(Arc::clone(&locks.open_files));
        Some(Self {
            number,
            source,
            last: None,
            last_answer: Vec::new(),
            buffer: DEFAULT_BUFFER,
            security: Security(0),
            key: None,
            user: None,
            login_time: DateAndTime::default(),
            burst: None,
            checks: false,
            ended: false,
            signer: None,
            wait: None,
            records,
            semaphores: SemaphoreHandles::new(Arc::clone(&locks.semaphores)),
            waiting: Arc::clone(&locks.waiting),
            files: BTreeMap::new(),
            next_file: 0,
            handles: BTreeMap::new(),
            searches: Vec::new(),
            next_search: 0,
            positions: VecDeque::new(),
            next_position: 0,
            charge,
        })
    }

    /// Bytes of the tables and of the last reply, without what is locked.
    fn bytes(&self) -> usize {
        let files = self.files.len() * FILE_BYTES;
        let handles = self.handles.len() * (2 * size_of::<(VolumeNode, Option<u8>)>() + 8);
        let searches = self.searches.len() * 2 * size_of::<VolumeNode>();
        let positions = self.positions.len() * 2 * size_of::<(u16, SearchPosition)>();
        let burst = self.burst.as_ref().map_or(0, ServerBurst::bytes);
        CONNECTION_BYTES + files + handles + searches + positions + burst + self.last_answer.capacity()
    }

    /// Charges what there is and `more` bytes; false if the budget has less. With 0 it returns what is no longer needed.
    pub fn charge(&mut self, more: usize) -> bool {
        self.charge.resize(self.bytes() + more)
    }

    /// Fails when no more files can be opened.
    pub fn check_file_limit(&self) -> Result<(), Completion> {
        if self.files.len() < MAX_FILES { Ok(()) } else { Err(Completion::NoFileHandles) }
    }

    /// Stores an open file and returns a handle that is not zero; fails with [`Completion::FileInUse`] when its
    /// access conflicts with another open.
    pub fn add_file(&mut self, file: OpenFile) -> Result<ShortHandle, Completion> {
        self.check_file_limit()?;
        if !self.charge(FILE_BYTES) {
            return Err(Completion::ServerOutOfMemory);
        }
        self.records.open_files().open(file.place, self.records.owner(), file.access)?;
        loop {
            // Any handle but zero is valid (docs/protocols/ncp.md 3.1). Numbers in use are skipped,
            // which ends because of `MAX_FILES`.
            self.next_file = self.next_file.wrapping_add(1).max(1);
            if let std::collections::btree_map::Entry::Vacant(slot) = self.files.entry(self.next_file) {
                slot.insert(file);
                return Ok(ShortHandle(self.next_file.to_le_bytes()));
            }
        }
    }

    /// The open file of a handle.
    pub fn file(&self, handle: ShortHandle) -> Result<OpenFile, Completion> {
        let file = self.files.get(&u32::from_le_bytes(handle.0));
        file.copied().ok_or(Completion::InvalidFileHandle)
    }

    /// Closes a file.
    pub fn close(&mut self, handle: ShortHandle) -> Result<(), Completion> {
        let number = u32::from_le_bytes(handle.0);
        let file = self.files.remove(&number).ok_or(Completion::InvalidFileHandle)?;
        self.closed(number, file);
        Ok(())
    }

    /// Releases the locks and share modes of a closed file.
    fn closed(&mut self, number: u32, file: OpenFile) {
        self.records.close(number);
        self.records.open_files().close(file.place, self.records.owner(), file.access);
    }

    /// Closes all files that match.
    fn close_those(&mut self, those: impl Fn(&OpenFile) -> bool) {
        let numbers: Vec<u32> =
            self.files.iter().filter(|(_, file)| those(file)).map(|(number, _)| *number).collect();
        for number in numbers {
            if let Some(file) = self.files.remove(&number) {
                self.closed(number, file);
            }
        }
    }

    /// Allocates a directory handle, for one task or until it is freed.
    pub fn add_handle(&mut self, directory: VolumeNode, task: Option<u8>) -> Result<u8, Completion> {
        let free = (1..=u8::MAX).find(|handle| !self.handles.contains_key(handle));
        let handle = free.filter(|_| self.charge(ENTRY_BYTES)).ok_or(Completion::NoDirectoryHandles)?;
        self.handles.insert(handle, (directory, task));
        Ok(handle)
    }

    /// The directory of a handle.
    pub fn handle(&self, handle: u8) -> Result<VolumeNode, Completion> {
        let found = self.handles.get(&handle);
        found.map(|(directory, _)| *directory).ok_or(Completion::BadDirectoryHandle)
    }

    /// Assigns another directory to a handle.
    pub fn set_handle(&mut self, handle: u8, directory: VolumeNode) -> Result<(), Completion> {
        let (place, _) = self.handles.get_mut(&handle).ok_or(Completion::BadDirectoryHandle)?;
        *place = directory;
        Ok(())
    }

    /// Frees a directory handle.
    pub fn free_handle(&mut self, handle: u8) -> Result<(), Completion> {
        self.handles.remove(&handle).map(|_| ()).ok_or(Completion::BadDirectoryHandle)
    }

    /// Stores the directory of a search by 0x3E and returns its two-byte id.
    pub fn add_search(&mut self, directory: VolumeNode) -> [u8; 2] {
        // A ring: the client states no end of a search, so old ones are replaced instead of refused.
        let full = self.searches.len() >= MAX_SEARCHES || !self.charge(ENTRY_BYTES);
        let max = if full { self.searches.len().max(1) } else { MAX_SEARCHES };
        let id = self.next_search % max;
        self.next_search = id + 1;
        if let Some(place) = self.searches.get_mut(id) {
            *place = directory;
        } else {
            self.searches.push(directory);
        }
        (id as u16).to_be_bytes()
    }

    /// The directory of a search.
    pub fn search(&self, id: [u8; 2]) -> Result<VolumeNode, Completion> {
        let found = self.searches.get(usize::from(u16::from_be_bytes(id)));
        found.copied().ok_or(Completion::BadDirectoryHandle)
    }

    /// Stores the position of a search and returns its number, never 0 or FFFF.
    pub fn add_position(&mut self, position: SearchPosition) -> u16 {
        // FFFF means the start of a search (docs/protocols/ncp.md 3.2).
        self.next_position = self.next_position % (u16::MAX - 1) + 1;
        if self.positions.len() >= MAX_POSITIONS || !self.charge(2 * ENTRY_BYTES) {
            self.positions.pop_front();
        }
        self.positions.push_back((self.next_position, position));
        self.next_position
    }

    /// The cookie at which a search continues. A forgotten position is an error, because it must not look like the
    /// end of the directory.
    pub fn position(&self, number: u16, directory: VolumeNode) -> Result<u64, Completion> {
        let mut kept = self.positions.iter().rev();
        let found = kept.find(|(known, position)| *known == number && position.directory == directory);
        found.map(|(_, position)| position.cookie).ok_or(Completion::DirectoryIoError)
    }

    /// Ends a task: releases its files, locks, semaphores and temporary handles.
    pub fn end_task(&mut self, task: u8) {
        self.records.release_set(task, true);
        self.semaphores.end_task(task);
        self.close_those(|file| file.task == task);
        self.handles.retain(|_, (_, owner)| *owner != Some(task));
    }

    /// Logs the user out and releases everything that the login opened.
    pub fn logout(&mut self) {
        self.user = None;
        self.key = None;
        self.wait = None;
        // Locks before files: each lock belongs to an open file.
        self.records.clear();
        self.semaphores.clear();
        self.close_those(|_| true);
        self.handles.clear();
        self.searches.clear();
        self.positions.clear();
        self.charge(0);
    }
}

impl Drop for Connection {
    /// Releases locks and share modes, however the connection ends.
    fn drop(&mut self) {
        self.logout();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: VolumeNode = VolumeNode { volume: 0, node: 1 };

    #[test]
    fn connection_tables_are_bounded_and_task_end_releases_its_entries() {
        let locks = LockTables::default();
        let mut connection = Connection::new(1, LoginSource::Unknown, &locks).unwrap();
        let file = OpenFile { place: ROOT, access: access::READ, task: 1 };
        for _ in 0..MAX_FILES {
            assert_ne!(connection.add_file(file).unwrap().0, [0; 4]);
        }
        assert_eq!(connection.add_file(file), Err(Completion::NoFileHandles));
        assert!((1..=255).all(|handle| connection.add_handle(ROOT, Some(handle % 2)) == Ok(handle)));
        assert_eq!(connection.add_handle(ROOT, None), Err(Completion::NoDirectoryHandles));
        connection.end_task(1);
        assert!(connection.add_file(file).is_ok());
        assert_eq!(
            (connection.handle(1), connection.handle(2)),
            (Err(Completion::BadDirectoryHandle), Ok(ROOT))
        );
        let ids: Vec<_> = (0..200).map(|_| connection.add_search(ROOT)).collect();
        assert_eq!((ids[64], connection.search(ids[63])), ([0, 0], Ok(ROOT)));
        assert!(connection.search([0, 64]).is_err());
        let mut numbers =
            (0..70_000).map(|cookie| connection.add_position(SearchPosition { directory: ROOT, cookie }));
        assert!(numbers.all(|number| (1..u16::MAX).contains(&number)));
        let last = connection.add_position(SearchPosition { directory: ROOT, cookie: 7 });
        assert_eq!(connection.position(last, ROOT), Ok(7));
        assert!(connection.position(last.wrapping_sub(300), ROOT).is_err(), "forgotten");
        assert!(connection.position(last, VolumeNode { node: 2, ..ROOT }).is_err(), "of another directory");
        drop(connection);
        assert!(locks.open_files.is_empty());
    }
}
