//! Minor version 0: client ids, and owners with sequences.

use std::sync::Arc;

use sharebench_nfs::v4::attributes::SetAttributes;
use sharebench_nfs::v4::client_id::{ClientIdConfirm, NetworkAddress, Renew, SetClientId};
use sharebench_nfs::v4::data::{Close, StateId};
use sharebench_nfs::v4::item::Opaque;
use sharebench_nfs::v4::lock::{KnownLocker, Lock, LockKind, Locker, NewLocker, ReleaseLockOwner};
use sharebench_nfs::v4::open::{
    DENY_NONE, Open, OpenClaim, OpenConfirm, OpenHow, Opened, RESULT_CONFIRM, SHARE_BOTH, StateOwner,
};
use sharebench_nfs::v4::operation::Operation;
use sharebench_nfs::v4::status::Nfs4Status;

use super::client::{LEASE, Operations, Results, Server};
use crate::nfs::v4::Peer;

pub(super) struct Client<'a> {
    server: &'a Server,
    peer: Arc<Peer>,
    id: u64,
    pub(super) owner: Vec<u8>,
}

impl<'a> Client<'a> {
    pub(super) fn new(server: &'a Server, name: &str) -> Self {
        let (peer, _) = Peer::new();
        let set = SetClientId {
            verifier: [1; 8],
            owner: Opaque(name.as_bytes()),
            callback_program: 0x4000_0000,
            callback_address: NetworkAddress { network: Opaque(b"tcp"), address: Opaque(b"127.0.0.1.0.1") },
            callback_ident: 1,
        };
        let results = server.call(&peer, 0, |call| call.add(Operation::SetClientId, &set).done());
        let confirm: ClientIdConfirm = results.decode(Operation::SetClientId);
        let results = server.call(&peer, 0, |call| call.add(Operation::SetClientIdConfirm, &confirm).done());
        assert_eq!(results.status, None);
        Self { server, peer, id: confirm.client_id, owner: b"owner".to_vec() }
    }

    fn call(&self, operations: impl FnOnce(&mut Operations)) -> Results {
        self.server.call(&self.peer, 0, operations)
    }

    pub(super) fn open(&self, name: &str, sequence: u32) -> Results {
        let owner = StateOwner { client_id: self.id, owner: Opaque(&self.owner) };
        let how = OpenHow::Unchecked(SetAttributes::default());
        let claim = OpenClaim::Name(Opaque(name.as_bytes()));
        let open = Open { sequence, access: SHARE_BOTH, deny: DENY_NONE, owner, how, claim };
        self.call(|call| call.path(&["export"]).add(Operation::Open, &open).done())
    }

    fn confirm(&self, name: &str, state: StateId, sequence: u32) -> Results {
        let confirm = OpenConfirm { state, sequence };
        self.call(|call| call.path(&["export", name]).add(Operation::OpenConfirm, &confirm).done())
    }

    pub(super) fn close(&self, name: &str, state: StateId, sequence: u32) -> Results {
        let close = Close { sequence, state };
        self.call(|call| call.path(&["export", name]).add(Operation::Close, &close).done())
    }
}

#[test]
fn an_owner_confirms_once_and_each_of_its_operations_is_executed_once() {
    let server = Server::new();
    let client = Client::new(&server, "one");
    let first = client.open("f", 5);
    let opened: Opened<'_> = first.decode(Operation::Open);
    assert_ne!(opened.flags & RESULT_CONFIRM, 0);
    let repeated = client.open("f", 5);
    assert_eq!(repeated.last(Operation::Open), first.last(Operation::Open), "the same result");
    assert_eq!(client.open("f", 9).status, Some(Nfs4Status::BadSeqid));
    let confirmed: StateId = client.confirm("f", opened.state, 6).decode(Operation::OpenConfirm);
    let second = client.open("g", 7);
    assert_eq!(second.decode::<Opened<'_>>(Operation::Open).flags & RESULT_CONFIRM, 0);
    let closed = client.close("f", confirmed, 8);
    assert_eq!(closed.status, None);
    assert_eq!(client.close("f", confirmed, 8).body, closed.body, "a repeated CLOSE");
    assert_eq!(client.close("f", confirmed, 9).status, Some(Nfs4Status::BadStateid));
}

#[test]
fn locks_have_a_sequence_of_their_own() {
    let server = Server::new();
    let client = Client::new(&server, "one");
    let state = client.open("f", 1).decode::<Opened<'_>>(Operation::Open).state;
    let state: StateId = client.confirm("f", state, 2).decode(Operation::OpenConfirm);
    let owner = StateOwner { client_id: client.id, owner: Opaque(b"locker") };
    let lock = |locker: Locker<'_>, offset| {
        let lock = Lock { kind: LockKind::Write, reclaim: false, offset, length: 1, locker };
        client.call(|call| call.path(&["export", "f"]).add(Operation::Lock, &lock).done())
    };
    let new = Locker::New(NewLocker { open_sequence: 3, open_state: state, lock_sequence: 100, owner });
    let held: StateId = lock(new, 0).decode(Operation::Lock);
    let known = |lock_sequence| Locker::Known(KnownLocker { lock_state: held, lock_sequence });
    assert_eq!(lock(known(100), 5).status, Some(Nfs4Status::BadSeqid));
    let more = lock(known(101), 5);
    assert_eq!(more.status, None);
    assert_eq!(lock(known(101), 5).body, more.body);
    let release = ReleaseLockOwner { owner };
    let results = client.call(|call| call.add(Operation::ReleaseLockOwner, &release).done());
    assert_eq!(results.status, Some(Nfs4Status::LocksHeld));
}

#[test]
fn renewals_keep_a_lease_and_without_them_it_ends() {
    let server = Server::new();
    let client = Client::new(&server, "one");
    let renew = Renew { client_id: client.id };
    for _ in 0..3 {
        server.pass(LEASE / 2);
        assert_eq!(client.call(|call| call.add(Operation::Renew, &renew).done()).status, None);
    }
    server.pass(LEASE * 2);
    let late = client.call(|call| call.add(Operation::Renew, &renew).done());
    assert_eq!(late.status, Some(Nfs4Status::StaleClientid));
    assert_eq!(client.open("f", 1).status, Some(Nfs4Status::StaleClientid));
}

#[test]
fn denied_locks_leave_no_owner() {
    let server = Server::new();
    let clients = [Client::new(&server, "one"), Client::new(&server, "two")];
    let opened = [0, 1].map(|index: usize| {
        let client = &clients[index];
        let state = client.open("f", 1).decode::<Opened<'_>>(Operation::Open).state;
        client.confirm("f", state, 2).decode::<StateId>(Operation::OpenConfirm)
    });
    let lock = |index: usize, open_sequence: u32, owner: &[u8]| {
        let owner = StateOwner { client_id: clients[index].id, owner: Opaque(owner) };
        let new = NewLocker { open_sequence, open_state: opened[index], lock_sequence: 1, owner };
        let locker = Locker::New(new);
        let lock = Lock { kind: LockKind::Write, reclaim: false, offset: 0, length: 1, locker };
        clients[index].call(|call| call.path(&["export", "f"]).add(Operation::Lock, &lock).done()).status
    };
    assert_eq!(lock(0, 3, b"holder"), None);
    assert_eq!(lock(1, 3, b"denied"), Some(Nfs4Status::Denied));
    let before = server.state_bytes();
    for number in 0..100u32 {
        assert_eq!(lock(1, number + 4, &number.to_be_bytes()), Some(Nfs4Status::Denied));
    }
    assert_eq!(server.state_bytes(), before);
}
