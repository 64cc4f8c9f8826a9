//! A session of many slots: bursts go to `io_uring` in one system call, completions are read from shared memory.

use std::future::ready;
use std::mem::ManuallyDrop;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use io_uring::{IoUring, opcode, squeue, types};
use sharebench_model::{
    CpuTime, DataOp, ErrorClass, Fact, MetaOp, MetaReply, OpError, OpStep, Reply, SessionOp, Slot, Stability,
    TargetFacts, WireCount,
};
use sharebench_target::{
    CallReply, Extensions, LocalBoxFuture, OverlappingCalls, Readings, Session, whole_transfer,
};

use super::overlapping_calls::file_of;
use super::session_core::{SessionCore, copy_mapped};
use super::slot_threads::{Completion, SlotBuffer, SlotThreads, Work, WorkResult};
use crate::buffers::Buffers;
use crate::data_op::{file_and_len, too_long};
use crate::error_code::ErrorCode;

/// How long a dropped session waits for what is in flight before it leaves the memory to the system.
const DRAIN: Duration = Duration::from_secs(5);

/// The operation in flight that uses a slot.
#[derive(Debug, Clone, Copy)]
struct Flight {
    op: DataOp,
    fd: i32,
    /// Bytes of a write that earlier, short requests transferred.
    done: u32,
    requests: u32,
}

impl Flight {
    /// The result of the operation; none if a part of it is still to be done.
    fn settle(&mut self, result: i32) -> Option<Result<u32, ErrorCode>> {
        // A completion holds a negative error number instead of setting errno.
        let Ok(bytes) = u32::try_from(result) else { return Some(Err(ErrorCode(-result))) };
        match self.op {
            DataOp::Write { len, .. } => {
                self.done += bytes;
                match (self.done >= len, bytes) {
                    (true, _) => Some(Ok(len)),
                    (false, 0) => Some(Err(ErrorCode(libc::EIO))),
                    (false, _) => None,
                }
            }
            // A short read is the end of the file, so it is not continued.
            DataOp::Read { .. } | DataOp::Flush { .. } => Some(Ok(bytes)),
        }
    }

    fn step(&self) -> &'static str {
        match self.op {
            DataOp::Read { .. } => "io_uring read",
            DataOp::Write { .. } => "io_uring write",
            DataOp::Flush { .. } => "io_uring fsync",
        }
    }
}

/// A session with many slots over one `io_uring`.
///
/// Submitted operations are queued in the ring. Polling hands all of them to the kernel in one system call and reads
/// completions from shared memory; while nothing has completed it blocks in `io_uring_enter`, so a job with such a
/// session owns its thread. The ring belongs to the thread that made it.
///
/// Operations on names in flight are not for the ring: from the first of them on, each slot has a thread that performs its
/// operations on names and on data, see [`SlotThreads`], and polling no longer blocks.
///
/// Invariant: the slots' buffers stay mapped until the kernel has completed every operation on them. Therefore a
/// session that is dropped cancels what is in flight and waits for it; if that takes too long, it leaks ring and
/// buffers instead of freeing memory into which the kernel may still write.
pub(crate) struct UringSession {
    core: SessionCore,
    ring: ManuallyDrop<IoUring>,
    /// Outlives every operation in flight, also when the session is dropped.
    buffers: ManuallyDrop<Buffers>,
    /// The buffers are registered with the ring.
    fixed: bool,
    flights: Vec<Option<Flight>>,
    /// Operations without a completion, including those not yet submitted.
    flying: usize,
    /// Operations in the ring that no system call has submitted yet.
    queued: usize,
    /// The threads of the slots; none before the first operation on names that may overlap with others.
    threads: Option<SlotThreads>,
    /// Replies to operations that never reached the ring.
    answered: Vec<Reply>,
    /// Replies to operations on names that the next poll gives.
    called: Vec<CallReply>,
    broken: Option<ErrorCode>,
}

fn ring(entries: u32) -> std::io::Result<IoUring> {
    let modern = IoUring::builder()
        .setup_submit_all()
        // One thread submits and reaps, so the kernel needs no locking and can run completions when this
        // thread enters.
        .setup_single_issuer()
        .setup_defer_taskrun()
        .dontfork()
        .build(entries);
    // Linux before 6.1 does not know these flags; only speed differs.
    modern.or_else(|_| IoUring::builder().dontfork().build(entries))
}

