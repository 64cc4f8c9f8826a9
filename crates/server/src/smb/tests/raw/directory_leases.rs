//! Leases of directories: when they are granted, and which changes break them.

use sharebench_smb::wire::create::access;
use sharebench_smb::wire::create_context::{CreateContext, name};
use sharebench_smb::wire::info::rename;
use sharebench_smb::wire::lease::{self, LEVEL, LeaseBreak, LeaseContext, PARENT_KEY_SET};
use sharebench_smb::wire::negotiate::NegotiateRequest;
use sharebench_smb::wire::oplock;

use super::leases::{EVERYTHING, acknowledge, broken, leased, open_with_lease};
use super::*;

const DIRECTORY_LEASING: u32 = 0x20;
/// Class of `FileBasicInformation`, `FileEndOfFileInformation` and `FileRenameInformation`.
const BASIC: u8 = 4;
const END_OF_FILE: u8 = 20;
const RENAME: u8 = 10;
/// Identities of two clients, and keys of leases of directories and of files.
const ALICE: [u8; 16] = [1; 16];
const BOB: [u8; 16] = [2; 16];
pub(super) const LISTING: [u8; 16] = [10; 16];
const OTHER_LISTING: [u8; 16] = [11; 16];
const CONTENT: [u8; 16] = [20; 16];
const OTHER_CONTENT: [u8; 16] = [21; 16];
pub(super) const READ_HANDLE: u32 = lease::READ | lease::HANDLE;

fn serve(leases: bool) -> SmbServer {
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new(16 << 20));
    let options = SmbServerOptions { leases, exclusive: true, ..SmbServerOptions::default() };
    SmbServer::start("127.0.0.1:0".parse().unwrap(), volume, options).unwrap()
}

/// A client of this dialect that announces these capabilities.
fn connect(addr: SocketAddr, client_guid: [u8; 16], (dialect, capabilities): (u16, u32)) -> (Raw, u32) {
    let mut raw = Raw::connect(addr);
    let request = NegotiateRequest {
        security_mode: 1,
        capabilities,
        client_guid,
        dialects: vec![dialect],
        ..NegotiateRequest::default()
    };
    let (_, reply) = raw.call(command::NEGOTIATE, |body| request.encode(body));
    raw.set_up("share");
    (raw, NegotiateResponse::decode(&reply).unwrap().capabilities)
}

/// A client of dialect 3.0 that knows leases of directories.
pub(super) fn client(addr: SocketAddr, client_guid: [u8; 16]) -> Raw {
    connect(addr, client_guid, (0x0300, DIRECTORY_LEASING)).0
}

/// A CREATE with a lease of version 2, which may name a lease of the directory.
fn wanted_lease(
    path: &str,
    key: [u8; 16],
    (state, epoch): (u32, u16),
    parent: Option<[u8; 16]>,
) -> CreateRequest {
    let flags = if parent.is_some() { PARENT_KEY_SET } else { 0 };
    let version_2 = Some((parent.unwrap_or_default(), epoch));
    let lease = LeaseContext { key, state, flags, version_2 };
    CreateRequest {
        oplock: LEVEL,
        contexts: vec![CreateContext::new(name::REQUEST_LEASE, &lease.encode())],
        ..wanted(path, disposition::OPEN_IF)
    }
}

/// Opens something, and returns the state and the epoch of the lease that is granted.
fn granted(raw: &mut Raw, request: &CreateRequest) -> (FileId, Option<(u32, u16)>) {
    let (file, lease) = open_with_lease(raw, request);
    (file, lease.map(|lease| (lease.state, lease.version_2.unwrap().1)))
}

/// Opens a directory under a lease, which must be granted as requested.
pub(super) fn list_leased(raw: &mut Raw, path: &str, key: [u8; 16], epoch: u16) -> FileId {
    let request = CreateRequest {
        options: options::DIRECTORY_FILE,
        access: READ,
        ..wanted_lease(path, key, (READ_HANDLE, epoch), None)
    };
    let (directory, lease) = granted(raw, &request);
    assert_eq!(lease, Some((READ_HANDLE, epoch + 1)));
    directory
}

