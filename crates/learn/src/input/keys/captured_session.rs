//! Encrypted sessions for tests, as captures.

use sharebench_smb::crypto::{Cipher, PreauthHash, SealingKey, SessionKeys};
use sharebench_smb::wire::header::{Header, command, flags};
use sharebench_smb::wire::negotiate::{Context, ENCRYPTION, NegotiateRequest, NegotiateResponse};
use sharebench_smb::wire::session_setup::{SessionSetupRequest, SessionSetupResponse};
use sharebench_smb::wire::transform::{LEN, TransformHeader};

use crate::input::message::Side;
use crate::input::message::Side::{Client, Server};

pub(super) const SESSION: u64 = 0x0000_3C00_9C00_0019;
/// The session in a line of the file.
pub(super) const SESSION_DIGITS: &str = "1900009c003c0000";
pub(super) const SESSION_KEY: [u8; 16] = *b"the session key.";
const MORE_PROCESSING: u32 = 0xC000_0016;
const HEADERS: usize = 40;
/// Payload of a segment.
const SEGMENT: usize = 1400;

/// The messages of a connection.
pub(super) struct CapturedSession {
    /// Sender, connection and content.
    messages: Vec<(Side, u16, Vec<u8>)>,
    connection: u16,
    preauth: PreauthHash,
    next: u64,
    pub(super) keys: SessionKeys,
    cipher: Cipher,
    /// Client and server.
    sealing: [SealingKey; 2],
}

impl CapturedSession {
    /// Negotiation and log-on.
    pub(super) fn new(dialect: u16, cipher: Cipher) -> Self {
        let unsealed = SealingKey::new(cipher, &vec![0; cipher.key_len()]).unwrap();
        let mut this = Self {
            messages: Vec::new(),
            connection: 0,
            preauth: PreauthHash::new(),
            next: 0,
            keys: SessionKeys::derive(dialect, &SESSION_KEY, None, Some(cipher)),
            cipher,
            sealing: [unsealed, SealingKey::new(cipher, &vec![0; cipher.key_len()]).unwrap()],
        };
        let contexts = vec![Context::of_ids(ENCRYPTION, &[cipher.id()])];
        let request = NegotiateRequest {
            dialects: vec![dialect],
            contexts: if dialect == 0x0311 { contexts.clone() } else { Vec::new() },
            ..NegotiateRequest::default()
        };
        let reply = NegotiateResponse {
            dialect,
            token: b"token".to_vec(),
            contexts: if dialect == 0x0311 { contexts } else { Vec::new() },
            ..NegotiateResponse::default()
        };
        this.plain(command::NEGOTIATE, 0, (0, 0), |out| request.encode(out), |out| reply.encode(out));
        let sessions = [(0, MORE_PROCESSING), (SESSION, 0)];
        for (number, (session, status)) in sessions.into_iter().enumerate() {
            let token = vec![number as u8; 300];
            let request = SessionSetupRequest { token: token.clone(), ..SessionSetupRequest::default() };
            let reply = SessionSetupResponse { token, ..SessionSetupResponse::default() };
            let ids = (session, SESSION);
            this.plain(
                command::SESSION_SETUP,
                status,
                ids,
                |out| request.encode(out),
                |out| reply.encode(out),
            );
        }
        let preauth = this.preauth.value();
        this.keys = SessionKeys::derive(dialect, &SESSION_KEY, Some(&preauth), Some(cipher));
        let sealing = |key: &[u8]| SealingKey::new(cipher, key).unwrap();
        this.sealing = [sealing(&this.keys.to_server), sealing(&this.keys.to_client)];
        this
    }

    fn plain(
        &mut self,
        command: u16,
        status: u32,
        sessions: (u64, u64),
        request: impl Fn(&mut Vec<u8>),
        reply: impl Fn(&mut Vec<u8>),
    ) {
        let mut message = header(command, 0, self.next, sessions.0, 0);
        request(&mut message);
        self.preauth.update(&message);
        self.messages.push((Client, self.connection, message));
        let mut message = header(command, status, self.next, sessions.1, flags::RESPONSE);
        reply(&mut message);
        // The last reply is not in the hash.
        if command == command::NEGOTIATE || status == MORE_PROCESSING {
            self.preauth.update(&message);
        }
        self.messages.push((Server, self.connection, message));
        self.next += 1;
    }

