//! COMPOUND calls to the embedded server: operations with plausible arguments, in an order and with bytes that the input
//! chooses.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sharebench_nfs::compound::{COMPOUND, NFS4_VERSION};
use sharebench_nfs::protocol::NFS_PROGRAM;
use sharebench_nfs::record::{begin_record, end_record};
use sharebench_nfs::rpc::{CallTemplate, get_reply};
use sharebench_nfs::v4::compound::{CallHead, ReplyHead};
use sharebench_nfs::v4::item::{Item, Opaque};
use sharebench_nfs::v4::operation::Operation;
use sharebench_nfs::v4::session::{
    CONNECTION_BACK_CHANNEL, CallbackSecurity, ChannelLimits, CreateSession, CreatedSession, ExchangeId,
    ExchangedId, NoStateProtection, Sequence, SessionId,
};
use sharebench_nfs::xdr::{Reader, Writer};
use sharebench_server::{MemoryVolume, NfsServer, NfsServerOptions, ROOT, Volume};

/// Longest wait for a reply.
const PATIENCE: Duration = Duration::from_secs(60);
/// Largest number of calls of one input.
const MAX_CALLS: usize = 64;

/// A connection with a session.
struct Client {
    stream: TcpStream,
    session: SessionId,
    sequence: u32,
    /// The last state id that the server gave, which operations use.
    state: [u8; 16],
}

/// Appends a call's header up to the operations.
fn begin(out: &mut Writer, minor_version: u32, count: u32) -> usize {
    let at = begin_record(out);
    CallTemplate::new(NFS_PROGRAM, NFS4_VERSION, None).put(out, 7, COMPOUND);
    CallHead { tag: Opaque(b""), minor_version, count }.put(out);
    at
}

impl Client {
    fn connect(server: &NfsServer) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let stream = TcpStream::connect(server.addr()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut client = Self { stream, session: [0; 16], sequence: 0, state: [0; 16] };
        let owner = NEXT.fetch_add(1, Ordering::Relaxed).to_be_bytes();
        let exchange = ExchangeId {
            verifier: owner,
            owner: Opaque(&owner),
            flags: 0,
            protection: NoStateProtection,
            implementation: None,
        };
        let reply = client.outside(Operation::ExchangeId, &exchange);
        let exchanged = ExchangedId::get(&mut Reader::new(&reply)).unwrap();
        let limits = ChannelLimits {
            header_padding: 0,
            max_request: 1 << 20,
            max_response: 1 << 20,
            max_cached_response: 4096,
            max_operations: 64,
            max_requests: 4,
            rdma_reads: None,
        };
        let create = CreateSession {
            client_id: exchanged.client_id,
            sequence: exchanged.sequence,
            flags: CONNECTION_BACK_CHANNEL,
            fore_channel: limits,
            back_channel: limits,
            callback_program: 0x4000_0000,
            callback_security: CallbackSecurity { none: true, sys: None },
        };
        let reply = client.outside(Operation::CreateSession, &create);
        client.session = CreatedSession::get(&mut Reader::new(&reply)).unwrap().session;
        client
    }

    /// Performs an operation outside a session and returns its result.
    fn outside<'a>(&mut self, operation: Operation, arguments: &impl Item<'a>) -> Vec<u8> {
        let mut out = Writer::default();
        let at = begin(&mut out, 2, 1);
        out.u32(operation as u32);
        arguments.put(&mut out);
        end_record(&mut out, at, 0);
        let reply = self.exchange(out.as_slice()).unwrap();
        // Number and status of the operation precede its result.
        reply[8..].to_vec()
    }

    /// Sends a record and returns the results of its reply; none if the server closes the connection. Callbacks of the
    /// server are skipped.
    fn exchange(&mut self, record: &[u8]) -> Option<Vec<u8>> {
        self.stream.write_all(record).ok()?;
        loop {
            let mut mark = [0; 4];
            self.stream.read_exact(&mut mark).ok()?;
            let mut reply = vec![0; (u32::from_be_bytes(mark) & 0x7fff_ffff) as usize];
            self.stream.read_exact(&mut reply).ok()?;
            if reply[4..8] == [0; 4] {
                continue;
            }
            let mut reader = Reader::new(&reply);
            let (_, outcome) = get_reply(&mut reader).unwrap();
            if outcome.is_err() {
                return Some(Vec::new());
            }
            ReplyHead::get(&mut reader).unwrap();
            return Some(reader.rest().to_vec());
        }
    }

    /// Makes a call of operations that are encoded already.
    fn call(&mut self, count: u32, operations: &[u8]) -> Option<()> {
        self.sequence += 1;
        let mut out = Writer::default();
        let at = begin(&mut out, 2, count + 1);
        out.u32(Operation::Sequence as u32);
        let session = self.session;
        let sequence = self.sequence;
        Sequence { session, sequence, slot: 0, highest_slot: 0, cache_reply: sequence.is_multiple_of(2) }
            .put(&mut out);
        out.raw(operations);
        end_record(&mut out, at, 0);
        let results = self.exchange(out.as_slice())?;
        // The state id of OPEN without a delegation, if that was the last operation; otherwise any 16 bytes will do.
        if let Some(state) = results.len().checked_sub(48).and_then(|at| results[at..].first_chunk()) {
            self.state = *state;
        }
        Some(())
    }
}

