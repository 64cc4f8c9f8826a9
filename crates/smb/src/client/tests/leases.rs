//! Breaks of leases at a scripted server.

use sharebench_model::{CacheRight, Fact, MetaOp, MetaYield, SessionOp, TargetFacts};

use super::*;
use crate::client::negotiated::LEASING;
use crate::wire::create::{CreateRequest, CreateResponse};
use crate::wire::create_context::{CreateContext, name, put_contexts};
use crate::wire::lease::{
    ACKNOWLEDGMENT_REQUIRED, HANDLE, LEVEL, LeaseAcknowledgment, LeaseBreak, LeaseContext, READ, WRITE,
};
use crate::wire::oplock::{self, OplockBreak};

fn lease_break(key: u8) -> Vec<u8> {
    lease_break_of([key; 16])
}

fn lease_break_of(key: [u8; 16]) -> Vec<u8> {
    let header = Header {
        command: command::OPLOCK_BREAK,
        flags: flags::RESPONSE,
        message_id: UNSOLICITED,
        ..Header::default()
    };
    let flags = ACKNOWLEDGMENT_REQUIRED;
    let broken = LeaseBreak { flags, key, current: 7, new: READ | HANDLE, ..LeaseBreak::default() };
    message(&header, |out| broken.encode(out))
}

#[test]
fn breaks_are_acknowledged_one_after_the_other_while_a_request_waits() {
    run(async {
        let (mut session, file, mut server) = pair(1, 8, 1 << 20).await;
        session.channels.hold_leases();
        let client = async {
            read(&mut session, 0, file, 5);
            (replies(&mut session, 1).await, session.wire().requests)
        };
        let server = async {
            let (request, _) = server.request().await;
            server.send(&lease_break(1)).await;
            server.send(&lease_break(2)).await;
            for key in [1, 2] {
                let (header, acknowledgment) = server.request().await;
                assert_eq!(header.command, command::OPLOCK_BREAK);
                let acknowledged = LeaseAcknowledgment::decode(&acknowledgment).unwrap();
                assert_eq!((acknowledged.key, acknowledged.state), ([key; 16], READ | HANDLE));
                server.succeed(&header, |out| acknowledged.encode(out)).await;
            }
            server.send(&read_reply(&request, b"hello")).await;
            server
        };
        let ((replies, requests), _server) = tokio::join!(client, server);
        // Acknowledgments are no requests of an operation.
        assert_eq!((&replies[0].result, replies[0].requests, requests), (&Ok(5), 1, 1));
    });
}

#[test]
fn breaks_without_end_end_the_session_and_breaks_without_leases_are_ignored() {
    for (holds, wanted) in [(true, Err(ErrorClass::Protocol)), (false, Ok(5))] {
        run(async {
            let (mut session, file, mut server) = pair(1, 8, 1 << 20).await;
            if holds {
                session.channels.hold_leases();
            }
            let client = async {
                read(&mut session, 0, file, 5);
                replies(&mut session, 1).await
            };
            let server = async {
                let (request, _) = server.request().await;
                for _ in 0..5000 {
                    server.send(&lease_break(1)).await;
                }
                server.send(&read_reply(&request, b"hello")).await;
                server
            };
            let (replies, _server) = tokio::join!(client, server);
            assert_eq!(replies[0].result.clone().map_err(|error| error.class), wanted);
        });
    }
}

/// The response to a CREATE that grants a lease of this state; 0 grants none.
fn leased(request: &Header, key: [u8; 16], state: u32) -> Vec<u8> {
    // Header and fixed fields are followed by the contexts at the next multiple of 8 bytes.
    const CONTEXTS_AT: usize = 64 + 88;
    let lease = LeaseContext { key, state, flags: 0, version_2: None };
    let mut contexts = Vec::new();
    if state != 0 {
        put_contexts(&[CreateContext::new(name::REQUEST_LEASE, &lease.encode())], &mut contexts);
    }
    let response = CreateResponse {
        oplock: if state == 0 { 0 } else { LEVEL },
        file: FileId { persistent: 3, volatile: 4 },
        contexts_offset: CONTEXTS_AT as u32,
        contexts_len: contexts.len() as u32,
        ..CreateResponse::default()
    };
    message(&answer(request, NtStatus::SUCCESS), |out| {
        response.encode(out);
        assert_eq!(out.len(), CONTEXTS_AT);
        out.extend_from_slice(&contexts);
        // The variable part has at least one byte.
        out.resize(out.len().max(CONTEXTS_AT + 1), 0);
    })
}

