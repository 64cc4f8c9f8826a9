//! A logged-in user on a connection, with the trees and files that it has open.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sharebench_smb::NtStatus;
use sharebench_smb::crypto::{Cipher, SealingKey, SigningAlgorithm, SigningKey};
use sharebench_smb::wire::FileId;
use sharebench_smb::wire::transform::{self, TransformHeader};
use tokio::sync::mpsc::UnboundedSender;

use crate::front_ends::state_budget::{ENTRY_BYTES, StateBudget, StateCharge};
use crate::smb::files::open_file::OpenFile;
use crate::smb::files::pipe::Pipe;
use crate::smb::session::expiry::Expiry;
use crate::smb::status::Outcome;
use crate::smb::transport::client_connections::ClientConnections;
use crate::smb::transport::events::ConnectionEvent;

/// Maximum number of trees of a session.
const MAX_TREES: usize = 1024;
/// Bytes of the contexts of the keys of a session.
const KEYS_BYTES: usize = 1 << 10;
/// Maximum number of channels of a session.
const MAX_CHANNELS: usize = 32;

/// A share that a session has connected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tree {
    /// The volume.
    Disk,
    /// `IPC$`.
    Pipes,
}

/// Something that a client has opened.
#[derive(Clone)]
pub(crate) enum Opened {
    /// A file or directory.
    File(Arc<OpenFile>),
    /// A named pipe.
    Pipe(Arc<Pipe>),
}

/// The keys that encrypt the messages of a session.
pub(crate) struct Sealing {
    pub(crate) to_server: SealingKey,
    pub(crate) to_client: SealingKey,
}

/// What the first connection of a session has negotiated, which further ones must equal (MS-SMB2 3.3.5.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) dialect: u16,
    pub(crate) signing: SigningAlgorithm,
    pub(crate) cipher: Option<Cipher>,
}

/// A session (MS-SMB2 3.3.1.8).
///
/// It exists from a successful login to LOGOFF or the end of its last connection; a renewed login does not replace it. Its keys
/// never change, so that they are used without a lock; trees and open files have one lock, which each request takes once for a lookup.
pub(crate) struct Session {
    pub(crate) id: u64,
    /// The account in folded form; empty for guests and anonymous users.
    pub(crate) account: String,
    /// None for guests and anonymous users.
    pub(crate) signing: Option<Arc<SigningKey>>,
    pub(crate) origin: Origin,
    pub(crate) requires_signing: bool,
    pub(crate) sealing: Option<Sealing>,
    pub(crate) requires_sealing: bool,
    pub(crate) expiry: Expiry,
    /// The client has renewed the login without a name. What is open stays usable, and nothing else is opened until the account
    /// logs in again.
    pub(crate) anonymous: AtomicBool,
    table: Mutex<Table>,
    channels: ClientConnections,
    charge: StateCharge,
}

#[derive(Default)]
struct Table {
    closed: bool,
    last_tree: u32,
    trees: HashMap<u32, (Tree, StateCharge)>,
    opened: HashMap<u64, (FileId, u32, Opened)>,
}

impl Session {
    /// A session without keys, which is charged to a budget.
    pub(crate) fn new(id: u64, account: String, origin: Origin, budget: &StateBudget) -> Outcome<Self> {
        let bytes = size_of::<Self>() + KEYS_BYTES + 4 * ENTRY_BYTES + account.len();
        let charge = budget.charge(bytes).ok_or(NtStatus::INSUFFICIENT_RESOURCES)?;
        Ok(Self {
            id,
            account,
            signing: None,
            origin,
            requires_signing: false,
            sealing: None,
            requires_sealing: false,
            expiry: Expiry::default(),
            anonymous: AtomicBool::new(false),
            table: Mutex::default(),
            channels: ClientConnections::default(),
            charge,
        })
    }

    /// The budget that what the session causes is charged to.
    pub(crate) fn budget(&self) -> &StateBudget {
        self.charge.budget()
    }

    /// True for guests and anonymous users, who have no keys.
    pub(crate) fn is_guest(&self) -> bool {
        self.signing.is_none()
    }

    /// Adds a connection.
    pub(crate) fn add_channel(
        &self,
        connection: u64,
        events: UnboundedSender<ConnectionEvent>,
    ) -> Outcome<()> {
        let added = self.channels.add(connection, events, MAX_CHANNELS);
        if added { Ok(()) } else { Err(NtStatus::INSUFFICIENT_RESOURCES) }
    }

    /// Removes a connection; true if it was the last one.
    pub(crate) fn remove_channel(&self, connection: u64) -> bool {
        self.channels.remove(connection)
    }

    /// Sends a message that the client did not request (MS-SMB2 3.3.4.6). False if there is no connection.
    pub(crate) fn notify(&self, frame: Vec<u8>) -> bool {
        self.channels.notify(frame)
    }

