//! RPC over UDP: each record is one datagram, which is sent again until its reply arrives.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UdpSocket;
use tokio::time::{Instant, Sleep, sleep};

use crate::record::{FRAGMENT_HEADER_BYTES, LAST_FRAGMENT, NextRecord, next_record};
use crate::rpc::is_reply;

/// Largest payload of a datagram over IPv4: 65,535 bytes without the headers of IP and UDP.
const MAX_DATAGRAM_BYTES: usize = 65_507;
/// Longest time between two transmissions of a call, as of Linux.
const MAX_WAIT: Duration = Duration::from_secs(60);
/// Buffers of answered calls that are kept for later ones.
const MAX_FREE_BUFFERS: usize = 64;

/// What crossed the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct DatagramCounts {
    /// Bytes of all datagrams sent, without the headers of IP and UDP.
    pub(crate) sent: u64,
    /// Bytes of all datagrams received.
    pub(crate) received: u64,
    /// Calls sent again.
    pub(crate) retransmissions: u64,
    /// Datagrams received that answer no call in flight, such as the second reply to a call.
    pub(crate) duplicates: u64,
}

/// A call without a reply.
#[derive(Debug)]
struct Unanswered {
    record: Vec<u8>,
    /// When it is sent again.
    due: Instant,
    /// Time from its last transmission until `due`.
    wait: Duration,
    transmissions: u32,
    /// Waits in the queue to be sent.
    queued: bool,
}

/// A connected UDP socket as a stream of records.
///
/// It takes records with fragment headers and sends the content of each as one datagram. What it receives is returned with a
/// fragment header, so that the receiver of a TCP connection reads it. A call that is not answered in time is sent again with
/// the same xid, after twice the time before, for as long as somebody polls: whoever makes the call limits its time. A datagram
/// that is not the reply to a call in flight is dropped.
///
/// If nobody receives at the port, the system reports it with the next transmission: the receiver of a socket is not woken for
/// that.
///
/// The holder polls [`Self::poll_progress`], which sends, and accounts for [`Self::take_resent`] before it reads.
#[derive(Debug)]
pub(crate) struct Datagrams {
    socket: UdpSocket,
    /// Time until a call is sent for the second time.
    timeout: Duration,
    /// The bytes of a record that is not complete.
    partial: Vec<u8>,
    calls: HashMap<u32, Unanswered>,
    unsent: VecDeque<u32>,
    resent: Vec<u32>,
    timer: Pin<Box<Sleep>>,
    /// When the timer fires; none if no call is in flight.
    armed: Option<Instant>,
    /// A received datagram with its fragment header; empty while nothing was received.
    reply: Vec<u8>,
    /// The part of `reply` that was not read.
    unread: std::ops::Range<usize>,
    free: Vec<Vec<u8>>,
    counts: DatagramCounts,
}

impl Datagrams {
    /// Takes a connected socket. A call is sent again after `timeout`.
    pub(crate) fn new(socket: UdpSocket, timeout: Duration) -> Self {
        Self {
            socket,
            timeout,
            partial: Vec::new(),
            calls: HashMap::new(),
            unsent: VecDeque::new(),
            resent: Vec::new(),
            timer: Box::pin(sleep(Duration::ZERO)),
            armed: None,
            reply: Vec::new(),
            unread: 0..0,
            free: Vec::new(),
            counts: DatagramCounts::default(),
        }
    }

    pub(crate) fn local_addr(&self) -> Option<SocketAddr> {
        self.socket.local_addr().ok()
    }

    pub(crate) const fn counts(&self) -> DatagramCounts {
        self.counts
    }

    /// True if a call waits to be sent.
    pub(crate) fn is_unsent(&self) -> bool {
        !self.unsent.is_empty() || !self.partial.is_empty()
    }

    /// Returns the memory that only calls need.
    pub(crate) fn release_buffers(&mut self) {
        if self.calls.is_empty() && self.unread.is_empty() {
            self.reply = Vec::new();
            self.free = Vec::new();
        }
    }

