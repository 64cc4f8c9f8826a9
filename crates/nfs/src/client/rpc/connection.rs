//! One connection of a channel: what waits to be sent on it, and what arrives.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use sharebench_client_core::{Arrivals, SendQueue, connection_error};
use sharebench_model::{OpError, WireCount};
use sharebench_tls::{Stream, TlsStream};
use tokio::io::AsyncWrite as _;

use crate::client::rpc::calls::Calls;
use crate::client::rpc::dialect::{Dialect, Places};
use crate::client::rpc::link::Link;
use crate::client::rpc::receiver::Receiver;
use crate::client::rpc::replies::Completion;
use crate::xdr::{Writer, padding};

/// A connected link with its send queue and its receiver. The calls belong to the channel.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) link: Link,
    /// Bytes below TLS, or of datagrams, that are counted.
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
    pub(crate) fn new(link: Link, receiver: Receiver) -> Self {
        Self {
            // The handshake belongs to no call.
            counted: link.wire().unwrap_or_default(),
            link,
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
        match &self.link {
            Link::Stream(Stream::Plain(tcp)) => self.arrivals.start(tcp),
            Link::Stream(Stream::Tls(_)) | Link::Datagrams(_) => false,
        }
    }

    /// When the last received data arrived, nanoseconds since 1970.
    pub(crate) fn last_arrival_ns(&self) -> Option<u64> {
        self.arrivals.last_ns()
    }

    pub(crate) fn is_idle(&self) -> bool {
        let flushed = match &self.link {
            Link::Stream(Stream::Plain(_)) => true,
            Link::Stream(Stream::Tls(tls)) => !tls.is_unflushed(),
            Link::Datagrams(datagrams) => !datagrams.is_unsent(),
        };
        self.in_flight == 0 && self.send_queue.is_empty() && flushed
    }

    /// Returns the memory that only calls need.
    pub(crate) fn release_buffers(&mut self) {
        self.send_queue = SendQueue::default();
        self.receiver.release_buffers();
        if let Link::Datagrams(datagrams) = &mut self.link {
            datagrams.release_buffers();
        }
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
        let polled = match &mut self.link {
            Link::Stream(Stream::Plain(_)) if self.send_queue.is_empty() => return Ok(()),
            Link::Stream(Stream::Plain(tcp)) => self.send_queue.poll_send(tcp, cx, buffers, &mut wire.sent),
            Link::Stream(Stream::Tls(tls)) => {
                let polled = send_encrypted(&mut self.send_queue, tls, cx, buffers);
                self.count(wire);
                polled
            }
            Link::Datagrams(datagrams) => {
                // The queue is taken as a whole, at once.
                let polled = match self.send_queue.poll_send(&mut **datagrams, cx, buffers, &mut 0) {
                    Poll::Ready(Err(error)) => Err(error),
                    _ => datagrams.poll_progress(cx),
                };
                self.count(wire);
                Poll::Ready(polled)
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
        let awaits = self.in_flight > 0 || listen;
        if self.send_failure.is_none()
            && let Err(failure) = self.poll_send(cx, places.buffers, wire)
        {
            // The library of TLS does not continue after an error, and datagrams have no end of the stream.
            if !awaits || !matches!(self.link, Link::Stream(Stream::Plain(_))) {
                return Err(failure);
            }
            self.send_failure = Some(failure);
        }
        if !awaits {
            return self.send_failure.take().map_or(Ok(()), Err);
        }
        if let Link::Datagrams(datagrams) = &mut self.link {
            for xid in datagrams.take_resent() {
                wire.requests += 1;
                calls.note_resent(xid);
            }
        }
        let polled = match &mut self.link {
            Link::Stream(Stream::Plain(tcp)) => {
                let received = &mut wire.received;
                let stream = &mut self.arrivals.reader(tcp);
                self.receiver.poll_receive::<D, _>(stream, cx, calls, places, completions, received)
            }
            Link::Stream(Stream::Tls(tls)) => {
                let polled =
                    self.receiver.poll_receive::<D, _>(&mut **tls, cx, calls, places, completions, &mut 0);
                self.count(wire);
                polled
            }
            Link::Datagrams(datagrams) => {
                let stream = &mut **datagrams;
                let polled =
                    self.receiver.poll_receive::<D, _>(stream, cx, calls, places, completions, &mut 0);
                self.count(wire);
                polled
            }
        };
        match polled {
            Poll::Ready(Err(error)) => Err(self.send_failure.take().unwrap_or(error)),
            Poll::Ready(Ok(())) | Poll::Pending => Ok(()),
        }
    }

    /// Counts what crossed the wire below TLS, with its own headers, or in datagrams, since the last time.
    fn count(&mut self, wire: &mut WireCount) {
        let Some((sent, received)) = self.link.wire() else { return };
        wire.sent += sent - self.counted.0;
        wire.received += received - self.counted.1;
        self.counted = (sent, received);
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
