//! A restart of the server over a directory: grace period, reclaims, and handles that stay valid.

use std::path::PathBuf;
use std::sync::Arc;

use sharebench_nfs::v4::data::{Close, PutFh, StateId};
use sharebench_nfs::v4::item::Opaque;
use sharebench_nfs::v4::names::Remove;
use sharebench_nfs::v4::open::{
    DENY_NONE, DelegationKind, Open, OpenClaim, OpenHow, Opened, SHARE_BOTH, StateOwner,
};
use sharebench_nfs::v4::operation::Operation;
use sharebench_nfs::v4::status::Nfs4Status;
use sharebench_nfs::xdr::Reader;

use super::client::{Client, LEASE, Server};
use crate::nfs::v4::Peer;
use crate::{DirectoryOptions, DirectoryVolume, Volume};

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("sharebench-nfs4-{name}-{}", std::process::id()));
        std::fs::create_dir_all(path.join("served")).unwrap();
        Self(path)
    }

    /// A server that starts now over the directory.
    fn server(&self) -> Server {
        let options = DirectoryOptions { links: true, ..DirectoryOptions::default() };
        let volume: Arc<dyn Volume> =
            Arc::new(DirectoryVolume::open(self.0.join("served"), &options).unwrap());
        Server::from_volume(&volume, Some(&self.0.join("state")))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn handle(client: &mut Client<'_>, name: &str) -> Vec<u8> {
    let results = client.call(|call| call.path(&["export", name]).add(Operation::GetFh, &()).done());
    let mut reader = Reader::new(results.last(Operation::GetFh));
    reader.opaque("handle", 128).unwrap().to_vec()
}

fn reclaim(client: &mut Client<'_>, handle: &[u8]) -> Result<StateId, Nfs4Status> {
    let owner = StateOwner { client_id: client.id, owner: Opaque(b"owner") };
    let claim = OpenClaim::Previous(DelegationKind::None);
    let how = OpenHow::Existing;
    let open = Open { sequence: 0, access: SHARE_BOTH, deny: DENY_NONE, owner, how, claim };
    let results = client.call(|call| {
        call.add(Operation::PutFh, &PutFh { handle: Opaque(handle) }).add(Operation::Open, &open);
    });
    match results.status {
        None => Ok(results.decode::<Opened<'_>>(Operation::Open).state),
        Some(status) => Err(status),
    }
}

#[test]
fn a_client_of_the_earlier_start_reclaims_and_others_wait() {
    let scratch = Scratch::new("reclaim");
    let first = scratch.server();
    let mut before = Client::new(&first, "one");
    let state = before.create("f");
    assert_eq!(before.write("f", state, b"kept"), None);
    let kept = handle(&mut before, "f");

    let second = scratch.server();
    let sequence = before.next(true);
    let lost = second.call(&Peer::new().0, 2, |call| call.add(Operation::Sequence, &sequence).done());
    assert_eq!(lost.status, Some(Nfs4Status::Badsession));
    let mut other = Client::connect(&second, "other", [1; 8]);
    other.reclaim_complete();
    let waits = other.open("f", OpenHow::Existing, SHARE_BOTH, DENY_NONE);
    assert_eq!(waits.status, Some(Nfs4Status::Grace));
    assert_eq!(reclaim(&mut other, &kept), Err(Nfs4Status::NoGrace), "it had nothing");
    let mut again = Client::connect(&second, "one", [1; 8]);
    let state = reclaim(&mut again, &kept).unwrap();
    assert_eq!(again.read("f", state).as_deref(), Ok(&b"kept"[..]));
    assert_eq!(again.reclaim_complete(), None);
    assert_eq!(reclaim(&mut again, &kept), Err(Nfs4Status::NoGrace));
    assert_eq!(
        other.open("f", OpenHow::Existing, SHARE_BOTH, DENY_NONE).status,
        None,
        "all clients are done"
    );
}

#[test]
fn the_grace_period_ends_at_its_time_and_a_new_server_has_none() {
    let scratch = Scratch::new("grace");
    let first = scratch.server();
    let mut before = Client::new(&first, "one");
    before.create("f");
    let second = scratch.server();
    let mut other = Client::connect(&second, "other", [1; 8]);
    other.reclaim_complete();
    assert_eq!(other.open("f", OpenHow::Existing, SHARE_BOTH, DENY_NONE).status, Some(Nfs4Status::Grace));
    second.pass(LEASE);
    assert_eq!(other.open("f", OpenHow::Existing, SHARE_BOTH, DENY_NONE).status, None);
    // The client that has not come back can no longer reclaim, also after one more restart.
    let third = scratch.server();
    let mut late = Client::connect(&third, "one", [1; 8]);
    let handle = handle(&mut late, "f");
    assert_eq!(reclaim(&mut late, &handle), Err(Nfs4Status::NoGrace));
}

#[test]
fn a_removed_file_is_stale_after_a_restart() {
    let scratch = Scratch::new("stale");
    let first = scratch.server();
    let mut before = Client::new(&first, "one");
    before.create("f");
    before.create("kept");
    let gone = handle(&mut before, "f");
    let kept = handle(&mut before, "kept");
    std::fs::remove_file(scratch.0.join("served/f")).unwrap();
    std::fs::rename(scratch.0.join("served/kept"), scratch.0.join("served/moved")).unwrap();
    let second = scratch.server();
    let mut after = Client::connect(&second, "one", [1; 8]);
    assert_eq!(reclaim(&mut after, &gone), Err(Nfs4Status::Stale));
    assert!(reclaim(&mut after, &kept).is_ok(), "renamed while no server ran");
}

#[test]
fn a_file_that_was_removed_while_it_is_open_can_still_be_closed() {
    let scratch = Scratch::new("removed");
    let server = scratch.server();
    let mut client = Client::new(&server, "one");
    let state = client.create("f");
    let handle = handle(&mut client, "f");
    let remove = Remove { name: Opaque(b"f") };
    let results = client.call(|call| call.path(&["export"]).add(Operation::Remove, &remove).done());
    assert_eq!(results.status, None);
    let close = Close { sequence: 0, state };
    let mut closed = || {
        let put = PutFh { handle: Opaque(&handle) };
        client.call(|call| call.add(Operation::PutFh, &put).add(Operation::Close, &close).done()).status
    };
    assert_eq!(closed(), None);
    assert_eq!(closed(), Some(Nfs4Status::Stale), "nobody has it open");
}
