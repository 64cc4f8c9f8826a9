//! What plain data looks like: text, records, pictures and programs that compress as such files do.
//!
//! Everything follows from the sector's key, so that each byte can be verified; nothing is stored.

use sharebench_plan::DataKind;

/// A sequence of pseudo-random 64-bit numbers, which costs one multiplication per number.
struct Bits(u64);

impl Bits {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let bits = (self.0 ^ (self.0 >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        bits ^ (bits >> 29)
    }
}

const WORDS: &str = "the of and to in is that it was for on are as with his they at be this from have or by one had not \
    but what all were when we there can an your which their said if do will each about how up out them then she many some \
    so these would other into has more her two like him see time could no make than first been its who now people my made \
    over did down only way find use may water long little very after words called just where most know get through back \
    much before go good new write our used me man too any day same right look think also around another came come work";

/// Fills the body of a sector with data of a kind, determined by `key`.
pub(crate) fn fill(body: &mut [u8], kind: DataKind, key: u64) {
    let bits = Bits(key);
    match kind {
        DataKind::Text => text(body, bits),
        DataKind::Data => records(body, bits),
        DataKind::Image => image(body, bits),
        DataKind::Binary => binary(body, bits),
    }
}

/// Text: words, with a full stop after some of them.
fn text(body: &mut [u8], mut bits: Bits) {
    static INDEX: std::sync::OnceLock<Vec<&str>> = std::sync::OnceLock::new();
    let words = INDEX.get_or_init(|| WORDS.split_whitespace().collect());
    let mut at = 0;
    let mut random = 0;
    let mut left = 0;
    while at < body.len() {
        if left == 0 {
            (random, left) = (bits.next(), 7);
        }
        let word = words[(random & 0x7F) as usize % words.len()].as_bytes();
        let separator: &[u8] = if random & 0x180 == 0 { b".\r\n" } else { b" " };
        (random, left) = (random >> 9, left - 1);
        for piece in [word, separator] {
            let len = piece.len().min(body.len() - at);
            body[at..at + len].copy_from_slice(&piece[..len]);
            at += len;
        }
    }
}

/// Records of 32 bytes: a running number, an amount, a state, blanks.
fn records(body: &mut [u8], mut bits: Bits) {
    let mut number = (bits.next() >> 40) as u32;
    for record in body.chunks_mut(32) {
        let random = bits.next();
        number += 1 + (random & 3) as u32;
        let mut whole = [b' '; 32];
        whole[..4].copy_from_slice(&number.to_le_bytes());
        whole[4..8].copy_from_slice(&((random >> 8) as u32 & 0xFFFF).to_le_bytes());
        whole[8..12].copy_from_slice([b"open", b"paid", b"sent", b"void"][(random >> 30) as usize & 3]);
        whole[12..16].copy_from_slice(&[0; 4]);
        whole[16..20].copy_from_slice(&((random >> 32) as u32 & 0xFF_FFFF).to_be_bytes());
        record.copy_from_slice(&whole[..record.len()]);
    }
}

/// Rows of pixels of three bytes: areas of one colour, some noise.
fn image(body: &mut [u8], mut bits: Bits) {
    let mut colour = [0u8; 3];
    let mut area = 0u64;
    for pixel in body.chunks_mut(3) {
        if area == 0 {
            let random = bits.next();
            colour = [random as u8, (random >> 8) as u8, (random >> 16) as u8];
            area = 1 + (random >> 24) % 5;
        }
        area -= 1;
        pixel.copy_from_slice(&colour[..pixel.len()]);
    }
}

/// Instructions of four bytes: usual ones, and operands.
fn binary(body: &mut [u8], mut bits: Bits) {
    for (index, instruction) in body.chunks_mut(4).enumerate() {
        let random = bits.next();
        let whole = if index % 3 == 0 {
            (random as u32).to_le_bytes()
        } else {
            // One of 64 that are the same in every file.
            let usual = (random & 63) as u32;
            (usual.wrapping_mul(0x9E37_79B1) ^ 0x0048_8B00).to_le_bytes()
        };
        instruction.copy_from_slice(&whole[..instruction.len()]);
    }
}
