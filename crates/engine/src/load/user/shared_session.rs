//! One session that several users of a thread share: data requests are in flight concurrently, operations on names
//! have the session exclusively.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use sharebench_model::{
    DataOp, ErrorClass, MetaReply, OpError, OpStep, Reply, SessionOp, Slot, TargetFacts, WireCount,
};
use sharebench_target::{Extensions, Idle, LocalBoxFuture, Readings, Session, WholeFiles};

/// The session that several users share, and the order of their turns (docs/design/user-sessions.md).
pub(crate) struct Shared {
    /// None while an operation on names has it, and when it is lost.
    inner: Option<Box<dyn Session>>,
    lost: bool,
    /// Slots that no request uses.
    free: Vec<Slot>,
    slots: usize,
    /// An operation on names has the session to itself.
    alone: bool,
    /// Waiting users in the order of their requests; true for those that need the session exclusively.
    queue: VecDeque<(u32, bool)>,
    users: BTreeMap<u32, User>,
    next_user: u32,
    /// The session's wire count at the last reading by any user.
    wire: WireCount,
    /// The session reads whole files by one request.
    whole_files: bool,
}

/// What a user is allowed to do with the shared session at present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// Send a request for data, with this slot.
    Data(Slot),
    /// Use the session exclusively, for an operation on names.
    Alone,
}

/// The state of one user of a shared session.
#[derive(Default)]
struct User {
    waker: Option<Waker>,
    /// Its turn, once that has come.
    turn: Option<Turn>,
    queued: bool,
    reply: Option<Reply>,
    wire: WireCount,
}

fn lost() -> OpError {
    OpError::new(ErrorClass::Disconnected, OpStep::Session, "lost by a user who shares it")
}

impl Shared {
    /// Shares a session between users that may have `slots` requests in flight together.
    pub fn new(mut inner: Box<dyn Session>, slots: u32) -> Rc<RefCell<Self>> {
        let free: Vec<Slot> = (0..slots).rev().map(Slot).collect();
        let wire = inner.wire();
        let whole_files = inner.reads_whole_files();
        let slots = free.len();
        Rc::new(RefCell::new(Self {
            inner: Some(inner),
            lost: false,
            free,
            slots,
            alone: false,
            queue: VecDeque::new(),
            users: BTreeMap::new(),
            next_user: 0,
            wire,
            whole_files,
        }))
    }

    /// True when no user can use the session any more.
    pub fn is_lost(&self) -> bool {
        self.lost
    }

    /// Another user of it.
    pub fn share(shared: &Rc<RefCell<Self>>, slot_bytes: u32) -> SharedSession {
        let mut state = shared.borrow_mut();
        let user = state.next_user;
        state.next_user += 1;
        state.users.insert(user, User::default());
        let session_member = SessionMember { shared: Rc::clone(shared), user };
        SharedSession {
            session_member,
            slot_bytes,
            buffer: Vec::new(),
            wanted: None,
            in_flight: None,
            ended: false,
        }
    }

    /// Gives turns to waiting users in the order of their requests.
    fn admit(&mut self) {
        while let Some(&(user, alone)) = self.queue.front() {
            let turn = match (alone, self.free.last().copied()) {
                _ if self.alone || self.lost => return,
                // An operation on names has the session to itself, which is the contract of `Session::perform_call`
                // (docs/design/user-sessions.md).
                (true, _) if self.free.len() == self.slots => Turn::Alone,
                (false, Some(slot)) => Turn::Data(slot),
                _ => return,
            };
            self.queue.pop_front();
            // The user left while it waited.
            let Some(waiting) = self.users.get_mut(&user) else { continue };
            if let Turn::Data(_) = turn {
                self.free.pop();
            }
            self.alone = alone;
            (waiting.turn, waiting.queued) = (Some(turn), false);
            wake(waiting);
        }
    }

