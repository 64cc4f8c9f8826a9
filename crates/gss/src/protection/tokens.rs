//! MIC and wrap tokens (RFC 4121 4.2.6).

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use aws_lc_rs::{constant_time, hmac};

use super::cts::BLOCK;
use super::encryption::Encryption;
use super::keys::{Role, TokenKeys};

/// Bytes of the header of a token.
const HEADER: usize = 16;
/// Bytes before the plaintext of a wrap token that is encrypted in place: the header and the confounder.
pub const WRAP_HEADER_LEN: usize = HEADER + BLOCK;

const MIC_ID: [u8; 2] = [4, 4];
const WRAP_ID: [u8; 2] = [5, 4];
/// Flags of a token (RFC 4121 4.2.2).
const SENT_BY_ACCEPTOR: u8 = 1;
const SEALED: u8 = 2;
const ACCEPTOR_SUBKEY: u8 = 4;
const FILLER: u8 = 0xFF;

/// Why a token of the peer is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProtectionError {
    /// The token is shorter than its fixed parts.
    #[error("a Kerberos {token} token of {len} bytes is truncated")]
    Truncated {
        /// Kind of token.
        token: &'static str,
        /// Its length in bytes.
        len: usize,
    },
    /// A field of the header is wrong: another kind of token, direction or key.
    #[error("a Kerberos {token} token with a wrong {field}")]
    Field {
        /// Kind of token.
        token: &'static str,
        /// Field (RFC 4121 4.2.6).
        field: &'static str,
    },
    /// The signature does not belong to the message.
    #[error("a Kerberos {token} token with a wrong signature")]
    Signature {
        /// Kind of token.
        token: &'static str,
    },
    /// The system has no randomness.
    #[error("the system returned no random bytes")]
    Random,
}

/// Where the message is in a token that was decrypted in place, and its sequence number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnwrappedMessage {
    /// The message within the token.
    pub place: Range<usize>,
    /// `SND_SEQ` of the token.
    pub sequence: u64,
}

/// Signs and encrypts the messages of an established context, in place and without the library.
///
/// Threads may share it: only the sequence number changes. It does not check the order of received tokens; a protocol
/// that needs it has sequence numbers of its own (RFC 2203 5.3.3.1).
pub struct Protection {
    keys: TokenKeys,
    next: AtomicU64,
}

impl Protection {
    /// Uses the keys of a context.
    pub fn new(keys: TokenKeys) -> Self {
        let next = AtomicU64::new(keys.first_sequence);
        Self { keys, next }
    }

    /// The encryption type of the context.
    pub const fn encryption(&self) -> Encryption {
        self.keys.encryption
    }

    /// Bytes of a MIC token.
    pub const fn mic_len(&self) -> usize {
        HEADER + self.keys.encryption.mac_len()
    }

    /// Bytes after the plaintext of a wrap token that is encrypted in place: the copy of the header and the signature.
    pub const fn wrap_trailer_len(&self) -> usize {
        HEADER + self.keys.encryption.mac_len()
    }

    fn header(&self, id: [u8; 2], flags: u8, counts: [u8; 4]) -> [u8; HEADER] {
        let mut flags = flags;
        if self.keys.role == Role::Acceptor {
            flags |= SENT_BY_ACCEPTOR;
        }
        if self.keys.acceptor_subkey {
            flags |= ACCEPTOR_SUBKEY;
        }
        let sequence = self.next.fetch_add(1, Ordering::Relaxed);
        let mut header = [0; HEADER];
        let (front, back) = header.split_at_mut(8);
        front.copy_from_slice(&[id[0], id[1], flags, FILLER, counts[0], counts[1], counts[2], counts[3]]);
        back.copy_from_slice(&sequence.to_be_bytes());
        header
    }

    /// Flags and sequence number of a received header, whose direction and key are checked.
    fn check_header(
        &self,
        token: &'static str,
        id: [u8; 2],
        header: &[u8; HEADER],
    ) -> Result<(u8, u64), ProtectionError> {
        let [a, b, flags, filler, _, _, _, _, sequence @ ..] = *header;
        if [a, b] != id {
            return Err(ProtectionError::Field { token, field: "TOK_ID" });
        }
        let from_acceptor = flags & SENT_BY_ACCEPTOR != 0;
        if from_acceptor != (self.keys.role == Role::Initiator) {
            return Err(ProtectionError::Field { token, field: "direction" });
        }
        if (flags & ACCEPTOR_SUBKEY != 0) != self.keys.acceptor_subkey {
            return Err(ProtectionError::Field { token, field: "subkey" });
        }
        if filler != FILLER {
            return Err(ProtectionError::Field { token, field: "filler" });
        }
        Ok((flags, u64::from_be_bytes(sequence)))
    }

    /// Appends a MIC token for a message, which may be in several pieces (RFC 4121 4.2.6.1).
    pub fn mic(&self, pieces: &[&[u8]], out: &mut Vec<u8>) {
        let header = self.header(MIC_ID, 0, [FILLER; 4]);
        let tag = mac(&self.keys.sent.checksum, pieces.iter().copied().chain([&header[..]]));
        out.extend_from_slice(&header);
        out.extend_from_slice(&tag.as_ref()[..self.keys.encryption.mac_len().min(tag.as_ref().len())]);
    }

    /// Verifies a MIC token of the peer for a message.
    pub fn verify_mic(&self, pieces: &[&[u8]], mic: &[u8]) -> Result<(), ProtectionError> {
        let token = "MIC";
        let truncated = ProtectionError::Truncated { token, len: mic.len() };
        let (header, checksum) = mic.split_first_chunk::<HEADER>().ok_or(truncated)?;
        self.check_header(token, MIC_ID, header)?;
        if header[4..8] != [FILLER; 4] {
            return Err(ProtectionError::Field { token, field: "filler" });
        }
        let tag = mac(&self.keys.received.checksum, pieces.iter().copied().chain([&header[..]]));
        self.compare(token, &tag, checksum)
    }

