//! A server of minor version 0 that has forgotten its client: the calls of the new client name the new client.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use sharebench_model::{ErrorClass, Fact, MetaOp, OpenHow};
use sharebench_target::{Session, SessionSpec, Target, TargetUrl, call};

use super::whole_file_tests::{RPC_HEAD, changing_by_call};
use crate::client::NfsTarget;
use crate::rpc::CallHeader;
use crate::v4::compound::{CallHead, get_operation};
use crate::v4::data::PutFh;
use crate::v4::item::Item as _;
use crate::v4::open::Open;
use crate::v4::operation::Operation;
use crate::v4::status::Nfs4Status;
use crate::xdr::Reader;

/// Where a reply to SETCLIENTID has the identifier: after the status, the empty tag, the number of results, the operation and
/// its status.
const CLIENT_ID_AT: usize = RPC_HEAD + 20;

/// What the server knows.
#[derive(Debug, Default)]
struct Clients {
    /// The client that it knows; none when it has forgotten the last one.
    known: Option<u64>,
    /// Number of clients so far.
    seen: u64,
    /// Client of each OPEN.
    opens: Vec<u64>,
    /// It knows no client for longer than one call.
    forgets_at_once: bool,
}

/// The first operation of a call that is not PUTFH, and the client that an OPEN names.
fn operation_of(record: &[u8]) -> (Option<Operation>, Option<u64>) {
    let mut reader = Reader::new(record);
    CallHeader::get(&mut reader).unwrap();
    let Ok(CallHead { count, .. }) = CallHead::get(&mut reader) else { return (None, None) };
    for _ in 0..count {
        match get_operation(&mut reader).unwrap() {
            Some(Operation::PutFh) => drop(PutFh::get(&mut reader).unwrap()),
            Some(Operation::Open) => {
                return (Some(Operation::Open), Some(Open::get(&mut reader).unwrap().owner.client_id));
            }
            operation => return (operation, None),
        }
    }
    (None, None)
}

/// The reply to an OPEN of a client that the server does not know.
fn stale(reply: &mut Vec<u8>) {
    reply.truncate(RPC_HEAD);
    let status = Nfs4Status::StaleClientid.code();
    for word in [status, 0, 2, Operation::PutFh as u32, 0, Operation::Open as u32, status] {
        reply.extend(word.to_be_bytes());
    }
    let length = (reply.len() - 4) as u32 | 0x8000_0000;
    reply[..4].copy_from_slice(&length.to_be_bytes());
}

fn change(record: &[u8], reply: &mut Vec<u8>, clients: &mut Clients) {
    match operation_of(record) {
        (Some(Operation::SetClientId), _) => {
            clients.seen += 1;
            clients.known = Some(clients.seen);
            reply[CLIENT_ID_AT..CLIENT_ID_AT + 8].copy_from_slice(&clients.seen.to_be_bytes());
        }
        (_, Some(client)) => {
            clients.opens.push(client);
            if clients.forgets_at_once {
                clients.known = None;
            }
            if clients.known != Some(client) {
                stale(reply);
            }
        }
        _ => {}
    }
}

fn server() -> (SocketAddr, Arc<Mutex<Clients>>) {
    let clients = Arc::new(Mutex::new(Clients::default()));
    let shared = Arc::clone(&clients);
    let (address, _) =
        changing_by_call(move |record, reply| change(record, reply, &mut shared.lock().unwrap()));
    (address, clients)
}

async fn connect(address: SocketAddr) -> Box<dyn Session> {
    let text = format!("nfs://{address}/export?vers=4.0");
    let target = NfsTarget::from_url(TargetUrl::parse(&text).unwrap()).unwrap();
    target.connect(&SessionSpec { slots: 1, slot_bytes: 4096, ..SessionSpec::default() }).await.unwrap()
}

#[tokio::test]
async fn a_repeated_open_names_the_new_client() {
    let (address, clients) = server();
    let mut session = connect(address).await;
    clients.lock().unwrap().known = None;
    call(&mut *session, MetaOp::open("data", OpenHow::Read)).await.unwrap();
    assert_eq!(clients.lock().unwrap().opens, [1, 2]);
    assert_eq!(session.facts()[Fact::ClientsReplaced], "1");
}

#[tokio::test]
async fn a_server_that_forgets_each_client_is_reported_with_its_status() {
    let (address, clients) = server();
    let mut session = connect(address).await;
    clients.lock().unwrap().forgets_at_once = true;
    let error = call(&mut *session, MetaOp::open("data", OpenHow::Read)).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Disconnected, "{error:?}");
    assert!(error.detail.contains("STALE_CLIENTID"), "{error:?}");
    assert_eq!(clients.lock().unwrap().opens, [1, 2]);
}

/// The first operation of a call.
fn first_operation(record: &[u8]) -> Option<Operation> {
    let mut reader = Reader::new(record);
    CallHeader::get(&mut reader).unwrap();
    CallHead::get(&mut reader).ok()?;
    get_operation(&mut reader).unwrap()
}