/// Checks that no break has arrived. A break that another client has caused may follow the first reply.
pub(super) fn assert_unbroken(raw: &mut Raw) {
    for _ in 0..2 {
        let (header, _) = raw.call(command::ECHO, |body| Empty::default().encode(body));
        assert_eq!(header.command, command::ECHO);
    }
}

/// Receives the break of a lease of a directory to nothing.
pub(super) fn assert_ended(raw: &mut Raw, key: [u8; 16], epoch: u16) {
    let ended = broken(raw);
    let expected = LeaseBreak { epoch, flags: 1, key, current: READ_HANDLE, new: 0, ..LeaseBreak::default() };
    assert_eq!(ended, expected);
    assert_eq!(acknowledge(raw, key, 0), NtStatus::SUCCESS);
}

#[test]
fn directories_are_granted_reads_and_handles_in_version_2_to_clients_that_know_it() {
    let server = serve(true);
    let (mut raw, capabilities) = connect(server.addr(), ALICE, (0x0300, DIRECTORY_LEASING));
    assert_ne!(capabilities & DIRECTORY_LEASING, 0);
    for (requested, expected) in [
        (EVERYTHING, READ_HANDLE),
        (lease::READ | lease::WRITE, lease::READ),
        (READ_HANDLE, READ_HANDLE),
        (lease::READ, lease::READ),
        (lease::HANDLE, 0),
        (0, 0),
    ] {
        let request = CreateRequest {
            options: options::DIRECTORY_FILE,
            ..wanted_lease("directory", LISTING, (requested, 40), Some(OTHER_LISTING))
        };
        let epoch = if expected == 0 { 40 } else { 41 };
        let (directory, lease) = granted(&mut raw, &request);
        assert_eq!(lease, Some((expected, epoch)), "{requested}");
        assert_eq!(raw.close(directory), NtStatus::SUCCESS);
    }
    // Version 1, and oplocks.
    assert_eq!(granted(&mut raw, &leased("directory", LISTING, READ_HANDLE)).1, None);
    let batch = CreateRequest { oplock: oplock::BATCH, ..wanted("directory", disposition::OPEN) };
    assert_eq!(granted(&mut raw, &batch).1, None);

    let request = wanted_lease("directory", LISTING, (READ_HANDLE, 0), None);
    let without = serve(false);
    for (server, offer) in [
        (&server, (0x0210, DIRECTORY_LEASING)),
        (&server, (0x0300, 0)),
        (&without, (0x0300, DIRECTORY_LEASING)),
    ] {
        let (mut raw, capabilities) = connect(server.addr(), BOB, offer);
        assert_eq!(capabilities & DIRECTORY_LEASING, 0, "{offer:?}");
        let directory = CreateRequest { options: options::DIRECTORY_FILE, ..request.clone() };
        assert_eq!(granted(&mut raw, &directory).1, None, "{offer:?}");
    }
}

/// What a client without a lease of the directory does in it.
type Change = fn(&mut Raw, FileId);

fn times(field: usize) -> Vec<u8> {
    let mut basic = vec![0; 40];
    basic[field * 8..field * 8 + 8].copy_from_slice(&126_256_131_060_000_000_u64.to_le_bytes());
    basic
}

