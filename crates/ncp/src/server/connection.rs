//! What a server remembers of a connection: handles, files, login, and its last reply.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::bursts::ServerBurst;
use super::locks::PendingLock;
use super::open_files::OpenFileTable;
use super::record_log::RecordLog;
use super::volume::Node;
use crate::security::signature::Signer;
use crate::wire::dos::access;
use crate::wire::negotiate::Security;
use crate::wire::{Completion, ShortHandle};

/// Most open files of a connection.
const MAX_FILES: usize = 1024;
/// Places in searches that a connection can go on from; the oldest goes for a new one.
const MAX_POSITIONS: usize = 256;
/// Classic searches that a connection has at a time; the oldest goes for a new one.
const MAX_SEARCHES: usize = 64;
/// Data bytes per call before negotiation (docs/protocols/ncp.md 2.2).
const DEFAULT_BUFFER: u16 = 512;

/// A directory on a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VolumeNode {
    /// Number of the volume.
    pub volume: u8,
    /// The directory.
    pub node: Node,
}

/// An open file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFile {
    /// Where it is.
    pub place: VolumeNode,
    /// What it was opened for: see [`access`].
    pub access: u16,
    /// The task that opened it.
    pub task: u8,
}

impl OpenFile {
    /// True when all of these bits of its access are set.
    pub const fn has(self, bits: u16) -> bool {
        self.access & bits == bits
    }

    /// True when what is written is to be on disk before the reply.
    pub const fn is_through(self) -> bool {
        self.has(access::WRITE_THROUGH)
    }
}

/// A connection.
#[derive(Debug)]
pub struct Connection {
    /// Its number.
    pub number: u16,
    /// Sequence number of the request answered last.
    pub last: Option<u8>,
    /// The answer as it went on the wire, where it may get lost there.
    pub last_answer: Vec<u8>,
    /// Data bytes per call.
    pub buffer: u16,
    /// What 0x61 switched on.
    pub security: Security,
    /// The key of a login that has begun.
    pub key: Option<[u8; 8]>,
    /// Index of the user who logged in.
    pub user: Option<usize>,
    /// Packet burst, when it was agreed upon.
    pub burst: Option<ServerBurst>,
    /// Packets must have checksums.
    pub checks: bool,
    /// The client has ended it.
    pub ended: bool,
    /// Signs and checks packets, from the request behind the login on.
    pub signer: Option<Signer>,
    /// The lock that its last request waits for.
    pub wait: Option<PendingLock>,
    /// Its ranges of open files.
    pub records: RecordLog,
    files: BTreeMap<u32, OpenFile>,
    next_file: u32,
    handles: BTreeMap<u8, (VolumeNode, Option<u8>)>,
    searches: Vec<VolumeNode>,
    next_search: usize,
    positions: VecDeque<(u16, SearchPosition)>,
    next_position: u16,
}

/// How far a search has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchPosition {
    /// The directory.
    pub directory: VolumeNode,
    /// The volume's cookie.
    pub cookie: u64,
}

impl Connection {
    /// A new connection.
    pub fn new(number: u16, open_files: Arc<OpenFileTable>) -> Self {
        Self {
            number,
            last: None,
            last_answer: Vec::new(),
            buffer: DEFAULT_BUFFER,
            security: Security(0),
            key: None,
            user: None,
            burst: None,
            checks: false,
            ended: false,
            signer: None,
            wait: None,
            records: RecordLog::new(open_files),
            files: BTreeMap::new(),
            next_file: 0,
            handles: BTreeMap::new(),
            searches: Vec::new(),
            next_search: 0,
            positions: VecDeque::new(),
            next_position: 0,
        }
    }

    /// An error when no more files can be opened.
    pub fn room_for_file(&self) -> Result<(), Completion> {
        if self.files.len() < MAX_FILES { Ok(()) } else { Err(Completion::NoFileHandles) }
    }

