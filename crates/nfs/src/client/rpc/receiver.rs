//! The receiving half of a connection: bursts of small replies, and large payload received in place.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use sharebench_client_core::connection_error::{closed_by_server, disconnected, protocol_violation};
use sharebench_client_core::{ArrivingStream, MIN_DIRECT_BYTES, ReceiveBuffer};
use sharebench_model::OpError;
use sharebench_tls::TlsStream;
use tokio::io::{AsyncRead, ReadBuf};

use crate::client::rpc::calls::{Calls, ExpectedReply};
use crate::client::rpc::datagrams::Datagrams;
use crate::client::rpc::dialect::{Dialect, Places};
use crate::client::rpc::replies::{Completion, Received, accept};
use crate::record::{FRAGMENT_HEADER_BYTES, FragmentHeader, NextRecord, RecordReassembly, next_record};
use crate::rpc::get_reply;
use crate::xdr::{Reader, XdrError, padding};

/// Limit of the bytes before a READ's data: 4 + 24 + 400 (verifier) + 4 + 88 + 12.
const HEAD_BYTES: usize = 1 << 10;

/// A READ reply whose data are being received into their slot.
#[derive(Debug, Clone, Copy)]
struct DirectRead {
    index: usize,
    filled: usize,
    len: usize,
}

/// Receives records and decodes the replies in them.
///
/// A record takes one of three ways. Small records arrive in bursts in `buffer` and are decoded there. The data of a
/// large READ reply go from the socket straight into their slot, which saves one copy of each byte on the path that the
/// benchmark measures. Any other record that is larger than the buffer, or comes in several fragments, is collected in
/// `reassembly`, a protected READ reply too, because its signature is verified first. While a large READ is in flight, the receiver reads no more ahead than it needs to see where the data
/// belong.
#[derive(Debug)]
pub(crate) struct Receiver {
    buffer: ReceiveBuffer,
    reassembly: RecordReassembly,
    direct: Option<DirectRead>,
    max_record: usize,
    /// Calls of the server that were not answered yet.
    pub(crate) callbacks: Vec<Vec<u8>>,
}

/// What replies arrive on.
pub(crate) trait ReplyStream: AsyncRead + Unpin {
    /// States how many of the bytes to be read next are certain to arrive, 0 where that is not known.
    fn expect(&mut self, _bytes: usize) {}
}

impl ReplyStream for ArrivingStream<'_> {
    fn expect(&mut self, bytes: usize) {
        ArrivingStream::expect(self, bytes);
    }
}

/// The library of TLS reads whole records.
impl ReplyStream for TlsStream {}

/// A datagram arrives as a whole.
impl ReplyStream for Datagrams {}

/// Largest number of calls of the server that wait for an answer. A server has one slot for them.
const MAX_CALLBACKS: usize = 16;

enum DirectStart {
    /// The data follow; this many bytes of the buffer precede them.
    Data(usize),
    /// The head of the reply has not arrived completely.
    NeedMore,
    /// The record does not hold the data of a READ.
    Other,
}

impl Receiver {
    /// Makes a receiver for the bursts of `slots`; a record above `max_record` is an error of the connection.
    pub(crate) fn new(slots: usize, slot_bytes: usize, max_record: usize) -> Self {
        Self {
            buffer: ReceiveBuffer::for_slots(slots, slot_bytes, 4 * HEAD_BYTES),
            reassembly: RecordReassembly::new(max_record),
            direct: None,
            max_record,
            callbacks: Vec::new(),
        }
    }

    /// Returns the memory, unless it holds part of a record.
    pub(crate) fn release_buffers(&mut self) {
        if self.buffer.is_empty() && self.direct.is_none() && !self.reassembly.in_progress() {
            self.buffer.release();
            self.reassembly = RecordReassembly::new(self.max_record);
        }
    }

