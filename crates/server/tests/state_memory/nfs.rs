//! Clients of NFS 4.0 and 4.1 that hoard.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use sharebench_nfs::compound::{COMPOUND, NFS4_VERSION};
use sharebench_nfs::protocol::NFS_PROGRAM;
use sharebench_nfs::record::{begin_record, end_record};
use sharebench_nfs::rpc::{CallTemplate, get_reply};
use sharebench_nfs::v4::attributes::SetAttributes;
use sharebench_nfs::v4::client_id::{ClientIdConfirm, NetworkAddress, SetClientId};
use sharebench_nfs::v4::compound::{CallHead, CountedItems, ReplyHead, ResultHead};
use sharebench_nfs::v4::item::{Item, Opaque};
use sharebench_nfs::v4::names::Lookup;
use sharebench_nfs::v4::open::{DENY_NONE, Open, OpenClaim, OpenHow, SHARE_BOTH, StateOwner};
use sharebench_nfs::v4::operation::Operation;
use sharebench_nfs::v4::session::{
    ChannelLimits, CreateSession, CreatedSession, ExchangeId, ExchangedId, NoStateProtection,
    ReclaimComplete, Sequence, SessionId,
};
use sharebench_nfs::v4::status::Nfs4Status;
use sharebench_nfs::xdr::{Reader, Writer};
use sharebench_server::{MemoryVolume, NfsServer, NfsServerOptions, StateBudget, Volume};

use crate::Attack;

const SERVER: &str = "NFS";
const NOSPC: u32 = Nfs4Status::Nospc.code();

pub const ATTACKS: [Attack; 6] = [
    Attack {
        server: SERVER,
        what: "4.1: 10,000 clients that do not confirm, with names of 1,000 bytes",
        refusals: &[],
        run: |budget, attacked| attack(budget, attacked, Client::does_not_confirm),
    },
    Attack {
        server: SERVER,
        what: "4.1: sessions of 256 slots",
        refusals: &[Nfs4Status::Delay.code()],
        run: |budget, attacked| attack(budget, attacked, |client| [client.sessions(256)]),
    },
    Attack {
        server: SERVER,
        what: "4.1: replies kept in slots",
        refusals: &[],
        run: |budget, attacked| {
            attack(budget, attacked, |client| {
                // 300 sessions leave most of the memory to replies.
                let sessions: Vec<SessionId> = (0..300u32)
                    .map_while(|number| client.session(&number.to_be_bytes(), 16).ok())
                    .map(|(_, session)| session)
                    .collect();
                // The tag is a part of the reply.
                let tag = [7; 900];
                let mut slots = sessions.iter().flat_map(|session| (0..16).map(move |slot| (session, slot)));
                slots.find_map(|(session, slot)| {
                    let results = client.call(1, &tag, |call| {
                        call.add(Operation::Sequence, &sequence(*session, slot, 1));
                    });
                    results.refusal()
                })
            })
        },
    },
    Attack {
        server: SERVER,
        what: "4.1: opens of one file",
        refusals: &[NOSPC],
        run: |budget, attacked| hoard_opens(budget, attacked, |number| number.to_be_bytes().to_vec()),
    },
    Attack {
        server: SERVER,
        what: "4.1: opens of owners with names of 1,000 bytes",
        refusals: &[NOSPC],
        run: |budget, attacked| hoard_opens(budget, attacked, long_name),
    },
    Attack {
        server: SERVER,
        what: "4.0: opens of owners that do not confirm",
        refusals: &[NOSPC, Nfs4Status::Resource.code()],
        run: |budget, attacked| {
            attack(budget, attacked, |client| {
                [b"one", b"two"].map(|name| {
                    let id = client.old_client(name);
                    let open = |number| client.open(0, id, &long_name(number)[..100], None);
                    (0..100_000).find_map(open).unwrap()
                })
            })
        },
    },
];

fn long_name(number: u32) -> Vec<u8> {
    let mut name = number.to_be_bytes().to_vec();
    name.resize(1000, 7);
    name
}

