//! Clients of SMB1 that send one message at a time.

mod chains;
mod locks;
mod malformed;
mod names;
mod oplocks;
mod searches;
mod sessions;
mod shared;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use sharebench_smb::NtStatus;
use sharebench_smb::nt1::file::{
    CloseRequest, CreateRequest, CreateResponse, LARGE_FILES, LockRange, LockRequest, ReadRequest,
    ReadResponse, WRITE_DATA_OFFSET, WriteRequest,
};
use sharebench_smb::nt1::message::{NO_ANDX, NoWords, Words, flags2, put_blocks, put_text};
use sharebench_smb::nt1::session::{
    SessionSetupRequest, SessionSetupResponse, TreeConnectRequest, capability,
};
use sharebench_smb::nt1::trans2::{Collected, put_request};
use sharebench_smb::nt1::{Header, Message, command};
use sharebench_smb::requester::anonymous_ntlm;
use sharebench_smb::wire::create::{SHARE_ALL, disposition};
use sharebench_smb::wire::frame::prefix;
use sharebench_smb::wire::smb1::{NT_LM, put_negotiate};

use crate::{DeviceOptions, DeviceVolume, MemoryVolume, ServiceTime, SmbServer, SmbServerOptions, Volume};

const ALL: u32 = 0x001F_01FF;

/// A client that sends one message at a time.
pub(super) struct Raw {
    stream: TcpStream,
    mid: u16,
    uid: u16,
    tid: u16,
}

/// A reply in its parts.
struct Answered {
    header: Header,
    message: Vec<u8>,
}

impl Answered {
    fn status(&self) -> NtStatus {
        NtStatus(self.header.status)
    }

    fn words<W: Words>(&self) -> W {
        Message::split(&self.message).unwrap().get().unwrap()
    }
}

/// Servers on a volume that never blocks, and on one that does.
fn on_both(test: impl Fn(&SmbServer)) {
    let slow =
        DeviceOptions { service: ServiceTime::Fixed(Duration::from_micros(1)), ..DeviceOptions::default() };
    on_memory(&test);
    test(&start(Arc::new(DeviceVolume::new(MemoryVolume::new(64 << 20), slow))));
}

/// A server on a volume that never blocks, which answers the messages of a connection in their order.
fn on_memory(test: impl Fn(&SmbServer)) {
    test(&start(Arc::new(MemoryVolume::new(64 << 20))));
}

fn start(volume: Arc<dyn Volume>) -> SmbServer {
    let options =
        SmbServerOptions { smb1: true, leases: true, exclusive: true, ..SmbServerOptions::default() };
    SmbServer::start("127.0.0.1:0".parse().unwrap(), volume, options).unwrap()
}

impl Raw {
    fn connect(addr: SocketAddr) -> Self {
        let stream = TcpStream::connect(addr).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Self { stream, mid: 0, uid: 0, tid: 0 }
    }

    fn negotiate(&mut self) -> Answered {
        let mut message = Vec::new();
        put_negotiate(&["LANMAN1.0", NT_LM], &mut message);
        self.send(&message);
        self.receive().unwrap()
    }

    fn log_in(addr: SocketAddr) -> Self {
        Self::log_in_with(addr, capability::LEVEL_II_OPLOCKS)
    }

    fn log_in_with(addr: SocketAddr, capabilities: u32) -> Self {
        let mut raw = Self::connect(addr);
        assert_eq!(raw.negotiate().status(), NtStatus::SUCCESS);
        for (kind, expected) in [(1, NtStatus::MORE_PROCESSING_REQUIRED), (3, NtStatus::SUCCESS)] {
            let token = anonymous_ntlm(kind);
            let words = SessionSetupRequest {
                andx: NO_ANDX,
                max_buffer: u16::MAX,
                token_len: token.len() as u16,
                capabilities,
                ..SessionSetupRequest::default()
            };
            let reply = raw.call(command::SESSION_SETUP_ANDX, &words, |out| out.extend_from_slice(&token));
            assert_eq!(reply.status(), expected);
            let words: SessionSetupResponse = reply.words();
            assert_eq!(words.action, u16::from(kind == 3), "a guest");
            raw.uid = reply.header.uid;
        }
        let reply = raw.connect_tree("share");
        assert_eq!(reply.status(), NtStatus::SUCCESS);
        raw.tid = reply.header.tid;
        raw
    }

    fn connect_tree(&mut self, share: &str) -> Answered {
        let words = TreeConnectRequest { andx: NO_ANDX, flags: 0, password_len: 1 };
        self.call(command::TREE_CONNECT_ANDX, &words, |out| {
            out.push(0);
            put_text(&format!("\\\\server\\{share}"), 0, out);
            out.extend_from_slice(b"?????\0");
        })
    }

