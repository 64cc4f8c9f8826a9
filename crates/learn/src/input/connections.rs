//! All connections of an input.

use std::net::SocketAddr;

use super::capture::{Datagram, Segment};
use super::connection_table::{ConnectionState, ConnectionTable};
use super::datagrams::Datagrams;
use super::dispatch::{Chosen, Decoding, Sink, dispatch};
use super::frames::Framed;
use super::protocols::Transport;
use super::recorder::Recorder;
use super::stream::{Payload, Stream};

struct Connection {
    /// Addresses of the senders of both directions.
    addresses: [SocketAddr; 2],
    streams: [Stream; 2],
    decoding: Decoding,
    /// When its last segment was captured.
    last: u64,
}

/// The connections, with what their decoders found.
pub(super) struct Connections {
    table: ConnectionTable<Connection>,
    datagrams: Datagrams,
    pub(super) sink: Sink,
    /// Connections so far.
    pub(super) count: u64,
}

impl Connections {
    pub(super) fn new(chosen: Chosen, recorder: Recorder) -> Self {
        Self {
            table: ConnectionTable::new(),
            datagrams: Datagrams::new(),
            sink: Sink { chosen, recorder, ignored: Vec::new() },
            count: 0,
        }
    }

    /// Takes the next datagram, `time` ns after the start of the input.
    pub(super) fn datagram(&mut self, time: u64, datagram: &Datagram<'_>) {
        if self.datagrams.take(time, datagram, &mut self.sink) {
            self.count += 1;
        }
    }

    /// Takes the next segment, `time` ns after the start of the input.
    pub(super) fn segment(&mut self, time: u64, segment: &Segment<'_>) {
        let forward = segment.from <= segment.to;
        let key = if forward { (segment.from, segment.to) } else { (segment.to, segment.from) };
        let direction = usize::from(!forward);
        if segment.syn && segment.acknowledged.is_none() {
            // The ports of an earlier connection are used again, unless this is the same SYN again.
            if self.table.get(&key).is_some_and(|connection| !connection.streams[direction].is_new()) {
                self.table.close(&key, &mut self.sink);
            }
        }
        if self.table.get(&key).is_none() {
            if segment.len == 0 && !segment.syn {
                return;
            }
            self.count += 1;
            let addresses = [key.0, key.1];
            let connection = Connection {
                addresses,
                streams: [Stream::default(), Stream::default()],
                decoding: Decoding::Unknown,
                last: time,
            };
            self.table.insert(key, connection, &mut self.sink);
        }
        self.table.take(&key, &mut self.sink, |connection, sink| {
            if !matches!(connection.decoding, Decoding::Ignored) {
                connection.take(direction, time, segment, sink);
            }
        });
    }

    /// Ends all connections.
    pub(super) fn end(&mut self) {
        self.table.end(&mut self.sink);
        self.datagrams.end(&mut self.sink);
    }
}

impl Connection {
    fn take(&mut self, direction: usize, time: u64, segment: &Segment<'_>, sink: &mut Sink) {
        let Self { addresses, streams, decoding, last } = self;
        *last = time;
        let other = 1 - direction;
        if segment.syn {
            if streams[direction].is_new() {
                streams[direction].begin(segment.sequence);
            }
        } else if streams[direction].is_new() && streams[other].is_new() && segment.len > 0 {
            sink.recorder.unseen().began_before += 1;
        }
        if let Some(sequence) = segment.acknowledged {
            let mut found = |framed: &Framed<'_>| {
                dispatch(*addresses, decoding, Transport::Stream, other, framed, sink);
            };
            streams[other].acknowledged(sequence, &mut found);
        }
        let payload = Payload { time, sequence: segment.sequence, bytes: segment.payload, len: segment.len };
        let mut found = |framed: &Framed<'_>| {
            dispatch(*addresses, decoding, Transport::Stream, direction, framed, sink);
        };
        streams[direction].segment(payload, &mut found);
    }
}

impl ConnectionState for Connection {
    fn last_use(&self) -> (bool, u64) {
        (!matches!(self.decoding, Decoding::Unknown), self.last)
    }

    fn waiting_bytes(&self) -> usize {
        let segments: usize = self.streams.iter().map(Stream::waiting_bytes).sum();
        segments + self.decoding.waiting_bytes()
    }

    fn finish(&mut self, sink: &mut Sink) {
        let Self { addresses, streams, decoding, .. } = self;
        for (direction, stream) in streams.iter_mut().enumerate() {
            stream.end(&mut |framed| {
                dispatch(*addresses, decoding, Transport::Stream, direction, framed, sink);
            });
        }
        if !decoding.end(*addresses, &mut sink.recorder) {
            return;
        }
        let unseen = sink.recorder.unseen();
        for stream in streams {
            unseen.lost_bytes += stream.lost_bytes;
            unseen.cut += stream.damage.cut;
        }
    }
}
