//! Connections with TLS (RFC 9289): this project's client, and bytes that no client sends.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sharebench_doubles::conformance::Suite;
use sharebench_model::{ErrorClass, Fact, TargetFacts};
use sharebench_nfs::NfsTarget;
use sharebench_target::{ConnectError, SessionSpec, Target, TargetUrl, UrlPart};
use sharebench_tls::ClientTls;

use super::certificates::Certificates;
use super::{memory, run};
use crate::{DirectoryOptions, DirectoryVolume, NfsServer, NfsServerOptions, NfsTls, Volume};

/// Versions with a number of connections each.
const VERSIONS: [&str; 5] = ["", "nconnect=3", "vers=4.0", "vers=4.1&nconnect=3", "vers=4.2&compound=on"];

fn serve(volume: Arc<dyn Volume>, tls: Option<NfsTls>) -> NfsServer {
    let options = NfsServerOptions { tls, ..NfsServerOptions::default() };
    NfsServer::start("127.0.0.1:0".parse().unwrap(), volume, options).unwrap()
}

/// A server with this certificate that requires TLS.
fn required(certificates: &Certificates, name: &str, client_ca: Option<&str>) -> NfsServer {
    serve(memory(), Some(NfsTls { tls: certificates.server(name, client_ca), required: true }))
}

fn target(host: &str, addr: SocketAddr, options: &str, tls: ClientTls) -> NfsTarget {
    // Version 4 has no MOUNT.
    let mount =
        if options.contains("vers=4") { String::new() } else { format!("&mountport={}", addr.port()) };
    let text = format!("nfs://{host}:{}/export?xprtsec={options}{mount}", addr.port());
    NfsTarget::from_url(TargetUrl::parse(&text).unwrap()).unwrap().with_tls(tls)
}

fn connect(target: &NfsTarget) -> Result<TargetFacts, ConnectError> {
    let spec = SessionSpec { connect_timeout: Duration::from_secs(60), ..SessionSpec::default() };
    run(async {
        let session = target.connect(&spec).await?;
        let facts = session.facts();
        session.close().await;
        Ok(facts)
    })
}

/// The error of a connection that must fail.
fn failure(target: &NfsTarget) -> String {
    let error = connect(target).expect_err("it must not connect");
    assert_eq!(error.part, UrlPart::Option("xprtsec"), "{error}");
    error.to_string()
}

