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
const REFUSALS: &[u32] = &[NtStatus::INSUFFICIENT_RESOURCES.0];

pub const ATTACKS: [Attack; 4] = [
    Attack {
        server: SERVER,
        what: "open files",
        refusals: REFUSALS,
        run: |budget, attacked| {
            attack(budget, attacked, 2, |client| (0..16_000).find_map(|_| client.open().err()))
        },
    },
    Attack {
        server: SERVER,
        what: "sessions",
        refusals: REFUSALS,
        run: |budget, attacked| {
            attack(budget, attacked, 4, |client| (0..1000).find_map(|_| refusal(client.set_up())))
        },
    },
    Attack {
        server: SERVER,
        what: "trees",
        refusals: REFUSALS,
        run: |budget, attacked| {
            attack(budget, attacked, 40, |client| (0..1000).find_map(|_| refusal(client.connect_tree())))
        },
    },
    Attack {
        server: SERVER,
        what: "locks",
        refusals: REFUSALS,
        run: |budget, attacked| attack(budget, attacked, 3, Client::lock),
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

pub fn serve(budget: StateBudget) -> SmbServer {
    let options = SmbServerOptions { budget, threads: 1, ..SmbServerOptions::default() };
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new(1 << 20));
    volume.create(ROOT, "f", 0o644).unwrap();
    SmbServer::start(([127, 0, 0, 1], 0).into(), volume, options).unwrap()
}

/// The status of a request that fails.
fn refusal(status: NtStatus) -> Option<NtStatus> {
    (status != NtStatus::SUCCESS).then_some(status)
}

/// Lets each of several connections hoard. Returns the statuses of refused requests.
fn attack<I: IntoIterator<Item = NtStatus>>(
    budget: StateBudget,
    attacked: &mut dyn FnMut(),
    connections: usize,
    hoard: impl Fn(&mut Client) -> I,
) -> Vec<u32> {
    let server = serve(budget);
    let mut clients = Vec::new();
    let mut refusals = Vec::new();
    for _ in 0..connections {
        match Client::log_in(server.addr()) {
            Ok(mut client) => {
                refusals.extend(hoard(&mut client));
                clients.push(client);
            }
            Err(status) => refusals.push(status),
        }
    }
    attacked();
    drop(clients);
    server.stop();
    refusals.into_iter().map(|status| status.0).collect()
}

#[derive(Debug)]
pub struct Client(Requester);

impl Client {
    pub fn log_in(addr: SocketAddr) -> Result<Self, NtStatus> {
        let mut client = Self(Requester::connect(addr).unwrap());
        client.0.negotiate().unwrap();
        let refused = [client.set_up(), client.connect_tree()].into_iter().find_map(refusal);
        refused.map_or(Ok(client), Err)
    }

    /// Logs in as a new session.
    fn set_up(&mut self) -> NtStatus {
        let [_, status] = self.0.set_up().unwrap();
        status
    }

    fn connect_tree(&mut self) -> NtStatus {
        self.0.connect_tree("share").unwrap()
    }

    pub fn open(&mut self) -> Result<(), NtStatus> {
        self.open_name("f").map(drop)
    }

    /// Locks ranges of up to 100 files of its own. Returns the statuses of refused requests.
    fn lock(&mut self) -> Vec<NtStatus> {
        let lock = |at: u64| LockRange { offset: 2 * at, len: 1, flags: flags::EXCLUSIVE | 0x10 };
        let all: Vec<LockRange> = (0..4000).map(lock).collect();
        let mut refusals = Vec::new();
        for number in 0..100 {
            let name = format!("{}-{number}", self.0.stream.local_addr().unwrap().port());
            let file = match self.open_name(&name) {
                Ok(file) => file,
                Err(status) => {
                    refusals.push(status);
                    break;
                }
            };
            for ranges in all.chunks(50) {
                let request = LockRequest { file, ranges: ranges.to_vec(), sequence: 0 };
                let (header, _) = self.0.call(command::LOCK, |body| request.encode(body)).unwrap();
                refusals.extend(refusal(NtStatus(header.status)));
            }
        }
        refusals
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
