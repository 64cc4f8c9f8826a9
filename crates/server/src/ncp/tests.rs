//! The front end with the client of the protocol crate over TCP and UDP, on volumes that block and that do not.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sharebench_ncp::client::{
    Access, Client, ClientError, Login, Options, Path, TcpTransport, Transport, UdpTransport, block_on,
};
use sharebench_ncp::receive_buffer;
use sharebench_ncp::security::level::{Level, Negotiated};
use sharebench_ncp::wire::name_space::space;
use sharebench_ncp::wire::negotiate::{AcceptedPacketSize, PacketSize, Security};
use sharebench_ncp::wire::{Codec as _, Completion, Function, Request};
use sharebench_target::Secret;

use super::*;
use crate::{
    DeviceOptions, DeviceVolume, DirectoryOptions, DirectoryVolume, EventLog, MemoryVolume, ServiceTime,
};

pub(super) const LOGIN: Login<'_> = Login { user: "lab", password: "Pass word" };
const TIMEOUT: Duration = Duration::from_secs(10);

pub(super) fn options() -> NcpServerOptions {
    let accounts = vec![("lab".to_owned(), Secret::new("Pass word"))];
    NcpServerOptions { accounts, threads: 2, ..NcpServerOptions::default() }
}

pub(super) fn start(volume: impl Volume + 'static, options: NcpServerOptions) -> NcpServer {
    NcpServer::start("127.0.0.1:0".parse().unwrap(), Arc::new(volume), options).unwrap()
}

pub(super) fn memory() -> MemoryVolume {
    MemoryVolume::new(64 << 20)
}

fn with(signatures: Level) -> Options {
    Options { signatures, buffer: 8192, ..Options::default() }
}

pub(super) async fn tcp(addr: SocketAddr, signatures: Level) -> Client<TcpTransport> {
    let transport = TcpTransport::connect(addr, TIMEOUT).unwrap();
    Client::connect(transport, with(signatures)).await.unwrap()
}

pub(super) async fn udp(addr: SocketAddr, signatures: Level) -> Client<UdpTransport> {
    let transport = UdpTransport::connect(addr, TIMEOUT).unwrap();
    Client::connect(transport, with(signatures)).await.unwrap()
}

pub(super) fn path(names: &[&str]) -> Path {
    Path::new(space::LONG, names.iter().map(|name| name.as_bytes())).unwrap()
}

pub(super) fn refusal<T: std::fmt::Debug>(result: Result<T, ClientError>) -> Completion {
    match result {
        Err(ClientError::Refused { completion, .. }) => completion,
        other => panic!("{other:?}"),
    }
}

/// Logs in, writes a file, reads it back, lists it and leaves.
async fn work<C: Transport>(mut client: Client<C>, name: &str) {
    client.login(LOGIN).await.unwrap();
    let directory = format!("of {name}");
    client.make_directory(&path(&["SHARE", &directory])).await.unwrap();
    let file_path = path(&["SHARE", &directory, "file"]);
    let (file, _) = client.open(&file_path, Access::CreateNew, true).await.unwrap();
    let data: Vec<u8> = (0..20_000).map(|at| (at * 7 + at / 250) as u8).collect();
    let mut sent = 0;
    let mut got = 0;
    let mut back = vec![0; data.len()];
    while sent < data.len() {
        sent += client.write(file, 1 + sent as u64, &data[sent..]).await.unwrap();
    }
    client.commit(file).await.unwrap();
    while got < back.len() {
        got += client.read(file, 1 + got as u64, &mut back[got..]).await.unwrap();
    }
    assert!(back == data, "{name}");
    client.close(file).await.unwrap();
    let mut names = Vec::new();
    client
        .list(&path(&["SHARE", &directory]), 9, |name, about| names.push((name.to_vec(), about.size)))
        .await
        .unwrap();
    assert_eq!(names, [(b"file".to_vec(), 20_001)]);
    client.disconnect().await.unwrap();
}

