//! One command of a message of SMB1: what it refers to, and which handler answers it.

use std::sync::Arc;

use sharebench_smb::NtStatus;
use sharebench_smb::nt1::message::{NoWords, TextBytes, Words, flags2, put_blocks};
use sharebench_smb::nt1::{Header, Message, command};
use sharebench_smb::wire::header::command as smb2_command;

use super::state::{OpenedFile, Smb1State, User};
use crate::smb::files::byte_locks::LockOwner;
use crate::smb::files::open_file::OpenFile;
use crate::smb::session::call::CallResponse;
use crate::smb::session::connection::Connection;
use crate::smb::session::deferred::DeferredRequests;
use crate::smb::session::established::{Session, Tree};
use crate::smb::state::ServerState;
use crate::smb::status::{Outcome, malformed};

/// Why a command ends without a result.
pub(super) enum Stop {
    /// With an error.
    Status(NtStatus),
    /// Other clients must acknowledge a break first.
    Deferred(Arc<DeferredRequests>),
}

impl From<NtStatus> for Stop {
    fn from(status: NtStatus) -> Self {
        Self::Status(status)
    }
}

/// The result of a part of a command.
pub(super) type Reached<T> = Result<T, Stop>;

/// The commands of a message, one after the other.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a property of its own of the message or its current command"
)]
pub(super) struct Smb1Call<'a> {
    pub(super) connection: &'a Arc<Connection>,
    pub(super) server: &'a Arc<ServerState>,
    pub(super) state: &'a Arc<Smb1State>,
    pub(super) message: &'a [u8],
    /// The header of the message, with the user and the tree that a command of the chain has made.
    pub(super) header: Header,
    /// The number of the message, if it is signed.
    pub(super) number: Option<u32>,
    /// The message has waited, and what it waited for has happened.
    pub(super) resumed: bool,
    /// The words and bytes of the current command, and where the bytes start.
    pub(super) block: Message<'a>,
    pub(super) bytes_at: usize,
    /// The current command is the first one of the message, and the last one.
    pub(super) first: bool,
    pub(super) last: bool,
    /// Where the block of the reply starts in its message.
    pub(super) reply_at: usize,
    /// The file that a command of the chain has opened.
    pub(super) fid: Option<u16>,
    pub(super) session: Option<Arc<Session>>,
    /// The message is the login that activates signatures.
    pub(super) activates_signing: bool,
}

impl<'a> Smb1Call<'a> {
    pub(super) fn new(
        connection: &'a Arc<Connection>,
        state: &'a Arc<Smb1State>,
        message: &'a [u8],
        header: Header,
        number: Option<u32>,
        resumed: bool,
    ) -> Self {
        let block = Message { whole: message, words: &[], bytes: &[] };
        Self {
            connection,
            server: &connection.server,
            state,
            message,
            header,
            number,
            resumed,
            block,
            bytes_at: 0,
            first: true,
            last: true,
            reply_at: 0,
            fid: None,
            session: None,
            activates_signing: false,
        }
    }

    /// The words of the command.
    pub(super) fn words<W: Words>(&self) -> Outcome<W> {
        self.block.get().map_err(malformed)
    }

    /// True if texts are UTF-16.
    pub(super) fn is_unicode(&self) -> bool {
        self.header.flags2 & flags2::UNICODE != 0
    }

