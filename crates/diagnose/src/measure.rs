//! Rounds of operations, one at a time, with the time of each.

use std::time::{SystemTime, UNIX_EPOCH};

use sharebench_engine::Clock;
use sharebench_model::{ErrorClass, FileRef, MetaOp, MetaYield, OpError, OpenHow, Random, Stability};
use sharebench_target::{Target, call};

use crate::client_limits::other_threads;
use crate::evidence::Evidence;
use crate::files::{Connection, Files, READ, open, open_to_write, pump, write};
use crate::operations::{BURST, LARGE_BYTES, Operation, SEED, SMALL_BYTES, Sample};
use crate::system::ThreadTime;

/// Rounds after which a fast share is known well enough.
const MAX_ROUNDS: u64 = 150;
/// Rounds that are made in any case, so that intervals exist.
const MIN_ROUNDS: u64 = 8;
/// Rounds per listing.
const ROUNDS_PER_LISTING: u64 = 6;
/// Sequential small reads of a round.
const NEXT_READS: usize = 4;
/// Last part of a name that does not exist.
const MISSING: &str = "missing";
/// Bytes of the file of writes that are written.
const WRITTEN_BYTES: u64 = 1 << 20;

/// Reads the clocks around an operation.
pub(crate) struct Meter<'a> {
    clock: &'a Clock,
    thread: ThreadTime,
}

/// Readings before an operation.
pub(crate) struct Before {
    start: u64,
    cpu: f64,
    starved: f64,
}

impl<'a> Meter<'a> {
    /// For operations on the calling thread.
    pub(crate) fn new(clock: &'a Clock) -> Self {
        Self { clock, thread: ThreadTime::open() }
    }

    pub(crate) fn before(&self) -> Before {
        Before { starved: self.thread.starved_ns(), cpu: self.thread.cpu_ns(), start: self.clock.now() }
    }

    /// The sample of an operation that ends now.
    pub(crate) fn sample(&self, before: &Before, requests: u64) -> Sample {
        let elapsed_ns = (self.clock.now() - before.start) as f64;
        let cpu_ns = (self.thread.cpu_ns() - before.cpu).clamp(0.0, elapsed_ns);
        // While the thread waits for a CPU it is not running, so the two cannot exceed the time together.
        let starved_ns = (self.thread.starved_ns() - before.starved).clamp(0.0, elapsed_ns - cpu_ns);
        let requests = u32::try_from(requests).unwrap_or(u32::MAX);
        Sample { elapsed_ns, cpu_ns, starved_ns, unseen_ns: 0.0, requests }
    }

    async fn timed<T>(
        &self,
        connection: &mut Connection,
        work: impl AsyncFnOnce(&mut Connection) -> Result<T, OpError>,
    ) -> Result<(T, Sample), OpError> {
        let requests = requests_of(connection);
        let before = self.before();
        let done = work(connection).await?;
        let sample = self.sample(&before, 0);
        let seen = realtime_ns();
        let requests = requests_of(connection).saturating_sub(requests);
        // A reply that arrived before the operation started belongs to none; the clock may also have been set.
        let arrived = connection.session.last_arrival_ns().filter(|_| requests > 0);
        let unseen = arrived.and_then(|arrived| seen.checked_sub(arrived)).unwrap_or(0) as f64;
        let unseen_ns = if unseen <= sample.elapsed_ns { unseen } else { 0.0 };
        Ok((done, Sample { unseen_ns, requests: u32::try_from(requests).unwrap_or(u32::MAX), ..sample }))
    }
}

/// Requests that the session has caused so far: those of the mount where the system counts them.
fn requests_of(connection: &Connection) -> u64 {
    connection.session.mount_wire().unwrap_or_else(|| connection.session.wire()).requests
}

/// Nanoseconds since 1970, by the clock of the kernel's arrival times.
fn realtime_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// The state of the rounds.
pub(crate) struct Rounds<'a> {
    pub(crate) target: &'a dyn Target,
    pub(crate) files: &'a Files,
    pub(crate) meter: Meter<'a>,
    random: Random,
    large: FileRef,
    /// The file of sequential reads, and the offset of the next one.
    stream: Option<(FileRef, u64)>,
    /// Files of unstable and of stable writes.
    written: Option<(FileRef, Option<FileRef>)>,
    /// The protocol has an empty request.
    has_empty: bool,
}