impl UringSession {
    pub fn new(core: SessionCore, buffers: Buffers) -> Result<Self, ErrorCode> {
        let slots = buffers.slots();
        let ring =
            ring(slots.next_power_of_two() as u32).map_err(|error| ErrorCode::from_io_error(&error))?;
        let iovec = |slot| libc::iovec {
            iov_base: buffers.address(Slot(slot as u32)).cast(),
            iov_len: buffers.slot_bytes(),
        };
        let iovecs: Vec<_> = (0..slots).map(iovec).collect();
        // SAFETY: the buffers outlive the ring (see `Drop`). Refused beyond RLIMIT_MEMLOCK: only speed differs.
        let fixed = unsafe { ring.submitter().register_buffers(&iovecs) }.is_ok();
        Ok(Self {
            core,
            ring: ManuallyDrop::new(ring),
            buffers: ManuallyDrop::new(buffers),
            fixed,
            flights: vec![None; slots],
            flying: 0,
            queued: 0,
            threads: None,
            answered: Vec::with_capacity(slots),
            called: Vec::new(),
            broken: None,
        })
    }

    /// Checks an operation against its slot and file, and returns the open file.
    fn checked(&self, slot: Slot, op: DataOp) -> Result<i32, OpError> {
        let (file, len) = file_and_len(op);
        if let Some(errno) = self.broken {
            return Err(errno.at("io_uring"));
        }
        if len as usize > self.buffers.slot_bytes() {
            return Err(too_long(len, self.buffers.slot_bytes()));
        }
        if !self.is_idle(slot) {
            return Err(OpError::slot_not_idle());
        }
        self.core.fd(file)
    }

    fn is_idle(&self, slot: Slot) -> bool {
        matches!(self.flights.get(slot.0 as usize), Some(None))
            && self.threads.as_ref().is_none_or(|threads| threads.is_idle(slot))
    }

    /// Operations in flight of either kind.
    fn in_flight(&self) -> usize {
        self.flying + self.threads.as_ref().map_or(0, SlotThreads::in_flight)
    }

    /// Begins a data operation, by the thread of the slot if there is one.
    fn begin(&mut self, slot: Slot, op: DataOp) -> Result<(), OpError> {
        let fd = self.checked(slot, op)?;
        let Some(threads) = &mut self.threads else {
            self.push(slot, Flight { op, fd, done: 0, requests: 0 });
            return Ok(());
        };
        let (file, len) = file_and_len(op);
        let buffer = SlotBuffer { address: self.buffers.address(slot), len: len as usize };
        threads.begin(slot, Work::Data { fd, op, buffer }, Some(file))
    }

    /// Begins an operation on names or whole files by the thread of its slot.
    fn begin_call(&mut self, slot: Slot, op: MetaOp) -> Result<(), OpError> {
        if !self.is_idle(slot) {
            return Err(OpError::slot_not_idle());
        }
        if !op.can_overlap() {
            return Err(OpError::cannot_overlap());
        }
        let threads = match &mut self.threads {
            Some(threads) => threads,
            none => none.insert(SlotThreads::start(self.flights.len(), &self.core.directories)?),
        };
        let file = file_of(&op);
        let is_closed = matches!(op, MetaOp::Close { .. });
        // A file that is closed under another operation could pass its descriptor number to another file.
        let in_ring = |file| self.flights.iter().flatten().any(|flight| file_and_len(flight.op).0 == file);
        if let Some(file) = file.filter(|file| is_closed && (threads.uses(*file) || in_ring(*file))) {
            return Err(OpError::new(ErrorClass::Busy, OpStep::Submit, format!("{file:?} is in use")));
        }
        let mut requests = 0;
        let call = self.core.prepared(op, &mut requests)?;
        // The reference to a file that is being closed is invalid already.
        threads.begin(slot, Work::Call { call, requests }, file.filter(|_| !is_closed))
    }

    /// Turns what the threads have completed into replies; `waker` is woken when something else completes.
    fn collect(&mut self, waker: &Waker) {
        let Some(threads) = &mut self.threads else { return };
        for Completion { slot, requests, result } in threads.collect(waker) {
            self.core.requests += u64::from(requests);
            match result {
                WorkResult::Call(outcome) => {
                    let result = outcome.and_then(|outcome| self.core.completed(outcome));
                    self.called.push(CallReply { slot, reply: MetaReply { result, requests } });
                }
                WorkResult::Data(result) => {
                    let result = result.map_err(|(errno, call)| self.core.failure(errno, call));
                    self.answered.push(Reply { slot, result, requests });
                }
            }
        }
    }

