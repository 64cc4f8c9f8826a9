//! The corpus of the fuzz targets of both roles of SMB and NFS (`fuzz/`), replayed.
mod nfs;
mod nfs4_client;
mod nfs4_server;
mod nt1_client;
mod nt1_server;
mod relay;
mod smb;

use relay::Role;

fn replay(name: &str, run: fn(Role, &[u8]), role: Role) {
    replay_each(name, |input| run(role, input));
}

fn replay_each(name: &str, run: impl Fn(&[u8])) {
    let folder = format!("{}/../../fuzz/corpus/{name}", env!("CARGO_MANIFEST_DIR"));
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        run(&std::fs::read(entry.unwrap().path()).unwrap());
        count += 1;
    }
    assert!(count >= 10, "{count} inputs");
}

#[test]
fn corpus_of_requests_to_the_smb_server() {
    replay("smb_server", smb::run, Role::Server);
}

#[test]
fn corpus_of_replies_to_the_smb_client() {
    replay("smb_client", smb::run, Role::Client);
}

#[test]
fn corpus_of_replies_to_the_smb1_client() {
    replay("nt1_client", nt1_client::run, Role::Client);
}

#[test]
fn corpus_of_requests_to_the_smb1_server() {
    replay("nt1_server", nt1_server::run, Role::Server);
}

#[test]
fn corpus_of_calls_to_the_nfs_server() {
    replay("nfs_server", nfs::run, Role::Server);
}

#[test]
fn corpus_of_replies_to_the_nfs_client() {
    replay("nfs_client", nfs::run, Role::Client);
}

#[test]
fn corpus_of_compound_calls_to_the_nfs_server() {
    replay_each("nfs4_server", nfs4_server::run);
}

#[test]
fn corpus_of_compound_replies_to_the_nfs_client() {
    replay("nfs4_client", nfs4_client::run, Role::Client);
}
