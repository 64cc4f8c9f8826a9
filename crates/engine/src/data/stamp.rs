//! Stamped data: every 512 bytes say which file, offset and generation they belong to.
//!
//! A sector starts with a 32-byte stamp (magic, file, generation, offset, checksum of these); the rest is
//! a keystream of the same three numbers, or data of a kind that compresses as files of that kind do
//! (docs/measure/loads.md). So data is unique on the target, and the stamp of a wrong sector shows whether it
//! is stale, shifted, of another file, or not written by us.

use std::fmt;

use sharebench_model::mix;
use sharebench_plan::{DataKind, Verify};

use crate::data::content;

/// Bytes that carry one stamp.
pub const SECTOR: usize = 512;
const STAMP: usize = 32;
const MAGIC: u64 = u64::from_le_bytes(*b"sharebnc");

/// The expected content of a piece of a file: which file, which write of it, and which type of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Content {
    /// Identity of the file within the run.
    pub file: u32,
    /// Number of the write that put the content there, counted per file.
    pub generation: u32,
    /// Type of data; none for data that cannot be compressed.
    pub kind: Option<DataKind>,
}

/// The first wrong byte of a read, and what was found in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// Offset in the file.
    pub offset: u64,
    /// What the sector holds instead of the expected content.
    pub found: Found,
}

/// What a sector with wrong content holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Zeros.
    Zeros,
    /// An older or newer generation of the right place.
    Generation {
        /// The generation that was expected.
        expected: u32,
        /// The generation that was found.
        found: u32,
    },
    /// Another place of the same file.
    Offset(u64),
    /// Another file of this run.
    File(u32),
    /// A right stamp, followed by wrong bytes.
    Damaged,
    /// Data that this run did not write.
    Foreign,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at offset {}: ", self.offset)?;
        match self.found {
            Found::Zeros => f.write_str("zeros instead of data"),
            Found::Generation { expected, found } if found < expected => {
                write!(f, "stale data (generation {found}, expected {expected})")
            }
            Found::Generation { expected, found } => write!(f, "generation {found}, expected {expected}"),
            Found::Offset(offset) => write!(f, "data that belongs to offset {offset}"),
            Found::File(file) => write!(f, "data of another file ({file})"),
            Found::Damaged => f.write_str("damaged data after a right stamp"),
            Found::Foreign => f.write_str("data that was never written here"),
        }
    }
}

/// Fills `buffer` with what the file should hold at `offset`.
pub fn fill(buffer: &mut [u8], content: Content, offset: u64) {
    pieces(offset, buffer.len(), |at, start, from, to| {
        if from == 0 && to - from == SECTOR {
            write_sector(&mut buffer[at..at + SECTOR], content, start);
        } else {
            let mut sector = [0; SECTOR];
            write_sector(&mut sector, content, start);
            buffer[at..at + to - from].copy_from_slice(&sector[from..to]);
        }
        Ok(())
    })
    .unwrap_or(());
}

/// Checks that `buffer`, read at `offset`, holds what it should.
pub fn verify(buffer: &[u8], content: Content, offset: u64, how: Verify) -> Result<(), Mismatch> {
    if how == Verify::Off {
        return Ok(());
    }
    pieces(offset, buffer.len(), |at, start, from, to| {
        let found = &buffer[at..at + to - from];
        if from == 0 && to >= STAMP {
            check_stamp(found, content, start)?;
            if how == Verify::Stamps && to == SECTOR {
                return Ok(());
            }
        }
        let mut sector = [0; SECTOR];
        write_sector(&mut sector, content, start);
        match found.iter().zip(&sector[from..to]).position(|(found, wanted)| found != wanted) {
            None => Ok(()),
            Some(at) => {
                let found = if found.iter().all(|byte| *byte == 0) { Found::Zeros } else { Found::Damaged };
                Err(Mismatch { offset: start + (from + at) as u64, found })
            }
        }
    })
}

/// Walks the sectors that `offset..offset+len` touches: (position in the buffer, sector's offset in the
/// file, first byte, end byte within the sector).
fn pieces(
    offset: u64,
    len: usize,
    mut visit: impl FnMut(usize, u64, usize, usize) -> Result<(), Mismatch>,
) -> Result<(), Mismatch> {
    let mut at = 0;
    while at < len {
        let position = offset + at as u64;
        let from = (position % SECTOR as u64) as usize;
        let to = SECTOR.min(from + len - at);
        visit(at, position - from as u64, from, to)?;
        at += to - from;
    }
    Ok(())
}

fn key(content: Content, start: u64) -> u64 {
    mix((u64::from(content.file) << 32 | u64::from(content.generation)) ^ start.rotate_left(17))
}

