//! MPI in this process, and the transport between all processes that one launcher started.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mpi::datatype::PartitionMut;
use mpi::environment::Universe;
use mpi::request::{Request, Scope, StaticScope, scope};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Equivalence, Root, Source};
use mpi::{Count, Tag, Threading};
use sharebench_cluster::{Alert, Lost, RankProcess, Transport, WaitMode};

/// Tag of messages between two ranks.
const MESSAGE: Tag = 1;
/// Tag of alerts, of one byte each.
const ALERT: Tag = 2;
/// First and longest pause between two polls.
const POLL_INTERVALS: (Duration, Duration) = (Duration::from_micros(20), Duration::from_millis(1));
/// The byte of each alert. It is static because the send may complete after the call returned.
static STOP: [u8; 1] = [1];
static STOPPING: [u8; 1] = [2];

/// MPI in this process, from its initialisation to its finalisation.
///
/// It owns the MPI library's state. A process starts it once, creates transports from it, and ends it after the
/// last message; MPI cannot be started again afterwards. All calls into the library hold one lock, because the
/// library is initialised for serialised calls: full thread support costs latency in most implementations.
struct MpiProcess {
    universe: Universe,
    lock: Arc<Mutex<()>>,
}

/// Starts MPI. All processes of the launcher must call it.
pub fn start() -> Result<Box<dyn RankProcess>, String> {
    let wanted = Threading::Serialized;
    let (universe, given) =
        mpi::initialize_with_threading(wanted).ok_or("MPI was started before in this process")?;
    if given < wanted {
        return Err("this MPI library serves one thread only: use one built with thread support".into());
    }
    Ok(Box::new(MpiProcess { universe, lock: Arc::default() }))
}

impl RankProcess for MpiProcess {
    fn transport(&self) -> Box<dyn Transport> {
        Box::new(Group { communicator: self.universe.world(), lock: Arc::clone(&self.lock) })
    }

    fn end(self: Box<Self>) {
        drop(self.universe);
    }

    fn abort(&self, code: u8) -> ! {
        self.universe.world().abort(i32::from(code))
    }
}

/// The transport among a group of processes.
struct Group {
    communicator: SimpleCommunicator,
    /// Held during each call of MPI, which is initialised for serialised calls.
    lock: Arc<Mutex<()>>,
}

// SAFETY: MPI allows any thread to use the communicator if calls do not overlap, and each call holds the lock. One
// thread at a time creates and frees communicators.
unsafe impl Send for Group {}
// SAFETY: as above.
unsafe impl Sync for Group {}

impl Group {
    fn locked(&self) -> MutexGuard<'_, ()> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Polls until `attempt` returns a value. Between two attempts other threads can use the library.
    fn until<T>(&self, patience: WaitMode, mut attempt: impl FnMut() -> Option<T>) -> T {
        let (mut pause, longest) = POLL_INTERVALS;
        loop {
            {
                let _held = self.locked();
                if let Some(done) = attempt() {
                    return done;
                }
            }
            match patience {
                WaitMode::Spin => std::thread::yield_now(),
                WaitMode::Sleep => {
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(longest);
                }
            }
        }
    }

    fn complete<'a, D: ?Sized, S: Scope<'a>>(&self, request: Request<'a, D, S>, patience: WaitMode) {
        let mut pending = Some(request);
        self.until(patience, || match pending.take()?.test() {
            Ok(_) => Some(()),
            Err(request) => {
                pending = Some(request);
                None
            }
        });
    }

    fn broadcast_into<T: Equivalence>(&self, buffer: &mut [T]) {
        scope(|scope| {
            let request = {
                let _held = self.locked();
                self.communicator.process_at_rank(0).immediate_broadcast_into(scope, buffer)
            };
            self.complete(request, WaitMode::Sleep);
        });
    }

    /// Collects on rank 0 the number of bytes that each rank is about to send.
    fn lengths(&self, own: Count) -> Vec<Count> {
        let mut lengths = vec![0; if self.rank() == 0 { self.size() as usize } else { 0 }];
        let own = [own];
        scope(|scope| {
            let request = self.locked();
            let root = self.communicator.process_at_rank(0);
            if self.rank_held() == 0 {
                let started = root.immediate_gather_into_root(scope, &own[..], &mut lengths[..]);
                drop(request);
                self.complete(started, WaitMode::Sleep);
            } else {
                let started = root.immediate_gather_into(scope, &own[..]);
                drop(request);
                self.complete(started, WaitMode::Sleep);
            }
        });
        lengths
    }

    /// Returns the rank, for callers that hold the lock.
    fn rank_held(&self) -> u32 {
        self.communicator.rank().cast_unsigned()
    }
}

fn count(rank: u32, bytes: &[u8]) -> Result<Count, Lost> {
    Count::try_from(bytes.len())
        .map_err(|_| Lost { rank, why: "a message of 2 GiB is too long for MPI".into() })
}

