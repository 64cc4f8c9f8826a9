//! Everything that was measured of a share, without judgement.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use sharebench_model::{Facts, ServerLoad, TcpCounts};
use sharebench_stats::Estimate;

use crate::client_limits::ClientLimits;
use crate::login::Login;
use crate::mount::MountFacts;
use crate::operations::Series;

/// What two arms of an A/B comparison differ in. The first arm is the session as the URL requests it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Experiment {
    /// Four connections instead of one, with the same number of requests in flight.
    Connections,
    /// Eight requests in flight instead of one, on one connection.
    Depth,
    /// Signing off.
    Signing,
    /// Encryption off.
    Encryption,
    /// The highest dialect instead of the one that the URL selects.
    Dialect,
    /// Requests of 1 MiB instead of 64 KiB, one at a time.
    LargeRequests,
    /// Requests of a quarter of the size that the server permits, one at a time.
    QuarterRequests,
    /// Each segment is acknowledged at once (`TCP_QUICKACK`).
    Acknowledge,
    /// Small segments wait for the acknowledgement of the earlier ones (no `TCP_NODELAY`).
    Nagle,
    /// The other address family of the host: IPv4 instead of IPv6, or IPv6 instead of IPv4.
    AddressFamily,
    /// The share of `--against`.
    Against,
}

impl Experiment {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Connections => "4 connections",
            Self::Depth => "8 requests in flight",
            Self::Signing => "signing off",
            Self::Encryption => "encryption off",
            Self::Dialect => "highest dialect",
            Self::LargeRequests => "requests of 1 MiB instead of 64 KiB",
            Self::QuarterRequests => "requests of a quarter of the size",
            Self::Acknowledge => "TCP_QUICKACK",
            Self::Nagle => "no TCP_NODELAY",
            Self::AddressFamily => "the other address family",
            Self::Against => "the other share",
        }
    }
}

impl Serialize for Experiment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// The outcome of an A/B comparison of reads in paired slices: streams, or small reads one at a time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Comparison {
    /// Throughput of the changed arm divided by that of the first one.
    pub ratio: Estimate,
    /// Median throughput of the first arm, bytes/s.
    pub base_bytes_per_s: f64,
    /// Share of one CPU that the client used in the first arm, 0 to 1.
    pub client_share: f64,
}

/// One stream of large writes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bulk {
    /// Throughput, bytes/s.
    pub bytes_per_s: f64,
    /// Share of one CPU that the client used, 0 to 1.
    pub client_share: f64,
    /// The kernel's figures of the connection meanwhile, where it has them.
    pub tcp: Option<TcpCounts>,
}

/// The clock of the server compared with the one of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ClockOffset {
    /// By how much the server's clock is ahead, seconds; negative if it is late.
    pub ahead_s: f64,
    /// Largest error of that, seconds.
    pub error_s: f64,
}

/// Data of a mount: how much of what was read crossed the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct MountTraffic {
    /// Bytes that were read again, which a cache of this client may hold.
    pub read_again: u64,
    /// File data that the mount received meanwhile, of all its users.
    pub received: u64,
}

impl MountTraffic {
    /// Share of the repeated reads that came from the cache of this client, 0 to 1; none without reads.
    pub fn cached_share(self) -> Option<f64> {
        (self.read_again > 0).then(|| (1.0 - self.received as f64 / self.read_again as f64).clamp(0.0, 1.0))
    }
}

/// Why nothing may be written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WriteRefusal {
    /// The message.
    pub error: String,
    /// The share as a whole can only be read.
    pub is_read_only: bool,
    /// User id of this client, where the protocol has one.
    pub uid: Option<u32>,
}

/// Everything that was measured of a share.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Evidence {
    /// Protocol as in URLs: `smb`, `nfs`, `ncp`, `local`.
    pub protocol: String,
    /// Facts of the session.
    pub facts: Facts,
    /// The mount, for a mounted share.
    pub mount: Option<MountFacts>,
    /// Phases of opening a session.
    pub login: Login,
    /// Times of operations, one at a time.
    pub series: Series,
    /// Round trip of the network, nanoseconds; none if it could not be separated.
    pub network_ns: Option<f64>,
    /// The network's round trip is not the kernel's, but the part of a request's time that requests in flight together
    /// share.
    pub is_network_inferred: bool,
    /// Small reads in flight of [`crate::Operation::Burst`]; 0 if none were measured.
    pub burst: u32,
    /// Largest read of one request, bytes.
    pub max_read: u32,
    /// The same as it was negotiated, bytes: more where the server grants too few credits for it.
    pub negotiated_read: u32,
    /// The stream of writes that filled the file.
    pub write: Option<Bulk>,
    /// The kernel's figures of a connection while it read a stream.
    pub read: Option<TcpCounts>,
    /// The server permits a client to cache a file that it opens; none if that was not requested.
    pub is_caching_granted: Option<bool>,
    /// The server's clock; none where the server shows no time.
    pub clock: Option<ClockOffset>,
    /// CPU load of the server, from an exporter.
    pub server_load: Option<ServerLoad>,
    /// What limits this machine.
    pub client_limits: ClientLimits,
    /// Why nothing was written, if that was tried.
    pub refusal: Option<WriteRefusal>,
    /// Reads of a mount, where the system counts them.
    pub mount_traffic: MountTraffic,
    /// Comparisons of reads.
    pub comparisons: BTreeMap<Experiment, Comparison>,
    /// Facts of the sessions with another option of the URL.
    pub changed_facts: BTreeMap<Experiment, Facts>,
    /// Why an experiment was not made.
    pub not_compared: BTreeMap<Experiment, String>,
    /// Entries of the listed directory.
    pub entries: usize,
    /// The listing had the sizes of its files.
    pub has_sizes: bool,
    /// The server stored a write durably that did not request it.
    pub is_always_stable: bool,
    /// Remarks of the measurement, such as what was left out.
    pub notes: Vec<String>,
}

impl Evidence {
    /// A numeric fact.
    pub(crate) fn number(&self, fact: &str) -> Option<f64> {
        self.facts.get(fact)?.parse().ok()
    }

    /// True for a fact that says so.
    pub(crate) fn is_on_true(&self, fact: &str) -> bool {
        self.facts.get(fact).is_some_and(|value| value == "true")
    }

    /// True for a fact with a value other than `off`.
    pub(crate) fn is_on(&self, fact: &str) -> bool {
        self.facts.get(fact).is_some_and(|value| value != "off")
    }
}