    /// Reads once per burst until at least one more reply is complete.
    pub(crate) fn poll_receive<D: Dialect, S: ReplyStream>(
        &mut self,
        stream: &mut S,
        cx: &mut Context<'_>,
        calls: &mut Calls,
        places: &mut Places<'_>,
        completions: &mut Vec<Completion>,
        received: &mut u64,
    ) -> Poll<Result<(), OpError>> {
        // Each connection receives its share, whatever the others have received.
        let before = completions.len();
        while completions.len() == before {
            stream.expect(self.missing_data());
            let mut space = ReadBuf::new(self.space(calls, places.buffers));
            ready!(Pin::new(&mut *stream).poll_read(cx, &mut space))
                .map_err(|error| disconnected(error.to_string()))?;
            let count = space.filled().len();
            if count == 0 {
                return Poll::Ready(Err(closed_by_server()));
            }
            *received += count as u64;
            match &mut self.direct {
                Some(direct) if direct.filled < direct.len => direct.filled += count,
                _ if self.reassembly.space().is_some() => self.reassembly.received(count),
                _ => self.buffer.received(count),
            }
            self.parse::<D>(calls, places, completions)?;
        }
        Poll::Ready(Ok(()))
    }

    /// Bytes that have not arrived of the data that go into a slot.
    fn missing_data(&self) -> usize {
        self.direct.map_or(0, |direct| direct.len.saturating_sub(direct.filled))
    }

    /// Where the next bytes go: into a slot while its data arrive, into a record that is collected, otherwise into the
    /// buffer.
    fn space<'a>(&'a mut self, calls: &Calls, buffers: &'a mut [Box<[u8]>]) -> &'a mut [u8] {
        if let Some(direct) = self.direct
            && direct.filled < direct.len
            && let Some(space) = buffers[direct.index].get_mut(direct.filled..direct.len)
        {
            return space;
        }
        // The buffer is empty then: what it held has moved into the record.
        if self.reassembly.space().is_some() {
            return self.reassembly.space().unwrap_or_default();
        }
        // While a large READ is in flight, read only as much as shows where its data belong.
        let wanted =
            if calls.expects_direct_read() && !calls.are_protected() { HEAD_BYTES } else { usize::MAX };
        self.buffer.space(wanted, HEAD_BYTES / 2)
    }

