//! TCP headers and signatures around a packet. They are written in place, so that file data is not copied.

use crate::security::signature::{Signature, Signer};
use crate::wire::TransportKind;
use crate::wire::tcp::{REPLY_HEADER_LEN, REQUEST_HEADER_LEN, reply_header, request_header};

/// Appends a request with the header of its transport, signed if there is a signer. `put` appends the packet.
pub fn put_request(
    transport: TransportKind,
    signer: Option<&mut Signer>,
    reply_buffer: u32,
    out: &mut Vec<u8>,
    put: impl FnOnce(&mut Vec<u8>),
) {
    let envelope = Envelope::open(out, transport, REQUEST_HEADER_LEN, signer.is_some());
    put(out);
    // The space of the signature is part of the length already: on TCP it was reserved, and the length is signed
    // (docs/protocols/ncp.md 5.1).
    let wire_len = out.len() - envelope.begin;
    let signature = signer.map(|signer| signer.request(&out[envelope.packet..], wire_len));
    envelope.close(out, &request_header(wire_len, reply_buffer), signature);
}

/// Appends a reply, as [`put_request`] does a request.
pub fn put_reply(
    transport: TransportKind,
    signer: Option<&Signer>,
    out: &mut Vec<u8>,
    put: impl FnOnce(&mut Vec<u8>),
) {
    let envelope = Envelope::open(out, transport, REPLY_HEADER_LEN, signer.is_some());
    put(out);
    let wire_len = out.len() - envelope.begin;
    let signature = signer.map(|signer| signer.reply(&out[envelope.packet..], wire_len));
    envelope.close(out, &reply_header(wire_len), signature);
}

/// The positions of a message and of the packet in it.
struct Envelope {
    transport: TransportKind,
    begin: usize,
    packet: usize,
}

impl Envelope {
    /// Reserves the bytes that precede a packet.
    fn open(out: &mut Vec<u8>, transport: TransportKind, header: usize, signed: bool) -> Self {
        let begin = out.len();
        if transport == TransportKind::Tcp {
            out.resize(begin + header + if signed { size_of::<Signature>() } else { 0 }, 0);
        }
        Self { transport, begin, packet: out.len() }
    }

    /// Writes the header, and a signature: before the packet on TCP, after it on datagrams.
    fn close(self, out: &mut Vec<u8>, header: &[u8], signature: Option<Signature>) {
        let signature = signature.as_ref().map_or(&[][..], |signature| signature);
        if self.transport == TransportKind::Tcp {
            out[self.begin..self.begin + header.len()].copy_from_slice(header);
            out[self.packet - signature.len()..self.packet].copy_from_slice(signature);
        } else {
            out.extend_from_slice(signature);
        }
    }
}