#[test]
fn each_change_that_a_listing_shows_breaks_its_leases_once() {
    const CHANGES: [(&str, Change); 11] = [
        ("create", |raw, _| {
            raw.open("directory\\new", disposition::CREATE).unwrap();
        }),
        ("make a directory", |raw, _| {
            let directory = CreateRequest {
                options: options::DIRECTORY_FILE,
                ..wanted("directory\\newer", disposition::CREATE)
            };
            raw.create(&directory).unwrap();
        }),
        ("add a stream", |raw, _| {
            raw.open("directory\\file:stream", disposition::CREATE).unwrap();
        }),
        ("overwrite", |raw, _| {
            let overwritten = raw.open("directory\\file", disposition::OVERWRITE).unwrap();
            assert_eq!(raw.close(overwritten), NtStatus::SUCCESS);
        }),
        ("resize", |raw, file| {
            assert_eq!(raw.set(file, END_OF_FILE, 7u64.to_le_bytes().to_vec()), NtStatus::SUCCESS);
        }),
        ("set the creation time", |raw, file| {
            assert_eq!(raw.set(file, BASIC, times(0)), NtStatus::SUCCESS);
        }),
        ("set the time of the last write", |raw, file| {
            assert_eq!(raw.set(file, BASIC, times(2)), NtStatus::SUCCESS);
        }),
        ("hide", |raw, file| {
            let mut basic = vec![0; 40];
            basic[32] = 2;
            assert_eq!(raw.set(file, BASIC, basic), NtStatus::SUCCESS);
        }),
        ("rename within", |raw, file| {
            assert_eq!(raw.set(file, RENAME, rename("directory\\renamed")), NtStatus::SUCCESS);
        }),
        ("rename out", |raw, file| {
            assert_eq!(raw.set(file, RENAME, rename("outside")), NtStatus::SUCCESS);
        }),
        ("rename in", |raw, file| {
            assert_eq!(raw.set(file, RENAME, rename("directory\\file")), NtStatus::SUCCESS);
        }),
    ];
    let server = serve(true);
    let mut lister = client(server.addr(), ALICE);
    let mut other = client(server.addr(), BOB);
    let mut epoch = 5;
    let directory = list_leased(&mut lister, "directory", LISTING, epoch);
    let file = other.open("directory\\file", disposition::CREATE).unwrap();
    assert_ended(&mut lister, LISTING, epoch + 2);
    for (what, change) in CHANGES {
        epoch += 2;
        let again = list_leased(&mut lister, "directory", LISTING, epoch);
        assert_eq!(lister.close(again), NtStatus::SUCCESS, "the first open keeps the lease");
        change(&mut other, file);
        // A second change while the first break is not acknowledged sends no other.
        assert_eq!(other.set(file, BASIC, times(1)), NtStatus::SUCCESS);
        assert_ended(&mut lister, LISTING, epoch + 2);
        assert_unbroken(&mut lister);
        assert_eq!(other.set(file, BASIC, times(1)), NtStatus::SUCCESS, "{what}");
        assert_unbroken(&mut lister);
    }
    assert_eq!(lister.close(directory), NtStatus::SUCCESS);
    other.open("directory\\last", disposition::CREATE).unwrap();
    assert_unbroken(&mut lister);
}

#[test]
fn a_write_breaks_the_lease_of_the_directory_with_its_close_and_a_removal_too() {
    let server = serve(true);
    let mut lister = client(server.addr(), ALICE);
    let mut other = client(server.addr(), BOB);
    let file = other.open("directory\\file", disposition::CREATE);
    assert_eq!(file, Err(NtStatus::OBJECT_PATH_NOT_FOUND));
    list_leased(&mut lister, "directory", LISTING, 0);
    let file = other.open("directory\\file", disposition::CREATE).unwrap();
    assert_ended(&mut lister, LISTING, 2);
    list_leased(&mut lister, "directory", LISTING, 2);
    let reader = other.open("directory\\file", disposition::OPEN).unwrap();
    assert_eq!(other.write(file, 0, b"data"), NtStatus::SUCCESS);
    assert_eq!(other.close(reader), NtStatus::SUCCESS);
    assert_unbroken(&mut lister);
    assert_eq!(other.close(file), NtStatus::SUCCESS);
    assert_ended(&mut lister, LISTING, 4);
    // The same at the end of a connection.
    list_leased(&mut lister, "directory", LISTING, 4);
    let file = other.open("directory\\file", disposition::OPEN).unwrap();
    assert_eq!(other.write(file, 0, b"more"), NtStatus::SUCCESS);
    drop(other);
    assert_ended(&mut lister, LISTING, 6);

    let mut other = client(server.addr(), BOB);
    list_leased(&mut lister, "directory", LISTING, 6);
    let file = other.open("directory\\file", disposition::OPEN).unwrap();
    assert_eq!(other.set(file, DISPOSITION, vec![1]), NtStatus::SUCCESS);
    assert_unbroken(&mut lister);
    assert_eq!(other.close(file), NtStatus::SUCCESS);
    assert_ended(&mut lister, LISTING, 8);
}