#[test]
fn nfs_conforms_over_tls_with_each_version_and_volume() {
    let certificates = Certificates::new().unwrap();
    let directory = std::env::temp_dir().join(format!("sharebench-nfs-tls-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let blocking = DirectoryVolume::open(&directory, &DirectoryOptions::default()).unwrap();
    for volume in [memory(), Arc::new(blocking)] {
        let tls = NfsTls { tls: certificates.server(Certificates::SERVER, None), required: true };
        let server = serve(volume, Some(tls));
        for version in VERSIONS {
            let client = certificates.client(Certificates::AUTHORITY, None);
            let options = format!("tls{}{version}", if version.is_empty() { "" } else { "&" });
            let target = target("localhost", server.addr(), &options, client);
            let facts = connect(&target).unwrap();
            assert_eq!(
                (facts[Fact::Xprtsec].as_str(), facts[Fact::Sec].as_str()),
                ("tls", "sys"),
                "{version}"
            );
            assert!(facts[Fact::TlsCipher].starts_with("TLS13_"), "{facts:?}");
            assert_eq!(facts[Fact::TlsProtocol], "sunrpc");
            let suite = Suite { max_depth: 64, ..Suite::default() };
            let counted = run(suite.run(&target)).unwrap_or_else(|failures| panic!("{failures}")).counted;
            assert!(counted.requests > 1000, "{version}: {counted:?}");
        }
        server.stop();
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn certificates_of_both_sides_and_an_address_as_name_are_accepted() {
    let certificates = Certificates::new().unwrap();
    let server = required(&certificates, Certificates::SERVER, Some(Certificates::AUTHORITY));
    let client = || certificates.client(Certificates::AUTHORITY, Some(Certificates::CLIENT));
    for (host, options) in [("127.0.0.1", "mtls"), ("localhost", "mtls&vers=4.1"), ("localhost", "tls")] {
        let facts = connect(&target(host, server.addr(), options, client())).unwrap();
        assert_eq!(facts[Fact::Xprtsec], options.split('&').next().unwrap());
    }
}

#[test]
fn each_wrong_certificate_is_one_sentence() {
    let certificates = Certificates::new().unwrap();
    let trusting = || certificates.client(Certificates::AUTHORITY, None);
    for (name, words) in [
        (Certificates::FOREIGN, "untrusted"),
        (Certificates::EXPIRED, "is expired"),
        (Certificates::EARLY, "not valid yet"),
        (Certificates::OTHER, "not for 'localhost' but for"),
    ] {
        let server = required(&certificates, name, None);
        for version in ["tls", "tls&vers=4.1"] {
            let error = failure(&target("localhost", server.addr(), version, trusting()));
            assert!(error.contains(words), "{name}: {error}");
        }
        server.stop();
    }
    let server = required(&certificates, Certificates::SELF_SIGNED, None);
    let client = certificates.client(Certificates::SELF_SIGNED, None);
    let error = failure(&target("localhost", server.addr(), "tls", client));
    assert!(error.contains("CA:TRUE") && error.contains("openssl req -x509"), "{error}");
    let server = required(&certificates, Certificates::SERVER, Some(Certificates::AUTHORITY));
    // TLS 1.3 ends the client's handshake before the server has judged its certificate.
    for (identity, words) in [
        (None, "requires a certificate of the client"),
        (Some(Certificates::FOREIGN), "rejects the certificate of the client"),
    ] {
        let client = certificates.client(Certificates::AUTHORITY, identity);
        let error = connect(&target("localhost", server.addr(), "tls", client)).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    let error = failure(&target("localhost", server.addr(), "mtls", trusting()));
    assert!(error.contains("needs a certificate of the client"), "{error}");
}

#[test]
fn a_server_without_tls_is_rejected_and_one_that_requires_it_denies_other_clients() {
    let certificates = Certificates::new().unwrap();
    let client = || certificates.client(Certificates::AUTHORITY, None);
    let plain = serve(memory(), None);
    for version in ["tls", "tls&vers=4.1", "tls&vers=auto"] {
        let target = target("localhost", plain.addr(), version, client());
        assert!(failure(&target).contains("does not offer TLS"));
        assert_eq!(connect(&target).unwrap_err().class, ErrorClass::Unsupported);
    }
    let strict = required(&certificates, Certificates::SERVER, None);
    for version in ["none", "none&vers=4.1"] {
        let error = connect(&target("localhost", strict.addr(), version, client())).unwrap_err().to_string();
        assert!(error.contains("AUTH_TOOWEAK"), "{error}");
        assert!(error.contains("xprtsec=tls"), "{error}");
    }
    // A server that only offers TLS serves both.
    let tls = certificates.server(Certificates::SERVER, None);
    let open = serve(memory(), Some(NfsTls { tls, required: false }));
    for options in ["none", "tls", "none&vers=4.1", "tls&vers=4.2"] {
        let facts = connect(&target("localhost", open.addr(), options, client())).unwrap();
        assert_eq!(facts.get(Fact::Xprtsec).is_some(), options.starts_with("tls"), "{options}");
    }
}

/// A name that a peer gives to the protocol, and the alert of a peer that rejects it.
#[test]
fn a_peer_may_name_no_protocol_and_must_not_name_another_one() {
    let certificates = Certificates::new().unwrap();
    let server = required(&certificates, Certificates::SERVER, None);
    let authority = std::fs::read(certificates.certificate(Certificates::AUTHORITY)).unwrap();
    for (protocol, accepted) in [(None, true), (Some("sunrpc"), true), (Some("h2"), false)] {
        let mut stream = TcpStream::connect(server.addr()).unwrap();
        stream.write_all(&probe()).unwrap();
        let mut starttls = vec![0; reply_with(b"STARTTLS", &[0]).len()];
        stream.read_exact(&mut starttls).unwrap();
        let mut roots = rustls::RootCertStore::empty();
        for root in CertificateDer::pem_slice_iter(&authority) {
            roots.add(root.unwrap()).unwrap();
        }
        let mut config = rustls::ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = protocol.iter().map(|name: &&str| name.as_bytes().to_vec()).collect();
        let name = "localhost".try_into().unwrap();
        let mut client = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
        let null: Vec<u8> = [0x8000_0028u32, 9, 0, 2, 100_003, 3, 0, 0, 0, 0, 0]
            .iter()
            .flat_map(|word| word.to_be_bytes())
            .collect();
        let mut tls = rustls::Stream::new(&mut client, &mut stream);
        let mut reply = [0; 28];
        let answered = tls.write_all(&null).and_then(|()| tls.read_exact(&mut reply));
        assert_eq!(answered.is_ok(), accepted, "{protocol:?}: {answered:?}");
    }
}

/// A server that reads the call that requests TLS, answers it with `reply`, and then sends `rest` and ends the connection.
fn fake(reply: Vec<u8>, rest: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut call = [0; 44];
            if stream.read_exact(&mut call).is_err() {
                continue;
            }
            let mut answer = reply.clone();
            // The xid of the call.
            if answer.len() >= 8 {
                answer[4..8].copy_from_slice(&call[4..8]);
            }
            if answer.is_empty() {
                continue;
            }
            // The client may have closed the connection already.
            let _ = stream.write_all(&answer);
            let mut hello = [0; 5];
            let _ = stream.read_exact(&mut hello);
            let _ = stream.write_all(&rest);
        }
    });
    addr
}

fn reply_with(verifier: &[u8], words: &[u32]) -> Vec<u8> {
    let mut body: Vec<u8> =
        [0, 1, 0, 0, verifier.len() as u32].iter().flat_map(|word| u32::to_be_bytes(*word)).collect();
    body.extend_from_slice(verifier);
    body.resize(body.len().next_multiple_of(4), 0);
    body.extend(words.iter().flat_map(|word| word.to_be_bytes()));
    [&(0x8000_0000 | body.len() as u32).to_be_bytes()[..], &body].concat()
}

/// A record of one fragment, with its header.
fn record(from: &mut impl Read) -> std::io::Result<Vec<u8>> {
    let mut header = [0; 4];
    from.read_exact(&mut header)?;
    let mut record = vec![0; 4 + (u32::from_be_bytes(header) & 0x7fff_ffff) as usize];
    record[..4].copy_from_slice(&header);
    from.read_exact(&mut record[4..])?;
    Ok(record)
}

/// Passes calls and their changed replies, one at a time, until a side ends its connection.
fn pass(mut client: impl Read + Write, addr: SocketAddr, change: fn(&mut Vec<u8>)) -> std::io::Result<()> {
    let mut server = TcpStream::connect(addr)?;
    loop {
        server.write_all(&record(&mut client)?)?;
        let mut reply = record(&mut server)?;
        change(&mut reply);
        client.write_all(&reply)?;
    }
}

/// A server in front of one without TLS. It has TLS with these protocol names if there are any, and changes replies.
fn in_front_of(
    addr: SocketAddr,
    tls: Option<(&Certificates, &[&str])>,
    change: fn(&mut Vec<u8>),
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let front = listener.local_addr().unwrap();
    let tls = tls.map(|(certificates, protocols)| {
        let chain = CertificateDer::from_pem_file(certificates.certificate(Certificates::SERVER)).unwrap();
        let key = PrivateKeyDer::from_pem_file(certificates.key(Certificates::SERVER)).unwrap();
        let mut config = rustls::ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![chain], key)
            .unwrap();
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        Arc::new(config)
    });
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            // Each connection ends with an error, at the latest that of its end.
            let _ = match &tls {
                None => pass(stream, addr, change),
                Some(config) => record(&mut stream).and_then(|call| {
                    let mut reply = reply_with(b"STARTTLS", &[0]);
                    reply[4..8].copy_from_slice(&call[4..8]);
                    stream.write_all(&reply)?;
                    let connection = rustls::ServerConnection::new(Arc::clone(config)).unwrap();
                    pass(rustls::StreamOwned::new(connection, stream), addr, change)
                }),
            };
        }
    });
    front
}