fn sequence(session: SessionId, slot: u32, sequence: u32) -> Sequence {
    Sequence { session, sequence, slot, highest_slot: slot, cache_reply: true }
}

/// A client takes all that it gets; another one opens a file nevertheless.
pub fn one_client(budget: StateBudget, attacked: &mut dyn FnMut()) {
    attack(budget, attacked, |client| {
        let refusal = client.opens(b"one", long_name);
        let (id, session) = client.confirmed(b"two");
        assert_eq!(client.open(1, id, b"owner", Some((session, 2))), None);
        [refusal]
    });
}

/// Two clients open one file for many owners.
fn hoard_opens(budget: StateBudget, attacked: &mut dyn FnMut(), owner: fn(u32) -> Vec<u8>) -> Vec<u32> {
    attack(budget, attacked, |client| [b"one", b"two"].map(|name| client.opens(name, owner)))
}

pub fn serve(budget: StateBudget) -> NfsServer {
    let options = NfsServerOptions { budget, threads: 1, ..NfsServerOptions::default() };
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new(1 << 20));
    NfsServer::start(([127, 0, 0, 1], 0).into(), volume, options).unwrap()
}

/// Lets a client hoard. Returns the statuses of refused calls.
fn attack<I: IntoIterator<Item = u32>>(
    budget: StateBudget,
    attacked: &mut dyn FnMut(),
    hoard: impl FnOnce(&mut Client) -> I,
) -> Vec<u32> {
    let server = serve(budget);
    let mut client = Client::connect(server.addr());
    let refusals = hoard(&mut client).into_iter().collect();
    attacked();
    drop(client);
    server.stop();
    refusals
}

pub struct Client {
    stream: TcpStream,
}

struct Operations {
    call: Writer,
    items: CountedItems,
}

impl Operations {
    fn add<'a>(&mut self, operation: Operation, arguments: &impl Item<'a>) -> &mut Self {
        self.items.begin(&mut self.call, operation);
        arguments.put(&mut self.call);
        self
    }
}

/// Status of a call, and its results.
struct Results {
    status: u32,
    body: Vec<u8>,
}

impl Results {
    /// The status of a call that fails.
    fn refusal(&self) -> Option<u32> {
        (self.status != 0).then_some(self.status)
    }

    /// The body of the first result.
    fn first<'a, T: Item<'a>>(&'a self) -> Result<T, u32> {
        if self.status != 0 {
            return Err(self.status);
        }
        let mut reader = Reader::new(&self.body);
        ResultHead::get(&mut reader).unwrap();
        Ok(T::get(&mut reader).unwrap())
    }
}

impl Client {
    pub fn connect(addr: SocketAddr) -> Self {
        Self { stream: TcpStream::connect(addr).unwrap() }
    }

    fn call(&mut self, minor_version: u32, tag: &[u8], operations: impl FnOnce(&mut Operations)) -> Results {
        let mut call = Writer::default();
        let at = begin_record(&mut call);
        CallTemplate::new(NFS_PROGRAM, NFS4_VERSION, None).put(&mut call, 1, COMPOUND);
        CallHead { tag: Opaque(tag), minor_version, count: 0 }.put(&mut call);
        let items = CountedItems::after_head(&call);
        let mut list = Operations { call, items };
        operations(&mut list);
        let Operations { mut call, items } = list;
        items.end(&mut call);
        end_record(&mut call, at, 0);
        self.stream.write_all(call.as_slice()).unwrap();
        let mut prefix = [0; 4];
        self.stream.read_exact(&mut prefix).unwrap();
        let mut record = vec![0; (u32::from_be_bytes(prefix) & 0x7FFF_FFFF) as usize];
        self.stream.read_exact(&mut record).unwrap();
        let mut reader = Reader::new(&record);
        get_reply(&mut reader).unwrap().1.unwrap();
        let head = ReplyHead::get(&mut reader).unwrap();
        Results { status: head.status, body: reader.rest().to_vec() }
    }

