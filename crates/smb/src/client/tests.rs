//! Sessions at a scripted server: order, credits, protection, and what a broken server may do.

use std::future::poll_fn;
use std::time::Duration;

use proptest::prelude::*;
use sharebench_model::{DataOp, ErrorClass, FileRef, Reply, Slot, Stability};
use sharebench_target::Session;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::client::agreement::{Agreement, Offer};
use crate::client::channel::Channel;
use crate::client::guard::Seal;
use crate::client::names::Names;
use crate::client::session::SmbSession;
use crate::crypto::{Cipher, SealingKey, SigningAlgorithm, SigningKey};
use crate::status::NtStatus;
use crate::wire::data::{ReadResponse, WriteRequest, WriteResponse};
use crate::wire::header::{Header, SIGNATURE, UNSOLICITED, command, flags};
use crate::wire::negotiate::NegotiateResponse;
use crate::wire::oplock::OplockBreak;
use crate::wire::simple::ErrorResponse;
use crate::wire::transform::{self, TransformHeader};
use crate::wire::{FileId, frame};

const SLOT_BYTES: u32 = 100_000;
const KEY: [u8; 16] = [7; 16];

/// The server's end of a connection.
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
            // The client may have given up already.
            if self.stream.write_all(piece).await.is_err() {
                return;
            }
            tokio::task::yield_now().await;
        }
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

/// Content that tells one slot's data from another's.
fn content(slot: u32, len: u32) -> Vec<u8> {
    (0..len).map(|at| (at.wrapping_mul(31) + slot * 7) as u8).collect()
}

async fn pair(slots: usize, credits: u16, piece: usize) -> (SmbSession, FileRef, Server) {
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
    let mut session = SmbSession::new(channel, Names::new(""), Agreement::new(Offer::default(), &response));
    let file = session.files.open(FileId { persistent: 1, volatile: 2 }).unwrap();
    (session, file, Server { stream: server, piece })
}

fn run<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(Duration::from_secs(20), future).await.unwrap() })
}

async fn replies(session: &mut SmbSession, count: usize) -> Vec<Reply> {
    let mut replies = Vec::new();
    while replies.len() < count {
        poll_fn(|cx| session.poll_replies(cx, &mut replies)).await;
    }
    assert_eq!(replies.len(), count, "{replies:?}");
    replies.sort_by_key(|reply| reply.slot);
    replies
}

fn read(session: &mut SmbSession, slot: u32, file: FileRef, len: u32) {
    session.submit(Slot(slot), DataOp::Read { file, offset: u64::from(slot) << 20, len });
}

fn classes(replies: &[Reply]) -> Vec<ErrorClass> {
    replies.iter().map(|reply| reply.result.clone().unwrap_err().class).collect()
}

#[test]
fn replies_find_their_slots_in_any_order_and_in_pieces_of_any_size() {
    let lens = [100, 90_000, 16_384, 1, 20_000, 8000];
    for piece in [1 << 20, 4096, 1000, 97] {
        run(async {
            let (mut session, file, mut server) = pair(lens.len(), 64, piece).await;
            let client = async {
                for (slot, len) in (0..).zip(lens) {
                    read(&mut session, slot, file, len);
                }
                let replies = replies(&mut session, lens.len()).await;
                for (reply, len) in replies.iter().zip(lens) {
                    assert_eq!((&reply.result, reply.requests), (&Ok(len), 1));
                    let wanted = content(reply.slot.0, len);
                    assert!(session.buffer(reply.slot)[..len as usize] == wanted, "slot {:?}", reply.slot);
                }
                let wire = session.wire();
                assert_eq!((wire.requests, wire.payload_received), (6, lens.map(u64::from).iter().sum()));
            };
            let server = async {
                let requests = server.requests(lens.len()).await;
                for slot in [3, 1, 5, 0, 4, 2] {
                    let data = content(slot as u32, lens[slot]);
                    server.send(&read_reply(&requests[slot], &data)).await;
                }
                server
            };
            let (server, ()) = tokio::join!(server, client);
            drop(server);
        });
    }
}

