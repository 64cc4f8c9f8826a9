//! A motor: one simulated user that copies files, thinks, and copies again.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use sharebench_model::{
    DataOp, ErrorClass, FileRef, MetaOp, MetaYield, OpError, OpenHow, Random, Reply, Slot, Stability,
    WireCount,
};
use sharebench_plan::{CopyDirection, Transaction, TransactionWork, Verify};
use sharebench_target::{Session, SessionSpec, Target};

use crate::clock::Clock;
use crate::deadline::Deadline;
use crate::pass::{mismatch_error, short};
use crate::stamp::{self, Content};
use crate::stop::StopSignal;
use crate::tally::Tally;

/// Longest sleep without a look at the stop signal.
const NAP: Duration = Duration::from_millis(100);
/// Pause before a lost session is opened again.
const RECONNECT: Duration = Duration::from_millis(500);

/// The measured part of a step, in nanoseconds of the engine's clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    /// When motors may begin.
    pub start: u64,
    /// When measuring begins.
    pub measure: u64,
    /// When everything ends.
    pub end: u64,
}

/// What all motors of one thread share.
pub(crate) struct Crew<'a> {
    pub target: &'a dyn Target,
    pub work: &'a TransactionWork,
    pub clock: &'a Clock,
    pub stop: &'a StopSignal,
    pub verify: Verify,
    pub timeout: Duration,
    /// Our directory on the target.
    pub directory: &'a str,
    pub spec: SessionSpec,
    pub seed: u64,
    pub tally: Rc<RefCell<Tally>>,
}

/// One simulated user.
pub(crate) struct Motor<'a> {
    crew: &'a Crew<'a>,
    number: u32,
    session: Option<Box<dyn Session>>,
    deadline: Deadline,
    random: Random,
    wire: WireCount,
    /// Copies on the target that this motor made, with their generation.
    copies: BTreeMap<usize, u32>,
    reported: bool,
}

/// File id of the shared data set's file `index`.
pub(crate) const fn set_file_id(index: usize) -> u32 {
    0x8000_0000 | index as u32
}

impl<'a> Motor<'a> {
    /// Motor `number` of its step, not yet connected.
    pub fn new(crew: &'a Crew<'a>, number: u32) -> Self {
        Self {
            crew,
            number,
            session: None,
            deadline: Deadline::new(crew.timeout),
            random: Random::new(crew.seed, 0x1000 + u64::from(number)),
            wire: WireCount::default(),
            copies: BTreeMap::new(),
            reported: false,
        }
    }

    /// Opens the motor's session; a failure is counted and tried again later.
    pub async fn connect(&mut self) {
        match self.crew.target.connect(&self.crew.spec).await {
            Ok(session) => {
                self.wire = session.wire();
                self.session = Some(session);
            }
            Err(error) => self.book_failure(OpError::new(error.class, "connect", error.to_string())),
        }
    }

    /// Performs transactions until the window ends or the run is stopped.
    pub async fn work(&mut self, window: Window) {
        let think = self.crew.work.think.as_nanos() as u64;
        // Starts are spread over one think time, so that users do not march in step.
        let mut intended = window.start + self.random.below(think.max(1));
        let mut round: Vec<Transaction> = Vec::new();
        while self.sleep_until(intended, window.end).await {
            if self.session.is_none() {
                self.connect().await;
                if self.session.is_none() {
                    intended = self.crew.clock.now() + RECONNECT.as_nanos() as u64;
                    continue;
                }
            }
            if round.is_empty() {
                round.clone_from(&self.crew.work.workload.transactions);
                self.random.shuffle(&mut round);
            }
            let Some(transaction) = round.pop() else { return };
            self.transaction(transaction, intended, window).await;
            intended = self.crew.clock.now() + think;
        }
    }

    /// Removes the motor's copies and logs off.
    pub async fn clean(mut self) {
        for file in std::mem::take(&mut self.copies).into_keys() {
            let path = self.copy_path(file);
            if let Some(session) = self.session.as_deref_mut() {
                // The engine removes the whole directory in the end: what fails here is not lost.
                let _ = self.deadline.call(session, MetaOp::Remove { path }).await;
            }
        }
        if let Some(session) = self.session.take() {
            session.close().await;
        }
    }

    /// Sleeps to `instant`; false when the window or the run ended first.
    async fn sleep_until(&self, instant: u64, end: u64) -> bool {
        loop {
            let now = self.crew.clock.now();
            if self.crew.stop.is_stopped() || now >= end {
                return false;
            }
            if now >= instant {
                return true;
            }
            let nap = now + NAP.as_nanos() as u64;
            tokio::time::sleep_until(self.crew.clock.instant(instant.min(end).min(nap))).await;
        }
    }

    async fn transaction(&mut self, transaction: Transaction, intended: u64, window: Window) {
        let started = self.crew.clock.now();
        let result = match transaction.direction {
            CopyDirection::ToServer => self.copy_to_server(transaction.file, window).await,
            CopyDirection::FromServer => self.copy_from_server(transaction.file, window).await,
        };
        let ended = self.crew.clock.now();
        let mut tally = self.crew.tally.borrow_mut();
        match result {
            Ok(true) if ended >= window.measure && ended < window.end => {
                tally.transactions += 1;
                tally.response.record(ended - intended.min(started));
                tally.service.record(ended - started);
                tally.lag.record(started.saturating_sub(intended));
                tally.motors_reported += u32::from(!self.reported);
                self.reported = true;
            }
            Ok(true) => {}
            Ok(false) => tally.censored += 1,
            Err(error) => {
                drop(tally);
                if matches!(
                    error.class,
                    ErrorClass::Disconnected | ErrorClass::Timeout | ErrorClass::Protocol | ErrorClass::Stale
                ) {
                    self.session = None;
                }
                self.book_failure(error);
            }
        }
    }

