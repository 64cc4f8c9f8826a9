//! Breaks of leases at a scripted server.

use super::*;
use crate::wire::lease::{ACKNOWLEDGMENT_REQUIRED, HANDLE, LeaseAcknowledgment, LeaseBreak, READ};

fn lease_break(key: u8) -> Vec<u8> {
    let header = Header {
        command: command::OPLOCK_BREAK,
        flags: flags::RESPONSE,
        message_id: UNSOLICITED,
        ..Header::default()
    };
    let flags = ACKNOWLEDGMENT_REQUIRED;
    let broken =
        LeaseBreak { flags, key: [key; 16], current: 7, new: READ | HANDLE, ..LeaseBreak::default() };
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
                let reply = answer(&header, NtStatus::SUCCESS);
                server.send(&message(&reply, |out| acknowledged.encode(out))).await;
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