    /// Keeps an open file and gives it a handle, never one of zeros; [`Completion::FileInUse`] when its access clashes
    /// with that of another open.
    pub fn add_file(&mut self, file: OpenFile) -> Result<ShortHandle, Completion> {
        self.room_for_file()?;
        self.records.open_files().open(file.place, self.records.owner(), file.access)?;
        loop {
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

    /// Gives up what an open file had locked and denied to others.
    fn closed(&mut self, number: u32, file: OpenFile) {
        self.records.close(number);
        self.records.open_files().close(file.place, self.records.owner(), file.access);
    }

    /// Closes the files that are of no use any more.
    fn close_those(&mut self, those: impl Fn(&OpenFile) -> bool) {
        let numbers: Vec<u32> =
            self.files.iter().filter(|(_, file)| those(file)).map(|(number, _)| *number).collect();
        for number in numbers {
            if let Some(file) = self.files.remove(&number) {
                self.closed(number, file);
            }
        }
    }

    /// Makes a directory handle, for one task or until it is freed.
    pub fn add_handle(&mut self, directory: VolumeNode, task: Option<u8>) -> Result<u8, Completion> {
        let free = (1..=u8::MAX).find(|handle| !self.handles.contains_key(handle));
        let handle = free.ok_or(Completion::NoDirectoryHandles)?;
        self.handles.insert(handle, (directory, task));
        Ok(handle)
    }

    /// Where a directory handle points.
    pub fn handle(&self, handle: u8) -> Result<VolumeNode, Completion> {
        let found = self.handles.get(&handle);
        found.map(|(directory, _)| *directory).ok_or(Completion::BadDirectoryHandle)
    }

    /// Points a directory handle elsewhere.
    pub fn set_handle(&mut self, handle: u8, directory: VolumeNode) -> Result<(), Completion> {
        let (place, _) = self.handles.get_mut(&handle).ok_or(Completion::BadDirectoryHandle)?;
        *place = directory;
        Ok(())
    }

    /// Frees a directory handle.
    pub fn free_handle(&mut self, handle: u8) -> Result<(), Completion> {
        self.handles.remove(&handle).map(|_| ()).ok_or(Completion::BadDirectoryHandle)
    }

    /// Keeps the directory of a search by 0x3E and gives it an id of two bytes.
    pub fn add_search(&mut self, directory: VolumeNode) -> [u8; 2] {
        let id = self.next_search % MAX_SEARCHES;
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

    /// Keeps how far a search has come and gives it a number, never 0 and never FFFF.
    pub fn add_position(&mut self, position: SearchPosition) -> u16 {
        self.next_position = self.next_position % (u16::MAX - 1) + 1;
        if self.positions.len() >= MAX_POSITIONS {
            self.positions.pop_front();
        }
        self.positions.push_back((self.next_position, position));
        self.next_position
    }

    /// Where a search goes on; an error where that is forgotten, for it must not look like the end.
    pub fn position(&self, number: u16, directory: VolumeNode) -> Result<u64, Completion> {
        let mut kept = self.positions.iter().rev();
        let found = kept.find(|(known, position)| *known == number && position.directory == directory);
        found.map(|(_, position)| position.cookie).ok_or(Completion::DirectoryIoError)
    }

    /// Ends a task: its files, locks and temporary handles go.
    pub fn end_task(&mut self, task: u8) {
        self.records.release_set(task, true);
        self.close_those(|file| file.task == task);
        self.handles.retain(|_, (_, owner)| *owner != Some(task));
    }

    /// The user leaves: everything goes that a login had opened.
    pub fn logout(&mut self) {
        self.user = None;
        self.key = None;
        self.wait = None;
        self.records.clear();
        self.close_those(|_| true);
        self.handles.clear();
        self.searches.clear();
        self.positions.clear();
    }
}

impl Drop for Connection {
    /// However it ends, nothing stays locked or denied to others.
    fn drop(&mut self) {
        self.logout();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: VolumeNode = VolumeNode { volume: 0, node: 1 };

    #[test]
    fn tables_are_bounded_and_a_task_takes_its_own_along() {
        let open_files = Arc::new(OpenFileTable::default());
        let mut connection = Connection::new(1, Arc::clone(&open_files));
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
        assert!(open_files.is_empty());
    }
}
