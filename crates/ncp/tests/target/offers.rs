//! Probes of the embedded server and of servers of other protocols.

use std::sync::Arc;
use std::time::Duration;

use sharebench_model::ErrorClass;
use sharebench_ncp::security::level::Level;
use sharebench_ncp::target::{NcpProbe, NcpTarget};
use sharebench_server::{MemoryVolume, NcpServer, NcpServerOptions};
use sharebench_target::offers::{OfferReport, Usability, web_server};
use sharebench_target::{Secret, SessionSpec, Target, TargetUrl, UrlPart};
use tokio::net::TcpListener;

const PASSWORD: &str = "Pass word";
/// Long, because a probe ends as soon as every call has its answer.
const LIMIT: Duration = Duration::from_secs(60);

/// A server with the volume SHARE and the user lab.
fn server(signatures: Level) -> NcpServer {
    let accounts = vec![("lab".to_owned(), Secret::new(PASSWORD))];
    let options = NcpServerOptions { accounts, signatures, threads: 1, ..NcpServerOptions::default() };
    let volume = Arc::new(MemoryVolume::new(256 << 20));
    NcpServer::start("127.0.0.1:0".parse().unwrap(), volume, options).unwrap()
}

async fn probe(text: &str, password: Option<&str>) -> OfferReport {
    let url = TargetUrl::parse(text).unwrap();
    NcpProbe::from_url(url, password.map(Secret::new)).unwrap().run(LIMIT).await
}

fn value<'a>(report: &'a OfferReport, section: &str, name: &str) -> &'a str {
    &report.row(section, name).unwrap_or_else(|| panic!("no {section}: {name} in {report:?}")).value
}

#[tokio::test]
async fn the_embedded_server_is_reported_with_transports_volumes_and_login_methods() {
    let server = server(Level::IfRequested);
    let report = probe(&format!("ncp://lab@{}/share", server.addr()), Some(PASSWORD)).await;
    assert_eq!(report.row("host", "tcp").unwrap().usability, Usability::Used);
    assert_eq!(report.row("host", "udp").unwrap().usability, Usability::With("transport=udp".into()));
    assert_eq!(report.row("login", "bindery").unwrap().usability, Usability::Used);
    assert!(value(&report, "login", "NDS").starts_with("not offered"));
    assert_eq!(value(&report, "login", "session"), "account lab");
    assert_eq!(value(&report, "security", "packet signatures"), "on request");
    assert_eq!(value(&report, "limits", "data bytes of a request"), "61440");
    assert_eq!(report.row("features", "64-bit calls").unwrap().usability, Usability::Used);
    assert!(value(&report, "features", "packet burst").starts_with("accepted"));
    let volume = report.row("volumes", "SHARE").unwrap();
    assert!(volume.value.contains("DOS, long") && volume.usability == Usability::Used, "{volume:?}");
    assert!(value(&report, "clock", "offset to this machine").contains("UTC"));
    assert!(report.is_usable(), "{:?}", report.incompatibilities);
}

#[tokio::test]
async fn a_server_that_prefers_signatures_is_reported_over_datagrams() {
    let server = server(Level::IfPossible);
    let url = format!("ncp://lab@{}/share?transport=udp", server.addr());
    let report = probe(&url, Some(PASSWORD)).await;
    let signatures = report.row("security", "packet signatures").unwrap();
    assert_eq!(
        (signatures.value.as_str(), &signatures.usability),
        ("preferred or required", &Usability::Used)
    );
    assert!(value(&report, "features", "large internet packets").contains("bytes"));
    assert!(report.is_usable(), "{:?}", report.incompatibilities);
}

#[tokio::test]
async fn a_server_is_reported_without_a_login_and_without_a_volume() {
    let server = server(Level::Never);
    let report = probe(&format!("ncp://lab@{}/", server.addr()), None).await;
    assert_eq!(value(&report, "login", "session"), "not logged in: no password");
    assert!(report.is_usable(), "{:?}", report.incompatibilities);
    let report = probe(&format!("ncp://nobody@{}/share", server.addr()), Some("wrong")).await;
    assert!(value(&report, "login", "account").contains("nobody is not in the bindery"));
    assert!(report.incompatibilities[0].starts_with("user or password"), "{:?}", report.incompatibilities);
}

#[tokio::test]
async fn a_web_server_is_named_by_probe_and_by_the_failed_connection() {
    let address = web_server().await.unwrap();
    let text = format!("ncp://lab@{address}/share");
    let target = NcpTarget::from_url(TargetUrl::parse(&text).unwrap(), Secret::default()).unwrap();
    let failed = target.connect(&SessionSpec::default()).await.err().unwrap();
    let error = target.explain(failed, LIMIT).await;
    assert_eq!((error.part, error.class), (UrlPart::Port, ErrorClass::Unsupported));
    assert!(error.detail.contains("speaks HTTP, not NCP"), "{error}");
    let report = probe(&text, None).await;
    assert!(report.incompatibilities[0].contains("speaks HTTP, not NCP"), "{:?}", report.incompatibilities);
}

#[tokio::test]
async fn a_silent_server_ends_the_probe_at_its_limit() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = TargetUrl::parse(&format!("ncp://lab@{}/share", listener.local_addr().unwrap())).unwrap();
    let report = NcpProbe::from_url(url, None).unwrap().run(Duration::from_millis(200)).await;
    assert!(!report.is_usable(), "{report:?}");
    assert!(value(&report, "host", "tcp").starts_with("no answer"), "{report:?}");
}
