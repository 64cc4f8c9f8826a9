//! What distinguishes the replies of one version of NFS from those of another.

use sharebench_model::OpError;

use crate::client::rpc::calls::ExpectedReply;
use crate::client::rpc::replies::ReplyContent;
use crate::xdr::{Reader, XdrError};

/// The slots' buffers and the places of metadata results, into which a reply is decoded.
pub(crate) struct Places<'a> {
    pub(crate) buffers: &'a mut [Box<[u8]>],
    pub(crate) metadata_results: &'a mut [Vec<u8>],
}

impl Places<'_> {
    /// Keeps the result of the metadata call at `index`.
    pub(crate) fn keep_result(&mut self, index: usize, result: &[u8]) {
        if let Some(place) = self.metadata_results.get_mut(index) {
            place.clear();
            place.extend_from_slice(result);
        }
    }

    /// Copies the data of a READ of at most `len` bytes into the buffer of its slot.
    #[inline]
    pub(crate) fn keep_data(
        &mut self,
        reader: &mut Reader<'_>,
        index: usize,
        count: u32,
        len: u32,
    ) -> Result<ReplyContent, XdrError> {
        let data = reader.take(count as usize)?;
        let too_long = XdrError::TooLong { field: "READ data", len: count, max: len as usize };
        let place = self.buffers.get_mut(index).and_then(|buffer| buffer.get_mut(..data.len()));
        place.filter(|_| count <= len).ok_or(too_long)?.copy_from_slice(data);
        Ok(ReplyContent::Read(count))
    }
}

/// The outcome of a call as its result states it.
pub(crate) struct Outcome {
    pub(crate) result: Result<ReplyContent, OpError>,
    pub(crate) verdict: Verdict,
}

/// What the client of a session needs to know about a reply, apart from its result. All zeros without sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Verdict {
    /// Status of SEQUENCE, 0 for success: unless it is 0, the server did nothing, and the slot is where it was.
    pub(crate) sequence: u32,
    /// Status of the last operation that the server performed.
    pub(crate) status: u32,
}

impl Verdict {
    /// The server rejected the call before it looked at the sequence.
    pub(crate) const REJECTED: Self = Self { sequence: u32::MAX, status: u32::MAX };
}

impl From<Result<ReplyContent, OpError>> for Outcome {
    #[inline]
    fn from(result: Result<ReplyContent, OpError>) -> Self {
        Self { result, verdict: Verdict::default() }
    }
}

/// A version of NFS as the receiver sees it: how results follow the head of an RPC reply.
///
/// It is a parameter of the channel, so that each version has its own compiled data path without dynamic dispatch.
pub(crate) trait Dialect {
    /// Version of the program.
    const VERSION: u32;
    /// The server calls the client on the same connection.
    const CALLBACKS: bool;

    /// Decodes the result of a READ up to its data: their number of bytes, or none if the READ failed.
    fn read_head(reader: &mut Reader<'_>) -> Result<Option<u32>, XdrError>;

    /// Decodes a complete result: the outer result is about the encoding, the inner one about the operation.
    fn outcome(
        reader: &mut Reader<'_>,
        index: usize,
        expected: ExpectedReply,
        places: &mut Places<'_>,
    ) -> Result<Outcome, XdrError>;
}
