//! Probes of scripted servers.

use std::net::SocketAddr;
use std::time::Duration;

use sharebench_model::ErrorClass;
use sharebench_target::offers::{OfferReport, Usability, web_server};
use sharebench_target::{ConnectError, Secret, SessionSpec, Target, TargetUrl, UrlPart};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::dialects::DialectOffers;
use super::session::SessionFindings;
use super::{SmbProbe, rows};
use crate::SmbTarget;
use crate::client::options::SmbOptions;
use crate::status::NtStatus;
use crate::wire::frame;
use crate::wire::header::{Header, flags};
use crate::wire::negotiate::{
    Context, ENCRYPTION, NegotiateRequest, NegotiateResponse, PREAUTH_INTEGRITY, SIGNING,
};
use crate::wire::simple::ErrorResponse;
use crate::wire::smb1;

/// Long, because a probe ends as soon as every connection has its answer.
const LIMIT: Duration = Duration::from_secs(60);
/// 2020-01-01, in units of 100 ns since 1601.
const NEW_YEAR_2020: u64 = 132_223_104_000_000_000;

/// The answer of a scripted server to the first message of a connection; none closes it.
type Answer = fn(&[u8]) -> Option<Vec<u8>>;

/// Serves connections: each gets one answer and is closed after it.
async fn serve(answer: Answer) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(one_answer(stream, answer));
        }
    });
    address
}

async fn one_answer(mut stream: TcpStream, answer: Answer) -> Option<()> {
    let mut prefix = [0; 4];
    stream.read_exact(&mut prefix).await.ok()?;
    let mut message = vec![0; frame::length(prefix)?];
    stream.read_exact(&mut message).await.ok()?;
    let reply = answer(&message)?;
    stream.write_all(&frame::prefix(reply.len())?).await.ok()?;
    stream.write_all(&reply).await.ok()
}

async fn probe(address: SocketAddr, options: &str) -> OfferReport {
    let url = TargetUrl::parse(&format!("smb://alice@{address}/share{options}")).unwrap();
    SmbProbe::from_url(url, None).unwrap().run(LIMIT).await
}

fn reply(request: &[u8], status: NtStatus, body: impl FnOnce(&mut Vec<u8>)) -> Option<Vec<u8>> {
    let header = Header::decode(request).ok()?;
    let mut out = Vec::new();
    Header { status: status.0, flags: flags::RESPONSE, credits: 1, ..header }.encode(&mut out);
    body(&mut out);
    Some(out)
}

/// A server that offers the dialects from `least` on, AES-128-GCM and AES-CMAC.
fn negotiate(request: &[u8], least: u16, token: &[u8]) -> Option<Vec<u8>> {
    let offer = NegotiateRequest::decode(request).ok()?;
    let Some(dialect) = offer.dialects.iter().copied().filter(|dialect| *dialect >= least).max() else {
        return reply(request, NtStatus::NOT_SUPPORTED, ErrorResponse::encode);
    };
    let mut response = NegotiateResponse {
        security_mode: 1,
        dialect,
        capabilities: offer.capabilities & 0x0C,
        max_transact: 1 << 20,
        max_read: 4 << 20,
        max_write: 8 << 20,
        system_time: NEW_YEAR_2020,
        token: token.to_vec(),
        ..NegotiateResponse::default()
    };
    if dialect == 0x0311 {
        response.contexts = offer.contexts.iter().filter_map(choose).collect();
    }
    reply(request, NtStatus::SUCCESS, |out| response.encode(out))
}

fn choose(offered: &Context) -> Option<Context> {
    let has = |id: u16| offered.data[2..].chunks_exact(2).any(|pair| pair == id.to_le_bytes());
    let data = match offered.kind {
        PREAUTH_INTEGRITY => vec![1, 0, 0, 0, 1, 0],
        ENCRYPTION => vec![1, 0, if has(2) { 2 } else { 0 }, 0],
        SIGNING if has(1) => vec![1, 0, 1, 0],
        _ => return None,
    };
    Some(Context { kind: offered.kind, data })
}

