//! A relayed connection: two sockets, and a direction between them each way.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_linger;

use super::direction::{Direction, End, MAX_QUEUED};
use crate::counters::SharedCounters;
use crate::distance::Distance;
use crate::greeting::Greeting;

/// The most bytes that wait in all connections of a relay together.
const MAX_TOTAL: usize = 256 << 20;
/// The most bytes of one read. A direction that is empty is always read, so that no connection starves.
pub(crate) const READ_BYTES: usize = 256 << 10;

/// How many bytes a direction accepts in which `queued` bytes wait, if `total` bytes wait in all of them.
fn capacity(queued: usize, total: usize) -> usize {
    let least = if queued == 0 { READ_BYTES } else { 0 };
    MAX_QUEUED.saturating_sub(queued).min(MAX_TOTAL.saturating_sub(total)).max(least)
}

/// The socket of the client, or the one to the target.
#[derive(Debug)]
pub(crate) struct Socket {
    pub(crate) stream: TcpStream,
    /// The events for which it is registered; none if it is not registered.
    pub(crate) registered: Option<EventFlags>,
    /// Nothing is read any longer: its peer has sent everything, or nobody receives it.
    is_read: bool,
    /// Nothing is written any longer: the end was passed on.
    is_written: bool,
}

impl Socket {
    fn new(stream: TcpStream) -> Self {
        Self { stream, registered: None, is_read: false, is_written: false }
    }
}

/// A client's connection and the one to the target (end 0 and end 1).
///
/// The forwarder calls [`Self::pump`] whenever a socket is ready or bytes become due, and then registers what
/// [`Self::wanted`] returns. What one end sends waits in a [`Direction`]; a full direction is not read, so that its sender
/// slows down as with a small TCP window. A connection is over when both directions have passed on their end, or one of
/// them a reset.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) ends: [Socket; 2],
    /// From the client to the target, and back.
    ways: [Direction; 2],
    /// The connection to the target is not established yet.
    dialing: bool,
    greeting: Option<u64>,
    over: bool,
    /// The instant of the forwarder's timer for this connection.
    pub(crate) timer: Option<u64>,
    /// Its part of the bytes that the forwarder counts as waiting.
    pub(crate) counted: usize,
}

impl Connection {
    /// A client that was accepted at the time `now`, and a socket that is connecting to the target.
    pub(crate) fn new(
        [client, target]: [TcpStream; 2],
        distance: &Distance,
        greeting: Greeting,
        now: u64,
    ) -> Self {
        let nanos = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let way = |back| Direction::new(nanos(distance.one_way(back)), distance.rate);
        let established = now.saturating_add(nanos(distance.round_trip));
        Self {
            ends: [Socket::new(client), Socket::new(target)],
            ways: [way(false), way(true)],
            dialing: true,
            greeting: matches!(greeting, Greeting::ErrorNumber).then_some(established),
            over: false,
            timer: None,
            counted: 0,
        }
    }

    /// True when nothing more can be passed on.
    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    /// Bytes that wait in both directions.
    pub(crate) fn queued(&self) -> usize {
        self.ways.iter().map(Direction::queued).sum()
    }

    /// The next instant at which something becomes due.
    pub(crate) fn next_due(&self, now: u64) -> Option<u64> {
        self.ways.iter().filter_map(|way| way.next_due(now)).min()
    }

    /// Handles what the kernel reports of an end. `total` is the number of bytes that wait in all connections.
    pub(crate) fn ready(
        &mut self,
        end: usize,
        events: EventFlags,
        now: u64,
        total: usize,
        buffer: &mut [u8],
        counters: &SharedCounters,
    ) {
        if self.dialing && end == 1 {
            let error = self.ends[1].stream.take_error().unwrap_or_else(Some);
            let number = error.map(|error| error.raw_os_error().unwrap_or(Errno::IO.raw_os_error()));
            self.dialed(number.unwrap_or(0), now, counters);
            return;
        }
        let is_broken = events.contains(EventFlags::ERR);
        // The peer sends no more, and the kernel would repeat the event until everything is read. What is left is at
        // most the kernel's own buffer.
        let limit = if events.intersects(EventFlags::ERR | EventFlags::HUP) { usize::MAX } else { total };
        if is_broken || events.intersects(EventFlags::IN | EventFlags::HUP) {
            self.read(end, is_broken, now, limit, buffer);
        }
    }

