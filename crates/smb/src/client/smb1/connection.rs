//! One SMB1 connection with several requests in flight.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use sharebench_client_core::connection_error::{
    already_lost, closed_by_server, disconnected, protocol_violation,
};
use sharebench_client_core::submit_error::short_write;
use sharebench_client_core::tcp_reading;
use sharebench_model::{OpError, PolicyCount, TcpReading, WireCount};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::client::channels::lease_breaks::{Broken, LeaseBreaks};
use crate::client::channels::session_counts::SessionCounts;
use crate::client::channels::slot_buffers::SlotBuffers;
use crate::nt1::file::{
    FlushRequest, KEEP_LEVEL_II, LockRequest, OPLOCK_RELEASE, ReadRequest, ReadResponse, UNSOLICITED,
    WRITE_DATA_OFFSET, WRITE_THROUGH, WriteRequest, WriteResponse,
};
use crate::nt1::message::{NO_ANDX, REPLY, REQUEST_FLAGS, flags2, put_blocks};
use crate::nt1::signing::Signer;
use crate::nt1::trans2::Collected;
use crate::nt1::{Header, Message, command};
use crate::status::NtStatus;
use crate::wire::oplock::OplockBreak;
use crate::wire::{FileId, WireError, oplock};

/// Prefix of a frame: its type and its length.
const PREFIX_LEN: usize = 4;
/// Type of a frame that only keeps the connection open (RFC 1002 4.3.7).
const KEEP_ALIVE: u8 = 0x85;
/// Smallest space for a read from the socket.
const MIN_SPACE: usize = 16 << 10;
/// What a message can hold in addition to the payload of a slot.
const FRAME_ALLOWANCE: usize = 128 << 10;

/// A request, before it has a place on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Request {
    Read {
        fid: u16,
        offset: u64,
        len: u32,
        policy: PolicyCount,
    },
    Write {
        fid: u16,
        offset: u64,
        len: u32,
        through: bool,
        policy: PolicyCount,
    },
    Flush {
        fid: u16,
    },
    /// Any other command; its words and bytes wait in the connection.
    Metadata {
        command: u8,
    },
}

impl Request {
    const fn command(self) -> u8 {
        match self {
            Self::Read { .. } => command::READ_ANDX,
            Self::Write { .. } => command::WRITE_ANDX,
            Self::Flush { .. } => command::FLUSH,
            Self::Metadata { command } => command,
        }
    }
}

/// The outcome of a request.
#[derive(Debug)]
pub(super) struct Completion {
    pub(super) index: usize,
    pub(super) result: Result<u32, OpError>,
    /// Requests that were sent for it.
    pub(super) requests: u32,
}

/// An index of the table of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entry {
    Idle,
    Waiting(Request),
    /// Sent; the number of its response for signatures.
    Sent(Request, u32),
}

/// One TCP connection, with at most `MaxMpxCount` requests in flight.
///
/// Requests that wait are sent in the order of their submission. The multiplex id of a request is its index in the table of
/// requests, which has one entry per slot and one for metadata. The first error is final, as on a channel of SMB2.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    out: Vec<u8>,
    out_sent: usize,
    input: Vec<u8>,
    input_len: usize,
    max_frame: usize,
    entries: Vec<Entry>,
    waiting: VecDeque<usize>,
    in_flight: usize,
    pub(super) max_mpx: usize,
    pub(super) uid: u16,
    pub(super) tid: u16,
    /// Ask the server to sign, before there is a key.
    pub(super) announces_signing: bool,
    pub(super) signer: Option<Signer>,
    pub(super) buffers: SlotBuffers,
    /// Words and bytes of the metadata request, as they are sent.
    pub(super) body: Vec<u8>,
    /// Complete last response to a metadata request.
    pub(super) reply: Vec<u8>,
    /// Parameters and data of the last transaction.
    pub(super) collected: Collected,
    wire: WireCount,
    policy: PolicyCount,
    /// Breaks of oplocks that are not acknowledged yet.
    pub(super) oplocks: LeaseBreaks,
    pub(super) counts: Arc<SessionCounts>,
    /// Reads although nothing is in flight.
    listens: bool,
    lost: Option<OpError>,
}

