//! Dispatches a call to its procedure.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use sharebench_nfs::compound::{COMPOUND, NFS4_VERSION};
use sharebench_nfs::protocol::{
    MAX_DATAGRAM_TRANSFER, MOUNT_PROGRAM, MOUNT_VERSION, NFS_PROGRAM, NFS_VERSION, Procedure,
};
use sharebench_nfs::record::{begin_record, end_record};
use sharebench_nfs::rpc::{CallError, CallHeader, Rejection, put_success};
use sharebench_nfs::xdr::{Reader, Writer, XdrError};

use crate::nfs::state::ServerState;
use crate::nfs::transport::reply_cache::Earlier;
use crate::nfs::v3::listing::MAX_PAGE_BYTES;
use crate::nfs::v4::Peer;

/// `AUTH_REJECTEDCRED` (RFC 5531, 9).
const REJECTED_CREDENTIAL: u32 = 2;
/// Message type of a reply (RFC 5531, 9).
const REPLY: u32 = 1;

/// What a reply may hold, which depends on the transport.
#[derive(Debug, Clone, Copy)]
struct ReplyLimits {
    /// Bytes of a READ, and of a WRITE as FSINFO states it.
    transfer: u32,
    /// Bytes of a page of a directory.
    page: usize,
}

/// True for a call that must not be performed twice. Two WRITEs are among them, because the second one may arrive after a later
/// WRITE of the same bytes.
fn changes_something(header: CallHeader) -> bool {
    if header.program != NFS_PROGRAM || header.version != NFS_VERSION {
        return false;
    }
    matches!(
        Procedure::from_number(header.procedure),
        Some(
            Procedure::SetAttr
                | Procedure::Write
                | Procedure::Create
                | Procedure::MkDir
                | Procedure::SymLink
                | Procedure::MkNod
                | Procedure::Remove
                | Procedure::RmDir
                | Procedure::Rename
                | Procedure::Link
        )
    )
}

/// Encodes a success with what `answer` appends, or the rejection that it returns.
#[inline]
fn put_answer(
    header: CallHeader,
    out: &mut Writer,
    answer: impl FnOnce(&mut Writer) -> Result<Result<(), Rejection>, XdrError>,
) {
    let start = out.len();
    put_success(out, header.xid);
    if let Err(rejection) = answer(out).unwrap_or(Err(Rejection::GarbageArguments)) {
        out.truncate(start);
        rejection.put(out, header.xid);
    }
}

impl ServerState {
    /// Encodes the reply to a call, with its fragment header, and appends it. An error means that the bytes are not RPC.
    ///
    /// A reply to a callback is taken, and nothing is appended.
    pub(super) fn answer(&self, peer: &Arc<Peer>, record: &[u8], out: &mut Writer) -> Result<(), XdrError> {
        if record.get(4..8) == Some(&REPLY.to_be_bytes()) {
            self.v4.callback_reply(peer, record);
            return Ok(());
        }
        match &self.gss {
            Some(gss) => self.answer_secured(gss, peer, record, out),
            None => self.answer_plain(peer, record, out),
        }
    }

    /// As [`Self::answer`] for a call without security.
    pub(super) fn answer_plain(
        &self,
        peer: &Arc<Peer>,
        record: &[u8],
        out: &mut Writer,
    ) -> Result<(), XdrError> {
        let at = begin_record(out);
        let mut call = Reader::new(record);
        match CallHeader::get(&mut call) {
            Ok(header) => self.answer_call(peer, header, &mut call, out),
            Err(CallError::RpcVersion { xid, .. }) => {
                Rejection::RpcMismatch { low: 2, high: 2 }.put(out, xid);
            }
            Err(CallError::Flavor { xid, .. }) => Rejection::Auth(REJECTED_CREDENTIAL).put(out, xid),
            Err(CallError::Garbage(error)) => {
                out.truncate(at);
                return Err(error);
            }
        }
        end_record(out, at, 0);
        Ok(())
    }

