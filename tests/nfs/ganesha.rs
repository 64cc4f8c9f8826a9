//! Our NFS adapter against NFS-Ganesha.

use std::task::Poll;

use sharebench_doubles::conformance::Suite;
use sharebench_model::{ErrorClass, Fact, MetaOp};
use sharebench_nfs::NfsTarget;
use sharebench_target::{SessionSpec, Target, UrlPart, call};
use sharebench_tests::{Capture, Ganesha, GaneshaOptions, needs};

use crate::adapters::{FLUSHES, READS, WRITES, block_on, conform, url, work};
use crate::nfs::v4_servers::assert_counts_are_those_on_the_wire;

// RFC 1813, 3.3.
const READ: u16 = 6;
const WRITE: u16 = 7;
const COMMIT: u16 = 21;

fn target(text: &str) -> NfsTarget {
    NfsTarget::from_url(url(text)).unwrap()
}

#[test]
fn nfs_conforms_at_ganesha() {
    needs!(Ganesha::NEEDS);
    let ganesha = Ganesha::start(&GaneshaOptions::default()).unwrap();
    conform(&target(&ganesha.url("", "")), &Suite::default());
    assert_eq!(std::fs::read_dir(ganesha.directory()).unwrap().count(), 0, "the suite left something");
}

#[test]
fn nfs_3_conforms_at_ganesha_over_udp() {
    needs!(Ganesha::NEEDS);
    let ganesha = Ganesha::start(&GaneshaOptions { udp: true, ..GaneshaOptions::default() }).unwrap();
    // Without retransmissions, because the suite counts requests: the replies fit into the receive buffer.
    let suite = Suite { max_depth: 16, ..Suite::default() };
    conform(&target(&ganesha.url("", "proto=udp&timeo=600")), &suite);
    assert_eq!(std::fs::read_dir(ganesha.directory()).unwrap().count(), 0, "the suite left something");
}

#[test]
fn nfs_4_conforms_at_ganesha() {
    needs!(Ganesha::NEEDS);
    let ganesha = Ganesha::start(&GaneshaOptions::default()).unwrap();
    for version in ["4.1", "4.2", "4.0"] {
        conform(&target(&ganesha.url4("", version)), &Suite::default());
        assert_eq!(std::fs::read_dir(ganesha.directory()).unwrap().count(), 0, "the suite left something");
    }
}

#[test]
fn nfs_wire_counts_equal_those_of_ganesha() {
    needs!(Ganesha::NEEDS, Capture::NEEDS);
    let ganesha = Ganesha::start(&GaneshaOptions::default()).unwrap();
    let capture = Capture::start(ganesha.port()).unwrap();
    let wire = work(&target(&ganesha.url("", "")));
    let captured = capture.stop().unwrap();
    let calls = captured.nfs3_calls().unwrap();
    assert_eq!((calls[&READ], calls[&WRITE], calls[&COMMIT]), (READS, WRITES, FLUSHES), "{calls:?}");
    let payload = captured.payload().unwrap();
    println!("own count {wire:?}, captured {payload:?} {calls:?}");
    assert_eq!((wire.sent, wire.received), (payload.sent, payload.received));
    assert_eq!(wire.requests, calls.values().sum::<u64>(), "{calls:?}");
    assert_eq!((wire.payload_sent, wire.payload_received), (WRITES * 3000, READS * 3000));
}

#[test]
fn nfs_4_wire_counts_equal_those_of_ganesha() {
    needs!(Ganesha::NEEDS, Capture::NEEDS);
    let ganesha = Ganesha::start(&GaneshaOptions::default()).unwrap();
    for version in ["4.1", "4.1&nconnect=4", "4.2&compound=on", "4.0"] {
        assert_counts_are_those_on_the_wire(&ganesha.url4("", version), ganesha.port());
    }
}

#[test]
fn nfs_auto_takes_the_highest_version_of_ganesha() {
    needs!(Ganesha::NEEDS);
    let ganesha = Ganesha::start(&GaneshaOptions::default()).unwrap();
    let version = |text: &str| {
        let target = target(text);
        block_on(async {
            let session = target.connect(&SessionSpec::default()).await.unwrap();
            let version = session.facts()[Fact::Vers].clone();
            session.close().await;
            version
        })
    };
    assert_eq!(version(&ganesha.url4("", "auto")), "4.2");
    assert_eq!(version(&ganesha.url("", "")), "3");
}

#[test]
fn an_idle_session_keeps_its_lease_at_ganesha() {
    needs!(Ganesha::NEEDS);
    // Ganesha's lease is 10 s: the client renews it three times as often.
    let ganesha = Ganesha::start(&GaneshaOptions::default()).unwrap();
    let target = target(&ganesha.url4("", "4.1"));
    block_on(async {
        let mut session = target.connect(&SessionSpec::default()).await.unwrap();
        let before = session.wire().requests;
        std::future::poll_fn(|cx| {
            session.poll_keepalive(cx);
            let is_renewed = session.wire().requests >= before + 2;
            if is_renewed { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        call(&mut *session, MetaOp::Space).await.unwrap();
        session.close().await;
    });
}

#[test]
fn nfs_errors_at_ganesha_name_the_cause() {
    needs!(Ganesha::NEEDS);
    let ganesha = Ganesha::start(&GaneshaOptions::default()).unwrap();
    let missing = ganesha.url("", "").replace("/export/", "/nowhere/");
    let spec = SessionSpec::default();
    let error = block_on(async { target(&missing).connect(&spec).await.err().unwrap() });
    assert_eq!(error.part, UrlPart::Share, "{error}");
    assert!(matches!(error.class, ErrorClass::NotFound | ErrorClass::Refused), "{error}");

    // The export's path may hold the same digits.
    let nobody = ganesha.url("", "").replace(&format!(":{}/", ganesha.port()), ":1/");
    let error = block_on(async { target(&nobody).connect(&spec).await.err().unwrap() });
    assert_eq!((error.part, error.class), (UrlPart::Port, ErrorClass::Disconnected), "{error}");
}
