//! A client packet out of its transport.

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
    /// The packet without transport and signature.
    pub ncp: &'a [u8],
    /// Length of the whole message.
    pub wire_len: usize,
    pub signature: Option<Signature>,
}

impl<'a> Packet<'a> {
    /// None for what is no packet of a client; whether it is signed only the connection knows.
    pub fn new(transport: TransportKind, message: &'a [u8], signed: bool) -> Option<Self> {
        let (ncp, signature) = if transport == TransportKind::Tcp {
            let message = TcpRequest::decode(message, signed).ok()?;
            (message.packet, message.signature)
        } else {
            // A create or destroy, or a request sent again from before the login, may be too short for a signature.
            match message.split_last_chunk::<8>().filter(|(ncp, _)| signed && ncp.len() > CLIENT_HEADER_LEN) {
                Some((ncp, signature)) => (ncp, Some(*signature)),
                None => (message, None),
            }
        };
        let header = ClientHeader::decode(ncp).ok()?;
        Some(Self { transport, header, ncp, wire_len: message.len(), signature })
    }

    /// The call in it.
    pub fn body(&self) -> &'a [u8] {
        self.ncp.get(CLIENT_HEADER_LEN..).unwrap_or_default()
    }
}