impl<'a> Rounds<'a> {
    /// Opens the files and makes each operation once without timing it.
    pub(crate) async fn new(
        target: &'a dyn Target,
        files: &'a Files,
        clock: &'a Clock,
        connection: &mut Connection,
        evidence: &mut Evidence,
    ) -> Result<Self, OpError> {
        let large = open(&mut *connection.session, &files.large).await?;
        let mut rounds = Self {
            target,
            files,
            meter: Meter::new(clock),
            random: Random::new(SEED, 2),
            large,
            stream: None,
            written: None,
            has_empty: connection.session.empty_request().await.transpose()?.is_some(),
        };
        connection.session.time_arrivals();
        if files.stream_bytes > 0 {
            rounds.stream = Some((open(&mut *connection.session, &files.stream).await?, 0));
        }
        if let Some(path) = &files.written {
            let unstable = open_to_write(target, &mut *connection.session, path, false).await?;
            let stable = rounds.open_stable(path, connection, evidence).await?;
            rounds.written = Some((unstable, stable));
        }
        Ok(rounds)
    }

    /// Opens the file of stable writes; none if the target has no stable writes.
    async fn open_stable(
        &self,
        path: &str,
        connection: &mut Connection,
        evidence: &mut Evidence,
    ) -> Result<Option<FileRef>, OpError> {
        let mut refused = None;
        // A request for stability comes first: smbd ignores write-through of the open file.
        for through in [false, true] {
            let file = open_to_write(self.target, &mut *connection.session, path, through).await?;
            match put(connection, file, 0, Stability::Durable).await {
                Ok(()) => return Ok(Some(file)),
                Err(error) if error.class == ErrorClass::Unsupported => refused = Some(error.detail),
                Err(error) => return Err(error),
            }
        }
        evidence.notes.extend(refused.map(|detail| format!("no stable writes: {detail}")));
        Ok(None)
    }

    /// Makes rounds until `until` (clock), with bursts on the second session.
    pub(crate) async fn run(
        &mut self,
        connection: &mut Connection,
        mut wide: Option<&mut Connection>,
        evidence: &mut Evidence,
        until: u64,
    ) -> Result<(), OpError> {
        let wide_file = match &mut wide {
            Some(wide) if wide.slots > 1 => Some(open(&mut *wide.session, &self.files.large).await?),
            _ => None,
        };
        let burst = wide.as_ref().map_or(0, |wide| wide.slots.min(BURST));
        evidence.burst = if burst > 1 { burst } else { 0 };
        let mut others = Vec::new();
        for round in 0..MAX_ROUNDS {
            if round >= MIN_ROUNDS && self.meter.clock.now() >= until {
                break;
            }
            // Here the server has no request, so that its threads sleep also on this machine.
            others.extend(other_threads());
            self.reads(connection, evidence, round).await?;
            if let Some((wide, file)) = wide.as_deref_mut().zip(wide_file) {
                self.burst(wide, file, evidence, round).await?;
            }
            self.writes(connection, evidence, round).await?;
            self.names(connection, evidence, round).await?;
        }
        evidence.client_limits.other_threads = mean(&others);
        Ok(())
    }

    async fn reads(
        &mut self,
        connection: &mut Connection,
        evidence: &mut Evidence,
        round: u64,
    ) -> Result<(), OpError> {
        if self.has_empty {
            let (done, sample) = self
                .meter
                .timed(connection, async |connection| Ok(connection.session.empty_request().await))
                .await?;
            done.transpose()?;
            evidence.series.add(Operation::Empty, sample);
        }
        let small = (
            self.files.random_small(&mut self.random),
            SMALL_BYTES,
            Operation::SmallRead,
            Operation::SmallReadAgain,
        );
        let large =
            (self.files.large_at(round), LARGE_BYTES, Operation::LargeRead, Operation::LargeReadAgain);
        for (offset, len, first, again) in [small, large] {
            if offset + u64::from(len) > self.files.large_bytes {
                continue;
            }
            let sample = self.read(connection, self.large, offset, len).await?;
            evidence.series.add(first, sample);
            let received = received_by_mount(connection);
            let sample = self.read(connection, self.large, offset, len).await?;
            evidence.series.add(again, sample);
            if let Some((before, after)) = received.zip(received_by_mount(connection)) {
                evidence.mount_traffic.read_again += u64::from(len);
                evidence.mount_traffic.received += after.saturating_sub(before);
            }
        }
        self.next_reads(connection, evidence).await
    }