    /// True if many messages wait for a client that does not read them.
    pub(crate) fn is_congested(&self) -> bool {
        self.channels.is_congested()
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True once the session was closed, possibly over another connection.
    pub(crate) fn is_closed(&self) -> bool {
        self.table().closed
    }

    /// Adds a tree and returns its number.
    pub(crate) fn add_tree(&self, tree: Tree) -> Outcome<u32> {
        let mut table = self.table();
        if table.closed {
            return Err(NtStatus::USER_SESSION_DELETED);
        }
        if table.trees.len() >= MAX_TREES {
            return Err(NtStatus::INSUFFICIENT_RESOURCES);
        }
        table.last_tree = table.last_tree % (u32::MAX - 1) + 1;
        while table.trees.contains_key(&table.last_tree) {
            table.last_tree = table.last_tree % (u32::MAX - 1) + 1;
        }
        let charge = self.budget().charge(2 * ENTRY_BYTES).ok_or(NtStatus::INSUFFICIENT_RESOURCES)?;
        let number = table.last_tree;
        table.trees.insert(number, (tree, charge));
        Ok(number)
    }

    /// The tree with this number.
    pub(crate) fn tree(&self, number: u32) -> Outcome<Tree> {
        let table = self.table();
        if table.closed {
            return Err(NtStatus::USER_SESSION_DELETED);
        }
        table.trees.get(&number).map(|(tree, _)| *tree).ok_or(NtStatus::NETWORK_NAME_DELETED)
    }

    /// Removes a tree and returns the files that were open in it.
    pub(crate) fn remove_tree(&self, number: u32) -> Outcome<Vec<Arc<OpenFile>>> {
        let mut table = self.table();
        table.trees.remove(&number).ok_or(NtStatus::NETWORK_NAME_DELETED)?;
        let open = table.opened.extract_if(|_, (_, tree, _)| *tree == number);
        Ok(open.filter_map(|(_, (_, _, opened))| opened.into_file()).collect())
    }

    /// Adds something that was opened; false if the session was closed in the meantime.
    pub(crate) fn add(&self, id: FileId, tree: u32, opened: Opened) -> bool {
        let mut table = self.table();
        if table.closed || !table.trees.contains_key(&tree) {
            return false;
        }
        table.opened.insert(id.volatile, (id, tree, opened));
        true
    }

    /// What a client has opened in a tree under this identifier.
    pub(crate) fn opened(&self, id: FileId, tree: u32) -> Outcome<Opened> {
        let table = self.table();
        let found = table.opened.get(&id.volatile);
        let found = found.filter(|(known, of_tree, _)| *known == id && *of_tree == tree);
        found.map(|(_, _, opened)| opened.clone()).ok_or(NtStatus::FILE_CLOSED)
    }

    /// What a client has opened under this identifier in any tree.
    pub(crate) fn opened_anywhere(&self, id: FileId) -> Outcome<Opened> {
        let table = self.table();
        let found = table.opened.get(&id.volatile).filter(|(known, _, _)| *known == id);
        found.map(|(_, _, opened)| opened.clone()).ok_or(NtStatus::FILE_CLOSED)
    }

    /// Removes what was opened.
    pub(crate) fn remove(&self, id: FileId, tree: u32) -> Outcome<Opened> {
        let mut table = self.table();
        let known = table
            .opened
            .get(&id.volatile)
            .is_some_and(|(known, of_tree, _)| *known == id && *of_tree == tree);
        let removed = known.then(|| table.opened.remove(&id.volatile)).flatten();
        removed.map(|(_, _, opened)| opened).ok_or(NtStatus::FILE_CLOSED)
    }

    /// Closes the session and returns the files that were open.
    pub(crate) fn close(&self) -> Vec<Arc<OpenFile>> {
        let mut table = self.table();
        table.closed = true;
        table.trees.clear();
        let opened = std::mem::take(&mut table.opened);
        opened.into_values().filter_map(|(_, _, opened)| opened.into_file()).collect()
    }

    /// Encrypts the messages after a transform header, which is completed.
    pub(crate) fn seal(&self, bytes: &mut [u8]) {
        let Some((head, messages)) = bytes.split_first_chunk_mut::<{ transform::LEN }>() else { return };
        let Some(sealing) = &self.sealing else { return };
        let original_len = messages.len() as u32;
        let header =
            TransformHeader { original_len, flags: 1, session_id: self.id, ..TransformHeader::default() };
        header.write(head);
        sealing.to_client.seal(head, messages);
    }
}

impl Opened {
    fn into_file(self) -> Option<Arc<OpenFile>> {
        match self {
            Self::File(file) => Some(file),
            Self::Pipe(_) => None,
        }
    }

    /// A file or directory; a pipe is the wrong device.
    pub(crate) fn file(self) -> Outcome<Arc<OpenFile>> {
        self.into_file().ok_or(NtStatus::INVALID_DEVICE_REQUEST)
    }
}
