//! The receiving half of a connection: bursts of replies taken apart, large payload received in place.

use std::io::{self, IoSliceMut};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use sharebench_model::{ErrorClass, OpError};
use sharebench_target::buffer_pool;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::TcpStream;

use crate::client::arrival::Ledger;
use crate::client::buffers::Buffers;
use crate::client::calls::{Calls, DIRECT_BYTES, Order, Sent};
use crate::status::NtStatus;
use crate::wire::WireError;
use crate::wire::data::{READ_DATA_OFFSET, ReadResponse};
use crate::wire::frame::{self, PREFIX_LEN};
use crate::wire::header::{Header, command, flags};
use crate::wire::transform;

/// Enough to see where a READ's data belong, and for other small replies.
const HEAD_BYTES: usize = 128;

/// A READ's data on their way into their slot.
#[derive(Debug, Clone, Copy)]
struct Direct {
    index: usize,
    sent: Sent,
    header: Header,
    head: usize,
    filled: usize,
    len: usize,
}

/// Bytes received and not yet given away.
#[derive(Debug)]
pub(crate) struct Receiver {
    /// Empty while the session rests.
    buffer: Box<[u8]>,
    buffer_bytes: usize,
    head: usize,
    tail: usize,
    direct: Option<Direct>,
    /// A frame too large for the buffer; its place is kept for the next one.
    large: Vec<u8>,
    /// Length of the large frame under way and how much of it has arrived.
    large_under_way: Option<(usize, usize)>,
    max_frame: usize,
}

/// Why the stream cannot be used any longer.
#[cold]
pub(crate) fn lost(class: ErrorClass, detail: impl Into<String>) -> OpError {
    OpError::new(class, "connection", detail)
}

fn broken(error: impl std::fmt::Display) -> OpError {
    lost(ErrorClass::Protocol, error.to_string())
}

impl Receiver {
    /// `buffer_bytes` for bursts of small replies; frames above `max_frame` break the connection.
    pub(crate) fn new(buffer_bytes: usize, max_frame: usize) -> Self {
        Self {
            buffer: Box::default(),
            buffer_bytes: buffer_bytes.max(4 << 10),
            head: 0,
            tail: 0,
            direct: None,
            large: Vec::new(),
            large_under_way: None,
            max_frame,
        }
    }

    /// Gives memory back; what came unasked stays.
    pub(crate) fn release_buffers(&mut self) {
        if self.head == self.tail && self.direct.is_none() && self.large_under_way.is_none() {
            (self.head, self.tail) = (0, 0);
            buffer_pool::give_back(&mut self.buffer);
            self.large = Vec::new();
        }
    }

    /// Reads until at least one reply is complete or nothing more has arrived.
    pub(crate) fn poll_receive(
        &mut self,
        stream: &mut TcpStream,
        cx: &mut Context<'_>,
        ledger: &mut Ledger<'_>,
        received: &mut u64,
    ) -> Poll<Result<(), OpError>> {
        let count = ready!(self.poll_read(stream, cx, ledger.calls, ledger.buffers))
            .map_err(|error| lost(ErrorClass::Disconnected, error.to_string()))?;
        if count == 0 {
            return Poll::Ready(Err(lost(ErrorClass::Disconnected, "the server closed the connection")));
        }
        *received += count as u64;
        self.parse(ledger)?;
        Poll::Ready(Ok(()))
    }

    fn poll_read(
        &mut self,
        stream: &mut TcpStream,
        cx: &mut Context<'_>,
        calls: &Calls,
        buffers: &mut Buffers,
    ) -> Poll<io::Result<usize>> {
        buffer_pool::ensure(&mut self.buffer, self.buffer_bytes);
        self.buffer.copy_within(self.head..self.tail, 0);
        (self.head, self.tail) = (0, self.tail - self.head);
        if let Some(Direct { index, filled, len, .. }) = self.direct
            && let Some(space) = buffers.place(index, len).and_then(|place| place.get_mut(filled..))
        {
            let next = self.buffer.get_mut(..HEAD_BYTES).unwrap_or_default();
            let count = ready!(poll_read_both(stream, cx, space, next))?;
            self.tail = count.saturating_sub(space.len());
            if let Some(direct) = &mut self.direct {
                direct.filled += count - self.tail;
            }
            return Poll::Ready(Ok(count));
        }
        if let Some((len, filled)) = self.large_under_way
            && let Some(space) = self.large.get_mut(filled..len)
        {
            let count = ready!(poll_read_both(stream, cx, space, &mut self.buffer))?;
            self.tail = count.saturating_sub(space.len());
            self.large_under_way = Some((len, filled + count - self.tail));
            return Poll::Ready(Ok(count));
        }
        // Take no more of large data than it takes to see where they belong.
        let wanted = if calls.expects_direct() { HEAD_BYTES } else { self.buffer.len() };
        let end = wanted.max(self.tail + HEAD_BYTES).min(self.buffer.len());
        let mut space = ReadBuf::new(self.buffer.get_mut(self.tail..end).unwrap_or_default());
        ready!(Pin::new(stream).poll_read(cx, &mut space))?;
        let count = space.filled().len();
        self.tail += count;
        Poll::Ready(Ok(count))
    }

