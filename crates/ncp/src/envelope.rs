//! TCP headers and signatures around a packet. They are written in place, so that file data is not copied.

use crate::security::signature::{Signature, Signer};
use crate::wire::TransportKind;
use crate::wire::tcp::{REPLY_HEADER_LEN, REQUEST_HEADER_LEN, reply_header, request_header};

/// Reserves the bytes that precede a request. The packet starts at the returned position.
pub fn open_request(out: &mut Vec<u8>, transport: TransportKind, signed: bool) -> usize {
    open(out, transport, REQUEST_HEADER_LEN, signed)
}

/// Completes a request that starts at `begin`; its packet starts at `start` and ends with `out`.
pub fn close_request(
    out: &mut Vec<u8>,
    (begin, start): (usize, usize),
    transport: TransportKind,
    signer: Option<&mut Signer>,
    reply_buffer: u32,
) {
    // The space of the signature is part of the length already: on TCP it was reserved by `open`, and the
    // length is signed (docs/protocols/ncp.md 5.1).
    let wire_len = out.len() - begin;
    let signature = signer.map(|signer| signer.request(&out[start..], wire_len));
    if transport == TransportKind::Tcp {
        out[begin..begin + REQUEST_HEADER_LEN].copy_from_slice(&request_header(wire_len, reply_buffer));
    }
    close(out, start, transport, signature);
}

/// Appends a reply with the header of its transport, signed if there is a signer.
pub fn put_reply(
    transport: TransportKind,
    signer: Option<&Signer>,
    out: &mut Vec<u8>,
    put: impl FnOnce(&mut Vec<u8>),
) {
    let begin = out.len();
    let start = open(out, transport, REPLY_HEADER_LEN, signer.is_some());
    put(out);
    let wire_len = out.len() - begin;
    let signature = signer.map(|signer| signer.reply(&out[start..], wire_len));
    if transport == TransportKind::Tcp {
        out[begin..begin + REPLY_HEADER_LEN].copy_from_slice(&reply_header(wire_len));
    }
    close(out, start, transport, signature);
}

fn open(out: &mut Vec<u8>, transport: TransportKind, header: usize, signed: bool) -> usize {
    if transport == TransportKind::Tcp {
        out.resize(out.len() + header + if signed { size_of::<Signature>() } else { 0 }, 0);
    }
    out.len()
}

/// Writes a signature: before the packet on TCP, after it on datagrams.
fn close(out: &mut Vec<u8>, start: usize, transport: TransportKind, signature: Option<Signature>) {
    let Some(signature) = signature else { return };
    if transport == TransportKind::Tcp {
        out[start - signature.len()..start].copy_from_slice(&signature);
    } else {
        out.extend_from_slice(&signature);
    }
}
