//! A client that makes one call at a time on one connection, without a socket.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sharebench_ncp::server::StateBudget;
use sharebench_nfs::compound::{COMPOUND, NFS4_VERSION};
use sharebench_nfs::protocol::NFS_PROGRAM;
use sharebench_nfs::rpc::{CallTemplate, get_reply};
use sharebench_nfs::v4::attributes::SetAttributes;
use sharebench_nfs::v4::compound::{CallHead, CountedItems, ReplyHead, ResultHead};
use sharebench_nfs::v4::data::{Read, StateId, WriteHead};
use sharebench_nfs::v4::item::{Item, Opaque};
use sharebench_nfs::v4::names::Lookup;
use sharebench_nfs::v4::open::{DENY_NONE, Open, OpenClaim, OpenHow, Opened, SHARE_BOTH, StateOwner};
use sharebench_nfs::v4::operation::Operation;
use sharebench_nfs::v4::session::{
    CONNECTION_BACK_CHANNEL, CallbackSecurity, ChannelLimits, CreateSession, CreatedSession, ExchangeId,
    ExchangedId, NoStateProtection, ReclaimComplete, Sequence, SessionId,
};
use sharebench_nfs::v4::status::Nfs4Status;
use sharebench_nfs::xdr::{Reader, Writer};

use crate::nfs::state::ServerState;
use crate::nfs::v4::{Callbacks, LeaseClock, Peer, StableStore};
use crate::{MemoryVolume, NfsServerOptions, Volume};

/// The lease of tests.
pub(super) const LEASE: Duration = Duration::from_secs(10);

/// A server whose clock the test moves.
pub(super) struct Server {
    pub(super) state: ServerState,
    now_ms: Arc<AtomicU64>,
}

impl Server {
    /// A server of an empty volume in memory.
    pub(super) fn new() -> Self {
        Self::from_volume(&(Arc::new(MemoryVolume::new(64 << 20)) as Arc<dyn Volume>), None)
    }

    /// A server of an empty volume in memory, with this many bytes for the state of clients.
    pub(super) fn with_budget(bytes: usize) -> Self {
        let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new(64 << 20));
        Self::of_options(&volume, None, StateBudget::new(bytes, || {}))
    }

    /// A server of a volume, with a state file.
    pub(super) fn from_volume(volume: &Arc<dyn Volume>, stable: Option<&std::path::Path>) -> Self {
        Self::of_options(volume, stable, StateBudget::default())
    }

    fn of_options(volume: &Arc<dyn Volume>, stable: Option<&std::path::Path>, budget: StateBudget) -> Self {
        let now_ms = Arc::new(AtomicU64::new(0));
        let options = NfsServerOptions { lease: LEASE, budget, ..NfsServerOptions::default() };
        let stable = stable.map(|path| StableStore::open(path).unwrap());
        let clock = LeaseClock::Manual(Arc::clone(&now_ms));
        Self { state: ServerState::new(volume, options, clock, stable), now_ms }
    }

    /// Bytes of the state of clients.
    pub(super) fn state_bytes(&self) -> usize {
        self.state.options.budget.used()
    }

    /// Lets time pass, in steps within the lease, at each of which `meanwhile` runs.
    pub(super) fn pass(&self, time: Duration) {
        self.now_ms.fetch_add(time.as_millis() as u64, Ordering::Relaxed);
        self.state.v4.tick(&self.state.handles);
    }

    /// Makes a COMPOUND call on a connection and returns its status and results.
    pub(super) fn call(
        &self,
        peer: &Arc<Peer>,
        minor_version: u32,
        operations: impl FnOnce(&mut Operations),
    ) -> Results {
        let mut call = Writer::default();
        CallTemplate::new(NFS_PROGRAM, NFS4_VERSION, None).put(&mut call, 1, COMPOUND);
        CallHead { tag: Opaque(b"tag"), minor_version, count: 0 }.put(&mut call);
        let items = CountedItems::after_head(&call);
        let mut list = Operations { call, items };
        operations(&mut list);
        let Operations { mut call, items } = list;
        items.end(&mut call);
        self.answer(peer, call.as_slice())
    }

    /// Answers a call.
    pub(super) fn answer(&self, peer: &Arc<Peer>, call: &[u8]) -> Results {
        let mut out = Writer::default();
        self.state.answer(peer, call, &mut out).unwrap();
        let mut reader = Reader::new(&out.as_slice()[4..]);
        get_reply(&mut reader).unwrap().1.unwrap();
        let head = ReplyHead::get(&mut reader).unwrap();
        assert_eq!(head.tag, Opaque(b"tag"));
        Results {
            status: Nfs4Status::from_code(head.status),
            count: head.count,
            body: reader.rest().to_vec(),
        }
    }
}

