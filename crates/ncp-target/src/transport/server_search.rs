//! Finds a server on an Ethernet: SAP tells the address of its name, RIP the way to its network
//! (docs/protocols/ncp.md 1.8).

use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use sharebench_ncp::ether::{EtherSocket, MAX_FRAME};
use sharebench_ncp::wire::ipx::{Address, IpxPacket, packet_type, socket};
use sharebench_ncp::wire::rip::{RipEntry, RipPacket};
use sharebench_ncp::wire::sap::{DOWN, FILE_SERVER, SapEntry, SapPacket};
use tokio::io::unix::AsyncFd;
use tokio::time::Instant;

use crate::options::ether::EtherOptions;
use crate::transport::ipx_socket::{ASKED, IpxLink, IpxSocket, unfit};

/// Sockets of requests lie this far apart: behind each are those of the watchdog and of messages.
const STEP: u16 = 4;
/// Sockets that clients may take (docs/protocols/ncp.md 1.7), and how far apart processes begin.
const FIRST: u16 = 0x4000;
const ALL: u16 = 0x4000;
const PROCESS: u16 = 0x100;

/// A socket that none of the last 4096 connections of this process has, and hardly one of another process: stations of one
/// address must differ in it.
fn own_socket() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let process = (std::process::id() % u32::from(ALL / PROCESS)) as u16 * PROCESS;
    FIRST + process.wrapping_add(NEXT.fetch_add(STEP, Ordering::Relaxed)) % ALL
}

/// Where packets to a network go, and what is known of the way.
struct Route {
    next: [u8; 6],
    /// The network of this segment.
    segment: u32,
    routers: u16,
}

/// A station that has found the server of a name.
pub(crate) async fn find(
    ether: &EtherOptions,
    socket: EtherSocket,
    name: &str,
    retry: Duration,
) -> io::Result<IpxSocket> {
    let own = Address { network: ether.network.unwrap_or(0), node: socket.mac(), socket: own_socket() };
    // On a station that is no packet socket there is nothing to keep away.
    let _ = socket.hear_only(own.socket);
    // SAFETY: the socket keeps its descriptor until it is dropped, and the `AsyncFd` holds it.
    let frames = unsafe { AsyncFd::register(socket) }?;
    let search = Search { frames: &frames, own, retry };
    let server = search.server(name).await?;
    let way = search.way(server.network).await?;
    let own = Address { network: if own.network == 0 { way.segment } else { own.network }, ..own };
    Ok(IpxSocket::new(IpxLink::Ether(frames, way.next), own, server, way.routers))
}

/// Questions to everyone on the segment.
struct Search<'s> {
    frames: &'s AsyncFd<EtherSocket>,
    own: Address,
    retry: Duration,
}

impl Search<'_> {
    /// Asks for the nearest server, and where that is another for all of them, until one of the name answers.
    async fn server(&self, name: &str) -> io::Result<Address> {
        let (mut pause, mut heard) = (self.retry, BTreeSet::new());
        for number in 0..ASKED {
            let mut query = Vec::new();
            SapPacket::put_query(number == 0, FILE_SERVER, &mut query);
            let until = Instant::now() + pause;
            self.ask(socket::SAP, packet_type::SAP, &query).await?;
            let found = self.hear(until, |packet, _| {
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
                    heard.insert(shown);
                }
                // The nearest is another: there is nothing more to wait for.
                nearest.then_some(None)
            });
            if let Some(Some(address)) = found.await? {
                return Ok(address);
            }
            pause = if number == 0 { pause } else { pause * 2 };
        }
        let framing = self.frames.get_ref().framing().name();
        let others = if heard.is_empty() {
            "none is heard".to_owned()
        } else {
            format!("heard are {}", heard.into_iter().collect::<Vec<_>>().join(", "))
        };
        let detail = format!("no file server {name} answers in frame={framing}; {others}");
        Err(io::Error::new(ErrorKind::TimedOut, detail))
    }

    /// Asks for the way to a network.
    async fn way(&self, network: u32) -> io::Result<Route> {
        let mut request = Vec::new();
        RipPacket::put(false, &[RipEntry { network, hops: 0, ticks: 0 }], &mut request);
        let mut pause = self.retry;
        for _ in 0..ASKED {
            let until = Instant::now() + pause;
            self.ask(socket::RIP, packet_type::RIP, &request).await?;
            let found = self.hear(until, |packet, next| {
                let response = RipPacket::decode(packet.payload).ok().filter(|packet| packet.response)?;
                let entry = response.entries().find(|entry| entry.network == network && entry.hops < DOWN)?;
                let segment = packet.header.source.network;
                Some(Route { next, segment, routers: entry.hops.saturating_sub(1) })
            });
            if let Some(way) = found.await? {
                return Ok(way);
            }
            pause *= 2;
        }
        Err(io::Error::new(ErrorKind::TimedOut, format!("nobody knows the way to network {network:08X}")))
    }

    /// Sends a query to everyone.
    async fn ask(&self, socket: u16, kind: u8, payload: &[u8]) -> io::Result<()> {
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

    /// Takes packets to this station until one says what is asked, or the time is over.
    async fn hear<T>(
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