#[test]
fn a_lease_on_reads_only_ends_without_an_acknowledgment() {
    let server = serve(true);
    let mut lister = client(server.addr(), ALICE);
    let request = wanted_lease("", LISTING, (lease::READ, 0), None);
    let request = CreateRequest { options: options::DIRECTORY_FILE, access: READ, ..request };
    assert_eq!(granted(&mut lister, &request).1, Some((lease::READ, 1)));
    // The client's own change, over an open that names no lease.
    lister.open("file", disposition::CREATE).unwrap();
    let ended = broken(&mut lister);
    assert_eq!((ended.flags, ended.current, ended.new, ended.epoch), (0, lease::READ, 0, 2));
    assert_eq!(acknowledge(&mut lister, LISTING, 0), NtStatus::UNSUCCESSFUL);
    assert_eq!(granted(&mut lister, &request).1, Some((lease::READ, 3)));
}

#[test]
fn a_lease_that_the_open_of_the_change_names_stays() {
    let server = serve(true);
    let mut lister = client(server.addr(), ALICE);
    let mut other = client(server.addr(), BOB);
    let directory = list_leased(&mut lister, "directory", LISTING, 0);
    let named = |key, parent| wanted_lease("directory\\file", key, (READ_HANDLE, 0), parent);
    let (file, _) = granted(&mut lister, &named(CONTENT, Some(LISTING)));
    assert_eq!(lister.write(file, 0, b"data"), NtStatus::SUCCESS);
    assert_eq!(lister.set(file, BASIC, times(2)), NtStatus::SUCCESS);
    assert_eq!(lister.set(file, RENAME, rename("directory\\renamed")), NtStatus::SUCCESS);
    assert_eq!(lister.set(file, RENAME, rename("directory\\file")), NtStatus::SUCCESS);
    assert_eq!(lister.close(file), NtStatus::SUCCESS);
    assert_unbroken(&mut lister);
    // Another key of the same client, no key, and the key of the lease from another client.
    let mut epoch = 0;
    for (own, parent) in [(true, Some(OTHER_LISTING)), (true, None), (false, Some(LISTING))] {
        epoch += 2;
        let changer = if own { &mut lister } else { &mut other };
        let (file, _) = granted(changer, &named(CONTENT, parent));
        assert_eq!(changer.set(file, BASIC, times(2)), NtStatus::SUCCESS);
        assert_ended(&mut lister, LISTING, epoch);
        let changer = if own { &mut lister } else { &mut other };
        assert_eq!(changer.close(file), NtStatus::SUCCESS);
        list_leased(&mut lister, "directory", LISTING, epoch);
    }
    assert_eq!(lister.close(directory), NtStatus::SUCCESS);
}

#[test]
fn a_removal_spares_the_named_lease_if_its_request_and_the_last_close_name_it() {
    let server = serve(true);
    let mut raw = client(server.addr(), ALICE);
    list_leased(&mut raw, "directory", LISTING, 0);
    list_leased(&mut raw, "directory", OTHER_LISTING, 0);
    let open = |raw: &mut Raw, key, parent| {
        granted(raw, &wanted_lease("directory\\file", key, (lease::READ, 0), Some(parent))).0
    };
    // Both leases end with the creation, one of them because the other one is named.
    let first = open(&mut raw, CONTENT, LISTING);
    assert_ended(&mut raw, OTHER_LISTING, 2);
    list_leased(&mut raw, "directory", OTHER_LISTING, 2);
    let second = open(&mut raw, OTHER_CONTENT, OTHER_LISTING);
    assert_eq!(raw.set(second, DISPOSITION, vec![1]), NtStatus::SUCCESS);
    assert_eq!(raw.close(first), NtStatus::SUCCESS);
    assert_unbroken(&mut raw);
    assert_eq!(raw.close(second), NtStatus::SUCCESS);
    assert_ended(&mut raw, LISTING, 2);
    assert_unbroken(&mut raw);

    // The open that requests the removal is not the last one.
    list_leased(&mut raw, "directory", LISTING, 2);
    let first = open(&mut raw, CONTENT, LISTING);
    assert_ended(&mut raw, OTHER_LISTING, 4);
    list_leased(&mut raw, "directory", OTHER_LISTING, 4);
    let second = open(&mut raw, OTHER_CONTENT, OTHER_LISTING);
    assert_eq!(raw.set(first, DISPOSITION, vec![1]), NtStatus::SUCCESS);
    assert_eq!(raw.close(first), NtStatus::SUCCESS);
    assert_unbroken(&mut raw);
    assert_eq!(raw.close(second), NtStatus::SUCCESS);
    let mut ended = [broken(&mut raw), broken(&mut raw)].map(|lease| lease.key);
    ended.sort_unstable();
    assert_eq!(ended, [LISTING, OTHER_LISTING]);
}