/// The operations of a call that is being made.
pub(super) struct Operations {
    pub(super) call: Writer,
    items: CountedItems,
}

impl Operations {
    /// Appends an operation with its arguments.
    pub(super) fn add<'a>(&mut self, operation: Operation, arguments: &impl Item<'a>) -> &mut Self {
        self.items.begin(&mut self.call, operation);
        arguments.put(&mut self.call);
        self
    }

    /// Appends WRITE with its data.
    pub(super) fn write(&mut self, head: &WriteHead, data: &[u8]) -> &mut Self {
        self.add(Operation::Write, head);
        self.call.raw(data);
        self.call.pad(data.len());
        self
    }

    /// Ends the list.
    #[expect(clippy::unused_self, reason = "the end of a chain of calls")]
    pub(super) fn done(&mut self) {}

    /// Selects a path from the root of the server.
    pub(super) fn path(&mut self, names: &[&str]) -> &mut Self {
        self.add(Operation::PutRootFh, &());
        for name in names {
            self.add(Operation::Lookup, &Lookup { name: Opaque(name.as_bytes()) });
        }
        self
    }
}

/// The results of a call.
pub(super) struct Results {
    pub(super) status: Option<Nfs4Status>,
    pub(super) count: u32,
    pub(super) body: Vec<u8>,
}

impl Results {
    /// The body of the result of this operation. Results before it are skipped by searching, so that no test has to decode
    /// what it is not about.
    pub(super) fn last(&self, operation: Operation) -> &[u8] {
        let head =
            ResultHead { operation: operation as u32, status: self.status.map_or(0, Nfs4Status::code) };
        let mut bytes = Writer::default();
        head.put(&mut bytes);
        // The numbers in the result of SEQUENCE could look like a head. The operations that select a file have no result.
        let is_sequence = self.body.starts_with(&(Operation::Sequence as u32).to_be_bytes());
        let skipped = if is_sequence && operation != Operation::Sequence { 8 + 36 } else { 0 };
        let rest = &self.body[skipped.min(self.body.len())..];
        let at = rest.windows(8).position(|window| window == bytes.as_slice());
        &rest[at.unwrap_or_else(|| panic!("no result of {operation:?}: {:?}", self.status)) + 8..]
    }

    /// Decodes the body of the last result of a call that has succeeded.
    pub(super) fn decode<'a, T: Item<'a>>(&'a self, operation: Operation) -> T {
        assert_eq!(self.status, None, "{operation:?}");
        T::get(&mut Reader::new(self.last(operation))).unwrap()
    }
}

pub(super) fn limits(max_requests: u32) -> ChannelLimits {
    ChannelLimits {
        header_padding: 0,
        max_request: 2 << 20,
        max_response: 2 << 20,
        max_cached_response: 4096,
        max_operations: 32,
        max_requests,
        rdma_reads: None,
    }
}

/// A client of minor version 1 or 2 with one session.
pub(super) struct Client<'a> {
    pub(super) server: &'a Server,
    pub(super) peer: Arc<Peer>,
    pub(super) callbacks: Callbacks,
    pub(super) id: u64,
    pub(super) session: SessionId,
    pub(super) sequence: u32,
    pub(super) minor_version: u32,
}

impl<'a> Client<'a> {
    /// A client that has completed its reclaims.
    pub(super) fn new(server: &'a Server, name: &str) -> Self {
        let mut client = Self::connect(server, name, [1; 8]);
        let complete = client.reclaim_complete();
        assert_eq!(complete, None);
        client
    }

