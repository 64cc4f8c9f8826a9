//! A pass of a metadata test at a queue depth above 1: several operations in flight on the session of a job.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use sharebench_model::{MetaOp, OpError, StepError};
use sharebench_target::Session;

use crate::data::context::PassContext;
use crate::metadata::connected::Connected;
use crate::metadata::directory_set::BatchState;
use crate::metadata::entries::{Batch, BatchEntry};
use crate::metadata::entry_test::{EntryOperation, EntryTest};
use crate::metadata::slot_session::{SharedSlots, SlotSession};
use crate::record::request::SLOT;
use crate::record::tally::Tally;
use crate::time::deadline::Deadline;

/// What a slot keeps from one pass to the next: its deadline, and what it counted.
pub(crate) struct PipelineSlot<'a> {
    context: PassContext<'a>,
    pub tally: Tally,
}

impl<'a> PipelineSlot<'a> {
    /// Slots for `depth` operations in flight, with the settings of `context`.
    pub fn new(depth: u32, context: &PassContext<'a>) -> Vec<Self> {
        (0..depth).map(|_| Self { context: context.another(), tally: Tally::default() }).collect()
    }
}

/// Performs the operation of the test on every entry of the batches. Each slot takes the next entry when its last operation has
/// ended, so that as many operations are in flight as there are slots, until the entries run out. After a failure that ends the
/// step, or a stop, no further operation begins, and those in flight are waited for, because they are on the wire.
pub(crate) async fn pass<T: EntryTest>(
    batches: &[Batch<'_>],
    state: &BatchState,
    session: &mut dyn Session,
    slot_bytes: u32,
    slots: &mut [PipelineSlot<'_>],
) -> Result<(), StepError> {
    let entries = batches.iter().flat_map(|batch| batch.numbers.clone().map(move |number| (batch, number)));
    let entries = RefCell::new(entries.fuse());
    let shared = RefCell::new(SharedSlots::new(session, slots.len() as u32));
    let has_failed = Cell::new(false);
    let take = || entries.borrow_mut().next();
    let work = slots.iter_mut().enumerate().map(|(number, PipelineSlot { context, tally })| {
        let mut session = SlotSession::new(&shared, number as u32, slot_bytes);
        let take = &take;
        let has_failed = &has_failed;
        async move {
            while !has_failed.get()
                && let Some((batch, number)) = take()
            {
                context.check_stop()?;
                let entry = BatchEntry { batch, number, state };
                let at = Connected::new(&mut session, context);
                let operated = T::operate(&mut EntryOperation { entry, at, tally }).await;
                operated.inspect_err(|_| has_failed.set(true))?;
            }
            Ok(())
        }
    });
    let mut running: Vec<_> = work.map(Running::new).collect();
    let mut ended = Ok(());
    poll_fn(|cx| drive(&mut running, &shared, &mut ended, cx)).await;
    ended
}

/// Performs one operation on a session that has several in flight, as a pass does, so that the first operation of a pass does not
/// pay for what the session needs for that, such as threads.
pub(crate) async fn perform_one(
    session: &mut dyn Session,
    op: MetaOp,
    deadline: &mut Deadline,
) -> Result<(), OpError> {
    session.submit_call(SLOT, op)?;
    let reply = async {
        let mut replies = Vec::with_capacity(1);
        poll_fn(|cx| session.poll_calls(cx, &mut replies)).await;
        // One operation in flight has exactly one reply.
        replies.swap_remove(0).reply
    };
    deadline.within(Box::pin(reply)).await?.result.map(drop)
}

/// The work of a slot.
struct Running<F> {
    /// None once it has ended.
    work: Option<Pin<Box<F>>>,
    /// Wakes this slot; none before the first turn.
    waker: Option<(Arc<SlotWaker>, Waker)>,
}

impl<F: Future<Output = Result<(), StepError>>> Running<F> {
    fn new(work: F) -> Self {
        Self { work: Some(Box::pin(work)), waker: None }
    }

    /// Has the slot wake the task that polls it now.
    fn wake_through(&mut self, task: &Waker) {
        if self.waker.as_ref().is_none_or(|(waker, _)| !waker.task.will_wake(task)) {
            let waker = Arc::new(SlotWaker { is_due: AtomicBool::new(true), task: task.clone() });
            self.waker = Some((Arc::clone(&waker), Waker::from(waker)));
        }
    }

    /// Continues the work if its slot was woken or its reply has arrived; some once it has ended.
    fn take_turn(&mut self, has_reply: bool) -> Option<Result<(), StepError>> {
        let (Some(work), Some((slot, waker))) = (&mut self.work, &self.waker) else { return None };
        // Both end with this turn.
        let is_woken = slot.is_due.swap(false, Ordering::AcqRel);
        if !is_woken && !has_reply {
            return None;
        }
        let Poll::Ready(result) = work.as_mut().poll(&mut Context::from_waker(waker)) else { return None };
        self.work = None;
        Some(result)
    }
}

/// Wakes one slot of a job, so that its timer is not lost among the replies to the others.
struct SlotWaker {
    is_due: AtomicBool,
    task: Waker,
}

impl Wake for SlotWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.is_due.store(true, Ordering::Release);
        self.task.wake_by_ref();
    }
}

/// Continues the slots whose replies have arrived, or whose timers are over, until all have ended. The first failure is kept.
fn drive<F: Future<Output = Result<(), StepError>>>(
    running: &mut [Running<F>],
    shared: &RefCell<SharedSlots<'_>>,
    ended: &mut Result<(), StepError>,
    cx: &mut Context<'_>,
) -> Poll<()> {
    for slot in running.iter_mut() {
        slot.wake_through(cx.waker());
    }
    loop {
        for (number, slot) in running.iter_mut().enumerate() {
            let has_reply = shared.borrow_mut().take_due(number);
            if let Some(result) = slot.take_turn(has_reply)
                && ended.is_ok()
            {
                *ended = result;
            }
        }
        if running.iter().all(|slot| slot.work.is_none()) {
            return Poll::Ready(());
        }
        if !shared.borrow_mut().receive(cx) {
            return Poll::Pending;
        }
    }
}
