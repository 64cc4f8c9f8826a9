//! Searches for a server on Ethernet: SAP maps its name to its address, RIP its network to a route
//! (docs/protocols/ncp.md 1.8).

use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use sharebench_target::readiness::AsyncFd;
use tokio::time::Instant;

use crate::ether::{EtherSocket, MAX_FRAME};
use crate::target::options::ether::EtherOptions;
use crate::target::transport::ipx_socket::{IpxLink, IpxSocket, MAX_ATTEMPTS, unfit};
use crate::wire::ipx::{Address, IpxPacket, packet_type, socket};
use crate::wire::rip::{RipEntry, RipPacket};
use crate::wire::sap::{DOWN, FILE_SERVER, SapEntry, SapPacket};

/// Distance between request sockets; the watchdog and message sockets lie between them.
const STEP: u16 = 4;
/// First dynamic socket and their number (docs/protocols/ncp.md 1.7), and the distance between the first sockets of
/// two processes.
const FIRST: u16 = 0x4000;
const ALL: u16 = 0x4000;
const PROCESS: u16 = 0x100;

/// A socket that the last 4096 connections of this process did not use, and that another process hardly uses:
/// connections from one MAC address must have different sockets.
fn own_socket() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Several processes on one machine share its node address, so each of them starts at a socket of its
    // own.
    let process = (std::process::id() % u32::from(ALL / PROCESS)) as u16 * PROCESS;
    FIRST + process.wrapping_add(NEXT.fetch_add(STEP, Ordering::Relaxed)) % ALL
}

/// The route to a network.
struct Route {
    next: [u8; 6],
    /// Network number of this segment.
    segment: u32,
    routers: u16,
}

/// Opens an IPX socket to the server of a name.
pub(crate) async fn find(
    ether: &EtherOptions,
    socket: EtherSocket,
    name: &str,
    retry: Duration,
) -> io::Result<IpxSocket> {
    let own = Address { network: ether.network.unwrap_or(0), node: socket.mac(), socket: own_socket() };
    // The filter is an optimisation; a socket that is not a packet socket does not support it.
    let _ = socket.filter_socket(own.socket);
    // SAFETY: the socket keeps its descriptor until it is dropped, and the `AsyncFd` owns the socket.
    let frames = unsafe { AsyncFd::register(socket) }?;
    let search = Search { frames: &frames, own, retry };
    let server = search.server(name).await?;
    let route = search.route(server.network).await?;
    let own = Address { network: if own.network == 0 { route.segment } else { own.network }, ..own };
    Ok(IpxSocket::new(IpxLink::Ether(frames, route.next), own, server, route.routers))
}

/// A search by broadcasts on the segment.
struct Search<'s> {
    frames: &'s AsyncFd<EtherSocket>,
    own: Address,
    retry: Duration,
}

impl Search<'_> {
    /// Queries the nearest server and, if that is another one, all servers, until one of the name answers.
    async fn server(&self, name: &str) -> io::Result<Address> {
        let mut pause = self.retry;
        let mut others_found = BTreeSet::new();
        for number in 0..MAX_ATTEMPTS {
            let mut query = Vec::new();
            // The first query is for the nearest server, which one packet answers; only if that is another one
            // are all servers queried.
            SapPacket::put_query(number == 0, FILE_SERVER, &mut query);
            let until = Instant::now() + pause;
            self.broadcast(socket::SAP, packet_type::SAP, &query).await?;
            let found = self.receive(until, |packet, _| {
                let (entries, nearest) = match SapPacket::decode(packet.payload) {
                    Ok(SapPacket::NearestResponse(entries)) => (entries, true),
                    Ok(SapPacket::GeneralResponse(entries)) => (entries, false),
                    _ => return None,
                };
                let up = |entry: &SapEntry| entry.service == FILE_SERVER && entry.hops < DOWN;
                for entry in entries.iter().filter(up) {
                    let shown = String::from_utf8_lossy(&entry.name).trim_end_matches('\0').to_owned();
                    if shown.eq_ignore_ascii_case(name) {
                        return Some(Some(entry.address));
                    }
                    others_found.insert(shown);
                }
                // The nearest server is another one, and no further response follows.
                nearest.then_some(None)
            });
            if let Some(Some(address)) = found.await? {
                return Ok(address);
            }
            pause = if number == 0 { pause } else { pause * 2 };
        }
        let framing = self.frames.get_ref().framing().name();
        let others = if others_found.is_empty() {
            "no server responded".to_owned()
        } else {
            format!("responding servers: {}", others_found.into_iter().collect::<Vec<_>>().join(", "))
        };
        let detail = format!("no response from file server {name} with frame={framing}; {others}");
        Err(io::Error::new(ErrorKind::TimedOut, detail))
    }

    /// Requests the route to a network.
    async fn route(&self, network: u32) -> io::Result<Route> {
        let mut request = Vec::new();
        RipPacket::put(false, &[RipEntry { network, hops: 0, ticks: 0 }], &mut request);
        let mut pause = self.retry;
        for _ in 0..MAX_ATTEMPTS {
            let until = Instant::now() + pause;
            self.broadcast(socket::RIP, packet_type::RIP, &request).await?;
            let found = self.receive(until, |packet, next| {
                let response = RipPacket::decode(packet.payload).ok().filter(|packet| packet.response)?;
                let entry = response.entries().find(|entry| entry.network == network && entry.hops < DOWN)?;
                let segment = packet.header.source.network;
                Some(Route { next, segment, routers: entry.hops.saturating_sub(1) })
            });
            if let Some(route) = found.await? {
                return Ok(route);
            }
            pause *= 2;
        }
        Err(io::Error::new(ErrorKind::TimedOut, format!("no response with a route to network {network:08X}")))
    }

    /// Broadcasts a query.
    async fn broadcast(&self, socket: u16, kind: u8, payload: &[u8]) -> io::Result<()> {
        let all = Address { network: self.own.network, node: Address::BROADCAST, socket };
        let mut packet = Vec::new();
        IpxPacket::new(kind, self.own, all, payload).map_err(unfit)?.put(&mut packet);
        loop {
            let mut writable = self.frames.writable().await?;
            let sent = writable.try_io(|frames| frames.get_ref().send(Address::BROADCAST, &packet));
            if let Ok(sent) = sent {
                return sent;
            }
        }
    }

    /// Receives packets to this address until `take` accepts one or the time is over.
    async fn receive<T>(
        &self,
        until: Instant,
        mut take: impl FnMut(&IpxPacket<'_>, [u8; 6]) -> Option<T>,
    ) -> io::Result<Option<T>> {
        let mut input = [0; MAX_FRAME];
        while Instant::now() < until {
            let Ok(readable) = tokio::time::timeout_at(until, self.frames.readable()).await else { break };
            let Ok(received) = readable?.try_io(|frames| frames.get_ref().receive(&mut input)) else {
                continue;
            };
            let Some((from, at)) = received? else { continue };
            let Ok(packet) = IpxPacket::decode(&input[at]) else { continue };
            let to = packet.header.destination;
            if (to.node, to.socket) == (self.own.node, self.own.socket)
                && let Some(found) = take(&packet, from)
            {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}