#[test]
fn server_serves_files_over_tcp_and_udp_signed_and_unsigned() {
    let directory = std::env::temp_dir().join(format!("sharebench-ncp-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let served = DirectoryVolume::open(&directory, &DirectoryOptions::default()).unwrap();
    for server in [start(memory(), options()), start(served, options())] {
        for (signatures, name) in [(Level::Never, "unsigned"), (Level::Always, "signed")] {
            block_on(async {
                work(tcp(server.addr(), signatures).await, &format!("tcp {name}")).await;
                work(udp(server.addr(), signatures).await, &format!("udp {name}")).await;
            });
        }
        assert_eq!(server.connections(), 0);
    }
    assert!(directory.join("of udp signed/file").is_file());
    std::fs::remove_dir_all(&directory).unwrap();
}

/// docs/protocols/ncp.md 5.2.
#[test]
fn every_pair_of_levels_negotiates_signatures_over_tcp_and_udp() {
    for (at, server_level) in (0..16).map(|at| (at, Level::from_number(at / 4).unwrap())) {
        let level = Level::from_number(at % 4).unwrap();
        let server = start(memory(), NcpServerOptions { signatures: server_level, ..options() });
        block_on(async {
            signed_as_agreed(tcp(server.addr(), level).await, level.negotiate(server_level)).await;
            signed_as_agreed(udp(server.addr(), level).await, level.negotiate(server_level)).await;
        });
    }
}

async fn signed_as_agreed<C: Transport>(mut client: Client<C>, agreement: Negotiated) {
    match (agreement, client.login(LOGIN).await) {
        (Negotiated::Refused, Err(ClientError::SignaturesUnavailable { .. })) => {}
        (Negotiated::Refused, Err(ClientError::Refused { completion, .. })) => {
            assert_eq!(completion, Completion::SignatureRequired);
        }
        (agreement, Ok(())) => {
            assert_eq!(client.signs(), agreement == Negotiated::On);
            assert!(client.entry_info(&path(&["SHARE"])).await.unwrap().directory);
        }
        (agreement, done) => panic!("{agreement:?}, {done:?}"),
    }
}

#[test]
fn a_request_to_end_signatures_is_denied_and_logged() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let written = Arc::clone(&lines);
    let log = EventLog::new(move |line| written.lock().unwrap().push(line.to_owned()));
    let server = start(memory(), NcpServerOptions { log, ..options() });
    block_on(async {
        keeps_signing(tcp(server.addr(), Level::Always).await).await;
        keeps_signing(udp(server.addr(), Level::Always).await).await;
    });
    let line = "ncp: 127.0.0.1 asked to end signatures after its login; they stay";
    assert_eq!(*lines.lock().unwrap(), [line, line], "over TCP and over UDP");
}

async fn keeps_signing<C: Transport>(mut client: Client<C>) {
    client.login(LOGIN).await.unwrap();
    let unsigned = PacketSize { proposed: 1024, security: 0 };
    let accepted = client.call("negotiate", &unsigned.into()).await.unwrap();
    let security = AcceptedPacketSize::decode(accepted).unwrap().security;
    assert!(Security(security).has(Security::SIGNATURE));
    assert!(client.entry_info(&path(&["SHARE"])).await.unwrap().directory, "this client still signs");
}

#[test]
fn slow_volume_delays_no_other_client() {
    let service = ServiceTime::Fixed(Duration::from_millis(1));
    let slow = DeviceVolume::new(memory(), DeviceOptions { service, ..DeviceOptions::default() });
    for server in [start(memory(), options()), start(slow, options())] {
        let addr = server.addr();
        std::thread::scope(|scope| {
            for number in 0..6 {
                scope.spawn(move || {
                    block_on(async {
                        if number % 2 == 0 {
                            work(tcp(addr, Level::Never).await, &number.to_string()).await;
                        } else {
                            work(udp(addr, Level::Always).await, &number.to_string()).await;
                        }
                    });
                });
            }
        });
    }
}

#[test]
fn server_requires_the_password_and_accepts_guest_without_users() {
    let server = start(memory(), options());
    block_on(async {
        let mut client = tcp(server.addr(), Level::Never).await;
        let root = path(&["SHARE"]);
        assert_eq!(refusal(client.entry_info(&root).await), Completion::NoOpenRights);
        assert_eq!(refusal(client.login(Login { password: "pass", ..LOGIN }).await), Completion::Failure);
        assert_eq!(
            refusal(client.login(Login { user: "guest", password: "" }).await),
            Completion::NoSuchObject
        );
        client.login(Login { password: "PASS WORD", ..LOGIN }).await.unwrap();
        assert!(client.entry_info(&root).await.unwrap().directory);
    });
    let open = start(memory(), NcpServerOptions { accounts: Vec::new(), ..options() });
    block_on(async {
        let mut client = tcp(open.addr(), Level::Always).await;
        client.login(Login { user: "guest", password: "" }).await.unwrap();
        assert!(client.signs());
    });
    let exposed = "0.0.0.0:0".parse().unwrap();
    let refused =
        NcpServer::start(exposed, Arc::new(memory()), NcpServerOptions { accounts: Vec::new(), ..options() });
    assert!(matches!(refused.err().unwrap(), ServeError::Exposed { protocol: "ncp", .. }));
}

#[test]
fn names_never_leave_the_volume_and_unknown_functions_are_refused() {
    let server = start(memory(), options());
    block_on(async {
        let mut client = tcp(server.addr(), Level::Never).await;
        client.login(LOGIN).await.unwrap();
        for names in
            [&["SHARE", ".."][..], &["SHARE", "..", "x"], &["SHARE", "a/b"], &["SHARE", "."], &["SHARE", ""]]
        {
            for space in [space::DOS, space::LONG] {
                let path = Path::new(space, names.iter().map(|name| name.as_bytes())).unwrap();
                let refused = refusal(client.open(&path, Access::CreateNew, false).await);
                assert!(
                    matches!(refused, Completion::BadFileName | Completion::InvalidPath),
                    "{names:?}: {refused}"
                );
            }
        }
        for code in [0x68, 0x5A, 0x01, 0xFF] {
            let request = Request::Unknown(Function::plain(code), &[0, 2, 1, 1]);
            assert_eq!(refusal(client.call("unknown", &request).await), Completion::UnknownFunction);
        }
    });
}

#[test]
fn server_refuses_excess_clients_and_garbage_and_serves_others() {
    let server = start(memory(), NcpServerOptions { max_connections: 2, ..options() });
    block_on(async {
        let mut first = tcp(server.addr(), Level::Never).await;
        let mut second = udp(server.addr(), Level::Never).await;
        // A connection without a login would give way to the third one.
        first.login(LOGIN).await.unwrap();
        second.login(LOGIN).await.unwrap();
        let transport = TcpTransport::connect(server.addr(), TIMEOUT).unwrap();
        let third = Client::connect(transport, Options::default()).await;
        assert_eq!(refusal(third), Completion::NoConnectionSlot);
        for garbage in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"DmdT\xff\xff\xff\xff", b"DmdT\0\0\0\x01"] {
            let mut stream = TcpStream::connect(server.addr()).unwrap();
            stream.write_all(garbage).unwrap();
            stream.set_read_timeout(Some(TIMEOUT)).unwrap();
            // Closed, possibly with a reset because of unread bytes.
            assert!(!matches!(stream.read(&mut [0; 8]), Ok(1..)), "{garbage:?}");
        }
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        for garbage in [&b""[..], b"x", &[0x22; 7], &[0x77; 40]] {
            socket.send_to(garbage, server.addr()).unwrap();
        }
        assert!(first.entry_info(&path(&["SHARE"])).await.unwrap().directory);
        second.disconnect().await.unwrap();
        work(first, "the first").await;
    });
}

