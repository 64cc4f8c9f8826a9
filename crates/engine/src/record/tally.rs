//! What a user counts while it works; merged when its step ends.

use std::collections::BTreeMap;
use std::thread;

use serde::{Deserialize, Serialize};
use sharebench_model::{
    CpuTime, ErrorClass, Evidence, Histogram, IoBytes, JobShare, LoadCounts, LoadDetail, Measure, OpError,
    RateBase, ServerEvidence, Sparse, TcpCounts, TcpReading, WhileProbed, WireCount,
};

use crate::record::occupancy::Occupancy;
use crate::record::response_batches::ResponseBatches;
use crate::record::seconds::Seconds;

use crate::record::mount_wire::MountWire;
use crate::time::clock::ClockError;

/// Maximum number of failures of one step that are reported with their text; all are counted.
const MAX_FAILURE_SAMPLES: usize = 5;

/// How long transactions had lasted when the window ended before them.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Unfinished {
    pub response: Histogram,
    pub service: Histogram,
}

impl Unfinished {
    /// Counts those as "at least so long" that have lasted longer than anything that ended; for the others
    /// the ended ones stand (of a steady load, one transaction enters the window for each that leaves it).
    pub fn count_in(&self, measure: &mut Measure) {
        let response = measure.response.max();
        let service = measure.service.max();
        measure.response.merge_above(&self.response, response);
        measure.service.merge_above(&self.service, service);
    }
}

/// Counters and histograms of one user or of one thread's users.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Tally {
    pub operations: u64,
    pub transactions: u64,
    pub bytes: IoBytes,
    pub verified: u64,
    pub wire: WireCount,
    pub mount_wire: MountWire,
    pub errors: BTreeMap<ErrorClass, u64>,
    /// In the words of this process alone.
    #[serde(skip)]
    pub failure_samples: Vec<OpError>,
    pub response: Histogram,
    pub service: Histogram,
    pub lag: Histogram,
    /// The response times again, by when they ended.
    pub response_batches: ResponseBatches,
    /// Application bytes of a load by the second in which they moved.
    pub seconds: Seconds,
    pub busy_ns: u64,
    pub window_ns: u64,
    pub cpu: CpuTime,
    /// CPU time of threads that belong to sessions, which is not within `cpu` of the thread that drives them.
    pub threads_cpu: CpuTime,
    /// Time spent on filling and verifying while nothing waited for it: within `cpu`, and not the operations'.
    pub generator_ns: u64,
    /// CPU time of the busiest thread of a load.
    pub busiest: CpuTime,
    /// First and last instant of what was measured.
    pub span: Option<(u64, u64)>,
    pub occupancy: Occupancy,
    pub unfinished: Unfinished,
    /// What users of a load did outside the window.
    pub outside: LoadCounts,
    /// Transactions of users who have logged off, by their own count: of all steps of a series.
    pub transactions_by_users: u64,
    /// Whole passes over a file.
    pub passes: u64,
    /// What each user of throughput mode did.
    pub shares: Vec<JobShare>,
    pub users_reported: u32,
    /// Users of an open load that were given something to do within the window.
    pub users_engaged: u32,
    pub censored: u64,
    pub evidence: Evidence,
    /// A load taken apart.
    pub detail: LoadDetail,
    /// How long after the instant given to it the last user was let go.
    pub late_ns: u64,
    /// What was seen of the server's cache and storage.
    pub server: ServerEvidence,
    /// What the kernel knows of the TCP connections; none if none was read.
    pub tcp: Option<TcpCounts>,
}

/// True for failures after which no later operation of a step can succeed.
const fn ends_step(class: ErrorClass) -> bool {
    !matches!(class, ErrorClass::DataMismatch | ErrorClass::Busy | ErrorClass::Io)
}

impl Tally {
    /// Counts an operation of a pass, whatever its result: instants of its start and end, nanoseconds.
    #[inline]
    pub fn operation(&mut self, started: u64, ended: u64) {
        self.operations += 1;
        self.transactions += 1;
        self.service.record(ended - started);
        self.response_batches.record(ended, ended - started);
    }