#[test]
fn a_server_that_selects_no_protocol_is_accepted_and_one_that_knows_only_another_is_named() {
    let certificates = Certificates::new().unwrap();
    let plain = serve(memory(), None);
    let target = |protocols: &[&str]| {
        let front = in_front_of(plain.addr(), Some((&certificates, protocols)), |_| {});
        target("localhost", front, "tls&vers=4.1", certificates.client(Certificates::AUTHORITY, None))
    };
    assert_eq!(connect(&target(&[])).unwrap()[Fact::TlsProtocol], "none");
    assert_eq!(connect(&target(&["h2", "sunrpc"])).unwrap()[Fact::TlsProtocol], "sunrpc");
    let error = failure(&target(&["h2"]));
    assert!(error.contains("no TLS in common: NoApplicationProtocol"), "{error}");
}

/// Replaces the result of LOOKUP, and what follows it, by `NFS4ERR_WRONGSEC`.
fn deny_lookup(reply: &mut Vec<u8>) {
    // After the head of RPC (28 bytes): status, empty tag and number of results, SEQUENCE (44 bytes), PUTFH (8 bytes).
    const RESULT: usize = 28 + 12 + 44 + 8;
    const LOOKUP: u32 = 15;
    const WRONGSEC: u32 = 10_016;
    if reply.get(RESULT..RESULT + 4) != Some(&LOOKUP.to_be_bytes()) {
        return;
    }
    reply.truncate(RESULT + 4);
    reply.extend(WRONGSEC.to_be_bytes());
    let header = 0x8000_0000 | (RESULT as u32 + 4);
    for (at, word) in [(0, header), (28, WRONGSEC), (36, 3)] {
        reply[at..at + 4].copy_from_slice(&u32::to_be_bytes(word));
    }
}

