//! A message of a connection, as far as it is in the input.

use std::net::SocketAddr;

/// Which end of a connection sent something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The one that sends requests.
    Client,
    /// The one that answers.
    Server,
}

/// The ends of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Ends {
    pub(crate) client: SocketAddr,
    pub(crate) server: SocketAddr,
}

/// Most bytes of a message that decoders see. What follows is data of READ and WRITE, or the end of a very long listing.
pub(crate) const HEAD_BYTES: usize = 64 << 10;

/// A message, as far as it is in the input.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Message<'a> {
    pub(crate) side: Side,
    /// When its first byte was captured, ns since the start of the input.
    pub(crate) start: u64,
    /// When its last byte was captured.
    pub(crate) end: u64,
    /// Its length on the wire, without the four bytes of its frame.
    pub(crate) len: usize,
    /// Its first bytes: the whole message, [`HEAD_BYTES`], or as many as the capture holds.
    pub(crate) head: &'a [u8],
}

impl Message<'_> {
    /// True if its end is not among the bytes of `head`.
    pub(crate) const fn is_cut(&self) -> bool {
        self.head.len() < self.len
    }
}
