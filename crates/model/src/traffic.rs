//! Bytes of a step: those of the application, and those on the wire.

use serde::{Deserialize, Serialize};

/// Application bytes of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct IoBytes {
    /// Bytes delivered to the application.
    pub read: u64,
    /// Bytes accepted from the application.
    pub written: u64,
}

impl IoBytes {
    /// Both directions.
    pub fn total(self) -> u64 {
        self.read + self.written
    }
}

/// What crossed the wire, counted by the adapter itself or by the operating system for a mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WireCount {
    /// Requests sent.
    pub requests: u64,
    /// Bytes sent, protocol headers included, TCP/IP headers not.
    pub sent: u64,
    /// Bytes received, likewise.
    pub received: u64,
    /// File data among the bytes sent.
    pub payload_sent: u64,
    /// File data among the bytes received.
    pub payload_received: u64,
    /// Operations of the protocol in the requests, where a request may carry several (COMPOUND of NFSv4); 0 elsewhere. Not
    /// stored here: a load records them in its detail ([`crate::LoadDetail::wire_operations`]).
    #[serde(skip)]
    pub operations: u64,
}

impl WireCount {
    /// The counts since the earlier reading `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            requests: self.requests - earlier.requests,
            sent: self.sent - earlier.sent,
            received: self.received - earlier.received,
            payload_sent: self.payload_sent - earlier.payload_sent,
            payload_received: self.payload_received - earlier.payload_received,
            operations: self.operations - earlier.operations,
        }
    }
}

impl WireCount {
    /// The counts since `earlier`; none if a count decreased, because the counter was reset.
    pub fn checked_since(self, earlier: Self) -> Option<Self> {
        Some(Self {
            requests: self.requests.checked_sub(earlier.requests)?,
            sent: self.sent.checked_sub(earlier.sent)?,
            received: self.received.checked_sub(earlier.received)?,
            payload_sent: self.payload_sent.checked_sub(earlier.payload_sent)?,
            payload_received: self.payload_received.checked_sub(earlier.payload_received)?,
            operations: self.operations.checked_sub(earlier.operations)?,
        })
    }

    /// File data in both directions.
    pub fn payload(self) -> u64 {
        self.payload_sent + self.payload_received
    }

    /// Bytes of `application` that a cache between application and wire must have served or kept: what
    /// did not cross the wire in its direction.
    pub fn uncrossed(self, application: IoBytes) -> u64 {
        application.read.saturating_sub(self.payload_received)
            + application.written.saturating_sub(self.payload_sent)
    }
}

impl std::ops::AddAssign for WireCount {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.sent += other.sent;
        self.received += other.received;
        self.payload_sent += other.payload_sent;
        self.payload_received += other.payload_received;
        self.operations += other.operations;
    }
}
