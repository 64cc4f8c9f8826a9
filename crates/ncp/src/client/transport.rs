//! What a client needs of the environment: something that carries packets, and a clock.

use std::io;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::wire::TransportKind;

/// Carries packets to one server and back. It may block and always be ready, belong to a runtime, or be a simulation
/// with a clock of its own.
pub trait Transport {
    /// What the packets travel on.
    fn kind(&self) -> TransportKind;

    /// Time since a moment of its own.
    fn now(&self) -> Duration;

    /// Sends a whole message; called with the same one until it is ready. [`io::ErrorKind::TimedOut`] when that takes
    /// until after `deadline`.
    fn poll_send(&mut self, cx: &mut Context<'_>, message: &[u8], deadline: Duration)
    -> Poll<io::Result<()>>;

    /// Waits for the next whole message; false when `until` has passed without one.
    fn poll_receive(&mut self, cx: &mut Context<'_>, until: Duration) -> Poll<io::Result<bool>>;

    /// The message received last.
    fn message(&self) -> &[u8];

    /// True when packets can have checksums of IPX.
    fn has_checksums(&self) -> bool {
        false
    }

    /// From now on packets have checksums, and those without or with a wrong one are passed over; or not any more.
    fn use_checksums(&mut self, _on: bool) {}

    /// True when a router is on the way, which may take small packets only.
    fn is_routed(&self) -> bool {
        false
    }

    /// Sends a probe to the socket of the server that sends such back; [`io::ErrorKind::Unsupported`] where there is none.
    fn poll_send_probe(
        &mut self,
        _cx: &mut Context<'_>,
        _socket: u16,
        _probe: &[u8],
        _deadline: Duration,
    ) -> Poll<io::Result<()>> {
        Poll::Ready(Err(io::ErrorKind::Unsupported.into()))
    }

    /// Waits for what may be a probe that came back, as [`Self::poll_receive`] does for messages.
    fn poll_receive_probe(&mut self, cx: &mut Context<'_>, until: Duration) -> Poll<io::Result<bool>> {
        self.poll_receive(cx, until)
    }
}
