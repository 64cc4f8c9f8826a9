//! Messages of one connection to operations. The codecs of `smb`, `nfs` and `ncp` decode them; here is what the messages mean
//! together, and what a capture that has only a part of them still shows.

mod ncp;
mod nfs;
mod smb;
mod smb1;
mod smb2;

use std::net::SocketAddr;

use crate::input::recorder::Recorder;

pub(crate) use self::smb2::{is_encrypted, sender_of_encrypted};

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

    /// Number of requests that wait for a reply.
    fn waiting(&self) -> usize;

    /// The connection has ended: requests that still wait have no reply.
    fn end(&mut self, recorder: &mut Recorder);
}

/// How messages travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    /// TCP: a header with the length precedes each message.
    Stream,
    /// UDP: a datagram is a message.
    Datagram,
    /// A datagram of UDP or IPX from or to the port of NCP.
    NcpDatagram,
}

impl Transport {
    /// Who sends a message that begins with `head`; none if no decoder knows its protocol.
    pub(crate) fn sender(self, head: &[u8]) -> Option<Side> {
        match self {
            Self::Stream => {
                let of_smb = smb2::sender(head).or_else(|| smb1::sender(head));
                of_smb.or_else(|| nfs::sender(head)).or_else(|| ncp::sender(head))
            }
            Self::Datagram => nfs::sender(head),
            Self::NcpDatagram => ncp::sender_of_datagram(head),
        }
    }

    /// The decoder for a connection with a message that begins with `head`.
    pub(crate) fn decoder(self, head: &[u8], ends: Ends) -> Option<Box<dyn Decoder>> {
        let ncp = || Box::new(ncp::NcpDecoder::new(ends)) as Box<dyn Decoder>;
        match self {
            Self::NcpDatagram => return ncp::sender_of_datagram(head).map(|_| ncp()),
            Self::Stream if smb2::sender(head).is_some() || is_encrypted(head) => {
                return Some(Box::new(smb2::Smb2Decoder::new(ends)));
            }
            Self::Stream if smb1::sender(head).is_some() => {
                return Some(Box::new(smb::SmbDecoder::new(ends)));
            }
            Self::Stream | Self::Datagram => {}
        }
        if nfs::sender(head).is_some() {
            return Some(Box::new(nfs::NfsDecoder::new(ends)));
        }
        ncp::sender(head).filter(|_| self == Self::Stream).map(|_| ncp())
    }
}

/// Whether a message of a TCP connection begins with `head`, even if it does not show who sends it.
pub(crate) fn is_message(head: &[u8]) -> bool {
    Transport::Stream.sender(head).is_some() || is_encrypted(head)
}