    /// Small reads in the order of the file: the first one of a file starts its read-ahead and is not counted.
    async fn next_reads(
        &mut self,
        connection: &mut Connection,
        evidence: &mut Evidence,
    ) -> Result<(), OpError> {
        for _ in 0..NEXT_READS {
            let Some((file, offset)) = self.stream else { return Ok(()) };
            let end = offset + u64::from(SMALL_BYTES);
            if end > self.files.stream_bytes {
                self.stream = None;
                return Ok(());
            }
            let sample = self.read(connection, file, offset, SMALL_BYTES).await?;
            if offset > 0 {
                evidence.series.add(Operation::NextRead, sample);
            }
            self.stream = Some((file, end));
        }
        Ok(())
    }

    async fn read(
        &self,
        connection: &mut Connection,
        file: FileRef,
        offset: u64,
        len: u32,
    ) -> Result<Sample, OpError> {
        let mut blocks = [(offset, len)].into_iter();
        let read = self
            .meter
            .timed(connection, async |connection| pump(connection, file, READ, || blocks.next()).await)
            .await?;
        Ok(read.1)
    }

    /// Several small reads in flight: of the blocks at the start of the file, which all sessions have read before.
    async fn burst(
        &self,
        wide: &mut Connection,
        file: FileRef,
        evidence: &mut Evidence,
        round: u64,
    ) -> Result<(), OpError> {
        let blocks = self.files.large_bytes / u64::from(SMALL_BYTES);
        let mut offsets = (0..u64::from(wide.slots.min(BURST)))
            .map(|block| (block % blocks * u64::from(SMALL_BYTES), SMALL_BYTES));
        let work = async |connection: &mut Connection| pump(connection, file, READ, || offsets.next()).await;
        let (_, sample) = self.meter.timed(wide, work).await?;
        // The first round brings the blocks into the server's cache.
        if round > 0 {
            evidence.series.add(Operation::Burst, sample);
        }
        Ok(())
    }

    async fn writes(
        &mut self,
        connection: &mut Connection,
        evidence: &mut Evidence,
        round: u64,
    ) -> Result<(), OpError> {
        let Some((unstable, stable)) = self.written else { return Ok(()) };
        let offset = round * u64::from(SMALL_BYTES) % WRITTEN_BYTES;
        let counted = connection.session.policy_count();
        let work =
            async |connection: &mut Connection| put(connection, unstable, offset, Stability::Unstable).await;
        let ((), sample) = self.meter.timed(connection, work).await?;
        evidence.series.add(Operation::UnstableWrite, sample);
        evidence.is_always_stable |= connection.session.policy_count().since(counted).stable > 0;
        if let Some(file) = stable {
            let work =
                async |connection: &mut Connection| put(connection, file, offset, Stability::Durable).await;
            let ((), sample) = self.meter.timed(connection, work).await?;
            evidence.series.add(Operation::StableWrite, sample);
        }
        Ok(())
    }

