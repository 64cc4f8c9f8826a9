//! Probes of scripted servers.

use std::net::SocketAddr;
use std::time::Duration;

use sharebench_model::ErrorClass;
use sharebench_target::offers::{OfferReport, Usability, web_server};
use sharebench_target::{ConnectError, SessionSpec, Target, TargetUrl, UrlPart};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::NfsProbe;
use crate::NfsTarget;
use crate::canned;
use crate::compound::COMPOUND;
use crate::mount::{EXPORT, MNT};
use crate::protocol::{MOUNT_PROGRAM, NFS_PROGRAM};
use crate::record::{FragmentHeader, begin_record, end_record};
use crate::rpc::{CallHeader, Rejection, put_success};
use crate::xdr::{Reader, Writer};

/// Long, because a probe ends as soon as every call has its answer.
const LIMIT: Duration = Duration::from_secs(60);

/// Appends the reply to one call, with its fragment header.
type Answer = fn(&CallHeader, &[u8], &mut Writer);

async fn serve(answer: Answer) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(replies(stream, answer));
        }
    });
    address
}

async fn replies(mut stream: TcpStream, answer: Answer) -> Option<()> {
    loop {
        let mut fragment = [0; 4];
        stream.read_exact(&mut fragment).await.ok()?;
        let fragment = FragmentHeader::from_bytes(fragment);
        if fragment.len > 4096 || !fragment.last {
            return None;
        }
        let mut record = vec![0; fragment.len];
        stream.read_exact(&mut record).await.ok()?;
        let header = CallHeader::get(&mut Reader::new(&record)).ok()?;
        let mut out = Writer::default();
        answer(&header, &record, &mut out);
        stream.write_all(out.as_slice()).await.ok()?;
    }
}

/// Puts a reply with a fragment header around it.
fn record(out: &mut Writer, put: impl FnOnce(&mut Writer)) {
    let at = begin_record(out);
    put(out);
    end_record(out, at, 0);
}

fn reject(rejection: Rejection, header: &CallHeader, out: &mut Writer) {
    record(out, |out| rejection.put(out, header.xid));
}

/// The last argument of a call, in words from its end.
fn argument(record: &[u8], from_end: usize) -> u32 {
    let at = record.len() - 4 * from_end;
    u32::from_be_bytes(record[at..at + 4].try_into().unwrap())
}

/// NFSv3 without any other version.
fn version_3(header: &CallHeader, call: &[u8], out: &mut Writer) {
    match (header.program, header.version) {
        (NFS_PROGRAM | MOUNT_PROGRAM, 3) => canned::answer(call, out).unwrap(),
        _ => reject(Rejection::ProgramMismatch { low: 3, high: 3 }, header, out),
    }
}

/// NFSv4.0 and NFSv4.1, and no MOUNT.
fn version_4(header: &CallHeader, call: &[u8], out: &mut Writer) {
    match (header.program, header.version, header.procedure) {
        (NFS_PROGRAM, 4, COMPOUND) => {
            let status = match argument(call, 3) {
                0 => 0,
                1 => 10_071,
                _ => 10_021,
            };
            record(out, |out| {
                put_success(out, header.xid);
                out.words(&[status, 0, 0]);
            });
        }
        (NFS_PROGRAM, 4, _) => record(out, |out| put_success(out, header.xid)),
        (NFS_PROGRAM, _, _) => reject(Rejection::ProgramMismatch { low: 4, high: 4 }, header, out),
        _ => reject(Rejection::ProgramUnavailable, header, out),
    }
}

/// NFSv3 with an export for Kerberos.
fn kerberos(header: &CallHeader, call: &[u8], out: &mut Writer) {
    match (header.program, header.procedure) {
        (MOUNT_PROGRAM, MNT) => record(out, |out| {
            put_success(out, header.xid);
            out.u32(0);
            out.opaque(b"root");
            out.words(&[2, 390_003, 390_004]);
        }),
        (MOUNT_PROGRAM, EXPORT) => record(out, |out| {
            put_success(out, header.xid);
            out.u32(1);
            out.opaque(b"/srv");
            out.u32(1);
            out.opaque(b"10.0.0.0/8");
            out.words(&[0, 0]);
        }),
        _ => version_3(header, call, out),
    }
}

/// A port mapper or another program.
fn other_program(header: &CallHeader, _: &[u8], out: &mut Writer) {
    reject(Rejection::ProgramUnavailable, header, out);
}

fn url(address: SocketAddr) -> TargetUrl {
    let port = address.port();
    TargetUrl::parse(&format!("nfs://127.0.0.1:{port}/srv?mountport={port}")).unwrap()
}

