//! The interface between a client and its network: packets and a clock.

use std::io;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::wire::TransportKind;

/// Carries packets between a client and one server.
///
/// An implementation may block and always be ready, belong to an async runtime, or be a simulation with a virtual
/// clock. It owns the receive buffer: [`Self::message`] returns the last message until the next receive. The client
/// passes deadlines as times of [`Self::now`], so that it never reads a clock of its own and runs deterministically
/// in a simulation.
pub trait Transport {
    /// The kind of transport.
    fn kind(&self) -> TransportKind;

    /// Time since an arbitrary start.
    fn now(&self) -> Duration;

    /// Sends a whole message. The client repeats the call with the same message until it is ready. It fails with
    /// [`io::ErrorKind::TimedOut`] when `deadline` passes first.
    fn poll_send(&mut self, cx: &mut Context<'_>, message: &[u8], deadline: Duration)
    -> Poll<io::Result<()>>;

    /// Waits for the next whole message; false when `until` passes first.
    fn poll_receive(&mut self, cx: &mut Context<'_>, until: Duration) -> Poll<io::Result<bool>>;

    /// The message received last.
    fn message(&self) -> &[u8];

    /// True when packets can have IPX checksums.
    fn has_checksums(&self) -> bool {
        false
    }

    /// Switches checksums on or off. While they are on, received packets with a missing or wrong checksum are
    /// discarded.
    fn use_checksums(&mut self, _on: bool) {}

    /// True when a router is on the path, which may forward small packets only.
    fn is_routed(&self) -> bool {
        false
    }

    /// Sends a probe to the echo socket of the server; fails with [`io::ErrorKind::Unsupported`] if the transport has
    /// no probes.
    fn poll_send_probe(
        &mut self,
        _cx: &mut Context<'_>,
        _socket: u16,
        _probe: &[u8],
        _deadline: Duration,
    ) -> Poll<io::Result<()>> {
        Poll::Ready(Err(io::ErrorKind::Unsupported.into()))
    }

    /// Waits for a message that may be a returned probe, as [`Self::poll_receive`] does.
    fn poll_receive_probe(&mut self, cx: &mut Context<'_>, until: Duration) -> Poll<io::Result<bool>> {
        self.poll_receive(cx, until)
    }
}