    /// Ends the attempt to connect to the target; `error` is 0 if it succeeded.
    pub(crate) fn dialed(&mut self, error: i32, now: u64, counters: &SharedCounters) {
        self.dialing = false;
        if let Some(established) = self.greeting {
            self.ways[1].enqueue(established.max(now), &error.to_be_bytes());
        }
        if error == 0 {
            return;
        }
        SharedCounters::add(&counters.failed, 1);
        self.ways[0].discard();
        self.ends[0].is_read = true;
        self.ends[1].is_read = true;
        self.ends[1].is_written = true;
        self.ways[1].end(now, if self.greeting.is_some() { End::Closed } else { End::Reset });
    }

    /// Moves bytes from a socket to its direction: one read, because other connections wait too, or everything that a
    /// socket has whose peer sends no more (`total` is the maximum).
    fn read(&mut self, end: usize, is_broken: bool, now: u64, total: usize, buffer: &mut [u8]) {
        let drains = total == usize::MAX;
        while !self.ends[end].is_read {
            let queued = self.ways[end].queued();
            let capacity = if drains { buffer.len() } else { capacity(queued, total).min(buffer.len()) };
            if capacity == 0 {
                return;
            }
            match self.ends[end].stream.read(&mut buffer[..capacity]) {
                Ok(0) => {
                    self.ends[end].is_read = true;
                    self.ways[end].end(now, if is_broken { End::Reset } else { End::Closed });
                }
                Ok(count) => {
                    self.ways[end].send(now, &buffer[..count]);
                    if !drains {
                        return;
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => self.reset_by(end, now),
            }
        }
        if is_broken {
            self.reset_by(end, now);
        }
    }

    /// An end broke: what it had sent is passed on, then the reset; what was on its way to it has no receiver.
    fn reset_by(&mut self, end: usize, now: u64) {
        self.ends[end].is_read = true;
        self.ends[end].is_written = true;
        self.ways[end].end(now, End::Reset);
        self.ways[1 - end].discard();
        self.ends[1 - end].is_read = true;
    }

    /// Passes on everything that is due.
    pub(crate) fn pump(&mut self, now: u64, counters: &SharedCounters) {
        for from in [0, 1] {
            if self.write(from, now, &counters.bytes[from]).is_err() {
                self.reset_by(1 - from, now);
            }
        }
        self.over |= self.ends.iter().all(|end| end.is_read && end.is_written);
    }

    fn write(&mut self, from: usize, now: u64, counter: &AtomicU64) -> io::Result<()> {
        let to = 1 - from;
        if self.ends[to].is_written || (to == 1 && self.dialing) {
            return Ok(());
        }
        loop {
            let arrived = self.ways[from].arrived(now);
            if arrived.is_empty() {
                break;
            }
            match self.ends[to].stream.write(arrived) {
                Ok(count) => {
                    self.ways[from].remove(count);
                    SharedCounters::add(counter, count as u64);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        match self.ways[from].arrived_end(now) {
            None => Ok(()),
            Some(End::Closed) => {
                self.ends[to].is_written = true;
                self.ends[to].stream.shutdown(Shutdown::Write)
            }
            Some(End::Reset) => {
                // A close with this option is a reset.
                let _ = set_socket_linger(&self.ends[to].stream, Some(Duration::ZERO));
                self.over = true;
                Ok(())
            }
        }
    }

    /// The events for which an end has to be registered; none if it has nothing to report, which must include errors,
    /// because the kernel reports those of every registered socket again and again.
    pub(crate) fn wanted(&mut self, end: usize, now: u64, total: usize) -> Option<EventFlags> {
        let socket = &self.ends[end];
        if socket.is_read && socket.is_written {
            return None;
        }
        if self.dialing && end == 1 {
            return Some(EventFlags::OUT);
        }
        let mut wanted = EventFlags::empty();
        if !socket.is_read && capacity(self.ways[end].queued(), total) > 0 {
            wanted |= EventFlags::IN;
        }
        if !socket.is_written && !self.ways[1 - end].arrived(now).is_empty() {
            wanted |= EventFlags::OUT;
        }
        Some(wanted)
    }
}