    /// Counts the operations that one request did together, such as the entries of a page of a listing. The request has one
    /// service time.
    pub fn operations_of_request(&mut self, operations: u64, started: u64, ended: u64) {
        self.operations += operations;
        self.transactions += operations;
        self.service.record(ended - started);
        self.response_batches.record(ended, ended - started);
    }

    /// Counts a failure, and keeps its text while there are few.
    pub fn failure(&mut self, error: OpError) {
        *self.errors.entry(error.class).or_default() += 1;
        if self.failure_samples.len() < MAX_FAILURE_SAMPLES {
            self.failure_samples.push(error);
        }
    }

    /// Counts the failure of an operation. Returns it when no later operation of the step can succeed.
    #[inline]
    pub fn outcome(&mut self, result: Result<(), OpError>) -> Result<(), OpError> {
        let Err(error) = result else { return Ok(()) };
        let fatal = ends_step(error.class).then(|| error.clone());
        self.failure(error);
        fatal.map_or(Ok(()), Err)
    }

    /// Adds the failures of work that was not measured, so that damaged data is reported wherever it was read.
    pub fn add_failures_of(&mut self, unmeasured: Self) {
        for (class, count) in unmeasured.errors {
            *self.errors.entry(class).or_default() += count;
        }
        self.failure_samples.extend(unmeasured.failure_samples);
    }

    /// The sum of what the threads of users return.
    ///
    /// # Errors
    /// A thread panicked, or its runtime could not start.
    pub fn of_threads(joined: Vec<thread::Result<Result<Self, ClockError>>>) -> Result<Self, String> {
        let mut total = Self::default();
        for tally in joined {
            let tally = tally.map_err(|_| "a user thread panicked".to_owned())?;
            total.merge(tally.map_err(|error| format!("a user thread could not start: {error}"))?);
        }
        Ok(total)
    }

    /// Adds another thread's counts; windows are the same instants on all threads.
    pub fn merge(&mut self, other: Self) {
        // No `..` here: a field that is added to the tally and not merged does not compile.
        let Self {
            operations,
            transactions,
            bytes,
            verified,
            wire,
            mount_wire,
            errors,
            failure_samples,
            response,
            service,
            lag,
            response_batches,
            seconds,
            busy_ns,
            window_ns,
            cpu,
            threads_cpu,
            generator_ns,
            busiest,
            span,
            occupancy,
            unfinished,
            outside,
            transactions_by_users,
            passes,
            shares,
            users_reported,
            users_engaged,
            censored,
            evidence,
            detail,
            late_ns,
            server,
            tcp,
        } = other;
        self.operations += operations;
        self.transactions += transactions;
        self.bytes.read += bytes.read;
        self.bytes.written += bytes.written;
        self.verified += verified;
        self.wire += wire;
        self.mount_wire.join(mount_wire);
        for (class, count) in errors {
            *self.errors.entry(class).or_default() += count;
        }
        self.failure_samples.extend(failure_samples);
        self.failure_samples.truncate(MAX_FAILURE_SAMPLES);
        self.response.merge(&response);
        self.service.merge(&service);
        self.lag.merge(&lag);
        self.response_batches.merge(response_batches);
        self.seconds.merge(&seconds);
        self.busy_ns += busy_ns;
        self.window_ns = self.window_ns.max(window_ns);
        self.cpu.user_ns += cpu.user_ns;
        self.cpu.kernel_ns += cpu.kernel_ns;
        self.threads_cpu.user_ns += threads_cpu.user_ns;
        self.threads_cpu.kernel_ns += threads_cpu.kernel_ns;
        self.generator_ns += generator_ns;
        self.busiest = std::cmp::max_by_key(self.busiest, busiest, |cpu| cpu.total_ns());
        if let Some((from, to)) = span {
            self.spans(from, to);
        }
        self.occupancy += occupancy;
        self.unfinished.response.merge(&unfinished.response);
        self.unfinished.service.merge(&unfinished.service);
        self.outside += outside;
        self.transactions_by_users += transactions_by_users;
        self.passes += passes;
        self.shares.extend(shares);
        self.users_reported += users_reported;
        self.users_engaged += users_engaged;
        self.censored += censored;
        self.evidence.merge(evidence);
        self.detail.merge(detail);
        self.late_ns = self.late_ns.max(late_ns);
        merge_server(&mut self.server, server);
        self.join_tcp(tcp);
    }

