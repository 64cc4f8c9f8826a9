//! A job of a throughput cell: a session of its own, a file or a part of one, and a tally.

use sharebench_model::{
    FileRef, JobShare, MetaOp, MetaYield, OpError, OpenHow, Random, SessionOp, StepError,
};
use sharebench_plan::Start;
use sharebench_target::{Session, SessionSpec};

use crate::cell::access_pattern::FilePart;
use crate::cell::cell_context::CellContext;
use crate::cell::policy::CacheObservation;
use crate::cell::record_pass::RecordPass;
use crate::cell::rounds::{Phase, PhasedJob};
use crate::cell::server_cache;
use crate::data::context::PassContext;
use crate::data::file_state::FileState;
use crate::record::tally::Tally;
use crate::time::deadline::Deadline;

/// One of several concurrent jobs of a throughput cell.
///
/// It owns its session, the state of its file (or of its part of a shared file), its random numbers and its tally. It
/// connects in the first phase, performs one phase after the other on the same thread, and logs off in the last. Its
/// tally is merged with those of the other jobs when the cell ends, so that nothing on the measured path is shared.
pub(crate) struct Job<'a> {
    cell: &'a CellContext<'a>,
    number: u32,
    session: Option<Box<dyn Session>>,
    file: FileState,
    handle: Option<FileRef>,
    /// The state of the file's cache before the current passes.
    observation: Option<CacheObservation>,
    context: PassContext<'a>,
    random: Random,
    tally: Tally,
    worked_ns: u64,
}

impl<'a> Job<'a> {
    /// Makes job `number` of a cell. It has no session until [`Phase::Connect`].
    pub fn new(cell: &'a CellContext<'a>, number: u32, file: FileState) -> Self {
        let clock = cell.clock;
        let stop = cell.stop;
        let verify = cell.verify;
        let context = PassContext::new(clock, stop, verify, Deadline::new(clock, cell.timeout));
        let random = Random::new(cell.seed, 0x20_0000 + u64::from(number));
        Self {
            cell,
            number,
            session: None,
            file,
            handle: None,
            observation: None,
            context,
            random,
            tally: Tally::default(),
            worked_ns: 0,
        }
    }

    fn is_fresh(&self) -> bool {
        self.cell.work.test.start() == Start::Fresh
    }

    fn creates(&self) -> bool {
        !self.cell.work.shared_file || self.number == 0
    }

    async fn connect(&mut self) -> Result<(), OpError> {
        let slots = self.cell.work.queue_depth;
        let slot_bytes = self.cell.work.request_size();
        let spec = SessionSpec { slots, slot_bytes, connect_timeout: self.cell.timeout, allow_split: false };
        self.session = Some(self.cell.target.connect(&spec).await?);
        Ok(())
    }

    async fn prepare(&mut self, first: bool) -> Result<(), StepError> {
        self.ensure_open().await?;
        if self.number == 0 {
            self.displace().await?;
        }
        let (mut pass, context, random, tally) = self.pass()?;
        let observation = pass.prepare(first, random, context, tally).await?;
        self.observation = Some(observation);
        Ok(())
    }

    /// Displaces the server's cache for all jobs: the others start when this one is prepared.
    async fn displace(&mut self) -> Result<(), StepError> {
        let Self { cell, session, file, context, .. } = self;
        let Some(session) = session.as_deref_mut() else { return Err(OpError::no_session().into()) };
        server_cache::displace(cell.work, session, &file.path, cell.work.request_size(), context).await
    }

    async fn ensure_open(&mut self) -> Result<(), OpError> {
        if self.handle.is_none() {
            self.handle = Some(self.open(OpenHow::ReadWrite).await?);
        }
        Ok(())
    }

    async fn run(&mut self, passes: u64, at: u64) -> Result<(u64, u64), StepError> {
        let (mut pass, context, random, tally) = self.pass()?;
        if at > 0 {
            context.clock.sleep_precise(at).await;
            tally.late_ns = tally.late_ns.max(context.clock.now().saturating_sub(at));
        }
        let started = context.clock.now();
        for _ in 0..passes {
            pass.run(random, context, tally).await?;
            pass.conclude(context, tally).await?;
        }
        let ended = context.clock.now();
        self.worked_ns += ended - started;
        Ok((started, ended))
    }

    async fn release(&mut self) -> Result<(), StepError> {
        let observation = self.observation.take();
        if self.handle.is_none() && !self.cell.work.policy.is_normal() {
            // What it left in the caches is seen through an open file only.
            self.ensure_open().await?;
        }
        let (mut pass, context, _, tally) = self.pass()?;
        pass.release(context).await?;
        if let Some(observation) = observation {
            pass.look(observation, context, tally).await?;
        }
        if self.is_fresh()
            && let Some(file) = self.handle.take()
        {
            self.call(MetaOp::Close { file }).await?;
        }
        Ok(())
    }

    /// The pass over the job's file, with the context, random numbers and tally that it needs.
    fn pass(&mut self) -> Result<(RecordPass<'_>, &mut PassContext<'a>, &mut Random, &mut Tally), OpError> {
        let Self { cell, number, session, file, handle, context, random, tally, .. } = self;
        let Some(session) = session.as_deref_mut() else { return Err(OpError::no_session()) };
        let work = cell.work;
        let part = match work.jobs {
            Some(count) if work.shared_file => FilePart { index: *number, count },
            _ => FilePart::WHOLE,
        };
        Ok((RecordPass { work, part, session, file, handle }, context, random, tally))
    }

    async fn open(&mut self, how: OpenHow) -> Result<FileRef, OpError> {
        let path = self.file.path.clone();
        let open = MetaOp::Open { path, how, policy: self.cell.work.policy };
        let (file, _) = self.call(open).await?.into_opened()?;
        Ok(file)
    }

    async fn call(&mut self, op: impl Into<SessionOp>) -> Result<MetaYield, OpError> {
        let Self { session, context, .. } = self;
        match session.as_deref_mut() {
            Some(session) => context.deadline.call(session, op).await,
            None => Err(OpError::no_session()),
        }
    }
}

impl PhasedJob for Job<'_> {
    type Lent = FileState;

    async fn perform(&mut self, phase: Phase) -> Result<Option<(u64, u64)>, StepError> {
        match phase {
            Phase::Connect => self.connect().await?,
            Phase::Create if self.creates() => self.handle = Some(self.open(OpenHow::CreateNew).await?),
            Phase::Prepare { first } => self.prepare(first).await?,
            Phase::Run { passes, at } => return self.run(passes, at).await.map(Some),
            Phase::Release => self.release().await?,
            Phase::Remove if self.creates() => {
                let path = self.file.path.clone();
                self.call(MetaOp::Remove { path }).await?;
            }
            Phase::Create | Phase::Remove => {}
            Phase::Leave => {
                if let Some(session) = self.session.take() {
                    session.close().await;
                }
            }
        }
        Ok(None)
    }

    fn end(self) -> (Tally, JobShare, FileState) {
        let share = JobShare {
            bytes: self.tally.bytes.total(),
            operations: self.tally.operations,
            passes: self.tally.passes,
            worked_ns: self.worked_ns,
        };
        (self.tally, share, self.file)
    }
}