    /// The xids of the calls that were sent again since the last time, once for each time.
    pub(crate) fn take_resent(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.resent)
    }

    /// Sends what waits, and again what was not answered in time.
    pub(crate) fn poll_progress(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        self.queue_late_calls(cx);
        while let Some(xid) = self.unsent.front().copied() {
            // A call may have been answered while it waited to be sent again.
            let Some(call) = self.calls.get_mut(&xid) else {
                self.unsent.pop_front();
                continue;
            };
            match self.socket.poll_send(cx, &call.record) {
                Poll::Pending => break,
                Poll::Ready(sent) => self.counts.sent += sent? as u64,
            }
            call.queued = false;
            call.transmissions += 1;
            if call.transmissions > 1 {
                self.counts.retransmissions += 1;
                self.resent.push(xid);
            }
            self.unsent.pop_front();
        }
        Ok(())
    }

    /// Queues the calls whose time is over, and sets the timer for the others.
    fn queue_late_calls(&mut self, cx: &mut Context<'_>) {
        while let Some(armed) = self.armed {
            if self.timer.deadline() != armed {
                self.timer.as_mut().reset(armed);
            }
            if self.timer.as_mut().poll(cx).is_pending() {
                return;
            }
            let now = Instant::now();
            for (xid, call) in &mut self.calls {
                if call.due <= now {
                    call.wait = (call.wait * 2).min(MAX_WAIT);
                    call.due = now + call.wait;
                    if !call.queued {
                        call.queued = true;
                        self.unsent.push_back(*xid);
                    }
                }
            }
            self.armed = self.calls.values().map(|call| call.due).min();
        }
    }

    /// Takes a complete record as a call.
    fn start(&mut self, at: std::ops::Range<usize>) -> io::Result<()> {
        let mut record = self.free.pop().unwrap_or_default();
        record.clear();
        record.extend_from_slice(self.partial.get(at).unwrap_or_default());
        let xid = xid(&record).ok_or(io::ErrorKind::InvalidInput)?;
        let due = Instant::now() + self.timeout;
        self.armed = Some(self.armed.map_or(due, |armed| armed.min(due)));
        let call = Unanswered { record, due, wait: self.timeout, transmissions: 0, queued: true };
        self.calls.insert(xid, call);
        self.unsent.push_back(xid);
        Ok(())
    }

    /// Ends the call that a datagram answers; false if it answers none.
    fn finish(&mut self, len: usize) -> bool {
        let datagram = self.reply.get(FRAGMENT_HEADER_BYTES..FRAGMENT_HEADER_BYTES + len).unwrap_or_default();
        let answered = xid(datagram).filter(|_| is_reply(datagram)).and_then(|xid| self.calls.remove(&xid));
        let Some(call) = answered else { return false };
        if self.free.len() < MAX_FREE_BUFFERS {
            self.free.push(call.record);
        }
        if self.calls.is_empty() {
            self.armed = None;
        }
        true
    }
}

fn xid(record: &[u8]) -> Option<u32> {
    record.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}

