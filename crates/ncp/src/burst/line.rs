//! One end of a burst connection: its numbers, and packets made of what goes out.

use std::time::Duration;

use crate::wire::WireError;
use crate::wire::burst::{BIG_SEND, BurstPacket, Fields, Missing, flag};

/// A burst that goes out, kept until the other side has it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outgoing {
    /// Its number.
    pub burst: u16,
    /// Number of the burst expected next.
    pub acknowledged: u16,
    /// What it says, at most [`super::MAX_BURST`] bytes.
    pub bytes: Vec<u8>,
}

/// A part of a burst that is sent, or sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Where it begins.
    pub offset: usize,
    /// Its bytes.
    pub len: usize,
    /// No more follows.
    pub last: bool,
}

impl Outgoing {
    /// All of it in pieces.
    pub fn pieces(&self, fragment: usize) -> Vec<Piece> {
        let mut pieces = self.again([Missing { offset: 0, length: u16::MAX }], fragment);
        if pieces.is_empty() {
            pieces.push(Piece { offset: 0, len: 0, last: true });
        }
        pieces
    }

    /// Those parts of it that are missing, in pieces; what lies outside is left out.
    pub fn again(&self, missing: impl IntoIterator<Item = Missing>, fragment: usize) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for part in missing {
            let start = (part.offset as usize).min(self.bytes.len());
            let end = (start + usize::from(part.length)).min(self.bytes.len());
            let offsets = (start..end).step_by(fragment.max(1));
            pieces.extend(offsets.map(|offset| Piece {
                offset,
                len: fragment.min(end - offset),
                last: false,
            }));
        }
        if let Some(piece) = pieces.last_mut() {
            piece.last = true;
        }
        pieces
    }
}

/// One end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The number of this end.
    pub own: u32,
    /// The number of the other end.
    pub other: u32,
    /// Bytes of a fragment.
    pub fragment: usize,
    /// Pause between packets.
    pub gap: Duration,
    /// Packets sent.
    pub sequence: u32,
}

impl Line {
    /// The packet of a piece, appended.
    pub fn put_piece(&mut self, burst: &Outgoing, piece: Piece, out: &mut Vec<u8>) -> Result<(), WireError> {
        let data = burst.bytes.get(piece.offset..piece.offset + piece.len).unwrap_or_default();
        let flags = if piece.last { flag::END_OF_BURST } else { 0 };
        let fields = Fields {
            total: burst.bytes.len() as u32,
            offset: piece.offset as u32,
            ..self.fields(flags, burst.burst, burst.acknowledged)
        };
        BurstPacket::put_fragment(fields, data, out)
    }

    /// A packet of control, appended: what is missing of burst `burst`, or `flags` alone.
    pub fn put_control(
        &mut self,
        (flags, burst, acknowledged): (u8, u16, u16),
        missing: &[Missing],
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        let listed = if missing.is_empty() { 0 } else { flag::MISSING_LIST };
        let fields = self.fields(flags | listed, burst, acknowledged);
        BurstPacket::put_missing(fields, missing, out)
    }

    fn fields(&mut self, flags: u8, burst: u16, acknowledged: u16) -> Fields {
        let sequence = self.sequence;
        self.sequence = sequence.wrapping_add(1);
        Fields {
            flags,
            stream: BIG_SEND,
            source: self.own,
            destination: self.other,
            sequence,
            delay: (self.gap.as_micros() / 100) as u32,
            burst,
            acknowledged,
            total: 0,
            offset: 0,
            length: 0,
            missing: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::tests::hex;

    /// docs/protocols/ncp.md 4.4; mars-server-ipx-in-udp-with-burst.pcap, frames 164 to 168: fragments of 1434 bytes.
    #[test]
    fn a_burst_of_7008_bytes_has_five_pieces() {
        let burst = Outgoing { bytes: vec![0; 7008], ..Outgoing::default() };
        let pieces =
            burst.pieces(super::super::fragment_len(1500, crate::security::signature::Transport::Ipx));
        let lens: Vec<_> = pieces.iter().map(|piece| (piece.offset, piece.len, piece.last)).collect();
        assert_eq!(lens[..2], [(0, 1434, false), (1434, 1434, false)]);
        assert_eq!((lens.len(), lens[4]), (5, (5736, 1272, true)));
        let again = burst.again([Missing { offset: 1434, length: 1434 }], 1434);
        assert_eq!(again, [Piece { offset: 1434, len: 1434, last: true }]);
        assert_eq!(burst.again([Missing { offset: 9000, length: 9 }], 1434), []);
        assert_eq!(Outgoing::default().pieces(1434), [Piece { offset: 0, len: 0, last: true }]);
    }

    /// docs/protocols/ncp.md 4.2; mars-server-ipx-in-udp-with-burst.pcap, frame 163 but for the numbers of the
    /// connection.
    #[test]
    fn packets_carry_numbers_of_connection_packet_and_burst() {
        let gap = Duration::from_micros(500);
        let mut line = Line { own: 0x1122_3344, other: 0x0100_f90f, fragment: 1434, gap, sequence: 0 };
        let burst = Outgoing { burst: 1, acknowledged: 0, bytes: vec![7; 3] };
        let mut out = Vec::new();
        line.put_piece(&burst, Piece { offset: 0, len: 3, last: true }, &mut out).unwrap();
        let head =
            "7777 10 02 11223344 0100f90f 00000000 00000005 0001 0000 00000003 00000000 0003 0000 070707";
        assert_eq!(out, hex(head));
        out.clear();
        line.put_control((0, 1, 2), &[Missing { offset: 1434, length: 1434 }], &mut out).unwrap();
        let list = "7777 c0 02 11223344 0100f90f 00000001 00000005 0001 0002 00000000 00000000 0000 0001 0000059a 059a";
        assert_eq!(out, hex(list));
    }
}
