//! Byte-range locks, and clients that wait for one.

use sharebench_nfs::v4::callback::NotifyLock;
use sharebench_nfs::v4::data::StateId;
use sharebench_nfs::v4::item::{Item, Opaque};
use sharebench_nfs::v4::lock::{Denied, KnownLocker, Lock, LockKind, LockTest, Locker, NewLocker, Unlock};
use sharebench_nfs::v4::open::StateOwner;
use sharebench_nfs::v4::operation::Operation;
use sharebench_nfs::v4::status::Nfs4Status;
use sharebench_nfs::xdr::Reader;

use super::client::{Client, Results, Server};

fn lock(client: &mut Client<'_>, open: StateId, kind: LockKind, (offset, length): (u64, u64)) -> Results {
    let owner = StateOwner { client_id: client.id, owner: Opaque(b"locker") };
    let locker = NewLocker { open_sequence: 0, open_state: open, lock_sequence: 0, owner };
    let lock = Lock { kind, reclaim: false, offset, length, locker: Locker::New(locker) };
    client.call(|call| call.path(&["export", "f"]).add(Operation::Lock, &lock).done())
}

fn unlock(client: &mut Client<'_>, state: StateId, (offset, length): (u64, u64)) -> Results {
    let unlock = Unlock { kind: LockKind::Write, sequence: 0, state, offset, length };
    client.call(|call| call.path(&["export", "f"]).add(Operation::LockU, &unlock).done())
}

#[test]
fn a_conflicting_lock_is_denied_with_its_holder_until_it_is_unlocked() {
    let server = Server::new();
    let mut one = Client::new(&server, "one");
    let mut two = Client::new(&server, "two");
    let opened = [one.create("f"), two.create("f")];
    let held: StateId = lock(&mut one, opened[0], LockKind::Write, (10, 10)).decode(Operation::Lock);
    let denied = lock(&mut two, opened[1], LockKind::Read, (0, u64::MAX));
    assert_eq!(denied.status, Some(Nfs4Status::Denied));
    let holder = Denied::get(&mut Reader::new(denied.last(Operation::Lock))).unwrap();
    assert_eq!((holder.offset, holder.length, holder.owner.client_id), (10, 10, one.id));
    let owner = StateOwner { client_id: two.id, owner: Opaque(b"other") };
    let test = LockTest { kind: LockKind::Write, offset: 0, length: 10, owner };
    let free = two.call(|call| call.path(&["export", "f"]).add(Operation::LockT, &test).done());
    assert_eq!(free.status, None, "no byte in common");
    let freed: StateId = unlock(&mut one, held, (0, u64::MAX)).decode(Operation::LockU);
    assert_eq!(freed.sequence, held.sequence + 1);
    assert_eq!(lock(&mut two, opened[1], LockKind::Read, (0, u64::MAX)).status, None);
    assert_eq!(lock(&mut one, opened[0], LockKind::Write, (5, 0)).status, Some(Nfs4Status::Inval));
}

#[test]
fn an_owner_that_waits_is_called_when_its_lock_is_available() {
    let server = Server::new();
    let mut one = Client::new(&server, "one");
    let mut two = Client::new(&server, "two");
    let opened = [one.create("f"), two.create("f")];
    let held: StateId = lock(&mut one, opened[0], LockKind::Write, (0, 100)).decode(Operation::Lock);
    assert_eq!(lock(&mut two, opened[1], LockKind::WriteWait, (50, 10)).status, Some(Nfs4Status::Denied));
    let held: StateId = unlock(&mut one, held, (0, 50)).decode(Operation::LockU);
    assert!(two.callbacks.try_recv().is_err(), "the wanted range is still locked");
    unlock(&mut one, held, (50, 50));
    let record = two.callbacks.try_recv().unwrap();
    // The owner is at the end of the callback, after the handle.
    let tail = &record[record.len() - (4 + 28 + 8 + 4 + 8)..];
    let notified = NotifyLock::get(&mut Reader::new(tail)).unwrap();
    assert_eq!((notified.owner.client_id, notified.owner.owner), (two.id, Opaque(b"locker")));
    assert_eq!(lock(&mut two, opened[1], LockKind::WriteWait, (50, 10)).status, None);
}

#[test]
fn a_known_owner_extends_its_locks_and_a_close_releases_them() {
    let server = Server::new();
    let mut one = Client::new(&server, "one");
    let mut two = Client::new(&server, "two");
    let opened = [one.create("f"), two.create("f")];
    let held: StateId = lock(&mut one, opened[0], LockKind::Write, (0, 1)).decode(Operation::Lock);
    let known = Locker::Known(KnownLocker { lock_state: held, lock_sequence: 0 });
    let more = Lock { kind: LockKind::Write, reclaim: false, offset: 7, length: 1, locker: known };
    let results = one.call(|call| call.path(&["export", "f"]).add(Operation::Lock, &more).done());
    assert_eq!(results.decode::<StateId>(Operation::Lock).sequence, 2);
    assert_eq!(lock(&mut two, opened[1], LockKind::Read, (7, 1)).status, Some(Nfs4Status::Denied));
    let close = sharebench_nfs::v4::data::Close { sequence: 0, state: opened[0] };
    one.call(|call| call.path(&["export", "f"]).add(Operation::Close, &close).done());
    assert_eq!(lock(&mut two, opened[1], LockKind::Read, (7, 1)).status, None);
}

#[test]
fn the_locks_of_a_file_are_bounded() {
    let server = Server::new();
    let mut one = Client::new(&server, "one");
    let opened = one.create("f");
    let max = crate::nfs::v4::limits::MAX_LOCKS_PER_FILE as u64;
    let refused = (0..=max).find_map(|at| lock(&mut one, opened, LockKind::Write, (2 * at, 1)).status);
    assert_eq!(refused, Some(Nfs4Status::Resource));
}
