//! Messages to the decoders of their connections.

use std::net::SocketAddr;

use super::frames::Framed;
use super::message::{Ends, Message, Side};
use super::protocols::{Decoder, Transport, is_encrypted, sender_of_encrypted};
use super::recorder::Recorder;

/// Memory of a call that waits for its reply, bytes.
const CALL_BYTES: usize = 600;

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
    Known { client: usize, decoder: Box<dyn Decoder> },
}

impl Decoding {
    /// Memory of calls that wait for a reply, bytes.
    pub(super) fn waiting_bytes(&self) -> usize {
        match self {
            Self::Known { decoder, .. } => decoder.waiting() * CALL_BYTES,
            Self::Unknown | Self::Ignored => 0,
        }
    }

    /// The connection has ended; false if it has no decoder.
    pub(super) fn end(&mut self, addresses: [SocketAddr; 2], recorder: &mut Recorder) -> bool {
        let Self::Known { client, decoder } = self else { return false };
        decoder.end(&mut recorder.connection(ends(addresses, *client)));
        true
    }
}

/// The ends of a connection whose client sends in this direction.
const fn ends(addresses: [SocketAddr; 2], client: usize) -> Ends {
    Ends { client: addresses[client], server: addresses[1 - client] }
}

/// Where messages go.
pub(super) struct Sink {
    pub(super) chosen: Chosen,
    pub(super) recorder: Recorder,
    /// Servers of connections that were not chosen.
    pub(super) ignored: Vec<SocketAddr>,
}

/// Who sends an encrypted message of a connection that began before the input: its header does not show it, but a key that
/// opens it does. The message is counted where no key does.
fn encrypted(
    addresses: [SocketAddr; 2],
    direction: usize,
    framed: &Framed<'_>,
    sink: &mut Sink,
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
    sink: &mut Sink,
) {
    if matches!(decoding, Decoding::Unknown) {
        let known = if transport == Transport::Stream && is_encrypted(framed.head) {
            encrypted(addresses, direction, framed, sink)
        } else {
            transport.sender(framed.head)
        };
        let Some(side) = known else { return };
        let client = if side == Side::Client { direction } else { 1 - direction };
        let server = addresses[1 - client];
        *decoding = match transport.decoder(framed.head) {
            _ if !sink.chosen.includes(server) => {
                sink.ignored.push(server);
                Decoding::Ignored
            }
            Some(decoder) => Decoding::Known { client, decoder },
            None => return,
        };
    }
    let Decoding::Known { client, decoder } = decoding else { return };
    let side = if direction == *client { Side::Client } else { Side::Server };
    let Framed { start, end, len, head } = *framed;
    let message = Message { side, start, end, len, head };
    decoder.message(&message, &mut sink.recorder.connection(ends(addresses, *client)));
}
