//! All connections of an input.

use std::collections::HashMap;
use std::net::SocketAddr;

use super::capture::{Datagram, Segment};
use super::datagrams::Datagrams;
use super::frames::Framed;
use super::protocols::{Decoder, Ends, Message, Side, Transport, is_encrypted, sender_of_encrypted};
use super::recorder::Recorder;
use super::silent::{CALL_BYTES, Key, LastUse, MAX_CONNECTIONS, MAX_WAITING_BYTES, longest_silent};
use super::stream::{Payload, Stream};

/// Which server's connections are decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chosen {
    /// Those of every server.
    Any,
    /// Those of a machine.
    Machine(std::net::IpAddr),
    /// Those of one port of a machine.
    Port(SocketAddr),
}

impl Chosen {
    fn includes(self, server: SocketAddr) -> bool {
        match self {
            Self::Any => true,
            Self::Machine(address) => server.ip() == address,
            Self::Port(address) => server == address,
        }
    }
}

/// The decoder of a connection.
#[derive(Default)]
pub(super) enum Decoding {
    /// No message was recognised yet.
    #[default]
    Unknown,
    /// The connection of another server than the chosen one.
    Ignored,
    /// The direction of the client, and the decoder.
    Known(usize, Box<dyn Decoder>),
}

impl Decoding {
    /// Memory of calls that wait for a reply, bytes.
    pub(super) fn waiting_bytes(&self) -> usize {
        match self {
            Self::Known(_, decoder) => decoder.waiting() * CALL_BYTES,
            Self::Unknown | Self::Ignored => 0,
        }
    }
}

struct Connection {
    /// Addresses of the senders of both directions.
    addresses: [SocketAddr; 2],
    streams: [Stream; 2],
    decoding: Decoding,
    /// When its last segment was captured.
    last: u64,
}

impl Connection {
    /// Memory of what waits for later segments, bytes.
    fn waiting_bytes(&self) -> usize {
        let segments: usize = self.streams.iter().map(Stream::waiting_bytes).sum();
        segments + self.decoding.waiting_bytes()
    }
}

impl LastUse for Connection {
    fn last_use(&self) -> (bool, u64) {
        (!matches!(self.decoding, Decoding::Unknown), self.last)
    }
}

/// The connections, with what their decoders found.
pub(super) struct Connections {
    chosen: Chosen,
    table: HashMap<Key, Connection>,
    /// Sum of [`Connection::waiting_bytes`].
    waiting_bytes: usize,
    datagrams: Datagrams,
    pub(super) recorder: Recorder,
    /// Connections of servers that were not chosen.
    pub(super) ignored: Vec<SocketAddr>,
    /// Connections so far.
    pub(super) count: u64,
}

impl Connections {
    pub(super) fn new(chosen: Chosen, recorder: Recorder) -> Self {
        Self {
            chosen,
            table: HashMap::new(),
            waiting_bytes: 0,
            datagrams: Datagrams::default(),
            recorder,
            ignored: Vec::new(),
            count: 0,
        }
    }

    /// Takes the next datagram, `time` ns after the start of the input.
    pub(super) fn datagram(&mut self, time: u64, datagram: &Datagram<'_>) {
        let sink = Sink { chosen: self.chosen, recorder: &mut self.recorder, ignored: &mut self.ignored };
        if self.datagrams.take(time, datagram, sink) {
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
                self.close(key);
            }
        }
        if !self.table.contains_key(&key) {
            if segment.len == 0 && !segment.syn {
                return;
            }
            if self.table.len() >= MAX_CONNECTIONS {
                self.forget();
            }
            self.count += 1;
            let addresses = [key.0, key.1];
            let connection = Connection {
                addresses,
                streams: [Stream::default(), Stream::default()],
                decoding: Decoding::Unknown,
                last: time,
            };
            self.table.insert(key, connection);
        }
        let Some(connection) = self.table.get_mut(&key) else { return };
        if matches!(connection.decoding, Decoding::Ignored) {
            return;
        }
        let sink = Sink { chosen: self.chosen, recorder: &mut self.recorder, ignored: &mut self.ignored };
        let before = connection.waiting_bytes();
        connection.take(direction, time, segment, sink);
        self.waiting_bytes = self.waiting_bytes - before + connection.waiting_bytes();
        if self.waiting_bytes > MAX_WAITING_BYTES {
            self.forget();
        }
    }

    /// Ends the connections that were silent longest, because there is no memory for all of them.
    fn forget(&mut self) {
        let keys = longest_silent(&self.table);
        self.recorder.unseen().forgotten += keys.len() as u64;
        for key in keys {
            self.close(key);
        }
    }

    fn close(&mut self, key: Key) {
        let Some(mut connection) = self.table.remove(&key) else { return };
        self.waiting_bytes -= connection.waiting_bytes();
        connection.finish(Sink {
            chosen: self.chosen,
            recorder: &mut self.recorder,
            ignored: &mut self.ignored,
        });
    }

    /// Ends all connections.
    pub(super) fn end(&mut self) {
        let mut keys: Vec<_> = self.table.keys().copied().collect();
        keys.sort_unstable();
        for key in keys {
            self.close(key);
        }
        let mut sink = Sink { chosen: self.chosen, recorder: &mut self.recorder, ignored: &mut self.ignored };
        self.datagrams.end(&mut sink);
    }
}