/// A token that lists Kerberos only (RFC 4178 4.2.1).
const KERBEROS: &[u8] = b"\x60\x1b\x06\x06\x2b\x06\x01\x05\x05\x02\xa0\x11\x30\x0f\xa0\x0d\x30\x0b\
                          \x06\x09\x2a\x86\x48\x86\xf7\x12\x01\x02\x02";

fn value<'a>(report: &'a OfferReport, section: &str, name: &str) -> &'a str {
    &report.row(section, name).unwrap_or_else(|| panic!("no {section}: {name} in {report:?}")).value
}

#[tokio::test]
async fn every_dialect_is_negotiated_alone() {
    let address = serve(|request| negotiate(request, 0x0300, &[])).await;
    let report = probe(address, "").await;
    assert_eq!(value(&report, "versions", "SMB1"), "not offered");
    assert_eq!(value(&report, "versions", "SMB 2.1"), "not offered");
    assert_eq!(value(&report, "versions", "SMB 3.0"), "offered");
    let newest = report.row("versions", "SMB 3.1.1").unwrap();
    assert_eq!((newest.value.as_str(), &newest.usability), ("offered", &Usability::Used));
    let older = &report.row("versions", "SMB 3.0.2").unwrap().usability;
    assert_eq!(older, &Usability::With("dialect=3.0.2".into()));
    assert_eq!(value(&report, "security", "ciphers"), "AES-128-GCM");
    assert!(value(&report, "security", "signing algorithms").contains("AES-CMAC"));
    assert_eq!(value(&report, "security", "signing"), "offered");
    assert_eq!(value(&report, "limits", "largest write"), "8MiB");
    assert_eq!(value(&report, "features", "multichannel"), "offered");
    assert_eq!(value(&report, "login", "session"), "not logged in: no password");
    assert!(value(&report, "clock", "offset to this machine").starts_with('-'));
    assert!(report.is_usable(), "{:?}", report.incompatibilities);
}

#[tokio::test]
async fn a_dialect_that_the_server_does_not_offer_is_named_with_those_that_it_offers() {
    let address = serve(|request| negotiate(request, 0x0302, &[])).await;
    let report = probe(address, "?dialect=2.1").await;
    let text = report.incompatibilities.join("\n");
    assert!(text.contains("SMB 3.0.2, 3.1.1") && text.contains("dialect=2.1"), "{text}");
    let url = TargetUrl::parse(&format!("smb://alice@{address}/share?dialect=2.1")).unwrap();
    let target = SmbTarget::from_url(url, Secret::default()).unwrap();
    let failed = target.connect(&SessionSpec::default()).await.err().unwrap();
    let explained = target.explain(failed, LIMIT).await;
    assert_eq!((explained.part, explained.class), (UrlPart::Option("dialect"), ErrorClass::Unsupported));
    assert!(explained.detail.contains("SMB 3.0.2, 3.1.1"), "{explained}");
}

#[tokio::test]
async fn a_server_that_lists_kerberos_only_is_named() {
    let address = serve(|request| negotiate(request, 0x0202, KERBEROS)).await;
    let report = probe(address, "").await;
    assert_eq!(report.row("login", "Kerberos").unwrap().usability, Usability::With("auth=kerberos".into()));
    assert_eq!(value(&report, "login", "NTLM"), "not offered");
    assert!(report.incompatibilities.join("\n").contains("Kerberos only"), "{:?}", report.incompatibilities);
}

/// A server of SMB1 alone.
fn smb1_only(request: &[u8]) -> Option<Vec<u8>> {
    if !request.starts_with(&smb1::PROTOCOL_ID) {
        return None;
    }
    let mut out = request[..32].to_vec();
    out.extend_from_slice(&[1, 0, 0, 0, 0]);
    Some(out)
}

/// The error with which the connection of a run ends.
async fn explained(address: SocketAddr) -> ConnectError {
    let url = TargetUrl::parse(&format!("smb://alice@{address}/share")).unwrap();
    let target = SmbTarget::from_url(url, Secret::default()).unwrap();
    let failed = target.connect(&SessionSpec::default()).await.err().unwrap();
    target.explain(failed, LIMIT).await
}