/// The arguments of an operation as words; `S` stands for the current state id and `N` for a name.
const ARGUMENTS: &[(Operation, &str)] = &[
    (Operation::PutRootFh, ""),
    (Operation::Lookup, "X"),
    (Operation::Lookup, "N"),
    (Operation::LookupP, ""),
    (Operation::GetFh, ""),
    (Operation::SaveFh, ""),
    (Operation::RestoreFh, ""),
    // Access and deny, owner of four bytes, create unchecked without attributes, claim NULL.
    (Operation::Open, "0 3 0 0 0 4 7 1 0 0 0 0 N"),
    (Operation::Open, "0 1 0 0 0 4 7 0 0 N"),
    (Operation::Open, "0 1 0 0 0 4 7 0 4"),
    (Operation::Close, "0 S"),
    (Operation::OpenDowngrade, "S 0 1 0"),
    (Operation::Read, "S 0 0 4096"),
    (Operation::Write, "S 0 0 0 4 77"),
    (Operation::Commit, "0 0 0"),
    (Operation::GetAttr, "3 4294967295 4294901759 65535"),
    (Operation::SetAttr, "S 1 16 8 0 99"),
    (Operation::Access, "63"),
    (Operation::ReadDir, "0 0 0 0 4096 4096 2 1048586 3149882"),
    (Operation::Create, "2 N 0 0"),
    (Operation::Create, "5 4 1635017060 N 0 0"),
    (Operation::ReadLink, ""),
    (Operation::Remove, "N"),
    (Operation::Rename, "N N"),
    (Operation::Link, "N"),
    (Operation::Lock, "4 0 0 5 0 9 1 0 S 0 0 0 4 8"),
    (Operation::LockT, "1 0 0 0 9 0 0 4 8"),
    (Operation::LockU, "1 0 S 0 0 0 9"),
    (Operation::DelegReturn, "S"),
    (Operation::TestStateId, "1 S"),
    (Operation::FreeStateId, "S"),
    (Operation::Verify, "1 2 4 1"),
    (Operation::SecInfoNoName, "0"),
    (Operation::Allocate, "S 0 0 0 8192"),
    (Operation::Deallocate, "S 0 0 0 100"),
    (Operation::Seek, "S 0 0 1"),
    (Operation::ReadPlus, "S 0 0 4096"),
    (Operation::Copy, "S S 0 0 0 9 0 0 1 1 0"),
    (Operation::Clone, "S S 0 0 0 0 0 0"),
    (Operation::ReclaimComplete, "0"),
    (Operation::BackchannelCtl, "1 1 0"),
];

/// Encodes an operation with its arguments.
fn put(out: &mut Writer, choice: u8, state: &[u8; 16]) {
    let (operation, arguments) = ARGUMENTS[usize::from(choice) % ARGUMENTS.len()];
    out.u32(operation as u32);
    for word in arguments.split_whitespace() {
        match word {
            "S" => out.raw(state),
            "X" => out.opaque(b"export"),
            "N" => out.opaque(&[b'a' + choice % 3]),
            number => out.u32(number.parse().unwrap()),
        }
    }
}

/// Runs on one server: each adds two clients, of which a server has at most 20,000.
const RUNS: u32 = 5_000;

/// A server and what it exports.
struct Served {
    runs: u32,
    server: NfsServer,
    volume: Arc<dyn Volume>,
}

impl Served {
    fn start() -> Self {
        let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new(8 << 20));
        let options = NfsServerOptions { threads: 1, workers: 1, ..NfsServerOptions::default() };
        let addr = "127.0.0.1:0".parse().unwrap();
        let server = NfsServer::start(addr, Arc::clone(&volume), options).unwrap();
        Self { runs: 0, server, volume }
    }
}

/// Calls that the input describes: for each operation its choice, a number of changed bytes, and their places and values.
/// A choice from 128 on also ends the call.
pub fn run(input: &[u8]) {
    static SERVER: Mutex<Option<Served>> = Mutex::new(None);
    let mut served = SERVER.lock().unwrap();
    let Served { runs, server, volume } = match &mut *served {
        Some(served) if served.runs < RUNS => served,
        served => served.insert(Served::start()),
    };
    *runs += 1;
    let mut client = Client::connect(server);
    let mut bytes = input.iter().copied();
    let mut operations = Writer::default();
    let mut count = 0;
    let mut calls = 0;
    while let Some(choice) = bytes.next() {
        let at = operations.len();
        put(&mut operations, choice & 0x7f, &client.state);
        count += 1;
        let mut changed = operations.as_slice().to_vec();
        for _ in 0..bytes.next().unwrap_or(0) % 8 {
            let place = at + usize::from(bytes.next().unwrap_or(0));
            let value = bytes.next().unwrap_or(0);
            if let Some(byte) = changed.get_mut(place) {
                *byte = value;
            }
        }
        operations.clear();
        operations.raw(&changed);
        if choice >= 0x80 {
            calls += 1;
            if client.call(count, operations.as_slice()).is_none() || calls >= MAX_CALLS {
                break;
            }
            operations.clear();
            count = 0;
        }
    }
    // The server lives, and so does its volume.
    Client::connect(server);
    assert!(volume.attributes(ROOT).is_ok());
}
