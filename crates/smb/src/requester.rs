//! A connection for tests of servers: each request is encoded, sent and answered by itself, also those that no client sends.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use crate::NtStatus;
use crate::wire::frame::{PREFIX_LEN, length, prefix};
use crate::wire::header::{Header, command};
use crate::wire::negotiate::{NegotiateRequest, NegotiateResponse};
use crate::wire::session_setup::SessionSetupRequest;
use crate::wire::tree::TreeConnectRequest;

/// How long it waits for a reply.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A connection over TCP with at most one session and one tree. Its fields are those of the header of the next request.
#[derive(Debug)]
pub struct Requester {
    /// The socket.
    pub stream: TcpStream,
    /// Message id.
    pub next: u64,
    /// Session id.
    pub session: u64,
    /// Tree id.
    pub tree: u32,
    /// Requested credits.
    pub credits: u16,
}

impl Requester {
    /// Connects and sends nothing.
    ///
    /// # Errors
    /// The socket cannot be connected.
    pub fn connect(addr: impl ToSocketAddrs) -> io::Result<Self> {
        let stream = TcpStream::connect(addr)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        Ok(Self { stream, next: 0, session: 0, tree: 0, credits: 16 })
    }

    /// Negotiates dialect 2.1.
    ///
    /// # Errors
    /// The connection is lost, or the reply is malformed.
    pub fn negotiate(&mut self) -> io::Result<NegotiateResponse> {
        let request = NegotiateRequest {
            security_mode: 1,
            dialects: vec![0x0202, 0x0210],
            ..NegotiateRequest::default()
        };
        let (_, reply) = self.call(command::NEGOTIATE, |body| request.encode(body))?;
        NegotiateResponse::decode(&reply).map_err(io::Error::other)
    }

    /// Logs in anonymously, as a new session; the status of both replies.
    ///
    /// # Errors
    /// As [`Self::negotiate`].
    pub fn set_up(&mut self) -> io::Result<[NtStatus; 2]> {
        self.session = 0;
        let mut statuses = [NtStatus::SUCCESS; 2];
        for (kind, status) in [1, 3].into_iter().zip(&mut statuses) {
            let token = anonymous_ntlm(kind);
            let request = SessionSetupRequest { token, ..SessionSetupRequest::default() };
            let (header, _) = self.call(command::SESSION_SETUP, |body| request.encode(body))?;
            self.session = header.session_id;
            *status = NtStatus(header.status);
        }
        Ok(statuses)
    }

    /// Connects to a share.
    ///
    /// # Errors
    /// As [`Self::negotiate`].
    pub fn connect_tree(&mut self, share: &str) -> io::Result<NtStatus> {
        let request = TreeConnectRequest { path: format!("\\\\server\\{share}") };
        let (header, _) = self.call(command::TREE_CONNECT, |body| request.encode(body))?;
        self.tree = header.tree_id;
        Ok(NtStatus(header.status))
    }

    /// Encodes a request with these flags.
    pub fn message(&mut self, command: u16, flags: u32, body: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let header = Header {
            command,
            credit_charge: 1,
            credits: self.credits,
            flags,
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

    /// Sends a message or a compound.
    ///
    /// # Errors
    /// The connection is lost, or the message is larger than a frame.
    pub fn send(&mut self, message: &[u8]) -> io::Result<()> {
        let prefix = prefix(message.len()).ok_or(io::ErrorKind::InvalidInput)?;
        self.stream.write_all(&[&prefix[..], message].concat())
    }

    /// Receives a message or a compound.
    ///
    /// # Errors
    /// The connection is lost.
    pub fn receive(&mut self) -> io::Result<Vec<u8>> {
        let mut prefix = [0; PREFIX_LEN];
        self.stream.read_exact(&mut prefix)?;
        let mut message = vec![0; length(prefix).ok_or(io::ErrorKind::InvalidData)?];
        self.stream.read_exact(&mut message)?;
        Ok(message)
    }

    /// Sends a request and receives the next reply.
    ///
    /// # Errors
    /// As [`Self::negotiate`].
    pub fn call(&mut self, command: u16, body: impl FnOnce(&mut Vec<u8>)) -> io::Result<(Header, Vec<u8>)> {
        let message = self.message(command, 0, body);
        self.send(&message)?;
        let reply = self.receive()?;
        Ok((Header::decode(&reply).map_err(io::Error::other)?, reply))
    }
}

/// A message of an anonymous login in plain NTLM (MS-NLMP 2.2.1): NEGOTIATE (1) or AUTHENTICATE (3), without a name.
pub fn anonymous_ntlm(kind: u8) -> Vec<u8> {
    let mut message = [b"NTLMSSP\0", &[kind, 0, 0, 0][..]].concat();
    message.resize(if kind == 1 { 32 } else { 64 }, 0);
    let flags_at = if kind == 1 { 12 } else { 60 };
    // Unicode, NTLM, always signed, extended session security.
    message[flags_at..flags_at + 4].copy_from_slice(&[0x01, 0x82, 0x08, 0x00]);
    message
}
