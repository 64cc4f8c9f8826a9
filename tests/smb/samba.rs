//! Our SMB adapter against Samba's smbd.

use std::time::Duration;

use sharebench_doubles::conformance::Suite;
use sharebench_model::{DataOp, ErrorClass, Fact, MetaOp, MetaYield, OpenHow, Reply, Slot, Stability};
use sharebench_smb::SmbTarget;
use sharebench_target::{ConnectError, Secret, SessionSpec, Target, UrlPart, call, reply_for};
use sharebench_tests::{Capture, Disk, Need, Signal, Signing, Smbd, SmbdOptions, needs};

use crate::adapters::{FLUSHES, READS, WRITES, block_on, conform, url, work};

// MS-SMB2 2.2.1.2.
const LOGOFF: u16 = 2;
const FLUSH: u16 = 7;
const READ: u16 = 8;
const WRITE: u16 = 9;
/// Prefix, header and body of the LOGOFF that ends a session, and of its response.
const LOGOFF_BYTES: u64 = 4 + 64 + 4;
/// What encryption adds to it.
const TRANSFORM_BYTES: u64 = 52;

fn target(text: &str) -> SmbTarget {
    SmbTarget::from_url(url(text), Secret::new(Smbd::PASSWORD)).unwrap()
}

fn facts(target: &SmbTarget) -> sharebench_model::TargetFacts {
    block_on(async {
        let session = target.connect(&SessionSpec::default()).await.unwrap();
        let facts = session.facts();
        session.close().await;
        facts
    })
}

fn refusal(text: &str, password: &str) -> ConnectError {
    let target = SmbTarget::from_url(url(text), Secret::new(password)).unwrap();
    // A resolver sends two queries with a timeout of five seconds each before it reports an unknown host.
    let spec = SessionSpec { connect_timeout: Duration::from_secs(60), ..SessionSpec::default() };
    let error = block_on(async { target.connect(&spec).await.err().unwrap() });
    assert!(!error.to_string().contains(password), "{error}");
    error
}

fn suite(dialect: &str) -> Suite {
    let secret = Some(Smbd::PASSWORD.to_owned());
    match dialect {
        // It knows neither records above 64 KiB nor write-through.
        "2.0.2" => {
            Suite { max_record: 64 << 10, skip: &["flush and durable write"], secret, ..Suite::default() }
        }
        _ => Suite { secret, ..Suite::default() },
    }
}

#[test]
fn smb_conforms_at_smbd_in_every_dialect_signed_and_unsigned() {
    needs!(Smbd::NEEDS);
    let smbd = Smbd::start(&SmbdOptions::default()).unwrap();
    for (dialect, algorithm) in [
        ("2.0.2", "HMAC-SHA256"),
        ("2.1", "HMAC-SHA256"),
        ("3.0", "AES-CMAC"),
        ("3.0.2", "AES-CMAC"),
        ("3.1.1", "AES-GMAC"),
    ] {
        for (sign, signing) in [("off", "off"), ("required", algorithm)] {
            let target = target(&smbd.url("", &format!("dialect={dialect}&sign={sign}")));
            let facts = facts(&target);
            assert_eq!((facts[Fact::Dialect].as_str(), facts[Fact::Signing].as_str()), (dialect, signing));
            conform(&target, &suite(dialect));
        }
    }
    assert_eq!(std::fs::read_dir(smbd.share()).unwrap().count(), 0, "the suite left something");
}

#[test]
fn smb_conforms_at_smbd_encrypted() {
    needs!(Smbd::NEEDS);
    let smbd = Smbd::start(&SmbdOptions::default()).unwrap();
    for (dialect, cipher) in [("3.0", "AES-128-CCM"), ("3.0.2", "AES-128-CCM"), ("3.1.1", "AES-128-GCM")] {
        let target = target(&smbd.url("", &format!("dialect={dialect}&encrypt=required")));
        let facts = facts(&target);
        assert_eq!((facts[Fact::Dialect].as_str(), facts[Fact::Encryption].as_str()), (dialect, cipher));
        conform(&target, &suite(dialect));
    }
}