    /// Encodes the reply to a call that a datagram from `client` holds; nothing if the call is to be discarded.
    ///
    /// A call that changes something and arrives again gets the reply of the first time, or none while it is performed.
    pub(super) fn answer_datagram(&self, client: SocketAddr, record: &[u8], out: &mut Writer) {
        let mut call = Reader::new(record);
        let header = match CallHeader::get(&mut call) {
            Ok(header) => header,
            Err(CallError::RpcVersion { xid, .. }) => {
                return Rejection::RpcMismatch { low: 2, high: 2 }.put(out, xid);
            }
            Err(CallError::Flavor { xid, .. }) => return Rejection::Auth(REJECTED_CREDENTIAL).put(out, xid),
            Err(CallError::Garbage(_)) => return,
        };
        self.counters.datagrams.fetch_add(1, Ordering::Relaxed);
        let key = changes_something(header).then(|| self.replies.key(client, header.xid, record));
        match key.map_or(Earlier::None, |key| self.replies.begin(key)) {
            Earlier::None => {}
            Earlier::InProgress => {
                self.counters.repeated_calls.fetch_add(1, Ordering::Relaxed);
                return;
            }
            Earlier::Answered(reply) => {
                self.counters.repeated_calls.fetch_add(1, Ordering::Relaxed);
                return out.raw(&reply);
            }
        }
        let limits = self.datagram_limits();
        put_answer(header, out, |out| self.perform_call(header, &mut call, out, limits, NFS_VERSION));
        if let Some(key) = key {
            self.replies.finish(key, out.as_slice());
        }
    }

    fn answer_call(&self, peer: &Arc<Peer>, header: CallHeader, call: &mut Reader<'_>, out: &mut Writer) {
        put_answer(header, out, |out| match (header.program, header.version, header.procedure) {
            (NFS_PROGRAM, NFS4_VERSION, 0) => Ok(Ok(())),
            (NFS_PROGRAM, NFS4_VERSION, COMPOUND) => self.compound(peer, call, out).map(Ok),
            (NFS_PROGRAM, NFS4_VERSION, _) => Ok(Err(Rejection::ProcedureUnavailable)),
            _ => self.perform_call(header, call, out, self.stream_limits(), NFS4_VERSION),
        });
    }

    /// Performs a call of NFSv3 or MOUNT, where versions of NFS up to `highest` are served.
    #[inline]
    fn perform_call(
        &self,
        header: CallHeader,
        call: &mut Reader<'_>,
        out: &mut Writer,
        limits: ReplyLimits,
        highest: u32,
    ) -> Result<Result<(), Rejection>, XdrError> {
        match (header.program, header.version) {
            (NFS_PROGRAM, NFS_VERSION) => self.perform(header.procedure, call, out, limits),
            (MOUNT_PROGRAM, MOUNT_VERSION) => self.mount(header.procedure, call, out),
            (NFS_PROGRAM, _) => Ok(Err(Rejection::ProgramMismatch { low: NFS_VERSION, high: highest })),
            (MOUNT_PROGRAM, _) => Ok(Err(Rejection::ProgramMismatch { low: 3, high: 3 })),
            _ => Ok(Err(Rejection::ProgramUnavailable)),
        }
    }

    const fn stream_limits(&self) -> ReplyLimits {
        ReplyLimits { transfer: self.options.max_transfer, page: MAX_PAGE_BYTES }
    }

    fn datagram_limits(&self) -> ReplyLimits {
        let transfer = self.options.max_transfer.min(MAX_DATAGRAM_TRANSFER);
        ReplyLimits { transfer, page: MAX_DATAGRAM_TRANSFER as usize }
    }

    #[inline]
    fn perform(
        &self,
        number: u32,
        call: &mut Reader<'_>,
        out: &mut Writer,
        limits: ReplyLimits,
    ) -> Result<Result<(), Rejection>, XdrError> {
        let Some(procedure) = Procedure::from_number(number) else {
            return Ok(Err(Rejection::ProcedureUnavailable));
        };
        self.counters.calls[procedure as usize].fetch_add(1, Ordering::Relaxed);
        match procedure {
            Procedure::Null => Ok(()),
            Procedure::GetAttr => self.get_attributes(call, out),
            Procedure::SetAttr => self.set_attributes(call, out),
            Procedure::Lookup => self.lookup(call, out),
            Procedure::Access => self.access(call, out),
            Procedure::Read => self.read(call, out, limits.transfer),
            Procedure::Write => self.write(call, out),
            Procedure::Create => self.create(call, out),
            Procedure::MkDir => self.make_directory(call, out),
            Procedure::Remove => self.remove(call, out),
            Procedure::RmDir => self.remove_directory(call, out),
            Procedure::Rename => self.rename(call, out),
            Procedure::ReadDir => self.list(call, out, false, limits.page),
            Procedure::ReadDirPlus => self.list(call, out, true, limits.page),
            Procedure::FsStat => self.fs_stat(call, out),
            Procedure::FsInfo => self.fs_info(call, out, limits.transfer),
            Procedure::PathConf => self.path_conf(call, out),
            Procedure::Commit => self.commit(call, out),
            Procedure::ReadLink => self.read_link(call, out),
            Procedure::SymLink => self.make_symbolic_link(call, out),
            Procedure::MkNod => self.make_special_file(call, out),
            Procedure::Link => self.link(call, out),
        }
        .map(Ok)
    }
}
