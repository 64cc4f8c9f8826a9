//! IPX datagrams of a capture: the search for the server, and the NCP packets.

use sharebench_ncp::wire::ipx::{Address, IpxPacket, is_intact, socket};
use sharebench_ncp::wire::packet::BURST;
use sharebench_ncp::wire::rip::{RipEntry, RipPacket};
use sharebench_ncp::wire::sap::SapPacket;

use crate::captures::pcap::Packet;

/// Client, direction and NCP packet of a datagram; none for other datagrams, which are decoded here as well.
pub fn ncp_packet(packet: &Packet) -> Option<(Address, bool, Vec<u8>)> {
    let datagram = IpxPacket::decode(&packet.bytes).unwrap();
    assert!(is_intact(&packet.bytes[..usize::from(datagram.header.length)]));
    let mut again = Vec::new();
    datagram.put(&mut again);
    assert!(packet.bytes.starts_with(&again), "frame {}", packet.frame);
    let from = datagram.header.source;
    let to = datagram.header.destination;
    for end in [from, to] {
        match end.socket {
            socket::SAP => return sap(packet.frame, datagram.payload),
            socket::RIP => return rip(packet.frame, datagram.payload),
            _ => {}
        }
    }
    // Processes of mars_nwe exchange packets of their own and forwarded requests.
    if from.node == to.node || datagram.payload.starts_with(&BURST.to_be_bytes()) {
        return None;
    }
    let from_client = to.socket == socket::NCP;
    assert!(from_client || from.socket == socket::NCP, "frame {}", packet.frame);
    Some((if from_client { from } else { to }, from_client, datagram.payload.to_vec()))
}

fn sap<T>(frame: usize, payload: &[u8]) -> Option<T> {
    let mut again = Vec::new();
    match SapPacket::decode(payload).unwrap() {
        SapPacket::GeneralQuery(service) => SapPacket::put_query(false, service, &mut again),
        SapPacket::NearestQuery(service) => SapPacket::put_query(true, service, &mut again),
        SapPacket::GeneralResponse(entries) => {
            SapPacket::put_general(&entries.iter().collect::<Vec<_>>(), &mut again);
        }
        SapPacket::NearestResponse(entries) => {
            SapPacket::put_nearest(&entries.iter().next().unwrap(), &mut again);
        }
    }
    assert_eq!(again, payload, "frame {frame}");
    None
}

fn rip<T>(frame: usize, payload: &[u8]) -> Option<T> {
    let packet = RipPacket::decode(payload).unwrap();
    let mut again = Vec::new();
    RipPacket::put(packet.response, &packet.entries().collect::<Vec<RipEntry>>(), &mut again);
    assert_eq!(again, payload, "frame {frame}");
    None
}
