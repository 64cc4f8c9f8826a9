//! Read delegations: granted, recalled by changes over every way, and revoked.

use sharebench_nfs::v4::callback::Recall;
use sharebench_nfs::v4::data::StateId;
use sharebench_nfs::v4::item::Item;
use sharebench_nfs::v4::open::{
    DENY_NONE, DelegReturn, Delegation, NOT_WANTED, OpenHow, Opened, SHARE_BOTH, SHARE_READ, SHARE_WRITE,
    WANT_NO_DELEGATION,
};
use sharebench_nfs::v4::operation::Operation;
use sharebench_nfs::v4::session::FreeStateId;
use sharebench_nfs::v4::session::Sequenced;
use sharebench_nfs::v4::status::Nfs4Status;
use sharebench_nfs::xdr::Reader;

use super::client::{Client, LEASE, Server};
use crate::ROOT;

/// A client that has a file delegated, and one that wants to change it.
fn delegated(server: &Server) -> (Client<'_>, StateId, Client<'_>) {
    let mut writer = Client::new(server, "writer");
    let state = writer.create("f");
    let close = sharebench_nfs::v4::data::Close { sequence: 0, state };
    writer.call(|call| call.path(&["export", "f"]).add(Operation::Close, &close).done());
    let mut reader = Client::new(server, "reader");
    let opened = reader.open("f", OpenHow::Existing, SHARE_READ, DENY_NONE);
    let delegation = opened.decode::<Opened<'_>>(Operation::Open).delegation.state().unwrap();
    (reader, delegation, writer)
}

fn recalled(client: &mut Client<'_>) -> StateId {
    let record = client.callbacks.try_recv().unwrap();
    let tail = &record[record.len() - (16 + 4 + 4 + 28)..];
    Recall::get(&mut Reader::new(tail)).unwrap().state
}

fn give_back(client: &mut Client<'_>, state: StateId) -> Option<Nfs4Status> {
    let give_back = DelegReturn { state };
    client.call(|call| call.path(&["export", "f"]).add(Operation::DelegReturn, &give_back).done()).status
}

#[test]
fn an_open_for_writing_waits_until_the_delegation_is_returned() {
    let server = Server::new();
    let (mut reader, delegation, mut writer) = delegated(&server);
    assert_eq!(reader.read("f", delegation).as_deref(), Ok(&b""[..]));
    let wait = writer.open("f", OpenHow::Existing, SHARE_WRITE, DENY_NONE);
    assert_eq!(wait.status, Some(Nfs4Status::Delay));
    assert_eq!(recalled(&mut reader), delegation);
    assert_eq!(
        writer.open("f", OpenHow::Existing, SHARE_READ, DENY_NONE).status,
        None,
        "readers do not wait"
    );
    assert!(reader.callbacks.try_recv().is_err(), "it is recalled once");
    assert_eq!(give_back(&mut reader, delegation), None);
    assert_eq!(writer.open("f", OpenHow::Existing, SHARE_WRITE, DENY_NONE).status, None);
    let again = reader.open("f", OpenHow::Existing, SHARE_READ, DENY_NONE);
    assert_eq!(again.decode::<Opened<'_>>(Operation::Open).delegation.state(), None, "it is being written");
}

#[test]
fn a_delegation_that_is_not_returned_within_the_lease_is_revoked() {
    let server = Server::new();
    let (mut reader, delegation, mut writer) = delegated(&server);
    assert_eq!(writer.open("f", OpenHow::Existing, SHARE_BOTH, DENY_NONE).status, Some(Nfs4Status::Delay));
    for _ in 0..3 {
        server.pass(LEASE / 2);
        assert_eq!((reader.call(|_| {}).status, writer.call(|_| {}).status), (None, None));
    }
    assert_eq!(writer.open("f", OpenHow::Existing, SHARE_BOTH, DENY_NONE).status, None);
    assert_eq!(reader.read("f", delegation), Err(Nfs4Status::DelegRevoked));
    let status =
        |client: &mut Client<'_>| client.call(|_| {}).decode::<Sequenced>(Operation::Sequence).status_flags;
    assert_eq!(status(&mut reader), 0x40);
    let free = FreeStateId { state: delegation };
    assert_eq!(reader.call(|call| call.add(Operation::FreeStateId, &free).done()).status, None);
    assert_eq!(status(&mut reader), 0);
}

#[test]
fn a_change_over_another_protocol_recalls() {
    let server = Server::new();
    let (mut reader, delegation, _writer) = delegated(&server);
    let node = server.state.volume.lookup(ROOT, "f").unwrap().node;
    server.state.v4.changed_elsewhere(&server.state.handles, node);
    assert_eq!(recalled(&mut reader), delegation);
}

#[test]
fn a_client_that_wants_no_delegation_learns_that_this_is_why_it_has_none() {
    let server = Server::new();
    let mut client = Client::new(&server, "one");
    client.create("f");
    let opened = client.open("f", OpenHow::Existing, SHARE_READ | WANT_NO_DELEGATION, DENY_NONE);
    let opened: Opened<'_> = opened.decode(Operation::Open);
    assert_eq!(opened.delegation, Delegation::NoneBecause { reason: NOT_WANTED, later: false });
}
