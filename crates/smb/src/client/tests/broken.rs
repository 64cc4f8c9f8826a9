//! Broken servers and lost connections.

use super::*;

#[test]
fn a_lost_connection_completes_every_operation_once() {
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
        ("more than requested", |header| read_reply(&header, &content(0, 20_001))),
        ("data beyond the end", |header| read_reply(&header, &[1; 50])[..100].to_vec()),
    ];
    for (what, make) in breaks {
        let (result, _) = one_read(20_000, |_| {}, |header, _| make(header));
        assert_eq!(result, Err(ErrorClass::Protocol), "{what}");
    }
}

#[test]
fn a_frame_above_the_limit_is_not_awaited() {
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whichever bytes of a reply change, the operation completes once, and nothing panics or hangs.
    #[test]
    fn a_corrupted_reply_completes_the_operation(
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
                // A reply that looks like an interim response leaves the operation open: the end of the connection
                // completes it.
            };
            let (replies, ()) = tokio::join!(client, server);
            prop_assert!(replies[0].result.is_err() || replies[0].result.clone().is_ok_and(|got| got <= len));
            Ok(())
        })?;
    }
}
