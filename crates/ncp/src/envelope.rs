//! What carries a packet and signs it, put around the packet where it stands: no second copy of file data.

use crate::security::signature::{Signature, Signer};
use crate::wire::TransportKind;
use crate::wire::tcp::{REPLY_HEADER_LEN, REQUEST_HEADER_LEN, reply_header, request_header};

/// Leaves room in front of a request that is appended next; the packet begins where `out` ends then.
pub fn open_request(out: &mut Vec<u8>, transport: TransportKind, signed: bool) -> usize {
    open(out, transport, REQUEST_HEADER_LEN, signed)
}

/// Closes a request: everything behind `start` is the packet, and `begin` is where its message began.
pub fn close_request(
    out: &mut Vec<u8>,
    (begin, start): (usize, usize),
    transport: TransportKind,
    signer: Option<&mut Signer>,
    reply_buffer: u32,
) {
    let wire_len = out.len() - begin;
    let signature = signer.map(|signer| signer.request(&out[start..], wire_len));
    if transport == TransportKind::Tcp {
        out[begin..begin + REQUEST_HEADER_LEN].copy_from_slice(&request_header(wire_len, reply_buffer));
    }
    close(out, start, transport, signature);
}

/// Leaves room in front of a reply, as [`open_request`] does.
pub fn open_reply(out: &mut Vec<u8>, transport: TransportKind, signed: bool) -> usize {
    open(out, transport, REPLY_HEADER_LEN, signed)
}

/// Closes a reply, as [`close_request`] does.
pub fn close_reply(
    out: &mut Vec<u8>,
    (begin, start): (usize, usize),
    transport: TransportKind,
    signer: Option<&Signer>,
) {
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

/// Puts a signature where its transport has it: before the packet on TCP, else behind it.
fn close(out: &mut Vec<u8>, start: usize, transport: TransportKind, signature: Option<Signature>) {
    let Some(signature) = signature else { return };
    if transport == TransportKind::Tcp {
        out[start - signature.len()..start].copy_from_slice(&signature);
    } else {
        out.extend_from_slice(&signature);
    }
}
