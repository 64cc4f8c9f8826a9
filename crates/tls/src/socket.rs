//! The socket under TLS: it counts what crosses the wire, and receives several records at once.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Bytes that one system call receives. The library itself requests one record of at most 16 KiB at a time.
const READ_AHEAD_BYTES: usize = 64 << 10;

/// A TCP connection with the counts of its bytes.
#[derive(Debug)]
pub(crate) struct Socket {
    pub(crate) tcp: TcpStream,
    /// Bytes that were received and not passed on; no memory while there are none.
    ahead: Vec<u8>,
    passed: usize,
    pub(crate) sent: u64,
    pub(crate) received: u64,
}

impl Socket {
    pub(crate) fn new(tcp: TcpStream) -> Self {
        Self { tcp, ahead: Vec::new(), passed: 0, sent: 0, received: 0 }
    }

    /// True if bytes were received that the library has not seen.
    pub(crate) fn is_ahead(&self) -> bool {
        self.passed < self.ahead.len()
    }

    /// Receives what is there. A connection without data keeps no memory.
    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.passed = 0;
        self.ahead.clear();
        loop {
            if let Poll::Ready(ready) = self.tcp.poll_read_ready(cx) {
                ready?;
            } else {
                self.ahead = Vec::new();
                return Poll::Pending;
            }
            self.ahead.reserve(READ_AHEAD_BYTES);
            match self.tcp.try_read_buf(&mut self.ahead) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
                Ok(count) => {
                    self.received += count as u64;
                    return Poll::Ready(Ok(()));
                }
            }
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        space: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.is_ahead() {
            ready!(this.poll_fill(cx))?;
        }
        let waiting = this.ahead.get(this.passed..).unwrap_or_default();
        let count = waiting.len().min(space.remaining());
        space.put_slice(waiting.get(..count).unwrap_or_default());
        this.passed += count;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let count = ready!(Pin::new(&mut self.tcp).poll_write(cx, bytes))?;
        self.sent += count as u64;
        Poll::Ready(Ok(count))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let count = ready!(Pin::new(&mut self.tcp).poll_write_vectored(cx, slices))?;
        self.sent += count as u64;
        Poll::Ready(Ok(count))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(cx)
    }
}
