//! How clients on Ethernet find the server: SAP announces its name and address, RIP the route to its network
//! (docs/protocols/ncp.md 1.8).

use std::time::Duration;

use sharebench_ncp::wire::ipx::{Address, IpxPacket, packet_type, socket};
use sharebench_ncp::wire::rip::{ANY_NETWORK, RipEntry, RipPacket};
use sharebench_ncp::wire::sap::{DOWN, FILE_SERVER, SapEntry, SapPacket};

/// Interval of the broadcasts.
pub(super) const EVERY: Duration = Duration::from_secs(60);

/// Service type of a general query for all services.
const ANY_SERVICE: u16 = 0xFFFF;
/// Ticks to a server on the same segment.
const TICKS: u16 = 2;

/// The announced properties of a server.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServiceAdvertiser {
    /// Server name, padded with NUL.
    pub(super) name: [u8; 48],
    /// Internal network number of the server.
    pub(super) internal: u32,
    /// Network number of the segment, and the MAC address of the server.
    pub(super) segment: u32,
    pub(super) mac: [u8; 6],
}

impl ServiceAdvertiser {
    /// The answer to a SAP or RIP query; none if the query does not concern this server.
    pub(super) fn answer(&self, packet: &IpxPacket<'_>) -> Option<Vec<u8>> {
        let mut payload = Vec::new();
        let port = packet.header.destination.socket;
        match port {
            socket::SAP => match SapPacket::decode(packet.payload).ok()? {
                SapPacket::NearestQuery(FILE_SERVER) => {
                    SapPacket::put_nearest(&self.entry(true), &mut payload);
                }
                SapPacket::GeneralQuery(FILE_SERVER | ANY_SERVICE) => {
                    SapPacket::put_general(&[self.entry(true)], &mut payload);
                }
                _ => return None,
            },
            socket::RIP => {
                let request = RipPacket::decode(packet.payload).ok().filter(|request| !request.response)?;
                let ours = |network| network == self.internal || network == ANY_NETWORK;
                if !request.entries().any(|entry| ours(entry.network)) {
                    return None;
                }
                RipPacket::put(true, &[self.route(true)], &mut payload);
            }
            _ => return None,
        }
        Some(self.packet(port, self.on_segment(packet.header.source), &payload))
    }

    /// The broadcasts that announce the server, or that it is down: one of SAP and one of RIP.
    pub(super) fn announcements(&self, up: bool) -> [Vec<u8>; 2] {
        let mut services = Vec::new();
        let mut routes = Vec::new();
        SapPacket::put_general(&[self.entry(up)], &mut services);
        RipPacket::put(true, &[self.route(up)], &mut routes);
        let all = |socket| Address { network: self.segment, node: Address::BROADCAST, socket };
        [
            self.packet(socket::SAP, all(socket::SAP), &services),
            self.packet(socket::RIP, all(socket::RIP), &routes),
        ]
    }

    /// True for a packet to the server, on its internal network or on the segment.
    pub(super) fn is_own(&self, to: Address) -> bool {
        let server = Address::of_server(self.internal);
        let near = to.network == 0 || to.network == self.segment;
        (to.network, to.node) == (server.network, server.node) || near && to.node == self.mac
    }

    /// The address of a client, completed with the network of the segment if the client does not know it yet.
    pub(super) const fn on_segment(&self, client: Address) -> Address {
        Address { network: if client.network == 0 { self.segment } else { client.network }, ..client }
    }

    fn entry(&self, up: bool) -> SapEntry {
        let hops = if up { 1 } else { DOWN };
        let address = Address::of_server(self.internal);
        SapEntry { service: FILE_SERVER, name: self.name, address, hops }
    }

    const fn route(&self, up: bool) -> RipEntry {
        RipEntry { network: self.internal, hops: if up { 1 } else { DOWN }, ticks: TICKS }
    }

