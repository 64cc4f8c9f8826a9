//! Packets in the messages of all transports.

use std::borrow::Cow;

use sharebench_ncp::wire::burst::BurstPacket;
use sharebench_ncp::wire::packet::{
    BURST, CLIENT_HEADER_LEN, ClientHeader, ClientKind, IP_WATCHDOG, SERVER_HEADER_LEN, SERVER_INITIATED,
    ServerHeader, ServerKind,
};
use sharebench_ncp::wire::{Codec, Completion};

use crate::input::message::{HEAD_BYTES, Message, Side};

/// What follows the marker and the length of a request over TCP: the version of the header, and the longest reply.
const TCP_VERSION: [u8; 4] = [0, 0, 0, 1];
const TCP_REST_LEN: usize = 8;
const SIGNATURE_LEN: usize = 8;
/// Functions and sub-functions that carry data to write.
const WRITE_FILE: u8 = 0x49;
const NAME_SPACE: u8 = 0x57;
const LARGE_WRITES: [u8; 2] = [65, 73];

/// A packet, and what is captured of its body.
pub(super) enum Packet<'a> {
    /// A call: `body` begins with its function.
    Request { sequence: u8, connection: u16, body: &'a [u8] },
    /// A reply, or the message that there is none yet.
    Reply { kind: ServerKind, sequence: u8, connection: u16, completion: Completion, body: &'a [u8] },
    /// Of packet burst.
    Burst(BurstPacket<'a>),
    /// The client requests a connection.
    Create { sequence: u8 },
    /// The client ends the connection.
    End { sequence: u8, connection: u16 },
    /// Without meaning for files.
    Other,
}

impl<'a> Packet<'a> {
    /// The packet in a message of this side; none if it is none of NCP.
    pub(super) fn read(head: &'a [u8], side: Side) -> Option<Self> {
        let bytes = packet(head, side)?;
        match kind(bytes)? {
            BURST => {
                let whole = BurstPacket::decode(bytes).ok();
                Some(whole.map_or(Self::Other, Self::Burst))
            }
            IP_WATCHDOG | SERVER_INITIATED => Some(Self::Other),
            _ if side == Side::Client => {
                let header = ClientHeader::decode(bytes).ok()?;
                Some(match header.kind {
                    ClientKind::Create => Self::Create { sequence: header.sequence },
                    ClientKind::Destroy => {
                        Self::End { sequence: header.sequence, connection: header.connection }
                    }
                    ClientKind::Request => Self::Request {
                        sequence: header.sequence,
                        connection: header.connection,
                        body: bytes.get(CLIENT_HEADER_LEN..)?,
                    },
                })
            }
            _ => {
                let header = ServerHeader::decode(bytes).ok()?;
                Some(Self::Reply {
                    kind: header.kind,
                    sequence: header.sequence,
                    connection: header.connection,
                    completion: header.completion,
                    body: bytes.get(SERVER_HEADER_LEN..)?,
                })
            }
        }
    }
}

/// The head of a message with all of its data, where it carries some: those that the capture cut are zeros.
pub(super) fn with_data<'a>(message: &Message<'a>) -> Cow<'a, [u8]> {
    let Message { head, side, len, .. } = *message;
    let len = len.min(HEAD_BYTES);
    let carries_data = || {
        let packet = packet(head, side).unwrap_or_default();
        match packet.get(CLIENT_HEADER_LEN..) {
            _ if kind(packet) == Some(BURST) => true,
            Some([WRITE_FILE, ..]) => true,
            Some([NAME_SPACE, sub, ..]) => LARGE_WRITES.contains(sub),
            _ => false,
        }
    };
    if head.len() >= len || !carries_data() {
        return Cow::Borrowed(head);
    }
    let mut whole = head.to_vec();
    whole.resize(len, 0);
    Cow::Owned(whole)
}

/// Who sends a message over TCP that begins like this, after marker and length.
pub(in crate::input::protocols) fn sender(head: &[u8]) -> Option<Side> {
    [Side::Client, Side::Server].into_iter().find(|side| packet(head, *side).is_some())
}

/// Who sends a datagram that begins like this.
pub(in crate::input::protocols) fn sender_of_datagram(head: &[u8]) -> Option<Side> {
    match kind(head)? {
        0x1111 | 0x2222 | 0x5555 => Some(Side::Client),
        0x3333 | 0x9999 => Some(Side::Server),
        _ => None,
    }
}

/// The packet in a message that this side sent.
fn packet(head: &[u8], side: Side) -> Option<&[u8]> {
    let is_packet = |bytes: &&[u8]| match kind(bytes) {
        Some(0x1111 | 0x2222 | 0x5555) => side == Side::Client,
        Some(0x3333 | 0x9999 | SERVER_INITIATED) => side == Side::Server,
        Some(BURST | IP_WATCHDOG) => true,
        _ => false,
    };
    // Only those of TCP have something before the packet: the rest of the header, and a signature.
    let over_tcp = match side {
        Side::Client if head.starts_with(&TCP_VERSION) => head.get(TCP_REST_LEN..),
        Side::Client => None,
        Side::Server => Some(head),
    };
    let signed = over_tcp.and_then(|bytes| bytes.get(SIGNATURE_LEN..));
    [Some(head), over_tcp, signed].into_iter().flatten().find(is_packet)
}

fn kind(bytes: &[u8]) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.first_chunk()?))
}