/// An open file as the state of its oplock names it.
pub(super) const fn oplock_file(fid: u16) -> FileId {
    FileId { persistent: 0, volatile: fid as u64 }
}

impl Connection {
    pub(super) fn new(
        stream: TcpStream,
        slots: usize,
        slot_bytes: usize,
        counts: Arc<SessionCounts>,
    ) -> Self {
        Self {
            stream,
            out: Vec::new(),
            out_sent: 0,
            input: Vec::new(),
            input_len: 0,
            max_frame: slot_bytes + FRAME_ALLOWANCE,
            entries: vec![Entry::Idle; slots + 1],
            waiting: VecDeque::with_capacity(slots + 1),
            in_flight: 0,
            max_mpx: 1,
            uid: 0,
            tid: 0,
            announces_signing: false,
            signer: None,
            buffers: SlotBuffers::new(slots, slot_bytes),
            body: Vec::new(),
            reply: Vec::new(),
            collected: Collected::default(),
            wire: WireCount::default(),
            policy: PolicyCount::default(),
            oplocks: LeaseBreaks::default(),
            counts,
            listens: false,
            lost: None,
        }
    }

    pub(super) fn wire(&self) -> WireCount {
        self.wire
    }

    pub(super) fn policy_count(&self) -> PolicyCount {
        self.policy
    }

    pub(super) fn tcp(&self) -> Option<TcpReading> {
        tcp_reading(&self.stream)
    }

    /// The error of a request on this connection, if it is lost.
    pub(super) fn failure(&self) -> Option<OpError> {
        self.lost.as_ref().map(already_lost)
    }

    pub(super) fn is_idle(&self, index: usize) -> bool {
        self.entries.get(index) == Some(&Entry::Idle)
    }

    /// Returns the memory that only requests need, unless one is in flight.
    pub(super) fn release_buffers(&mut self) {
        if self.in_flight == 0 && self.waiting.is_empty() && self.out.is_empty() && self.input_len == 0 {
            self.out = Vec::new();
            self.input = Vec::new();
            self.body = Vec::new();
            self.reply = Vec::new();
            self.collected = Collected::default();
            self.buffers.release_buffers();
        }
    }

    /// Queues a request at an idle index.
    pub(super) fn submit(&mut self, index: usize, request: Request) {
        self.entries[index] = Entry::Waiting(request);
        self.waiting.push_back(index);
    }