    fn entry(&self, slot: Slot, flight: &Flight) -> squeue::Entry {
        let fd = types::Fd(flight.fd);
        let address = self.buffers.address(slot);
        let entry = match flight.op {
            DataOp::Read { offset, len, .. } if self.fixed => {
                opcode::ReadFixed::new(fd, address, len, slot.0 as u16).offset(offset).build()
            }
            DataOp::Read { offset, len, .. } => opcode::Read::new(fd, address, len).offset(offset).build(),
            DataOp::Write { offset, len, stability, .. } => {
                let flags = if stability == Stability::Durable { libc::RWF_DSYNC } else { 0 };
                let offset = offset + u64::from(flight.done);
                let len = len - flight.done;
                let address = address.wrapping_add(flight.done as usize);
                if self.fixed {
                    let write = opcode::WriteFixed::new(fd, address, len, slot.0 as u16);
                    write.offset(offset).rw_flags(flags).build()
                } else {
                    opcode::Write::new(fd, address, len).offset(offset).rw_flags(flags).build()
                }
            }
            DataOp::Flush { .. } => opcode::Fsync::new(fd).build(),
        };
        // The completion finds its slot by this number alone, in any order.
        entry.user_data(u64::from(slot.0))
    }

    /// Puts an operation into the ring, which has one entry per slot.
    fn push(&mut self, slot: Slot, mut flight: Flight) {
        flight.requests += 1;
        let entry = self.entry(slot, &flight);
        // SAFETY: the entry's buffer is the slot's own, which lives until its completion was reaped.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        if let (Ok(()), Some(place)) = (pushed, self.flights.get_mut(slot.0 as usize)) {
            *place = Some(flight);
            self.queued += 1;
            self.flying += 1;
        } else {
            let detail = "the submission queue is full";
            let full = OpError::new(ErrorClass::Busy, OpStep::SystemCall("io_uring"), detail);
            self.answered.push(Reply { slot, result: Err(full), requests: 0 });
        }
    }

    /// Turns completions into replies.
    fn reap(&mut self, replies: &mut Vec<Reply>) {
        loop {
            let Some(completion) = self.ring.completion().next() else { break };
            let slot = Slot(completion.user_data() as u32);
            let Some(mut flight) = self.flights.get_mut(slot.0 as usize).and_then(Option::take) else {
                continue;
            };
            self.flying -= 1;
            match flight.settle(completion.result()) {
                // The rest of a short write goes again, so that the system says why it was short.
                None => self.push(slot, flight),
                Some(result) => {
                    let result = result.map_err(|errno| self.core.failure(errno, flight.step()));
                    self.core.requests += u64::from(flight.requests);
                    replies.push(Reply { slot, result, requests: flight.requests });
                }
            }
        }
    }

    /// Submits the queued operations and waits for at least `want` completions.
    fn enter(&mut self, want: usize) -> Result<(), ErrorCode> {
        match self.ring.submit_and_wait(want) {
            Ok(taken) => {
                self.queued -= taken.min(self.queued);
                Ok(())
            }
            Err(error) => match ErrorCode::from_io_error(&error) {
                // Interrupted, or temporarily out of memory or completion entries: the caller retries.
                ErrorCode(libc::EINTR | libc::EAGAIN | libc::EBUSY) => Ok(()),
                errno => Err(errno),
            },
        }
    }

    /// The ring itself failed: every operation in flight gets an error reply, and its memory is leaked.
    #[cold]
    fn give_up(&mut self, errno: ErrorCode, replies: &mut Vec<Reply>) {
        self.broken = Some(errno);
        for (slot, place) in self.flights.iter_mut().enumerate() {
            if let Some(flight) = place.take() {
                self.core.requests += u64::from(flight.requests);
                let result = Err(errno.at("io_uring_enter"));
                replies.push(Reply { slot: Slot(slot as u32), result, requests: flight.requests });
            }
        }
        self.queued = 0;
    }
}

impl Session for UringSession {
    fn facts(&self) -> TargetFacts {
        let mut facts = self.core.facts.clone();
        facts.state(Fact::RegisteredBuffers, if self.fixed { "yes" } else { "no" });
        facts
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.buffers.slot(slot)
    }

    fn max_transfer(&self, op: DataOp) -> u32 {
        whole_transfer(op)
    }

    fn submit(&mut self, slot: Slot, op: DataOp) {
        if let Some(mapping) = self.core.mapping(op).filter(|_| self.is_idle(slot)) {
            let result = copy_mapped(mapping, op, self.buffers.slot(slot));
            return self.answered.push(Reply { slot, result, requests: 0 });
        }
        if let Err(error) = self.begin(slot, op) {
            self.answered.push(Reply { slot, result: Err(error), requests: 0 });
        }
    }

