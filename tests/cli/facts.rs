//! Facts of targets: every client states declared ones, and every declared one is stated.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sharebench_local::LocalTarget;
use sharebench_model::{Fact, FactClass, MetaOp, OpenHow, TargetFacts};
use sharebench_ncp::target::NcpTarget;
use sharebench_nfs::NfsTarget;
use sharebench_server::{
    MemoryVolume, NcpServer, NcpServerOptions, NfsServer, NfsServerOptions, SmbServer, SmbServerOptions,
    Volume,
};
use sharebench_smb::SmbTarget;
use sharebench_target::{Secret, SessionSpec, Target, call};

use crate::adapters::{block_on, url};

/// Crates whose sources state facts.
const CLIENTS: [&str; 8] = ["client-core", "engine", "local", "ncp", "nfs", "relay", "smb", "target"];

fn volume() -> Arc<dyn Volume> {
    Arc::new(MemoryVolume::new(64 << 20))
}

/// The facts of a session that makes a file, and of its target afterwards.
fn facts(target: &dyn Target) -> TargetFacts {
    let spec =
        SessionSpec { slot_bytes: 4096, connect_timeout: Duration::from_secs(60), ..SessionSpec::default() };
    let mut facts = block_on(async {
        let mut session = target.connect(&spec).await.unwrap();
        call(&mut *session, MetaOp::open("file", OpenHow::CreateNew)).await.unwrap();
        let facts = session.facts();
        session.close().await;
        facts
    });
    facts.extend(target.final_facts());
    facts
}

/// Asserts that the stored form of facts has the class of each, and that these are among them.
fn check(target: &dyn Target, expected: &[Fact]) {
    let facts = facts(target);
    for (name, value) in facts.stored() {
        let fact =
            Fact::from_name(&name).unwrap_or_else(|| panic!("{}: {name} is not declared", target.url()));
        assert_eq!(FactClass::of_stored(&name), fact.class(), "{name}");
        assert_eq!(facts.get(fact), Some(value.as_str()), "{name}");
    }
    for fact in expected {
        assert!(facts.get(*fact).is_some(), "{}: {fact:?} is missing: {facts:?}", target.url());
    }
}

#[test]
fn facts_of_smb_are_declared() {
    // Further channels need the key of a user's session.
    let accounts = vec![("lab".to_owned(), password())];
    let options = SmbServerOptions { accounts, leases: true, smb1: true, ..SmbServerOptions::default() };
    let server = SmbServer::start("127.0.0.1:0".parse().unwrap(), volume(), options).unwrap();
    let both = [Fact::Dialect, Fact::Signing, Fact::Encryption, Fact::ClientCache, Fact::ServerGuid];
    for (number, (options, more)) in [
        ("dialect=2.0.2", &[Fact::Credits][..]),
        ("dialect=3.1.1&lease=rwh&durable=on", &[Fact::LeaseRequested, Fact::DurableHandlesGranted]),
        ("channels=2&far=1ms", &[Fact::Connections, Fact::SimulatedDistance]),
        ("dialect=nt1", &[Fact::MaxMpx, Fact::Unsafe]),
    ]
    .into_iter()
    .enumerate()
    {
        let directory = format!("d{number}");
        server_directory(&server, &directory);
        let text = format!("smb://lab@{}/share/{directory}?{options}", server.addr());
        let target = SmbTarget::from_url(url(&text), password()).unwrap();
        check(&target, &[&both[..], more].concat());
    }
    server.stop();
}

fn password() -> Secret {
    Secret::new("Pass word")
}

/// Makes a directory of the share, so that each session has names of its own.
fn server_directory(server: &SmbServer, name: &str) {
    let target = SmbTarget::from_url(url(&format!("smb://lab@{}/share", server.addr())), password()).unwrap();
    block_on(async {
        let mut session = target.connect(&SessionSpec::default()).await.unwrap();
        call(&mut *session, MetaOp::MakeDir { path: name.into() }).await.unwrap();
        session.close().await;
    });
}

#[test]
fn facts_of_nfs_are_declared() {
    let shared = [Fact::Vers, Fact::Transport, Fact::Nconnect, Fact::Sec, Fact::Export, Fact::LocalAddress];
    for (options, more) in [
        ("vers=3&nconnect=2", &[Fact::Rtmax, Fact::Wtmax, Fact::Mountport][..]),
        ("vers=4.0", &[Fact::Maxread, Fact::LeaseSeconds]),
        ("vers=4.1&far=1ms", &[Fact::SlotsGranted, Fact::Backchannel, Fact::SimulatedDistance]),
        ("vers=4.2&compound=on", &[Fact::Compound, Fact::Maxwrite]),
    ] {
        let server =
            NfsServer::start("127.0.0.1:0".parse().unwrap(), volume(), NfsServerOptions::default()).unwrap();
        let port = server.addr().port();
        let mount = if options.contains("vers=3") { format!("&mountport={port}") } else { String::new() };
        let text = format!("nfs://127.0.0.1:{port}/export?{options}{mount}");
        check(&NfsTarget::from_url(url(&text)).unwrap(), &[&shared[..], more].concat());
        server.stop();
    }
}

#[test]
fn facts_of_ncp_are_declared() {
    let accounts = vec![("lab".to_owned(), password())];
    let options =
        || NcpServerOptions { accounts: accounts.clone(), threads: 1, ..NcpServerOptions::default() };
    let any = "127.0.0.1:0".parse().unwrap();
    let shared =
        [Fact::Buffer, Fact::Signed, Fact::Checksums, Fact::ClientCache, Fact::LocalAddress, Fact::Resent];
    for (transport, more) in [
        ("tcp&cache=3&sign=2", &[Fact::Commit][..]),
        ("udp&burst=on&retry=5s", &[Fact::Burst, Fact::BurstWindow, Fact::Retry]),
        ("ipx&retry=5s", &[Fact::Lip]),
    ] {
        let server = if transport.starts_with("ipx") {
            NcpServer::start_ipx(any, volume(), options()).unwrap()
        } else {
            NcpServer::start(any, volume(), options()).unwrap()
        };
        let text = format!("ncp://lab@{}/SHARE?transport={transport}", server.addr());
        let target = NcpTarget::from_url(url(&text), Secret::new("Pass word")).unwrap();
        check(&target, &[&shared[..], more].concat());
    }
}

#[test]
fn facts_of_paths_are_declared() {
    let directory = std::env::temp_dir().join(format!("sharebench-facts-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    check(&LocalTarget::new(&directory), &[Fact::Access, Fact::FileSystem, Fact::Engine, Fact::DirectIo]);
    std::fs::remove_dir_all(&directory).unwrap();
}

/// The text of all sources below a directory.
fn sources(directory: &Path, text: &mut String) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&std::fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn every_declared_fact_is_stated_by_a_client_or_the_engine() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let mut text = String::new();
    for name in CLIENTS {
        sources(&crates.join(name).join("src"), &mut text);
    }
    let named: BTreeSet<&str> = text
        .split("Fact::")
        .skip(1)
        .filter_map(|rest| rest.split(|c: char| !c.is_alphanumeric()).next())
        .collect();
    let unused: Vec<&Fact> =
        Fact::ALL.iter().filter(|fact| !named.contains(format!("{fact:?}").as_str())).collect();
    assert!(unused.is_empty(), "{unused:?}");
}
