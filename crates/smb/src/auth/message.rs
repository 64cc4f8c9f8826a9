//! NTLM's three messages (MS-NLMP 2.2.1).

use super::AuthError;
use crate::wire::{Field, Reader, WireError, utf16};

/// First bytes of every message.
pub(super) const SIGNATURE: [u8; 8] = *b"NTLMSSP\0";
/// Offset of the MIC in an AUTHENTICATE message.
const MIC: std::ops::Range<usize> = 72..88;
const AUTHENTICATE_LEN: usize = 88;
/// Bytes of a CHALLENGE message before its parts.
const CHALLENGE_LEN: usize = 56;
/// Windows 10, NTLM revision 15; servers use it for their logs only.
const VERSION: [u8; 8] = [10, 0, 0, 0, 0, 0, 0, 15];

/// Bits of `NegotiateFlags` (MS-NLMP 2.2.2.5).
pub(super) mod flags {
    pub(in super::super) const UNICODE: u32 = 0x1;
    pub(in super::super) const OEM: u32 = 0x2;
    pub(in super::super) const REQUEST_TARGET: u32 = 0x4;
    pub(in super::super) const SIGN: u32 = 0x10;
    pub(in super::super) const SEAL: u32 = 0x20;
    pub(in super::super) const NTLM: u32 = 0x200;
    pub(in super::super) const ANONYMOUS: u32 = 0x800;
    pub(in super::super) const ALWAYS_SIGN: u32 = 0x8000;
    pub(in super::super) const TARGET_IS_SERVER: u32 = 0x2_0000;
    pub(in super::super) const EXTENDED_SECURITY: u32 = 0x8_0000;
    pub(in super::super) const TARGET_INFO: u32 = 0x80_0000;
    pub(in super::super) const VERSION: u32 = 0x200_0000;
    pub(in super::super) const BITS_128: u32 = 0x2000_0000;
    pub(in super::super) const KEY_EXCHANGE: u32 = 0x4000_0000;
    pub(in super::super) const BITS_56: u32 = 0x8000_0000;
}

/// Flags that this client requests.
const WANTED: u32 = flags::UNICODE
    | flags::REQUEST_TARGET
    | flags::SIGN
    | flags::NTLM
    | flags::ALWAYS_SIGN
    | flags::EXTENDED_SECURITY
    | flags::TARGET_INFO
    | flags::VERSION
    | flags::BITS_128
    | flags::KEY_EXCHANGE
    | flags::BITS_56;

/// Encodes the NEGOTIATE message (MS-NLMP 2.2.1.1).
pub(super) fn negotiate() -> Vec<u8> {
    let mut out = Vec::with_capacity(40);
    SIGNATURE.put(&mut out);
    1u32.put(&mut out);
    WANTED.put(&mut out);
    // Neither domain nor workstation.
    [0; 16].put(&mut out);
    VERSION.put(&mut out);
    out
}

/// The content of a CHALLENGE message (MS-NLMP 2.2.1.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Challenge {
    /// Negotiated flags: those of the client that the server grants.
    pub(super) flags: u32,
    /// The server's 8-byte challenge.
    pub(super) nonce: [u8; 8],
    /// Pairs of id, length and value.
    pub(super) target_info: Vec<u8>,
}

impl Challenge {
    /// Decodes the message and rejects a server without Unicode or without extended session security.
    pub(super) fn parse(message: &[u8]) -> Result<Self, AuthError> {
        let challenge = Self::fields(message)
            .map_err(|_| AuthError::Malformed { what: "NTLM challenge", len: message.len() })?;
        check_flag(challenge.flags, flags::UNICODE, "Unicode")?;
        check_flag(challenge.flags, flags::EXTENDED_SECURITY, EXTENDED_SECURITY)?;
        Ok(challenge)
    }

    fn fields(message: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(message, "NTLM challenge");
        let signature: [u8; 8] = reader.get()?;
        let kind: u32 = reader.get()?;
        if signature != SIGNATURE || kind != 2 {
            return Err(reader.bad("MessageType", u64::from(kind)));
        }
        let _target_name: u64 = reader.get()?;
        let flags: u32 = reader.get()?;
        let nonce: [u8; 8] = reader.get()?;
        let _reserved: u64 = reader.get()?;
        let target_info = if flags & flags::TARGET_INFO == 0 {
            Vec::new()
        } else {
            let len: u16 = reader.get()?;
            let _max: u16 = reader.get()?;
            let offset: u32 = reader.get()?;
            reader.slice(offset as usize, usize::from(len))?.to_vec()
        };
        Ok(Self { flags: flags & WANTED, nonce, target_info })
    }
}

/// The content of an AUTHENTICATE message (MS-NLMP 2.2.1.3).
#[derive(Debug, Clone, Default)]
pub(super) struct Authenticate<'a> {
    pub(super) flags: u32,
    pub(super) lm: &'a [u8],
    pub(super) nt: &'a [u8],
    /// UTF-16LE, like the next two.
    pub(super) domain: &'a [u8],
    pub(super) user: &'a [u8],
    pub(super) workstation: &'a [u8],
    pub(super) session_key: &'a [u8],
}

