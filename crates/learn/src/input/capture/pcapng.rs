//! The format of Wireshark (draft-ietf-opsawg-pcapng).

use std::io::Read;

use super::{CaptureEnd, MAX_PACKET_BYTES, Packet, read_or_end};

/// Type of the block that begins a section; it is the same in both byte orders.
pub(super) const SECTION: [u8; 4] = [0x0A, 0x0D, 0x0D, 0x0A];
const BYTE_ORDER: u32 = 0x1A2B_3C4D;
/// Most bytes of a block: a packet and its options.
const MAX_BLOCK_BYTES: usize = MAX_PACKET_BYTES + (1 << 16);

const INTERFACE: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
const IF_TSRESOL: u16 = 9;
const IF_TSOFFSET: u16 = 14;

/// An interface of the current section.
#[derive(Debug, Clone, Copy)]
struct Interface {
    link: u32,
    snaplen: usize,
    /// Units of its clock in a second.
    per_second: u64,
    offset_seconds: i64,
}

pub(crate) struct PcapNg<R> {
    input: R,
    swapped: bool,
    /// The type of the first block was read already.
    begun: bool,
    interfaces: Vec<Interface>,
    block: Vec<u8>,
    time: u64,
}

/// Where a packet is in its block.
struct BlockPosition {
    interface: usize,
    ticks: Option<u64>,
    captured: usize,
    len: usize,
    at: usize,
}

impl<R: Read> PcapNg<R> {
    /// After the type of its first block.
    pub(super) const fn new(input: R) -> Self {
        Self { input, swapped: false, begun: false, interfaces: Vec::new(), block: Vec::new(), time: 0 }
    }

    pub(super) fn next(&mut self) -> Result<Packet<'_>, CaptureEnd> {
        let place = loop {
            let kind = self.read_block()?;
            match kind {
                INTERFACE => {
                    let interface =
                        self.interface().ok_or(CaptureEnd::Damaged("an interface without a link type"))?;
                    // A section has few; a damaged one must not fill the memory.
                    if self.interfaces.len() < 1 << 16 {
                        self.interfaces.push(interface);
                    }
                }
                ENHANCED_PACKET | OBSOLETE_PACKET | SIMPLE_PACKET => {
                    break self
                        .place(kind)
                        .ok_or(CaptureEnd::Damaged("a packet that is shorter than its header"))?;
                }
                _ => {}
            }
        };
        let interface = *self
            .interfaces
            .get(place.interface)
            .ok_or(CaptureEnd::Damaged("a packet of an unknown interface"))?;
        if let Some(ticks) = place.ticks {
            self.time = time(ticks, &interface);
        }
        let bytes = self
            .block
            .get(place.at..place.at + place.captured.min(MAX_PACKET_BYTES))
            .ok_or(CaptureEnd::Damaged("a packet that is longer than its block"))?;
        Ok(Packet { time: self.time, link: interface.link, len: place.len.max(bytes.len()), bytes })
    }

    /// Reads a block without its type and its lengths; returns the type.
    fn read_block(&mut self) -> Result<u32, CaptureEnd> {
        let mut kind = SECTION;
        if self.begun {
            read_or_end(&mut self.input, &mut kind)?;
        }
        self.begun = true;
        let mut length = [0; 4];
        self.input.read_exact(&mut length)?;
        let mut order = Vec::new();
        if kind == SECTION {
            let mut magic = [0; 4];
            self.input.read_exact(&mut magic)?;
            self.swapped = match u32::from_be_bytes(magic) {
                BYTE_ORDER => false,
                magic if magic.swap_bytes() == BYTE_ORDER => true,
                _ => return Err(CaptureEnd::Damaged("a section without a byte order")),
            };
            self.interfaces.clear();
            order.extend_from_slice(&magic);
        }
        let length = self.word(length) as usize;
        let rest = length
            .checked_sub(8 + order.len())
            .filter(|rest| *rest >= 4 && rest % 4 == 0)
            .ok_or(CaptureEnd::Damaged("a block with a wrong length"))?;
        let kind = self.word(kind);
        if rest > MAX_BLOCK_BYTES {
            if matches!(kind, INTERFACE | ENHANCED_PACKET | OBSOLETE_PACKET | SIMPLE_PACKET) {
                return Err(CaptureEnd::Damaged("a packet of more than 1 MiB"));
            }
            let skipped = std::io::copy(&mut (&mut self.input).take(rest as u64), &mut std::io::sink())?;
            self.block.clear();
            return if skipped == rest as u64 { Ok(kind) } else { Err(CaptureEnd::Truncated) };
        }
        self.block.resize(rest, 0);
        self.input.read_exact(&mut self.block)?;
        // The length is repeated at the end.
        self.block.truncate(rest - 4);
        Ok(kind)
    }

    fn interface(&self) -> Option<Interface> {
        let link = u32::from(self.short(0)?);
        let snaplen = match self.word_at(4)? {
            0 => usize::MAX,
            snaplen => snaplen as usize,
        };
        let mut interface = Interface { link, snaplen, per_second: 1_000_000, offset_seconds: 0 };
        let mut at = 8;
        while let (Some(code), Some(len)) = (self.short(at), self.short(at + 2)) {
            let len = usize::from(len);
            let value = self.block.get(at + 4..at + 4 + len)?;
            match (code, value) {
                (0, _) => break,
                (IF_TSRESOL, [power]) => {
                    let base: u64 = if power & 0x80 == 0 { 10 } else { 2 };
                    interface.per_second =
                        base.checked_pow(u32::from(power & 0x7F)).filter(|units| *units > 0)?;
                }
                (IF_TSOFFSET, value) => {
                    let bytes = *value.first_chunk::<8>()?;
                    interface.offset_seconds =
                        if self.swapped { i64::from_le_bytes(bytes) } else { i64::from_be_bytes(bytes) };
                }
                _ => {}
            }
            at += 4 + len.next_multiple_of(4);
        }
        Some(interface)
    }

    fn place(&self, kind: u32) -> Option<BlockPosition> {
        if kind == SIMPLE_PACKET {
            let len = self.word_at(0)? as usize;
            let snaplen = self.interfaces.first()?.snaplen;
            let captured = len.min(snaplen).min(self.block.len().saturating_sub(4));
            return Some(BlockPosition { interface: 0, ticks: None, captured, len, at: 4 });
        }
        let interface =
            if kind == OBSOLETE_PACKET { u32::from(self.short(0)?) } else { self.word_at(0)? } as usize;
        let ticks = Some(u64::from(self.word_at(4)?) << 32 | u64::from(self.word_at(8)?));
        let captured = self.word_at(12)? as usize;
        Some(BlockPosition { interface, ticks, captured, len: self.word_at(16)? as usize, at: 20 })
    }

    fn word(&self, bytes: [u8; 4]) -> u32 {
        if self.swapped { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) }
    }

    fn word_at(&self, at: usize) -> Option<u32> {
        Some(self.word(*self.block.get(at..)?.first_chunk()?))
    }

    fn short(&self, at: usize) -> Option<u16> {
        let bytes = *self.block.get(at..)?.first_chunk()?;
        Some(if self.swapped { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) })
    }
}

/// ns since 1970.
fn time(ticks: u64, interface: &Interface) -> u64 {
    let nanoseconds = u128::from(ticks) * 1_000_000_000 / u128::from(interface.per_second);
    let offset = i128::from(interface.offset_seconds) * 1_000_000_000;
    u64::try_from(nanoseconds.cast_signed() + offset).unwrap_or(0)
}
