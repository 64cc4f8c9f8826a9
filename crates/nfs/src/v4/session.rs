//! Operations of sessions (RFC 8881, 18.35 to 18.37, 18.46, 18.50 and 18.51).

use crate::rpc::get_auth_sys;
use crate::v4::data::StateId;
use crate::v4::item::{Item, Opaque, message};
use crate::v4::list::List;
use crate::xdr::{Reader, Writer, XdrError};

/// Limit of owners and scopes (RFC 5662: `NFS4_OPAQUE_LIMIT`).
pub const MAX_OWNER_BYTES: usize = 1024;
/// Longest name of an implementation that is accepted.
pub const MAX_IMPLEMENTATION_BYTES: usize = 1024;
/// Maximum number of states in a `TEST_STATEID` that are accepted.
pub const MAX_TESTED_STATES: usize = 1024;

/// `EXCHGID4_FLAG_SUPP_MOVED_REFER`.
pub const SUPPORTS_REFERRALS: u32 = 1;
/// `EXCHGID4_FLAG_BIND_PRINC_STATEID`.
pub const BIND_PRINCIPAL: u32 = 0x100;
/// `EXCHGID4_FLAG_USE_NON_PNFS`.
pub const USE_NON_PNFS: u32 = 0x1_0000;
/// `EXCHGID4_FLAG_USE_PNFS_MDS`.
pub const USE_PNFS_MDS: u32 = 0x2_0000;
/// `EXCHGID4_FLAG_USE_PNFS_DS`.
pub const USE_PNFS_DS: u32 = 0x4_0000;
/// `EXCHGID4_FLAG_UPD_CONFIRMED_REC_A`, in a call.
pub const UPDATE_CONFIRMED: u32 = 0x4000_0000;
/// `EXCHGID4_FLAG_CONFIRMED_R`, in a reply.
pub const CONFIRMED: u32 = 0x8000_0000;

/// `CREATE_SESSION4_FLAG_PERSIST`.
pub const PERSIST: u32 = 1;
/// `CREATE_SESSION4_FLAG_CONN_BACK_CHAN`.
pub const CONNECTION_BACK_CHANNEL: u32 = 2;
/// `CREATE_SESSION4_FLAG_CONN_RDMA`.
pub const CONNECTION_RDMA: u32 = 4;

/// `CDFC4_FORE` and `CDFS4_FORE`.
pub const BIND_FORE: u32 = 1;
/// `CDFC4_BACK` and `CDFS4_BACK`.
pub const BIND_BACK: u32 = 2;
/// `CDFS4_BOTH`.
pub const BOUND_BOTH: u32 = 3;
/// `CDFC4_FORE_OR_BOTH`.
pub const BIND_FORE_OR_BOTH: u32 = 3;
/// `CDFC4_BACK_OR_BOTH`.
pub const BIND_BACK_OR_BOTH: u32 = 7;

/// Flags of [`Sequenced::status_flags`] (`SEQ4_STATUS_*`).
pub mod sequence_status {
    /// `SEQ4_STATUS_CB_PATH_DOWN`.
    pub const CALLBACK_PATH_DOWN: u32 = 0x1;
    /// `SEQ4_STATUS_EXPIRED_ALL_STATE_REVOKED`.
    pub const ALL_STATE_REVOKED: u32 = 0x8;
    /// `SEQ4_STATUS_EXPIRED_SOME_STATE_REVOKED`.
    pub const SOME_STATE_REVOKED: u32 = 0x10;
    /// `SEQ4_STATUS_ADMIN_STATE_REVOKED`.
    pub const ADMIN_STATE_REVOKED: u32 = 0x20;
    /// `SEQ4_STATUS_RECALLABLE_STATE_REVOKED`.
    pub const RECALLABLE_STATE_REVOKED: u32 = 0x40;
    /// `SEQ4_STATUS_LEASE_MOVED`.
    pub const LEASE_MOVED: u32 = 0x80;
    /// `SEQ4_STATUS_RESTART_RECLAIM_NEEDED`.
    pub const RESTART_RECLAIM_NEEDED: u32 = 0x100;
    /// `SEQ4_STATUS_CB_PATH_DOWN_SESSION`.
    pub const SESSION_CALLBACK_PATH_DOWN: u32 = 0x200;
    /// `SEQ4_STATUS_BACKCHANNEL_FAULT`.
    pub const BACKCHANNEL_FAULT: u32 = 0x400;
}

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