#[test]
fn message_ids_grow_by_the_charge() {
    run(async {
        let (mut session, file, mut server) = pair(3, 64, 1 << 20).await;
        let client = async {
            for (slot, len) in [(0, 65_536), (1, 65_537), (2, 0)] {
                read(&mut session, slot, file, len);
            }
            replies(&mut session, 3).await
        };
        let server = async {
            let requests = server.requests(3).await;
            let seen: Vec<_> = requests.iter().map(|r| (r.message_id, r.credit_charge)).collect();
            assert_eq!(seen, [(0, 1), (1, 2), (3, 1)]);
            for request in &requests {
                server.send(&failure(request, NtStatus::END_OF_FILE)).await;
            }
            server
        };
        let (replies, _server) = tokio::join!(client, server);
        assert!(replies.iter().all(|reply| reply.result == Ok(0)));
    });
}

#[test]
fn an_interim_response_is_no_end() {
    run(async {
        let (mut session, file, mut server) = pair(1, 4, 1 << 20).await;
        let client = async {
            read(&mut session, 0, file, 5);
            replies(&mut session, 1).await
        };
        let server = async {
            let (request, _) = server.request().await;
            let flags = flags::RESPONSE | flags::ASYNC;
            let interim = Header { flags, async_id: 99, ..answer(&request, NtStatus::PENDING) };
            server.send(&message(&interim, ErrorResponse::encode)).await;
            // A break of an oplock nobody holds is of no interest either.
            let lone = Header { message_id: UNSOLICITED, command: command::OPLOCK_BREAK, ..interim };
            server.send(&message(&lone, |out| OplockBreak::default().encode(out))).await;
            tokio::time::sleep(Duration::from_millis(20)).await;
            let mut end = read_reply(&request, b"hello");
            end[16] |= flags::ASYNC as u8;
            server.send(&end).await;
            server
        };
        let (replies, _server) = tokio::join!(client, server);
        assert_eq!(replies[0].result, Ok(5));
        assert_eq!(&session.buffer(Slot(0))[..5], b"hello");
    });
}

#[test]
fn requests_wait_for_credits() {
    run(async {
        let (mut session, file, mut server) = pair(4, 1, 1 << 20).await;
        let client = async {
            for slot in 0..4 {
                read(&mut session, slot, file, 10);
            }
            replies(&mut session, 4).await
        };
        let server = async {
            for id in 0..4 {
                let (request, _) = server.request().await;
                assert_eq!(request.message_id, id);
                let early = tokio::time::timeout(Duration::from_millis(20), server.request()).await;
                assert!(early.is_err(), "sent without credit");
                server.send(&read_reply(&request, &content(id as u32, 10))).await;
            }
            server
        };
        let (replies, _server) = tokio::join!(client, server);
        assert!(replies.iter().all(|reply| reply.result == Ok(10)));
    });
}

#[test]
fn what_no_credit_will_ever_pay_for_is_refused() {
    run(async {
        let (mut session, file, _server) = pair(1, 1, 1 << 20).await;
        read(&mut session, 0, file, 70_000);
        let replies = replies(&mut session, 1).await;
        assert_eq!((classes(&replies), replies[0].requests), (vec![ErrorClass::Unsupported], 0));
        assert_eq!(session.wire().requests, 0);
    });
}

#[test]
fn a_lost_connection_ends_every_operation_once() {
    run(async {
        let (mut session, file, mut server) = pair(8, 5, 1 << 20).await;
        let client = async {
            for slot in 0..8 {
                read(&mut session, slot, file, 20_000);
            }
            let replies = replies(&mut session, 8).await;
            assert_eq!(classes(&replies), [ErrorClass::Disconnected; 8]);
            assert_eq!(replies.iter().map(|reply| reply.requests).sum::<u32>(), 5);
            session
        };
        let server = async {
            let requests = server.requests(5).await;
            // The connection ends in the middle of a reply.
            let half = read_reply(&requests[0], &content(0, 20_000));
            let prefix = frame::prefix(half.len()).unwrap();
            server.stream.write_all(&[&prefix[..], &half[..9000]].concat()).await.unwrap();
            drop(server);
        };
        let (mut session, ()) = tokio::join!(client, server);
        read(&mut session, 3, file, 10);
        assert_eq!(classes(&replies(&mut session, 1).await), [ErrorClass::Disconnected]);
    });
}