    fn exchange_id(&mut self, name: &[u8]) -> Result<(u64, u32), u32> {
        let exchange = ExchangeId {
            verifier: [1; 8],
            owner: Opaque(name),
            flags: 0,
            protection: NoStateProtection,
            implementation: None,
        };
        let results = self.call(1, b"", |call| {
            call.add(Operation::ExchangeId, &exchange);
        });
        results.first::<ExchangedId<'_>>().map(|exchanged| (exchanged.client_id, exchanged.sequence))
    }

    fn session(&mut self, name: &[u8], slots: u32) -> Result<(u64, SessionId), u32> {
        let (client_id, sequence) = self.exchange_id(name)?;
        let limits = |max_requests| ChannelLimits {
            header_padding: 0,
            max_request: 1 << 20,
            max_response: 1 << 20,
            max_cached_response: 4096,
            max_operations: 32,
            max_requests,
            rdma_reads: None,
        };
        let create = CreateSession::without_callbacks(client_id, sequence, limits(slots), limits(1));
        let results = self.call(1, b"", |call| {
            call.add(Operation::CreateSession, &create);
        });
        results.first::<CreatedSession>().map(|created| (client_id, created.session))
    }

    /// Creates sessions of clients of their own until the server has no memory for more. Returns the status of that failure.
    pub fn sessions(&mut self, slots: u32) -> u32 {
        (0..100_000u32).find_map(|number| self.session(&number.to_be_bytes(), slots).err()).unwrap()
    }

    /// Introduces 10,000 clients. Returns the status of a call that fails.
    fn does_not_confirm(&mut self) -> Option<u32> {
        (0..10_000).find_map(|number| self.exchange_id(&long_name(number)).err())
    }

    /// A client that may open files.
    pub fn confirmed(&mut self, name: &[u8]) -> (u64, SessionId) {
        let (id, session) = self.session(name, 1).unwrap();
        let complete = ReclaimComplete { one_file_system: false };
        self.call(1, b"", |call| {
            call.add(Operation::Sequence, &sequence(session, 0, 1))
                .add(Operation::ReclaimComplete, &complete);
        });
        (id, session)
    }

    /// Opens a file for many owners until the server has no memory for more. Returns the status of that failure.
    fn opens(&mut self, name: &[u8], owner: impl Fn(u32) -> Vec<u8>) -> u32 {
        let (id, session) = self.confirmed(name);
        let open = |number| self.open(1, id, &owner(number), Some((session, number + 2)));
        (0..100_000).find_map(open).unwrap()
    }

    /// The status of an OPEN that fails.
    pub fn open(
        &mut self,
        minor_version: u32,
        client_id: u64,
        owner: &[u8],
        session: Option<(SessionId, u32)>,
    ) -> Option<u32> {
        let open = Open {
            sequence: 1,
            access: SHARE_BOTH,
            deny: DENY_NONE,
            owner: StateOwner { client_id, owner: Opaque(owner) },
            how: OpenHow::Unchecked(SetAttributes::default()),
            claim: OpenClaim::Name(Opaque(b"f")),
        };
        let results = self.call(minor_version, b"", |call| {
            if let Some((session, number)) = session {
                call.add(
                    Operation::Sequence,
                    &Sequence { cache_reply: false, ..sequence(session, 0, number) },
                );
            }
            call.add(Operation::PutRootFh, &()).add(Operation::Lookup, &Lookup { name: Opaque(b"export") });
            call.add(Operation::Open, &open);
        });
        results.refusal()
    }

    fn old_client(&mut self, name: &[u8]) -> u64 {
        let set = SetClientId {
            verifier: [1; 8],
            owner: Opaque(name),
            callback_program: 0,
            callback_address: NetworkAddress { network: Opaque(b"tcp"), address: Opaque(b"0.0.0.0.0.0") },
            callback_ident: 1,
        };
        let results = self.call(0, b"", |call| {
            call.add(Operation::SetClientId, &set);
        });
        let confirm: ClientIdConfirm = results.first().unwrap();
        let results = self.call(0, b"", |call| {
            call.add(Operation::SetClientIdConfirm, &confirm);
        });
        assert_eq!(results.status, 0);
        confirm.client_id
    }
}
