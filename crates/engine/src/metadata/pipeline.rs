//! A pass of a metadata test at a queue depth above 1: several operations in flight on the session of a job.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use sharebench_model::StepError;
use sharebench_target::Session;

use crate::data::context::PassContext;
use crate::metadata::directory_set::BatchState;
use crate::metadata::entries::Batch;
use crate::metadata::slot_session::{SharedSlots, SlotSession};
use crate::record::tally::Tally;

/// What a slot keeps from one pass to the next: its deadline, and what it counted.
pub(crate) struct PipelineSlot<'a> {
    context: PassContext<'a>,
    pub tally: Tally,
}

impl<'a> PipelineSlot<'a> {
    /// Slots for `depth` operations in flight, with the settings of `context`.
    pub fn of(depth: u32, context: &PassContext<'a>) -> Vec<Self> {
        (0..depth).map(|_| Self { context: context.another(), tally: Tally::default() }).collect()
    }
}

/// Performs the operation of the test on every entry of the batches. Each slot takes the next entry when its last operation has
/// ended, so that as many operations are in flight as there are slots, until the entries run out. After a failure that ends the
/// step, or a stop, no further operation begins, and those in flight are waited for, because they are on the wire.
pub(crate) async fn pass(
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
                if context.stop.is_stopped() {
                    return Err(StepError::Stopped);
                }
                let operated = batch.operate(number, state, &mut session, context, tally).await;
                operated.inspect_err(|_| has_failed.set(true))?;
            }
            Ok(())
        }
    });
    let mut running: Vec<_> = work.map(|work| Some(Box::pin(work))).collect();
    let mut ended = Ok(());
    poll_fn(|cx| drive(&mut running, &shared, &mut ended, cx)).await;
    ended
}

/// The work of a slot; none once it has ended.
type Running<F> = Option<Pin<Box<F>>>;

/// Continues the slots whose replies have arrived until all have ended. The first failure is kept.
fn drive<F: Future<Output = Result<(), StepError>>>(
    running: &mut [Running<F>],
    shared: &RefCell<SharedSlots<'_>>,
    ended: &mut Result<(), StepError>,
    cx: &mut Context<'_>,
) -> Poll<()> {
    let mut is_woken_by_reply = false;
    let mut has_looked_at_all = false;
    loop {
        for (number, slot) in running.iter_mut().enumerate() {
            let Some(work) = slot.as_mut().filter(|_| shared.borrow_mut().take_due(number)) else { continue };
            if let Poll::Ready(result) = work.as_mut().poll(cx) {
                *slot = None;
                if ended.is_ok() {
                    *ended = result;
                }
            }
        }
        if running.iter().all(Option::is_none) {
            return Poll::Ready(());
        }
        if shared.borrow_mut().receive(cx) {
            is_woken_by_reply = true;
        } else if is_woken_by_reply || has_looked_at_all {
            return Poll::Pending;
        } else {
            // Woken without a reply: the deadline of a slot may be over, or this is the first time.
            shared.borrow_mut().all_due();
            has_looked_at_all = true;
        }
    }
}