    /// Sends what the server allows, and receives. It is ready when `completions` has an entry.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, completions: &mut Vec<Completion>) -> Poll<()> {
        while self.lost.is_none() && completions.is_empty() {
            match self.send_and_receive(cx, completions) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => self.lost = Some(error),
            }
        }
        if !self.oplocks.is_empty() && self.lost.is_none() {
            // The caller may not poll again for a long time, and another user waits.
            self.acknowledge();
            if let Err(error) = self.send(cx) {
                self.lost = Some(error);
            }
        }
        if let Some(error) = self.lost.clone() {
            self.fail_all(&error, completions);
        }
        if completions.is_empty() { Poll::Pending } else { Poll::Ready(()) }
    }

    /// True if bytes arrived, so that another round may make progress.
    fn send_and_receive(
        &mut self,
        cx: &mut Context<'_>,
        completions: &mut Vec<Completion>,
    ) -> Result<bool, OpError> {
        self.dispatch();
        self.send(cx)?;
        if self.in_flight == 0 && !self.listens {
            return Ok(false);
        }
        if self.input.len() < self.input_len + MIN_SPACE {
            self.input.resize(self.input_len + MIN_SPACE, 0);
        }
        let mut space = ReadBuf::new(&mut self.input[self.input_len..]);
        match Pin::new(&mut self.stream).poll_read(cx, &mut space) {
            Poll::Ready(Ok(())) => {}
            Poll::Ready(Err(error)) => return Err(disconnected(error.to_string())),
            Poll::Pending => return Ok(false),
        }
        let count = space.filled().len();
        if count == 0 {
            return Err(closed_by_server());
        }
        self.input_len += count;
        self.wire.received += count as u64;
        self.parse(completions)?;
        Ok(true)
    }

    /// Sends what is encoded, as far as the socket accepts it.
    fn send(&mut self, cx: &mut Context<'_>) -> Result<(), OpError> {
        while self.out_sent < self.out.len() {
            match Pin::new(&mut self.stream).poll_write(cx, &self.out[self.out_sent..]) {
                Poll::Ready(Ok(0)) => return Err(closed_by_server()),
                Poll::Ready(Ok(count)) => {
                    self.out_sent += count;
                    self.wire.sent += count as u64;
                }
                Poll::Ready(Err(error)) => return Err(disconnected(error.to_string())),
                Poll::Pending => return Ok(()),
            }
        }
        self.out.clear();
        self.out_sent = 0;
        Ok(())
    }

    /// Receives while no request is in flight, for the break of an oplock.
    pub(super) fn listen(&mut self, cx: &mut Context<'_>) {
        self.listens = true;
        // Only a request that its caller has abandoned can be complete, and nobody wants its result.
        let _ = self.poll(cx, &mut Vec::new());
        self.listens = false;
    }

    /// Encodes the acknowledgments of breaks. They belong to no operation, and have no reply (MS-CIFS 2.2.4.32).
    #[cold]
    fn acknowledge(&mut self) {
        while let Some((broken, required)) = self.oplocks.take() {
            let Broken::Oplock(broken) = broken else { continue };
            self.counts.oplock_broken(required);
            if !required {
                continue;
            }
            let words = LockRequest {
                andx: NO_ANDX,
                fid: broken.file.volatile as u16,
                kind: OPLOCK_RELEASE,
                oplock: if broken.level == oplock::LEVEL_II { KEEP_LEVEL_II } else { 0 },
                ..LockRequest::default()
            };
            // No request has this multiplex id.
            let header = self.header(command::LOCKING_ANDX, self.entries.len());
            let at = self.out.len();
            self.out.resize(at + PREFIX_LEN, 0);
            let start = self.out.len();
            header.encode(&mut self.out);
            put_blocks(&words, &mut self.out, |_| {});
            self.finish_frame(at);
            if let Some(signer) = &mut self.signer {
                // It takes two numbers as well, although the second one is never used: so do smbd and the client of Linux.
                let _ = signer.sign(&mut self.out[start..]);
            }
        }
    }

    /// Encodes waiting requests as long as the server allows more.
    fn dispatch(&mut self) {
        while self.in_flight < self.max_mpx.max(1) {
            let Some(index) = self.waiting.pop_front() else { return };
            let Entry::Waiting(request) = self.entries[index] else { continue };
            let number = self.encode(index, request);
            self.entries[index] = Entry::Sent(request, number);
            self.in_flight += 1;
            self.wire.requests += 1;
        }
    }

    fn header(&self, command: u8, index: usize) -> Header {
        let mut flags2 = flags2::UNICODE | flags2::NT_STATUS | flags2::EXTENDED_SECURITY | flags2::LONG_NAMES;
        if self.signer.is_some() || self.announces_signing {
            flags2 |= flags2::SECURITY_SIGNATURE;
        }
        Header {
            command,
            flags: REQUEST_FLAGS,
            flags2,
            tid: self.tid,
            pid_low: 0xFEFF,
            uid: self.uid,
            mid: index as u16,
            ..Header::default()
        }
    }

    /// Writes the length of the message into the prefix at `at`.
    fn finish_frame(&mut self, at: usize) {
        let start = at + PREFIX_LEN;
        let len = (self.out.len() - start) as u32;
        self.out[at..start].copy_from_slice(&len.to_be_bytes());
    }

    /// Appends a request to the bytes to send, and returns the number of its response.
    fn encode(&mut self, index: usize, request: Request) -> u32 {
        let header = self.header(request.command(), index);
        let at = self.out.len();
        self.out.resize(at + PREFIX_LEN, 0);
        let start = self.out.len();
        header.encode(&mut self.out);
        match request {
            Request::Metadata { .. } => self.out.extend_from_slice(&self.body),
            Request::Flush { fid } => put_blocks(&FlushRequest { fid }, &mut self.out, |_| {}),
            Request::Read { fid, offset, len, policy } => {
                self.policy += policy;
                put_blocks(&read_words(fid, offset, len), &mut self.out, |_| {});
            }
            Request::Write { fid, offset, len, through, policy } => {
                self.policy += policy;
                self.wire.payload_sent += u64::from(len);
                let payload = self.buffers.payload_of(index, len as usize);
                put_blocks(&write_words(fid, offset, len, through), &mut self.out, |out| {
                    out.resize(start + WRITE_DATA_OFFSET, 0);
                    out.extend_from_slice(payload.unwrap_or_default());
                });
            }
        }
        self.finish_frame(at);
        self.signer.as_mut().map_or(0, |signer| signer.sign(&mut self.out[start..]))
    }

    fn parse(&mut self, completions: &mut Vec<Completion>) -> Result<(), OpError> {
        let mut at = 0;
        while let Some(prefix) = self.input[at..self.input_len].first_chunk::<PREFIX_LEN>() {
            let len = (u32::from_be_bytes(*prefix) & 0x00FF_FFFF) as usize;
            if len > self.max_frame || ![0, KEEP_ALIVE].contains(&prefix[0]) {
                return Err(protocol_violation(format!(
                    "the bytes {prefix:02x?} begin no SMB1 message of at most {} bytes",
                    self.max_frame
                )));
            }
            let end = at + PREFIX_LEN + len;
            if end > self.input_len {
                // The rest of the frame arrives next, as much of it as the socket has.
                if self.input.len() < end {
                    self.input.resize(end, 0);
                }
                break;
            }
            if prefix[0] == 0 {
                let mut input = std::mem::take(&mut self.input);
                let accepted = self.accept(&mut input[at + PREFIX_LEN..end], completions);
                self.input = input;
                accepted?;
            }
            at = end;
        }
        self.input.copy_within(at..self.input_len, 0);
        self.input_len -= at;
        Ok(())
    }

    fn accept(&mut self, message: &mut [u8], completions: &mut Vec<Completion>) -> Result<(), OpError> {
        let header = Header::decode(message).map_err(protocol_violation)?;
        // A request of the server breaks an oplock. Servers do not sign it: it has no number.
        if header.flags & REPLY == 0 {
            return self.take_break(&header, message);
        }
        let index = usize::from(header.mid);
        let (request, number) = match self.entries.get(index) {
            Some(Entry::Sent(request, number)) if request.command() == header.command => (*request, *number),
            _ => {
                let name = command::name(header.command);
                let detail = format!("{name} with multiplex id {index}, which is not in flight");
                return Err(protocol_violation(detail));
            }
        };
        if let Some(signer) = &self.signer
            && !signer.verify(message, number)
        {
            let name = command::name(header.command);
            return Err(protocol_violation(format!("a reply to {name} that is signed wrongly")));
        }
        let status = NtStatus(header.status);
        let Some(result) = self.read(index, request, status, message).map_err(protocol_violation)? else {
            return Ok(());
        };
        self.entries[index] = Entry::Idle;
        self.in_flight -= 1;
        completions.push(Completion { index, result, requests: 1 });
        Ok(())
    }

    /// Keeps the break of an oplock (MS-CIFS 3.2.5.42). Other requests of a server are ignored.
    fn take_break(&mut self, header: &Header, message: &[u8]) -> Result<(), OpError> {
        if (header.command, header.mid) != (command::LOCKING_ANDX, UNSOLICITED) {
            return Ok(());
        }
        let words = Message::split(message).and_then(|parts| parts.get::<LockRequest>());
        let words = words.map_err(protocol_violation)?;
        if words.kind & OPLOCK_RELEASE == 0 {
            return Ok(());
        }
        let level = if words.oplock & KEEP_LEVEL_II == 0 { oplock::NONE } else { oplock::LEVEL_II };
        let broken = OplockBreak { level, file: oplock_file(words.fid), ..OplockBreak::default() };
        if self.oplocks.push(Broken::Oplock(broken)) {
            return Ok(());
        }
        Err(protocol_violation("more breaks of oplocks than a session can hold"))
    }

    /// Decodes the reply to `request`; none if another response follows.
    fn read(
        &mut self,
        index: usize,
        request: Request,
        status: NtStatus,
        message: &[u8],
    ) -> Result<Option<Result<u32, OpError>>, WireError> {
        let parts = Message::split(message)?;
        if let Request::Metadata { command } = request {
            self.reply.clear();
            self.reply.extend_from_slice(message);
            let transaction = command == command::TRANSACTION2 && status == NtStatus::SUCCESS;
            let complete = !transaction || self.collected.add(&parts)?;
            return Ok(complete.then_some(Ok(0)));
        }
        if status != NtStatus::SUCCESS {
            let at_end = status == NtStatus::END_OF_FILE && matches!(request, Request::Read { .. });
            let name = command::name(request.command());
            return Ok(Some(if at_end { Ok(0) } else { Err(status.failure(name)) }));
        }
        Ok(Some(match request {
            Request::Read { len, .. } => {
                let words: ReadResponse = parts.get()?;
                let data = parts.slice(usize::from(words.offset), words.len())?;
                let too_long =
                    WireError::Field { what: "READ_ANDX", field: "DataLength", value: data.len() as u64 };
                let place = self.buffers.payload_of(index, data.len());
                place.filter(|_| data.len() <= len as usize).ok_or(too_long)?.copy_from_slice(data);
                self.wire.payload_received += data.len() as u64;
                Ok(data.len() as u32)
            }
            Request::Write { len, .. } => {
                let words: WriteResponse = parts.get()?;
                let count = u32::from(words.count_low) | u32::from(words.count_high) << 16;
                if count == len { Ok(len) } else { Err(short_write(count, len)) }
            }
            Request::Flush { .. } | Request::Metadata { .. } => Ok(0),
        }))
    }

    #[cold]
    fn fail_all(&mut self, error: &OpError, completions: &mut Vec<Completion>) {
        self.out.clear();
        self.waiting.clear();
        self.in_flight = 0;
        for (index, entry) in self.entries.iter_mut().enumerate() {
            let requests = match std::mem::replace(entry, Entry::Idle) {
                Entry::Idle => continue,
                Entry::Waiting(_) => 0,
                Entry::Sent(..) => 1,
            };
            completions.push(Completion { index, result: Err(error.clone()), requests });
        }
    }

    /// The index of requests that belong to no slot.
    pub(super) fn metadata_index(&self) -> usize {
        self.entries.len() - 1
    }

    /// Ends the connection with its first error.
    pub(super) fn give_up(&mut self, error: OpError) {
        self.lost.get_or_insert(error);
    }
}

fn read_words(fid: u16, offset: u64, len: u32) -> ReadRequest {
    ReadRequest {
        andx: NO_ANDX,
        fid,
        offset_low: offset as u32,
        count_low: len as u16,
        count_high: len >> 16,
        offset_high: (offset >> 32) as u32,
        ..ReadRequest::default()
    }
}

fn write_words(fid: u16, offset: u64, len: u32, through: bool) -> WriteRequest {
    WriteRequest {
        andx: NO_ANDX,
        fid,
        offset_low: offset as u32,
        mode: if through { WRITE_THROUGH } else { 0 },
        len_high: (len >> 16) as u16,
        len_low: len as u16,
        data_offset: WRITE_DATA_OFFSET as u16,
        offset_high: (offset >> 32) as u32,
        ..WriteRequest::default()
    }
}
