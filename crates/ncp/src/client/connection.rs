//! The protocol state of one connection on the client side: sequence numbers, signatures and reply matching
//! (docs/protocols/ncp.md 1.4).

use crate::envelope;
use crate::security::signature::Signer;
use crate::wire::TransportKind;
use crate::wire::packet::{
    ClientHeader, ClientKind, ConnectionStatus, NO_CONNECTION, SERVER_HEADER_LEN, ServerHeader, ServerKind,
};
use crate::wire::tcp::TcpReply;
use crate::wire::{Codec, Completion, Request, WireError};

/// Task number of all requests.
const TASK: u8 = 1;
/// The longest reply that the client accepts on TCP.
const REPLY_BUFFER: u32 = 0x1_0000;

/// A reply to the last request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply<'a> {
    /// Completion code of the request.
    pub completion: Completion,
    /// Status of the connection.
    pub status: ConnectionStatus,
    /// Data; empty unless the completion is success.
    pub data: &'a [u8],
}

/// A classified message from the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received<'a> {
    /// The reply to the outstanding request.
    Reply(Reply<'a>),
    /// The server is still processing the request: the client extends its wait.
    Busy,
    /// Anything else, such as a duplicate reply: the client discards it.
    Unrelated,
    /// The reply, but with a wrong signature.
    BadSignature,
}

/// The client side of a connection, without I/O.
///
/// It builds the message of each request and decides whether a received message is the reply to it. It owns the
/// connection number, the sequence number, the signature chain and the last message, which a retransmission repeats
/// byte for byte: signing it again would advance the chain. At most one request is outstanding.
#[derive(Debug)]
pub struct ConnectionState {
    transport: TransportKind,
    number: u16,
    sequence: u8,
    waiting: Option<ClientKind>,
    signer: Option<Signer>,
    message: Vec<u8>,
}

impl ConnectionState {
    /// The state before a connection is created.
    pub const fn new(transport: TransportKind) -> Self {
        Self {
            transport,
            number: NO_CONNECTION,
            sequence: 0,
            waiting: None,
            signer: None,
            message: Vec::new(),
        }
    }

    /// Frees the message buffer, unless a reply is outstanding.
    pub(crate) fn release_buffers(&mut self) {
        if self.waiting.is_none() {
            self.message = Vec::new();
        }
    }

    /// Builds the request for a connection. It has sequence number 0, as that of the kernel's client has.
    pub fn create(&mut self) -> &[u8] {
        self.number = NO_CONNECTION;
        self.sequence = 0;
        // A new connection has not logged in, and signing begins with the first request after the login
        // (docs/protocols/ncp.md 5.1).
        self.signer = None;
        self.send(ClientKind::Create, |out| out.push(0))
    }

    /// Builds the message of a call.
    pub fn request(&mut self, request: &Request<'_>) -> &[u8] {
        self.sequence = self.sequence.wrapping_add(1);
        self.send(ClientKind::Request, |out| request.put(out))
    }

    /// Builds the message that ends the connection.
    pub fn destroy(&mut self) -> &[u8] {
        self.sequence = self.sequence.wrapping_add(1);
        self.send(ClientKind::Destroy, |out| out.push(0))
    }

    /// The last message, for retransmission.
    pub fn last_message(&self) -> &[u8] {
        &self.message
    }

    /// The transport of the messages.
    pub const fn transport_kind(&self) -> TransportKind {
        self.transport
    }

    /// The connection number; [`NO_CONNECTION`] before the server has assigned one.
    pub const fn number(&self) -> u16 {
        self.number
    }

    /// True while a reply is outstanding.
    pub const fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }

    /// Signs all requests from now on; called after a successful login.
    pub fn sign(&mut self, signer: Signer) {
        self.signer = Some(signer);
    }

    /// Classifies a message from the server. A reply is accepted once.
    pub fn receive<'a>(&mut self, message: &'a [u8]) -> Result<Received<'a>, WireError> {
        // Over UDP the reply to a destroy may be unsigned (docs/protocols/ncp.md 5.1).
        let unsigned = self.waiting == Some(ClientKind::Destroy) && message.len() <= SERVER_HEADER_LEN;
        let signed = self.signer.is_some() && !unsigned;
        let (packet, signature) = match self.transport {
            TransportKind::Tcp => {
                let message = TcpReply::decode(message, signed)?;
                (message.packet, message.signature)
            }
            _ => match message
                .split_last_chunk::<8>()
                .filter(|_| signed && message.len() >= SERVER_HEADER_LEN + 8)
            {
                Some((packet, signature)) => (packet, Some(*signature)),
                None => (message, None),
            },
        };
        // The header is decoded before the signature is checked: only the sequence number shows whether the
        // message is the awaited reply at all, and only that one has a signature of this chain.
        let header = ServerHeader::decode(packet)?;
        let Some(kind) = self.waiting else { return Ok(Received::Unrelated) };
        let created = kind == ClientKind::Create;
        // The task number is not compared, because mars answers a destroy with task 0 (docs/protocols/ncp.md
        // 1.4). A reply to a create carries a new connection number.
        if header.sequence != self.sequence || !created && header.connection != self.number {
            return Ok(Received::Unrelated);
        }
        if header.kind == ServerKind::Busy {
            return Ok(Received::Busy);
        }
        if let Some(signer) = self.signer.as_ref().filter(|_| kind == ClientKind::Request)
            && signature != Some(signer.reply(packet, message.len()))
        {
            return Ok(Received::BadSignature);
        }
        // From now on a duplicate of this reply is unrelated.
        self.waiting = None;
        // A refused create (0xF9, no free slot) assigns no number.
        if created && header.completion.is_success() {
            self.number = header.connection;
        }
        let data =
            packet.get(SERVER_HEADER_LEN..).filter(|_| header.completion.is_success()).unwrap_or_default();
        Ok(Received::Reply(Reply { completion: header.completion, status: header.status, data }))
    }

    fn send(&mut self, kind: ClientKind, put: impl FnOnce(&mut Vec<u8>)) -> &[u8] {
        let header = ClientHeader { kind, sequence: self.sequence, connection: self.number, task: TASK };
        self.waiting = Some(kind);
        let message = &mut self.message;
        message.clear();
        envelope::put_request(self.transport, self.signer.as_mut(), REPLY_BUFFER, message, |message| {
            ClientHeader::put(&header, message);
            put(message);
        });
        message
    }
}
