//! Probes ahead of a cell's workload over a separate connection, to distinguish server cache and storage
//! (docs/measure/measurement-rules.md R8).
//!
//! After the cell has been measured, its workload continues unmeasured. At intervals it pauses for a triple of reads: of a
//! record that it will need later, of the same record again, and of a record that nobody has read since it was
//! pushed out. Nothing of this is in the cell's time.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use sharebench_model::{
    CachePolicy, FileRef, IoPolicy, OpError, ProbeTimes, Random, ServerEvidence, StepError, SyncPolicy,
    WhileProbed,
};
use sharebench_plan::{CacheProbePlan, Cold, RecordWork, Start};

use crate::cell::access_pattern::{AccessPattern, FilePart, RecordAccess};
use crate::cell::file_names::data_name;
use crate::cell::pass::Pass;
use crate::cell::policy;
use crate::cell::record_pass::RecordPass;
use crate::cell::target_files::TargetFiles;
use crate::data::context::PassContext;
use crate::data::file_state::FileState;
use crate::probe::probe_connection::ProbeConnection;
use crate::record::tally::Tally;
use crate::record::verify::verify;

/// Names of the files in addition to those of the cells.
pub(crate) const RESERVE: &str = "reserve";
pub(crate) const KNOWN_HOT: &str = "known-hot";
pub(crate) const PUSH_OUT: &str = "push-out";
/// Operations of the workload between two triples: at least, and how many more by lot. The probes of the
/// workload's own records stay below 2 % of its operations.
const SPACING: (u64, u64) = (50, 51);
/// One of this many triples is followed by a probe of the record that the workload needs next.
const NEXT_EVERY: u64 = 3;
/// Maximum time of the probes of one cell, in nanoseconds.
const LONGEST: u64 = 120_000_000_000;

/// The records that a workload will read, as far ahead as anybody looked.
struct Upcoming<'a> {
    work: &'a RecordWork,
    random: Random,
    order: AccessPattern,
    drawn: VecDeque<RecordAccess>,
}

impl<'a> Upcoming<'a> {
    fn new(work: &'a RecordWork, mut random: Random) -> Self {
        let order = AccessPattern::new(work, FilePart::WHOLE, &mut random);
        Self { work, random, order, drawn: VecDeque::new() }
    }

    fn draw(&mut self) -> RecordAccess {
        if let Some(access) = self.order.next() {
            return access;
        }
        self.order = AccessPattern::new(self.work, FilePart::WHOLE, &mut self.random);
        self.order.next().unwrap_or_default()
    }

    fn next(&mut self) -> RecordAccess {
        self.drawn.pop_front().unwrap_or_else(|| self.draw())
    }

    /// The record that is due after `distance` others.
    fn ahead(&mut self, distance: u64) -> RecordAccess {
        while self.drawn.len() as u64 <= distance {
            let access = self.draw();
            self.drawn.push_back(access);
        }
        self.drawn[distance as usize]
    }
}

/// A failure of the connection connection leaves the cell without probes; one of the workload's ends the step.
pub(crate) enum Ended {
    Probe(OpError),
    Workload(StepError),
}

impl From<StepError> for Ended {
    fn from(end: StepError) -> Self {
        Self::Workload(end)
    }
}

/// The probes of one cell.
pub(crate) struct ProbeSeries<'a> {
    pub plan: &'a CacheProbePlan,
    pub work: &'a RecordWork,
    /// Length and record of what pushes everything else out.
    pub push: Option<(u64, u32)>,
    pub random: Random,
}

