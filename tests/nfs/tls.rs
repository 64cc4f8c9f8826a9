//! NFS with TLS (RFC 9289): the programs with each other, and lost connections. The tests of the server's crate have the
//! handshake and its errors.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;

use sharebench_model::{DataOp, MetaOp, MetaYield, OpenHow, Reply, Slot, Stability};
use sharebench_nfs::NfsTarget;
use sharebench_server::{MemoryVolume, NfsServer, NfsServerOptions, NfsTls};
use sharebench_target::{Session, SessionSpec, Target, call};
use sharebench_tests::{Certificates, Cut, FaultProxy, KernelGuest, Sharebench, needs};

use crate::adapters::{block_on, url};
use crate::robustness::bad_input::expect;
use crate::stored::Stored;

#[test]
fn a_lost_connection_is_replaced_with_tls_and_no_operation_is_lost() {
    const DEPTH: u32 = 8;
    const RECORD: u32 = 30_000;
    let certificates = Certificates::new().unwrap();
    let tls = Some(NfsTls { tls: certificates.server(Certificates::SERVER, None), required: true });
    let options = NfsServerOptions { tls, ..NfsServerOptions::default() };
    let volume = Arc::new(MemoryVolume::new(64 << 20));
    let server = NfsServer::start(SocketAddr::from(([127, 0, 0, 1], 0)), volume, options).unwrap();
    let proxy = FaultProxy::start(server.addr().port(), Cut::Bytes).unwrap();
    let text = format!("nfs://localhost:{}/export?vers=4.1&xprtsec=tls", proxy.port());
    let client = certificates.client(Certificates::AUTHORITY, None);
    let target = NfsTarget::from_url(url(&text)).unwrap().with_tls(client);
    block_on(async {
        let spec = SessionSpec { slots: DEPTH, slot_bytes: RECORD, ..SessionSpec::default() };
        let mut session = target.connect(&spec).await.unwrap();
        let open = MetaOp::open("kept", OpenHow::CreateNew);
        let MetaYield::Opened { file, .. } = call(&mut *session, open).await.unwrap() else {
            panic!("no file")
        };
        for slot in 0..DEPTH {
            session.buffer(Slot(slot)).fill(slot as u8 + 1);
            let offset = u64::from(slot * RECORD);
            let write = DataOp::Write { file, offset, len: RECORD, stability: Stability::Durable };
            session.submit(Slot(slot), write);
        }
        proxy.reset();
        let written = replies(&mut *session, DEPTH as usize).await;
        assert!(written.iter().all(|reply| reply.result == Ok(RECORD)), "{written:?}");
        for slot in 0..DEPTH {
            session.submit(Slot(slot), DataOp::Read { file, offset: u64::from(slot * RECORD), len: RECORD });
        }
        for reply in replies(&mut *session, DEPTH as usize).await {
            assert_eq!(reply.result, Ok(RECORD));
            assert!(session.buffer(reply.slot).iter().all(|byte| u32::from(*byte) == reply.slot.0 + 1));
        }
        // The reset connection is no longer counted.
        assert_eq!(proxy.accepted(), 1, "the connection was replaced");
        call(&mut *session, MetaOp::Close { file }).await.unwrap();
        session.close().await;
    });
}

async fn replies(session: &mut dyn Session, count: usize) -> Vec<Reply> {
    let mut replies = Vec::new();
    while replies.len() < count {
        poll_fn(|cx| session.poll_replies(cx, &mut replies)).await;
    }
    replies
}

