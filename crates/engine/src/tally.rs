//! What a motor counts while it works; merged when its step ends.

use std::collections::BTreeMap;

use sharebench_model::{
    CpuTime, ErrorClass, Evidence, Histogram, IoBytes, Measure, OpError, RateBase, WireCount,
};

/// Most failures of one step that are told in words; all are counted.
const TOLD_FAILURES: usize = 5;

/// Counters and histograms of one motor or of one thread's motors.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub operations: u64,
    pub transactions: u64,
    pub bytes: IoBytes,
    pub verified: u64,
    pub wire: WireCount,
    pub errors: BTreeMap<ErrorClass, u64>,
    pub told: Vec<OpError>,
    pub response: Histogram,
    pub service: Histogram,
    pub lag: Histogram,
    pub busy_ns: u64,
    pub window_ns: u64,
    pub cpu: CpuTime,
    pub motors_reported: u32,
    pub censored: u64,
    pub evidence: Evidence,
}

impl Tally {
    /// Counts a failure, and keeps its words while there are few.
    pub fn failure(&mut self, error: OpError) {
        *self.errors.entry(error.class).or_default() += 1;
        if self.told.len() < TOLD_FAILURES {
            self.told.push(error);
        }
    }

    /// Adds another thread's counts; windows are the same instants on all threads.
    pub fn merge(&mut self, other: Self) {
        self.operations += other.operations;
        self.transactions += other.transactions;
        self.bytes.read += other.bytes.read;
        self.bytes.written += other.bytes.written;
        self.verified += other.verified;
        self.wire += other.wire;
        for (class, count) in other.errors {
            *self.errors.entry(class).or_default() += count;
        }
        self.told.extend(other.told);
        self.told.truncate(TOLD_FAILURES);
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.lag.merge(&other.lag);
        self.busy_ns += other.busy_ns;
        self.window_ns = self.window_ns.max(other.window_ns);
        self.cpu.user_ns += other.cpu.user_ns;
        self.cpu.kernel_ns += other.cpu.kernel_ns;
        self.motors_reported += other.motors_reported;
        self.censored += other.censored;
        self.evidence.merge(other.evidence);
    }

    /// The measure of a step with `motors` motors.
    pub fn into_measure(self, motors: u32, rate_base: RateBase, wire_counted: bool) -> Measure {
        Measure {
            window_ns: self.window_ns,
            busy_ns: self.busy_ns,
            rate_base,
            operations: self.operations,
            transactions: self.transactions,
            bytes: self.bytes,
            verified: self.verified,
            wire: wire_counted.then_some(self.wire),
            errors: self.errors,
            motors_assigned: motors,
            motors_reported: self.motors_reported,
            censored: self.censored,
            response: self.response,
            service: self.service,
            lag: self.lag,
            client_cpu: self.cpu,
            evidence: self.evidence,
        }
    }
}
