//! Systems without epoll and timerfd: a relay cannot be started.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;

use super::Shared;
use crate::distance::Distance;
use crate::greeting::Greeting;

/// No descriptors are counted where no relay can be started.
pub(crate) fn allowed_connections(most: usize) -> usize {
    most
}

/// Has no values, because [`Self::open`] always fails.
pub(crate) enum Forwarder {}

impl Forwarder {
    pub(crate) fn open(
        _: SocketAddr,
        _: SocketAddr,
        _: Distance,
        _: Greeting,
        _: usize,
        _: Arc<Shared>,
    ) -> io::Result<Self> {
        Err(io::Error::new(ErrorKind::Unsupported, "a simulated distance (far=) needs Linux"))
    }

    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        match *self {}
    }

    pub(crate) fn run(self) -> io::Result<()> {
        match self {}
    }
}
