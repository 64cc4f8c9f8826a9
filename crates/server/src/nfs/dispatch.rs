//! Dispatches a call to its procedure.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use sharebench_nfs::compound::{COMPOUND, NFS4_VERSION};
use sharebench_nfs::protocol::{MOUNT_PROGRAM, MOUNT_VERSION, NFS_PROGRAM, NFS_VERSION, Procedure};
use sharebench_nfs::record::{begin_record, end_record};
use sharebench_nfs::rpc::{CallError, CallHeader, Rejection, put_success};
use sharebench_nfs::xdr::{Reader, Writer, XdrError};

use crate::nfs::state::ServerState;
use crate::nfs::v4::Peer;

/// `AUTH_REJECTEDCRED` (RFC 5531, 9).
const REJECTED_CREDENTIAL: u32 = 2;
/// Message type of a reply (RFC 5531, 9).
const REPLY: u32 = 1;

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

    fn answer_call(&self, peer: &Arc<Peer>, header: CallHeader, call: &mut Reader<'_>, out: &mut Writer) {
        let start = out.len();
        put_success(out, header.xid);
        let answered = match (header.program, header.version) {
            (NFS_PROGRAM, NFS_VERSION) => self.perform(header.procedure, call, out),
            (MOUNT_PROGRAM, MOUNT_VERSION) => self.mount(header.procedure, call, out),
            (NFS_PROGRAM, NFS4_VERSION) => match header.procedure {
                0 => Ok(Ok(())),
                COMPOUND => self.compound(peer, call, out).map(Ok),
                _ => Ok(Err(Rejection::ProcedureUnavailable)),
            },
            (NFS_PROGRAM, _) => Ok(Err(Rejection::ProgramMismatch { low: NFS_VERSION, high: NFS4_VERSION })),
            (MOUNT_PROGRAM, _) => Ok(Err(Rejection::ProgramMismatch { low: 3, high: 3 })),
            _ => Ok(Err(Rejection::ProgramUnavailable)),
        };
        if let Err(rejection) = answered.unwrap_or(Err(Rejection::GarbageArguments)) {
            out.truncate(start);
            rejection.put(out, header.xid);
        }
    }

    #[inline]
    fn perform(
        &self,
        number: u32,
        call: &mut Reader<'_>,
        out: &mut Writer,
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
            Procedure::Read => self.read(call, out),
            Procedure::Write => self.write(call, out),
            Procedure::Create => self.create(call, out),
            Procedure::MkDir => self.make_directory(call, out),
            Procedure::Remove => self.remove(call, out),
            Procedure::RmDir => self.remove_directory(call, out),
            Procedure::Rename => self.rename(call, out),
            Procedure::ReadDir => self.list(call, out, false),
            Procedure::ReadDirPlus => self.list(call, out, true),
            Procedure::FsStat => self.fs_stat(call, out),
            Procedure::FsInfo => self.fs_info(call, out),
            Procedure::PathConf => self.path_conf(call, out),
            Procedure::Commit => self.commit(call, out),
            // post_op_attr; wcc_data; post_op_attr and wcc_data (RFC 1813, 3.3.5, 3.3.10, 3.3.11, 3.3.15).
            Procedure::ReadLink => self.unsupported(call, out, 1),
            Procedure::SymLink | Procedure::MkNod => self.unsupported(call, out, 2),
            Procedure::Link => self.unsupported(call, out, 3),
        }
        .map(Ok)
    }
}
