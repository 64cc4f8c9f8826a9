//! The receiving half of a connection: bursts of replies taken apart, large payload received in place.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use sharebench_model::{ErrorClass, OpError};
use sharebench_target::buffer_pool;
use tokio::io::{AsyncRead, ReadBuf};

use crate::client::arrival::{Arrival, settle};
use crate::client::calls::{Calls, DIRECT_BYTES, Expected};
use crate::record::{Assembly, Front, MARK_BYTES, Mark, front};
use crate::results::{ReadHead, get_status};
use crate::rpc::get_reply;
use crate::xdr::{Reader, XdrError, padding};

/// Every reply's head, up to a READ's data, is shorter: 4 + 24 + 400 (verifier) + 4 + 88 + 12.
const HEAD_BYTES: usize = 1 << 10;

/// A READ's data on their way into their slot.
#[derive(Debug, Clone, Copy)]
struct Direct {
    index: usize,
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
    assembly: Assembly,
    direct: Option<Direct>,
    max_record: usize,
    /// Result of the last call for names and attributes.
    pub(crate) meta_result: Vec<u8>,
}

/// Why the stream cannot be used any longer.
#[cold]
pub(crate) fn lost(class: ErrorClass, detail: impl Into<String>) -> OpError {
    OpError::new(class, "connection", detail)
}

fn broken(error: impl std::fmt::Display) -> OpError {
    lost(ErrorClass::Protocol, error.to_string())
}

enum Begun {
    /// The data follow; so many bytes of the buffer are used up.
    Direct(usize),
    /// The head of the reply has not arrived yet.
    NeedMore,
    /// Not the data of a READ.
    Other,
}

impl Receiver {
    /// `buffer_bytes` for bursts of small replies; records above `max_record` break the connection.
    pub(crate) fn new(buffer_bytes: usize, max_record: usize) -> Self {
        Self {
            buffer: Box::default(),
            buffer_bytes: buffer_bytes.max(4 * HEAD_BYTES),
            head: 0,
            tail: 0,
            assembly: Assembly::new(max_record),
            direct: None,
            max_record,
            meta_result: Vec::new(),
        }
    }

    /// Gives memory back; what came unasked stays.
    pub(crate) fn release_buffers(&mut self) {
        if self.head == self.tail && self.direct.is_none() && !self.assembly.under_way() {
            (self.head, self.tail) = (0, 0);
            buffer_pool::give_back(&mut self.buffer);
            self.assembly = Assembly::new(self.max_record);
            self.meta_result = Vec::new();
        }
    }

    /// Reads once per burst until at least one reply is complete.
    pub(crate) fn poll_receive<S: AsyncRead + Unpin>(
        &mut self,
        stream: &mut S,
        cx: &mut Context<'_>,
        calls: &mut Calls,
        buffers: &mut [Box<[u8]>],
        arrivals: &mut Vec<Arrival>,
        received: &mut u64,
    ) -> Poll<Result<(), OpError>> {
        buffer_pool::ensure(&mut self.buffer, self.buffer_bytes);
        while arrivals.is_empty() {
            let mut space = ReadBuf::new(self.space(calls, buffers));
            ready!(Pin::new(&mut *stream).poll_read(cx, &mut space))
                .map_err(|error| lost(ErrorClass::Disconnected, error.to_string()))?;
            let count = space.filled().len();
            if count == 0 {
                return Poll::Ready(Err(lost(ErrorClass::Disconnected, "the server closed the connection")));
            }
            *received += count as u64;
            match &mut self.direct {
                Some(direct) if direct.filled < direct.len => direct.filled += count,
                _ => self.tail += count,
            }
            self.parse(calls, buffers, arrivals)?;
        }
        Poll::Ready(Ok(()))
    }

    /// Where the next bytes go: into a slot while its data arrive, else into the buffer.
    fn space<'a>(&'a mut self, calls: &Calls, buffers: &'a mut [Box<[u8]>]) -> &'a mut [u8] {
        if let Some(direct) = self.direct
            && direct.filled < direct.len
            && let Some(space) = buffers[direct.index].get_mut(direct.filled..direct.len)
        {
            return space;
        }
        self.buffer.copy_within(self.head..self.tail, 0);
        (self.head, self.tail) = (0, self.tail - self.head);
        // Take no more of large data than it takes to see where they belong.
        let wanted = if calls.expects_direct() { HEAD_BYTES } else { self.buffer.len() };
        let end = wanted.max(self.tail + HEAD_BYTES / 2).min(self.buffer.len());
        &mut self.buffer[self.tail..end]
    }