/// Sends a message that waits for the break of a handle, which is then received. The client of the handle closes it, or
/// acknowledges the break and keeps it open.
fn wait_for_handle(
    (waiting, message): (&mut Raw, &[u8]),
    (holder, handle): (&mut Raw, Option<FileId>),
    key: [u8; 16],
) -> NtStatus {
    waiting.send(message);
    assert_eq!(waiting.status(), NtStatus::PENDING);
    let ended = broken(holder);
    assert_eq!((ended.key, ended.flags, ended.current, ended.new), (key, 1, READ_HANDLE, lease::READ));
    match handle {
        Some(handle) => assert_eq!(holder.close(handle), NtStatus::SUCCESS),
        None => assert_eq!(acknowledge(holder, key, lease::READ), NtStatus::SUCCESS),
    }
    waiting.status()
}

fn set_message(raw: &mut Raw, file: FileId, class: u8, information: Vec<u8>) -> Vec<u8> {
    let request = SetInfoRequest { info_type: 1, class, file, additional: 0, information };
    raw.message(command::SET_INFO, 0, |body| request.encode(body))
}

#[test]
fn an_open_that_excludes_others_waits_for_the_handle_of_a_directory() {
    let server = serve(true);
    let mut holder = client(server.addr(), ALICE);
    let mut other = client(server.addr(), BOB);
    let alone = CreateRequest {
        options: options::DIRECTORY_FILE,
        share: 0,
        ..wanted("directory", disposition::OPEN)
    };
    for (closes, expected) in [(false, NtStatus::SHARING_VIOLATION), (true, NtStatus::SUCCESS)] {
        let directory = list_leased(&mut holder, "directory", LISTING, 0);
        let message = other.message(command::CREATE, 0, |body| alone.encode(body));
        let handle = closes.then_some(directory);
        assert_eq!(wait_for_handle((&mut other, &message), (&mut holder, handle), LISTING), expected);
        if !closes {
            assert_eq!(holder.close(directory), NtStatus::SUCCESS);
        }
    }
}