#[test]
fn every_test_of_a_sweep_is_verified_over_tls() {
    let certificates = Certificates::new().unwrap();
    let sharebench = Sharebench::new().unwrap();
    let file = |path: std::path::PathBuf| path.to_str().unwrap().to_owned();
    let certificate = file(certificates.certificate(Certificates::SERVER));
    let key = file(certificates.key(Certificates::SERVER));
    let ca = file(certificates.certificate(Certificates::AUTHORITY));
    let identity = format!("tls_cert = {certificate:?}\ntls_key = {key:?}\ntls_required = true\n");
    sharebench.write("server.toml", &identity).unwrap();
    let served = sharebench.serve_by(&[], "served", &["--identity", "server.toml"]).unwrap();
    let trusts = |name: &str, file: &str| sharebench.identity(name, &[("tls_ca", file)]).unwrap();
    let trusting = trusts("client.toml", &ca);
    let sweep_of = |tests: &str, url: &str, more: &[&str]| {
        let sizes = ["--file-sizes", "128KiB", "--record-sizes", "4KiB,16KiB"];
        let rest = ["--tests", tests, "--repetitions", "1", "plan:min_sample_time=5ms"];
        sharebench.run(&[&["sweep", url, "--verify", "full"], &sizes[..], &rest, more].concat()).unwrap()
    };
    let sweep =
        |url: &str, more: &[&str]| sweep_of("requests,streams", url, &[&["plan:stride=5"], more].concat());
    let mut run = 0;
    for options in ["&xprtsec=tls", "vers=4.1&xprtsec=tls&nconnect=2"] {
        let url = match options.strip_prefix('&') {
            Some(_) => served.nfs_url("") + options,
            None => served.nfs4_url("", options),
        };
        let _ = sweep(&url, &["--identity", &trusting]).expect_success();
        run += 1;
        let stored = Stored::read(&sharebench, run);
        assert_eq!(stored.steps.len(), stored.planned, "{url}");
        for step in &stored.steps {
            assert_eq!(step["errors"], serde_json::json!({}), "{step}");
            assert_eq!(step["verified_bytes"], step["bytes"]["read"], "{step}");
            assert_ne!(step["verdict"], "invalid", "{step}");
        }
    }
    // The varied option, and what the program says where it cannot connect.
    let plain = served.nfs_url("");
    let _ = sweep_of("read", &plain, &["--vary", "xprtsec=tls", "--identity", &trusting]).expect_success();
    expect(&sweep(&plain, &[]), 3, &["AUTH_TOOWEAK", "xprtsec=tls"]);
    let foreign = file(certificates.certificate(Certificates::FOREIGN_AUTHORITY));
    let tls = plain.clone() + "&xprtsec=tls";
    expect(&sweep(&tls, &["--identity", &trusts("foreign.toml", &foreign)]), 3, &["untrusted"]);
    let wrong = trusts("wrong.toml", &key);
    expect(&sweep(&tls, &["--identity", &wrong]), 2, &["wrong.toml: tls_ca", "no certificate"]);
    expect(&sweep(&plain, &["--identity", &trusting]), 2, &["tls_ca", "xprtsec=tls"]);
    expect(&sweep(&(plain + "&xprtsec=mtls"), &["--identity", &trusting]), 2, &["tls_cert", "tls_key"]);
    // No file of the run has the certificates or their keys.
    let text = std::fs::read_to_string(&key).unwrap();
    let secret = text.lines().nth(1).unwrap();
    for entry in std::fs::read_dir(sharebench.home()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            assert!(
                !bytes.windows(secret.len()).any(|found| found == secret.as_bytes()),
                "{}",
                path.display()
            );
        }
    }
}

#[test]
fn the_kernels_client_and_server_have_tls_with_this_project() {
    needs!(KernelGuest::NEEDS);
    let certificates = Certificates::new().unwrap();
    let sharebench = Sharebench::new().unwrap();
    let guest = KernelGuest::prepare_with_tls(&[]).unwrap();
    let directory = certificates.certificate(Certificates::AUTHORITY).parent().unwrap().to_owned();
    let env = [
        ("SHAREBENCH", sharebench.binary()),
        ("TLS", directory.to_str().unwrap()),
        ("SERVE_NFS", concat!(env!("CARGO_MANIFEST_DIR"), "/kernel-guest/serve-nfs")),
        ("KERNEL_GUEST", &guest.folder()),
    ];
    let printed = guest.run(include_str!("../kernel-guest/tls"), &env, KernelGuest::LONG).unwrap();
    println!("{printed}");
    for (how, version) in [("tls", "4.2"), ("tls", "4.1"), ("tls", "3"), ("mtls", "4.2")] {
        let same = format!("kernel client, xprtsec={how}, vers={version}: same");
        assert!(printed.contains(&same), "{same} is missing: {printed}");
    }
    for how in ["tls", "mtls"] {
        assert!(printed.contains(&format!("(xprtsec={how})")), "{how} in probe: {printed}");
    }
    for (words, times) in [
        ("4 of 4 planned steps were measured", 2),
        ("100 % of the bytes read were verified, without a mismatch", 2),
    ] {
        assert_eq!(printed.matches(words).count(), times, "{words}: {printed}");
    }
}
