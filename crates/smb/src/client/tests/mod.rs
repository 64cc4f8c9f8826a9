//! Sessions at a scripted server.

mod broken;
mod calls;
mod channels;
mod expiry;
mod leases;
mod policies;
mod protection;
mod replies;
mod watch;

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use sharebench_client_core::Multiplexed;
use sharebench_client_core::TcpRoute;
use sharebench_model::{DataOp, ErrorClass, FileRef, IoPolicy, OpError, Reply, Slot, Stability};
use sharebench_target::{OverlappingCalls, Probe, Readings, Session};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::client::channels::channel::Channel;
use crate::client::channels::message_security::MessageEncryption;
use crate::client::channels::session_channels::Channels;
use crate::client::channels::slot_buffers::SlotBuffers;
use crate::client::names::share_paths::SharePaths;
use crate::client::negotiated::{Negotiated, Offer};
use crate::client::open_file::OpenFile;
use crate::client::session::SmbSession;
use crate::crypto::{Cipher, SealingKey, SigningAlgorithm, SigningKey};
use crate::status::NtStatus;
use crate::wire::data::{ReadResponse, WriteRequest, WriteResponse};
use crate::wire::header::{Header, SIGNATURE, UNSOLICITED, command, flags};
use crate::wire::negotiate::NegotiateResponse;
use crate::wire::oplock::OplockBreak;
use crate::wire::simple::{CloseResponse, ErrorResponse};
use crate::wire::transform::{self, TransformHeader};
use crate::wire::{FileId, frame};

const SLOT_BYTES: u32 = 100_000;
const KEY: [u8; 16] = [7; 16];

/// The server's side of a connection.
struct Server {
    stream: TcpStream,
    /// Bytes per write; the client sees replies in such pieces.
    piece: usize,
}

impl Server {
    async fn request(&mut self) -> (Header, Vec<u8>) {
        let mut prefix = [0; 4];
        self.stream.read_exact(&mut prefix).await.unwrap();
        let mut message = vec![0; frame::length(prefix).unwrap()];
        self.stream.read_exact(&mut message).await.unwrap();
        (Header::decode(&message).unwrap_or_default(), message)
    }

    async fn requests(&mut self, count: usize) -> Vec<Header> {
        let mut headers = Vec::new();
        for _ in 0..count {
            headers.push(self.request().await.0);
        }
        headers
    }

    async fn send(&mut self, message: &[u8]) {
        let bytes = [&frame::prefix(message.len()).unwrap()[..], message].concat();
        for piece in bytes.chunks(self.piece) {
            // The client may have closed the connection already.
            if self.stream.write_all(piece).await.is_err() {
                return;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Sends the reply to a request that succeeds.
    async fn succeed(&mut self, request: &Header, body: impl FnOnce(&mut Vec<u8>)) {
        self.send(&message(&answer(request, NtStatus::SUCCESS), body)).await;
    }

    /// Receives the request that closes a file, and answers it.
    async fn close_file(&mut self) {
        let (close, _) = self.request().await;
        assert_eq!(close.command, command::CLOSE);
        self.succeed(&close, |out| CloseResponse::default().encode(out)).await;
    }
}

fn answer(request: &Header, status: NtStatus) -> Header {
    Header { status: status.0, flags: flags::RESPONSE, credits: 1, signature: [0; 16], ..*request }
}

fn message(header: &Header, body: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    header.encode(&mut out);
    body(&mut out);
    out
}

fn read_reply(request: &Header, data: &[u8]) -> Vec<u8> {
    message(&answer(request, NtStatus::SUCCESS), |out| {
        let fixed = ReadResponse { data_offset: 80, len: data.len() as u32, ..ReadResponse::default() };
        fixed.encode(out);
        out.extend_from_slice(data);
    })
}

fn failure(request: &Header, status: NtStatus) -> Vec<u8> {
    message(&answer(request, status), ErrorResponse::encode)
}

fn signed(mut message: Vec<u8>, key: &SigningKey) -> Vec<u8> {
    message[16] |= flags::SIGNED as u8;
    let signature = key.signature(&[&message]);
    message[SIGNATURE].copy_from_slice(&signature);
    message
}

/// Content that differs between slots.
fn content(slot: u32, len: u32) -> Vec<u8> {
    (0..len).map(|at| (at.wrapping_mul(31) + slot * 7) as u8).collect()
}

type TestSession = Multiplexed<SmbSession>;

async fn pair(slots: usize, credits: u16, piece: usize) -> (TestSession, FileRef, Server) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (server, _) = listener.accept().await.unwrap();
    server.set_nodelay(true).unwrap();
    let mut channel = Channel::new(stream, slots, SLOT_BYTES as usize);
    channel.credits.by_size = true;
    channel.credits.granted(credits - 1);
    let response = NegotiateResponse {
        dialect: 0x0311,
        capabilities: 4,
        max_transact: 1 << 20,
        max_read: 1 << 20,
        max_write: 1 << 20,
        ..NegotiateResponse::default()
    };
    let buffers = SlotBuffers::new(slots, SLOT_BYTES as usize);
    let mut session = Multiplexed::new(SmbSession::new(
        Channels::new(channel, buffers, Arc::default()),
        SharePaths::new(""),
        Negotiated::new(Offer::default(), &response),
        TcpRoute::default(),
    ));
    let file = session
        .files
        .open(OpenFile { id: FileId { persistent: 1, volatile: 2 }, policy: IoPolicy::default() })
        .unwrap();
    (session, file, Server { stream: server, piece })
}

fn run<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(Duration::from_secs(20), future).await.unwrap() })
}

async fn replies(session: &mut TestSession, count: usize) -> Vec<Reply> {
    let mut replies = Vec::new();
    while replies.len() < count {
        poll_fn(|cx| session.poll_replies(cx, &mut replies)).await;
    }
    assert_eq!(replies.len(), count, "{replies:?}");
    replies.sort_by_key(|reply| reply.slot);
    replies
}

fn read(session: &mut TestSession, slot: u32, file: FileRef, len: u32) {
    session.submit(Slot(slot), DataOp::Read { file, offset: u64::from(slot) << 20, len });
}

fn classes(replies: &[Reply]) -> Vec<ErrorClass> {
    replies.iter().map(|reply| reply.result.clone().unwrap_err().class).collect()
}

/// Performs one READ of `len` bytes, which the server answers with the result of `reply`.
fn one_read(
    len: u32,
    protect: impl FnOnce(&mut TestSession),
    reply: impl FnOnce(Header, Vec<u8>) -> Vec<u8>,
) -> (Result<u32, ErrorClass>, Vec<u8>) {
    run(async {
        let (mut session, file, mut server) = pair(2, 8, 1 << 20).await;
        protect(&mut session);
        let client = async {
            read(&mut session, 0, file, len);
            replies(&mut session, 1).await
        };
        let server = async {
            let (header, request) = server.request().await;
            server.send(&reply(header, request)).await;
            server
        };
        let (replies, _server) = tokio::join!(client, server);
        let result = replies[0].result.clone().map_err(|error| error.class);
        (result, session.buffer(Slot(0))[..len as usize].to_vec())
    })
}
