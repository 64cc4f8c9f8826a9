//! One TCP connection of a channel: what waits to be sent on it, and what arrives.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use sharebench_model::{OpError, WireCount};
use sharebench_stream_client::{Arrivals, SendQueue, connection_error};
use sharebench_tls::{Stream, TlsStream};
use tokio::io::AsyncWrite as _;

use crate::client::calls::Calls;
use crate::client::dialect::{Dialect, Places};
use crate::client::receiver::Receiver;
use crate::client::replies::Completion;
use crate::xdr::{Writer, padding};

/// A connected stream with its send queue and its receiver. The calls belong to the channel.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) stream: Stream,
    /// Bytes below TLS that are counted.
    counted: (u64, u64),
    arrivals: Arrivals,
    send_queue: SendQueue<Writer>,
    pub(crate) receiver: Receiver,
    /// Calls that were assigned to this connection and not answered.
    pub(crate) in_flight: usize,
    /// Why nothing can be sent any longer. What the server has answered before still arrives, up to the end of the stream.
    send_failure: Option<OpError>,
}

impl Connection {
    pub(crate) fn new(stream: Stream, receiver: Receiver) -> Self {
        Self {
            // The handshake belongs to no call.
            counted: stream.tls_wire().unwrap_or_default(),
            stream,
            arrivals: Arrivals::default(),
            send_queue: SendQueue::default(),
            receiver,
            in_flight: 0,
            send_failure: None,
        }
    }

    /// Requests arrival times of the kernel; false if it has none.
    pub(crate) fn time_arrivals(&mut self) -> bool {
        // The library receives what belongs together in several reads, so that an arrival belongs to no reply.
        match &self.stream {
            Stream::Plain(tcp) => self.arrivals.start(tcp),
            Stream::Tls(_) => false,
        }
    }

    /// When the last received data arrived, nanoseconds since 1970.
    pub(crate) fn last_arrival_ns(&self) -> Option<u64> {
        self.arrivals.last_ns()
    }

    pub(crate) fn is_idle(&self) -> bool {
        let flushed = match &self.stream {
            Stream::Plain(_) => true,
            Stream::Tls(tls) => !tls.is_unflushed(),
        };
        self.in_flight == 0 && self.send_queue.is_empty() && flushed
    }

    /// Returns the memory that only calls need.
    pub(crate) fn release_buffers(&mut self) {
        self.send_queue = SendQueue::default();
        self.receiver.release_buffers();
    }

    /// Queues a record; `payload` bytes of slot `index` follow what `encode` appends.
    #[inline]
    pub(crate) fn queue(&mut self, index: usize, payload: usize, encode: impl FnOnce(&mut Writer)) {
        self.send_queue.gather(|writer, _| encode(writer));
        // The payload stays in its slot; only its padding is copied.
        if payload > 0 {
            self.send_queue.push_slot(index, payload);
            if padding(payload) > 0 {
                self.send_queue.gather(|writer, _| writer.pad(payload));
            }
        }
    }

    /// Writes what waits.
    pub(crate) fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        buffers: &[Box<[u8]>],
        wire: &mut WireCount,
    ) -> Result<(), OpError> {
        let polled = match &mut self.stream {
            Stream::Plain(_) if self.send_queue.is_empty() => return Ok(()),
            Stream::Plain(tcp) => self.send_queue.poll_send(tcp, cx, buffers, &mut wire.sent),
            Stream::Tls(tls) => {
                let polled = send_encrypted(&mut self.send_queue, tls, cx, buffers);
                count(tls, &mut self.counted, wire);
                polled
            }
        };
        match polled {
            Poll::Ready(Err(error)) => Err(connection_error::disconnected(error.to_string())),
            _ => Ok(()),
        }
    }

    /// Sends what waits, then receives. Nothing is read while nothing is awaited, so that an idle session is not woken by
    /// its socket, unless `listen` is set because the server may call.
    pub(crate) fn poll<D: Dialect>(
        &mut self,
        cx: &mut Context<'_>,
        calls: &mut Calls,
        places: &mut Places<'_>,
        completions: &mut Vec<Completion>,
        wire: &mut WireCount,
        listen: bool,
    ) -> Result<(), OpError> {
        if self.send_failure.is_none() {
            self.send_failure = self.poll_send(cx, places.buffers, wire).err();
        }
        // The library of TLS does not continue after an error.
        let ended = self.in_flight == 0 && !listen || matches!(self.stream, Stream::Tls(_));
        match self.send_failure.take_if(|_| ended) {
            Some(failure) => return Err(failure),
            None if self.in_flight == 0 && !listen => return Ok(()),
            None => {}
        }
        let polled = match &mut self.stream {
            Stream::Plain(tcp) => {
                let received = &mut wire.received;
                let stream = &mut self.arrivals.of(tcp);
                self.receiver.poll_receive::<D, _>(stream, cx, calls, places, completions, received)
            }
            Stream::Tls(tls) => {
                let polled =
                    self.receiver.poll_receive::<D, _>(&mut **tls, cx, calls, places, completions, &mut 0);
                count(tls, &mut self.counted, wire);
                polled
            }
        };
        match polled {
            Poll::Ready(Err(error)) => Err(self.send_failure.take().unwrap_or(error)),
            Poll::Ready(Ok(())) | Poll::Pending => Ok(()),
        }
    }
}

/// Encrypts and sends what waits. TLS may keep encrypted bytes that the socket does not take, which leave with a later poll.
fn send_encrypted(
    queue: &mut SendQueue<Writer>,
    tls: &mut TlsStream,
    cx: &mut Context<'_>,
    buffers: &[Box<[u8]>],
) -> Poll<io::Result<()>> {
    if !queue.is_empty()
        && let Poll::Ready(Err(error)) = queue.poll_send(tls, cx, buffers, &mut 0)
    {
        return Poll::Ready(Err(error));
    }
    if tls.is_unflushed() { Pin::new(tls).poll_flush(cx) } else { Poll::Ready(Ok(())) }
}

/// Counts what crossed the wire below TLS, with its own headers, since the last time.
fn count(tls: &TlsStream, counted: &mut (u64, u64), wire: &mut WireCount) {
    let (sent, received) = tls.wire();
    wire.sent += sent - counted.0;
    wire.received += received - counted.1;
    *counted = (sent, received);
}
