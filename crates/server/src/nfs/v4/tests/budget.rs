//! The memory for the state of clients: what exceeds it, what failures leave, and that everything is returned.

use sharebench_nfs::v4::attributes::SetAttributes;
use sharebench_nfs::v4::data::{Close, StateId};
use sharebench_nfs::v4::item::Opaque;
use sharebench_nfs::v4::lock::{Lock, LockKind, Locker, NewLocker};
use sharebench_nfs::v4::open::{DENY_NONE, OpenHow, Opened, SHARE_BOTH, StateOwner};
use sharebench_nfs::v4::operation::Operation;
use sharebench_nfs::v4::session::{CreateSession, CreatedSession, DestroySession};
use sharebench_nfs::v4::status::Nfs4Status;

use super::client::{Client, LEASE, Server, limits};
use super::minor_0::Client as OldClient;
use crate::ROOT;
use crate::nfs::v4::state::entry::Caller;
use crate::nfs::v4::state::opens::WantedOpen;
use crate::nfs::v4::state::owned::EXAMINED;

const BUDGET: usize = 256 << 10;

/// A limit on the attempts of a test, far above what the budget allows.
const MANY: u32 = 100_000;

fn how() -> OpenHow<'static> {
    OpenHow::Unchecked(SetAttributes::default())
}

/// Opens a file in the export for an owner with a name of this many bytes.
fn open_of(client: &mut Client<'_>, file: &str, owner: &[u8], cache: bool) -> Option<Nfs4Status> {
    let mut open = client.open_args(file, how(), SHARE_BOTH, DENY_NONE);
    open.owner.owner = Opaque(owner);
    let sequence = client.next(cache);
    let results = client.server.call(&client.peer, 2, |call| {
        call.add(Operation::Sequence, &sequence).path(&["export"]).add(Operation::Open, &open).done();
    });
    results.status
}

fn create_session(client: &Client<'_>, sequence: u32, slots: u32) -> Result<CreatedSession, Nfs4Status> {
    let create = CreateSession::without_callbacks(client.id, sequence, limits(slots), limits(1));
    let results =
        client.server.call(&client.peer, 1, |call| call.add(Operation::CreateSession, &create).done());
    results.status.map_or_else(|| Ok(results.decode(Operation::CreateSession)), Err)
}

#[test]
fn records_that_are_not_confirmed_give_way_and_confirmed_ones_stay() {
    let server = Server::with_budget(BUDGET);
    let user = Client::new(&server, "user");
    let state = &server.state.v4.state;
    for number in 0..MANY {
        assert!(state.exchange_id(&number.to_be_bytes(), [0; 8], false).is_ok(), "{number}");
    }
    assert!(server.state_bytes() <= BUDGET);
    assert!((10..1000).contains(&state.clients()));
    assert!(state.session(&user.session).is_ok());
}

#[test]
fn a_session_beyond_the_budget_is_delayed_and_its_call_can_be_repeated() {
    let server = Server::with_budget(80 << 10);
    let mut client = Client::new(&server, "one");
    let mut sequence = 1;
    let refused = loop {
        sequence += 1;
        match create_session(&client, sequence, 256) {
            Ok(created) => assert_eq!(created.fore_channel.max_requests, 256),
            Err(status) => break status,
        }
    };
    assert_eq!(refused, Nfs4Status::Delay);
    assert_eq!(create_session(&client, sequence, 256), Err(Nfs4Status::Delay));
    let session = create_session(&client, sequence, 1).unwrap().session;
    let used = server.state_bytes();
    let destroy = DestroySession { session };
    assert_eq!(client.call(|call| call.add(Operation::DestroySession, &destroy).done()).status, None);
    assert!(server.state_bytes() < used);
}

