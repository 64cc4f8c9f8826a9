//! Clients of SMB that hoard.

use std::net::SocketAddr;
use std::sync::Arc;

use sharebench_server::{MemoryVolume, ROOT, SmbServer, SmbServerOptions, StateBudget, Volume};
use sharebench_smb::NtStatus;
use sharebench_smb::requester::Requester;
use sharebench_smb::wire::FileId;
use sharebench_smb::wire::create::{CreateRequest, CreateResponse, SHARE_ALL, disposition};
use sharebench_smb::wire::header::command;
use sharebench_smb::wire::lock::{LockRange, LockRequest, flags};

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

struct Client(Requester);

impl Client {
    fn log_in(addr: SocketAddr) -> Option<Self> {
        let mut client = Self(Requester::connect(addr).unwrap());
        client.0.negotiate().unwrap();
        (client.set_up() == NtStatus::SUCCESS && client.connect_tree() == NtStatus::SUCCESS).then_some(client)
    }

    /// Logs in as a new session.
    fn set_up(&mut self) -> NtStatus {
        let [_, status] = self.0.set_up().unwrap();
        status
    }

    fn connect_tree(&mut self) -> NtStatus {
        self.0.connect_tree("share").unwrap()
    }

    fn open(&mut self) -> Result<(), NtStatus> {
        self.open_name("f").map(drop)
    }

    /// Locks ranges of up to 100 files of its own.
    fn lock(&mut self) {
        let lock = |at: u64| LockRange { offset: 2 * at, len: 1, flags: flags::EXCLUSIVE | 0x10 };
        let all: Vec<LockRange> = (0..4000).map(lock).collect();
        for number in 0..100 {
            let name = format!("{}-{number}", self.0.stream.local_addr().unwrap().port());
            let Ok(file) = self.open_name(&name) else { return };
            for ranges in all.chunks(50) {
                let request = LockRequest { file, ranges: ranges.to_vec(), sequence: 0 };
                self.0.call(command::LOCK, |body| request.encode(body)).unwrap();
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
        let (header, reply) = self.0.call(command::CREATE, |body| request.encode(body)).unwrap();
        if header.status != 0 {
            return Err(NtStatus(header.status));
        }
        Ok(CreateResponse::decode(&reply).unwrap().file)
    }
}