impl ProbeSeries<'_> {
    pub async fn run(
        mut self,
        files: &mut TargetFiles,
        connection: &mut ProbeConnection,
        context: &mut PassContext<'_>,
        tally: &mut Tally,
        seen: &mut ServerEvidence,
    ) -> Result<(), Ended> {
        let name = data_name(self.work);
        if let Some((length, record)) = self.push {
            let push = connection.file(&files.path(PUSH_OUT), IoPolicy::default(), context).await?;
            connection.scan(push, length, record, context).await?;
        }
        let Some(mut file) = files.files.remove(&name) else { return Ok(()) };
        let session = files.session.as_mut();
        let opened = policy::open_as(self.work, session, &mut file, context).await;
        let mut handle = file.file.take();
        let mut pass = RecordPass {
            work: self.work,
            part: FilePart::WHOLE,
            session,
            file: &mut file,
            handle: &mut handle,
        };
        let paths = [RESERVE, KNOWN_HOT].map(|name| format!("{}/{name}", files.directory));
        let result = match opened {
            Ok(_) => self.probe(&mut pass, &paths, connection, context, tally, seen).await,
            Err(error) => Err(StepError::from(error).into()),
        };
        file.file = handle;
        files.files.insert(name, file);
        result
    }

    async fn probe(
        &mut self,
        pass: &mut RecordPass<'_>,
        [reserve, known_hot]: &[String; 2],
        connection: &mut ProbeConnection,
        context: &mut PassContext<'_>,
        tally: &mut Tally,
        seen: &mut ServerEvidence,
    ) -> Result<(), Ended> {
        let unbuffered = IoPolicy { cache: CachePolicy::Unbuffered, sync: SyncPolicy::Normal };
        let bypasses = self.plan.cold == Cold::Unbuffered;
        let cold = if bypasses { unbuffered } else { IoPolicy::default() };
        let record = self.work.record_size;
        let mut probe = Probe {
            data: connection.file(&pass.file.path, self.work.policy, context).await?,
            reserve: connection.file(reserve, cold, context).await?,
            cold_again: bypasses,
            known_hot: connection.file(known_hot, IoPolicy::default(), context).await?,
            connection,
            record,
            random: Random::new(self.random.next(), 0),
        };
        let mut places: Vec<u64> =
            (0..self.plan.triples(record)).map(|n| n * CacheProbePlan::apart(record)).collect();
        self.random.shuffle(&mut places);
        let mut workload = Workload::new(self.work, self.random.next());
        let records = self.work.grid().records;
        // The state in which the workload leaves the server after one pass is the one that is asked for.
        workload.perform(pass, records, context).await?;
        let before = context.storage_read();
        let mut operations = 0;
        let distances = self.plan.distances(self.work);
        let begin = context.clock.now();
        for place in places {
            if context.clock.now() - begin > LONGEST {
                break;
            }
            let more = SPACING.0 + self.random.below(SPACING.1);
            workload.perform(pass, more, context).await?;
            operations += more;
            let distance = log_uniform(&distances, &mut self.random);
            seen.probes.distances.push(distance * u64::from(record));
            let ahead = workload.upcoming.ahead(distance).offset;
            probe.look(place, ahead, pass.file, context, tally, &mut seen.probes).await?;
            if self.random.below(NEXT_EVERY) == 0 {
                let next = workload.upcoming.ahead(0).offset;
                seen.probes.next.push(probe.read(probe.data, next, context).await?);
            }
        }
        // What a probe fetched ahead is what the workload would have fetched; cold records are the probes' own.
        let own = (seen.probes.cold.len() + seen.probes.cold_again.len()) as u64 * u64::from(record);
        seen.while_probed = context.storage_read().zip(before).map(|(after, before)| WhileProbed {
            read: operations * u64::from(record),
            storage_read: after.saturating_sub(before).saturating_sub(own),
        });
        Ok(())
    }
}

/// A number of `range`, each octave of which is equally likely: what differs with the distance does so from one power
/// of two to the next.
fn log_uniform(range: &RangeInclusive<u64>, random: &mut Random) -> u64 {
    let least = (*range.start() as f64).ln();
    let most = (*range.end() as f64).ln();
    let drawn = (least + (most - least) * random.unit()).exp().round() as u64;
    drawn.clamp(*range.start(), *range.end())
}

/// The probe connection, and the files that are read over it.
struct Probe<'a> {
    connection: &'a mut ProbeConnection,
    data: FileRef,
    reserve: FileRef,
    /// True if each record of the reserve is read twice.
    cold_again: bool,
    known_hot: FileRef,
    record: u32,
    random: Random,
}

