//! The format of tcpdump (draft-ietf-opsawg-pcap).

use std::io::Read;

use super::{CaptureEnd, MAX_PACKET_BYTES, Packet, read_or_end};

pub(crate) struct Pcap<R> {
    input: R,
    swapped: bool,
    /// Nanoseconds of a unit of the fraction.
    unit: u64,
    link: u32,
    bytes: Vec<u8>,
}

impl<R: Read> Pcap<R> {
    /// After its magic number; none if that is another one.
    pub(super) fn new(magic: [u8; 4], mut input: R) -> Result<Option<Self>, CaptureEnd> {
        let (swapped, unit) = match u32::from_be_bytes(magic) {
            0xA1B2_C3D4 => (false, 1000),
            0xA1B2_3C4D => (false, 1),
            0xD4C3_B2A1 => (true, 1000),
            0x4D3C_B2A1 => (true, 1),
            _ => return Ok(None),
        };
        let mut header = [0; 20];
        input.read_exact(&mut header)?;
        let [.., a, b, c, d] = header;
        let link = word([a, b, c, d], swapped) & 0x0FFF_FFFF;
        Ok(Some(Self { input, swapped, unit, link, bytes: Vec::new() }))
    }

    pub(super) fn next(&mut self) -> Result<Packet<'_>, CaptureEnd> {
        let mut words = [[0; 4]; 4];
        read_or_end(&mut self.input, words.as_flattened_mut())?;
        let [seconds, fraction, captured, len] = words.map(|bytes| word(bytes, self.swapped));
        let captured = captured as usize;
        if captured > MAX_PACKET_BYTES {
            return Err(CaptureEnd::Damaged("a packet of more than 1 MiB"));
        }
        self.bytes.resize(captured, 0);
        self.input.read_exact(&mut self.bytes)?;
        let time = u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * self.unit;
        Ok(Packet { time, link: self.link, len: (len as usize).max(captured), bytes: &self.bytes })
    }
}

fn word(bytes: [u8; 4], swapped: bool) -> u32 {
    if swapped { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) }
}
