//! One client and its server: matches replies to requests, and computes logins and signatures again.

use std::collections::BTreeMap;

use sharebench_ncp::security::password;
use sharebench_ncp::security::signature::Signer;
use sharebench_ncp::wire::TransportKind;
use sharebench_ncp::wire::login::{LoginKey, ObjectId};
use sharebench_ncp::wire::negotiate::{AcceptedPacketSize, Security};
use sharebench_ncp::wire::packet::{
    CLIENT_HEADER_LEN, ClientHeader, ClientKind, SERVER_HEADER_LEN, ServerHeader,
};
use sharebench_ncp::wire::tcp::{REQUEST_HEADER_LEN, TcpReply, TcpRequest};
use sharebench_ncp::wire::{BinderyCall, Codec, ConnectionCall, Function, Request};

use crate::captures::pcap::{Packet, Transport};
use crate::captures::replies;

/// The contents of a capture; the tests assert every number.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests that encode to the same bytes.
    pub requests: usize,
    /// Creates and destroys.
    pub connections: usize,
    /// Replies that encode to the same bytes.
    pub replies: usize,
    /// Login responses computed from the password.
    pub logins: usize,
    /// Signatures computed again.
    pub signatures: usize,
    /// Packets that cannot be the same, with the reason.
    pub differences: BTreeMap<&'static str, usize>,
}

/// State between the packets of one client.
#[derive(Debug, Default)]
pub struct Exchange {
    pending: Option<(ClientHeader, Vec<u8>)>,
    key: [u8; 8],
    id: u32,
    signs: bool,
    signer: Option<Signer>,
}

impl Exchange {
    /// Processes the next packet of this client or its server.
    pub fn take(&mut self, packet: &Packet, bytes: &[u8], from_client: bool, counts: &mut Counts) {
        if from_client { self.request(packet, bytes, counts) } else { self.reply(packet, bytes, counts) }
    }

    fn request(&mut self, packet: &Packet, bytes: &[u8], counts: &mut Counts) {
        let start = if packet.transport == Transport::Tcp { REQUEST_HEADER_LEN } else { 0 };
        if bytes[start..].starts_with(&[0x11, 0x11]) {
            *self = Self::default();
        }
        let (ncp, wire_len, signature) = unwrapped(packet.transport, bytes, self.signer.is_some(), true);
        if let (Some(signer), Some(signature)) = (&mut self.signer, signature) {
            let computed = signer.request(&ncp, wire_len);
            if packet.whole || packet.transport == Transport::Tcp {
                assert_eq!(computed, signature, "frame {}", packet.frame);
                counts.signatures += 1;
            }
        }
        let header = ClientHeader::decode(&ncp).unwrap();
        let body = &ncp[CLIENT_HEADER_LEN..];
        let mut again = Vec::new();
        ClientHeader::put(&header, &mut again);
        if header.kind == ClientKind::Request {
            let request = Request::decode(body).unwrap();
            request.put(&mut again);
            self.check_login(&request, packet.frame, counts);
        } else {
            again.push(0);
        }
        match difference(header, body, again == ncp) {
            Some(reason) => *counts.differences.entry(reason).or_default() += 1,
            None if header.kind == ClientKind::Request => counts.requests += 1,
            None => counts.connections += 1,
        }
        self.pending = Some((header, body.to_vec()));
    }

    fn check_login(&mut self, request: &Request<'_>, frame: usize, counts: &mut Counts) {
        let Request::Connection(ConnectionCall::KeyedLogin(login)) = request else { return };
        let password: &[u8] = if login.name.bytes() == b"BENCH" { b"BENCHPW" } else { b"SECRET" };
        let hash = password::hash(self.id, password);
        assert_eq!(password::response(&self.key, &hash), login.response, "frame {frame}");
        counts.logins += 1;
    }

