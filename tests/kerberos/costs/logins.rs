//! What a login costs by each method: time, round trips, CPU time of both sides.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use sharebench_gss::{Identity, SharedCredential};
use sharebench_nfs::NfsTarget;
use sharebench_smb::SmbTarget;
use sharebench_target::{Secret, SessionSpec, Target};
use sharebench_tests::{Realm, Smbd};

use super::cpu::spent_ns;
use super::peers::Peers;
use super::{digits, median};
use crate::adapters::{block_on, url};
use crate::tampering::count_messages;

/// Logins of one method, one after the other.
const LOGINS: usize = 300;

struct Method {
    name: &'static str,
    url: String,
    port: u16,
    pid: u32,
    /// Each login has a ticket of its own from the KDC, as that of another user has.
    fresh: bool,
}

fn methods(peers: &Peers) -> Vec<Method> {
    let user = peers.smbd.user();
    let smbd = peers.smbd.port();
    let with_keys = peers.kerberos.pid();
    let smb = peers.kerberos_smb_port;
    let nfs = peers.kerberos_nfs_port;
    let method = |name, url: &str, port, pid| Method { name, url: url.to_owned(), port, pid, fresh: false };
    let mut methods = vec![
        method("smbd, NTLM", &format!("smb://{user}@localhost:PORT/share?auth=ntlm"), smbd, peers.smbd.pid()),
        method("smbd, Kerberos", "smb://localhost:PORT/share?auth=kerberos", smbd, peers.smbd.pid()),
        method("our SMB, NTLM", "smb://lab@localhost:PORT/share?auth=ntlm", peers.smb_port, peers.ours.pid()),
        method("our SMB, Kerberos", "smb://localhost:PORT/share?auth=kerberos", smb, with_keys),
        method(
            "our SMB, Kerberos with new tickets",
            "smb://localhost:PORT/share?auth=kerberos",
            smb,
            with_keys,
        ),
        method("our NFSv4.1, sys", "nfs://localhost:PORT/share?vers=4.1", peers.open_port, peers.open.pid()),
        method("our NFSv4.1, krb5", "nfs://localhost:PORT/share?vers=4.1&sec=krb5", nfs, with_keys),
        method("our NFSv4.1, krb5p", "nfs://localhost:PORT/share?vers=4.1&sec=krb5p", nfs, with_keys),
    ];
    methods[4].fresh = true;
    methods
}

/// The table of all methods.
pub fn table(realm: &Realm, peers: &Peers) -> String {
    let mut table = String::from(
        "| login | ms | round trips | client us | server us | logins per second of CPU |\n|---|---|---|---|---|---|\n",
    );
    for method in methods(peers) {
        let shared = SharedCredential::new(Identity::keytab(&realm.user_keytab(), &peers.principal));
        let target = |port: u16| {
            target(&method.url.replace("PORT", &port.to_string()), realm, peers, &method, &shared)
        };
        let messages = Arc::new(AtomicU64::new(0));
        let counting = count_messages(method.port, &messages).unwrap();
        // The first login requests the ticket.
        log_in(&*target(method.port), || ());
        let mut round_trips = 0;
        log_in(&*target(counting), || round_trips = messages.load(Ordering::SeqCst));
        let own = std::process::id();
        let before = (spent_ns(own), spent_ns(method.pid));
        let times = (0..LOGINS).map(|_| log_in(&*target(method.port), || ())).collect();
        let client_us = (spent_ns(own) - before.0) / 1e3 / LOGINS as f64;
        let server_us = (spent_ns(method.pid) - before.1) / 1e3 / LOGINS as f64;
        let row = format!(
            "| {} | {} | {round_trips} | {} | {} | {:.0} |\n",
            method.name,
            digits(median(times)),
            digits(client_us),
            digits(server_us),
            1e6 / (client_us + server_us)
        );
        print!("{row}");
        table += &row;
    }
    table
}

fn target(
    url_text: &str,
    realm: &Realm,
    peers: &Peers,
    method: &Method,
    shared: &SharedCredential,
) -> Box<dyn Target> {
    let tickets = if method.fresh {
        SharedCredential::new(Identity::keytab(&realm.user_keytab(), &peers.principal))
    } else {
        shared.clone()
    };
    let parsed = url(url_text);
    if parsed.scheme == "nfs" {
        return Box::new(NfsTarget::from_url(parsed).unwrap().with_tickets(tickets));
    }
    let target = SmbTarget::from_url(parsed, Secret::new(Smbd::PASSWORD)).unwrap();
    if url_text.contains("auth=kerberos") { Box::new(target.with_tickets(tickets)) } else { Box::new(target) }
}

/// Opens a session and closes it; the milliseconds until it is open. `when_open` is called between the two.
fn log_in(target: &dyn Target, when_open: impl FnOnce()) -> f64 {
    let spec = SessionSpec { connect_timeout: Duration::from_secs(60), ..SessionSpec::default() };
    block_on(async {
        let begun = Instant::now();
        let session = target.connect(&spec).await.unwrap();
        let opened = begun.elapsed();
        when_open();
        session.close().await;
        opened.as_secs_f64() * 1e3
    })
}
