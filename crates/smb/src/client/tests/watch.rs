//! Directories that a scripted server watches.

use sharebench_model::{ChangeKind, MetaOp, MetaYield, NameChange, SessionOp};

use super::*;
use crate::wire::change_notify::{Action, ChangeNotifyRequest, put_changes};
use crate::wire::info::InfoResponse;
use crate::wire::simple::{CloseResponse, Empty};

const ASYNC_ID: u64 = 0x1_0000_0063;

/// The reply that a request is pending, or the end of a pending request.
fn asynchronous(request: &Header, status: NtStatus) -> Header {
    Header { flags: flags::RESPONSE | flags::ASYNC, async_id: ASYNC_ID, ..answer(request, status) }
}

fn report(request: &Header, changes: &[(Action, &str)]) -> Vec<u8> {
    let mut information = Vec::new();
    put_changes(changes.iter().copied(), &mut information);
    message(&asynchronous(request, NtStatus::SUCCESS), |out| InfoResponse::encode(&information, out))
}

/// Receives a request for a report and answers that it is pending.
async fn accept_watch(server: &mut Server) -> Header {
    let (request, bytes) = server.request().await;
    assert_eq!(request.command, command::CHANGE_NOTIFY);
    let body = ChangeNotifyRequest::decode(&bytes).unwrap();
    assert_eq!((body.file, body.flags), (FileId { persistent: 1, volatile: 2 }, 0));
    server.send(&message(&asynchronous(&request, NtStatus::PENDING), ErrorResponse::encode)).await;
    request
}

async fn answer_echo(server: &mut Server) {
    let (request, _) = server.request().await;
    assert_eq!(request.command, command::ECHO);
    server.send(&message(&answer(&request, NtStatus::SUCCESS), |out| Empty::default().encode(out))).await;
}

async fn call(session: &mut TestSession, op: impl Into<SessionOp>) -> (Result<MetaYield, OpError>, u32) {
    let session: &mut dyn Session = session;
    let reply = session.call(op).await;
    (reply.result, reply.requests)
}

#[test]
fn a_report_arrives_while_the_session_does_other_things() {
    run(async {
        let (mut session, file, mut server) = pair(1, 8, 7).await;
        let client = async {
            assert_eq!(call(&mut session, SessionOp::Watch { file }).await, (Ok(MetaYield::Done), 1));
            let second = call(&mut session, SessionOp::Watch { file }).await;
            assert_eq!((second.0.unwrap_err().class, second.1), (ErrorClass::Busy, 0));
            assert_eq!(session.empty_request().await, Some(Ok(())));
            // The report of the first request arrived before the reply to this one.
            assert_eq!(session.empty_request().await, Some(Ok(())));
            let first = call(&mut session, SessionOp::AwaitChange { file }).await;
            assert_eq!(call(&mut session, SessionOp::Watch { file }).await, (Ok(MetaYield::Done), 1));
            let second = call(&mut session, SessionOp::AwaitChange { file }).await;
            let none = call(&mut session, SessionOp::AwaitChange { file }).await;
            assert_eq!((none.0.unwrap_err().class, none.1), (ErrorClass::Busy, 0));
            (first, second)
        };
        let server = async {
            let request = accept_watch(&mut server).await;
            answer_echo(&mut server).await;
            server.send(&report(&request, &[(Action::Modified, "x"), (Action::Added, "new")])).await;
            answer_echo(&mut server).await;
            let request = accept_watch(&mut server).await;
            server
                .send(&message(&asynchronous(&request, NtStatus::NOTIFY_ENUM_DIR), |out| {
                    InfoResponse::encode(&[], out);
                }))
                .await;
            server
        };
        let ((first, second), _server) = tokio::join!(client, server);
        let change = |name: &str, kind| NameChange { name: name.to_owned(), kind };
        let changes = vec![change("x", ChangeKind::Other), change("new", ChangeKind::Added)];
        assert_eq!(first, (Ok(MetaYield::Changes(changes)), 0));
        assert_eq!(second, (Ok(MetaYield::Changes(vec![])), 0));
    });
}

