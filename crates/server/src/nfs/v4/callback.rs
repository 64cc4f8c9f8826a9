//! Calls from the server to a client: what they say, and their bytes.

use sharebench_nfs::record::{begin_record, end_record};
use sharebench_nfs::rpc::{AuthSys, CallTemplate, get_reply};
use sharebench_nfs::v4::callback::{
    CALLBACK_COMPOUND, CALLBACK_VERSION, CallbackHead, CallbackOperation, CallbackSequence, NotifyLock,
    Recall,
};
use sharebench_nfs::v4::compound::ReplyHead;
use sharebench_nfs::v4::data::StateId;
use sharebench_nfs::v4::item::{Item, Opaque};
use sharebench_nfs::v4::list::List;
use sharebench_nfs::v4::open::StateOwner;
use sharebench_nfs::v4::session::{CallbackSecurity, SessionId};
use sharebench_nfs::xdr::{Reader, Writer, XdrError};

/// A call to a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::nfs::v4) enum Callback {
    /// Return a delegation.
    Recall {
        /// The delegation.
        state: StateId,
        /// Handle of the file.
        handle: Vec<u8>,
    },
    /// A lock that was denied may be available.
    NotifyLock {
        /// Handle of the file.
        handle: Vec<u8>,
        /// The client and its owner of the lock.
        owner: (u64, Box<[u8]>),
    },
}

/// Bytes of a callback on the wire without owners.
pub(in crate::nfs::v4) const CALLBACK_BYTES: usize = 512;

impl Callback {
    /// Bytes that it is charged while it waits. The charge of a delegation contains its recall.
    pub(in crate::nfs::v4) fn charged_bytes(&self) -> usize {
        match self {
            Self::Recall { .. } => 0,
            Self::NotifyLock { handle, owner } => CALLBACK_BYTES + handle.len() + 2 * owner.1.len(),
        }
    }
}

/// What a client accepts in callbacks.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CallbackTarget {
    /// The program of the client.
    pub(super) program: u32,
    /// User and group; none for calls without credentials.
    pub(super) identity: Option<(u32, u32)>,
}

impl CallbackTarget {
    /// The program and credentials that a client requests. `AUTH_NONE` is preferred.
    pub(super) fn new(program: u32, security: &CallbackSecurity) -> Self {
        Self { program, identity: security.sys.filter(|_| !security.none) }
    }
}

/// Where a callback belongs.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallbackHeader {
    /// The number of the call.
    pub(super) xid: u32,
    pub(super) target: CallbackTarget,
    pub(super) minor_version: u32,
    pub(super) session: SessionId,
    /// Its number in the session.
    pub(super) sequence: u32,
}

/// The complete record of a callback.
pub(super) fn encode(header: CallbackHeader, callback: &Callback) -> Vec<u8> {
    let CallbackHeader { xid, target, minor_version, session, sequence } = header;
    let mut out = Writer::with_capacity(CALLBACK_BYTES);
    let at = begin_record(&mut out);
    let identity = target.identity;
    let auth = identity.map(|(uid, gid)| AuthSys { machine: String::new(), uid, gid, groups: Vec::new() });
    CallTemplate::new(target.program, CALLBACK_VERSION, auth.as_ref()).put(&mut out, xid, CALLBACK_COMPOUND);
    CallbackHead { tag: Opaque(b""), minor_version, ident: 0, count: 2 }.put(&mut out);
    out.u32(CallbackOperation::Sequence as u32);
    CallbackSequence {
        session,
        sequence,
        slot: 0,
        highest_slot: 0,
        cache_reply: false,
        referring: List::default(),
    }
    .put(&mut out);
    match callback {
        Callback::Recall { state, handle } => {
            out.u32(CallbackOperation::Recall as u32);
            Recall { state: *state, truncate: false, handle: Opaque(handle) }.put(&mut out);
        }
        Callback::NotifyLock { handle, owner } => {
            out.u32(CallbackOperation::NotifyLock as u32);
            let owner = StateOwner { client_id: owner.0, owner: Opaque(&owner.1) };
            NotifyLock { handle: Opaque(handle), owner }.put(&mut out);
        }
    }
    end_record(&mut out, at, 0);
    out.as_slice().to_vec()
}

/// Number and status of a reply; a rejected call has the status of a fault.
pub(super) fn reply_status(record: &[u8]) -> Result<(u32, u32), XdrError> {
    /// `NFS4ERR_SERVERFAULT`.
    const FAULT: u32 = 10_006;
    let mut reader = Reader::new(record);
    let (xid, outcome) = get_reply(&mut reader)?;
    if outcome.is_err() {
        return Ok((xid, FAULT));
    }
    Ok((xid, ReplyHead::get(&mut reader)?.status))
}

#[cfg(test)]
mod tests {
    use sharebench_nfs::rpc::CallHeader;

    use super::*;

    #[test]
    fn a_recall_is_a_call_of_the_clients_program() {
        let state = StateId { sequence: 1, other: [7; 12] };
        let recall = Callback::Recall { state, handle: b"handle".to_vec() };
        let target = CallbackTarget { program: 0x4000_0000, identity: Some((7, 8)) };
        let record = encode(
            CallbackHeader { xid: 9, target, minor_version: 1, session: [3; 16], sequence: 5 },
            &recall,
        );
        let mut reader = Reader::new(&record[4..]);
        let header = CallHeader::get(&mut reader).unwrap();
        assert_eq!((header.xid, header.program, header.procedure), (9, 0x4000_0000, 1));
        // AUTH_SYS, whose body ends with user, group and no further groups, before an empty verifier.
        assert_eq!(header.flavor, 1);
        let end = record.len() - reader.rest().len() - 8;
        assert_eq!(record[end - 12..end], [7, 8, 0].map(u32::to_be_bytes).concat());
        assert_eq!(CallbackHead::get(&mut reader).unwrap().count, 2);
        reader.u32().unwrap();
        assert_eq!(CallbackSequence::get(&mut reader).unwrap().sequence, 5);
        assert_eq!(reader.u32(), Ok(CallbackOperation::Recall as u32));
        assert_eq!(Recall::get(&mut reader).unwrap().state, state);
        assert!(reader.rest().is_empty());
    }
}
