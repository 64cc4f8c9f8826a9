//! Requests over SMB that fill what the server keeps, use sessions of others, or force an old protocol.

use std::path::Path;

use sharebench_smb::NtStatus;
use sharebench_smb::wire::FileId;
use sharebench_smb::wire::data::ReadRequest;
use sharebench_smb::wire::header::{Header, command};
use sharebench_smb::wire::info::{END_OF_FILE, SetInfoRequest, TYPE_FILE};
use sharebench_smb::wire::lock::{LockRange, LockRequest, flags};
use sharebench_smb::wire::oplock::BATCH;
use sharebench_smb::wire::simple::CloseRequest;
use sharebench_smb::wire::smb1::{NT_LM, put_negotiate};
use sharebench_tests::program::{PATIENCE, Program, free_port, run};
use sharebench_tests::{Cut, FaultProxy, Need, Sharebench, Smbd, SmbdOptions, Way};

use crate::attack::{Attack, message, sweep};
use crate::smb_connection::SmbConnection;

/// Locks that a client requests, and how many of them in one request.
const LOCKS: u64 = 100_000;
const LOCKS_PER_REQUEST: u64 = 250;
/// Maximum growth of the server's memory, in KiB.
const MAX_GROWTH: u64 = 64 << 10;
/// Clients whose opens wait for a break that is never acknowledged, and the opens of each.
const WAITING_CLIENTS: usize = 8;
const WAITING_OPENS: usize = 300;
/// Compounds, and the reads of 64 KiB in each.
const BOMBS: usize = 64;
const PARTS: usize = 120;
/// Position of the next message of a compound in a header (MS-SMB2 2.2.1).
const NEXT: std::ops::Range<usize> = 20..24;
/// Positions in a message with its prefix.
const COMMAND: usize = 4 + 12;
const SIGNATURE: usize = 4 + 48;
const SETUP_FLAGS: usize = 4 + 64 + 2;

/// The rows, in the order of the table.
pub const ATTACKS: &[Attack] = &[
    Attack {
        what: "a client that offers SMB1 only (NT LM 0.12)",
        on: "embedded SMB",
        needs: &[],
        act: only_smb1,
    },
    Attack {
        what: "a client that offers SMB1 only (`smbclient -m NT1`)",
        on: "embedded SMB",
        needs: &[Need::Program("smbclient")],
        act: smbclient_with_smb1,
    },
    Attack {
        what: "NEGOTIATE replaced by one of SMB1, at a server that speaks it",
        on: "sharebench at smbd",
        needs: &Smbd::NEEDS,
        act: force_smb1,
    },
    Attack {
        what: "a connection bound to a session (`channels=2`) without the key of the session",
        on: "embedded SMB",
        needs: &[],
        act: || bind_without_key(None),
    },
    Attack {
        what: "a connection bound to a session (`channels=2`) without the key of the session",
        on: "smbd",
        needs: &Smbd::NEEDS,
        act: || bind_without_key(Some(&Smbd::start(&SmbdOptions::default()).unwrap())),
    },
    Attack {
        what: "100,000 locks of one client on 25 files",
        on: "embedded SMB",
        needs: &[],
        act: || many_locks(25),
    },
    Attack {
        what: "100,000 locks of one client on one file",
        on: "embedded SMB",
        needs: &[],
        act: || many_locks(1),
    },
    Attack {
        what: "2,400 opens that wait for a break which a client never acknowledges",
        on: "embedded SMB",
        needs: &[],
        act: unacknowledged_breaks,
    },
    Attack {
        what: "64 compounds of 120 reads of 64 KiB each",
        on: "embedded SMB",
        needs: &[],
        act: compound_bombs,
    },
];

/// A server without accounts, whose clients are guests.
struct Guests {
    sharebench: Sharebench,
    program: Program,
    port: u16,
}

impl Guests {
    fn serve() -> Self {
        let sharebench = Sharebench::new().unwrap();
        let port = free_port().unwrap();
        let at = format!("127.0.0.1:{port}");
        let line = ["serve", "--memory", "1GiB", "--smb", &at];
        let mut program = sharebench.start(&line, "served.log").unwrap();
        program.wait_for_output("serving", PATIENCE).unwrap();
        Self { sharebench, program, port }
    }