/// Replaces a reply by one whose first operation fails.
fn fail_first(reply: &mut Vec<u8>, operation: Operation, status: Nfs4Status) {
    reply.truncate(RPC_HEAD);
    for word in [status.code(), 0, 1, operation as u32, status.code()] {
        reply.extend(word.to_be_bytes());
    }
    let length = (reply.len() - 4) as u32 | 0x8000_0000;
    reply[..4].copy_from_slice(&length.to_be_bytes());
}

/// A server, the flag that makes it reject calls, and the number of results of each of its replies.
pub(super) type RejectingServer = (SocketAddr, Arc<Mutex<bool>>, Arc<Mutex<Vec<u32>>>);

/// A server that rejects each call of one kind with a status as soon as the flag is set.
pub(super) fn rejecting(operation: Operation, status: Nfs4Status) -> RejectingServer {
    let rejects = Arc::new(Mutex::new(false));
    let shared = Arc::clone(&rejects);
    let (address, counts) = changing_by_call(move |record, reply| {
        if *shared.lock().unwrap() && first_operation(record) == Some(operation) {
            fail_first(reply, operation, status);
        }
    });
    (address, rejects, counts)
}

/// What a session needs when its client is new, with the statuses by which a server states that it does not know the client.
const REJECTIONS: [(u32, Operation, Nfs4Status); 12] = [
    (0, Operation::SetClientId, Nfs4Status::StaleClientid),
    (0, Operation::SetClientId, Nfs4Status::Expired),
    (0, Operation::SetClientIdConfirm, Nfs4Status::StaleClientid),
    (1, Operation::Sequence, Nfs4Status::Badsession),
    (1, Operation::Sequence, Nfs4Status::Deadsession),
    (1, Operation::Sequence, Nfs4Status::StaleClientid),
    (1, Operation::Sequence, Nfs4Status::Expired),
    (1, Operation::ExchangeId, Nfs4Status::StaleClientid),
    (1, Operation::CreateSession, Nfs4Status::StaleClientid),
    (2, Operation::Sequence, Nfs4Status::Badsession),
    (2, Operation::CreateSession, Nfs4Status::Badsession),
    (2, Operation::ExchangeId, Nfs4Status::Expired),
];

#[tokio::test]
async fn a_server_that_rejects_the_new_client_too_is_not_asked_without_end() {
    for (minor, operation, status) in REJECTIONS {
        let (address, rejects, counts) = rejecting(operation, status);
        *rejects.lock().unwrap() = true;
        let text = format!("nfs://{address}/export?vers=4.{minor}");
        let target = NfsTarget::from_url(TargetUrl::parse(&text).unwrap()).unwrap();
        let spec = SessionSpec { slots: 1, slot_bytes: 4096, ..SessionSpec::default() };
        let error = target.connect(&spec).await.err().unwrap();
        let calls = counts.lock().unwrap().len();
        assert!(calls <= 4, "4.{minor} {operation:?} {status:?}: {calls} calls, {error:?}");
    }
}

#[tokio::test]
async fn a_server_that_begins_to_reject_each_new_client_fails_the_operation() {
    // A server of minor version 0 rejects the operation too, so that the client replaces itself.
    let later = REJECTIONS.iter().filter(|(_, operation, _)| *operation == Operation::Sequence);
    for (minor, operation, status) in later.copied() {
        let (address, rejects, counts) = rejecting(operation, status);
        let text = format!("nfs://{address}/export?vers=4.{minor}");
        let target = NfsTarget::from_url(TargetUrl::parse(&text).unwrap()).unwrap();
        let spec = SessionSpec { slots: 1, slot_bytes: 4096, ..SessionSpec::default() };
        let mut session = target.connect(&spec).await.unwrap();
        *rejects.lock().unwrap() = true;
        let before = counts.lock().unwrap().len();
        let error = call(&mut *session, MetaOp::Stat { path: "data".into() }).await.unwrap_err();
        assert_eq!(error.class, ErrorClass::Disconnected, "4.{minor} {status:?}: {error:?}");
        assert!(error.detail.contains(&status.to_string()), "4.{minor} {status:?}: {error:?}");
        // The rejected call, EXCHANGE_ID, CREATE_SESSION and RECLAIM_COMPLETE.
        assert_eq!(counts.lock().unwrap().len() - before, 4, "4.{minor} {status:?}");
    }
}

#[tokio::test]
async fn a_server_of_minor_version_0_that_rejects_each_new_client_fails_the_operation() {
    let forgets = Arc::new(Mutex::new(false));
    let shared = Arc::clone(&forgets);
    let (address, counts) = changing_by_call(move |record, reply| {
        if *shared.lock().unwrap()
            && let Some(operation @ (Operation::SetClientId | Operation::PutFh)) = first_operation(record)
        {
            fail_first(reply, operation, Nfs4Status::StaleClientid);
        }
    });
    let mut session = connect(address).await;
    *forgets.lock().unwrap() = true;
    let before = counts.lock().unwrap().len();
    let error = call(&mut *session, MetaOp::Stat { path: "data".into() }).await.unwrap_err();
    assert!(error.detail.contains("STALE_CLIENTID"), "{error:?}");
    assert_eq!(counts.lock().unwrap().len() - before, 2, "the operation and SETCLIENTID: {error:?}");
}