#[test]
fn stream_of_a_request_that_has_no_answer_is_closed() {
    let server = start(memory(), options());
    let mut stream = TcpStream::connect(server.addr()).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    // Request header: length of the message, version, size of the reply buffer; then the packet.
    let head = |packet: usize| {
        [&b"DmdT"[..], &(16 + packet as u32).to_be_bytes(), &[0, 0, 0, 1, 0, 0, 4, 0]].concat()
    };
    let create = [0x11, 0x11, 0, 0xff, 1, 0xff, 0];
    stream.write_all(&[&head(create.len())[..], &create].concat()).unwrap();
    let mut reply = [0; 16];
    stream.read_exact(&mut reply).unwrap();
    let number = reply[11];
    // The sequence number of the next request is 1.
    let request = [0x22, 0x22, 7, number, 1, 0, 0x14];
    stream.write_all(&[&head(request.len())[..], &request].concat()).unwrap();
    stream.write_all(&[&head(request.len())[..], &[0x22, 0x22, 9, number, 1, 0, 0x14]].concat()).unwrap();
    let mut rest = Vec::new();
    // Closed, possibly with a reset: without that, this read would end with an error of time.
    let ended = stream.read_to_end(&mut rest);
    let timed_out =
        |error: &std::io::Error| matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
    assert!(!ended.as_ref().is_err_and(timed_out), "{ended:?}");
}

