//! Messages of one connection to operations.

mod nfs;
mod smb;
mod smb1;
mod smb2;

use std::net::SocketAddr;

use crate::input::recorder::Recorder;

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

/// Decodes the messages of one connection. Every byte is hostile: a message that cannot be decoded is counted in
/// `Unseen::not_understood`, one whose head ends too early in `Unseen::cut`.
pub(crate) trait Decoder {
    /// Decodes the next message.
    fn message(&mut self, message: &Message<'_>, recorder: &mut Recorder);

    /// The connection has ended: requests that still wait have no reply.
    fn end(&mut self, recorder: &mut Recorder);
}

/// Who sends a message that begins with `head`; none if no decoder knows its protocol.
pub(crate) fn sender(head: &[u8]) -> Option<Side> {
    smb2::sender(head).or_else(|| smb1::sender(head)).or_else(|| nfs::sender(head))
}

/// The decoder for a connection with a message that begins with `head`.
pub(crate) fn decoder(head: &[u8], ends: Ends) -> Option<Box<dyn Decoder>> {
    if smb2::sender(head).is_some() {
        return Some(Box::new(smb2::Smb2Decoder::new(ends)));
    }
    if smb1::sender(head).is_some() {
        return Some(Box::new(smb::SmbDecoder::new(ends)));
    }
    nfs::sender(head).map(|_| Box::new(nfs::NfsDecoder::new(ends)) as Box<dyn Decoder>)
}
