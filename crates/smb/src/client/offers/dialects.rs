//! Negotiations of one dialect each, which show what a server supports rather than what it prefers.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use crate::client::connect::negotiation::{apply_contexts, contexts};
use crate::client::negotiated::{Negotiated, Offer, SIGNING_ENABLED};
use crate::client::options::{CIPHERS, DIALECTS, SIGNING};
use crate::crypto::{Cipher, SigningAlgorithm};
use crate::status::NtStatus;
use crate::wire::frame::{self, PREFIX_LEN};
use crate::wire::header::{Header, command};
use crate::wire::negotiate::{Context, NegotiateRequest, NegotiateResponse};
use crate::wire::smb1::{NT_LM, chosen_dialect, put_negotiate};

/// Largest message that is accepted in reply to a negotiation.
const MAX_REPLY: usize = 64 << 10;
/// Every capability that MS-SMB2 2.2.3 defines, because a server announces only those that both sides have.
const ALL_CAPABILITIES: u32 = 0xFF;

/// The results of the negotiations of single dialects.
#[derive(Debug, Default)]
pub(super) struct DialectOffers {
    /// What the server answered, by dialect, in ascending order; none where it does not offer the dialect.
    pub(super) dialects: Vec<(u16, Option<Negotiated>)>,
    /// True if the server offers SMB1.
    pub(super) smb1: bool,
    /// Ciphers that it negotiates in dialect 3.1.1.
    pub(super) ciphers: Vec<Cipher>,
    /// Signing algorithms that it negotiates in dialect 3.1.1.
    pub(super) signing: Vec<SigningAlgorithm>,
}

impl DialectOffers {
    /// The newest dialect that the server offers.
    pub(super) fn newest(&self) -> Option<&Negotiated> {
        self.dialects.iter().rev().find_map(|(_, negotiated)| negotiated.as_ref())
    }

    /// The names of the dialects that it offers.
    pub(super) fn names(&self) -> Vec<String> {
        self.dialects.iter().flat_map(|(_, negotiated)| negotiated).map(Negotiated::dialect_name).collect()
    }
}

/// Negotiates every dialect on a connection of its own, all at the same time.
pub(super) async fn negotiate_each(server: SocketAddr, deadline: Instant) -> DialectOffers {
    let alone = |dialect: u16| negotiate(server, dialect, Vec::new(), deadline);
    // Dialect 3.1.1 is negotiated once per cipher, because a server reports only the one that it chooses.
    let newest = |index: usize| {
        let signing = SIGNING.get(index).copied().unwrap_or(SIGNING[0]);
        negotiate(server, 0x0311, contexts(&[signing], &[CIPHERS[index]]), deadline)
    };
    let (first, second, third, fourth, smb1, ciphers) = tokio::join!(
        alone(0x0202),
        alone(0x0210),
        alone(0x0300),
        alone(0x0302),
        offers_smb1(server, deadline),
        async { tokio::join!(newest(0), newest(1), newest(2), newest(3)) },
    );
    let newest = [ciphers.0, ciphers.1, ciphers.2, ciphers.3];
    let mut offers = DialectOffers { smb1, ..DialectOffers::default() };
    for negotiated in newest.iter().flatten() {
        offers.ciphers.extend(negotiated.cipher.filter(|cipher| !offers.ciphers.contains(cipher)));
        if !offers.signing.contains(&negotiated.signing) {
            offers.signing.push(negotiated.signing);
        }
    }
    let fifth = newest.into_iter().flatten().next();
    let found = [first, second, third, fourth, fifth];
    offers.dialects = DIALECTS.iter().map(|(code, _)| *code).zip(found).collect();
    offers
}

/// Negotiates one dialect; none if the server does not offer it, or does not answer in time.
async fn negotiate(
    server: SocketAddr,
    dialect: u16,
    contexts: Vec<Context>,
    deadline: Instant,
) -> Option<Negotiated> {
    let offer = Offer {
        guid: [0; 16],
        capabilities: if dialect >= 0x0300 { ALL_CAPABILITIES } else { 0 },
        security_mode: SIGNING_ENABLED,
        dialects: vec![dialect],
        ..Offer::default()
    };
    let request = NegotiateRequest {
        security_mode: offer.security_mode,
        capabilities: offer.capabilities,
        client_guid: offer.guid,
        dialects: offer.dialects.clone(),
        contexts,
    };
    let mut message = Vec::new();
    let header = Header { command: command::NEGOTIATE, credits: 1, ..Header::default() };
    header.encode(&mut message);
    request.encode(&mut message);
    let reply = exchange(server, &message, deadline).await?;
    let header = Header::decode(&reply).ok()?;
    if header.command != command::NEGOTIATE || NtStatus(header.status) != NtStatus::SUCCESS {
        return None;
    }
    let response = NegotiateResponse::decode(&reply).ok().filter(|response| response.dialect == dialect)?;
    let mut negotiated = Negotiated::new(offer, &response);
    if dialect == 0x0311 {
        apply_contexts(&response.contexts, &mut negotiated).ok()?;
    }
    Some(negotiated)
}

/// True if the server accepts the newest dialect of SMB1.
async fn offers_smb1(server: SocketAddr, deadline: Instant) -> bool {
    let mut message = Vec::new();
    put_negotiate(&[NT_LM], &mut message);
    let reply = exchange(server, &message, deadline).await;
    reply.is_some_and(|reply| matches!(chosen_dialect(&reply), Ok(Some(0))))
}

/// Sends one message on a new connection and receives one; none if that fails.
async fn exchange(server: SocketAddr, message: &[u8], deadline: Instant) -> Option<Vec<u8>> {
    let exchanged = async {
        let mut stream = TcpStream::connect(server).await.ok()?;
        stream.set_nodelay(true).ok()?;
        let framed = [&frame::prefix(message.len())?[..], message].concat();
        stream.write_all(&framed).await.ok()?;
        let mut prefix = [0; PREFIX_LEN];
        stream.read_exact(&mut prefix).await.ok()?;
        let len = frame::length(prefix).filter(|len| *len <= MAX_REPLY)?;
        let mut reply = vec![0; len];
        stream.read_exact(&mut reply).await.ok()?;
        Some(reply)
    };
    timeout_at(deadline, exchanged).await.ok().flatten()
}