    fn header(&mut self, command: u8) -> Header {
        self.mid += 1;
        Header {
            command,
            flags2: flags2::UNICODE | flags2::NT_STATUS | flags2::EXTENDED_SECURITY,
            pid_low: 7,
            uid: self.uid,
            tid: self.tid,
            mid: self.mid,
            ..Header::default()
        }
    }

    fn message<W: Words>(&mut self, command: u8, words: &W, bytes: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut message = Vec::new();
        self.header(command).encode(&mut message);
        put_blocks(words, &mut message, bytes);
        message
    }

    fn send(&mut self, message: &[u8]) {
        let framed = [&prefix(message.len()).unwrap()[..], message].concat();
        self.stream.write_all(&framed).unwrap();
    }

    /// The next message; none if the connection is closed.
    fn receive(&mut self) -> Option<Answered> {
        let mut prefix = [0; 4];
        self.stream.read_exact(&mut prefix).ok()?;
        let mut message = vec![0; u32::from_be_bytes(prefix) as usize];
        self.stream.read_exact(&mut message).unwrap();
        Some(Answered { header: Header::decode(&message).unwrap(), message })
    }

    fn call<W: Words>(&mut self, command: u8, words: &W, bytes: impl FnOnce(&mut Vec<u8>)) -> Answered {
        let message = self.message(command, words, bytes);
        self.send(&message);
        let reply = self.receive().unwrap();
        assert_eq!((reply.header.command, reply.header.mid), (command, self.mid));
        reply
    }

    fn create(&mut self, name: &str, (disposition, share): (u32, u32)) -> Result<u16, NtStatus> {
        let words = create_words(disposition, share);
        let reply = self.call(command::NT_CREATE_ANDX, &words, |out| put_text(name, 0, out));
        match reply.status() {
            NtStatus::SUCCESS => Ok(reply.words::<CreateResponse>().fid),
            status => Err(status),
        }
    }

    fn write(&mut self, fid: u16, offset: u64, data: &[u8]) -> NtStatus {
        let words = write_words(fid, offset, data.len());
        let message = self.message(command::WRITE_ANDX, &words, |out| {
            out.resize(WRITE_DATA_OFFSET, 0);
            out.extend_from_slice(data);
        });
        self.send(&message);
        self.receive().unwrap().status()
    }

    fn read(&mut self, fid: u16, offset: u64, len: u32) -> Result<Vec<u8>, NtStatus> {
        let reply = self.call(command::READ_ANDX, &read_words(fid, offset, len), |_| {});
        match reply.status() {
            NtStatus::SUCCESS => Ok(read_data(&reply)),
            status => Err(status),
        }
    }

    fn close(&mut self, fid: u16) -> NtStatus {
        let words = CloseRequest { fid, last_write: 0 };
        self.call(command::CLOSE, &words, |_| {}).status()
    }

    fn lock_message(&mut self, fid: u16, pid: u16, (offset, len): (u32, u32), timeout: u32) -> Vec<u8> {
        let words = LockRequest {
            andx: NO_ANDX,
            fid,
            kind: LARGE_FILES,
            timeout,
            locks: 1,
            ..LockRequest::default()
        };
        self.message(command::LOCKING_ANDX, &words, |out| {
            LockRange { pid, offset_low: offset, len_low: len, ..LockRange::default() }.put(out);
        })
    }

    fn lock(&mut self, fid: u16, pid: u16, range: (u32, u32), timeout: u32) -> NtStatus {
        let message = self.lock_message(fid, pid, range, timeout);
        self.send(&message);
        self.receive().unwrap().status()
    }

    fn transact(&mut self, subcommand: u16, parameters: &[u8], data: &[u8]) -> Result<Collected, NtStatus> {
        let mut message = Vec::new();
        self.header(command::TRANSACTION2).encode(&mut message);
        put_request(subcommand, parameters, data, 32 << 10, &mut message);
        self.send(&message);
        let reply = self.receive().unwrap();
        if reply.status() != NtStatus::SUCCESS {
            return Err(reply.status());
        }
        let mut collected = Collected::default();
        assert!(collected.add(&Message::split(&reply.message).unwrap()).unwrap());
        Ok(collected)
    }
}

fn create_words(disposition: u32, share: u32) -> CreateRequest {
    CreateRequest {
        andx: NO_ANDX,
        access: ALL,
        share,
        disposition,
        impersonation: 2,
        ..CreateRequest::default()
    }
}

fn read_words(fid: u16, offset: u64, len: u32) -> ReadRequest {
    ReadRequest {
        andx: NO_ANDX,
        fid,
        offset_low: offset as u32,
        offset_high: (offset >> 32) as u32,
        count_low: len as u16,
        count_high: len >> 16,
        ..ReadRequest::default()
    }
}

