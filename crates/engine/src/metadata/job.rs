//! A job of a metadata cell: a session of its own, its batches, and a tally.

use std::time::Duration;

use sharebench_cluster::Ranks;
use sharebench_model::{ErrorClass, JobShare, MetaOp, MetadataGroup, OpError, StepError, WireCount};
use sharebench_plan::{MetadataWork, Verify};
use sharebench_target::{Session, SessionSpec, Target};

use crate::cell::rounds::{Phase, PhasedJob, Span};
use crate::data::context::PassContext;
use crate::metadata::connected::Connected;
use crate::metadata::directory_set::{BatchState, DirectorySet, EntryDirectory};
use crate::metadata::driver::Driver;
use crate::metadata::entries::{Batch, after_pass, prepared};
use crate::metadata::entry_names::{EntryKind, entry_name};
use crate::metadata::entry_test::EntryPass;
use crate::metadata::listing::{ListingTest, check_count, list, walk};
use crate::metadata::pipeline::{self, PipelineSlot};
use crate::metadata::verify::{verify_attributes, verify_names};
use crate::record::meter::Meter;
use crate::record::tally::Tally;
use crate::time::clock::Clock;
use crate::time::deadline::Deadline;
use crate::time::stop::StopSignal;

/// Smallest buffer of a session.
const MIN_SLOT_BYTES: u32 = 4096;

/// What all jobs of a metadata cell share.
pub(crate) struct MetadataCell<'a> {
    pub target: &'a dyn Target,
    pub work: &'a MetadataWork,
    pub driver: Driver,
    pub set: &'a DirectorySet,
    pub clock: &'a Clock,
    pub stop: &'a StopSignal,
    pub verify: Verify,
    pub timeout: Duration,
    /// The other processes of the cell; none for one that is alone.
    pub ranks: Option<&'a Ranks>,
}

/// One of the jobs of a metadata cell. It performs the operations of the test on its batches, one at a time, or with as many in
/// flight as the cell's queue depth.
pub(crate) struct MetadataJob<'a> {
    pub(super) cell: &'a MetadataCell<'a>,
    pub(super) number: u32,
    session: Option<Box<dyn Session>>,
    /// The session that holds, denies or watches what the first one works on, with its context; none where the test has one
    /// session.
    second: Option<(Box<dyn Session>, PassContext<'a>)>,
    state: BatchState,
    pub(super) context: PassContext<'a>,
    pub(super) tally: Tally,
    /// The slots of the session at a queue depth above 1; none at depth 1.
    slots: Vec<PipelineSlot<'a>>,
    pub(super) worked_ns: u64,
    /// The file that links are made to, that is copied, or that all jobs lock.
    pub(super) source: String,
}

/// What the operations of a job need at once.
pub(super) struct JobParts<'s, 'a> {
    pub first: Connected<'s, 'a>,
    /// None where the test has one session.
    pub second: Option<Connected<'s, 'a>>,
    pub tally: &'s mut Tally,
}

/// What a round of operations is measured with.
pub(super) struct MeasuredRound {
    meter: Meter,
    /// Requests of the second session before the round.
    second: WireCount,
    /// Instant of the start in nanoseconds.
    started: u64,
}

impl<'a> MetadataJob<'a> {
    pub fn new(cell: &'a MetadataCell<'a>, number: u32, state: BatchState) -> Self {
        let deadline = Deadline::new(cell.clock, cell.timeout);
        let context = PassContext::new(cell.clock, cell.stop, cell.verify, deadline);
        let source = cell.set.source(cell.work);
        let depth = cell.work.queue_depth;
        let slots = if depth > 1 { PipelineSlot::new(depth, &context) } else { Vec::new() };
        let tally = Tally::default();
        Self { cell, number, session: None, second: None, state, context, tally, slots, worked_ns: 0, source }
    }

    /// Bytes of a slot of the session.
    fn slot_bytes(&self) -> u32 {
        self.cell.work.request_size().max(MIN_SLOT_BYTES)
    }

    async fn connect(&mut self) -> Result<(), OpError> {
        let spec = SessionSpec {
            slots: self.cell.work.queue_depth,
            slot_bytes: self.slot_bytes(),
            connect_timeout: self.cell.timeout,
            allow_split: true,
        };
        if self.cell.work.test.declaration().second_session {
            let spec = SessionSpec { slots: 1, slot_bytes: MIN_SLOT_BYTES, ..spec.clone() };
            self.second = Some((self.cell.target.connect(&spec).await?, self.context.another()));
        }
        self.session = Some(self.cell.target.connect(&spec).await?);
        Ok(())
    }

