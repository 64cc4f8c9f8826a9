//! The receiving half of a connection: bursts of small replies, and large payload received in place.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use sharebench_client_core::connection_error::{closed_by_server, disconnected, protocol_violation};
use sharebench_client_core::{ArrivingStream, MIN_DIRECT_BYTES, ReceiveBuffer};
use sharebench_model::OpError;
use sharebench_target::offers::PeerProtocol;
use tokio::io::{AsyncRead, ReadBuf};

use crate::client::channels::pending_replies::PendingReplies;
use crate::client::channels::requests::{InFlight, Request, Requests};
use crate::client::channels::slot_buffers::SlotBuffers;
use crate::incompatibility::Incompatibility;
use crate::status::NtStatus;
use crate::wire::WireError;
use crate::wire::data::{READ_DATA_OFFSET, ReadResponse};
use crate::wire::frame::{self, PREFIX_LEN};
use crate::wire::header::{Header, command, flags};
use crate::wire::transform;

/// Bytes that suffice to locate the data of a READ response, and to hold most other small replies.
const HEAD_BYTES: usize = 128;
/// Smallest buffer for bursts.
const MIN_BUFFER_BYTES: usize = 4 << 10;

/// A READ response whose data are being received into their slot.
#[derive(Debug, Clone, Copy)]
struct DirectRead {
    index: usize,
    sent: InFlight,
    header: Header,
    /// Bytes of the message before its data.
    head: usize,
    filled: usize,
    len: usize,
}

/// A frame that does not fit into the receive buffer, and how much of it has arrived.
#[derive(Debug, Clone, Copy)]
struct LargeFrame {
    filled: usize,
    len: usize,
}

/// Receives frames and passes them to [`PendingReplies`].
///
/// A frame takes one of three ways. Small frames arrive in bursts in `buffer` and are decoded there. The data of a large
/// READ response go from the socket straight into their slot, which saves one copy of each byte on the path that the
/// benchmark measures. Any other frame larger than the buffer (an encrypted READ, a listing) is collected in `large`.
/// While a large READ is in flight, the receiver reads no more ahead than it needs to see where the data belong.
#[derive(Debug)]
pub(crate) struct Receiver {
    buffer: ReceiveBuffer,
    direct: Option<DirectRead>,
    /// Memory for frames larger than the buffer; it is kept for the next one.
    large: Vec<u8>,
    large_frame: Option<LargeFrame>,
    max_frame: usize,
}

/// The error of bytes that are no frame: they often belong to another protocol.
#[cold]
fn no_frame(prefix: [u8; PREFIX_LEN], max_frame: usize) -> OpError {
    match PeerProtocol::of_bytes(&prefix).and_then(Incompatibility::of_peer) {
        Some(found) => protocol_violation(found),
        None => protocol_violation(format!(
            "the bytes {prefix:02x?} begin no SMB message of at most {max_frame} bytes"
        )),
    }
}

impl Receiver {
    /// Makes a receiver for the bursts of `slots`; a frame above `max_frame` is an error of the connection.
    pub(crate) fn new(slots: usize, slot_bytes: usize, max_frame: usize) -> Self {
        Self {
            buffer: ReceiveBuffer::for_slots(slots, slot_bytes, MIN_BUFFER_BYTES),
            direct: None,
            large: Vec::new(),
            large_frame: None,
            max_frame,
        }
    }

    /// Accepts frames of up to `bytes`.
    pub(crate) fn accept_frames_of(&mut self, bytes: usize) {
        self.max_frame = self.max_frame.max(bytes);
    }

    /// Returns the memory, unless it holds part of an unsolicited message.
    pub(crate) fn release_buffers(&mut self) {
        if self.buffer.is_empty() && self.direct.is_none() && self.large_frame.is_none() {
            self.buffer.release();
            self.large = Vec::new();
        }
    }