    /// Ends the turn of a user whose request has ended or was never sent.
    fn give_back(&mut self, user: u32) {
        match self.users.get_mut(&user).and_then(|user| user.turn.take()) {
            Some(Turn::Data(slot)) => self.free.push(slot),
            Some(Turn::Alone) => self.alone = false,
            None => {}
        }
        self.admit();
        // Only the user who polled last is woken. Another waiting user must poll now.
        self.users.values_mut().filter(|user| matches!(user.turn, Some(Turn::Data(_)))).for_each(wake);
    }

    /// The session is of no use any more: all who wait hear of it.
    fn lose(&mut self) {
        (self.lost, self.inner) = (true, None);
        self.users.values_mut().for_each(wake);
    }

    fn poll_turn(&mut self, user: u32, alone: bool, cx: &mut Context<'_>) -> Poll<()> {
        let Some(waiting) = self.users.get_mut(&user) else { return Poll::Ready(()) };
        if self.lost || waiting.turn.is_some() {
            return Poll::Ready(());
        }
        waiting.waker = Some(cx.waker().clone());
        if !waiting.queued {
            waiting.queued = true;
            self.queue.push_back((user, alone));
            self.admit();
        }
        let came = self.users.get(&user).is_none_or(|user| user.turn.is_some());
        if came { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Receives replies for all users and wakes each user that gets one.
    fn collect(&mut self, own: u32, cx: &mut Context<'_>) {
        let Some(inner) = self.inner.as_mut() else { return };
        let mut arrived = Vec::new();
        while self.users.get(&own).is_some_and(|user| user.reply.is_none()) {
            if inner.poll_replies(cx, &mut arrived).is_pending() {
                return;
            }
            for reply in arrived.drain(..) {
                let of = |(_, user): &(&u32, &mut User)| user.turn == Some(Turn::Data(reply.slot));
                if let Some((user, waiting)) = self.users.iter_mut().find(of) {
                    waiting.reply = Some(reply);
                    if *user != own {
                        wake(waiting);
                    }
                }
            }
        }
    }
}

fn wake(user: &mut User) {
    if let Some(waker) = user.waker.take() {
        waker.wake();
    }
}

/// The membership of one user in a shared session, by which it waits for its turn.
#[derive(Clone)]
pub(crate) struct SessionMember {
    shared: Rc<RefCell<Shared>>,
    user: u32,
}

impl SessionMember {
    /// Waits until the user may send a data request, before it determines the size of one request.
    pub async fn turn(&self) {
        poll_fn(|cx| self.shared.borrow_mut().poll_turn(self.user, false, cx)).await;
    }
}

/// A shared session as one of its users sees it. It is itself a [`Session`], so that neither users nor adapters have
/// to know about sharing.
pub(crate) struct SharedSession {
    session_member: SessionMember,
    slot_bytes: u32,
    /// The user's own: others' requests do not touch it.
    buffer: Vec<u8>,
    /// A request whose turn has not come.
    wanted: Option<DataOp>,
    in_flight: Option<(Slot, DataOp)>,
    ended: bool,
}

impl SharedSession {
    /// The slot through which the user waits for its turn.
    pub fn session_member(&self) -> SessionMember {
        self.session_member.clone()
    }

    /// Sends the user's operation when its turn has come.
    fn send(&mut self, op: DataOp) -> Result<(), OpError> {
        let mut state = self.session_member.shared.borrow_mut();
        let turn = state.users.get(&self.session_member.user).and_then(|user| user.turn);
        let (Some(Turn::Data(slot)), Some(inner)) = (turn, state.inner.as_mut()) else { return Err(lost()) };
        if let DataOp::Write { len, .. } = op {
            inner.buffer(slot)[..len as usize].copy_from_slice(&self.buffer[..len as usize]);
        }
        inner.submit(slot, op);
        self.in_flight = Some((slot, op));
        Ok(())
    }

    /// The reply to what is in flight; its data are the user's own now.
    fn take(&mut self, reply: Reply) -> Reply {
        let mut state = self.session_member.shared.borrow_mut();
        if let (Some((slot, DataOp::Read { len, .. })), Ok(bytes)) = (self.in_flight.take(), &reply.result)
            && let Some(inner) = state.inner.as_mut()
        {
            // A reply may claim more bytes than were requested. Its user reports that as an error; here it must not
            // exceed the buffer.
            let bytes = (*bytes).min(len) as usize;
            self.buffer[..bytes].copy_from_slice(&inner.buffer(slot)[..bytes]);
        }
        state.give_back(self.session_member.user);
        Reply { slot: Slot(0), ..reply }
    }

    fn poll_reply(&mut self, cx: &mut Context<'_>) -> Poll<Reply> {
        let failed = |error| Poll::Ready(Reply { slot: Slot(0), result: Err(error), requests: 0 });
        let user = self.session_member.user;
        if let Some(op) = self.wanted {
            if self.session_member.shared.borrow_mut().poll_turn(user, false, cx).is_pending() {
                return Poll::Pending;
            }
            self.wanted = None;
            if let Err(error) = self.send(op) {
                return failed(error);
            }
        }
        if self.in_flight.is_none() {
            return Poll::Pending;
        }
        let mut state = self.session_member.shared.borrow_mut();
        state.collect(user, cx);
        let is_lost = state.lost;
        let Some(own) = state.users.get_mut(&user) else { return failed(lost()) };
        match own.reply.take() {
            Some(reply) => {
                drop(state);
                Poll::Ready(self.take(reply))
            }
            None if is_lost => {
                self.in_flight = None;
                failed(lost())
            }
            None => {
                own.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

/// The session while one user has it to itself; dropped with it, it is lost to all.
struct Alone {
    session_member: SessionMember,
    inner: Option<Box<dyn Session>>,
}

/// Waits until no other user has anything in flight, and takes the session; none if it is lost. If the caller's future is
/// dropped during its call, the guard still holds no session: a reply may then be on its way, so the session is lost for all.
async fn take_alone(session_member: SessionMember) -> Option<(Alone, Box<dyn Session>)> {
    // Returns a turn for data that the user waited for and does not need.
    session_member.shared.borrow_mut().give_back(session_member.user);
    poll_fn(|cx| session_member.shared.borrow_mut().poll_turn(session_member.user, true, cx)).await;
    let inner = session_member.shared.borrow_mut().inner.take()?;
    Some((Alone { session_member, inner: None }, inner))
}

impl Drop for Alone {
    fn drop(&mut self) {
        let mut state = self.session_member.shared.borrow_mut();
        match self.inner.take() {
            Some(inner) => state.inner = Some(inner),
            None => state.lose(),
        }
        state.give_back(self.session_member.user);
    }
}

impl Session for SharedSession {
    fn facts(&self) -> TargetFacts {
        self.session_member.shared.borrow().inner.as_ref().map(|inner| inner.facts()).unwrap_or_default()
    }

    fn buffer(&mut self, _: Slot) -> &mut [u8] {
        self.buffer.resize(self.slot_bytes as usize, 0);
        &mut self.buffer
    }

    fn max_transfer(&self, op: DataOp) -> u32 {
        let whole = match op {
            DataOp::Read { len, .. } | DataOp::Write { len, .. } => len,
            DataOp::Flush { .. } => 0,
        };
        self.session_member.shared.borrow().inner.as_ref().map_or(whole, |inner| inner.max_transfer(op))
    }

    fn submit(&mut self, _: Slot, op: DataOp) {
        self.buffer.resize(self.slot_bytes as usize, 0);
        self.wanted = Some(op);
    }

    fn poll_replies(&mut self, cx: &mut Context<'_>, replies: &mut Vec<Reply>) -> Poll<()> {
        self.poll_reply(cx).map(|reply| replies.push(reply))
    }

    fn perform_call(&mut self, op: SessionOp) -> LocalBoxFuture<'_, MetaReply> {
        let session_member = self.session_member.clone();
        Box::pin(async move {
            let Some((mut alone, mut inner)) = take_alone(session_member).await else {
                return MetaReply { result: Err(lost()), requests: 0 };
            };
            let reply = inner.call(op).await;
            alone.inner = Some(inner);
            reply
        })
    }

    /// Each byte is reported to exactly one user: the first who reads the counts.
    fn wire(&self) -> WireCount {
        let mut state = self.session_member.shared.borrow_mut();
        let counted = state.inner.as_ref().map(|inner| inner.wire());
        let fresh = counted.map(|counted| {
            let fresh = counted.since(state.wire);
            // Bytes are counted once, for the user that reads the counter first (docs/design/user-sessions.md).
            state.wire = counted;
            fresh
        });
        let Some(own) = state.users.get_mut(&self.session_member.user) else { return WireCount::default() };
        if let Some(fresh) = fresh {
            own.wire += fresh;
        }
        own.wire
    }

    fn extensions(&mut self) -> Option<&mut dyn Extensions> {
        Some(self)
    }

    fn readings(&self) -> Option<&dyn Readings> {
        None
    }

    fn close(mut self: Box<Self>) -> LocalBoxFuture<'static, ()> {
        self.ended = true;
        let last = {
            let mut state = self.session_member.shared.borrow_mut();
            state.give_back(self.session_member.user);
            state.users.remove(&self.session_member.user);
            if state.users.is_empty() {
                state.lost = true;
                state.inner.take()
            } else {
                None
            }
        };
        Box::pin(async move {
            if let Some(inner) = last {
                inner.close().await;
            }
        })
    }
}

impl Extensions for SharedSession {
    fn idle(&mut self) -> Option<&mut dyn Idle> {
        Some(self)
    }

    fn whole_files(&mut self) -> Option<&mut dyn WholeFiles> {
        if self.session_member.shared.borrow().whole_files { Some(self) } else { None }
    }
}

impl Idle for SharedSession {
    fn release_buffers(&mut self) {
        self.buffer = Vec::new();
        let mut state = self.session_member.shared.borrow_mut();
        if state.free.len() == state.slots
            && let Some(inner) = state.inner.as_mut()
        {
            inner.release_buffers();
        }
    }

    fn poll_keepalive(&mut self, cx: &mut Context<'_>) {
        let mut state = self.session_member.shared.borrow_mut();
        if state.free.len() == state.slots
            && let Some(inner) = state.inner.as_mut()
        {
            inner.poll_keepalive(cx);
        }
    }
}

impl WholeFiles for SharedSession {
    fn read_file<'a>(&'a mut self, path: &'a str, len: u32) -> LocalBoxFuture<'a, Reply> {
        let session_member = self.session_member.clone();
        self.buffer.resize(self.slot_bytes as usize, 0);
        Box::pin(async move {
            let Some((mut alone, mut inner)) = take_alone(session_member).await else {
                return Reply { slot: Slot(0), result: Err(lost()), requests: 0 };
            };
            let reply = inner.read_file(path, len).await;
            if let Ok(bytes) = &reply.result {
                // A reply must not exceed the buffer, whatever it claims.
                let bytes = (*bytes).min(len) as usize;
                self.buffer[..bytes].copy_from_slice(&inner.buffer(Slot(0))[..bytes]);
            }
            alone.inner = Some(inner);
            reply
        })
    }

    /// Its user has one operation in flight.
    fn submit_read_file(&mut self, _: Slot, _: String, _: u32) -> Result<(), OpError> {
        Err(OpError::cannot_overlap())
    }
}

impl Drop for SharedSession {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        // The user dropped the session without closing it. Replies to its requests may still arrive and would belong
        // to no user.
        let mut state = self.session_member.shared.borrow_mut();
        state.users.remove(&self.session_member.user);
        state.lose();
    }
}