/// One READ of `len` bytes, answered with what `reply` makes of its request.
fn one_read(
    len: u32,
    protect: impl FnOnce(&mut SmbSession),
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

#[test]
fn signatures_are_made_and_verified() {
    for algorithm in [SigningAlgorithm::HmacSha256, SigningAlgorithm::AesCmac, SigningAlgorithm::AesGmac] {
        let key = || SigningKey::new(algorithm, &KEY).unwrap();
        let protect = |session: &mut SmbSession| {
            session.channel.guard.signing = Some(key());
            session.channel.guard.sign_all = true;
        };
        for len in [10, 50_000] {
            let good = |header: Header, mut request: Vec<u8>| {
                assert!(header.is(flags::SIGNED) && key().verify(&mut request), "the request's signature");
                signed(read_reply(&header, &content(0, len)), &key())
            };
            assert_eq!(one_read(len, protect, good), (Ok(len), content(0, len)));
            let unsigned = |header: Header, _| read_reply(&header, &content(0, len));
            assert_eq!(one_read(len, protect, unsigned).0, Err(ErrorClass::Protocol));
            for at in [8, 50, 85] {
                let changed = |header: Header, _| {
                    let mut reply = signed(read_reply(&header, &content(0, len)), &key());
                    reply[at] ^= 1;
                    reply
                };
                assert_eq!(one_read(len, protect, changed).0, Err(ErrorClass::Protocol), "byte {at}");
            }
        }
    }
}

fn sealed(message: &[u8], key: &SealingKey, session_id: u64) -> Vec<u8> {
    let header = TransformHeader {
        original_len: message.len() as u32,
        flags: 1,
        session_id,
        ..TransformHeader::default()
    };
    let mut head = [0; transform::LEN];
    header.write(&mut head);
    let mut message = message.to_vec();
    key.seal(&mut head, &mut message);
    [&head[..], &message].concat()
}

#[test]
fn encrypted_messages_are_opened_and_nothing_else_is_taken() {
    for cipher in [Cipher::Aes128Ccm, Cipher::Aes128Gcm, Cipher::Aes256Ccm, Cipher::Aes256Gcm] {
        let key = |byte: u8| SealingKey::new(cipher, &vec![byte; cipher.key_len()]).unwrap();
        let protect = |session: &mut SmbSession| {
            session.channel.session_id = 77;
            let seal = Seal { session_id: 77, to_server: key(1), to_client: key(2) };
            session.channel.guard.seal = Some(seal);
        };
        let opened = |mut request: Vec<u8>| {
            let (head, message) = request.split_first_chunk_mut().unwrap();
            key(1).open(head, message).unwrap();
            Header::decode(message).unwrap()
        };
        for len in [10, 90_000] {
            let reply = |request| read_reply(&opened(request), &content(0, len));
            let good = |_: Header, request| sealed(&reply(request), &key(2), 77);
            assert_eq!(one_read(len, protect, good), (Ok(len), content(0, len)));
            let plain = |_: Header, request| reply(request);
            assert_eq!(one_read(len, protect, plain).0, Err(ErrorClass::Protocol));
            let foreign = |_: Header, request| sealed(&reply(request), &key(2), 78);
            assert_eq!(one_read(len, protect, foreign).0, Err(ErrorClass::Protocol));
            let changed = |_: Header, request| {
                let mut frame = sealed(&reply(request), &key(2), 77);
                frame[60] ^= 1;
                frame
            };
            assert_eq!(one_read(len, protect, changed).0, Err(ErrorClass::Protocol));
        }
    }
}

#[test]
fn replies_that_break_the_protocol_end_the_connection() {
    type Break = fn(Header) -> Vec<u8>;
    let breaks: [(&str, Break); 8] = [
        ("no SMB", |_| b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()),
        ("empty", |_| Vec::new()),
        ("a request", |header| message(&Header { flags: 0, ..header }, ErrorResponse::encode)),
        ("unknown id", |header| read_reply(&Header { message_id: 5, ..header }, b"x")),
        ("other command", |header| read_reply(&Header { command: command::WRITE, ..header }, b"x")),
        ("compound", |header| read_reply(&Header { next: 88, ..header }, b"x")),
        ("more than asked", |header| read_reply(&header, &[1; 20_001])),
        ("data beyond the end", |header| read_reply(&header, &[1; 50])[..100].to_vec()),
    ];
    for (what, make) in breaks {
        let (result, _) = one_read(20_000, |_| {}, |header, _| make(header));
        assert_eq!(result, Err(ErrorClass::Protocol), "{what}");
    }
}

#[test]
fn a_frame_without_bounds_is_not_awaited() {
    for prefix in [[0, 0xff, 0xff, 0xff], [1, 0, 0, 64]] {
        run(async {
            let (mut session, file, mut server) = pair(1, 8, 1 << 20).await;
            let client = async {
                read(&mut session, 0, file, 10);
                replies(&mut session, 1).await
            };
            let server = async {
                server.request().await;
                server.stream.write_all(&prefix).await.unwrap();
                server
            };
            let (replies, _server) = tokio::join!(client, server);
            assert_eq!(classes(&replies), [ErrorClass::Protocol]);
        });
    }
}

#[test]
fn writes_carry_their_payload_and_a_short_one_is_an_error() {
    for (count, wanted) in [(5000, Ok(5000)), (4999, Err(ErrorClass::Io))] {
        run(async {
            let (mut session, file, mut server) = pair(1, 8, 1 << 20).await;
            let client = async {
                session.buffer(Slot(0))[..5000].copy_from_slice(&content(3, 5000));
                let stability = Stability::Durable;
                session.submit(Slot(0), DataOp::Write { file, offset: 1 << 40, len: 5000, stability });
                replies(&mut session, 1).await
            };
            let server = async {
                let (header, request) = server.request().await;
                let write = WriteRequest::decode(&request).unwrap();
                assert_eq!((write.offset, write.flags, write.file.volatile), (1 << 40, 3, 2));
                assert!(write.data(&request).unwrap() == content(3, 5000));
                let response = WriteResponse { count, ..WriteResponse::default() };
                server.send(&message(&answer(&header, NtStatus::SUCCESS), |out| response.encode(out))).await;
                server
            };
            let (replies, _server) = tokio::join!(client, server);
            assert_eq!(replies[0].result.clone().map_err(|error| error.class), wanted);
        });
    }
}

#[test]
fn a_status_is_told_and_leaves_the_session_usable() {
    run(async {
        let (mut session, file, mut server) = pair(1, 8, 1 << 20).await;
        let client = async {
            read(&mut session, 0, file, 10);
            let first = replies(&mut session, 1).await;
            read(&mut session, 0, file, 10);
            (first, replies(&mut session, 1).await)
        };
        let server = async {
            let (request, _) = server.request().await;
            server.send(&failure(&request, NtStatus::FILE_CLOSED)).await;
            let (request, _) = server.request().await;
            server.send(&read_reply(&request, &[1; 10])).await;
            server
        };
        let ((first, second), _server) = tokio::join!(client, server);
        let error = first[0].result.clone().unwrap_err();
        assert_eq!((error.class, error.step), (ErrorClass::Stale, "READ"));
        assert_eq!(error.detail, "STATUS_FILE_CLOSED (0xC0000128)");
        assert_eq!(second[0].result, Ok(10));
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever bytes of a reply change, the operation ends once and nothing panics or hangs.
    #[test]
    fn a_spoilt_reply_ends_the_operation(
        len in prop_oneof![1u32..200, 20_000u32..30_000],
        spoils in prop::collection::vec((0usize..96, any::<u8>()), 1..4),
    ) {
        run(async {
            let (mut session, file, mut server) = pair(1, 8, 1 << 20).await;
            let client = async {
                read(&mut session, 0, file, len);
                replies(&mut session, 1).await
            };
            let server = async move {
                let (header, _) = server.request().await;
                let mut reply = read_reply(&header, &content(0, len));
                for (at, byte) in spoils {
                    if let Some(place) = reply.get_mut(at) {
                        *place = byte;
                    }
                }
                server.send(&reply).await;
                // What was taken for an interim response ends with the connection.
            };
            let (replies, ()) = tokio::join!(client, server);
            prop_assert!(replies[0].result.is_err() || replies[0].result.clone().is_ok_and(|got| got <= len));
            Ok(())
        })?;
    }
}
