//! How the replies of version 3 are decoded.

use crate::client::rpc::calls::ExpectedReply;
use crate::client::rpc::dialect::{Dialect, Outcome, Places};
use crate::client::rpc::replies::{ReplyContent, request};
use crate::protocol::NFS_VERSION;
use crate::results::{ReadHead, Written, get_commit, get_status};
use crate::xdr::{Reader, XdrError};

/// NFS version 3 (RFC 1813).
#[derive(Debug)]
pub(crate) enum V3 {}

impl Dialect for V3 {
    const VERSION: u32 = NFS_VERSION;
    const CALLBACKS: bool = false;

    #[inline]
    fn read_head(reader: &mut Reader<'_>) -> Result<Option<u32>, XdrError> {
        if get_status(reader)?.is_err() {
            return Ok(None);
        }
        Ok(Some(ReadHead::get(reader)?.count))
    }

    #[inline]
    fn outcome(
        reader: &mut Reader<'_>,
        index: usize,
        expected: ExpectedReply,
        places: &mut Places<'_>,
    ) -> Result<Outcome, XdrError> {
        if matches!(expected, ExpectedReply::Metadata | ExpectedReply::Renewal) {
            places.keep_result(index, reader.rest());
            return Ok(Ok(ReplyContent::Metadata).into());
        }
        if let Err(status) = get_status(reader)? {
            return Ok(Err(status.failure(request(expected))).into());
        }
        let content = match expected {
            ExpectedReply::Read { len } => {
                let count = ReadHead::get(reader)?.count;
                places.keep_data(reader, index, count, len)?
            }
            ExpectedReply::Write { .. } => ReplyContent::Written(Written::get(reader)?),
            ExpectedReply::Flush { .. } => ReplyContent::Committed(get_commit(reader)?),
            ExpectedReply::Metadata | ExpectedReply::Renewal => ReplyContent::Metadata,
        };
        Ok(Ok(content).into())
    }
}