#[test]
fn the_rename_of_a_directory_waits_for_handles_below_it_and_its_removal_for_its_own() {
    let server = serve(true);
    let mut holder = client(server.addr(), ALICE);
    let mut other = client(server.addr(), BOB);
    let directory =
        |path| CreateRequest { options: options::DIRECTORY_FILE, ..wanted(path, disposition::OPEN_IF) };
    let above = other.create(&directory("above")).unwrap().file;
    let below = list_leased(&mut holder, "above\\below", LISTING, 0);
    let file = granted(&mut holder, &wanted_lease("above\\file", CONTENT, (READ_HANDLE, 0), None)).0;
    // An open that its user needs.
    let user = other.open("above\\user", disposition::CREATE).unwrap();
    assert_eq!(other.set(above, RENAME, rename("moved")), NtStatus::ACCESS_DENIED);
    assert_eq!(other.close(user), NtStatus::SUCCESS);
    assert_unbroken(&mut holder);
    // One handle after the other.
    let message = set_message(&mut other, above, RENAME, rename("moved"));
    other.send(&message);
    assert_eq!(other.status(), NtStatus::PENDING);
    for _ in 0..2 {
        let ended = broken(&mut holder);
        assert_eq!((ended.current, ended.new), (READ_HANDLE, lease::READ));
        assert_eq!(holder.close(if ended.key == LISTING { below } else { file }), NtStatus::SUCCESS);
    }
    assert_eq!(other.status(), NtStatus::SUCCESS);
    assert_eq!(other.close(above), NtStatus::SUCCESS);

    let below = list_leased(&mut holder, "moved\\below", LISTING, 0);
    let removed = other.create(&directory("moved\\below")).unwrap().file;
    let message = set_message(&mut other, removed, DISPOSITION, vec![1]);
    let status = wait_for_handle((&mut other, &message), (&mut holder, Some(below)), LISTING);
    assert_eq!((status, other.close(removed)), (NtStatus::SUCCESS, NtStatus::SUCCESS));
    // Without a request before the close, which does not wait.
    let below = list_leased(&mut holder, "moved\\below", LISTING, 0);
    let request = directory("moved\\below");
    let request = CreateRequest { options: request.options | options::DELETE_ON_CLOSE, ..request };
    let removed = other.create(&request).unwrap().file;
    assert_eq!(other.close(removed), NtStatus::SUCCESS);
    assert_eq!(broken(&mut holder).new, lease::READ);
    assert_eq!(other.open("moved\\below", disposition::OPEN), Err(NtStatus::DELETE_PENDING));
    assert_eq!(holder.close(below), NtStatus::SUCCESS);
    assert_eq!(other.open("moved\\below", disposition::OPEN), Err(NtStatus::OBJECT_NAME_NOT_FOUND));
}

#[test]
fn a_rename_waits_for_a_handle_that_may_remove_its_target_directory() {
    let server = serve(true);
    let mut holder = client(server.addr(), ALICE);
    let mut other = client(server.addr(), BOB);
    let removing = CreateRequest {
        options: options::DIRECTORY_FILE,
        access: access::DELETE,
        ..wanted_lease("target", LISTING, (READ_HANDLE, 0), None)
    };
    let file = other.open("file", disposition::CREATE).unwrap();
    for (closes, expected) in [(false, NtStatus::SHARING_VIOLATION), (true, NtStatus::SUCCESS)] {
        let (directory, lease) = granted(&mut holder, &removing);
        assert_eq!(lease, Some((READ_HANDLE, 1)));
        let message = set_message(&mut other, file, RENAME, rename("target\\file"));
        let handle = closes.then_some(directory);
        assert_eq!(wait_for_handle((&mut other, &message), (&mut holder, handle), LISTING), expected);
        if !closes {
            assert_eq!(other.set(file, RENAME, rename("target\\file")), NtStatus::SHARING_VIOLATION);
            assert_eq!(holder.close(directory), NtStatus::SUCCESS);
        }
    }
}

#[test]
fn leases_of_a_directory_have_a_limit_and_one_change_breaks_each_of_them_once() {
    const LEASES: usize = 1024;
    let server = serve(true);
    let mut flooder = client(server.addr(), ALICE);
    let mut other = client(server.addr(), BOB);
    let key = |nth: usize| {
        let mut key = [0xAA; 16];
        key[..8].copy_from_slice(&(nth as u64).to_le_bytes());
        key
    };
    let request = |nth| CreateRequest {
        options: options::DIRECTORY_FILE,
        access: READ,
        ..wanted_lease("", key(nth), (READ_HANDLE, 0), None)
    };
    for nth in 0..LEASES {
        assert_eq!(granted(&mut flooder, &request(nth)).1, Some((READ_HANDLE, 1)));
    }
    let (beyond, lease) = granted(&mut flooder, &request(LEASES));
    assert_eq!(lease, None);
    other.open("one", disposition::CREATE).unwrap();
    other.open("two", disposition::CREATE).unwrap();
    let mut keys: Vec<_> = (0..LEASES).map(|_| broken(&mut flooder).key).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), LEASES);
    assert_unbroken(&mut flooder);
    // An open without a lease is one like any other.
    assert_eq!(flooder.close(beyond), NtStatus::SUCCESS);
    assert_eq!(acknowledge(&mut flooder, key(LEASES), 0), NtStatus::OBJECT_NAME_NOT_FOUND);
}