fn write_sector(sector: &mut [u8], content: Content, start: u64) {
    let key = key(content, start);
    let (stamp, body) = sector.split_at_mut(STAMP);
    stamp[..8].copy_from_slice(&MAGIC.to_le_bytes());
    stamp[8..12].copy_from_slice(&content.file.to_le_bytes());
    stamp[12..16].copy_from_slice(&content.generation.to_le_bytes());
    stamp[16..24].copy_from_slice(&start.to_le_bytes());
    stamp[24..].copy_from_slice(&key.to_le_bytes());
    if let Some(kind) = content.kind {
        return content::fill(body, kind, key);
    }
    for (index, word) in body.chunks_exact_mut(8).enumerate() {
        // One multiplication per word keeps the fill near memory speed; no compressor sees through it.
        let mut bits = key.wrapping_add((index as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        bits = (bits ^ (bits >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        word.copy_from_slice(&(bits ^ (bits >> 29)).to_le_bytes());
    }
}

fn check_stamp(found: &[u8], content: Content, start: u64) -> Result<(), Mismatch> {
    let word = |at: usize| u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|i| found[at + i]));
    let file = word(8) as u32;
    let generation = (word(8) >> 32) as u32;
    let offset = word(16);
    let check = word(24);
    let stamped = Content { file, generation, ..content };
    if word(0) == MAGIC && stamped == content && offset == start && check == key(content, start) {
        return Ok(());
    }
    let found = if found[..STAMP].iter().all(|byte| *byte == 0) {
        Found::Zeros
    } else if word(0) != MAGIC || check != key(stamped, offset) {
        Found::Foreign
    } else if file != content.file {
        Found::File(file)
    } else if offset != start {
        Found::Offset(offset)
    } else {
        Found::Generation { expected: content.generation, found: generation }
    };
    Err(Mismatch { offset: start, found })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTENT: Content = Content { file: 3, generation: 2, kind: None };

    fn filled(offset: u64, len: usize) -> Vec<u8> {
        let mut buffer = vec![0; len];
        fill(&mut buffer, CONTENT, offset);
        buffer
    }

    #[test]
    fn any_cut_of_a_file_verifies() {
        for (offset, len) in
            [(0, 4096), (100_000, 100_000), (511, 2), (5, 20), (480, 700), (u64::from(u32::MAX) * 512, 512)]
        {
            let buffer = filled(offset, len);
            for how in [Verify::Stamps, Verify::Full] {
                assert_eq!(verify(&buffer, CONTENT, offset, how), Ok(()), "{offset}+{len}");
            }
        }
    }

    #[test]
    fn data_of_every_kind_verifies_in_any_cut_and_damage_is_found() {
        for kind in [DataKind::Data, DataKind::Text, DataKind::Image, DataKind::Binary] {
            let content = Content { kind: Some(kind), ..CONTENT };
            let mut buffer = vec![0; 3_001];
            fill(&mut buffer, content, 1_700);
            assert_eq!(verify(&buffer, content, 1_700, Verify::Full), Ok(()));
            let other = Content { kind: None, ..content };
            assert!(verify(&buffer, other, 1_700, Verify::Full).is_err(), "{kind:?} is no noise");
            buffer[2_000] ^= 1;
            assert!(verify(&buffer, content, 1_700, Verify::Full).is_err());
        }
    }

    #[test]
    fn cuts_of_one_file_join() {
        let whole = filled(0, 10_000);
        assert_eq!([filled(0, 3_333), filled(3_333, 6_667)].concat(), whole);
    }

    #[test]
    fn stale_zero_shifted_foreign_and_damaged_data_is_named() {
        let found = |buffer: &[u8], how| verify(buffer, CONTENT, 1024, how).unwrap_err().found;
        let mut other = vec![0; 1024];
        assert_eq!(found(&other, Verify::Stamps), Found::Zeros);
        fill(&mut other, Content { generation: 1, ..CONTENT }, 1024);
        assert_eq!(found(&other, Verify::Stamps), Found::Generation { expected: 2, found: 1 });
        fill(&mut other, CONTENT, 512);
        assert_eq!(found(&other, Verify::Stamps), Found::Offset(512));
        fill(&mut other, Content { file: 9, ..CONTENT }, 1024);
        assert_eq!(found(&other, Verify::Stamps), Found::File(9));
        other.fill(b'x');
        assert_eq!(found(&other, Verify::Stamps), Found::Foreign);
        let mut damaged = filled(1024, 1024);
        damaged[700] ^= 1;
        assert_eq!(verify(&damaged, CONTENT, 1024, Verify::Stamps), Ok(()));
        assert_eq!(
            verify(&damaged, CONTENT, 1024, Verify::Full),
            Err(Mismatch { offset: 1724, found: Found::Damaged })
        );
    }

    #[test]
    fn the_data_has_no_repetition_to_compress() {
        let data = filled(0, 1 << 20);
        let mut words: Vec<_> = data.chunks_exact(8).filter(|word| *word != MAGIC.to_le_bytes()).collect();
        let total = words.len();
        words.sort_unstable();
        words.dedup();
        // The second word of each stamp (file, generation) is the one that repeats.
        assert_eq!(words.len(), total - (1 << 20) / SECTOR + 1);
    }
}