#[test]
fn closing_a_watched_directory_cancels_the_request() {
    for is_signed in [false, true] {
        run(async {
            let (mut session, file, mut server) = pair(1, 8, 1 << 20).await;
            let key = || SigningKey::new(SigningAlgorithm::AesGmac, &KEY).unwrap();
            if is_signed {
                session.channels.for_each(|channel| {
                    channel.security.signing = Some(key());
                    channel.security.sign_all = true;
                });
            }
            let protected = |reply: Vec<u8>| if is_signed { signed(reply, &key()) } else { reply };
            let client = async {
                assert_eq!(call(&mut session, SessionOp::Watch { file }).await.0, Ok(MetaYield::Done));
                // The wait is abandoned.
                let mut report = session.perform_call(SessionOp::AwaitChange { file });
                let polled = poll_fn(|cx| std::task::Poll::Ready(report.as_mut().poll(cx))).await;
                assert!(polled.is_pending());
                drop(report);
                assert_eq!(call(&mut session, MetaOp::Close { file }).await, (Ok(MetaYield::Done), 2));
            };
            let server = async {
                let (request, _) = server.request().await;
                server
                    .send(&message(&asynchronous(&request, NtStatus::PENDING), ErrorResponse::encode))
                    .await;
                let (cancel, mut bytes) = server.request().await;
                assert_eq!((cancel.command, cancel.async_id), (command::CANCEL, ASYNC_ID));
                assert_eq!(cancel.message_id, request.message_id);
                assert_eq!(cancel.is(flags::SIGNED), is_signed);
                assert!(!is_signed || key().verify(&mut bytes));
                let cancelled = asynchronous(&request, NtStatus::CANCELLED);
                server.send(&protected(message(&cancelled, ErrorResponse::encode))).await;
                let (close, _) = server.request().await;
                assert_eq!(close.command, command::CLOSE);
                assert_eq!(close.message_id, request.message_id + 1, "a cancellation takes no message id");
                let closed = answer(&close, NtStatus::SUCCESS);
                server.send(&protected(message(&closed, |out| CloseResponse::default().encode(out)))).await;
            };
            tokio::join!(client, server);
        });
    }
}

#[test]
fn a_rejected_watch_and_a_malformed_report_are_errors_of_their_operations() {
    run(async {
        let (mut session, file, mut server) = pair(1, 8, 1 << 20).await;
        let client = async {
            let rejected = call(&mut session, SessionOp::Watch { file }).await;
            assert_eq!(call(&mut session, SessionOp::Watch { file }).await.0, Ok(MetaYield::Done));
            let malformed = call(&mut session, SessionOp::AwaitChange { file }).await;
            assert_eq!(session.empty_request().await, Some(Ok(())));
            (rejected.0.unwrap_err(), malformed.0.unwrap_err())
        };
        let server = async {
            let (request, _) = server.request().await;
            server.send(&failure(&request, NtStatus::NOT_SUPPORTED)).await;
            let request = accept_watch(&mut server).await;
            let reply = message(&asynchronous(&request, NtStatus::SUCCESS), |out| {
                InfoResponse::encode(&[0, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, b'a', 0], out);
            });
            server.send(&reply).await;
            answer_echo(&mut server).await;
            server
        };
        let ((rejected, malformed), _server) = tokio::join!(client, server);
        assert_eq!(rejected.class, NtStatus::NOT_SUPPORTED.failure("CHANGE_NOTIFY").class);
        assert_eq!(malformed.class, ErrorClass::Protocol);
        assert!(malformed.to_string().contains("FILE_NOTIFY_INFORMATION"), "{malformed}");
    });
}

#[test]
fn a_lost_connection_ends_the_wait() {
    run(async {
        let (mut session, file, mut server) = pair(1, 8, 1 << 20).await;
        let client = async {
            assert_eq!(call(&mut session, SessionOp::Watch { file }).await.0, Ok(MetaYield::Done));
            let lost = call(&mut session, SessionOp::AwaitChange { file }).await;
            (lost.0.unwrap_err().class, call(&mut session, MetaOp::Close { file }).await.0.unwrap_err().class)
        };
        let server = async {
            accept_watch(&mut server).await;
            drop(server);
        };
        let (classes, ()) = tokio::join!(client, server);
        assert_eq!(classes, (ErrorClass::Disconnected, ErrorClass::Disconnected));
    });
}
