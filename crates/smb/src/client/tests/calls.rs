//! Operations on names in flight.

use super::channels::two_channels;
use super::*;
use crate::wire::create::CreateResponse;
use crate::wire::header::flags::REPLAY_OPERATION;
use crate::wire::simple::CloseResponse;
use sharebench_model::{MetaOp, MetaYield, Stat};
use sharebench_target::CallReply;

/// The response to a CREATE: a file of `end_of_file` bytes.
fn created(request: &Header, end_of_file: u64) -> Vec<u8> {
    let file = FileId { persistent: end_of_file, volatile: 1 };
    let response = CreateResponse { end_of_file, file, ..CreateResponse::default() };
    message(&answer(request, NtStatus::SUCCESS), |out| response.encode(out))
}

fn closed(request: &Header) -> Vec<u8> {
    message(&answer(request, NtStatus::SUCCESS), |out| CloseResponse::default().encode(out))
}

fn stat(session: &mut TestSession, slot: u32) {
    session.submit_call(Slot(slot), MetaOp::Stat { path: format!("file{slot}") }).unwrap();
}

async fn calls(session: &mut TestSession, count: usize) -> Vec<CallReply> {
    let mut replies = Vec::new();
    while replies.len() < count {
        poll_fn(|cx| session.poll_calls(cx, &mut replies)).await;
    }
    replies.sort_by_key(|reply| reply.slot);
    replies
}

fn size_of(reply: &CallReply) -> u64 {
    match reply.reply.result {
        Ok(MetaYield::Stat(Stat { size, directory: false })) => size,
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn each_operation_in_flight_gets_its_own_replies() {
    run(async {
        let (mut session, file, mut server) = pair(5, 64, 1 << 20).await;
        for slot in 0..4 {
            stat(&mut session, slot);
        }
        read(&mut session, 4, file, 10);
        let client = async {
            let calls = calls(&mut session, 4).await;
            (calls, replies(&mut session, 1).await)
        };
        let server = async {
            // All are on the wire before one is answered; the last one is answered first.
            let requests = server.requests(5).await;
            let commands: Vec<u16> = requests.iter().map(|request| request.command).collect();
            assert_eq!(commands.iter().filter(|command| **command == command::CREATE).count(), 4);
            let creates = requests.iter().filter(|request| request.command == command::CREATE);
            for (slot, request) in creates.enumerate().collect::<Vec<_>>().into_iter().rev() {
                server.send(&created(request, 100 + slot as u64)).await;
            }
            for request in server.requests(4).await {
                assert_eq!(request.command, command::CLOSE);
                server.send(&closed(&request)).await;
            }
            let data = requests.iter().find(|request| request.command == command::READ).unwrap();
            server.send(&read_reply(data, &[9; 10])).await;
            server
        };
        let ((calls, data), _server) = tokio::join!(client, server);
        assert_eq!(calls.iter().map(size_of).collect::<Vec<_>>(), [100, 101, 102, 103]);
        assert!(calls.iter().all(|reply| reply.reply.requests == 2), "{calls:?}");
        assert_eq!((data[0].slot, data[0].result.clone()), (Slot(4), Ok(10)));
        assert_eq!(session.wire().requests, 9);
    });
}

#[test]
fn operations_in_flight_on_a_lost_channel_are_repeated_on_another_one() {
    run(async {
        let (mut session, _, mut first, mut second) = two_channels(2).await;
        for slot in 0..2 {
            stat(&mut session, slot);
        }
        let client = async { calls(&mut session, 2).await };
        let servers = async {
            first.request().await;
            let kept = second.request().await.0;
            drop(first);
            let repeated = second.request().await.0;
            assert_eq!(
                (repeated.command, repeated.flags & REPLAY_OPERATION),
                (command::CREATE, REPLAY_OPERATION)
            );
            second.send(&created(&repeated, 50)).await;
            second.send(&created(&kept, 51)).await;
            for request in second.requests(2).await {
                second.send(&closed(&request)).await;
            }
            second
        };
        let (calls, second) = tokio::join!(client, servers);
        assert_eq!(calls.iter().map(size_of).collect::<Vec<_>>(), [50, 51]);
        let requests: Vec<u32> = calls.iter().map(|reply| reply.reply.requests).collect();
        assert_eq!((requests, session.wire().requests), (vec![3, 2], 5));
        // The last channel is the session: what is in flight fails with it.
        stat(&mut session, 0);
        drop(second);
        let lost = calls_of_lost(&mut session).await;
        assert_eq!(lost, ErrorClass::Disconnected);
        let rejected = session.submit_call(Slot(1), MetaOp::Stat { path: "file".into() }).unwrap_err();
        assert_eq!(rejected.class, ErrorClass::Disconnected);
    });
}

async fn calls_of_lost(session: &mut TestSession) -> ErrorClass {
    calls(session, 1).await.remove(0).reply.result.unwrap_err().class
}

#[test]
fn a_slot_in_use_and_an_operation_that_cannot_overlap_are_rejected() {
    run(async {
        let (mut session, _, _server) = pair(2, 64, 1 << 20).await;
        stat(&mut session, 0);
        let mut class = |slot, op| session.submit_call(Slot(slot), op).unwrap_err().class;
        assert_eq!(class(0, MetaOp::Stat { path: "file".into() }), ErrorClass::Busy);
        assert_eq!(class(2, MetaOp::Stat { path: "file".into() }), ErrorClass::Busy);
        assert_eq!(class(1, MetaOp::List { path: String::new() }), ErrorClass::Unsupported);
    });
}