    fn packet(&self, socket: u16, to: Address, payload: &[u8]) -> Vec<u8> {
        let kind = if socket == socket::SAP { packet_type::SAP } else { packet_type::RIP };
        let from = Address { network: self.segment, node: self.mac, socket };
        let mut out = Vec::new();
        // The payloads have at most seven SAP or 50 RIP entries, so they fit.
        if let Ok(packet) = IpxPacket::new(kind, from, to, payload) {
            packet.put(&mut out);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVICES: ServiceAdvertiser =
        ServiceAdvertiser { name: [b'S'; 48], internal: 0x5348_5242, segment: 0x10, mac: [2, 0, 0, 0, 0, 1] };
    const CLIENT: Address = Address { network: 0, node: [2, 0, 0, 0, 0, 2], socket: 0x4000 };

    fn query(socket: u16, payload: &[u8]) -> Option<(Address, Vec<u8>)> {
        let to = Address { network: 0, node: Address::BROADCAST, socket };
        let query = IpxPacket::new(packet_type::SAP, CLIENT, to, payload).unwrap();
        let answer = SERVICES.answer(&query)?;
        let packet = IpxPacket::decode(&answer).unwrap();
        assert_eq!(packet.header.source, Address { network: 0x10, node: SERVICES.mac, socket });
        Some((packet.header.destination, packet.payload.to_vec()))
    }

    #[test]
    fn sap_and_rip_queries_are_answered_to_their_source() {
        let mut nearest = Vec::new();
        let mut any = Vec::new();
        let mut printers = Vec::new();
        SapPacket::put_query(true, FILE_SERVER, &mut nearest);
        SapPacket::put_query(false, ANY_SERVICE, &mut any);
        SapPacket::put_query(false, 7, &mut printers);
        let (to, answer) = query(socket::SAP, &nearest).unwrap();
        assert_eq!(to, Address { network: 0x10, ..CLIENT });
        let SapPacket::NearestResponse(entries) = SapPacket::decode(&answer).unwrap() else { panic!() };
        let found: Vec<_> = entries.iter().collect();
        assert_eq!((found.len(), found[0].address.network, found[0].hops), (1, 0x5348_5242, 1));
        let (_, answer) = query(socket::SAP, &any).unwrap();
        assert!(matches!(SapPacket::decode(&answer), Ok(SapPacket::GeneralResponse(_))));
        let request = |network| {
            let mut request = Vec::new();
            RipPacket::put(false, &[RipEntry { network, hops: 0, ticks: 0 }], &mut request);
            request
        };
        for network in [0x5348_5242, ANY_NETWORK] {
            let (_, answer) = query(socket::RIP, &request(network)).unwrap();
            let routes: Vec<_> = RipPacket::decode(&answer).unwrap().entries().collect();
            assert_eq!(routes, [RipEntry { network: 0x5348_5242, hops: 1, ticks: 2 }]);
        }
        let mut answer = Vec::new();
        RipPacket::put(true, &[], &mut answer);
        for (socket, payload) in
            [(socket::SAP, &printers), (socket::RIP, &request(9)), (socket::RIP, &answer), (0x451, &any)]
        {
            assert_eq!(query(socket, payload), None);
        }
    }

    #[test]
    fn shutdown_is_announced_with_16_hops() {
        for (up, hops) in [(true, 1), (false, 16)] {
            let [services, routes] = SERVICES.announcements(up);
            let services = IpxPacket::decode(&services).unwrap();
            assert_eq!(services.header.destination.node, Address::BROADCAST);
            let SapPacket::GeneralResponse(entries) = SapPacket::decode(services.payload).unwrap() else {
                panic!()
            };
            assert_eq!(entries.iter().map(|entry| entry.hops).collect::<Vec<_>>(), [hops]);
            let routes = IpxPacket::decode(&routes).unwrap();
            let hop = RipPacket::decode(routes.payload).unwrap().entries().next().unwrap().hops;
            assert_eq!(hop, hops);
        }
    }

    #[test]
    fn packets_to_other_addresses_are_ignored() {
        let own = Address::of_server(SERVICES.internal);
        let on_segment_address = Address { network: 0x10, node: SERVICES.mac, socket: 0x451 };
        for address in [own, on_segment_address, Address { network: 0, ..on_segment_address }] {
            assert!(SERVICES.is_own(address));
        }
        for address in [
            Address { network: 9, ..own },
            Address { network: 9, ..on_segment_address },
            Address { node: [9; 6], ..on_segment_address },
        ] {
            assert!(!SERVICES.is_own(address));
        }
    }
}
