//! Calls and replies of ONC RPC (RFC 5531 9): who sends them, for whom, and how they are protected.

use std::hash::{DefaultHasher, Hash, Hasher};

use sharebench_nfs::protocol::NFS_PROGRAM;
use sharebench_nfs::rpc::{AUTH_SYS, CallError, CallHeader, MAX_AUTH_BYTES, Rejection, get_auth_sys};
use sharebench_nfs::rpcsec::{GSS_FLAVOR, GssCredential, GssProcedure, Service};
use sharebench_nfs::xdr::{Reader, XdrError};

use crate::input::message::Side;

/// Programs that clients of NFS call too (<https://www.iana.org/assignments/rpc-program-numbers>): the port mapper, MOUNT, quotas,
/// locks, their monitor, access lists.
const OTHER_PROGRAMS: [u32; 6] = [100_000, 100_005, 100_011, 100_021, 100_024, 100_227];
const RPC_VERSION: u32 = 2;

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
    /// Leaves `body` at the arguments or results; false if they cannot be read.
    pub(super) fn open(self, body: &mut Reader<'_>) -> bool {
        match self {
            Self::None => true,
            Self::Integrity => body.u64().is_ok(),
            Self::Privacy => false,
        }
    }
}

/// A call, up to its arguments.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    pub(super) header: CallHeader,
    /// The uid, or a hash of the context.
    pub(super) identity: u64,
    pub(super) protection: Protection,
}

impl Call {
    /// Decodes the header of a call of NFS and leaves `reader` at its arguments.
    pub(super) fn get(reader: &mut Reader<'_>) -> Result<Self, CallError> {
        let (header, credential) = CallHeader::get_with_credential(reader)?;
        if header.program != NFS_PROGRAM {
            return Err(XdrError::BadValue { field: "program", value: header.program }.into());
        }
        let (identity, protection) = user(header.flavor, credential).unwrap_or((u64::MAX, Protection::None));
        Ok(Self { header, identity, protection })
    }
}

/// The number of a call of another program, whose reply looks like one of NFS. Its credential may have been cut.
pub(super) fn call_of_other_program(mut head: Reader<'_>) -> Result<Option<u32>, XdrError> {
    let xid = head.u32()?;
    head.take(8)?;
    Ok(OTHER_PROGRAMS.contains(&head.u32()?).then_some(xid))
}

/// Identity and protection of a credential.
fn user(flavor: u32, credential: &[u8]) -> Option<(u64, Protection)> {
    match flavor {
        AUTH_SYS => {
            let (user, _) = get_auth_sys(&mut Reader::new(credential)).ok()?;
            Some((u64::from(user), Protection::None))
        }
        GSS_FLAVOR => {
            let GssCredential { procedure, service, handle, .. } = GssCredential::get(credential).ok()?;
            let mut hasher = DefaultHasher::new();
            handle.hash(&mut hasher);
            let protection = match Service::of_number(service) {
                // Calls that establish a context carry tokens.
                _ if procedure != GssProcedure::Data => Protection::Privacy,
                Some(Service::Integrity) => Protection::Integrity,
                Some(Service::Privacy) => Protection::Privacy,
                Some(Service::None) | None => Protection::None,
            };
            Some((hasher.finish(), protection))
        }
        _ => None,
    }
}

/// Who sends a record that begins like this.
pub(in crate::input::protocols) fn sender(head: &[u8]) -> Option<Side> {
    sender_of(&mut Reader::of_capture(head)).ok().flatten()
}

fn sender_of(head: &mut Reader<'_>) -> Result<Option<Side>, XdrError> {
    let _xid = head.u32()?;
    Ok(match head.u32()? {
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
    })
}

/// The number of a rejection: `reject_stat` of a call that was denied, `accept_stat` of one that was accepted.
pub(super) const fn number_of(rejection: Rejection) -> u32 {
    match rejection {
        Rejection::RpcMismatch { .. } => 0,
        Rejection::Auth(_) | Rejection::ProgramUnavailable => 1,
        Rejection::ProgramMismatch { .. } => 2,
        Rejection::ProcedureUnavailable => 3,
        Rejection::GarbageArguments => 4,
        Rejection::System => 5,
    }
}
