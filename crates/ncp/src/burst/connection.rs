//! One end of a burst connection, and outgoing bursts split into fragments (docs/protocols/ncp.md 4.2).

use std::time::Duration;

use crate::wire::WireError;
use crate::wire::burst::{BIG_SEND, BurstPacket, Fields, Missing, flag};

/// A burst that this end sends; it is kept until the peer acknowledges it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OutgoingBurst {
    /// Burst sequence number.
    pub burst: u16,
    /// Acknowledgement: the next burst number expected from the peer.
    pub acknowledged: u16,
    /// Contents, at most [`super::MAX_BURST`] bytes.
    pub bytes: Vec<u8>,
}

/// The part of a burst in one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fragment {
    /// Offset within the burst.
    pub offset: usize,
    /// Length in bytes.
    pub len: usize,
    /// True for the last fragment of this transmission.
    pub last: bool,
}

impl OutgoingBurst {
    /// Splits the whole burst into fragments.
    pub fn fragments(&self, fragment_len: usize) -> Vec<Fragment> {
        let mut fragments = self.missing_fragments([Missing { offset: 0, length: u16::MAX }], fragment_len);
        if fragments.is_empty() {
            // An empty burst still needs one packet, because its end mark is what the peer waits for.
            fragments.push(Fragment { offset: 0, len: 0, last: true });
        }
        fragments
    }

    /// Splits the missing ranges into fragments for retransmission; ranges beyond the burst are ignored.
    pub fn missing_fragments(
        &self,
        missing: impl IntoIterator<Item = Missing>,
        fragment_len: usize,
    ) -> Vec<Fragment> {
        let mut fragments = Vec::new();
        for part in missing {
            // Clamped: the ranges come from the peer.
            let start = (part.offset as usize).min(self.bytes.len());
            let end = (start + usize::from(part.length)).min(self.bytes.len());
            let offsets = (start..end).step_by(fragment_len.max(1));
            fragments.extend(offsets.map(|offset| Fragment {
                offset,
                len: fragment_len.min(end - offset),
                last: false,
            }));
        }
        if let Some(fragment) = fragments.last_mut() {
            // Each transmission ends with the end mark, also a partial one: it makes the receiver check again
            // for holes (docs/protocols/ncp.md 4.4).
            fragment.last = true;
        }
        fragments
    }
}

/// One end of a burst connection.
///
/// It holds what every packet of a burst needs: the ids of both ends, the packet sequence number, the fragment length
/// and the gap time that it advertises. Client and server create one when function 0x65 succeeds and keep it as long
/// as the NCP connection lives. The packet sequence number counts every packet sent, including retransmissions and
/// control packets; bursts have numbers of their own. The type does no I/O: it appends packets to a buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BurstConnection {
    /// Connection id of this end.
    pub local_id: u32,
    /// Connection id of the peer.
    pub remote_id: u32,
    /// Data bytes of a full fragment.
    pub fragment_len: usize,
    /// Gap time: the pause between packets.
    pub gap: Duration,
    /// Sequence number of the next packet.
    pub sequence: u32,
}

impl BurstConnection {
    /// The end of a new burst connection, without pauses.
    pub const fn new(local_id: u32, remote_id: u32, fragment_len: usize) -> Self {
        Self { local_id, remote_id, fragment_len, gap: Duration::ZERO, sequence: 0 }
    }

    /// Appends the packet of a fragment.
    pub fn put_fragment(
        &mut self,
        burst: &OutgoingBurst,
        fragment: Fragment,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        let data = burst.bytes.get(fragment.offset..fragment.offset + fragment.len).unwrap_or_default();
        let flags = if fragment.last { flag::END_OF_BURST } else { 0 };
        let fields = Fields {
            total: burst.bytes.len() as u32,
            offset: fragment.offset as u32,
            ..self.fields(flags, burst.burst, burst.acknowledged)
        };
        BurstPacket::put_fragment(fields, data, out)
    }

    /// Appends a control packet: the missing ranges of burst `burst`, or `flags` alone.
    pub fn put_control(
        &mut self,
        flags: u8,
        burst: u16,
        acknowledged: u16,
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
            source: self.local_id,
            destination: self.remote_id,
            sequence,
            // The wire has units of 100 µs (docs/protocols/ncp.md 4.2).
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
    fn burst_of_7008_bytes_has_five_fragments() {
        let burst = OutgoingBurst { bytes: vec![0; 7008], ..OutgoingBurst::default() };
        let fragments =
            burst.fragments(super::super::fragment_len(1500, crate::wire::TransportKind::IpxInUdp));
        let lens: Vec<_> =
            fragments.iter().map(|fragment| (fragment.offset, fragment.len, fragment.last)).collect();
        assert_eq!(lens[..2], [(0, 1434, false), (1434, 1434, false)]);
        assert_eq!((lens.len(), lens[4]), (5, (5736, 1272, true)));
        let again = burst.missing_fragments([Missing { offset: 1434, length: 1434 }], 1434);
        assert_eq!(again, [Fragment { offset: 1434, len: 1434, last: true }]);
        assert_eq!(burst.missing_fragments([Missing { offset: 9000, length: 9 }], 1434), []);
        assert_eq!(OutgoingBurst::default().fragments(1434), [Fragment { offset: 0, len: 0, last: true }]);
    }

    /// docs/protocols/ncp.md 4.2; mars-server-ipx-in-udp-with-burst.pcap, frame 163 but for the numbers of the
    /// connection.
    #[test]
    fn packets_have_ids_and_sequence_numbers() {
        let gap = Duration::from_micros(500);
        let mut connection = BurstConnection { gap, ..BurstConnection::new(0x1122_3344, 0x0100_f90f, 1434) };
        let burst = OutgoingBurst { burst: 1, acknowledged: 0, bytes: vec![7; 3] };
        let mut out = Vec::new();
        connection.put_fragment(&burst, Fragment { offset: 0, len: 3, last: true }, &mut out).unwrap();
        let head =
            "7777 10 02 11223344 0100f90f 00000000 00000005 0001 0000 00000003 00000000 0003 0000 070707";
        assert_eq!(out, hex(head));
        out.clear();
        connection.put_control(0, 1, 2, &[Missing { offset: 1434, length: 1434 }], &mut out).unwrap();
        let list = "7777 c0 02 11223344 0100f90f 00000001 00000005 0001 0002 00000000 00000000 0000 0001 0000059a 059a";
        assert_eq!(out, hex(list));
    }
}
