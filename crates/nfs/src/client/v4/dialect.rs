//! Replies of NFSv4 to operations on file data: SEQUENCE, PUTFH and the operation.

use crate::client::rpc::calls::ExpectedReply;
use crate::client::rpc::dialect::{Dialect, Outcome, Places, Verdict};
use crate::client::rpc::replies::ReplyContent;
use crate::v4::compound::{NFS4_VERSION, OK, ReplyHead};
use crate::v4::data::{Committed, ReadHead, Written};
use crate::v4::item::Item;
use crate::v4::operation::Operation;
use crate::v4::status::Nfs4Status;
use crate::xdr::{Reader, XdrError};

/// NFS version 4, with sessions or without.
#[derive(Debug)]
pub(crate) enum V4 {}

/// Bytes of the result of SEQUENCE (RFC 8881, 18.46.2).
const SEQUENCED_BYTES: usize = 36;

/// Where a server stopped.
struct Stop {
    operation: u32,
    status: u32,
}

/// Moves to the result of `last` if all operations up to it have succeeded.
#[inline]
fn seek(reader: &mut Reader<'_>, last: Operation) -> Result<Result<(), Stop>, XdrError> {
    let head = ReplyHead::get(reader)?;
    if head.count == 0 {
        return Ok(Err(Stop { operation: Operation::Sequence as u32, status: head.status }));
    }
    loop {
        let operation = reader.u32()?;
        let status = reader.u32()?;
        if status != OK {
            return Ok(Err(Stop { operation, status }));
        }
        if operation == last as u32 {
            return Ok(Ok(()));
        }
        match Operation::from_code(operation) {
            Some(Operation::Sequence) => reader.take(SEQUENCED_BYTES).map(drop)?,
            Some(Operation::PutFh) => {}
            _ => return Err(XdrError::BadValue { field: "operation of a result", value: operation }),
        }
    }
}

impl Stop {
    #[cold]
    fn outcome(self, last: Operation) -> Outcome {
        let result = match Nfs4Status::from_code(self.status) {
            Some(status) => Err(status.failure(last.name())),
            None => Ok(ReplyContent::Metadata),
        };
        let of_sequence = self.operation == Operation::Sequence as u32;
        let sequence = if of_sequence { self.status } else { OK };
        Outcome { result, verdict: Verdict { sequence, status: self.status } }
    }
}

/// Status of SEQUENCE in the result of a metadata call; success if the call has none.
fn sequence_status(result: &[u8]) -> Result<Verdict, XdrError> {
    let mut reader = Reader::new(result);
    let head = ReplyHead::get(&mut reader)?;
    if head.count == 0 {
        return Ok(Verdict { sequence: head.status, status: head.status });
    }
    let sequence = if reader.u32()? == Operation::Sequence as u32 { reader.u32()? } else { OK };
    Ok(Verdict { sequence, status: head.status })
}

impl Dialect for V4 {
    const VERSION: u32 = NFS4_VERSION;
    const CALLBACKS: bool = true;

    #[inline]
    fn read_head(reader: &mut Reader<'_>) -> Result<Option<u32>, XdrError> {
        match seek(reader, Operation::Read)? {
            Ok(()) => Ok(Some(ReadHead::get(reader)?.count)),
            Err(_) => Ok(None),
        }
    }

    #[inline]
    fn outcome(
        reader: &mut Reader<'_>,
        index: usize,
        expected: ExpectedReply,
        places: &mut Places<'_>,
    ) -> Result<Outcome, XdrError> {
        let last = match expected {
            ExpectedReply::Read { .. } => Operation::Read,
            ExpectedReply::Write { .. } => Operation::Write,
            ExpectedReply::Flush { .. } => Operation::Commit,
            ExpectedReply::Metadata => {
                places.keep_result(index, reader.rest());
                let verdict = sequence_status(reader.rest())?;
                return Ok(Outcome { result: Ok(ReplyContent::Metadata), verdict });
            }
            ExpectedReply::Renewal => {
                let verdict = sequence_status(reader.rest())?;
                return Ok(Outcome { result: Ok(ReplyContent::Metadata), verdict });
            }
        };
        if let Err(stop) = seek(reader, last)? {
            return Ok(stop.outcome(last));
        }
        let content = match expected {
            ExpectedReply::Read { len } => {
                let count = ReadHead::get(reader)?.count;
                places.keep_data(reader, index, count, len)?
            }
            ExpectedReply::Write { .. } => {
                let Written { count, committed, verifier } = Written::get(reader)?;
                ReplyContent::Written(crate::results::Written { count, committed, verifier })
            }
            _ => ReplyContent::Committed(Committed::get(reader)?.verifier),
        };
        Ok(Ok(content).into())
    }
}
