//! The keys of an encrypted SMB session, derived by a proxy that knows the password.
//!
//! A proxy cannot change what a cipher authenticates, unless it has the session's keys. They follow from the password and
//! the messages of the login (MS-NLMP 3.3.2, MS-SMB2 3.1.4.2), which pass through the proxy. So it decrypts the replies of
//! the real server, changes them, and encrypts them again: the client receives hostile content with a valid tag. The code
//! is written from the specifications and shares nothing with `crates/smb`.

use aws_lc_rs::aead::{AES_128_GCM, AES_256_GCM, Aad, Algorithm, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::{digest, hmac};
use md4::Md4;
use md5::{Digest, Md5};
use sharebench_tests::Smbd;

/// Length of the prefix of a message.
const PREFIX: usize = 4;
/// The body of a message in plain text.
const BODY: usize = PREFIX + 64;
const NEGOTIATE: u16 = 0;
const SESSION_SETUP: u16 = 1;
/// The dialect whose keys depend on the hash of the messages before.
const DIALECT: u16 = 0x0311;
/// Kind of the NEGOTIATE context with the cipher (MS-SMB2 2.2.3.1.2).
const CIPHERS: u16 = 2;
const AES_128_GCM_ID: u16 = 2;
const AES_256_GCM_ID: u16 = 4;
/// A transform header (MS-SMB2 2.2.41), after the prefix.
const TRANSFORM: usize = 52;
const TAG: std::ops::Range<usize> = 4..20;
const NONCE: std::ops::Range<usize> = 20..32;
const SIZE: std::ops::Range<usize> = 36..40;
/// Bytes of the header that the tag covers.
const AUTHENTICATED: std::ops::Range<usize> = 20..TRANSFORM;

/// What the proxy knows of the session of one connection. It observes every exchange, from NEGOTIATE on.
///
/// A connection that negotiates another dialect or another cipher has no keys, and neither has one that does not log in:
/// `probe` opens several of both kinds. What the keys do not open passes unchanged.
pub struct ObservedSession {
    /// SHA-512 over the messages of the login (MS-SMB2 3.1.4.4.1).
    preauth: Vec<u8>,
    /// The cipher that the server chose; none if the keys of the session cannot be derived.
    cipher: Option<&'static Algorithm>,
    keys: Option<Keys>,
}

struct Keys {
    to_server: LessSafeKey,
    to_client: LessSafeKey,
}

impl Default for ObservedSession {
    fn default() -> Self {
        Self { preauth: vec![0; 64], cipher: None, keys: None }
    }
}

impl ObservedSession {
    /// Takes note of a message of the login and its reply, both with their prefixes.
    pub fn observe(&mut self, request: &[u8], reply: &[u8]) {
        match command(reply) {
            Some(NEGOTIATE) => {
                self.add(request);
                self.add(reply);
                self.cipher = negotiated_cipher(reply);
            }
            Some(SESSION_SETUP) => {
                self.add(request);
                // The last reply is signed with a key that depends on the hash, so it is not part of it.
                if reply[PREFIX + 8..PREFIX + 12] == [0; 4] {
                    let cipher = self.cipher;
                    self.keys = cipher.and_then(|cipher| Some(self.derive(cipher, &session_key(request)?)));
                } else {
                    self.add(reply);
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, message: &[u8]) {
        let chained = [&self.preauth[..], &message[PREFIX..]].concat();
        self.preauth = digest::digest(&digest::SHA512, &chained).as_ref().to_vec();
    }

    /// Derives the keys of both directions (MS-SMB2 3.1.4.2).
    fn derive(&self, algorithm: &'static Algorithm, session_key: &[u8; 16]) -> Keys {
        let base = hmac::Key::new(hmac::HMAC_SHA256, session_key);
        let key = |label: &[u8]| {
            let len = algorithm.key_len();
            let bits = (len as u32 * 8).to_be_bytes();
            let input = [&1u32.to_be_bytes()[..], label, &[0], &self.preauth, &bits].concat();
            let bytes = hmac::sign(&base, &input);
            LessSafeKey::new(UnboundKey::new(algorithm, &bytes.as_ref()[..len]).unwrap())
        };
        Keys { to_server: key(b"SMBC2SCipherKey\0"), to_client: key(b"SMBS2CCipherKey\0") }
    }

    /// A request in plain text, with its prefix; empty if it is not encrypted with the session's keys.
    pub fn open_request(&self, request: &[u8]) -> Vec<u8> {
        self.keys.as_ref().and_then(|keys| open(&keys.to_server, request)).unwrap_or_default()
    }

    /// A reply in plain text, with its prefix; none if it is not encrypted with the session's keys.
    pub fn open_reply(&self, reply: &[u8]) -> Option<Vec<u8>> {
        open(&self.keys.as_ref()?.to_client, reply)
    }

    /// Encrypts a message in plain text, with its prefix, in place of the reply `sealed`.
    pub fn seal_reply(&self, plain: Vec<u8>, sealed: &[u8]) -> Vec<u8> {
        match (&self.keys, plain.get(PREFIX..)) {
            (Some(keys), Some(content)) => seal(&keys.to_client, content, sealed),
            _ => plain,
        }
    }
}

fn word(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |bytes| u16::from_le_bytes([bytes[0], bytes[1]]))
}

fn long(bytes: &[u8], at: usize) -> usize {
    usize::from(word(bytes, at)) | usize::from(word(bytes, at + 2)) << 16
}

/// The command of a message that is not encrypted.
fn command(message: &[u8]) -> Option<u16> {
    let is_plain = message.get(PREFIX..PREFIX + 4)? == b"\xFESMB";
    is_plain.then(|| word(message, PREFIX + 12))
}

/// The cipher of a reply to NEGOTIATE; none if it is of another dialect, or names no cipher that this file knows.
fn negotiated_cipher(reply: &[u8]) -> Option<&'static Algorithm> {
    if word(reply, BODY + 4) != DIALECT {
        return None;
    }
    let mut at = PREFIX + long(reply, BODY + 60);
    for _ in 0..word(reply, BODY + 6) {
        if word(reply, at) == CIPHERS {
            return match word(reply, at + 10) {
                AES_128_GCM_ID => Some(&AES_128_GCM),
                AES_256_GCM_ID => Some(&AES_256_GCM),
                _ => None,
            };
        }
        // Contexts begin at multiples of eight bytes.
        at += (8 + usize::from(word(reply, at + 2))).next_multiple_of(8);
    }
    None
}

/// The session key of the login that a `SESSION_SETUP` request with an AUTHENTICATE message completes (MS-NLMP 2.2.1.3).
fn session_key(request: &[u8]) -> Option<[u8; 16]> {
    let start = request.windows(12).position(|bytes| bytes == b"NTLMSSP\0\x03\0\0\0")?;
    let message = &request[start..];
    let field = |at: usize| message.get(long(message, at + 4)..)?.get(..usize::from(word(message, at)));
    let response = field(20)?;
    let domain = field(28)?;
    let user = field(36)?;
    let password: Vec<u8> = Smbd::PASSWORD.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let upper: Vec<u8> = user.iter().map(u8::to_ascii_uppercase).collect();
    let owner_key = hmac_md5(&Md4::digest(&password), &[&upper, domain].concat());
    let base_key = hmac_md5(&owner_key, response.get(..16)?);
    let exchanged = field(52)?;
    let mut key = base_key;
    if let Ok(mut chosen) = <[u8; 16]>::try_from(exchanged) {
        rc4(&base_key, &mut chosen);
        key = chosen;
    }
    Some(key)
}

/// HMAC (RFC 2104) with MD5; the key is shorter than a block.
fn hmac_md5(key: &[u8], input: &[u8]) -> [u8; 16] {
    let pad = |byte: u8| -> Vec<u8> {
        let padded = key.iter().copied().chain(std::iter::repeat(0)).take(64);
        padded.map(|key| key ^ byte).collect()
    };
    let inner = Md5::digest([&pad(0x36)[..], input].concat());
    Md5::digest([&pad(0x5C)[..], &inner].concat()).into()
}

fn rc4(key: &[u8], data: &mut [u8]) {
    let mut state: [u8; 256] = std::array::from_fn(|index| index as u8);
    let mut j = 0u8;
    for i in 0..256 {
        j = j.wrapping_add(state[i]).wrapping_add(key[i % key.len()]);
        state.swap(i, usize::from(j));
    }
    let mut i = 0u8;
    j = 0;
    for byte in data {
        i = i.wrapping_add(1);
        j = j.wrapping_add(state[usize::from(i)]);
        state.swap(usize::from(i), usize::from(j));
        *byte ^= state[usize::from(state[usize::from(i)].wrapping_add(state[usize::from(j)]))];
    }
}

fn nonce(header: &[u8]) -> Nonce {
    Nonce::try_assume_unique_for_key(&header[NONCE]).unwrap()
}

fn prefixed(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u32).to_be_bytes()[..], bytes].concat()
}

/// Decrypts a message; none if it is not encrypted with this key.
fn open(key: &LessSafeKey, message: &[u8]) -> Option<Vec<u8>> {
    let (header, content) = message.get(PREFIX..)?.split_at_checked(TRANSFORM)?;
    if header[..4] != *b"\xFDSMB" {
        return None;
    }
    let mut plain = [content, &header[TAG]].concat();
    let plain = key.open_in_place(nonce(header), Aad::from(&header[AUTHENTICATED]), &mut plain).ok()?;
    Some(prefixed(plain))
}

/// Encrypts content with the transform header of another message, whose nonce it repeats: the client does not compare them.
fn seal(key: &LessSafeKey, plain: &[u8], sealed: &[u8]) -> Vec<u8> {
    let mut header = sealed[PREFIX..PREFIX + TRANSFORM].to_vec();
    header[SIZE].copy_from_slice(&(plain.len() as u32).to_le_bytes());
    let mut content = plain.to_vec();
    let aad = Aad::from(&header[AUTHENTICATED]);
    let tag = key.seal_in_place_separate_tag(nonce(&header), aad, &mut content).unwrap();
    header[TAG].copy_from_slice(tag.as_ref());
    prefixed(&[header, content].concat())
}