async fn probe(address: SocketAddr) -> OfferReport {
    NfsProbe::from_url(url(address)).unwrap().run(LIMIT).await
}

/// The error with which the connection of a run ends.
async fn explained(address: SocketAddr) -> ConnectError {
    let target = NfsTarget::from_url(url(address)).unwrap();
    let failed = target.connect(&SessionSpec::default()).await.err().unwrap();
    target.explain(failed, LIMIT).await
}

fn value<'a>(report: &'a OfferReport, section: &str, name: &str) -> &'a str {
    &report.row(section, name).unwrap_or_else(|| panic!("no {section}: {name} in {report:?}")).value
}

#[tokio::test]
async fn a_server_of_version_3_is_usable() {
    let report = probe(serve(version_3).await).await;
    assert_eq!(report.row("versions", "NFSv3").unwrap().usability, Usability::Used);
    assert!(value(&report, "versions", "NFSv4").contains("PROG_MISMATCH: versions 3 to 3 only"));
    assert_eq!(report.row("versions", "NFSv4.0"), None);
    assert_eq!(value(&report, "limits", "largest read (rtmax)"), "1MiB");
    assert_eq!(value(&report, "security", "root squash"), "not visible without writing");
    assert_eq!(value(&report, "exports", "list"), "empty");
    assert!(report.is_usable(), "{:?}", report.incompatibilities);
}

#[tokio::test]
async fn a_server_of_version_4_alone_is_named_by_probe_and_by_the_failed_connection() {
    let address = serve(version_4).await;
    let report = probe(address).await;
    let with_option = Usability::With("vers=4.1".to_owned());
    assert_eq!(report.row("versions", "NFSv4.1").unwrap().usability, with_option);
    assert_eq!(report.row("versions", "NFSv4.2"), None);
    assert!(report.incompatibilities[0].contains("offers NFSv4 only"), "{:?}", report.incompatibilities);
    let error = explained(address).await;
    assert_eq!((error.part, error.class), (UrlPart::Option("vers"), ErrorClass::Unsupported));
    assert!(error.detail.contains("offers NFSv4 only"), "{error}");
}

#[tokio::test]
async fn an_export_for_kerberos_alone_is_named_by_probe_and_by_the_failed_connection() {
    let address = serve(kerberos).await;
    let report = probe(address).await;
    assert_eq!(report.row("security", "sec=krb5").unwrap().usability, Usability::With("sec=krb5".into()));
    assert_eq!(value(&report, "security", "sec=sys"), "not offered");
    assert_eq!(value(&report, "exports", "/srv"), "for 10.0.0.0/8");
    assert!(report.incompatibilities[0].contains("Kerberos only"), "{:?}", report.incompatibilities);
    let error = explained(address).await;
    assert!(error.detail.contains("Kerberos only: /srv accepts sec=krb5:krb5i"), "{error}");
}

#[tokio::test]
async fn an_rpc_server_without_nfs_is_named() {
    let address = serve(other_program).await;
    let error = explained(address).await;
    assert!(error.detail.contains("does not serve NFS"), "{error}");
    let report = probe(address).await;
    assert!(report.incompatibilities[0].contains("does not serve NFS"), "{:?}", report.incompatibilities);
}

#[tokio::test]
async fn a_missing_mount_service_is_named_with_its_port() {
    let nfs = serve(version_3).await;
    let mount = serve(other_program).await;
    let text = format!("nfs://127.0.0.1:{}/srv?mountport={}", nfs.port(), mount.port());
    let target = NfsTarget::from_url(TargetUrl::parse(&text).unwrap()).unwrap();
    let failed = target.connect(&SessionSpec::default()).await.err().unwrap();
    let error = target.explain(failed, LIMIT).await;
    assert_eq!(error.part, UrlPart::Option("mountport"));
    assert!(error.detail.contains(&format!("no MOUNT version 3 at port {}", mount.port())), "{error}");
}

#[tokio::test]
async fn a_web_server_is_named() {
    let address = web_server().await.unwrap();
    let error = explained(address).await;
    assert!(error.detail.contains("speaks HTTP, not NFS"), "{error}");
    let report = probe(address).await;
    assert!(report.incompatibilities[0].contains("speaks HTTP, not NFS"), "{:?}", report.incompatibilities);
}

#[tokio::test]
async fn a_silent_server_ends_the_probe_at_its_limit() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let probe = NfsProbe::from_url(url(listener.local_addr().unwrap())).unwrap();
    let report = probe.run(Duration::from_millis(200)).await;
    assert!(!report.is_usable());
    assert!(value(&report, "versions", "NFSv3").contains("no answer"), "{report:?}");
}
