//! Clients of SMB that hoard.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use sharebench_server::{MemoryVolume, ROOT, SmbServer, SmbServerOptions, StateBudget, Volume};
use sharebench_smb::NtStatus;
use sharebench_smb::wire::FileId;
use sharebench_smb::wire::create::{CreateRequest, CreateResponse, SHARE_ALL, disposition};
use sharebench_smb::wire::frame::prefix;
use sharebench_smb::wire::header::{Header, command};
use sharebench_smb::wire::lock::{LockRange, LockRequest, flags};
use sharebench_smb::wire::negotiate::NegotiateRequest;
use sharebench_smb::wire::session_setup::SessionSetupRequest;
use sharebench_smb::wire::tree::TreeConnectRequest;

use crate::Attack;

const SERVER: &str = "SMB";
const ALL: u32 = 0x001F_01FF;

pub const ATTACKS: [Attack; 4] = [
    Attack {
        server: SERVER,
        what: "open files",
        run: |budget, attacked| {
            attack(budget, attacked, 2, |client| {
                (0..16_000).take_while(|_| client.open().is_ok()).for_each(drop);
            });
        },
    },
    Attack {
        server: SERVER,
        what: "sessions",
        run: |budget, attacked| {
            attack(budget, attacked, 4, |client| {
                (0..1000).take_while(|_| client.set_up() == NtStatus::SUCCESS).for_each(drop);
            });
        },
    },
    Attack {
        server: SERVER,
        what: "trees",
        run: |budget, attacked| {
            attack(budget, attacked, 40, |client| {
                (0..1000).take_while(|_| client.connect_tree() == NtStatus::SUCCESS).for_each(drop);
            });
        },
    },
    Attack {
        server: SERVER,
        what: "locks",
        run: |budget, attacked| {
            attack(budget, attacked, 3, Client::lock);
        },
    },
];

/// A client takes all that it gets; another one opens a file nevertheless.
pub fn one_client(budget: StateBudget, attacked: &mut dyn FnMut()) {
    let server = serve(budget);
    let mut hoarder = Client::log_in(server.addr()).unwrap();
    hoarder.lock();
    assert_eq!(hoarder.open(), Err(NtStatus::INSUFFICIENT_RESOURCES));
    attacked();
    assert_eq!(Client::log_in(server.addr()).unwrap().open(), Ok(()));
    drop(hoarder);
    server.stop();
}

fn serve(budget: StateBudget) -> SmbServer {
    let options = SmbServerOptions { budget, threads: 1, ..SmbServerOptions::default() };
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new(1 << 20));
    volume.create(ROOT, "f", 0o644).unwrap();
    SmbServer::start(([127, 0, 0, 1], 0).into(), volume, options).unwrap()
}

fn attack(budget: StateBudget, attacked: &mut dyn FnMut(), connections: usize, hoard: impl Fn(&mut Client)) {
    let server = serve(budget);
    let mut clients = Vec::new();
    for _ in 0..connections {
        let Some(mut client) = Client::log_in(server.addr()) else { break };
        hoard(&mut client);
        clients.push(client);
    }
    attacked();
    drop(clients);
    server.stop();
}

struct Client {
    stream: TcpStream,
    next: u64,
    session: u64,
    tree: u32,
}

/// Anonymous login in plain NTLM: NEGOTIATE and AUTHENTICATE without a name (MS-NLMP 2.2.1).
fn ntlm(kind: u8) -> Vec<u8> {
    let mut message = [b"NTLMSSP\0", &[kind, 0, 0, 0][..]].concat();
    message.resize(if kind == 1 { 32 } else { 64 }, 0);
    let flags_at = if kind == 1 { 12 } else { 60 };
    message[flags_at..flags_at + 4].copy_from_slice(&0x0008_8201u32.to_le_bytes());
    message
}

impl Client {
    fn log_in(addr: SocketAddr) -> Option<Self> {
        let stream = TcpStream::connect(addr).unwrap();
        let mut client = Self { stream, next: 0, session: 0, tree: 0 };
        let negotiate = NegotiateRequest {
            security_mode: 1,
            dialects: vec![0x0202, 0x0210],
            ..NegotiateRequest::default()
        };
        client.call(command::NEGOTIATE, |body| negotiate.encode(body));
        (client.set_up() == NtStatus::SUCCESS && client.connect_tree() == NtStatus::SUCCESS).then_some(client)
    }

    /// Logs in as a new session.
    fn set_up(&mut self) -> NtStatus {
        self.session = 0;
        let mut status = NtStatus::SUCCESS;
        for kind in [1, 3] {
            let request = SessionSetupRequest { token: ntlm(kind), ..SessionSetupRequest::default() };
            let (header, _) = self.call(command::SESSION_SETUP, |body| request.encode(body));
            self.session = header.session_id;
            status = NtStatus(header.status);
        }
        status
    }

    fn connect_tree(&mut self) -> NtStatus {
        let request = TreeConnectRequest { path: "\\\\server\\share".to_owned() };
        let (header, _) = self.call(command::TREE_CONNECT, |body| request.encode(body));
        self.tree = header.tree_id;
        NtStatus(header.status)
    }

    fn open(&mut self) -> Result<(), NtStatus> {
        self.open_name("f").map(drop)
    }

    /// Locks ranges of up to 100 files of its own.
    fn lock(&mut self) {
        let lock = |at: u64| LockRange { offset: 2 * at, len: 1, flags: flags::EXCLUSIVE | 0x10 };
        let all: Vec<LockRange> = (0..4000).map(lock).collect();
        for number in 0..100 {
            let name = format!("{}-{number}", self.stream.local_addr().unwrap().port());
            let Ok(file) = self.open_name(&name) else { return };
            for ranges in all.chunks(50) {
                let request = LockRequest { file, ranges: ranges.to_vec(), sequence: 0 };
                self.call(command::LOCK, |body| request.encode(body));
            }
        }
    }

    fn open_name(&mut self, name: &str) -> Result<FileId, NtStatus> {
        let request = CreateRequest {
            access: ALL,
            share: SHARE_ALL,
            disposition: disposition::OPEN_IF,
            name: name.to_owned(),
            ..CreateRequest::default()
        };
        let (header, reply) = self.call(command::CREATE, |body| request.encode(body));
        if header.status != 0 {
            return Err(NtStatus(header.status));
        }
        Ok(CreateResponse::decode(&reply).unwrap().file)
    }

    fn call(&mut self, command: u16, body: impl FnOnce(&mut Vec<u8>)) -> (Header, Vec<u8>) {
        let header = Header {
            command,
            credit_charge: 1,
            credits: 16,
            message_id: self.next,
            tree_id: self.tree,
            session_id: self.session,
            ..Header::default()
        };
        self.next += 1;
        let mut message = Vec::new();
        header.encode(&mut message);
        body(&mut message);
        let framed = [&prefix(message.len()).unwrap()[..], &message].concat();
        self.stream.write_all(&framed).unwrap();
        let mut prefix = [0; 4];
        self.stream.read_exact(&mut prefix).unwrap();
        let mut reply = vec![0; u32::from_be_bytes(prefix) as usize];
        self.stream.read_exact(&mut reply).unwrap();
        (Header::decode(&reply).unwrap(), reply)
    }
}
