//! Answers to calls of the server: `CB_NULL` and `CB_COMPOUND` on the connections of the session.
//!
//! This client wants no layouts, and delegations only where a test is about them. A delegation that a server grants
//! nevertheless is returned at once; a recall that crosses its return is answered as known.

use std::collections::VecDeque;

use crate::rpc::{CallError, CallHeader, Rejection, put_success};
use crate::v4::callback::{
    CALLBACK_COMPOUND, CALLBACK_NULL, CallbackGetAttr, CallbackHead, CallbackOperation, CallbackSequence,
    CallbackSequenced, NotifyLock, Offloaded, Recall, RecallAny, RecallSlot,
};
use crate::v4::compound::{OK, ReplyHead, ResultHead};
use crate::v4::data::StateId;
use crate::v4::item::Item;
use crate::v4::session::SessionId;
use crate::v4::status::Nfs4Status;
use crate::xdr::{Reader, Writer, XdrError};

/// RPC program of callbacks, which this client chooses (RFC 8881, 18.36.3).
pub(crate) const CALLBACK_PROGRAM: u32 = 0x4000_0000;

/// Most recalled delegations that are known. A session holds one.
const MAX_RECALLED: usize = 16;

/// The only slot of the back channel: the number of the last call, and the reply to it.
#[derive(Debug, Default)]
pub(crate) struct CallbackSlot {
    sequence: u32,
    reply: Vec<u8>,
    /// The asynchronous copy that ended last, which a COPY may wait for.
    pub(crate) offloaded: Option<Offloaded>,
    /// The delegations that were recalled last.
    recalled: VecDeque<[u8; 12]>,
}

impl CallbackSlot {
    /// Forgets the recalls of earlier delegations.
    pub(crate) fn forget_recalls(&mut self) {
        self.recalled.clear();
    }

    /// True if the server has recalled this delegation.
    pub(crate) fn is_recalled(&self, state: StateId) -> bool {
        self.recalled.contains(&state.other)
    }

    fn recall(&mut self, state: StateId) {
        if self.recalled.len() == MAX_RECALLED {
            self.recalled.pop_front();
        }
        self.recalled.push_back(state.other);
    }
}

/// Encodes the reply to a call of the server.
pub(crate) fn answer(
    record: &[u8],
    session: Option<SessionId>,
    slot: &mut CallbackSlot,
    reply: &mut Writer,
) -> Result<(), XdrError> {
    let mut reader = Reader::new(record);
    let header = match CallHeader::get(&mut reader) {
        Ok(header) => header,
        Err(CallError::Garbage(error)) => return Err(error),
        Err(CallError::RpcVersion { xid, .. }) => {
            Rejection::RpcMismatch { low: 2, high: 2 }.put(reply, xid);
            return Ok(());
        }
        Err(CallError::Flavor { xid, .. }) => {
            Rejection::Auth(1).put(reply, xid);
            return Ok(());
        }
    };
    if header.program != CALLBACK_PROGRAM {
        Rejection::ProgramUnavailable.put(reply, header.xid);
        return Ok(());
    }
    put_success(reply, header.xid);
    match header.procedure {
        CALLBACK_NULL => {}
        CALLBACK_COMPOUND => {
            let start = reply.len();
            if compound(&mut reader, session, slot, reply).is_err() {
                reply.clear();
                Rejection::GarbageArguments.put(reply, header.xid);
            } else if slot.reply.is_empty() {
                slot.reply = reply.as_slice()[start..].to_vec();
            }
        }
        _ => {
            reply.clear();
            Rejection::ProcedureUnavailable.put(reply, header.xid);
        }
    }
    Ok(())
}

/// Performs the operations of a `CB_COMPOUND` up to the first failure.
fn compound(
    reader: &mut Reader<'_>,
    session: Option<SessionId>,
    slot: &mut CallbackSlot,
    reply: &mut Writer,
) -> Result<(), XdrError> {
    let head = CallbackHead::get(reader)?;
    let at = reply.len();
    let status_and_count = ReplyHead { status: OK, tag: head.tag, count: 0 };
    status_and_count.put(reply);
    let count_at = reply.len() - 4;
    let mut status = OK;
    let mut count = 0;
    for number in 0..head.count {
        let code = reader.u32()?;
        let operation = CallbackOperation::from_code(code).unwrap_or(CallbackOperation::Illegal);
        if number == 0 && operation == CallbackOperation::Sequence {
            let arguments = CallbackSequence::get(reader)?;
            if arguments.sequence == slot.sequence && !slot.reply.is_empty() {
                // A repeated call: the reply to the first attempt.
                reply.truncate(at);
                reply.raw(&slot.reply);
                return Ok(());
            }
            status = sequence(&arguments, session, slot, reply);
        } else {
            status = perform(operation, reader, slot)?.map_or(OK, Nfs4Status::code);
            ResultHead { operation: operation as u32, status }.put(reply);
        }
        count += 1;
        if status != OK {
            break;
        }
    }
    reply.patch(at, status);
    reply.patch(count_at, count);
    Ok(())
}

/// `CB_SEQUENCE` (RFC 8881, 20.9).
fn sequence(
    arguments: &CallbackSequence<'_>,
    session: Option<SessionId>,
    slot: &mut CallbackSlot,
    reply: &mut Writer,
) -> u32 {
    let CallbackSequence { session: named, sequence, slot: number, .. } = *arguments;
    let status = if session != Some(named) {
        Some(Nfs4Status::Badsession)
    } else if number != 0 {
        Some(Nfs4Status::Badslot)
    } else if sequence != slot.sequence.wrapping_add(1) {
        Some(Nfs4Status::SeqMisordered)
    } else {
        None
    };
    let code = status.map_or(OK, Nfs4Status::code);
    ResultHead { operation: CallbackOperation::Sequence as u32, status: code }.put(reply);
    if status.is_none() {
        slot.sequence = sequence;
        slot.reply.clear();
        let sequenced =
            CallbackSequenced { session: named, sequence, slot: 0, highest_slot: 0, target_highest_slot: 0 };
        sequenced.put(reply);
    }
    code
}

/// Decodes the arguments of an operation and returns its failure.
fn perform(
    operation: CallbackOperation,
    reader: &mut Reader<'_>,
    slot: &mut CallbackSlot,
) -> Result<Option<Nfs4Status>, XdrError> {
    Ok(match operation {
        CallbackOperation::Offload => {
            slot.offloaded = Some(Offloaded::get(reader)?);
            None
        }
        // Whoever waits for it returns the delegation; the client has nothing to write before.
        CallbackOperation::Recall => {
            slot.recall(Recall::get(reader)?.state);
            None
        }
        // This client holds nothing of these types, and waits for no lock.
        CallbackOperation::RecallAny => RecallAny::get(reader).map(|_| None)?,
        CallbackOperation::NotifyLock => NotifyLock::get(reader).map(|_| None)?,
        // The slots in use above the limit become free by themselves.
        CallbackOperation::RecallSlot => RecallSlot::get(reader).map(|_| None)?,
        CallbackOperation::GetAttr => CallbackGetAttr::get(reader).map(|_| Some(Nfs4Status::Badhandle))?,
        CallbackOperation::LayoutRecall => Some(Nfs4Status::NomatchingLayout),
        CallbackOperation::Sequence => Some(Nfs4Status::SequencePos),
        CallbackOperation::Illegal => Some(Nfs4Status::OpIllegal),
        _ => Some(Nfs4Status::Notsupp),
    })
}
