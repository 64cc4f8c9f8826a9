//! Sessions that expire while their client works.

use std::future::poll_fn;
use std::sync::Arc;

use sharebench_model::{
    DataOp, ErrorClass, Fact, FileRef, MetaOp, MetaYield, OpenHow, Reply, Slot, Stability, TargetFacts,
};
use sharebench_smb::SmbTarget;
use sharebench_target::{Secret, Session, SessionSpec, Target, TargetUrl, call, reply_for};

use crate::{MemoryVolume, SmbServer, SmbServerOptions, Volume};

const RECORD: u32 = 40_000;
const DEPTH: u32 = 8;
const ROUNDS: u8 = 6;
/// Requests of a login, so that a session expires within every round and within operations of several requests.
const REQUESTS: u64 = 7;

fn server(requests_per_login: Option<u64>) -> SmbServer {
    let accounts = vec![("alice".to_owned(), Secret::new("right"))];
    let options = SmbServerOptions { accounts, ..SmbServerOptions::default() };
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new(64 << 20));
    let server = SmbServer::start("127.0.0.1:0".parse().unwrap(), volume, options).unwrap();
    server.expire_logins_after(requests_per_login);
    server
}

fn target(server: &SmbServer, options: &str) -> SmbTarget {
    let url = TargetUrl::parse(&format!("smb://alice@{}/share?{options}", server.addr())).unwrap();
    SmbTarget::from_url(url, Secret::new("right")).unwrap()
}

fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test)
}

async fn create(session: &mut dyn Session, name: &str) -> FileRef {
    call(session, MetaOp::open(name, OpenHow::CreateNew)).await.unwrap().into_opened().unwrap().0
}

fn byte_of(slot: u32, round: u8) -> u8 {
    slot as u8 * 16 + round
}

/// Keeps every slot busy once, and returns the requests that the replies state.
async fn work(session: &mut dyn Session, file: FileRef, round: u8, writes: bool) -> u64 {
    for slot in 0..DEPTH {
        let offset = u64::from(slot * RECORD);
        let op = if writes {
            session.buffer(Slot(slot)).fill(byte_of(slot, round));
            DataOp::Write { file, offset, len: RECORD, stability: Stability::Unstable }
        } else {
            DataOp::Read { file, offset, len: RECORD }
        };
        session.submit(Slot(slot), op);
    }
    let mut replies: Vec<Reply> = Vec::new();
    while replies.len() < DEPTH as usize {
        poll_fn(|cx| session.poll_replies(cx, &mut replies)).await;
    }
    for reply in &replies {
        assert_eq!(reply.result, Ok(RECORD), "round {round}");
        let wanted = byte_of(reply.slot.0, round);
        assert!(session.buffer(reply.slot).iter().all(|byte| *byte == wanted), "{:?}", reply.slot);
    }
    replies.iter().map(|reply| u64::from(reply.requests)).sum()
}

/// Changes names, each of which would fail if a request were performed twice.
async fn change_names(session: &mut dyn Session, round: u8) {
    let [directory, name, other] = ["directory", "name", "other"].map(|name| format!("{name}-{round}"));
    call(session, MetaOp::MakeDir { path: directory.clone() }).await.unwrap();
    let file = create(session, &name).await;
    call(session, MetaOp::Close { file }).await.unwrap();
    call(session, MetaOp::Rename { from: name, to: other.clone() }).await.unwrap();
    let listed = call(session, MetaOp::List { path: String::new() }).await.unwrap();
    let MetaYield::Entries(entries) = listed else { panic!("{listed:?}") };
    assert_eq!(entries.len(), 3, "{entries:?}");
    call(session, MetaOp::Remove { path: other }).await.unwrap();
    call(session, MetaOp::RemoveDir { path: directory }).await.unwrap();
}

/// Works over a session that expires again and again; returns the facts of the run.
fn work_over(server: &SmbServer, options: &str) -> TargetFacts {
    let target = target(server, options);
    run(async {
        let spec = SessionSpec { slots: DEPTH, slot_bytes: RECORD, ..SessionSpec::default() };
        let mut session = target.connect(&spec).await.unwrap();
        let file = create(&mut *session, "data").await;
        let before = session.wire();
        let mut stated = 0;
        for round in 0..ROUNDS {
            stated += work(&mut *session, file, round, true).await;
            stated += work(&mut *session, file, round, false).await;
        }
        let wire = session.wire();
        assert_eq!(wire.requests - before.requests, stated, "{options}");
        let bytes = u64::from(ROUNDS) * u64::from(DEPTH * RECORD);
        assert_eq!(wire.payload_sent - before.payload_sent, bytes, "{options}");
        assert_eq!(wire.payload_received - before.payload_received, bytes, "{options}");
        for round in 0..ROUNDS {
            change_names(&mut *session, round).await;
        }
        call(&mut *session, MetaOp::Close { file }).await.unwrap();
        call(&mut *session, MetaOp::Remove { path: "data".into() }).await.unwrap();
        session.close().await;
        let facts = target.final_facts();
        let operations = 2 * u64::from(ROUNDS) * u64::from(DEPTH);
        if let Some(repeated) = facts.get(Fact::RequestsRepeated) {
            assert!(repeated.parse::<u64>().unwrap() >= stated - operations, "{options}: {facts:?}");
        }
        facts
    })
}

