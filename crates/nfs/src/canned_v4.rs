//! The answers of the canned responder to NFSv4: the least that a client of any minor version needs to read and write.

use crate::v4::attribute_types::FileType;
use crate::v4::attributes::Attributes;
use crate::v4::bitmap::Bitmap;
use crate::v4::client_id::{ClientIdConfirm, SetClientId};
use crate::v4::compound::{CallHead, OK, ReplyHead, ResultHead, get_operation};
use crate::v4::data::{Close, Commit, Committed, PutFh, Read, ReadHead, StateId, WriteHead, Written};
use crate::v4::item::{Item, Opaque};
use crate::v4::names::{GetAttr, Lookup, Remove, SetAttr};
use crate::v4::open::{ChangeInfo, Delegation, Open, Opened};
use crate::v4::operation::Operation;
use crate::v4::session::{
    BOUND_BOTH, BindConnection, BoundConnection, CreateSession, CreatedSession, DestroyClientId,
    DestroySession, ExchangeId, ExchangedId, NoStateProtection, ReclaimComplete, Sequence, Sequenced,
};
use crate::v4::status::Nfs4Status;
use crate::xdr::{Reader, Writer, XdrError};

/// Reported size of every file.
const FILE_BYTES: u64 = 1 << 40;
/// Largest READ and WRITE.
const MAX_DATA: u32 = 1 << 20;
const ROOT: &[u8] = b"root";
const DIRECTORY: &[u8] = b"directory";
const FILE: &[u8] = b"file";
const STATE: StateId = StateId { sequence: 1, other: [1; 12] };
const CHANGE: ChangeInfo = ChangeInfo { atomic: true, before: 1, after: 2 };

/// Answers a COMPOUND: the first name below the root is a directory, and every other name is a file.
pub(crate) fn put_compound(reader: &mut Reader<'_>, out: &mut Writer) -> Result<(), XdrError> {
    let head = CallHead::get(reader)?;
    let at = out.len();
    ReplyHead { status: OK, tag: head.tag, count: 0 }.put(out);
    let count_at = out.len() - 4;
    let mut current = ROOT;
    for number in 0..head.count {
        let operation = get_operation(reader)?.unwrap_or(Operation::Illegal);
        ResultHead { operation: operation as u32, status: OK }.put(out);
        let answered = put_result(operation, &mut current, reader, out)?;
        out.patch(count_at, number + 1);
        if !answered {
            let status = Nfs4Status::Notsupp.code();
            out.patch(out.len() - 4, status);
            out.patch(at, status);
            break;
        }
    }
    Ok(())
}

/// Decodes the arguments of an operation and appends its result; false if it is not answered.
fn put_result(
    operation: Operation,
    current: &mut &'static [u8],
    reader: &mut Reader<'_>,
    out: &mut Writer,
) -> Result<bool, XdrError> {
    match operation {
        Operation::PutRootFh => *current = ROOT,
        Operation::PutFh => *current = known(PutFh::get(reader)?.handle.0),
        Operation::GetFh => PutFh { handle: Opaque(current) }.put(out),
        Operation::Lookup => {
            Lookup::get(reader)?;
            *current = if *current == ROOT { DIRECTORY } else { FILE };
        }
        Operation::GetAttr => {
            let GetAttr { wanted } = GetAttr::get(reader)?;
            attributes(*current != FILE).put_masked(wanted, out);
        }
        Operation::Open => {
            Open::get(reader)?;
            *current = FILE;
            let set = Bitmap::default();
            Opened { state: STATE, change: CHANGE, flags: 0, set, delegation: Delegation::None }.put(out);
        }
        Operation::Close => {
            Close::get(reader)?;
            STATE.put(out);
        }
        Operation::Remove => {
            Remove::get(reader)?;
            CHANGE.put(out);
        }
        Operation::SetAttr => {
            let set = SetAttr::get(reader)?.attributes.mask();
            set.put(out);
        }
        Operation::Read | Operation::Write | Operation::Commit => put_data(operation, reader, out)?,
        _ => return put_session_result(operation, reader, out),
    }
    Ok(true)
}

fn put_data(operation: Operation, reader: &mut Reader<'_>, out: &mut Writer) -> Result<(), XdrError> {
    match operation {
        Operation::Read => {
            let count = Read::get(reader)?.count.min(MAX_DATA);
            ReadHead { eof: false, count }.put(out);
            let bytes = (count as usize).next_multiple_of(4);
            out.spare(bytes);
            out.advance(bytes);
        }
        Operation::Write => {
            let WriteHead { count, stable, .. } = WriteHead::get(reader)?;
            reader.take((count as usize).next_multiple_of(4))?;
            Written { count, committed: stable, verifier: [1; 8] }.put(out);
        }
        _ => {
            Commit::get(reader)?;
            Committed { verifier: [1; 8] }.put(out);
        }
    }
    Ok(())
}

fn put_session_result(
    operation: Operation,
    reader: &mut Reader<'_>,
    out: &mut Writer,
) -> Result<bool, XdrError> {
    match operation {
        Operation::Sequence => {
            let Sequence { session, sequence, slot, highest_slot, .. } = Sequence::get(reader)?;
            let target_highest_slot = highest_slot;
            let status_flags = 0;
            Sequenced { session, sequence, slot, highest_slot, target_highest_slot, status_flags }.put(out);
        }
        Operation::ExchangeId => {
            ExchangeId::get(reader)?;
            exchanged().put(out);
        }
        Operation::CreateSession => {
            let CreateSession { sequence, flags, fore_channel, back_channel, .. } =
                CreateSession::get(reader)?;
            CreatedSession { session: [1; 16], sequence, flags, fore_channel, back_channel }.put(out);
        }
        Operation::BindConnToSession => {
            let BindConnection { session, rdma, .. } = BindConnection::get(reader)?;
            BoundConnection { session, direction: BOUND_BOTH, rdma }.put(out);
        }
        Operation::ReclaimComplete => ReclaimComplete::get(reader).map(drop)?,
        Operation::DestroySession => DestroySession::get(reader).map(drop)?,
        Operation::DestroyClientId => DestroyClientId::get(reader).map(drop)?,
        Operation::SetClientId => {
            SetClientId::get(reader)?;
            ClientIdConfirm { client_id: 1, verifier: [1; 8] }.put(out);
        }
        Operation::SetClientIdConfirm => ClientIdConfirm::get(reader).map(drop)?,
        Operation::Renew => reader.u64().map(drop)?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// The handle of the responder with these bytes; a file if there is none.
fn known(handle: &[u8]) -> &'static [u8] {
    [ROOT, DIRECTORY].into_iter().find(|known| *known == handle).unwrap_or(FILE)
}

fn exchanged() -> ExchangedId<'static> {
    ExchangedId {
        client_id: 1,
        sequence: 1,
        flags: crate::v4::session::USE_NON_PNFS,
        protection: NoStateProtection,
        minor_id: 0,
        major_id: Opaque(b"canned"),
        scope: Opaque(b"canned"),
        implementation: None,
    }
}

fn attributes(directory: bool) -> Attributes<'static> {
    Attributes {
        kind: Some(if directory { FileType::Directory } else { FileType::Regular }),
        size: Some(if directory { 0 } else { FILE_BYTES }),
        lease_seconds: Some(90),
        max_file_size: Some(u64::MAX >> 1),
        max_read: Some(MAX_DATA.into()),
        max_write: Some(MAX_DATA.into()),
        space_available: Some(FILE_BYTES),
        space_total: Some(FILE_BYTES),
        ..Attributes::default()
    }
}
