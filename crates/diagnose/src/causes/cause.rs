//! The causes of slowness.

use serde::{Serialize, Serializer};

/// A cause of slowness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Each request waits for a long round trip.
    LongRoundTrip,
    /// The link, or all of the path, moves few bytes per second.
    LowLinkRate,
    /// The server's receive window is smaller than what the path holds.
    SmallWindow,
    /// One connection is slower than several.
    OneConnection,
    /// Segments are lost.
    Loss,
    /// The server needs long for requests as such.
    ProtocolWork,
    /// Each read needs the storage, also of data that was just read.
    SlowStorage,
    /// The first read of data needs the storage.
    ColdCache,
    /// Writes to stable storage take long.
    StableWrites,
    /// Each write is synchronous, whether requested or not.
    SynchronousWrites,
    /// Signing costs throughput.
    Signing,
    /// Encryption costs throughput.
    Encryption,
    /// The dialect that the URL selects costs throughput.
    OldDialect,
    /// One request carries few bytes.
    SmallRequests,
    /// The server grants few credits.
    FewCredits,
    /// The client's CPU limits.
    ClientCpu,
    /// Other programs of this machine use the CPU.
    ClientBusy,
    /// Opening a session takes long.
    SlowLogin,
    /// Opening a file takes long.
    ExpensiveOpens,
    /// Listings lack attributes, so that clients request them for each entry.
    PerEntryListing,
    /// The directory is slow to list.
    SlowListing,
    /// The speed changes during the diagnosis.
    ForeignLoad,
    /// Messages are signed with HMAC-SHA256 where AES is possible.
    HmacSigning,
    /// The server permits no client to cache files.
    RefusedLeases,
    /// The server does not read ahead.
    NoReadAhead,
    /// Changes of names wait for stable storage.
    SyncExport,
    /// The server's CPU is busy.
    BusyServer,
    /// Replies wait for delayed acknowledgements.
    DelayedAcknowledgement,
    /// Segments overtake each other.
    Reordering,
    /// The path carries only small packets.
    SmallMtu,
    /// The round trip varies.
    Jitter,
    /// The other address family is faster.
    SlowAddressFamily,
    /// The name of the host is resolved slowly.
    SlowNameResolution,
    /// The account is checked slowly.
    SlowAuthentication,
    /// The server looks up the name of the client.
    ReverseLookup,
    /// Finding a name takes longer in a large directory.
    LinearDirectory,
    /// Root may not write.
    RootSquash,
    /// The user may not write.
    WrongUid,
    /// The clocks differ.
    ClockOffset,
    /// This machine is held back.
    ClientThrottled,
    /// The mount caches no attributes.
    NoAttributeCache,
    /// The mount caches no data.
    NoClientCache,
}

impl Cause {
    /// Its identifier in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::LongRoundTrip => "long-round-trip",
            Self::LowLinkRate => "low-link-rate",
            Self::SmallWindow => "small-window",
            Self::OneConnection => "one-connection",
            Self::Loss => "loss",
            Self::ProtocolWork => "protocol-work",
            Self::SlowStorage => "slow-storage",
            Self::ColdCache => "cold-cache",
            Self::StableWrites => "stable-writes",
            Self::SynchronousWrites => "synchronous-writes",
            Self::Signing => "signing",
            Self::Encryption => "encryption",
            Self::OldDialect => "old-dialect",
            Self::SmallRequests => "small-requests",
            Self::FewCredits => "few-credits",
            Self::ClientCpu => "client-cpu",
            Self::ClientBusy => "client-busy",
            Self::SlowLogin => "slow-login",
            Self::ExpensiveOpens => "expensive-opens",
            Self::PerEntryListing => "per-entry-listing",
            Self::SlowListing => "slow-listing",
            Self::ForeignLoad => "foreign-load",
            Self::HmacSigning => "hmac-signing",
            Self::RefusedLeases => "refused-leases",
            Self::NoReadAhead => "no-read-ahead",
            Self::SyncExport => "sync-export",
            Self::BusyServer => "busy-server",
            Self::DelayedAcknowledgement => "delayed-acknowledgement",
            Self::Reordering => "reordering",
            Self::SmallMtu => "small-mtu",
            Self::Jitter => "jitter",
            Self::SlowAddressFamily => "slow-address-family",
            Self::SlowNameResolution => "slow-name-resolution",
            Self::SlowAuthentication => "slow-authentication",
            Self::ReverseLookup => "reverse-lookup",
            Self::LinearDirectory => "linear-directory",
            Self::RootSquash => "root-squash",
            Self::WrongUid => "wrong-uid",
            Self::ClockOffset => "clock-offset",
            Self::ClientThrottled => "client-throttled",
            Self::NoAttributeCache => "no-attribute-cache",
            Self::NoClientCache => "no-client-cache",
        }
    }
}

impl Serialize for Cause {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}
