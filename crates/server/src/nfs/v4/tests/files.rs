//! Opens, share reservations, data and attributes.

use sharebench_nfs::v4::attribute_types::{SetTime, Time};
use sharebench_nfs::v4::attributes::{Attributes, SetAttributes};
use sharebench_nfs::v4::bitmap::Bitmap;
use sharebench_nfs::v4::data::{Close, StateId};
use sharebench_nfs::v4::item::Opaque;
use sharebench_nfs::v4::names::{Access, Accessible, GetAttr, SetAttr};
use sharebench_nfs::v4::open::{
    DENY_NONE, ExclusiveCreate, OpenDowngrade, OpenHow, Opened, SHARE_BOTH, SHARE_READ, SHARE_WRITE,
    WANT_NO_DELEGATION,
};
use sharebench_nfs::v4::operation::Operation;
use sharebench_nfs::v4::status::Nfs4Status;

use super::client::{Client, Server};

const DENY_WRITE: u32 = 2;

#[test]
fn written_bytes_are_read_under_an_open_and_not_after_its_close() {
    let server = Server::new();
    let mut client = Client::new(&server, "one");
    let state = client.create("f");
    assert_eq!(client.write("f", state, b"hello"), None);
    assert_eq!(client.read("f", state).as_deref(), Ok(&b"hello"[..]));
    let newer = StateId { sequence: state.sequence + 1, ..state };
    assert_eq!(client.read("f", newer), Err(Nfs4Status::BadStateid));
    assert_eq!(client.read("f", StateId::ANONYMOUS).as_deref(), Ok(&b"hello"[..]));
    let close = Close { sequence: 0, state };
    let closed = client.call(|call| call.path(&["export", "f"]).add(Operation::Close, &close).done());
    assert_eq!(closed.status, None);
    assert_eq!(client.read("f", state), Err(Nfs4Status::BadStateid));
    assert_eq!(server.state.counters.counts(0).bytes_read, 10);
}

#[test]
fn share_reservations_exclude_opens_of_all_owners_and_a_downgrade_gives_way() {
    let server = Server::new();
    let mut one = Client::new(&server, "one");
    let mut two = Client::new(&server, "two");
    let close = Close { sequence: 0, state: one.create("f") };
    one.call(|call| call.path(&["export", "f"]).add(Operation::Close, &close).done());
    // Without a delegation, of which an open for writing would wait for the return.
    let reading = SHARE_READ | WANT_NO_DELEGATION;
    one.open("f", OpenHow::Existing, reading, DENY_NONE);
    let both = one.open("f", OpenHow::Existing, reading, DENY_WRITE);
    let state = both.decode::<Opened<'_>>(Operation::Open).state;
    for client in [&mut one, &mut two] {
        let denied = client.open("f", OpenHow::Existing, SHARE_WRITE, DENY_NONE);
        assert_eq!(denied.status, Some(Nfs4Status::ShareDenied), "also of the same owner");
    }
    assert_eq!(two.write("f", StateId::ANONYMOUS, b"x"), Some(Nfs4Status::Locked));
    let downgrade = OpenDowngrade { state, sequence: 0, access: SHARE_READ, deny: DENY_NONE };
    let lowered =
        one.call(|call| call.path(&["export", "f"]).add(Operation::OpenDowngrade, &downgrade).done());
    assert_eq!(lowered.status, None);
    assert_eq!(two.open("f", OpenHow::Existing, SHARE_WRITE, DENY_NONE).status, None);
    assert_eq!(one.write("f", state, b"x"), Some(Nfs4Status::OldStateid));
}

#[test]
fn creates_are_guarded_exclusive_or_neither() {
    let server = Server::new();
    let mut client = Client::new(&server, "one");
    let state = client.create("f");
    client.write("f", state, b"content");
    let guarded = OpenHow::Guarded(SetAttributes::default());
    assert_eq!(client.open("f", guarded, SHARE_READ, 0).status, Some(Nfs4Status::Exist));
    let truncating = OpenHow::Unchecked(SetAttributes { size: Some(0), ..SetAttributes::default() });
    assert_eq!(client.open("f", truncating, SHARE_BOTH, 0).status, None);
    assert_eq!(client.read("f", StateId::ANONYMOUS).as_deref(), Ok(&b""[..]));
    let exclusive =
        |verifier| OpenHow::ExclusiveWith(ExclusiveCreate { verifier, attributes: SetAttributes::default() });
    for expected in [None, None] {
        assert_eq!(client.open("x", exclusive([5; 8]), SHARE_BOTH, 0).status, expected, "the same verifier");
    }
    assert_eq!(client.open("x", exclusive([6; 8]), SHARE_BOTH, 0).status, Some(Nfs4Status::Exist));
    assert_eq!(client.open("none", OpenHow::Existing, SHARE_READ, 0).status, Some(Nfs4Status::Noent));
    assert_eq!(client.open("x", OpenHow::Existing, 0, 0).status, Some(Nfs4Status::Inval));
}

