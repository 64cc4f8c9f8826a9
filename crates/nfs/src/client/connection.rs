//! One TCP connection of a channel: what waits to be sent on it, and what arrives.

use std::task::{Context, Poll};

use sharebench_model::{OpError, WireCount};
use sharebench_stream_client::{Arrivals, SendQueue, connection_error};
use tokio::net::TcpStream;

use crate::client::calls::Calls;
use crate::client::dialect::{Dialect, Places};
use crate::client::receiver::Receiver;
use crate::client::replies::Completion;
use crate::xdr::{Writer, padding};

/// A connected stream with its send queue and its receiver. The calls belong to the channel.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) stream: TcpStream,
    arrivals: Arrivals,
    send_queue: SendQueue<Writer>,
    pub(crate) receiver: Receiver,
    /// Calls that were assigned to this connection and not answered.
    pub(crate) in_flight: usize,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream, receiver: Receiver) -> Self {
        Self {
            stream,
            arrivals: Arrivals::default(),
            send_queue: SendQueue::default(),
            receiver,
            in_flight: 0,
        }
    }

    /// Requests arrival times of the kernel; false if it has none.
    pub(crate) fn time_arrivals(&mut self) -> bool {
        self.arrivals.start(&self.stream)
    }

    /// When the last received data arrived, nanoseconds since 1970.
    pub(crate) fn last_arrival_ns(&self) -> Option<u64> {
        self.arrivals.last_ns()
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.in_flight == 0 && self.send_queue.is_empty()
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
        if !self.send_queue.is_empty()
            && let Poll::Ready(Err(error)) =
                self.send_queue.poll_send(&mut self.stream, cx, buffers, &mut wire.sent)
        {
            return Err(connection_error::disconnected(error.to_string()));
        }
        Ok(())
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
        self.poll_send(cx, places.buffers, wire)?;
        if self.in_flight == 0 && !listen {
            return Ok(());
        }
        let received = &mut wire.received;
        let stream = &mut self.arrivals.of(&mut self.stream);
        match self.receiver.poll_receive::<D, _>(stream, cx, calls, places, completions, received) {
            Poll::Ready(Err(error)) => Err(error),
            Poll::Ready(Ok(())) | Poll::Pending => Ok(()),
        }
    }
}