    /// Reads a file of the shared set into memory; false when the window ended first.
    async fn copy_from_server(&mut self, index: usize, window: Window) -> Result<bool, OpError> {
        let file = &self.crew.work.workload.files[index];
        let path = format!("{}/set-{}", self.crew.directory, file.name);
        let handle = self.open(path, OpenHow::Read).await?;
        let content = Content { file: set_file_id(index), generation: 1 };
        let mut whole = true;
        for (offset, len) in blocks(file.bytes, self.crew.work.workload.block) {
            self.data(DataOp::Read { file: handle, offset, len }, len, window).await?;
            let verify = self.crew.verify;
            let buffer = self.session_mut()?.buffer(Slot(0));
            stamp::verify(&buffer[..len as usize], content, offset, verify)
                .map_err(|mismatch| mismatch_error(file.name, &mismatch))?;
            if self.is_over(window) {
                whole = false;
                break;
            }
        }
        self.meta(MetaOp::Close { file: handle }).await?;
        Ok(whole)
    }

    /// Writes a file from memory under a name of this motor; false when the window ended first.
    async fn copy_to_server(&mut self, index: usize, window: Window) -> Result<bool, OpError> {
        let file = &self.crew.work.workload.files[index];
        let how = if self.copies.contains_key(&index) { OpenHow::ReadWrite } else { OpenHow::CreateNew };
        let handle = self.open(self.copy_path(index), how).await?;
        let generation = self.copies.entry(index).or_default();
        *generation += 1;
        let content = Content { file: (self.number + 1) << 8 | index as u32, generation: *generation };
        let mut whole = true;
        for (offset, len) in blocks(file.bytes, self.crew.work.workload.block) {
            stamp::fill(&mut self.session_mut()?.buffer(Slot(0))[..len as usize], content, offset);
            self.data(
                DataOp::Write { file: handle, offset, len, stability: Stability::Unstable },
                len,
                window,
            )
            .await?;
            if self.is_over(window) {
                whole = false;
                break;
            }
        }
        self.meta(MetaOp::Close { file: handle }).await?;
        Ok(whole)
    }

    fn copy_path(&self, index: usize) -> String {
        format!("{}/m{}-{}", self.crew.directory, self.number, self.crew.work.workload.files[index].name)
    }

    fn is_over(&self, window: Window) -> bool {
        self.crew.stop.is_stopped() || self.crew.clock.now() >= window.end
    }

    fn session_mut(&mut self) -> Result<&mut dyn Session, OpError> {
        match self.session.as_deref_mut() {
            Some(session) => Ok(session),
            None => Err(OpError::new(ErrorClass::Disconnected, "session", "no session")),
        }
    }

    async fn open(&mut self, path: String, how: OpenHow) -> Result<FileRef, OpError> {
        match self.meta(MetaOp::open(path, how)).await? {
            MetaYield::Opened { file, .. } => Ok(file),
            _ => Err(OpError::new(ErrorClass::Protocol, "open", "no file in the reply")),
        }
    }

    async fn meta(&mut self, op: MetaOp) -> Result<MetaYield, OpError> {
        let Self { session, deadline, .. } = self;
        match session.as_deref_mut() {
            Some(session) => deadline.call(session, op).await,
            None => Err(OpError::new(ErrorClass::Disconnected, "session", "no session")),
        }
    }

    /// One data operation, counted when it ends within the measured window.
    async fn data(&mut self, op: DataOp, len: u32, window: Window) -> Result<(), OpError> {
        let Self { session, deadline, crew, wire, .. } = self;
        let Some(session) = session.as_deref_mut() else {
            return Err(OpError::new(ErrorClass::Disconnected, "session", "no session"));
        };
        let mut replies: Vec<Reply> = Vec::with_capacity(1);
        session.submit(Slot(0), op);
        deadline.replies(session, &mut replies).await?;
        let bytes = replies.swap_remove(0).result?;
        if bytes != len {
            let (DataOp::Read { offset, .. } | DataOp::Write { offset, .. }) = op else { return Ok(()) };
            return Err(short(bytes, len, offset));
        }
        let counted = session.wire();
        let now = crew.clock.now();
        if now >= window.measure && now < window.end {
            let mut tally = crew.tally.borrow_mut();
            tally.operations += 1;
            tally.wire += counted.since(*wire);
            match op {
                DataOp::Read { .. } => {
                    tally.bytes.read += u64::from(len);
                    tally.verified += if crew.verify == Verify::Off { 0 } else { u64::from(len) };
                }
                _ => tally.bytes.written += u64::from(len),
            }
        }
        *wire = counted;
        Ok(())
    }

    fn book_failure(&self, error: OpError) {
        self.crew.tally.borrow_mut().failure(error);
    }
}

/// (offset, length) of the blocks of a copy; the last may be short.
pub(crate) fn blocks(bytes: u64, block: u32) -> impl Iterator<Item = (u64, u32)> {
    let step = u64::from(block);
    (0..bytes.div_ceil(step)).map(move |n| (n * step, (bytes - n * step).min(step) as u32))
}

#[cfg(test)]
mod tests {
    use super::blocks;

    #[test]
    fn blocks_cover_a_file_exactly() {
        let list: Vec<_> = blocks(250, 100).collect();
        assert_eq!(list, [(0, 100), (100, 100), (200, 50)]);
    }
}