impl Authenticate<'_> {
    /// Encodes the message with a MIC of zeros.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(AUTHENTICATE_LEN + self.nt.len() + 256);
        SIGNATURE.put(&mut out);
        3u32.put(&mut out);
        let mut offset = AUTHENTICATE_LEN;
        let mut payload = Vec::new();
        let parts = [self.lm, self.nt, self.domain, self.user, self.workstation, self.session_key];
        for part in parts {
            put_place(part.len(), offset, &mut out);
            offset += part.len();
            payload.extend_from_slice(part);
        }
        self.flags.put(&mut out);
        VERSION.put(&mut out);
        [0; 16].put(&mut out);
        out.append(&mut payload);
        out
    }
}

/// Encodes the CHALLENGE message (MS-NLMP 2.2.1.2) that answers a NEGOTIATE message.
///
/// A client without extended session security is rejected. One without Unicode gets texts of one byte per character
/// (MS-NLMP 3.2.5.1.1), except in the target information, which is always UTF-16.
pub(super) fn challenge(
    negotiate: &[u8],
    nonce: [u8; 8],
    name: &str,
    target_info: &[u8],
) -> Result<Vec<u8>, AuthError> {
    let malformed = || AuthError::Malformed { what: "NTLM negotiate", len: negotiate.len() };
    let mut reader = Reader::new(negotiate, "NTLM negotiate");
    let signature: [u8; 8] = reader.get().map_err(|_| malformed())?;
    let kind: u32 = reader.get().map_err(|_| malformed())?;
    let offered: u32 = reader.get().map_err(|_| malformed())?;
    if signature != SIGNATURE || kind != 1 {
        return Err(malformed());
    }
    check_flag(offered, flags::EXTENDED_SECURITY, EXTENDED_SECURITY)?;
    let (charset, name) = match offered & flags::UNICODE {
        0 => (flags::OEM, name.as_bytes().to_vec()),
        unicode => (unicode, utf16(name)),
    };
    // SMB encrypts with its own keys, but clients that require encryption also require the right to seal.
    let granted = offered & (WANTED | flags::SEAL);
    let flags = granted | charset | flags::TARGET_INFO | flags::NTLM | flags::TARGET_IS_SERVER;
    let mut out = Vec::with_capacity(CHALLENGE_LEN + name.len() + target_info.len());
    SIGNATURE.put(&mut out);
    2u32.put(&mut out);
    put_place(name.len(), CHALLENGE_LEN, &mut out);
    flags.put(&mut out);
    nonce.put(&mut out);
    0u64.put(&mut out);
    put_place(target_info.len(), CHALLENGE_LEN + name.len(), &mut out);
    VERSION.put(&mut out);
    out.extend_from_slice(&name);
    out.extend_from_slice(target_info);
    Ok(out)
}

/// The flags of a CHALLENGE message; none set in any other bytes.
pub(super) fn challenge_flags(message: &[u8]) -> u32 {
    Challenge::fields(message).map_or(0, |challenge| challenge.flags)
}

const EXTENDED_SECURITY: &str = "extended session security";

/// Rejects a peer without a feature.
fn check_flag(flags: u32, bit: u32, what: &'static str) -> Result<(), AuthError> {
    if flags & bit == 0 { Err(AuthError::Flags { what, flags }) } else { Ok(()) }
}

/// Appends length, capacity and offset of a part.
fn put_place(len: usize, offset: usize, out: &mut Vec<u8>) {
    (len as u16).put(out);
    (len as u16).put(out);
    (offset as u32).put(out);
}

/// The parts of an AUTHENTICATE message (MS-NLMP 2.2.1.3) that a server checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReceivedAuthenticate<'a> {
    pub(super) flags: u32,
    pub(super) nt: &'a [u8],
    /// UTF-16LE if Unicode was negotiated, like the next one.
    pub(super) domain: &'a [u8],
    pub(super) user: &'a [u8],
    pub(super) session_key: &'a [u8],
}

impl<'a> ReceivedAuthenticate<'a> {
    /// Decodes the message. Its parts may be in any order.
    pub(super) fn parse(message: &'a [u8]) -> Result<Self, AuthError> {
        Self::fields(message)
            .map_err(|_| AuthError::Malformed { what: "NTLM authenticate", len: message.len() })
    }

    fn fields(message: &'a [u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(message, "NTLM authenticate");
        let signature: [u8; 8] = reader.get()?;
        let kind: u32 = reader.get()?;
        if signature != SIGNATURE || kind != 3 {
            return Err(reader.bad("MessageType", u64::from(kind)));
        }
        let mut part = || -> Result<&'a [u8], WireError> {
            let len: u16 = reader.get()?;
            let _max: u16 = reader.get()?;
            let offset: u32 = reader.get()?;
            reader.slice(offset as usize, usize::from(len))
        };
        let _lm = part()?;
        let nt = part()?;
        let domain = part()?;
        let user = part()?;
        let _workstation = part()?;
        let session_key = part()?;
        Ok(Self { flags: reader.get()?, nt, domain, user, session_key })
    }
}

/// The MIC of an AUTHENTICATE message, whose field holds zeros afterwards; none if the message is too short.
pub(super) fn take_mic(message: &mut [u8]) -> Option<[u8; 16]> {
    let field = message.get_mut(MIC)?;
    let mic = field.first_chunk().copied();
    field.fill(0);
    mic
}

/// Puts the MIC into an AUTHENTICATE message.
pub(super) fn set_mic(message: &mut [u8], mic: &[u8; 16]) {
    if let Some(field) = message.get_mut(MIC) {
        field.copy_from_slice(mic);
    }
}
