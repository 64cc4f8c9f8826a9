//! Clients of minor version 0 (RFC 7530, 16.29, 16.33 and 16.34).

use crate::v4::item::{Opaque, message};
use crate::v4::session::MAX_OWNER_BYTES;

/// Longest network identifier or address that is accepted.
pub const MAX_ADDRESS_BYTES: usize = 256;

message! {
    /// An address of a transport (`netaddr4`, `clientaddr4`): for TCP over IPv4 `tcp` and `a.b.c.d.high.low`.
    NetworkAddress<'a> {
        /// `tcp`, `tcp6` or another network identifier (RFC 5665, 5.2.3.3).
        network: Opaque<'a, MAX_ADDRESS_BYTES>,
        /// Universal address (RFC 5665, 5.2.3.3).
        address: Opaque<'a, MAX_ADDRESS_BYTES>,
    }
}

message! {
    /// Arguments of `SETCLIENTID`. With `NFS4ERR_CLID_INUSE` its result is the [`NetworkAddress`] of the other client.
    SetClientId<'a> {
        /// Identifies the boot of the client.
        verifier: [u8; 8],
        /// Identifies the client.
        owner: Opaque<'a, MAX_OWNER_BYTES>,
        /// RPC program of callbacks.
        callback_program: u32,
        /// Where the client listens for callbacks.
        callback_address: NetworkAddress<'a>,
        /// Identifies the client in callbacks.
        callback_ident: u32,
    }
}

message! {
    /// Result of `SETCLIENTID`, and arguments of `SETCLIENTID_CONFIRM`.
    ClientIdConfirm {
        /// The client.
        client_id: u64,
        /// Confirms that the client has received it.
        verifier: [u8; 8],
    }
}

message! {
    /// Arguments of `RENEW`.
    Renew {
        /// The client.
        client_id: u64,
    }
}
