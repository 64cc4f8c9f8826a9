//! From evidence to causes: one rule per cause, each with its evidence, its gain and the setting to change.

mod access;
mod client;
mod gain;
mod login;
mod metadata;
mod mounted;
mod network;
mod protocol;
mod segments;
mod server;
mod storage;
#[cfg(test)]
mod tests;

use serde::{Serialize, Serializer};
use sharebench_stats::Estimate;

pub use self::gain::{Gain, Saving};
use crate::budget::Budget;
use crate::evidence::Evidence;
use crate::operations::Operation;

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

/// A cause that was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Which cause.
    pub cause: Cause,
    /// One sentence that states it.
    pub title: String,
    /// The numbers that prove it.
    pub evidence: String,
    /// What its removal gains.
    pub gain: Gain,
    /// What to change, one setting or action each.
    pub settings: Vec<&'static str>,
    /// Share of the time of the operation that suffers most, 0 to 1: findings are listed by it.
    pub weight: f64,
}

/// What the evidence says.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Verdict {
    /// The causes, the most expensive first.
    pub findings: Vec<Finding>,
    /// Causes that can be neither confirmed nor excluded, each with what would settle it.
    pub unsettled: Vec<String>,
}

/// Judges the evidence by every rule.
pub fn judge(evidence: &Evidence, budgets: &[Budget]) -> Verdict {
    let mut case = Case { evidence, budgets, verdict: Verdict::default() };
    // First: what this machine does to itself is no fault of the network or the server.
    client::judge(&mut case);
    network::judge(&mut case);
    // After the network: lost segments are out of order as well. Before the server: jitter is no work.
    segments::judge(&mut case);
    server::judge(&mut case);
    storage::judge(&mut case);
    protocol::judge(&mut case);
    login::judge(&mut case);
    metadata::judge(&mut case);
    mounted::judge(&mut case);
    access::judge(&mut case);
    let mut verdict = case.verdict;
    verdict.findings.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    verdict
}

/// Evidence and the verdict so far.
struct Case<'a> {
    evidence: &'a Evidence,
    budgets: &'a [Budget],
    verdict: Verdict,
}

impl Case<'_> {
    fn budget(&self, operation: Operation) -> Option<&Budget> {
        self.budgets.iter().find(|budget| budget.operation == operation)
    }

    /// Median of `one` minus `times` the median of `other`, nanoseconds.
    fn difference(&self, one: Operation, times: f64, other: Operation) -> Option<Estimate> {
        self.evidence.series.difference(one, times, other)
    }

    /// True if the estimate is certainly at least `limit`. If its interval contains the limit, `what` becomes unsettled.
    fn exceeds(&mut self, estimate: Estimate, limit: f64, what: &str) -> bool {
        match estimate.interval {
            Some(interval) if interval.low >= limit => true,
            _ if estimate.value < limit => false,
            _ => {
                let settle =
                    "the interval is too wide; repeat with a longer --for on a quieter machine and share";
                self.verdict.unsettled.push(format!("{what}: {settle}"));
                false
            }
        }
    }

    fn found(&self, cause: Cause) -> Option<&Finding> {
        self.verdict.findings.iter().find(|finding| finding.cause == cause)
    }

    fn find(&mut self, finding: Finding) {
        self.verdict.findings.push(finding);
    }
}

/// The settings of the protocol of a share, from a table of protocol and setting. `*` is for each protocol.
fn settings(evidence: &Evidence, table: &[(&str, &'static str)]) -> Vec<&'static str> {
    let mounted = evidence.mount.as_ref().map(|mount| if mount.is_nfs() { "nfs" } else { "smb" });
    let protocol = mounted.unwrap_or(&evidence.protocol);
    table.iter().filter(|(known, _)| *known == "*" || *known == protocol).map(|(_, text)| *text).collect()
}