    /// The bytes of the command and where they start, for texts in them.
    pub(super) fn bytes(&self) -> TextBytes<'a> {
        TextBytes { bytes: self.block.bytes, start: self.bytes_at }
    }

    /// Who holds locks of an open file in this message.
    pub(super) fn lock_owner(&self, open: &OpenFile) -> LockOwner {
        // The ranges of LOCKING_ANDX have the lower half of the process id only.
        LockOwner::of_process(open.id.volatile, u32::from(self.header.pid_low))
    }

    /// Finds the session of the user, which must not have ended.
    pub(super) fn find_session(&mut self, request: u16) -> Outcome<()> {
        let session = match self.state.table().users.get(self.header.uid) {
            Some(User::Session(session, _)) => Arc::clone(session),
            _ => return Err(NtStatus::SMB_TOO_MANY_UIDS_OR_BAD_UID),
        };
        // A request that has waited was accepted before.
        if !self.resumed && session.expiry.rejects(request, || self.server.now()) {
            return Err(NtStatus::NETWORK_SESSION_EXPIRED);
        }
        self.session = Some(session);
        Ok(())
    }

    /// The session of the user of a command that needs one.
    pub(super) fn session(&self) -> Outcome<&Arc<Session>> {
        self.session.as_ref().ok_or(NtStatus::SMB_TOO_MANY_UIDS_OR_BAD_UID)
    }

    /// The number of the file of a command: of the file that the chain has opened, if it has.
    pub(super) fn fid(&self, given: u16) -> u16 {
        self.fid.unwrap_or(given)
    }

    /// An open file of the user in the tree of the message.
    pub(super) fn file(&self, given: u16) -> Outcome<Arc<OpenFile>> {
        self.opened(given).map(|file| file.open)
    }

    /// What the user has opened in the tree of the message.
    pub(super) fn opened(&self, given: u16) -> Outcome<OpenedFile> {
        let table = self.state.table();
        let found = table.files.get(self.fid(given));
        let found = found.filter(|file| (file.uid, file.tid) == (self.header.uid, self.header.tid));
        found.cloned().ok_or(NtStatus::INVALID_HANDLE)
    }

    fn tree(&self) -> Outcome<Tree> {
        self.state.table().trees.get(self.header.tid).map(|(tree, _)| *tree).ok_or(NtStatus::SMB_BAD_TID)
    }

    /// Answers a command: the block of the reply is appended to `body`.
    pub(super) fn dispatch(&mut self, command: u8, body: &mut Vec<u8>) -> Outcome<CallResponse> {
        match self.perform(command, body) {
            Ok(answer) => Ok(answer),
            Err(Stop::Deferred(deferred)) => Ok(CallResponse::Deferred(deferred)),
            Err(Stop::Status(status)) => Err(status),
        }
    }

    /// Checks that the user and the tree of a command exist.
    pub(super) fn check_context(&mut self, command: u8) -> Outcome<()> {
        self.find_session(match command {
            command::CLOSE | command::FIND_CLOSE2 | command::PROCESS_EXIT => smb2_command::CLOSE,
            command::LOGOFF_ANDX | command::TREE_DISCONNECT => smb2_command::LOGOFF,
            command::LOCKING_ANDX | command::LOCK_BYTE_RANGE | command::UNLOCK_BYTE_RANGE => {
                smb2_command::LOCK
            }
            _ => smb2_command::READ,
        })?;
        if matches!(
            command,
            command::LOGOFF_ANDX
                | command::TREE_CONNECT_ANDX
                | command::TREE_DISCONNECT
                | command::PROCESS_EXIT
        ) {
            return Ok(());
        }
        match self.tree()? {
            Tree::Disk => Ok(()),
            // There are no pipes.
            Tree::Pipes if command == command::NT_CREATE_ANDX => Err(NtStatus::OBJECT_NAME_NOT_FOUND),
            Tree::Pipes => Err(NtStatus::NOT_SUPPORTED),
        }
    }

    fn perform(&mut self, command: u8, body: &mut Vec<u8>) -> Reached<CallResponse> {
        match command {
            // A second one ends the connection.
            command::NEGOTIATE => return Ok(CallResponse::Disconnect),
            command::SESSION_SETUP_ANDX => return Ok(self.log_in(body)?),
            command::NT_CANCEL => {
                self.cancel();
                return Ok(CallResponse::Pending);
            }
            // No transaction of more than one message is accepted, and these have no reply.
            command::TRANSACTION_SECONDARY
            | command::TRANSACTION2_SECONDARY
            | command::NT_TRANSACT_SECONDARY => return Ok(CallResponse::Pending),
            _ => self.check_context(command)?,
        }
        match command {
            command::LOGOFF_ANDX => self.log_off(body),
            command::TREE_CONNECT_ANDX => self.connect_tree(body)?,
            command::TREE_DISCONNECT => self.disconnect_tree(body)?,
            command::NT_CREATE_ANDX => self.create(body)?,
            command::OPEN_ANDX => self.open(body)?,
            command::CLOSE => self.close(body)?,
            command::FLUSH => self.flush(body)?,
            command::WRITE_ANDX => self.write(body)?,
            command::LOCKING_ANDX => return Ok(self.lock(body)?),
            command::LOCK_BYTE_RANGE => self.lock_byte_range(body)?,
            command::UNLOCK_BYTE_RANGE => self.unlock_byte_range(body)?,
            command::PROCESS_EXIT => self.end_process(body),
            command::CREATE_DIRECTORY => self.make_directory(body)?,
            command::DELETE_DIRECTORY => self.remove_directory(body)?,
            command::CHECK_DIRECTORY => self.check_directory(body)?,
            command::DELETE => self.delete(body)?,
            command::RENAME => self.rename(body)?,
            command::QUERY_INFORMATION => self.query_information(body)?,
            command::SET_INFORMATION => self.set_information(body)?,
            command::QUERY_INFORMATION2 => self.query_information2(body)?,
            command::SET_INFORMATION2 => self.set_information2(body)?,
            command::QUERY_INFORMATION_DISK => self.query_disk(body)?,
            command::TRANSACTION2 => return self.transact(body),
            command::FIND_CLOSE2 => self.close_search(body)?,
            command::TRANSACTION | command::NT_TRANSACT => return Err(NtStatus::NOT_SUPPORTED.into()),
            _ => return Err(NtStatus::SMB_BAD_COMMAND.into()),
        }
        Ok(CallResponse::Complete(NtStatus::SUCCESS))
    }
}

/// A reply without words and bytes.
pub(super) fn put_empty(body: &mut Vec<u8>) {
    put_blocks(&NoWords {}, body, |_| {});
}
