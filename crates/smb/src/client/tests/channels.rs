//! Requests of a session with two channels.

use super::*;
use crate::wire::header::flags::REPLAY_OPERATION;

/// A session with a second channel, and the server's side of both.
pub(super) async fn two_channels(slots: usize) -> (TestSession, FileRef, Server, Server) {
    let (mut session, file, first) = pair(slots, 64, 1 << 20).await;
    let (mut other, _, second) = pair(slots, 64, 1 << 20).await;
    let channel = std::mem::replace(other.channels.primary(), unused_channel(slots).await);
    session.channels.add(channel);
    (session, file, first, second)
}

async fn unused_channel(slots: usize) -> Channel {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    Channel::new(stream, slots, SLOT_BYTES as usize)
}

#[test]
fn requests_go_to_the_channel_with_the_fewest_in_flight() {
    run(async {
        let (mut session, file, mut first, mut second) = two_channels(6).await;
        let client = async {
            for slot in 0..5 {
                read(&mut session, slot, file, 10);
            }
            let mut all = replies(&mut session, 5).await;
            read(&mut session, 5, file, 10);
            all.extend(replies(&mut session, 1).await);
            all
        };
        let servers = async {
            let three = first.requests(3).await;
            let two = second.requests(2).await;
            // Message ids count per connection.
            assert_eq!(three.iter().map(|r| r.message_id).collect::<Vec<_>>(), [0, 1, 2]);
            assert_eq!(two.iter().map(|r| r.message_id).collect::<Vec<_>>(), [0, 1]);
            for request in &three {
                first.send(&read_reply(request, &[1; 10])).await;
            }
            for request in &two {
                second.send(&read_reply(request, &[2; 10])).await;
            }
            let next = first.request().await.0;
            first.send(&read_reply(&next, &[3; 10])).await;
            (first, second)
        };
        let (all, _servers) = tokio::join!(client, servers);
        assert!(all.iter().all(|reply| reply.result == Ok(10) && reply.requests == 1), "{all:?}");
    });
}

/// How often the server answers that it still performs the request of the lost channel.
const NOT_AVAILABLE: u32 = 8;

#[test]
fn requests_of_a_lost_channel_are_repeated_with_the_next_sequence_and_the_flag_of_a_replay() {
    run(async {
        let (mut session, file, mut first, mut second) = two_channels(2).await;
        let client = async {
            read(&mut session, 0, file, 10);
            read(&mut session, 1, file, 10);
            let all = replies(&mut session, 2).await;
            (all, session)
        };
        let servers = async {
            let early = first.request().await.0;
            assert_eq!((early.status, early.flags & REPLAY_OPERATION), (0, 0));
            let kept = second.request().await.0;
            drop(first);
            second.send(&read_reply(&kept, &[8; 10])).await;
            let mut repeated = second.request().await.0;
            assert_eq!((repeated.status, repeated.flags & REPLAY_OPERATION), (1, REPLAY_OPERATION));
            // The server has not finished the first request: the client sends it again, at last after pauses.
            for _ in 0..NOT_AVAILABLE {
                second.send(&failure(&repeated, NtStatus::FILE_NOT_AVAILABLE)).await;
                let again = second.request().await.0;
                assert_eq!((again.status, again.message_id), (1, repeated.message_id + 1));
                repeated = again;
            }
            second.send(&read_reply(&repeated, &[7; 10])).await;
            second
        };
        let ((all, mut session), second) = tokio::join!(client, servers);
        let seen: Vec<_> = all.iter().map(|reply| (reply.result.clone().unwrap(), reply.requests)).collect();
        assert_eq!(seen, [(10, NOT_AVAILABLE + 2), (10, 1)]);
        assert_eq!((session.buffer(Slot(0))[0], session.buffer(Slot(1))[0]), (7, 8));
        let wire = session.wire();
        assert_eq!((wire.requests, wire.payload_received), (u64::from(NOT_AVAILABLE) + 3, 20));
        // The last channel is the session.
        drop(second);
        read(&mut session, 0, file, 10);
        assert_eq!(classes(&replies(&mut session, 1).await), [ErrorClass::Disconnected]);
    });
}

#[test]
fn a_channel_that_breaks_the_protocol_ends_the_session() {
    run(async {
        let (mut session, file, mut first, mut second) = two_channels(2).await;
        read(&mut session, 0, file, 10);
        read(&mut session, 1, file, 10);
        let servers = async {
            first.request().await;
            let request = second.request().await.0;
            let stranger = Header { message_id: 77, ..request };
            second.send(&read_reply(&stranger, &[1; 10])).await;
            (first, second)
        };
        let (all, _servers) = tokio::join!(replies(&mut session, 2), servers);
        assert_eq!(classes(&all), [ErrorClass::Protocol, ErrorClass::Protocol]);
    });
}
