//! Content that depends on the position of every byte, so that a stale, shifted or zeroed block is detected.

/// `len` bytes at `offset` of the content named by `stamp`.
pub(super) fn pattern(stamp: u64, offset: u64, len: u32) -> Vec<u8> {
    (offset..offset + u64::from(len)).map(|at| word(stamp, at / 8)[(at % 8) as usize]).collect()
}

/// One mixing step of `SplitMix64` over the position.
fn word(stamp: u64, index: u64) -> [u8; 8] {
    let mut z =
        stamp.wrapping_mul(0xD1B5_4A32_D192_ED03) ^ index.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (z ^ (z >> 31)).to_le_bytes()
}

/// Describes the first difference between `got` and `wanted`.
pub(super) fn compare(wanted: &[u8], got: &[u8], what: &str) -> Result<(), String> {
    if wanted.len() != got.len() {
        return Err(format!("{what}: {} bytes instead of {}", got.len(), wanted.len()));
    }
    match wanted.iter().zip(got).position(|(wanted, got)| wanted != got) {
        None => Ok(()),
        Some(at) => {
            let wrong = wanted.iter().zip(got).filter(|(wanted, got)| wanted != got).count();
            Err(format!("{what}: {wrong} of {} bytes are wrong, the first at {at}", wanted.len()))
        }
    }
}