fn attributes(client: &mut Client<'_>, path: &[&str], wanted: &[u32]) -> (Vec<u8>, Option<Nfs4Status>) {
    let wanted = GetAttr { wanted: Bitmap::from_numbers(wanted) };
    let results = client.call(|call| call.path(path).add(Operation::GetAttr, &wanted).done());
    let body = results.status.is_none().then(|| results.last(Operation::GetAttr).to_vec());
    (body.unwrap_or_default(), results.status)
}

fn decode(bytes: &[u8]) -> Attributes<'_> {
    sharebench_nfs::v4::item::Item::get(&mut sharebench_nfs::xdr::Reader::new(bytes)).unwrap()
}

#[test]
fn attributes_are_set_and_read_and_the_change_number_grows() {
    let server = Server::new();
    let mut client = Client::new(&server, "one");
    let state = client.create("f");
    let wanted = [0, 1, 3, 4, 8, 12, 20, 33, 35, 36, 42, 48 - 1, 52, 53, 75];
    let before = attributes(&mut client, &["export", "f"], &wanted).0;
    let before = decode(&before);
    let then = Time { seconds: 981_173_106, nanos: 5 };
    let set = SetAttributes {
        size: Some(10),
        mode: Some(0o604),
        owner: Some(Opaque(b"1000")),
        modified: Some(SetTime::ClientTime(then)),
        ..SetAttributes::default()
    };
    let set = SetAttr { state, attributes: set };
    let results = client.call(|call| call.path(&["export", "f"]).add(Operation::SetAttr, &set).done());
    assert_eq!(results.decode::<Bitmap>(Operation::SetAttr), set.attributes.mask());
    let after = attributes(&mut client, &["export", "f"], &wanted).0;
    let after = decode(&after);
    assert!(after.change > before.change);
    assert_eq!((after.size, after.mode, after.modified), (Some(10), Some(0o604), Some(then)));
    assert_eq!((after.owner, after.links, after.file_id), (Some(Opaque(b"1000")), Some(1), before.file_id));
    assert_eq!(after.acl.map(|acl| acl.len()), Some(5));
    assert!(after.supported.is_some_and(|known| known.contains(75)));
    // What is set only cannot be read, and unknown owners are rejected.
    assert_eq!(attributes(&mut client, &["export", "f"], &[48]).1, Some(Nfs4Status::Inval));
    let owner = SetAttributes { owner: Some(Opaque(b"root@x")), ..SetAttributes::default() };
    let bad = SetAttr { state, attributes: owner };
    let results = client.call(|call| call.path(&["export", "f"]).add(Operation::SetAttr, &bad).done());
    assert_eq!(results.status, Some(Nfs4Status::Badowner));
    assert_eq!(results.last(Operation::SetAttr), [0; 4], "nothing was set");
}

#[test]
fn the_directories_above_the_export_are_another_file_system_and_read_only() {
    let server = Server::new();
    let mut client = Client::new(&server, "one");
    let root = attributes(&mut client, &[], &[1, 8, 20]).0;
    let export = attributes(&mut client, &["export"], &[1, 8, 20]).0;
    assert_ne!(decode(&root).fs_id, decode(&export).fs_id);
    assert_eq!(attributes(&mut client, &["elsewhere"], &[1]).1, Some(Nfs4Status::Noent));
    let access = Access { wanted: 0x1f };
    let granted = client.call(|call| call.path(&[]).add(Operation::Access, &access).done());
    assert_eq!(granted.decode::<Accessible>(Operation::Access).granted, 3);
    let open = client.open_args("f", OpenHow::Unchecked(SetAttributes::default()), SHARE_BOTH, 0);
    let created = client.call(|call| call.path(&[]).add(Operation::Open, &open).done());
    assert_eq!(created.status, Some(Nfs4Status::Rofs));
}
