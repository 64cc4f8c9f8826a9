//! Systems without packet sockets.

use std::io::{self, ErrorKind};
use std::ops::Range;

use crate::wire::ethernet::Framing;

/// A packet socket on one interface. It has no values on this system, because [`Self::open`] always fails.
#[derive(Debug)]
pub enum EtherSocket {}

impl EtherSocket {
    /// Fails with [`ErrorKind::Unsupported`].
    pub fn open(_: &str, _: Framing) -> io::Result<Self> {
        Err(io::Error::new(ErrorKind::Unsupported, "IPX on Ethernet needs the packet sockets of Linux"))
    }

    /// Requests a receive buffer.
    pub fn grow_receive_buffer(&self, _: usize) -> io::Result<usize> {
        match *self {}
    }

    /// The MAC address of the interface.
    pub const fn mac(&self) -> [u8; 6] {
        match *self {}
    }

    /// The framing of IPX packets.
    pub const fn framing(&self) -> Framing {
        match *self {}
    }

    /// Receives the next frame.
    pub fn receive(&self, _: &mut [u8]) -> io::Result<Option<([u8; 6], Range<usize>)>> {
        match *self {}
    }

    /// Sends an IPX packet in a frame.
    pub fn send(&self, _: [u8; 6], _: &[u8]) -> io::Result<()> {
        match *self {}
    }

    /// Installs a filter for the packets of one IPX socket.
    pub fn filter_socket(&self, _: u16) -> io::Result<()> {
        match *self {}
    }
}
