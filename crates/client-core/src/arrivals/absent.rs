//! Systems that do not report when data arrived.

use std::io::{self, IoSliceMut};

use tokio::net::TcpStream;

/// Requests arrival times of a connection: false, because this system has none.
pub(super) fn request(_: &TcpStream) -> bool {
    false
}

/// Receives what is there.
pub(super) fn receive(
    stream: &TcpStream,
    slices: &mut [IoSliceMut<'_>],
    _: &mut Option<u64>,
) -> io::Result<usize> {
    stream.try_read_vectored(slices)
}