    fn parse(
        &mut self,
        calls: &mut Calls,
        buffers: &mut [Box<[u8]>],
        arrivals: &mut Vec<Arrival>,
    ) -> Result<(), OpError> {
        loop {
            if self.direct.is_some() {
                match self.continue_direct(calls, buffers) {
                    Some(arrival) => arrivals.push(arrival),
                    None => return Ok(()),
                }
            }
            let bytes = &self.buffer[self.head..self.tail];
            if self.assembly.under_way() {
                if !self.assemble(calls, buffers, arrivals)? {
                    return Ok(());
                }
                continue;
            }
            match front(bytes, self.max_record).map_err(broken)? {
                Front::Nothing => return Ok(()),
                Front::Whole { start, end } => {
                    arrivals.push(settle(&bytes[start..end], calls, buffers, &mut self.meta_result)?);
                    self.head += end;
                }
                Front::Partial(mark) => {
                    if !self.begin_large(mark, calls, buffers, arrivals)? {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Decides what becomes of a record that is not whole: false when it just has to arrive.
    fn begin_large(
        &mut self,
        mark: Mark,
        calls: &mut Calls,
        buffers: &mut [Box<[u8]>],
        arrivals: &mut Vec<Arrival>,
    ) -> Result<bool, OpError> {
        let fits = MARK_BYTES + mark.len <= self.buffer.len();
        if mark.last && fits && mark.len < DIRECT_BYTES as usize {
            return Ok(false);
        }
        if mark.last {
            match self.begin_direct(mark, calls).map_err(broken)? {
                Begun::Direct(used) => {
                    self.head += used;
                    return Ok(true);
                }
                Begun::NeedMore => return Ok(false),
                Begun::Other if fits => return Ok(false),
                Begun::Other => {}
            }
        }
        self.assemble(calls, buffers, arrivals)
    }

    fn begin_direct(&mut self, mark: Mark, calls: &Calls) -> Result<Begun, XdrError> {
        let head = &self.buffer[self.head + MARK_BYTES..self.tail];
        let mut reader = Reader::new(head);
        let parsed = (|| {
            let (xid, outcome) = get_reply(&mut reader)?;
            let Some((index, Expected::Read { len })) = calls.find(xid) else { return Ok(None) };
            if outcome.is_err() || get_status(&mut reader)?.is_err() {
                return Ok(None);
            }
            Ok(Some((index, len, ReadHead::get(&mut reader)?.count)))
        })();
        let (index, len, count) = match parsed {
            Ok(Some(read)) => read,
            Ok(None) => return Ok(Begun::Other),
            Err(XdrError::Truncated { .. }) => return Ok(Begun::NeedMore),
            Err(error) => return Err(error),
        };
        let used = head.len() - reader.rest().len();
        if count > len {
            return Err(XdrError::TooLong { field: "READ data", len: count, max: len as usize });
        }
        if used + (count as usize).next_multiple_of(4) != mark.len {
            return Err(XdrError::BadValue { field: "length of a READ reply", value: mark.len as u32 });
        }
        self.direct = Some(Direct { index, filled: 0, len: count as usize });
        Ok(Begun::Direct(MARK_BYTES + used))
    }

    /// Moves what the buffer holds of a READ's data into their slot; gives the reply when it is whole.
    fn continue_direct(&mut self, calls: &mut Calls, buffers: &mut [Box<[u8]>]) -> Option<Arrival> {
        let direct = self.direct.as_mut()?;
        let bytes = &self.buffer[self.head..self.tail];
        let count = bytes.len().min(direct.len - direct.filled);
        if count > 0 {
            let end = direct.filled + count;
            buffers[direct.index].get_mut(direct.filled..end)?.copy_from_slice(&bytes[..count]);
            direct.filled = end;
            self.head += count;
        }
        let pad = padding(direct.len);
        if direct.filled < direct.len || self.tail - self.head < pad {
            return None;
        }
        self.head += pad;
        let Direct { index, len, .. } = self.direct.take()?;
        calls.end(index).map(|expected| Arrival::read(index, expected, len as u32))
    }

    /// Moves the buffer into a record that comes in pieces; true when that record is whole.
    fn assemble(
        &mut self,
        calls: &mut Calls,
        buffers: &mut [Box<[u8]>],
        arrivals: &mut Vec<Arrival>,
    ) -> Result<bool, OpError> {
        let (taken, whole) = self.assembly.push(&self.buffer[self.head..self.tail]).map_err(broken)?;
        self.head += taken;
        if whole {
            arrivals.push(settle(self.assembly.record(), calls, buffers, &mut self.meta_result)?);
            self.assembly.reset(self.buffer.len());
        }
        Ok(whole)
    }
}
