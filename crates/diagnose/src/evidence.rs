//! Everything that was measured of a share, without judgement.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use sharebench_model::{Facts, TcpCounts};
use sharebench_stats::Estimate;

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
            Self::Against => "the other share",
        }
    }
}

impl Serialize for Experiment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// The outcome of an A/B comparison of read streams in paired slices.
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
    /// The stream of writes that filled the file.
    pub write: Option<Bulk>,
    /// Comparisons of read streams.
    pub comparisons: BTreeMap<Experiment, Comparison>,
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
