//! Names: directories, links, renames, listings.

use sharebench_nfs::v4::attribute_types::FileType;
use sharebench_nfs::v4::attributes::SetAttributes;
use sharebench_nfs::v4::bitmap::Bitmap;
use sharebench_nfs::v4::item::Opaque;
use sharebench_nfs::v4::listing::{ReadDir, get_listing};
use sharebench_nfs::v4::names::{Create, Link, LinkContent, NewObject, Remove, Rename, Renamed};
use sharebench_nfs::v4::operation::Operation;
use sharebench_nfs::v4::status::Nfs4Status;
use sharebench_nfs::xdr::Reader;

use super::client::{Client, Server};

fn create(client: &mut Client<'_>, name: &str, object: NewObject<'_>) -> Option<Nfs4Status> {
    let create = Create { object, name: Opaque(name.as_bytes()), attributes: SetAttributes::default() };
    client.call(|call| call.path(&["export"]).add(Operation::Create, &create).done()).status
}

#[test]
fn a_symbolic_link_is_read_and_never_followed() {
    let server = Server::new();
    let mut client = Client::new(&server, "one");
    let target = b"../../etc/passwd";
    assert_eq!(create(&mut client, "link", NewObject::SymbolicLink(Opaque(target))), None);
    let results = client.call(|call| call.path(&["export", "link"]).add(Operation::ReadLink, &()).done());
    assert_eq!(results.decode::<LinkContent<'_>>(Operation::ReadLink).content, Opaque(target));
    let below = client.call(|call| call.path(&["export", "link", "x"]).done());
    assert_eq!(below.status, Some(Nfs4Status::Symlink));
    let open = client.open("link", sharebench_nfs::v4::open::OpenHow::Existing, 1, 0);
    assert_eq!(open.status, Some(Nfs4Status::Symlink));
}

#[test]
fn a_hard_link_is_the_same_file_until_its_last_name_is_removed() {
    let server = Server::new();
    let mut client = Client::new(&server, "one");
    let state = client.create("f");
    client.write("f", state, b"linked");
    let link = Link { name: Opaque(b"g") };
    let results = client.call(|call| {
        call.path(&["export", "f"]).add(Operation::SaveFh, &());
        call.path(&["export"]).add(Operation::Link, &link);
    });
    assert_eq!(results.status, None);
    let remove = Remove { name: Opaque(b"f") };
    assert_eq!(
        client.call(|call| call.path(&["export"]).add(Operation::Remove, &remove).done()).status,
        None
    );
    assert_eq!(client.read("g", state).as_deref(), Ok(&b"linked"[..]));
}

#[test]
fn a_rename_replaces_only_what_it_may() {
    let server = Server::new();
    let mut client = Client::new(&server, "one");
    client.create("f");
    client.create("g");
    assert_eq!(create(&mut client, "d", NewObject::Plain(FileType::Directory)), None);
    let mut rename = |from: &str, to: &str| {
        let rename = Rename { from: Opaque(from.as_bytes()), to: Opaque(to.as_bytes()) };
        let results = client.call(|call| {
            call.path(&["export"]).add(Operation::SaveFh, &()).add(Operation::Rename, &rename);
        });
        results.status
    };
    assert_eq!(rename("f", "g"), None);
    assert_eq!(rename("f", "h"), Some(Nfs4Status::Noent));
    assert_eq!(rename("g", "d"), Some(Nfs4Status::Exist));
    assert_eq!(rename("d", "g"), Some(Nfs4Status::Exist));
    assert_eq!(rename("d", ".."), Some(Nfs4Status::Badname));
    assert_eq!(rename("d", "e"), None);
}

#[test]
fn a_listing_continues_with_its_verifier_only() {
    let server = Server::new();
    let mut client = Client::new(&server, "one");
    let mut expected: Vec<String> = (0..100).map(|number| format!("file{number}")).collect();
    for name in &expected {
        client.create(name);
    }
    let mut names = Vec::new();
    let mut cookie = 0;
    let mut verifier = [0; 8];
    loop {
        let page = ReadDir {
            cookie,
            verifier,
            directory_bytes: 1000,
            max_bytes: 1000,
            wanted: Bitmap::from_numbers(&[1, 4, 20, 33]),
        };
        let results = client.call(|call| call.path(&["export"]).add(Operation::ReadDir, &page).done());
        assert_eq!(results.status, None);
        let body = results.last(Operation::ReadDir);
        assert!(body.len() <= 1000, "{}", body.len());
        let (given, end) = get_listing(&mut Reader::new(body), |entry| {
            assert_eq!(entry.attributes.kind, Some(FileType::Regular));
            names.push(String::from_utf8(entry.name.0.to_vec()).unwrap());
            cookie = entry.cookie;
        })
        .unwrap();
        verifier = given;
        if end {
            break;
        }
    }
    names.sort();
    expected.sort();
    assert_eq!(names, expected);
    let mut list = |cookie, verifier, max_bytes| {
        let wanted = Bitmap::default();
        let page = ReadDir { cookie, verifier, directory_bytes: 0, max_bytes, wanted };
        client.call(|call| call.path(&["export"]).add(Operation::ReadDir, &page).done()).status
    };
    assert_eq!(list(cookie, [9; 8], 1000), Some(Nfs4Status::NotSame));
    assert_eq!(list(1, verifier, 1000), Some(Nfs4Status::BadCookie));
    assert_eq!(list(0, [0; 8], 20), Some(Nfs4Status::Toosmall));
}

#[test]
fn a_rename_of_a_file_onto_itself_or_its_link_changes_nothing() {
    let server = Server::new();
    let mut client = Client::new(&server, "one");
    client.create("f");
    let link = Link { name: Opaque(b"g") };
    client.call(|call| {
        call.path(&["export", "f"]).add(Operation::SaveFh, &());
        call.path(&["export"]).add(Operation::Link, &link);
    });
    for to in [&b"f"[..], b"g"] {
        let rename = Rename { from: Opaque(b"f"), to: Opaque(to) };
        let results = client.call(|call| {
            call.path(&["export"]).add(Operation::SaveFh, &()).add(Operation::Rename, &rename);
        });
        let Renamed { from, to } = results.decode(Operation::Rename);
        assert_eq!((from.before, to.before), (from.after, to.after));
    }
    assert_eq!(server.state.volume.list(crate::ROOT, 0, 10).unwrap().len(), 2);
}