fn write_words(fid: u16, offset: u64, len: usize) -> WriteRequest {
    WriteRequest {
        andx: NO_ANDX,
        fid,
        offset_low: offset as u32,
        offset_high: (offset >> 32) as u32,
        len_low: len as u16,
        len_high: (len >> 16) as u16,
        data_offset: WRITE_DATA_OFFSET as u16,
        ..WriteRequest::default()
    }
}

fn read_data(reply: &Answered) -> Vec<u8> {
    let words: ReadResponse = reply.words();
    let parts = Message::split(&reply.message).unwrap();
    parts.slice(usize::from(words.offset), words.len()).unwrap().to_vec()
}

#[test]
fn a_client_that_offers_smb2_receives_smb2_and_one_without_extended_security_nothing() {
    on_both(|server| {
        let mut raw = Raw::connect(server.addr());
        let mut both = Vec::new();
        put_negotiate(&[NT_LM, "SMB 2.002"], &mut both);
        raw.stream.write_all(&prefix(both.len()).unwrap()).unwrap();
        raw.stream.write_all(&both).unwrap();
        let mut reply = [0; 8];
        raw.stream.read_exact(&mut reply).unwrap();
        assert_eq!(&reply[4..], b"\xFESMB");

        let mut raw = Raw::connect(server.addr());
        let mut old = Vec::new();
        put_negotiate(&["LANMAN1.0"], &mut old);
        raw.send(&old);
        assert_eq!(Message::split(&raw.receive().unwrap().message).unwrap().words, [0xFF, 0xFF]);
        put_negotiate(&[NT_LM], &mut Vec::new());
        let mut plain = Vec::new();
        put_negotiate(&[NT_LM], &mut plain);
        // Flags2 without extended security.
        plain[11] &= !0x08;
        raw.send(&plain);
        assert_eq!(Message::split(&raw.receive().unwrap().message).unwrap().words, [0xFF, 0xFF]);
        assert_eq!(raw.negotiate().header.command, command::NEGOTIATE);
        // A second negotiation ends the connection, also one of SMB2.
        let mut again = Vec::new();
        put_negotiate(&[NT_LM], &mut again);
        raw.send(&again);
        assert!(raw.receive().is_none());
    });
}

#[test]
fn files_are_written_and_read_in_large_requests() {
    on_both(|server| {
        let mut raw = Raw::log_in(server.addr());
        let fid = raw.create("\\file", (disposition::CREATE, SHARE_ALL)).unwrap();
        let data: Vec<u8> = (0..200_000u32).map(|nth| (nth % 251) as u8).collect();
        assert_eq!(raw.write(fid, 5, &data), NtStatus::SUCCESS);
        assert_eq!(raw.read(fid, 5, 200_000), Ok(data.clone()));
        assert_eq!(raw.read(fid, 200_000, 100), Ok(data[199_995..].to_vec()));
        assert_eq!(raw.read(fid, 300_000, 100), Ok(Vec::new()), "the end of a file is no error in SMB1");
        assert_eq!(raw.close(fid), NtStatus::SUCCESS);
        assert_eq!(raw.read(fid, 0, 1), Err(NtStatus::INVALID_HANDLE));
        assert_eq!(raw.call(0x1A, &NoWords {}, |_| {}).status(), NtStatus::SMB_BAD_COMMAND);
        assert_eq!(raw.call(command::NT_TRANSACT, &NoWords {}, |_| {}).status(), NtStatus::NOT_SUPPORTED);
    });
}

#[test]
fn ids_of_users_and_trees_are_checked() {
    on_both(|server| {
        let mut raw = Raw::log_in(server.addr());
        let fid = raw.create("file", (disposition::CREATE, SHARE_ALL)).unwrap();
        let uid = raw.uid;
        let tid = raw.tid;
        raw.uid = uid + 1;
        assert_eq!(raw.read(fid, 0, 1), Err(NtStatus::SMB_TOO_MANY_UIDS_OR_BAD_UID));
        (raw.uid, raw.tid) = (uid, tid + 1);
        assert_eq!(raw.read(fid, 0, 1), Err(NtStatus::SMB_BAD_TID));
        raw.tid = tid;
        let pipes = raw.connect_tree("IPC$");
        assert_eq!(pipes.status(), NtStatus::SUCCESS);
        raw.tid = pipes.header.tid;
        assert_eq!(
            raw.create("srvsvc", (disposition::OPEN, SHARE_ALL)),
            Err(NtStatus::OBJECT_NAME_NOT_FOUND)
        );
        assert_eq!(raw.read(fid, 0, 1), Err(NtStatus::NOT_SUPPORTED));
        raw.tid = tid;
        assert_eq!(raw.call(command::TREE_DISCONNECT, &NoWords {}, |_| {}).status(), NtStatus::SUCCESS);
        assert_eq!(raw.read(fid, 0, 1), Err(NtStatus::SMB_BAD_TID));
        assert_eq!(raw.connect_tree("none").status(), NtStatus::BAD_NETWORK_NAME);
    });
}
