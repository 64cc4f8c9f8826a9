//! The client against the server: over a loopback socket, and over a link that loses, repeats and delays packets.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::security::level::Level;
use crate::security::password;
use crate::security::signature::{Signer, Transport};
use crate::server::{self, MemoryVolume, Peer, Server, User, World};
use crate::wire::directory::MakeDirectory;
use crate::wire::login::{GetLoginKey, GetObjectId, KeyedLogin, USER};
use crate::wire::negotiate::PacketSize;
use crate::wire::server_info::{DateAndTime, GetDateAndTime};
use crate::wire::tcp::{Direction, message_len};
use crate::wire::text::padded;
use crate::wire::{Completion, Pstr, Request};

struct Still;

impl World for Still {
    fn login_key(&mut self) -> [u8; 8] {
        *b"unlikely"
    }

    fn date_and_time(&mut self) -> DateAndTime {
        DateAndTime { year: 126, month: 11, day: 21, hour: 1, minute: 2, second: 3, weekday: 6 }
    }
}

const LOGIN: Login<'_> = Login { user: "bench", password: "secret" };

fn server(signatures: Level) -> Server<MemoryVolume, Still> {
    let options = server::Options {
        name: padded(b"SHARE").unwrap(),
        version: (3, 11),
        max_connections: 10,
        users: vec![User::new("bench", 7, "secret")],
        signatures,
        clear_passwords: false,
    };
    Server::new(options, vec![(b"SYS".to_vec(), MemoryVolume::new(8 << 20))], Still)
}

/// Serves one client on a free port until it leaves.
fn serve(signatures: Level) -> (SocketAddr, JoinHandle<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serving = thread::spawn(move || {
        let (mut server, mut input, mut chunk) = (server(signatures), Vec::new(), vec![0; 65536]);
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
                let message: Vec<u8> = input.drain(..len).collect();
                let mut out = Vec::new();
                server.receive(Peer(1), Transport::Tcp, &message, &mut out);
                stream.write_all(&out).unwrap();
            }
        }
    });
    (address, serving)
}

fn options(signatures: Level) -> Options {
    Options { signatures, ..Options::default() }
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 31 + at / 251) as u8).collect()
}

#[test]
fn files_are_written_and_read_over_tcp_signed_and_unsigned() {
    for (client, server, signed) in [
        (Level::Never, Level::IfPossible, false),
        (Level::IfAsked, Level::IfPossible, false),
        (Level::IfAsked, Level::Always, true),
        (Level::Always, Level::IfAsked, true),
    ] {
        let (address, serving) = serve(server);
        let mut client = TcpClient::connect(address, options(client)).unwrap();
        client.login(LOGIN).unwrap();
        assert_eq!((client.signs(), client.buffer()), (signed, 61_440));
        let file = client.open("SYS:BENCH.DAT", Access::Create).unwrap();
        let data = pattern(100_000);
        for offset in [0, 1, 4095, (1 << 32) - 3, (1 << 32) + 1] {
            let mut sent = 0;
            while sent < data.len() {
                sent += client.write(file, offset + sent as u64, &data[sent..]).unwrap();
            }
            client.commit(file).unwrap();
            assert_eq!(client.size(file).unwrap(), offset + 100_000);
            let (mut back, mut got) = (vec![0; data.len()], 0);
            while got < back.len() {
                got += client.read(file, offset + got as u64, &mut back[got..]).unwrap();
            }
            assert!(back == data, "offset {offset}");
            assert_eq!(client.read(file, offset + 100_000, &mut back).unwrap(), 0, "the end");
        }
        client.resize(file, 5).unwrap();
        assert_eq!(client.size(file).unwrap(), 5);
        client.close(file).unwrap();
        client.delete("SYS:BENCH.DAT").unwrap();
        client.disconnect().unwrap();
        assert_eq!(serving.join().unwrap(), 0);
    }
}

fn refusal<T: std::fmt::Debug>(result: Result<T, ClientError>) -> (&'static str, Completion) {
    match result {
        Err(ClientError::Refused { step, completion }) => (step, completion),
        other => panic!("{other:?}"),
    }
}