    fn parse<D: Dialect>(
        &mut self,
        calls: &mut Calls,
        places: &mut Places<'_>,
        completions: &mut Vec<Completion>,
    ) -> Result<(), OpError> {
        loop {
            if self.direct.is_some() {
                match self.continue_direct(calls, places.buffers) {
                    Some(completion) => completions.push(completion),
                    None => return Ok(()),
                }
            }
            if self.reassembly.in_progress() {
                if !self.reassemble::<D>(calls, places, completions)? {
                    return Ok(());
                }
                continue;
            }
            let bytes = self.buffer.bytes_mut();
            match next_record(bytes, self.max_record).map_err(protocol_violation)? {
                NextRecord::Incomplete => return Ok(()),
                NextRecord::Whole { start, end } => {
                    let record = calls.open_reply(&mut bytes[start..end]).map_err(protocol_violation)?;
                    match accept::<D>(record, calls, places)? {
                        Received::Reply(completion) => completions.push(completion),
                        Received::Callback => keep_callback(&mut self.callbacks, record)?,
                    }
                    self.buffer.consume(end);
                }
                NextRecord::Partial(fragment) => {
                    if !self.begin_large::<D>(fragment, calls, places, completions)? {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Decides how to receive the remainder of an incomplete record; false if it fits into the buffer.
    fn begin_large<D: Dialect>(
        &mut self,
        fragment: FragmentHeader,
        calls: &mut Calls,
        places: &mut Places<'_>,
        completions: &mut Vec<Completion>,
    ) -> Result<bool, OpError> {
        let fits = FRAGMENT_HEADER_BYTES + fragment.len <= self.buffer.capacity();
        // Small replies share a burst, so the remainder of this one is awaited in the buffer.
        if fragment.last && fits && fragment.len < MIN_DIRECT_BYTES as usize {
            return Ok(false);
        }
        // A protected reply must be complete before any of it can be believed.
        if fragment.last && !calls.are_protected() {
            match self.begin_direct::<D>(fragment, calls).map_err(protocol_violation)? {
                DirectStart::Data(used) => {
                    self.exchange_buffers(calls, places.buffers);
                    self.buffer.consume(used);
                    return Ok(true);
                }
                DirectStart::NeedMore => return Ok(false),
                DirectStart::Other if fits => return Ok(false),
                DirectStart::Other => {}
            }
        }
        self.reassemble::<D>(calls, places, completions)
    }

    fn begin_direct<D: Dialect>(
        &mut self,
        fragment: FragmentHeader,
        calls: &Calls,
    ) -> Result<DirectStart, XdrError> {
        let head = &self.buffer.bytes()[FRAGMENT_HEADER_BYTES..];
        let mut reader = Reader::new(head);
        let parsed = (|| {
            let (xid, outcome) = get_reply(&mut reader)?;
            let Some((index, ExpectedReply::Read { len })) = calls.find(xid) else { return Ok(None) };
            if outcome.is_err() {
                return Ok(None);
            }
            Ok(D::read_head(&mut reader)?.map(|count| (index, len, count)))
        })();
        let (index, len, count) = match parsed {
            Ok(Some(read)) => read,
            Ok(None) => return Ok(DirectStart::Other),
            // Truncated means here that the head has not arrived yet, not that the message is malformed: the
            // record's length promises more.
            Err(XdrError::Truncated { .. }) => return Ok(DirectStart::NeedMore),
            Err(error) => return Err(error),
        };
        let used = head.len() - reader.rest().len();
        // More data than requested would pass the end of the record in the slot.
        if count > len {
            return Err(XdrError::TooLong { field: "READ data", len: count, max: len as usize });
        }
        // The data must end where the record ends; otherwise the bytes after them would be taken for the next
        // record.
        if used + (count as usize).next_multiple_of(4) != fragment.len {
            let value = fragment.len as u32;
            return Err(XdrError::BadValue { field: "length of a READ reply", value });
        }
        self.direct = Some(DirectRead { index, filled: 0, len: count as usize });
        Ok(DirectStart::Data(FRAGMENT_HEADER_BYTES + used))
    }

    /// Gives the READ a buffer that is in the processor's cache, if one is free; its own goes to the other slot. At any depth,
    /// data then arrive in the same few buffers.
    fn exchange_buffers(&self, calls: &mut Calls, buffers: &mut [Box<[u8]>]) {
        if let Some(direct) = self.direct
            && let Some(free) = calls.take_free_buffer(direct.index)
            && buffers[direct.index].len() == buffers[free].len()
        {
            buffers.swap(direct.index, free);
        }
    }

    /// Moves what the buffer holds of a READ's data into their slot; returns the completion once the reply is complete.
    fn continue_direct(&mut self, calls: &mut Calls, buffers: &mut [Box<[u8]>]) -> Option<Completion> {
        let direct = self.direct.as_mut()?;
        let bytes = self.buffer.bytes();
        let count = bytes.len().min(direct.len - direct.filled);
        if count > 0 {
            let end = direct.filled + count;
            buffers[direct.index].get_mut(direct.filled..end)?.copy_from_slice(&bytes[..count]);
            direct.filled = end;
            self.buffer.consume(count);
        }
        let pad = padding(direct.len);
        if direct.filled < direct.len || self.buffer.len() < pad {
            return None;
        }
        self.buffer.consume(pad);
        let DirectRead { index, len, .. } = self.direct.take()?;
        calls.note_filled(index);
        calls.finish(index).map(|expected| Completion::read(index, expected, len as u32))
    }

    /// Moves the buffer into a record that comes in pieces; true once that record is complete.
    fn reassemble<D: Dialect>(
        &mut self,
        calls: &mut Calls,
        places: &mut Places<'_>,
        completions: &mut Vec<Completion>,
    ) -> Result<bool, OpError> {
        let (taken, whole) = self.reassembly.push(self.buffer.bytes()).map_err(protocol_violation)?;
        self.buffer.consume(taken);
        if whole {
            let record = calls.open_reply(self.reassembly.record_mut()).map_err(protocol_violation)?;
            match accept::<D>(record, calls, places)? {
                Received::Reply(completion) => completions.push(completion),
                Received::Callback => keep_callback(&mut self.callbacks, record)?,
            }
            // Memory above the buffer's size is freed, because one listing of a large directory must not stay
            // allocated for the whole run. Every large READ that is protected needs it again.
            let keep = if calls.are_protected() { self.max_record } else { self.buffer.capacity() };
            self.reassembly.reset(keep);
        }
        Ok(whole)
    }
}

#[cold]
fn keep_callback(callbacks: &mut Vec<Vec<u8>>, record: &[u8]) -> Result<(), OpError> {
    if callbacks.len() >= MAX_CALLBACKS {
        return Err(protocol_violation("too many calls of the server are waiting for an answer"));
    }
    callbacks.push(record.to_vec());
    Ok(())
}
