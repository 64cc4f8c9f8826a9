//! A target with a simulated server: real content at once, replies when the device's clock says so.
//!
//! In virtual time it makes queueing theory's answers exact tests of the engine; in real time it is a server of
//! known speed without a network. It keeps a log of what it did.

mod device;
mod names;
mod request_class;
mod server_cache;
mod time_course;

use std::collections::BTreeMap;
use std::future::Future;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use sharebench_engine::{Clock, Sleep};
use sharebench_model::{
    CachePolicy, DataOp, FileRef, IoPolicy, MetaOp, MetaReply, MetaYield, Reply, SessionOp, Slot,
};
use sharebench_target::{
    Alteration, Capabilities, Connecting, LocalBoxFuture, PolicyRefusal, PolicyTerms, Session, SessionSpec,
    Target,
};

use names::NameTimes;
use request_class::Asked;

pub use device::{Device, Served, Service};
pub use request_class::RequestClass;
pub use server_cache::{Replacement, ServerCache};

/// Delays the replies of a target that answers at once, as its [`Device`] would. Clones share the device.
#[derive(Debug, Clone)]
pub struct SimulatedTarget<T> {
    inner: T,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    clock: Clock,
    inside: Mutex<Inside>,
    sessions: AtomicU32,
    mute_every: Option<u32>,
    client_cost: u64,
    names: Mutex<NameTimes>,
}

#[derive(Debug)]
struct Inside {
    device: Device,
    log: Vec<Served>,
}

impl<T: Target> SimulatedTarget<T> {
    /// A server whose content is `inner`'s and whose time is `clock`'s.
    pub fn new(inner: T, clock: &Clock, device: Device) -> Self {
        let mute_every = device.mute_every;
        let client_cost = device.client_cost;
        let names = Mutex::new(NameTimes::from_device(&device));
        let inside = Mutex::new(Inside { device, log: Vec::new() });
        let sessions = AtomicU32::new(0);
        Self {
            inner,
            shared: Arc::new(Shared {
                clock: clock.clone(),
                inside,
                sessions,
                mute_every,
                client_cost,
                names,
            }),
        }
    }

    /// Every piece of work done so far, in the order of arrival at its stage.
    pub fn log(&self) -> Vec<Served> {
        self.shared.inside().log.clone()
    }
}

impl Shared {
    fn names(&self) -> MutexGuard<'_, NameTimes> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The work of one stage; none after the last.
    fn enter(&self, stage: usize, arrival: Option<u64>, flight: &Flight) -> Option<Served> {
        let mut inside = self.inside();
        // The clock is read inside of the lock, so that arrivals of several threads are in order.
        let arrival = arrival.unwrap_or_else(|| self.clock.now());
        let served = inside.device.enter(stage, arrival, flight.asked)?;
        let served = Served { session: flight.session, ..served };
        if inside.device.logs {
            inside.log.push(served);
        }
        Some(served)
    }
}

impl<T: Target> Target for SimulatedTarget<T> {
    fn url(&self) -> String {
        "simulated://".into()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { protocol: "simulated", blocking: false, ..self.inner.capabilities() }
    }

    fn policy(&self, wanted: IoPolicy) -> Result<PolicyTerms, PolicyRefusal> {
        self.inner.policy(wanted)
    }

    fn connect<'a>(&'a self, spec: &'a SessionSpec) -> Connecting<'a> {
        Box::pin(async move {
            let number = self.shared.sessions.fetch_add(1, Ordering::Relaxed);
            let inner = self.inner.connect(spec).await?;
            let session = SimulatedSession {
                shared: self.shared.clone(),
                number,
                mute: self.shared.mute_every.is_some_and(|n| number % n == n - 1),
                flying: Vec::new(),
                answers: Vec::new(),
                sleep: None,
                files: BTreeMap::new(),
            };
            Ok(session.session(inner))
        })
    }
}

/// An operation under way through the device.
struct Flight {
    reply: Reply,
    session: u32,
    asked: Asked,
    /// When it leaves the stage it is in.
    due: u64,
    /// The stage it then enters, if there is one.
    next: usize,
}

