//! Replies, message ids, credits and the results of operations.

use sharebench_model::OpStep;

use super::*;

#[test]
fn replies_reach_their_slots_in_any_order_and_in_pieces_of_any_size() {
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
fn a_request_takes_as_many_message_ids_as_credits() {
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
fn an_interim_response_does_not_complete_a_request() {
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
            // The client ignores a break of an oplock that it does not hold.
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
fn a_request_that_no_credits_can_pay_for_is_rejected() {
    run(async {
        let (mut session, file, _server) = pair(1, 1, 1 << 20).await;
        read(&mut session, 0, file, 70_000);
        let replies = replies(&mut session, 1).await;
        assert_eq!((classes(&replies), replies[0].requests), (vec![ErrorClass::Unsupported], 0));
        assert_eq!(session.wire().requests, 0);
    });
}

#[test]
fn a_write_carries_its_payload_and_a_short_write_is_an_error() {
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
fn a_failed_request_reports_its_status_and_leaves_the_session_usable() {
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
        assert_eq!((error.class, error.step), (ErrorClass::Stale, OpStep::Request("READ")));
        assert_eq!(error.detail, "STATUS_FILE_CLOSED (0xC0000128)");
        assert_eq!(second[0].result, Ok(10));
    });
}
