//! The client against the server over loopback sockets: files, refusals, and servers that are silent, gone or busy.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::*;
use crate::security::level::Level;
use crate::server::{self, Environment, MemoryVolume, Peer, Server, User, Watchdog};
use crate::wire::Completion;
use crate::wire::TransportKind;
use crate::wire::ipx::Address;
use crate::wire::name_space::space;
use crate::wire::server_info::DateAndTime;
use crate::wire::tcp::{Direction, message_len};
use crate::wire::text::padded;

/// An environment with one key for all logins and a fixed time.
pub(super) struct Still;

impl Environment for Still {
    fn login_key(&self) -> [u8; 8] {
        *b"unlikely"
    }

    fn date_and_time(&self) -> DateAndTime {
        DateAndTime { year: 126, month: 11, day: 21, hour: 1, minute: 2, second: 3, weekday: 6 }
    }

    fn now(&self) -> Duration {
        Duration::ZERO
    }
}

pub(super) const LOGIN: Login<'_> = Login { user: "bench", password: "secret" };

pub(super) fn server_options(signatures: Level) -> server::Options {
    server::Options {
        name: padded(b"SHARE").unwrap(),
        net_address: Address::of_server(0x5348_5242),
        version: (3, 11),
        max_connections: 10,
        users: vec![User::new("bench", 7, "secret")],
        signatures,
        checksums: Level::IfRequested,
        echo_socket: 0x400A,
        max_packet: server::MAX_PACKET,
        clear_passwords: false,
        watchdog: Watchdog::default(),
    }
}

pub(super) fn volumes() -> Vec<(Vec<u8>, MemoryVolume)> {
    vec![(b"SYS".to_vec(), MemoryVolume::new(8 << 20))]
}

/// Serves one client on a free port until it leaves.
fn serve(signatures: Level) -> (SocketAddr, JoinHandle<usize>) {
    serve_volumes(signatures, volumes(), &[])
}

/// A volume with the DOS name space only.
fn dos_volume() -> Vec<(Vec<u8>, MemoryVolume)> {
    vec![(b"SYS".to_vec(), MemoryVolume::with_dos_names(1 << 20))]
}

/// The same with other volumes, and without some sub-functions of 0x57.
fn serve_volumes(
    signatures: Level,
    volumes: Vec<(Vec<u8>, MemoryVolume)>,
    unknown: &'static [u8],
) -> (SocketAddr, JoinHandle<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serving = thread::spawn(move || {
        let server = Server::new(server_options(signatures), volumes, Still);
        let mut input = Vec::new();
        let mut chunk = vec![0; 65536];
        let (mut stream, _) = listener.accept().unwrap();
        loop {
            let read = stream.read(&mut chunk).unwrap();
            if read == 0 {
                return server.connections();
            }
            input.extend_from_slice(&chunk[..read]);
            while let Some(len) =
                message_len(Direction::Request, &input).unwrap().filter(|len| *len <= input.len())
            {
                let mut message: Vec<u8> = input.drain(..len).collect();
                // Function and sub-function, after 16 bytes of TCP header and 6 bytes of the packet.
                if let Some([0x57, sub]) = message.get_mut(22..24)
                    && unknown.contains(sub)
                {
                    *sub = 0xEE;
                }
                let mut out = Vec::new();
                server.receive(Peer::Stream(1), TransportKind::Tcp, &message, &mut out);
                stream.write_all(&out).unwrap();
            }
        }
    });
    (address, serving)
}

fn options(signatures: Level) -> Options {
    Options { signatures, ..Options::default() }
}

fn over_tcp(address: SocketAddr, options: Options) -> Result<Client<TcpTransport>, ClientError> {
    let transport = TcpTransport::connect(address, Duration::from_secs(10)).unwrap();
    block_on(Client::connect(transport, options))
}

pub(super) fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 31 + at / 251) as u8).collect()
}

pub(super) fn path(text: &str) -> Path {
    Path::dos(text).unwrap()
}