#[test]
fn refusals_carry_the_step_and_the_servers_word() {
    let (address, _serving) = serve(Level::Never);
    let mut client = TcpClient::connect(address, options(Level::IfPossible)).unwrap();
    assert_eq!(refusal(client.open("SYS:A", Access::Read)), ("open", Completion::NoOpenRights));
    assert_eq!(refusal(client.login(Login { password: "wrong", ..LOGIN })), ("login", Completion::Failure));
    assert_eq!(refusal(client.login(Login { user: "nobody", ..LOGIN })), ("login", Completion::NoSuchObject));
    client.login(LOGIN).unwrap();
    assert!(!client.signs());
    assert_eq!(refusal(client.open("SYS:A", Access::Read)), ("open", Completion::Failure));
    assert_eq!(refusal(client.open("NONE:A", Access::Read)), ("open", Completion::NoSuchVolume));
    assert_eq!(refusal(client.open("SYS:..\\A", Access::Create)), ("open", Completion::InvalidPath));
    let file = client.open("SYS:A", Access::Create).unwrap();
    let reader = client.open("SYS:A", Access::Read).unwrap();
    assert_eq!(refusal(client.write(reader, 0, b"x")), ("write", Completion::NoWriteRights));
    assert_eq!(client.write(file, 0, b"").unwrap(), 0);
    client.close(reader).unwrap();
    assert_eq!(refusal(client.close(reader)), ("close", Completion::InvalidFileHandle));
    client.disconnect().unwrap();
    let (address, _serving) = serve(Level::Never);
    let mut client = TcpClient::connect(address, options(Level::Always)).unwrap();
    assert!(matches!(client.login(LOGIN), Err(ClientError::NotSigned { step: "login" })));
}

#[test]
fn a_server_that_is_silent_or_gone_or_none_ends_the_wait() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let short = Options { timeout: Duration::from_millis(20), ..Options::default() };
    let kind = |error| match error {
        ClientError::Io { step: "create connection", source } => source.kind(),
        other => panic!("{other:?}"),
    };
    assert_eq!(kind(TcpClient::connect(address, short).unwrap_err()), ErrorKind::TimedOut);
    drop(listener.accept().unwrap());
    let answers = [(&b""[..], true), (b"HTTP/1.1 400 Bad Request", false)];
    for (answer, gone) in answers {
        let listener = listener.try_clone().unwrap();
        let answering = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.read_exact(&mut [0; 23]).unwrap();
            stream.write_all(answer).unwrap();
        });
        match TcpClient::connect(address, Options::default()).unwrap_err() {
            ClientError::Wire { step: "create connection", .. } => assert!(!gone),
            error => assert!(gone && kind(error) == ErrorKind::UnexpectedEof),
        }
        answering.join().unwrap();
    }
}

#[test]
fn a_server_that_is_always_busy_ends_the_wait() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answering = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        // Busy with the create, over and over, until the client has gone.
        while stream.write_all(b"tNcP\0\0\0\x10\x99\x99\0\xff\x01\xff\0\0").is_ok() {}
    });
    let short = Options { timeout: Duration::from_millis(10), ..Options::default() };
    match TcpClient::connect(address, short).unwrap_err() {
        ClientError::Io { source, .. } => assert_eq!(source.kind(), ErrorKind::TimedOut),
        other => panic!("{other:?}"),
    }
    answering.join().unwrap();
}

proptest! {
    /// What is no reply leaves the conversation as it was.
    #[test]
    fn hostile_replies_are_told_from_the_reply(
        bytes in prop::collection::vec(prop_oneof![Just(0x33u8), Just(0), Just(1), any::<u8>()], 0..60),
        start in 0..12usize,
    ) {
        let mut link = Link::new(1);
        let message = link.client.request(&GetDateAndTime {}.into()).to_vec();
        let mut reply = Vec::new();
        link.server.receive(Peer(1), Transport::Udp, &message, &mut reply);
        let mixed = [&reply[..start], &bytes[..]].concat();
        if mixed != reply {
            let taken = matches!(link.client.arrival(&mixed), Ok(Arrival::Reply(_)));
            prop_assert!(!taken);
        }
        let taken = matches!(link.client.arrival(&reply), Ok(Arrival::Reply(_)));
        prop_assert!(taken);
    }
}