#[test]
fn smb_meets_the_requirements_of_smbd() {
    needs!(Smbd::NEEDS);
    let signing =
        Smbd::start(&SmbdOptions { signing: Signing::Mandatory, ..SmbdOptions::default() }).unwrap();
    assert_eq!(facts(&target(&signing.url("", "")))[Fact::Signing], "AES-GMAC");
    let error = refusal(&signing.url("", "sign=off"), Smbd::PASSWORD);
    assert_eq!((error.part, error.class), (UrlPart::Option("sign"), ErrorClass::Refused), "{error}");

    let sealing = Smbd::start(&SmbdOptions { encrypted: true, ..SmbdOptions::default() }).unwrap();
    assert_eq!(facts(&target(&sealing.url("", "")))[Fact::Encryption], "AES-128-GCM");
    let error = refusal(&sealing.url("", "encrypt=off"), Smbd::PASSWORD);
    assert_eq!(error.class, ErrorClass::Refused, "{error}");

    let dialects = Some(("SMB3_11", "SMB3_11"));
    let modern = Smbd::start(&SmbdOptions { dialects, ..SmbdOptions::default() }).unwrap();
    let error = refusal(&modern.url("", "dialect=2.1"), Smbd::PASSWORD);
    assert_eq!((error.part, error.class), (UrlPart::Option("dialect"), ErrorClass::Unsupported), "{error}");

    let dialects = Some(("SMB2_02", "SMB2_10"));
    let old = Smbd::start(&SmbdOptions { dialects, ..SmbdOptions::default() }).unwrap();
    assert_eq!(facts(&target(&old.url("", "")))[Fact::Dialect], "2.1");
    let error = refusal(&old.url("", "encrypt=required"), Smbd::PASSWORD);
    assert_eq!((error.part, error.class), (UrlPart::Option("encrypt"), ErrorClass::Unsupported), "{error}");
}

#[test]
fn smb_wire_counts_equal_those_of_smbd() {
    needs!(Smbd::NEEDS, Capture::NEEDS);
    let smbd = Smbd::start(&SmbdOptions::default()).unwrap();
    for options in ["sign=off", "sign=required"] {
        let capture = Capture::start(smbd.port()).unwrap();
        let wire = work(&target(&smbd.url("", options)));
        let captured = capture.stop().unwrap();
        let requests = captured.smb_requests().unwrap();
        let counted = (requests[&READ], requests[&WRITE], requests[&FLUSH], requests[&LOGOFF]);
        assert_eq!(counted, (READS, WRITES, FLUSHES, 1), "{requests:?}");
        let payload = captured.payload().unwrap();
        println!("own count {wire:?}, captured {payload:?} {requests:?}");
        assert_eq!(wire.sent + LOGOFF_BYTES, payload.sent);
        assert_eq!(wire.received + LOGOFF_BYTES, payload.received);
        assert_eq!(wire.requests + 1, requests.values().sum::<u64>(), "{requests:?}");
        assert_eq!((wire.payload_sent, wire.payload_received), (WRITES * 3000, READS * 3000));
    }
}

#[test]
fn smb_encrypts_every_message_after_the_login() {
    needs!(Smbd::NEEDS, Capture::NEEDS);
    let smbd = Smbd::start(&SmbdOptions::default()).unwrap();
    let capture = Capture::start(smbd.port()).unwrap();
    let wire = work(&target(&smbd.url("", "encrypt=required")));
    let captured = capture.stop().unwrap();
    // NEGOTIATE and two SESSION_SETUP come before there is a key.
    assert_eq!(captured.smb_requests().unwrap().values().sum::<u64>(), 3);
    assert_eq!(captured.smb_encrypted().unwrap() as u64, wire.requests - 3 + 1);
    let payload = captured.payload().unwrap();
    assert_eq!(wire.sent + LOGOFF_BYTES + TRANSFORM_BYTES, payload.sent);
    assert_eq!(wire.received + LOGOFF_BYTES + TRANSFORM_BYTES, payload.received);
}