/// Writes, commits and reads a file at even, odd and far offsets.
pub(super) async fn files_are_written_and_read<C: Transport>(client: &mut Client<C>, len: usize) {
    let name = path("SYS:BENCH.DAT");
    let (file, about) = client.open(&name, Access::Create, false).await.unwrap();
    assert_eq!(about, EntryInfo { directory: false, size: 0 });
    let data = pattern(len);
    for offset in [0, 1, 4095, (1 << 32) - 3, (1 << 32) + 1] {
        let mut sent = 0;
        while sent < data.len() {
            sent += client.write(file, offset + sent as u64, &data[sent..]).await.unwrap();
        }
        client.commit(file).await.unwrap();
        assert_eq!(client.size(file).await.unwrap(), offset + len as u64);
        let mut back = vec![0; data.len()];
        let mut got = 0;
        while got < back.len() {
            got += client.read(file, offset + got as u64, &mut back[got..]).await.unwrap();
        }
        assert!(back == data, "offset {offset}");
        assert_eq!(client.read(file, offset + len as u64, &mut back).await.unwrap(), 0, "the end");
    }
    client.resize(file, 5).await.unwrap();
    assert_eq!(client.size(file).await.unwrap(), 5);
    client.close(file).await.unwrap();
    assert_eq!(client.entry_info(&name).await.unwrap().size, 5);
    client.delete(&name).await.unwrap();
}

#[test]
fn client_writes_and_reads_over_tcp_signed_and_unsigned() {
    for (client, server, signed) in [
        (Level::Never, Level::IfPossible, false),
        (Level::IfRequested, Level::IfPossible, true),
        (Level::IfRequested, Level::Always, true),
        (Level::Always, Level::IfRequested, true),
    ] {
        let (address, serving) = serve(server);
        let mut client = over_tcp(address, options(client)).unwrap();
        block_on(async {
            client.login(LOGIN).await.unwrap();
            assert_eq!((client.signs(), client.buffer()), (signed, 61_440));
            files_are_written_and_read(&mut client, 100_000).await;
            let counts = client.counts();
            assert!(counts.sent > 500_000 && counts.received > 500_000 && counts.resent == 0, "{counts:?}");
            client.disconnect().await.unwrap();
        });
        assert_eq!(serving.join().unwrap(), 0);
    }
}

#[test]
fn client_writes_and_reads_over_udp() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    let server = Arc::new(Server::new(server_options(Level::IfPossible), volumes(), Still));
    let served = Arc::clone(&server);
    let serving = thread::spawn(move || {
        let mut input = vec![0; 65536];
        while let Ok((len, client)) = socket.recv_from(&mut input) {
            let mut out = Vec::new();
            served.receive(Peer::Ip(client), TransportKind::Udp, &input[..len], &mut out);
            socket.send_to(&out, client).unwrap();
            if served.connections() == 0 {
                return;
            }
        }
    });
    let transport = UdpTransport::connect(address, Duration::from_secs(10)).unwrap();
    let options = Options { signatures: Level::Always, buffer: 8192, ..Options::default() };
    block_on(async {
        let mut client = Client::connect(transport, options).await.unwrap();
        client.login(LOGIN).await.unwrap();
        assert_eq!((client.signs(), client.buffer()), (true, 8192));
        files_are_written_and_read(&mut client, 30_000).await;
        client.disconnect().await.unwrap();
    });
    serving.join().unwrap();
    assert_eq!(server.connections(), 0);
}

fn refusal<T: std::fmt::Debug>(result: Result<T, ClientError>) -> (&'static str, Completion) {
    match result {
        Err(ClientError::Refused { step, completion }) => (step, completion),
        other => panic!("{other:?}"),
    }
}

#[test]
fn refusal_has_the_step_and_the_completion_code() {
    let (address, _serving) = serve(Level::Never);
    let mut client = over_tcp(address, options(Level::IfPossible)).unwrap();
    block_on(async {
        let a = path("SYS:A");
        let up = path("SYS:..\\A");
        let read = Access::Read;
        assert_eq!(refusal(client.open(&a, read, false).await), ("open", Completion::NoOpenRights));
        let wrong = client.login(Login { password: "wrong", ..LOGIN }).await;
        assert_eq!(refusal(wrong), ("login", Completion::Failure));
        let nobody = client.login(Login { user: "nobody", ..LOGIN }).await;
        assert_eq!(refusal(nobody), ("login", Completion::NoSuchObject));
        client.login(LOGIN).await.unwrap();
        assert!(!client.signs());
        assert_eq!(refusal(client.open(&a, read, false).await), ("open", Completion::Failure));
        let none = client.open(&path("NONE:A"), read, false).await;
        assert_eq!(refusal(none), ("open", Completion::NoSuchVolume));
        assert_eq!(refusal(client.open(&up, Access::Create, false).await), ("open", Completion::InvalidPath));
        let (file, _) = client.open(&a, Access::CreateNew, false).await.unwrap();
        let again = client.open(&a, Access::CreateNew, false).await;
        assert_eq!(refusal(again), ("open", Completion::FileExists));
        let (reader, _) = client.open(&a, read, false).await.unwrap();
        assert_eq!(refusal(client.write(reader, 0, b"x").await), ("write", Completion::NoWriteRights));
        assert_eq!(client.write(file, 0, b"").await.unwrap(), 0);
        client.close(reader).await.unwrap();
        assert_eq!(refusal(client.close(reader).await), ("close", Completion::InvalidFileHandle));
        assert_eq!(refusal(client.remove_directory(&a).await), ("remove directory", Completion::InvalidPath));
        client.disconnect().await.unwrap();
    });
    let (address, _serving) = serve(Level::Never);
    let mut client = over_tcp(address, options(Level::Always)).unwrap();
    let unsigned = block_on(client.login(LOGIN));
    assert!(matches!(unsigned, Err(ClientError::SignaturesUnavailable { step: "login" })));
}

