//! Headers of ONC RPC (RFC 5531 9).

use std::hash::{DefaultHasher, Hash, Hasher};

use super::xdr::Xdr;
use crate::input::protocols::Side;

pub(super) const NFS_PROGRAM: u32 = 100_003;
/// Programs that clients of NFS call too (<https://www.iana.org/assignments/rpc-program-numbers>): the port mapper, MOUNT, quotas,
/// locks, their monitor, access lists.
const OTHER_PROGRAMS: [u32; 6] = [100_000, 100_005, 100_011, 100_021, 100_024, 100_227];
const RPC_VERSION: u32 = 2;
/// Largest credential and verifier.
const MAX_AUTH_BYTES: usize = 400;
/// Longest name of a machine.
const MAX_MACHINE_BYTES: usize = 255;
const AUTH_SYS: u32 = 1;
const RPCSEC_GSS: u32 = 6;
/// Services of `RPCSEC_GSS` (RFC 2203 5.3.1).
const INTEGRITY: u32 = 2;
const PRIVACY: u32 = 3;

/// How arguments and results are protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protection {
    /// They are not.
    None,
    /// Signed: a length and a sequence number precede them.
    Integrity,
    /// Encrypted.
    Privacy,
}

impl Protection {
    /// The arguments or results in a body; none if they cannot be read.
    pub(super) fn open(self, mut body: Xdr<'_>) -> Option<Xdr<'_>> {
        match self {
            Self::None => Some(body),
            Self::Integrity => {
                body.skip(8)?;
                Some(body)
            }
            Self::Privacy => None,
        }
    }
}

/// A call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) xid: u32,
    pub(super) version: u32,
    pub(super) procedure: u32,
    /// The uid, or a hash of the context.
    pub(super) identity: u64,
    pub(super) protection: Protection,
    pub(super) body: Xdr<'a>,
}

/// A reply.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reply<'a> {
    pub(super) xid: u32,
    /// None if the call was accepted and executed.
    pub(super) rejected: Option<u32>,
    pub(super) body: Xdr<'a>,
}

/// Who sends a record that begins like this.
pub(in crate::input::protocols) fn sender(head: &[u8]) -> Option<Side> {
    let mut head = Xdr(head);
    let _xid = head.u32()?;
    match head.u32()? {
        0 if head.u32()? == RPC_VERSION => {
            let program = head.u32()?;
            let is_known = OTHER_PROGRAMS.contains(&program)
                || (program == NFS_PROGRAM && (3..=4).contains(&head.u32()?));
            is_known.then_some(Side::Client)
        }
        // Accepted or denied; a verifier of a flavor that exists, with a length that fits.
        1 => {
            let denied = head.u32()?;
            let flavor = head.u32()?;
            let len = head.u32()?;
            let plausible = match denied {
                0 => matches!(flavor, 0 | 1 | 6) && len as usize <= MAX_AUTH_BYTES,
                1 => flavor <= 1,
                _ => false,
            };
            plausible.then_some(Side::Server)
        }
        _ => None,
    }
}

/// True for a record that is a call.
pub(super) fn is_call(head: &[u8]) -> bool {
    matches!(head.get(4..8), Some([0, 0, 0, 0]))
}

/// The number of a call of another program, whose reply looks like one of NFS.
pub(super) fn call_of_other_program(head: &[u8]) -> Option<u32> {
    let mut head = Xdr(head);
    let xid = head.u32()?;
    head.skip(8)?;
    OTHER_PROGRAMS.contains(&head.u32()?).then_some(xid)
}

/// A call of this program.
pub(super) fn call(head: &[u8]) -> Option<Call<'_>> {
    let mut head = Xdr(head);
    let xid = head.u32()?;
    if head.u32()? != 0 || head.u32()? != RPC_VERSION || head.u32()? != NFS_PROGRAM {
        return None;
    }
    let version = head.u32()?;
    let procedure = head.u32()?;
    let flavor = head.u32()?;
    let credential = head.opaque(MAX_AUTH_BYTES)?;
    let _verifier_flavor = head.u32()?;
    let _verifier = head.opaque(MAX_AUTH_BYTES)?;
    let (identity, protection) = user(flavor, Xdr(credential)).unwrap_or((u64::MAX, Protection::None));
    Some(Call { xid, version, procedure, identity, protection, body: head })
}

/// Identity and protection of a credential.
fn user(flavor: u32, mut credential: Xdr<'_>) -> Option<(u64, Protection)> {
    match flavor {
        AUTH_SYS => {
            let _stamp = credential.u32()?;
            credential.opaque(MAX_MACHINE_BYTES)?;
            Some((u64::from(credential.u32()?), Protection::None))
        }
        RPCSEC_GSS => {
            let _version = credential.u32()?;
            let procedure = credential.u32()?;
            let _sequence = credential.u32()?;
            let service = credential.u32()?;
            let handle = credential.opaque(MAX_AUTH_BYTES)?;
            let mut hasher = DefaultHasher::new();
            handle.hash(&mut hasher);
            let protection = match service {
                // Calls that establish a context carry tokens.
                _ if procedure != 0 => Protection::Privacy,
                INTEGRITY => Protection::Integrity,
                PRIVACY => Protection::Privacy,
                _ => Protection::None,
            };
            Some((hasher.finish(), protection))
        }
        _ => None,
    }
}

/// A reply.
pub(super) fn reply(head: &[u8]) -> Option<Reply<'_>> {
    let mut head = Xdr(head);
    let xid = head.u32()?;
    if head.u32()? != 1 {
        return None;
    }
    if head.u32()? != 0 {
        let why = head.u32()?;
        return Some(Reply { xid, rejected: Some(why), body: head });
    }
    let _flavor = head.u32()?;
    head.opaque(MAX_AUTH_BYTES)?;
    let state = head.u32()?;
    Some(Reply { xid, rejected: (state != 0).then_some(state), body: head })
}
