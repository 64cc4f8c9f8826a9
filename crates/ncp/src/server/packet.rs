//! Extracts the packet of a client from a received message.

use crate::security::signature::Signature;
use crate::wire::Codec;
use crate::wire::TransportKind;
use crate::wire::packet::{CLIENT_HEADER_LEN, ClientHeader};
use crate::wire::tcp::TcpRequest;

/// A packet of a client.
#[derive(Debug)]
pub struct Packet<'a> {
    pub transport: TransportKind,
    pub header: ClientHeader,
    /// The packet without transport header and signature.
    pub ncp: &'a [u8],
    /// Length of the whole message.
    pub wire_len: usize,
    pub signature: Option<Signature>,
}

impl<'a> Packet<'a> {
    /// Parses a message; none if it is not a packet of a client. Only the connection knows whether packets are
    /// signed.
    pub fn new(transport: TransportKind, message: &'a [u8], signed: bool) -> Option<Self> {
        let (ncp, signature) = if transport == TransportKind::Tcp {
            let message = TcpRequest::decode(message, signed).ok()?;
            (message.packet, message.signature)
        } else {
            // A create, a destroy, or a request retransmitted from before the login may be too short for a signature.
            match message.split_last_chunk::<8>().filter(|(ncp, _)| signed && ncp.len() > CLIENT_HEADER_LEN) {
                Some((ncp, signature)) => (ncp, Some(*signature)),
                None => (message, None),
            }
        };
        let header = ClientHeader::decode(ncp).ok()?;
        Some(Self { transport, header, ncp, wire_len: message.len(), signature })
    }

    /// The call in the packet.
    pub fn body(&self) -> &'a [u8] {
        self.ncp.get(CLIENT_HEADER_LEN..).unwrap_or_default()
    }
}