    /// Adds the figures of a connection between two readings. A connection that was replaced meanwhile is left out.
    pub fn add_tcp(&mut self, before: Option<TcpReading>, after: Option<TcpReading>) {
        let Some((before, after)) = before.zip(after) else { return };
        self.join_tcp(after.since(before));
    }

    fn join_tcp(&mut self, other: Option<TcpCounts>) {
        self.tcp = match (self.tcp, other) {
            (Some(own), Some(other)) => Some(own.and(other)),
            (own, other) => own.or(other),
        };
    }

    /// Something was measured from `from` to `to`.
    pub fn spans(&mut self, from: u64, to: u64) {
        let (first, last) = self.span.unwrap_or((from, to));
        self.span = Some((first.min(from), last.max(to)));
    }

    /// CPU time of the operations themselves. Taken from the sums, because the kernel distinguishes user from kernel
    /// time by ticks, which are longer than most passes.
    pub fn operations_cpu(&self) -> CpuTime {
        CpuTime {
            user_ns: self.cpu.user_ns.saturating_sub(self.generator_ns) + self.threads_cpu.user_ns,
            kernel_ns: self.cpu.kernel_ns + self.threads_cpu.kernel_ns,
        }
    }

    /// The measure of a step with `users` users.
    pub fn into_measure(self, users: u32, rate_base: RateBase, wire_counted: bool) -> Measure {
        let client_cpu = self.operations_cpu();
        let wire = if wire_counted { Some(self.wire) } else { self.mount_wire.total() };
        Measure {
            window_ns: self.window_ns,
            busy_ns: self.busy_ns,
            rate_base,
            operations: self.operations,
            transactions: self.transactions,
            bytes: self.bytes,
            verified: self.verified,
            wire: wire.into(),
            errors: self.errors.into(),
            passes: self.passes,
            users_assigned: users,
            users_reported: self.users_reported,
            shares: self.shares.into(),
            censored: self.censored,
            response_sample_size: self.response_batches.worth(&self.response).into(),
            response: self.response,
            service: self.service,
            lag: self.lag,
            reported: Sparse::default(),
            client_cpu,
            evidence: self.evidence.into(),
            load: self.detail.into(),
            ranks: Sparse::default(),
            server: self.server.into(),
            tcp: self.tcp.into(),
        }
    }
}

/// Adds what another thread or rank saw of the server. Storage is one for all of them: the greater of two counts of
/// the same time is the later reading, and includes the other one.
fn merge_server(server: &mut ServerEvidence, other: ServerEvidence) {
    let ServerEvidence {
        probes,
        own_times_comparable,
        without_probes,
        cold_passes,
        storage_read,
        while_probed,
    } = other;
    server.probes.ahead.extend(probes.ahead);
    server.probes.distances.extend(probes.distances);
    server.probes.next.extend(probes.next);
    server.probes.hot.extend(probes.hot);
    server.probes.cold.extend(probes.cold);
    server.probes.cold_again.extend(probes.cold_again);
    server.probes.known_hot.extend(probes.known_hot);
    server.own_times_comparable |= own_times_comparable;
    server.without_probes = server.without_probes.take().or(without_probes);
    server.cold_passes += cold_passes;
    server.storage_read = server.storage_read.max(storage_read);
    server.while_probed = match (server.while_probed, while_probed) {
        (Some(one), Some(other)) => Some(WhileProbed {
            read: one.read + other.read,
            storage_read: one.storage_read.max(other.storage_read),
        }),
        (one, other) => one.or(other),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_into_an_empty_tally_keeps_the_evidence_of_the_server() {
        let server = ServerEvidence { cold_passes: 2, storage_read: Some(4096), ..ServerEvidence::default() };
        let other = Tally { server: server.clone(), ..Tally::default() };
        let mut merged = Tally::default();
        merged.merge(other.clone());
        assert_eq!(merged.server, server);
        merged.merge(other);
        assert_eq!((merged.server.cold_passes, merged.server.storage_read), (4, Some(4096)));
    }
}