#[test]
fn the_break_of_a_lease_is_awaited_and_acknowledged_while_nothing_is_in_flight() {
    for (state, right) in [
        (READ | HANDLE | WRITE, CacheRight::Writes),
        (READ | HANDLE, CacheRight::Reads),
        (0, CacheRight::None),
    ] {
        run(async {
            let (mut session, _, mut server) = pair(1, 8, 1 << 20).await;
            session.negotiated.dialect = 0x0210;
            session.negotiated.capabilities = LEASING;
            let client = async {
                let opened = session.perform_call(SessionOp::OpenLeased { path: "held".into() }).await;
                let (file, granted) = opened.result.and_then(MetaYield::into_right).unwrap();
                assert_eq!((granted, opened.requests), (right, 1));
                let recalled = session.perform_call(SessionOp::AwaitRecall { file }).await;
                let given_back = session.perform_call(SessionOp::GiveBack { file }).await;
                assert_eq!((given_back.result.is_ok(), given_back.requests), (recalled.result.is_ok(), 0));
                let again = session.perform_call(SessionOp::AwaitRecall { file }).await;
                assert_eq!(again.result.unwrap_err().class, ErrorClass::Stale);
                let closed = session.perform_call(MetaOp::Close { file }.into()).await;
                assert_eq!((closed.result, closed.requests), (Ok(MetaYield::Done), 1));
                (recalled.result.map_err(|error| error.class), recalled.requests, session.counts.has_leases())
            };
            let server = async {
                let (create, bytes) = server.request().await;
                let request = CreateRequest::decode(&bytes).unwrap();
                let context = request.contexts.iter().find(|context| context.name == name::REQUEST_LEASE);
                let lease = LeaseContext::decode(&context.unwrap().data).unwrap();
                assert_eq!((request.oplock, lease.state), (LEVEL, READ | HANDLE | WRITE));
                server.send(&leased(&create, lease.key, state)).await;
                if state != 0 {
                    // That of another lease ends no wait.
                    for key in [[9; 16], lease.key] {
                        server.send(&lease_break_of(key)).await;
                        let (header, bytes) = server.request().await;
                        assert_eq!(header.command, command::OPLOCK_BREAK);
                        let acknowledged = LeaseAcknowledgment::decode(&bytes).unwrap();
                        assert_eq!((acknowledged.key, acknowledged.state), (key, READ | HANDLE));
                        server.succeed(&header, |out| acknowledged.encode(out)).await;
                    }
                }
                server.close_file().await;
                server
            };
            let (found, _server) = tokio::join!(client, server);
            let wanted = if state == 0 { Err(ErrorClass::Stale) } else { Ok(MetaYield::Done) };
            assert_eq!(found, (wanted, 0, true));
        });
    }
}

/// A message of `OPLOCK_BREAK` that breaks the oplock of the file of [`leased`].
fn oplock_break(level: u8) -> Vec<u8> {
    let header = Header {
        command: command::OPLOCK_BREAK,
        flags: flags::RESPONSE,
        message_id: UNSOLICITED,
        ..Header::default()
    };
    let file = FileId { persistent: 3, volatile: 4 };
    let broken = OplockBreak { level, file, ..OplockBreak::default() };
    message(&header, |out| broken.encode(out))
}

#[test]
fn without_leases_an_oplock_is_requested_and_its_break_is_acknowledged_unless_it_was_of_level_ii() {
    for (level, level_name, right, to) in [
        (oplock::BATCH, "batch", CacheRight::Writes, Some(oplock::LEVEL_II)),
        (oplock::EXCLUSIVE, "exclusive", CacheRight::Writes, Some(oplock::NONE)),
        (oplock::LEVEL_II, "level II", CacheRight::Reads, Some(oplock::NONE)),
        (oplock::NONE, "none", CacheRight::None, None),
    ] {
        // Dialect 2.0.2 has no leases, and a server of a later one may have none.
        for dialect in [0x0202, 0x0302] {
            run(async {
                let (mut session, _, mut server) = pair(1, 8, 1 << 20).await;
                session.negotiated.dialect = dialect;
                session.negotiated.capabilities = 0;
                let client = async {
                    let opened = session.perform_call(SessionOp::OpenLeased { path: "held".into() }).await;
                    let (file, granted) = opened.result.and_then(MetaYield::into_right).unwrap();
                    assert_eq!((granted, opened.requests), (right, 1));
                    let recalled = session.perform_call(SessionOp::AwaitRecall { file }).await;
                    let closed = session.perform_call(MetaOp::Close { file }.into()).await;
                    assert_eq!((closed.result, closed.requests), (Ok(MetaYield::Done), 1));
                    let mut facts = TargetFacts::new();
                    session.counts.add_oplock_facts(&mut facts);
                    (recalled.result.map_err(|error| error.class), facts[Fact::OplocksGranted].clone())
                };
                let server = async {
                    let (create, bytes) = server.request().await;
                    let request = CreateRequest::decode(&bytes).unwrap();
                    assert_eq!((request.oplock, request.contexts.len()), (oplock::BATCH, 0));
                    let response = CreateResponse {
                        oplock: level,
                        file: FileId { persistent: 3, volatile: 4 },
                        ..CreateResponse::default()
                    };
                    let reply = message(&answer(&create, NtStatus::SUCCESS), |out| {
                        response.encode(out);
                        out.push(0);
                    });
                    server.send(&reply).await;
                    if let Some(to) = to {
                        server.send(&oplock_break(to)).await;
                        if level > oplock::LEVEL_II {
                            let (header, bytes) = server.request().await;
                            assert_eq!(header.command, command::OPLOCK_BREAK);
                            let acknowledged = OplockBreak::decode(&bytes).unwrap();
                            assert_eq!((acknowledged.level, acknowledged.file), (to, response.file));
                            server.succeed(&header, |out| acknowledged.encode(out)).await;
                        }
                    }
                    server.close_file().await;
                    server
                };
                let (found, _server) = tokio::join!(client, server);
                let wanted = if to.is_none() { Err(ErrorClass::Stale) } else { Ok(MetaYield::Done) };
                assert_eq!(
                    found,
                    (wanted, format!("{level_name} 1")),
                    "level {level} of dialect {dialect:x}"
                );
            });
        }
    }
}
