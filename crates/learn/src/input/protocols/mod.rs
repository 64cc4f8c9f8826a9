//! Messages of one connection to operations. The codecs of `smb`, `nfs` and `ncp` decode them; here is what the messages mean
//! together, and what a capture that has only a part of them still shows.
//!
//! What decoders share imports none of them: calls in flight, requests on a file, names in directories, and the trees and open
//! files of both versions of SMB. This module chooses the decoder of a connection; no decoder imports it.

mod calls_in_flight;
mod decoder;
mod entry;
mod file_request;
mod ncp;
mod nfs;
mod smb;
mod smb1;
mod smb2;

use super::message::Side;

pub(crate) use self::decoder::Decoder;
pub(crate) use self::smb2::{is_encrypted, sender_of_encrypted};

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
    pub(crate) fn decoder(self, head: &[u8]) -> Option<Box<dyn Decoder>> {
        let ncp = || Box::new(ncp::NcpDecoder::default()) as Box<dyn Decoder>;
        match self {
            Self::NcpDatagram => return ncp::sender_of_datagram(head).map(|_| ncp()),
            Self::Stream if smb2::sender(head).is_some() || is_encrypted(head) => {
                return Some(Box::new(smb2::Smb2Decoder::new()));
            }
            Self::Stream if smb1::sender(head).is_some() => {
                return Some(Box::new(smb::SmbDecoder::new()));
            }
            Self::Stream | Self::Datagram => {}
        }
        if nfs::sender(head).is_some() {
            return Some(Box::new(nfs::NfsDecoder::new()));
        }
        ncp::sender(head).filter(|_| self == Self::Stream).map(|_| ncp())
    }
}

/// Whether a message of a TCP connection begins with `head`, even if it does not show who sends it.
pub(crate) fn is_message(head: &[u8]) -> bool {
    Transport::Stream.sender(head).is_some() || is_encrypted(head)
}