    /// The first session.
    pub(super) fn connected(&mut self) -> Result<Connected<'_, 'a>, OpError> {
        let session = self.session.as_deref_mut().ok_or_else(OpError::no_session)?;
        Ok(Connected::new(session, &mut self.context))
    }

    /// The second session.
    pub(super) fn second(&mut self) -> Result<Connected<'_, 'a>, OpError> {
        let (session, context) = self.second.as_mut().ok_or_else(OpError::no_session)?;
        Ok(Connected::new(session.as_mut(), context))
    }

    /// All that operations need at once.
    pub(super) fn parts(&mut self) -> Result<JobParts<'_, 'a>, OpError> {
        let session = self.session.as_deref_mut().ok_or_else(OpError::no_session)?;
        let second = self.second.as_mut().map(|(session, context)| Connected::new(session.as_mut(), context));
        let first = Connected::new(session, &mut self.context);
        Ok(JobParts { first, second, tally: &mut self.tally })
    }

    /// The first directory that the job works in, which is the only one of tests with one entry.
    pub(super) fn directory(&self) -> &'a str {
        let cell = self.cell;
        cell.set.of_job(cell.work, self.number).first().map_or("", |directory| directory.path.as_str())
    }

    /// Finds the directories of the job, as a program that works in them has, so that no operation pays for the way to
    /// them.
    async fn enter(&mut self) -> Result<(), OpError> {
        let Self { cell, number, session, context, slots, .. } = self;
        let Some(session) = session.as_deref_mut() else { return Err(OpError::no_session()) };
        for EntryDirectory { path, across } in cell.set.of_job(cell.work, *number) {
            for directory in [path, across] {
                let missing = entry_name(EntryKind::Missing, 0, cell.work.name_length);
                let stat = MetaOp::Stat { path: format!("{directory}/{missing}") };
                let found = if slots.is_empty() {
                    context.deadline.call(session, stat).await.map(drop)
                } else {
                    pipeline::perform_one(session, stat, &mut context.deadline).await
                };
                match found {
                    Err(error) if error.class != ErrorClass::NotFound => return Err(error),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    async fn prepare(&mut self) -> Result<(), StepError> {
        let Self { cell, number, session, state, context, source, .. } = self;
        let session = session.as_deref_mut().ok_or_else(OpError::no_session)?;
        let mut at = Connected::new(session, context);
        for directory in cell.set.of_job(cell.work, *number) {
            batch(cell.work, directory, *number, source).prepare(*state, &mut at).await?;
        }
        *state = prepared(*state, cell.work);
        Ok(())
    }

    /// Waits for the common start of a round; 0 is at once.
    pub(super) async fn wait_for_start(&mut self, at: u64) {
        if at > 0 {
            self.context.clock.sleep_precise(at).await;
            self.tally.late_ns = self.tally.late_ns.max(self.context.clock.now().saturating_sub(at));
        }
    }

    /// Begins to measure the operations of a round, with the requests of both sessions of the job.
    pub(super) fn begin_round(&self) -> Result<MeasuredRound, OpError> {
        let session = self.session.as_deref().ok_or_else(OpError::no_session)?;
        let meter = Meter::start(self.context.clock, session);
        let second = self.second.as_ref().map(|(second, _)| second.wire()).unwrap_or_default();
        Ok(MeasuredRound { meter, second, started: self.context.clock.now() })
    }

    /// Ends it, and returns start and end of the operations in nanoseconds. The passes count if all of them succeeded.
    pub(super) fn end_round(
        &mut self,
        round: MeasuredRound,
        passes: u64,
        result: Result<(), StepError>,
    ) -> Result<(u64, u64), StepError> {
        let ended = self.context.clock.now();
        if let Some(session) = self.session.as_deref() {
            round.meter.stop(self.context.clock, session, &mut self.tally);
        }
        if let Some((second, _)) = &self.second {
            self.tally.wire += second.wire().since(round.second);
        }
        result?;
        self.tally.passes += passes;
        self.worked_ns += ended - round.started;
        Ok((round.started, ended))
    }

    async fn run(&mut self, passes: u64, at: u64) -> Result<(u64, u64), StepError> {
        self.wait_for_start(at).await;
        let started = self.context.clock.now();
        for _ in 0..passes {
            let Self { session, context, .. } = self;
            let Some(connected) = session.as_deref_mut() else { return Err(OpError::no_session().into()) };
            let meter = Meter::start(context.clock, connected);
            let result = self.pass().await;
            if let Some(session) = self.session.as_deref() {
                meter.stop(self.context.clock, session, &mut self.tally);
            }
            result?;
            self.tally.passes += 1;
        }
        let ended = self.context.clock.now();
        self.worked_ns += ended - started;
        Ok((started, ended))
    }

    /// One pass over all entries of the job.
    async fn pass(&mut self) -> Result<(), StepError> {
        let slot_bytes = self.slot_bytes();
        let Self { cell, number, session, state, context, tally, slots, source, .. } = self;
        let session = session.as_deref_mut().ok_or_else(OpError::no_session)?;
        let mut at = Connected::new(session, context);
        let work = cell.work;
        let directories = cell.set.of_job(work, *number);
        match cell.driver {
            Driver::Entries(pass) => {
                let batches =
                    directories.iter().map(|directory| batch(work, directory, *number, source)).collect();
                pass(EntryPass { batches, state, at, tally, slot_bytes, slots }).await?;
            }
            Driver::Listing(ListingTest::Walk) => {
                at.context.check_stop()?;
                let root = cell.set.walk_root(work, *number);
                let found = walk(root.clone(), &mut at, tally).await?;
                let files = u64::from(work.entries) * directories.len() as u64;
                tally.outcome(check_count(&root, found, files + inner_directories(work)))?;
            }
            Driver::Listing(listing) => {
                let attributes = listing == ListingTest::Attributes;
                for EntryDirectory { path, .. } in directories {
                    at.context.check_stop()?;
                    let (listed, _) = list(path, attributes, &mut at, tally).await?;
                    tally.outcome(check_count(path, listed, work.entries.into()))?;
                }
            }
            // Their jobs perform the operations of a round themselves.
            Driver::Locks(_) | Driver::Notifications | Driver::Caching(_) => {}
        }
        *state = after_pass(state, work);
        Ok(())
    }

    /// Compares the directories, and then the entries, with what the passes should have left.
    async fn verify(&mut self) -> Result<(), StepError> {
        let Self { cell, number, session, state, context, tally, .. } = self;
        if let Some(session) = session.as_deref_mut().filter(|_| cell.verify != Verify::Off) {
            let mut at = Connected::new(session, context);
            for directory in cell.set.verified_by(cell.work, *number) {
                verify_names(cell.work, directory, state, &mut at, tally).await?;
            }
        }
        self.verify_batches().await
    }

    /// Compares the entries of the job, and their content, with what the last pass should have left.
    async fn verify_batches(&mut self) -> Result<(), StepError> {
        let Self { cell, number, session, state, context, tally, source, .. } = self;
        if let Some(session) = session.as_deref_mut().filter(|_| cell.verify != Verify::Off) {
            let mut at = Connected::new(session, context);
            for directory in cell.set.of_job(cell.work, *number) {
                let batch = batch(cell.work, directory, *number, source);
                verify_attributes(&batch, state, &mut at, tally).await?;
            }
        }
        Ok(())
    }

    async fn leave(&mut self) -> Result<(), StepError> {
        let verified = self.verify().await;
        if let Some(session) = self.session.take() {
            session.close().await;
        }
        if let Some((session, _)) = self.second.take() {
            session.close().await;
        }
        verified
    }
}

impl PhasedJob for MetadataJob<'_> {
    type State = BatchState;

    async fn perform(&mut self, phase: Phase) -> Span {
        match phase {
            Phase::Connect => self.connect().await?,
            Phase::Prepare { first } => {
                if first {
                    self.enter().await?;
                } else if !self.cell.work.test.repeats()
                    && self.cell.work.test.group() == MetadataGroup::ServerSide
                {
                    // The next pass begins with other files, so that these are compared before.
                    self.verify_batches().await?;
                }
                self.prepare().await?;
            }
            Phase::Run { passes, at } => return self.run(passes, at).await.map(Some),
            Phase::Create | Phase::Release | Phase::Remove => {}
            Phase::Leave => self.leave().await?,
        }
        Ok(None)
    }

    fn end(mut self) -> (Tally, JobShare, BatchState) {
        for slot in self.slots {
            self.tally.merge(slot.tally);
        }
        let share = JobShare {
            bytes: self.tally.bytes.total(),
            operations: self.tally.operations,
            passes: self.tally.passes,
            worked_ns: self.worked_ns,
        };
        (self.tally, share, self.state)
    }
}

/// The batch of a job in one of its directories.
fn batch<'a>(work: &'a MetadataWork, directory: &'a EntryDirectory, job: u32, source: &'a str) -> Batch<'a> {
    let count = work.batch_per_directory();
    let first = if work.jobs_per_directory() > 1 { job * count } else { 0 };
    Batch { work, directory, numbers: first..first + count, source }
}

/// Directories of a tree below its top, which a walk meets as entries.
fn inner_directories(work: &MetadataWork) -> u64 {
    match work.layout {
        sharebench_plan::DirectoryLayout::Tree => {
            (1..=work.tree_depth).map(|level| u64::from(work.tree_fan_out).saturating_pow(level)).sum()
        }
        _ => 0,
    }
}