#[test]
fn both_name_spaces_refer_to_the_same_files() {
    let (address, _serving) = serve(Level::Never);
    let mut client = over_tcp(address, options(Level::Never)).unwrap();
    let long = |names: &[&str]| {
        Path::new(crate::wire::name_space::space::LONG, names.iter().map(|name| name.as_bytes())).unwrap()
    };
    block_on(async {
        client.login(LOGIN).await.unwrap();
        client.make_directory(&long(&["SYS", "a directory"])).await.unwrap();
        for number in 0..200 {
            let name = format!("a file with number {number:03}.data");
            client.open(&long(&["SYS", "a directory", &name]), Access::CreateNew, false).await.unwrap();
        }
        let mut names = Vec::new();
        let each = |name: &[u8], _: EntryInfo| names.push(String::from_utf8(name.to_vec()).unwrap());
        client.list(&long(&["SYS", "a directory"]), 1000, each).await.unwrap();
        assert_eq!((names.len(), &names[199][..]), (200, "a file with number 199.data"));
        let mut short = Vec::new();
        let each = |name: &[u8], about| short.push((String::from_utf8(name.to_vec()).unwrap(), about));
        client.list(&path("SYS:"), 10, each).await.unwrap();
        let (directory, about) = &short[0];
        assert!(about.directory && directory.starts_with("AD~"), "{directory}");
        let from = path(&format!("SYS:{directory}"));
        let mut first = None;
        client.list(&from, 1000, |name, _| first = first.take().or(Some(name.to_vec()))).await.unwrap();
        let first = String::from_utf8(first.unwrap()).unwrap();
        let from = path(&format!("SYS:{directory}\\{first}"));
        client.rename(&from, &path("SYS:SHORT.DAT")).await.unwrap();
        assert_eq!(client.entry_info(&long(&["sys", "short.dat"])).await.unwrap().size, 0);
        let gone = client.entry_info(&long(&["SYS", "a directory", "a file with number 000.data"])).await;
        assert_eq!(refusal(gone), ("obtain information", Completion::Failure));
        let full = client.remove_directory(&long(&["SYS", "a directory"])).await;
        assert_eq!(refusal(full), ("remove directory", Completion::DirectoryNotEmpty));
        let space = client.volume_space("SYS").await.unwrap();
        assert_eq!((space.total, space.free), (8 << 20, 8 << 20));
    });
}

#[test]
fn volume_reports_its_name_spaces_and_one_with_dos_names_refuses_others() {
    for (volumes, unknown, ids) in
        [(volumes(), &[][..], &[0, 4][..]), (dos_volume(), &[], &[0]), (dos_volume(), &[24], &[0])]
    {
        let (address, _serving) = serve_volumes(Level::Never, volumes, unknown);
        let mut client = over_tcp(address, options(Level::Never)).unwrap();
        block_on(async {
            client.login(LOGIN).await.unwrap();
            assert_eq!(client.name_spaces("sys").await.unwrap(), ids);
            let long = Path::new(space::LONG, [&b"SYS"[..], b"a long name"]).unwrap();
            let made = client.make_directory(&long).await;
            let listed = client.list(&Path::new(space::LONG, [&b"SYS"[..]]).unwrap(), 10, |_, _| {}).await;
            if ids.contains(&space::LONG) {
                made.unwrap();
                listed.unwrap();
            } else {
                assert_eq!(refusal(made), ("make directory", Completion::InvalidNameSpace));
                assert_eq!(refusal(listed), ("search", Completion::InvalidNameSpace));
            }
            let dotted = client.make_directory(&path("SYS:.sharebench-1")).await;
            assert_eq!(refusal(dotted), ("make directory", Completion::BadFileName));
            client.make_directory(&path("SYS:short.dir")).await.unwrap();
        });
    }
}