    fn poll_replies(&mut self, cx: &mut Context<'_>, replies: &mut Vec<Reply>) -> Poll<()> {
        let before = replies.len();
        self.collect(cx.waker());
        replies.append(&mut self.answered);
        self.reap(replies);
        // All queued operations are submitted even if replies are ready: the depth must not shrink while the
        // engine verifies them. The call blocks only while there is nothing to return.
        while self.queued > 0 || (self.flying > 0 && replies.len() == before) {
            if let Err(errno) = self.enter(usize::from(replies.len() == before)) {
                self.give_up(errno, replies);
                break;
            }
            self.reap(replies);
        }
        if replies.len() > before { Poll::Ready(()) } else { Poll::Pending }
    }

    fn perform_call(&mut self, op: SessionOp) -> LocalBoxFuture<'_, MetaReply> {
        // A file that is closed under a queued operation could pass its descriptor number to another file.
        if self.in_flight() > 0 {
            let detail = format!("{} operations in flight", self.in_flight());
            let busy = OpError::new(ErrorClass::Busy, OpStep::Submit, detail);
            return Box::pin(ready(MetaReply { result: Err(busy), requests: 0 }));
        }
        Box::pin(self.core.call(op))
    }

    fn wire(&self) -> WireCount {
        WireCount { requests: self.core.requests, ..WireCount::default() }
    }

    fn extensions(&mut self) -> Option<&mut dyn Extensions> {
        Some(self)
    }

    fn readings(&self) -> Option<&dyn Readings> {
        Some(self)
    }

    fn close(self: Box<Self>) -> LocalBoxFuture<'static, ()> {
        drop(self);
        Box::pin(async {})
    }
}

impl Extensions for UringSession {
    fn calls(&mut self) -> Option<&mut dyn OverlappingCalls> {
        Some(self)
    }
}

impl OverlappingCalls for UringSession {
    fn submit_call(&mut self, slot: Slot, op: MetaOp) -> Result<(), OpError> {
        self.begin_call(slot, op)
    }

    fn poll_calls(&mut self, cx: &mut Context<'_>, replies: &mut Vec<CallReply>) -> Poll<()> {
        self.collect(cx.waker());
        if self.called.is_empty() {
            return Poll::Pending;
        }
        replies.append(&mut self.called);
        Poll::Ready(())
    }
}

impl Readings for UringSession {
    fn threads_cpu(&self) -> CpuTime {
        self.threads.as_ref().map_or_else(CpuTime::default, SlotThreads::cpu)
    }

    fn mount_wire(&self) -> Option<WireCount> {
        self.core.counter.as_ref()?.read()
    }
}

impl UringSession {
    /// Waits until nothing is in flight; false when that takes too long.
    fn drain(&mut self) -> bool {
        let deadline = Instant::now() + DRAIN;
        let mut replies = Vec::new();
        while self.flying > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || self.broken.is_some() {
                return false;
            }
            let left = types::Timespec::from(left.min(Duration::from_millis(200)));
            let waited = self.ring.submitter().submit_with_args(1, &types::SubmitArgs::new().timespec(&left));
            if let Err(error) = waited
                && !matches!(
                    ErrorCode::from_io_error(&error).0,
                    libc::ETIME | libc::EINTR | libc::EAGAIN | libc::EBUSY
                )
            {
                return false;
            }
            self.reap(&mut replies);
        }
        true
    }
}

impl Drop for UringSession {
    fn drop(&mut self) {
        if self.flying > 0 {
            let any = types::CancelBuilder::any();
            // Files on disk rarely can be cancelled; then their operations simply end.
            let _ = self.ring.submitter().register_sync_cancel(Some(types::Timespec::new()), any);
        }
        let threads_ended = self.threads.take().is_none_or(|threads| threads.drain(DRAIN));
        if self.drain() && threads_ended {
            // SAFETY: dropped once, here; nothing in flight refers to ring or buffers any more.
            unsafe {
                ManuallyDrop::drop(&mut self.ring);
                ManuallyDrop::drop(&mut self.buffers);
            }
        }
        // Otherwise a server hangs. The system may still write into the buffers, so they stay mapped.
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sharebench_model::FileRef;

    #[test]
    fn a_short_write_continues_where_it_stopped() {
        let op = DataOp::Write { file: FileRef(0), offset: 0, len: 100, stability: Stability::Unstable };
        let mut flight = Flight { op, fd: 0, done: 0, requests: 1 };
        assert_eq!((flight.settle(60), flight.done), (None, 60));
        assert_eq!(flight.settle(-libc::ENOSPC), Some(Err(ErrorCode(libc::ENOSPC))));
        assert_eq!(flight.settle(0), Some(Err(ErrorCode(libc::EIO))));
        assert_eq!(flight.settle(40), Some(Ok(100)));
    }
}
