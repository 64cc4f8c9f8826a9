//! The four framings of IPX on Ethernet (docs/protocols/ncp.md 1.7).

use super::{Codec, Raw, Reader, WireError};

/// A framing of IPX packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Framing {
    /// Type 8137.
    EthernetII,
    /// A length, directly followed by the IPX header. Its first bytes FF FF identify the framing, so there is no IPX
    /// checksum.
    Raw8023,
    /// A length and the LLC header E0 E0 03.
    Llc8022,
    /// A length and the SNAP header AA AA 03 00 00 00 81 37.
    Snap,
}

const TYPE_IPX: u16 = 0x8137;
const LLC: [u8; 3] = [0xE0, 0xE0, 0x03];
const SNAP: [u8; 8] = [0xAA, 0xAA, 0x03, 0, 0, 0, 0x81, 0x37];
/// The shortest frame, without its check sequence.
const MIN_FRAME: usize = 60;
/// Values of the third field up to this one are lengths rather than types.
const MAX_LENGTH: u16 = 1500;

impl Framing {
    /// All framings.
    pub const ALL: [Self; 4] = [Self::EthernetII, Self::Raw8023, Self::Llc8022, Self::Snap];

    /// Bytes between the third field of the frame and the IPX header.
    const fn prefix(self) -> &'static [u8] {
        match self {
            Self::EthernetII | Self::Raw8023 => &[],
            Self::Llc8022 => &LLC,
            Self::Snap => &SNAP,
        }
    }

    /// The framing of a name, as requesters and servers use it.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|framing| framing.name() == name)
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::EthernetII => "ii",
            Self::Raw8023 => "raw",
            Self::Llc8022 => "802.2",
            Self::Snap => "snap",
        }
    }

    /// True when packets can have a checksum.
    pub const fn has_checksums(self) -> bool {
        !matches!(self, Self::Raw8023)
    }

    /// The longest IPX packet that a frame carries.
    pub const fn max_packet(self) -> usize {
        MAX_LENGTH as usize - self.prefix().len()
    }
}

/// A frame that carries an IPX packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Frame<'a> {
    /// Framing.
    pub framing: Framing,
    /// Destination MAC address.
    pub destination: [u8; 6],
    /// Source MAC address.
    pub source: [u8; 6],
    /// The IPX packet; in a received frame it may be followed by padding.
    pub packet: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Parses a frame; none if it carries no IPX packet.
    pub fn decode(frame: &'a [u8]) -> Result<Option<Self>, WireError> {
        let mut reader = Reader::new(frame);
        let destination = reader.array()?;
        let source = reader.array()?;
        let third = u16::from_be_bytes(reader.array()?);
        let rest = reader.rest();
        let framing = match rest {
            _ if third == TYPE_IPX => Framing::EthernetII,
            _ if third > MAX_LENGTH => return Ok(None),
            [0xFF, 0xFF, ..] => Framing::Raw8023,
            _ if rest.starts_with(&LLC) => Framing::Llc8022,
            _ if rest.starts_with(&SNAP) => Framing::Snap,
            _ => return Ok(None),
        };
        reader.take(framing.prefix().len())?;
        Ok(Some(Self { framing, destination, source, packet: reader.rest() }))
    }

    /// Appends the frame, padded to 60 bytes; fails with `TooLong` if the packet does not fit.
    pub fn put(&self, out: &mut Vec<u8>) -> Result<(), WireError> {
        let len = self.packet.len();
        let max = self.framing.max_packet();
        if len > max {
            return Err(WireError::TooLong { field: "IPX packet", len, max });
        }
        let start = out.len();
        let prefix = self.framing.prefix();
        let third = match self.framing {
            Framing::EthernetII => TYPE_IPX,
            _ => (prefix.len() + len) as u16,
        };
        Raw::put(&self.destination, out);
        Raw::put(&self.source, out);
        out.extend_from_slice(&third.to_be_bytes());
        out.extend_from_slice(prefix);
        out.extend_from_slice(self.packet);
        out.resize(out.len().max(start + MIN_FRAME), 0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::ipx::IpxPacket;
    use crate::wire::tests::hex;

    /// linux-kernel-client-mars-server-ethernet-ipx.pcap, frame 27.
    const PACKET: &str = "ffff0025 0011 0abc0001000000000001 0451 00000010525400000002 4001 111101ff01ff00";

    fn frame(framing: Framing, packet: &[u8]) -> Vec<u8> {
        let destination = [0x52, 0x54, 0, 0, 0, 1];
        let source = [0x52, 0x54, 0, 0, 0, 2];
        let mut out = Vec::new();
        Frame { framing, destination, source, packet }.put(&mut out).unwrap();
        out
    }

    /// docs/protocols/ncp.md 1.7.
    #[test]
    fn each_framing_has_its_own_prefix() {
        let starts = ["8137 ffff", "0025 ffff", "0028 e0e003 ffff", "002d aaaa030000008137 ffff"];
        for (framing, start) in Framing::ALL.into_iter().zip(starts) {
            let packet = hex(PACKET);
            let bytes = frame(framing, &packet);
            assert!(bytes[12..].starts_with(&hex(start)), "{framing:?}: {bytes:02x?}");
            assert_eq!(bytes.len(), 60, "padded");
            let back = Frame::decode(&bytes).unwrap().unwrap();
            assert_eq!((back.framing, back.source), (framing, [0x52, 0x54, 0, 0, 0, 2]));
            assert_eq!(IpxPacket::decode(back.packet), IpxPacket::decode(&packet));
        }
    }

    /// docs/protocols/ncp.md 1.7: the longest datagrams.
    #[test]
    fn longest_packet_depends_on_the_framing() {
        assert_eq!(Framing::ALL.map(Framing::max_packet), [1500, 1500, 1497, 1492]);
        assert_eq!(Framing::ALL.map(|framing| Framing::from_name(framing.name())), Framing::ALL.map(Some));
        assert_eq!(Framing::ALL.map(Framing::has_checksums), [true, false, true, true]);
        assert_eq!(frame(Framing::Snap, &[0; 1492]).len(), 1514);
        let too_long =
            Frame { framing: Framing::Snap, destination: [0; 6], source: [0; 6], packet: &[0; 1493] };
        assert!(too_long.put(&mut Vec::new()).is_err());
    }

    #[test]
    fn frames_of_other_protocols_are_ignored() {
        assert_eq!(Frame::decode(&hex("525400000001 525400000002 86dd 60000000")), Ok(None));
        assert_eq!(Frame::decode(&hex("525400000001 525400000002 0004 424203 00")), Ok(None));
        assert!(Frame::decode(&[0; 13]).is_err());
    }
}