impl Transport for Group {
    fn rank(&self) -> u32 {
        let _held = self.locked();
        self.rank_held()
    }

    fn size(&self) -> u32 {
        let _held = self.locked();
        self.communicator.size().cast_unsigned()
    }

    fn send(&self, to: u32, bytes: &[u8]) -> Result<(), Lost> {
        count(to, bytes)?;
        scope(|scope| {
            let request = {
                let _held = self.locked();
                let there = self.communicator.process_at_rank(to.cast_signed());
                there.immediate_send_with_tag(scope, bytes, MESSAGE)
            };
            self.complete(request, WaitMode::Sleep);
        });
        Ok(())
    }

    fn receive(&self, from: u32, patience: WaitMode) -> Result<Vec<u8>, Lost> {
        let from = from.cast_signed();
        let (message, status) = self.until(patience, || {
            self.communicator.process_at_rank(from).immediate_matched_probe_with_tag(MESSAGE)
        });
        let mut bytes = vec![0; usize::try_from(status.count(u8::equivalent_datatype())).unwrap_or(0)];
        scope(|scope| {
            let request = {
                let _held = self.locked();
                message.immediate_matched_receive_into(scope, &mut bytes[..])
            };
            self.complete(request, patience);
        });
        Ok(bytes)
    }

    fn alert(&self, to: u32, alert: Alert) {
        let byte: &'static [u8] = match alert {
            Alert::Stop => &STOP,
            Alert::Stopping => &STOPPING,
        };
        let _held = self.locked();
        let there = self.communicator.process_at_rank(to.cast_signed());
        let request: Request<'static, [u8]> = there.immediate_send_with_tag(StaticScope, byte, ALERT);
        if let Err(pending) = request.test() {
            // A message of one byte completes by itself, unless its receiver is gone. Dropping the request would
            // wait for it.
            std::mem::forget(pending);
        }
    }

    fn alerts(&self) -> Vec<(u32, Alert)> {
        let _held = self.locked();
        let mut received = Vec::new();
        let any = self.communicator.any_process();
        while let Some((message, status)) = any.immediate_matched_probe_with_tag(ALERT) {
            let mut byte = [0_u8; 1];
            message.matched_receive_into(&mut byte[..]);
            let alert = if byte == STOP { Alert::Stop } else { Alert::Stopping };
            received.push((status.source_rank().cast_unsigned(), alert));
        }
        received
    }

    fn barrier(&self) -> Result<(), Lost> {
        let request = {
            let _held = self.locked();
            self.communicator.immediate_barrier()
        };
        self.complete(request, WaitMode::Sleep);
        Ok(())
    }

    fn broadcast(&self, bytes: &[u8]) -> Result<Vec<u8>, Lost> {
        let mut bytes = if self.rank() == 0 { bytes.to_vec() } else { Vec::new() };
        let mut length = [u64::try_from(count(0, &bytes)?).unwrap_or(0)];
        self.broadcast_into(&mut length);
        bytes.resize(length[0] as usize, 0);
        self.broadcast_into(&mut bytes);
        Ok(bytes)
    }

    fn gather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, Lost> {
        let own = count(self.rank(), bytes)?;
        let lengths = self.lengths(own);
        let leading = self.rank() == 0;
        let whole: i64 = lengths.iter().map(|length| i64::from(*length)).sum();
        let mut all = vec![0_u8; usize::try_from(whole).unwrap_or(0)];
        count(0, &all)?;
        let begins: Vec<Count> =
            lengths.iter().scan(0, |at, length| Some(std::mem::replace(at, *at + length))).collect();
        scope(|outer| {
            let held = self.locked();
            let root = self.communicator.process_at_rank(0);
            if leading {
                let mut places = PartitionMut::new(&mut all[..], lengths.clone(), &begins[..]);
                scope(|inner| {
                    let started = root.immediate_gather_varcount_into_root(inner, bytes, &mut places);
                    drop(held);
                    self.complete(started, WaitMode::Sleep);
                });
            } else {
                let started = root.immediate_gather_varcount_into(outer, bytes);
                drop(held);
                self.complete(started, WaitMode::Sleep);
            }
        });
        let mut rest = all.as_slice();
        let mut parts = Vec::with_capacity(lengths.len());
        for length in lengths {
            let (part, more) = rest.split_at(usize::try_from(length).unwrap_or(0).min(rest.len()));
            parts.push(part.to_vec());
            rest = more;
        }
        Ok(parts)
    }

    fn subgroup(&self, size: u32) -> Option<Box<dyn Transport>> {
        let _held = self.locked();
        let included = self.rank_held() < size;
        let color =
            if included { mpi::topology::Color::with_value(0) } else { mpi::topology::Color::undefined() };
        let communicator = self.communicator.split_by_color(color)?;
        Some(Box::new(Self { communicator, lock: Arc::clone(&self.lock) }))
    }
}
