//! `NTLMv2`'s keys and responses (MS-NLMP 3.3.2) and its signatures (MS-NLMP 3.4.4.2, 3.4.5).

use super::hash::{hmac_md5, md4, md5, rc4};
use super::message::flags;
use crate::wire::{put_utf16, utf16};

/// `NTOWFv2` (MS-NLMP 3.3.2): the key that `NTLMv2` derives from a password.
pub(super) fn password_key(user: &str, domain: &str, password: &str) -> [u8; 16] {
    let mut clear = utf16(password);
    let mut hash = md4(&clear);
    let mut name = utf16(&upper(user));
    put_utf16(domain, &mut name);
    let key = hmac_md5(&hash, &[&name]);
    clear.fill(0);
    hash.fill(0);
    std::hint::black_box((&clear, &hash));
    key
}

/// Upper case per letter, as Windows does it: a letter whose upper case has two letters stays as it is.
fn upper(text: &str) -> String {
    let single = |letter: char| {
        let mut upper = letter.to_uppercase();
        match (upper.next(), upper.next()) {
            (Some(one), None) => one,
            _ => letter,
        }
    };
    text.chars().map(single).collect()
}

/// The response to a challenge (MS-NLMP 3.3.2).
pub(super) struct ChallengeResponse {
    /// `NtChallengeResponse`.
    pub(super) nt: Vec<u8>,
    /// `LmChallengeResponse` in its second version.
    pub(super) lm: [u8; 24],
    /// `SessionBaseKey`, which is also the `KeyExchangeKey`.
    pub(super) session_key: [u8; 16],
}

impl ChallengeResponse {
    /// Computes the response; `time` is in 100 ns since 1601.
    pub(super) fn new(
        key: &[u8; 16],
        server_challenge: [u8; 8],
        client_challenge: [u8; 8],
        time: u64,
        target_info: &[u8],
    ) -> Self {
        // `NTLMv2_CLIENT_CHALLENGE` (MS-NLMP 2.2.2.7): version 1 twice, reserved bytes, then time, challenge and pairs.
        let mut blob = vec![1, 1, 0, 0, 0, 0, 0, 0];
        blob.extend_from_slice(&time.to_le_bytes());
        blob.extend_from_slice(&client_challenge);
        blob.extend_from_slice(&[0; 4]);
        blob.extend_from_slice(target_info);
        blob.extend_from_slice(&[0; 4]);
        let proof = hmac_md5(key, &[&server_challenge, &blob]);
        let mut lm = [0; 24];
        lm[..16].copy_from_slice(&hmac_md5(key, &[&server_challenge, &client_challenge]));
        lm[16..].copy_from_slice(&client_challenge);
        let mut nt = proof.to_vec();
        nt.append(&mut blob);
        Self { nt, lm, session_key: hmac_md5(key, &[&proof]) }
    }
}

/// The side that signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Client,
    Server,
}

/// The first signature (sequence number 0) of one side with extended session security.
pub(super) fn first_signature(
    session_key: &[u8; 16],
    negotiated: u32,
    side: Side,
    message: &[u8],
) -> [u8; 16] {
    let (sign, seal): (&[u8], &[u8]) = match side {
        Side::Client => (
            b"session key to client-to-server signing key magic constant\0",
            b"session key to client-to-server sealing key magic constant\0",
        ),
        Side::Server => (
            b"session key to server-to-client signing key magic constant\0",
            b"session key to server-to-client sealing key magic constant\0",
        ),
    };
    let sequence = [0; 4];
    let signing_key = md5(&[session_key, sign]);
    let mut checksum = [0; 8];
    checksum.copy_from_slice(&hmac_md5(&signing_key, &[&sequence, message])[..8]);
    if negotiated & flags::KEY_EXCHANGE != 0 {
        let strength = match negotiated {
            bits if bits & flags::BITS_128 != 0 => 16,
            bits if bits & flags::BITS_56 != 0 => 7,
            _ => 5,
        };
        rc4(&md5(&[&session_key[..strength], seal]), &mut checksum);
    }
    let mut signature = [0; 16];
    signature[0] = 1;
    signature[4..12].copy_from_slice(&checksum);
    signature
}
