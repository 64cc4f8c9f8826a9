//! Guesses at what limits a system.

use serde::{Deserialize, Serialize};

/// What may limit the rates of a system, with the evidence. Rates are per second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mechanism {
    /// Rates of large records level off at the same bytes per second.
    BandwidthCap {
        /// Median rate of the cells, bytes per second.
        rate: f64,
        /// Lowest and highest rate that their intervals allow.
        range: (f64, f64),
        /// Smallest and largest record, bytes.
        records: (u64, u64),
    },
    /// Small records have the same number of operations per second, whatever their size.
    RoundTrip {
        /// Lowest and highest number of operations per second that the intervals of the cells allow.
        operations_per_s: (f64, f64),
        /// Time of one operation, nanoseconds.
        operation_ns: f64,
        /// Smallest and largest record, bytes.
        records: (u64, u64),
    },
    /// Some operations take about 40 ms, and hardly any takes a time between that and the usual one.
    DelayedAcknowledgement {
        /// Share of the operations that take about 40 ms.
        share: f64,
        /// Share of those that take half as long to just below it.
        share_below: f64,
        /// Median service time, nanoseconds.
        median_ns: f64,
    },
    /// With signing the client uses more CPU for each byte, and that is a large part of the time that it loses.
    SigningCpu {
        /// The system without signing: index into [`crate::Analysis::systems`].
        unsigned: usize,
        /// Additional client CPU, nanoseconds per byte, median of the cells.
        cpu_ns_per_byte: f64,
        /// Additional time, nanoseconds per byte, median of the cells.
        ns_per_byte: f64,
    },
    /// The same system with more connections of each session has a higher rate.
    OneConnection {
        /// The system with more connections: index into [`crate::Analysis::systems`].
        more: usize,
        /// Its number of connections.
        connections: u64,
        /// Lowest and highest rate with more connections over that with one, among the cells.
        ratios: (f64, f64),
    },
}

/// A guess at the mechanism that limits one system in one test.
///
/// Rates and times show that a limit exists, not what it is: several mechanisms may have the same trace. So the sentence
/// says that it is a guess and names the evidence, and no verdict, confidence or exit code depends on it. A guess needs
/// three cells or more that no client cache served, and intervals that are as narrow as what it claims. The limit of one
/// connection is no guess, because two systems differ in it alone: one resolved cell is enough.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MechanismGuess {
    /// Index into [`crate::Analysis::sections`].
    pub section: usize,
    /// Index into [`crate::Analysis::systems`].
    pub system: usize,
    /// The mechanism with its evidence.
    pub mechanism: Mechanism,
    /// Number of cells that show it.
    pub cells: usize,
    /// The guess as a sentence.
    pub text: String,
}