/// docs/protocols/ncp.md 3.2 and 3.7: the classic search lists files and directories one after the other.
#[test]
fn classic_search_finds_the_names_that_the_search_of_sets_finds() {
    let (address, _serving) = serve_volumes(Level::Never, dos_volume(), &[]);
    let mut client = over_tcp(address, options(Level::Never)).unwrap();
    block_on(async {
        client.login(LOGIN).await.unwrap();
        let top = path("SYS:TOP");
        client.make_directory(&top).await.unwrap();
        client.make_directory(&path("SYS:TOP\\EMPTY")).await.unwrap();
        for number in 0..70 {
            let (file, _) = client
                .open(&path(&format!("SYS:TOP\\F{number}.DAT")), Access::CreateNew, false)
                .await
                .unwrap();
            client.write(file, 0, &pattern(number)).await.unwrap();
            client.close(file).await.unwrap();
        }
        let mut sets = Vec::new();
        client.list(&top, 100, |name, info| sets.push((name.to_vec(), info))).await.unwrap();
        let mut classic = Vec::new();
        let mut search = client.begin_search(&top).await.unwrap();
        client.begin_classic(&mut search).await.unwrap();
        let mut steps = 0;
        let mut each = |name: &[u8], info| classic.push((name.to_vec(), info));
        while !client.continue_search(&mut search, &mut each).await.unwrap() {
            steps += 1;
        }
        assert_eq!((steps, sets.len()), (2, 71), "several entries a step");
        sets.sort_by(|a, b| a.0.cmp(&b.0));
        classic.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!(sets, classic);
        // A directory in which the search of sets finds nothing is searched again.
        let before = client.counts().requests;
        client.list(&path("SYS:TOP\\EMPTY"), 1, |name, _| panic!("{name:?}")).await.unwrap();
        assert_eq!(
            client.counts().requests - before,
            2 + 3,
            "87/2, 87/20, 3E, 3F for files, 3F for directories"
        );
    });
}

#[test]
fn directory_is_listed_by_classic_calls_where_the_server_knows_no_others() {
    let (address, _serving) = serve_volumes(Level::Never, dos_volume(), &[20]);
    let mut client = over_tcp(address, options(Level::Never)).unwrap();
    block_on(async {
        client.login(LOGIN).await.unwrap();
        client.make_directory(&path("SYS:SUB")).await.unwrap();
        client.open(&path("SYS:FILE.DAT"), Access::CreateNew, false).await.unwrap();
        let mut names = Vec::new();
        let each = |name: &[u8], info: EntryInfo| names.push((name.to_vec(), info.directory));
        client.list(&path("SYS:"), 10, each).await.unwrap();
        assert_eq!(names, [(b"FILE.DAT".to_vec(), false), (b"SUB".to_vec(), true)]);
        // A long name space has no classic calls: the refusal is an error and no empty directory.
        let (address, _serving) = serve_volumes(Level::Never, volumes(), &[20]);
        let mut client = over_tcp(address, options(Level::Never)).unwrap();
        client.login(LOGIN).await.unwrap();
        let top = Path::new(space::LONG, [&b"SYS"[..]]).unwrap();
        let listed = client.list(&top, 10, |_, _| {}).await;
        assert_eq!(refusal(listed), ("search", Completion::UnknownFunction));
    });
}

#[test]
fn silent_missing_or_foreign_server_ends_the_wait() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let short = Options { timeout: Duration::from_millis(20), ..Options::default() };
    let kind = |error| match error {
        ClientError::Io { step: "create connection", source } => source.kind(),
        other => panic!("{other:?}"),
    };
    assert_eq!(kind(over_tcp(address, short).unwrap_err()), ErrorKind::TimedOut);
    drop(listener.accept().unwrap());
    for (answer, expected) in
        [(&b""[..], ErrorKind::UnexpectedEof), (b"HTTP/1.1 400 Bad Request", ErrorKind::InvalidData)]
    {
        let listener = listener.try_clone().unwrap();
        let answering = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.read_exact(&mut [0; 23]).unwrap();
            stream.write_all(answer).unwrap();
        });
        assert_eq!(kind(over_tcp(address, Options::default()).unwrap_err()), expected);
        answering.join().unwrap();
    }
}

#[test]
fn always_busy_server_ends_the_wait() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answering = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        // Answers "busy" to the create until the client gives up.
        while stream.write_all(b"tNcP\0\0\0\x10\x99\x99\0\xff\x01\xff\0\0").is_ok() {}
    });
    let short = Options { timeout: Duration::from_millis(10), ..Options::default() };
    match over_tcp(address, short).unwrap_err() {
        ClientError::Io { source, .. } => assert_eq!(source.kind(), ErrorKind::TimedOut),
        other => panic!("{other:?}"),
    }
    answering.join().unwrap();
}
