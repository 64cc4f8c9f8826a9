//! A request of a session: what it refers to, and which handler answers it.

use std::sync::Arc;

use sharebench_smb::NtStatus;
use sharebench_smb::wire::FileId;
use sharebench_smb::wire::header::{Header, command};
use sharebench_smb::wire::simple::Empty;

use crate::smb::files::content_changes::{ChannelState, ContentChange};
use crate::smb::files::open_file::OpenFile;
use crate::smb::session::channel::Channel;
use crate::smb::session::connection::Connection;
use crate::smb::session::deferred::DeferredRequests;
use crate::smb::session::established::{Opened, Session, Tree};
use crate::smb::session::negotiated::Negotiated;
use crate::smb::session::pending::{PendingReply, ReplyForm};
use crate::smb::status::Outcome;

/// Bytes that one credit pays for (MS-SMB2 3.1.5.2).
const CREDIT_BYTES: u32 = 64 << 10;

/// A request of a session.
pub(crate) struct Call<'a> {
    pub(crate) connection: &'a Arc<Connection>,
    pub(crate) message: &'a [u8],
    pub(crate) header: Header,
    pub(crate) channel: &'a Arc<Channel>,
    pub(crate) session: &'a Arc<Session>,
    pub(crate) tree_id: u32,
    /// The frame was encrypted.
    pub(crate) sealed: bool,
    /// Position of the frame among those that workers process.
    pub(crate) frame: u64,
    /// The request is the last one of its compound, so that its reply may be sent later.
    pub(crate) last: bool,
    /// The request has waited, and what it waited for has happened.
    pub(crate) resumed: bool,
    /// The file of the request, for the next one of its compound.
    pub(crate) file: Option<FileId>,
    pub(crate) previous: Option<Outcome<FileId>>,
}

/// How a request was answered.
pub(crate) enum CallResponse {
    /// With this status, and the encoded body.
    Complete(NtStatus),
    /// The reply follows, or there is none.
    Pending,
    /// The request must be answered again once other clients have done something.
    Deferred(Arc<DeferredRequests>),
    /// The connection must be closed.
    Disconnect,
}

/// An answer without fields.
pub(crate) fn empty(body: &mut Vec<u8>) -> CallResponse {
    Empty::default().encode(body);
    CallResponse::Complete(NtStatus::SUCCESS)
}

/// A successful answer, whose body is encoded.
pub(crate) const DONE: Outcome<CallResponse> = Ok(CallResponse::Complete(NtStatus::SUCCESS));

impl Call<'_> {
    /// What the request refers to as its file.
    pub(crate) fn opened(&mut self, file: FileId) -> Outcome<Opened> {
        let file = self.file_id(file)?;
        self.session.opened(file, self.tree_id)
    }

    /// The identifier of the file, which may be that of the request before.
    pub(crate) fn file_id(&mut self, file: FileId) -> Outcome<FileId> {
        let file = match self.previous {
            Some(previous) if file == FileId::PREVIOUS => previous?,
            _ => file,
        };
        self.file = Some(file);
        Ok(file)
    }

    /// An open file or directory.
    pub(crate) fn file(&mut self, file: FileId) -> Outcome<Arc<OpenFile>> {
        self.opened(file)?.file()
    }

    /// Begins a change over an open; a session that was closed begins none, nor does a request from before the loss of a
    /// channel. Who continues the open after the loss of a connection waits for the changes that are in progress, so that
    /// none of them follows one of the new connection.
    pub(crate) fn begin_change<'o>(&self, open: &'o OpenFile) -> Outcome<ContentChange<'o>> {
        let change = open.changes.begin(self.channel_state())?;
        if self.session.is_closed() { Err(NtStatus::USER_SESSION_DELETED) } else { Ok(change) }
    }

    /// What the request says of the channels of its session; dialects before 3.0 have one.
    pub(crate) fn channel_state(&self) -> ChannelState {
        let channels =
            self.connection.negotiated.get().is_some_and(|negotiated| negotiated.dialect >= 0x0300);
        if channels { ChannelState::from_header(&self.header) } else { ChannelState::default() }
    }

    /// The share that the request is for.
    pub(crate) fn tree(&self) -> Outcome<Tree> {
        self.session.tree(self.tree_id)
    }

    /// Checks that the request has paid for this many bytes (MS-SMB2 3.3.5.2.5).
    pub(crate) fn check_charge(&self, bytes: u32) -> Outcome<()> {
        let multi_credit = self.connection.negotiated.get().is_some_and(Negotiated::multi_credit);
        let needed = bytes.saturating_sub(1) / CREDIT_BYTES + 1;
        let paid = if multi_credit { u32::from(self.header.credit_charge.max(1)) } else { 1 };
        if needed > paid { Err(NtStatus::INVALID_PARAMETER) } else { Ok(()) }
    }

    pub(crate) fn dispatch(&mut self, body: &mut Vec<u8>) -> Outcome<CallResponse> {
        match self.header.command {
            command::LOGOFF => {
                self.connection.log_off(self.session);
                Ok(empty(body))
            }
            command::TREE_CONNECT => self.connect_tree(body),
            command::ECHO => Ok(empty(body)),
            command => {
                self.tree()?;
                match command {
                    command::TREE_DISCONNECT => self.disconnect_tree(body),
                    command::CREATE => self.create(body),
                    command::CLOSE => self.close(body),
                    command::FLUSH => self.flush(body),
                    command::WRITE => self.write(body),
                    command::LOCK => self.lock(body),
                    command::IOCTL => self.control(body),
                    command::QUERY_DIRECTORY => self.query_directory(body),
                    command::QUERY_INFO => self.query_info(body),
                    command::SET_INFO => self.set_info(body),
                    command::CHANGE_NOTIFY => self.change_notify(body),
                    command::OPLOCK_BREAK => self.acknowledge_break(body),
                    _ => Err(NtStatus::INVALID_PARAMETER),
                }
            }
        }
    }

    /// A reply that is sent later, to this request.
    pub(crate) fn pending(&self) -> PendingReply {
        let id = self.connection.server.new_id();
        let form = ReplyForm::Smb2 { sealed: self.sealed };
        self.connection.pending_reply(id, self.header, Arc::clone(self.channel), form, self.frame)
    }
}
