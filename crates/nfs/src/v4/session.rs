//! Operations of sessions (RFC 8881, 18.35 to 18.37, 18.46, 18.50 and 18.51).

use crate::v4::item::{Item, Opaque, message};
use crate::xdr::{Reader, Writer, XdrError};

/// Limit of owners and scopes (RFC 5662: `NFS4_OPAQUE_LIMIT`).
pub const MAX_OWNER_BYTES: usize = 1024;
/// Longest name of an implementation that is accepted.
pub const MAX_IMPLEMENTATION_BYTES: usize = 1024;
/// Maximum number of callback credentials that are accepted.
const MAX_CALLBACK_FLAVORS: u32 = 16;

/// Identity of a session (`sessionid4`).
pub type SessionId = [u8; 16];

message! {
    /// Name and version of an implementation (`nfs_impl_id4`).
    Implementation<'a> {
        /// DNS domain of its author.
        domain: Opaque<'a, MAX_IMPLEMENTATION_BYTES>,
        /// Its name.
        name: Opaque<'a, MAX_IMPLEMENTATION_BYTES>,
        /// Seconds of its date since 1970, in two's complement.
        seconds: u64,
        /// Nanoseconds of its date.
        nanos: u32,
    }
}

/// A list with at most one element.
impl<'a, T: Item<'a>> Item<'a> for Option<T> {
    fn get(reader: &mut Reader<'a>) -> Result<Self, XdrError> {
        reader.boolean("optional element")?.then(|| T::get(reader)).transpose()
    }

    fn put(&self, writer: &mut Writer) {
        writer.boolean(self.is_some());
        if let Some(element) = self {
            element.put(writer);
        }
    }
}

/// State protection `SP4_NONE` (`state_protect4_a`, `state_protect4_r`). The other kinds need `RPCSEC_GSS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NoStateProtection;

impl Item<'_> for NoStateProtection {
    fn get(reader: &mut Reader<'_>) -> Result<Self, XdrError> {
        match reader.u32()? {
            0 => Ok(Self),
            value => Err(XdrError::BadValue { field: "state protection", value }),
        }
    }

    fn put(&self, writer: &mut Writer) {
        writer.u32(0);
    }
}

message! {
    /// Arguments of `EXCHANGE_ID`.
    ExchangeId<'a> {
        /// Identifies the boot of the client.
        verifier: [u8; 8],
        /// Identifies the client.
        owner: Opaque<'a, MAX_OWNER_BYTES>,
        /// `EXCHGID4_FLAG_*`.
        flags: u32,
        /// How the state is protected.
        protection: NoStateProtection,
        /// The client's implementation.
        implementation: Option<Implementation<'a>>,
    }
}

message! {
    /// Result of `EXCHANGE_ID`.
    ExchangedId<'a> {
        /// Short identity of the client.
        client_id: u64,
        /// Sequence number of the first `CREATE_SESSION`.
        sequence: u32,
        /// `EXCHGID4_FLAG_*`.
        flags: u32,
        /// How the state is protected.
        protection: NoStateProtection,
        /// Minor identity of the server.
        minor_id: u64,
        /// Major identity of the server.
        major_id: Opaque<'a, MAX_OWNER_BYTES>,
        /// Servers with the same scope share identities.
        scope: Opaque<'a, MAX_OWNER_BYTES>,
        /// The server's implementation.
        implementation: Option<Implementation<'a>>,
    }
}

message! {
    /// Limits of a channel (`channel_attrs4`), requested or granted.
    ChannelLimits {
        /// Padding before WRITE data.
        header_padding: u32,
        /// Largest call in bytes, with the RPC header.
        max_request: u32,
        /// Largest reply in bytes, with the RPC header.
        max_response: u32,
        /// Largest reply that the server keeps for a repeated call.
        max_cached_response: u32,
        /// Maximum number of operations in a COMPOUND.
        max_operations: u32,
        /// Number of slots: maximum number of calls in flight.
        max_requests: u32,
        /// RDMA reads in flight; none without RDMA.
        rdma_reads: Option<u32>,
    }
}