    async fn names(
        &self,
        connection: &mut Connection,
        evidence: &mut Evidence,
        round: u64,
    ) -> Result<(), OpError> {
        let path = &self.files.small;
        let (opened, open) = self
            .meter
            .timed(connection, async |connection| {
                call(&mut *connection.session, MetaOp::open(path.as_str(), OpenHow::Read))
                    .await?
                    .into_opened()
            })
            .await?;
        let file = opened.0;
        let read = self.read(connection, file, 0, SMALL_BYTES).await?;
        let close =
            async |connection: &mut Connection| call(&mut *connection.session, MetaOp::Close { file }).await;
        let (_, close) = self.meter.timed(connection, close).await?;
        evidence.series.add(Operation::Open, open);
        evidence.series.add(Operation::OpenReadClose, sum([open, read, close]));
        self.missing_names(connection, evidence).await?;
        if self.files.written.is_some() {
            self.create(connection, evidence).await?;
        }
        if round.is_multiple_of(ROUNDS_PER_LISTING) && self.files.entries > 0 {
            let path = self.files.listed.clone();
            let list = async |connection: &mut Connection| {
                call(&mut *connection.session, MetaOp::List { path }).await
            };
            let (listed, sample) = self.meter.timed(connection, list).await?;
            if let MetaYield::Entries(entries) = listed {
                evidence.entries = entries.len();
                evidence.has_sizes = entries.iter().all(|entry| entry.directory || entry.size.is_some());
            }
            evidence.series.add(Operation::Listing, sample);
        }
        Ok(())
    }

    /// Opens names that do not exist, in a directory of few entries and in the listed one.
    async fn missing_names(
        &self,
        connection: &mut Connection,
        evidence: &mut Evidence,
    ) -> Result<(), OpError> {
        let Some(own) = self.files.written.as_deref() else { return Ok(()) };
        let few = own.rsplit_once('/').map_or("", |(directory, _)| directory);
        let many = self.files.listed.as_str();
        for (directory, operation) in [(few, Operation::MissingName), (many, Operation::MissingInLarge)] {
            let path = format!("{directory}/{MISSING}");
            let look_up = async |connection: &mut Connection| {
                let opened = call(&mut *connection.session, MetaOp::open(path, OpenHow::Read)).await;
                match opened.map(drop) {
                    Err(error) if error.class == ErrorClass::NotFound => Ok(()),
                    other => other,
                }
            };
            let ((), sample) = self.meter.timed(connection, look_up).await?;
            evidence.series.add(operation, sample);
        }
        Ok(())
    }

    /// Creates an empty file, and removes it without timing that.
    async fn create(&self, connection: &mut Connection, evidence: &mut Evidence) -> Result<(), OpError> {
        let Some(path) = self.files.written.as_deref().map(|path| format!("{path}2")) else { return Ok(()) };
        let new = MetaOp::open(path.as_str(), OpenHow::CreateNew);
        let work =
            async |connection: &mut Connection| call(&mut *connection.session, new).await?.into_opened();
        let ((file, _), sample) = self.meter.timed(connection, work).await?;
        evidence.series.add(Operation::Create, sample);
        call(&mut *connection.session, MetaOp::Close { file }).await?;
        call(&mut *connection.session, MetaOp::Remove { path }).await?;
        Ok(())
    }
}

/// File data that a mount has received; none for other targets.
fn received_by_mount(connection: &Connection) -> Option<u64> {
    connection.session.mount_wire().map(|wire| wire.payload_received)
}

/// Bytes that the rounds have written.
pub(crate) fn bytes_written(evidence: &Evidence) -> u64 {
    let writes = [Operation::UnstableWrite, Operation::StableWrite];
    let count: usize = writes.iter().map(|operation| evidence.series.samples(*operation).len()).sum();
    count as u64 * u64::from(SMALL_BYTES)
}

async fn put(
    connection: &mut Connection,
    file: FileRef,
    offset: u64,
    stability: Stability,
) -> Result<(), OpError> {
    let mut blocks = [(offset, SMALL_BYTES)].into_iter();
    pump(connection, file, write(stability), || blocks.next()).await.map(drop)
}

/// Mean; none without values.
fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// One operation of several steps.
fn sum(samples: [Sample; 3]) -> Sample {
    let add = |a: Sample, b: &Sample| Sample {
        elapsed_ns: a.elapsed_ns + b.elapsed_ns,
        cpu_ns: a.cpu_ns + b.cpu_ns,
        starved_ns: a.starved_ns + b.starved_ns,
        unseen_ns: a.unseen_ns + b.unseen_ns,
        requests: a.requests + b.requests,
    };
    samples[1..].iter().fold(samples[0], add)
}