#[test]
fn an_export_that_accepts_the_flavor_but_not_the_connection_needs_tls_or_a_certificate() {
    let certificates = Certificates::new().unwrap();
    // SECINFO of this server lists AUTH_SYS, which the URL selects.
    let plain = serve(memory(), None);
    for (tls, options, needed) in [
        (None, "none&vers=4.1", "xprtsec=tls"),
        (None, "none&vers=4.2", "xprtsec=tls"),
        (Some((&certificates, &["sunrpc"][..])), "tls&vers=4.1", "xprtsec=mtls"),
    ] {
        let front = in_front_of(plain.addr(), tls, deny_lookup);
        let client = certificates.client(Certificates::AUTHORITY, None);
        let error = failure(&target("localhost", front, options, client));
        assert!(error.contains("/export does not accept these credentials"), "{options}: {error}");
        assert!(error.ends_with(needed), "{options}: {error}");
        assert!(!error.contains("no common security flavor"), "{options}: {error}");
    }
}

#[test]
fn a_removed_offer_and_a_handshake_that_is_cut_or_broken_are_named() {
    let certificates = Certificates::new().unwrap();
    let starttls = reply_with(b"STARTTLS", &[0]);
    let handshake_failure = vec![21, 3, 3, 0, 2, 2, 40];
    let denied: Vec<u8> =
        [0x8000_0014u32, 0, 1, 1, 1, 2].iter().flat_map(|word| word.to_be_bytes()).collect();
    for (name, reply, rest, words) in [
        ("removed", reply_with(b"", &[0]), vec![], "does not offer TLS"),
        ("another verifier", reply_with(b"STARTSSL", &[0]), vec![], "does not offer TLS"),
        ("denied", denied, vec![], "AUTH_REJECTEDCRED"),
        ("other versions", reply_with(b"", &[2, 2, 2]), vec![], "does not offer TLS"),
        ("closed", vec![], vec![], "does not offer TLS"),
        ("no reply", b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), vec![], "xprtsec"),
        ("cut", starttls.clone(), vec![], "closed the connection during the TLS handshake"),
        ("garbage", starttls.clone(), vec![0x55; 64], "breaks TLS"),
        ("alert", starttls, handshake_failure, "no TLS in common"),
    ] {
        let client = certificates.client(Certificates::AUTHORITY, None);
        let error = failure(&target("localhost", fake(reply, rest), "tls&vers=4.1", client));
        assert!(error.contains(words), "{name}: {error}");
    }
}

