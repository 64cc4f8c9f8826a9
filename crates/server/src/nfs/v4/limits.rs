//! Bounds per call, session and file. The memory of all clients is bounded by the budget of the servers.

use sharebench_nfs::v4::session::ChannelLimits;

/// Sessions of one client.
pub(super) const MAX_SESSIONS_PER_CLIENT: usize = 16;
/// Slots of one session: calls in flight.
pub(super) const MAX_SLOTS: u32 = 256;
/// Largest reply that a slot keeps for a repeated call, in bytes.
pub(super) const MAX_CACHED_REPLY: u32 = 4 << 10;
/// Operations in one COMPOUND.
pub(super) const MAX_OPERATIONS: u32 = 64;
/// Owners without opens and locks that a client of minor version 0 keeps, for a repeated CLOSE (RFC 7530, 9.1.10).
pub(super) const MAX_IDLE_OWNERS: usize = 64;
/// Byte-range locks of one file.
pub(super) const MAX_LOCKS_PER_FILE: usize = 4096;
/// Owners that wait for a lock of one file. Others try again by themselves.
pub(super) const MAX_WAITERS_PER_FILE: usize = 256;
/// Callbacks that wait for the reply to the one before.
pub(super) const MAX_QUEUED_CALLBACKS: usize = 4096;
/// Connections of one session that are remembered.
pub(super) const MAX_CONNECTIONS_PER_SESSION: usize = 64;
/// Bytes of a call or reply besides its data.
const HEADER_BYTES: u32 = 4 << 10;
/// Smallest request and reply with which a session is of use, in bytes.
const MIN_MESSAGE: u32 = 256;
/// Operations of a callback: `CB_SEQUENCE` and one more.
const CALLBACK_OPERATIONS: u32 = 2;

/// The limits of the calls of a session; none if those that the client requests are too small to be of use.
pub(super) fn granted_fore(wanted: &ChannelLimits, max_transfer: u32) -> Option<ChannelLimits> {
    let largest = max_transfer + HEADER_BYTES;
    if wanted.max_request < MIN_MESSAGE || wanted.max_response < MIN_MESSAGE || wanted.max_operations == 0 {
        return None;
    }
    Some(ChannelLimits {
        header_padding: 0,
        max_request: wanted.max_request.min(largest),
        max_response: wanted.max_response.min(largest),
        max_cached_response: wanted.max_cached_response.min(MAX_CACHED_REPLY),
        max_operations: wanted.max_operations.min(MAX_OPERATIONS),
        max_requests: wanted.max_requests.clamp(1, MAX_SLOTS),
        rdma_reads: None,
    })
}

/// The limits of callbacks: one at a time. None if no callback fits those that the client requests.
pub(super) fn granted_back(wanted: &ChannelLimits) -> Option<ChannelLimits> {
    let too_small = wanted.max_request < MIN_MESSAGE
        || wanted.max_response < MIN_MESSAGE
        || wanted.max_operations < CALLBACK_OPERATIONS;
    if wanted.max_requests > 0 && too_small {
        return None;
    }
    Some(ChannelLimits {
        header_padding: 0,
        max_request: wanted.max_request.min(HEADER_BYTES),
        max_response: wanted.max_response.min(HEADER_BYTES),
        max_cached_response: wanted.max_cached_response.min(HEADER_BYTES),
        max_operations: wanted.max_operations.min(CALLBACK_OPERATIONS),
        max_requests: wanted.max_requests.min(1),
        rdma_reads: None,
    })
}
