//! The legacy algorithms of NTLM: MD4, MD5, HMAC-MD5 and RC4.

use hmac::{Hmac, Mac};
use md4::Md4;
use md5::{Digest, Md5};

pub(super) fn md4(bytes: &[u8]) -> [u8; 16] {
    Md4::digest(bytes).into()
}

pub(crate) fn md5(pieces: &[&[u8]]) -> [u8; 16] {
    let mut hash = Md5::new();
    for piece in pieces {
        hash.update(piece);
    }
    hash.finalize().into()
}

pub(super) fn hmac_md5(key: &[u8; 16], pieces: &[&[u8]]) -> [u8; 16] {
    // A key shorter than MD5's block is padded with zeros to the block (RFC 2104 2).
    let mut block = [0; 64];
    block[..16].copy_from_slice(key);
    let mut mac = <Hmac<Md5> as hmac::digest::KeyInit>::new(&block.into());
    for piece in pieces {
        mac.update(piece);
    }
    mac.finalize().into_bytes().into()
}

/// Applies RC4 with `key`, from the start of its stream, to `data` in place.
pub(super) fn rc4(key: &[u8], data: &mut [u8]) {
    let mut state: [u8; 256] = std::array::from_fn(|index| index as u8);
    let mut j = 0u8;
    for (i, key) in (0..=255u8).zip(key.iter().cycle()) {
        j = j.wrapping_add(state[usize::from(i)]).wrapping_add(*key);
        state.swap(usize::from(i), usize::from(j));
    }
    let mut i = 0u8;
    let mut j = 0u8;
    for byte in data {
        i = i.wrapping_add(1);
        j = j.wrapping_add(state[usize::from(i)]);
        state.swap(usize::from(i), usize::from(j));
        *byte ^= state[usize::from(state[usize::from(i)].wrapping_add(state[usize::from(j)]))];
    }
}