    fn reply(&mut self, packet: &Packet, bytes: &[u8], counts: &mut Counts) {
        // Over UDP the reply to a destroy may be unsigned.
        let signed =
            self.signer.is_some() && (packet.transport == Transport::Tcp || bytes.len() > SERVER_HEADER_LEN);
        let (ncp, wire_len, signature) = unwrapped(packet.transport, bytes, signed, false);
        let header = ServerHeader::decode(&ncp).unwrap();
        let (request_header, body) = self.pending.take().expect("a reply without request");
        assert_eq!(header.sequence, request_header.sequence, "frame {}", packet.frame);
        if let (Some(signer), Some(signature)) = (&self.signer, signature) {
            let destroyed = request_header.kind == ClientKind::Destroy;
            if !destroyed && (packet.whole || packet.transport == Transport::Tcp) {
                assert_eq!(signer.reply(&ncp, wire_len), signature, "frame {}", packet.frame);
                counts.signatures += 1;
            }
        }
        let data = &ncp[SERVER_HEADER_LEN..];
        let mut again = Vec::new();
        ServerHeader::put(&header, &mut again);
        if request_header.kind == ClientKind::Request && header.completion.is_success() {
            let request = Request::decode(&body).unwrap();
            if data.is_empty() && matches!(request, Request::Connection(ConnectionCall::PacketSize(_))) {
                *counts
                    .differences
                    .entry("mars_nwe takes the first request for the create sent again")
                    .or_default() += 1;
                return;
            }
            again.extend(replies::encode_again(&request, data).unwrap());
            self.learn(&request, packet.transport, data);
        }
        assert!(again == ncp, "frame {}:\n{again:02x?}\n{ncp:02x?}", packet.frame);
        counts.replies += 1;
    }

    fn learn(&mut self, request: &Request<'_>, transport: Transport, data: &[u8]) {
        match request {
            Request::Connection(ConnectionCall::GetLoginKey(_)) => {
                self.key = LoginKey::decode(data).unwrap().key;
            }
            Request::Bindery(BinderyCall::GetObjectId(_)) => self.id = ObjectId::decode(data).unwrap().id,
            Request::Connection(ConnectionCall::PacketSize(_)) => {
                let accepted = AcceptedPacketSize::decode(data).unwrap();
                self.signs = Security(accepted.security).has(Security::SIGNATURE);
            }
            Request::Connection(ConnectionCall::KeyedLogin(_)) if self.signs => {
                let transport =
                    if transport == Transport::Tcp { TransportKind::Tcp } else { TransportKind::Udp };
                self.signer = Some(Signer::new(&password::hash(self.id, b"BENCHPW"), &self.key, transport));
            }
            _ => {}
        }
    }
}

/// The NCP packet, the length of the whole message, and the signature.
fn unwrapped(
    transport: Transport,
    bytes: &[u8],
    signed: bool,
    request: bool,
) -> (Vec<u8>, usize, Option<[u8; 8]>) {
    match transport {
        Transport::Tcp if request => {
            let message = TcpRequest::decode(bytes, signed).unwrap();
            assert_eq!(message.wire_len(), bytes.len());
            (message.packet.to_vec(), bytes.len(), message.signature)
        }
        Transport::Tcp => {
            let message = TcpReply::decode(bytes, signed).unwrap();
            assert_eq!(message.wire_len(), bytes.len());
            (message.packet.to_vec(), bytes.len(), message.signature)
        }
        _ if signed => {
            let (packet, signature) = bytes.split_last_chunk::<8>().unwrap();
            (packet.to_vec(), bytes.len(), Some(*signature))
        }
        _ => (bytes.to_vec(), bytes.len(), None),
    }
}

/// Why this crate would not send a client packet in this form; none if it would.
fn difference(header: ClientHeader, body: &[u8], same: bool) -> Option<&'static str> {
    match header.kind {
        _ if same => None,
        ClientKind::Create => {
            assert_eq!((body[0], body.len()), (1, 19));
            Some("libncp adds bytes to its create")
        }
        ClientKind::Request if Function::split(body).unwrap().0 == Function::plain(0x1E) => {
            assert_eq!(body.len(), 1 + 14);
            Some("libncp leaves out the reserved byte of 0x1E")
        }
        _ => panic!("{header:?} {body:02x?}"),
    }
}
