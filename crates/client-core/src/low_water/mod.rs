//! How much has to arrive before the kernel wakes a reader (docs/design/sockets.md).

#[cfg(not(target_os = "linux"))]
mod absent;
#[cfg(target_os = "linux")]
mod linux;

use tokio::net::TcpStream;

#[cfg(not(target_os = "linux"))]
use absent::set;
#[cfg(target_os = "linux")]
use linux::set;

/// Bytes at the end of a large transfer that are not waited for as a whole. They are copied after the last of them has
/// arrived, which adds about 20 us to the response time; the rest is copied while they arrive.
const LAST_BYTES: usize = 128 << 10;

/// The low-water mark of one connection. A reader that is woken for each segment of a large reply pays for each wake-up; one
/// that is woken for most of the reply pays once.
#[derive(Debug, Default)]
pub(crate) struct LowWater {
    /// The mark in bytes; 0 where it was never set.
    mark: usize,
}

impl LowWater {
    /// Prepares to wait for data of which `bytes` are certain to arrive, and moves the mark accordingly. 0 where nothing is
    /// certain: a single byte is reported then.
    pub(crate) fn expect(&mut self, stream: &TcpStream, bytes: usize) {
        let mark = if bytes >= 2 * LAST_BYTES { bytes - LAST_BYTES } else { usize::from(self.mark != 0) };
        // A mark that could not be moved down is moved the next time: the attempt fails only for a socket that is gone.
        if mark != self.mark && set(stream, mark) {
            self.mark = mark;
        }
    }
}