impl AsyncWrite for Datagrams {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.partial.extend_from_slice(bytes);
        let mut at = 0;
        loop {
            let rest = this.partial.get(at..).unwrap_or_default();
            match next_record(rest, MAX_DATAGRAM_BYTES).map_err(io::Error::other)? {
                NextRecord::Whole { start, end } => {
                    this.start(at + start..at + end)?;
                    at += end;
                }
                NextRecord::Partial(_) | NextRecord::Incomplete => break,
            }
        }
        this.partial.drain(..at);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.poll_progress(cx)?;
        if this.unsent.is_empty() { Poll::Ready(Ok(())) } else { Poll::Pending }
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Datagrams {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        space: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        while this.unread.is_empty() {
            if this.reply.is_empty() {
                this.reply.resize(FRAGMENT_HEADER_BYTES + MAX_DATAGRAM_BYTES, 0);
            }
            let (header, body) = this.reply.split_at_mut(FRAGMENT_HEADER_BYTES);
            let mut body = ReadBuf::new(body);
            ready!(this.socket.poll_recv(cx, &mut body))?;
            let len = body.filled().len();
            header.copy_from_slice(&(len as u32 | LAST_FRAGMENT).to_be_bytes());
            this.counts.received += len as u64;
            if this.finish(len) {
                this.unread = 0..FRAGMENT_HEADER_BYTES + len;
            } else {
                this.counts.duplicates += 1;
            }
        }
        let unread = this.reply.get(this.unread.clone()).unwrap_or_default();
        let count = unread.len().min(space.remaining());
        space.put_slice(unread.get(..count).unwrap_or_default());
        this.unread.start += count;
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// A record of a call or a reply.
    fn message(xid: u32, kind: u32, body: &[u8]) -> Vec<u8> {
        [&xid.to_be_bytes()[..], &kind.to_be_bytes(), body].concat()
    }

    fn framed(record: &[u8]) -> Vec<u8> {
        [&(record.len() as u32 | LAST_FRAGMENT).to_be_bytes()[..], record].concat()
    }

    async fn pair(timeout: Duration) -> (Datagrams, UdpSocket) {
        let server = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        client.connect(server.local_addr().unwrap()).await.unwrap();
        server.connect(client.local_addr().unwrap()).await.unwrap();
        (Datagrams::new(client, timeout), server)
    }

    async fn received(server: &UdpSocket) -> Vec<u8> {
        let mut buffer = vec![0; 1 << 16];
        let len = server.recv(&mut buffer).await.unwrap();
        buffer.truncate(len);
        buffer
    }

    #[tokio::test]
    async fn a_call_is_sent_again_until_it_is_answered_and_other_datagrams_are_dropped() {
        let (mut client, server) = pair(Duration::from_millis(10)).await;
        let call = message(7, 0, b"call");
        // A record in pieces, as a vectored write passes them.
        for piece in framed(&call).chunks(5) {
            client.write_all(piece).await.unwrap();
        }
        let server = async {
            for _ in 0..3 {
                assert_eq!(received(&server).await, call);
            }
            // Too short, a call, and the reply to another call.
            for datagram in [b"x".to_vec(), message(7, 0, b""), message(8, 1, b"")] {
                server.send(&datagram).await.unwrap();
            }
            for _ in 0..2 {
                server.send(&message(7, 1, b"reply")).await.unwrap();
            }
            server
        };
        let expected = framed(&message(7, 1, b"reply"));
        let reading = async {
            let mut stream = vec![0; expected.len()];
            let mut filled = 0;
            while filled < stream.len() {
                let mut space = ReadBuf::new(&mut stream[filled..]);
                filled += poll_fn(|cx| {
                    client.poll_progress(cx)?;
                    let before = space.filled().len();
                    ready!(Pin::new(&mut client).poll_read(cx, &mut space))?;
                    Poll::Ready(io::Result::Ok(space.filled().len() - before))
                })
                .await
                .unwrap();
            }
            stream
        };
        let (server, stream) = tokio::join!(server, reading);
        assert_eq!(stream, expected);
        let counts = client.counts();
        assert_eq!(counts.duplicates, 3);
        assert!(counts.retransmissions >= 2, "{counts:?}");
        assert_eq!(client.take_resent(), vec![7; counts.retransmissions as usize]);
        assert_eq!(counts.sent, (1 + counts.retransmissions) * call.len() as u64);
        // The second reply waits in the socket, and is dropped by the next call.
        let second = message(9, 0, b"");
        client.write_all(&framed(&second)).await.unwrap();
        client.flush().await.unwrap();
        while received(&server).await != second {}
        server.send(&message(9, 1, b"")).await.unwrap();
        let mut head = [0; 8];
        client.read_exact(&mut head).await.unwrap();
        assert_eq!(head[4..], 9u32.to_be_bytes());
        assert_eq!(client.counts().duplicates, 4);
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_between_transmissions_doubles_up_to_a_minute() {
        let (mut client, _server) = pair(Duration::from_millis(1100)).await;
        // Known to be ready, so that the clock does not advance while the socket is registered.
        client.socket.writable().await.unwrap();
        client.write_all(&framed(&message(1, 0, b""))).await.unwrap();
        let begun = Instant::now();
        let mut times = Vec::new();
        poll_fn(|cx| {
            client.poll_progress(cx).unwrap();
            times.extend(client.take_resent().iter().map(|_| (Instant::now() - begun).as_millis()));
            if times.len() < 8 { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
        let waits: Vec<u128> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        for (wait, expected) in waits.iter().zip([2200, 4400, 8800, 17_600, 35_200, 60_000, 60_000]) {
            // The clock of timers ticks in milliseconds.
            assert!(wait.abs_diff(expected) <= 1, "{waits:?}");
        }
    }

    #[tokio::test]
    async fn nobody_at_the_port_is_an_error() {
        let (mut client, server) = pair(Duration::from_millis(10)).await;
        drop(server);
        client.write_all(&framed(&message(1, 0, b""))).await.unwrap();
        let error = poll_fn(|cx| match client.poll_progress(cx) {
            Err(error) => Poll::Ready(error),
            Ok(()) => {
                Pin::new(&mut client).poll_read(cx, &mut ReadBuf::new(&mut [0; 8])).map(Result::unwrap_err)
            }
        })
        .await;
        assert!(matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset));
    }
}