impl Probe<'_> {
    /// One probe of each kind: a record from `place` of the reserve, the one from `ahead` of the workload's file, the
    /// same again, and one of the known-hot file.
    async fn look(
        &mut self,
        place: u64,
        ahead: u64,
        file: &FileState,
        context: &mut PassContext<'_>,
        tally: &mut Tally,
        seen: &mut ProbeTimes,
    ) -> Result<(), Ended> {
        let cold_first = self.random.below(2) == 0;
        if cold_first {
            self.look_cold(place, context, seen).await?;
        }
        seen.ahead.push(self.read(self.data, ahead, context).await?);
        // What is checked here is none of the cell's bytes; what is wrong here is wrong.
        let expected = file.expected(ahead, self.record);
        let buffer = self.connection.buffer(self.record);
        if let Err(error) = verify(context.verify, &file.path, buffer, ahead, expected).result {
            tally.failure(error);
        }
        seen.hot.push(self.read(self.data, ahead, context).await?);
        if !cold_first {
            self.look_cold(place, context, seen).await?;
        }
        let records = CacheProbePlan::known_hot(self.record) / u64::from(self.record);
        let hot = self.random.below(records) * u64::from(self.record);
        seen.known_hot.push(self.read_after(hot, self.known_hot, hot, context).await?);
        Ok(())
    }

    /// The probe of a cold record, and a second one where it should be cold again.
    async fn look_cold(
        &mut self,
        place: u64,
        context: &mut PassContext<'_>,
        seen: &mut ProbeTimes,
    ) -> Result<(), Ended> {
        seen.cold.push(self.read(self.reserve, place, context).await?);
        if self.cold_again {
            seen.cold_again.push(self.read(self.reserve, place, context).await?);
        }
        Ok(())
    }

    /// A timed read after an untimed one, of the known-hot file's first record.
    async fn read(
        &mut self,
        file: FileRef,
        offset: u64,
        context: &mut PassContext<'_>,
    ) -> Result<u64, OpError> {
        self.read_after(0, file, offset, context).await
    }

    /// A server that has nothing to do sleeps, and whichever kind of probe came first would pay for waking it: a read from
    /// `first` of the known-hot file does.
    async fn read_after(
        &mut self,
        first: u64,
        file: FileRef,
        offset: u64,
        context: &mut PassContext<'_>,
    ) -> Result<u64, OpError> {
        self.connection.read(self.known_hot, first, self.record, context).await?;
        self.connection.read(file, offset, self.record, context).await
    }
}

/// The cell's workload, which continues unmeasured.
struct Workload<'a> {
    work: &'a RecordWork,
    upcoming: Upcoming<'a>,
    /// Records left of the pass under way.
    left: u64,
}

impl<'a> Workload<'a> {
    fn new(work: &'a RecordWork, seed: u64) -> Self {
        Self { work, upcoming: Upcoming::new(work, Random::new(seed, 0)), left: 0 }
    }

    /// Performs N operations; a new pass begins when one ends.
    async fn perform(
        &mut self,
        pass: &mut RecordPass<'_>,
        mut operations: u64,
        context: &mut PassContext<'_>,
    ) -> Result<(), StepError> {
        while operations > 0 {
            if self.left == 0 {
                self.left = self.work.grid().records;
                if self.work.test.start() == Start::Cold {
                    let mut scratch = Random::new(0, 0);
                    // It is not the first pass, so nothing is read that could fail.
                    pass.prepare(false, &mut scratch, context, &mut Tally::default()).await?;
                }
            }
            let count = operations.min(self.left);
            let accesses: Vec<RecordAccess> = (0..count).map(|_| self.upcoming.next()).collect();
            let handle = pass.open()?;
            let record_size = self.work.record_size;
            let depth = self.work.queue_depth;
            let session = &mut *pass.session;
            let file = &mut *pass.file;
            let pass = Pass { context, session, file, handle, record_size, depth, content: None };
            let mut unmeasured = Tally::default();
            pass.run(accesses.into_iter(), &mut unmeasured).await?;
            if let Some(error) = unmeasured.failure_samples.into_iter().next() {
                return Err(error.into());
            }
            self.left -= count;
            operations -= count;
        }
        Ok(())
    }
}

impl From<OpError> for Ended {
    fn from(error: OpError) -> Self {
        Self::Probe(error)
    }
}
