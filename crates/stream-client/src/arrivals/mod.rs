//! When received data arrived at this machine, by the kernel's clock. Only Linux reports it; elsewhere it is absent.

#[cfg(not(target_os = "linux"))]
mod absent;
#[cfg(target_os = "linux")]
mod linux;

use std::io::{self, IoSliceMut};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::TcpStream;

#[cfg(not(target_os = "linux"))]
use absent::{receive, request};
#[cfg(target_os = "linux")]
use linux::{receive, request};

/// The arrival times of one connection. Off by default, so that receiving costs nothing more.
#[derive(Debug, Default)]
pub struct Arrivals {
    is_on: bool,
    last_ns: Option<u64>,
}

impl Arrivals {
    /// Requests them from the kernel; false if it has none.
    pub fn start(&mut self, stream: &TcpStream) -> bool {
        self.is_on = request(stream);
        self.is_on
    }

    /// When the last received segment arrived, nanoseconds since 1970 (`CLOCK_REALTIME`); none before the first
    /// one, or if the kernel did not record it.
    pub fn last_ns(&self) -> Option<u64> {
        self.last_ns
    }

    /// The stream, which receives through this.
    pub fn of<'a>(&'a mut self, stream: &'a mut TcpStream) -> ArrivingStream<'a> {
        ArrivingStream { stream, arrivals: self }
    }
}

/// A stream that notes the arrival of what it receives.
#[derive(Debug)]
pub struct ArrivingStream<'a> {
    stream: &'a mut TcpStream,
    arrivals: &'a mut Arrivals,
}

impl ArrivingStream<'_> {
    /// Reads into `first` and, once that is full, into `second`.
    pub fn poll_read_both(
        &mut self,
        cx: &mut Context<'_>,
        first: &mut [u8],
        second: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.stream.poll_read_ready(cx))?;
            let slices = &mut [IoSliceMut::new(first), IoSliceMut::new(second)];
            let received = if self.arrivals.is_on {
                receive(self.stream, slices, &mut self.arrivals.last_ns)
            } else {
                self.stream.try_read_vectored(slices)
            };
            match received {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return Poll::Ready(done),
            }
        }
    }
}

impl AsyncRead for ArrivingStream<'_> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        space: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.arrivals.is_on {
            return Pin::new(&mut *this.stream).poll_read(cx, space);
        }
        let count = ready!(this.poll_read_both(cx, space.initialize_unfilled(), &mut []))?;
        space.advance(count);
        Poll::Ready(Ok(()))
    }
}
