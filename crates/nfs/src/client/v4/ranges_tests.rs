//! Copies on a server that copies asynchronously, and reads of holes on one that has none of the requests.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use sharebench_model::{ErrorClass, FileRef, MetaOp, MetaYield, OpError, OpenHow, SessionOp};
use sharebench_target::{Session, SessionSpec, Target, TargetUrl, call};

use super::whole_file_tests::{RPC_HEAD, changing};
use crate::client::NfsTarget;
use crate::protocol::StableHow;
use crate::v4::compound::{OK, ResultHead};
use crate::v4::data::StateId;
use crate::v4::item::Item;
use crate::v4::operation::Operation;
use crate::v4::sparse::{Copied, CopyRequirements, OffloadState, SegmentsHead};
use crate::v4::status::Nfs4Status;
use crate::xdr::Writer;

const COPY: StateId = StateId { sequence: 7, other: [9; 12] };
const REQUIREMENTS: CopyRequirements = CopyRequirements { consecutive: true, synchronous: false };

async fn opened(address: SocketAddr) -> (Box<dyn Session>, FileRef) {
    let text = format!("nfs://{address}/export?vers=4.2");
    let target = NfsTarget::from_url(TargetUrl::parse(&text).unwrap()).unwrap();
    let spec = SessionSpec { slots: 1, slot_bytes: 4096, ..SessionSpec::default() };
    let mut session = target.connect(&spec).await.unwrap();
    let open = MetaOp::open("data", OpenHow::ReadWrite);
    let (file, _) = call(&mut *session, open).await.unwrap().into_opened().unwrap();
    (session, file)
}

async fn copied(session: &mut dyn Session, file: FileRef, bytes: u64) -> Result<MetaYield, OpError> {
    call(session, SessionOp::CopyRange { from: file, to: file, offset: 0, bytes }).await
}

/// Code of the last result of a reply.
fn last_operation(reply: &[u8]) -> Option<u32> {
    let at = reply.len().checked_sub(8)?;
    Some(u32::from_be_bytes(*reply.get(at..)?.first_chunk()?))
}

/// Replaces the failure at the end of a reply by other results, which `put` appends; returns their number and the status.
fn replace_last(reply: &mut Vec<u8>, put: impl FnOnce(&mut Writer) -> (u32, u32)) {
    reply.truncate(reply.len() - 8);
    let mut writer = Writer::default();
    let (more, status) = put(&mut writer);
    reply.extend_from_slice(writer.as_slice());
    let count = u32::from_be_bytes(*reply[RPC_HEAD + 8..].first_chunk().unwrap()) - 1 + more;
    reply[RPC_HEAD..RPC_HEAD + 4].copy_from_slice(&status.to_be_bytes());
    reply[RPC_HEAD + 8..RPC_HEAD + 12].copy_from_slice(&count.to_be_bytes());
    let length = (reply.len() - 4) as u32 | 0x8000_0000;
    reply[..4].copy_from_slice(&length.to_be_bytes());
}

fn put_head(writer: &mut Writer, operation: Operation, status: u32) {
    ResultHead { operation: operation as u32, status }.put(writer);
}

/// Replaces the failed SAVEFH of a COPY by its results up to COPY.
fn answer_copy(reply: &mut Vec<u8>, result: Result<Copied, Nfs4Status>) {
    replace_last(reply, |writer| {
        put_head(writer, Operation::SaveFh, OK);
        put_head(writer, Operation::PutFh, OK);
        let status = result.as_ref().err().map_or(OK, |status| status.code());
        put_head(writer, Operation::Copy, status);
        match result {
            Ok(copied) => copied.put(writer),
            Err(_) => REQUIREMENTS.put(writer),
        }
        (3, status)
    });
}

const fn of_count(callback: Option<StateId>, count: u64) -> Copied {
    let committed = StableHow::Unstable;
    Copied { callback, count, committed, verifier: [1; 8], requirements: REQUIREMENTS }
}

#[tokio::test]
async fn a_copy_that_the_server_makes_asynchronously_is_waited_for() {
    let calls = Arc::new(Mutex::new((0, 0)));
    let counts = Arc::clone(&calls);
    let (address, _) = changing(move |reply| {
        let mut counts = counts.lock().unwrap();
        match last_operation(reply) {
            Some(code) if code == Operation::SaveFh as u32 => {
                counts.0 += 1;
                // The first one has to be synchronous.
                let first = counts.0 == 1;
                let copied = of_count(Some(COPY), 0);
                answer_copy(reply, if first { Err(Nfs4Status::OffloadNoReqs) } else { Ok(copied) });
            }
            Some(code) if code == Operation::OffloadStatus as u32 => {
                counts.1 += 1;
                let complete = (counts.1 == 3).then_some(OK);
                replace_last(reply, |writer| {
                    put_head(writer, Operation::OffloadStatus, OK);
                    OffloadState { count: 300, complete }.put(writer);
                    (1, OK)
                });
            }
            _ => {}
        }
    });
    let (mut session, file) = opened(address).await;
    assert_eq!(copied(&mut *session, file, 300).await, Ok(MetaYield::Bytes(300)));
    assert_eq!(*calls.lock().unwrap(), (2, 3));
}

#[tokio::test]
async fn a_server_that_reports_more_bytes_than_requested_breaks_the_protocol() {
    let (address, _) = changing(|reply| {
        if last_operation(reply) == Some(Operation::SaveFh as u32) {
            answer_copy(reply, Ok(of_count(None, 301)));
        }
    });
    let (mut session, file) = opened(address).await;
    let error = copied(&mut *session, file, 300).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Protocol, "{error}");
    assert!(error.detail.contains("301 bytes were copied where 300"), "{error}");
}

#[tokio::test]
async fn a_server_without_requests_for_holes_gets_each_of_them_once() {
    // Operations that the responder does not know fail as not supported.
    for is_empty in [false, true] {
        let (address, _) = changing(move |reply| {
            if is_empty && last_operation(reply) == Some(Operation::ReadPlus as u32) {
                replace_last(reply, |writer| {
                    put_head(writer, Operation::ReadPlus, OK);
                    SegmentsHead { eof: false, count: 0 }.put(writer);
                    (1, OK)
                });
            }
        });
        let (mut session, file) = opened(address).await;
        for requests in [2, 0] {
            let before = session.wire().requests;
            let read = call(&mut *session, SessionOp::ReadSparse { file, offset: 0, len: 4096 }).await;
            assert_eq!(read.unwrap_err().class, ErrorClass::Unsupported);
            assert_eq!(session.wire().requests - before, requests);
        }
    }
}