/// Where messages go.
pub(super) struct Sink<'a> {
    chosen: Chosen,
    pub(super) recorder: &'a mut Recorder,
    ignored: &'a mut Vec<SocketAddr>,
}

impl Connection {
    fn take(&mut self, direction: usize, time: u64, segment: &Segment<'_>, mut sink: Sink<'_>) {
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
                dispatch(*addresses, decoding, Transport::Stream, other, framed, &mut sink);
            };
            streams[other].acknowledged(sequence, &mut found);
        }
        let payload = Payload { time, sequence: segment.sequence, bytes: segment.payload, len: segment.len };
        let mut found = |framed: &Framed<'_>| {
            dispatch(*addresses, decoding, Transport::Stream, direction, framed, &mut sink);
        };
        streams[direction].segment(payload, &mut found);
    }

    fn finish(&mut self, mut sink: Sink<'_>) {
        let Self { addresses, streams, decoding, .. } = self;
        for (direction, stream) in streams.iter_mut().enumerate() {
            stream.end(&mut |framed| {
                dispatch(*addresses, decoding, Transport::Stream, direction, framed, &mut sink);
            });
        }
        let Decoding::Known(_, decoder) = decoding else { return };
        decoder.end(sink.recorder);
        let unseen = sink.recorder.unseen();
        for stream in streams {
            unseen.lost_bytes += stream.lost_bytes;
            unseen.cut += stream.damage.cut;
        }
    }
}

/// Who sends an encrypted message of a connection that began before the input: its header does not show it, but a key that
/// opens it does. The message is counted where no key does.
fn encrypted(
    addresses: [SocketAddr; 2],
    direction: usize,
    framed: &Framed<'_>,
    sink: &mut Sink<'_>,
) -> Option<Side> {
    if !addresses.iter().any(|address| sink.chosen.includes(*address)) {
        return None;
    }
    let [from, to] = if direction == 0 { addresses } else { [addresses[1], addresses[0]] };
    let is_whole = framed.head.len() == framed.len;
    let side = sender_of_encrypted(framed.head, is_whole, [from.ip(), to.ip()], sink.recorder.keyring());
    if side.is_none() {
        sink.recorder.unseen().encrypted += 1;
    }
    side
}

/// Gives a message to the decoder of its connection, which the first message that is recognised decides.
pub(super) fn dispatch(
    addresses: [SocketAddr; 2],
    decoding: &mut Decoding,
    transport: Transport,
    direction: usize,
    framed: &Framed<'_>,
    sink: &mut Sink<'_>,
) {
    if matches!(decoding, Decoding::Unknown) {
        let known = if transport == Transport::Stream && is_encrypted(framed.head) {
            encrypted(addresses, direction, framed, sink)
        } else {
            transport.sender(framed.head)
        };
        let Some(side) = known else { return };
        let client = if side == Side::Client { direction } else { 1 - direction };
        let ends = Ends { client: addresses[client], server: addresses[1 - client] };
        *decoding = match transport.decoder(framed.head, ends) {
            _ if !sink.chosen.includes(ends.server) => {
                sink.ignored.push(ends.server);
                Decoding::Ignored
            }
            Some(decoder) => Decoding::Known(client, decoder),
            None => return,
        };
    }
    let Decoding::Known(client, decoder) = decoding else { return };
    let side = if direction == *client { Side::Client } else { Side::Server };
    let Framed { start, end, len, head } = *framed;
    decoder.message(&Message { side, start, end, len, head }, sink.recorder);
}