#[test]
fn invalid_server_options_are_named() {
    let refused = |options: NcpServerOptions| {
        let started = NcpServer::start("127.0.0.1:0".parse().unwrap(), Arc::new(memory()), options);
        started.err().unwrap().to_string()
    };
    let named = |name: &str| NcpServerOptions { volume: name.to_owned(), ..options() };
    for name in ["", "sixteen-letters-", "a b", "a:b", "ü"] {
        assert!(refused(named(name)).contains("volume name"), "{name:?}");
    }
    let accounts = ["lab", "LAB"].map(|user| (user.to_owned(), Secret::new("x"))).to_vec();
    assert!(refused(NcpServerOptions { accounts, ..options() }).contains("duplicate account LAB"));
    let accounts = vec![("u".repeat(48), Secret::new("x"))];
    assert!(refused(NcpServerOptions { accounts, ..options() }).contains("account name"));
}

#[test]
fn commit_reaches_the_volume_unless_the_policy_disables_it() {
    let service = ServiceTime::Fixed(Duration::ZERO);
    for (commit, expected) in [(CommitPolicy::Disk, true), (CommitPolicy::None, false)] {
        let device = DeviceVolume::new(memory(), DeviceOptions { service, ..DeviceOptions::default() });
        let device = Arc::new(device);
        let volume: Arc<dyn Volume> = Arc::<DeviceVolume<MemoryVolume>>::clone(&device);
        let addr = "127.0.0.1:0".parse().unwrap();
        let server = NcpServer::start(addr, volume, NcpServerOptions { commit, ..options() }).unwrap();
        block_on(async { work(tcp(server.addr(), Level::Never).await, "commit").await });
        drop(server);
        let counted = device.log().counters;
        assert_eq!(counted.commits > 0, expected, "{counted:?}");
    }
}

#[test]
fn incomplete_message_closes_its_stream_and_idleness_does_not() {
    let patience = Duration::from_millis(200);
    let server = start(memory(), NcpServerOptions { patience, ..options() });
    block_on(async {
        let mut silent = tcp(server.addr(), Level::Never).await;
        silent.login(LOGIN).await.unwrap();
        let mut stream = TcpStream::connect(server.addr()).unwrap();
        stream.write_all(b"DmdT\0\0\x01\0\0\0\0\x01").unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        assert!(matches!(stream.read(&mut [0; 8]), Ok(0)), "closed");
        assert!(silent.entry_info(&path(&["SHARE"])).await.unwrap().directory);
    });
}

#[test]
fn server_requests_a_receive_buffer_for_the_datagrams_of_all_clients() {
    let limit = std::fs::read_to_string("/proc/sys/net/core/rmem_max").unwrap();
    let limit: usize = limit.trim().parse().unwrap();
    let (_, socket) = bind_both("127.0.0.1:0".parse().unwrap()).unwrap();
    let ipx = bind_udp("127.0.0.1:0".parse().unwrap()).unwrap();
    for socket in [socket, ipx] {
        // The system reports twice the value that it was given.
        let granted = receive_buffer::size(&socket).unwrap();
        assert!(granted >= 2 * receive_buffer::OF_SERVER.min(limit), "{granted}");
    }
}
