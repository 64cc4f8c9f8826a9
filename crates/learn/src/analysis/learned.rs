//! The workload that the analysis found, with its goodness of fit.

use std::collections::BTreeMap;

use sharebench_plan::Think;

use super::assemble::sequences;
use super::classes::{Class, Classes};
use super::coverage::{Counts, Coverage};
use super::gap::gap;
use super::mix::{MixRow, mix};
use super::streams::{UsersOverTime, streams};
use super::transactions::{Transaction, transactions};
use crate::fit::{Fit, fit_think};
use crate::operation::{Action, Observed, Protocol};

/// A workload, learned from an input.
#[derive(Debug, Clone, PartialEq)]
pub struct Learned {
    /// From the first to the last moment of the input, ns.
    pub duration: u64,
    /// Users by protocol.
    pub protocols: BTreeMap<Protocol, u32>,
    /// Pause of a user that separates transactions, ns.
    pub gap: u64,
    /// Think times between the transactions of a stream.
    pub think: Fit<Think>,
    /// Mean of the observed think times, ns.
    pub mean_think: f64,
    /// Transactions of a stream in a row without a pause longer than the gap, on average.
    pub burst: f64,
    /// Users, and when they are active.
    pub users: UsersOverTime,
    /// Kinds of files.
    pub classes: Vec<Class>,
    /// Kinds of transactions, the most frequent first.
    pub transactions: Vec<Transaction>,
    /// Shares of operations, in the input and in the preset.
    pub mix: Vec<MixRow>,
    /// What of the input is in the transactions.
    pub coverage: Coverage,
    /// Writes, and those that waited for stable storage.
    pub writes: (u64, u64),
}

impl Learned {
    /// The largest difference of a share of an operation between input and preset, 0 to 1.
    pub fn mix_error(&self) -> f64 {
        self.mix.iter().map(|row| (row.captured_share - row.preset_share).abs()).fold(0.0, f64::max)
    }
}

/// Learns a workload.
pub fn learn(observed: &Observed) -> Learned {
    let mut counts = Counts::default();
    let gap = gap(observed);
    let sequences = sequences(observed, gap, &mut counts);
    let mut streams = streams(&sequences, observed.users.len(), observed.duration);
    let pauses = streams.pauses.len() as f64;
    // Not `sum`, which is -0 for no numbers and would be printed so.
    let paused = streams.pauses.iter().fold(0.0, |sum, pause| sum + *pause as f64);
    let mean_think = paused / pauses.max(1.0);
    let long = streams.pauses.iter().filter(|pause| **pause > gap).count() as f64;
    let burst =
        (pauses + f64::from(streams.users.streams)) / (long + f64::from(streams.users.streams)).max(1.0);
    counts.simplify("transactions that begin while their user is busy with others", streams.overlaps);
    let classes = Classes::of_sequences(observed, &sequences);
    let (transactions, seen) = transactions(sequences, &classes, &mut counts);
    let mut protocols = BTreeMap::new();
    for user in &observed.users {
        *protocols.entry(user.protocol).or_default() += 1;
    }
    let mut writes = (0, 0);
    for operation in &observed.operations {
        if let Action::Write { stable, .. } = operation.action {
            writes.0 += 1;
            writes.1 += u64::from(stable);
        }
    }
    Learned {
        duration: observed.duration,
        protocols,
        gap,
        think: fit_think(&mut streams.pauses),
        mean_think,
        burst,
        users: streams.users,
        mix: mix(&seen, &transactions, &classes.all),
        classes: classes.all,
        transactions,
        coverage: counts.finish(observed.operations.len() as u64),
        writes,
    }
}