/// The call of NULL that requests TLS.
fn probe() -> Vec<u8> {
    let words = [0x8000_0028u32, 7, 0, 2, 100_003, 3, 0, 7, 0, 0, 0];
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// What the server sends until it ends the connection.
fn answer_to(addr: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(addr).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    // The server may have ended the connection already.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

#[test]
fn hostile_bytes_before_and_within_a_handshake_end_their_connection_only() {
    let certificates = Certificates::new().unwrap();
    let server = required(&certificates, Certificates::SERVER, None);
    let starttls = reply_with(b"STARTTLS", &[0]);
    // A call in plain text after the request must not be performed within TLS: it is no handshake.
    let call: Vec<u8> = [0x8000_0028u32, 8, 0, 2, 100_003, 3, 1, 0, 0, 0, 0]
        .iter()
        .flat_map(|word| word.to_be_bytes())
        .collect();
    let hello_without_end = [22, 3, 1, 0x40, 0, 1, 0, 0x3f, 0xfc].to_vec();
    for rest in
        [vec![], call.clone(), vec![0; 5], vec![0xff; 70_000], vec![22, 3, 1, 0xff, 0xff], hello_without_end]
    {
        let answer = answer_to(server.addr(), &[probe(), rest].concat());
        assert_eq!(answer.get(8..starttls.len()), starttls.get(8..), "{answer:02x?}");
        // At most an alert in plain text follows.
        assert!(answer.len() <= starttls.len() + 7, "{answer:02x?}");
    }
    // Parts of the request, and what only resembles it.
    for len in [0, 1, 4, 43] {
        assert_eq!(answer_to(server.addr(), &probe()[..len]), Vec::<u8>::new());
    }
    for (word, value) in [(0, 0x0000_0028), (2, 1), (3, 3), (6, 1), (7, 0), (8, 4), (9, 1), (10, 8)] {
        let mut changed = probe();
        changed[word * 4..word * 4 + 4].copy_from_slice(&u32::to_be_bytes(value));
        let answer = answer_to(server.addr(), &changed);
        assert!(!answer.windows(8).any(|bytes| bytes == b"STARTTLS"), "word {word}: {answer:02x?}");
    }
    // NULL needs no TLS, and everything else does.
    let null: Vec<u8> = [0x8000_0028u32, 9, 0, 2, 100_003, 3, 0, 0, 0, 0, 0]
        .iter()
        .flat_map(|word| word.to_be_bytes())
        .collect();
    let answer = answer_to(server.addr(), &[null, call].concat());
    let words: Vec<u32> = answer.chunks(4).map(|word| u32::from_be_bytes(word.try_into().unwrap())).collect();
    assert_eq!(words, [0x8000_0018, 9, 1, 0, 0, 0, 0, 0x8000_0014, 8, 1, 1, 1, 5]);
    let client = certificates.client(Certificates::AUTHORITY, None);
    connect(&target("localhost", server.addr(), "tls", client)).unwrap();
}

#[test]
fn a_client_that_begins_no_handshake_is_disconnected() {
    let certificates = Certificates::new().unwrap();
    let tls = NfsTls { tls: certificates.server(Certificates::SERVER, None), required: true };
    let first_call_timeout = Duration::from_millis(200);
    let options = NfsServerOptions { tls: Some(tls), first_call_timeout, ..NfsServerOptions::default() };
    let server = NfsServer::start("127.0.0.1:0".parse().unwrap(), memory(), options).unwrap();
    for sent in [vec![], probe(), [probe(), vec![22, 3, 1]].concat()] {
        let mut stream = TcpStream::connect(server.addr()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(&sent).unwrap();
        // The end of the stream, or a reset; the timeout above would be another error.
        let ended = stream.read_to_end(&mut Vec::new());
        let still_open = [std::io::ErrorKind::WouldBlock, std::io::ErrorKind::TimedOut];
        assert!(!ended.is_err_and(|error| still_open.contains(&error.kind())));
    }
}