    /// An encrypted read of that many bytes.
    pub(super) fn read(&mut self, bytes: u32) -> &mut Self {
        let mut request = header(command::READ, 0, self.next, SESSION, 0);
        request.extend(49u16.to_le_bytes());
        request.extend([0, 0]);
        request.extend(bytes.to_le_bytes());
        request.extend(0u64.to_le_bytes());
        request.extend([7; 16]);
        request.extend([0; 17]);
        let mut reply = header(command::READ, 0, self.next, SESSION, flags::RESPONSE);
        reply.extend(17u16.to_le_bytes());
        reply.extend([80, 0]);
        reply.extend(bytes.to_le_bytes());
        reply.extend([0; 8]);
        reply.resize(80 + bytes as usize, 0xAB);
        self.next += 1;
        self.seal(Client, request);
        self.seal(Server, reply);
        self
    }

    fn seal(&mut self, side: Side, mut message: Vec<u8>) {
        let original_len = message.len() as u32;
        let transform = TransformHeader { original_len, flags: 1, session_id: SESSION, ..Default::default() };
        let mut header = [0; LEN];
        transform.write(&mut header);
        let [client, server] = &self.sealing;
        (if side == Client { client } else { server }).seal(&mut header, &mut message);
        self.messages.push((side, self.connection, [&header[..], &message].concat()));
    }

    /// What follows is sent on a further connection (MS-SMB2 3.2.4.1.7).
    pub(super) fn further_connection(&mut self) -> &mut Self {
        self.connection = 1;
        self
    }

    /// Damages the last message.
    pub(super) fn damage(&mut self) -> &mut Self {
        *self.messages.last_mut().unwrap().2.last_mut().unwrap() ^= 1;
        self
    }

    /// The name of the cipher, for messages of tests.
    pub(super) const fn name(&self) -> &'static str {
        self.cipher.name()
    }

    /// A line of the file with the keys of both directions, in the order of Wireshark.
    pub(super) fn direct_keys(&self) -> String {
        format!("{SESSION_DIGITS},,{},{}", hex(&self.keys.to_client), hex(&self.keys.to_server))
    }

    /// The capture of the messages after the first `skipped` ones, with at most `snap` bytes of each packet.
    pub(super) fn capture(&self, skipped: usize, snap: usize) -> Vec<u8> {
        let mut file = [0xA1B2_C3D4u32, 0x0002_0004, 0, 0, 65_535, 101].map(u32::to_be_bytes).concat();
        let mut next = [[1u32, 1]; 2];
        let mut time = 0u32;
        for (side, connection, message) in self.messages.iter().skip(skipped) {
            let next = &mut next[usize::from(*connection)];
            let port = 50_000 + connection;
            let framed = [&(message.len() as u32).to_be_bytes()[..], message].concat();
            for payload in framed.chunks(SEGMENT) {
                let from_server = usize::from(*side == Server);
                time += 1;
                packet(&mut file, time, (port, from_server), next[from_server], payload, snap);
                next[from_server] += payload.len() as u32;
            }
        }
        file
    }
}

/// A header of a message to be continued with its body.
fn header(command: u16, status: u32, message_id: u64, session_id: u64, flags: u32) -> Vec<u8> {
    let mut message = Vec::new();
    Header { command, status, message_id, session_id, flags, ..Header::default() }.encode(&mut message);
    message
}

pub(super) fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn packet(
    file: &mut Vec<u8>,
    time: u32,
    (port, from_server): (u16, usize),
    sequence: u32,
    payload: &[u8],
    snap: usize,
) {
    let len = HEADERS + payload.len();
    let captured = len.min(snap);
    let mut ends = [([10, 0, 0, 1], port), ([10, 0, 0, 9], 4450)];
    if from_server == 1 {
        ends.reverse();
    }
    let [from, to] = ends;
    for word in [time / 1000, time % 1000 * 1000, captured as u32, len as u32] {
        file.extend(word.to_be_bytes());
    }
    let mut packet = vec![0x45, 0];
    packet.extend((len as u16).to_be_bytes());
    packet.extend([0, 0, 0, 0, 64, 6, 0, 0]);
    packet.extend(from.0);
    packet.extend(to.0);
    packet.extend(from.1.to_be_bytes());
    packet.extend(to.1.to_be_bytes());
    packet.extend(sequence.to_be_bytes());
    packet.extend([0, 0, 0, 0, 0x50, 0x18, 0, 0, 0, 0, 0, 0]);
    packet.extend(payload);
    file.extend(&packet[..captured]);
}
