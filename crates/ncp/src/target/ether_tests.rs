//! Client and server at the ends of a simulated cable, which needs no privileges: all framings, checksums by level,
//! and servers with other names.

use std::os::unix::net::UnixDatagram;
use std::sync::Arc;
use std::time::Duration;

use sharebench_server::{MemoryVolume, NcpEtherServer, NcpServerOptions};
use sharebench_stream_client::DialError;
use sharebench_target::{Secret, TargetUrl, UrlPart};

use crate::client::{Access, Client, LargePackets, Login, Options, Path, ProbeResult};
use crate::ether::EtherSocket;
use crate::security::level::{Level, Negotiated};
use crate::target::options::NcpOptions;
use crate::target::setup::over;
use crate::target::transport::SocketTransport;
use crate::wire::ethernet::Framing;
use crate::wire::name_space::space;

const LOGIN: Login<'_> = Login { user: "lab", password: "Pass word" };

/// A server at one end of a cable, and the other end.
fn served(framing: Framing, checksums: Level) -> (NcpEtherServer, EtherSocket) {
    let (near, far) = UnixDatagram::pair().unwrap();
    for end in [&near, &far] {
        end.set_nonblocking(true).unwrap();
    }
    // The server is linked with the library, of which this is the test build: its types are others.
    let checksums = sharebench_ncp::security::level::Level::from_number(checksums as u8).unwrap();
    let framing_of_server = sharebench_ncp::wire::ethernet::Framing::from_name(framing.name()).unwrap();
    let accounts = vec![("lab".to_owned(), Secret::new(LOGIN.password))];
    let options = NcpServerOptions { accounts, checksums, threads: 1, ..NcpServerOptions::default() };
    let socket = sharebench_ncp::ether::EtherSocket::over(far, [2, 0, 0, 0, 0, 1], framing_of_server);
    let volume = Arc::new(MemoryVolume::new(16 << 20));
    let server = NcpEtherServer::start_over(socket, 0x10, volume, options).unwrap();
    (server, EtherSocket::over(near, [2, 0, 0, 0, 0, 2], framing))
}

fn options(rest: &str) -> NcpOptions {
    let text = format!("ncp://lab@{rest}");
    NcpOptions::from_url(TargetUrl::parse(&text).unwrap(), Secret::new(LOGIN.password)).unwrap()
}

async fn find(options: &NcpOptions, cable: EtherSocket) -> Result<SocketTransport, DialError> {
    over(options, options.ether.as_ref().unwrap(), cable).await
}

/// Writes and reads a file with calls of the negotiated size.
async fn work(client: &mut Client<SocketTransport>) {
    let path = Path::new(space::LONG, ["SHARE", "file"].map(str::as_bytes)).unwrap();
    let (file, _) = client.open(&path, Access::Create, false).await.unwrap();
    let data: Vec<u8> = (0..10_000).map(|at| (at * 31 + at / 251) as u8).collect();
    let mut sent = 0;
    let mut got = 0;
    let mut back = vec![0; data.len()];
    while sent < data.len() {
        sent += client.write(file, 1 + sent as u64, &data[sent..]).await.unwrap();
    }
    while got < back.len() {
        got += client.read(file, 1 + got as u64, &mut back[got..]).await.unwrap();
    }
    assert!(back == data);
    client.close(file).await.unwrap();
}

#[tokio::test]
async fn client_finds_server_by_name_in_every_framing() {
    for framing in Framing::ALL {
        let (server, cable) = served(framing, Level::IfRequested);
        let rest = format!("sharebench/SHARE?transport=ether&iface=x&frame={}", framing.name());
        let socket = find(&options(&rest), cable).await.unwrap();
        let behaviour = Options {
            buffer: 1420,
            checksums: Level::IfPossible,
            signatures: Level::IfPossible,
            large_packets: LargePackets::Probe,
            // A slow machine must not cause retransmissions.
            retry: Duration::from_secs(5),
            ..Options::default()
        };
        let mut client = Client::connect(socket, behaviour).await.unwrap();
        client.login(LOGIN).await.unwrap();
        assert_eq!((client.signs(), client.checks()), (true, framing.has_checksums()), "{framing:?}");
        assert_eq!((client.buffer(), client.probed()), (1420, ProbeResult::Packet(1492)), "{framing:?}");
        let local = client.transport().local_addr().unwrap();
        assert!(local.starts_with("00000010:020000000002:"), "{local}");
        work(&mut client).await;
        assert_eq!(client.counts().resent, 0, "{framing:?}");
        client.disconnect().await.unwrap();
        assert_eq!(server.connections(), 0);
    }
}

#[tokio::test]
async fn levels_of_both_sides_determine_checksums() {
    for (at, level) in (0..16).map(|at| (at, Level::from_number(at % 4).unwrap())) {
        let served_level = Level::from_number(at / 4).unwrap();
        let (_server, cable) = served(Framing::EthernetII, served_level);
        let socket =
            find(&options("SHAREBENCH/SHARE?transport=ether&iface=x&frame=ii"), cable).await.unwrap();
        let behaviour = Options { buffer: 1400, checksums: level, ..Options::default() };
        let mut client = Client::connect(socket, behaviour).await.unwrap();
        match (level.negotiate(served_level), client.login(LOGIN).await) {
            (Negotiated::Refused, Err(_)) => {}
            (agreement, Ok(())) => {
                assert_eq!(client.checks(), agreement == Negotiated::On, "{level:?} {served_level:?}");
                work(&mut client).await;
            }
            (agreement, done) => panic!("{level:?} {served_level:?}: {agreement:?}, {done:?}"),
        }
    }
}

/// Time advances only when nothing else can happen.
#[tokio::test(start_paused = true)]
async fn search_error_names_other_servers_or_silence() {
    let (_server, cable) = served(Framing::Snap, Level::Never);
    let options = options("NAS/SHARE?transport=ether&iface=veth7&frame=snap");
    let other = find(&options, cable).await.unwrap_err();
    assert_eq!(other.part, UrlPart::Host);
    assert!(other.detail.contains("file server NAS") && other.detail.contains("veth7"), "{other:?}");
    let (near, _far) = UnixDatagram::pair().unwrap();
    near.set_nonblocking(true).unwrap();
    let alone = EtherSocket::over(near, [2, 0, 0, 0, 0, 2], Framing::Snap);
    let silent = find(&options, alone).await.unwrap_err();
    assert!(silent.detail.contains("no server responded"), "{silent:?}");
}

#[tokio::test]
async fn frames_of_another_framing_are_ignored() {
    let (_server, cable) = served(Framing::Llc8022, Level::Never);
    let quick = "SHAREBENCH/SHARE?transport=ether&iface=x&frame=raw&retry=1ms";
    let raw = EtherSocket::over(into_fd(&cable), [2, 0, 0, 0, 0, 2], Framing::Raw8023);
    let silent = find(&options(quick), raw).await.unwrap_err();
    assert!(silent.detail.contains("frame=raw"), "{silent:?}");
}

/// A second socket on the same cable.
fn into_fd(cable: &EtherSocket) -> std::os::fd::OwnedFd {
    use std::os::fd::{AsRawFd, BorrowedFd};
    // SAFETY: the socket is open until the end of this function, and the duplicate is a descriptor of its own.
    unsafe { BorrowedFd::borrow_raw(cable.as_raw_fd()) }.try_clone_to_owned().unwrap()
}