#[tokio::test]
async fn a_server_of_smb1_alone_is_named_by_probe_and_by_the_failed_connection() {
    let address = serve(smb1_only).await;
    let report = probe(address, "").await;
    assert_eq!(report.row("versions", "SMB1").unwrap().usability, Usability::With("dialect=nt1".into()));
    assert_eq!(value(&report, "versions", "SMB 2.0.2"), "not offered");
    assert_eq!(report.incompatibilities.len(), 1);
    assert!(report.incompatibilities[0].contains("offers SMB1 only"), "{:?}", report.incompatibilities);
    let error = explained(address).await;
    assert!(error.detail.contains("offers SMB1 only"), "{error}");
    assert_eq!((error.part, error.class), (UrlPart::Port, ErrorClass::Unsupported));
}

#[tokio::test]
async fn a_server_that_closes_connections_keeps_its_error() {
    let address = serve(|_| None).await;
    let error = explained(address).await;
    assert_eq!((error.part, error.class), (UrlPart::Port, ErrorClass::Disconnected));
    assert!(error.detail.contains("closed the connection"), "{error}");
    let report = probe(address, "").await;
    assert!(!report.is_usable());
}

#[tokio::test]
async fn a_web_server_is_named() {
    let address = web_server().await.unwrap();
    let error = explained(address).await;
    assert!(error.detail.contains("speaks HTTP, not SMB"), "{error}");
    let report = probe(address, "").await;
    assert!(report.incompatibilities[0].contains("speaks HTTP, not SMB"), "{:?}", report.incompatibilities);
}

#[tokio::test]
async fn a_silent_server_ends_the_probe_at_its_limit() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let url = TargetUrl::parse(&format!("smb://{address}/")).unwrap();
    let probe = SmbProbe::from_url(url, None).unwrap();
    let report = probe.run(Duration::from_millis(100)).await;
    assert!(report.incompatibilities[0].contains("no answer"), "{:?}", report.incompatibilities);
}

#[test]
fn a_url_without_share_is_valid_for_a_probe_only() {
    let url = TargetUrl::parse("smb://nas").unwrap();
    assert!(SmbProbe::from_url(url.clone(), None).is_ok());
    assert!(SmbTarget::from_url(url, Secret::default()).is_err());
    let probe = SmbProbe::from_url(TargetUrl::parse("smb://a@nas").unwrap(), Some(Secret::new("hunter2")));
    assert!(!format!("{probe:?}").contains("hunter2"));
}

#[test]
fn a_share_that_does_not_answer_prevents_a_run() {
    let url = TargetUrl::parse("smb://alice@nas/share").unwrap();
    let options = SmbOptions::with_optional_share(url, Secret::default()).unwrap();
    let reasons = |late| {
        let findings =
            SessionFindings { connected: true, logged_in: true, late, ..SessionFindings::default() };
        let mut report = OfferReport::new("smb://alice@nas/share", "smb");
        rows::incompatibilities(&mut report, &DialectOffers::default(), &findings, &options);
        report.incompatibilities
    };
    assert!(reasons(true)[0].starts_with("share or export: no answer"), "{:?}", reasons(true));
    assert!(reasons(false).is_empty());
}

/// A server of ONC RPC takes the start of a NEGOTIATE for that of a record, and waits for its rest.
#[tokio::test]
async fn a_server_of_another_protocol_that_stays_silent_is_recognised_before_the_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut record = [0; 44];
                // The mark of a last fragment.
                while stream.read_exact(&mut record).await.is_ok() {
                    if record[0] == 0x80 {
                        let reply = b"\x80\0\0\x18shbp\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
                        stream.write_all(reply).await.unwrap();
                    }
                }
            });
        }
    });
    for options in ["", "?dialect=nt1", "?channels=2"] {
        let url = TargetUrl::parse(&format!("smb://alice@{address}/share{options}")).unwrap();
        let target = SmbTarget::from_url(url, Secret::default()).unwrap();
        let spec = SessionSpec { connect_timeout: LIMIT, ..SessionSpec::default() };
        let error = target.connect(&spec).await.err().unwrap();
        assert_eq!((error.part, error.class), (UrlPart::Port, ErrorClass::Unsupported), "{options}: {error}");
        assert!(error.detail.contains("ONC RPC"), "{options}: {error}");
    }
}
