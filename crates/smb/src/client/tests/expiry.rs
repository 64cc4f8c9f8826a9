//! Sessions that the server lets expire.

use sharebench_target::{Secret, TargetUrl};

use super::*;
use crate::auth::NtlmAcceptor;
use crate::client::options::SmbOptions;
use crate::client::tests::channels::two_channels;
use crate::wire::header::flags::REPLAY_OPERATION;
use crate::wire::session_setup::{SessionSetupRequest, SessionSetupResponse};

const SESSION: u64 = 77;

fn key() -> SigningKey {
    SigningKey::new(SigningAlgorithm::AesGmac, &KEY).unwrap()
}

/// Makes a session signed and renewable.
fn renewable(session: &mut TestSession) {
    let url = TargetUrl::parse("smb://alice@nas/share?auth=ntlm").unwrap();
    let options = SmbOptions::from_url(url, Secret::new("right")).unwrap();
    let negotiated = session.negotiated.clone();
    session.channels.renew_logins(&options, &negotiated);
    session.channels.for_each(|channel| {
        channel.session_id = SESSION;
        channel.tree_id = 5;
        channel.security.signing = Some(key());
        channel.security.sign_all = true;
    });
}

impl Server {
    async fn signed_request(&mut self) -> (Header, Vec<u8>) {
        let (header, mut message) = self.request().await;
        assert!(header.is(flags::SIGNED) && key().verify(&mut message), "{header:?}");
        (header, message)
    }

    /// Receives a request of a login that renews the session, and returns its token.
    async fn login_request(&mut self) -> (Header, Vec<u8>) {
        let (header, message) = self.signed_request().await;
        assert_eq!((header.command, header.session_id, header.tree_id), (command::SESSION_SETUP, SESSION, 0));
        let request = SessionSetupRequest::decode(&message).unwrap();
        assert_eq!((request.flags, request.previous_session), (0, 0));
        (header, request.token)
    }

    async fn send_signed(&mut self, message: Vec<u8>) {
        self.send(&signed(message, &key())).await;
    }

    async fn expire(&mut self, request: &Header) {
        self.send_signed(failure(request, NtStatus::NETWORK_SESSION_EXPIRED)).await;
    }

    /// Renews the session as a server does that knows the password.
    async fn renew(&mut self) {
        let mut acceptor = NtlmAcceptor::new("SERVER");
        let (first, token) = self.login_request().await;
        let token = acceptor.challenge(&token).unwrap();
        self.answer_login(&first, NtStatus::MORE_PROCESSING_REQUIRED, token).await;
        let (second, token) = self.login_request().await;
        let received = acceptor.receive(&token).unwrap();
        let accepted = received.verify(&Secret::new("right")).unwrap();
        self.answer_login(&second, NtStatus::SUCCESS, accepted.token.clone()).await;
    }

    async fn answer_login(&mut self, request: &Header, status: NtStatus, token: Vec<u8>) {
        let response = SessionSetupResponse { flags: 0, token };
        self.send_signed(message(&answer(request, status), |body| response.encode(body))).await;
    }
}

#[test]
fn rejected_requests_are_sent_again_after_the_login_and_before_it_only_replies_are_awaited() {
    run(async {
        let (mut session, file, mut server) = pair(3, 8, 1 << 20).await;
        renewable(&mut session);
        let client = async {
            for slot in 0..3 {
                read(&mut session, slot, file, 10);
            }
            replies(&mut session, 3).await
        };
        let server = async {
            let sent = server.requests(3).await;
            // The second one was accepted before the session expired.
            server.expire(&sent[0]).await;
            server.expire(&sent[2]).await;
            server.send_signed(read_reply(&sent[1], &[2; 10])).await;
            server.renew().await;
            for content in [1, 3] {
                let (again, _) = server.signed_request().await;
                // It was rejected, so that it is no replay.
                assert_eq!((again.command, again.tree_id), (command::READ, 5));
                assert_eq!(again.flags & REPLAY_OPERATION, 0);
                server.send_signed(read_reply(&again, &[content; 10])).await;
            }
            server
        };
        let (all, _server) = tokio::join!(client, server);
        let seen: Vec<_> = all.iter().map(|reply| (reply.result.clone().unwrap(), reply.requests)).collect();
        assert_eq!(seen, [(10, 2), (10, 1), (10, 2)]);
        assert_eq!([0, 1, 2].map(|slot| session.buffer(Slot(slot))[0]), [1, 2, 3]);
        let wire = session.wire();
        assert_eq!((wire.requests, wire.payload_received), (5, 30), "a login belongs to no operation");
    });
}

