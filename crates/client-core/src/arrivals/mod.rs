//! When received data arrived at this machine, by the kernel's clock. Only Linux reports it; elsewhere it is absent.

#[cfg(not(target_os = "linux"))]
mod absent;
#[cfg(target_os = "linux")]
mod linux;

use std::io::{self, IoSliceMut};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, Interest, ReadBuf};
use tokio::net::TcpStream;

#[cfg(not(target_os = "linux"))]
use absent::{receive, request};
#[cfg(target_os = "linux")]
use linux::{receive, request};

use crate::low_water::LowWater;

/// The arrival times of one connection. Off by default, so that receiving costs nothing more.
#[derive(Debug, Default)]
pub struct Arrivals {
    is_on: bool,
    last_ns: Option<u64>,
    low_water: LowWater,
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
    pub fn reader<'a>(&'a mut self, stream: &'a mut TcpStream) -> ArrivingStream<'a> {
        ArrivingStream { stream, arrivals: self }
    }
}

/// A stream that notes the arrival of what it receives.
#[derive(Debug)]
pub struct ArrivingStream<'a> {
    stream: &'a mut TcpStream,
    arrivals: &'a mut Arrivals,
}

/// A read that fills only a part of its buffers has emptied the socket. Without that knowledge the next request would begin
/// with a read that finds nothing. Tokio knows it for single buffers, on Linux as well.
const SHORT_READ_EMPTIES: bool = cfg!(target_os = "linux");

impl ArrivingStream<'_> {
    /// States how many of the bytes to be read next are certain to arrive, 0 where that is not known: of many, the reader is
    /// woken once most of them are there.
    pub fn expect(&mut self, bytes: usize) {
        self.arrivals.low_water.expect(self.stream, bytes);
    }

    /// Reads into `first` and, once that is full, into `second`.
    pub fn poll_read_both(
        &mut self,
        cx: &mut Context<'_>,
        first: &mut [u8],
        second: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.stream.poll_read_ready(cx))?;
            match self.receive(first, second) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return Poll::Ready(done),
            }
        }
    }

    /// Receives what is there, and has the next read wait for more if nothing is left.
    fn receive(&mut self, first: &mut [u8], second: &mut [u8]) -> io::Result<usize> {
        let space = first.len() + second.len();
        let slices = &mut [IoSliceMut::new(first), IoSliceMut::new(second)];
        let stream = &*self.stream;
        let mut received = 0;
        // What arrives from here on makes the stream readable again, whatever the result is.
        let done = stream.try_io(Interest::READABLE, || {
            received = if self.arrivals.is_on {
                receive(stream, slices, &mut self.arrivals.last_ns)?
            } else {
                stream.try_read_vectored(slices)?
            };
            let is_empty = SHORT_READ_EMPTIES && (1..space).contains(&received);
            if is_empty { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
        });
        match done {
            Err(error) if received == 0 => Err(error),
            _ => Ok(received),
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