/// Longest handle of a context of `RPCSEC_GSS` that is accepted.
const MAX_GSS_HANDLE_BYTES: usize = 1024;

/// Credentials that the client accepts in callbacks (`callback_sec_parms4<>`): `AUTH_NONE` and `AUTH_SYS`. Those of
/// `RPCSEC_GSS` are skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallbackSecurity {
    /// The client accepts `AUTH_NONE`.
    pub none: bool,
    /// User and group with which the client accepts `AUTH_SYS`, of a machine without name.
    pub sys: Option<(u32, u32)>,
}

impl Item<'_> for CallbackSecurity {
    fn get(reader: &mut Reader<'_>) -> Result<Self, XdrError> {
        let count = reader.u32()?;
        if count > MAX_CALLBACK_FLAVORS {
            let max = MAX_CALLBACK_FLAVORS as usize;
            return Err(XdrError::TooLong { field: "callback credentials", len: count, max });
        }
        let mut accepted = Self::default();
        for _ in 0..count {
            match reader.u32()? {
                0 => accepted.none = true,
                1 => accepted.sys = Some(get_auth_sys(reader)?),
                // Service, the handle of the server and that of the client (RFC 8881, 18.36.1: gss_cb_handles4).
                6 => {
                    reader.u32()?;
                    reader.opaque("handle from the server", MAX_GSS_HANDLE_BYTES)?;
                    reader.opaque("handle from the client", MAX_GSS_HANDLE_BYTES)?;
                }
                value => return Err(XdrError::BadValue { field: "callback flavor", value }),
            }
        }
        Ok(accepted)
    }

    fn put(&self, writer: &mut Writer) {
        writer.u32(u32::from(self.none) + u32::from(self.sys.is_some()));
        if self.none {
            writer.u32(0);
        }
        if let Some((user, group)) = self.sys {
            // Flavor, stamp, empty machine name, user, group, no further groups.
            writer.words(&[1, 0, 0, user, group, 0]);
        }
    }
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

impl CreateSession {
    /// A session without callbacks.
    pub fn without_callbacks(
        client_id: u64,
        sequence: u32,
        fore_channel: ChannelLimits,
        back_channel: ChannelLimits,
    ) -> Self {
        let callback_security = CallbackSecurity::default();
        Self {
            client_id,
            sequence,
            flags: 0,
            fore_channel,
            back_channel,
            callback_program: 1,
            callback_security,
        }
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

message! {
    /// Arguments of `BIND_CONN_TO_SESSION` (RFC 8881, 18.34).
    BindConnection {
        /// The session.
        session: SessionId,
        /// `CDFC4_*`: which channels the connection shall serve.
        direction: u32,
        /// The connection uses RDMA.
        rdma: bool,
    }
}

message! {
    /// Result of `BIND_CONN_TO_SESSION`.
    BoundConnection {
        /// The session.
        session: SessionId,
        /// `CDFS4_*`: which channels the connection serves.
        direction: u32,
        /// The connection uses RDMA.
        rdma: bool,
    }
}

message! {
    /// Arguments of `BACKCHANNEL_CTL` (RFC 8881, 18.33).
    BackchannelControl {
        /// RPC program of callbacks.
        callback_program: u32,
        /// Credentials of callbacks.
        callback_security: CallbackSecurity,
    }
}

message! {
    /// Arguments of `TEST_STATEID` (RFC 8881, 18.48).
    TestStateId<'a> {
        /// The states.
        states: List<'a, StateId, MAX_TESTED_STATES>,
    }
}

message! {
    /// Result of `TEST_STATEID`.
    TestedStateId<'a> {
        /// Status of each state (`nfsstat4`).
        statuses: List<'a, u32, MAX_TESTED_STATES>,
    }
}

message! {
    /// Arguments of `FREE_STATEID` (RFC 8881, 18.38).
    FreeStateId {
        /// The state.
        state: StateId,
    }
}
