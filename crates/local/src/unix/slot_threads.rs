//! A thread for each slot of a session, so that operations on names are in flight together.

use std::os::unix::thread::JoinHandleExt as _;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sharebench_model::{CpuTime, DataOp, ErrorClass, FileRef, OpError, OpStep, Slot};

use super::directories::Directories;
use super::overlapping_calls::{CallOutcome, OverlappingCall};
use super::sys;
use super::transfer::transfer;
use crate::error_code::ErrorCode;

/// Bytes of the stack of a thread, which makes system calls only.
const STACK_BYTES: usize = 256 << 10;
/// Pause of a session that is dropped between two looks at what is still in flight.
const DRAIN_INTERVAL: Duration = Duration::from_millis(1);

/// The threads of the slots of a session.
///
/// Linux has no interface for operations on names that returns before they have ended: `io_uring` gives them to threads of the
/// kernel, and does not have all of them. Each slot therefore has a thread, which performs the operations of its slot one after
/// the other, data operations as well. A thread hands its completion over and wakes the task that polls the session, which is
/// not blocked meanwhile.
///
/// Invariant: the buffer of a data operation stays mapped until its completion was collected or [`Self::drain`] has ended.
#[derive(Debug)]
pub(crate) struct SlotThreads {
    threads: Vec<SlotThread>,
    completed: Arc<Completed>,
    in_flight: usize,
}

#[derive(Debug)]
struct SlotThread {
    work: Sender<Work>,
    thread: JoinHandle<()>,
    is_busy: bool,
    /// The open file that the operation in flight uses.
    file: Option<FileRef>,
}

/// What a thread performs.
#[derive(Debug)]
pub(crate) enum Work {
    /// `requests` are the system calls that preparing it took.
    Call {
        call: OverlappingCall,
        requests: u32,
    },
    Data {
        fd: i32,
        op: DataOp,
        buffer: SlotBuffer,
    },
}

/// The part of a slot's buffer that an operation uses.
#[derive(Debug)]
pub(crate) struct SlotBuffer {
    pub address: *mut u8,
    pub len: usize,
}

// SAFETY: the memory belongs to the slot, and nobody else touches it while the slot is in flight.
unsafe impl Send for SlotBuffer {}

/// The end of an operation.
#[derive(Debug)]
pub(crate) struct Completion {
    pub slot: Slot,
    /// System calls.
    pub requests: u32,
    pub result: WorkResult,
}

#[derive(Debug)]
pub(crate) enum WorkResult {
    Call(Result<CallOutcome, OpError>),
    Data(Result<u32, (ErrorCode, &'static str)>),
}

/// The completions that the session has not collected, and who waits for the next one.
#[derive(Debug, Default)]
struct Completed(Mutex<(Vec<Completion>, Option<Waker>)>);

impl Completed {
    fn lock(&self) -> MutexGuard<'_, (Vec<Completion>, Option<Waker>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, completion: Completion) {
        let waker = {
            let mut completed = self.lock();
            completed.0.push(completion);
            completed.1.take()
        };
        // One wake serves all completions until the session is polled.
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl SlotThreads {
    /// Starts a thread for each of `slots`. The threads have the descriptor table of the calling thread.
    pub fn start(slots: usize, directories: &Directories) -> Result<Self, OpError> {
        let completed = Arc::<Completed>::default();
        let start = |slot: usize| {
            let (work, received) = channel();
            let directories = directories.clone();
            let completed = Arc::clone(&completed);
            let run = move || perform_all(Slot(slot as u32), &received, &directories, &completed);
            let thread = std::thread::Builder::new().name(format!("slot {slot}")).stack_size(STACK_BYTES);
            let thread = thread.spawn(run)?;
            Ok(SlotThread { work, thread, is_busy: false, file: None })
        };
        let threads: Result<Vec<_>, std::io::Error> = (0..slots).map(start).collect();
        let threads = threads.map_err(|error| {
            let detail = format!("{slots} operations on names in flight need as many threads: {error}");
            OpError::new(ErrorClass::Refused, OpStep::Submit, detail)
        })?;
        Ok(Self { threads, completed, in_flight: 0 })
    }

    /// CPU time that the threads have used. Their clocks do not divide it. It counts as that of the kernel, because they do hardly
    /// anything but system calls.
    pub fn cpu(&self) -> CpuTime {
        let of_threads = self.threads.iter().map(|slot| sys::thread_cpu_ns(slot.thread.as_pthread_t()));
        CpuTime { user_ns: 0, kernel_ns: of_threads.sum() }
    }

    /// Operations in flight.
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// True if the slot has nothing in flight.
    pub fn is_idle(&self, slot: Slot) -> bool {
        self.threads.get(slot.0 as usize).is_some_and(|thread| !thread.is_busy)
    }

    /// True if an operation in flight uses the file.
    pub fn uses(&self, file: FileRef) -> bool {
        self.threads.iter().any(|thread| thread.file == Some(file))
    }

    /// Begins work on an idle slot; `file` is the open file that it uses.
    pub fn begin(&mut self, slot: Slot, work: Work, file: Option<FileRef>) -> Result<(), OpError> {
        let thread = self.threads.get_mut(slot.0 as usize).filter(|thread| !thread.is_busy);
        let thread = thread.ok_or_else(OpError::slot_not_idle)?;
        thread
            .work
            .send(work)
            .map_err(|_| OpError::new(ErrorClass::Io, OpStep::Submit, "the thread of the slot has ended"))?;
        thread.is_busy = true;
        thread.file = file;
        self.in_flight += 1;
        Ok(())
    }

    /// The operations that have ended. If there are none, `waker` is woken when one ends.
    pub fn collect(&mut self, waker: &Waker) -> Vec<Completion> {
        let completions = {
            let mut completed = self.completed.lock();
            if completed.0.is_empty() && self.in_flight > 0 {
                completed.1 = Some(waker.clone());
            }
            std::mem::take(&mut completed.0)
        };
        self.settle(&completions);
        completions
    }

    fn settle(&mut self, completions: &[Completion]) {
        self.in_flight -= completions.len();
        for completion in completions {
            if let Some(thread) = self.threads.get_mut(completion.slot.0 as usize) {
                thread.is_busy = false;
                thread.file = None;
            }
        }
    }

    /// Waits until nothing is in flight and ends the threads; false if that takes longer than `limit`. The threads then end with
    /// their operations.
    pub fn drain(mut self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        while self.in_flight > 0 {
            if Instant::now() >= deadline {
                return false;
            }
            let completions = std::mem::take(&mut self.completed.lock().0);
            self.settle(&completions);
            if completions.is_empty() {
                std::thread::sleep(DRAIN_INTERVAL);
            }
        }
        for SlotThread { work, thread, .. } in self.threads {
            // Without a sender the thread ends.
            drop(work);
            let _ = thread.join();
        }
        true
    }
}

/// The main function of a thread: performs what arrives until the session drops its sender.
fn perform_all(slot: Slot, work: &Receiver<Work>, directories: &Directories, completed: &Completed) {
    for work in work {
        let mut requests = 0;
        let result = match work {
            Work::Call { call, requests: before } => {
                requests = before;
                WorkResult::Call(call.perform(directories, &mut requests))
            }
            Work::Data { fd, op, buffer } => {
                // SAFETY: the session gave `len` bytes of its slot, which it neither touches nor unmaps before the completion.
                let slot = unsafe { std::slice::from_raw_parts_mut(buffer.address, buffer.len) };
                WorkResult::Data(transfer(fd, op, slot, &mut requests))
            }
        };
        completed.push(Completion { slot, requests, result });
    }
}
