//! The thread of a relay: one event loop for all connections.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, ipproto, socket_with};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};

use super::Shared;
use super::connection::{Connection, READ_BYTES};
use crate::counters::SharedCounters;
use crate::distance::Distance;
use crate::greeting::Greeting;

/// How often the thread looks whether its relay was dropped.
const CHECK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// Pause after an accept that failed, such as for want of descriptors.
const ACCEPT_PAUSE_NS: u64 = 100_000_000;
/// Events of one call.
const EVENTS: usize = 256;
/// Descriptors other than those of connections: of the program that uses the relay, the listener, the events and the timer.
const OTHER_DESCRIPTORS: u64 = 16;

/// Tokens of the events. A connection's number is at least 1; its ends have the tokens `2 n` and `2 n + 1`.
const LISTENER: u64 = 0;
const TIMER: u64 = 1;

/// The event loop of a relay.
///
/// It opens every descriptor on its own thread and hands none over, because the threads of a run may have descriptor
/// tables of their own. One timer wakes it for the earliest instant at which a byte is due, at a resolution of
/// nanoseconds; it computes all instants from the arrival of the bytes, so that a late wake-up delays the bytes of that
/// instant only.
pub(crate) struct Forwarder {
    listener: TcpListener,
    target: SocketAddr,
    distance: Distance,
    greeting: Greeting,
    shared: Arc<Shared>,
    /// The most connections at the same time; further clients wait in the listener's queue.
    limit: usize,
    epoll: OwnedFd,
    timer: OwnedFd,
    connections: HashMap<u64, Connection>,
    last_number: u64,
    /// Instants at which connections have something due. An entry that is not its connection's timer any longer is void.
    timers: BinaryHeap<Reverse<(u64, u64)>>,
    /// When clients are accepted again; none while they are.
    paused_until: Option<u64>,
    /// Bytes that wait in all connections.
    queued: usize,
    buffer: Vec<u8>,
}

impl Forwarder {
    /// Listens at an address. Must be called on the thread that then calls [`Self::run`].
    pub(crate) fn open(
        listen: SocketAddr,
        target: SocketAddr,
        distance: Distance,
        greeting: Greeting,
        limit: usize,
        shared: Arc<Shared>,
    ) -> io::Result<Self> {
        // Linux groups wake-ups of a thread within 50 us by default.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        let listener = TcpListener::bind(listen)?;
        listener.set_nonblocking(true)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let timer =
            timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        epoll::add(&epoll, &timer, EventData::new_u64(TIMER), EventFlags::IN)?;
        Ok(Self {
            listener,
            target,
            distance,
            greeting,
            shared,
            limit,
            epoll,
            timer,
            connections: HashMap::new(),
            last_number: 0,
            timers: BinaryHeap::new(),
            paused_until: None,
            queued: 0,
            buffer: vec![0; READ_BYTES],
        })
    }