/// Credentials for callbacks (`callback_sec_parms4<>`): [`Self::put`] offers `AUTH_NONE`, [`Self::get`] accepts a list
/// of `AUTH_NONE` and `AUTH_SYS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallbackSecurity;

impl Item<'_> for CallbackSecurity {
    fn get(reader: &mut Reader<'_>) -> Result<Self, XdrError> {
        let count = reader.u32()?;
        if count > MAX_CALLBACK_FLAVORS {
            let max = MAX_CALLBACK_FLAVORS as usize;
            return Err(XdrError::TooLong { field: "callback credentials", len: count, max });
        }
        for _ in 0..count {
            match reader.u32()? {
                0 => {}
                1 => skip_auth_sys(reader)?,
                value => return Err(XdrError::BadValue { field: "callback flavor", value }),
            }
        }
        Ok(Self)
    }

    fn put(&self, writer: &mut Writer) {
        writer.words(&[1, 0]);
    }
}

/// Skips `authsys_parms` (RFC 5531, appendix A).
fn skip_auth_sys(reader: &mut Reader<'_>) -> Result<(), XdrError> {
    reader.u32()?;
    reader.opaque("machine name", 255)?;
    reader.u64()?;
    let groups = reader.u32()?;
    let max = crate::rpc::MAX_GROUPS;
    if groups as usize > max {
        return Err(XdrError::TooLong { field: "groups", len: groups, max });
    }
    reader.take(4 * groups as usize).map(drop)
}

message! {
    /// Arguments of `CREATE_SESSION`.
    CreateSession {
        /// The client.
        client_id: u64,
        /// Sequence number of this call.
        sequence: u32,
        /// `CREATE_SESSION4_FLAG_*`.
        flags: u32,
        /// Limits of calls to the server.
        fore_channel: ChannelLimits,
        /// Limits of callbacks.
        back_channel: ChannelLimits,
        /// RPC program of callbacks.
        callback_program: u32,
        /// Credentials of callbacks.
        callback_security: CallbackSecurity,
    }
}

message! {
    /// Result of `CREATE_SESSION`.
    CreatedSession {
        /// The session.
        session: SessionId,
        /// Sequence number of the call.
        sequence: u32,
        /// `CREATE_SESSION4_FLAG_*`.
        flags: u32,
        /// Granted limits of calls.
        fore_channel: ChannelLimits,
        /// Granted limits of callbacks.
        back_channel: ChannelLimits,
    }
}

message! {
    /// Arguments of `SEQUENCE`, the first operation of each call of a session.
    Sequence {
        /// The session.
        session: SessionId,
        /// Number of the call in its slot.
        sequence: u32,
        /// The slot.
        slot: u32,
        /// Highest slot in use.
        highest_slot: u32,
        /// The server keeps the reply for a repeated call.
        cache_reply: bool,
    }
}

message! {
    /// Result of `SEQUENCE`.
    Sequenced {
        /// The session.
        session: SessionId,
        /// Number of the call in its slot.
        sequence: u32,
        /// The slot.
        slot: u32,
        /// Highest slot that the server accepts.
        highest_slot: u32,
        /// Highest slot that the server prefers.
        target_highest_slot: u32,
        /// `SEQ4_STATUS_*`.
        status_flags: u32,
    }
}

message! {
    /// Arguments of `DESTROY_SESSION`.
    DestroySession {
        /// The session.
        session: SessionId,
    }
}

message! {
    /// Arguments of `DESTROY_CLIENTID`.
    DestroyClientId {
        /// The client.
        client_id: u64,
    }
}

message! {
    /// Arguments of `RECLAIM_COMPLETE`.
    ReclaimComplete {
        /// Only for the file system of the current handle.
        one_file_system: bool,
    }
}
