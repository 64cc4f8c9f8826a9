//! Measures: what a step yielded, with the evidence that belongs to it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{ErrorClass, Evidence, Histogram};

/// What throughput is divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RateBase {
    /// Time with at least one operation in flight: cells, where filling and verifying buffers between
    /// operations is the generator's own work and not the target's.
    #[default]
    Busy,
    /// The whole window: user loads, where pauses belong to the load.
    Window,
    /// Nothing: an imported source told the rate itself, in thousandths per second, of bytes or, where no
    /// bytes were moved, of operations. The times were derived from it, rounded to nanoseconds.
    Told {
        /// Thousandths per second.
        milli: u64,
    },
}

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

/// What crossed the wire, counted by the adapter itself.
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
}

impl WireCount {
    /// What was counted since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            requests: self.requests - earlier.requests,
            sent: self.sent - earlier.sent,
            received: self.received - earlier.received,
            payload_sent: self.payload_sent - earlier.payload_sent,
            payload_received: self.payload_received - earlier.payload_received,
        }
    }
}

impl std::ops::AddAssign for WireCount {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.sent += other.sent;
        self.received += other.received;
        self.payload_sent += other.payload_sent;
        self.payload_received += other.payload_received;
    }
}

/// CPU time of this process in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CpuTime {
    /// In user mode, nanoseconds.
    pub user_ns: u64,
    /// In the kernel, nanoseconds.
    pub kernel_ns: u64,
}

impl CpuTime {
    /// Both modes.
    pub fn total_ns(self) -> u64 {
        self.user_ns + self.kernel_ns
    }
}

/// What one of several motors contributed to a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MotorShare {
    /// Application bytes, both directions.
    pub bytes: u64,
    /// Operations completed, failed ones included.
    pub operations: u64,
    /// Whole passes over its file.
    pub passes: u64,
    /// Time from its first start to its last end, summed over the rounds of the cell.
    pub worked_ns: u64,
}

/// What one step yielded.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// Length of the measured window.
    pub window_ns: u64,
    /// Part of the window with at least one operation in flight.
    pub busy_ns: u64,
    /// Which of the two divides the bytes.
    pub rate_base: RateBase,
    /// Operations completed, failed ones included.
    pub operations: u64,
    /// Transactions completed; equals `operations` where each is one operation.
    pub transactions: u64,
    /// Bytes as the application sees them.
    pub bytes: IoBytes,
    /// Bytes whose content was checked and right.
    pub verified: u64,
    /// What the adapter counted on the wire; none for local paths.
    pub wire: Option<WireCount>,
    /// Failures by class.
    pub errors: BTreeMap<ErrorClass, u64>,
    /// Whole passes over a file, where the step makes any: how often a small cell was repeated.
    pub passes: u64,
    /// Motors the step was given.
    pub motors_assigned: u32,
    /// Motors that completed at least one transaction in the window (MPS).
    pub motors_reported: u32,
    /// Each motor's contribution, in throughput mode.
    pub shares: Vec<MotorShare>,
    /// Operations or transactions still in flight when the window ended.
    pub censored: u64,
    /// ended - intended per transaction.
    pub response: Histogram,
    /// ended - started per transaction.
    pub service: Histogram,
    /// started - intended per transaction.
    pub lag: Histogram,
    /// CPU time of the measuring process within the window.
    pub client_cpu: CpuTime,
    /// What was seen of caches and durability.
    pub evidence: Evidence,
}

impl Measure {
    /// The time that rates are divided by.
    pub fn base_ns(&self) -> u64 {
        match self.rate_base {
            RateBase::Busy | RateBase::Told { .. } => self.busy_ns,
            RateBase::Window => self.window_ns,
        }
    }

    /// The rate that an imported source told, per second.
    fn told(&self) -> Option<f64> {
        match self.rate_base {
            RateBase::Told { milli } => Some(milli as f64 / 1e3),
            RateBase::Busy | RateBase::Window => None,
        }
    }

    /// Application bytes per second; none when no time was measured.
    pub fn throughput(&self) -> Option<f64> {
        if let (Some(told), 1..) = (self.told(), self.bytes.total()) {
            return Some(told);
        }
        per_second(self.bytes.total(), self.base_ns())
    }

    /// Operations per second.
    pub fn operation_rate(&self) -> Option<f64> {
        match (self.told(), self.bytes.total()) {
            (Some(told), 0) => return Some(told),
            (Some(told), bytes) => return Some(told / bytes as f64 * self.operations as f64),
            (None, _) => {}
        }
        per_second(self.operations, self.base_ns())
    }

    /// Transactions per second.
    pub fn transaction_rate(&self) -> Option<f64> {
        if self.told().is_some() && self.transactions == self.operations {
            return self.operation_rate();
        }
        per_second(self.transactions, self.base_ns())
    }

    /// Part of the busy time that operations took: flushes and closes that count as busy are left out.
    pub fn operations_ns(&self) -> u64 {
        self.busy_ns.saturating_sub(self.evidence.flush_ns + self.evidence.close_ns)
    }

    /// Written bytes per second until the last of them was acknowledged; none where flushes were not
    /// measured, so that [`Self::throughput`] says the same.
    pub fn acknowledged(&self) -> Option<f64> {
        self.flushed().and_then(|written| per_second(written, self.operations_ns()))
    }

    /// Written bytes per second until they were durable, the flush included; none where it was not measured.
    pub fn durable(&self) -> Option<f64> {
        let spent = self.busy_ns.saturating_sub(self.evidence.close_ns);
        self.flushed().and_then(|written| per_second(written, spent))
    }

    fn flushed(&self) -> Option<u64> {
        (self.evidence.flushes > 0 && self.bytes.written > 0).then_some(self.bytes.written)
    }

    /// Client CPU nanoseconds per operation.
    pub fn cpu_per_operation_ns(&self) -> Option<f64> {
        (self.operations > 0).then(|| self.client_cpu.total_ns() as f64 / self.operations as f64)
    }

    /// All failures.
    pub fn error_count(&self) -> u64 {
        self.errors.values().sum()
    }
}

fn per_second(count: u64, nanos: u64) -> Option<f64> {
    (nanos > 0).then(|| count as f64 * 1e9 / nanos as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measured_flush_tells_acknowledged_from_durable_writes() {
        let bytes = IoBytes { read: 0, written: 1_000_000 };
        let evidence = Evidence { flushes: 2, flush_ns: 500, close_ns: 250, ..Evidence::default() };
        let measure = Measure { busy_ns: 1000, bytes, evidence, ..Measure::default() };
        assert_eq!(measure.operations_ns(), 250);
        assert_eq!(measure.acknowledged(), Some(4e12));
        assert_eq!(measure.durable(), Some(1e15 / 750.0));
        let plain = Measure { evidence: Evidence::default(), ..measure };
        assert_eq!((plain.acknowledged(), plain.durable()), (None, None));
    }
}