    /// The address of the listener.
    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Forwards until the relay is dropped and the last connection has ended.
    pub(crate) fn run(mut self) -> io::Result<()> {
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS);
        loop {
            let stops = self.shared.stop.load(Ordering::Relaxed);
            if stops && self.connections.is_empty() {
                return Ok(());
            }
            self.accept_or_pause(stops)?;
            self.arm()?;
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), Some(&CHECK)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            self.handle(&events)?;
        }
    }

    fn handle(&mut self, events: &[Event]) -> io::Result<()> {
        let now = now_ns();
        let mut touched = BTreeSet::new();
        for event in events {
            // The structure of the kernel is packed, so that its fields are copied.
            let token = event.data.u64();
            let flags = event.flags;
            match token {
                LISTENER => self.accept(now, &mut touched)?,
                TIMER => {
                    let _ = rustix::io::read(&self.timer, &mut [0; 8]);
                }
                token => {
                    let number = token / 2;
                    let Some(connection) = self.connections.get_mut(&number) else { continue };
                    let end = (token % 2) as usize;
                    let counters = &self.shared.counters;
                    connection.ready(end, flags, now, self.queued, &mut self.buffer, counters);
                    touched.insert(number);
                }
            }
        }
        while let Some(Reverse((due, number))) = self.timers.peek().copied()
            && due <= now
        {
            self.timers.pop();
            if let Some(connection) = self.connections.get_mut(&number)
                && connection.timer == Some(due)
            {
                connection.timer = None;
                touched.insert(number);
            }
        }
        touched.into_iter().try_for_each(|number| self.settle(number))
    }

    /// Passes on what is due in a connection, and registers what it waits for.
    fn settle(&mut self, number: u64) -> io::Result<()> {
        let Some(connection) = self.connections.get_mut(&number) else { return Ok(()) };
        let now = now_ns();
        connection.pump(now, &self.shared.counters);
        self.queued = self.queued.saturating_sub(connection.counted);
        if connection.is_over() {
            // Closing the sockets removes their registrations.
            self.connections.remove(&number);
            return Ok(());
        }
        connection.counted = connection.queued();
        self.queued += connection.counted;
        for end in [0, 1] {
            let wanted = connection.wanted(end, now, self.queued);
            let socket = &mut connection.ends[end];
            let data = EventData::new_u64(number * 2 + end as u64);
            match (socket.registered, wanted) {
                (None, Some(wanted)) => epoll::add(&self.epoll, &socket.stream, data, wanted)?,
                (Some(_), None) => epoll::delete(&self.epoll, &socket.stream)?,
                (Some(registered), Some(wanted)) if registered != wanted => {
                    epoll::modify(&self.epoll, &socket.stream, data, wanted)?;
                }
                _ => {}
            }
            socket.registered = wanted;
        }
        if let Some(due) = connection.next_due(now)
            && connection.timer.is_none_or(|timer| due < timer)
        {
            connection.timer = Some(due);
            self.timers.push(Reverse((due, number)));
        }
        Ok(())
    }

    fn accept(&mut self, now: u64, touched: &mut BTreeSet<u64>) -> io::Result<()> {
        while self.connections.len() < self.limit {
            match self.listener.accept() {
                Ok((client, _)) => {
                    SharedCounters::add(&self.shared.counters.connections, 1);
                    // A client that cannot be served is closed; its connections do not concern the others.
                    if let Ok(connection) = self.connect(client, now) {
                        self.last_number += 1;
                        self.connections.insert(self.last_number, connection);
                        touched.insert(self.last_number);
                    }
                }
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return Ok(()),
                    ErrorKind::Interrupted | ErrorKind::ConnectionAborted => {}
                    _ => return self.pause(now),
                },
            }
        }
        self.pause(now)
    }

    /// Starts to connect to the target for a client.
    fn connect(&self, client: TcpStream, now: u64) -> io::Result<Connection> {
        let family = if self.target.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let target = TcpStream::from(socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?);
        client.set_nonblocking(true)?;
        for stream in [&client, &target] {
            // The delays of the sender are its own; the relay adds none of Nagle's algorithm.
            stream.set_nodelay(true)?;
        }
        let connecting = connect(target.as_fd(), &self.target);
        let mut connection = Connection::new([client, target], &self.distance, self.greeting, now);
        match connecting {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => connection.dialed(error.raw_os_error(), now, &self.shared.counters),
        }
        Ok(connection)
    }

    /// Accepts no further clients for a moment.
    fn pause(&mut self, now: u64) -> io::Result<()> {
        if self.paused_until.replace(now + ACCEPT_PAUSE_NS).is_none() {
            epoll::delete(&self.epoll, &self.listener)?;
        }
        Ok(())
    }

    /// Ends a pause that is over, or begins the one that never ends if the relay was dropped.
    fn accept_or_pause(&mut self, stops: bool) -> io::Result<()> {
        let now = now_ns();
        if stops {
            return self.pause(now);
        }
        if self.paused_until.is_some_and(|until| until <= now) {
            self.paused_until = None;
            epoll::add(&self.epoll, &self.listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        }
        Ok(())
    }

    /// Sets the timer to the earliest instant at which something is due.
    fn arm(&self) -> io::Result<()> {
        let due = self.timers.peek().map_or(0, |Reverse((due, _))| *due);
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        // Zero disarms the timer; an instant that has passed fires at once.
        let it_value = Duration::from_nanos(due).try_into().unwrap_or(zero);
        let time = Itimerspec { it_interval: zero, it_value };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &time)?;
        Ok(())
    }
}

/// Raises the soft limit of descriptors to the hard one, and returns how many connections it allows, of at most `most`.
pub(crate) fn allowed_connections(most: usize) -> usize {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    // A connection has the descriptors of its two sockets.
    usize::try_from(descriptors.saturating_sub(OTHER_DESCRIPTORS) / 2).unwrap_or(most).clamp(1, most)
}

/// The monotonic clock, which the timer uses too.
fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