    fn compare(&self, token: &'static str, tag: &hmac::Tag, received: &[u8]) -> Result<(), ProtectionError> {
        let expected = tag.as_ref().get(..self.keys.encryption.mac_len()).unwrap_or_default();
        constant_time::verify_slices_are_equal(expected, received)
            .map_err(|_| ProtectionError::Signature { token })
    }

    /// The wrap token of a message, see [`Self::wrap_in_place`].
    pub fn wrap(&self, message: &[u8]) -> Result<Vec<u8>, ProtectionError> {
        let mut token = vec![0; WRAP_HEADER_LEN];
        token.extend_from_slice(message);
        token.resize(token.len() + self.wrap_trailer_len(), 0);
        self.wrap_in_place(&mut token)?;
        Ok(token)
    }

    /// Encrypts and signs in place (RFC 4121 4.2.6.2): the plaintext is between [`WRAP_HEADER_LEN`] reserved bytes and
    /// [`Self::wrap_trailer_len`] reserved bytes, and the whole of `token` is the token afterwards.
    pub fn wrap_in_place(&self, token: &mut [u8]) -> Result<(), ProtectionError> {
        let len = token.len();
        let truncated = ProtectionError::Truncated { token: "wrap", len };
        let header = self.header(WRAP_ID, SEALED, [0; 4]);
        let (front, body) = token.split_first_chunk_mut::<HEADER>().ok_or(truncated)?;
        *front = header;
        let mac_at = body.len().checked_sub(self.keys.encryption.mac_len()).ok_or(truncated)?;
        let (cipher, signature) = body.split_at_mut_checked(mac_at).ok_or(truncated)?;
        let (confounder, rest) = cipher.split_first_chunk_mut::<BLOCK>().ok_or(truncated)?;
        aws_lc_rs::rand::fill(confounder).map_err(|_| ProtectionError::Random)?;
        *rest.last_chunk_mut::<HEADER>().ok_or(truncated)? = header;
        let keys = &self.keys.sent;
        let tag = if self.keys.encryption.signs_ciphertext() {
            let _ = keys.cipher.encrypt(cipher);
            mac(&keys.integrity, [&[0; BLOCK][..], cipher].into_iter())
        } else {
            let tag = mac(&keys.integrity, std::iter::once(&*cipher));
            let _ = keys.cipher.encrypt(cipher);
            tag
        };
        signature.copy_from_slice(tag.as_ref().get(..signature.len()).ok_or(truncated)?);
        Ok(())
    }

    /// Decrypts and verifies a wrap token of the peer in place.
    pub fn unwrap_in_place(&self, bytes: &mut [u8]) -> Result<UnwrappedMessage, ProtectionError> {
        let token = "wrap";
        let truncated = ProtectionError::Truncated { token, len: bytes.len() };
        let (header, body) = bytes.split_first_chunk_mut::<HEADER>().ok_or(truncated)?;
        let (flags, sequence) = self.check_header(token, WRAP_ID, header)?;
        if flags & SEALED == 0 {
            return Err(ProtectionError::Field { token, field: "flag: it is not encrypted" });
        }
        let extra = usize::from(u16::from_be_bytes([header[4], header[5]]));
        let rotation = usize::from(u16::from_be_bytes([header[6], header[7]]));
        let mac_len = self.keys.encryption.mac_len();
        // Confounder, copy of the header, filler and signature; the message itself may be empty.
        let shortest = BLOCK + extra + HEADER + mac_len;
        if body.len() < shortest {
            return Err(truncated);
        }
        // Some senders rotate the token to the right; 0 is the usual count (RFC 4121 4.2.5).
        let count = rotation % body.len();
        body.rotate_left(count);
        let (cipher, signature) = body.split_at_mut_checked(body.len() - mac_len).ok_or(truncated)?;
        self.open(token, cipher, signature)?;
        let (_, copy) = cipher.split_last_chunk::<HEADER>().ok_or(truncated)?;
        // The copy has no rotation, because the sender encrypts it before it rotates (RFC 4121 4.2.4).
        let mut expected = *header;
        expected[6..8].fill(0);
        if *copy != expected {
            return Err(ProtectionError::Field { token, field: "copy of the header" });
        }
        let end = HEADER + cipher.len() - HEADER - extra;
        Ok(UnwrappedMessage { place: WRAP_HEADER_LEN..end, sequence })
    }

    /// Decrypts and verifies the body of a token in the order of its encryption type.
    fn open(&self, token: &'static str, cipher: &mut [u8], signature: &[u8]) -> Result<(), ProtectionError> {
        let keys = &self.keys.received;
        let truncated = ProtectionError::Truncated { token, len: cipher.len() };
        if self.keys.encryption.signs_ciphertext() {
            let tag = mac(&keys.integrity, [&[0; BLOCK][..], cipher].into_iter());
            self.compare(token, &tag, signature)?;
            return if keys.cipher.decrypt(cipher) { Ok(()) } else { Err(truncated) };
        }
        if !keys.cipher.decrypt(cipher) {
            return Err(truncated);
        }
        let tag = mac(&keys.integrity, std::iter::once(&*cipher));
        self.compare(token, &tag, signature)
    }
}

fn mac<'a>(key: &hmac::Key, pieces: impl Iterator<Item = &'a [u8]>) -> hmac::Tag {
    let mut context = hmac::Context::with_key(key);
    for piece in pieces {
        context.update(piece);
    }
    context.sign()
}

impl std::fmt::Debug for Protection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Protection({})", self.keys.encryption.name())
    }
}