    /// Reads once and processes each complete frame.
    pub(crate) fn poll_receive(
        &mut self,
        mut stream: ArrivingStream<'_>,
        cx: &mut Context<'_>,
        pending: &mut PendingReplies<'_>,
        received: &mut u64,
    ) -> Poll<Result<(), OpError>> {
        let count = ready!(self.poll_read(&mut stream, cx, pending.requests, pending.buffers))
            .map_err(|error| disconnected(error.to_string()))?;
        if count == 0 {
            // Reading 0 bytes is the end of the stream; the receiver reads only while a reply is awaited, so the
            // end is always premature.
            return Poll::Ready(Err(closed_by_server()));
        }
        *received += count as u64;
        self.parse(pending)?;
        Poll::Ready(Ok(()))
    }

    fn poll_read(
        &mut self,
        stream: &mut ArrivingStream<'_>,
        cx: &mut Context<'_>,
        requests: &Requests,
        buffers: &mut SlotBuffers,
    ) -> Poll<io::Result<usize>> {
        if let Some(DirectRead { index, filled, len, .. }) = self.direct
            && let Some(rest) = buffers.payload_of(index, len).and_then(|payload| payload.get_mut(filled..))
        {
            // The buffer is empty here: what it held of the data is already in the slot.
            // The same system call also takes the head of the next reply, which would otherwise cost a call of
            // its own.
            let next = self.buffer.space(HEAD_BYTES, 0);
            stream.expect(rest.len());
            let count = ready!(stream.poll_read_both(cx, rest, next))?;
            // A vectored read fills the slices in order, so all bytes beyond the first slice are in the buffer.
            let beyond = count.saturating_sub(rest.len());
            self.buffer.received(beyond);
            if let Some(direct) = &mut self.direct {
                direct.filled += count - beyond;
            }
            return Poll::Ready(Ok(count));
        }
        if let Some(LargeFrame { filled, len }) = self.large_frame
            && let Some(rest) = self.large.get_mut(filled..len)
        {
            let next = self.buffer.space(usize::MAX, 0);
            stream.expect(rest.len());
            let count = ready!(stream.poll_read_both(cx, rest, next))?;
            let beyond = count.saturating_sub(rest.len());
            self.buffer.received(beyond);
            self.large_frame = Some(LargeFrame { filled: filled + count - beyond, len });
            return Poll::Ready(Ok(count));
        }
        stream.expect(0);
        // While a large READ is in flight, read only as much as shows where its data belong.
        let wanted = if requests.expects_direct_read() { HEAD_BYTES } else { usize::MAX };
        let mut space = ReadBuf::new(self.buffer.space(wanted, HEAD_BYTES));
        ready!(Pin::new(stream).poll_read(cx, &mut space))?;
        let count = space.filled().len();
        self.buffer.received(count);
        Poll::Ready(Ok(count))
    }

    fn parse(&mut self, pending: &mut PendingReplies<'_>) -> Result<(), OpError> {
        loop {
            if let Some(direct) = self.direct {
                if direct.filled < direct.len {
                    return Ok(());
                }
                self.direct = None;
                finish_direct(direct, pending)?;
            }
            if let Some(LargeFrame { filled, len }) = self.large_frame {
                if filled < len {
                    return Ok(());
                }
                self.large_frame = None;
                accept_frame(self.large.get_mut(..len).unwrap_or_default(), pending)?;
            }
            let bytes = self.buffer.bytes_mut();
            let Some((prefix, rest)) = bytes.split_first_chunk_mut::<PREFIX_LEN>() else { return Ok(()) };
            // The length is checked before any byte of the frame is awaited: a wrong one would make the client
            // wait for bytes that never come.
            let len = frame::length(*prefix)
                .filter(|len| *len <= self.max_frame)
                .ok_or_else(|| no_frame(*prefix, self.max_frame))?;
            if let Some(message) = rest.get_mut(..len) {
                accept_frame(message, pending)?;
                self.buffer.consume(PREFIX_LEN + len);
            } else if rest.len() < READ_DATA_OFFSET || !self.begin_large(len, pending)? {
                return Ok(());
            }
        }
    }

