//! All processes that one launcher started, and what they say to each other by MPI.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mpi::datatype::PartitionMut;
use mpi::environment::Universe;
use mpi::request::{Request, Scope, StaticScope, scope};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Equivalence, Root, Source};
use mpi::{Count, Tag, Threading};
use sharebench_cluster::{Alert, Lost, Patience, Transport};

/// Tag of messages between two ranks.
const MESSAGE: Tag = 1;
/// Tag of alerts, of one byte each.
const ALERT: Tag = 2;
/// First and longest nap of one that waits.
const NAPS: (Duration, Duration) = (Duration::from_micros(20), Duration::from_millis(1));
/// What an alert looks like: a byte that lives for ever, because nobody waits until it is sent.
static STOP: [u8; 1] = [1];
static STOPPING: [u8; 1] = [2];

/// Why MPI cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartError {
    /// It was started before in this process.
    Twice,
    /// The library was built for one thread only.
    Threads,
}

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Twice => "MPI was started before",
            Self::Threads => "this MPI library serves one thread only: use one built with thread support",
        })
    }
}

impl std::error::Error for StartError {}

/// MPI in this process, until it is ended.
pub struct World {
    universe: Universe,
    lock: Arc<Mutex<()>>,
}

impl World {
    /// Starts MPI; all processes of the launcher do.
    pub fn start() -> Result<Self, StartError> {
        let wanted = Threading::Serialized;
        let (universe, given) = mpi::initialize_with_threading(wanted).ok_or(StartError::Twice)?;
        if given < wanted {
            return Err(StartError::Threads);
        }
        Ok(Self { universe, lock: Arc::default() })
    }

    /// All of them.
    pub fn transport(&self) -> Box<dyn Transport> {
        Box::new(Group { communicator: self.universe.world(), lock: Arc::clone(&self.lock) })
    }

    /// Ends MPI; waits until all processes do.
    pub fn end(self) {
        drop(self.universe);
    }

    /// Ends all processes at once, this one too, with an exit code.
    pub fn abort(&self, code: u8) -> ! {
        self.universe.world().abort(i32::from(code))
    }
}

/// Some of the processes.
struct Group {
    communicator: SimpleCommunicator,
    /// Held around each call of MPI, which was told that calls come one at a time.
    lock: Arc<Mutex<()>>,
}

// SAFETY: the communicator is a handle that MPI allows any thread to use when calls do not overlap, and each call
// holds the lock; communicators are made and given up by one thread at a time.
unsafe impl Send for Group {}
// SAFETY: as above.
unsafe impl Sync for Group {}

impl Group {
    fn locked(&self) -> MutexGuard<'_, ()> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks again until `attempt` gives something; between two attempts the library is free for other threads.
    fn until<T>(&self, patience: Patience, mut attempt: impl FnMut() -> Option<T>) -> T {
        let (mut nap, longest) = NAPS;
        loop {
            {
                let _held = self.locked();
                if let Some(done) = attempt() {
                    return done;
                }
            }
            match patience {
                Patience::Spin => std::thread::yield_now(),
                Patience::Nap => {
                    std::thread::sleep(nap);
                    nap = (nap * 2).min(longest);
                }
            }
        }
    }

    fn complete<'a, D: ?Sized, S: Scope<'a>>(&self, request: Request<'a, D, S>, patience: Patience) {
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
            self.complete(request, Patience::Nap);
        });
    }

    /// Number of bytes that each rank is about to give; on rank 0.
    fn lengths(&self, own: Count) -> Vec<Count> {
        let mut lengths = vec![0; if self.rank() == 0 { self.size() as usize } else { 0 }];
        let own = [own];
        scope(|scope| {
            let request = self.locked();
            let root = self.communicator.process_at_rank(0);
            if self.rank_held() == 0 {
                let started = root.immediate_gather_into_root(scope, &own[..], &mut lengths[..]);
                drop(request);
                self.complete(started, Patience::Nap);
            } else {
                let started = root.immediate_gather_into(scope, &own[..]);
                drop(request);
                self.complete(started, Patience::Nap);
            }
        });
        lengths
    }

    /// The rank, for callers that hold the lock.
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
            self.complete(request, Patience::Nap);
        });
        Ok(())
    }

    fn receive(&self, from: u32, patience: Patience) -> Result<Vec<u8>, Lost> {
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
        if let Err(under_way) = request.test() {
            // So small a message is on its way by itself, or its receiver is gone: nobody waits for it.
            std::mem::forget(under_way);
        }
    }

    fn alerts(&self) -> Vec<(u32, Alert)> {
        let _held = self.locked();
        let mut heard = Vec::new();
        let anybody = self.communicator.any_process();
        while let Some((message, status)) = anybody.immediate_matched_probe_with_tag(ALERT) {
            let mut byte = [0_u8; 1];
            message.matched_receive_into(&mut byte[..]);
            let alert = if byte == STOP { Alert::Stop } else { Alert::Stopping };
            heard.push((status.source_rank().cast_unsigned(), alert));
        }
        heard
    }

    fn barrier(&self) -> Result<(), Lost> {
        let request = {
            let _held = self.locked();
            self.communicator.immediate_barrier()
        };
        self.complete(request, Patience::Nap);
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
                    self.complete(started, Patience::Nap);
                });
            } else {
                let started = root.immediate_gather_varcount_into(outer, bytes);
                drop(held);
                self.complete(started, Patience::Nap);
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

    fn first(&self, size: u32) -> Option<Box<dyn Transport>> {
        let _held = self.locked();
        let inside = self.rank_held() < size;
        let color =
            if inside { mpi::topology::Color::with_value(0) } else { mpi::topology::Color::undefined() };
        let communicator = self.communicator.split_by_color(color)?;
        Some(Box::new(Self { communicator, lock: Arc::clone(&self.lock) }))
    }
}
