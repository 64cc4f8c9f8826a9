//! Sessions: exactly-once semantics, connections, limits, and calls outside them.

use sharebench_nfs::v4::attribute_types::FileType;
use sharebench_nfs::v4::attributes::SetAttributes;
use sharebench_nfs::v4::item::Opaque;
use sharebench_nfs::v4::names::{Create, NewObject, Remove};
use sharebench_nfs::v4::operation::Operation;
use sharebench_nfs::v4::session::{
    BIND_FORE_OR_BOTH, BindConnection, BoundConnection, ChannelLimits, CreateSession, DestroyClientId,
    DestroySession,
};
use sharebench_nfs::v4::status::Nfs4Status;

use super::client::{Client, LEASE, Operations, Server, limits};
use crate::nfs::v4::Peer;

fn remove(name: &'static str) -> impl Fn(&mut Operations) {
    move |call| {
        call.path(&["export"]).add(Operation::Remove, &Remove { name: Opaque(name.as_bytes()) }).done();
    }
}

fn make_directory(call: &mut Operations, name: &str) {
    let object = NewObject::Plain(FileType::Directory);
    let create = Create { object, name: Opaque(name.as_bytes()), attributes: SetAttributes::default() };
    call.path(&["export"]).add(Operation::Create, &create);
}

#[test]
fn a_repeated_call_is_answered_from_the_slot_and_not_executed_twice() {
    let server = Server::new();
    let mut client = Client::new(&server, "one");
    client.create("f");
    let first = client.call(remove("f"));
    assert_eq!(first.status, None);
    let again = client.repeat(remove("f"));
    assert_eq!((again.status, again.body == first.body), (None, true), "the kept reply");
    assert_eq!(client.call(remove("f")).status, Some(Nfs4Status::Noent), "a new call is executed");
    // A repeated call on another connection gets the same reply.
    (client.peer, client.callbacks) = Peer::new();
    assert_eq!(client.repeat(remove("f")).status, Some(Nfs4Status::Noent));
    client.sequence += 5;
    assert_eq!(client.call(remove("f")).status, Some(Nfs4Status::SeqMisordered));
}

#[test]
fn operations_outside_of_a_session_and_unknown_ones_are_rejected() {
    let server = Server::new();
    let (peer, _callbacks) = Peer::new();
    let root = |call: &mut Operations| call.add(Operation::PutRootFh, &()).done();
    assert_eq!(server.call(&peer, 1, root).status, Some(Nfs4Status::OpNotInSession));
    assert_eq!(server.call(&peer, 0, root).status, None);
    let mismatch = server.call(&peer, 3, root);
    assert_eq!((mismatch.status, mismatch.count), (Some(Nfs4Status::MinorVersMismatch), 0));
    let seek = server.call(&peer, 0, |call| call.add(Operation::Seek, &()).done());
    assert_eq!((seek.status, seek.count), (Some(Nfs4Status::OpIllegal), 1));
    let mut client = Client::new(&server, "one");
    let sequence = client.next(false);
    client.sequence -= 1;
    let twice = client.call(|call| call.add(Operation::Sequence, &sequence).done());
    assert_eq!(twice.status, Some(Nfs4Status::SequencePos));
    let truncated = client.call(|call| call.add(Operation::PutFh, &5000u32).done());
    assert_eq!(truncated.status, Some(Nfs4Status::Badxdr));
    let many = client.call(|call| (0..40).for_each(|_| call.add(Operation::PutRootFh, &()).done()));
    assert_eq!(many.status, Some(Nfs4Status::TooManyOps));
}

#[test]
fn a_session_is_used_by_several_connections_and_destroyed_with_its_client() {
    let server = Server::new();
    let mut client = Client::new(&server, "one");
    let (second, _callbacks) = Peer::new();
    let bind = BindConnection { session: client.session, direction: BIND_FORE_OR_BOTH, rdma: false };
    let bound = server.call(&second, 2, |call| call.add(Operation::BindConnToSession, &bind).done());
    let bound: BoundConnection = bound.decode(Operation::BindConnToSession);
    assert_eq!(bound.direction, 3);
    let busy = DestroyClientId { client_id: client.id };
    let destroy = |call: &mut Operations| call.add(Operation::DestroyClientId, &busy).done();
    assert_eq!(server.call(&second, 2, destroy).status, Some(Nfs4Status::ClientidBusy));
    let session = DestroySession { session: client.session };
    let first = client.call(|call| call.add(Operation::DestroySession, &session).done());
    assert_eq!(first.status, None);
    assert_eq!(client.call(|_| {}).status, Some(Nfs4Status::Badsession));
    assert_eq!(server.call(&second, 2, destroy).status, None);
    assert_eq!(server.call(&second, 2, destroy).status, Some(Nfs4Status::StaleClientid));
}

#[test]
fn a_lease_that_is_not_renewed_ends_with_all_state() {
    let server = Server::new();
    let mut silent = Client::new(&server, "silent");
    silent.create("f");
    let mut active = Client::new(&server, "active");
    for _ in 0..3 {
        server.pass(LEASE / 2);
        assert_eq!(active.call(|_| {}).status, None);
    }
    assert_eq!(silent.call(|_| {}).status, Some(Nfs4Status::Badsession));
    let tables = server.state.v4.state.lock();
    assert_eq!((tables.clients.len(), tables.states.len(), tables.files.len()), (1, 0, 0));
}

#[test]
fn a_restarted_client_replaces_its_earlier_record_and_state() {
    let server = Server::new();
    let mut before = Client::new(&server, "one");
    before.create("f");
    let mut after = Client::connect(&server, "one", [2; 8]);
    assert_eq!(after.reclaim_complete(), None);
    assert_eq!(after.reclaim_complete(), Some(Nfs4Status::CompleteAlready));
    assert_eq!(before.call(|_| {}).status, Some(Nfs4Status::Badsession));
    assert_eq!(server.state.v4.state.lock().states.len(), 0);
}

#[test]
fn a_reply_that_a_slot_cannot_keep_is_an_error() {
    let server = Server::new();
    let mut client = Client::new(&server, "one");
    let state = client.create("f");
    assert_eq!(client.write("f", state, &[7; 8000]), None);
    assert_eq!(client.read("f", state), Err(Nfs4Status::RepTooBigToCache));
    client.call(|call| make_directory(call, "d"));
}

#[test]
fn limits_that_are_too_small_leave_the_sequence_of_a_client_as_it_is() {
    let server = Server::new();
    let client = Client::new(&server, "one");
    let back_channel = ChannelLimits { max_operations: 1, ..limits(1) };
    let mut create = CreateSession::without_callbacks(client.id, 2, limits(8), back_channel);
    let call = |create: &CreateSession| {
        server.call(&client.peer, 1, |call| call.add(Operation::CreateSession, create).done()).status
    };
    assert_eq!(call(&create), Some(Nfs4Status::Toosmall), "a callback has two operations");
    create.back_channel = ChannelLimits { max_request: 10, ..limits(1) };
    assert_eq!(call(&create), Some(Nfs4Status::Toosmall));
    create.back_channel = ChannelLimits { max_requests: 0, max_request: 0, ..limits(0) };
    assert_eq!(call(&create), None, "no callbacks");
}