/// A connection over UDP, logged in and signing, without any I/O.
struct Link {
    server: Server<MemoryVolume, Still>,
    client: Conversation,
    random: u64,
    resent: usize,
    late: Vec<Vec<u8>>,
}

impl Link {
    fn new(seed: u64) -> Self {
        let (server, client) = (server(Level::IfPossible), Conversation::new(Transport::Udp));
        let mut link = Self { server, client, random: seed | 1, resent: 0, late: Vec::new() };
        link.client.create();
        assert_eq!(link.exchange(), Completion::Success);
        let name = Pstr::new(b"BENCH").unwrap();
        let hash = password::hash(7, b"SECRET");
        let response = password::response(b"unlikely", &hash);
        link.call(&PacketSize { proposed: 1024, security: 2 }.into());
        link.call(&GetLoginKey {}.into());
        link.call(&GetObjectId { kind: USER, name }.into());
        link.call(&KeyedLogin { response, kind: USER, name }.into());
        link.client.sign(Signer::new(&hash, b"unlikely", Transport::Udp));
        link
    }

    fn call(&mut self, request: &Request<'_>) {
        self.client.request(request);
        assert_eq!(self.exchange(), Completion::Success, "{request:?}");
    }

    /// One chance in `out_of`, from a small generator of its own.
    fn chance(&mut self, out_of: u64) -> bool {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random.is_multiple_of(out_of)
    }

    /// Sends until the reply is there: a quarter of the packets is lost in each direction, requests come twice, replies late.
    fn exchange(&mut self) -> Completion {
        for _ in 0..200 {
            let mut replies: Vec<Vec<u8>> = std::mem::take(&mut self.late);
            let copies = if self.chance(4) { 0 } else { 1 + usize::from(self.chance(4)) };
            for _ in 0..copies {
                let mut out = Vec::new();
                self.server.receive(Peer(1), Transport::Udp, self.client.again(), &mut out);
                if self.chance(4) {
                    continue;
                }
                if self.chance(8) { self.late.push(out) } else { replies.push(out) }
            }
            for reply in replies {
                if let Ok(Arrival::Reply(reply)) = self.client.arrival(&reply) {
                    return reply.completion;
                }
            }
            self.resent += 1;
        }
        panic!("no reply in 200 tries");
    }
}

#[test]
fn a_lossy_link_executes_nothing_twice() {
    let mut resent = 0;
    for seed in 1..200u64 {
        let mut link = Link::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        for number in 0..12 {
            let path = format!("SYS:D{number}");
            // Made twice, a directory would be there already.
            let path = Pstr::new(path.as_bytes()).unwrap();
            link.call(&MakeDirectory { base: 0, rights_mask: 0xff, path }.into());
        }
        link.client.destroy();
        link.exchange();
        assert_eq!(link.server.connections(), 0, "seed {seed}");
        resent += link.resent;
    }
    assert!(resent > 1000, "{resent} packets sent again");
}

#[test]
fn busy_strangers_and_forgers_are_told_from_the_reply() {
    let mut link = Link::new(1);
    let message = link.client.request(&GetDateAndTime {}.into()).to_vec();
    let mut reply = Vec::new();
    link.server.receive(Peer(1), Transport::Udp, &message, &mut reply);
    let mut changed = |at: usize, to: u8| {
        let mut packet = reply.clone();
        packet[at] = to;
        match link.client.arrival(&packet) {
            Ok(Arrival::Reply(_)) => panic!("taken"),
            Ok(Arrival::Busy) => "busy",
            Ok(Arrival::Foreign) => "foreign",
            Ok(Arrival::BadSignature) => "bad signature",
            Err(_) => "no packet",
        }
    };
    assert_eq!(changed(0, 0x77), "no packet");
    assert_eq!(changed(2, 99), "foreign");
    assert_eq!(changed(3, 99), "foreign");
    assert_eq!(changed(9, 99), "bad signature");
    let busy = [&[0x99, 0x99][..], &reply[2..6], &[0, 0]].concat();
    assert_eq!(link.client.arrival(&busy), Ok(Arrival::Busy));
    assert!(matches!(link.client.arrival(&reply), Ok(Arrival::Reply(found)) if found.data.len() == 7));
    assert_eq!(link.client.arrival(&reply), Ok(Arrival::Foreign), "taken once");
}