    fn parse(&mut self, ledger: &mut Ledger<'_>) -> Result<(), OpError> {
        loop {
            if let Some(direct) = self.direct {
                if direct.filled < direct.len {
                    return Ok(());
                }
                self.direct = None;
                finish_direct(direct, ledger)?;
            }
            if let Some((len, filled)) = self.large_under_way {
                if filled < len {
                    return Ok(());
                }
                self.large_under_way = None;
                settle_frame(self.large.get_mut(..len).unwrap_or_default(), ledger)?;
            }
            let bytes = self.buffer.get_mut(self.head..self.tail).unwrap_or_default();
            let Some((prefix, rest)) = bytes.split_first_chunk_mut::<PREFIX_LEN>() else { return Ok(()) };
            let len = frame::length(*prefix)
                .filter(|len| *len <= self.max_frame)
                .ok_or_else(|| broken(format!("{prefix:02x?} is no frame of at most {}", self.max_frame)))?;
            if let Some(message) = rest.get_mut(..len) {
                settle_frame(message, ledger)?;
                self.head += PREFIX_LEN + len;
            } else if rest.len() < READ_DATA_OFFSET || !self.begin_large(len, ledger)? {
                return Ok(());
            }
        }
    }

    /// Decides what becomes of a frame that is not whole: false when it just has to arrive.
    fn begin_large(&mut self, len: usize, ledger: &mut Ledger<'_>) -> Result<bool, OpError> {
        let start = self.head + PREFIX_LEN;
        let here = self.buffer.get(start..self.tail).unwrap_or_default();
        if len >= DIRECT_BYTES as usize
            && let Some(mut direct) = direct(here, len, ledger).map_err(broken)?
        {
            let data = &here[direct.head..];
            if let Some(place) = ledger.buffers.place(direct.index, data.len()) {
                place.copy_from_slice(data);
                direct.filled = data.len();
                self.direct = Some(direct);
                self.head = self.tail;
                return Ok(true);
            }
        }
        if PREFIX_LEN + len <= self.buffer.len() {
            return Ok(false);
        }
        if self.large.len() < len {
            self.large.resize(len, 0);
        }
        if let Some(place) = self.large.get_mut(..here.len()) {
            place.copy_from_slice(here);
        }
        self.large_under_way = Some((len, here.len()));
        self.head = self.tail;
        Ok(true)
    }
}

/// Reads into `first` and, once that is full, into `second`.
fn poll_read_both(
    stream: &TcpStream,
    cx: &mut Context<'_>,
    first: &mut [u8],
    second: &mut [u8],
) -> Poll<io::Result<usize>> {
    loop {
        ready!(stream.poll_read_ready(cx))?;
        match stream.try_read_vectored(&mut [IoSliceMut::new(first), IoSliceMut::new(second)]) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            done => return Poll::Ready(done),
        }
    }
}

/// Sees whether the frame that starts with `here` is a READ reply whose data can go straight into its slot.
fn direct(here: &[u8], frame: usize, ledger: &mut Ledger<'_>) -> Result<Option<Direct>, WireError> {
    if here.first_chunk() == Some(&transform::PROTOCOL_ID) {
        return Ok(None);
    }
    let header = Header::decode(here)?;
    let plain = header.command == command::READ && header.is(flags::RESPONSE) && header.next == 0;
    if !plain || NtStatus(header.status) != NtStatus::SUCCESS {
        return Ok(None);
    }
    let Some((index, sent)) = ledger.calls.find(header.message_id) else { return Ok(None) };
    let Order::Read { len: asked, .. } = sent.order else { return Ok(None) };
    let reply = ReadResponse::decode(here)?;
    let (head, len) = (usize::from(reply.data_offset), reply.len as usize);
    if reply.len > asked {
        return Err(WireError::Field { what: "ReadResponse", field: "DataLength", value: len as u64 });
    }
    let Some(bytes) = here.get(..head).filter(|_| head >= READ_DATA_OFFSET && head + len == frame) else {
        return Ok(None);
    };
    let fits = ledger.buffers.put_reply_head(index, bytes);
    Ok(fits.then_some(Direct { index, sent, header, head, filled: 0, len }))
}

fn finish_direct(direct: Direct, ledger: &mut Ledger<'_>) -> Result<(), OpError> {
    let Direct { index, sent, header, head, len, .. } = direct;
    if let Some(message) = ledger.buffers.reply_message(index, head, len) {
        ledger.guard.admit(&header, sent.signed, message)?;
    }
    ledger.credits.granted(header.credits);
    ledger.end(index, sent, Ok(len as u32));
    Ok(())
}

fn settle_frame(frame: &mut [u8], ledger: &mut Ledger<'_>) -> Result<(), OpError> {
    if frame.first_chunk() != Some(&transform::PROTOCOL_ID) {
        return ledger.settle(frame, false);
    }
    ledger.guard.open(frame)?;
    ledger.settle(frame.get_mut(transform::LEN..).unwrap_or_default(), true)
}
