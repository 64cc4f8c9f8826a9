//! Signatures of SMB2 messages (MS-SMB2 3.1.4.1).

use std::cell::RefCell;

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::{cmac, hmac};

use super::{CryptoError, SigningAlgorithm};
use crate::wire::HEADER_LEN;
use crate::wire::header::{SIGNATURE, command, flags};

/// Bytes of a signature.
const LEN: usize = 16;

thread_local! {
    /// Joins a message of several pieces, because GMAC takes its input in one piece.
    static JOINED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A key that signs and verifies messages.
#[derive(Debug)]
pub struct SigningKey(Keyed);

#[derive(Debug)]
enum Keyed {
    Hmac(Box<hmac::Key>),
    Cmac(cmac::Key),
    Gmac(Box<LessSafeKey>),
}

impl SigningKey {
    /// A key for `algorithm`; the AES algorithms require 16 bytes.
    pub fn new(algorithm: SigningAlgorithm, key: &[u8]) -> Result<Self, CryptoError> {
        let invalid = |_| CryptoError::KeyLength { algorithm: algorithm.name(), len: key.len() };
        Ok(Self(match algorithm {
            SigningAlgorithm::HmacSha256 => Keyed::Hmac(Box::new(hmac::Key::new(hmac::HMAC_SHA256, key))),
            SigningAlgorithm::AesCmac => Keyed::Cmac(cmac::Key::new(cmac::AES_128, key).map_err(invalid)?),
            SigningAlgorithm::AesGmac => {
                let key = UnboundKey::new(&AES_128_GCM, key).map_err(invalid)?;
                Keyed::Gmac(Box::new(LessSafeKey::new(key)))
            }
        }))
    }

    /// The signature of a message given as `pieces` in order.
    ///
    /// The first piece holds at least the header, with zeros in its signature field. Without a complete header
    /// there is no signature; the result is zeros, which no peer accepts.
    pub fn signature(&self, pieces: &[&[u8]]) -> [u8; LEN] {
        self.compute(pieces).unwrap_or_default()
    }

    /// True if a message has a valid signature. Its signature field holds zeros afterwards.
    pub fn verify(&self, message: &mut [u8]) -> bool {
        let Some(field) = message.get_mut(SIGNATURE) else { return false };
        let mut signature = [0; LEN];
        signature.copy_from_slice(field);
        field.fill(0);
        self.verify_pieces(&[message], &signature)
    }

    /// True if `signature` is the signature of the message, whose signature field holds zeros.
    pub fn verify_pieces(&self, pieces: &[&[u8]], signature: &[u8; LEN]) -> bool {
        self.compute(pieces).is_some_and(|right| verify_slices_are_equal(&right, signature).is_ok())
    }

    fn compute(&self, pieces: &[&[u8]]) -> Option<[u8; LEN]> {
        let header: &[u8; HEADER_LEN] = pieces.first()?.first_chunk()?;
        match &self.0 {
            Keyed::Hmac(key) => {
                let mut context = hmac::Context::with_key(key);
                for piece in pieces {
                    context.update(piece);
                }
                context.sign().as_ref().first_chunk().copied()
            }
            Keyed::Cmac(key) => {
                let mut context = cmac::Context::with_key(key);
                pieces.iter().try_for_each(|piece| context.update(piece)).ok()?;
                context.sign().ok()?.as_ref().first_chunk().copied()
            }
            Keyed::Gmac(key) => match pieces {
                [message] => gmac(key, header, message),
                _ => JOINED.with_borrow_mut(|joined| {
                    joined.clear();
                    for piece in pieces {
                        joined.extend_from_slice(piece);
                    }
                    gmac(key, header, joined)
                }),
            },
        }
    }
}

/// Computes GMAC: GCM with all input authenticated and none encrypted.
fn gmac(key: &LessSafeKey, header: &[u8; HEADER_LEN], message: &[u8]) -> Option<[u8; LEN]> {
    let nonce = Nonce::assume_unique_for_key(gmac_nonce(header));
    let tag = key.seal_in_place_separate_tag(nonce, Aad::from(message), &mut []).ok()?;
    tag.as_ref().first_chunk().copied()
}

/// The nonce (MS-SMB2 3.1.4.1): the message id, one bit for messages of the server, and one for CANCEL, which repeats the
/// id of another request.
fn gmac_nonce(header: &[u8; HEADER_LEN]) -> [u8; 12] {
    let role = u32::from(u32::from(header[16]) & flags::RESPONSE != 0);
    let cancel = u32::from(u16::from_le_bytes([header[12], header[13]]) == command::CANCEL);
    let mut nonce = [0; 12];
    nonce[..8].copy_from_slice(&header[24..32]);
    nonce[8..].copy_from_slice(&(role | cancel << 1).to_le_bytes());
    nonce
}
