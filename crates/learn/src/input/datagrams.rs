//! Messages in datagrams: NFS over UDP, and NCP over UDP and IPX.

use std::net::SocketAddr;

use super::capture::Datagram;
use super::connection_table::{ConnectionState, ConnectionTable};
use super::dispatch::{Decoding, Sink, dispatch};
use super::frames::Framed;
use super::message::{HEAD_BYTES, Side};
use super::protocols::Transport;

/// What two addresses send each other.
struct Pair {
    addresses: [SocketAddr; 2],
    decoding: Decoding,
    /// When the last datagram was captured.
    last: u64,
}

impl ConnectionState for Pair {
    fn last_use(&self) -> (bool, u64) {
        (true, self.last)
    }

    fn waiting_bytes(&self) -> usize {
        self.decoding.waiting_bytes()
    }

    fn finish(&mut self, sink: &mut Sink) {
        self.decoding.end(self.addresses, &mut sink.recorder);
    }
}

/// The datagrams of all machines.
pub(super) struct Datagrams {
    pairs: ConnectionTable<Pair>,
}

impl Datagrams {
    pub(super) fn new() -> Self {
        Self { pairs: ConnectionTable::new() }
    }

    /// Takes the next datagram, `time` ns after the start of the input; true if it is the first one of a pair.
    pub(super) fn take(&mut self, time: u64, datagram: &Datagram<'_>, sink: &mut Sink) -> bool {
        let head = datagram.payload.get(..HEAD_BYTES).unwrap_or(datagram.payload);
        let Datagram { from, to, .. } = *datagram;
        let (transport, key, direction) = match datagram.ncp {
            Some(side) => {
                // A client of NCP has a socket of its own for packet burst (docs/protocols/ncp.md 4.1): what it sends from all of its
                // sockets belongs together.
                let machine = |address: SocketAddr| SocketAddr::new(address.ip(), 0);
                let sent_by_server = Transport::NcpDatagram.sender(head).unwrap_or(side) == Side::Server;
                let ends =
                    if sent_by_server { (machine(to), machine(from)) } else { (machine(from), machine(to)) };
                (Transport::NcpDatagram, ends, usize::from(sent_by_server))
            }
            None if from <= to => (Transport::Datagram, (from, to), 0),
            None => (Transport::Datagram, (to, from), 1),
        };
        let is_new = self.pairs.get(&key).is_none();
        if is_new {
            if transport.sender(head).is_none() {
                return false;
            }
            let addresses = if direction == 0 { [from, to] } else { [to, from] };
            let pair = Pair { addresses, decoding: Decoding::Unknown, last: time };
            self.pairs.insert(key, pair, sink);
        }
        let framed = Framed { start: time, end: time, len: datagram.len, head };
        self.pairs.take(&key, sink, |pair, sink| {
            dispatch(pair.addresses, &mut pair.decoding, transport, direction, &framed, sink);
            pair.last = time;
        });
        is_new
    }

    /// Ends all pairs.
    pub(super) fn end(&mut self, sink: &mut Sink) {
        self.pairs.end(sink);
    }
}

#[cfg(test)]
mod tests {
    //! Calls of NFS over UDP in packets of IPv4.

    use std::io::{Cursor, Read};

    use crate::input::{ReadOptions, observe};
    use crate::operation::{Action, Observed, Outcome, Protocol, Unseen};

    const UDP: u8 = 17;
    /// The flag of a fragment that others follow.
    const MORE: u16 = 0x2000;

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    /// A packet of raw IP in a capture: `payload` of `len` bytes in a datagram, of which this is the first fragment.
    fn packet(from: (u8, u16), to: (u8, u16), fragment: u16, len: usize, payload: &[u8]) -> Vec<u8> {
        let total = (28 + payload.len()) as u32;
        let mut packet = words(&[1, 0, total, total]);
        packet.extend(words(&[0x4500_0000 | total, u32::from(fragment), 0x4000_0000 | u32::from(UDP) << 16]));
        packet.extend([10, 0, 0, from.0, 10, 0, 0, to.0]);
        packet.extend(words(&[u32::from(from.1) << 16 | u32::from(to.1), (len as u32 + 8) << 16]));
        packet.extend(payload);
        packet
    }

    fn observed(packets: &[Vec<u8>]) -> Observed {
        let mut file = words(&[0xA1B2_C3D4, 0x0002_0004, 0, 0, 65_535, 101]);
        file.extend(packets.concat());
        let input = ("capture".to_owned(), Box::new(Cursor::new(file)) as Box<dyn Read>);
        observe(std::iter::once(input), &ReadOptions::default()).unwrap()
    }

    /// A call of version 3 with the handle `abcd`.
    fn call(xid: u32, procedure: u32, arguments: &[u32]) -> Vec<u8> {
        let mut call = words(&[xid, 0, 2, 100_003, 3, procedure, 0, 0, 0, 0, 4]);
        call.extend(b"abcd");
        call.extend(words(arguments));
        call
    }

    #[test]
    fn a_datagram_is_a_message() {
        const GETATTR: u32 = 1;
        const NOT_FOUND: u32 = 2;
        let client = (1, 700);
        let server = (2, 2049);
        let call = call(7, GETATTR, &[]);
        let reply = words(&[7, 1, 0, 0, 0, 0, NOT_FOUND]);
        let observed = observed(&[
            packet(client, server, 0, call.len(), &call),
            // Sent again: one operation.
            packet(client, server, 0, call.len(), &call),
            packet(server, client, 0, reply.len(), &reply),
        ]);
        let found: Vec<_> = observed.operations.iter().map(|operation| operation.outcome).collect();
        assert_eq!(found, [Outcome::NotFound]);
        assert_eq!(observed.users[0].protocol, Protocol::Nfs3);
        assert_eq!(observed.unseen, Unseen::default());
    }

    #[test]
    fn replies_to_other_programs_and_to_null_miss_no_request() {
        let client = (1, 700);
        let server = (2, 2049);
        let mount = (2, 20_048);
        let call = call(7, 1, &[]);
        // MNT of MOUNT 3, and NULL of NFS 4: no operation on a file.
        let mnt = words(&[8, 0, 2, 100_005, 3, 1, 0, 0, 0, 0, 1, 0x2F00_0000]);
        let null = words(&[9, 0, 2, 100_003, 4, 0, 0, 0, 0, 0]);
        let reply = |xid| words(&[xid, 1, 0, 0, 0, 0, 0]);
        let observed = observed(&[
            packet(client, mount, 0, mnt.len(), &mnt),
            packet(mount, client, 0, 28, &reply(8)),
            packet(client, server, 0, null.len(), &null),
            packet(server, client, 0, 28, &reply(9)),
            packet(client, server, 0, call.len(), &call),
            packet(server, client, 0, 28, &reply(7)),
        ]);
        assert_eq!(observed.operations.len(), 1);
        assert_eq!(observed.unseen, Unseen::default());
    }

    #[test]
    fn the_first_fragment_is_enough() {
        const WRITE: u32 = 7;
        let client = (1, 700);
        let server = (2, 2049);
        let mut call = call(8, WRITE, &[0, 4096, 8192, 2, 8192]);
        call.extend([0; 1000]);
        let whole = call.len() - 1000 + 8192;
        let rest = packet(client, server, 128, 0, &[0; 1000]);
        let observed = observed(&[packet(client, server, MORE, whole, &call), rest]);
        let found: Vec<_> = observed.operations.iter().map(|operation| operation.action).collect();
        assert_eq!(found, [Action::Write { file: 0, offset: 4096, bytes: 8192, stable: true }]);
    }
}