    /// Decides how to receive the remainder of an incomplete frame; false if it fits into the buffer.
    fn begin_large(&mut self, len: usize, pending: &mut PendingReplies<'_>) -> Result<bool, OpError> {
        let here = self.buffer.bytes().get(PREFIX_LEN..).unwrap_or_default();
        // Smaller replies share a burst: one system call receives several of them.
        if len >= MIN_DIRECT_BYTES as usize
            && let Some(mut direct) = direct_read(here, len, pending).map_err(protocol_violation)?
        {
            let data = &here[direct.head..];
            if let Some(place) = pending.buffers.payload_of(direct.index, data.len()) {
                place.copy_from_slice(data);
                direct.filled = data.len();
                self.direct = Some(direct);
                self.buffer.consume_all();
                return Ok(true);
            }
        }
        if PREFIX_LEN + len <= self.buffer.capacity() {
            return Ok(false);
        }
        // It grows and is not shrunk: the next large frame has the same size as a rule, and filling it with
        // zeros again would cost a pass over memory.
        if self.large.len() < len {
            self.large.resize(len, 0);
        }
        if let Some(place) = self.large.get_mut(..here.len()) {
            place.copy_from_slice(here);
        }
        self.large_frame = Some(LargeFrame { filled: here.len(), len });
        self.buffer.consume_all();
        Ok(true)
    }
}

/// Checks whether the frame that starts with `here` is a READ response whose data can go straight into their slot.
fn direct_read(
    here: &[u8],
    frame: usize,
    pending: &mut PendingReplies<'_>,
) -> Result<Option<DirectRead>, WireError> {
    // An encrypted message must be complete before it can be decrypted.
    if here.first_chunk() == Some(&transform::PROTOCOL_ID) {
        return Ok(None);
    }
    let header = Header::decode(here)?;
    let plain = header.command == command::READ && header.is(flags::RESPONSE) && header.next == 0;
    if !plain || NtStatus(header.status) != NtStatus::SUCCESS {
        return Ok(None);
    }
    let Some((index, sent)) = pending.requests.find(header.message_id) else { return Ok(None) };
    let Request::Read { len: requested, .. } = sent.request else { return Ok(None) };
    let reply = ReadResponse::decode(here)?;
    let head = usize::from(reply.data_offset);
    let len = reply.len as usize;
    // More data than requested would overwrite the slot beyond the record that verification looks at.
    if reply.len > requested {
        return Err(WireError::Field { what: "ReadResponse", field: "DataLength", value: len as u64 });
    }
    let Some(bytes) = here.get(..head).filter(|_| head >= READ_DATA_OFFSET && head + len == frame) else {
        return Ok(None);
    };
    let fits = pending.buffers.put_reply_head(index, bytes);
    Ok(fits.then_some(DirectRead { index, sent, header, head, filled: 0, len }))
}

fn finish_direct(direct: DirectRead, pending: &mut PendingReplies<'_>) -> Result<(), OpError> {
    let DirectRead { index, sent, header, head, len, .. } = direct;
    // The head was placed in front of the data, so the signature covers one contiguous message.
    if let Some(message) = pending.buffers.reply_message(index, head, len) {
        pending.security.verify(&header, sent.signed, message)?;
    }
    pending.credits.granted(header.credits);
    pending.complete(index, sent, Ok(len as u32));
    Ok(())
}

fn accept_frame(frame: &mut [u8], pending: &mut PendingReplies<'_>) -> Result<(), OpError> {
    if frame.first_chunk() != Some(&transform::PROTOCOL_ID) {
        return pending.accept(frame, false);
    }
    pending.security.decrypt(frame)?;
    pending.accept(frame.get_mut(transform::LEN..).unwrap_or_default(), true)
}