    /// A client with a session.
    pub(super) fn connect(server: &'a Server, name: &str, verifier: [u8; 8]) -> Self {
        let (peer, callbacks) = Peer::new();
        let exchange = ExchangeId {
            verifier,
            owner: Opaque(name.as_bytes()),
            flags: 0,
            protection: NoStateProtection,
            implementation: None,
        };
        let results = server.call(&peer, 2, |call| call.add(Operation::ExchangeId, &exchange).done());
        let exchanged: ExchangedId<'_> = results.decode(Operation::ExchangeId);
        let id = exchanged.client_id;
        let sequence = exchanged.sequence;
        let create = CreateSession {
            client_id: id,
            sequence,
            flags: CONNECTION_BACK_CHANNEL,
            fore_channel: limits(8),
            back_channel: limits(1),
            callback_program: 0x4000_0000,
            callback_security: CallbackSecurity { none: true, sys: None },
        };
        let results = server.call(&peer, 2, |call| call.add(Operation::CreateSession, &create).done());
        let created: CreatedSession = results.decode(Operation::CreateSession);
        assert_eq!(created.flags, CONNECTION_BACK_CHANNEL);
        Self { server, peer, callbacks, id, session: created.session, sequence: 0, minor_version: 2 }
    }

    pub(super) fn reclaim_complete(&mut self) -> Option<Nfs4Status> {
        self.call(|call| {
            call.add(Operation::ReclaimComplete, &ReclaimComplete { one_file_system: false }).done();
        })
        .status
    }

    /// SEQUENCE of the next call in slot 0.
    pub(super) fn next(&mut self, cache_reply: bool) -> Sequence {
        self.sequence += 1;
        Sequence { session: self.session, sequence: self.sequence, slot: 0, highest_slot: 0, cache_reply }
    }

    /// Makes a call in the session.
    pub(super) fn call(&mut self, operations: impl FnOnce(&mut Operations)) -> Results {
        let sequence = self.next(true);
        self.server.call(&self.peer, self.minor_version, |call| {
            operations(call.add(Operation::Sequence, &sequence));
        })
    }

    /// Opens a file in the export.
    pub(super) fn open(&mut self, name: &str, how: OpenHow<'_>, access: u32, deny: u32) -> Results {
        let open = self.open_args(name, how, access, deny);
        self.call(|call| call.path(&["export"]).add(Operation::Open, &open).done())
    }

    /// The arguments of an open of an owner that has the client's number.
    pub(super) fn open_args<'b>(&self, name: &'b str, how: OpenHow<'b>, access: u32, deny: u32) -> Open<'b> {
        let owner = StateOwner { client_id: self.id, owner: Opaque(b"owner") };
        let claim = OpenClaim::Name(Opaque(name.as_bytes()));
        Open { sequence: 0, access, deny, owner, how, claim }
    }

    /// Creates a file for reading and writing.
    pub(super) fn create(&mut self, name: &str) -> StateId {
        let how = OpenHow::Unchecked(SetAttributes::default());
        let results = self.open(name, how, SHARE_BOTH, DENY_NONE);
        results.decode::<Opened<'_>>(Operation::Open).state
    }

    /// Writes to a file in the export.
    pub(super) fn write(&mut self, name: &str, state: StateId, data: &[u8]) -> Option<Nfs4Status> {
        let stable = sharebench_nfs::protocol::StableHow::Unstable;
        let head = WriteHead { state, offset: 0, stable, count: data.len() as u32 };
        self.call(|call| call.path(&["export", name]).write(&head, data).done()).status
    }

    /// Reads from a file in the export.
    pub(super) fn read(&mut self, name: &str, state: StateId) -> Result<Vec<u8>, Nfs4Status> {
        let read = Read { state, offset: 0, count: 4096 };
        let results = self.call(|call| call.path(&["export", name]).add(Operation::Read, &read).done());
        if let Some(status) = results.status {
            return Err(status);
        }
        let mut reader = Reader::new(results.last(Operation::Read));
        assert!(reader.boolean("eof").unwrap());
        Ok(reader.opaque("data", 4096).unwrap().to_vec())
    }

    /// Uses a slot once more as if nothing had been sent, for a repeated call.
    pub(super) fn repeat(&mut self, operations: impl FnOnce(&mut Operations)) -> Results {
        self.sequence -= 1;
        self.call(operations)
    }
}
