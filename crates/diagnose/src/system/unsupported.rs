//! Systems without an exact CPU time of a thread, on which nothing is diagnosed ([`super::SUPPORTED`]).

use std::convert::Infallible;

use tokio::net::TcpStream;

/// Reads no times.
pub(crate) struct ThreadTime;

#[expect(clippy::unused_self, reason = "the readings of the other systems need it")]
impl ThreadTime {
    pub(crate) fn open() -> Self {
        Self
    }

    pub(crate) fn cpu_ns(&self) -> f64 {
        0.0
    }

    pub(crate) fn starved_ns(&self) -> f64 {
        0.0
    }
}

/// Has no values on this system.
pub(crate) struct SocketOptions(Infallible);

impl SocketOptions {
    pub(crate) fn from_stream(_: &TcpStream) -> Option<Self> {
        None
    }

    pub(crate) fn send_at_once(&self, _: bool) {
        match self.0 {}
    }

    pub(crate) fn acknowledge(&self) {
        match self.0 {}
    }
}

/// The user of this process, which has no number here: 0 as in the client of NFS.
pub(crate) fn own_uid() -> u32 {
    0
}

/// CPUs that the calling thread may use, which are not counted here.
pub(crate) fn cpus() -> usize {
    0
}