struct SimulatedSession {
    shared: Arc<Shared>,
    number: u32,
    mute: bool,
    flying: Vec<Flight>,
    /// Replies from inside, on their way to `flying`.
    answers: Vec<Reply>,
    sleep: Option<Sleep>,
    /// Open files: which, and whether they are to be read past the cache.
    files: BTreeMap<FileRef, (u64, bool)>,
}

impl SimulatedSession {
    /// Moves everything on that is due; the next instant at which something will be.
    fn advance(&mut self, replies: &mut Vec<Reply>) -> Option<u64> {
        loop {
            let (index, first) = self.flying.iter().enumerate().min_by_key(|(_, flight)| flight.due)?;
            if first.due > self.shared.clock.now() {
                return Some(first.due);
            }
            let flight = &mut self.flying[index];
            // The next stage's arrival is the instant of leaving this one, not of our noticing it.
            if let Some(served) = self.shared.enter(flight.next, Some(flight.due), flight) {
                flight.next += 1;
                flight.due = served.end;
            } else {
                let flight = self.flying.remove(index);
                if !self.mute {
                    replies.push(flight.reply);
                }
            }
        }
    }
}

impl Alteration for SimulatedSession {
    fn submit(&mut self, inner: &mut dyn Session, slot: Slot, op: DataOp) {
        if self.shared.client_cost > 0 {
            self.shared.clock.spend(self.shared.client_cost);
        }
        inner.submit(slot, op);
        // What does not answer at once, such as a fault of `FaultyTarget`, never does.
        let _ = inner.poll_replies(&mut Context::from_waker(Waker::noop()), &mut self.answers);
        for reply in self.answers.drain(..) {
            let (write, file, offset, bytes) = match op {
                DataOp::Read { file, offset, len } => (false, file, offset, len),
                DataOp::Write { file, offset, len, .. } => (true, file, offset, len),
                DataOp::Flush { file } => (true, file, 0, 0),
            };
            let session = self.number;
            let (file, unbuffered) = self.files.get(&file).copied().unwrap_or_default();
            let known = self.shared.inside().device.record_use(file, offset, bytes);
            let workload = session == 0;
            let asked = Asked { session, file, offset, bytes, write, unbuffered, workload, known };
            let mut flight = Flight { reply, session, asked, due: 0, next: usize::MAX };
            if !matches!(op, DataOp::Flush { .. })
                && let Some(served) = self.shared.enter(0, None, &flight)
            {
                (flight.due, flight.next) = (served.end, 1);
            }
            self.flying.push(flight);
        }
    }

    fn poll(&mut self, _: &mut dyn Session, cx: &mut Context<'_>, replies: &mut Vec<Reply>) -> Poll<()> {
        let before = replies.len();
        loop {
            let next = self.advance(replies);
            if replies.len() > before {
                return Poll::Ready(());
            }
            let Some(due) = next else { return Poll::Pending };
            let sleep = self.sleep.get_or_insert_with(|| self.shared.clock.sleep_precise(due));
            if sleep.instant() != due {
                sleep.reset(due);
            }
            if Pin::new(sleep).poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }

    fn call<'s>(&'s mut self, inner: &'s mut dyn Session, op: SessionOp) -> LocalBoxFuture<'s, MetaReply> {
        let opened = match &op {
            SessionOp::Basic(MetaOp::Open { path, policy, .. }) => {
                let mut hasher = DefaultHasher::new();
                path.hash(&mut hasher);
                Some((hasher.finish(), policy.cache == CachePolicy::Unbuffered))
            }
            _ => None,
        };
        Box::pin(async move {
            let nanos = self.shared.names().of_operation(&op);
            if nanos > 0 {
                let done = self.shared.clock.now() + nanos;
                self.shared.clock.sleep_precise(done).await;
            }
            let reply = inner.call(op.clone()).await;
            self.shared.names().note(&op, &reply.result);
            if let (Some(known), Ok(MetaYield::Opened { file, .. })) = (opened, &reply.result) {
                self.files.insert(*file, known);
            }
            reply
        })
    }
}