#[test]
fn an_expired_session_is_renewed_and_every_operation_is_performed_once() {
    let server = server(Some(REQUESTS));
    for options in [
        "sign=off",
        "dialect=2.0.2",
        "dialect=2.1&sign=required",
        "dialect=3.0.2&sign=required",
        "dialect=3.0.2&encrypt=required",
        "sign=required",
        "encrypt=required",
        "lease=rwh&durable=on",
        "channels=4&sign=off",
        "channels=4&sign=required",
        "channels=4&dialect=3.0&sign=required",
        "channels=4&encrypt=required",
    ] {
        let facts = work_over(&server, options);
        let renewed: u64 = facts[Fact::LoginsRenewed].parse().unwrap();
        // At least one renewal per login's requests of the data operations alone.
        let operations = 2 * u64::from(ROUNDS) * u64::from(DEPTH);
        assert!(renewed >= operations / REQUESTS, "{options}: {facts:?}");
        assert!(facts.get(Fact::ConnectionsLost).is_none_or(|lost| lost == "0"), "{options}: {facts:?}");
    }
}

#[test]
fn a_session_without_expiry_has_no_facts_of_renewals() {
    let facts = work_over(&server(None), "sign=required");
    assert_eq!(facts.get(Fact::LoginsRenewed), None, "{facts:?}");
}

#[test]
fn a_session_that_expires_before_every_request_fails_its_operations_and_not_the_client() {
    let server = server(Some(0));
    let target = target(&server, "sign=required");
    // The share itself cannot be reached: nothing may be renewed while the session is being opened.
    let error = run(async { target.connect(&SessionSpec::default()).await.err().unwrap() });
    assert!(error.to_string().contains("STATUS_NETWORK_SESSION_EXPIRED"), "{error}");
}

#[test]
fn logins_that_are_used_up_at_once_end_the_session_after_a_bounded_number_of_them() {
    let server = server(Some(2 * REQUESTS));
    let target = target(&server, "sign=required");
    run(async {
        let mut session = target.connect(&SessionSpec::default()).await.unwrap();
        let file = create(&mut *session, "file").await;
        server.expire_logins_after(Some(0));
        let mut reads = 0;
        let error = loop {
            let read = DataOp::Read { file, offset: 0, len: 10 };
            match reply_for(&mut *session, Slot(0), read).await.result {
                Ok(_) => reads += 1,
                Err(error) => break error,
            }
        };
        assert!(reads < 2 * REQUESTS, "the first login ends");
        assert_eq!(error.class, ErrorClass::Disconnected, "{error}");
        assert!(error.to_string().contains("STATUS_NETWORK_SESSION_EXPIRED"), "{error}");
    });
}

#[test]
fn a_login_that_the_server_no_longer_accepts_ends_the_session_with_one_sentence() {
    let accounts = vec![("alice".to_owned(), Secret::new("right"))];
    let options = SmbServerOptions { accounts, ..SmbServerOptions::default() };
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new(1 << 20));
    let server = SmbServer::start("127.0.0.1:0".parse().unwrap(), volume, options).unwrap();
    server.expire_logins_after(Some(2 * REQUESTS));
    let target = target(&server, "channels=2&encrypt=required");
    run(async {
        let spec = SessionSpec { slots: DEPTH, slot_bytes: RECORD, ..SessionSpec::default() };
        let mut session = target.connect(&spec).await.unwrap();
        let file = create(&mut *session, "file").await;
        // The account is locked by failed logins of somebody else.
        for _ in 0..4 {
            let wrong = TargetUrl::parse(&format!("smb://alice@{}/share", server.addr())).unwrap();
            let wrong = SmbTarget::from_url(wrong, Secret::new("wrong")).unwrap();
            assert!(wrong.connect(&SessionSpec::default()).await.is_err());
        }
        let error = loop {
            let read = DataOp::Read { file, offset: 0, len: 10 };
            if let Err(error) = reply_for(&mut *session, Slot(0), read).await.result {
                break error;
            }
        };
        assert_eq!(error.class, ErrorClass::Disconnected, "{error}");
        assert!(error.to_string().contains("its login cannot be renewed"), "{error}");
        assert!(error.to_string().contains("STATUS_ACCOUNT_LOCKED_OUT"), "{error}");
        let facts = target.final_facts();
        assert_eq!(facts[Fact::ConnectionsLost], "0", "the session ended, and no channel was lost");
    });
}