#[test]
fn a_login_whose_connection_is_lost_begins_again_on_another_channel() {
    run(async {
        let (mut session, file, mut first, mut second) = two_channels(2).await;
        renewable(&mut session);
        let client = async {
            read(&mut session, 0, file, 10);
            read(&mut session, 1, file, 10);
            replies(&mut session, 2).await
        };
        let servers = async {
            let on_first = first.signed_request().await.0;
            let on_second = second.signed_request().await.0;
            second.expire(&on_second).await;
            first.expire(&on_first).await;
            first.login_request().await;
            drop(first);
            second.renew().await;
            for content in [8, 7] {
                let again = second.signed_request().await.0;
                assert_eq!((again.command, again.flags & REPLAY_OPERATION), (command::READ, 0));
                second.send_signed(read_reply(&again, &[content; 10])).await;
            }
            second
        };
        let (all, _second) = tokio::join!(client, servers);
        assert!(all.iter().all(|reply| reply.result == Ok(10) && reply.requests == 2), "{all:?}");
        // The request of the lost channel was appended to those of the other one.
        assert_eq!([0, 1].map(|slot| session.buffer(Slot(slot))[0]), [7, 8]);
    });
}

/// Performs one READ, to which `respond` replies.
fn read_once(respond: impl AsyncFnOnce(&mut Server, Header)) -> Reply {
    run(async {
        let (mut session, file, mut server) = pair(1, 8, 1 << 20).await;
        renewable(&mut session);
        let client = async {
            read(&mut session, 0, file, 10);
            replies(&mut session, 1).await
        };
        let server = async {
            let sent = server.signed_request().await.0;
            respond(&mut server, sent).await;
            server
        };
        let (mut all, _server) = tokio::join!(client, server);
        all.remove(0)
    })
}

/// Performs one READ in a session that is expired; `respond` answers the login.
fn read_with_login<F: AsyncFnOnce(&mut Server)>(respond: F) -> OpError {
    let read = read_once(async |server, sent| {
        server.expire(&sent).await;
        respond(server).await;
    });
    read.result.unwrap_err()
}

#[test]
fn a_login_that_the_server_rejects_ends_the_session_with_the_reason() {
    let rejected = read_with_login(async |server| {
        let (header, _) = server.login_request().await;
        // The server has removed the session, and with it the key.
        server.send(&failure(&header, NtStatus::LOGON_FAILURE)).await;
    });
    assert_eq!(rejected.class, ErrorClass::Disconnected);
    let text = rejected.to_string();
    assert!(text.contains("its login cannot be renewed") && text.contains("LOGON_FAILURE"), "{text}");

    let endless = read_with_login(async |server| {
        let mut acceptor = NtlmAcceptor::new("SERVER");
        let (header, token) = server.login_request().await;
        let token = acceptor.challenge(&token).unwrap();
        server.answer_login(&header, NtStatus::MORE_PROCESSING_REQUIRED, token).await;
        let (header, _) = server.login_request().await;
        server.answer_login(&header, NtStatus::MORE_PROCESSING_REQUIRED, Vec::new()).await;
    });
    assert_eq!(endless.class, ErrorClass::Disconnected, "{endless}");

    let guest = read_with_login(async |server| {
        let (header, _) = server.login_request().await;
        let response = SessionSetupResponse { flags: 1, token: Vec::new() };
        let status = answer(&header, NtStatus::SUCCESS);
        server.send_signed(message(&status, |body| response.encode(body))).await;
    });
    assert!(guest.to_string().contains("another kind of user"), "{guest}");
}

#[test]
fn a_reply_of_a_login_without_a_valid_signature_ends_the_session() {
    let unsigned = read_with_login(async |server| {
        let (header, _) = server.login_request().await;
        let response = SessionSetupResponse::default();
        server.succeed(&header, |body| response.encode(body)).await;
    });
    assert_eq!(unsigned.class, ErrorClass::Protocol, "{unsigned}");
}

#[test]
fn an_unsigned_statement_that_a_signed_session_is_expired_repeats_nothing() {
    let read = read_once(async |server, sent| {
        server.send(&failure(&sent, NtStatus::NETWORK_SESSION_EXPIRED)).await;
    });
    assert_eq!(read.result.unwrap_err().class, ErrorClass::Disconnected);
    assert_eq!(read.requests, 1);
}