    /// Resident memory, in KiB.
    fn memory(&self) -> u64 {
        let status = Path::new("/proc").join(self.program.pid().to_string()).join("status");
        let status = std::fs::read_to_string(status).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// Checks that other clients are served, and that the memory has not grown much since `before`.
    fn expect_service(&self, before: u64) {
        let url = format!("smb://127.0.0.1:{}/share", self.port);
        let growth = self.memory().saturating_sub(before);
        assert!(growth < MAX_GROWTH, "{growth} KiB more");
        let _ = sweep(&self.sharebench, &url).expect_success();
    }
}

fn only_smb1() -> String {
    let guests = Guests::serve();
    let mut connection = SmbConnection::connect(guests.port);
    let mut negotiate = Vec::new();
    put_negotiate(&[NT_LM], &mut negotiate);
    connection.send(&negotiate);
    assert_eq!(connection.receive(), None);
    "the connection is closed".to_owned()
}

fn smbclient_with_smb1() -> String {
    let guests = Guests::serve();
    let port = guests.port.to_string();
    let line = ["smbclient", "-m", "NT1", "-p", &port, "-N", "//127.0.0.1/share", "-c", "ls"];
    let line = [&line[..], &["--option=client min protocol=NT1"]].concat();
    let error = run(&line, &[]).unwrap_err().to_string();
    assert!(error.contains("protocol negotiation failed"), "{error}");
    "smbclient: \"protocol negotiation failed\"".to_owned()
}

/// Someone on the path replaces the client's NEGOTIATE, so that the server answers with SMB1.
fn force_smb1() -> String {
    let sharebench = Sharebench::new().unwrap();
    let dialects = Some(("NT1", "SMB3_11"));
    let smbd = Smbd::start(&SmbdOptions { dialects, ..SmbdOptions::default() }).unwrap();
    let proxy = FaultProxy::start(smbd.port(), Cut::Messages).unwrap();
    proxy.tamper(|way, message| {
        if way == Way::ToClient || message.get(COMMAND) != Some(&0) {
            return vec![message];
        }
        let mut negotiate = vec![0; 4];
        put_negotiate(&[NT_LM], &mut negotiate);
        let len = (negotiate.len() - 4) as u32;
        negotiate[..4].copy_from_slice(&len.to_be_bytes());
        vec![negotiate]
    });
    let url = format!("smb://{}@127.0.0.1:{}/share", smbd.user(), proxy.port());
    message(&sweep(&sharebench, &url), &["SMB1", "protocol"])
}

/// Changes the signature with which the second connection proves that it knows the key of the session (MS-SMB2 3.3.5.5.2).
fn bind_without_key(smbd: Option<&Smbd>) -> String {
    const SESSION_SETUP: u8 = 1;
    const BINDING: u8 = 1;
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let (port, url) = match smbd {
        Some(smbd) => (smbd.port(), smbd.url("", "channels=2")),
        None => (served.smb_port, served.smb_url("?channels=2")),
    };
    let proxy = FaultProxy::start(port, Cut::Messages).unwrap();
    proxy.tamper(|way, mut message| {
        let binds = way == Way::ToServer
            && message.get(COMMAND) == Some(&SESSION_SETUP)
            && message.get(SETUP_FLAGS) == Some(&BINDING);
        if binds {
            message[SIGNATURE] ^= 1;
        }
        vec![message]
    });
    let url = url.replacen(&format!(":{port}/"), &format!(":{}/", proxy.port()), 1);
    let ended = sweep(&sharebench, &url).expect_success();
    let text = ended.text();
    let warning = text.lines().find(|line| line.contains("not granted: 2 channels")).unwrap();
    let status = ["ACCESS_DENIED", "USER_SESSION_DELETED"].into_iter().find(|word| warning.contains(word));
    assert!(warning.contains("1 in use"), "{text}");
    format!("rejected ({}); the run has a warning and one connection", status.unwrap())
}

/// Locks bytes one by one until a request is rejected. Returns the number of locks.
fn lock_bytes(connection: &mut SmbConnection, name: &str, wanted: u64) -> u64 {
    let file = connection.open(name, 0);
    let mut granted = 0;
    while granted < wanted {
        let lock = |at| LockRange { offset: at, len: 1, flags: flags::EXCLUSIVE | flags::FAIL_IMMEDIATELY };
        let ranges = (granted..granted + LOCKS_PER_REQUEST).map(lock).collect();
        let request = LockRequest { sequence: 0, file, ranges };
        let reply = connection.call(command::LOCK, |body| request.encode(body));
        if Header::decode(&reply).unwrap().status != 0 {
            break;
        }
        granted += LOCKS_PER_REQUEST;
    }
    granted
}

fn many_locks(files: u64) -> String {
    let guests = Guests::serve();
    let before = guests.memory();
    let mut connection = SmbConnection::as_guest(guests.port);
    let wanted = LOCKS / files;
    let lock = |file| lock_bytes(&mut connection, &format!("locked-{file}"), wanted);
    let granted: u64 = (0..files).map(lock).sum();
    guests.expect_service(before);
    format!("{granted} are granted; other clients are served, memory grows by less than 64 MiB")
}

/// One client holds a batch oplock and acknowledges nothing while others open its file.
fn unacknowledged_breaks() -> String {
    let guests = Guests::serve();
    let before = guests.memory();
    let mut holder = SmbConnection::as_guest(guests.port);
    let held = holder.open("held", BATCH);
    let mut waiting = Vec::new();
    for _ in 0..WAITING_CLIENTS {
        let mut client = SmbConnection::as_guest(guests.port);
        for _ in 0..WAITING_OPENS {
            let request = SmbConnection::open_request("held", 0);
            let create = client.message(command::CREATE, |body| request.encode(body));
            client.send(&create);
            assert_eq!(client.status(), NtStatus::PENDING);
        }
        waiting.push(client);
    }
    guests.expect_service(before);
    let broken = Header::decode(&holder.receive().unwrap()).unwrap();
    assert_eq!(broken.command, command::OPLOCK_BREAK);
    let request = CloseRequest { file: held, ..CloseRequest::default() };
    // The only break is followed by the reply.
    let closed = holder.call(command::CLOSE, |body| request.encode(body));
    assert_eq!(Header::decode(&closed).unwrap().command, command::CLOSE);
    for client in &mut waiting {
        for _ in 0..WAITING_OPENS {
            assert_eq!(client.status(), NtStatus::SUCCESS);
        }
    }
    "other clients are served, memory grows by less than 64 MiB; one break, and all continue when it is answered"
        .to_owned()
}

/// A compound of reads of a large file.
fn bomb(connection: &mut SmbConnection, file: FileId) -> Vec<u8> {
    let mut compound = Vec::new();
    for part in 1..=PARTS {
        let request = ReadRequest { len: 64 << 10, file, ..ReadRequest::default() };
        let mut read = connection.message(command::READ, |body| request.encode(body));
        if part < PARTS {
            read.resize(read.len().next_multiple_of(8), 0);
            let next = (read.len() as u32).to_le_bytes();
            read[NEXT].copy_from_slice(&next);
        }
        compound.append(&mut read);
    }
    compound
}

fn compound_bombs() -> String {
    let guests = Guests::serve();
    let mut connection = SmbConnection::as_guest(guests.port);
    let file = connection.open("large", 0);
    let information = (1_u64 << 30).to_le_bytes().to_vec();
    let size = SetInfoRequest { info_type: TYPE_FILE, class: END_OF_FILE, file, additional: 0, information };
    let reply = connection.call(command::SET_INFO, |body| size.encode(body));
    assert_eq!(Header::decode(&reply).unwrap().status, 0);
    let before = guests.memory();
    for _ in 0..BOMBS {
        let compound = bomb(&mut connection, file);
        connection.send(&compound);
        let reply = connection.receive().unwrap();
        assert!(reply.len() < 3 << 20, "{} bytes", reply.len());
        // The last reply of a compound is padded to 8 bytes.
        let header = Header::decode(&reply[reply.len() - 73_usize.next_multiple_of(8)..]).unwrap();
        assert_eq!(NtStatus(header.status), NtStatus::INSUFFICIENT_RESOURCES);
    }
    guests.expect_service(before);
    "rejected after 2 MiB of replies (INSUFFICIENT_RESOURCES); other clients are served, memory grows by less than 64 MiB"
        .to_owned()
}