#[test]
fn smb_errors_at_smbd_name_the_cause() {
    needs!(Smbd::NEEDS);
    let smbd = Smbd::start(&SmbdOptions::default()).unwrap();
    let good = smbd.url("", "");
    for (text, password, part, class) in [
        (
            good.replace(&smbd.port().to_string(), "1"),
            Smbd::PASSWORD,
            UrlPart::Port,
            ErrorClass::Disconnected,
        ),
        (good.replace("127.0.0.1", "host.invalid"), Smbd::PASSWORD, UrlPart::Host, ErrorClass::NotFound),
        (good.clone(), "not the password", UrlPart::Credentials, ErrorClass::Refused),
        (
            good.replace(&format!("//{}@", smbd.user()), "//nobody-here@"),
            Smbd::PASSWORD,
            UrlPart::Credentials,
            ErrorClass::Refused,
        ),
        (good.replace("/share/", "/none/"), Smbd::PASSWORD, UrlPart::Share, ErrorClass::NotFound),
        (smbd.url("none", ""), Smbd::PASSWORD, UrlPart::Path, ErrorClass::NotFound),
        (smbd.url("none/below", ""), Smbd::PASSWORD, UrlPart::Path, ErrorClass::NotFound),
    ] {
        let error = refusal(&text, password);
        assert_eq!((error.part, error.class), (part, class), "{error}");
    }
    let large = SessionSpec { slot_bytes: 1 << 20, ..SessionSpec::default() };
    let old = target(&smbd.url("", "dialect=2.0.2"));
    let error = block_on(async { old.connect(&large).await.err().unwrap() });
    assert_eq!((error.part, error.class), (UrlPart::Share, ErrorClass::Unsupported), "{error}");
    assert!(error.detail.contains("1048576") && error.detail.contains("65536"), "{error}");
}

#[test]
fn smb_distinguishes_full_share_killed_server_and_silent_server() {
    needs!(Smbd::NEEDS, [Need::Root]);
    let disk = Some(Disk::Memory(4 << 20));
    let smbd = Smbd::start(&SmbdOptions { disk, ..SmbdOptions::default() }).unwrap();
    let target = target(&smbd.url("", ""));
    block_on(async {
        let spec = SessionSpec { slots: 4, slot_bytes: 1 << 20, ..SessionSpec::default() };
        let mut session = target.connect(&spec).await.unwrap();
        let open = MetaOp::open("full", OpenHow::CreateNew);
        let MetaYield::Opened { file, .. } = call(&mut *session, open).await.unwrap() else {
            panic!("an open yields a file")
        };
        let write = |number: u64| {
            let stability = Stability::Unstable;
            DataOp::Write { file, offset: number << 20, len: 1 << 20, stability }
        };
        let mut class = None;
        for number in 0..8 {
            class = class.or(reply_for(&mut *session, Slot(0), write(number)).await.result.err());
        }
        assert_eq!(class.map(|error| error.class), Some(ErrorClass::NoSpace));

        smbd.signal(Signal::STOP);
        let hurried = SessionSpec { connect_timeout: Duration::from_millis(500), ..SessionSpec::default() };
        let error = target.connect(&hurried).await.err().unwrap();
        assert_eq!((error.part, error.class), (UrlPart::Host, ErrorClass::Timeout), "{error}");

        (0..4).for_each(|slot| session.submit(Slot(slot), DataOp::Read { file, offset: 0, len: 1 << 20 }));
        smbd.signal(Signal::KILL);
        let mut replies = Vec::new();
        while replies.len() < 4 {
            std::future::poll_fn(|cx| session.poll_replies(cx, &mut replies)).await;
        }
        let lost =
            |reply: &Reply| matches!(&reply.result, Err(error) if error.class == ErrorClass::Disconnected);
        assert!(replies.len() == 4 && replies.iter().all(lost), "{replies:?}");
        session.close().await;
    });
}
