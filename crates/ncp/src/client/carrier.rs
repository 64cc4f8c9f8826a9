//! What a client needs of the world: something that carries packets, and a clock.

use std::io;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::security::signature::Transport;

/// Carries packets to one server and back. It may block and always be ready, belong to a runtime, or be a simulation
/// with a clock of its own.
pub trait Carrier {
    /// What the packets travel on.
    fn transport(&self) -> Transport;

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
}