#[test]
fn each_kind_of_state_ends_at_the_budget_with_its_status_and_all_of_it_is_returned() {
    type Attack = fn(&mut Client<'_>, StateId, u32) -> Option<Nfs4Status>;
    let rows: [(&str, Attack, Nfs4Status); 4] = [
        ("opens", |client, _, at| open_of(client, "f", &at.to_be_bytes(), false), Nfs4Status::Nospc),
        (
            "owners with long names",
            |client, _, at| open_of(client, "f", &[&at.to_be_bytes()[..], &[0; 1000]].concat(), false),
            Nfs4Status::Nospc,
        ),
        ("files", |client, _, at| open_of(client, &at.to_string(), b"owner", false), Nfs4Status::Nospc),
        (
            "lock owners",
            |client, state, at| {
                let owner = at.to_be_bytes();
                let owner = StateOwner { client_id: client.id, owner: Opaque(&owner) };
                let locker =
                    Locker::New(NewLocker { open_sequence: 0, open_state: state, lock_sequence: 0, owner });
                let offset = u64::from(at) * 2;
                let lock = Lock { kind: LockKind::Write, reclaim: false, offset, length: 1, locker };
                client.call(|call| call.path(&["export", "locked"]).add(Operation::Lock, &lock).done()).status
            },
            Nfs4Status::Delay,
        ),
    ];
    for (name, attack, expected) in rows {
        let server = Server::with_budget(BUDGET);
        let mut client = Client::new(&server, "one");
        let locked = client.create("locked");
        let refused = (0..MANY).find_map(|at| attack(&mut client, locked, at).map(|status| (at, status)));
        let (count, status) = refused.unwrap();
        assert_eq!(status, expected, "{name} after {count}");
        assert!(count > 50, "{name}: {count}");
        assert!(server.state_bytes() <= BUDGET, "{name}");
        assert_eq!(client.call(|_| {}).status, None, "{name}: the session continues");
        server.pass(LEASE * 2);
        drop(client);
        assert_eq!(server.state_bytes(), 0, "{name}");
    }
}

#[test]
fn a_file_is_not_created_where_its_open_has_no_memory() {
    let server = Server::with_budget(BUDGET);
    let mut client = Client::new(&server, "one");
    let count = (0..MANY).find(|at| open_of(&mut client, &at.to_string(), b"owner", false).is_some());
    assert!(server.state.volume.lookup(ROOT, &count.unwrap().to_string()).is_err());
}

#[test]
fn a_client_can_close_its_files_where_there_is_no_memory_for_the_replies() {
    let server = Server::with_budget(BUDGET);
    let mut client = Client::new(&server, "one");
    let state = client.create("f");
    assert!(
        (0..MANY)
            .any(|at| open_of(&mut client, "f", &[&at.to_be_bytes()[..], b"owner"].concat(), true).is_some())
    );
    let close = Close { sequence: 0, state };
    let used = server.state_bytes();
    let results = client.call(|call| call.path(&["export", "f"]).add(Operation::Close, &close).done());
    assert_eq!(results.status, None);
    assert!(server.state_bytes() < used);
}

#[test]
fn failed_operations_leave_no_owner_in_minor_version_0() {
    let server = Server::new();
    let mut client = OldClient::new(&server, "one");
    let opened = client.open("f", 1).decode::<Opened<'_>>(Operation::Open).state;
    let before = server.state_bytes();
    for number in 0..1000u32 {
        client.owner = number.to_be_bytes().to_vec();
        assert_eq!(client.open("no/name", 7).status, Some(Nfs4Status::Badname), "{number}");
        assert_eq!(client.open("f", 7).status, None);
        // The first open of the file denies nothing, so that only owners without state could stay.
        let state = client.open("f", 8).decode::<Opened<'_>>(Operation::Open).state;
        assert_eq!(client.close("f", state, 9).status, None);
    }
    let idle = server.state_bytes() - before;
    assert!(idle < 64 * 1024, "owners without opens are forgotten: {idle} bytes");
    assert_ne!(opened.sequence, 0);
    server.pass(LEASE * 2);
    assert_eq!(server.state_bytes(), 0);
}

#[test]
fn owners_of_minor_version_0_end_at_the_budget() {
    let server = Server::with_budget(BUDGET);
    let mut client = OldClient::new(&server, "one");
    let refused = (0..MANY).find_map(|number| {
        client.owner = number.to_be_bytes().to_vec();
        client.open("f", 1).status
    });
    assert!(matches!(refused, Some(Nfs4Status::Nospc | Nfs4Status::Resource)), "{refused:?}");
    assert!(server.state_bytes() <= BUDGET);
}

#[test]
fn an_open_examines_no_opens_of_others() {
    let server = Server::new();
    let hoarder = Client::new(&server, "hoarder");
    let other = Client::new(&server, "other");
    let state = &server.state.v4.state;
    let node = server.state.volume.create(ROOT, "f", 0o644).unwrap().node;
    let open = |client: u64, owner: &[u8]| {
        let wanted = WantedOpen {
            client,
            owner,
            node,
            access: SHARE_BOTH,
            deny: DENY_NONE,
            needs_confirmation: false,
            identity: None,
        };
        state.open(&wanted, state.charge_state(client, owner.len(), Nfs4Status::Nospc).unwrap()).unwrap()
    };
    for number in 0..50_000u32 {
        open(hoarder.id, &number.to_be_bytes());
    }
    EXAMINED.set(0);
    let opened = open(other.id, b"owner");
    let caller = Caller { client: Some(other.id), minor_version: 1 };
    state.close(&opened, caller).unwrap();
    // A search in a tree of 50,000 keys compares with at most 11 of each of 5 levels.
    assert!(EXAMINED.get() <= 5 * 55, "{}", EXAMINED.get());
}
