//! A connection to the embedded SMB server that sends what no client sends.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use sharebench_smb::NtStatus;
use sharebench_smb::wire::FileId;
use sharebench_smb::wire::create::{CreateRequest, CreateResponse, SHARE_ALL, disposition};
use sharebench_smb::wire::frame::prefix;
use sharebench_smb::wire::header::{Header, command};
use sharebench_smb::wire::negotiate::NegotiateRequest;
use sharebench_smb::wire::session_setup::SessionSetupRequest;
use sharebench_smb::wire::tree::TreeConnectRequest;

/// Every right on a file.
const ALL_ACCESS: u32 = 0x001F_01FF;
/// Credits that each request requests.
const CREDITS: u16 = 512;

/// A connection with a session of a guest.
pub struct SmbConnection {
    stream: TcpStream,
    next: u64,
    session: u64,
    tree: u32,
}

/// A message of NTLM without a name (MS-NLMP 2.2.1): NEGOTIATE (1) or AUTHENTICATE (3).
fn ntlm(kind: u8) -> Vec<u8> {
    const FLAGS: [u8; 4] = 0x0008_8201_u32.to_le_bytes();
    let (len, flags_at) = if kind == 1 { (32, 12) } else { (64, 60) };
    let mut message = [b"NTLMSSP\0", &[kind, 0, 0, 0][..]].concat();
    message.resize(len, 0);
    message[flags_at..flags_at + FLAGS.len()].copy_from_slice(&FLAGS);
    message
}

impl SmbConnection {
    /// Connects and sends nothing.
    pub fn connect(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Self { stream, next: 0, session: 0, tree: 0 }
    }

    /// Negotiates dialect 2.1, logs in as a guest and connects to the share.
    pub fn as_guest(port: u16) -> Self {
        let mut new = Self::connect(port);
        let negotiate = NegotiateRequest {
            security_mode: 1,
            dialects: vec![0x0202, 0x0210],
            ..NegotiateRequest::default()
        };
        new.call(command::NEGOTIATE, |body| negotiate.encode(body));
        for kind in [1, 3] {
            let request = SessionSetupRequest { token: ntlm(kind), ..SessionSetupRequest::default() };
            let reply = new.call(command::SESSION_SETUP, |body| request.encode(body));
            new.session = Header::decode(&reply).unwrap().session_id;
        }
        let request = TreeConnectRequest { path: r"\\server\share".to_owned() };
        let reply = new.call(command::TREE_CONNECT, |body| request.encode(body));
        let header = Header::decode(&reply).unwrap();
        assert_eq!(NtStatus(header.status), NtStatus::SUCCESS);
        new.tree = header.tree_id;
        new
    }

    /// Encodes a request.
    pub fn message(&mut self, command: u16, body: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let header = Header {
            command,
            credit_charge: 1,
            credits: CREDITS,
            message_id: self.next,
            tree_id: self.tree,
            session_id: self.session,
            ..Header::default()
        };
        self.next += 1;
        let mut message = Vec::new();
        header.encode(&mut message);
        body(&mut message);
        message
    }

    /// Sends a message or a compound. A server that has closed the connection is noticed when a reply is received.
    pub fn send(&mut self, message: &[u8]) {
        let framed = [&prefix(message.len()).unwrap()[..], message].concat();
        let _ = self.stream.write_all(&framed);
    }

    /// Receives a message; none if the server has closed the connection.
    pub fn receive(&mut self) -> Option<Vec<u8>> {
        let mut prefix = [0; 4];
        self.stream.read_exact(&mut prefix).ok()?;
        let mut message = vec![0; u32::from_be_bytes(prefix) as usize];
        self.stream.read_exact(&mut message).ok()?;
        Some(message)
    }

    /// Sends a request and returns the reply.
    pub fn call(&mut self, command: u16, body: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let message = self.message(command, body);
        self.send(&message);
        self.receive().unwrap()
    }

    /// The status of the next reply.
    pub fn status(&mut self) -> NtStatus {
        NtStatus(Header::decode(&self.receive().unwrap()).unwrap().status)
    }

    /// A request that opens or creates a file.
    pub fn open_request(name: &str, oplock: u8) -> CreateRequest {
        CreateRequest {
            oplock,
            access: ALL_ACCESS,
            share: SHARE_ALL,
            disposition: disposition::OPEN_IF,
            name: name.to_owned(),
            ..CreateRequest::default()
        }
    }

    /// Opens or creates a file.
    pub fn open(&mut self, name: &str, oplock: u8) -> FileId {
        let request = Self::open_request(name, oplock);
        let reply = self.call(command::CREATE, |body| request.encode(body));
        assert_eq!(NtStatus(Header::decode(&reply).unwrap().status), NtStatus::SUCCESS, "{name}");
        CreateResponse::decode(&reply).unwrap().file
    }
}
